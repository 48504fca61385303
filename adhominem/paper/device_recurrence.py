"""The steps of an LSTM on a GPU as one kernel for all of them, forward and backward, by Triton.

A step is tiny here (50 numbers per sequence), and there are hundreds of them in sequence. cuDNN
launches several kernels for each, which takes longer than their work. Here a block of sequences
stays on one multiprocessor from the first step to the last: its state never leaves the registers.
Both directions run side by side.

Numbers are stored in half precision, as cuDNN does it under autocast; state and sums are float32.
"""

from __future__ import annotations

from typing import Any

import torch
import triton  # type: ignore[import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,unused-ignore]
from torch import Tensor

_BLOCK = 16  # sequences per multiprocessor: the minimum of its matrix unit


# Shapes: inputs (sequences, steps, 2, 4 * size), weight (2, 4 * size, size), hidden
# and cells (sequences, steps, 2, size), kept (sequences, 2, size): a dropout mask of the state that
# goes on to the next step, if `masked`. Torch's gates: input, forget, cell, output.


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _sigmoid(x):  # type: ignore[no-untyped-def]
    return 1 / (1 + tl.exp(-x))


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _tanh(x):  # type: ignore[no-untyped-def]
    return 2 / (1 + tl.exp(-2 * x)) - 1


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _four(first, apart, mask):  # type: ignore[no-untyped-def]
    """The values of the four gates."""
    i = tl.load(first, mask=mask, other=0.0)
    f = tl.load(first + apart, mask=mask, other=0.0)
    g = tl.load(first + 2 * apart, mask=mask, other=0.0)
    o = tl.load(first + 3 * apart, mask=mask, other=0.0)
    return i, f, g, o


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _mask(kept, rows, direction, columns, stored, size):  # type: ignore[no-untyped-def]
    """The dropout mask of the block's states."""
    at = kept + (rows.to(tl.int64)[:, None] * 2 + direction) * size + columns[None, :]
    return tl.load(at, mask=stored, other=0.0)


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _forward(  # type: ignore[no-untyped-def]
    inputs, weight, lengths, kept, hidden, cells, gates, sequences, steps,
    size: tl.constexpr, padded: tl.constexpr, block: tl.constexpr, masked: tl.constexpr,
    keep: tl.constexpr,
):  # fmt: skip
    direction = tl.program_id(1)
    rows = tl.program_id(0) * block + tl.arange(0, block)
    columns = tl.arange(0, padded)
    length = tl.load(lengths + rows, mask=rows < sequences, other=0)
    real = (columns < size)[None, :]
    stored = (rows < sequences)[:, None] & real
    # The weight of each gate, (size before, size after).
    square = (columns < size)[:, None] & real
    at = weight + direction * 4 * size * size + columns[None, :] * size + columns[:, None]
    of_input, of_forget, of_cell, of_output = _four(at, size * size, square)
    if masked:
        mask = _mask(kept, rows, direction, columns, stored, size)
    state = tl.zeros((block, padded), tl.float32)
    cell = tl.zeros((block, padded), tl.float32)
    onwards = 1 - 2 * direction  # how far on in time the next step is
    time = direction * (steps - 1)
    place = ((rows.to(tl.int64) * steps + time) * 2 + direction)[:, None]  # times the row size
    inside = (time < length)[:, None] & real
    i, f, g, o = _four(inputs + place * 4 * size + columns[None, :], size, inside)
    for step in range(steps):
        # The inputs of the next step are loaded now, to be there when this one is done.
        time += onwards
        next_place = place + 2 * onwards
        next_inside = (time < length)[:, None] & (step + 1 < steps) & real
        following = inputs + next_place * 4 * size + columns[None, :]
        next_i, next_f, next_g, next_o = _four(following, size, next_inside)
        if masked:
            state = state * mask
        before = state.to(of_input.dtype)
        i = _sigmoid(tl.dot(before, of_input, acc=i.to(tl.float32)))
        f = _sigmoid(tl.dot(before, of_forget, acc=f.to(tl.float32)))
        g = _tanh(tl.dot(before, of_cell, acc=g.to(tl.float32)))
        o = _sigmoid(tl.dot(before, of_output, acc=o.to(tl.float32)))
        # Behind the end of a sequence its state is zero: forwards these zeros are written there,
        # backwards they are the initial state.
        cell = tl.where(inside, f * cell + i * g, 0.0)
        state = tl.where(inside, o * _tanh(cell), 0.0)
        kind = hidden.dtype.element_ty
        tl.store(hidden + place * size + columns[None, :], state.to(kind), mask=stored)
        if keep:
            tl.store(cells + place * size + columns[None, :], cell, mask=stored)
            gated = gates + place * 4 * size + columns[None, :]
            tl.store(gated, i.to(kind), mask=inside)
            tl.store(gated + size, f.to(kind), mask=inside)
            tl.store(gated + 2 * size, g.to(kind), mask=inside)
            tl.store(gated + 3 * size, o.to(kind), mask=inside)
        i, f, g, o = next_i, next_f, next_g, next_o
        place, inside = next_place, next_inside


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _backward(  # type: ignore[no-untyped-def]
    slopes, weight, lengths, kept, cells, gates, changes, sequences, steps,
    size: tl.constexpr, padded: tl.constexpr, block: tl.constexpr, masked: tl.constexpr,
):  # fmt: skip
    direction = tl.program_id(1)
    rows = tl.program_id(0) * block + tl.arange(0, block)
    columns = tl.arange(0, padded)
    length = tl.load(lengths + rows, mask=rows < sequences, other=0)
    real = (columns < size)[None, :]
    stored = (rows < sequences)[:, None] & real
    # The weight of each gate, (size after, size before).
    square = (columns < size)[:, None] & real
    at = weight + direction * 4 * size * size + columns[:, None] * size + columns[None, :]
    of_input, of_forget, of_cell, of_output = _four(at, size * size, square)
    if masked:
        mask = _mask(kept, rows, direction, columns, stored, size)
    d_state = tl.zeros((block, padded), tl.float32)
    d_cell = tl.zeros((block, padded), tl.float32)
    onwards = 2 * direction - 1  # how far on in time the next step is: back to the first one
    time = (1 - direction) * (steps - 1)
    place = ((rows.to(tl.int64) * steps + time) * 2 + direction)[:, None]
    inside = (time < length)[:, None] & real
    i, f, g, o = _four(gates + place * 4 * size + columns[None, :], size, inside)
    cell = tl.load(cells + place * size + columns[None, :], mask=inside, other=0.0)
    slope = tl.load(slopes + place * size + columns[None, :], mask=inside, other=0.0)
    for step in range(steps):
        time += onwards
        next_place = place + 2 * onwards
        next_inside = (time < length)[:, None] & (step + 1 < steps) & real
        following = next_place * size + columns[None, :]
        next_gates = gates + next_place * 4 * size + columns[None, :]
        next_i, next_f, next_g, next_o = _four(next_gates, size, next_inside)
        cell_before = tl.load(cells + following, mask=next_inside, other=0.0)
        next_slope = tl.load(slopes + following, mask=next_inside, other=0.0)
        i, f, g, o = i.to(tl.float32), f.to(tl.float32), g.to(tl.float32), o.to(tl.float32)
        squashed = _tanh(cell)
        d_state += slope.to(tl.float32)
        d_cell += d_state * o * (1 - squashed * squashed)
        kind = changes.dtype.element_ty
        d_o = (d_state * squashed * o * (1 - o)).to(kind)
        d_i = (d_cell * g * i * (1 - i)).to(kind)
        d_f = (d_cell * cell_before * f * (1 - f)).to(kind)
        d_g = (d_cell * i * (1 - g * g)).to(kind)
        d_cell = d_cell * f  # zero behind the end, where f is
        changed = changes + place * 4 * size + columns[None, :]
        tl.store(changed, d_i, mask=stored)
        tl.store(changed + size, d_f, mask=stored)
        tl.store(changed + 2 * size, d_g, mask=stored)
        tl.store(changed + 3 * size, d_o, mask=stored)
        d_state = tl.dot(d_i, of_input)
        d_state = tl.dot(d_f, of_forget, acc=d_state)
        d_state = tl.dot(d_g, of_cell, acc=d_state)
        d_state = tl.dot(d_o, of_output, acc=d_state)
        if masked:
            d_state = d_state * mask
        i, f, g, o = next_i, next_f, next_g, next_o
        cell, slope, place, inside = cell_before, next_slope, next_place, next_inside


