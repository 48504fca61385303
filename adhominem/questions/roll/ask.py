"""Which part of a text is by whom: windows, each compared with every candidate, and smoothed.

    text ─ windows ─ log Bayes factors ─ blocks ─ hidden Markov model ─ passages and changes

Each window of the text has a Bayes factor for each candidate: did the candidate write it, or
somebody else of the population? Windows overlap, so one word would count several times: what a
window says is shared out among its blocks, and a block has the mean of what its windows say of it
(`Blocks.shared_out`). So the evidence of the whole text is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, Levs
from adhominem.errors import EmptyTextError, InputError, OptionError
from adhominem.jobs.run import Run, part
from adhominem.questions.candidates import (
    foreign_candidates,
    mostly_foreign,
    obstacles_of,
    other_genres,
    sort_out,
)
from adhominem.questions.question import (
    EXAMPLE_TEXTS,
    Answer,
    Input,
    Known,
    Question,
    Texts,
    as_known,
    cost,
    made_by,
)
from adhominem.questions.roll.smoothing import (
    Block,
    Change,
    Passage,
    Smoothed,
    make_blocks,
    make_changes,
    make_passages,
    passage_ranges,
    smooth_blocks,
)
from adhominem.questions.roll.windows import (
    Blocks,
    Window,
    apart,
    cut_blocks,
    find_styles,
    style_factors,
    window_factors,
)
from adhominem.records import Offered, Options, Within, settings_of
from adhominem.score.decision import LOG_10
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.text.sentences import count_words
from adhominem.verify.cautions import Caution
from adhominem.verify.verifier import Verifier

NEITHER = "neither"  # of the candidates: a state
OnProgress = Callable[[float], None]  # hears which share of the work is done

_SHORT_WORDS = 200  # of a window: below, single windows say little
_PER_WINDOW = 240  # characters of work, about: of a window with a candidate
_OF_WHOLE_TEXT = frozenset(  # cautions that hold for the text as a whole, not for its windows
    ("at_bound", "length_of_population", "longer_than_calibrated", "shared_text", "two_genres")
)
_ONCE = frozenset(  # that say the same with every candidate
    ("no_population", "uncalibrated", "changed_since_calibration")
)


@dataclass(frozen=True, kw_only=True)
class RollOptions(Options):
    """How a text is cut, and how often its author changes, before it is read."""

    words: Annotated[int, Within(20, 100_000), "Words of a window."] = 500
    step: Annotated[
        int, Within(1, 100_000), "Words from one window to the next, at most a window."
    ] = 100
    passage: Annotated[
        int,
        Within(1),
        Offered(served=Within(1, 10_000_000)),
        "Words from one change of author to the next, on average: a prior, yours to state.",
    ] = 2_000
    closed: Annotated[bool, "One of the candidates wrote every part: “neither” is ruled out."] = (
        False
    )

    ordered = (("step", "<=", "words"),)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Somebody who may have written the text, or a style that was found in it."""

    name: str
    texts: int
    words: int
    log10_bayes_factor: float | None  # of the text as a whole; None for a style


@dataclass(frozen=True, kw_only=True)
class Rolled(Answer):
    """A text with what was made out of who wrote which part of it."""

    name: str
    text: str
    words: int
    options: RollOptions
    candidates: tuple[Candidate, ...]
    obstacle: str  # why no statement is made, with empty fields below; empty where one is
    states: tuple[str, ...]  # the candidates, and `neither` unless it is ruled out; or the styles
    are_styles: bool  # no candidates were given
    windows: tuple[Window, ...]
    blocks: tuple[Block, ...]
    passages: tuple[Passage, ...]
    changes: tuple[Change, ...]
    population: str  # where it was read; empty: none
    population_texts: int
    remarks: tuple[str, ...]
    model: str
    model_sha256: str
    version: str


