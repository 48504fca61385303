"""Split a corpus by author into train, dev and test, with nothing of one in another.

An author's part is decided by a hash of seed and name, independent of the order of
the files. The documents are read twice, first for their labels and hashes and then
to be copied; in between, texts that are in two parts under two names are removed
from the earlier one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, TextIO

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.errors import InputError, OptionError
from adhominem.pairs.passages import Duplicate, Fingerprint, find_duplicates, fingerprint
from adhominem.paper.sampling import draw_epoch
from adhominem.records import Options, Seed, Share, Within, with_schema
from adhominem.text.corpus import UNKNOWN_LABEL, LabelCollector, Labels
from adhominem.text.files import Document, digest_of
from adhominem.text.readers import Corpora, Source, Watch, check_names, reading, unwatched
from adhominem.text.writing import write_folder, write_whole

PARTS = ("train", "dev", "test")
NO_PART = -1  # a document that was left out


@dataclass(frozen=True, kw_only=True)
class SplitOptions(Options):
    """`shares` of the documents for train, dev and test; `topic_disjoint` is PAN 2021's setting."""

    shares: tuple[Share, Share, Share] = (0.8, 0.1, 0.1)
    topic_disjoint: bool = False
    duplicate_share: Annotated[float, Within(above=0, at_most=1)] = 0.5
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(sum(self.shares) - 1) > 1e-6:
            raise OptionError(f"the shares are {self.shares}; expected three that add up to 1")


@dataclass(frozen=True)
class PartCounts:
    """One corpus in one part: a cell of the paper's Table 1, and its fingerprint."""

    authors: int
    documents: int
    words: int
    same_author_pairs: int  # in one draw of the paper's algorithms
    different_author_pairs: int
    sha256: str  # of all documents, independent of the order of the files

    @property
    def pairs(self) -> int:
        return self.same_author_pairs + self.different_author_pairs


@dataclass(frozen=True)
class SplitReport:
    """The result of a split, saved as `manifest.json`."""

    options: SplitOptions
    parts: dict[str, dict[str, PartCounts]]  # part -> corpus -> counts
    totals: dict[str, PartCounts]  # part -> counts of all corpora together
    removed_duplicates: list[dict[str, object]]
    documents_left_out_for_topic: int
    duplicates_within_a_side_under_two_names: int
    skipped: list[str] = field(default_factory=list)

    def table(self) -> tuple[list[str], list[list[str | int]]]:
        """The paper's Table 1 for these corpora: the names of its columns, and its rows."""
        corpora = list(self.parts[PARTS[0]])
        lines = {corpus: [self.parts[part][corpus] for part in PARTS] for corpus in corpora}
        if len(corpora) > 1:
            lines["all"] = [self.totals[part] for part in PARTS]
        rows: list[list[str | int]] = []
        for name, cells in lines.items():
            authors = "/".join(f"{cell.authors:,}" for cell in cells)
            documents = "/".join(f"{cell.documents:,}" for cell in cells)
            rows.append([name, *(cell.pairs for cell in cells), authors, documents])
        return ["corpus", *(f"{part} pairs" for part in PARTS), "authors", "documents"], rows

    def remarks(self) -> list[str]:
        """Remarks on what was left out and what is in doubt."""
        remarks = (
            (len(self.removed_duplicates), "copies of a text in a later part were taken out"),
            (self.documents_left_out_for_topic, "documents were left out to keep topics apart"),
            (
                self.duplicates_within_a_side_under_two_names,
                "texts stand in one part twice, under two names: their labels are in doubt",
            ),
        )
        return [f"{count:,} {what}" for count, what in remarks if count]


@dataclass
class _Survey:
    """The labels, lengths and hashes that the first reading of a corpus collects."""

    labels: LabelCollector = field(default_factory=LabelCollector)
    ids: list[str] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    fingerprints: list[Fingerprint] = field(default_factory=list)

    def add(self, document: Document, corpus: str) -> None:
        self.labels.add(document, corpus)
        self.ids.append(document.id)
        self.words.append(len(document.text.split()))
        self.digests.append(digest_of(json.dumps(asdict(document), sort_keys=True)))
        self.fingerprints.append(fingerprint(document.text))


