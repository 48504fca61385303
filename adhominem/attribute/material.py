"""The texts of a case with candidates: what is left out of them, and what is said of that.

A text that stands there twice would decide the answer by itself: who has a copy of the disputed
text among the known ones wins, whatever the style. So copies are left out, and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from adhominem.errors import InputError
from adhominem.pairs.duplicates import Duplicate, find_duplicates, fingerprint
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.cautions import Caution, caution

Candidates = Mapping[str, Sequence[Document]]  # the known texts of each, by name

FEWEST_CANDIDATES = 2  # candidates
_COPIED = 0.5  # share of the shorter text that stands in the other: it is a copy
_SHARED = 0.2  # the same, from which on it is told
_NAMED = 5  # texts or candidates in one message


@dataclass(frozen=True)
class CaseMaterial:
    """The texts that are compared, and what is said of those that are not."""

    disputed: tuple[Exhibit, ...]
    candidates: dict[str, tuple[Document, ...]]
    cautions: tuple[Caution, ...]


def sort_out(
    disputed: Sequence[Exhibit],
    candidates: Candidates,
    unreadable: Sequence[str] = (),
    *,
    together: bool = True,
    fewest: int = FEWEST_CANDIDATES,
) -> CaseMaterial:
    """Each text once; `unreadable` are candidates of whom no text could be read.

    Disputed texts that are ranked `together` must not count twice; one by one they may be copies.
    At the `fewest`, so many candidates must be left.
    """
    known = [(name, text) for name, texts in candidates.items() for text in texts]
    prints = [fingerprint(exhibit.document.text) for exhibit in disputed]
    prints += [fingerprint(text.text) for _, text in known]
    copies = _Copies(disputed, known, together)
    for pair in find_duplicates(prints, _SHARED):
        copies.note(pair)
    left: dict[str, list[Document]] = {name: [] for name in candidates}
    for at, (name, text) in enumerate(known):
        if at not in copies.left_out:
            left[name].append(text)
    kept = {name: tuple(texts) for name, texts in left.items() if texts}
    without = [*unreadable, *(name for name in left if name not in kept)]
    cautions = (*copies.cautions(), *without_texts(without))
    if len(kept) < fewest:
        raise too_few(len(kept), cautions, fewest)
    first = [at for at in range(len(disputed)) if at not in copies.repeated]
    return CaseMaterial(tuple(disputed[at] for at in first), kept, cautions)


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
        self._shared: list[str] = []
        self._of_two: list[str] = []
        self._of_one: list[str] = []

    def note(self, pair: Duplicate) -> None:
        """Two texts, the disputed ones before the known ones."""
        count = len(self.disputed)
        first, second = sorted((pair.first, pair.second))
        is_copy = pair.share >= _COPIED
        if second < count:
            if is_copy and self._together:
                self.repeated.add(second)
        elif first < count:
            both = f"{self.disputed[first].document.id} and {self._name(second - count)}"
            if is_copy:
                self.left_out.add(second - count)
                self._of_disputed.append(both)
            else:
                self._shared.append(both)
        elif is_copy:
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
        if self._shared:
            yield caution(
                "shared_text",
                f"a good part of a disputed text stands in a known one, too: "
                f"{listed(self._shared, '; ')}",
                "what was copied makes that candidate look more likely, whoever wrote the rest",
                "remove what they share from both, and rank again",
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


def listed(names: Sequence[str], between: str = ", ") -> str:
    """The first few names, and how many more there are."""
    more = len(names) - _NAMED
    return between.join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
