"""Which n-grams contribute, how much, and where they stand: held against doing it by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from conftest import NgramRun, rich_rows
from hypothesis import given
from hypothesis import strategies as st

from adhominem import Document, Verifier, load
from adhominem.model.folder import read_models
from adhominem.model.member import Member, make_members
from adhominem.ngrams.encoder import NgramEncoder, NgramVariants
from adhominem.ngrams.table import CHANNELS, END, MASK, START, Ngram, shape
from adhominem.score.contributions import ProductContribution
from adhominem.text.tokenizer import Tokenizer
from adhominem.verify import ngram_contributions as module
from adhominem.verify.explanation import Explanation, explain_texts
from adhominem.verify.ngram_contributions import (
    NgramContribution,
    NgramText,
    Occurrences,
    explain_ngrams,
    group,
    inside,
    name_tokens,
    ngram_members,
    shown,
)
from adhominem.verify.verification import ComparedSides

ROWS = rich_rows("letters", 3, 2, "-ngrams-")
TEXTS = [row["text"] for row in ROWS]
OTHERS = [row["text"] for row in rich_rows("letters", 6, 1, "-others-")]
FloatArray = npt.NDArray[np.float64]
Side = list[str]
NAMES = ["profile", "mixed", "both"]


@pytest.fixture(scope="module")
def verifiers(profile_folder: Path, mixed_folder: Path, ngram_run: NgramRun) -> dict[str, Verifier]:
    """A profile alone, not calibrated; with others; with a projection, not calibrated."""
    return {
        "profile": load(profile_folder),
        "mixed": load(mixed_folder),
        "both": Verifier(make_members([ngram_run.model, *read_models(profile_folder)])),
    }


@pytest.fixture
def profile(verifiers: dict[str, Verifier]) -> Verifier:
    return verifiers["profile"]


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """All n-grams are shown, each by itself."""
    monkeypatch.setattr(module, "_CANDIDATES", 10**6)
    monkeypatch.setattr(module, "_SHOWN", 10**6)
    monkeypatch.setattr(module, "group", lambda occurrences, ngrams: ngrams[:, None].tolist())
    monkeypatch.setattr(
        module, "are_names", lambda found, names: np.zeros(len(found.is_pair), bool)
    )


def encoder_of(member: Member) -> NgramEncoder:
    assert isinstance(member.encoder, NgramEncoder)
    return member.encoder


def habits(comparison: ComparedSides) -> tuple[NgramContribution, ...]:
    ngrams, _ = explain_ngrams(comparison)
    return ngrams


def slow_contributions(comparison: ComparedSides) -> dict[Ngram, float]:
    """The n-gram's part of each product, and of all else by the squares of its departures.

    In the profile it is that of its dimension. In another member the n-gram's row is taken as often
    as in the profile, in units of one occurrence.
    """
    terms: dict[Ngram, float] = {}
    levels: dict[tuple[Ngram, int], float] = {}
    squares: dict[Ngram, float] = {}
    whole = left = 0.0
    order = sorted(
        zip(comparison.members, comparison.contributions, strict=True),
        key=lambda pair: not getattr(pair[0].encoder, "is_profile", False),
    )
    for member, part in order:
        if not (isinstance(member.encoder, NgramEncoder) and isinstance(part, ProductContribution)):
            continue
        encoder, table = member.encoder, member.encoder.counter.table
        texts = [text.tokens(member).tokens for text in comparison.texts]
        directions = np.concatenate(part.directions)  # (texts, size)
        counts = sum(encoder.counter.count(text) for text in texts)
        columns = np.flatnonzero(counts)
        left += part.value - part.product
        if encoder.is_profile:
            columns = columns[encoder.has_own_dimension(columns)]
            means = [
                shares @ levs - part.centre
                for shares, levs in zip(part.text_shares, part.levs, strict=True)
            ]
            whole = sum(float(mean @ mean) for mean in means)
        for column in columns.tolist():
            ngram, one = table.ngram(column), np.ones((1, 1), np.float32)
            row = encoder.levs(np.array([column]), one)[0].astype(float)
            if encoder.is_profile:
                terms[ngram] = 0.0
                squares[ngram] = sum(float(row @ mean) ** 2 for mean in means)
            elif ngram not in terms:
                continue
            for number, text in enumerate(texts):
                values, units = NgramVariants(encoder, text, np.zeros(1, np.int64)).values()
                if encoder.is_profile:
                    excess = values[column] - row @ part.centre
                    levels[ngram, number] = excess / units[column]
                level = levels[ngram, number] * units[column]
                terms[ngram] += level * float(row @ directions[number])
    return {ngram: term + left * squares[ngram] / whole for ngram, term in terms.items()}


def by_name(slow: dict[Ngram, float]) -> dict[tuple[str, str], list[float]]:
    """Two n-grams may be shown alike."""
    result: dict[tuple[str, str], list[float]] = {}
    for ngram, value in slow.items():
        result.setdefault((CHANNELS[ngram.channel], shown(ngram)), []).append(value)
    return result


# How much


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", [False, True])
def test_a_contribution_is_the_part_of_the_ngram_in_the_log_bayes_factor(
    name: str, known: bool, verifiers: dict[str, Verifier], everything: None
) -> None:
    verifier = verifiers[name]
    population = verifier.population(OTHERS) if known else None
    comparison = verifier.compare([TEXTS[0], TEXTS[1][:150]], [TEXTS[2][:300]], population)
    result = habits(comparison)
    slow = by_name(slow_contributions(comparison))
    assert len(result) == sum(map(len, slow.values())) > 100
    for ngram in result:
        near = min(slow[ngram.channel, ngram.ngram], key=lambda v: abs(v - ngram.contribution))
        assert ngram.contribution == pytest.approx(near, rel=1e-5, abs=1e-8)


def test_all_dimensions_of_a_profile_add_up_to_what_it_contributes(
    profile: Verifier, everything: None
) -> None:
    """Those of n-grams that occur are what they contribute; the others are the rest."""
    comparison = profile.compare(TEXTS[0], TEXTS[2])
    (part,) = comparison.contributions
    assert isinstance(part, ProductContribution)
    assert part.value - part.product < 0
    (u,), (v,) = (levs - part.centre for levs in part.levs)
    terms = u * part.directions[0][0] + v * part.directions[1][0]
    squares = u**2 + v**2
    terms += (part.value - part.product) * squares / squares.sum()
    assert terms.sum() == pytest.approx(comparison.log_bayes_factor)
    for ngram in habits(comparison):
        assert np.abs(terms - ngram.contribution).min() < 1e-7


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", [False, True])
def test_the_balance_is_that_of_the_log_bayes_factor(
    name: str, known: bool, verifiers: dict[str, Verifier]
) -> None:
    verifier = verifiers[name]
    population = verifier.population(OTHERS) if known else None
    result = explain_texts(verifier, TEXTS[:2], TEXTS[2], population=population)
    parts, comparison = result.balance, verifier.compare(TEXTS[:2], TEXTS[2], population)
    assert parts.log_bayes_factor == pytest.approx(comparison.log_bayes_factor)
    ngrams = parts.habits + parts.names + parts.other_ngrams
    assert ngrams + parts.rest == pytest.approx(parts.log_bayes_factor, abs=1e-12)
    assert parts.habits == pytest.approx(sum(ngram.contribution for ngram in result.ngrams))
    assert ngrams == pytest.approx(sum(slow_contributions(comparison).values()), abs=1e-6)
    passages = [passage.contribution for text in result.texts for passage in text.passages]
    assert sum(passages) == pytest.approx(parts.log_bayes_factor, abs=1e-6)


def test_the_strongest_come_first_and_not_too_many(profile: Verifier) -> None:
    result = habits(profile.compare(TEXTS[0], TEXTS[1]))
    strengths = [abs(ngram.contribution) for ngram in result]
    assert strengths == sorted(strengths, reverse=True)
    assert len(result) == 30
    assert {ngram.contribution > 0 for ngram in result} == {True, False}


def test_the_levs_of_the_sides_are_left_as_they_are(verifiers: dict[str, Verifier]) -> None:
    comparison = verifiers["both"].compare(TEXTS[:2], TEXTS[2])
    before = [levs.copy() for levs in comparison.levs]
    explain_ngrams(comparison)
    for levs, kept in zip(comparison.levs, before, strict=True):
        np.testing.assert_array_equal(levs, kept)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_of_a_few_words_makes_no_contribution_absurd(
    name: str, verifiers: dict[str, Verifier]
) -> None:
    for short in ("Dear", "§ §", "! ,", "of the"):
        result = explain_texts(verifiers[name], short, TEXTS[0])
        values = [ngram.contribution for ngram in result.ngrams]
        assert np.isfinite(values).all()
        assert max(map(abs, values)) < 20 * max(1.0, abs(result.balance.log_bayes_factor))


# Habits


def with_habit(text: str, habit: str, times: int = 12) -> str:
    words = text.split()
    for at in range(times, 0, -1):
        words.insert(at * len(words) // (times + 1), habit)
    return " ".join(words)


def listed(result: Explanation, habit: str) -> NgramContribution:
    (ngram,) = [ngram for ngram in result.ngrams if ngram.ngram == habit]
    return ngram


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("habit", ["!", "quickly"])
@pytest.mark.parametrize("known", [False, True])
def test_a_habit_of_both_speaks_for_one_author_and_that_of_one_alone_against(
    name: str,
    habit: str,
    known: bool,
    verifiers: dict[str, Verifier],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither mark nor word is in the texts before; the word is one of another genre."""
    for number in ("_SHOWN", "_CANDIDATES"):  # of so small a model, any word may be among them
        monkeypatch.setattr(module, number, 5_000)
    verifier = verifiers[name]
    population = verifier.population(OTHERS) if known else None
    first, second = (text.replace("!", ".") for text in (TEXTS[0], TEXTS[2]))
    both, one, other = (
        explain_texts(verifier, *texts, population=population)
        for texts in (
            (with_habit(first, habit), with_habit(second, habit)),
            (with_habit(first, habit), second),
            (first, with_habit(second, habit)),
        )
    )
    shared = listed(both, habit)
    assert shared.contribution > 0
    assert (shared.first, shared.second) == (12, 12)
    assert shared.first_rate > shared.usual_rate
    alone = [listed(one, habit).contribution, listed(other, habit).contribution]
    assert max(alone) < shared.contribution
    if name != "both":  # to a projection that was not calibrated, another n-gram may be as good
        assert max(alone) < 0
    assert listed(one, habit).second == listed(other, habit).first == 0
    if habit == "quickly":  # a mark of many sentences is too frequent to do much to the number
        assert both.balance.log_bayes_factor > max(
            one.balance.log_bayes_factor, other.balance.log_bayes_factor
        )


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_sides_does_not_matter(name: str, verifiers: dict[str, Verifier]) -> None:
    there = explain_texts(verifiers[name], TEXTS[:2], TEXTS[2])
    back = explain_texts(verifiers[name], TEXTS[2], TEXTS[:2])
    assert there.balance.log_bayes_factor == pytest.approx(back.balance.log_bayes_factor)
    assert there.balance.rest == pytest.approx(back.balance.rest)
    turned = {ngram.ngram: ngram for ngram in back.ngrams}
    for ngram in there.ngrams[:15]:
        again = turned[ngram.ngram]
        assert again.contribution == pytest.approx(ngram.contribution)
        assert (again.first, again.second) == (ngram.second, ngram.first)
        assert (again.first_rate, again.second_rate) == (ngram.second_rate, ngram.first_rate)
        assert again.usual_rate == pytest.approx(ngram.usual_rate)


