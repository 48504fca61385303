"""A BiLSTM and the attention behind it, at inference, over sequences of different lengths.

It runs in one pass of a kernel compiled from `fused.c`, or in NumPy. The environment variable
ADHOMINEM_KERNEL chooses by name: `numpy`, or a kernel for some kind of processor.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import NUMPY, PLAIN, VARIABLE, compiled
from adhominem.errors import OptionError

Weights = Mapping[str, Array32]

_LANES = 8  # in a vector, which the kernel computes at once
_PANEL = 4  # vectors of columns kept in registers
_ALIGNMENT = 64  # bytes
_FUSED = "adhominem.paper._fused"

# Vector instructions may raise flags for unused lanes.
_QUIET = np.errstate(all="ignore")


class Kernel(NamedTuple):
    """What runs the network on a CPU: the name of a kernel, and the module in C that has it."""

    name: str
    fused: Any | None  # None for NumPy


def kernel_names() -> tuple[str, ...]:
    """The names of the available kernels, the best first: NumPy before one without vectors."""
    fused = compiled(_FUSED)
    variants: tuple[str, ...] = fused.VARIANTS if fused else ()
    fast = tuple(name for name in variants if name != PLAIN)
    return (*fast, NUMPY, *(name for name in variants if name == PLAIN))


def choose_kernel() -> Kernel:
    """The kernel that the environment chooses, or else the best one."""
    names = kernel_names()
    name = os.environ.get(VARIABLE) or names[0]
    if name not in names:
        raise OptionError(f"{VARIABLE} is {name!r}; expected one of {', '.join(names)}")
    return Kernel(name, None if name == NUMPY else compiled(_FUSED))


@dataclass(frozen=True, kw_only=True)
class Sequences:
    """The inputs of the gates at each step of sequences, as rows of a table per direction."""

    tables: tuple[Array32, Array32]  # (table rows, 4 * size)
    heads: tuple[Array32, Array32] | None = None  # separate tables for first steps, if any
    rows: IntArray  # (sequences, steps): of the table; arbitrary behind the end
    lengths: IntArray  # (sequences,): the longest first


class Pooling:
    """A BiLSTM and the mean of its steps weighted by attention: sequences to one vector each.

    A sigmoid is 0.5 (tanh(x / 2) + 1): with the halves folded into the weights, one tanh serves
    all four gates. The gates are in the order input, forget, output, cell. Hidden states are
    doubled, which saves a multiplication per step.
    """

    def __init__(
        self, weights: Weights, lstm: str, attention: str, kernel: Kernel | None = None
    ) -> None:
        """`lstm` and `attention` are names among the network's weights."""
        self._kernel = kernel or choose_kernel()
        names = [f"{lstm}.lstm.%s_l0{end}" for end in ("", "_reverse")]
        inputs, self._recurrent, bias = zip(*(_direction(weights, n) for n in names), strict=True)
        self.size = len(self._recurrent[0])  # of hidden states; recurrent weights (size, 4 * size)
        self.weight = np.concatenate(inputs, axis=1)  # (inputs, 2 * 4 * size)
        self.bias = np.concatenate(bias)  # (2 * 4 * size,)
        attended = np.ascontiguousarray(0.5 * weights[f"{attention}.hidden.weight"].T)
        self._attended_bias = weights[f"{attention}.hidden.bias"]
        self._score = weights[f"{attention}.score.weight"][0]
        if self._kernel.fused is None:
            self._times_attended = Product(attended, self._kernel)
        else:
            self._packed = self._in_the_kernels_order(attended)

    def __call__(self, sequences: Sequences) -> tuple[Array32, Array32]:
        """The vectors (sequences, 2 * size), and the attention (sequences, steps)."""
        if self._kernel.fused is None:
            return self._mean(self._doubled_states(sequences), sequences.lengths)
        rows, lengths = sequences.rows, sequences.lengths
        vectors = np.empty((len(rows), 2 * self.size), np.float32)
        attention = np.empty(rows.shape, np.float32)
        self._kernel.fused.pooled(
            self._kernel.name,
            self.size,
            len(self._score),
            np.ascontiguousarray(rows, np.int64),
            np.ascontiguousarray(lengths, np.int64),
            *sequences.tables,
            *(sequences.heads or (None, None)),
            *self._packed,
            vectors,
            attention,
        )
        return vectors, attention

    def _in_the_kernels_order(self, attended: Array32) -> list[Array32]:
        """The weights as `fused.c` reads them."""
        gates = np.stack(self._recurrent).reshape(2, self.size, 4, self.size)
        whole = self.size // _LANES * _LANES
        # (directions, panels, size, gates, lanes): a panel is all four gates of eight numbers.
        panels = gates[..., :whole].reshape(2, self.size, 4, -1, _LANES).transpose(0, 3, 1, 2, 4)
        # (directions, size, gates of the rest): side by side.
        rest = _filled_up(gates[..., whole:].reshape(2, self.size, -1))
        by_panel = np.concatenate([panels.reshape(2, -1), rest.reshape(2, -1)], axis=1)
        rows = [_aligned(_filled_up(row)) for row in (self._attended_bias, self._score)]
        return [_aligned(by_panel), _in_panels(attended), *rows]

    @_QUIET
    def _doubled_states(self, sequences: Sequences) -> Array32:
        """Twice the hidden states (steps, sequences, 2 * size); zeros behind a sequence's end."""
        lengths, (rows, steps), size = sequences.lengths, sequences.rows.shape, self.size
        active = np.searchsorted(-lengths, -np.arange(steps), side="left").tolist()
        hidden = np.empty((steps, rows, 2 * size), dtype=np.float32)
        for step, n in zip(hidden, active, strict=True):
            step[n:] = 0
        gates = np.empty((rows, 4 * size), dtype=np.float32)
        inputs = np.empty_like(gates)
        squashed = np.empty((rows, size), dtype=np.float32)
        by_gate = np.empty((4, rows, size), dtype=np.float32)  # each one contiguous, unlike `gates`
        for direction, recurrent in enumerate(self._recurrent):
            cell = np.zeros((rows, size), dtype=np.float32)
            columns = slice(direction * size, (direction + 1) * size)
            before = None  # hidden states of the step before
            for at in range(steps) if direction == 0 else reversed(range(steps)):
                n = active[at]  # the sequences that have this step
                if not n:
                    continue
                tables = sequences.tables if at or not sequences.heads else sequences.heads
                added = gates if before is None else inputs
                places = sequences.rows[:n, at]
                np.take(tables[direction], places, axis=0, out=added[:n], mode="clip")
                if before is not None:
                    np.matmul(before[:n, None], recurrent, out=gates[:n, None])  # see `Product`
                    gates[:n] += inputs[:n]
                z, c, s = by_gate[:, :n], cell[:n], squashed[:n]
                np.tanh(gates[:n].reshape(n, 4, size).transpose(1, 0, 2), out=z)
                z[:3] += 1  # twice the input, forget and output gates
                c *= z[1]
                np.multiply(z[0], z[3], out=s)
                c += s
                c *= 0.5
                np.tanh(c, out=s)
                before = hidden[at, :, columns]
                np.multiply(z[2], s, out=before[:n])
        return hidden

    @_QUIET
    def _mean(self, hidden: Array32, lengths: IntArray) -> tuple[Array32, Array32]:
        """v' tanh(W h + b), a softmax over the steps of each sequence, the weighted mean."""
        steps, sequences, size = hidden.shape
        inner = self._times_attended(hidden.reshape(-1, size))
        inner += self._attended_bias
        np.tanh(inner, out=inner)
        scores = np.einsum("ij,j->i", inner, self._score).reshape(steps, sequences)
        scores[np.arange(steps)[:, None] >= lengths] = -np.inf
        scores -= scores.max(axis=0)
        attention = np.exp(scores, out=scores)
        attention /= attention.cumsum(axis=0)[-1]
        mean = np.einsum("sn,snd->nd", attention, hidden)
        mean *= 0.5
        return mean, attention.T


