"""A heat map for the terminal: on white, as in print, whatever the terminal's own colours are.

Each passage begins with a blue bar for its attention and its contribution; tokens have red
backgrounds. Without colours, bars of different heights and brackets show the same.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from textwrap import wrap
from typing import Literal

from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from adhominem.harmless import harmless
from adhominem.render import layout, summary
from adhominem.verify.explanation import Explanation

Colours = Literal["truecolor", "256", "none"]

_BARS = " ▁▂▃▄▅▆▇██"  # by level
_BRACKETS = ((7, "[[", "]]"), (4, "[", "]"))  # from which level of a token on
_MARGIN = 10  # cells: bar, contribution, and a space after each
_NARROWEST = 24  # cells of text
_NGRAMS = 10  # that are listed


def terminal_colours(environment: Mapping[str, str], is_terminal: bool) -> Colours:
    """The colours that a terminal can show, according to its environment (see no-color.org)."""
    # Windows Terminal sets nothing else; rich does not know terminals such as xterm-direct.
    if environment.get("WT_SESSION") or environment.get("TERM", "").endswith("direct"):
        environment = {"COLORTERM": "truecolor", **environment}
    forced = bool(is_terminal or environment.get("FORCE_COLOR"))
    console = Console(file=io.StringIO(), force_terminal=forced, _environ=environment)
    if console.no_color or console.is_dumb_terminal:
        return "none"
    known: dict[str | None, Colours] = {"truecolor": "truecolor", "256": "256"}
    return known.get(console.color_system, "none")


def terminal_heat_map(explanation: Explanation, colours: Colours, width: int) -> str:
    """All texts as heat maps, a legend, the strongest n-grams and, last, the result.

    The heat maps show windows if the explanation has them, and otherwise passages. Control
    characters in the texts are made harmless.
    """
    width = max(width, _NARROWEST)
    shown = []
    windows = list(layout.window_maps(explanation))
    passages = ((text, "", passages) for text, passages in layout.heat_maps(explanation))
    for text, network, lines in windows or passages:
        read = f", as {network} read it" if network else ""
        shown += [*wrap(f"{text.side} side: {_one_line(text.name + read)}", width), ""]
        shown += [_heat_map(lines, colours, width), ""]
    shown += wrap(_legend(explanation, colours, "window" if windows else "passage"), width)
    shown += _ngrams(explanation)
    shown += _balance(explanation, width)
    shown += _result(explanation, width)
    return "\n".join(shown) + "\n"


def _heat_map(passages: list[layout.ShownPassage], colours: Colours, width: int) -> str:
    """The passages of a text below each other, as wide as the terminal."""
    width = max(width, _MARGIN + _NARROWEST)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=2)
    table.add_column(width=6, no_wrap=True, justify="right")
    table.add_column(width=width - _MARGIN, overflow="fold")
    for passage in passages:
        table.add_row(*_row(passage, colours), style=_on(layout.PAPER, colours))
    written = io.StringIO()
    console = Console(
        file=written,
        width=width,
        color_system=None if colours == "none" else colours,
        force_terminal=colours != "none",
        legacy_windows=False,
        _environ={},
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in written.getvalue().split("\n")[:-1])


def _row(passage: layout.ShownPassage, colours: Colours) -> tuple[Text, Text, Text]:
    """The bar, the contribution and the letters of a passage."""
    letters, levels = Text(), passage.levels
    for shown, level in passage.runs:
        if colours == "none":
            before, after = next((pair for lowest, *pair in _BRACKETS if level >= lowest), ("", ""))
            letters.append(f"{before}{shown}{after}")
        else:
            letters.append(shown, _on(layout.TOKEN_COLOURS[level], colours) if level else None)
    if levels is None:
        return Text(), Text(), letters
    bar, amount = Text("  "), Text(passage.amount[:6])
    if colours != "none":
        bar.stylize(_on(levels.bar, colours))
        amount.stylize(_on(layout.contribution_colour(levels.contribution), colours))
    elif levels.attention is not None:
        bar = Text(_BARS[levels.attention] * 2)
    return bar, amount, letters


def _on(colour: str, colours: Colours) -> Style:
    """Ink on a colour."""
    if colours == "256":
        numbers = layout.OF_256[layout.INK], layout.OF_256[colour]
        ink, paper = map(Color.from_ansi, numbers)
        return Style(color=ink, bgcolor=paper)
    return Style(color=layout.INK, bgcolor=colour)


def _legend(explanation: Explanation, colours: Colours, what: str) -> str:
    number = (
        "The number is what the passage contributes to the log10 Bayes factor, + for one author."
        if what == "passage"
        else "The number is the share of the attention to the text that the window got."
    )
    if not explanation.has_attention:
        return f"{summary.NO_ATTENTION} {number}"
    if colours == "none":
        signs = (
            f"The higher the bar, the more attention the {what} got; [tokens] got more than twice, "
            f"[[tokens]] more than six times an even share of their {what}'s attention."
        )
    else:
        signs = f"Blue: attention of a {what}. Red: of a token within its {what}."
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
