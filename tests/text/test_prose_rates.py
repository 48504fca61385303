"""Rates of a text: as one counts them by hand, whatever its layout, for any text."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem import Tokenizer
from adhominem.errors import OptionError
from adhominem.text import prose_rates as module
from adhominem.text.prose_rates import RATES, ProseLexicon, prose_rates
from adhominem.training.teach import wrapped

LEXICON = ProseLexicon(("the", "and", "of", "was"), (" th", "the", "he ", " ca", "cat", "at "))
TOKENIZER = Tokenizer()
SENTENCES = (
    "The lamp in the hall was lit before anybody came down to breakfast, and the old clock had "
    "been stopped again. I asked Mrs. Harding about it, but she only looked at the ceiling and "
    "said that clocks were no affair of hers. So we waited, each of us pretending to read, until "
    "the postman had been and gone without a letter for any of us."
)
VERSE = """
The tide went out and left the sand
As bare as any winter tree,
And we who waited, hand in hand,
Could hear but could not see the sea
"""


def rates(text: str, lexicon: ProseLexicon = LEXICON) -> dict[str, float]:
    values = prose_rates(text, TOKENIZER.tokens(text), lexicon)
    return dict(zip(RATES, values.tolist(), strict=True))


def test_rates_are_what_one_counts_by_hand() -> None:
    told = rates("The cat, Zoë and x_1 sat. Was 12 = 3?")
    # Tokens: The cat , Zoë and x_1 sat . Was 12 = 3 ?
    assert told["common_words"] == pytest.approx(3 / 7)  # The, and, Was; of The cat Zoë and ...
    assert told["figures"] == pytest.approx(3 / 13)  # x_1, 12, 3
    assert told["symbols"] == pytest.approx(1 / 13)
    assert told["punctuation"] == pytest.approx(3 / 13)
    assert told["sentence_ends"] == pytest.approx(2 / 13)
    assert told["odd_words"] == pytest.approx(1 / 7)
    assert told["capitals"] == pytest.approx(1 / 5)  # Zoë; "The" and "Was" begin sentences
    assert told["capital_common_words"] == 0
    assert told["word_length"] == pytest.approx(21 / 7)
    assert told["other_letters"] == pytest.approx(1 / 21)
    usual = 6  # letters of The and of cat: " th", "the", "he ", " ca", "cat", "at "
    assert told["odd_spelling"] == pytest.approx((21 - usual) / 21, abs=0.06)  # "at " of sat, too


def test_repetition_is_that_within_fifty_words() -> None:
    assert rates("one two three four")["repetition"] == 0
    assert rates("one two one two")["repetition"] == pytest.approx(0.5)
    far_apart = " ".join(f"w{'x' * n}" for n in range(60))
    assert rates(f"{far_apart} {far_apart}")["repetition"] == 0


@pytest.mark.parametrize("ragged", [0.0, 0.04])
@pytest.mark.parametrize("width", [55, 70, 95])
def test_wrapped_prose_has_the_rates_of_prose_in_one_line(width: int, ragged: float) -> None:
    lines = wrapped(SENTENCES, width, ragged, random.Random(0))
    assert lines.count("\n") >= 3
    plain, told = rates(SENTENCES), rates(lines)
    assert told.pop("broken_lines") == plain.pop("broken_lines") == 0
    assert told.pop("line_capitals") < 0.2
    assert plain.pop("line_capitals") == 0
    assert told == pytest.approx(plain)


def test_marks_of_quoted_mail_are_no_symbols_and_no_part_of_a_line() -> None:
    lines = wrapped(SENTENCES, 66, 0.0, random.Random(0))
    quoted = "\n".join(f"> {line}" for line in lines.split("\n"))
    assert rates(quoted)["symbols"] == 0
    assert rates(quoted)["line_capitals"] == pytest.approx(rates(lines)["line_capitals"])
    assert rates("a > b > c")["symbols"] > 0


def test_lines_of_verse_break_off_before_a_capital_and_its_common_words_have_one() -> None:
    assert rates(VERSE)["line_capitals"] > 0.6
    joined = rates(" ".join(VERSE.split()))
    assert joined["line_capitals"] == 0
    assert joined["capital_common_words"] > rates(SENTENCES)["capital_common_words"]


def test_a_paragraph_without_a_full_stop_is_no_line_of_verse() -> None:
    paragraph = SENTENCES.rstrip(".")
    assert rates(f"{paragraph}\n{paragraph}")["line_capitals"] == 0


def test_items_of_a_list_are_lines_that_end_early() -> None:
    items = "\n".join(
        ["two pounds of butter", "eggs", "a jar of honey from the market in town"] * 5
    )
    assert rates(items)["broken_lines"] > 0.3


def test_a_lexicon_has_the_most_common_words_with_each_genre_counting_alike() -> None:
    many = [["aa"] * 900 + ["bb"] * 100]
    few = [["cc", "cc", "bb"]]
    lexicon = ProseLexicon.of([many, few], words=2, share=1.0)
    assert lexicon.common_words == ("aa", "cc")
    assert lexicon.usual == {" aa", "aa ", " bb", "bb ", " cc", "cc "}
    assert ProseLexicon.of([few], words=1, share=0.5).usual == {" cc", "cc "}
    with pytest.raises(OptionError):
        ProseLexicon(("a",), (1,))  # type: ignore[arg-type]


@given(st.text(max_size=300))
def test_rates_of_any_text_are_finite_and_shares_lie_between_0_and_1(text: str) -> None:
    values = prose_rates(text, TOKENIZER.tokens(text), LEXICON)
    assert np.isfinite(values).all()
    shares = values[[at for at, rate in enumerate(RATES) if rate != "word_length"]]
    assert (shares >= 0).all()
    assert (shares <= 1).all()


def slow_rates(text: str, tokens: list[str], lexicon: ProseLexicon) -> dict[str, float]:
    """Those that depend on the tokens alone, token by token."""
    words = [token for token in tokens if module._is_word(token)]
    lower = [word.lower() for word in words]
    letters = sum(map(len, lower))
    odd = sum(row not in lexicon.usual for word in lower for row in module._trigrams(word))
    quotes = sum(len(mark.split()) for mark in module._QUOTE.findall(text))
    marks = {token for token in tokens if token[0] in module._PUNCTUATION}
    marks -= {token for token in marks if len(token) > 3 and len({*token}) > 1}
    figures = [token for token in tokens if any(sign.isdigit() for sign in token)]
    symbols = [token for token in tokens if not token[0].isalnum() and token not in marks]
    symbols += [token for token in tokens if token[0].isalpha() and token not in words]
    odd_words = [word for word in words if len(word) == 1 and word.lower() not in "aio"]
    for word in words:
        inner = any(sign.isupper() for sign in word[1:]) and not word.isupper()
        if len(word) > 1 and (inner or "_" in word or word in figures):
            odd_words.append(word)
    inside, begins = [], True
    for token in tokens:
        if not module._is_word(token):
            begins = begins or token[0] in module._BEGINNINGS
            continue
        if not begins and not module._is_pronoun(token):
            inside.append(token)
        begins = False
    common = [word for word in inside if word.lower() in lexicon.common]
    return {
        "common_words": sum(word in lexicon.common for word in lower) / max(1, len(words)),
        "odd_spelling": odd / max(1, letters),
        "other_letters": sum(sign > "\x7f" for word in lower for sign in word) / max(1, letters),
        "figures": len(figures) / max(1, len(tokens)),
        "symbols": max(0, len(symbols) - quotes) / max(1, len(tokens)),
        "punctuation": sum(token in marks for token in tokens) / max(1, len(tokens)),
        "sentence_ends": sum(token[0] in ".!?…。？！" for token in tokens) / max(1, len(tokens)),
        "odd_words": len(odd_words) / max(1, len(words)),
        "capitals": sum(word[0].isupper() for word in inside) / max(1, len(inside)),
        "capital_common_words": sum(word[0].isupper() for word in common) / max(1, len(common)),
        "word_length": letters / max(1, len(words)),
    }


WORDS = ("the", "The", "I", "I'm", "Émile", "naïve", "utf8", "camelCase", "x", "a", "NASA", "it")
SIGNS = (".", ",", "...", "(", '"', "§", "42", "3rd", "http://a.b", "a@b.c", ">", "\n", "—", "!")


@given(st.lists(st.sampled_from(WORDS + SIGNS), max_size=40))
def test_rates_by_type_are_those_of_going_through_the_tokens(parts: list[str]) -> None:
    text = " ".join(parts)
    tokens = Tokenizer().tokens(text)
    lexicon = ProseLexicon(("a", "it", "the"), (" th", "he ", "the", " it", "it "))
    rates = dict(zip(RATES, prose_rates(text, tokens, lexicon).tolist(), strict=True))
    for name, expected in slow_rates(text, tokens, lexicon).items():
        assert rates[name] == expected, name


def test_types_beyond_what_is_remembered_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_CHARACTERS", 10)
    lexicon = ProseLexicon(("the",), (" th",))
    tokens = ["The", "cat", "saw", "the", "other", "cats", "."]
    first = prose_rates("", tokens, lexicon)
    for _ in range(3):
        np.testing.assert_array_equal(prose_rates("", tokens, lexicon), first)


def test_without_a_language_words_and_letters_say_nothing_and_all_punctuation_is_known() -> None:
    nothing = ProseLexicon.of_no_language()
    told = rates("「雨、か。」 Ναι· πού; «Ça va ؟»", nothing)
    for rate in ("common_words", "odd_spelling", "other_letters", "capital_common_words"):
        assert told[rate] == 0
    assert told["symbols"] == 0
    assert told["odd_words"] == 0
    assert rates("माँ आई। सब हँसे।", nothing)["sentence_ends"] == pytest.approx(2 / 6)
