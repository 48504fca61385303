"""Which phrases contribute to a log Bayes factor: those of the texts, in their words.

The likeness of two sides is a sum over the numbers of a LEV (`scoring.likeness`), and each phrase
has one of these as its place. So what a place contributes is its term of the sum. Of the few
phrases of these texts that share a place by chance, the one that is there most often is told, for
all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.encoders.ngrams.table import Ngram
from adhominem.encoders.phrases.encoder import PhraseEncoder
from adhominem.encoders.phrases.hashing import places_of, signs_of
from adhominem.explain.ngram_texts import PHRASES, NgramText
from adhominem.models.member import Member
from adhominem.scoring.likeness import CosineLikeness
from adhominem.verify.comparison import Comparison


@dataclass(frozen=True)
class Phrases:
    """The phrases that occur in a comparison, in the order of their places, and their parts."""

    member: Member
    texts: Sequence[NgramText]  # whose columns are the numbers of these phrases
    ngrams: Sequence[Ngram]  # (phrases,): as they are written where they stand first
    usual: FloatArray  # (phrases,): what the centre has of each
    contributions: FloatArray  # (phrases,): to the log Bayes factor, in nats

    def added_to(self, texts: Sequence[NgramText], first: int) -> list[NgramText]:
        """Texts with n-grams, and these phrases too: their columns begin at `first`."""
        if not texts:
            return list(self.texts)
        return [
            replace(
                text,
                columns=np.concatenate([text.columns, first + phrases.columns]),
                places=np.concatenate([text.places, phrases.places]),
                values=np.concatenate([text.values, phrases.values]),
                unit_values=np.concatenate([text.unit_values, phrases.unit_values]),
            )
            for text, phrases in zip(texts, self.texts, strict=True)
        ]


def weigh_phrases(comparison: Comparison) -> Phrases | None:
    """What each phrase contributes by itself; None without a member for phrases."""
    for member, (likeness, worth) in zip(comparison.members, comparison.likenesses, strict=True):
        if isinstance(member.encoder, PhraseEncoder) and isinstance(likeness, CosineLikeness):
            return _weigh(comparison, member, member.encoder, likeness, worth)
    return None


def _weigh(
    comparison: Comparison,
    member: Member,
    encoder: PhraseEncoder,
    likeness: CosineLikeness,
    worth: float,
) -> Phrases:
    rows = [
        (side, place, text)
        for side, texts in enumerate(comparison.sides)
        for place, text in enumerate(texts)
    ]
    tokens = [text.tokens(member) for _, _, text in rows]
    occurring = [encoder.occurrences(tokenized.tokens) for tokenized in tokens]
    hashes, begins, widths = (np.concatenate(arrays) for arrays in zip(*occurring, strict=True))
    owners = np.repeat(np.arange(len(rows)), [len(told) for told, _, _ in occurring])
    distinct, first, number, counts = np.unique(
        hashes, return_index=True, return_inverse=True, return_counts=True
    )
    # Of each place the phrase that is there most often; `distinct` rises, and so do places.
    places = places_of(distinct, encoder.lev_size)
    order = np.lexsort((-counts, places))
    told = order[np.flatnonzero(np.diff(places[order], prepend=-1))]  # (phrases,), of `distinct`
    phrase = np.full(len(distinct), -1)
    phrase[told] = np.arange(len(told))
    place, sign = places[told], signs_of(distinct[told]).astype(np.float64)
    weights = encoder.weights[place].astype(np.float64)
    column = phrase[number]  # (occurrences,): -1 of those that are not told
    contributions = np.zeros(len(told))
    texts = []
    for at, (side, number_on_side, text) in enumerate(rows):
        lev = likeness.levs[side][number_on_side]
        weight = worth * likeness.weights[side][number_on_side]
        contributions += (
            weight * (lev[place] - likeness.centre[place]) * likeness.directions[side][place]
        )
        here = np.flatnonzero((owners == at) & (column >= 0))
        here = here[np.argsort(column[here], kind="stable")]
        texts.append(
            NgramText(
                side=side,
                place=number_on_side,
                text=text.document.text,
                tokens=tokens[at].tokens,
                spans=tokens[at].spans,
                parts=1,
                values=lev[place] * sign,
                unit_values=weights / encoder.length(np.unique(hashes[owners == at])),
                columns=column[here],
                places=begins[here],
            )
        )
    ngrams = [
        Ngram(PHRASES, tuple(tokens[owners[at]].tokens[begins[at] : begins[at] + widths[at]]))
        for at in first[told].tolist()
    ]
    usual = likeness.centre[place] * sign
    return Phrases(member, texts, ngrams, usual, contributions)
