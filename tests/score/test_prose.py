"""What prose is like: the distance by its definition, and limits that hold for unknown genres."""

from __future__ import annotations

import json

import numpy as np
import pytest

from adhominem.errors import OptionError
from adhominem.records import from_json, strict_json, to_json
from adhominem.score.prose import Prose, ProseSamples
from adhominem.text.prose_rates import RATES, ProseLexicon

LEXICON = ProseLexicon(("the",), ("the",))
AT = {rate: at for at, rate in enumerate(RATES)}


def samples(seed: int = 0, genres: int = 6, texts: int = 300) -> ProseSamples:
    """Texts whose shares vary by genre, by text and, the more the shorter they are, by chance."""
    rng = np.random.default_rng(seed)
    genre = np.repeat(np.arange(genres), texts)
    tokens = rng.choice([100, 180, 350, 800, 2_000], size=len(genre))
    means = 0.3 + 0.01 * rng.normal(size=(genres, len(RATES)))
    spread = np.sqrt(0.02**2 + 0.05 / tokens)[:, None]
    roots = np.maximum(means[genre] + spread * rng.normal(size=(len(genre), len(RATES))), 0)
    rates = roots**2
    rates[:, AT["word_length"]] = np.exp(1.4 + roots[:, AT["word_length"]])
    return ProseSamples(tuple(f"genre {at}" for at in range(genres)), genre, tokens, rates)


SAMPLES = samples()
PROSE = Prose.fit(SAMPLES, LEXICON)


def slow_distance(prose: Prose, rates: np.ndarray, tokens: int) -> float:
    distances = []
    for usual in prose.usual:
        total = 0.0
        for at, rate in enumerate(RATES):
            value = np.log(rates[at]) if rate == "word_length" else np.sqrt(rates[at])
            departure = value - usual[at]
            if rate in ("common_words", "sentence_ends"):
                departure = max(-departure, 0)
            elif rate in ("repetition", "word_length"):
                departure = abs(departure)
            else:
                departure = max(departure, 0)
            total += (departure / np.sqrt(prose.variance[at] + prose.sampling[at] / tokens)) ** 3
        distances.append(total ** (1 / 3))
    return float(min(distances))


def test_the_distance_is_that_of_its_definition() -> None:
    for at in range(0, len(SAMPLES.rates), 100):
        (fast,) = PROSE.distances(SAMPLES.rates[at : at + 1], SAMPLES.tokens[at : at + 1])
        slow = slow_distance(PROSE, SAMPLES.rates[at], int(SAMPLES.tokens[at]))
        assert fast == pytest.approx(slow, rel=1e-9)


def test_variances_are_those_of_the_texts() -> None:
    kept = 1.3  # the farthest texts are left out
    at = AT["repetition"]
    assert 0.02**2 / kept < PROSE.variance[at] < 0.02**2 * kept
    assert 0.05 / kept < PROSE.sampling[at] < 0.05 * kept


def test_nearly_all_texts_of_any_length_lie_within_the_limit_if_their_genre_is_unknown() -> None:
    foreign = np.zeros(len(SAMPLES.rates), dtype=bool)
    for at, genre in enumerate(SAMPLES.genres):
        prose = Prose.fit(SAMPLES.without(genre), LEXICON)
        chosen = SAMPLES.genre == at
        foreign[chosen] = (
            prose.distances(SAMPLES.rates[chosen], SAMPLES.tokens[chosen]) > prose.limit
        )
    assert foreign.mean() < 0.03
    for tokens in np.unique(SAMPLES.tokens):
        assert foreign[SAMPLES.tokens == tokens].mean() < 0.05


def test_texts_among_the_others_that_are_no_prose_are_left_out_of_what_is_learnt() -> None:
    rates = SAMPLES.rates.copy()
    foreign = np.random.default_rng(1).permutation(len(rates))[: len(rates) // 50]
    rates[foreign, AT["figures"]] = 0.9
    spoilt = ProseSamples(SAMPLES.genres, SAMPLES.genre, SAMPLES.tokens, rates)
    prose = Prose.fit(spoilt, LEXICON)
    assert prose.variance[AT["figures"]] < 1.5 * PROSE.variance[AT["figures"]]
    told = prose.distances(rates[foreign], SAMPLES.tokens[foreign])
    assert (told > prose.limit).mean() == 1


def test_without_a_genre_the_others_stay_as_they_are() -> None:
    fewer = SAMPLES.without("genre 2")
    assert fewer.genres == ("genre 0", "genre 1", "genre 3", "genre 4", "genre 5")
    assert len(fewer.rates) == len(SAMPLES.rates) * 5 // 6
    np.testing.assert_array_equal(fewer.rates[fewer.genre == 2], SAMPLES.rates[SAMPLES.genre == 3])
    whole = SAMPLES.without("no such genre")
    np.testing.assert_array_equal(whole.genre, SAMPLES.genre)


def test_one_genre_of_a_few_texts_of_one_length_is_enough() -> None:
    few = SAMPLES.genre == 0
    few &= SAMPLES.tokens == 100
    prose = Prose.fit(
        ProseSamples(("letters",), SAMPLES.genre[few], SAMPLES.tokens[few], SAMPLES.rates[few]),
        LEXICON,
    )
    assert set(prose.sampling) == {0.0}
    assert np.isfinite(prose.distances(SAMPLES.rates, SAMPLES.tokens)).all()


def test_a_departure_names_the_rate_that_departs_most() -> None:
    flat = Prose(
        lexicon=LEXICON,
        genres=("far", "near"),
        usual=tuple(
            tuple(most if rate == "common_words" else 0.0 for rate in RATES) for most in (90.0, 0.0)
        ),
        variance=tuple(0.01 if rate == "figures" else 9.0 for rate in RATES),
        sampling=(0.0,) * len(RATES),
        limit=2.0,
    )
    told = flat.departures(["7 8 9 the"], [["7", "8", "9", "the"]])[0]
    assert (told.genre, told.rate, told.usual) == ("near", "figures", 0.0)
    assert told.value == pytest.approx(0.75)
    assert told.atypicality > 1
    assert flat.departures([""], [[]])[0].atypicality >= 0


def test_prose_survives_json() -> None:
    data = json.loads(strict_json(to_json(PROSE)))
    assert from_json(Prose, data) == PROSE


@pytest.mark.parametrize(
    "change",
    [
        {"limit": 0.0},
        {"limit": float("nan")},
        {"genres": ["one"]},
        {"genres": [], "usual": []},
        {"variance": [0.1]},
        {"variance": [0.0] * len(RATES)},
        {"sampling": [-1.0] * len(RATES)},
        {"usual": [[0.1] * (len(RATES) + 1)] * 6},
    ],
)
def test_numbers_that_do_not_fit_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        from_json(Prose, {**to_json(PROSE), **change})
