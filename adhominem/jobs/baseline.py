"""Pairs answered by a simple rival system: what `adhominem baseline` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adhominem.errors import InputError, NotFoundError
from adhominem.evaluation.answers import write_answers
from adhominem.evaluation.baselines import run_baseline
from adhominem.text.files import check_not_read, noting_inputs
from adhominem.text.readers import read_pairs


@dataclass(frozen=True)
class BaselineAnswers:
    """Where the answers of a baseline are, and how many."""

    output: Path
    answers: int


def baseline_files(
    name: str,
    pairs: str | Path,
    output: str | Path,
    *,
    train: Sequence[str | Path],
    jobs: int = 1,
    force: bool = False,
    skipped: list[InputError] | None = None,
) -> BaselineAnswers:
    """Answer a pair set by the baseline naive, compression or delta, and write `answers.jsonl`.

    `train` are pair sets with their truth, to learn from. Where not a single pair can be read, that
    is an error; with `force`, a file without answers is written.
    """
    with noting_inputs():
        known = [pair for path in train for pair in read_pairs(path, skipped=skipped)]
        asked = list(read_pairs(pairs, skipped=skipped))
        check_not_read(output)
        if not asked and not force:
            raise NotFoundError("no pair can be read; expected one or more, or --force", pairs)
        answers = run_baseline(name, known, asked, jobs=jobs)
        ids = [pair.id for pair in asked]
        write_answers(output, ids, answers.value, answers.log_bayes_factor)
    return BaselineAnswers(Path(output), len(asked))
