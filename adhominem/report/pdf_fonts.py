"""The letters of a PDF: matplotlib's DejaVu, which has those of most alphabets."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import matplotlib
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

from adhominem.harmless import harmless

SANS, BOLD, MONO = "DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"


@cache
def register_fonts() -> frozenset[int]:
    """Make them known to reportlab; the letters that all of them have."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    fonts = [TTFont(name, folder / f"{name}.ttf") for name in (SANS, BOLD, MONO)]
    for font in fonts:
        pdfmetrics.registerFont(font)
    return frozenset.intersection(*(frozenset(font.face.charToGlyph) for font in fonts))


def readable(text: str) -> str:
    """The same text; a letter that the fonts lack is named by its number, so that none is lost."""
    letters = register_fonts()
    return "".join(
        letter if letter == "\n" or ord(letter) in letters else f"[U+{ord(letter):04X}]"
        for letter in harmless(text)
    )


def width(text: str, size: float, font: str = SANS) -> float:
    """In points."""
    return float(pdfmetrics.stringWidth(text, font, size))
