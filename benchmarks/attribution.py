"""Which of these candidates, if any? PAN 2018's problems, and open sets made of known authors.

    python benchmarks/attribution.py [CORPORA] [--model general-en] [--repeats 3] [--sets c50,email]

CORPORA holds attribution/pan18/ and dev/NAME/.

Closed set: PAN 2018's English problems as they are; one of the candidates wrote each text.

Open set: some candidates of a set, each with some known texts; the disputed texts are others
by the candidates, at most four of each, of other works, and as many by authors of the set who are
not among them. Of PAN 2018's problems, half of the candidates are left out, and all unknown texts
are disputed. The population is the texts of the other candidates, and the prior of none is 0.5:
nothing is fitted. All figures are means over the sets that have authors and texts enough.

    accuracy     closed set: of the texts by candidates, whose author is ranked first
    macro-F1     PAN's official measure of 2019, answers as `adhominem rank` gives them
    fitted       the same if the Bayes factors were first fitted to the candidates' known texts,
                 each compared with all candidates: a slope and a shift, held near 1 and 0
    hindsight    the same if the threshold were chosen for each problem to be the best

The rivals are nearest centroids: by the cosine of z-scores of the 500 most frequent words (Cosine
Delta), and by that of TF-IDF weights of all 3-grams of characters. They have no threshold of their
own, so they always get the best one in hindsight.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA, run
from scipy import sparse
from scipy.optimize import minimize
from sklearn.feature_extraction.text import CountVectorizer

import adhominem
from adhominem.arrays import FloatArray, IntArray, Levs
from adhominem.questions.rank.evidence import TextPool, answers
from adhominem.score.population import FEWEST
from adhominem.score.scorer import Scorer
from adhominem.text.files import Document
from adhominem.text.readers import read_pairs

CANDIDATES = (5, 10, 20)
KNOWN = (1, 3, 5)
PRIOR_NONE = 0.5
DISPUTED = 4  # texts of a candidate at most
MOST_AUTHORS = 120  # of a set, who have most texts
THRESHOLDS = 100  # tried in hindsight
FREQUENT_WORDS = 500
SHIFT, SLOPE = 1.0, 0.3  # how far a fit may well move Bayes factors: nats, and a logarithm
COLUMNS = (
    "accuracy", "macro-F1", "fitted", "hindsight", "Delta accuracy", "Delta hindsight",
    "3-grams accuracy", "3-grams hindsight",
)  # fmt: skip


@dataclass(frozen=True)
class AttributionProblem:
    """Candidates and disputed texts, as indices."""

    known: list[IntArray]  # of each candidate
    disputed: list[int]
    truth: list[int]  # the candidate of each disputed text, or -1


class TextSet:
    """The texts of a set, in the form that all systems use."""

    def __init__(
        self, name: str, documents: Sequence[Document], levs: Levs, scorer: Scorer
    ) -> None:
        self.name, self.pool = name, TextPool(scorer, levs)
        self.authors = np.array([document.author for document in documents])
        self.works = np.array([text.work or f"\0{at}" for at, text in enumerate(documents)])
        texts = [document.text for document in documents]
        characters = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False, min_df=2)
        words = CountVectorizer(token_pattern=r"[^\W\d_]+(?:['’][^\W\d_]+)?", max_features=3_000)
        self.characters: sparse.csr_matrix = characters.fit_transform(texts).astype(np.float64)
        self.words: FloatArray = words.fit_transform(texts).toarray().astype(np.float64)

    def problems(self, candidates: int, known: int, repeats: int) -> list[AttributionProblem]:
        """Open-set problems; none if there are too few authors."""
        rng = np.random.default_rng([candidates, known])
        names, counts = np.unique(self.authors, return_counts=True)
        enough = names[counts > known]
        drawn = []
        for _ in range(repeats if len(enough) >= candidates and len(names) > candidates else 0):
            chosen = rng.permutation(enough)[:candidates]
            texts = [rng.permutation(np.flatnonzero(self.authors == name)) for name in chosen]
            known_texts = [of_author[:known] for of_author in texts]
            disputed: list[int] = []
            truth: list[int] = []
            for at, of_author in enumerate(texts):
                used = self.works[of_author[:known]]
                left = [text for text in of_author[known:] if self.works[text] not in used]
                disputed += left[:DISPUTED]
                truth += [at] * len(left[:DISPUTED])
            others = np.flatnonzero(~np.isin(self.authors, chosen))
            others = rng.permutation(others)[: len(disputed)]
            if len(set(truth)) > 1 and len(others):
                truth += [-1] * len(others)
                drawn.append(AttributionProblem(known_texts, [*disputed, *others.tolist()], truth))
        return drawn

    def factors(self, problem: AttributionProblem) -> tuple[FloatArray, FloatArray]:
        """(disputed, candidates) twice: log Bayes factors, within bounds and without."""
        population = np.concatenate(problem.known)
        fewest = len(population) - max(map(len, problem.known))
        scored = self.pool.factors(
            [([text], texts.tolist()) for text in problem.disputed for texts in problem.known],
            population.tolist() if fewest >= FEWEST else None,
        )
        shape = len(problem.disputed), len(problem.known)
        return scored.log_bayes_factor.reshape(shape), scored.unbounded.reshape(shape)

    def fit(self, problem: AttributionProblem) -> tuple[float, float]:
        """A slope and a shift for log Bayes factors, fitted to known texts ranked in turn."""
        trials = [(at, text) for at, texts in enumerate(problem.known) for text in texts.tolist()]
        if len(problem.known[0]) < 2:
            return 1.0, 0.0
        population = np.concatenate(problem.known).tolist()
        scored = self.pool.factors(
            [
                ([text], [other for other in texts.tolist() if other != text])
                for _, text in trials
                for texts in problem.known
            ],
            population,
        )
        same = np.array([at == number for at, _ in trials for number in range(len(problem.known))])
        values = scored.unbounded

        def cost(parameters: FloatArray) -> float:
            slope, shift = float(np.exp(parameters[0])), float(parameters[1])
            fitted = slope * values + shift
            misses = np.logaddexp(0, -fitted[same]).sum()
            alarms = np.logaddexp(0, fitted[~same]).mean() * same.sum()
            held = (parameters[0] / SLOPE) ** 2 + (parameters[1] / SHIFT) ** 2
            return float(misses + alarms + held / 2)

        best = minimize(cost, np.zeros(2)).x
        return float(np.exp(best[0])), float(best[1])

    def delta(self, problem: AttributionProblem) -> FloatArray:
        """(disputed, candidates): the cosines of Cosine Delta."""
        here = np.concatenate(problem.known)
        shares = self.words / np.maximum(self.words.sum(axis=1, keepdims=True), 1)
        frequent = np.argsort(-shares[here].mean(axis=0))[:FREQUENT_WORDS]
        shares = shares[:, frequent]
        mean, deviation = shares[here].mean(axis=0), shares[here].std(axis=0)
        scores = (shares - mean) / np.where(deviation > 0, deviation, np.inf)
        centroids = np.array([scores[texts].mean(axis=0) for texts in problem.known])
        return cosines(scores[problem.disputed], centroids)

    def trigrams(self, problem: AttributionProblem) -> FloatArray:
        """(disputed, candidates): the cosines of TF-IDF weights."""
        here = np.concatenate(problem.known)
        document_frequency = (self.characters[here] > 0).sum(axis=0).A1
        weights = np.log((1 + len(here)) / (1 + document_frequency)) + 1
        logs = self.characters.copy()
        logs.data = 1 + np.log(logs.data)
        rows = logs @ sparse.diags(np.where(document_frequency > 0, weights, 0))
        lengths = np.sqrt(rows.multiply(rows).sum(axis=1).A1)
        rows = sparse.diags(1 / np.maximum(lengths, 1e-12)) @ rows
        centroids = np.array([rows[texts].mean(axis=0).A1 for texts in problem.known])
        return cosines(rows[problem.disputed].toarray(), centroids)


def cosines(rows: FloatArray, others: FloatArray) -> FloatArray:
    """(rows, others): cosines of the rows of two arrays."""
    rows, columns = (
        side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12)
        for side in (rows, others)
    )
    return np.asarray(rows @ columns.T)


def f1(truth: Sequence[int], predicted: IntArray) -> float:
    """PAN's official measure of 2019: the mean F1 of each author of a disputed text.

    A text by none of the candidates that is given to one counts against that one.
    """
    right, given = np.array(truth), np.asarray(predicted)
    return float(
        np.mean(
            [
                2
                * ((right == at) & (given == at)).sum()
                / ((right == at).sum() + (given == at).sum())
                for at in set(truth) - {-1}
            ]
        )
    )


def accuracy(truth: Sequence[int], best: IntArray) -> float:
    """The share of the candidates' texts whose author is ranked first."""
    by_candidates = np.array(truth) >= 0
    return float((best == truth)[by_candidates].mean())


