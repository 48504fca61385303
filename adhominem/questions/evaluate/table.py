"""Models on pair sets, as in the paper's Table 2: what `adhominem table` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray, Levs
from adhominem.errors import InputError, OptionError
from adhominem.evaluation.pan import OVERALL, PairScores, best_delta, summarise
from adhominem.jobs.run import PairSets, Watch, read_pair_sets, unwatched
from adhominem.jobs.workers import encode_documents, encoder
from adhominem.pairs.passages import without_shared
from adhominem.score.decision import probability_same_author, same_author_by_distance
from adhominem.text.files import Document, real_path
from adhominem.text.pan import Pair
from adhominem.verify.verifier import Verifier, load

_BY_DISTANCE = ", by distance"


@dataclass(frozen=True)
class TableRow:
    """The scores of a model on a pair set."""

    model: str  # or MODEL/MEMBER; then what decides: ", by distance", or a stage of the successor
    pair_set: str
    pairs: int
    scores: dict[str, float]
    calibrated: bool
    delta: str  # where it comes from: "tuned on this set" or on another, "of the model", "given"


@dataclass(frozen=True)
class ScoreTable:
    """The scores of models on pair sets."""

    rows: tuple[TableRow, ...]


def table(
    models: Sequence[str | Path],
    sets: PairSets,
    *,
    delta_from: str | Path | float = "set",
    measure: str = "overall_2020",
    with_topics: bool = True,
    members: bool = False,
    by_distance: bool = False,
    device: str = "cpu",
    jobs: int | None = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> ScoreTable:
    """Score every pair set with every model: AUC, c@1, F0.5u, F1 and overall, as in the paper.

    The pair sets are given by name, or as paths; pairs that cannot be read are appended to
    `skipped`. `delta_from` says which answers within 0.5 ± delta are left open: `set`, by the delta
    that is best for each set itself by this `measure`; `model`, by that which each model found in
    training; a number; or a dev set, on which it is tuned: the path of one, which has rows, too, or
    the name of one of the sets.

    With `members`, each member of an ensemble has a row, too; with `by_distance`, the decision by
    the distance alone.
    """
    if measure not in OVERALL:
        raise OptionError(f"the measure is '{measure}'; expected {' or '.join(OVERALL)}")
    given, dev = None, ""
    if delta_from not in ("set", "model"):
        with suppress(ValueError):  # it is a path
            given = float(str(delta_from))
        if given is None:
            sets, dev = _with_dev(sets, delta_from)
    sets = read_pair_sets(sets, skipped)
    if not with_topics:
        sets = {name: [pair.without_topics() for pair in pairs] for name, pairs in sets.items()}
    labels = {name: _labels(name, pairs) for name, pairs in sets.items()}
    names = [real_path(model).name for model in models]
    short = len(set(names)) == len(names)
    called = {str(m): n if short else str(m) for m, n in zip(models, names, strict=True)}
    documents, places = _distinct_texts(sets)
    rows = []
    with watch("encoding", len(documents) * len(models)) as on_documents:
        for model in models:
            verifier = load(model, device=device)
            with encoder(model, verifier, jobs, device) as encode:
                levs = encode_documents(documents, encode, None, on_documents)[1]
            for title, system, levs_of in _systems(verifier, levs, called[str(model)], members):
                scored = {
                    name: _scored(system, levs_of, places[name], labels[name], by_distance)
                    for name in sets
                }
                for by in next(iter(scored.values()))[1]:
                    delta = given
                    if dev:
                        delta = best_delta([(scored[dev][1][by], labels[dev])], measure)
                    elif delta_from == "model":
                        delta = system.saved_delta(by_distance=by == _BY_DISTANCE)
                    for name, (scores, answers) in scored.items():
                        rows.append(
                            TableRow(
                                title + by,
                                name,
                                len(labels[name]),
                                summarise(scores, answers[by], delta, measure),
                                system.calibration is not None,
                                _origin(delta_from, dev, name),
                            )
                        )
    return ScoreTable(tuple(rows))


def _with_dev(sets: PairSets, dev: str | Path | float) -> tuple[PairSets, str]:
    """The pair sets with the dev set that is to be one of them, and its name."""
    if isinstance(sets, Mapping):
        if dev not in sets:
            raise OptionError(
                f"delta_from is '{dev}'; expected set, model, a number, or one of the sets: "
                f"{', '.join(sets)}"
            )
        return sets, str(dev)
    place = real_path(str(dev))
    known = place in map(real_path, sets)
    return sets if known else [*sets, place], place.name


def _origin(delta_from: str | Path | float, dev: str, pair_set: str) -> str:
    """Where the delta for a pair set comes from."""
    if delta_from == "set" or dev == pair_set:
        return "tuned on this set"
    if dev:
        return f"tuned on {dev}"
    return "of the model" if delta_from == "model" else "given"


def _distinct_texts(
    sets: Mapping[str, Sequence[Pair]],
) -> tuple[list[Document], dict[str, IntArray]]:
    """The distinct texts of all pairs, and for each set the two (pairs, 2) of each pair.

    They lack the passages that both sides of a pair share.
    """
    numbers: dict[tuple[str, str], int] = {}
    documents, places = list[Document](), dict[str, IntArray]()
    for name, pairs in sets.items():
        cut = (without_shared([[pair.first], [pair.second]])[0] for pair in pairs)
        of_set = [document for sides in cut for side in sides for document in side]
        for document in of_set:
            if numbers.setdefault((document.text, document.topic), len(documents)) == len(
                documents
            ):
                documents.append(document)
        rows = [numbers[document.text, document.topic] for document in of_set]
        places[name] = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return documents, places


def _systems(
    verifier: Verifier, levs: Levs, name: str, members: bool
) -> Iterator[tuple[str, Verifier, Levs]]:
    """A model and, with `members`, each member of an ensemble by itself, with their LEVs."""
    yield name, verifier, levs
    if members and len(verifier.members) > 1:
        for at, member in enumerate(verifier.members):
            alone = Verifier([member], name=member.name, delta=member.delta)
            yield f"{name}/{member.name}", alone, Levs((levs.parts[at], levs.parts[-1]))


def _scored(
    verifier: Verifier, levs: Levs, places: IntArray, same_author: BoolArray, by_distance: bool
) -> tuple[PairScores, dict[str, FloatArray]]:
    """The scores of pairs (pairs, 2) of texts, and the answers (pairs,) by what decides."""
    first, second = (levs.chosen(column) for column in places.T)
    factors, distance = verifier.score(first, second), verifier.distance(first, second)
    stages = verifier.scorer.stages(first, second)
    answers = {f", {stage}": probability for stage, probability in stages.items()}
    answers = answers or {"": probability_same_author(factors)}
    if by_distance:
        answers[_BY_DISTANCE] = same_author_by_distance(distance, verifier.decision_threshold)
    return PairScores(factors, distance, same_author), answers


def _labels(name: str, pairs: Sequence[Pair]) -> BoolArray:
    same = [pair.same_author for pair in pairs]
    if None in same or len(set(same)) < 2:
        raise OptionError(
            f"the pair set '{name}' has no truth, or only one class of pairs; expected a truth "
            "with pairs by the same author and by different authors"
        )
    return np.array(same, dtype=bool)
