"""The LEVs of a corpus as a table: for clustering, search, or a classifier of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.errors import InputError, MissingExtraError, NotFoundError, OptionError
from adhominem.jobs.inputs import Corpora, Watch, reading, unwatched
from adhominem.jobs.workers import encoder
from adhominem.text.document import Document
from adhominem.text.inputs import noting_inputs
from adhominem.text.readers import stop_or_skip
from adhominem.text.writing import replaced_file
from adhominem.verify.verifier import load

Lev = npt.NDArray[np.float32]

Row = tuple[str, Document, Lev]  # the corpus, the text, its LEV

_LABELS = ("corpus", "author", "topic", "work", "id")
_DOCUMENTS_AT_ONCE = 512


@dataclass(frozen=True)
class EncodedCorpus:
    """The table of LEVs that was written."""

    output: Path
    documents: int
    lev_size: int


def encode(
    model: str | Path,
    corpora: Corpora,
    output: str | Path,
    *,
    jobs: int = 1,
    device: str = "cpu",
    force: bool = False,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> EncodedCorpus:
    """Write the LEV of every text to a .parquet file, row group by row group, or to a .npz file.

    Where not a single text can be read, that is an error, and what was there stays; with `force`
    a table without rows is written.
    """
    output = Path(output)
    verifier = load(model, device=device)
    with (
        noting_inputs(),
        replaced_file(output) as partial,
        _table(partial, output.suffix.lower(), verifier.lev_size) as table,
        encoder(model, verifier, jobs, device) as run,
        reading(corpora, "encoding", watch) as (sources, on_bytes),
    ):
        documents = 0
        texts = (
            (source.name, document)
            for source in sources
            for document in source.documents(
                author_required=False, skipped=skipped, on_bytes=on_bytes
            )
        )
        while batch := list(islice(texts, _DOCUMENTS_AT_ONCE)):
            levs = run([document for _, document in batch])
            rows = [
                lev if isinstance(lev, InputError) else (*labelled, lev)
                for labelled, lev in zip(batch, levs, strict=True)
            ]
            good = list(stop_or_skip(rows, skipped))
            table.add(good)
            documents += len(good)
        if not documents and not force:
            raise NotFoundError(
                "no text can be read here; expected one or more, or --force for an empty table",
                sources[0].path if sources else None,
            )
    return EncodedCorpus(output, documents, verifier.lev_size)


@contextmanager
def _table(path: Path, suffix: str, lev_size: int) -> Iterator[_Npz | _Parquet]:
    """The table in the format that the ending stands for."""
    if suffix not in (".npz", ".parquet"):
        raise OptionError(f"the output ends in '{suffix}'; expected .parquet or .npz")
    table = _Npz(path) if suffix == ".npz" else _Parquet(path, lev_size)
    try:
        yield table
    finally:
        table.close()


class _Npz:
    """NumPy's own format: all in memory until the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: dict[str, list[Any]] = {name: [] for name in (*_LABELS, "lev")}

    def add(self, rows: Sequence[Row]) -> None:
        for corpus, document, lev in rows:
            for name, value in _labels(corpus, document).items():
                self._columns[name].append(value)
            self._columns["lev"].append(lev.astype(np.float32))

    def close(self) -> None:
        with open(self._path, "wb") as file:
            columns = {name: np.array(values) for name, values in self._columns.items()}
            np.savez(file, **columns)  # type: ignore[arg-type]


class _Parquet:
    """A row group a batch: memory stays bounded."""

    def __init__(self, path: Path, lev_size: int) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise MissingExtraError("pyarrow", "parquet", "a .parquet file") from None
        self._arrow = pyarrow
        strings = [(name, pyarrow.string()) for name in _LABELS]
        vector = pyarrow.list_(pyarrow.float32(), lev_size)
        self._schema = pyarrow.schema([*strings, ("lev", vector)])
        self._writer = parquet.ParquetWriter(path, self._schema)

    def add(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        labels = [_labels(corpus, document) for corpus, document, _ in rows]
        levs = np.concatenate([lev for _, _, lev in rows]).astype(np.float32)
        columns = [self._arrow.array([row[name] for row in labels]) for name in _LABELS]
        vector = self._schema.field("lev").type
        columns.append(self._arrow.FixedSizeListArray.from_arrays(levs, type=vector))
        self._writer.write_table(self._arrow.table(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _labels(corpus: str, document: Document) -> dict[str, str]:
    names = {name: getattr(document, name) for name in _LABELS if name != "corpus"}
    return {"corpus": corpus, **names}
