"""Which part of a text is by whom: passages, changes, styles, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import rich_rows

from adhominem import answer, load
from adhominem.cli import main
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.questions.roll.smoothing import (
    make_blocks,
    make_changes,
    make_passages,
    smooth,
    smooth_blocks,
)
from adhominem.questions.roll.windows import apart, cut_blocks, merge_neighbours, style_factors


def rolled_blocks(states: list[int], step: int = 100) -> tuple[np.ndarray, list[int]]:
    probability = np.full((len(states), 3), 0.05)
    probability[range(len(states)), states] = 0.9
    return probability, states


def test_passages_are_blocks_of_one_state() -> None:
    blocks = cut_blocks("word " * 1_000, 200, 100)
    probability, _ = rolled_blocks([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
    told = make_blocks(blocks, probability)
    passages = make_passages(told, np.zeros((3, 2)))
    assert [(one.word, one.words, one.state) for one in passages] == [
        (0, 300, 0),
        (300, 400, 1),
        (700, 300, 2),
    ]
    assert passages[0].probability == pytest.approx(0.9)
    assert passages[0].end <= passages[1].start


def test_a_change_lies_where_the_probability_of_one_does() -> None:
    blocks = cut_blocks("word " * 1_000, 200, 100)
    likelihood = np.zeros((10, 2))
    likelihood[:4, 0] = likelihood[6:, 1] = 3.0  # in between, nothing is known
    smoothed = smooth(likelihood, np.full(9, 0.05))
    told = make_blocks(blocks, smoothed.probability)
    (one,) = make_changes(told, smoothed, 200)
    assert (one.before, one.after) == (0, 1)
    assert (one.earliest, one.latest) == (400, 600)
    assert one.earliest <= one.word <= one.latest
    assert one.probability > 0.95


def test_windows_in_favour_of_nobody_are_by_neither() -> None:
    blocks = cut_blocks("word " * 1_000, 200, 100)
    factors = np.full((blocks.windows, 2), -4.0)
    factors[:4, 0] = 4.0
    told = smooth_blocks(blocks, factors, 2_000, neither=True).probability
    assert told.argmax(axis=1).tolist() == [0] * 4 + told.argmax(axis=1).tolist()[4:]
    assert told[-1].argmax() == 2
    assert told.sum(axis=1) == pytest.approx(1)


def test_more_windows_of_the_same_text_are_no_more_evidence() -> None:
    text = "word " * 1_000
    ends = []
    for step in (50, 100, 200):
        blocks = cut_blocks(text, 200, step)
        factors = np.full((blocks.windows, 1), 0.4)
        # The author hardly changes.
        ends.append(smooth_blocks(blocks, factors, 10**9, neither=True).probability[0, 0])
    assert ends == pytest.approx([1 / (1 + np.exp(-2))] * 3, rel=1e-3)


def test_neighbours_are_put_together_unless_there_is_evidence_of_a_change() -> None:
    styles = np.array([0, 0, 0, 1, 1, 0])
    factors = np.where(styles[:, None] == styles, 3.0, -3.0)
    assert merge_neighbours(factors, 0.7) == [(0, 1, 2), (3, 4), (5,)]
    assert merge_neighbours(factors, 0.9999) == [(0, 1, 2, 3, 4, 5)]


def test_no_window_is_compared_with_one_that_it_overlaps(mixed_folder: Path) -> None:
    text = " ".join(row["text"] for row in rich_rows("letters", 3, 2, "-styles-"))
    blocks, verifier = cut_blocks(text, 80, 40), load(mixed_folder)
    windows = [text[slice(*blocks.window_span(at))] for at in range(blocks.windows)]
    levs, chosen = verifier.encode(windows), apart(blocks)
    assert (np.diff(chosen) >= 2).all()
    styles = [chosen[:1], chosen[1:]]
    factors = style_factors(verifier.scorer, blocks, levs, styles, None)
    for window in range(blocks.windows):
        for at, style in enumerate(styles):
            others = [other for other in style if abs(other - window) >= 2]
            slowly = verifier.score([levs[[window]]], [levs[others]])[0] if others else 0
            assert factors[window, at] == pytest.approx(slowly, abs=1e-6)
    assert factors[0, 0] == 0


def write_texts(folder: Path, rows: list[dict[str, str]]) -> Path:
    folder.mkdir()
    for number, row in enumerate(rows):
        (folder / f"{number}.txt").write_text(row["text"], "utf-8")
    return folder


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A text of two parts, two folders of known texts, and a population."""
    rows = rich_rows("letters", 8, 6, "-roll-")
    first, second = rows[:6], rows[6:12]
    parts = [row["text"] for row in (*first[:3], *second[:3])]
    (tmp_path / "text.txt").write_text("\n\n".join(parts), "utf-8")
    write_texts(tmp_path / "ann", first[3:])
    write_texts(tmp_path / "bob", second[3:])
    write_texts(tmp_path / "others", rows[12:])
    return tmp_path


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, ["roll", *(str(argument) for argument in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


SMALL = ("--words", 100, "--step", 25)


def test_the_command_tells_passages_and_writes_a_page(case: Path, mixed_folder: Path) -> None:
    output = case / "roll.html"
    against = ("--against", case / "ann", "--against", case / "bob")
    options = (*SMALL, "--population", case / "others", "--model", mixed_folder, "-o", output)
    shown = run(case / "text.txt", *against, *options).stdout
    assert "A mark for each block: 1 ann, 2 bob, - neither" in shown
    assert "Prior  a change of author every 2,000 words on average" in shown
    assert "Which part is by whom?" in output.read_text("utf-8")
    told = json.loads(run(case / "text.txt", *against, *options, "--json").stdout)
    assert told["states"] == ["ann", "bob", "neither"]
    assert sum(block["words"] for block in told["blocks"]) == told["words"]
    assert sum(passage["words"] for passage in told["passages"]) == told["words"]
    assert len(told["changes"]) == len(told["passages"]) - 1
    assert all(len(window["log10_bayes_factors"]) == 2 for window in told["windows"])
    assert told["text"][told["windows"][0]["start"] :].startswith(told["text"].split()[0])


def test_in_a_closed_circle_nobody_else_is_thought_of(case: Path, mixed_folder: Path) -> None:
    told = answer(
        "roll",
        text=case / "text.txt",
        candidates=[case / "ann", case / "bob"],
        output=case / "roll.html",
        model=mixed_folder,
        words=100,
        step=25,
        closed=True,
    )
    assert told.states == ("ann", "bob")
    assert "one of the candidates wrote every part" in (case / "roll.html").read_text("utf-8")


def test_without_candidates_styles_are_told(case: Path, mixed_folder: Path) -> None:
    options = (*SMALL, "--model", mixed_folder, "--json")
    told = json.loads(run(case / "text.txt", *options).stdout)
    assert told["are_styles"]
    assert told["states"][0] == "style 1"
    assert any("without candidates" in remark for remark in told["remarks"])
    if len(told["states"]) == 1:
        assert told["passages"][0]["probability"] is None


def test_bad_input_is_told(case: Path, mixed_folder: Path) -> None:
    text, model = case / "text.txt", mixed_folder
    with pytest.raises(InputError, match="fewer than one window"):
        answer("roll", text=text, model=model, words=50_000)
    with pytest.raises(OptionError, match="step"):
        answer("roll", text=text, model=model, words=100, step=200)
    with pytest.raises(OptionError, match=r"roll\.pdf is not an \.html"):
        answer("roll", text=text, output=case / "roll.pdf", model=model)
    with pytest.raises(InputError, match="expected one: give a single text"):
        answer("roll", text=case / "ann", model=model)
    with pytest.raises(OptionError, match="two candidates"):
        answer(
            "roll",
            text=text,
            candidates=[case / "ann", case / "ann"],
            model=model,
            words=100,
            step=25,
        )
    with pytest.raises(OptionError, match="expected two or more"):
        answer("roll", text=text, candidates=[case / "ann"], model=model, closed=True)
    (case / "empty").mkdir()
    with pytest.raises(NotFoundError, match="no text in this folder"):
        answer("roll", text=text, candidates=[case / "empty"], model=model)
    (case / "ann").rename(case / "neither")
    with pytest.raises(OptionError, match="a candidate and a state"):
        answer("roll", text=text, candidates=[case / "neither"], model=model, words=100, step=25)


def test_copies_are_left_out_and_told(case: Path, mixed_folder: Path) -> None:
    known = (case / "ann" / "0.txt").read_text("utf-8")
    (case / "bob" / "copy.txt").write_text(known, "utf-8")
    (case / "bob" / "same.txt").write_text((case / "text.txt").read_text("utf-8"), "utf-8")
    told = answer(
        "roll",
        text=case / "text.txt",
        candidates=[case / "ann", case / "bob"],
        model=mixed_folder,
        words=100,
        step=25,
    )
    assert any("one text under the names of two" in remark for remark in told.remarks)
    assert any("stands among the known ones" in remark for remark in told.remarks)
    assert [candidate.texts for candidate in told.candidates] == [2, 3]
    assert any("200 or more" in remark for remark in told.remarks)
