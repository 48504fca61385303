"""Two sides compared: what is reported, how several texts are weighed, and the command."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from hashlib import sha256
from pathlib import Path
from shutil import copytree
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import WORDS, SmallRun, any_words, made_up_rows, write_rows
from made_up import verification

from adhominem import Document, TwoCovariance, Verifier, load
from adhominem.cli import main
from adhominem.cli.terminal import print_answer
from adhominem.errors import EmptyTextError, OptionError
from adhominem.evaluation.measures import cllr
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.model.member import make_members
from adhominem.model.writing import write_ensemble
from adhominem.questions.verify.page import PAGE
from adhominem.score.calibration import Calibration, Weights
from adhominem.score.decision import (
    NONE,
    VerbalScale,
    ensemble_probability,
    probability_same_author,
)
from adhominem.text.exhibits import Exhibit, read_exhibits

KEYS = {
    "schema",
    *("log_bayes_factor", "log10_bayes_factor", "verbal"),
    *("lower_bound", "upper_bound", "conditions", "reach"),
    *("probability_same_author", "prior_same_author", "decision", "reason"),
    *("population", "likeness", "warnings", "model", "first", "second"),
    *("language", "language_given"),
    "model_sha256",
    "version",
}


def made_up(seed: object, words: int = 150) -> str:
    """A text whose author has words that he likes."""
    rng = random.Random(f"{seed}")
    liked = [*rng.choices(WORDS, k=4), rng.choice([",", ";", "!"])]
    return " ".join(rng.choices(WORDS + 8 * liked, k=words))


KNOWN = [made_up(("known", number)) for number in range(4)]
QUESTIONED = made_up("questioned")


@pytest.fixture(scope="module")
def verifier(small_run: SmallRun) -> Verifier:
    return load(small_run.folder)


@pytest.fixture(scope="module")
def ensemble(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model, and itself with another idea of how far authors differ."""
    from safetensors.numpy import load_file, save_file

    folder = tmp_path_factory.mktemp("ensemble")
    for name in ("one", "two"):
        copytree(small_run.folder, folder / name)
    weights = load_file(folder / "two" / "model.safetensors")
    weights["two_covariance.between_author_factor"] *= 1.5
    save_file(weights, folder / "two" / "model.safetensors")
    write_ensemble(folder, ["one", "two"], {}, "")
    return folder


def codes(result: Any) -> list[str]:
    return [each.code for each in result.warnings]


# what is reported


def test_the_numbers_of_a_comparison_hang_together(verifier: Verifier) -> None:
    found = verifier.verify(KNOWN[0], QUESTIONED, prior_same_author=0.2)
    levs = verifier.encode([KNOWN[0], QUESTIONED])
    assert found.log_bayes_factor == pytest.approx(verifier.score(levs[:1], levs[1:])[0], abs=1e-5)
    assert found.log10_bayes_factor == pytest.approx(found.log_bayes_factor / np.log(10))
    assert found.verbal == VerbalScale().sentence(found.log10_bayes_factor)
    assert found.prior_same_author == 0.2
    expected = probability_same_author(found.log_bayes_factor, 0.2)
    assert found.probability_same_author == pytest.approx(float(expected))
    assert found.model == "model"


def test_as_json_it_has_the_names_that_are_promised(verifier: Verifier) -> None:
    told = json.loads(json.dumps(verifier.verify(KNOWN[:2], QUESTIONED).to_json()))
    assert set(told) == KEYS
    assert set(told["first"]) == set(told["second"]) == {"documents", "tokens"}
    for document in (*told["first"]["documents"], *told["second"]["documents"]):
        assert set(document) == {"name", "tokens", "sha256"}
    assert all(set(each) == {"code", "message", "decides"} for each in told["warnings"])


def test_each_side_lists_its_documents_tokens_and_hashes(verifier: Verifier) -> None:
    found = verifier.verify(KNOWN[:2], Document(text=QUESTIONED, id="memo"))
    assert [each.name for each in found.first.documents] == ["first-1", "first-2"]
    assert [each.tokens for each in found.first.documents] == [150, 150]
    assert found.first.tokens == 300
    (memo,) = found.second.documents
    assert (memo.name, memo.tokens) == ("memo", 150)
    assert memo.sha256 == sha256(QUESTIONED.encode()).hexdigest()


def test_a_result_cannot_be_changed(verifier: Verifier) -> None:
    found = verifier.verify(KNOWN[0], QUESTIONED)
    for part, name in ((found, "decision"), (found.first, "tokens"), (found.warnings[0], "code")):
        with pytest.raises(FrozenInstanceError):
            setattr(part, name, "other")


