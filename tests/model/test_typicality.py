"""What is usual among the training texts, and what is unlike them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from adhominem.errors import ModelError
from adhominem.model.member import read_typicality
from adhominem.model.writing import write_typicality
from adhominem.score.typicality import Typicality

FloatArray = npt.NDArray[np.float64]


def made_up_levs(texts: int, size: int, seed: int = 0) -> FloatArray:
    """Drawn with correlations, and with spreads that differ a hundredfold."""
    rng = np.random.default_rng(seed)
    turned = np.linalg.qr(np.random.default_rng(99).normal(size=(size, size)))[0]
    spread = np.geomspace(0.01, 1, size)
    return np.asarray(rng.normal(size=(texts, size)) * spread @ turned + 0.3)


def reference_of(levs: FloatArray) -> Typicality:
    shares = np.linspace(0, 0.2, len(levs))
    return Typicality.of(levs, shares, np.arange(1, len(levs) + 1))


def slow_distance(lev: FloatArray, levs: FloatArray) -> float:
    """Mahalanobis, by its definition."""
    mean = sum(levs) / len(levs)
    covariance = sum(np.outer(each - mean, each - mean) for each in levs) / len(levs)
    off = lev - mean
    return float(np.sqrt(off @ np.linalg.inv(covariance) @ off / len(lev)))


def test_misfit_is_the_mahalanobis_distance_over_its_limit() -> None:
    levs, new = made_up_levs(300, 6), made_up_levs(20, 6, seed=1)
    typicality = reference_of(levs)
    expected = [slow_distance(lev, levs) for lev in new]
    np.testing.assert_allclose(
        typicality.atypicality(new) * typicality.distance_limit, expected, rtol=1e-9
    )


def test_the_limit_is_what_99_percent_keep_seen_by_all_the_others() -> None:
    levs = made_up_levs(200, 6)
    typicality = reference_of(levs)
    alone = [
        slow_distance(lev, np.delete(levs, at, axis=0)) for at, lev in enumerate(levs)
    ]  # each by the measure of the other 199
    assert float(typicality.distance_limit) == pytest.approx(np.quantile(alone, 0.99), rel=0.02)


@pytest.mark.parametrize(("texts", "size"), [(100, 60), (300, 30), (2_000, 60)])
def test_99_percent_of_its_own_texts_and_of_new_ones_are_within(texts: int, size: int) -> None:
    levs = made_up_levs(texts, size)
    typicality = reference_of(levs)
    assert (typicality.atypicality(levs) <= 1).mean() >= 0.99
    assert (typicality.atypicality(made_up_levs(5_000, size, seed=1)) <= 1).mean() > 0.95
    assert (typicality.atypicality(10 * levs) > 1).mean() > 0.99


def test_with_fewer_texts_than_dimensions_nothing_is_called_unlike() -> None:
    typicality = reference_of(made_up_levs(20, 30))
    assert (typicality.atypicality(made_up_levs(500, 30, seed=1)) <= 1).all()


def test_a_dimension_that_never_changes_shows_who_changes_it() -> None:
    levs = made_up_levs(300, 4)
    levs[:, 2] = 0.5
    typicality = reference_of(levs)
    assert (typicality.atypicality(levs) <= 1).mean() >= 0.99
    other = levs[:3].copy()
    other[:, 2] += 0.1
    assert np.isfinite(typicality.atypicality(other)).all()
    assert (typicality.atypicality(other) > 10 * typicality.atypicality(levs[:3])).all()


@pytest.mark.parametrize("texts", [1, 5])
def test_texts_that_are_all_the_same_give_numbers(texts: int) -> None:
    typicality = reference_of(np.full((texts, 3), 0.25))
    assert typicality.atypicality(np.full((2, 3), 0.25)).tolist() == [0, 0]
    assert np.isfinite(typicality.atypicality(np.zeros((2, 3)))).all()


def test_shares_and_lengths_have_their_limits_at_the_outer_hundredth() -> None:
    typicality = Typicality.of(made_up_levs(101, 3), np.arange(101) / 100, np.arange(1_000, 1_101))
    assert float(typicality.unknown_limit) == pytest.approx(0.99)
    assert float(typicality.shortest) == pytest.approx(1_001)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    written = reference_of(made_up_levs(100, 5))
    write_typicality(tmp_path, written)
    found = read_typicality(tmp_path, 5)
    assert found is not None
    new = made_up_levs(50, 5, seed=1)
    np.testing.assert_allclose(found.atypicality(new), written.atypicality(new), rtol=1e-4)
    assert float(found.shortest) == pytest.approx(float(written.shortest))
    assert float(found.unknown_limit) == pytest.approx(float(written.unknown_limit))
    assert found.distance_limit.shape == found.shortest.shape == ()


def test_a_folder_without_one_has_none(tmp_path: Path) -> None:
    assert read_typicality(tmp_path, 5) is None


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    from safetensors.numpy import save

    write_typicality(tmp_path, reference_of(made_up_levs(100, 5)))
    path = tmp_path / "typicality.safetensors"
    whole = path.read_bytes()
    numbers = {name: np.ones(1) for name in ("distance_limit", "unknown_limit", "shortest")}
    others = {"lev_mean": np.zeros(5), "lev_whitening": np.eye(4)}
    for damaged in (
        whole[:50],
        b"",
        b"\xff" * 100,
        save({"lev_mean": np.zeros(5)}),
        save({**numbers, **others}),
        save(
            {
                **numbers,
                "lev_mean": np.zeros(5),
                "lev_whitening": np.eye(5),
                "shortest": numbers["shortest"][:0],
            }
        ),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ModelError, match=r"is damaged \(typicality.safetensors: ") as caught:
            read_typicality(tmp_path, 5)
        assert str(tmp_path) in str(caught.value)
