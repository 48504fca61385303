"""The LEVs of a corpus as a table: for clustering, search, or a classifier of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.errors import InputError, MissingExtraError, NotFoundError, OptionError
from adhominem.jobs.inputs import Corpora, Watch, reading, unwatched
from adhominem.jobs.workers import encoder
from adhominem.text.files import Document, noting_inputs
from adhominem.text.readers import stop_or_skip
from adhominem.text.writing import replaced_file
from adhominem.verify.verifier import load

Lev = npt.NDArray[np.float32]

Row = tuple[str, Document, Lev]  # the corpus, the text, its LEV
Write = Callable[[Sequence[Row]], None]

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
        _table(partial, output.suffix.lower(), verifier.lev_size) as write,
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
            write(good)
            documents += len(good)
        if not documents and not force:
            raise NotFoundError(
                "no text can be read here; expected one or more, or --force for an empty table",
                sources[0].path if sources else None,
            )
    return EncodedCorpus(output, documents, verifier.lev_size)


def _table(path: Path, suffix: str, lev_size: int) -> AbstractContextManager[Write]:
    """The table in the format that the ending stands for."""
    if suffix == ".npz":
        return _npz_table(path)
    if suffix == ".parquet":
        return _parquet_table(path, lev_size)
    raise OptionError(f"the output ends in '{suffix}'; expected .parquet or .npz")


@contextmanager
def _npz_table(path: Path) -> Iterator[Write]:
    """NumPy's own format: all in memory until the end."""
    columns: dict[str, list[Any]] = {name: [] for name in (*_LABELS, "lev")}

    def write(rows: Sequence[Row]) -> None:
        for corpus, document, lev in rows:
            for name, value in _labels(corpus, document).items():
                columns[name].append(value)
            columns["lev"].append(lev.astype(np.float32))

    yield write
    with open(path, "wb") as file:
        np.savez(file, **{name: np.array(values) for name, values in columns.items()})  # type: ignore[arg-type]


@contextmanager
def _parquet_table(path: Path, lev_size: int) -> Iterator[Write]:
    """A row group a batch: memory stays bounded."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "a .parquet file") from None
    vector = pyarrow.list_(pyarrow.float32(), lev_size)
    schema = pyarrow.schema([*((name, pyarrow.string()) for name in _LABELS), ("lev", vector)])
    with parquet.ParquetWriter(path, schema) as writer:

        def write(rows: Sequence[Row]) -> None:
            if rows:
                labels = [_labels(corpus, document) for corpus, document, _ in rows]
                levs = np.concatenate([lev for _, _, lev in rows]).astype(np.float32)
                columns = [pyarrow.array([row[name] for row in labels]) for name in _LABELS]
                columns.append(pyarrow.FixedSizeListArray.from_arrays(levs, type=vector))
                writer.write_table(pyarrow.table(columns, schema=schema))

        yield write


def _labels(corpus: str, document: Document) -> dict[str, str]:
    names = {name: getattr(document, name) for name in _LABELS if name != "corpus"}
    return {"corpus": corpus, **names}
