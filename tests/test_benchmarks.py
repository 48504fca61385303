"""The figures that benchmarks write: pages quote them."""

from __future__ import annotations

import importlib.util
import json
import sys
from datetime import date
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

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


def test_figures_are_written_with_what_they_were_made_with(
    measure: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks/conditions.py", "--sets", "a b"])
    results = measure.Results()
    results.add("sizes", {"known": np.int64(1), "AUC": np.float64(1 / 3), "Cllr": np.nan})
    results.add("sizes", {"known": 3, "AUC": 1.0, "Cllr": 0.5})
    results.write(None, SimpleNamespace(name="m", sha256="ab"))
    path = tmp_path / "results" / "conditions.json"
    results.write(path, SimpleNamespace(name="m", sha256="ab"))
    written = json.loads(path.read_text("utf-8"))
    assert written["command"] == "python benchmarks/conditions.py --sets 'a b'"
    assert written["model"] == {"name": "m", "sha256": "ab"}
    assert date.fromisoformat(written["date"])
    assert written["tables"]["sizes"] == [
        {"known": 1, "AUC": 0.333333, "Cllr": None},
        {"known": 3, "AUC": 1.0, "Cllr": 0.5},
    ]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_name_the_script_that_wrote_them(path: Path) -> None:
    written = json.loads(path.read_text("utf-8"))
    assert (BENCHMARKS.parent / written["command"].split()[1]).is_file()
    assert written["model"]["sha256"]
    assert written["date"]
    assert all(written["tables"].values())
