"""Each job that writes a name for long refuses to do so beside another, and changes nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import SmallRun

from adhominem.cli import main

HOLD = """
import sys
from adhominem.text.writing import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    input()
"""
COMMANDS = {
    "predict": ("predict {pairs} -o {new}.jsonl --model {model}", "{new}.jsonl"),
    "encode": ("encode {texts} -o {new}.npz --model {model}", "{new}.npz"),
    "prepare": ("prepare {texts} -o {new} --jobs 1", "{new}"),
    "split": ("split {texts} -o {new}", "{new}"),
    "pairs": ("pairs {texts} -o {new}", "{new}"),
    "train": ("train {corpus} -o {new} --preset tiny-ngrams", "{new}"),
    "train, going on": ("train {corpus} -o {new} --preset tiny --resume", "{new}"),
    "ensemble": ("ensemble {model} -o {new}", "{new}"),
    "calibrate": ("calibrate {model} {pairs}", "{model}"),
    "evaluate": (
        "evaluate {pairs} --pairs {pairs} --model {model} --bootstrap 0 -o {new}",
        "{new}",
    ),
    "baseline": ("baseline naive {pairs} --train {pairs} -o {new}.jsonl --jobs 1", "{new}.jsonl"),
    "map": ("map {texts} -o {new}.html --model {model}", "{new}.html"),
}


@contextmanager
def held(path: str) -> Iterator[int]:
    """Another process writes there."""
    command = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process.pid
        process.communicate(b"\n", timeout=30)


def contents(folder: Path) -> dict[str, Any]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_second_run_is_refused_and_changes_nothing(
    name: str, small_run: SmallRun, tmp_path: Path
) -> None:
    data = small_run.data
    places = {
        "model": copytree(small_run.folder, tmp_path / "model"),
        "texts": data.texts,
        "pairs": data.pairs,
        "corpus": data.corpus_folder,
        "new": tmp_path / "new",
    }
    command, output = (pattern.format(**places) for pattern in COMMANDS[name])
    with held(output) as process:
        before = contents(tmp_path)
        result = CliRunner().invoke(main, command.split())
        assert result.exit_code == 1, result.output
        told = " ".join(result.stderr.split())
        assert f"{output} is being written by process {process} on" in told
        assert contents(tmp_path) == before
    assert not list(tmp_path.glob(".*"))
