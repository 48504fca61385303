"""How good a model is on every dev set, beside its members and the baselines.

    python benchmarks/accuracy.py [CORPORA] [--model general-en] [--card]

CORPORA holds train/NAME.jsonl.xz (for the baselines) and dev/NAME/. For every dev set it prints
AUC, c@1, overall (2020), Cllr and Cllr_min of each baseline and of the model: without a relevant
population, and with the set's own texts as one (as `--population input` does). Pairs are answered
with even priors, all of them, whatever they are. What each member of the model is worth, the AUC of
that member by itself and of the model without it say; these are not calibrated, so they have no
Cllr.

Two baselines know the population as well, and need no training: the cosine of TF-IDF vectors that
are fitted to the set's own texts, less their mean. `--no-baselines` leaves the others out.

A last table is by length: both texts of each pair cut to a number of words, if they have as many.
`--card` puts this one, AUC and Cllr into the model's README.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from baselines import training_pairs
from measure import DEFAULT_CORPORA, run

import adhominem
from adhominem.arrays import AnyLevs, joined
from adhominem.evaluation.answers import answers_from
from adhominem.evaluation.baselines import BASELINES, distinct_texts, run_baseline
from adhominem.evaluation.measures import measure
from adhominem.model.card import put_section
from adhominem.model.folder import model_folder
from adhominem.score.decision import probability_same_author
from adhominem.text.pan import Pair
from adhominem.text.readers import read_pairs
from adhominem.text.sentences import first_words
from adhominem.verify.verifier import Verifier

MEASURES = {
    "auc": "AUC",
    "c@1": "c@1",
    "overall_2020": "overall",
    "cllr": "Cllr",
    "cllr_min": "Cllr_min",
}
MODES = {
    "": "without a population",
    ", population": "with one",
}
LENGTHS = (150, 300, 600, 1_200)
HONEST = 0.9  # Cllr of the shortest length that is said to be enough
Row = dict[str, float]


def truth(pairs: Sequence[Pair]) -> np.ndarray:
    return np.array([pair.same_author for pair in pairs], dtype=bool)


def of_factors(factors: np.ndarray, same_author: np.ndarray) -> Row:
    return measure(answers_from("", probability_same_author(factors), factors, same_author))


def all_modes(verifier: Verifier, first: AnyLevs, second: AnyLevs) -> list[np.ndarray]:
    """(pairs,) for each of MODES: log Bayes factors."""
    levs = joined([first, second])
    populations = (None, verifier.population_of(levs))
    return [verifier.score(first, second, population) for population in populations]


def only(verifier: Verifier, kept: Sequence[int]) -> Verifier:
    """Some members of a model, with the parameters that they have in the model, without bounds."""
    calibration = verifier.calibration
    if calibration is not None:
        calibration = replace(
            calibration,
            members=tuple(calibration.members[at] for at in kept),
            layer_weights=tuple(calibration.layer_weights[at] for at in kept),
            lower_bound=-np.inf,
            upper_bound=np.inf,
            bounds=(),
        )
    return Verifier([verifier.members[at] for at in kept], calibration, name=verifier.name)


def model_rows(model: str, dev: Mapping[str, list[Pair]]) -> dict[str, dict[str, Row]]:
    """The measures by system and dev set, for each member by itself and for the model."""
    verifier = adhominem.load(model)
    owners = np.repeat(
        np.arange(len(verifier.members) + 1),
        [*(member.lev_size for member in verifier.scorer.members), 1],
    )  # (lev_size,): of which member each number of a LEV is; the last is the text's length
    numbers = range(len(verifier.members))
    systems = {verifier.name: (verifier, list(range(verifier.lev_size)))}
    for at, name in enumerate(verifier.member_names if len(verifier.members) > 1 else ()):
        for title, kept in (
            (name, [at]),
            (f"without {name}", [other for other in numbers if other != at]),
        ):
            columns = np.flatnonzero(np.isin(owners, [*kept, len(numbers)]))
            systems[title] = (only(verifier, kept), columns.tolist())
    rows: dict[str, dict[str, Row]] = {}
    for set_name, pairs in dev.items():
        first, second = verifier.encode_pairs(pairs)
        for name, (system, part) in systems.items():
            answers = all_modes(system, first[:, part], second[:, part])
            for mode, factors in zip(MODES, answers, strict=True):
                row = of_factors(factors, truth(pairs))
                if system is not verifier:  # only the sum of all members was calibrated
                    row = {**row, "cllr": np.nan, "cllr_min": np.nan}
                rows.setdefault(f"{name}{mode}", {})[set_name] = row
        print(set_name, file=sys.stderr)
    last = sorted(rows, key=lambda title: title.startswith(verifier.name))  # the model itself
    return {title: rows[title] for title in last}


def baseline_rows(
    corpora: Path, dev: Mapping[str, list[Pair]], pairs: int, jobs: int
) -> dict[str, dict[str, Row]]:
    train = training_pairs(corpora / "train", pairs, seed=0)
    together = [pair for found in dev.values() for pair in found]
    ends = np.cumsum([len(found) for found in dev.values()])[:-1]
    rows = {}
    for name in BASELINES:
        said = run_baseline(name, train, together, jobs=jobs)
        factors = said.log_bayes_factor
        parts = [None] * len(dev) if factors is None else np.split(factors, ends)
        rows[name] = {
            set_name: measure(answers_from("", value, factor, truth(dev[set_name])))
            for set_name, value, factor in zip(dev, np.split(said.value, ends), parts, strict=True)
        }
        print(f"baseline {name}", file=sys.stderr)
    return rows


def population_rows(dev: Mapping[str, list[Pair]]) -> dict[str, dict[str, Row]]:
    """The measures of cosines of TF-IDF vectors fitted to a set's texts, less their mean."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    common = {"sublinear_tf": True, "max_features": 30_000}
    words = {"token_pattern": r"\w+|[^\w\s]", "ngram_range": (1, 2)}
    vectorizers = {
        "characters, population": TfidfVectorizer(
            analyzer="char", ngram_range=(2, 4), lowercase=False, **common
        ),
        "words, population": TfidfVectorizer(**words, **common),
    }
    rows: dict[str, dict[str, Row]] = {}
    for set_name, pairs in dev.items():
        texts, (first, second) = distinct_texts(pairs)
        for name, vectorizer in vectorizers.items():
            vectors = vectorizer.fit_transform(texts)
            products = (vectors @ vectors.T).toarray()  # (texts, texts)
            means = products.mean(axis=0)
            centred = products - means - means[:, None] + means.mean()
            lengths = np.sqrt(np.maximum(np.diag(centred), 1e-12))
            cosines = centred[first, second] / lengths[first] / lengths[second]
            value = np.clip(0.5 + cosines / 2, 0, 1)
            row = measure(answers_from("", value, None, truth(pairs)))
            rows.setdefault(name, {})[set_name] = {**row, "cllr": np.nan}  # no probability
        print(f"{set_name}: cosines", file=sys.stderr)
    return rows


