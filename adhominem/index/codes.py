"""Codes: the vectors that engines scan, and how they are made.

An inner product represents the approximate log Bayes factor of two texts:

    the sum over members of  a_i a_q z_i z_q  +  what text i adds  +  what text q adds

where z is the distance of a text from c. The weights a are the square roots of the weights of
products of two texts like this one: their geometric mean approximates the weight for two unlike
texts.

The *code* of a text is that point with fewer numbers, a byte each: first what the text adds by
itself, then the point along the directions in which texts of the index differ most, those of the
largest spread first. Engines scan the first numbers of all codes; all numbers of the
candidates that they find decide which of these are scored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, FloatArray, Levs, Rows, SparseRows
from adhominem.index.approximate import ApproximateScorer, Points, QuadraticForm
from adhominem.index.files import Arrays, InFile, Shard, Stored, checked, naming_damage, read_arrays
from adhominem.index.store import Store
from adhominem.score.population import FEWEST, Population
from adhominem.verify.verifier import Verifier

SIZE = 768  # numbers of a code
SAMPLE = 2_048  # texts that show the directions roughly
_STARTED = 1_024  # directions to compute, so that the first ones are accurate
_FOLDED = 1 << 15  # places that more numbers are folded to, before directions are computed
_RANGE = 5.0  # deviations that a byte covers
_FLAT = 1e-6  # of the largest spread: directions with less are dropped
_LEAST = 1e-9
_FEW = 8  # sparse rows: more are unpacked for a product


@dataclass(frozen=True, eq=False)
class Coder(Stored):
    """Makes codes; its population is that of the index when the coder was made."""

    approximate: ApproximateScorer
    directions: tuple[Array32, ...]  # (folded size, SIZE - 1) of each member, and of places
    steps: Annotated[Array32, InFile("f4", "numbers")]  # what a whole number of a code stands for
    middle: Annotated[float, InFile("f4")]  # of what texts add by themselves

    @classmethod
    def of(cls, approximate: ApproximateScorer, levs: Levs, more: Iterable[Levs] = ()) -> Coder:
        """A coder of the directions in which a sample (texts, lev_size) differs most.

        In a sample of a few thousand texts, only the first directions agree with those of the
        index. So `more` texts, some at a time, correct them (one step of subspace iteration, by
        Nyström's method).
        """
        table = _table(approximate, levs)  # (texts, sizes of all)
        values, vectors = np.linalg.eigh((table @ table.T).astype(np.float64))
        count = min(_STARTED, int((values > _FLAT * values[-1]).sum()))
        values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
        kept = table.T @ (vectors / np.sqrt(values)).astype(np.float32)  # (sizes, directions)
        texts, turned = 0, np.zeros_like(kept)
        for part in more:
            table = _table(approximate, part)
            turned += table.T @ (table @ kept)
            texts += len(part)
        if texts:
            values, kept = _nystroem(kept, turned)
        values, kept = values[: SIZE - 1], kept[:, : SIZE - 1]
        steps = np.concatenate([[0.0], np.sqrt(values / (texts or len(levs))) * _RANGE / 127])
        bias = approximate.bias(approximate.points(levs))
        middle = float(bias.mean())
        steps[0] = max(float(np.abs(bias - middle).max()), _LEAST) / 127
        ends = np.cumsum([_folded_size(form) for form in approximate.forms])
        # As they are written: so codes are the same if they are made by a coder that was read.
        directions = tuple(np.split(kept.astype(np.float16).astype(np.float32), ends))
        return cls(approximate, directions, steps.astype(np.float32), middle)

    def along(self, levs: Levs, points: Points) -> Array32:
        """(texts, directions): the coordinates of points along the directions."""
        by = self.approximate
        factors, of_places = by.factors(points)
        total = (points.places * of_places) @ self.directions[-1]
        for at, (form, rows) in enumerate(zip(by.forms, by.scorer.columns(levs), strict=True)):
            directions = self.directions[at]
            if rows.shape[1] > _FOLDED:
                moved = _folded(np.asarray(rows, np.float32)) @ directions
            else:
                moved = _times(rows, directions)
            centre, basis = self._along_directions[at]
            moved = (moved - centre) * (points.scales[:, at, None] / form.unit)
            moved -= points.places[:, by.columns[at]] @ basis
            total = total + moved * factors[:, at, None]
        return np.asarray(total, np.float32)

    @cached_property
    def _along_directions(self) -> list[tuple[Array32, Array32]]:
        """(directions,) and (coordinates, directions) for each member: c, and its basis."""
        return [
            ((_folded(form.centre[None]) @ part)[0], _folded(form.basis) @ part)
            for form, part in zip(self.approximate.forms, self.directions, strict=False)
        ]

    def codes(self, levs: Levs, points: Points) -> npt.NDArray[np.int8]:
        """(texts, numbers): the codes of texts; the first number is what a text adds by itself."""
        bias = self.approximate.bias(points)[:, None] - self.middle
        plain = np.concatenate([bias, self.along(levs, points)], axis=1)
        return np.clip(np.rint(plain / self.steps), -127, 127).astype(np.int8)

    def query(self, levs: Levs, points: Points) -> Array32:
        """(texts, numbers): the vectors to multiply codes with to find texts like these."""
        ones = np.ones((len(levs), 1), np.float32)
        return np.asarray(np.concatenate([ones, self.along(levs, points)], 1) * self.steps)

    def arrays(self, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
        """The arrays to write, without the scorer."""
        named = {f"directions{at}": part for at, part in enumerate(self.directions)}
        halved = {name: part.astype(np.float16) for name, part in named.items()}
        return super().arrays(prefix) | halved

    @classmethod
    def read(cls, approximate: ApproximateScorer, arrays: Arrays) -> Coder:
        """Read what `arrays` returned; a ValueError if anything is missing or does not fit."""
        coder = cls.from_arrays(arrays, approximate=approximate, directions=())
        if not coder.steps.min(initial=1) > 0:
            raise ValueError("its steps are not all above zero")
        sizes = [*map(_folded_size, approximate.forms), approximate.columns[-1].stop]
        directions = [
            checked(arrays, f"directions{at}", "f2", size, len(coder.steps) - 1).astype(np.float32)
            for at, size in enumerate(sizes)
        ]
        return replace(coder, directions=tuple(directions))


@dataclass(frozen=True, eq=False)
class CodedTexts(Points):
    """The points of the texts of a shard, and their codes."""

    codes: Annotated[npt.NDArray[np.int8], InFile("i1", "texts numbers")]


def read_codes(store: Store, shard: Shard, coder: Coder | None = None) -> CodedTexts:
    """The codes of a shard that has some, which fit to a coder if one is given.

    An IndexFolderError names damage.
    """
    assert shard.codes is not None
    arrays, sizes = read_arrays(store.folder, shard.codes), {"texts": shard.texts}
    if coder is not None:
        columns = coder.approximate.columns
        sizes |= {"members": len(columns), "directions": columns[-1].stop}
        sizes |= {"numbers": len(coder.steps)}
    with naming_damage(store.folder / shard.codes.name):
        return CodedTexts.from_arrays(arrays, sizes=sizes)


def read_coder(store: Store, verifier: Verifier, population: Population) -> Coder | None:
    """The coder of an index; None if there is none yet.

    It keeps the centre that the index had when it was made; `population` is the current one.
    """
    file = store.manifest.view
    if file is None:
        return None
    arrays = read_arrays(store.folder, file)
    with naming_damage(store.folder / file.name):
        texts, cohort = checked(arrays, "texts", "i8", 1)[0], checked(arrays, "cohort", "i8", None)
        authors = checked(arrays, "authors", "f8", 1)[0]
        known = len(cohort) and 0 <= cohort.min() <= cohort.max() < store.numbers
        if not known or texts < FEWEST or not 0 < authors <= texts:
            raise ValueError("its texts are not those of the index")
        then = replace(
            population,
            texts=int(texts),
            lev_mean=np.array(checked(arrays, "lev_mean", "f8", verifier.scorer.lev_size)),
            seeming_authors=float(authors),
            cohort=store.levs(cohort),
            memory={},
        )
        return Coder.read(ApproximateScorer(verifier.scorer, then), arrays)


def _table(by: ApproximateScorer, levs: Levs) -> Array32:
    """(texts, sizes of all): texts as points, in plain rows."""
    points = by.points(levs)
    factors, of_places = by.factors(points)
    parts = []
    for at, (form, rows) in enumerate(zip(by.forms, by.scorer.columns(levs), strict=True)):
        moved = _folded(np.asarray(rows, np.float32)) - _folded(form.centre[None])
        moved *= points.scales[:, at, None] / form.unit
        moved -= points.places[:, by.columns[at]] @ _folded(form.basis)
        parts.append(moved * factors[:, at, None])
    return np.concatenate([*parts, points.places * of_places], axis=1).astype(np.float32)


def _times(rows: Rows, table: Array32) -> Array32:
    """(rows, columns): the product of rows (rows, size) and a table (size, columns)."""
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
    """Principal directions from a covariance's products with some (sizes, directions), and sizes.

    They are those of the best approximation of the covariance that has these products.
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


def _folded_size(form: QuadraticForm) -> int:
    """The size of a member's part of a point after folding."""
    return min(len(form.centre), _FOLDED)


def _folded(rows: AnyFloats) -> Array32:
    """(rows, folded size): plain rows (rows, size), with many places folded to fewer.

    Each number gets a place and a sign by its old place, so that chance products cancel.
    """
    rows = rows.astype(np.float32, copy=False)
    if rows.shape[1] <= _FOLDED:
        return rows
    places = np.arange(1, rows.shape[1] + 1).astype(np.uint64)
    mixed = places * np.uint64(0x9E3779B97F4A7C15)
    signs = 1 - 2 * ((mixed >> np.uint64(20)) & np.uint64(1)).astype(np.float32)
    result = np.zeros((_FOLDED, len(rows)), np.float32)
    np.add.at(result, (mixed >> np.uint64(49)).astype(np.int64), (rows * signs).T)
    return result.T
