"""A BiLSTM and the attention behind it, at inference, over sequences of different lengths.

It runs in one pass of a kernel compiled from `fused.c`, or in NumPy. The environment variable
ADHOMINEM_KERNEL chooses by name: `numpy`, or a kernel for some kind of processor.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
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
    return _names(compiled(_FUSED))


def _names(fused: Any | None) -> tuple[str, ...]:
    variants: tuple[str, ...] = fused.VARIANTS if fused else ()
    fast = tuple(name for name in variants if name != PLAIN)
    return (*fast, NUMPY, *(name for name in variants if name == PLAIN))


def choose_kernel() -> Kernel:
    """The kernel that the environment chooses, or else the best one."""
    fused = compiled(_FUSED)
    names = _names(fused)
    name = os.environ.get(VARIABLE) or names[0]
    if name not in names:
        raise OptionError(f"{VARIABLE} is {name!r}; expected one of {', '.join(names)}")
    return Kernel(name, None if name == NUMPY else fused)


@dataclass(frozen=True, kw_only=True)
class Sequences:
    """The inputs of the gates at each step of sequences, as rows of a table per direction."""

    tables: tuple[Array32, Array32]  # (table rows, 4 * size)
    heads: tuple[Array32, Array32] | None = None  # separate tables for first steps, if any
    rows: IntArray  # (sequences, steps): of the table; arbitrary behind the end
    lengths: IntArray  # (sequences,): the longest first

    def take(self, at: int, n: int, direction: int, out: Array32) -> None:
        """Write the inputs (n, 4 * size) of step `at` of the first n sequences."""
        tables = self.tables if at or self.heads is None else self.heads
        np.take(tables[direction], self.rows[:n, at], axis=0, out=out, mode="clip")


class BiLSTM:
    """A BiLSTM over sequences of different lengths, the longest first.

    A sigmoid is 0.5 (tanh(x / 2) + 1): with the halves folded into the weights, one tanh serves
    all four gates. The gates are in the order input, forget, output, cell.
    """

    def __init__(self, weights: Weights, name: str) -> None:
        names = [f"{name}.lstm.%s_l0{end}" for end in ("", "_reverse")]
        directions = [self._direction(weights, direction) for direction in names]
        inputs, self.recurrent, bias = zip(*directions, strict=True)
        self.size = len(self.recurrent[0])  # (size, 4 * size)
        self.weight = np.concatenate(inputs, axis=1)  # (inputs, 2 * 4 * size)
        self.bias = np.concatenate(bias)  # (2 * 4 * size,)

    @staticmethod
    def _direction(weights: Weights, name: str) -> tuple[Array32, Array32, Array32]:
        inputs, recurrent = weights[name % "weight_ih"], weights[name % "weight_hh"]
        bias = weights[name % "bias_ih"] + weights[name % "bias_hh"]
        size = recurrent.shape[1]
        order = np.concatenate([np.arange(2 * size), np.arange(3 * size, 4 * size)])
        order = np.concatenate([order, np.arange(2 * size, 3 * size)])  # torch's cell gate is third
        halves = np.repeat(np.array([0.5, 0.5, 0.5, 1.0], np.float32), size)
        # In training the last input marks padding. Here there is none: see `run`.
        return (
            np.ascontiguousarray((inputs[order, :-1] * halves[:, None]).T),
            # The state is doubled, which saves a multiplication per step.
            np.ascontiguousarray((0.5 * recurrent[order] * halves[:, None]).T),
            bias[order] * halves,
        )

    @_QUIET
    def run(self, sequences: Sequences) -> Array32:
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
        for direction, recurrent in enumerate(self.recurrent):
            cell = np.zeros((rows, size), dtype=np.float32)
            columns = slice(direction * size, (direction + 1) * size)
            before = None  # hidden states of the step before
            for at in range(steps) if direction == 0 else reversed(range(steps)):
                n = active[at]  # the sequences that have this step
                if not n:
                    continue
                if before is None:
                    sequences.take(at, n, direction, gates[:n])
                else:
                    sequences.take(at, n, direction, inputs[:n])
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


class AttentionMean:
    """v' tanh(W h + b), a softmax over the steps of each sequence, the weighted mean."""

    def __init__(self, weights: Weights, name: str, kernel: Kernel) -> None:
        # Halved, since the hidden states are doubled.
        self.weight = np.ascontiguousarray(0.5 * weights[f"{name}.hidden.weight"].T)
        self.bias = weights[f"{name}.hidden.bias"]
        self.score = weights[f"{name}.score.weight"][0]
        self._times_weight = Product(self.weight, kernel)

    @_QUIET
    def mean(self, hidden: Array32, lengths: IntArray) -> tuple[Array32, Array32]:
        """The means (sequences, size) and attention (sequences, steps) of doubled hidden states."""
        steps, sequences, size = hidden.shape
        inner = self._times_weight(hidden.reshape(-1, size))
        inner += self.bias
        np.tanh(inner, out=inner)
        scores = np.einsum("ij,j->i", inner, self.score).reshape(steps, sequences)
        scores[np.arange(steps)[:, None] >= lengths] = -np.inf
        scores -= scores.max(axis=0)
        attention = np.exp(scores, out=scores)
        attention /= attention.cumsum(axis=0)[-1]
        mean = np.einsum("sn,snd->nd", attention, hidden)
        mean *= 0.5
        return mean, attention.T


