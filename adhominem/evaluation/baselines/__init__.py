"""Rival systems: what a verifier must beat to be worth its trouble.

>>> baseline("delta")(words=150).fit(training_pairs).predict(pairs).value
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from adhominem.errors import OptionError

if TYPE_CHECKING:
    from adhominem.evaluation.baselines.protocol import Baseline, Predictions
    from adhominem.text.pan import Pair

# The class of each, in the module of its name: loaded when first used.
BASELINES = {"naive": "Naive", "compression": "Compression", "delta": "Delta"}


def baseline(name: str) -> Callable[..., Baseline]:
    """The class of the baseline of this name; its options are its own."""
    if name not in BASELINES:
        raise OptionError(f"there is no baseline '{name}'; expected one of: {', '.join(BASELINES)}")
    found: Callable[..., Baseline] = getattr(import_module(f"{__name__}.{name}"), BASELINES[name])
    return found


def run_baseline(
    name: str, train: Sequence[Pair], test: Sequence[Pair], *, jobs: int = 1
) -> Predictions:
    """What a baseline, with its own defaults, says of the test pairs once it has learnt.

    `jobs` is the number of processes, for those that can use several.
    """
    options = {"jobs": jobs} if name == "compression" else {}
    return baseline(name)(**options).fit(train).predict(test)
