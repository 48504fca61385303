"""The two-covariance model with multiples of the identity: a straight line in the cosine."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_two_covariance import Parameters, seeds, slow_log_bayes_factor

from adhominem.errors import OptionError
from adhominem.scoring import two_covariance as isotropic
from adhominem.scoring.two_covariance import IsotropicTwoCovariance, TwoCovariance

FloatArray = npt.NDArray[np.float64]
shares = st.floats(0.02, 0.98)


def units(rng: np.random.Generator, *shape: int) -> FloatArray:
    rows = rng.normal(size=shape)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def full_parameters(size: int, share: float) -> Parameters:
    """The same model with its precisions written out; the variances sum up to 1."""
    one = np.eye(size) * size
    return Parameters(np.zeros(size), one / share, one / (1 - share))


# The Bayes factor


@given(st.integers(1, 5), shares, seeds)
def test_with_as_many_independent_directions_as_dimensions_it_is_the_full_model(
    size: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first = [units(rng, count, size) for count in (1, 1, 3, 2)]
    second = [units(rng, count, size) for count in (1, 2, 1, 4)]
    model = IsotropicTwoCovariance(size, share, size)
    found = model.log_bayes_factor(first, second)
    slow = full_parameters(size, share)
    by_scipy = [slow_log_bayes_factor(*pair, slow) for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, by_scipy, rtol=1e-7, atol=1e-7)
    factors = (np.linalg.cholesky(each) for each in (slow.between, slow.within))
    full = TwoCovariance.from_factors(slow.mean, *factors)
    np.testing.assert_allclose(found, full.log_bayes_factor(first, second), rtol=1e-7, atol=1e-7)


@given(st.integers(1, 4), st.integers(0, 9), shares, seeds)
def test_dimensions_in_which_nothing_varies_do_not_count(
    independent: int, more: int, share: float, seed: int
) -> None:
    first, second = units(np.random.default_rng(seed), 2, 6, independent)
    small = IsotropicTwoCovariance(independent, share, independent)
    large = IsotropicTwoCovariance(independent + more, share, independent)
    padded = [np.pad(side, ((0, 0), (0, more))) for side in (first, second)]
    np.testing.assert_allclose(
        large.log_bayes_factor(*padded), small.log_bayes_factor(first, second), rtol=1e-9, atol=1e-9
    )


@given(shares, st.floats(1, 500), seeds)
def test_for_texts_of_unit_length_it_is_a_rising_straight_line_in_the_cosine(
    share: float, independent: float, seed: int
) -> None:
    first, second = units(np.random.default_rng(seed), 2, 8, 30)
    second[:4] = first[:4] + 0.5 * second[:4]
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    cosine = (first * second).sum(axis=1)
    found = IsotropicTwoCovariance(30, share, independent).log_bayes_factor(first, second)
    slope, start = np.polyfit(cosine, found, 1)
    assert slope > 0
    np.testing.assert_allclose(found, start + slope * cosine, rtol=1e-6, atol=1e-6 * slope)


@given(shares, st.floats(1, 500), seeds)
def test_the_sides_can_be_swapped_and_the_texts_of_a_side_reordered(
    share: float, independent: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first, second = [units(rng, 3, 12)], [units(rng, 2, 12)]
    model = IsotropicTwoCovariance(12, share, independent)
    found = model.log_bayes_factor(first, second)
    for pair in ((second, first), ([first[0][::-1]], second)):
        np.testing.assert_allclose(model.log_bayes_factor(*pair), found, rtol=1e-9, atol=1e-9)


def test_more_texts_of_the_same_author_are_stronger_evidence() -> None:
    rng = np.random.default_rng(0)
    style = units(rng, 40)
    texts = style + 0.7 * units(rng, 8, 40)
    texts /= np.linalg.norm(texts, axis=1, keepdims=True)
    model = IsotropicTwoCovariance(40, 0.5, 40)
    found = [float(model.log_bayes_factor([texts[:1]], [texts[1:n]])[0]) for n in (2, 4, 8)]
    assert found == sorted(found)
    assert 0 < found[0] < found[2] - 1


# Its parameters


def drawn(seed: int, share: float, size: int, authors: int = 30) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 6, authors)
    names = np.repeat(np.arange(authors), counts)
    styles = rng.normal(size=(authors, size)) * share**0.5
    rows = styles[names] + rng.normal(size=(len(names), size)) * (1 - share) ** 0.5
    order = rng.permutation(len(names))
    return rows[order] / np.linalg.norm(rows[order], axis=1, keepdims=True), names[order]


@given(seeds, st.floats(0.2, 0.8), st.integers(3, 40))
def test_parameters_are_the_mean_cosine_of_authors_and_the_variance_between_them(
    seed: int, share: float, size: int
) -> None:
    rows, names = drawn(seed, share, size, authors=12)
    own: dict[int, list[float]] = {}
    different = []
    for one, other in combinations(range(len(rows)), 2):
        cosine = float(rows[one] @ rows[other])
        if names[one] == names[other]:
            own.setdefault(names[one], []).append(cosine)
        else:
            different.append(cosine)
    model = IsotropicTwoCovariance.of(rows, names)
    mean = float(np.mean([np.mean(cosines) for cosines in own.values()]))
    assert model.between_share == pytest.approx(np.clip(mean, 1e-3, 1 - 1e-3), rel=1e-4, abs=1e-6)
    assert model.independent == pytest.approx(1 / np.var(different), rel=1e-3)
    assert model.lev_size == size


def test_they_are_found_again_in_texts_that_were_drawn_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, names = drawn(0, 0.4, 200, authors=400)
    assert len(rows) > 600
    for most in (3_000, 500):  # all texts are compared, or some
        monkeypatch.setattr(isotropic, "_MOST_COMPARED", most)
        model = IsotropicTwoCovariance.of(rows, names)
        assert model.between_share == pytest.approx(0.4, rel=0.1)
        assert model.independent == pytest.approx(200, rel=0.1)


def test_authors_who_are_unlike_themselves_have_the_least_share() -> None:
    rows = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    model = IsotropicTwoCovariance.of(rows + 0.1 * np.eye(4)[:, :2], [0, 0, 1, 1])
    assert model.between_share == 1e-3


@pytest.mark.parametrize("names", [[0, 0, 0, 0], [0, 1, 2, 3]])
def test_one_author_or_only_single_texts_are_refused(names: list[int]) -> None:
    rows = units(np.random.default_rng(0), 4, 9)
    with pytest.raises(OptionError, match="two authors or more, and one of them with two"):
        IsotropicTwoCovariance.of(rows, names)


def test_two_short_levs_are_judged_by_their_product_alone() -> None:
    rng = np.random.default_rng(3)
    model = IsotropicTwoCovariance(12, 0.3, 40.0)
    first, second = units(rng, 2, 50, 12)
    short = first * rng.uniform(0.1, 1, (50, 1)), second * rng.uniform(0.1, 1, (50, 1))
    products = [(one * other).sum(axis=1) for one, other in ((first, second), short)]
    scores = [model.log_bayes_factor(*sides) for sides in ((first, second), short)]
    slope, constant = np.polyfit(products[0], scores[0], 1)
    np.testing.assert_allclose(scores[0], constant + slope * products[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores[1], constant + slope * products[1], rtol=1e-9, atol=1e-9)


def test_a_short_lev_is_one_that_has_noise_of_its_own() -> None:
    rng = np.random.default_rng(4)
    model, larger = (IsotropicTwoCovariance(size, 0.3, 40.0) for size in (6, 10))
    levs = units(rng, 4, 6) * rng.uniform(0.2, 1, (4, 1))
    noise = np.diag(np.sqrt(1 - np.square(levs).sum(axis=1)))  # a dimension for each alone
    whole = np.concatenate([levs, noise], axis=1)
    np.testing.assert_allclose(
        model.log_bayes_factor([levs[:3]], [levs[3:]]),
        larger.log_bayes_factor([whole[:3]], [whole[3:]]),
        rtol=1e-9,
    )
