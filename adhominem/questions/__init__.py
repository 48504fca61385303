"""A folder for each question. This module lists those that are declared in one place."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adhominem.errors import OptionError

if TYPE_CHECKING:
    from adhominem.questions.question import Question

# By their commands: folder and class, and what the list of commands says without loading it.
QUESTIONS = {
    "verify": (
        "verify.SameWriter",
        "Were two texts written by the same person, and how strong is the evidence?",
    ),
    "explain": (
        "verify.WhatSpeaks",
        "Show where the model looked, and what speaks for or against one author.",
    ),
    "rank": ("rank.WhichCandidate", "Which of these candidates wrote it, if any?"),
    "validate": ("validate.HowGood", "How does the model do on your own texts?"),
    "report": (
        "report.CaseReport",
        "Write the report for a case: the evidence, what it rests on, and where it ends.",
    ),
    "check-report": (
        "report.CheckReport",
        "Compute a report again from its texts, and say what differs.",
    ),
    "map": ("map.WhatIsAlike", "Draw a corpus: which texts are alike, as a map and as a tree."),
    "roll": ("roll.WhichPart", "Which part of a text is by whom?"),
    "cluster": ("cluster.HowManyWriters", "How many people wrote these texts, and who wrote what?"),
    "contrast": ("contrast.WhatDiffers", "What sets one person's texts apart from another's?"),
    "search": ("search.WhoElse", "Which texts of an index may be by the author of a text?"),
    "link": ("search.WhichAccounts", "Which accounts of an index may be one person?"),
}


def question_of(name: str) -> type[Question]:
    """The question of this command, whose module is loaded now."""
    if name not in QUESTIONS:
        raise OptionError(f"there is no question '{name}'; expected {', '.join(QUESTIONS)}")
    folder, _, of_class = QUESTIONS[name][0].partition(".")
    question: type[Question] = getattr(import_module(f"adhominem.questions.{folder}.ask"), of_class)
    return question


def answer(question: str, **options: Any) -> Any:
    """The answer to the question of a command, on files.

    Options are the texts of the question, its settings, an `output` and a `model`, as the command
    takes them: `answer("rank", disputed="letter.txt", candidates="candidates", prior_none=0.2)`.
    Things that cannot be read are appended to `skipped`, a list; without it, the first is raised.
    """
    from adhominem.questions.question import answer_files

    return answer_files(question_of(question), **options)
