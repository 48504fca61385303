"""What members' measures are worth: fused to one honest log Bayes factor, within bounds.

The same likeness says more of two long texts than of two e-mails, more against five known texts
than against one, and more with fifty texts of the genre than with none. So the fusion knows the
*conditions* of a comparison beside the measures (speaker recognition calls such things quality
measures). Its weights are fitted to cases of authors that the model has never seen, under all these
conditions (`scoring.fitting`, `jobs.calibrate`). Beyond its bounds there are too few cases of like
conditions to support anything stronger, so nothing stronger is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from math import log
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import ModelError, OptionError
from adhominem.records import NotNegative, Positive, Within, from_json, to_json
from adhominem.scoring.decision import ensemble_log_bayes_factor
from adhominem.scoring.measures import Measures
from adhominem.scoring.population import Population

METHODS = ("logistic", "isotonic")
_LARGEST = 1e30  # weight of a fusion, or number in a calibration: no fit comes near
_Bound = Annotated[float, Within(-_LARGEST, _LARGEST)]  # in a file; infinite while one is fitted
USUAL_LOG_TOKENS = 6.5  # some 650
_LONGER = 2.5  # in log tokens: twelve times as long as the population's texts


@dataclass(frozen=True)
class Conditions:
    """What some pairs of sides are made of, (pairs,) each or (2, pairs): one row a side."""

    texts: FloatArray  # (2, pairs)
    log_tokens: FloatArray  # (2, pairs): the mean over the texts of a side
    population: FloatArray  # (pairs,): texts; 0 without one
    longer: FloatArray  # (2, pairs): by how much a side's log tokens exceed those of the population

    @classmethod
    def of(
        cls,
        texts: FloatArray,
        log_tokens: FloatArray,
        population: int,
        population_log_tokens: float,
    ) -> Conditions:
        """Of pairs that share a population of so many texts, of such a mean length."""
        longer = log_tokens - population_log_tokens if population else np.zeros(texts.shape)
        return cls(texts, log_tokens, np.full(texts.shape[1], float(population)), longer)

    def __len__(self) -> int:
        return int(self.texts.shape[1])

    def __getitem__(self, chosen: slice | BoolArray) -> Conditions:
        return Conditions(*(getattr(self, field.name)[..., chosen] for field in fields(self)))

    @staticmethod
    def joined(parts: Sequence[Conditions]) -> Conditions:
        """Those of several sets of pairs in a row."""
        return Conditions(
            *(
                np.concatenate([getattr(part, field.name) for part in parts], axis=-1)
                for field in fields(Conditions)
            )
        )


@dataclass(frozen=True)
class Scores:
    """What is known of some pairs before it becomes one number each."""

    members: tuple[Measures, ...]
    conditions: Conditions

    def __getitem__(self, chosen: slice | BoolArray) -> Scores:
        return Scores(tuple(member[chosen] for member in self.members), self.conditions[chosen])

    def __len__(self) -> int:
        return len(self.conditions)

    @staticmethod
    def joined(parts: Sequence[Scores]) -> Scores:
        """Those of several sets of pairs in a row."""
        if len(parts) == 1:
            return parts[0]
        members = zip(*(part.members for part in parts), strict=True)
        return Scores(
            tuple(Measures.joined(list(member)) for member in members),
            Conditions.joined([part.conditions for part in parts]),
        )

    def with_member(self, number: int, measures: Measures) -> Scores:
        """These with other measures of one member."""
        members = list(self.members)
        members[number] = measures
        return replace(self, members=tuple(members))

    def weighted(self, weights: FloatArray) -> Scores:
        """These with each member's standing multiplied by its weight (members,)."""
        members = [
            replace(member, standing=member.standing * weight)
            for member, weight in zip(self.members, weights, strict=True)
        ]
        return replace(self, members=tuple(members))


def design(scores: Scores, log_tokens: tuple[float, float]) -> FloatArray:
    """(1 + columns, pairs): ones, what each member says, and how conditions change its weight.

    Nothing depends on which side is the first. Beyond `log_tokens`, the least and the most that the
    weights were fitted to, a length counts as these.
    """
    conditions = scores.conditions
    few = (1 / conditions.texts).sum(axis=0) - 1  # 1: one text a side; towards -1: many
    length = np.clip(conditions.log_tokens, *log_tokens).mean(axis=0) - USUAL_LOG_TOKENS
    small = 1 / (conditions.population + 1)
    longer = np.clip(conditions.longer, -_LONGER, _LONGER)  # (2, pairs)
    rows = [np.ones(len(scores)), few, length, small]
    rows += [few * length, few**2, length**2, small**2]
    rows += [longer.sum(axis=0), longer.prod(axis=0), np.square(longer).sum(axis=0)]
    for member in scores.members:
        standing, agreement = member.standing, member.agreement
        rows += [standing, standing * few, standing * length, standing * small]
        rows += [standing * longer.sum(axis=0)]
        rows += [agreement, agreement * standing, agreement**2]
        rows += [member.remoteness, member.kinship, member.spread]
    return np.array(rows)


