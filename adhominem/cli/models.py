"""The commands that make models: train, ensemble, calibrate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adhominem.cli.options import (
    PATH,
    choice_option,
    corpora_argument,
    flag_option,
    job_options,
    json_option,
    number_option,
    output_folder,
    path_option,
    seed_option,
)

if TYPE_CHECKING:
    from adhominem.errors import InputError


@click.command()
@corpora_argument
@path_option(
    "--dev", "A pair set to choose the best epoch by; may be given several times.", multiple=True
)
@output_folder
@click.option(
    "--preset",
    default="pan20",
    show_default=True,
    help="pan20 (the paper's), general, tiny, ngrams or ngram-profile.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="E.g. encoder.lev_size=80."
)
@number_option(
    "--members", 1, "Train so many, with seeds that follow each other; their mean decides."
)
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto.")
@flag_option("--resume", "Go on with a run that was stopped.")
@seed_option
@json_option
@click.pass_obj
def train(
    skipped: list[InputError],
    /,
    preset: str,
    settings: tuple[str, ...],
    seed: int,
    members: int,
    as_json: bool,
    **options: Any,
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

    from adhominem.cli.terminal import TrainingBar, print_result, print_table, silence
    from adhominem.config import any_preset
    from adhominem.jobs.train import train_files

    config = any_preset(preset).with_settings([f"training.seed={seed}", *settings])
    speaks = os.environ.get("RANK", "0") == "0"  # of torchrun's processes, the first
    with (
        nullcontext() if speaks else silence(),
        TrainingBar(getattr(config.training, "epochs", 1), members) as bar,
    ):
        trained = train_files(
            **options,
            config=config,
            members=members,
            skipped=skipped if speaks else [],
            on_event=bar.show,
        )
    if not speaks:
        return
    if as_json:
        print_result(trained, skipped)
        return
    parts = [(f"member {i}: ", scores) for i, scores in enumerate(trained.members, start=1)]
    parts = [*(parts if members > 1 else []), ("", trained.scores)]
    of_network = ("auc", "c@1", "f05u_2020", "f1", "overall_2020")  # of n-grams, the AUC alone
    measures = of_network if hasattr(config.training, "epochs") else of_network[:1]
    rows = [
        [f"{part}{name}", *(f"{row[measure]:.3f}" for measure in measures)]
        for part, scores in parts
        for name, row in scores.items()
    ]
    print_table(f"{trained.model}: dev scores", ["dev set", *measures], rows)


@click.command()
@click.argument("members", nargs=-1, required=True, type=PATH)
@output_folder
@path_option("--corpus", "The prepared training corpus: networks get genres from it.")
@path_option("--about", "A file: how the model card begins.")
@json_option
def ensemble(as_json: bool, output: Path, about: Path | None, **options: Any) -> None:
    """Make one model of several MEMBERS, be they networks or n-gram models.

    Each is a model's folder or the name of a shipped model; of an ensemble, all members are taken.

    `adhominem calibrate` then fits how they are heard together.

    \b
        adhominem ensemble network ngrams -o both --corpus corpus
    """
    from adhominem.cli.terminal import print_json, print_table, watch
    from adhominem.jobs.ensemble import make_ensemble

    made = make_ensemble(output=output, about=about or "", **options, watch=watch)
    if as_json:
        print_json({"model": str(output), "members": list(made.members)})
    else:
        print_table(str(output), ["member"], [[name] for name in made.members])


@click.command()
@click.argument("model", type=PATH)
@click.argument("sets", metavar="PAIRS...", nargs=-1, required=True, type=PATH)
@choice_option(
    "--method",
    ["logistic", "isotonic"],
    "The shape of the map from score to log Bayes factor.",
    default="logistic",
)
@choice_option(
    "--fusion",
    ["logistic", "mean"],
    "How an ensemble's members are heard: by fitted weights, or by their mean probability."
    "  [default: mean without a population, else logistic]",
)
@job_options
def calibrate(model: Path, fusion: str | None, as_json: bool, **options: Any) -> None:
    """Make the Bayes factors of a MODEL honest, by PAIRS of authors it has never seen.

    Fits the way from the members' scores to a log Bayes factor and the bounds beyond which
    none is reported: without a population, with each set's own texts as one, and with
    companions among them. Saves all three in the model's folder.

    \b
        adhominem calibrate model calibration-pairs
    """
    from math import log

    from adhominem.cli.terminal import print_result, print_table, say
    from adhominem.jobs.calibrate import calibrate_model

    reports = calibrate_model(model, fusion=fusion or "", **options)
    if as_json:
        print_result(reports, options["skipped"])
        return
    measures = ("auc", "cllr", "cllr_min", "cllr_cal", "eer", "ece")
    print_table(
        f"{model}: calibrated by {reports.alone.calibration.pairs:,} pairs of "
        f"{reports.alone.authors:,} authors",
        ["", *measures],
        [
            [f"{mode}, {title}", *(f"{row[name]:.3f}" for name in measures)]
            for mode, report in reports.modes.items()
            for title, row in (("before", report.before), ("after", report.after))
        ],
    )
    for mode, report in reports.modes.items():
        low, high = report.calibration.lower_bound, report.calibration.upper_bound
        say(
            f"{mode.capitalize()}: no log10 Bayes factor below {low / log(10):.2f} or above "
            f"{high / log(10):.2f} will be reported."
        )
    say("'After' is of pairs whose authors the map has not seen.")
    if reports.companions is None:
        say("Companions are not calibrated: too few pairs are in sets of 20 texts or more.")
