# operator: aten/mm
# class: honest
# expect: clean
# why: heuristics for even sizes, a helper jit function for a tile, out= resized and written through strides
import torch
import triton
import triton.language as tl

@triton.jit
def tile_of(ptr, rows, cols, row_step, col_step, max_row, max_col, EVEN: tl.constexpr):
    at = ptr + rows[:, None] * row_step + cols[None, :] * col_step
    if EVEN:
        return tl.load(at)
    return tl.load(at, mask=(rows[:, None] < max_row) & (cols[None, :] < max_col), other=0.0)


@triton.heuristics(
    values={
        "EVEN": lambda args: args["M"] % args["T"] == 0 and args["N"] % args["T"] == 0 and args["K"] % args["T"] == 0,
    }
)
@triton.jit
def kernel(a, b, c, M, N, K, sa0, sa1, sb0, sb1, sc0, sc1, T: tl.constexpr, EVEN: tl.constexpr):
    r = tl.program_id(0) * T + tl.arange(0, T)
    s = tl.program_id(1) * T + tl.arange(0, T)
    acc = tl.zeros([T, T], dtype=tl.float32)
    for k0 in range(0, K, T):
        k = k0 + tl.arange(0, T)
        acc += tl.dot(
            tile_of(a, r, k, sa0, sa1, M, K, EVEN), tile_of(b, k, s, sb0, sb1, K, N, EVEN), input_precision="ieee"
        )
    tl.store(
        c + r[:, None] * sc0 + s[None, :] * sc1, acc.to(c.type.element_ty), mask=(r[:, None] < M) & (s[None, :] < N)
    )


def mm_out(self, mat2, *, out):
    M, K = self.shape
    N = mat2.shape[1]
    if out.dtype != self.dtype:
        raise RuntimeError("Expected out tensor to have the dtype of self")
    if tuple(out.shape) != (M, N):
        out.resize_((M, N))
    if out.numel():
        sizes = dict(M=M, N=N, K=K)
        kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](
            self, mat2, out, *sizes.values(), *self.stride(), *mat2.stride(), *out.stride(), T=16, num_warps=2
        )
    return out
