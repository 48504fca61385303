"""What the paper's experiment shows: the rows of Table 2, beside the numbers that the paper has."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import adhominem
from adhominem.questions.paper.inputs import Inputs, PairFile
from adhominem.questions.paper.steps import ExperimentOptions, ExperimentPlan
from adhominem.questions.question import Table
from adhominem.records import strict_json, with_schema
from adhominem.render.templates import asset, render_page
from adhominem.text.writing import write_whole

if TYPE_CHECKING:
    from adhominem.questions.paper.experiment import Costs

MEASURES = {
    "auc": "AUC",
    "c@1": "c@1",
    "f05u_2020": "F0.5u (2020)",
    "f1": "F1",
    "overall_2020": "overall",
    "delta": "δ",
}
MEASURES_2021 = {
    "auc": "AUC",
    "c@1": "c@1",
    "f05u": "F0.5u",
    "f1": "F1",
    "brier": "Brier",
    "overall_2021": "overall",
}
_STAGES = ("DML", "BFS", "UAL", "O2D2")

# The paper's Table 2, in its order: system, training set, "dev" or "test", and MEASURES but delta.
TABLE_2 = (
    ("early-bird", "small", "dev", (0.964, 0.919, 0.916, 0.932, 0.933)),
    ("ensemble", "small", "dev", (0.977, 0.942, 0.938, 0.946, 0.951)),
    ("ensemble", "large", "dev", (0.985, 0.955, 0.940, 0.959, 0.960)),
    ("single", "small", "dev", (0.975, 0.943, 0.921, 0.951, 0.948)),
    ("single", "large", "dev", (0.983, 0.950, 0.944, 0.954, 0.958)),
    ("early-bird", "small", "test", (0.923, 0.861, 0.857, 0.891, 0.883)),
    ("ensemble", "small", "test", (0.940, 0.889, 0.853, 0.906, 0.897)),
    ("ensemble", "large", "test", (0.969, 0.928, 0.907, 0.936, 0.935)),
)


@dataclass(frozen=True)
class ResultRow:
    """The scores of a system; those of Table 2 have its number, and what the paper has there."""

    number: int | None
    preset: str
    system: str
    size: str
    evaluation: str  # "dev", or the name of a test set
    pairs: int
    scores: dict[str, float]
    printed: dict[str, float]

    @property
    def measures(self) -> dict[str, str]:
        """The measures that are shown, with their titles."""
        return MEASURES_2021 if self.system.endswith(_STAGES) else MEASURES

    def cells(self) -> list[str]:
        """Ours, and in brackets the paper's."""
        return [
            f"{self.scores[name]:.3f}"
            + (f" ({self.printed[name]:.3f})" if name in self.printed else "")
            for name in self.measures
        ]

    def head(self, tests: Collection[str]) -> str:
        """What the row is of; the only one of the tests needs no name."""
        number = f"{self.number} " if self.number else ""
        evaluation = "test" if {*tests} == {self.evaluation} else self.evaluation
        return f"{number}{self.system}, {self.size}, {evaluation}"


@dataclass(frozen=True)
class Results:
    """What came out of an experiment."""

    options: ExperimentOptions
    device: str
    inputs: Inputs
    rows: tuple[ResultRow, ...]
    seconds: dict[str, float]  # of each step, as far as it was done in one go


def collect_results(output: Path, plan: ExperimentPlan) -> Results:
    """The results of all steps that are done."""
    rows, inputs = [], plan.inputs
    for file in sorted(output.glob("*/*/scores-*.json")):
        preset, size = file.parts[-3:-1]
        for row in json.loads(file.read_text("utf-8"))["rows"]:
            evaluation = row["pair_set"]
            is_asked_for = size in inputs.sizes and evaluation in ("dev", *inputs.tests)
            place = (row["model"], size, "dev" if evaluation == "dev" else "test")
            numbers = [at for at, printed in enumerate(TABLE_2, 1) if printed[:3] == place]
            printed = TABLE_2[numbers[0] - 1][3] if numbers else ()
            made = ResultRow(
                numbers[0] if numbers else None,
                *(preset, row["model"], size, evaluation, row["pairs"], row["scores"]),
                dict(zip(MEASURES, printed, strict=False)),
            )
            if is_asked_for and made not in rows:  # with another test set, dev is scored again
                rows.append(made)
    sizes = list(inputs.sizes)
    rows.sort(key=lambda row: (row.preset, row.number or len(TABLE_2) + 1, sizes.index(row.size)))
    steps = (output / "steps.jsonl").read_text("utf-8").splitlines()
    seconds = {step["step"]: step["seconds"] for step in map(json.loads, steps)}
    return Results(plan.options, plan.rates.device, inputs, tuple(rows), seconds)


