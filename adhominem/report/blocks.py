"""What a report is made of, whatever it is shown on: sections of paragraphs, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass

from adhominem.explain.explanation import Explanation
from adhominem.report.tippett import Drawing


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; `style` is number, verbal, strong, note, or nothing special."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class Bullets:
    """A list; under a title it is set off, so that nobody misses it."""

    items: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True)
class Facts:
    """Names and what they are; `code` are those that are hashes or commands."""

    rows: tuple[tuple[str, str], ...]
    code: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Table:
    """Rows of cells; those from `numbers_from` on are numbers. `shares` are widths on paper."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers_from: int
    shares: tuple[float, ...]
    notes: tuple[str, ...] = ()  # a hash for each row, in small print


@dataclass(frozen=True)
class Figure:
    """A drawing and how to read it."""

    drawing: Drawing
    caption: str


@dataclass(frozen=True)
class Texts:
    """The texts with their heat maps, and the n-grams."""

    explanation: Explanation


Block = Paragraph | Bullets | Facts | Table | Figure | Texts


@dataclass(frozen=True)
class Section:
    """A section; `name` is what it is linked by."""

    name: str
    title: str
    blocks: tuple[Block, ...]
