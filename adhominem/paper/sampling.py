"""New pairs from the same documents in every epoch: the paper's algorithms, and options.

Algorithms 1-3 have the paper's names. Group 1 holds single documents, at most one per author;
group 2 holds authors with at least two documents left. Each document is used at
most once, and every round uses up at least two, so sampling always ends.

The further options (`PairOptions`) keep the guarantees of these algorithms: no wrong label,
reproducible pairs for a seed and epoch and, except with `even_corpora`, no document twice in an
epoch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, IntArray
from adhominem.errors import OptionError
from adhominem.records import OneOf, Options, Share, SizeOrNone
from adhominem.text.corpus import UNKNOWN_LABEL, Labels

Item = TypeVar("Item")
Random = Callable[[], float]


@dataclass(frozen=True)
class DrawnPairs:
    """Pairs as indices of documents."""

    first: IntArray  # (pairs,)
    second: IntArray  # (pairs,)
    same_author: BoolArray  # (pairs,)

    def __post_init__(self) -> None:
        if not self.first.shape == self.second.shape == self.same_author.shape:
            raise ValueError("first, second and same_author must be of one length")

    def __len__(self) -> int:
        return len(self.first)

    @property
    def documents(self) -> IntArray:
        """The first documents, then the second ones (2 * pairs,)."""
        return np.concatenate([self.first, self.second])

    def __getitem__(self, chosen: npt.NDArray[np.generic] | slice) -> DrawnPairs:
        return DrawnPairs(self.first[chosen], self.second[chosen], self.same_author[chosen])

    @property
    def same_author_count(self) -> int:
        """The number of same-author pairs."""
        return int(self.same_author.sum())

    @property
    def different_author_count(self) -> int:
        """The number of different-author pairs."""
        return len(self) - self.same_author_count

    @classmethod
    def join(cls, *parts: DrawnPairs) -> DrawnPairs:
        """The pairs of several draws, in order."""
        columns = zip(*((part.first, part.second, part.same_author) for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))


class Group1:
    """At most one document per author, with all operations in constant time."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []  # (author, document)
        self._seat: dict[int, int] = {}  # author -> index in _entries

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, author: int) -> bool:
        return author in self._seat

    def add(self, author: int, document: int) -> None:
        """Add a document of an author who has none here."""
        self._seat[author] = len(self._entries)
        self._entries.append((author, document))

    def take(self, author: int) -> int:
        """Remove and return this author's document."""
        return self._take(self._seat[author])

    def draw(self, uniform: Random) -> int:
        """Remove and return a random document."""
        return self._take(int(uniform() * len(self._entries)))

    def _take(self, seat: int) -> int:
        author, document = self._entries[seat]
        last = self._entries.pop()
        del self._seat[author]
        if seat < len(self._entries):  # the last one moves into the gap
            self._entries[seat] = last
            self._seat[last[0]] = seat
        return document


def draw(items: list[Item], uniform: Random) -> Item:
    """Remove and return a random item in constant time."""
    index = int(uniform() * len(items))
    items[index], items[-1] = items[-1], items[index]
    return items.pop()


def make_two_groups(
    documents_by_author: list[list[int]], uniform: Random
) -> tuple[Group1, list[tuple[int, list[int]]]]:
    """Algorithm 1: groups 1 and 2; of an odd number of documents, a random one is in group 1."""
    group1 = Group1()
    group2: list[tuple[int, list[int]]] = []  # (author, documents)
    for author, documents in enumerate(documents_by_author):
        remaining = list(documents)
        if len(remaining) % 2 == 1:
            group1.add(author, draw(remaining, uniform))
        if remaining:
            group2.append((author, remaining))
    return group1, group2


def sample_pairs(author: npt.NDArray[np.integer], rng: random.Random) -> DrawnPairs:
    """Algorithm 3: pairs of documents, given the author of each, in the order of drawing."""
    uniform = rng.random
    order = np.argsort(author, kind="stable")
    by_author = np.split(order, np.flatnonzero(np.diff(author[order])) + 1)
    group1, group2 = make_two_groups([documents.tolist() for documents in by_author], uniform)
    pairs: list[tuple[int, int, bool]] = []

    def clean_after_sampling(writer: int, documents: list[int]) -> None:
        """Algorithm 2: move an author's remaining documents to their group."""
        if len(documents) > 1:
            group2.append((writer, documents))
        elif documents and writer in group1:
            pairs.append((documents[0], group1.take(writer), True))
        elif documents:
            group1.add(writer, documents[0])

    while group2 or len(group1) > 1:
        if group2:
            writer, documents = draw(group2, uniform)
            pairs.append((draw(documents, uniform), draw(documents, uniform), True))
            clean_after_sampling(writer, documents)
        if len(group1) > 1:
            pairs.append((group1.draw(uniform), group1.draw(uniform), False))
        elif len(group2) > 1:
            one, other = draw(group2, uniform), draw(group2, uniform)
            pairs.append((draw(one[1], uniform), draw(other[1], uniform), False))
            clean_after_sampling(*one)
            clean_after_sampling(*other)
    table = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    return DrawnPairs(table[:, 0], table[:, 1], table[:, 2].astype(bool))


