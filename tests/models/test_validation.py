"""Pairs of known authors that a result is held against: kept, checked, chosen by what is alike."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save

from adhominem.errors import ModelError
from adhominem.models.calibration import Validation, read_validation, write_validation

GENRES = ("blogs", "letters", "tröt")
ARRAYS = [each.name for each in fields(Validation) if each.name != "genres"]
Arrays = dict[str, npt.NDArray[np.generic]]
seeds = st.integers(0, 2**32 - 1)


def made_up(
    pairs: int, seed: int = 0, genres: tuple[str, ...] = GENRES, unknown: bool = True
) -> Validation:
    rng = np.random.default_rng(seed)
    population = rng.random(pairs) < 0.5
    return Validation(
        genres=genres,
        log_bayes_factor=rng.normal(size=pairs).astype(np.float32),
        same_author=rng.random(pairs) < 0.5,
        genre=rng.integers(0, len(genres), pairs).astype(np.int32),
        words=rng.choice([100, 250, 300, 900, 1_000], pairs).astype(np.int32),
        population=population,
        known=population | (rng.random(pairs) < 0.6) if unknown else np.ones(pairs, bool),
    )


def name_pairs(folder: Path, data: bytes) -> Path:
    """Put these bytes into the folder as the pairs of its calibration."""
    for old in folder.glob("validation-*"):
        old.unlink()
    digest = sha256(data).hexdigest()
    (folder / "calibration.json").write_text(json.dumps({"format": 3, "validation": digest}))
    path = folder / f"validation-{digest[:16]}.safetensors"
    path.write_bytes(data)
    return path


def write(folder: Path, validation: Validation) -> Path:
    """The file of the pairs, which a calibration.json names."""
    digest = write_validation(folder, validation)
    path = folder / f"validation-{digest[:16]}.safetensors"
    (folder / "calibration.json").write_text(json.dumps({"format": 3, "validation": digest}))
    return path


def same(one: Validation, other: Validation) -> bool:
    return one.genres == other.genres and all(
        getattr(one, name).dtype == getattr(other, name).dtype
        and np.array_equal(getattr(one, name), getattr(other, name))
        for name in ARRAYS
    )


# As it lies in the folder


@pytest.mark.parametrize("pairs", [0, 1, 500])
def test_what_is_written_is_read_again(pairs: int, tmp_path: Path) -> None:
    written = made_up(pairs)
    write(tmp_path, made_up(7, seed=1))
    write(tmp_path, written)  # it is the one that calibration.json names
    found = read_validation(tmp_path)
    assert found is not None
    assert same(found, written)
    assert len(found) == pairs


def test_the_file_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    path = write(tmp_path, made_up(3))
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_a_folder_without_one_has_none(tmp_path: Path) -> None:
    assert read_validation(tmp_path) is None


def rewritten(path: Path, edit: Callable[[Arrays, dict[str, str]], object]) -> Path:
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = dict(file.metadata())
    edit(arrays, metadata)
    return name_pairs(path.parent, save(arrays, metadata or None))


DAMAGES: dict[str, Callable[[Arrays, dict[str, str]], object]] = {
    "no genres": lambda a, m: m.clear(),
    "a genre twice less": lambda a, m: m.update(genres="blogs"),
    "a genre too few": lambda a, m: m.update(genres="\n".join(GENRES[:2])),
    "an array too few": lambda a, m: a.pop("words"),
    "an array too many": lambda a, m: a.update(more=np.zeros(40)),
    "an array too short": lambda a, m: a.update(words=a["words"][:-1].copy()),
    "arrays in a square": lambda a, m: a.update(
        {name: np.stack([value, value]) for name, value in a.items()}
    ),
    "a genre that is none": lambda a, m: a.update(genre=a["genre"] - np.int32(1)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_an_error_that_names_the_file(damage: str, tmp_path: Path) -> None:
    path = rewritten(write(tmp_path, made_up(40)), lambda arrays, metadata: None)
    assert read_validation(tmp_path) is not None
    path = rewritten(path, DAMAGES[damage])
    with pytest.raises(ModelError, match=r"is damaged .*calibrate the model again") as error:
        read_validation(tmp_path)
    assert f"{tmp_path} is damaged ({path.name}: " in str(error.value)


@pytest.mark.parametrize("left", [0, 50, -1])
def test_half_a_file_is_an_error_that_names_it(left: int, tmp_path: Path) -> None:
    path = name_pairs(tmp_path, write(tmp_path, made_up(40)).read_bytes()[:left])
    with pytest.raises(ModelError, match="is damaged") as error:
        read_validation(tmp_path)
    assert f"{tmp_path} is damaged ({path.name}: " in str(error.value)


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="rows of one length"):
        replace(made_up(5), words=np.zeros(4, np.int32))
    with pytest.raises(ValueError, match="of no genre"):
        replace(made_up(5), genre=np.full(5, 3, np.int32))


# Parts of it


@given(seeds, st.lists(st.integers(0, 20), min_size=1, max_size=4))
def test_joining_puts_all_pairs_in_a_row(seed: int, sizes: list[int]) -> None:
    parts = [made_up(size, seed + at) for at, size in enumerate(sizes)]
    whole = Validation.joined(parts)
    assert len(whole) == sum(sizes)
    begin = 0
    for part in parts:
        chosen = np.zeros(len(whole), bool)
        chosen[begin : begin + len(part)] = True
        begin += len(part)
        assert same(whole[chosen], part)


def enough(chosen: Validation) -> bool:
    right = chosen.same_author.tolist()
    return right.count(True) >= 30 and right.count(False) >= 30


def slow_like(
    validation: Validation, words: int, genre: str, population: bool
) -> tuple[list[int], list[str]]:
    """Of like genre and length; else of like length; else all under this condition."""
    found = []
    for at in range(len(validation)):
        if validation.population[at] != population:
            continue
        if not population and validation.known[at] != bool(genre):
            continue
        found.append(at)

    def mask(chosen: list[int]) -> npt.NDArray[np.bool_]:
        return np.isin(np.arange(len(validation)), chosen)

    near = [at for at in found if words / 1.5 <= validation.words[at] <= words * 1.5]
    own = [at for at in near if validation.genres[validation.genre[at]] == genre]
    for chosen, told in ((own, ["genre", "words"]), (near, ["words"])):
        if enough(validation[mask(chosen)]):
            return chosen, told
    return found, []


@given(
    seeds,
    st.integers(50, 4_000),
    st.sampled_from([60, 120, 300, 1_000, 500, 90, 200]),
    st.sampled_from(["", "unheard of", *GENRES]),
    st.booleans(),
)
def test_of_conditions_that_leave_too_few_pairs_first_the_kind_goes_then_the_length(
    seed: int, pairs: int, words: int, genre: str, population: bool
) -> None:
    validation = made_up(pairs, seed)
    chosen, conditions = slow_like(validation, words, genre, population)
    found, told = validation.like(words, genre, population)
    assert same(found, validation[np.isin(np.arange(pairs), chosen)])
    assert told.startswith("with a population" if population else "without a population")
    assert ("as if the model did not know" in told) == (not genre and not population)
    assert (f"of the genre “{genre}”" in told) == ("genre" in conditions)
    if "words" in conditions:
        lengths = sorted({f"{each:,}" for each in (found.words.min(), found.words.max())}, key=len)
        assert all(f"{each} " in told for each in lengths)
        assert (" to " in told) == (len(lengths) == 2)
    else:
        assert "of any length" in told


def test_each_of_these_comes_about() -> None:
    validation = made_up(3_000)
    few = replace(validation, genre=np.where(validation.genre, 1, 0).astype(np.int32))
    cut = few[(few.genre == 1) | (np.arange(3_000) % 20 == 0)]  # few blogs
    assert "of the genre “letters”, of 250 to 300 words" in cut.like(280, "letters", False)[1]
    found, told = cut.like(280, "blogs", True)
    assert told == (
        "with a population, of all genres, since too few of this length are of “blogs”, "
        "of 250 to 300 words"
    )
    assert set(found.genre.tolist()) == {0, 1}
    found, told = cut.like(5_000, "letters", True)
    assert told.startswith("with a population, of all genres, since too few of this length")
    assert "of any length" in told
    assert len(found) == cut.population.sum()


def test_a_model_that_knows_of_no_kinds_has_pairs_all_the_same() -> None:
    validation = made_up(600, genres=("pairs",), unknown=False)
    found, told = validation.like(300, "", False)
    assert len(found) > 60
    assert not found.population.any()
    assert told == "without a population, of 250 to 300 words"
