"""Character and word n-grams as an encoder: TF-IDF, SVD, a two-covariance model; the AUC on dev.

    adhominem prepare CORPORA -o corpus
    python benchmarks/ngram_trial.py corpus DEV_PAIRS...

Channels, each a table of counts made TF-IDF (sublinear, unit length) and brought to few dimensions:

    characters  1- to 4-grams inside tokens, with marks for their beginning and end (12,000)
    tokens      the 3,000 most frequent token types
    bigrams     two neighbouring tokens of the 400 most frequent types, others masked (15,000)

LEVs are moved to the mean of their corpus in training, to the mean of their set on dev ("centred",
what a relevant population does), or to the mean of all training texts ("plain").
DEV_PAIRS are pair sets, packed by `prepare_pairs` or not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse
from scipy.sparse.linalg import svds
from trial import open_pairs

from adhominem.config import preset
from adhominem.evaluation.pan import auc
from adhominem.scoring.two_covariance import TwoCovariance
from adhominem.text.corpus import PackedCorpus

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
START, END = "\x02", "\x03"
SIZES = {"characters": (12_000, 300), "tokens": (3_000, 200), "bigrams": (15_000, 200)}
MASKED_TYPES = 400
SVD_DOCUMENTS = 3_000  # of each corpus: or the largest would decide


class Lexicon:
    """Token types numbered alike for all corpora."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def rows(self, corpus: PackedCorpus) -> tuple[IntArray, IntArray]:
        """The document and the type of every token."""
        known = np.array(
            [self.numbers.setdefault(kind, len(self.numbers)) for kind in corpus.types]
        )
        documents = np.repeat(np.arange(len(corpus)), corpus.lengths)
        return documents, known[np.asarray(corpus.tokens)]


def counts(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> sparse.csr_matrix:
    ones = np.ones(len(rows), np.float32)
    return sparse.coo_matrix((ones, (rows, columns)), shape=shape).tocsr()


def spellings(types: list[str]) -> sparse.csr_matrix:
    """(types, n-grams): the character n-grams of each token type."""
    grams: dict[str, int] = {}
    found: list[int] = []
    ends = [0]
    for kind in types:
        marked = f"{START}{kind}{END}"
        found += [
            grams.setdefault(marked[at : at + size], len(grams))
            for size in (1, 2, 3, 4)
            for at in range(len(marked) - size + 1)
            if marked[at : at + size] not in (START, END)
        ]
        ends.append(len(found))
    data = np.ones(len(found), np.float32)
    return sparse.csr_matrix((data, found, ends), shape=(len(types), len(grams)))


def most_frequent(table: sparse.csr_matrix, size: int) -> IntArray:
    return np.argsort(-np.asarray(table.sum(0)).ravel(), kind="stable")[:size]


class Channel:
    """TF-IDF and SVD, learnt from training counts."""

    def __init__(self, train: sparse.csr_matrix, corpus: npt.NDArray[np.int32], size: int) -> None:
        frequency = np.asarray((train > 0).sum(0)).ravel()
        self.idf = (np.log((1 + train.shape[0]) / (1 + frequency)) + 1).astype(np.float32)
        rng = np.random.default_rng(0)
        some = np.concatenate(
            [
                rng.permutation(np.flatnonzero(corpus == each))[:SVD_DOCUMENTS]
                for each in np.unique(corpus)
            ]
        )
        _, _, basis = svds(self.weigh(train[some]), k=size, random_state=0)
        self.basis = basis.T.astype(np.float32)  # (features, size)

    def weigh(self, table: sparse.csr_matrix) -> sparse.csr_matrix:
        weighted = table.astype(np.float32).copy()
        weighted.data = 1 + np.log(weighted.data)
        weighted = weighted @ sparse.diags(self.idf)
        lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(1)).ravel())
        return (sparse.diags(1 / np.maximum(lengths, 1e-9)) @ weighted).astype(np.float32).tocsr()

    def levs(self, table: sparse.csr_matrix) -> FloatArray:
        return np.asarray(self.weigh(table) @ self.basis)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("dev", type=Path, nargs="+")
    arguments = parser.parse_args()
    train = PackedCorpus.open(arguments.corpus)
    config = preset("pan20")
    dev = {path.name: open_pairs(path, config) for path in arguments.dev}
    lexicon = Lexicon()
    tokens = {name: lexicon.rows(each) for name, each in {"": train, **dev}.items()}
    sizes = {name: len(each) for name, each in {"": train, **dev}.items()}
    kinds = len(lexicon.numbers)
    tables = {name: counts(*rows, (sizes[name], kinds)) for name, rows in tokens.items()}
    grams = spellings(list(lexicon.numbers))
    grams = grams[:, most_frequent(sparse.csr_matrix(tables[""].sum(0)) @ grams, 12_000)]
    frequent = most_frequent(tables[""], SIZES["tokens"][0])
    masked = np.zeros(kinds, np.int64)
    masked[frequent[:MASKED_TYPES]] = np.arange(1, MASKED_TYPES + 1)
    pairs = {name: bigrams(*rows, masked, sizes[name]) for name, rows in tokens.items()}
    common = most_frequent(pairs[""], SIZES["bigrams"][0])
    channels = {
        "characters": {name: (table @ grams).tocsr() for name, table in tables.items()},
        "tokens": {name: table[:, frequent] for name, table in tables.items()},
        "bigrams": {name: table[:, common] for name, table in pairs.items()},
    }
    levs: dict[str, dict[str, FloatArray]] = {}
    corpus = train.labels.corpus
    print(f"| channels | | mean | {' | '.join(dev)} |\n|---|---|---|{'---|' * len(dev)}")
    for channel, found in channels.items():
        fitted = Channel(found[""], corpus, SIZES[channel][1])
        levs[channel] = {name: fitted.levs(table) for name, table in found.items()}
        report(channel, levs[channel], train, dev)
    joined = {name: np.hstack([each[name] for each in levs.values()]) for name in tables}
    report("all three", joined, train, dev)


def bigrams(documents: IntArray, kinds: IntArray, masked: IntArray, size: int) -> sparse.csr_matrix:
    """(documents, pairs of types): neighbours of which at least one is not masked."""
    symbols = masked[kinds]
    both = symbols[:-1] * (MASKED_TYPES + 1) + symbols[1:]
    inside = (documents[:-1] == documents[1:]) & (both > 0)
    return counts(documents[:-1][inside], both[inside], (size, (MASKED_TYPES + 1) ** 2))


def report(
    name: str, levs: dict[str, FloatArray], train: PackedCorpus, dev: dict[str, PackedCorpus]
) -> None:
    corpus, author = train.labels.corpus, train.labels.author
    centred = levs[""].astype(np.float64)
    for each in np.unique(corpus):
        centred[corpus == each] -= centred[corpus == each].mean(axis=0)
    several = np.bincount(author)[author] > 1
    model = TwoCovariance(max_iterations=20).fit(centred[several], author[several])
    for kind in ("centred", "plain"):
        found = []
        for set_name, pairs in dev.items():
            each = levs[set_name].astype(np.float64)
            each = each - (each if kind == "centred" else levs[""]).mean(axis=0)
            scores = model.log_bayes_factor(each[0::2], each[1::2])
            assert pairs.same_author is not None
            found.append(auc(scores, pairs.same_author))
        shown = " | ".join(f"{value:.3f}" for value in found)
        print(f"| {name} | {kind} | {np.mean(found):.3f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
