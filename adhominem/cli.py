"""The command `adhominem`: one function a command, no logic.

Exit status: 0 when all went well, 1 for an error, 2 for a wrong call, 3 when the
work was done but some of the input had to be skipped.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adhominem import __version__
from adhominem.errors import AdHominemError, InputError

if TYPE_CHECKING:
    from adhominem.evaluation.measures import Evaluation
    from adhominem.text.pan import Pair
    from adhominem.text.readers import Source

SKIPPED_STATUS = 3


class _Commands(click.Group):
    """Shows what AdHominem raises on purpose, and a full disk, as one line, not as a traceback."""

    def invoke(self, context: click.Context) -> Any:
        from adhominem.terminal import complain, short_warnings

        try:
            with short_warnings():
                return super().invoke(context)
        except BrokenPipeError:  # whoever reads our output has had enough: click ends in silence
            raise
        except (AdHominemError, OSError) as error:
            complain(f"error: {error}")
            sys.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="adhominem", message="adhominem %(version)s")
def main() -> None:
    """Were two texts written by the same person, and how strong is the evidence?"""


_sources = click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
_output = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to make."
)
_seed = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Repeats a run."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def _find(paths: tuple[Path, ...]) -> tuple[list[Source], int]:
    """The corpora at all these paths, and their bytes."""
    from adhominem.text.readers import find_sources

    sources = [source for path in paths for source in find_sources(path)]
    return sources, sum(source.size() for source in sources)


def _skip_list() -> list[InputError]:
    """Where bad rows go; they are shown when the command ends, be it by an error."""
    from adhominem.terminal import list_skipped

    skipped: list[InputError] = []
    click.get_current_context().call_on_close(lambda: list_skipped(skipped))
    return skipped


def _finish(skipped: list[InputError]) -> None:
    sys.exit(SKIPPED_STATUS if skipped else 0)


@main.command()
@_sources
@_output
@click.option(
    "--jobs", default=os.cpu_count() or 1, show_default="all cores", type=click.IntRange(min=1)
)
@click.option("--without", multiple=True, metavar="STEP", help="Leave out a normalisation step.")
@_json
def prepare(
    sources: tuple[Path, ...], output: Path, jobs: int, without: tuple[str, ...], as_json: bool
) -> None:
    """Tokenize texts once, into a packed corpus for training.

    SOURCES are folders author/document.txt or author_title.txt, .jsonl files (or
    folders of them) with the fields author, topic, work, id, text, PAN folders, all
    of them packed as .gz, .xz or .zst if you like; .docx, .pdf and .odt count as texts.

    \b
        adhominem prepare novels/ letters.jsonl.xz -o corpus
    """
    from adhominem.terminal import print_json, print_table, progress
    from adhominem.text.normalisation import STEPS, Normaliser
    from adhominem.text.prepare import prepare

    chosen, size = _find(sources)
    skipped = _skip_list()
    normaliser = Normaliser((*(step for step in STEPS if step not in without),))
    Normaliser(without)  # complains of a step that does not exist
    with progress("preparing", size) as on_bytes:
        corpus = prepare(
            chosen, output, normaliser=normaliser, jobs=jobs, skipped=skipped, on_bytes=on_bytes
        )
    description = corpus.description
    if as_json:
        print_json({**description, "skipped": [str(error) for error in skipped]})
    else:
        names = ("name", "authors", "documents", "tokens")
        rows = [[corpus[name] for name in names] for corpus in description["corpora"]]
        if len(rows) > 1:
            rows.append(["all", *(description[name] for name in names[1:])])
        print_table(f"{output}: {description['types']:,} token types", names, rows)
    _finish(skipped)


@main.command()
@_sources
@_output
@click.option(
    "--shares",
    nargs=3,
    type=float,
    default=(0.8, 0.1, 0.1),
    show_default=True,
    metavar="TRAIN DEV TEST",
)
@click.option("--topic-disjoint", is_flag=True, help="No topic on two sides (as in PAN 2021).")
@_seed
@_json
def split(
    sources: tuple[Path, ...],
    output: Path,
    shares: tuple[float, float, float],
    topic_disjoint: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Split texts by author into train, dev and test.

    Every author is on one side alone, whatever the order of the files. Texts that
    stand on two sides under two names, whole or for the most part, are taken out of
    the earlier side. OUTPUT gets train/, dev/, test/ and manifest.json.

    \b
        adhominem split letters.jsonl -o split --shares 0.9 0.1 0
    """
    from dataclasses import asdict

    from adhominem.pairs.split import SplitOptions, split
    from adhominem.terminal import print_json, print_table, progress

    chosen, size = _find(sources)
    skipped = _skip_list()
    options = SplitOptions(shares=shares, topic_disjoint=topic_disjoint, seed=seed)
    with progress("splitting", 2 * size) as on_bytes:
        report = split(chosen, output, options, skipped=skipped, on_bytes=on_bytes)
    if as_json:
        print_json(asdict(report))
    else:
        print_table(f"{output}: pairs of one epoch", *report.table())
        for line in report.remarks():
            click.echo(line)
    _finish(skipped)


