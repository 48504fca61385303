"""What is known of each document of a corpus, as arrays: all that drawing pairs needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.text.document import Document

Index = npt.NDArray[np.int32]
UNKNOWN_LABEL = -1  # a topic or a work that is not known


@dataclass(frozen=True)
class Labels:
    """One entry a document: an index into the names, or `UNKNOWN_LABEL`."""

    author_names: list[str]
    topic_names: list[str]
    work_names: list[str]
    corpus_names: list[str]
    author: Index  # (documents,)
    topic: Index  # (documents,)
    work: Index  # (documents,)
    corpus: Index  # (documents,)

    def __post_init__(self) -> None:
        for kind in KINDS:
            index, names = getattr(self, kind), getattr(self, f"{kind}_names")
            if index.shape != self.author.shape or index.max(initial=-1) >= len(names):
                raise ValueError(f"the {kind} labels do not fit: {index.shape}, {len(names)} names")

    def __len__(self) -> int:
        return len(self.author)

    def select(self, documents: npt.NDArray[np.integer]) -> Labels:
        """The labels of some documents, with all the names."""
        return Labels(
            self.author_names,
            self.topic_names,
            self.work_names,
            self.corpus_names,
            self.author[documents],
            self.topic[documents],
            self.work[documents],
            self.corpus[documents],
        )


KINDS = ("author", "topic", "work", "corpus")


class LabelCollector:
    """Gathers the labels of documents that stream by."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        self._indices: dict[str, list[int]] = {kind: [] for kind in KINDS}

    def add(self, document: Document, corpus: str) -> None:
        """The next document."""
        values = (document.author, document.topic, document.work, corpus)
        for kind, value in zip(KINDS, values, strict=True):
            names = self._names[kind]
            known = value or kind in ("author", "corpus")
            index = names.setdefault(value, len(names)) if known else UNKNOWN_LABEL
            self._indices[kind].append(index)

    def labels(self) -> Labels:
        """The labels of all documents so far."""
        names = {f"{kind}_names": list(self._names[kind]) for kind in KINDS}
        indices = {kind: np.array(self._indices[kind], dtype=np.int32) for kind in KINDS}
        return Labels(**names, **indices)  # type: ignore[arg-type]
