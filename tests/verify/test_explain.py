"""Where the network looked, and what each passage contributes: held against the whole chain."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import NgramRun, SmallRun, any_words, rich_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem import Document, Population, Verifier, load
from adhominem.errors import OptionError
from adhominem.model.folder import read_models
from adhominem.model.member import Model, make_members
from adhominem.paper.device import DeviceRuntime
from adhominem.text.vocabulary import spread_starts
from adhominem.verify.explanation import (
    ExplainedPassage,
    ExplainedText,
    Explanation,
    TextInWindows,
    explain_text,
    explain_texts,
)
from adhominem.web.pages import EXAMPLE_TEXTS, example_text

TEXTS = [row["text"] for row in rich_rows("letters", 3, 2, "-explain-")]
OTHERS = [row["text"] for row in rich_rows("letters", 6, 1, "-others-")]
ODD = (
    "“It’s—oh…” he said;\u00a0‘twas the  \t 1914–18 war. *Very* _odd_ cafe\u0301!! "
    "A re\u00adpeat ''of'' it . . . and \u200bthe end ;-) — U.S. e.g. www.x.org/a… ^_^ "
)


@pytest.fixture(scope="module")
def verifiers(
    small_run: SmallRun, ngram_run: NgramRun, profile_folder: Path, mixed_folder: Path
) -> dict[str, Verifier]:
    folders = {
        "network": small_run.folder,  # without genres, not calibrated
        "ngrams": ngram_run.folder,
        "profile": profile_folder,
        "mixed": mixed_folder,
    }
    return {name: load(folder) for name, folder in folders.items()}


NAMES = ["network", "ngrams", "profile", "mixed"]


def slow_contributions(
    verifier: Verifier,
    texts: list[list[Document]],
    side: int,
    number: int,
    population: Population | None = None,
) -> list[float]:
    """Each passage's share of its text by its length, and what leaving it out loses beyond that."""
    comparison = verifier.compare(texts[0], texts[1], population)
    text = comparison.sides[side][number]
    starts = [*comparison.passages(text).tolist(), len(text.tokens(comparison.lead).tokens)]
    lengths = np.diff(starts) / starts[-1]
    result = np.zeros(len(lengths))
    for place, contribution in enumerate(comparison.contributions):
        lost = []
        for passage in range(len(lengths)):
            times = np.ones((1, len(lengths)), np.int64)
            if len(lengths) > 1:
                times[0, passage] = 0
            lev = comparison.scorer.columns(comparison.vary(text, times))[place]
            lost.append(float(contribution.losses(side, number, np.asarray(lev))[0]))
        share = contribution.shares(side)[number] - sum(lost)
        result += np.array(lost) + lengths * share
    return result.tolist()


def contributions(text: ExplainedText) -> list[float]:
    return [passage.contribution for passage in text.passages]


def check_places(verifier: Verifier, text: ExplainedText) -> None:
    """All tokens are in passages, once, in their order, where the user wrote them."""
    spans = verifier.members[0].tokenizer.tokenize(text.text).spans.tolist()
    inside: list[list[int]] = []
    before = 0
    for passage in text.passages:
        assert before <= passage.start < passage.end <= len(text.text)
        before = passage.end
        spans_inside = [
            span for span in spans if passage.start <= span[0] and span[1] <= passage.end
        ]
        assert spans_inside[0][0] == passage.start
        assert spans_inside[-1][1] == passage.end
        inside += spans_inside
        read = [[token.start, token.end] for token in passage.tokens]
        assert read == spans_inside[: len(read)]  # a network reads a passage from its beginning
    assert inside == spans


# Passages


@pytest.mark.parametrize("name", NAMES)
def test_passages_hold_all_tokens_once_in_order_where_the_user_wrote_them(
    name: str, verifiers: dict[str, Verifier]
) -> None:
    verifier = verifiers[name]
    texts = [TEXTS[0], ODD, "Word", "two words"]
    result = explain_texts(verifier, texts[:2], texts[2:])
    assert [text.text for text in result.texts] == texts
    assert [text.side for text in result.texts] == ["first", "first", "second", "second"]
    assert [text.name for text in result.texts] == ["first-1", "first-2", "second-1", "second-2"]
    for text in result.texts:
        check_places(verifier, text)
    assert [len(text.passages) for text in result.texts[2:]] == [1, 1]
    assert len(result.texts[0].passages) > 3


