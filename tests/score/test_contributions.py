"""What makes up a log Bayes factor: shares that add up, and products that are linear in a text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_three_level import exact_levels, made_up_genres, pairs_of, said_by, texts_of
from slow_two_covariance import seeds

from adhominem.arrays import SparseRows
from adhominem.paper.two_covariance import TwoCovariance
from adhominem.score.calibration import Calibration, Weights
from adhominem.score.contributions import Contribution, FactorContribution, ProductContribution
from adhominem.score.members import GenreMember, LayerMember
from adhominem.score.population import Population
from adhominem.score.products import MemberTexts, PopulationPart
from adhominem.score.scorer import Scorer
from adhominem.score.three_level import ThreeLevelParameters, genre_posterior

FloatArray = npt.NDArray[np.float64]
SIZE, SMALL = 40, 6
GENRES = made_up_genres(SIZE), made_up_genres(SMALL)
MEMBERS = (
    GenreMember(GENRES[0]),
    GenreMember(GENRES[1]),
    LayerMember(
        TwoCovariance.from_precisions(np.zeros(3), np.eye(3), 2 * np.eye(3)),
        lambda levs: levs[:, :3] * 2,
        4,
    ),
)
CALIBRATION = Calibration(
    members=(
        ThreeLevelParameters(length_power=0.8),
        ThreeLevelParameters(genre_spread=0.5),
        None,
    ),
    layer_weights=(1.0, 1.0, 0.4),
    weights=Weights(constant=0.3, factor=0.4, snorm=0.7, snorm_constant=-0.5, snorm_small=0.2),
    lower_bound=-1.0,
    upper_bound=1.0,
    bounds=(),
    tokens=(50.0, 9_000.0),
)
SCORERS = {
    "calibrated": Scorer.of(MEMBERS, CALIBRATION),
    "not calibrated": Scorer.of(MEMBERS, None),
}


def levs_of(count: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    parts = [texts_of(rng, genres, count) for genres in GENRES]
    tail = [rng.normal(size=(count, 4)), rng.uniform(5, 8, (count, 1))]
    return np.concatenate([*parts, *tail], axis=1)


SIDES = levs_of(3, 1), levs_of(2, 2)
POPULATIONS = {
    "none": None,
    "others": Population.of(np.concatenate([levs_of(1, seed) for seed in range(10, 22)])),
    "the texts themselves, too": Population.of(
        np.concatenate([*SIDES, *(levs_of(1, seed) for seed in range(10, 22))])
    ),
}
names = pytest.mark.parametrize("name", SCORERS)
populations = pytest.mark.parametrize("population", POPULATIONS)
members = pytest.mark.parametrize("member", [0, 1, 2])


def contributions(name: str, population: str) -> list[Contribution]:
    return SCORERS[name].contributions(*SIDES, POPULATIONS[population])


# Shares


@names
@populations
def test_the_members_shares_add_up_to_the_log_bayes_factor(name: str, population: str) -> None:
    scorer = SCORERS[name]
    scores = scorer.scores([SIDES[0]], [SIDES[1]], POPULATIONS[population])
    total = sum(one.value for one in contributions(name, population))
    assert total == pytest.approx(scorer.unbounded(scores)[0], rel=1e-9)


@names
@populations
@members
def test_each_side_has_half_of_a_share_in_those_of_its_texts(
    member: int, name: str, population: str
) -> None:
    one = contributions(name, population)[member]
    for side in (0, 1):
        shares = one.shares(side)
        assert len(shares) == len(SIDES[side])
        assert shares.sum() == pytest.approx(one.value / 2)
        assert np.ptp(shares) > 1e-4  # texts differ


@names
@populations
@members
def test_a_text_that_stays_as_it_is_loses_nothing(member: int, name: str, population: str) -> None:
    one = contributions(name, population)[member]
    columns = SCORERS[name].columns(SIDES[0])[member]
    lost = one.losses(0, 1, np.array([columns[1], columns[0]]))
    assert lost[0] == pytest.approx(0, abs=1e-9)
    assert abs(lost[1]) > 1e-4


@names
@populations
def test_the_order_of_the_sides_does_not_matter(name: str, population: str) -> None:
    there = contributions(name, population)
    back = SCORERS[name].contributions(*SIDES[::-1], POPULATIONS[population])
    for one, other in zip(there, back, strict=True):
        assert one.value == pytest.approx(other.value)
        assert one.product == pytest.approx(other.product)
        for side in (0, 1):
            np.testing.assert_allclose(one.shares(side), other.shares(1 - side), atol=1e-9)


def test_a_text_compared_with_itself_speaks_for_one_author() -> None:
    text = SIDES[0][:1]
    for scorer in SCORERS.values():
        for one in scorer.contributions(text, text):
            assert one.product > 0


# The product of both sides, by the three-level model


def contribution_of(
    member: GenreMember,
    texts: MemberTexts,
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    population: PopulationPart | None,
    slope: float,
) -> ProductContribution:
    """The contribution of a model's only member to the log Bayes factor of one pair."""
    pairs = member.pairs(texts, first, second, population)
    shares = genre_posterior([(member.levels, pairs)], 1.0)
    sides = first[0], second[0]
    made = member.contribution(texts, pairs, sides, population, shares, slope)
    assert isinstance(made, ProductContribution)
    return made


