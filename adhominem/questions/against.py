"""What the disputed text is compared against: a population that was given, or the others' texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from adhominem.arrays import AnyLevs
from adhominem.errors import OptionError
from adhominem.pairs.passages import Hashes, without_recurring
from adhominem.questions.known import MOST_POPULATION, LevStore, enough_others, in_turn
from adhominem.questions.material import CaseMaterial
from adhominem.questions.rank.ranking import GIVEN, NO_POPULATION, OTHERS, RankingPopulation
from adhominem.score.population import FEWEST, Population, first_places
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier


@dataclass(frozen=True)
class Against:
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
    material: CaseMaterial,
    given: Sequence[str | Document] | Population | None,
    store: LevStore,
    seed: int,
    name: str = "",
) -> Against:
    """Who else could have written it, from as many texts as are worth while.

    `name` is what a population that was given is called.
    """
    rng = np.random.default_rng([seed, 1])
    if isinstance(given, Population):
        return Against(_told_given(given.texts, name), given.cohort, ready=given)
    if given is not None:
        texts = [Document(text=text) if isinstance(text, str) else text for text in given]
        if len(texts) > MOST_POPULATION:
            kept = sorted(rng.permutation(len(texts))[:MOST_POPULATION].tolist())
            texts = [texts[at] for at in kept]
        texts, recurring = without_recurring(texts)
        texts, levs = store(texts)
        once = first_places(levs)
        texts, levs = [texts[at] for at in once.tolist()], levs[once]
        if len(texts) < FEWEST:
            raise OptionError(
                f"the population has {len(texts)} texts; expected {FEWEST} or more, and better 50"
            )
        return Against(_told_given(len(texts), name), levs, texts, recurring=recurring)
    drawn = in_turn(material.candidates, MOST_POPULATION, rng)
    kept_texts, levs = store([text for _, text in drawn])
    names = {id(text): name for name, text in drawn}
    fewest, most = enough_others([names[id(text)] for text in kept_texts])
    if not fewest:
        return Against(
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
    return Against(
        RankingPopulation(
            source=OTHERS,
            texts=len(kept_texts),
            fewest=fewest,
            most=most,
            told=f"for each candidate, the texts of the others ({count} texts)",
        ),
        levs,
    )


def _told_given(texts: int, name: str) -> RankingPopulation:
    return RankingPopulation(
        source=GIVEN,
        texts=texts,
        fewest=texts,
        most=texts,
        told=f"{name} ({texts:,} texts)" if name else f"the {texts:,} texts that were given",
    )
