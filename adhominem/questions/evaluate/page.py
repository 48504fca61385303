"""What `adhominem evaluate` and `table` show: on a terminal, and in the folder that `-o` names.

The folder has figures, numbers, and a page with all of them: a single HTML file that fetches
nothing.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from adhominem.evaluation.answers import Answers
from adhominem.evaluation.figures import Entropies, Picture, pictures
from adhominem.evaluation.measures import MEASURES, Evaluation
from adhominem.questions.question import Table
from adhominem.records import strict_json, with_schema
from adhominem.render.drawings import drawing_png, tippett
from adhominem.render.templates import asset, render_page
from adhominem.text.writing import write_folder, write_whole

if TYPE_CHECKING:
    from adhominem.questions.evaluate.files import ScoreTable

_OF_PARTS = ("auc", "c@1", "overall_2021", "cllr", "eer")  # the measures of parts of the set
_OF_TABLE_2 = ("auc", "c@1", "f05u_2020", "f1", "overall_2020")
_OF_2021 = ("auc", "c@1", "f05u", "f1", "brier", "overall_2021")
_XMLNS = 'xmlns="http://www.w3.org/2000/svg"'  # a file needs it, on a page it would be noise
_TIPPETT = (
    "Each curve gives the share of pairs with at least this Bayes factor: at the line at 0, that "
    "of the same-author pairs should still be at 1 and that of the different-author pairs already "
    "at 0, and what is missing is evidence that misleads or says nothing."
)
_PIECES = re.compile(r"[^-_./\\\s]{0,15}[-_./\\\s]|[^-_./\\\s]{1,16}")


def evaluation_lines(evaluations: Sequence[Evaluation]) -> Iterator[str | Table]:
    """All measures, and some of the parts of the set, for a terminal."""
    first = evaluations[0]
    yield Table(
        f"{first.pairs:,} pairs, {first.same_author:,} of them by the same author",
        ["", *(system.name for system in evaluations)],
        [
            [measure.title, *(_with_interval(system, name) for system in evaluations)]
            for name, measure in MEASURES.items()
        ],
    )
    for part in first.groups:
        groups = [(system.name, system.groups[part]) for system in evaluations]
        yield Table(
            part,
            ["", "pairs", *(MEASURES[name].title for name in _OF_PARTS)],
            [
                [name, group.pairs, *(f"{group.measures[name]:.3f}" for name in _OF_PARTS)]
                for name, group in groups
            ],
        )
    for remark in dict.fromkeys(line for system in evaluations for line in system.remarks):
        yield f"Note: {remark}."
    if first.intervals:
        times = f"{first.resampled} {first.resamples:,} times"
        yield f"In brackets: 95% intervals, by resampling {times}."


def _with_interval(evaluation: Evaluation, name: str) -> str:
    interval = evaluation.intervals.get(name)
    shown = f"{evaluation.measures[name]:.3f}"
    return shown if interval is None else f"{shown} ({interval[0]:.3f}-{interval[1]:.3f})"


def table_lines(scored: ScoreTable, measure: str = "overall_2020") -> Iterator[str | Table]:
    """The paper's Table 2, a pair set at a time, for a terminal; or the measures of 2021."""
    shown = (*(_OF_2021 if measure == "overall_2021" else _OF_TABLE_2), "delta")
    for pair_set in dict.fromkeys(row.pair_set for row in scored.rows):
        rows = [row for row in scored.rows if row.pair_set == pair_set]
        yield Table(
            f"{pair_set}: {rows[0].pairs:,} pairs, delta {rows[0].delta}",
            ["model", *shown],
            [[row.model, *(f"{row.scores[name]:.3f}" for name in shown)] for row in rows],
        )
    bare = dict.fromkeys(row.model for row in scored.rows if not row.calibrated)
    if bare:
        yield f"Not calibrated: {', '.join(bare)}."


def write_evaluation(
    evaluations: Sequence[Evaluation],
    systems: Sequence[Answers],
    output: Path,
    version: str,
    entropies: Entropies | None = None,
) -> None:
    """Write the folder of an evaluation, whole or not at all: figures, page and numbers."""
    drawn = [*tippett_plots(systems), *pictures(systems, entropies)]
    with write_folder(output) as folder:
        for picture in drawn:
            (folder / f"{picture.stem}.png").write_bytes(picture.png)
            (folder / f"{picture.stem}.svg").write_bytes(picture.svg)
        write_page(evaluations, drawn, folder / "index.html", version)
        numbers = strict_json(with_schema({"systems": evaluations}), indent=1)
        (folder / "evaluation.json").write_text(numbers + "\n", "utf-8")


