"""Many pairs at once, against the same pairs one by one."""

from __future__ import annotations

import numpy as np
import pytest
from slow_measures import assert_same

from adhominem.arrays import Levs
from adhominem.errors import OptionError
from adhominem.scoring import members, rows
from adhominem.scoring.measures import Measures
from adhominem.scoring.members import (
    LayerScorer,
    MemberScorer,
    OnPairs,
    PopulationPart,
    Sides,
    StyleScorer,
)
from adhominem.scoring.styles import Styles
from adhominem.scoring.two_covariance import IsotropicTwoCovariance, TwoCovariance

GENRES = ("letters", "notes", "sermons")


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


def others(styles: Styles, texts: int) -> Levs:
    """Texts by others, around the first genre."""
    noise = np.random.default_rng(9).normal(size=(texts, styles.centres.shape[1]))
    return (styles.centres[0] + noise).astype(np.float32)


def measured(scorer: MemberScorer, first: Sides, second: Sides, texts: Levs | None) -> Measures:
    part = None if texts is None else PopulationPart.of(texts)
    return scorer.measures(first, second, part)


def all_measured(
    scorer: MemberScorer, levs: Levs, texts: Levs | None, on_pairs: OnPairs = lambda count: None
) -> Measures:
    part = None if texts is None else PopulationPart.of(texts)
    return scorer.all_pairs(levs, part, on_pairs)


def one_by_one(scorer: MemberScorer, levs: Levs, texts: Levs | None) -> Measures:
    first, second = np.triu_indices(len(levs), 1)
    pairs = zip(levs[first], levs[second], strict=True)
    return Measures.joined([measured(scorer, one[None], two[None], texts) for one, two in pairs])


@pytest.mark.parametrize("lev_size", [7, 150])
@pytest.mark.parametrize("texts", [None, 5, 40])
def test_all_pairs_get_what_each_pair_gets(
    lev_size: int, texts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "_PAIRS_AT_ONCE", 5)
    monkeypatch.setattr(rows, "_COLUMNS_AT_ONCE", 4)
    styles, levs = styles_of(lev_size, 0)
    isotropic = isinstance(styles.two_covariance, IsotropicTwoCovariance)
    assert isotropic == (lev_size > 100)
    population = None if texts is None else others(styles, texts)
    counted: list[int] = []
    made = all_measured(StyleScorer(styles), levs, population, counted.append)
    expected = one_by_one(StyleScorer(styles), levs, population)
    assert np.ptp(expected.log_bayes_factor) > 1
    assert_same(made, expected, 1e-6)
    assert sum(counted) == len(expected) == 28
    assert max(counted) <= 5


def test_a_single_kind_is_guessed_without_fail() -> None:
    styles, levs = styles_of(150, 2)
    alone = StyleScorer(styles)
    for genre in styles.genres[1:]:
        alone = alone.without(genre)
    assert len(alone.styles.genres) == 1
    assert_same(all_measured(alone, levs, None), one_by_one(alone, levs, None), 1e-6)


def test_a_layer_compares_all_pairs() -> None:
    rng = np.random.default_rng(0)
    levs = rng.normal(size=(9, 4))
    layer = TwoCovariance.from_precisions(np.ones(4), np.eye(4), 3 * np.eye(4))
    expected = [
        layer.log_bayes_factor(levs[[first]], levs[[second]])[0]
        for first in range(9)
        for second in range(first + 1, 9)
    ]
    scorer = LayerScorer(layer, lambda seen: seen, levs.shape[1])
    made = all_measured(scorer, levs, None)
    np.testing.assert_allclose(made.log_bayes_factor, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(made.standing, made.log_bayes_factor)
    assert_same(made, one_by_one(scorer, levs, None))


def test_a_layer_moves_the_mean_of_a_population_to_its_own() -> None:
    rng = np.random.default_rng(1)
    levs, texts = rng.normal(size=(6, 4)), 2 + rng.normal(size=(9, 4))
    mean = np.arange(4.0)
    layer = TwoCovariance.from_precisions(mean, np.eye(4), 3 * np.eye(4))
    scorer = LayerScorer(layer, lambda seen: 2 * seen, 4)
    moved = 2 * (levs - texts.mean(axis=0)) + mean
    first, second = np.triu_indices(6, 1)
    expected = layer.log_bayes_factor(moved[first], moved[second])
    made = all_measured(scorer, levs, texts)
    np.testing.assert_allclose(made.log_bayes_factor, expected, atol=1e-9)
    assert_same(made, one_by_one(scorer, levs, texts))


@pytest.mark.parametrize("lev_size", [4, 7, 150])
@pytest.mark.parametrize("given_population", [False, True])
def test_pairs_by_number_get_what_the_same_levs_get(lev_size: int, given_population: bool) -> None:
    scorer: MemberScorer
    if lev_size == 4:
        layer = TwoCovariance.from_precisions(np.ones(4), np.eye(4), 3 * np.eye(4))
        scorer, levs = (
            LayerScorer(layer, lambda seen: seen, 4),
            np.random.default_rng(1).normal(size=(8, 4)),
        )
        texts = np.random.default_rng(2).normal(size=(9, 4))
    else:
        styles, levs = styles_of(lev_size, 3)
        scorer, texts = StyleScorer(styles), others(styles, 9)
    first, second = np.array([[0, 1], [2, 5]]), np.array([[3], [4]])
    table = scorer.table(np.concatenate([levs, texts]), None)
    chosen = np.arange(8, 17) if given_population else None
    made = scorer.measures_among(table, first, second, chosen)
    expected = measured(scorer, levs[first], levs[second], texts if given_population else None)
    assert_same(made, expected, 1e-6)


def test_one_text_makes_no_pair() -> None:
    styles, levs = styles_of(150, 3)
    assert len(all_measured(StyleScorer(styles), levs[:1], None)) == 0
    assert len(all_measured(StyleScorer(styles), levs[:1], others(styles, 6))) == 0


def test_given_pairs_must_be_numbers() -> None:
    styles, levs = styles_of(150, 4)
    levs[0, 3] = np.nan
    with pytest.raises(OptionError, match="a LEV is not finite"):
        measured(StyleScorer(styles), levs[:2], levs[2:4], None)
