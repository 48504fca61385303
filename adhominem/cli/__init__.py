"""The command `adhominem`: one function a command, no logic.

Exit status: 0 when all went well, 1 for an error, 2 for a wrong call, 3 when the
work was done but some of the input had to be skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

# Before NumPy is loaded: our products are small, and BLAS would spend more on sharing them out
# among threads than on computing them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from adhominem import __version__
from adhominem.cli import corpora, explanations, measures, models, pictures, reports, serve, texts
from adhominem.cli.shared import max_bytes_option
from adhominem.cli.signals import ending_properly
from adhominem.cli.streams import mend_streams
from adhominem.errors import AdHominemError
from adhominem.harmless import one_line


class _Commands(click.Group):
    """Shows what AdHominem raises on purpose, and a full disk, as one line, not as a traceback."""

    def main(self, *details: Any, **options: Any) -> Any:
        mend_streams()
        with ending_properly():
            return super().main(*details, **options)

    def make_context(self, *details: Any, **options: Any) -> click.Context:
        with _harmless_complaints():
            return super().make_context(*details, **options)

    def invoke(self, context: click.Context) -> Any:
        from adhominem.cli.terminal import complain, short_warnings
        from adhominem.text.files import noting_inputs

        try:
            with short_warnings(), _harmless_complaints(), noting_inputs():
                return super().invoke(context)
        except BrokenPipeError:  # whoever reads our output has had enough: click ends in silence
            raise
        except (AdHominemError, OSError) as error:
            complain(f"error: {error}")
            sys.exit(1)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)  # in the order of the work, not of the alphabet


@contextmanager
def _harmless_complaints() -> Iterator[None]:
    """What click says of a wrong call quotes it, with all that is in it."""
    try:
        yield
    except click.ClickException as error:
        error.__dict__["message"] = one_line(error.message)
        raise


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
    if _command not in (models.ensemble, serve.serve):  # all others read texts
        _command.params.append(max_bytes_option)
    main.add_command(_command)
