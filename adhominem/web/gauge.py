"""A picture of a log10 Bayes factor on the verbal scale, as SVG that needs no inline style."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from math import isfinite

from adhominem.render.summary import signed
from adhominem.scoring.decision import NONE, VerbalScale

_END = 6.0  # decades on either side
_LEVELS = 6  # of colour
_DECADES_A_LABEL = 2


def gauge(log10_bayes_factor: float, scale: VerbalScale | None = None) -> str:
    """Where the number lies between two propositions."""
    scale = scale or VerbalScale()
    starts = [start for start, _ in scale.rungs]
    bands = []
    first = 0 if scale.rungs[0][1] == NONE else 1  # the colour of neither side, or the palest
    for rung, (low, high) in enumerate(pairwise([*starts, max(_END, starts[-1] + 1)]), start=first):
        width = _share(high) - _share(low)
        level = min(rung, _LEVELS)
        for side, begin in (("same", low), ("diff", -high)):
            bands.append(
                f'<rect class="{side} b{level}" x="{_share(begin)}%" y="46" '
                f'width="{width:g}%" height="22"/>'
            )
    ticks = "".join(
        f'<text class="tick" x="{_share(at)}%" y="86">{signed(at, 0)}</text>'
        for at in range(-int(_END), int(_END) + 1, _DECADES_A_LABEL)
    )
    value = log10_bayes_factor if isfinite(log10_bayes_factor) else 0.0
    place = _share(min(max(value, -_END), _END))
    said = (
        f"log10 Bayes factor {signed(log10_bayes_factor)}, on a scale from −{_END:g}, for "
        f"different people, over 0, for neither, to +{_END:g}, for one person"
    )
    return f"""<svg class="gauge" role="img" aria-label="{escape(said)}" width="100%" height="108">
<svg x="3%" width="94%" overflow="visible">
{"".join(bands)}
<line class="zero" x1="50%" x2="50%" y1="42" y2="72"/>
{ticks}
<text class="end left" x="0%" y="104">← different people</text>
<text class="end right" x="100%" y="104">one person →</text>
<svg x="{place:g}%" overflow="visible">
<text class="rung {_anchor(value)}" y="16">{escape(scale.words(value))}</text>
<path class="pointer" d="M-9 24 L9 24 L1.5 44 V70 H-1.5 V44 Z"/>
</svg>
</svg>
</svg>"""


def _anchor(log10: float) -> str:
    """To which side of the pointer its words go, so that they stay on the page."""
    return "middle" if abs(log10) < _END / 2 else "end" if log10 > 0 else "start"


def _share(log10: float) -> float:
    """Per cent of the width."""
    return round(50 + 50 * log10 / _END, 2)
