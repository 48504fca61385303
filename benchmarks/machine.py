"""Texts by machines: what the Bayes factor makes of them, and how often the model warns.

    python benchmarks/machine.py CORPORA [--model general-en]

CORPORA/machine/texts.jsonl.xz has essays and stories on the same prompts by people and by machines;
CORPORA/dev has the dev sets, all by people. Printed is, for each dev set, the share of its texts
that look machine-written (false alarms); for each machine and genre, the share that does; and how
often a comparison speaks for one person: of two texts by one machine, of one by a machine and one
by a person, of texts by two people. Without a population, and with half of the people's texts of
the genre as one, none of which is compared.
"""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path

import numpy as np
from measure import run

import adhominem
from adhominem.score.prose import SHORTEST
from adhominem.text.readers import read_pairs

PEOPLE = "human"
PAIRS = 200  # of each kind


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--model", default="general-en")
    arguments = parser.parse_args()
    verifier = adhominem.load(arguments.model)
    texts: dict[tuple[str, str], list[str]] = {}  # by genre and writer
    with lzma.open(
        arguments.corpora / "machine" / "texts.jsonl.xz", "rt", encoding="utf-8"
    ) as rows:
        for row in map(json.loads, rows):
            texts.setdefault((row["genre"], row["writer"]), []).append(row["text"])
    levs = {key: verifier.encode(of_key) for key, of_key in texts.items()}
    print("| texts by people | texts | look machine-written |")
    print("|---|---|---|")
    shares = []
    for path in sorted((arguments.corpora / "dev").iterdir()):
        of_set = {text.text for pair in read_pairs(path) for text in (pair.first, pair.second)}
        encoded = verifier.encode(sorted(of_set))
        encoded = encoded[encoded.log_tokens >= np.log(SHORTEST) - 1e-6]
        shares.append(float(verifier.looks_machine_written(encoded).mean()))
        print(f"| {path.name} | {len(encoded):,} | {shares[-1]:.1%} |")
    for (genre, writer), encoded in levs.items():
        if writer == PEOPLE:
            share = verifier.looks_machine_written(encoded).mean()
            print(f"| {genre}, taught with them | {len(encoded):,} | {share:.1%} |")
    print(f"\nThe most of a dev set: {max(shares):.1%}, the mean {np.mean(shares):.1%}.\n")
    print("| texts by machines | texts | look machine-written |")
    print("|---|---|---|")
    for (genre, writer), encoded in levs.items():
        if writer != PEOPLE:
            share = verifier.looks_machine_written(encoded).mean()
            print(f"| {writer}, {genre} | {len(encoded):,} | {share:.1%} |")
    print("\n| compared | genre | for one person, alone | with population |")
    print("|---|---|---|---|")
    random = np.random.default_rng(0)
    for genre in dict.fromkeys(genre for genre, _ in levs):
        people = levs[genre, PEOPLE]
        half = len(people) // 2
        population, others = verifier.population_of(people[:half]), people[half:]
        for writer in (writer for of_genre, writer in levs if of_genre == genre):
            encoded = others if writer == PEOPLE else levs[genre, writer]
            kinds = {f"{writer}, {writer}": (encoded, encoded)}
            if writer != PEOPLE:
                kinds[f"{writer}, {PEOPLE}"] = (encoded, others)
            for title, (first, second) in kinds.items():
                drawn = random.integers(0, [len(first), len(second)], (4 * PAIRS, 2))
                drawn = drawn[drawn[:, 0] != drawn[:, 1]][:PAIRS]
                shares = [
                    float((verifier.score(first[drawn[:, 0]], second[drawn[:, 1]], of) > 0).mean())
                    for of in (None, population)
                ]
                print(f"| {title} | {genre} | {shares[0]:.0%} | {shares[1]:.0%} |")


if __name__ == "__main__":
    run(main)
