"""Did one person write both sides? The question, and what speaks for and against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from adhominem.errors import OptionError
from adhominem.jobs.run import Run
from adhominem.questions.question import (
    EXAMPLE_TEXTS,
    Input,
    Output,
    OwnScale,
    Page,
    Question,
    Side,
    Texts,
    cost,
)
from adhominem.records import Offered, OneOf, Within
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document, path_of
from adhominem.text.readers import read_pair
from adhominem.verify.explanation import Explanation, explain_texts
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Verifier

TIMES_EXPLAINED = 20  # that an explanation goes through its texts, about
_BY_ENDING = {".html": "html", ".htm": "html", ".txt": "terminal"}


ComparedSide = Annotated[Side, Input(is_compared=True, has_topic=True)]
RelevantPopulation = Annotated[
    Texts,
    Input(
        "Texts of the same genre by anybody, 5 or more, none of those compared. Left out: the "
        "server's, if it has one. An empty list: none.",
        option="--population",
        option_help="Texts of the same genre by anybody: a folder, or a file of texts or pairs.",
        is_servers=True,
    ),
]


def check_sides(values: Mapping[str, Any]) -> None:
    """Raise an OptionError if standard input is to be both sides: it can be read but once."""
    if values.get("first") == "-" == values.get("second"):
        raise OptionError("both sides are standard input; expected at most one")


@dataclass(frozen=True, kw_only=True)
class OfTwoSides(Question):
    """Two sides, and the prior that belongs to the case."""

    request: ClassVar[str] = "Comparison"
    runs_on: ClassVar[tuple[str, ...]] = ("device",)
    example: ClassVar[Mapping[str, Any]] = {
        "first": {"text": EXAMPLE_TEXTS["Anne"][0], "name": "disputed letter"},
        "second": [
            {"text": EXAMPLE_TEXTS["Ben"][0], "name": "known letter 1"},
            {"text": EXAMPLE_TEXTS["Ben"][1], "name": "note"},
        ],
        "prior_same_author": 0.1,
        "delta": 0.125,
        "population": [f"Text {number} of the same genre." for number in range(1, 6)],
    }

    first: ComparedSide
    second: ComparedSide
    population: RelevantPopulation = field(default_factory=Texts)
    scale: OwnScale = None
    prior_same_author: Annotated[
        float,
        Within(above=0, below=1),
        "How probable one author is before the texts are read.",
        Offered("--prior"),
    ] = 0.5
    delta: Annotated[float, Within(0, below=0.5), "Undecided within 0.5 +- delta."] = 0.125

    @classmethod
    def check(cls, values: Mapping[str, Any]) -> None:
        """Raise an OptionError if standard input is to be both sides."""
        super().check(values)
        check_sides(values)


@dataclass(frozen=True, kw_only=True)
class SameWriter(OfTwoSides):
    """Were two texts written by the same person, and how strong is the evidence?

    A Bayes factor is not a verdict: it says how much more probable the texts are if one person
    wrote both sides than if two did. The probability holds for the prior that is given beside it.
    """

    name: ClassVar[str] = "verify"
    title: ClassVar[str] = "Compare two sides"
    output: ClassVar[Output | None] = None
    is_quick: ClassVar[bool] = True
    usage: ClassVar[str] = """
    FIRST and SECOND are files (.txt, .docx, .pdf, .odt), folders with several texts by one
    author, or - for standard input.

    \b
        adhominem verify letter.txt email.txt
        adhominem verify letter.txt known-letters/ --population other-letters/ --prior 0.1
    """

    def sides(self) -> tuple[Sequence[Exhibit], Sequence[Exhibit], Population | None] | None:
        """The two sides, unless their population is still to be encoded."""
        if self.population.documents:
            return None
        return self.first.texts, self.second.texts, self.population.population

    def answer(self, verifier: Verifier, run: Run) -> Verification:
        """The Bayes factor of the two sides, and what follows from it by the prior."""
        comparison = run.comparison or verifier.compare(
            self.first.texts, self.second.texts, self.population.relevant(verifier, run)
        )
        return verifier.judge(comparison, self.prior_same_author, self.delta, self.scale)


@dataclass(frozen=True, kw_only=True)
class WhatSpeaks(OfTwoSides):
    """Show where the model looked, and what speaks for or against one author."""

    name: ClassVar[str] = "explain"
    title: ClassVar[str] = "Compare, and say why"
    explain: ClassVar[bool] = True
    output: ClassVar[Output | None] = Output(
        "The file to write: .html or .txt.  [default: the terminal]", endings=()
    )
    usage: ClassVar[str] = """
    FIRST and SECOND are as for `verify`; or give a pair of a PAN file by its id. In the texts, blue
    is the attention that a passage got, red that of a token in it; beside that, what each passage
    and the strongest n-grams contribute.

    \b
        adhominem explain letter.txt email.txt -o report.html
        adhominem explain letter.txt email.txt
        adhominem explain --pairs pairs.jsonl --pair ID --windows --model my-model -o windows.html
    """

    first: ComparedSide = field(default_factory=Side)
    second: ComparedSide = field(default_factory=Side)
    pairs: Annotated[
        Any,
        Input(
            option="--pairs",
            option_help="PAN's pairs, a file or a folder: compare the two texts of one --pair.",
            reads=path_of,
        ),
    ] = None
    pair: Annotated[
        Any, Input(option="--pair", option_help="The id of that pair.", metavar="ID", reads=str)
    ] = None
    in_windows: Annotated[
        bool,
        "Show each window as a network read it: contextual prefix, overlap, attention.",
        Offered("--windows", to=("command",)),
    ] = False
    format: Annotated[
        str | None,
        OneOf("html", "terminal"),
        "What to write.  [default: by the ending of the output]",
        Offered(to=("command",)),
    ] = None

    @classmethod
    def check(cls, values: Mapping[str, Any]) -> None:
        """Raise an OptionError for an output whose ending says nothing of its format."""
        super().check(values)
        given = {name for name, value in values.items() if value}
        pair = given & {"pairs", "pair"}
        sides = {name for name in given if name.endswith(("first", "second"))}  # and also_first
        if len(pair) == 1 or (sides if pair else not sides >= {"first", "second"}):
            raise OptionError(
                "expected two texts, FIRST and SECOND, or one pair, by --pairs and --pair"
            )
        for path in values.get("output", ()):
            _format(path, values.get("format"))

    @classmethod
    def page(cls) -> Page[Explanation]:
        """How the explanation is shown."""
        from adhominem.questions.verify.page import EXPLAINED

        return EXPLAINED

    @classmethod
    def of_paths(cls, run: Run, **values: Any) -> Self:
        """The question with texts from files, or from a file of pairs."""
        question = super().of_paths(run, **values)
        if question.pairs is None:
            return question
        with run.watch("reading"):
            pair = read_pair(question.pairs, question.pair)
        first, second = (Side((Exhibit.of(text, ""),)) for text in (pair.first, pair.second))
        return replace(question, first=first, second=second)

    def encoded(self) -> list[Document]:
        """The population: an explanation encodes what it explains by itself."""
        return list(self.population.documents)

    def work(self) -> int:
        """The texts are read many times."""
        return TIMES_EXPLAINED * cost([*self.first.documents, *self.second.documents])

    def answer(self, verifier: Verifier, run: Run) -> Explanation:
        """The same with what each passage and each n-gram contributes."""
        population = self.population.relevant(verifier, run)
        with run.watch("explaining", unit="share") as on_progress:
            return explain_texts(
                verifier,
                self.first.texts,
                self.second.texts,
                on_progress=on_progress,
                population=population,
                prior_same_author=self.prior_same_author,
                delta=self.delta,
                scale=self.scale,
                in_windows=self.in_windows,
            )

    def written(self, result: Explanation, path: Path) -> str:
        """The explanation as HTML or for a terminal."""
        from adhominem.questions.verify.page import explanation_text

        return explanation_text(result, _format(path, self.format))


def _format(path: Path, chosen: str | None) -> str:
    if format := chosen or _BY_ENDING.get(path.suffix.lower(), ""):
        return format
    raise OptionError(f"{path} has no known ending; expected {', '.join(_BY_ENDING)}, or --format")
