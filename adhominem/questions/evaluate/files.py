"""Systems measured and compared: what `adhominem evaluate`, `baseline` and `table` do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import adhominem
from adhominem.arrays import BoolArray, FloatArray, IntArray, Levs
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.evaluation.answers import load_systems, load_truth, read_groups, write_answers
from adhominem.evaluation.baselines import run_baseline
from adhominem.evaluation.figures import Entropies
from adhominem.evaluation.measures import Evaluation, evaluate
from adhominem.evaluation.pan import OVERALL, PairScores, best_delta, summarise
from adhominem.jobs.run import PairSets, Watch, read_pair_sets, unwatched
from adhominem.jobs.workers import encode_documents, encoder
from adhominem.pairs.passages import without_shared
from adhominem.questions.evaluate.page import write_evaluation
from adhominem.questions.predict.files import predict
from adhominem.score.decision import probability_same_author, same_author_by_distance
from adhominem.text.files import Document, check_not_read, noting_inputs, real_path
from adhominem.text.pan import Pair
from adhominem.text.readers import read_pairs
from adhominem.text.writing import check_output
from adhominem.verify.cautions import Caution
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


@dataclass(frozen=True)
class Evaluations:
    """How good the answers of one or more systems to a pair set are."""

    systems: tuple[Evaluation, ...]
    warnings: tuple[Caution, ...] = ()  # of the model that answered here, if one did


def evaluate_files(
    truth: str | Path,
    answers: Sequence[str | Path] = (),
    *,
    output: str | Path | None = None,
    pairs: str | Path | None = None,
    model: str | Path | None = None,
    population: str | Path | None = None,
    training: str | Path | None = None,
    missing_as_unanswered: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    jobs: int | None = 1,
    device: str = "cpu",
    watch: Watch = unwatched,
) -> Evaluations:
    """Measure answers to a pair set; with a `model`, also its own answers to the texts in `pairs`.

    With `pairs`, there are measures by topic and by length, too. `population` is that of `predict`.
    `output` is a folder for a page, figures and the numbers, and for the entropy curves of a
    model's `training` log. `jobs` and `device` determine how the model's answers are computed, as
    in `predict`. `resamples` is the number of resamples for the 95% intervals.
    """
    if output is not None:
        output = check_output(Path(output))
    if model is not None and pairs is None:
        raise OptionError("a model needs the texts to answer; expected pairs with it")
    warnings: tuple[Caution, ...] = ()
    with noting_inputs(), ExitStack() as stack:
        labels = load_truth(truth)
        if model is not None:
            assert pairs is not None
            scratch = Path(stack.enter_context(TemporaryDirectory()))
            predicted = predict(
                model,
                pairs,
                scratch,
                population=population,
                jobs=jobs,
                device=device,
                watch=watch,
            )
            warnings = predicted.warnings
            how = ", population" if population else ""
            named = predicted.output.rename(scratch / f"{Path(model).name}{how}.jsonl")
            answers = [*answers, named]
        systems = load_systems(
            [Path(path) for path in answers], labels, missing_as_unanswered=missing_as_unanswered
        )
        groups = read_groups(pairs, labels) if pairs else None
        with watch("bootstrap", resamples * len(systems)) as count:
            evaluations = [
                evaluate(
                    system,
                    authors=labels.authors,
                    groups=groups,
                    resamples=resamples,
                    seed=seed,
                    on_resample=lambda: count(1),
                )
                for system in systems
            ]
        if output is not None:  # draws figures, which takes matplotlib
            entropies = Entropies.read(Path(training)) if training else None
            write_evaluation(evaluations, systems, output, adhominem.__version__, entropies)
    return Evaluations(tuple(evaluations), warnings)


@dataclass(frozen=True)
class BaselineAnswers:
    """The file of a baseline's answers, and how many there are."""

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

    `train` are pair sets with their truth, to learn from. If not a single pair can be read, this
    raises; with `force`, a file without answers is written.
    """
    with noting_inputs():
        known = [pair for path in train for pair in read_pairs(path, skipped=skipped)]
        test = list(read_pairs(pairs, skipped=skipped))
        check_not_read(output)
        if not test and not force:
            raise NotFoundError("no pair can be read; expected one or more, or --force", pairs)
        answers = run_baseline(name, known, test, jobs=jobs)
        ids = [pair.id for pair in test]
        write_answers(output, ids, answers.value, answers.log_bayes_factor)
    return BaselineAnswers(Path(output), len(test))
