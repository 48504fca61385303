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
from functools import cached_property
from statistics import median

import numpy as np

import adhominem
from adhominem.arrays import Levs, joined
from adhominem.errors import NO_WORD, EmptyTextError
from adhominem.questions.against import Against, population_of_case
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
from adhominem.questions.known import Encode, LevStore, in_batches
from adhominem.questions.material import (
    FEWEST_CANDIDATES,
    CaseMaterial,
    sort_out,
    too_few,
    without_texts,
)
from adhominem.questions.rank.pool import TextPool, in_rows, joined_factors
from adhominem.questions.rank.posterior import check_prior, is_any, posteriors
from adhominem.questions.rank.ranking import (
    GIVEN,
    NO_POPULATION,
    NO_STATEMENT,
    NONE_OF_THEM,
    ONE_OF_THEM,
    OTHERS,
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
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, SideTexts, exhibits_of
from adhominem.text.files import Document
from adhominem.verify.cautions import Caution
from adhominem.verify.verifier import Verifier

_LOG_10 = float(np.log(10))
_EXPLAINED = 3  # of the first candidates: the first against each of the others

OnProgress = Callable[[float], None]  # hears which share of the work is done


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


def rank_texts(
    verifier: Verifier,
    disputed: SideTexts,
    candidates: Mapping[str, Sequence[str | Document]],
    *,
    population: Sequence[str | Document] | Population | None = None,
    population_name: str = "",
    prior_none: float = 0.5,
    one_by_one: bool = False,
    scale: VerbalScale | None = None,
    trials: int = MOST_TRIALS,
    explained: bool = False,
    seed: int = 0,
    unreadable: Sequence[str] = (),
    encode: Encode | None = None,
    on_progress: OnProgress = lambda share: None,
) -> Ranking:
    """Rank candidates, given by their known texts, as authors of disputed texts.

    Several disputed texts are taken to be by one author, unless they are ranked `one_by_one`. The
    prior probability that none of the candidates wrote them is `prior_none`, and the candidates
    share the rest evenly. Without a `population`, it is the texts of the other candidates; one
    that is given is told by its `population_name`. No statement is made on disputed texts, or on
    candidates, that are not what the model was made for. At most so many `trials` with the known
    texts show how far to trust the answer; 0 leaves them out. With `explained`, what speaks for the
    first candidate over the next ones is worked out, too.

    `unreadable` are candidates of whom no text could be read, and `encode` says how texts get their
    LEVs, if not by the verifier.
    """
    check_prior(prior_none)
    material = sort_out(
        exhibits_of(disputed, "disputed"),
        _documents(candidates),
        unreadable,
        together=not one_by_one,
    )
    store = LevStore(encode or (lambda texts: (list(texts), verifier.encode(texts))))
    levs = _disputed(material, store)
    groups = [[at] for at in range(len(levs))] if one_by_one else [list(range(len(levs)))]
    against = population_of_case(material, population, store, seed, population_name)
    scored = _score(verifier, material, store, levs, groups, against, _part(on_progress, 0, 0.6))
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
            scale or VerbalScale(),
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
            store,
            texts=len(groups[0]),
            words=round(median(words)),
            population=against.levs if against.told.source == GIVEN else None,
            population_of_others=against.told.source == OTHERS,
            prior_none=prior_none,
            most_trials=trials,
            seed=seed,
            on_progress=_part(on_progress, 0.6, 0.8),
        )
    first = cases[0].candidates[0].name
    states = cases[0].decision != UNDECIDED
    side = [material.disputed[at] for at in groups[0]]
    shared = against.population(verifier)
    versus: tuple[Versus, ...] = ()
    if explained and states:
        ranked = [row.name for row in cases[0].candidates if row.name in known]
        versus = explain_versus(
            verifier,
            side,
            {name: known[name] for name in ranked[:_EXPLAINED]},
            shared,
            on_progress=_part(on_progress, 0.8, 1.0),
        )
    warnings = [
        *material.cautions,
        *without_texts(scored.without),
        *(told for told in odd[: len(side)] if told is not None),
        *on_foreign,
        *(foreign_texts(verifier, known[first]) if first in known else ()),
        *cautions_of_ranking(
            verifier.verify(side, list(material.candidates[first]), population=shared),
            source=against.told.source,
            strange=scored.factors.population_misfit[0].tolist(),
            genres=candidates_by_genre(verifier, shared, known, store),
        ),
        *(other_genres(verifier, levs[: len(side)], known, store) if states else ()),
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
        population=against.told,
        trust=trust,
        versus=versus,
        warnings=tuple(warnings),
        seed=seed,
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
    )


def _documents(candidates: Mapping[str, Sequence[str | Document]]) -> dict[str, list[Document]]:
    """The known texts, each with a name."""
    return {
        name: [
            Document(text=text, author=name, id=f"{name}/{number}")
            if isinstance(text, str)
            else text
            if text.id
            else replace(text, id=f"{name}/{number}")
            for number, text in enumerate(texts, start=1)
        ]
        for name, texts in candidates.items()
    }


def _disputed(material: CaseMaterial, store: LevStore) -> Levs:
    """(texts, lev_size): those of the disputed texts, of which none can be left out."""
    asked = [exhibit.document for exhibit in material.disputed]
    good, levs = store(asked)
    if len(good) < len(asked):
        kept = set(map(id, good))
        name = next(text.id for text in asked if id(text) not in kept)
        raise EmptyTextError(NO_WORD, name)
    return levs


def _deciding(cautions: Sequence[Caution | None]) -> list[str]:
    """Why no statement is made."""
    return [told.message for told in cautions if told is not None and told.blocks_decision]


def _part(on_progress: OnProgress, begin: float, end: float) -> OnProgress:
    """What hears of a part of the work, as a share of that part."""
    return lambda share: on_progress(begin + (end - begin) * share)


def _score(
    verifier: Verifier,
    material: CaseMaterial,
    store: LevStore,
    disputed: Levs,
    groups: Sequence[Sequence[int]],
    against: Against,
    on_progress: OnProgress,
) -> _Scored:
    """All cases against all candidates, a batch of these at a time."""
    scored = _Scored()
    population = None
    if against.told.source != NO_POPULATION:
        population = list(range(len(disputed), len(disputed) + len(against.levs)))
    begin = len(disputed) + len(against.levs)  # of a batch's texts, by number
    done = 0
    for batch in in_batches(material.candidates):
        texts, levs = store([text for _, documents in batch for text in documents])
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
        pool = TextPool(verifier.scorer, joined([disputed, against.levs, levs]))
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
