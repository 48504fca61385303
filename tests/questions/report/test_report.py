"""The report of a real comparison: its numbers are those of their sources."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import SmallRun, made_up_rows, write_rows
from hypothesis import given
from hypothesis import strategies as st
from made_up_reports import ALL, report, validation

from adhominem import Document, Population, find_sources, load, read_pairs, write_pair_set
from adhominem.cli import main
from adhominem.errors import OptionError
from adhominem.evaluation.measures import cllr
from adhominem.model.calibration import LikeCases, Validation, read_validation
from adhominem.model.folder import read_models
from adhominem.model.member import make_members
from adhominem.questions.report.document import report_page
from adhominem.questions.report.evidence import like_pairs, validation_facts
from adhominem.questions.report.formats import report_of
from adhominem.questions.report.report import Report, file_dates, make_report, report_date
from adhominem.score.decision import LOG_10, VerbalScale
from adhominem.score.population import PopulationText
from adhominem.statistics import exact_interval
from adhominem.text.exhibits import exhibits_of, read_exhibits
from adhominem.training.calibrate import calibrate_model
from adhominem.verify.explanation import explain_texts
from adhominem.verify.sensitivity import bootstrap_interval, influences, population_sensitivity
from adhominem.verify.verification import Likeness
from adhominem.verify.verifier import Verifier

ROWS = made_up_rows(6, 3, "r")
FIRST = " ".join(row["text"] for row in ROWS[:3])  # of one author
SECOND = [" ".join(row["text"] for row in ROWS[at : at + 2]) for at in (3, 5)]
DRAWS = 40


@pytest.fixture(scope="module")
def folder(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model, calibrated, with its validation."""
    place = tmp_path_factory.mktemp("report")
    rows = write_rows(place / "rows.jsonl", made_up_rows(40, 8, "c"))
    write_pair_set(find_sources(rows), place / "pairs")
    model = Path(copytree(small_run.folder, place / "small"))
    calibrate_model(model, {"notes": list(read_pairs(place / "pairs"))})
    return model


@pytest.fixture(scope="module")
def verifier(folder: Path) -> Verifier:
    return load(folder)


@pytest.fixture(scope="module")
def population(verifier: Verifier) -> Population:
    return verifier.population([row["text"] for row in made_up_rows(10, 1, "p")])


@pytest.fixture(scope="module")
def made(verifier: Verifier, folder: Path) -> Report:
    return make_report(verifier, FIRST, SECOND, draws=DRAWS, seed=3, date="2026-05-31")


@pytest.fixture(scope="module")
def made_with_population(verifier: Verifier, folder: Path, population: Population) -> Report:
    return make_report(
        verifier,
        FIRST,
        SECOND,
        population=population,
        population_source="ten others",
        prior_same_author=0.2,
        draws=DRAWS,
    )


def test_the_numbers_are_those_of_verify_explain_and_the_bootstrap(
    made: Report, verifier: Verifier
) -> None:
    result = verifier.verify(FIRST, SECOND)
    assert made.log10_bayes_factor == result.log10_bayes_factor
    assert made.verbal == result.verbal
    assert made.warnings == result.warnings
    assert made.likeness == result.likeness
    assert (made.model, made.model_sha256) == (verifier.name, verifier.sha256)
    assert made.explanation == explain_texts(verifier, FIRST, SECOND)
    assert [text.sha256 for text in made.second] == [
        document.sha256 for document in result.second.documents
    ]
    assert [text.words for text in made.second] == [len(text.split()) for text in SECOND]
    assert [text.tokens for text in made.second] == [
        document.tokens for document in result.second.documents
    ]