def in_hindsight(truth: Sequence[int], scores: FloatArray) -> float:
    """The best macro-F1 of all thresholds."""
    best, largest = scores.argmax(axis=1), scores.max(axis=1)
    thresholds = np.quantile(largest, np.linspace(0, 1, THRESHOLDS))
    return max(f1(truth, np.where(largest >= value, best, -1)) for value in thresholds)


def row(texts: TextSet, problem: AttributionProblem) -> list[float]:
    """The figures of one problem."""
    factors, unbounded = texts.factors(problem)
    answered = answers(factors, unbounded, PRIOR_NONE)
    first = answers(factors, unbounded, 0.0)
    slope, shift = texts.fit(problem)
    fitted = [slope * values + shift for values in (factors, unbounded)]
    figures = [
        accuracy(problem.truth, first),
        f1(problem.truth, answered),
        f1(problem.truth, answers(fitted[0], fitted[1], PRIOR_NONE)),
        in_hindsight(problem.truth, factors),
    ]
    for scores in (texts.delta(problem), texts.trigrams(problem)):
        figures.append(accuracy(problem.truth, scores.argmax(axis=1)))
        figures.append(in_hindsight(problem.truth, scores))
    return figures


def pan_problems(folder: Path) -> Iterator[tuple[str, dict[str, list[Document]], list[Document]]]:
    """PAN 2018's problems: the name, each candidate's texts, the disputed texts with authors."""
    for place in sorted(file.parent for file in folder.glob("*/problem-info.json")):
        info, truth = (
            json.loads((place / name).read_text("utf-8"))
            for name in ("problem-info.json", "ground-truth.json")
        )
        names = [row["author-name"] for row in info["candidate-authors"]]
        candidates = {
            name: [
                Document(text=file.read_text("utf-8"), author=name)
                for file in sorted((place / name).glob("*.txt"))
            ]
            for name in names
        }
        author_of = {row["unknown-text"]: row["true-author"] for row in truth["ground_truth"]}
        disputed = [
            Document(text=(place / info["unknown-folder"] / name).read_text("utf-8"), author=author)
            for name, author in sorted(author_of.items())
        ]
        yield place.name, candidates, disputed


