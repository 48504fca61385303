"""PAN's files before the paper's experiment: what is wrong with them, and what the work will cost.

What cannot be used is an error, with all its places; what can, but makes results doubtful, is a
remark. Each names file and line.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adhominem.errors import AdHominemError, InputError, NotFoundError, OptionError
from adhominem.jobs.run import Watch, unwatched
from adhominem.paper.config import Config
from adhominem.text.files import counting_bytes, digest_of, name_of, note_input, real_path
from adhominem.text.pan import Pair, find_truth, pairs_file
from adhominem.text.prepare import prepare
from adhominem.text.readers import Layout, Source, read_pairs

_MOST_NAMED = 3  # errors in an error
_SAMPLE = 150  # pairs to measure with
_SECONDS = 8.0  # of training, after its first step
_BACKWARD = 3  # a training step takes so many times the encoding of its texts, about


@dataclass(frozen=True)
class PairFile:
    """A set of PAN's pairs."""

    path: str
    has_truth: bool
    bytes: int = 0  # on the disk
    pairs: int = 0
    texts: int = 0  # each counted once
    characters: int = 0  # of both texts of all pairs

    def is_same(self, other: PairFile) -> bool:
        """Whether they are one file, as far as one can see without reading it."""
        return (self.path, self.bytes) == (other.path, other.bytes)


@dataclass(frozen=True)
class Inputs:
    """PAN's files: the small and the large training set, and test sets by name."""

    sizes: dict[str, PairFile]
    tests: dict[str, PairFile]
    remarks: tuple[str, ...] = ()

    @classmethod
    def find(
        cls,
        small: str | Path | None = None,
        large: str | Path | None = None,
        tests: Sequence[str | Path] = (),
    ) -> Inputs:
        """The files at these paths, or in these folders; no text is read."""
        given = {"small": small, "large": large}
        sizes = {name: _file_at(path) for name, path in given.items() if path is not None}
        if not sizes:
            raise OptionError("there is nothing to train on; expected the small set or the large")
        for size in sizes.values():
            if not size.has_truth:
                problem = "no truth is beside these pairs; expected NAME-truth.jsonl"
                raise NotFoundError(problem, size.path)
        named: dict[str, PairFile] = {}
        for path in tests:
            name = name_of(path)
            if name in (*named, "dev"):
                raise OptionError(f"a test set named '{name}', as another set is; rename it")
            named[name] = _file_at(path)
        return cls(sizes, named)

    def files(self) -> dict[str, PairFile]:
        """All files, by size or name."""
        return self.sizes | self.tests

    def only(self, others: Inputs) -> Inputs:
        """Those of these inputs that are among the others."""
        sizes, tests = (
            {name: ours[name] for name in theirs}
            for ours, theirs in ((self.sizes, others.sizes), (self.tests, others.tests))
        )
        return Inputs(sizes, tests, self.remarks)


def _file_at(path: str | Path) -> PairFile:
    file = pairs_file(real_path(path))
    if not os.path.isfile(file):
        raise NotFoundError("there is no such file; look at the name and the place", file)
    return PairFile(str(file), find_truth(file) is not None, os.path.getsize(file))


@dataclass
class _Remark:
    """One kind of doubt: how often, and where first."""

    about: str
    count: int = 0
    first: str = ""

    def add(self, *places: str) -> None:
        self.count += 1
        self.first = self.first or " and ".join(places)


