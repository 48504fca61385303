"""Which of these candidates wrote it, if any: evidence for each, and a posterior with "none".

    disputed text ─ each candidate's known texts ─ log Bayes factors ─ priors ─ posteriors

Each candidate is compared with the disputed text by the same scorer as two texts in `verify`. The
Bayes factor is that of "this candidate wrote it" against "somebody else of this population did".
Unless a population is given, it is the texts of the other candidates: the scorer leaves the texts
of a comparison out of the population that they stand in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Annotated, Any, ClassVar

import numpy as np

from adhominem.arrays import AnyLevs, Levs
from adhominem.errors import NO_WORD, EmptyTextError
from adhominem.jobs.run import Run, part
from adhominem.questions.candidates import (
    GIVEN,
    NO_POPULATION,
    OTHERS,
    UNTRIED,
    CaseMaterial,
    candidates_by_genre,
    cautions_of_others,
    cautions_of_ranking,
    foreign_candidates,
    foreign_texts,
    mostly_foreign,
    obstacles_of,
    other_genres,
    sort_out,
    without_texts,
)
from adhominem.questions.question import (
    EXAMPLE_TEXTS,
    Answer,
    Input,
    Known,
    OwnScale,
    Question,
    Side,
    Texts,
    as_known,
    cost,
    documents_in,
    made_by,
)
from adhominem.questions.rank.evidence import (
    MOST_POPULATION,
    NO_STATEMENT,
    LevsOf,
    RankingPopulation,
    ScoredCandidate,
    given_population,
    is_any,
    other_candidates,
    posteriors,
    score_candidates,
)
from adhominem.questions.rank.trials import MOST_TRIALS, Trials, Trust
from adhominem.questions.rank.versus import Versus, explain_versus
from adhominem.records import Offered, ShareBelow1, Within
from adhominem.score.decision import LOG_10, Decision, VerbalScale
from adhominem.score.decision import NONE as NO_SUPPORT
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, SideTexts, exhibits_of
from adhominem.text.files import Document
from adhominem.text.sentences import count_words
from adhominem.verify.cautions import Caution
from adhominem.verify.verifier import Verifier

ONE_OF_THEM, NONE_OF_THEM = "one of the candidates", "none of them"  # decisions
UNDECIDED = Decision.UNDECIDED.value
_EXPLAINED = 3  # of the first candidates: the first against each of the others
_PER_COMPARISON = 30  # characters of work, about: of two texts among many
_TIMES_READ = 5  # that the reasons for one candidate over another go through a text, about
_COMMAND = Offered(to=("command",))

OnProgress = Callable[[float], None]  # hears which share of the work is done


@dataclass(frozen=True, kw_only=True)
class DisputedText:
    """A text whose author is asked for."""

    name: str
    words: int  # between white space
    sha256: str


@dataclass(frozen=True, kw_only=True)
class RankedCandidate:
    """A candidate, and how strong the evidence is that this one wrote the disputed text."""

    name: str
    texts: int  # known ones
    words: int  # of all of them
    log10_bayes_factor: float  # "this one wrote it" against "somebody else of this population did"
    verbal: str
    at_bound: bool  # whether the Bayes factor is a bound of the calibration
    posterior: float | None  # None: no statement is made


@dataclass(frozen=True, kw_only=True)
class RankedCase:
    """A disputed text, or several by one author, and who may have written it."""

    disputed: tuple[DisputedText, ...]
    candidates: tuple[RankedCandidate, ...]  # the strongest evidence first, last who is foreign
    posterior_none: float | None  # None: no statement is made
    verbal: str  # the strongest evidence, or why no statement is made
    decision: str  # `one of the candidates`, `none of them`, or `undecided` without a statement
    answer: str | None  # the candidate to name if one must be named; None: none of them

    @property
    def name(self) -> str:
        """The disputed text as it is called in a line."""
        more = len(self.disputed) - 1
        others = f" and {more:,} more {'text' if more == 1 else 'texts'}" if more else ""
        return f"{self.disputed[0].name}{others}"


@dataclass(frozen=True, kw_only=True)
class Ranking(Answer):
    """Who of some candidates, if any, wrote a disputed text: evidence, posterior, and trust."""

    cases: tuple[RankedCase, ...]  # one, or one for each disputed text
    prior_none: float
    prior_candidate: float  # of each
    population: RankingPopulation
    trust: Trust | None  # how the same procedure did on the known texts; None: see the warnings
    versus: tuple[Versus, ...]  # what speaks for one of the first candidates over another
    warnings: tuple[Caution, ...]
    seed: int
    model: str
    model_sha256: str
    version: str  # of AdHominem


@dataclass(frozen=True, kw_only=True)
class WhichCandidate(Question):
    """Which of these candidates wrote it, if any, and how strong is the evidence?

    The Bayes factor of a candidate compares “this candidate wrote it” with “somebody else of this
    population did”. The posterior also depends on the priors, which are yours to state.
    """

    name: ClassVar[str] = "rank"
    title: ClassVar[str] = "Which of these, if any?"
    result: ClassVar[str] = "ranking"
    doing: ClassVar[str] = "Comparing the candidates"
    runs_on: ClassVar[tuple[str, ...]] = ("device", "jobs")
    with_page: ClassVar[Mapping[str, Any]] = {"explain": True}
    usage: ClassVar[str] = """
    DISPUTED are files, folders of texts, or - for standard input. CANDIDATES holds the known texts
    of the candidates: a folder with one folder for each, files named author_title.txt, or a .jsonl
    with authors.

    \b
        adhominem rank letter.txt candidates/
        adhominem rank letter.txt candidates/ --none 0.2 -o ranking.html
        adhominem rank chapter-1.txt chapter-2.txt novelists/ --each
    """
    example: ClassVar[Mapping[str, Any]] = {
        "disputed": "I have not yet had an answer to my last, and so I write again; the roads are "
        "poor.",
        "candidates": EXAMPLE_TEXTS,
        "prior_none": 0.2,
    }

    disputed: Annotated[
        Side, Input("By one author, unless they are ranked one by one.", called="the disputed text")
    ]
    candidates: Annotated[Known, Input("The known texts of each candidate, by name.")]
    population: Annotated[
        Texts,
        Input(
            "Texts of the same genre by others, 5 or more. Left out: the server's, if it has one. "
            "An empty list, or a server without one: the texts of the other candidates.",
            option="--population",
            option_help="Texts of the same genre by other people.  [default: the other candidates' "
            "texts]",
            most=MOST_POPULATION,
            is_servers=True,
        ),
    ] = field(default=Texts())
    scale: OwnScale = None
    prior_none: Annotated[
        ShareBelow1,
        Offered(option="--none"),
        "How probable it is, before the texts are read, that none of the candidates wrote it; 0 if "
        "one of them must have. The candidates share the rest evenly.",
    ] = 0.5
    one_by_one: Annotated[
        bool,
        Offered(option="--each"),
        "Rank each disputed text by itself.  [default: all are by one author]",
    ] = False
    trials: Annotated[
        int,
        Within(0),
        Offered(to=("command", "rest"), served=Within(0, MOST_TRIALS)),
        "Most trials with the candidates' known texts, by which you see how far to trust the "
        "answer; 0 leaves them out.",
    ] = MOST_TRIALS
    explain: Annotated[
        bool,
        Offered(to=("rest", "form")),
        "Also say what speaks for the first candidate over the next ones.",
    ] = False
    top: Annotated[int, Within(1), _COMMAND, "Most candidates to print."] = 20
    seed: Annotated[int, Within(0), _COMMAND, "Repeats a run."] = 0

    def work(self) -> int:
        """Trials cut texts and encode them once more; reasons go through all of them."""
        known, disputed = documents_in(self.candidates), self.disputed.documents
        work = cost(known) if self.trials else 1
        work += _PER_COMPARISON * len(self.candidates) * (len(disputed) + 2 * self.trials)
        return work + (_TIMES_READ * cost([*disputed, *known]) if self.explain else 0)

    def answer(self, verifier: Verifier, run: Run) -> Ranking:
        """The evidence for each candidate, and how far to trust it."""
        given = self.population
        if (count := len(given.documents)) > MOST_POPULATION:
            order = np.random.default_rng([self.seed, 1]).permutation(count)
            kept = sorted(order[:MOST_POPULATION].tolist())
            given = replace(given, documents=tuple(given.documents[at] for at in kept))
        population = given.relevant(verifier, run)
        with run.watch("ranking", unit="share") as on_progress:
            return _ranking(verifier, self, population, run, on_progress)


def rank_texts(
    verifier: Verifier,
    disputed: SideTexts,
    candidates: Mapping[str, Sequence[str | Document | Exhibit]],
    *,
    population: Sequence[str | Document] | Population | None = None,
    population_name: str = "",
    run: Run | None = None,
    **settings: Any,
) -> Ranking:
    """Rank candidates, given by their known texts, as authors of disputed texts.

    Several disputed texts are taken to be by one author, unless they are ranked `one_by_one`.
    Without a `population`, it is the texts of the other candidates; the answer calls one that is
    given by its `population_name`. No statement is made on disputed texts, or on candidates, that
    are not what the model was made for. The settings are those of `WhichCandidate`.
    """
    question = WhichCandidate(
        disputed=Side(tuple(exhibits_of(disputed, "disputed"))),
        candidates=as_known(candidates),
        population=Texts.of(population, population_name),
        **settings,
    )
    return question.answer(verifier.keeping(), run or Run())


def _ranking(
    verifier: Verifier,
    question: WhichCandidate,
    population: Population | None,
    run: Run,
    on_progress: OnProgress,
) -> Ranking:
    levs_of, seed = partial(run.levs, verifier), question.seed
    material = sort_out(
        question.disputed.texts, question.candidates, together=not question.one_by_one
    )
    disputed = _disputed(material, levs_of)
    cases = [[at] for at in range(len(disputed))]
    if not question.one_by_one:
        cases = [list(range(len(disputed)))]
    others: AnyLevs
    if population is not None:
        compared = given_population(population, question.population.name)
        others = population.cohort
    else:
        rng = np.random.default_rng([seed, 1])
        compared, others = other_candidates(material.candidates, levs_of, rng)
        if compared.source == OTHERS:
            population = verifier.population_of(others)
    scored, without = score_candidates(
        verifier.scorer,
        material.candidates,
        levs_of,
        disputed,
        cases,
        None if compared.source == NO_POPULATION else others,
        part(on_progress, 0, 0.6),
    )
    strongest_first = sorted(scored, key=lambda one: -one.factors.unbounded.max())
    known = {one.name: material.candidates[one.name] for one in strongest_first}
    foreign = mostly_foreign(verifier, known)
    known = {name: texts for name, texts in known.items() if name not in foreign}
    on_foreign = [foreign_candidates(foreign)] if foreign else []
    if not known:
        on_foreign = [replace(one, blocks_decision=True) for one in on_foreign]
    odd = obstacles_of(verifier, [exhibit.document for exhibit in material.disputed])
    ranked = [
        _ranked_case(
            scored,
            number,
            [material.disputed[at] for at in case],
            question,
            foreign,
            [*(odd[at] for at in case), *on_foreign],
        )
        for number, case in enumerate(cases)
    ]
    trust = None
    if question.trials:
        words = [count_words(exhibit.document.text) for exhibit in material.disputed]
        trust = Trials(
            verifier.scorer,
            material.candidates,
            levs_of,
            texts=len(cases[0]),
            words=round(median(words)),
            population=others if compared.source == GIVEN else None,
            of_others=compared.source == OTHERS,
            most_trials=question.trials,
            seed=seed,
        ).trust(question.prior_none, part(on_progress, 0.6, 0.8))
    first, states = ranked[0].candidates[0].name, ranked[0].decision != UNDECIDED
    side = [material.disputed[at] for at in cases[0]]
    versus: tuple[Versus, ...] = ()
    if question.explain and states:
        names = [row.name for row in ranked[0].candidates if row.name in known]
        versus = explain_versus(
            verifier,
            side,
            {name: known[name] for name in names[:_EXPLAINED]},
            population,
            on_progress=part(on_progress, 0.8, 1.0),
        )
    warnings = [
        *material.cautions,
        *without_texts(without),
        *(one for one in odd[: len(side)] if one is not None),
        *on_foreign,
        *(foreign_texts(verifier, known[first]) if first in known else ()),
        *cautions_of_ranking(
            verifier.verify(side, list(material.candidates[first]), population=population),
            source=compared.source,
            strange=[bool(one.factors.population_misfit[0]) for one in scored],
            genres=candidates_by_genre(verifier, population, known, run),
        ),
        *(other_genres(verifier, disputed[: len(side)], known, run) if states else ()),
        *cautions_of_others(
            [exhibit.document for exhibit in material.disputed[len(side) :]],
            disputed[len(side) :],
            odd[len(side) :],
        ),
        *([UNTRIED] if question.trials and trust is None else []),
    ]
    on_progress(1.0)
    return Ranking(
        cases=tuple(ranked),
        prior_none=question.prior_none,
        prior_candidate=(1 - question.prior_none) / len(scored),
        population=compared,
        trust=trust,
        versus=versus,
        warnings=tuple(warnings),
        seed=seed,
        **made_by(verifier),
    )


def _disputed(material: CaseMaterial, levs_of: LevsOf) -> Levs:
    """(texts, lev_size): the LEVs of the disputed texts; a text without one is an error."""
    documents = [exhibit.document for exhibit in material.disputed]
    usable, levs = levs_of(documents)
    if len(usable) < len(documents):
        kept = set(map(id, usable))
        raise EmptyTextError(NO_WORD, next(text.id for text in documents if id(text) not in kept))
    return levs


def _ranked_case(
    scored: Sequence[ScoredCandidate],
    case: int,
    disputed: Sequence[Exhibit],
    question: WhichCandidate,
    foreign: Sequence[str],
    cautions: Sequence[Caution | None],
) -> RankedCase:
    """The candidates in order; no statement is made if one of the `cautions` blocks it.

    Nor is one made on candidates who are `foreign`: nothing is known of them but their prior.
    """
    obstacles = [one.message for one in cautions if one is not None and one.blocks_decision]
    scale = question.scale or VerbalScale()
    factors = np.array([one.factors.log_bayes_factor[case] for one in scored])  # (candidates,)
    unbounded = np.array([one.factors.unbounded[case] for one in scored])
    is_foreign = np.isin([one.name for one in scored], list(foreign))
    shares, none = posteriors(np.where(is_foreign, 0.0, factors)[None], question.prior_none)
    states = ~is_foreign & (not obstacles)
    order = np.lexsort((unbounded, factors, ~is_foreign))[::-1].tolist()
    ranked = tuple(
        RankedCandidate(
            name=scored[at].name,
            texts=scored[at].texts,
            words=scored[at].words,
            log10_bayes_factor=float(factors[at]) / LOG_10,
            verbal=support(float(factors[at]) / LOG_10, scale) if states[at] else NO_STATEMENT,
            at_bound=bool(scored[at].factors.at_bound[case]),
            posterior=float(shares[0, at]) if states[at] else None,
        )
        for at in order
    )
    decision = ONE_OF_THEM if is_any(none)[0] else NONE_OF_THEM
    verbal = evidence(ranked)
    if obstacles:
        decision, verbal = UNDECIDED, f"No statement is made: {'; '.join(obstacles)}."
    return RankedCase(
        disputed=tuple(
            DisputedText(
                name=exhibit.document.id,
                words=count_words(exhibit.document.text),
                sha256=exhibit.sha256,
            )
            for exhibit in disputed
        ),
        candidates=ranked,
        posterior_none=None if obstacles else float(none[0]),
        verbal=verbal,
        decision=decision,
        answer=ranked[0].name if decision == ONE_OF_THEM else None,
    )


def evidence(candidates: Sequence[RankedCandidate]) -> str:
    """The strongest evidence in words; the first candidate has it."""
    best = candidates[0]
    if best.verbal == NO_SUPPORT:
        return f"{NO_SUPPORT} for any candidate over somebody else of this population"
    if best.log10_bayes_factor < 0:
        return f"at least {best.verbal} every candidate"
    return f"{best.verbal} {best.name} over somebody else of this population"


def support(log10_bayes_factor: float, scale: VerbalScale) -> str:
    """The rung of a Bayes factor, and which way it points."""
    words = scale.words(log10_bayes_factor)
    if words == NO_SUPPORT:
        return words
    return f"{words} {'for' if log10_bayes_factor > 0 else 'against'}"
