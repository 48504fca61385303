"""Preparing packs texts into numbers that lead back to them, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adhominem.errors import (
    BrokenLineError,
    CorpusError,
    EmptyTextError,
    InputError,
    MissingAuthorError,
    NotFoundError,
    OptionError,
)
from adhominem.text import prepare as preparing
from adhominem.text.corpus import FORMAT, PackedCorpus, is_packed
from adhominem.text.normalisation import Normaliser
from adhominem.text.prepare import prepare, prepare_pairs
from adhominem.text.readers import find_sources
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import Vocabulary, prefix_tokens

LONG = "http://example.org/" + "very/" * 20
ROWS = [
    {"text": "I don’t know… “really”?!", "author": "ann", "topic": "Pokémon Red", "id": "1"},
    {"text": f"See {LONG}one and {LONG}two.", "author": "bob", "topic": "", "work": "Links"},
    {"text": "The cat, the cat, the CAT.", "author": "ann", "topic": "Cats", "work": "Diary"},
    {"text": "Whiskers purrs. The cat purrs.", "author": "eve", "topic": "Cats", "id": "été"},
    *({"text": f"Line {n} of {n % 7} 😂😂", "author": f"author {n % 5}"} for n in range(40)),
]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "texts" / "notes.jsonl", ROWS)


@pytest.fixture
def folder(tmp_path: Path, texts: Path) -> Path:
    prepare(find_sources(texts), tmp_path / "corpus")
    return tmp_path / "corpus"


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_BATCH_CHARACTERS", 100)


def strings(corpus: PackedCorpus, types: np.ndarray) -> list[str]:
    return [corpus.types[kind] for kind in types]


# What is packed


def test_the_tokens_of_each_document_are_those_of_the_tokenizer(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    tokenizer = Tokenizer()
    assert len(corpus) == len(ROWS)
    for index, row in enumerate(ROWS):
        slow = [token[:64] for token in tokenizer.tokens(row["text"])]
        assert strings(corpus, corpus.document(index)) == slow
        assert corpus.lengths[index] == len(slow)


def test_long_tokens_with_the_same_beginning_become_one_type(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    first, second = corpus.document(1)[1], corpus.document(1)[3]
    assert first == second
    assert corpus.types[first] == LONG[:64]
    assert len(set(corpus.types)) == len(corpus.types)


def test_labels_and_ids_are_those_of_the_documents(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    labels = corpus.labels
    assert [labels.author_names[i] for i in labels.author] == [row["author"] for row in ROWS]
    for kind in ("topic", "work"):
        names = [*getattr(labels, f"{kind}_names"), ""]  # -1, the unknown, is the last
        assert [names[i] for i in getattr(labels, kind)] == [row.get(kind, "") for row in ROWS]
    assert corpus.ids == [row.get("id", f"notes:{line}") for line, row in enumerate(ROWS, 1)]
    assert {labels.corpus_names[i] for i in labels.corpus} == {"notes"}


def test_prefixes_are_the_tokens_of_the_topics(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    assert corpus.labels.topic_names == ["Pokémon Red", "Cats"]
    names = corpus.labels.topic_names
    assert corpus.topics == [prefix_tokens(name, Tokenizer()) for name in names]


def test_types_that_only_a_topic_uses_count_nothing(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    counts = corpus.count_types(range(len(corpus)))
    assert counts[corpus.types.index("Pokmon")] == 0
    assert "Pokmon" not in Vocabulary.build(corpus.types, counts).token_types


def test_counts_are_those_of_a_counter(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    documents = np.array([0, 2, 5, 2])  # a document counts as often as it is named
    slow = Counter(kind for index in documents for kind in corpus.document(index).tolist())
    counts = corpus.count_types(documents)
    assert counts.shape == (len(corpus.types),)
    assert {kind: int(count) for kind, count in enumerate(counts) if count} == dict(slow)
    assert corpus.count_types([]).sum() == 0


def test_words_that_only_other_authors_use_stay_out_of_the_vocabulary(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    training = np.flatnonzero(corpus.labels.author != corpus.labels.author_names.index("eve"))
    vocabulary = Vocabulary.build(corpus.types, corpus.count_types(training))
    assert "cat" in vocabulary.token_types
    assert not {"Whiskers", "purrs"} & set(vocabulary.token_types)


def test_several_sources_keep_apart_and_in_order(tmp_path: Path, texts: Path) -> None:
    write_rows(texts.parent / "blogs.jsonl", ROWS[:3])
    corpus = prepare(find_sources(texts.parent), tmp_path / "corpus")
    names = [corpus.labels.corpus_names[i] for i in corpus.labels.corpus]
    assert names == ["blogs"] * 3 + ["notes"] * len(ROWS)
    np.testing.assert_array_equal(corpus.document(0), corpus.document(3))
    described = {entry["name"]: entry for entry in corpus.description["corpora"]}
    assert [entry["name"] for entry in corpus.description["corpora"]] == ["blogs", "notes"]
    assert (described["blogs"]["documents"], described["blogs"]["authors"]) == (3, 2)
    assert described["blogs"]["tokens"] == corpus.lengths[:3].sum()


def test_the_description_counts_what_is_there(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    assert corpus.description == json.loads((folder / "corpus.json").read_text("utf-8"))
    assert corpus.description["format"] == FORMAT
    assert corpus.description["documents"] == len(ROWS)
    assert corpus.description["tokens"] == len(corpus.tokens) == corpus.lengths.sum()
    assert corpus.description["types"] == len(corpus.types)
    assert corpus.description["authors"] == len({row["author"] for row in ROWS})
    assert corpus.description["topics"] == 2
    assert corpus.description["works"] == 2


def test_the_steps_of_normalisation_are_used_and_written_down(tmp_path: Path, texts: Path) -> None:
    normaliser = Normaliser(("nfc", "dashes"))
    corpus = prepare(find_sources(texts), tmp_path / "corpus", normaliser=normaliser)
    assert corpus.description["normalisation"] == ["nfc", "dashes"]
    assert strings(corpus, corpus.document(0)) == Tokenizer(normaliser).tokens(ROWS[0]["text"])
    assert "don’t" in corpus.types


def test_progress_hears_of_every_byte(tmp_path: Path, texts: Path) -> None:
    heard: list[float] = []
    prepare([texts], tmp_path / "corpus", watch=lambda *what: nullcontext(heard.append))
    assert sum(heard) == texts.stat().st_size


def test_where_no_document_can_be_read_no_corpus_is_written(tmp_path: Path) -> None:
    empty = write_rows(tmp_path / "empty.jsonl", [{"text": "by nobody"}])
    with pytest.raises(NotFoundError, match="no document could be read"):
        prepare(find_sources(empty), tmp_path / "corpus", skipped=[])
    assert [path.name for path in tmp_path.iterdir()] == ["empty.jsonl"]


def test_a_pair_with_a_text_that_nobody_can_see_is_left_out_whole(tmp_path: Path) -> None:
    pairs = [("1", "One text.", "Another."), ("2", "Visible.", "\u200b\u200b")]
    with open(tmp_path / "pairs.jsonl", "w", encoding="utf-8") as file:
        for id, *texts in pairs:
            file.write(json.dumps({"id": id, "pair": texts}) + "\n")
    with open(tmp_path / "truth.jsonl", "w", encoding="utf-8") as file:
        for id, *_ in pairs:
            file.write(json.dumps({"id": id, "same": False, "authors": ["a", "b"]}) + "\n")
    skipped: list[InputError] = []
    packed = prepare_pairs(tmp_path, tmp_path / "packed", skipped=skipped)
    assert packed.ids == ["1/first", "1/second"]
    assert packed.same_author is not None
    assert packed.same_author.tolist() == [False]
    assert [type(error) for error in skipped] == [EmptyTextError]


def test_the_number_of_workers_does_not_change_a_byte(tmp_path: Path, texts: Path) -> None:
    write_rows(texts.parent / "blogs.jsonl", [ROWS[3], {"text": "no author"}, ROWS[0]])
    skipped: tuple[list[InputError], list[InputError]] = ([], [])
    for jobs in (1, 2):
        output = tmp_path / f"corpus{jobs}"
        prepare(find_sources(texts.parent), output, jobs=jobs, skipped=skipped[jobs - 1])
    for name in ("tokens.bin", "corpus.json", "tables.npz"):
        one, two = (tmp_path / f"corpus{jobs}" / name for jobs in (1, 2))
        assert one.read_bytes() == two.read_bytes(), name
    assert [str(error) for error in skipped[0]] == [str(error) for error in skipped[1]]
    assert len(skipped[0]) == 1


def test_no_workers_at_all_are_refused(tmp_path: Path, texts: Path) -> None:
    with pytest.raises(OptionError, match="jobs is 0"):
        prepare(find_sources(texts), tmp_path / "corpus", jobs=0)


# What cannot be read


@pytest.fixture
def bad_rows(texts: Path) -> Path:
    with texts.open("a", encoding="utf-8") as file:
        file.write('{"text": "cut o\n{"text": "whose?"}\n{"text": " ", "author": "ann"}\n')
        file.write('{"text": "\\u200b\\u2060", "author": "ann", "id": "ghost"}\n')
        file.write('{"text": "The end.", "author": "ann"}\n')
    return texts


def test_bad_rows_are_skipped_listed_and_leave_no_gap(tmp_path: Path, bad_rows: Path) -> None:
    skipped: list[InputError] = []
    corpus = prepare(find_sources(bad_rows), tmp_path / "corpus", skipped=skipped)
    by_type = {type(error): error for error in skipped}
    assert len(skipped) == 4
    assert by_type.keys() == {BrokenLineError, MissingAuthorError, EmptyTextError}
    assert by_type[BrokenLineError].line == len(ROWS) + 1
    assert all(error.path == str(bad_rows) for error in skipped)
    assert len(corpus) == len(ROWS) + 1
    assert strings(corpus, corpus.document(len(ROWS))) == ["The", "end", "."]
    assert (corpus.lengths > 0).all()


def test_a_text_of_invisible_characters_alone_is_skipped_by_name(
    tmp_path: Path, bad_rows: Path
) -> None:
    skipped: list[InputError] = []
    prepare(find_sources(bad_rows), tmp_path / "corpus", skipped=skipped)
    assert any(isinstance(e, EmptyTextError) and "'ghost'" in str(e) for e in skipped)


def test_without_a_list_to_skip_to_a_bad_row_raises(tmp_path: Path, bad_rows: Path) -> None:
    with pytest.raises(BrokenLineError):
        prepare(find_sources(bad_rows), tmp_path / "corpus")


def test_invisible_characters_alone_raise_without_a_list_to_skip_to(tmp_path: Path) -> None:
    ghost = write_rows(tmp_path / "ghost.jsonl", [{"text": "\u200b", "author": "ann"}])
    with pytest.raises(EmptyTextError):
        prepare(find_sources(ghost), tmp_path / "corpus")


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, RuntimeError])
def test_a_failure_leaves_nothing_behind(
    tmp_path: Path, texts: Path, failure: type[BaseException]
) -> None:
    def fail(count: float) -> None:
        raise failure

    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(failure):
        prepare([texts], tmp_path / "corpus", watch=lambda *what: nullcontext(fail))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_bad_row_at_the_end_leaves_nothing_behind(tmp_path: Path, bad_rows: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BrokenLineError):
        prepare(find_sources(bad_rows), tmp_path / "corpus")
    assert sorted(tmp_path.rglob("*")) == before


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_corpus_that_exists_is_never_overwritten(folder: Path, texts: Path) -> None:
    before = contents(folder.parent)
    with pytest.raises(OptionError, match="exists already"):
        prepare(find_sources(texts), folder)
    assert contents(folder.parent) == before


def test_a_folder_that_holds_anything_else_is_never_overwritten(texts: Path) -> None:
    before = contents(texts.parent)
    with pytest.raises(OptionError, match="choose another folder"):
        prepare(find_sources(texts), texts.parent)
    with pytest.raises(OptionError, match="choose another folder"):
        prepare(find_sources(texts), texts)
    assert contents(texts.parent) == before


def test_an_empty_folder_may_be_filled(tmp_path: Path, texts: Path) -> None:
    (tmp_path / "corpus").mkdir()
    assert len(prepare(find_sources(texts), tmp_path / "corpus")) == len(ROWS)


# Opening


def test_opening_leaves_the_tokens_on_disk(folder: Path) -> None:
    corpus = PackedCorpus.open(folder)
    assert isinstance(corpus.tokens, np.memmap)
    assert corpus.tokens.dtype == np.dtype("<u4")
    with pytest.raises(ValueError, match="read-only"):
        corpus.tokens[0] = 1


def test_a_folder_is_a_corpus_only_once_it_was_prepared(tmp_path: Path, folder: Path) -> None:
    assert is_packed(folder)
    assert not is_packed(tmp_path)
    assert not is_packed(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["nowhere", "texts"])
def test_a_folder_without_a_corpus_says_how_to_make_one(
    tmp_path: Path, texts: Path, name: str
) -> None:
    with pytest.raises(CorpusError, match=r"no corpus\.json.*adhominem prepare"):
        PackedCorpus.open(tmp_path / name)


def edit_description(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    description = json.loads((folder / "corpus.json").read_text("utf-8"))
    change(description)
    (folder / "corpus.json").write_text(json.dumps(description), "utf-8")


@pytest.mark.parametrize("written_as", [FORMAT + 1, "next", None])
def test_a_corpus_of_another_format_says_so(folder: Path, written_as: object) -> None:
    edit_description(folder, lambda description: description.update(format=written_as))
    with pytest.raises(CorpusError, match=f"format {written_as}; .*reads format {FORMAT}"):
        PackedCorpus.open(folder)


def cut(name: str, size: int) -> Callable[[Path], object]:
    return lambda folder: os.truncate(folder / name, size)


def drop(key: str) -> Callable[[Path], object]:
    return lambda folder: edit_description(folder, lambda description: description.pop(key))


def overwrite(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def unknown_compression(folder: Path) -> None:
    data = bytearray((folder / "tables.npz").read_bytes())
    data[data.index(b"PK\1\2") + 10] = 99  # the method, in the list of the zip file's members
    (folder / "tables.npz").write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "tokens.bin").unlink(),
        lambda folder: (folder / "tables.npz").unlink(),
        cut("tokens.bin", 40),
        cut("tokens.bin", 0),
        cut("tables.npz", 1000),
        cut("tables.npz", 0),
        cut("corpus.json", 50),
        cut("corpus.json", 0),
        unknown_compression,
        overwrite("tables.npz", b"no zip file at all, though it is named like one"),
        overwrite("corpus.json", b"[1, 2]"),
        overwrite("corpus.json", b"\xff\xfe\x00"),
        drop("format"),
        drop("tokens"),
        drop("documents"),
        lambda folder: edit_description(
            folder, lambda description: description.update(tokens=None)
        ),
        lambda folder: edit_description(
            folder, lambda description: description.update(documents=1)
        ),
    ],
)
def test_damage_is_told_with_what_to_do(folder: Path, damage: Callable[[Path], object]) -> None:
    damage(folder)
    with pytest.raises(CorpusError, match=r"damaged \(.*\)\. Prepare it again"):
        PackedCorpus.open(folder)


def test_files_of_two_corpora_do_not_make_one(tmp_path: Path, folder: Path) -> None:
    longer = [{**row, "text": f"{row['text']} Indeed."} for row in ROWS]
    other = write_rows(tmp_path / "other.jsonl", longer)
    prepare(find_sources(other), tmp_path / "longer")
    (tmp_path / "longer" / "tables.npz").replace(folder / "tables.npz")
    with pytest.raises(CorpusError, match="number of tokens differs"):
        PackedCorpus.open(folder)


def test_a_flipped_bit_in_the_tables_raises_nothing_but_a_corpus_error(folder: Path) -> None:
    path = folder / "tables.npz"
    good = path.read_bytes()
    whole = PackedCorpus.open(folder)
    damaged = 0
    for position in np.random.default_rng(0).integers(0, len(good), 200):
        path.write_bytes(good[:position] + bytes([good[position] ^ 8]) + good[position + 1 :])
        try:
            opened = PackedCorpus.open(folder)
        except CorpusError:
            damaged += 1
        else:  # the bit stood in a time stamp or the like
            assert (opened.types, opened.ids) == (whole.types, whole.ids)
            np.testing.assert_array_equal(opened.offsets, whole.offsets)
    assert damaged > 100


def test_opening_a_corpus_needs_numpy_and_nothing_else(folder: Path) -> None:
    program = f"""
import sys
for library in ("tokenizers", "click", "zstandard", "rich", "torch"):
    sys.modules[library] = None  # importing it raises
from adhominem.text.corpus import PackedCorpus
from adhominem.text.vocabulary import Vocabulary
from adhominem.text.vocabulary import hide_topics, spread_starts
corpus = PackedCorpus.open({str(folder)!r})
vocabulary = Vocabulary.build(corpus.types, corpus.count_types(range(len(corpus))))
print(len(corpus), vocabulary.token_types[0])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stderr, run.stdout) == ("", f"{len(ROWS)} Line\n")
