"""docs/commands.md says what --help says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_reference_of_commands_is_what_help_says_now() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import make_commands as made; "
    code += "assert made.PAGE.read_text('utf-8') == made.commands_page(), 'out of date'"
    narrow = {**os.environ, "COLUMNS": "40", "ADHOMINEM_MODEL": "another"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(DOCS)], env=narrow, capture_output=True, text=True
    )
    if done.returncode:
        pytest.fail(f"run `python docs/make_commands.py`\n{done.stderr}")
