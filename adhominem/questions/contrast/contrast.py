"""What sets one person's texts apart from another's: habits with rates and intervals.

Features (`habits`) are ranked by how many deviations their rates are apart (`rates`). Those that
stand in the same places are one habit, shown by the feature that holds most of it: "hils" and
"… whilst" are "whilst".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from adhominem.arrays import IntArray
from adhominem.errors import OptionError
from adhominem.pairs.passages import find_duplicates, fingerprints, without_shared
from adhominem.questions.candidates import foreign_texts
from adhominem.questions.contrast.habits import (
    GROUPS,
    Counts,
    compare_rates,
    counting_member,
    telling,
)
from adhominem.questions.question import Answer, made_by
from adhominem.records import Offered, Options, Within
from adhominem.text.files import Document
from adhominem.verify.cautions import passages_taken_out
from adhominem.verify.ngram_contributions import NgramText, Occurrences, group, shown
from adhominem.verify.verifier import Verifier

FEWEST_TEXTS = 3  # of each side, from which on rates may vary between texts, not slices
_CANDIDATES = 600  # that are put together where they stand in the same places
_EXAMPLES = 3  # of words with some letters
_ONE_WORD = 0.8  # share of the places of letters that are in one word
_LOWEST_TOKENS = 1_000  # of a side: below, only the most frequent habits can be seen


@dataclass(frozen=True, kw_only=True)
class ContrastOptions(Options):
    """How many habits are told, and how texts are cut for Zeta."""

    top: Annotated[int, Within(1, 1_000), "Habits of each group, for each side."] = 10
    slice: Annotated[
        int,
        Within(50),
        Offered(served=Within(50, 1_000_000)),
        "Words and marks of a slice, for Zeta.",
    ] = 1_000


@dataclass(frozen=True, kw_only=True)
class ContrastSide:
    """What a side is made of."""

    name: str
    texts: int
    tokens: int
    slices: int
    names: tuple[str, ...]  # that are left out, the most frequent first


@dataclass(frozen=True, kw_only=True)
class Habit:
    """Something that one side has more of. Rates are for every 1,000 tokens."""

    ngram: str  # as it is shown to people
    group: str
    first: int  # how often it occurs
    second: int
    first_rate: float
    second_rate: float
    first_interval: tuple[float, float]  # 95%, over texts, or over slices
    second_interval: tuple[float, float]
    difference_interval: tuple[float, float]  # of the first rate less the second
    usual_rate: float | None  # in the population, if there is one beside both sides
    ratio: float  # of the rates, with half an occurrence added to each
    z: float  # the difference in deviations: what habits are ranked by
    zeta: float  # Craig's, less 1: share of the first side's slices with it, less the second's
    words: tuple[str, ...]  # some that letters are part of
    with_it: tuple[str, ...]  # other n-grams in the same places


@dataclass(frozen=True, kw_only=True)
class GroupContrast:
    """The habits of one group, those that set the sides apart most first."""

    group: str
    features: int  # that were looked at
    apart: int  # of them, whose 95% interval of the difference leaves out 0
    first: tuple[Habit, ...]  # that the first side has more of
    second: tuple[Habit, ...]


@dataclass(frozen=True, kw_only=True)
class Contrast(Answer):
    """What sets two sides apart."""

    first: ContrastSide
    second: ContrastSide
    options: ContrastOptions
    intervals_over: str  # texts or slices
    groups: tuple[GroupContrast, ...]
    population: str  # where the usual rates are from; empty: there are none
    remarks: tuple[str, ...]
    model: str
    model_sha256: str
    version: str


def contrast_texts(
    verifier: Verifier,
    first: Sequence[Document],
    second: Sequence[Document],
    *,
    names: tuple[str, str] = ("first", "second"),
    usual: Sequence[Document] = (),
    population: str = "",
    options: ContrastOptions | None = None,
    on_texts: Callable[[int], None] = lambda count: None,
) -> Contrast:
    """Say which habits set two sides apart, each the texts of one person, or of many.

    `usual` are texts of a `population` of that name: their rates are shown beside those of the
    sides.
    """
    options = options or ContrastOptions()
    member = counting_member(verifier)
    for name, side in zip(names, (first, second), strict=True):
        if not side:
            raise OptionError(f"{name} has no texts; expected at least one")
    (first, second), taken_out = without_shared([first, second])
    cautions = [*passages_taken_out(taken_out), *foreign_texts(verifier, [*first, *second])]
    counts = Counts(member, [first, second, usual], options.slice, on_texts)
    by_text = min(len(first), len(second)) >= FEWEST_TEXTS
    compared = _Compared(counts, by_text=by_text)
    sides = [_side(counts, side, name) for side, name in enumerate(names)]
    return Contrast(
        first=sides[0],
        second=sides[1],
        options=options,
        intervals_over="texts" if by_text else "slices",
        groups=tuple(compared.group(name, options.top) for name in GROUPS),
        population=population,
        remarks=tuple([one.message for one in cautions] + _remarks(sides, first, second, by_text)),
        **made_by(verifier),
    )


def _side(counts: Counts, side: int, name: str) -> ContrastSide:
    slices, texts = (counts.side(side, by_text=by_text)[1] for by_text in (False, True))
    return ContrastSide(
        name=name,
        texts=len(texts),
        tokens=int(texts.sum()),
        slices=len(slices),
        names=counts.names(side),
    )


class _Compared:
    """The features of both sides with their rates, and the habits that these make."""

    def __init__(self, counts: Counts, *, by_text: bool) -> None:
        self.counts = counts
        self.rates = compare_rates(*(counts.side(side, by_text=by_text) for side in (0, 1)))
        self.z = self.rates.z
        # (2, features) of each side and of the difference, for every 1,000 tokens
        sides = self.rates.first, self.rates.second, self.rates
        self.intervals = [1_000 * side.interval() for side in sides]
        first, second = (counts.side(side, by_text=False)[0] > 0 for side in (0, 1))
        self.zeta = first.mean(axis=0) - second.mean(axis=0)  # (features,)
        table, tokens = counts.side(2, by_text=False)
        self.usual = table.sum(axis=0) / tokens.sum() if len(tokens) else None  # (features,)

    def group(self, name: str, top: int) -> GroupContrast:
        """The habits of a group, at most `top` that each side has more of."""
        inside = np.flatnonzero(np.array([one == name for one in self.counts.groups], dtype=bool))
        first, second = (self._habits(inside[sign * self.z[inside] > 0], top) for sign in (1, -1))
        return GroupContrast(
            group=name,
            features=len(inside),
            apart=int((np.abs(self.z[inside]) > self.rates.quantile).sum()),
            first=first,
            second=second,
        )

    def _habits(self, features: IntArray, top: int) -> tuple[Habit, ...]:
        """The strongest habits among features, by number; those of one word are left out."""
        order = np.argsort(-np.abs(self.z[features]), kind="stable")
        strongest = np.sort(features[order[:_CANDIDATES]])
        texts = self.counts.placed(strongest)
        habits: list[Habit] = []
        for members in self._grouped(texts, strongest):
            words = self._words(texts, members[0])
            # Letters that are mostly those of one word are reported as that word.
            is_one_word = words and words.most_common(1)[0][1] >= _ONE_WORD * words.total()
            if len(habits) < top and not is_one_word:
                habits.append(self._habit(members, words))
        return tuple(habits)

    def _grouped(self, texts: Sequence[NgramText], features: IntArray) -> list[list[int]]:
        """Features by number, those together that stand in the same places; strongest first."""
        if not len(features):
            return []
        counts = self.counts
        occurrences = Occurrences.of(texts, counts.columns[features], counts.is_pair[features])
        there = occurrences.counts() > 0  # (features,): the others were not seen, and stand alone
        order = sorted(
            np.flatnonzero(there).tolist(),
            key=lambda at: telling(counts.features[features[at]]),
            reverse=True,
        )
        groups = group(occurrences, np.array(order, dtype=np.int64))
        groups += [[at] for at in np.flatnonzero(~there).tolist()]
        # By the words that are reported; the others are only mentioned beside them.
        numbered = [features[members].tolist() for members in groups]
        return sorted(numbered, key=lambda members: -abs(float(self.z[members[0]])))

    def _words(self, texts: Sequence[NgramText], feature: int) -> Counter[str]:
        """The words that letters are part of; none of anything else."""
        words: Counter[str] = Counter()
        if self.counts.features[feature].channel == 0:
            for text in texts:
                places = text.places[text.columns == self.counts.columns[feature]]
                words.update(text.tokens[place] for place in places.tolist())
        return words

    def _habit(self, members: Sequence[int], words: Counter[str]) -> Habit:
        at, *others = members
        first, second = self.rates.first, self.rates.second
        intervals = [(float(low[at]), float(high[at])) for low, high in self.intervals]
        name = shown(self.counts.features[at])
        also = dict.fromkeys(shown(self.counts.features[other]) for other in others)
        return Habit(
            ngram=name,
            group=self.counts.groups[at],
            first=int(first.counts[at]),
            second=int(second.counts[at]),
            first_rate=1_000 * float(first.rate[at]),
            second_rate=1_000 * float(second.rate[at]),
            first_interval=intervals[0],
            second_interval=intervals[1],
            difference_interval=intervals[2],
            usual_rate=None if self.usual is None else 1_000 * float(self.usual[at]),
            ratio=float(self.rates.ratio[at]),
            z=float(self.z[at]),
            zeta=float(self.zeta[at]),
            words=tuple(word for word, _ in words.most_common(_EXAMPLES)),
            with_it=tuple(one for one in also if one != name),
        )


def _remarks(
    sides: Sequence[ContrastSide],
    first: Sequence[Document],
    second: Sequence[Document],
    by_text: bool,
) -> list[str]:
    remarks = []
    if not by_text:
        remarks.append(
            f"fewer than {FEWEST_TEXTS} texts on a side: the intervals are over slices of texts, "
            "and do not know how one person's texts differ from each other; they are too narrow"
        )
    for side in sides:
        if side.tokens < _LOWEST_TOKENS:
            remarks.append(
                f"{side.name} has {side.tokens:,} words and marks: only the most frequent habits "
                "can be seen in so little"
            )
    prints = fingerprints([document.text for document in (*first, *second)])
    shared = [
        (pair.first, pair.second)
        for pair in find_duplicates(prints)
        if pair.first < len(first) <= pair.second
    ]
    if shared:
        one, other = shared[0]
        more = f", and {len(shared) - 1} more" if len(shared) > 1 else ""
        remarks.append(
            f"the same text stands on both sides, whole or in good part: {first[one].id} and "
            f"{second[other - len(first)].id}{more}; leave it out on one"
        )
    return remarks
