"""The tokenizer keeps what authors differ in, and knows where each token stood."""

from __future__ import annotations

import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich_texts import INVISIBLE, characters, rich_texts
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from adhominem.errors import TokenizerError
from adhominem.text.normalisation import Normaliser
from adhominem.text.tokenizer import TOKEN_PATTERN, Tokenizer

tokenizer = Tokenizer()
verbatim = Tokenizer(Normaliser(()))
SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
REMOVED = {*INVISIBLE, "*", "_"}  # by normalisation, among the pieces of rich_texts


@pytest.mark.parametrize(
    "tokens",
    [
        # words and their apostrophes
        "I don't think y'all'd've said o'clock",
        "rock'n'roll 'tis 'Twas 'em 'cause",
        "the dogs ' bone",
        "snake_case x2 3rd café naïve 한국 हिन्दी Й",
        # full stops: of short forms, of sentences
        "Mr. Smith met Dr. Jones etc. and left .",
        "Mr ... and U.S ... and etc ...",
        "the U.S. army , at 5 p.m. , e.g. here , i.e that U.S.A",
        "J. R. R. Tolkien and I .",
        "It ended . And so did he .",
        # numbers
        "1,234.56 at 9:30 or 3.14 , 100 .",
        # signs, alone and in runs
        "wow !!! what ?! well ... so -- no --- *** ~~~ .. $$",
        "( ( a ) ) [ b ] { c } \" d \" ' e '",
        "f ** k **** 50 % & # 1",
        # links and addresses
        "see http://a.org/b_c?d=e&f=%20#g , or ( www.foo.org/ ) .",
        "mail john.o-brien+x@mail.example.co.uk , not a @ b",
        # faces
        ":-) ;) =P :'( :( :D :-/ <3 </3 ^_^ o_O >_<",
        "this : Dog ; note : ( no )",
        # emoji: skin tones, joined ones, flags, keycaps, runs
        "👍🏽 👩‍👩‍👧 ❤️‍🔥 🏃🏽‍♀️ 🇩🇪 🇫🇷 1️⃣ ☀️ 😂😂😂 👍 👍🏽",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f !",
    ],
)
def test_each_of_these_is_one_token(tokens: str) -> None:
    assert tokenizer.tokens(tokens) == tokens.split()
    assert tokenizer.tokenize(tokens).tokens == tokens.split()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Well, no.", "Well , no ."),
        ('"Stop!" he said.', '" Stop ! " he said .'),
        ("Really?! Yes!!!", "Really ?! Yes !!!"),
        ("so--that is...well", "so -- that is ... well"),
        ("(Mr. X's)", "( Mr. X's )"),
        ("the dogs' bone", "the dogs ' bone"),
        ("'quoted'", "' quoted '"),
        ("$5.00, 50%", "$ 5.00 , 50 %"),
        ("well-known", "well - known"),
        ("at 9:30, 1,234.", "at 9:30 , 1,234 ."),
        ("see http://a.org/b.", "see http://a.org/b ."),
        ("(www.foo.org),", "( www.foo.org ) ,"),
        ("<me@x.org>", "< me@x.org >"),
        ("nice:-)", "nice : - )"),
        ("U.S... and U.S…", "U.S ... and U.S ..."),
        ("🇩🇪🇫🇷👍👍🏽", "🇩🇪 🇫🇷 👍 👍🏽"),
        # without spaces between words
        ("东京大学很好。", "东京 大学 很好 。"),
        ("彼はコーヒーを飲みながら", "彼 は コーヒー を 飲 みながら"),
        ("日本のcatです", "日本 の cat です"),
        ("ผมไม่รู้", "ผมไม่ รู้"),
        ("اَلْحَمْدُ لِلَّهِ", "اَلْحَمْدُ لِلَّهِ"),
        ("_so_ **it** is", "so it is"),
        ("", ""),
        (" \n\t\x1c\x1f\x85\u3000", ""),
    ],
)
def test_texts_are_cut_where_a_reader_would(text: str, tokens: str) -> None:
    assert tokenizer.tokens(text) == tokens.split()
    assert tokenizer.tokenize(text).tokens == tokens.split()


def test_case_is_kept() -> None:
    assert tokenizer.tokens("NO No no") == ["NO", "No", "no"]


def test_a_span_covers_the_apostrophe_that_the_author_typed() -> None:
    text = "I don’t…"
    tokenized = tokenizer.tokenize(text)
    assert tokenized.tokens == ["I", "don't", "..."]
    assert [text[start:end] for start, end in tokenized.spans] == ["I", "don’t", "…"]


