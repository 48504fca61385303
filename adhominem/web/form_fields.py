"""The fields of the page's form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from adhominem.web.failures import RequestError
from adhominem.web.multipart import Part
from adhominem.web.pages import Filled
from adhominem.web.uploads import Upload, uploads_of

_FILES = ("first_file", "second_file", "population")
_TEXTS = ("first_text", "second_text")
_ONCE = (
    *("first_topic", "second_topic", "prior", "server_population"),
    *("explain", "report", "case", "examiner"),
)
_LONGEST_NAME = 40  # characters of a field's name that are shown


@dataclass(frozen=True, kw_only=True)
class FormFields:
    """A form as it was sent."""

    pasted: dict[str, list[str]]  # by side
    files: dict[str, list[Upload]]
    topics: dict[str, str]
    prior: str
    population: list[Upload]
    server_population: bool
    explain: bool
    report: bool  # alone: the rest was told before
    case: str  # what the report is headed with
    examiner: str

    @property
    def labels(self) -> list[str]:
        """What is no text."""
        return [*self.topics.values(), self.prior, self.case, self.examiner]

    @property
    def filled(self) -> Filled:
        """The form as it is shown again; files have to be chosen anew."""
        return Filled(
            first="\n\n".join(self.pasted["first"]),
            second="\n\n".join(self.pasted["second"]),
            first_topic=self.topics["first"],
            second_topic=self.topics["second"],
            prior=self.prior,
            explain=self.explain,
        )

    @property
    def prior_same_author(self) -> float:
        """The prior as a number."""
        try:
            prior = float(self.prior.replace(",", "."))
        except ValueError:
            prior = 0.0
        if not (isfinite(prior) and 0 < prior < 1):
            raise RequestError(
                422, "WrongPrior", "the prior is a probability; expected a number between 0 and 1"
            )
        return prior


def read_asked(form: Sequence[Part]) -> FormFields:
    """What the fields of the form hold; one that is not known is refused: it may be evidence."""
    names = [part.name for part in form]
    for part in form:
        is_file = part.name in _FILES
        if not is_file and (part.name not in (*_TEXTS, *_ONCE) or part.filename is not None):
            raise _wrong(f"the field '{part.name[:_LONGEST_NAME]}' is not known, or not for files")
        if part.name in _ONCE and names.count(part.name) > 1:
            raise _wrong(f"the field '{part.name}' comes twice")

    def strings(field: str) -> list[str]:
        return [part.text for part in form if part.name == field]

    sides = ("first", "second")
    return FormFields(
        # A form sends \r\n for each line end that somebody typed.
        pasted={
            side: [text.replace("\r\n", "\n") for text in strings(f"{side}_text") if text.strip()]
            for side in sides
        },
        files={side: uploads_of(form, f"{side}_file") for side in sides},
        topics={side: " ".join(strings(f"{side}_topic")).strip() for side in sides},
        prior="".join(strings("prior")).strip() or Filled.prior,
        population=uploads_of(form, "population"),
        server_population="yes" in strings("server_population"),
        explain="yes" in strings("explain"),
        report="yes" in strings("report"),
        case=" ".join(strings("case")).strip(),
        examiner=" ".join(strings("examiner")).strip(),
    )


def _wrong(what: str) -> RequestError:
    return RequestError(422, "WrongForm", what)
