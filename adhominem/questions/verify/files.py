"""Two sides given as files, compared and explained: `adhominem verify` and `explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from adhominem.errors import InputError, OptionError
from adhominem.model.folder import DEFAULT_MODEL, model_folder
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, read_exhibits
from adhominem.text.files import check_not_read, note_input, noting_inputs
from adhominem.text.readers import Watch, unwatched
from adhominem.text.writing import write_whole
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Verifier, load

if TYPE_CHECKING:
    from adhominem.verify.explanation import Explanation

_BY_ENDING = {".html": "html", ".htm": "html", ".txt": "terminal"}


class CaseOptions(TypedDict, total=False):
    """The optional parts of a case beside its two sides."""

    model: str | Path  # the name of a shipped model, or a model's folder
    also_first: Sequence[str | Path]  # further texts of the first side
    also_second: Sequence[str | Path]
    topic_first: str  # what the first side is about
    topic_second: str
    population: str | Path | None  # where texts of the relevant population lie
    device: str
    skipped: list[InputError] | None  # gets what cannot be read of the population
    watch: Watch


@dataclass(frozen=True)
class LoadedCase:
    """A model, the texts of both sides, and the population that they are compared against."""

    verifier: Verifier
    first: list[Exhibit]
    second: list[Exhibit]
    population: Population | None


def read_case(
    first: str | Path, second: str | Path | None, **options: Unpack[CaseOptions]
) -> LoadedCase:
    """Load the model, read the texts of both sides, and encode the population if there is one.

    Without a `second`, the second side has no texts.
    """
    verifier = load(options.get("model", DEFAULT_MODEL), device=options.get("device", "cpu"))
    sides = (
        read_exhibits([first, *options.get("also_first", ())], options.get("topic_first", "")),
        []
        if second is None
        else read_exhibits(
            [second, *options.get("also_second", ())], options.get("topic_second", "")
        ),
    )
    population = None
    if (path := options.get("population")) is not None:
        from adhominem.jobs.run import read_population
        from adhominem.jobs.workers import encoder

        watch, skipped = options.get("watch", unwatched), options.get("skipped")
        with encoder(verifier.name, verifier, 1) as encode, watch("population") as on_documents:
            population = read_population(
                path, encode, verifier=verifier, skipped=skipped, on_documents=on_documents
            )
    return LoadedCase(verifier, *sides, population)


def verify_files(
    first: str | Path,
    second: str | Path,
    *,
    prior_same_author: float = 0.5,
    delta: float = 0.125,
    scale: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> Verification:
    """Compare two files, folders of one author's texts, or `-` for standard input.

    `prior_same_author` is the probability of one author before the texts are read; within 0.5 ±
    `delta` the probability is too close to call. `scale` is the JSON file of a verbal scale.
    """
    case = read_case(first, second, **options)
    return case.verifier.verify(
        case.first,
        case.second,
        population=case.population,
        prior_same_author=prior_same_author,
        delta=delta,
        scale=VerbalScale.read(scale) if scale else None,
    )


def explain_files(
    first: str | Path,
    second: str | Path,
    *,
    output: str | Path | None = None,
    format: str | None = None,
    prior_same_author: float = 0.5,
    delta: float = 0.125,
    scale: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> Explanation:
    """Compare two files or folders like `verify_files`, and explain what made the result.

    The explanation is written to `output`, if given, in the `format` html or terminal; by default
    the file's ending decides.
    """
    from adhominem.verify.explanation import explain_texts

    with noting_inputs():
        if output is not None:
            format_of(Path(output), format)  # refuses an unknown ending before the work
        case = read_case(first, second, **options)
        note_model(options.get("model", DEFAULT_MODEL))
        verbal_scale = VerbalScale.read(scale) if scale else None
        if output is not None:
            check_not_read(output)
        with options.get("watch", unwatched)("explaining", unit="share") as on_progress:
            explanation = explain_texts(
                **vars(case),
                prior_same_author=prior_same_author,
                delta=delta,
                scale=verbal_scale,
                on_progress=on_progress,
            )
        if output is not None:
            write_explanation(explanation, Path(output), format)
    return explanation


def note_model(model: str | Path) -> None:
    """Note the files of a model as read, so that no output is written onto one of them."""
    for file in model_folder(model).rglob("*"):
        note_input(file)


def format_of(output: Path, chosen: str | None = None) -> str:
    """The format of a file: the `chosen` one, or that of its ending."""
    format = chosen or _BY_ENDING.get(output.suffix.lower(), "")
    if not format:
        raise OptionError(
            f"{output} has no known ending; expected {', '.join(_BY_ENDING)}, or --format"
        )
    return format


def write_explanation(explanation: Explanation, output: Path, chosen: str | None = None) -> None:
    """Write an explanation in the format `chosen`, or in that of the file's ending."""
    text = explanation_text(explanation, format_of(output, chosen))
    with write_whole(output) as file:
        file.write(text)


def explanation_text(
    explanation: Explanation,
    format: str,
    environment: Mapping[str, str] | None = None,
    width: int = 80,
) -> str:
    """An explanation as HTML, or for a terminal with this environment and width."""
    if format == "html":
        from adhominem.render.html import explanation_page

        return explanation_page(explanation)
    from adhominem.render.terminal import terminal_colours, terminal_heat_map

    colours = terminal_colours(environment or {}, environment is not None)
    return terminal_heat_map(explanation, colours, width)
