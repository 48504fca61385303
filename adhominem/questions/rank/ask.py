"""Which of these candidates wrote it, if any: evidence for each, and a posterior with "none".

    disputed text ─ each candidate's known texts ─ log Bayes factors ─ priors ─ posteriors

Each candidate is compared with the disputed text by the same scorer as two texts in `verify`. The
Bayes factor is that of "this candidate wrote it" against "somebody else of this population did".
Unless a population is given, it is the texts of the other candidates: the scorer leaves the texts
of a comparison out of the population that they stand in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any, ClassVar

import numpy as np

import adhominem
from adhominem.arrays import Levs, joined
from adhominem.errors import NO_WORD, EmptyTextError
from adhominem.jobs.run import Run, part
from adhominem.questions.cautions import (
    UNTRIED,
    candidates_by_genre,
    cautions_of_others,
    cautions_of_ranking,
    foreign_candidates,
    foreign_texts,
    mostly_foreign,
    obstacles_of,
    other_genres,
)
from adhominem.questions.material import (
    FEWEST_CANDIDATES,
    CaseMaterial,
    sort_out,
    too_few,
    without_texts,
)
from adhominem.questions.question import (
    EXAMPLE_TEXTS,
    Input,
    Known,
    Question,
    Side,
    Texts,
    answer_files,
    as_known,
    cost,
    documents_in,
)
from adhominem.questions.rank.others import (
    GIVEN,
    MOST_POPULATION,
    NO_POPULATION,
    OTHERS,
    LevsOf,
    Others,
    population_of_case,
)
from adhominem.questions.rank.pool import TextPool, in_rows, joined_factors
from adhominem.questions.rank.posterior import is_any, posteriors
from adhominem.questions.rank.ranking import (
    NO_STATEMENT,
    NONE_OF_THEM,
    ONE_OF_THEM,
    UNDECIDED,
    DisputedText,
    RankedCandidate,
    RankedCase,
    Ranking,
    evidence,
    support,
)
from adhominem.questions.rank.trust import MOST_TRIALS, try_known_texts
from adhominem.questions.rank.versus import Versus, explain_versus
from adhominem.records import Offered, ShareBelow1, Within
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, SideTexts, exhibits_of
from adhominem.text.files import Document
from adhominem.verify.cautions import Caution
from adhominem.verify.verifier import Verifier

_LOG_10 = float(np.log(10))
_EXPLAINED = 3  # of the first candidates: the first against each of the others
_TEXTS_AT_ONCE = 400  # of candidates who are compared together
_PER_COMPARISON = 30  # characters of work, about: of two texts among many
_TIMES_READ = 5  # that the reasons for one candidate over another go through a text, about
_COMMAND = Offered(to=("command",))

OnProgress = Callable[[float], None]  # hears which share of the work is done


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
    scale: Annotated[
        VerbalScale | None,
        Input(
            option="--scale",
            option_help="A verbal scale of your own, as JSON.",
            reads=VerbalScale.read,
        ),
    ] = None
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
        with run.watch("ranking", unit="share") as on_progress:
            return _ranking(verifier, self, run, on_progress)


def rank(
    disputed: str | Path | Sequence[str | Path],
    candidates: str | Path,
    *,
    output: str | Path | None = None,
    **options: Any,
) -> Ranking:
    """Which of some candidates, if any, wrote a disputed text, and how strong is the evidence?

    `disputed` are files, folders of texts, or `-` for standard input; they are taken to be by one
    author, unless they are ranked `one_by_one`. `candidates` is a corpus with authors: a folder
    with one folder for each, for example. Options are the settings of `WhichCandidate`, a
    `population`, a `scale`, and what `answer_files` takes. With an `output`, a page is written
    there, which also shows what speaks for the first candidates.
    """
    options |= {"disputed": disputed, "candidates": candidates}
    ranking: Ranking = answer_files(WhichCandidate, output=output, **options)
    return ranking


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


@dataclass
class _Scored:
    """All candidates against all cases."""

    names: list[str] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)  # known ones of each
    words: list[int] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  # candidates whose texts have no word in them
    parts: list[LogBayesFactors] = field(default_factory=list)  # (cases, candidates) of each batch

    @cached_property
    def factors(self) -> LogBayesFactors:
        """(cases, candidates)."""
        return joined_factors(self.parts)

    def strongest_first(self) -> list[str]:
        """The candidates by their greatest Bayes factor of all cases."""
        order = np.argsort(-self.factors.unbounded.max(axis=0), kind="stable")
        return [self.names[at] for at in order]


def _ranking(
    verifier: Verifier, question: WhichCandidate, run: Run, on_progress: OnProgress
) -> Ranking:
    one_by_one, prior_none, trials = question.one_by_one, question.prior_none, question.trials
    seed, levs_of = question.seed, partial(run.levs, verifier)
    material = sort_out(question.disputed.texts, question.candidates, together=not one_by_one)
    levs = _disputed(material, levs_of)
    groups = [[at] for at in range(len(levs))] if one_by_one else [list(range(len(levs)))]
    others = population_of_case(material.candidates, question.population, levs_of, seed)
    scored = _score(verifier, material, levs_of, levs, groups, others, part(on_progress, 0, 0.6))
    known = {name: material.candidates[name] for name in scored.strongest_first()}
    foreign = mostly_foreign(verifier, known)
    known = {name: texts for name, texts in known.items() if name not in foreign}
    on_foreign = [foreign_candidates(foreign)] if foreign else []
    if not known:
        on_foreign = [replace(told, blocks_decision=True) for told in on_foreign]
    odd = obstacles_of(verifier, [exhibit.document for exhibit in material.disputed])
    cases = [
        _ranked(
            scored,
            row,
            [material.disputed[at] for at in group],
            prior_none,
            question.scale or VerbalScale(),
            foreign,
            _deciding([*(odd[at] for at in group), *on_foreign]),
        )
        for row, group in enumerate(groups)
    ]
    trust = None
    if trials:
        words = [len(exhibit.document.text.split()) for exhibit in material.disputed]
        trust = try_known_texts(
            verifier.scorer,
            material.candidates,
            levs_of,
            texts=len(groups[0]),
            words=round(median(words)),
            population=others.levs if others.told.source == GIVEN else None,
            population_of_others=others.told.source == OTHERS,
            prior_none=prior_none,
            most_trials=trials,
            seed=seed,
            on_progress=part(on_progress, 0.6, 0.8),
        )
    first = cases[0].candidates[0].name
    states = cases[0].decision != UNDECIDED
    side = [material.disputed[at] for at in groups[0]]
    shared = others.population(verifier)
    versus: tuple[Versus, ...] = ()
    if question.explain and states:
        ranked = [row.name for row in cases[0].candidates if row.name in known]
        versus = explain_versus(
            verifier,
            side,
            {name: known[name] for name in ranked[:_EXPLAINED]},
            shared,
            on_progress=part(on_progress, 0.8, 1.0),
        )
    warnings = [
        *material.cautions,
        *without_texts(scored.without),
        *(told for told in odd[: len(side)] if told is not None),
        *on_foreign,
        *(foreign_texts(verifier, known[first]) if first in known else ()),
        *cautions_of_ranking(
            verifier.verify(side, list(material.candidates[first]), population=shared),
            source=others.told.source,
            strange=scored.factors.population_misfit[0].tolist(),
            genres=candidates_by_genre(verifier, shared, known, run),
        ),
        *(other_genres(verifier, levs[: len(side)], known, run) if states else ()),
        *cautions_of_others(
            [exhibit.document for exhibit in material.disputed[len(side) :]],
            levs[len(side) :],
            odd[len(side) :],
        ),
        *([UNTRIED] if trials and trust is None else []),
    ]
    on_progress(1.0)
    return Ranking(
        cases=tuple(cases),
        prior_none=prior_none,
        prior_candidate=(1 - prior_none) / len(scored.names),
        population=others.told,
        trust=trust,
        versus=versus,
        warnings=tuple(warnings),
        seed=seed,
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
    )


def _disputed(material: CaseMaterial, levs_of: LevsOf) -> Levs:
    """(texts, lev_size): those of the disputed texts, of which none can be left out."""
    asked = [exhibit.document for exhibit in material.disputed]
    good, levs = levs_of(asked)
    if len(good) < len(asked):
        kept = set(map(id, good))
        name = next(text.id for text in asked if id(text) not in kept)
        raise EmptyTextError(NO_WORD, name)
    return levs


def _deciding(cautions: Sequence[Caution | None]) -> list[str]:
    """Why no statement is made."""
    return [told.message for told in cautions if told is not None and told.blocks_decision]


def _score(
    verifier: Verifier,
    material: CaseMaterial,
    levs_of: LevsOf,
    disputed: Levs,
    groups: Sequence[Sequence[int]],
    others: Others,
    on_progress: OnProgress,
) -> _Scored:
    """All cases against all candidates, a batch of these at a time."""
    scored = _Scored()
    population = None
    if others.told.source != NO_POPULATION:
        population = list(range(len(disputed), len(disputed) + len(others.levs)))
    begin = len(disputed) + len(others.levs)  # of a batch's texts, by number
    done = 0
    for batch in _in_batches(material.candidates):
        texts, levs = levs_of([text for _, documents in batch for text in documents])
        number_of = {id(text): begin + at for at, text in enumerate(texts)}
        sides = []
        for name, documents in batch:
            good = [text for text in documents if id(text) in number_of]
            if not good:
                scored.without.append(name)
                continue
            scored.names.append(name)
            scored.texts.append(len(good))
            scored.words.append(sum(len(text.text.split()) for text in good))
            sides.append([number_of[id(text)] for text in good])
        done += len(batch)
        if not sides:
            continue
        pool = TextPool(verifier.scorer, joined([disputed, others.levs, levs]))
        scored.parts.append(
            in_rows(
                pool.factors(
                    [group for group in groups for _ in sides],
                    [side for _ in groups for side in sides],
                    population,
                ),
                len(groups),
            )
        )
        on_progress(done / len(material.candidates))
    if len(scored.names) < FEWEST_CANDIDATES:
        raise too_few(len(scored.names), list(without_texts(scored.without)))
    return scored


def _ranked(
    scored: _Scored,
    row: int,
    disputed: Sequence[Exhibit],
    prior_none: float,
    scale: VerbalScale,
    foreign: Sequence[str],
    obstacles: Sequence[str],
) -> RankedCase:
    """The candidates in order, for one case; no statement is made if there are `obstacles`.

    Nor is one made on candidates who are `foreign`: nothing is known of them but their prior.
    """
    all_factors = scored.factors
    factors, unbounded = all_factors.log_bayes_factor[row], all_factors.unbounded[row]
    is_foreign = np.isin(scored.names, list(foreign))  # (candidates,)
    shares, none = posteriors(np.where(is_foreign, 0.0, factors)[None], prior_none)
    states = ~is_foreign & (not obstacles)
    order = np.lexsort((unbounded, factors, ~is_foreign))[::-1].tolist()
    ranked = tuple(
        RankedCandidate(
            name=scored.names[at],
            texts=scored.texts[at],
            words=scored.words[at],
            log10_bayes_factor=float(factors[at]) / _LOG_10,
            verbal=support(float(factors[at]) / _LOG_10, scale) if states[at] else NO_STATEMENT,
            at_bound=bool(all_factors.at_bound[row, at]),
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
                words=len(exhibit.document.text.split()),
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


def _in_batches(
    candidates: Mapping[str, Sequence[Document]],
) -> Iterator[list[tuple[str, Sequence[Document]]]]:
    """Candidates with their texts, as many as are compared together."""
    batch: list[tuple[str, Sequence[Document]]] = []
    texts = 0
    for name, documents in candidates.items():
        if batch and texts + len(documents) > _TEXTS_AT_ONCE:
            yield batch
            batch, texts = [], 0
        batch.append((name, documents))
        texts += len(documents)
    if batch:
        yield batch
