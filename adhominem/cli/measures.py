"""The commands that say how good it is: evaluate, table, baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhominem import __version__
from adhominem.cli.shared import (
    all_cores_option,
    answering,
    check_companions,
    finish,
    force_option,
    json_option,
    no_companions_option,
    read_all_pairs,
    read_pair_sets,
    seed_option,
    skip_list,
)
from adhominem.errors import NotFoundError

if TYPE_CHECKING:
    from adhominem.evaluation.measures import Evaluation


@click.command()
@click.argument("truth", type=click.Path(path_type=Path))
@click.argument("answers", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A folder for figures and a page."
)
@click.option(
    "--pairs",
    type=click.Path(path_type=Path),
    help="The texts (pairs.jsonl): measures by topic and by length, too.",
)
@click.option(
    "--model",
    help="A shipped model or a model's folder, to answer the pairs of --pairs itself.",
)
@click.option(
    "--population",
    metavar="PATH|input",
    help="For --model: texts of the same genre; `input`: those of the pairs, all of one genre.",
)
@no_companions_option
@click.option(
    "--training",
    type=click.Path(path_type=Path),
    help="A model's training.jsonl: its entropy curves go on the page, too.",
)
@click.option(
    "--missing-as-unanswered", is_flag=True, help="A pair without an answer is a non-answer."
)
@click.option(
    "--bootstrap",
    default=1000,
    show_default=True,
    type=click.IntRange(min=0),
    help="Resamples for the 95% intervals; 0 leaves them out.",
)
@seed_option
@json_option
def evaluate(
    truth: Path,
    answers: tuple[Path, ...],
    output: Path | None,
    pairs: Path | None,
    model: str | None,
    population: str | None,
    no_companions: bool,
    training: Path | None,
    missing_as_unanswered: bool,
    bootstrap: int,
    seed: int,
    as_json: bool,
) -> None:
    """Measure anyone's answers: PAN's scores, and the cost of the evidence.

    TRUTH is PAN's truth.jsonl (or a folder with it), ANSWERS are one or more answers.jsonl
    with `id`, `value` (0 to 1, 0.5 = no answer) and, if you like, `log_bayes_factor` in nats.

    \b
        adhominem evaluate truth.jsonl answers.jsonl -o report
        adhominem evaluate dev/ --pairs dev/ --model general-en --population input
    """
    from contextlib import ExitStack
    from dataclasses import asdict
    from tempfile import TemporaryDirectory

    from adhominem.cli.terminal import counting, print_json, print_table, say
    from adhominem.evaluation.answers import load_systems, load_truth
    from adhominem.evaluation.groups import read_groups
    from adhominem.evaluation.measures import MEASURES
    from adhominem.evaluation.measures import evaluate as evaluate_answers
    from adhominem.text.writing import check_output

    if output is not None:
        output = check_output(output)
    elif training is not None:
        raise click.UsageError("--training is for the page; expected -o FOLDER with it")
    if model is None and not answers:
        raise click.UsageError("there is nothing to measure: give ANSWERS, or --model with --pairs")
    if model is None and population is not None:
        raise click.UsageError("--population is for a model; expected --model with it")
    check_companions(population, no_companions)
    labels = load_truth(truth)
    with ExitStack() as stack:
        if model is not None:
            if pairs is None:
                raise click.UsageError("--model needs the texts: give them by --pairs")
            scratch = Path(stack.enter_context(TemporaryDirectory()))
            answers = (*answers, _answers_of(model, pairs, population, not no_companions, scratch))
        systems = load_systems(answers, labels, missing_as_unanswered=missing_as_unanswered)
    groups = read_groups(pairs, labels) if pairs else None
    with counting("bootstrap", bootstrap * len(systems)) as on_resample:
        found = [
            evaluate_answers(
                system,
                authors=labels.authors,
                groups=groups,
                resamples=bootstrap,
                seed=seed,
                on_resample=on_resample,
            )
            for system in systems
        ]
    if output is not None:
        from adhominem.evaluation.folder import write_evaluation
        from adhominem.evaluation.plots import Entropies

        entropies = Entropies.read(training) if training else None
        write_evaluation(found, systems, output, __version__, entropies)
    if as_json:
        print_json({"systems": [asdict(each) for each in found]})
        return
    names = [each.name for each in found]
    rows = [
        [entry.title, *(_with_interval(each, name) for each in found)]
        for name, entry in MEASURES.items()
    ]
    same = int(labels.same_author.sum())
    print_table(f"{len(labels):,} pairs, {same:,} of them by the same author", ["", *names], rows)
    for part in found[0].groups:
        measures = ("auc", "c@1", "overall_2021", "cllr", "eer")
        shown = [
            [
                each.name,
                each.groups[part].pairs,
                *(f"{each.groups[part].measures[k]:.3f}" for k in measures),
            ]
            for each in found
        ]
        print_table(part, ["", "pairs", *(MEASURES[name].title for name in measures)], shown)
    for remark in dict.fromkeys(line for each in found for line in each.remarks):
        say(f"Note: {remark}.")
    if found[0].intervals:
        say(
            f"In brackets: 95% intervals, by resampling {found[0].resampled} "
            f"{found[0].resamples:,} times."
        )
    if output is not None:
        say(f"Figures and a page: {output / 'index.html'}")


def _answers_of(
    model: str, pairs: Path, population: str | None, companions: bool, folder: Path
) -> Path:
    """A model's own answers, in a file of its name and of how it came to them."""
    from adhominem.cli.terminal import complain
    from adhominem.jobs.predict import predict
    from adhominem.text.pan import pair_rows
    from adhominem.text.readers import find_sources

    output = folder / "answers.jsonl"
    size = sum(source.size() for source in find_sources(pairs))
    with answering(
        lambda on_bytes: pair_rows(pairs, on_bytes=on_bytes, labelled=False),
        size,
        population=population is not None,
    ) as (cases, on_population):
        done = predict(
            model,
            cases,
            output,
            population=pairs if population == "input" else population,
            companions=population == "input" and companions,
            on_population=on_population,
        )
    for caution in done.warnings:
        complain(f"warning: {caution.message}")
    how = ", companions" if done.companions else ", population" if population else ""
    return output.rename(folder / f"{Path(model).name}{how}.jsonl")


