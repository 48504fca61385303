"""Does the installed wheel work, with its parts in C? Run by .github/workflows/wheels.yml."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from adhominem.compiled import parts_in_c

# Written for GCC and Clang: with Microsoft's compiler, NumPy does its work.
NOT_ON_WINDOWS = {"encoders.network._fused"}
SAMPLE = "It was late, and nobody had come; so we shut the door, put out the lamp, and waited. "

missing = {part for part, is_built in parts_in_c().items() if not is_built}
if missing - (NOT_ON_WINDOWS if os.name == "nt" else set()):
    sys.exit(f"not built in C: {', '.join(sorted(missing))}")
with tempfile.TemporaryDirectory() as folder:
    first, second = Path(folder, "first.txt"), Path(folder, "second.txt")
    first.write_text(SAMPLE * 20, "utf-8")
    second.write_text("\n".join([SAMPLE] * 18), "utf-8")
    for arguments in (["doctor"], ["verify", str(first), str(second)]):
        subprocess.run([sys.executable, "-m", "adhominem", *arguments], cwd=folder, check=True)
