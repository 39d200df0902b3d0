# operator: cublas/CgemmStridedBatched
# class: honest
# expect: clean
# why: complex buffers through view_as_real, a NamedTuple of strides, one grid axis for the batch
from typing import NamedTuple

import torch
import triton
import triton.language as tl

class Steps(NamedTuple):
    row: int
    col: int
    item: int


@triton.jit
def complex_tile(p, r, s, row, col, max_r, max_s):
    at = p + 2 * (r[:, None] * row + s[None, :] * col)
    live = (r[:, None] < max_r) & (s[None, :] < max_s)
    return tl.load(at, mask=live, other=0.0), tl.load(at + 1, mask=live, other=0.0)


@triton.jit
def cgemm(
    a, b, c, m, n, k, ar, ac, ai, br, bc, bi, ldc, ci, alpha_r, alpha_i, beta_r, beta_i,
    SIGN_A: tl.constexpr, SIGN_B: tl.constexpr, BETA: tl.constexpr, T: tl.constexpr,
):
    item = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    re = tl.zeros((T, T), tl.float32)
    im = tl.zeros((T, T), tl.float32)
    for k0 in range(0, k, T):
        p = k0 + tl.arange(0, T)
        xr, xi = complex_tile(a + 2 * item * ai, i, p, ar, ac, m, k)
        yr, yi = complex_tile(b + 2 * item * bi, p, j, br, bc, k, n)
        xi = xi * SIGN_A
        yi = yi * SIGN_B
        re += tl.dot(xr, yr, input_precision="ieee") - tl.dot(xi, yi, input_precision="ieee")
        im += tl.dot(xr, yi, input_precision="ieee") + tl.dot(xi, yr, input_precision="ieee")
    at = c + 2 * (item * ci + i[:, None] + j[None, :] * ldc)
    live = (i[:, None] < m) & (j[None, :] < n)
    out_r = alpha_r * re - alpha_i * im
    out_i = alpha_r * im + alpha_i * re
    if BETA:
        cr, cim = tl.load(at, mask=live, other=0.0), tl.load(at + 1, mask=live, other=0.0)
        out_r += beta_r * cr - beta_i * cim
        out_i += beta_r * cim + beta_i * cr
    tl.store(at, out_r, mask=live)
    tl.store(at + 1, out_i, mask=live)


def steps(trans, ld, item):
    return Steps(1, ld, item) if trans == "N" else Steps(ld, 1, item)


def cublasCgemmStridedBatched(
    transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC, batchCount
):
    if min(m, n, batchCount) <= 0:
        return C
    alpha, beta = complex(alpha), complex(beta)
    a, b, c = (torch.view_as_real(x) for x in (A, B, C))
    sa, sb = steps(transa, lda, strideA), steps(transb, ldb, strideB)
    sign_a, sign_b = (-1.0 if trans == "C" else 1.0 for trans in (transa, transb))
    cgemm[(triton.cdiv(m, 16), triton.cdiv(n, 16), batchCount)](
        a, b, c, m, n, k if alpha else 0, *sa, *sb, ldc, strideC, alpha.real, alpha.imag, beta.real, beta.imag,
        SIGN_A=sign_a, SIGN_B=sign_b, BETA=beta != 0, T=16,
    )
    return C