def test_the_interval_is_in_base_10_and_no_wider_than_the_calibration(
    made: Report, verifier: Verifier
) -> None:
    comparison = verifier.compare(FIRST, SECOND, attention=True)
    interval = bootstrap_interval(comparison, draws=DRAWS, seed=3)
    calibration = verifier.calibration
    assert interval is not None
    assert calibration is not None
    assert made.interval is not None
    bounds = calibration.limits(comparison.scored.conditions)[:, 0].tolist()
    low, high = np.clip([interval.low, interval.high], *bounds) / LOG_10
    assert (made.interval.low, made.interval.high) == pytest.approx((low, high))
    assert made.interval.low_is_bound == (not bounds[0] <= interval.low <= bounds[1])
    assert made.interval.high_is_bound == (not bounds[0] <= interval.high <= bounds[1])
    assert made.interval.low <= made.log10_bayes_factor <= made.interval.high


def test_tight_bounds_hold_for_the_interval_as_for_the_number(
    verifier: Verifier, folder: Path
) -> None:
    calibration = verifier.calibration
    assert calibration is not None
    tight = replace(calibration, lower_bound=-0.01, upper_bound=0.01, bounds=())
    bounded = Verifier(make_members(read_models(folder)), tight)
    made = make_report(bounded, FIRST, SECOND, draws=DRAWS)
    assert made.interval is not None
    assert -0.01 <= made.interval.low * LOG_10 <= made.interval.high * LOG_10 <= 0.01
    assert made.calibration is not None
    assert made.calibration.at_bound == (abs(made.log10_bayes_factor * LOG_10) == 0.01)


def test_too_few_passages_give_no_interval(verifier: Verifier, folder: Path) -> None:
    assert make_report(verifier, "It was he.", SECOND, draws=DRAWS).interval is None


def test_the_calibration_is_told_of_with_what_it_was_fitted_to(
    made: Report, made_with_population: Report, folder: Path
) -> None:
    data = json.loads((folder / "calibration.json").read_text("utf-8"))
    for reported, mode in ((made, "alone"), (made_with_population, "population")):
        told, result = data[mode], reported.calibration
        assert result is not None
        assert result.sets == ("notes",)
        assert result.authors == told["authors"] == 40
        assert result.same_author == told["same_author"]
        assert result.cllr_before == pytest.approx(told["before"]["cllr"])
        assert result.cllr_after == pytest.approx(told["after"]["cllr"])
        bounds = result.lower_bound * LOG_10, result.upper_bound * LOG_10
        whole = data["calibration"]
        cells = [(whole["lower_bound"], whole["upper_bound"])]
        cells += [(cell["lower"], cell["upper"]) for cell in whole["bounds"]]
        assert any(bounds == pytest.approx(cell) for cell in cells)


def test_the_population_is_told_of_with_its_digest_and_what_it_did(
    made_with_population: Report, population: Population, verifier: Verifier
) -> None:
    result = made_with_population.population
    assert result is not None
    assert (result.source, result.texts) == ("ten others", 10)
    assert result.sha256 == population.sha256
    without = verifier.verify(FIRST, SECOND).log10_bayes_factor
    assert result.log10_bayes_factor_without == pytest.approx(without)
    assert made_with_population.prior_same_author == 0.2
    assert made_with_population.probability_same_author == pytest.approx(
        verifier.verify(
            FIRST, SECOND, population=population, prior_same_author=0.2
        ).probability_same_author
    )


def test_the_digest_of_a_population_is_of_its_mean_and_its_number() -> None:
    made = Population.of(np.arange(36.0).reshape(9, 4))
    assert made.sha256 == replace(made, lev_mean=made.lev_mean.copy()).sha256
    mean = made.lev_mean.copy()
    mean[2] = np.nextafter(mean[2], 99)
    others = (made, replace(made, texts=8), replace(made, lev_mean=mean))
    assert len({other.sha256 for other in others}) == 3


def test_what_the_conditions_did_is_told(
    made: Report, made_with_population: Report, verifier: Verifier, population: Population
) -> None:
    for reported, used in ((made, None), (made_with_population, population)):
        comparison = verifier.compare(FIRST, SECOND, used)
        assert reported.influences == influences(comparison, reported.likeness)
        names = [one.name for one in reported.influences]
        assert names == ["Genre", "Length", "Texts", "Population"]


