"""A report is computed anew: whatever was changed is found, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import SmallRun, made_up_rows, write_rows
from made_up_reports import report_in_page

from adhominem import Verifier, answer, find_sources, load, read_pairs, write_pair_set
from adhominem.cli import main
from adhominem.errors import InputError, ModelError
from adhominem.questions.report.check import Difference, check_report
from adhominem.questions.report.document import report_page
from adhominem.questions.report.formats import report_of
from adhominem.questions.report.report import make_report
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, read_exhibits
from adhominem.training.calibrate import calibrate_model

ROWS = made_up_rows(6, 3, "r")


@dataclass(frozen=True)
class Worked:
    """A case with its files and its report."""

    place: Path
    model: Path
    page: Path
    first: Path
    second: Path
    others: Path

    def run(self, *more: object, page: Path | None = None) -> Result:
        """The command, with the population and the model unless others are given."""
        given = [*map(str, more)]
        for name, value in (("--population", self.others), ("--model", self.model)):
            if name not in given:
                given += [name, str(value)]
        arguments = ["check-report", str(page or self.page), str(self.first), str(self.second)]
        return CliRunner().invoke(main, [*arguments, *given])


@pytest.fixture(scope="module")
def case(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Worked:
    place = tmp_path_factory.mktemp("check")
    rows = write_rows(place / "rows.jsonl", made_up_rows(40, 8, "c"))
    write_pair_set(find_sources(rows), place / "pairs")
    model = Path(copytree(small_run.folder, place / "small"))
    calibrate_model(model, {"notes": list(read_pairs(place / "pairs"))})
    for folder in ("second", "others"):
        (place / folder).mkdir()
    (place / "first.txt").write_text(" ".join(row["text"] for row in ROWS[:3]), "utf-8")
    for number in (3, 6):
        words = " ".join(row["text"] for row in ROWS[number : number + 3])
        (place / "second" / f"{number}.txt").write_text(words, "utf-8")
    for number, row in enumerate(made_up_rows(7, 1, "p")):
        (place / "others" / f"{number}.txt").write_text(row["text"], "utf-8")
    result = Worked(
        place, model, place / "report.html", place / "first.txt", place / "second", place / "others"
    )
    done = CliRunner().invoke(
        main,
        [
            *("report", str(result.first), str(result.second), "-o", str(result.page)),
            *("--population", str(result.others), "--model", str(model), "--draws", "20"),
            *("--seed", "3", "--prior", "0.2", "--topic-second", "ships", "--case", "7"),
            *("--date", "2026-05-31"),
        ],
    )
    assert done.exit_code == 0, done.output
    return result


@pytest.fixture(scope="module")
def plain(case: Worked) -> tuple[Verifier, list[Exhibit], list[Exhibit], Path]:
    """The same without a population, by the library."""
    verifier = load(case.model)
    first, second = read_exhibits([case.first]), read_exhibits([case.second])
    made = make_report(verifier, first, second, draws=20, date="2026-05-31", annex="full")
    page = case.place / "plain.html"
    page.write_text(report_page(made), "utf-8")
    return verifier, first, second, page


Plain = tuple[Verifier, list[Exhibit], list[Exhibit], Path]


def what(differences: list[Difference]) -> set[str]:
    return {difference.what for difference in differences}


def test_the_same_texts_model_and_population_give_the_same_report(case: Worked) -> None:
    done = case.run()
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("The same")
    told = json.loads(case.run("--json").stdout)
    assert told == {"schema": 1, "same": True, "differences": [], "own_scale": False}


def test_it_may_be_computed_anew_on_a_device(case: Worked, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def load_there(model: str, *, device: str) -> Verifier:
        asked.append(device)
        return load(model)

    monkeypatch.setattr("adhominem.questions.question.load", load_there)
    done = case.run("--device", "cuda:1")
    assert done.exit_code == 0, done.output
    assert asked == ["cuda:1"]


def test_a_file_and_its_copy_keep_their_own_names(
    case: Worked, plain: Plain, tmp_path: Path
) -> None:
    verifier, first, second, _ = plain
    copy = replace(first[0], document=replace(first[0].document, id="copy.txt"))
    made = make_report(verifier, [*first, copy], second, draws=20, date="2026-05-31")
    assert [text.name for text in made.first] == [first[0].document.id, "copy.txt"]
    assert "repeated_text" in [caution.code for caution in made.warnings]
    (page := tmp_path / "copies.html").write_text(report_page(made), "utf-8")
    for given in ([*first, copy], [copy, *first]):
        assert check_report(page, given, second, verifier=verifier) == []


def tampered(page: Path, change: Callable[[dict[str, Any]], None], to: Path) -> Path:
    """A page whose data, and all that is shown of them, were changed."""
    reported, text = report_in_page(page)
    data = reported.to_json()
    change(data)
    changed = report_page(report_of(data))
    shown = changed.partition("</main>")[0]
    rest = text.partition('<section id="texts">')[2].partition("</main>")[0]
    to.write_text(
        f'{shown}<section id="texts">{rest}</main>{changed.partition("</main>")[2]}', "utf-8"
    )
    return to


def test_half_a_character_is_damage(case: Worked, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    text = case.page.read_text("utf-8")
    page.write_text(text.replace('"case": "7"', '"case": "\\ud800"'), "utf-8")
    with pytest.raises(InputError, match="damaged"):
        report_in_page(page)


def test_what_a_page_says_does_not_command_the_terminal(
    plain: Plain, case: Worked, tmp_path: Path
) -> None:
    def change(data: dict[str, Any]) -> None:
        data["verbal"] = data["first"][0]["name"] = "\x1b[2J all is well"
        data["first"][0]["words"] += 1

    page = tampered(plain[3], change, tmp_path / "report.html")
    result = check_report(page, *plain[1:3], verifier=plain[0])
    assert {"verbal"} < what(result)
    assert "\x1b" not in " ".join(map(str, result))


@pytest.mark.parametrize("name", ["words", "tokens"])
def test_a_changed_length_of_a_text_is_found(
    plain: Plain, case: Worked, tmp_path: Path, name: str
) -> None:
    def change(data: dict[str, Any]) -> None:
        data["first"][0][name] += 10_000

    page = tampered(plain[3], change, tmp_path / "report.html")
    result = check_report(page, *plain[1:3], verifier=plain[0])
    assert any(ngram.what.startswith(f"{name} of ") for ngram in result)


def test_a_number_beyond_all_numbers_is_damage(case: Worked, tmp_path: Path) -> None:
    page, number = tmp_path / "report.html", r'("log10_bayes_factor": )[^,]+'
    text = case.page.read_text("utf-8")
    page.write_text(re.sub(number, rf"\g<1>{'9' * 400}", text, count=1), "utf-8")
    with pytest.raises(InputError, match="damaged"):
        report_in_page(page)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("log10_bayes_factor", 3.21, "log10 Bayes factor"),
        ("log10_bayes_factor", None, "log10 Bayes factor"),  # moved by a thousandth
        ("verbal", "The texts say it all.", "verbal"),
        ("version", "0.0.1", "version of AdHominem"),
        ("model_sha256", "00" * 32, "SHA-256 of the model"),
        ("probability_same_author", 0.999, "probability by the prior given"),
        ("warnings", [{"code": "x", "message": "all is well", "decides": False}] * 9, "warnings"),
        ("reach", "at most certainty", "reach"),
        ("validation", None, "validation"),
        ("interval", None, "interval"),
    ],
)
def test_a_changed_number_is_found(
    plain: Plain, case: Worked, tmp_path: Path, name: str, value: Any, expected: str
) -> None:
    def change(data: dict[str, Any]) -> None:
        data[name] = data[name] + 0.001 if name.startswith("log10") and value is None else value

    source = case.page if name == "probability_same_author" else plain[3]
    page = tampered(source, change, tmp_path / "report.html")
    if source is case.page:
        done = case.run(page=page)
        assert done.exit_code == 1
        assert done.stdout.startswith(f"{expected}: the report has +0.9990")
        return
    result = check_report(page, *plain[1:3], verifier=plain[0])
    assert expected in what(result)


def test_an_interval_and_a_population_that_were_changed_are_found(
    case: Worked, tmp_path: Path
) -> None:
    def change(data: dict[str, Any]) -> None:
        data["interval"]["low"] -= 0.5
        data["population"]["texts"] = 70
        data["population"]["sha256"] = "00" * 32
        data["population"]["log10_bayes_factor_without"] += 1

    page = tampered(case.page, change, tmp_path / "report.html")
    told = json.loads(case.run("--json", page=page).stdout)
    result = {difference["what"] for difference in told["differences"]}
    assert not told["same"]
    assert {
        "lower end of the interval",
        "texts of the population",
        "log10 Bayes factor without the population",
    } <= result
    assert any(ngram.startswith("SHA-256 of the population") for ngram in result)


def test_the_last_digits_of_another_machine_do_not_count(
    plain: Plain, case: Worked, tmp_path: Path
) -> None:
    verifier, first, second, _ = plain
    made = make_report(verifier, first, second, draws=20)
    assert made.validation is not None
    elsewhere = replace(
        made,
        log10_bayes_factor=made.log10_bayes_factor + 1e-9,
        validation=replace(made.validation, cllr=made.validation.cllr - 1e-9),
    )
    page = tmp_path / "report.html"
    page.write_text(report_page(elsewhere), "utf-8")
    assert page.read_text("utf-8") != report_page(made)
    assert check_report(page, first, second, verifier=verifier) == []


def test_a_page_that_says_other_than_its_data_is_found(
    plain: Plain, case: Worked, tmp_path: Path
) -> None:
    verifier, first, second, source = plain
    text = source.read_text("utf-8")
    page = tmp_path / "report.html"
    for old, new, expected in (
        ("The texts give ", "The texts do give ", "what the page says"),
        ("This is not a verdict.", "", "what the page says"),
        ("</main>", "<p>He did it.</p></main>", "the texts and heat maps of the page"),
        ("\n", "\r\n", ""),  # as some programs send files on
    ):
        changed = text.replace(old, new, -1 if old == "\n" else 1)
        page.write_bytes(changed.encode())
        result = check_report(page, first, second, verifier=verifier)
        assert what(result) == ({expected} if expected else set()), old
        if "do give" in new:
            assert "do give" in result[0].reported
            assert "do give" not in result[0].found


def test_a_changed_text_is_found_by_its_hash_and_by_what_comes_of_it(
    plain: Plain, case: Worked
) -> None:
    verifier, (first,), second, page = plain
    text = f"{first.document.text} ; ; ; ; that that that that that that"
    other = Exhibit.of(replace(first.document, text=text), "first")
    result = check_report(page, other, second, verifier=verifier)
    (about,) = (ngram for ngram in result if ngram.what == "text of the first side")
    assert first.sha256 in about.reported
    assert other.sha256 in about.found
    fewer = check_report(page, first, second[:1], verifier=verifier)
    (about,) = (difference for difference in fewer if difference.what.startswith("text of"))
    assert about.what == "text of the second side"
    assert about.found == "none"
    assert second[1].sha256 in about.reported


def test_a_text_may_be_renamed_and_the_order_of_a_side_does_not_matter(
    plain: Plain, case: Worked
) -> None:
    verifier, (first,), second, page = plain
    renamed = replace(first, document=replace(first.document, id="elsewhere.txt"))
    result = check_report(page, renamed, second[::-1], verifier=verifier)
    assert result == []


def test_words_that_were_changed_together_with_the_scale_are_found(
    plain: Plain, case: Worked, tmp_path: Path
) -> None:
    verifier, first, second, page = plain
    reported, _ = report_in_page(page)
    words = VerbalScale(reported.settings.scale).words(reported.log10_bayes_factor)
    page_with_scale = tmp_path / "own.html"
    page_with_scale.write_text(
        page.read_text("utf-8").replace(words, "tremendous support"), "utf-8"
    )
    assert "tremendous support" in report_in_page(page_with_scale)[0].verbal
    result = check_report(page_with_scale, first, second, verifier=verifier)
    assert {"verbal scale", "verbal"} <= what(result) <= {"verbal scale", "verbal", "reach"}
    assert "tremendous support" in result[0].reported
    assert "tremendous support" not in result[0].found


def test_a_verbal_scale_of_the_reports_own_must_be_given(case: Worked, tmp_path: Path) -> None:
    page_with_scale, scale, other = (
        tmp_path / name for name in ("own.html", "scale.json", "other.json")
    )
    scale.write_text('[[0, "no support to speak of"], [0.001, "tremendous support"]]', "utf-8")
    other.write_text('[[0, "no support to speak of"], [0.001, "some support"]]', "utf-8")
    sides = (case.first, case.second, "--model", case.model, "--population", case.others)
    made = ("report", *sides, "-o", page_with_scale, "--draws", "20", "--scale", scale)
    done = CliRunner().invoke(main, [*map(str, made)])
    assert done.exit_code == 0, done.output
    assert "--population POPULATION --scale SCALE" in page_with_scale.read_text("utf-8")
    assert "--scale" not in case.page.read_text("utf-8")
    done = case.run(page=page_with_scale)
    assert done.exit_code == 1
    assert done.stdout.startswith("verbal scale: the report has")
    assert "a verbal scale of its own" in done.stdout
    assert "by --scale" in done.stdout
    told = json.loads(case.run("--json", page=page_with_scale).stdout)
    assert (told["same"], told["own_scale"]) == (False, True)
    assert case.run("--scale", other, page=page_with_scale).exit_code == 1
    assert case.run("--scale", scale).exit_code == 1  # which the report was not made with
    done = case.run("--scale", scale, page=page_with_scale)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("The same")
    assert "not the one of AdHominem" in done.stdout
    assert "not the one of AdHominem" not in case.run().stdout


def test_another_model_is_found_by_its_hash(case: Worked, small_run: SmallRun) -> None:
    done = case.run("--model", small_run.folder)
    assert done.exit_code == 1
    assert "SHA-256 of the model: the report has" in done.stdout


def test_files_of_the_population_may_have_other_names_by_now(case: Worked, tmp_path: Path) -> None:
    others = tmp_path / "others"
    copytree(case.others, others)
    (others / "3.txt").rename(others / "zz.txt")  # it is read last then
    done = case.run("--population", others)
    assert "text of the population" not in done.stdout
    assert "with parts of the population" not in done.stdout


@pytest.mark.parametrize(("name", "value"), [("sha256", "00" * 32), ("words", 1_000_000)])
def test_a_changed_text_of_the_population_is_found(
    case: Worked, tmp_path: Path, name: str, value: Any
) -> None:
    def change(data: dict[str, Any]) -> None:
        data["population"]["material"][2][name] = value

    page = tampered(case.page, change, tmp_path / "report.html")
    done = case.run(page=page)
    assert done.exit_code == 1
    expected = (
        "text of the population: the report has 2 (SHA-256 0000"
        if name == "sha256"
        else ("words of 2: the report has 1,000,000, now it is ")
    )
    assert done.stdout.startswith(expected)


def test_a_changed_number_with_halves_of_the_population_is_found(
    case: Worked, tmp_path: Path
) -> None:
    def change(data: dict[str, Any]) -> None:
        data["population"]["sensitivity"]["lowest"] += 0.01

    done = case.run(page=tampered(case.page, change, tmp_path / "report.html"))
    assert done.stdout.startswith("lowest log10 Bayes factor with parts of the population: ")


def test_a_population_that_is_missing_or_another_is_found(
    case: Worked, plain: Plain, tmp_path: Path
) -> None:
    verifier, first, second, page = plain
    result = check_report(case.page, first, second, verifier=verifier)
    (about,) = (ngram for ngram in result if ngram.what == "population")
    assert about.found == "none"
    assert "texts 7" in about.reported
    assert result[0] is about  # the cause comes first
    others = tmp_path / "others"
    copytree(case.others, others)
    (others / "0.txt").write_text("It was he and that was that, for it is a he.", "utf-8")
    done = case.run("--population", others)
    assert done.exit_code == 1
    assert done.stdout.startswith("text of the population: the report has 0 (SHA-256 ")
    assert "\nSHA-256 of the population" in done.stdout
    (others / "0.txt").unlink()
    assert "now it is none" in case.run("--population", others).stdout.splitlines()[0]
    relevant = verifier.population([row["text"] for row in ROWS])
    assert isinstance(relevant, Population)
    unasked = check_report(page, first, second, verifier=verifier, population=relevant)
    assert unasked[0].what == "population"
    assert unasked[0].reported == "none"


def test_the_model_is_the_one_that_the_report_names(
    plain: Plain, case: Worked, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, first, second, page = plain
    with pytest.raises(ModelError, match="no model folder small"):
        check_report(page, first, second)
    monkeypatch.chdir(case.place)
    assert check_report(page, first, second) == []


def test_a_report_does_not_say_which_folder_is_opened(
    case: Worked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(data: dict[str, Any]) -> None:
        data["model"] = "../elsewhere"

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("it was opened")

    monkeypatch.setattr("adhominem.questions.question.load", opened)
    page = tampered(case.page, change, tmp_path / "report.html")
    with pytest.raises(InputError, match="give the path of the model"):
        answer("check-report", page_file=page, first=case.first, second=case.second)


def test_topics_are_those_of_the_report(case: Worked) -> None:
    reported, _ = report_in_page(case.page)
    assert [text.topic for text in reported.second] == ["ships", "ships"]
    assert [text.topic for text in reported.first] == [""]
    assert case.run().exit_code == 0  # where none is given


def test_a_damaged_or_foreign_page_is_an_error_and_no_difference(
    case: Worked, tmp_path: Path
) -> None:
    foreign = tmp_path / "other.html"
    foreign.write_text("<p>Hello</p>", "utf-8")
    done = case.run(page=foreign)
    assert done.exit_code == 1
    assert "error: " in done.stderr
    assert "not a report by AdHominem" in done.stderr
    with pytest.raises(InputError, match="no such file"):
        check_report(tmp_path / "nowhere.html", "a", "b")
