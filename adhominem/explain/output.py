"""An explanation to a file, or to the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from adhominem.errors import OptionError
from adhominem.explain.explanation import Explanation
from adhominem.text.files import write_whole

_BY_ENDING = {".html": "html", ".htm": "html", ".png": "png", ".tex": "latex", ".txt": "terminal"}


def write_explanation(explanation: Explanation, output: Path | None, chosen: str | None) -> None:
    """Write it as `chosen`, or as the ending of the file says; without a file, print it."""
    kind = chosen or ("terminal" if output is None else _BY_ENDING.get(output.suffix.lower(), ""))
    if not kind:
        raise OptionError(
            f"{output} has no known ending; expected {', '.join(_BY_ENDING)}, or --format"
        )
    if kind == "png":
        from adhominem.explain.png import png_heat_map

        if output is None:
            raise OptionError("a picture goes to a file; expected -o picture.png")
        png_heat_map(explanation, output)
        return
    text = _text(explanation, kind, output)
    if output is None:
        print(text)
    else:
        with write_whole(output) as file:
            file.write(text)


def _text(explanation: Explanation, kind: str, output: Path | None) -> str:
    if kind == "html":
        from adhominem.explain.html import explanation_page

        return explanation_page(explanation)
    if kind == "latex":
        from adhominem.explain.latex import latex_heat_map

        return latex_heat_map(explanation)
    from adhominem.explain.ansi import terminal_colours, terminal_heat_map

    colours = terminal_colours(os.environ, output is None and sys.stdout.isatty())
    return terminal_heat_map(explanation, colours, shutil.get_terminal_size().columns)
