"""Cases of one set, scored as users would have them: alone, with a population, with companions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray, IntArray, Levs
from adhominem.errors import OptionError
from adhominem.jobs.simulate import Cases, CaseTexts, side_words
from adhominem.models.calibration import Validation
from adhominem.scoring.companions import MOST
from adhominem.scoring.population import Population
from adhominem.scoring.products import Table
from adhominem.scoring.scale import Scores
from adhominem.scoring.scorer import Scorer
from adhominem.verify.verifier import Verifier

# Files of so many cases of each class, and how many such files: their texts have fewer companions
# than those of a whole set.
_FILES = {60: 1, 30: 2}
_CASES_TO_CHOOSE_FROM = 400  # of each class
# Files of two texts an author, of each set, and texts of one at most: company grows with their
# number, but among many texts those that are near by chance mislead less.
_FILES_OF_PAIRS = 3
_TEXTS_OF_PAIRS = 80
_SEVERAL = 3  # texts of an author: of two that are compared, neither has another companion


@dataclass(frozen=True)
class Part:
    """Cases of one set under one condition, scored."""

    name: str  # of the set
    scores: Scores
    authors: npt.NDArray[np.str_]  # (cases, 2)
    condition: Validation

    def weighted(self, weights: FloatArray) -> Part:
        """This part with each member's standing multiplied by its weight (members,)."""
        return replace(self, scores=self.scores.weighted(weights))


@dataclass(frozen=True)
class EnrichedPart:
    """Cases whose texts draw on companions."""

    part: Part
    separation: tuple[float, ...]  # of the members
    company: float
    texts: int  # among which companions were looked for


class ScoredCases:
    """The cases of a set, scored."""

    def __init__(
        self,
        verifier: Verifier,
        material: CaseTexts,
        levs: Levs,
        names: tuple[str, ...],
        numbers: dict[object, int],
    ) -> None:
        self._material, self._names, self._levs = material, names, levs
        self._verifier, self._numbers = verifier, numbers
        known = verifier.scorer
        self._log_tokens = levs[:, -1].astype(np.float64)
        self._scorers: list[tuple[Scorer, list[Table]]] = [(known, known.tables(levs))]
        if material.name in verifier.genres:
            unknown = known.without(material.name)
            self._scorers.append((unknown, unknown.tables(levs, self._scorers[0][1])))

    def alone(self, cases: Cases) -> list[Part]:
        """Without a population, the genre known and, where it can be, unknown."""
        return [
            self._part(
                scorer.scores_among(tables, self._log_tokens, cases.known, cases.questioned),
                cases,
                known=np.full(len(cases), number == 0),
            )
            for number, (scorer, tables) in enumerate(self._scorers)
        ]

    def with_populations(self, cases: Cases) -> Part:
        """Each case with its own population; the genre is known to half of them."""
        parts, known = [], []
        for at, chosen in enumerate(cases.populations):
            number = at % len(self._scorers)
            scorer, tables = self._scorers[number]
            one = slice(at, at + 1)
            sides = cases.known[one], cases.questioned[one]
            parts.append(scorer.scores_among(tables, self._log_tokens, *sides, chosen))
            known.append(number == 0)
        return self._part(Scores.joined(parts), cases, known=np.array(known))

    def with_population(self, cases: Cases, levs: Levs) -> Scores:
        """All cases with one population, of these LEVs."""
        known, questioned = (
            [self._levs[texts] for texts in side] for side in (cases.known, cases.questioned)
        )
        return self._scorers[-1][0].scores(known, questioned, Population.of(levs))

    def with_companions(self, cases: Cases) -> Iterator[EnrichedPart]:
        """Single whole texts: among all of the set, and among those of a few cases alone."""
        yield from self._enriched(cases, np.arange(min(self._material.whole, MOST)))
        more = self._material.cases(cases.condition, _CASES_TO_CHOOSE_FROM, seed=1)
        rng = np.random.default_rng(0)
        if more is None:
            return
        for of_class, files in _FILES.items():
            for chosen in (more.sample(of_class, rng) for _ in range(files)):
                if chosen is not None:
                    sides = chosen.known[:, 0], chosen.questioned[:, 0]
                    yield from self._enriched(chosen, np.unique(sides))

    def _enriched(self, cases: Cases, texts: IntArray) -> Iterator[EnrichedPart]:
        """Cases of single texts among some (texts,), if these can have companions."""
        counts = Counter(self._material.documents[at].author for at in texts)
        relevant = self._among(texts) if max(counts.values()) >= _SEVERAL else None
        if relevant is None or relevant.companions is None:
            return
        known, questioned = (self._levs[side[:, 0]] for side in (cases.known, cases.questioned))
        scores = self._verifier.scorer.scores(known, questioned, relevant)
        part = self._part(scores, cases, np.ones(len(cases), dtype=bool))
        there = relevant.companions
        yield EnrichedPart(part, there.separation, there.company, relevant.texts)

    def company_of_pairs(self) -> Iterator[float]:
        """That of files of two texts by each of some authors, drawn at random."""
        by_author: dict[str, list[int]] = {}
        for at, document in enumerate(self._material.documents[: self._material.whole]):
            by_author.setdefault(document.author, []).append(at)
        pairs = [texts for texts in by_author.values() if len(texts) > 1]
        rng = np.random.default_rng(0)
        for _ in range(_FILES_OF_PAIRS):
            authors = rng.permutation(len(pairs))[: _TEXTS_OF_PAIRS // 2].tolist()
            chosen = [text for at in authors for text in rng.permutation(pairs[at])[:2]]
            relevant = self._among(np.array(chosen, np.intp))
            if relevant is not None and relevant.companions is not None:
                yield relevant.companions.company

    def _among(self, texts: IntArray) -> Population | None:
        """Some texts (texts,) as a population that they draw on companions in, if they can."""
        levs = self._levs[texts]
        try:
            return self._verifier.scorer.with_companions(Population.of(levs), levs)
        except OptionError:  # too few texts
            return None

    def _part(self, scores: Scores, cases: Cases, known: BoolArray) -> Part:
        count, name = len(cases), self._material.name
        number = [
            self._numbers.setdefault((name, texts), len(self._numbers))
            for texts in self._material.whole_texts(cases)
        ]
        condition = Validation(
            genres=self._names,
            log_bayes_factor=np.zeros(count, np.float32),
            same_author=cases.same_author,
            genre=np.full(count, self._names.index(name), np.int32),
            words=side_words(self._material.words, cases).astype(np.int32),
            texts=np.full(count, max(cases.known.shape[1], cases.questioned.shape[1]), np.int32),
            population=scores.conditions.population.astype(np.int32),
            known=known,
            case=np.array(number, np.int32),
        )
        return Part(name, scores, cases.authors, condition)
