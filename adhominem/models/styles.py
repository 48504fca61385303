"""The genres and the two-covariance model behind them, in a model's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from adhominem.models.files import ModelFiles, reading
from adhominem.models.layout import STYLES
from adhominem.models.tensors import Header, Shapes, check_shapes
from adhominem.records import parsed_json
from adhominem.scoring.isotropic import IsotropicTwoCovariance
from adhominem.scoring.styles import Styles
from adhominem.scoring.two_covariance import BayesFactorModel, TwoCovariance

_MOST_GENRES = 1_000  # every text is compared with each of them


def write_styles(folder: Path, styles: Styles) -> None:
    """Put them into the model's folder."""
    from safetensors.numpy import save

    model = styles.two_covariance
    arrays = {
        "centres": styles.centres.astype(np.float32),
        "usual": np.array([styles.usual], np.float32),
    }
    if styles.whitening is not None:
        # Half the size: it only says how far texts are from what is known. Columns of length 1
        # and their lengths apart, within the range of sixteen bits.
        lengths = np.linalg.norm(styles.whitening, axis=0)
        arrays["whitening"] = (styles.whitening / lengths).astype(np.float16)
        arrays["whitening_lengths"] = lengths.astype(np.float32)
    if isinstance(model, IsotropicTwoCovariance):
        arrays["isotropic"] = np.array([model.between_share, model.independent], np.float32)
    elif isinstance(model, TwoCovariance):
        for name in ("author_mean", "projection", "spread"):
            arrays[name] = getattr(model, name).astype(np.float32)
    data = save(arrays, metadata={"genres": json.dumps(styles.genres)})
    (folder / STYLES.name).write_bytes(data)


def read_styles(folder: Path | ModelFiles, lev_size: int) -> Styles | None:
    """Those of a model whose LEVs have this size; None where it has none."""
    files = ModelFiles.at(folder)
    if not files.has(STYLES.name):
        return None

    def check(header: Header, metadata: Mapping[str, str]) -> None:
        check_shapes(header, _shapes(header, len(_genres(metadata)), lev_size))

    with reading(files.folder, STYLES.name):
        found, metadata = files.tensors(STYLES, check)
        arrays = {name: value.astype(np.float64) for name, value in found.items()}
        usual = float(arrays["usual"][0])
        if usual < 0:
            raise ValueError(f"its usual distance is {usual}")
        if "isotropic" in arrays:
            share, independent = arrays["isotropic"].tolist()
            model: BayesFactorModel = IsotropicTwoCovariance(lev_size, share, independent)
        else:
            model = TwoCovariance.from_diagonal(
                arrays["author_mean"], arrays["projection"], arrays["spread"]
            )
        whitening = arrays.get("whitening")
        if whitening is not None:
            whitening = whitening * arrays["whitening_lengths"]
        return Styles(_genres(metadata), arrays["centres"], model, usual, whitening)


def _genres(metadata: Mapping[str, str]) -> tuple[str, ...]:
    genres = parsed_json(metadata.get("genres", "null"))
    if not isinstance(genres, list) or not all(isinstance(each, str) for each in genres):
        raise ValueError("its genres are no list of strings")
    if not 0 < len(genres) <= _MOST_GENRES or len(set(genres)) < len(genres):
        raise ValueError(f"{len(genres)} genres; expected 1 to {_MOST_GENRES:,}, each once")
    return tuple(genres)


def _shapes(header: Header, genres: int, lev_size: int) -> Shapes:
    """What the arrays must be; some are there in one form of the model alone."""
    row, square = (lev_size,), (lev_size, lev_size)
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "centres": ("F32", (genres, lev_size)),
        "usual": ("F32", (1,)),
    }
    if "isotropic" in header:
        shapes["isotropic"] = ("F32", (2,))
    else:
        shapes |= {"author_mean": ("F32", row), "projection": ("F32", square)}
        shapes["spread"] = ("F32", row)
    if "whitening" in header:
        shapes |= {"whitening": ("F16", square), "whitening_lengths": ("F32", row)}
    return shapes
