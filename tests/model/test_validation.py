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
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save

from adhominem.errors import ModelError
from adhominem.model.calibration import Validation, read_validation, validation_file
from adhominem.model.folder import CALIBRATION_FORMAT

GENRES = ("blogs", "letters", "tröt")
ARRAYS = [each.name for each in fields(Validation) if each.name != "genres"]
Arrays = dict[str, npt.NDArray[np.generic]]
seeds = st.integers(0, 2**32 - 1)


def made_up(
    pairs: int, seed: int = 0, genres: tuple[str, ...] = GENRES, unknown: bool = True
) -> Validation:
    rng = np.random.default_rng(seed)
    population = rng.choice([0, 0, 5, 10, 20, 100], pairs).astype(np.int32)
    return Validation(
        genres=genres,
        log_bayes_factor=rng.normal(size=pairs).astype(np.float32),
        same_author=rng.random(pairs) < 0.5,
        genre=rng.integers(0, len(genres), pairs).astype(np.int32),
        words=rng.choice([100, 250, 300, 900, 1_000], pairs).astype(np.int32),
        texts=rng.choice([1, 1, 2, 3, 5], pairs).astype(np.int32),
        population=population,
        known=rng.random(pairs) < 0.6 if unknown else np.ones(pairs, bool),
    )


def name_pairs(folder: Path, data: bytes) -> Path:
    """Put these bytes into the folder as the pairs of its calibration."""
    for old in folder.glob("validation-*"):
        old.unlink()
    digest = sha256(data).hexdigest()
    (folder / "calibration.json").write_text(
        json.dumps({"format": CALIBRATION_FORMAT, "validation": digest})
    )
    path = folder / f"validation-{digest[:16]}.safetensors"
    path.write_bytes(data)
    return path


def write(folder: Path, validation: Validation) -> Path:
    """The file of the pairs, which a calibration.json names."""
    return name_pairs(folder, validation_file(validation))


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


def slow_cell(value: int, starts: tuple[int, ...]) -> int:
    return max(start for start in starts if start <= value)


def slow_like(
    validation: Validation, words: int, genre: str, texts: int, population: int
) -> tuple[list[int], tuple[str, ...]]:
    """Which cases, and which conditions had to go: the last ones first."""

    def under(at: int) -> bool:
        if bool(validation.population[at]) != bool(population):
            return False
        return bool(population) or validation.known[at] == bool(genre)

    tests: dict[str, Callable[[int], bool]] = {
        "number of texts": lambda at: (
            slow_cell(validation.texts[at], (1, 2, 4)) == slow_cell(texts, (1, 2, 4))
        ),
        "length of the texts": lambda at: words / 1.5 <= validation.words[at] <= words * 1.5,
        "size of the population": lambda at: (
            slow_cell(validation.population[at], (0, 5, 20)) == slow_cell(population, (0, 5, 20))
        ),
        "genre": lambda at: validation.genres[validation.genre[at]] == genre,
    }
    if not population:
        del tests["size of the population"]
    gone = () if genre in validation.genres else ("genre",)  # none of the cases is of it
    names = [name for name in tests if name not in gone]
    for kept in range(len(names), -1, -1):
        chosen = [
            at
            for at in range(len(validation))
            if under(at) and all(tests[name](at) for name in names[:kept])
        ]
        if enough(validation[np.isin(np.arange(len(validation)), chosen)]):
            break
    return chosen, (*gone, *reversed(names[kept:]))


@given(
    seeds,
    st.integers(50, 3_000),
    st.sampled_from([60, 120, 300, 1_000, 500, 90, 200]),
    st.sampled_from(["", "unheard of", *GENRES]),
    st.integers(1, 6),
    st.sampled_from([0, 5, 12, 20, 70]),
)
@settings(max_examples=50)
def test_of_conditions_that_leave_too_few_cases_the_last_goes_first(
    seed: int, pairs: int, words: int, genre: str, texts: int, population: int
) -> None:
    validation = made_up(pairs, seed)
    chosen, dropped = slow_like(validation, words, genre, texts, population)
    like = validation.like(words, genre, texts, population)
    assert same(like.cases, validation[np.isin(np.arange(pairs), chosen)])
    assert like.dropped == dropped
    assert like.description.startswith("without a population") == (not population)
    assert ("as if the model did not know" in like.description) == (not genre and not population)
    assert (f"of the genre “{genre}”" in like.description) == (
        genre in GENRES and "genre" not in dropped
    )
    assert ("words a text" in like.description) == ("length of the texts" not in dropped)
    for name, told in (
        ("size of the population", "with a population of any size"),
        ("length of the texts", "of any length"),
        ("number of texts", "with any number of known texts"),
        ("genre", "of all genres"),
    ):
        assert (told in like.description) == (name in dropped)


