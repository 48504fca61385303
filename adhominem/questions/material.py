"""The texts of a case with candidates: what is left out of them, and what is said of that.

A text that stands there twice would decide the answer by itself: who has a copy of the disputed
text among the known ones wins, whatever the style. So copies are left out, passages that the texts
of two people share are taken out, and both is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counted

from adhominem.errors import InputError
from adhominem.pairs.passages import Duplicate, find_duplicates, fingerprint, without_shared
from adhominem.text.exhibits import Exhibit, with_text
from adhominem.text.files import Document
from adhominem.verify.cautions import Caution, caution, listed, passages_taken_out

Candidates = Mapping[str, Sequence[Document]]  # the known texts of each, by name

FEWEST_CANDIDATES = 2  # candidates
_COPIED = 0.5  # share of the shorter text that stands in the other: it is a copy


@dataclass(frozen=True)
class CaseMaterial:
    """The texts that are compared, and what is said of those that are not."""

    disputed: tuple[Exhibit, ...]
    candidates: dict[str, tuple[Document, ...]]
    places: dict[str, tuple[int, ...]]  # of these among the texts that were given of each
    cautions: tuple[Caution, ...]

    def exhibits(self, name: str, given: Sequence[Exhibit]) -> list[Exhibit]:
        """Those of a candidate's exhibits that are left, as they are compared."""
        return list(map(with_text, (given[at] for at in self.places[name]), self.candidates[name]))


def sort_out(
    disputed: Sequence[Exhibit],
    candidates: Candidates,
    *,
    together: bool = True,
    whole: bool = False,
    fewest: int = FEWEST_CANDIDATES,
) -> CaseMaterial:
    """Each text once; candidates without a text are named.

    Passages that texts of two people share are taken out of both, or only out of the known texts
    where the disputed ones stay `whole`. Disputed texts that are ranked `together` must not count
    twice; one by one they may be copies. At least `fewest` candidates must be left.
    """
    known = [(name, text) for name, texts in candidates.items() for text in texts]
    prints = [fingerprint(exhibit.document.text) for exhibit in disputed]
    prints += [fingerprint(text.text) for _, text in known]
    copies = _Copies(disputed, known, together)
    for pair in find_duplicates(prints, _COPIED):
        copies.note(pair)
    places: dict[str, tuple[int, ...]] = {}
    numbers = counted()
    for name, texts in candidates.items():
        left = [at for at, _ in enumerate(texts) if next(numbers) not in copies.left_out]
        if left:
            places[name] = tuple(left)
    kept = {name: [candidates[name][at] for at in left] for name, left in places.items()}
    without = [name for name in candidates if name not in kept]
    cautions = (*copies.cautions(), *without_texts(without))
    if len(kept) < fewest:
        raise too_few(len(kept), cautions, fewest)
    first = [disputed[at] for at in range(len(disputed)) if at not in copies.repeated]
    asked = [one.document for one in first]
    in_turn = [asked] if together else [[text] for text in asked]
    groups, taken_out = without_shared([*in_turn, *kept.values()])
    rest = [text for group in groups[: len(in_turn)] for text in group]
    if whole:
        rest, names = asked, {text.id for text in asked}
        taken_out = [(name, words) for name, words in taken_out if name not in names]
    return CaseMaterial(
        tuple(map(with_text, first, rest)),
        dict(zip(kept, map(tuple, groups[len(in_turn) :]), strict=True)),
        places,
        (*cautions, *passages_taken_out(taken_out)),
    )


def too_few(
    count: int, cautions: Sequence[Caution] = (), fewest: int = FEWEST_CANDIDATES
) -> InputError:
    """The error of a case with too few candidates; `cautions` say who was left out, and why."""
    told = (
        f"there are texts of {count} candidate{'' if count == 1 else 's'}; expected {fewest} or "
        "more, each with texts of their own"
    )
    if fewest > 1:
        told += ". With a single candidate, compare two sides instead, as `adhominem verify` does"
    return InputError(". ".join([told, *(_capital(one.message) for one in cautions)]))


def _capital(message: str) -> str:
    return message[:1].upper() + message[1:]


def without_texts(names: Sequence[str]) -> Iterator[Caution]:
    """What is said of candidates of whom there is no text."""
    if names:
        yield caution(
            "no_texts",
            f"candidates without a text that can be used: {listed(names)}",
            "they are left out; if one of them wrote the disputed text, no candidate is the right "
            "answer",
            "give texts by them, or read the posterior of “none of them” with that in mind",
        )


class _Copies:
    """Texts that stand there twice, by what is done about them."""

    def __init__(
        self,
        disputed: Sequence[Exhibit],
        known: Sequence[tuple[str, Document]],
        together: bool,
    ) -> None:
        self.disputed, self.known, self._together = disputed, known, together
        self.left_out: set[int] = set()  # of the known texts
        self.repeated: set[int] = set()  # of the disputed ones
        self._of_disputed: list[str] = []
        self._of_two: list[str] = []
        self._of_one: list[str] = []

    def note(self, pair: Duplicate) -> None:
        """Two texts, the disputed ones before the known ones."""
        count = len(self.disputed)
        first, second = sorted((pair.first, pair.second))
        if second < count:
            if self._together:
                self.repeated.add(second)
        elif first < count:
            both = f"{self.disputed[first].document.id} and {self._name(second - count)}"
            self.left_out.add(second - count)
            self._of_disputed.append(both)
        else:
            first, second = first - count, second - count
            both = f"{self._name(first)} and {self._name(second)}"
            if self.known[first][0] == self.known[second][0]:
                self.left_out.add(second)
                self._of_one.append(both)
            else:
                self.left_out |= {first, second}
                self._of_two.append(both)

    def cautions(self) -> Iterator[Caution]:
        """What is said of them."""
        if self.repeated:
            names = [self.disputed[at].document.id for at in sorted(self.repeated)]
            yield caution(
                "repeated_disputed",
                f"disputed texts that stand in another one, whole or in good part: {listed(names)}",
                "they are left out, so that nothing counts twice",
                "if these should be different texts, look at the files",
            )
        if self._of_disputed:
            yield caution(
                "disputed_among_known",
                f"a disputed text stands among the known ones: {listed(self._of_disputed, '; ')}",
                "the known text is left out, since a copy says nothing about style",
                "make sure whether it is known who wrote it: if it is certain, so is the answer",
            )
        if self._of_two:
            yield caution(
                "text_of_two_candidates",
                f"one text under the names of two candidates: {listed(self._of_two, '; ')}",
                "it is left out of both",
                "find out who wrote it, and remove the other copy",
            )
        if self._of_one:
            yield caution(
                "repeated_text",
                f"the same text twice under one name: {listed(self._of_one, '; ')}",
                "it counts once, so the numbers are not affected",
                "if these should be different texts, look at the files",
            )

    def _name(self, number: int) -> str:
        name, text = self.known[number]
        return text.id if text.id.startswith(f"{name}/") else f"{text.id} ({name})"
