"""Fixed pair sets in PAN's format: what systems are compared on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np

from adhominem.arrays import BoolArray, IntArray
from adhominem.errors import InputError, OptionError
from adhominem.paper.sampling import DrawnPairs, PairOptions, draw_epoch, why_no_pairs
from adhominem.text.corpus import UNKNOWN_LABEL, LabelCollector, Labels
from adhominem.text.readers import Source, check_names
from adhominem.text.writing import write_folder, write_whole


@dataclass(frozen=True)
class PairSet:
    """The pairs that were written, and what of them is known besides the texts."""

    pairs: DrawnPairs
    labels: Labels
    words: IntArray  # (documents,)

    @property
    def same_topic(self) -> BoolArray:
        """(pairs,): whether both documents have one and the same known topic."""
        first, second = self.labels.topic[self.pairs.first], self.labels.topic[self.pairs.second]
        return np.asarray((first == second) & (first != UNKNOWN_LABEL), dtype=bool)


class _TextStore:
    """Texts on disk, to be picked in any order: a corpus need not fit into memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._offsets = [0]

    def add(self, text: str) -> None:
        self._offsets.append(self._offsets[-1] + self._file.write(text.encode("utf-8")))

    def __getitem__(self, index: int) -> str:
        start, end = self._offsets[index : index + 2]
        self._file.seek(start)
        return self._file.read(end - start).decode("utf-8")


def write_pair_set(
    sources: Sequence[Source],
    output: str | Path,
    options: PairOptions | None = None,
    *,
    seed: int = 0,
    count: int | None = None,
    skipped: list[InputError] | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> PairSet:
    """Draw pairs once and write OUTPUT/pairs.jsonl and OUTPUT/truth.jsonl; at most `count`."""
    if count is not None and count < 1:
        raise OptionError(f"count is {count}; expected 1 or more")
    check_names(sources)
    collector = LabelCollector()
    words: list[int] = []
    with TemporaryFile() as file, write_folder(Path(output)) as folder:
        texts = _TextStore(file)
        for source in sources:
            for document in source.documents(skipped=skipped, on_bytes=on_bytes):
                collector.add(document, source.name)
                words.append(len(document.text.split()))
                texts.add(document.text)
        labels = collector.labels()
        options = options or PairOptions()
        pairs = draw_epoch(labels, seed=seed, epoch=0, options=options)
        if count is not None:
            pairs = _first(pairs, count, options)
        if not len(pairs):
            raise OptionError(
                f"{len(labels)} documents by {len(labels.author_names)} authors make no pair "
                f"under these options; {why_no_pairs(labels, options)}"
            )
        _write(folder, pairs, labels, texts)
    return PairSet(pairs, labels, np.array(words))


def _first(pairs: DrawnPairs, count: int, options: PairOptions) -> DrawnPairs:
    """At most `count` of the pairs; half of them of each label if they are to be balanced."""
    if not options.balanced:
        return pairs[:count]
    same = pairs.same_author
    place = np.where(same, np.cumsum(same), np.cumsum(~same))  # (pairs,): among its label, from 1
    return pairs[place <= count // 2]


def _write(folder: Path, pairs: DrawnPairs, labels: Labels, texts: _TextStore) -> None:
    def topic(document: int) -> str:
        index = labels.topic[document]
        return "" if index == UNKNOWN_LABEL else labels.topic_names[index]

    width = len(str(len(pairs) - 1))
    with (
        write_whole(folder / "pairs.jsonl") as pair_file,
        write_whole(folder / "truth.jsonl") as truth_file,
    ):
        columns = (pairs.first.tolist(), pairs.second.tolist(), pairs.same_author.tolist())
        for number, (first, second, same) in enumerate(zip(*columns, strict=True)):
            id = f"{labels.corpus_names[labels.corpus[first]]}-{number:0{width}}"
            fandoms, pair = [topic(first), topic(second)], [texts[first], texts[second]]
            authors = [labels.author_names[labels.author[document]] for document in (first, second)]
            row = {"id": id, "fandoms": fandoms, "pair": pair}
            truth = {"id": id, "same": same, "authors": authors}
            pair_file.write(json.dumps(row, ensure_ascii=False) + "\n")
            truth_file.write(json.dumps(truth, ensure_ascii=False) + "\n")
