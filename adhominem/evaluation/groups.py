"""Groups of the pairs of a set that are measured apart: by topic, and by length."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adhominem.errors import AnswersError, InputError
from adhominem.evaluation.answers import Truth
from adhominem.text.pan import pair_rows

BoolArray = npt.NDArray[np.bool_]

_STEPS = (0, 150, 300, 600, 1200)  # words of the shorter text


def read_groups(
    path: str | Path, truth: Truth, on_bytes: Callable[[int], None] | None = None
) -> dict[str, BoolArray]:
    """Read the texts of the pairs: a mask (pairs,) for each group, in the order of the truth."""
    place = {key: at for at, key in enumerate(truth.ids)}
    seen = np.zeros(len(truth), dtype=bool)
    same_topic, cross_topic = np.zeros_like(seen), np.zeros_like(seen)
    words = np.zeros(len(truth), dtype=np.int64)
    for row in pair_rows(Path(path), on_bytes=on_bytes):
        if isinstance(row, InputError):
            raise row
        at = place.get(row.id)
        if at is None:
            raise AnswersError(f"the truth has no line for the pair '{row.id}'", path)
        if seen[at]:
            raise AnswersError(f"the pair '{row.id}' comes twice; expected once", path)
        first, second = row.first, row.second
        known = bool(first.topic and second.topic)
        same_topic[at] = known and first.topic == second.topic
        cross_topic[at] = known and first.topic != second.topic
        words[at] = min(len(first.text.split()), len(second.text.split()))
        seen[at] = True
    if not seen.all():
        raise AnswersError(
            f"{int((~seen).sum()):,} pairs of the truth are not in these texts, such as "
            f"'{truth.ids[int(np.argmin(seen))]}'; expected the texts of all pairs",
            path,
        )
    groups = {"same topic": same_topic, "cross topic": cross_topic}
    step = np.searchsorted(_STEPS, words, side="right") - 1  # (pairs,)
    for at, low in enumerate(_STEPS):
        high = _STEPS[at + 1] if at + 1 < len(_STEPS) else None
        name = f"{low:,} words or more" if high is None else f"{low:,} to {high - 1:,} words"
        name = f"shorter text: {name}"
        groups[name] = step == at
    return {name: mask for name, mask in groups.items() if mask.any()}
