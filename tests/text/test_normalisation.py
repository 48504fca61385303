"""Normalisation removes what betrays the source of a text, and nothing of the author's."""

from __future__ import annotations

import textwrap
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich_texts import rich_texts

from adhominem.errors import OptionError
from adhominem.text.normalisation import STEPS, Normaliser

normalise = Normaliser()
ALL = normalise.steps
some_steps = st.lists(st.sampled_from(ALL), unique=True).map(lambda names: Normaliser((*names,)))

WRAPPED = (
    "It was the best of times, it was the worst\n"
    "of times, it was the age of wisdom, it was\n"
    "the age of foolishness."
)

# step, a text that this step alone changes, and what it makes of it
CHANGES = [
    ("line_ends", "one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
    ("line_ends", "one\u2028two\u2029three\u0085four", "one\ntwo\nthree\nfour"),
    ("soft_hyphens", "un\u00adbe\u00adliev\u00adable", "unbelievable"),
    ("soft_hyphens", "unbeliev\u00ad\nable", "unbelievable"),
    ("zero_width", "\ufeffin\u200bvis\u2060ib\u200cle\u200e", "invisible"),
    ("zero_width", "\u202bright\u202c \u2067left\u2069\u061c", "right left"),
    ("zero_width", "a\u200db", "ab"),
    ("nfc", "cafe\u0301 A\u030angstro\u0308m", "café Ångström"),
    ("nfc", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"),
    ("nfc", "\u0995\u09c7\u09be", "\u0995\u09cb"),  # a mark that is no accent
    ("nfc", "\u212b \u212a \u037e", "\u00c5 K ;"),
    ("spaces", "a\u00a0b\tc\u2003d\u202fe\u3000f", "a b c d e f"),
    ("quotes", "“Yes,” he said, „no‟", '"Yes," he said, "no"'),
    ("quotes", "«Yes» ‹no›", "\"Yes\" 'no'"),
    ("quotes", "don’t, ‘tis, donʼt, don´t, don`t", "don't, 'tis, don't, don't, don't"),
    ("quotes", "``Yes,'' she said. ‘‘No,’’ said he.", '"Yes," she said. "No," said he.'),
    ("quotes", "5′ 11″", "5' 11\""),
    ("dashes", "well‐known, well‑known, −5", "well-known, well-known, -5"),
    ("dashes", "1914–18, 3‒4; 1914–", "1914-18, 3-4; 1914--"),
    ("dashes", "so—that is – well ― no⸺", "so--that is -- well -- no--"),
    ("ellipses", "well…", "well..."),
    ("ellipses", "well. . . no . . . .", "well... no ...."),
    ("line_wraps", WRAPPED, WRAPPED.replace("\n", " ")),
    ("italics", "a _word_, *word*, **bold**, ***both***", "a word, word, bold, both"),
    ("italics", "(_two words_)--_he_; '*so*'", "(two words)--he; 'so'"),
]


@pytest.mark.parametrize(("step", "text", "expected"), CHANGES)
def test_each_step_removes_its_traces_of_the_source(step: str, text: str, expected: str) -> None:
    assert Normaliser((step,))(text) == expected
    assert normalise(text) == expected


@pytest.mark.parametrize(("step", "text", "expected"), CHANGES)
def test_each_step_can_be_switched_off_on_its_own(step: str, text: str, expected: str) -> None:
    others = Normaliser.without([step])
    assert others(text) == text


def test_every_step_has_a_case_above() -> None:
    assert {step for step, _, _ in CHANGES} == set(ALL)
    assert set(STEPS) - set(ALL) == {"contractions"}  # below


def test_unknown_steps_are_named_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"steps is .*'stem'.*; expected some of .*nfc.*quotes"):
        Normaliser(("nfc", "stem", "lowercase"))


def test_the_order_in_which_steps_are_named_does_not_matter() -> None:
    assert Normaliser(ALL[::-1]) == Normaliser()
    assert Normaliser(("quotes", "nfc", "quotes")).steps == ("nfc", "quotes")


@given(rich_texts)
def test_without_steps_a_text_stays_as_it_is(text: str) -> None:
    assert Normaliser(())(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "NO!!! What?! Well... hmm.. no....",
        "i dont no, teh END",
        "I don't, y'all'd've, rock 'n' roll",
        "snake_case and _private, f**k, ****, s**t happens, 2*3*4, 2 * 3 * 4",
        "* one\n* two\n* three",
        "a footnote* and another** here",
        "well-known -- and - so --- on",
        "^_^ hello ^_^",
        "_hello ^_^",
        "^_^ (hello_)",
        "-_- really -_-",
        ">_< ouch >_< ;_; sob ;_;",
        "*-* wow *-*",
        "o_O and O_o and T_T",
        "👩‍👧 and ❤️‍🔥",
        "naïve café Ångström 한국 Й",
        'He said: "it\'s 5\' 11"."',
        "A. B. and so. . on",
    ],
)
def test_what_is_style_stays(text: str) -> None:
    assert normalise(text) == text


