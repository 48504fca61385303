"""The engine ray on a real cluster: two nodes on this machine, and a worker killed on the way."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NgramRun, rich_rows, write_rows

from adhominem import encode

pytest.importorskip("ray")
TWO_NODES = Path(__file__).parents[2] / "benchmarks" / "two_nodes.py"
ROWS = rich_rows("letters", 60, 4, "-cluster-")
_LONGEST = 240  # seconds: machines may be busy

# Few texts in a shard, so that there are many shards.
_DRIVER = """
import sys
from adhominem.cli import main
from adhominem.jobs import workers
workers._BATCH = 8
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_killed_worker_changes_nothing_but_the_time(ngram_run: NgramRun, tmp_path: Path) -> None:
    source = write_rows(tmp_path / "texts.jsonl", ROWS)
    lines = source.read_text("utf-8").splitlines(keepends=True)
    source.write_text("".join([*lines[:9], "{broken\n", *lines[9:]]), "utf-8")
    alone, output = tmp_path / "alone.npz", tmp_path / "cluster.npz"
    encode(ngram_run.folder, [source], alone, skipped=[])
    driver = tmp_path / "driver.py"
    driver.write_text(_DRIVER, "utf-8")
    # What lies in the current folder is no module of anybody's.
    (tmp_path / "zstandard.py").write_text("raise SystemExit('ran what lay there')", "utf-8")
    call = [sys.executable, "-P", str(driver), "encode", str(source), "-o", str(output), "--json"]
    call += ["--model", str(ngram_run.folder), "--engine", "ray", "--jobs", "2"]
    with runpy.run_path(str(TWO_NODES))["two_nodes"](cpus=1) as cluster:  # tasks take all CPUs
        run = subprocess.Popen(
            call,
            cwd=tmp_path,
            env=cluster.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            shards = tmp_path / "cluster.npz.shards"
            killed = cluster.at_work(_LONGEST)
            for process in killed:
                process.kill()
            still_at_work = run.poll() is None
            stdout, stderr = run.communicate(timeout=_LONGEST)
        finally:
            run.kill()
    assert run.returncode == 3, stderr
    assert still_at_work
    assert killed
    assert json.loads(stdout)["documents"] == len(ROWS)
    assert stderr.startswith("skipped 1 of the inputs:\n")
    assert stderr.count("\n") == 2, stderr  # nothing from Ray
    assert output.read_bytes() == alone.read_bytes()
    assert not shards.exists()
