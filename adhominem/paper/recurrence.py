"""A BiLSTM and the attention behind it, at inference, over sequences of different lengths.

By a kernel that was compiled from `fused.c`, in one pass, or in NumPy. The environment variable
ADHOMINEM_KERNEL chooses by name: `numpy`, or a kernel for some kind of processor.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import NUMPY, PLAIN, VARIABLE, compiled
from adhominem.errors import OptionError

Weights = Mapping[str, Array32]

_LANES = 8  # of a vector: what the kernel computes at once
_PANEL = 4  # vectors of columns that stay in registers
_ALIGNMENT = 64  # bytes
_FUSED = "adhominem.paper._fused"

# Vector instructions may raise flags for lanes that hold nothing of ours.
_QUIET = np.errstate(all="ignore")


def kernel_names() -> tuple[str, ...]:
    """The kernels that can run here, the best first: NumPy's before one without vectors."""
    fused = compiled(_FUSED)
    variants: tuple[str, ...] = fused.VARIANTS if fused else ()
    fast = tuple(name for name in variants if name != PLAIN)
    return (*fast, NUMPY, *(name for name in variants if name == PLAIN))


def kernel_name() -> str:
    """The kernel that runs the network on a CPU: the best there is, or the one that is chosen."""
    names = kernel_names()
    name = os.environ.get(VARIABLE) or names[0]
    if name not in names:
        raise OptionError(f"{VARIABLE} is {name!r}; expected one of {', '.join(names)}")
    return name


@dataclass(frozen=True, kw_only=True)
class Sequences:
    """What each step of some sequences adds to the gates: rows of tables, one a direction."""

    tables: tuple[Array32, Array32]  # (table rows, 4 * size)
    heads: tuple[Array32, Array32] | None = None  # the tables of first steps, if they have others
    rows: IntArray  # (sequences, steps): of its table; anything behind a sequence's end
    lengths: IntArray  # (sequences,): the longest first

    def take(self, at: int, n: int, direction: int, out: Array32) -> None:
        """Write what step `at` of the first n sequences adds, (n, 4 * size)."""
        tables = self.tables if at or self.heads is None else self.heads
        np.take(tables[direction], self.rows[:n, at], axis=0, out=out, mode="clip")


class BiLSTM:
    """Both directions over sequences of different lengths, the longest first.

    A sigmoid is 0.5 (tanh(x / 2) + 1): with the halves folded into the weights, one tanh serves
    all four gates. The gates stand in the order input, forget, output, cell.
    """

    def __init__(self, weights: Weights, name: str) -> None:
        both = [self._direction(weights, f"{name}.lstm.%s_l0{end}") for end in ("", "_reverse")]
        taken, self.recurrent, bias = zip(*both, strict=True)  # each for both directions
        self.size = len(self.recurrent[0])  # (size, 4 * size)
        self.weight = np.concatenate(taken, axis=1)  # (inputs, 2 * 4 * size)
        self.bias = np.concatenate(bias)  # (2 * 4 * size,)

    @staticmethod
    def _direction(weights: Weights, name: str) -> tuple[Array32, Array32, Array32]:
        taken, recurrent = weights[name % "weight_ih"], weights[name % "weight_hh"]
        bias = weights[name % "bias_ih"] + weights[name % "bias_hh"]
        size = recurrent.shape[1]
        order = np.concatenate([np.arange(2 * size), np.arange(3 * size, 4 * size)])
        order = np.concatenate([order, np.arange(2 * size, 3 * size)])  # torch's cell gate is third
        halves = np.repeat(np.array([0.5, 0.5, 0.5, 1.0], np.float32), size)
        # The last input says "padding" in training. Here there is none: see `run`.
        return (
            np.ascontiguousarray((taken[order, :-1] * halves[:, None]).T),
            # The state is twice as large as it should be, which saves a multiplication a step.
            np.ascontiguousarray((0.5 * recurrent[order] * halves[:, None]).T),
            bias[order] * halves,
        )

    @_QUIET
    def run(self, inputs_of: Sequences) -> Array32:
        """(steps, sequences, 2 * size): twice the hidden states; zeros behind a sequence's end."""
        lengths, (sequences, steps), size = inputs_of.lengths, inputs_of.rows.shape, self.size
        active = np.searchsorted(-lengths, -np.arange(steps), side="left").tolist()
        rows = sequences
        hidden = np.empty((steps, rows, 2 * size), dtype=np.float32)
        for of_step, n in zip(hidden, active, strict=True):
            of_step[n:] = 0
        gates = np.empty((rows, 4 * size), dtype=np.float32)
        inputs = np.empty_like(gates)
        squashed = np.empty((rows, size), dtype=np.float32)
        by_gate = np.empty((4, rows, size), dtype=np.float32)  # each one contiguous, unlike `gates`
        for direction, recurrent in enumerate(self.recurrent):
            cell = np.zeros((rows, size), dtype=np.float32)
            columns = slice(direction * size, (direction + 1) * size)
            before = None  # what is hidden of the step before
            for at in range(steps) if direction == 0 else reversed(range(steps)):
                n = active[at]  # the sequences that have this step
                if not n:
                    continue
                if before is None:
                    inputs_of.take(at, n, direction, gates[:n])
                else:
                    inputs_of.take(at, n, direction, inputs[:n])
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
        return hidden[:, :sequences]


