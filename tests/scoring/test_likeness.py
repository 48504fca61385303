"""What makes up a likeness: against the cosine of vectors, and with all else as it is."""

from __future__ import annotations

from dataclasses import fields
from math import sinh

import numpy as np
import numpy.typing as npt
import pytest

from adhominem.scoring.likeness import CosineLikeness, FactorLikeness
from adhominem.scoring.members import LayerScorer, StyleScorer
from adhominem.scoring.population import Population
from adhominem.scoring.scale import Calibration, Fusion, Scale, Scales, weights_for
from adhominem.scoring.scorer import Scorer
from adhominem.scoring.styles import Styles
from adhominem.scoring.two_covariance import IsotropicTwoCovariance, TwoCovariance

FloatArray = npt.NDArray[np.float64]
SIZE, SMALL = 120, 6


def styles(size: int) -> Styles:
    rng = np.random.default_rng(size)
    authors = np.repeat(np.arange(60), 4)
    corpora = authors % 3
    genres, own = rng.normal(size=(3, size)), 0.7 * rng.normal(size=(60, size))
    levs = genres[corpora] + own[authors] + rng.normal(size=(240, size))
    return Styles.fit(levs, authors, corpora, ["blogs", "sermons", "letters"])


LARGE = styles(SIZE)
MEMBERS = (
    StyleScorer(LARGE),
    StyleScorer(styles(SMALL)),
    LayerScorer(
        TwoCovariance.from_precisions(np.zeros(3), np.eye(3), 2 * np.eye(3)),
        lambda levs: levs[:, :3] * 2,
        4,
    ),
)
WEIGHTS = tuple(np.random.default_rng(1).normal(0.1, 0.2, weights_for(3)).tolist())
LINE = Calibration(
    method="logistic",
    scores=(0.0, 1.0),
    log_bayes_factors=(0.3, 1.1),
    lower_bound=-1.0,
    upper_bound=1.0,
    pairs=9,
)
SCALES = {
    "calibrated": Scales(
        Scale(Fusion(weights=WEIGHTS), LINE), Scale(Fusion(weights=WEIGHTS[::-1]), LINE)
    ),
    "not calibrated": Scales(),
}


def levs_of(count: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, SIZE + SMALL + 4)) + 0.5 * rng.normal(size=SIZE + SMALL + 4)
    rows[:, :SIZE] += LARGE.centres[0]
    return np.concatenate([rows, rng.uniform(5, 8, (count, 1))], axis=1)


SIDES = levs_of(3, 1), levs_of(2, 2)
POPULATION = Population.of(levs_of(12, 3))


def scorer(name: str = "calibrated") -> Scorer:
    return Scorer(MEMBERS, SCALES[name])


def cosine_likeness(population: Population | None) -> CosineLikeness:
    likeness, _ = scorer().likenesses(*SIDES, population)[0]
    assert isinstance(likeness, CosineLikeness)
    return likeness


# The cosine


def test_without_a_population_it_is_the_cosine_of_both_sides_above_what_is_expected() -> None:
    likeness = cosine_likeness(None)
    levs = [side[:, :SIZE] for side in SIDES]
    centre = LARGE.centre(np.concatenate(levs), None)
    np.testing.assert_allclose(likeness.centre, centre)
    sums = [
        sum((lev - centre) / max(np.linalg.norm(lev - centre), LARGE.usual) for lev in side)
        for side in levs
    ]
    cosine = sums[0] @ sums[1] / np.linalg.norm(sums[0]) / np.linalg.norm(sums[1])
    assert likeness.excess == pytest.approx(cosine - likeness.expected)


