"""How good the model of many languages is on each dev set, beside cosines that need no training.

    python benchmarks/languages.py [CORPORA] [--model general-any] [--card]

CORPORA holds dev-lang/NAME/, whose names begin with the code of their language. For every set, AUC
and Cllr of the model without a relevant population, with one of 10 and of 50 texts drawn from the
set, and with all of its texts; and the AUC of two cosines, of characters and of words: TF-IDF
vectors that are fitted to all of the set's texts, less their mean. Pairs are answered with even
priors, all of them. Below the sets stand means over languages, each the mean of its sets. `--card`
puts this table into the model's README.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from accuracy import Row, of_factors, population_rows, truth
from measure import DEFAULT_CORPORA, run

import adhominem
from adhominem.arrays import joined
from adhominem.model.card import put_section
from adhominem.model.folder import model_folder
from adhominem.text.pan import Pair
from adhominem.text.readers import read_pairs
from adhominem.verify.verifier import Verifier

POPULATIONS = (0, 10, 50)  # texts; and all
COSINES = {"characters, population": "characters", "words, population": "words"}
# The measures that are said of each system.
MEASURES = {"auc": "AUC", "cllr": "Cllr", "cllr_min": "Cllr_min"}


def model_rows(verifier: Verifier, pairs: Sequence[Pair]) -> dict[str, Row]:
    """The measures on one set, by the population that was given."""
    first, second = verifier.encode_pairs(pairs)
    texts = joined([first, second])
    order = np.random.default_rng(0).permutation(2 * len(pairs))
    rows = {}
    for size in (*POPULATIONS, len(order)):
        population = verifier.population_of(texts[order[:size]]) if size else None
        factors = verifier.score(first, second, population)
        rows["all" if size == len(order) else str(size)] = of_factors(factors, truth(pairs))
    return rows


def table(rows: Mapping[str, Mapping[str, Row]], pairs: Mapping[str, int]) -> Iterator[str]:
    """A row for each set, then the means over languages."""
    systems = list(next(iter(rows.values())))
    columns = [
        (system, key)
        for key in MEASURES
        for system in systems
        if not all(np.isnan(of_set[system][key]) for of_set in rows.values())
        and not (key == "cllr_min" and system in COSINES.values())
    ]
    heads = [f"{MEASURES[key]}, {system}" for system, key in columns]
    yield f"| set | pairs | {' | '.join(heads)} |"
    yield "|---" * (2 + len(heads)) + "|"
    cells = {
        name: [of_set[system][key] for system, key in columns] for name, of_set in rows.items()
    }
    for name, numbers in cells.items():
        yield f"| {name} | {pairs[name]} | {' | '.join(f'{number:.3f}' for number in numbers)} |"
    by_language: dict[str, list[list[float]]] = {}
    for name, numbers in cells.items():
        by_language.setdefault(name.split("-")[0], []).append(numbers)
    means = np.mean([np.mean(sets, axis=0) for sets in by_language.values()], axis=0)
    yield (
        f"| mean of {len(by_language)} languages | {sum(pairs.values())} | "
        f"{' | '.join(f'{number:.3f}' for number in means)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--model", default="general-any")
    parser.add_argument("--card", action="store_true")
    arguments = parser.parse_args()
    verifier = adhominem.load(arguments.model)
    rows: dict[str, dict[str, Row]] = {}
    counts = {}
    for folder in sorted((arguments.corpora / "dev-lang").iterdir()):
        name = folder.name
        if name.split("-")[0] not in verifier.languages:
            continue
        pairs = list(read_pairs(folder))
        cosines = population_rows({name: pairs})
        rows[name] = model_rows(verifier, pairs)
        rows[name] |= {short: cosines[long][name] for long, short in COSINES.items()}
        counts[name] = len(pairs)
        print(name, file=sys.stderr)
    lines = list(table(rows, counts))
    print("\n".join(lines))
    if arguments.card:
        folder = model_folder(arguments.model)
        put_section(folder, "accuracy", accuracy="\n".join(lines), script="languages.py")


if __name__ == "__main__":
    run(main)
