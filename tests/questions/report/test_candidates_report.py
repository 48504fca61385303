"""A report with several candidates: all propositions, each checked, and posteriors with priors."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import made_up_rows
from made_up_reports import report

from adhominem import Verifier, answer, load
from adhominem.cli import main
from adhominem.errors import InputError, OptionError
from adhominem.questions.report.candidates import (
    CandidatesReport,
    Proposition,
    make_candidates_report,
)
from adhominem.questions.report.check import check_report
from adhominem.questions.report.document import report_page
from adhominem.questions.report.formats import read_report, report_of
from adhominem.questions.report.report import make_report
from adhominem.verify.cautions import Caution

ROWS = made_up_rows(3, 9, "k")
KNOWN = {  # three texts of each, long enough for a statement
    f"k{author}": [
        " ".join(row["text"] for row in ROWS[9 * author + 3 * at : 9 * author + 3 * at + 3])
        for at in range(3)
    ]
    for author in range(3)
}
NAMES = list(KNOWN)
DISPUTED = " ".join(row["text"] for row in made_up_rows(1, 4, "disputed"))
OTHERS = [row["text"] for row in made_up_rows(8, 1, "others")]
NASTY = '</style><b id="bad">&amp;'
DATE = "2026-05-31"


@pytest.fixture(scope="module")
def verifier(mixed_folder: Path) -> Verifier:
    return load(mixed_folder)


def made(verifier: Verifier, **options: Any) -> CandidatesReport:
    usual: dict[str, Any] = {"draws": 20, "date": DATE}
    return make_candidates_report(verifier, DISPUTED, KNOWN, **{**usual, **options})


def made_up(prior_none: float | None = 0.4, **changes: Any) -> CandidatesReport:
    """Of a case that nobody worked on: one candidate who fits, and one who does not."""
    reports = [report(1.23), report(-0.5)]
    joint = [0.3 * 10**1.23, 0.3 * 10**-0.5, 0.4]
    shares = [value / sum(joint) for value in joint]
    given: dict[str, Any] = {
        "propositions": tuple(
            Proposition(name=name, report=one, posterior=None if prior_none is None else share)
            for name, one, share in zip(("Ann", NASTY), reports, shares, strict=False)
        ),
        "prior_none": prior_none,
        "posterior_none": None if prior_none is None else shares[-1],
        "states": True,
        "warnings": (Caution("repeated_text", f"the same text twice: {NASTY}"),),
        "settings": reports[0].settings,
    }
    return CandidatesReport(**{**given, **changes})


def test_each_bayes_factor_is_that_of_a_report_on_two_sides(verifier: Verifier) -> None:
    population = verifier.population(OTHERS)
    told = made(verifier, population=population)
    assert [one.name for one in told.propositions] == NAMES
    for one in told.propositions:
        alone = make_report(
            verifier, DISPUTED, KNOWN[one.name], population=population, draws=20, date=DATE
        )
        assert one.report.log10_bayes_factor == pytest.approx(alone.log10_bayes_factor, abs=1e-6)
        assert one.report.interval == alone.interval
        assert one.report.explanation is None
        assert one.posterior is None
    assert told.posterior_none is None


def test_posteriors_follow_from_the_stated_prior_by_bayes_rule() -> None:
    told = made_up()
    for prior in (0.4, 0.0, 0.9):
        share = (1 - prior) / 2
        joint = [share * 10**one.report.log10_bayes_factor for one in told.propositions]
        total = sum(joint) + prior
        shares, none = told.posterior(prior)
        assert shares == pytest.approx([value / total for value in joint])
        assert none == pytest.approx(prior / total)


def test_without_a_prior_the_page_has_no_probability() -> None:
    page = report_page(made_up(None))
    assert "No probabilities of the propositions are given" in page
    assert "What other priors would do" not in page
    assert "posterior probabilities are" not in page


def test_the_page_has_all_propositions_and_says_what_priors_do() -> None:
    page = report_page(made_up())
    for label in ("H_1", "H_2", "H_0"):
        assert f"<dt>{label}</dt>" in page
    assert "moderate support for H_1 over H_0" in page
    assert "weak support for H_0 over H_2" in page
    assert "for H_1 (Ann) over H_2" in page.replace("For H_1", "for H_1")
    assert "What other priors would do" in page
    assert "This is not a verdict" in page
    assert '<b id="bad">' not in page


def test_where_nothing_can_be_stated_no_posterior_is_given() -> None:
    with pytest.raises(OptionError, match="posterior without its priors"):
        made_up(None, posterior_none=0.1)
    told = made_up(states=False, posterior_none=None)
    told = replace(
        told, propositions=tuple(replace(one, posterior=None) for one in told.propositions)
    )
    page = report_page(told)
    assert "not everything can be stated" in page
    assert "numbers must not be compared with each other" in page


def test_a_population_for_some_candidates_alone_stands_in_the_way(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adhominem.questions.report import candidates

    really = make_report

    def of_another_genre(*arguments: Any, **options: Any) -> Any:
        told = really(*arguments, **options)
        assert told.population is not None
        is_first = told.second[0].name.startswith(NAMES[0])
        return replace(told, population=replace(told.population, used=is_first))

    monkeypatch.setattr(candidates, "make_report", of_another_genre)
    told = made(verifier, population=verifier.population(OTHERS), prior_none=0.5)
    assert [caution.code for caution in told.warnings] == ["population_of_some"]
    assert not told.states
    assert told.posterior_none is None


def test_copies_are_left_out_and_said(verifier: Verifier) -> None:
    known = {**KNOWN, NAMES[0]: [*KNOWN[NAMES[0]], DISPUTED], "copy": [DISPUTED]}
    told = make_candidates_report(verifier, DISPUTED, known, draws=20, date=DATE)
    assert [one.name for one in told.propositions] == NAMES
    assert len(told.propositions[0].report.second) == 3
    assert [caution.code for caution in told.warnings] == ["disputed_among_known", "no_texts"]


def test_a_report_reads_back_as_it_was() -> None:
    told = made_up()
    again = report_of(json.loads(json.dumps(told.to_json())))
    assert again.to_json() == told.to_json()


def test_one_candidate_is_too_few_and_a_hundred_are_too_many(verifier: Verifier) -> None:
    for count in (1, 100):
        with pytest.raises(OptionError, match=f"{count} candidates"):
            make_candidates_report(verifier, DISPUTED, {f"c{at}": "a b" for at in range(count)})


# From files.


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, mixed_folder: Path) -> Path:
    folder = tmp_path_factory.mktemp("candidates")
    (folder / "disputed.txt").write_text(DISPUTED, "utf-8")
    for name, texts in {**KNOWN, "others": OTHERS}.items():
        (folder / name).mkdir()
        for number, text in enumerate(texts):
            (folder / name / f"{number}.txt").write_text(text, "utf-8")
    call = ["report", folder / "disputed.txt", *of(folder), "-o", folder / "report.html"]
    call += ["--none", 0.5, "--population", folder / "others", "--draws", 20]
    done = run(*call, "-o", folder / "report.pdf", "--model", mixed_folder, "--case", "17 C")
    assert "none of them" in done.stdout
    return folder


def reported(path: Path) -> CandidatesReport:
    """The report with several candidates that a file holds."""
    report_in_file = read_report(path).report
    assert isinstance(report_in_file, CandidatesReport)
    return report_in_file


def of(folder: Path, names: list[str] | None = None) -> list[object]:
    return [part for name in names or NAMES for part in ("--candidate", folder / name)]


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


def check(place: Path, model: Path, page: Path, *more: object, status: int = 0) -> str:
    names = NAMES[::-1]  # in any order
    call = ("check-report", page, place / "disputed.txt", *of(place, names), "--model", model)
    return run(*call, *(more or ("--population", place / "others")), status=status).output


def test_a_report_is_the_same_when_it_is_computed_anew(place: Path, mixed_folder: Path) -> None:
    assert "The same" in check(place, mixed_folder, place / "report.html")


def test_without_its_population_a_report_differs_and_it_is_said(
    place: Path, mixed_folder: Path
) -> None:
    page = place / "report.html"
    call = ("check-report", page, place / "disputed.txt", *of(place), "--model", mixed_folder)
    said = run(*call, status=1).output
    assert "give its texts, too, by --population" in said
    assert f"{NAMES[0]}: population" in said


def test_whatever_is_changed_in_the_page_is_found(
    place: Path, mixed_folder: Path, tmp_path: Path
) -> None:
    page = (place / "report.html").read_text("utf-8")
    told = reported(place / "report.html")
    assert told.posterior_none is not None
    first = told.propositions[0]
    for changed in (
        replace(told, posterior_none=0.123),
        replace(told, propositions=(replace(first, posterior=0.9), *told.propositions[1:])),
        replace(
            told,
            propositions=(
                replace(first, report=replace(first.report, log10_bayes_factor=4.2)),
                *told.propositions[1:],
            ),
        ),
    ):
        (tmp_path / "changed.html").write_text(report_page(changed), "utf-8")
        assert "the report has" in check(place, mixed_folder, tmp_path / "changed.html", status=1)
    (tmp_path / "words.html").write_text(page.replace("is not a verdict", "is a verdict"), "utf-8")
    assert "what the page says" in check(place, mixed_folder, tmp_path / "words.html", status=1)


def test_a_report_on_candidates_does_not_say_which_folder_is_opened(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object, **__: object) -> None:
        raise AssertionError("it was opened")

    monkeypatch.setattr("adhominem.questions.question.load", opened)
    told = reported(place / "report.html")
    first, *others = told.propositions
    elsewhere = replace(first, report=replace(first.report, model="../elsewhere"))
    changed = replace(told, propositions=(elsewhere, *others))
    (page := tmp_path / "report.html").write_text(report_page(changed), "utf-8")
    with pytest.raises(InputError, match="give the path of the model"):
        answer(
            "check-report",
            page_file=page,
            first=place / "disputed.txt",
            candidates=[place / name for name in NAMES],
        )


def test_a_candidate_who_is_missing_or_changed_is_found(
    place: Path, mixed_folder: Path, tmp_path: Path
) -> None:
    page, disputed = place / "report.html", place / "disputed.txt"
    options = ("--population", place / "others", "--model", mixed_folder)
    call = ("check-report", page, disputed, *of(place, NAMES[:2]), *options)
    assert f"candidates: the report has {NAMES[2]}" in run(*call, status=1).output
    changed = Path(shutil.copytree(place / NAMES[0], tmp_path / NAMES[0]))
    (changed / "0.txt").write_text(KNOWN[NAMES[0]][0] + " And more.", "utf-8")
    call = ("check-report", page, disputed, "--candidate", changed, *of(place, NAMES[1:]), *options)
    assert f"{NAMES[0]}: text of the second side" in run(*call, status=1).output


def test_the_pdf_says_the_same(place: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    pdf = pypdf.PdfReader(place / "report.pdf")
    words = " ".join(" ".join(page.extract_text() for page in pdf.pages).split())
    told = reported(place / "report.html")
    assert "Report on a disputed text and several candidates · 17 C" in words
    assert "What other priors would do" in words
    for one in told.propositions:
        assert f"{one.report.log10_bayes_factor:+.2f}".replace("-", "−") in words
        assert all(text.sha256 in words.replace(" ", "") for text in one.report.second)


def test_wrong_calls_are_refused_with_a_reason(
    place: Path, mixed_folder: Path, tmp_path: Path
) -> None:
    disputed, output = place / "disputed.txt", tmp_path / "report.html"
    for wrong, said in (
        ([place / NAMES[0], *of(place)], "either SECOND"),
        ([], "either SECOND"),
        ([*of(place), "--prior", 0.5], "--prior is for a report on two sides"),
        ([*of(place), "--validation", "study.json"], "--validation is for"),
        ([place / NAMES[0], "--none", 0.5], "--none is for a report with --candidate"),
    ):
        assert said in run("report", disputed, *wrong, "-o", output, status=2).output
    twice = of(place, [NAMES[0], NAMES[0]])
    done = run("report", disputed, *twice, "-o", output, status=1)
    assert "two candidates are named" in done.output
    page = place / "report.html"
    said = run("check-report", page, disputed, place / NAMES[0], status=1).output
    assert "report with several candidates" in said
    with pytest.raises(InputError, match="report with several candidates"):
        check_report(page, "It was he.", "It was she.")
