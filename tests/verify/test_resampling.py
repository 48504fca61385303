"""How far a log Bayes factor may lie from where it does: a bootstrap of passages."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from conftest import NgramRun, SmallRun, any_words, rich_rows

from adhominem import Verifier, load
from adhominem.verify import sensitivity as module
from adhominem.verify.sensitivity import DRAWS, WIDENED, Interval, bootstrap_interval
from adhominem.verify.verification import ComparedSides, ComparedText

TEXTS = [row["text"] for row in rich_rows("letters", 3, 2, "-drawn-")]
FloatArray = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def verifiers(small_run: SmallRun, ngram_run: NgramRun, mixed_folder: Path) -> dict[str, Verifier]:
    folders = {"network": small_run.folder, "ngrams": ngram_run.folder, "mixed": mixed_folder}
    return {name: load(folder) for name, folder in folders.items()}


def found(sides: ComparedSides, **settings: Any) -> Interval:
    interval = bootstrap_interval(sides, **settings)
    assert interval is not None
    return interval


class MadeUpSides:
    """Passages are numbers, a text is their mean, and the log Bayes factor the sum of both."""

    def __init__(self, *texts: FloatArray, fewer: float = 0.0) -> None:
        self.texts, self.fewer = texts, fewer  # what each passage that is missing takes away
        self.sides = [[text] for text in texts]
        self.log_bayes_factor = float(sum(text.mean() for text in texts))

    def passages(self, text: FloatArray) -> FloatArray:
        return np.arange(len(text))

    def vary(self, text: FloatArray, times: FloatArray) -> FloatArray:
        mean = times @ text / times.sum(axis=1)
        return np.asarray(mean - self.fewer * (times == 0).sum(axis=1))[:, None]

    def log_bayes_factors(self, first: list[FloatArray], second: list[FloatArray]) -> FloatArray:
        pairs = zip(first, second, strict=True)
        return np.array([one[0, 0] + other[0, 0] for one, other in pairs])

    def as_sides(self) -> ComparedSides:
        return cast(ComparedSides, self)


def made_up(size: int, seed: int, fewer: float = 0.0) -> MadeUpSides:
    rng = np.random.default_rng(seed)
    return MadeUpSides(rng.normal(1, 2, size), rng.normal(3, 1, size), fewer=fewer)


# What the interval is


@pytest.mark.parametrize("size", [10, 40, 150])
def test_of_a_mean_of_passages_it_is_the_textbook_interval_widened(size: int) -> None:
    sides = made_up(size, size)
    interval = found(sides.as_sides(), draws=4_000)
    reach = WIDENED * 1.96 * np.sqrt(sum(text.var() / size for text in sides.texts))
    assert interval.high - sides.log_bayes_factor == pytest.approx(reach, rel=0.1)
    assert sides.log_bayes_factor - interval.low == pytest.approx(reach, rel=0.1)


def test_it_lies_around_the_whole_however_far_the_draws_lie_from_it() -> None:
    straight = found(made_up(40, 1).as_sides(), draws=2_000)
    sides = made_up(40, 1, fewer=0.5)  # every draw misses passages, and is far too low
    shifted = found(sides.as_sides(), draws=2_000)
    assert shifted.low < sides.log_bayes_factor < shifted.high
    assert shifted.high + shifted.low == pytest.approx(2 * sides.log_bayes_factor, abs=1.5)
    assert shifted.high - shifted.low > straight.high - straight.low


def test_passages_that_say_the_same_leave_no_doubt() -> None:
    interval = found(MadeUpSides(np.full(6, 2.0), np.full(9, -1.0)).as_sides())
    assert interval.low == pytest.approx(1)
    assert interval.high == pytest.approx(1)


def test_of_passages_that_depend_on_nothing_95_of_100_hold_the_truth_without_widening(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WIDENED", 1.0)
    inside = 0
    for seed in range(300):
        interval = found(made_up(60, seed).as_sides(), draws=200, seed=seed + 1_000)
        inside += interval.low <= 4 <= interval.high
    assert 0.9 < inside / 300 < 0.99


# Of models


@pytest.mark.parametrize("name", ["network", "ngrams", "mixed"])
def test_it_holds_the_log_bayes_factor(name: str, verifiers: dict[str, Verifier]) -> None:
    for first, second in ((TEXTS[:1], TEXTS[2:3]), (TEXTS[:2], TEXTS[3:5])):
        sides = verifiers[name].compare(first, second, attention=True)
        interval = found(sides, draws=60)
        assert interval.low < sides.log_bayes_factor < interval.high
        assert (interval.level, interval.draws, interval.seed) == (0.95, 60, 0)


def test_a_draw_is_the_score_of_the_drawn_passages(
    verifiers: dict[str, Verifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = verifiers["mixed"]
    sides = verifier.compare(TEXTS[:2], TEXTS[2:3], attention=True)
    drawn: list[list[Any]] = []  # of each text: how often each passage was drawn
    real = ComparedSides.vary

    def vary(self: ComparedSides, text: ComparedText, times: Any) -> Any:
        drawn.append([text, times])
        return real(self, text, times)

    monkeypatch.setattr(ComparedSides, "vary", vary)
    monkeypatch.setattr(module, "_LEVS_AT_ONCE", 120)  # another order of the draws
    again = found(sides, draws=40, seed=3)
    assert [text.document.text for text, _ in drawn] == TEXTS[:3]
    values = []
    for draw in range(40):
        levs = []
        for text, times in drawn:
            starts = sides.passages(text)
            assert times[draw].sum() == len(starts)  # as long as the text, with replacement
            levs.append(real(sides, text, times[draw : draw + 1])[0])
        scored = verifier.scorer([np.array(levs[:2])], [np.array(levs[2:])])
        values.append(float(scored.unbounded[0]))
    off = np.array(values) - np.median(values)
    low, high = WIDENED * np.quantile(off, [0.025, 0.975])
    # 32-bit products round by how many rows they have, and by the processor.
    assert again.low == pytest.approx(sides.log_bayes_factor + low, abs=1e-5)
    assert again.high == pytest.approx(sides.log_bayes_factor + high, abs=1e-5)


def test_the_same_seed_draws_the_same_interval(verifiers: dict[str, Verifier]) -> None:
    sides = verifiers["ngrams"].compare(TEXTS[:1], TEXTS[1:2])
    one = found(sides, draws=50, seed=4)
    assert one == found(sides, draws=50, seed=4)
    other = found(sides, draws=50, seed=5)
    assert (one.low, one.high) != (other.low, other.high)


def test_more_draws_change_little(verifiers: dict[str, Verifier]) -> None:
    sides = verifiers["ngrams"].compare(TEXTS[:1], TEXTS[1:2])
    few, many = found(sides), found(sides, draws=1_000, seed=1)
    assert few.draws == DRAWS
    width = many.high - many.low
    assert few.low == pytest.approx(many.low, abs=0.2 * width)
    assert few.high == pytest.approx(many.high, abs=0.2 * width)


@pytest.mark.parametrize("side", [0, 1])
def test_a_text_of_too_few_passages_has_no_interval(
    side: int, verifiers: dict[str, Verifier]
) -> None:
    verifier = verifiers["network"]  # whose passages are of 8 tokens
    for words, enough in ((26, False), (27, True)):
        short = any_words(words)
        both = [TEXTS[:2], TEXTS[2:3]]
        both[side] = [*both[side], short]
        comparison = verifier.compare(*both)
        passages = comparison.passages(comparison.sides[side][-1])
        assert len(passages) == (4 if enough else 3)
        heard: list[float] = []
        interval = bootstrap_interval(comparison, draws=8, on_progress=heard.append)
        assert (interval is not None) == enough == bool(heard)


def test_it_tells_how_far_it_is(verifiers: dict[str, Verifier]) -> None:
    heard: list[float] = []
    sides = verifiers["ngrams"].compare(TEXTS[:1], TEXTS[1:2])
    bootstrap_interval(sides, draws=70, on_progress=heard.append)
    assert heard == pytest.approx([64 / 70, 1])
