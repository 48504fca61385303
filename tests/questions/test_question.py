"""A question is declared once: its command, its requests and its form have the same settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import click
import numpy as np
import pytest
from conftest import NgramRun

from adhominem.cli import main
from adhominem.errors import OptionError
from adhominem.jobs.run import Run
from adhominem.questions import QUESTIONS, question_of
from adhominem.questions.question import Input, Question, Texts, inputs_of, named
from adhominem.records import Offered, Within, settings_of
from adhominem.text.files import Document
from adhominem.verify.encoding import Kept
from adhominem.verify.verifier import Verifier, load
from adhominem.web.asking import body_of


@dataclass(frozen=True, kw_only=True)
class HowMany(Question):
    """How many words are there?

    More than none.
    """

    name: ClassVar[str] = "how-many"
    example: ClassVar[dict[str, Any]] = {"texts": ["One."]}

    texts: Annotated[Texts, Input("Some texts.", is_corpus=True)]
    least: Annotated[int, Within(1), Offered(served=Within(1, 9)), "The fewest to count."] = 2
    most: Annotated[float | None, Within(above=0), "The most."] = None
    seed: Annotated[int, Offered(to=("command",)), "Repeats a run."] = 0


def options_of(command: click.Command) -> set[str]:
    return {one.name or "" for one in command.params}


@pytest.mark.parametrize("name", QUESTIONS)
def test_command_and_requests_have_all_inputs_and_settings(name: str) -> None:
    question, command = question_of(name), main.commands[name]
    assert question.name == name
    inputs = set(inputs_of(question))
    assert inputs | {one.name for one in settings_of(question, "command")} <= options_of(command)
    fields = set(body_of(question).model_fields)
    assert {one.name for one in settings_of(question, "rest")} <= fields
    texts = {name for name, note in inputs_of(question).items() if note.reads is None}
    assert fields & inputs >= texts - {"index"}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_list_of_commands_says_what_the_question_says(name: str) -> None:
    first_line, _, _ = (question_of(name).__doc__ or "").strip().partition("\n")
    assert first_line.startswith(QUESTIONS[name][1].rstrip("?."))


def test_a_setting_is_offered_where_its_hint_says_and_within_its_limit() -> None:
    language, least, most, seed = settings_of(HowMany)
    assert language.default == ""
    assert [one.name for one in settings_of(HowMany, "form")] == ["language", "least", "most"]
    assert (least.served, least.limit) == (Within(1, 9), Within(1))
    assert (most.kind, most.default, seed.limit) == (float, None, None)
    schema = body_of(HowMany).model_json_schema()["properties"]
    assert set(schema) == {"texts", "language", "least", "most"}
    assert (schema["least"]["minimum"], schema["least"]["maximum"]) == (1, 9)
    with pytest.raises(OptionError, match="least"):
        HowMany(texts=Texts(), least=0)


def test_a_population_has_each_text_once_and_a_corpus_as_often_as_it_is_there() -> None:
    documents = [Document(text="one"), Document(text="two"), Document(text="one")]
    assert len(Input().drawn(documents).documents) == 2
    corpus = Input(is_corpus=True).drawn(documents, most=2)
    assert (len(corpus.documents), corpus.count) == (2, 3)


def test_two_candidates_of_one_name_are_refused() -> None:
    with pytest.raises(OptionError, match="two candidates are named 'a'"):
        named([("a", []), ("b", []), ("a", [])])


def test_a_run_tells_once_why_a_text_has_no_lev(ngram_run: NgramRun) -> None:
    verifier, run = load(ngram_run.folder).keeping(), Run(skipped=[])
    good, empty = Document(text="Some words here."), Document(text="\u200b")
    for _ in range(2):
        texts, levs = run.levs(verifier, [good, empty, good])
        assert (texts, len(levs)) == ([good, good], 2)
    assert len(run.skipped or ()) == 1


def test_levs_that_are_kept_are_those_that_would_be_encoded(ngram_run: NgramRun) -> None:
    verifier: Verifier = load(ngram_run.folder)
    texts = [f"Text number {number}, and some more words." for number in range(5)]
    plain = verifier.encode(texts)
    for most in (0, 2, 9):
        keeping = verifier.keeping(Kept(most))
        for _ in range(2):
            assert np.allclose(keeping.encode(texts), plain, atol=1e-6)
        assert keeping.keeping() is keeping