def tables(results: Results) -> Iterator[Table]:
    """The rows as tables: Table 2 of each preset, then what it does not have."""
    for preset in dict.fromkeys(row.preset for row in results.rows):
        of_preset = [row for row in results.rows if row.preset == preset]
        numbered = [row for row in of_preset if row.number]
        for title, rows in (
            (f"{preset}: the paper's Table 2, its numbers in brackets", numbered),
            (
                f"{preset}: other rows" if numbered else preset,
                [row for row in of_preset if not row.number],
            ),
        ):
            if rows:
                columns = ["", *rows[0].measures.values()]
                cells = [[row.head(results.inputs.tests), *row.cells()] for row in rows]
                yield Table(title, columns, cells)


def result_lines(results: Results) -> Iterator[str | Table]:
    """For a terminal."""
    yield from tables(results)
    for remark in results.inputs.remarks:
        yield f"Note: {remark}."


def cost_lines(costs: Costs) -> Iterator[str | Table]:
    """A plan for a terminal."""
    rows = [
        [cost.step, "done" if cost.done else _amount(cost.hours), _amount(cost.gigabytes)]
        for cost in costs.steps
    ]
    yield Table(f"The plan, on {costs.device}", ["step", "hours", "GB of disk"], rows)
    yield (
        f"In all  {_amount(costs.hours)} hours, one step at a time; {_amount(costs.gigabytes)} GB "
        f"of disk, {_amount(costs.memory)} GB of memory at most"
    )
    yield f"Measured  {costs.measured}"


def _amount(number: float) -> str:
    return "<0.01" if number < 0.005 else f"{number:,.2f}"


def write_results(results: Results, output: Path) -> Path:
    """Write OUTPUT/results: a page, the numbers, and the tables as Markdown."""
    folder = output / "results"
    folder.mkdir(exist_ok=True)
    page = render_page(
        "experiment.html",
        (asset("evaluation.css"),),
        images="data:",
        title="The paper's experiment",
        version=adhominem.__version__,
        results=results,
        files=[_line_of(name, file) for name, file in results.inputs.files().items()],
        tables=list(tables(results)),
        hours=sum(results.seconds.values()) / 3600,
        curves=[
            (" ".join(file.parts[-4:-2]), base64.b64encode(file.read_bytes()).decode("ascii"))
            for file in sorted(output.glob("*/*/single/entropy.png"))
        ],
        maps=[
            (" ".join((*file.parts[-4:-2], file.stem)), f"../{file.relative_to(output).as_posix()}")
            for file in sorted(output.glob("*/*/heat-maps/*.html"))
        ],
    )
    files = {
        "index.html": page,
        "results.json": strict_json(with_schema(results), indent=1) + "\n",
        "table.md": "\n".join(map(_markdown, tables(results))),
    }
    for name, text in files.items():
        with write_whole(folder / name) as file:
            file.write(text)
    return folder / "index.html"


def _line_of(name: str, file: PairFile) -> tuple[str, str]:
    truth = "" if file.has_truth else "; no truth, so answers alone"
    return name, f"{Path(file.path).name}, {file.pairs:,} pairs{truth}"


def _markdown(table: Table) -> str:
    lines = [["", *table.columns[1:]], ["---"] * len(table.columns), *table.rows]
    rows = "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
    return f"{table.title}\n\n{rows}"
