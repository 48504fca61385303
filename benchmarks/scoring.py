"""How fast are pairs of LEVs scored, all at once and one by one?

    python benchmarks/scoring.py [CORPORA] [--set c50] [--model general-en] [--pairs 512]

The rival is the same scorer, called once for each pair. The floor is one reading of both LEVs of
each pair, as 32-bit numbers: the time of their sums. Without a population and with one; the best of
three.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA

import adhominem
from adhominem.arrays import Levs
from adhominem.scoring.population import Population
from adhominem.text.readers import read_pairs
from adhominem.verify.verifier import Verifier


def best_of_three(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def one_by_one(
    verifier: Verifier, first: Levs, second: Levs, population: Population | None
) -> None:
    for at in range(len(first)):
        verifier.scorer.scores(first[at : at + 1], second[at : at + 1], population)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="?", default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--set", default="c50")
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--pairs", type=int, default=512)
    arguments = parser.parse_args()
    verifier = adhominem.load(arguments.model)
    pairs = list(islice(read_pairs(arguments.corpora / "dev" / arguments.set), arguments.pairs))
    first, second = verifier.encode_pairs(pairs)
    floor = best_of_three(lambda: (first.sum(), second.sum()))
    print("| population | at once, pairs/s | one by one, pairs/s | ratio | floor, pairs/s |")
    print("|---" * 5 + "|")
    for population in (None, Population.of(np.concatenate([first, second]))):
        at_once = best_of_three(partial(verifier.scorer.scores, first, second, population))
        slow = best_of_three(partial(one_by_one, verifier, first, second, population))
        rates = [f"{len(pairs) / seconds:,.0f}" for seconds in (at_once, slow, floor)]
        told = "none" if population is None else f"{population.texts} texts"
        print(f"| {told} | {rates[0]} | {rates[1]} | {slow / at_once:.1f} | {rates[2]} |")


if __name__ == "__main__":
    main()
