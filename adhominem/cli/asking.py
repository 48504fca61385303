"""The command of a question, made from its declaration: see `questions.question`."""

from __future__ import annotations

from functools import cached_property
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click

from adhominem.cli import options as opt
from adhominem.questions import QUESTIONS, question_of

if TYPE_CHECKING:
    from adhominem.questions.question import Input, Output, Question


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
        from adhominem.questions.question import inputs_of
        from adhominem.records import settings_of

        inputs = inputs_of(self.question).values()

        def nothing() -> None: ...

        for decorate in (
            _output(self.question.output),
            opt.model,
            *(opt.setting(one) for one in settings_of(self.question, "command")),
            *(getattr(opt, name) for name in self.question.runs_on),
            opt.json,
        ):
            decorate(nothing)
        return [
            *(_argument(note) for note in inputs if not note.option),
            *(_option(note) for note in inputs if note.option),
            *nothing.__click_params__,  # type: ignore[attr-defined]
            *self._more,
        ]

    def _answer(self, as_json: bool, **values: Any) -> None:
        from adhominem.cli.terminal import complain, print_answer, print_result
        from adhominem.errors import OptionError
        from adhominem.questions.question import Texts, answer_files, inputs_of

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
            kinds = [note.kind for note in inputs_of(question).values()]
            reads_many = dict in kinds or Texts in kinds
            output = values["output"] if question.output.is_required else None
            print_result(result, job["skipped"] if reads_many else None, output)
            return
        print_answer(page, result, values, outputs)


def _output(output: Output) -> opt.Decorator:
    return click.option(
        "-o",
        "--output",
        required=output.is_required,
        multiple=output.is_repeated,
        type=opt.PATH,
        help=output.help,
    )


def _argument(note: Input) -> click.Argument:
    from adhominem.questions.question import Side

    several = note.kind is Side and not note.is_named
    return click.Argument(
        [note.name],
        nargs=-1 if several else 1,
        metavar=note.metavar if note.metavar != "PATH" else None,
        required=note.is_required,
        type=opt.TEXT if several else opt.PATH,
    )


def _option(note: Input) -> click.Option:
    return click.Option(
        [note.option, note.name],
        multiple=note.kind is dict,
        required=note.is_required,
        type=opt.TEXT if note.metavar != "PATH" else opt.PATH,
        metavar=note.metavar,
        help=note.option_help,
    )