@main.command()
@_sources
@_output
@click.option("--count", type=click.IntRange(min=1), help="Write at most so many pairs.")
@click.option("--balanced", is_flag=True, help="As many same-author as different-author pairs.")
@click.option(
    "--same-author-across",
    type=click.Choice(["work", "topic"]),
    default=None,
    help="Same-author pairs only from two different ones.",
)
@click.option(
    "--different-authors-within",
    type=click.Choice(["topic", "corpus"]),
    default=None,
    help="Different-author pairs only from one and the same.",
)
@_seed
@_json
def pairs(
    sources: tuple[Path, ...],
    output: Path,
    count: int | None,
    balanced: bool,
    same_author_across: str | None,
    different_authors_within: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Draw a fixed set of pairs and write it in PAN's format.

    The pairs are drawn by the paper's algorithms, each text at most once. The leak
    check tells how well a pair's topics or lengths alone give its label away.

    \b
        adhominem pairs split/dev -o dev --balanced --same-author-across work
    """
    from adhominem.evaluation.leaks import check_leaks
    from adhominem.pairs.epochs import PairOptions
    from adhominem.pairs.pair_set import write_pair_set
    from adhominem.terminal import print_json, print_table, progress

    chosen, size = _find(sources)
    skipped = _skip_list()
    options = PairOptions(
        balanced=balanced,
        same_author_across=same_author_across or "",
        different_authors_within=different_authors_within or "",
    )
    with progress("reading", size) as on_bytes:
        written = write_pair_set(
            chosen, output, options, seed=seed, count=count, skipped=skipped, on_bytes=on_bytes
        )
    drawn = written.pairs
    leaks = check_leaks(
        same_author=drawn.same_author,
        same_topic=written.same_topic,
        first_length=written.words[drawn.first],
        second_length=written.words[drawn.second],
    )
    if as_json:
        print_json(
            {
                "pairs": len(drawn),
                "same_author": drawn.same_author_count,
                "different_authors": drawn.different_author_count,
                "leaks": {leak.name: {"auc": leak.auc, "leaks": leak.leaks} for leak in leaks},
                "skipped": [str(error) for error in skipped],
            }
        )
    else:
        balance = [[drawn.same_author_count, drawn.different_author_count, len(drawn)]]
        print_table(f"{output}: pairs", ["same author", "different authors", "all"], balance)
        print_table(
            "Leak check: AUC of the label from this alone (0.5 = chance)",
            ["property", "AUC", ""],
            [[leak.name, f"{leak.auc:.3f}", leak.verdict] for leak in leaks],
        )
    _finish(skipped)


@main.command()
@_sources
@click.option(
    "--dev",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A pair set to choose the best epoch by; may be given several times.",
)
@_output
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
@_seed
@_json
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
    skipped = _skip_list() if speaks else []
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
        _finish([])
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
    _finish(skipped)


@main.command()
@click.argument("truth", type=click.Path(path_type=Path))
@click.argument("answers", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A folder for figures and a page."
)
@click.option(
    "--pairs",
    type=click.Path(path_type=Path),
    help="The texts (pairs.jsonl): measures by topic and by length, too.",
)
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
@_seed
@_json
def evaluate(
    truth: Path,
    answers: tuple[Path, ...],
    output: Path | None,
    pairs: Path | None,
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
    """
    from dataclasses import asdict

    from adhominem.evaluation.answers import load_systems, load_truth
    from adhominem.evaluation.groups import read_groups
    from adhominem.evaluation.measures import MEASURES
    from adhominem.evaluation.measures import evaluate as evaluate_answers
    from adhominem.terminal import counting, print_json, print_table
    from adhominem.text.files import check_output

    if output is not None:
        output = check_output(output)
    labels = load_truth(truth)
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
        kinds = ("auc", "c@1", "overall_2021", "cllr", "eer")
        shown = [
            [
                each.name,
                each.groups[part].pairs,
                *(f"{each.groups[part].measures[k]:.3f}" for k in kinds),
            ]
            for each in found
        ]
        print_table(part, ["", "pairs", *(MEASURES[kind].title for kind in kinds)], shown)
    for remark in dict.fromkeys(line for each in found for line in each.remarks):
        click.echo(f"Note: {remark}.")
    if found[0].intervals:
        click.echo(
            f"In brackets: 95% intervals, by resampling {found[0].resampled} "
            f"{found[0].resamples:,} times."
        )
    if output is not None:
        click.echo(f"Figures and a page: {output / 'index.html'}")


def _with_interval(evaluation: Evaluation, name: str) -> str:
    interval = evaluation.intervals.get(name)
    shown = f"{evaluation.measures[name]:.3f}"
    return shown if interval is None else f"{shown} ({interval[0]:.3f}-{interval[1]:.3f})"


@main.command()
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
@_json
def table(
    models: tuple[Path, ...], sets: tuple[Path, ...], without_topics: bool, as_json: bool
) -> None:
    """Print the paper's Table 2 for models and pair sets.

    The width of the band of non-answers is, as in the paper, the best for each set.

    \b
        adhominem table model ensemble --pairs dev/blogs --pairs dev/reddit
    """
    from dataclasses import asdict

    from adhominem.runs.table import table as score_all
    from adhominem.terminal import counting, print_json, print_table

    skipped = _skip_list()
    found = {path.name: _read_pairs(path, skipped) for path in sets}
    documents = 2 * sum(map(len, found.values())) * len(models)
    with counting("encoding", documents) as on_documents:
        rows = score_all(models, found, with_topics=not without_topics, on_documents=on_documents)
    if as_json:
        print_json(
            {"rows": [asdict(row) for row in rows], "skipped": [str(error) for error in skipped]}
        )
    else:
        measures = ("auc", "c@1", "f05u_2020", "f1", "overall_2020", "distance_auc")
        print_table(
            "Scores",
            ["model", "pair set", "pairs", *measures],
            [
                [row.model, row.pair_set, row.pairs, *(f"{row.scores[k]:.3f}" for k in measures)]
                for row in rows
            ],
        )
        bare = dict.fromkeys(row.model for row in rows if not row.calibrated)
        if bare:
            click.echo(f"Not calibrated: {', '.join(bare)}.")
    _finish(skipped)


def _read_pairs(path: Path, skipped: list[InputError]) -> list[Pair]:
    from adhominem.text.readers import read_pairs

    return list(read_pairs(path, skipped=skipped))


@main.command()
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
@click.option(
    "--jobs", default=os.cpu_count() or 1, show_default="all cores", type=click.IntRange(min=1)
)
def baseline(name: str, pairs: Path, train_sets: tuple[Path, ...], output: Path, jobs: int) -> None:
    """Answer PAIRS by a simple rival system, for comparison.

    \b
    naive        character 4-grams and their cosine (PAN's first baseline)
    compression  how well one text predicts the other (PAN's second)
    delta        Burrows's Delta on the most frequent words

    \b
        adhominem baseline naive dev --train train-pairs -o answers.jsonl
    """
    from adhominem.evaluation.answers import write_answers
    from adhominem.evaluation.baselines import run_baseline

    skipped = _skip_list()
    known = [pair for path in train_sets for pair in _read_pairs(path, skipped)]
    asked = _read_pairs(pairs, skipped)
    found = run_baseline(name, known, asked, jobs=jobs)
    write_answers(output, [pair.id for pair in asked], found.value, found.log_bayes_factor)
    _finish(skipped)


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("pairs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(["logistic", "isotonic"]),
    default="logistic",
    show_default=True,
    help="The shape of the map from score to log Bayes factor.",
)
@_json
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

    skipped = _skip_list()
    sets = {path.name: _read_pairs(path, skipped) for path in pairs}
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
    _finish(skipped)


_model = click.option(
    "--model",
    envvar="ADHOMINEM_MODEL",
    required=True,
    type=click.Path(path_type=Path),
    help="A model's folder; or set ADHOMINEM_MODEL.",
)
_device = click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="cpu, or cuda where there is torch and a GPU.",
)
_prior = click.option(
    "--prior",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="How probable one author is before the texts are read.",
)


