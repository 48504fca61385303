"""Do the habits that `adhominem contrast` names hold in other texts by the same two people?

    python benchmarks/contrast.py [CORPORA] [SET ...] [--pairs 20] [--fewest 3] [--top 10]

Two authors of a dev set, each with enough texts for at least --fewest in either half. Habits are
named on the first half of both, and looked at in the second. Authors are drawn in pairs, with at
most 8 texts in a half; the texts of one work are in one half where works are known.

    direction    of the habits named, those that the same side has more of in the second half, too;
                 by chance it is 50%
    significant  the same, and the 95% interval of the difference leaves out 0; by chance 2.5%
    shrunk to    the median of the second difference as a share of the first: what is chosen for
                 being extreme is less so elsewhere
    agree        both differences lie within 95% of what their deviations allow, of the habits named
    all agree    the same of all features, chosen or not: 95% if the intervals are honest

The rival is Craig's Zeta as `oppose()` of stylo has it: in each group the --top features of each
side by the share of slices of 1,000 tokens that have them, less that on the other side. Its
features are looked at in the same way. The last rows are means over the sets, each counted once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from clustering import distinct
from measure import DEFAULT_CORPORA, run

import adhominem
from adhominem import Document, Verifier
from adhominem.arrays import FloatArray, IntArray
from adhominem.questions.contrast.contrast import ContrastOptions, contrast_texts
from adhominem.questions.contrast.habits import (
    GROUPS,
    Counts,
    Rates,
    compare_rates,
    counting_member,
)
from adhominem.verify.ngram_contributions import shown

SLICE = 1_000  # tokens
MOST_TEXTS = 8  # of an author in a half
STYLE = ("words", "marks", "phrases", "letters")
COLUMNS = ("direction", "significant", "shrunk to", "agree")
Row = tuple[float, float, float, float]  # a habit in each of the columns


def halves(
    texts: Sequence[Document], rng: np.random.Generator
) -> tuple[list[Document], list[Document]]:
    """The texts of an author in two parts, with those of one work in one part."""
    works: dict[str, list[Document]] = {}
    for at, text in enumerate(texts):
        works.setdefault(text.work or f"\0{at}", []).append(text)
    parts: tuple[list[Document], list[Document]] = ([], [])
    for at in rng.permutation(len(works)).tolist():
        smaller = min(parts, key=len)
        smaller += list(works.values())[at]
    return parts[0][:MOST_TEXTS], parts[1][:MOST_TEXTS]


def looked_at(features: Sequence[int], named: Rates, later: Rates) -> list[Row]:
    """How habits that were named in one half do in the other."""
    at = np.array(features, dtype=np.int64)
    first, second = named.difference[at], later.difference[at]
    same = np.sign(first) == np.sign(second)
    significant = same & (np.abs(later.z[at]) > later.quantile)
    reach = np.maximum(named.quantile, later.quantile) * np.hypot(
        named.deviation[at], later.deviation[at]
    )
    agree = np.abs(first - second) <= reach
    table = np.stack([same, significant, second / first, agree], axis=1)
    return [(float(a), float(b), float(c), float(d)) for a, b, c, d in table]


def by_zeta(counts: Counts, top: int, group: str) -> list[int]:
    """The features of a group that Craig's Zeta ranks first, on either side."""
    slices = [counts.side(side, by_text=False)[0] > 0 for side in (0, 1)]
    zeta: FloatArray = slices[0].mean(axis=0) - slices[1].mean(axis=0)
    inside = np.flatnonzero(np.array([name == group for name in counts.groups]))
    chosen: list[int] = []
    for sign in (1, -1):
        order: IntArray = inside[np.argsort(-sign * zeta[inside], kind="stable")]
        chosen += [at for at in order.tolist()[:top] if sign * zeta[at] > 0]
    return chosen


