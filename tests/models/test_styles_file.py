"""Kinds of text and their two-covariance model in a model's folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from test_folder import halve

from adhominem.errors import ModelError
from adhominem.models.layout import STYLES
from adhominem.models.member import read_styles
from adhominem.models.writing import write_styles
from adhominem.scoring.members import PopulationPart, StyleScorer
from adhominem.scoring.styles import Styles
from adhominem.scoring.two_covariance import IsotropicTwoCovariance

Arrays = dict[str, npt.NDArray[Any]]


def made_up_styles(size: int, scale: float = 1.0) -> tuple[Styles, npt.NDArray[np.float64]]:
    """Of three kinds; and LEVs of one of them."""
    rng = np.random.default_rng(0)
    authors = np.repeat(np.arange(30), 4)
    levs = rng.normal(size=(3, size))[authors % 3] + rng.normal(size=(30, size))[authors]
    levs = scale * (levs + 0.5 * rng.normal(size=levs.shape))
    names = ["blogs", "sermons — “old”", "letters"]
    return Styles.fit(levs, authors, authors % 3, names), levs[authors % 3 == 1]


def reread(styles: Styles, folder: Path) -> Styles:
    write_styles(folder, styles)
    found = read_styles(folder, styles.centres.shape[1])
    assert found is not None
    return found


@pytest.mark.parametrize("size", [8, 120])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_styles_that_were_written_score_as_before(size: int, scale: float, tmp_path: Path) -> None:
    styles, levs = made_up_styles(size, scale)
    again = reread(styles, tmp_path)
    assert again.genres == styles.genres
    assert type(again.two_covariance) is type(styles.two_covariance)
    np.testing.assert_allclose(again.centres, styles.centres, rtol=1e-6)
    assert again.usual == pytest.approx(styles.usual, rel=1e-6)
    sides = [levs[at : at + 2] for at in range(0, 20, 2)], [levs[at : at + 1] for at in range(10)]
    for population in (None, PopulationPart.of(levs[20:])):
        expected, made = (
            scorer.measures(*sides, population)
            for scorer in (StyleScorer(styles), StyleScorer(again))
        )
        assert np.ptp(expected.log_bayes_factor) > 1
        for field in fields(expected):
            np.testing.assert_allclose(
                getattr(made, field.name), getattr(expected, field.name), rtol=1e-3, atol=1e-3
            )


def test_the_isotropic_model_is_kept_by_its_two_numbers(tmp_path: Path) -> None:
    styles, _ = made_up_styles(120)
    found = reread(styles, tmp_path).two_covariance
    assert isinstance(found, IsotropicTwoCovariance)
    assert isinstance(styles.two_covariance, IsotropicTwoCovariance)
    for name in ("between_share", "independent", "lev_size"):
        expected = getattr(styles.two_covariance, name)
        assert getattr(found, name) == pytest.approx(expected, rel=1e-6)


def test_a_model_without_styles_has_none(tmp_path: Path) -> None:
    assert read_styles(tmp_path, 8) is None


# Damage


def rewritten(folder: Path, edit: Callable[[Arrays, dict[str, str]], object]) -> None:
    with safe_open(folder / STYLES.name, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = dict(file.metadata())
    edit(arrays, metadata)
    save_file(arrays, folder / STYLES.name, metadata or None)


DAMAGES: dict[str, Callable[[Arrays, dict[str, str]], object]] = {
    "no genres": lambda a, m: m.clear(),
    "a genre without a name": lambda a, m: m.update(genres="blogs\n\nnotes"),
    "a genre twice": lambda a, m: m.update(genres="blogs\nnotes\nblogs"),
    "a genre too few": lambda a, m: m.update(genres="blogs\nletters"),
    "no centres": lambda a, m: a.pop("centres"),
    "centres of another size": lambda a, m: a.update(centres=a["centres"][:, :5].copy()),
    "centres in a row": lambda a, m: a.update(centres=a["centres"][0].copy()),
    "isotropic centres in a row": lambda a, m: a.update(
        centres=a["centres"][:, 0].copy(), isotropic=np.array([0.5, 9], np.float32)
    ),
    "nothing usual": lambda a, m: a.pop("usual"),
    "no mean": lambda a, m: a.pop("author_mean"),
    "half a projection": lambda a, m: a.update(projection=a["projection"][:4].copy()),
    "no precision_ratio": lambda a, m: a.pop("precision_ratio"),
    "an impossible share": lambda a, m: a.update(isotropic=np.array([2, 100], np.float32)),
    "three numbers": lambda a, m: a.update(isotropic=np.array([0.5, 9, 9], np.float32)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_an_error_that_names_the_folder(damage: str, tmp_path: Path) -> None:
    write_styles(tmp_path, made_up_styles(8)[0])
    rewritten(tmp_path, lambda arrays, metadata: None)
    assert read_styles(tmp_path, 8) is not None
    rewritten(tmp_path, DAMAGES[damage])
    with pytest.raises(ModelError, match=r"is damaged \(styles.safetensors: .*again") as error:
        read_styles(tmp_path, 8)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize("act", [halve, lambda path: path.write_bytes(b"")])
def test_a_broken_file_is_an_error_that_names_the_folder(
    act: Callable[[Path], object], tmp_path: Path
) -> None:
    write_styles(tmp_path, made_up_styles(8)[0])
    act(tmp_path / STYLES.name)
    with pytest.raises(ModelError, match=r"is damaged \(styles.safetensors: .*again") as error:
        read_styles(tmp_path, 8)
    assert str(tmp_path) in str(error.value)


def test_more_kinds_than_texts_can_be_compared_with_are_refused(tmp_path: Path) -> None:
    styles, _ = made_up_styles(4)
    most = tuple(f"genre {number}" for number in range(1_001))
    centres = np.resize(styles.centres, (len(most), 4))
    assert (
        reread(replace(styles, genres=most[1:], centres=centres[1:]), tmp_path).genres == most[1:]
    )
    with pytest.raises(ModelError, match="1001 genres; expected 1 to 1,000"):
        reread(replace(styles, genres=most, centres=centres), tmp_path)
