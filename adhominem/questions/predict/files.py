"""Answers for a whole file of pairs, or for PAN's problem folders: PAN's main task.

The pairs are streamed: apart from what detects duplicate ids, and repeated texts of a population,
memory does not grow with the file. Each distinct text is encoded once, as long as it is cached, in
worker processes if requested. Answers go to OUTPUT.partial as they are computed; a run that was
killed reads them back, and answers what is new or has changed since. At the end the file is moved
to its name. A second run with the same output, at the same time, is refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b, sha256
from itertools import chain, compress, islice
from operator import not_
from pathlib import Path

from adhominem.arrays import BoolArray, Levs, joined
from adhominem.errors import InputError, OptionError
from adhominem.jobs.engines import encoder_on
from adhominem.jobs.run import read_population
from adhominem.jobs.workers import EncoderPool, begun_ahead
from adhominem.questions.predict.partial_answers import (
    Case,
    PartialAnswers,
    digest_of,
    documents_of,
    remove_rest,
    without_shared_passages,
)
from adhominem.score.decision import probability_same_author, without_weak_answers
from adhominem.score.population import Population, distinct_levs
from adhominem.text.files import COMPRESSIONS, Document, hearing_bytes, noting_inputs, path_of
from adhominem.text.pan import Pair, pair_rows, problem_rows, with_unique_ids
from adhominem.text.readers import Watch, open_corpora, unwatched
from adhominem.text.streams import stop_or_skip
from adhominem.text.writing import locked
from adhominem.verify.cautions import Caution, cautions_of_many, no_statement, passages_taken_out
from adhominem.verify.encoding import Kept
from adhominem.verify.verifier import Verifier, load

_CASES_AT_ONCE = 256
_OBJECTS = 1_500  # bytes
MAX_MEMORY = 200  # MB of LEVs that are kept, the latest ones


@dataclass(frozen=True)
class Predicted:
    """The counts and the output of a run of `predict`."""

    output: Path
    answers: int  # in the file now
    scored_now: int  # by this run
    texts_encoded: int  # distinct texts that this run encoded
    calibrated: bool
    no_statement: int  # answers without a statement: foreign texts, or two genres
    population_texts: int  # 0: no population was used
    warnings: tuple[Caution, ...]  # of the model, the population and the texts of this run


def predict(
    model: str | Path,
    cases: str | Path | Iterable[Case | InputError],
    output: str | Path,
    *,
    input_format: str = "pan20",
    population: str | Path | None = None,
    prior_same_author: float = 0.5,
    delta: float = 0.0,
    jobs: int | None = 1,
    device: str = "cpu",
    engine: str = "local",
    max_memory: float = MAX_MEMORY,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> Predicted:
    """Write an answer for each pair or problem: `id`, `value`, `log_bayes_factor`.

    `cases` may be the path of PAN's `pairs.jsonl`, or with the format `pan15` that of PAN's problem
    folders. `output` is a file, or a folder for `answers.jsonl`. `population` is the path of the
    texts of a relevant population, or `input` for the path of the cases; the texts of a case are
    left out of it for that case. Answers within 0.5 ± `delta` become 0.5. No statement is made on a
    case with a text that is not running prose of a kind that the model knows or, without a
    population, on one that seems to be of two genres: the log Bayes factor is then 0, and the value
    0.5.

    `max_memory` limits the cached LEVs of texts that may come again, in MB; the model and the
    population take theirs in addition. With the `engine` `ray`, texts are encoded on a Ray cluster.
    Cases that cannot be read or scored, or repeat an earlier id, are appended to `skipped`; without
    it, the first of them raises.
    """
    output = path_of(output)
    if output.is_dir() or not output.suffix:
        output = output / "answers.jsonl"
    if output.suffix.lower() in COMPRESSIONS:
        raise OptionError(f"answers are not packed; expected a name like {output.stem}")
    _check_new(output)
    with ExitStack() as stack:
        stack.enter_context(noting_inputs())
        size = 0
        if isinstance(cases, str | Path):
            population = cases if population == "input" else population
            _, size = open_corpora([cases])
        # LEVs are kept below; what a text is made of is asked for twice.
        verifier = load(model, device=device).keeping(Kept(0))
        stack.enter_context(locked(output))
        _check_new(output)  # again: another run may have ended in between
        encode = stack.enter_context(encoder_on(engine, model, verifier, jobs, device, output))
        levs = _Levs(encode, verifier.no_statement_on, int(max_memory * 1e6))
        relevant, digest = None, None
        if population is not None:
            unread = stack.enter_context(_listed_once(skipped))
            relevant, digest = _population(population, levs, verifier, unread, watch)
        if isinstance(cases, str | Path):
            read = pair_rows if input_format == "pan20" else problem_rows
            on_bytes = stack.enter_context(watch("answering", size, "bytes"))
            stack.enter_context(hearing_bytes(on_bytes))
            cases = read(path_of(cases), labelled=False)
        cases = iter(cases)
        first_case = list(islice(cases, 1))  # that the input is known before anything is written
        settings = {
            "model": verifier.sha256,
            "prior_same_author": prior_same_author,
            "delta": delta,
            "population": digest,
        }
        partial = stack.enter_context(closing(PartialAnswers(output, settings)))
        rest: Iterator[Case] = stop_or_skip(with_unique_ids(chain(first_case, cases)), skipped)
        taken_out: list[tuple[str, int]] = []
        batches = _begun(rest, partial, levs, relevant, taken_out)
        for batch in begun_ahead(batches, levs.ahead):
            encoded = list(levs.of(batch.new, skipped))
            partial.recognise([*batch.answered, *(case for case, _ in encoded)])
            factors = _factors(verifier, encoded, levs.no_statement(batch.new), relevant)
            stated = {case: factor for case, factor in factors.items() if factor is not None}
            probability = probability_same_author([*stated.values()], prior_same_author)
            values = without_weak_answers(probability, delta).tolist()
            pairs = zip(values, stated.values(), strict=True)
            answers = dict.fromkeys(factors) | dict(zip(stated, pairs, strict=True))
            partial.add(batch.cases, batch.digests, answers)
        partial.finish()
    calibrated = verifier.calibration is not None
    names, changed = verifier.genre_names, verifier.changed
    return Predicted(
        output,
        partial.answers,
        partial.scored,
        levs.encoded,
        calibrated,
        len(partial.without_statement),
        0 if relevant is None else relevant.texts,
        (
            *cautions_of_many(calibrated, relevant, names, changed=changed),
            *passages_taken_out(taken_out),
            *no_statement(partial.without_statement),
        ),
    )


def _check_new(output: Path) -> None:
    if output.exists():
        remove_rest(output)
        raise OptionError(f"{output} exists already; remove it, or choose another name")


@contextmanager
def _listed_once(skipped: list[InputError] | None) -> Iterator[list[InputError] | None]:
    """A list for unreadable texts of a population, which may also be the input."""
    unread: list[InputError] = []
    try:
        yield None if skipped is None else unread
    finally:
        if skipped is not None:
            # For a pair, file and line are known, too; for a text in it, only the name.
            listed = {problem for error in skipped for problem in (str(error), error.problem)}
            skipped += [error for error in unread if str(error) not in listed]


def _population(
    path: str | Path,
    levs: _Levs,
    verifier: Verifier,
    unread: list[InputError] | None,
    watch: Watch,
) -> tuple[Population, str]:
    """The population, and a digest of all its texts."""
    digest = sha256()

    def encode(documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        for document in documents:
            digest.update(_key(document))
        return levs.encode(documents)

    encode.ahead = levs.ahead  # type: ignore[attr-defined]
    with watch("population") as on_documents:
        population = read_population(
            path, encode, verifier=verifier, skipped=unread, on_documents=on_documents
        )
    return population, digest.hexdigest()


@dataclass(frozen=True)
class _Batch:
    """A batch of cases from the input."""

    cases: list[Case]
    digests: list[bytes]
    answered: list[Case]  # those that an earlier run has answered
    new: list[Case]  # the others, without the passages that their sides share


def _begun(
    cases: Iterator[Case],
    partial: PartialAnswers,
    levs: _Levs,
    population: Population | None,
    taken_out: list[tuple[str, int]],
) -> Iterator[_Batch]:
    """The cases in batches whose new texts are being encoded."""
    recurring = None if population is None else population.recurring
    while batch := list(islice(cases, _CASES_AT_ONCE)):
        digests = [digest_of(case) for case in batch]
        known = [digest in partial for digest in digests]
        new = []
        for whole in compress(batch, map(not_, known)):
            case, taken = without_shared_passages(whole, recurring)
            new.append(case)
            taken_out.extend(taken)
        levs.begin(_side_texts(new))
        yield _Batch(batch, digests, list(compress(batch, known)), new)


def _factors(
    verifier: Verifier,
    encoded: Sequence[tuple[Case, tuple[Levs, Levs]]],
    without_statement: set[str],
    population: Population | None,
) -> dict[str, float | None]:
    """The log Bayes factor of each case by its id; None where no statement is made."""
    factors: dict[str, float | None] = {case.id: None for case, _ in encoded}
    stated = [(case.id, levs) for case, levs in encoded if case.id not in without_statement]
    if stated:
        first, second = zip(*(levs for _, levs in stated), strict=True)
        scored = verifier.scorer(first, second, population)
        rows = zip(stated, scored.log_bayes_factor.tolist(), scored.two_genres, strict=True)
        factors |= {id: None if two_genres else factor for (id, _), factor, two_genres in rows}
    return factors


class _Levs:
    """A cache of LEVs: each text is encoded once as long as it is cached."""

    def __init__(
        self,
        encode: EncoderPool,
        no_statement_on: Callable[[Sequence[Document]], BoolArray],
        most_bytes: int,
    ) -> None:
        self._encode, self._no_statement_on = encode, no_statement_on
        self._most_bytes = most_bytes
        self.ahead = encode.ahead
        self._bytes = 0  # of those that are kept
        self._kept: OrderedDict[bytes, Levs | InputError] = OrderedDict()
        # Those that are being encoded, in order, and where each will be.
        self._begun: OrderedDict[bytes, Iterator[Levs | InputError]] = OrderedDict()
        self._foreign: dict[
            bytes, bool
        ] = {}  # of those that are kept: whether no statement is made
        self.encoded = 0

    def begin(self, documents: Sequence[Document]) -> list[bytes]:
        """Start to encode the documents that are new to the cache; the keys of all are returned."""
        keys = [_key(document) for document in documents]
        new = {
            key: document
            for key, document in zip(keys, documents, strict=True)
            if key not in self._kept and key not in self._begun
        }
        if new:
            self._begun |= dict.fromkeys(new, self._encode(list(new.values())))
            self.encoded += len(new)
        return keys

    def encode(self, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        """The LEV of each document, or its error; encoding starts now, results come later."""
        self.begin(documents)
        return self._waited_for(documents)

    def _waited_for(self, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        keys = self.begin(documents)  # again: some may have been given up meanwhile
        for wanted in keys:
            while wanted not in self._kept:
                key, levs_begun = self._begun.popitem(last=False)
                lev = next(levs_begun)
                # A copy, so that its batch can be freed.
                self._kept[key] = lev if isinstance(lev, InputError) else lev.copy()
                self._bytes += _size(self._kept[key])
        levs = [self._kept[key] for key in keys]
        for key in keys:
            self._kept.move_to_end(key)
        while self._bytes > self._most_bytes:
            key, dropped = self._kept.popitem(last=False)
            self._bytes -= _size(dropped)
            self._foreign.pop(key, None)
        yield from levs

    def no_statement(self, cases: Sequence[Case]) -> set[str]:
        """The ids of cases with a text that is not running prose of a kind that the model knows."""
        texts = {_key(text): text for text in _side_texts(cases)}
        new = [key for key in texts if key not in self._foreign]
        found = self._no_statement_on([texts[key] for key in new])
        flags = {key: self._foreign.get(key, False) for key in texts}
        flags |= zip(new, found.tolist(), strict=True)
        self._foreign |= {key: flags[key] for key in new if key in self._kept}
        return {
            case.id
            for case in cases
            if any(flags[_key(text)] for text in chain(*documents_of(case)))
        }

    def of(
        self, cases: Sequence[Case], skipped: list[InputError] | None
    ) -> Iterator[tuple[Case, tuple[Levs, Levs]]]:
        """The cases whose texts could all be encoded, with the LEVs of both their sides."""
        levs = self._waited_for(_side_texts(cases))
        for case in cases:
            sides = [[(text, next(levs)) for text in side] for side in documents_of(case)]
            errors = (lev.at(text.id) for text, lev in chain(*sides) if isinstance(lev, InputError))
            if (error := next(errors, None)) is not None:
                if isinstance(case, Pair) and case.place:
                    error = type(error)(str(error), *case.place)
                if skipped is None:
                    raise error
                skipped.append(error)
                continue
            # A text that a side has several times counts once, as in a single comparison.
            first, second = (
                distinct_levs(joined([lev for _, lev in side if not isinstance(lev, InputError)]))
                for side in sides
            )
            yield case, (first, second)


def _size(lev: Levs | InputError) -> int:
    """The approximate memory that caching a text takes, in bytes, objects and key included."""
    return _OBJECTS + (0 if isinstance(lev, InputError) else lev.nbytes)


def _side_texts(cases: Sequence[Case]) -> list[Document]:
    return [text for case in cases for text in chain(*documents_of(case))]


def _key(document: Document) -> bytes:
    text = f"{document.topic}\0{document.text}".encode()
    return blake2b(text, digest_size=16).digest()
