"""PAN's attribution problems answered: what `adhominem attribute` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adhominem.errors import InputError
from adhominem.evaluation.pan import macro_f1
from adhominem.jobs.run import Run, Watch, unwatched
from adhominem.jobs.workers import encoder
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.questions.question import Answer, Side, Texts, as_known, inputs_of, made_by
from adhominem.questions.rank.ask import WhichCandidate
from adhominem.questions.rank.evidence import NONE, check_prior
from adhominem.records import strict_json
from adhominem.text.exhibits import exhibits_of
from adhominem.text.files import note_folder, noting_inputs
from adhominem.text.pan import AttributionProblem, read_attribution_problems
from adhominem.text.writing import check_output, write_folder
from adhominem.verify.cautions import Caution
from adhominem.verify.verifier import load


@dataclass(frozen=True, kw_only=True)
class AnsweredProblem:
    """What a problem's answers came to."""

    name: str
    candidates: int
    texts: int  # unknown ones
    none: int  # of them that were given to none of the candidates
    macro_f1: float | None  # the official one; None without a truth
    accuracy: float | None  # share of the texts with the right answer
    warnings: tuple[Caution, ...]


@dataclass(frozen=True, kw_only=True)
class AnsweredProblems(Answer):
    """The answers to a collection of problems."""

    output: str  # the folder with the answers
    prior_none: float
    macro_f1: float | None  # the mean over the problems; None unless all have a truth
    problems: tuple[AnsweredProblem, ...]
    model: str
    model_sha256: str
    version: str  # of AdHominem


def attribute_problems(
    collection: str | Path,
    output: str | Path,
    *,
    model: str | Path = DEFAULT_MODEL,
    population: str | Path | None = None,
    prior_none: float = 0.5,
    seed: int = 0,
    jobs: int = 1,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> AnsweredProblems:
    """Answer PAN's attribution problems of 2018 or 2019, and score the answers if truth is there.

    `output` is a new folder for `answers-PROBLEM.json`. In a closed set, where one of the
    candidates must have written each text, `prior_none` is 0. What cannot be read goes to
    `skipped`; an unknown text that cannot be read counts as given to none.
    """
    check_prior(prior_none)
    check_output(Path(output))
    with noting_inputs():
        run, others = Run(watch, skipped), Texts()
        if population is not None:
            others = inputs_of(WhichCandidate)["population"].read(population, {"seed": seed}, run)
        problems = list(read_attribution_problems(collection, skipped=skipped))
        verifier = load(model, device=device)
        note_folder(verifier.folder)
        answered = []
        with (
            encoder(model, verifier, jobs, device) as run.encode,
            write_folder(Path(output)) as folder,
            watch("problems", len(problems)) as on_problems,
        ):
            for problem in problems:
                question = WhichCandidate(
                    disputed=Side(tuple(exhibits_of(problem.unknown, "disputed"))),
                    candidates=as_known(problem.candidates),
                    population=others,
                    prior_none=prior_none,
                    one_by_one=True,
                    trials=0,
                    seed=seed,
                )
                ranking = question.answer(
                    verifier.keeping(), Run(skipped=skipped, encode=run.encode)
                )
                answers = {case.disputed[0].name: case.answer or NONE for case in ranking.cases}
                rows = [
                    {"unknown-text": text, "predicted-author": author}
                    for text, author in sorted(answers.items())
                ]
                path = folder / f"answers-{problem.name}.json"
                path.write_text(strict_json(rows, indent=4) + "\n", "utf-8")
                answered.append(_answered(problem, answers, ranking.warnings))
                on_problems(1)
    scores = [problem.macro_f1 for problem in answered]
    known = [score for score in scores if score is not None]
    return AnsweredProblems(
        output=str(output),
        prior_none=prior_none,
        macro_f1=sum(known) / len(known) if known and len(known) == len(scores) else None,
        problems=tuple(answered),
        **made_by(verifier),
    )


def _answered(
    problem: AttributionProblem, answers: dict[str, str], warnings: tuple[Caution, ...]
) -> AnsweredProblem:
    score = accuracy = None
    if problem.truth:
        truth = list(problem.truth.values())
        given = [answers.get(text, NONE) for text in problem.truth]
        score = macro_f1(truth, given, NONE)
        accuracy = sum(map(str.__eq__, truth, given)) / len(truth)
    return AnsweredProblem(
        name=problem.name,
        candidates=len(problem.candidates),
        texts=len(answers),
        none=sum(answer == NONE for answer in answers.values()),
        macro_f1=score,
        accuracy=accuracy,
        warnings=warnings,
    )
