"""How texts of an index are seen when candidates are looked for.

All that the model knows of two single texts is the product of their LEVs and a few numbers of each
(`index.forms`). `Points` hold these, and what a text usually has with others (the S-norm). So
`near` is the log Bayes factor that the model would report, for a fraction of the work.

For codes it must be an inner product, and is taken to be

    the sum over members of  a_i a_q z_i z_q  +  what text i adds  +  what text q adds

where z is how far a text is from c. The weights a are what products count for two texts like this
one, their roots: the geometric mean stands for what two texts that are not alike count.

The *code* of a text is that point with fewer numbers, a byte each: first what the text adds by
itself, then the point along the directions in which texts of the index differ most, those of the
largest spread first. Engines look through the first numbers of all codes; all numbers of the
candidates that they bring up tell which of these to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import (
    AnyFloats,
    AnyLevs,
    Array32,
    FloatArray,
    IntArray,
    Levs,
    Rows,
    SparseRows,
)
from adhominem.index.chosen import by_shard
from adhominem.index.files import checked
from adhominem.index.forms import Form, Weighing, forms_of
from adhominem.index.packing import Arrays
from adhominem.score.decision import ensemble_log_bayes_factor
from adhominem.score.population import Population
from adhominem.score.scorer import Scorer, log_tokens_of

SIZE = 768  # numbers of a code
SAMPLE = 2_048  # texts that show the directions roughly
_STARTED = 1_024  # directions that are looked for, so that the first ones come out well
_FOLDED = 1 << 15  # places that more of them are folded to, before directions are sought
_RANGE = 5.0  # deviations that a byte reaches to
_HIT = 2.0  # deviations above what is usual: codes are right for such texts
_FLAT = 1e-6  # of the largest spread: directions with less of it are none
_LEAST = 1e-9
_FEW = 8  # sparse rows: more of them are made plain for a product
_LENGTHS = np.linspace(np.log(60), np.log(20_000), 128)  # log tokens that weights are known of


@dataclass(frozen=True, eq=False)
class Points:
    """Where texts are, (texts, members) or as said; LEVs themselves are not in it."""

    to_centre: Array32  # the product of a LEV with c, less half the square of c
    scales: Array32  # what a text's distance from c is multiplied by
    squares: Array32  # the squared distance from c in the rest, times that
    log_tokens: Array32  # (texts,)
    usual: Array32  # (texts,): the mean of what a text has with texts by others
    deviations: Array32  # (texts,)
    places: AnyFloats  # (texts, directions of all members): coordinates, times the scales

    def __getitem__(self, rows: slice | IntArray) -> Points:
        return Points(*(getattr(self, name)[rows] for name in POINTS))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """As they are written."""
        told = {name: getattr(self, name) for name in POINTS}
        return {**told, "places": self.places.astype(np.float16)}


POINTS = tuple(field.name for field in fields(Points))  # as they are written
_OF_TEXT = ("log_tokens", "usual", "deviations")  # a number a text


@dataclass(frozen=True, eq=False)
class PointTable:
    """Points of all texts of an index, those of a text side by side.

    A search looks at some thousand of them, all over the index.
    """

    columns: Array32  # (texts, columns): all but the places
    places: tuple[AnyFloats, ...]  # (texts, directions) of each shard: large, and read where needed
    members: int

    @classmethod
    def of(cls, shards: Sequence[Arrays]) -> PointTable:
        """From those of each shard, as they are written."""
        parts = [
            np.concatenate([arrays[name].reshape(len(arrays[name]), -1) for name in POINTS[:-1]], 1)
            for arrays in shards
        ]
        places = tuple(arrays["places"] for arrays in shards)
        return cls(np.concatenate(parts), places, shards[0]["scales"].shape[1])

    def __getitem__(self, numbers: IntArray) -> Points:
        columns, m = self.columns[numbers], self.members
        places = np.empty((len(numbers), self.places[0].shape[1]), np.float32)
        for at, chosen, rows in by_shard([len(part) for part in self.places], numbers):
            places[chosen] = self.places[at][rows]
        of_members = columns[:, :m], columns[:, m : 2 * m], columns[:, 2 * m : 3 * m]
        tokens, usual, deviations = columns[:, 3 * m :].T
        return Points(*of_members, tokens, usual, deviations, places)


@dataclass(frozen=True, eq=False)
class View:
    """From where texts are seen, and along which directions."""

    scorer: Scorer
    population: Population
    directions: tuple[Array32, ...] = ()  # (folded size, SIZE - 1) of each member, and of places
    steps: Array32 | None = None  # (SIZE,): what a whole number of a code stands for
    middle: float = 0.0  # of what texts add by themselves

    @cached_property
    def forms(self) -> list[Form]:
        """What each member says of two texts."""
        return forms_of(self.scorer.members, self.scorer.parts(self.population))

    @cached_property
    def _columns(self) -> list[slice]:
        """Those of each member among the places of all."""
        ends = np.cumsum([0, *(len(form.basis) for form in self.forms)]).tolist()
        return [slice(*part) for part in pairwise(ends)]

    def shapes(self, texts: int) -> dict[str, tuple[int, ...]]:
        """Those of the codes of so many texts, and of their points."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(POINTS, (texts, len(self.forms)))
        shapes |= dict.fromkeys(_OF_TEXT, (texts,))
        size = 0 if self.steps is None else len(self.steps)
        return {**shapes, "places": (texts, self._columns[-1].stop), "codes": (texts, size)}

    def points(self, levs: AnyLevs) -> Points:
        """Where texts with these LEVs (texts, lev_size) are."""
        tokens = log_tokens_of(levs)
        columns = zip(self.forms, self.scorer.columns(levs), strict=True)
        seen = [form.seen(rows, tokens) for form, rows in columns]
        against = np.sum([one.against for one in seen], axis=0)  # (texts, cohort)
        kept = next((one.kept for one in seen if one.kept is not None), None)
        usual, deviations = self.scorer.weights.usual(against, kept)
        parts = [
            np.stack([getattr(one, name) for one in seen], axis=1)
            for name in ("to_centre", "scales", "squares")
        ]
        places = np.concatenate([one.places for one in seen], axis=1)
        all_parts = (*parts, tokens, usual, deviations, places)
        return Points(*(part.astype(np.float32) for part in all_parts))

    def near(self, point: Points, products: Array32, points: Points) -> FloatArray:
        """(texts,): nearly the log Bayes factors of one text, at a point, with others.

        `products` (texts, members) are those of their LEVs.
        """
        along = [points.places[:, part] @ point.places[0, part] for part in self._columns]
        rest = (products - points.to_centre - point.to_centre) / self._units**2
        rest = rest * points.scales * point.scales - np.stack(along, axis=1)
        return self._said(point, rest, points)

    @cached_property
    def _units(self) -> Array32:
        """(members,): of LEVs."""
        return np.array([form.unit for form in self.forms], np.float32)

    def _said(self, point: Points, rest: Array32, points: Points) -> FloatArray:
        """(texts,): the same by products (texts, members) in the rest, seen from c and scaled."""
        length = _length(point.log_tokens)
        lengths = _length(points.log_tokens)  # (texts,)
        members = []
        for at, (form, part) in enumerate(zip(self.forms, self._columns, strict=True)):
            mine, theirs = point.places[0, part], points.places[:, part]
            here, back = _weighings(form, _LENGTHS[length])  # of each length
            own = back.square * point.squares[0, at] + back.place_square @ mine**2
            by_length = np.stack([here.constant + own, here.square, here.product])
            constant, square, product = by_length[:, lengths]  # (texts,) each
            of_place = here.place_square.astype(np.float32)[lengths] * theirs
            of_place += (here.place_product * mine).astype(np.float32)[lengths]
            of_places = np.einsum("td,td->t", of_place, theirs)
            members.append(
                constant + square * points.squares[:, at] + product * rest[:, at] + of_places
            )
        if self.scorer.calibration is None:
            return np.asarray(ensemble_log_bayes_factor(members))
        usual = [(side.usual, side.deviations) for side in (point, points)]
        total = np.asarray(np.sum(members, axis=0))
        return self.scorer.weights.weigh(total, usual, self.population.texts)

    # Codes

    def with_directions(self, levs: Levs, more: Iterable[Levs] = ()) -> View:
        """This view with the directions in which a sample (texts, lev_size) differs most.

        Of a few thousand texts, only the first directions are those of the index. So `more` texts,
        some at a time, correct them (one step of subspace iteration, by Nyström's method).
        """
        table = self._table(levs)  # (texts, sizes of all)
        values, vectors = np.linalg.eigh((table @ table.T).astype(np.float64))
        count = min(_STARTED, int((values > _FLAT * values[-1]).sum()))
        values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
        kept = table.T @ (vectors / np.sqrt(values)).astype(np.float32)  # (sizes, directions)
        texts, turned = 0, np.zeros_like(kept)
        for part in more:
            table = self._table(part)
            turned += table.T @ (table @ kept)
            texts += len(part)
        if texts:
            values, kept = _nystroem(kept, turned)
        values, kept = values[: SIZE - 1], kept[:, : SIZE - 1]
        steps = np.concatenate([[0.0], np.sqrt(values / (texts or len(levs))) * _RANGE / 127])
        bias = self._bias(self.points(levs))
        middle = float(bias.mean())
        steps[0] = max(float(np.abs(bias - middle).max()), _LEAST) / 127
        ends = np.cumsum([_folded_size(form) for form in self.forms])
        # As they are written: so codes are the same if they are made by a view that was read.
        directions = tuple(np.split(kept.astype(np.float16).astype(np.float32), ends))
        return replace(self, directions=directions, steps=steps.astype(np.float32), middle=middle)

    def _table(self, levs: Levs) -> Array32:
        """(texts, sizes of all): texts as points, plain."""
        points, columns = self.points(levs), self.scorer.columns(levs)
        factors, of_places = self._factors(points)
        parts = []
        for at, (form, rows) in enumerate(zip(self.forms, columns, strict=True)):
            moved = _folded(np.asarray(rows, np.float32)) - _folded(form.centre[None])
            moved *= points.scales[:, at, None] / form.unit
            moved -= points.places[:, self._columns[at]] @ _folded(form.basis)
            parts.append(moved * factors[:, at, None])
        return np.concatenate([*parts, points.places * of_places], axis=1).astype(np.float32)

    def _factors(self, points: Points) -> tuple[Array32, Array32]:
        """(texts, members), (texts, directions): what scaled distances from c are multiplied by."""
        slopes = np.full(len(points.usual), 1 / len(self.forms))
        if self.scorer.calibration is not None:
            usual = [(points.usual, points.deviations)] * 2
            at = points.usual + _HIT * points.deviations
            low, high = (
                self.scorer.weights.weigh(at + step, usual, self.population.texts)
                for step in (-0.5, 0.5)
            )
            slopes = np.maximum(high - low, 0)
        lengths = _length(points.log_tokens)
        alike = [form.weighing(_LENGTHS, _LENGTHS) for form in self.forms]
        rest = np.stack([one.product for one in alike], axis=1)[lengths]
        places = np.concatenate([one.place_product for one in alike], axis=1)[lengths]
        each = slopes[:, None]
        return (
            np.sqrt(np.maximum(rest, 0) * each).astype(np.float32),
            np.sqrt(np.maximum(places, 0) * each).astype(np.float32),
        )

    def _bias(self, points: Points) -> Array32:
        """(texts,): what a text adds by itself: what it has with a usual one that is unlike it."""
        rest = np.zeros(points.scales.shape, np.float32)
        return self._said(self._usual_text, rest, points).astype(np.float32)

    @cached_property
    def _usual_text(self) -> Points:
        """A text as those of the population are on average; it lies at c."""
        points = self.points(self.population.cohort)
        means = (getattr(points, name).mean(axis=0, keepdims=True) for name in POINTS)
        return replace(Points(*means), places=np.zeros_like(points.places[:1]))

    def along(self, levs: Levs, points: Points) -> Array32:
        """(texts, directions): points along the directions."""
        factors, of_places = self._factors(points)
        total = (points.places * of_places) @ self.directions[-1]
        for at, (form, rows) in enumerate(zip(self.forms, self.scorer.columns(levs), strict=True)):
            directions = self.directions[at]
            if rows.shape[1] > _FOLDED:
                seen = _folded(np.asarray(rows, np.float32)) @ directions
            else:
                seen = _times(rows, directions)
            centre, basis = self._along_directions[at]
            seen = (seen - centre) * (points.scales[:, at, None] / form.unit)
            seen -= points.places[:, self._columns[at]] @ basis
            total = total + seen * factors[:, at, None]
        return np.asarray(total, np.float32)

    @cached_property
    def _along_directions(self) -> list[tuple[Array32, Array32]]:
        """(directions,) and (coordinates, directions) of each member: c, and its basis."""
        return [
            ((_folded(form.centre[None]) @ part)[0], _folded(form.basis) @ part)
            for form, part in zip(self.forms, self.directions, strict=False)
        ]

    def codes(self, levs: Levs, points: Points) -> npt.NDArray[np.int8]:
        """(texts, numbers): the codes of texts, the first number for what each adds by itself."""
        assert self.steps is not None
        bias = self._bias(points)[:, None] - self.middle
        plain = np.concatenate([bias, self.along(levs, points)], axis=1)
        return np.clip(np.rint(plain / self.steps), -127, 127).astype(np.int8)

    def query(self, levs: Levs, points: Points) -> Array32:
        """(texts, numbers): what codes are multiplied with, to find texts near to these."""
        assert self.steps is not None
        ones = np.ones((len(levs), 1), np.float32)
        return np.asarray(np.concatenate([ones, self.along(levs, points)], 1) * self.steps)

    def arrays(self) -> Arrays:
        """As it is written, without scorer and population."""
        assert self.steps is not None
        named = {f"directions{at}": part for at, part in enumerate(self.directions)}
        halved = {name: part.astype(np.float16) for name, part in named.items()}
        return {"steps": self.steps, "middle": np.array([self.middle], np.float32), **halved}

    @classmethod
    def from_arrays(cls, scorer: Scorer, population: Population, arrays: Arrays) -> View:
        """What `arrays` gave; a ValueError if anything is missing or does not fit."""
        steps = checked(arrays, "steps", "f4", None)
        if not steps.min(initial=1) > 0:
            raise ValueError("its steps are not all above zero")
        view = cls(scorer, population, (), steps, float(checked(arrays, "middle", "f4", 1)[0]))
        sizes = [*map(_folded_size, view.forms), view._columns[-1].stop]
        directions = [
            checked(arrays, f"directions{at}", "f2", size, len(steps) - 1).astype(np.float32)
            for at, size in enumerate(sizes)
        ]
        return replace(view, directions=tuple(directions))


