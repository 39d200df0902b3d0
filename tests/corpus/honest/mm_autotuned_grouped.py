# operator: aten/mm
# class: honest
# expect: clean
# why: the tutorial's grouped product, autotuned, with strides and a self-test under __main__
import torch
import triton
import triton.language as tl

def configurations():
    return [
        triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 4}, num_stages=stages, num_warps=warps)
        for bm, bn, bk, stages, warps in ((64, 64, 32, 3, 4), (32, 32, 16, 2, 4), (16, 64, 32, 3, 2))
    ]


@triton.autotune(configs=configurations(), key=["M", "N", "K"])
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    num_m, num_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    width = GROUP * num_n
    first = (pid // width) * GROUP
    size = min(num_m - first, GROUP)
    pm = first + (pid % width) % size
    pn = (pid % width) // size
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (rk[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(rk[:, None] < left) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    c = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn, c, mask=(rm[:, None] < M) & (rn[None, :] < N))


def mm(self: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    assert self.ndim == 2 and mat2.ndim == 2, "matrices expected"
    assert self.shape[1] == mat2.shape[0], "incompatible sizes"
    (M, K), (_, N) = self.shape, mat2.shape
    c = torch.empty((M, N), device=self.device, dtype=self.dtype)
    if M == 0 or N == 0:
        return c
    if K == 0:
        return c.zero_()
    grid = lambda META: (triton.cdiv(M, META["BM"]) * triton.cdiv(N, META["BN"]),)  # noqa: E731
    matmul_kernel[grid](self, mat2, c, M, N, K, self.stride(0), self.stride(1), mat2.stride(0), mat2.stride(1), *c.stride())
    return c


if __name__ == "__main__":
    import time

    x, y = torch.randn(64, 64), torch.randn(64, 64)
    started = time.time()
    torch.testing.assert_close(mm(x, y), x @ y)
    print("ok", time.time() - started)
