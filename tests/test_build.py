"""The parts in C are built where there is a compiler, and left out where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adhominem.compiled import _PARTS, NUMPY, VARIABLE, compiled, what_runs

ROOT = Path(__file__).parents[1]
NAMES = {"_chosen", "_chunks", "_counting", "_fused", "_looking", "_rows"}
AUTHORS = "training_authors.txt"


def built(folder: Path, **environment: str) -> tuple[set[str], str]:
    """Which of them a build leaves, and what it says."""
    pytest.importorskip("setuptools")
    command = [sys.executable, "setup.py", "build_ext", "--build-lib", str(folder / "lib")]
    done = subprocess.run(
        [*command, "--build-temp", str(folder / "temp")],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    files = (folder / "lib").rglob("*.so")
    return {file.name.partition(".")[0] for file in files}, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None or os.name != "posix", reason="needs a compiler")
def test_with_a_compiler_all_are_built_without_a_warning(tmp_path: Path) -> None:
    names, said = built(tmp_path, CFLAGS="-Wall -Wextra -Wno-psabi")
    assert names == NAMES
    assert "warning" not in said


@pytest.mark.skipif(os.name != "posix", reason="compilers are named otherwise")
def test_without_a_compiler_none_is_built_and_nothing_fails(tmp_path: Path) -> None:
    names, said = built(tmp_path, CC="no-such-compiler")
    assert not names
    assert said.count("building extension") == len(NAMES)
    assert said.count("failed") == len(NAMES)


def test_a_sentence_says_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, NUMPY)
    assert "Not in C, but in Python" in what_runs()
    monkeypatch.delenv(VARIABLE)
    names = [f"adhominem.{part}" for part in _PARTS]
    if all(map(compiled, names)):
        assert what_runs().startswith("The parts in C are used; the network's kernel is ")
    missing = [name for name in names if compiled(name) is None]
    assert all(name.removeprefix("adhominem.") in what_runs() for name in missing)


def test_what_is_shipped_is_small_and_has_no_list_of_training_authors_twice() -> None:
    """A wheel stays under 40 MB; `.ci/install` weighs it."""
    folder = ROOT / "adhominem" / "model" / "shipped"
    shipped = [path for path in folder.rglob("*") if path.is_file()]
    for model in folder.iterdir():
        lists = [path.read_bytes() for path in model.rglob(AUTHORS)]
        assert len(lists) == len(set(lists)) > 0
    assert sum(path.stat().st_size for path in shipped) < 48 * 2**20  # of which a quarter is packed
