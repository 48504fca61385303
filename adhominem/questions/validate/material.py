"""Texts of known authors to make cases from, and a population by other people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adhominem.arrays import Levs
from adhominem.errors import InputError, NotFoundError
from adhominem.evaluation.study import StudyText
from adhominem.jobs.encoded_corpus import each_by_itself
from adhominem.jobs.run import read_population
from adhominem.jobs.workers import Encode
from adhominem.pairs.passages import find_duplicates, fingerprint
from adhominem.score.population import Population
from adhominem.text.exhibits import first_words
from adhominem.text.files import Document
from adhominem.text.readers import read_documents
from adhominem.verify.cautions import listed
from adhominem.verify.verifier import Verifier


@dataclass(frozen=True)
class StudyMaterial:
    """The texts to compare, and their entries in the study."""

    documents: list[Document]
    texts: list[StudyText]

    def of(self, places: Sequence[int]) -> StudyMaterial:
        """The texts at these indices."""
        return StudyMaterial(
            [self.documents[at] for at in places], [self.texts[at] for at in places]
        )

    def without_copies(self) -> tuple[StudyMaterial, list[str]]:
        """Each text once, without passages that several share, and remarks on what was removed.

        A text that occurs under two authors' names is left out altogether, since its author is
        unclear.
        """
        copies, doubtful = set(), set()
        for pair in find_duplicates([fingerprint(document.text) for document in self.documents]):
            if self.documents[pair.first].author == self.documents[pair.second].author:
                copies.add(pair.second)
            else:
                doubtful |= {pair.first, pair.second}
        remarks = [
            f"left out, since {why}: {listed([self.texts[at].id for at in sorted(places)])}"
            for places, why in (
                (copies - doubtful, "the same author has the same text under another name"),
                (doubtful, "the same text occurs under the names of several authors"),
            )
            if places
        ]
        kept = self.of([at for at in range(len(self.documents)) if at not in copies | doubtful])
        return replace(kept, documents=each_by_itself(kept.documents, remarks)), remarks


def read_material(
    place: Path,
    words: int | None,
    skipped: list[InputError] | None,
    on_documents: Callable[[int], None],
) -> StudyMaterial:
    """All texts of known authors, each cut to its first `words` words."""
    material = StudyMaterial([], [])
    for document in read_documents(place, skipped=skipped):
        text = document.text if words is None else first_words(document.text, words)
        material.documents.append(replace(document, text=text))
        material.texts.append(
            StudyText(
                id=document.id,
                author=document.author,
                words=len(text.split()),
                sha256=document.sha256,
            )
        )
        on_documents(1)
    if not material.documents:
        raise NotFoundError("no text of a known author can be read here; expected many", place)
    return material


def read_population_by_others(
    path: str,
    material: StudyMaterial,
    encode: Encode,
    verifier: Verifier,
    skipped: list[InputError] | None,
    on_documents: Callable[[int], None],
) -> Population:
    """A population by others than the authors of the material, as far as can be checked."""
    members: list[Document] = []

    def encode_noted(batch: Sequence[Document]) -> Iterator[Levs | InputError]:
        members.extend(batch)  # of a large population, those that were drawn
        return encode(batch)

    population = read_population(
        path, encode_noted, verifier=verifier, skipped=skipped, on_documents=on_documents
    )
    expected = (
        "expected texts by other people: leave these out, or take the population `input`, which "
        "is drawn from the material itself, without the two authors of a case"
    )
    tested = {document.author for document in material.documents}
    if shared := sorted({document.author for document in members} & tested):
        raise InputError(
            f"the population has texts by authors of the material: {listed(shared)}; {expected}",
            path,
        )
    count = len(material.documents)
    prints = [fingerprint(document.text) for document in (*material.documents, *members)]
    copied = [pair.first for pair in find_duplicates(prints) if pair.first < count <= pair.second]
    if copied:
        names = listed([material.texts[at].id for at in dict.fromkeys(copied)])
        raise InputError(f"the population has copies of the material: {names}; {expected}", path)
    return population
