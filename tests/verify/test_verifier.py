"""Texts through the whole chain, as at inference."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import torch
from conftest import NgramRun, SmallRun, rich_rows
from hypothesis import given
from hypothesis import strategies as st

from adhominem import Document, Verifier, load, read_pairs
from adhominem.errors import EmptyTextError, ModelError, OptionError
from adhominem.model.member import Encoder, make_members
from adhominem.model.writing import write_ensemble
from adhominem.paper.losses import SiameseModel
from adhominem.paper.training import DeviceCorpus
from adhominem.score.decision import ensemble_probability, probability_same_author
from adhominem.text.lexicon import Numbered
from adhominem.training.train_network import score_pairs

TEXTS = ["It was he ; it was the a of", "he ! and for , for the in", "of of of of of of of of of"]


@pytest.fixture(scope="module")
def verifier(small_run: SmallRun) -> Verifier:
    return load(small_run.folder, threads=1)


@pytest.fixture(scope="module")
def ensemble(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model, and itself with another author mean."""
    from shutil import copytree

    from safetensors.numpy import load_file, save_file

    folder = tmp_path_factory.mktemp("ensemble")
    for name in ("one", "two"):
        copytree(small_run.folder, folder / name)
    weights = load_file(folder / "two" / "model.safetensors")
    weights["two_covariance.author_mean"] = weights["two_covariance.author_mean"] + 0.1
    save_file(weights, folder / "two" / "model.safetensors")
    write_ensemble(folder, ["one", "two"], {}, "")
    return folder


def test_the_scores_are_those_that_training_saw(small_run: SmallRun, verifier: Verifier) -> None:
    words = small_run.model.vocabulary
    model = SiameseModel(
        len(words.token_types),
        len(words.characters),
        small_run.config.encoder,
        small_run.config.loss,
        len(words.prefixes),
    )
    model.load_state_dict(
        {name: torch.from_numpy(value.copy()) for name, value in small_run.model.weights.items()}
    )
    packed = small_run.data.dev["dev"]
    dev = DeviceCorpus(packed, words, small_run.config.data.windows, torch.device("cpu"))
    expected = score_pairs(model, dev)
    pairs = list(read_pairs(small_run.data.pairs))
    first, second = verifier.encode_pairs(pairs)
    np.testing.assert_allclose(verifier.score(first, second), expected.log_bayes_factor, atol=1e-4)
    np.testing.assert_allclose(verifier.distance(first, second), expected.distance, atol=1e-5)
    assert np.ptp(expected.log_bayes_factor) > 0.01
    first, second = first[:, :-1], second[:, :-1]  # without the number of tokens
    mean = np.concatenate([first, second]).mean(axis=0)
    slow = []
    for one, other in zip(first - mean, second - mean, strict=True):
        slow.append(one @ other / np.sqrt((one @ one) * (other @ other)))
    assert expected.cosine is not None
    np.testing.assert_allclose(expected.cosine, slow, atol=1e-4)  # of LEVs at the set's own mean


def test_a_topic_changes_the_lev_and_no_topic_is_the_default(verifier: Verifier) -> None:
    plain, none, ships = verifier.encode(
        [TEXTS[0], Document(text=TEXTS[0]), Document(text=TEXTS[0], topic="ships and cats")]
    )
    assert np.array_equal(plain, none)
    assert np.abs(plain - ships).max() > 1e-6


def test_a_network_that_never_saw_a_topic_never_gets_one(small_run: SmallRun) -> None:
    from dataclasses import replace

    config = small_run.config.with_setting("data.hidden_topics=1.0")
    blind = Verifier(make_members([replace(small_run.model, config=config)]))
    levs = blind.encode([TEXTS[0], Document(text=TEXTS[0], topic="ships")])
    assert np.array_equal(levs[0], levs[1])


words = st.sampled_from(["the", "of", "he", "was", "it", ",", ";", "!", "xylophone", "Zürich"])
texts = st.lists(st.lists(words, min_size=1, max_size=60).map(" ".join), min_size=1, max_size=6)


