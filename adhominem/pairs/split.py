"""Split a corpus by author, or PAN's pairs, into train, dev and test; no text is in two parts.

An author's part is decided by a hash of seed and name, a pair's by one of seed and id,
independent of the order of the files. The documents are read twice, first for their labels and
hashes and then to be copied; in between, texts that are in two parts are removed from the earlier
one. Only hashes are kept in memory, no texts.

By pairs, as in the paper, dev and test keep PAN's pairs as they are, and may share authors (and
with one another, texts). Train gets the texts of the other pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, TextIO

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.pairs.cases import pair_writer
from adhominem.pairs.passages import Duplicate, Fingerprint, find_duplicates, fingerprints
from adhominem.paper.sampling import draw_epoch
from adhominem.records import OneOf, Options, Seed, Share, Within, with_schema
from adhominem.text.corpus import UNKNOWN_LABEL, LabelCollector, Labels
from adhominem.text.files import Document, digest_of
from adhominem.text.pan import Pair, find_truth
from adhominem.text.readers import Corpora, Layout, Source, Watch, check_names, reading, unwatched
from adhominem.text.sentences import count_words
from adhominem.text.writing import write_folder, write_whole

PARTS = ("train", "dev", "test")
NO_PART = -1  # a document that was left out


@dataclass(frozen=True, kw_only=True)
class SplitOptions(Options):
    """`shares` of the documents, or pairs, for train, dev and test.

    `by` author is an open set, `by` pairs the paper's; `topic_disjoint` is PAN 2021's setting.
    """

    by: Annotated[str, OneOf("author", "pairs")] = "author"
    shares: tuple[Share, Share, Share] = (0.8, 0.1, 0.1)
    topic_disjoint: bool = False
    duplicate_share: Annotated[float, Within(above=0, at_most=1)] = 0.5
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(sum(self.shares) - 1) > 1e-6:
            raise OptionError(f"the shares are {self.shares}; expected three that add up to 1")
        if self.by == "pairs" and self.topic_disjoint:
            raise OptionError("pairs have two topics; expected topic_disjoint with by=author alone")


@dataclass(frozen=True)
class PartCounts:
    """One corpus in one part: a cell of the paper's Table 1, and its fingerprint."""

    authors: int
    documents: int
    words: int
    same_author_pairs: int  # in one draw of the paper's algorithms; by pairs, PAN's own
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
    train_pairs_that_lost_texts: int = 0  # by pairs
    doubts: list[str] = field(default_factory=list)
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
            (self.train_pairs_that_lost_texts, "of the train pairs lost a text, or both, by that"),
            (self.documents_left_out_for_topic, "documents were left out to keep topics apart"),
        )
        return [f"{count:,} {what}" for count, what in remarks if count] + self.doubts


@dataclass
class _Survey:
    """The labels, lengths and hashes that the first reading of a corpus collects."""

    labels: LabelCollector = field(default_factory=LabelCollector)
    ids: list[str] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    fingerprints: list[Fingerprint] = field(default_factory=list)

    pairs: list[tuple[str, bool]] = field(default_factory=list)  # by pairs: id, same author
    without_fandoms: list[str] = field(default_factory=list)  # the places of these pairs

    def add(self, document: Document, corpus: str, *, whole: bool = False) -> None:
        self.labels.add(document, corpus)
        self.ids.append(document.id)
        self.words.append(count_words(document.text))
        self.digests.append(digest_of(json.dumps(_row(document), sort_keys=True)))
        self.fingerprints += fingerprints([document.text], whole=whole)

    def add_pair(self, pair: Pair, corpus: str) -> None:
        """Add both documents of pair i, as 2i and 2i + 1; only whole copies of them will count."""
        self.pairs.append((pair.id, bool(pair.same_author)))
        for document in (pair.first, pair.second):
            self.add(document, corpus, whole=True)
        if not (pair.first.topic and pair.second.topic):
            self.without_fandoms.append(":".join(map(str, pair.place or ())))


