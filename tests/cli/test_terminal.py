"""What is shown: nothing in it commands the terminal, and every output can hold it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adhominem.cli import main
from adhominem.cli.terminal import complain, list_skipped, print_json, print_table, say, steps_bar
from adhominem.errors import InputError

# Colours, a cleared screen, a title, C1's way to say the same, a turned direction, a forged line.
HOSTILE = "n\x1b[31m\x1b[2J\x1b]0;t\x07\x9b31m\u202eme\r\nerror: forged"
SHOWN = r"n\x1b[31m\x1b[2J\x1b]0;t\x07\x9b31m\u202eme\r\nerror: forged"


def assert_harmless(shown: str) -> None:
    assert not any(
        (letter < " " and letter != "\n") or "\x7f" <= letter <= "\x9f" or letter == "\u202e"
        for letter in shown
    )
    assert "\nerror: forged" not in shown


@pytest.mark.parametrize("width", [30, 40, 59, 60, 80, 81, 82, 99, 100, 101, 102, 200])
@pytest.mark.parametrize("columns", [1, 2, 4, 6, 8, 12, 30])
@pytest.mark.parametrize("name", ["ann", "a-very-long-name/" * 7, "many words " * 12])
def test_no_number_of_a_table_is_cut_or_broken(
    width: int,
    columns: int,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    numbers = [f"0.{123 + at}" for at in range(columns)]
    measures = [f"measure_{at}" for at in range(columns)]
    print_table("Scores", ["model", *measures], [[name, *numbers], ["bob", *numbers]])
    shown = capsys.readouterr().out
    words = shown.split()
    for number, measure in zip(numbers, measures, strict=True):
        assert words.count(number) == 2
        assert measure in words
    assert all(len(line) <= width for line in shown.splitlines())
    assert "…" not in shown
    assert name.replace(" ", "") in "".join(
        word for word in words if word not in numbers and word not in measures
    )


def test_steps_that_have_ended_are_told_beside_the_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with steps_bar() as tell:
        tell("split", 0.0, None)
        tell(f"split {HOSTILE}", 0.25, 1.25)
        tell("train", 0.5, None)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"split {SHOWN}: 1.2 s\n"


def test_lines_for_people_hold_no_commands(capsys: pytest.CaptureFixture[str]) -> None:
    complain(f"warning: {HOSTILE}")
    say(f"Written  {HOSTILE}")
    list_skipped([InputError(f"the field '{HOSTILE}' is missing", f"/tmp/{HOSTILE}", 3)])
    shown = capsys.readouterr()
    assert shown.out == f"Written  {SHOWN}\n"
    assert shown.err.splitlines() == [
        f"warning: {SHOWN}",
        "skipped 1 of the inputs:",
        f"  /tmp/{SHOWN}:3: the field '{SHOWN}' is missing",
    ]


def test_tables_hold_no_commands_and_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    print_table(f"[bold]{HOSTILE}", ["", HOSTILE], [[f"[red]{HOSTILE}", 1], ["b", HOSTILE]])
    shown = capsys.readouterr().out
    assert_harmless(shown)
    assert shown.count(SHOWN) == 4
    assert f"[red]{SHOWN}" in shown


def test_names_are_shown_as_they_are_spelt(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(":bomb:.txt", ["", ":bomb:"], [[":bomb:", ":bomb:"]])
    assert capsys.readouterr().out.count(":bomb:") == 4


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_holds_no_commands_and_is_json_in_every_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding)
    monkeypatch.setattr(sys, "stdout", output)
    result: dict[str, Any] = {f"é☃{HOSTILE}": ["é☃\u2028\x7f\u2066", HOSTILE, 1.5, None]}
    print_json({**result, "half": "\udce9"})
    output.flush()
    shown = raw.getvalue().decode(encoding)
    assert_harmless(shown)
    assert json.loads(shown) == {"schema": 1, **result, "half": "\udce9"}
    assert ("☃" in shown) == (encoding == "utf-8")


def test_a_wrong_call_is_quoted_without_its_commands(tmp_path: Path) -> None:
    for call in (
        [HOSTILE],
        [f"--{HOSTILE}"],
        ["verify", "a", "b", f"--{HOSTILE}"],
        ["verify", "a", "b", "--prior", HOSTILE],
        ["prepare", f"{tmp_path}/{HOSTILE}", "-o", str(tmp_path / "out")],
    ):
        done = CliRunner().invoke(main, call)
        assert done.exit_code in (1, 2)
        assert_harmless(done.output)
        assert r"n\x1b[31m" in done.output


def run(
    call: list[str], folder: Path, closed: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The command in a process, with some of the standard streams closed."""
    command = f'exec "$0" -P -m adhominem "$@" {closed}'
    return subprocess.run(
        ["sh", "-c", command, sys.executable, *call],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [{"author": f"é☃{at % 2}", "text": f"Some words of number {at}."} for at in range(4)]
    path = tmp_path / "é☃.jsonl"
    lines = [*map(json.dumps, rows), "broken é☃"]
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_streams_that_are_closed_give_no_traceback(corpus: Path) -> None:
    (corpus.parent / "a.txt").write_text("Some words.")
    done = run(["verify", "-", "a.txt"], corpus.parent, "<&-")
    assert done.returncode == 1
    assert done.stderr == b"error: standard input: it is closed; expected a text there\n"
    call = ["prepare", corpus.name, "--jobs", "1", "--json", "-o"]
    done = run([*call, "one"], corpus.parent, ">&-")
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: standard output is closed; expected a place")
    assert not (corpus.parent / "one").exists()
    done = run([*call, "two"], corpus.parent, "2>&-")
    assert (done.returncode, done.stderr) == (3, b"")
    assert json.loads(done.stdout)["documents"] == 4
    done = run([*call, "three"], corpus.parent, "<&- >&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_an_output_of_ascii_holds_other_letters_escaped(
    corpus: Path, environment: dict[str, str]
) -> None:
    call = ["prepare", corpus.name, "--jobs", "1", "-o"]
    done = run([*call, "one"], corpus.parent, **environment)
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr
    assert rb"\xe9\u2603" in done.stdout
    assert b".jsonl:5: not a line of JSON" in done.stderr
    done = run([*call, "two", "--json"], corpus.parent, **environment)
    assert done.stdout.isascii()
    assert json.loads(done.stdout)["corpora"][0]["name"] == "é☃"


def test_a_text_larger_than_asked_for_is_skipped_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"author": f"{at % 2}", "text": "word " * (10 + 10_000 * (at == 1))} for at in range(4)]
    path.write_text("\n".join(map(json.dumps, rows)))
    call = ["prepare", str(path), "--jobs", "1", "--json", "-o"]
    done = CliRunner().invoke(main, [*call, str(tmp_path / "one")])
    assert done.exit_code == 0
    done = CliRunner().invoke(main, [*call, str(tmp_path / "two"), "--max-bytes", "1000"])
    assert done.exit_code == 3
    (skipped,) = json.loads(done.stdout)["skipped"]
    assert skipped.startswith(f"{path}:2: the line has more than 1,000 bytes; if it really")
    done = CliRunner().invoke(main, [*call, str(tmp_path / "three")])
    assert done.exit_code == 0  # the limit was that of the one call


def test_every_command_that_reads_texts_has_the_limit() -> None:
    without = {
        name
        for name, command in main.commands.items()
        if not any("--max-bytes" in parameter.opts for parameter in command.params)
    }
    assert without == {"doctor", "ensemble", "link"}  # which read models, and indexes
