"""What jobs are given: corpora and pair sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from adhominem.errors import InputError, OptionError
from adhominem.jobs.run import Unit as Unit
from adhominem.jobs.run import Watch as Watch
from adhominem.jobs.run import unwatched as unwatched
from adhominem.text.files import hearing_bytes, note_input, noting_inputs, real_path
from adhominem.text.pan import Pair
from adhominem.text.readers import Source, find_sources, read_pairs

Corpora = Sequence[Source | str | Path]
PairSets = Mapping[str, Sequence[Pair]] | Sequence[str | Path]  # by name, or where they lie


def check_page_name(output: str | Path) -> None:
    """Raise an OptionError unless the output of a page is an .html file."""
    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{output} is not an .html file; expected one for the page")


@contextmanager
def reading(corpora: Corpora, what: str, watch: Watch, *, times: int = 1) -> Iterator[list[Source]]:
    """Corpora to be read `times` over, which shows how far it is; files are noted as read."""
    with noting_inputs():
        sources, size = open_corpora(corpora)
        with watch(what, times * size, "bytes") as on_bytes, hearing_bytes(on_bytes):
            yield sources


def open_corpora(corpora: Corpora) -> tuple[list[Source], int]:
    """The corpora at these paths, and their size in bytes; their files are noted as read."""
    sources: list[Source] = []
    for corpus in corpora:
        sources += [corpus] if isinstance(corpus, Source) else find_sources(corpus)
    for source in sources:
        for file in source.files():
            note_input(file)
    return sources, sum(source.size() for source in sources)


def read_pair_sets(
    sets: PairSets, skipped: list[InputError] | None
) -> Mapping[str, Sequence[Pair]]:
    """Pair sets by name; those given as paths are read, and named after file or folder."""
    if isinstance(sets, Mapping):
        return sets
    by_name: dict[str, Sequence[Pair]] = {}
    for path in sets:
        name = real_path(path).name
        if name in by_name:
            raise OptionError(f"two pair sets are named '{name}'; rename one")
        by_name[name] = list(read_pairs(path, skipped=skipped))
    return by_name
