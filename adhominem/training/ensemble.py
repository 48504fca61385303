"""Ensembles put together, and what is fitted to the LEVs of training texts: genres."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.errors import OptionError
from adhominem.jobs.run import Watch, unwatched
from adhominem.model.card import ensemble_card, languages_card
from adhominem.model.files import ModelFiles, reading
from adhominem.model.folder import check_members, member_files, model_folder, read_models
from adhominem.model.layout import AUTHORS, LAYOUT
from adhominem.model.member import AnyModel, LanguagesModel, NgramModel
from adhominem.model.writing import (
    training_authors,
    write_ensemble,
    write_genres,
    write_languages,
)
from adhominem.score.genres import Genres
from adhominem.text.corpus import PackedCorpus
from adhominem.text.files import noting_inputs, real_path
from adhominem.text.streams import read_text
from adhominem.text.writing import check_output, write_folder

_DOCUMENTS = 2_500  # of a corpus, that genres are fitted to
_BYTES = 600_000_000  # of LEVs at once, where a LEV is large
_AT_ONCE = 200
_MOST_DIMENSIONS = 1 << 16  # of a language's LEVs: they are stored as 16 bits


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
    delta: float | None = None,
    watch: Watch = unwatched,
) -> Ensemble:
    """Copy the members, folders of models or names of shipped ones, into one folder.

    With the training `corpus`, or its folder, the genres are fitted to each member. `about` is the
    beginning of the model card; a Path is read as a file with this text. `delta` is that of the
    non-answers, if it was found on dev.
    """
    if isinstance(about, Path):
        about = read_text(about)
    if isinstance(corpus, str | Path):
        corpus = PackedCorpus.open(corpus)
    output = check_output(Path(output))
    parts = [ModelFiles(model_folder(member)) for member in members]
    sources = [files for part in parts for files in member_files(part)]
    models = [model for part in parts for model in read_models(part)]
    if not models:
        raise OptionError("an ensemble without members; expected at least one")
    if any(isinstance(model, LanguagesModel) for model in models):
        raise OptionError(
            "a model of several languages cannot be a member; expected networks or n-gram models"
        )
    if corpus is None:
        check_members(models)
    names = [real_path(model.folder).name for model in models]
    if len(set(names)) < len(names):
        names = [f"member-{number}" for number in range(1, len(names) + 1)]
    kept = [file for file in LAYOUT if file.kept and not file.top_level]
    with noting_inputs(), write_folder(output) as folder, watch("fitting") as on_documents:
        for model, files, name in zip(models, sources, names, strict=True):
            (folder / name).mkdir()
            for file in filter(files.has, kept):
                with reading(model.folder, file.name):
                    (folder / name / file.name).write_bytes(files.read(file))
            if corpus is not None:
                levs, documents = training_levs(model, corpus, on_documents)
                write_genres(folder / name, genres_of(corpus, levs, documents))
        authors = [training_authors(model.folder) for model in models]
        shared, times = Counter(authors).most_common(1)[0]
        if shared is not None and None not in authors and 2 * times > len(authors):
            # Most members have this list: it is written once, for all without another.
            (folder / AUTHORS.name).write_text(shared, "utf-8")
        else:
            shared = None
        for name, of_member in zip(names, authors, strict=True):
            if of_member is not None and of_member != shared:
                (folder / name / AUTHORS.name).write_text(of_member, "utf-8")
        write_ensemble(folder, names, {}, ensemble_card(names, {}, about), delta)
    return Ensemble(output, tuple(names))


def make_languages(
    models: Sequence[str | Path], output: str | Path, *, about: str | Path = ""
) -> Ensemble:
    """Make one model of n-gram profiles that each read the texts of one language.

    Each is in a folder named by the language's ISO 639-1 code, such as `de`. `about` is the
    beginning of the model card; a Path is read as a file with this text.
    """
    if isinstance(about, Path):
        about = read_text(about)
    output = check_output(Path(output))
    languages: dict[str, NgramModel] = {}
    with noting_inputs():
        read = sorted(
            (model for place in models for model in read_models(model_folder(place))),
            key=lambda model: real_path(model.folder).name,
        )
        authors = [training_authors(model.folder) for model in read]
    for model in read:
        name = real_path(model.folder).name
        if re.fullmatch("[a-z]{2,3}", name) is None:
            raise OptionError(
                f"{model.folder} is not named after a language; expected folders with codes of "
                "two or three letters, such as de"
            )
        if name in languages:
            raise OptionError(f"the language {name} is there twice; expected one model of each")
        languages[name] = _profile_of_a_language(model, read[0])
    if not languages:
        raise OptionError("a model without languages; expected at least one")
    codes = tuple(languages)
    scores = {
        f"{code}-{name}": row for code in codes for name, row in languages[code].scores.items()
    }
    with write_folder(output) as folder:
        card = languages_card(codes, scores, about)
        write_languages(folder, languages, _genres_of_all(languages), scores, card)
        if None not in authors:
            lines = sorted({line for of in authors for line in (of or "").splitlines()})
            (folder / AUTHORS.name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return Ensemble(output, codes)


def _profile_of_a_language(model: AnyModel, first: AnyModel) -> NgramModel:
    """The model itself, if it can be one of several languages, of which the first is given."""
    if not isinstance(model, NgramModel) or model.config.form != "profile":
        raise OptionError(f"{model.folder} is not an n-gram profile; expected form=profile")
    if model.config.lev_size > _MOST_DIMENSIONS:
        raise OptionError(
            f"{model.folder} has LEVs of {model.config.lev_size:,} numbers; expected "
            f"{_MOST_DIMENSIONS:,} at most"
        )
    for setting in ("lev_size", "normaliser"):
        if getattr(model.config, setting) != getattr(first.config, setting):
            raise OptionError(
                f"{model.folder} and {first.folder} differ in {setting}; expected models that "
                "were trained with the same settings"
            )
    return model


def _genres_of_all(languages: Mapping[str, NgramModel]) -> Genres:
    """The genres of the models of all languages."""
    genres = [model.genres for model in languages.values() if model.genres is not None]
    names = [name for of_language in genres for name in of_language.names]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise OptionError(
            f"two languages have a genre named '{twice[0]}'; expected names such as de-novels"
        )
    centres = np.concatenate([of_language.centres for of_language in genres])
    usual = float(np.median([of_language.usual for of_language in genres]))
    return Genres(tuple(names), centres, usual)


# What is fitted to the LEVs of training texts


def genres_of(corpus: PackedCorpus, levs: Array32, documents: IntArray) -> Genres:
    """The genres fitted to the LEVs of these documents."""
    labels = corpus.labels
    return Genres.fit(levs, labels.corpus[documents], labels.corpus_names)


def training_levs(
    model: AnyModel,
    corpus: PackedCorpus,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[Array32, IntArray]:
    """The LEVs of some training texts, and which texts these are: whole authors of each corpus."""
    encoder = model.encoder()
    documents = genre_documents(corpus, encoder.lev_size)
    parts = []
    for at in range(0, len(documents), _AT_ONCE):
        batch = documents[at : at + _AT_ONCE]
        tokens = [
            [corpus.types[number] for number in corpus.document(int(document))]
            for document in batch
        ]
        parts.append(encoder.encode(tokens, [[] for _ in batch]))
        on_documents(len(batch))
    return np.concatenate(parts), documents


def genre_documents(corpus: PackedCorpus, lev_size: int) -> IntArray:
    """The training texts of each corpus that genres are fitted to."""
    genres = np.unique(corpus.labels.corpus)
    most = min(_DOCUMENTS, _BYTES // (4 * lev_size * len(genres)))
    return np.concatenate([whole_authors(corpus, genre, most) for genre in genres])


def whole_authors(corpus: PackedCorpus, genre: int, most: int, seed: int = 0) -> IntArray:
    """Up to `most` documents of one of the corpora, always all documents of an author."""
    labels = corpus.labels
    documents = np.flatnonzero(labels.corpus == genre)
    order = np.random.default_rng(seed).permutation(len(labels.author_names))
    return documents[np.argsort(order[labels.author[documents]], kind="stable")][:most]
