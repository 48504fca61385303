"""Data made from corpora: what `adhominem prepare`, `split` and `pairs` do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adhominem.errors import InputError
from adhominem.evaluation.leaks import Leak, check_leaks
from adhominem.jobs.inputs import Corpora, Watch, reading, unwatched
from adhominem.pairs.pair_set import write_pair_set
from adhominem.pairs.sampling import PairOptions
from adhominem.pairs.split import SplitOptions, SplitReport, split
from adhominem.text.corpus import PackedCorpus
from adhominem.text.normalisation import STEPS, Normaliser


def prepare_files(
    corpora: Corpora,
    output: str | Path,
    *,
    without: Sequence[str] = (),
    jobs: int = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> PackedCorpus:
    """Tokenize the texts of corpora once, and write them as a packed corpus for training.

    `without` are normalisation steps to leave out. What cannot be read goes to `skipped`; without
    it, the first such text is an error.
    """
    from adhominem.text.prepare import prepare  # not above: split and pairs need no tokenizer

    Normaliser((*without,))  # refuses a step that does not exist
    normaliser = Normaliser((*(step for step in STEPS if step not in without),))
    with reading(corpora, "preparing", watch) as (sources, on_bytes):
        return prepare(
            sources, output, normaliser=normaliser, jobs=jobs, skipped=skipped, on_bytes=on_bytes
        )


def split_files(
    corpora: Corpora,
    output: str | Path,
    *,
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1),
    topic_disjoint: bool = False,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> SplitReport:
    """Split the texts of corpora by author into train, dev and test; see `split`."""
    options = SplitOptions(shares=shares, topic_disjoint=topic_disjoint, seed=seed)
    with reading(corpora, "splitting", watch, times=2) as (sources, on_bytes):
        return split(sources, output, options, skipped=skipped, on_bytes=on_bytes)


@dataclass(frozen=True)
class DrawnPairSet:
    """A pair set that was drawn and written, and how much of its labels it gives away."""

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
    with reading(corpora, "reading", watch) as (sources, on_bytes):
        written = write_pair_set(
            sources, output, options, seed=seed, count=count, skipped=skipped, on_bytes=on_bytes
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
