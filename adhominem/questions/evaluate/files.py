"""Systems measured and compared: what `adhominem evaluate`, `table` and `baseline` do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import adhominem
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.evaluation.answers import load_systems, load_truth, read_groups, write_answers
from adhominem.evaluation.baselines import run_baseline
from adhominem.evaluation.figures import Entropies
from adhominem.evaluation.measures import Evaluation, evaluate
from adhominem.evaluation.pan import PairScores, summarise
from adhominem.jobs.run import PairSets, Watch, read_pair_sets, unwatched
from adhominem.questions.evaluate.page import write_evaluation
from adhominem.questions.predict.files import predict
from adhominem.text.files import check_not_read, noting_inputs, real_path
from adhominem.text.pan import Pair
from adhominem.text.readers import read_pairs
from adhominem.text.writing import check_output
from adhominem.verify.cautions import Caution
from adhominem.verify.verifier import load


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
    """Score every pair set with every model: AUC, c@1, F0.5u, F1 and overall, as in the paper.

    The pair sets are given by name, or as paths; pairs that cannot be read are appended to
    `skipped`.
    """
    sets = read_pair_sets(sets, skipped)
    if not with_topics:
        sets = {name: [pair.without_topics() for pair in pairs] for name, pairs in sets.items()}
    labels = {name: _labels(name, pairs) for name, pairs in sets.items()}
    names = [real_path(model).name for model in models]
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
