"""Data made from corpora: what `adhominem prepare`, `split`, `pairs`, `encode` and `attention` do.

A .npz file holds the nonzero numbers of LEVs, as SciPy's CSR matrices do:

    lev_values  (numbers,)        the numbers of all LEVs, one LEV after another
    lev_places  (numbers,)        the index of each number in its LEV
    lev_starts  (documents + 1,)  the start of each LEV, and the end of the last
    lev_size    ()                the length of a LEV, zeros included

Files of older versions hold plain LEVs, `lev` (documents, lev_size).

A token's attention is that of its window times that of the token in it. If a network looked at all
tokens alike, a word would get attention by its frequency. The *ratio* says how much more it gets.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray, Levs, SparseRows, joined
from adhominem.errors import InputError, MissingExtraError, NotFoundError, OptionError
from adhominem.evaluation.measures import Leak, check_leaks
from adhominem.pairs.cases import write_pair_set
from adhominem.paper.runtime import NetworkOutput
from adhominem.paper.sampling import PairOptions
from adhominem.statistics import student_quantile
from adhominem.text.files import Document, note_input, noting_inputs
from adhominem.text.readers import Corpora, Watch, reading, unwatched
from adhominem.text.streams import stop_or_skip
from adhominem.text.writing import locked, replaced_file
from adhominem.verify.verifier import load

# For each word: its tokens, its documents, its attention, the attention its frequency explains and,
# for the interval, the squares of these two, and their product.
Sums = FloatArray

_FEWEST_DOCUMENTS = 5  # that must contain a word: a ratio from fewer says more about the texts


@dataclass(frozen=True)
class WordAttention:
    """How much attention a token type gets in a corpus."""

    word: str
    tokens: int  # as the network that counts most of them has it
    documents: int  # that contain it
    ratio: float  # of its attention to what its frequency explains
    low: float  # 95 % interval of the ratio, over documents
    high: float


@dataclass(frozen=True)
class CorpusAttention:
    """The words of a corpus that occur in several documents, the highest ratio first."""

    model: str
    documents: int
    tokens: int
    words: tuple[WordAttention, ...]


def attention_of(
    model: str | Path,
    corpora: Corpora,
    *,
    fewest_documents: int = _FEWEST_DOCUMENTS,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> CorpusAttention:
    """The words of corpora that get more or less attention than their frequency explains.

    Documents that cannot be read are appended to `skipped`; without it, the first of them raises.
    """
    verifier = load(model)
    networks = verifier.networks_with_attention()
    sums: dict[str, Sums] = defaultdict(lambda: np.zeros(7))
    documents = tokens = 0
    with reading(corpora, "reading", watch) as sources:
        for document in chain.from_iterable(
            source.documents(author_required=False, skipped=skipped) for source in sources
        ):
            attended = []  # the tokens that each network sees, and their weights
            for member in networks:
                words = member.tokenizer.tokens(document.text)
                encoded = member.attend(document, words) if words else None
                if encoded is not None:
                    attended.append((words, token_weights(encoded, len(words))))
            if not attended:
                continue
            _add(sums, attended)
            documents += 1
            tokens += max(len(words) for words, _ in attended)
    if not documents:
        raise NotFoundError("no text in the corpus; expected at least one")
    rows = [_word(word, of) for word, of in sums.items() if of[1] >= fewest_documents]
    rows.sort(key=lambda row: (-row.ratio, row.word))
    return CorpusAttention(verifier.name, documents, tokens, tuple(rows))


def token_weights(encoded: NetworkOutput, tokens: int) -> FloatArray:
    """(tokens,): the share of a document's attention that each token got, among the tokens read.

    Tokens in two overlapping windows get the sum of both shares; attention to the contextual prefix
    is left out.
    """
    weights = np.zeros(tokens)
    rows = zip(
        encoded.window_attention[0],
        encoded.token_attention[:, 1:],
        encoded.windows.starts,
        encoded.windows.counts,
        strict=True,
    )
    for of_window, row, start, count in rows:
        weights[start : start + count] += float(of_window) * row[:count]
    return np.asarray(weights / max(float(weights.sum()), 1e-300))


def _add(sums: dict[str, Sums], attended: Sequence[tuple[list[str], FloatArray]]) -> None:
    """Add a document: the mean over networks of each word's attention, observed and expected.

    Networks may normalise texts differently, and then do not see the same words.
    """
    means: dict[str, tuple[int, float, float]] = {}
    for tokens, weights in attended:
        token_types, index, times = np.unique(tokens, return_inverse=True, return_counts=True)
        attention = np.bincount(index, weights) / len(attended)
        even = times / len(tokens) / len(attended)
        columns = zip(token_types.tolist(), times.tolist(), attention, even, strict=True)
        for token_type, count, share, expected in columns:
            before = means.get(token_type, (0, 0.0, 0.0))
            means[token_type] = max(before[0], count), before[1] + share, before[2] + expected
    for token_type, (count, share, expected) in means.items():
        sums[token_type] += (count, 1, share, expected, share**2, expected**2, share * expected)


def _word(word: str, sums: Sums) -> WordAttention:
    """A word's ratio of two sums over documents, with its interval by the delta method, in logs.

    The interval is based on Student's t, since there are few documents. It is still too narrow
    where a word's ratio varies much between documents: with 5 documents it covers about 90 %, not
    95. A word that occurs in one document has no spread, and its interval is infinite.
    """
    tokens, documents, attention, even, squares, even_squares, products = sums.tolist()
    ratio = attention / even
    rest = squares - 2 * ratio * products + ratio**2 * even_squares
    free = int(documents) - 1
    low, high = 0.0, float("inf")
    if free:
        spread = max(0.0, rest * documents / free) ** 0.5 / even
        # A word of two documents may get an exponent beyond any number.
        factor = float(np.exp(min(700.0, student_quantile(free) * spread / max(ratio, 1e-300))))
        low, high = ratio / factor, ratio * factor
    return WordAttention(word, int(tokens), int(documents), ratio, low, high)


Row = tuple[str, Document, Levs]  # the corpus, the text, its LEV
Write = Callable[[Sequence[Row]], None]

_AT_ONCE = 256  # documents whose LEVs are unpacked
_LABELS = ("corpus", "author", "topic", "work", "id")


@dataclass(frozen=True)
class DrawnPairSet:
    """A pair set that was drawn and written, and how far shallow properties reveal its labels."""

    pairs: int
    same_author: int
    different_authors: int
    leaks: tuple[Leak, ...]

    def to_json(self) -> dict[str, Any]:
        """The counts, and the leaks by name."""
        leaks = {leak.name: {"auc": leak.auc, "leaks": leak.leaks} for leak in self.leaks}
        return {**vars(self), "leaks": leaks}


def pair_files(
    corpora: Corpora,
    output: str | Path,
    *,
    count: int | None = None,
    balanced: bool = False,
    same_author_across: str | None = None,
    different_authors_within: str | None = None,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> DrawnPairSet:
    """Draw a fixed set of pairs from corpora, write it in PAN's format, and check it for leaks.

    The options are those of `PairOptions`; at most `count` pairs are written.
    """
    options = PairOptions(
        balanced=balanced,
        same_author_across=same_author_across or "",
        different_authors_within=different_authors_within or "",
    )
    written = write_pair_set(
        corpora, output, options, seed=seed, count=count, skipped=skipped, watch=watch
    )
    drawn = written.pairs
    leaks = check_leaks(
        same_author=drawn.same_author,
        same_topic=written.same_topic,
        first_length=written.words[drawn.first],
        second_length=written.words[drawn.second],
    )
    return DrawnPairSet(
        len(drawn), drawn.same_author_count, drawn.different_author_count, tuple(leaks)
    )


@dataclass(frozen=True)
class EncodedTable:
    """The table of LEVs that was written."""

    output: Path
    documents: int
    lev_size: int


def encode(
    model: str | Path,
    corpora: Corpora,
    output: str | Path,
    *,
    jobs: int | None = 1,
    device: str = "cpu",
    engine: str = "local",
    force: bool = False,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> EncodedTable:
    """Write the LEV of every text to a .parquet file, row group by row group, or to a .npz file.

    If no text at all can be read, this raises and leaves any earlier file in place; with `force`,
    an empty table is written. With the `engine` `ray`, texts are encoded on a Ray cluster.
    """
    from adhominem.jobs.workers import encoded_batches, encoder_on
    from adhominem.verify.verifier import load

    output = Path(output)
    verifier = load(model, device=device)
    suffix = output.suffix.lower()
    table = {".npz": _npz_table, ".parquet": _parquet_table}.get(suffix)
    if table is None:
        raise OptionError(f"the output ends in '{suffix}'; expected .parquet or .npz")
    with (
        noting_inputs(),
        locked(output),  # before the shards beside it are touched
        encoder_on(engine, model, verifier, jobs, device, output) as run,
        replaced_file(output) as partial,
        table(partial, verifier.lev_size) as write,
        reading(corpora, "encoding", watch) as sources,
    ):
        documents = 0
        names: deque[str] = deque()  # of the corpora, for texts that are being encoded

        def texts() -> Iterator[Document]:
            for source in sources:
                for document in source.documents(author_required=False, skipped=skipped):
                    names.append(source.name)
                    yield document

        for batch in encoded_batches(texts(), run):
            labelled = ((names.popleft(), *encoded) for encoded in batch)
            rows: Iterator[Row | InputError] = (
                lev if isinstance(lev, InputError) else (name, document, lev)
                for name, document, lev in labelled
            )
            good = list(stop_or_skip(rows, skipped))
            write(good)
            documents += len(good)
        if not documents and not force:
            raise NotFoundError(
                "no text can be read here; expected one or more, or --force for an empty table",
                sources[0].path if sources else None,
            )
    return EncodedTable(output, documents, verifier.lev_size)


@contextmanager
def _npz_table(path: Path, lev_size: int) -> Iterator[Write]:
    """A writer of NumPy's own format, which holds all LEVs in memory until the end."""
    labels: list[tuple[str, ...]] = []
    levs = [Levs(())]

    def write(rows: Sequence[Row]) -> None:
        labels.extend(_labels(corpus, document) for corpus, document, _ in rows)
        levs.append(joined([Levs(()), *(lev for _, _, lev in rows)]))

    yield write
    columns = dict(
        zip(_LABELS, np.array(labels, dtype=str).reshape(-1, len(_LABELS)).T, strict=True)
    )
    with open(path, "wb") as file:
        np.savez(file, **columns, **arrays_of(joined(levs), lev_size))  # type: ignore[arg-type]


