"""Memory of the host that passes for a device's: the same operators, the same records, nothing kept too long.

Here each tensor stands for another one on the CPU; what CUDA makes of it needs a GPU (see `test_on_gpu`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kgb_gym.operators import names
from kgb_gym.operators.declaration import Call
from kgb_gym.verification.memory import SMALL_BYTES, DeviceMemory, HostBacked
from kgb_gym.verification.tensors import pack

aten = torch.ops.aten


@pytest.fixture
def memory():
    return HostBacked("cpu")


def shown(memory, call):
    packed, blobs = pack(call)
    storages = memory.storages([bytearray(b) for b in blobs])
    return memory.over(packed, storages), storages


def number_of(memory):
    memory.tidy()
    return len(memory._host)


def run(memory, func, *args, **kwargs):
    return memory.run(func, args, kwargs)


def test_a_call_is_shown_with_its_aliases_and_geometry(memory):
    base = torch.arange(12.0)
    call = Call((base[2:8].view(2, 3).t(), torch.conj(torch.tensor([1 + 2j])), 3), {"out": base, "more": [base[:1]]})
    seen, _ = shown(memory, call)
    (turned, conjugate, three), kwargs = seen.args, seen.kwargs
    assert turned.equal(call.args[0]) and turned.stride() == (1, 3) and turned.storage_offset() == 2
    assert conjugate.is_conj() and conjugate.resolve_conj() == 1 - 2j and three == 3
    assert turned.untyped_storage()._cdata == kwargs["out"].untyped_storage()._cdata
    assert kwargs["more"][0].untyped_storage()._cdata == kwargs["out"].untyped_storage()._cdata
    assert turned.untyped_storage()._cdata not in {
        base.untyped_storage()._cdata,
        memory.host(turned).untyped_storage()._cdata,
    }


def test_operators_are_carried_out_on_the_host(memory):
    x = shown(memory, Call((torch.arange(6.0),), {}))[0].args[0]
    view = run(memory, aten.view.default, x, [2, 3])
    assert view.untyped_storage()._cdata == x.untyped_storage()._cdata and view.shape == (2, 3)
    assert run(memory, aten.t_.default, view) is view and view.shape == (3, 2) and view.stride() == (1, 3)
    assert run(memory, aten.fill_.Scalar, view, 4.0) is view and x.tolist() == [4.0] * 6
    copy = run(memory, aten.clone.default, view)
    assert copy.untyped_storage()._cdata not in {x.untyped_storage()._cdata, memory.host(copy).untyped_storage()._cdata}
    assert memory._is_shown(copy.untyped_storage()) and memory.first(copy) == 4.0
    _, second = run(memory, aten.split.Tensor, x, 3)
    assert second.storage_offset() == 3 and second.untyped_storage()._cdata == x.untyped_storage()._cdata
    assert run(memory, aten.item.default, run(memory, aten.select.int, x, 0, 0)) == 4.0
    drawn = run(memory, aten.randint.generator, 9, [1], generator=torch.Generator(), device=torch.device("cpu"))
    assert 0 <= memory.first(drawn) < 9
    same = run(memory, aten.to.dtype, x, torch.float32)
    assert same is x


def test_what_has_nothing_to_do_with_the_device_stays_what_it_is(memory):
    host = torch.tensor([1.0])
    assert run(memory, aten.clone.default, host) is not host and number_of(memory) == 0
    memory.poison(host.untyped_storage(), torch.float32)
    assert host.isnan().all() and memory.first(torch.tensor([5])) == 5


def test_memory_that_grows_keeps_what_it_held(memory):
    x = shown(memory, Call((torch.arange(3.0),), {}))[0].args[0]
    before = x.untyped_storage()._cdata
    assert run(memory, aten.resize_.default, x, [2]) is x and x.untyped_storage()._cdata == before
    assert run(memory, aten.resize_.default, x, [2, 4]) is x
    assert x.shape == (2, 4) and x.untyped_storage().nbytes() == 32 and x.untyped_storage()._cdata != before
    assert x.view(-1)[:3].tolist() == [0.0, 1.0, 2.0]


def test_values_are_put_into_the_same_memory(memory):
    call, storages = shown(memory, Call((torch.zeros(4),), {}))
    memory.refill(storages, [bytearray(torch.arange(4.0).numpy().tobytes())])
    assert call.args[0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_nothing_is_held_longer_than_the_tensors_that_show_it(memory):
    call, storages = shown(memory, Call((torch.arange(6.0),), {}))
    for _ in range(3):
        copy = run(memory, aten.clone.default, call.args[0])
        view = run(memory, aten.select.int, copy, 0, 0)
        run(memory, aten.item.default, view)
    del copy
    assert number_of(memory) == 2  # a view is enough
    del view
    assert number_of(memory) == 1
    del call, storages
    assert number_of(memory) == 0


def test_only_what_may_be_read_is_poisoned():
    for read in (True, False):
        memory = HostBacked("cpu", read=read)
        for count in (SMALL_BYTES // 4, SMALL_BYTES):
            made = memory.show(torch.zeros(count))
            memory.poison(made.untyped_storage(), torch.float32)
            assert bool(made.isnan().all()) == (read or count * 4 <= SMALL_BYTES)


def test_a_tensor_that_was_made_otherwise_is_none_of_ours(memory):
    with pytest.raises(RuntimeError, match="in a way that recording does not know"):
        memory.host(torch.zeros(3))


def test_plain_memory_is_what_it_says():
    memory = DeviceMemory("cpu")
    call, storages = shown(memory, Call((torch.arange(4.0)[1:],), {}))
    assert call.args[0].tolist() == [1.0, 2.0, 3.0] and memory.first(call.args[0]) == 1.0
    memory.poison(storages[0], torch.float32, 8)
    assert call.args[0].tolist()[:1] == [1.0] and call.args[0][1:].isnan().all()


@pytest.mark.parametrize("source", ["aten", "cublas", "vllm"])
def test_every_gold_is_recorded_alike_on_either(source):
    of_it = [n for n in names() if n.startswith(source)]
    script = Path(__file__).with_name("recorded_both_ways.py")
    command = [sys.executable, "-W", "ignore", script, *of_it]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    *differ, count = done.stdout.splitlines()
    assert not differ and int(count.split()[0]) >= len(of_it), done.stdout[:3000]
