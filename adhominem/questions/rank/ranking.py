"""What a ranking of candidates came to, and what it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adhominem.questions.rank.others import RankingPopulation
from adhominem.questions.rank.trust import Trust
from adhominem.questions.rank.versus import Versus
from adhominem.records import with_schema
from adhominem.score.decision import NONE as NO_SUPPORT
from adhominem.score.decision import Decision, VerbalScale
from adhominem.verify.cautions import Caution

NO_STATEMENT = "no statement is made"
ONE_OF_THEM, NONE_OF_THEM = "one of the candidates", "none of them"  # decisions
UNDECIDED = Decision.UNDECIDED.value


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
class Ranking:
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

    def to_json(self) -> dict[str, Any]:
        """As plain lists, numbers and strings, with the version of the schema."""
        return with_schema(self)


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
