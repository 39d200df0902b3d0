"""Wrong use has exit code 2, says what to do, and never shows a traceback."""

import pytest

SOFTMAX = "aten/softmax"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "aten/sofmax"], "Did you mean aten/softmax"),
        (["show", "softmax"], "Did you mean aten/softmax"),
        (["show", "cublas::cublasSgem_v2"], "Did you mean cublas/Sgemm_v2"),
        (["show", "zzz"], "`kgb list` shows all"),
        (["list", "--source", "cudnn"], "use one of aten, vllm, cublas"),
        (["show", SOFTMAX, "--suite", "huge"], "use auto, paper, quick, smoke, wide"),
        (["show", SOFTMAX, "--platform", "tpu"], "use auto, amd, ascend, cpu"),
        (["verify", "vllm/rms_norm", "absent.py", "--platform", "emu-a"], "no vllm operator on emu-a: an emulation is"),
        (["run", "--method", "gold", "--out", "x", "--platform", "emu-b"], "`--operators 'aten/*'`, `kgb/mc-v0`"),
        (
            ["compile", SOFTMAX, __file__, "--target", "cuda:80,gfx9420"],
            "unknown target 'gfx9420': did you mean gfx942?",
        ),
        (["compile", SOFTMAX, __file__, "--time-limit", "0"], "--time-limit must be positive"),
        (["verify", SOFTMAX, "absent.py"], "give the path of a Python module, or - for standard input"),
        (["verify", SOFTMAX, "."], "is a folder"),
        (["verify", "aten/sofmax", "absent.py"], "Did you mean aten/softmax"),
        (["verify", SOFTMAX, __file__, "--suite", "x"], "unknown suite 'x'"),
        (["verify", SOFTMAX, __file__, "--seed", "-1"], "--seed must not be negative"),
        (["verify", SOFTMAX, __file__, "--time-limit", "0"], "--time-limit must be positive"),
        (["compile", SOFTMAX, __file__, "--target", "h200"], "known are cuda:80"),
        (["run", "--method", "magic", "--out", "x"], "use one of pass@k, reflection"),
        (["run", "--method", "pass@1", "--out", "x"], "--method pass@1 needs --model"),
        (["run", "--method", "gold", "--model", "m", "--out", "x"], "has no model: leave --model out"),
        (["run", "--method", "pass@3", "--model", "m", "--samples", "2", "--out", "x"], "needs at least 3 samples"),
        (["run", "--method", "pass@1", "--model", "m", "--rounds", "2", "--out", "x"], "has no rounds"),
        (["run", "--method", "pass@1", "--model", "m", "--temperature", "hot", "--out", "x"], "a number, or none"),
        (["run", "--method", "pass@1", "--model", "m", "--temperature", "9", "--out", "x"], "between 0 and 2"),
        (["run", "--method", "pass@1", "--model", "m", "--extra", "[1]", "--out", "x"], "must be a JSON object"),
        (["run", "--method", "pass@1", "--model", "m", "--base-url", "localhost", "--out", "x"], "begins with http"),
        (["run", "--method", "pass@1", "--model", "m", "--provider", "oracle", "--out", "x"], "unknown provider"),
        (["run", "--method", "pass@1", "--model", "m", "--api-key-env", "NO_KEY", "--out", "x"], "NO_KEY is not set"),
        (["run", "--method", "pass@1", "--model", "m", "--run-usd", "5", "--out", "x"], "needs prices"),
        (["run", "--method", "pass@1", "--model", "m", "--prices", "absent", "--out", "x"], "no table of prices"),
        (["run", "--method", "pass@1", "--model", "m", "--wall", "0", "--out", "x"], "must be positive"),
        (["run", "--method", "gold", "--progress", "loud", "--out", "x"], "use auto, live, plain, json"),
        (["run", "--method", "opencode", "--model", "m", "--program", "/no/such", "--out", "x"], "no program /no/such"),
        (["run", "--method", "opencode", "--model", "m", "--driver", "opencode", "--out", "x"], "is its own driver"),
        (["run", "--method", "ako4all", "--model", "m", "--driver", "vim", "--out", "x"], "unknown driver 'vim'"),
        (["run", "--method", "opencode", "--provider", "loopback", "--out", "x"], "loopback answers no agent"),
        (["run", "--method", "gold", "--operators", "aten/x*", "--out", "x"], "no operator matches 'aten/x*'"),
        (["run", "--method", "gold", "--operators", ",", "--out", "x"], "names no operator"),
        (["run", "--method", "gold", "--samples", "0", "--out", "x"], "samples must be at least 1"),
        (["run", "--method", "gold", "--workers", "0", "--out", "x"], "--workers must be at least 1"),
        (["run", "--method", "gold", "--engine", "slurm", "--out", "x"], "use local, ray"),
        (["recover", "absent"], "holds no run"),
        (["report", "absent"], "holds no run"),
        (["publish", "absent", "--to", "x"], "holds no run"),
        (["export", "absent", "--to", "x"], "holds no run"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_message_says_what_to_do(kgb, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = kgb(*arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == [], "nothing may be left behind"


@pytest.mark.parametrize("arguments", [[], ["fly"], ["verify"], ["list", "--wings"], ["run", "--out", "x"]], ids=str)
def test_what_the_parser_refuses(kgb, arguments):
    done = kgb(*arguments)
    assert done.code == 2
    assert "Usage" in done.err + done.out


def test_a_platform_that_is_not_here(kgb, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = kgb("verify", SOFTMAX, __file__, "--platform", "nvidia")
    assert done.code == 2
    assert "this machine offers no NVIDIA GPU" in done.err


def test_help_and_version(kgb):
    assert "verify" in kgb("--help").out
    assert kgb("--version").out.startswith("kgb-gym ")
    for command in ("list", "show", "verify", "compile", "run", "report", "recover", "publish", "export", "doctor"):
        done = kgb(command, "-h")
        assert done.code == 0
        assert "Usage" in done.out
