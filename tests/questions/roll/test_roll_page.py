"""The page of a rolled text, as a string and in a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from adhominem.questions.roll.ask import Candidate, Rolled, RollOptions
from adhominem.questions.roll.page import roll_page, shown_probability, summary_of
from adhominem.questions.roll.smoothing import (
    make_blocks,
    make_changes,
    make_passages,
    passage_ranges,
    smooth,
)
from adhominem.questions.roll.windows import Window, cut_blocks

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NASTY = '</style><b id="bad">&amp;'


def made(name: str = "text.txt", states: tuple[str, ...] = ("Ann", NASTY, "neither")) -> Rolled:
    """A text that nobody compared: two candidates, then neither."""
    text = f"Start {NASTY} here.\r\n\n" + "It was a dark night. " * 200
    options = RollOptions(words=200, step=50)
    blocks = cut_blocks(text, 200, 50)
    count = len(blocks.words)
    probability = np.full((count, len(states)), 0.04)
    probability[np.arange(count), np.arange(count) * len(states) // count] = 0.92
    told = make_blocks(blocks, probability / probability.sum(axis=1, keepdims=True))
    candidates = tuple(
        Candidate(name=state, texts=2, words=900, log10_bayes_factor=0.5) for state in states[:2]
    )
    return Rolled(
        name=name,
        text=text,
        words=int(blocks.words.sum()),
        options=options,
        candidates=candidates,
        obstacle="",
        states=states,
        are_styles=False,
        windows=tuple(
            Window(
                start=blocks.window_span(at)[0],
                end=blocks.window_span(at)[1],
                word=int(blocks.word_starts[at]),
                words=200,
                log10_bayes_factors=(1.0 - at / 5, at / 5 - 1.0),
            )
            for at in range(blocks.windows)
        ),
        blocks=told,
        passages=make_passages(told, np.zeros((len(passage_ranges(told)), 2))),
        changes=make_changes(told, smooth(np.log(probability), np.full(count - 1, 0.1)), 200),
        population="novels",
        population_texts=50,
        remarks=("beware of this",),
        model="a model",
        model_sha256="0" * 64,
        version="1.0",
    )


def test_the_page_tells_what_was_found() -> None:
    rolled = made()
    page = roll_page(rolled)
    assert "Which part is by whom? text.txt" in page
    assert "Beware of this." in page
    assert "2 changes were found" in summary_of(rolled)
    assert page.count('<tr><th scope="row">') == 3
    assert NASTY not in page


def test_the_text_stands_only_where_the_history_leaves_it_out() -> None:
    page = roll_page(made())
    outside = re.sub(r"<div [^>]*data-text.*?</div>", "", page, flags=re.DOTALL)
    assert "It was a dark night." in page
    assert "dark night" not in outside


def test_probabilities_are_never_none_or_all() -> None:
    assert [shown_probability(value) for value in (0.0, 0.5, 1.0, None)] == [
        "< 0.01",
        "0.50",
        "> 0.99",
        "–",
    ]


def test_without_a_statement_there_is_the_text_alone() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("candidates", "states", "windows", "blocks"), ())
    rolled = replace(made(), obstacle="it is Dutch", passages=(), changes=(), **nothing)
    page = roll_page(rolled)
    assert summary_of(rolled) == "No statement is made: it is Dutch."
    assert "No statement is made: it is Dutch." in page
    assert rolled.text.split()[0] in page
    assert "beware of this" in page.lower()
    for word in ("<svg", "<mark", "Passages", "Neither", "Bayes factor"):
        assert word not in page


def test_of_one_style_nothing_is_called_probable() -> None:
    rolled = made()
    alone = tuple(replace(block, state=0, probabilities=(1.0,)) for block in rolled.blocks)
    one = replace(
        rolled,
        are_styles=True,
        states=("style 1",),
        candidates=(Candidate(name="style 1", texts=3, words=600, log10_bayes_factor=None),),
        windows=tuple(replace(one, log10_bayes_factors=(0.5,)) for one in rolled.windows),
        blocks=alone,
        passages=make_passages(alone, np.zeros((1, 0))),
        changes=(),
    )
    page = roll_page(one)
    assert "No change of style was found" in page
    assert "Probability of each author" not in page


@pytest.mark.parametrize("width", [1280, 390])
def test_the_text_reads_as_it_was_and_nothing_sticks_out(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    rolled = made()
    (tmp_path / "roll.html").write_text(roll_page(rolled), "utf-8", newline="")
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((tmp_path / "roll.html").as_uri())
    assert page.locator("#bad").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.evaluate(
        """() => { const text = document.querySelector('.rolled').cloneNode(true);
        text.querySelectorAll('.who').forEach(name => name.remove()); return text.textContent; }"""
    )
    assert shown == rolled.text
    page.locator("a[href='#passage-2']").click()
    assert page.locator("#passage-2").is_visible()
    colours = page.evaluate(
        "[...document.querySelectorAll('mark')].map(m => getComputedStyle(m).backgroundColor)"
    )
    assert len(set(colours)) == 3
    assert complaints == []
    page.close()
