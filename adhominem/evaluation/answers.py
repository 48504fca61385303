"""Answers of any system beside the truth: PAN's `answers.jsonl` and `truth.jsonl`.

An answer is `{"id": ..., "value": ...}`, where the value is a probability of one author, and 0.5
means no answer; `log_bayes_factor`, in nats, may be added. Nothing is guessed: a missing, duplicate
or unknown id, or a value that is not a probability, raises an error that names it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import AnswersError, InputError, NotFoundError, OptionError
from adhominem.text.files import bare_stem, path_of
from adhominem.text.pan import find_file, pair_rows, read_truth, truth_file
from adhominem.text.sentences import count_words
from adhominem.text.streams import read_json_lines
from adhominem.text.writing import write_whole

_MOST_LISTED = 10
_STEPS = (0, 150, 300, 600, 1200)  # words of the shorter text: groups that are measured apart
_NUMBERS = ("value", "log_bayes_factor")


@dataclass(frozen=True)
class Truth:
    """The labels of a pair set, in the order of its file."""

    ids: tuple[str, ...]
    same_author: BoolArray  # (pairs,)
    authors: tuple[tuple[str, str], ...] | None  # (pairs,): None where they are not named

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Answers:
    """A system's answers to the pairs of a set, in the order of the truth."""

    name: str
    value: FloatArray  # (pairs,): the probability of one author; 0.5 means no answer
    log_bayes_factor: FloatArray  # (pairs,): in nats
    same_author: BoolArray  # (pairs,): the truth
    given: bool = True  # whether the Bayes factors were given; if not, they are odds of the values

    def __len__(self) -> int:
        return len(self.value)

    def of(self, chosen: npt.NDArray[Any]) -> Answers:
        """The answers to some of the pairs, chosen by a mask or by indices."""
        return replace(
            self,
            value=self.value[chosen],
            log_bayes_factor=self.log_bayes_factor[chosen],
            same_author=self.same_author[chosen],
        )


def load_truth(path: str | Path) -> Truth:
    """Read the labels of a pair set from its truth, its file of pairs, or the folder of both."""
    rows = _good_rows(read_truth(truth_file(path_of(path))))
    authors = tuple(row[2] for row in rows)
    return Truth(
        tuple(row[0] for row in rows),
        np.array([row[1] for row in rows], dtype=bool),
        authors if rows and all(all(pair) for pair in authors) else None,
    )


def load_answers(
    path: str | Path,
    truth: Truth,
    *,
    name: str | None = None,
    missing_as_unanswered: bool = False,
) -> Answers:
    """Read `answers.jsonl` and bring it into the order of the truth."""
    path = path_of(path)
    lines = list(read_json_lines(path))
    rows: list[dict[str, Any]] = [_bare(row) for row in _good_rows(row for _, row in lines)]
    unnamed = [f"line {at}" for at, row in lines if not isinstance(row.get("id"), str)]  # type: ignore[union-attr]
    _complain(path, {"answers without an id (a string)": unnamed})
    by_id = {row["id"]: row for row in rows}
    missing = [] if missing_as_unanswered else [key for key in truth.ids if key not in by_id]
    known = set(truth.ids)
    counts = Counter(row["id"] for row in rows)
    _complain(
        path,
        {
            "ids that occur twice": [key for key, times in counts.items() if times > 1],
            "pairs without an answer": missing,
            "ids that the truth does not have": [key for key in by_id if key not in known],
            "values that are not a number from 0 to 1": [
                f"{key}: {row.get('value')!r}"
                for key, row in by_id.items()
                if not _is_number(row.get("value")) or not 0 <= row["value"] <= 1
            ],
            "log Bayes factors that are not a finite number": [
                f"{key}: {row['log_bayes_factor']!r}"
                for key, row in by_id.items()
                if "log_bayes_factor" in row and not _is_number(row["log_bayes_factor"])
            ],
        },
        hint="; --missing-as-unanswered counts missing answers as non-answers" if missing else "",
    )
    given = sum("log_bayes_factor" in row for row in by_id.values())
    if 0 < given < len(by_id):
        raise AnswersError(
            f"{given:,} of {len(by_id):,} answers have a log_bayes_factor; expected all or none",
            path,
        )
    unanswered = {"value": 0.5, "log_bayes_factor": 0.0}
    ordered = [by_id.get(key, unanswered) for key in truth.ids]
    return answers_from(
        name or bare_stem(path),
        np.array([row["value"] for row in ordered], dtype=np.float64),
        np.array([row["log_bayes_factor"] for row in ordered]) if given else None,
        truth.same_author,
    )


