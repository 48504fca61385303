"""The one path from LEVs to log Bayes factors: of a pair, of many, of all, of sets of texts."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_three_level import made_up_genres, pairs_of
from slow_two_covariance import seeds

from adhominem.arrays import Levs, SparseRows
from adhominem.errors import ModelError, OptionError
from adhominem.paper.two_covariance import TwoCovariance
from adhominem.score import products as products_module
from adhominem.score import scorer as module
from adhominem.score.calibration import Bounds, Calibration, LogBayesFactors, Weights
from adhominem.score.members import GenreMember, LayerMember, evidence_of
from adhominem.score.population import Population
from adhominem.score.products import PopulationPart
from adhominem.score.scorer import Scorer, square
from adhominem.score.three_level import PartVariances, ThreeLevelParameters, genre_posterior

FloatArray = npt.NDArray[np.float64]
Table = npt.NDArray[np.float32]
SIZES = (24, 30, 4)  # of the LEVs of three members: by two kinds of genres, by a layer
GENRES = [made_up_genres(size, seed=size) for size in SIZES[:2]]
LAYER = TwoCovariance.from_precisions(np.zeros(4), np.eye(4), 3 * np.eye(4))
MEMBERS = (*(GenreMember(genres) for genres in GENRES), LayerMember(LAYER, lambda seen: seen, 4))
FITTED = (
    ThreeLevelParameters(
        genre_part=PartVariances(author=0.3, text=0.7, length=0.1, directions=5.0)
    ),
    ThreeLevelParameters(length_power=0.2, genre_spread=0.4),
    None,
)
CALIBRATION = Calibration(
    members=FITTED,
    layer_weights=(1.0, 1.0, 0.4),
    weights=Weights(constant=-0.2, factor=0.3, snorm=0.5, snorm_constant=0.1, snorm_small=-0.2),
    lower_bound=-3.0,
    upper_bound=2.0,
    bounds=(
        Bounds(
            texts=1,
            tokens=0,
            population=0,
            lower=-0.5,
            upper=0.5,
            same_author=9,
            different_authors=9,
        ),
    ),
    tokens=(50.0, 9_000.0),
)
SCORER = Scorer.of(MEMBERS, CALIBRATION)


def levs_of(seed: int, texts: int, genre: int = 0) -> Table:
    """LEVs of texts of a genre: those of the members, and the logarithm of the tokens."""
    rng = np.random.default_rng(seed)
    parts = [
        genres.centres[genre] + rng.normal(size=(texts, genres.centres.shape[1]))
        for genres in GENRES
    ]
    parts += [rng.normal(size=(texts, 4)), rng.uniform(4, 8, (texts, 1))]
    return np.concatenate(parts, axis=1).astype(np.float32)


def assert_alike(one: object, other: object, tolerance: float = 1e-5) -> None:
    for name in (field.name for field in fields(one)):  # type: ignore[arg-type]
        found, expected = getattr(one, name), getattr(other, name)
        assert (found is None) == (expected is None), name
        if name == "conditions":
            assert_alike(found, expected)
        elif expected is not None:
            np.testing.assert_allclose(
                found, expected, rtol=tolerance, atol=tolerance, err_msg=name
            )


POPULATION = Population.of(levs_of(1, 30))
OTHER_GENRE = Population.of(levs_of(2, 30, genre=1))
populations = st.sampled_from([None, POPULATION, OTHER_GENRE, Population.of(levs_of(3, 5))])


# A LEV


def test_a_lev_is_those_of_the_members_in_a_row_and_last_the_logarithm_of_its_tokens() -> None:
    levs = levs_of(4, 3)
    assert SCORER.lev_size == sum(SIZES) + 1 == levs.shape[1]
    parts = SCORER.texts(levs)
    assert [part.levs.shape for part in parts] == [(3, size) for size in SIZES]
    for part in parts:
        np.testing.assert_array_equal(part.log_tokens, levs[:, -1])
    np.testing.assert_array_equal(SCORER.lead_columns(levs), levs[:, :24])
    np.testing.assert_array_equal(replace(SCORER, lead=1).lead_columns(levs), levs[:, 24:54])
    with pytest.raises(OptionError, match=r"LEVs of shape \(3, 58\); expected \(pairs, 59\)"):
        SCORER.columns(levs[:, :-1])


def test_conditions_are_texts_their_mean_log_tokens_and_the_size_of_the_population() -> None:
    levs = levs_of(5, 6)
    conditions = SCORER.scores([levs[:3], levs[0]], [levs[3], levs[4:]], POPULATION).conditions
    tokens = levs[:, -1].astype(np.float64)
    assert conditions.texts.tolist() == [[3, 1], [1, 2]]
    expected = [[tokens[:3].mean(), tokens[3]], [tokens[0], tokens[4:].mean()]]
    np.testing.assert_allclose(conditions.log_tokens, expected, rtol=1e-6)
    assert conditions.population.tolist() == [30, 30]
    assert SCORER(levs[:2], levs[2:4]).conditions.population.tolist() == [0, 0]


def test_levs_of_which_zeros_are_not_kept_get_what_plain_ones_get() -> None:
    levs = levs_of(20, 12)
    levs[:, 24:54] *= np.random.default_rng(20).random((12, 30)) < 0.4
    sparse_member = replace(SCORER.members[1], is_sparse=True)  # type: ignore[type-var]
    sparse = replace(SCORER, members=(SCORER.members[0], sparse_member, SCORER.members[2]))
    packed = Levs((levs[:, :24], SparseRows.of(levs[:, 24:54]), levs[:, 54:58], levs[:, 58:]))
    from_a_file = Levs((SparseRows.of(levs),))
    for population in (None, POPULATION):
        expected = SCORER(levs[:6], levs[6:], population)
        for each in (levs, packed, from_a_file):
            assert_alike(sparse(each[:6], each[6:], population), expected)


# The parameters of a calibration


def test_members_get_the_parameters_of_the_calibration() -> None:
    one, other, layer = SCORER.members
    assert isinstance(one, GenreMember)
    assert isinstance(other, GenreMember)
    assert isinstance(layer, LayerMember)
    assert (one.levels, other.levels, layer.weight) == (FITTED[0], FITTED[1], 0.4)
    bare = Scorer.of(MEMBERS, None)
    assert bare.members == MEMBERS
    assert bare.weights == Weights()


@pytest.mark.parametrize(
    "members",
    [(FITTED[0], FITTED[1], FITTED[1]), (None, FITTED[1], None), (FITTED[0], None, FITTED[1])],
)
def test_parameters_for_members_of_another_kind_are_refused(
    members: tuple[ThreeLevelParameters | None, ...],
) -> None:
    with pytest.raises(ModelError, match="parameters for other members than the model"):
        Scorer.of(MEMBERS, replace(CALIBRATION, members=members))


def test_a_calibration_of_fewer_members_is_refused() -> None:
    with pytest.raises(ModelError, match=r"small is damaged.*\(it is for 3 members; there are 2\)"):
        Scorer.of(MEMBERS[:2], CALIBRATION, name="small")


# The path


@given(populations, seeds)
@settings(max_examples=30)
def test_evidence_is_added_up_weighed_and_bounded(population: Population | None, seed: int) -> None:
    levs = levs_of(seed, 12)
    made = SCORER(levs[:6], levs[6:], population, despite_misfit=True)
    scores = SCORER.scores(levs[:6], levs[6:], population)
    np.testing.assert_allclose(made.unbounded, CALIBRATION.weights(scores))
    limits = CALIBRATION.limits(scores.conditions)
    np.testing.assert_array_equal([made.lower_bound, made.upper_bound], limits)
    for pair in range(6):
        free, low, high = made.unbounded[pair], limits[0][pair], limits[1][pair]
        assert made.log_bayes_factor[pair] == min(max(free, low), high)
        assert made.at_bound[pair] == (free <= low or free >= high)
    assert made.calibrated
    assert made.population_misfit.tolist() == (scores.fit < 0).tolist()


@given(populations, seeds)
@settings(max_examples=20)
def test_scores_are_what_each_member_says_of_its_columns(
    population: Population | None, seed: int
) -> None:
    levs = levs_of(seed, 8)
    scores = SCORER.scores(levs[:4], levs[4:], population)
    lengths = np.stack([levs[:4, -1], levs[4:, -1]], axis=1).astype(np.float64)
    against: list[FloatArray] = []
    fit, taken = np.zeros(4), []
    for at, (begin, size) in enumerate(zip((0, 24, 54), SIZES, strict=True)):
        columns = slice(begin, begin + size)
        part = None
        if population is not None:
            tokens = np.asarray(population.cohort[:, -1], np.float64)
            own = np.asarray(population.cohort)[:, columns]
            part = PopulationPart(
                population.texts, population.texts, own, tokens, population.lev_mean[columns]
            )
        pairs = pairs_of(levs[:4, columns], levs[4:, columns], lengths)
        taken.append(SCORER.members[at].pairs(*pairs, part))
    evidence = evidence_of(SCORER.members, taken, SCORER.weights.unknown_log_odds)
    for at, said in enumerate(evidence):
        np.testing.assert_allclose(scores.members[at], said.log_bayes_factor, rtol=1e-9)
        fit = fit + (0 if said.fit is None else said.fit)
        if said.kept is not None:
            np.testing.assert_array_equal(scores.kept, said.kept)
        against.append(np.zeros(()) if said.against is None else np.array(said.against))
    np.testing.assert_allclose(scores.total, sum(scores.members), rtol=1e-9)
    np.testing.assert_allclose(scores.fit, fit, rtol=1e-9)
    if population is not None:
        assert scores.against is not None
        assert scores.kept is not None
        np.testing.assert_allclose(np.array(scores.against), sum(against), rtol=1e-9)


def test_without_a_calibration_it_is_the_mean_of_the_members_probabilities() -> None:
    levs = levs_of(6, 6)
    bare = Scorer.of(MEMBERS, None)
    made = bare(levs[:3], levs[3:], POPULATION, despite_misfit=True)
    assert not made.calibrated
    assert not made.at_bound.any()
    assert (made.lower_bound == -np.inf).all()
    assert (made.upper_bound == np.inf).all()
    factors = np.array(bare.scores(levs[:3], levs[3:], POPULATION).members)
    probability = np.mean(1 / (1 + np.exp(-factors)), axis=0)
    np.testing.assert_allclose(made.log_bayes_factor, np.log(probability / (1 - probability)))


@given(populations, seeds)
@settings(max_examples=20)
def test_all_pairs_get_what_each_pair_gets(population: Population | None, seed: int) -> None:
    levs = np.concatenate([levs_of(seed, 4), levs_of(seed, 3, genre=1)])
    first, second = np.triu_indices(7, 1)
    told: list[int] = []
    made = SCORER.all_pairs(levs, population, on_pairs=told.append)
    assert_alike(made, SCORER(levs[first], levs[second], population))
    assert sum(told) == 21
    table = square(made.log_bayes_factor)
    assert table[first, second].tolist() == made.log_bayes_factor.tolist()
    np.testing.assert_array_equal(table, table.T)
    assert np.isnan(np.diag(table)).all()


@given(populations, seeds)
@settings(max_examples=20)
def test_the_order_of_a_pair_and_who_else_is_compared_do_not_matter(
    population: Population | None, seed: int
) -> None:
    levs = np.concatenate([levs_of(seed, 6), levs_of(seed, 6, genre=2)])
    sides = [levs[:3], levs[3], levs[4:5]], [levs[6], levs[7:9], levs[9:]]
    made = SCORER(*sides, population)
    turned = SCORER(sides[1], sides[0], population)
    texts, tokens = (of[:, ::-1] for of in (turned.conditions.texts, turned.conditions.log_tokens))
    conditions = replace(turned.conditions, texts=texts, log_tokens=tokens)
    assert_alike(replace(turned, conditions=conditions), made)
    for pair in range(3):
        alone = SCORER([sides[0][pair]], [sides[1][pair]], population)
        assert alone.unbounded[0] == pytest.approx(made.unbounded[pair], rel=1e-5, abs=1e-5)


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
    whole = SCORER.all_pairs(levs[:9], POPULATION)
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", at_once)
    monkeypatch.setattr(module, "_OF_ALL_AT_ONCE", 7 * at_once)
    for sides, factors in zip((single, several), expected, strict=True):
        assert_alike(SCORER(*sides, POPULATION), factors)
    assert_alike(SCORER.all_pairs(levs[:9], POPULATION), whole)


@pytest.mark.parametrize("genre", [None, 0, 1])
def test_factors_of_pairs_by_number_are_those_of_the_same_levs(genre: int | None) -> None:
    levs = np.concatenate([levs_of(18, 10), levs_of(19, 20, genre=genre or 0)])
    first, second = np.array([[0, 1], [2, 3], [6, 7]]), np.array([[4], [5], [8]])
    chosen = None if genre is None else np.arange(10, 30)
    made = SCORER.among(SCORER.tables(levs), first, second, chosen)
    population = None if chosen is None else Population.of(levs[chosen])
    assert isinstance(made, LogBayesFactors)
    assert_alike(made, SCORER(list(levs[first]), list(levs[second]), population))
    assert made.population_misfit.all() == (genre == 1)


def test_tables_of_a_scorer_without_a_genre_take_over_what_is_the_same() -> None:
    levs = levs_of(9, 8)
    tables, fewer = SCORER.tables(levs), SCORER.without("genre 1")
    taken, made = fewer.tables(levs, tables), fewer.tables(levs)
    for one, other, before in zip(taken, made, tables, strict=True):
        if before.to_genres is None:  # a layer goes by the LEVs themselves
            assert one.between is None
            continue
        assert one.to_genres is not None
        np.testing.assert_array_equal(one.to_genres, other.to_genres)
        assert one.between is before.between
        np.testing.assert_array_equal(one.between, other.between)
        assert one.to_genres.shape[1] == before.to_genres.shape[1] - 1


def test_no_pairs_get_no_factors() -> None:
    levs = levs_of(10, 1)
    for population in (None, POPULATION):
        assert len(SCORER(levs[:0], levs[:0], population).unbounded) == 0
        assert len(SCORER.all_pairs(levs, population).unbounded) == 0


# A population of another genre


@pytest.mark.parametrize("seed", range(40))  # by chance, a pair may lie between two genres
def test_a_strange_population_is_not_used_and_it_is_told(seed: int) -> None:
    levs = levs_of(seed, 12)
    with_it = SCORER(levs[:6], levs[6:], OTHER_GENRE)
    without = SCORER(levs[:6], levs[6:])
    assert with_it.population_misfit.all()
    assert not without.population_misfit.any()
    assert_alike(replace(with_it, population_misfit=without.population_misfit), without)
    even_so = SCORER(levs[:6], levs[6:], OTHER_GENRE, despite_misfit=True)
    assert even_so.population_misfit.all()
    assert not np.allclose(even_so.unbounded, without.unbounded)
    relevant = SCORER(levs[:6], levs[6:], POPULATION)
    assert not relevant.population_misfit.any()
    assert not np.allclose(relevant.unbounded, without.unbounded)


def test_a_population_may_be_strange_to_some_pairs_alone() -> None:
    here, there = levs_of(11, 6), levs_of(12, 6, genre=1)
    first, second = np.concatenate([here[:3], there[:3]]), np.concatenate([here[3:], there[3:]])
    made = SCORER(first, second, OTHER_GENRE)
    assert made.population_misfit.tolist() == [True] * 3 + [False] * 3
    for at in range(6):
        population = None if at < 3 else OTHER_GENRE
        alone = SCORER(first[at : at + 1], second[at : at + 1], population)
        assert made.unbounded[at] == pytest.approx(alone.unbounded[0], rel=1e-6)
        assert made.upper_bound[at] == alone.upper_bound[0]


# Genres, and how many people texts seem to be by


def test_shares_of_genres_are_those_of_all_members_together_the_most_probable_first() -> None:
    for genre in range(3):
        levs = levs_of(21, 3, genre)
        shares = SCORER.genre_shares(levs)
        blocks = [
            (member.levels, member.genre_of(texts))
            for member, texts in zip(SCORER.members, SCORER.texts(levs), strict=True)
            if isinstance(member, GenreMember)
        ]
        slow = genre_posterior(blocks, SCORER.weights.unknown_log_odds)[0]
        assert next(iter(shares)) == f"genre {genre}"
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
        for at in range(3):
            assert shares[f"genre {at}"] == pytest.approx(slow[at], abs=0.0005)
    assert Scorer.of(MEMBERS[2:], None).genre_shares(levs[:, 54:]) == {}


def test_texts_seem_to_be_by_fewer_people_the_more_alike_they_are() -> None:
    sharp = Scorer.of(MEMBERS[2:], replace(CALIBRATION, members=(None,), layer_weights=(30.0,)))
    rng = np.random.default_rng(22)
    people = 9 * rng.normal(size=(4, 4))
    levs = np.repeat(people, [1, 2, 3, 6], axis=0) + 0.001 * rng.normal(size=(12, 4))
    levs = np.concatenate([levs, np.full((12, 1), 6.0)], axis=1).astype(np.float32)
    sharp = replace(sharp, calibration=replace(CALIBRATION, bounds=(), upper_bound=50.0))
    assert sharp.seeming_authors(levs) == pytest.approx(4, abs=0.3)
    assert sharp.seeming_authors(levs[:1]) == 1
    assert replace(sharp, calibration=None).seeming_authors(levs) == 12
    factors = square(sharp.all_pairs(levs[:5]).log_bayes_factor)
    slow = 0.0
    for at in range(5):
        alike = sum(1 / (1 + 20 * np.exp(-factors[at, i])) for i in range(5) if i != at)
        slow += 1 / (1 + alike)
    assert sharp.seeming_authors(levs[:5]) == pytest.approx(slow)


def test_a_population_by_few_people_says_less_of_where_c_is() -> None:
    levs = levs_of(23, 12)
    few = replace(Population.of(levs_of(1, 30)), seeming_authors=2.0)
    made, usual = (
        SCORER.scores(levs[:6], levs[6:], population) for population in (few, POPULATION)
    )
    for at in (0, 1):
        assert not np.allclose(made.members[at], usual.members[at])
    np.testing.assert_allclose(made.members[2], usual.members[2])


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
    huge = Scorer((LayerMember(LAYER, lambda seen: 1e20 * seen, 4),), name="small")
    levs = np.random.default_rng(0).normal(size=(4, 5))
    with pytest.raises(ModelError, match="the model small gives scores that are not numbers"):
        huge(levs[:2], levs[2:])


# What is kept with a population


def test_a_population_is_multiplied_out_once_for_each_scorer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levs = levs_of(16, 8)
    population = Population.of(levs_of(17, 9))
    expected = SCORER(levs[:4], levs[4:], population)
    with monkeypatch.context() as patch:
        patch.delattr(products_module, "Cohort")  # none is made again
        assert_alike(SCORER(levs[:4], levs[4:], population), expected)
    fewer = SCORER.without("genre 2")
    fresh = fewer(levs[:4], levs[4:], Population.of(levs_of(17, 9)))
    assert_alike(fewer(levs[:4], levs[4:], population), fresh)


# Two genres in one comparison

WEIGHTS = CALIBRATION.weights
SCORER_OF_ALL = Scorer.of(MEMBERS, replace(CALIBRATION, bounds=()))
TELLS = replace(
    CALIBRATION,
    bounds=(),
    weights=replace(CALIBRATION.weights, genre_slope=3.0, genre_constant=1.0),
)


def test_two_genres_in_one_comparison_say_nothing() -> None:
    tells, before = Scorer.of(MEMBERS, TELLS), Scorer.of(MEMBERS, replace(TELLS, weights=WEIGHTS))
    one, other = levs_of(1, 20), levs_of(2, 20, genre=2)
    across, within = tells(one, other), tells(one, levs_of(3, 20))
    assert across.two_genres.mean() > within.two_genres.mean()
    assert across.two_genres.any()
    assert (across.log_bayes_factor[across.two_genres] == 0).all()
    found = before(one, other)
    assert not found.two_genres.any()
    np.testing.assert_array_equal(found.unbounded, across.unbounded)
    # Doubt brings a number nearer to 0, and never to the other side of it.
    assert (np.abs(across.log_bayes_factor) <= np.abs(found.log_bayes_factor) + 1e-9).all()
    assert (across.log_bayes_factor * found.log_bayes_factor >= 0).all()


def test_with_a_population_both_sides_are_taken_to_be_of_its_genre() -> None:
    tells, population = Scorer.of(MEMBERS, TELLS), Population.of(levs_of(4, 12))
    found = tells(levs_of(1, 9), levs_of(2, 9, genre=2), population)
    expected = SCORER_OF_ALL(levs_of(1, 9), levs_of(2, 9, genre=2), population)
    used = ~found.population_misfit
    assert not found.two_genres[used].any()
    np.testing.assert_array_equal(found.log_bayes_factor[used], expected.log_bayes_factor[used])


@given(st.floats(-20, 20), st.floats(-20, 20))
def test_of_two_genres_the_bayes_factor_is_1_with_the_rest_of_the_probability(
    factor: float, log_odds: float
) -> None:
    share = 1 / (1 + np.exp(-log_odds))
    expected = np.log1p(share * np.expm1(factor)) if share * np.expm1(factor) > -1 + 1e-6 else None
    found = float(module.if_one_genre(np.array(factor), np.array(log_odds)))
    if expected is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
