"""How well the rival systems do: AUC and PAN 2020's overall score on every dev set.

    python benchmarks/baselines.py [CORPORA] [--pairs 2000] [--jobs 2] [--seed 0]

CORPORA holds train/NAME.jsonl.xz and dev/NAME/. Each baseline learns once, from pairs of all the
training corpora together: as many of each corpus as of the others, or all that it has; half by
the same author, across works, half by two authors of one corpus. The AUC is that of the answers,
as PAN takes it: pairs without an answer are ties.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measure import DEFAULT_CORPORA, measured, run

from adhominem.errors import InputError
from adhominem.evaluation.baselines import BASELINES, run_baseline
from adhominem.evaluation.pan import auc, overall_2020
from adhominem.pairs.cases import write_pair_set
from adhominem.paper.sampling import PairOptions
from adhominem.text.pan import Pair
from adhominem.text.readers import find_sources, read_pairs

OPTIONS = PairOptions(balanced=True, same_author_across="work", different_authors_within="corpus")


def training_pairs(corpora: Path, pairs: int, seed: int) -> list[Pair]:
    """Training pairs, `pairs` in all, or as many as there are documents for."""
    sources = find_sources(corpora)
    skipped: list[InputError] = []
    drawn: list[Pair] = []
    for source in sources:
        with TemporaryDirectory() as scratch:
            folder = Path(scratch) / "pairs"
            share = max(2, pairs // len(sources))
            write_pair_set([source], folder, OPTIONS, seed=seed, count=share, skipped=skipped)
            written = list(read_pairs(folder))
        print(f"{source.name}: {len(written)} training pairs", file=sys.stderr)
        drawn += written
    return drawn


def scores(name: str, train: Sequence[Pair], dev: dict[str, list[Pair]], jobs: int) -> list[str]:
    """Two cells for each dev set, and for their mean."""
    together = [pair for pairs in dev.values() for pair in pairs]
    with measured() as cost:
        said = run_baseline(name, train, together, jobs=jobs)
    print(f"{name}: {cost.seconds:.0f} s, {cost.peak_mb:.0f} MB at most", file=sys.stderr)
    truth = np.array([pair.same_author for pair in together], dtype=bool)
    ends = np.cumsum([len(pairs) for pairs in dev.values()])[:-1]
    rows = [
        [auc(value, same_author), overall_2020(value, same_author)]
        for value, same_author in zip(
            np.split(said.value, ends), np.split(truth, ends), strict=True
        )
    ]
    rows.append(np.mean(rows, axis=0).tolist())
    return [f"{area:.3f} | {overall:.3f}" for area, overall in rows]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="?", default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--pairs", type=int, default=2_000, help="training pairs in all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    train = training_pairs(arguments.corpora / "train", arguments.pairs, arguments.seed)
    folders = sorted(path for path in (arguments.corpora / "dev").iterdir() if path.is_dir())
    dev = {folder.name: list(read_pairs(folder)) for folder in folders}
    columns = [scores(name, train, dev, arguments.jobs) for name in BASELINES]
    print(f"\n{len(train)} training pairs, seed {arguments.seed}\n")
    print(f"| dev set | pairs | {' | '.join(f'{name} AUC | overall' for name in BASELINES)} |")
    print("|---" * (2 + 2 * len(BASELINES)) + "|")
    sizes = {**{name: str(len(pairs)) for name, pairs in dev.items()}, "mean": ""}
    for (name, size), *cells in zip(sizes.items(), *columns, strict=True):
        print(f"| {name} | {size} | {' | '.join(cells)} |")


if __name__ == "__main__":
    run(main)
