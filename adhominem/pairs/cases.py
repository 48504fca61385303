"""Cases of known authors: a questioned text against known ones, and who else could have been.

Cases are drawn from documents by their authors' names. A text is never on both sides of a case, nor
is a text by either of its authors ever in the population of that case. Two texts of one work (a
book, a thread) share more than their author: they are never on both sides either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from adhominem.arrays import IntArray
from adhominem.errors import OptionError
from adhominem.text.files import Document

TextsOf = Mapping[str, IntArray]  # the numbers of each author's documents


@dataclass(frozen=True)
class DrawnCase:
    """A questioned document against known ones by one author; documents are given by number."""

    questioned: int
    known: tuple[int, ...]
    same_author: bool  # whether the author of the known documents wrote the questioned one, too


def draw_cases(
    documents: Sequence[Document], known: int, *, most: int | None = None, seed: int = 0
) -> list[DrawnCase]:
    """Leave one out: the cases that documents of known authors make.

    Each text of an author with at least `known` others is questioned once against so many of
    these. As many texts, of all authors, are questioned against another author's. `most` limits
    either class. Authors take turns, both as author of the questioned text and as that of the
    known ones, so that all of them are in about as many cases.
    """
    rng = np.random.default_rng(seed)
    texts_of = _texts_of(documents)
    others_of = {at: _others(documents, texts, at) for texts in texts_of.values() for at in texts}
    leaving_enough = {
        name: left
        for name, texts in texts_of.items()
        if len(left := texts[[len(others_of[at]) >= known for at in texts]])
    }
    if len(texts_of) < 2 or not leaving_enough:
        raise _too_few(texts_of, known)
    same = [
        DrawnCase(text, _choose(rng, others_of[text], known), True)
        for _, text in islice(_in_turn(rng, leaving_enough), most)
    ]
    suspects = [name for name, texts in texts_of.items() if len(texts) >= known]
    place = {name: at for at, name in enumerate(suspects)}
    uses = np.zeros(len(suspects))
    different: list[DrawnCase] = []
    for name, text in _in_turn(rng, texts_of):
        if len(different) == len(same):
            break
        turn = uses + rng.random(len(suspects)) / 2  # the least used comes next, or one of these
        if name in place:
            turn[place[name]] = np.inf
        at = int(np.argmin(turn))
        if np.isfinite(turn[at]):
            uses[at] += 1
            different.append(DrawnCase(text, _choose(rng, texts_of[suspects[at]], known), False))
    return same + different


def by_others(documents: Sequence[Document], case: DrawnCase) -> IntArray:
    """The documents that are by neither author of a case: those that may be its population."""
    involved = {documents[at].author for at in (case.questioned, *case.known)}
    return np.flatnonzero([document.author not in involved for document in documents])


def _texts_of(documents: Sequence[Document]) -> dict[str, IntArray]:
    """The documents of each author, in alphabetical order of the authors."""
    texts_of: dict[str, list[int]] = {name: [] for name in sorted({d.author for d in documents})}
    for at, document in enumerate(documents):
        texts_of[document.author].append(at)
    return {name: np.array(texts) for name, texts in texts_of.items()}


def _others(documents: Sequence[Document], texts: IntArray, questioned: int) -> IntArray:
    """Those of an author's texts that may be known where one of them is questioned."""
    work = documents[questioned].work
    return texts[[at != questioned and not (work and documents[at].work == work) for at in texts]]


def _too_few(texts_of: TextsOf, known: int) -> OptionError:
    if len(texts_of) < 2:
        return OptionError(
            f"texts by {len(texts_of)} known author{'' if len(texts_of) == 1 else 's'}; expected "
            "two or more, and better 10: a folder with one folder an author, for example"
        )
    name, texts = max(texts_of.items(), key=lambda item: len(item[1]))
    return OptionError(
        f"{len(texts_of):,} authors, and the one with most texts, {name}, has {len(texts)}; for "
        f"{known} known and 1 questioned text, some author must have {known + 1} or more of "
        "different works: add texts, or take fewer known ones"
    )


def _in_turn(rng: np.random.Generator, texts_of: TextsOf) -> Iterator[tuple[str, int]]:
    """Every text with its author, in random order: one of each author, then one more of each."""
    shuffled = {name: rng.permutation(texts) for name, texts in texts_of.items()}
    names = sorted(shuffled)
    for turn in range(max(map(len, shuffled.values()))):
        for at in rng.permutation(len(names)):
            texts = shuffled[names[at]]
            if turn < len(texts):
                yield names[at], int(texts[turn])


def _choose(rng: np.random.Generator, texts: IntArray, count: int) -> tuple[int, ...]:
    return tuple(sorted(rng.choice(texts, count, replace=False).tolist()))
