"""How right the number is under the conditions of a case: known texts, population, words.

    python benchmarks/conditions.py [CORPORA] [--model general-en] [--cases 60] [--sets c50,email]

CORPORA holds dev/NAME/. Each case is one disputed text against 1, 3 or 5 known texts of one author,
half of the cases by the same author. Its population is drawn anew for each case, from texts by
authors who are not in it; or from another dev set, for a population of another genre. Texts may be
cut to their first words. All figures are means over the sets that have authors with texts enough:

    accuracy    of the sign of the Bayes factor
    beyond 2    share of cases with a log10 Bayes factor beyond 2 on either side
    misleading  share of cases with a log10 Bayes factor beyond 1 on the wrong side
    median      of the log10 Bayes factors of same-author cases
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA

import adhominem
from adhominem.arrays import BoolArray, FloatArray, Levs
from adhominem.evaluation.likelihood_ratio import cllr, cllr_min
from adhominem.evaluation.pan import auc
from adhominem.scoring.population import Population
from adhominem.text.files import Document
from adhominem.text.readers import read_pairs
from adhominem.verify.verifier import Verifier

KNOWN = (1, 3, 5)
POPULATIONS = (0, 5, 10, 20, 50, 100)
WORDS = (150, 500, 2_000)  # that texts are cut to; of the shorter ones, all
FEWEST_AUTHORS = 10  # with texts enough, for a set to count
OTHER = "another genre"
COLUMNS = ("AUC", "Cllr", "Cllr_min", "accuracy", "beyond 2", "misleading", "median")


@dataclass(frozen=True)
class Condition:
    """What a case has."""

    known: int
    population: int | str  # texts, or those of another genre
    words: int = 0  # of each text at most; 0: all

    def __str__(self) -> str:
        population = self.population or "none"
        return f"{self.known} | {population} | {self.words or 'all'}"


@dataclass(frozen=True)
class DevSet:
    """The texts of a dev set, each once."""

    name: str
    authors: np.ndarray  # (texts,)
    levs: Levs  # (texts, lev_size)

    def cases(self, known: int, count: int, seed: int) -> Iterator[tuple[list[int], int, bool]]:
        """The known texts, the disputed one, and whether one author wrote all of them."""
        rng = np.random.default_rng(seed)
        by_author = {author: np.flatnonzero(self.authors == author) for author in set(self.authors)}
        enough = sorted(author for author, texts in by_author.items() if len(texts) > known)
        for number in range(count):
            author, other = rng.choice(enough, 2, replace=False)
            texts = rng.permutation(by_author[author])
            same = number % 2 == 0
            disputed = texts[known] if same else rng.choice(by_author[other])
            yield texts[:known].tolist(), int(disputed), same

    def has_authors(self, known: int) -> bool:
        """Whether enough authors have more texts than that."""
        counts = np.unique(self.authors, return_counts=True)[1]
        return int((counts > known).sum()) >= FEWEST_AUTHORS


def read_set(verifier: Verifier, folder: Path, words: int) -> DevSet:
    """A dev set, with texts of so many words at most."""
    authors: dict[str, str] = {}
    for pair in read_pairs(folder):
        for document in (pair.first, pair.second):
            text = " ".join(document.text.split(" ")[:words]) if words else document.text
            authors.setdefault(text, document.author)
    levs = verifier.encode([Document(text=text) for text in authors])
    return DevSet(folder.name, np.array(list(authors.values())), levs)


def factors(
    verifier: Verifier, texts: DevSet, others: DevSet, condition: Condition, count: int
) -> tuple[FloatArray, BoolArray]:
    """The log10 Bayes factors of cases of a set, and whether one author wrote each."""
    rng = np.random.default_rng(zlib.crc32(texts.name.encode()))
    found, truth = [], []
    for known, disputed, same in texts.cases(condition.known, count, seed=condition.known):
        population = None
        if condition.population:
            source, size = texts, condition.population
            free = ~np.isin(texts.authors, texts.authors[[*known, disputed]])
            if isinstance(size, str):
                source, size, free = others, 50, np.ones(len(others.levs), dtype=bool)
            chosen = rng.permutation(np.flatnonzero(free))[:size]
            population = Population.of(source.levs[chosen])
        sides = [texts.levs[known]], [texts.levs[[disputed]]]
        found.append(float(verifier.score(*sides, population)[0]) / np.log(10))
        truth.append(same)
    return np.array(found), np.array(truth)


def row(log10: FloatArray, same: BoolArray) -> list[float]:
    """The figures of COLUMNS."""
    nats, wrong = log10 * np.log(10), np.where(same, -log10, log10)
    return [
        auc(log10, same),
        cllr(nats, same),
        cllr_min(nats, same),
        float(((log10 > 0) == same).mean()),
        float((np.abs(log10) > 2).mean()),
        float((wrong > 1).mean()),
        float(np.median(log10[same])),
    ]


def conditions() -> list[Condition]:
    """Those of the tables: the population, then the words of the texts."""
    sizes = [Condition(known, size) for known in KNOWN for size in (*POPULATIONS, OTHER)]
    cut = [Condition(known, size, w) for w in WORDS for known in KNOWN[::2] for size in (0, 50)]
    return sizes + cut


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="?", type=Path, default=DEFAULT_CORPORA)
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--sets", default="", help="names of dev sets; all that have enough texts")
    given = parser.parse_args(arguments)
    verifier = adhominem.load(given.model)
    folders = sorted((given.corpora / "dev").iterdir())
    chosen = given.sets.split(",") if given.sets else [folder.name for folder in folders]
    print(f"| known | population | words | sets | {' | '.join(COLUMNS)} |")
    print(f"|{'---|' * (4 + len(COLUMNS))}")
    sets: dict[int, list[DevSet]] = {}
    for condition in conditions():
        if condition.words not in sets:
            read = [folder for folder in folders if folder.name in chosen]
            sets = {
                condition.words: [read_set(verifier, folder, condition.words) for folder in read]
            }
        texts = [dev for dev in sets[condition.words] if dev.has_authors(condition.known)]
        rows = [
            row(*factors(verifier, dev, texts[at - 1], condition, given.cases))
            for at, dev in enumerate(texts)
        ]
        means = np.mean(rows, axis=0)
        shown = " | ".join(f"{value:.3f}" for value in means)
        print(f"| {condition} | {len(rows)} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
