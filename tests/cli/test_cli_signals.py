"""A command that is asked to end leaves nothing behind but what it has found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import any_words

import adhominem

PAIRS = 4_000


def started(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """A predict run that takes long, once its first answers are there."""
    texts = [any_words(600 + at) for at in range(PAIRS)]
    rows = [
        {"id": str(at), "fandoms": ["", ""], "pair": [text, "It was."]}
        for at, text in enumerate(texts)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    package = str(Path(adhominem.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "adhominem", "predict", "pairs.jsonl", "-o", "a.jsonl", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": package},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # Tests may run under nohup, by which it would ignore to be asked.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    end = time.monotonic() + 120
    while not (folder / "a.jsonl.partial").exists() and time.monotonic() < end:
        time.sleep(0.02)
    # A worker that was not yet told what to do prints a traceback of Python's when its parent ends.
    while options and len(psutil.Process(process.pid).children()) < 3 and time.monotonic() < end:
        time.sleep(0.02)  # two workers, and multiprocessing's tracker
    time.sleep(0.3 if options else 0)
    return process


@pytest.mark.parametrize("options", [(), ("--jobs", "2")], ids=["alone", "two jobs"])
@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_leaves_no_lock_and_no_traceback(
    asked: signal.Signals, options: tuple[str, ...], tmp_path: Path
) -> None:
    process = started(tmp_path, *options)
    process.send_signal(asked)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 128 + asked
    assert b"Traceback" not in said
    left = {path.name for path in tmp_path.iterdir()} - {"pairs.jsonl"}
    assert not [name for name in left if name.endswith(".lock")]
    assert all(name.startswith("a.jsonl.") for name in left)
