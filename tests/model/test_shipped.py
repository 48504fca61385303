"""Models by name: those that come with the package, and folders."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner
from conftest import NgramRun

from adhominem import load
from adhominem.cli import main
from adhominem.errors import ModelError
from adhominem.model import folder as shipped
from adhominem.model.folder import DEFAULT_MODEL, model_folder, shipped_models


@pytest.fixture
def ships(ngram_run: NgramRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that ships two models, and a folder that is none."""
    folder = tmp_path / "shipped"
    for name in ("small", DEFAULT_MODEL):
        copytree(ngram_run.folder, folder / name)
    (folder / "__pycache__").mkdir()
    monkeypatch.setattr(shipped, "_SHIPPED", folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ADHOMINEM_MODEL", raising=False)
    return folder


def test_shipped_models_are_listed_and_found_by_name(ships: Path) -> None:
    assert shipped_models() == [DEFAULT_MODEL, "small"]
    assert model_folder("small") == ships / "small"
    assert load("small").name == "small"


def test_the_default_model_is_that_of_the_library_and_of_the_commands(ships: Path) -> None:
    assert load().name == DEFAULT_MODEL
    for name in ("one.txt", "two.txt"):
        Path(name).write_text("It was the best of times, it was the worst of times. " * 20)
    done = CliRunner().invoke(main, ["verify", "one.txt", "two.txt", "--json"])
    assert done.exit_code == 0, done.output
    assert f'"model": "{DEFAULT_MODEL}"' in done.stdout


def test_a_folder_that_is_there_comes_before_a_shipped_model(ships: Path, tmp_path: Path) -> None:
    copytree(ships / "small", tmp_path / "small")
    assert model_folder("small").resolve() == tmp_path / "small"
    assert model_folder(tmp_path / "small") == tmp_path / "small"


@pytest.mark.parametrize("name", ["smaller", "shipped/none", "/no/such/place", "__pycache__"])
def test_a_name_of_nothing_is_an_error_that_lists_the_shipped_models(
    name: str, ships: Path
) -> None:
    with pytest.raises(
        ModelError, match=f"{name}.*expected a folder, or one of: general-en, small"
    ):
        load(name)


def test_a_package_without_models_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shipped, "_SHIPPED", tmp_path / "nothing")
    assert shipped_models() == []
    with pytest.raises(ModelError, match=r"one of: \(none\)"):
        model_folder("anything at all")


@pytest.mark.parametrize("name", shipped_models())
def test_what_the_package_really_ships_can_be_loaded(name: str) -> None:
    assert load(name).lev_size > 0