class Pooling:
    """A BiLSTM and the mean weighted by attention: sequences to one vector each."""

    def __init__(
        self, weights: Weights, lstm: str, attention: str, kernel: Kernel | None = None
    ) -> None:
        """`lstm` and `attention` are names among the network's weights."""
        kernel = kernel or choose_kernel()
        self.lstm = BiLSTM(weights, lstm)
        self._attention = pooling = AttentionMean(weights, attention, kernel)
        self._kernel = (
            None
            if kernel.fused is None
            else FusedKernel(
                kernel, self.lstm.recurrent, pooling.weight, pooling.bias, pooling.score
            )
        )

    def __call__(self, sequences: Sequences) -> tuple[Array32, Array32]:
        """The vectors (sequences, 2 * size), and the attention (sequences, steps)."""
        if self._kernel is not None:
            return self._kernel.run(
                sequences.tables, sequences.heads, sequences.rows, sequences.lengths
            )
        return self._attention.mean(self.lstm.run(sequences), sequences.lengths)


class FusedKernel:
    """A BiLSTM and its attention, run by the compiled kernel."""

    def __init__(
        self,
        kernel: Kernel,
        recurrent: Sequence[Array32],
        weight: Array32,
        bias: Array32,
        score: Array32,
    ) -> None:
        """Prepare weights as `BiLSTM` and `AttentionMean` have them."""
        self._kernel, self._size, self._inner = kernel, len(recurrent[0]), len(score)
        gates = np.stack(recurrent).reshape(2, self._size, 4, self._size)
        whole = self._size // _LANES * _LANES
        # (directions, panels, size, gates, lanes): a panel is all four gates of eight numbers.
        panels = gates[..., :whole].reshape(2, self._size, 4, -1, _LANES).transpose(0, 3, 1, 2, 4)
        # (directions, size, gates of the rest): side by side.
        rest = _filled_up(gates[..., whole:].reshape(2, self._size, -1))
        by_panel = np.concatenate([panels.reshape(2, -1), rest.reshape(2, -1)], axis=1)
        panels = _in_panels(weight)
        bias, score = _aligned(_filled_up(bias)), _aligned(_filled_up(score))
        self._weights = [_aligned(by_panel), panels, bias, score]

    def run(
        self,
        tables: tuple[Array32, Array32],
        heads: tuple[Array32, Array32] | None,
        rows: IntArray,
        lengths: IntArray,
    ) -> tuple[Array32, Array32]:
        """The vectors (sequences, 2 * size), and the attention (sequences, steps)."""
        vectors = np.empty((len(rows), 2 * self._size), np.float32)
        attention = np.empty(rows.shape, np.float32)
        assert self._kernel.fused is not None
        self._kernel.fused.pooled(
            self._kernel.name,
            self._size,
            self._inner,
            np.ascontiguousarray(rows, np.int64),
            np.ascontiguousarray(lengths, np.int64),
            *tables,
            *(heads or (None, None)),
            *self._weights,
            vectors,
            attention,
        )
        return vectors, attention


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
