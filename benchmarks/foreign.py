"""How often texts are called foreign: prose, in several layouts, and what is no running prose.

    python benchmarks/foreign.py [CORPORA] [--texts 200]

CORPORA holds train/, train-kinds/ and dev/. What prose is like is learnt as `adhominem prose` does
it for general-en, from all of them but verse and plays. Then, by number of words:

1. the texts of each dev set in a layout by chance (as they are, wrapped, wrapped with ragged lines,
   quoted as in mail), once with its genre known, once with its genre left out of what was learnt;
2. the same texts by layout, of all dev sets together, genres left out;
3. what is foreign, made by `foreign_matter.py`, verse from dev/poetry, plays from train-kinds.

A text with fewer than two thirds of the words is left out. Not all that is called foreign in the
dev sets is a mistake: they have posts in other languages, lists, programs and poems in them.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from foreign_matter import foreign_matter
from measure import DEFAULT_CORPORA, run

import adhominem
from adhominem.arrays import FloatArray, IntArray
from adhominem.score.prose import Prose
from adhominem.text.prose_rates import prose_rates
from adhominem.text.readers import find_sources, read_pairs
from adhominem.text.tokenizer import Tokenizer
from adhominem.training.teach import TEXTS, draw_some, excerpt, fit_prose, wrapped

VERSE = ("poetry", "plays")
WORDS = (100, 300, 1_000)
LAYOUTS = ("as it is", "wrapped at 70", "ragged", "quoted")


def texts_at(path: Path, count: int) -> list[str]:
    """A random sample of a corpus's texts."""
    (source,) = find_sources(path)
    return draw_some((document.text for document in source.documents(author_required=False)), count)


def laid_out(text: str, layout: str, chance: random.Random) -> str:
    """A text in one of the layouts."""
    if layout == "as it is":
        return text
    lines = wrapped(text, 70, 0.05 if layout == "ragged" else 0.0, chance)
    return lines if layout != "quoted" else "\n".join(f"> {line}" for line in lines.split("\n"))


class Measure:
    """Texts by what prose is like."""

    def __init__(self, prose: Prose) -> None:
        self.prose, self.tokenizer = prose, Tokenizer()

    def rates(self, texts: Sequence[str]) -> tuple[FloatArray, IntArray]:
        """(texts, rates), and how many tokens each has."""
        tokens = [self.tokenizer.tokens(text) for text in texts]
        rows = [
            prose_rates(text, words, self.prose.lexicon)
            for text, words in zip(texts, tokens, strict=True)
        ]
        return np.array(rows), np.array([len(words) for words in tokens])

    def share(self, texts: Sequence[str], prose: Prose | None = None) -> float:
        """The share of texts that are called foreign."""
        if not texts:
            return float("nan")
        used = prose or self.prose
        return float(np.mean(used.distances(*self.rates(texts)) > used.limit))


def cut(texts: Iterable[str], words: int, chance: random.Random) -> list[str]:
    """The first words of each text that has about as many."""
    parts = [excerpt(text, words, chance) for text in texts]
    return [part for part in parts if len(part.split()) >= words * 2 / 3]


def row(name: str, shares: Iterable[float]) -> str:
    """A row of a table."""
    shown = ["" if np.isnan(share) else f"{100 * share:.1f}" for share in shares]
    return f"| {name} | {' | '.join(shown)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--texts", type=int, default=200, help="of each dev set, at most")
    options = parser.parse_args()
    chance = random.Random(1)
    folder: Path = options.corpora
    paths = [*sorted(folder.glob("train/*.xz")), *sorted(folder.glob("train-kinds/*.xz"))]
    paths = [path for path in paths if path.name.split(".")[0] not in VERSE]
    genres = {path.name.split(".")[0]: texts_at(path, TEXTS) for path in paths}
    learnt, samples = fit_prose(genres, Tokenizer())
    measure = Measure(learnt)
    same = "the same as" if measure.prose == adhominem.load().prose else "not"
    print(f"limit {measure.prose.limit:.3f}; what was learnt is {same} what general-en has\n")

    dev = {}
    for path in sorted(folder.glob("dev/*")):
        pairs = read_pairs(path)
        texts = sorted({text for pair in pairs for text in (pair.first.text, pair.second.text)})
        dev[path.name] = random.Random(0).sample(texts, min(options.texts, len(texts)))
    heads = [f"{state}, {words:,}" for state in ("known", "unknown") for words in WORDS]
    print(f"| % of dev texts | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    rows: list[list[float]] = []
    by_layout: dict[str, list[list[float]]] = {layout: [[] for _ in WORDS] for layout in LAYOUTS}
    for name, texts in dev.items():
        if name in VERSE:
            continue
        others = measure.prose
        if name in samples.genres:
            others = Prose.fit(samples.without(name), learnt.lexicon)
        known, unknown = [], []
        for at, words in enumerate(WORDS):
            parts = cut(texts, words, chance)
            chosen = [laid_out(part, chance.choice(LAYOUTS), chance) for part in parts]
            known.append(measure.share(chosen) if name in samples.genres else float("nan"))
            unknown.append(measure.share(chosen, others))
            for layout in LAYOUTS:
                laid = [laid_out(part, layout, chance) for part in parts]
                by_layout[layout][at].append(measure.share(laid, others))
        rows.append([*known, *unknown])
        print(row(name, rows[-1]), flush=True)
    print(row("mean", np.nanmean(rows, axis=0)))
    print(f"\n| % of dev texts | {' | '.join(f'{w:,}' for w in WORDS)} |\n|---|---|---|---|")
    for layout, lists in by_layout.items():
        print(row(layout, [float(np.nanmean(shares)) for shares in lists]))

    spoilt = ("blogs", "c50", "gutenberg", "reddit", "wright")
    prose = [text for name in spoilt for text in dev[name]]
    random.Random(0).shuffle(prose)
    matter = foreign_matter(prose, dev["poetry"], 100, chance)
    matter["plays, early modern"] = texts_at(folder / "train-kinds" / "plays.jsonl.xz", 100)
    ocr = folder / "train-extra" / "wright-ocr.jsonl.xz"
    matter["novels, uncorrected OCR"] = texts_at(ocr, 200)
    print(f"\n| % of foreign texts | {' | '.join(f'{w:,}' for w in WORDS)} |\n|---|---|---|---|")
    for kind, texts in matter.items():
        print(row(kind, [measure.share(cut(texts, words, chance)) for words in WORDS]), flush=True)


if __name__ == "__main__":
    run(main)
