"""An explanation as HTML: a complete page, or a fragment inside another one.

The fragments have no style attributes and no event handlers: their looks come from `STYLE`, their
behaviour from `SCRIPT`, so that they may be shown under a content security policy that forbids
everything inline. Each text is included once, as the user gave it; switching between views only
changes which rules apply to it, and works without the script, too.

Pages are made from templates, except for the heat maps themselves: a novel has 100,000 tokens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from markupsafe import Markup

from adhominem.render import layout, summary
from adhominem.render.drawings import gauge
from adhominem.render.templates import asset, markup, render, render_page, verbatim
from adhominem.verify.explanation import ExplainedText, Explanation

_VIEWS = {
    "windows": "Windows",
    "attention": "Attention",
    "contributions": "Same or different authors",
    "ngrams": "N-grams",
    "plain": "Plain",
}

# Only tokens with a colour, an even share of the attention or more, are marked: that makes a page
# half as large. A long text is cut into parts at its own line ends, and browsers draw those
# on the screen only.
_LONG = 40_000  # characters
_PART = 3_000  # characters at least
_CUT = '</div><div class="part">'
_DEEP_COLOURS = {"t": "#a8382b", "w": "#7db4e2"}  # on dark pages: tokens have ink upon them


STYLE = "\n".join(
    (
        asset("colours.css"),
        render("heat_map_colours.css", layout=layout, deep=_DEEP_COLOURS),
        asset("heat_map.css"),
    )
)
SCRIPT = asset("heat_map.js")


@dataclass(frozen=True)
class Mark:
    """The position of an n-gram in a text."""

    start: int
    end: int
    ngram: int  # its number in the table
    level: int  # of its contribution, -5 to 5


def explanation_page(explanation: Explanation) -> str:
    """An explanation as a complete page, which fetches nothing and runs only its own script."""
    verification = explanation.verification
    claim, _, reason = summary.NOT_A_VERDICT.partition(":")
    stated = verification.states
    bounds = verification.lower_bound, verification.upper_bound
    return render_page(
        "explanation.html",
        (asset("gauge.css"), asset("explanation.css"), STYLE),
        SCRIPT,
        title=summary.title(verification),
        verification=verification,
        number=summary.signed(verification.log10_bayes_factor),
        claim=claim,
        reason=reason,
        gauge=gauge(verification.log10_bayes_factor, *bounds) if stated else "",
        probability=summary.probability(verification),
        against_prior=summary.against_prior(verification),
        background=summary.background(verification),
        fragment=explanation_fragment(explanation),
    )


def explanation_fragment(explanation: Explanation, view: str = "") -> Markup:
    """The texts of both sides, with the switch between views, legends and the table of n-grams.

    `view` is the view to start with; by default, the first.
    """
    strongest = layout.strongest_passage(explanation)
    strongest_ngram = layout.strongest_of(ngram.contribution for ngram in explanation.ngrams)
    levels = []
    for ngram in explanation.ngrams:
        level = layout.contribution_level(ngram.contribution, strongest_ngram)
        # One that is in the list has a colour, however weak it is beside the strongest.
        levels.append(level or summary.sign(ngram.contribution))
    sides: dict[str, list[tuple[ExplainedText, Markup]]] = {"first": [], "second": []}
    for index, text in enumerate(explanation.texts):
        marks = [
            Mark(place.start, place.end, number, levels[number])
            for number, ngram in enumerate(explanation.ngrams)
            for place in ngram.places
            if place.text == index
        ]
        sides[text.side].append((text, heat_map(text, strongest=strongest, marks=marks)))
    windows = list(layout.window_maps(explanation))
    shown = {
        "windows": bool(windows),
        "attention": explanation.has_attention,
        "ngrams": bool(explanation.ngrams),
    }
    views = [(name, label) for name, label in _VIEWS.items() if shown.get(name, True)]
    return markup(
        "explanation_fragment.html",
        views=views,
        view=view or views[0][0],
        explanation=explanation,
        layout=layout,
        summary=summary,
        balance=summary.balance(explanation),
        deepest=summary.contributed(strongest).lstrip("+"),
        ngrams=zip(explanation.ngrams, map(layout.contribution_class, levels), strict=True),
        sides=sides.values(),
        windows=windows,
    )


def heat_map(
    text: ExplainedText, *, strongest: float | None = None, marks: Sequence[Mark] = ()
) -> Markup:
    """A text with the weights of its passages and tokens, and the positions of n-grams.

    `strongest` is the size of contribution that gets the deepest colour; by default, the strongest
    in this text.
    """
    if strongest is None:
        strongest = layout.strongest_of(passage.contribution for passage in text.passages)
    levels = layout.passage_levels(text, strongest)
    parts: list[str] = []
    size = 0  # characters since the last cut
    reachable = 0  # by the tab key; from there the arrow keys go on
    long = len(text.text) >= _LONG
    for number, group in groupby(_marked(text, marks), key=lambda marked: marked[0].passage):
        begin, again, end = "", "", ""
        if number is not None:
            begin, again, end = *_tags(text, number, levels[number], reachable), "</span>"
            reachable = -1
        parts.append(begin)
        for piece, shown in group:
            if number is not None and piece.token is not None:
                level = levels[number].tokens[piece.token]
                if level:
                    title = f"Token: {_times(levels[number].tokens_times_even[piece.token])}"
                    shown = f'<span class="t{level}" title="{title}">{shown}</span>'
            size += piece.end - piece.start
            if long and size >= _PART and piece.token is None and "\n" in shown:
                head, feed, tail = shown.rpartition("\n")
                if "<" not in shown:  # no mark reaches over it
                    parts += [head, end, feed, _CUT, again]
                    shown, size = tail, len(tail)
            parts.append(shown)
        parts.append(end)
    shown = "".join(parts)
    if long:
        shown = f'<div class="part">{shown}</div>'
    return Markup(f'<div class="heat" dir="auto">{shown}</div>')


def _tags(
    text: ExplainedText, number: int, level: layout.PassageLevels, reachable: int
) -> tuple[str, str]:
    """The opening tag of a passage, and the tag to reopen it with where it was split."""
    passage, classes = text.passages[number], ""
    title = f"Passage {number + 1} of {len(text.passages)}: "
    if level.times_even is not None:
        classes += f" w{level.attention}"
        title += f"{_times(level.times_even)} of the attention ({passage.attention:.1%} of it); "
    if level.contribution:
        classes += f" {layout.contribution_class(level.contribution)}"
    amount = summary.contributed(passage.contribution)
    title += f"contributes {amount} to the log10 Bayes factor, "
    title += f"speaks for {summary.speaks_for(passage.contribution)}"
    return (
        f'<span class="passage{classes}" tabindex="{reachable}" title="{title}">',
        f'<span class="passage{classes} more" title="{title}">',
    )


def _times(weight: float) -> str:
    return f"{weight:.1f} times an even share"


def _marked(text: ExplainedText, marks: Sequence[Mark]) -> Iterator[tuple[layout.TextPiece, str]]:
    """The pieces of a text, each with its markup, including the marks."""
    left = deque(sorted(marks, key=lambda mark: (mark.start, mark.ngram)))
    reaching: list[Mark] = []  # those that may reach into the piece
    for piece in layout.pieces(text):
        while left and left[0].start < piece.end:
            reaching.append(left.popleft())
        reaching = [mark for mark in reaching if mark.end > piece.start]
        plain = verbatim(text.text[piece.start : piece.end])
        yield piece, "".join(_cut(text.text, piece, reaching)) if reaching else plain


def _cut(text: str, piece: layout.TextPiece, marks: Sequence[Mark]) -> Iterator[str]:
    """A piece split at its marks; where n-grams share characters, the first colours them."""
    cuts = {piece.start, piece.end, *(end for mark in marks for end in (mark.start, mark.end))}
    inside = sorted(cut for cut in cuts if piece.start <= cut <= piece.end)
    for start, end in pairwise(inside):
        shown = verbatim(text[start:end])
        over = [mark for mark in marks if mark.start <= start and end <= mark.end]
        if not over:
            yield shown
            continue
        name = layout.contribution_class(min(over, key=lambda mark: mark.ngram).level)
        numbers = " ".join(map(str, sorted({mark.ngram for mark in over})))
        begun = sorted({mark.ngram for mark in over if mark.start == start})
        begins = f' data-from="{" ".join(map(str, begun))}"' if begun else ""
        yield f'<mark class="{name}" data-n="{numbers}"{begins}>{shown}</mark>'
