import torch
import triton
import triton.language as tl


@triton.jit
def scan_kernel(
    u,
    delta,
    A,
    B,
    C,
    D,
    z,
    bias,
    starts,
    indices,
    has_initial,
    states,
    first,
    last,
    initial,
    pad_slot,
    block_size,
    width,
    dim,
    N,
    length,
    group_size,
    u_batch,
    u_row,
    delta_batch,
    delta_row,
    z_batch,
    z_row,
    b_batch,
    b_group,
    b_row,
    c_batch,
    c_group,
    c_row,
    state_slot,
    state_row,
    HAS_D: tl.constexpr,
    HAS_Z: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    SOFTPLUS: tl.constexpr,
    PACKED: tl.constexpr,
    INDEXED: tl.constexpr,
    INITIAL: tl.constexpr,
    BLOCKS: tl.constexpr,
    ROWS: tl.constexpr,
    STATE: tl.constexpr,
):
    """Some channels of one sequence, token by token."""
    sequence = tl.program_id(0).to(tl.int64)
    d = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    n = tl.arange(0, STATE)
    inside = d < dim
    whole = inside[:, None] & (n < N)[None, :]
    begin = sequence * 0
    end = begin + length
    if PACKED:
        begin = tl.load(starts + sequence).to(tl.int64)
        end = tl.load(starts + sequence + 1).to(tl.int64)
    slot = sequence
    if BLOCKS:
        slot = tl.load(indices + sequence * width + tl.load(initial + sequence)).to(tl.int64)
        final = tl.load(indices + sequence * width + tl.load(last + sequence)).to(tl.int64)
        column = indices + sequence * width + tl.load(first + sequence)
    elif INDEXED:
        slot = tl.load(indices + sequence).to(tl.int64)
    if (end > begin) & (BLOCKS | (slot != pad_slot)):
        place = d[:, None] * state_row + n[None, :]
        h = tl.zeros((ROWS, STATE), tl.float32)
        if INITIAL:
            known = inside[:, None] & (n < N * tl.load(has_initial + sequence).to(tl.int32))[None, :]
            h = tl.load(states + slot * state_slot + place, mask=known, other=0.0).to(tl.float32)
        rate = tl.load(A + d[:, None] * N + n[None, :], mask=whole, other=0.0)
        if HAS_BIAS:
            shift = tl.load(bias + d, mask=inside, other=0.0)
        if HAS_D:
            skip = tl.load(D + d, mask=inside, other=0.0)
        group = d // group_size
        u_line = u + sequence * u_batch + d * u_row
        delta_line = delta + sequence * delta_batch + d * delta_row
        z_line = z + sequence * z_batch + d * z_row
        b_line = B + sequence * b_batch + group[:, None] * b_group + n[None, :] * b_row
        c_line = C + sequence * c_batch + group[:, None] * c_group + n[None, :] * c_row
        for t in range(begin, end):
            x = tl.load(u_line + t, mask=inside, other=0.0).to(tl.float32)
            dt = tl.load(delta_line + t, mask=inside, other=0.0).to(tl.float32)
            if HAS_BIAS:
                dt += shift
            if SOFTPLUS:
                # log(1 + e) as log(v) with what rounding took from v = 1 + e put back.
                e = tl.exp(tl.minimum(dt, 20.0))
                v = 1.0 + e
                soft = tl.where(v == 1.0, e, tl.log(v) * (e / tl.where(v == 1.0, 1.0, v - 1.0)))
                dt = tl.where(dt <= 20.0, soft, dt)
            b = tl.load(b_line + t, mask=whole, other=0.0).to(tl.float32)
            c = tl.load(c_line + t, mask=whole, other=0.0).to(tl.float32)
            h = tl.exp(dt[:, None] * rate) * h + b * (dt * x)[:, None]
            y = tl.sum(c * h, axis=1)
            if HAS_D:
                y += skip * x
            tl.store(delta_line + t, y.to(delta.dtype.element_ty), mask=inside)
            if HAS_Z:
                gate = tl.load(z_line + t, mask=inside, other=0.0).to(tl.float32)
                tl.store(z_line + t, (y * gate / (1.0 + tl.exp(-gate))).to(z.dtype.element_ty), mask=inside)
            if BLOCKS:
                done = t + 1 - begin
                if (done % block_size == 0) & (t + 1 < end):
                    target = tl.load(column + done // block_size - 1).to(tl.int64)
                    tl.store(states + target * state_slot + place, h.to(states.dtype.element_ty), mask=whole)
        if BLOCKS:
            slot = final
        tl.store(states + slot * state_slot + place, h.to(states.dtype.element_ty), mask=whole)


def selective_scan_fwd(
    u,
    delta,
    A,
    B,
    C,
    D_,
    z_,
    delta_bias_,
    delta_softplus,
    query_start_loc,
    cache_indices,
    has_initial_state,
    ssm_states,
    pad_slot_id,
    block_size=1024,
    block_idx_first_scheduled_token=None,
    block_idx_last_scheduled_token=None,
    initial_state_idx=None,
):
    dim, N = A.shape
    packed = query_start_loc is not None
    batch = query_start_loc.shape[0] - 1 if packed else u.shape[0]
    blocks = block_idx_first_scheduled_token is not None

    def strides(tensor, count):
        # A packed tensor has no batch; the last stride is 1.
        return (0, *tensor.stride()[:-1]) if packed else tensor.stride()[: count + 1]

    def given(tensor, dtype):
        # A stand-in has the type of what it stands in for: one specialisation less to compile.
        return tensor if tensor is not None else torch.empty((1,), dtype=dtype, device=u.device)

    z = z_ if z_ is not None else u
    rows = 8 if dim <= 8 else min(32, triton.next_power_of_2(dim))
    if batch == 0 or u.shape[-1] == 0:
        return
    scan_kernel[(batch, triton.cdiv(dim, rows))](
        u,
        delta,
        A,
        B,
        C,
        given(D_, torch.float32),
        z,
        given(delta_bias_, torch.float32),
        given(query_start_loc, torch.int32),
        given(cache_indices, torch.int32),
        given(has_initial_state, torch.bool),
        ssm_states,
        given(block_idx_first_scheduled_token, torch.int32),
        given(block_idx_last_scheduled_token, torch.int32),
        given(initial_state_idx, torch.int32),
        pad_slot_id,
        block_size,
        cache_indices.shape[1] if blocks else 0,
        dim,
        N,
        u.shape[-1],
        dim // (B.shape[0] if packed else B.shape[1]),
        *strides(u, 1),
        *strides(delta, 1),
        *strides(z, 1),
        *strides(B, 2),
        *strides(C, 2),
        ssm_states.stride(0),
        ssm_states.stride(1),
        HAS_D=D_ is not None,
        HAS_Z=z_ is not None,
        HAS_BIAS=delta_bias_ is not None,
        SOFTPLUS=delta_softplus,
        PACKED=packed,
        INDEXED=cache_indices is not None,
        INITIAL=has_initial_state is not None,
        BLOCKS=blocks,
        ROWS=rows,
        STATE=max(16, triton.next_power_of_2(N)),
    )
