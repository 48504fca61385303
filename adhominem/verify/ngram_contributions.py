"""The n-grams that contribute most to a log Bayes factor, and their places.

A log Bayes factor consists of a product of both sides and a rest (`score.contributions`). The
product is a sum over n-grams: it supports one author where both sides have more of an n-gram than
usual, or both less. The rest, mostly against one author, is shared out among n-grams by the squared
departures of both sides from the usual. So an n-gram in which both depart alike supports one
author, and one in which only one side departs supports two.

The usual values are known in a profile, where an n-gram has its own dimension and the centre of the
genre a value in it. For another n-gram member, an n-gram is taken to be as far from usual as in the
profile. Only n-grams that occur are considered, not what both sides avoid.

"hils" and "… whilst" always occur in "whilst": they are one habit. And parts of names such as
"Eliz" are not habits at all: who is written about is not how somebody writes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.model.member import Member
from adhominem.ngrams.encoder import NgramVariants
from adhominem.ngrams.table import CHANNELS, END, MASK, START, Ngram, NgramTable
from adhominem.score.contributions import ProductContribution
from adhominem.verify.verification import ComparedSides, ComparedText

_CANDIDATES = 400  # n-grams to be grouped where they occur in the same places
_SHOWN = 30
_EXAMPLES = 3  # examples of words with an n-gram, or of names
_SAME = 0.8  # share of the places of an n-gram that are those of another
_NAMED = 0.8  # share of the places of an n-gram that are in names
_ENDS = frozenset(".!?…:")  # of a sentence
_OPENING = frozenset("\"'“”‘’«»([{*_")  # after which a word may be the first of its sentence


@dataclass(frozen=True)
class Place:
    """A span of characters in one of the texts of an explanation."""

    text: int  # index into the texts of the explanation
    start: int
    end: int


@dataclass(frozen=True)
class NgramContribution:
    """An n-gram and its contribution, with that of others that occur in the same places."""

    ngram: str  # as it is shown to people
    channel: str  # characters, tokens, bigrams or shaped_bigrams
    contribution: float  # to the log Bayes factor, in nats
    first: int  # number of occurrences in the texts of the first side
    second: int
    first_rate: float  # occurrences per 1,000 tokens
    second_rate: float
    usual_rate: float  # the rate that the model takes to be neither high nor low
    words: tuple[str, ...]  # examples of words that it is part of
    with_it: tuple[str, ...]  # the other n-grams in the same places, the strongest first
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Balance:
    """The parts that add up to a log Bayes factor, in nats. All passages have the same sum.

    Without an n-gram profile, everything is in `rest`.
    """

    log_bayes_factor: float  # the sum, without the model's bounds
    habits: float  # from the listed n-grams
    names: float  # from n-grams that are parts of names
    named: tuple[str, ...]  # some of these names, the most frequent first
    other_ngrams: float
    rest: float  # from networks, very rare n-grams, and what both sides avoid


@dataclass(frozen=True)
class NgramText:
    """A text as an n-gram member reads it."""

    side: int
    place: int  # index among the texts of its side
    text: str  # as given
    tokens: list[str]
    spans: IntArray  # (tokens, 2)
    parts: int  # number of parts that a long text is read in
    values: FloatArray  # (columns,): the LEV's value of each n-gram
    unit_values: FloatArray  # (columns,): the value that a single occurrence gives
    # All occurrences; empty for members without a profile, which do not need them.
    columns: IntArray  # sorted
    places: IntArray  # the token that each is in or begins with

    def tokens_with(self, column: int) -> IntArray:
        """The tokens that an n-gram is in or begins with; repeated if it occurs in one twice."""
        begin, end = np.searchsorted(self.columns, [column, column + 1])
        return self.places[begin:end]

    def usual_counts(self, columns: IntArray, usual: FloatArray) -> FloatArray:
        """The counts (columns,) at which n-grams would have their usual values in this text.

        An n-gram that half of the texts have once counts one half.
        """
        levels = np.maximum(usual, 0) / np.maximum(self.unit_values[columns], 1e-12)
        # A value grows with the logarithm of a count.
        return self.parts * np.where(levels < 1, levels, np.exp(np.minimum(levels, 20) - 1))


class NgramMember:
    """An n-gram member of the model, with the texts of both sides and its contribution."""

    def __init__(
        self, comparison: ComparedSides, member: Member, contribution: ProductContribution
    ) -> None:
        self.member = member
        # Of several languages, that of most texts: in the others hardly an n-gram is known.
        self.encoder = member.ngrams(*(text.document for text in comparison.texts))
        self.contribution = contribution
        self.table = self.encoder.counter.table
        number = list(comparison.members).index(member)
        self.texts = [
            self._text(side, place, text, self._counted(comparison, text, number))
            for side, texts in enumerate(comparison.sides)
            for place, text in enumerate(texts)
        ]

    def _counted(self, comparison: ComparedSides, text: ComparedText, number: int) -> NgramVariants:
        counted = comparison.variants_of(text)[number]
        assert isinstance(counted, NgramVariants)
        if counted.encoder is self.encoder:
            return counted
        tokens, starts = text.tokens(self.member).tokens, comparison.passages(text)
        return NgramVariants(self.encoder, tokens, starts)

    def _text(self, side: int, place: int, text: ComparedText, counted: NgramVariants) -> NgramText:
        tokenized = text.tokens(self.member)
        values, unit_values = counted.values()
        columns = places = np.zeros(0, np.int64)
        if self.encoder.is_profile:
            columns, places = self.encoder.counter.occurrences(tokenized.tokens)
        order = np.argsort(columns, kind="stable")
        return NgramText(
            side=side,
            place=place,
            text=text.document.text,
            tokens=tokenized.tokens,
            spans=tokenized.spans,
            parts=counted.parts,
            values=values,
            unit_values=unit_values,
            columns=columns[order],
            places=places[order],
        )

    @cached_property
    def columns(self) -> IntArray:
        """The columns of the n-grams that occur in any text, sorted and without repetition."""
        return np.unique(np.concatenate([text.columns for text in self.texts]))

    def columns_of(self, table: NgramTable, columns: IntArray) -> IntArray:
        """The columns (columns,) for those of another table, sorted; -1 where none occurs here."""
        here = table.columns_in(self.table, columns)
        occurs = np.any([text.values[here] != 0 for text in self.texts], axis=0)
        return np.where((here >= 0) & occurs, here, -1)


def ngram_members(comparison: ComparedSides) -> Iterator[NgramMember]:
    """The members whose product of both sides is a sum over n-grams."""
    for member, part in zip(comparison.members, comparison.contributions, strict=True):
        if member.counts_ngrams and isinstance(part, ProductContribution):
            yield NgramMember(comparison, member, part)


@dataclass(frozen=True)
class WeighedNgrams:
    """The n-grams that occur in a comparison, sorted by column, with their contributions."""

    profile: NgramMember
    columns: IntArray  # (n-grams,): of the profile's LEVs
    usual: FloatArray  # (n-grams,): value of the genre's centre
    contributions: FloatArray  # (n-grams,): to the log Bayes factor, in nats


def weigh_ngrams(comparison: ComparedSides) -> WeighedNgrams | None:
    """The contribution of each single n-gram; None without an n-gram profile."""
    members = list(ngram_members(comparison))
    profile = next((member for member in members if member.encoder.is_profile), None)
    if profile is None:
        return None
    columns = profile.columns[profile.encoder.has_own_dimension(profile.columns)]
    usual = profile.encoder.project_back(columns, profile.contribution.centre)  # (n-grams,)
    others = sum(of.contribution.value - of.contribution.product for of in members)
    contributions = _products(members, profile, columns, usual)
    contributions += others * _squares(profile, columns, usual)
    return WeighedNgrams(profile, columns, usual, contributions)


def explain_ngrams(comparison: ComparedSides) -> tuple[tuple[NgramContribution, ...], Balance]:
    """The n-grams that contribute most, whatever their sign, and what all parts add up to.

    The strongest comes first. There are none without an n-gram profile.
    """
    whole, weighed = comparison.log_bayes_factor, weigh_ngrams(comparison)
    if weighed is None or not len(weighed.columns):
        return (), Balance(whole, 0.0, 0.0, (), 0.0, whole)
    texts, contributions = weighed.profile.texts, weighed.contributions
    name_like = name_tokens(texts, weighed.profile.table.tokens)
    groups, are_parts_of_names = strongest_groups(
        texts, weighed.profile.table, weighed.columns, contributions, name_like, _CANDIDATES
    )
    groups.sort(key=lambda members: -abs(contributions[members].sum()))
    listed_groups = groups[:_SHOWN]
    members = list(chain.from_iterable(listed_groups))
    names_of = weighed.profile.table.ngrams(weighed.columns[members])
    ngrams = dict(zip(members, names_of, strict=True))
    habits = tuple(_habit(weighed, members, ngrams) for members in listed_groups)
    tokens = (token for text in texts for token in text.tokens)
    names = Counter(token for token, is_name in zip(tokens, name_like, strict=True) if is_name)
    listed = sum(habit.contribution for habit in habits)
    of_names, of_all = float(contributions[are_parts_of_names].sum()), float(contributions.sum())
    return habits, Balance(
        log_bayes_factor=whole,
        habits=listed,
        names=of_names,
        named=tuple(name for name, _ in names.most_common(_EXAMPLES)),
        other_ngrams=of_all - of_names - listed,
        rest=whole - of_all,
    )


def strongest_groups(
    texts: Sequence[NgramText],
    table: NgramTable,
    columns: IntArray,
    contributions: FloatArray,
    name_like: BoolArray,
    most: int,
) -> tuple[list[list[int]], BoolArray]:
    """The strongest n-grams, grouped by their places; and (n-grams,) which are parts of names.

    An n-gram is given by its index in `columns` and `contributions` (n-grams,), and `name_like` is
    (tokens,). At most `most` of the n-grams that are not parts of names are grouped.
    """
    is_pair = columns >= table.channels[2].start
    occurrences = Occurrences.of(texts, columns, is_pair)
    named = are_names(occurrences, name_like)
    left = np.flatnonzero(~named)
    strongest = left[np.argsort(-np.abs(contributions[left]), kind="stable")[:most]]

    ngrams = dict(zip(strongest.tolist(), table.ngrams(columns[strongest]), strict=True))

    def telling(at: int) -> tuple[int, bool]:
        return letters(ngrams[at]), ngrams[at].channel == 1

    order = sorted(ngrams, key=telling, reverse=True)
    return group(occurrences, np.array(order, np.int64)), named


def _products(
    members: Sequence[NgramMember], profile: NgramMember, columns: IntArray, usual: FloatArray
) -> FloatArray:
    """Each n-gram's part (n-grams,) of the product of both sides."""
    total = np.zeros(len(columns))
    for member in members:
        here = columns if member is profile else member.columns_of(profile.table, columns)
        known = here >= 0
        for text, of_profile in zip(member.texts, profile.texts, strict=True):
            above = of_profile.values[columns[known]] - usual[known]
            # In units of the value of a single occurrence, which differs between members.
            units = np.maximum(of_profile.unit_values[columns[known]], 1e-12)
            levels = above / units * text.unit_values[here[known]]
            direction = member.contribution.directions[text.side][text.place]
            total[known] += levels * member.encoder.project_back(here[known], direction)
    return total


