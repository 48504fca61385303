"""What is asked of an index: texts like these, and accounts that may be one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from adhominem.index.files import MANIFEST, read_manifest
from adhominem.index.searcher import Searcher
from adhominem.jobs.run import Run
from adhominem.model.folder import DEFAULT_MODEL, shipped_models
from adhominem.questions.question import (
    EXAMPLE_TEXTS,
    Input,
    Output,
    OwnScale,
    Page,
    Question,
    Side,
)
from adhominem.questions.search.link import RATE, Links, link_accounts
from adhominem.questions.search.search import HITS, SearchResult, search_texts
from adhominem.records import Offered, Within
from adhominem.verify.verifier import Verifier

INDEX = Input(
    option="--index",
    option_help="A folder that `adhominem index` has made, or milvus://HOST:PORT/COLLECTION.",
    metavar="INDEX",
)
MOST_HITS = 100  # that a server is asked for
# What a search for one text takes, in characters that are encoded in the same processor time, some
# million a second: 40 ms in any index, 0.5 ms for each hit.
_PER_SEARCH, _PER_HIT = 40_000, 500


def _model_of(index: Any) -> str:
    """The model that an index in a folder was made with, if it is a shipped one."""
    manifest = Path(index) / MANIFEST if isinstance(index, str | Path) else None
    if manifest is None or not manifest.exists():
        return DEFAULT_MODEL  # and the index says what is wrong, if anything is
    named = read_manifest(manifest.parent).model
    return named if named in shipped_models() else DEFAULT_MODEL


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

    @property
    def model(self) -> str:
        """The model that the index was made with."""
        return _model_of(self.index)

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


@dataclass(frozen=True, kw_only=True)
class WhichAccounts(Question):
    """Which accounts of an index may be one person? A list for people to decide by.

    An account is an author, or a text whose author is not known. A link is not a verdict, and a
    wrong one can harm people: see docs/scale.md before you use it.
    """

    name: ClassVar[str] = "link"
    usage: ClassVar[str] = """
    \b
        adhominem link --index forum-index -o links.csv
        adhominem link --index forum-index --rate 0.01
    """
    output: ClassVar[Output | None] = Output(
        help="A .csv or .jsonl with a row for each link and room for a decision, or an .html page.",
        kind="a .csv, .jsonl or .html",
        endings=(".csv", ".jsonl", ".html", ".htm"),
    )

    index: Annotated[Any, INDEX]
    scale: OwnScale = None
    rate: Annotated[
        float,
        Within(above=0, at_most=1),
        "Expected share of false links, up to which links are listed.",
    ] = RATE
    limit: Annotated[
        int | None, Within(1), "Most texts to search for; if there are more, some are drawn."
    ] = None
    seed: Annotated[int, Within(0), "Repeats a run."] = 0
    language: str = ""  # of no use: there are no texts

    @property
    def model(self) -> str:
        """The model that the index was made with."""
        return _model_of(self.index)

    @classmethod
    def page(cls) -> Page[Links]:
        """How links are shown."""
        from adhominem.questions.search.page import LINK_PAGE

        return LINK_PAGE

    def written(self, result: Links, path: Path) -> str | bytes:
        """The links as a table, or as a page."""
        format = path.suffix.lower()[1:]
        return result.table(format) if format in ("csv", "jsonl") else super().written(result, path)

    def answer(self, verifier: Verifier, run: Run) -> Links:
        """Pairs and groups of accounts, with their evidence and what chance does."""
        searcher = Searcher(self.index, verifier)
        count = min(self.limit or len(searcher.store), len(searcher.store))
        with run.watch("linking", count) as on_texts:
            return link_accounts(
                searcher,
                rate=self.rate,
                limit=self.limit,
                seed=self.seed,
                scale=self.scale,
                on_texts=on_texts,
            )
