"""Sets of texts with their authors, from texts or from pairs whose truth is known."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from adhominem.errors import AdHominemWarning, InputError, OptionError
from adhominem.text.files import Document, real_path
from adhominem.text.pan import Pair
from adhominem.text.readers import Layout, find_sources, read_documents, read_pairs

Texts = Sequence[Document] | Sequence[Pair]


def read_sets(
    sets: Mapping[str, Texts] | Iterable[str | Path], skipped: list[InputError] | None
) -> dict[str, list[Document]]:
    """The documents of each set by its name, all with authors."""
    if not isinstance(sets, Mapping):
        by_name: dict[str, Texts] = {}
        for path in sets:
            name = real_path(path).name.split(".")[0]
            if name in by_name:
                raise OptionError(f"two sets are named '{name}'; rename one")
            if {source.layout for source in find_sources(path)} == {Layout.PAIRS}:
                by_name[name] = list(read_pairs(path, skipped=skipped))
            else:
                by_name[name] = list(read_documents(path, skipped=skipped))
        sets = by_name
    documents: dict[str, list[Document]] = {}
    for name, texts in sets.items():
        documents[name], unnamed = documents_of(name, texts)
        if unnamed:
            warnings.warn(
                f"the truth names no authors for {unnamed:,} of the {len(texts):,} pairs of {name}:"
                " each pair is taken to have its own, and whether the model was trained on them "
                "cannot be checked. If it was, Bayes factors come out too sure; name the authors "
                "if you can",
                AdHominemWarning,
                stacklevel=3,
            )
    return documents


def documents_of(name: str, texts: Texts) -> tuple[list[Document], int]:
    """The documents of a set, all with authors, and how many of its pairs do not name both.

    Where the truth names no authors, each pair has its own; but a text that is in several pairs has
    one author in all of them.
    """
    documents = [one for one in texts if isinstance(one, Document)]
    nameless = sum(not document.author for document in documents)
    if nameless:
        raise OptionError(
            f"{nameless:,} of the {len(texts):,} texts of {name} have no author; expected all to: "
            "a folder with one folder an author, for example"
        )
    pairs = [one for one in texts if isinstance(one, Pair)]
    unlabelled = sum(pair.same_author is None for pair in pairs)
    if unlabelled:
        raise OptionError(f"{unlabelled:,} of {len(pairs):,} pairs have no truth; expected all to")
    documents += [text for pair in pairs for text in (pair.first, pair.second)]
    unnamed = [pair for pair in pairs if not (pair.first.author and pair.second.author)]
    if not unnamed:
        return documents, 0
    author_of = {text.text: text.author for text in documents if text.author}
    same: dict[str, str] = {}  # authors who are another one under a name that was made up

    def author(text: str) -> str:
        name_of = author_of[text]
        while name_of in same:
            name_of = same[name_of]
        return name_of

    for at, pair in enumerate(unnamed):
        sides = pair.first.text, pair.second.text
        for number, text in enumerate(sides):
            author_of.setdefault(text, f"\0{name} {at} {number}")
        if pair.same_author:
            kept, other = sorted(map(author, sides), key=lambda name_of: name_of[0] == "\0")
            if kept != other:
                same[other] = kept
    return [replace(text, author=author(text.text)) for text in documents], len(unnamed)
