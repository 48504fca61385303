"""No text takes longer than one of its length may: patterns that regular expressions, sorting and
tables stumble over, at a length and at several times that length.

What is linear takes eight times as long for eight times the text; what grows with the square of
the length takes sixty-four times as long. Judged is the processor's time, so that other programs
on the machine do not matter.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import adhominem
from adhominem import Verifier
from adhominem.errors import TokenizerError
from adhominem.text.files import Document
from adhominem.text.tokenizer import Lexicon, Tokenizer

if TYPE_CHECKING:
    from attack.conftest import Attack

TIMES = 8  # as long
MOST = 24  # times the time: between what is linear (8) and what is not (64)
NOTICEABLE = 0.15  # seconds; anything is faster by chance below that


@dataclass(frozen=True)
class Pattern:
    """A piece again and again, with something before it and something behind it."""

    piece: str
    before: str = ""
    behind: str = ""

    def text(self, length: int) -> str:
        return self.before + self.piece * max(1, length // len(self.piece)) + self.behind


SKIN, WOMAN, FLAG = "\U0001f3fd", "\U0001f469", "\U0001f3f4"
PATTERNS = {
    # marks
    "acute and grave below, in turn": Pattern("\u0301\u0316", "a"),
    "one mark": Pattern("\u0301", "a"),
    "marks without a letter": Pattern("\u0316\u0301"),
    "marks on a sign": Pattern("\u0301\u0316", "!"),
    "marks of three classes": Pattern("\u0301\u0316\u0338", "a"),
    "marks that are taken apart": Pattern("\u0344\u0f73", "a"),
    "Tibetan vowels, taken apart": Pattern("\u0f73"),
    "thirty marks a letter": Pattern("a" + "\u0301\u0316" * 15),
    "forty marks a letter": Pattern("a" + "\u0301\u0316" * 20),
    "a letter and two marks": Pattern("e\u0323\u0302"),
    "marks with joiners": Pattern("\u0301\u034f\u0316", "a"),
    "marks and zero-width spaces": Pattern("\u0301\u200b\u0316", "a"),
    "variation selectors": Pattern("\ufe0f", "a"),
    "spacing marks": Pattern("\u09c7\u09be", "\u0995"),
    "Hebrew points": Pattern("\u05b0\u05bc\u05c1", "\u05d0"),
    "astral marks": Pattern("\U0001d165\U0001d16d", "a"),
    "enclosing marks": Pattern("\u20dd\u20e3", "1"),
    "letters with marks, composed": Pattern("\u1ed9\u0301"),
    # full stops, dashes and other runs
    "full stops": Pattern("."),
    "spaced full stops": Pattern(". "),
    "two spaced full stops": Pattern(". . x"),
    "ellipsis signs": Pattern("\u2026"),
    "hyphens": Pattern("-"),
    "dashes": Pattern("\u2014\u2013"),
    "dashes between digits": Pattern("1\u2013"),
    "figure dashes": Pattern("\u2012\u2013", "1", "1"),
    "hyphenated letters": Pattern("a-"),
    "exclamation and question": Pattern("!?"),
    "a sign and a hyphen": Pattern("!-"),
    "tildes": Pattern("~"),
    "a run, then another": Pattern("~~--"),
    "equals and colons": Pattern("=:"),
    # brackets and quotes
    "opening brackets": Pattern("("),
    "brackets of all kinds": Pattern("([{<"),
    "closed brackets": Pattern("[](){}"),
    "quotes": Pattern('"'),
    "curly quotes": Pattern("\u201c\u2019"),
    "apostrophes": Pattern("'"),
    "apostrophes in a word": Pattern("'b", "a"),
    "apostrophes behind a word": Pattern("a' "),
    "curly apostrophes": Pattern("\u2019", "a", "s"),
    "backticks": Pattern("`"),
    "guillemets": Pattern("\u00ab\u2039"),
    "short forms with apostrophes": Pattern("'tis"),
    # underscores and asterisks
    "a letter and underscores": Pattern("_", "o"),
    "underscores between letters": Pattern("_", "o", "o"),
    "a face that does not end": Pattern("_", "^"),
    "faces": Pattern("o_"),
    "faces that do not end": Pattern("^__"),
    "underscores and apostrophes": Pattern("_'", "a"),
    "underscores and hyphens": Pattern("_-"),
    "underscores and marks": Pattern("_\u0301", "a"),
    "asterisks": Pattern("*"),
    "emphasis never closed": Pattern("*a "),
    "emphasis never closed, far apart": Pattern("*" + "a " * 148),
    "emphasis, closed elsewhere": Pattern("***a b** "),
    "emphasis around signs": Pattern("!", "*", "*"),
    "emphasis around signs, often": Pattern("*" + "!" * 200),
    "underscored words never closed": Pattern(" _a"),
    "both kinds of emphasis": Pattern("*_a "),
    "faces as emphasis": Pattern("^_^ "),
    "bold, once": Pattern("word ", "**"),
    # links and addresses
    "a link": Pattern("a/", "http://"),
    "a link of signs": Pattern("!?", "http://"),
    "links": Pattern("http://"),
    "links cut short": Pattern("http://!<"),
    "links without a scheme": Pattern("www."),
    "links in brackets": Pattern("www.<"),
    "escaped characters": Pattern("%20", "https://x.org/"),
    "an address without an end": Pattern("b-", "1+" * 31 + "a@"),
    "an address of dots": Pattern(".b", "a@b"),
    "addresses": Pattern("a@b.c,"),
    "at signs": Pattern("a@"),
    "dots and at signs": Pattern("a.@b."),
    "long names of addresses": Pattern("a+" * 32 + "@"),
    # what cannot be seen
    "zero-width spaces": Pattern("\u200b"),
    "zero-width spaces in words": Pattern("a\u200b"),
    "zero-width joiners": Pattern("\u200d"),
    "directions": Pattern("\u202ea\u202c"),
    "soft hyphens": Pattern("\u00ad"),
    "soft hyphens at line ends": Pattern("a\u00ad\n"),
    "control characters": Pattern("\x01\x7f"),
    "NUL": Pattern("\x00"),
    "byte order marks": Pattern("\ufeffa"),
    "tags": Pattern("\U000e0067\U000e0062", FLAG),
    # lines and spaces
    "wrapped lines": Pattern("word " * 12 + "\n"),
    "narrow lines": Pattern("ab\n"),
    "lines of 40": Pattern("a" * 40 + "\n"),
    "lines of 120": Pattern("a" * 59 + " " + "b" * 60 + "\n"),
    "lines broken at hyphens": Pattern("a" * 60 + "-\n"),
    **{f"lines of {width}": Pattern("ab " * (width // 3) + "\n") for width in range(45, 120, 15)},
    "wide lines": Pattern("word " * 60 + "\n"),
    "line ends": Pattern("\n"),
    "carriage returns": Pattern("\r"),
    "both line ends": Pattern("\r\n\r"),
    "line separators": Pattern("\u2028\u0085"),
    "spaces": Pattern(" ", "a", "b"),
    "unusual spaces": Pattern("\u00a0\u2003\t"),
    "white space that is none to the rules": Pattern("a\x1c\x1f"),
    # letters and digits
    "one letter": Pattern("a"),
    "two letters": Pattern("ab"),
    "capitals": Pattern("AB"),
    "digits": Pattern("12"),
    "one digit": Pattern("1"),
    "digits with separators": Pattern("1,"),
    "digits with all separators": Pattern("1.2,3:"),
    "digits that go on as a word": Pattern("1", "", "a"),
    "initials": Pattern("A."),
    "initials with spaces": Pattern("A. "),
    "lower case initials": Pattern("a.b."),
    "initials that are none": Pattern("a.b.", "", "cd"),
    "abbreviations": Pattern("Mr."),
    "abbreviations and dots": Pattern("Mr..."),
    "three letters of a link": Pattern("w"),
    "other digits": Pattern("\u0967.\u0968"),
    # scripts
    "Hangul syllables": Pattern("\ud55c"),
    "Hangul jamo": Pattern("\u1112\u1161\u11ab"),
    "Hangul vowels": Pattern("\u1161", "\u1112"),
    "Hangul finals": Pattern("\u11a8", "\uac00"),
    "Han": Pattern("\u6f22\u5b57"),
    "Devanagari": Pattern("\u0939\u093f\u0928\u094d\u0926\u0940"),
    "Cyrillic, taken apart": Pattern("\u0418\u0306"),
    "scripts in turn": Pattern("a\u0431\u05d2\u0939\u6f22"),
    "astral letters": Pattern("\U0001d400\U00010400"),
    "ligatures and signs": Pattern("\ufb01\u212b\u037e"),
    "private use": Pattern("\ue000\uffff"),
    # pictures
    "pictures": Pattern("\U0001f602"),
    "pictures of two kinds": Pattern("\U0001f602\U0001f44d"),
    "skin tones": Pattern(SKIN, "\U0001f44d"),
    "one skin tone, then another": Pattern("\U0001f3fb", "", SKIN),
    "pictures with skin tones": Pattern("\U0001f44d" + SKIN),
    "joined pictures": Pattern(WOMAN + "\u200d"),
    "joiners without pictures": Pattern("\u200d\u200d", WOMAN),
    "hearts, then one that is joined": Pattern("\u2764", "", "\u200d\U0001f525"),
    "one flag": Pattern("\U0001f1e9\U0001f1ea"),
    "regional indicators": Pattern("\U0001f1e9"),
    "keycaps": Pattern("1\ufe0f\u20e3"),
    # words and faces
    "smileys": Pattern(":-)"),
    "a smile that does not end": Pattern(")", ":"),
    "eyes": Pattern(":;"),
    "hearts": Pattern("<3"),
    "arrows": Pattern("<>"),
    "one word": Pattern("word "),
}
assert len(PATTERNS) >= 75


def seconds(work: Callable[[str], object], text: str, repeats: int) -> float:
    """The best of some times."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time()
        work(text)
        best = min(best, time.process_time() - begin)
    return best


