"""The types of arrays, by what they hold; shapes stand beside each use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Array32 = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
AnyFloats = npt.NDArray[np.floating]
Levs = npt.NDArray[np.float32]  # of documents: (documents, lev_size)
