"""The whole chain as one object: texts to LEVs to a log Bayes factor to what it means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import adhominem
from adhominem.cautions import Caution, cautions_of
from adhominem.encoders.runtime import Runtime
from adhominem.errors import EmptyTextError, MissingExtraError, OptionError
from adhominem.models.calibration import read_calibration
from adhominem.models.folder import Model, model_hash, read_models
from adhominem.models.reference import Reference, read_reference
from adhominem.scoring.calibration import Calibration
from adhominem.scoring.decision import Decision, decide
from adhominem.scoring.distance import squared_distance
from adhominem.scoring.probability import ensemble_log_bayes_factor, probability_same_author
from adhominem.scoring.verbal import VerbalScale
from adhominem.text.document import Document
from adhominem.text.exhibits import Exhibit
from adhominem.text.normalisation import Normaliser
from adhominem.text.pan import Pair
from adhominem.text.prefix import prefix_tokens
from adhominem.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from adhominem.encoders.device import DeviceRuntime

FloatArray = npt.NDArray[np.float64]
Text = str | Document | Exhibit
SideTexts = Text | Sequence[Text]  # one text, or several by one author

_DOCUMENTS_AT_ONCE = 500  # tokenized and encoded together


@dataclass(frozen=True)
class Material:
    """A text that was compared."""

    name: str
    tokens: int
    sha256: str


@dataclass(frozen=True)
class Side:
    """All texts of one side, by one author."""

    documents: tuple[Material, ...]
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Verification:
    """How strong the evidence is that one person wrote both sides, and what to beware of."""

    log_bayes_factor: float  # in nats
    log10_bayes_factor: float
    verbal: str
    probability_same_author: float  # with the prior below, and no other
    prior_same_author: float
    decision: str
    reason: str
    warnings: tuple[Caution, ...]
    model: str
    model_sha256: str  # of all that the number depends on
    version: str  # of AdHominem
    first: Side
    second: Side

    def to_json(self) -> dict[str, Any]:
        """As plain lists, numbers and strings."""
        return asdict(self)


class Verifier:
    """A model, or an ensemble of several, ready to compare texts.

    >>> verifier = load("model")
    >>> verifier.verify("It was a dark night ...", ["Call me ...", "Dear sir ..."]).verbal
    >>> levs = verifier.encode(["It was a dark night ...", "Call me ..."])   # (2, lev_size)
    >>> verifier.score(levs[:1], levs[1:])                                   # (1,), in nats
    """

    def __init__(
        self,
        models: Sequence[Model],
        calibration: Calibration | None = None,
        *,
        name: str = "",
        sha256: str = "",
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        if not models:
            raise OptionError("a verifier without a model; expected at least one")
        self.name, self.sha256 = name, sha256
        self.calibration = calibration
        tokenizers: dict[Normaliser, Tokenizer] = {}  # members mostly share one
        self._members = [
            _Member(
                model,
                tokenizers.setdefault(
                    model.config.data.normaliser, Tokenizer(model.config.data.normaliser)
                ),
                _runtime(model, threads, device),
            )
            for model in models
        ]

    @property
    def lev_size(self) -> int:
        """The size of a LEV; that of an ensemble is its members' LEVs in a row."""
        return sum(member.lev_size for member in self._members)

    def verify(
        self,
        first: SideTexts,
        second: SideTexts,
        *,
        prior_same_author: float = 0.5,
        delta: float = 0.125,
        scale: VerbalScale | None = None,
    ) -> Verification:
        """Compare two sides, each a text or several by one author.

        `prior_same_author` is yours to state: the texts do not give it. Within 0.5 ± `delta` the
        probability is too close to call. Several texts of a side are weighed together by the
        two-covariance model, not joined and not averaged.
        """
        scale = scale or VerbalScale()
        sides = [_exhibits(first, "first"), _exhibits(second, "second")]
        levs = [self.encode([exhibit.document for exhibit in side]) for side in sides]
        raw = self.raw_score_sets(*levs)
        factor = raw if self.calibration is None else float(self.calibration(raw))
        log10 = factor / float(np.log(10))
        probability = float(probability_same_author(factor, prior_same_author))
        lead = self._members[0]
        tokens = [_tokens([exhibit.document for exhibit in side], lead.tokenizer) for side in sides]
        cautions = cautions_of(
            sides,
            tokens,
            vocabulary=lead.vocabulary,
            strangeness=[lead.strangeness(part[0]) for part in map(self._split, levs)],
            reference=lead.reference,
            calibrated=self.calibration is not None,
            at_bound=self.calibration is not None and self.calibration.at_bound(raw),
            knows_topics=lead.knows_topics,
        )
        obstacles = tuple(each.message for each in cautions if each.decides)
        decided = decide(probability, delta, obstacles)
        reason = decided.reason
        if self.calibration is None and decided.decision is not Decision.UNDECIDED:
            reason += ", by a model that is not calibrated"
        return Verification(
            log_bayes_factor=factor,
            log10_bayes_factor=log10,
            verbal=f"No statement is made: {reason}." if obstacles else scale.sentence(log10),
            probability_same_author=probability,
            prior_same_author=prior_same_author,
            decision=decided.decision.value,
            reason=reason,
            warnings=tuple(cautions),
            model=self.name,
            model_sha256=self.sha256,
            version=adhominem.__version__,
            first=_side(sides[0], tokens[0]),
            second=_side(sides[1], tokens[1]),
        )

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
            tokenizers = {member.tokenizer for member in self._members}
            tokens = {tokenizer: _tokens(some, tokenizer) for tokenizer in tokenizers}
            levs = [member.encode(some, tokens[member.tokenizer]) for member in self._members]
            parts.append(np.concatenate(levs, axis=1))
            on_documents(len(some))
        return np.concatenate(parts)

    def encode_pairs(
        self, pairs: Sequence[Pair], *, on_documents: Callable[[int], None] = lambda count: None
    ) -> tuple[FloatArray, FloatArray]:
        """Twice (pairs, lev_size): the LEVs of the first and of the second documents."""
        documents = [document for pair in pairs for document in (pair.first, pair.second)]
        levs = self.encode(documents, on_documents=on_documents)
        return levs[0::2], levs[1::2]

    def raw_score(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of LEVs, not calibrated."""
        parts = zip(self._members, self._split(first), self._split(second), strict=True)
        return ensemble_log_bayes_factor([member.score(one, other) for member, one, other in parts])

    def score(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of LEVs, calibrated if the model is."""
        found = self.raw_score(first, second)
        return found if self.calibration is None else self.calibration(found)

    def raw_score_sets(self, first: FloatArray, second: FloatArray) -> float:
        """The log Bayes factor of two sets of LEVs, one author a set, not calibrated."""
        parts = zip(self._members, self._split(first), self._split(second), strict=True)
        scores = [member.score_sets(one, other) for member, one, other in parts]
        return float(ensemble_log_bayes_factor(scores)[0])

    def score_sets(self, first: FloatArray, second: FloatArray) -> float:
        """The log Bayes factor of two sets of LEVs, calibrated if the model is."""
        found = self.raw_score_sets(first, second)
        return found if self.calibration is None else float(self.calibration(found))

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(pairs,): the paper's squared distance of LEVs, of an ensemble the members' mean."""
        return squared_distance(first, second) / len(self._members)

    def _split(self, levs: FloatArray) -> list[FloatArray]:
        """Each member's part of the LEVs."""
        sizes = [member.lev_size for member in self._members]
        return np.split(levs, np.cumsum(sizes)[:-1], axis=1)


class _Member:
    """One model: its tokenizer, its network, its two-covariance model."""

    def __init__(
        self, model: Model, tokenizer: Tokenizer, runtime: Runtime | DeviceRuntime
    ) -> None:
        self.tokenizer = tokenizer
        self.lev_size = model.config.encoder.lev_size
        self.vocabulary = model.vocabulary
        self.reference: Reference | None = read_reference(model.folder)
        self.knows_topics = model.config.data.knows_topics
        self._runtime = runtime
        self._two_covariance = model.two_covariance()
        self._project = model.project

    def encode(self, documents: Sequence[Document], tokens: Sequence[list[str]]) -> FloatArray:
        topics = [
            prefix_tokens(document.topic, self.tokenizer) if self.knows_topics else []
            for document in documents
        ]
        return self._runtime.encode(tokens, topics).astype(np.float64)

    def score(self, first: FloatArray, second: FloatArray) -> FloatArray:
        return self._two_covariance.log_bayes_factor(self._project(first), self._project(second))

    def score_sets(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """(1,): of all documents of one side, and all of the other."""
        return self._two_covariance.log_bayes_factor(
            [self._project(first)], [self._project(second)]
        )

    def strangeness(self, levs: FloatArray) -> FloatArray:
        """(documents,): above 1 is unlike the training texts."""
        return np.zeros(len(levs)) if self.reference is None else self.reference.strangeness(levs)


def load(model: str | Path, *, threads: int = 1, device: str = "cpu") -> Verifier:
    """The verifier of a model folder; on a `device` other than the CPU it needs torch."""
    folder = Path(model)
    return Verifier(
        read_models(folder),
        read_calibration(folder),
        name=folder.resolve().name,
        sha256=model_hash(folder),
        threads=threads,
        device=device,
    )


def _runtime(model: Model, threads: int, device: str) -> Runtime | DeviceRuntime:
    """The network on the CPU, in NumPy; elsewhere, by torch."""
    data = model.config.data
    if device == "cpu":
        return Runtime(model.network_weights(), model.vocabulary, data.windows, threads)
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "train", f"the device '{device}'") from None
    from adhominem.encoders.device import DeviceRuntime

    if device.partition(":")[0] != "cuda" or not torch.cuda.is_available():
        raise OptionError(
            f"the device is '{device}', but torch finds no such GPU; expected cpu or cuda"
        )
    return DeviceRuntime(
        model.network_weights(),
        model.vocabulary,
        data.windows,
        model.config.encoder,
        torch.device(device),
    )


def _document(each: str | Document) -> Document:
    return each if isinstance(each, Document) else Document(text=each)


def _tokens(documents: Sequence[Document], tokenizer: Tokenizer) -> list[list[str]]:
    tokens = [tokenizer.tokens(document.text) for document in documents]
    for document, found in zip(documents, tokens, strict=True):
        if not found:
            raise EmptyTextError(f"the text '{document.id}' has no word in it")
    return tokens


def _side(exhibits: Sequence[Exhibit], tokens: Sequence[list[str]]) -> Side:
    documents = tuple(
        Material(exhibit.document.id, len(found), exhibit.sha256)
        for exhibit, found in zip(exhibits, tokens, strict=True)
    )
    return Side(documents, sum(document.tokens for document in documents))


def _exhibits(texts: SideTexts, name: str) -> list[Exhibit]:
    several = [texts] if isinstance(texts, str | Document | Exhibit) else list(texts)
    if not several:
        raise OptionError(f"there is no {name} text; expected at least one")
    if len(several) == 1:
        return [Exhibit.of(several[0], name)]
    return [Exhibit.of(each, f"{name}-{number}") for number, each in enumerate(several, start=1)]
