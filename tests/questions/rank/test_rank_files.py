"""The command rank: from files to a table, a page and JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import SmallRun, made_up_rows, write_rows

from adhominem import answer
from adhominem.cli import main
from adhominem.errors import InputError, NotFoundError, OptionError

ROWS = made_up_rows(4, 4, "c")
UNKNOWN = made_up_rows(1, 2, "x")


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A folder with candidates/, one folder for each, and two disputed texts."""
    for row in ROWS:
        path = tmp_path / "candidates" / f"{row['id']}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(row["text"], "utf-8")
    for number, row in enumerate(UNKNOWN):
        (tmp_path / f"disputed-{number}.txt").write_text(row["text"], "utf-8")
    return tmp_path


def run(*arguments: object, status: int = 0) -> Result:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == status, done.output
    return done


def test_the_command_prints_candidates_and_trust_and_writes_a_page(
    case: Path, small_run: SmallRun
) -> None:
    call = ("rank", case / "disputed-0.txt", case / "candidates", "--model", small_run.folder)
    done = run(*call, "-o", case / "page.html", "--none", 0.2)
    for name in ("c0", "c1", "c2", "c3", "none of them", "0.2 for none of them"):
        assert name in done.stdout
    assert "How far to trust it" in done.stdout
    assert "the texts of the others (12 texts)" in done.stdout
    page = (case / "page.html").read_text("utf-8")
    assert "What speaks for" in page
    top = run(*call, "--top", 2, "--trials", 0)
    assert "2 more candidates" in top.stdout
    assert "How far to trust it" not in top.stdout


def test_the_json_is_the_ranking_with_its_schema(case: Path, small_run: SmallRun) -> None:
    disputed = [case / "disputed-0.txt", case / "disputed-1.txt"]
    call = ("rank", *disputed, case / "candidates", "--model", small_run.folder, "--each")
    told = json.loads(run(*call, "--json").stdout)
    assert told.pop("skipped") == []
    ranking = answer(
        "rank",
        disputed=disputed,
        candidates=case / "candidates",
        model=small_run.folder,
        one_by_one=True,
    )
    assert told == json.loads(json.dumps(ranking.to_json()))
    assert told["schema"] == 1
    assert len(told["cases"]) == 2


def test_all_layouts_give_the_same_ranking(case: Path, small_run: SmallRun) -> None:
    plain = [{name: row[name] for name in ("author", "text")} for row in ROWS]
    rows = write_rows(case / "rows.jsonl", plain)
    flat = case / "flat"
    flat.mkdir()
    for row in ROWS:
        (flat / f"{row['id'].replace('/', '_')}.txt").write_text(row["text"], "utf-8")
    options: dict[str, Any] = {"model": small_run.folder, "trials": 0}
    folders = answer(
        "rank", disputed=case / "disputed-0.txt", candidates=case / "candidates", **options
    )
    for path in (rows, flat):
        assert (
            answer("rank", disputed=case / "disputed-0.txt", candidates=path, **options).cases
            == folders.cases
        )


def test_a_candidate_without_readable_texts_is_said_and_the_rest_goes_on(
    case: Path, small_run: SmallRun
) -> None:
    (case / "candidates" / "empty").mkdir()
    (case / "candidates" / "broken").mkdir()
    (case / "candidates" / "broken" / "1.txt").write_bytes(b"\x00\x01\x02")
    call = ("rank", case / "disputed-0.txt", case / "candidates", "--model", small_run.folder)
    done = run(*call, "--trials", 0, status=3)
    assert "without a text that can be used: broken, empty" in done.stderr
    with pytest.raises(InputError):
        answer(
            "rank",
            disputed=case / "disputed-0.txt",
            candidates=case / "candidates",
            model=small_run.folder,
        )


def test_a_disputed_text_among_the_known_ones_is_said(case: Path, small_run: SmallRun) -> None:
    shutil.copy(case / "disputed-0.txt", case / "candidates" / "c1" / "copy.txt")
    ranking = answer(
        "rank",
        disputed=case / "disputed-0.txt",
        candidates=case / "candidates",
        model=small_run.folder,
        trials=0,
    )
    assert "disputed_among_known" in [caution.code for caution in ranking.warnings]
    assert {row.name: row.texts for row in ranking.cases[0].candidates}["c1"] == 4


def test_wrong_calls_are_errors(case: Path, small_run: SmallRun) -> None:
    disputed, candidates = case / "disputed-0.txt", case / "candidates"
    for wrong in (("--none", 1), ("--none", -0.1), ("-o", "page.pdf"), ("--trials", -1)):
        run("rank", disputed, candidates, *wrong, status=2)
    run("rank", candidates, status=2)
    with pytest.raises(OptionError, match=r"page\.pdf is not an \.html"):
        answer("rank", disputed=disputed, candidates=candidates, output=case / "page.pdf")
    with pytest.raises(NotFoundError):
        answer("rank", disputed=disputed, candidates=case / "nowhere", model=small_run.folder)
    one = case / "one"
    shutil.copytree(candidates / "c0", one / "c0")
    with pytest.raises(InputError, match="texts of 1 candidate"):
        answer("rank", disputed=disputed, candidates=one, model=small_run.folder)


def test_no_page_is_written_onto_an_input(case: Path, small_run: SmallRun) -> None:
    (case / "page.html").symlink_to(case / "disputed-0.txt")
    with pytest.raises(OptionError):
        answer(
            "rank",
            disputed=case / "disputed-0.txt",
            candidates=case / "candidates",
            output=case / "page.html",
            model=small_run.folder,
        )
    assert (case / "disputed-0.txt").read_text("utf-8") == UNKNOWN[0]["text"]


def test_jobs_make_no_difference(case: Path, small_run: SmallRun) -> None:
    call: dict[str, Any] = {"model": small_run.folder, "trials": 6}
    one = answer("rank", disputed=case / "disputed-0.txt", candidates=case / "candidates", **call)
    assert (
        answer(
            "rank", disputed=case / "disputed-0.txt", candidates=case / "candidates", jobs=2, **call
        )
        == one
    )
