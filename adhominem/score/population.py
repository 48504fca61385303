"""The relevant population: texts of the genre at hand, by anybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar, cast

import numpy as np

from adhominem.arrays import AnyLevs, FloatArray, IntArray, Levs, Rows, SparseRows
from adhominem.errors import OptionError
from adhominem.pairs.passages import Fingerprint, Hashes, fingerprint
from adhominem.score.genres import Group
from adhominem.score.products import column_means
from adhominem.text.files import Document

_Levs = TypeVar("_Levs", bound=AnyLevs)

FEWEST = 5  # texts: fewer say hardly anything of a genre
_COHORT = 200  # texts at most that are kept: with more, likenesses to others hardly vary less


@dataclass(frozen=True, kw_only=True)
class PopulationText:
    """A text of a population, and how to recognise it."""

    name: str
    sha256: str  # of its characters in UTF-8
    words: int  # between white space

    @classmethod
    def of(cls, text: str | Document, number: int) -> PopulationText:
        """A text by its name, or by its number where it has none."""
        document = Document(text=text) if isinstance(text, str) else text
        return cls(
            name=document.id or f"population-{number}",
            sha256=sha256(document.text.encode("utf-8")).hexdigest(),
            words=len(document.text.split()),
        )


@dataclass(frozen=True)
class Population:
    """Where the LEVs of such texts lie on average; no author need be known. Copies count once."""

    texts: int
    lev_mean: FloatArray  # (lev_size,)
    cohort: AnyLevs  # (texts, lev_size): the LEVs of its texts, or of some hundred of them
    material: tuple[PopulationText, ...] = ()  # its texts, where they are known
    prints: tuple[Fingerprint, ...] = ()  # of the same: to find copies
    recurring: Hashes | None = None  # passages that stand in several of its texts, as in a form
    seeming_authors: float = 0.0  # by how many people its texts seem to be; 0: by one each
    groups: tuple[Group, ...] = ()  # two, if it falls apart into these: see `Styles.groups`
    memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # see `Scorer`

    @classmethod
    def of(cls, levs: AnyLevs, texts: Sequence[str | Document] = ()) -> Population:
        """From the LEVs (documents, lev_size) of the population's texts, and these themselves."""
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
            tuple(fingerprint(t if isinstance(t, str) else t.text) for t in chosen),
        )

    @property
    def authors(self) -> float:
        """How many people seem to have written its texts."""
        return self.seeming_authors or float(self.texts)

    @property
    def sha256(self) -> str:
        """To recognise it by: of the mean LEV and the number of texts."""
        mean = np.ascontiguousarray(self.lev_mean, dtype="<f8").tobytes()
        return sha256(mean + b"%d" % self.texts).hexdigest()


def keys_of(levs: AnyLevs) -> list[bytes]:
    """To recognise each of LEVs (documents, lev_size) by: equal ones have equal keys."""
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
    """(distinct documents,): where each LEV stands for the first time."""
    firsts: dict[bytes, int] = {}
    for at, key in enumerate(keys_of(levs)):
        firsts.setdefault(key, at)
    return np.array(list(firsts.values()), dtype=np.int64)


def each_once(levs: _Levs) -> _Levs:
    """(distinct documents, lev_size): where a LEV stands several times, the first."""
    if len(levs) == 1:
        return levs
    places = first_places(levs)
    return levs if len(places) == len(levs) else cast(_Levs, levs[places])
