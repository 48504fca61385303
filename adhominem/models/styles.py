"""The kinds of text and the two-covariance model behind them, in a model's folder.

styles.safetensors   the centre of each kind of training text; the two-covariance model
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from adhominem.errors import ModelError, OptionError
from adhominem.scoring.isotropic import IsotropicTwoCovariance
from adhominem.scoring.styles import Styles
from adhominem.scoring.two_covariance import BayesFactorModel, TwoCovariance

STYLES = "styles.safetensors"


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
    data = save(arrays, metadata={"kinds": json.dumps(styles.kinds)})
    (folder / STYLES).write_bytes(data)


def read_styles(folder: Path) -> Styles | None:
    """Those of a model; None where it has none."""
    from safetensors import SafetensorError, safe_open

    path = folder / STYLES
    if not path.is_file():
        return None
    try:
        with safe_open(path, "numpy") as file:
            kinds = tuple(map(str, json.loads(file.metadata()["kinds"])))
            arrays = {name: file.get_tensor(name).astype(np.float64) for name in file.keys()}  # noqa: SIM118
        centres, usual = arrays["centres"], float(arrays["usual"][0])
        if "isotropic" in arrays:
            share, independent = arrays["isotropic"].tolist()
            model: BayesFactorModel = IsotropicTwoCovariance(centres.shape[1], share, independent)
        else:
            model = TwoCovariance.from_diagonal(
                arrays["author_mean"], arrays["projection"], arrays["spread"]
            )
        if len(kinds) != len(centres) or model.lev_size != centres.shape[1]:
            raise ValueError(f"{len(kinds)} kinds, centres {centres.shape}")
        whitening = arrays.get("whitening")
        if whitening is not None:
            if whitening.shape != 2 * (centres.shape[1],):
                raise ValueError(f"centres {centres.shape}, whitening {whitening.shape}")
            whitening = whitening * arrays["whitening_lengths"]
    except (SafetensorError, OptionError, OSError, LookupError, TypeError, ValueError) as error:
        raise ModelError(
            f"the model in {folder} is damaged ({STYLES}: {error}); fetch or train it again"
        ) from None
    return Styles(kinds, centres, model, usual, whitening)