@dataclass(frozen=True, kw_only=True)
class PairOptions(Options):
    """The pairs of an epoch. The defaults are the paper's.

    balanced                  equal numbers of same-author and different-author pairs
    same_author_across        "work" or "topic": same-author pairs come from two different ones;
                              documents where it is unknown make no same-author pair
    different_authors_within  "topic" or "corpus": different-author pairs share it;
                              documents without a topic pair within their corpus
    one_corpus_batches        every batch holds pairs of one corpus; different-author pairs are
                              then drawn within a corpus at least
    even_corpora              smaller corpora are drawn from several times an epoch, a whole number,
                              so that the shares of two corpora are about as the roots of their
                              documents
    most_rounds               how many times at most, so that the few texts of a tiny corpus are not
                              learnt by heart; 0 sets no limit
    class_shares              shares of all documents that make pairs of the same author and topic,
                              of the same author, of the same topic, and of neither, in place of
                              Algorithms 1-3; every unknown topic is one by itself
    """

    balanced: bool = False
    same_author_across: Annotated[str, OneOf("", "work", "topic")] = ""
    different_authors_within: Annotated[str, OneOf("", "topic", "corpus")] = ""
    one_corpus_batches: bool = False
    even_corpora: bool = False
    most_rounds: SizeOrNone = 0
    class_shares: tuple[Share, Share, Share, Share] = (0.0, 0.0, 0.0, 0.0)

    @property
    def within(self) -> str:
        """The label that a different-author pair must share: a topic, a corpus, or none."""
        return self.different_authors_within or ("corpus" if self.one_corpus_batches else "")


def draw_epoch(
    labels: Labels, *, seed: int, epoch: int, options: PairOptions | None = None
) -> DrawnPairs:
    """The pairs of one epoch, in random order."""
    options = options or PairOptions()
    if not (options.even_corpora and len(labels)):
        return _draw(labels, f"{seed}/{epoch}", _generator(seed, epoch), options)
    sizes = np.bincount(labels.corpus, minlength=len(labels.corpus_names))
    rounds = np.rint(np.sqrt(sizes.max() / np.maximum(sizes, 1))).astype(np.int64)  # (corpora,)
    if options.most_rounds:
        rounds = np.minimum(rounds, options.most_rounds)
    parts = []
    for turn in range(rounds[sizes > 0].max()):
        documents = np.flatnonzero(rounds[labels.corpus] > turn)
        rng = _generator(seed, epoch, 0, turn)
        drawn = _draw(labels.select(documents), f"{seed}/{epoch}/{turn}", rng, options)
        parts.append(DrawnPairs(documents[drawn.first], documents[drawn.second], drawn.same_author))
    pairs = DrawnPairs.join(*parts)
    return pairs[_generator(seed, epoch).permutation(len(pairs))]


def _draw(labels: Labels, seed: str, rng: np.random.Generator, options: PairOptions) -> DrawnPairs:
    """A draw by the paper's algorithms, paired again according to the options, or by classes."""
    if any(options.class_shares):
        pairs = _draw_classes(labels, options.class_shares, rng)
        return pairs[rng.permutation(len(pairs))]
    pairs = sample_pairs(labels.author, random.Random(seed))
    same, different = pairs[pairs.same_author], pairs[~pairs.same_author]
    if options.same_author_across:
        same = _rematch_same(same, labels, options, rng)
    if options.within:
        different = _match_different(different.documents, labels, options, rng)
    if options.balanced:
        same, different = _balance(same, different, labels, options, rng)
    pairs = DrawnPairs.join(same, different)
    return pairs[rng.permutation(len(pairs))]


def _draw_classes(
    labels: Labels, shares: tuple[float, ...], rng: np.random.Generator
) -> DrawnPairs:
    """Pairs of four classes, the rarest first, each of documents that are left.

    A class with too few documents has fewer pairs than its share.
    """
    every = np.arange(len(labels))
    unknown = len(labels.topic_names) + every
    topic = np.where(labels.topic == UNKNOWN_LABEL, unknown, labels.topic)  # (documents,)
    author = labels.author.astype(np.int64)
    writer_and_topic = author * (len(unknown) + len(labels.topic_names)) + topic
    left, parts = every, []
    for (group, apart, same_author), share in zip(
        (
            (writer_and_topic, every, True),
            (author, topic, True),
            (topic, author, False),
            (0 * every, topic, False),
        ),
        shares,
        strict=True,
    ):
        first, second = (left[one] for one in match_apart(group[left], apart[left], rng))
        drawn = DrawnPairs(first, second, author[first] == author[second])
        drawn = drawn[drawn.same_author == same_author]
        parts.append(drawn[rng.permutation(len(drawn))[: round(share * len(labels) / 2)]])
        left = np.setdiff1d(left, parts[-1].documents)
    return DrawnPairs.join(*parts)


