"""The command of a question, made from its declaration: see `questions.question`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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

        inputs, model_help = inputs_of(self.question).values(), self.question.model_help

        def nothing() -> None: ...

        for decorate in (
            *([] if self.question.output is None else [_output(self.question.output)]),
            click.option("--model", help=model_help) if model_help else opt.model,
            *(opt.setting(one) for one in settings_of(self.question, "command")),
            *(getattr(opt, name) for name in self.question.runs_on),
            opt.json,
        ):
            decorate(nothing)
        return [
            *(_argument(note) for note in inputs if not note.option),
            *(option for note in inputs for option in _options(note)),
            *nothing.__click_params__,  # type: ignore[attr-defined]
            *self._more,
        ]

    def _answer(self, as_json: bool, output: Any = None, **values: Any) -> None:
        from adhominem.cli.terminal import complain, print_answer, print_result
        from adhominem.errors import OptionError
        from adhominem.questions.question import Texts, answer_checked, inputs_of

        question, job = self.question, click.get_current_context().obj
        try:
            outputs = question.output.paths(output) if question.output else []
            question.check({**values, "output": outputs})
        except OptionError as error:
            raise click.UsageError(str(error)) from None
        result = answer_checked(question, outputs, **job, **values)
        page = question.page()
        complain(*(f"warning: {remark}" for remark in page.remarks(result)))
        if as_json:
            inputs = inputs_of(question).values()
            skipped = job["skipped"] if any(note.kind in (dict, Texts) for note in inputs) else None
            if any(note.is_compared for note in inputs):  # then only texts of a population are
                skipped = skipped or None
            is_required = question.output is not None and question.output.is_required
            print_result(result, skipped, output if is_required else None)
        else:
            print_answer(page, result, {**values, "output": output}, outputs)
        if status := page.status(result):
            sys.exit(status)


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

    several = note.kind is Side and not note.is_named and not note.is_compared
    return click.Argument(
        [note.name],
        nargs=-1 if several else 1,
        metavar=note.metavar if note.metavar != "PATH" else None,
        required=note.is_required,
        type=opt.TEXT if several or note.is_compared else opt.PATH,
    )


def _options(note: Input) -> Iterator[click.Option]:
    """The option of an input, or those beside its argument."""
    from adhominem.questions.question import Side

    if note.is_compared and note.kind is Side:
        yield click.Option(
            [f"--also-{note.name}"],
            multiple=True,
            type=opt.TEXT,
            metavar="FILE",
            help=f"One more text of the {note.name} side.",
        )
    if note.has_topic:
        yield click.Option(
            [f"--topic-{note.name}"],
            default="",
            type=opt.TEXT,
            metavar="TEXT",
            help=f"What the {note.name} side is about.",
        )
    if not note.option:
        return
    yield click.Option(
        [note.option, note.name],
        multiple=note.kind is dict,
        required=note.is_required,
        type=opt.TEXT if note.metavar != "PATH" else opt.PATH,
        metavar=note.metavar,
        help=note.option_help,
    )
