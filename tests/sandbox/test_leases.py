"""Leases among real processes: alone or shared, told by `doctor`, and free as soon as their holder is dead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from kgb_gym.sandbox import devices
from kgb_gym.sandbox.leases import Leases
from kgb_gym.verification.gauge import Device, Gauge, Reading, Watch, summary

PROGRAM = (
    "import sys, time\n"
    "from kgb_gym.sandbox.leases import Leases\n"
    "with Leases(sys.argv[1]).hold('gpu', exclusive=sys.argv[2] == 'alone'):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.readline()\n"
)


class Other:
    """Another process with a lease."""

    def __init__(self, folder, how):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, folder, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def holds(self):
        assert self.process.stdout.readline() == "held\n"
        return self

    def let_go(self):
        self.process.communicate("\n", timeout=20)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def leases(tmp_path):
    return Leases(tmp_path / "locks")


@pytest.fixture
def other(leases):
    started = []

    def start(how):
        started.append(Other(leases.folder, how))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.kill()


def waiting(leases, exclusive):
    """A thread that takes the lease, and the event that it has it."""
    has = threading.Event()

    def take():
        with leases.hold("gpu", exclusive=exclusive):
            has.set()

    thread = threading.Thread(target=take)
    thread.start()
    return thread, has


def test_a_killed_holder_s_lease_is_free(leases, other):
    holder = other("alone").holds()
    (told,) = leases.holders("gpu")
    assert (told.pid, told.exclusive) == (holder.process.pid, True)
    assert time.time() - told.since < 60
    thread, has = waiting(leases, exclusive=False)
    assert not has.wait(0.2)
    holder.kill()
    assert has.wait(10)
    thread.join()
    assert leases.holders("gpu") == []
    assert list(leases.folder.glob("*.holder")) == []


def test_sharing_and_timing(leases, other):
    first, second = other("shared").holds(), other("shared").holds()
    assert {h.pid for h in leases.holders("gpu")} == {first.process.pid, second.process.pid}
    assert not any(h.exclusive for h in leases.holders("gpu"))
    thread, has = waiting(leases, exclusive=True)
    time.sleep(0.1)
    late, late_has = waiting(leases, exclusive=False)  # must not overtake the timing that waits
    first.let_go()
    assert not has.wait(0.2)
    assert not late_has.is_set()
    second.kill()
    assert has.wait(10) and late_has.wait(10)
    thread.join()
    late.join()
    with leases.hold("another", exclusive=True), leases.hold("gpu", exclusive=True):
        assert [h.pid for h in leases.holders("another")] == [os.getpid()]


def test_an_exception_frees_it(leases):
    with pytest.raises(RuntimeError, match="x"), leases.hold("gpu", exclusive=True):
        raise RuntimeError("x")
    with leases.hold("gpu", exclusive=True):
        pass


def test_traps_in_the_shared_folder(leases, tmp_path):
    (tmp_path / "victim").write_text("mine")
    (leases.folder / "gpu.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(PermissionError, match="is a link"), leases.hold("gpu", exclusive=True):
        pass
    assert (tmp_path / "victim").read_text() == "mine"
    (leases.folder / "other.1-0.holder").write_text("nonsense")
    assert leases.holders("other") == []
    with leases.hold("../../escape", exclusive=True):
        assert list(tmp_path.glob("*escape*")) == []
    (tmp_path / "link").symlink_to(leases.folder)
    with pytest.raises(PermissionError, match="KGB_LOCK_DIR"):
        Leases(tmp_path / "link")
    assert leases.folder.stat().st_mode & 0o7777 == 0o1777


class Known(Gauge):
    """A management library with two GPUs, the second of which gets hot."""

    def __init__(self):
        super().__init__("no-such-library.so")
        self.asked = 0

    def devices(self):
        return (Device(0, "GPU-aaaa", "One", 8, 4), Device(1, "GPU-bbbb", "Two", 8, 4))

    def read(self, uuid):
        self.asked += 1
        return Reading(1000 + self.asked, 2000, 50 + self.asked, ("power cap",) if self.asked > 1 else ())


@pytest.mark.parametrize(
    ("text", "found"),
    [(None, ["GPU-aaaa", "GPU-bbbb"]), ("1", ["GPU-bbbb"]), ("1,0", ["GPU-bbbb", "GPU-aaaa"]), ("GPU-b", ["GPU-bbbb"]),
     ("0,7,1", ["GPU-aaaa"]), ("MIG-1/2", ["MIG-1/2"]), ("", [""]), ("-1", [""])],
)  # fmt: skip
def test_visible_devices(text, found):
    environment = {} if text is None else {"CUDA_VISIBLE_DEVICES": text}
    assert [d.uuid for d in devices.visible(Known(), environment)] == found


def test_without_a_library_there_is_still_one_device_to_hold():
    gauge = Gauge("no-such-library.so")
    assert gauge.devices() == () and gauge.read("GPU-aaaa") is None
    (one,) = devices.visible(gauge, {})
    assert devices.lock_name(one) == "gpu-0"


def test_a_watch_says_what_it_saw():
    with Watch(Known(), "GPU-bbbb", every_s=0.01) as watch:
        while len(watch.readings) < 4:
            time.sleep(0.01)
    told = summary("GPU-bbbb", watch.readings)
    assert told.sm_mhz[0] == 1001 and told.sm_mhz[2] == 1000 + told.readings
    assert told.throttled == ("power cap",)
    assert 0.7 < told.throttled_share < 1
    with Watch(Gauge("no-such-library.so"), "x") as watch:
        pass
    assert summary("x", watch.readings) is None


def test_doctor_shows_devices_and_holders(leases, other, monkeypatch, capfd):
    from kgb_gym.cli.doctor import devices as show

    monkeypatch.setenv("KGB_LOCK_DIR", str(leases.folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("kgb_gym.verification.gauge.Gauge", Known)
    with leases.hold("GPU-bbbb", exclusive=True):
        assert show(as_json=False) == 0
        text = capfd.readouterr().out
        assert "One" in text and "held by nobody" in text
        assert f"held alone, for timing by process {os.getpid()}" in text
        assert show(as_json=True) == 0
        told = json.loads(capfd.readouterr().out)
    assert [len(d["holders"]) for d in told] == [0, 1]


def test_templates_find_the_locks_where_they_were_put(monkeypatch):
    from kgb_gym.sandbox.processes import _environment

    monkeypatch.setenv("KGB_LOCK_DIR", "/shared/locks")
    assert _environment("native")["KGB_LOCK_DIR"] == "/shared/locks"
