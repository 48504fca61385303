"""The log Bayes factors of all pairs of a corpus: the whole chain behind the LEVs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from adhominem.scoring.fusion import Scores
from adhominem.scoring.many_pairs import layer_factors, style_context, style_factors
from adhominem.scoring.population import Population, without_companions
from adhominem.verifier import Levs, Verifier

FloatArray = npt.NDArray[np.float64]


def raw_factors(
    verifier: Verifier,
    levs: Levs,
    population: Population | None = None,
    *,
    on_pairs: Callable[[int], None] = lambda count: None,
) -> FloatArray:
    """(documents, documents): `Verifier.raw_score` of each two LEVs; NaN on the diagonal.

    Companions in the population are not drawn on. `on_pairs` hears of each pair once for each
    member of the model.
    """
    population = without_companions(population)
    found = np.full((len(levs), len(levs)), np.nan)
    if len(levs) < 2:
        return found
    members, context = [], np.zeros((0, 0))
    ends = np.cumsum([member.lev_size for member in verifier.members])[:-1]
    parts = np.split(levs, ends, axis=1)
    for at, (member, own, centre) in enumerate(
        zip(verifier.members, parts, verifier.centres(population), strict=True)
    ):
        if member.styles is not None:
            members.append(style_factors(member.styles, own, centre, on_pairs=on_pairs))
        else:
            moved = member.moved(own.astype(np.float64), centre)
            members.append(layer_factors(member.layer, moved, on_pairs=on_pairs))
        if at == 0:  # the first member alone knows what the scores are worth
            context = (
                np.zeros((0, len(members[0])))
                if member.styles is None
                else style_context(member.styles, own, centre)
            )
    first, second = np.triu_indices(len(levs), 1)
    found[first, second] = verifier.scales.of(population).raw(Scores(np.array(members), context))
    found[second, first] = found[first, second]
    return found


def factors(verifier: Verifier, raw: FloatArray, population: Population | None) -> FloatArray:
    """What `Verifier.score` makes of raw scores: the same, calibrated if the model is."""
    calibration = verifier.scales.of(without_companions(population)).calibration
    return raw if calibration is None else calibration(raw)
