"""What to beware of when candidates are ranked, beside what two sides are warned of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from adhominem.arrays import FloatArray, Levs
from adhominem.attribute.known import LevStore
from adhominem.attribute.ranking import GIVEN, NO_POPULATION, OTHERS
from adhominem.scoring.population import Population
from adhominem.text.files import Document
from adhominem.verify.cautions import Caution, caution, listed
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Verifier

_MOST_CHECKED = 1_000  # texts that are looked at, be they prose, and of which genre
_MOSTLY = 0.5  # of a candidate's texts
_FEWEST = 100  # tokens of a text: of fewer, nothing can be said
_CLEARLY, _HARDLY = 0.9, 0.02  # shares of a genre in a guess
_OF_GENRE = 5  # texts of a candidate whose genre is guessed
_SOME_CANDIDATES = 200  # the first, if there are more texts than that
# What a comparison warns of because of its population; the other candidates are no usual one.
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
    first: str,
    source: str,
    strange: Sequence[bool],
    foreign: Mapping[str, float],
    genres: Mapping[str, str],
) -> Iterator[Caution]:
    """What speaks against trusting a ranking.

    `verification` is that of the disputed text and the `first` candidate; what is said of its
    texts, and of a population that was given, holds for all. `strange` says of each candidate
    whether the texts do not lie among those of the population, which is from this `source`,
    `foreign` which share of a candidate's texts is no prose that the model knows, and `genres` what
    each candidate's texts are most like, if they are of two genres.
    """
    left_out = {"other_genre_of_population"} | (set() if source == GIVEN else _OF_POPULATION)
    yield from (told for told in verification.warnings if told.code not in left_out)
    if source == NO_POPULATION:
        yield caution(
            "few_others",
            "the other candidates have too few texts to be a population, so the model guessed what "
            "such texts have in common",
            "the Bayes factors are less reliable than with a population",
            "give a population: texts of the same genre and time by other people",
        )
    if odd := [name for name, share in foreign.items() if share >= _MOSTLY and name != first]:
        yield caution(
            "foreign_candidate",
            f"texts in another language, or not running prose: those of {listed(odd)}",
            "the Bayes factors of these candidates mean little, and cannot be set beside those of "
            "the others",
            "give running prose by them in the language of the disputed text",
        )
    if source == GIVEN and sum(strange) > len(strange) / 2:
        yield caution(
            "other_genre_of_population",
            "the texts do not lie among those of the population, which seems to be of another "
            "genre",
            "it was used all the same, and the Bayes factors are too high",
            "give texts of the same genre as those compared, or none",
            decides=True,
        )
    if source == OTHERS and genres:
        yield _of_two_genres(genres)


def cautions_of_others(
    verifier: Verifier, disputed: Sequence[Document], levs: Levs
) -> Iterator[Caution]:
    """Of disputed texts that are ranked by themselves, beside the first: short ones, no prose."""
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
            decides=True,
        )
    foreign = verifier.foreign(disputed, levs).tolist()
    if odd := [text.id for text, is_odd in zip(disputed, foreign, strict=True) if is_odd]:
        yield caution(
            "foreign",
            f"disputed texts in another language, or not running prose: {listed(odd)}",
            "nothing can be said about them",
            "leave them out, or remove the parts that are not prose",
            decides=True,
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
    store: LevStore,
) -> Iterator[Caution]:
    """Candidates whose texts are clearly of another genre than the disputed ones.

    By these limits, hardly one in a thousand pairs of one genre is taken to be of two, but only the
    plainest of the others are told.
    """
    styles = verifier.lead.styles
    if styles is None:
        return

    def guess(levs: Levs) -> FloatArray:
        assert styles is not None
        return styles.guess(verifier.scorer.lead_columns(levs))  # (genres,)

    here = guess(disputed)
    apart: dict[int, list[str]] = {}  # by their genre
    for name, documents in _looked_at(candidates, _OF_GENRE):
        texts, levs = store(documents)
        there = guess(levs) if texts else here
        clear = min(here.max(), there.max()) > _CLEARLY
        if clear and max(here[there.argmax()], there[here.argmax()]) < _HARDLY:
            apart.setdefault(int(there.argmax()), []).append(name)
    names = [verifier.genre_names.get(genre, genre) for genre in styles.genres]
    if apart:
        told = "; ".join(f"{listed(those)} (most like {names[at]})" for at, those in apart.items())
        like = names[int(here.argmax())]
        yield caution(
            "other_genre_of_candidate",
            f"texts of another genre than the disputed one (most like {like}): those of {told}",
            "what sets the genres apart then counts against these candidates",
            "give texts by them of the disputed text's genre",
        )


def candidates_by_genre(
    verifier: Verifier,
    population: Population | None,
    candidates: Mapping[str, Sequence[Document]],
    store: LevStore,
) -> dict[str, str]:
    """Which of two genres the texts of each candidate are more like; empty if they are of one."""
    styles = verifier.lead.styles
    if population is None or not population.groups or styles is None:
        return {}
    places = sorted({styles.genres.index(group.genre) for group in population.groups})
    if len(places) < 2:
        return {}
    genres: dict[str, str] = {}
    for name, documents in _looked_at(candidates, _OF_GENRE):
        texts, levs = store(documents)
        if texts:
            shares = styles.guess(verifier.scorer.lead_columns(levs))
            genre = styles.genres[max(places, key=lambda at: float(shares[at]))]
            genres[name] = verifier.genre_names.get(genre, genre)
    return genres if len(set(genres.values())) > 1 else {}


def foreign_shares(
    verifier: Verifier, candidates: Mapping[str, Sequence[Document]], store: LevStore
) -> dict[str, float]:
    """Which share of each candidate's texts is not what the model was made for."""
    shares: dict[str, float] = {}
    for name, documents in _looked_at(candidates, _MOST_CHECKED):
        texts, levs = store(documents)
        if texts:
            shares[name] = float(verifier.foreign(texts, levs).mean())
    return shares


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
