"""An epoch of training pairs: the paper's draw, and what goes beyond it.

Every option keeps the promises of the paper's algorithms: no wrong label, the same pairs for
the same seed and epoch, and, but for `even_corpora`, no document twice in an epoch.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError
from adhominem.pairs.sampling import DrawnPairs, sample_pairs
from adhominem.records import OneOf, Options
from adhominem.text.labels import UNKNOWN_LABEL, Labels

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class PairOptions(Options):
    """What pairs an epoch may hold. The default is the paper's.

    balanced                  as many same-author as different-author pairs
    same_author_across        "work" or "topic": only pairs from two different ones;
                              documents where it is unknown make no same-author pair
    different_authors_within  "topic" or "corpus": only pairs from one and the same;
                              documents without a topic pair within their corpus
    one_corpus_batches        every batch holds pairs of one corpus; different-author pairs are
                              then drawn within a corpus at least
    even_corpora              smaller corpora are drawn from several times an epoch, a whole number,
                              so that the shares of two corpora are about as the roots of their
                              documents
    """

    balanced: bool = False
    same_author_across: Annotated[str, OneOf("", "work", "topic")] = ""
    different_authors_within: Annotated[str, OneOf("", "topic", "corpus")] = ""
    one_corpus_batches: bool = False
    even_corpora: bool = False

    @property
    def within(self) -> str:
        """What a different-author pair must share: a topic, a corpus, or nothing."""
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
    drawn = []
    for turn in range(rounds[sizes > 0].max()):
        some = np.flatnonzero(rounds[labels.corpus] > turn)
        rng = _generator(seed, epoch, 0, turn)
        found = _draw(labels.select(some), f"{seed}/{epoch}/{turn}", rng, options)
        drawn.append(DrawnPairs(some[found.first], some[found.second], found.same_author))
    pairs = DrawnPairs.join(*drawn)
    return pairs[_generator(seed, epoch).permutation(len(pairs))]


def _draw(labels: Labels, seed: str, rng: np.random.Generator, options: PairOptions) -> DrawnPairs:
    """The paper's draw, with the options that pair the drawn documents anew."""
    pairs = sample_pairs(labels.author, random.Random(seed))
    same, different = pairs[pairs.same_author], pairs[~pairs.same_author]
    if options.same_author_across:
        same = _rematch_same(same, labels, options, rng)
    if options.within:
        different = _match_different(_documents(different), labels, options, rng)
    if options.balanced:
        same, different = _balance(same, different, labels, options, rng)
    pairs = DrawnPairs.join(same, different)
    return pairs[rng.permutation(len(pairs))]


def why_no_pairs(labels: Labels, options: PairOptions) -> str:
    """What to say where a draw came out empty."""
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
    if options is None or not options.one_corpus_batches:
        return _cut(order, batch_size)
    corpora = np.sort(
        np.stack([labels.corpus[pairs.first], labels.corpus[pairs.second]], axis=1)[order], axis=1
    )
    key = corpora[:, 0].astype(np.int64) * len(labels.corpus_names) + corpora[:, 1]
    parts = [part for one in np.unique(key) for part in _cut(order[key == one], batch_size)]
    return [parts[index] for index in rng.permutation(len(parts))]


def _generator(seed: int, epoch: int, *more: int) -> np.random.Generator:
    if seed < 0 or epoch < 0:
        raise OptionError(f"seed {seed}, epoch {epoch}: expected 0 or more")
    return np.random.default_rng([seed, epoch, *more])


def _cut(order: IntArray, batch_size: int) -> list[IntArray]:
    return [order[at : at + batch_size] for at in range(0, len(order), batch_size)]


def _documents(pairs: DrawnPairs) -> IntArray:
    return np.concatenate([pairs.first, pairs.second])


def _rematch_same(
    same: DrawnPairs, labels: Labels, options: PairOptions, rng: np.random.Generator
) -> DrawnPairs:
    """The documents of the same-author pairs, paired anew across works or topics."""
    label = labels.work if options.same_author_across == "work" else labels.topic
    documents = _documents(same)
    documents = documents[label[documents] != UNKNOWN_LABEL]
    first, second = match_apart(labels.author[documents], label[documents], rng)
    return DrawnPairs(documents[first], documents[second], np.ones(len(first), bool))


def _match_different(
    documents: IntArray, labels: Labels, options: PairOptions, rng: np.random.Generator
) -> DrawnPairs:
    """Documents paired between authors, within the topic or the corpus if asked for."""
    within = np.zeros(len(documents), np.int64)
    if options.within:
        within = labels.corpus[documents].astype(np.int64)
    if options.within == "topic":
        topics = len(labels.topic_names) + 1
        within = within * topics + labels.topic[documents] + 1  # no topic: a group a corpus
    first, second = match_apart(within, labels.author[documents], rng)
    return DrawnPairs(documents[first], documents[second], np.zeros(len(first), bool))


def _balance(
    same: DrawnPairs,
    different: DrawnPairs,
    labels: Labels,
    options: PairOptions,
    rng: np.random.Generator,
) -> tuple[DrawnPairs, DrawnPairs]:
    """Turn half of the surplus of same-author pairs into others; then cut to the smaller class."""
    same, different = same[rng.permutation(len(same))], different[rng.permutation(len(different))]
    turned = max(0, (len(same) - len(different)) // 2)
    if turned:
        more = _match_different(_documents(same[:turned]), labels, options, rng)
        same, different = same[turned:], DrawnPairs.join(different, more)
    size = min(len(same), len(different))
    return same[:size], different[:size]


def match_apart(
    group: npt.NDArray[np.integer], key: npt.NDArray[np.integer], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Pair items of one group whose keys differ: as many pairs as there can be, at random.

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
