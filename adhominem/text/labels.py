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
        for label in LABELS:
            index, names = getattr(self, label), getattr(self, f"{label}_names")
            if index.shape != self.author.shape or index.max(initial=-1) >= len(names):
                raise ValueError(
                    f"the {label} labels do not fit: {index.shape}, {len(names)} names"
                )

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


LABELS = ("author", "topic", "work", "corpus")


class LabelCollector:
    """Gathers the labels of documents that stream by."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, int]] = {label: {} for label in LABELS}
        self._indices: dict[str, list[int]] = {label: [] for label in LABELS}

    def add(self, document: Document, corpus: str) -> None:
        """The next document."""
        values = (document.author, document.topic, document.work, corpus)
        for label, value in zip(LABELS, values, strict=True):
            names = self._names[label]
            known = value or label in ("author", "corpus")
            index = names.setdefault(value, len(names)) if known else UNKNOWN_LABEL
            self._indices[label].append(index)

    def labels(self) -> Labels:
        """The labels of all documents so far."""
        names = {f"{label}_names": list(self._names[label]) for label in LABELS}
        indices = {label: np.array(self._indices[label], dtype=np.int32) for label in LABELS}
        return Labels(**names, **indices)  # type: ignore[arg-type]
