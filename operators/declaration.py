"""The vocabulary in which an operator is declared: operators, interfaces, cases and calls.

An operator is declared, not programmed: everything here is frozen data plus small pure functions, and no declaration
knows where or how it will be run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from kgb_gym.operators.compare import Close, Comparison
from kgb_gym.operators.grids import Grid, Params, dtype_of, in_single, plain_value, unusual
from kgb_gym.operators.policy import Policy

if TYPE_CHECKING:
    from kgb_gym.operators.maker import Maker

GRIDS = ("paper", "quick", "smoke")
"""The grids that an interface declares."""
SUITES = (*GRIDS, "wide")
"""What may be asked for: `wide` is the grid of `quick` with its cases beyond what a clean pass asks."""
HIDDEN_TRIES = 64
"""How often a hidden case is drawn anew because its sizes stand in a grid."""


@dataclass(frozen=True)
class Call:
    """One call of an interface: what is passed to it. Tensors may also stand in lists."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def tensors(self) -> list[torch.Tensor]:
        """Every tensor of the call in order: positional first, then keywords, lists flattened. Same tensor, same object."""
        return list(_leaves((self.args, dict(self.kwargs))))

    def map(self, change: Callable[[torch.Tensor], Any]) -> Call:
        """The call with every tensor replaced; a tensor that occurs twice is changed once."""
        done: dict[int, Any] = {}

        def one(tensor: torch.Tensor) -> Any:
            if id(tensor) not in done:
                done[id(tensor)] = change(tensor)
            return done[id(tensor)]

        return Call(_map(self.args, one), _map(dict(self.kwargs), one))

    def clone(self) -> Call:
        """A copy with the same geometry, in which tensors that share memory still share it."""
        storages: dict[int, torch.UntypedStorage] = {}

        def copy(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key not in storages:
                storages[key] = storage.clone()
            twin = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            twin.set_(storages[key], tensor.storage_offset(), tensor.size(), tensor.stride())
            if tensor.is_conj():
                twin = torch._conj(twin)
            if tensor.is_neg():
                twin = torch._neg_view(twin)
            return twin

        return self.map(copy)


@dataclass(frozen=True)
class Case:
    """One point of an interface's grid. `params` are JSON values: dtypes by name, shapes as lists."""

    interface: str
    params: Mapping[str, Any]
    origin: str = "paper"
    """`paper` (the published grid), `extra` (ours), `beyond` (ours, and more than a clean pass asks: in `wide` only) or
    `hidden` (drawn anew for each submission)."""
    timed: bool = False

    @property
    def id(self) -> str:
        """Readable and unique within an operator and suite, such as `softmax.int[dim=0,dtype=float16,shape=1x256]`."""
        text = ",".join(f"{k}={_show(v)}" for k, v in sorted(self.params.items()))
        return f"{self.interface}[{text}]" + ("#hidden" if self.origin == "hidden" else "")


Build = Callable[..., Call]
"""`build(make, **params) -> Call`: tensors come from `make` (a `Maker`), dtypes arrive as `torch.dtype`."""

Jitter = Callable[[random.Random, dict[str, Any]], dict[str, Any]]
"""Changes the parameters of one case into those of a hidden case: other sizes, strides, offsets."""


@dataclass(frozen=True)
class Interface:
    """One function that a submission must define."""

    name: str
    """The overload, routine or entry: `softmax.int`, `rms_norm`, `cublasSgemm_v2`."""
    build: Build
    grids: Mapping[str, tuple[Grid, ...]]
    """The parameter grids by name: `paper`, `quick`, `smoke`."""
    jitter: Jitter
    writes: tuple[str, ...] = ()
    """Names of the arguments it may write. For ATen left empty: the schema says."""
    reads: tuple[str, ...] = ()
    """Names of the arguments that are one number as a tensor, which the native operator reads on the host as well: a
    submission may, too. Their value follows from the case alone, never from the seed."""
    signature: str = ""
    """The Python signature as text. For ATen left empty: the schema says."""
    returns_written: bool = False
    """vLLM and cuBLAS style: the result is in the written arguments and what is returned does not matter."""
    touched: Callable[..., Mapping[str, Any]] | None = None
    """Called with the call's arguments by keyword. For a written argument of which only some elements may change: a
    bool mask by argument name, True = may change (a list of masks where the argument is a list). All others must keep
    their bits. None: all may change."""
    oracle: Callable[..., Mapping[str, Any]] | None = None
    """Plain high-precision definition, called with the call's arguments by keyword: the answer of each written
    argument in its full shape, float64 or complex128 (or the argument's own dtype where exact), a list where the
    argument is one; a `Target` says both the answer and its precise value. What is returned stands under `return`: a
    tuple of exact tensors (an argument itself: it must be that), targets and plain values. None: the native ATen
    overload (see `oracle`)."""
    compare: Comparison | None = None
    """Overrides the operator's comparison for this interface."""
    usual: frozenset[str] | None = None
    """Names of the dtypes that a clean pass asks: a case with another one, or with a conjugate or negative bit where no
    complex type is usual, is `beyond`, and one that is so by float64
    alone has a twin in float32. None: the operator's, and without those any."""

    @property
    def function(self) -> str:
        """The name of the Python function that a submission defines: the overload with `.` turned into `_`."""
        return self.name.replace(".", "_")

    def beyond(self, which: Callable[[Params], bool]) -> Interface:
        """The interface with those points of its grids marked as more than a clean pass asks."""
        return replace(self, grids={name: tuple(g.beyond(which) for g in grids) for name, grids in self.grids.items()})

    def cases(self, suite: str) -> tuple[Case, ...]:
        """Every case of one suite, in a fixed order, without repetitions."""
        if suite not in self._suites:
            pairs = [(grid, p) for grid in self.grids["quick" if suite == "wide" else suite] for p in grid.points]
            twins = [(g, in_single(p)) for g, p in pairs if "origin" not in p and self._case(g, p).origin == "beyond"]
            first: dict[str, Case] = {}
            for case in (self._case(grid, point) for grid, point in (*pairs, *twins)):
                first.setdefault(case.id, case)
            self._suites[suite] = tuple(c for c in first.values() if suite == "wide" or c.origin != "beyond")
        return self._suites[suite]

    def _case(self, grid: Grid, point: Params) -> Case:
        params = {name: value for name, value in point.items() if name != "origin"}
        beyond = self.usual is not None and unusual(params, self.usual)
        origin = "beyond" if beyond else point.get("origin", grid.origin)
        return Case(self.name, params, origin, grid.timed and origin != "beyond")

    @cached_property
    def _suites(self) -> dict[str, tuple[Case, ...]]:
        return {}

    @cached_property
    def _known_sizes(self) -> frozenset[str]:
        return frozenset(_sizes(c.params) for suite in SUITES for c in self.cases(suite))

    def call(self, make: Maker, params: Mapping[str, Any]) -> Call:
        """Build the call of one case. `params` are JSON values; dtype names become `torch.dtype` first."""
        return self.build(make, **{k: dtype_of(v) for k, v in params.items()})

    def hidden(self, seed: int, suite: str) -> Case:
        """One case of sizes that no grid holds, drawn from `seed`: a grid point with jittered parameters."""
        rng = random.Random(seed)
        cases = self.cases(suite)
        for _ in range(HIDDEN_TRIES):
            params = {k: plain_value(v) for k, v in self.jitter(rng, dict(rng.choice(cases).params)).items()}
            if _sizes(params) not in self._known_sizes:
                break
        return Case(self.name, params, origin="hidden")


@dataclass(frozen=True)
class Exemption:
    """A canary that need not fail, and why."""

    canary: str
    """`zeros`, `first_input`, `scaled` or `neighbour`."""
    reason: str
    interface: str = ""
    """Interface it holds for; empty: all."""


@dataclass(frozen=True)
class Operator:
    """One problem: everything that is asked of a submission, and how it is judged."""

    source: str
    """`aten`, `vllm` or `cublas`."""
    name: str
    """`softmax`, `rms_norm`, `Sgemm_v2`."""
    interfaces: tuple[Interface, ...]
    compare: Comparison = field(default_factory=Close)
    description: str = ""
    """What the operator computes, in a few lines of our own, for the prompt."""
    notes: tuple[str, ...] = ()
    """Further facts for the prompt: layouts, conventions, corner cases."""
    view: bool = False
    """Returns an alias of an input, whose strides, offset and storage are compared."""
    strides: bool = False
    """Fresh tensors that it returns must have the native operator's strides (in dimensions of more than one element)."""
    random: bool = False
    """Judged by distribution and by determinism under a seed."""
    kernel_required: bool = True
    """False for operators that are metadata only."""
    data_dependent: bool = False
    """Launches may depend on values: the record of a call on the very values is judged, and nothing is timed."""
    policy: Policy = field(default_factory=Policy)
    """The ATen calls that an honest wrapper may make."""
    exemptions: tuple[Exemption, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """Overloads that are not asked for, each with the reason."""
    usual: frozenset[str] | None = None
    """The `usual` dtypes of every interface that does not say its own."""
    family: str = ""
    """For the train/validation/test splits: operators of one family stay together. Empty: the operator's own name."""

    def __post_init__(self) -> None:
        names = [i.name for i in self.interfaces]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.id}: an interface is declared twice")
        for interface in self.interfaces:
            if missing := set(GRIDS) - set(interface.grids):
                raise ValueError(f"{self.id}: {interface.name} has no grid for {', '.join(sorted(missing))}")
        asked = (i if i.usual is not None else replace(i, usual=self.usual) for i in self.interfaces)
        object.__setattr__(self, "interfaces", tuple(asked))

    @property
    def id(self) -> str:
        """`source/name`."""
        return f"{self.source}/{self.name}"

    @property
    def env_id(self) -> str:
        """Gymnasium id: `kgb/<source>-<name>-v0`."""
        return f"kgb/{self.source}-{self.name}-v0"

    def interface(self, name: str) -> Interface:
        """The interface of that name.

        Raises:
            KeyError: there is none.
        """
        for interface in self.interfaces:
            if interface.name == name:
                return interface
        raise KeyError(f"{self.id} has no interface {name!r}")

    def cases(self, suite: str, interfaces: tuple[str, ...] | None = None) -> tuple[Case, ...]:
        """Every case of a suite over all interfaces, or over those named."""
        if suite not in SUITES:
            raise ValueError(f"unknown suite {suite!r}: use one of {', '.join(SUITES)}")
        return tuple(
            case for i in self.interfaces if interfaces is None or i.name in interfaces for case in i.cases(suite)
        )

    def counts(self, suite: str) -> dict[str, int]:
        """`k` (the paper's cases), `k_extra`, `k_beyond` and `k_timed` of one suite."""
        cases = self.cases(suite)
        return {
            "k": sum(c.origin == "paper" for c in cases),
            "k_extra": sum(c.origin == "extra" for c in cases),
            "k_beyond": sum(c.origin == "beyond" for c in cases),
            "k_timed": sum(c.timed for c in cases),
        }


def _sizes(params: Mapping[str, Any]) -> str:
    """The parameters that are sizes: what a submission that knows the grids could tell cases apart by."""
    whole = {
        k: v for k, v in params.items() if type(v) is int or (isinstance(v, list) and all(type(n) is int for n in v))
    }
    return str(sorted(whole.items()))


def _leaves(tree: Any) -> Iterator[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from _leaves(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from _leaves(item)


def _map(tree: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, (list, tuple)):
        return type(tree)(_map(item, change) for item in tree)
    if isinstance(tree, dict):
        return {k: _map(v, change) for k, v in tree.items()}
    return tree


def _show(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(v, int) for v in value):
            return "x".join(str(v) for v in value)
        return "(" + "-".join(_show(v) for v in value) + ")"
    return str(value)