def test_the_conditions_that_cases_share_are_told() -> None:
    validation = made_up(20_000)
    told = validation.like(300, "letters", 1, 0).description
    assert told == (
        "without a population, with one text a side, of 200 to 450 words a text, "
        "of the genre “letters”"
    )
    told = validation.like(1_000, "", 3, 60).description
    assert told == (
        "with two or three known texts, of 667 to 1,500 words a text, "
        "with a population of 20 texts or more, of all genres"
    )
    few = replace(validation, population=np.where(validation.population, 5, 0).astype(np.int32))
    like = few.like(9_999, "letters", 5, 30)
    assert like.dropped == ("genre", "size of the population", "length of the texts")
    assert like.description == (
        "with five known texts, of any length, with a population of any size, of all genres"
    )


def test_a_model_that_knows_of_no_kinds_has_cases_all_the_same() -> None:
    validation = made_up(2_000, genres=("pairs",), unknown=False)
    like = validation.like(300, "")
    assert len(like.cases) > 60
    assert not like.cases.population.any()
    told = "without a population, with one text a side, of 200 to 450 words a text, of all genres"
    assert like.description == told


# Cases that are there several times


@given(seeds, st.integers(1, 40), st.sampled_from([100, 280, 950]), st.sampled_from([0, 7, 50]))
def test_of_each_case_the_nearest_entry_counts(
    seed: int, cases: int, words: int, population: int
) -> None:
    rng = np.random.default_rng(seed)
    entries = replace(made_up(120, seed), case=rng.integers(0, cases, 120).astype(np.int32))
    once = entries.nearest_entries(words, population)
    assert sorted(once.case.tolist()) == sorted(set(entries.case.tolist()))

    def far(of: Validation) -> npt.NDArray[np.float64]:
        return np.abs(np.log(of.words / words)) + np.abs(
            np.log((of.population + 1) / (population + 1))
        )

    for number, distance in zip(once.case.tolist(), far(once).tolist(), strict=True):
        assert distance == pytest.approx(far(entries[entries.case == number]).min())


def test_entries_without_a_number_are_cases_of_their_own() -> None:
    entries = made_up(50)
    assert same(entries.nearest_entries(300, 0), entries)
    both = Validation.joined([entries, replace(entries, case=np.zeros(50, np.int32))])
    assert len(both.nearest_entries(300, 0)) == 51


def test_like_cases_are_counted_once() -> None:
    validation = made_up(4_000)
    twice = Validation.joined([replace(validation, case=np.arange(4_000, dtype=np.int32))] * 2)
    one, other = (of.like(300, "letters") for of in (validation, twice))
    assert one.description == other.description
    assert len(one.cases) == len(other.cases)


def test_a_file_without_the_numbers_of_cases_is_read(tmp_path: Path) -> None:
    from safetensors.numpy import load, save

    whole = replace(made_up(20), case=np.arange(20, dtype=np.int32))
    arrays = load(write(tmp_path, whole).read_bytes())
    del arrays["case"]
    name_pairs(tmp_path, save(arrays, {"genres": "\n".join(GENRES)}))
    read = read_validation(tmp_path)
    assert read is not None
    assert same(read, replace(whole, case=np.full(20, -1, np.int32)))


# Without a population


def test_misleading_rates_are_those_of_the_genre_or_else_of_all() -> None:
    validation = made_up(6_000)
    for genre in (*GENRES, "*", ""):
        rates = validation.misleading_rates(genre)
        assert rates is not None
        wrong = {True: [0, 0], False: [0, 0]}  # by class: misleading, all
        for at in range(len(validation)):
            of_genre = genre not in GENRES or GENRES[validation.genre[at]] == genre
            if not validation.population[at] and validation.known[at] == bool(genre) and of_genre:
                truth = bool(validation.same_author[at])
                wrong[truth][1] += 1
                wrong[truth][0] += (validation.log_bayes_factor[at] > 0) != truth
        assert rates.same == pytest.approx(wrong[True][0] / wrong[True][1])
        assert rates.different == pytest.approx(wrong[False][0] / wrong[False][1])
        assert rates.genre == (genre if genre in GENRES else "")
        assert rates.known == bool(genre)


def test_a_genre_with_few_cases_has_the_rates_of_all() -> None:
    validation = made_up(6_000)
    few = validation[(validation.genre != 1) | (np.arange(6_000) % 40 == 0)]
    rates = few.misleading_rates("letters")
    assert rates is not None
    assert rates.genre == ""
    assert rates == few.misleading_rates("*")
    assert few[few.same_author].misleading_rates("letters") is None