def tippett_plots(systems: Sequence[Answers]) -> list[Picture]:
    """The Tippett plot of each system, in the same form as in studies and reports."""
    plots = []
    for number, answers in enumerate(systems, start=1):
        svg = str(tippett(answers.log_bayes_factor, answers.same_author))
        several = len(systems) > 1
        plots.append(
            Picture(
                f"tippett-{number}" if several else "tippett",
                f"Tippett plot of {answers.name}" if several else "Tippett plot",
                _TIPPETT if number == 1 else "",
                drawing_png(ElementTree.fromstring(svg))[0],
                svg.replace("<svg ", f"<svg {_XMLNS} ", 1).encode("utf-8"),
            )
        )
    return plots


def write_page(
    evaluations: Sequence[Evaluation], drawn: Sequence[Picture], path: Path, version: str
) -> None:
    """Write the page: tables of the evaluations, and pictures of the same systems."""
    count = len(evaluations)
    page = render_page(
        "evaluation.html",
        (asset("evaluation.css"),),
        images="data:",
        title=f"Evaluation of {evaluations[0].name if count == 1 else f'{count} systems'}",
        version=version,
        evaluations=evaluations,
        sizes=sorted({(evaluation.pairs, evaluation.same_author) for evaluation in evaluations}),
        remarks=_remarks(evaluations),
        resampled={evaluation.resampled for evaluation in evaluations} - {""},
        resamples=max((evaluation.resamples for evaluation in evaluations), default=0),
        rows=[(measure, _cells(name, evaluations)) for name, measure in MEASURES.items()],
        part_measures=[MEASURES[name] for name in _OF_PARTS],
        parts=_parts(evaluations),
        pieces=_PIECES.findall,
        systems=", ".join(evaluation.name for evaluation in evaluations),
        figures=[(picture, base64.b64encode(picture.svg).decode("ascii")) for picture in drawn],
    )
    with write_whole(path) as file:
        # Only a file's name may hold bytes that are not text.
        file.write(page.encode("utf-8", "replace").decode("utf-8"))


def _remarks(evaluations: Sequence[Evaluation]) -> list[str]:
    """All remarks, each once, with the systems that it is about."""
    about: dict[str, list[str]] = {}
    for evaluation in evaluations:
        for remark in evaluation.remarks:
            about.setdefault(remark, []).append(evaluation.name)
    if len(evaluations) == 1:
        return list(about)
    return [
        f"{'all systems' if len(names) == len(evaluations) else ', '.join(names)}: {remark}"
        for remark, names in about.items()
    ]


def _parts(evaluations: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """The parts that were measured separately: same topic, cross topic, by length."""
    parts = []
    for name in dict.fromkeys(name for evaluation in evaluations for name in evaluation.groups):
        measured = [evaluation for evaluation in evaluations if name in evaluation.groups]
        groups = [evaluation.groups[name] for evaluation in measured]
        columns = [_cells(measure, groups) for measure in _OF_PARTS]
        pairs, same = groups[0].pairs, groups[0].same_author
        parts.append(
            {
                "name": name,
                "pairs": pairs,
                "same_author": same,
                "one_class": not 0 < same < pairs,
                "systems": [
                    (evaluation.name, cells)
                    for evaluation, *cells in zip(measured, *columns, strict=True)
                ],
            }
        )
    return parts


def _cells(name: str, evaluations: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """A measure of each system, with the best number highlighted if there are several."""
    higher_is_better = MEASURES[name].higher_is_better
    # Rounded: no bold 0.000 beside a plain one.
    numbers = [round(evaluation.measures[name], 3) for evaluation in evaluations]
    known = [number for number in numbers if not math.isnan(number)]
    best = math.nan
    if higher_is_better is not None and len(numbers) > 1 and known:
        best = max(known) if higher_is_better else min(known)
    cells = []
    for evaluation, number in zip(evaluations, numbers, strict=True):
        low, high = evaluation.intervals.get(name, (math.nan, math.nan))
        interval = "" if math.isnan(low) else f"{_number(low)}–{_number(high)}"
        cells.append({"text": _number(number), "best": number == best, "interval": interval})
    return cells


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3f}".replace("-", "−")
    return text.lstrip("−") if text == "−0.000" else text
