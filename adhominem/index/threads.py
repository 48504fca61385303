"""Work in threads, as many as there are cores: for parts in C, which let others run meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from adhominem.processes import cores

_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), "index")


def in_threads(
    work: Callable[[_Given], _Result], given: Iterable[_Given], *, worth_it: bool = True
) -> list[_Result]:
    """What some work makes of each of what is given, in that order; threads only if worth it."""
    if worth_it and cores() > 1:
        return list(_pool().map(work, given))
    return [work(one) for one in given]
