"""A model validated on a user's own texts of known authors: the question, and its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

import adhominem
from adhominem.arrays import Levs
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.evaluation.study import StudyCase, StudyConditions, StudyText, ValidationStudy
from adhominem.jobs.run import Run
from adhominem.model.folder import model_folder
from adhominem.model.writing import trained_on
from adhominem.pairs.cases import DrawnCase, by_others, draw_cases
from adhominem.pairs.passages import find_duplicates, fingerprints
from adhominem.questions.corpus import each_by_itself
from adhominem.questions.question import Input, Output, Question, Texts
from adhominem.records import Offered, Within
from adhominem.score.decision import LOG_10
from adhominem.score.population import Population
from adhominem.text.files import Document
from adhominem.text.sentences import count_words, first_words
from adhominem.verify.cautions import CHANGED, UNCALIBRATED, listed
from adhominem.verify.verifier import Verifier

ListedText = tuple[Document, StudyText]  # a text to compare, and how the study lists it
INPUT = "input"  # instead of a population's path: the material itself
_ALL = 2**31  # texts of the material
_CASES_AT_ONCE = 256  # scored together: a LEV may have many thousand numbers


@dataclass(frozen=True, kw_only=True)
class HowGood(Question):
    """How does the model do on your own texts, under the conditions of your case?

    Each text is compared once with other texts by its author, and as many texts are compared with
    those of another author. Choose the number of known texts, the words and the population as in
    your case.
    """

    name: ClassVar[str] = "validate"
    runs_on: ClassVar[tuple[str, ...]] = ("device", "jobs")
    output: ClassVar[Output] = Output(
        "A .json, for `report --validation`, or an .html page; may be given twice.",
        "a .json or an .html",
        (".json", ".html", ".htm"),
        is_repeated=True,
    )
    usage: ClassVar[str] = """
    MATERIAL holds texts of known authors: a folder with one folder an author, or any other corpus.

    \b
        adhominem validate letters-by-author/ --known 5 --words 500 -o study.json -o study.html
        adhominem validate letters-by-author/ --population input --population-size 50
    """

    material: Annotated[
        Texts, Input(metavar="MATERIAL", most=_ALL, is_corpus=True, by_authors=True)
    ]
    population: Annotated[
        Texts | None,
        Input(
            option="--population",
            option_help="Texts of the same genre by other people; `input`: those of the material "
            "by neither author of a case.  [default: none]",
            metavar="PATH|input",
        ),
    ] = None
    known: Annotated[
        int, Within(1), "How many known texts the questioned one is compared with."
    ] = 1
    words: Annotated[
        int | None, Within(1), "Words to cut each text to.  [default: whole texts]"
    ] = None
    population_size: Annotated[
        int | None,
        Within(1),
        "With `--population input`, how many texts are drawn for each case.  [default: all]",
    ] = None
    cases: Annotated[
        int | None, Within(1), "Most cases of each class.  [default: a case a text]"
    ] = None
    resamples: Annotated[
        int,
        Within(0),
        Offered(option="--bootstrap"),
        "Resamples of authors for the 95% intervals; 0 leaves them out.",
    ] = 1000
    seed: Annotated[int, Within(0), "Repeats a run."] = 0

    @classmethod
    def check(cls, values: Mapping[str, Any]) -> None:
        """Raise an OptionError for a size of a population that is not drawn."""
        super().check(values)
        if values.get("population_size") is not None and values.get("population") != INPUT:
            raise OptionError(
                "a population size without the population `input`; expected both, since other "
                "populations are taken as they are"
            )

    def written(self, result: ValidationStudy, path: Path) -> str | bytes:
        """The study as JSON or as a page."""
        is_json = path.suffix.lower() == ".json"
        return result.to_text() if is_json else super().written(result, path)

    def answer(self, verifier: Verifier, run: Run) -> ValidationStudy:
        """The Bayes factors of cases made of the material, and what they show of the model."""
        texts, remarks = _without_copies(self._texts())
        drawn = self._cases(texts)  # or an error, before minutes of work
        with run.watch("encoding", len(texts)) as on_documents:
            encoded, levs = run.levs(verifier, [text for text, _ in texts], on_documents)
        if len(encoded) < len(texts):
            kept = set(map(id, encoded))
            texts = [row for row in texts if id(row[0]) in kept]
            drawn = self._cases(texts)
        given = None
        if self.population is not None and self.population.name != INPUT:
            _check_by_others(self.population, texts)
            given = self.population.relevant(verifier, run)
        with run.watch("scoring", len(drawn)) as on_cases:
            scored = self._score(verifier, encoded, levs, drawn, given, on_cases)
        with run.watch("bootstrap", self.resamples) as on_resample:
            return ValidationStudy.of(
                tuple(listed for _, listed in texts),
                scored,
                self._conditions(given),
                on_resample=lambda: on_resample(1),
                remarks=(*remarks, *self._remarks(texts, verifier, run.model)),
                material=self.material.name,
                model=verifier.name,
                model_sha256=verifier.sha256,
                version=adhominem.__version__,
            )

    def _texts(self) -> list[ListedText]:
        """The texts, each cut to its first words."""
        if not self.material.documents:
            raise NotFoundError(
                "no text of a known author can be read here; expected many", self.material.path
            )
        texts = []
        for document in self.material.documents:
            text = document.text
            if self.words is not None:
                text = first_words(text, self.words)
            listed = StudyText(
                id=document.id,
                author=document.author,
                words=count_words(text),
                sha256=document.sha256,
            )
            texts.append((replace(document, text=text), listed))
        return texts

    def _cases(self, texts: Sequence[ListedText]) -> list[DrawnCase]:
        """The cases; each must leave enough texts for a population, if one is to be drawn."""
        documents, size = [document for document, _ in texts], self.population_size or 0
        try:
            drawn = draw_cases(documents, self.known, most=self.cases, seed=self.seed)
        except OptionError as error:
            raise InputError(str(error), self.material.path) from None
        if size and (fewest := min(len(by_others(documents, case)) for case in drawn)) < size:
            raise InputError(
                f"without the two authors of a case, as few as {fewest:,} texts are left for its "
                f"population; expected {size:,}, as requested: add texts by other authors, or ask "
                "for fewer",
                self.material.path,
            )
        return drawn

    def _score(
        self,
        verifier: Verifier,
        documents: list[Document],
        levs: Levs,
        drawn: list[DrawnCase],
        given: Population | None,
        on_cases: Callable[[int], None],
    ) -> tuple[StudyCase, ...]:
        """The cases with their Bayes factors; those that share a population are scored together."""
        size, rng = self.population_size, np.random.default_rng([self.seed, 1])
        is_by_others = self.population is not None and given is None
        groups: dict[object, list[int]] = {}
        for number, case in enumerate(drawn):
            authors = frozenset(documents[at].author for at in (case.questioned, *case.known))
            own_population = authors if size is None else number
            groups.setdefault(own_population if is_by_others else None, []).append(number)
        scored: dict[int, StudyCase] = {}
        for numbers in groups.values():
            population = given
            if is_by_others:
                others = by_others(documents, drawn[numbers[0]])
                if size is not None:
                    others = rng.choice(others, size, replace=False)
                population = verifier.population_of(levs[others])
            for begin in range(0, len(numbers), _CASES_AT_ONCE):
                batch = numbers[begin : begin + _CASES_AT_ONCE]
                factors = verifier.score(
                    [levs[[drawn[at].questioned]] for at in batch],
                    [levs[list(drawn[at].known)] for at in batch],
                    population,
                )
                for at, factor in zip(batch, factors.tolist(), strict=True):
                    scored[at] = StudyCase(
                        **vars(drawn[at]),
                        population_texts=0 if population is None else population.texts,
                        log10_bayes_factor=factor / LOG_10,
                    )
                on_cases(len(batch))
        return tuple(scored[at] for at in range(len(drawn)))

    def _conditions(self, given: Population | None) -> StudyConditions:
        population = self.population
        is_input = population is not None and given is None
        return StudyConditions(
            known=self.known,
            words=self.words,
            population="none" if population is None else "input" if is_input else "given",
            population_source="" if population is None or is_input else population.name,
            population_sha256="" if given is None else given.sha256,
            population_size=self.population_size,
            most_cases=self.cases,
            seed=self.seed,
            resamples=self.resamples,
        )

    def _remarks(
        self, texts: Sequence[ListedText], verifier: Verifier, model: str | Path
    ) -> Iterator[str]:
        """What makes the figures of these texts better or worse than those of others would be."""
        if verifier.calibration is None:
            yield UNCALIBRATED
        elif verifier.changed:
            yield CHANGED.message
        authors = {document.author for document, _ in texts}
        if model and (trained := trained_on(model_folder(model), authors)):
            yield (
                "the model was trained on texts by authors of these names: "
                f"{listed(sorted(trained))}; if they are the same people, it does better here than "
                "on others"
            )
        short = sum(text.words < (self.words or 0) for _, text in texts)
        if short:
            yield (
                f"{short:,} of {len(texts):,} texts have fewer than {self.words:,} words, and are "
                "compared as they are"
            )


def _without_copies(texts: Sequence[ListedText]) -> tuple[list[ListedText], list[str]]:
    """Each text once, without passages that several share, and remarks on what was removed.

    A text that occurs under two authors' names is left out altogether, since its author is
    unclear.
    """
    copies, doubtful = set(), set()
    for pair in find_duplicates(fingerprints([document.text for document, _ in texts])):
        if texts[pair.first][0].author == texts[pair.second][0].author:
            copies.add(pair.second)
        else:
            doubtful |= {pair.first, pair.second}
    remarks = [
        f"left out, since {why}: {listed([texts[at][1].id for at in sorted(places)])}"
        for places, why in (
            (copies - doubtful, "the same author has the same text under another name"),
            (doubtful, "the same text occurs under the names of several authors"),
        )
        if places
    ]
    kept = [row for at, row in enumerate(texts) if at not in copies | doubtful]
    documents = each_by_itself([document for document, _ in kept], remarks)
    return [(document, text) for document, (_, text) in zip(documents, kept, strict=True)], remarks


def _check_by_others(population: Texts, texts: Sequence[ListedText]) -> None:
    """Raise if somebody of the material wrote texts of the population, as far as it shows."""
    expected = (
        "expected texts by other people: leave these out, or take the population `input`, which "
        "is drawn from the material itself, without the two authors of a case"
    )
    members, tested = population.documents, {document.author for document, _ in texts}
    if shared := sorted({document.author for document in members} & tested):
        raise InputError(
            f"the population has texts by authors of the material: {listed(shared)}; {expected}",
            population.path,
        )
    prints = fingerprints([text.text for text in (*(text for text, _ in texts), *members)])
    pairs = find_duplicates(prints)
    copied = [pair.first for pair in pairs if pair.first < len(texts) <= pair.second]
    if copied:
        names = listed([texts[at][1].id for at in dict.fromkeys(copied)])
        raise InputError(
            f"the population has copies of the material: {names}; {expected}", population.path
        )