def test_the_texts_of_the_population_are_told_of_with_their_hashes(
    made_with_population: Report,
) -> None:
    assert made_with_population.population is not None
    rows = made_up_rows(10, 1, "p")
    assert made_with_population.population.material == tuple(
        PopulationText(
            name=f"population-{number}",
            sha256=sha256(row["text"].encode()).hexdigest(),
            words=len(row["text"].split()),
        )
        for number, row in enumerate(rows, start=1)
    )


def test_the_number_is_computed_with_halves_of_the_population(
    made_with_population: Report, verifier: Verifier, population: Population
) -> None:
    assert made_with_population.population is not None
    told = made_with_population.population.sensitivity
    assert told is not None
    assert (told.parts, told.texts, told.left_out) == (10, 5, 5)
    sensitivity = population_sensitivity(verifier.compare(FIRST, SECOND, population))
    assert sensitivity is not None
    factors = np.array(sensitivity.log_bayes_factors) / LOG_10
    assert (told.lowest, told.highest) == pytest.approx((factors.min(), factors.max()))
    assert told.median == pytest.approx(np.median(factors))


def test_a_report_says_what_can_be_reported_under_its_conditions(
    made: Report, made_with_population: Report, verifier: Verifier
) -> None:
    for reported in (made, made_with_population):
        assert reported.calibration is not None
        bounds = reported.calibration.lower_bound, reported.calibration.upper_bound
        assert reported.reach == VerbalScale().reach(*bounds)
        assert reported.conditions.startswith("1 text against 2, about ")
    assert made.conditions.endswith("no population")
    assert made_with_population.conditions.endswith("a population of 10 texts")


# the validation


def test_where_a_result_falls_is_counted_as_one_would_by_hand(made: Report, folder: Path) -> None:
    whole, result_, like = read_validation(folder), made.validation, made.like
    assert whole is not None
    assert result_ is not None
    assert like is not None
    same_at_least = same_at_most = different_at_least = different_at_most = 0
    result = float(np.float32(made.log10_bayes_factor * LOG_10))
    for value, same in zip(like.log_bayes_factor.tolist(), like.same_author.tolist(), strict=True):
        same_at_least += same and value >= result
        same_at_most += same and value <= result
        different_at_least += not same and value >= result
        different_at_most += not same and value <= result
    assert (result_.same_at_least, result_.same_at_most) == (same_at_least, same_at_most)
    assert (result_.different_at_least, result_.different_at_most) == (
        different_at_least,
        different_at_most,
    )
    assert result_.same_author + result_.different_authors == len(like) <= len(whole)
    expected = cllr(like.log_bayes_factor.astype(np.float64), like.same_author)
    assert result_.cllr == pytest.approx(expected)
    assert "without a population" in result_.condition


@given(st.integers(0, 399))
def test_a_result_equals_the_pair_that_has_the_same_value(at: int) -> None:
    pairs = validation()
    log10 = float(pairs.log_bayes_factor[at]) / LOG_10  # as a report has it
    result = validation_facts(LikeCases(pairs, "", ()), log10 * LOG_10)
    both = result.same_at_least + result.same_at_most + result.different_at_least
    assert both + result.different_at_most > len(pairs)


def pairs_with(pairs: Validation, **changes: Any) -> Validation:
    return replace(pairs, genres=("letters", "blogs"), **changes)


