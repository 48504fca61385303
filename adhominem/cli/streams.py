"""The standard streams as every command needs them, whatever they were when it was started."""

from __future__ import annotations

import io
import os
import sys


def mend_streams() -> None:
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
            "error: standard output is closed; expected a place for results, be it /dev/null\n"
        )
        sys.exit(1)