def test_verse_and_lists_keep_their_line_ends() -> None:
    verse = "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye"
    shopping = "To buy before we leave for the seaside on Monday:\n- milk\n- bread\n- eggs"
    diary = "Monday: rain all day, and no letter from Ann.\nTuesday: rain.\nWednesday: none.\nSun!"
    for text in (verse, shopping, diary):
        assert normalise(text) == text


def test_the_last_line_of_a_paragraph_keeps_its_end() -> None:
    assert normalise(f"{WRAPPED}\nThen came the spring of hope.") == (
        WRAPPED.replace("\n", " ") + "\nThen came the spring of hope."
    )


def test_texts_with_a_paragraph_a_line_keep_their_line_ends() -> None:
    paragraph = "It was the best of times, it was the worst of times. " * 4
    text = f"{paragraph}\n{paragraph}\n{paragraph[:100]}\n"
    assert normalise(text) == text


def test_a_line_that_had_room_for_one_more_word_was_not_wrapped() -> None:
    full, room_for_five = "a" * 50, "b" * 44
    text = f"{full}\n{full}\n{room_for_five}\n"
    assert normalise(f"{text}12345 c") == f"{full} {full} {room_for_five}\n12345 c"
    assert normalise(f"{text}123456 c") == f"{full} {full} {room_for_five} 123456 c"


def test_blank_and_indented_lines_begin_a_paragraph() -> None:
    first, second, third = WRAPPED.split("\n")
    assert normalise(f"{first}\n\n{second}\n    {third}") == f"{first}\n\n{second}\n    {third}"


def test_a_word_broken_at_its_hyphen_is_joined_without_a_space() -> None:
    lines = "It was the very best of times for a well-\nknown and most honourable gentleman --"
    assert normalise(f"{lines}\nbut") == (
        "It was the very best of times for a well-known and most honourable gentleman -- but"
    )


words = st.text("abcdefghij", min_size=1, max_size=12) | st.sampled_from(["so—what", "…", "“no”"])
paragraphs = st.lists(words, min_size=1, max_size=60).map(" ".join)


@given(st.lists(paragraphs, min_size=1, max_size=4), st.integers(52, 100))
def test_wrapped_paragraphs_come_out_as_if_never_wrapped(paragraphs: list[str], width: int) -> None:
    wrapped = [textwrap.fill(paragraph, width, break_on_hyphens=False) for paragraph in paragraphs]
    assert normalise("\n\n".join(wrapped)) == normalise("\n\n".join(paragraphs))


def test_italics_are_found_across_a_wrapped_line() -> None:
    text = (
        "He thought, as he so often did, of _home and\nhearth_, and sighed and went his way again"
    )
    assert normalise(text) == text.replace("_", "").replace("\n", " ")


def test_marks_too_far_apart_or_in_two_paragraphs_are_no_italics() -> None:
    far, apart = f"_{'word ' * 80}end_", "_one\n\ntwo_"
    assert normalise(far) == far
    assert normalise(apart) == apart


@given(rich_texts)
def test_nfc_is_that_of_unicode(text: str) -> None:
    assert Normaliser(("nfc",))(text) == unicodedata.normalize("NFC", text)


marks = st.sampled_from(["\u0301", "\u0316", "\u0338", "\u0344", "\u0f73", "\ufe0f", "\u09be"])
marked_texts = st.lists(
    rich_texts | st.lists(marks, min_size=20, max_size=30).map("".join), max_size=6
).map(" ".join)
crowded_texts = st.lists(rich_texts | st.lists(marks, min_size=20).map("".join), max_size=6).map(
    "".join
)


def slow_letters(text: str) -> list[str]:
    """Letters with their marks and syllables with their parts, however many there are."""
    letters: list[str] = []
    for character in text:
        before = letters[-1][-1] if letters else ""
        syllable = "\u1160" <= character <= "\u11ff" and (
            "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
        )
        if letters and (syllable or unicodedata.category(character)[0] == "M"):
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def slow_nfc(letters: list[str]) -> list[tuple[str, int, int]]:
    """Each character of the composed text, and where its letter stood."""
    characters = []
    at = 0
    for letter in letters:
        composed = unicodedata.normalize("NFC", letter)
        for order, character in enumerate(composed):
            start, end = (order, order + 1) if composed == letter else (0, len(letter))
            characters.append((character, at + start, at + end))
        at += len(letter)
    return characters


def nfc_of(text: str) -> list[tuple[str, int, int]]:
    aligned = Normaliser(("nfc",)).align(text)
    assert aligned.text == Normaliser(("nfc",))(text)
    return [*zip(aligned.text, aligned.starts.tolist(), aligned.ends.tolist(), strict=True)]


@given(marked_texts)
def test_up_to_thirty_marks_are_composed_with_their_letter(text: str) -> None:
    assert nfc_of(text) == slow_nfc(slow_letters(text))
    assert Normaliser(("nfc",))(text) == unicodedata.normalize("NFC", text)


