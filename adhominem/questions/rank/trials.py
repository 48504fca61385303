"""How far to trust a ranking: the known texts of the candidates, each disputed in its turn.

A text is taken out, cut to as many words as the disputed one has, and ranked among the candidates,
its author among them with the texts that are left. Then it is ranked once more with its author left
out altogether: then "none of them" is the right answer. So half of the answers should be "none".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adhominem.arrays import AnyLevs, BoolArray, FloatArray, IntArray, joined
from adhominem.evaluation.measures import cllr
from adhominem.questions.rank.evidence import (
    MOST_POPULATION,
    LevsOf,
    TextPool,
    answers,
    enough_others,
    in_turn,
)
from adhominem.score.scorer import Scorer
from adhominem.statistics import exact_interval, interval, resampled
from adhominem.text.files import Document
from adhominem.text.sentences import count_words, first_words

MOST_TRIALS = 200
_MOST_CANDIDATES = 50  # among whom texts are ranked
_MOST_TEXTS = 12  # of a candidate
_RESAMPLES = 500
_SHORTER = 0.9  # of a text's words: one that is hardly longer than asked for is not cut


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """How often texts of an author were given to somebody; None stands for none of them."""

    author: str
    left_out: bool  # whether the author was left out of the candidates
    answer: str | None
    trials: int


@dataclass(frozen=True, kw_only=True)
class Share:
    """How often something was so, with the 95% interval."""

    count: int
    of: int
    low: float
    high: float

    @classmethod
    def counted(cls, values: Sequence[bool]) -> Share:
        """A share of independent trials, with its exact interval."""
        low, high = exact_interval(sum(values), len(values)) if values else (0.0, 1.0)
        return cls(count=sum(values), of=len(values), low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class Trust:
    """How the ranking of known texts came out."""

    candidates: int  # among whom they were ranked
    of_candidates: int  # how many there are
    texts: int  # disputed together in a trial, at most: somebody must be left to compare with
    words: int  # that each was cut to, if it was longer
    population: int  # texts of it, at most
    first: Share  # of trials where the author has the strongest evidence of all candidates
    named_right: Share  # of trials in which somebody was named, that it was the author
    missed: Share  # of trials with the author among the candidates, that none was the answer
    none_right: Share  # of trials with the author left out, that none was the answer
    macro_f1: float  # the official one of PAN, over both kinds of trials
    macro_f1_interval: tuple[float, float]
    cllr: float  # of the Bayes factors, in bits
    cllr_interval: tuple[float, float]
    confusions: tuple[Confusion, ...]  # the most frequent first
    seed: int


@dataclass(frozen=True)
class Trial:
    """Texts of one candidate that are disputed for once; all are numbers of texts or candidates."""

    author: int
    taken: tuple[int, ...]  # as they are ranked, cut if they were longer
    whole: frozenset[int]  # the same before they were cut
    rest: tuple[int, ...]  # the known texts that the author is left with; there may be none
    left_out: bool = False  # whether the author is left out of the candidates

    @property
    def truth(self) -> int:
        """The right answer; -1 is none of them."""
        return -1 if self.left_out else self.author


@dataclass(frozen=True)
class TrialResult:
    """What came out of a trial."""

    trial: Trial
    candidates: list[int]
    log_bayes_factors: FloatArray  # (candidates,)
    answer: int  # -1 is none of them
    first: int  # the answer if one of them must have written it


def _chosen(
    candidates: Mapping[str, Sequence[Document]], rng: np.random.Generator
) -> dict[str, list[Document]]:
    """Some of the candidates, those with several texts first, and some texts of each."""
    names = list(candidates)
    order = sorted(
        rng.permutation(len(names)).tolist(), key=lambda at: len(candidates[names[at]]) < 2
    )
    return {
        names[at]: [
            candidates[names[at]][number]
            for number in sorted(rng.permutation(len(candidates[names[at]]))[:_MOST_TEXTS].tolist())
        ]
        for at in sorted(order[:_MOST_CANDIDATES])
    }


class Trials:
    """The known texts of some candidates; each is disputed once."""

    def __init__(
        self,
        scorer: Scorer,
        candidates: Mapping[str, Sequence[Document]],
        levs_of: LevsOf,
        *,
        texts: int,
        words: int,
        population: AnyLevs | None,
        of_others: bool,
        most_trials: int = MOST_TRIALS,
        seed: int = 0,
    ) -> None:
        """Trials of `texts` at a time, each cut to about as many `words`.

        The `population` is that of the case: LEVs (texts, lev_size) that were given; or the texts
        `of_others` among the candidates; or none.
        """
        self.seed, self.words, self._candidates, self._of_others = (
            seed,
            words,
            candidates,
            of_others,
        )
        chosen = _chosen(candidates, np.random.default_rng([seed, 2]))
        rng = np.random.default_rng([seed, 4])
        usable, levs = levs_of([text for documents in chosen.values() for text in documents])
        place = {id(text): at for at, text in enumerate(usable)}
        known = {
            name: [place[id(text)] for text in documents if id(text) in place]
            for name, documents in chosen.items()
        }
        self.names = [name for name, numbers in known.items() if numbers]
        self._known = [known[name] for name in self.names]
        self._author = {at: number for number, of in enumerate(self._known) for at in of}
        rows: list[AnyLevs] = [levs]
        self._population: tuple[int, ...] | None = None
        if population is not None:
            self._population = tuple(range(len(levs), len(levs) + len(population)))
            rows.append(population)
        elif of_others:
            by_name = {name: [usable[at] for at in known[name]] for name in self.names}
            drawn = in_turn(by_name, MOST_POPULATION, rng)
            self._population = tuple(place[id(text)] for _, text in drawn)
        taken = self._take_out(usable, texts, most_trials, rng)
        cut = {
            at: replace(usable[at], text=first_words(usable[at].text, words))
            for trial in taken
            for at in sorted(trial.whole)
            if _SHORTER * count_words(usable[at].text) > words
        }
        # A beginning without a word in it has no LEV: then the whole text is ranked.
        shorter, more = levs_of(list(cut.values()))
        begin = sum(map(len, rows))
        rows.append(more)
        number_of = {id(text): begin + at for at, text in enumerate(shorter)}
        now = {at: number_of.get(id(text), at) for at, text in cut.items()}
        self.all = [
            replace(trial, taken=tuple(now.get(at, at) for at in trial.taken)) for trial in taken
        ]
        self._pool = TextPool(scorer, joined(rows))

    def trust(
        self, prior_none: float, on_progress: Callable[[float], None] = lambda share: None
    ) -> Trust | None:
        """How the ranking of known texts comes out; None if no candidate has two texts."""
        if not any(trial.rest for trial in self.all):
            return None
        results = self.run(prior_none, on_progress)
        with_author = [one for one in results if not one.trial.left_out]
        truth = np.array([one.trial.truth for one in results])
        answered = np.array([one.answer for one in results])
        factors = np.concatenate([one.log_bayes_factors for one in with_author])  # (pairs,)
        pairs = [(one.trial.author, at) for one in with_author for at in one.candidates]
        same = np.array([author == at for author, at in pairs])
        by_name = [(self.names[author], self.names[at]) for author, at in pairs]
        return Trust(
            candidates=len(self.names),
            of_candidates=len(self._candidates),
            texts=max(len(trial.taken) for trial in self.all),
            words=self.words,
            population=len(self._population or ()),
            first=Share.counted([one.first == one.trial.author for one in with_author]),
            named_right=Share.counted((answered == truth)[answered >= 0].tolist()),
            missed=Share.counted([one.answer < 0 for one in with_author]),
            none_right=Share.counted([one.answer < 0 for one in results if one.trial.left_out]),
            macro_f1=float(macro_f1(truth[None], answered[None])[0]),
            macro_f1_interval=_f1_interval(results, truth, answered, self.seed),
            cllr=cllr(factors, same),
            cllr_interval=_cllr_interval(factors, same, by_name, self.seed),
            confusions=_confusions(results, self.names),
            seed=self.seed,
        )

    def _take_out(
        self, usable: Sequence[Document], texts: int, most: int, rng: np.random.Generator
    ) -> list[Trial]:
        """The texts of each candidate in groups; candidates take turns."""
        turns: list[tuple[int, float, Trial]] = []
        for author, numbers in enumerate(self._known):
            size = max(1, min(texts, len(numbers) - 1))  # somebody must be left to compare with
            order = rng.permutation(numbers).tolist()
            for turn, at in enumerate(range(0, len(order) - size + 1, size)):
                taken = order[at : at + size]
                works = {usable[number].work for number in taken} - {""}
                rest = tuple(
                    number
                    for number in numbers
                    if number not in taken and usable[number].work not in works
                )
                trial = Trial(author, tuple(taken), frozenset(taken), rest)
                turns.append((turn, float(rng.random()), trial))
        return [trial for _, _, trial in sorted(turns, key=lambda row: row[:2])[:most]]

    def run(self, prior_none: float, on_progress: Callable[[float], None]) -> list[TrialResult]:
        """Rank the texts of each trial, with their author and without, a population at a time."""
        trials = []
        for trial in self.all:
            if trial.rest:
                trials.append(trial)
            if prior_none > 0 and len(self.names) > 1:  # or none would never be the answer
                trials.append(replace(trial, left_out=True))
        by_population: dict[tuple[int, ...] | None, list[Trial]] = {}
        for trial in trials:
            by_population.setdefault(self.population_of(trial), []).append(trial)
        results: dict[Trial, TrialResult] = {}
        for population, together in by_population.items():
            results |= self.rank(together, population, prior_none)
            on_progress(len(results) / len(trials))
        return [results[trial] for trial in trials]

    def rank(
        self, trials: Sequence[Trial], population: tuple[int, ...] | None, prior_none: float
    ) -> dict[Trial, TrialResult]:
        """What comes out of trials that have the same population."""
        pairs = [pair for trial in trials for pair in self.pairs_of(trial)]
        scored = self._pool.factors(pairs, population)
        results, begin = {}, 0
        for trial in trials:
            candidates = self.ranked_in(trial)
            part = slice(begin, begin + len(candidates))
            begin = part.stop
            values, unbounded = scored.log_bayes_factor[part], scored.unbounded[part]
            answer = int(answers(values[None], unbounded[None], prior_none)[0])
            results[trial] = TrialResult(
                trial,
                candidates,
                values,
                candidates[answer] if answer >= 0 else -1,
                candidates[int(answers(values[None], unbounded[None], 0.0)[0])],
            )
        return results

    def ranked_in(self, trial: Trial) -> list[int]:
        """The candidates of a trial."""
        return [at for at in range(len(self.names)) if not trial.left_out or at != trial.author]

    def pairs_of(self, trial: Trial) -> list[tuple[Sequence[int], Sequence[int]]]:
        """The texts that are disputed, with the known texts of each candidate."""
        return [
            (trial.taken, trial.rest if at == trial.author else self._known[at])
            for at in self.ranked_in(trial)
        ]

    def population_of(self, trial: Trial) -> tuple[int, ...] | None:
        """Without the texts of the trial; if its author is left out, without all of this author."""
        if self._population is None or not self._of_others:
            return self._population
        left = [
            at
            for at in self._population
            if at not in trial.whole and not (trial.left_out and self._author[at] == trial.author)
        ]
        enough = enough_others([self.names[self._author[at]] for at in left])[0]
        return tuple(left) if enough else None


def macro_f1(truth: IntArray, answered: IntArray) -> FloatArray:
    """(draws,): PAN's macro-F1 of 2019 of trials (draws, trials): the mean of the candidates' F1.

    Both are numbers of candidates, -1 for none of them; each draw has texts by the same authors.
    """
    scores = []
    for author in np.unique(truth[truth >= 0]):
        written, given = truth == author, answered == author
        both = (written & given).sum(axis=1)
        scores.append(2 * both / (written.sum(axis=1) + given.sum(axis=1)))
    return np.asarray(np.mean(scores, axis=0))


def _f1_interval(
    results: Sequence[TrialResult], truth: IntArray, answered: IntArray, seed: int
) -> tuple[float, float]:
    """Over the trials of each author.

    Were authors drawn, those who are not would take all texts along that they were wrongly given,
    and F1 would be too high.
    """
    rng = np.random.default_rng([seed, 3])
    groups: dict[tuple[int, bool], list[int]] = {}
    for at, result in enumerate(results):
        groups.setdefault((result.trial.author, result.trial.left_out), []).append(at)
    drawn = np.array(
        [
            np.concatenate([rng.choice(group, len(group)) for group in groups.values()])
            for _ in range(_RESAMPLES)
        ]
    )  # (draws, trials)
    return interval(macro_f1(truth[drawn], answered[drawn]).tolist())


def _cllr_interval(
    factors: FloatArray, same: BoolArray, authors: Sequence[tuple[str, str]], seed: int
) -> tuple[float, float]:
    """Over authors: all pairs (pairs,) of one come together."""
    draws = resampled(np.arange(len(same)), authors, _RESAMPLES, seed)
    times = np.array([np.bincount(drawn, minlength=len(same)) for drawn in draws])  # (draws, pairs)
    costs = np.logaddexp(0, np.where(same, -factors, factors)) / np.log(2)
    with np.errstate(invalid="ignore"):  # NaN, which no interval counts, where a class is empty
        of_class = [times[:, one] @ costs[one] / times[:, one].sum(axis=1) for one in (same, ~same)]
    return interval(np.mean(of_class, axis=0).tolist())


def _confusions(results: Sequence[TrialResult], names: Sequence[str]) -> tuple[Confusion, ...]:
    """How often whose texts were given to whom, the most frequent first."""
    counts = Counter((one.trial.author, one.trial.left_out, one.answer) for one in results)
    return tuple(
        Confusion(
            author=names[author],
            left_out=left_out,
            answer=None if answer < 0 else names[answer],
            trials=trials,
        )
        for (author, left_out, answer), trials in counts.most_common()
    )