_SHARED_ROWS, _MEMBER_ROWS = 11, 11  # of a design
_PLAIN_ROWS = (0, 8, 9, 10)  # of a member: its standing, remoteness, kinship and spread


def plain_rows(members: int) -> BoolArray:
    """(1 + columns,): which rows of a design are measures, without conditions."""
    of_member = np.isin(np.arange(_MEMBER_ROWS), _PLAIN_ROWS)
    return np.concatenate([np.zeros(_SHARED_ROWS, dtype=bool), np.tile(of_member, members)])


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """The measures of all members as one log Bayes factor: their weighted sum, see `design`.

    Without weights it is that of the mean of the members' probabilities (the paper's ensemble).
    """

    weights: tuple[float, ...] = ()
    log_tokens: tuple[float, float] = (0.0, 20.0)

    def check(self) -> None:
        """An OptionError if these are no weights."""
        if not all(abs(value) < _LARGEST for value in (*self.weights, *self.log_tokens)):
            raise OptionError(
                "the fusion has weights that are no numbers, or beyond all bounds; calibrate again"
            )
        if not self.log_tokens[0] <= self.log_tokens[1]:
            raise OptionError(f"log_tokens is {self.log_tokens}; expected the least, then the most")

    def __call__(self, scores: Scores) -> FloatArray:
        """(pairs,): one log Bayes factor for each pair."""
        if not self.weights:
            return ensemble_log_bayes_factor([one.log_bayes_factor for one in scores.members])
        rows = design(scores, self.log_tokens)
        if len(self.weights) != len(rows):
            raise OptionError(f"{len(self.weights)} weights; there are {len(rows)} measures")
        return np.asarray(np.array(self.weights) @ rows)

    def for_longer(self, times: Sequence[float]) -> Fusion:
        """This fusion for members whose LEVs are so many times as long (members,).

        Only remoteness depends on that: it is the logarithm of a product of four lengths.
        """
        if weights_for(len(times)) != len(self.weights):
            raise OptionError(f"{len(self.weights)} weights; there are {len(times)} members")
        remoteness = self.weights[_SHARED_ROWS + _PLAIN_ROWS[1] :: _MEMBER_ROWS]
        change = sum(
            weight * 4 * log(longer) for weight, longer in zip(remoteness, times, strict=True)
        )
        return replace(self, weights=(self.weights[0] - change, *self.weights[1:]))


def weights_for(members: int) -> int:
    """How many weights a fusion of so many members has."""
    return _SHARED_ROWS + _MEMBER_ROWS * members


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The least and the greatest log Bayes factor that cases of like conditions support.

    The conditions are at least so many texts on the larger side, at least so many tokens a text on
    the side of shorter ones, at least so many texts in the population; and fewer than in the next
    bounds.
    """

    texts: Annotated[int, Within(1)]
    tokens: Annotated[int, Within(0)]
    population: Annotated[int, Within(0)]
    lower: _Bound
    upper: _Bound
    same_author: Annotated[int, Within(0)]  # cases
    different_authors: Annotated[int, Within(0)]


TEXTS = (1, 2, 4)  # least numbers of a cell of conditions
TOKENS = (0, 250, 600, 1_500)
POPULATION = (0, 5, 20)


def cells(conditions: Conditions) -> npt.NDArray[np.int64]:
    """(3, pairs): the texts, tokens and population of the cell that each pair is in."""
    values = (
        conditions.texts.max(axis=0),
        np.exp(conditions.log_tokens.min(axis=0)),
        conditions.population,
    )
    return np.array(
        [
            np.array(starts)[np.searchsorted(starts, value, side="right") - 1]
            for starts, value in zip((TEXTS, TOKENS, POPULATION), values, strict=True)
        ]
    )


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The map: `log_bayes_factors[i]` at `scores[i]`, linear in between and, if logistic, beyond.

    All are in nats. A logistic map is a line, two points; an isotonic one is a flight of steps.
    """

    method: str
    scores: tuple[float, ...]
    log_bayes_factors: tuple[float, ...]
    lower_bound: _Bound  # of the log Bayes factor, where no bounds of its conditions are known
    upper_bound: _Bound
    pairs: Annotated[int, Within(0)]  # that it was fitted to
    bounds: tuple[Bounds, ...] = ()  # by conditions

    @classmethod
    def identity(cls, pairs: int) -> Calibration:
        """Of scores that are log Bayes factors already, by so many pairs; without bounds."""
        return cls(
            method="logistic",
            scores=(0.0, 1.0),
            log_bayes_factors=(0.0, 1.0),
            lower_bound=-np.inf,
            upper_bound=np.inf,
            pairs=pairs,
        )

    def check(self) -> None:
        """An OptionError if this is no map."""
        knots, factors = np.array(self.scores), np.array(self.log_bayes_factors)
        if self.method not in METHODS:
            raise OptionError(
                f"the calibration is {self.method!r}; expected {' or '.join(METHODS)}"
            )
        if len(knots) != len(factors) or not len(knots):
            raise OptionError(
                f"{len(knots)} scores and {len(factors)} log Bayes factors; expected as many"
            )
        if self.method == "logistic" and len(knots) != 2:
            raise OptionError(f"a logistic calibration with {len(knots)} scores; expected 2 points")
        if not (np.abs([knots, factors]) < _LARGEST).all():
            raise OptionError(
                "a point of the calibration is not finite, or beyond all bounds; calibrate again"
            )
        if (np.diff(knots) <= 0).any() or (np.diff(factors) < 0).any():
            raise OptionError("the calibration is not monotone; expected rising scores and factors")
        if self.method == "logistic" and not np.isfinite(self.slope):
            raise OptionError("the slope of the calibration is not finite; calibrate again")
        ends = [(self.lower_bound, self.upper_bound)]
        for lower, upper in ends + [(cell.lower, cell.upper) for cell in self.bounds]:
            if not lower <= upper:
                raise OptionError(f"the bounds are {lower} and {upper}; expected lower <= upper")

    @property
    def widest(self) -> tuple[float, float]:
        """The least and the greatest log Bayes factor under any conditions."""
        lower = min([self.lower_bound, *(cell.lower for cell in self.bounds)])
        return lower, max([self.upper_bound, *(cell.upper for cell in self.bounds)])

    def limits(self, conditions: Conditions) -> FloatArray:
        """(2, pairs): the bounds of each pair, by its conditions."""
        limits = np.repeat([[self.lower_bound], [self.upper_bound]], len(conditions), axis=1)
        places = cells(conditions)
        for cell in self.bounds:
            place = np.array([[cell.texts], [cell.tokens], [cell.population]])
            inside = (places == place).all(axis=0)
            limits[:, inside] = [[cell.lower], [cell.upper]]
        return limits

    def unbounded(self, scores: npt.ArrayLike) -> FloatArray:
        """The log Bayes factor for each score of the model, without bounds."""
        values = np.asarray(scores, dtype=np.float64)
        if self.method == "logistic":
            start, origin = self.log_bayes_factors[0], self.scores[0]
            return np.asarray(start + self.slope * (values - origin))
        return np.interp(values, self.scores, self.log_bayes_factors)

    @property
    def slope(self) -> float:
        """From the first point to the last; infinite where they are too near to each other."""
        if len(self.scores) == 1:
            return 0.0
        rise = np.float64(self.log_bayes_factors[-1] - self.log_bayes_factors[0])
        with np.errstate(over="ignore"):
            return float(rise / (self.scores[-1] - self.scores[0]))

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        written: dict[str, Any] = to_json(self)
        return written

    @classmethod
    def from_json(cls, data: Any) -> Calibration:
        """The calibration that `to_json` wrote; anything else raises a RecordError."""
        calibration = from_json(cls, data, "calibration")
        calibration.check()
        return calibration


