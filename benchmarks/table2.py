"""The paper's Table 2 on other data: early-bird, single and ensemble, on every dev set.

    python benchmarks/table2.py DEV --early-bird MODEL --members MODEL MODEL ... [--also MODEL ...]

DEV holds pair sets in PAN's format. The early-bird model was trained without the contextual prefix
(`--set data.hidden_topics=1`), the members with it; the first of them is the single model; further
models have a row each. Each document is encoded once a model. The band of non-answers is the best
for each set, as in the paper.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from measure import run

from adhominem import Verifier, load, read_pairs
from adhominem.evaluation.pan import PairScores, summarise
from adhominem.score.decision import ensemble_log_bayes_factor
from adhominem.text.pan import Pair

MEASURES = ("auc", "c@1", "f05u_2020", "f1", "overall_2020")


def scores(verifier: Verifier, pairs: list[Pair], same: np.ndarray) -> PairScores:
    first, second = verifier.encode_pairs(pairs)
    return PairScores(verifier.score(first, second), verifier.distance(first, second), same)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dev", type=Path)
    parser.add_argument("--early-bird", type=Path, required=True)
    parser.add_argument("--members", type=Path, nargs="+", required=True)
    parser.add_argument("--also", type=Path, nargs="+", default=[])
    arguments = parser.parse_args()
    early_bird = load(arguments.early_bird)
    members = [load(path) for path in arguments.members]
    further = {path.name: load(path) for path in arguments.also}
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for folder in sorted(path for path in arguments.dev.iterdir() if path.is_dir()):
        pairs = list(read_pairs(folder))
        same = np.array([pair.same_author for pair in pairs], dtype=bool)
        blind = [pair.without_topics() for pair in pairs]
        of_set = {"early-bird": summarise(scores(early_bird, blind, same))}
        for ending, texts in (("", pairs), (", prefix hidden", blind)):
            if ending and blind == pairs:  # there are no topics to hide
                of_set |= {f"{name}{ending}": of_set[name] for name in ("single", "ensemble")}
                break
            of_members = [scores(member, texts, same) for member in members]
            of_set[f"single{ending}"] = summarise(of_members[0])
            factors = ensemble_log_bayes_factor([score.log_bayes_factor for score in of_members])
            mean_distance = np.mean([score.distance for score in of_members], axis=0)
            of_set[f"ensemble{ending}"] = summarise(PairScores(factors, mean_distance, same))
        for name, verifier in further.items():
            of_set[name] = summarise(scores(verifier, pairs, same))
        for name, row in of_set.items():
            rows.setdefault(name, {})[folder.name] = row
        print(f"{folder.name} done", file=sys.stderr, flush=True)
    sets = list(rows["single"])
    print(f"Mean over the {len(sets)} sets:\n")
    print(f"| system | {' | '.join(MEASURES)} | all pairs' AUC | distance's AUC |")
    print(f"|---|{'---|' * (len(MEASURES) + 2)}")
    for name, by_set in rows.items():
        shown = (*MEASURES, "bayes_factor_auc", "distance_auc")
        means = [np.mean([row[measure] for row in by_set.values()]) for measure in shown]
        print(f"| {name} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    print(f"\nAUC by set:\n\n| system | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}")
    for name, by_set in rows.items():
        print(f"| {name} | {' | '.join(format(by_set[dev]['auc'], '.3f') for dev in sets)} |")


if __name__ == "__main__":
    run(main)
