"""The commands that make, teach and serve models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from adhominem.cli import options as opt


@click.command()
@opt.corpora
@opt.path(
    "--dev",
    "A pair set to choose the best epoch or step by; may be given several times.",
    multiple=True,
)
@opt.path(
    "--calibration",
    "Texts of other authors for the second stage of pan21, O2D2; may be given several times.",
    multiple=True,
)
@opt.output_folder
@opt.text(
    "--preset",
    "pan20 (the paper's), pan21 (its successor's), general, tiny, ngrams, ngram-profile or "
    "tiny-ngrams.",
    default="pan20",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="E.g. encoder.lev_size=80."
)
@opt.number("--members", 1, "How many to train, with consecutive seeds; their mean decides.")
@opt.text("--device", "cpu, cuda, or auto.", default="auto")
@opt.flag("--resume", "Go on with a run that was stopped.")
@opt.seed
@opt.runs_job
def train(
    job: opt.Job,
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

    from adhominem.cli import terminal
    from adhominem.training.train import any_preset, train_files

    config = any_preset(preset).with_settings([f"training.seed={seed}", *settings])
    speaks = os.environ.get("RANK", "0") == "0"  # of torchrun's processes, the first
    try:
        with (
            nullcontext() if speaks else terminal.silence(),
            terminal.training_bar(getattr(config.training, "epochs", 1), members) as on_event,
        ):
            trained = train_files(
                **options,
                config=config,
                members=members,
                skipped=job["skipped"] if speaks else [],
                on_event=on_event,
            )
    except KeyboardInterrupt:
        if speaks:
            terminal.complain(
                f"stopped: what was learnt is in {options['output']}.training, and the same "
                "command with --resume goes on from there"
            )
        raise
    if not speaks:
        return
    if as_json:
        terminal.print_result(trained, job["skipped"])
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
    if rows:
        terminal.print_table(f"{trained.model}: dev scores", ["dev set", *measures], rows)
    loss = getattr(config, "loss", None)
    if loss is not None and loss.adaptation_size and not options["calibration"]:
        terminal.say("Without --calibration, O2D2 was not trained: it will leave no pair open.")
    if trained.delta is not None:
        terminal.say(
            f"Non-answers within 0.5 ± {trained.delta:g} are best for dev: `predict --delta auto`"
        )
    terminal.say(
        f"Written  {trained.model}. To compare texts by authors that it has never seen, calibrate "
        "it next: `adhominem calibrate`. For a task with known authors, use it as it is"
    )


@click.command()
@click.argument("members", nargs=-1, required=True, type=opt.PATH)
@opt.output_folder
@opt.path("--corpus", "The prepared training corpus, from which the members learn genres.")
@opt.flag("--by-language", "Each member reads the texts of the language its folder is named by.")
@opt.path("--about", "A file: how the model card begins.")
@opt.json
def ensemble(
    members: tuple[str, ...],
    as_json: bool,
    output: Path,
    by_language: bool,
    corpus: Path | None,
    about: Path | None,
) -> None:
    """Make one model of several MEMBERS, networks or n-gram models.

    Each is a model's folder or the name of a shipped model; of an ensemble, all members are taken.
    With --by-language, members are n-gram profiles of one size, each trained on texts of one
    language, in folders named by its code, such as de; each text is read by one of them.

    `adhominem calibrate` then fits how much each counts.

    \b
        adhominem ensemble network ngrams -o both --corpus corpus
        adhominem ensemble de fr ja -o three-languages --by-language
    """
    from adhominem.cli.terminal import print_json, print_table, watch
    from adhominem.training.ensemble import make_ensemble, make_languages

    if by_language and corpus is not None:
        raise click.UsageError("with --by-language, members know their genres: omit --corpus")
    if by_language:
        made = make_languages(members, output, about=about or "")
    else:
        made = make_ensemble(members, output, corpus=corpus, about=about or "", watch=watch)
    if as_json:
        print_json({"model": str(output), "members": list(made.members)})
    else:
        print_table(str(output), ["member"], [[name] for name in made.members])


@click.command()
@click.argument("model", type=opt.PATH)
@click.argument("sets", metavar="[SETS]...", nargs=-1, type=opt.PATH)
@opt.path(
    "--twin",
    "In place of SETS: a calibrated model with the same settings, trained on fewer authors.",
)
@opt.number("--cases", 12, "Cases of each class, of each set under each condition, at most.")
@opt.device
@opt.jobs
@opt.runs_job
def calibrate(
    job: opt.Job, /, model: Path, twin: Path | None, as_json: bool, **options: Any
) -> None:
    """Make the Bayes factors of a MODEL honest, by texts of authors it has never seen.

    Each of SETS is a genre: texts with their authors in any layout, or a pair set. They are made
    into cases under many conditions: one known text or several, long and short ones, with
    populations of other authors' texts or without. Fits how much genres, authors and texts vary
    for each member, and the bounds beyond which no Bayes factor is reported, and saves them in
    the model's folder.

    To train on all authors, and keep none back: train a twin on some of them, calibrate it by the
    others, then train the model itself on all, and let it take over the calibration of its twin.

    \b
        adhominem calibrate model calibration-texts
        adhominem calibrate model-of-all-authors --twin model
    """
    from math import log

    from adhominem.cli.terminal import print_result, print_table, say
    from adhominem.training.calibrate import calibrate_model
    from adhominem.training.twin import calibrate_by_twin

    if bool(options["sets"]) == (twin is not None):
        raise click.UsageError("give SETS of texts, or a --twin, not both")
    if twin is None:
        reports = calibrate_model(model, **options, **job)
    else:
        for name in ("cases", "device", "jobs"):
            if click.get_current_context().get_parameter_source(name) != ParameterSource.DEFAULT:
                raise click.UsageError(
                    f"--{name} is for SETS; a --twin has its calibration already"
                )
        reports = calibrate_by_twin(model, twin)
    if as_json:
        print_result(reports, job["skipped"])
        return
    measures = ("auc", "cllr", "cllr_min", "cllr_cal", "eer", "ece")
    scored = "calibrated by" if twin is None else f"calibration taken over from {twin}, fitted to"
    print_table(
        f"{model}: {scored} {reports.alone.cases:,} cases of "
        f"{reports.alone.authors:,} authors without a population",
        ["", *measures],
        [
            [f"{mode}, {title}", *(f"{row[name]:.3f}" for name in measures)]
            for mode, report in reports.modes.items()
            for title, row in (("before", report.before), ("after", report.after))
        ],
    )
    for mode in reports.modes:
        low, high = reports.calibration.widest(population=mode == "with one")
        say(
            f"{mode.capitalize()}: no log10 Bayes factor below {low / log(10):.2f} or above "
            f"{high / log(10):.2f} will be reported, under many conditions less."
        )
    say("'After' is of cases whose authors, and of three sets or more whose genre, are new to it.")


@click.command()
@click.argument("model", type=opt.PATH)
@click.argument("sets", metavar="TEXTS...", nargs=-1, required=True, type=opt.PATH)
@opt.seed
@opt.runs_job
def genres(job: opt.Job, /, model: Path, as_json: bool, **options: Any) -> None:
    """Teach a MODEL further genres, each from a set of TEXTS by anybody.

    Where no population is given, the model guesses the genre of two texts from those that it knows.
    Only where texts of a genre lie is learnt; how texts are encoded stays as it is. Calibrate
    the model again afterwards, with other authors.

    \b
        adhominem genres model sermons letters
    """
    from adhominem.cli.terminal import print_result, print_table, say
    from adhominem.training.teach import learn_genres

    learnt = learn_genres(model, **options, **job)
    if as_json:
        print_result(learnt, job["skipped"])
        return
    print_table("Learnt", ["genre", "texts"], list(learnt.texts.items()))
    say(f"{model} knows {len(learnt.genres)} genres now. Calibrate it again.")


@click.command()
@click.argument("model", type=opt.PATH)
@opt.corpora
@opt.number("--texts", 400, "How many texts of each source to learn from, drawn by chance.")
@opt.runs_job
def prose(job: opt.Job, /, model: Path, as_json: bool, **options: Any) -> None:
    """Teach a MODEL what running prose is like, from SOURCES of several genres.

    It then makes no statement on texts that are something else: another language, source
    code, lists, tables, verse, badly read scans. Each source is a genre, and should be prose;
    give all genres that the model is used for. What was learnt is saved in the model's folder.

    \b
        adhominem prose model novels.jsonl letters.jsonl blogs.jsonl
    """
    from adhominem.cli.terminal import print_result, print_table
    from adhominem.training.teach import learn_prose

    learnt = learn_prose(model, **options, **job)
    if as_json:
        print_result(learnt, job["skipped"])
        return
    rows = [
        [genre, f"{count:,}", f"{learnt.foreign[genre]:.1%}"]
        for genre, count in learnt.texts.items()
    ]
    heads = ["genre", "texts", "of their parts foreign"]
    print_table(f"{learnt.model}: what prose is like", heads, rows)


@click.command()
@click.argument("model", type=opt.PATH)
@opt.corpora
@opt.path(
    "--machine", "Texts by a machine; may be given several times.", multiple=True, required=True
)
@opt.number("--texts", 300, "How many texts of each source to learn from, drawn by chance.")
@opt.jobs
@opt.runs_job
def machine(
    job: opt.Job, /, model: Path, machine: tuple[Path, ...], as_json: bool, **options: Any
) -> None:
    """Teach a MODEL what texts by machines look like, from SOURCES by people and by machines.

    It then warns of texts that look machine-written. Each source by people is a genre; each
    source by machines should be one machine's, or one genre of its texts. Of each genre by people
    at most 2% of the texts cause a false alarm, even if that genre is unknown. What was learnt is
    saved in the model's folder.

    \b
        adhominem machine model novels.jsonl blogs.jsonl --machine gpt.jsonl --machine claude.jsonl
    """
    from adhominem.cli.terminal import print_result, print_table
    from adhominem.training.teach import learn_machine_look

    learnt = learn_machine_look(model, machines=machine, **options, **job)
    if as_json:
        print_result(learnt, job["skipped"])
        return
    rows = []
    for writers, shares in (("people", learnt.false_alarms), ("machines", learnt.detected)):
        for name, share in shares.items():
            rows.append([name, writers, f"{learnt.texts[name]:,}", f"{share:.1%}"])
    heads = ["source", "written by", "texts", "look machine-written"]
    print_table(f"{learnt.model}: what texts by machines look like", heads, rows)


@click.command()
@opt.text("--host", "Where to listen.", default="127.0.0.1")
@opt.number("--port", 8000, "0: any free.", of=click.IntRange(0, 65535))
@opt.model
@opt.population()
@click.option(
    "--index",
    metavar="INDEX",
    help="An index to search, on the page and by /api/search: its folder, or milvus://HOST:PORT/COLLECTION.",
)
@click.option(
    "--token",
    envvar="ADHOMINEM_TOKEN",
    default="",
    help="Whoever asks must know it; better set ADHOMINEM_TOKEN, which other users cannot see.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A name that the server is reached by, if there is a proxy before it.",
)
@opt.number("--max-bytes", 16 << 20, "The largest request to accept, in bytes.")
@opt.number(
    "--timeout",
    120.0,
    "Seconds until a request is given up.",
    of=click.FloatRange(min=0, min_open=True),
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
def serve(
    model: str | None,
    population: str | None,
    index: str | None,
    max_bytes: int,
    timeout: float,
    allow_host: tuple[str, ...],
    **options: Any,
) -> None:
    """A page to compare texts in a browser, and a REST interface for programs.

    Texts are neither stored nor logged. Without --host only this machine can reach it.

    \b
        adhominem serve --open
        ADHOMINEM_TOKEN=secret adhominem serve --host 0.0.0.0 --population similar-texts
    """
    from adhominem.cli.terminal import complain
    from adhominem.errors import MissingExtraError

    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve", "adhominem serve") from None
    from adhominem.web.failures import Limits
    from adhominem.web.server import serve as serve_all
    from adhominem.web.service import Service

    limits = Limits(bytes=max_bytes, seconds=timeout)
    service = Service.open(model, population, limits, index)
    serve_all(service, names=allow_host, say=complain, **options)
