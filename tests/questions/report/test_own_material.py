"""A report with the examiner's own validation: its cases, and in what they differ from the case."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import SmallRun, made_up_rows
from made_up_reports import report_in_page, said, with_study

from adhominem import Report, ValidationStudy, Verifier, answer, load, make_report, read_study
from adhominem.cli import main
from adhominem.errors import OptionError
from adhominem.evaluation.study import MEASURES
from adhominem.questions.report.formats import report_of

ROWS = made_up_rows(8, 5, "o")
CASE = [row["text"] for row in made_up_rows(2, 4, "c")]


@dataclass(frozen=True)
class Worked:
    """Material, a study of it, and the texts of a case."""

    place: Path
    model: Path
    study: Path

    def run(self, *arguments: object) -> Result:
        given = ["--model", self.model]
        return CliRunner().invoke(main, [str(argument) for argument in (*arguments, *given)])

    def texts(self) -> tuple[Path, Path]:
        return self.place / "first.txt", self.place / "known"


@pytest.fixture(scope="module")
def worked(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Worked:
    place = tmp_path_factory.mktemp("own")
    for row in ROWS:
        path = place / "letters" / f"{row['id']}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(row["text"], "utf-8")
    (place / "known").mkdir()
    (place / "first.txt").write_text(CASE[0], "utf-8")
    for at in range(3):
        (place / "known" / f"{at}.txt").write_text(CASE[1 + at], "utf-8")
    study = place / "study.json"
    answer(
        "validate",
        material=place / "letters",
        output=[study],
        model=small_run.folder,
        known=3,
        resamples=20,
    )
    return Worked(place, small_run.folder, study)


@pytest.fixture(scope="module")
def verifier(worked: Worked) -> Verifier:
    return load(worked.model)


def reported(
    verifier: Verifier, study: ValidationStudy, first: str, *known: str, others: int = 0
) -> Report:
    texts = [row["text"] for row in made_up_rows(others, 1, "p")]
    population = verifier.population(texts) if others else None
    return make_report(
        verifier, first, list(known), population=population, validation=study, draws=20
    )


def differences(made: Report) -> list[str]:
    assert made.validation is not None
    assert made.validation.study is not None
    return [difference.split(":")[0] for difference in made.validation.study.differences]


def test_the_cases_of_the_study_are_those_that_the_result_is_held_against(
    verifier: Verifier, worked: Worked
) -> None:
    study = read_study(worked.study)
    made = reported(verifier, study, *CASE[:4])
    facts = made.validation
    assert facts is not None
    same = [case.log10_bayes_factor for case in study.cases if case.same_author]
    different = [case.log10_bayes_factor for case in study.cases if not case.same_author]
    result = made.log10_bayes_factor
    assert (facts.same_author, facts.different_authors) == (len(same), len(different)) == (40, 40)
    assert facts.same_at_most == sum(value <= result for value in same)
    assert facts.different_at_least == sum(value >= result for value in different)
    assert facts.cllr == pytest.approx(study.measures["cllr"], abs=1e-6)
    assert facts.study is not None
    assert facts.study.sha256 == study.sha256
    assert facts.study.measures == study.measures
    assert made.like is not None
    assert len(made.like) == 80
    assert np.array_equal(made.like.same_author, study.truth)
    text = " ".join(said(made))
    assert "the examiner’s own material" in text
    assert "80 same-author" not in text
    assert "40 same-author and 40 different-author cases, with texts by 8 authors" in text
    assert study.sha256 in text
    for measure in MEASURES.values():
        assert f"{measure.title}: " in text
    assert "The conditions of these cases are those of this case" in text
    assert report_of(made.to_json()) == replace(made, explanation=None, like=None)


def test_whatever_condition_differs_is_named(verifier: Verifier, worked: Worked) -> None:
    study = read_study(worked.study)
    assert differences(reported(verifier, study, *CASE[:4])) == []
    # Either side may be the questioned one, and a copy adds nothing.
    sides = make_report(verifier, [*CASE[1:4], CASE[1]], CASE[0], validation=study, draws=20)
    assert differences(sides) == []
    assert differences(reported(verifier, study, *CASE[:2])) == ["number of texts"]
    assert differences(reported(verifier, study, " ".join(CASE * 2), *CASE[1:4])) == [
        "words a text"
    ]
    assert differences(reported(verifier, study, *CASE[:4], others=7)) == ["population"]
    told = " ".join(said(reported(verifier, study, *CASE[:2])))
    assert "Number of texts: 1 questioned against 3 known in the validation, 1 against 1" in told


def test_the_summary_says_what_differs_and_nothing_where_nothing_does() -> None:
    for made, expected in ((with_study(), True), (with_study(differences=()), False)):
        sentences = said(made)
        summary = " ".join(sentences[: sentences.index("1. Instruction and propositions")])
        assert "made from the examiner’s own material, " in summary
        assert ("differ from those of this case. Words a text: 500" in summary) == expected


@pytest.mark.parametrize("others", [7, 30])
def test_a_population_is_compared_by_its_texts_and_their_number(
    verifier: Verifier, worked: Worked, others: int
) -> None:
    path = worked.place / "others"
    path.mkdir(exist_ok=True)
    for row in made_up_rows(7, 1, "p"):
        (path / f"{row['author']}.txt").write_text(row["text"], "utf-8")
    options = {"model": worked.model, "known": 3, "resamples": 0}
    given = answer("validate", material=worked.place / "letters", population=path, **options)
    drawn = answer(
        "validate",
        material=worked.place / "letters",
        population="input",
        population_size=others,
        **options,
    )
    for study, expected in ((given, 7), (drawn, others)):
        far = ["texts of the population"]
        assert differences(reported(verifier, study, *CASE[:4])) == ["population"]
        made = reported(verifier, study, *CASE[:4], others=others)
        assert differences(made) == (far if others != expected else [])
    another = reported(verifier, given, *CASE[:4], others=8)
    assert differences(another) == ["population"]


def test_texts_of_the_case_that_are_in_the_material_are_counted(
    verifier: Verifier, worked: Worked
) -> None:
    made = reported(verifier, read_study(worked.study), CASE[0], *CASE[1:3], ROWS[0]["text"])
    assert made.validation is not None
    assert made.validation.study is not None
    assert made.validation.study.shared_texts == 1
    assert "Of the texts of this case, 1 is in that material, too." in said(made)


def test_a_study_of_another_model_is_refused(verifier: Verifier, worked: Worked) -> None:
    foreign = replace(read_study(worked.study), model_sha256="00" * 32)
    with pytest.raises(OptionError, match=r"made with another model .*run `adhominem validate`"):
        reported(verifier, foreign, *CASE[:4])


def test_the_command_takes_the_file_and_the_check_must_have_it_again(
    worked: Worked, tmp_path: Path
) -> None:
    page, pdf = tmp_path / "report.html", tmp_path / "report.pdf"
    call = ("report", *worked.texts(), "--draws", 20, "-o", page, "-o", pdf)
    done = worked.run(*call, "--validation", worked.study)
    assert done.exit_code == 0, done.output
    assert pdf.stat().st_size > 0
    check = ("check-report", page, *worked.texts())
    done = worked.run(*check, "--validation", worked.study)
    assert done.exit_code == 0, done.output
    done = worked.run(*check)
    assert done.exit_code == 1
    assert "give its .json, too, by --validation" in done.stdout
    another = tmp_path / "another.json"
    answer(
        "validate",
        material=worked.place / "letters",
        output=[another],
        model=worked.model,
        known=3,
        seed=1,
        resamples=20,
    )
    done = worked.run(*check, "--validation", another, "--json")
    assert done.exit_code == 1
    told = {difference["what"] for difference in json.loads(done.stdout)["differences"]}
    assert "SHA-256 of the validation study" in told


def test_numbers_of_the_study_that_were_changed_in_a_report_are_found(
    worked: Worked, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    call = ("report", *worked.texts(), "--draws", 20, "-o", page, "--validation", worked.study)
    assert worked.run(*call).exit_code == 0
    rate = report_in_page(page)[0].validation
    assert rate is not None
    assert rate.study is not None
    value = json.dumps(rate.study.measures["auc"])
    page.write_text(page.read_text("utf-8").replace(f'"auc": {value}', '"auc": 0.999'), "utf-8")
    done = worked.run("check-report", page, *worked.texts(), "--validation", worked.study)
    assert done.exit_code == 1
    assert "validation.study.measures.auc: the report has +0.9990" in done.stdout


def test_a_broken_study_is_an_error_that_names_it(worked: Worked, tmp_path: Path) -> None:
    (path := tmp_path / "study.json").write_text("{}", "utf-8")
    page = tmp_path / "report.html"
    done = worked.run("report", *worked.texts(), "-o", page, "--validation", path)
    assert done.exit_code == 1
    assert "study.json: this is not a validation study" in done.stderr
    assert not page.exists()


def test_what_a_study_is_called_does_not_pass_for_markup() -> None:
    text = " ".join(said(with_study()))
    assert "letters <script>alert(1)</script>: 80 texts by 16 authors" in text