def split(
    corpora: Corpora,
    output: str | Path,
    options: SplitOptions | None = None,
    *,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> SplitReport:
    """Write OUTPUT/{train,dev,test}/CORPUS.jsonl.zst and OUTPUT/manifest.json.

    By pairs, dev and test are in PAN's format: OUTPUT/dev/pairs.jsonl with its truth.jsonl.
    """
    options = options or SplitOptions()
    with (
        reading(corpora, "splitting", watch, times=2) as sources,
        write_folder(Path(output)) as folder,  # before anything is read: it may refuse
    ):
        check_names(sources)
        survey, by_pairs = _Survey(), options.by == "pairs"
        if by_pairs:
            for pair in _pair_set(sources).pairs(skipped=skipped):
                survey.add_pair(pair, sources[0].name)
        else:
            for source in sources:
                for document in source.documents(skipped=skipped):
                    survey.add(document, source.name)
        labels = survey.labels.labels()
        pair_parts = _parts_of_pairs(survey, options)  # (pairs,)
        parts = np.repeat(pair_parts, 2) if by_pairs else assign_parts(labels, options)
        left_out = int((parts == NO_PART).sum())
        duplicates = find_duplicates(survey.fingerprints, options.duplicate_share)
        cluster = _clusters(len(parts), duplicates)
        removed = _remove_across(parts, cluster, duplicates, 1 if by_pairs else len(PARTS))
        two_names = _under_two_names(0 * parts if by_pairs else parts, labels, cluster)
        again = _repeated(parts, labels, cluster)
        if by_pairs:
            parts[again] = NO_PART
            _check_parts(parts, options, f"{len(survey.pairs)} pairs", "pairs")
        same_author = np.array([same for _, same in survey.pairs], dtype=bool)  # (pairs,)
        count = partial(_count, labels=labels, survey=survey, seed=options.seed)
        within = {corpus: labels.corpus == at for at, corpus in enumerate(labels.corpus_names)}
        counts: dict[str, dict[str, PartCounts]] = {}
        totals: dict[str, PartCounts] = {}
        for part, name in enumerate(PARTS):
            of_pairs = same_author[pair_parts == part] if by_pairs else None
            counts[name] = {
                corpus: count((parts == part) & in_it, same_author=of_pairs)
                for corpus, in_it in within.items()
            }
            totals[name] = count(parts == part, same_author=of_pairs)
        report = SplitReport(
            options,
            counts,
            totals,
            [
                {"id": survey.ids[gone], "duplicate_of": survey.ids[kept], "share": share}
                for gone, kept, share in removed
            ],
            left_out,
            len(two_names),
            len({gone // 2 for gone, _, _ in removed}) if by_pairs else 0,
            _doubts(survey, two_names, again, cluster),
            [str(error) for error in skipped or ()],
        )
        if by_pairs:
            _copy_pairs(sources[0], folder, pair_parts, parts == 0)
        else:
            _copy(sources, folder, parts)
        with write_whole(folder / "manifest.json") as file:
            file.write(json.dumps(with_schema(report), indent=2, ensure_ascii=False) + "\n")
    return report


def _pair_set(sources: Sequence[Source]) -> Source:
    """The one PAN set to split by pairs, which must have a truth."""
    source = sources[0]
    if len(sources) > 1 or source.layout is not Layout.PAIRS:
        what = f"{len(sources)} corpora" if len(sources) > 1 else source.layout.value
        raise OptionError(
            f"a split by pairs takes one set of PAN 2020 or 2021, not {what}; give its file of "
            "pairs, or split by author"
        )
    if find_truth(source.path) is None:
        problem = "no truth is beside these pairs; expected truth.jsonl, or NAME-truth.jsonl"
        raise NotFoundError(problem, source.path)
    return source


def shared_texts(corpora: Corpora, others: Corpora, *, watch: Watch = unwatched) -> list[str]:
    """The ids of the documents in `others`, such as a test set, that are in the corpora, too.

    Texts are compared by hashes of their letters; what cannot be read is passed over.
    """

    def hashes(corpora: Corpora) -> Iterator[tuple[bytes, str]]:
        with reading(corpora, "comparing texts", watch) as sources:
            for source in sources:
                for text in source.documents(author_required=False, labelled=False, skipped=[]):
                    yield fingerprints([text.text], whole=True)[0].exact, text.id

    known = {exact for exact, _ in hashes(corpora)}
    return [id for exact, id in hashes(others) if exact in known]


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
    topics = f" and {len(labels.topic_names)} topics" if options.topic_disjoint else ""
    _check_parts(parts, options, f"{len(labels.author_names)} authors{topics}", "authors")
    return parts


def _check_parts(parts: IntArray, options: SplitOptions, all_there_are: str, what: str) -> None:
    """Raise an error for a part that should have a share, but has no document."""
    for part, (name, share) in enumerate(zip(PARTS, options.shares, strict=True)):
        if share > 0 and not (parts == part).any():
            raise OptionError(
                f"{all_there_are} are too few to give {name} a share of {share}; add {what}, or "
                "change --shares"
            )


def _parts_of_pairs(survey: _Survey, options: SplitOptions) -> IntArray:
    """The part (pairs,) of each pair; the shares come out to the pair."""
    ids = [id for id, _ in survey.pairs]
    counts = np.ones(len(ids), dtype=np.int64)
    return _parts_by_hash(ids, counts, np.array(options.shares), f"{options.seed}/pair")


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
    parts: IntArray, cluster: IntArray, duplicates: Sequence[Duplicate], losing: int
) -> list[tuple[int, int, float | None]]:
    """Remove copies from all parts but the last that has one; return (removed, kept, share).

    Only the first `losing` parts lose texts.

    Texts removed from train by mistake cost little, but copies that stay make dev and
    test look better than they are. The share is None for the copy of a copy.
    """
    last = np.full(len(parts), NO_PART)  # (clusters,)
    np.maximum.at(last, cluster, parts)
    kept = {int(cluster[index]): index for index in np.flatnonzero(parts == last[cluster])[::-1]}
    share = {(pair.first, pair.second): round(pair.share, 3) for pair in duplicates}
    removed = []
    earlier = (parts != NO_PART) & (parts < last[cluster]) & (parts < losing)
    for index in np.flatnonzero(earlier):
        other = kept[int(cluster[index])]
        pair = (int(min(index, other)), int(max(index, other)))
        removed.append((int(index), int(other), share.get(pair)))
        parts[index] = NO_PART
    return removed


def _under_two_names(parts: IntArray, labels: Labels, cluster: IntArray) -> IntArray:
    """The documents (texts,) that are the first of a text with two authors in one part."""
    here = np.flatnonzero(parts != NO_PART)
    names = np.unique(np.stack([cluster[here], labels.author[here]], axis=1), axis=0)
    clusters, firsts = np.unique(cluster[here], return_index=True)
    return np.sort(here[firsts[np.bincount(names[:, 0])[clusters] > 1]])


def _repeated(parts: IntArray, labels: Labels, cluster: IntArray) -> IntArray:
    """The documents (documents,) that repeat another by their author in their part."""
    keys = np.stack([parts, cluster, labels.author], axis=1)
    _, firsts = np.unique(keys, axis=0, return_index=True)
    again = parts != NO_PART
    again[firsts] = False
    return np.flatnonzero(again)


def _doubts(survey: _Survey, two_names: IntArray, again: IntArray, cluster: IntArray) -> list[str]:
    """Doubts about the input: how many texts or pairs there are of a sort, and the first."""
    doubts = []
    if len(two_names):
        doubts.append(
            f"{len(two_names):,} texts stand there twice, under two names: their labels are in "
            f"doubt; the first is '{survey.ids[two_names[0]]}'"
        )
    if len(again) and not survey.pairs:
        doubts.append(
            f"{len(again):,} texts repeat another of their author and part, whole or for the most "
            f"part; the first is '{survey.ids[again[0]]}'"
        )
    texts = np.sort(cluster[: 2 * len(survey.pairs)].reshape(-1, 2))  # (pairs, 2)
    _, firsts = np.unique(texts, axis=0, return_index=True)
    if len(again := np.delete(np.arange(len(texts)), firsts)):
        doubts.append(
            f"{len(again):,} pairs have the two texts of a pair with another id; the first is "
            f"'{survey.pairs[again[0]][0]}'"
        )
    if 0 < len(survey.without_fandoms) < len(survey.pairs):
        doubts.append(
            f"{len(survey.without_fandoms):,} pairs lack fandoms, which others have, and get no "
            f"contextual prefix; the first is in {survey.without_fandoms[0]}"
        )
    return doubts


def _count(
    chosen: BoolArray, labels: Labels, survey: _Survey, seed: int, same_author: BoolArray | None
) -> PartCounts:
    """The numbers of authors, documents, words and pairs of some documents, and their hash.

    `same_author` are the labels (pairs,) of their pairs; without, pairs are drawn.
    """
    documents = np.flatnonzero(chosen)
    if same_author is None:
        same_author = draw_epoch(labels.select(documents), seed=seed, epoch=0).same_author
    content = b"".join(sorted(survey.digests[index] for index in documents))
    return PartCounts(
        len(np.unique(labels.author[documents])),
        len(documents),
        sum(survey.words[index] for index in documents),
        int(same_author.sum()),
        int((~same_author).sum()),
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
                files[part].write(_line_of(document))


def _copy_pairs(source: Source, folder: Path, parts: IntArray, chosen: BoolArray) -> None:
    """Copy each pair (pairs,) of dev and test, and the chosen documents (documents,) to train."""
    with ExitStack() as stack:
        writers = {}
        for part in np.unique(parts).tolist():
            (place := folder / PARTS[part]).mkdir()
            if part:
                writers[part] = stack.enter_context(pair_writer(place))
            else:
                train = stack.enter_context(write_whole(place / f"{source.name}.jsonl.zst"))
        goes = iter(chosen.tolist())
        for pair, part in zip(source.pairs(skipped=[]), parts.tolist(), strict=True):
            if part:
                writers[part](pair)
            for document in (pair.first, pair.second):
                if next(goes):
                    train.write(_line_of(document))


def _line_of(document: Document) -> str:
    return json.dumps(_row(document), ensure_ascii=False) + "\n"


def _row(document: Document) -> dict[str, str]:
    """A document as it is written: the language only if it is said."""
    row: dict[str, str] = asdict(document)
    return row if row["language"] else {key: row[key] for key in row if key != "language"}
