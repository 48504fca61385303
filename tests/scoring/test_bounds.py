"""How far a Bayes factor may go depends on how many cases of like conditions there were."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.scoring.scale import (
    POPULATION,
    TEXTS,
    TOKENS,
    Bounds,
    Calibration,
    Conditions,
    cells,
)


def conditions_of(*cases: tuple[int, int, float, float, int]) -> Conditions:
    """Of texts and tokens a text on both sides, and texts of the population."""
    first, second, *tokens, population = (
        np.array(row, np.float64) for row in zip(*cases, strict=True)
    )
    lengths = np.log(tokens)
    return Conditions(np.stack([first, second]), lengths, population, np.zeros(lengths.shape))


def bounds_of(texts: int, tokens: int, population: int, reach: float) -> Bounds:
    return Bounds(
        texts=texts,
        tokens=tokens,
        population=population,
        lower=-reach,
        upper=2 * reach,
        same_author=100,
        different_authors=200,
    )


CALIBRATION = Calibration(
    method="logistic",
    scores=(-1.0, 1.0),
    log_bayes_factors=(-1.0, 1.0),
    lower_bound=-9.0,
    upper_bound=8.0,
    pairs=1_000,
    bounds=(bounds_of(1, 0, 0, 1.0), bounds_of(4, 600, 20, 3.0), bounds_of(1, 600, 20, 2.0)),
)
counts, lengths = st.integers(1, 30), st.floats(1, 1e5)


@given(counts, counts, lengths, lengths, st.integers(0, 500))
def test_a_cell_is_of_the_side_with_more_texts_and_of_the_one_with_shorter_ones(
    known: int, questioned: int, first: float, second: float, population: int
) -> None:
    asked = max(known, questioned), min(first, second) * (1 + 1e-9), population
    expected = [
        max(start for start in starts if start <= value)
        for starts, value in zip((TEXTS, TOKENS, POPULATION), asked, strict=True)
    ]
    made = cells(
        conditions_of((known, questioned, first * (1 + 1e-9), second * (1 + 1e-9), population))
    )
    assert made[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("case", "limits"),
    [
        ((1, 1, 100, 5_000, 0), (-1, 2)),
        ((1, 1, 5_000, 249, 4), (-1, 2)),
        ((4, 1, 1_000, 700, 20), (-3, 6)),
        ((1, 9, 1_000, 700, 500), (-3, 6)),
        ((1, 1, 1_000, 700, 500), (-2, 4)),
        ((2, 1, 1_000, 700, 500), (-9, 8)),  # no bounds of such conditions
        ((1, 1, 1_600, 1_700, 20), (-9, 8)),
        ((1, 1, 300, 100, 5), (-9, 8)),
    ],
)
def test_the_bounds_are_those_of_the_cell_or_else_those_of_all_cases(
    case: tuple[int, int, float, float, int], limits: tuple[float, float]
) -> None:
    assert CALIBRATION.limits(conditions_of(case))[:, 0].tolist() == list(limits)


def test_each_pair_has_its_own_bounds() -> None:
    cases = [(1, 1, 100, 100, 0), (4, 1, 700, 700, 50), (3, 3, 90, 90, 9)]
    limits = CALIBRATION.limits(conditions_of(*cases))
    assert limits.shape == (2, 3)
    assert limits.tolist() == [[-1, -3, -9], [2, 6, 8]]
    nobody = conditions_of(*cases)[:0]
    assert CALIBRATION.limits(nobody).shape == (2, 0)
    everywhere = replace(CALIBRATION, bounds=()).limits(conditions_of(*cases))
    assert everywhere.tolist() == [[-9] * 3, [8] * 3]


def test_bounds_come_back_from_json() -> None:
    written = json.loads(json.dumps(CALIBRATION.to_json(), allow_nan=False))
    assert Calibration.from_json(written) == CALIBRATION


@pytest.mark.parametrize(
    "change",
    [
        {"lower": 5.0},  # above the upper one
        {"upper": float("nan")},
        {"texts": 0},
        {"tokens": -1},
        {"same_author": "many"},
    ],
    ids=lambda change: json.dumps(change),
)
def test_bounds_that_are_none_are_refused_when_they_are_read(change: dict[str, Any]) -> None:
    written = CALIBRATION.to_json()
    written["bounds"][1] = {**written["bounds"][1], **change}
    if "lower" in change:
        written["bounds"][1]["upper"] = 4.0
    with pytest.raises(OptionError):
        Calibration.from_json(written)
