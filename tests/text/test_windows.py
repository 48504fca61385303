"""Windows cover a document, each adds something, and of too many an even spread is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.text.vocabulary import (
    WindowOptions,
    count_windows,
    crop_starts,
    cut_windows,
    spread_starts,
)

PAPER = WindowOptions()
lengths = st.integers(1, 400)
options = st.builds(
    WindowOptions,
    hop=st.integers(1, 30),
    overlap=st.integers(0, 30),
    max_windows=st.integers(1, 12),
)
UNLIMITED = 10_000


def slow_starts(tokens: int, hop: int, width: int) -> list[int]:
    """Set windows one after another until nothing is left."""
    starts = [0]
    while starts[-1] + width < tokens:
        starts.append(starts[-1] + hop)
    return starts


@pytest.mark.parametrize(
    ("tokens", "windows"),
    [(1, 1), (4, 1), (25, 1), (29, 1), (30, 2), (54, 2), (55, 3), (79, 3), (80, 4), (5254, 210)],
)
def test_windows_of_hand_made_lengths(tokens: int, windows: int) -> None:
    assert int(count_windows(tokens, PAPER)) == windows
    np.testing.assert_array_equal(spread_starts(tokens, PAPER), 25 * np.arange(windows))


def test_a_window_is_hop_and_overlap_wide_and_the_longest_document_fits_exactly() -> None:
    assert PAPER.width == 29
    assert PAPER.max_tokens == 5254
    assert int(count_windows(PAPER.max_tokens, PAPER)) == PAPER.max_windows
    assert int(count_windows(PAPER.max_tokens + 1, PAPER)) == PAPER.max_windows + 1


@given(st.lists(lengths, max_size=5), options)
def test_counting_is_that_of_setting_them_one_by_one(
    tokens: list[int], some: WindowOptions
) -> None:
    counts = count_windows(tokens, some)
    assert counts.tolist() == [len(slow_starts(n, some.hop, some.width)) for n in tokens]


@given(lengths, st.integers(1, 30), st.integers(0, 30))
def test_windows_cover_every_token_and_each_adds_one(tokens: int, hop: int, overlap: int) -> None:
    some = WindowOptions(hop=hop, overlap=overlap, max_windows=UNLIMITED)
    covered: set[int] = set()
    for start in spread_starts(tokens, some):
        window = set(range(start, min(start + some.width, tokens)))
        assert window - covered  # so that it does not lie inside the one before it
        covered |= window
    assert covered == set(range(tokens))


@given(lengths, options)
def test_windows_are_at_most_max_windows_of_all_with_the_first_and_the_last(
    tokens: int, some: WindowOptions
) -> None:
    starts = spread_starts(tokens, some).tolist()
    every = slow_starts(tokens, some.hop, some.width)
    assert len(starts) == min(len(every), some.max_windows)
    assert starts == sorted(set(starts))
    assert set(starts) <= set(every)
    assert starts[0] == 0
    if some.max_windows > 1:
        assert starts[-1] == every[-1]


@given(lengths, options)
def test_windows_are_spread_evenly(tokens: int, some: WindowOptions) -> None:
    gaps = np.diff(spread_starts(tokens, some)) // some.hop
    assert np.ptp(gaps) <= 1 if len(gaps) else True


@given(st.integers(1, 60), options, st.integers(-3, 3))
def test_cutting_is_that_of_a_loop(tokens: int, some: WindowOptions, padding: int) -> None:
    ids = np.arange(100, 100 + tokens, dtype=np.int32)
    starts = spread_starts(tokens, some)
    slow = [
        [ids[position] if position < tokens else padding for position in range(s, s + some.width)]
        for s in starts
    ]
    cut = cut_windows(ids, starts, some, padding)
    assert cut.dtype == ids.dtype
    np.testing.assert_array_equal(cut, slow)


def test_a_short_document_is_padded_behind_its_end() -> None:
    some = WindowOptions(hop=3, overlap=1)
    cut = cut_windows(np.array([7, 8, 9, 10, 11]), spread_starts(5, some), some)
    assert cut.tolist() == [[7, 8, 9, 10], [10, 11, 0, 0]]


long_and_short = st.lists(st.integers(1, 200), max_size=20)


@given(long_and_short, options, st.integers(0, 99))
def test_crops_lie_inside_and_what_fits_is_read_from_the_beginning(
    tokens: list[int], some: WindowOptions, seed: int
) -> None:
    starts = crop_starts(tokens, some, np.random.default_rng(seed))
    assert starts.shape == (len(tokens),)
    for start, length in zip(starts, tokens, strict=True):
        if length <= some.max_tokens:
            assert start == 0
        else:
            assert 0 <= start <= length - some.max_tokens


@given(long_and_short, options, st.integers(0, 99))
def test_the_same_seed_gives_the_same_crops(
    tokens: list[int], some: WindowOptions, seed: int
) -> None:
    first, second = (crop_starts(tokens, some, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_share_of_random_crops_is_the_one_asked_for(share: float) -> None:
    some = WindowOptions(random_crop=share)
    tokens = np.full(4_000, some.max_tokens + 1_000_000)  # where a random crop is hardly ever 0
    starts = crop_starts(tokens, some, np.random.default_rng(1))
    assert abs((starts > 0).mean() - share) < (0.03 if 0 < share < 1 else 1e-9)


def test_random_crops_fall_everywhere_alike() -> None:
    some = WindowOptions(random_crop=1)
    tokens = np.full(5_000, some.max_tokens + 4)
    starts = crop_starts(tokens, some, np.random.default_rng(2))
    shares = np.bincount(starts, minlength=5) / len(starts)
    assert shares.shape == (5,)
    assert np.abs(shares - 0.2).max() < 0.03


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hop": 0}, "hop 0"),
        ({"overlap": -1}, "overlap -1"),
        ({"max_windows": 0}, "max_windows 0"),
        ({"random_crop": 1.5}, "random_crop is 1.5"),
        ({"random_crop": -0.1}, "random_crop is -0.1"),
        ({"random_crop": float("nan")}, "random_crop is nan"),
    ],
)
def test_sizes_that_cannot_work_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        WindowOptions(**settings)  # type: ignore[arg-type]
