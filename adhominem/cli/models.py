"""The commands that make models: train, ensemble, calibrate."""

from __future__ import annotations

import os
from pathlib import Path

import click

from adhominem.cli.shared import (
    finish,
    json_option,
    output_folder,
    read_pair_sets,
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
@click.option(
    "--preset",
    default="pan20",
    show_default=True,
    help="pan20 (the paper's), general, tiny, ngrams or ngram-profile.",
)
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

    from adhominem.cli.terminal import TrainingBar, print_json, print_table, silence
    from adhominem.config import NgramConfig, any_preset
    from adhominem.jobs.train import open_inputs, train
    from adhominem.models.folder import read_scores

    config = any_preset(preset).with_settings([f"training.seed={seed}", *settings])
    speaks = os.environ.get("RANK", "0") == "0"  # of torchrun's processes, the first
    skipped = skip_list() if speaks else []
    with (
        nullcontext() if speaks else silence(),
        open_inputs(sources, dev, config.normaliser, skipped) as (corpus, pairs),
        TrainingBar(getattr(config.training, "epochs", 1), members) as bar,
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
        measures: tuple[str, ...] = ("auc", "c@1", "f05u_2020", "f1", "overall_2020")
        if isinstance(config, NgramConfig):
            measures = measures[:1]
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
@click.argument("members", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_folder
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="The prepared training corpus: networks get genres from it.",
)
@click.option("--about", type=click.Path(path_type=Path), help="A file: how the model card begins.")
@json_option
def ensemble(
    members: tuple[Path, ...], output: Path, corpus: Path | None, about: Path | None, as_json: bool
) -> None:
    """Make one model of several MEMBERS, be they networks or n-gram models.

    Each is a model's folder or the name of a shipped model; of an ensemble, all members are taken.

    `adhominem calibrate` then fits how they are heard together.

    \b
        adhominem ensemble network ngrams -o both --corpus corpus
    """
    from adhominem.cli.terminal import counting, print_json, print_table
    from adhominem.jobs.ensemble import make_ensemble
    from adhominem.text.corpus import PackedCorpus

    packed = PackedCorpus.open(corpus) if corpus else None
    with counting("fitting", None) as on_documents:
        made = make_ensemble(
            members,
            output,
            corpus=packed,
            about=about.read_text("utf-8") if about else "",
            on_documents=on_documents,
        )
    names = [path.name for path in sorted(made.iterdir()) if path.is_dir()]
    if as_json:
        print_json({"model": str(output), "members": names})
    else:
        print_table(str(output), ["member"], [[name] for name in names])


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("pairs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--method",
    type=click.Choice(["logistic", "isotonic"]),
    default="logistic",
    show_default=True,
    help="The shape of the map from score to log Bayes factor.",
)
@click.option(
    "--fusion",
    type=click.Choice(["logistic", "mean"]),
    help="How an ensemble's members are heard: by fitted weights, or by their mean probability."
    "  [default: mean without a population, else logistic]",
)
@json_option
def calibrate(
    model: Path, pairs: tuple[Path, ...], method: str, fusion: str | None, as_json: bool
) -> None:
    """Make the Bayes factors of a MODEL honest, by PAIRS of authors it has never seen.

    Fits the way from the members' scores to a log Bayes factor and the bounds beyond which
    none is reported: without a population, with each set's own texts as one, and with
    companions among them. Saves all three in the model's folder.

    \b
        adhominem calibrate model calibration-pairs
    """
    from dataclasses import asdict
    from math import log

    from adhominem.cli.terminal import counting, print_json, print_table, say
    from adhominem.jobs.calibrate import LENGTHS, calibrate_model

    skipped = skip_list()
    sets = read_pair_sets(pairs, skipped)
    with counting(
        "encoding", 2 * (1 + len(LENGTHS)) * sum(map(len, sets.values()))
    ) as on_documents:
        found = calibrate_model(
            model, sets, method=method, fusion=fusion or "", on_documents=on_documents
        )
    if as_json:
        print_json({**asdict(found), "skipped": [str(error) for error in skipped]})
    else:
        measures = ("auc", "cllr", "cllr_min", "cllr_cal", "eer", "ece")
        print_table(
            f"{model}: calibrated by {found.alone.calibration.pairs:,} pairs of "
            f"{found.alone.authors:,} authors",
            ["", *measures],
            [
                [f"{mode}, {title}", *(f"{row[name]:.3f}" for name in measures)]
                for mode, report in found.modes.items()
                for title, row in (("before", report.before), ("after", report.after))
            ],
        )
        for mode, report in found.modes.items():
            low, high = report.calibration.lower_bound, report.calibration.upper_bound
            say(
                f"{mode.capitalize()}: no log10 Bayes factor below {low / log(10):.2f} or above "
                f"{high / log(10):.2f} will be reported."
            )
        say("'After' is of pairs whose authors the map has not seen.")
        if found.companions is None:
            say("Companions are not calibrated: too few pairs are in sets of 20 texts or more.")
    finish(skipped)
