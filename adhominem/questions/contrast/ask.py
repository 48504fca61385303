"""What sets one person's texts apart from another's: the question, and how it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from adhominem.errors import OptionError
from adhominem.jobs.run import Run
from adhominem.questions.contrast.contrast import Contrast, ContrastOptions, contrast_texts
from adhominem.questions.question import (
    EXAMPLE_TEXTS,
    Input,
    Question,
    Side,
    Texts,
    cost,
)
from adhominem.records import Offered, Within, settings_of
from adhominem.text.files import Document, name_of
from adhominem.verify.verifier import Verifier

_TIMES_COUNTED = 6  # that habits go through a text, about: slower than encoding


@dataclass(frozen=True, kw_only=True)
class WhatDiffers(ContrastOptions, Question):
    """What sets one person's texts apart from another's?

    Shown are common words, punctuation, phrases and letters that one side has more of, and content
    words apart from them, with rates for every 1,000 words and marks, 95% intervals over texts, and
    Craig's Zeta. Names are left out.
    """

    name: ClassVar[str] = "contrast"
    title: ClassVar[str] = "What sets two apart?"
    result: ClassVar[str] = "contrast"
    doing: ClassVar[str] = "Counting habits"
    example_settings: ClassVar[Mapping[str, str] | None] = {"slice": "100"}
    usage: ClassVar[str] = """
    FIRST and SECOND are files, or folders of one person's texts; without SECOND, FIRST is
    contrasted with the population.

    \b
        adhominem contrast austen/ burney/
        adhominem contrast austen/ burney/ -o contrast.html
        adhominem contrast austen/ --population novels/
    """
    example: ClassVar[Mapping[str, Any]] = {
        "first": EXAMPLE_TEXTS["Anne"],
        "second": EXAMPLE_TEXTS["Ben"],
        "first_name": "Anne",
        "second_name": "Ben",
    }

    first: Annotated[Side, Input(is_named=True, called="First side")]
    second: Annotated[Side | None, Input(is_named=True, called="Second side")] = None
    population: Annotated[
        Texts,
        Input(
            "Texts whose rates are shown beside those of the two sides.",
            option="--population",
            option_help="Texts of the same genre by anybody: the other side, or the usual rates.",
            most=300,  # with more, its rates would hardly change
        ),
    ] = field(default=Texts())
    seed: Annotated[int, Within(0), Offered(to=("command",)), "Repeats a run."] = 0

    def encoded(self) -> list[Document]:
        """None: habits are counted."""
        return []

    def work(self) -> int:
        """Habits are counted several times."""
        return _TIMES_COUNTED * cost(self.documents())

    def answer(self, verifier: Verifier, run: Run) -> Contrast:
        """The habits that set both sides apart, or one side and the population."""
        second, usual = self.second, list(self.population.documents)
        if second is None and not usual:
            raise OptionError("one side and no population; expected two sides, or a population")
        names = [self.first.name, second.name if second else self._name_of_population()]
        sides = [self.first.documents, second.documents if second else usual]
        if second is None:
            usual = []
        if names[0] == names[1]:
            raise OptionError(f"both sides are named '{names[0]}'; expected different names")
        with run.watch("counting", sum(map(len, sides)) + len(usual)) as on_texts:
            return contrast_texts(
                verifier,
                *sides,
                names=(names[0], names[1]),
                usual=usual,
                population=(self.population.name or "given") if usual else "",
                options=ContrastOptions(
                    **{one.name: getattr(self, one.name) for one in settings_of(ContrastOptions)}
                ),
                on_texts=on_texts,
            )

    def _name_of_population(self) -> str:
        path = self.population.name
        return f"population {name_of(path)}" if path else "population"
