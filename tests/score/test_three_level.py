"""The three-level model, against Gaussians over all texts at once, and by its properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from slow_three_level import (
    ALL_KNOWN,
    NONE_KNOWN,
    SlowModel,
    exact_levels,
    made_up_genres,
    pairs_of,
    said_by,
    texts_of,
)
from slow_two_covariance import seeds

from adhominem.records import from_json, to_json
from adhominem.score.fitting import restricted, unrestricted
from adhominem.score.genres import Genres, PairGeometry
from adhominem.score.members import GenreMember
from adhominem.score.products import MemberTexts, PairProducts, PopulationPart, make_cohort
from adhominem.score.three_level import (
    CentredPairs,
    Evidence,
    PartVariances,
    ThreeLevelParameters,
    compare,
    genre_posterior,
    one_genre,
)

FloatArray = npt.NDArray[np.float64]
SIZE = 6
GENRES = {number: made_up_genres(SIZE, number) for number in (1, 2, 3, 4)}
counts = st.integers(1, 5)
Sets = Sequence[FloatArray]


def lengths_of(rng: np.random.Generator, count: int) -> FloatArray:
    """Tokens, from too few to too many."""
    return np.exp(rng.uniform(np.log(20), np.log(60_000), count))


def in_a_row(tokens: Sequence[FloatArray]) -> FloatArray:
    """(pairs, texts): the logarithms of the tokens of each pair; zeros where a pair has no text."""
    rows = np.zeros((len(tokens), max(map(len, tokens))))
    for row, values in zip(rows, tokens, strict=True):
        row[: len(values)] = np.log(values)
    return rows


def part_of(
    levs: FloatArray, tokens: FloatArray | float = 650.0, authors: float | None = None
) -> PopulationPart:
    """All of a population's texts, in the columns of one member."""
    log_tokens = np.log(np.broadcast_to(np.asarray(tokens, np.float64), len(levs)))
    part = PopulationPart.of(levs, log_tokens)
    return part if authors is None else replace(part, authors=authors)


def evidence_of(
    genres: Genres,
    levels: ThreeLevelParameters,
    first: Sets,
    second: Sets,
    tokens: Sequence[FloatArray],
    population: PopulationPart | None = None,
    odds: float = ALL_KNOWN,
) -> Evidence:
    texts = pairs_of(list(first), list(second), in_a_row(tokens))
    return said_by(GenreMember(genres, levels), *texts, population, odds)


def some_pairs(
    rng: np.random.Generator, genres: Genres, number: int, most: int = 5
) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray]]:
    """Two sides a pair, by two authors, and the tokens of their texts."""
    first, second = (
        [
            texts_of(rng, genres, int(rng.integers(1, most + 1)), int(rng.integers(len(genres))))
            for _ in range(number)
        ]
        for _ in range(2)
    )
    tokens = [
        lengths_of(rng, len(one) + len(other)) for one, other in zip(first, second, strict=True)
    ]
    return first, second, tokens


def share_of_unknown(number: int, odds: float) -> float:
    """The probability of a genre that is not known, where nothing but these log odds tells."""
    return float(np.exp(odds - np.logaddexp(odds, np.log(number))))


# Without a population


