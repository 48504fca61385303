"""The LEVs of a corpus as a table: for clustering, search, or a classifier of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.errors import InputError, MissingExtraError, NotFoundError, OptionError
from adhominem.jobs.workers import encoder
from adhominem.text.files import Document, noting_inputs
from adhominem.text.readers import Source
from adhominem.text.writing import replaced_file
from adhominem.verify.verifier import load

Lev = npt.NDArray[np.float32]

Row = tuple[str, Document, Lev]  # the corpus, the text, its LEV

_LABELS = ("corpus", "author", "topic", "work", "id")
_DOCUMENTS_AT_ONCE = 512


@dataclass(frozen=True)
class EncodedCorpus:
    """What was written."""

    documents: int
    lev_size: int


def encode(
    model: str | Path,
    sources: Sequence[Source],
    output: str | Path,
    *,
    jobs: int = 1,
    device: str = "cpu",
    force: bool = False,
    skipped: list[InputError] | None = None,
    on_bytes: Callable[[int], None] | None = None,
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
    ):
        documents = 0
        rows = _rows(sources, skipped, on_bytes)
        while some := list(islice(rows, _DOCUMENTS_AT_ONCE)):
            good = []
            for (corpus, document), lev in zip(some, run([each for _, each in some]), strict=True):
                if isinstance(lev, InputError):
                    if skipped is None:
                        raise lev
                    skipped.append(lev)
                else:
                    good.append((corpus, document, lev))
            table.add(good)
            documents += len(good)
        if not documents and not force:
            raise NotFoundError(
                "no text can be read here; expected one or more, or --force for an empty table",
                sources[0].path if sources else None,
            )
    return EncodedCorpus(documents, verifier.lev_size)


def _rows(
    sources: Sequence[Source],
    skipped: list[InputError] | None,
    on_bytes: Callable[[int], None] | None,
) -> Iterator[tuple[str, Document]]:
    for source in sources:
        documents = source.documents(author_required=False, skipped=skipped, on_bytes=on_bytes)
        for document in documents:
            yield source.name, document


@contextmanager
def _table(path: Path, suffix: str, lev_size: int) -> Iterator[_Npz | _Parquet]:
    """The table of this genre."""
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
            columns = {name: np.array(found) for name, found in self._columns.items()}
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
