"""Work in threads, as many as there are cores: for parts in C, which let others run meanwhile.

Work that is in one of these threads already is not divided once more.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TypeVar

import numpy as np

from adhominem.processes import cores

_Given = TypeVar("_Given")
_Result = TypeVar("_Result")
_thread = threading.local()


def _begin() -> None:
    _thread.is_ours = True


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), "index", _begin)


if hasattr(os, "register_at_fork"):  # the threads of a process do not live on in its children
    os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(
    work: Callable[[_Given], _Result], given: Iterable[_Given], *, worth_it: bool = True
) -> list[_Result]:
    """What some work makes of each of what is given, in that order; threads only if worth it."""
    if worth_it and cores() > 1 and not getattr(_thread, "is_ours", False):
        return list(_pool().map(work, given))
    return [work(one) for one in given]


def even_parts(count: int, worth_it: bool = True) -> list[slice]:
    """So many items in as many parts as there are cores; in one if not worth more."""
    parts = max(1, min(cores(), count)) if worth_it else 1
    cuts = np.linspace(0, count, parts + 1).astype(int).tolist()
    return [slice(*ends) for ends in pairwise(cuts)]