@main.command()
@click.argument("first")
@click.argument("second")
@_model
@click.option(
    "--also-first", multiple=True, metavar="FILE", help="One more text of the first side."
)
@click.option("--also-second", multiple=True, metavar="FILE", help="One more of the second side.")
@click.option("--topic-first", default="", metavar="TEXT", help="What the first side is about.")
@click.option("--topic-second", default="", metavar="TEXT", help="What the second is about.")
@_device
@_prior
@click.option(
    "--delta",
    default=0.125,
    show_default=True,
    type=click.FloatRange(0, 0.5, max_open=True),
    help="Undecided within 0.5 +- delta.",
)
@click.option(
    "--scale", type=click.Path(path_type=Path), help="A verbal scale of your own, as JSON."
)
@_json
def verify(
    first: str,
    second: str,
    model: Path,
    also_first: tuple[str, ...],
    also_second: tuple[str, ...],
    topic_first: str,
    topic_second: str,
    device: str,
    prior: float,
    delta: float,
    scale: Path | None,
    as_json: bool,
) -> None:
    """Were two texts written by the same person, and how strong is the evidence?

    FIRST and SECOND are files (.txt, .docx, .pdf, .odt), folders with several texts by one
    author, or - for standard input.

    \b
        adhominem verify letter.txt email.txt --model model
        adhominem verify letter.txt known-letters/ --model model --prior 0.1
    """
    from adhominem.scoring.verbal import VerbalScale
    from adhominem.terminal import print_json, print_verification
    from adhominem.text.exhibits import read_exhibits
    from adhominem.verifier import load

    result = load(model, device=device).verify(
        read_exhibits([first, *also_first], topic_first),
        read_exhibits([second, *also_second], topic_second),
        prior_same_author=prior,
        delta=delta,
        scale=VerbalScale.read(scale) if scale else None,
    )
    if as_json:
        print_json(result.to_json())
    else:
        print_verification(result.to_json())