def is_slow(work: Callable[[str], object], text_of: Callable[[int], str], length: int) -> bool:
    """Whether the time grows faster than the text, each time that it is looked at."""
    short, long = text_of(length), text_of(TIMES * length)
    for repeats in (1, 2, 3):
        taken = seconds(work, long, repeats)
        if taken < NOTICEABLE or taken < MOST * seconds(work, short, 3 * repeats):
            return False
    return True


def fresh_tokens(text: str) -> object:
    tokenizer._lexicon = Lexicon()  # nothing remembered
    return tokenizer.tokens(text)


def fresh_spans(text: str) -> object:
    tokenizer._lexicon = Lexicon()
    return tokenizer.tokenize(text)


tokenizer = Tokenizer()
WAYS = {"tokens": fresh_tokens, "spans": fresh_spans}


@pytest.fixture(autouse=True)
def without_garbage_collection() -> Iterator[None]:
    """It looks at everything that other tests left, and would be counted."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("way", WAYS)
def test_no_pattern_takes_more_than_its_length_to_tokenize(way: str, attack: Attack) -> None:
    length = attack.rounds(4_000, 40_000)
    slow = [name for name, one in PATTERNS.items() if is_slow(WAYS[way], one.text, length)]
    attack.tried("patterns", len(PATTERNS))
    assert not slow


def mixed(chosen: list[Pattern], rng: random.Random) -> Callable[[int], str]:
    """Several patterns, one after another or piece by piece, as a pattern of its own."""
    if rng.random() < 0.5:
        together = Pattern(
            "".join(pattern.before + pattern.piece for pattern in chosen), behind=chosen[0].behind
        )
        return together.text
    space = rng.choice(["", "", " ", "\n"])
    return lambda length: space.join(pattern.text(length // len(chosen)) for pattern in chosen)


def test_no_mixture_of_patterns_does(attack: Attack) -> None:
    rng = random.Random(14)
    rounds, length = attack.rounds(40, 400), attack.rounds(3_000, 6_000)
    for _ in range(rounds):
        names = rng.sample(sorted(PATTERNS), rng.choice([2, 2, 2, 3, 5]))
        text_of = mixed([PATTERNS[name] for name in names], rng)
        assert not is_slow(fresh_tokens, text_of, length), names
        assert not is_slow(fresh_spans, text_of, length), names
    attack.tried("patterns", rounds)


ENCODED = {
    "one token": lambda n: "ab" * (n // 2),
    "a token of one letter": lambda n: "a" * n,
    "different tokens": lambda n: " ".join(f"{at:x}q" for at in range(n // 6)),
    "long different tokens": lambda n: " ".join(f"{at:060x}q" for at in range(n // 62)),
    "tokens of one sign": lambda n: "(" * n,
    "one link": lambda n: "http://" + "a/" * (n // 2),
    "marks": lambda n: "a" + "\u0301\u0316" * (n // 2),
    "different letters": lambda n: "".join(chr(0x4E00 + at % 20_000) + "." for at in range(n // 2)),
    "wrapped lines": lambda n: ("word " * 12 + "\n") * (n // 61),
}


def test_no_pattern_takes_more_than_its_length_to_encode(attack: Attack) -> None:
    verifier: Verifier = adhominem.load()

    def encode(text: str) -> object:
        return verifier.encode([Document(text=text)])

    encode("To begin with.")
    length = attack.rounds(6_000, 100_000)
    slow = [name for name, text_of in ENCODED.items() if is_slow(encode, text_of, length)]
    attack.tried("patterns", len(ENCODED))
    assert not slow


# Each with a length at which it once took a minute, or made the tokenizer's library give up.
HUGE = {
    "underscores": (Pattern("_", "o"), 3_400_000),
    "a face": (Pattern("_", "^", "^"), 3_400_000),
    "marks": (Pattern("\u0301\u0316", "a"), 300_000),
    "skin tones": (Pattern("\U0001f3fb", "", SKIN), 400_000),
    "brackets": (Pattern("("), 400_000),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_text_of_one_pattern_loses_nothing(name: str, attack: Attack) -> None:
    pattern, length = HUGE[name]
    text = pattern.text(attack.rounds(length, 4_000_000))
    kept = Tokenizer().tokens(text)
    attack.tried("patterns")
    assert sum(map(len, kept)) == len(Tokenizer().normaliser(text))


def test_what_the_library_gives_up_on_is_an_error_about_the_text(attack: Attack) -> None:
    """It goes back ten million times at most: through all signs behind a link, in search of a
    letter."""
    if not attack.long:
        pytest.skip("takes a gigabyte of memory: in the long attack")
    shared = Tokenizer()
    with pytest.raises(TokenizerError, match=r"white space"):
        shared.tokens("http://" + "!?" * 5_100_000)
    assert shared.tokens("It goes on.") == ["It", "goes", "on", "."]
    attack.tried("patterns")
