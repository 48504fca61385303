"""Worker processes run nothing that lies in the folder they are started in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import SmallData, SmallRun

COMMANDS = {
    "predict": "predict {pairs} -o {out}/answers.jsonl --model {model} --jobs 2",
    "predict with a population": "predict {pairs} -o {out}/answers.jsonl --model {model} --jobs 2 "
    "--population input",
    "encode": "encode {texts} -o {out}/levs.npz --model {model} --jobs 2",
    "map": "map {texts} -o {out}/map.html --model {model} --jobs 2",
    "prepare": "prepare {texts} -o {out}/corpus --jobs 2",
    "baseline": "baseline compression {pairs} --train {pairs} -o {out}/answers.jsonl --jobs 2",
}
THIRD_PARTY = {"adhominem", "click", "numpy", "rich", "safetensors", "tokenizers", "zstandard"}


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder with a file for every module there is; each leaves a mark when it is run."""
    folder = tmp_path / "texts of somebody"
    folder.mkdir()
    mark = f"open({str(tmp_path / 'run')!r}, 'a').write(__name__ + ' ')\n"
    for name in {*sys.stdlib_module_names, *THIRD_PARTY}:
        (folder / f"{name}.py").write_text(mark, "utf-8")
    return folder


@pytest.fixture
def installed(tmp_path: Path) -> list[str]:
    """As pip makes it: a script in a folder of its own, which is first in its path."""
    script = Path(sys.executable).with_name("adhominem")
    if not script.exists():
        script = tmp_path / "bin" / "adhominem"
        script.parent.mkdir()
        script.write_text(
            "from adhominem.cli import main\nif __name__ == '__main__':\n    main()\n"
        )
    return [sys.executable, str(script)]


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_in_the_current_folder_is_run(
    command: str, trap: Path, installed: list[str], small_run: SmallRun, tmp_path: Path
) -> None:
    places = {"model": small_run.folder, "pairs": small_run.data.pairs, "out": tmp_path / "out"}
    arguments = COMMANDS[command].format(**places, texts=small_run.data.texts).split()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [*installed, *arguments],
        cwd=trap,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert not (tmp_path / "run").exists(), (tmp_path / "run").read_text("utf-8")
    assert done.returncode == 0, done.stderr
    assert any((tmp_path / "out").iterdir())


WORKERS = """
import json, os, sys
from adhominem.processes import worker_pool

def told():
    return sys.path, os.environ.get("PYTHONSAFEPATH"), sys.flags.dev_mode, sys.flags.utf8_mode

if __name__ == "__main__":
    with worker_pool(1) as pool:
        found = pool.submit(told).result()
    print(json.dumps([found, told()]))
"""


@pytest.mark.parametrize("set_before", [None, "1"])
def test_workers_have_the_path_and_the_flags_of_their_parent_and_nothing_is_left_set(
    tmp_path: Path, set_before: str | None
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "script.py").write_text(WORKERS, "utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    paths = os.pathsep.join([environment.get("PYTHONPATH", ""), str(tmp_path / "more")])
    environment["PYTHONPATH"] = paths.strip(os.pathsep)
    if set_before:
        environment["PYTHONSAFEPATH"] = set_before
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-X", "utf8", "-W", "ignore", str(tmp_path / "script.py")],
        cwd=tmp_path / "here",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    (path, variable, *flags), (own_path, own_variable, *own_flags) = json.loads(done.stdout)
    assert path == own_path
    assert str(tmp_path / "more") in path
    assert str(tmp_path / "here") not in path
    assert "" not in path
    assert flags == own_flags == [True, 1]
    assert (variable, own_variable) == ("1", set_before)


def test_an_interpreter_that_hears_no_variables_is_refused(tmp_path: Path) -> None:
    import adhominem

    package = Path(adhominem.__file__).parents[1]
    script = tmp_path / "script.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(package)!r})\n{WORKERS}", "utf-8")
    for flags, status in ((["-E"], 1), (["-E", "-P"], 0), (["-I"], 0)):
        done = subprocess.run(
            [sys.executable, *flags, str(script)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == status, done.stderr
        assert ("start it with -P, too" in done.stderr) == bool(status)


HELPERS = """
import os, sys, time
from pathlib import Path
from adhominem.processes import helpers

def work(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    with helpers(2, work, sys.argv[1]):
        while len(os.listdir(sys.argv[1])) < 2:
            time.sleep(0.01)
        if sys.argv[2:]:
            os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("is_killed", [False, True])
def test_helpers_end_with_their_context_and_with_their_parent(
    tmp_path: Path, is_killed: bool
) -> None:
    (tmp_path / "script.py").write_text(HELPERS, "utf-8")
    (tmp_path / "started").mkdir()
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "started")]
    done = subprocess.run([*command, *(["killed"] if is_killed else [])], timeout=60)
    assert done.returncode == (-9 if is_killed else 0)
    numbers = [int(path.name) for path in (tmp_path / "started").iterdir()]
    assert len(numbers) == 2
    until = time.monotonic() + 30
    while is_killed and any(map(psutil.pid_exists, numbers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(psutil.pid_exists, numbers))


def test_the_workers_of_prepare_end_with_it_when_it_is_killed(
    small_data: SmallData, tmp_path: Path
) -> None:
    rows = small_data.texts.read_text("utf-8") * 2_000
    (tmp_path / "texts.jsonl").write_text(rows, "utf-8")
    command = [sys.executable, "-m", "adhominem", "prepare", "texts.jsonl", "-o", "corpus"]
    process = subprocess.Popen([*command, "--jobs", "2"], cwd=tmp_path)
    parent = psutil.Process(process.pid)
    while process.poll() is None and len(parent.children()) < 3:  # with multiprocessing's tracker
        time.sleep(0.005)
    workers = parent.children() if process.poll() is None else []
    process.kill()
    process.wait()
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=30)
    for worker in alive:
        worker.kill()
    assert not alive