def test_it_does_not_matter_which_side_comes_first(verifier: Verifier) -> None:
    for first, second in ((KNOWN[0], QUESTIONED), (KNOWN, QUESTIONED), (KNOWN[:2], KNOWN[2:])):
        one, other = verifier.verify(first, second), verifier.verify(second, first)
        assert one.log_bayes_factor == pytest.approx(other.log_bayes_factor, abs=1e-9)
        assert one.decision == other.decision
        assert [each.sha256 for each in one.first.documents] == [
            each.sha256 for each in other.second.documents
        ]


def test_neither_does_the_order_of_the_texts_of_a_side(verifier: Verifier) -> None:
    one, other = (verifier.verify(side, QUESTIONED) for side in (KNOWN, KNOWN[::-1]))
    assert one.log_bayes_factor == pytest.approx(other.log_bayes_factor, abs=1e-5)


@pytest.mark.parametrize("prior", [0.001, 0.1, 0.5, 0.9])
def test_the_prior_moves_the_probability_by_its_odds_and_leaves_the_bayes_factor_alone(
    verifier: Verifier, prior: float
) -> None:
    even, other = (
        verifier.verify(KNOWN[0], QUESTIONED, prior_same_author=each) for each in (0.5, prior)
    )
    assert other.log_bayes_factor == even.log_bayes_factor
    assert other.verbal == even.verbal
    odds = [
        each.probability_same_author / (1 - each.probability_same_author) for each in (even, other)
    ]
    assert odds[1] / odds[0] == pytest.approx(prior / (1 - prior))


@pytest.mark.parametrize("prior", [0.0, 1.0, -1.0, float("nan")])
def test_a_prior_that_no_evidence_can_move_is_refused(verifier: Verifier, prior: float) -> None:
    with pytest.raises(OptionError, match="prior_same_author"):
        verifier.verify(KNOWN[0], QUESTIONED, prior_same_author=prior)


def test_a_topic_is_part_of_a_text(verifier: Verifier) -> None:
    plain = verifier.verify(KNOWN[0], QUESTIONED)
    ships = verifier.verify(Document(text=KNOWN[0], topic="ships"), QUESTIONED)
    assert abs(plain.log_bayes_factor - ships.log_bayes_factor) > 1e-6
    assert plain.first.documents[0].sha256 == ships.first.documents[0].sha256


def test_a_decision_is_withheld_where_it_would_mislead(verifier: Verifier) -> None:
    short = verifier.verify(made_up("a", 20), QUESTIONED, prior_same_author=0.999)
    assert short.decision == "undecided"
    assert short.reason.startswith("too few words and marks to say anything: first (20)")
    same = verifier.verify(QUESTIONED, QUESTIONED, prior_same_author=0.999)
    assert same.decision == "undecided"
    assert "are the same text" in same.reason
    assert "identical" in codes(same)


def test_a_decision_by_another_prior_than_even_names_it(verifier: Verifier) -> None:
    even = verifier.verify(KNOWN[0], QUESTIONED)
    other = verifier.verify(KNOWN[0], QUESTIONED, prior_same_author=0.01)
    assert "with the prior" not in even.reason
    assert "with the prior 0.01" in other.reason


def test_a_sure_prior_decides(verifier: Verifier) -> None:
    for prior, decision in ((1e-9, "different authors"), (1 - 1e-9, "same author")):
        found = verifier.verify(KNOWN[0], QUESTIONED, prior_same_author=prior)
        assert found.decision == decision
    narrow, wide = (verifier.verify(KNOWN[0], QUESTIONED, delta=delta) for delta in (0.0, 0.4999))
    assert (narrow.decision == "undecided", wide.decision) == (False, "undecided")


def test_a_scale_of_ones_own_gives_the_words(verifier: Verifier) -> None:
    own = VerbalScale(((0, "a hint"),))
    assert "give a hint for" in verifier.verify(KNOWN[0], QUESTIONED, scale=own).verbal


