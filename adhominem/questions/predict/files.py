"""Answers for a whole file of pairs, or for PAN's problem folders: PAN's main job.

The pairs are streamed: but for what tells double ids, and repeated texts of a population, memory
does not grow with the file. Each distinct text is encoded once, as long as it is remembered, in
worker processes if asked for. Answers go to OUTPUT.partial as they are found; a run that was killed
reads them back, and answers what is new or has been changed since. At the end the file is moved to
its name. A second run with the same output, at the same time, is refused.
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
from adhominem.jobs.inputs import Watch, open_corpora, unwatched
from adhominem.jobs.population import read_population
from adhominem.jobs.workers import Encode, ahead_of, begun_ahead
from adhominem.questions.predict.partial_answers import (
    Case,
    PartialAnswers,
    digest_of,
    documents_of,
    remove_rest,
    without_shared_passages,
)
from adhominem.score.decision import probability_same_author, without_weak_answers
from adhominem.score.population import Population, each_once
from adhominem.text.files import Document, noting_inputs, path_of
from adhominem.text.pan import Pair, each_id_once, pair_rows, problem_rows
from adhominem.text.readers import stop_or_skip
from adhominem.text.unpacking import COMPRESSIONS
from adhominem.text.writing import locked
from adhominem.verify.case_cautions import cautions_of_many, no_statement
from adhominem.verify.cautions import Caution, passages_taken_out
from adhominem.verify.verifier import load

_CASES_AT_ONCE = 256
_OBJECTS = 1_500  # bytes
MAX_MEMORY = 200  # MB of LEVs that are kept, the latest ones


@dataclass(frozen=True)
class Predicted:
    """What a run of `predict` came to."""

    output: Path
    answers: int  # in the file now
    scored_now: int  # by this run
    texts_encoded: int  # distinct texts that this run encoded
    calibrated: bool
    no_statement: int  # answers in the file that state nothing: foreign texts, or two genres
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
    folders. `output` is a file, or a folder for `answers.jsonl`. `population` is where the texts
    of a relevant population lie, or `input` for the path of the cases; the texts of a case are left
    out of it for that case. Answers within 0.5 ± `delta` become 0.5. On a case with a text that is
    not running prose of a kind that the model knows, and without a population on one that seems to
    be of two genres, no statement is made: the log Bayes factor is 0, and the value 0.5.

    `max_memory` is for the LEVs of texts that are kept in case they come again, in MB; the model
    and the population take theirs besides. With the `engine` `ray`, texts are encoded on a Ray
    cluster. What cannot be read or scored, or has the id of a case before it, goes to `skipped`;
    without it, the first such thing is raised.
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
        read = pair_rows if input_format == "pan20" else problem_rows
        if isinstance(cases, str | Path):
            population = cases if population == "input" else population
            _, size = open_corpora([cases])
        verifier = load(model, device=device)
        stack.enter_context(locked(output))
        _check_new(output)  # again: another run may have ended in between
        encode = stack.enter_context(encoder_on(engine, model, verifier, jobs, device, output))
        levs = _Levs(encode, verifier.no_statement_on, int(max_memory * 1e6))
        relevant: Population | None = None
        encode_population = _Population(levs)
        if population is not None:
            unread = None if skipped is None else stack.enter_context(_listed_once(skipped))
            with watch("population") as on_documents:
                relevant = read_population(
                    population,
                    encode_population,
                    verifier=verifier,
                    skipped=unread,
                    on_documents=on_documents,
                )
        settings = {
            "model": verifier.sha256,
            "prior_same_author": prior_same_author,
            "delta": delta,
            "population": None if relevant is None else encode_population.digest.hexdigest(),
        }
        recurring = None if relevant is None else relevant.recurring
        calibrated = verifier.calibration is not None
        if isinstance(cases, str | Path):
            on_bytes = stack.enter_context(watch("answering", size, "bytes"))
            cases = read(path_of(cases), on_bytes=on_bytes, labelled=False)
        taken_out: list[tuple[str, int]] = []
        cases = iter(cases)
        first_case = list(islice(cases, 1))  # that the input is known before anything is written
        partial = stack.enter_context(closing(PartialAnswers(output, settings)))
        rest: Iterator[Case] = stop_or_skip(each_id_once(chain(first_case, cases)), skipped)

        def digested() -> Iterator[
            tuple[list[Case], list[bytes], list[bool], list[Case], set[str]]
        ]:
            """Some cases, their digests, which are answered, the others, which state nothing."""
            while batch := list(islice(rest, _CASES_AT_ONCE)):
                digests = [digest_of(case) for case in batch]
                known = [known_digest in partial for known_digest in digests]
                new = []
                for whole in compress(batch, map(not_, known)):
                    case, taken = without_shared_passages(whole, recurring)
                    new.append(case)
                    taken_out.extend(taken)
                levs.begin(_texts_of(new))
                yield batch, digests, known, new, levs.foreign(new)  # which workers do not wait for

        for batch, digests, known, new, foreign in begun_ahead(digested(), levs.ahead):
            good, first, second = levs.of(new, skipped)
            partial.recognise([*compress(batch, known), *good])
            scored: dict[str, tuple[float, float] | None]
            scored = {case.id: None for case in good if case.id in foreign}
            if stated := [at for at, case in enumerate(good) if case.id not in foreign]:
                found = verifier.scorer(
                    [first[at] for at in stated], [second[at] for at in stated], relevant
                )
                factors = found.log_bayes_factor
                probability = probability_same_author(factors, prior_same_author)
                values = without_weak_answers(probability, delta)
                both = zip(values.tolist(), factors.tolist(), strict=True)
                scored |= {
                    good[at].id: None if of_two else answer
                    for at, answer, of_two in zip(stated, both, found.two_genres, strict=True)
                }
            partial.add(batch, digests, scored)
        partial.finish()
    return Predicted(
        output,
        partial.answers,
        partial.scored,
        levs.encoded,
        calibrated,
        len(partial.without_statement),
        0 if relevant is None else relevant.texts,
        (
            *cautions_of_many(
                calibrated,
                relevant,
                verifier.genre_names,
                changed=verifier.changed,
            ),
            *passages_taken_out(taken_out),
            *no_statement(partial.without_statement),
        ),
    )


def _check_new(output: Path) -> None:
    if output.exists():
        remove_rest(output)
        raise OptionError(f"{output} exists already; remove it, or choose another name")


@contextmanager
def _listed_once(skipped: list[InputError]) -> Iterator[list[InputError]]:
    """For what cannot be read of a population, which may be the input itself."""
    unread: list[InputError] = []
    try:
        yield unread
    finally:
        # Of a pair the file and line are known besides; of a text in it, the name alone.
        listed = {told for error in skipped for told in (str(error), error.problem)}
        skipped += [error for error in unread if str(error) not in listed]


class _Levs:
    """The LEVs of texts, each encoded once as long as it is remembered."""

    def __init__(
        self,
        encode: Encode,
        no_statement_on: Callable[[Sequence[Document]], BoolArray],
        most_bytes: int,
    ) -> None:
        self._encode, self._no_statement_on = encode, no_statement_on
        self._most_bytes = most_bytes
        self.ahead = ahead_of(encode)
        self._bytes = 0  # of those that are kept
        self._kept: OrderedDict[bytes, Levs | InputError] = OrderedDict()
        # Those that are being encoded, in order, and where each will be.
        self._begun: OrderedDict[bytes, Iterator[Levs | InputError]] = OrderedDict()
        self._foreign: dict[bytes, bool] = {}  # of those that are kept or begun, where asked for
        self.encoded = 0

    def begin(self, documents: Sequence[Document]) -> list[bytes]:
        """Have these documents encoded, unless they are or will be; the key of each."""
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
        """Of each document its LEV, or why it has none: begun now, waited for when asked for."""
        self.begin(documents)
        return self._waited_for(documents)

    def _waited_for(self, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        keys = self.begin(documents)  # again: some may have been given up meanwhile
        for wanted in keys:
            while wanted not in self._kept:
                key, levs_begun = self._begun.popitem(last=False)
                lev = next(levs_begun)
                # With no hold on the batch it came in.
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

    def foreign(self, cases: Sequence[Case]) -> set[str]:
        """The ids of cases with a text that is not running prose that the model knows."""
        texts = _texts_of(cases)
        keys = self.begin(texts)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._foreign}
        told = self._no_statement_on(list(new.values()))
        self._foreign |= zip(new, told.tolist(), strict=True)
        return {
            case.id
            for case in cases
            if any(self._foreign[_key(text)] for text in chain(*documents_of(case)))
        }

    def of(
        self, cases: Sequence[Case], skipped: list[InputError] | None
    ) -> tuple[list[Case], list[Levs], list[Levs]]:
        """The cases whose texts all could be encoded, and the LEVs of both their sides."""
        levs = self._waited_for(_texts_of(cases))
        good = []
        sides: tuple[list[Levs], list[Levs]] = [], []
        for case in cases:
            encoded = [[(text, next(levs)) for text in side] for side in documents_of(case)]
            errors = (
                lev.at(text.id) for text, lev in chain(*encoded) if isinstance(lev, InputError)
            )
            if (error := next(errors, None)) is not None:
                if isinstance(case, Pair) and case.place:
                    error = type(error)(str(error), *case.place)
                if skipped is None:
                    raise error
                skipped.append(error)
                continue
            good.append(case)
            # A text that a side has several times counts once, as in a single comparison.
            for levs_of_side, side in zip(sides, encoded, strict=True):
                rows = [lev for _, lev in side if not isinstance(lev, InputError)]
                levs_of_side.append(each_once(joined(rows)))
        return good, *sides


class _Population:
    """Encodes the texts of a population, and takes the digest of them all."""

    def __init__(self, levs: _Levs) -> None:
        self._levs, self.ahead = levs, levs.ahead
        self.digest = sha256()

    def __call__(self, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        for document in documents:
            self.digest.update(_key(document))
        return self._levs.encode(documents)


def _size(lev: Levs | InputError) -> int:
    """What is kept of a text, in bytes; about, for its objects and its key."""
    return _OBJECTS + (0 if isinstance(lev, InputError) else lev.nbytes)


def _texts_of(cases: Sequence[Case]) -> list[Document]:
    return [text for case in cases for text in chain(*documents_of(case))]


def _key(document: Document) -> bytes:
    text = f"{document.topic}\0{document.text}".encode()
    return blake2b(text, digest_size=16).digest()
