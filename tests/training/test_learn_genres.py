"""A model is taught where texts of further genres lie, and nothing else of it changes."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import SmallRun, rich_rows, write_rows

from adhominem import load
from adhominem.cli import main
from adhominem.errors import OptionError
from adhominem.model.folder import member_folders, model_folder
from adhominem.model.member import read_genres
from adhominem.training import teach as module
from adhominem.training.teach import learn_genres

UNHEARD = ("the", "of", "and", "to", "a", "in", "that", "it", ".")  # in none of the new texts


@pytest.fixture
def model(profile_folder: Path, tmp_path: Path) -> Path:
    return Path(copytree(profile_folder, tmp_path / "model"))


def sermons(path: Path, texts: int = 25, name: str = "-sermon-") -> Path:
    rows = rich_rows("letters", texts, 1, name)
    for row in rows:
        words = row["text"].split()
        row["text"] = " ".join(word for word in words if word not in UNHEARD)
    return write_rows(path, rows)


def test_a_new_genre_is_the_mean_lev_of_its_texts(model: Path, tmp_path: Path) -> None:
    before = load(model)
    rows = sermons(tmp_path / "sermons.jsonl")
    learnt = learn_genres(model, [rows])
    assert learnt.texts == {"sermons": 25}
    assert learnt.genres == ("letters", "notes", "sermons")
    after = load(model)
    assert after.genres == learnt.genres
    texts = [json.loads(line)["text"] for line in rows.read_text("utf-8").splitlines()]
    levs = before.encode(texts)[:, :-1].astype(np.float64)
    old, new = before.lead.genres, after.lead.genres
    assert old is not None
    assert new is not None
    np.testing.assert_allclose(new.centres[2], levs.mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(new.centres[:2], old.centres)
    assert new.usual == old.usual
    np.testing.assert_array_equal(after.encode(texts[:2]), before.encode(texts[:2]))
    assert after.sha256 != before.sha256


def test_texts_of_a_genre_that_was_learnt_are_guessed_to_be_of_it(
    model: Path, tmp_path: Path
) -> None:
    learn_genres(model, [sermons(tmp_path / "sermons.jsonl")])
    verifier = load(model)
    others = sermons(tmp_path / "others.jsonl", name="-other-")
    texts = [json.loads(line)["text"] for line in others.read_text("utf-8").splitlines()]
    guesses = [next(iter(verifier.scorer.genre_shares(verifier.encode([text])))) for text in texts]
    assert guesses.count("sermons") > 0.8 * len(texts)


def test_a_genre_of_the_same_name_is_replaced(model: Path, tmp_path: Path) -> None:
    first = learn_genres(model, [sermons(tmp_path / "sermons.jsonl")])
    before = load(model).lead.genres
    again = learn_genres(model, [sermons(tmp_path / "sermons.jsonl", 30, "-again-")])
    after = load(model).lead.genres
    assert before is not None
    assert after is not None
    assert again.genres == first.genres
    assert again.texts == {"sermons": 30}
    assert not np.allclose(before.centres[2], after.centres[2])
    np.testing.assert_array_equal(before.centres[:2], after.centres[:2])


def test_several_sets_are_as_many_genres_and_one_folder_may_hold_them(
    model: Path, tmp_path: Path
) -> None:
    (tmp_path / "sets").mkdir()
    sermons(tmp_path / "sets" / "sermons.jsonl")
    write_rows(tmp_path / "sets" / "memos.jsonl", rich_rows("notes", 20, 1, "-memo-"))
    learnt = learn_genres(model, [tmp_path / "sets"])
    assert learnt.texts == {"memos": 20, "sermons": 25}
    assert set(learnt.genres) == {"letters", "notes", "sermons", "memos"}


def test_every_member_of_an_ensemble_learns(mixed_folder: Path, tmp_path: Path) -> None:
    model = Path(copytree(mixed_folder, tmp_path / "mixed"))
    learn_genres(model, [sermons(tmp_path / "sermons.jsonl")])
    verifier = load(model)
    for folder, member in zip(member_folders(model), verifier.members, strict=True):
        genres = read_genres(folder, member.lev_size)
        assert genres is not None
        assert genres.names == ("letters", "notes", "sermons")


def test_of_many_texts_some_are_drawn_by_the_seed(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_TEXTS", 22)
    rows = sermons(tmp_path / "sermons.jsonl", 40)
    centres = []
    for seed in (0, 0, 1):
        assert learn_genres(model, [rows], seed=seed).texts == {"sermons": 22}
        genres = load(model).lead.genres
        assert genres is not None
        centres.append(genres.centres[2])
    np.testing.assert_array_equal(centres[0], centres[1])
    assert not np.allclose(centres[0], centres[2])


# What is refused


def test_too_few_texts_are_refused_and_nothing_is_written(model: Path, tmp_path: Path) -> None:
    before = load(model).sha256
    good = sermons(tmp_path / "sermons.jsonl")
    few = sermons(tmp_path / "few.jsonl", 19)
    with pytest.raises(OptionError, match="few has 19 texts; expected 20 or more"):
        learn_genres(model, [good, few])
    assert load(model).sha256 == before


def test_two_sets_of_one_name_are_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    sets = [sermons(tmp_path / "sermons.jsonl"), sermons(tmp_path / "other" / "sermons.jsonl")]
    with pytest.raises(OptionError, match="two sets are named 'sermons'"):
        learn_genres(model, sets)


def test_models_that_come_with_the_package_are_refused(tmp_path: Path) -> None:
    for name in ("general-en", model_folder("general-en") / "network"):
        with pytest.raises(OptionError, match=r"comes with the package.*copy it first"):
            learn_genres(name, [sermons(tmp_path / "sermons.jsonl")])


def test_a_network_without_genres_cannot_learn_any(small_run: SmallRun, tmp_path: Path) -> None:
    model = Path(copytree(small_run.folder, tmp_path / "model"))
    with pytest.raises(OptionError, match="knows no genres; expected n-gram models"):
        learn_genres(model, [sermons(tmp_path / "sermons.jsonl")])


# The command


def test_the_command_says_what_the_model_knows_now(model: Path, tmp_path: Path) -> None:
    rows = sermons(tmp_path / "sermons.jsonl")
    done = CliRunner().invoke(main, ["genres", str(model), str(rows)])
    assert done.exit_code == 0, done.output
    assert "knows 3 genres now" in done.stdout
    done = CliRunner().invoke(main, ["genres", str(model), str(rows), "--json"])
    told = json.loads(done.stdout)
    assert told["texts"] == {"sermons": 25}
    assert told["genres"] == ["letters", "notes", "sermons"]
