"""A folder for each question. This module lists those that are declared in one place."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adhominem.questions.question import Question

# By their commands: the class, and what the list of commands says without loading it.
QUESTIONS = {
    "rank": ("WhichCandidate", "Which of these candidates wrote it, if any?"),
    "validate": ("HowGood", "How does the model do on your own texts?"),
    "map": ("WhatIsAlike", "Draw a corpus: which texts are alike, as a map and as a tree."),
    "roll": ("WhichPart", "Which part of a text is by whom?"),
    "cluster": ("HowManyWriters", "How many people wrote these texts, and who wrote what?"),
    "contrast": ("WhatDiffers", "What sets one person's texts apart from another's?"),
    "search": ("WhoElse", "Which texts of an index may be by the author of a text?"),
    "link": ("WhichAccounts", "Which accounts of an index may be one person?"),
}
_FOLDERS = {"link": "search"}  # of questions that share one


def question_of(name: str) -> type[Question]:
    """The question of this name, whose module is loaded now."""
    module = import_module(f"adhominem.questions.{_FOLDERS.get(name, name)}.ask")
    question: type[Question] = getattr(module, QUESTIONS[name][0])
    return question