# Rates


def test_rates_are_counts_for_every_thousand_tokens(
    verifiers: dict[str, Verifier], everything: None
) -> None:
    verifier = verifiers["mixed"]
    result = habits(verifier.compare(TEXTS[:2], TEXTS[2]))
    sizes = [
        sum(len(verifier.members[2].tokenizer.tokens(text)) for text in side)
        for side in (TEXTS[:2], TEXTS[2:3])
    ]
    for ngram in result:
        assert ngram.first_rate == pytest.approx(1_000 * ngram.first / sizes[0])
        assert ngram.second_rate == pytest.approx(1_000 * ngram.second / sizes[1])


def test_an_ngram_at_its_usual_rate_departs_by_nothing(profile: Verifier) -> None:
    """As many as are usual have the value of the centre."""
    comparison = profile.compare(TEXTS[0], TEXTS[2])
    (member,) = ngram_members(comparison)
    encoder, text = member.encoder, member.texts[0]
    columns = member.columns[encoder.has_own_dimension(member.columns)]
    usual = encoder.project_back(columns, member.contribution.centre)
    counts = text.usual_counts(columns, usual)
    often = counts >= 1
    assert often.sum() > 10
    values = (1 + np.log(counts[often])) * text.unit_values[columns[often]]
    np.testing.assert_allclose(values, usual[often], rtol=1e-6)
    np.testing.assert_allclose(
        counts[~often] * text.unit_values[columns[~often]], usual[~often], atol=1e-9
    )