def test_a_span_covers_the_word_and_not_its_italics_marks() -> None:
    text = "a _wo\u00adrd_, cafe\u0301"
    tokenized = tokenizer.tokenize(text)
    assert tokenized.tokens == ["a", "word", ",", "café"]
    assert [text[a:b] for a, b in tokenized.spans] == ["a", "wo\u00adrd", ",", "cafe\u0301"]


def test_spans_have_two_columns_even_without_tokens() -> None:
    spans = tokenizer.tokenize("").spans
    assert (spans.shape, spans.dtype.name) == ((0, 2), "int64")


@settings(max_examples=300)
@given(rich_texts)
def test_the_fast_way_and_the_one_with_spans_give_the_same_tokens(text: str) -> None:
    assert tokenizer.tokens(text) == tokenizer.tokenize(text).tokens
    assert verbatim.tokens(text) == verbatim.tokenize(text).tokens


@settings(max_examples=300)
@given(rich_texts)
def test_tokens_are_the_normalised_text_without_its_white_space(text: str) -> None:
    tokens = tokenizer.tokens(text)
    assert "".join(tokens) == "".join(tokenizer.normaliser(text).split())
    assert not any(character.isspace() for token in tokens for character in token)
    assert all(tokens)


@settings(max_examples=300)
@given(rich_texts)
def test_outside_the_spans_stands_only_white_space_without_normalisation(text: str) -> None:
    tokenized = verbatim.tokenize(text)
    assert [text[start:end] for start, end in tokenized.spans] == tokenized.tokens
    assert not "".join(_outside(text, tokenized.spans.tolist())).split()


@settings(max_examples=500)
@given(rich_texts)
def test_outside_the_spans_stands_only_what_normalisation_removed(text: str) -> None:
    outside = "".join(_outside(text, tokenizer.tokenize(text).spans.tolist()))
    removed = {character for character in outside if not character.isspace()}
    assert all(character in REMOVED or not tokenizer.normaliser(character) for character in removed)


def _outside(text: str, spans: list[list[int]]) -> list[str]:
    """The stretches between the spans, which come in order and do not overlap."""
    outside = []
    last = 0
    for start, end in spans:
        assert last <= start < end <= len(text)
        outside.append(text[last:start])
        last = end
    return [*outside, text[last:]]


@given(rich_texts)
def test_a_chunk_splits_the_same_way_wherever_it_stands(text: str) -> None:
    # The slow, obvious version: the rules on the whole text. Only what is white space is settled
    # before: the rules' library does not count \x1c to \x1f.
    spaced = "".join(" " if c.isspace() else c for c in tokenizer.normaliser(text))
    split = Split(Regex(TOKEN_PATTERN), behavior="removed", invert=True)
    assert tokenizer.tokens(text) == [token for token, _ in split.pre_tokenize_str(spaced)]


@pytest.mark.parametrize("space", SPACES, ids=ascii)
def test_whatever_python_calls_white_space_ends_a_token(space: str) -> None:
    text = f"one{space}two.{space}{space}three"
    for one in (tokenizer, verbatim):
        assert one.tokens(text) == ["one", "two", ".", "three"]
        assert one.tokenize(text).spans.tolist() == [[0, 3], [4, 7], [7, 8], [10, 15]]


def test_no_character_of_the_basic_plane_is_lost_or_moved() -> None:
    codes = [code for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    text = "".join(f"{chr(code)} x{chr(code)}y\n" for code in codes)
    tokenized = verbatim.tokenize(text)
    assert verbatim.tokens(text) == tokenized.tokens
    assert [text[start:end] for start, end in tokenized.spans] == tokenized.tokens
    assert "".join(tokenized.tokens) == "".join(text.split())


@given(st.lists(rich_texts, max_size=5))
def test_forgetting_changes_no_result(texts: list[str]) -> None:
    forgetful = Tokenizer()
    forgetful._MOST_CHARACTERS = 9  # type: ignore[misc]
    for text in texts:
        assert forgetful.tokens(text) == tokenizer.tokens(text)
        assert forgetful.tokenize(text).tokens == tokenizer.tokens(text)


def test_threads_can_share_a_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tokenizer, "_MOST_CHARACTERS", 60)
    shared = Tokenizer()
    texts = [" ".join(f"{word}{number}." for word in "abcdefgh") for number in range(300)]
    expected = [[f"{word}{n}" for word in "abcdefgh"] for n in range(300)]
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            results = list(threads.map(shared.tokens, texts))
    finally:
        sys.setswitchinterval(switching)
    assert [tokens[::2] for tokens in results] == expected


