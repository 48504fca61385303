"""Is the interval of a report as wide as the log Bayes factor varies from stretch to stretch?

    python benchmarks/interval.py [CORPORA] [--sets blogs,gutenberg] [--pairs 40] [--draws 100]

CORPORA holds dev/NAME/. Both texts of a pair are cut in the middle. First half against first half,
and second half against second half, is the same question, asked of other stretches of the same
texts: the difference of the two log Bayes factors is what their uncertainty is. Beside it stands
the difference that the intervals of both comparisons let expect (of first against second half, the
other way round, the difference alone is used). So nothing is assumed of how the uncertainty shrinks
with the length. Half of the pairs are by one author; no bounds, in nats; seeds are 0.

    spread     root of the mean squared difference
    expected   the same by the intervals, as if they were not widened
    ratio      of both: by so much the draws alone are too sure
    inside     share of differences within the intervals: without widening, and as reported
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from measure import DEFAULT_CORPORA, run

from adhominem.score.population import Population
from adhominem.text.pan import Pair
from adhominem.text.readers import read_pairs
from adhominem.verify.sensitivity import WIDENED, bootstrap_interval
from adhominem.verify.verifier import Verifier, load

_REACH = 1.96  # standard errors in half of an interval


def drawn(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """A random sample of pairs, half of them by one author."""
    rng = np.random.default_rng(0)
    chosen: list[Pair] = []
    for same_author in (True, False):
        of_class = [pair for pair in pairs if pair.same_author is same_author]
        chosen += [of_class[at] for at in rng.permutation(len(of_class))[: count // 2]]
    return chosen


def halves(verifier: Verifier, text: str) -> tuple[str, str]:
    spans = verifier.members[0].tokenizer.tokenize(text).spans
    middle = int(spans[len(spans) // 2, 0])
    return text[:middle], text[middle:]


def differences(
    verifier: Verifier, pair: Pair, population: Population | None, draws: int
) -> tuple[list[float], float]:
    """The two differences of a pair, and half of the interval that such a difference has."""
    first, second = (halves(verifier, side.text) for side in (pair.first, pair.second))
    levs = verifier.encode([*first, *second])[:, None]  # (4, 1, lev_size)
    sides = [
        verifier.compare(one, other, population, attention=True)
        for one, other in zip(first, second, strict=True)
    ]
    factors = sides[0].log_bayes_factors(
        [levs[at] for at in (0, 1, 0, 1)], [levs[at] for at in (2, 3, 3, 2)]
    )
    squares = 0.0
    for side in sides:
        interval = bootstrap_interval(side, draws=draws)
        assert interval is not None
        squares += ((interval.high - interval.low) / 2) ** 2
    return [float(factors[0] - factors[1]), float(factors[2] - factors[3])], float(np.sqrt(squares))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="?", type=Path, default=Path(DEFAULT_CORPORA).parent)
    parser.add_argument("--sets", default="blogs,gutenberg")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--model", default="general-en")
    arguments = parser.parse_args()
    verifier = load(arguments.model)
    print(f"{verifier.name}, {arguments.pairs} pairs a set, {arguments.draws} draws, in nats")
    print(f"{'set':12}{'population':12}{'spread':>8}{'expected':>10}{'ratio':>7}{'inside':>15}")
    for name in arguments.sets.split(","):
        pairs = list(read_pairs(arguments.corpora / "dev" / name))
        chosen = drawn(pairs, arguments.pairs)
        rest = [pair for pair in pairs if pair not in chosen][:50]
        others = verifier.population([text for pair in rest for text in (pair.first, pair.second)])
        for kind, population in (("none", None), ("other pairs", others)):
            rows = [differences(verifier, pair, population, arguments.draws) for pair in chosen]
            differ = np.array([row[0] for row in rows])  # (pairs, 2)
            reach = np.array([row[1] for row in rows])[:, None]
            spread = np.sqrt(np.square(differ).mean())
            expected = np.sqrt(np.square(reach / WIDENED / _REACH).mean())
            before, after = (np.mean(np.abs(differ) <= bound) for bound in (reach / WIDENED, reach))
            print(
                f"{name:12}{kind:12}{spread:8.2f}{expected:10.2f}{spread / expected:7.2f}"
                f"{before:8.0%}{after:7.0%}",
                flush=True,
            )


if __name__ == "__main__":
    run(main)
