"""How good answers to "which of these, if any?" are: PAN's macro-F1.

The rules are those of PAN's evaluation of 2019 (cross-domain authorship attribution; that of 2018
had no "none"). F1 is taken of each author who wrote a disputed text, and their mean is reported.
"None of them" is no such author: it is not in the mean, but a text by nobody that is given to an
author counts against that author, and so does an author's text that is given to nobody. An answer
that names somebody who wrote none of the texts counts as none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adhominem.errors import OptionError


def macro_f1(truth: Sequence[str], answers: Sequence[str], none: str) -> float:
    """The official macro-F1 of answers, one for each text; NaN where all texts are by nobody."""
    if len(truth) != len(answers):
        raise OptionError(f"{len(answers)} answers for {len(truth)} texts; expected as many")
    of_author = Counter(truth)
    given = Counter(answers)
    right = Counter(true for true, answer in zip(truth, answers, strict=True) if true == answer)
    scores = [
        2 * right[author] / (of_author[author] + given[author])
        for author in of_author
        if author != none
    ]
    return sum(scores) / len(scores) if scores else float("nan")
