"""Several models to one: an ensemble whose members may be of different kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import adhominem
from adhominem.errors import OptionError
from adhominem.models.card import ensemble_card
from adhominem.models.files import ModelFiles, reading
from adhominem.models.folder import AnyModel, read_models, write_ensemble
from adhominem.models.layout import LAYOUT
from adhominem.models.shipped import model_folder
from adhominem.models.styles import write_styles
from adhominem.scoring.styles import Styles
from adhominem.text.corpus import PackedCorpus
from adhominem.text.writing import check_output, write_folder

IntArray = npt.NDArray[np.int64]
Levs = npt.NDArray[np.float32]

_DOCUMENTS = 2_500  # of a corpus, that kinds and two-covariance model are fitted to
_BYTES = 600_000_000  # of LEVs at once, where a LEV is large
_AT_ONCE = 200


def make_ensemble(
    members: Sequence[str | Path],
    output: str | Path,
    *,
    corpus: PackedCorpus | None = None,
    about: str = "",
    on_documents: Callable[[int], None] = lambda count: None,
) -> Path:
    """Copy the members, folders of models or names of shipped ones, into one folder.

    With the training `corpus`, each gets the kinds of text as it sees them, and a two-covariance
    model of what is left without the kind. `about` is the beginning of the model card.
    """
    output = check_output(Path(output))
    models = [model for member in members for model in read_models(model_folder(member))]
    if not models:
        raise OptionError("an ensemble without members; expected at least one")
    names = _names([model.folder for model in models])
    with write_folder(output) as folder:
        for model, name in zip(models, names, strict=True):
            (folder / name).mkdir()
            files = ModelFiles.at(model.folder)
            for file in (file for file in LAYOUT if file.kept and files.has(file.name)):
                with reading(model.folder, file.name):
                    files.copy(file, folder / name)
            if corpus is not None:
                write_styles(folder / name, fit_styles(model, corpus, on_documents))
        write_ensemble(folder, names, {}, ensemble_card(names, {}, about), adhominem.__version__)
    return output


def fit_styles(
    model: AnyModel, corpus: PackedCorpus, on_documents: Callable[[int], None]
) -> Styles:
    """The kinds of text as a model sees them, and the two-covariance model of the rest."""
    levs, documents = training_levs(model, corpus, on_documents)
    labels = corpus.labels
    return Styles.fit(levs, labels.author[documents], labels.corpus[documents], labels.corpus_names)


def training_levs(
    model: AnyModel,
    corpus: PackedCorpus,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[Levs, IntArray]:
    """The LEVs of some training texts, and which texts: whole authors of each corpus."""
    encoder = model.encoder()
    documents = style_documents(corpus, encoder.lev_size)
    parts = []
    for at in range(0, len(documents), _AT_ONCE):
        some = documents[at : at + _AT_ONCE]
        tokens = [[corpus.types[kind] for kind in corpus.document(int(each))] for each in some]
        parts.append(encoder.encode(tokens, [[] for _ in some]))
        on_documents(len(some))
    return np.concatenate(parts), documents


def style_documents(corpus: PackedCorpus, lev_size: int) -> IntArray:
    """The training texts that kinds and two-covariance model are fitted to, some of each corpus."""
    kinds = np.unique(corpus.labels.corpus)
    most = min(_DOCUMENTS, _BYTES // (4 * lev_size * len(kinds)))
    return np.concatenate([whole_authors(corpus, each, most) for each in kinds])


def whole_authors(corpus: PackedCorpus, kind: int, most: int, seed: int = 0) -> IntArray:
    """Up to so many documents of one of the corpora, those of an author together."""
    labels = corpus.labels
    documents = np.flatnonzero(labels.corpus == kind)
    order = np.random.default_rng(seed).permutation(len(labels.author_names))
    return documents[np.argsort(order[labels.author[documents]], kind="stable")][:most]


def _names(folders: Sequence[Path]) -> list[str]:
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    return [f"member-{number}" for number in range(1, len(names) + 1)]
