"""Parts of the package in C, used if they were built and are not switched off.

`setup.py` builds them when the package is installed, if there is a compiler. Each has an equivalent
in Python, which runs if the part is missing, or if the environment variable ADHOMINEM_KERNEL is
`numpy`. `what_runs` reports which of them run.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

VARIABLE = "ADHOMINEM_KERNEL"
NUMPY = "numpy"
PLAIN = "plain"  # the network's kernel for processors without AVX2, which NumPy outruns


def compiled(name: str) -> Any | None:
    """The module in C of this name; None if it was not built, or is switched off."""
    if os.environ.get(VARIABLE) == NUMPY:
        return None
    try:
        return import_module(name)
    except ImportError:
        return None


_PARTS = (
    "text._chunks",
    "ngrams._counting",
    "score._rows",
    "index._looking",
    "index._chosen",
    "paper._fused",
)


def parts_in_c() -> dict[str, bool]:
    """Whether each part runs in C, by its module."""
    return {part: compiled(f"adhominem.{part}") is not None for part in _PARTS}


def what_runs() -> str:
    """A sentence on which parts in C are used."""
    missing = [part for part, is_there in parts_in_c().items() if not is_there]
    variants = [*getattr(compiled("adhominem.paper._fused"), "VARIANTS", ()), NUMPY]
    network = os.environ.get(VARIABLE) or next(name for name in variants if name != PLAIN)
    if not missing:
        return f"The parts in C are used; the network's kernel is {network}."
    return (
        f"Not in C, but in Python, with the same results: {', '.join(missing)}. That is "
        f"slower. With a C compiler, install again; {VARIABLE} must not be {NUMPY}."
    )