@given(texts=texts)
def test_a_lev_does_not_depend_on_what_else_is_encoded(
    texts: list[str], verifier: Verifier
) -> None:
    together = verifier.encode(texts)
    alone = np.concatenate([verifier.encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)


@given(texts=texts)
def test_a_score_does_not_depend_on_the_order_of_the_pair(
    texts: list[str], verifier: Verifier
) -> None:
    levs = verifier.encode(texts)
    np.testing.assert_allclose(
        verifier.score(levs, levs[::-1]), verifier.score(levs[::-1], levs), atol=1e-9
    )


def test_documents_come_back_in_their_order_over_many_batches(
    small_run: SmallRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adhominem.paper import runtime
    from adhominem.verify import encoding as module

    many = [" ".join(["the", "of", "he"][number % 3 :] * (1 + number % 7)) for number in range(40)]
    whole = load(small_run.folder, threads=1).encode(many)
    monkeypatch.setattr(runtime, "_WINDOWS_AT_ONCE", 5)
    monkeypatch.setattr(module, "_DOCUMENTS_AT_ONCE", 7)
    counted: list[int] = []
    found = load(small_run.folder, threads=1).encode(many, on_documents=counted.append)
    np.testing.assert_allclose(found, whole, atol=1e-6)
    assert sum(counted) == 40


class Counting:
    """In the place of an encoder: it notes what it is asked for."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.asked: list[tuple[str, str]] = []

    def encode_numbered(self, texts: Numbered, topics: Sequence[list[str]]) -> Any:
        types = texts.lexicon.types
        words = [[types[number] for number in tokens] for tokens in texts.documents]
        parts = zip(words, topics, strict=True)
        self.asked += [(" ".join(text), " ".join(topic)) for text, topic in parts]
        return self.encoder.encode_numbered(texts, topics)


@given(order=st.lists(st.integers(0, 4), max_size=12), at_once=st.integers(1, 6))
def test_a_text_that_is_there_several_times_is_encoded_once(
    order: list[int], at_once: int, small_run: SmallRun
) -> None:
    from adhominem.verify import encoding as module

    known: list[str | Document] = [*TEXTS, "the of he", Document(text=TEXTS[0], topic="ships")]
    several = load(small_run.folder, threads=1)
    expected = several.encode(known)
    counting = Counting(several.members[0].encoder)
    counted: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(several.members[0], "encoder", counting)
        patch.setattr(module, "_DOCUMENTS_AT_ONCE", at_once)
        found = several.encode([known[at] for at in order], on_documents=counted.append)
    assert len(counting.asked) == len(set(counting.asked)) == len(set(order))
    np.testing.assert_allclose(found, expected[order], atol=1e-6)
    for number in set(order):  # each of them has the same LEV to the last bit
        assert len(np.unique(found[np.array(order) == number], axis=0)) == 1
    assert sum(counted) == len(order)  # as many as were asked for, to whoever waits


def test_many_threads_encode_as_one_does(ngram_run: NgramRun) -> None:
    texts = [row["text"] for row in rich_rows("letters", 4, 2, "-threads-")]
    expected = load(ngram_run.folder).encode(texts)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(texts)) as pool:
            for _ in range(10):
                fresh, start = load(ngram_run.folder), Barrier(len(texts))

                def encoded(fresh: Verifier = fresh, start: Barrier = start) -> Any:
                    start.wait(60)
                    return fresh.encode(texts)

                for each in [pool.submit(encoded) for _ in texts]:
                    np.testing.assert_allclose(each.result(), expected, rtol=1e-5, atol=1e-6)
    finally:
        sys.setswitchinterval(interval)


def test_no_documents_give_no_levs(verifier: Verifier) -> None:
    assert verifier.encode([]).shape == (0, verifier.lev_size)


def test_an_ensemble_scores_by_the_mean_of_its_members_probabilities(ensemble: Path) -> None:
    both = load(ensemble, threads=1)
    members = [load(ensemble / name, threads=1) for name in ("one", "two")]
    assert both.lev_size == 2 * members[0].lev_size - 1  # the number of tokens is there once
    levs = both.encode(TEXTS)
    parts = [member.encode(TEXTS) for member in members]
    np.testing.assert_allclose(levs, np.concatenate([parts[0][:, :-1], parts[1]], 1), atol=1e-7)
    expected = ensemble_probability(
        [
            probability_same_author(member.score(part[:2], part[1:]))
            for member, part in zip(members, parts, strict=True)
        ]
    )
    found = probability_same_author(both.score(levs[:2], levs[1:]))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert both.distance(levs[:2], levs[1:]) == pytest.approx(
        np.mean([m.distance(p[:2], p[1:]) for m, p in zip(members, parts, strict=True)], axis=0)
    )


# Passages left out or repeated


@given(text=st.lists(words, min_size=1, max_size=80).map(" ".join), topic=st.booleans())
def test_a_document_with_each_passage_once_is_the_document_itself(
    text: str, topic: bool, verifier: Verifier
) -> None:
    document = Document(text=text, topic="ships" if topic else "")
    expected = verifier.encode([document, document])
    for attention in (True, False):
        comparison = verifier.compare(document, document, attention=attention)
        compared = comparison.sides[0][0]
        once = np.ones((2, len(comparison.passages(compared))), np.int64)
        np.testing.assert_allclose(comparison.vary(compared, once), expected, atol=1e-6)
        np.testing.assert_allclose(comparison.levs[0], expected[:1], atol=1e-6)


def test_each_member_varies_its_own_part_of_the_levs(ensemble: Path) -> None:
    both = load(ensemble, threads=1)
    text = " ".join(3 * TEXTS)
    comparison = both.compare(text, text, attention=True)
    passages = len(comparison.passages(comparison.sides[0][0]))
    times = 1 - np.eye(passages, dtype=np.int64)
    found = comparison.vary(comparison.sides[0][0], times)
    alone = [load(ensemble / name, threads=1) for name in both.member_names]
    compared = [each.compare(text, text, attention=True) for each in alone]
    parts = [each.vary(each.sides[0][0], times) for each in compared]
    assert passages > 2
    np.testing.assert_array_equal(found, np.concatenate([parts[0][:, :-1], parts[1]], axis=1))


def test_members_have_names_of_their_own(ensemble: Path, verifier: Verifier) -> None:
    both = load(ensemble, threads=1)
    assert both.member_names == ["one", "two"]
    assert [member.lev_size for member in both.members] == [5, 5]
    assert verifier.member_names == ["model"]


def test_encoding_needs_no_torch(small_run: SmallRun) -> None:
    code = (
        "import sys, adhominem\n"
        f"print(adhominem.load({str(small_run.folder)!r}).encode(['it was he']).shape)\n"
        "heavy = {'torch', 'matplotlib', 'scipy', 'sklearn'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["(1, 6)", "[]"]


def test_a_text_without_words_is_an_error_that_names_it(verifier: Verifier) -> None:
    with pytest.raises(EmptyTextError, match="memo: "):
        verifier.encode([Document(text="\u200b", id="memo")])


def test_a_verifier_needs_a_model(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="without a model"):
        Verifier([])
    with pytest.raises(ModelError, match="no config"):
        load(tmp_path)