def test_an_uncalibrated_model_warns_and_a_calibrated_one_tells_of_its_bounds(
    small_run: SmallRun,
) -> None:
    def calibration(lower: float, upper: float) -> Calibration:
        return Calibration(
            members=(None,),
            layer_weights=(2.0,),
            weights=Weights(constant=0.1),
            lower_bound=lower,
            upper_bound=upper,
            bounds=(),
            tokens=(30.0, 3_000.0),
        )

    bare = Verifier(make_members([small_run.model])).verify(KNOWN[0], QUESTIONED)
    wide = Verifier(make_members([small_run.model]), calibration(-99, 99))
    tight = Verifier(make_members([small_run.model]), calibration(-1e-9, 1e-9))
    assert "uncalibrated" in codes(bare)
    one = wide.verify(KNOWN[0], QUESTIONED)
    assert not {"uncalibrated", "at_bound"} & {*codes(one)}
    assert one.log_bayes_factor == pytest.approx(2 * bare.log_bayes_factor + 0.1)
    assert (bare.lower_bound, bare.upper_bound, bare.reach) == (None, None, "")
    several = wide.verify(KNOWN, QUESTIONED)
    assert (several.lower_bound, several.upper_bound) == pytest.approx(
        np.array([-99, 99]) / np.log(10)
    )
    assert several.conditions == (
        "4 texts against 1, about 150 words and marks in the shorter texts, no population"
    )
    assert several.reach == "at most extremely strong support for either proposition"
    assert tight.verify(KNOWN, QUESTIONED).reach == f"{NONE} for either proposition"
    assert "at_bound" in codes(tight.verify(KNOWN[0], QUESTIONED))


def test_a_comparison_without_a_population_tells_how_often_that_misled(mixed_folder: Path) -> None:
    verifier = load(mixed_folder)
    assert verifier.validation is not None
    (caution,) = (
        caution
        for caution in verifier.verify(KNOWN[0], QUESTIONED).warnings
        if caution.code == "no_population"
    )
    assert "% of the same-author cases gave evidence for different authors" in caution.message
    others = verifier.population(KNOWN + [made_up(f"other {at}") for at in range(6)])
    assert "no_population" not in codes(verifier.verify(KNOWN[0], QUESTIONED, population=others))


def test_no_statement_is_made_on_two_genres_where_no_population_says_of_which_they_are(
    mixed_folder: Path,
) -> None:
    verifier = load(mixed_folder)
    assert verifier.calibration is not None
    weights = replace(verifier.calibration.weights, genre_slope=1.0, genre_constant=-1e6)
    calibration = replace(verifier.calibration, weights=weights)
    doubting = Verifier(verifier.members, calibration)
    found = doubting.verify(KNOWN, QUESTIONED, prior_same_author=0.999)
    assert found.log_bayes_factor == 0
    assert found.decision == "undecided"
    assert found.verbal.startswith("No statement is made: the two sides seem to be of two genres")
    assert "two_genres" not in codes(verifier.verify(KNOWN, QUESTIONED))
    population = doubting.population([*KNOWN, *(made_up(f"other {at}") for at in range(6))])
    told = doubting.verify(KNOWN, QUESTIONED, population=population)
    assert "other_genre_of_population" in codes(told) or "two_genres" not in codes(told)


def test_texts_beyond_the_calibrated_length_are_told(mixed_folder: Path) -> None:
    verifier = load(mixed_folder)
    assert verifier.calibration is not None
    long = made_up("long", int(2 * verifier.calibration.tokens[1]))
    assert "longer_than_calibrated" in codes(verifier.verify(long, QUESTIONED))
    assert "longer_than_calibrated" not in codes(verifier.verify(KNOWN[0], QUESTIONED))


def test_a_side_without_a_text_or_a_word_is_an_error(verifier: Verifier) -> None:
    with pytest.raises(OptionError, match="there is no second text"):
        verifier.verify(QUESTIONED, [])
    with pytest.raises(EmptyTextError, match="first-2: the text has no word in it"):
        verifier.verify([KNOWN[0], "\u200b"], QUESTIONED)
    with pytest.raises(EmptyTextError, match="the text is empty"):
        verifier.verify("", QUESTIONED)


# several texts a side


def test_several_texts_are_weighed_by_the_two_covariance_model_with_sets(
    small_run: SmallRun, verifier: Verifier
) -> None:
    known, questioned = verifier.encode(KNOWN)[:, :-1], verifier.encode([QUESTIONED])[:, :-1]
    model = small_run.model.two_covariance()
    found = verifier.verify(KNOWN, QUESTIONED).log_bayes_factor
    assert found == pytest.approx(model.log_bayes_factor([known], [questioned])[0], abs=1e-5)
    averaged = model.log_bayes_factor(known.mean(axis=0)[None], questioned)[0]
    one_by_one = model.log_bayes_factor(known, np.repeat(questioned, 4, axis=0)).mean()
    joined = verifier.verify("\n".join(KNOWN), QUESTIONED).log_bayes_factor
    for other in (averaged, one_by_one, joined):
        assert abs(found - other) > 1e-3
    both = verifier.verify(KNOWN[:2], KNOWN[2:]).log_bayes_factor
    assert both == pytest.approx(model.log_bayes_factor([known[:2]], [known[2:]])[0], abs=1e-5)


