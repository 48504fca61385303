"""Ways to damage a file, by chance but the same each time."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 10**6, 10**9, 2**31, 2**63, 10**19, 10**400, -(10**30)),
    *(0.5, -0.0, 1e-300, 5e-324, 1e30, 1e308, -1e308),
    *(float("nan"), float("inf"), float("-inf")),
    *("", "x", "x" * 20_000, "..", "/etc/passwd", "\x00", "\ud800", "<PAD>", "ngrams", "ensemble"),
    *([], {}, [[]], [None], ["a", "a"], {"": 0}, [0] * 1_000),
)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a tree of JSON with each of its keys; of long lists a few."""
    if isinstance(tree, dict | list):
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        for key in keys if len(keys) < 50 else keys[:5] + keys[-5:]:
            yield tree, key
            yield from _places(tree[key])


def mutated(tree: Any, rng: Random) -> Any:
    """A tree of JSON with one thing wrong."""
    tree = json.loads(json.dumps(tree))
    container, key = rng.choice(list(_places(tree)) or [({}, "")])
    match rng.randrange(6):
        case 0 if isinstance(container, dict):
            container.pop(key, None)
        case 1 if isinstance(container, dict):
            container[f"{key}-more"] = rng.choice(VALUES)
        case 2 if isinstance(container, list):
            container.append(container[key])
        case 3 if type(container.get(key) if isinstance(container, dict) else None) is int:
            container[key] = container[key] + rng.choice((-1, 1))
        case _ if container:
            container[key] = rng.choice(VALUES)
    return tree


def damaged_json(data: bytes, rng: Random) -> bytes:
    """JSON with one thing wrong: in what it says, or in how."""
    if rng.random() < 0.85:
        return json.dumps(mutated(json.loads(data), rng)).encode("utf-8", "surrogatepass")
    text = data.decode("utf-8")
    deep = rng.choice((900, 5_000, 100_000))
    return rng.choice(
        (
            b"\xef\xbb\xbf" + data,
            text.encode("utf-16"),
            text.encode("utf-32"),
            b"[" * deep + b"]" * deep,
            b'{"a":' * deep + b"1" + b"}" * deep,
            text.replace(":", ":" + "[" * deep, 1).encode(),
            data + data,
            b"9" * 5_000,
            b"null",
        )
    )


def damaged_tensors(data: bytes, rng: Random) -> bytes:
    """A safetensors file with one thing wrong in its header or its numbers."""
    length = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    match rng.randrange(8):
        case 0:
            size = rng.choice((0, 1, length - 1, length + 1, 2**31, 2**63, 2**64 - 1))
            return size.to_bytes(8, "little") + data[8:]
        case 1:
            name = rng.choice([name for name in header if name != "__metadata__"])
            header[name]["dtype"] = rng.choice(
                ("F16", "F32", "F64", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "", 3)
            )
        case 2:
            name = rng.choice([name for name in header if name != "__metadata__"])
            shape = header[name]["shape"]
            header[name]["shape"] = rng.choice(
                ([], [0], [-1], [*shape, 1], shape[::-1], [2**40, 2**40], [1] * 40, [1.5])
            )
        case 3:
            names = [name for name in header if name != "__metadata__"]
            one, other = rng.choice(names), rng.choice(names)
            header[one]["data_offsets"] = header[other]["data_offsets"]
        case 4:
            for _ in range(rng.choice((1, 20))):
                at = 4 * rng.randrange(max(1, len(rest) // 4))
                rest[at : at + 4] = rng.choice(
                    (b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\xff\xff\x7f\x7f", b"\xff" * 4)
                )
        case 5:  # larger than any number that is used, all of them
            rest[:] = b"\xff\xff\x7f\x7f" * (len(rest) // 4) + bytes(len(rest) % 4)
        case 6:
            rest[:] = bytes(len(rest))
        case _:
            header = mutated(header, rng)
    head = json.dumps(header).encode("utf-8", "surrogatepass")
    return len(head).to_bytes(8, "little") + head + bytes(rest)


def damaged_bytes(data: bytes, rng: Random) -> bytes:
    """Any file: cut off, emptied, with bits that flipped."""
    match rng.randrange(5):
        case 0:
            return b""
        case 1:
            return data[: rng.randrange(len(data) or 1)]
        case 2:
            return data + rng.randbytes(rng.choice((1, 100)))
        case 3:
            return rng.randbytes(rng.choice((1, 7, 8, 9, 1_000)))
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 1, 10, 100)) if data else 0):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


OBSTACLES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a device without end": lambda path: path.symlink_to("/dev/zero"),
    "an empty device": lambda path: path.symlink_to("/dev/null"),
    "a large file with nothing in it": lambda path: _sparse(path, 2**42),
}


def _sparse(path: Path, size: int) -> None:
    with open(path, "wb") as file:
        file.truncate(size)


def damaged(path: Path, data: bytes, rng: Random) -> str:
    """Damage a file; what was done, in words."""
    draw = rng.random()
    if draw < 0.1:
        name = rng.choice(list(OBSTACLES))
        path.unlink()
        OBSTACLES[name](path)
        return name
    ways: list[Callable[[bytes, Random], bytes]] = [damaged_bytes]
    if path.suffix == ".json":
        ways += [damaged_json] * 4
    if path.suffix == ".safetensors":
        ways += [damaged_tensors] * 4
    way = rng.choice(ways)
    path.write_bytes(way(data, rng))
    return way.__name__


@contextmanager
def kept(path: Path) -> Iterator[bytes]:
    """The contents of a file, which are put back, whatever has become of it meanwhile."""
    data = path.read_bytes()
    try:
        yield data
    finally:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.write_bytes(data)


STEPS = ("replace", "fsync", "unlink", "open")  # of `os`, that a write is made of


def stopped_at(call: int, act: Callable[[], object], stop: Callable[[], object]) -> bool:
    """Whether something happened, instead of this call of the ones that a write is made of."""
    left = [call]

    def patched(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def step(*given: Any, **named: Any) -> object:
            if name != "open" or given[1] & os.O_CREAT:  # to read changes nothing
                left[0] -= 1
                if left[0] == 0:
                    stop()
            return real(*given, **named)

        return step

    with pytest.MonkeyPatch.context() as patch:
        for name in STEPS:
            patch.setattr(os, name, patched(name))
        act()
    return left[0] <= 0


def in_a_child(act: Callable[[], object]) -> int:
    """The exit status of a process that does it: 3 after an OSError, 9 if it died on the way."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except OSError:
            os._exit(3)
        except BaseException:
            os._exit(4)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(call: int, act: Callable[[], object]) -> bool:
    """Whether a process died as by a kill at this step: nothing is tidied up."""
    return in_a_child(lambda: stopped_at(call, act, lambda: os._exit(9))) == 9


def with_room_for(size: int, act: Callable[[], object]) -> int:
    """The exit status of a process whose files cannot become larger than this."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        act()

    return in_a_child(limited)