def _direction(weights: Weights, name: str) -> tuple[Array32, Array32, Array32]:
    """Input weights (inputs, 4 * size), recurrent weights (size, 4 * size) and bias (4 * size,)."""
    inputs, recurrent = weights[name % "weight_ih"], weights[name % "weight_hh"]
    bias = weights[name % "bias_ih"] + weights[name % "bias_hh"]
    size = recurrent.shape[1]
    places = np.arange(4 * size).reshape(4, size)
    order = places[[0, 1, 3, 2]].ravel()  # torch's cell gate is third
    halves = np.repeat(np.array([0.5, 0.5, 0.5, 1.0], np.float32), size)
    return (
        # In training the last input marks padding. Here there is none.
        np.ascontiguousarray((inputs[order, :-1] * halves[:, None]).T),
        np.ascontiguousarray((0.5 * recurrent[order] * halves[:, None]).T),
        bias[order] * halves,
    )


class Product:
    """The product of rows and a matrix (inputs, columns), independent of the other rows.

    BLAS may sum a row in another order elsewhere in a batch, on some processors with another
    rounding; but the LEV of a text must not depend on the texts beside it.
    """

    def __init__(self, weight: Array32, kernel: Kernel) -> None:
        self._kernel = kernel
        self._weight, (self._inputs, self._columns) = weight, weight.shape
        if kernel.fused is not None:
            self._panels = _in_panels(weight)

    def __call__(self, rows: Array32) -> Array32:
        """The product (rows, columns) of rows (rows, inputs)."""
        if self._kernel.fused is None:
            return np.asarray(np.matmul(rows[:, None], self._weight)[:, 0])
        out = np.empty((len(rows), -(-self._columns // _LANES) * _LANES), np.float32)
        rows = np.ascontiguousarray(rows)
        self._kernel.fused.multiply(self._kernel.name, rows, self._inputs, self._panels, out)
        return out[:, : self._columns]


def _in_panels(weight: Array32) -> Array32:
    """The columns of a matrix in panels of up to four vectors, one panel after the other."""
    columns = _filled_up(weight).reshape(len(weight), -1, _LANES)
    parts = np.array_split(columns, -(-columns.shape[1] // _PANEL), axis=1)
    return _aligned(np.concatenate([part.ravel() for part in parts]))


def _filled_up(columns: Array32) -> Array32:
    """A copy with zeros added to the last axis, up to whole vectors."""
    missing = -columns.shape[-1] % _LANES
    return np.pad(columns, [(0, 0)] * (columns.ndim - 1) + [(0, missing)])


def _aligned(values: Array32) -> Array32:
    """A flat copy that is aligned with the cache's lines."""
    room = np.empty(values.nbytes + _ALIGNMENT, np.uint8)
    begin = -room.ctypes.data % _ALIGNMENT
    row = room[begin : begin + values.nbytes].view(np.float32)
    row[:] = values.ravel()
    return row
