"""The whole chain as one object: texts to LEVs to a log Bayes factor to what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import adhominem
from adhominem.cautions import cautions_of
from adhominem.errors import EmptyTextError, InputError, ModelError, OptionError
from adhominem.models.calibration import Scales, read_scales
from adhominem.models.files import ModelFiles
from adhominem.models.folder import AnyModel, model_hash, read_models
from adhominem.models.kinds import read_kinds
from adhominem.models.member import Member
from adhominem.models.shipped import DEFAULT_MODEL, model_folder
from adhominem.scoring.calibration import Calibration
from adhominem.scoring.companions import FEWEST, MOST, Companions, hearing
from adhominem.scoring.decision import Decision, decide
from adhominem.scoring.distance import squared_distance
from adhominem.scoring.fusion import Scores
from adhominem.scoring.population import Population, each_once, without_companions
from adhominem.scoring.probability import probability_same_author
from adhominem.scoring.styles import Centre
from adhominem.scoring.verbal import VerbalScale
from adhominem.text.document import Document
from adhominem.text.exhibits import Exhibit
from adhominem.text.normalisation import Normaliser
from adhominem.text.pan import Pair
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.windows import WindowOptions, spread_starts
from adhominem.verification import Likeness, Material, PopulationUse, Side, Verification

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Levs = npt.NDArray[np.float32]
Text = str | Document | Exhibit
SideTexts = Text | Sequence[Text]  # one text, or several by one author

_DOCUMENTS_AT_ONCE = 500  # tokenized and encoded together
_LARGEST = 1e30  # no LEV and no score comes near; numbers much larger would end as infinite
_PAIRS_AT_ONCE = 256  # scored together: a LEV may have many thousand numbers


class Verifier:
    """A model, or an ensemble of several, ready to compare texts.

    >>> verifier = load("model")
    >>> verifier.verify("It was a dark night ...", ["Call me ...", "Dear sir ..."]).verbal
    >>> levs = verifier.encode(["It was a dark night ...", "Call me ..."])   # (2, lev_size)
    >>> verifier.score(levs[:1], levs[1:])                                   # (1,), in nats
    """

    def __init__(
        self,
        models: Sequence[AnyModel],
        scales: Scales | None = None,
        *,
        name: str = "",
        sha256: str = "",
        kind_names: Mapping[str, str] | None = None,
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        if not models:
            raise OptionError("a verifier without a model; expected at least one")
        self.name, self.sha256 = name, sha256
        self.kind_names = dict(kind_names or {})
        self.scales = scales or Scales()
        tokenizers: dict[Normaliser, Tokenizer] = {}  # members mostly share one
        self.members: list[Member] = []
        for model in models:
            normaliser = model.config.normaliser
            if normaliser not in tokenizers:
                tokenizers[normaliser] = Tokenizer(normaliser)
            self.members.append(Member(model, tokenizers[normaliser], threads, device))
        self.scales.check(name, len(models), 0 if self.members[0].styles is None else 1)

    @property
    def calibration(self) -> Calibration | None:
        """That of scores without a population."""
        return self.scales.alone.calibration

    @property
    def member_names(self) -> list[str]:
        """The names of the members' folders; of a single model, its own."""
        return [member.name for member in self.members]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of text that the model was trained on, if it knows of any."""
        styles = self.members[0].styles
        return () if styles is None else styles.kinds

    @property
    def lev_size(self) -> int:
        """The size of a LEV; that of an ensemble is its members' LEVs in a row."""
        return sum(member.lev_size for member in self.members)

    def verify(
        self,
        first: SideTexts,
        second: SideTexts,
        *,
        population: Population | None = None,
        prior_same_author: float = 0.5,
        delta: float = 0.125,
        scale: VerbalScale | None = None,
    ) -> Verification:
        """Compare two sides, each a text or several by one author.

        `prior_same_author` is yours to state: the texts do not give it. Within 0.5 ± `delta` the
        probability is too close to call. Several texts of a side are weighed together by the
        two-covariance model, not joined and not averaged. A `population` is made of texts of the
        same kind as those compared: see `population`. Companions in it are not drawn on.
        """
        population = without_companions(population)
        scale = scale or VerbalScale()
        sides = [exhibits_of(first, "first"), exhibits_of(second, "second")]
        levs = [self.encode([exhibit.document for exhibit in side]) for side in sides]
        calibration = self.scales.of(population).calibration
        raw = self.raw_score_sets(levs[0], levs[1], population)
        factor = raw if calibration is None else float(calibration(raw))
        log10 = factor / float(np.log(10))
        probability = float(probability_same_author(factor, prior_same_author))
        lead = self.members[0]
        tokens = [_tokens([exhibit.document for exhibit in side], lead.tokenizer) for side in sides]
        cautions = cautions_of(
            sides,
            tokens,
            vocabulary=lead.vocabulary,
            strangeness=[lead.strangeness(side) for side in self._split(levs)[0]],
            reference=lead.reference,
            calibrated=calibration is not None,
            at_bound=calibration is not None and calibration.at_bound(raw),
            knows_topics=lead.knows_topics,
            guessed_kind=lead.styles is not None and population is None,
            population=population,
            farther=self._farther(levs, population),
        )
        obstacles = tuple(each.message for each in cautions if each.decides)
        decided = decide(probability, delta, obstacles)
        reason = decided.reason
        if prior_same_author != 0.5 and not obstacles:
            reason += f", with the prior {prior_same_author:g}"
        if calibration is None and decided.decision is not Decision.UNDECIDED:
            reason += ", by a model that is not calibrated"
        return Verification(
            log_bayes_factor=factor,
            log10_bayes_factor=log10,
            verbal=f"No statement is made: {reason}." if obstacles else scale.sentence(log10),
            probability_same_author=probability,
            prior_same_author=prior_same_author,
            decision=decided.decision.value,
            reason=reason,
            population=None if population is None else self._population_use(population, levs),
            likeness=self._likeness(levs),
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
    ) -> Levs:
        """(documents, lev_size): the LEVs of texts, each a string or a Document with its topic.

        A text that is there several times is encoded once.
        """
        parts = [np.zeros((0, self.lev_size), dtype=np.float32)]
        distinct: list[Document] = []
        numbers: dict[tuple[str, str], int] = {}  # of the distinct texts
        rows = []
        for each in map(_document, documents):
            rows.append(numbers.setdefault((each.text, each.topic), len(distinct)))
            if rows[-1] == len(distinct):
                distinct.append(each)
        for at in range(0, len(distinct), _DOCUMENTS_AT_ONCE):
            some = distinct[at : at + _DOCUMENTS_AT_ONCE]
            tokenizers = {member.tokenizer for member in self.members}
            tokens = {tokenizer: _tokens(some, tokenizer) for tokenizer in tokenizers}
            levs = [member.encode(some, tokens[member.tokenizer]) for member in self.members]
            parts.append(np.concatenate(levs, axis=1))
            self._check_numbers(parts[-1], "LEVs")
            on_documents(len(some))
        found = np.concatenate(parts)
        if len(distinct) == len(documents):
            return found
        on_documents(len(documents) - len(distinct))
        return np.asarray(found[rows])

    def encode_pairs(
        self, pairs: Sequence[Pair], *, on_documents: Callable[[int], None] = lambda count: None
    ) -> tuple[Levs, Levs]:
        """Twice (pairs, lev_size): the LEVs of the first and of the second documents."""
        documents = [document for pair in pairs for document in (pair.first, pair.second)]
        levs = self.encode(documents, on_documents=on_documents)
        return levs[0::2], levs[1::2]

    def passages(self, tokens: int) -> IntArray:
        """(passages,): the tokens at which the passages of a document of so many tokens begin.

        A passage is what a window adds to those before it. The windows are those of the first
        network among the members.
        """
        networks = [member.windows for member in self.members if member.windows is not None]
        return spread_starts(tokens, networks[0] if networks else WindowOptions())

    def vary(self, document: Document, starts: IntArray, times: IntArray) -> Levs:
        """(variants, lev_size): the LEVs of a document with some passages left out or repeated.

        `times` (variants, passages) says how often each passage is there. All ones is the
        document itself.
        """
        parts = [
            member.vary(document, member.tokenizer.tokens(document.text), starts, times)
            for member in self.members
        ]
        return np.concatenate(parts, axis=1)

    def population(
        self,
        documents: Sequence[str | Document],
        *,
        companions: bool = False,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Population:
        """The relevant population: texts of the kind that is to be compared, by anybody.

        Better many (50 or more), and none of the texts that are compared; but where these are many
        themselves, they can be their own population. `companions` are for that case alone: see
        `population_of`.
        """
        levs = self.encode(documents, on_documents=on_documents)
        texts = [_document(each).text for each in documents]
        return self.population_of(levs, texts, companions=companions)

    def population_of(
        self, levs: Levs, texts: Sequence[str] = (), *, companions: bool = False
    ) -> Population:
        """The relevant population of texts with these LEVs (documents, lev_size).

        With `companions`, texts that are compared draw on those of this population that look to be
        by the same author (`scoring.companions`). That is for texts that are compared with each
        other, of which authors have written several; a population of others has no companions.
        Nor have very few texts, more than can be looked through, or a model that was not
        calibrated for them.
        """
        levs = each_once(levs)
        population = Population.of(levs, texts)
        lead = self.members[0]
        if lead.styles is not None:
            kinds = lead.styles.shares(self._columns(levs)[0].astype(np.float64))
            population = replace(population, kinds=kinds)
        if companions and self.scales.companions is not None:
            return self.with_companions(population, levs)
        return population

    def with_companions(self, population: Population, levs: Levs) -> Population:
        """The same, and what its texts (documents, lev_size) tell of each other, if they can."""
        if not FEWEST <= population.texts <= MOST:
            return population
        texts = each_once(levs)
        styles: list[Levs] = []
        for at in range(0, len(texts), _PAIRS_AT_ONCE):  # in double precision they take memory
            some = self._styles(texts[at : at + _PAIRS_AT_ONCE], population)
            styles = styles or [np.empty((len(texts), own.shape[1]), np.float32) for own in some]
            for table, own in zip(styles, some, strict=True):
                table[at : at + len(own)] = own
        return replace(population, companions=Companions(styles))

    def scores(
        self,
        first: Sequence[Levs] | Levs,
        second: Sequence[Levs] | Levs,
        population: Population | None = None,
        *,
        unknown_kind: str = "",
        unknown_nearest: int = 0,
    ) -> Scores:
        """What each member says by itself of pairs of LEVs, or of pairs of sets of LEVs.

        `unknown_kind` is a kind of text that the model shall not know of, nor of so many most
        like it: how sure may it be then?
        """
        if len(first) != len(second):
            raise OptionError(f"{len(first)} first sides, {len(second)} second ones")
        if unknown_kind and population is not None and population.companions is not None:
            raise OptionError("unknown_kind is for scores without companions")
        parts = [
            self._scores(
                first[at : at + _PAIRS_AT_ONCE],
                second[at : at + _PAIRS_AT_ONCE],
                population,
                (unknown_kind, unknown_nearest),
            )
            for at in range(0, len(first), _PAIRS_AT_ONCE)
        ]
        contexts = 0 if self.members[0].styles is None else 1
        none = Scores(np.zeros((len(self.members), 0)), np.zeros((contexts, 0)))
        return Scores.joined([none, *parts])

    def _scores(
        self,
        first: Sequence[Levs] | Levs,
        second: Sequence[Levs] | Levs,
        population: Population | None,
        unknown: tuple[str, int],
    ) -> Scores:
        """Those of some pairs at once."""
        centres = self.centres(population)
        lead = self.members[0]
        if population is not None and population.companions is not None:
            members = self._compare_with_companions(first, second, population)
            return Scores(members, np.zeros((0 if lead.styles is None else 1, len(first))))
        tables = _one_text_each(first, second)
        sides: list[list[Any]] = (
            [self._split(side) for side in (first, second)]
            if tables is None
            else [self._columns(table) for table in tables]
        )
        said = [
            member.score(one, other, centre, unknown)
            for member, one, other, centre in zip(self.members, *sides, centres, strict=True)
        ]
        context = lead.context(sides[0][0], sides[1][0], centres[0], unknown)
        for values in (np.array(said), context):
            self._check_numbers(values, "scores")
        return Scores(np.array(said), context)

    def _check_numbers(self, values: npt.NDArray[np.floating[Any]], name: str) -> None:
        """Weights may all be numbers, and what is computed with them may not."""
        if values.size and not -_LARGEST < values.min() <= values.max() < _LARGEST:
            raise ModelError(
                f"the model {self.name} gives {name} that are no numbers, or beyond all bounds: it "
                "is damaged; fetch or train it again"
            )

    def raw_score(
        self, first: Levs, second: Levs, population: Population | None = None
    ) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of LEVs, not calibrated."""
        return self.scales.of(population).raw(self._scores_of_pairs(first, second, population))

    def score(self, first: Levs, second: Levs, population: Population | None = None) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of LEVs, calibrated if the model is."""
        return self.scales.of(population)(self._scores_of_pairs(first, second, population))

    def raw_score_sets(
        self, first: Levs, second: Levs, population: Population | None = None
    ) -> float:
        """The log Bayes factor of two sets of LEVs, one author a set, not calibrated."""
        scores = self.scores([first], [second], population)
        return float(self.scales.of(population).raw(scores)[0])

    def score_sets(self, first: Levs, second: Levs, population: Population | None = None) -> float:
        """The log Bayes factor of two sets of LEVs, calibrated if the model is."""
        scores = self.scores([first], [second], population)
        return float(self.scales.of(population)(scores)[0])

    def _scores_of_pairs(self, first: Levs, second: Levs, population: Population | None) -> Scores:
        if first.shape != second.shape:
            raise OptionError(f"{first.shape} first LEVs, {second.shape} second ones")
        return self.scores(first, second, population)

    def centres(self, population: Population | None) -> Sequence[Centre | None]:
        """Each member's part of a population's mean."""
        return [None] * len(self.members) if population is None else self._centres(population)

    def _centres(self, population: Population) -> list[Centre]:
        if len(population.lev_mean) != self.lev_size:
            raise OptionError("the population was encoded by another model")
        means = self._columns(population.lev_mean[None])
        return [(mean[0], population.texts) for mean in means]

    def _styles(self, levs: Levs, population: Population) -> list[FloatArray]:
        """For each member: how texts with these LEVs (documents, lev_size) depart from others."""
        if not np.isfinite(levs).all():
            raise OptionError("a LEV is not finite")
        return [
            member.style(own.astype(np.float64), centre)
            for member, own, centre in zip(
                self.members, self._columns(levs), self._centres(population), strict=True
            )
        ]

    def _compare_with_companions(
        self, first: Sequence[Levs] | Levs, second: Sequence[Levs] | Levs, population: Population
    ) -> FloatArray:
        """(members, pairs): what each member says of sides that draw on their companions."""
        companions = population.companions
        assert companions is not None
        sides = [np.atleast_2d(side) for pair in zip(first, second, strict=True) for side in pair]
        sizes = [len(side) for side in sides]
        if min(sizes) == 0:
            raise OptionError("a side without documents; expected at least one")
        styles = self._styles(np.concatenate(sides), population)
        usual = self.scales.usual_clearness or companions.clearness
        heard = hearing(companions.clearness, usual)  # (members,)
        return companions.compare(styles, np.repeat(np.arange(len(sides)), sizes)) * heard[:, None]

    def _population_use(self, population: Population, levs: Sequence[Levs]) -> PopulationUse:
        without = self.score_sets(levs[0], levs[1])
        return PopulationUse(population.texts, without / float(np.log(10)))

    def _farther(self, levs: Sequence[Levs], population: Population | None) -> float:
        """How much farther the texts are from the population than from kinds of training text.

        A ratio; about 1 for a population of a known kind, below it for one of an unknown kind.
        """
        lead = self.members[0]
        if population is None or lead.styles is None:
            return 0.0
        parts = np.concatenate(self._split(levs)[0])
        mean, centre = parts.mean(axis=0), self.centres(population)[0]
        assert centre is not None
        guess = lead.styles.guess(parts) @ lead.styles.centres
        own = float(np.linalg.norm(mean - guess))
        return float(np.linalg.norm(mean - centre[0])) / max(own, 1e-300)

    def _likeness(self, levs: Sequence[Levs]) -> Likeness | None:
        lead = self.members[0]
        parts = np.concatenate(self._split(levs)[0])
        if lead.styles is None or lead.reference is None:
            return None
        shares = lead.styles.guess(parts)
        order = np.argsort(-shares, kind="stable")
        return Likeness(
            {lead.styles.kinds[at]: round(float(shares[at]), 3) for at in order},
            float(lead.strangeness(parts).max()),
            self.kind_names,
        )

    def distance(self, first: Levs, second: Levs) -> FloatArray:
        """(pairs,): the paper's squared distance of LEVs, of an ensemble the members' mean."""
        return squared_distance(first, second) / len(self.members)

    def _columns(self, levs: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """For each member its columns of LEVs (documents, lev_size)."""
        if levs.ndim != 2 or levs.shape[1] != self.lev_size:
            raise OptionError(f"LEVs of shape {levs.shape}; expected (pairs, {self.lev_size})")
        ends = np.cumsum([member.lev_size for member in self.members])[:-1]
        return np.split(levs, ends, axis=1)

    def _split(
        self, sides: Sequence[npt.NDArray[np.floating[Any]]] | npt.NDArray[np.floating[Any]]
    ) -> list[list[FloatArray]]:
        """For each member its part of the LEVs (documents, lev_size) of each side."""
        parts = [self._columns(np.atleast_2d(side)) for side in sides]
        if not parts:
            return [[] for _ in self.members]
        return [[own.astype(np.float64) for own in member] for member in zip(*parts, strict=True)]


def load(model: str | Path = DEFAULT_MODEL, *, threads: int = 1, device: str = "cpu") -> Verifier:
    """The verifier of a shipped model, by its name, or of a model folder.

    On a `device` other than the CPU it needs torch.
    """
    files = ModelFiles(model_folder(model))
    return Verifier(
        read_models(files),
        read_scales(files),
        name=files.folder.resolve().name,
        sha256=model_hash(files),
        kind_names=read_kinds(files),
        threads=threads,
        device=device,
    )


def _one_text_each(
    first: Sequence[Levs] | Levs, second: Sequence[Levs] | Levs
) -> tuple[Levs, Levs] | None:
    """Twice (pairs, lev_size), if each side of each pair has one text."""
    tables = []
    for side in (first, second):
        if not isinstance(side, np.ndarray) or side.ndim == 3:
            if not all(len(np.atleast_2d(levs)) == 1 for levs in side):
                return None
            side = np.concatenate([np.atleast_2d(levs) for levs in side])
        tables.append(side)
    return tables[0], tables[1]


def _document(each: str | Document) -> Document:
    return each if isinstance(each, Document) else Document(text=each)


def _tokens(documents: Sequence[Document], tokenizer: Tokenizer) -> list[list[str]]:
    tokens = []
    for document in documents:
        try:
            tokens.append(tokenizer.tokens(document.text))
        except InputError as error:
            raise error.at(document.id) from None
        if not tokens[-1]:
            raise EmptyTextError("the text has no word in it", document.id)
    return tokens


def _side(exhibits: Sequence[Exhibit], tokens: Sequence[list[str]]) -> Side:
    documents = tuple(
        Material(exhibit.document.id, len(found), exhibit.sha256)
        for exhibit, found in zip(exhibits, tokens, strict=True)
    )
    return Side(documents, sum(document.tokens for document in documents))


def exhibits_of(texts: SideTexts, name: str) -> list[Exhibit]:
    several = [texts] if isinstance(texts, str | Document | Exhibit) else list(texts)
    if not several:
        raise OptionError(f"there is no {name} text; expected at least one")
    if len(several) == 1:
        return [Exhibit.of(several[0], name)]
    return [Exhibit.of(each, f"{name}-{number}") for number, each in enumerate(several, start=1)]
