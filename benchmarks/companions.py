"""What companions cost, and what they do where there are few or none.

    python benchmarks/companions.py [CORPORA] [SET ...] [--draws 12] [--halves 5]

For each dev set, of the pairs that are answered with the set's own texts as the population:

1. seconds: to encode the texts, to prepare the population and to score, without companions and with
   them, and the ratio of both in all.
2. one pair an author: pairs are drawn at random as long as no author is in one already, as in PAN
   2020. So an author of a same-author pair has two texts there, and both are kept out; any other
   author has one. AUC and Cllr without and with companions, the mean of some draws.
3. strangers: half of the authors at random have their pairs answered, and the other half's texts
   are the population, all or one of each author. The companions of a text would then be nobody's.
   AUC without and with them, the mean of some halvings: why a text has companions only in a
   population that it is in itself.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA

import adhominem
from adhominem.evaluation.likelihood_ratio import cllr
from adhominem.evaluation.pan import auc
from adhominem.scoring.companions import FEWEST
from adhominem.scoring.population import Population
from adhominem.text.pan import Pair
from adhominem.text.readers import read_pairs
from adhominem.verify.verifier import Verifier


def costs(verifier: Verifier, pairs: list[Pair]) -> tuple[list[float], int]:
    """Seconds of encoding, and of the rest without and with companions; and distinct texts."""
    began = time.perf_counter()
    first, second = verifier.encode_pairs(pairs)
    seconds = [time.perf_counter() - began]
    levs = np.concatenate([first, second])
    for companions in (False, True):
        began = time.perf_counter()
        population = verifier.population_of(levs, companions=companions)
        verifier.score(first, second, population)
        seconds.append(time.perf_counter() - began)
    return seconds, population.texts


def one_pair_an_author(
    verifier: Verifier, pairs: list[Pair], draws: int, rng: np.random.Generator
) -> list[float]:
    """Pairs, then AUC and Cllr without companions and with them; the mean of some draws."""
    first, second = verifier.encode_pairs(pairs)
    same = np.array([pair.same_author for pair in pairs])
    rows = []
    for _ in range(draws):
        met: set[str] = set()
        chosen = []
        for at in rng.permutation(len(pairs)):
            authors = {pairs[at].first.author, pairs[at].second.author}
            if not authors & met:
                met |= authors
                chosen.append(at)
        levs = np.concatenate([first[chosen], second[chosen]])
        row = [float(len(chosen))]
        for companions in (False, True):
            population = verifier.population_of(levs, companions=companions)
            scores = verifier.score(first[chosen], second[chosen], population)
            row += [auc(scores, same[chosen]), cllr(scores, same[chosen])]
        rows.append(row)
    return [float(value) for value in np.mean(rows, axis=0)]


def among_strangers(
    verifier: Verifier, pairs: list[Pair], halves: int, rng: np.random.Generator
) -> dict[str, list[float]]:
    """By texts that a stranger has: their number, AUC without and with companions among them."""
    first, second = verifier.encode_pairs(pairs)
    same = np.array([pair.same_author for pair in pairs])
    by_author: dict[str, dict[str, np.ndarray]] = {}
    for pair, *sides in zip(pairs, first, second, strict=True):
        for document, lev in zip((pair.first, pair.second), sides, strict=True):
            by_author.setdefault(document.author, {})[document.text] = lev
    names = sorted(by_author)
    found: dict[str, list[list[float]]] = {"one": [], "all": []}
    for _ in range(halves):
        compared = set(rng.permutation(names)[: len(names) // 2])
        chosen = np.array([{pair.first.author, pair.second.author} <= compared for pair in pairs])
        for each, rows in found.items():
            levs = [
                lev
                for name in names
                if name not in compared
                for lev in list(by_author[name].values())[: 1 if each == "one" else None]
            ]
            if len(levs) < FEWEST:
                continue
            strangers = Population.of(np.array(levs))
            populations = strangers, verifier.scorer.with_companions(strangers, np.array(levs))
            scores = [
                # Not `score`, by which texts that are not in a population have no companions there.
                verifier.scales.of(population).fusion(
                    verifier.scorer.scores(first[chosen], second[chosen], population)
                )
                for population in populations
            ]
            rows.append([len(levs), *(auc(score, same[chosen]) for score in scores)])
    return {each: np.mean(rows, axis=0).tolist() for each, rows in found.items() if rows}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="?", default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("sets", nargs="*", help="dev sets; all unless named")
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--draws", type=int, default=12, help="of one pair an author")
    parser.add_argument("--halves", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    verifier = adhominem.load(arguments.model)
    folders = sorted(path for path in (arguments.corpora / "dev").iterdir() if path.is_dir())
    dev = {
        folder.name: list(read_pairs(folder))
        for folder in folders
        if not arguments.sets or folder.name in arguments.sets
    }
    print("| set | pairs | texts | encoding, s | without, s | with companions, s | in all, ratio |")
    print("|---" * 7 + "|")
    for name, pairs in dev.items():
        (encoding, without, with_them), texts = costs(verifier, pairs)
        ratio = (encoding + with_them) / (encoding + without)
        shown = " | ".join(f"{each:.1f}" for each in (encoding, without, with_them))
        print(f"| {name} | {len(pairs)} | {texts} | {shown} | {ratio:.2f} |", flush=True)
    rng = np.random.default_rng(arguments.seed)
    print("\nOne pair an author:\n")
    print("| set | pairs | AUC without | Cllr | AUC with companions | Cllr |")
    print("|---" * 6 + "|")
    rows = []
    for name, pairs in dev.items():
        count, *row = one_pair_an_author(verifier, pairs, arguments.draws, rng)
        print(f"| {name} | {count:.0f} | {' | '.join(map(_number, row))} |", flush=True)
        rows.append(row)
    print(f"| mean | | {' | '.join(map(_number, np.mean(rows, axis=0)))} |")
    print("\nAmong strangers:\n")
    print("| set | texts of each | texts | AUC without | AUC with companions |")
    print("|---" * 5 + "|")
    rng = np.random.default_rng(arguments.seed)
    for name, pairs in dev.items():
        for each, (count, *aucs) in among_strangers(verifier, pairs, arguments.halves, rng).items():
            shown = " | ".join(map(_number, aucs))
            print(f"| {name} | {each} | {count:.0f} | {shown} |", flush=True)


def _number(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


if __name__ == "__main__":
    main()
