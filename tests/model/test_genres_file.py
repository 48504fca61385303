"""The genres in a model's folder: where their texts lie."""

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
from adhominem.model.layout import STYLES
from adhominem.model.member import read_genres
from adhominem.model.writing import write_genres
from adhominem.score.genres import Genres
from adhominem.score.members import GenreMember, evidence_of
from adhominem.score.products import MemberTexts, PopulationPart
from adhominem.score.three_level import Evidence

Arrays = dict[str, npt.NDArray[Any]]


def made_up_genres(size: int, scale: float = 1.0) -> tuple[Genres, npt.NDArray[np.float64]]:
    """Three; and LEVs of one of them."""
    rng = np.random.default_rng(0)
    authors = np.repeat(np.arange(30), 4)
    levs = rng.normal(size=(3, size))[authors % 3] + rng.normal(size=(30, size))[authors]
    levs = scale * (levs + 0.5 * rng.normal(size=levs.shape))
    names = ["blogs", "sermons — “old”", "letters"]
    return Genres.fit(levs, authors % 3, names), levs[authors % 3 == 1]


def reread(genres: Genres, folder: Path) -> Genres:
    write_genres(folder, genres)
    found = read_genres(folder, genres.centres.shape[1])
    assert found is not None
    return found


@pytest.mark.parametrize("size", [8, 120])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_genres_that_were_written_score_as_before(size: int, scale: float, tmp_path: Path) -> None:
    genres, levs = made_up_genres(size, scale)
    again = reread(genres, tmp_path)
    assert again.names == genres.names
    np.testing.assert_allclose(again.centres, genres.centres, rtol=1e-6)
    assert again.usual == pytest.approx(genres.usual, rel=1e-6)
    first, second = np.arange(20).reshape(10, 2), np.arange(10)[:, None]
    texts = MemberTexts(levs[:20], np.full(20, 6.5))
    for population in (None, PopulationPart.of(levs[20:], np.full(20, 6.0))):
        expected, made = (
            evidence_of([member], [member.pairs(texts, first, second, population)], 1.0)[0]
            for member in (GenreMember(genres), GenreMember(again))
        )
        assert np.ptp(expected.log_bayes_factor) > 1
        for name in (field.name for field in fields(Evidence)):
            if getattr(expected, name) is not None:
                np.testing.assert_allclose(
                    getattr(made, name), getattr(expected, name), rtol=1e-3, atol=1e-3
                )


def test_a_model_without_genres_has_none(tmp_path: Path) -> None:
    assert read_genres(tmp_path, 8) is None


def test_what_earlier_versions_wrote_beside_the_genres_is_ignored(tmp_path: Path) -> None:
    genres, _ = made_up_genres(8)
    expected = reread(genres, tmp_path)
    more = {
        "isotropic": np.array([0.3, 20.0], np.float32),
        "author_mean": np.zeros(8, np.float32),
    }
    rewritten(tmp_path, lambda arrays, metadata: arrays.update(more))
    found = read_genres(tmp_path, 8)
    assert found is not None
    assert found.names == expected.names
    np.testing.assert_array_equal(found.centres, expected.centres)


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
    "no usual distance": lambda a, m: a.pop("usual"),
    "a usual distance of 0": lambda a, m: a.update(usual=np.zeros(1, np.float32)),
    "two usual distances": lambda a, m: a.update(usual=np.ones(2, np.float32)),
    "centres of another type": lambda a, m: a.update(centres=a["centres"].astype(np.float64)),
    "a centre that is not a number": lambda a, m: a.update(centres=a["centres"] * np.nan),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_an_error_that_names_the_folder(damage: str, tmp_path: Path) -> None:
    write_genres(tmp_path, made_up_genres(8)[0])
    rewritten(tmp_path, lambda arrays, metadata: None)
    assert read_genres(tmp_path, 8) is not None
    rewritten(tmp_path, DAMAGES[damage])
    with pytest.raises(ModelError, match=r"is damaged \(styles.safetensors: .*again") as error:
        read_genres(tmp_path, 8)
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize("act", [halve, lambda path: path.write_bytes(b"")])
def test_a_broken_file_is_an_error_that_names_the_folder(
    act: Callable[[Path], object], tmp_path: Path
) -> None:
    write_genres(tmp_path, made_up_genres(8)[0])
    act(tmp_path / STYLES.name)
    with pytest.raises(ModelError, match=r"is damaged \(styles.safetensors: .*again") as error:
        read_genres(tmp_path, 8)
    assert str(tmp_path) in str(error.value)


def test_more_genres_than_texts_can_be_compared_with_are_refused(tmp_path: Path) -> None:
    genres, _ = made_up_genres(4)
    most = tuple(f"genre {number}" for number in range(1_001))
    centres = np.resize(genres.centres, (len(most), 4))
    assert reread(replace(genres, names=most[1:], centres=centres[1:]), tmp_path).names == most[1:]
    with pytest.raises(ModelError, match="1001 genres; expected 1 to 1,000"):
        reread(replace(genres, names=most, centres=centres), tmp_path)
