"""The Bayes factor is that of the joint Gaussians, and EM finds the most likely ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_two_covariance import (
    Parameters,
    ill_conditioned_factor,
    lev_sizes,
    random_map,
    random_parameters,
    seeds,
    slow_log_bayes_factor,
    slow_log_density,
)

from adhominem.errors import OptionError
from adhominem.paper.two_covariance import TwoCovariance

counts = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def model_of(parameters: Parameters) -> TwoCovariance:
    return TwoCovariance.from_precisions(parameters.mean, parameters.between, parameters.within)


def parameters_of(model: TwoCovariance) -> Parameters:
    return Parameters(
        model.author_mean, model.between_author_precision, model.within_author_precision
    )


def draw_sets(
    parameters: Parameters, counts: list[int], rng: np.random.Generator
) -> list[np.ndarray]:
    styles = parameters.draw_authors(len(counts), rng)
    return [
        parameters.draw_documents(np.repeat(style[None], count, axis=0), rng)
        for style, count in zip(styles, counts, strict=True)
    ]


# The Bayes factor


@given(seeds, lev_sizes, st.integers(0, 6))
def test_a_pair_scores_the_difference_of_joint_log_densities(
    seed: int, size: int, pairs: int
) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    first, second = (parameters.mean + 2 * rng.normal(size=(pairs, size)) for _ in range(2))
    slow = [
        slow_log_bayes_factor(one[None], other[None], parameters)
        for one, other in zip(first, second, strict=True)
    ]
    found = model_of(parameters).log_bayes_factor(first, second)
    assert found.shape == (pairs,)
    np.testing.assert_allclose(found, slow, rtol=1e-9, atol=1e-9)


@given(seeds, lev_sizes, counts, st.data())
def test_sets_of_any_size_score_the_difference_of_joint_log_densities(
    seed: int, size: int, first_counts: list[int], data: st.DataObject
) -> None:
    pairs = len(first_counts)
    second_counts = data.draw(st.lists(st.integers(1, 5), min_size=pairs, max_size=pairs))
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    first, second = (draw_sets(parameters, each, rng) for each in (first_counts, second_counts))
    slow = [
        slow_log_bayes_factor(one, other, parameters)
        for one, other in zip(first, second, strict=True)
    ]
    found = model_of(parameters).log_bayes_factor(first, second)
    np.testing.assert_allclose(found, slow, rtol=1e-9, atol=1e-9)


def slow_quadratic_form(first: np.ndarray, second: np.ndarray, parameters: Parameters) -> float:
    """The paper's score with the right kappa (erratum 1), matrix by matrix."""
    mu, B, W = parameters.mean, parameters.between, parameters.within  # noqa: N806
    G, L = np.linalg.inv(B + W), np.linalg.inv(B + 2 * W)  # noqa: N806
    log_det = {name: np.linalg.slogdet(m)[1] for name, m in (("B", B), ("G", G), ("L", L))}
    cross = 0.5 * W.T @ L @ W
    own = 0.5 * W.T @ (L - G) @ W
    rho = W.T @ (L - G) @ B @ mu
    kappa = 0.5 * (-2 * log_det["G"] - log_det["B"] + log_det["L"] + mu @ B @ mu)
    kappa += 0.5 * (B @ mu) @ (L - 2 * G) @ (B @ mu)
    return float(
        first @ cross @ second
        + second @ cross @ first
        + first @ own @ first
        + second @ own @ second
        + (first + second) @ rho
        + kappa
    )


@given(seeds, lev_sizes)
def test_the_papers_quadratic_form_with_the_corrected_constant_gives_the_same(
    seed: int, size: int
) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    first, second = (parameters.mean + 2 * rng.normal(size=size) for _ in range(2))
    (found,) = model_of(parameters).log_bayes_factor(first[None], second[None])
    assert found == pytest.approx(slow_quadratic_form(first, second, parameters), abs=1e-8)


@given(seeds, lev_sizes, counts)
def test_the_sides_can_be_exchanged(seed: int, size: int, each: list[int]) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    model = model_of(parameters)
    first, second = draw_sets(parameters, each, rng), draw_sets(parameters, each[::-1], rng)
    np.testing.assert_allclose(
        model.log_bayes_factor(first, second), model.log_bayes_factor(second, first), atol=1e-11
    )


