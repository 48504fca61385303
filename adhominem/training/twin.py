"""Take over the calibration of a twin: the same model, trained on fewer authors.

Authors that a model was trained on cannot calibrate it: it is surer of them than of others. So some
authors would have to be kept back, and the model would never learn from them. A twin avoids this:
it is trained on a part of the authors and calibrated with the rest; the model itself is trained on
all, with the same settings, and its scores are assumed to be worth what the twin's are. It has seen
more authors, so if anything it ranks better than its calibration says. Whether that holds can be
checked with authors that neither has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import adhominem
from adhominem.errors import OptionError
from adhominem.model.calibration import (
    read_evidence,
    read_reports,
    read_validation,
    write_calibration,
)
from adhominem.model.card import calibrated_card, read_card
from adhominem.model.files import ModelFiles
from adhominem.model.folder import changeable_folder, model_folder, read_folder
from adhominem.model.member import AnyModel
from adhominem.text.files import real_path
from adhominem.text.writing import locked
from adhominem.training.calibrate import CalibrationReports


def calibrate_by_twin(folder: str | Path, twin: str | Path) -> CalibrationReports:
    """Give a model the calibration of its twin, whose reports are returned.

    Both must have the same members, of the same size, that know the same genres.
    """
    folder = changeable_folder(folder, "calibrate")
    files = ModelFiles(model_folder(twin))
    with locked(folder):
        model, twin_model = read_folder(folder), read_folder(files)
        validation, reports = read_validation(files), read_reports(files)
        if twin_model.calibration is None or validation is None or reports is None:
            raise OptionError(f"{files.folder} is not calibrated; calibrate it first")
        if read_evidence(files)[0].twin:
            raise OptionError(
                f"{files.folder} took its own calibration from a twin; expected a model that was "
                "calibrated with texts"
            )
        if real_path(folder) == real_path(files.folder):
            raise OptionError(f"{folder} cannot be its own twin; expected another model")
        _check_twins(model.models, twin_model.models)
        calibration_reports = CalibrationReports(twin_model.calibration, *reports)
        card = read_card(folder)
        write_calibration(
            folder,
            twin_model.calibration,
            *reports,
            adhominem.__version__,
            validation,
            twin=twin_model.sha256,
            card=card
            and calibrated_card(card, twin_model.calibration, *reports, validation, twin=True),
        )
    return calibration_reports


def _check_twins(models: Sequence[AnyModel], twins: Sequence[AnyModel]) -> None:
    """Raise an OptionError unless both have the same members, which know the same genres."""
    members = [
        [(type(member), member.config.lev_size, _genres(member)) for member in models_of]
        for models_of in (models, twins)
    ]
    names = [[member.folder.name for member in models_of] for models_of in (models, twins)]
    if members[0] != members[1] or (len(models) > 1 and names[0] != names[1]):
        raise OptionError(
            "these models are not twins; expected the same members, of the same sizes and with the "
            "same genres: train both with the same settings, and teach both the same genres"
        )


def _genres(model: AnyModel) -> set[str] | None:
    return None if model.genres is None else set(model.genres.names)
