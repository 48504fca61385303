"""The relevant population: texts of the genre at hand, by anybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from adhominem.arrays import AnyFloats, FloatArray
from adhominem.errors import OptionError
from adhominem.pairs.duplicates import Fingerprint, fingerprint
from adhominem.scoring.companions import Companions

_FEWEST = 5  # texts: fewer say hardly anything of a genre
_COHORT = 200  # texts at most that are kept: with more, likenesses to others hardly vary less


@dataclass(frozen=True)
class Population:
    """Where the LEVs of such texts lie on average; no author need be known. Copies count once."""

    texts: int
    lev_mean: FloatArray  # (lev_size,)
    lev_mean_square: FloatArray  # (lev_size,): of each number's square
    cohort: AnyFloats  # (texts, lev_size): the LEVs of its texts, or of some hundred of them
    prints: tuple[Fingerprint, ...] = ()  # of its texts where they are known: to find copies
    companions: Companions | None = None  # if it is the texts themselves that are compared
    genres: Mapping[str, float] = field(default_factory=dict)  # shares of texts like each of them
    memory: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)  # see `Scorer`

    @classmethod
    def of(cls, levs: AnyFloats, texts: Iterable[str] = ()) -> Population:
        """From the LEVs (documents, lev_size) of the population's texts, and these themselves."""
        levs = each_once(levs)
        if len(levs) < _FEWEST:
            raise OptionError(
                f"the population has {len(levs)} different text{'' if len(levs) == 1 else 's'}; "
                f"expected {_FEWEST} or more, and better 50, of the genre at hand"
            )
        prints = tuple(fingerprint(text) for text in dict.fromkeys(texts))
        mean = np.asarray(np.mean(levs, axis=0, dtype=np.float64))
        squares = np.einsum("ij,ij->j", levs, levs, dtype=np.float64) / len(levs)
        kept = np.linspace(0, len(levs) - 1, min(len(levs), _COHORT)).round().astype(np.intp)
        return cls(len(levs), mean, squares, levs[kept], prints)

    @property
    def sha256(self) -> str:
        """To recognise it by: of the mean LEV and the number of texts."""
        mean = np.ascontiguousarray(self.lev_mean, dtype="<f8").tobytes()
        return sha256(mean + b"%d" % self.texts).hexdigest()


def each_once(levs: AnyFloats) -> AnyFloats:
    """(distinct documents, lev_size): where a LEV stands several times, the first."""
    firsts: dict[bytes, int] = {}
    for at, lev in enumerate(levs):
        firsts.setdefault(sha256(lev.tobytes()).digest(), at)
    return levs if len(firsts) == len(levs) else levs[list(firsts.values())]


def without_companions(population: Population | None) -> Population | None:
    """A population without its companions: only its mean counts."""
    return None if population is None else replace(population, companions=None)
