"""What is compiled ahead, by what it stands for; real compilation ahead needs a GPU (see `test_on_gpu`)."""

from __future__ import annotations

import itertools
import threading

import pytest
import torch

from kgb_gym.verification.compile_ahead import Address, Compiler, address, distinct
from kgb_gym.verification.record import Fill, Function, Launch, Record, View


def view(dtype=torch.float32, offset=0):
    return View(0, dtype, (4,), (1,), offset)


def launch(function="k", **arguments):
    return Launch(function, (1, 1, 1), arguments, {"num_warps": 4})


def record(*steps):
    return Record((), tuple(steps), (), ())


def test_each_specialisation_once_and_in_order():
    first = launch(x=view(), n=7)
    steps = [
        first, launch(x=view(offset=4), n=7), launch(x=view(offset=1), n=7), launch(x=view(torch.float16), n=7),
        launch(x=view(), n=1), launch(x=view(), n=True), launch(x=view(), n=9), launch(x=view(), n=32), launch(x=view(), n=0),
        launch(x=view(), n=1 << 31), launch(x=view(), n=1.5), launch(x=view(), n=2.5), launch(x=view(), n=None), Launch("k", (2, 1, 1), {"x": view(), "n": 7}, {"num_warps": 4}),
        Launch("k", (1, 1, 1), {"x": view(), "n": 7}, {"num_warps": 8}), launch("other", x=view(), n=7),
    ]  # fmt: skip
    known = set()
    found = [*distinct([record(Fill(view(), 0.0), *steps[:3]), record(*steps[3:])], known, {}).values()]
    assert found == [steps[i] for i in (0, 2, 3, 4, 5, 7, 9, 10, 12, 14, 15)]
    assert found[0] is first
    assert [*distinct([record(*steps, launch("new"))], known, {}).values()] == [launch("new")]


def test_every_value_of_a_constant_is_another_specialisation():
    steps = [launch(n=7, BLOCK=b, EPS=e) for b, e in ((32, 1.0), (48, 1.0), (48, 2.0), (32, 1.0))]
    assert len(distinct([record(*steps)], set(), {"k": frozenset({"BLOCK", "EPS"})})) == 3
    assert len(distinct([record(*steps)], set(), {})) == 1


def test_what_triton_tells_apart_is_told_apart():
    native = pytest.importorskip("triton._C.libtriton")
    from triton.backends.nvidia.compiler import CUDABackend

    if not hasattr(native, "native_specialize_impl"):
        pytest.skip("this Triton specialises elsewhere")
    values = [
        0,
        1,
        2,
        7,
        16,
        32,
        -1,
        -16,
        2**31 - 1,
        2**31,
        -(2**31),
        -(2**31) - 1,
        2**62,
        2**63,
        0.0,
        1.0,
        True,
        False,
        None,
    ]
    keys = {repr(v): next(iter(distinct([record(launch(n=v))], set(), {}))) for v in values}
    told = {repr(v): native.native_specialize_impl(CUDABackend, v, False, True, True) for v in values}
    for a, b in itertools.combinations(keys, 2):
        assert keys[a] != keys[b] or told[a] == told[b], (a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.float8_e5m2], ids=str)
@pytest.mark.parametrize("offset", [0, 1, 16])
def test_triton_specialises_an_address_as_the_tensor_it_stands_for(dtype, offset):
    native = pytest.importorskip("triton._C.libtriton")
    from triton.backends.nvidia.compiler import CUDABackend

    if not hasattr(native, "native_specialize_impl"):
        pytest.skip("this Triton specialises elsewhere")
    tensor = torch.zeros(64, dtype=dtype)
    assert tensor.data_ptr() % 16 == 0
    told = [
        native.native_specialize_impl(CUDABackend, given, False, True, True)
        for given in (tensor[offset:], address(view(dtype, offset)))
    ]
    assert told[0] == told[1]


def test_threads_compile_all_and_hide_what_fails():
    asked, lock = [], threading.Lock()

    class Kernel:
        def run(self, *, grid, warmup, **arguments):
            assert warmup
            with lock:
                asked.append(arguments)
            if arguments["n"] == 3:
                raise RuntimeError("does not compile")
            return self

        def _init_handles(self):
            pass

    launches = [launch(x=view(offset=n), n=n, f=Function("k"), t=(view(), 2), s=str(n)) for n in range(8)]
    compiler = Compiler({"k": Kernel()}, lambda v: "real" if isinstance(v, Function) else v, "cpu")
    assert compiler.add([record(*launches[:3])]) == 3
    assert compiler.add([record(*launches)]) == 5
    compiler.join(20)
    assert sorted(a["n"] for a in asked) == list(range(8))
    assert {a["f"] for a in asked} == {"real"}
    assert all(isinstance(a["x"], Address) and a["t"] == (address(view()), 2) for a in asked)


def test_a_launch_waits_for_what_is_being_compiled_and_takes_what_is_not_begun():
    begun, go_on, asked = threading.Event(), threading.Event(), []

    class Kernel:
        def run(self, *, grid, warmup, **arguments):
            asked.append(arguments["s"])
            begun.set()
            assert go_on.wait(20)
            return self

        def _init_handles(self):
            pass

    compiler = Compiler({"k": Kernel()}, lambda v: v, "cpu")
    slow, taken, unknown = (launch(s=name) for name in ("slow", "taken", "unknown"))
    compiler.add([record(slow)])
    assert begun.wait(20)
    compiler._waiting |= distinct([record(taken)], compiler._known, {})  # every thread is busy
    compiler.before(taken)
    compiler.before(unknown)
    waits = threading.Thread(target=compiler.before, args=(slow,))
    waits.start()
    waits.join(0.1)
    assert waits.is_alive()
    go_on.set()
    waits.join(20)
    compiler.join(20)
    assert not waits.is_alive() and asked == ["slow"]
