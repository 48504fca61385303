"""PAN's attribution problems: read whole, and what is wrong with one is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adhominem.errors import BrokenLineError, EmptyTextError, InputError, NotFoundError
from adhominem.text.pan import read_attribution_problems


def write_problem(folder: Path, truth: bool = True, **info: Any) -> Path:
    """Two candidates with two texts each, and two unknown texts."""
    for name in ("candidate00001", "candidate00002"):
        (folder / name).mkdir(parents=True)
        for number in (1, 2):
            (folder / name / f"known0000{number}.txt").write_text(f"{name} {number}", "utf-8")
    (folder / "unknown").mkdir()
    for number in (1, 2):
        (folder / "unknown" / f"unknown0000{number}.txt").write_text(f"who {number}", "utf-8")
    authors = [{"author-name": f"candidate0000{number}"} for number in (1, 2)]
    told = {"unknown-folder": "unknown", "candidate-authors": authors, **info}
    (folder / "problem-info.json").write_text(json.dumps(told), "utf-8")
    if truth:
        rows = [
            {"unknown-text": "unknown00001.txt", "true-author": "candidate00002"},
            {"unknown-text": "unknown00002.txt", "true-author": "<UNK>"},
        ]
        (folder / "ground-truth.json").write_text(json.dumps({"ground_truth": rows}), "utf-8")
    return folder


def test_a_collection_is_its_problems_in_order(tmp_path: Path) -> None:
    write_problem(tmp_path / "problem00002", truth=False)
    write_problem(tmp_path / "problem00001")
    first, second = read_attribution_problems(tmp_path)
    assert (first.name, second.name) == ("problem00001", "problem00002")
    assert first.truth == {"unknown00001.txt": "candidate00002", "unknown00002.txt": "<UNK>"}
    assert second.truth is None
    assert list(first.candidates) == ["candidate00001", "candidate00002"]
    assert [text.text for text in first.candidates["candidate00002"]] == [
        "candidate00002 1",
        "candidate00002 2",
    ]
    assert [(text.id, text.text) for text in first.unknown] == [
        ("unknown00001.txt", "who 1"),
        ("unknown00002.txt", "who 2"),
    ]


def test_a_single_problem_can_be_given(tmp_path: Path) -> None:
    (problem,) = read_attribution_problems(write_problem(tmp_path / "problem00001"))
    assert problem.name == "problem00001"


def test_what_cannot_be_read_is_skipped_or_raised(tmp_path: Path) -> None:
    folder = write_problem(tmp_path / "problem00001")
    (folder / "candidate00001" / "known00001.txt").write_text(" ", "utf-8")
    skipped: list[InputError] = []
    (problem,) = read_attribution_problems(tmp_path, skipped=skipped)
    assert len(problem.candidates["candidate00001"]) == 1
    assert [type(error) for error in skipped] == [EmptyTextError]
    assert "known00001.txt" in str(skipped[0])
    with pytest.raises(EmptyTextError):
        list(read_attribution_problems(tmp_path))


def test_a_candidate_without_a_folder_is_told(tmp_path: Path) -> None:
    write_problem(tmp_path / "problem00001", **{"candidate-authors": [{"author-name": "nobody"}]})
    skipped: list[InputError] = []
    (problem,) = read_attribution_problems(tmp_path, skipped=skipped)
    assert problem.candidates == {"nobody": []}
    assert "nobody" in str(skipped[0])


@pytest.mark.parametrize(
    ("info", "problem"),
    [
        ({"candidate-authors": 3}, "the candidates are missing"),
        ({"candidate-authors": [{"author-name": "../../etc"}]}, "not the name of a folder"),
        ({"unknown-folder": "/etc"}, "not the name of a folder"),
    ],
)
def test_a_wrong_problem_info_is_an_error_that_names_the_file(
    tmp_path: Path, info: dict[str, Any], problem: str
) -> None:
    write_problem(tmp_path / "problem00001", **info)
    with pytest.raises(BrokenLineError, match=rf"problem-info\.json: .*{problem}"):
        list(read_attribution_problems(tmp_path))


def test_broken_json_and_a_folder_without_problems_are_errors(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no attribution problem"):
        list(read_attribution_problems(tmp_path))
    with pytest.raises(NotFoundError, match="no such folder"):
        list(read_attribution_problems(tmp_path / "nowhere"))
    folder = write_problem(tmp_path / "problem00001")
    (folder / "ground-truth.json").write_text("[1, 2", "utf-8")
    with pytest.raises(BrokenLineError, match=r"ground-truth\.json: not JSON"):
        list(read_attribution_problems(tmp_path))
    (folder / "ground-truth.json").write_text("[1, 2]", "utf-8")
    with pytest.raises(BrokenLineError, match=r"expected .*ground_truth"):
        list(read_attribution_problems(tmp_path))