def test_what_is_expected_is_the_mean_cosine_of_texts_by_one_author() -> None:
    model = LARGE.two_covariance
    assert isinstance(model, IsotropicTwoCovariance)
    share, rng = model.between_share, np.random.default_rng(0)
    size, cosines = 4_000, []
    for _ in range(60):
        author = np.sqrt(share) * rng.normal(size=size)
        first, second = (
            (author + np.sqrt(1 - share) * rng.normal(size=(count, size))).sum(axis=0)
            for count in (3, 2)
        )
        cosines.append(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
    assert cosine_likeness(None).expected == pytest.approx(np.mean(cosines), abs=0.01)


@pytest.mark.parametrize("population", [None, POPULATION])
def test_the_dimensions_add_up_to_it(population: Population | None) -> None:
    likeness = cosine_likeness(population)
    u, v = (
        weights @ (levs - likeness.centre)
        for weights, levs in zip(likeness.weights, likeness.levs, strict=True)
    )
    terms = u * v - likeness.expected / 2 * (u**2 + v**2)
    by_directions = u * likeness.directions[0] + v * likeness.directions[1]
    np.testing.assert_allclose(by_directions, terms)
    # The noise of a population's mean is in the vectors, and not in the likeness.
    assert terms.sum() == pytest.approx(likeness.excess, abs=1e-9 if population is None else 0.1)


@pytest.mark.parametrize("population", [None, POPULATION])
@pytest.mark.parametrize("member", [0, 1, 2])
def test_each_side_has_half_of_it_in_the_shares_of_its_texts(
    member: int, population: Population | None
) -> None:
    likeness, _ = scorer().likenesses(*SIDES, population)[member]
    for side in (0, 1):
        shares = likeness.shares(side)
        assert len(shares) == len(SIDES[side])
        assert shares.sum() == pytest.approx(likeness.excess / 2)
        assert np.ptp(shares) > 1e-3  # texts differ


@pytest.mark.parametrize("population", [None, POPULATION])
@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_text_that_stays_as_it_is_loses_nothing(
    member: int, population: Population | None
) -> None:
    likeness, _ = scorer().likenesses(*SIDES, population)[member]
    columns = scorer().columns(SIDES[0])[member]
    lost = likeness.losses(0, 1, np.array([columns[1], columns[0]]))
    assert lost[0] == pytest.approx(0, abs=1e-9)
    assert abs(lost[1]) > 1e-3


def test_a_loss_is_that_of_the_terms_for_a_small_change() -> None:
    likeness = cosine_likeness(None)
    change = 1e-6 * np.random.default_rng(0).normal(size=SIZE)
    lost = likeness.losses(1, 0, (SIDES[1][0, :SIZE] + change)[None])[0]

    def half(second: FloatArray) -> float:
        u = likeness.weights[0] @ (likeness.levs[0] - likeness.centre)
        v = likeness.weights[1] @ (second - likeness.centre)
        return float(0.5 * (u @ v - likeness.expected / 2 * (v @ v)))

    changed = likeness.levs[1].copy()
    changed[0] += change
    assert lost == pytest.approx(half(likeness.levs[1]) - half(changed), rel=1e-4)


# Only the likeness changes


@pytest.mark.parametrize("population", [None, POPULATION])
@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_moved_likeness_moves_standing_and_factor_and_nothing_else(
    member: int, population: Population | None
) -> None:
    likeness, _ = scorer().likenesses(*SIDES, population)[member]
    real = scorer().scores([SIDES[0]], [SIDES[1]], population).members[member]
    same, once, twice = (likeness.moved(by * likeness.step) for by in (0, 1, 2))
    for field in fields(real):
        values = [getattr(moved, field.name)[0] for moved in (same, once, twice)]
        assert values[0] == pytest.approx(getattr(real, field.name)[0])
        if field.name in ("standing", "log_bayes_factor"):
            if field.name == "standing" and member == 0:  # by its cosine; far off, as a logarithm
                values = [4 * sinh(value / 4) for value in values]
            assert values[1] - values[0] == pytest.approx(values[2] - values[1])
            assert values[1] > values[0]
        elif field.name != "misfit":  # which decides on the population, not on the number
            assert values[2] == pytest.approx(values[0])


@pytest.mark.parametrize("name", list(SCALES))
@pytest.mark.parametrize("population", [None, POPULATION])
def test_its_worth_is_the_slope_of_the_log_bayes_factor(
    name: str, population: Population | None
) -> None:
    made = scorer(name)
    scores = made.scores([SIDES[0]], [SIDES[1]], population)
    scale = SCALES[name].of(population)
    for number, (likeness, worth) in enumerate(made.likenesses(*SIDES, population)):
        values = []
        for by in (-1e-4, 1e-4):
            raw = scale.fusion(scores.with_member(number, likeness.moved(by)))
            values.append(
                float((scale.calibration.unbounded(raw) if scale.calibration else raw)[0])
            )
        assert worth == pytest.approx((values[1] - values[0]) / 2e-4, rel=1e-3)


def test_a_calibration_of_steps_counts_as_a_line() -> None:
    steps = Calibration(
        method="isotonic",
        scores=(-4.0, 0.0, 1.0, 4.0),
        log_bayes_factors=(-2.0, -2.0, 1.0, 2.0),
        lower_bound=-2.0,
        upper_bound=2.0,
        pairs=9,
    )
    made = Scorer(MEMBERS, Scales(Scale(Fusion(weights=WEIGHTS), steps)))
    plain = Scorer(MEMBERS, Scales(Scale(Fusion(weights=WEIGHTS))))
    for (_, worth), (_, raw) in zip(made.likenesses(*SIDES), plain.likenesses(*SIDES), strict=True):
        assert worth == pytest.approx(raw / 2)


@pytest.mark.parametrize("population", [None, POPULATION])
def test_the_order_of_the_sides_does_not_matter(population: Population | None) -> None:
    there = scorer().likenesses(*SIDES, population)
    back = scorer().likenesses(*SIDES[::-1], population)
    for (one, worth), (other, turned) in zip(there, back, strict=True):
        assert worth == pytest.approx(turned)
        assert one.excess == pytest.approx(other.excess)
        for side in (0, 1):
            np.testing.assert_allclose(one.shares(side), other.shares(1 - side))


def test_the_log_bayes_factor_of_a_layer_is_its_likeness() -> None:
    likeness, _ = scorer().likenesses(*SIDES)[2]
    assert isinstance(likeness, FactorLikeness)
    real = scorer().scores([SIDES[0]], [SIDES[1]]).members[2]
    assert likeness.excess == pytest.approx(real.log_bayes_factor[0])


def test_a_text_compared_with_itself_is_worth_as_much_a_unit_as_any() -> None:
    """A cosine cannot grow beyond 1."""
    text = SIDES[0][:1]
    likeness, worth = scorer("not calibrated").likenesses(text, text)[0]
    assert isinstance(likeness, CosineLikeness)
    assert likeness.excess + likeness.expected == pytest.approx(1)
    factors = [likeness.moved(by).log_bayes_factor[0] for by in (-0.2, -0.1)]
    member = Scorer(MEMBERS[:1], Scales()).likenesses(*(text[:, [*range(SIZE), -1]],) * 2)[0]
    assert member[1] == pytest.approx((factors[1] - factors[0]) / 0.1)
    assert worth > 0
