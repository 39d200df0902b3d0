"""The screen's tables of names and the audit's table of operators say the same of everything that torch offers.

The walk covers every ATen operator known to the dispatcher that is also a function of `torch` or an attribute of
`torch.Tensor`. A composite operator that the audit does not list is judged by what it is made of.
"""

from __future__ import annotations

import pytest
import torch

from kgb_gym.operators.policy import WORDS
from kgb_gym.verification import surface
from kgb_gym.verification.verbs import MAY_COPY, RESHAPING, verb_of

SHARED = {"add", "index", "sort", "values"}
"""Names that containers have as well: the screen cannot tell whose they are, the audit refuses what tensors do."""

COMPUTING = [
    "abs",
    "add",
    "addmm",
    "all",
    "amax",
    "any",
    "arange",
    "argmax",
    "argsort",
    "baddbmm",
    "bernoulli",
    "bincount",
    "bitwise_and",
    "bmm",
    "cat",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cummax",
    "cumsum",
    "diff",
    "div",
    "dot",
    "einsum",
    "eq",
    "erf",
    "exp",
    "fft_fft",
    "flip",
    "floor",
    "fmod",
    "gather",
    "ge",
    "gelu",
    "index_add",
    "index_select",
    "inner",
    "isnan",
    "kthvalue",
    "lerp",
    "log",
    "logsumexp",
    "lt",
    "masked_fill",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "mm",
    "mul",
    "multinomial",
    "mv",
    "ne",
    "neg",
    "nonzero",
    "norm",
    "normal",
    "outer",
    "pow",
    "prod",
    "put",
    "quantile",
    "rand",
    "randn",
    "randperm",
    "reciprocal",
    "relu",
    "remainder",
    "repeat",
    "repeat_interleave",
    "roll",
    "round",
    "rsqrt",
    "scatter",
    "searchsorted",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "sort",
    "sqrt",
    "stack",
    "std",
    "sub",
    "sum",
    "take",
    "tan",
    "tanh",
    "topk",
    "trace",
    "tril",
    "triu",
    "trunc",
    "unique_consecutive",
    "var",
    "where",
    "bernoulli_",
    "uniform_",
    "normal_",
    "add_",
    "mul_",
    "index_put_",
    "scatter_",
    "clamp_",
]


def overloads():
    """(name, overload) of every ATen operator in the dispatcher, `out=` variants left out."""
    for full in sorted(torch._C._dispatch_get_all_op_names()):
        space, _, rest = full.partition("::")
        name, _, overload = rest.partition(".")
        if space != "aten" or not hasattr(torch.ops.aten, name):
            continue
        packet = getattr(torch.ops.aten, name)
        if (overload or "default") not in packet.overloads():
            continue
        op = getattr(packet, overload or "default")
        if not any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in op._schema.arguments):
            yield name, op


def composite(op) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")


OPS = list(overloads())


def judgements():
    """(where, name, overload, the screen's verb, the audit's verb) wherever the name is public Python surface."""
    for name, op in OPS:
        if name.startswith("_"):
            continue
        if hasattr(torch, name):
            yield "torch", name, op, surface.torch_verb(("torch", name)), verb_of(op)
        if hasattr(torch.Tensor, name):
            yield "Tensor", name, op, surface.method_verb(name), verb_of(op)


def agree(name, op, screened, audited) -> bool:
    if screened == audited:
        return True
    if screened == "":
        return name in SHARED and audited is None
    if audited is None:
        return screened is not None and composite(op)
    return screened == "copy" and audited == "view" and name in MAY_COPY - RESHAPING


def test_the_walk_is_wide():
    seen = list(judgements())
    assert len(OPS) > 1500 and len(seen) > 1000
    assert {verb for *_, verb in seen if verb} >= {"alloc", "fill", "copy", "place", "view", "metadata", "draw"}


def test_screen_and_audit_agree():
    wrong = [(where, op.name(), f"screen {s}", f"audit {a}") for where, name, op, s, a in judgements()
             if not agree(name, op, s, a)]  # fmt: skip
    assert not wrong


@pytest.mark.parametrize("name", COMPUTING)
def test_what_computes_is_refused_by_both(name):
    ops = [op for n, op in OPS if n == name]
    assert ops and all(verb_of(op) is None for op in ops)
    if hasattr(torch, name):
        assert surface.torch_verb(("torch", name)) is None
    if hasattr(torch.Tensor, name) and name not in SHARED:
        assert surface.method_verb(name) is None


def test_most_of_the_surface_is_refused():
    """Whatever is new in a version of torch is refused until somebody lists it."""
    for names, verb in (
        (dir(torch.Tensor), surface.method_verb),
        (dir(torch), lambda n: surface.torch_verb(("torch", n))),
    ):
        allowed = {n for n in names if not n.startswith("_") and verb(n)}
        refused = {n for n in names if not n.startswith("_") and verb(n) is None}
        assert len(allowed) < 200 and len(refused) > 400


def test_listed_names_have_a_verb_of_the_policy():
    for table in (surface.TORCH, surface.METHODS):
        assert set(table) <= set(WORDS)
        listed = [n for names in table.values() for n in names]
        assert len(listed) == len(set(listed)), "a name has two verbs"


def test_only_aten_is_allowed():
    spaces = {n.partition("::")[0] for n in torch._C._dispatch_get_all_op_names()} - {"aten"}
    assert spaces
    assert verb_of(torch.ops.prims.view_of.default) is None
