"""The figures that benchmarks write: pages quote them."""

from __future__ import annotations

import importlib.util
import json
import sys
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

import adhominem

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))


@pytest.fixture(scope="module")
def measure() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure", BENCHMARKS / "measure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look
    spec.loader.exec_module(module)
    return module


PRINTED = """3 texts

| known | population | AUC | wrong | words |
|---|---|---|---|---|
| 1 | none | 0.916 | 0.8% | 1,500 |
| 5 | 20 | - | -2.5% | all |

| limits | pairs |
|---|---|
| said, told | |
"""


def test_the_tables_that_a_benchmark_prints_are_written_with_what_made_them(
    measure: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "results" / "conditions.json"
    script = ["benchmarks/conditions.py", "--sets", "a b"]
    monkeypatch.setattr("sys.argv", [*script, "--json", str(path)])

    def main() -> None:
        assert sys.argv == script
        print(PRINTED)

    measure.run(main)
    assert capsys.readouterr().out == PRINTED + "\n"
    written = json.loads(path.read_text("utf-8"))
    assert written["command"] == f"python benchmarks/conditions.py --sets 'a b' --json {path}"
    assert written["model"] == {"name": "general-en", "sha256": adhominem.load().sha256}
    assert date.fromisoformat(written["date"])
    assert written["tables"] == [
        [
            {"known": 1, "population": "none", "AUC": 0.916, "wrong": 0.008, "words": 1500},
            {"known": 5, "population": 20, "AUC": None, "wrong": -0.025, "words": "all"},
        ],
        [{"limits": "said, told", "pairs": None}],
    ]


def test_nothing_is_written_unless_asked_for(
    measure: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks/conditions.py"])
    monkeypatch.setattr(measure, "write_results", lambda *arguments: pytest.fail("written"))
    measure.run(lambda: None)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_name_the_script_that_wrote_them(path: Path) -> None:
    written = json.loads(path.read_text("utf-8"))
    assert (BENCHMARKS.parent / written["command"].split()[1]).is_file()
    assert written["model"]["sha256"]
    assert written["date"]
    assert all(written["tables"])
