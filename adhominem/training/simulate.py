"""Cases of known authors, under all the conditions that a user may have.

A set of texts of one genre is divided into cases: one or several questioned texts against known
texts, whole, cut to their first words, or joined to long ones; with a small or large population of
texts by others, as long as they are, longer or shorter, or with none. Each case is scored as the
model would score it and, where the model knows the genre, also as if it did not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray, IntArray, Levs
from adhominem.errors import AdHominemWarning, InputError, OptionError
from adhominem.jobs.workers import Encode, encode_documents
from adhominem.model.calibration import Validation
from adhominem.pairs.cases import DrawnCase, by_others, draw_cases
from adhominem.score.calibration import Conditions
from adhominem.score.fitting import Cases
from adhominem.score.genres import PairGeometry, PairRows
from adhominem.score.members import GenreMember
from adhominem.score.products import MemberTexts, PopulationPart
from adhominem.score.scorer import Scorer
from adhominem.score.three_level import Evidence
from adhominem.text.files import Document, real_path
from adhominem.text.pan import Pair
from adhominem.text.readers import Layout, find_sources, read_documents, read_pairs
from adhominem.text.sentences import count_words, first_words

LabelledTexts = Sequence[Document] | Sequence[Pair]

MOST_TEXTS = 500  # of a set, in turn by all authors
_MOST_OF_AUTHOR = 8
_JOINED = (3, 6)  # texts that make a long one
_FEWEST_TEXTS = 5  # of a population
_FEWEST_CASES = 6  # of a condition in a set: fewer are left out


@dataclass(frozen=True)
class Condition:
    """What cases have: texts on both sides and in the population, whole, cut or joined."""

    known: int = 1
    questioned: int = 1
    population: int = 0
    cut: str = ""  # the "questioned" texts, the "sides", the "population", "all" of them
    joined: bool = False  # the known text is made of several


def conditions() -> tuple[Condition, ...]:
    """The conditions that a model is calibrated for."""
    several = [Condition(k, 1, n) for k in (1, 3, 5) for n in (0, 5, 10, 20, 50, 100)]
    several += [Condition(2, 1, n) for n in (0, 20, 50)]
    several += [Condition(3, 3, n) for n in (0, 20, 50)]
    several += [
        Condition(k, 1, n, cut)
        for k in (1, 5)
        for n in (0, 20, 50)
        for cut in ("questioned", "all")
    ]
    several += [
        Condition(k, 1, n, cut) for k in (1, 5) for n in (20, 50) for cut in ("sides", "population")
    ]
    return (*several, *(Condition(population=n, joined=True) for n in (0, 20, 50, 100)))


@dataclass(frozen=True)
class SimulatedCases:
    """Cases under one condition, with their texts as indices."""

    condition: Condition
    known: IntArray  # (cases, texts)
    questioned: IntArray  # (cases, texts)
    populations: tuple[IntArray, ...]  # of each case; or none
    same_author: BoolArray  # (cases,)
    authors: npt.NDArray[np.str_]  # (cases, 2)

    def __len__(self) -> int:
        return len(self.same_author)


class CaseTexts:
    """The texts of one genre with their authors: whole, cut, and joined to long ones."""

    def __init__(
        self, name: str, documents: Sequence[Document], lengths: Sequence[int], seed: int = 0
    ) -> None:
        """`lengths` are the numbers of words to cut texts to; each text is cut to one of them."""
        self.name = name
        self._rng = np.random.default_rng(seed)
        whole = self._chosen(documents)
        self.documents = list(whole)  # the first are the whole texts
        self._whole = len(whole)
        self._cut = np.arange(len(whole))  # where the cut version of a text is, or the text itself
        self._sources = list(range(len(whole)))  # the whole text that each is or was cut from
        self._joined: dict[int, tuple[int, ...]] = {}  # of each long text, what it is made of
        for at, document in enumerate(whole):
            words = count_words(document.text)
            shorter = [length for length in lengths if length < 0.8 * words]
            if shorter:
                self._cut[at] = len(self.documents)
                cut = first_words(document.text, int(self._rng.choice(shorter)))
                self.documents.append(replace(document, text=cut))
                self._sources.append(at)
        self._join(whole)
        self.words = np.array([count_words(document.text) for document in self.documents])

    def _chosen(self, documents: Sequence[Document]) -> list[Document]:
        """Texts by authors with several texts first, then by others; each distinct text once."""
        distinct = list({document.text: document for document in documents}.values())
        by_author: dict[str, list[Document]] = {}
        for at in self._rng.permutation(len(distinct)):
            by_author.setdefault(distinct[at].author, []).append(distinct[at])
        chosen: list[Document] = []
        for texts in sorted(by_author.values(), key=lambda texts: len(texts) == 1):
            if len(chosen) < MOST_TEXTS:
                chosen += texts[:_MOST_OF_AUTHOR]
        return chosen

    def _join(self, whole: Sequence[Document]) -> None:
        """Join texts of authors who have others left, so that long texts can be compared."""
        numbers: dict[str, list[int]] = {}
        for at, document in enumerate(whole):
            numbers.setdefault(document.author, []).append(at)
        for author, texts in numbers.items():
            count = min(int(self._rng.choice(_JOINED)), len(texts) - 2)
            if count > 1:
                made = tuple(texts[:count])
                self._joined[len(self.documents)] = made
                self._sources.append(len(self.documents))
                text = "\n\n".join(whole[at].text for at in made)
                self.documents.append(Document(text=text, author=author))

    def cases(self, condition: Condition, most: int, seed: int) -> SimulatedCases | None:
        """Cases under a condition, at most `most` of each class; None if there are too few."""
        rng = np.random.default_rng(seed)
        whole = self.documents[: self._whole]
        try:
            drawn = draw_cases(whole, condition.known, most=most, seed=seed)
        except OptionError:  # no author has as many texts
            return None
        made = [case for case in (self._made(case, condition, rng) for case in drawn) if case]
        populations: list[IntArray] = []
        if condition.population:
            others = [rng.permutation(by_others(whole, case)) for case, _ in made]
            enough = [len(texts) >= _FEWEST_TEXTS for texts in others]
            made = list(compress(made, enough))
            others = list(compress(others, enough))
            # As many for all: cases by one author leave more, and a size must not tell the truth.
            size = min([condition.population, *map(len, others)])
            populations = [texts[:size] for texts in others]
            if condition.cut in ("population", "all"):
                populations = [self._cut[texts] for texts in populations]
        same = np.array([case.same_author for case, _ in made], dtype=bool)
        if min(same.sum(), (~same).sum()) < _FEWEST_CASES:
            return None
        authors = [(whole[case.known[0]].author, whole[case.questioned].author) for case, _ in made]
        return SimulatedCases(
            condition,
            np.array([sides[0] for _, sides in made]),
            np.array([sides[1] for _, sides in made]),
            tuple(populations),
            same,
            np.array(authors),
        )

    def _made(
        self, case: DrawnCase, condition: Condition, rng: np.random.Generator
    ) -> tuple[DrawnCase, tuple[list[int], list[int]]] | None:
        """The texts of both sides under the condition; None if there are too few."""
        known, questioned = list(case.known), [case.questioned]
        author = self.documents[case.questioned].author
        if condition.questioned > 1:
            more = [
                at
                for at in rng.permutation(self._whole).tolist()
                if self.documents[at].author == author
                and at != case.questioned
                and self._apart([at], known)
            ][: condition.questioned - 1]
            if len(more) < condition.questioned - 1:
                return None
            questioned += more
        if condition.joined:
            suspect = self.documents[known[0]].author
            long = [
                at
                for at, made in self._joined.items()
                if self.documents[at].author == suspect and self._apart(made, questioned)
            ]
            if not long:
                return None
            known = long[:1]
        if condition.cut in ("questioned", "sides", "all"):
            questioned = self._cut[questioned].tolist()
        if condition.cut in ("sides", "all"):
            known = self._cut[known].tolist()
        return case, (known, questioned)

    def whole_texts(self, cases: SimulatedCases) -> Iterator[tuple[tuple[int, ...], ...]]:
        """The whole texts of both sides of each case, in any order, to identify the case by."""
        for sides in zip(cases.known.tolist(), cases.questioned.tolist(), strict=True):
            yield tuple(sorted(tuple(sorted(self._sources[at] for at in side)) for side in sides))

    def _apart(self, texts: Sequence[int], others: Sequence[int]) -> bool:
        """Whether no text and no work is on both sides."""
        works = {self.documents[at].work for at in texts} - {""}
        return not set(texts) & set(others) and not any(
            self.documents[at].work in works for at in others
        )

    def encode(self, encode: Encode, on_documents: Callable[[int], None]) -> Levs:
        """(texts, lev_size): the LEVs of all versions of the texts."""
        return encode_documents(self.documents, encode, None, on_documents)[1]

    @property
    def whole(self) -> int:
        """The number of whole texts, which come first."""
        return self._whole


def side_words(words: IntArray, cases: SimulatedCases) -> FloatArray:
    """(cases,): the geometric mean of the words per text, on the side with the shorter texts."""
    sides = [np.log(words[side]).mean(axis=1) for side in (cases.known, cases.questioned)]
    return np.asarray(np.exp(np.minimum(*sides)))


# As the members of a model see them


@dataclass(frozen=True)
class CasePart(PairRows):
    """Cases of one set under one condition, with the genre known or unknown."""

    cases: Cases
    authors: npt.NDArray[np.str_]  # (cases, 2)
    condition: Validation

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for parts that can be fitted together: known genres and sizes of populations."""
        pairs = self.cases.pairs
        names = [pair.genres.names if isinstance(pair, PairGeometry) else None for pair in pairs]
        return *names, int(self.cases.conditions.population[0])


