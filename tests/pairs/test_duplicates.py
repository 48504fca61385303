"""Duplicates: what counts as a copy, how large its share is said to be, and what is no copy."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.pairs import passages
from adhominem.pairs.passages import (
    Duplicate,
    Fingerprint,
    find_duplicates,
    fingerprints,
    originals,
)

SHINGLE = 16


def print_of(text: str) -> Fingerprint:
    return fingerprints([text])[0]


def made_up(words: int, seed: int) -> list[str]:
    """Words of no language, of the lengths of English ones."""
    rng = random.Random(seed)
    return [
        "".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.choice((2, 3, 3, 4, 4, 5, 6, 8))))
        for _ in range(words)
    ]


def prose(words: int, seed: int) -> str:
    """Made-up text with quotes, dashes, contractions and capitals."""
    rng = random.Random(-seed)
    text = []
    for word in made_up(words, seed):
        text.append(
            rng.choice(("{}",) * 12 + ("{},", '"{}"', "{} --", "{}'s", "{}.\n\n", "{}!")).format(
                word.capitalize() if rng.random() < 0.1 else word
            )
        )
    return " ".join(text)


def shares_of(*texts: str, share: float = 0.5) -> dict[tuple[int, int], float]:
    pairs = find_duplicates(fingerprints(texts), share)
    return {(pair.first, pair.second): pair.share for pair in pairs}


def curly(text: str) -> str:
    opened = text.replace(' "', " “").replace('"', "”")
    return opened.replace("'", "’").replace(" -- ", "—").replace(" -", " –")


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.lower,
        curly,
        lambda text: text.replace('"', "«"),
        lambda text: text.replace("--", "—").replace(".", "…"),
        lambda text: textwrap.fill(text, 25),
        lambda text: text.replace(" ", "\r\n\t"),
        lambda text: text.replace(" ", "\u00a0").replace("'", "\u2019"),
        lambda text: text.replace("s", "s\u00ad\u200b"),  # soft hyphens and zero-width spaces
        lambda text: text.replace("!", "?!").replace(",", " ,").replace("th", "_th_"),
    ],
    ids=[
        "upper case",
        "lower case",
        "curly quotes and dashes",
        "guillemets",
        "long dashes and ellipses",
        "wrapped lines",
        "windows line ends",
        "hard spaces",
        "invisible characters",
        "marks and italics",
    ],
)
@pytest.mark.parametrize("words", [4, 400])
def test_a_copy_in_another_dress_is_an_exact_copy(change: Callable[[str], str], words: int) -> None:
    text = f'"Well," {prose(words, 1)} -- the end. It\'s!'
    assert change(text) != text
    assert print_of(change(text)).exact == print_of(text).exact
    assert shares_of(text, prose(words, 2), change(text)) == {(0, 2): 1.0}


@pytest.mark.parametrize("letters", ["привет мир", "γεια σου κόσμε", "ünïcödé à gogo", "你好世界"])
def test_letters_beyond_ascii_count_and_their_case_does_not(letters: str) -> None:
    assert print_of(letters.upper()).exact == print_of(letters).exact
    assert print_of(f"— {letters.title()}…").exact == print_of(letters).exact
    assert print_of(letters[:-1]).exact != print_of(letters).exact


def test_an_excerpt_is_a_copy_of_its_book_wherever_it_stands() -> None:
    book = prose(6000, 3).split()
    excerpts = [" ".join(book[start : start + 500]) for start in (0, 2500, 5500)]
    pairs = shares_of(" ".join(book), *excerpts, prose(6000, 4))
    assert set(pairs) == {(0, 1), (0, 2), (0, 3)}
    assert all(share > 0.97 for share in pairs.values())


def changed(text: str, part: float, seed: int) -> str:
    rng = random.Random(seed)
    other = iter(made_up(len(text.split()), seed + 1000))
    return " ".join(next(other) if rng.random() < part else word for word in text.split())


def test_copies_with_a_tenth_of_the_words_changed_are_found() -> None:
    for seed in range(10):
        text = prose(2000, seed)
        assert set(shares_of(text, changed(text, 0.1, seed))) == {(0, 1)}


def test_copies_with_half_of_the_words_changed_are_not() -> None:
    for seed in range(10):
        text = prose(600, seed)
        assert not shares_of(text, changed(text, 0.5, seed))


def test_unrelated_texts_are_not_found_even_at_a_low_share() -> None:
    assert not shares_of(*(prose(400, seed) for seed in range(40)), share=0.02)


def test_a_short_quotation_makes_no_copy() -> None:
    quotation = prose(25, 50)
    assert not shares_of(f"{quotation} {prose(500, 51)}", f"{prose(500, 52)} {quotation}")


def test_texts_shorter_than_a_shingle_are_copies_only_if_all_letters_are_the_same() -> None:
    short = "Not a word more"
    assert len(print_of(short).sample) == 0
    assert shares_of(short, "not a word, more!", "not a word mope", "not a word mor") == {
        (0, 1): 1.0
    }


def test_texts_without_letters_are_no_copies_of_each_other() -> None:
    assert not shares_of("12:30", "45", "...", "—")


def test_no_text_and_one_text_have_no_copies() -> None:
    assert find_duplicates([]) == []
    assert not shares_of("")
    assert not shares_of(prose(100, 1))


def test_a_text_that_repeats_itself_has_each_shingle_once() -> None:
    verse = prose(200, 5)
    once, thrice = print_of(verse).sample, print_of(" ".join([verse] * 3)).sample
    assert len(np.unique(thrice)) == len(thrice)
    assert (np.diff(thrice.astype(np.int64)) > 0).all()
    assert set(once) <= set(thrice)
    assert len(thrice) <= len(once) + 4  # those across the two seams


def shingles(text: str) -> set[str]:
    letters = "".join(filter(str.isalpha, text.lower()))
    return {letters[at : at + SHINGLE] for at in range(len(letters) - SHINGLE + 1)}


def test_about_one_shingle_in_64_is_sampled_and_always_the_same_ones() -> None:
    text = prose(20_000, 6)
    assert len(print_of(text).sample) == pytest.approx(len(shingles(text)) / 64, rel=0.1)
    half = " ".join(text.split()[:10_000])
    assert set(print_of(half).sample) <= set(print_of(text).sample)


@pytest.mark.parametrize("part", [0.15, 0.35, 0.5, 0.65, 0.85])
def test_the_estimated_share_is_near_the_true_one(part: float) -> None:
    for seed in range(3):
        shorter = prose(4000, 10 + seed)
        taken = shorter.split()[: round(4000 * part)]
        longer = " ".join([*prose(3000, 20 + seed).split(), *taken, *prose(4000, 30).split()])
        common = shingles(shorter) & shingles(longer)
        true = len(common) / len(shingles(shorter))
        assert true == pytest.approx(part, abs=0.06)
        (estimate,) = shares_of(shorter, longer, share=0.01).values()
        assert estimate == pytest.approx(true, abs=0.09)  # over 200 shingles: 2.6 deviations


def test_only_shares_at_least_as_large_as_asked_for_are_given() -> None:
    text = prose(3000, 7).split()
    longer = " ".join([*text[:1800], *prose(3000, 8).split()])
    (share,) = shares_of(" ".join(text), longer, share=0.1).values()
    assert 0.5 < share < 0.7
    assert shares_of(" ".join(text), longer, share=share) == {(0, 1): share}
    assert not shares_of(" ".join(text), longer, share=share + 1e-6)


def test_each_of_a_crowd_meets_the_first_and_each_of_a_few_meets_each() -> None:
    phrase = prose(150, 9)
    letters = [f"{phrase} {prose(60, 100 + seed)}" for seed in range(60)]
    assert set(shares_of(*letters)) == {(0, index) for index in range(1, 60)}
    assert len(shares_of(*letters[:50])) == 50 * 49 / 2


def test_a_set_phrase_of_a_crowd_makes_no_copies() -> None:
    phrase = prose(30, 9)
    assert not shares_of(*[f"{phrase} {prose(150, 100 + seed)}" for seed in range(60)])


def test_a_text_copied_to_the_letter_by_a_crowd_is_still_found() -> None:
    text = prose(300, 11)
    near = changed(text, 0.05, 1)
    pairs = shares_of(*[text] * 60, near)
    assert {pair for pair in pairs if pair[1] < 60} == {(0, index) for index in range(1, 60)}
    assert pairs[0, 60] > 0.6


prints = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sets(st.integers(0, 30), max_size=12)), max_size=9
)


@given(prints, st.sampled_from([0.1, 0.25, 0.5, 1.0]), st.integers(2, 9))
def test_the_search_finds_what_comparing_all_with_all_finds(
    samples: list[tuple[str, set[int]]], share: float, crowd: int
) -> None:
    of_letters = dict(reversed(samples))  # texts of the same letters have the same sample
    items = [(letters, of_letters[letters]) for letters, _ in samples]
    prints = [
        Fingerprint(letters.encode(), np.array(sorted(sample), np.uint32))
        for letters, sample in items
    ]
    first = {letters: index for index, (letters, _) in reversed([*enumerate(items)])}
    owners = {
        value: [first[letters] for letters in first if value in of_letters[letters]]
        for value in range(31)
    }

    def meet(value: int, one: int) -> bool:  # in a crowd, each meets the first alone
        return len(owners[value]) <= crowd or one == min(owners[value])

    expected = []
    for (one, (a, left)), (other, (b, right)) in combinations(enumerate(items), 2):
        shared = sum(meet(value, one) for value in left & right)
        if a == b:
            if first[a] == one:
                expected.append(Duplicate(one, other, 1.0))
        elif first[a] == one and first[b] == other and shared >= 3:
            estimate = shared / min(len(left), len(right))
            if estimate >= share:
                expected.append(Duplicate(one, other, estimate))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passages, "_LARGEST_CROWD", crowd)
        assert find_duplicates(prints, share) == expected


def test_near_copies_by_more_hands_than_a_crowd_are_all_found() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 7)) for _ in range(600)]
    copies = []
    for _ in range(120):
        copy = list(words)
        for place in rng.choice(600, 20, replace=False):
            copy[place] = "".join(rng.choice(list("qrstuvwxyz"), 7))
        copies.append(print_of(" ".join(copy)))
    met = {index for pair in find_duplicates(copies) for index in (pair.first, pair.second)}
    assert met == set(range(120))


def test_the_original_of_a_copy_is_the_first_text_with_its_letters() -> None:
    texts = ["One text.", "Another", "one  TEXT", "1 2 3", "“Another”!", "4", "One text, longer"]
    assert originals(texts) == [0, 1, 0, 3, 1, 5, 6]  # texts without letters equal none
    assert originals([]) == []
