"""Several models to one: an ensemble whose members may be of different architectures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import adhominem
from adhominem.errors import OptionError
from adhominem.jobs.inputs import Watch, unwatched
from adhominem.models.card import ensemble_card
from adhominem.models.files import ModelFiles, reading
from adhominem.models.folder import model_folder, read_models
from adhominem.models.layout import AUTHORS, LAYOUT
from adhominem.models.writing import write_ensemble, write_styles
from adhominem.text.corpus import PackedCorpus
from adhominem.text.files import noting_inputs
from adhominem.text.writing import check_output, write_folder
from adhominem.training.fit_styles import fit_styles


@dataclass(frozen=True)
class Ensemble:
    """The folder of an ensemble, and the names of its members."""

    model: Path
    members: tuple[str, ...]


def make_ensemble(
    members: Sequence[str | Path],
    output: str | Path,
    *,
    corpus: PackedCorpus | str | Path | None = None,
    about: str | Path = "",
    watch: Watch = unwatched,
) -> Ensemble:
    """Copy the members, folders of models or names of shipped ones, into one folder.

    With the training `corpus`, or its folder, each gets the genres as it sees them, and a
    two-covariance model of what is left without the genre. `about` is how the model card begins;
    a Path is that of a file with this text.
    """
    if isinstance(about, Path):
        about = about.read_text("utf-8")
    if isinstance(corpus, str | Path):
        corpus = PackedCorpus.open(corpus)
    output = check_output(Path(output))
    models = [model for member in members for model in read_models(model_folder(member))]
    if not models:
        raise OptionError("an ensemble without members; expected at least one")
    names = _names([model.folder for model in models])
    with (
        noting_inputs(),
        write_folder(output) as folder,
        watch("fitting") as on_documents,
    ):
        for model, name in zip(models, names, strict=True):
            (folder / name).mkdir()
            files = ModelFiles.at(model.folder)
            for file in (file for file in LAYOUT if file.kept and files.has(file)):
                with reading(model.folder, file.name):
                    files.copy(file, folder / name)
            if corpus is not None:
                write_styles(folder / name, fit_styles(model, corpus, on_documents))
        _share_authors(folder, names)
        write_ensemble(folder, names, {}, ensemble_card(names, {}, about), adhominem.__version__)
    return Ensemble(output, tuple(names))


def _share_authors(folder: Path, names: Sequence[str]) -> None:
    """Whom the members were trained on, once for all of them where it is the same."""
    lists = [folder / name / AUTHORS.name for name in names]
    if all(path.exists() for path in lists) and len({path.read_bytes() for path in lists}) == 1:
        lists[0].rename(folder / AUTHORS.name)
        for path in lists[1:]:
            path.unlink()


def _names(folders: Sequence[Path]) -> list[str]:
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    return [f"member-{number}" for number in range(1, len(names) + 1)]
