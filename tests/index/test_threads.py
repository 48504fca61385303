"""Work in threads: in order, not divided twice, and in a child process, too."""

from __future__ import annotations

import os
import signal

import pytest

from adhominem.index import threads
from adhominem.index.threads import even_parts, in_threads


@pytest.mark.parametrize("worth_it", [False, True])
def test_results_come_in_the_order_of_what_is_given(worth_it: bool) -> None:
    assert in_threads(lambda number: number**2, range(50), worth_it=worth_it) == [
        number**2 for number in range(50)
    ]


def test_work_in_a_thread_may_have_parts_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    inside = in_threads(lambda one: in_threads(lambda two: one * two, range(9)), range(9))
    assert inside == [[one * two for two in range(9)] for one in range(9)]


@pytest.mark.parametrize(("count", "cores"), [(0, 3), (2, 3), (3, 3), (10, 3), (10, 1)])
def test_parts_cover_all_items_once(
    count: int, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "cores", lambda: cores)
    parts = even_parts(count)
    assert [at for part in parts for at in range(count)[part]] == list(range(count))
    assert len(parts) == max(1, min(count, cores))
    assert even_parts(count, worth_it=False) == [slice(0, count)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_process_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    in_threads(abs, range(4))
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # rather than to wait for threads that are not there
        os._exit(0 if in_threads(abs, range(4)) == [0, 1, 2, 3] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
