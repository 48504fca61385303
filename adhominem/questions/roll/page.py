"""A rolled text for people: one HTML file with curves, passages and the text in colours.

The page fetches nothing and has no script. Where colours cannot be told apart, each passage also
begins with the name of its state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Any

from markupsafe import Markup

from adhominem.evaluation.figure_style import INKS
from adhominem.questions.question import Page, Table
from adhominem.questions.roll.ask import Rolled
from adhominem.questions.roll.smoothing import Block, Change, Passage
from adhominem.render.summary import signed
from adhominem.render.templates import asset, markup
from adhominem.score.decision import show_probability

# Okabe and Ito's colours, dark enough for lines and small text on white; grey is for neither.
_COLOURS = tuple(sorted(INKS.values(), key=lambda ink: ink == "#000000"))  # black last
_GREY = "#666666"
_LEVELS = (0.5, 0.8, 0.95)  # probabilities at which a colour becomes stronger
_TINTS = (0.06, 0.13, 0.2, 0.3)  # of white, that a colour takes: below .5, .8, .95, and above
_MARKS, _BLOCKS_A_LINE = "123456789", 70  # of a terminal
_LEFT, _RIGHT = 54.0, 948.0  # of the drawing's panels
_STRIP = (24.0, 94.0)  # top and bottom: of the probabilities
_CURVES = (128.0, 318.0)  # of the Bayes factors
_MOST_TICKS = 10
_WORD_STEPS = tuple(size * 10**power for power in range(1, 7) for size in (1, 2, 5))


def roll_page(rolled: Rolled) -> str:
    """The page of a rolled text."""
    return PAGE.whole(rolled)


def _values(rolled: Rolled) -> dict[str, Any]:
    return {
        "summary": summary_of(rolled),
        "changes": [_in_words(rolled, change) for change in rolled.changes],
        "drawing": "" if rolled.obstacle else _drawing(rolled),
        "ink_classes": [_ink_class(colour) for colour in _colours(rolled)],
        "before": rolled.text[: rolled.blocks[0].start] if rolled.blocks else rolled.text,
        "passage_at": {passage.start: at for at, passage in enumerate(rolled.passages, start=1)},
        "between": _between,
        "level": _level,
        "shown": shown_probability,
        "signed": signed,
    }


def _title(rolled: Rolled) -> str:
    """What the page is about."""
    what = "Where does the style change" if rolled.are_styles else "Which part is by whom"
    return f"{what}? {rolled.name}"


def summary_of(rolled: Rolled) -> str:
    """What came out, in a sentence or two."""
    if rolled.obstacle:
        return f"No statement is made: {rolled.obstacle}."
    if rolled.are_styles and len(rolled.states) == 1:
        return "No change of style was found: one person may have written the whole text."
    words = [0] * len(rolled.states)
    for passage in rolled.passages:
        words[passage.state] += passage.words
    order = sorted((at for at in range(len(words)) if words[at]), key=lambda at: -words[at])
    shares = ", ".join(f"{rolled.states[at]} {words[at] / rolled.words:.0%}" for at in order)
    count = len(rolled.changes)
    changes = {0: "no change was found", 1: "1 change was found"}
    return (
        f"Most probable, by words: {shares}; {changes.get(count, f'{count:,} changes were found')}."
    )


def _in_words(rolled: Rolled, change: Change) -> str:
    """Where a change is, between what, and how sure."""
    within = ""
    if change.earliest < change.latest:
        within = f" (between {change.earliest:,} and {change.latest:,})"
    return (
        f"about word {change.word:,}{within}, from {rolled.states[change.before]} to "
        f"{rolled.states[change.after]}; probability of a change there "
        f"{shown_probability(change.probability)}"
    )


def shown_probability(value: float | None) -> str:
    """A probability to a hundredth."""
    return show_probability(value, 2)


def _colours(rolled: Rolled) -> list[str]:
    """The colours of the states."""
    colours = [_COLOURS[at % len(_COLOURS)] for at in range(len(rolled.states))]
    if not rolled.are_styles and len(rolled.states) > len(rolled.candidates):
        colours[-1] = _GREY  # neither
    return colours


def _between(passage: Passage, dash: str = "–") -> str:
    """The words of a passage, from 1."""
    return f"{passage.word + 1:,}{dash}{passage.word + passage.words:,}"


def _ink_class(ink: str) -> str:
    return f"ink-{ink[1:].lower()}"


def _tints() -> str:
    """The style of each colour at each level: a page's policy allows no style in an element."""
    rules = []
    for ink in (*_COLOURS, _GREY):
        name = _ink_class(ink)
        pale = f"light-dark({ink}, color-mix(in oklab, {ink}, white 45%))"
        rules.append(f".{name} .who, .key .{name} {{ color: {pale}; }}")
        rules.append(f"mark.{name} {{ border-color: {pale}; }}")
        for level, share in enumerate(_TINTS):
            dark = f"color-mix(in oklab, var(--paper), {ink} {2 * share:.0%})"
            rules.append(
                f"mark.{name}.l{level} {{ background: light-dark({_mixed(ink, share)}, {dark}); }}"
            )
    return "\n".join(rules)


