"""Explanations of texts that nobody compared, for the tests of what is made from them."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from math import log
from typing import Any

from hypothesis import strategies as st

from adhominem.verify.cautions import Caution
from adhominem.verify.explanation import (
    ExplainedPassage,
    ExplainedText,
    Explanation,
    TokenAttention,
)
from adhominem.verify.ngram_contributions import Balance, NgramContribution, Place
from adhominem.verify.verification import ComparedDocument, Likeness, Side, Verification

BAD = "<script>alert(1)</script>"
FIRST = (
    "Dear Anne,\n\nI don't think — truly — that “the old mill” (1789?) will ever be sold; "
    "it costs $5 & 100% of my patience.\n\n\tYours, as ever,\nTom <tom@example.org>\n"
)
SECOND = (
    "Sir! The mill_house is sold: {for a song}, ~ten pounds, #3 on the list ^ of C:\\mills. "
    "Naïve? Perhaps... --- but 'tis done, and “the old mill” is no more.\n" * 2
)


def verification(**changes: Any) -> Verification:
    """Of two letters, with everything that a comparison may come with."""
    made = Verification(
        log_bayes_factor=1.23 * log(10),
        log10_bayes_factor=1.23,
        verbal="The texts give moderate support for the proposition that one person wrote both "
        "sides over the proposition that a different person wrote each side.",
        lower_bound=-1.34,
        upper_bound=1.76,
        conditions="1 text against 1, about 30 words and marks a text, no population",
        reach="at most moderate support for either proposition",
        probability_same_author=0.944,
        prior_same_author=0.5,
        decision="same author",
        reason="the probability of one author is 0.944, above 0.625",
        population=None,
        likeness=Likeness({"letters": 0.8, "blogs": 0.2}, 0.7),
        warnings=(Caution("short", f"fewer words than usual: {BAD}"),),
        model="general-en",
        model_sha256="ab" * 32,
        version="1.2.3",
        first=Side((ComparedDocument("letters/tom.txt", 30, "cd" * 32),), 30),
        second=Side((ComparedDocument(BAD, 60, "ef" * 32),), 60),
    )
    return replace(made, **changes)


def explained(
    side: str, name: str, text: str, *, attention: bool = True, tokens: int = 9, seed: int = 0
) -> ExplainedText:
    """A text in passages of so many tokens, with weights out of thin air."""
    rng = random.Random(f"{seed} {name}")
    spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    groups = [spans[at : at + tokens] for at in range(0, len(spans), tokens)]
    weights = _shares(rng, len(groups), 0.8)
    passages = []
    for group, weight in zip(groups, weights, strict=True):
        shares = _shares(rng, len(group), 1.1)
        passages.append(
            ExplainedPassage(
                group[0][0],
                group[-1][1],
                rng.gauss(0.02, 0.15),
                weight if attention else None,
                tuple(
                    TokenAttention(start, end, share)
                    for (start, end), share in zip(group, shares, strict=True)
                )
                if attention
                else (),
            )
        )
    return ExplainedText(side, name, text, tuple(passages))


def _shares(rng: random.Random, number: int, spread: float) -> list[float]:
    drawn = [rng.lognormvariate(0, spread) for _ in range(number)]
    return [weight / sum(drawn) for weight in drawn]


def explanation(
    first: str = FIRST,
    second: str = SECOND,
    *,
    attention: bool = True,
    tokens: int = 9,
    ngrams: tuple[tuple[str, str, float], ...] = (
        ("the", "tokens", 0.4),
        ("old mill", "bigrams", -0.3),
        ("ill", "characters", 0.1),
        ("zzz", "shaped_bigrams", -0.01),
    ),
    **changes: Any,
) -> Explanation:
    """A comparison of two texts."""
    texts = (
        explained("first", "letters/tom.txt", first, attention=attention, tokens=tokens),
        explained("second", BAD, second, attention=attention, tokens=tokens),
    )
    return Explanation(
        verification(**changes),
        texts,
        tuple(contribution(texts, *arguments) for arguments in ngrams),
        BALANCE,
    )


def contribution(
    texts: tuple[ExplainedText, ...], ngram: str, channel: str, nats: float
) -> NgramContribution:
    """An n-gram at all its places."""
    places = tuple(
        Place(at, match.start(), match.end())
        for at, text in enumerate(texts)
        for match in re.finditer(re.escape(ngram), text.text)
    )
    counts = [
        sum(texts[place.text].side == side for place in places) for side in ("first", "second")
    ]
    return ngram_contribution(ngram, channel, nats, counts, places)


def ngram_contribution(
    ngram: str, channel: str, nats: float, counts: list[int], places: tuple[Place, ...]
) -> NgramContribution:
    """In texts of 500 tokens."""
    return NgramContribution(
        ngram=ngram,
        channel=channel,
        contribution=nats,
        first=counts[0],
        second=counts[1],
        first_rate=2 * counts[0],
        second_rate=2 * counts[1],
        usual_rate=0.5,
        words=("mill", BAD) if channel == "characters" else (),
        with_it=(BAD,) if channel == "tokens" else (),
        places=places,
    )


BALANCE = Balance(
    log_bayes_factor=1.23 * log(10),
    habits=0.7,
    names=-0.1,
    named=("Anne", BAD),
    other_ngrams=0.3,
    rest=1.23 * log(10) - 0.9,
)


@st.composite
def any_texts(draw: st.DrawFn) -> ExplainedText:
    """Any characters, in any passages and tokens that are in order."""
    text = draw(
        st.text(st.characters(), max_size=60) | st.text("ab <>&'\"\\{}%\n\r\t\x1b[m", max_size=60)
    )
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    share = st.floats(0, 1)
    passages = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        inner = draw(st.lists(st.integers(start, end), max_size=6).map(sorted))
        looked_at = draw(st.booleans())
        passages.append(
            ExplainedPassage(
                start,
                end,
                draw(st.floats(-9, 9)),
                draw(share) if looked_at else None,
                tuple(
                    TokenAttention(begin, stop, draw(share))
                    for begin, stop in zip(inner[::2], inner[1::2], strict=False)
                ),
            )
        )
    return ExplainedText(
        draw(st.sampled_from(["first", "second"])), draw(st.text()), text, tuple(passages)
    )


@st.composite
def any_explanations(draw: st.DrawFn) -> Explanation:
    """Any texts, with n-grams at any places."""
    texts = tuple(draw(st.lists(any_texts(), min_size=1, max_size=3)))
    ngrams = []
    for _ in range(draw(st.integers(0, 4))):
        places = []
        for _ in range(draw(st.integers(0, 5))):
            at = draw(st.integers(0, len(texts) - 1))
            start, end = sorted(draw(st.integers(0, len(texts[at].text))) for _ in range(2))
            places.append(Place(at, start, end))
        ngrams.append(
            ngram_contribution(
                draw(st.text()), "tokens", draw(st.floats(-3, 3)), [1, 2], tuple(places)
            )
        )
    return Explanation(verification(), texts, tuple(ngrams), BALANCE)
