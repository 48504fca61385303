"""The paper's Table 2 for any models and pair sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adhominem.errors import InputError, OptionError
from adhominem.evaluation.pan import PairScores, summarise
from adhominem.jobs.inputs import PairSets, Watch, read_pair_sets, unwatched
from adhominem.text.pan import Pair
from adhominem.verify.verifier import load


@dataclass(frozen=True)
class TableRow:
    """The scores of a model on a pair set."""

    model: str
    pair_set: str
    pairs: int
    scores: dict[str, float]
    calibrated: bool


@dataclass(frozen=True)
class ScoreTable:
    """The scores of models on pair sets."""

    rows: tuple[TableRow, ...]


def table(
    models: Sequence[str | Path],
    sets: PairSets,
    *,
    with_topics: bool = True,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> ScoreTable:
    """Score every pair set with every model; AUC, c@1, F0.5u, F1 and overall as in the paper.

    The pair sets are given by name, or as paths; what cannot be read there goes to `skipped`.
    """
    sets = read_pair_sets(sets, skipped)
    if not with_topics:
        sets = {name: [pair.without_topics() for pair in pairs] for name, pairs in sets.items()}
    labels = {name: _labels(name, pairs) for name, pairs in sets.items()}
    names = [Path(model).resolve().name for model in models]
    short = len(set(names)) == len(names)
    called = {str(m): n if short else str(m) for m, n in zip(models, names, strict=True)}
    rows = []
    documents = 2 * sum(map(len, sets.values())) * len(models)
    with watch("encoding", documents) as on_documents:
        for model in models:
            verifier = load(model)
            calibrated = verifier.calibration is not None
            for name, pairs in sets.items():
                first, second = verifier.encode_pairs(pairs, on_documents=on_documents)
                scores = PairScores(
                    verifier.score(first, second), verifier.distance(first, second), labels[name]
                )
                rows.append(
                    TableRow(called[str(model)], name, len(pairs), summarise(scores), calibrated)
                )
    return ScoreTable(tuple(rows))


def _labels(name: str, pairs: Sequence[Pair]) -> np.ndarray:
    same = [pair.same_author for pair in pairs]
    if None in same or len(set(same)) < 2:
        raise OptionError(
            f"the pair set '{name}' has no truth, or only one class of pairs; expected a truth "
            "with pairs by the same author and by different authors"
        )
    return np.array(same, dtype=bool)
