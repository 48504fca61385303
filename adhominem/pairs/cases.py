"""Pair sets to compare systems on, and cases of known authors for validation studies.

A *pair set* is drawn once by the paper's algorithms and written in PAN's format. A *case* is a
questioned text against known ones, with a population of texts by others. Cases are drawn from
documents by their authors' names. A text is never on both sides of a case, nor is a text by either
of its authors ever in its population. Two texts of one work (a book, a thread) share more than
their author: they are never on both sides either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from adhominem.arrays import BoolArray, IntArray
from adhominem.errors import InputError, OptionError
from adhominem.paper.sampling import DrawnPairs, PairOptions, draw_epoch, why_no_pairs
from adhominem.text.corpus import UNKNOWN_LABEL, LabelCollector, Labels
from adhominem.text.files import Document
from adhominem.text.pan import Pair
from adhominem.text.readers import Corpora, Watch, check_names, reading, unwatched
from adhominem.text.sentences import count_words
from adhominem.text.writing import write_folder, write_whole

TextsOf = Mapping[str, IntArray]  # the indices of each author's documents


# Pair sets


@dataclass(frozen=True)
class PairSet:
    """The pairs that were written, with their labels."""

    pairs: DrawnPairs
    labels: Labels
    words: IntArray  # (documents,)

    @property
    def same_topic(self) -> BoolArray:
        """Whether both documents of each pair (pairs,) have the same known topic."""
        first, second = self.labels.topic[self.pairs.first], self.labels.topic[self.pairs.second]
        return np.asarray((first == second) & (first != UNKNOWN_LABEL), dtype=bool)


def write_pair_set(
    corpora: Corpora,
    output: str | Path,
    options: PairOptions | None = None,
    *,
    seed: int = 0,
    count: int | None = None,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> PairSet:
    """Draw at most `count` pairs, and write OUTPUT/pairs.jsonl and OUTPUT/truth.jsonl."""
    if count is not None and count < 1:
        raise OptionError(f"count is {count}; expected 1 or more")
    collector = LabelCollector()
    words: list[int] = []
    with (
        reading(corpora, "reading", watch) as sources,
        TemporaryFile() as texts,  # with random access: a corpus need not fit into memory
        write_folder(Path(output)) as folder,
    ):
        check_names(sources)
        ends = [0]
        for source in sources:
            for document in source.documents(skipped=skipped):
                collector.add(document, source.name)
                words.append(count_words(document.text))
                ends.append(ends[-1] + texts.write(document.text.encode("utf-8")))
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

        def text_of(document: int) -> str:
            texts.seek(ends[document])
            return texts.read(ends[document + 1] - ends[document]).decode("utf-8")

        _write(folder, pairs, labels, text_of)
    return PairSet(pairs, labels, np.array(words))


def _first(pairs: DrawnPairs, count: int, options: PairOptions) -> DrawnPairs:
    """At most `count` of the pairs, half of each label if they are to be balanced."""
    if not options.balanced:
        return pairs[:count]
    same = pairs.same_author
    place = np.where(same, np.cumsum(same), np.cumsum(~same))  # (pairs,): from 1, by label
    return pairs[place <= count // 2]


def _write(folder: Path, pairs: DrawnPairs, labels: Labels, text_of: Callable[[int], str]) -> None:
    def topic_of(document: int) -> str:
        index = labels.topic[document]
        return "" if index == UNKNOWN_LABEL else labels.topic_names[index]

    def document(at: int) -> Document:
        author = labels.author_names[labels.author[at]]
        return Document(text=text_of(at), author=author, topic=topic_of(at))

    width = len(str(len(pairs) - 1))
    with pair_writer(folder) as write:
        columns = (pairs.first.tolist(), pairs.second.tolist(), pairs.same_author.tolist())
        for number, (first, second, same) in enumerate(zip(*columns, strict=True)):
            id = f"{labels.corpus_names[labels.corpus[first]]}-{number:0{width}}"
            write(Pair(id=id, first=document(first), second=document(second), same_author=same))


@contextmanager
def pair_writer(folder: Path) -> Iterator[Callable[[Pair], None]]:
    """A function that writes pair after pair to FOLDER/pairs.jsonl and FOLDER/truth.jsonl."""
    with (
        write_whole(folder / "pairs.jsonl") as pair_file,
        write_whole(folder / "truth.jsonl") as truth_file,
    ):

        def write(pair: Pair) -> None:
            both = (pair.first, pair.second)
            fandoms, texts = [text.topic for text in both], [text.text for text in both]
            row = {"id": pair.id, "fandoms": fandoms, "pair": texts}
            authors = [text.author for text in both]
            truth = {"id": pair.id, "same": pair.same_author, "authors": authors}
            pair_file.write(json.dumps(row, ensure_ascii=False) + "\n")
            truth_file.write(json.dumps(truth, ensure_ascii=False) + "\n")

        yield write


# Cases


@dataclass(frozen=True)
class DrawnCase:
    """A questioned document against known ones by one author, all given by index."""

    questioned: int
    known: tuple[int, ...]
    same_author: bool  # whether the questioned document is by the same author


def draw_cases(
    documents: Sequence[Document], known: int, *, most: int | None = None, seed: int = 0
) -> list[DrawnCase]:
    """Leave-one-out cases from documents of known authors.

    Each text of an author with at least `known` others is questioned once against this number of
    them. An equal number of texts, of all authors, are questioned against another author's. `most`
    limits each class. Authors take turns, both as author of the questioned text and as that of the
    known ones, so that all of them are in about equally many cases.
    """
    rng = np.random.default_rng(seed)
    texts_of = _texts_of(documents)
    others_of = {at: _others(documents, texts, at) for texts in texts_of.values() for at in texts}
    leaving_enough = {
        name: left
        for name, texts in texts_of.items()
        if len(left := texts[[len(others_of[at]) >= known for at in texts]])
    }
    if len(texts_of) < 2 or not leaving_enough:
        raise _too_few(texts_of, known)
    same = [
        DrawnCase(text, _choose(rng, others_of[text], known), True)
        for _, text in islice(_in_turn(rng, leaving_enough), most)
    ]
    suspects = [name for name, texts in texts_of.items() if len(texts) >= known]
    place = {name: at for at, name in enumerate(suspects)}
    uses = np.zeros(len(suspects))
    different: list[DrawnCase] = []
    for name, text in _in_turn(rng, texts_of):
        if len(different) == len(same):
            break
        turn = uses + rng.random(len(suspects)) / 2  # one of the least used comes next
        if name in place:
            turn[place[name]] = np.inf
        at = int(np.argmin(turn))
        if np.isfinite(turn[at]):
            uses[at] += 1
            different.append(DrawnCase(text, _choose(rng, texts_of[suspects[at]], known), False))
    return same + different


def by_others(documents: Sequence[Document], case: DrawnCase) -> IntArray:
    """The documents by neither author of a case, which may be its population."""
    involved = {documents[at].author for at in (case.questioned, *case.known)}
    return np.flatnonzero([document.author not in involved for document in documents])


def _texts_of(documents: Sequence[Document]) -> dict[str, IntArray]:
    """The documents of each author, in alphabetical order of the authors."""
    texts_of: dict[str, list[int]] = {name: [] for name in sorted({d.author for d in documents})}
    for at, document in enumerate(documents):
        texts_of[document.author].append(at)
    return {name: np.array(texts) for name, texts in texts_of.items()}


def _others(documents: Sequence[Document], texts: IntArray, questioned: int) -> IntArray:
    """The texts of an author that may be known if one of them is questioned."""
    work = documents[questioned].work
    return texts[[at != questioned and not (work and documents[at].work == work) for at in texts]]


def _too_few(texts_of: TextsOf, known: int) -> OptionError:
    if len(texts_of) < 2:
        return OptionError(
            f"texts by {len(texts_of)} known author{'' if len(texts_of) == 1 else 's'}; expected "
            "two or more, and better 10: a folder with one folder an author, for example"
        )
    name, texts = max(texts_of.items(), key=lambda item: len(item[1]))
    return OptionError(
        f"{len(texts_of):,} authors, and the one with most texts, {name}, has {len(texts)}; for "
        f"{known} known and 1 questioned text, some author must have {known + 1} or more of "
        "different works: add texts, or take fewer known ones"
    )


def _in_turn(rng: np.random.Generator, texts_of: TextsOf) -> Iterator[tuple[str, int]]:
    """Every text with its author, in random order: one of each author, then a second, and so on."""
    shuffled = {name: rng.permutation(texts) for name, texts in texts_of.items()}
    names = sorted(shuffled)
    for turn in range(max(map(len, shuffled.values()))):
        for at in rng.permutation(len(names)):
            texts = shuffled[names[at]]
            if turn < len(texts):
                yield names[at], int(texts[turn])


def _choose(rng: np.random.Generator, texts: IntArray, count: int) -> tuple[int, ...]:
    return tuple(sorted(rng.choice(texts, count, replace=False).tolist()))