@given(seeds, lev_sizes, st.floats(-8, 8))
def test_levs_and_model_mapped_together_keep_their_scores(
    seed: int, size: int, decades: float
) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_parameters(size, rng)
    linear, shift = random_map(size, decades, rng)
    mapped = model_of(parameters.mapped(linear, shift))
    first, second = (parameters.mean + 2 * rng.normal(size=(4, size)) for _ in range(2))
    np.testing.assert_allclose(
        mapped.log_bayes_factor(first @ linear.T + shift, second @ linear.T + shift),
        model_of(parameters).log_bayes_factor(first, second),
        rtol=1e-7,
        atol=1e-7,
    )


def test_a_set_of_one_is_a_pair_however_it_is_written() -> None:
    rng = np.random.default_rng(3)
    model = model_of(random_parameters(3, rng))
    first, second = rng.normal(size=(2, 4, 3))
    pairs = model.log_bayes_factor(first, second)
    for form in (first.tolist(), list(first), first[:, None, :], [one[None] for one in first]):
        np.testing.assert_allclose(model.log_bayes_factor(form, second), pairs, rtol=1e-12)


def test_factors_and_precisions_are_two_ways_to_the_same_model() -> None:
    rng = np.random.default_rng(4)
    parameters = random_parameters(4, rng)
    factors = (np.linalg.cholesky(m) for m in (parameters.between, parameters.within))
    for model in (model_of(parameters), TwoCovariance.from_factors(parameters.mean, *factors)):
        assert model.lev_size == 4
        np.testing.assert_allclose(model.author_mean, parameters.mean)
        np.testing.assert_allclose(model.between_author_precision, parameters.between)
        np.testing.assert_allclose(model.within_author_precision, parameters.within)


@pytest.mark.parametrize("decades", [8, 12])
def test_an_ill_conditioned_model_of_float32_stays_finite(decades: int) -> None:
    rng = np.random.default_rng(decades)
    between, within = (
        ill_conditioned_factor(128, decades, rng).astype(np.float32) for _ in range(2)
    )
    model = TwoCovariance.from_factors(np.zeros(128, np.float32), between, within)
    levs = rng.normal(size=(2, 6, 128)).astype(np.float32)
    assert np.isfinite(model.log_bayes_factor(*levs)).all()
    assert np.isfinite(model.log_bayes_factor([levs[0]], [levs[1]])).all()


def test_authors_whose_spread_knows_no_bounds_still_get_a_finite_score() -> None:
    model = TwoCovariance.from_factors(np.zeros(2), np.diag([1e-200, 0]), np.eye(2))
    assert np.isfinite(model.log_bayes_factor(np.ones((1, 2)), np.ones((1, 2)))).all()


# Several known documents


def cllr(same: np.ndarray, different: np.ndarray) -> float:
    """The cost of log likelihood ratios, in bits."""
    cost_same = np.logaddexp(0, -same).mean() / np.log(2)
    cost_different = np.logaddexp(0, different).mean() / np.log(2)
    return float(0.5 * (cost_same + cost_different))


@pytest.mark.parametrize("known", [2, 5, 10])
def test_counting_the_known_documents_costs_less_than_averaging_them_into_one(known: int) -> None:
    rng = np.random.default_rng(known)
    size, trials = 4, 1_500
    parameters = Parameters(np.zeros(size), np.eye(size), 0.5 * np.eye(size))
    styles = parameters.draw_authors(trials, rng)
    documents = parameters.draw_documents(np.repeat(styles, known, axis=0), rng)
    sets = documents.reshape(trials, known, size)
    questioned = parameters.draw_documents(styles, rng)
    other = parameters.draw_documents(parameters.draw_authors(trials, rng), rng)
    model = model_of(parameters)
    counted, averaged, first_alone = (
        cllr(model.log_bayes_factor(side, questioned), model.log_bayes_factor(side, other))
        for side in (sets, sets.mean(axis=1), sets[:, 0])
    )
    assert counted < averaged - 0.01
    assert counted < first_alone - 0.02


# EM


