"""The details of a case: read from a file, checked, and overruled by options."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from adhominem.errors import InputError, OptionError
from adhominem.questions.report.details import CaseDetails, ItemDetails, read_details

TOML = """
case = "17 C 2026"
examiner = "Dr A. Example"
not_examined = ["The paper."]

[[items]]
file = "letters/a.txt"
reference = "Q1"
"""


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(TOML, "utf-8")
    expected = CaseDetails(
        case="17 C 2026",
        examiner="Dr A. Example",
        not_examined=("The paper.",),
        items=(ItemDetails(file="letters/a.txt", reference="Q1"),),
    )
    assert read_details(tmp_path / "case.toml") == expected
    data = {
        "case": "17 C 2026",
        "examiner": "Dr A. Example",
        "not_examined": ["The paper."],
        "items": [{"file": "letters/a.txt", "reference": "Q1"}],
    }
    (tmp_path / "case.json").write_text(json.dumps(data), "utf-8")
    assert read_details(tmp_path / "case.json") == expected


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("case.toml", "case = ", "not valid TOML"),
        ("case.json", "{", "not valid JSON"),
        ("case.toml", "judge = 'x'", "unknown keys: 'judge'; expected any of case, examiner"),
        ("case.toml", "case = 7", "case.case is 7; expected str"),
        ("case.toml", "[[items]]\nreference = 'Q1'", "file is missing"),
        ("case.toml", f"case = '{'x' * 6_000}'", "a length of 5,000 at most"),
    ],
)
def test_a_wrong_case_file_is_an_error_that_names_it(
    name: str, text: str, problem: str, tmp_path: Path
) -> None:
    (path := tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InputError, match=problem) as error:
        read_details(path)
    assert name in str(error.value)


def test_the_case_file_of_the_documentation_is_one(tmp_path: Path) -> None:
    page = Path(__file__).parents[3].joinpath("docs", "report.md").read_text("utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    (path := tmp_path / "case.toml").write_text(example, "utf-8")
    details = read_details(path)
    assert all(getattr(details, field.name) for field in fields(CaseDetails))  # it shows them all


def test_a_case_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_details(tmp_path / "case.toml")


def test_an_item_is_known_by_the_end_of_its_path() -> None:
    details = CaseDetails(items=(ItemDetails(file="letters/a.txt", reference="Q1"),))
    assert details.item("case/letters/a.txt") is details.items[0]
    assert details.item("letters/a.txt") is details.items[0]
    for other in ("other-letters/a.txt", "a.txt", "\ud800" * 600):
        assert details.item(other) == ItemDetails(file="")


def test_an_item_that_is_no_text_or_several_is_refused() -> None:
    details = CaseDetails(items=(ItemDetails(file="a.txt"),))
    details.check_items(["x/a.txt", "x/b.txt"], "case.toml")
    with pytest.raises(InputError, match=r"'a.txt' is none of the texts compared"):
        details.check_items(["x/b.txt"], "case.toml")
    with pytest.raises(InputError, match=r"'a.txt' may be 2 texts"):
        details.check_items(["x/a.txt", "y/a.txt"], "case.toml")


def test_options_come_before_the_file() -> None:
    details = CaseDetails(case="1", examiner="A")
    assert details.with_options(case="2", examiner="") == CaseDetails(case="2", examiner="A")
    assert details.with_options(case="\udce4").case == "?"


def test_details_of_the_wrong_type_cannot_be_made() -> None:
    with pytest.raises(OptionError):
        CaseDetails(case=7)  # type: ignore[arg-type]