pieces = st.lists(
    st.sampled_from([*ODD.split(" "), "*a b*", "…", "—", "''", "e\u0301", "\n", "the", "etc…"]),
    min_size=1,
    max_size=40,
).flatmap(lambda words: st.sampled_from([" ", "", "\n"]).map(lambda gap: gap.join(words)))


@given(text=pieces)
@settings(max_examples=40)
def test_passages_of_any_text_are_in_order_and_apart(
    text: str, verifiers: dict[str, Verifier]
) -> None:
    verifier = verifiers["network"]
    if not verifier.members[0].tokenizer.tokens(text):
        return
    (result, _) = explain_texts(verifier, text, "it was he").texts
    check_places(verifier, result)


def test_passages_begin_where_the_windows_of_the_first_network_do(
    verifiers: dict[str, Verifier],
) -> None:
    mixed = verifiers["mixed"]
    windows = [member.windows for member in mixed.members if member.windows is not None]
    assert len(windows) == 1
    for tokens in (1, 9, 52, 53, 500):
        comparison = mixed.compare(any_words(tokens), "a")
        starts = comparison.passages(comparison.sides[0][0])
        np.testing.assert_array_equal(starts, spread_starts(tokens, windows[0]))
    comparison = verifiers["ngrams"].compare(any_words(60), "a")
    starts = comparison.passages(comparison.sides[0][0])
    assert starts.tolist() == [0, 25, 50]  # without one, the default


# Attention


def passages_of(result: Explanation) -> list[ExplainedPassage]:
    return [passage for text in result.texts for passage in text.passages]


@pytest.mark.parametrize("name", ["network", "mixed"])
def test_attention_sums_to_one_in_a_text_and_in_a_passage(
    name: str, verifiers: dict[str, Verifier]
) -> None:
    result = explain_texts(verifiers[name], [TEXTS[0], ODD], "Word")
    assert result.has_attention
    for text in result.texts:
        assert sum(passage.attention or 0 for passage in text.passages) == pytest.approx(1)
        for passage in text.passages:
            assert sum(token.attention for token in passage.tokens) == pytest.approx(1)
            assert all(token.attention > 0 for token in passage.tokens)


@pytest.mark.parametrize("name", ["ngrams", "profile"])
def test_without_a_network_there_is_no_attention(name: str, verifiers: dict[str, Verifier]) -> None:
    result = explain_texts(verifiers[name], TEXTS[0], TEXTS[1])
    assert not result.has_attention
    assert all(passage.attention is None and not passage.tokens for passage in passages_of(result))


def test_windows_have_the_networks_attention_as_it_is_with_prefix_and_overlap(
    verifiers: dict[str, Verifier],
) -> None:
    verifier = verifiers["network"]  # its windows of 10 tokens share 2
    side = Document(text=any_words(30), topic="ships")
    result = explain_texts(verifier, side, Document(text=any_words(12)), in_windows=True)
    first, second = (text for text in result.texts if isinstance(text, TextInWindows))
    network, encoded = *verifier.members, verifier.members[0].attend(side, side.text.split())
    assert encoded is not None
    assert len(first.windows) == len(encoded.windows.starts) > 2
    for at, window in enumerate(first.windows):
        start, count = encoded.windows.starts[at], encoded.windows.counts[at]
        words = [side.text[token.start : token.end] for token in window.tokens]
        assert words == side.text.split()[start : start + count]
        assert side.text[window.start : window.end] == " ".join(words)
        attention = [window.prefix_attention, *(token.attention for token in window.tokens)]
        assert attention == encoded.token_attention[at, : count + 1].tolist()
        assert sum(attention) == pytest.approx(1)
        assert window.attention == encoded.window_attention[0, at]
        assert (window.network, window.prefix) == (network.name, "<ships>")
    before, after = first.windows[:2]
    assert [(t.start, t.end) for t in before.tokens[-2:]] == [
        (t.start, t.end) for t in after.tokens[:2]
    ]
    assert before.tokens[-1].attention != after.tokens[1].attention
    assert {window.prefix for window in second.windows} == {"<no topic>"}
    plain = explain_texts(verifier, side, Document(text=any_words(12)))
    assert all(type(text) is ExplainedText for text in plain.texts)
    assert [text.passages for text in result.texts] == [text.passages for text in plain.texts]


def test_windows_of_several_networks_are_each_shown(small_run: SmallRun) -> None:
    unaware = replace(
        small_run.model,
        config=small_run.config.with_setting("data.hidden_topics=1"),
        folder=Path("unaware"),
    )
    verifier = Verifier(make_members([small_run.model, unaware]))
    text = explain_texts(verifier, TEXTS[0], TEXTS[1], in_windows=True).texts[0]
    assert isinstance(text, TextInWindows)
    half = len(text.windows) // 2
    names = [(window.network, window.prefix) for window in text.windows]
    assert names == [("model", "<no topic>")] * half + [("unaware", "")] * half


