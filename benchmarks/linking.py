"""How many links are false, and how many were said to be: accounts of known authors.

    python benchmarks/linking.py INDEX --work FOLDER [--authors 150] [--texts 8] [--model MODEL]

INDEX is one of `benchmarks/search.py`, of real texts by known authors. Some authors are drawn, of
all genres and of the largest one, with some of their texts each. Half of the authors appear under
two names, with half of their texts each; the others under one. An index of these texts is linked,
and each link judged by who wrote the texts. For several rates: how many links are reported, which
share of them is false, and which share of the accounts that belong together is linked.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import run

import adhominem
from adhominem.index.build import Writer
from adhominem.index.searcher import Searcher
from adhominem.index.store import Store
from adhominem.questions.search.link import Links, link_accounts
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier

RATES = (0.01, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, kw_only=True)
class Row:
    """The outcome of one rate."""

    rate: float
    links: int
    expected: float  # false links, by the list itself
    false: int
    linked: float  # of the accounts that belong together


def split_index(
    store: Store, folder: Path, verifier: Verifier, genre: str, authors: int, texts: int, seed: int
) -> int:
    """An index of some authors, half of them under two names; how many these are."""
    rng = np.random.default_rng(seed)
    by_author: dict[str, list[int]] = {}
    for number in store.live.tolist():
        if not genre or store.topic(number) == genre:
            by_author.setdefault(store.author(number), []).append(number)
    candidates = [author for author, numbers in by_author.items() if len(numbers) >= texts]
    chosen = rng.permutation(candidates)[:authors].tolist()
    if folder.exists():
        shutil.rmtree(folder)
    writer = Writer.open(folder, verifier)
    for at, author in enumerate(chosen):
        for half, number in enumerate(rng.permutation(by_author[author])[:texts].tolist()):
            account = f"{author}#{half % 2}" if at % 2 else author
            document = Document(text=str(number), author=account, id=str(number))
            writer.add(document, store.levs([number]))
    writer.flush()
    writer.finish(verifier)
    return len(chosen) // 2


def judged(links: Links, split: int) -> list[Row]:
    """The outcome of each rate; all links must be there."""
    rows = []
    for rate in RATES:
        made = [link for link in links.links if link.expected_false_share <= rate]
        right = sum(_author(link.first) == _author(link.second) for link in made)
        expected = made[-1].expected_false_share * len(made) if made else 0.0
        rows.append(
            Row(
                rate=rate,
                links=len(made),
                expected=expected,
                false=len(made) - right,
                linked=right / max(1, split),
            )
        )
    return rows


def _author(account: str) -> str:
    return account.partition("#")[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("index", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--authors", type=int, default=150)
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--genre", default="blogs")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--model", default="general-en")
    options = parser.parse_args()
    verifier = adhominem.load(options.model)
    store = Store(options.index)
    for genre in ("", options.genre):
        every: list[list[Row]] = []
        for seed in range(options.rounds):
            folder = options.work / f"link-{genre or 'all'}"
            split = split_index(
                store, folder, verifier, genre, options.authors, options.texts, seed
            )
            links = link_accounts(Searcher(folder, verifier), rate=1.0)
            every.append(judged(links, split))
        print(
            f"\n{genre or 'all genres'}: {links.accounts} accounts, {split} authors with two, "
            f"{options.texts} texts an author, {options.rounds} rounds"
        )
        for rows in zip(*every, strict=True):
            made, false = sum(row.links for row in rows), sum(row.false for row in rows)
            expected = sum(row.expected for row in rows)
            print(
                f"  rate {rows[0].rate:4.2f}: {made:5} links, {expected:6.1f} expected to be false,"
                f" {false:4} false ({false / max(1, made):.3f}); of accounts that belong together"
                f" {np.mean([row.linked for row in rows]):.3f} linked",
                flush=True,
            )


if __name__ == "__main__":
    run(main)