def _launch(kernel: Any, sequences: int, size: int, *arguments: Any, **constants: Any) -> None:
    grid = (triton.cdiv(sequences, _BLOCK), 2)
    padded = max(_BLOCK, triton.next_power_of_2(size))
    kernel[grid](*arguments, size, padded, _BLOCK, **constants, num_warps=4)


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, inputs: Tensor, weight: Tensor, lengths: Tensor, kept: Tensor | None
    ) -> Tensor:
        sequences, steps, _, four = inputs.shape
        size = four // 4
        hidden = inputs.new_empty(sequences, steps, 2, size)
        keep = any(context.needs_input_grad)
        cells = torch.empty_like(hidden, dtype=torch.float32) if keep else hidden
        gates = torch.empty_like(inputs) if keep else inputs
        masked = kept is not None
        mask = kept if masked else hidden  # any array where none is read
        arrays = (inputs, weight, lengths, mask, hidden, cells, gates, sequences, steps)
        _launch(_forward, sequences, size, *arrays, masked=masked, keep=keep)
        context.save_for_backward(weight, lengths, kept, hidden, cells, gates)
        return hidden

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None, None]:
        weight, lengths, kept, hidden, cells, gates = context.saved_tensors
        sequences, steps, _, size = hidden.shape
        changes = torch.empty_like(gates)
        masked = kept is not None
        mask = kept if masked else hidden
        slope = slopes[0].contiguous()
        arrays = (slope, weight, lengths, mask, cells, gates, changes, sequences, steps)
        _launch(_backward, sequences, size, *arrays, masked=masked)
        before = torch.zeros_like(hidden)  # the state before each step
        before[:, 1:, 0] = hidden[:, :-1, 0]
        before[:, :-1, 1] = hidden[:, 1:, 1]
        if masked:
            before *= kept[:, None]
        rows, columns = changes.view(-1, 2, 4 * size), before.view(-1, 2, size)
        products = [rows[:, at].T @ columns[:, at] for at in range(2)]
        return changes, torch.stack(products), None, None


def recur(inputs: Tensor, weight: Tensor, lengths: Tensor, kept: Tensor | None = None) -> Tensor:
    """The hidden states (sequences, steps, 2, size) of both directions; zeros behind the ends.

    `inputs` (sequences, steps, 2, 4 * size) are what each step adds to torch's four gates, `weight`
    (2, 4 * size, size) is the recurrent one of each direction, `lengths` (sequences,) end the
    sequences, `kept` (sequences, 2, size) masks the state that goes on to the next step.
    """
    masks = None if kept is None else kept.float().contiguous()
    arrays = (inputs.contiguous(), weight.contiguous(), lengths, masks)
    return _Recurrence.apply(*arrays)  # type: ignore[no-any-return,no-untyped-call]
