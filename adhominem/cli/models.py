"""The commands that make models: train, calibrate."""

from __future__ import annotations

import os
from pathlib import Path

import click

from adhominem.cli.shared import (
    finish,
    json_option,
    output_folder,
    read_all_pairs,
    seed_option,
    skip_list,
    sources_argument,
)


@click.command()
@sources_argument
@click.option(
    "--dev",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A pair set to choose the best epoch by; may be given several times.",
)
@output_folder
@click.option("--preset", default="pan20", show_default=True, help="pan20 (the paper's) or tiny.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="E.g. encoder.lev_size=80."
)
@click.option(
    "--members",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Train so many, with seeds that follow each other; their mean decides.",
)
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto.")
@click.option("--resume", is_flag=True, help="Go on with a run that was stopped.")
@seed_option
@json_option
def train(
    sources: tuple[Path, ...],
    dev: tuple[Path, ...],
    output: Path,
    preset: str,
    settings: tuple[str, ...],
    members: int,
    device: str,
    resume: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Train a model, or an ensemble of several, on texts or on a prepared corpus.

    SOURCES are what `adhominem prepare` reads, or one folder that it made. What is
    under way lies in OUTPUT.training; after a stop, the same command with --resume
    goes on from there and ends as if nothing had happened. Started by `torchrun -m
    adhominem train`, several processes share each batch.

    \b
        adhominem train split/train --dev dev-pairs -o model --preset tiny
    """
    from contextlib import nullcontext

    from adhominem.config import preset as find_preset
    from adhominem.models.folder import read_scores
    from adhominem.runs.train import open_inputs, train
    from adhominem.terminal import TrainingBar, print_json, print_table, silence

    config = find_preset(preset).with_settings([f"training.seed={seed}", *settings])
    speaks = os.environ.get("RANK", "0") == "0"  # of torchrun's processes, the first
    skipped = skip_list() if speaks else []
    with (
        nullcontext() if speaks else silence(),
        open_inputs(sources, dev, config, skipped) as (corpus, pairs),
        TrainingBar(config.training.epochs, members) as bar,
    ):
        models = train(
            corpus,
            pairs,
            output,
            config=config,
            members=members,
            device=device,
            resume=resume,
            on_event=bar.show,
        )
    if not speaks:
        finish([])
    scores = read_scores(output)
    if as_json:
        print_json(
            {
                "model": str(output),
                "scores": scores,
                "members": [model.scores for model in models],
                "skipped": [str(error) for error in skipped],
            }
        )
    else:
        measures = ("auc", "c@1", "f05u_2020", "f1", "overall_2020")
        parts = [(f"member {i}: ", model.scores) for i, model in enumerate(models, start=1)]
        parts = [*(parts if members > 1 else []), ("", scores)]
        rows = [
            [f"{part}{name}", *(f"{row[measure]:.3f}" for measure in measures)]
            for part, found in parts
            for name, row in found.items()
        ]
        print_table(f"{output}: dev scores", ["dev set", *measures], rows)
    finish(skipped)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("pairs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(["logistic", "isotonic"]),
    default="logistic",
    show_default=True,
    help="The shape of the map from score to log Bayes factor.",
)
@json_option
def calibrate(model: Path, pairs: tuple[Path, ...], kind: str, as_json: bool) -> None:
    """Make the Bayes factors of a MODEL honest, by PAIRS of authors it has never seen.

    Fits a monotone map from the model's score to a log Bayes factor and the bounds beyond which
    none is reported, and saves both in the model's folder.

    \b
        adhominem calibrate model calibration-pairs
    """
    from dataclasses import asdict
    from math import log

    from adhominem.runs.calibrate import calibrate_model
    from adhominem.terminal import counting, print_json, print_table

    skipped = skip_list()
    sets = {path.name: read_all_pairs(path, skipped) for path in pairs}
    with counting("encoding", 2 * sum(map(len, sets.values()))) as on_documents:
        report = calibrate_model(model, sets, kind=kind, on_documents=on_documents)
    if as_json:
        print_json({**asdict(report), "skipped": [str(error) for error in skipped]})
    else:
        measures = ("auc", "cllr", "cllr_min", "cllr_cal", "eer", "ece")
        print_table(
            f"{model}: calibrated by {report.calibration.pairs:,} pairs of "
            f"{report.authors:,} authors",
            ["", *measures],
            [
                [title, *(f"{row[name]:.3f}" for name in measures)]
                for title, row in (("before", report.before), ("after", report.after))
            ],
        )
        low, high = report.calibration.lower_bound, report.calibration.upper_bound
        click.echo(
            f"No log10 Bayes factor below {low / log(10):.2f} or above {high / log(10):.2f} "
            "will be reported. 'After' is of pairs whose authors the map has not seen."
        )
    finish(skipped)