def _squares(profile: NgramMember, columns: IntArray, usual: FloatArray) -> FloatArray:
    """Each n-gram's share (n-grams,) of the squared departures of both sides from the usual."""
    part = profile.contribution
    sides = np.stack([-usual, -usual])  # (sides, n-grams)
    for text in profile.texts:
        sides[text.side] += part.text_shares[text.side][text.place] * text.values[columns]
    means = (shares @ levs for shares, levs in zip(part.text_shares, part.levs, strict=True))
    whole = sum(float(np.square(mean - part.centre).sum()) for mean in means)
    return np.asarray(np.square(sides).sum(axis=0) / max(whole, 1e-300))


def _habit(
    weighed: WeighedNgrams, members: list[int], ngrams: Mapping[int, Ngram]
) -> NgramContribution:
    """The joint contribution of n-grams in the same places, named after the first."""
    profile, usual, contributions = weighed.profile, weighed.usual, weighed.contributions
    first, *others = members
    ngram, column = ngrams[first], weighed.columns[first]
    counts, sizes = [0, 0], [0, 0]
    expected = 0.0
    places: list[Place] = []
    words: Counter[str] = Counter()
    for number, text in enumerate(profile.texts):
        at = text.tokens_with(int(column))
        counts[text.side] += len(at)
        sizes[text.side] += len(text.tokens)
        expected += float(text.usual_counts(column[None], usual[first : first + 1])[0])
        places += [Place(number, *span) for span in spans_of(ngram, text, at)]
        words.update(text.tokens[token] for token in at.tolist())
    most = [word for word, _ in words.most_common(_EXAMPLES)] if ngram.channel == 0 else []
    also = (shown(ngrams[at]) for at in sorted(others, key=lambda at: -abs(contributions[at])))
    return NgramContribution(
        ngram=shown(ngram),
        channel=CHANNELS[ngram.channel],
        contribution=float(contributions[members].sum()),
        first=counts[0],
        second=counts[1],
        first_rate=1_000 * counts[0] / sizes[0],
        second_rate=1_000 * counts[1] / sizes[1],
        usual_rate=1_000 * expected / sum(sizes),
        words=tuple(most),
        with_it=tuple(dict.fromkeys(name for name in also if name != shown(ngram))),
        places=tuple(places),
    )


