"""What turns a document into a LEV: the one protocol of all encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.text.tokenizer import Numbered


class Encoder(Protocol):
    """An encoder ready to run."""

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Array32:
        """(documents, lev_size): the LEVs of tokenized documents with tokenized topics."""
        ...

    def encode_numbered(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> Array32:
        """(documents, lev_size): the same of documents whose tokens are numbers: faster."""
        ...

    def vary(
        self,
        tokens: Sequence[str],
        topic: Sequence[str],
        starts: IntArray,
        times: IntArray,
    ) -> Array32:
        """(variants, lev_size): the LEVs of a document with some passages left out or repeated.

        Passages begin at the tokens `starts` (passages,); `times` (variants, passages) says how
        often each is there. All ones is the document itself; something must be left of each.
        """
        ...


def spliced(tokens: Sequence[str], starts: IntArray, times: IntArray) -> list[list[str]]:
    """The tokens of each variant, one after another: the plain way to vary a document."""
    ends = np.append(starts[1:], len(tokens))
    passages = [tokens[start:end] for start, end in zip(starts, ends, strict=True)]
    return [
        [token for at, count in enumerate(row) for _ in range(count) for token in passages[at]]
        for row in times
    ]
