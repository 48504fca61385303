"""The trials of `trust`: known texts taken out, cut, and ranked with and without their author."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from adhominem.arrays import AnyLevs, BoolArray, FloatArray, joined
from adhominem.evaluation.pan import macro_f1
from adhominem.questions.known import MOST_POPULATION, LevStore, enough_others, in_turn
from adhominem.questions.rank.pool import TextPool
from adhominem.questions.rank.posterior import NONE, answers
from adhominem.score.scorer import Scorer
from adhominem.text.exhibits import first_words
from adhominem.text.files import Document

_SHORTER = 0.9  # of a text's words: one that is hardly longer than asked for is not cut


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """How often texts of an author were given to somebody; None stands for none of them."""

    author: str
    left_out: bool  # whether the author was left out of the candidates
    answer: str | None
    trials: int


@dataclass(frozen=True)
class Trial:
    """Texts of one candidate that are disputed for once; all are numbers of texts."""

    author: str
    taken: tuple[int, ...]  # as they are ranked, cut if they were longer
    whole: frozenset[int]  # the same before they were cut
    rest: tuple[int, ...]  # the known texts that the author is left with; there may be none


@dataclass
class Outcome:
    """What came out of the trials, each with the author among the candidates or left out."""

    by: list[str] = field(default_factory=list)  # who wrote the texts of each
    truth: list[str] = field(default_factory=list)  # the right answer
    answers: list[str] = field(default_factory=list)
    first: list[bool] = field(
        default_factory=list
    )  # of those with the author: whether ranked first
    pairs: list[tuple[str, str]] = field(default_factory=list)  # author and candidate
    values: list[FloatArray] = field(default_factory=list)  # the log Bayes factors of these pairs

    @property
    def factors(self) -> FloatArray:
        """(pairs,): in nats."""
        return np.concatenate(self.values)

    @property
    def same(self) -> BoolArray:
        """(pairs,): whether the candidate is the author."""
        return np.array([author == candidate for author, candidate in self.pairs])

    def nones(self, *, left_out: bool) -> list[bool]:
        """Whether none was the answer, of the trials of one sort."""
        return [
            answer == NONE
            for answer, true in zip(self.answers, self.truth, strict=True)
            if (true == NONE) == left_out
        ]

    def macro_f1(self, chosen: Sequence[int]) -> float:
        """The official one of some trials."""
        return macro_f1(
            [self.truth[at] for at in chosen], [self.answers[at] for at in chosen], NONE
        )

    def confusions(self) -> tuple[Confusion, ...]:
        """How often whose texts were given to whom, the most frequent first."""
        counts = Counter(zip(self.by, self.truth, self.answers, strict=True))
        return tuple(
            Confusion(
                author=author,
                left_out=true == NONE,
                answer=None if answer == NONE else answer,
                trials=trials,
            )
            for (author, true, answer), trials in counts.most_common()
        )


class Trials:
    """The known texts of some candidates, of which each is disputed once."""

    def __init__(
        self,
        scorer: Scorer,
        candidates: Mapping[str, Sequence[Document]],
        store: LevStore,
        *,
        texts: int,
        words: int,
        population: AnyLevs | None,
        population_of_others: bool,
        most_trials: int,
        seed: int,
    ) -> None:
        """See `trust.try_known_texts`."""
        rng = np.random.default_rng([seed, 4])
        good, levs = store([text for documents in candidates.values() for text in documents])
        place = {id(text): at for at, text in enumerate(good)}
        self._known = {
            name: [place[id(text)] for text in documents if id(text) in place]
            for name, documents in candidates.items()
        }
        self._known = {name: numbers for name, numbers in self._known.items() if numbers}
        self.names = list(self._known)
        self._author = {at: name for name, numbers in self._known.items() for at in numbers}
        rows: list[AnyLevs] = [levs]
        self._population: list[int] | None = None
        self._of_others = population_of_others
        if population is not None:
            self._population = list(range(len(levs), len(levs) + len(population)))
            rows.append(population)
        elif population_of_others:
            usable = {name: [good[at] for at in numbers] for name, numbers in self._known.items()}
            drawn = in_turn(usable, MOST_POPULATION, rng)
            self._population = [place[id(text)] for _, text in drawn]
        taken = self._take_out(good, texts, most_trials, rng)
        cut = {
            at: replace(good[at], text=first_words(good[at].text, words))
            for trial in taken
            for at in sorted(trial.whole)
            if _SHORTER * len(good[at].text.split()) > words
        }
        # A beginning without a word in it has no LEV: then the whole text is ranked.
        shorter, more = store(list(cut.values()))
        rows.append(more)
        first = sum(map(len, rows[:-1]))
        number_of = {id(text): first + at for at, text in enumerate(shorter)}
        now = {at: number_of.get(id(text), at) for at, text in cut.items()}
        self.all = [
            replace(trial, taken=tuple(now.get(at, at) for at in trial.taken)) for trial in taken
        ]
        self._pool = TextPool(scorer, joined(rows))

    @property
    def population_texts(self) -> int:
        """How many texts the population has, those of a trial and its candidate among them."""
        return 0 if self._population is None else len(self._population)

    def run(self, prior_none: float, on_progress: Callable[[float], None]) -> Outcome:
        """Rank the texts of each trial, with their author and without."""
        outcome = Outcome()
        for number, trial in enumerate(self.all, start=1):
            if trial.rest:
                self._rank(trial, outcome, prior_none, left_out=False)
            if prior_none > 0 and len(self.names) > 1:  # or none would never be the answer
                self._rank(trial, outcome, prior_none, left_out=True)
            on_progress(number / len(self.all))
        return outcome

    def _rank(self, trial: Trial, outcome: Outcome, prior_none: float, *, left_out: bool) -> None:
        names = [name for name in self.names if not left_out or name != trial.author]
        sides = [trial.rest if name == trial.author else self._known[name] for name in names]
        population = self._population_of(trial, left_out)
        scored = self._pool.factors([trial.taken] * len(names), sides, population)
        values, unbounded = scored.log_bayes_factor[None], scored.unbounded[None]
        answer = int(answers(values, unbounded, prior_none)[0])
        first = int(answers(values, unbounded, 0.0)[0])  # if one of them must have written it
        outcome.by.append(trial.author)
        outcome.truth.append(NONE if left_out else trial.author)
        outcome.answers.append(NONE if answer < 0 else names[answer])
        if not left_out:
            outcome.first.append(names[first] == trial.author)
            outcome.pairs += [(trial.author, name) for name in names]
            outcome.values.append(scored.log_bayes_factor)

    def _population_of(self, trial: Trial, left_out: bool) -> list[int] | None:
        """Without the texts of the trial; if its author is left out, without all of this author."""
        if self._population is None or not self._of_others:
            return self._population
        left = [
            at
            for at in self._population
            if at not in trial.whole and not (left_out and self._author[at] == trial.author)
        ]
        return left if enough_others([self._author[at] for at in left])[0] else None

    def _take_out(
        self, good: Sequence[Document], texts: int, most: int, rng: np.random.Generator
    ) -> list[Trial]:
        """The texts of each candidate in groups; candidates take turns."""
        turns: list[tuple[int, float, Trial]] = []
        for name, numbers in self._known.items():
            size = max(1, min(texts, len(numbers) - 1))  # somebody must be left to compare with
            order = rng.permutation(numbers).tolist()
            for turn, at in enumerate(range(0, len(order) - size + 1, size)):
                taken = order[at : at + size]
                works = {good[number].work for number in taken} - {""}
                rest = tuple(
                    number
                    for number in numbers
                    if number not in taken and good[number].work not in works
                )
                trial = Trial(name, tuple(taken), frozenset(taken), rest)
                turns.append((turn, float(rng.random()), trial))
        return [trial for _, _, trial in sorted(turns, key=lambda row: row[:2])[:most]]
