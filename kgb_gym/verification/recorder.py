"""The recorder: imports a submission, calls it once a case with every launch held back, and hands over the records.

It runs inside a single-use, confined process (`serve` is its whole life). Nothing it says is trusted: the judge parses
its records strictly and scores them on values this process never saw. What it notices on the way (native compute,
foreign buffers, recursion) is evidence, not proof of innocence.
"""

from __future__ import annotations

import inspect
import linecache
import socket
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kgb_gym.operators.maker import Seeded
from kgb_gym.operators.policy import Policy
from kgb_gym.verification import wire
from kgb_gym.verification.record import (
    Copy,
    Draw,
    Fill,
    Function,
    Launch,
    Record,
    Resize,
    Step,
    Storage,
    TritonType,
    Tune,
    View,
    encode,
    is_lossy,
)
from kgb_gym.verification.state import Keeper
from kgb_gym.verification.tensors import dense_bytes, poison, storage_bytes, unpack
from kgb_gym.verification.verbs import MAY_COPY, READ_BACK, VIEWS, verb_of

MODULE = "submission"
MAX_TRACE = 4000


class Stopped(BaseException):
    """Ends a call that broke a rule. Not an `Exception`: a submission's `except` must not swallow it by accident."""


class Recording:
    """What one call does, step by step."""

    def __init__(
        self, policy: Policy, device: str, filename: str, data_dependent: bool = False, audit: bool = True
    ) -> None:
        self.audit = audit
        """False lets native compute pass unrecorded, to measure what the other layers make of it."""
        self.policy = policy
        self.data_dependent = data_dependent
        self.device = device
        self.filename = filename
        self.storages: list[Storage] = []
        self.steps: list[Step] = []
        self.violations: list[dict[str, Any]] = []
        self.recursion = ""
        self.has_generator = False
        self.launches = 0
        self._index: dict[int, int] = {}
        self._alive: list[Any] = []

    def register(self, tensor: torch.Tensor, source: int | None = None) -> int:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._index:
            self._index[storage._cdata] = len(self.storages)
            self.storages.append(Storage(storage.nbytes(), source, tensor.dtype))
            self._alive.append(storage)
        return self._index[storage._cdata]

    def knows(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._index

    def view(self, tensor: torch.Tensor, what: str) -> View:
        """The geometry of a tensor over a known storage; a foreign one ends the call."""
        if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
            self.stop("contract", "tensor-type", f"{what} is a {type(tensor).__name__}, not a torch.Tensor")
        if tensor.device.type != self.device:
            self.stop("audit", "host-transfer", f"{what} is on {tensor.device.type}, not on {self.device}")
        index = self._index.get(tensor.untyped_storage()._cdata)
        if index is None:
            self.stop(
                "ghost", "foreign-buffer",
                f"{what} is neither an input nor memory allocated in this call: its content does not come from your "
                "kernels (or it was kept from an earlier call)",
            )  # fmt: skip
        assert index is not None
        return View(
            index, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset()),
            tensor.is_conj(), tensor.is_neg(),
        )  # fmt: skip

    def stop(self, layer: str, rule: str, message: str) -> None:
        self.violations.append({"layer": layer, "rule": rule, "message": message, "line": self.line()})
        raise Stopped(message)

    def line(self) -> int | None:
        """The innermost line of the submission on the stack."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self.filename:
                return frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return None

    @contextmanager
    def branch(self) -> Iterator[list[Step]]:
        """Collects steps apart, for one choice of an autotuner."""
        outer, self.steps = self.steps, []
        try:
            yield self.steps
        finally:
            self.steps = outer


class Audit(TorchDispatchMode):
    """Sees every ATen operator of the call, below autograd and in every grad mode, and turns it into verbs."""

    def __init__(self, recording: Recording, mounted: Mapping[Any, str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recording = recording
        self.mounted = mounted

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in self.mounted:
            return func(*args, **kwargs)
        recording = self.recording
        name = func._schema.name
        verb = verb_of(func)
        short = name.partition("::")[2]
        if short in recording.policy.allow_ops and verb is None:
            verb = "view"
        if verb is None and short in READ_BACK - recording.policy.deny_ops and recording.data_dependent:
            return func(*args, **kwargs)
        if verb is None and not recording.audit:
            return func(*args, **kwargs)
        if verb is None:
            rule = "read-back" if short in READ_BACK else "native-compute"
            why = "reads values back to the host" if rule == "read-back" else "computes outside your kernels"
            recording.stop("audit", rule, f"{name.replace('::', '.')} {why}")
        if verb not in recording.policy.allow or short in recording.policy.deny_ops:
            recording.stop(
                "audit", f"not-allowed-{verb}", f"{name.replace('::', '.')} is not allowed for this operator"
            )
        before = [a.untyped_storage().nbytes() for a in args[:1] if isinstance(a, torch.Tensor)]
        out = func(*args, **kwargs)
        getattr(self, f"_{verb}")(short, args, kwargs, out, before)
        return out

    def _view(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        """Geometry only, unless a composite operator had to copy."""
        for leaf in out if isinstance(out, (list, tuple)) else (out,):
            if (
                isinstance(leaf, torch.Tensor)
                and not self.recording.knows(leaf)
                and (name in MAY_COPY or name in VIEWS)
            ):
                if leaf.shape != args[0].shape:
                    self.recording.stop(
                        "audit", "native-compute", f"aten.{name} rearranges values outside your kernels"
                    )
                if "copy" not in self.recording.policy.allow:
                    self.recording.stop("audit", "not-allowed-copy", f"aten.{name} copies here, which is not allowed")
                self._copy(name, args, kwargs, leaf, before)

    def _metadata(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        """Nothing to record."""

    def _alloc(self, name: str, args: Any, kwargs: Any, out: Any, before: list[int]) -> None:
        recording = self.recording
        if name.startswith("resize"):
            recording.view(args[0], "the resized tensor")
            after = args[0].untyped_storage().nbytes()
            if after > before[0]:
                storage = args[0].untyped_storage()
                poison(storage, args[0].dtype, player=False, start=before[0])
                recording.steps.append(Resize(recording.register(args[0]), after))
            return
        recording.register(out)
        poison(out.untyped_storage(), out.dtype, player=False)

    def _fill(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        recording = self.recording
        if name == "fill_" and isinstance(args[1], torch.Tensor):
            source = recording.view(args[1], "the fill value")
            target = recording.view(args[0], "the filled tensor")
            recording.steps.append(Copy(target, View(source.storage, source.dtype, target.size, (0,) * len(target.size),
                                                     source.offset)))  # fmt: skip
            return
        if not name.endswith("_"):
            recording.register(out)
        if out.numel():
            recording.steps.append(Fill(recording.view(out, "the filled tensor"), _first(out)))

    def _copy(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        recording = self.recording
        if name == "copy_":
            pair = args[0], args[1]
        elif name in {"lift_fresh", "lift"}:
            if not recording.knows(args[0]):
                if args[0].numel() > 1:
                    recording.stop("audit", "host-table", "torch.tensor(...) brings values from the host to the device")
                recording.register(out)
                if out.numel():
                    recording.steps.append(Fill(recording.view(out, "the constant"), _first(out)))
            return
        else:
            pair = out, args[0]
            if out.untyped_storage()._cdata == args[0].untyped_storage()._cdata:
                return
            source = recording.view(args[0], "the source of a copy")
            recording.register(out)
        dst, src = pair
        target, source = recording.view(dst, "the target of a copy"), recording.view(src, "the source of a copy")
        if is_lossy(source.dtype, target.dtype) and not recording.policy.lossy_copy:
            recording.stop("audit", "lossy-conversion",
                           f"a conversion from {source.dtype} to {target.dtype} computes: do it inside a kernel")  # fmt: skip
        if source.size != target.size:
            source = recording.view(src.expand(dst.shape), "the source of a copy")
        recording.steps.append(Copy(target, source))

    def _draw(self, name: str, args: Any, kwargs: Any, out: Any, before: Any) -> None:
        recording = self.recording
        if any(isinstance(step, Draw) for step in recording.steps):
            recording.stop(
                "audit", "draw", "more than one random number is drawn in a call: draw one seed, toss in a kernel"
            )
        numbers = [a for a in args if isinstance(a, int)]
        low, high = (numbers[0], numbers[1]) if len(numbers) > 1 else (0, numbers[0])
        if out.numel() != 1:
            recording.stop("audit", "draw", "only one one-element integer tensor may be drawn in a call")
        recording.register(out)
        recording.steps.append(
            Draw(recording.view(out, "the drawn tensor"), low, high, kwargs.get("generator") is not None)
        )


class Held:
    """Stands in front of Triton's launchers: records instead of launching, or (live) records and launches.

    Args:
        filename: the submission's file.
        live: for operators whose launches depend on values.
    """

    def __init__(self, filename: str, live: bool = False) -> None:
        self.filename = filename
        self.live = live
        self.recording: Recording | None = None
        self.mount: Mount | None = None
        self._original: dict[type, Callable[..., Any]] = {}

    def install(self) -> None:
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction

        held = self
        self._original = {JITFunction: JITFunction.run, InterpretedFunction: InterpretedFunction.run}

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
            held.launch(kernel, args, grid, warmup, kwargs)

        def tune(tuner: Any, *args: Any, **kwargs: Any) -> None:
            held.tune(tuner, args, kwargs)

        JITFunction.run = run
        InterpretedFunction.run = run
        Autotuner.run = tune

    def _launch_now(self, kernel: Any, args: Any, grid: Any, kwargs: Any) -> None:
        """The real launch: with the mount lifted and no mode active, as the interpreter computes with ATen itself."""
        original = next(run for kind, run in self._original.items() if isinstance(kernel, kind))
        lifted = self.mount.lifted() if self.mount is not None else nullcontext()
        with lifted, torch._C._DisableTorchDispatch():
            original(kernel, *args, grid=grid, warmup=False, **kwargs)

    def launch(self, kernel: Any, args: tuple[Any, ...], grid: Any, warmup: bool, kwargs: dict[str, Any]) -> None:
        recording = self.recording
        if warmup:
            return
        if recording is None:
            raise RuntimeError(f"the kernel {kernel.fn.__name__} is launched outside a call of an interface")
        signature = inspect.signature(kernel.fn)
        options = {k: v for k, v in kwargs.items() if k not in signature.parameters}
        for name in [n for n in options if n in ("debug", "stream", "device", "device_type")]:
            del options[name]
        if unknown := [k for k in options if k not in KNOWN_OPTIONS]:
            raise TypeError(f"{kernel.fn.__name__} has no parameter or launch option {unknown[0]!r}")
        bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in signature.parameters})
        bound.apply_defaults()
        size = grid(dict(bound.arguments)) if callable(grid) else grid
        if not isinstance(size, (tuple, list)) or not 1 <= len(size) <= 3:
            raise TypeError(f"the grid of {kernel.fn.__name__} must be a tuple of one to three integers, not {size!r}")
        numbers = tuple(int(n) for n in size)
        if any(n < 0 for n in numbers):
            raise ValueError(f"the grid of {kernel.fn.__name__} has a negative size: {numbers}")
        arguments = {k: self.value(recording, kernel, k, v) for k, v in bound.arguments.items()}
        clean = {k: v for k, v in options.items() if v is not None}
        recording.launches += 1
        recording.steps.append(
            Launch(kernel.fn.__name__, (*numbers, 1, 1)[:3], arguments, clean, recording.line())  # type: ignore[arg-type]
        )
        if self.live and numbers and all(numbers):
            self._launch_now(kernel, args, numbers, kwargs)

    def tune(self, tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recording = self.recording
        if recording is None:
            raise RuntimeError("an autotuned kernel is launched outside a call of an interface")
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        given = {**tuner.nargs, **kwargs}
        configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else list(tuner.configs)
        configs = configs[:1] if self.live else configs
        for config in configs:
            if clash := set(config.kwargs) & (set(kwargs) | set(tuner.nargs)):
                raise ValueError(
                    f"the launch sets {', '.join(sorted(clash))}, which @triton.autotune sets as well: leave it out of "
                    "the call"
                )
        key = [str(given[k]) for k in tuner.keys if k in given and not isinstance(given[k], torch.Tensor)]
        key += [str(v.dtype) for k, v in given.items() if isinstance(v, torch.Tensor) and k in tuner.arg_names]
        choices, kernel = [], tuner
        while hasattr(kernel, "fn") and not inspect.isfunction(kernel.fn):
            kernel = kernel.fn
        for config in configs:
            with recording.branch() as steps:
                if config.pre_hook is not None:
                    config.pre_hook({**given, **config.all_kwargs()})
                tuner.fn.run(*args, **kwargs, **{k: v for k, v in config.all_kwargs().items() if k != "ir_override"})
            choices.append(tuple(steps))
        recording.steps.append(Tune(kernel.fn.__name__, ",".join(key), tuple(choices)))  # type: ignore[arg-type]

    def value(self, recording: Recording, kernel: Any, name: str, value: Any) -> Any:
        import triton.language as tl
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction

        if isinstance(value, tl.constexpr):
            value = value.value
        if isinstance(value, torch.Tensor):
            return recording.view(value, f"the argument {name} of {kernel.fn.__name__}")
        if isinstance(value, tl.dtype):
            return TritonType(value.name)
        if isinstance(value, (JITFunction, InterpretedFunction)):
            return Function(value.fn.__name__)
        if isinstance(value, (tuple, list)):
            return tuple(self.value(recording, kernel, name, v) for v in value)
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise OverflowError(f"the argument {name} of {kernel.fn.__name__} does not fit 64 bits")
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise TypeError(f"the argument {name} of {kernel.fn.__name__} is a {type(value).__name__}: pass tensors, numbers, "
                        "None, strings, Triton types or jitted functions")  # fmt: skip


KNOWN_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"})


def serve(sock: socket.socket, config: Mapping[str, Any]) -> None:
    """The recorder's life: load, then one record a message, until the judge closes.

    Args:
        sock: connected to the judge.
        config: `scratch`, a folder that may be written.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    head = wire.greet(sock)
    filename = str(Path(config["scratch"]) / f"{MODULE}.py")
    Path(filename).write_text(head["text"], encoding="utf-8")
    device = head["device"]
    data_dependent = bool(head.get("data_dependent"))
    held = Held(filename, live=bool(head.get("live")))
    held.install()
    keeper = Keeper(filename)
    keeper.watch.awake = True
    try:
        module = _load(head["text"], filename)
    except BaseException as error:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        wire.send(sock, {"error": describe_error(error, filename)})
        return
    functions = {i["name"]: getattr(module, i["function"], None) for i in head["interfaces"]}
    missing = [n for n, f in functions.items() if not callable(f)]
    wire.send(sock, {"missing": missing, "violations": keeper.take(full=True)})
    rules: dict[str, Any] = {k: frozenset(v) if isinstance(v, list) else v for k, v in head["policy"].items()}
    policy = Policy(**rules)
    mount = Mount(head["source"], head["dispatch_key"], {n: f for n, f in functions.items() if callable(f)})
    held.mount = mount
    while True:
        try:
            question, blobs = wire.receive(sock)
        except wire.Closed:
            return
        recording = Recording(policy, device, filename, data_dependent, bool(head.get("audit", True)))
        answer, out = _record(question, blobs, held, mount, recording)
        answer["violations"] += keeper.take(full=bool(question.get("last")))
        wire.send(sock, answer, out)


