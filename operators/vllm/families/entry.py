"""One entry of `vllm._custom_ops` as an operator: a single interface whose name the signature says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgb_gym.operators.compare import Comparison
from kgb_gym.operators.declaration import Build, Interface, Jitter, Operator
from kgb_gym.operators.grids import Grid


def entry(
    signature: str, *, build: Build, oracle: Callable[..., Mapping[str, Any]], grids: Mapping[str, tuple[Grid, ...]],
    jitter: Jitter, compare: Comparison, description: str, notes: tuple[str, ...], family: str,
    writes: tuple[str, ...] = (), touched: Callable[..., Mapping[str, Any]] | None = None, **more: Any,
) -> Operator:  # fmt: skip
    """The operator of one entry, written `name(argument: type, ...) -> type`. One that returns None is judged by what
    it wrote."""
    name = signature.partition("(")[0]
    interface = Interface(
        name=name,
        build=build,
        grids=grids,
        jitter=jitter,
        writes=writes,
        signature=signature,
        returns_written=signature.endswith("-> None"),
        touched=touched,
        oracle=oracle,
    )
    return Operator(
        source="vllm",
        name=name,
        interfaces=(interface,),
        compare=compare,
        description=description,
        notes=notes,
        family=family,
        **more,
    )


def axes(names: str, values: Sequence[Any]) -> dict[str, Any]:
    """One axis of a grid whose values set several parameters at once, to be passed on by `**`."""
    return {names: values}
