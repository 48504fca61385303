"""What turns a document into a LEV: the one protocol of all encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Encoder(Protocol):
    """An encoder ready to run."""

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> npt.NDArray[np.float32]:
        """(documents, lev_size): the LEVs of tokenized documents with tokenized topics."""
        ...
