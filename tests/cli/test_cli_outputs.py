"""What the commands write: never onto what they read, and nothing in the place of something."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import WORDS, SmallRun

from adhominem import encode, find_sources, predict, read_levs
from adhominem.cli import main
from adhominem.errors import NotFoundError, OptionError
from adhominem.text.pan import pair_rows

Spell = Callable[[Path, str], Path]


def made_up(seed: object) -> str:
    return " ".join(random.Random(f"{seed}").choices(WORDS, k=60))


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_pdf(path: Path, text: str) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path))
    for at, words in enumerate(text.split(".")):
        canvas.drawString(50, 800 - 15 * at, words)
    canvas.save()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an input of every kind; the commands are run in it."""
    folder = tmp_path / "case"
    (folder / "texts").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "a.npz", "texts/x_1.txt", "texts/y_2.txt"):
        (folder / name).write_text(made_up(name), "utf-8")
    write_pdf(folder / "a.pdf", made_up("pdf").replace(" ", ".", 20))
    ids = [f"{number}" for number in range(40)]
    pairs = [{"id": id, "pair": [made_up(id), made_up(f"{id} too")]} for id in ids]
    write_lines(folder / "pairs.jsonl", pairs)
    write_lines(
        folder / "truth.jsonl", [{"id": id, "same": at % 2 == 0} for at, id in enumerate(ids)]
    )
    write_lines(folder / "answers.jsonl", [{"id": id, "value": 0.4} for id in ids])
    others = [{"author": id[-1], "text": made_up(("other", id))} for id in ids]
    write_lines(folder / "others.jsonl", others)
    (folder / "scale.json").write_text('[[0, "weak support"], [1, "support"]]', "utf-8")
    for end in ("partial", "digests"):
        write_lines(folder / f"out.jsonl.{end}", pairs[:3])
    monkeypatch.chdir(folder)
    return folder


def snapshot(folder: Path) -> dict[str, Any]:
    """All files and links, whatever they hold."""
    return {
        str(path.relative_to(folder)): (
            path.is_symlink() and os.readlink(path),
            path.read_bytes() if path.is_file() else None,
        )
        for path in folder.rglob("*")
    }


def symbolic(path: Path, suffix: str) -> Path:
    link = path.with_name(f"link{suffix}")
    link.symlink_to(path.resolve())
    return link


def hard(path: Path, suffix: str) -> Path:
    link = path.resolve().parent / f"link{suffix}"
    link.hardlink_to(path)
    return link


def linked_folder(path: Path, suffix: str) -> Path:
    link = path.resolve().parent.parent / "linked"
    link.symlink_to(path.resolve().parent, target_is_directory=True)
    return link / path.name


def dotted(path: Path, suffix: str) -> Path:
    return Path(f"./{path.parent}/../{path.resolve().parent.name}/{path.name}")