@main.command()
@click.argument("source", required=False, type=click.Path(path_type=Path))
@click.option("-i", "--input", "given", type=click.Path(path_type=Path), help="The same as SOURCE.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The answers.jsonl, or a folder for it.",
)
@_model
@click.option(
    "--input-format",
    type=click.Choice(["pan20", "pan15"]),
    default="pan20",
    show_default=True,
    help="pairs.jsonl, or problem folders.",
)
@_device
@_prior
@click.option(
    "--delta",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 0.5, max_open=True),
    help="Answer 0.5 within 0.5 +- delta.",
)
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes."
)
@_json
def predict(
    source: Path | None,
    given: Path | None,
    output: Path,
    model: Path,
    input_format: str,
    device: str,
    prior: float,
    delta: float,
    jobs: int,
    as_json: bool,
) -> None:
    """Answer all pairs of a file: PAN's pairs.jsonl to answers.jsonl.

    A run that was stopped goes on where it was when it is started again. Each answer has the
    fields id, value and log_bayes_factor.

    \b
        adhominem predict pairs.jsonl -o answers.jsonl --model model --jobs 2
        adhominem predict -i INPUT_FOLDER -o OUTPUT_FOLDER --model model
    """
    from adhominem.cautions import UNCALIBRATED
    from adhominem.runs.predict import predict as answer_all
    from adhominem.terminal import complain, print_json, print_table, progress
    from adhominem.text.pan import pair_rows, problem_rows
    from adhominem.text.readers import find_sources

    if (source is None) == (given is None):
        raise click.UsageError("give the input once, as SOURCE or by -i")
    path = source or given
    assert path is not None
    if output.is_dir() or not output.suffix:
        output = output / "answers.jsonl"
    skipped = _skip_list()
    size = sum(found.size() for found in find_sources(path))
    with progress("answering", size) as on_bytes:
        done = answer_all(
            model,
            pair_rows(path, on_bytes=on_bytes, labelled=False)
            if input_format == "pan20"
            else problem_rows(path, on_bytes),
            output,
            prior_same_author=prior,
            delta=delta,
            jobs=jobs,
            device=device,
            skipped=skipped,
        )
    if not done.calibrated:
        complain(UNCALIBRATED)
    if as_json:
        print_json(
            {
                "output": str(done.output),
                "calibrated": done.calibrated,
                "answers": done.answers,
                "scored_now": done.scored,
                "texts_encoded": done.encoded,
                "skipped": [str(error) for error in skipped],
            }
        )
    else:
        print_table(
            str(done.output),
            ["", "answers", "scored now", "texts encoded", "skipped"],
            [["", done.answers, done.scored, done.encoded, len(skipped)]],
        )
    _finish(skipped)


@main.command()
@_sources
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="A .parquet or .npz file.",
)
@_model
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes."
)
@_json
def encode(sources: tuple[Path, ...], output: Path, model: Path, jobs: int, as_json: bool) -> None:
    """Turn every text into its linguistic embedding vector (LEV).

    The table has a row a text: corpus, author, topic, work, id and lev.

    \b
        adhominem encode novels/ -o levs.parquet --model model
    """
    from adhominem.runs.encode import encode as encode_all
    from adhominem.terminal import print_json, print_table, progress

    chosen, size = _find(sources)
    skipped = _skip_list()
    with progress("encoding", size) as on_bytes:
        done = encode_all(model, chosen, output, jobs=jobs, skipped=skipped, on_bytes=on_bytes)
    if as_json:
        print_json(
            {
                "output": str(output),
                "documents": done.documents,
                "lev_size": done.lev_size,
                "skipped": [str(error) for error in skipped],
            }
        )
    else:
        print_table(
            str(output), ["", "documents", "LEV size"], [["", done.documents, done.lev_size]]
        )
    _finish(skipped)
