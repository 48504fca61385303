"""Candidates' texts: what is left out of them, and what to beware of when they are compared.

A text that is there twice would decide the answer by itself: who has a copy of the disputed text
among the known ones wins, whatever the style. So copies are left out, passages that the texts of
two people share are taken out, and both is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from itertools import count as counted

import numpy as np

from adhominem.arrays import Levs
from adhominem.errors import InputError
from adhominem.jobs.run import Run
from adhominem.pairs.passages import find_duplicates, fingerprints, without_shared
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, with_text
from adhominem.text.files import Document
from adhominem.verify.cautions import (
    Caution,
    caution,
    foreign_text,
    listed,
    passages_taken_out,
    two_genres,
)
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Verifier

Candidates = Mapping[str, Sequence[Document]]  # the known texts of each, by name

GIVEN, OTHERS, NO_POPULATION = "given", "other candidates", "none"  # sources of a population
FEWEST_CANDIDATES = 2  # candidates
_COPIED = 0.5  # share of the shorter text that stands in the other: it is a copy


@dataclass(frozen=True)
class CaseMaterial:
    """The texts that are compared, and what is said of those that are not."""

    disputed: tuple[Exhibit, ...]
    candidates: dict[str, tuple[Document, ...]]
    places: dict[str, tuple[int, ...]]  # of these among the texts that were given of each
    cautions: tuple[Caution, ...]

    def exhibits(self, name: str, given: Sequence[Exhibit]) -> list[Exhibit]:
        """Those of a candidate's exhibits that are left, as they are compared."""
        return list(map(with_text, (given[at] for at in self.places[name]), self.candidates[name]))


def sort_out(
    disputed: Sequence[Exhibit],
    candidates: Candidates,
    *,
    together: bool = True,
    whole: bool = False,
    fewest: int = FEWEST_CANDIDATES,
) -> CaseMaterial:
    """Each text once; candidates without a text are named.

    Passages that texts of two people share are taken out of both, or only out of the known texts
    where the disputed ones stay `whole`. Disputed texts that are ranked `together` must not count
    twice; one by one they may be copies. At least `fewest` candidates must be left.
    """
    repeated, left_out, on_copies = _copies(disputed, candidates, together)
    places: dict[str, tuple[int, ...]] = {}
    numbers = counted()
    for name, texts in candidates.items():
        left = [at for at, _ in enumerate(texts) if next(numbers) not in left_out]
        if left:
            places[name] = tuple(left)
    kept = {name: [candidates[name][at] for at in left] for name, left in places.items()}
    without = [name for name in candidates if name not in kept]
    cautions = (*on_copies, *without_texts(without))
    if len(kept) < fewest:
        raise too_few(len(kept), cautions, fewest)
    first = [text for at, text in enumerate(disputed) if at not in repeated]
    questioned = [one.document for one in first]
    in_turn = [questioned] if together else [[text] for text in questioned]
    groups, taken_out = without_shared([*in_turn, *kept.values()])
    rest = [text for group in groups[: len(in_turn)] for text in group]
    if whole:
        rest, names = questioned, {text.id for text in questioned}
        taken_out = [(name, words) for name, words in taken_out if name not in names]
    return CaseMaterial(
        tuple(map(with_text, first, rest)),
        dict(zip(kept, map(tuple, groups[len(in_turn) :]), strict=True)),
        places,
        (*cautions, *passages_taken_out(taken_out)),
    )


def too_few(
    count: int, cautions: Sequence[Caution] = (), fewest: int = FEWEST_CANDIDATES
) -> InputError:
    """The error of a case with too few candidates; `cautions` say who was left out, and why."""
    message = (
        f"there are texts of {count} candidate{'' if count == 1 else 's'}; expected {fewest} or "
        "more, each with texts of their own"
    )
    if fewest > 1:
        message += (
            ". With a single candidate, compare two sides instead, as `adhominem verify` does"
        )
    reasons = [f"{one.message[:1].upper()}{one.message[1:]}" for one in cautions]
    return InputError(". ".join([message, *reasons]))


def without_texts(names: Sequence[str]) -> Iterator[Caution]:
    """The caution about candidates without a usable text."""
    if names:
        yield caution(
            "no_texts",
            f"candidates without a text that can be used: {listed(names)}",
            "they are left out; if one of them wrote the disputed text, no candidate is the right "
            "answer",
            "give texts by them, or read the posterior of “none of them” with that in mind",
        )


