"""Teach a model further genres: where their texts lie, without training it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from adhominem.arrays import FloatArray
from adhominem.errors import InputError, OptionError
from adhominem.jobs.inputs import Watch, unwatched
from adhominem.jobs.population import draw, in_order
from adhominem.model.calibration import as_file
from adhominem.model.files import ModelFiles
from adhominem.model.folder import (
    is_shipped,
    member_folders,
    model_folder,
    model_hash,
    read_calibration,
)
from adhominem.model.layout import CALIBRATION, STYLES
from adhominem.model.writing import genres_file, replace_files
from adhominem.score.products import column_means
from adhominem.text.readers import find_sources, read_documents
from adhominem.text.writing import locked
from adhominem.verify.verifier import load

_MOST_TEXTS = 1_000  # more would hardly move a mean
_FEWEST_TEXTS = 20


@dataclass(frozen=True)
class LearntGenres:
    """What a model knows now."""

    texts: dict[str, int]  # that each new genre was learnt from
    genres: tuple[str, ...]  # all


def learn_genres(
    folder: str | Path,
    sets: Iterable[str | Path],
    *,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> LearntGenres:
    """Add the mean LEV of each set of texts to the genres of a model, by the name of the set.

    The more genres a model knows, the better it guesses that of two texts where no population is
    given. Their authors need not be known, but none of them should be among those that the model is
    calibrated or tested with. Calibrate the model again afterwards.
    """
    folder = model_folder(folder)
    if is_shipped(folder):
        raise OptionError(
            f"{folder.name} comes with the package; copy it first (cp -r {folder} my-model)"
        )
    with locked(folder):
        verifier = load(folder)
        if any(member.genres is None for member in verifier.members):
            raise OptionError(
                "a member of this model knows no genres; expected n-gram models, or members of an "
                "ensemble that was made with --corpus"
            )
        means: dict[str, list[FloatArray]] = {}  # of each member
        texts: dict[str, int] = {}
        for source in (source for path in sets for source in find_sources(path)):
            if source.name in means:
                raise OptionError(f"two sets are named '{source.name}'; rename one")
            documents = read_documents(source.path, author_required=False, skipped=skipped)
            chosen = in_order(draw(documents, _MOST_TEXTS, seed)[0])
            if len(chosen) < _FEWEST_TEXTS:
                raise OptionError(
                    f"{source.name} has {len(chosen)} texts; expected {_FEWEST_TEXTS} or more"
                )
            with watch(f"encoding {source.name}", len(chosen)) as on_documents:
                levs = verifier.encode(chosen, on_documents=on_documents)
            means[source.name] = [column_means(part) for part in levs.parts[:-1]]
            texts[source.name] = len(chosen)
        files = {}
        folders = member_folders(folder)
        for number, (place, member) in enumerate(zip(folders, verifier.members, strict=True)):
            assert member.genres is not None
            centres = {name: by_member[number] for name, by_member in means.items()}
            name = (place / STYLES.name).relative_to(folder).as_posix()
            files[name] = genres_file(member.genres.with_centres(centres))
        if calibration := read_calibration(ModelFiles(folder)):
            fitted_to = model_hash(folder, members=True)  # as it is so far, if it does not say
            files[CALIBRATION.name] = as_file({"fitted_to": fitted_to} | calibration)
        replace_files(folder, files)
    return LearntGenres(texts, load(folder).genres)
