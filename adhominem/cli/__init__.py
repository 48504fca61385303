"""The command `adhominem`: one function a command, no logic.

Exit status: 0 when all went well, 1 for an error, 2 for a wrong call, 3 when the
work was done but some of the input had to be skipped.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

# Before NumPy is loaded: our products are small, and BLAS would spend more on sharing them out
# among threads than on computing them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from adhominem import __version__
from adhominem.cli import corpora, explanations, measures, models, pictures, reports, serve, texts
from adhominem.errors import AdHominemError


class _Commands(click.Group):
    """Shows what AdHominem raises on purpose, and a full disk, as one line, not as a traceback."""

    def invoke(self, context: click.Context) -> Any:
        from adhominem.terminal import complain, short_warnings
        from adhominem.text.inputs import noting_inputs

        try:
            with short_warnings(), noting_inputs():
                return super().invoke(context)
        except BrokenPipeError:  # whoever reads our output has had enough: click ends in silence
            raise
        except (AdHominemError, OSError) as error:
            complain(f"error: {error}")
            sys.exit(1)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)  # in the order of the work, not of the alphabet


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="adhominem", message="adhominem %(version)s")
def main() -> None:
    """Were two texts written by the same person, and how strong is the evidence?"""


for _command in (
    texts.verify,
    explanations.explain,
    reports.report,
    reports.check_report_command,
    texts.predict,
    texts.encode,
    explanations.attention,
    pictures.map_command,
    measures.evaluate,
    measures.table,
    measures.baseline,
    corpora.prepare,
    corpora.split,
    corpora.pairs,
    models.train,
    models.ensemble,
    models.calibrate,
    serve.serve,
):
    main.add_command(_command)
