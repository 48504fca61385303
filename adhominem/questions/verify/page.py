"""How a verification and an explanation are shown on a terminal, and an explanation as a file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from adhominem.questions.question import Page, Styled
from adhominem.score.decision import show_probability
from adhominem.verify.explanation import Explanation
from adhominem.verify.verification import Verification


def _lines(result: Verification, values: Mapping[str, Any]) -> Iterator[Styled]:
    number = f"{result.log10_bayes_factor:+.2f}"
    if result.states:
        probability = show_probability(result.probability_same_author)
        prior = f"if it was {result.prior_same_author:g} before the texts"
        yield Styled(f"log10 Bayes factor  {number}", "")
        yield Styled(result.verbal, "")
        yield Styled(f"Probability of one author  {probability}, {prior}", "")
        yield Styled(f"Decision  {result.decision}: {result.reason}", "")
    else:
        yield Styled(result.verbal, "")
        yield Styled(f"Computed all the same: log10 Bayes factor {number}", "dim")
    if result.reach:
        bounds = f"{result.lower_bound:+.2f} to {result.upper_bound:+.2f}"
        under = f"under these conditions ({result.conditions})"
        yield Styled(f"Bounds  {bounds} {under}: {result.reach}", "")
    if result.population is not None:
        without = f"{result.population.log10_bayes_factor_without:+.2f}"
        texts = f"Population  {result.population.texts:,} texts"
        yield Styled(f"{texts}; without it the log10 Bayes factor would be {without}", "")
    elif result.likeness is not None:
        yield Styled(result.likeness.sentence, "")
    for name, side in (("first", result.first), ("second", result.second)):
        for text in side.documents:
            size = f"{text.tokens:,} tokens"
            yield Styled(f"{name:>6}  {text.name}, {size}, SHA-256 {text.sha256}", "dim")
    yield Styled(f" model  {result.model}, SHA-256 {result.model_sha256}", "dim")


def explanation_text(
    explanation: Explanation,
    format: str,
    environment: Mapping[str, str] | None = None,
    width: int = 80,
) -> str:
    """An explanation as HTML, or for a terminal with this environment and width."""
    if format == "html":
        from adhominem.render.html import explanation_page

        return explanation_page(explanation)
    from adhominem.render.terminal import terminal_colours, terminal_heat_map

    colours = terminal_colours(environment or {}, environment is not None)
    return terminal_heat_map(explanation, colours, width)


def _explained(explanation: Explanation, values: Mapping[str, Any]) -> Iterator[Styled]:
    if not values["output"]:
        environment = os.environ if sys.stdout.isatty() else None
        width = shutil.get_terminal_size().columns
        format = values["format"] or "terminal"
        yield Styled(explanation_text(explanation, format, environment, width))


PAGE: Page[Verification] = Page(lines=_lines, warnings=lambda result: result.warnings)
EXPLAINED: Page[Explanation] = Page(
    lines=_explained, warnings=lambda explanation: explanation.verification.warnings
)
