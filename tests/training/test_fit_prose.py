"""Training texts in several layouts: the words stay, and lines are no longer than they may be."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from adhominem import Tokenizer
from adhominem.training.teach import excerpt, fit_prose, laid_out, wrapped

WORDS = st.lists(st.text("abc.", min_size=1, max_size=9), max_size=60)


@given(WORDS, st.integers(10, 40))
def test_a_wrapped_text_has_the_same_words_in_lines_that_fit(words: list[str], width: int) -> None:
    lines = wrapped(" ".join(words), width, 0.0, random.Random(0)).split("\n")
    assert " ".join(lines).split() == words
    assert all(len(line) <= width for line in lines)


@given(WORDS, st.integers(1, 30), st.integers(0, 9))
def test_an_excerpt_is_a_row_of_words_of_the_text(words: list[str], count: int, seed: int) -> None:
    text = "\n".join(words)
    part = excerpt(text, count, random.Random(seed))
    assert part in text
    assert len(part.split()) == min(count, len(words))


def test_layouts_change_nothing_but_line_ends() -> None:
    text = "one two three four five six seven eight nine ten " * 20
    chance = random.Random(0)
    layouts = {laid_out(text, chance) for _ in range(20)}
    assert len(layouts) > 5
    assert {" ".join(layout.split()) for layout in layouts} == {" ".join(text.split())}


def test_the_same_texts_teach_the_same() -> None:
    genres = {
        "letters": [
            f"I wrote to my brother on day {day}, and he has not answered me. " * 9
            for day in range(30)
        ],
        "notes": [
            f"the meeting of day {day} went well, and we shall meet again. " * 9
            for day in range(30)
        ],
    }
    tokenizer = Tokenizer()
    (first, _), (second, _) = fit_prose(genres, tokenizer), fit_prose(genres, tokenizer)
    assert first == second
    assert first.genres == ("letters", "notes")
    told = first.departure(
        "7; 8; 9; {x} = 12 | 13\n" * 30, tokenizer.tokens("7; 8; 9; {x} = 12 | 13\n" * 30)
    )
    assert told.atypicality > 1
