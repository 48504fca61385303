"""The command of a question, made from its declaration: see `questions.question`."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click

from adhominem.cli import options as opt

if TYPE_CHECKING:
    from adhominem.questions.question import Question

# By their commands: the class, and what the list of commands says without loading it.
QUESTIONS = {
    "rank": ("WhichCandidate", "Which of these candidates wrote it, if any?"),
    "validate": ("HowGood", "How does the model do on your own texts?"),
    "map": ("WhatIsAlike", "Draw a corpus: which texts are alike, as a map and as a tree."),
    "roll": ("WhichPart", "Which part of a text is by whom?"),
    "cluster": ("HowManyWriters", "How many people wrote these texts, and who wrote what?"),
    "contrast": ("WhatDiffers", "What sets one person's texts apart from another's?"),
    "search": ("WhoElse", "Which texts of an index may be by the author of a text?"),
}


def question_of(name: str) -> type[Question]:
    """The question of this name."""
    module = import_module(f"adhominem.questions.{name}.ask")
    question: type[Question] = getattr(module, QUESTIONS[name][0])
    return question


class QuestionCommand(click.Command):
    """A command whose question is loaded when somebody looks at it, or calls it."""

    def __init__(self, name: str, *more: click.Parameter) -> None:
        """Beside what the question says, the command has `more` parameters."""
        super().__init__(name, callback=self._answer, short_help=QUESTIONS[name][1])
        self._more = more

    @cached_property
    def question(self) -> type[Question]:
        """What the command answers."""
        return question_of(self.name or "")

    @property
    def help(self) -> str:
        """The question's docstring, and what is said of the command alone."""
        return f"{cleandoc(self.question.__doc__ or '')}\n\n{cleandoc(self.question.usage)}"

    @help.setter
    def help(self, value: str | None) -> None:
        """Nothing: the question has it."""

    @property
    def params(self) -> list[click.Parameter]:
        """The question's inputs and settings, and what other commands have, too."""
        return self._parameters

    @params.setter
    def params(self, value: list[click.Parameter]) -> None:
        """Nothing: they are made when somebody looks at them."""

    @cached_property
    def _parameters(self) -> list[click.Parameter]:
        from adhominem.questions.question import Side, inputs_of, required_in
        from adhominem.records import settings_of

        required, inputs = required_in(self.question), inputs_of(self.question)
        params: list[click.Parameter] = []
        for name, (kind, note) in inputs.items():
            if not note.option:
                several = kind is Side and not note.is_named
                params.append(
                    click.Argument(
                        [name],
                        nargs=-1 if several else 1,
                        metavar=note.metavar if note.metavar != "PATH" else None,
                        required=name in required,
                        type=opt.TEXT if several else opt.PATH,
                    )
                )
        for name, (kind, note) in inputs.items():
            if note.option:
                option = click.Option(
                    [note.option, name],
                    multiple=kind is dict,
                    required=name in required,
                    type=opt.TEXT if note.metavar != "PATH" else opt.PATH,
                    metavar=note.metavar,
                    help=note.option_help,
                )
                params.append(option)
        output = self.question.output
        params.append(
            click.Option(
                ["-o", "--output"],
                required=output.is_required,
                multiple=output.is_repeated,
                type=opt.PATH,
                help=output.help,
            )
        )
        made = [opt.setting(one) for one in settings_of(self.question, "command")]
        runs_on = [getattr(opt, name) for name in self.question.runs_on]
        for decorate in (opt.model, *made, *runs_on, opt.json):
            params += _made_by(decorate)
        return [*params, *self._more]

    def _answer(self, as_json: bool, **values: Any) -> None:
        from adhominem.cli.terminal import complain, print_result, print_table, say, warn
        from adhominem.errors import OptionError
        from adhominem.questions.question import Table, Texts, answer_files, inputs_of

        question, job = self.question, click.get_current_context().obj
        try:
            outputs = question.output.paths(values["output"])
            question.check(values)
        except OptionError as error:
            raise click.UsageError(str(error)) from None
        result = answer_files(question, **job, **values)
        page = question.page()
        complain(*(f"warning: {remark}" for remark in page.remarks(result)))
        if as_json:
            reads_many = {dict, Texts} & {kind for kind, _ in inputs_of(question).values()}
            output = values["output"] if question.output.is_required else None
            print_result(result, job["skipped"] if reads_many else None, output)
            return
        for line in page.lines(result, values):
            if isinstance(line, Table):
                print_table(line.title, line.columns, line.rows)
            else:
                say(line)
        if outputs:
            say(f"Written  {', '.join(map(str, outputs))}")
        warn(page.warnings(result))


def _made_by(decorate: opt.Decorator) -> list[click.Parameter]:
    """The parameters that a decorator of commands makes."""

    def nothing() -> None: ...

    decorate(nothing)
    params: list[click.Parameter] = nothing.__click_params__  # type: ignore[attr-defined]
    return params
