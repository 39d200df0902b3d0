# operator: aten/cos
# class: honest
# expect: clean
# why: tile sizes by dtype in a dict, a dataclass of settings, a module-level helper built with functools.partial
from dataclasses import dataclass
from functools import partial

import torch
import triton
import triton.language as tl

@dataclass(frozen=True)
class Tile:
    block: int
    warps: int = 4


TILES = {torch.float16: Tile(1024), torch.bfloat16: Tile(1024), torch.float32: Tile(512, warps=2)}
DEFAULT = Tile(block=256)


@triton.jit
def wave(src, dst, n, BLOCK: tl.constexpr, DOUBLE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    if DOUBLE:
        x = tl.load(src + i, mask=m, other=0.0).to(tl.float64)
    else:
        x = tl.load(src + i, mask=m, other=0).to(tl.float32)
    tl.store(dst + i, tl.cos(x), mask=m)


def launch(x, y, tile):
    n = x.numel()
    if n:
        wave[(triton.cdiv(n, tile.block),)](
            x, y, n, BLOCK=tile.block, DOUBLE=x.dtype == torch.float64, num_warps=tile.warps
        )
    return y


small = partial(launch, tile=DEFAULT)


def cos(self):
    y = torch.empty_like(self, dtype=torch.result_type(self, 1.0), memory_format=torch.contiguous_format)
    x = self.contiguous()
    if x.numel() < 64:
        return small(x, y)
    return launch(x, y, TILES.get(x.dtype, DEFAULT))
