"""Reading the texts that packages carry: pages, modules of SWORD; texts joined, works cut."""

from __future__ import annotations

import html
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

SHORTEST = 400  # words of a text
LONGEST = 2_000
_EXCERPT = 700  # words of an excerpt, at least
_FEWEST_WORDS = 20  # of a paragraph of running text
_ENDS = re.compile(r"""[.!?][”"')]*$""")
_NO_PROSE = re.compile(r"https?:|::|[<>{}→]")


def words(text: str) -> int:
    """How many there are in a text."""
    return len(text.split())


def joined(texts: Iterable[str], shortest: int = SHORTEST) -> Iterator[str]:
    """Texts in a row, so many that each has enough words."""
    parts: list[str] = []
    for text in texts:
        parts.append(" ".join(text.split()[:LONGEST]) if words(text) > LONGEST else text)
        if sum(map(words, parts)) >= shortest:
            yield "\n\n".join(parts)
            parts = []


def excerpts(paragraphs: Iterable[str], count: int, between: str = "\n\n") -> Iterator[str]:
    """At most so many excerpts of whole paragraphs, spread over a work, never two in a row."""
    pieces: list[str] = []
    parts: list[str] = []
    for paragraph in paragraphs:
        parts.append(paragraph)
        if sum(map(words, parts)) >= _EXCERPT:
            pieces.append(between.join(parts))
            parts = []
    if sum(map(words, parts)) >= SHORTEST:
        pieces.append(between.join(parts))
    usable = [piece for piece in pieces[::2] if words(piece) <= LONGEST]
    step = max(1, -(-len(usable) // count))
    yield from usable[::step][:count]


def plain(markup: str) -> str:
    """What a piece of HTML or XML says."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def paragraphs_of(page: str, opening: str = r"<p\b[^>]*>", closing: str = "</p>") -> Iterator[str]:
    """Paragraphs of running text of a page: not headings, lists, tables, code or links alone."""
    page = re.sub(r"(?s)<(pre|table|script|style|ul|ol|dl)\b.*?</\1>|<!--.*?-->", " ", page)
    for paragraph in re.findall(rf"(?s){opening}(.*?)(?={closing}|{opening})", page):
        text = re.sub(r"\s*\[\d+\]\s*", " ", plain(paragraph)).strip()
        if words(text) >= _FEWEST_WORDS and _ENDS.search(text) and not _NO_PROSE.search(text):
            yield text


def sword(folder: Path, wide: bool = False) -> Iterator[str]:
    """The entries of a module of the SWORD project, with their marks, in order.

    Entries are packed in blocks. One file says where each entry lies (block, beginning, length),
    another where each block does.
    """
    place = struct.Struct("<III" if wide else "<IIH")
    for index in sorted(folder.glob("*.?zs"), key=lambda path: path.name, reverse=True):
        blocks = list(struct.iter_unpack("<III", index.read_bytes()))
        data = index.with_suffix(index.suffix[:-1] + "z").read_bytes()
        entries = index.with_suffix(index.suffix[:-1] + "v").read_bytes()
        number, unpacked = -1, b""
        # A range of verses has one entry, which all of them lead to.
        for block, begin, length in dict.fromkeys(place.iter_unpack(entries)):
            if not length or block >= len(blocks):
                continue
            if block != number:
                at, packed, _ = blocks[block]
                number, unpacked = block, zlib.decompress(data[at : at + packed])
            yield unpacked[begin : begin + length].decode("utf-8", "replace")
