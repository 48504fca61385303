"""The command `adhominem`: options to one library call, and its result to the terminal.

Exit status: 0 when all went well, 1 for an error, 2 for a wrong call, 3 when the
work was done but some of the input had to be skipped.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import click

# Before NumPy is loaded: our products are small, and BLAS would spend more on sharing them out
# among threads than on computing them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from adhominem import __version__
from adhominem.cli import (
    answers,
    asking,
    corpora,
    doctor,
    models,
    options,
)
from adhominem.errors import AdHominemError, InputError
from adhominem.harmless import one_line
from adhominem.text.files import DEFAULT_MOST_BYTES, inputs_read, largest_text

_SKIPPED_STATUS = 3


class _Commands(click.Group):
    """Shows what AdHominem raises on purpose, and a full disk, as one line, not as a traceback.

    The object of the context is what every job takes: a list for what had to be skipped, which is
    shown at the end, be that an error, and a way to show progress.
    """

    def main(self, *details: Any, **options: Any) -> Any:
        _mend_streams()
        with _ending_properly():
            return super().main(*details, **options)

    def make_context(self, *details: Any, **options: Any) -> click.Context:
        with _harmless_complaints():
            return super().make_context(*details, **options)

    def invoke(self, context: click.Context) -> Any:
        from adhominem.cli.terminal import complain, list_skipped, short_warnings, watch

        skipped: list[InputError] = []
        context.obj = {"skipped": skipped, "watch": watch}
        try:
            with short_warnings(), _harmless_complaints():
                try:
                    here = copy_context()  # what an option sets for a command ends with it
                    here.run(inputs_read.set, {})
                    here.run(super().invoke, context)
                finally:
                    list_skipped(skipped)
        except BrokenPipeError:  # whoever reads our output has had enough: click ends in silence
            raise
        except (AdHominemError, OSError) as error:
            complain(f"error: {error}")
            sys.exit(1)
        if skipped:
            sys.exit(_SKIPPED_STATUS)

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


def _mend_streams() -> None:
    """Every letter can be written, if need be as \\u2603; what nobody hears is said to nobody.

    Without a standard output there is nowhere for results to go, and the command ends.
    """
    if sys.stdin is None:  # or a file that is opened next would pass for standard input
        os.open(os.devnull, os.O_RDONLY)
    output_is_closed = sys.stdout is None
    if output_is_closed:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if output_is_closed:
        sys.stderr.write(
            "error: standard output is closed; expected a place for results, such as /dev/null\n"
        )
        sys.exit(1)


@contextmanager
def _ending_properly() -> Iterator[None]:
    """On SIGTERM and SIGHUP, end like on Ctrl-C: locks, scratch folders and workers go, too.

    A signal that whoever started us chose to ignore (nohup) stays ignored.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():  # others may set no handler
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                # The status is how shells tell of a signal.
                before[number] = signal.signal(number, lambda end, frame: sys.exit(128 + end))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _limit_texts(context: click.Context, parameter: click.Parameter, count: int) -> None:
    largest_text.set(count)


_MAX_BYTES = click.Option(
    ["--max-bytes"],
    default=DEFAULT_MOST_BYTES,
    show_default=True,
    type=click.IntRange(min=1),
    expose_value=False,
    callback=_limit_texts,
    help="The largest text to read, in bytes once unpacked; in a table, the longest line.",
)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="adhominem", message="adhominem %(version)s")
def main() -> None:
    """Were two texts written by the same person, and how strong is the evidence?"""


for _command in (
    asking.QuestionCommand("verify", _MAX_BYTES),
    asking.QuestionCommand("explain", _MAX_BYTES),
    asking.QuestionCommand("rank", _MAX_BYTES),
    asking.QuestionCommand("validate", _MAX_BYTES),
    asking.QuestionCommand("report", _MAX_BYTES),
    asking.QuestionCommand("check-report", _MAX_BYTES),
    answers.predict,
    corpora.encode,
    corpora.attention,
    asking.QuestionCommand("map", _MAX_BYTES),
    asking.QuestionCommand("cluster", _MAX_BYTES),
    asking.QuestionCommand("roll", _MAX_BYTES),
    asking.QuestionCommand("contrast", _MAX_BYTES),
    corpora.index,
    asking.QuestionCommand("search", _MAX_BYTES),
    asking.QuestionCommand("link"),
    answers.evaluate,
    answers.table,
    answers.baseline,
    answers.paper,
    corpora.prepare,
    corpora.split,
    corpora.pairs,
    models.train,
    models.ensemble,
    models.genres,
    models.calibrate,
    models.machine,
    models.prose,
    models.serve,
    doctor.doctor,
):
    main.add_command(_command)
    if isinstance(_command, asking.QuestionCommand):  # not loaded yet
        continue
    if _command not in (
        models.ensemble,
        models.serve,
        doctor.doctor,
    ):  # all others read texts
        _command.params.append(_MAX_BYTES)
    for _parameter in _command.params:
        if isinstance(_parameter.type, click.types.StringParamType):
            _parameter.type = options.TEXT