# In other tables


def test_the_columns_of_ngrams_in_another_table_are_those_of_their_names(
    verifiers: dict[str, Verifier],
) -> None:
    tables = [
        encoder_of(member).table
        for name in NAMES
        for member in verifiers[name].members
        if isinstance(member.encoder, NgramEncoder)
    ]
    smaller = replace(
        tables[0],
        characters=tables[0].characters[::-3],
        tokens=tables[0].tokens[3:],
        unmasked=max(0, tables[0].unmasked - 5),
        symbols=tables[0].symbols[::-2],
        bigrams=np.arange(0, max(0, tables[0].unmasked - 4) ** 2, 7),
        shaped_bigrams=np.zeros(0, np.int64),
    )
    for one in (*tables, smaller):
        names = [one.ngram(column) for column in range(sum(one.sizes))]
        for other in (*tables, smaller):
            there = {other.ngram(column): column for column in range(sum(other.sizes))}
            columns = np.arange(0, len(names), 2)
            expected = [there.get(names[column], -1) for column in columns]
            assert one.columns_in(other, columns).tolist() == expected


# What belongs together


def read(*texts: str) -> list[NgramText]:
    nothing = np.zeros(0)
    result = []
    for text in texts:
        tokens = Tokenizer().tokenize(text)
        result.append(
            NgramText(0, 0, text, tokens.tokens, tokens.spans, 1, nothing, nothing,
                      np.zeros(0, np.int64), np.zeros(0, np.int64))
        )  # fmt: skip
    return result