def shown(ngram: Ngram) -> str:
    """An n-gram in readable form: a dot for the edge of a word, ... for any other word."""
    if ngram.channel == 0:
        return ngram.parts[0].replace(START, "·").replace(END, "·")
    return " ".join(_shown_symbol(part) for part in ngram.parts)


def _shown_symbol(symbol: str) -> str:
    if symbol == MASK:
        return "…"
    if not symbol.startswith("~") or len(symbol) == 1:
        return symbol
    if symbol == "~#":
        return "‹number›"
    if not symbol[1].isalpha():
        return f"‹{symbol[1:]}›"
    case = {"C": "Aa", "U": "AA"}.get(symbol[1], "")
    return f"‹{case}…{symbol[2:]}›"


def letters(ngram: Ngram) -> int:
    """The number of characters that an n-gram shows: none for masked words and shapes."""
    if ngram.channel == 0:
        return len(ngram.parts[0].strip(START + END))
    return sum(
        len(part) for part in ngram.parts if part != MASK and (part[:1] != "~" or len(part) == 1)
    )


def spans_of(ngram: Ngram, text: NgramText, tokens: IntArray) -> list[tuple[int, int]]:
    """The spans of an n-gram in some tokens of a text, in characters."""
    spans: list[tuple[int, int]] = []
    for at in np.unique(tokens).tolist():
        start, end = int(text.spans[at, 0]), int(text.spans[at, 1])
        if ngram.channel == 0:
            spans += inside(ngram.parts[0], text.tokens[at], start, end)
        elif ngram.channel == 1:
            spans.append((start, end))
        else:
            spans.append((start, int(text.spans[at + 1, 1])))
    return spans