def _copies(
    disputed: Sequence[Exhibit], candidates: Candidates, together: bool
) -> tuple[set[int], set[int], list[Caution]]:
    """The disputed and the known texts that are left out as copies, and what is said of them."""
    known = [(name, text) for name, texts in candidates.items() for text in texts]
    names = [exhibit.document.id for exhibit in disputed] + [
        text.id if text.id.startswith(f"{name}/") else f"{text.id} ({name})" for name, text in known
    ]
    documents = [*(exhibit.document for exhibit in disputed), *(text for _, text in known)]
    prints = fingerprints([document.text for document in documents])
    repeated, left_out = set[int](), set[int]()
    of_disputed, of_two, of_one = list[str](), list[str](), list[str]()
    for pair in find_duplicates(prints, _COPIED):
        first, second = sorted((pair.first, pair.second))
        both = f"{names[first]} and {names[second]}"
        one, other = first - len(disputed), second - len(disputed)  # among the known texts
        if other < 0:
            repeated |= {second} if together else set()
        elif one < 0:
            left_out.add(other)
            of_disputed.append(both)
        elif known[one][0] == known[other][0]:
            left_out.add(other)
            of_one.append(both)
        else:
            left_out |= {one, other}
            of_two.append(both)
    cautions = []
    if repeated:
        cautions.append(
            caution(
                "repeated_disputed",
                "disputed texts that stand in another one, whole or in good part: "
                f"{listed([names[at] for at in sorted(repeated)])}",
                "they are left out, so that nothing counts twice",
                "if these should be different texts, look at the files",
            )
        )
    if of_disputed:
        cautions.append(
            caution(
                "disputed_among_known",
                f"a disputed text stands among the known ones: {listed(of_disputed, '; ')}",
                "the known text is left out, since a copy says nothing about style",
                "make sure whether it is known who wrote it: if it is certain, so is the answer",
            )
        )
    if of_two:
        cautions.append(
            caution(
                "text_of_two_candidates",
                f"one text under the names of two candidates: {listed(of_two, '; ')}",
                "it is left out of both",
                "find out who wrote it, and remove the other copy",
            )
        )
    if of_one:
        cautions.append(
            caution(
                "repeated_text",
                f"the same text twice under one name: {listed(of_one, '; ')}",
                "it counts once, so the numbers are not affected",
                "if these should be different texts, look at the files",
            )
        )
    return repeated, left_out, cautions


# What to beware of

_MOST_CHECKED = 1_000  # most texts whose genre, and whether they are prose, is checked
_MOSTLY = 0.5  # of a candidate's texts
_FOREIGN = {"foreign", "other_language", "unknown_language", "two_languages"}  # codes
_FEWEST = 100  # tokens of a text: of fewer, nothing can be said
_OF_GENRE = 5  # texts of a candidate whose genre is guessed
_SOME_CANDIDATES = 200  # the first of them, if there are more texts than that
# What a comparison warns of because of its population; the other candidates are not a usual one.
_OF_POPULATION = {"mixed_population", "small_population"}

UNTRIED = caution(
    "untried",
    "no candidate has two texts: the ranking could not be tried on known texts",
    "how far to trust it is not known",
    "give more texts of the candidates",
)


def cautions_of_ranking(
    verification: Verification,
    *,
    source: str,
    strange: Sequence[bool],
    genres: Mapping[str, str],
) -> Iterator[Caution]:
    """What speaks against trusting a ranking.

    `verification` is that of the disputed text and the first candidate; what is said of its
    texts, and of a population that was given, holds for all. Texts that are foreign or of another
    genre are named elsewhere. `strange` says of each candidate whether the texts do not lie among
    those of the population, which is from this `source`, and `genres` what each candidate's texts
    are most like, if they are of two genres.
    """
    left_out = {"other_genre_of_population", "two_genres"} | _FOREIGN
    left_out |= set() if source == GIVEN else _OF_POPULATION
    yield from (one for one in verification.warnings if one.code not in left_out)
    if source == NO_POPULATION:
        yield caution(
            "few_others",
            "the other candidates have too few texts to be a population, so the model guessed what "
            "such texts have in common",
            "the Bayes factors are less reliable than with a population",
            "give a population: texts of the same genre and time by other people",
        )
    if source == GIVEN and sum(strange) > len(strange) / 2:
        yield caution(
            "other_genre_of_population",
            "the texts do not lie among those of the population, which seems to be of another "
            "genre",
            "it was used all the same, and the Bayes factors are too high",
            "give texts of the same genre as those compared, or none",
            blocks_decision=True,
        )
    if source == OTHERS and genres:
        yield _of_two_genres(genres)


def foreign_candidates(names: Sequence[str]) -> Caution:
    """What is said of candidates most of whose texts are foreign."""
    return caution(
        "foreign_candidate",
        f"texts in another language, or not running prose: those of {listed(names)}",
        "no statement is made on these candidates, whose Bayes factors mean nothing",
        "give running prose by them in the language of the disputed text",
    )


def obstacles_of(verifier: Verifier, documents: Sequence[Document]) -> list[Caution | None]:
    """For each text why no statement is made on it, as `verify` says it; None where one is."""
    tokens = [verifier.tokens(text.text) for text in documents]
    return [
        obstacle or foreign_text(text.id, words, departure, verifier.lead.vocabulary)
        for text, words, departure, obstacle in zip(
            documents,
            tokens,
            verifier.departures(documents, tokens),
            verifier.wrong_languages(documents),
            strict=True,
        )
    ]