def merged(parts: Sequence[CasePart]) -> list[tuple[CasePart, IntArray]]:
    """The cases in fewer parts, and for each case the index of the part that it came from."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, part in enumerate(parts):
        alike.setdefault(part.key, []).append(number)
    return [
        (
            CasePart.joined([parts[at] for at in numbers]),
            np.repeat(numbers, [len(parts[at].condition) for at in numbers]),
        )
        for numbers in alike.values()
    ]


class CaseMaker:
    """Everything that a model needs to score the cases of a set."""

    def __init__(
        self,
        scorer: Scorer,
        material: CaseTexts,
        levs: Levs,
        names: tuple[str, ...],
        numbers: dict[object, int],
    ) -> None:
        """`names` are those of all sets; `numbers` number all cases made so far."""
        self._material, self._names, self._numbers = material, names, numbers
        self._scorers: list[tuple[Scorer, list[MemberTexts]]] = [(scorer, scorer.tables(levs))]
        knows = [m.genres.names for m in scorer.members if isinstance(m, GenreMember)]
        if any(material.name in genres for genres in knows):
            unknown = scorer.without(material.name)
            self._scorers.append((unknown, unknown.tables(levs, self._scorers[0][1])))

    def parts(self, cases: SimulatedCases) -> Iterator[CasePart]:
        """The cases with the genre known and, where possible, unknown.

        With populations, each of which belongs to one case, half of the cases are scored either
        way.
        """
        count = len(self._scorers)
        for number, (scorer, tables) in enumerate(self._scorers):
            rows = np.arange(len(cases))
            if cases.populations:
                rows = rows[number::count]
            if len(rows):
                yield self._part(scorer, tables, cases, rows, known=number == 0)

    def _part(
        self,
        scorer: Scorer,
        tables: list[MemberTexts],
        cases: SimulatedCases,
        rows: IntArray,
        known: bool,
    ) -> CasePart:
        groups: list[tuple[IntArray, IntArray | None]] = [(rows, None)]
        if cases.populations:
            groups = [(rows[at : at + 1], cases.populations[row]) for at, row in enumerate(rows)]
        pairs: list[PairGeometry | Evidence] = []
        for member, texts in zip(scorer.members, tables, strict=True):
            made: list[Any] = [
                member.pairs(
                    texts,
                    cases.known[chosen],
                    cases.questioned[chosen],
                    None if others is None else PopulationPart.among(texts, others),
                )
                for chosen, others in groups
            ]
            pairs.append(type(made[0]).joined(made))
        conditions = Conditions.of(
            tables[0].log_tokens,
            cases.known[rows],
            cases.questioned[rows],
            len(cases.populations[0]) if cases.populations else 0,
        )
        same = cases.same_author[rows]
        return CasePart(
            Cases(tuple(pairs), conditions, same),
            cases.authors[rows],
            self._validation(cases, rows, conditions, same, known),
        )

    def _validation(
        self,
        cases: SimulatedCases,
        rows: IntArray,
        conditions: Conditions,
        same: BoolArray,
        known: bool,
    ) -> Validation:
        name, count = self._material.name, len(rows)
        whole = list(self._material.whole_texts(cases))
        number = [self._numbers.setdefault((name, whole[row]), len(self._numbers)) for row in rows]
        return Validation(
            genres=self._names,
            log_bayes_factor=np.zeros(count, np.float32),
            same_author=same,
            genre=np.full(count, self._names.index(name), np.int32),
            words=side_words(self._material.words, cases)[rows].astype(np.int32),
            texts=conditions.texts.max(axis=1).astype(np.int32),
            population=conditions.population.astype(np.int32),
            known=np.full(count, known),
            case=np.array(number, np.int32),
        )


# Texts with their authors, from documents or from pairs whose truth is known


def read_sets(
    sets: Mapping[str, LabelledTexts] | Iterable[str | Path], skipped: list[InputError] | None
) -> dict[str, list[Document]]:
    """The documents of each set by its name, all with authors."""
    if not isinstance(sets, Mapping):
        by_name: dict[str, LabelledTexts] = {}
        for path in sets:
            name = real_path(path).name.split(".")[0]
            if name in by_name:
                raise OptionError(f"two sets are named '{name}'; rename one")
            if {source.layout for source in find_sources(path)} == {Layout.PAIRS}:
                by_name[name] = list(read_pairs(path, skipped=skipped))
            else:
                by_name[name] = list(read_documents(path, skipped=skipped))
        sets = by_name
    documents: dict[str, list[Document]] = {}
    for name, texts in sets.items():
        documents[name], unnamed = documents_of(name, texts)
        if unnamed:
            warnings.warn(
                f"the truth names no authors for {unnamed:,} of the {len(texts):,} pairs of {name}:"
                " each pair is taken to have its own, and whether the model was trained on them "
                "cannot be checked. If it was, Bayes factors will be overconfident; name the "
                "authors if you can",
                AdHominemWarning,
                stacklevel=3,
            )
    return documents


def documents_of(name: str, texts: LabelledTexts) -> tuple[list[Document], int]:
    """The documents of a set, all with authors, and how many of its pairs do not name both.

    Where the truth names no authors, each pair is taken to have authors of its own, except that a
    text in several pairs has the same author in all of them.
    """
    documents = [text for text in texts if isinstance(text, Document)]
    nameless = sum(not document.author for document in documents)
    if nameless:
        raise OptionError(
            f"{nameless:,} of the {len(texts):,} texts of {name} have no author; expected one "
            "for each text: for example, a folder with one folder per author"
        )
    pairs = [text for text in texts if isinstance(text, Pair)]
    unlabelled = sum(pair.same_author is None for pair in pairs)
    if unlabelled:
        raise OptionError(
            f"{unlabelled:,} of {len(pairs):,} pairs have no truth; expected one for each"
        )
    documents += [text for pair in pairs for text in (pair.first, pair.second)]
    unnamed = [pair for pair in pairs if not (pair.first.author and pair.second.author)]
    if not unnamed:
        return documents, 0
    author_of = {text.text: text.author for text in documents if text.author}
    same: dict[str, str] = {}  # made-up names of authors, and whose they are

    def author(text: str) -> str:
        known_as = author_of[text]
        while known_as in same:
            known_as = same[known_as]
        return known_as

    for at, pair in enumerate(unnamed):
        sides = pair.first.text, pair.second.text
        for number, text in enumerate(sides):
            author_of.setdefault(text, f"\0{name} {at} {number}")
        if pair.same_author:
            kept, other = sorted(map(author, sides), key=lambda name_of: name_of[0] == "\0")
            if kept != other:
                same[other] = kept
    return [replace(text, author=author(text.text)) for text in documents], len(unnamed)