@dataclass(frozen=True, kw_only=True)
class WhichPart(RollOptions, Question):
    """Which part of a text is by whom?

    Each window of the text is compared with each candidate, and neighbouring windows are weighed
    together: passages by a candidate or by neither, and where one ends. Without candidates: where
    does the style of the text change?
    """

    name: ClassVar[str] = "roll"
    title: ClassVar[str] = "Which part is by whom?"
    result: ClassVar[str] = "rolled"
    doing: ClassVar[str] = "Reading each window"
    example_settings: ClassVar[Mapping[str, str] | None] = {
        "words": "150",
        "step": "25",
        "passage": "500",
    }
    runs_on: ClassVar[tuple[str, ...]] = ("device",)
    usage: ClassVar[str] = """
    \b
        adhominem roll novel.txt --against austen/ --against lady/ --population novels/ -o roll.html
        adhominem roll novel.txt --words 1000 --step 200
    """
    example: ClassVar[Mapping[str, Any]] = {
        "text": " ".join(text for texts in EXAMPLE_TEXTS.values() for text in texts),
        "candidates": EXAMPLE_TEXTS,
        "words": 20,
        "step": 10,
    }

    text: Annotated[
        Exhibit, Input("It must be longer than a window.", form="disputed", called="the text")
    ]
    candidates: Annotated[
        Known,
        Input(
            "By name. Left out: where does the style of the text change?",
            option="--against",
            option_help="A candidate: a file, or a folder of one person's texts; may be given "
            "several times.",
        ),
    ] = field(default_factory=dict)
    population: Annotated[
        Texts,
        Input(
            "Texts of the same genre by anybody, 5 or more. Left out: the server's, if it has one. "
            "An empty list: none.",
            option="--population",
            option_help="Texts of the same genre by anybody: a folder, or a file of texts or "
            "pairs.",
            is_servers=True,
        ),
    ] = field(default=Texts())

    def windows(self) -> list[Document]:
        """The windows, each as a text."""
        blocks = _cut(self.text.document, self)
        return _parts(self.text.document, [blocks.window_span(at) for at in range(blocks.windows)])

    def parts(self) -> int:
        """As many as there are steps."""
        return count_words(self.text.document.text) // self.step + 1

    def work(self) -> int:
        """Each window is compared with each candidate."""
        comparisons = self.parts() * max(1, len(self.candidates))
        return cost([self.text.document]) + _PER_WINDOW * comparisons

    def answer(self, verifier: Verifier, run: Run) -> Rolled:
        """The passages by each candidate, or by neither, and where one ends."""
        population = self.population.relevant(verifier, run)
        with run.watch("rolling", unit="share") as on_progress:
            return _Rolling(verifier, self, population, run).answer(on_progress)


def roll_text(
    verifier: Verifier,
    exhibit: Exhibit,
    candidates: Mapping[str, Sequence[str | Document | Exhibit]] | None = None,
    *,
    options: RollOptions | None = None,
    population: Population | None = None,
    population_name: str = "",
    run: Run | None = None,
) -> Rolled:
    """Say which part of a text is by which of the candidates, or by neither.

    Without candidates, say where its style changes. No statement is made on a text that is not what
    the model was made for, nor on candidates whose texts are not.
    """
    question = WhichPart(
        text=exhibit,
        candidates=as_known(candidates or {}),
        population=Texts.of(population, population_name),
        **vars(options or RollOptions()),
    )
    return question.answer(verifier.keeping(), run or Run())