def test_copies_of_a_text_on_one_side_count_once_and_are_named(
    verifier: Verifier, tmp_path: Path
) -> None:
    import docx

    letter = docx.Document()
    letter.add_paragraph(KNOWN[0])
    letter.save(str(tmp_path / "letter.docx"))
    for name, text in (("letter", KNOWN[0]), ("other", KNOWN[1]), ("z", f"\ufeff{KNOWN[1]}\n\n")):
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    names = [tmp_path / name for name in ("letter.txt", "other.txt", "letter.docx", "z.txt")]
    given = read_exhibits(names)
    found = verifier.verify(given, QUESTIONED)
    once = verifier.verify(given[:2], QUESTIONED)
    assert found.log_bayes_factor == once.log_bayes_factor
    assert found.likeness == once.likeness
    assert found.first.tokens == once.first.tokens
    (caution,) = [each for each in found.warnings if each.code == "repeated_text"]
    for one, other in ((0, 2), (1, 3)):
        assert f"{names[one]} and {names[other]}" in caution.message
    assert [each for each in found.warnings if each != caution] == list(once.warnings)
    assert {each.name: each.sha256 for each in found.first.documents} == {
        str(name): sha256(name.read_bytes()).hexdigest() for name in names
    }
    two_of_one = verifier.verify(given[0], [QUESTIONED, QUESTIONED])
    assert two_of_one.conditions.startswith("1 text against 1,")
    assert two_of_one.log_bayes_factor == verifier.verify(given[0], QUESTIONED).log_bayes_factor
    across = verifier.verify(given[0], given[2])  # no copy within a side
    assert "repeated_text" not in codes(across)
    assert "identical" in codes(across)


def test_an_ensemble_weighs_several_texts_by_the_mean_of_its_members_probabilities(
    ensemble: Path,
) -> None:
    members = [load(ensemble / name).verify(KNOWN, QUESTIONED) for name in ("one", "two")]
    both = load(ensemble).verify(KNOWN, QUESTIONED)
    assert members[0].log_bayes_factor != pytest.approx(members[1].log_bayes_factor, abs=1e-3)
    expected = ensemble_probability([member.probability_same_author for member in members])
    assert both.probability_same_author == pytest.approx(float(expected))
    assert both.model == ensemble.name


def test_sets_cost_less_than_averages_on_simulated_levs() -> None:
    """Five known documents and one questioned, half of the cases by one author."""
    rng = np.random.default_rng(0)
    size, authors = 20, 2_000
    model = TwoCovariance.from_precisions(np.zeros(size), 2 * np.eye(size), np.eye(size))
    styles = rng.normal(size=(authors, size)) / np.sqrt(2)
    known = styles[:, None] + rng.normal(size=(authors, 5, size))
    questioned = styles + rng.normal(size=(authors, size))
    same = np.repeat([True, False], authors)
    known = np.concatenate([known, known])
    questioned = np.concatenate([questioned, np.roll(questioned, 1, axis=0)])
    sets = model.log_bayes_factor(list(known), list(questioned[:, None]))
    averaged = model.log_bayes_factor(known.mean(axis=1), questioned)
    one_by_one = [model.log_bayes_factor(known[:, at], questioned) for at in range(5)]
    cost = cllr(sets, same)
    assert cost < cllr(averaged, same) - 0.1
    assert cost < cllr(np.mean(one_by_one, axis=0), same) - 0.1
    assert cost < cllr(one_by_one[0], same) - 0.2


# the command


