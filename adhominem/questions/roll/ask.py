"""Which part of a text is by whom: the question, and how it is answered. See `roll.roll`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

import adhominem
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
    Input,
    Known,
    Question,
    Texts,
    answer_files,
    as_known,
    cost,
)
from adhominem.questions.roll.blocks import Blocks, cut_blocks
from adhominem.questions.roll.roll import (
    NEITHER,
    Block,
    Candidate,
    Rolled,
    RollOptions,
    Window,
    make_blocks,
    make_changes,
    make_passages,
    passage_ranges,
    smooth_blocks,
    to_log10,
    window_factors,
)
from adhominem.questions.roll.smoothing import Smoothed
from adhominem.questions.roll.text_styles import apart, find_styles, style_factors
from adhominem.records import settings_of
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.cautions import Caution
from adhominem.verify.verifier import Verifier

_SHORT_WORDS = 200  # of a window: below, single windows say little
_PER_WINDOW = 240  # characters of work, about: of a window with a candidate
_OF_WHOLE_TEXT = frozenset(  # cautions that hold for the text as a whole, not for its windows
    ("at_bound", "length_of_population", "longer_than_calibrated", "shared_text", "two_genres")
)
_ONCE = frozenset(  # that say the same with every candidate
    ("no_population", "uncalibrated", "changed_since_calibration")
)


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
        return _windows(self.text.document, _cut(self.text.document, self))

    def parts(self) -> int:
        """As many as there are steps."""
        return len(self.text.document.text.split()) // self.step + 1

    def work(self) -> int:
        """Each window is compared with each candidate."""
        comparisons = self.parts() * max(1, len(self.candidates))
        return cost([self.text.document]) + _PER_WINDOW * comparisons

    def answer(self, verifier: Verifier, run: Run) -> Rolled:
        """The passages by each candidate, or by neither, and where one ends."""
        population = self.population.relevant(verifier, run)
        name = "" if population is None else self.population.name or "given"
        with run.watch("rolling", unit="share") as on_progress:
            return _rolled(verifier, self, population, name, run, on_progress)


def roll_files(
    text: str | Path,
    against: Sequence[str | Path] = (),
    output: str | Path | None = None,
    *,
    population: str | Path | None = None,
    **options: Any,
) -> Rolled:
    """Say which part of a text is by which candidate, each a file or a folder of one's texts.

    Without candidates, say where the style of the text changes. Options are those of `RollOptions`
    and of `answer_files`. The page is written to `output`, if there is one.
    """
    options |= {"text": text, "candidates": against, "population": population}
    rolled: Rolled = answer_files(WhichPart, output=output, **options)
    return rolled


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


def _rolled(
    verifier: Verifier,
    question: WhichPart,
    population: Population | None,
    population_name: str,
    run: Run,
    on_progress: Callable[[float], None],
) -> Rolled:
    exhibit = question.text
    options = RollOptions(
        **{one.name: getattr(question, one.name) for one in settings_of(RollOptions)}
    )
    if NEITHER in question.candidates:
        raise OptionError(f"a candidate and a state are named '{NEITHER}'; rename the candidate")
    blocks = _cut(exhibit.document, options)
    known, remarks = _sort_out(exhibit, question.candidates)
    if options.closed and len(known) < 2:
        raise OptionError(
            f"{len(known)} candidates, one of whom is said to have written every part; expected "
            "two or more"
        )
    known, foreign, obstacle = _without_foreign(verifier, exhibit, known, closed=options.closed)
    remarks += [one.message for one in foreign]
    rolled = Rolled(
        name=exhibit.document.id,
        text=exhibit.document.text,
        words=int(blocks.words.sum()),
        options=options,
        candidates=(),
        obstacle=obstacle,
        states=(),
        are_styles=not (known or foreign),
        windows=(),
        blocks=(),
        passages=(),
        changes=(),
        population=population_name,
        population_texts=0 if population is None else population.texts,
        remarks=tuple(remarks),
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
    )
    if obstacle:
        return rolled
    candidates, cautions = _candidates(verifier, exhibit, known, population)
    remarks += cautions
    on_progress(0.2)
    levs = _encode(verifier, _windows(exhibit.document, blocks))
    on_progress(0.6)
    smoothed: Smoothed | None
    if known:
        here = verifier.encode([exhibit.document])
        remarks += [one.message for one in other_genres(verifier, here, known, run)]
        sides = [verifier.encode(texts) for texts in known.values()]
        factors, strange = window_factors(
            verifier.scorer, levs, sides, population, part(on_progress, 0.6, 0.8)
        )
        states = tuple(candidate.name for candidate in candidates)
        states = states if options.closed else (*states, NEITHER)
        smoothed = smooth_blocks(blocks, factors, options, neither=not options.closed)
    else:
        candidates, factors, smoothed = _by_style(verifier, blocks, levs, options, population)
        states = tuple(candidate.name for candidate in candidates)
        sides, strange = [], np.zeros(1, dtype=bool)
    on_progress(0.8)
    alone = np.ones((len(blocks.words), 1))  # of a single style
    made = make_blocks(blocks, alone if smoothed is None else smoothed.probability)
    passages = _of_passages(verifier, exhibit.document, made, sides, population)
    remarks += _remarks(verifier, blocks, options, population, strange, bool(known))
    on_progress(1.0)
    starts = blocks.word_starts
    return replace(
        rolled,
        candidates=tuple(candidates),
        states=states,
        windows=tuple(
            Window(
                start=blocks.window_span(at)[0],
                end=blocks.window_span(at)[1],
                word=int(starts[at]),
                words=int(starts[at + blocks.in_window] - starts[at]),
                log10_bayes_factors=tuple(row.tolist()),
            )
            for at, row in enumerate(to_log10(factors))
        ),
        blocks=made,
        passages=make_passages(made, passages),
        changes=() if smoothed is None else make_changes(made, smoothed, options),
        remarks=tuple(dict.fromkeys(remarks)),
    )


def _sort_out(exhibit: Exhibit, known: Known) -> tuple[Known, list[str]]:
    """The candidates without what they share with the text and each other; and what is said of it.

    The text itself stays whole: a passage that was copied into it is part of the question.
    """
    if not known:
        return {}, []
    material = sort_out([exhibit], known, whole=True, fewest=1)
    return material.candidates, [caution.message for caution in material.cautions]


def _without_foreign(
    verifier: Verifier, exhibit: Exhibit, known: Known, *, closed: bool
) -> tuple[Known, list[Caution], str]:
    """Candidates with running prose, what is said of the others, and why no statement is made."""
    names = mostly_foreign(verifier, known)
    left = {name: texts for name, texts in known.items() if name not in names}
    foreign = [foreign_candidates(names)] if names else []
    too_few = foreign if len(left) < (2 if closed else 1) else []
    obstacles = [*obstacles_of(verifier, [exhibit.document]), *too_few]
    return left, foreign, "; ".join(one.message for one in obstacles if one is not None)


def _candidates(
    verifier: Verifier, exhibit: Exhibit, known: Known, population: Population | None
) -> tuple[list[Candidate], list[str]]:
    """The candidates, with the Bayes factor of the text as a whole; and what to beware of."""
    candidates, remarks = [], []
    left_out = set(_OF_WHOLE_TEXT)
    for name, texts in known.items():
        whole = verifier.verify(exhibit, texts, population=population)
        remarks += [caution.message for caution in whole.warnings if caution.code not in left_out]
        left_out |= _ONCE & {caution.code for caution in whole.warnings}
        candidates.append(
            Candidate(
                name=name,
                texts=len(texts),
                words=sum(len(text.text.split()) for text in texts),
                log10_bayes_factor=whole.log10_bayes_factor,
            )
        )
    return candidates, remarks


def _by_style(
    verifier: Verifier,
    blocks: Blocks,
    levs: Levs,
    options: RollOptions,
    population: Population | None,
) -> tuple[list[Candidate], FloatArray, Smoothed | None]:
    """The styles of a text of unknown authors, its windows' log Bayes factors, and the states.

    Of a single style, the Bayes factors are those of each window with the rest of the text, and
    there are no states to tell apart.
    """
    chosen = apart(blocks)
    words = float(blocks.words.sum()) / len(chosen)
    styles = find_styles(verifier.scorer, levs[chosen], options.passage, words, population)
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
    factors = style_factors(verifier.scorer, blocks, levs, numbers, population)
    if len(styles) < 2:
        return candidates, factors, None
    return candidates, factors, smooth_blocks(blocks, factors, options, neither=False)


def _of_passages(
    verifier: Verifier,
    document: Document,
    blocks: Sequence[Block],
    sides: Sequence[Levs],
    population: Population | None,
) -> FloatArray:
    """(passages, candidates): the log10 Bayes factor of each passage as one text."""
    ranges = passage_ranges(blocks)
    if not sides:
        return np.zeros((len(ranges), 0))
    spans = [(blocks[begin].start, blocks[end - 1].end) for begin, end in ranges]
    levs = _encode(verifier, _parts(document, spans))
    return to_log10(window_factors(verifier.scorer, levs, sides, population)[0])


def _cut(document: Document, options: RollOptions) -> Blocks:
    try:
        return cut_blocks(document.text, options.words, options.step)
    except OptionError as error:
        raise InputError(str(error), document.id) from None


def _windows(document: Document, blocks: Blocks) -> list[Document]:
    return _parts(document, [blocks.window_span(at) for at in range(blocks.windows)])


def _parts(document: Document, spans: Sequence[tuple[int, int]]) -> list[Document]:
    return [
        replace(document, text=document.text[start:end], id=f"{document.id}, from {start:,}")
        for start, end in spans
    ]


def _encode(verifier: Verifier, parts: Sequence[Document]) -> Levs:
    """(parts, lev_size): the LEVs of parts of a text."""
    try:
        return verifier.encode(parts)
    except EmptyTextError as error:
        raise InputError(
            f"a part of the text has no word in it ({error.problem}); leave it out, or take larger "
            "windows",
            error.path,
        ) from None


def _remarks(
    verifier: Verifier,
    blocks: Blocks,
    options: RollOptions,
    population: Population | None,
    strange: BoolArray,
    has_candidates: bool,
) -> list[str]:
    """What to beware of, beside what a comparison of the whole text says."""
    remarks = []
    if options.words < _SHORT_WORDS:
        remarks.append(
            f"windows of {options.words:,} words say little each; better are {_SHORT_WORDS} or more"
        )
    if len(blocks.words) < 2 * blocks.in_window:
        remarks.append(
            f"the text has {int(blocks.words.sum()):,} words, less than two windows: it is too "
            "short to tell parts of it from each other"
        )
    if strange.any():
        remarks.append(
            f"{strange.mean():.0%} of the comparisons do not lie among the texts of the "
            "population, and were made without it"
        )
    if not has_candidates:
        remarks.append(
            "without candidates, a change of topic or genre can pass for a change of author, and "
            "two authors of one style for one"
        )
        if population is None and verifier.lead.genres is not None:
            remarks.append(
                "no population was given: the model guessed what such texts have in common"
            )
    return remarks
