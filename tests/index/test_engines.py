"""Candidates are the codes with the largest products; threads do what one would."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from adhominem.compiled import NUMPY, VARIABLE, compiled
from adhominem.index import engine as engines
from adhominem.index.engine import Scan, even_parts, in_threads

MODULE = compiled("adhominem.index._looking")


@pytest.fixture(params=["numpy", "c", "c, in threads"])
def in_each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "numpy":
        monkeypatch.setenv(VARIABLE, NUMPY)
        monkeypatch.setattr(engines, "_BLOCK", 64)
    elif MODULE is None:
        pytest.skip("the part in C was not built")
    elif "threads" in request.param:
        monkeypatch.setattr(engines, "_WORTH_THREADS", 0)
        monkeypatch.setattr(engines, "cores", lambda: 3)


@pytest.mark.usefixtures("in_each_way")
@pytest.mark.parametrize("count", [11, 40])  # the more are divided among threads themselves
@pytest.mark.parametrize(
    ("texts", "size", "k"), [(1_000, 128, 20), (1_003, 7, 400), (70_000, 4, 9_000)]
)
def test_the_largest_products_are_brought_up(texts: int, size: int, k: int, count: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(-127, 128, (texts, size), dtype=np.int8)
    queries = 0.01 * rng.normal(size=(count, size)).astype(np.float32)
    first, second = np.arange(400), np.arange(401, texts + 1)  # one number is nobody's
    scan = Scan([first, second], [codes[:400], codes[400:]])
    numbers, products = scan.candidates(queries, k)
    for at, query in enumerate(queries):
        slow = np.insert(codes.astype(np.float32) @ query, 400, -np.inf)
        best = -np.sort(-slow)[:k]
        assert len(set(numbers[at].tolist())) == k
        np.testing.assert_allclose(-np.sort(-slow[numbers[at]]), best, atol=2e-4 * best[0])
        np.testing.assert_allclose(products[at], slow[numbers[at]], atol=2e-4 * best[0])


@pytest.mark.usefixtures("in_each_way")
def test_fewer_texts_than_asked_for_leave_places_empty() -> None:
    scan = Scan([np.array([7, 9])], [np.ones((2, 4), np.int8)])
    numbers, _ = scan.candidates(np.ones((1, 4), np.float32), 5)
    assert sorted(numbers[0].tolist()) == [-1, -1, -1, 7, 9]


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    if MODULE is None:
        pytest.skip("the part in C was not built")
    codes = np.zeros((2, 3, 16, 2), np.int8)
    queries, products = np.zeros((1, 3, 2), np.int16), np.zeros((1, 4), np.int32)
    MODULE.scan(codes, 32, queries, 0, 2, products, products.copy())
    for texts, begin, end in ((16, 0, 2), (32, 0, 3), (32, -1, 2), (32, 2, 1)):
        with pytest.raises(ValueError, match="do not fit"):
            MODULE.scan(codes, texts, queries, begin, end, products, products.copy())


@pytest.mark.parametrize("worth_it", [False, True])
def test_results_come_in_the_order_of_what_is_given(worth_it: bool) -> None:
    assert in_threads(lambda number: number**2, range(50), worth_it=worth_it) == [
        number**2 for number in range(50)
    ]


def test_work_in_a_thread_may_have_parts_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "cores", lambda: 2)
    inside = in_threads(lambda one: in_threads(lambda two: one * two, range(9)), range(9))
    assert inside == [[one * two for two in range(9)] for one in range(9)]


@pytest.mark.parametrize(("count", "cores"), [(0, 3), (2, 3), (3, 3), (10, 3), (10, 1)])
def test_parts_cover_all_items_once(
    count: int, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "cores", lambda: cores)
    parts = even_parts(count)
    assert [at for part in parts for at in range(count)[part]] == list(range(count))
    assert len(parts) == max(1, min(count, cores))
    assert even_parts(count, worth_it=False) == [slice(0, count)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_process_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "cores", lambda: 2)
    in_threads(abs, range(4))
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # rather than to wait for threads that are not there
        os._exit(0 if in_threads(abs, range(4)) == [0, 1, 2, 3] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
