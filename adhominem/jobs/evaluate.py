"""Answers measured against the truth, and a model's own answers: what `adhominem evaluate` does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import adhominem
from adhominem.errors import OptionError
from adhominem.evaluation.answers import load_systems, load_truth, read_groups
from adhominem.evaluation.measures import Evaluation, evaluate
from adhominem.jobs.inputs import Watch, unwatched
from adhominem.text.files import noting_inputs
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
    companions: bool = True,
    training: str | Path | None = None,
    missing_as_unanswered: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    watch: Watch = unwatched,
) -> Evaluations:
    """Measure answers to a pair set; with a `model`, also its own answers to the texts in `pairs`.

    With `pairs`, there are measures by topic and by length, too. `population` is that of `predict`;
    if it is `input`, texts draw on their `companions` unless told otherwise. `output` gets a folder
    with a page, figures and the numbers, and with the entropy curves of a model's `training` log.
    The 95% intervals take so many `resamples`.
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
            answered, warnings = _answer(model, pairs, population, companions, scratch, watch)
            answers = [*answers, answered]
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
            from adhominem.evaluation.plots import Entropies
            from adhominem.render.evaluation_page import write_evaluation

            entropies = Entropies.read(Path(training)) if training else None
            write_evaluation(evaluations, systems, output, adhominem.__version__, entropies)
    return Evaluations(tuple(evaluations), warnings)


def _answer(
    model: str | Path,
    pairs: str | Path,
    population: str | Path | None,
    companions: bool,
    folder: Path,
    watch: Watch,
) -> tuple[Path, tuple[Caution, ...]]:
    """A model's answers, in a file named after it and after what it drew on."""
    from adhominem.jobs.predict import predict

    companions = companions and population == "input"
    predicted = predict(
        model, pairs, folder, population=population, companions=companions, watch=watch
    )
    how = ", companions" if predicted.companions else ", population" if population else ""
    named = predicted.output.rename(folder / f"{Path(model).name}{how}.jsonl")
    return named, predicted.warnings