@dataclass(frozen=True)
class Scale:
    """From the members' scores to a log Bayes factor: their fusion, then the calibration."""

    fusion: Fusion = field(default_factory=Fusion)
    calibration: Calibration | None = None


@dataclass(frozen=True)
class Scales:
    """What scores are worth: without a relevant population, with one, with companions in it."""

    alone: Scale = field(default_factory=Scale)
    population: Scale | None = None
    companions: Scale | None = None
    usual_separation: tuple[Positive, ...] = ()  # of each member: see `scoring.companions`
    least_company: NotNegative = 0.0  # of texts that may draw on companions: see there, too
    misfit: tuple[float, ...] = ()  # a constant, and the weight of each member's

    def __post_init__(self) -> None:
        for scale in (self.alone, self.population, self.companions):
            if scale is not None:
                scale.fusion.check()
                if scale.calibration is not None:
                    scale.calibration.check()

    def of(self, population: Population | None) -> Scale:
        """The scale for a comparison with this population, or without one.

        A model that was not calibrated with populations is not calibrated then.
        """
        if population is None:
            return self.alone
        if population.companions is not None:
            return self.companions or Scale()
        return self.with_population

    @property
    def with_population(self) -> Scale:
        """The scale for comparisons with a population that draw on no companions."""
        return self.population or Scale()

    def strange(self, scores: Scores) -> BoolArray:
        """(pairs,): whether the population seems to be of another genre than a pair.

        The weights are those of a logistic regression: above 0 it is the likelier.
        """
        if not self.misfit:
            return np.zeros(len(scores), dtype=bool)
        rows = [member.misfit for member in scores.members]
        return np.asarray(self.misfit[0] + np.array(self.misfit[1:]) @ rows > 0)

    def check(self, name: str, members: int) -> None:
        """A ModelError unless they are for so many members."""
        problem = ""
        if len(self.usual_separation) not in (0, members):
            problem = f"usual_separation is for {len(self.usual_separation)} members"
        if len(self.misfit) not in (0, 1 + members):
            problem = f"misfit is for {len(self.misfit) - 1} members"
        for scale in (self.alone, self.population, self.companions):
            if scale is not None and len(scale.fusion.weights) not in (0, weights_for(members)):
                problem = f"a fusion has {len(scale.fusion.weights)} weights"
        if problem:
            raise ModelError(
                f"the calibration of {name} is damaged, or that of another model ({problem}; there "
                f"are {members}); calibrate the model again"
            )