SPELLINGS: dict[str, Spell] = {
    "the same": lambda path, suffix: path,
    "absolute": lambda path, suffix: path.resolve(),
    "with dots": dotted,
    "in a linked folder": linked_folder,
    "by a symbolic link": symbolic,
    "by a hard link": hard,
}
LINKS = ("by a symbolic link", "by a hard link")  # that give a file another ending
# The command, the input that the output is to be, and the ending that the output must have.
COMMANDS = {
    "explain, first": ("explain a.txt b.txt --format html -o", "a.txt", ".html"),
    "explain, second": ("explain a.txt b.txt --format terminal -o", "b.txt", ".txt"),
    "explain, one more": ("explain a.txt b.txt --also-first a.npz -o", "a.npz", ".html"),
    "explain, in a folder": ("explain texts b.txt -o", "texts/x_1.txt", ".html"),
    "explain, population": (
        "explain a.txt b.txt --population others.jsonl --format html -o",
        "others.jsonl",
        ".html",
    ),
    "explain, scale": (
        "explain a.txt b.txt --scale scale.json --format html -o",
        "scale.json",
        ".html",
    ),
    "report": ("report a.pdf b.txt -o", "a.pdf", ".pdf"),
    "report, second": ("report a.pdf b.txt -o new.html -o", "b.txt", ".html"),
    "report, population": (
        "report a.pdf b.txt --population others.jsonl -o",
        "others.jsonl",
        ".html",
    ),
    "report, scale": ("report a.pdf b.txt --scale scale.json -o", "scale.json", ".html"),
    "validate": ("validate others.jsonl -o", "others.jsonl", ".json"),
    "validate, population": (
        "validate others.jsonl --population pairs.jsonl -o",
        "pairs.jsonl",
        ".html",
    ),
    "predict": ("predict pairs.jsonl -o", "pairs.jsonl", ".jsonl"),
    "predict, population": (
        "predict pairs.jsonl --population others.jsonl -o",
        "others.jsonl",
        ".jsonl",
    ),
    "encode": ("encode b.txt a.npz -o", "a.npz", ".npz"),
    "encode, of a folder": ("encode texts -o", "texts/y_2.txt", ".npz"),
    "map": ("map texts -o", "texts/x_1.txt", ".html"),
    "map, population": ("map texts --population others.jsonl -o", "others.jsonl", ".html"),
    "evaluate, truth": ("evaluate truth.jsonl answers.jsonl -o", "truth.jsonl", ""),
    "evaluate, answers": ("evaluate truth.jsonl answers.jsonl -o", "answers.jsonl", ""),
    "evaluate, pairs": (
        "evaluate truth.jsonl answers.jsonl --pairs pairs.jsonl -o",
        "pairs.jsonl",
        "",
    ),
    "baseline": ("baseline naive pairs.jsonl --train pairs.jsonl -o", "pairs.jsonl", ""),
    "baseline, truth": ("baseline naive pairs.jsonl --train pairs.jsonl -o", "truth.jsonl", ""),
    "prepare": ("prepare others.jsonl -o", "others.jsonl", ""),
    "prepare, of a folder": ("prepare texts -o", "texts", ""),
    "split": ("split others.jsonl -o", "others.jsonl", ""),
    "pairs": ("pairs others.jsonl -o", "others.jsonl", ""),
    "train": ("train others.jsonl --preset tiny-ngrams -o", "others.jsonl", ""),
    "train, dev": ("train texts --dev pairs.jsonl --preset tiny-ngrams -o", "pairs.jsonl", ""),
}
WITH_A_MODEL = ("explain", "report", "validate", "predict", "encode", "map")
REFUSED_AS_EXISTING = ("predict", "evaluate", "prepare", "split", "pairs", "train")


