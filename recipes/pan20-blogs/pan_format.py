"""Blogs in PAN 2020's format: a small and a large training set.

    python recipes/pan20-blogs/pan_format.py CORPORA TARGET [--authors 1600]

CORPORA holds train/blogs.jsonl.xz and train-extra/blogs.jsonl.xz, documents with their authors. Of
the authors with four texts or more, those first by a hash of their names are taken. TARGET/large
has all their texts, TARGET/small the texts of half of them that are in train. The pairs are drawn
twice by the paper's algorithms, each text at most once in a draw. Blogs have no fandoms.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from adhominem import find_sources, read_documents, read_pairs, write_pair_set
from adhominem.pairs.cases import pair_writer
from adhominem.text.files import Document
from adhominem.text.writing import write_folder

_FEWEST = 4  # texts of an author
_SEEDS = (20, 21)


def chosen_texts(corpora: Path, count: int) -> list[list[tuple[str, Document]]]:
    """The texts of each of so many authors, each with the part that it is in."""
    authors: dict[str, list[tuple[str, Document]]] = {}
    for part in ("train", "train-extra"):
        for document in read_documents(corpora / part / "blogs.jsonl.xz"):
            authors.setdefault(document.author, []).append((part, document))
    names = [name for name, texts in authors.items() if len(texts) >= _FEWEST]
    names.sort(key=lambda name: sha256(name.encode()).digest())
    return [authors[name] for name in names[:count]]


def write_set(texts: Sequence[Document], target: Path) -> int:
    """Write pairs of these texts; their number is returned."""
    known: set[frozenset[str]] = set()
    with TemporaryDirectory() as scratch, write_folder(target) as folder:
        documents = Path(scratch) / "blogs.jsonl"
        with open(documents, "w", encoding="utf-8") as file:
            for text in texts:
                file.write(json.dumps(asdict(text), ensure_ascii=False) + "\n")
        with pair_writer(folder) as write:
            for seed in _SEEDS:
                drawn = Path(scratch) / str(seed)
                write_pair_set(find_sources(documents), drawn, seed=seed)
                for pair in read_pairs(drawn):
                    both = frozenset((pair.first.text, pair.second.text))
                    if both not in known:
                        known.add(both)
                        write(replace(pair, id=f"{target.name}-{len(known):05}"))
    return len(known)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--authors", type=int, default=1600)
    arguments = parser.parse_args()
    arguments.target.mkdir(parents=True, exist_ok=True)
    authors = chosen_texts(arguments.corpora, arguments.authors)
    sets = {
        "small": [
            text
            for texts in authors[: len(authors) // 2]
            for part, text in texts
            if part == "train"
        ],
        "large": [text for texts in authors for _, text in texts],
    }
    for size, texts in sets.items():
        if not (arguments.target / size).exists():
            pairs = write_set(texts, arguments.target / size)
            print(f"{size}: {len(texts):,} texts, {pairs:,} pairs", flush=True)


if __name__ == "__main__":
    main()
