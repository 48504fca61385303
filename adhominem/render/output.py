"""An explanation to a file, or as text for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adhominem.errors import OptionError
from adhominem.text.writing import write_whole
from adhominem.verify.explanation import Explanation

_BY_ENDING = {".html": "html", ".htm": "html", ".txt": "terminal"}


def format_of(output: Path, chosen: str | None = None) -> str:
    """What is written to a file: as `chosen`, or as its ending says."""
    format = chosen or _BY_ENDING.get(output.suffix.lower(), "")
    if not format:
        raise OptionError(
            f"{output} has no known ending; expected {', '.join(_BY_ENDING)}, or --format"
        )
    return format


def write_explanation(explanation: Explanation, output: Path, chosen: str | None = None) -> None:
    """Write an explanation in the format `chosen`, or in that of the file's ending."""
    text = explanation_text(explanation, format_of(output, chosen))
    with write_whole(output) as file:
        file.write(text)


def explanation_text(
    explanation: Explanation,
    format: str,
    environment: Mapping[str, str] | None = None,
    width: int = 80,
) -> str:
    """An explanation as html, or for a terminal of some environment and width."""
    if format == "html":
        from adhominem.render.html import explanation_page

        return explanation_page(explanation)
    from adhominem.render.terminal import terminal_colours, terminal_heat_map

    colours = terminal_colours(environment or {}, environment is not None)
    return terminal_heat_map(explanation, colours, width)