def foreign_texts(verifier: Verifier, documents: Sequence[Document]) -> Iterator[Caution]:
    """Texts among others that are not what the model was made for."""
    odd = verifier.no_statement_on(documents).tolist()
    if names := [text.id for text in compress(documents, odd)]:
        yield caution(
            "foreign",
            f"not running prose of a kind that the model knows: {listed(names)}",
            "the answer means little as far as it rests on such texts",
            "look at them with `adhominem verify`, which says what is unusual about a text",
        )


def cautions_of_others(
    disputed: Sequence[Document], levs: Levs, obstacles: Sequence[Caution | None]
) -> Iterator[Caution]:
    """The cautions about disputed texts after the first, where each is ranked by itself."""
    if not len(levs):
        return
    tokens = np.exp(levs[:, -1].astype(np.float64))  # (texts,)
    short = [text.id for text, count in zip(disputed, tokens, strict=True) if count < _FEWEST - 0.5]
    if short:
        yield caution(
            "too_short",
            f"disputed texts with fewer than {_FEWEST} words and marks: {listed(short)}",
            "nothing can be said about them",
            "leave them out, or give longer ones",
            blocks_decision=True,
        )
    if odd := [text.id for text, why in zip(disputed, obstacles, strict=True) if why is not None]:
        yield caution(
            "foreign",
            f"disputed texts in another language, or not running prose: {listed(odd)}",
            "nothing can be said about them",
            "leave them out, or remove the parts that are not prose",
            blocks_decision=True,
        )


def _of_two_genres(genres: Mapping[str, str]) -> Caution:
    counts = Counter(genres.values()).most_common()
    parts = [
        f"{listed([name for name in genres if genres[name] == genre])} (most like {genre})"
        for genre, _ in reversed(counts)
    ]
    return caution(
        "mixed_candidates",
        "the texts of the candidates fall into two groups that are as far apart as texts of two "
        f"genres: {' and '.join(parts)}",
        "what sets genres apart then counts as evidence on the author, for candidates of the "
        "disputed text's genre and against the others",
        "give texts of the disputed text's genre for every candidate",
    )


def other_genres(
    verifier: Verifier,
    disputed: Levs,
    candidates: Mapping[str, Sequence[Document]],
    run: Run,
) -> Iterator[Caution]:
    """Candidates whose texts are clearly of another genre than the disputed ones."""
    here = verifier.scorer.genre_shares(disputed)
    genre, apart = "", dict[str, list[str]]()  # of the disputed texts; candidates by theirs
    for name, documents in _looked_at(candidates, _OF_GENRE):
        texts, levs = run.levs(verifier, documents)
        if texts and (both := two_genres(here, verifier.scorer.genre_shares(levs))):
            genre = both[0]
            apart.setdefault(both[1], []).append(name)
    if apart:
        names = {one: verifier.genre_names.get(one, one) for one in (genre, *apart)}
        others = "; ".join(
            f"{listed(those)} (most like {names[one]})" for one, those in apart.items()
        )
        yield caution(
            "other_genre_of_candidate",
            "texts of another genre than the disputed one (most like "
            f"{names[genre]}): those of {others}",
            "what sets the genres apart then counts against these candidates",
            "give texts by them of the disputed text's genre",
        )


def candidates_by_genre(
    verifier: Verifier,
    population: Population | None,
    candidates: Mapping[str, Sequence[Document]],
    run: Run,
) -> dict[str, str]:
    """Which of two genres the texts of each candidate are more like; empty if they are of one."""
    groups = sorted({group.genre for group in population.groups}) if population else []
    if len(groups) < 2:
        return {}
    genres: dict[str, str] = {}
    for name, documents in _looked_at(candidates, _OF_GENRE):
        texts, levs = run.levs(verifier, documents)
        if texts:
            genre = max(groups, key=verifier.scorer.genre_shares(levs).__getitem__)
            genres[name] = verifier.genre_names.get(genre, genre)
    return genres if len(set(genres.values())) > 1 else {}


def mostly_foreign(verifier: Verifier, candidates: Mapping[str, Sequence[Document]]) -> list[str]:
    """The candidates most of whose texts are not what the model was made for."""
    looked_at = dict(_looked_at(candidates, _MOST_CHECKED))
    foreign = verifier.no_statement_on([text for texts in looked_at.values() for text in texts])
    left = iter(foreign.tolist())
    shares = {name: np.mean([*islice(left, len(texts))]) for name, texts in looked_at.items()}
    return [name for name, share in shares.items() if share >= _MOSTLY]


def _looked_at(
    candidates: Mapping[str, Sequence[Document]], most: int
) -> Iterator[tuple[str, Sequence[Document]]]:
    """So many texts of each candidate; where there are very many, one text of some candidates.

    To look at all of them would take as long as to rank them.
    """
    if sum(map(len, candidates.values())) > _MOST_CHECKED:
        candidates, most = dict(islice(candidates.items(), _SOME_CANDIDATES)), 1
    for name, documents in candidates.items():
        yield name, documents[:most]