@given(st.sampled_from([1, 2, 3]), st.booleans(), seeds)
@settings(max_examples=30)
def test_it_is_the_part_of_the_evidence_that_both_sides_departures_from_c_make_together(
    number: int, given_population: bool, seed: int
) -> None:
    rng, genres = np.random.default_rng(seed), made_up_genres(SMALL, number)
    member = GenreMember(genres, exact_levels(genres, seed))  # c is where the population says
    first, second = texts_of(rng, genres, 3), texts_of(rng, genres, 2)
    log_tokens, slope = rng.uniform(4, 8, (1, 5)), 1.7
    part = None
    if given_population:
        others = np.concatenate([texts_of(rng, genres, 1) for _ in range(7)])
        part = PopulationPart.of(others, np.full(7, 6.0))
    made = contribution_of(member, *pairs_of([first], [second], log_tokens), part, slope)
    assert isinstance(made, ProductContribution)

    def product(one: FloatArray, other: FloatArray) -> float:
        """Of texts that depart from c, less what they make each where the other side is at c."""
        here = [np.tile(made.centre, (len(side), 1)) for side in (one, other)]
        whole, left, right, nothing = (
            float(said_by(member, *pairs_of([a], [b], log_tokens), part).log_bayes_factor[0])
            for a, b in ((one, other), (one, here[1]), (here[0], other), (here[0], here[1]))
        )
        return slope * (whole - left - right + nothing)

    assert made.product == pytest.approx(product(first, second), rel=1e-7, abs=1e-9)
    for side, sets in ((0, (first, second)), (1, (second, first))):
        for text in range(len(sets[0])):
            variants = texts_of(rng, genres, 3)
            lost = made.losses(side, text, variants)
            for variant, loss in zip(variants, lost, strict=True):
                changed = sets[0].copy()
                changed[text] = variant
                pair = (changed, sets[1]) if side == 0 else (sets[1], changed)
                slow = 0.5 * (made.product - product(*pair))
                assert loss == pytest.approx(slow, rel=1e-7, abs=1e-9)


def test_its_dimensions_add_up_to_it() -> None:
    for population in POPULATIONS:
        made = contributions("calibrated", population)[0]
        assert isinstance(made, ProductContribution)
        for side in (0, 1):
            levs, directions = made.levs[side], made.directions[side]
            assert directions.shape == levs.shape == (len(SIDES[side]), SIZE)
            by_dimension = (levs - made.centre) * directions
            np.testing.assert_allclose(by_dimension.sum(axis=1), made.products[side])
            assert by_dimension.sum() == pytest.approx(made.product / 2)
            along = levs[0] @ directions[0] - np.array([1.0, -2.0])
            np.testing.assert_allclose(made.losses_along(side, 0, along), [1, -2], atol=1e-9)
            assert made.text_shares[side].sum() == pytest.approx(1)


def test_another_whole_share_leaves_the_product() -> None:
    for one in contributions("calibrated", "others"):
        other = one.with_value(3.0)
        assert other.value == 3
        assert other.product == one.product
        assert other.shares(0).sum() == pytest.approx(1.5)


def test_of_sparse_rows_it_is_that_of_the_plain_ones() -> None:
    rng = np.random.default_rng(5)
    levs = (texts_of(rng, GENRES[0], 5) * (rng.random((5, SIZE)) < 0.5)).astype(np.float32)
    lengths, packed = np.full((1, 5), 6.0), SparseRows.of(levs)
    plain = contribution_of(MEMBERS[0], *pairs_of([levs[:3]], [levs[3:]], lengths), None, 1.0)
    member = replace(MEMBERS[0], is_sparse=True)
    sparse = contribution_of(member, *pairs_of([packed[:3]], [packed[3:]], lengths), None, 1.0)
    assert sparse.product == pytest.approx(plain.product, rel=1e-6)
    np.testing.assert_allclose(
        sparse.losses(0, 0, packed[2:4]), plain.losses(0, 0, levs[2:4]), rtol=1e-5, atol=1e-6
    )


# A network's own layer


@pytest.mark.parametrize("population", ["none", "others"])
def test_of_a_layer_what_is_lost_is_asked_again(population: str) -> None:
    scorer = SCORERS["calibrated"]
    given_population = POPULATIONS[population]
    made = scorer.contributions(*SIDES, given_population)[2]
    assert isinstance(made, FactorContribution)
    scores = scorer.scores([SIDES[0]], [SIDES[1]], given_population)
    factor, slope = float(scores.members[2][0]), float(scorer.weights.slope(scores)[0])
    assert made.product == pytest.approx(slope * factor)
    changed = SIDES[0].copy()
    changed[1, -5:-1] = 0.5
    without = np.delete(SIDES[0], 1, axis=0)
    after = [
        float(scorer.scores([side], [SIDES[1]], given_population).members[2][0])
        for side in (changed, without)
    ]
    lost = made.losses(0, 1, np.full((1, 4), 0.5))
    assert lost[0] == pytest.approx(0.5 * slope * (factor - after[0]))
    shares = made.shares(0)
    left = [
        float(
            scorer.scores([np.delete(SIDES[0], at, axis=0)], [SIDES[1]], given_population).members[
                2
            ][0]
        )
        for at in range(3)
    ]
    assert left[1] == after[1]
    losses = 0.5 * slope * (factor - np.array(left))
    np.testing.assert_allclose(shares - shares.mean(), losses - losses.mean(), atol=1e-9)
