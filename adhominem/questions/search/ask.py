"""Texts searched for in an index: the question, and how it is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from adhominem.index.searcher import Searcher
from adhominem.jobs.run import Run
from adhominem.questions.question import (
    EXAMPLE_TEXTS,
    Input,
    OwnScale,
    Question,
    Side,
    answer_files,
)
from adhominem.questions.search.link import INDEX
from adhominem.questions.search.link import WhichAccounts as WhichAccounts
from adhominem.questions.search.search import HITS, SearchResult, search_texts
from adhominem.records import Offered, Within
from adhominem.verify.verifier import Verifier

MOST_HITS = 100  # that a server is asked for
# What a search for one text takes, in characters that are encoded in the same processor time, some
# million a second: 40 ms in any index, 0.5 ms for each hit.
_PER_SEARCH, _PER_HIT = 40_000, 500


@dataclass(frozen=True, kw_only=True)
class WhoElse(Question):
    """Which texts of an index may be by the author of a text, and how strong is the evidence?

    The Bayes factor of a hit compares “the same author” with “somebody else of this collection”.
    Among a million texts, a Bayes factor of 1,000 leaves a thousand others who fit as well: the
    table of false hits says how many to expect. A hit is a text to look at, not an answer.
    """

    name: ClassVar[str] = "search"
    title: ClassVar[str] = "Who else writes like this?"
    result: ClassVar[str] = "search_result"
    doing: ClassVar[str] = "Searching"
    example_settings: ClassVar[Mapping[str, str] | None] = None  # only the server knows its index
    runs_on: ClassVar[tuple[str, ...]] = ("device",)
    usage: ClassVar[str] = """
    TEXTS are files, folders of texts, or - for standard input; each is searched for by itself.

    \b
        adhominem search letter.txt --index forum-index
        adhominem search letter.txt --index forum-index -k 50 -o hits.html
    """
    example: ClassVar[Mapping[str, Any]] = {"texts": EXAMPLE_TEXTS["Anne"][0], "k": 5}

    texts: Annotated[
        Side,
        Input("A text, or several; each is searched for by itself.", called="the text"),
    ]
    index: Annotated[Any, INDEX]  # or, on a server, what opens its own
    scale: OwnScale = None
    k: Annotated[
        int,
        Within(1),
        Offered(option="-k", served=Within(1, MOST_HITS)),
        "Most hits for each text.",
    ] = HITS
    prior_same_author: Annotated[
        float | None,
        Within(above=0, below=1),
        Offered(option="--prior", to=("command", "rest")),
        "How probable it is, before anything is read, that one certain text of the index is by the "
        "same author.  [default: 1 in as many as there are texts]",
    ] = None

    def work(self) -> int:
        """Each text is searched for, and its hits are scored again."""
        return len(self.texts.texts) * (_PER_SEARCH + _PER_HIT * self.k)

    def answer(self, verifier: Verifier, run: Run) -> SearchResult:
        """The hits for each text, and what they are worth."""
        searcher = self.index() if callable(self.index) else Searcher(self.index, verifier)
        texts = self.texts.texts
        with run.watch("searching", len(texts)) as on_texts:
            result = search_texts(
                searcher,
                texts,
                k=self.k,
                prior_same_author=self.prior_same_author,
                scale=self.scale,
                verifier=verifier,
            )
            on_texts(len(texts))
        return result


def search_files(
    texts: str | Path | Sequence[str | Path], index: str | Path, **options: Any
) -> SearchResult:
    """Search an index for texts by the authors of these texts, and say what the hits are worth.

    `texts` are files, folders of texts, or `-` for standard input; each is searched for by itself.
    Options are the settings of `WhoElse`, a `scale`, and what `answer_files` takes.
    """
    result: SearchResult = answer_files(WhoElse, texts=texts, index=str(index), **options)
    return result
