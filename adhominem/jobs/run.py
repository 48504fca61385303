"""One run of a question: who hears how far it is, what had to be skipped, and who encodes texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from adhominem.arrays import Levs, joined
from adhominem.errors import InputError
from adhominem.jobs.workers import Encode, encode_documents, encoder_of
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier

Unit = Literal["pieces", "bytes", "share"]


class Watch(Protocol):
    """Shows how far a piece of work is: a progress bar, for example.

    The total is None where it is not known. What the context yields is called with the number of
    pieces or bytes done since the last call; where the unit is a share, with the share done so far.
    """

    def __call__(
        self, what: str, total: int | None = None, unit: Unit = "pieces"
    ) -> AbstractContextManager[Callable[[float], None]]: ...


@contextmanager
def unwatched(
    what: str, total: int | None = None, unit: Unit = "pieces"
) -> Iterator[Callable[[float], None]]:
    """A `Watch` that shows nothing."""
    yield lambda done: None


def part(on_progress: Callable[[float], None], begin: float, end: float) -> Callable[[float], None]:
    """What hears of a part of some work, as a share of that part."""
    return lambda share: on_progress(begin + (end - begin) * share)


@dataclass
class Run:
    """What goes on while a question is answered."""

    watch: Watch = unwatched
    skipped: list[InputError] | None = None  # what cannot be used; None: the first is raised
    encode: Encode | None = None  # by worker processes; None: the verifier itself
    model: str | Path = ""  # the model that was loaded, where the question is on files
    _without: set[str] = field(default_factory=set)  # texts that have no LEV

    def levs(
        self,
        verifier: Verifier,
        documents: Sequence[Document],
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> tuple[list[Document], Levs]:
        """Those of the documents that have a LEV, in order, and these (documents, lev_size).

        Why others have none is told once. A verifier that is `keeping` texts gets the LEVs.
        """
        kept = verifier.kept
        left = [text for text in documents if text.text not in self._without]
        new = list(
            {(text.text, text.topic): text for text in left if kept.lev(text) is None}.values()
        )
        encode = self.encode or encoder_of(verifier)
        good, levs = encode_documents(new, encode, self.skipped, on_documents)
        kept.keep(good, levs)
        self._without |= {text.text for text in new} - {text.text for text in good}
        if len(new) == len(left):
            return good, levs
        on_documents(len(left) - len(new))
        fresh = {(text.text, text.topic): levs[at : at + 1] for at, text in enumerate(good)}
        rows = [(text, fresh.get((text.text, text.topic), kept.lev(text))) for text in left]
        there = [(text, lev) for text, lev in rows if lev is not None]
        return [text for text, _ in there], joined([Levs(()), *(lev for _, lev in there)])
