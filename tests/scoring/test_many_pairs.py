"""Many pairs at once, against the same pairs one by one."""

from __future__ import annotations

import numpy as np
import pytest

from adhominem.errors import OptionError
from adhominem.scoring import members as many_pairs
from adhominem.scoring.members import LayerScorer, StyleScorer, products
from adhominem.scoring.styles import Centre, Styles
from adhominem.scoring.two_covariance import IsotropicTwoCovariance, TwoCovariance

GENRES = ("letters", "notes", "sermons")


def style_factors(styles: Styles, levs: np.ndarray, centre: Centre | None = None) -> np.ndarray:
    return StyleScorer(styles).all_pairs(levs, centre, lambda count: None)[0]


def style_context(styles: Styles, levs: np.ndarray, centre: Centre | None = None) -> np.ndarray:
    return StyleScorer(styles).all_pairs(levs, centre, lambda count: None)[1]


def styles_of(lev_size: int, seed: int) -> tuple[Styles, np.ndarray]:
    """Styles of a few genres, and LEVs: some of a genre, some between, some far off."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(GENRES), lev_size))
    authors, corpora = np.repeat(np.arange(30), 4), np.repeat(np.arange(3), 40)
    habits = rng.normal(size=(30, lev_size))[authors]
    levs = centres[corpora] + 0.5 * habits + rng.normal(size=(120, lev_size))
    fitted = Styles.fit(levs, authors, corpora, GENRES)
    texts = [*levs[[0, 1, 50, 90]], centres[:2].mean(axis=0), 30 * centres[0], 1.001 * centres[1]]
    # Near the centre a LEV is shorter than usual; a copy is as near as can be.
    return fitted, np.array([*texts, texts[0]], dtype=np.float32)


def one_by_one(styles: Styles, levs: np.ndarray, population: Centre | None) -> np.ndarray:
    first, second = np.triu_indices(len(levs), 1)
    sides = ([levs[None, at].astype(np.float64) for at in side] for side in (first, second))
    return styles.log_bayes_factor(*sides, population)


@pytest.mark.parametrize("lev_size", [7, 150])
@pytest.mark.parametrize("texts", [None, 5, 400])
def test_all_pairs_get_what_each_pair_gets(
    lev_size: int, texts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_pairs, "_PAIRS_AT_ONCE", 5)
    monkeypatch.setattr(many_pairs, "_COLUMNS_AT_ONCE", 4)
    styles, levs = styles_of(lev_size, 0)
    isotropic = isinstance(styles.two_covariance, IsotropicTwoCovariance)
    assert isotropic == (lev_size > 100)
    population = None if texts is None else (levs.mean(axis=0, dtype=np.float64) + 0.1, texts)
    counted: list[int] = []
    found = StyleScorer(styles).all_pairs(levs, population, counted.append)[0]
    expected = one_by_one(styles, levs, population)
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert sum(counted) == len(expected) == 28
    assert max(counted) == 5


@pytest.mark.parametrize("lev_size", [7, 150])
def test_the_context_is_that_of_each_pair(lev_size: int) -> None:
    styles, levs = styles_of(lev_size, 1)
    first, second = np.triu_indices(len(levs), 1)
    sides = [[levs[None, at].astype(np.float64) for at in side] for side in (first, second)]
    expected = styles.context(*sides)
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(style_context(styles, levs), expected, rtol=0, atol=1e-9)
    population = (levs.mean(axis=0, dtype=np.float64), 9)
    assert not style_context(styles, levs, population).any()
    assert style_context(styles, levs, population).shape == expected.shape


def test_a_single_kind_is_guessed_without_fail() -> None:
    styles, levs = styles_of(150, 2)
    alone = styles.without("letters", 1)
    assert len(alone.genres) == 1
    expected = one_by_one(alone, levs, None)
    np.testing.assert_allclose(style_factors(alone, levs), expected, rtol=0, atol=1e-9)


def test_a_layer_compares_all_pairs() -> None:
    rng = np.random.default_rng(0)
    levs = rng.normal(size=(9, 4))
    layer = TwoCovariance.from_precisions(np.ones(4), np.eye(4), 3 * np.eye(4))
    expected = [
        layer.log_bayes_factor(levs[[first]], levs[[second]])[0]
        for first in range(9)
        for second in range(first + 1, 9)
    ]
    np.testing.assert_allclose(
        LayerScorer(layer, lambda seen: seen, levs.shape[1]).all_pairs(
            levs, None, lambda count: None
        )[0],
        expected,
        rtol=0,
        atol=1e-12,
    )


def test_one_text_makes_no_pair() -> None:
    styles, levs = styles_of(150, 3)
    assert style_factors(styles, levs[:1]).shape == (0,)
    assert style_context(styles, levs[:1]).shape == (1, 0)


def test_products_are_seen_from_the_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_pairs, "_COLUMNS_AT_ONCE", 3)
    rng = np.random.default_rng(0)
    one, other, origin = rng.normal(size=(4, 7)), rng.normal(size=(2, 7)), rng.normal(size=7)
    rows = np.concatenate([one, other]) - origin
    np.testing.assert_allclose(products(one, other, origin=origin), rows @ rows.T, atol=1e-12)


@pytest.mark.parametrize("lev_size", [7, 150])
@pytest.mark.parametrize("texts", [None, 5, 400])
def test_given_pairs_get_what_each_pair_gets(
    lev_size: int, texts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_pairs, "_COLUMNS_AT_ONCE", 4)
    styles, levs = styles_of(lev_size, 3)
    population = None if texts is None else (levs.mean(axis=0, dtype=np.float64) + 0.1, texts)
    first, second = levs[[0, 0, 3, 5, 7]], levs[[1, 0, 6, 2, 4]]
    sides = [[lev[None].astype(np.float64) for lev in side] for side in (first, second)]
    expected = styles.log_bayes_factor(*sides, population)
    assert np.ptp(expected) > 1
    found = StyleScorer(styles).scores(first, second, population)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    found = StyleScorer(styles).context(first, second, population)
    np.testing.assert_allclose(found, styles.context(*sides, population), rtol=0, atol=1e-9)


def test_given_pairs_must_be_numbers() -> None:
    styles, levs = styles_of(150, 4)
    levs[0, 3] = np.nan
    with pytest.raises(OptionError, match="a LEV is not finite"):
        StyleScorer(styles).scores(levs[:2], levs[2:4], None)


def test_no_pairs_get_no_factors() -> None:
    styles, levs = styles_of(150, 5)
    assert StyleScorer(styles).scores(levs[:0], levs[:0], None).shape == (0,)
    assert StyleScorer(styles).context(levs[:0], levs[:0], None).shape == (1, 0)