def occurrences(places: dict[int, list[int]], pairs: set[int]) -> Occurrences:
    """Of n-grams by number, each with the tokens that it begins in."""
    ngrams = [ngram for ngram, tokens in places.items() for _ in tokens]
    tokens = [token for of_ngram in places.values() for token in of_ngram]
    is_pair = np.array([ngram in pairs for ngram in range(len(places))])
    return Occurrences(50, np.array(ngrams, np.int64), np.array(tokens, np.int64), is_pair)


def test_ngrams_are_together_with_the_rarest_before_them_that_is_wherever_they_are() -> None:
    places = {
        0: [3, 9, 20, 30],  # a word
        1: [3, 9, 20, 30],  # a part of it
        2: [2, 19],  # with another word before it
        3: [3, 9, 20, 30, 31, 40],  # a part of other words, too
        4: [3, 9],  # with another word after it
        5: [9],
        6: [1],  # before 2, with which it shares a word
    }
    found = occurrences(places, {2, 4, 6})
    assert group(found, np.arange(7)) == [[0, 1, 2, 4, 5], [3], [6]]
    assert group(found, np.array([4, 0, 5, 2])) == [[4, 5], [0, 2]]
    assert group(found, np.array([2, 6])) == [[2], [6]]


def slow_groups(found: Occurrences, ngrams: list[int]) -> list[list[int]]:
    """Each n-gram held against every group before it."""
    groups: list[list[int]] = []
    tokens = [set(found.token[found.ngram == at].tolist()) for at in range(len(found.is_pair))]
    for ngram in ngrams:
        holding = []
        for members in groups:
            first, *_ = members
            places = set(tokens[first])
            if found.is_pair[first] and not found.is_pair[ngram]:
                places |= {token + 1 for token in places}
            elif found.is_pair[ngram] and not found.is_pair[first]:
                places |= {token - 1 for token in places}
            if len(tokens[ngram] & places) >= 0.8 * len(tokens[ngram]):
                holding.append((len(tokens[first]), members))
        if holding:
            min(holding, key=lambda pair: pair[0])[1].append(ngram)
        else:
            groups.append([ngram])
    return groups


@given(
    st.lists(st.sets(st.integers(0, 12)), min_size=1, max_size=12),
    st.sets(st.integers(0, 11)),
    st.randoms(use_true_random=False),
)
def test_groups_are_those_of_holding_each_against_each(
    places: list[set[int]], pairs: set[int], random: Random
) -> None:
    found = occurrences({at: sorted(of) for at, of in enumerate(places)}, pairs)
    order = random.sample(range(len(places)), len(places))
    assert group(found, np.array(order)) == slow_groups(found, order)


def test_nearly_all_places_are_enough() -> None:
    places = {0: list(range(10)), 1: [*range(8), 20, 21], 2: [*range(7), 20, 21, 22]}
    assert group(occurrences(places, set()), np.array([0, 1, 2])) == [[0, 1], [2]]


