"""How a model did on pairs of known authors: what a result is held against.

validation.safetensors in the model's folder has the log Bayes factor of each calibration pair, by
a map that has seen neither the pair nor its authors, within the bounds of the model, and under
which condition it was found. A pair may be there several times: shortened, or twice as if its kind
of text were unknown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adhominem.errors import ModelError
from adhominem.text.writing import replaced_file

_NAME = "validation.safetensors"
_FEWEST = 30  # pairs of each class: fewer make no curve
_NEAR = 1.5  # times as long, or as short, is a like length


@dataclass(frozen=True)
class Validation:
    """One entry a pair."""

    kinds: tuple[str, ...]  # the names of the pair sets
    log_bayes_factor: npt.NDArray[np.float32]  # (pairs,), in nats, calibrated
    same_author: npt.NDArray[np.bool_]
    kind: npt.NDArray[np.int32]  # which of the kinds
    words: npt.NDArray[np.int32]  # of the shorter text
    population: npt.NDArray[np.bool_]  # whether with a population
    known: npt.NDArray[np.bool_]  # whether the model knew of this kind of text

    def __post_init__(self) -> None:
        arrays = [getattr(self, each.name) for each in fields(self) if each.name != "kinds"]
        if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
            raise ValueError("the arrays must be rows of one length")
        if len(self.kind) and not 0 <= self.kind.min() <= self.kind.max() < len(self.kinds):
            raise ValueError("a pair is of no kind")

    def __len__(self) -> int:
        return len(self.log_bayes_factor)

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Validation:
        arrays = {
            each.name: getattr(self, each.name)[chosen]
            for each in fields(self)
            if each.name != "kinds"
        }
        return replace(self, **arrays)

    @classmethod
    def joined(cls, parts: list[Validation]) -> Validation:
        """All pairs of several, which name the same kinds."""
        arrays = {
            each.name: np.concatenate([getattr(part, each.name) for part in parts])
            for each in fields(cls)
            if each.name != "kinds"
        }
        return cls(parts[0].kinds, **arrays)

    def like(self, words: int, kind: str, population: bool) -> tuple[Validation, str]:
        """The pairs found under like conditions, and what these are in words.

        `words` are those of the shorter side, `kind` is a kind of text that the model knows, or
        "" where it knows none like the texts. Where too few pairs are left, a condition is
        dropped: first the kind, then the length.
        """
        found = self[self.population == population]
        told = ["with a population" if population else "without a population"]
        if not population and not found.known.all():  # else the model knows of no kinds at all
            found = found[found.known == bool(kind)]
            if not kind:
                told.append("as if the model did not know their kind of text")
        near = found[(found.words <= words * _NEAR) & (found.words >= words / _NEAR)]
        if kind in self.kinds:
            some = near[near.kind == self.kinds.index(kind)]
            if some._suffices():
                near, told = some, [*told, f"of the kind “{kind}”"]
            else:
                told.append(f"of all kinds, since too few of this length are of “{kind}”")
        if not near._suffices():
            return found, ", ".join(
                [*told, "of any length, since too few are as long as these texts"]
            )
        shortest, longest = near.words.min(), near.words.max()
        lengths = f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
        told.append(f"of {lengths} words")
        return near, ", ".join(told)

    def _suffices(self) -> bool:
        return min(int(self.same_author.sum()), int((~self.same_author).sum())) >= _FEWEST


def write_validation(folder: Path, validation: Validation) -> None:
    """Put it into the model's folder, whole or not at all."""
    from safetensors.numpy import save

    arrays = {
        each.name: np.ascontiguousarray(getattr(validation, each.name))
        for each in fields(validation)
        if each.name != "kinds"
    }
    with replaced_file(folder / _NAME) as partial:
        # Not by `save_file`: its files are for their owner alone, whatever the umask.
        partial.write_bytes(save(arrays, {"kinds": json.dumps(validation.kinds)}))


def read_validation(folder: Path) -> Validation | None:
    """What lies in a model's folder; None where there is nothing."""
    from safetensors import SafetensorError, safe_open

    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            kinds = json.loads(file.metadata()["kinds"])
        return Validation(tuple(kinds), **arrays)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ModelError(
            f"{path} is damaged ({type(error).__name__}: {error}); calibrate the model again"
        ) from None
