"""A model's folder as a whole: its models, their calibration, its hash.

`model.layout` lists the files and their purposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from adhominem.errors import ModelError, OptionError
from adhominem.model import layout
from adhominem.model.files import ModelFiles, damaged, is_sha256, read_floats, reading
from adhominem.model.layout import ModelFile
from adhominem.model.member import AnyModel, read_description, read_measured, read_model
from adhominem.records import from_json
from adhominem.score.calibration import Calibration
from adhominem.score.prose import MachineLook, Prose
from adhominem.text.files import path_of, real_path
from adhominem.text.language import ENGLISH

DEFAULT_MODEL = "general-en"
OTHER_LANGUAGES = "general-any"
CALIBRATION_FORMAT = 8
PROSE_FORMAT = 1
RECALIBRATE = "calibrate the model again"
_SHIPPED = Path(__file__).parent / "shipped"
_WORDS = (
    'expected an object like {"wright": "American fiction of 1851-75"}, or no such file; '
    "mend or remove it"
)


@dataclass(frozen=True)
class ModelFolder:
    """Everything in a folder that decides how texts are compared."""

    name: str
    models: list[AnyModel]  # one, or the members of an ensemble
    lead: int  # index of the member whose genres and tokens are used
    calibration: Calibration | None  # None: not calibrated
    genre_names: dict[str, str]  # in words, if known
    sha256: str  # of all files that answers, warnings and reports depend on
    changed: bool  # whether it was changed since it was calibrated
    prose: Prose | None = None  # None: texts are not checked for being prose
    machine_look: MachineLook | None = None  # None: no warnings about texts by machines
    delta: float | None = None  # of the non-answers, found on dev; None once it is calibrated
    languages: tuple[str, ...] = ()  # that it was made for, by their codes; empty: it does not say


# Which folder


def shipped_models() -> list[str]:
    """The names of the models that come with the package."""
    return sorted(path.parent.name for path in _SHIPPED.glob("*/config.json"))


def model_folder(model: str | Path) -> Path:
    """The folder of a model, given an existing folder or the name of a shipped model."""
    folder = path_of(model)
    try:
        exists = folder.exists()
    except (OSError, ValueError):  # too long, with a NUL, or without permission
        exists = False
    if exists:
        return folder
    shipped = shipped_models()
    if str(model) in shipped:
        return _SHIPPED / str(model)
    raise ModelError(
        f"there is no model folder {folder}, and no shipped model of this name; "
        f"expected a folder, or one of: {', '.join(shipped) or '(none)'}"
    )


def model_for(language: str) -> str:
    """The shipped model for texts in a language, by its code."""
    if language in ("", ENGLISH) or OTHER_LANGUAGES not in shipped_models():
        return DEFAULT_MODEL
    known = known_languages(ModelFiles(_SHIPPED / OTHER_LANGUAGES))
    return OTHER_LANGUAGES if language in known else DEFAULT_MODEL


def known_languages(files: ModelFiles) -> tuple[str, ...]:
    """The codes of the languages that a model was made for; empty if it does not say.

    A shipped model that does not say is for English.
    """
    languages = read_description(files).get("languages", ())
    if not languages:
        return (ENGLISH,) if files.folder.parent == _SHIPPED else ()
    with reading(files.folder, layout.CONFIG.name):
        return tuple(from_json(list[str], [*languages], "languages"))


def changeable_folder(model: str | Path, what: str = "teach") -> Path:
    """The folder of a model that may be changed; OptionError for shipped models."""
    folder = model_folder(model)
    if real_path(folder).is_relative_to(real_path(_SHIPPED)):  # or a member of one
        raise OptionError(
            f"{folder.name} comes with the package, and all that use it rely on it as it is; copy "
            f"it first (cp -r {folder} my-model) and {what} the copy"
        )
    return folder


# The models in it


def read_folder(folder: str | Path | ModelFiles) -> ModelFolder:
    """The model or ensemble in a folder, with its calibration."""
    files = ModelFiles.at(folder)
    files.fetch_hashed()
    description, models = read_description(files), read_models(files)
    styles = layout.STYLES
    with reading(files.folder, layout.GENERATION.name):
        named = {name: sha for name, sha in files.generation.items() if name.endswith(styles.name)}
        others = [name for name, sha in named.items() if files.sha256(styles, name) != sha]
    check_members(models, [str(files.folder / name) for name in others])
    lead = 0
    if description["architecture"] == layout.ENSEMBLE:
        with reading(files.folder, layout.CONFIG.name):
            lead = description["members"].index(description["lead"])
    calibration, delta = read_parameters(files), None
    if calibration is None:
        with reading(files.folder, layout.CONFIG.name):
            delta = read_measured(description).delta
    fitted_to = (read_calibration(files) or {}).get("fitted_to")
    return ModelFolder(
        real_path(files.folder).name,
        models,
        lead,
        calibration,
        read_genre_names(files),
        model_hash(files),
        fitted_to is not None and fitted_to != model_hash(files, members=True),
        read_prose(files),
        read_machine_look(files),
        delta,
        known_languages(files),
    )


def read_models(folder: str | Path | ModelFiles) -> list[AnyModel]:
    """The model of a folder, or all members of an ensemble."""
    return [read_model(member) for member in member_files(ModelFiles.at(folder))]


def check_members(models: Sequence[AnyModel], others: Sequence[str] = ()) -> None:
    """Raise ModelError if members know different genres, or should but do not have `others`."""
    styles = layout.STYLES.name
    genres = {
        model.folder: frozenset(model.genres.names) for model in models if model.genres is not None
    }
    if len(set(genres.values())) > 1:
        others = [f"{one / styles} ({len(known)} genres)" for one, known in genres.items()]
    if others:
        raise ModelError(
            f"the members do not belong together: {', '.join(others)}. Expected members that know "
            f"the same genres, with the files that {layout.GENERATION.name} names. Copy the whole "
            "model again, or make a new one of the members with `adhominem ensemble`."
        )


def read_scores(folder: str | Path) -> dict[str, Any]:
    """The scores on dev, by set, of a model or of an ensemble as a whole."""
    files = ModelFiles.at(folder)
    scores = read_description(files).get("scores")
    if not isinstance(scores, dict):
        raise damaged(files.folder, f"{layout.CONFIG.name}: there are no scores")
    return scores


def member_folders(folder: str | Path) -> list[Path]:
    """The folder of a model, or the folders of an ensemble's members."""
    return [member.folder for member in member_files(ModelFiles.at(folder))]


