"""How right the number is under the conditions of a case: known texts, population, words.

    python benchmarks/conditions.py [CORPORA] [--model general-en] [--cases 200] [--sets c50,email]
        [--unknown] [--common] [--json [FILE]]

CORPORA holds dev/NAME/. Each case is a disputed text against 1, 3 or 5 known texts of one author,
or 3 against 3, half of the cases by the same author. Its population is drawn for each case,
from texts by authors who are not in it; half of it or all of it may be of another dev set, and so
of another genre, or it may be all texts of the set, those of the case among them. Texts may be cut
to their first words, those of the population, too, or only one of both; or be made of several by
one author. All figures are means over the sets that have authors with texts enough:

    accuracy    of the sign of the Bayes factor
    beyond 2    share of cases with a log10 Bayes factor beyond 2 on either side
    wrong > 1   share of cases with a log10 Bayes factor beyond 1 on the wrong side; likewise > 2
    median      of the log10 Bayes factors of same-author cases

Cllr_min is fitted to the very cases that it is measured on. With this many cases of a set it is too
good by `optimism`: the same difference for numbers that are calibrated by construction.

With --unknown, the model does not know the genre of a set (and its like): that of its name. With
--common, numbers of known texts are compared, on those sets alone that have authors with texts
enough for all of them.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA, run

import adhominem
from adhominem.arrays import BoolArray, FloatArray, IntArray, Levs
from adhominem.evaluation.measures import cllr, cllr_min
from adhominem.evaluation.pan import auc
from adhominem.score.scorer import Scorer
from adhominem.text.files import Document
from adhominem.text.readers import read_pairs
from adhominem.verify.verifier import Verifier

KNOWN = (1, 3, 5)
POPULATIONS = (0, 5, 10, 20, 50, 100)
WORDS = (150, 500, 1_500)  # that texts are cut to; of the shorter ones, all
LONG = (4_000, 8_000)  # words of a known text that is made of several
SHORTEST_JOINED = 0.7  # of them
FEWEST_AUTHORS = 8  # with texts enough, for a set to count
OTHER, MIXED, OWN = "another genre", "half another genre", "the set itself"
STRANGERS = 50
COLUMNS = (
    "AUC", "Cllr", "Cllr_min", "difference", "optimism", "accuracy", "beyond 2", "wrong > 1",
    "wrong > 2", "median",
)  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """The condition that cases are drawn under."""

    known: int
    population: int | str  # texts, or what they are
    words: int = 0  # of each text at most; 0: all
    disputed: int = 1
    joined: int = 0  # words of the known text, made of several
    population_words: int | None = None  # of each text of it, if not as many as of the others

    def __str__(self) -> str:
        sides = f"{self.known}" if self.disputed == 1 else f"{self.known} : {self.disputed}"
        words = f"{self.joined:,} : all" if self.joined else f"{self.words or 'all'}"
        population = f"{self.population or 'none'}"
        if self.population_words is not None:
            population += f" of {self.population_words or 'all'} words"
        return f"{sides} | {population} | {words}"


@dataclass(frozen=True)
class EncodedTexts:
    """Encoded texts by their authors."""

    authors: np.ndarray  # (texts,)
    levs: Levs


class DevSet:
    """The distinct texts of a dev set, followed by texts of another set and of a population."""

    def __init__(
        self,
        scorer: Scorer,
        name: str,
        texts: EncodedTexts,
        others: Levs,
        population: EncodedTexts | None,
    ) -> None:
        self.scorer, self.name, authors = scorer, name, texts.authors
        rows = np.concatenate([texts.levs, others])
        self.others = np.arange(len(texts.levs), len(rows))
        self.population_authors, self.first = authors, 0  # of the texts that populations are of
        if population is not None:
            self.population_authors, self.first = population.authors, len(rows)
            rows = np.concatenate([rows, population.levs])
        self.log_tokens = rows[:, -1].astype(np.float64)
        self.tables = scorer.tables(rows)
        self.by_author = {name: np.flatnonzero(authors == name) for name in sorted(set(authors))}

    def enough(self, condition: Condition) -> list[str]:
        """The authors with enough texts for a condition; empty if these are too few."""
        wanted = condition.known + condition.disputed
        enough = [name for name, texts in self.by_author.items() if len(texts) >= wanted]
        if condition.joined:
            least = np.log(SHORTEST_JOINED * condition.joined)  # a long text comes first
            enough = [at for at in enough if self.log_tokens[self.by_author[at][0]] >= least]
        return enough if len(enough) >= FEWEST_AUTHORS else []

    def factors(self, condition: Condition, count: int) -> tuple[FloatArray, BoolArray] | None:
        """The log10 Bayes factors of cases, and whether one author wrote each."""
        enough = self.enough(condition)
        if not enough:
            return None
        rng = np.random.default_rng([condition.known, condition.disputed, condition.words])
        drawn = np.random.default_rng(zlib.crc32(self.name.encode()))
        factors, truth = [], []
        for number in range(count):
            author, other = rng.choice(enough, 2, replace=False)
            texts, same = rng.permutation(self.by_author[author]), number % 2 == 0
            if condition.joined:
                texts = np.sort(texts)
            rest = texts[condition.known :] if same else self.by_author[other]
            rest = rng.permutation(rest[1:] if condition.joined and not same else rest)
            known, disputed = texts[: condition.known], rest[: condition.disputed]
            population = None
            if condition.population:
                population = self._population(condition, {author, other}, drawn)
            answer = self.scorer.among(self.tables, known[None], disputed[None], population)
            factors.append(float(answer.log_bayes_factor[0]) / np.log(10))
            truth.append(same)
        return np.array(factors), np.array(truth)

    def _population(
        self, condition: Condition, authors: set[str], rng: np.random.Generator
    ) -> IntArray:
        if condition.population == OWN:
            return np.arange(len(self.population_authors))
        free = np.flatnonzero(~np.isin(self.population_authors, list(authors)))
        free = self.first + rng.permutation(free)
        if condition.population == OTHER:
            return self.others[:STRANGERS]
        if condition.population == MIXED:
            return np.concatenate([free[: STRANGERS // 2], self.others[: STRANGERS // 2]])
        return free[: int(condition.population)]


def read_texts(folder: Path, words: int) -> dict[str, str]:
    """The author of each text of a dev set, cut to `words` words."""
    authors: dict[str, str] = {}
    for pair in read_pairs(folder):
        for document in (pair.first, pair.second):
            text = " ".join(document.text.split(" ")[:words]) if words else document.text
            authors.setdefault(text, document.author)
    return authors


def with_joined(authors: dict[str, str], words: int) -> dict[str, str]:
    """One long text of each author with enough texts, then the texts that are not in it."""
    by_author: dict[str, list[str]] = {}
    for text, author in authors.items():
        by_author.setdefault(author, []).append(text)
    joined, rest = {}, {}
    for author, texts in by_author.items():
        lengths = np.cumsum([len(text.split()) for text in texts])
        parts = min(int(np.searchsorted(lengths, words)) + 1, len(texts) - 1)
        if parts and lengths[parts - 1] >= SHORTEST_JOINED * words:
            joined["\n\n".join(texts[:parts])] = author
            texts = texts[parts:]
        rest.update(dict.fromkeys(texts, author))
    return {**joined, **rest}


def optimism(log10: FloatArray, same: BoolArray, draws: int = 20) -> float:
    """The difference of Cllr and Cllr_min for this many cases with well-calibrated numbers.

    The truth of each case is drawn by its number, stretched to match the quality of the ranking.
    """
    from adhominem.statistics import logistic

    constant, slope = logistic((log10 * np.log(10))[None], same, np.ones(len(same)), 1e-6)
    nats = constant + slope * log10 * np.log(10)
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(draws):
        truth = rng.random(len(nats)) < 1 / (1 + np.exp(-nats))
        if 0 < truth.sum() < len(truth):
            gaps.append(cllr(nats, truth) - cllr_min(nats, truth))
    return float(np.mean(gaps))


def row(log10: FloatArray, same: BoolArray) -> list[float]:
    """The figures of COLUMNS."""
    nats, wrong = log10 * np.log(10), np.where(same, -log10, log10)
    cost, least = cllr(nats, same), cllr_min(nats, same)
    return [
        auc(log10, same),
        cost,
        least,
        cost - least,
        optimism(log10, same),
        float(((log10 > 0) == same).mean()),
        float((np.abs(log10) > 2).mean()),
        float((wrong > 1).mean()),
        float((wrong > 2).mean()),
        float(np.median(log10[same])),
    ]


def conditions() -> list[Condition]:
    """The conditions of the tables: by population, then several disputed texts, then words."""
    sizes = [Condition(k, size) for k in KNOWN for size in (*POPULATIONS, OWN, MIXED, OTHER)]
    sizes += [Condition(3, size, disputed=3) for size in (0, 50)]
    cut = [Condition(known, size, w) for w in WORDS for known in KNOWN[::2] for size in (0, 50)]
    cut += [Condition(k, 50, WORDS[0], population_words=0) for k in KNOWN[::2]]
    cut += [Condition(k, 50, population_words=WORDS[0]) for k in KNOWN[::2]]
    return [*sizes, *cut, *(Condition(1, size, joined=w) for w in LONG for size in (0, 50))]


def dev_sets(
    verifier: Verifier, folders: Sequence[Path], condition: Condition, unknown: bool
) -> list[DevSet]:
    """The dev sets, encoded for a condition; each borrows texts of the previous one."""

    def encode(authors: dict[str, str]) -> EncodedTexts:
        levs = verifier.encode([Document(text=text) for text in authors])
        return EncodedTexts(np.array(list(authors.values())), levs)

    encoded = []
    for folder in folders:
        authors = read_texts(folder, condition.words)
        if condition.joined:
            authors = with_joined(authors, condition.joined)
        encoded.append(encode(authors))
    made = []
    for at, (folder, texts) in enumerate(zip(folders, encoded, strict=True)):
        scorer = verifier.scorer.without(folder.name) if unknown else verifier.scorer
        others = encoded[at - 1].levs
        chosen = np.random.default_rng(at).permutation(len(others))[:STRANGERS]
        population = None
        if condition.population_words is not None:
            population = encode(read_texts(folder, condition.population_words))
        made.append(DevSet(scorer, folder.name, texts, others[chosen], population))
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--sets", default="", help="names of dev sets; all that have enough texts")
    parser.add_argument("--unknown", action="store_true", help="the model knows no set's genre")
    parser.add_argument("--common", action="store_true", help="known texts, on the same sets")
    given = parser.parse_args(arguments)
    verifier = adhominem.load(given.model)
    folders = sorted((given.corpora / "dev").iterdir())
    chosen = given.sets.split(",") if given.sets else [folder.name for folder in folders]
    read = [folder for folder in folders if folder.name in chosen]
    print(f"| known | population | words | sets | {' | '.join(COLUMNS)} |")
    print(f"|{'---|' * (4 + len(COLUMNS))}")
    sets: dict[tuple[int, int, int | None], list[DevSet]] = {}
    wanted = conditions()
    if given.common:
        wanted = [Condition(k, size) for size in (0, 20, 50) for k in KNOWN]
        whole = dev_sets(verifier, read, wanted[0], given.unknown)
        sets = {(0, 0, None): [dev for dev in whole if dev.enough(wanted[-1])]}
    for condition in wanted:
        texts = (condition.words, condition.joined, condition.population_words)
        if texts not in sets:
            sets = {texts: dev_sets(verifier, read, condition, given.unknown)}
        answers = [dev.factors(condition, given.cases) for dev in sets[texts]]
        rows = [row(*answer) for answer in answers if answer is not None]
        if rows:
            shown = " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
            print(f"| {condition} | {len(rows)} | {shown} |", flush=True)


if __name__ == "__main__":
    run(main)
