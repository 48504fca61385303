"""The relevant population: texts of the genre at hand, by anybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from adhominem.arrays import AnyFloats, FloatArray, IntArray
from adhominem.errors import OptionError
from adhominem.pairs.duplicates import Fingerprint, fingerprint
from adhominem.scoring.companions import Companions
from adhominem.scoring.styles import Group
from adhominem.text.files import Document

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
    lev_mean_square: FloatArray  # (lev_size,): of each number's square
    cohort: AnyFloats  # (texts, lev_size): the LEVs of its texts, or of some hundred of them
    material: tuple[PopulationText, ...] = ()  # its texts, where they are known
    prints: tuple[Fingerprint, ...] = ()  # of the same: to find copies
    companions: Companions | None = None  # if it is the texts themselves that are compared
    groups: tuple[Group, ...] = ()  # two, if it falls apart into these: see `Styles.groups`
    memory: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # see `Scorer`

    @classmethod
    def of(cls, levs: AnyFloats, texts: Sequence[str | Document] = ()) -> Population:
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
        mean = np.asarray(np.mean(levs, axis=0, dtype=np.float64))
        squares = np.einsum("ij,ij->j", levs, levs, dtype=np.float64) / len(levs)
        kept = np.linspace(0, len(levs) - 1, min(len(levs), _COHORT)).round().astype(np.intp)
        return cls(
            len(levs),
            mean,
            squares,
            levs[kept],
            tuple(PopulationText.of(text, at) for at, text in enumerate(chosen, start=1)),
            tuple(fingerprint(t if isinstance(t, str) else t.text) for t in chosen),
        )

    @property
    def sha256(self) -> str:
        """To recognise it by: of the mean LEV and the number of texts."""
        mean = np.ascontiguousarray(self.lev_mean, dtype="<f8").tobytes()
        return sha256(mean + b"%d" % self.texts).hexdigest()


def first_places(levs: AnyFloats) -> IntArray:
    """(distinct documents,): where each LEV stands for the first time."""
    firsts: dict[bytes, int] = {}
    for at, lev in enumerate(levs):
        firsts.setdefault(sha256(lev.tobytes()).digest(), at)
    return np.array(list(firsts.values()), dtype=np.int64)


def each_once(levs: AnyFloats) -> AnyFloats:
    """(distinct documents, lev_size): where a LEV stands several times, the first."""
    places = first_places(levs)
    return levs if len(places) == len(levs) else levs[places]


def without_companions(population: Population | None) -> Population | None:
    """A population without its companions: only its mean counts."""
    return None if population is None else replace(population, companions=None)
