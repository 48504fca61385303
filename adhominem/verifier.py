"""The whole chain as one object: texts to LEVs to a log Bayes factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adhominem.encoders.runtime import Runtime
from adhominem.errors import EmptyTextError, OptionError
from adhominem.models.calibration import read_calibration
from adhominem.models.folder import Model, read_models
from adhominem.scoring.calibration import Calibration
from adhominem.scoring.probability import ensemble_log_bayes_factor
from adhominem.text.document import Document
from adhominem.text.pan import Pair
from adhominem.text.prefix import prefix_tokens
from adhominem.text.tokenizer import Tokenizer

FloatArray = npt.NDArray[np.float64]

_DOCUMENTS_AT_ONCE = 500  # tokenized and encoded together


class Verifier:
    """A model, or an ensemble of several, ready to compare texts.

    >>> verifier = load("model")
    >>> levs = verifier.encode(["It was a dark night ...", "Call me ..."])   # (2, lev_size)
    >>> verifier.score(levs[:1], levs[1:])                                   # (1,), in nats
    """

    def __init__(
        self,
        models: Sequence[Model],
        calibration: Calibration | None = None,
        *,
        name: str = "",
        threads: int = 1,
    ) -> None:
        if not models:
            raise OptionError("a verifier without a model; expected at least one")
        self.name = name
        self.calibration = calibration
        self._members = [_Member(model, threads) for model in models]

    @property
    def lev_size(self) -> int:
        """The size of a LEV; that of an ensemble is its members' LEVs in a row."""
        return sum(member.lev_size for member in self._members)

    def encode(
        self,
        documents: Sequence[str | Document],
        *,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> FloatArray:
        """(documents, lev_size): the LEVs of texts, each a string or a Document with its topic."""
        parts = [np.zeros((0, self.lev_size))]
        for at in range(0, len(documents), _DOCUMENTS_AT_ONCE):
            some = [_document(each) for each in documents[at : at + _DOCUMENTS_AT_ONCE]]
            parts.append(np.concatenate([member.encode(some) for member in self._members], axis=1))
            on_documents(len(some))
        return np.concatenate(parts)

    def raw_score(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of LEVs, not calibrated."""
        return ensemble_log_bayes_factor(
            [
                member.score(one, other)
                for member, one, other in zip(
                    self._members, self._split(first), self._split(second), strict=True
                )
            ]
        )

    def score(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of LEVs, calibrated if the model is."""
        found = self.raw_score(first, second)
        return found if self.calibration is None else self.calibration(found)

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(pairs,): the paper's squared distance of LEVs, of an ensemble the members' mean."""
        return np.asarray(np.square(first - second).sum(1) / len(self._members))

    def encode_pairs(
        self, pairs: Sequence[Pair], *, on_documents: Callable[[int], None] = lambda count: None
    ) -> tuple[FloatArray, FloatArray]:
        """Twice (pairs, lev_size): the LEVs of the first and of the second documents."""
        documents = [document for pair in pairs for document in (pair.first, pair.second)]
        levs = self.encode(documents, on_documents=on_documents)
        return levs[0::2], levs[1::2]

    def _split(self, levs: FloatArray) -> list[FloatArray]:
        """Each member's part of the LEVs."""
        sizes = [member.lev_size for member in self._members]
        return np.split(levs, np.cumsum(sizes)[:-1], axis=1)


class _Member:
    """One model: its tokenizer, its graph, its two-covariance model."""

    def __init__(self, model: Model, threads: int) -> None:
        data = model.config.data
        self.lev_size = model.config.encoder.lev_size
        self._tokenizer = Tokenizer(data.normaliser)
        self._knows_topics = data.knows_topics
        prefix = "network."
        self._runtime = Runtime(
            {
                name.removeprefix(prefix): value
                for name, value in model.weights.items()
                if name.startswith(prefix)
            },
            model.vocabulary,
            data.windows,
            threads,
        )
        self._two_covariance = model.two_covariance()
        self._project = model.project

    def encode(self, documents: Sequence[Document]) -> FloatArray:
        tokens = [self._tokenizer.tokens(document.text) for document in documents]
        for document, found in zip(documents, tokens, strict=True):
            if not found:
                raise EmptyTextError(f"the text '{document.id}' has no word in it")
        topics = [
            prefix_tokens(document.topic, self._tokenizer) if self._knows_topics else []
            for document in documents
        ]
        return self._runtime.encode(tokens, topics).astype(np.float64)

    def score(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return self._two_covariance.log_bayes_factor(self._project(first), self._project(second))


def load(model: str | Path, *, threads: int = 1) -> Verifier:
    """The verifier of a model folder."""
    folder = Path(model)
    return Verifier(
        read_models(folder), read_calibration(folder), name=folder.name, threads=threads
    )


def _document(each: str | Document) -> Document:
    return each if isinstance(each, Document) else Document(text=each)