def split(
    corpora: Corpora,
    output: str | Path,
    options: SplitOptions | None = None,
    *,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> SplitReport:
    """Write OUTPUT/{train,dev,test}/CORPUS.jsonl.zst and OUTPUT/manifest.json."""
    options = options or SplitOptions()
    with (
        reading(corpora, "splitting", watch, times=2) as sources,
        write_folder(Path(output)) as folder,  # before anything is read: it may refuse
    ):
        check_names(sources)
        survey = _Survey()
        for source in sources:
            for document in source.documents(skipped=skipped):
                survey.add(document, source.name)
        labels = survey.labels.labels()
        parts = assign_parts(labels, options)
        left_out = int((parts == NO_PART).sum())
        duplicates = find_duplicates(survey.fingerprints, options.duplicate_share)
        cluster = _clusters(len(parts), duplicates)
        removed = _remove_across(parts, cluster, duplicates)
        count = partial(_count, labels=labels, survey=survey, seed=options.seed)
        counts: dict[str, dict[str, PartCounts]] = {}
        for part, name in enumerate(PARTS):
            within = {corpus: labels.corpus == at for at, corpus in enumerate(labels.corpus_names)}
            counts[name] = {
                corpus: count((parts == part) & in_it) for corpus, in_it in within.items()
            }
        report = SplitReport(
            options,
            counts,
            {name: count(parts == part) for part, name in enumerate(PARTS)},
            [
                {"id": survey.ids[gone], "duplicate_of": survey.ids[kept], "share": share}
                for gone, kept, share in removed
            ],
            left_out,
            _count_two_names(parts, labels, cluster),
            [str(error) for error in skipped or ()],
        )
        _copy(sources, folder, parts)
        with write_whole(folder / "manifest.json") as file:
            file.write(json.dumps(with_schema(report), indent=2, ensure_ascii=False) + "\n")
    return report


def assign_parts(labels: Labels, options: SplitOptions) -> IntArray:
    """The part (documents,) of each document, or NO_PART if topic and author differ.

    For disjoint topics, authors and topics are each assigned a part, and a document
    stays if both agree or it has no topic. The authors are distributed so that the
    remaining documents have the requested shares.
    """
    shares = np.array(options.shares)  # (parts,)
    # Roots: the remainder of a part is its share of topics times its share of authors.
    topic_shares = np.sqrt(shares) / np.sqrt(shares).sum()
    known = labels.topic != UNKNOWN_LABEL
    author_part = np.full(len(labels.author_names), NO_PART, dtype=np.int64)
    home = _home_corpus(labels)
    for corpus in np.unique(home):  # by corpus, so that small ones get their share, too
        authors = np.flatnonzero(home == corpus)
        counts = np.bincount(labels.author, minlength=len(author_part))[authors]
        author_shares = shares
        if options.topic_disjoint:
            stay = 1 - known[np.isin(labels.author, authors)].mean() * (1 - topic_shares)
            author_shares = np.divide(shares, stay, out=np.zeros(len(PARTS)), where=shares > 0)
            author_shares /= author_shares.sum()
        names = [labels.author_names[author] for author in authors]
        key = f"{options.seed}/author"
        author_part[authors] = _parts_by_hash(names, counts, author_shares, key)
    parts = author_part[labels.author]
    if options.topic_disjoint:
        counts = np.bincount(labels.topic[known], minlength=len(labels.topic_names))
        key = f"{options.seed}/topic"
        topic_part = _parts_by_hash(labels.topic_names, counts, topic_shares, key)
        agree = ~known
        agree[known] = topic_part[labels.topic[known]] == parts[known]
        parts = np.where(agree, parts, NO_PART)
    for part, (name, share) in enumerate(zip(PARTS, options.shares, strict=True)):
        if share > 0 and not (parts == part).any():
            raise OptionError(
                f"{len(labels.author_names)} authors"
                f"{f' and {len(labels.topic_names)} topics' if options.topic_disjoint else ''} "
                f"are too few to give {name} a share of {share}; add authors, or change --shares"
            )
    return parts


def _home_corpus(labels: Labels) -> IntArray:
    """The corpus (authors,) of each author; if there are several, the first by name."""
    rank = np.argsort(np.argsort(labels.corpus_names))  # corpus -> place in the alphabet
    home = np.full(len(labels.author_names), len(rank), dtype=np.int64)
    np.minimum.at(home, labels.author, rank[labels.corpus])
    return home


def _parts_by_hash(
    names: Sequence[str], counts: IntArray, shares: FloatArray, key: str
) -> IntArray:
    """The part (names,) of each name; the middle of its documents, in hash order, decides."""
    hashes = [digest_of(f"{key}/{name}") for name in names]
    order = np.array(sorted(range(len(names)), key=lambda index: hashes[index]), dtype=np.int64)
    ends = np.cumsum(counts[order])
    middles = (ends - counts[order] / 2) / max(1, ends[-1] if len(ends) else 0)
    parts = np.empty(len(names), dtype=np.int64)
    borders = np.cumsum(shares)[:-1]
    parts[order] = np.searchsorted(borders, middles, side="right")
    return parts


def _clusters(count: int, duplicates: Sequence[Duplicate]) -> IntArray:
    """The cluster (documents,) of each document: copies, and copies of copies, share one."""
    cluster = list(range(count))

    def root(index: int) -> int:
        while cluster[index] != index:
            cluster[index] = cluster[cluster[index]]
            index = cluster[index]
        return index

    for pair in duplicates:
        cluster[root(pair.second)] = root(pair.first)
    return np.array([root(index) for index in range(count)], dtype=np.int64)


def _remove_across(
    parts: IntArray, cluster: IntArray, duplicates: Sequence[Duplicate]
) -> list[tuple[int, int, float | None]]:
    """Remove copies from all parts but the last that has one; return (removed, kept, share).

    Texts removed from train by mistake cost little, but copies that stay make dev and
    test look better than they are. The share is None for the copy of a copy.
    """
    last = np.full(len(parts), NO_PART)  # (clusters,)
    np.maximum.at(last, cluster, parts)
    kept = {int(cluster[index]): index for index in np.flatnonzero(parts == last[cluster])[::-1]}
    share = {(pair.first, pair.second): round(pair.share, 3) for pair in duplicates}
    removed = []
    for index in np.flatnonzero((parts != NO_PART) & (parts < last[cluster])):
        other = kept[int(cluster[index])]
        pair = (int(min(index, other)), int(max(index, other)))
        removed.append((int(index), int(other), share.get(pair)))
        parts[index] = NO_PART
    return removed


def _count_two_names(parts: IntArray, labels: Labels, cluster: IntArray) -> int:
    """The number of texts that stay in one part under two names, with labels in doubt."""
    here = parts != NO_PART
    names = np.unique(np.stack([cluster[here], labels.author[here]], axis=1), axis=0)
    return int((np.bincount(names[:, 0]) > 1).sum())


def _count(chosen: BoolArray, labels: Labels, survey: _Survey, seed: int) -> PartCounts:
    """The numbers of authors, documents, words and pairs of some documents, and their hash."""
    documents = np.flatnonzero(chosen)
    pairs = draw_epoch(labels.select(documents), seed=seed, epoch=0)
    content = b"".join(sorted(survey.digests[index] for index in documents))
    return PartCounts(
        len(np.unique(labels.author[documents])),
        len(documents),
        sum(survey.words[index] for index in documents),
        pairs.same_author_count,
        pairs.different_author_count,
        sha256(content).hexdigest(),
    )


def _copy(sources: Sequence[Source], folder: Path, parts: IntArray) -> None:
    """Copy each document to its part in a second reading, which skips what the first skipped."""
    for name in PARTS:
        (folder / name).mkdir()
    part_of = iter(parts.tolist())
    for source in sources:
        with ExitStack() as stack:
            files: dict[int, TextIO] = {}  # no empty files, which readers refuse
            for document in source.documents(skipped=[]):
                part = next(part_of)
                if part == NO_PART:
                    continue
                if part not in files:
                    path = folder / PARTS[part] / f"{source.name}.jsonl.zst"
                    files[part] = stack.enter_context(write_whole(path))
                files[part].write(json.dumps(asdict(document), ensure_ascii=False) + "\n")
