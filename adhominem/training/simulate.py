"""Cases of known authors, under all the conditions that a user may have.

A set of texts of one genre is taken apart into cases: one or several questioned texts against known
ones, whole, cut to their first words or joined to long ones, with a population of texts by others,
large, small or none, as long as they are, longer or shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray, IntArray, Levs
from adhominem.errors import OptionError
from adhominem.jobs.workers import Encode, encode_documents
from adhominem.pairs.cases import DrawnCase, by_others, draw_cases
from adhominem.text.exhibits import first_words as first_words
from adhominem.text.files import Document

MOST_TEXTS = 500  # of a set, in turn by all authors
_MOST_OF_AUTHOR = 8
_JOINED = (3, 6)  # texts that make a long one
_FEWEST_TEXTS = 5  # of a population
_FEWEST_CASES = 6  # of a condition in a set: fewer are left out


@dataclass(frozen=True)
class Condition:
    """What cases have: texts on both sides, texts in the population, and what was done to them."""

    known: int = 1
    questioned: int = 1
    population: int = 0
    cut: str = ""  # the "questioned" texts, the "sides", the "population", "all" of them
    joined: bool = False  # the known text is made of several


def conditions() -> tuple[Condition, ...]:
    """Those that a model is calibrated for."""
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
class Cases:
    """Cases under one condition, their texts by number."""

    condition: Condition
    known: IntArray  # (cases, texts)
    questioned: IntArray  # (cases, texts)
    populations: tuple[IntArray, ...]  # of each case; or none
    same_author: BoolArray  # (cases,)
    authors: npt.NDArray[np.str_]  # (cases, 2)

    def __len__(self) -> int:
        return len(self.same_author)

    def sample(self, of_class: int, rng: np.random.Generator) -> Cases | None:
        """So many cases of each class, drawn at random; None where there are fewer."""
        classes = [rng.permutation(np.flatnonzero(self.same_author == same)) for same in (0, 1)]
        if min(map(len, classes)) < of_class:
            return None
        chosen = np.sort(np.concatenate([one[:of_class] for one in classes]))
        return Cases(
            self.condition,
            self.known[chosen],
            self.questioned[chosen],
            tuple(self.populations[at] for at in chosen) if self.populations else (),
            self.same_author[chosen],
            self.authors[chosen],
        )


class CaseTexts:
    """The texts of one genre with their authors: whole, cut, and joined to long ones."""

    def __init__(
        self, name: str, documents: Sequence[Document], lengths: Sequence[int], seed: int = 0
    ) -> None:
        """`lengths` are the numbers of words that texts are cut to, each to one of them."""
        self.name = name
        self._rng = np.random.default_rng(seed)
        whole = self._chosen(documents)
        self.documents = list(whole)  # the first are the whole texts
        self._whole = len(whole)
        self._cut = np.arange(len(whole))  # where the cut version of a text is, or the text itself
        self._sources = list(range(len(whole)))  # the whole text that each is, or is cut from
        self._joined: dict[int, tuple[int, ...]] = {}  # of each long text, what it is made of
        for at, document in enumerate(whole):
            words = len(document.text.split())
            shorter = [length for length in lengths if length < 0.8 * words]
            if shorter:
                self._cut[at] = len(self.documents)
                cut = first_words(document.text, int(self._rng.choice(shorter)))
                self.documents.append(replace(document, text=cut))
                self._sources.append(at)
        self._join(whole)
        self.words = np.array([len(document.text.split()) for document in self.documents])

    def _chosen(self, documents: Sequence[Document]) -> list[Document]:
        """Texts of authors with several of them first, then of others; each text once."""
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
        """Some authors' texts, of which others are left: so that long texts can be compared."""
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

    def cases(self, condition: Condition, most: int, seed: int) -> Cases | None:
        """Cases under a condition, so many of each class at most; None where they are too few."""
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
        return Cases(
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
        """The texts of both sides under the condition; None where there are too few."""
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

    def whole_texts(self, cases: Cases) -> Iterator[tuple[tuple[int, ...], ...]]:
        """The whole texts of both sides of each case, in whatever order: to recognise it by."""
        for sides in zip(cases.known.tolist(), cases.questioned.tolist(), strict=True):
            yield tuple(sorted(tuple(sorted(self._sources[at] for at in side)) for side in sides))

    def _apart(self, texts: Sequence[int], others: Sequence[int]) -> bool:
        """Whether no text, and no work, is on both sides."""
        works = {self.documents[at].work for at in texts} - {""}
        return not set(texts) & set(others) and not any(
            self.documents[at].work in works for at in others
        )

    def encode(self, encode: Encode, on_documents: Callable[[int], None]) -> Levs:
        """(texts, lev_size): the LEVs of all versions of the texts."""
        return encode_documents(self.documents, encode, None, on_documents)[1]

    @property
    def whole(self) -> int:
        """How many of the first texts are whole ones."""
        return self._whole


def side_words(words: IntArray, cases: Cases) -> FloatArray:
    """(cases,): the words a text, as their geometric mean, of the side with the shorter ones."""
    sides = [np.log(words[side]).mean(axis=1) for side in (cases.known, cases.questioned)]
    return np.asarray(np.exp(np.minimum(*sides)))
