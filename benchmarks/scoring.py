"""How fast are pairs of LEVs scored, all at once and one by one?

    python benchmarks/scoring.py [CORPORA] [--set c50] [--model general-en] [--pairs 512]
        [--drawn 10000]

Pairs of texts of which each is in one pair alone, and pairs drawn among the same texts. The rival
is the same scorer, called once for each pair. The floor is one reading of both LEVs of each pair,
of the numbers that are kept: the time of their sums. Without a population and with one; the best of
three, in seconds of the CPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA, run

import adhominem
from adhominem.arrays import Levs, SparseRows, joined
from adhominem.score.population import Population
from adhominem.text.readers import read_pairs
from adhominem.verify.verifier import Verifier


def best_of_three(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        began = time.thread_time()
        work()
        seconds.append(time.thread_time() - began)
    return min(seconds)


def one_by_one(
    verifier: Verifier, first: Levs, second: Levs, population: Population | None
) -> None:
    for at in range(len(first)):
        verifier.scorer.scores(first[at : at + 1], second[at : at + 1], population)


def read(levs: Levs) -> None:
    """Add up all that is kept of LEVs."""
    for part in levs.parts:
        for array in (part.places, part.values) if isinstance(part, SparseRows) else (part,):
            array.sum()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="?", default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--set", default="c50")
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--pairs", type=int, default=512)
    parser.add_argument("--drawn", type=int, default=10_000, help="pairs drawn among their texts")
    arguments = parser.parse_args()
    verifier = adhominem.load(arguments.model)
    pairs = list(islice(read_pairs(arguments.corpora / "dev" / arguments.set), arguments.pairs))
    sides = [
        verifier.encode([getattr(pair, name) for pair in pairs]) for name in ("first", "second")
    ]
    levs = joined(sides)
    floor = best_of_three(lambda: read(levs)) / len(pairs)
    print(f"{levs.nbytes / len(levs):,.0f} bytes a LEV; plain, {4 * verifier.lev_size:,}\n")
    print("| pairs | population | at once, µs a pair | one by one | ratio | floor | above it |")
    print("|---" * 7 + "|")
    drawn = np.random.default_rng(0).integers(0, len(levs), (2, arguments.drawn))
    for population in (None, Population.of(levs)):
        name = "none" if population is None else f"{population.texts} texts"
        slow = best_of_three(partial(one_by_one, verifier, sides[0], sides[1], population)) / len(
            pairs
        )
        for first, second in (sides, (levs[drawn[0]], levs[drawn[1]])):
            score = partial(verifier.scorer.scores, first, second, population)
            at_once = best_of_three(score) / len(first)
            cells = [f"{1e6 * seconds:,.0f}" for seconds in (at_once, slow)]
            print(
                f"| {len(first):,} | {name} | {cells[0]} | {cells[1]} | {slow / at_once:.1f} "
                f"| {1e6 * floor:.1f} | {at_once / floor:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    run(main)