def check_inputs(inputs: Inputs, watch: Watch = unwatched) -> Inputs:
    """The inputs with their numbers of pairs, and remarks; InputError if lines cannot be used."""
    errors: list[InputError] = []
    remarks: list[_Remark] = []
    trained: dict[bytes, str] = {}  # the place of each text of a training set
    checked = {}
    size = sum(file.bytes for file in inputs.files().values())
    with watch("reading", size, "bytes") as on_bytes, counting_bytes(on_bytes):
        for name, file in inputs.files().items():
            note_input(file.path)
            is_test = name in inputs.tests
            among = _Remark(f"{name}: texts that are in a training set, too")
            again = _Remark(f"{name}: pairs with the two texts of another pair")
            of_two = _Remark(f"{name}: texts under two authors' names")
            without = _Remark(f"{name}: pairs without the fandoms that others have")
            texts: dict[bytes, tuple[str, str]] = {}  # author and place
            sets: dict[bytes, str] = {}
            pairs = characters = 0
            for pair in _pairs(file, is_test, errors):
                place = ":".join(map(str, pair.place or ()))
                keys = sorted(digest_of(text.text) for text in (pair.first, pair.second))
                if (other := sets.setdefault(b"".join(keys), place)) != place:
                    again.add(place, other)
                for text in (pair.first, pair.second):
                    key = digest_of(text.text)
                    if is_test and key in trained:
                        among.add(place, trained[key])
                    author, other = texts.setdefault(key, (text.author, place))
                    if author != text.author:
                        of_two.add(place, other)
                if not (pair.first.topic and pair.second.topic):
                    without.add(place)
                pairs += 1
                characters += len(pair.first.text) + len(pair.second.text)
            if without.count == pairs:
                without.count = 0
            if not is_test:
                trained |= {key: place for key, (_, place) in texts.items()}
            remarks += [among, again, of_two, without]
            checked[name] = replace(file, pairs=pairs, texts=len(texts), characters=characters)
            if not pairs and not errors:
                raise NotFoundError("no pair can be read; expected one or more", file.path)
    if errors:
        more = f"; and {len(errors) - _MOST_NAMED:,} more" if len(errors) > _MOST_NAMED else ""
        raise InputError("; ".join(map(str, errors[:_MOST_NAMED])) + more)
    told = tuple(
        f"{remark.about}: {remark.count:,}; the first is in {remark.first}"
        for remark in remarks
        if remark.count
    )
    return Inputs(
        {name: checked[name] for name in inputs.sizes},
        {name: checked[name] for name in inputs.tests},
        told,
    )


def _pairs(file: PairFile, is_test: bool, errors: list[InputError]) -> Iterator[Pair]:
    if is_test:
        return read_pairs(file.path, skipped=errors)
    return _source_of(file).pairs(skipped=errors)  # whose authors are known


def _source_of(file: PairFile) -> Source:
    return Source(name_of(file.path), Path(file.path), Layout.PAIRS)


# What it will cost


@dataclass(frozen=True)
class PairCosts:
    """What one pair costs on this machine, as measured on the first pairs."""

    device: str
    reading: float  # seconds
    tokenizing: float  # seconds, on one core
    training: float  # seconds, in one epoch
    encoding: float  # seconds
    packed: float  # GB on the disk, and on the device
    memory: float  # GB that a step of training takes on a GPU; 0 on the CPU
    took: float = field(default=0.0)  # seconds


class _EnoughError(AdHominemError):
    """Ends a training that was started to be measured."""


def measure(inputs: Inputs, config: Config, device: str, watch: Watch = unwatched) -> PairCosts:
    """Read, tokenize and train for a few seconds, on the first pairs of the largest set."""
    from adhominem.training.train import train

    began = time.monotonic()
    sample = list(islice(_source_of([*inputs.sizes.values()][-1]).pairs(), _SAMPLE))
    reading = (time.monotonic() - began) / len(sample)
    steps: list[tuple[float, int]] = []  # when each ended, and its pairs

    def hear(event: dict[str, Any]) -> None:
        steps.append((time.monotonic(), event.get("pairs", 0)))
        if len(steps) > 1 and steps[-1][0] - steps[0][0] > _SECONDS:
            raise _EnoughError

    with watch("measuring"), TemporaryDirectory() as scratch:
        texts = Path(scratch) / "texts.jsonl"
        with open(texts, "w", encoding="utf-8") as file:
            for pair in sample:
                for text in (pair.first, pair.second):
                    file.write(json.dumps(asdict(text)) + "\n")
        at = time.monotonic()
        corpus = prepare([texts], Path(scratch) / "corpus", normaliser=config.normaliser)
        tokenizing = (time.monotonic() - at) / len(sample)
        packed = sum(file.stat().st_size for file in (Path(scratch) / "corpus").iterdir())
        at = time.monotonic()
        few = config.with_setting("training.epochs=20")
        with suppress(_EnoughError):
            train(corpus, {}, Path(scratch) / "model", config=few, device=device, on_event=hear)
    pairs = sum(pairs for _, pairs in steps[1:])  # the first step warms up
    training = (steps[-1][0] - steps[0][0]) / max(1, pairs)
    memory = 0.0
    if device.startswith("cuda"):
        import torch

        memory = torch.cuda.max_memory_allocated() / 1e9
        torch.cuda.empty_cache()
    return PairCosts(
        device,
        reading,
        tokenizing,
        training,
        training / _BACKWARD,
        packed / len(sample) / 1e9,
        memory,
        time.monotonic() - began,
    )