@pytest.mark.parametrize("piece", ["a-", "ab.", "a+", "ha-", "a_", "1.", "a@", "://a", "!?", "x'"])
def test_a_very_long_chunk_is_split_in_time_that_grows_with_its_length(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    # Seconds if it grew with the square; a fraction of one as it is. The suite would hang.
    assert "".join(tokenizer.tokens(text)) == text


# Runs of one character, with what any of the rules looks for beside or inside of them. None
# counts further than 64; runs are shortened to 128.
RUN_LENGTHS = [1, 2, 62, 63, 64, 65, 127, 128, 129, 130, 191, 192, 300]
RUN_OF = [*"oOT^><_.-+@'’\"()[]{}|/\\*3:;=DPaAw1,~!?\u200d\u0301\ufe0f🏽🏻🇩❤👩漢々ก한\u1161‿é"]
BESIDE = [*"oOT^><_.@'3:;=Ia1!\u200d\u0301🏽🏻🇩❤", "'tis", "Mr.", "http://", "www.", "x@y.z"]
runs = st.builds(str.__mul__, st.sampled_from(RUN_OF) | characters, st.sampled_from(RUN_LENGTHS))
run_texts = st.lists(runs | st.sampled_from(BESIDE), min_size=1, max_size=6).map("".join)


@settings(max_examples=300)
@given(run_texts)
def test_a_run_splits_the_same_way_however_long_it_is(text: str) -> None:
    spaced = "".join(" " if c.isspace() else c for c in text)
    split = Split(Regex(TOKEN_PATTERN), behavior="removed", invert=True)
    expected = split.pre_tokenize_str(spaced)
    tokenized = verbatim.tokenize(text)
    assert tokenized.tokens == verbatim.tokens(text) == [token for token, _ in expected]
    assert [(start, end) for start, end in tokenized.spans.tolist()] == [at for _, at in expected]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("o" + "_" * 3_400_000, ["o", "_" * 3_400_000]),
        ("^" + "_" * 3_400_000 + "^!", ["^" + "_" * 3_400_000 + "^", "!"]),
        ("(" * 300_000 + "a", ["("] * 300_000 + ["a"]),
        ("\u2764" * 300_000 + "\u200d\U0001f525", ["\u2764" * 299_999, "\u2764\u200d\U0001f525"]),
    ],
    ids=["underscores", "face", "brackets", "hearts"],
)
def test_runs_on_which_the_library_would_give_up(text: str, tokens: list[str]) -> None:
    assert verbatim.tokens(text) == tokens
    spans = verbatim.tokenize(text).spans
    assert (spans[:, 1] - spans[:, 0]).tolist() == [*map(len, tokens)]


class PanicException(BaseException):
    """As the library raises it: no `Exception`, and nowhere to be imported from."""


PanicException.__module__ = "pyo3_runtime"


class Raising:
    """In place of the library."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def pre_tokenize_str(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        raise self.error


@pytest.mark.parametrize("text", ["a secret.", "a secret" + "x" * 500])
def test_a_panic_of_the_library_is_an_error_about_the_text(text: str) -> None:
    panicking = Tokenizer()
    rules = panicking._split
    panicking._split = Raising(PanicException("byte 3 of 'secret'"))  # type: ignore[assignment]
    for work in (panicking.tokens, panicking.tokenize):
        with pytest.raises(TokenizerError, match=r"gives up .* white space") as caught:
            work(text)
        assert "secret" not in "".join(traceback.format_exception_only(caught.value))
        assert caught.value.__context__ is None
    panicking._split = rules
    assert panicking.tokens(text) == tokenizer.tokens(text)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), MemoryError(), ValueError()])
def test_whatever_else_is_raised_stays_what_it_is(error: BaseException) -> None:
    stopped = Tokenizer()
    stopped._split = Raising(error)  # type: ignore[assignment]
    with pytest.raises(type(error)):
        stopped.tokens("a text.")


def test_parted_contractions_are_tokens_with_their_place_in_the_text() -> None:
    tokenizer = Tokenizer(Normaliser(("contractions",)))
    text = "There's no 'tis; they’re, don't  'quoted'"
    found = tokenizer.tokenize(text)
    expected = [
        "There",
        "'s",
        "no",
        "'tis",
        ";",
        "they",
        "’re",
        ",",
        "do",
        "n't",
        "'",
        "quoted",
        "'",
    ]
    assert found.tokens == expected
    assert [text[begin:end] for begin, end in found.spans.tolist()] == expected
    assert Tokenizer().tokens("There's they’re") == ["There's", "they're"]