class AttentionMean:
    """v' tanh(W h + b), a softmax over the steps of each sequence, the weighted mean."""

    def __init__(self, weights: Weights, name: str) -> None:
        # Half of it, for hidden states that are twice as large.
        self.weight = np.ascontiguousarray(0.5 * weights[f"{name}.hidden.weight"].T)
        self.bias = weights[f"{name}.hidden.bias"]
        self.score = weights[f"{name}.score.weight"][0]
        self._times_weight = Product(self.weight)

    @_QUIET
    def mean(self, hidden: Array32, lengths: IntArray) -> tuple[Array32, Array32]:
        """(sequences, size), and the attention (sequences, steps), of twice the hidden states."""
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
    """Sequences to a vector each: a BiLSTM, and the mean that its attention weighs."""

    def __init__(self, weights: Weights, lstm: str, attention: str) -> None:
        """`lstm` and `attention` are names among the network's weights."""
        self.lstm, self._attention = BiLSTM(weights, lstm), AttentionMean(weights, attention)
        pooling = self._attention
        self._kernel = (
            None
            if (name := kernel_name()) == NUMPY
            else FusedKernel(name, self.lstm.recurrent, pooling.weight, pooling.bias, pooling.score)
        )

    def __call__(self, sequences: Sequences) -> tuple[Array32, Array32]:
        """(sequences, 2 * size), and the attention (sequences, steps)."""
        if self._kernel is not None:
            return self._kernel.run(
                sequences.tables, sequences.heads, sequences.rows, sequences.lengths
            )
        return self._attention.mean(self.lstm.run(sequences), sequences.lengths)


class FusedKernel:
    """The weights of a BiLSTM and of the attention behind it, ready for the compiled kernel."""

    def __init__(
        self,
        name: str,
        recurrent: Sequence[Array32],
        weight: Array32,
        bias: Array32,
        score: Array32,
    ) -> None:
        """Weights as `BiLSTM` and `AttentionMean` have them."""
        self._fused = compiled(_FUSED)
        assert self._fused is not None
        self._name, self._size, self._inner = name, len(recurrent[0]), len(score)
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
        """(sequences, 2 * size), and the attention (sequences, steps)."""
        vectors = np.empty((len(rows), 2 * self._size), np.float32)
        attention = np.empty(rows.shape, np.float32)
        assert self._fused is not None
        self._fused.pooled(
            self._name,
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
    """Rows times a matrix (inputs, columns), each as if it were alone.

    BLAS adds up the same row in another order where it stands elsewhere in a batch, and on some
    processors to other bits; but the LEV of a text must not depend on the texts beside it.
    """

    def __init__(self, weight: Array32) -> None:
        self._fused, self._name = compiled(_FUSED), kernel_name()
        self._weight, (self._inputs, self._columns) = weight, weight.shape
        if self._name != NUMPY:
            self._panels = _in_panels(weight)

    def __call__(self, rows: Array32) -> Array32:
        """(rows, columns), of (rows, inputs)."""
        if self._name == NUMPY:
            return np.asarray(np.matmul(rows[:, None], self._weight)[:, 0])
        assert self._fused is not None
        out = np.empty((len(rows), -(-self._columns // _LANES) * _LANES), np.float32)
        rows = np.ascontiguousarray(rows)
        self._fused.multiply(self._name, rows, self._inputs, self._panels, out)
        return out[:, : self._columns]


def _in_panels(weight: Array32) -> Array32:
    """The columns of a matrix in panels of up to four vectors, one panel after the other."""
    columns = _filled_up(weight).reshape(len(weight), -1, _LANES)
    parts = np.array_split(columns, -(-columns.shape[1] // _PANEL), axis=1)
    return _aligned(np.concatenate([part.ravel() for part in parts]))


def _filled_up(columns: Array32) -> Array32:
    """Zeros added to the last axis, up to whole vectors."""
    missing = -columns.shape[-1] % _LANES
    return np.pad(columns, [(0, 0)] * (columns.ndim - 1) + [(0, missing)])


def _aligned(values: Array32) -> Array32:
    """A copy in a row that begins where a line of the cache does."""
    room = np.empty(values.nbytes + _ALIGNMENT, np.uint8)
    begin = -room.ctypes.data % _ALIGNMENT
    row = room[begin : begin + values.nbytes].view(np.float32)
    row[:] = values.ravel()
    return row
