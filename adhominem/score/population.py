"""The relevant population: texts of the genre at hand, by anybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar, cast

import numpy as np

from adhominem.arrays import AnyLevs, FloatArray, IntArray, Levs, Rows, SparseRows
from adhominem.errors import OptionError
from adhominem.pairs.passages import Fingerprint, Hashes, fingerprints
from adhominem.score.genres import Group
from adhominem.score.products import column_means
from adhominem.text.files import Document
from adhominem.text.sentences import count_words

_Levs = TypeVar("_Levs", bound=AnyLevs)

FEWEST = 5  # texts: fewer say hardly anything about a genre
_COHORT = 200  # most texts that are kept: more hardly steady the comparison with others


@dataclass(frozen=True, kw_only=True)
class PopulationText:
    """The name, SHA-256 and length of a text in a population."""

    name: str
    sha256: str  # of its characters in UTF-8
    words: int  # separated by white space

    @classmethod
    def of(cls, text: str | Document, number: int) -> PopulationText:
        """The entry of a text, by its name or, if it has none, its number."""
        document = Document(text=text) if isinstance(text, str) else text
        return cls(
            name=document.id or f"population-{number}",
            sha256=sha256(document.text.encode("utf-8")).hexdigest(),
            words=count_words(document.text),
        )


@dataclass(frozen=True)
class Population:
    """The mean LEV and the kept LEVs of a population's texts. Copies count once.

    The authors of the texts need not be known.
    """

    texts: int
    lev_mean: FloatArray  # (lev_size,)
    cohort: AnyLevs  # (texts, lev_size): the LEVs of all texts, or of a sample
    material: tuple[PopulationText, ...] = ()  # its texts, where they are known
    prints: tuple[Fingerprint, ...] = ()  # of these texts, to find copies
    recurring: Hashes | None = None  # passages that stand in several of its texts, as in a form
    seeming_authors: float = 0.0  # number of apparent authors; 0: one per text
    groups: tuple[Group, ...] = ()  # two, if it falls into two: see `Genres.groups`
    memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # see `Scorer`

    @classmethod
    def of(cls, levs: AnyLevs, texts: Sequence[str | Document] = ()) -> Population:
        """A population from the LEVs (documents, lev_size) of its texts, and the texts."""
        if len(texts) not in (0, len(levs)):
            raise OptionError(f"{len(levs)} LEVs of {len(texts)} texts; expected as many")
        places = first_places(levs)
        levs = levs if len(places) == len(levs) else levs[places]
        if len(levs) < FEWEST:
            raise OptionError(
                f"the population has {len(levs)} different text{'' if len(levs) == 1 else 's'}; "
                f"expected {FEWEST} or more, and better 50, of the genre at hand"
            )
        chosen = [texts[at] for at in places] if texts else []
        parts: tuple[Rows, ...] = levs.parts if isinstance(levs, Levs) else (levs,)
        kept = np.linspace(0, len(levs) - 1, min(len(levs), _COHORT)).round().astype(np.intp)
        return cls(
            len(levs),
            np.concatenate([column_means(part) for part in parts]),
            levs[kept].copy(),
            tuple(PopulationText.of(text, at) for at, text in enumerate(chosen, start=1)),
            tuple(fingerprints([t if isinstance(t, str) else t.text for t in chosen])),
        )

    @property
    def authors(self) -> float:
        """The number of people who seem to have written the texts."""
        return self.seeming_authors or float(self.texts)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the mean LEV and the number of texts, which identifies the population."""
        mean = np.ascontiguousarray(self.lev_mean, dtype="<f8").tobytes()
        return sha256(mean + b"%d" % self.texts).hexdigest()


def keys_of(levs: AnyLevs) -> list[bytes]:
    """A key for each of the LEVs (documents, lev_size); equal LEVs have equal keys."""
    if not isinstance(levs, Levs):
        return [sha256(lev.tobytes()).digest() for lev in levs]
    keys = []
    for at in range(len(levs)):
        digest = sha256()
        for part in levs.parts:
            for array in part.row(at) if isinstance(part, SparseRows) else (part[at],):
                digest.update(array.tobytes())
        keys.append(digest.digest())
    return keys


def first_places(levs: AnyLevs) -> IntArray:
    """The indices (distinct documents,) of the first occurrence of each LEV."""
    firsts: dict[bytes, int] = {}
    for at, key in enumerate(keys_of(levs)):
        firsts.setdefault(key, at)
    return np.array(list(firsts.values()), dtype=np.int64)


def distinct_levs(levs: _Levs) -> _Levs:
    """The LEVs (distinct documents, lev_size) without repetitions."""
    if len(levs) == 1:
        return levs
    places = first_places(levs)
    return levs if len(places) == len(levs) else cast(_Levs, levs[places])