@given(st.sampled_from([1, 2, 3, 4]), seeds)
@settings(max_examples=40)
def test_of_a_known_genre_it_is_the_difference_of_two_joint_log_densities(
    number: int, seed: int
) -> None:
    genres, rng = GENRES[number], np.random.default_rng(seed)
    levels = exact_levels(genres, seed)
    first, second, tokens = some_pairs(rng, genres, 5)
    found = evidence_of(genres, levels, first, second, tokens).log_bayes_factor
    slow = SlowModel(genres, levels)
    if number == 1:  # its one direction is empty: all LEVs have the same place in it
        levels = replace(levels, rest=replace(levels.rest, directions=float(SIZE)))
        found = evidence_of(
            genres,
            replace(levels, genre_part=replace(levels.genre_part, directions=0.0)),
            *(first, second, tokens),
        ).log_bayes_factor
    expected = [slow.log_bayes_factor(*pair) for pair in zip(first, second, tokens, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(st.sampled_from([2, 3, 4]), st.sampled_from([-1.0, 0.0, 2.0, NONE_KNOWN]), seeds)
@settings(max_examples=40)
def test_where_no_genre_may_be_known_c_varies_as_in_a_mixture_of_all(
    number: int, odds: float, seed: int
) -> None:
    genres, rng = GENRES[number], np.random.default_rng(seed)
    levels = exact_levels(genres, seed)
    first, second, tokens = some_pairs(rng, genres, 4)
    found = evidence_of(genres, levels, first, second, tokens, odds=odds).log_bayes_factor
    slow, unknown = SlowModel(genres, levels), share_of_unknown(number, odds)
    pairs = zip(first, second, tokens, strict=True)
    expected = [slow.log_bayes_factor(*pair, unknown) for pair in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_directions_count_by_how_many_are_independent() -> None:
    genres, rng = GENRES[3], np.random.default_rng(1)
    levels = exact_levels(genres, 1)
    pairs = some_pairs(rng, genres, 5)

    def found(inside: float, outside: float) -> FloatArray:
        changed = replace(
            levels,
            genre_part=replace(levels.genre_part, directions=inside),
            rest=replace(levels.rest, directions=outside),
        )
        return evidence_of(genres, changed, *pairs).log_bayes_factor

    np.testing.assert_allclose(found(7, 0) + found(0, 40), found(7, 40), rtol=1e-9)
    np.testing.assert_allclose(10 * found(0, 4), found(0, 40), rtol=1e-9)
    np.testing.assert_allclose(found(0, 0), 0, atol=1e-12)


# With a population


@given(st.sampled_from([2, 3]), st.integers(5, 9), st.floats(-6, 6), seeds)
@settings(max_examples=30)
def test_the_texts_of_a_population_are_more_texts_of_the_same_c_by_others(
    number: int, texts: int, odds: float, seed: int
) -> None:
    genres, rng = GENRES[number], np.random.default_rng(seed)
    levels = exact_levels(genres, seed)
    first, second, tokens = some_pairs(rng, genres, 3, most=3)
    others = np.concatenate([texts_of(rng, genres, 1) for _ in range(texts)])
    length = float(lengths_of(rng, 1)[0])
    found = evidence_of(
        genres, levels, first, second, tokens, part_of(others, length), odds
    ).log_bayes_factor
    slow = SlowModel(genres, levels)
    unknown = share_of_unknown(number, odds)
    population = others, np.full(texts, length), list(range(texts))
    expected = [
        slow.log_bayes_factor(*pair, unknown, population)
        for pair in zip(first, second, tokens, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@given(st.integers(2, 4), st.integers(2, 3), seeds)
@settings(max_examples=20)
def test_several_texts_by_an_author_of_the_population_say_less_of_c(
    authors: int, each: int, seed: int
) -> None:
    genres, rng = GENRES[3], np.random.default_rng(seed)
    levels = exact_levels(genres, seed)
    first, second, tokens = some_pairs(rng, genres, 3, most=2)
    others = np.concatenate([texts_of(rng, genres, each) for _ in range(authors)])
    part = part_of(others, authors=float(authors))
    found = evidence_of(genres, levels, first, second, tokens, part).log_bayes_factor
    slow = SlowModel(genres, levels)
    names = np.repeat(np.arange(authors), each).tolist()
    population = others, np.full(len(others), 650.0), names
    expected = [
        slow.log_bayes_factor(*pair, 0.0, population)
        for pair in zip(first, second, tokens, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_with_a_large_population_it_does_not_matter_where_the_genres_lie() -> None:
    rng = np.random.default_rng(3)
    genres = GENRES[3]
    first, second, tokens = some_pairs(rng, genres, 5)
    near = part_of(texts_of(rng, genres, 1, author=0) + 0.5 * rng.normal(size=(50, SIZE)))
    many = replace(near, texts=10**9, authors=10.0**9)
    shift = rng.normal(size=SIZE)
    moved = replace(many, lev_mean=many.mean + shift, source=many.levs + shift, memory=[])
    sides = [[levs + shift for levs in side] for side in (first, second)]
    levels = exact_levels(genres)
    here = evidence_of(genres, levels, first, second, tokens, many).log_bayes_factor
    there = evidence_of(genres, levels, sides[0], sides[1], tokens, moved).log_bayes_factor
    np.testing.assert_allclose(here, there, rtol=1e-5, atol=1e-5)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(5, 9), st.booleans(), seeds)
@settings(max_examples=25)
def test_a_side_is_compared_with_each_text_of_a_population_as_if_that_were_not_in_it(
    one: int, other: int, texts: int, inside: bool, seed: int
) -> None:
    """Also where a text of the pair stands in the population itself."""
    genres, rng = GENRES[3], np.random.default_rng(seed)
    levels = exact_levels(genres, seed)
    sides = texts_of(rng, genres, one), texts_of(rng, genres, other)
    tokens, length = lengths_of(rng, one + other), float(lengths_of(rng, 1)[0])
    others = np.concatenate([texts_of(rng, genres, 1) for _ in range(texts)])
    # As many people as there are texts, or fewer: those who stay are as many a text as before.
    people = rng.uniform(0.5, 1)
    stands = np.concatenate([others, sides[1][:1]]) if inside else others
    evidence = evidence_of(
        genres,
        levels,
        [sides[0]],
        [sides[1]],
        [tokens],
        part_of(stands, length, people * len(stands)),
        odds=0.3,
    )
    assert evidence.against is not None
    assert evidence.kept is not None
    assert evidence.kept[0].tolist() == [True] * texts + [False] * (len(stands) - texts)
    for side, own in ((0, tokens[:one]), (1, tokens[one:])):
        for at in range(texts):
            left = np.delete(others, at, axis=0)
            pair = slow_sight(
                genres, sides[side], others[at], own, length, left, people * len(left)
            )
            (slow,) = compare([(levels, pair)], 0.3)
            found = evidence.against[side][0, at]
            assert found == pytest.approx(slow.log_bayes_factor[0], rel=1e-8, abs=1e-8)


def slow_sight(
    genres: Genres,
    side: FloatArray,
    text: FloatArray,
    tokens: FloatArray,
    length: float,
    population: FloatArray,
    authors: float,
) -> PairGeometry:
    """Of a side and a text, with a population of texts of one length."""
    log_tokens = np.log([[*tokens, length]])
    products = PairProducts.of(
        *pairs_of([side], [text[None]], log_tokens), genres.centres, part_of(population)
    )
    cohort = make_cohort(
        population @ population.T,
        population @ genres.centres.T,
        np.full(len(population), np.log(length)),
        authors,
    )
    return PairGeometry.of(genres, products, log_tokens, cohort)


@pytest.mark.parametrize("power", [0.3, 1.0])
def test_far_texts_of_a_population_count_as_nearer_ones_as_they_do_on_a_side(power: float) -> None:
    """The centre moves a little where a text is left out; with many texts hardly at all."""
    rng, genres = np.random.default_rng(4), GENRES[3]
    levels = replace(exact_levels(genres, 4), length_power=power)
    others = np.concatenate([texts_of(rng, genres, 1) for _ in range(300)])
    others[0] = genres.centres[0] + 9 * (others[0] - genres.centres[0])
    side, tokens = texts_of(rng, genres, 2), np.array([300.0, 900.0])
    other = texts_of(rng, genres, 1)
    evidence = evidence_of(
        genres, levels, [side], [other], [np.append(tokens, 650.0)], part_of(others)
    )
    assert evidence.against is not None
    for at in (0, 1, 2):
        left = np.delete(others, at, axis=0)
        sight = slow_sight(genres, side, others[at], tokens, 650.0, left, len(left))
        slow = compare([(levels, sight)], ALL_KNOWN)[0].log_bayes_factor[0]
        assert evidence.against[0][0, at] == pytest.approx(slow, rel=0.03, abs=0.03)


@given(st.booleans(), st.booleans(), st.integers(5, 12), seeds)
@settings(max_examples=25)
def test_texts_of_a_pair_that_stand_in_the_population_are_left_out_of_it(
    first_in: bool, second_in: bool, texts: int, seed: int
) -> None:
    genres, rng = GENRES[3], np.random.default_rng(seed)
    levels = replace(exact_levels(genres, seed), genre_sharpness=0.4, length_power=0.6)
    first, second, tokens = texts_of(rng, genres, 2), texts_of(rng, genres, 1), np.full(3, 500.0)
    others = np.concatenate([texts_of(rng, genres, 1) for _ in range(texts)])
    inside = [side for side, there in ((first[:1], first_in), (second, second_in)) if there]
    whole = np.concatenate([others, *inside])[rng.permutation(texts + len(inside))]
    found, expected = (
        evidence_of(genres, levels, [first], [second], [tokens], part_of(population), 0.3)
        for population in (whole, others)
    )
    np.testing.assert_allclose(
        found.log_bayes_factor, expected.log_bayes_factor, rtol=1e-7, atol=1e-7
    )
    np.testing.assert_allclose(found.fit, expected.fit, rtol=1e-7, atol=1e-7)  # type: ignore[arg-type]
    assert found.kept is not None
    assert found.against is not None
    assert expected.against is not None
    assert found.kept.sum() == texts
    for side in (0, 1):
        np.testing.assert_allclose(
            np.sort(found.against[side][found.kept]),
            np.sort(expected.against[side][0]),
            rtol=1e-6,
            atol=1e-6,
        )


def test_of_a_population_some_texts_may_be_kept_and_its_mean_is_that_of_all() -> None:
    rng, genres, levels = np.random.default_rng(10), GENRES[3], ThreeLevelParameters()
    first, second, tokens = some_pairs(rng, genres, 4)
    whole = part_of(np.concatenate([texts_of(rng, genres, 1) for _ in range(20)]))
    some = replace(
        whole,
        source=whole.levs[::3],
        log_tokens=whole.log_tokens[::3],
        lev_mean=whole.mean,
        memory=[],
    )
    made, few = (evidence_of(genres, levels, first, second, tokens, part) for part in (whole, some))
    np.testing.assert_allclose(few.log_bayes_factor, made.log_bayes_factor, rtol=1e-9)
    assert made.against is not None
    assert few.against is not None
    for side in (0, 1):
        np.testing.assert_allclose(few.against[side], made.against[side][:, ::3], rtol=1e-9)


# Whether a population fits


def test_a_population_of_the_texts_genre_fits_better_than_none_and_another_worse() -> None:
    rng, genres = np.random.default_rng(5), made_up_genres(60)
    levels = ThreeLevelParameters()
    first, second = ([texts_of(rng, genres, 1) for _ in range(20)] for _ in range(2))
    tokens = [np.full(2, 650.0)] * 20
    fits = []
    for genre in (0, 1):
        others = np.concatenate([texts_of(rng, genres, 1, genre) for _ in range(30)])
        evidence = evidence_of(genres, levels, first, second, tokens, part_of(others))
        assert evidence.fit is not None
        fits.append(evidence.fit)
    assert (fits[0] > fits[1]).all()
    assert (fits[1] < 0).all()
    assert fits[0].mean() > 0
    alone = evidence_of(genres, levels, first, second, tokens)
    assert alone.fit is None
    assert alone.against is None


@given(seeds)
@settings(max_examples=20)
def test_the_density_of_the_mean_of_a_pairs_texts_is_that_of_a_gaussian(seed: int) -> None:
    """One text by each author, in the genre directions, relative to c; up to a constant."""
    genres, rng = GENRES[3], np.random.default_rng(seed)
    levels = replace(exact_levels(genres, seed), genre_sharpness=0.7, genre_spread=0.6)
    slow, tokens = SlowModel(genres, levels), np.full((2, 3), 300.0)
    member, shares = GenreMember(genres, levels), np.array([[1 / 3, 1 / 3, 1 / 3, 0]])
    densities, expected = [], []
    for lengths in tokens:
        levs = texts_of(rng, genres, 3)
        pair = member.pairs(*pairs_of([levs[:1]], [levs[1:]], np.log(lengths[None])), None)
        densities.append(CentredPairs(levels, pair, shares).log_density()[0])
        noise = np.sqrt(650 / lengths[0])
        of_texts = slow.of_parts("text") + noise * slow.of_parts("length")
        covariance = slow.genre(0.0) + 0.6 * (slow.of_parts("author") + of_texts / 3)
        covariance = genres.basis @ covariance @ genres.basis.T
        off = genres.basis @ (levs.mean(axis=0) - genres.centres.mean(axis=0)) / genres.usual
        expected.append(-0.7 * 0.5 * off @ np.linalg.solve(covariance, off))
    assert densities[0] - densities[1] == pytest.approx(expected[0] - expected[1], rel=1e-8)


# Genres


def shares_of(
    levels: ThreeLevelParameters,
    genres: Genres,
    levs: FloatArray,
    tokens: FloatArray,
    odds: float = 0.0,
) -> FloatArray:
    """(genres + 1,): the probabilities of the genre of texts, by one member."""
    texts = GenreMember(genres, levels).genre_of(MemberTexts(levs, np.log(tokens)))
    return np.asarray(genre_posterior([(levels, texts)], odds)[0])


@given(st.floats(0, 2), st.floats(-5, 5), seeds)
@settings(max_examples=30)
def test_the_shares_of_genres_are_posteriors_whose_evidence_has_an_exponent(
    sharpness: float, odds: float, seed: int
) -> None:
    genres, rng = GENRES[4], np.random.default_rng(seed)
    levels = replace(exact_levels(genres, seed), genre_sharpness=sharpness, genre_spread=0.6)
    levs, tokens = texts_of(rng, genres, 3, 2), lengths_of(rng, 3)
    found = shares_of(levels, genres, levs, tokens, odds)
    part = levels.genre_part
    noise = np.sqrt(650 / np.clip(tokens, 60, 20_000)).mean()
    centre = genres.centres.mean(axis=0)
    basis = np.linalg.svd(genres.centres - centre)[2][:3]
    near = basis @ (levs.mean(axis=0) - centre) / genres.usual
    places = (genres.centres - centre) @ basis.T / genres.usual
    spread = 0.6 * (part.author + (part.text + part.length * noise) / 3) / 3 * np.eye(3)

    def log_density(at: FloatArray, covariance: FloatArray) -> float:
        off = near - at
        determinant = np.linalg.slogdet(covariance)[1]
        return float(-0.5 * (off @ np.linalg.solve(covariance, off) + determinant))

    known = spread + levels.known_genre / 3 * np.eye(3)
    logits = [sharpness * log_density(place, known) for place in places]
    other = known + levels.unknown_genre * places.T @ places / 4
    logits.append(sharpness * log_density(np.zeros(3), other) + odds)
    expected = np.exp(logits - np.logaddexp.reduce(logits))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


def test_texts_at_a_centre_are_of_its_genre_and_far_ones_of_none() -> None:
    genres = made_up_genres(60)
    levels, tokens = ThreeLevelParameters(genre_sharpness=1.0), np.array([2_000.0])
    for at, centre in enumerate(genres.centres):
        shares = shares_of(levels, genres, centre[None], tokens)
        assert shares.argmax() == at
        assert shares.sum() == pytest.approx(1)
    away = genres.middle + 9 * (genres.centres[0] - genres.centres[1])
    shares = shares_of(levels, genres, away[None], tokens)
    assert shares[-1] > 0.9


def test_members_infer_one_genre_together() -> None:
    rng, genres = np.random.default_rng(6), [made_up_genres(5, 4, seed) for seed in (1, 2)]
    blocks = []
    for at, of in enumerate(genres):
        texts = MemberTexts(texts_of(rng, of, 2, genre=1), np.full(2, 6.5))
        levels = ThreeLevelParameters(genre_sharpness=0.3 + at)
        blocks.append((levels, GenreMember(of, levels).genre_of(texts)))
    found = genre_posterior(blocks, 0.4)[0]
    each = [genre_posterior([block], 0.0)[0] for block in blocks]
    product = each[0] * each[1] * np.exp([0, 0, 0, 0, 0.4])
    np.testing.assert_allclose(found, product / product.sum(), rtol=1e-9)


# Texts far from c


@given(st.floats(1.5, 50), seeds)
@settings(max_examples=30)
def test_at_full_power_how_far_a_text_is_does_not_matter_if_c_is_in_the_middle(
    times: float, seed: int
) -> None:
    """Its direction is all that counts, as in the cosine."""
    genres, rng = GENRES[3], np.random.default_rng(seed)
    levels = replace(exact_levels(genres, seed), length_power=1.0)
    first, second = (texts_of(rng, genres, 1) for _ in range(2))
    tokens = [lengths_of(rng, 2)]
    farther = genres.middle + times * (first - genres.middle)
    here, there = (
        evidence_of(genres, levels, [side], [second], tokens).log_bayes_factor
        for side in (first, farther)
    )
    np.testing.assert_allclose(here, there, rtol=1e-7, atol=1e-7)
    plain = replace(levels, length_power=0.0)
    moved = evidence_of(genres, plain, [farther], [second], tokens).log_bayes_factor
    assert abs(moved[0] - here[0]) > 1e-6


# Symmetry, order, range

LEVELS = {
    "usual": ThreeLevelParameters(),
    "exact": exact_levels(GENRES[3], 7),
    "sharp": ThreeLevelParameters(genre_sharpness=3.0, genre_spread=2.0, length_power=1.0),
}


@given(st.sampled_from(sorted(LEVELS)), st.booleans(), seeds)
@settings(max_examples=40)
def test_neither_the_order_of_the_sides_nor_that_of_their_texts_matters(
    name: str, given_population: bool, seed: int
) -> None:
    genres, rng, levels = GENRES[3], np.random.default_rng(seed), LEVELS[name]
    first, second, tokens = some_pairs(rng, genres, 3)
    others = np.concatenate([texts_of(rng, genres, 1) for _ in range(7)])
    part = part_of(others, lengths_of(rng, 7)) if given_population else None
    here = evidence_of(genres, levels, first, second, tokens, part)
    turned = [
        np.concatenate([own[len(side) :], own[: len(side)]])
        for own, side in zip(tokens, first, strict=True)
    ]
    back = evidence_of(genres, levels, second, first, turned, part)
    orders = [rng.permutation(len(side)) for side in first]
    mixed = evidence_of(
        genres,
        levels,
        [side[order] for side, order in zip(first, orders, strict=True)],
        second,
        [
            np.concatenate([own[order], own[len(order) :]])
            for own, order in zip(tokens, orders, strict=True)
        ],
        part,
    )
    for other in (back, mixed):
        np.testing.assert_allclose(
            other.log_bayes_factor, here.log_bayes_factor, rtol=1e-8, atol=1e-8
        )
    if here.against is not None:
        assert back.against is not None
        assert mixed.against is not None
        for side in (0, 1):
            np.testing.assert_allclose(back.against[1 - side], here.against[side], rtol=1e-7)
            np.testing.assert_allclose(mixed.against[side], here.against[side], rtol=1e-7)
        np.testing.assert_allclose(back.fit, here.fit, rtol=1e-7, atol=1e-7)  # type: ignore[arg-type]


@given(
    st.sampled_from(sorted(LEVELS)),
    st.sampled_from([1, 3]),
    st.sampled_from([0, 5, 30]),
    counts,
    counts,
    st.floats(-9, 5),
    st.floats(0, 12),
    seeds,
)
@settings(max_examples=150)
def test_it_is_finite_for_any_lengths_and_numbers(
    name: str,
    number: int,
    texts: int,
    one: int,
    other: int,
    decades: float,
    log_tokens: float,
    seed: int,
) -> None:
    genres, rng, levels = GENRES[number], np.random.default_rng(seed), LEVELS[name]
    first, second, *others = (
        10**decades * texts_of(rng, genres, count) for count in (one, other, *[1] * texts)
    )
    part = part_of(np.concatenate(others), np.exp(log_tokens)) if texts else None
    tokens = [np.exp(rng.uniform(0, log_tokens, one + other))]
    with np.errstate(all="raise", under="ignore"):
        evidence = evidence_of(genres, levels, [first], [second], tokens, part)
    assert np.isfinite(evidence.log_bayes_factor).all()
    if texts:
        assert np.isfinite(evidence.against).all()  # type: ignore[arg-type]
        assert np.isfinite(evidence.fit).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("population", [False, True])
def test_copies_of_one_text_speak_for_one_author(population: bool) -> None:
    genres, rng = GENRES[3], np.random.default_rng(6)
    text, other = texts_of(rng, genres, 1), texts_of(rng, genres, 1)
    part = part_of(rng.normal(size=(9, SIZE)) + genres.centres[0]) if population else None
    same, different = evidence_of(
        genres, ThreeLevelParameters(), [text, text], [text, other], [np.full(2, 900.0)] * 2, part
    ).log_bayes_factor
    assert np.isfinite(same)
    assert same > different


# Sights in a row


@pytest.mark.parametrize("given_population", [False, True])
def test_sights_in_a_row_are_compared_as_each_by_itself(given_population: bool) -> None:
    genres, rng, levels = GENRES[3], np.random.default_rng(8), ThreeLevelParameters()
    member, sights = GenreMember(genres, levels), []
    for most in (1, 3, 2):
        first, second, tokens = some_pairs(rng, genres, 4, most)
        others = np.concatenate([texts_of(rng, genres, 1) for _ in range(7)])
        part = part_of(others, lengths_of(rng, 7)) if given_population else None
        sights.append(member.pairs(*pairs_of(first, second, in_a_row(tokens)), part))
    joined = PairGeometry.joined([PairGeometry.joined(sights[:2]), sights[2]])
    (whole,) = compare([(levels, joined)], 1.0)
    parts = [compare([(levels, sight)], 1.0)[0] for sight in sights]
    for field in fields(Evidence):
        values = [getattr(part, field.name) for part in parts]
        if values[0] is None:
            assert getattr(whole, field.name) is None
            continue
        axis = 1 if field.name == "against" else 0
        np.testing.assert_allclose(
            getattr(whole, field.name), np.concatenate(values, axis=axis), rtol=1e-9, atol=1e-9
        )


# Parameters in a row

positive = st.floats(1e-6, 1e6)
parts = st.builds(
    PartVariances, author=positive, text=positive, length=positive, directions=positive
)
levels_of_any_kind = st.builds(
    ThreeLevelParameters,
    genre_part=parts,
    rest=parts,
    known_genre=positive,
    unknown_genre=positive,
    known_genre_rest=positive,
    unknown_genre_rest=positive,
    genre_spread=positive,
    genre_sharpness=positive,
    length_power=st.floats(-2, 2),
)


@given(levels_of_any_kind)
def test_parameters_can_be_numbers_in_a_row_and_come_back(levels: ThreeLevelParameters) -> None:
    row = unrestricted(levels)
    assert row.shape == (15,)
    assert np.isfinite(row).all()
    found = restricted(row)
    for name, value in to_json(levels).items():
        assert to_json(found)[name] == pytest.approx(value, rel=1e-9), name
    assert from_json(ThreeLevelParameters, to_json(levels)) == levels


@given(st.lists(st.floats(-9, 9), min_size=15, max_size=15))
def test_any_numbers_are_parameters(numbers: list[float]) -> None:
    row = np.array(numbers)
    np.testing.assert_allclose(unrestricted(restricted(row)), row, atol=1e-9)


def test_what_is_none_of_a_variance_stays_hardly_anything() -> None:
    levels = ThreeLevelParameters(genre_sharpness=0.0)
    assert restricted(unrestricted(levels)).genre_sharpness == pytest.approx(0, abs=1e-9)


def test_all_known_is_the_limit_of_small_odds() -> None:
    genres, rng = GENRES[3], np.random.default_rng(9)
    pairs = some_pairs(rng, genres, 6)
    factors = [
        evidence_of(genres, exact_levels(genres, 9), *pairs, odds=odds).log_bayes_factor
        for odds in (-60.0, ALL_KNOWN)
    ]
    np.testing.assert_allclose(factors[0], factors[1], rtol=1e-6)


# One genre or two


def slow_one_genre(
    genres: Genres, levels: ThreeLevelParameters, sides: Sets, tokens: Sequence[FloatArray]
) -> float:
    """Both sides' means in the genre directions, stacked: one c against two, by each mixture."""
    size, part = genres.directions, levels.genre_part
    rows = [(side - genres.middle) / genres.usual @ genres.basis.T for side in sides]
    noise = [np.sqrt(650 / np.clip(of, 60, 20_000)).mean() for of in tokens]
    spread = [
        levels.genre_spread * (part.author + (part.text + part.length * one) / len(side)) / size
        for one, side in zip(noise, sides, strict=True)
    ]
    known, inside = levels.known_genre / size * np.eye(size), np.diag(genres.variances)
    odds = np.exp(-0.7)
    mixture = [(1.0, place, known) for place in genres.places]
    mixture.append((odds, np.zeros(size), known + levels.unknown_genre * inside))
    total = sum(weight for weight, _, _ in mixture)

    def density(chosen: Sequence[int]) -> float:
        values = np.concatenate([rows[at].mean(axis=0) for at in chosen])
        own = np.diag(np.repeat([spread[at] for at in chosen], size))
        return float(
            sum(
                weight
                / total
                * multivariate_normal(
                    np.tile(place, len(chosen)), np.kron(np.ones((len(chosen),) * 2), of_c) + own
                ).pdf(values)
                for weight, place, of_c in mixture
            )
        )

    return float(np.log(density([0, 1])) - np.log(density([0])) - np.log(density([1])))


@given(seeds, st.sampled_from([2, 3, 4]), counts, counts)
@settings(max_examples=30)
def test_whether_sides_are_of_one_genre_is_the_ratio_of_mixtures_of_gaussians(
    seed: int, known: int, first: int, second: int
) -> None:
    rng = np.random.default_rng(seed)
    genres, levels = GENRES[known], exact_levels(GENRES[known], seed)
    sides = [texts_of(rng, genres, count, rng.integers(known)) for count in (first, second)]
    tokens = [lengths_of(rng, count) for count in (first, second)]
    member = GenreMember(genres, levels)
    sight = member.pairs(
        *pairs_of([sides[0]], [sides[1]], in_a_row([np.concatenate(tokens)])), None
    )
    expected = slow_one_genre(genres, levels, sides, tokens)
    np.testing.assert_allclose(one_genre(levels, sight, -0.7), expected, rtol=1e-6, atol=1e-8)
