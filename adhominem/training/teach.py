"""Teach a model without training it again: further genres, what prose is, how machines write."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import EmptyTextError, InputError, OptionError
from adhominem.jobs.run import Corpora, Watch, draw, reading, unwatched
from adhominem.jobs.workers import encode_documents, encoder
from adhominem.model.calibration import as_file
from adhominem.model.files import ModelFiles
from adhominem.model.folder import changeable_folder, member_folders, model_hash, read_calibration
from adhominem.model.layout import CALIBRATION, STYLES
from adhominem.model.writing import genres_file, replace_files, write_machine_look, write_prose
from adhominem.score.products import column_means
from adhominem.score.prose import SHORTEST, MachineLook, Prose, ProseSamples
from adhominem.text.files import Document
from adhominem.text.prose_rates import RATES, ProseLexicon, prose_rates
from adhominem.text.readers import check_names, find_sources, read_documents
from adhominem.text.sentences import word_spans
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.writing import locked
from adhominem.verify.verifier import Verifier, load

TEXTS = 400  # of a genre, to learn prose from
MACHINE_TEXTS = 300  # of a source
_MOST_TEXTS = 1_000  # more would hardly move a mean
_FEWEST_TEXTS = 20
_OF_LEXICON = 150  # texts of a genre, from which common words and letters are learnt
_COMMON_WORDS = 100
_USUAL_TRIGRAMS = 0.995  # share of all
_LENGTHS = (80, 150, 300, 700, 3_000)  # words of the parts that are taken of each text
_WIDTHS = range(55, 110)  # of wrapped lines
_RAGGED = 0.04  # of the width: how unequal lines are that were wrapped for letters of all sizes

_Text = TypeVar("_Text")


@contextmanager
def _teaching(model: str | Path) -> Iterator[tuple[Path, Verifier]]:
    """A context with the folder of a model that may be changed, and the model as it is so far."""
    folder = changeable_folder(model)
    with locked(folder):
        yield folder, load(folder)


@dataclass(frozen=True)
class LearntGenres:
    """The genres that a model knows now."""

    texts: dict[str, int]  # that each new genre was learnt from
    genres: tuple[str, ...]  # all


def learn_genres(
    folder: str | Path,
    sets: Iterable[str | Path],
    *,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> LearntGenres:
    """Add the mean LEV of each set of texts to the genres of a model, named after the set.

    The more genres a model knows, the better it estimates the genre of two texts that are compared
    without a population. The authors need not be known, but none of them should be among those that
    the model is calibrated or tested with. Calibrate the model again afterwards.
    """
    with _teaching(folder) as (folder, verifier):
        known = [member.genres for member in verifier.members if member.genres is not None]
        if len(known) < len(verifier.members):
            raise OptionError(
                "a member of this model knows no genres; expected n-gram models, or members of an "
                "ensemble that was made with --corpus"
            )
        means: dict[str, list[FloatArray]] = {}  # of each member
        texts: dict[str, int] = {}
        for source in (source for path in sets for source in find_sources(path)):
            if source.name in means:
                raise OptionError(f"two sets are named '{source.name}'; rename one")
            documents = read_documents(source.path, author_required=False, skipped=skipped)
            chosen = draw(documents, _MOST_TEXTS, seed)[0]
            if len(chosen) < _FEWEST_TEXTS:
                raise OptionError(
                    f"{source.name} has {len(chosen)} texts; expected {_FEWEST_TEXTS} or more"
                )
            with watch(f"encoding {source.name}", len(chosen)) as on_documents:
                levs = verifier.encode(chosen, on_documents=on_documents)
            means[source.name] = [column_means(part) for part in levs.parts[:-1]]
            texts[source.name] = len(chosen)
        files = {}
        for number, (place, genres) in enumerate(zip(member_folders(folder), known, strict=True)):
            centres = {name: by_member[number] for name, by_member in means.items()}
            styles = (place / STYLES.name).relative_to(folder)
            files[styles.as_posix()] = genres_file(genres.with_centres(centres))
        if calibration := read_calibration(ModelFiles(folder)):
            fitted_to = model_hash(folder, members=True)  # as it is so far, if it does not say
            files[CALIBRATION.name] = as_file({"fitted_to": fitted_to} | calibration)
        replace_files(folder, files)
    return LearntGenres(texts, load(folder).genres)


@dataclass(frozen=True)
class LearntProse:
    """What prose is like, and how many samples of each genre would be called foreign."""

    model: Path
    texts: dict[str, int]  # by genre
    limit: float
    foreign: dict[str, float]  # shares, by genre


def learn_prose(
    model: str | Path,
    corpora: Corpora,
    *,
    texts: int = TEXTS,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> LearntProse:
    """Learn what prose is like from corpora, one per genre, and save it in the model's folder.

    At most `texts` texts of each are drawn at random. They should be prose, of all genres that the
    model is used for: texts unlike all of them will be called foreign. A few texts that are not
    prose do no harm: the farthest of each genre are left out.
    """
    with _teaching(model) as (folder, verifier):
        sources = _sampled(corpora, texts, "reading", skipped, watch)
        genres = {name: [document.text for document in drawn] for name, drawn in sources}
        counts = {name: len(drawn) for name, drawn in genres.items()}
        with watch("learning", sum(counts.values())) as on_texts:
            prose, samples = fit_prose(
                genres,
                verifier.lead.tokenizer,
                on_texts,
                several_languages=bool(verifier.languages),
            )
        write_prose(folder, prose)
    foreign = prose.distances(samples.rates, samples.tokens) > prose.limit
    shares = {
        name: float(np.mean(foreign[samples.genre == at])) for at, name in enumerate(samples.genres)
    }
    return LearntProse(folder, counts, prose.limit, shares)


def fit_prose(
    genres: Mapping[str, Sequence[str]],
    tokenizer: Tokenizer,
    on_texts: Callable[[int], None] = lambda count: None,
    *,
    several_languages: bool = False,
) -> tuple[Prose, ProseSamples]:
    """What prose is like, fitted to texts of several genres, nearly all of them prose.

    If they are in `several_languages`, it has neither common words nor usual spellings.
    The samples are excerpts of the texts in several lengths, in random layouts.
    """
    lexicon = ProseLexicon.of_no_language()
    if not several_languages:
        of_lexicon = (map(tokenizer.tokens, texts[:_OF_LEXICON]) for texts in genres.values())
        lexicon = ProseLexicon.of(of_lexicon, _COMMON_WORDS, _USUAL_TRIGRAMS)
    chance = random.Random(0)
    numbers, counts, rates = [], [], []
    for number, texts in enumerate(genres.values()):
        for text in texts:
            for length in _LENGTHS:
                part = laid_out(excerpt(text, length, chance), chance)
                tokens = tokenizer.tokens(part)
                if tokens:
                    numbers.append(number)
                    counts.append(len(tokens))
                    rates.append(prose_rates(part, tokens, lexicon))
            on_texts(1)
    samples = ProseSamples(
        tuple(genres),
        np.array(numbers, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array(rates).reshape(-1, len(RATES)),
    )
    return Prose.fit(samples, lexicon), samples


def excerpt(text: str, words: int, chance: random.Random) -> str:
    """A random passage of `words` words, in the text's own layout."""
    places = word_spans(text).tolist()
    if len(places) <= words:
        return text
    begin = chance.randrange(len(places) - words + 1)
    return text[places[begin][0] : places[begin + words - 1][1]]