def _mixed(ink: str, share: float) -> str:
    """A colour on white."""
    parts = (int(ink[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - part)):02x}" for part in parts)


def _level(block: Block) -> int:
    """How strong the colour of a block is."""
    if len(block.probabilities) == 1:
        return 0
    return sum(block.probabilities[block.state] >= level for level in _LEVELS)


def _drawing(rolled: Rolled) -> Markup:
    """The probabilities as a strip, and the windows' Bayes factors as curves."""
    values = [factor for window in rolled.windows for factor in window.log10_bayes_factors]
    low, high = min(-1.0, *values), max(1.0, *values)
    margin = 0.06 * (high - low)
    low, high = low - margin, high + margin

    def x(word: float) -> float:
        return _LEFT + word / rolled.words * (_RIGHT - _LEFT)

    def y(value: float) -> float:
        top, bottom = _CURVES
        return bottom - (value - low) / (high - low) * (bottom - top)

    return markup(
        "roll.svg",
        rolled=rolled,
        colours=_colours(rolled),
        x=x,
        y=y,
        left=_LEFT,
        right=_RIGHT,
        strip=_STRIP,
        curves_top=_CURVES[0],
        bottom=_CURVES[1],
        levels=[(y(tick), signed(tick, 0)) for tick in _whole(low, high)],
        ticks=[(x(word), f"{word:,}") for word in _word_ticks(rolled.words)],
        keys=_keys(rolled.states, _colours(rolled)),
    )


def _keys(states: Sequence[str], colours: Sequence[str]) -> list[tuple[float, float, str, str]]:
    """The key of colours below the drawing: x, y, colour and name; as many a row as fit."""
    width = min(40 + 6.5 * min(max(map(len, states)), 40), _RIGHT - _LEFT)
    across = max(1, int((_RIGHT - _LEFT) // width))
    return [
        (
            _LEFT + width * (at % across),
            _CURVES[1] + 56 + 18 * (at // across),
            colour,
            name if len(name) <= 40 else f"{name[:39]}…",
        )
        for at, (name, colour) in enumerate(zip(states, colours, strict=True))
    ]


def _whole(low: float, high: float) -> list[float]:
    step = max(1, ceil((high - low) / 8))
    return [float(tick) for tick in range(floor(low) + 1, ceil(high)) if tick % step == 0]


def _word_ticks(words: int) -> list[int]:
    step = next((size for size in _WORD_STEPS if words / size <= _MOST_TICKS), words)
    return list(range(0, words + 1, step))


def _lines(rolled: Rolled, values: Mapping[str, Any]) -> Iterator[str | Table]:
    """Passages as a table, blocks as marks, changes, and what it rests on."""
    if not rolled.obstacle:
        names = [] if rolled.are_styles else [candidate.name for candidate in rolled.candidates]
        yield Table(
            f"{rolled.name}, {rolled.words:,} words",
            ["words", "most probable", "probability", *(f"log10 BF {name}" for name in names)],
            [
                [
                    _between(passage, "-"),
                    rolled.states[passage.state],
                    shown_probability(passage.probability),
                    *map(signed, passage.log10_bayes_factors),
                ]
                for passage in rolled.passages
            ],
        )
        marks = [_MARKS[at % len(_MARKS)] for at in range(len(rolled.states))]
        if len(rolled.states) > len(rolled.candidates):
            marks[-1] = "-"
        drawn = "".join(marks[block.state] for block in rolled.blocks)
        for at in range(0, len(drawn), _BLOCKS_A_LINE):
            yield drawn[at : at + _BLOCKS_A_LINE]
        keys = zip(marks, rolled.states, strict=True)
        yield f"A mark for each block: {', '.join(f'{mark} {state}' for mark, state in keys)}"
        for change in rolled.changes:
            yield f"Change  {_in_words(rolled, change)}"
    yield summary_of(rolled)
    yield (
        f"Prior  a change of author every {rolled.options.passage:,} words on average; "
        f"population {rolled.population or 'none'}"
    )


PAGE: Page[Rolled] = Page(
    name="roll",
    styles=(asset("evaluation.css"), asset("study.css"), asset("roll.css"), _tints()),
    title=_title,
    values=_values,
    lines=_lines,
    remarks=lambda rolled: rolled.remarks,
)
