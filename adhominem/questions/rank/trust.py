"""How far to trust a ranking: the known texts of the candidates, each disputed in its turn.

A text is taken out, cut to as many words as the disputed one has, and ranked among the candidates,
its author among them with the texts that are left. Then it is ranked once more with its author left
out altogether: then "none of them" is the right answer. So half of the answers should be "none".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import AnyLevs
from adhominem.evaluation.likelihood_ratio import cllr
from adhominem.questions.rank.others import LevsOf
from adhominem.questions.rank.posterior import NONE
from adhominem.questions.rank.trials import Confusion, Outcome, Trials
from adhominem.score.scorer import Scorer
from adhominem.statistics import exact_interval, interval, resampled
from adhominem.text.files import Document

MOST_CANDIDATES = 50  # among whom texts are ranked
_MOST_TEXTS = 12  # of a candidate
MOST_TRIALS = 200
_RESAMPLES = 500


@dataclass(frozen=True, kw_only=True)
class Share:
    """How often something was so, with the 95% interval."""

    count: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share; NaN where there was nothing to count."""
        return self.count / self.of if self.of else float("nan")

    @classmethod
    def counted(cls, values: Sequence[bool]) -> Share:
        """Of independent things; the interval is the exact one."""
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


def try_known_texts(
    scorer: Scorer,
    candidates: Mapping[str, Sequence[Document]],
    levs_of: LevsOf,
    *,
    texts: int,
    words: int,
    population: AnyLevs | None,
    population_of_others: bool,
    prior_none: float,
    most_trials: int = MOST_TRIALS,
    seed: int = 0,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Trust | None:
    """Rank the candidates' known texts in batches; None if no candidate has two texts.

    The `population` is that of the case: LEVs (texts, lev_size) that were given, or with
    `population_of_others` the texts of the other candidates, or none.
    """
    trials = Trials(
        scorer,
        _chosen(candidates, np.random.default_rng([seed, 2])),
        levs_of,
        texts=texts,
        words=words,
        population=population,
        population_of_others=population_of_others,
        most_trials=most_trials,
        seed=seed,
    )
    if not any(trial.rest for trial in trials.all):
        return None
    outcome = trials.run(prior_none, on_progress)
    named = [
        answer == true
        for answer, true in zip(outcome.answers, outcome.truth, strict=True)
        if answer != NONE
    ]
    return Trust(
        candidates=len(trials.names),
        of_candidates=len(candidates),
        texts=max(len(trial.taken) for trial in trials.all),
        words=words,
        population=trials.population_texts,
        first=Share.counted(outcome.first),
        named_right=Share.counted(named),
        missed=Share.counted(outcome.nones(left_out=False)),
        none_right=Share.counted(outcome.nones(left_out=True)),
        macro_f1=outcome.macro_f1(range(len(outcome.truth))),
        macro_f1_interval=_f1_interval(outcome, seed),
        cllr=cllr(outcome.factors, outcome.same),
        cllr_interval=_cllr_interval(outcome, seed),
        confusions=outcome.confusions(),
        seed=seed,
    )


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
        for at in sorted(order[:MOST_CANDIDATES])
    }


def _f1_interval(outcome: Outcome, seed: int) -> tuple[float, float]:
    """Over the trials of each author.

    Were authors drawn, those who are not would take all texts along that they were wrongly given,
    and F1 would be too high.
    """
    rng = np.random.default_rng([seed, 3])
    by_author: dict[tuple[str, str], list[int]] = {}
    for at, kind in enumerate(zip(outcome.by, outcome.truth, strict=True)):
        by_author.setdefault(kind, []).append(at)
    values = []
    for _ in range(_RESAMPLES):
        drawn = [rng.choice(group, len(group)).tolist() for group in by_author.values()]
        values.append(outcome.macro_f1([at for group in drawn for at in group]))
    return interval(values)


def _cllr_interval(outcome: Outcome, seed: int) -> tuple[float, float]:
    """Over authors: all pairs of one come together."""
    values = []
    for chosen in resampled(np.arange(len(outcome.same)), outcome.pairs, _RESAMPLES, seed):
        same = outcome.same[chosen]
        if same.any() and not same.all():
            values.append(cllr(outcome.factors[chosen], same))
    return interval(values)
