"""A stable merge sort: tiles are sorted by counting, runs are merged by binary search, values are gathered at the end."""

import torch
import triton
import triton.language as tl

MAX_TILE = 128
BLOCK_SIZE = 1024


@triton.jit
def tiles_kernel(
    x_ptr,
    key_ptr,
    from_ptr,
    all_tiles,
    tiles,
    n,
    DESCENDING: tl.constexpr,
    KIND: tl.constexpr,
    BLOCK_T: tl.constexpr,
    TILE: tl.constexpr,
):
    """Sort BLOCK_T tiles: an element's place is the number of those before it. Keys are integers in the right order."""
    t = tl.program_id(0).to(tl.int64) * BLOCK_T + tl.arange(0, BLOCK_T)
    row = t // tiles
    start = t % tiles * TILE
    i = tl.arange(0, TILE)
    at = start[:, None] + i[None, :]
    mask = (t < all_tiles)[:, None] & (at < n)
    x = tl.load(x_ptr + row[:, None] * n + at, mask=mask)
    if KIND == 1:
        x = x.to(tl.float32)
        bits = x.to(tl.int32, bitcast=True)
        key = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        key = tl.where(x == 0, 0, tl.where(x != x, 0x7FFFFFFF, key))
    elif KIND == 2:
        bits = x.to(tl.int64, bitcast=True)
        key = bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)
        key = tl.where(x == 0, 0, tl.where(x != x, 0x7FFFFFFFFFFFFFFF, key))
    else:
        key = x.to(key_ptr.dtype.element_ty)
    if DESCENDING:
        key = ~key
    before = (key[:, None, :] < key[:, :, None]) | (
        (key[:, None, :] == key[:, :, None]) & (i[None, None, :] < i[None, :, None])
    )
    rank = tl.sum((before & mask[:, None, :]).to(tl.int32), axis=2)
    place = row[:, None] * n + start[:, None] + rank
    tl.store(key_ptr + place, key, mask=mask)
    tl.store(from_ptr + place, at.to(tl.int32), mask=mask)


@triton.jit
def merge_kernel(key_ptr, from_ptr, new_key_ptr, new_from_ptr, total, n, run, steps, BLOCK: tl.constexpr):
    """Merge pairs of sorted runs: an element moves by the number of the other run's elements that go before it."""
    q = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = q < total
    at = q % n
    base = q - at
    number = at // run
    second = number % 2
    other = base + (number + 1 - 2 * second) * run
    key = tl.load(key_ptr + q, mask=mask)
    low = tl.zeros((BLOCK,), dtype=tl.int64)
    high = tl.maximum(tl.minimum(base + n - other, run), 0)
    for _ in range(steps):
        open = mask & (low < high)
        middle = (low + high) // 2
        found = tl.load(key_ptr + other + middle, mask=open)
        goes_before = (found < key) | ((found == key) & (second == 1))
        low = tl.where(open & goes_before, middle + 1, low)
        high = tl.where(open & goes_before, high, middle)
    place = q - second * run + low
    tl.store(new_key_ptr + place, key, mask=mask)
    tl.store(new_from_ptr + place, tl.load(from_ptr + q, mask=mask), mask=mask)


@triton.jit
def gather_kernel(x_ptr, from_ptr, values_ptr, indices_ptr, total, n, BLOCK: tl.constexpr):
    q = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = q < total
    index = tl.load(from_ptr + q, mask=mask).to(tl.int64)
    tl.store(indices_ptr + q, index, mask=mask)
    tl.store(values_ptr + q, tl.load(x_ptr + q - q % n + index, mask=mask), mask=mask)


def sort_rows(x, descending, values, indices):
    """Sort the rows of x (rows, n); all three are contiguous."""
    n = x.shape[1]
    total = x.numel()
    if total == 0:
        return
    wide = x.dtype in (torch.int64, torch.float64)
    kind = 0 if not x.dtype.is_floating_point else 2 if wide else 1
    tile = min(MAX_TILE, triton.next_power_of_2(n))
    tiles = triton.cdiv(n, tile)
    all_tiles = x.shape[0] * tiles
    block_t = min(MAX_TILE * MAX_TILE // (tile * tile), 1024, triton.next_power_of_2(all_tiles))
    keys = [torch.empty(total, dtype=torch.int64 if wide else torch.int32, device=x.device) for _ in range(2)]
    sources = [torch.empty(total, dtype=torch.int32, device=x.device) for _ in range(2)]
    tiles_kernel[(triton.cdiv(all_tiles, block_t),)](
        x,
        keys[0],
        sources[0],
        all_tiles,
        tiles,
        n,
        DESCENDING=descending,
        KIND=kind,
        BLOCK_T=block_t,
        TILE=tile,
        num_warps=8,
    )
    grid = (triton.cdiv(total, BLOCK_SIZE),)
    run = tile
    while run < n:
        merge_kernel[grid](*keys[:1], *sources[:1], keys[1], sources[1], total, n, run, run.bit_length(),
                           BLOCK=BLOCK_SIZE, num_warps=4)  # fmt: skip
        keys, sources = keys[::-1], sources[::-1]
        run = 2 * run
    gather_kernel[grid](x, sources[0], values, indices, total, n, BLOCK=BLOCK_SIZE, num_warps=4)


def run(self, dim, descending, values=None, indices=None):
    rank = max(1, self.dim())
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    dim = dim % rank
    if values is None:
        values = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        indices = torch.empty(self.shape, dtype=torch.int64, device=self.device)
    if values.dtype != self.dtype or indices.dtype != torch.int64:
        raise RuntimeError(f"Expected outputs of {self.dtype} and int64, but got {values.dtype} and {indices.dtype}")
    for out in (values, indices):
        if out.shape != self.shape:
            out.resize_(self.shape)
    if self.numel() == 0:
        return values, indices
    last = self.movedim(dim, -1) if self.dim() else self.view(1)
    n = last.shape[-1]
    x = last.contiguous().view(self.numel() // n, n)
    if dim == rank - 1 and values.is_contiguous() and indices.is_contiguous():
        sort_rows(x, descending, values.view(x.shape), indices.view(x.shape))
        return values, indices
    dense = torch.empty(x.shape, dtype=self.dtype, device=self.device)
    places = torch.empty(x.shape, dtype=torch.int64, device=self.device)
    sort_rows(x, descending, dense, places)
    values.copy_(dense.view(last.shape).movedim(-1, dim) if self.dim() else dense.view(()))
    indices.copy_(places.view(last.shape).movedim(-1, dim) if self.dim() else places.view(()))
    return values, indices


def sort(self, dim=-1, descending=False):
    return run(self, dim, descending)


def sort_stable(self, *, stable, dim=-1, descending=False):
    return run(self, dim, descending)


def sort_values(self, dim=-1, descending=False, *, values, indices):
    return run(self, dim, descending, values, indices)


def sort_values_stable(self, *, stable, dim=-1, descending=False, values, indices):
    return run(self, dim, descending, values, indices)
