"""`adhominem doctor`: what is installed, what is missing, and what is broken."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhominem import errors
from adhominem.cli import doctor, main
from adhominem.cli.doctor import EXTRAS, examine
from adhominem.errors import MissingExtraError, how_to_install

ROOT = Path(__file__).parents[2]


def test_every_extra_for_users_is_described() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(project["optional-dependencies"]) == {*EXTRAS, "dev"}


def test_an_installation_that_works_has_no_problem_and_exit_status_0() -> None:
    done = CliRunner().invoke(main, ["doctor", "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["problems"]) == (0, [])
    assert "general-en" in [model["name"] for model in told["models"]]
    assert all(len(model["sha256"]) == 64 for model in told["models"])
    assert {library["name"] for library in told["libraries"]} >= {"numpy", "tokenizers"}
    shown = CliRunner().invoke(main, ["doctor"]).stdout
    assert "nothing is broken" in shown
    assert "general-en: works, calibrated" in shown


def test_a_model_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["doctor", "--model", str(tmp_path / "none")])
    assert done.exit_code == 1
    assert "PROBLEM     the model" in done.stdout
    assert "there is no model folder" in done.stdout


def test_a_missing_extra_is_named_with_what_it_adds_and_is_no_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    present = doctor._installed
    monkeypatch.setattr(
        doctor, "_installed", lambda name: None if name == "pypdf" else present(name)
    )
    checkup = examine()
    (documents,) = [extra for extra in checkup.extras if extra.name == "documents"]
    assert documents.missing == ("pypdf",)
    assert documents.adds == "reading .pdf files"
    assert not checkup.problems


def test_a_library_that_is_too_old_or_missing_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"numpy": "1.20.3", "rich": None}
    present = doctor._installed
    monkeypatch.setattr(
        doctor, "_installed", lambda name: versions[name] if name in versions else present(name)
    )
    old, missing = examine().problems
    assert old.startswith("numpy 1.20.3 does not fit >=2.0; run pip install")
    assert missing.startswith("rich is not installed; run pip install 'rich>=13.7'")


def test_without_numpy_it_still_says_what_is_wrong() -> None:
    code = """
import sys
sys.modules["numpy"] = None
from adhominem.cli import main
main(["doctor"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "PROBLEM     AdHominem cannot be loaded (" in done.stdout, done.stderr


def test_versions_are_compared_as_numbers() -> None:
    assert doctor._fits("2.10.0+cpu", ">=2.8")
    assert not doctor._fits("2.7.9", ">=2.8")
    assert doctor._fits("0.0.1", "")


def test_the_hint_for_an_extra_is_that_of_a_clone_or_of_a_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_a_clone = "Install it with: pip install --editable '.[serve]'"
    assert in_a_clone in str(MissingExtraError("fastapi", "serve", "adhominem serve"))
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "adhominem" / "errors.py"))

    class Installed:
        told: str | None = None

        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return self.told

    installed = Installed()
    monkeypatch.setattr(errors.metadata, "distribution", lambda name: installed)
    assert how_to_install("serve") == "pip install 'adhominem[serve]'"
    installed.told = '{"url": "file:///somewhere", "dir_info": {}}'
    assert how_to_install("serve").startswith("pip install '.[serve]'")
    installed.told = '{"url": "file:///somewhere.whl", "archive_info": {}}'
    assert how_to_install("serve") == "pip install 'adhominem[serve]'"