def test_parts_of_a_habit_are_one_line_with_the_whole_word(profile: Verifier) -> None:
    habit = "quickly"  # of another genre
    first, second = (with_habit(text, habit) for text in (TEXTS[0], TEXTS[2]))
    result = explain_texts(profile, first, second)
    ngram = listed(result, habit)
    assert ngram.channel == "tokens"
    assert {"·q", "‹…ly› …"} <= set(ngram.with_it)
    assert ngram.ngram not in ngram.with_it
    assert len(set(ngram.with_it)) == len(ngram.with_it)
    places = [frozenset(ngram.places) for ngram in result.ngrams]
    assert len(set(places)) == len(places)


def test_together_they_contribute_what_they_do_alone(
    profile: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = profile.compare(TEXTS[0], TEXTS[2])
    slow = by_name(slow_contributions(comparison))
    for ngram in habits(comparison):
        names = {name for _, name in slow}
        assert set(ngram.with_it) < names
        if not ngram.with_it:
            values = slow[ngram.channel, ngram.ngram]
            if len(values) == 1 and len([name for name in slow if name[1] == ngram.ngram]) == 1:
                assert ngram.contribution == pytest.approx(values[0], abs=1e-9)


# Names


FREQUENT = ("the", "but", "very", "Will", "will", "we", "it", "she")


def named(*texts: str, frequent: tuple[str, ...] = FREQUENT) -> Side:
    marks = name_tokens(read(*texts), frequent)
    tokens = [token for text in read(*texts) for token in text.tokens]
    return [token for token, is_name in zip(tokens, marks, strict=True) if is_name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We saw Elizabeth there.", ["Elizabeth"]),
        ("Elizabeth left.", ["Elizabeth"]),  # a rare word
        ("But we left. Very well.", []),  # frequent words, which begin sentences
        ("We saw Will there. Will saw us.", ["Will"]),  # frequent; where it begins no sentence
        ("I said I'm here, and I'll stay.", []),
        ("The Moon and the moon.", []),  # also in small letters
        ("It is VERY odd, and NASA knows.", ["NASA"]),
        ('She said, "Well, no." and (Oh) so\nVery', ["Well", "Oh"]),  # rare ones
        ("Mr. Darcy's aunt", ["Mr.", "Darcy's"]),
    ],
)
def test_names_are_capitalised_within_sentences_or_rare(text: str, expected: Side) -> None:
    assert named(text) == expected


def test_parts_of_names_are_no_habits_and_told_together(profile: Verifier) -> None:
    first, second = (with_habit(text, "Quickly") for text in (TEXTS[0], TEXTS[2]))
    result = explain_texts(profile, first, second)
    assert "Quickly" in result.balance.named
    assert result.balance.names > 0
    for ngram in result.ngrams:
        assert ngram.ngram not in ("Quickly", "·Qui", "Quic", "uick")


# Where