def laid_out(text: str, chance: random.Random) -> str:
    """A text as it is, or wrapped at a fixed width or with ragged lines."""
    layout = chance.randrange(4)
    if layout < 2:
        return text
    return wrapped(text, chance.choice(_WIDTHS), _RAGGED if layout == 2 else 0.0, chance)


def wrapped(text: str, width: int, ragged: float, chance: random.Random) -> str:
    """A text with no line longer than the width, or than one that varies from line to line."""
    lines = []
    for paragraph in text.splitlines():
        line, room = "", chance.gauss(width, ragged * width)
        for word in paragraph.split():
            if line and len(line) + 1 + len(word) > room:
                lines.append(line)
                line, room = word, chance.gauss(width, ragged * width)
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return "\n".join(lines)


@dataclass(frozen=True)
class LearntMachineLook:
    """The detector of machine-written texts, and the shares of unseen texts that it flags.

    Texts by a machine are scored by a detector that was fitted to the other sources only, texts of
    a genre by one that was fitted without this genre.
    """

    model: Path
    texts: dict[str, int]  # by source
    detected: dict[str, float]  # of the texts by machines, by source
    false_alarms: dict[str, float]  # of the texts by people, by source


def learn_machine_look(
    model: str | Path,
    corpora: Corpora,
    machines: Corpora,
    *,
    texts: int = MACHINE_TEXTS,
    jobs: int | None = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> LearntMachineLook:
    """Learn how machines write, from corpora by people, one per genre, and texts by machines.

    At most `texts` texts of each source are drawn at random; those of fewer than 200 words and
    punctuation marks are left out. The result is saved in the model's folder.
    """
    with _teaching(model) as (folder, verifier), encoder(folder, verifier, jobs) as encode:
        if all(member.scorer.is_sparse for member in verifier.members):
            raise OptionError(
                f"{folder.name} has only sparse LEVs; expected a member with dense ones"
            )
        groups: list[dict[str, FloatArray]] = []
        for title, sources in (("people", corpora), ("machines", machines)):
            drawn = dict(_sampled(sources, texts, f"reading {title}", skipped, watch))
            encoded = {}
            with watch(f"encoding {title}", sum(map(len, drawn.values()))) as on_documents:
                for name, documents in drawn.items():
                    _, levs = encode_documents(documents, encode, skipped, on_documents)
                    long = levs.log_tokens >= np.log(SHORTEST) - 1e-6
                    if not long.any():
                        raise EmptyTextError(
                            f"no text has {SHORTEST} words and marks; expected longer ones", name
                        )
                    encoded[name] = verifier.scorer.dense_columns(levs[long])
            groups.append(encoded)
        people, by_machines = groups
        with watch("learning", 1 + len(by_machines)) as on_fits:
            look, alarms = MachineLook.fit(list(by_machines.values()), people)
            on_fits(1)
            detected = {}
            for name, rows in by_machines.items():
                others = [table for other, table in by_machines.items() if other != name]
                without, _ = MachineLook.fit(others or [rows], people)
                detected[name] = float(np.mean(without.scores(rows) > 0))
                on_fits(1)
        write_machine_look(folder, look)
    counts = {name: len(rows) for group in groups for name, rows in group.items()}
    return LearntMachineLook(folder, counts, detected, alarms)


def _sampled(
    corpora: Corpora, most: int, title: str, skipped: list[InputError] | None, watch: Watch
) -> Iterator[tuple[str, list[Document]]]:
    """The name of each source, and a random sample of its texts."""
    with reading(corpora, title, watch) as sources:
        check_names(sources)
        for source in sources:
            documents = source.documents(author_required=False, labelled=False, skipped=skipped)
            drawn = draw_some(documents, most)
            if not drawn:
                raise EmptyTextError(
                    "there is no text to learn from; expected one or more", source.path
                )
            yield source.name, drawn


def draw_some(texts: Iterable[_Text], most: int) -> list[_Text]:
    """A uniform random sample of a stream that is read once."""
    chance = random.Random(0)
    drawn: list[_Text] = []
    for number, text in enumerate(texts):
        if number < most:
            drawn.append(text)
        elif (place := chance.randrange(number + 1)) < most:
            drawn[place] = text
    return drawn
