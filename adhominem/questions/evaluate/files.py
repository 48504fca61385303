"""Systems measured and compared: what `adhominem evaluate` and `baseline` do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import adhominem
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.evaluation.answers import load_systems, load_truth, read_groups, write_answers
from adhominem.evaluation.baselines import run_baseline
from adhominem.evaluation.figures import Entropies
from adhominem.evaluation.measures import Evaluation, evaluate
from adhominem.jobs.run import Watch, unwatched
from adhominem.questions.evaluate.page import write_evaluation
from adhominem.questions.predict.files import predict
from adhominem.text.files import check_not_read, noting_inputs
from adhominem.text.readers import read_pairs
from adhominem.text.writing import check_output
from adhominem.verify.cautions import Caution


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
