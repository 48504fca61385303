"""What to beware of when two sides are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.models.reference import Reference
from adhominem.pairs.duplicates import fingerprint
from adhominem.text.exhibits import Exhibit
from adhominem.text.vocabulary import Vocabulary

FloatArray = npt.NDArray[np.float64]

_FEWEST_TOKENS = 100  # of a side: below, nothing is decided
_SHORT_TOKENS = 500  # of a side: below, a model that does not know better says so
_COMMON_WORDS = 100  # the most frequent words of the training texts
_FEWEST_COMMON = 0.2  # their share of a text's words; in English prose it is about a half
_FEWEST_WORDS = 20  # that the share is taken of
_SHARED = 0.2  # of the shorter text that stands in the other, too


@dataclass(frozen=True)
class Caution:
    """A reason to doubt the number; `decides` where it stands in the way of a decision."""

    code: str
    message: str
    decides: bool = False


def cautions_of(
    sides: Sequence[Sequence[Exhibit]],
    tokens: Sequence[Sequence[Sequence[str]]],
    *,
    vocabulary: Vocabulary,
    strangeness: Sequence[FloatArray],
    reference: Reference | None,
    calibrated: bool,
    at_bound: bool,
) -> list[Caution]:
    """All that speaks against trusting a comparison of these sides."""
    found = list(_shared(sides))
    for side, its_tokens, its_strangeness in zip(sides, tokens, strangeness, strict=True):
        found += _short(side, its_tokens, reference)
        for exhibit, words, how_strange in zip(side, its_tokens, its_strangeness, strict=True):
            name = exhibit.document.id
            if _other_language(words, vocabulary):
                found.append(
                    Caution(
                        "other_language",
                        f"{name} hardly has a common word of the training texts: it seems to be "
                        "in another language",
                        decides=True,
                    )
                )
            elif how_strange > 1:
                found.append(
                    Caution(
                        "unlike_training",
                        f"{name} is unlike the training texts ({how_strange:.1f} times as far from "
                        "their mean as nearly all of them): the number may not hold for it",
                    )
                )
    if not calibrated:
        found.append(
            Caution(
                "uncalibrated",
                "the model is not calibrated: the Bayes factor ranks cases, but its size is not "
                "to be trusted",
            )
        )
    elif max(map(len, sides)) > 1:
        found.append(
            Caution(
                "calibrated_on_single_texts",
                "the model was calibrated with one text a side; here there are several",
            )
        )
    if at_bound:
        found.append(
            Caution(
                "at_bound",
                "the score lies beyond what the calibration supports: the Bayes factor is a bound",
            )
        )
    return found


def _short(
    side: Sequence[Exhibit], tokens: Sequence[Sequence[str]], reference: Reference | None
) -> Iterator[Caution]:
    count = sum(map(len, tokens))
    names = ", ".join(exhibit.document.id for exhibit in side)
    usual = _SHORT_TOKENS if reference is None else max(_FEWEST_TOKENS, float(reference.shortest))
    if count < _FEWEST_TOKENS:
        yield Caution(
            "too_short",
            f"{names}: {count} words and marks are too few to say anything; expected "
            f"{_FEWEST_TOKENS} or more",
            decides=True,
        )
    elif count < usual:
        yield Caution(
            "short",
            f"{names}: {count} words and marks are fewer than in nearly all training texts",
        )


def _other_language(tokens: Sequence[str], vocabulary: Vocabulary) -> bool:
    words = [token.lower() for token in tokens if token[:1].isalpha()]
    common = [kind.lower() for kind in vocabulary.token_types if kind[:1].isalpha()]
    common = common[:_COMMON_WORDS]
    if len(words) < _FEWEST_WORDS or len(common) < _COMMON_WORDS:
        return False
    known = set(common)
    return sum(word in known for word in words) / len(words) < _FEWEST_COMMON


def _shared(sides: Sequence[Sequence[Exhibit]]) -> Iterator[Caution]:
    """Texts that stand on both sides, whole or in part: no evidence of style."""
    prints = [[fingerprint(exhibit.document.text) for exhibit in side] for side in sides]
    for one, first in zip(sides[0], prints[0], strict=True):
        for other, second in zip(sides[1], prints[1], strict=True):
            names = f"{one.document.id} and {other.document.id}"
            if one.sha256 == other.sha256 or first.exact == second.exact:
                yield Caution("identical", f"{names} are the same text", decides=True)
                continue
            fewer = min(len(first.sample), len(second.sample))
            both = len(np.intersect1d(first.sample, second.sample, assume_unique=True))
            if both > 2 and both / fewer >= _SHARED:
                yield Caution(
                    "shared_text",
                    f"about {both / fewer:.0%} of the shorter of {names} stands in the other: what "
                    "was copied says nothing of who wrote the rest",
                    decides=both / fewer >= 0.5,
                )