@pytest.mark.parametrize(
    ("likeness", "condition"),
    [
        (None, "of all genres"),
        (Likeness({"blogs": 0.9, "letters": 0.1}, 0.5), "of the genre “blogs”"),
        (Likeness({"blogs": 1.0}, 0.5, {"blogs": "web “blogs”"}), "of the genre “web “blogs””"),
        (Likeness({"blogs": 0.4, "letters": 0.35, "x": 0.25}, 0.5), "of all genres"),
        (Likeness({"blogs": 0.9, "letters": 0.1}, 1.5), "as if the model did not know"),
        (Likeness({"elsewhere": 1.0}, 0.5), "of all genres"),
    ],
)
def test_the_genre_is_what_the_texts_are_mostly_like(
    likeness: Likeness | None, condition: str
) -> None:
    size = 1_600
    pairs = pairs_with(
        validation(size),
        genre=(np.arange(size) % 4 // 2).astype(np.int32),
        known=np.arange(size) % 8 < 4,
    )
    result = like_pairs(pairs, 400, likeness, texts=1, population=0)
    assert result is not None
    assert condition in result.description
    assert result.cases.known.all() == (likeness is None or likeness.atypicality <= 1)
    if "“blogs”" in condition:
        assert (result.cases.genre == 1).all()
        assert result.dropped == ()
    else:
        assert set(result.cases.genre.tolist()) == {0, 1}
        assert result.dropped == ("genre",)


def test_pairs_of_one_class_are_no_validation() -> None:
    assert like_pairs(None, 400, None, texts=1, population=0) is None
    assert like_pairs(validation(), 400, None, texts=1, population=50) is None  # there are none
    pairs = validation()
    assert like_pairs(pairs[pairs.same_author], 400, None, texts=1, population=0) is None


def test_shares_have_exact_intervals_and_the_cost_one_over_cases(made: Report) -> None:
    facts = made.validation
    assert facts is not None
    for name, of in (("same", facts.same_author), ("different", facts.different_authors)):
        for way in ("at_least", "at_most"):
            count = getattr(facts, f"{name}_{way}")
            assert facts.intervals[f"{name}_{way}"] == exact_interval(count, of)
    low, high = facts.intervals["cllr"]
    assert low < facts.cllr < high


def test_without_cases_of_known_authors_a_report_says_that_there_is_no_validation(
    verifier: Verifier,
) -> None:
    untried = Verifier(verifier.members, verifier.calibration)
    made = make_report(untried, FIRST, SECOND, draws=DRAWS)
    assert made.validation is None
    assert made.calibration is not None
    assert made.calibration.authors is made.calibration.cllr_after is None
    page = report_page(made)
    assert "No validation under conditions like those of this case is available" in page
    assert "<svg" not in page
    assert "Cllr before" not in page


def test_a_model_that_is_not_calibrated_gets_a_report_that_says_so(small_run: SmallRun) -> None:
    made = make_report(load(small_run.folder), FIRST, SECOND, draws=DRAWS)
    assert made.calibration is None
    assert made.validation is None
    assert "The model is not calibrated" in report_page(made)


def test_each_case_of_the_calibration_is_counted_once(made: Report, folder: Path) -> None:
    whole = read_validation(folder)
    assert whole is not None
    assert made.like is not None
    assert whole.case.min() == 0
    assert len(np.unique(whole.case)) < len(whole)  # whole and cut, with and without a population
    assert len(np.unique(made.like.case)) == len(made.like)
    alone = whole.population == 0
    for number in whole.case[:50]:
        of_case = whole[(whole.case == number) & alone]
        assert len(np.unique(of_case.same_author)) == 1
        assert len(np.unique(of_case.genre)) == 1


# its form


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_a_report_as_json_reads_back_as_it_was_without_the_texts(made: Report) -> None:
    told = json.dumps(made.to_json(), allow_nan=False)
    assert report_of(json.loads(told)) == replace(made, explanation=None, like=None)
    assert "don't think" not in told


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"log10_bayes_factor": "1.2"},
        {"log10_bayes_factor": None},
        {"log10_bayes_factor": float("nan")},
        {"states": 1},
        {"first": [{"name": "x"}]},
        {"first": {}},
        {"settings": {"seed": 0, "draws": 10**9, "scale": []}},
        {"settings": {"seed": 0, "draws": 10, "scale": [[0, "weak", "x"]]}},
        {"prior_same_author": 2},
        {"probability_same_author": 0.5},
        {"unheard of": 1},
        {"explanation": None},
        {"members": "x"},
        {"likeness": {"genres": [], "atypicality": 1}},
    ],
)
def test_data_that_are_no_report_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, OptionError)):
        report_of({**report().to_json(), **change})
    with pytest.raises(ValueError, match="report is not of schema 1"):
        report_of([change])


def test_a_probability_without_its_prior_cannot_even_be_made() -> None:
    with pytest.raises(OptionError, match="without its prior"):
        report(probability_same_author=0.9)