@given(crowded_texts)
def test_of_more_marks_thirty_at_a_time_are_sorted(text: str) -> None:
    letters = []
    for letter in slow_letters(text):
        last, row = 0, int(unicodedata.category(letter[0])[0] == "M")
        for at in range(1, len(letter)):
            row = row + 1 if unicodedata.category(letter[at])[0] == "M" else 0
            if row > 30:
                letters.append(letter[last:at])
                last, row = at, 1
        letters.append(letter[last:])
    assert nfc_of(text) == slow_nfc(letters)


@given(crowded_texts)
def test_no_mark_of_a_crowd_is_lost(text: str) -> None:
    characters = unicodedata.normalize("NFD", Normaliser(("nfc",))(text))
    assert Counter(characters) == Counter(unicodedata.normalize("NFD", text))


# `line_wraps` and `italics` look at a text as a whole: what they leave may look wrapped or marked.
STABLE = tuple(name for name in STEPS if name not in ("line_wraps", "italics"))


@pytest.mark.parametrize("steps", [*((name,) for name in STABLE), STABLE], ids="+".join)
@given(text=rich_texts)
def test_a_second_time_changes_nothing(steps: tuple[str, ...], text: str) -> None:
    once = Normaliser(steps)(text)
    assert Normaliser(steps)(once) == once


@settings(max_examples=300)
@given(rich_texts, some_steps)
def test_aligning_gives_the_same_text_as_calling(text: str, normaliser: Normaliser) -> None:
    assert normaliser.align(text).text == normaliser(text)
    assert normalise.align(text).text == normalise(text)


@settings(max_examples=300)
@given(rich_texts)
def test_alignment_is_in_order_and_in_range(text: str) -> None:
    aligned = normalise.align(text)
    assert aligned.starts.shape == aligned.ends.shape == (len(aligned.text),)
    assert (np.diff(aligned.starts) >= 0).all()
    assert (np.diff(aligned.ends) >= 0).all()
    assert (aligned.starts < aligned.ends).all()
    assert (aligned.starts >= 0).all()
    assert (aligned.ends <= len(text)).all()


@given(rich_texts)
def test_with_no_steps_each_character_maps_to_itself(text: str) -> None:
    aligned = Normaliser(()).align(text)
    np.testing.assert_array_equal(aligned.starts, np.arange(len(text)))
    np.testing.assert_array_equal(aligned.ends, np.arange(1, len(text) + 1))


@given(rich_texts)
def test_what_deleting_steps_keep_maps_to_itself(text: str) -> None:
    aligned = Normaliser(("soft_hyphens", "zero_width", "italics")).align(text)
    assert "".join(text[start] for start in aligned.starts) == aligned.text
    np.testing.assert_array_equal(aligned.ends, aligned.starts + 1)


@given(rich_texts)
def test_letters_map_to_what_they_were_composed_from(text: str) -> None:
    aligned = normalise.align(text)
    invisible = Normaliser(("soft_hyphens", "zero_width"))  # may stand between letter and accent
    for character, start, end in zip(aligned.text, aligned.starts, aligned.ends, strict=True):
        if character.isalpha():
            assert character in unicodedata.normalize("NFC", invisible(text[start:end]))


def test_an_accent_behind_a_soft_hyphen_is_composed_with_its_letter() -> None:
    aligned = normalise.align("A\xad\u0301b")
    assert aligned.text == "\xc1b"
    assert [aligned.starts.tolist(), aligned.ends.tolist()] == [[0, 3], [3, 4]]


def test_replaced_characters_map_to_all_that_they_replace() -> None:
    text = "a…b. . .c\r\nde\u0301—"
    aligned = normalise.align(text)
    assert aligned.text == "a...b...c\ndé--"
    assert [text[a:b] for a, b in zip(aligned.starts, aligned.ends, strict=True)] == [
        *["a", "…", "…", "…", "b", ". . .", ". . .", ". . .", "c", "\r\n", "d", "e\u0301", "—", "—"]
    ]


def test_composing_one_letter_leaves_its_neighbours_where_they_were() -> None:
    text = "«И\u0306од»"
    aligned = Normaliser(("nfc",)).align(text)
    assert [text[a:b] for a, b in zip(aligned.starts, aligned.ends, strict=True)] == [
        *["«", "И\u0306", "о", "д", "»"]
    ]


def test_spans_of_the_normalised_text_become_spans_of_the_original() -> None:
    text = "_so_\u200b… “yes”"
    aligned = normalise.align(text)
    assert aligned.text == 'so... "yes"'
    spans = aligned.original_spans(np.array([[0, 2], [2, 5], [6, 11], [0, 11]]))
    assert [text[a:b] for a, b in spans] == ["so", "…", "“yes”", "so_\u200b… “yes”"]


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        ("There's no they're.", "There 's no they 're."),
        ("DON'T! I’d say we'll", "DO N'T! I ’d say we 'll"),
        ("o'clock, rock'n'roll, 'tis, dogs', 'twas 's", None),
        ("I'verily can'ton", None),
    ],
)
def test_contractions_are_parted_from_their_words_where_that_is_chosen(
    text: str, parted: str | None
) -> None:
    assert normalise(text).replace("'", "’") == text.replace("'", "’")
    assert Normaliser(("contractions",))(text) == (parted or text)