def simulate(
    parameters: Parameters, documents: Sequence[int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """LEVs of authors with so many documents each, and the authors' numbers."""
    styles = parameters.draw_authors(len(documents), rng)
    authors = np.repeat(np.arange(len(documents)), documents)
    return parameters.draw_documents(styles[authors], rng), authors


def slow_log_likelihood(
    levs: np.ndarray, authors: Sequence[Hashable] | np.ndarray, parameters: Parameters
) -> float:
    by_author = defaultdict(list)
    for lev, author in zip(levs, authors, strict=True):
        by_author[author].append(lev)
    return sum(slow_log_density(np.array(each), parameters) for each in by_author.values())


@settings(max_examples=25)
@given(seeds, lev_sizes, st.lists(st.integers(1, 5), max_size=5), st.integers(1, 6))
def test_the_log_likelihood_is_the_true_one_and_never_falls(
    seed: int, size: int, documents: list[int], steps: int
) -> None:
    rng = np.random.default_rng(seed)
    enough = [3] * (size + 3)  # for SciPy: with fewer, the covariances come near to singular
    levs, authors = simulate(random_parameters(size, rng), enough + documents, rng)
    after = TwoCovariance(max_iterations=steps, tolerance=0).fit(levs, authors)
    longer = TwoCovariance(max_iterations=steps + 1, tolerance=0).fit(levs, authors)
    assert longer.log_likelihoods[:steps] == pytest.approx(after.log_likelihoods)
    slow = slow_log_likelihood(levs, authors, parameters_of(after))
    assert longer.log_likelihoods[steps] == pytest.approx(slow, abs=1e-7)
    assert np.diff(longer.log_likelihoods).min() >= -1e-9


@pytest.fixture(scope="module")
def many_authors() -> tuple[Parameters, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    parameters = random_parameters(3, rng)
    levs, authors = simulate(parameters, rng.integers(1, 7, 1_500), rng)
    return parameters, levs, authors


def test_fitting_recovers_the_parameters_that_made_the_levs(
    many_authors: tuple[Parameters, np.ndarray, np.ndarray],
) -> None:
    true, levs, authors = many_authors
    found = parameters_of(TwoCovariance().fit(levs, authors))
    spread = np.sqrt(np.diag(np.linalg.inv(true.between)))
    assert (np.abs(found.mean - true.mean) / spread).max() < 0.1
    for one, other in ((found.between, true.between), (found.within, true.within)):
        covariance, expected = np.linalg.inv(one), np.linalg.inv(other)
        assert np.linalg.norm(covariance - expected) < 0.1 * np.linalg.norm(expected)


def test_what_fitting_finds_is_at_least_as_likely_as_the_truth(
    many_authors: tuple[Parameters, np.ndarray, np.ndarray],
) -> None:
    true, levs, authors = many_authors
    model = TwoCovariance().fit(levs, authors)
    found = slow_log_likelihood(levs, authors, parameters_of(model))
    assert found >= slow_log_likelihood(levs, authors, true)
    assert found >= model.log_likelihoods[-1] - 1e-6
    assert len(model.log_likelihoods) < model.max_iterations  # so it did converge


def test_no_parameters_nearby_are_more_likely() -> None:
    rng = np.random.default_rng(16)
    true = Parameters(np.zeros(2), np.eye(2), np.diag([0.5, 2.0]))
    levs, authors = simulate(true, [1, 2, 8] * 15, rng)
    model = TwoCovariance(max_iterations=3_000, tolerance=1e-14).fit(levs, authors)
    found = parameters_of(model)
    best = slow_log_likelihood(levs, authors, found)
    for _ in range(60):
        step = 0.01 * rng.normal(size=(2, 2, 2))
        near = Parameters(
            found.mean + 0.01 * rng.normal(size=2),
            *(
                (np.eye(2) + move) @ precision @ (np.eye(2) + move).T
                for move, precision in zip(step, (found.between, found.within), strict=True)
            ),
        )
        assert slow_log_likelihood(levs, authors, near) < best


def test_the_mean_weighs_an_author_by_what_is_known_of_them() -> None:
    rng = np.random.default_rng(17)
    true = Parameters(np.full(2, 5.0), np.eye(2), np.diag([0.5, 2.0]))
    levs, authors = simulate(true, [1, 2, 30] * 5, rng)
    model = TwoCovariance(max_iterations=3_000, tolerance=1e-14).fit(levs, authors)
    between, within = (
        np.linalg.inv(m) for m in (model.between_author_precision, model.within_author_precision)
    )
    weights, weighted = np.zeros((2, 2)), np.zeros(2)
    for author in np.unique(authors):
        documents = levs[authors == author]
        weight = np.linalg.inv(between + within / len(documents))
        weights += weight
        weighted += weight @ documents.mean(axis=0)
    expected = np.linalg.solve(weights, weighted)
    np.testing.assert_allclose(model.author_mean, expected, atol=1e-4)
    assert np.abs(expected - levs.mean(axis=0)).max() > 0.01


def test_with_as_many_documents_by_every_author_it_is_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(12)
    authors_count, each = 120, 4
    levs, authors = simulate(random_parameters(3, rng), [each] * authors_count, rng)
    groups = levs.reshape(authors_count, each, 3)
    means = groups.mean(axis=1)
    rest = (groups - means[:, None]).reshape(-1, 3)
    within = rest.T @ rest / (authors_count * (each - 1))
    between = np.cov(means.T, bias=True) - within / each
    model = TwoCovariance(max_iterations=2_000, tolerance=1e-13).fit(levs, authors)
    np.testing.assert_allclose(model.author_mean, levs.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(np.linalg.inv(model.within_author_precision), within, rtol=1e-3)
    np.testing.assert_allclose(np.linalg.inv(model.between_author_precision), between, rtol=1e-3)


def few_documents(size: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(13)
    return simulate(random_parameters(size, rng), [1, 2, 3, 1, 4, 2, 2], rng)


def assert_same_model(one: TwoCovariance, other: TwoCovariance) -> None:
    np.testing.assert_allclose(one.log_likelihoods, other.log_likelihoods, rtol=1e-7)
    for found, expected in zip(
        vars(parameters_of(one)).values(), vars(parameters_of(other)).values(), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@given(st.permutations(range(15)))
@settings(max_examples=20)
def test_the_order_of_the_documents_does_not_matter(order: list[int]) -> None:
    levs, authors = few_documents()
    fitting = TwoCovariance(max_iterations=10, tolerance=0)
    shuffled = TwoCovariance(max_iterations=10, tolerance=0)
    assert_same_model(fitting.fit(levs, authors), shuffled.fit(levs[order], authors[order]))


@pytest.mark.parametrize(
    "rename",
    [
        lambda author: f"author {author}",
        lambda author: ("corpus", int(author)),
        lambda author: int(author) * 10**12,
    ],
)
def test_authors_may_have_names_of_any_kind(rename: Any) -> None:
    levs, authors = few_documents()
    named = TwoCovariance().fit(levs, [rename(author) for author in authors])
    assert_same_model(named, TwoCovariance().fit(levs, authors))


def test_names_may_come_as_an_array_of_strings() -> None:
    levs, authors = few_documents()
    named = TwoCovariance().fit(levs, authors.astype(str))
    assert_same_model(named, TwoCovariance().fit(levs, authors))


def test_fitting_follows_a_linear_map_of_the_levs() -> None:
    levs, authors = few_documents()
    rng = np.random.default_rng(14)
    linear, shift = rng.normal(size=(3, 3)) + 2 * np.eye(3), np.array([100.0, 0, -5])
    mapped = levs @ linear.T + shift
    one, other = (TwoCovariance(max_iterations=20, tolerance=0) for _ in range(2))
    np.testing.assert_allclose(
        other.fit(mapped, authors).log_bayes_factor(mapped[:-1], mapped[1:]),
        one.fit(levs, authors).log_bayes_factor(levs[:-1], levs[1:]),
        rtol=1e-6,
        atol=1e-6,
    )


rng = np.random.default_rng(15)
TWENTY_BY_SIX = np.arange(20) % 6
DEGENERATE = {
    "more dimensions than authors": rng.normal(size=(20, 10)),
    "more dimensions than documents": rng.normal(size=(20, 50)),
    "a dimension that is always zero": np.c_[rng.normal(size=(20, 2)), np.zeros(20)],
    "a dimension that is always five": np.c_[rng.normal(size=(20, 2)), np.full(20, 5.0)],
    "a dimension twice": rng.normal(size=(20, 2))[:, [0, 1, 1]],
    "authors who always write the same": rng.normal(size=(6, 3))[TWENTY_BY_SIX],
    "authors who do not differ": np.tile(rng.normal(size=(4, 3)), (6, 1)),
    "very small numbers": 1e-12 * rng.normal(size=(20, 3)),
    "very large numbers": 1e12 * rng.normal(size=(20, 3)),
    "one dimension": rng.normal(size=(20, 1)),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_levs_give_a_finite_model_whose_likelihood_never_falls(name: str) -> None:
    levs = DEGENERATE[name]
    authors = TWENTY_BY_SIX if len(levs) == 20 else np.arange(len(levs)) // 4
    model = TwoCovariance(max_iterations=300, tolerance=0).fit(levs, authors)
    assert np.isfinite(model.log_bayes_factor(levs[:-1], levs[1:])).all()
    likelihoods = np.array(model.log_likelihoods)
    assert np.isfinite(likelihoods).all()
    assert np.diff(likelihoods).min(initial=0) >= -1e-6 * np.abs(likelihoods).max()


def test_the_floor_of_the_variances_is_out_of_the_way_of_ordinary_levs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levs, authors = few_documents()
    ordinary = TwoCovariance(max_iterations=20, tolerance=0).fit(levs, authors)
    monkeypatch.setattr("adhominem.paper.two_covariance._FLOOR", 1e-30)
    monkeypatch.setattr("adhominem.paper.two_covariance._FLAT", 1e-30)
    assert_same_model(TwoCovariance(max_iterations=20, tolerance=0).fit(levs, authors), ordinary)


# What cannot work


@pytest.mark.parametrize(
    ("levs", "authors", "message"),
    [
        (np.zeros((3, 2)), [0, 0], r"shape \(3, 2\) for 2 authors"),
        (np.zeros(3), [0, 0, 1], r"shape \(3,\)"),
        (np.zeros((0, 2)), [], "0 authors"),
        (np.ones((3, 2)), [0, 0, 0], "1 authors, at most 3 documents"),
        (np.eye(3), [0, 1, 2], "3 authors, at most 1 documents"),
        (np.diag([1.0, np.nan, 1]), [0, 0, 1], "not finite"),
        (np.diag([1.0, np.inf, 1]), [0, 0, 1], "not finite"),
        (np.ones((3, 2)), [0, 0, 1], "all LEVs are the same"),
    ],
)
def test_fitting_says_what_is_wrong(levs: np.ndarray, authors: list[int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        TwoCovariance().fit(levs, authors)


UNIT = TwoCovariance.from_precisions(np.zeros(2), np.eye(2), np.eye(2))
NO_NUMBER = np.array([[1.0, np.nan]])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 2)), r"shape \(2, 3\); expected \(pairs, 2\)"),
        (np.zeros(2), np.zeros(2), r"shape \(2,\)"),
        ([np.zeros((2, 3))], [np.zeros((1, 2))], r"shape \(1, 3\)"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], np.zeros((2, 2)), r"\(2, 2\), \(2, 3\)"),
        ([np.zeros((2, 2)), np.zeros(2)], np.zeros((2, 2)), r"\(2, 2\), \(2,\)"),
        (np.zeros((2, 2)), np.zeros((3, 2)), "2 first sides, 3 second sides"),
        ([np.zeros((0, 2))], [np.zeros((1, 2))], "a side without documents"),
        (NO_NUMBER, np.zeros((1, 2)), "not finite"),
        (np.zeros((1, 2)), [NO_NUMBER], "not finite"),
    ],
)
def test_scoring_says_what_is_wrong(first: Any, second: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        UNIT.log_bayes_factor(first, second)


@pytest.mark.parametrize(
    ("mean", "between", "within", "message"),
    [
        (np.zeros(2), -np.eye(2), np.eye(2), "between_author_precision is not positive definite"),
        (np.zeros(2), np.eye(2), np.zeros((2, 2)), "within_author_precision is not positive"),
        (np.zeros(2), np.eye(2), np.zeros((2, 3)), "within_author_precision is not .* square"),
        (np.zeros(3), np.eye(2), np.eye(2), r"mean \(3,\)"),
        (np.zeros(2), np.eye(2), np.eye(3), r"\(3, 3\)"),
        (np.array([0, np.nan]), np.eye(2), np.eye(2), "not finite"),
    ],
)
def test_parameters_that_make_no_model_are_refused(
    mean: np.ndarray, between: np.ndarray, within: np.ndarray, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        TwoCovariance.from_precisions(mean, between, within)


def test_a_singular_factor_is_refused() -> None:
    with pytest.raises(OptionError, match="within_author_factor is singular"):
        TwoCovariance.from_factors(np.zeros(2), np.eye(2), np.zeros((2, 2)))


@pytest.mark.parametrize(
    "settings", [{"max_iterations": 0}, {"tolerance": -1e-9}, {"tolerance": float("nan")}]
)
def test_settings_of_em_that_cannot_work_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=r"max_iterations .* tolerance"):
        TwoCovariance(**settings)  # type: ignore[arg-type]