def test_where_nothing_is_stated_no_probability_is_given(verifier: Verifier) -> None:
    made = make_report(verifier, "It was he.", "It was he.", prior_same_author=0.5, draws=DRAWS)
    assert not made.states
    assert made.probability_same_author is None
    assert made.verbal.startswith("No statement is made")


def test_the_same_input_gives_the_same_page(verifier: Verifier, made: Report, folder: Path) -> None:
    again = make_report(verifier, FIRST, SECOND, draws=DRAWS, seed=3, date="2026-05-31")
    assert report_page(again) == report_page(made)


def test_the_seed_decides_which_passages_are_drawn(small_run: SmallRun) -> None:
    verifier = load(small_run.folder)  # it has no bounds
    three, also_three, four = (
        make_report(verifier, FIRST, SECOND, draws=DRAWS, seed=seed) for seed in (3, 3, 4)
    )
    assert three.interval == also_three.interval != four.interval


def test_progress_rises_to_1(verifier: Verifier) -> None:
    heard: list[float] = []
    make_report(verifier, FIRST, SECOND, draws=DRAWS, on_progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1
    assert len(heard) > 3


def test_the_date_is_given_or_that_of_the_build_or_today(monkeypatch: pytest.MonkeyPatch) -> None:
    assert report_date("2026-05-31") == "2026-05-31"
    assert report_date("2026-05-31 14:00 UTC") == "2026-05-31 14:00 UTC"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert report_date() == "1970-01-02 00:00 UTC"
    for wrong in ("soon", "-1", "9" * 17, "9" * 400):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(OptionError, match="SOURCE_DATE_EPOCH"):
            report_date()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert report_date().endswith("UTC")
    with pytest.raises(OptionError, match="expected one like"):
        report_date("<b>today</b>")


def test_files_have_dates_and_other_texts_have_none(verifier: Verifier, tmp_path: Path) -> None:
    path = tmp_path / "first.txt"
    path.write_text(FIRST, "utf-8")
    os.utime(path, (86400, 86400))
    first = read_exhibits([path])
    dates = file_dates([*first, *exhibits_of(Document(text="x", id="nowhere.txt"), "")])
    assert dates == {str(path): "1970-01-02 00:00 UTC"}
    made = make_report(verifier, first, SECOND, draws=DRAWS, modified=dates)
    assert [text.modified for text in (*made.first, *made.second)] == [*dates.values(), "", ""]


# the command


def test_the_command_writes_both_forms_and_says_what_it_found(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_text(FIRST, "utf-8")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "a.txt").write_text(SECOND[0], "utf-8")
    (tmp_path / "others").mkdir()
    for number, row in enumerate(made_up_rows(6, 1, "p")):
        (tmp_path / "others" / f"{number}.txt").write_text(row["text"], "utf-8")
    html, pdf = tmp_path / "report.html", tmp_path / "report.pdf"
    arguments = [
        *("report", str(tmp_path / "first.txt"), str(tmp_path / "second")),
        *("-o", str(html), "-o", str(pdf), "--model", str(folder), "--draws", "20"),
        *("--population", str(tmp_path / "others"), "--population-source", "six notes"),
        *("--case", "7 <b>", "--examiner", "A. Example", "--date", "2026-05-31", "--seed", "5"),
    ]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("log10 Bayes factor  ")
    assert "probab" not in done.stdout.lower()
    assert "7 &lt;b&gt;" in html.read_text("utf-8")
    assert pdf.read_bytes().startswith(b"%PDF")
    done = CliRunner().invoke(main, [*arguments, "--json", "--prior", "0.3"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["outputs"] == [str(html), str(pdf)]
    assert told["prior_same_author"] == 0.3
    assert told["population"]["source"] == "six notes"
    assert told["first"][0]["modified"].endswith("UTC")
    assert told["settings"]["seed"] == 5


def test_an_output_of_another_kind_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["report", "a", "b", "-o", str(tmp_path / "report.odt")])
    assert done.exit_code == 2
    assert "is not an .html, .pdf or .docx file" in done.output