def why_no_pairs(labels: Labels, options: PairOptions) -> str:
    """The reason why these labels and options make no pair, as part of a message."""
    across = options.same_author_across
    if across and (getattr(labels, across) == UNKNOWN_LABEL).all():
        return f"same_author_across is '{across}', but no document has a {across}: leave it out"
    return "expected at least two documents that the options of the pairs let meet"


def batches(
    pairs: DrawnPairs,
    labels: Labels,
    batch_size: int,
    *,
    seed: int,
    epoch: int,
    options: PairOptions | None = None,
) -> list[IntArray]:
    """Indices of pairs, batch by batch; with `one_corpus_batches`, each from one corpus.

    A pair between two corpora shares its batches with pairs between the same two.
    """
    if batch_size < 1:
        raise OptionError(f"batch_size is {batch_size}; expected 1 or more")
    rng = _generator(seed, epoch, batch_size)
    order = rng.permutation(len(pairs))

    def cut(rows: IntArray) -> list[IntArray]:
        return [rows[at : at + batch_size] for at in range(0, len(rows), batch_size)]

    if options is None or not options.one_corpus_batches:
        return cut(order)
    corpora = np.sort([labels.corpus[pairs.first], labels.corpus[pairs.second]], axis=0)[:, order]
    key = corpora[0].astype(np.int64) * len(labels.corpus_names) + corpora[1]
    parts = [part for one in np.unique(key) for part in cut(order[key == one])]
    return [parts[index] for index in rng.permutation(len(parts))]


def _generator(seed: int, epoch: int, *more: int) -> np.random.Generator:
    if seed < 0 or epoch < 0:
        raise OptionError(f"seed {seed}, epoch {epoch}: expected 0 or more")
    return np.random.default_rng([seed, epoch, *more])


def _rematch_same(
    same: DrawnPairs, labels: Labels, options: PairOptions, rng: np.random.Generator
) -> DrawnPairs:
    """The documents of the same-author pairs, paired again across works or topics."""
    label = labels.work if options.same_author_across == "work" else labels.topic
    documents = same.documents
    documents = documents[label[documents] != UNKNOWN_LABEL]
    first, second = match_apart(labels.author[documents], label[documents], rng)
    return DrawnPairs(documents[first], documents[second], np.ones(len(first), bool))


def _match_different(
    documents: IntArray, labels: Labels, options: PairOptions, rng: np.random.Generator
) -> DrawnPairs:
    """Different-author pairs of documents, within a topic or corpus if the options say so."""
    within = np.zeros(len(documents), np.int64)
    if options.within:
        within = labels.corpus[documents].astype(np.int64)
    if options.within == "topic":
        topics = len(labels.topic_names) + 1
        within = within * topics + labels.topic[documents] + 1  # no topic: one group per corpus
    first, second = match_apart(within, labels.author[documents], rng)
    return DrawnPairs(documents[first], documents[second], np.zeros(len(first), bool))


def _balance(
    same: DrawnPairs,
    different: DrawnPairs,
    labels: Labels,
    options: PairOptions,
    rng: np.random.Generator,
) -> tuple[DrawnPairs, DrawnPairs]:
    """Balanced pairs: half of surplus same-author pairs are mixed; the larger class is cut."""
    same, different = same[rng.permutation(len(same))], different[rng.permutation(len(different))]
    turned = max(0, (len(same) - len(different)) // 2)
    if turned:
        more = _match_different(same[:turned].documents, labels, options, rng)
        same, different = same[turned:], DrawnPairs.join(different, more)
    size = min(len(same), len(different))
    return same[:size], different[:size]


def match_apart(
    group: npt.NDArray[np.integer], key: npt.NDArray[np.integer], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """The largest possible number of random pairs of items of one group whose keys differ.

    With a group sorted by key, the i-th item is paired with the one half a group
    further on: both can have one key only if that key fills over half of the group.
    """
    rank = rng.permutation(key.max(initial=0) + 1)  # the keys in random order
    order = np.lexsort((rng.random(len(group)), rank[key], group))
    begins = np.flatnonzero(np.diff(group[order], prepend=group[order[:1]] - 1))
    sizes = np.diff(begins, append=len(group))
    position = np.arange(len(group)) - np.repeat(begins, sizes)
    size = np.repeat(sizes, sizes)
    paired = np.flatnonzero(position < size // 2)
    first, second = order[paired], order[paired + (size[paired] + 1) // 2]
    apart = key[first] != key[second]
    return first[apart], second[apart]
