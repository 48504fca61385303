"""An index of many texts, built, added to, made smaller: what `adhominem index` does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.index.build import Writer
from adhominem.index.files import MANIFEST, read_manifest
from adhominem.index.milvus import MilvusAddress, fill_collection
from adhominem.index.searcher import TRIALS, Searcher, measure_chance
from adhominem.jobs.run import Corpora, Watch, reading, unwatched
from adhominem.jobs.workers import encoded_batches, encoder_on
from adhominem.model.folder import model_for, shipped_models
from adhominem.text.files import Document, note_folder, note_input, open_regular, path_of
from adhominem.text.language import check_language, main_language
from adhominem.text.readers import Source
from adhominem.text.streams import stop_or_skip
from adhominem.text.writing import locked
from adhominem.verify.encoding import NOTHING_KEPT
from adhominem.verify.verifier import load

_LARGEST_KEY = 4_096  # bytes
_SHORTEST_KEY = 16
_TEXTS_READ = 20  # of each source, to find the language


@dataclass(frozen=True, kw_only=True)
class Indexed:
    """An index as it is now, and what was done to it."""

    index: str
    texts: int
    added: int
    already_there: int
    removed: int
    shards: int
    bytes: int
    seconds: float
    model: str
    model_sha256: str

    @property
    def bytes_a_text(self) -> float:
        """What a text takes on the disk."""
        return self.bytes / max(1, self.texts)


def index_files(
    corpora: Corpora,
    output: str | Path,
    *,
    model: str | Path | None = None,
    language: str = "",
    join_authors: bool = False,
    keep_texts: bool = False,
    hash_ids: str | Path | None = None,
    remove: Sequence[str] = (),
    compact: bool = False,
    check: bool = False,
    trials: int = TRIALS,
    milvus: str | None = None,
    jobs: int | None = None,
    device: str = "cpu",
    engine: str = "local",
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> Indexed:
    """Build an index of texts, or add texts to one, or remove some.

    Texts that are in the index already are passed over: so a run that was stopped goes on where it
    was. With `join_authors`, all texts of an author are one. Texts themselves are not kept unless
    `keep_texts`. `hash_ids` is a file with a key: ids and authors are then hashed with it. `remove`
    names ids or authors. Without a `model`, it is that of the index, or the one for the `language`,
    which is found from the first texts if it is not given; on texts in another one no search makes
    a statement. `compact` writes the shards again without removed texts. `check` compares all files
    with their hashes first. What chance brings up is measured by this many `trials`, searches for
    texts of the index. `milvus` is the address of a collection that is brought to what the index is
    then: `milvus://HOST:PORT/COLLECTION`. With the `engine` `ray`, texts are encoded on a Ray
    cluster. What cannot be read goes to `skipped`; without it, the first such thing is raised.
    """
    began, folder = time.monotonic(), path_of(output)
    check_language(language)
    if milvus is not None:
        MilvusAddress.of(milvus)  # refuses what is not an address before the work
    with reading(corpora, "indexing", watch) as sources, locked(folder):
        key = None if hash_ids is None else read_key(path_of(hash_ids))
        if not sources and not (folder / MANIFEST).exists():
            raise NotFoundError("there are no texts to index; name some", folder)
        main = language or _language_of(sources)
        model = model or _model_of(folder, main)
        verifier = load(model, device=device).keeping(NOTHING_KEPT, main)
        note_folder(verifier.folder)
        writer = Writer.open(
            folder,
            verifier,
            join_authors=join_authors,
            keep_texts=keep_texts,
            key=key,
            adds=bool(sources),
        )
        if check:
            writer.store().check()
        writer.clear()
        gone = writer.remove(remove) if remove else 0
        if sources:
            texts: Iterator[Document] = chain.from_iterable(
                source.documents(author_required=False, skipped=skipped) for source in sources
            )
            if language:
                texts = (replace(text, language=language) for text in texts)
            if join_authors:
                texts = _joined(texts)
            with encoder_on(engine, model, verifier, jobs, device, folder) as encode:
                new = stop_or_skip(writer.new(texts), skipped)
                for batch in map(list, encoded_batches(new, encode)):
                    foreign = verifier.no_statement_on([text for text, _ in batch]).tolist()
                    rows = (
                        lev if isinstance(lev, InputError) else (text, lev, is_foreign)
                        for (text, lev), is_foreign in zip(batch, foreign, strict=True)
                    )
                    for document, lev, is_foreign in stop_or_skip(rows, skipped):
                        if writer.add(document, lev, foreign=is_foreign):
                            encode.written()
                writer.flush()
        if not writer.manifest.texts and not remove:
            raise NotFoundError("no document can be read here; expected one or more", folder)
        if compact:
            writer.compact()
        texts_now = writer.manifest.texts
        if not writer.manifest.complete or (trials and writer.manifest.chance is None):
            with watch("arranging", texts_now) as on_texts:
                writer.finish(verifier, on_texts)
            chance = None
            if trials and texts_now:
                with watch("trying", unit="share") as on_progress:
                    searcher = Searcher(folder, verifier)
                    chance = measure_chance(searcher, trials=trials, on_progress=on_progress)
            file = writer.write("chance", chance.arrays()) if chance else writer.manifest.chance
            writer.save(replace(writer.manifest, chance=file, complete=True))
        writer.clear()
        if milvus is not None:
            with watch("sending", texts_now) as on_texts:
                fill_collection(milvus, writer.store(), on_texts)
        if writer.manifest.removing:  # until now, so that the same command goes on if it was killed
            writer.save(replace(writer.manifest, removing=()))
    manifest = writer.manifest
    return Indexed(
        index=str(folder),
        texts=manifest.texts,
        added=writer.added,
        already_there=writer.already_there,
        removed=gone,
        shards=len(manifest.shards),
        bytes=sum(file.bytes for file in manifest.files()),
        seconds=round(time.monotonic() - began, 1),
        model=verifier.name,
        model_sha256=verifier.sha256,
    )


def _model_of(folder: Path, language: str) -> str:
    """The shipped model that an index was made with; that for a language if there is no index."""
    if (folder / MANIFEST).exists() and (named := read_manifest(folder).model) in shipped_models():
        return named
    return model_for(language)


def _language_of(sources: Sequence[Source]) -> str:
    """The language of most of the first texts."""
    first = (
        islice(source.documents(author_required=False, skipped=[]), _TEXTS_READ)
        for source in sources
    )
    return main_language(chain.from_iterable(first))


def read_key(path: Path) -> bytes:
    """The key of a file, without white space around it."""
    note_input(path)
    try:
        with open_regular(path, _LARGEST_KEY)[0] as file:
            key = file.read(_LARGEST_KEY).strip()
    except OSError as error:
        raise OptionError(f"the key cannot be read ({error}); expected a file with one") from None
    if len(key) < _SHORTEST_KEY:
        raise OptionError(
            f"the key in {path} has {len(key)} bytes; expected {_SHORTEST_KEY} or more, for "
            "example from `openssl rand -hex 32`"
        )
    return key


def _joined(documents: Iterable[Document]) -> Iterator[Document]:
    """All texts of an author as one, under the author's name; those of unknown authors as they are.

    They are held in memory until all are read: an author's texts may stand anywhere.
    """
    by_author: dict[str, list[Document]] = {}
    for document in documents:
        if document.author:
            by_author.setdefault(document.author, []).append(document)
        else:
            yield document
    for author, several in by_author.items():
        topics = {document.topic for document in several}
        yield Document(
            text="\n\n".join(document.text for document in several),
            author=author,
            topic=topics.pop() if len(topics) == 1 else "",
            id=author,
        )