def accuracy_table(rows: Mapping[str, Mapping[str, Row]], key: str) -> Iterator[str]:
    """One measure: a row for each set, a column for each system that has the measure."""
    systems = {
        system: of_sets
        for system, of_sets in rows.items()
        if not all(np.isnan(row[key]) for row in of_sets.values())
    }
    yield f"| {MEASURES[key]} | {' | '.join(systems)} |"
    yield "|---" * (1 + len(systems)) + "|"
    sets = list(next(iter(rows.values())))
    for name in sets:
        cells = (_number(of_sets[name][key]) for of_sets in systems.values())
        yield f"| {name} | {' | '.join(cells)} |"
    means = (float(np.mean([row[key] for row in of_sets.values()])) for of_sets in systems.values())
    yield f"| mean of {len(sets)} | {' | '.join(map(_number, means))} |"


def length_table(verifier: Verifier, dev: Mapping[str, list[Pair]]) -> Iterator[str]:
    yield f"| words | pairs | {' | '.join(f'AUC{mode} | Cllr{mode}' for mode in MODES)} |"
    yield "|---" * (2 + 2 * len(MODES)) + "|"
    enough: dict[str, list[int]] = {mode: [] for mode in MODES}
    for words in LENGTHS:
        rows: list[list[Row]] = []
        count = 0
        for pairs in dev.values():
            long = [
                pair
                for pair in pairs
                if min(len(text.text.split()) for text in (pair.first, pair.second)) >= words
            ]
            if len(long) < 30:
                continue
            cut = [shortened(pair, words) for pair in long]
            factors = all_modes(verifier, *verifier.encode_pairs(cut))
            rows.append([of_factors(of_mode, truth(cut)) for of_mode in factors])
            count += len(cut)
        cells = []
        for at, mode in enumerate(MODES):
            cllr = float(np.mean([row[at]["cllr"] for row in rows]))
            cells += [float(np.mean([row[at]["auc"] for row in rows])), cllr]
            if cllr < HONEST:
                enough[mode].append(words)
        yield f"| {words:,} | {count:,} | {' | '.join(_number(cell) for cell in cells)} |"
        print(f"{words} words", file=sys.stderr)
    yield ""
    for mode, title in MODES.items():
        shortest = f"{min(enough[mode])} words" if enough[mode] else "none of these lengths"
        yield f"The shortest texts with a mean Cllr below {HONEST} {title}: {shortest}."


def shortened(pair: Pair, words: int) -> Pair:
    """A pair cut to the first `words` words of each text."""
    first, second = (
        replace(text, text=first_words(text.text, words)) for text in (pair.first, pair.second)
    )
    return replace(pair, first=first, second=second)


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}".replace("0.", ".", 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="?", default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--pairs", type=int, default=2_000, help="training pairs of the baselines")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--card", action="store_true", help="write the tables into the model card")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--sets", default="", help="names of dev sets, with commas; all of them")
    arguments = parser.parse_args()
    folders = sorted(path for path in (arguments.corpora / "dev").iterdir() if path.is_dir())
    chosen = arguments.sets.split(",") if arguments.sets else [folder.name for folder in folders]
    dev = {folder.name: list(read_pairs(folder)) for folder in folders if folder.name in chosen}
    rows = population_rows(dev)
    if not arguments.no_baselines:
        rows |= baseline_rows(arguments.corpora, dev, arguments.pairs, arguments.jobs)
    rows |= model_rows(arguments.model, dev)
    tables = {key: "\n".join(accuracy_table(rows, key)) for key in MEASURES}
    print("\n\n".join(tables.values()))
    lengths = "\n".join(length_table(adhominem.load(arguments.model), dev))
    print(f"\n{lengths}")
    if arguments.card:
        accuracy = f"{tables['auc']}\n\n{tables['cllr']}"
        folder = model_folder(arguments.model)
        put_section(folder, "accuracy", accuracy=accuracy, lengths=lengths)


if __name__ == "__main__":
    run(main)
