"""Passages that texts share: found whatever stands between their letters, and taken out."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.pairs.passages import (
    Letters,
    sketch,
    without_recurring,
    without_repetitions,
    without_shared,
)
from adhominem.text.files import Document

SHINGLE = 64


def words_of(seed: int, count: int) -> list[str]:
    """Made-up words: two texts of them have no passage in common."""
    rng = np.random.default_rng(seed)
    letters = list("abcdefghijklmnopqrstuvwxyzäþ")
    return ["".join(rng.choice(letters, int(rng.integers(2, 9)))) for _ in range(count)]


def text(seed: int, count: int = 300) -> str:
    return " ".join(words_of(seed, count))


def documents(*texts: str) -> list[Document]:
    return [Document(text=one, id=f"text-{at}") for at, one in enumerate(texts)]


def one_each(*texts: str) -> tuple[list[str], dict[str, int]]:
    """Texts by different people, as they are compared, and what was taken out of each."""
    groups, taken_out = without_shared([[one] for one in documents(*texts)])
    return [one.text for (one,) in groups], dict(taken_out)


def slow_runs(first: str, second: str) -> set[str]:
    """All runs of letters of the first text, from a word on, that stand in the second, too."""
    letters = "".join(c for c in second.lower() if c.isalpha())
    runs, words = set(), "".join(c if c.isalpha() else " " for c in first.lower()).split()
    for at in range(len(words)):
        run = "".join(words[at:])[:SHINGLE]
        if len(run) == SHINGLE and run in letters:
            runs.add(run)
    return runs


@given(st.integers(0, 50), st.integers(0, 40), st.integers(0, 250))
def test_shared_shingles_are_those_of_a_slow_search(seed: int, count: int, at: int) -> None:
    first, second = words_of(seed, 300), words_of(seed + 1_000, 300)
    mixed = " ".join([*second[:at], *first[100 : 100 + count], *second[at:]])
    one, other = Letters(" ".join(first)), Letters(mixed)
    found = np.isin(one.hashes, other.hashes)
    # A word may begin elsewhere in the second text, where only the first has a space.
    assert int(found.sum()) == len(slow_runs(" ".join(first), mixed))


@pytest.mark.parametrize("words", [25, 40, 100])
@pytest.mark.parametrize(
    "quote", [str, str.upper, lambda run: textwrap.fill(run, 20), lambda run: f"> “{run}”"]
)
def test_a_passage_is_taken_out_of_both_however_it_is_quoted(words: int, quote) -> None:  # type: ignore[no-untyped-def]
    first, second = words_of(1, 300), words_of(2, 300)
    run = " ".join(first[100 : 100 + words])
    (one, other), taken_out = one_each(
        " ".join(first), " ".join([*second[:50], quote(run), *second[50:]])
    )
    # The end of a passage may be found up to a word too early.
    assert words - 1 <= taken_out["text-0"] <= words + 1
    assert one.split()[:100] == first[:100]
    assert one.split()[-100:] == first[-100:]
    assert set(second) <= set(other.split())
    assert len(other.split()) <= 302


def test_what_is_not_shared_is_not_touched() -> None:
    first, second = text(3), text(4)
    assert one_each(first, second) == ([first, second], {})


def test_a_few_words_in_common_are_not_a_passage() -> None:
    first, second = words_of(5, 300), words_of(6, 300)
    second[40:48] = first[10:18]
    assert one_each(" ".join(first), " ".join(second))[1] == {}


def test_a_passage_that_one_author_repeats_counts_once() -> None:
    block, rest, other = text(7, 60), text(8), text(9)
    (known, asked), taken_out = without_shared(
        [documents(f"{block} {text(10)}", f"{rest} {block}"), documents(other)]
    )
    assert known[0].text.startswith(block)
    assert known[1].text.strip() == f"{rest}\n" or known[1].text.split()[:300] == rest.split()
    assert 59 <= dict(taken_out)["text-1"] <= 60
    assert asked[0].text == other


@given(st.integers(2, 20))
def test_a_text_pasted_several_times_is_as_long_as_once(times: int) -> None:
    block = text(11, 60)
    once = without_repetitions(Document(text="\n\n".join([block] * times))).text
    assert 60 <= len(once.split()) <= 60 + times
    assert once.startswith(block)


def test_copies_stay_whole() -> None:
    copy = text(12)
    assert one_each(copy, copy) == ([copy, copy], {})


def test_a_text_quoted_whole_stays_and_the_quotation_goes() -> None:
    letter, answer = text(13), text(14)
    (one, other), taken_out = one_each(letter, f"{answer} {letter}")
    assert one == letter
    assert other.split()[:300] == answer.split()
    assert set(taken_out) == {"text-1"}


def test_what_recurs_in_a_population_is_taken_out_of_it_and_of_the_texts_compared() -> None:
    notice = text(15, 40)
    population = documents(*(f"{text(20 + at)} {notice}" for at in range(5)))
    left, recurring = without_recurring(population)
    assert all(len(one.text.split()) <= 301 for one in left)
    (cut,), taken_out = without_shared([documents(f"{notice} {text(30)}")], recurring)
    assert dict(taken_out)["text-0"] >= 39
    assert cut[0].text.split()[-300:] == text(30).split()


def test_letters_of_any_script_make_passages() -> None:
    quoted = "Быть или не быть, вот в чём вопрос. Достойно ли смиряться под ударами судьбы? " * 2
    (one, other), taken_out = one_each(f"{text(16)} {quoted}", f"{text(17)} {quoted}")
    assert len(taken_out) == 2
    assert "вопрос" not in one + other


def test_small_letters_that_are_longer_than_capitals_keep_places_right() -> None:
    capital = "İstanbul " * 3
    (one, _), taken_out = one_each(
        f"{capital}{text(18)} {text(19, 30)}", f"{text(21)} {text(19, 30)}"
    )
    assert one.startswith(f"{capital}{text(18)}"[:-1])
    assert taken_out


TEXTS = st.text(min_size=1, max_size=400).filter(lambda text: not text.isspace())


@given(TEXTS, TEXTS)
def test_any_texts_can_be_compared_and_only_lose(first: str, second: str) -> None:
    (one, other), _ = one_each(first, second)
    for before, after in ((first, one), (second, other)):
        assert after == before or len(after) <= len(before) + 1


def test_sketches_show_what_texts_share_and_nothing_else() -> None:
    first, second = words_of(22, 600), words_of(23, 600)
    quoting = " ".join([*second[:300], *first[100:180], *second[300:]])
    sketched = sketch(" ".join(first))
    assert 40 < len(sketched) < 110  # about one in eight
    assert (np.diff(sketched.astype(np.int64)) > 0).all()
    assert len(np.intersect1d(sketched, sketch(quoting))) > 2
    assert not len(np.intersect1d(sketched, sketch(" ".join(second))))
    assert len(sketch(text(24, 20_000))) == 256