def dev_texts(folder: Path) -> list[Document]:
    """The distinct texts of known authors in a dev set, of the authors with most texts."""
    texts = {
        text.text: text for pair in read_pairs(folder) for text in (pair.first, pair.second)
        if text.author
    }  # fmt: skip
    authors = [text.author for text in texts.values()]
    names, counts = np.unique(np.array(authors), return_counts=True)
    kept = set(names[np.argsort(-counts, kind="stable")[:MOST_AUTHORS]].tolist())
    return [text for text in texts.values() if text.author in kept]


def show(*cells: object) -> None:
    print(
        f"| {' | '.join(f'{c:.3f}' if isinstance(c, float) else str(c) for c in cells)} |",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--repeats", type=int, default=3, help="problems of each condition and set")
    parser.add_argument("--sets", default="", help="names of dev sets; all that have enough texts")
    given = parser.parse_args(arguments)
    verifier = adhominem.load(given.model)

    show("PAN 2018", "candidates", "known", "texts", "macro-F1", "accuracy", "Delta macro-F1",
         "Delta accuracy", "3-grams macro-F1", "3-grams accuracy")  # fmt: skip
    print("|---" * 10 + "|")
    sets: dict[str, tuple[TextSet, list[int]]] = {}
    for problem, candidates, unknown in pan_problems(given.corpora / "attribution" / "pan18"):
        documents = [text for texts in candidates.values() for text in texts]
        count = len(documents)
        authors = [text.author for text in unknown]
        documents += unknown
        texts = TextSet(problem, documents, verifier.encode(documents), verifier.scorer)
        names = list(candidates)
        known = [np.flatnonzero(texts.authors[:count] == name) for name in names]
        disputed = list(range(count, len(documents)))
        closed = AttributionProblem(known, disputed, [names.index(author) for author in authors])
        factors, unbounded = texts.factors(closed)
        ways = (answers(factors, unbounded, 0.0), texts.delta(closed).argmax(axis=1),
                texts.trigrams(closed).argmax(axis=1))  # fmt: skip
        cells = [
            value
            for best in ways
            for value in (f1(closed.truth, best), accuracy(closed.truth, best))
        ]
        show(problem, len(names), len(known[0]), len(disputed), *cells)
        sets[problem] = texts, disputed

    print()
    show("open set", "candidates", "known", "problems", *COLUMNS)
    print("|---" * (4 + len(COLUMNS)) + "|")
    for name, (texts, disputed) in sets.items():
        of_set = np.unique(texts.authors)
        first = min(disputed)
        for known_texts in (1, 3, 5, 7):
            rng, rows = np.random.default_rng(known_texts), []
            for _ in range(3 * given.repeats):
                chosen = rng.permutation(of_set)[: max(3, len(of_set) // 2)]
                known = [
                    rng.permutation(np.flatnonzero(texts.authors[:first] == author))[:known_texts]
                    for author in chosen
                ]
                place = {author: at for at, author in enumerate(chosen)}
                truth = [place.get(texts.authors[text], -1) for text in disputed]
                rows.append(row(texts, AttributionProblem(known, disputed, truth)))
            show(
                f"PAN 2018 {name}",
                len(chosen),
                known_texts,
                len(rows),
                *np.mean(rows, axis=0).tolist(),
            )

    folders = sorted((given.corpora / "dev").iterdir())
    chosen_sets = given.sets.split(",") if given.sets else [folder.name for folder in folders]
    of: dict[tuple[int, int], dict[str, list[float]]] = {}
    for folder in folders:
        if folder.name not in chosen_sets:
            continue
        documents = dev_texts(folder)
        texts = TextSet(folder.name, documents, verifier.encode(documents), verifier.scorer)
        for condition in ((c, k) for c in CANDIDATES for k in KNOWN):
            rows = [row(texts, one) for one in texts.problems(*condition, given.repeats)]
            if rows:
                of.setdefault(condition, {})[folder.name] = np.mean(rows, axis=0).tolist()
    for condition, by_set in sorted(of.items()):
        means = np.mean(list(by_set.values()), axis=0).tolist()
        show(f"{len(by_set)} dev sets", *condition, given.repeats * len(by_set), *means)
    print()
    show("dev set", "conditions", *COLUMNS)
    print("|---" * (2 + len(COLUMNS)) + "|")
    for folder in folders:
        rows = [by_set[folder.name] for by_set in of.values() if folder.name in by_set]
        if rows:
            show(folder.name, len(rows), *np.mean(rows, axis=0).tolist())


if __name__ == "__main__":
    run(main)
