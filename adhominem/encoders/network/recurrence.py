"""The recurrent parts of the network in NumPy, for inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
Weights = Mapping[str, npt.NDArray[np.float32]]

# Writes what a step of so many sequences adds to the gates: (step, sequences, direction, out).
StepInputs = Callable[[int, int, int, Array], None]

# Vector instructions may raise flags for lanes that hold nothing of ours.
_QUIET = np.errstate(all="ignore")
_FEWEST_ROWS = 128  # of a product: BLAS adds up a few rows in another order than many


def product(rows: Array, weight: Array) -> Array:
    """rows @ weight, the same for a row whatever stands beside it."""
    n = len(rows)
    if n >= _FEWEST_ROWS:
        return np.asarray(rows @ weight)
    padded = np.zeros((_FEWEST_ROWS, rows.shape[1]), dtype=np.float32)
    padded[:n] = rows
    return np.asarray(padded @ weight)[:n]


class BiLSTM:
    """Both directions over sequences of different lengths, the longest first.

    A sigmoid is 0.5 (tanh(x / 2) + 1): with the halves folded into the weights, one tanh serves
    all four gates. The gates stand in the order input, forget, output, cell.
    """

    def __init__(self, weights: Weights, name: str) -> None:
        both = [self._direction(weights, f"{name}.lstm.%s_l0{end}") for end in ("", "_reverse")]
        self.size = both[0][1].shape[0]
        self.weight = np.concatenate([each[0] for each in both], axis=1)  # (inputs, 2 * 4 * size)
        self._recurrent = [each[1] for each in both]  # each (size, 4 * size)
        self.bias = np.concatenate([each[2] for each in both])  # (2 * 4 * size,)

    @staticmethod
    def _direction(weights: Weights, name: str) -> tuple[Array, Array, Array]:
        taken, recurrent = weights[name % "weight_ih"], weights[name % "weight_hh"]
        bias = weights[name % "bias_ih"] + weights[name % "bias_hh"]
        size = recurrent.shape[1]
        order = np.concatenate([np.arange(2 * size), np.arange(3 * size, 4 * size)])
        order = np.concatenate([order, np.arange(2 * size, 3 * size)])  # torch's cell gate is third
        halves = np.repeat(np.array([0.5, 0.5, 0.5, 1.0], np.float32), size)
        # The last input says "padding" in training. Here there is none: see `run`.
        return (
            np.ascontiguousarray((taken[order, :-1] * halves[:, None]).T),
            # The state is kept at twice its size, which saves a multiplication a step.
            np.ascontiguousarray((0.5 * recurrent[order] * halves[:, None]).T),
            bias[order] * halves,
        )

    @_QUIET
    def run(self, step_inputs: StepInputs, lengths: IntArray, steps: int) -> Array:
        """(sequences, steps, 2 * size): the hidden states; zeros behind a sequence's end."""
        size, sequences = self.size, len(lengths)
        hidden = np.zeros((sequences, steps, 2 * size), dtype=np.float32)
        active = np.searchsorted(-lengths, -np.arange(steps), side="left").tolist()
        rows = max(sequences, _FEWEST_ROWS)
        gates = np.empty((rows, 4 * size), dtype=np.float32)
        inputs = np.empty_like(gates)
        squashed = np.empty((sequences, size), dtype=np.float32)
        for direction, recurrent in enumerate(self._recurrent):
            state = np.zeros((rows, size), dtype=np.float32)  # twice the hidden state
            cell = np.zeros_like(state)
            columns = slice(direction * size, (direction + 1) * size)
            for at in range(steps) if direction == 0 else reversed(range(steps)):
                n = active[at]  # the sequences that have this step
                if not n:
                    continue
                z, c, h, s = gates[:n], cell[:n], state[:n], squashed[:n]
                step_inputs(at, n, direction, inputs[:n])
                m = max(n, _FEWEST_ROWS)
                np.matmul(state[:m], recurrent, out=gates[:m])
                z += inputs[:n]
                np.tanh(z, out=z)
                z[:, : 3 * size] += 1  # twice the input, forget and output gates
                c *= z[:, size : 2 * size]
                np.multiply(z[:, :size], z[:, 3 * size :], out=s)
                c += s
                c *= 0.5
                np.tanh(c, out=s)
                np.multiply(z[:, 2 * size : 3 * size], s, out=h)
                np.multiply(h, 0.5, out=hidden[:n, at, columns])
        return hidden


class Attention:
    """v' tanh(W h + b), a softmax over the steps of each sequence, the weighted mean."""

    def __init__(self, weights: Weights, name: str) -> None:
        self._weight = np.ascontiguousarray(weights[f"{name}.hidden.weight"].T)
        self._bias = weights[f"{name}.hidden.bias"]
        self._score = weights[f"{name}.score.weight"][0]

    @_QUIET
    def mean(self, hidden: Array, lengths: IntArray) -> tuple[Array, Array]:
        """(sequences, size), and the attention (sequences, steps)."""
        sequences, steps, size = hidden.shape
        inner = product(hidden.reshape(-1, size), self._weight)
        inner += self._bias
        np.tanh(inner, out=inner)
        inner *= self._score
        scores = inner.sum(axis=1).reshape(sequences, steps)
        scores[np.arange(steps) >= lengths[:, None]] = -np.inf
        scores -= scores.max(axis=1, keepdims=True)
        attention = np.exp(scores, out=scores)
        attention /= attention.cumsum(axis=1)[:, -1:]
        return np.einsum("ns,nsd->nd", attention, hidden), attention