class _Rolling:
    """A text whose windows are compared with candidates, or with each other."""

    def __init__(
        self, verifier: Verifier, question: WhichPart, population: Population | None, run: Run
    ) -> None:
        if NEITHER in question.candidates:
            raise OptionError(
                f"a candidate and a state are named '{NEITHER}'; rename the candidate"
            )
        self.verifier, self.question, self.run = verifier, question, run
        self.population, self.document = population, question.text.document
        self.blocks = _cut(self.document, question)
        self.remarks: list[str] = []

    def answer(self, on_progress: OnProgress) -> Rolled:
        """The parts of the text, or why no statement is made."""
        question, population = self.question, self.population
        known, foreign = self._known_texts()
        obstacle = self._obstacle(known, foreign)
        of_text: dict[str, Any] = dict.fromkeys(
            ("candidates", "states", "windows", "blocks", "passages", "changes"), ()
        )
        if not obstacle:
            of_text = self._read(known, on_progress)
        return Rolled(
            name=self.document.id,
            text=self.document.text,
            words=int(self.blocks.words.sum()),
            options=RollOptions(
                **{one.name: getattr(question, one.name) for one in settings_of(RollOptions)}
            ),
            obstacle=obstacle,
            are_styles=not question.candidates,
            **of_text,
            population="" if population is None else question.population.name or "given",
            population_texts=0 if population is None else population.texts,
            remarks=tuple(dict.fromkeys(self.remarks)),
            **made_by(self.verifier),
        )

    def _known_texts(self) -> tuple[Known, list[Caution]]:
        """The candidates with running prose, without what they share; what is said of the others.

        The text itself stays whole: a passage that was copied into it is part of the question.
        """
        known: Known = {}
        if self.question.candidates:
            material = sort_out(
                [self.question.text], self.question.candidates, whole=True, fewest=1
            )
            known = material.candidates
            self.remarks += [one.message for one in material.cautions]
        if self.question.closed and len(known) < 2:
            raise OptionError(
                f"{len(known)} candidates, one of whom is said to have written every part; "
                "expected two or more"
            )
        names = mostly_foreign(self.verifier, known)
        foreign = [foreign_candidates(names)] if names else []
        self.remarks += [one.message for one in foreign]
        return {name: texts for name, texts in known.items() if name not in names}, foreign

    def _obstacle(self, known: Known, foreign: Sequence[Caution]) -> str:
        """Why no statement is made; empty where one is."""
        obstacles = obstacles_of(self.verifier, [self.document])
        if len(known) < (2 if self.question.closed else 1):
            obstacles += foreign
        return "; ".join(one.message for one in obstacles if one is not None)

    def _read(self, known: Known, on_progress: OnProgress) -> dict[str, Any]:
        """The fields of a `Rolled` that say what is in the text."""
        blocks, question = self.blocks, self.question
        candidates = self._candidates(known)
        on_progress(0.2)
        levs = self._encode([blocks.window_span(at) for at in range(blocks.windows)])
        on_progress(0.6)
        sides = [self.verifier.encode(texts) for texts in known.values()]
        smoothed: Smoothed | None = None
        if known:
            here = self.verifier.encode([self.document])
            genres = other_genres(self.verifier, here, known, self.run)
            self.remarks += [one.message for one in genres]
            factors, misfit = window_factors(
                self.verifier.scorer, levs, sides, self.population, part(on_progress, 0.6, 0.8)
            )
            neither = not question.closed
            smoothed = smooth_blocks(blocks, factors, question.passage, neither=neither)
        else:
            candidates, factors = self._by_style(levs)
            neither, misfit = False, np.zeros(1, dtype=bool)
            if len(candidates) > 1:  # or there are no states to tell apart
                smoothed = smooth_blocks(blocks, factors, question.passage, neither=False)
        on_progress(0.8)
        alone = np.ones((len(blocks.words), 1))  # of a single style
        made = make_blocks(blocks, alone if smoothed is None else smoothed.probability)
        passages = make_passages(made, self._of_passages(made, sides))
        self._beware(misfit)
        on_progress(1.0)
        starts = blocks.word_starts
        return {
            "candidates": tuple(candidates),
            "states": (*(one.name for one in candidates), *([NEITHER] if neither else [])),
            "windows": tuple(
                Window(
                    start=blocks.window_span(at)[0],
                    end=blocks.window_span(at)[1],
                    word=int(starts[at]),
                    words=int(starts[at + blocks.in_window] - starts[at]),
                    log10_bayes_factors=tuple(row.tolist()),
                )
                for at, row in enumerate(factors / LOG_10)
            ),
            "blocks": made,
            "passages": passages,
            "changes": () if smoothed is None else make_changes(made, smoothed, question.words),
        }

    def _candidates(self, known: Known) -> list[Candidate]:
        """The candidates, with the Bayes factor of the text as a whole."""
        candidates, left_out = [], set(_OF_WHOLE_TEXT)
        for name, texts in known.items():
            whole = self.verifier.verify(self.question.text, texts, population=self.population)
            self.remarks += [one.message for one in whole.warnings if one.code not in left_out]
            left_out |= _ONCE & {one.code for one in whole.warnings}
            candidates.append(
                Candidate(
                    name=name,
                    texts=len(texts),
                    words=sum(count_words(text.text) for text in texts),
                    log10_bayes_factor=whole.log10_bayes_factor,
                )
            )
        return candidates

    def _by_style(self, levs: Levs) -> tuple[list[Candidate], FloatArray]:
        """The styles of a text of unknown authors, and its windows' log Bayes factors.

        Of a single style, the Bayes factors are those of each window with the rest of the text.
        """
        blocks, scorer = self.blocks, self.verifier.scorer
        chosen = apart(blocks)
        words = float(blocks.words.sum()) / len(chosen)
        passage = self.question.passage
        styles = find_styles(scorer, levs[chosen], passage, words, self.population)
        candidates = [
            Candidate(
                name=f"style {number}",
                texts=len(style),
                words=round(len(style) * words),
                log10_bayes_factor=None,
            )
            for number, style in enumerate(styles, start=1)
        ]
        numbers = [chosen[list(style)] for style in styles]
        return candidates, style_factors(scorer, blocks, levs, numbers, self.population)

    def _of_passages(self, blocks: Sequence[Block], sides: Sequence[Levs]) -> FloatArray:
        """(passages, candidates): the log10 Bayes factor of each passage as one text."""
        ranges = passage_ranges(blocks)
        if not sides:
            return np.zeros((len(ranges), 0))
        levs = self._encode([(blocks[begin].start, blocks[end - 1].end) for begin, end in ranges])
        return window_factors(self.verifier.scorer, levs, sides, self.population)[0] / LOG_10

    def _encode(self, spans: Sequence[tuple[int, int]]) -> Levs:
        """(parts, lev_size): the LEVs of parts of the text."""
        try:
            return self.verifier.encode(_parts(self.document, spans))
        except EmptyTextError as error:
            raise InputError(
                f"a part of the text has no word in it ({error.problem}); leave it out, or take "
                "larger windows",
                error.path,
            ) from None

    def _beware(self, misfit: BoolArray) -> None:
        """Remark on more than a comparison of the whole text says."""
        words, in_window = self.blocks.words, self.blocks.in_window
        if self.question.words < _SHORT_WORDS:
            self.remarks.append(
                f"windows of {self.question.words:,} words say little each; better are "
                f"{_SHORT_WORDS} or more"
            )
        if len(words) < 2 * in_window:
            self.remarks.append(
                f"the text has {int(words.sum()):,} words, less than two windows: it is too short "
                "to tell parts of it from each other"
            )
        if misfit.any():
            self.remarks.append(
                f"{misfit.mean():.0%} of the comparisons do not lie among the texts of the "
                "population, and were made without it"
            )
        if not self.question.candidates:
            self.remarks.append(
                "without candidates, a change of topic or genre can pass for a change of author, "
                "and two authors of one style for one"
            )
            if self.population is None and self.verifier.lead.genres is not None:
                self.remarks.append(
                    "no population was given: the model guessed what such texts have in common"
                )


def _cut(document: Document, options: RollOptions) -> Blocks:
    try:
        return cut_blocks(document.text, options.words, options.step)
    except OptionError as error:
        raise InputError(str(error), document.id) from None


def _parts(document: Document, spans: Sequence[tuple[int, int]]) -> list[Document]:
    return [
        replace(document, text=document.text[start:end], id=f"{document.id}, from {start:,}")
        for start, end in spans
    ]
