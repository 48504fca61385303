"""The whole chain as one object: texts to LEVs to a log Bayes factor to what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from operator import attrgetter
from pathlib import Path

import numpy as np

from adhominem.arrays import AnyLevs, BoolArray, FloatArray, Levs, joined
from adhominem.errors import NO_WORD, EmptyTextError, InputError, OptionError
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
from adhominem.paper.runtime import NetworkOutput
from adhominem.paper.two_covariance import squared_distance
from adhominem.score.calibration import Calibration
from adhominem.score.decision import VerbalScale
from adhominem.score.genres import Group
from adhominem.score.machine import MachineLook
from adhominem.score.population import Population, each_once
from adhominem.score.products import Sides
from adhominem.score.prose import Prose
from adhominem.score.scorer import Scorer
from adhominem.text.exhibits import Exhibit, SideTexts, exhibits_of, with_text
from adhominem.text.files import Document
from adhominem.text.pan import Pair
from adhominem.verify.cautions import ExaminedText, is_other_language
from adhominem.verify.comparison import ComparedText, Comparison
from adhominem.verify.encoding import Begun, Encoding, TokensBy, batches
from adhominem.verify.verification import (
    Likeness,
    Verification,
    guessed_genre,
    verification_of,
)


class Verifier:
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
        genre_names: Mapping[str, str] | None = None,
        validation: Validation | None = None,
        evidence: tuple[CalibrationEvidence, CalibrationEvidence] | None = None,
        prose: Prose | None = None,
        machine_look: MachineLook | None = None,
        changed: bool = False,
    ) -> None:
        """`members` come from `make_members`; `lead` is the one that speaks for all.

        Genres, typicality and tokens are taken from it. `validation` are cases of known authors
        that the model was tried on, and `evidence` is what its calibration rests on, without a
        population and with one. `prose` tells whether a text is running prose, `machine_look`
        whether a machine may have written it. `changed`: the members have, since they were
        calibrated.
        """
        if not members:
            raise OptionError("a verifier without a model; expected at least one")
        self.name, self.sha256, self.prose = name, sha256, prose
        self.machine_look, self.changed = machine_look, changed
        self.genre_names, self.validation = dict(genre_names or {}), validation
        self.evidence = evidence or (CalibrationEvidence(), CalibrationEvidence())
        self.members = list(members)
        self.lead = self.members[lead]
        self._encoding = Encoding(self.members, self.lead, name)
        self.tokenizers = self._encoding.tokenizers
        scorers = tuple(member.scorer for member in self.members)
        self.scorer = Scorer.of(scorers, calibration, lead, name)

    @property
    def calibration(self) -> Calibration | None:
        """What was learnt from cases of known authors; None before a model is calibrated."""
        return self.scorer.calibration

    @property
    def member_names(self) -> list[str]:
        """The names of the members' folders; of a single model, its own."""
        return [member.name for member in self.members]

    @property
    def genres(self) -> tuple[str, ...]:
        """The genres that the model knows, if any: it was trained on most of them."""
        return () if self.lead.genres is None else self.lead.genres.names

    @property
    def lev_size(self) -> int:
        """The size of a LEV: those of the members in a row, and the logarithm of its tokens."""
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
        """Compare two sides, each a text or several by one author.

        `prior_same_author` is yours to state: the texts do not give it. Within 0.5 ± `delta` the
        probability is too close to call. Several texts of a side are weighed together by the
        three-level model, not joined. A `population` is made of texts of the same genre as those
        compared: see `population`.
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
    ) -> Comparison:
        """Tokenize and encode each text once; with `attention`, keep the networks' attention.

        A text that a side has several times, under whatever names, counts once. Passages that both
        sides have, or that recur in the population, are taken out.
        """
        return self.compare_all([(first, second)], population, attention=attention)[0]

    def compare_all(
        self,
        pairs: Sequence[tuple[SideTexts, SideTexts]],
        population: Population | None = None,
        *,
        attention: bool = False,
    ) -> list[Comparison]:
        """Compare several pairs of sides: see `compare`. All are encoded and scored together."""
        tokenized = [
            self._tokenized([exhibits_of(one, "first"), exhibits_of(other, "second")], population)
            for one, other in pairs
        ]
        sides = [both for both, _ in tokenized]
        rows = [row for both in sides for side in both for row in side]
        documents = [exhibits[0].document for exhibits, _ in rows]
        tokens = [tokens_by for _, tokens_by in rows]
        attended: list[tuple[NetworkOutput | None, ...]] = [(None,) * len(self.members)] * len(rows)
        if attention:
            levs, attended = self._encoding.attend(documents, tokens)
        else:
            levs = self.encode(documents, tokens=tokens)
        texts = tuple(
            ComparedText(exhibits[0], tokens_by, encoded, tuple(exhibits[1:]))
            for (exhibits, tokens_by), encoded in zip(rows, attended, strict=True)
        )
        counts = [len(side) for both in sides for side in both]
        ends = np.cumsum(counts).tolist()
        places = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
        first, second = places[0::2], places[1::2]
        scored = self.scorer([levs[at] for at in first], [levs[at] for at in second], population)
        return [
            Comparison(
                members=self.members,
                lead=self.lead,
                scorer=self.scorer,
                population=population,
                first=texts[one],
                second=texts[other],
                levs=(levs[one], levs[other]),
                scored=scored[at : at + 1],
                taken_out=tokenized[at][1],
            )
            for at, (one, other) in enumerate(zip(first, second, strict=True))
        ]

    def judge(
        self,
        comparison: Comparison,
        prior_same_author: float = 0.5,
        delta: float = 0.125,
        scale: VerbalScale | None = None,
    ) -> Verification:
        """What a comparison comes to, in numbers and in words: see `verify`."""
        return verification_of(self, comparison, prior_same_author, delta, scale)

    def examine(
        self,
        exhibits: Sequence[Exhibit],
        tokens: Sequence[Sequence[str]],
        levs: Levs,
        copies: Sequence[Sequence[Exhibit]] | None = None,
    ) -> list[ExaminedText]:
        """What is found when texts are looked at one by one, by tokens, LEVs and characters.

        `copies` are texts of the same side, with the same tokens as each of them.
        """
        atypicality = self.atypicality(levs) if self.prose is None else np.zeros(len(exhibits))
        machine_written = self.looks_machine_written(levs)
        examined = []
        for at, (exhibit, words) in enumerate(zip(exhibits, tokens, strict=True)):
            of = None if self.prose is None else self.prose.departure(exhibit.document.text, words)
            examined.append(
                ExaminedText(
                    exhibit=exhibit,
                    tokens=words,
                    copies=() if copies is None else copies[at],
                    atypicality=float(atypicality[at]) if of is None else of.atypicality,
                    departure=of,
                    machine_written=bool(machine_written[at]),
                )
            )
        return examined

    def misleading(self, likeness: Likeness | None = None) -> list[MisleadingRates]:
        """How often it misleads without a population: in the genre guessed, and in unknown ones.

        The guess may be wrong, and then the number errs the other way.
        """
        if self.validation is None:
            return []
        both = [self.validation.misleading_rates(of) for of in (guessed_genre(likeness), "")]
        return [rates for rates in dict.fromkeys(both) if rates is not None]

    def encode(
        self,
        documents: Sequence[str | Document],
        *,
        tokens: Sequence[TokensBy] | None = None,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Levs:
        """(documents, lev_size): the LEVs of texts, each a string or a Document with its topic.

        NumPy takes them for an array, and `np.asarray` makes them a plain one. A text that is there
        several times is encoded once. `tokens` are those of each text, by tokenizer, if they are
        known already.
        """
        texts = [Document(text=text) if isinstance(text, str) else text for text in documents]
        numbers: dict[tuple[str, str], int] = {}  # of the distinct texts
        rows = [numbers.setdefault((text.text, text.topic), len(numbers)) for text in texts]
        firsts = np.unique(rows, return_index=True)[1]
        parts = []
        for part in batches([len(texts[at].text) for at in firsts]):
            places = firsts[part]
            chosen = [texts[at] for at in places]
            known = None if tokens is None else [tokens[at] for at in places]
            parts.append(self._encoding.encode(chosen, known))
            on_documents(len(places))
        levs = joined(parts) if parts else self._encoding.encode([], None)
        if len(firsts) == len(documents):
            return levs
        on_documents(len(documents) - len(firsts))
        return levs.chosen(rows)

    def begin(self, documents: Sequence[Document]) -> Begun:
        """Begin to encode a few documents, for a process that has a GPU to finish it."""
        return self._encoding.begin(documents)

    def finish(self, begun: Sequence[Begun]) -> Levs:
        """(documents, lev_size): the LEVs of documents that other processes have begun."""
        return self._encoding.finish(begun)

    def _tokenized(
        self, sides: Sequence[Sequence[Exhibit]], population: Population | None
    ) -> tuple[list[list[tuple[list[Exhibit], TokensBy]]], TakenOut]:
        """The different texts of each side: all exhibits of each, and its tokens by tokenizer.

        What they share, or what recurs in the population, is taken out before.
        """
        tokenized = []
        whole = [[exhibit.document for exhibit in side] for side in sides]
        cut, taken_out = without_shared(whole, None if population is None else population.recurring)
        for side in map(map, repeat(with_text), sides, cut):
            texts: dict[tuple[tuple[str, ...], ...], tuple[list[Exhibit], TokensBy]] = {}
            for exhibit in side:
                name, tokens_by = exhibit.document.id, {}
                for tokenizer in self.tokenizers:
                    try:
                        tokens_by[tokenizer] = tokenizer.tokenize(exhibit.document.text)
                    except InputError as error:
                        raise error.at(name) from None
                    if not tokens_by[tokenizer].tokens:
                        raise EmptyTextError(NO_WORD, name)
                words = map(tuple, map(attrgetter("tokens"), tokens_by.values()))
                texts.setdefault(tuple(words), ([], tokens_by))[0].append(exhibit)
            tokenized.append(list(texts.values()))
        return tokenized, taken_out

    def encode_pairs(
        self, pairs: Sequence[Pair], *, on_documents: Callable[[int], None] = lambda count: None
    ) -> tuple[Levs, Levs]:
        """Twice (pairs, lev_size): the LEVs of the first and of the second documents."""
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
        """The relevant population: texts of the genre that is to be compared, by anybody.

        Better many (50 or more), and none of the texts that are compared; but where these are many
        themselves, they can be their own population.
        """
        texts = [Document(text=text) if isinstance(text, str) else text for text in documents]
        texts, recurring = without_recurring(texts)
        levs = self.encode(texts, on_documents=on_documents)
        return self.population_of(levs, texts, recurring)

    def population_of(
        self,
        levs: AnyLevs,
        texts: Sequence[str | Document] = (),
        recurring: Hashes | None = None,
    ) -> Population:
        """The relevant population of texts with these LEVs (documents, lev_size).

        `recurring` are the passages that were taken out of them (`without_recurring`). Several
        texts that seem to be by one author say less of the genre than texts by several.
        """
        population = replace(Population.of(levs, texts), recurring=recurring)
        groups: tuple[Group, ...] = ()
        if self.lead.genres is not None:
            groups = self.lead.genres.groups(self.scorer.lead_columns(each_once(levs)))
        authors = self.scorer.seeming_authors(population.cohort)
        share = authors / len(population.cohort)
        return replace(population, groups=groups, seeming_authors=share * population.texts)

    def score(
        self,
        first: Sides,
        second: Sides,
        population: Population | None = None,
    ) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of LEVs, or of sets of LEVs, one author a set.

        Calibrated if the model is. What else is known of them, `scorer` says.
        """
        return self.scorer(first, second, population).log_bayes_factor

    def atypicality(self, levs: AnyLevs) -> FloatArray:
        """(documents,): the atypicality of LEVs; 99% of the training texts are below 1.

        Zeros where the model does not know what its training texts were like.
        """
        if self.lead.typicality is None:
            return np.zeros(len(levs))
        return self.lead.typicality.atypicality(self.scorer.lead_columns(levs))

    def foreign(self, documents: Sequence[Document], levs: AnyLevs) -> BoolArray:
        """(documents,): which are not what the model was made for; by their LEVs if need be."""
        if self.prose is None:
            return np.asarray(self.atypicality(levs) > 1)
        return self.no_statement_on(documents)

    def no_statement_on(self, documents: Sequence[Document]) -> BoolArray:
        """(documents,): which are not running prose of a kind that the model knows.

        Where the model has not learnt what prose is, they are those in another language.
        """
        if not len(documents):
            return np.zeros(0, dtype=bool)
        texts = [text.text for text in documents]
        tokens = [self.lead.tokenizer.tokens(text) for text in texts]
        if self.prose is None:
            common = self.lead.vocabulary.words
            return np.array([is_other_language(words, common) for words in tokens], dtype=bool)
        return self.prose.foreign(texts, tokens)

    def looks_machine_written(self, levs: AnyLevs) -> BoolArray:
        """(documents,): which texts look as if a machine had written them, by their LEVs.

        None where the model has not learnt what such texts look like, and no short text.
        """
        if self.machine_look is None:
            return np.zeros(len(levs), dtype=bool)
        dense = self.scorer.dense_columns(levs)
        return self.machine_look.beyond(dense, np.asarray(levs[:, -1]))

    def distance(self, first: AnyLevs, second: AnyLevs) -> FloatArray:
        """(pairs,): the paper's squared distance of LEVs, of an ensemble the members' mean."""
        plain = (np.asarray(levs)[:, :-1] for levs in (first, second))
        return squared_distance(*plain) / len(self.members)


def load(model: str | Path = DEFAULT_MODEL, *, threads: int = 1, device: str = "cpu") -> Verifier:
    """The verifier of a shipped model, by its name, or of a model folder.

    On a `device` other than the CPU it needs torch.
    """
    files = ModelFiles(model_folder(model))
    read = read_folder(files)
    members = make_members(read.models, threads, device)
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
        genre_names=read.genre_names,
        validation=read_validation(files),
        evidence=(read_evidence(files, population=False), read_evidence(files, population=True)),
        prose=read.prose,
        machine_look=read.machine_look,
        changed=read.changed,
    )
