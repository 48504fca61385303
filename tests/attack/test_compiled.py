"""The parts in C, called directly: whatever they are given, they touch no memory but their arrays'.

Arguments that fit together must be taken, and of others each call ends in one of Python's errors.
`make asan` runs this longer, with parts that were built with -fsanitize=address,undefined, from the
folder that ADHOMINEM_COMPILED names: there, a single byte beside an array ends the run.
"""

from __future__ import annotations

import os
import random
import types
from collections import Counter
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from adhominem.compiled import _PARTS, compiled
from attack.conftest import Attack

Array = npt.NDArray[Any]
Call = tuple[Callable[..., Any], list[Any]]
REFUSED = (ValueError, TypeError, BufferError, OverflowError, MemoryError)
HUGE = [-1, 0, 1, 1 << 31, 1 << 60, 1 << 62, (1 << 63) - 1, -(1 << 63), 1 << 64]


def _loaded(part: str) -> Any:
    """A part in C: that of the package, or of the folder of an instrumented build."""
    built = os.environ.get("ADHOMINEM_COMPILED")
    if not built:
        return compiled(f"adhominem.{part}") or pytest.skip("the parts in C were not built")
    name = f"adhominem.{part}"
    (path,) = Path(built, *name.split(".")[:-1]).glob(f"{name.rpartition('.')[2]}.*")
    spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def parts() -> dict[str, Any]:
    """The modules by their last names."""
    return {part.rpartition(".")[2]: _loaded(part) for part in _PARTS}


# --- calls whose arguments fit together -----------------------------------------------------------


