"""A Ray cluster of two nodes on this machine, for the benchmark and the test of the engine ray."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

_LONGEST_START = 120  # seconds
_TASK = "encode_shard"  # as Ray names a process that is at it


@dataclass(frozen=True, kw_only=True)
class TwoNodes:
    """The nodes, and the environment of processes that join them."""

    environment: Mapping[str, str]
    nodes: tuple[psutil.Process, ...]  # `ray start` of each

    def at_work(self, seconds: float = 10.0) -> list[psutil.Process]:
        """The processes that are encoding a shard; waits for one, as some may be between shards."""
        until, busy = time.monotonic() + seconds, list[psutil.Process]()
        while not busy and time.monotonic() < until:
            for process in self.processes():
                with suppress(psutil.Error):
                    if _TASK in " ".join(process.cmdline()):
                        busy.append(process)
        return busy

    def processes(self) -> list[psutil.Process]:
        """All processes of the nodes."""
        every = list(self.nodes)
        for node in self.nodes:
            with suppress(psutil.Error):
                every += node.children(recursive=True)
        return every


@contextmanager
def two_nodes(cpus: int = 3) -> Iterator[TwoNodes]:
    """Two nodes with this many logical CPUs each, separate from any other cluster.

    They have a folder, ports and a token of their own, and no dashboard; they end with the context.
    """
    with TemporaryDirectory(prefix="ray") as folder:  # a short name: of sockets, too
        port = _free_port()
        environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ADDRESS": f"127.0.0.1:{port}",
        }
        size = ["--num-cpus", str(cpus), "--object-store-memory", "100000000"]
        anywhere = ["--node-ip-address", "127.0.0.1", "--min-worker-port", "0"]
        anywhere += ["--max-worker-port", "0"]
        head = ["--head", "--port", str(port), "--ray-client-server-port", str(_free_port())]
        head += ["--include-dashboard", "false", "--temp-dir", folder]
        started: list[tuple[subprocess.Popen[bytes], Path]] = []
        cluster: TwoNodes | None = None
        # Without its variable, or the head would look for itself.
        alone = {name: value for name, value in environment.items() if name != "RAY_ADDRESS"}
        try:
            for name, role in (("head", head), ("other", ["--address", f"127.0.0.1:{port}"])):
                log = Path(folder) / f"{name}.log"
                command = [str(Path(sys.executable).with_name("ray")), "start", "--block"]
                with log.open("wb") as output:
                    process = subprocess.Popen(
                        [*command, *role, *size, *anywhere],
                        env=alone,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,  # an interrupt is for whoever uses the cluster
                    )
                started.append((process, log))
            nodes = tuple(psutil.Process(process.pid) for process, _ in started)
            cluster = TwoNodes(environment=environment, nodes=nodes)
            for process, log in started:
                _wait(process, log)
            yield cluster
        finally:
            processes = cluster.processes() if cluster is not None else []
            for process, _ in reversed(started):
                process.terminate()
            psutil.wait_procs(processes, timeout=3)
            for left in processes:
                with suppress(psutil.Error):
                    left.kill()
            for process, _ in started:
                process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a node is up, or raise its output."""
    until = time.monotonic() + _LONGEST_START
    while b"Ray runtime started" not in log.read_bytes():
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"a node did not start:\n{log.read_text('utf-8', 'replace')}")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