def arrays_of(levs: Levs, lev_size: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a .npz file that store LEVs (documents, lev_size)."""
    parts = [
        SparseRows.of(np.asarray(levs[at : at + _AT_ONCE])) for at in range(0, len(levs), _AT_ONCE)
    ]
    rows = joined(parts or [SparseRows.of(np.zeros((0, lev_size), np.float32))])
    return {
        "lev_values": rows.values,
        "lev_places": rows.places,
        "lev_starts": np.concatenate([np.zeros(1, np.int64), rows.ends]),
        "lev_size": np.array(lev_size),
    }


def read_levs(path: str | Path) -> Levs:
    """The LEVs (documents, lev_size) of a .npz file that `adhominem encode` has written."""
    note_input(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            if "lev" in file:
                return Levs((file["lev"],))
            starts, size = file["lev_starts"], int(file["lev_size"])
            places, values = file["lev_places"], file["lev_values"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"no LEVs can be read here ({error}); expected a .npz file", path
        ) from None
    rising = starts.ndim == 1 and len(starts) and not starts[0] and (np.diff(starts) >= 0).all()
    if not rising or not len(places) == len(values) == starts[-1] or (places >= size).any():
        raise InputError("the LEVs do not fit together; encode the texts again", path)
    return Levs((SparseRows.of_counts(np.diff(starts), places, values, size),))


@contextmanager
def _parquet_table(path: Path, lev_size: int) -> Iterator[Write]:
    """A writer of one row group per batch, so that memory stays bounded."""
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
                labels = zip(*(_labels(corpus, text) for corpus, text, _ in rows), strict=True)
                levs = joined([lev for _, _, lev in rows]).astype(np.float32).reshape(-1)
                columns = [pyarrow.array(column) for column in labels]
                columns.append(pyarrow.FixedSizeListArray.from_arrays(levs, type=vector))
                writer.write_table(pyarrow.table(columns, schema=schema))

        yield write


def _labels(corpus: str, document: Document) -> tuple[str, ...]:
    return (corpus, *(getattr(document, name) for name in _LABELS[1:]))
