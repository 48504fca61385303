"""What sets one person's texts apart from another's, from files: `adhominem contrast`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.jobs.inputs import Watch, check_page_name, unwatched
from adhominem.jobs.population import draw, in_order
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.questions.contrast.contrast import Contrast, ContrastOptions, contrast_texts
from adhominem.questions.verify.files import note_model
from adhominem.text.exhibits import read_exhibits
from adhominem.text.files import Document, check_not_read, name_of, noting_inputs
from adhominem.text.readers import read_documents
from adhominem.text.writing import write_whole
from adhominem.verify.verifier import load

MOST_TEXTS = 300  # of a population: with more, its rates would hardly change


def contrast_files(
    first: str | Path,
    second: str | Path | None = None,
    *,
    output: str | Path | None = None,
    model: str | Path = DEFAULT_MODEL,
    population: str | Path | None = None,
    top: int = 10,
    slice: int = 1_000,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> Contrast:
    """Say what sets two sides apart, each a file or a folder of one person's texts.

    Without a `second` side, the first is contrasted with the `population`, which is texts by
    anybody, of which at most 300 are drawn. With one, the population's rates are told beside
    those of both sides. The `model` says which n-grams are counted. With an `output`, a page is
    written there. What cannot be read of the
    population goes to `skipped`; without it, the first such thing is raised.
    """
    options = ContrastOptions(top=top, slice=slice)
    if second is None and population is None:
        raise OptionError("one side and no population; expected two sides, or a population")
    if output is not None:
        check_page_name(output)
    with noting_inputs():
        sides = [
            [exhibit.document for exhibit in read_exhibits([path])]
            for path in (first, second)
            if path is not None
        ]
        usual: list[Document] = []
        names = [name_of(path) for path in (first, second) if path is not None]
        if population is not None:
            with watch("population") as on_documents:
                usual = _read_many(population, seed, skipped, on_documents)
        if second is None:
            assert population is not None
            sides.append(usual)
            names.append(f"population {name_of(population)}")
            usual = []
        verifier = load(model)
        note_model(model)
        if output is not None:
            check_not_read(output)
        with watch("counting", sum(map(len, sides)) + len(usual)) as on_texts:
            contrast = contrast_texts(
                verifier,
                sides[0],
                sides[1],
                names=(names[0], names[1]),
                usual=usual,
                population=str(population) if usual else "",
                options=options,
                on_texts=on_texts,
            )
        if output is not None:
            from adhominem.questions.contrast.page import contrast_page

            with write_whole(Path(output)) as file:
                file.write(contrast_page(contrast))
    return contrast


def _read_many(
    path: str | Path,
    seed: int,
    skipped: list[InputError] | None,
    on_documents: Callable[[int], None],
) -> list[Document]:
    texts = read_documents(path, author_required=False, labelled=False, skipped=skipped)
    drawn, _ = draw(texts, MOST_TEXTS, seed, on_documents)
    if not drawn:
        raise NotFoundError("no text can be read here; expected many", path)
    return in_order(drawn)
