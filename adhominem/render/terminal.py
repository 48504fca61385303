"""A heat map for the terminal: on white, as in print, whatever the terminal's own colours are.

Each passage begins with a blue bar for its attention and its contribution; tokens have red
backgrounds. Without colours, bars of different heights and brackets show the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from textwrap import wrap
from typing import Literal

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.style import Style

from adhominem.harmless import harmless
from adhominem.render import layout, summary
from adhominem.verify.explanation import ExplainedText, Explanation

Colours = Literal["truecolor", "256", "none"]

_BARS = " ▁▂▃▄▅▆▇██"  # by level
_BRACKETS = ((7, "[[", "]]"), (4, "[", "]"))  # from which level of a token on
_MARGIN = 10  # cells: bar, contribution, and a space after each
_NARROWEST = 24  # cells of text
_NGRAMS = 10  # that are listed


def terminal_colours(environment: Mapping[str, str], is_terminal: bool) -> Colours:
    """The colours that a terminal can show, according to its environment (see no-color.org)."""
    if environment.get("NO_COLOR") or not (is_terminal or environment.get("FORCE_COLOR")):
        return "none"
    term = environment.get("TERM", "").lower()
    if term == "dumb":
        return "none"
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith(
        "direct"
    ):
        return "truecolor"
    if environment.get("WT_SESSION"):  # Windows Terminal, which sets nothing else
        return "truecolor"
    return "256" if "256" in term else "none"


def terminal_heat_map(explanation: Explanation, colours: Colours, width: int) -> str:
    """All texts as heat maps, a legend, the strongest n-grams and, last, the result.

    Control characters in the texts are made harmless.
    """
    strongest = layout.strongest_passage(explanation)
    shown = []
    for text in explanation.texts:
        shown += [*wrap(f"{text.side} side: {_one_line(text.name)}", max(width, _NARROWEST)), ""]
        shown += [*_Map(text, colours, width, strongest).lines(), ""]
    shown += wrap(_legend(explanation, colours), max(width, _NARROWEST))
    shown += _ngrams(explanation)
    shown += _balance(explanation, max(width, _NARROWEST))
    shown += _result(explanation, max(width, _NARROWEST))
    return "\n".join(shown) + "\n"


class _Map:
    """Lays out and colours the lines of one text."""

    def __init__(self, text: ExplainedText, colours: Colours, width: int, strongest: float) -> None:
        self._text, self._colours = text, colours
        self._levels = layout.passage_levels(text, strongest)
        self._width = max(width - _MARGIN, _NARROWEST)

    def lines(self) -> Iterator[str]:
        dress = self._bracketed if self._colours == "none" else lambda piece, shown: shown
        for line in layout.lines(self._text, self._width, cell_len, dress):
            yield self._plain(line) if self._colours == "none" else self._coloured(line)

    def _bracketed(self, piece: layout.TextPiece, shown: str) -> str:
        if piece.passage is None or piece.token is None:
            return shown
        level = self._levels[piece.passage].tokens[piece.token]
        for lowest, left, right in _BRACKETS:
            if level >= lowest:
                return f"{left}{shown}{right}"
        return shown

    def _plain(self, line: layout.Line) -> str:
        bar = "  "
        if line.passage is not None and (level := self._levels[line.passage].attention) is not None:
            bar = _BARS[level] * 2
        return f"{bar} {self._contribution(line)} {line.text}".rstrip()

    def _coloured(self, line: layout.Line) -> str:
        bar = side = layout.PAPER
        levels: tuple[int, ...] = ()
        if line.passage is not None:
            passage = self._levels[line.passage]
            bar, levels = passage.bar, passage.tokens
            side = layout.contribution_colour(passage.contribution)
        cells = [
            ("  ", bar),
            (" ", layout.PAPER),
            (self._contribution(line), side if line.begins else layout.PAPER),
            (" ", layout.PAPER),
        ]
        cells += [
            (
                run.text,
                layout.PAPER if run.token is None else layout.TOKEN_COLOURS[levels[run.token]],
            )
            for run in line.runs
        ]
        cells.append((" " * max(0, self._width - cell_len(line.text)), layout.PAPER))
        return "".join(
            self._painted("".join(text for text, _ in same), colour)
            for colour, same in groupby(cells, key=lambda cell: cell[1])
        )

    def _painted(self, text: str, colour: str) -> str:
        if self._colours == "256":
            style = Style(
                color=Color.from_ansi(layout.OF_256[layout.INK]),
                bgcolor=Color.from_ansi(layout.OF_256[colour]),
            )
            return style.render(text, color_system=ColorSystem.EIGHT_BIT)
        return Style(color=layout.INK, bgcolor=colour).render(
            text, color_system=ColorSystem.TRUECOLOR
        )

    def _contribution(self, line: layout.Line) -> str:
        """The contribution of a passage, on the passage's first line."""
        if line.passage is None or not line.begins:
            return " " * 6
        return f"{summary.contributed(self._text.passages[line.passage].contribution):>6.6}"


def _legend(explanation: Explanation, colours: Colours) -> str:
    number = (
        "The number is what the passage contributes to the log10 Bayes factor, + for one author."
    )
    if not explanation.has_attention:
        return f"{summary.NO_ATTENTION} {number}"
    if colours == "none":
        signs = (
            "The higher the bar, the more attention the passage got; [tokens] got more than twice, "
            "[[tokens]] more than six times an even share of their passage's attention."
        )
    else:
        signs = "Blue: attention of a passage. Red: of a token within its passage."
    return f"{signs} {summary.NOT_WHY} {number}"


def _ngrams(explanation: Explanation) -> list[str]:
    if not explanation.ngrams:
        return []
    rows = [
        f"{summary.contributed(ngram.contribution):>7}  {_one_line(ngram.ngram)}  "
        f"({_one_line(summary.described(ngram))}; {ngram.first:,} : {ngram.second:,}; "
        f"{summary.rate(ngram.first_rate)} : {summary.rate(ngram.second_rate)}, "
        f"usual {summary.rate(ngram.usual_rate)})"
        for ngram in explanation.ngrams[:_NGRAMS]
    ]
    head = "N-grams that contribute most (how often, first : second side; for every 1,000 tokens):"
    return ["", head, *rows]


def _balance(explanation: Explanation, width: int) -> list[str]:
    rows = []
    for name, amount, said in summary.balance(explanation):
        shown = f"{amount:>7}  {name}{f': {_one_line(said)}' if said else ''}"
        rows += wrap(shown, width, subsequent_indent=" " * 9)
    return ["", "What the log10 Bayes factor is the sum of:", *rows]


def _result(explanation: Explanation, width: int) -> list[str]:
    verification = explanation.verification
    sentences = (
        f"log10 Bayes factor  {summary.signed(verification.log10_bayes_factor)}",
        verification.verbal,
        summary.NOT_A_VERDICT,
        summary.probability(verification),
        summary.background(verification),
    )
    return ["", *(line for text in sentences for line in wrap(_one_line(text), width))]


def _one_line(text: str) -> str:
    return harmless(text).replace("\n", "␤")
