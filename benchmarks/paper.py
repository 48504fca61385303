"""The paper's experiment on blogs as rows for docs/paper.md, and the hours of PAN's sets.

    python benchmarks/paper.py PAPER [--json]

PAPER is what recipes/pan20-blogs/make.sh wrote to WORK/paper. Printed: all rows, and how long the
trainings of `pan20` would take on the same machine with PAN's files, from what was measured there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from measure import run

MEASURES = ["auc", "c@1", "f1", "f05u_2020", "overall_2020"]
MEASURES += ["f05u", "brier", "overall_2021", "delta"]
# The paper's Table 1: pairs of an epoch; and trainings: early-bird and ensemble, ensemble.
PAN = {"small": (47_340, 6), "large": (261_786, 5)}
CHARACTERS = 21_000  # of a text of PAN's, about
EPOCHS = 35  # of the preset pan20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paper", type=Path)
    paper = parser.parse_args().paper
    results = json.loads((paper / "results/results.json").read_text("utf-8"))
    print_row(["preset", "row", "system", "size", "set", "pairs", *MEASURES], head=True)
    for row in results["rows"]:
        scores = (f"{row['scores'][name]:.3f}" for name in MEASURES)
        names = ("preset", "number", "system", "size", "evaluation", "pairs")
        print_row([*(row[name] or "-" for name in names), *scores])
    print()
    print_row(["PAN's set", "pairs", "trainings", "hours in a row", "hours at once"], head=True)
    plan = json.loads((paper / "plan.json").read_text("utf-8"))
    for size, (pairs, trainings) in PAN.items():
        file = plan["inputs"]["sizes"][size]
        longer = 2 * CHARACTERS / (file["characters"] / file["pairs"])
        all_epochs = pairs * EPOCHS * trainings * longer
        rates = (plan["rates"]["training"], rate_at_once(paper, results["seconds"], size))
        hours = (f"{all_epochs * rate / 3600:.1f}" for rate in rates)
        print_row([size, f"{pairs:,}", trainings, *hours])


def rate_at_once(paper: Path, seconds: dict[str, float], size: str) -> float:
    """Seconds a pair and epoch of all trainings of a set side by side: those of the slowest."""
    place = paper / "pan20" / size
    took = [value for step, value in seconds.items() if step.startswith(f"pan20, {size}: train ")]
    epochs = len((place / "single/training.jsonl").read_text("utf-8").splitlines())
    totals: dict[str, dict[str, int]] = json.loads(
        (place / "split/manifest.json").read_text("utf-8")
    )["totals"]
    return max(took) / (len(took) * epochs * totals["train"]["documents"] / 2)


def print_row(cells: Iterable[object], *, head: bool = False) -> None:
    """A line of a Markdown table."""
    texts = [*map(str, cells)]
    print(f"| {' | '.join(texts)} |")
    if head:
        print(f"|{'---|' * len(texts)}")


if __name__ == "__main__":
    run(main)