def can_be_spelt(name: str, spelling: str) -> bool:
    """A report is a .html or .pdf, a table an .npz: that a text has such a name takes a link."""
    command, given, suffix = COMMANDS[name]
    if given == "texts" and spelling == "by a hard link":
        return False
    free = "--format" in command or not suffix or command.startswith("explain texts")
    return free or given.endswith(suffix) or spelling in LINKS


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal comes before the minutes that the work takes."""
    from adhominem.questions.evaluate import files as evaluate
    from adhominem.questions.report import ask as report
    from adhominem.questions.verify import ask as verify

    def fail(*arguments: Any, **options: Any) -> None:
        raise AssertionError("this would have taken minutes")

    monkeypatch.setattr(verify, "explain_texts", fail)
    monkeypatch.setattr(report, "make_report", fail)
    monkeypatch.setattr(evaluate, "run_baseline", fail)


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        (name, spelling)
        for name in COMMANDS
        for spelling in SPELLINGS
        if can_be_spelt(name, spelling)
    ],
)
@pytest.mark.filterwarnings("ignore::adhominem.errors.StrayFilesWarning")
def test_no_command_writes_onto_what_it_reads(
    name: str, spelling: str, folder: Path, small_run: SmallRun, no_work: None
) -> None:
    command, given, suffix = COMMANDS[name]
    output = SPELLINGS[spelling](Path(given), suffix)
    more: list[object] = []
    if command.split()[0] in WITH_A_MODEL:
        more = ["--model", small_run.folder]
    if command.startswith("explain texts") and spelling not in LINKS:
        more += ["--format", "html"]
    before = snapshot(folder.parent)
    told = run(*command.split(), output, *more, status=1).stderr
    assert snapshot(folder.parent) == before
    message = " ".join(told.split())
    if command.split()[0] in REFUSED_AS_EXISTING:
        assert "exists already" in message
    else:
        assert "would be overwritten, but it was read as input" in message
        assert str(output) in told.replace("\n", "")
        assert Path(given).name in message


@pytest.mark.parametrize("end", ["partial", "digests"])
@pytest.mark.parametrize("role", ["input", "population"])
def test_predict_keeps_its_own_files_off_what_it_reads(
    end: str, role: str, folder: Path, small_run: SmallRun
) -> None:
    given = f"out.jsonl.{end}"
    for other in {"partial", "digests"} - {end}:
        (folder / f"out.jsonl.{other}").unlink()
    (folder / "link.jsonl").symlink_to(given)
    before = snapshot(folder)
    source = ["link.jsonl"] if role == "input" else ["pairs.jsonl", "--population", "link.jsonl"]
    told = run("predict", *source, "-o", "out.jsonl", "--model", small_run.folder, status=1)
    assert "would be overwritten, but it was read as input" in " ".join(told.stderr.split())
    assert snapshot(folder) == before
    with pytest.raises(OptionError, match="but it was read as input"):  # in Python, too
        predict(
            small_run.folder,
            pair_rows(Path(given if role == "input" else "pairs.jsonl")),
            "out.jsonl",
            population="link.jsonl" if role == "population" else None,
        )
    assert snapshot(folder) == before


def test_a_model_is_not_written_onto(folder: Path, small_run: SmallRun) -> None:
    weights = small_run.folder / "model.safetensors"
    before = weights.read_bytes()
    (folder / "link.html").symlink_to(weights)
    for output in (weights, folder / "link.html"):
        command = ("explain", "a.txt", "b.txt", "--format", "html", "--model", small_run.folder)
        assert "it was read as input" in run(*command, "-o", output, status=1).stderr.replace(
            "\n", " "
        )
    assert weights.read_bytes() == before


@pytest.mark.parametrize("output", ["a.txt", "./../case/a.txt"])
def test_standard_input_may_be_a_file_that_must_not_be_written_onto(
    output: str, folder: Path, small_run: SmallRun
) -> None:
    command = [sys.executable, "-m", "adhominem", "explain", "-", "b.txt", "--format", "html"]
    before = snapshot(folder)
    with open("a.txt", "rb") as text:
        done = subprocess.run(
            [*command, "-o", output, "--model", str(small_run.folder)],
            stdin=text,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert "it is the same file as standard input" in " ".join(done.stderr.split())
    assert snapshot(folder) == before


def test_a_run_is_not_trained_in_a_folder_that_is_read(folder: Path) -> None:
    """At its end the folder is removed."""
    for work in ("model.training", "linked/model.training"):
        (folder / "linked").symlink_to(folder) if "/" in work else (folder / work).mkdir()
        texts = write_lines(
            folder / work / "texts.jsonl",
            [{"author": f"{at % 5}", "text": made_up(at)} for at in range(20)],
        )
        before = snapshot(folder)
        told = run(
            "train", texts, "-o", "model", "--preset", "tiny-ngrams", "--resume", status=1
        ).stderr
        assert "would be replaced, but it holds" in " ".join(told.split())
        assert snapshot(folder) == before


@pytest.mark.filterwarnings("ignore::adhominem.errors.StrayFilesWarning")
def test_beside_what_is_read_one_may_write_and_over_what_was_written_too(
    folder: Path, small_run: SmallRun
) -> None:
    before = snapshot(folder)
    for _ in range(2):
        command = ("explain", "texts", "b.txt", "--model", small_run.folder, "-o")
        run(*command, "texts/page.html")
        run("encode", "texts", "-o", "texts/levs.npz", "--model", small_run.folder)
        after = snapshot(folder)
        assert set(after) - set(before) == {"texts/page.html", "texts/levs.npz"}
        assert {name: after[name] for name in before} == before


def test_in_python_too_a_table_is_not_written_onto_a_text(
    folder: Path, small_run: SmallRun
) -> None:
    before = snapshot(folder)
    with pytest.raises(OptionError, match=r"a\.npz would be overwritten, but it was read as input"):
        encode(small_run.folder, find_sources("a.npz"), folder / "a.npz")
    assert snapshot(folder) == before


# -- nothing in the place of something


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_table_of_nothing_replaces_none_unless_forced(
    suffix: str, folder: Path, small_run: SmallRun
) -> None:
    table = f"levs{suffix}"
    run("encode", "texts", "-o", table, "--model", small_run.folder)
    (folder / "bad.txt").write_bytes(b"\0\0")
    before = snapshot(folder)
    command = ("encode", "bad.txt", "-o", table, "--model", small_run.folder)
    told = run(*command, status=1).stderr
    assert "no text can be read here" in " ".join(told.split())
    assert "bad.txt: this is binary data" in " ".join(told.split())
    assert snapshot(folder) == before
    run(*command, "--force", status=3)
    if suffix == ".npz":
        assert len(read_levs(table)) == 0
    with pytest.raises(NotFoundError, match="no text can be read here"):
        encode(small_run.folder, find_sources("bad.txt"), folder / table, skipped=[])


def test_answers_of_a_baseline_to_nothing_replace_none_unless_forced(folder: Path) -> None:
    (folder / "bad.jsonl").write_text("{broken\n", "utf-8")
    command = ("baseline", "naive", "bad.jsonl", "--train", "pairs.jsonl", "-o", "answers.jsonl")
    before = snapshot(folder)
    told = run(*command, status=1).stderr
    assert "no pair can be read" in told
    assert snapshot(folder) == before
    run(*command, "--force", status=3)
    assert (folder / "answers.jsonl").read_bytes() == b""


@pytest.mark.parametrize("command", ["predict", "map", "encode", "prepare", "split", "pairs"])
def test_where_nothing_can_be_read_that_is_an_error_and_nothing_is_left(
    command: str, folder: Path, small_run: SmallRun
) -> None:
    (folder / "bad.jsonl").write_text("{broken\n", "utf-8")
    before = snapshot(folder)
    suffix = {"predict": ".jsonl", "map": ".html", "encode": ".npz"}.get(command, "")
    more = ("--model", small_run.folder) if suffix else ()
    told = run(command, "bad.jsonl", "-o", f"new{suffix}", *more, status=1).stderr
    assert "bad.jsonl:1: not a line of JSON" in " ".join(told.split())
    assert snapshot(folder) == before


def test_no_page_holds_the_controls_of_a_name(tmp_path: Path) -> None:
    """A mark that turns the direction of writing would turn all that follows it in the line."""
    hostile = tmp_path / "a\x1b[31m\u202e\n.txt"
    hostile.write_text("It was the best of times, it was the worst of times. " * 20, "utf-8")
    for command in ("explain", "report"):
        page = tmp_path / f"{command}.html"
        result = CliRunner().invoke(main, [command, str(hostile), str(hostile), "-o", str(page)])
        assert result.exit_code == 0, result.output
        text = page.read_text("utf-8")
        assert not {"\x1b", "\u202e"} & {*text}
        assert r"a\x1b[31m\u202e\n.txt" in text
