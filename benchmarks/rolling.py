"""Which part of a text is by whom: texts spliced from two authors, beside a rolling Delta.

    python benchmarks/rolling.py [CORPORA] [SET ...] [--draws 4] [--words 200 500 1000]

From each dev set, texts of two authors in a row: up to 1,000 to 2,500 words of the one, then of the
other, from whole texts put together. The candidates have up to five other texts each; the
population is 60 texts by other people. Windows begin every fifth of their length. For each system:

    right      share of words that are given to their author
    told       the mean probability of that author: as large as `right`, if it holds
    found      share of texts with a change found within a window of the true one
    off        median distance of the nearest change from the true one, in words, if there is any
    changes    found in a text, on average; one is true

`ours, closed` is told that one of the two candidates wrote every part, as Delta takes for granted;
`ours, one candidate` knows only the first author, and the other one's words should be "neither".
Rolling Delta is Burrows's, as in stylo: z-scores of the 200 most frequent tokens of the candidates'
texts and the population, and each window goes to the candidate with the nearest text. What windows
say of a word is pooled as for ours. `Delta, smoothed` runs the same hidden Markov model over its
differences, multiplied by what turns out best in hindsight over all texts of this window length,
and without "neither", which it does not know.

Without candidates (last table): texts of two authors as above, and of one author, of 4,000 words.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from clustering import distinct
from measure import DEFAULT_CORPORA, run

import adhominem
from adhominem import Document, Exhibit, RollOptions
from adhominem.arrays import FloatArray
from adhominem.questions.roll.ask import roll_text
from adhominem.questions.roll.smoothing import smooth, smooth_blocks
from adhominem.questions.roll.windows import Blocks, cut_blocks, window_factors
from adhominem.score.population import Population
from adhominem.text.sentences import first_words
from adhominem.text.tokenizer import Tokenizer
from adhominem.verify.verifier import Verifier

FEWEST_WORDS, FEWEST_TEXTS, KNOWN, OTHERS = 3_000, 4, 5, 60
MOST_FREQUENT = 200
SCALES = (4, 8, 16, 32, 64, 128, 256)  # of Delta's differences, of which the best is taken


@dataclass(frozen=True)
class Spliced:
    """A text by two authors, one after the other, with the true point of change."""

    text: str
    change: int  # words before it
    known: tuple[list[Document], list[Document]]
    others: list[Document]
    one_author: str  # a text by the first author alone


@dataclass(frozen=True)
class Trial:
    """The result of a system on a text."""

    right: float
    confidence: float  # the mean probability of what is said to be most probable
    off: float  # NaN: no change was found
    changes: int


def splice(documents: list[Document], rng: np.random.Generator) -> Spliced:
    """Texts of two authors in a row."""
    by_author: dict[str, list[Document]] = {}
    for document in documents:
        by_author.setdefault(document.author, []).append(document)
    authors = [name for name, texts in by_author.items() if enough(texts)]
    pair = rng.choice(sorted(authors), 2, replace=False)
    parts, known = [], []
    for author in pair:
        texts = [by_author[author][at] for at in rng.permutation(len(by_author[author]))]
        part, rest = take(texts, int(rng.integers(1_000, 2_501)), 2)
        parts.append(part)
        known.append(rest[:KNOWN])
    others = [document for document in documents if document.author not in pair]
    chosen = rng.permutation(len(others))[:OTHERS]
    one_author, _ = take(by_author[pair[0]], 4_000, 0)
    return Spliced(
        "\n\n".join(parts),
        len(parts[0].split()),
        (known[0], known[1]),
        [others[at] for at in chosen],
        one_author,
    )


def enough(texts: Sequence[Document]) -> bool:
    """Whether an author has enough texts for a part, and for known texts."""
    words = sum(len(document.text.split()) for document in texts)
    return len(texts) >= FEWEST_TEXTS and words >= FEWEST_WORDS


def take(texts: Sequence[Document], words: int, left: int) -> tuple[str, list[Document]]:
    """Whole texts joined and cut to `words` words; and the other texts."""
    rest, part = list(texts), ""
    while len(part.split()) < words and len(rest) > left:
        part += ("\n\n" if part else "") + rest.pop().text
    return first_words(part, words), rest


def judge(blocks: Blocks, probability: FloatArray, change: int) -> Trial:
    """The result for probabilities (blocks, states) of the first and the second author."""
    states = probability.argmax(axis=1)
    middles = (blocks.word_starts[:-1] + blocks.word_starts[1:]) / 2
    truth = (middles >= change).astype(np.int64)
    places = blocks.word_starts[1:-1][states[1:] != states[:-1]]
    return Trial(
        right=float(blocks.words[states == truth].sum() / blocks.words.sum()),
        confidence=float(blocks.words @ probability.max(axis=1) / blocks.words.sum()),
        off=float(np.abs(places - change).min()) if len(places) else float("nan"),
        changes=len(places),
    )


def delta_factors(blocks: Blocks, case: Spliced, tokenizer: Tokenizer) -> FloatArray:
    """(windows, 2): minus the Delta of each window to each candidate's nearest text."""
    known = [[tokenizer.tokens(text.text) for text in side] for side in case.known]
    others = [tokenizer.tokens(text.text) for text in case.others]
    corpus = [*known[0], *known[1], *others]
    total = Counter(token for text in corpus for token in text)
    words = [word for word, _ in total.most_common(MOST_FREQUENT)]

    def table(texts: list[list[str]]) -> FloatArray:
        counts = [Counter(text) for text in texts]
        shares = [
            [count[word] / len(text) for word in words]
            for count, text in zip(counts, texts, strict=True)
        ]
        return np.array(shares)

    frequencies = table(corpus)
    deviation = frequencies.std(axis=0)
    scale = np.where(deviation > 0, deviation, np.inf)
    windows = [
        tokenizer.tokens(case.text[slice(*blocks.window_span(at))]) for at in range(blocks.windows)
    ]
    rolled = table(windows) / scale
    columns = [
        np.abs(rolled[:, None] - table(side) / scale).mean(axis=2).min(axis=1) for side in known
    ]
    return -np.stack(columns, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="?", default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("sets", nargs="*", help="dev sets; all unless named")
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--words", type=int, nargs="+", default=[200, 500, 1_000])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    verifier, tokenizer = adhominem.load(arguments.model), Tokenizer()
    rng = np.random.default_rng(arguments.seed)
    cases = []
    for folder in sorted(path for path in (arguments.corpora / "dev").iterdir() if path.is_dir()):
        if arguments.sets and folder.name not in arguments.sets:
            continue
        documents = distinct(folder)
        authors = {document.author for document in documents}
        able = [
            author
            for author in authors
            if enough([document for document in documents if document.author == author])
        ]
        if len(able) >= 2:
            cases += [splice(documents, rng) for _ in range(arguments.draws)]
    populations = [verifier.population_of(verifier.encode(case.others)) for case in cases]
    print(f"{len(cases)} texts\n")
    print("| windows | system | right | told | found | off | changes |")
    print("|---" * 7 + "|")
    for words in arguments.words:
        options = RollOptions(words=words, step=words // 5)
        compare(verifier, tokenizer, cases, populations, options)
    print("\nWithout candidates:\n", flush=True)
    print("| windows | changes seen, two authors | found | off | changes seen, one author |")
    print("|---" * 5 + "|")
    for words in arguments.words:
        options = RollOptions(words=words, step=words // 5)
        without_candidates(verifier, cases, populations, options)


def compare(
    verifier: Verifier,
    tokenizer: Tokenizer,
    cases: Sequence[Spliced],
    populations: Sequence[Population],
    options: RollOptions,
) -> None:
    """Both systems on all texts, and the table's rows."""
    ours: list[Trial] = []
    closed: list[Trial] = []
    alone: list[Trial] = []
    nearest: list[Trial] = []
    smoothed: dict[int, list[Trial]] = {scale: [] for scale in SCALES}
    for case, population in zip(cases, populations, strict=True):
        blocks = cut_blocks(case.text, options.words, options.step)
        spans = [blocks.window_span(at) for at in range(blocks.windows)]
        levs = verifier.encode([case.text[start:end] for start, end in spans])
        sides = [verifier.encode(side) for side in case.known]
        factors, _ = window_factors(verifier.scorer, levs, sides, population)
        for chosen, neither, trials in (
            (factors, True, ours),
            (factors, False, closed),
            (factors[:, :1], True, alone),
        ):
            smoothing = smooth_blocks(blocks, chosen, options.passage, neither=neither)
            trials.append(judge(blocks, smoothing.probability, case.change))
        shared = blocks.shared_out(delta_factors(blocks, case, tokenizer))
        nearest.append(judge(blocks, shared, case.change))
        change = 1 - np.exp(-(blocks.words[:-1] + blocks.words[1:]) / 2 / options.passage)
        for scale in SCALES:
            smoothing = smooth(scale * shared, change)
            smoothed[scale].append(judge(blocks, smoothing.probability, case.change))
    best = max(SCALES, key=lambda scale: np.mean([trial.right for trial in smoothed[scale]]))
    show(options.words, "ours", ours)
    show(options.words, "ours, closed", closed)
    show(options.words, "ours, one candidate", alone)
    show(options.words, "Delta", nearest)
    show(options.words, f"Delta, smoothed (x {best})", smoothed[best])


def show(words: int, name: str, trials: Sequence[Trial]) -> None:
    """Print a row of the table."""
    off = np.array([trial.off for trial in trials])
    confidence = f"{np.mean([trial.confidence for trial in trials]):.3f}" if name != "Delta" else ""
    print(
        f"| {words:,} | {name} | {np.mean([trial.right for trial in trials]):.3f} | {confidence} | "
        f"{np.mean(off <= words):.2f} | {np.nanmedian(off):.0f} | "
        f"{np.mean([trial.changes for trial in trials]):.2f} |",
        flush=True,
    )


def without_candidates(
    verifier: Verifier,
    cases: Sequence[Spliced],
    populations: Sequence[Population],
    options: RollOptions,
) -> None:
    """Print how often a change is detected where there is one, and where there is none."""
    detected, offs, false = [], [], []
    for case, population in zip(cases, populations, strict=True):
        for text, is_spliced in ((case.text, True), (case.one_author, False)):
            rolled = roll_text(
                verifier, Exhibit.of(text, "text"), options=options, population=population
            )
            if is_spliced:
                detected.append(bool(rolled.changes))
                distances = [abs(change.word - case.change) for change in rolled.changes]
                offs.append(min(distances, default=float("nan")))
            else:
                false.append(bool(rolled.changes))
    off = np.array(offs)
    print(
        f"| {options.words:,} | {np.mean(detected):.2f} | {np.mean(off <= options.words):.2f} | "
        f"{np.nanmedian(off):.0f} | {np.mean(false):.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    run(main)
