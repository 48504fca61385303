"""LEVs in a .npz file: their numbers that are not zero, as SciPy's CSR matrices keep them.

    lev_values  (numbers,)        the numbers of all LEVs, one LEV after another
    lev_places  (numbers,)        which of the numbers of its LEV each is
    lev_starts  (documents + 1,)  where each LEV begins, and the end
    lev_size    ()                how many numbers a LEV has, with the zeros

Files of older versions hold plain LEVs, `lev` (documents, lev_size).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Levs, SparseRows, joined
from adhominem.errors import InputError
from adhominem.text.files import note_input

_AT_ONCE = 256  # documents whose LEVs are made plain


def arrays_of(levs: Levs, lev_size: int) -> dict[str, npt.NDArray[Any]]:
    """LEVs (documents, lev_size) as the arrays of a file."""
    parts = [
        SparseRows.of(np.asarray(levs[at : at + _AT_ONCE])) for at in range(0, len(levs), _AT_ONCE)
    ]
    rows = joined(parts or [SparseRows.of(np.zeros((0, lev_size), np.float32))])
    return {
        "lev_values": rows.values,
        "lev_places": rows.places,
        "lev_starts": np.concatenate([np.zeros(1, np.int64), rows.ends]),
        "lev_size": np.array(lev_size),
    }


def read_levs(path: str | Path) -> Levs:
    """The LEVs (documents, lev_size) of a .npz file that `adhominem encode` has written."""
    note_input(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            if "lev" in file:
                return Levs((file["lev"],))
            starts, size = file["lev_starts"], int(file["lev_size"])
            places, values = file["lev_places"], file["lev_values"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"no LEVs can be read here ({error}); expected a .npz file", path
        ) from None
    rising = starts.ndim == 1 and len(starts) and not starts[0] and (np.diff(starts) >= 0).all()
    if not rising or not len(places) == len(values) == starts[-1] or (places >= size).any():
        raise InputError("the LEVs do not fit together; encode the texts again", path)
    return Levs((SparseRows.of_counts(np.diff(starts), places, values, size),))