def inside(gram: str, token: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of a character n-gram in a token with this span.

    If normalisation has changed the length of the token, it is the whole token.
    """
    marked = f"{START}{token}{END}"
    if end - start != len(token) or gram not in marked:
        return [(start, end)]
    spans = []
    at = marked.find(gram)
    while at >= 0:
        first, last = max(0, at - 1), min(len(token), at - 1 + len(gram))
        spans.append((start + first, start + last))
        at = marked.find(gram, at + 1)
    return spans


@dataclass(frozen=True)
class Occurrences:
    """The occurrences of some n-grams, with tokens numbered across all texts."""

    tokens: int
    ngram: IntArray  # (occurrences,): index of the n-gram, sorted
    token: IntArray  # (occurrences,): the token that it is in or begins with
    is_pair: BoolArray  # (n-grams,): whether it spans two tokens

    @classmethod
    def of(cls, texts: Sequence[NgramText], columns: IntArray, is_pair: BoolArray) -> Occurrences:
        """The occurrences of the n-grams with these sorted columns, at most one per token."""
        starts = np.cumsum([0, *(len(text.tokens) for text in texts)])
        both = []
        for text, start in zip(texts, starts[:-1], strict=True):
            at = np.minimum(np.searchsorted(columns, text.columns), len(columns) - 1)
            known = columns[at] == text.columns
            both.append(np.stack([at[known], start + text.places[known]]))
        ngram, token = np.concatenate(both, axis=1)
        tokens = max(int(starts[-1]), 1)
        # As single numbers, which NumPy sorts many times as fast as pairs.
        ngram, token = np.divmod(np.unique(ngram * tokens + token), tokens)
        return cls(tokens, ngram, token, is_pair)

    def counts(self) -> IntArray:
        """The number of occurrences (n-grams,) of each n-gram."""
        return np.bincount(self.ngram, minlength=len(self.is_pair))

    def share_in(self, marked: BoolArray) -> FloatArray:
        """The share (n-grams,) of occurrences in marked tokens; `marked` is (tokens,)."""
        second = np.append(marked[1:], False)
        here = marked[self.token] | (self.is_pair[self.ngram] & second[self.token])
        inside = np.bincount(self.ngram, here, minlength=len(self.is_pair))
        return np.asarray(inside / np.maximum(self.counts(), 1))

    def tokens_of(self, ngram: int) -> IntArray:
        """The tokens that an n-gram begins in, sorted."""
        begin, end = np.searchsorted(self.ngram, [ngram, ngram + 1])
        return self.token[begin:end]


def group(occurrences: Occurrences, ngrams: IntArray) -> list[list[int]]:
    """Groups of n-grams, by index, that occur where the first of the group does.

    Each n-gram joins the rarest earlier group that occurs wherever it does, or begins a new one.
    """
    groups: list[list[int]] = []
    sizes: list[int] = []  # number of tokens in which the first n-gram of each group begins
    # For n-grams of one token, and for pairs: the groups in each token.
    in_token: tuple[dict[int, list[int]], ...] = (defaultdict(list), defaultdict(list))
    for ngram in ngrams.tolist():
        tokens, is_pair = occurrences.tokens_of(ngram).tolist(), bool(occurrences.is_pair[ngram])
        met = Counter(chain.from_iterable(in_token[is_pair].get(token, ()) for token in tokens))
        holding = [number for number, times in met.items() if times >= _SAME * len(tokens)]
        if not tokens:
            holding = list(range(len(groups)))
        if holding:
            groups[min(holding, key=lambda number: (sizes[number], number))].append(ngram)
            continue
        # Pairs of words must begin in the same token, a word may be in either of a pair.
        either = {*tokens, *(token + (1 if is_pair else -1) for token in tokens)}
        for places, where in ((tokens, in_token[is_pair]), (either, in_token[not is_pair])):
            for place in places:
                where[place].append(len(groups))
        groups.append([ngram])
        sizes.append(len(tokens))
    return groups


def are_names(occurrences: Occurrences, names: BoolArray) -> BoolArray:
    """Whether nearly all occurrences of an n-gram (n-grams,) are in `names` (tokens,)."""
    return np.asarray(occurrences.share_in(names) >= _NAMED)


def name_tokens(texts: Sequence[NgramText], frequent: Sequence[str]) -> BoolArray:
    """Whether each token (tokens,) of the texts seems to be a name or part of one.

    Names are capitalised words within a sentence, or anywhere if they are not among the `frequent`
    types. A word that also occurs in lower case in these texts is not a name, nor is a frequent
    one in capitals.
    """
    known, types = set(frequent), {token for text in texts for token in text.tokens}

    def seems_name(token: str) -> bool:
        small = token.lower()
        if not token[:1].isupper() or token == "I" or token.startswith("I'") or small in types:
            return False
        return not (token.isupper() and small in known)

    names = {token for token in types if seems_name(token)}
    rare = {token for token in names if token not in known and token.lower() not in known}
    return np.array(
        [
            token in rare or (token in names and not first)
            for text in texts
            for token, first in zip(text.tokens, _begin_sentences(text), strict=True)
        ],
        dtype=bool,
    )


def _begin_sentences(text: NgramText) -> Iterator[bool]:
    """For each token, whether it may begin a sentence, a line, or direct speech."""
    before, end = ".", 0
    for token, (start, stop) in zip(text.tokens, text.spans.tolist(), strict=True):
        sign = not any(map(str.isalnum, before)) and before[-1] in _ENDS | _OPENING
        yield sign or "\n" in text.text[end:start]
        before, end = token, stop
