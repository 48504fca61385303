"""An explanation as HTML: a page of its own, or a fragment inside another one.

The fragments have no style attributes and no handlers: what they look like comes from `STYLE`, what
they do from `SCRIPT`, so that they may be shown under a content security policy that forbids
everything inline. A text is there once, as the user gave it; between the views only the rules that
apply to it change, which works without the script, too.

Pages are made by templates, except for the heat maps themselves: a novel has 100,000 tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from markupsafe import Markup

from adhominem.explain.explanation import ExplainedText, Explanation
from adhominem.render.layout import (
    DIFFERENT_COLOURS,
    DIFFERENT_LINE,
    LEVELS,
    MOST_TIMES_EVEN,
    PASSAGE_COLOURS,
    SAME_COLOURS,
    SAME_LINE,
    SIDED_LEVELS,
    TOKEN_COLOURS,
    Piece,
    attention_level,
    contribution_class,
    contribution_level,
    passage_weights,
    pieces,
    strongest_of,
    strongest_passage,
    token_weights,
)
from adhominem.render.summary import (
    CHANNELS,
    NGRAM_CONTRIBUTION,
    NO_ATTENTION,
    NOT_A_VERDICT,
    NOT_WHY,
    background,
    contributed,
    probability,
    signed,
    speaks_for,
    title,
)
from adhominem.render.templates import asset, markup, render_page, verbatim

_VIEWS = {
    "attention": "Attention",
    "contributions": "Same or different authors",
    "ngrams": "N-grams",
    "plain": "Plain",
}


def _palette() -> str:
    rules = [f".heat .t{at} {{ background: {name}; }}" for at, name in enumerate(TOKEN_COLOURS)]
    for name, colours in (("w", PASSAGE_COLOURS), ("t", TOKEN_COLOURS)):
        rules += [f".{name}{at} {{ --{name}: {colour}; }}" for at, colour in enumerate(colours)]
    for name, stroke, edge, colours in (
        ("same", "solid", SAME_LINE, SAME_COLOURS),
        ("diff", "dotted", DIFFERENT_LINE, DIFFERENT_COLOURS),
    ):
        rules += [
            f".{name}{at} {{ --side: {colour}; --stroke: {stroke}; --edge: {edge}; }}"
            for at, colour in enumerate(colours, 1)
        ]
    return "\n".join(rules)


STYLE = f"{_palette()}\n{asset('heat_map.css')}"
SCRIPT = asset("heat_map.js")


@dataclass(frozen=True)
class Mark:
    """Where an n-gram stands in a text."""

    start: int
    end: int
    ngram: int  # its number in the table
    level: int  # of its contribution, -5 to 5


def explanation_page(explanation: Explanation) -> str:
    """A page of its own, which fetches nothing and lets no script run but its own."""
    verification = explanation.verification
    claim, _, reason = NOT_A_VERDICT.partition(":")
    return render_page(
        "explanation.html",
        (asset("explanation.css"), STYLE),
        SCRIPT,
        title=title(verification),
        verification=verification,
        number=signed(verification.log10_bayes_factor),
        claim=claim,
        reason=reason,
        probability=probability(verification),
        background=background(verification),
        fragment=explanation_fragment(explanation),
    )


def explanation_fragment(explanation: Explanation) -> Markup:
    """The texts of both sides, with the switch between views, legends and the table of n-grams."""
    strongest = strongest_passage(explanation)
    strongest_ngram = strongest_of(ngram.contribution for ngram in explanation.ngrams)
    levels = [
        contribution_level(ngram.contribution, strongest_ngram) for ngram in explanation.ngrams
    ]
    sides: dict[str, list[tuple[ExplainedText, Markup]]] = {"first": [], "second": []}
    for index, text in enumerate(explanation.texts):
        marks = [
            Mark(place.start, place.end, number, levels[number])
            for number, ngram in enumerate(explanation.ngrams)
            for place in ngram.places
            if place.text == index
        ]
        sides[text.side].append((text, heat_map(text, strongest=strongest, marks=marks)))
    shown = {"attention": explanation.has_attention, "ngrams": bool(explanation.ngrams)}
    return markup(
        "explanation_fragment.html",
        views=[(name, label) for name, label in _VIEWS.items() if shown.get(name, True)],
        has_attention=explanation.has_attention,
        not_why=NOT_WHY,
        no_attention=NO_ATTENTION,
        ngram_contribution=NGRAM_CONTRIBUTION,
        most_times_even=MOST_TIMES_EVEN,
        passage_levels=[f"w{level}" for level in range(LEVELS)],
        token_levels=[f"t{level}" for level in range(LEVELS)],
        different_levels=[contribution_class(level) for level in range(-SIDED_LEVELS, 0)],
        same_levels=[contribution_class(level) for level in range(1, SIDED_LEVELS + 1)],
        deepest=contributed(strongest).lstrip("+"),
        ngrams=zip(explanation.ngrams, map(contribution_class, levels), strict=True),
        ngram_count=len(explanation.ngrams),
        channels=CHANNELS,
        contributed=contributed,
        speaks_for=speaks_for,
        sides=sides.values(),
    )


def heat_map(
    text: ExplainedText, *, strongest: float | None = None, marks: Sequence[Mark] = ()
) -> Markup:
    """A text with the weights of its passages and tokens, and the places of n-grams.

    `strongest` is the size of contribution that gets the deepest colour; by default the strongest
    of this text.
    """
    if strongest is None:
        strongest = strongest_of(passage.contribution for passage in text.passages)
    weights = passage_weights(text)
    marking = _Marking(text.text, marks)
    parts: list[str] = []
    reachable = True  # by the tab key; from there the arrow keys go on
    for number, group in groupby(pieces(text), key=lambda piece: piece.passage):
        if number is None:
            parts += [marking.of(piece) for piece in group]
            continue
        passage, weight = text.passages[number], weights[number]
        classes = ["passage"]
        told = f"Passage {number + 1} of {len(text.passages)}: "
        if weight is not None:
            classes.append(f"w{attention_level(weight)}")
            told += f"{_times(weight)} of the attention ({passage.attention:.1%} of it); "
        classes.append(contribution_class(contribution_level(passage.contribution, strongest)))
        told += f"contributes {contributed(passage.contribution)} to the log10 Bayes factor, "
        told += f"speaks for {speaks_for(passage.contribution)}"
        parts.append(
            f'<span class="{" ".join(filter(None, classes))}" tabindex="{0 if reachable else -1}" '
            f'title="{told}">'
        )
        shares = token_weights(passage)
        for piece in group:
            shown = marking.of(piece)
            if piece.token is not None:
                share = shares[piece.token]
                told = f"Token: {_times(share)}"
                shown = f'<span class="t{attention_level(share)}" title="{told}">{shown}</span>'
            parts.append(shown)
        parts.append("</span>")
        reachable = False
    return Markup(f'<div class="heat" dir="auto">{"".join(parts)}</div>')


def _times(weight: float) -> str:
    return f"{weight:.1f} times an even share"


class _Marking:
    """Puts marks on pieces; where several n-grams share characters, the first one colours them."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self._text = text
        self._marks = sorted(marks, key=lambda mark: (mark.start, mark.ngram))
        self._next = 0
        self._open: list[Mark] = []  # those that may reach into the next piece

    def of(self, piece: Piece) -> str:
        """The markup of a piece; pieces come in order."""
        while self._next < len(self._marks) and self._marks[self._next].start < piece.end:
            self._open.append(self._marks[self._next])
            self._next += 1
        self._open = [mark for mark in self._open if mark.end > piece.start]
        if not self._open:
            return verbatim(self._text[piece.start : piece.end])
        return "".join(self._cut(piece))

    def _cut(self, piece: Piece) -> Iterator[str]:
        cuts = {piece.start, piece.end}
        cuts |= {mark.start for mark in self._open} | {mark.end for mark in self._open}
        inside = sorted(cut for cut in cuts if piece.start <= cut <= piece.end)
        for start, end in pairwise(inside):
            shown = verbatim(self._text[start:end])
            over = [mark for mark in self._open if mark.start <= start and end <= mark.end]
            if not over:
                yield shown
                continue
            name = contribution_class(min(over, key=lambda mark: mark.ngram).level)
            numbers = " ".join(map(str, sorted({mark.ngram for mark in over})))
            begun = sorted({mark.ngram for mark in over if mark.start == start})
            begins = f' data-from="{" ".join(map(str, begun))}"' if begun else ""
            yield f'<mark class="{name}" data-n="{numbers}"{begins}>{shown}</mark>'
