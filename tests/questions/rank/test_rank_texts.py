"""Ranking candidates: each number is that of `verify`, and trials are cases of their own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SmallRun, made_up_rows
from sklearn.metrics import f1_score

from adhominem import Population, Ranking, Verifier, load, rank_texts
from adhominem.errors import EmptyTextError, OptionError
from adhominem.jobs.run import Run
from adhominem.questions.rank import evidence
from adhominem.questions.rank.evidence import TextPool, in_turn
from adhominem.questions.rank.trials import Trials, macro_f1
from adhominem.score.decision import VerbalScale
from adhominem.text.files import Document
from adhominem.text.sentences import first_words
from adhominem.verify.encoding import Kept

ROWS = made_up_rows(5, 4, "r")
CANDIDATES = {
    author: [Document(**row) for row in ROWS if row["author"] == author]
    for author in sorted({row["author"] for row in ROWS})
}
DISPUTED = [row["text"] for row in made_up_rows(1, 3, "unknown")]
OTHERS = [row["text"] for row in made_up_rows(6, 1, "others")]


@pytest.fixture(scope="module")
def verifier(small_run: SmallRun) -> Verifier:
    return load(small_run.folder)


def ranked(verifier: Verifier, disputed: Any = None, **options: Any) -> Ranking:
    return rank_texts(verifier, disputed or DISPUTED[0], CANDIDATES, **{"trials": 0, **options})


def population_of_all(verifier: Verifier) -> Population:
    """All known texts; the scorer leaves out those that stand on a side."""
    return verifier.population([text for texts in CANDIDATES.values() for text in texts])


def test_each_bayes_factor_is_that_of_verify_with_all_known_texts_as_population(
    verifier: Verifier,
) -> None:
    ranking = ranked(verifier)
    assert ranking.population.source == "other candidates"
    assert (ranking.population.fewest, ranking.population.most) == (16, 16)
    for row in ranking.cases[0].candidates:
        alone = verifier.verify(
            DISPUTED[0],
            CANDIDATES[row.name],
            population=population_of_all(verifier),
        )
        assert row.log10_bayes_factor == pytest.approx(alone.log10_bayes_factor, abs=1e-4)
        assert (row.texts, row.words) == (4, sum(len(t.text.split()) for t in CANDIDATES[row.name]))


def test_candidates_stand_in_order_and_posteriors_follow_from_stated_priors(
    verifier: Verifier,
) -> None:
    ranking = ranked(verifier, prior_none=0.2)
    (case,) = ranking.cases
    factors = [row.log10_bayes_factor for row in case.candidates]
    assert factors == sorted(factors, reverse=True)
    assert ranking.prior_candidate == pytest.approx(0.16)
    total = 0.2 + sum(0.16 * 10**factor for factor in factors)
    for row in case.candidates:
        assert row.posterior == pytest.approx(0.16 * 10**row.log10_bayes_factor / total)
    assert case.posterior_none == pytest.approx(0.2 / total)
    assert case.posterior_none is not None
    assert case.answer == (case.candidates[0].name if case.posterior_none < 0.5 else None)


def test_a_given_population_is_the_same_for_all(verifier: Verifier) -> None:
    ranking = ranked(verifier, population=[*OTHERS, OTHERS[0]])
    assert (ranking.population.source, ranking.population.texts) == ("given", 6)
    row = ranking.cases[0].candidates[2]
    alone = verifier.verify(
        DISPUTED[0], CANDIDATES[row.name], population=verifier.population(OTHERS)
    )
    assert row.log10_bayes_factor == pytest.approx(alone.log10_bayes_factor, abs=1e-4)
    with pytest.raises(OptionError, match="the population has 3 different texts"):
        ranked(verifier, population=OTHERS[:3])


def test_with_too_few_other_texts_there_is_no_population_and_it_is_said(
    verifier: Verifier,
) -> None:
    two = {name: CANDIDATES[name] for name in list(CANDIDATES)[:2]}
    ranking = rank_texts(verifier, DISPUTED[0], two, trials=0)
    assert ranking.population.source == "none"
    assert "few_others" in [caution.code for caution in ranking.warnings]
    row = ranking.cases[0].candidates[0]
    alone = verifier.verify(DISPUTED[0], CANDIDATES[row.name])
    assert row.log10_bayes_factor == pytest.approx(alone.log10_bayes_factor, abs=1e-4)


def test_several_disputed_texts_are_one_side_or_each_is_a_case(verifier: Verifier) -> None:
    together = ranked(verifier, DISPUTED)
    (case,) = together.cases
    assert [text.name for text in case.disputed] == ["disputed-1", "disputed-2", "disputed-3"]
    name = case.candidates[0].name
    alone = verifier.verify(DISPUTED, CANDIDATES[name], population=population_of_all(verifier))
    assert case.candidates[0].log10_bayes_factor == pytest.approx(
        alone.log10_bayes_factor, abs=1e-4
    )
    one_by_one = ranked(verifier, DISPUTED, one_by_one=True)
    assert len(one_by_one.cases) == 3
    assert one_by_one.cases[0].candidates == ranked(verifier).cases[0].candidates


def test_each_disputed_text_that_is_too_short_is_named(verifier: Verifier) -> None:
    ranking = ranked(verifier, [" ".join(DISPUTED * 3), "It was.", "It is."], one_by_one=True)
    (told,) = [c for c in ranking.warnings if c.message.startswith("disputed texts with fewer")]
    assert told.code == "too_short"
    assert "disputed-2, disputed-3" in told.message
    assert "disputed-1" not in told.message


def test_batches_make_no_difference(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ranked(verifier)
    monkeypatch.setattr(evidence, "_TEXTS_AT_ONCE", 5)
    monkeypatch.setattr(Kept.__init__, "__defaults__", (3, 0))
    for row, other in zip(
        ranked(verifier).cases[0].candidates, whole.cases[0].candidates, strict=True
    ):
        assert row.name == other.name
        assert row.posterior == pytest.approx(other.posterior, abs=1e-5)


def test_a_large_population_is_drawn_one_text_of_each_in_turn() -> None:
    drawn = in_turn(CANDIDATES, 12, np.random.default_rng(0))
    counts = [sum(name == author for name, _ in drawn) for author in CANDIDATES]
    assert sorted(counts) == [2, 2, 2, 3, 3]
    assert len({id(text) for _, text in drawn}) == 12


def test_the_words_of_the_scale_say_which_way_the_evidence_points(verifier: Verifier) -> None:
    scale = VerbalScale(((0.0, "some support"),))
    for row in ranked(verifier, scale=scale).cases[0].candidates:
        way = "for" if row.log10_bayes_factor > 0 else "against"
        assert row.verbal == f"some support {way}"


def test_a_text_without_a_word_is_an_error_if_disputed_and_left_out_if_known(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    levs_of = Run.levs
    monkeypatch.setattr(
        Run,
        "levs",
        lambda run, by, texts: levs_of(run, by, [text for text in texts if text.text != "—"]),
    )
    candidates: dict[str, Any] = {**CANDIDATES, "mute": ["—"]}
    ranking = rank_texts(verifier, DISPUTED[0], candidates, trials=0)
    assert "mute" not in [row.name for row in ranking.cases[0].candidates]
    assert any(c.code == "no_texts" and "mute" in c.message for c in ranking.warnings)
    with pytest.raises(EmptyTextError, match="no word in it"):
        rank_texts(verifier, "—", CANDIDATES, trials=0)


def test_the_pool_leaves_the_texts_of_a_pair_out_of_their_population(profile_folder: Path) -> None:
    verifier = load(profile_folder)
    levs = verifier.encode([row["text"] for row in ROWS])
    pool = TextPool(verifier.scorer, levs)
    pairs = [([0], [5, 6]), ([0, 1], [9]), ([2], [3, 4, 7])]
    scored = pool.factors(pairs, range(20))
    for at, (first, second) in enumerate(pairs):
        others = [number for number in range(20) if number not in (*first, *second)]
        alone = pool.factors([(first, second)], others)
        with_them = verifier.score([levs[first]], [levs[second]], verifier.population_of(levs))
        assert scored.log_bayes_factor[at] == pytest.approx(with_them[0], abs=1e-4)
        # Only the usual length of the population is that of all its texts.
        assert scored.log_bayes_factor[at] == pytest.approx(alone.log_bayes_factor[0], abs=0.02)


# Trials.


def trials_of(verifier: Verifier, **options: Any) -> Trials:
    levs_of = partial(Run().levs, verifier.keeping())
    usual: dict[str, Any] = {
        "texts": 1,
        "words": 30,
        "population": None,
        "of_others": True,
    }
    return Trials(verifier.scorer, CANDIDATES, levs_of, **{**usual, **options})


def test_every_known_text_is_taken_out_once_and_its_author_keeps_the_others(
    verifier: Verifier,
) -> None:
    trials = trials_of(verifier)
    assert len(trials.all) == 20
    assert sorted(at for trial in trials.all for at in trial.whole) == list(range(20))
    for trial in trials.all:
        (whole,) = trial.whole
        assert ROWS[whole]["author"] == trials.names[trial.author]
        assert whole not in trial.rest
        assert len(trial.rest) == 3
    assert len({trial.author for trial in trials.all[:5]}) == 5  # they take turns
    pairs = trials_of(verifier, texts=2)
    assert [len(trial.taken) for trial in pairs.all] == [2] * 10


def test_the_numbers_of_a_trial_are_those_of_its_texts_compared_by_themselves(
    verifier: Verifier,
) -> None:
    trials = trials_of(verifier, words=20)
    result = trials.run(0.5, lambda share: None)[0]
    (whole,) = result.trial.whole
    text = replace(Document(**ROWS[whole]), text=first_words(ROWS[whole]["text"], 20))
    population = [Document(**row) for at, row in enumerate(ROWS) if at != whole]
    assert result.candidates == list(range(5))
    for at, candidate in enumerate(trials.names):
        side = [t for t in CANDIDATES[candidate] if t.id != ROWS[whole]["id"]]
        alone = verifier.verify(text, side, population=verifier.population(population))
        assert result.log_bayes_factors[at] == pytest.approx(alone.log_bayes_factor, abs=1e-3)


def test_trials_together_are_as_each_by_itself(verifier: Verifier) -> None:
    for options in ({}, {"of_others": False}):
        trials = trials_of(verifier, **options)
        for result in trials.run(0.5, lambda share: None):
            alone = trials.rank([result.trial], trials.population_of(result.trial), 0.5)
            (expected,) = alone.values()
            assert result.log_bayes_factors == pytest.approx(expected.log_bayes_factors, abs=1e-12)
            assert (result.answer, result.first) == (expected.answer, expected.first)


def test_with_the_author_left_out_none_is_right_and_nothing_of_the_author_is_there(
    verifier: Verifier,
) -> None:
    trials = trials_of(verifier)
    ranked_trials = [result.trial for result in trials.run(0.5, lambda share: None)]
    assert len(ranked_trials) == 40
    assert sum(trial.left_out for trial in ranked_trials) == 20
    for trial in ranked_trials:
        population = trials.population_of(trial)
        assert population is not None
        assert not trial.whole & set(population)
        known = {at for _, side in trials.pairs_of(trial) for at in side}
        names = {ROWS[at]["author"] for at in known}
        author = trials.names[trial.author]
        if trial.left_out:
            assert trial.truth == -1
            assert author not in names | {ROWS[at]["author"] for at in population}
        else:
            assert author in names
            assert not trial.whole & known


def test_macro_f1_of_many_draws_is_that_of_each() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([0, 0, 1, 2, 2, -1, -1])
    draws = truth[rng.permuted(np.tile(np.arange(7), (20, 1)), axis=1)]
    answered = rng.integers(-1, 4, draws.shape)
    expected = [
        f1_score(one, other, labels=[0, 1, 2], average="macro", zero_division=0)
        for one, other in zip(draws.tolist(), answered.tolist(), strict=True)
    ]
    assert macro_f1(draws, answered) == pytest.approx(expected)


def test_trust_counts_what_the_trials_gave_and_repeats_by_its_seed(verifier: Verifier) -> None:
    trust = ranked(verifier, trials=100).trust
    assert trust is not None
    assert trust == ranked(verifier, trials=100).trust
    assert trust.first.of == trust.none_right.of == trust.missed.of == 20
    assert trust.words == len(DISPUTED[0].split())
    assert sum(row.trials for row in trust.confusions) == 40
    named = sum(row.trials for row in trust.confusions if row.answer is not None)
    assert trust.named_right.of == named
    right = sum(
        row.trials for row in trust.confusions if row.answer == row.author and not row.left_out
    )
    assert trust.named_right.count == right
    assert trust.macro_f1_interval[0] <= trust.macro_f1 <= trust.macro_f1_interval[1]
    share = trust.first.count / trust.first.of
    assert 0 <= trust.first.low <= share <= trust.first.high <= 1


def test_where_candidates_have_few_texts_fewer_are_disputed_together(verifier: Verifier) -> None:
    two = {name: texts[:3] for name, texts in CANDIDATES.items()}
    trust = rank_texts(verifier, DISPUTED, two).trust
    assert trust is not None
    assert trust.texts == 2
    assert trust.first.of == 5


def test_in_a_closed_set_nobody_is_left_out(verifier: Verifier) -> None:
    ranking = ranked(verifier, trials=100, prior_none=0.0)
    assert ranking.cases[0].posterior_none == 0
    assert ranking.cases[0].answer == ranking.cases[0].candidates[0].name
    assert ranking.trust is not None
    assert ranking.trust.none_right.of == 0
    assert not any(row.left_out for row in ranking.trust.confusions)


def test_with_one_text_of_each_candidate_nothing_can_be_tried_and_it_is_said(
    verifier: Verifier,
) -> None:
    single = {name: texts[:1] for name, texts in CANDIDATES.items()}
    ranking = rank_texts(verifier, DISPUTED[0], single)
    assert ranking.trust is None
    assert "untried" in [caution.code for caution in ranking.warnings]


def test_texts_of_one_work_are_not_left_to_the_author(verifier: Verifier) -> None:
    trials = trials_of(verifier)
    for trial in trials.all:
        (whole,) = trial.whole
        assert ROWS[whole]["work"] not in {ROWS[at]["work"] for at in trial.rest}