def scan(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    pairs, blocks, count = rng.randint(1, 9), rng.randint(0, 30), rng.randint(0, 19)
    k = rng.randint(1, 70)
    if rng.random() < 0.01:  # so many that large products are guessed
        blocks, k, count = 2_100, 9_000, 2
    end = rng.randint(0, blocks)
    codes = make.integers(-128, 128, (blocks, pairs, 16, 2), np.int8)
    queries = make.integers(-(1 << 15), 1 << 15, (count, pairs, 2), np.int16)
    results = [np.zeros((count, k), np.int32) for _ in range(2)]
    texts = max(0, 16 * blocks - rng.randrange(16))
    begin = rng.randint(0, end)
    return parts["_looking"].scan, [codes, texts, queries, begin, end, *results]


def tables(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    size, shards = rng.randint(1, 70), [rng.randint(0, 9) for _ in range(rng.randint(1, 4))]
    rows = tuple(make.integers(-128, 128, (texts, size), np.int8) for texts in shards)
    count = rng.randint(0, 30) if sum(shards) else 0
    numbers = make.integers(0, max(1, sum(shards)), count)
    query = make.integers(-999, 999, rng.randint(0, size)).astype(np.int16)
    return parts["_chosen"].byte_products, [rows, numbers, query, np.zeros(count, np.int32)]


def sparse(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    size, shards = rng.randint(1, 900), [rng.randint(0, 6) for _ in range(rng.randint(1, 3))]
    steps, values, ends = [], [], []
    for texts in shards:
        counts = make.integers(0, min(size, 300) + 1, texts)
        rows = [np.sort(make.permutation(size)[:count]) for count in counts]
        wide = np.uint16 if rng.random() < 0.5 or size > 255 else np.uint8
        differences = [np.diff(row, prepend=-1).astype(wide) for row in rows]
        steps.append(np.concatenate([np.zeros(0, wide), *differences]))
        values.append(make.integers(-128, 128, len(steps[-1]), np.int8))
        ends.append(np.cumsum(counts).astype(np.int64))
    count = rng.randint(0, 20) if sum(shards) else 0
    numbers = make.integers(0, max(1, sum(shards)), count)
    query = make.integers(-128, 128, size, np.int8)
    given = [tuple(steps), tuple(values), tuple(ends), numbers, query, np.zeros(count, np.float32)]
    return parts["_chosen"].sparse_products, given


def rows(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    size, others, count = rng.randint(1, 400), rng.randint(0, 9), rng.randint(0, 9)
    lengths = make.integers(0, size + 1, count)
    places = [np.sort(make.permutation(size)[:length]) for length in lengths]
    flat = np.concatenate([np.zeros(0, int), *places]).astype(np.uint32)
    ends = np.cumsum(lengths).astype(np.int64)
    turned = rng.random() < 0.5
    table = make.normal(size=(size, others) if turned else (others, size))
    table = table.astype(rng.choice([np.float32, np.float64]))
    values, result = make.normal(size=len(flat)), np.zeros((count, others))
    given = [ends - lengths, ends, flat, values, table, turned, result]
    return parts["_rows"].products, given


def count(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    types_, places, channels = rng.randint(1, 9), rng.randint(1, 40), rng.randint(0, 3)
    lengths = make.integers(0, 5, types_)
    sizes = [rng.randint(1, 6) for _ in range(channels)]
    whole = np.empty((types_, 1 + channels), np.int64)
    whole[:, 0] = make.integers(0, places, types_)
    for channel, size in enumerate(sizes):
        whole[:, 1 + channel] = make.integers(0, size, types_)
    bigrams = tuple((size, make.integers(0, places, size * size)) for size in sizes)
    given = [
        make.integers(0, types_, rng.randint(0, 50)),
        np.cumsum(lengths),
        make.integers(0, places, int(lengths.sum())),
        whole,
        bigrams,
        np.zeros(places, np.uint32),
        np.zeros(places, np.int64),
        np.zeros(places, np.uint32),
    ]
    return parts["_counting"].count, given


def project(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    columns, size, texts = rng.randint(1, 300), rng.randint(1, 150), rng.randint(1, 6)
    lengths = make.integers(0, min(columns, 40) + 1, texts)
    chosen = [np.sort(make.permutation(columns)[:length]) for length in lengths]
    given = [
        make.integers(-128, 128, (columns, size), np.int8),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([np.zeros(0, np.int64), *chosen]),
        make.normal(size=int(lengths.sum())).astype(np.float32),
        np.zeros((texts, size), np.float32),
    ]
    return parts["_counting"].project, given


def aligned(values: Array) -> Array:
    """A copy of floats that begins where vectors of 32 bytes may."""
    room = np.zeros(values.nbytes + 64, np.uint8)
    begin = -room.ctypes.data % 32
    copy = room[begin : begin + values.nbytes].view(np.float32)
    copy[:] = values.ravel()
    return copy


def pooled(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    module = parts["_fused"]
    size, inner, steps = rng.randint(1, 20), rng.randint(1, 80), rng.randint(1, 7)
    sequences, of_table, of_heads = rng.randint(0, 15), rng.randint(1, 9), rng.randint(1, 5)

    def floats(*shape: int) -> Array:
        return make.normal(size=shape).astype(np.float32)

    lengths = np.sort(make.integers(1, steps + 1, sequences))[::-1].copy()
    numbers = make.integers(0, of_table, (sequences, steps))
    heads: list[Array | None] = [None, None]
    if rng.random() < 0.5:
        heads = [floats(of_heads, 4 * size) for _ in range(2)]
        numbers[:, 0] = make.integers(0, of_heads, sequences)
    gates, padded = -(-4 * size // 8) * 8, -(-inner // 8) * 8
    weights = [floats(2, size, gates), floats(2 * size, padded), floats(padded), floats(padded)]
    given = [
        rng.choice(module.VARIANTS),
        *(size, inner, numbers, lengths),
        *(floats(of_table, 4 * size) for _ in range(2)),
        *heads,
        *map(aligned, weights),
        np.zeros((sequences, 2 * size), np.float32),
        np.zeros((sequences, steps), np.float32),
    ]
    return module.pooled, given


def tanh(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    module = parts["_fused"]
    values = make.normal(size=8 * rng.randint(0, 9)).astype(np.float32)
    return module.tanh, [rng.choice(module.VARIANTS), values]


def multiply(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    module = parts["_fused"]
    size, vectors, count = rng.randint(1, 40), rng.randint(0, 11), rng.randint(0, 15)
    given = [
        rng.choice(module.VARIANTS),
        make.normal(size=(count, size)).astype(np.float32),
        size,
        aligned(make.normal(size=(size, 8 * vectors)).astype(np.float32)),
        np.zeros((count, 8 * vectors), np.float32),
    ]
    return module.multiply, given


WORDS = [
    "it",
    "was",
    "é\u3000",
    "\u2029",
    "",
    "a\ud800",
    "\x00",
    "x" * 3_000,
    "\N{OLD ITALIC LETTER A}",
]


def chunks(parts: dict[str, Any], rng: random.Random, make: np.random.Generator) -> Call:
    """A dictionary of its own, filled, and looked up in or added to."""
    made = parts["_chunks"].Chunks(rng.choice([0, 7, (1 << 64) - 1]))
    for _ in range(rng.choice([0, 1, 30, 700])):
        numbers = make.integers(-9, 9, rng.randint(0, 5)).tobytes()
        made.add(rng.choice(WORDS) + str(rng.randint(0, 400)) * rng.randint(0, 1), numbers)
    if rng.random() < 0.5:
        return made.add, [rng.choice(WORDS), make.integers(0, 9, rng.randint(0, 3)).tobytes()]
    return made.look_up, [" ".join(rng.choices(WORDS, k=rng.randint(0, 40)))]


CALLS = [scan, tables, sparse, rows, count, project, pooled, tanh, multiply, chunks]


# --- and what is made of them ---------------------------------------------------------------------


def spoilt_array(array: Array, rng: random.Random) -> Any:
    """Another array, or none at all."""
    flat = array.ravel()
    kind = rng.randrange(12)
    if kind == 0:
        return flat[: rng.randint(0, len(flat))].copy()
    if kind == 1:
        return np.concatenate([flat, flat[: rng.randint(0, 40)]])
    if kind == 2:
        return array.astype(
            rng.choice([np.int8, np.int64, np.float32, np.float64, np.complex64, "S1"])
        )
    if kind == 3:
        return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    if kind == 4:
        array.flags.writeable = False
        return array
    if kind == 5:
        return array.astype(array.dtype.newbyteorder(">"))
    if kind == 6:  # not where such numbers may lie
        moved = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
        moved[:] = flat
        return moved.reshape(array.shape)
    if kind == 7:  # of any size in one direction, and empty
        return np.empty((0, rng.choice([1, 1 << 40, 1 << 57]))[:: rng.choice([1, -1])], array.dtype)
    if kind == 8:
        return rng.choice(
            [None, "x", b"", b"abcdefgh", 5, (), [1], array.tolist(), memoryview(b"")]
        )
    if kind == 9:
        shapes = [flat.shape, (1, *array.shape), (*array.shape, 1), array.shape[::-1]]
        return array.reshape(rng.choice(shapes))
    if len(flat) and flat.dtype.kind in "iu":  # numbers that point elsewhere
        told = np.iinfo(flat.dtype)
        wrong = array.copy()
        for _ in range(rng.randint(1, 3)):
            number = rng.choice([told.min, told.max, -1, 1, 0, len(flat), told.max // 3])
            wrong.flat[rng.randrange(len(flat))] = max(told.min, min(told.max, number))
        return wrong
    if len(flat) and flat.dtype.kind == "f":
        wrong = array.copy()
        wrong.flat[rng.randrange(len(flat))] = rng.choice(
            [np.nan, np.inf, -np.inf, np.finfo(flat.dtype).max, np.finfo(flat.dtype).tiny]
        )
        return wrong
    return array.copy()


def spoilt(given: Any, rng: random.Random) -> Any:
    if isinstance(given, np.ndarray):
        return spoilt_array(given, rng)
    if isinstance(given, tuple) and given and rng.random() < 0.8:
        at = rng.randrange(len(given))
        return (*given[:at], spoilt(given[at], rng), *given[at + 1 :])
    if isinstance(given, tuple):
        return rng.choice([(), given[:-1], given * 40, list(given), None, 7])
    if isinstance(given, bool | int):
        return rng.choice([*HUGE, None, 1.5, given + 1, given - 1])
    if isinstance(given, bytes):
        return rng.choice([given + b"x", b"1234567", None, "x"])
    return rng.choice(["", "none", "plain\0", None, 3, b"x", "\ud800"])


def test_no_call_touches_what_is_not_its_own(attack: Attack, parts: dict[str, Any]) -> None:
    tried: Counter[bool] = Counter()
    called = set()
    for seed in range(attack.rounds(4_000, 200_000)):
        rng, make = random.Random(seed), np.random.default_rng(seed)
        function, given = rng.choice(CALLS)(parts, rng, make)
        called.add(function.__name__)
        if rng.random() < 0.3:
            function(*given)  # of what fits together, all is taken
        for at in rng.sample(range(len(given)), min(len(given), rng.randint(0, 2))):
            given[at] = spoilt(given[at], rng)
        try:
            function(*given)
            tried[True] += 1
        except REFUSED:
            tried[False] += 1
    assert min(tried[True], tried[False]) > sum(tried.values()) / 10
    there = {
        name
        for module in (*parts.values(), parts["_chunks"].Chunks)
        for name, one in vars(module).items()
        if isinstance(one, types.BuiltinFunctionType | types.MethodDescriptorType)
        and not name.startswith("__")
    }
    assert called == there
    attack.tried("calls of parts in C", sum(tried.values()))


def test_counts_of_no_places_are_refused(parts: dict[str, Any]) -> None:
    none, whole = np.zeros(0, np.int64), np.zeros((0, 1), np.int64)
    room = np.zeros(0, np.uint32), none, np.zeros(0, np.uint32)
    with pytest.raises(ValueError, match="do not fit together"):
        parts["_counting"].count(none, none, none, whole, (), *room)


@pytest.mark.parametrize("where", [1 << 58, 1 << 59, 1 << 60, 1 << 62])
def test_blocks_beyond_all_codes_are_refused(parts: dict[str, Any], where: int) -> None:
    """Their places in memory, as numbers of 64 bits, come round to where there are codes."""
    codes, queries = np.zeros((2, 1, 16, 2), np.int8), np.zeros((1, 1, 2), np.int16)
    results = [np.zeros((1, 3), np.int32) for _ in range(2)]
    for begin in (where, where - 1):
        with pytest.raises(ValueError, match="do not fit together"):
            parts["_looking"].scan(codes, 32, queries, begin, where, *results)


@pytest.mark.parametrize("ends", [[5, -(1 << 63)], [-(1 << 63), 5], [(1 << 63) - 1, 5]])
def test_rows_that_end_anywhere_are_refused(parts: dict[str, Any], ends: list[int]) -> None:
    steps, values = np.ones(5, np.uint8), np.ones(5, np.int8)
    with pytest.raises(ValueError, match="do not fit together"):
        parts["_chosen"].sparse_products(
            (steps,),
            (values,),
            (np.array(ends),),
            np.array([1]),
            np.ones(9, np.int8),
            np.zeros(1, np.float32),
        )


@pytest.mark.parametrize("size", [0, -1, 1 << 60, (1 << 63) - 1])
def test_sizes_of_a_network_beyond_all_memory_are_refused(parts: dict[str, Any], size: int) -> None:
    none, whole = np.zeros(0, np.float32), np.zeros(0, np.int64)
    for sizes in ((size, 1), (1, size)):
        with pytest.raises(ValueError, match="sizes above 0"):
            parts["_fused"].pooled("plain", *sizes, whole, whole, *[none] * 10)
    with pytest.raises(ValueError, match="a size above 0"):
        parts["_fused"].multiply("plain", none, size, none, none)
