"""Which words the networks look at, in a whole corpus."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import scipy.stats
from conftest import SmallRun, write_rows

from adhominem import Document, find_sources, load, read_documents
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.jobs.corpora import attention_of, token_weights
from adhominem.model.writing import write_ensemble


def slow_weights(model: Path, document: Document) -> list[float]:
    """The share of each token: window by window, token by token."""
    (member,) = load(model).members
    tokens = member.tokenizer.tokens(document.text)
    seen = member.attend(document, tokens)
    assert seen is not None
    weights = [0.0] * len(tokens)
    for window, (start, count) in enumerate(
        zip(seen.windows.starts, seen.windows.counts, strict=True)
    ):
        for place in range(count):
            weights[start + place] += float(
                seen.window_attention[0, window] * seen.token_attention[window, 1 + place]
            )
    return [weight / sum(weights) for weight in weights]


def test_a_token_of_two_windows_gets_both_shares_and_all_sum_to_one(small_run: SmallRun) -> None:
    (member,) = load(small_run.folder).members
    for document in list(read_documents(small_run.data.texts))[:5]:
        tokens = member.tokenizer.tokens(document.text)
        seen = member.attend(document, tokens)
        assert seen is not None
        weights = token_weights(seen, len(tokens))
        np.testing.assert_allclose(weights, slow_weights(small_run.folder, document), rtol=1e-5)
        assert weights.sum() == pytest.approx(1)


def test_a_ratio_is_attention_over_what_the_frequency_explains(small_run: SmallRun) -> None:
    sources = find_sources(small_run.data.texts)
    result = attention_of(small_run.folder, sources, fewest_documents=1)
    got: dict[str, float] = defaultdict(float)
    even: dict[str, float] = defaultdict(float)
    documents = list(read_documents(small_run.data.texts))
    tokenizer = load(small_run.folder).members[0].tokenizer
    for document in documents:
        tokens = tokenizer.tokens(document.text)
        for token, weight in zip(tokens, slow_weights(small_run.folder, document), strict=True):
            got[token] += weight
            even[token] += 1 / len(tokens)
    assert result.documents == len(documents)
    assert {word.word for word in result.words} == set(got)
    for word in result.words:
        assert word.ratio == pytest.approx(got[word.word] / even[word.word], rel=1e-5)
        assert word.low <= word.ratio <= word.high
    ratios = [word.ratio for word in result.words]
    assert ratios == sorted(ratios, reverse=True)
    assert result.tokens == sum(word.tokens for word in result.words)


def test_an_interval_is_as_wide_as_so_few_documents_make_it(small_run: SmallRun) -> None:
    sources = find_sources(small_run.data.texts)
    result = attention_of(small_run.folder, sources, fewest_documents=1)
    got: dict[str, list[tuple[float, float]]] = defaultdict(list)  # of each document
    tokenizer = load(small_run.folder).members[0].tokenizer
    for document in read_documents(small_run.data.texts):
        tokens = tokenizer.tokens(document.text)
        weights = np.array(slow_weights(small_run.folder, document))
        for token in set(tokens):
            places = np.array([other == token for other in tokens])
            got[token].append((float(weights[places].sum()), float(places.mean())))
    seen = set()
    for word in result.words:
        attention, even = np.array(got[word.word]).T
        n = len(attention)
        seen.add(n)
        if n == 1:  # nothing is known of its spread
            assert (word.low, word.high) == (0, np.inf)
            continue
        rest = attention - word.ratio * even
        error = np.sqrt(np.square(rest).sum() * n / (n - 1)) / attention.sum()
        reach = np.exp(scipy.stats.t.ppf(0.975, n - 1) * error)
        assert word.high == pytest.approx(word.ratio * reach, rel=0.05)
        assert word.low == pytest.approx(word.ratio / reach, rel=0.05)
    assert len(seen) > 1


def test_words_of_few_documents_are_left_out(small_run: SmallRun) -> None:
    sources = find_sources(small_run.data.texts)
    every = attention_of(small_run.folder, sources, fewest_documents=1)
    frequent = attention_of(small_run.folder, sources, fewest_documents=30)
    assert {word.word for word in frequent.words} == {
        word.word for word in every.words if word.documents >= 30
    }
    assert len(frequent.words) < len(every.words)


def test_each_network_has_its_own_tokens(small_run: SmallRun, tmp_path: Path) -> None:
    for name in ("one", "two"):
        copytree(small_run.folder, tmp_path / name)
    config = tmp_path / "two" / "config.json"
    settings = json.loads(config.read_text("utf-8"))
    settings["config"]["data"]["normaliser"]["steps"] = []
    config.write_text(json.dumps(settings), "utf-8")
    write_ensemble(tmp_path, ["one", "two"], {}, "")
    # a soft hyphen and curly quotes, which the first network alone does away with
    texts = [f"it was \u201cthe\u201d a\u00adnd of {'he ' * at}in" for at in range(1, 4)]
    corpus = write_rows(tmp_path / "texts.jsonl", [{"text": text} for text in texts])
    attention, even = defaultdict[str, float](float), defaultdict[str, float](float)
    lengths = []
    for text in texts:
        for name in ("one", "two"):
            (member,) = load(tmp_path / name).members
            tokens = member.tokenizer.tokens(text)
            weights = slow_weights(tmp_path / name, Document(text=text))
            for token, weight in zip(tokens, weights, strict=True):
                attention[token] += weight / 2
                even[token] += 1 / len(tokens) / 2
            lengths.append(len(tokens))
    assert lengths[0] != lengths[1]
    result = attention_of(tmp_path, find_sources(corpus), fewest_documents=1)
    assert {row.word for row in result.words} == set(even)
    for row in result.words:
        expected = attention[row.word] / even[row.word]
        assert row.ratio == pytest.approx(expected, rel=1e-5)


def test_only_networks_have_attention(profile_folder: Path, small_run: SmallRun) -> None:
    with pytest.raises(OptionError, match="only networks have attention"):
        attention_of(profile_folder, find_sources(small_run.data.texts))


def test_a_corpus_without_a_good_text_is_an_error(small_run: SmallRun, tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text("no JSON\n", "utf-8")
    skipped: list[InputError] = []
    with pytest.raises(NotFoundError, match="no text in the corpus"):
        attention_of(small_run.folder, find_sources(tmp_path / "texts.jsonl"), skipped=skipped)
    assert len(skipped) == 1
