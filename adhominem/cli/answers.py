"""The commands on answers to pairs: predict, attribute, evaluate, table, baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from adhominem.cli import options as opt
from adhominem.text.files import real_path


@click.command()
@click.argument("source", required=False, type=opt.PATH)
@click.option("-i", "--input", "given", type=opt.PATH, help="The same as SOURCE.")
@opt.output("The answers.jsonl, or a folder for it.")
@opt.model
@opt.language
@opt.choice(
    "--input-format", ["pan20", "pan15"], "pairs.jsonl, or problem folders.", default="pan20"
)
@opt.population(
    "PATH|input",
    "Texts of the same genre by anybody; `input`: those of the pairs, all of one genre.",
)
@opt.device
@opt.prior
@opt.number(
    "--delta",
    0.0,
    "Answer 0.5 within 0.5 +- delta; `auto`: the delta that was found on dev in training.",
    of=opt.DELTA_OR_AUTO,
)
@opt.choice(
    "--by",
    ["bayes-factor", "distance"],
    "What decides: the Bayes factor, or the distance alone, for networks trained by it.",
    default="bayes-factor",
)
@opt.engine
@opt.jobs
@opt.number(
    "--max-memory", 200, "MB for the vectors of texts that are kept in case they come again."
)
@opt.runs_job
def predict(
    job: opt.Job,
    /,
    source: Path | None,
    given: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer all pairs of a file: PAN's pairs.jsonl to answers.jsonl.

    A run that was stopped goes on where it was when it is started again: pairs that have been
    changed or added since are answered again, the others not. An id that is there twice is
    answered once, and listed. Each answer has the fields id, value and log_bayes_factor.

    \b
        adhominem predict pairs.jsonl -o answers.jsonl --population input --jobs 2
        adhominem predict -i INPUT_FOLDER -o OUTPUT_FOLDER
    """
    from adhominem.cli.terminal import print_result, print_table, warn
    from adhominem.questions.predict.files import predict

    path = source or given
    if path is None or (source and given):
        raise click.UsageError("give the input once, as SOURCE or by -i")
    done = predict(cases=path, **options, **job)
    skipped = job["skipped"]
    warn(done.warnings)
    if as_json:
        print_result(done, skipped)
        return
    print_table(
        str(done.output),
        ["", "answers", "scored now", "texts encoded", "skipped", "delta"],
        [["", done.answers, done.scored_now, done.texts_encoded, len(skipped), f"{done.delta:g}"]],
    )


@click.command()
@click.argument("truth", type=opt.PATH)
@click.argument("answers", nargs=-1, type=opt.PATH)
@opt.output("A folder for figures and a page.", required=False)
@opt.path("--pairs", "The texts (pairs.jsonl): measures by topic and by length, too.")
@click.option(
    "--model",
    help="A shipped model or a model's folder, to answer the pairs of --pairs itself.",
)
@opt.population(
    "PATH|input",
    "For --model: texts of the same genre; `input`: those of the pairs, all of one genre.",
)
@opt.path("--training", "A model's training.jsonl: its entropy curves go on the page, too.")
@opt.flag("--missing-as-unanswered", "A pair without an answer is a non-answer.")
@opt.number(
    "--bootstrap resamples",
    1000,
    "Resamples for the 95% intervals; 0 leaves them out.",
    of=click.IntRange(min=0),
)
@opt.seed
@opt.device
@opt.jobs
@opt.json
def evaluate(as_json: bool, **options: Any) -> None:
    """Measure anyone's answers: PAN's scores, and the cost of the evidence.

    TRUTH is PAN's truth.jsonl (or a folder with it), ANSWERS are one or more answers.jsonl
    with `id`, `value` (0 to 1, 0.5 = no answer) and, if you like, `log_bayes_factor` in nats.

    \b
        adhominem evaluate truth.jsonl answers.jsonl -o report
        adhominem evaluate dev/ --pairs dev/ --model general-en --population input
    """
    from adhominem.cli.terminal import print_lines, print_result, say, warn, watch
    from adhominem.questions.evaluate.files import evaluate_files
    from adhominem.questions.evaluate.page import evaluation_lines

    if options["training"] is not None and options["output"] is None:
        raise click.UsageError("--training is for the page; expected -o FOLDER with it")
    if options["model"] is None and not options["answers"]:
        raise click.UsageError("there is nothing to measure: give ANSWERS, or --model with --pairs")
    if options["model"] is None and options["population"] is not None:
        raise click.UsageError("--population is for a model; expected --model with it")
    if options["model"] is not None and options["pairs"] is None:
        raise click.UsageError("--model needs the texts: give them by --pairs")
    evaluations = evaluate_files(**options, watch=watch)
    warn(evaluations.warnings)
    if as_json:
        print_result(evaluations)
        return
    print_lines(evaluation_lines(evaluations.systems))
    if options["output"] is not None:
        say(f"Figures and a page: {real_path(options['output']) / 'index.html'}")


