"""The commands explain and attention: what they write and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import SmallRun, made_up_rows

from adhominem.cli import main


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, (result.output, result.exception)
    return result


@pytest.fixture
def case(tmp_path: Path) -> tuple[Path, Path]:
    first, second = made_up_rows(2, 1, "case")
    for name, row in (("first.txt", first), ("second.txt", second)):
        (tmp_path / name).write_text(row["text"], "utf-8")
    return tmp_path / "first.txt", tmp_path / "second.txt"


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("e.html", b"<!doctype html>"),
        ("e.HTM", b"<!doctype html>"),
        ("e.txt", b"first side: "),
    ],
)
def test_the_ending_of_the_output_says_what_is_written(
    case: tuple[Path, Path], small_run: SmallRun, tmp_path: Path, name: str, begins: bytes
) -> None:
    done = run("explain", *case, "--model", small_run.folder, "-o", tmp_path / name)
    assert done.stdout == f"Written  {tmp_path / name}\n"
    written = (tmp_path / name).read_bytes()
    assert written.lower().startswith(begins.lower())
    assert not list(tmp_path.glob("*.partial*"))


def test_a_format_can_be_chosen_and_an_unknown_ending_is_refused(
    case: tuple[Path, Path], small_run: SmallRun, tmp_path: Path
) -> None:
    run(
        *("explain", *case, "--model", small_run.folder),
        *("-o", tmp_path / "e.page", "--format", "html"),
    )
    assert (tmp_path / "e.page").read_text("utf-8").lower().startswith("<!doctype html>")
    refused = run("explain", *case, "--model", small_run.folder, "-o", tmp_path / "e.md", status=2)
    assert "no known ending; expected .html" in refused.stderr


def test_without_an_output_the_texts_are_printed_without_colours_where_nobody_looks(
    case: tuple[Path, Path], small_run: SmallRun
) -> None:
    done = run("explain", *case, "--model", small_run.folder)
    assert "first side: " in done.stdout
    assert "\x1b" not in done.stdout
    assert "log10 Bayes factor  " in done.stdout  # a heat map alone says nothing
    assert "A Bayes factor is not a verdict" in done.stdout
    alone = json.loads(run("verify", *case, "--model", small_run.folder, "--json").stdout)
    assert alone["warnings"]
    for warning in alone["warnings"]:
        assert warning["message"] in done.stderr


def test_json_has_the_verification_the_passages_and_the_texts(
    case: tuple[Path, Path], small_run: SmallRun
) -> None:
    model = ("--model", small_run.folder)
    told = json.loads(run("explain", *case, *model, "--json").stdout)
    alone = json.loads(run("verify", *case, *model, "--json").stdout)
    assert {"schema": 1, **told["verification"]} == alone
    assert [text["side"] for text in told["texts"]] == ["first", "second"]
    for text, path in zip(told["texts"], case, strict=True):
        assert text["text"] == path.read_text("utf-8")
        assert sum(passage["attention"] for passage in text["passages"]) == pytest.approx(1)


def test_a_pair_is_explained_by_its_id_and_windows_are_shown(
    case: tuple[Path, Path], small_run: SmallRun, tmp_path: Path
) -> None:
    texts = [path.read_text("utf-8") for path in case]
    row = {"id": "p7", "fandoms": ["ships", "cats and dogs"], "pair": texts}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    pair = ("--pairs", tmp_path / "pairs.jsonl", "--pair", "p7", "--model", small_run.folder)
    told = json.loads(run("explain", *pair, "--windows", "--json").stdout)
    assert [text["name"] for text in told["texts"]] == [
        "p7/first (ships)",
        "p7/second (cats and dogs)",
    ]
    assert [text["windows"][0]["prefix"] for text in told["texts"]] == [
        "<ships>",
        "<cats and dogs>",
    ]
    shown = run("explain", *pair, "--windows").stdout
    assert "first side: p7/first (ships), as model read it" in shown
    assert "<ships>" in shown
    assert "share of the attention to the text" in shown
    run("explain", *pair, "--windows", "-o", tmp_path / "e.html")
    assert "&lt;ships&gt;" in (tmp_path / "e.html").read_text("utf-8")
    assert (
        "no pair has the id 'p8', of 1 there"
        in run("explain", *pair, "--pair", "p8", status=1).stderr
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("one.txt",),
        ("--pairs", "pairs.jsonl"),
        ("one.txt", "two.txt", "--pairs", "pairs.jsonl", "--pair", "p"),
        ("--pairs", "pairs.jsonl", "--pair", "p", "--topic-first", "ships"),
    ],
)
def test_either_two_texts_or_one_pair_can_be_explained(arguments: tuple[str, ...]) -> None:
    assert (
        "expected two texts, FIRST and SECOND, or one pair"
        in run("explain", *arguments, status=2).stderr
    )


def test_attention_prints_both_ends_and_lists_what_it_skipped(
    small_run: SmallRun, tmp_path: Path
) -> None:
    lines = [json.dumps(row) for row in made_up_rows(3, 4, "a")]
    corpus = tmp_path / "texts.jsonl"
    corpus.write_text("\n".join([*lines, "no JSON"]) + "\n", "utf-8")
    shown = run("attention", corpus, "--model", small_run.folder, "--top", 3, status=3)
    assert "more attention than their frequency explains" in shown.stdout
    assert "less attention than their frequency explains" in shown.stdout
    assert "texts.jsonl:13" in shown.stderr
    told = json.loads(
        run("attention", corpus, "--model", small_run.folder, "--json", status=3).stdout
    )
    assert told["documents"] == 12
    assert len(told["skipped"]) == 1
    assert all(word["documents"] >= 5 for word in told["words"])