def member_files(files: ModelFiles) -> list[ModelFiles]:
    """The files of a single model, or of each member of an ensemble."""
    description = read_description(files)
    if description.get("architecture") != layout.ENSEMBLE:
        return [files]
    with reading(files.folder, layout.CONFIG.name):
        return files.members(description["members"])


# Its hash


def model_hash(folder: str | Path | ModelFiles, *, members: bool = False) -> str:
    """The SHA-256 of all files that a model's answers, its warnings and reports depend on.

    It is the hash of the output of `sha256sum FILE...` for these files, in the order of the layout,
    first those of the folder, then those of each member. With `members`, only theirs, to which a
    calibration is fitted.
    """
    files = ModelFiles.at(folder)
    digest = sha256()
    for owner, file, name in hashed_files(files, members):
        place = name if owner is files else f"{owner.folder.name}/{name}"
        with reading(owner.folder, name):
            digest.update(f"{owner.sha256(file, name)}  {place}\n".encode())
    return digest.hexdigest()


def hashed_files(
    files: ModelFiles, members: bool = False
) -> list[tuple[ModelFiles, ModelFile, str]]:
    """The existing files that are hashed: the folder, the file, and its name there."""
    hashed = []
    for owner in dict.fromkeys([files, *member_files(files)]):
        architecture = read_description(owner).get("architecture")
        for file in layout.LAYOUT:
            if not file.hashed or architecture not in file.of:
                continue
            if file.top_level and (members or owner is not files):
                continue
            if file is layout.VALIDATION:
                if name := validation_name(files):
                    hashed.append((files, file, name))
            elif owner.has(file):
                hashed.append((owner, file, file.name))
    return hashed


# What belongs to the whole


def read_calibration(files: ModelFiles) -> dict[str, Any] | None:
    """The contents of calibration.json, if it exists and has a readable version."""
    if not files.has(layout.CALIBRATION):
        return None
    name = layout.CALIBRATION.name
    with reading(files.folder, name, RECALIBRATE):
        data: dict[str, Any] = files.json(layout.CALIBRATION)
        written_as = data["format"]
    if written_as != CALIBRATION_FORMAT:
        raise ModelError(
            f"{files.folder / name} has the format {str(written_as)[:100]}; this "
            f"version reads {CALIBRATION_FORMAT}. Use the version that wrote it, or {RECALIBRATE}."
        )
    return data


def read_parameters(folder: Path | ModelFiles) -> Calibration | None:
    """The calibration of a model; None if it is not calibrated."""
    files = ModelFiles.at(folder)
    data = read_calibration(files)
    if data is None:
        return None
    with reading(files.folder, layout.CALIBRATION.name, RECALIBRATE):
        return from_json(Calibration, data["calibration"], "calibration")


def validation_name(files: ModelFiles) -> str | None:
    """The name of the file of a calibration's pairs; None without any.

    calibration.json contains its hash, which is also in the file's name: the pairs of a new
    calibration are stored beside the old ones until it replaces the old calibration.
    """
    data = read_calibration(files)
    if data is None:
        return None
    with reading(files.folder, layout.CALIBRATION.name, RECALIBRATE):
        digest = data["validation"]
        if not is_sha256(digest):
            raise ValueError("validation is not a SHA-256")
    name = layout.VALIDATION.name.replace("*", digest[:16])
    with reading(files.folder, name, RECALIBRATE):
        if files.sha256(layout.VALIDATION, name) != digest:
            raise ValueError("these are not the pairs that calibration.json was fitted to")
    return name


def read_genre_names(folder: Path | ModelFiles) -> dict[str, str]:
    """The description of each genre, by name; empty if the model has none.

    Genres are named after the training corpora, which mean nothing to others.
    """
    files = ModelFiles.at(folder)
    if not files.has(layout.GENRES):
        return {}
    with reading(files.folder, layout.GENRES.name, _WORDS):
        return from_json(dict[str, str], files.json(layout.GENRES))


def read_prose(folder: Path | ModelFiles) -> Prose | None:
    """A model's description of running prose; None if it has none."""
    files = ModelFiles.at(folder)
    if not files.has(layout.PROSE):
        return None
    with reading(files.folder, layout.PROSE.name, "make it again with `adhominem prose`"):
        return from_json(Prose, files.json(layout.PROSE), "prose", schema=PROSE_FORMAT)


def read_machine_look(folder: Path | ModelFiles) -> MachineLook | None:
    """A model's detector of texts by machines; None if it has none."""
    files = ModelFiles.at(folder)
    if not files.has(layout.MACHINE):
        return None
    with reading(files.folder, layout.MACHINE.name, "make it again with `adhominem machine`"):
        arrays, _ = files.tensors(layout.MACHINE)
        size = arrays["weights"].size if "weights" in arrays else 0
        numbers = read_floats(arrays, {"weights": (size,), "constant": (1,)})
        return MachineLook(numbers["weights"], float(numbers["constant"][0]))