@click.command()
@click.argument("models", nargs=-1, required=True, type=opt.PATH)
@opt.path(
    "--pairs sets",
    "A pair set with its truth; may be given several times.",
    multiple=True,
    required=True,
)
@opt.text(
    "--delta-from",
    "Which answers within 0.5 +- delta are left open: by the delta that is best for each set "
    "itself (`set`), or for this dev set, which gets rows, too; that of the `model`; or a number.",
    "set|DEV|model|NUMBER",
    default="set",
)
@opt.choice(
    "--measure",
    ["overall_2020", "overall_2021"],
    "What the best delta is best for, and whose measures are shown.",
    default="overall_2020",
)
@opt.flag("--members", "A row for each member of an ensemble, too.")
@opt.flag("--by-distance", "A row for the decision by the distance alone, too.")
@opt.flag("--without-topics", "Hide the contextual prefixes.")
@opt.device
@opt.jobs
@opt.runs_job
def table(job: opt.Job, /, without_topics: bool, as_json: bool, **options: Any) -> None:
    """Print the paper's Table 2 for models and pair sets.

    Each text is encoded once a model. The delta of the non-answers is tuned on each set itself,
    which flatters a model a little: the output says so. For a test set, take it from a dev set.

    \b
        adhominem table ensemble --pairs dev --members
        adhominem table early-bird ensemble --pairs test --delta-from dev
    """
    from adhominem.cli.terminal import print_lines, print_result
    from adhominem.questions.evaluate.files import table
    from adhominem.questions.evaluate.page import table_lines

    scored = table(**options, **job, with_topics=not without_topics)
    if as_json:
        print_result(scored, job["skipped"])
        return
    print_lines(table_lines(scored, options["measure"]))


@click.command()
@opt.path("--small", "PAN 2020's small training set: its .jsonl, with the truth beside it.")
@opt.path("--large", "PAN 2020's large training set.")
@opt.path(
    "--test tests",
    "A test set; without a truth beside it, it is answered alone. May be given several times.",
    multiple=True,
)
@opt.output_folder
@click.option(
    "--preset",
    "presets",
    multiple=True,
    default=["pan20"],
    show_default=True,
    help="pan20 (the paper's), pan21 (its successor's, trained on the largest set), or another "
    "network's; may be given several times.",
)
@opt.number("--members", 5, "Networks of each ensemble, with consecutive seeds.")
@click.option("--epochs", type=opt.ONE_OR_MORE, help="Of each training.  [default: the preset's]")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="For all trainings; see train."
)
@opt.text("--device", "cpu, cuda, or auto.", default="auto")
@opt.jobs
@opt.number("--at-once", 1, "Processes that share the steps: several trainings at once on one GPU.")
@opt.flag("--dry-run", "Check the inputs, and print the plan: hours, disk and memory.")
@opt.seed
@opt.runs_job
def paper(
    job: opt.Job,
    /,
    small: Path | None,
    large: Path | None,
    tests: tuple[Path, ...],
    output: Path,
    presets: tuple[str, ...],
    members: int,
    epochs: int | None,
    settings: tuple[str, ...],
    seed: int,
    dry_run: bool,
    as_json: bool,
    device: str,
    **options: Any,
) -> None:
    """Repeat the paper's experiment, from PAN's files to the rows of its Table 2.

    Splits the pairs, trains the early-bird model, the single one and the ensemble on each set,
    finds delta on dev, answers the test sets, and puts the scores beside the paper's.
    OUTPUT/results has a page, with entropy curves and heat maps. Rows of sets that are not given
    are left out. After a stop, the same command goes on; a set can be added later.

    \b
        adhominem paper --small small.jsonl --test test.jsonl -o paper --dry-run
        adhominem paper --small small.jsonl --large large.jsonl --test test.jsonl -o paper
    """
    from adhominem.cli import terminal
    from adhominem.questions.paper.experiment import costs_of, make_plan, run_experiment
    from adhominem.questions.paper.inputs import Inputs
    from adhominem.questions.paper.page import cost_lines, result_lines
    from adhominem.questions.paper.steps import ExperimentOptions

    if epochs is not None:
        settings = (*settings, f"training.epochs={epochs}")
    asked = ExperimentOptions(presets=presets, members=members, settings=settings, seed=seed)
    inputs = Inputs.find(small, large, tests)
    plan = make_plan(inputs, output, asked, device=device, watch=job["watch"])
    terminal.complain(*(f"warning: {remark}" for remark in plan.inputs.remarks))
    if dry_run:
        costs = costs_of(plan, output, options["jobs"])
        if as_json:
            terminal.print_result(costs)
        else:
            terminal.print_lines(cost_lines(costs))
        return
    with terminal.steps_bar() as tell:
        results = run_experiment(plan, output, device=device, tell=tell, **options)
    if as_json:
        terminal.print_result(results)
        return
    terminal.print_lines(result_lines(results))
    terminal.say(f"Written  {real_path(output) / 'results' / 'index.html'}")


@click.command()
@click.argument("name", type=click.Choice(["naive", "compression", "delta"]))
@click.argument("pairs", type=opt.PATH)
@opt.path(
    "--train",
    "Pairs with their truth to learn from; may be given several times.",
    multiple=True,
    required=True,
)
@opt.output("The answers.jsonl.")
@opt.all_cores
@opt.force
@opt.runs_job
def baseline(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Answer PAIRS by a simple rival system, for comparison.

    \b
    naive        character 4-grams and their cosine (PAN's first baseline)
    compression  how well one text predicts the other (PAN's second)
    delta        Burrows's Delta on the most frequent words

    \b
        adhominem baseline naive dev --train train-pairs -o answers.jsonl
    """
    from adhominem.cli.terminal import print_result
    from adhominem.questions.evaluate.files import baseline_files

    answers = baseline_files(**options, skipped=job["skipped"])
    if as_json:
        print_result(answers, job["skipped"])
