# install, demo, test: each works from a bare clone with python3 (3.11 or newer), pip and make.

PYTHON ?= python3
VENV ?= .venv
# More flags for `python -m venv`. Where $(PYTHON) already has torch, the environment sees and uses that one.
VENV_FLAGS ?= $(if $(OWN_TORCH),--system-site-packages)
# Pins that an environment's own torch must not be measured against.
TORCH_PINS = ^(torch|triton|numpy)==
# `no` installs no coding agent for the tests: they then skip what drives one.
AGENTS ?= yes
DEMO_DIR ?= out/demo
DEMO_OPERATORS = aten/softmax,aten/cos,aten/add,aten/add_,aten/mm,aten/sum,aten/bernoulli,aten/t,vllm/rms_norm,$\
	vllm/reshape_and_cache,cublas/Sgemm_v2,cublas/Saxpy_v2,cublas/CgemmStridedBatched
# What the rehearsal plays: a script answers the openai SDK through a server on this machine.
DEMO_REFLECTION = aten/cos,aten/t

BIN = $(VENV)/bin
STAMP = $(VENV)/.kgb-installed
OWN_TORCH = $(shell $(PYTHON) -c 'import importlib.util as u; print(u.find_spec("torch") and "yes" or "")' 2>/dev/null)

.PHONY: install demo test check format bench docs constraints clean
.DELETE_ON_ERROR:

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt scripts/install_agents.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kgb-gym needs Python 3.11 or newer: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV_FLAGS) $(VENV)
	grep -vE '$(if $(OWN_TORCH),$(TORCH_PINS),^$$)' constraints.txt > $(VENV)/constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(VENV)/constraints.txt -e '.[dev]'
	@$(if $(filter no,$(AGENTS)),echo "agents skipped (AGENTS=no)",$(BIN)/python scripts/install_agents.py $(VENV)/agents || true)
	@touch $@
	@echo "installed: $(BIN)/kgb"

# The run's exit code is the demo's; the report is shown in any case.
demo: install
	rm -rf $(DEMO_DIR) $(DEMO_DIR)-reflection
	@code=0; set -x; \
	$(BIN)/kgb run --method scripted --operators '$(DEMO_OPERATORS)' --out $(DEMO_DIR) || code=$$?; \
	$(BIN)/kgb report $(DEMO_DIR) --include-synthetic --html $(DEMO_DIR)/report.html && \
	$(BIN)/python examples/load_dataset.py $(DEMO_DIR) && \
	{ $(BIN)/kgb run --method reflection --provider loopback --operators $(DEMO_REFLECTION) \
	--out $(DEMO_DIR)-reflection || code=$$?; } && \
	$(BIN)/kgb report $(DEMO_DIR)-reflection --include-synthetic && \
	{ set +x; } 2>/dev/null && exit $$code

# What judges nothing, or waits for programs and servers, runs on all cores; what fills them by itself, or counts
# processes and seconds, runs alone. One thread for each of many: teams of threads that share cores wait for one another.
PURE_TESTS = tests/operators tests/prompts tests/metrics tests/report tests/datasets tests/test_mutators.py
WAITING_TESTS = tests/baselines tests/cli tests/envs tests/test_readme.py tests/test_packaging.py

test: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto $(PURE_TESTS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile $(WAITING_TESTS)
	$(BIN)/python -m pytest $(foreach t,$(PURE_TESTS) $(WAITING_TESTS),--ignore=$(t))

# The one gate for people and CI: format, lint, types, import floors, generated documentation.
check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python scripts/check_floors.py
	$(BIN)/python scripts/write_docs.py --check

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install
	$(BIN)/python -m benchmarks

docs: install
	$(BIN)/python scripts/write_docs.py

# Pins what the environment holds now; commit the result once `make test` passes with it.
constraints: install
	$(BIN)/python scripts/write_constraints.py > constraints.new
	mv constraints.new constraints.txt
	touch $(STAMP)

clean:
	rm -rf $(VENV) out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
