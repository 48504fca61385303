"""Who else could have written it: a population that was given, or the other candidates' texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from adhominem.arrays import AnyLevs, Levs
from adhominem.errors import OptionError
from adhominem.pairs.passages import Hashes, without_recurring
from adhominem.questions.question import Texts
from adhominem.score.population import FEWEST, Population, first_places
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier

GIVEN, OTHERS, NO_POPULATION = "given", "other candidates", "none"  # sources of a population
# The documents that have a LEV, in order, and these: `Run.levs` of a verifier.
LevsOf = Callable[[Sequence[Document]], tuple[list[Document], Levs]]

MOST_POPULATION = 200  # texts: more would hardly change a Bayes factor


@dataclass(frozen=True, kw_only=True)
class RankingPopulation:
    """What the disputed text is compared against: who else could have written it."""

    source: str  # "given", "other candidates" or "none"
    texts: int
    fewest: int  # of them that are left for a candidate, whose own texts are left out
    most: int
    told: str  # in words


@dataclass(frozen=True)
class Others:
    """Who else could have written it."""

    told: RankingPopulation
    levs: AnyLevs  # (texts, lev_size)
    documents: list[Document] = field(default_factory=list)  # those that were given
    ready: Population | None = None  # one that was given as such
    recurring: Hashes | None = None  # in the texts that were given

    def population(self, verifier: Verifier) -> Population | None:
        """The same as `verify` takes it; None if there is none."""
        if self.ready is not None or self.told.source == NO_POPULATION:
            return self.ready
        return verifier.population_of(self.levs, self.documents, self.recurring)


def population_of_case(
    candidates: Mapping[str, Sequence[Document]],
    given: Texts,
    levs_of: LevsOf,
    seed: int,
) -> Others:
    """Who else could have written it, from as many texts as are worth while."""
    rng = np.random.default_rng([seed, 1])
    if (ready := given.population) is not None:
        return Others(_of_given(ready.texts, given.name), ready.cohort, ready=ready)
    if given:
        texts = list(given.documents)
        if len(texts) > MOST_POPULATION:
            kept = sorted(rng.permutation(len(texts))[:MOST_POPULATION].tolist())
            texts = [texts[at] for at in kept]
        texts, recurring = without_recurring(texts)
        texts, levs = levs_of(texts)
        once = first_places(levs)
        texts, levs = [texts[at] for at in once.tolist()], levs[once]
        if len(texts) < FEWEST:
            raise OptionError(
                f"the population has {len(texts)} texts; expected {FEWEST} or more, and better 50"
            )
        return Others(_of_given(len(texts), given.name), levs, texts, recurring=recurring)
    drawn = in_turn(candidates, MOST_POPULATION, rng)
    kept_texts, levs = levs_of([text for _, text in drawn])
    names = {id(text): name for name, text in drawn}
    fewest, most = enough_others([names[id(text)] for text in kept_texts])
    if not fewest:
        return Others(
            RankingPopulation(
                source=NO_POPULATION,
                texts=0,
                fewest=0,
                most=0,
                told="none: the other candidates have too few texts between them",
            ),
            levs[:0],
        )
    count = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return Others(
        RankingPopulation(
            source=OTHERS,
            texts=len(kept_texts),
            fewest=fewest,
            most=most,
            told=f"for each candidate, the texts of the others ({count} texts)",
        ),
        levs,
    )


def _of_given(texts: int, name: str) -> RankingPopulation:
    return RankingPopulation(
        source=GIVEN,
        texts=texts,
        fewest=texts,
        most=texts,
        told=f"{name} ({texts:,} texts)" if name else f"the {texts:,} texts that were given",
    )


def in_turn(
    candidates: Mapping[str, Sequence[Document]], most: int, rng: np.random.Generator
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
