"""The repaired interpreter computes as a GPU does. It runs in a child: the repair stays in a process for good."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import torch, triton, triton.language as tl
from kgb_gym.platforms.interpreter import repair
repair(); repair()
torch.set_num_threads(1)

@triton.jit
def pointwise(x, y, out, count, small, n: tl.constexpr):
    i = tl.arange(0, n)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, (a + b * a - b).to(tl.float32))
    tl.store(count + i, (a > b).to(tl.int32) + (a * 4).to(tl.int32))
    tl.store(small + i, (tl.load(count + i) + (a < b)).to(tl.bfloat16))

@triton.jit
def scaled(x, out, factor, FACTOR: tl.constexpr, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(out + i, tl.load(x + i) * factor)
    tl.store(out + n + i, tl.load(x + i) * FACTOR)

@triton.jit
def matrices(x, out, total, top, n: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, n)
    at = i[:, None] * n + i[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.dot(a, a, input_precision=PRECISION))
    tl.store(total + i, tl.sum(a, axis=1))
    tl.store(top + i, tl.max(a, axis=1))

@triton.jit
def narrow(x, out, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(out + i, tl.load(x + i).to(tl.bfloat16))

@triton.jit
def eight_bits(x, codes, numbers, halves, n: tl.constexpr):
    i = tl.arange(0, n)
    code = tl.load(codes + i).to(tl.float8e4nv, bitcast=True)
    tl.store(numbers + i, code.to(tl.float32))
    tl.store(halves + i, code.to(tl.float16))
    tl.store(x + i, code.to(tl.float32).to(tl.float8e4nv).to(tl.uint8, bitcast=True))

@triton.jit
def compared(x, out, n: tl.constexpr):
    i = tl.arange(0, n)
    first, every = tl.load(x), tl.load(x + i)
    tl.store(out + i, ((every == every) & (first != first) | (every < first)).to(tl.int32))

generator = torch.Generator().manual_seed(0)
for first, want in ((2.0, [0, 1, 0, 0]), (float("nan"), [0, 1, 1, 1])):
    out = torch.empty(4, dtype=torch.int32)
    compared[(1,)](torch.tensor([first, 1.0, 3.0, 2.5]), out, 4)
    assert out.tolist() == want, out
x, y = (torch.randn(64, generator=generator).bfloat16() for _ in range(2))
out, count, small = torch.empty(64), torch.empty(64, dtype=torch.int32), torch.empty(64).bfloat16()
pointwise[(1,)](x, y, out, count, small, 64)
torch.testing.assert_close(out, (x + y * x - y).float(), rtol=0.02, atol=0.02)
assert (count == (x > y).int() + (x * 4).int()).all()
assert (small == (count + (x < y).int()).bfloat16()).all()

out = torch.empty(8, dtype=torch.float64)
scaled[(1,)](torch.ones(4, dtype=torch.float64), out, 0.1, 0.5, 4)
assert out.tolist() == [torch.tensor(0.1).item()] * 4 + [0.5] * 4
scaled[(1,)](torch.ones(4, dtype=torch.float64), out, 1e300, 0.5, 4)
assert out[:4].isinf().all()

for dtype in (torch.bfloat16, torch.float32, torch.float16):
    m = torch.randn(16, 16, generator=generator).to(dtype)
    out, total, top = torch.empty(16, 16), torch.empty(16), torch.empty(16)
    matrices[(1,)](m, out, total, top, 16, "ieee")
    torch.testing.assert_close(out.double(), m.double() @ m.double(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(total, m.float().sum(1), rtol=0.02, atol=0.05)
    assert (top == m.float().amax(1)).all()
m = torch.randn(16, 16, generator=generator)
matrices[(1,)](m, out, total, top, 16, "tf32")
error = (out.double() - m.double() @ m.double()).abs().max()
assert 1e-4 < error < 1e-1, error

codes = torch.arange(256).to(torch.uint8)
again, numbers, halves = torch.empty_like(codes), torch.empty(256), torch.empty(256).half()
eight_bits[(1,)](again, codes, numbers, halves, 256)
want = codes.view(torch.float8_e4m3fn).float()
torch.testing.assert_close(numbers, want, rtol=0, atol=0, equal_nan=True)
torch.testing.assert_close(halves, want.half(), rtol=0, atol=0, equal_nan=True)
assert ((again == codes) | want.isnan()).all()

for wide in (torch.float32, torch.float16):
    values = torch.cat([torch.randn(1021, generator=generator) * 100, torch.tensor([float("nan"), float("inf"), 1.0])]).to(wide)
    out = torch.empty(1024).bfloat16()
    narrow[(1,)](values, out, 1024)
    torch.testing.assert_close(out, values.bfloat16(), rtol=0, atol=0, equal_nan=True)
"""


def test_bfloat16_and_tf32(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, program]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
