"""Why the paper's entropy curves (Fig. 3) rise and fall: the constant of its score, as printed.

    python benchmarks/entropy.py [--steps 6000] [--plot FILE] [--network RESULTS...]

LEVs are drawn from Gaussians that are known, between and within authors, so that the entropies that
training should find are known, too. The two-covariance layer is trained on pairs of them, by the
paper's loss and rate: with the printed constant and with the corrected one from unit matrices, and
with the corrected one from the scale of the LEVs. Printed: the entropies before, after, and in
truth, and the loss at the end. --plot draws their course, and that of a network, from the results
of settings.py.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from measure import run

from adhominem.paper.config import TrainingOptions
from adhominem.paper.losses import TwoCovarianceLayer, bayes_factor_loss

# The size of LEVs, and the variance of each number between and within authors.
TRUTHS = {
    "authors apart": (20, 0.02, 0.01),
    "twice the size": (40, 0.02, 0.01),
    "authors close": (20, 0.01, 0.03),
}
# The constant and the start of each training, and the name of the network's in settings.py.
RUNS = {
    ("printed", "unit"): "printed",
    ("corrected", "unit"): "right",
    ("corrected", "levs"): "pair",
}
_PAIRS, _POINTS = 40, 30  # of a batch; of a curve
_MOMENTS = ("first", "last", "true")

Curve = list[tuple[float, float]]  # between and within authors


def trained(
    truth: tuple[int, float, float], constant: str, start: str, steps: int
) -> tuple[Curve, float]:
    """The entropies in the course of a training, and the mean loss of its last tenth."""
    size, between, within = truth
    layer = TwoCovarianceLayer(size, printed=constant == "printed")
    if start == "levs":  # a tenth of their variance between authors, as in our trainings
        factors = layer.between_author_factor, layer.within_author_factor
        for factor, share in zip(factors, (0.1, 0.9), strict=True):
            factor.data.fill_diagonal_(-0.5 * math.log(share * (between + within)))
    options = TrainingOptions()
    optimiser = torch.optim.Adam(layer.parameters(), lr=options.learning_rate)
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(_PAIRS) < _PAIRS // 2  # the first half by one author each
    curve, losses = [layer.entropies()], []

    def drawn(variance: float) -> torch.Tensor:
        return math.sqrt(variance) * torch.randn(_PAIRS, size, generator=generator)

    for step in range(1, steps + 1):
        one, other = drawn(between), drawn(between)
        first = one + drawn(within)
        second = torch.where(labels[:, None], one, other) + drawn(within)
        loss = bayes_factor_loss(layer(first, second), labels).mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        losses.append(loss.item())
        if step % (steps // _POINTS) == 0:
            curve.append(layer.entropies())
    return curve, float(np.mean(losses[-steps // 10 :]))


def true_entropies(truth: tuple[int, float, float]) -> tuple[float, float]:
    """The entropies of both Gaussians, in nats."""
    size, *variances = truth
    between, within = (0.5 * size * math.log(2 * math.pi * math.e * v) for v in variances)
    return between, within


def draw(curves: dict[str, list[Curve]], path: Path) -> None:
    """A row of panels for each of `RUNS`, and in it one for each truth, and for the network."""
    from matplotlib.figure import Figure

    from adhominem.evaluation.figure_style import DIFFERENT, SAME, house_style

    with house_style():
        figure = Figure(figsize=(2.5 * len(curves), 2 * len(RUNS) + 0.3), layout="constrained")
        panels = figure.subplots(len(RUNS), len(curves), squeeze=False)
        for column, (name, by_run) in zip(panels.T, curves.items(), strict=True):
            column[0].set_title(name, fontsize=9)
            for axes, curve in zip(column, by_run, strict=True):
                share = np.linspace(0, 1, len(curve))
                between, within = zip(*curve, strict=True)
                axes.plot(share, between, color=SAME, label="between authors")
                axes.plot(share, within, "--", color=DIFFERENT, label="within an author")
                axes.grid(alpha=0.3)
                if truth := TRUTHS.get(name):
                    for value, colour in zip(true_entropies(truth), (SAME, DIFFERENT), strict=True):
                        axes.plot(1, value, "_", ms=9, mew=2.5, color=colour)  # in truth
        for axes, (constant, start) in zip(panels[:, 0], RUNS, strict=True):
            of_start = "unit matrices" if start == "unit" else "the scale of the LEVs"
            axes.set_ylabel(f"{constant},\nfrom {of_start}", fontsize=8)
        for axes in panels[-1]:
            axes.set_xlabel("share of the training", fontsize=8)
        panels[0, 0].legend(fontsize=7)
        figure.savefig(path, dpi=110)


def of_network(results: Sequence[Path]) -> list[Curve]:
    """The curves of a network for each of `RUNS`, after each epoch."""
    tables = [json.loads(path.read_text("utf-8"))["tables"][0] for path in results]
    rows = [row for table in tables for row in table if row["seed"] == 0]
    return [
        [(row["between"], row["within"]) for row in rows if row["variant"] == variant]
        for variant in RUNS.values()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--network", type=Path, nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    curves: dict[str, list[Curve]] = {}
    heads = [f"{part}: {moment}" for part in ("between", "within") for moment in _MOMENTS]
    print(f"| truth | size | constant | start | {' | '.join(heads)} | loss |\n|{'---|' * 11}")
    for name, truth in TRUTHS.items():
        curves[name] = []
        for constant, start in RUNS:
            curve, loss = trained(truth, constant, start, arguments.steps)
            curves[name].append(curve)
            moments = zip(curve[0], curve[-1], true_entropies(truth), strict=True)
            numbers = " | ".join(f"{value:.1f}" for of_part in moments for value in of_part)
            of_run = f"{name} | {truth[0]} | {constant} | {start}"
            print(f"| {of_run} | {numbers} | {loss:.3f} |", flush=True)
    if arguments.network:
        curves["a network"] = of_network(arguments.network)
    if arguments.plot:
        draw(curves, arguments.plot)


if __name__ == "__main__":
    run(main)
