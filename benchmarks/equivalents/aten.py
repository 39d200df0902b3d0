"""Mutants of the gold kernels of ATen operators that compute the same."""

from __future__ import annotations

from benchmarks.equivalents.declaration import Equivalent

_PROMOTED = "the other operand of the expression is fp32 (or fp64), so that Triton's promotion makes the same cast"
_ZERO_TIMES = "the other operand's elements beyond the last term are zero, and a finite number times zero is zero"
_EVEN = "cosh is even: exp(-|x| / 2) in place of exp(|x| / 2) swaps the two terms of the sum"
_SIGN_OF_INFINITY = "the divisor is an infinity there, so below 0 is below -1"
_NO_ZERO = "integers are never divided by zero, so the divisor is not 0"
_COMPARED = "the smaller type's values are exact in the larger one, and a comparison promotes its operands by itself"

ATEN: tuple[Equivalent, ...] = (
    Equivalent(
        ("aten/item", "aten/_local_scalar_dense"), "constant_off_by_one", "0", "-1",
        "the first of one element is the last",
    ),
    Equivalent(
        ("aten/add", "aten/add_", "aten/sub", "aten/rsub"), "missing_cast", "x.to(tl.float32)", "x", _PROMOTED,
    ),
    Equivalent(
        ("aten/log_sigmoid_backward", "aten/mish_backward", "aten/softplus_backward"), "missing_cast", "grad.to(work)",
        "grad", _PROMOTED,
    ),
    Equivalent(("aten/fmax",), "missing_cast", "a.to(work)", "a", _COMPARED),
    Equivalent(("aten/fmax",), "missing_cast", "b.to(work)", "b", _COMPARED),
    Equivalent(
        ("aten/eq", "aten/gt", "aten/le"), "missing_cast",
        "a.to(tl.float64 if a.dtype == tl.float64 or b.dtype == tl.float64 else tl.float32)", "a", _COMPARED,
    ),
    Equivalent(("aten/amin",), "mask_off_by_one", "x < low", "x <= low", "of two equal minima either is the minimum"),
    Equivalent(
        ("aten/huber_loss",), "swapped_operands", "x - t", "t - x", "only the absolute value of the difference is used",
    ),
    Equivalent(
        ("aten/logaddexp2",), "swapped_operands", "a - b", "b - a", "only the absolute value of the difference is used",
    ),
    Equivalent(
        ("aten/empty_strided", "aten/new_empty_strided"), "constant_off_by_one", "1", "2",
        "memory one element larger than needed: its size is not promised",
    ),
    Equivalent(
        ("aten/empty_strided", "aten/new_empty_strided"), "constant_off_by_one", "1", "0",
        "memory larger than needed: its size is not promised", "(n - 0) * s",
    ),
    Equivalent(
        ("aten/i0",), "constant_off_by_one", "20", "21", "between 20 and 21 both series are exact to fp64's roundoff",
    ),
    Equivalent(
        ("aten/mish_backward",), "constant_off_by_one", "20", "21",
        "where the argument is above the cut-off, both branches round to the same number",
    ),
    Equivalent(
        ("aten/binary_cross_entropy_with_logits",), "mask_off_by_one", "x < 0", "x <= 0",
        "where the logit is zero, the product is zero whatever its other factor",
    ),
    Equivalent(
        ("aten/mish", "aten/mish_backward"), "constant_off_by_one", "20", "19",
        "where the argument is above the cut-off, both branches round to the same number",
    ),
    Equivalent(
        ("aten/bmm", "aten/linear", "aten/matmul", "aten/mm"), "constant_off_by_one", "0.0", "-1.0", _ZERO_TIMES,
        "_tile, mask=",
    ),
    Equivalent(
        ("aten/bmm", "aten/linear", "aten/matmul", "aten/mm"), "constant_off_by_one", "0.0", "1.0", _ZERO_TIMES,
        "_tile, mask=",
    ),
    Equivalent(
        ("aten/mm",), "constant_off_by_one", "8", "9", "how many rows of tiles form a group decides only which program takes which tile",
    ),
    Equivalent(
        ("aten/mm",), "constant_off_by_one", "8", "7", "how many rows of tiles form a group decides only which program takes which tile",
    ),
    Equivalent(("aten/cosh",), "constant_off_by_one", "0.5", "-0.5", _EVEN, "root = tl.exp("),
    Equivalent(
        ("aten/cumsum",), "wrong_stride", "split * chunk", "split * (chunk + 1)",
        "a split that runs on past its end writes the same running sums as the next one", "end = min(",
    ),
    Equivalent(
        ("aten/argmax",), "constant_off_by_one", "0", "1", "the search starts from the first position, so it may skip it",
        "for step in range(1, chunk",
    ),
    Equivalent(
        ("aten/bernoulli",), "mask_off_by_one", "tl.rand(tl.load(seed_ptr), offsets) < p",
        "tl.rand(tl.load(seed_ptr), offsets) <= p", "a random number equals p once in 2**24 elements at most",
    ),
    Equivalent(
        ("aten/exponential_",), "constant_off_by_one", "1e-10", "-0.9999999999",
        "the limit only meets a random number that is 0, once in 2**31 elements",
    ),
    Equivalent(
        ("aten/bernoulli",), "flipped_comparison", "p.dtype != tl.float64", "p.dtype == tl.float64",
        "the comparison makes the same cast; of a probability in fp64 it loses 2**-25",
    ),
    Equivalent(
        ("aten/affine_grid_generator",), "missing_cast",
        "tl.load(row, mask=mask).to(REAL)",
        "tl.load(row, mask=mask)", _PROMOTED,
    ),
    Equivalent(
        ("aten/affine_grid_generator",), "missing_cast",
        "tl.load(row + 1, mask=mask).to(REAL)",
        "tl.load(row + 1, mask=mask)", _PROMOTED,
    ),
    Equivalent(
        ("aten/affine_grid_generator",), "missing_cast",
        "tl.load(row + 2, mask=mask).to(REAL)",
        "tl.load(row + 2, mask=mask)", _PROMOTED,
    ),
    Equivalent(
        ("aten/affine_grid_generator",), "missing_cast",
        "tl.load(row + RANK, mask=mask).to(REAL)",
        "tl.load(row + RANK, mask=mask)", _PROMOTED,
    ),
    Equivalent(
        ("aten/diff",), "missing_cast",
        "high.to(tl.float32)",
        "high", _PROMOTED,
    ),
    Equivalent(
        ("aten/diff",), "missing_cast",
        "low.to(tl.float32)",
        "low", _PROMOTED,
    ),
    Equivalent(
        ("aten/mean",), "missing_cast",
        "tl.load(x_ptr + base[:, None] + at[None, :], mask=mask, other=0).to(SUM)",
        "tl.load(x_ptr + base[:, None] + at[None, :], mask=mask, other=0)", _PROMOTED,
    ),
    Equivalent(
        ("aten/mean",), "missing_cast",
        "tl.load(x_ptr + base[None, :] + at[:, None] * inner, mask=mask, other=0).to(SUM)",
        "tl.load(x_ptr + base[None, :] + at[:, None] * inner, mask=mask, other=0)", _PROMOTED,
    ),
    Equivalent(
        ("aten/linear",), "missing_cast",
        "bias.to(SUM)",
        "bias", _PROMOTED,
    ),
    Equivalent(
        ("aten/argmax",), "missing_cast",
        "tl.load(x_ptr + base[:, None] + first * inner, mask=(j < answers)[:, None]).to(KIND)",
        "tl.load(x_ptr + base[:, None] + first * inner, mask=(j < answers)[:, None])", _COMPARED,
    ),
    Equivalent(
        ("aten/expand", "aten/expand_as"), "constant_off_by_one", "1", "2",
        "the stride of a dimension of one element reaches nothing", "i + 1 < len(size) else 2",
    ),
    Equivalent(
        ("aten/expand", "aten/expand_as"), "constant_off_by_one", "0", "-1",
        "the view itself refuses a size of -1, with the same error", "wanted < -1",
    ),
    Equivalent(
        ("aten/expand", "aten/expand_as"), "constant_off_by_one", "1", "2",
        "the stride of a dimension of one element reaches nothing", "if i + 2 < len(size)",
    ),
    Equivalent(
        ("aten/expand_as",), "flipped_comparison", "i >= lead", "i <= lead", "the sizes of another tensor are never -1",
        "if wanted == -1 and i <= lead",
    ),
    Equivalent(
        ("aten/upsample_nearest2d_backward",), "missing_cast", "tl.floor(x.to(tl.float32) * per_w).to(tl.int32)",
        "tl.floor(x.to(tl.float32) * per_w)", "a whole number in fp32 is equal to the same integer",
    ),
    Equivalent(
        ("aten/linear",), "constant_off_by_one", "0.0", "-1.0", "the sums of columns past the end are not stored",
        "bias = tl.load(bias_ptr + n * bias_step, mask=n < N",
    ),
    Equivalent(
        ("aten/masked_fill_",), "constant_off_by_one", "0", "1", "lanes past the end are masked once more at the store",
        "other=1)",
    ),
    Equivalent(
        ("aten/masked_fill_",), "constant_off_by_one", "0", "-1", "lanes past the end are masked once more at the store",
        "other=-1)",
    ),
    Equivalent(
        ("aten/masked_fill_",), "missing_cast", "value.to(x_ptr.dtype.element_ty)", "value", "the store makes the same cast",
    ),
    Equivalent(
        ("aten/prelu",), "dropped_mask", "tl.load(weight_ptr + offsets // stride % channels, mask=mask)",
        "tl.load(weight_ptr + offsets // stride % channels)", "a remainder by the number of slopes is in range on every lane",
    ),
    Equivalent(
        ("aten/rsqrt",), "flipped_comparison", "x.dtype == tl.float64", "x.dtype != tl.float64",
        "both branches are the reciprocal root, either of which is exact enough in both types", "if x.dtype != tl.float64:",
    ),
    Equivalent(
        ("aten/scatter",), "missing_cast", "x.to(old.dtype)", "x", _PROMOTED,
    ),
    Equivalent(
        ("aten/select",), "constant_off_by_one", "0", "-1",
        "without dimensions none is in range, which raises the same error", "if self.dim() == -1",
    ),
    Equivalent(
        ("aten/mul", "aten/square"), "mask_off_by_one", "offsets < 2 * n", "offsets < 2 * n - 1", "the offsets are even",
    ),
    Equivalent(
        ("aten/index_put_", "aten/_index_put_impl_"), "constant_off_by_one", "0", "-1",
        "the only axis is the last one", "axis=-1)",
    ),
    Equivalent(
        ("aten/index", "aten/index_put_", "aten/_index_put_impl_"), "constant_off_by_one", "0", "-1",
        "only the last block has lanes past the end, and its count is added to no other block's",
        "true = tl.load(mask_ptr + k, mask=k < n, other=-1)",
    ),
    Equivalent(
        ("aten/index", "aten/index_put_", "aten/_index_put_impl_"), "constant_off_by_one", "0", "1",
        "only the last block has lanes past the end, and its count is added to no other block's",
        "true = tl.load(mask_ptr + k, mask=k < n, other=1)",
    ),
    Equivalent(("aten/div", "aten/div_"), "constant_off_by_one", "0", "-1", _SIGN_OF_INFINITY, "b < -1"),
    Equivalent(("aten/div", "aten/div_"), "mask_off_by_one", "b < 0", "b <= 0", _NO_ZERO, "y * b != a"),
    Equivalent(("aten/div", "aten/div_"), "mask_off_by_one", "b < 0", "b <= 0", _SIGN_OF_INFINITY, "float('inf')"),
    Equivalent(("aten/logaddexp2",), "missing_cast", "b.to(work)", "b", _PROMOTED),
    Equivalent(
        ("aten/pairwise_distance",), "constant_off_by_one", "1", "0",
        "a power with p = 1 by exponential and logarithm is the number itself", "KIND == 0",
    ),
    Equivalent(
        ("aten/upsample_nearest2d_backward",), "constant_off_by_one", "1", "0",
        "scales agree with the sizes, so that no element of the output lies beyond the last one of the input",
        "height - 0)",
    ),
    Equivalent(
        ("aten/upsample_nearest2d_backward",), "constant_off_by_one", "1", "0",
        "scales agree with the sizes, so that no element of the output lies beyond the last one of the input",
        "width - 0)",
    ),
    Equivalent(
        ("aten/poisson",), "constant_off_by_one", "1.7155277699214135", "2.7155277699214135",
        "a wider cover of the same weights: more candidates are refused, those taken have the same distribution",
    ),
    Equivalent(
        ("aten/poisson",), "constant_off_by_one", "0.8989161620588988", "1.8989161620588988",
        "a wider cover of the same weights: more candidates are refused, those taken have the same distribution",
    ),
    Equivalent(
        ("aten/pow",), "wrong_stride", "0.5 * b", "0.5 * (b + 1)",
        "of whole numbers floor((b + 1) / 2) is b / 2 exactly where b is even", "tl.floor(0.5 * (b + 1)) != 0.5 * b",
    ),
    Equivalent(
        ("aten/poisson",), "mask_off_by_one", "rate < 10.0", "rate < 10.0 - 1",
        "either method serves the rates from 9 to 10",
    ),
    Equivalent(
        ("aten/poisson",), "constant_off_by_one", "10.0", "11.0", "either method serves the rates from 10 to 11",
    ),
    Equivalent(
        ("aten/poisson",), "constant_off_by_one", "100.0", "99.0", "no rate below 10 has such a count in 2**63 samples",
    ),
    Equivalent(
        ("aten/poisson",), "constant_off_by_one", "100.0", "101.0", "no rate below 10 has such a count in 2**63 samples",
    ),
    Equivalent(
        ("aten/pow",), "constant_off_by_one", "0", "-1", "an exponent below 1 takes no part in the squarings",
        "rest = tl.where(mask, b, -1)",
    ),
    Equivalent(
        ("aten/sort",), "missing_cast", "x.to(key_ptr.dtype.element_ty)", "x",
        "integers, and their complements, have the same order in their own type as in a wider one",
    ),
)  # fmt: skip
