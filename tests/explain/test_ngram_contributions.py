"""Which n-grams contribute, how much, and where they stand: held against doing it by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from conftest import rich_rows

from adhominem import Document, Population, Verifier, load
from adhominem.encoders.ngrams.counter import CHANNELS, END, MASK, START, Ngram, shape
from adhominem.encoders.ngrams.encoder import NgramEncoder
from adhominem.explain import ngram_contributions as module
from adhominem.explain.explanation import explain_texts
from adhominem.explain.ngram_contributions import NgramContribution, explain_ngrams, shown
from adhominem.models.member import Member
from adhominem.scoring.styles import unit
from adhominem.text.tokenizer import Tokenizer
from adhominem.verify.comparison import Comparison

ROWS = rich_rows("letters", 3, 2, "-ngrams-")
TEXTS = [row["text"] for row in ROWS]
FloatArray = npt.NDArray[np.float64]
Side = list[str]


@pytest.fixture(scope="module")
def profile(profile_folder: Path) -> Verifier:
    return load(profile_folder)


@pytest.fixture(scope="module")
def mixed(mixed_folder: Path) -> Verifier:
    return load(mixed_folder)


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """All n-grams are tried and shown."""
    monkeypatch.setattr(module, "_CANDIDATES", 10**6)
    monkeypatch.setattr(module, "_SHOWN", 10**6)


def sides_of(
    verifier: Verifier, first: Side, second: Side, population: Population | None = None
) -> Comparison:
    return verifier.compare(first, second, population)


def encoder_of(member: Member) -> NgramEncoder:
    assert isinstance(member.encoder, NgramEncoder)
    return member.encoder


def unbounded(verifier: Verifier, raw: float, population: Population | None) -> float:
    calibration = verifier.scales.of(population).calibration
    return raw if calibration is None else float(calibration.unbounded(raw))


def slow_contributions(
    verifier: Verifier, first: Side, second: Side, population: Population | None = None
) -> dict[Ngram, float]:
    """Of each n-gram that occurs and has its own dimension: made usual by itself, in all texts.

    In the profile its dimension gets the value of the centre, or 0 if that is negative. In any
    other n-gram member its level (one more than the log of its count) changes as much.
    """
    begins = np.cumsum([0, *(member.lev_size for member in verifier.members)])
    number = next(
        at
        for at, member in enumerate(verifier.members)
        if isinstance(member.encoder, NgramEncoder) and member.encoder.is_profile
    )
    lead = verifier.members[number]
    encoder, styles = encoder_of(lead), lead.styles
    assert styles is not None
    dimensions = slice(begins[number], begins[number + 1])
    levs = [verifier.encode(side).astype(np.float64) for side in (first, second)]
    centre = styles.centre(
        np.concatenate([side[:, dimensions] for side in levs]),
        verifier.scorer.centres(population)[number],
    )
    tokens = [[lead.tokenizer.tokens(text) for text in side] for side in (first, second)]
    counts = sum(encoder.counter.count(text) for side in tokens for text in side)
    columns = np.flatnonzero(counts)
    columns = columns[encoder.has_own_dimension(columns)]
    levels: dict[tuple[int, int], FloatArray] = {}  # of each text: how far from usual
    for side, of_side in enumerate(tokens):
        for place, text in enumerate(of_side):
            values, units = encoder.values(text)
            usual = np.maximum(encoder.project_back(columns, centre), 0)
            levels[side, place] = (values[columns] - usual) / units[columns]
    others = []  # the other n-gram members, and the columns of what occurs by name
    for at, member in enumerate(verifier.members):
        if at != number and isinstance(member.encoder, NgramEncoder):
            table = member.encoder.counter.table
            here = sum(member.encoder.counter.count(text) for side in tokens for text in side)
            names = {table.ngram(int(column)): int(column) for column in np.flatnonzero(here)}
            others.append((at, member.encoder, names))
    whole = unbounded(verifier, verifier.scorer(*_sets(levs), population).raw[0], population)
    lost = {}
    for index, column in enumerate(columns.tolist()):
        ngram = encoder.counter.table.ngram(column)
        changed = [side.copy() for side in levs]
        row = encoder.rows(np.array([column]))[0]
        for (side, place), level in levels.items():
            usual = max(0.0, float(row @ centre))
            part = changed[side][place, dimensions]
            changed[side][place, dimensions] = np.where(row != 0, row * usual, part)
            for at, other, names in others:
                if ngram in names:
                    _, units = other.values(tokens[side][place])
                    step = level[index] * units[names[ngram]]
                    its = slice(begins[at], begins[at + 1])
                    changed[side][place, its] -= step * other.rows(np.array([names[ngram]]))[0]
        raw = verifier.scorer(*_sets(changed), population).raw[0]
        lost[ngram] = whole - unbounded(verifier, raw, population)
    return lost


def _sets(levs: list[FloatArray]) -> list[list[npt.NDArray[np.float32]]]:
    return [[side.astype(np.float32)] for side in levs]


def by_name(slow: dict[Ngram, float]) -> dict[tuple[str, str], list[float]]:
    """Two n-grams may be shown alike."""
    result: dict[tuple[str, str], list[float]] = {}
    for ngram, value in slow.items():
        result.setdefault((CHANNELS[ngram.channel], shown(ngram)), []).append(value)
    return result


# How much


@pytest.mark.parametrize("name", ["profile", "mixed"])
@pytest.mark.parametrize("known", [False, True])
def test_a_contribution_is_what_is_lost_when_the_ngram_becomes_usual_in_all_texts(
    name: str, known: bool, profile: Verifier, mixed: Verifier, everything: None
) -> None:
    verifier = {"profile": profile, "mixed": mixed}[name]
    first, second = [TEXTS[0], TEXTS[1][:150]], [TEXTS[2][:300]]
    others = [row["text"] for row in rich_rows("letters", 6, 1, "-others-")]
    population = verifier.population(others) if known else None
    result = explain_ngrams(sides_of(verifier, first, second, population))
    slow = by_name(slow_contributions(verifier, first, second, population))
    assert len(result) > 100
    for ngram in result:
        near = min(slow[ngram.channel, ngram.ngram], key=lambda v: abs(v - ngram.contribution))
        assert ngram.contribution == pytest.approx(near, rel=1e-3, abs=2e-5)
    strongest = max(abs(value) for values in slow.values() for value in values)
    assert abs(result[0].contribution) == pytest.approx(strongest, rel=1e-3)


def test_the_strongest_come_first_and_not_too_many(profile: Verifier) -> None:
    result = explain_ngrams(sides_of(profile, TEXTS[:1], TEXTS[1:2]))
    strengths = [abs(ngram.contribution) for ngram in result]
    assert strengths == sorted(strengths, reverse=True)
    assert len(result) == 30
    assert {ngram.contribution > 0 for ngram in result} == {True, False}


def test_the_slope_finds_those_that_are_worth_a_try(
    profile: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in TEXTS[1:4]:
        sides = sides_of(profile, TEXTS[:1], [other])
        result = explain_ngrams(sides)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_CANDIDATES", 10**6)
            everything = explain_ngrams(sides)
        for quick, thorough in zip(result[:10], everything[:10], strict=True):
            assert quick.contribution == pytest.approx(thorough.contribution, rel=1e-9)


@pytest.mark.parametrize("usual", [0.5, 2.0])
def test_the_steepest_are_those_along_which_the_cosine_changes_most(
    usual: float, profile: Verifier
) -> None:
    """By taking a small step along each; texts shorter than usual are not stretched."""
    sides = sides_of(profile, TEXTS[:2], TEXTS[2:5])
    styles = profile.members[0].styles
    assert styles is not None
    levs = [part.astype(np.float64) for part in sides.levs]
    centre = styles.centre(np.concatenate(levs), None)
    lengths = np.linalg.norm(np.concatenate(levs) - centre, axis=1)
    unusual = module._Unusual(module._NgramMember(sides, 0))
    unusual._usual_length = usual * float(np.median(lengths))
    if usual < 1:
        assert (lengths > unusual._usual_length).all()

    def cosine(parts: list[FloatArray]) -> float:
        units = [unit(part - centre, unusual._usual_length) for part in parts]
        return float(np.mean([one @ other for one in units[0] for other in units[1]]))

    encoder = encoder_of(profile.members[0])
    changes = []
    for column in unusual.columns.tolist():
        row = encoder.rows(np.array([column]))[0].astype(np.float64)
        steps = []
        for step in (1e-4, -1e-4):
            parts = [part.copy() for part in levs]
            for text in unusual.profile.texts:
                excess = text.values[column] - max(0.0, float(row @ centre))
                parts[text.side][text.place] += step * excess * row
            steps.append(cosine(parts))
        changes.append(abs(steps[0] - steps[1]))
    result = unusual.steepest(40)
    expected = np.sort(changes)[::-1][:40]
    np.testing.assert_allclose(np.array(changes)[result], expected, rtol=1e-3)


@pytest.mark.parametrize("at_once", [1, 7, 10**6])
def test_how_many_are_tried_together_does_not_matter(
    at_once: int, mixed: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = sides_of(mixed, TEXTS[:2], TEXTS[2:3])
    expected = explain_ngrams(sides)
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    result = explain_ngrams(sides)
    assert [ngram.ngram for ngram in result] == [ngram.ngram for ngram in expected]
    assert [ngram.contribution for ngram in result] == pytest.approx(
        [ngram.contribution for ngram in expected], abs=1e-9
    )


def test_the_levs_of_the_sides_are_left_as_they_are(mixed: Verifier) -> None:
    sides = sides_of(mixed, TEXTS[:2], TEXTS[2:3])
    before = [levs.copy() for levs in sides.levs]
    explain_ngrams(sides)
    for levs, kept in zip(sides.levs, before, strict=True):
        np.testing.assert_array_equal(levs, kept)


def few_words(mixed: Verifier) -> list[str]:
    """Two words with a bigram that the profile knows, and the other n-gram member does not."""
    small, large = (encoder_of(mixed.members[at]).counter for at in (0, 2))
    result = []
    for channel in (2, 3):
        for one, other in pairwise(Tokenizer().tokens(" ".join(TEXTS))):
            known = [
                counter.count([one, other])[counter.table.channels[channel]].any()
                for counter in (small, large)
            ]
            if known == [False, True]:
                result.append(f"{one} {other}")
                break
    assert len(result) == 2
    return result


def test_a_text_of_a_few_words_makes_no_contribution_absurd(
    mixed: Verifier, everything: None
) -> None:
    ordinary = explain_ngrams(sides_of(mixed, [TEXTS[1]], [TEXTS[0]]))
    for short in [*few_words(mixed), "Dear", "§ §", "! ,"]:
        result = explain_ngrams(sides_of(mixed, [short], [TEXTS[0]]))
        values = np.array([ngram.contribution for ngram in result])
        assert np.isfinite(values).all()
        assert 0 < np.abs(values).max() < 20 * abs(ordinary[0].contribution)


def test_of_ngrams_at_the_very_same_places_the_stronger_is_shown(
    profile: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = sides_of(profile, TEXTS[:1], TEXTS[1:2])
    monkeypatch.setattr(module, "_CANDIDATES", 10**6)
    monkeypatch.setattr(module, "_SHOWN", 10**6)
    result = explain_ngrams(sides)
    encoder, tokenizer = encoder_of(profile.members[0]), profile.members[0].tokenizer
    where: dict[tuple[str, str], list[tuple[tuple[int, ...], ...]]] = {}
    texts = [encoder.counter.occurrences(tokenizer.tokens(text)) for text in TEXTS[:2]]
    for column in range(sum(encoder.counter.table.sizes)):
        ngram = encoder.counter.table.ngram(column)
        tokens = tuple(tuple(places[columns == column].tolist()) for columns, places in texts)
        where.setdefault((CHANNELS[ngram.channel], shown(ngram)), []).append(tokens)
    alike = Counter(
        (ngram.contribution > 0, where[ngram.channel, ngram.ngram][0])
        for ngram in result
        if len(where[ngram.channel, ngram.ngram]) == 1
    )
    assert max(alike.values()) == 1
    slow = slow_contributions(profile, TEXTS[:1], TEXTS[1:2])
    assert len(result) < len(slow)
    best: dict[tuple[bool, object], float] = {}
    for ngram, value in slow.items():
        key = (value > 0, where[CHANNELS[ngram.channel], shown(ngram)][0])
        best[key] = max(best.get(key, 0), abs(value))
    for ngram in result:
        key = (ngram.contribution > 0, where[ngram.channel, ngram.ngram][0])
        if len(where[ngram.channel, ngram.ngram]) == 1:
            assert abs(ngram.contribution) == pytest.approx(best[key], rel=1e-3, abs=2e-5)


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


@pytest.mark.parametrize("name", ["profile", "mixed"])
def test_places_hold_the_ngram_and_are_as_many_as_the_counts_say(
    name: str, profile: Verifier, mixed: Verifier, everything: None
) -> None:
    verifier = {"profile": profile, "mixed": mixed}[name]
    first, second = TEXTS[:2], TEXTS[2:3]
    texts = [*first, *second]
    for ngram in explain_ngrams(sides_of(verifier, first, second)):
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
    result = explain_ngrams(sides_of(profile, first, second))
    assert all(
        (ngram.first, ngram.second) in expected[ngram.channel, ngram.ngram] for ngram in result
    )


def test_places_are_those_in_the_text_as_it_was_given(profile: Verifier, everything: None) -> None:
    """Curly quotes, dashes and soft hyphens change what the model sees, not where it stood."""
    odd = "the mother’s letter — kind\u00adly the “mother’s” and the mother's of it "
    result = explain_ngrams(sides_of(profile, [4 * odd], [TEXTS[0]]))
    whole = [ngram for ngram in result if ngram.channel == "tokens"]
    seen = {(4 * odd)[p.start : p.end] for ngram in whole for p in ngram.places if p.text == 0}
    assert {"the", "mother’s", "mother's", "kind\u00adly"} & seen >= {"the"}
    tokens = profile.members[0].tokenizer.tokenize(4 * odd)
    spans = {tuple(span) for span in tokens.spans.tolist()}
    for ngram in whole:
        assert all((p.start, p.end) in spans for p in ngram.places if p.text == 0)
    for ngram in result:
        if ngram.channel == "characters":
            for place in (place for place in ngram.places if place.text == 0):
                written = (4 * odd)[place.start : place.end].replace("’", "'").replace("“", '"')
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
    assert module._inside(gram, token, *span) == expected


# Without


def test_a_profile_that_knows_nothing_of_the_texts_has_nothing_to_say(profile: Verifier) -> None:
    assert explain_ngrams(sides_of(profile, ["§ §"], ["§"])) == ()


def test_the_explanation_has_them(mixed: Verifier) -> None:
    result = explain_texts(mixed, [Document(text=TEXTS[0])], TEXTS[1])
    assert result.ngrams == explain_ngrams(sides_of(mixed, TEXTS[:1], TEXTS[1:2]))
