"""An n-gram model in its folder: written, read again, and what is said of a damaged one."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NgramRun, rich_rows
from safetensors.numpy import load_file, save_file
from test_folder import change, halve

from adhominem import __version__, load
from adhominem.errors import ModelError
from adhominem.model.folder import model_hash, read_models, read_scores
from adhominem.model.member import NgramModel
from adhominem.model.writing import write_ngram_model
from adhominem.ngrams.table import CHANNELS

TEXTS = [row["text"] for row in rich_rows("letters", 3, 2, "-new-")]


@pytest.fixture
def folder(ngram_run: NgramRun, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(ngram_run.folder, tmp_path / "model")
    return tmp_path / "model"


def read_one(folder: Path) -> NgramModel:
    (model,) = read_models(folder)
    assert isinstance(model, NgramModel)
    return model


# Writing and reading


def test_what_is_written_is_read_again(ngram_run: NgramRun, tmp_path: Path) -> None:
    model = ngram_run.model
    write_ngram_model(
        tmp_path,
        config=model.config,
        table=model.table,
        weights=model.weights,
        scores={"dev": {"auc": 0.75}},
        card="# A card ✓",
        lengths=np.arange(1_000, 1_101),
    )
    shutil.copy(ngram_run.folder / "styles.safetensors", tmp_path)
    again = read_one(tmp_path)
    assert again.config == model.config
    assert again.shortest_training_text == 1_001
    for name in ("longest", "unmasked", "characters", "tokens", "symbols"):
        assert getattr(again.table, name) == getattr(model.table, name)
    for name in ("bigrams", "shaped_bigrams"):
        found = getattr(again.table, name)
        np.testing.assert_array_equal(found, getattr(model.table, name))
        assert found.dtype == np.int64
    assert set(again.weights) == {"weights", "projection", "projection_scale"}
    for name, value in again.weights.items():
        np.testing.assert_array_equal(value, model.weights[name])
        assert value.dtype == model.weights[name].dtype
    assert again.scores == read_scores(tmp_path) == {"dev": {"auc": 0.75}}
    assert (tmp_path / "README.md").read_text("utf-8") == "# A card ✓"
    assert json.loads((tmp_path / "config.json").read_text())["adhominem"] == __version__


def test_a_model_that_was_moved_gives_the_same_levs_and_scores(
    ngram_run: NgramRun, folder: Path
) -> None:
    here, there = load(ngram_run.folder), load(folder)
    levs = here.encode(TEXTS)
    np.testing.assert_array_equal(levs, there.encode(TEXTS))
    np.testing.assert_array_equal(here.score(levs[:3], levs[3:]), there.score(levs[:3], levs[3:]))
    assert here.sha256 == there.sha256
    assert levs.shape == (6, ngram_run.config.lev_size + 1) == (6, there.lev_size)
    assert there.genres == ("letters", "notes")


def test_the_hash_changes_with_everything_that_answers_depend_on(folder: Path) -> None:
    hashes = [model_hash(folder)]
    for name in ("config.json", "ngrams.json"):
        (folder / name).write_text((folder / name).read_text("utf-8") + " ", "utf-8")
        hashes.append(model_hash(folder))
    arrays(folder / "model.safetensors", lambda found: found["weights"].sort())
    hashes.append(model_hash(folder))
    halve(folder / "styles.safetensors")
    hashes.append(model_hash(folder))
    (folder / "genres.json").write_text("{}")
    hashes.append(model_hash(folder))
    assert len(set(hashes)) == 6
    (folder / "README.md").write_text("Something else.")
    assert model_hash(folder) == hashes[-1]


def test_the_card_has_the_corpora_the_counts_and_the_scores(ngram_run: NgramRun) -> None:
    card = (ngram_run.folder / "README.md").read_text("utf-8")
    for row in ngram_run.data.corpus.description["corpora"]:
        assert f"| {row['name']} | 14 | 70 | {row['tokens']:,} |" in card
    for size, name in zip(ngram_run.model.table.sizes, CHANNELS, strict=True):
        assert f"{size:,} {name.replace('_', ' ')}" in card
    assert f"| dev | {ngram_run.model.scores['dev']['auc']:.3f} |" in card
    assert "not calibrated" in card


def test_nothing_in_the_folder_is_a_pickle(ngram_run: NgramRun) -> None:
    for path in ngram_run.folder.iterdir():
        assert path.read_bytes()[:2] not in (b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05"), path


# Damage


def arrays(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    found = load_file(path)
    edit(found)
    save_file(found, path)


def weights(edit: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    return lambda folder: arrays(folder / "model.safetensors", edit)


def ngrams(edit: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    return lambda folder: change(folder / "ngrams.json", edit)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no n-grams": (lambda f: (f / "ngrams.json").unlink(), "there is no ngrams.json"),
    "half the n-grams": (lambda f: halve(f / "ngrams.json"), "is damaged"),
    "n-grams of bytes": (lambda f: (f / "ngrams.json").write_bytes(b"\xff\xfe"), "is damaged"),
    "n-grams that are a list": (lambda f: (f / "ngrams.json").write_text("[]"), "is damaged"),
    "no tokens": (ngrams(lambda d: d.pop("tokens")), "is damaged .*tokens"),
    "a token too few": (ngrams(lambda d: d["tokens"].pop()), "is damaged .*weights is"),
    "a gram too many": (
        ngrams(lambda d: d["characters"].append("qqqq")),
        "is damaged .*characters is",
    ),
    "fewer symbols": (ngrams(lambda d: d.update(symbols=d["symbols"][:2])), "is damaged .*shaped"),
    "fewer unmasked": (ngrams(lambda d: d.update(unmasked=1)), "is damaged .*bigrams"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "there is no model.safetensors"),
    "half the weights": (lambda f: halve(f / "model.safetensors"), "damaged .*model.safetensors"),
    "no weight": (weights(lambda a: a.pop("weights")), "is damaged .*weights"),
    "no bigrams": (weights(lambda a: a.pop("bigrams")), "is damaged .*bigrams"),
    "no projection": (weights(lambda a: a.pop("projection")), "is damaged .*projection"),
    "no scale": (weights(lambda a: a.pop("projection_scale")), "is damaged .*projection_scale"),
    "few weights": (weights(lambda a: a.update(weights=a["weights"][:9])), r"weights is \(9,\)"),
    "another size": (
        lambda f: change(f / "config.json", lambda d: d["config"].update(lev_size=13)),
        r"is damaged .*projection is \(\d+, 12\)",
    ),
    "another form": (
        lambda f: change(f / "config.json", lambda d: d["config"].update(form="profile")),
        "is damaged .*dimension",
    ),
    "an unknown form": (
        lambda f: change(f / "config.json", lambda d: d["config"].update(form="magic")),
        "is damaged .*'magic'",
    ),
    "an unknown setting": (
        lambda f: change(f / "config.json", lambda d: d["config"]["ngrams"].update(magic=1)),
        "is damaged .*magic",
    ),
    "no scores": (
        lambda f: change(f / "config.json", lambda d: d.pop("scores")),
        "is damaged .*scores",
    ),
    "no styles": (lambda f: (f / "styles.safetensors").unlink(), "there is no styles.safetensors"),
    "half the styles": (lambda f: halve(f / "styles.safetensors"), "damaged .*styles.safetensors"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_an_error_that_says_what_is_wrong(damage: str, folder: Path) -> None:
    act, message = DAMAGES[damage]
    assert load(folder)
    act(folder)
    with pytest.raises(ModelError, match=message) as error:
        load(folder)
    assert str(folder) in str(error.value)
    assert re.search("again", str(error.value))


def test_a_profile_that_points_beyond_its_dimensions_is_damaged(
    ngram_run: NgramRun, folder: Path
) -> None:
    columns = sum(ngram_run.model.table.sizes)

    def as_profile(found: dict[str, Any]) -> None:
        del found["projection"], found["projection_scale"]
        found["dimension"] = (np.arange(columns) % 12).astype(np.int32)
        found["sign"] = np.ones(columns, np.int8)

    change(folder / "config.json", lambda data: data["config"].update(form="profile"))
    arrays(folder / "model.safetensors", as_profile)
    assert load(folder).encode(TEXTS).shape == (6, 13)
    arrays(
        folder / "model.safetensors",
        lambda found: np.add(found["dimension"], 1, found["dimension"]),
    )
    with pytest.raises(ModelError, match=r"is damaged .*dimension"):
        load(folder)
