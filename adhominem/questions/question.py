"""A question is declared once: its settings, its inputs, and how it is answered.

    paths ─┐
    JSON ──┼─ Question ─ answer ─ result ─ Page: terminal, HTML
    form ──┘

A question is a frozen dataclass. A field with a help in its type hint is a setting; a field with an
`Input` is a text, a side, candidates, or a collection of texts, by its type. The command
(`cli.asking`), the REST interface and the form (`web.asking`) are made from these hints.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, cast, get_args, get_origin

from markupsafe import Markup

import adhominem
from adhominem.errors import InputError, OptionError
from adhominem.jobs.run import MOST_TEXTS, Run, Watch, distinct, draw, unwatched
from adhominem.jobs.workers import encoder
from adhominem.model.folder import model_for
from adhominem.pairs.passages import without_recurring
from adhominem.records import Options, notes_of, with_schema
from adhominem.render.templates import markup, render_page
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, read_exhibits, with_text
from adhominem.text.files import (
    Document,
    check_not_read,
    name_of,
    note_folder,
    noting_inputs,
    readable_name,
)
from adhominem.text.language import InLanguage, check_language, main_language
from adhominem.text.readers import Layout, find_sources, read_documents
from adhominem.text.writing import replaced_file
from adhominem.verify.cautions import Caution
from adhominem.verify.verifier import Verifier, load

Result = TypeVar("Result")
_PER_TEXT = 2_000  # characters that a text costs by itself, however short it is
# Of two people, for requests that are examples.
EXAMPLE_TEXTS: Mapping[str, Sequence[str]] = {
    "Anne": ["Dear friend, your letter has come at last.", "I write by the window, as ever."],
    "Ben": ["No answer from you yet. I'm writing again.", "Got here late. Will call you."],
}
Known = dict[str, tuple[Document, ...]]  # candidates' texts, by name; () where none can be read


@dataclass(frozen=True)
class Side:
    """Texts that are taken as one person's, or one by one."""

    texts: tuple[Exhibit, ...] = ()
    name: str = ""

    @property
    def documents(self) -> list[Document]:
        """The texts without the hashes of their files."""
        return [text.document for text in self.texts]


@dataclass(frozen=True)
class Texts:
    """A collection of texts by anybody: a population, or a corpus."""

    documents: tuple[Document, ...] = ()
    name: str = ""  # what it is called in an answer
    population: Population | None = None  # one that is ready
    path: str = ""  # where they were read
    count: int = 0  # how many there were before some of them were drawn
    unread: int = 0  # what could not be read

    @classmethod
    def of(cls, texts: Sequence[str | Document] | Population | None, name: str = "") -> Texts:
        """Texts, or a population that is ready."""
        if isinstance(texts, Population):
            return cls(name=name, population=texts)
        documents = [Document(text=text) if isinstance(text, str) else text for text in texts or ()]
        return cls(tuple(documents), name)

    def __bool__(self) -> bool:
        return bool(self.documents) or self.population is not None

    def relevant(self, verifier: Verifier, run: Run) -> Population | None:
        """The relevant population of the texts, each encoded; None if there are none."""
        if self.population is not None or not self:
            return self.population
        texts, recurring = without_recurring(self.documents)
        with run.watch("population", len(texts)) as on_documents:
            encoded, levs = run.levs(verifier, texts, on_documents)
        return verifier.population_of(levs, encoded, recurring)


