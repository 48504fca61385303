"""What the training texts of a model are like, so that it can tell what is unlike them.

typicality.safetensors   the LEVs' mean and whitening, and the limits of what is usual
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adhominem.models.files import ModelFiles, reading
from adhominem.models.layout import TYPICALITY
from adhominem.models.tensors import check_shapes

FloatArray = npt.NDArray[np.float64]

_USUAL = 0.99  # of the training texts lie within the limits
_FLAT = 1e-6  # of the largest variance: the least that a direction counts as having
_LEAST_ROOM = 1e-9  # that the other texts leave for one of them


@dataclass(frozen=True)
class Typicality:
    """The limits of what is usual."""

    lev_mean: FloatArray  # (lev_size,)
    lev_whitening: FloatArray  # (lev_size, lev_size)
    distance_limit: FloatArray  # (): of a LEV from the mean, in standard deviations
    unknown_limit: FloatArray  # (): of the share of tokens that are not in the vocabulary
    shortest: FloatArray  # (): tokens of a text that is shorter than nearly all of them

    @classmethod
    def of(
        cls, levs: FloatArray, unknown_shares: FloatArray, lengths: npt.NDArray[np.int64]
    ) -> Typicality:
        """From some training texts: their LEVs, shares of unknown tokens, and tokens."""
        others, size = max(1, len(levs) - 1), levs.shape[1]
        mean = levs.mean(axis=0)
        variances, directions = np.linalg.eigh((levs - mean).T @ (levs - mean) / len(levs))
        deviations = np.sqrt(np.maximum(variances, max(_FLAT * variances.max(), 1e-30)))
        whitening = directions / deviations
        distances = _distances(levs, mean, whitening)
        # Each text has drawn the measure towards itself. By the measure of the others alone it is
        # farther away; in as many dimensions as there are texts, no limit can be told.
        distances /= np.sqrt(np.maximum(1 - size * distances**2 / others, _LEAST_ROOM))
        return cls(
            mean,
            whitening,
            np.array(max(np.quantile(distances, _USUAL), _FLAT)),
            np.array(np.quantile(unknown_shares, _USUAL)),
            np.array(np.quantile(lengths, 1 - _USUAL)),
        )

    def atypicality(self, levs: FloatArray) -> FloatArray:
        """(documents,): how far LEVs are from the usual; above 1, 99% of texts are nearer."""
        return _distances(levs, self.lev_mean, self.lev_whitening) / self.distance_limit


def _distances(levs: FloatArray, mean: FloatArray, whitening: FloatArray) -> FloatArray:
    """(documents,): Mahalanobis distances, a mean square a dimension."""
    return np.asarray(np.sqrt(np.square((levs - mean) @ whitening).mean(axis=1)))


def write_typicality(folder: Path, typicality: Typicality) -> None:
    """Put it into the model's folder."""
    from safetensors.numpy import save

    arrays = {
        entry.name: np.atleast_1d(getattr(typicality, entry.name)).astype(np.float32)
        for entry in fields(typicality)
    }
    (folder / TYPICALITY.name).write_bytes(save(arrays))


def read_typicality(folder: Path | ModelFiles, lev_size: int) -> Typicality | None:
    """That of a model whose LEVs have this size; None where it has none."""
    files = ModelFiles.at(folder)
    if not files.has(TYPICALITY.name):
        return None
    limits = [entry.name for entry in fields(Typicality)[2:]]
    expected = {
        "lev_mean": ("F32", (lev_size,)),
        "lev_whitening": ("F32", (lev_size, lev_size)),
        **dict.fromkeys(limits, ("F32", (1,))),
    }
    with reading(files.folder, TYPICALITY.name):
        found, _ = files.tensors(TYPICALITY, lambda header, _: check_shapes(header, expected))
        arrays = {name: found[name].astype(np.float64) for name in expected}
        if arrays["distance_limit"][0] <= 0:
            raise ValueError("its distance_limit is not above 0")
        return Typicality(
            arrays["lev_mean"], arrays["lev_whitening"], *(arrays[name][0] for name in limits)
        )
