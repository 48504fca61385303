"""A model validated on a user's own texts of known authors, as `adhominem validate` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import adhominem
from adhominem.arrays import Levs
from adhominem.errors import InputError, OptionError
from adhominem.evaluation.study import LOG_10, StudyCase, StudyConditions, ValidationStudy
from adhominem.jobs.run import Watch, unwatched
from adhominem.jobs.workers import encode_documents, encoder
from adhominem.model.folder import DEFAULT_MODEL, model_folder
from adhominem.model.writing import trained_on
from adhominem.pairs.cases import DrawnCase, by_others, draw_cases
from adhominem.questions.validate.material import (
    StudyMaterial,
    read_material,
    read_population_by_others,
)
from adhominem.questions.validate.page import study_page
from adhominem.questions.verify.files import note_model
from adhominem.score.population import Population
from adhominem.text.files import Document, check_not_read, name_of, noting_inputs, path_of
from adhominem.text.writing import write_whole
from adhominem.verify.cautions import CHANGED, UNCALIBRATED, listed
from adhominem.verify.verifier import Verifier, load

INPUT = "input"  # instead of a population's path: the material itself
_CASES_AT_ONCE = 256  # scored together: a LEV may have many thousand numbers


def check_study_name(output: str | Path) -> None:
    """Raise an OptionError unless the file of a study is a .json or an .html file."""
    if Path(output).suffix.lower() not in (".json", ".html", ".htm"):
        raise OptionError(f"{output} is neither a .json nor an .html file; expected one of these")


def validate(
    material: str | Path,
    outputs: Sequence[str | Path] = (),
    *,
    model: str | Path = DEFAULT_MODEL,
    known: int = 1,
    words: int | None = None,
    population: str | Path | None = None,
    population_size: int | None = None,
    cases: int | None = None,
    resamples: int = 1000,
    seed: int = 0,
    jobs: int | None = 1,
    device: str = "cpu",
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> ValidationStudy:
    """Validate a model on cases made from texts of known authors, under a case's conditions.

    Each text is questioned once against `known` other texts by the same author, and as many are
    compared with another author's; there are at most `cases` cases of each class. Texts are cut to
    their first `words` words. `population` is the path of a population by other people for all
    cases; or `input`, for the texts of the material by neither author of a case, of which
    `population_size` are drawn for each case. The study is written to `outputs`, as .json and as an
    .html page. Texts that cannot be read are appended to `skipped`; without it, the first of them
    raises.
    """
    for output in outputs:
        check_study_name(output)
    source = "" if population is None else str(population)
    conditions = StudyConditions(
        known=known,
        words=words,
        population={"": "none", INPUT: "input"}.get(source, "given"),
        population_source="" if source == INPUT else source,
        population_size=population_size,
        most_cases=cases,
        seed=seed,
        resamples=resamples,
    )
    place = path_of(material)
    with noting_inputs():
        with watch("reading") as on_documents:
            whole = read_material(place, words, skipped, on_documents)
        chosen, remarks = whole.without_copies()
        drawn = _draw(place, chosen.documents, conditions)  # or an error, before minutes of work
        verifier = load(model, device=device)
        note_model(model)
        for output in outputs:
            check_not_read(output)
        given = None
        with encoder(model, verifier, jobs, device) as encode:
            with watch("encoding", len(chosen.documents)) as on_documents:
                encoded, levs = encode_documents(chosen.documents, encode, skipped, on_documents)
            if len(encoded) < len(chosen.documents):
                kept = set(map(id, encoded))
                chosen = chosen.of(
                    [at for at, text in enumerate(chosen.documents) if id(text) in kept]
                )
                drawn = _draw(place, chosen.documents, conditions)
            if conditions.population == "given":
                with watch("population") as on_documents:
                    given = read_population_by_others(
                        source, chosen, encode, verifier, skipped, on_documents
                    )
                conditions = replace(conditions, population_sha256=given.sha256)
        with watch("scoring", len(drawn)) as on_cases:
            scored = _score(verifier, chosen.documents, levs, drawn, conditions, given, on_cases)
        with watch("bootstrap", resamples) as on_resample:
            study = ValidationStudy.of(
                tuple(chosen.texts),
                scored,
                conditions,
                on_resample=lambda: on_resample(1),
                remarks=(*remarks, *_remarks(chosen, conditions, verifier, model)),
                material=name_of(place),
                model=verifier.name,
                model_sha256=verifier.sha256,
                version=adhominem.__version__,
            )
        for output in map(Path, outputs):
            is_json = output.suffix.lower() == ".json"
            with write_whole(output) as file:
                file.write(study.to_text() if is_json else study_page(study))
    return study


def _draw(place: Path, documents: list[Document], conditions: StudyConditions) -> list[DrawnCase]:
    """The cases; each must leave enough texts for a population, if one is to be drawn."""
    size = conditions.population_size or 0
    try:
        drawn = draw_cases(
            documents, conditions.known, most=conditions.most_cases, seed=conditions.seed
        )
    except OptionError as error:
        raise InputError(str(error), place) from None
    if size and (fewest := min(len(by_others(documents, case)) for case in drawn)) < size:
        raise InputError(
            f"without the two authors of a case, as few as {fewest:,} texts are left for its "
            f"population; expected {size:,}, as requested: add texts by other authors, or ask for "
            "fewer",
            place,
        )
    return drawn


def _score(
    verifier: Verifier,
    documents: list[Document],
    levs: Levs,
    drawn: list[DrawnCase],
    conditions: StudyConditions,
    given: Population | None,
    on_cases: Callable[[int], None],
) -> tuple[StudyCase, ...]:
    """The cases with their Bayes factors; those that share a population are scored together."""
    scored: dict[int, StudyCase] = {}
    for population, numbers in _populations(verifier, documents, levs, drawn, conditions, given):
        for begin in range(0, len(numbers), _CASES_AT_ONCE):
            batch = numbers[begin : begin + _CASES_AT_ONCE]
            factors = verifier.score(
                [levs[[drawn[at].questioned]] for at in batch],
                [levs[list(drawn[at].known)] for at in batch],
                population,
            )
            for at, factor in zip(batch, factors.tolist(), strict=True):
                scored[at] = StudyCase(
                    **vars(drawn[at]),
                    population_texts=0 if population is None else population.texts,
                    log10_bayes_factor=factor / LOG_10,
                )
            on_cases(len(batch))
    return tuple(scored[at] for at in range(len(drawn)))


def _populations(
    verifier: Verifier,
    documents: list[Document],
    levs: Levs,
    drawn: list[DrawnCase],
    conditions: StudyConditions,
    given: Population | None,
) -> Iterator[tuple[Population | None, list[int]]]:
    """Each population, and the indices of the cases that it belongs to."""
    if conditions.population != INPUT:
        yield given, list(range(len(drawn)))
        return
    size, rng = conditions.population_size, np.random.default_rng([conditions.seed, 1])
    groups: dict[object, list[int]] = {}
    for number, case in enumerate(drawn):
        authors = frozenset(documents[at].author for at in (case.questioned, *case.known))
        groups.setdefault(authors if size is None else number, []).append(number)
    for numbers in groups.values():
        others = by_others(documents, drawn[numbers[0]])
        if size is not None:
            others = rng.choice(others, size, replace=False)
        yield verifier.population_of(levs[others]), numbers


def _remarks(
    material: StudyMaterial,
    conditions: StudyConditions,
    verifier: Verifier,
    model: str | Path,
) -> Iterator[str]:
    """What makes the figures of these texts better or worse than those of others would be."""
    if verifier.calibration is None:
        yield UNCALIBRATED
    elif verifier.changed:
        yield CHANGED.message
    authors = {document.author for document in material.documents}
    if trained := trained_on(model_folder(model), authors):
        yield (
            f"the model was trained on texts by authors of these names: {listed(sorted(trained))}; "
            "if they are the same people, it does better here than on others"
        )
    short = sum(text.words < (conditions.words or 0) for text in material.texts)
    if short:
        yield (
            f"{short:,} of {len(material.texts):,} texts have fewer than {conditions.words:,} "
            "words, and are compared as they are"
        )
