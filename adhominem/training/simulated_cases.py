"""Simulated cases of one set, as the members of a model see them: with and without a population."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, IntArray, Levs
from adhominem.model.calibration import Validation
from adhominem.score.calibration import Conditions
from adhominem.score.fitting import Cases as FittingCases
from adhominem.score.members import GenreMember
from adhominem.score.products import Table
from adhominem.score.scorer import Scorer
from adhominem.score.three_level import Evidence, Sight, joined
from adhominem.training.simulate import Cases, CaseTexts, side_words


@dataclass(frozen=True)
class Part:
    """Cases of one set under one condition, the genre known or not."""

    cases: FittingCases
    authors: npt.NDArray[np.str_]  # (cases, 2)
    condition: Validation


def merged(parts: Sequence[Part]) -> list[tuple[Part, IntArray]]:
    """The same cases in fewer parts, and of each case the number of the part that it was in.

    What the same genres are known of, with populations as large, can be fitted together.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for number, part in enumerate(parts):
        names = tuple(genres and genres.names for genres in part.cases.genres)
        alike.setdefault((*names, int(part.cases.conditions.population[0])), []).append(number)
    return [
        (
            Part(
                FittingCases(
                    parts[numbers[0]].cases.genres,
                    tuple(
                        _joined([parts[at].cases.sights[member] for at in numbers])
                        for member in range(len(parts[numbers[0]].cases.sights))
                    ),
                    Conditions.joined([parts[at].cases.conditions for at in numbers]),
                    np.concatenate([parts[at].cases.same_author for at in numbers]),
                ),
                np.concatenate([parts[at].authors for at in numbers]),
                Validation.joined([parts[at].condition for at in numbers]),
            ),
            np.concatenate([np.full(len(parts[at].condition), at) for at in numbers]),
        )
        for numbers in alike.values()
    ]


class SimulatedCases:
    """The cases of a set, as a model sees them."""

    def __init__(
        self,
        scorer: Scorer,
        material: CaseTexts,
        levs: Levs,
        names: tuple[str, ...],
        numbers: dict[object, int],
    ) -> None:
        self._material, self._names, self._numbers = material, names, numbers
        self._log_tokens = levs[:, -1].astype(np.float64)
        self._scorers: list[tuple[Scorer, list[Table]]] = [(scorer, scorer.tables(levs))]
        knows = [m.genres.names for m in scorer.members if isinstance(m, GenreMember)]
        if any(material.name in genres for genres in knows):
            unknown = scorer.without(material.name)
            self._scorers.append((unknown, unknown.tables(levs, self._scorers[0][1])))

    def parts(self, cases: Cases) -> Iterator[Part]:
        """The cases with the genre known and, where it can be, unknown.

        With populations, which are each case's own, half of them are seen either way.
        """
        count = len(self._scorers)
        for number, (scorer, tables) in enumerate(self._scorers):
            rows = np.arange(len(cases))
            if cases.populations:
                rows = rows[number::count]
            if len(rows):
                yield self._part(scorer, tables, cases, rows, known=number == 0)

    def _part(
        self, scorer: Scorer, tables: list[Table], cases: Cases, rows: IntArray, known: bool
    ) -> Part:
        groups: list[tuple[IntArray, IntArray | None]] = [(rows, None)]
        if cases.populations:
            groups = [(rows[at : at + 1], cases.populations[row]) for at, row in enumerate(rows)]
        sights = tuple(
            _joined([self._sight(member, table, cases, *group) for group in groups])
            for member, table in zip(scorer.members, tables, strict=True)
        )
        genres = tuple(
            member.genres if isinstance(member, GenreMember) else None for member in scorer.members
        )
        sides = cases.known[rows], cases.questioned[rows]
        conditions = Conditions.of(
            np.repeat([[float(side.shape[1])] for side in sides], len(rows), axis=1),
            np.stack([self._log_tokens[side].mean(axis=1) for side in sides]),
            len(cases.populations[0]) if cases.populations else 0,
        )
        same = cases.same_author[rows]
        return Part(
            FittingCases(genres, sights, conditions, same),
            cases.authors[rows],
            self._validation(cases, rows, conditions, same, known),
        )

    def _sight(
        self, member: object, table: Table, cases: Cases, rows: IntArray, texts: IntArray | None
    ) -> Sight | Evidence:
        sides = cases.known[rows], cases.questioned[rows]
        if isinstance(member, GenreMember):
            return member.sight_among(table, self._log_tokens, *sides, texts)
        return member.evidence_among(table, self._log_tokens, *sides, texts)  # type: ignore[attr-defined, no-any-return]

    def _validation(
        self, cases: Cases, rows: IntArray, conditions: Conditions, same: BoolArray, known: bool
    ) -> Validation:
        name, count = self._material.name, len(rows)
        whole = list(self._material.whole_texts(cases))
        number = [self._numbers.setdefault((name, whole[row]), len(self._numbers)) for row in rows]
        words = side_words(self._material.words, cases)[rows]
        return Validation(
            genres=self._names,
            log_bayes_factor=np.zeros(count, np.float32),
            same_author=same,
            genre=np.full(count, self._names.index(name), np.int32),
            words=words.astype(np.int32),
            texts=np.full(count, max(cases.known.shape[1], cases.questioned.shape[1]), np.int32),
            population=conditions.population.astype(np.int32),
            known=np.full(count, known),
            case=np.array(number, np.int32),
        )


def _joined(sights: list[Sight | Evidence]) -> Sight | Evidence:
    if len(sights) == 1:
        return sights[0]
    seen = [sight for sight in sights if isinstance(sight, Sight)]
    if seen:
        return joined(seen)
    evidence = [one for one in sights if isinstance(one, Evidence)]
    against = None
    if evidence[0].against is not None:
        first, second = (
            np.concatenate([one.against[side] for one in evidence if one.against is not None])
            for side in (0, 1)
        )
        against = first, second
    return Evidence(np.concatenate([one.log_bayes_factor for one in evidence]), against)
