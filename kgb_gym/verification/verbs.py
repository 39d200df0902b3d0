"""What each ATen operator does, as one of the policy's verbs: the audit's table.

Operators that are not here compute, and computing is the kernels' business. `surface.py` holds the same judgement on the
Python names that the screen sees.
"""

from __future__ import annotations

from typing import Any

ALLOC = frozenset({
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
    "resize_as_",
})  # fmt: skip
FILL = frozenset({
    "zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full",
    "scalar_tensor", "fill_", "zero_", "zero", "fill",
})  # fmt: skip
COPY = frozenset({"clone", "_to_copy", "lift_fresh", "lift"})
PLACE = frozenset({"copy_"})
DRAW = frozenset({"randint"})
METADATA = frozenset({
    "result_type", "promote_types", "is_pinned", "is_same_size", "is_set_to", "sym_size", "sym_stride", "sym_numel",
    "sym_storage_offset", "size", "stride", "numel", "dim", "is_complex", "is_floating_point", "is_contiguous",
    "storage_offset", "is_non_overlapping_and_dense", "_has_same_storage_numel", "can_cast", "is_signed",
})  # fmt: skip
VIEWS = frozenset({
    "broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "real", "imag", "unflatten", "tensor_split", "chunk",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "hsplit", "vsplit", "dsplit", "_unsafe_view",
})  # fmt: skip
"""Operators that give views although their schema does not say so."""
INPLACE_VIEWS = frozenset({
    "squeeze_", "unsqueeze_", "t_", "transpose_", "as_strided_", "detach_", "swapaxes_", "swapdims_",
})  # fmt: skip
NOT_DENSE = frozenset({
    "coalesce", "indices", "_indices", "values", "_values", "ccol_indices", "col_indices", "crow_indices",
    "row_indices", "_nested_get_values", "_nested_view_from_buffer", "_nested_view_from_jagged",
    "_sparse_broadcast_to", "_test_autograd_multiple_dispatch_view", "_make_dual", "_autocast_to_full_precision",
    "_autocast_to_reduced_precision", "pin_memory", "slice_inverse",
})  # fmt: skip
"""Operators whose schema promises a view, but which no wrapper around dense tensors needs."""
MAY_COPY = frozenset({
    "to", "contiguous", "reshape", "flatten", "ravel", "resolve_conj", "resolve_neg", "type_as", "expand_as", "view_as",
    "reshape_as", "conj", "_reshape_alias", "unflatten", "broadcast_to", "real", "imag",
})  # fmt: skip
"""Composite operators that return an alias where they can and a converted copy where they cannot."""
RESHAPING = frozenset({"reshape", "flatten", "ravel", "reshape_as", "unflatten"})
"""Those of them that keep the type, and bring another shape where they copy."""
ITEM = frozenset({"item", "_local_scalar_dense"})
READ_BACK = frozenset({"_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero"})


def verb_of(func: Any) -> str | None:
    """The verb of an ATen overload (`torch.ops.aten.…`); None: it computes, reads back, or is not ATen's."""
    namespace, _, name = func._schema.name.partition("::")
    if namespace != "aten":
        return None
    for verb, names in (
        ("alloc", ALLOC),
        ("fill", FILL),
        ("copy", COPY),
        ("place", PLACE),
        ("draw", DRAW),
        ("metadata", METADATA),
    ):
        if name in names:
            return verb
    if name in INPLACE_VIEWS or name in VIEWS or _is_view(func):
        return "view"
    return None


def _is_view(func: Any) -> bool:
    """All returns alias an argument and nothing is written."""
    schema = func._schema
    if schema.name.partition("::")[2] in NOT_DENSE:
        return False
    if any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments):
        return False
    return bool(schema.returns) and all(r.alias_info is not None for r in schema.returns)
