"""How texts of an index are seen when candidates are looked for.

Seen from the centre of a large population, all that the model knows of two texts is the product of
their LEVs and a few numbers of each text (`Points`). So `near` is nearly the log Bayes factor that
the model would tell, for a fraction of the work. That holds of members that go by cosines; what
others say is only roughly like their cosines. What is told comes from the model's own path.

For codes it must be an inner product, and is taken to be

    the sum over members of  a_i a_q cos(i, q)  +  what text i adds  +  what text q adds

where a text's weight a is the root of what a deviation of its likeness counts (the fusion, for
texts of its length) times how many deviations a unit of likeness is (score normalisation). Two
means of both texts are geometric ones for that, and very large deviations count in full.

The *code* of a text is that point with fewer numbers, a byte each: first what the text adds by
itself, then the point along the directions in which texts of the index differ most, those of the
largest spread first. Engines look through the first numbers of all codes; all numbers of the
candidates that they bring up tell which of these to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, FloatArray, IntArray, Levs, Rows, SparseRows
from adhominem.index.files import checked
from adhominem.index.packing import Arrays
from adhominem.scoring.measures import Measures, tempered
from adhominem.scoring.members import StyleScorer
from adhominem.scoring.population import Population
from adhominem.scoring.rows import squares
from adhominem.scoring.scale import Conditions, Fusion, Scores
from adhominem.scoring.scorer import Scorer
from adhominem.scoring.two_covariance import IsotropicTwoCovariance

SIZE = 768  # numbers of a code
SAMPLE = 2_048  # texts that show the directions roughly
_STARTED = 1_024  # directions that are looked for, so that the first ones come out well
_FOLDED = 1 << 15  # places that more of them are folded to, before directions are sought
_RANGE = 5.0  # deviations that a byte reaches to
_USUAL_TEXTS = 10  # as in `scoring.measures`
_FLAT = 1e-6  # of the largest spread: directions with less of it are none
_LEAST = 1e-9
_COPY = 0.97  # cosine from which on two texts are one
_FEW = 8  # sparse rows: more of them are made plain for a product


@dataclass(frozen=True, eq=False)
class Points:
    """Where texts are, (texts, members) or as said; LEVs themselves are not in it."""

    to_mean: Array32  # the product of a LEV with the centre
    lengths: Array32  # the distance of a LEV from the centre
    middles: Array32  # the mean of a text's likenesses with texts by others
    sharpness: Array32  # how many deviations of these a unit of likeness is
    kin: AnyFloats  # (texts, kin): what tells of genres, so that products are nats
    log_tokens: Array32  # (texts,)

    def __getitem__(self, rows: slice | IntArray) -> Points:
        return Points(*(getattr(self, name)[rows] for name in POINTS))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """As they are written."""
        told = {name: getattr(self, name) for name in POINTS}
        return {**told, "kin": self.kin.astype(np.float16)}


POINTS = tuple(field.name for field in fields(Points))  # as they are written


@dataclass(frozen=True, eq=False)
class PointTable:
    """Points of all texts of an index, those of a text side by side.

    A search looks at some thousand of them, all over the index.
    """

    columns: Array32  # (texts, columns): all that points have
    widths: tuple[int, ...]  # of each of POINTS; 0 of one that has no columns of its own

    @classmethod
    def of(cls, shards: Sequence[Arrays]) -> PointTable:
        """From those of each shard, as they are written."""
        parts = [
            [arrays[name].reshape(len(arrays[name]), -1) for name in POINTS] for arrays in shards
        ]
        widths = tuple(part.shape[1] for part in parts[0])
        return cls(np.concatenate([np.concatenate(one, axis=1) for one in parts]), widths)

    def __getitem__(self, numbers: IntArray) -> Points:
        parts = np.split(self.columns[numbers], np.cumsum(self.widths)[:-1], axis=1)
        told = dict(zip(POINTS, parts, strict=True))
        return Points(**{**told, "log_tokens": parts[-1][:, 0]})


@dataclass(frozen=True, eq=False)
class _Lens:
    """What a member's LEVs are multiplied with, to see where they are."""

    table: Array32  # (size, 1 + cohort + genres): the centre, the cohort, the genres' centres
    cohort: slice
    genres: slice
    to_mean: FloatArray  # (cohort,): its products with the centre
    distances: FloatArray  # (cohort,): from the centre


