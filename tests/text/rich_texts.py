"""Texts for property tests, made of the pieces that normalisation and tokens stumble over."""

from __future__ import annotations

from hypothesis import strategies as st

SPACES = [" ", " ", " ", "\n", "\n\n", "\r", "\r\n", "\t", "\x0b", "\x0c"]
SPACES += ["\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u00a0", "\u2003", "\u2028", "\u3000"]
INVISIBLE = ["\u00ad", "\u200b", "\u200c", "\u200d", "\u200e", "\u202a", "\u2060", "\ufeff"]
INVISIBLE += ["\u061c", "\u180e", "\u2064", "\u2069"]
WORDS = ["a", "E", "I", "the", "U.S", "Mr.", "etc.", "e.g.", "don't", "don’t", "'tis", "snake_case"]
WORDS += ["1", "23", "1,234.56", "9:30", "http://", "www.", "x@y.z", "o_O", "<3", ":-)", "^_^"]
SIGNS = [*".,:;-_*'\"`!?()[]{}<>^=~@/\\&#|", "**", "''", "``", "...", ". . .", ". .", "--", "!!!"]
SIGNS += [*"…“”‘’„‚«»‹›´′″—–‒―‐‑−⸺"]
# Accents before and after composition, characters that composition takes apart, and
# the ones that it turns into ASCII.
MARKS = ["\u0301", "\u0307", "\u0323", "\u0338", "e\u0301", "é", "И\u0306", "A\u030a", "\u212b"]
MARKS += ["\u2adc", "\u2add", "\u0344", "\u0958", "\U0001d15e", "\u1fef", "\u037e", "\u212a"]
MARKS += ["\u09c7\u09be", "\u09be"]
HANGUL = ["한", "\u1112\u1161\u11ab", "\u1112\u1161", "가\u11a8", "\u1161"]
EMOJI = [
    "😂",
    "👍",
    "👍🏽",
    "🏽",
    "❤",
    "❤️",
    "👩‍👧",
    "🇩",
    "🇩🇪",
    "1️⃣",
    "\ufe0f",
    "🏴\U000e0067\U000e007f",
]

pieces = st.sampled_from(SPACES) | st.sampled_from(
    INVISIBLE + WORDS + SIGNS + MARKS + HANGUL + EMOJI
)
# No half surrogates: no document may hold them (see test_document.py).
characters = st.characters(exclude_categories=["Cs"])
rich_texts = st.lists(pieces | characters, max_size=20).map("".join)
