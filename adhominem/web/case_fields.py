"""The forms with candidates: a disputed text, the known texts of each candidate, and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adhominem.errors import OptionError
from adhominem.questions.rank.posterior import check_prior
from adhominem.questions.roll.roll import RollOptions
from adhominem.web.failures import RequestError
from adhominem.web.form_fields import Part, Sent
from adhominem.web.uploads import Upload

RANK, ROLL = "rank", "roll"
_DEFAULTS: dict[str, dict[str, str]] = {  # of the settings; "" is a box that is not ticked
    RANK: {"prior_none": "0.5", "one_by_one": "", "explain": ""},
    ROLL: {"words": "500", "step": "100", "passage": "2000", "closed": ""},
}
_TICKED = "yes"
_CANDIDATE = re.compile(r"candidate(\d{1,4})_(name|text|file)")
_FEWEST_SHOWN = 3  # candidates, filled in or not


@dataclass(frozen=True, kw_only=True)
class CandidateFields:
    """What the form holds of a candidate."""

    number: int
    name: str = ""
    pasted: Sequence[str] = ()
    files: Sequence[Upload] = ()  # never shown again

    @property
    def called(self) -> str:
        """The candidate's name, or a number."""
        return self.name or f"Candidate {self.number}"


@dataclass(frozen=True, kw_only=True)
class CaseFields:
    """What the form holds, as it was sent or is to be shown."""

    question: str  # rank or roll
    pasted: Sequence[str] = ()
    files: Sequence[Upload] = ()
    candidates: Sequence[CandidateFields] = ()  # those that are not empty
    population: Sequence[Upload] = ()
    server_population: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def empty(cls, question: str) -> CaseFields:
        """The form as it begins."""
        return cls(question=question, settings=_DEFAULTS[question])

    @property
    def shown(self) -> list[CandidateFields]:
        """The candidates as the page shows them: one more than are filled in."""
        filled = list(self.candidates)
        rest = max(_FEWEST_SHOWN - len(filled), 1 if filled else 0)
        last = max((candidate.number for candidate in filled), default=0)
        return [*filled, *(CandidateFields(number=last + 1 + at) for at in range(rest))]

    def is_ticked(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.settings[name] == _TICKED

    @property
    def prior_none(self) -> float:
        """The prior of none of them as a number; an error if it is none."""
        try:
            prior = float(self.settings["prior_none"].replace(",", "."))
            check_prior(prior)
        except (ValueError, OptionError):
            raise RequestError(
                422,
                "WrongPrior",
                "the prior is a probability; expected a number from 0 to less than 1",
            ) from None
        return prior

    @property
    def roll_options(self) -> RollOptions:
        """How a text is cut; an error if a number is none, or cannot be."""
        numbers = {}
        for name in ("words", "step", "passage"):
            value = self.settings[name]
            if not re.fullmatch(r"[0-9]{1,9}", value):
                raise RequestError(
                    422, "WrongNumber", f"{name}: this is no number of words; expected one"
                )
            numbers[name] = int(value)
        return RollOptions(**numbers, closed=self.is_ticked("closed"))


def read_case_fields(parts: Sequence[Part], question: str) -> CaseFields:
    """What the fields of a form with candidates hold."""
    defaults = _DEFAULTS[question]
    sent = Sent(
        parts,
        files=("disputed_file", "candidate_file", "population"),
        texts=("disputed_text", "candidate_text"),
        once=("candidate_name", "server_population", *defaults),
        kind=lambda name: _CANDIDATE.sub(r"candidate_\2", name),
    )
    matches = [_CANDIDATE.fullmatch(part.name) for part in parts]
    numbers = dict.fromkeys(match[1] for match in matches if match)  # in the order of the form
    candidates = [
        CandidateFields(
            number=at,
            name=sent.line(f"candidate{number}_name"),
            pasted=sent.pasted(f"candidate{number}_text"),
            files=sent.uploads(f"candidate{number}_file"),
        )
        for at, number in enumerate(numbers, start=1)
    ]
    return CaseFields(
        question=question,
        pasted=sent.pasted("disputed_text"),
        files=sent.uploads("disputed_file"),
        candidates=[one for one in candidates if one.name or one.pasted or one.files],
        population=sent.uploads("population"),
        server_population=sent.line("server_population") == _TICKED,
        settings={name: sent.line(name) or usual for name, usual in defaults.items()},
    )