@dataclass(frozen=True, eq=False)
class View:
    """From where texts are seen, and along which directions."""

    scorer: Scorer
    population: Population
    directions: tuple[Array32, ...] = ()  # (folded size, SIZE - 1) of each member, and of kin
    steps: Array32 | None = None  # (SIZE,): what a whole number of a code stands for
    middle: float = 0.0  # of what texts add by themselves

    @property
    def means(self) -> list[FloatArray]:
        """(size,): each member's part of the centre."""
        return self.scorer.split(self.population.lev_mean)

    @property
    def is_exact(self) -> bool:
        """Whether all members go by cosines, so that `near` is what the model says."""
        return all(_usual(member)[2] is not None for member in self.scorer.members)

    def shapes(self, texts: int) -> dict[str, tuple[int, ...]]:
        """Those of the codes of so many texts, and of their points."""
        each = (texts, len(self.scorer.members))
        shapes = dict.fromkeys(POINTS, each) | {"kin": (texts, len(self.signs))}
        size = 0 if self.steps is None else len(self.steps)
        return {**shapes, "log_tokens": (texts,), "codes": (texts, size)}

    @property
    def fusion(self) -> Fusion:
        """How members' measures become one number."""
        return self.scorer.scales.with_population.fusion

    def points(self, levs: Levs) -> Points:
        """Where texts with these LEVs (texts, lev_size) are."""
        parts = self.scorer.parts(self.population)
        to_means, lengths, middles, sharpness, kins = [], [], [], [], []
        for at, (member, rows) in enumerate(
            zip(self.scorer.members, self.scorer.columns(levs), strict=True)
        ):
            part, lens = parts[at], self._lenses[at]
            assert part is not None
            usual, deviation, genres = _usual(member)
            seen = _times(rows, lens.table).astype(np.float64)  # (texts, columns of the table)
            to_mean = seen[:, 0]
            square = part.mean @ part.mean
            distances = np.maximum(squares(rows) - 2 * to_mean + square, _LEAST)
            alike = seen[:, lens.cohort] - to_mean[:, None] - lens.to_mean + square
            cosines = alike / np.sqrt(distances)[:, None]
            cosines /= np.maximum(lens.distances, usual)  # (texts, cohort)
            others = cosines < _COPY  # a text of the cohort is not compared with itself
            others |= others.sum(axis=1, keepdims=True) < 2
            n, varied = self.population.texts, cosines.var(axis=1, where=others)
            shrunk = (n * varied + _USUAL_TEXTS * deviation**2) / (n + _USUAL_TEXTS)
            to_means.append(to_mean)
            lengths.append(np.sqrt(distances))
            middles.append(cosines.mean(axis=1, where=others))
            sharpness.append(1 / np.sqrt(np.maximum(shrunk, _LEAST)))
            if genres is not None:
                apart = seen[:, lens.genres] - genres.centres @ part.mean
                kins.append(apart @ self._kin_roots[at])
        columns = [np.stack(one, axis=1) for one in (to_means, lengths, middles, sharpness)]
        kin = np.concatenate([np.zeros((len(levs), 0)), *kins], axis=1)
        tokens = np.asarray(levs.log_tokens)
        return Points(*(one.astype(np.float32) for one in (*columns, kin, tokens)))

    @cached_property
    def _lenses(self) -> list[_Lens]:
        """For each member, what all texts are multiplied with."""
        lenses = []
        for member, part in zip(
            self.scorer.members, self.scorer.parts(self.population), strict=True
        ):
            assert part is not None
            genres = _usual(member)[2]
            cohort = np.asarray(part.levs, np.float32)
            rows = [part.mean[None].astype(np.float32), cohort]
            rows += [] if genres is None else [genres.centres.astype(np.float32)]
            to_mean = (cohort @ part.mean).astype(np.float64)
            distances = squares(part.levs) - 2 * to_mean + part.mean @ part.mean
            lenses.append(
                _Lens(
                    np.ascontiguousarray(np.concatenate(rows).T),
                    slice(1, 1 + len(cohort)),
                    slice(1 + len(cohort), None),
                    to_mean,
                    np.sqrt(np.maximum(distances, _LEAST)),
                )
            )
        return lenses

    @cached_property
    def _kin_roots(self) -> list[FloatArray | None]:
        """(genres, genres) of each member that goes by genres: what makes kin of them, in nats."""
        styles = [_usual(member)[2] for member in self.scorer.members]
        return [
            None if one is None else _root(one.among_genres) * np.sqrt(abs(self._kinship(at)))
            for at, one in enumerate(styles)
        ]

    @cached_property
    def _squares(self) -> FloatArray:
        """(members,): of each member's part of the centre."""
        return np.array([mean @ mean for mean in self.means])

    def kin_query(self, point: Points) -> Array32:
        """(kin,): what others are multiplied with, to tell in nats how alike genres make them."""
        return np.asarray(point.kin[0] * self.signs, np.float32)

    def near(self, point: Points, products: Array32, kin: Array32, points: Points) -> FloatArray:
        """(texts,): nearly the log Bayes factors of one text, at a point, with others.

        `products` (texts, members) are those of their LEVs, `kin` (texts,) those with `kin_query`.
        """
        alike = products - points.to_mean + (self._squares - point.to_mean[0])
        likeness = np.clip(alike / (points.lengths * point.lengths[0]), -1, 1)  # (texts, members)
        standing = 0.5 * (likeness - points.middles) * points.sharpness
        standing += 0.5 * (likeness - point.middles) * point.sharpness
        for at, member in enumerate(self.scorer.members):
            if _usual(member)[2] is not None:
                standing[:, at] = tempered(standing[:, at])
        lengths = np.log(points.lengths * point.lengths[0])
        sharpness = np.log(points.sharpness * point.sharpness[0] * self._deviations**2)
        tokens = np.full(len(products), point.log_tokens[0]), points.log_tokens
        return np.asarray(self._fused(standing, lengths, sharpness, *tokens) + kin)

    def _fused(
        self,
        standing: Array32,
        log_lengths: Array32,
        log_sharpness: Array32,
        first: Array32,
        second: Array32,
    ) -> FloatArray:
        """(texts,): what measures (texts, members) count; both sides have so many log tokens."""
        zeros = np.zeros(len(standing))
        members = [
            Measures(mine, mine, zeros, 2 * far, zeros, zeros, -sharp)
            for mine, far, sharp in zip(
                *(one.T.astype(np.float64) for one in (standing, log_lengths, log_sharpness)),
                strict=True,
            )
        ]
        lengths = first.astype(np.float64), second.astype(np.float64)
        return self.fusion(Scores(tuple(members), self._conditions(*lengths)))

    @property
    def _deviations(self) -> Array32:
        """(members,): of likenesses with texts by others, as is usual."""
        return np.array([_usual(member)[1] for member in self.scorer.members], np.float32)

    @cached_property
    def signs(self) -> Array32:
        """(kin,): 1, or -1 where being alike in what genres differ in speaks against one author."""
        signs = [
            np.full(len(genres.genres), np.sign(self._kinship(at)))
            for at, member in enumerate(self.scorer.members)
            if (genres := _usual(member)[2]) is not None
        ]
        return np.concatenate([np.zeros(0), *signs]).astype(np.float32)

    def _kinship(self, member: int) -> float:
        """How many nats a unit of a member's kinship adds."""
        one, zero = np.ones(1), np.zeros(1)
        conditions = self._conditions(*[self.population.lev_mean[-1:]] * 2)
        nothing = Measures.of_factors(zero)
        kin = Measures(zero, zero, zero, zero, one, zero, zero)
        members = [nothing] * len(self.scorer.members)
        base = Scores(tuple(members), conditions)
        return float((self.fusion(base.with_member(member, kin)) - self.fusion(base))[0])

    def _worth(self, log_tokens: FloatArray) -> FloatArray:
        """(members, texts): how many nats a deviation of likeness adds, by the texts' lengths."""
        nothing = Measures.of_factors(np.zeros(len(log_tokens)))
        one = Measures.of_factors(np.ones(len(log_tokens)))
        conditions = self._conditions(log_tokens, log_tokens)
        base = Scores((nothing,) * len(self.scorer.members), conditions)
        return np.array(
            [
                self.fusion(base.with_member(at, one)) - self.fusion(base)
                for at in range(len(self.scorer.members))
            ]
        )

    def _conditions(self, first: FloatArray, second: FloatArray) -> Conditions:
        """Those of pairs of one text a side, of such lengths."""
        return Conditions.of(
            np.ones((2, len(first))),
            np.stack([first, second]),
            self.population.texts,
            float(self.population.lev_mean[-1]),
        )

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
        ends = np.cumsum([_folded_size(mean) for mean in self.means])
        # As they are written: so codes are the same if they are made by a view that was read.
        directions = tuple(np.split(kept.astype(np.float16).astype(np.float32), ends))
        return replace(self, directions=directions, steps=steps.astype(np.float32), middle=middle)

    def _table(self, levs: Levs) -> Array32:
        """(texts, sizes of all): texts as points, plain."""
        points, columns = self.points(levs), self.scorer.columns(levs)
        factors = self._factors(points)
        parts = [self._moved(rows, factors, at) for at, rows in enumerate(columns)]
        return np.concatenate([*parts, points.kin], axis=1)

    def _moved(self, rows: Rows, factors: Array32, member: int) -> Array32:
        """(texts, folded size): a member's part of points, as plain rows."""
        plain = _folded(np.asarray(rows, np.float32))
        centre = _folded(self.means[member][None].astype(np.float32))
        return np.asarray((plain - centre) * factors[:, member, None])

    def _factors(self, points: Points) -> Array32:
        """(texts, members): what a LEV, seen from the centre, is multiplied by."""
        worth = np.maximum(self._worth(points.log_tokens.astype(np.float64)), 0).T
        return np.asarray(np.sqrt(worth * points.sharpness) / points.lengths, np.float32)

    def _bias(self, points: Points) -> Array32:
        """(texts,): what a text adds by itself."""
        sharpness = np.log(points.sharpness * self._deviations)
        usual = np.full(len(points.kin), self.population.lev_mean[-1], np.float32)
        standing = -0.5 * points.middles * points.sharpness
        lengths = np.log(points.lengths)
        bias = self._fused(standing, lengths, sharpness, points.log_tokens, usual)
        return bias.astype(np.float32)

    def along(self, levs: Levs, points: Points) -> Array32:
        """(texts, directions): points along the directions."""
        total, factors = points.kin @ self.directions[-1], self._factors(points)
        for at, rows in enumerate(self.scorer.columns(levs)):
            if rows.shape[1] > _FOLDED:
                total = total + self._moved(rows, factors, at) @ self.directions[at]
                continue
            seen = _times(rows, self.directions[at]) - self._centres[at]
            total = total + seen * factors[:, at, None]
        return np.asarray(total, np.float32)

    @cached_property
    def _centres(self) -> list[Array32]:
        """(directions,) of each member: its part of the centre along them; none if it is folded."""
        return [
            mean.astype(np.float32) @ part if len(mean) <= _FOLDED else np.zeros(0, np.float32)
            for mean, part in zip(self.means, self.directions, strict=False)
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
        turned = replace(points, kin=points.kin * self.signs)
        ones = np.ones((len(levs), 1), np.float32)
        return np.asarray(np.concatenate([ones, self.along(levs, turned)], 1) * self.steps)

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
        sizes = [*map(_folded_size, view.means), len(view.signs)]
        directions = [
            checked(arrays, f"directions{at}", "f2", size, len(steps) - 1).astype(np.float32)
            for at, size in enumerate(sizes)
        ]
        return replace(view, directions=tuple(directions))


def _usual(member: Any) -> tuple[float, float, Any]:
    """The usual distance, the usual deviation of likenesses, and the genres if it goes by them."""
    if not isinstance(member, StyleScorer):
        return 0.0, 0.1, None
    model = member.styles.two_covariance
    if not isinstance(model, IsotropicTwoCovariance):
        return member.styles.usual, 0.1, None
    return member.styles.usual, float(model.independent) ** -0.5, member.styles


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


def _root(matrix: FloatArray) -> FloatArray:
    """(size, size): R with R R' = matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


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


def _folded_size(mean: FloatArray) -> int:
    """Of a member's part of a point."""
    return min(len(mean), _FOLDED)


def _fold(places: npt.NDArray[np.integer]) -> tuple[npt.NDArray[np.int64], Array32]:
    """Where each place goes among fewer, and with which sign: so that chance products cancel."""
    mixed = (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    signs = 1 - 2 * ((mixed >> np.uint64(20)) & np.uint64(1)).astype(np.float32)
    return (mixed >> np.uint64(49)).astype(np.int64), signs


def _folded(rows: Array32) -> Array32:
    """(rows, folded size): plain rows (rows, size), with many places folded to fewer."""
    if rows.shape[1] <= _FOLDED:
        return rows
    where, signs = _fold(np.arange(rows.shape[1]))
    result = np.zeros((_FOLDED, len(rows)), np.float32)
    np.add.at(result, where, (rows * signs).T)
    return result.T
