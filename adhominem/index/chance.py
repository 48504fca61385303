"""False hits: Bayes factors of texts by different people, measured on the index itself.

There are two measurements. Pairs of texts by different people, drawn at random, show how often a
Bayes factor is at least that large; but among a million texts, one pair in a hundred thousand
matters. So some texts are searched for, and everything found by other people is a false hit. Beyond
that, the number of false links is extrapolated (`tail`).

Where no author is known, texts are assumed to be by different people: among many authors, two texts
drawn at random nearly always are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray, IntArray
from adhominem.index.files import checked, damaged, read_arrays
from adhominem.index.store import Store

if TYPE_CHECKING:
    from adhominem.index.searcher import Searcher

PAIRS = 3_000
TRIALS = 50
HITS = 50  # of a trial
_TAIL = 0.05  # share of the pairs that the tail is judged by
_ONE_PERSON = 0.01  # share of the pairs that may be by one person after all
_FEWEST = 20  # pairs: fewer say nothing
_NO_HIT = -1e6
_AT_ONCE = 256  # pairs that are scored together


@dataclass(frozen=True, kw_only=True)
class FalseHits:
    """How many false hits to expect in a search at a given strength or above."""

    log10_bayes_factor: float
    words: str  # of the verbal scale
    expected: float
    measured_by: str  # "searches" or "pairs"


@dataclass(frozen=True, eq=False)
class Chance:
    """Log Bayes factors of texts by different people, in nats, within bounds."""

    texts: int  # of the index then
    known_authors: bool
    pairs: FloatArray  # (pairs,)
    trials: FloatArray  # (trials, hits): of hits by others; _NO_HIT where there were no more
    ranks: IntArray  # (trials,): of the first hit by the author; 0 if none came up
    others: IntArray  # (trials,): how many other texts of the author there are

    def expected(self, log_bayes_factor: float, texts: int) -> tuple[float, str]:
        """The false hits to expect, at least as strong, in a search among this many texts."""
        if len(self.trials):
            complete = self.trials[:, -1] < log_bayes_factor  # (trials,): no more would come
            if complete.all():
                a_search = float((self.trials >= log_bayes_factor).sum(axis=1).mean())
                return a_search * texts / self.texts, "searches"
        share = float((self.pairs >= log_bayes_factor).mean()) if len(self.pairs) else 0.0
        return share * texts, "pairs"

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to write."""
        return {
            "texts": np.array([self.texts]),
            "known_authors": np.array([int(self.known_authors)]),
            "pairs": self.pairs,
            "trials": self.trials,
            "ranks": self.ranks,
            "others": self.others,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Chance:
        """Read what `arrays` returned; a ValueError if anything is missing or does not fit."""
        texts, known = (
            int(checked(arrays, name, "i8", 1)[0]) for name in ("texts", "known_authors")
        )
        trials = checked(arrays, "trials", "f8", None, None)
        if texts < 1 or not trials.shape[1]:
            raise ValueError("it was measured on no texts")
        pairs = checked(arrays, "pairs", "f8", None)
        of_trials = (checked(arrays, name, "i8", len(trials)) for name in ("ranks", "others"))
        return cls(texts, bool(known), pairs, trials, *of_trials)


def tail(by_chance: FloatArray, evidence: FloatArray) -> FloatArray:
    """(pairs,): the share of pairs by different people with as much evidence or more.

    The largest twentieth of the sample is assumed to fall off exponentially. Its largest fifth
    counts as that much or more, since a few of these pairs may be by one person.
    """
    rising = np.sort(by_chance)
    begin, end = np.quantile(rising, (1 - _TAIL, 1 - _ONE_PERSON))
    beyond = np.minimum(rising[rising > begin], end) - begin
    known = max(1, int(((rising > begin) & (rising < end)).sum()))
    fall = float(beyond.sum()) / known if len(beyond) else 1.0
    share = 1 - np.searchsorted(rising, evidence, side="left") / len(rising)
    excess = np.maximum(evidence - begin, 0)
    return np.where(evidence > begin, _TAIL * np.exp(-excess / max(fall, 1e-6)), share)


def read_chance(store: Store) -> Chance | None:
    """What was measured on an index, or None."""
    file = store.manifest.chance
    if file is None:
        return None
    try:
        return Chance.from_arrays(read_arrays(store.folder, file))
    except ValueError as error:
        raise damaged(store.folder / file.name, error) from None


def measure_chance(
    searcher: Searcher,
    *,
    pairs: int = PAIRS,
    trials: int = TRIALS,
    seed: int = 0,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Chance | None:
    """Measure the Bayes factors of texts by different people; None if there are too few texts."""
    store, rng = searcher.store, np.random.default_rng(seed)
    live, accounts = store.shuffled, store.accounts
    if len(live) < 2 or len(np.unique(accounts[live])) < 2:
        return None
    first, second = (live[rng.integers(0, len(live), pairs)] for _ in range(2))
    apart = np.flatnonzero(accounts[first] != accounts[second])
    first, second = first[apart], second[apart]
    sketches = [store.sketch(number) for number in first.tolist()]
    alike = [store.sharing(one, second[at : at + 1])[0] for at, one in enumerate(sketches)]
    first, second = (side[~np.array(alike, dtype=bool)] for side in (first, second))
    if len(first) < _FEWEST:
        return None
    scorer, parts = searcher.verifier.scorer, []
    for at in range(0, len(first), _AT_ONCE):
        one, other = (store.levs(side[at : at + _AT_ONCE]) for side in (first, second))
        factors = scorer(one, other, searcher.population, despite_misfit=True)
        parts.append(factors.log_bayes_factor)
        on_progress(0.5 * min(1.0, (at + _AT_ONCE) / len(first)))
    counts = dict(zip(*np.unique(accounts[live], return_counts=True), strict=True))
    tried = live[rng.permutation(len(live))[:trials]] if store.has_authors else live[:0]
    table = np.full((len(tried), min(HITS, len(live))), _NO_HIT)
    ranks = np.zeros(len(tried), np.int64)
    for at, number in enumerate(tried.tolist()):
        copies = frozenset(store.copies(store.digests[number].tobytes()))  # and itself
        scored, _ = searcher.search_apart(
            store.levs([number]), table.shape[1], [store.sketch(number)], [copies]
        )[0]
        same = accounts[scored.numbers] == accounts[number]
        false_hits = scored.factors.log_bayes_factor[~same]
        table[at, : len(false_hits)] = false_hits
        if same.any():
            ranks[at] = int(np.flatnonzero(same)[0]) + 1
        on_progress(0.5 + 0.5 * (at + 1) / len(tried))
    others = np.array([counts[accounts[number]] - 1 for number in tried], np.int64)
    return Chance(len(live), store.has_authors, np.concatenate(parts), table, ranks, others)
