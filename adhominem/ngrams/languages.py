"""N-gram encoders of several languages as one: each text is read by that of its language.

All have LEVs of one size. An encoder is read from its folder when the first text of its language
comes. A text in a language that none is for is read by that of the most similar one, so that it has
a LEV; but no statement should rest on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from adhominem.arrays import Array32, Rows, SparseRows, joined
from adhominem.ngrams.encoder import NgramEncoder
from adhominem.text.files import Document
from adhominem.text.language import language_in, most_similar
from adhominem.text.lexicon import Numbered


class NgramsByLanguage:
    """The n-gram encoders of several languages."""

    def __init__(
        self,
        languages: Sequence[str],
        read: Callable[[str], NgramEncoder],
        lev_size: int,
        language: str = "",
    ) -> None:
        """Make an encoder; `read` reads that of a language. A `language` is that of all texts."""
        self.languages, self.lev_size, self.language = tuple(languages), lev_size, language
        self._read = read
        self._encoders: dict[str, NgramEncoder] = {}

    def of(self, language: str) -> NgramEncoder:
        """The encoder for one of the languages."""
        if language not in self._encoders:
            self._encoders[language] = self._read(language)
        return self._encoders[language]

    def language_of(self, document: Document) -> str:
        """The one of the languages that a document is in, or that is most similar to it."""
        language = self.language or language_in(document)
        if language in self.languages:
            return language
        return most_similar(document.text, self.languages)

    def rows(self, documents: Sequence[Document], tokens: Numbered) -> Rows:
        """The LEVs (documents, lev_size) of documents whose tokens are numbers."""
        places: dict[str, list[int]] = {}  # of the documents, by language
        for place, document in enumerate(documents):
            places.setdefault(self.language_of(document), []).append(place)
        if not places:
            return SparseRows.of(np.zeros((0, self.lev_size), np.float32))
        rows = [self.of(language).rows(tokens.chosen(at)) for language, at in places.items()]
        order = np.argsort(np.concatenate(list(places.values())))
        return cast(Rows, joined(rows)[order])

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Array32:
        """The LEVs (documents, lev_size) of tokenized documents; topics are not used."""
        texts = [Document(text=" ".join(tokens)) for tokens in documents]
        return np.asarray(self.rows(texts, Numbered.of(documents)))