def pair_of_authors(
    verifier: Verifier, first: Sequence[Document], second: Sequence[Document], top: int,
    rng: np.random.Generator,
) -> tuple[dict[str, list[Row]], dict[str, list[Row]], FloatArray]:  # fmt: skip
    """By group, how the habits named and those of Zeta do; and which of all features agree."""
    parts = [halves(texts, rng) for texts in (first, second)]
    sides = [parts[0][0], parts[1][0], parts[0][1], parts[1][1]]
    counts = Counts(counting_member(verifier), sides, SLICE)
    tables = [counts.side(side, by_text=True) for side in range(4)]
    named, later = compare_rates(*tables[:2]), compare_rates(*tables[2:])
    contrasted = contrast_texts(verifier, *sides[:2], options=ContrastOptions(top=top, slice=SLICE))
    place = {
        (group, shown(feature)): at
        for at, (group, feature) in enumerate(zip(counts.groups, counts.features, strict=True))
    }
    ours, rival = {}, {}
    for group in contrasted.groups:
        habits = [(group.group, habit.ngram) for habit in (*group.first, *group.second)]
        ours[group.group] = looked_at([place[key] for key in habits if key in place], named, later)
        rival[group.group] = looked_at(by_zeta(counts, top, group.group), named, later)
    inside = [at for at, group in enumerate(counts.groups) if group]
    return ours, rival, np.array([row[3] for row in looked_at(inside, named, later)])


def mean(rows: Sequence[Row]) -> FloatArray:
    """(columns,): mean shares, and the median of the ratio that habits shrink to."""
    if not rows:
        return np.full(len(COLUMNS), np.nan)
    table = np.array(rows)
    return np.array(
        [table[:, 0].mean(), table[:, 1].mean(), np.median(table[:, 2]), table[:, 3].mean()]
    )


def show(name: str, pairs: int | str, values: FloatArray) -> None:
    """Print a row of a table."""
    print(f"| {name} | {pairs} | {' | '.join(f'{value:.3f}' for value in values)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", type=Path, nargs="?", default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("sets", nargs="*", help="dev sets; all unless named")
    parser.add_argument("--model", default="general-en")
    parser.add_argument("--pairs", type=int, default=20, help="of authors, of each set at most")
    parser.add_argument("--fewest", type=int, default=3, help="texts of an author in a half")
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    verifier = adhominem.load(arguments.model)
    folders = sorted(path for path in (arguments.corpora / "dev").iterdir() if path.is_dir())
    columns = ["set", "pairs", *COLUMNS, *(f"Zeta: {name}" for name in COLUMNS), "all agree"]
    print(f"Style ({', '.join(STYLE)}):\n\n| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    of_groups: dict[str, list[FloatArray]] = {}
    style_rows = []
    for folder in folders:
        if arguments.sets and folder.name not in arguments.sets:
            continue
        by_author: dict[str, list[Document]] = {}
        for document in distinct(folder):
            by_author.setdefault(document.author, []).append(document)
        rng = np.random.default_rng(arguments.seed)
        enough = []
        for name in sorted(by_author):
            split = halves(by_author[name], np.random.default_rng(arguments.seed))
            if min(map(len, split)) >= arguments.fewest:
                enough.append(name)
        order = rng.permutation(enough).tolist()
        pairs = list(zip(order[::2], order[1::2], strict=False))[: arguments.pairs]
        if not pairs:
            continue
        ours: dict[str, list[Row]] = {group: [] for group in GROUPS}
        rival: dict[str, list[Row]] = {group: [] for group in GROUPS}
        agree = []
        for first, second in pairs:
            habits, zeta, all_agree = pair_of_authors(
                verifier, by_author[first], by_author[second], arguments.top, rng
            )
            for group in GROUPS:
                ours[group] += habits[group]
                rival[group] += zeta[group]
            agree.append(float(all_agree.mean()))
        for group in GROUPS:
            both = np.concatenate([mean(ours[group]), mean(rival[group])])
            of_groups.setdefault(group, []).append(both)
        style = [mean([row for group in STYLE for row in rows[group]]) for rows in (ours, rival)]
        style_rows.append(np.concatenate([*style, [np.mean(agree)]]))
        show(folder.name, len(pairs), style_rows[-1])
    show("mean", len(style_rows), np.mean(style_rows, axis=0))
    print(f"\nBy group, means over sets:\n\n| {' | '.join(columns[:-1])} |")
    print(f"{'|---' * (len(columns) - 1)}|")
    for group, values in of_groups.items():
        show(group, len(values), np.nanmean(values, axis=0))


if __name__ == "__main__":
    run(main)