def _length(log_tokens: AnyFloats) -> IntArray:
    """(texts,): the place of the nearest one of `_LENGTHS`."""
    place = (log_tokens - _LENGTHS[0]) / (_LENGTHS[1] - _LENGTHS[0])
    return np.asarray(np.clip(np.rint(place), 0, len(_LENGTHS) - 1), np.int64)


def _weighings(form: Form, log_tokens: FloatArray) -> tuple[Weighing, Weighing]:
    """Of texts of each of `_LENGTHS` with one of another, (1,); and the other way round."""
    return form.weighing(_LENGTHS, log_tokens), form.weighing(log_tokens, _LENGTHS)


def _times(rows: Rows, table: Array32) -> Array32:
    """(rows, columns): rows (rows, size) times a table (size, columns)."""
    if not isinstance(rows, SparseRows):
        return np.asarray(rows.astype(np.float32, copy=False) @ table)
    if len(rows) > _FEW:
        return np.asarray(np.asarray(rows, np.float32) @ table)
    result = np.empty((len(rows), table.shape[1]), np.float32)
    for at in range(len(rows)):
        places, values = rows.row(at)
        result[at] = values.astype(np.float32) @ table[places]
    return result


def _nystroem(kept: Array32, turned: Array32) -> tuple[FloatArray, Array32]:
    """Directions from what a covariance makes of some (sizes, directions), and its size in each.

    They are those of the covariance's best approximation that has these products.
    """
    inside = (kept.T @ turned).astype(np.float64)
    values, vectors = np.linalg.eigh((inside + inside.T) / 2)
    whole = values > _FLAT * values.max(initial=_LEAST)
    root = vectors[:, whole] / np.sqrt(values[whole])
    parts = turned @ root.astype(np.float32)  # (sizes, directions): times itself, the covariance
    values, vectors = np.linalg.eigh((parts.T @ parts).astype(np.float64))
    whole = values > _FLAT * values.max(initial=_LEAST)
    values, vectors = values[whole][::-1], vectors[:, whole][:, ::-1]
    return values, parts @ (vectors / np.sqrt(values)).astype(np.float32)


def _folded_size(form: Form) -> int:
    """Of a member's part of a point."""
    return min(len(form.centre), _FOLDED)


def _fold(places: npt.NDArray[np.integer]) -> tuple[npt.NDArray[np.int64], Array32]:
    """Where each place goes among fewer, and with which sign: so that chance products cancel."""
    mixed = (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    signs = 1 - 2 * ((mixed >> np.uint64(20)) & np.uint64(1)).astype(np.float32)
    return (mixed >> np.uint64(49)).astype(np.int64), signs


def _folded(rows: AnyFloats) -> Array32:
    """(rows, folded size): plain rows (rows, size), with many places folded to fewer."""
    rows = rows.astype(np.float32, copy=False)
    if rows.shape[1] <= _FOLDED:
        return rows
    where, signs = _fold(np.arange(rows.shape[1]))
    result = np.zeros((_FOLDED, len(rows)), np.float32)
    np.add.at(result, where, (rows * signs).T)
    return result.T
