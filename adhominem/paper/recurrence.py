"""A BiLSTM and the attention behind it, over sequences of different lengths.

In NumPy: what the compiled kernel does as well, in one pass (`kernel.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import NUMPY
from adhominem.paper.kernel import FusedKernel, Product, kernel_name

Weights = Mapping[str, Array32]

# Vector instructions may raise flags for lanes that hold nothing of ours.
_QUIET = np.errstate(all="ignore")


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


class Attention:
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
        """Of a network's weights, those of these two names."""
        self.lstm, self._attention = BiLSTM(weights, lstm), Attention(weights, attention)
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
