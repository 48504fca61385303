"""What `adhominem evaluate -o FOLDER` leaves: figures, a page with all of it, and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adhominem.evaluation.answers import Answers
from adhominem.evaluation.measures import Evaluation
from adhominem.evaluation.page import write_page
from adhominem.evaluation.plots import Entropies, write_figures
from adhominem.records import strict_json, with_schema
from adhominem.text.writing import write_folder


def write_evaluation(
    evaluations: Sequence[Evaluation],
    systems: Sequence[Answers],
    output: Path,
    version: str,
    entropies: Entropies | None = None,
) -> None:
    """Write the folder, whole or not at all."""
    with write_folder(output) as folder:
        write_figures(systems, folder, entropies)
        write_page(evaluations, systems, folder / "index.html", version, entropies)
        numbers = strict_json(with_schema({"systems": evaluations}), indent=1)
        (folder / "evaluation.json").write_text(numbers + "\n", "utf-8")
