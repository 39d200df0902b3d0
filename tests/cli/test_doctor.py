"""`kgb doctor` on machines whose platform is unclear, or whose driver is broken."""

from __future__ import annotations

from kgb_gym import platforms
from kgb_gym.platforms import Ambiguous


def test_every_platform_is_named_with_its_state(kgb, monkeypatch):
    monkeypatch.setenv("KGB_PLATFORM", "cpu")
    found = kgb("doctor", "--json").json
    assert (found["platform"], found["platforms"]["emu-a"]) == ("cpu", "emulated")
    assert found["platforms"]["amd"].startswith("declared") and found["platforms"]["nvidia"] == "tested"


def test_a_driver_that_answers_nothing_is_told(kgb, monkeypatch):
    # Whatever this machine has: no device is visible to torch.
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "-1")
    monkeypatch.setenv("KGB_PLATFORM", "nvidia")
    done = kgb("doctor", "--json")
    (gpu,) = [c for c in done.json["checks"] if c["name"] == "gpu"]
    assert done.code == 1 and not gpu["ok"] and "can't use them" in gpu["detail"]


def test_an_unclear_platform_asks_which(kgb, monkeypatch):
    def unclear() -> None:
        raise Ambiguous("this machine may be amd or hygon: say which with --platform")

    monkeypatch.setattr(platforms, "detect", unclear)
    done = kgb("doctor", "--json")
    (check,) = [c for c in done.json["checks"] if c["name"] == "platform"]
    assert done.code == 1 and "say which with --platform" in check["detail"]
    refused = kgb("show", "aten/cos", "--platform", "auto")
    assert refused.code == 2 and "say which with --platform" in refused.err
