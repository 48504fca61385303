"""AdHominem: were two texts written by the same person, and how strong is the evidence?

The public names are listed in `__init__.pyi`, for type checkers and for this module. Each is loaded
when first used, so that `import adhominem` and each command load only what they need.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

_STUB = Path(__file__).with_suffix(".pyi").read_text("utf-8")
_HOMES = {
    name: home
    for home, name in re.findall(r"^from adhominem\.(\S+) import \(?\s*(\w+) as ", _STUB, re.M)
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adhominem' has no attribute '{name}'")
    return getattr(import_module(f"adhominem.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