def _load(text: str, filename: str) -> types.ModuleType:
    linecache.checkcache(filename)
    module = types.ModuleType(MODULE)
    module.__file__ = filename
    sys.modules[MODULE] = module
    exec(compile(text, filename, "exec"), module.__dict__)  # noqa: S102 (running the submission is this process's purpose)
    return module


class Mount:
    """The submission's functions as the public operators: through the dispatcher for ATen, by name for the others."""

    def __init__(self, source: str, key: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.source = source
        self.key = key
        self.functions = functions
        self.overloads: dict[str, Any] = {}
        self._inner: dict[str, Callable[..., Any]] = {}
        self._library: torch.library.Library | None = None
        if source == "aten":
            from kgb_gym.operators.oracle import aten_overload

            self.overloads = {name: aten_overload(name) for name in functions}

    def call(self, name: str, args: Any, kwargs: Any, recording: Recording) -> list[Any]:
        """Call the public operator with the mount and the audit active; returns what the submission returned."""
        audit = Audit(recording, {op: n for n, op in self.overloads.items()})
        if self.source != "aten":
            with audit:
                return [self.functions[name](*args, **kwargs)]
        active: list[str] = []
        returned: list[Any] = []

        def mounted(which: str) -> Callable[..., Any]:
            function = self.functions[which]

            def inner(*a: Any, **k: Any) -> Any:
                if which in active:
                    recording.recursion = which
                    raise Stopped(f"the submission's {which} calls the operator that it replaces")
                active.append(which)
                try:
                    with audit:
                        result = function(*a, **k)
                finally:
                    active.pop()
                if not active:
                    returned.append(result)
                return result

            return inner

        self._inner = {which: mounted(which) for which in self.overloads}
        try:
            self._register()
            self.overloads[name](*args, **kwargs)
        finally:
            self._unregister()
        return returned

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Without the mount, for the time of a launch."""
        active = self._library is not None
        self._unregister()
        try:
            yield
        finally:
            if active:
                self._register()

    def _register(self) -> None:
        self._library = torch.library.Library("aten", "IMPL")
        for which, inner in self._inner.items():
            self._library.impl(which, inner, self.key, **_override())

    def _unregister(self) -> None:
        if self._library is not None:
            self._library._destroy()
            self._library = None


def _override() -> dict[str, bool]:
    return (
        {"allow_override": True} if "allow_override" in inspect.signature(torch.library.Library.impl).parameters else {}
    )


def _record(
    question: Mapping[str, Any], blobs: list[bytearray], held: Held, mount: Mount, recording: Recording
) -> tuple[dict[str, Any], list[memoryview]]:
    """Call an interface once. The answer holds the record, and where the question asks for `outputs`, their values."""
    device, filename = recording.device, recording.filename
    call, storages, tensors = unpack(question["call"], blobs, device)

    def generator(value: Any) -> Any:
        if isinstance(value, Seeded):
            recording.has_generator = True
            return torch.Generator(device=device).manual_seed(value.seed)
        return value

    args = tuple(generator(a) for a in call.args)
    kwargs = {k: generator(v) for k, v in call.kwargs.items()}
    numbers = {storage._cdata: index for index, storage in enumerate(storages)}
    for tensor in tensors:
        recording.register(tensor, numbers[tensor.untyped_storage()._cdata])
    held.recording = recording
    answer: dict[str, Any] = {}
    out: list[memoryview] = []
    try:
        with torch.no_grad():
            returned = mount.call(question["interface"], args, kwargs, recording)
        leaves = _returned(returned[-1] if returned else None)
        record = Record(
            tuple(recording.storages), tuple(recording.steps),
            tuple(recording.view(v, "the returned tensor") if isinstance(v, torch.Tensor) else _plain(v) for v in leaves),
            tuple(recording.view(t, "an argument") for t in tensors),
        )  # fmt: skip
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor) and (type(leaf) is not torch.Tensor or vars(leaf)):
                recording.stop("contract", "tensor-type", "the returned tensor is not a plain torch.Tensor")
        answer["record"] = encode(record)
        if question.get("outputs"):
            out = [dense_bytes(v) for v in leaves if isinstance(v, torch.Tensor)]
            written = set(question["written"])
            out += [storage_bytes(s) for i, s in enumerate(storages) if i in written]
            answer["plays"] = [{"digests": [
                None if i in written else blake2b(storage_bytes(s), digest_size=16).hexdigest()
                for i, s in enumerate(storages)
            ]}]  # fmt: skip
    except Stopped:
        pass
    except BaseException as error:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        if not recording.violations and not recording.recursion:
            answer["error"] = describe_error(error, filename)
    finally:
        held.recording = None
    answer["violations"] = recording.violations
    answer["recursion"] = recording.recursion
    return answer, out


def _returned(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    raise TypeError(f"the submission returned a {type(value).__name__} where a tensor is expected")


def _first(tensor: torch.Tensor) -> Any:
    return tensor.as_strided((1,), (1,), tensor.storage_offset()).item()


def describe_error(error: BaseException, filename: str) -> dict[str, Any]:
    """An exception with the submission's own frames only."""
    try:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
        lines = [f"  line {f.lineno}, in {f.name}: {(f.line or '').strip()}" for f in frames[-8:]]
        text = f"{type(error).__name__}: {error}"[:MAX_TRACE]
        return {
            "type": type(error).__name__, "text": text, "trace": "\n".join([*lines, text])[:MAX_TRACE],
            "line": frames[-1].lineno if frames else getattr(error, "lineno", None),
        }  # fmt: skip
    except BaseException:  # noqa: BLE001 (a boundary: whatever was raised becomes an answer)
        return {"type": "Exception", "text": "an exception that cannot be shown", "trace": "", "line": None}
