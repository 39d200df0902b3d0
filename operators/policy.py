"""Which ATen calls an honest wrapper may make around its kernels, as verbs.

The screen applies a policy to the source before anything runs; the audit applies the same policy, below Python, to
every operator dispatched while a call is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verb = Literal["alloc", "view", "metadata", "fill", "copy", "reshape", "place", "draw"]

WORDS = {
    "alloc": "allocation (empty, empty_like, new_empty, empty_strided)",
    "view": "views (view, reshape, permute, expand, slicing, as_strided, view_as_real)",
    "metadata": "metadata (shape, stride, dtype, numel, is_contiguous, result_type, promote_types)",
    "fill": "fills with a constant (zeros, ones, full, fill_, zero_)",
    "copy": "dtype and layout conversion of an input (contiguous, clone, to)",
    "reshape": "reshaping that has to copy (reshape, flatten)",
    "place": "copying into memory that is there (copy_)",
    "draw": "one random one-element integer tensor from the given generator, as a seed for kernels",
}


@dataclass(frozen=True)
class Policy:
    """The verbs a wrapper may use; everything else that ATen computes is a hack."""

    allow: frozenset[Verb] = frozenset({"alloc", "view", "metadata", "fill", "copy", "reshape", "place"})
    lossy_copy: bool = True
    """Whether a `copy` may convert floating point to integers or to 8-bit floats, or anything to bool (which computes
    `x != 0`). False for operators whose answer such a conversion would give: rounding, quantisation, comparison with zero, complex parts."""
    inputs_only: bool = False
    """Whether copies are of whole tensors only, without a part or a repetition: of an input, for kernels to read; of what
    kernels have written, to the whole of another tensor. What is returned holds nothing copied from an input. For
    operators that copies of parts would answer."""
    deny_ops: frozenset[str] = frozenset()
    """ATen operator names that are refused although their verb is allowed: the operator's own family."""
    allow_ops: frozenset[str] = frozenset()
    """Further ATen operator names that may be called; each must be playable as one of the verbs."""

    def rules(self) -> tuple[str, ...]:
        """The policy in words, for the prompt."""
        words = [WORDS[v] for v in WORDS if v in self.allow]
        lines = [f"Allowed around your kernels: {'; '.join(words)}."]
        if self.inputs_only:
            lines.append(
                "Only whole tensors may be copied, no parts and no repetitions: an input, for your kernels to read; what "
                "your kernels have written, to the whole of another tensor. What you return holds nothing that was copied "
                "from an input."
            )
        if not self.lossy_copy and "copy" in self.allow:
            lines.append(
                "Not allowed: converting floating point to integers or 8-bit floats, or anything to bool, outside a kernel."
            )
        if self.deny_ops:
            lines.append(f"Not allowed here: {', '.join(sorted(self.deny_ops))}.")
        return tuple(lines)


NO_COPY = Policy(allow=frozenset({"alloc", "view", "metadata", "fill"}))
"""For operators that any copy would answer: copying is a kernel's business."""

RESHAPED_INPUTS = Policy(allow=NO_COPY.allow | {"reshape", "place"}, inputs_only=True)
"""For operators that are a copy themselves: an input may still be flattened for a kernel."""

CONVERTED_INPUTS = Policy(allow=RESHAPED_INPUTS.allow | {"copy"}, inputs_only=True)
"""For operators that copies of parts would answer, side by side in one memory or cut out of an input."""
