"""The whole chain as one object: from texts to LEVs to a log Bayes factor and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from adhominem.arrays import AnyLevs, BoolArray, FloatArray, Levs
from adhominem.errors import OptionError
from adhominem.model.calibration import (
    CalibrationEvidence,
    MisleadingRates,
    Validation,
    read_evidence,
    read_validation,
)
from adhominem.model.files import ModelFiles, damaged
from adhominem.model.folder import DEFAULT_MODEL, model_folder, read_folder
from adhominem.model.layout import MACHINE
from adhominem.model.member import Member, make_members
from adhominem.pairs.passages import Hashes, TakenOut, without_recurring, without_shared
from adhominem.paper.two_covariance import squared_distance
from adhominem.score.calibration import Calibration
from adhominem.score.decision import VerbalScale
from adhominem.score.genres import Group
from adhominem.score.population import Population, distinct_levs
from adhominem.score.products import Sides
from adhominem.score.prose import Departure, MachineLook, Prose
from adhominem.score.scorer import Scorer
from adhominem.text.exhibits import Exhibit, SideTexts, exhibits_of
from adhominem.text.files import Document
from adhominem.text.language import languages_in, main_language
from adhominem.text.pan import Pair
from adhominem.verify.cautions import (
    Caution,
    ExaminedText,
    is_other_language,
    wrong_language,
)
from adhominem.verify.encoding import EnsembleEncoder, as_documents
from adhominem.verify.verification import (
    ComparedSides,
    ComparedText,
    Likeness,
    Verification,
    guessed_genre,
    verification_of,
)


class Verifier(EnsembleEncoder):
    """A model, or an ensemble of several, ready to compare texts.

    >>> verifier = load("model")
    >>> verifier.verify("It was a dark night ...", ["Call me ...", "Dear sir ..."]).verbal
    >>> levs = verifier.encode(["It was a dark night ...", "Call me ..."])   # (2, lev_size)
    >>> verifier.score(levs[:1], levs[1:])                                   # (1,), in nats
    """

    def __init__(
        self,
        members: Sequence[Member],
        calibration: Calibration | None = None,
        *,
        lead: int = 0,
        name: str = "",
        sha256: str = "",
        folder: Path | None = None,
        genre_names: Mapping[str, str] | None = None,
        validation: Validation | None = None,
        evidence: tuple[CalibrationEvidence, CalibrationEvidence] | None = None,
        prose: Prose | None = None,
        machine_look: MachineLook | None = None,
        changed: bool = False,
        delta: float | None = None,
        known_languages: Sequence[str] = (),
    ) -> None:
        """Make a verifier from members, as `make_members` returns them.

        Genres and tokens are taken from the member `lead`. `folder` is where the model was read.
        `validation` are cases of
        known authors that the model was tested on, and `evidence` is what its calibration rests on,
        without and with a population. `prose` recognises running prose, `machine_look` text that a
        machine may have written. `changed` is whether the members have changed since they were
        calibrated. `delta` is that of the non-answers, found on dev. `known_languages` are the
        codes of the languages that the model was made for, if it says.
        """
        if not members:
            raise OptionError("a verifier without a model; expected at least one")
        super().__init__(members, lead, name)
        self.folder, self.sha256, self.prose = folder, sha256, prose
        self.machine_look, self.changed, self.delta = machine_look, changed, delta
        self.known_languages = tuple(known_languages)
        self.genre_names, self.validation = dict(genre_names or {}), validation
        self.evidence = evidence or (CalibrationEvidence(), CalibrationEvidence())
        scorers = tuple(member.scorer for member in self.members)
        self.scorer = Scorer.of(scorers, calibration, lead, name)

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the model; None if it is not calibrated."""
        return self.scorer.calibration

    @property
    def member_names(self) -> list[str]:
        """The names of the members' folders; for a single model, the name of its folder."""
        return [member.name for member in self.members]

    @property
    def genres(self) -> tuple[str, ...]:
        """The genres that the model knows, if any; it was trained on most of them."""
        return () if self.lead.genres is None else self.lead.genres.names

    @property
    def lev_size(self) -> int:
        """The size of a LEV: that of all members, plus one for the logarithm of its tokens."""
        return self.scorer.lev_size

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
        """The strength of the evidence that two sides, each one or several texts, share an author.

        `prior_same_author` must come from you: the texts do not contain it. Within 0.5 ± `delta`
        the probability is too close to call. Several texts of a side are combined by the
        three-level model, not concatenated. A `population` is made of texts of the same genre as
        those compared: see `population`.
        """
        comparison = self.compare(first, second, population)
        return self.judge(comparison, prior_same_author, delta, scale)

    def compare(
        self,
        first: SideTexts,
        second: SideTexts,
        population: Population | None = None,
        *,
        attention: bool = False,
    ) -> ComparedSides:
        """The comparison of two sides; with `attention`, it keeps the networks' attention.

        Each text is tokenized and encoded once. A text that a side has several times, under
        whatever names, counts once. Passages that both sides have, or that recur in the population,
        are removed.
        """
        return self.compare_all([(first, second)], population, attention=attention)[0]

    def compare_all(
        self,
        pairs: Sequence[tuple[SideTexts, SideTexts]],
        population: Population | None = None,
        *,
        attention: bool = False,
    ) -> list[ComparedSides]:
        """The comparisons of several pairs of sides, encoded and scored together: see `compare`."""
        cut = [self._cut(*pair, population) for pair in pairs]
        sides = [side for both, _ in cut for side in both]
        texts = [text for side in sides for text in side]
        documents, tokens = [text.document for text in texts], [text.tokens_by for text in texts]
        if attention:
            levs, attended = self.attend(documents, tokens)
            for text, outputs in zip(texts, attended, strict=True):
                text.attention = outputs
        else:
            levs = self.encode(documents, tokens=tokens)
        ends = np.cumsum(list(map(len, sides))).tolist()
        levs_of = [levs[end - len(side) : end] for side, end in zip(sides, ends, strict=True)]
        scored = self.scorer(levs_of[0::2], levs_of[1::2], population)
        return [
            ComparedSides(
                members=self.members,
                lead=self.lead,
                scorer=self.scorer,
                population=population,
                sides=both,
                levs=(levs_of[2 * at], levs_of[2 * at + 1]),
                scored=scored[at : at + 1],
                taken_out=taken_out,
            )
            for at, (both, taken_out) in enumerate(cut)
        ]

    def _cut(
        self, first: SideTexts, second: SideTexts, population: Population | None
    ) -> tuple[tuple[list[ComparedText], list[ComparedText]], TakenOut]:
        """The distinct texts of two sides, tokenized, and the passages removed from them before."""
        exhibits = exhibits_of(first, "first"), exhibits_of(second, "second")
        whole = [[exhibit.document for exhibit in side] for side in exhibits]
        cut, taken_out = without_shared(whole, None if population is None else population.recurring)
        sides: tuple[list[ComparedText], list[ComparedText]] = ([], [])
        for side, originals, documents in zip(sides, exhibits, cut, strict=True):
            distinct: dict[tuple[tuple[str, ...], ...], ComparedText] = {}
            for original, document in zip(originals, documents, strict=True):
                exhibit = replace(original, document=document)
                text = ComparedText(exhibit, self.kept.tokenize_all(self.tokenizers, document))
                words: tuple[tuple[str, ...], ...] = ()
                if len(originals) > 1:
                    words = tuple(tuple(tokens.tokens) for tokens in text.tokens_by.values())
                if distinct.setdefault(words, text) is not text:
                    distinct[words].copies.append(exhibit)
            side += distinct.values()
        return sides, taken_out

    def judge(
        self,
        comparison: ComparedSides,
        prior_same_author: float = 0.5,
        delta: float = 0.125,
        scale: VerbalScale | None = None,
    ) -> Verification:
        """The verification of a comparison, in numbers and in words: see `verify`."""
        return verification_of(self, comparison, prior_same_author, delta, scale)

    def examine(
        self,
        exhibits: Sequence[Exhibit],
        tokens: Sequence[Sequence[str]],
        levs: Levs,
        copies: Sequence[Sequence[Exhibit]] | None = None,
    ) -> list[ExaminedText]:
        """The texts, each examined by its tokens, LEV and characters.

        `copies` are, for each text, others of the same side with the same tokens.
        """
        machine_written = self.looks_machine_written(levs)
        departures = self.departures([exhibit.document for exhibit in exhibits], tokens)
        return [
            ExaminedText(
                exhibit=exhibit,
                tokens=words,
                copies=() if copies is None else copies[at],
                departure=departures[at],
                machine_written=bool(machine_written[at]),
            )
            for at, (exhibit, words) in enumerate(zip(exhibits, tokens, strict=True))
        ]

    def departures(
        self, documents: Sequence[Document], tokens: Sequence[Sequence[str]]
    ) -> Sequence[Departure | None]:
        """Each document's departure from prose; None for a model without a description of it."""
        if self.prose is None or not documents:
            return [None] * len(documents)
        return self.prose.departures([document.text for document in documents], tokens)

    def misleading(self, likeness: Likeness | None = None) -> list[MisleadingRates]:
        """The rates of misleading evidence without a population, in the guessed and unknown genres.

        If the guess is wrong, the result errs in the other direction.
        """
        if self.validation is None:
            return []
        both = [self.validation.misleading_rates(of) for of in (guessed_genre(likeness), "")]
        return [rates for rates in dict.fromkeys(both) if rates is not None]

    def encode_pairs(
        self, pairs: Sequence[Pair], *, on_documents: Callable[[int], None] = lambda count: None
    ) -> tuple[Levs, Levs]:
        """The LEVs (pairs, lev_size) of the first documents, and of the second documents."""
        cut = (without_shared([[pair.first], [pair.second]])[0] for pair in pairs)
        documents = [document for sides in cut for side in sides for document in side]
        levs = self.encode(documents, on_documents=on_documents)
        return levs[0::2], levs[1::2]

    def population(
        self,
        documents: Sequence[str | Document],
        *,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Population:
        """The relevant population: texts by anybody, of the genre that is to be compared.

        Preferably 50 texts or more, without those that are compared; but many texts that are
        compared with each other can be their own population.
        """
        texts, recurring = without_recurring(as_documents(documents))
        levs = self.encode(texts, on_documents=on_documents)
        return self.population_of(levs, texts, recurring)

    def population_of(
        self,
        levs: AnyLevs,
        texts: Sequence[str | Document] = (),
        recurring: Hashes | None = None,
    ) -> Population:
        """The relevant population of texts with these LEVs (documents, lev_size).

        `recurring` are the passages that were removed from them (`without_recurring`). Several
        texts that seem to be by one author say less about the genre than texts by several.
        """
        population = replace(
            Population.of(levs, texts),
            recurring=recurring,
            language=main_language(as_documents(texts)),
        )
        groups: tuple[Group, ...] = ()
        if self.lead.genres is not None:
            groups = self.lead.genres.groups(self.scorer.lead_columns(distinct_levs(levs)))
        authors = self.scorer.seeming_authors(population.cohort)
        share = authors / len(population.cohort)
        return replace(population, groups=groups, seeming_authors=share * population.texts)

    def score(
        self,
        first: Sides,
        second: Sides,
        population: Population | None = None,
    ) -> FloatArray:
        """The log Bayes factors (pairs,) of pairs of LEVs, or of sets of LEVs by one author each.

        They are calibrated if the model is. `scorer` returns them with further details.
        """
        return self.scorer(first, second, population).log_bayes_factor

    def no_statement_on(self, documents: Sequence[Document]) -> BoolArray:
        """Which documents (documents,) are not running prose of a kind that the model knows.

        So are those in a language that it does not know, or in another one than most of the texts
        of the run.
        """
        if not len(documents):
            return np.zeros(0, dtype=bool)
        wrong = [reason is not None for reason in self.wrong_languages(documents)]
        return np.array(wrong, dtype=bool) | self._not_prose(documents)

    def wrong_languages(self, documents: Sequence[Document]) -> list[Caution | None]:
        """For each text, the reason why no statement is made on it because of its language."""
        known, expected = self.known_languages, self.main_language
        if not known:
            return [None] * len(documents)
        rows = zip(documents, languages_in(documents), strict=True)
        return [wrong_language(text.id, language, known, expected) for text, language in rows]

    def _not_prose(self, documents: Sequence[Document]) -> BoolArray:
        texts = [text.text for text in documents]
        tokens = [self.tokens(text) for text in texts]
        if self.prose is None:
            vocabulary = self.lead.vocabulary
            return np.array([is_other_language(words, vocabulary) for words in tokens], dtype=bool)
        return self.prose.foreign(texts, tokens)

    def looks_machine_written(self, levs: AnyLevs) -> BoolArray:
        """Which texts (documents,) look machine-written, by their LEVs.

        Short texts never do, nor any text if the model has no detector.
        """
        if self.machine_look is None:
            return np.zeros(len(levs), dtype=bool)
        return self.machine_look.beyond(self.scorer.dense_columns(levs), levs[:, -1])

    def distance(self, first: AnyLevs, second: AnyLevs) -> FloatArray:
        """The paper's squared distances (pairs,) of LEVs, for an ensemble the members' mean."""
        plain = (np.asarray(levs)[:, :-1] for levs in (first, second))
        return squared_distance(*plain) / len(self.members)

    @property
    def decision_threshold(self) -> float:
        """The paper's tau, on `distance`: below it, the answer is the same author."""
        thresholds = [member.decision_threshold for member in self.members]
        trained = [threshold for threshold in thresholds if threshold is not None]
        if len(trained) < len(thresholds):
            raise OptionError(
                f"the model {self.name} was not trained by the distance alone; expected a network "
                "with loss.distance=contrastive, or an ensemble of such"
            )
        return sum(trained) / len(trained)

    def saved_delta(self, *, by_distance: bool = False) -> float:
        """The delta that was found on dev in training, for the answers by the Bayes factor."""
        if by_distance:
            raise OptionError("the model's delta is for Bayes factors; with a distance, give one")
        if self.delta is None:
            raise OptionError(
                f"the model {self.name} has no delta: it was trained without dev sets, or "
                "calibrated or put together afterwards; give a number, such as 0.1"
            )
        return self.delta


def load(
    model: str | Path = DEFAULT_MODEL,
    *,
    threads: int = 1,
    device: str = "cpu",
    language: str = "",
) -> Verifier:
    """The verifier of a shipped model, given its name, or of a model folder.

    A `device` other than the CPU requires torch. A model of several languages finds the language of
    each text, unless a `language` is given, by its ISO 639-1 code.
    """
    files = ModelFiles(model_folder(model))
    read = read_folder(files)
    members = make_members(read.models, threads, device, language)
    if read.machine_look is not None:
        size = sum(member.lev_size for member in members if not member.scorer.is_sparse)
        if len(read.machine_look.weights) != size:
            count = len(read.machine_look.weights)
            wrong = f"{count} weights for LEVs of {size} dense numbers"
            raise damaged(files.folder, f"{MACHINE.name}: {wrong}")
    return Verifier(
        members,
        read.calibration,
        lead=read.lead,
        name=read.name,
        sha256=read.sha256,
        folder=files.folder,
        genre_names=read.genre_names,
        validation=read_validation(files),
        evidence=read_evidence(files),
        prose=read.prose,
        machine_look=read.machine_look,
        changed=read.changed,
        delta=read.delta,
        known_languages=read.languages,
    )
