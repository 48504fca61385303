r"""A heat map as a LaTeX document: \colorbox around each token, as in the paper's figure.

It runs through pdfLaTeX, XeLaTeX and LuaLaTeX. What pdfLaTeX's fonts lack is shown there by its
number; nothing of the user's text is read as a command, and no two letters become a third.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from adhominem.explain.explanation import ExplainedText, Explanation
from adhominem.harmless import harmless
from adhominem.render import layout, summary
from adhominem.render.templates import asset

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    # In LaTeX two of these in a row are a dash or a quotation mark, and a single one is another.
    "-": "-{}",
    ",": ",{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedbl{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{MINUS SIGN}": r"\textminus{}",
}
_KNOWN = frozenset(  # to pdfLaTeX's fonts, beside ASCII
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"
    "ĂăĄąĆćČčĎďĐđĘęĚěĞğİıŁłŃńŇňŐőŒœŘřŚśŞşŠšŤťŮůŰűŸŹźŻżŽž"
    "¡¿§°£«»©®–—‘’‚“”„†‡•…€™"
)
_CHUNK = 24  # letters: a longer token may be broken there, or it would leave the page
_SPACES = re.compile(r"\s+")
_EMPTY_LINES = re.compile(r"\n\s+")  # which would end a paragraph


def latex_heat_map(explanation: Explanation) -> str:
    """A whole document, with the number, all texts, and how to read them."""
    strongest = layout.strongest_passage(explanation)
    verification = explanation.verification
    texts = "\n\n".join(_text(text, strongest) for text in explanation.texts)
    return f"""{asset("preamble.tex")}{_colours()}
\\begin{{document}}
\\section*{{{_line(summary.title(verification))}}}
log10 Bayes factor \\textbf{{{_line(summary.signed(verification.log10_bayes_factor))}}}.
{_line(verification.verbal)}

{_line(summary.NOT_A_VERDICT)} {_line(summary.probability(verification))}

{texts}

\\bigskip
{{\\footnotesize {_line(summary.caption(explanation))}
Model {_line(verification.model)}, AdHominem {_line(verification.version)}.\\par}}
\\end{{document}}
"""


def _escaped(text: str) -> str:
    """Characters that LaTeX shows as they are."""
    return "".join(map(_escaped_letter, harmless(text)))


def _escaped_letter(letter: str) -> str:
    if letter in _ESCAPED:
        return _ESCAPED[letter]
    if letter in _KNOWN or letter.isascii():
        return letter
    return f"\\other{{{letter}}}{{{ord(letter):04X}}}"


def _line(text: str) -> str:
    return " ".join(map(_escaped, text.split()))


def _colours() -> str:
    named = {f"w{level}": colour for level, colour in enumerate(layout.PASSAGE_COLOURS)}
    named |= {f"t{level}": colour for level, colour in enumerate(layout.TOKEN_COLOURS)}
    named |= {f"same{level}": colour for level, colour in enumerate(layout.SAME_COLOURS, 1)}
    named |= {f"diff{level}": colour for level, colour in enumerate(layout.DIFFERENT_COLOURS, 1)}
    return "\n".join(
        f"\\definecolor{{{name}}}{{HTML}}{{{colour[1:].upper()}}}" for name, colour in named.items()
    )


def _text(text: ExplainedText, strongest: float) -> str:
    levels = layout.passage_levels(text, strongest)
    parts = [f"\\subsection*{{{_line(text.name)} ({_line(text.side)} side)}}\n"]
    for number, group in groupby(layout.pieces(text), key=lambda piece: piece.passage):
        colour, tokens = "", (0,)
        if number is not None:
            attention, tokens = levels[number].attention, levels[number].tokens
            side = layout.contribution_class(levels[number].contribution)
            bar = (side or "white") if attention is None else f"w{attention}"
            colour = side if attention is None else ""
            amount = _line(summary.contributed(text.passages[number].contribution))
            parts.append(f"\\par\\passage{{{bar}}}{{{amount}}}%\n")
        for piece in group:
            shown = text.text[piece.start : piece.end]
            level = 0 if piece.token is None else tokens[piece.token]
            parts += _boxed(shown, f"t{level}" if level else colour)
    return _EMPTY_LINES.sub("\n", "".join(parts))


def _boxed(text: str, colour: str) -> Iterator[str]:
    """Words in boxes, with the white space and the line ends between them."""
    for at, row in enumerate(harmless(text).split("\n")):
        if at:
            yield "\\lineend\n"
        for order, word in enumerate(_SPACES.split(row)):
            if order:
                yield "\n"  # which is a space; TeX does not read lines of any length
            for start in range(0, len(word), _CHUNK):
                chunk = _escaped(word[start : start + _CHUNK])
                if start:
                    yield "\\allowbreak{}"
                yield f"\\token{{{colour}}}{{{chunk}}}" if colour else chunk
