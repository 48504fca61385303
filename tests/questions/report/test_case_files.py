"""A case given as files: verified, explained, reported and checked by one call each."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SmallRun, made_up_rows

from adhominem import answer, load, read_exhibits
from adhominem.errors import InputError, OptionError


@pytest.fixture
def case(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two texts, and a third by whoever wrote the first."""
    paths = tuple(tmp_path / name for name in ("first.txt", "second.txt", "third.txt"))
    for path, row in zip(paths, made_up_rows(3, 1, "case"), strict=True):
        path.write_text(row["text"], "utf-8")
    return paths


@pytest.fixture
def population(tmp_path: Path) -> Path:
    folder = tmp_path / "others"
    folder.mkdir()
    for number, row in enumerate(made_up_rows(30, 1, "others")):
        (folder / f"{number}.txt").write_text(row["text"], "utf-8")
    (folder / "broken.txt").write_bytes(b"\0\1")
    return folder


def sides(case: tuple[Path, ...]) -> dict[str, Path]:
    return {"first": case[0], "second": case[1]}


def test_files_are_verified_as_their_texts_are(
    case: tuple[Path, Path, Path], population: Path, small_run: SmallRun
) -> None:
    first, second, third = case
    skipped: list[InputError] = []
    result = answer(
        "verify",
        first=first,
        second=second,
        model=small_run.folder,
        also_first=[third],
        topic_second="ships",
        population=population,
        skipped=skipped,
        prior_same_author=0.2,
        delta=0.1,
    )
    verifier = load(small_run.folder)
    others = [path.read_text("utf-8") for path in population.glob("[0-9]*.txt")]
    expected = verifier.verify(
        read_exhibits([first, third]),
        read_exhibits([second], "ships"),
        population=verifier.population(others),
        prior_same_author=0.2,
        delta=0.1,
    )
    assert result.log_bayes_factor == pytest.approx(expected.log_bayes_factor, abs=1e-5)
    assert (result.first, result.second) == (expected.first, expected.second)
    assert [error.path for error in skipped] == [str(population / "broken.txt")]
    with pytest.raises(InputError, match=r"broken\.txt"):
        answer("verify", first=first, second=second, model=small_run.folder, population=population)


def test_an_explanation_is_returned_and_written(
    case: tuple[Path, Path, Path], small_run: SmallRun, tmp_path: Path
) -> None:
    alone = answer("verify", **sides(case), model=small_run.folder)
    explained = answer("explain", **sides(case), model=small_run.folder, output=tmp_path / "e.html")
    assert explained.verification == alone
    assert (tmp_path / "e.html").read_text("utf-8").lower().startswith("<!doctype html>")
    with pytest.raises(OptionError, match="no known ending"):
        answer("explain", first="nowhere", second="nowhere", output=tmp_path / "e.md")
    before = case[0].read_bytes()
    with pytest.raises(OptionError, match="was read as input"):  # in Python, too
        answer("explain", **sides(case), model=small_run.folder, output=case[0], format="html")
    assert case[0].read_bytes() == before


def test_a_report_that_was_written_is_the_same_when_checked(
    case: tuple[Path, Path, Path], small_run: SmallRun, tmp_path: Path
) -> None:
    model, page = small_run.folder, tmp_path / "report.html"
    report = answer(
        "report", **sides(case), output=[page], model=model, draws=20, case="7", date="2026-05-31"
    )
    assert report.details.case == "7"
    check = answer("check-report", page_file=page, **sides(case), model=model)
    assert (check.differences, check.own_scale, check.has_population) == ((), False, False)
    other = answer("check-report", page_file=page, first=case[0], second=case[2], model=model)
    assert other.to_json()["same"] is False
    assert other.differences
    with pytest.raises(OptionError, match=r"is not an \.html, \.pdf or \.docx file"):
        answer("report", **sides(case), output=[tmp_path / "report.doc"], model=model)
