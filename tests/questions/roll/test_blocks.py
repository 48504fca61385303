"""Texts cut into blocks and windows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.questions.roll.windows import cut_blocks


@given(st.lists(st.sampled_from(["a", "bc.", "D", "e!", "F,"]), min_size=40, max_size=200))
def test_blocks_hold_all_words_in_order_once(words: list[str]) -> None:
    text = "  " + " ".join(words) + "\n"
    blocks = cut_blocks(text, 20, 5)
    inside = [text[start:end] for start, end in blocks.spans.tolist()]
    assert " ".join(inside) == text.strip()
    assert [len(part.split()) for part in inside] == blocks.words.tolist()
    assert blocks.in_window == 4
    first, last = blocks.window_span(0), blocks.window_span(blocks.windows - 1)
    assert first[0] == 2
    assert last[1] == len(text) - 1
    assert min(blocks.words) >= 1


def test_blocks_begin_with_the_nearest_sentence() -> None:
    words = ["word"] * 40
    words[9], words[10] = "end.", "Begin"  # due at 12
    blocks = cut_blocks(" ".join(words), 12, 12)
    assert blocks.words.tolist()[:2] == [10, 14]


def test_what_windows_say_counts_once() -> None:
    blocks = cut_blocks("word " * 100, 30, 10)
    values = np.random.default_rng(0).normal(size=(blocks.windows, 2))
    shared = blocks.shared_out(values)
    for at in range(len(blocks.words)):  # slowly
        holding = [row for row in range(blocks.windows) if row <= at < row + 3]
        assert shared[at] == pytest.approx(values[holding].mean(axis=0) / 3)
    assert blocks.shared_out(np.ones((blocks.windows, 1))).sum() == pytest.approx(
        100 / 30, abs=0.01
    )


def test_a_text_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(OptionError, match="30 words, fewer than one window of 500"):
        cut_blocks("word " * 30, 500, 100)
    with pytest.raises(OptionError, match="step"):
        cut_blocks("word " * 30, 20, 50)