def _with_interval(evaluation: Evaluation, name: str) -> str:
    interval = evaluation.intervals.get(name)
    shown = f"{evaluation.measures[name]:.3f}"
    return shown if interval is None else f"{shown} ({interval[0]:.3f}-{interval[1]:.3f})"


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--pairs",
    "sets",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="A pair set with its truth; may be given several times.",
)
@click.option("--without-topics", is_flag=True, help="Hide the contextual prefixes.")
@json_option
def table(
    models: tuple[Path, ...], sets: tuple[Path, ...], without_topics: bool, as_json: bool
) -> None:
    """Print the paper's Table 2 for models and pair sets.

    The width of the band of non-answers is, as in the paper, the best for each set.

    \b
        adhominem table model ensemble --pairs dev/blogs --pairs dev/reddit
    """
    from dataclasses import asdict

    from adhominem.cli.terminal import counting, print_json, print_table, say
    from adhominem.jobs.table import table as score_all

    skipped = skip_list()
    found = read_pair_sets(sets, skipped)
    documents = 2 * sum(map(len, found.values())) * len(models)
    with counting("encoding", documents) as on_documents:
        rows = score_all(models, found, with_topics=not without_topics, on_documents=on_documents)
    if as_json:
        print_json(
            {"rows": [asdict(row) for row in rows], "skipped": [str(error) for error in skipped]}
        )
    else:
        measures = ("auc", "c@1", "f05u_2020", "f1", "overall_2020", "distance_auc")
        for name, pairs in found.items():
            print_table(
                f"{name}: {len(pairs):,} pairs",
                ["model", *measures],
                [
                    [row.model, *(f"{row.scores[measure]:.3f}" for measure in measures)]
                    for row in rows
                    if row.pair_set == name
                ],
            )
        bare = dict.fromkeys(row.model for row in rows if not row.calibrated)
        if bare:
            say(f"Not calibrated: {', '.join(bare)}.")
    finish(skipped)


@click.command()
@click.argument("name", type=click.Choice(["naive", "compression", "delta"]))
@click.argument("pairs", type=click.Path(path_type=Path))
@click.option(
    "--train",
    "train_sets",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="Pairs with their truth to learn from; may be given several times.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The answers.jsonl."
)
@all_cores_option
@force_option
@json_option
def baseline(
    name: str,
    pairs: Path,
    train_sets: tuple[Path, ...],
    output: Path,
    jobs: int,
    force: bool,
    as_json: bool,
) -> None:
    """Answer PAIRS by a simple rival system, for comparison.

    \b
    naive        character 4-grams and their cosine (PAN's first baseline)
    compression  how well one text predicts the other (PAN's second)
    delta        Burrows's Delta on the most frequent words

    \b
        adhominem baseline naive dev --train train-pairs -o answers.jsonl
    """
    from adhominem.cli.terminal import print_json
    from adhominem.evaluation.answers import write_answers
    from adhominem.evaluation.baselines import run_baseline
    from adhominem.text.files import check_not_read

    skipped = skip_list()
    known = [pair for path in train_sets for pair in read_all_pairs(path, skipped)]
    asked = read_all_pairs(pairs, skipped)
    check_not_read(output)
    if not asked and not force:
        raise NotFoundError("no pair can be read; expected one or more, or --force", pairs)
    found = run_baseline(name, known, asked, jobs=jobs)
    write_answers(output, [pair.id for pair in asked], found.value, found.log_bayes_factor)
    if as_json:
        print_json(
            {
                "output": str(output),
                "answers": len(asked),
                "skipped": [str(error) for error in skipped],
            }
        )
    finish(skipped)