def load_systems(
    paths: Sequence[Path], truth: Truth, *, missing_as_unanswered: bool = False
) -> list[Answers]:
    """The answers of several systems, named after their files, or folders if those are alike."""
    files = [_answers_file(path_of(path)) for path in paths]
    names = [bare_stem(file) for file in files]
    if len(set(names)) < len(names) or names == ["answers"]:
        names = [file.parent.name or name for file, name in zip(files, names, strict=True)]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return [
        load_answers(file, truth, name=name, missing_as_unanswered=missing_as_unanswered)
        for file, name in zip(files, names, strict=True)
    ]


def _answers_file(path: Path) -> Path:
    """The `answers.jsonl` in a folder; a path that is not a folder is the file itself."""
    if not path.is_dir():
        return path
    file = find_file(path, "answers.jsonl")
    if file is None:
        raise NotFoundError(
            "there is no answers.jsonl in this folder; give the file, or a folder with one", path
        )
    return file


def read_groups(path: str | Path, truth: Truth) -> dict[str, BoolArray]:
    """Read the texts of the pairs: a mask (pairs,) for each group, in the order of the truth."""
    place = {key: at for at, key in enumerate(truth.ids)}
    has_texts = np.zeros(len(truth), dtype=bool)
    same_topic, cross_topic = np.zeros_like(has_texts), np.zeros_like(has_texts)
    words = np.zeros(len(truth), dtype=np.int64)
    for row in pair_rows(path_of(path)):
        if isinstance(row, InputError):
            raise row
        at = place.get(row.id)
        if at is None:
            raise AnswersError(
                f"the truth has no line for the pair '{row.id}'; expected one for each pair", path
            )
        if has_texts[at]:
            raise AnswersError(f"the pair '{row.id}' occurs twice; expected once", path)
        first, second = row.first, row.second
        known = bool(first.topic and second.topic)
        same_topic[at] = known and first.topic == second.topic
        cross_topic[at] = known and first.topic != second.topic
        words[at] = min(count_words(first.text), count_words(second.text))
        has_texts[at] = True
    if not has_texts.all():
        raise AnswersError(
            f"{int((~has_texts).sum()):,} pairs of the truth are not in these texts, such as "
            f"'{truth.ids[int(np.argmin(has_texts))]}'; expected the texts of all pairs",
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


def answers_from(
    name: str, value: FloatArray, log_bayes_factor: FloatArray | None, same_author: BoolArray
) -> Answers:
    """Answers beside the truth. Without Bayes factors, the odds of the values replace them."""
    given = log_bayes_factor is not None
    if log_bayes_factor is None:
        with np.errstate(divide="ignore"):
            log_bayes_factor = np.log(value) - np.log1p(-value)
    return Answers(name, value, np.asarray(log_bayes_factor, np.float64), same_author, given)


def write_answers(
    path: str | Path,
    ids: Sequence[str],
    value: FloatArray,
    log_bayes_factor: FloatArray | None = None,
) -> None:
    """Write `answers.jsonl`, whole or not at all."""
    columns = [value] if log_bayes_factor is None else [value, log_bayes_factor]
    if any(len(column) != len(ids) for column in columns):
        raise OptionError(
            f"{len(ids):,} ids, but {' and '.join(f'{len(column):,}' for column in columns)} "
            "values; expected a value for each id"
        )
    if not all(np.isfinite(column).all() for column in columns):
        raise OptionError(
            "an answer is not a finite number; expected one, even if it is very large"
        )
    if len(value) and not 0 <= np.min(value) <= np.max(value) <= 1:
        raise OptionError(f"values from {np.min(value)} to {np.max(value)}; expected 0 to 1")
    with write_whole(path_of(path)) as file:
        for at, key in enumerate(ids):
            row: dict[str, Any] = {"id": key, "value": float(value[at])}
            if log_bayes_factor is not None:
                row["log_bayes_factor"] = float(log_bayes_factor[at])
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _good_rows(rows: Iterable[Any]) -> list[Any]:
    """All rows; the first broken one raises, with the number of further ones."""
    read = list(rows)
    broken = [row for row in read if isinstance(row, InputError)]
    if broken:
        more = f" (and {len(broken) - 1:,} more broken lines)" if len(broken) > 1 else ""
        if isinstance(broken[0], NotFoundError):
            raise broken[0]
        raise AnswersError(f"{broken[0].problem}{more}", broken[0].path, broken[0].line)
    return read


def _complain(path: Path, troubles: dict[str, list[str]], hint: str = "") -> None:
    problems = [
        f"{len(which):,} {what}: {', '.join(which[:_MOST_LISTED])}"
        + (", ..." if len(which) > _MOST_LISTED else "")
        for what, which in troubles.items()
        if which
    ]
    if problems:
        raise AnswersError("; ".join(problems) + hint, path)


def _bare(row: dict[str, Any]) -> dict[str, Any]:
    """A row with lists of one number unpacked, as in an official answer of PAN 2020."""
    lists = {name: row[name] for name in _NUMBERS if isinstance(row.get(name), list)}
    return {**row, **{name: value[0] for name, value in lists.items() if len(value) == 1}}


def _is_number(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False
