"""The tokenizer: one regular expression, with character spans into the original text.

Nothing is rewritten or lower-cased: contractions, runs of signs and misspellings
are what authors differ in. The rules run in the `tokenizers` library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from adhominem.text.normalisation import Normaliser
from adhominem.text.token_pattern import TOKEN_PATTERN


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text: what the model sees, and where it stands in the original."""

    tokens: list[str]
    spans: npt.NDArray[np.int64]  # (tokens, 2): start and end in the original text


class Tokenizer:
    """Normalise, cut at white space, split each chunk by the rules.

    No rule looks beyond white space, so a chunk splits the same way wherever it
    stands, and texts repeat their chunks: remembering them is what makes it fast.
    """

    _MOST_CHUNKS = 1 << 18  # about 60 MB; then it forgets them all and starts again

    def __init__(self, normaliser: Normaliser | None = None) -> None:
        self.normaliser = normaliser or Normaliser()
        self._split = Split(Regex(TOKEN_PATTERN), behavior="removed", invert=True)
        self._known: dict[str, tuple[str, ...]] = {}

    def tokens(self, text: str) -> list[str]:
        """The tokens alone: the fast way, for corpora."""
        return list(chain.from_iterable(self._split_chunks(self.normaliser(text).split())))

    def tokenize(self, text: str) -> Tokens:
        """The tokens, and their spans in the text as it was given."""
        aligned = self.normaliser.align(text)
        chunks = list(re.finditer(r"\S+", aligned.text))  # the same as by `split`
        tokens: list[str] = []
        starts: list[int] = []
        split = self._split_chunks([chunk.group() for chunk in chunks])
        for chunk, parts in zip(chunks, split, strict=True):
            tokens += parts
            starts += accumulate(map(len, parts[:-1]), initial=chunk.start())
        begins = np.array(starts, dtype=np.int64)  # (tokens,)
        lengths = np.array([len(token) for token in tokens], dtype=np.int64)  # (tokens,)
        spans = np.stack([begins, begins + lengths], axis=1)
        return Tokens(tokens, aligned.original_spans(spans))

    def _split_chunks(self, chunks: list[str]) -> Iterator[tuple[str, ...]]:
        """The tokens of each chunk, from memory if it was seen before."""
        known = self._known
        new = set(chunks).difference(known)
        if len(known) + len(new) > self._MOST_CHUNKS:
            known = self._known = {}  # a new one: another thread may still read the old
            new = set(chunks)
        if new:
            known.update(self._split_new(new))
        return map(known.__getitem__, chunks)

    def _split_new(self, chunks: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """(chunk, tokens) of each, by one call of the library: a call costs more than a chunk."""
        chunks = list(chunks)
        pieces = iter(self._split.pre_tokenize_str(" ".join(chunks)))
        for chunk in chunks:
            tokens: list[str] = []
            length = 0
            while length < len(chunk):  # the rules leave no character of a chunk out
                token, _ = next(pieces)
                tokens.append(token)
                length += len(token)
            yield chunk, tuple(tokens) if len(tokens) > 1 else (chunk,)
