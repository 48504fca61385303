"""Where the model has no business: two genres in one comparison, and a population of few people.

    python benchmarks/limits.py [CORPORA] [--model general-en] [--pairs 200]

CORPORA holds dev/NAME/, whose authors the model has not seen. No person is known to stand in two
corpora, so one author in two genres comes in two ways, neither of which is an essay and an e-mail:

  speech     what is said in one novel, within quotation marks, and what is told in another
  moved      two texts of a dev set, of which the LEV of the second is moved by the difference
             between the means of another dev set and of this one: a genre, and nothing else

Texts of two dev sets as they are have two authors. Then all texts of few people, about 40, with
these as their own population, as `--population input` has it; with as many texts by all others of
the dev set; and with none.

Printed of each: the share of pairs on which a statement is made; AUC and Cllr, a pair without a
statement as a log Bayes factor of 0; how many of the pairs by one author and by two mislead, at all
and by more than 1 (log10); and Cllr of the numbers as they stand, had no one read "no statement".
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA, run

from adhominem.arrays import BoolArray, FloatArray
from adhominem.evaluation.measures import cllr
from adhominem.evaluation.pan import auc
from adhominem.score.population import Population
from adhominem.text.readers import read_pairs
from adhominem.text.sentences import first_words
from adhominem.verify.verifier import Verifier, load

NOVELS = ("gutenberg", "wright")
TWO = (("gutenberg", "email"), ("blogs", "c50"), ("proposals", "podcast"), ("reddit", "scotus"))
FEW = ("c50", "fanfic18", "gutenberg", "poetry", "parliament", "student", "wright")
TEXTS, DRAWS = 40, 6  # of a population of few people; of such populations
_SAID = re.compile(r"“([^”\n]+)[”\n]|\"([^\"\n]+)[\"\n]")
_FEWEST, _MOST = 200, 700  # words of what is said, or told
_HEADS = (
    "pairs | statement | AUC | Cllr | 1 author: wrong | 1 author: > 1 | 2 authors: wrong | "
    "2 authors: > 1 | Cllr as is"
)

Text = tuple[str, str]  # and its author


class DevSet:
    """The different texts of a dev set; two texts of a pair by one author are of two works."""

    def __init__(self, folder: Path) -> None:
        self.author: dict[str, str] = {}
        self.works: list[tuple[str, str]] = []
        for pair in read_pairs(folder):
            both = pair.first.text, pair.second.text
            self.author |= zip(both, (pair.first.author, pair.second.author), strict=True)
            if pair.same_author:
                self.works.append(both)


def draw_some(rows: Sequence, count: int) -> list:  # type: ignore[type-arg]
    """A random sample of `count` of them."""
    return random.Random(1).sample(rows, min(count, len(rows)))


def by_two(texts: Sequence[Text], others: Sequence[Text], count: int) -> list[tuple[str, str]]:
    """Random pairs by two authors."""
    chance, pairs = random.Random(2), list[tuple[str, str]]()
    while len(pairs) < count:
        (one, author), (other, another) = chance.choice(texts), chance.choice(others)
        if author != another:
            pairs.append((one, other))
    return pairs


def row(name: str, factors: FloatArray, same: BoolArray, states: BoolArray) -> str:
    """A row of the table, from log Bayes factors in nats."""
    stated = np.where(states, factors, 0.0)
    shown = [f"{len(same):,}", f"{states.mean():.0%}"]
    both = same.any() and not same.all()
    shown += [f"{auc(stated, same):.3f}", f"{cllr(stated, same):.3f}"] if both else ["", ""]
    for wrong in (-stated[same] / np.log(10), stated[~same] / np.log(10)):
        shown += [f"{(wrong > least).mean():.1%}" if len(wrong) else "" for least in (0, 1)]
    shown.append(f"{cllr(factors, same):.3f}" if both else "")
    return f"| {name} | {' | '.join(shown)} |"


def verified(
    verifier: Verifier,
    name: str,
    same: Sequence[tuple[str, str]],
    different: Sequence[tuple[str, str]],
    population: Population | None = None,
) -> None:
    """Print what `verify` reports for pairs by one author and by two."""
    results = [verifier.verify(*pair, population=population) for pair in (*same, *different)]
    factors = np.array([result.log_bayes_factor for result in results])
    states = np.array([not result.verbal.startswith("No statement") for result in results])
    print(row(name, factors, np.arange(len(results)) < len(same), states), flush=True)


def speech(verifier: Verifier, name: str, dev: DevSet, count: int) -> None:
    """What is said in one novel and what is told in another, by one author and by two."""
    said, narrated = dict[str, str](), dict[str, str]()
    for text in dev.author:
        spoken = " ".join(same or other for same, other in _SAID.findall(text))
        for part, kept in ((spoken, said), (_SAID.sub(" ", text), narrated)):
            if len(part.split()) >= _FEWEST:
                kept[text] = first_words(part, _MOST)
    others = verifier.population(draw_some(list(narrated.values()), 100))
    for kind, first, second, population in (
        ("said and told", said, narrated, None),
        ("said and told, population told", said, narrated, others),
        ("both said", said, said, None),
        ("both told", narrated, narrated, None),
    ):
        same = [(first[a], second[b]) for a, b in dev.works if a in first and b in second]
        same = draw_some(same, count)
        parts = [[(part, dev.author[text]) for text, part in of.items()] for of in (first, second)]
        different = by_two(parts[0], parts[1], len(same))
        verified(verifier, f"{name}, {kind}", same, different, population)


def moved(verifier: Verifier, sets: dict[str, DevSet], name: str, to: str, count: int) -> None:
    """Pairs of a dev set as they are, and with their second texts moved to another; both sets."""
    dev, other = sets[name], sets[to]
    one = draw_some(dev.works, count)
    two = by_two(list(dev.author.items()), list(dev.author.items()), len(one))
    same = np.arange(2 * len(one)) < len(one)
    first, second = (np.asarray(verifier.encode(of)) for of in zip(*one, *two, strict=True))
    here, there = (
        np.asarray(verifier.encode(draw_some(list(of.author), 200))).mean(axis=0)
        for of in (dev, other)
    )
    apart = there - here
    apart[-1] = 0.0  # the logarithm of the number of tokens
    for kind, levs in (("as they are", second), (f"moved to {to}", second + apart)):
        factors = verifier.score(first, levs.astype(np.float32))
        print(row(f"{name}, {kind}", factors, same, factors != 0), flush=True)
    texts = [list(of.author.items()) for of in (dev, other)]
    verified(verifier, f"{name} and {to}", [], by_two(texts[0], texts[1], len(one)))


def few_people(verifier: Verifier, name: str, dev: DevSet) -> None:
    """Print all pairs of the texts of few people, by the population they are compared against."""
    by_author: dict[str, list[str]] = {}
    for text, author in dev.author.items():
        by_author.setdefault(author, []).append(text)
    works = set(map(frozenset, dev.works))
    levs = verifier.encode(list(dev.author))
    number = {text: at for at, text in enumerate(dev.author)}
    for people in (3, 5):
        by_population: dict[str, list[FloatArray]] = {"these": [], "others": [], "none": []}
        same = []
        for draw in range(DRAWS):
            chance = random.Random(draw)
            most = TEXTS // people
            fit = [author for author, texts in by_author.items() if len(texts) >= most / 2]
            if len(fit) < people:
                return
            chosen = chance.sample(fit, people)
            texts = [text for author in chosen for text in by_author[author][:most]]
            pairs = [
                (first_text, second_text)
                for first_text, second_text in combinations(texts, 2)
                if dev.author[first_text] != dev.author[second_text]
                or {first_text, second_text} in works
            ]
            same += [
                dev.author[first_text] == dev.author[second_text]
                for first_text, second_text in pairs
            ]
            rest = [text for text, author in dev.author.items() if author not in chosen]
            rest = chance.sample(rest, min(len(texts), len(rest)))
            first, second = (levs[[number[text] for text in of]] for of in zip(*pairs, strict=True))
            for kind, of in (("these", texts), ("others", rest), ("none", None)):
                population = None
                if of is not None:
                    population = verifier.population_of(levs[[number[text] for text in of]])
                by_population[kind].append(verifier.score(first, second, population))
        for kind, factors in by_population.items():
            values = np.concatenate(factors)
            shown = f"{name}, {people} people, population: {kind}"
            print(row(shown, values, np.array(same), values != 0), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--pairs", type=int, default=200)
    options = parser.parse_args()
    verifier = load(options.model)
    names = sorted({*NOVELS, *FEW, *(name for both in TWO for name in both)})
    sets = {name: DevSet(options.corpora / "dev" / name) for name in names}
    print(f"| two genres | {_HEADS} |\n|{'---|' * 10}")
    for name in NOVELS:
        speech(verifier, name, sets[name], options.pairs)
    for name, to in TWO:
        moved(verifier, sets, name, to, options.pairs)
        moved(verifier, sets, to, name, options.pairs)
    print(f"\n| few people | {_HEADS} |\n|{'---|' * 10}")
    for name in FEW:
        few_people(verifier, name, sets[name])


if __name__ == "__main__":
    run(main)
