"""Two sides given as files, compared and explained: what `adhominem explain` does."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from adhominem.explain.explanation import Explanation, explain_texts
from adhominem.jobs.compare import CaseOptions, note_model, read_case
from adhominem.jobs.inputs import unwatched
from adhominem.models.folder import DEFAULT_MODEL
from adhominem.render.output import format_of, write_explanation
from adhominem.scoring.decision import VerbalScale
from adhominem.text.files import check_not_read, noting_inputs


def explain_files(
    first: str | Path,
    second: str | Path,
    *,
    output: str | Path | None = None,
    format: str | None = None,
    prior_same_author: float = 0.5,
    delta: float = 0.125,
    scale: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> Explanation:
    """Compare two files or folders as `verify_files` does, and explain what made the result.

    The explanation is written to `output`, if there is one, in the `format` html, terminal, png or
    latex; by default the ending of its name decides.
    """
    with noting_inputs():
        if output is not None:
            format_of(Path(output), format)  # refuses an unknown ending before the work
        case = read_case(first, second, **options)
        note_model(options.get("model", DEFAULT_MODEL))
        verbal_scale = VerbalScale.read(scale) if scale else None
        if output is not None:
            check_not_read(output)
        with options.get("watch", unwatched)("explaining", unit="share") as on_progress:
            explanation = explain_texts(
                case.verifier,
                case.first,
                case.second,
                population=case.population,
                prior_same_author=prior_same_author,
                delta=delta,
                scale=verbal_scale,
                on_progress=on_progress,
            )
        if output is not None:
            write_explanation(explanation, Path(output), format)
    return explanation
