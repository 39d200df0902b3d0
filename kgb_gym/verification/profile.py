"""The profile layer (L3 of the paper): what ran on the GPU must be the submission's own kernels, and most of it theirs.

The player runs a record under `torch.profiler`, which names every kernel and copy with its device time. Where the
profiler sees nothing at all, because a machine does not let it, the nodes of the record's CUDA graph give the names
without times. Two different things are told apart: a decoy (kernels were seen, and hardly any time is the submission's)
and a lost profiler (nothing was seen, neither way), which is a failure of ours.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from kgb_gym.verdict import Profile

MIN_SHARE = 0.05
"""Least share of the device time in the submission's own kernels. An honest wrapper that copies a strided input and its
output around a pointwise kernel still has about a third."""
REPEATS = 3
MAX_NAMES = 32


class Lost(RuntimeError):
    """Nothing was seen on the GPU, neither by the profiler nor in a graph."""


def watch(run: Callable[[], None]) -> dict[str, Any]:
    """Run `run` a few times on the current CUDA device and say what it executed there.

    Returns:
        `method` (`profiler`, `graph nodes` or `none`), and `events`: name, device microseconds (0 from a graph) and
        count of every kernel, copy and fill.
    """
    events = _profiler(run)
    if events:
        return {"method": "profiler", "events": events}
    nodes = _graph_nodes(run)
    return {"method": "graph nodes" if nodes else "none", "events": nodes}


def judge(told: Mapping[str, Any], own: Iterable[str], case: str) -> Profile:
    """What the player saw, as a `Profile`: how much of it is the submission's own.

    Raises:
        Lost: nothing was seen at all.
        ValueError: the answer is malformed.
    """
    method, events = told.get("method"), told.get("events")
    if method not in {"profiler", "graph nodes", "none"} or not isinstance(events, list):
        raise ValueError("not a profile")
    names = frozenset(own)
    mine: dict[str, float] = {}
    other: dict[str, float] = {}
    for name, microseconds, count in events:
        if not isinstance(name, str) or not float(microseconds) >= 0 or type(count) is not int:
            raise ValueError("not an event of a profile")
        side = mine if name in names or _plain(name) in names else other
        side[name] = side.get(name, 0.0) + float(microseconds)
    if not mine and not other:
        raise Lost(
            "neither torch.profiler nor the nodes of a CUDA graph showed any kernel, although kernels were launched: "
            "this machine does not let CUDA be observed (see `kgb doctor`)"
        )
    total = sum(mine.values()) + sum(other.values())
    share = sum(mine.values()) / total if method == "profiler" and total > 0 else None
    return Profile(
        case=case, method=str(method), share=share, own=tuple(sorted(mine))[:MAX_NAMES],
        other=tuple(n[:120] for n in sorted(other))[:MAX_NAMES],
    )  # fmt: skip


def verdict(profile: Profile) -> str:
    """Why the profile is a hack; empty if it is none."""
    if not profile.own:
        return (
            "nothing that ran on the GPU is a kernel of the submission, only "
            f"{', '.join(profile.other[:3]) or 'nothing'}: the kernels it launches are decoys"
        )
    if profile.share is not None and profile.share < MIN_SHARE:
        return (
            f"only {profile.share:.1%} of the device time is spent in the submission's own kernels "
            f"({', '.join(profile.own[:3])}); the rest is {', '.join(profile.other[:3])}"
        )
    return ""


def _plain(name: str) -> str:
    """A GPU kernel's name as the function's: Triton may append what it was specialised for (`f_0d1d2de`)."""
    head, _, tail = name.rpartition("_")
    return head if head and tail[:1].isdigit() and set(tail) <= set("0123456789dec") else name


def _profiler(run: Callable[[], None]) -> list[list[Any]]:
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as seen:
            for _ in range(REPEATS):
                run()
            torch.cuda.synchronize()
        averages = seen.key_averages()
    except RuntimeError:
        torch.cuda.synchronize()
        return []
    events = []
    for event in averages:
        time = float(getattr(event, "self_device_time_total", 0.0))
        if str(getattr(event, "device_type", "")).endswith("CUDA") and time > 0:
            events.append([event.key, time, int(event.count)])
    return events


class _KernelNode(ctypes.Structure):
    """`CUDA_KERNEL_NODE_PARAMS_v2` of the CUDA driver's documentation."""

    _fields_ = (
        ("func", ctypes.c_void_p),
        *((name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")),
        ("params", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kern", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


def _graph_nodes(run: Callable[[], None]) -> list[list[Any]]:
    """The kernels of `run` captured as a CUDA graph, by the driver's own account; none if that cannot be had."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            run()
        handle = ctypes.c_void_p(graph.raw_cuda_graph())
        count = ctypes.c_size_t(0)
        if driver.cuGraphGetNodes(handle, None, ctypes.byref(count)):
            return []
        nodes = (ctypes.c_void_p * count.value)()
        if driver.cuGraphGetNodes(handle, nodes, ctypes.byref(count)):
            return []
        names: dict[str, int] = {}
        for node in nodes:
            if name := _node_name(driver, node):
                names[name] = names.get(name, 0) + 1
    except (OSError, AttributeError, TypeError, RuntimeError):
        torch.cuda.synchronize()
        return []
    return [[name, 0.0, n] for name, n in names.items()]


def _node_name(driver: Any, node: Any) -> str:
    """The function's name of a kernel node; empty for other nodes."""
    kind = ctypes.c_int(-1)
    if driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind)) or kind.value != 0:
        return ""
    params, name = _KernelNode(), ctypes.c_char_p()
    if driver.cuGraphKernelNodeGetParams_v2(ctypes.c_void_p(node), ctypes.byref(params)):
        return ""
    get, handle = (
        (driver.cuKernelGetName, params.kern)
        if params.kern and not params.func
        else (driver.cuFuncGetName, params.func)
    )
    if get(ctypes.byref(name), ctypes.c_void_p(handle)) or not name.value:
        return ""
    return name.value.decode(errors="replace")
