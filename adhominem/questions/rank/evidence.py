"""The evidence for each candidate, and the posterior of each and of "none of them".

The Bayes factor of a candidate compares "this candidate wrote it" with "somebody else of this
population did". So "none of them" has a Bayes factor of 1, and by Bayes' rule

    posterior of a candidate  =  prior of the candidate * its Bayes factor / sum
    posterior of none         =  prior of none / sum

The priors belong to the case, not to the texts: a probability that it is none of the candidates,
and the rest in equal shares. The population is texts that were given, or the texts of the other
candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import AnyLevs, BoolArray, FloatArray, IntArray, Levs, joined
from adhominem.errors import OptionError
from adhominem.questions.candidates import (
    FEWEST_CANDIDATES,
    GIVEN,
    NO_POPULATION,
    OTHERS,
    Candidates,
    too_few,
    without_texts,
)
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.population import FEWEST, Population
from adhominem.score.scorer import Scorer
from adhominem.text.files import Document
from adhominem.text.sentences import count_words

NONE = "<UNK>"  # "none of them", as PAN writes it
NO_STATEMENT = "no statement is made"
MOST_POPULATION = 200  # texts: more would hardly change a Bayes factor
_TEXTS_AT_ONCE = 400  # of candidates who are compared together
_NUMBERS_AT_ONCE = 4_000_000  # products of pairs with their population that are held in memory

# The documents that have a LEV, in order, and these: `Run.levs` of a verifier.
LevsOf = Callable[[Sequence[Document]], tuple[list[Document], Levs]]


# The population


@dataclass(frozen=True, kw_only=True)
class RankingPopulation:
    """What the disputed text is compared against: who else could have written it."""

    source: str  # "given", "other candidates" or "none"
    texts: int
    fewest: int  # of them that are left for a candidate, whose own texts are left out
    most: int
    told: str  # in words


def given_population(population: Population, name: str) -> RankingPopulation:
    """A population that was given, by its name if it has one."""
    texts = population.texts
    told = f"{name} ({texts:,} texts)" if name else f"the {texts:,} texts that were given"
    return RankingPopulation(source=GIVEN, texts=texts, fewest=texts, most=texts, told=told)


def other_candidates(
    candidates: Candidates, levs_of: LevsOf, rng: np.random.Generator
) -> tuple[RankingPopulation, Levs]:
    """The texts of the candidates as a population, with their LEVs, or none if they are too few."""
    drawn = in_turn(candidates, MOST_POPULATION, rng)
    texts, levs = levs_of([text for _, text in drawn])
    authors = {id(text): name for name, text in drawn}
    fewest, most = enough_others([authors[id(text)] for text in texts])
    if not fewest:
        told = "none: the other candidates have too few texts between them"
        nobody = RankingPopulation(source=NO_POPULATION, texts=0, fewest=0, most=0, told=told)
        return nobody, levs[:0]
    count = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    told = f"for each candidate, the texts of the others ({count} texts)"
    population = RankingPopulation(
        source=OTHERS, texts=len(texts), fewest=fewest, most=most, told=told
    )
    return population, levs


def in_turn(
    candidates: Candidates, most: int, rng: np.random.Generator
) -> list[tuple[str, Document]]:
    """Up to `most` texts with their candidates: one of each candidate, then another."""
    shuffled = {name: rng.permutation(len(texts)) for name, texts in candidates.items()}
    drawn: list[tuple[str, Document]] = []
    for turn in range(max(map(len, shuffled.values()))):
        names = [name for name, order in shuffled.items() if turn < len(order)]
        for at in rng.permutation(len(names)).tolist():
            if len(drawn) == most:
                return drawn
            name = names[at]
            drawn.append((name, candidates[name][int(shuffled[name][turn])]))
    return drawn


def enough_others(names: Sequence[str]) -> tuple[int, int]:
    """How many texts, by these candidates, are by others than one of them: fewest and most.

    Twice 0 if for somebody these are too few for a population.
    """
    counts = np.unique(np.array(names), return_counts=True)[1] if names else np.zeros(1, int)
    fewest, most = len(names) - int(counts.max()), len(names) - int(counts.min())
    return (fewest, most) if fewest >= FEWEST else (0, 0)


# Bayes factors


class TextPool:
    """Texts by number, and the products of their LEVs: each is taken once for many comparisons."""

    def __init__(self, scorer: Scorer, levs: AnyLevs) -> None:
        """`levs` are (texts, lev_size)."""
        self._scorer, self._texts = scorer, scorer.tables(levs)

    def factors(
        self,
        pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
        population: Sequence[int] | None,
    ) -> LogBayesFactors:
        """Those of pairs of sides, each given by the numbers of its texts.

        Texts of a pair are left out of the population that they stand in. One that seems to be of
        another genre is used all the same, and reported as `population_misfit`.
        """
        cohort = None if population is None else np.array(population, dtype=np.int64)
        by_size: dict[tuple[int, int], list[int]] = {}  # pairs that are scored together
        for number, (first, second) in enumerate(pairs):
            by_size.setdefault((len(first), len(second)), []).append(number)
        scored, order = list[LogBayesFactors](), list[int]()
        for sizes, numbers in by_size.items():
            products = sum(sizes) * (len(population or ()) + sum(sizes) + 50)
            at_once = max(1, _NUMBERS_AT_ONCE // products)
            for at in range(0, len(numbers), at_once):
                part = numbers[at : at + at_once]
                one, other = (np.array([pairs[number][side] for number in part]) for side in (0, 1))
                scored.append(
                    self._scorer.among(self._texts, one, other, cohort, despite_misfit=True)
                )
                order += part
        return LogBayesFactors.joined(scored)[np.argsort(order)]


@dataclass(frozen=True)
class ScoredCandidate:
    """A candidate against all cases."""

    name: str
    texts: int  # known ones
    words: int
    factors: LogBayesFactors  # (cases,)


def score_candidates(
    scorer: Scorer,
    candidates: Candidates,
    levs_of: LevsOf,
    disputed: Levs,
    cases: Sequence[Sequence[int]],
    others: AnyLevs | None,
    on_progress: Callable[[float], None],
) -> tuple[list[ScoredCandidate], list[str]]:
    """The candidates against all cases, a batch at a time; and those without a word in any text."""
    scored, without, done = list[ScoredCandidate](), list[str](), 0
    rows = [disputed] if others is None else [disputed, others]
    begin = sum(map(len, rows))  # of a batch's texts, by number
    population = None if others is None else range(len(disputed), begin)
    for batch in _in_batches(candidates):
        texts, levs = levs_of([text for _, documents in batch for text in documents])
        number_of = {id(text): begin + at for at, text in enumerate(texts)}
        usable = {
            name: [text for text in documents if id(text) in number_of] for name, documents in batch
        }
        without += [name for name, documents in usable.items() if not documents]
        usable = {name: documents for name, documents in usable.items() if documents}
        done += len(batch)
        if not usable:
            continue
        sides = [[number_of[id(text)] for text in documents] for documents in usable.values()]
        factors = TextPool(scorer, joined([*rows, levs])).factors(
            [(case, side) for side in sides for case in cases], population
        )
        for at, (name, documents) in enumerate(usable.items()):
            words = sum(count_words(text.text) for text in documents)
            of_candidate = factors[at * len(cases) : (at + 1) * len(cases)]
            scored.append(ScoredCandidate(name, len(documents), words, of_candidate))
        on_progress(done / len(candidates))
    if len(scored) < FEWEST_CANDIDATES:
        raise too_few(len(scored), list(without_texts(without)))
    return scored, without


def _in_batches(
    candidates: Candidates,
) -> Iterator[list[tuple[str, Sequence[Document]]]]:
    """Candidates with their texts, as many as are compared together."""
    batch: list[tuple[str, Sequence[Document]]] = []
    texts = 0
    for name, documents in candidates.items():
        if batch and texts + len(documents) > _TEXTS_AT_ONCE:
            yield batch
            batch, texts = [], 0
        batch.append((name, documents))
        texts += len(documents)
    if batch:
        yield batch


# Posteriors


def check_prior(prior_none: float) -> None:
    """Raise an OptionError unless this can be the prior probability of "none of them"."""
    if not 0 <= prior_none < 1:
        raise OptionError(f"the prior of none is {prior_none}; expected 0 to below 1")


def posteriors(log_bayes_factors: FloatArray, prior_none: float) -> tuple[FloatArray, FloatArray]:
    """(cases, candidates) and (cases,): the posteriors of the candidates, and that of none.

    `log_bayes_factors` (cases, candidates) are in nats. A prior of 0 means that one of the
    candidates must have written it.
    """
    check_prior(prior_none)
    cases, candidates = log_bayes_factors.shape
    with np.errstate(divide="ignore"):  # a prior of 0 stays 0, whatever the evidence
        none = np.full((cases, 1), np.log(prior_none))
    weighed = log_bayes_factors + np.log1p(-prior_none) - np.log(candidates)
    joint = np.concatenate([weighed, none], axis=1)  # (cases, candidates + 1)
    # The largest is subtracted first, so that no exponential overflows.
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares = joint / joint.sum(axis=1, keepdims=True)
    return shares[:, :-1], shares[:, -1]


def is_any(posterior_none: FloatArray) -> BoolArray:
    """(cases,): whether it is more probable that one of the candidates wrote it than that none did.

    This is decided first, and then which of them: with many candidates, evidence may well point to
    the candidates and yet not make one of them more probable than all others and none together.
    """
    return np.asarray(posterior_none < 0.5)


def answers(log_bayes_factors: FloatArray, unbounded: FloatArray, prior_none: float) -> IntArray:
    """(cases,): the number of the candidate to name, or -1 for none of them.

    Both are (cases, candidates). Of candidates at a bound, the one is named whose Bayes factor
    would be the greatest without it.
    """
    _, none = posteriors(log_bayes_factors, prior_none)
    best = np.lexsort((unbounded, log_bayes_factors))[:, -1]
    return np.where(is_any(none), best, -1)