def test_windows_of_a_model_without_a_network_are_an_error(verifiers: dict[str, Verifier]) -> None:
    with pytest.raises(OptionError, match="has no network, and only networks have attention"):
        explain_texts(verifiers["ngrams"], TEXTS[0], TEXTS[1], in_windows=True)


def test_on_a_device_of_torchs_the_network_looks_as_well(
    small_run: SmallRun, verifiers: dict[str, Verifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_the_processor(model: Model, device: str) -> DeviceRuntime:
        weights, data = model.network_weights(), model.config.data
        place = torch.device("cpu")  # there need be no GPU
        return DeviceRuntime(weights, model.vocabulary, data.windows, model.config.encoder, place)

    monkeypatch.setattr("adhominem.model.member._device_runtime", on_the_processor)
    verifier = load(small_run.folder, device="cuda")
    assert isinstance(verifier.members[0].encoder, DeviceRuntime)
    result = explain_texts(verifier, TEXTS[0], TEXTS[1])
    expected = explain_texts(verifiers["network"], TEXTS[0], TEXTS[1])
    for text, other in zip(result.texts, expected.texts, strict=True):
        for one, two in zip(text.passages, other.passages, strict=True):
            assert one.attention == pytest.approx(two.attention, abs=1e-5)
            assert one.contribution == pytest.approx(two.contribution, abs=1e-4)
            shares = [token.attention for token in one.tokens]
            assert shares
            assert shares == pytest.approx([token.attention for token in two.tokens], abs=1e-5)


@pytest.mark.parametrize("tokens", [3, 8, 11, 50, 52, 90])
def test_attention_is_the_networks_with_what_two_windows_saw_averaged(
    tokens: int, verifiers: dict[str, Verifier]
) -> None:
    verifier = verifiers["network"]
    text = " ".join(TEXTS[0].split()[:tokens])
    member = verifier.members[0]
    words = member.tokenizer.tokenize(text)
    seen = member.attend(Document(text=text), words.tokens)
    assert seen is not None
    (result, _) = explain_texts(verifier, text, "it was he").texts
    starts, counts = seen.windows.starts.tolist(), seen.windows.counts.tolist()
    for at, passage in enumerate(result.passages):
        assert passage.attention == pytest.approx(float(seen.window_attention[0, at]))
        end = starts[at + 1] if at + 1 < len(starts) else len(words.tokens)
        slow = []
        for token in range(starts[at], min(end, starts[at] + counts[at])):
            looks = [
                float(seen.token_attention[window, 1 + token - start])
                for window, (start, count) in enumerate(zip(starts, counts, strict=True))
                if start <= token < start + count
            ]
            slow.append(sum(looks) / len(looks))
        expected = [value / sum(slow) for value in slow]
        assert [token.attention for token in passage.tokens] == pytest.approx(expected)


def test_attention_of_several_networks_is_their_mean(
    small_run: SmallRun, verifiers: dict[str, Verifier]
) -> None:
    weights = {
        name: value * np.float32(1.5) if "attention" in name else value
        for name, value in small_run.model.weights.items()
    }
    other = replace(small_run.model, weights=weights)
    looks = [
        explain_texts(Verifier(make_members(models)), TEXTS[0], TEXTS[1])
        for models in ([small_run.model], [other], [small_run.model, other])
    ]
    one, two, both = (passages_of(attention) for attention in looks)
    assert [share.attention for share in one] != [share.attention for share in two]
    for first, second, mean in zip(one, two, both, strict=True):
        assert first.attention is not None
        assert second.attention is not None
        assert mean.attention == pytest.approx((first.attention + second.attention) / 2)
        for tokens in zip(first.tokens, second.tokens, mean.tokens, strict=True):
            shares = [token.attention for token in tokens]
            assert shares[2] == pytest.approx((shares[0] + shares[1]) / 2)


def test_a_network_with_tokens_of_its_own_is_not_shown_on_those_of_another(
    small_run: SmallRun, ngram_run: NgramRun
) -> None:
    config = small_run.config.with_setting('data.normaliser.steps=["quotes"]')
    odd_one = replace(small_run.model, config=config)
    verifier = Verifier(make_members([ngram_run.model, odd_one]))
    tokens = [len(member.tokenizer.tokens(ODD)) for member in verifier.members]
    assert tokens[0] != tokens[1]
    result = explain_texts(verifier, 2 * ODD, TEXTS[0])
    assert not result.has_attention
    for text in result.texts:
        check_places(verifier, text)


# Contributions


@pytest.mark.parametrize("name", NAMES)
def test_a_contribution_is_what_the_product_loses_and_a_share_by_length(
    name: str, verifiers: dict[str, Verifier]
) -> None:
    verifier = verifiers[name]
    texts = [
        [Document(text=TEXTS[0]), Document(text=ODD), Document(text="Well , no")],
        [Document(text=TEXTS[1])],
    ]
    result = explain_texts(verifier, *texts)
    places = [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert len(result.texts[2].passages) == 1
    for text, (side, number) in zip(result.texts, places, strict=True):
        slow = slow_contributions(verifier, texts, side, number)
        # 32-bit products round by how many rows they have, and by the processor.
        assert contributions(text) == pytest.approx(slow, abs=1e-5)
        assert any(abs(value) > 1e-4 for value in slow)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", [False, True])
def test_all_passages_add_up_to_the_log_bayes_factor(
    name: str, known: bool, verifiers: dict[str, Verifier]
) -> None:
    verifier = verifiers[name]
    population = verifier.population(OTHERS) if known else None
    for sides in ((TEXTS[0], TEXTS[1]), ([TEXTS[0], ODD, "Well , no"], TEXTS[1:3])):
        result = explain_texts(verifier, *sides, population=population)
        whole = verifier.scorer(*([verifier.encode(side)] for side in map(as_list, sides)),
                                population).unbounded[0]  # fmt: skip
        by_side = {
            side: sum(sum(contributions(text)) for text in result.texts if text.side == side)
            for side in ("first", "second")
        }
        assert by_side["first"] == pytest.approx(by_side["second"], abs=1e-6)  # each has half
        total = sum(by_side.values())
        assert total == pytest.approx(result.balance.log_bayes_factor, abs=1e-6)
        assert total == pytest.approx(whole, abs=1e-6)


def as_list(side: str | list[str]) -> list[str]:
    return [side] if isinstance(side, str) else side


def test_a_passage_that_is_like_the_other_side_speaks_for_one_author(
    verifiers: dict[str, Verifier],
) -> None:
    """A text of two halves, one of which is of the other side's own words."""
    verifier = verifiers["profile"]
    rng = random.Random(0)  # in another order: a passage of both would be taken out
    half = " ".join(rng.sample(TEXTS[1].split()[:100], 100))
    strange = ["Router", "firmware", "settings", ",", "quickly", "reboot", "1984", "GPU", "."]
    other = " ".join(rng.choices(strange, k=108))
    result = explain_texts(verifier, f"{half} {other}", TEXTS[1])
    values = [
        sum(
            passage.contribution
            for passage in result.texts[0].passages
            if (passage.start < len(half)) == early
        )
        for early in (True, False)
    ]
    assert values[0] > 0.1
    assert values[1] < 0


@pytest.mark.parametrize("known", [False, True])
def test_texts_by_one_author_are_not_a_page_of_orange(known: bool) -> None:
    """Nor those by two a page of teal: with the shipped model, on the examples of the page."""
    verifier = load()
    writers = [[example_text(name) for name in names] for names in EXAMPLE_TEXTS.values()]
    others = [text[at : at + 1_100] for texts in writers for text in texts for at in (0, 1_150)]
    population = verifier.population(others) if known else None
    for texts in writers:
        for one, other in combinations(texts, 2):
            values = passages_and_sum(verifier, one, other, population)
            assert sum(value > 0 for value in values) > 0.4 * len(values)
    for one, other in product(*writers):
        values = passages_and_sum(verifier, one, other, population)
        assert sum(value < 0 for value in values) > len(values) / 2


def passages_and_sum(
    verifier: Verifier, first: str, second: str, population: Population | None
) -> list[float]:
    """What passages contribute, once it is known that their sum is right."""
    comparison = verifier.compare(first, second, population, attention=True)
    values = [
        passage.contribution
        for side, (text,) in enumerate(comparison.sides)
        for passage in explain_text(comparison, "", side, 0, text).passages
    ]
    assert sum(values) == pytest.approx(comparison.log_bayes_factor, abs=1e-6)
    return values


def test_contributions_have_no_bounds(mixed_folder: Path, verifiers: dict[str, Verifier]) -> None:
    mixed = verifiers["mixed"]
    assert mixed.calibration is not None
    tight = replace(mixed.calibration, lower_bound=-1e-6, upper_bound=1e-6, bounds=())
    bounded = explain_texts(
        Verifier(make_members(read_models(mixed_folder)), tight), TEXTS[0], TEXTS[1]
    )
    free = explain_texts(mixed, TEXTS[0], TEXTS[1])
    assert abs(bounded.verification.log_bayes_factor) <= 1e-6
    for one, other in zip(bounded.texts, free.texts, strict=True):
        assert contributions(one) == pytest.approx(contributions(other))


def test_a_topic_is_heard_when_a_passage_is_left_out(verifiers: dict[str, Verifier]) -> None:
    verifier = verifiers["network"]
    texts = [[Document(text=TEXTS[0], topic="ships and cats")], [Document(text=TEXTS[1])]]
    result = explain_texts(verifier, *texts)
    slow = slow_contributions(verifier, texts, 0, 0)
    assert contributions(result.texts[0]) == pytest.approx(slow, abs=1e-6)
    without = explain_texts(verifier, TEXTS[0], TEXTS[1])
    assert contributions(without.texts[0]) != pytest.approx(slow, rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_turning_the_sides_round_turns_the_explanation_round(
    name: str, verifiers: dict[str, Verifier]
) -> None:
    one = explain_texts(verifiers[name], [TEXTS[0], TEXTS[2]], TEXTS[1])
    other = explain_texts(verifiers[name], TEXTS[1], [TEXTS[0], TEXTS[2]])
    turned = [*other.texts[1:], *other.texts[:1]]
    for first, second in zip(one.texts, turned, strict=True):
        assert first.text == second.text
        assert {first.side, second.side} == {"first", "second"}
        assert contributions(first) == pytest.approx(contributions(second), abs=1e-7)
        assert [passage.attention for passage in first.passages] == [
            passage.attention for passage in second.passages
        ]
    assert len(one.ngrams) == len(other.ngrams)
    by_name = {(ngram.channel, ngram.ngram): ngram for ngram in other.ngrams}
    shared = 0
    for ngram in one.ngrams:
        again = by_name.get((ngram.channel, ngram.ngram))
        if again is None or abs(again.contribution - ngram.contribution) > 1e-7:
            continue
        shared += 1
        assert (again.first, again.second) == (ngram.second, ngram.first)
        places = sorted(((place.text - 1) % 3, place.start, place.end) for place in again.places)
        assert sorted((place.text, place.start, place.end) for place in ngram.places) == places
    assert shared >= 0.8 * len(one.ngrams)  # where two are as strong, either may be shown


def test_a_population_changes_what_passages_contribute(verifiers: dict[str, Verifier]) -> None:
    verifier = verifiers["mixed"]
    population = verifier.population(OTHERS)
    result = explain_texts(verifier, TEXTS[0], TEXTS[1], population=population)
    texts = [[Document(text=text)] for text in TEXTS[:2]]
    slow = slow_contributions(verifier, texts, 0, 0, population)
    assert contributions(result.texts[0]) == pytest.approx(slow, abs=1e-5)
    without = explain_texts(verifier, TEXTS[0], TEXTS[1])
    assert contributions(without.texts[0]) != pytest.approx(slow, rel=1e-3)


# The whole


def test_the_comparison_itself_is_that_of_verify(verifiers: dict[str, Verifier]) -> None:
    for verifier in verifiers.values():
        result = explain_texts(verifier, TEXTS[:2], TEXTS[2], prior_same_author=0.1, delta=0.2)
        expected = verifier.verify(TEXTS[:2], TEXTS[2], prior_same_author=0.1, delta=0.2)
        assert result.verification == expected


def test_it_tells_how_far_it_is_and_can_be_written_as_json(verifiers: dict[str, Verifier]) -> None:
    heard: list[float] = []
    result = explain_texts(verifiers["mixed"], TEXTS[:2], TEXTS[2:5], on_progress=heard.append)
    assert heard == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])
    data = json.loads(json.dumps(result.to_json()))
    assert {"schema": 1, **data["verification"]} == result.verification.to_json()
    assert [text["text"] for text in data["texts"]] == TEXTS[:5]
    assert len(data["ngrams"]) == len(result.ngrams) > 0


@pytest.mark.parametrize("name", ["network", "ngrams"])
def test_a_model_without_a_profile_has_no_ngrams_to_show(
    name: str, verifiers: dict[str, Verifier]
) -> None:
    assert explain_texts(verifiers[name], TEXTS[0], TEXTS[1]).ngrams == ()