def run(*arguments: object, status: int = 0, given: bytes | None = None) -> Result:
    result = CliRunner().invoke(main, [str(each) for each in arguments], input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


@pytest.fixture
def desk(small_run: SmallRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that the examples in the help speak of; one stands in it."""
    for name in ("model", DEFAULT_MODEL):  # a folder goes before a shipped model of its name
        (tmp_path / name).symlink_to(small_run.folder)
    (tmp_path / "letter.txt").write_text(QUESTIONED, "utf-8")
    (tmp_path / "email.txt").write_text(KNOWN[0], "utf-8")
    for folder in ("known-letters", "other-letters", "INPUT_FOLDER", "novels"):
        (tmp_path / folder).mkdir()
    for number, text in enumerate(KNOWN):
        (tmp_path / "known-letters" / f"{number}.txt").write_text(text, "utf-8")
    for number in range(6):
        text = made_up(("other", number))
        (tmp_path / "other-letters" / f"{number}.txt").write_text(text, "utf-8")
    write_rows(tmp_path / "novels" / "texts.jsonl", made_up_rows(2, 2, "n"))
    pairs = "".join(
        json.dumps({"id": f"p{number}", "fandoms": ["", ""], "pair": [text, QUESTIONED]}) + "\n"
        for number, text in enumerate(KNOWN)
    )
    for path in (tmp_path / "pairs.jsonl", tmp_path / "INPUT_FOLDER" / "pairs.jsonl"):
        path.write_text(pairs, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examples_in(command: str) -> list[list[str]]:
    found = main.commands[command]
    text = found.get_help(click.Context(found, info_name=command))
    return [line.split()[1:] for line in text.splitlines() if line.startswith("      adhominem ")]


@pytest.mark.parametrize("command", ["verify", "predict"])
def test_the_examples_of_the_help_run(
    desk: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADHOMINEM_MODEL", raising=False)
    examples = examples_in(command)
    assert len(examples) >= 2
    for example in examples:
        run(*example)
    if command == "predict":
        assert (desk / "OUTPUT_FOLDER" / "answers.jsonl").is_file()


def test_the_command_prints_what_the_function_returns(desk: Path) -> None:
    result = run("verify", "letter.txt", "known-letters", "--model", "model", "--json")
    told = json.loads(result.stdout)
    assert set(told) == KEYS
    expected = load("model").verify(QUESTIONED, KNOWN)
    assert told["log_bayes_factor"] == pytest.approx(expected.log_bayes_factor, abs=1e-5)
    assert told["decision"] == expected.decision
    assert [each["name"] for each in told["second"]["documents"]] == [
        f"known-letters/{number}.txt" for number in range(4)
    ]
    data = (desk / "letter.txt").read_bytes()
    assert told["first"]["documents"][0]["sha256"] == sha256(data).hexdigest()


def test_for_people_it_prints_the_factor_its_words_the_probability_and_the_decision(
    desk: Path,
) -> None:
    result = run("verify", "letter.txt", "email.txt", "--model", "model", "--prior", 0.3)
    expected = load("model").verify(QUESTIONED, KNOWN[0], prior_same_author=0.3)
    assert f"{expected.log10_bayes_factor:+.2f}" in result.stdout
    assert expected.verbal in result.stdout
    assert f"{expected.probability_same_author:.3f}, if it was 0.3 before" in result.stdout
    assert expected.decision in result.stdout
    assert expected.reason in result.stdout
    for name, text in (("letter.txt", QUESTIONED), ("email.txt", KNOWN[0])):
        assert f"{name}, 150 tokens" in result.stdout
        assert sha256(text.encode()).hexdigest()[:16] in result.stdout
    warned = [f"warning: {each.message}" for each in expected.warnings]
    assert [line.replace("first", "letter.txt") for line in warned] == result.stderr.splitlines()


def test_for_people_it_prints_what_can_be_reported_under_the_conditions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_answer(PAGE, verification(), {}, [])
    shown = capsys.readouterr().out
    assert "Bounds  -1.34 to +1.76 under these conditions (1 text against 1, about 30" in shown
    assert "): at most moderate support for either proposition" in shown
    print_answer(PAGE, verification(lower_bound=None, upper_bound=None, reach=""), {}, [])
    assert "Bounds" not in capsys.readouterr().out


def test_all_of_its_options_are_passed_on(desk: Path) -> None:
    (desk / "scale.json").write_text('[[0, "a hint"]]', "utf-8")
    result = run(
        *(
            "verify",
            "letter.txt",
            "email.txt",
            "--model",
            "model",
            "--json",
            "--scale",
            "scale.json",
        ),
        *("--also-first", "known-letters/1.txt", "--also-second", "known-letters/2.txt"),
        *("--also-second", "known-letters/3.txt", "--topic-first", "ships", "--prior", "0.1"),
        *("--topic-second", "cats and dogs", "--delta", "0.4999"),
    )
    told = json.loads(result.stdout)
    expected = load("model").verify(
        [Document(text=text, topic="ships") for text in (QUESTIONED, KNOWN[1])],
        [Document(text=text, topic="cats and dogs") for text in (KNOWN[0], *KNOWN[2:])],
        prior_same_author=0.1,
    )
    assert told["log_bayes_factor"] == pytest.approx(expected.log_bayes_factor, abs=1e-5)
    assert told["prior_same_author"] == 0.1
    assert told["decision"] == "undecided"
    assert "a hint" in told["verbal"]


def test_a_side_may_come_from_standard_input(desk: Path) -> None:
    result = run(
        *("verify", "-", "email.txt", "--model", "model", "--json"), given=QUESTIONED.encode()
    )
    (document,) = json.loads(result.stdout)["first"]["documents"]
    assert document == {
        "name": "standard input",
        "tokens": 150,
        "sha256": sha256(QUESTIONED.encode()).hexdigest(),
    }


def test_an_exhibit_keeps_the_hash_of_its_file(verifier: Verifier) -> None:
    exhibit = Exhibit(Document(text=QUESTIONED, id="scan.pdf"), "0" * 64)
    (found,) = verifier.verify(exhibit, KNOWN[0]).first.documents
    assert (found.name, found.sha256) == ("scan.pdf", "0" * 64)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.txt", "email.txt"], "nowhere.txt: there is no such file or folder"),
        (["empty.txt", "email.txt"], "empty.txt: the text is empty; expected"),
        (["letter.txt", "hidden.txt"], "hidden.txt: the text has no word in it"),
        (["letter.txt", "email.txt", "--model", "nowhere"], "nowhere"),
        (["letter.txt", "email.txt", "--scale", "letter.txt"], "letter.txt is not a verbal scale"),
        (["letter.txt", "email.txt", "--device", "tpu"], "the device is 'tpu'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_work_ends_with_1_and_one_line(
    desk: Path, arguments: list[str], message: str
) -> None:
    (desk / "empty.txt").write_text("", "utf-8")
    (desk / "hidden.txt").write_text("\u200b", "utf-8")
    result = run("verify", "--model", "model", *arguments, status=1)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "letter.txt"],
        ["verify", "letter.txt", "email.txt", "--model", "model", "--prior", "0"],
        ["verify", "letter.txt", "email.txt", "--model", "model", "--delta", "0.5"],
        ["predict", "-o", "answers.jsonl", "--model", "model"],
        ["predict", "pairs.jsonl", "-i", "pairs.jsonl", "-o", "answers.jsonl", "--model", "model"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_ends_with_2(
    desk: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADHOMINEM_MODEL", raising=False)
    assert run(*arguments, status=2).stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "letter.txt", "known-letters"],
        ["verify", "letter.txt", "known-letters", "--json"],
        ["predict", "pairs.jsonl", "-o", "answers.jsonl"],
        ["predict", "pairs.jsonl", "-o", "answers.jsonl", "--json", "--jobs", "2"],
    ],
    ids=" ".join,
)
def test_scoring_imports_neither_torch_nor_matplotlib(desk: Path, arguments: list[str]) -> None:
    if "--jobs" in arguments:  # much to do, or no process would be started
        rows = [
            {
                "id": f"{at}",
                "fandoms": ["", ""],
                "pair": [any_words(50_000 + 2 * at + n) for n in (0, 1)],
            }
            for at in range(8)
        ]
        write_rows(desk / "pairs.jsonl", rows)
    done = subprocess.run(  # the processes that it starts report their imports, too
        [sys.executable, "-X", "importtime", "-m", "adhominem", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "ADHOMINEM_MODEL": "model"},
        check=True,
        timeout=60,
    )
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0]
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert {"adhominem", "numpy"} <= imported
    heavy = {"torch", "matplotlib", "scipy", "sklearn", "pandas"}
    assert not imported & heavy
    if "--jobs" in arguments:
        lines = done.stderr.splitlines()
        assert sum(line.endswith(" adhominem.jobs.workers") for line in lines) >= 2
    if "--json" in arguments:
        assert isinstance(json.loads(done.stdout), dict)


def test_a_topic_that_the_model_cannot_use_is_said_to_be_unused(small_run: SmallRun) -> None:
    config = small_run.config.with_setting("data.hidden_topics=1.0")
    blind = Verifier(make_members([replace(small_run.model, config=config)]))
    for topic, said in (("", False), ("ships", True)):
        found = blind.verify(Document(text=KNOWN[0], topic=topic), QUESTIONED)
        assert ("topic_unused" in [each.code for each in found.warnings]) == said
