"""The steps of an LSTM on a GPU as one kernel for all of them, forward and backward, by Triton.

A step of ours is tiny (50 numbers a sequence), and there are hundreds of them, one after another.
cuDNN starts several kernels for each, and starting them takes longer than their work. Here a block
of sequences stays with one multiprocessor from the first step to the last: its state never leaves
the registers. Both directions run side by side.

Numbers are stored in half precision, as cuDNN does it under autocast; state and sums are float32.
"""

from __future__ import annotations

from typing import Any

import torch
import triton  # type: ignore[import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,unused-ignore]
from torch import Tensor

_FEW = 1_024  # sequences: fewer go in smaller blocks, so that more multiprocessors have work


# Sizes of the arrays: inputs (sequences, steps, 2, 4 * size), weight (2, 4 * size, size), hidden
# and cells (sequences, steps, 2, size). Torch's gates: input, forget, cell, output.


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _sigmoid(x):  # type: ignore[no-untyped-def]
    return 1 / (1 + tl.exp(-x))


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _tanh(x):  # type: ignore[no-untyped-def]
    return 2 / (1 + tl.exp(-2 * x)) - 1


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _forward(  # type: ignore[no-untyped-def]
    inputs, weight, lengths, hidden, cells, gates, sequences, steps,
    size: tl.constexpr, padded: tl.constexpr, block: tl.constexpr, keep: tl.constexpr,
):  # fmt: skip
    direction = tl.program_id(1)
    rows = tl.program_id(0) * block + tl.arange(0, block)
    columns = tl.arange(0, padded)
    length = tl.load(lengths + rows, mask=rows < sequences, other=0)
    real = (columns < size)[None, :]
    # The weight of each gate, (size before, size after).
    square = (columns < size)[:, None] & real
    at = weight + direction * 4 * size * size + columns[None, :] * size + columns[:, None]
    of_input = tl.load(at, mask=square, other=0.0)
    of_forget = tl.load(at + size * size, mask=square, other=0.0)
    of_cell = tl.load(at + 2 * size * size, mask=square, other=0.0)
    of_output = tl.load(at + 3 * size * size, mask=square, other=0.0)
    state = tl.zeros((block, padded), tl.float32)
    cell = tl.zeros((block, padded), tl.float32)
    for step in range(steps):
        time = step + direction * (steps - 1 - 2 * step)
        place = ((rows.to(tl.int64) * steps + time) * 2 + direction)[:, None]  # times the row size
        inside = (time < length)[:, None] & real
        given = inputs + place * 4 * size + columns[None, :]
        before = state.to(of_input.dtype)
        i = tl.load(given, mask=inside, other=0.0).to(tl.float32)
        f = tl.load(given + size, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(given + 2 * size, mask=inside, other=0.0).to(tl.float32)
        o = tl.load(given + 3 * size, mask=inside, other=0.0).to(tl.float32)
        i = _sigmoid(tl.dot(before, of_input, acc=i))
        f = _sigmoid(tl.dot(before, of_forget, acc=f))
        g = _tanh(tl.dot(before, of_cell, acc=g))
        o = _sigmoid(tl.dot(before, of_output, acc=o))
        # Behind the end of a sequence its state is zero: forwards that is what is written there,
        # backwards what it begins with.
        cell = tl.where(inside, f * cell + i * g, 0.0)
        state = tl.where(inside, o * _tanh(cell), 0.0)
        stored = (rows < sequences)[:, None] & real
        tl.store(hidden + place * size + columns[None, :], state.to(hidden.dtype.element_ty), mask=stored)
        if keep:
            kind = gates.dtype.element_ty
            tl.store(cells + place * size + columns[None, :], cell, mask=stored)
            kept = gates + place * 4 * size + columns[None, :]
            tl.store(kept, i.to(kind), mask=inside)
            tl.store(kept + size, f.to(kind), mask=inside)
            tl.store(kept + 2 * size, g.to(kind), mask=inside)
            tl.store(kept + 3 * size, o.to(kind), mask=inside)


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _backward(  # type: ignore[no-untyped-def]
    slopes, weight, lengths, cells, gates, changes, sequences, steps,
    size: tl.constexpr, padded: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    direction = tl.program_id(1)
    rows = tl.program_id(0) * block + tl.arange(0, block)
    columns = tl.arange(0, padded)
    length = tl.load(lengths + rows, mask=rows < sequences, other=0)
    real = (columns < size)[None, :]
    # The weight of each gate, (size after, size before).
    square = (columns < size)[:, None] & real
    at = weight + direction * 4 * size * size + columns[:, None] * size + columns[None, :]
    of_input = tl.load(at, mask=square, other=0.0)
    of_forget = tl.load(at + size * size, mask=square, other=0.0)
    of_cell = tl.load(at + 2 * size * size, mask=square, other=0.0)
    of_output = tl.load(at + 3 * size * size, mask=square, other=0.0)
    d_state = tl.zeros((block, padded), tl.float32)
    d_cell = tl.zeros((block, padded), tl.float32)
    back = 1 - 2 * direction  # how far on a step is in time
    for step in range(steps):
        time = (steps - 1 - step) * (1 - direction) + step * direction
        place = ((rows.to(tl.int64) * steps + time) * 2 + direction)[:, None]
        inside = (time < length)[:, None] & real
        earlier = inside & (time - back >= 0) & ((time - back) < length)[:, None]
        kept = gates + place * 4 * size + columns[None, :]
        i = tl.load(kept, mask=inside, other=0.0).to(tl.float32)
        f = tl.load(kept + size, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(kept + 2 * size, mask=inside, other=0.0).to(tl.float32)
        o = tl.load(kept + 3 * size, mask=inside, other=0.0).to(tl.float32)
        at_cell = cells + place * size + columns[None, :]
        cell = _tanh(tl.load(at_cell, mask=inside, other=0.0))
        cell_before = tl.load(at_cell - back * 2 * size, mask=earlier, other=0.0)
        slope = tl.load(slopes + place * size + columns[None, :], mask=inside, other=0.0)
        d_state += slope.to(tl.float32)
        d_cell += d_state * o * (1 - cell * cell)
        d_o = d_state * cell * o * (1 - o)
        d_i = d_cell * g * i * (1 - i)
        d_f = d_cell * cell_before * f * (1 - f)
        d_g = d_cell * i * (1 - g * g)
        d_cell = d_cell * f  # zero behind the end, where f is
        kind = changes.dtype.element_ty
        d_i, d_f, d_g, d_o = d_i.to(kind), d_f.to(kind), d_g.to(kind), d_o.to(kind)
        changed = changes + place * 4 * size + columns[None, :]
        stored = (rows < sequences)[:, None] & real
        tl.store(changed, d_i, mask=stored)
        tl.store(changed + size, d_f, mask=stored)
        tl.store(changed + 2 * size, d_g, mask=stored)
        tl.store(changed + 3 * size, d_o, mask=stored)
        d_state = tl.dot(d_i, of_input)
        d_state = tl.dot(d_f, of_forget, acc=d_state)
        d_state = tl.dot(d_g, of_cell, acc=d_state)
        d_state = tl.dot(d_o, of_output, acc=d_state)


def _launch(kernel: Any, sequences: int, size: int, *arguments: Any, **constants: Any) -> None:
    block = 64 if sequences > _FEW else 16
    grid = (triton.cdiv(sequences, block), 2)
    padded = max(16, triton.next_power_of_2(size))
    kernel[grid](*arguments, size, padded, block, **constants, num_warps=4)


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, inputs: Tensor, weight: Tensor, lengths: Tensor) -> Tensor:
        sequences, steps, _, four = inputs.shape
        size = four // 4
        hidden = inputs.new_empty(sequences, steps, 2, size)
        keep = any(context.needs_input_grad)
        cells = torch.empty_like(hidden, dtype=torch.float32) if keep else hidden
        gates = torch.empty_like(inputs) if keep else inputs
        arrays = (inputs, weight, lengths, hidden, cells, gates, sequences, steps)
        _launch(_forward, sequences, size, *arrays, keep=keep)
        context.save_for_backward(weight, lengths, hidden, cells, gates)
        return hidden

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None]:
        weight, lengths, hidden, cells, gates = context.saved_tensors
        sequences, steps, _, size = hidden.shape
        changes = torch.empty_like(gates)
        arrays = (slopes[0].contiguous(), weight, lengths, cells, gates, changes, sequences, steps)
        _launch(_backward, sequences, size, *arrays)
        before = torch.zeros_like(hidden)  # what each step came from
        before[:, 1:, 0] = hidden[:, :-1, 0]
        before[:, :-1, 1] = hidden[:, 1:, 1]
        rows, columns = changes.view(-1, 2, 4 * size), before.view(-1, 2, size)
        products = [rows[:, at].T @ columns[:, at] for at in range(2)]
        return changes, torch.stack(products), None


def recur(inputs: Tensor, weight: Tensor, lengths: Tensor) -> Tensor:
    """(sequences, steps, 2, size): the hidden states of both directions; zeros behind the ends.

    `inputs` (sequences, steps, 2, 4 * size) are what each step adds to torch's four gates, `weight`
    (2, 4 * size, size) is the recurrent one of each direction, `lengths` (sequences,) end the
    sequences.
    """
    return _Recurrence.apply(inputs.contiguous(), weight.contiguous(), lengths)  # type: ignore[no-any-return,no-untyped-call]
