"""Which part of a text is by whom, from files to a page: `adhominem roll`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adhominem.errors import InputError, OptionError
from adhominem.jobs.inputs import Watch, unwatched
from adhominem.jobs.population import read_population
from adhominem.jobs.workers import encoder
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.questions.roll.page import roll_page
from adhominem.questions.roll.roll import Rolled, RollOptions
from adhominem.questions.roll.rolling import Known, roll_text
from adhominem.questions.verify.files import note_model
from adhominem.text.exhibits import read_exhibits
from adhominem.text.files import check_not_read, name_of, noting_inputs
from adhominem.text.writing import write_whole
from adhominem.verify.verifier import load

_SUFFIXES = (".html", ".htm")


def roll_files(
    text: str | Path,
    against: Sequence[str | Path] = (),
    output: str | Path | None = None,
    *,
    model: str | Path = DEFAULT_MODEL,
    population: str | Path | None = None,
    words: int = 500,
    step: int = 100,
    passage: int = 2_000,
    closed: bool = False,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> Rolled:
    """Say which part of a text is by which candidate, each a file or a folder of one's texts.

    Without candidates, say where the style of the text changes. Windows have `words` words, and one
    begins every `step`; beforehand, the author changes every `passage` words on average, and if
    the circle of candidates is `closed`, one of them wrote every part. The page is written to
    `output`, if there is one. What cannot be read of the `population` goes to `skipped`; without
    it, the first such thing is raised.
    """
    if output is not None and Path(output).suffix.lower() not in _SUFFIXES:
        raise OptionError(f"the output is {Path(output).name!r}; expected a name like roll.html")
    options = RollOptions(words=words, step=step, passage=passage, closed=closed)
    with noting_inputs():
        (exhibit, *others) = read_exhibits([text])
        if others:
            raise InputError(
                f"{len(others) + 1:,} texts; expected one: give a file, not a folder", text
            )
        known = [Known(name_of(path), read_exhibits([path])) for path in against]
        verifier = load(model, device=device)
        note_model(model)
        if output is not None:
            check_not_read(output)
        relevant = None
        if population is not None:
            with encoder(model, verifier, 1, device) as encode, watch("population") as on_documents:
                relevant = read_population(
                    population,
                    encode,
                    verifier=verifier,
                    skipped=skipped,
                    on_documents=on_documents,
                )
        with watch("rolling", unit="share") as on_progress:
            result = roll_text(
                verifier,
                exhibit,
                known,
                options=options,
                population=relevant,
                population_name="" if population is None else str(population),
                on_progress=on_progress,
            )
        if output is not None:
            with write_whole(Path(output)) as file:
                file.write(roll_page(result))
    return result
