"""Parts of the package in C: used where they were built and are not switched off.

`setup.py` builds them when the package is installed, if there is a compiler. Each stands beside the
Python that does the same, which runs where they are missing, or where the environment variable
ADHOMINEM_KERNEL is `numpy`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

VARIABLE = "ADHOMINEM_KERNEL"
NUMPY = "numpy"


def compiled(name: str) -> Any | None:
    """A module in C by its name; none if it was not built, or is not wanted."""
    if os.environ.get(VARIABLE) == NUMPY:
        return None
    try:
        return import_module(name)
    except ImportError:
        return None
