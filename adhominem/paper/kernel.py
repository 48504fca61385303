"""The compiled kernel: which one runs, and the network's weights as it wants them.

It is built from `fused.c`; `recurrence.py` does the same in NumPy. The environment variable
ADHOMINEM_KERNEL chooses by name: `numpy`, or a kernel for some kind of processor.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import NUMPY, PLAIN, VARIABLE, compiled
from adhominem.errors import OptionError

_LANES = 8  # of a vector: what the kernel computes at once
_PANEL = 4  # vectors of columns that stay in registers
_ALIGNMENT = 64  # bytes
_FUSED = "adhominem.paper._fused"


def kernel_names() -> tuple[str, ...]:
    """The kernels that can run here, the best first: NumPy's before one without vectors."""
    fused = compiled(_FUSED)
    variants: tuple[str, ...] = fused.VARIANTS if fused else ()
    fast = tuple(name for name in variants if name != PLAIN)
    return (*fast, NUMPY, *(name for name in variants if name == PLAIN))


def kernel_name() -> str:
    """The kernel that runs the network on a CPU: the best there is, unless one is asked for."""
    names = kernel_names()
    name = os.environ.get(VARIABLE) or names[0]
    if name not in names:
        raise OptionError(f"{VARIABLE} is {name!r}; expected one of {', '.join(names)}")
    return name


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
        """Weights as `BiLSTM` and `Attention` have them."""
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