@dataclass(frozen=True)
class Input:
    """A note in the type hint of a field that holds texts; `inputs_of` adds the last three."""

    help: str = ""  # of the REST interface
    option: str = ""  # of the command; without one it is an argument
    option_help: str = ""
    metavar: str = "PATH"
    form: str = ""  # in a form; empty: named after the field
    called: str = ""  # a text without a name, in messages and answers
    most: int | str = MOST_TEXTS  # drawn at random from more; or the setting that says so
    is_corpus: bool = False  # whether repeated texts count, and truths are read beside them
    by_authors: bool = False  # whether a text without an author cannot be used
    is_servers: bool = False  # left out, it is the population that a server has
    is_named: bool = False  # a side: it has a name, and its command takes one path
    is_compared: bool = False  # a side, or candidates, whose texts keep the hashes of their files
    has_topic: bool = False  # whether the command takes what such a side is about
    reads: Callable[[Any], Any] | None = None  # makes what is not a text of a path
    name: str = ""
    kind: Any = None  # `Exhibit`, `Side`, `dict` of candidates, `Texts`, or what is not a text
    is_required: bool = False

    @property
    def field(self) -> str:
        """What it is called in a form."""
        return self.form or self.name

    def of_sides(self, sides: Iterable[tuple[str, Sequence[Exhibit]]]) -> Any:
        """What the field holds: the texts of a side, or of candidates, each by its name."""
        if self.kind is dict and self.is_compared:
            return named(sides)
        if self.kind is dict:
            return named((name, [text.document for text in texts]) for name, texts in sides)
        ((name, texts),) = sides
        if self.kind is Side:
            return Side(tuple(texts), name if self.is_named else "")
        if len(texts) > 1:
            raise InputError(
                f"{len(texts):,} texts; expected one: give a single text or file", name or None
            )
        return texts[0]

    def drawn(
        self,
        documents: Iterable[Document],
        name: str = "",
        most: int | None = None,
        seed: int = 0,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Texts:
        """A collection of texts, or as many of them at random as are worth while.

        In a population, each text counts once.
        """
        if most is None:
            most = self.most if isinstance(self.most, int) else MOST_TEXTS
        if not self.is_corpus:
            documents = distinct(documents)
        drawn, count = draw(documents, most, seed, on_documents)
        return Texts(tuple(drawn), name, count=count)

    def read(self, paths: Any, settings: Mapping[str, Any], run: Run) -> Any:
        """What the field holds, read from one or several files or folders.

        A side that is compared has its other texts and its topic among the settings.
        """
        if self.reads is not None:
            return self.reads(paths)
        several = [paths] if isinstance(paths, str | Path) else list(paths)
        if self.kind is Side and self.is_compared:
            several += settings.get(f"also_{self.name}") or ()
            return Side(tuple(read_exhibits(several, settings.get(f"topic_{self.name}") or "")))
        if self.kind is Exhibit:
            return self.of_sides([(str(several[0]), read_exhibits(several))])
        if self.kind is Side:
            name = name_of(several[0]) if self.is_named else ""
            return self.of_sides([(name, read_exhibits(several))])
        if self.kind is dict:
            with run.watch("reading"):
                if not self.option:
                    return _by_author(several[0], run.skipped)
                return self.of_sides((name_of(path), read_exhibits([path])) for path in several)
        if self.kind is not Texts:  # an index
            return paths
        if str(paths) in self.metavar.split("|"):  # a word that stands for texts
            return Texts(name=str(paths))
        before = len(run.skipped or ())
        with run.watch("reading") as on_documents:
            documents = read_documents(
                paths, author_required=self.by_authors, labelled=self.is_corpus, skipped=run.skipped
            )
            most = settings[self.most] if isinstance(self.most, str) else self.most
            name = name_of(paths) if self.is_corpus else str(paths)
            texts = self.drawn(documents, name, most, settings.get("seed", 0), on_documents)
        return replace(texts, path=str(paths), unread=len(run.skipped or ()) - before)


OwnScale = Annotated[
    VerbalScale | None,
    Input(
        option="--scale",
        option_help="A verbal scale of your own, as JSON.",
        reads=VerbalScale.read,
    ),
]


@dataclass(frozen=True)
class Output:
    """What the command of a question writes."""

    help: str = "An .html page to write."
    kind: str = "an .html"
    endings: tuple[str, ...] = (".html", ".htm")  # if there are none, any will do
    is_required: bool = False
    is_repeated: bool = False  # several files, each of a kind of its own

    def paths(self, output: str | Path | Sequence[str | Path] | None) -> list[Path]:
        """The files to write; an OptionError names one whose ending is another."""
        paths = [output] if isinstance(output, str | Path) else list(output or ())
        for path in paths:
            if self.endings and Path(path).suffix.lower() not in self.endings:
                raise OptionError(f"{path} is not {self.kind} file; expected one")
        return [Path(path) for path in paths]


@dataclass(frozen=True, kw_only=True)
class Answer(InLanguage):
    """The base of answers: dataclasses whose last fields are those of `made_by`."""

    def to_json(self) -> dict[str, Any]:
        """As plain lists, numbers and strings, with the version of the schema."""
        return with_schema(self)


def made_by(verifier: Verifier) -> dict[str, Any]:
    """Which model and version of AdHominem an answer is from, and the language of its texts."""
    return {
        "model": verifier.name,
        "model_sha256": verifier.sha256,
        "version": adhominem.__version__,
        "language": verifier.main_language,
        "language_given": verifier.language_given,
    }


@dataclass(frozen=True)
class Table:
    """Rows for a terminal."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Styled:
    """A line for a terminal in a style of rich; without one, lines made for this terminal."""

    text: str
    style: str | None = None


@dataclass(frozen=True, kw_only=True)
class Page(Generic[Result]):
    """How an answer is shown to people, on a terminal and, where there are templates, on a page."""

    name: str = ""  # of the template that another page may include: NAME_result.html
    styles: Sequence[str] = ()
    title: Callable[[Result], str] = lambda result: ""
    values: Callable[[Result], Mapping[str, Any]] = lambda result: {}  # that the templates take
    # For a terminal, with the values of the command's arguments and options.
    lines: Callable[[Result, Mapping[str, Any]], Iterable[str | Styled | Table]]
    remarks: Callable[[Result], Sequence[str]] = lambda result: ()  # that go before, JSON or not
    warnings: Callable[[Result], Iterable[Caution]] = lambda result: ()  # that follow the lines
    status: Callable[[Result], int] = lambda result: 0  # with which the command ends
    template: str = "answer.html"  # of a page of its own
    script: str = ""
    images: str = ""  # where they may come from, such as `data:`

    def whole(self, result: Result) -> str:
        """A file of its own, which fetches nothing from anywhere."""
        return render_page(
            self.template,
            self.styles,
            self.script,
            self.images,
            title=self.title(result),
            below=f"{self.name}_result.html",
            result=result,
            **self.values(result),
        )

    def fragment(self, result: Result) -> Markup:
        """What the page has below its heading, for another page with the same styles."""
        return markup(f"{self.name}_result.html", result=result, **self.values(result))


@dataclass(frozen=True, kw_only=True)
class Question(Options):
    """What can be asked. The docstring of each is its help, the first line its title."""

    name: ClassVar[str]  # of the command, the route, the tab and the folder
    usage: ClassVar[str]  # what the command's help has beside the docstring
    output: ClassVar[Output | None] = Output()
    model_help: ClassVar[str] = ""  # of --model, where the question itself names a `model`
    example: ClassVar[Mapping[str, Any]] = {}  # a request of the REST interface
    title: ClassVar[str]  # in the REST interface
    request: ClassVar[str] = ""  # what its requests are called there; empty: as the class
    result: ClassVar[str]  # what a page's script calls the answer
    doing: ClassVar[str]  # what a form says meanwhile
    # Of a form with the texts of an example; None: it has no example.
    example_settings: ClassVar[Mapping[str, str] | None] = {}
    runs_on: ClassVar[tuple[str, ...]] = ()  # `device` and `jobs`, where they make a difference
    with_page: ClassVar[Mapping[str, Any]] = {}  # settings, where a page is written
    is_quick: ClassVar[bool] = False  # or a server answers it in the thread for slow work

    language: Annotated[
        str, "The language of all texts, by its code, such as de.  [default: found from them]"
    ] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.language:
            check_language(self.language)
            for name in inputs_of(type(self)):
                value = in_language(getattr(self, name), self.language)
                object.__setattr__(self, name, value)

    def answer(self, verifier: Verifier, run: Run) -> Any:
        """The answer, of a verifier that is `keeping` texts."""
        raise NotImplementedError

    def documents(self) -> list[Document]:
        """All texts of the inputs."""
        values = (getattr(self, name) for name in inputs_of(type(self)))
        return [text for value in values for text in documents_in(value)]

    def sides(self) -> tuple[Sequence[Exhibit], Sequence[Exhibit], Population | None] | None:
        """The two sides of a quick question, and their population, if that is ready.

        A server compares those of many requests together: `run.comparison` is then known.
        """
        return None

    def encoded(self) -> list[Document]:
        """The texts whose LEVs are asked for: a server encodes them before, a few at a time."""
        return [*self.windows(), *self.documents()]

    def windows(self) -> list[Document]:
        """Parts of a text that are encoded, too."""
        return []

    def parts(self) -> int:
        """How many windows there are, about, without cutting the text."""
        return 0

    def work(self) -> int:
        """How many characters `answer` goes through, about, after texts are encoded."""
        return 1

    @classmethod
    def page(cls) -> Page[Any]:
        """How the answer is shown; loaded when it is needed."""
        page: Page[Any] = import_module(cls.__module__.removesuffix("ask") + "page").PAGE
        return page

    @classmethod
    def check(cls, values: Mapping[str, Any]) -> None:
        """Raise an OptionError for settings and paths that cannot work, before any is read."""
        inputs = inputs_of(cls)
        cls.checked({name: value for name, value in values.items() if name not in inputs})
        if values.get("language"):
            check_language(values["language"])

    @cached_property
    def main_language(self) -> str:
        """The code of the language of the texts: as given, or that of most of the first ones.

        Populations do not count. It is empty if it is not clear.
        """
        inputs = inputs_of(type(self)).items()
        compared = [name for name, note in inputs if note.kind is not Texts or note.is_corpus]
        found = (main_language(documents_in(getattr(self, name))) for name in compared)
        return self.language or next(filter(None, found), "")

    @property
    def model(self) -> str:
        """The model that answers where none is chosen, by the language of the texts."""
        return model_for(self.main_language)

    def keeper(self, verifier: Verifier) -> Verifier:
        """The model for the time of one answer: see `Verifier.keeping`."""
        return verifier.keeping(language=self.main_language, is_given=bool(self.language))

    def written(self, result: Any, path: Path) -> str | bytes:
        """The answer as a file of the kind that the path ends in."""
        return self.page().whole(result)

    @classmethod
    def of_paths(cls, run: Run, **values: Any) -> Self:
        """The question with texts from files: settings as they are, and a path for each input."""
        inputs = inputs_of(cls)
        defaults = {field.name: field.default for field in fields(cls)} | values
        settings = {
            name: value
            for name, value in defaults.items()
            if name not in inputs and value is not MISSING
        }
        read = {
            name: note.read(values[name], settings, run)
            for name, note in inputs.items()
            if values.get(name) is not None
        }
        beside = {f"{of}_{name}" for name in inputs for of in ("also", "topic")}
        kept = {name: value for name, value in settings.items() if name not in beside}
        return cls(**kept, **read)


def inputs_of(cls: type[Question]) -> dict[str, Input]:
    """The fields of a question that hold texts, by name."""
    return _inputs_of(cast(Any, cls))


@cache
def _inputs_of(cls: Any) -> dict[str, Input]:
    required = {
        field.name
        for field in fields(cls)
        if field.default is MISSING and field.default_factory is MISSING
    }
    return {
        name: replace(note, name=name, kind=_kind(hint), is_required=name in required)
        for name, (hint, notes) in notes_of(cls).items()
        for note in notes
        if isinstance(note, Input)
    }


def _kind(hint: Any) -> Any:
    """`dict` of candidates; `X` of `X | None`; else the type itself."""
    if get_origin(hint) is dict:
        return dict
    return next((one for one in get_args(hint) if one is not NoneType), hint)


def answer_files(
    cls: type[Question], *, output: str | Path | Sequence[str | Path] | None = None, **options: Any
) -> Any:
    """The answer to a question on files, which is written to the `output` if there is one.

    The options are the question's inputs and settings, and what `answer_checked` takes.
    """
    outputs = cls.output.paths(output) if cls.output is not None else []
    cls.check({**options, "output": outputs})
    with noting_inputs():
        return answer_checked(cls, outputs, **options)


def answer_checked(
    cls: type[Question],
    outputs: Sequence[Path],
    *,
    model: str | Path | None = None,
    device: str = "cpu",
    jobs: int | None = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
    **values: Any,
) -> Any:
    """The answer to a question on files, with settings and paths that were checked.

    What cannot be read goes to `skipped`; without it, the first such thing is raised.
    """
    run = Run(watch, skipped)
    question = cls.of_paths(run, **values, **(cls.with_page if outputs else {}))
    run.model = model = model or question.model
    verifier = question.keeper(load(model, device=device))
    note_folder(verifier.folder)
    for path in outputs:
        check_not_read(path)
    with encoder(model, verifier, jobs, device) as run.encode:
        result = question.answer(verifier, run)
    for path in outputs:
        data = question.written(result, path)
        if isinstance(data, str):  # only a file's name may hold bytes that are not text
            data = data.encode("utf-8", "replace")
        with replaced_file(path) as partial:
            partial.write_bytes(data)
    return result


def named(sides: Iterable[tuple[str, Sequence[Any]]]) -> dict[str, tuple[Any, ...]]:
    """Candidates by name; two of one name are refused."""
    known: dict[str, tuple[Any, ...]] = {}
    for name, texts in sides:
        if name in known:
            raise OptionError(
                f"two candidates are named '{name}'; expected different names: put all texts of "
                "one person under one name, or rename one"
            )
        known[name] = tuple(texts)
    return known


def as_known(candidates: Mapping[str, Sequence[str | Document | Exhibit]]) -> Known:
    """Candidates' texts, each with a name: that of the candidate and a number if it has none."""
    known = {}
    for name, texts in candidates.items():
        documents = [text.document if isinstance(text, Exhibit) else text for text in texts]
        known[name] = tuple(
            Document(text=text, author=name, id=f"{name}/{number}")
            if isinstance(text, str)
            else (text if text.id else replace(text, id=f"{name}/{number}"))
            for number, text in enumerate(documents, start=1)
        )
    return known


def _by_author(path: str | Path, skipped: list[InputError] | None) -> Known:
    """Known texts by author; nothing of a candidate in whose folder no text can be read."""
    texts: dict[str, list[Document]] = {}
    empty: list[str] = []
    for source in find_sources(path):
        for document in source.documents(skipped=skipped):
            texts.setdefault(document.author, []).append(document)
        if source.layout is Layout.AUTHOR_FOLDERS:
            with os.scandir(source.path) as entries:
                folders = [entry.name for entry in entries if entry.is_dir()]
            empty += [name for name in map(readable_name, folders) if not name.startswith(".")]
    known = {name: tuple(of) for name, of in texts.items()}
    return known | dict.fromkeys(sorted(set(empty) - set(texts)), ())


def cost(documents: Iterable[Document]) -> int:
    """The work that texts make when they are gone through once, in characters."""
    return sum(len(text.text) + _PER_TEXT for text in documents)


def in_language(value: Any, language: str) -> Any:
    """What a field holds, with texts that are said to be in a language."""
    if isinstance(value, Document):
        return replace(value, language=language)
    if isinstance(value, Exhibit):
        return with_text(value, in_language(value.document, language))
    if isinstance(value, Side):
        return replace(value, texts=in_language(value.texts, language))
    if isinstance(value, Texts):
        return replace(value, documents=in_language(value.documents, language))
    if isinstance(value, dict):
        return {name: in_language(texts, language) for name, texts in value.items()}
    if isinstance(value, tuple):
        return tuple(in_language(text, language) for text in value)
    return value


def documents_in(value: Any) -> list[Document]:
    """The texts that a field holds."""
    if isinstance(value, Exhibit | Document):
        return [value.document if isinstance(value, Exhibit) else value]
    if isinstance(value, dict):
        return [text for texts in value.values() for one in texts for text in documents_in(one)]
    return list(value.documents) if isinstance(value, Side | Texts) else []