def holds(ngram: NgramContribution, written: str) -> bool:
    """Whether this stretch of a text is the n-gram, as far as it is shown."""
    if ngram.channel in ("characters", "tokens"):
        return written == ngram.ngram.strip("·")
    one, other = ngram.ngram.split(" ")
    words = Tokenizer().tokens(written)
    return all(
        symbol == "…" or "‹" in symbol or symbol == word
        for symbol, word in zip((one, other), words, strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
def test_places_hold_the_ngram_and_are_as_many_as_the_counts_say(
    name: str, verifiers: dict[str, Verifier], everything: None
) -> None:
    first, second = TEXTS[:2], TEXTS[2:3]
    texts = [*first, *second]
    for ngram in habits(verifiers[name].compare(first, second)):
        assert ngram.first + ngram.second == len(ngram.places) > 0
        assert ngram.first == sum(place.text < 2 for place in ngram.places)
        assert len(set(ngram.places)) == len(ngram.places)
        for place in ngram.places:
            assert holds(ngram, texts[place.text][place.start : place.end]), ngram


def test_counts_are_those_of_the_tables(profile: Verifier, everything: None) -> None:
    first, second = TEXTS[:1], TEXTS[1:3]
    encoder, tokenizer = encoder_of(profile.members[0]), profile.members[0].tokenizer
    table = encoder.counter.table
    counts = [
        sum(encoder.counter.count(tokenizer.tokens(text)) for text in side)
        for side in (first, second)
    ]
    expected: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for column in range(sum(table.sizes)):
        ngram = table.ngram(column)
        key = (CHANNELS[ngram.channel], shown(ngram))
        expected.setdefault(key, set()).add((int(counts[0][column]), int(counts[1][column])))
    result = habits(profile.compare(first, second))
    assert all(
        (ngram.first, ngram.second) in expected[ngram.channel, ngram.ngram] for ngram in result
    )


def test_places_are_those_in_the_text_as_it_was_given(profile: Verifier, everything: None) -> None:
    """Curly quotes, dashes and soft hyphens change what the model sees, not where it stood."""
    once = "the mother’s letter — kind\u00adly the “mother’s” and the mother's of it "
    names = ("Bartholomew Abernathy", "Wilhelmina Featherstone", "Maximilian Quartermaine")
    odd = "".join(f"{once}{name} " for name in names)  # four times the same would count once
    result = habits(profile.compare(odd, TEXTS[0]))
    whole = [ngram for ngram in result if ngram.channel == "tokens"]
    seen = {odd[p.start : p.end] for ngram in whole for p in ngram.places if p.text == 0}
    assert {"the", "mother’s", "mother's", "kind\u00adly"} & seen >= {"the"}
    tokens = profile.members[0].tokenizer.tokenize(odd)
    spans = {tuple(span) for span in tokens.spans.tolist()}
    for ngram in whole:
        assert all((p.start, p.end) in spans for p in ngram.places if p.text == 0)
    for ngram in result:
        if ngram.channel == "characters":
            for place in (place for place in ngram.places if place.text == 0):
                written = odd[place.start : place.end].replace("’", "'").replace("“", '"')
                written = written.replace("”", '"')
                gram = ngram.ngram.strip("·")
                assert written == gram or "\u00ad" in written or "—" in written


# How they are shown


@pytest.mark.parametrize(
    ("ngram", "expected"),
    [
        (Ngram(0, (f"{START}th",)), "·th"),
        (Ngram(0, (f"ly{END}",)), "ly·"),
        (Ngram(0, (f"{START}I{END}",)), "·I·"),
        (Ngram(1, ("mother's",)), "mother's"),
        (Ngram(2, ("of", MASK)), "of …"),
        (Ngram(2, (MASK, ",")), "… ,"),
        (Ngram(3, ("the", shape("running"))), "the ‹…ng›"),
        (Ngram(3, (shape("Quickly"), shape("NASA"))), "‹Aa…ly› ‹AA…sa›"),
        (Ngram(3, (shape("1984"), shape(";"))), "‹number› ‹;›"),
        (Ngram(3, (shape("twenty-four"), MASK)), "‹…-ur› …"),
        (Ngram(3, ("~", "way")), "~ way"),
    ],
)
def test_an_ngram_is_shown_so_that_people_can_read_it(ngram: Ngram, expected: str) -> None:
    assert shown(ngram) == expected


@pytest.mark.parametrize(
    ("gram", "token", "span", "expected"),
    [
        ("an", "banana", (10, 16), [(11, 13), (13, 15)]),
        ("ana", "banana", (10, 16), [(11, 14), (13, 16)]),  # they may overlap
        (f"{START}ba", "banana", (10, 16), [(10, 12)]),
        (f"na{END}", "banana", (10, 16), [(14, 16)]),
        (f"{START}I{END}", "I", (3, 4), [(3, 4)]),
        ("li", "kindly", (0, 7), [(0, 7)]),  # the token is longer where it stands
        (f"aa{END}", "a" * 50 + "b", (0, 51), [(0, 51)]),  # beyond what is looked at
    ],
)
def test_a_character_ngram_stands_where_it_is_spelled(
    gram: str, token: str, span: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    assert inside(gram, token, *span) == expected


# Without


def test_a_profile_that_knows_nothing_of_the_texts_has_nothing_to_say(profile: Verifier) -> None:
    assert habits(profile.compare("§ §", "§")) == ()


def test_texts_of_nothing_but_names_have_no_habits(
    profile: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "are_names", lambda of, names: np.ones_like(of.is_pair))
    ngrams, balance = explain_ngrams(profile.compare(TEXTS[0], TEXTS[1]))
    assert ngrams == ()
    assert balance.names == pytest.approx(balance.log_bayes_factor - balance.rest)
    assert balance.other_ngrams == 0


def test_the_explanation_has_them(verifiers: dict[str, Verifier]) -> None:
    mixed = verifiers["mixed"]
    result = explain_texts(mixed, [Document(text=TEXTS[0])], TEXTS[1])
    assert result.ngrams == habits(mixed.compare(TEXTS[0], TEXTS[1]))
