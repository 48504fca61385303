"""The one path from LEVs to log Bayes factors: of a pair, of many, of all, of sets of texts."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_measures import assert_same, made_up_styles
from slow_two_covariance import seeds

from adhominem.errors import ModelError, OptionError
from adhominem.scoring import members
from adhominem.scoring import scorer as module
from adhominem.scoring.factors import LogBayesFactors
from adhominem.scoring.members import LayerScorer, StyleScorer
from adhominem.scoring.population import Population
from adhominem.scoring.scale import Bounds, Calibration, Fusion, Scale, Scales, weights_for
from adhominem.scoring.scorer import Scorer
from adhominem.scoring.sides import log_tokens_of
from adhominem.scoring.two_covariance import TwoCovariance

FloatArray = npt.NDArray[np.float64]
SIZES = (24, 30, 4)  # of the LEVs of three members: by two styles, by a layer
STYLES = [made_up_styles(size, seed=size) for size in SIZES[:2]]
LAYER = TwoCovariance.from_precisions(np.zeros(4), np.eye(4), 3 * np.eye(4))
MEMBERS = (
    *(StyleScorer(styles) for styles in STYLES),
    LayerScorer(LAYER, lambda seen: seen, 4),
)


def scale_of(seed: int) -> Scale:
    """Weights out of thin air, and bounds that matter."""
    weights = np.random.default_rng(seed).normal(0, 0.3, weights_for(3))
    cell = Bounds(
        texts=1, tokens=0, population=0, lower=-0.5, upper=0.5, same_author=9, different_authors=9
    )
    calibration = Calibration(
        method="logistic",
        scores=(-1.0, 1.0),
        log_bayes_factors=(-0.7, 0.9),
        lower_bound=-3.0,
        upper_bound=2.0,
        pairs=100,
        bounds=(cell,),
    )
    return Scale(Fusion(weights=tuple(weights.tolist()), log_tokens=(4.0, 9.0)), calibration)


SCALES = Scales(scale_of(0), scale_of(1), misfit=(-1.0, 0.7, 0.7, 0.0))
SCORER = Scorer(MEMBERS, SCALES)


def levs_of(seed: int, texts: int, genre: int = 0) -> npt.NDArray[np.float32]:
    """LEVs of texts of a genre: those of the members, and the logarithm of the tokens."""
    rng = np.random.default_rng(seed)
    parts = [
        styles.centres[genre] + rng.normal(size=(texts, styles.centres.shape[1]))
        for styles in STYLES
    ]
    parts += [rng.normal(size=(texts, 4)), rng.uniform(4, 8, (texts, 1))]
    return np.concatenate(parts, axis=1).astype(np.float32)


def assert_alike(one: LogBayesFactors, other: LogBayesFactors) -> None:
    for field in fields(LogBayesFactors):
        np.testing.assert_allclose(
            getattr(one, field.name),
            getattr(other, field.name),
            rtol=1e-5,
            atol=1e-5,
            err_msg=field.name,
        )


POPULATION = Population.of(levs_of(1, 30))
OTHER_GENRE = Population.of(levs_of(2, 30, genre=1))
populations = st.sampled_from([None, POPULATION, OTHER_GENRE, Population.of(levs_of(3, 5))])


# A LEV


def test_a_lev_is_those_of_the_members_in_a_row_and_last_the_logarithm_of_its_tokens() -> None:
    levs = levs_of(4, 3)
    assert SCORER.lev_size == sum(SIZES) + 1 == levs.shape[1]
    parts, log_tokens = SCORER.columns(levs), log_tokens_of(levs)
    assert [part.shape for part in parts] == [(3, size) for size in SIZES]
    np.testing.assert_array_equal(log_tokens, levs[:, -1])
    np.testing.assert_array_equal(SCORER.lead_columns(levs), levs[:, :24])
    with pytest.raises(OptionError, match=r"LEVs of shape \(3, 58\); expected \(pairs, 59\)"):
        SCORER.columns(levs[:, :-1])


def test_conditions_are_texts_their_mean_log_tokens_and_the_size_of_the_population() -> None:
    levs = levs_of(5, 6)
    conditions = SCORER.conditions([levs[:3], levs[0]], [levs[3], levs[4:]], POPULATION)
    tokens = levs[:, -1].astype(np.float64)
    assert conditions.texts.tolist() == [[3, 1], [1, 2]]
    expected = [[tokens[:3].mean(), tokens[0]], [tokens[3], tokens[4:].mean()]]
    np.testing.assert_allclose(conditions.log_tokens, expected, rtol=1e-6)
    assert conditions.population.tolist() == [30, 30]
    assert SCORER.conditions(levs[:2], levs[2:4]).population.tolist() == [0, 0]


# The path


@given(populations, seeds)
@settings(max_examples=30)
def test_factors_are_fused_calibrated_and_bounded_by_the_scale_of_the_population(
    population: Population | None, seed: int
) -> None:
    levs = levs_of(seed, 12)
    scorer = replace(SCORER, scales=replace(SCALES, misfit=()))
    made = scorer(levs[:6], levs[6:], population)
    scores = scorer.scores(levs[:6], levs[6:], population)
    scale = SCALES.alone if population is None else SCALES.population
    assert scale is not None
    assert scale.calibration is not None
    np.testing.assert_allclose(made.raw, scale.fusion(scores))
    np.testing.assert_allclose(made.unbounded, scale.calibration.unbounded(made.raw))
    limits = scale.calibration.limits(scores.conditions)
    np.testing.assert_array_equal([made.lower_bound, made.upper_bound], limits)
    for pair in range(6):
        free, low, high = made.unbounded[pair], limits[0][pair], limits[1][pair]
        assert made.log_bayes_factor[pair] == min(max(free, low), high)
        assert made.at_bound[pair] == (free <= low or free >= high)
    assert made.calibrated
    assert not made.strange.any()


def test_without_a_calibration_there_are_no_bounds() -> None:
    levs = levs_of(6, 6)
    made = replace(SCORER, scales=Scales())(levs[:3], levs[3:], POPULATION)
    assert not made.calibrated
    assert not made.at_bound.any()
    assert (made.lower_bound == -np.inf).all()
    assert (made.upper_bound == np.inf).all()
    np.testing.assert_array_equal(made.raw, made.log_bayes_factor)


@given(populations, seeds)
@settings(max_examples=20)
def test_all_pairs_get_what_each_pair_gets(population: Population | None, seed: int) -> None:
    levs = np.concatenate([levs_of(seed, 4), levs_of(seed, 3, genre=1)])
    first, second = np.triu_indices(7, 1)
    told: list[int] = []
    made = SCORER.all_pairs(levs, population, on_pairs=told.append)
    assert_alike(made, SCORER(levs[first], levs[second], population))
    assert sum(told) == 3 * 21


@given(populations, seeds)
@settings(max_examples=20)
def test_the_order_of_a_pair_and_who_else_is_compared_do_not_matter(
    population: Population | None, seed: int
) -> None:
    levs = np.concatenate([levs_of(seed, 6), levs_of(seed, 6, genre=2)])
    sides = [levs[:3], levs[3], levs[4:5]], [levs[6], levs[7:9], levs[9:]]
    made = SCORER(*sides, population)
    assert_alike(SCORER(sides[1], sides[0], population), made)
    for pair in range(3):
        alone = SCORER([sides[0][pair]], [sides[1][pair]], population)
        assert alone.raw[0] == pytest.approx(made.raw[pair], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_how_many_pairs_are_scored_at_once_does_not_matter(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    levs = levs_of(7, 40)
    single = levs[:10], levs[10:20]
    several = (
        [levs[at : at + 1 + at % 3] for at in range(9)],
        [levs[20 + at :][: 1 + at % 2] for at in range(9)],
    )
    expected = [SCORER(*sides, POPULATION) for sides in (single, several)]
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", at_once)
    for sides, factors in zip((single, several), expected, strict=True):
        assert_alike(SCORER(*sides, POPULATION), factors)


@pytest.mark.parametrize("given_population", [False, True])
def test_pairs_by_number_get_the_scores_of_the_same_levs(given_population: bool) -> None:
    levs = levs_of(8, 30)
    first, second = np.array([[0, 1], [2, 3]]), np.array([[4], [5]])
    chosen = np.arange(10, 30) if given_population else None
    made = SCORER.scores_among(
        SCORER.tables(levs), levs[:, -1].astype(np.float64), first, second, chosen
    )
    population = Population.of(levs[10:]) if given_population else None
    expected = SCORER.scores(list(levs[first]), list(levs[second]), population)
    for member, slow in zip(made.members, expected.members, strict=True):
        assert_same(member, slow, 1e-5)
    for field in fields(made.conditions):
        np.testing.assert_allclose(
            getattr(made.conditions, field.name),
            getattr(expected.conditions, field.name),
            rtol=1e-6,
            atol=1e-6,
        )


@pytest.mark.parametrize("genre", [None, 0, 1])
def test_factors_of_pairs_by_number_are_those_of_the_same_levs(genre: int | None) -> None:
    levs = np.concatenate([levs_of(18, 10), levs_of(19, 20, genre=genre or 0)])
    first, second = np.array([[0, 1], [2, 3], [6, 7]]), np.array([[4], [5], [8]])
    chosen = None if genre is None else np.arange(10, 30)
    tokens = levs[:, -1].astype(np.float64)
    made = SCORER.among(SCORER.tables(levs), tokens, first, second, chosen)
    population = None if chosen is None else Population.of(levs[chosen])
    assert_alike(made, SCORER(list(levs[first]), list(levs[second]), population))
    assert made.strange.all() == (genre == 1)


def test_tables_of_a_scorer_without_a_genre_take_over_what_is_the_same() -> None:
    levs = levs_of(9, 8)
    tables, fewer = SCORER.tables(levs), SCORER.without("genre 1")
    taken, made = fewer.tables(levs, tables), fewer.tables(levs)
    for one, other, before in zip(taken, made, tables, strict=True):
        np.testing.assert_array_equal(one.to_genres, other.to_genres)
        np.testing.assert_array_equal(one.between, other.between)
        assert one.to_genres.shape[1] == max(0, before.to_genres.shape[1] - 1)
    assert taken[0].between is tables[0].between


def test_no_pairs_get_no_factors() -> None:
    levs = levs_of(10, 1)
    for population in (None, POPULATION):
        assert len(SCORER(levs[:0], levs[:0], population).raw) == 0
        assert len(SCORER.all_pairs(levs, population).raw) == 0


# A population of another genre


@pytest.mark.parametrize("seed", range(40))  # by chance, a pair may lie between two genres
def test_a_strange_population_is_not_used_and_it_is_told(seed: int) -> None:
    levs = levs_of(seed, 12)
    with_it = SCORER(levs[:6], levs[6:], OTHER_GENRE)
    without = SCORER(levs[:6], levs[6:])
    assert with_it.strange.all()
    assert not without.strange.any()
    assert_alike(replace(with_it, strange=without.strange), without)
    relevant = SCORER(levs[:6], levs[6:], POPULATION)
    assert not relevant.strange.any()
    assert not np.allclose(relevant.unbounded, without.unbounded)


def test_a_population_may_be_strange_to_some_pairs_alone() -> None:
    here, there = levs_of(11, 6), levs_of(12, 6, genre=1)
    first, second = np.concatenate([here[:3], there[:3]]), np.concatenate([here[3:], there[3:]])
    made = SCORER(first, second, OTHER_GENRE)
    assert made.strange.tolist() == [True] * 3 + [False] * 3
    for at in range(6):
        population = None if at < 3 else OTHER_GENRE
        alone = SCORER(first[at : at + 1], second[at : at + 1], population)
        assert made.raw[at] == pytest.approx(alone.raw[0], rel=1e-6)
        assert made.upper_bound[at] == alone.upper_bound[0]


def test_whether_a_population_is_strange_is_a_weighted_sum_of_what_members_say() -> None:
    levs = levs_of(13, 20)
    scores = SCORER.scores(levs[:10], levs[10:], OTHER_GENRE)
    said = [[float(member.misfit[at]) for member in scores.members] for at in range(10)]
    total = [0.7 * row[0] + 0.7 * row[1] for row in said]
    limit = float(np.median(total))
    scales = replace(SCALES, misfit=(-limit, 0.7, 0.7, 0.0))
    assert scales.strange(scores).tolist() == [value > limit for value in total]
    assert not replace(SCALES, misfit=()).strange(scores).any()


# What is refused


def test_sides_that_do_not_fit_are_refused() -> None:
    levs = levs_of(14, 4)
    with pytest.raises(OptionError, match="3 first sides, 1 second ones"):
        SCORER(levs[:3], levs[3:])
    with pytest.raises(OptionError, match="a side without documents"):
        SCORER([levs[:0]], [levs[:1]])
    other = Population.of(levs_of(15, 9)[:, :-1])
    with pytest.raises(OptionError, match="encoded by another model"):
        SCORER(levs[:2], levs[2:], other)


def test_scores_out_of_all_bounds_are_an_error_of_the_model() -> None:
    layer = TwoCovariance.from_precisions(np.zeros(4), np.eye(4), 3 * np.eye(4))
    huge = Scorer((LayerScorer(layer, lambda seen: 1e20 * seen, 4),), Scales())
    levs = np.random.default_rng(0).normal(size=(4, 5))
    with pytest.raises(ModelError, match="the model gives scores that are not numbers"):
        huge(levs[:2], levs[2:])


# What is kept with a population


def test_a_population_is_multiplied_out_once_for_each_scorer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levs = levs_of(16, 8)
    population = Population.of(levs_of(17, 9))
    expected = SCORER(levs[:4], levs[4:], population)
    with monkeypatch.context() as patch:
        patch.delattr(members, "Cohort")  # none is made again
        assert_alike(SCORER(levs[:4], levs[4:], population), expected)
    fewer = SCORER.without("genre 2")
    fresh = fewer(levs[:4], levs[4:], Population.of(levs_of(17, 9)))
    assert_alike(fewer(levs[:4], levs[4:], population), fresh)
