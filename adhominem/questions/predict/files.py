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
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from adhominem.arrays import BoolArray, Levs, joined
from adhominem.errors import InputError, OptionError
from adhominem.jobs.run import Watch, open_corpora, read_population, unwatched
from adhominem.jobs.workers import EncoderPool, begun_ahead, encoder_on
from adhominem.model.folder import model_for
from adhominem.questions.predict.partial_answers import (
    Case,
    PartialAnswers,
    digest_of,
    documents_of,
    remove_rest,
    without_shared_passages,
)
from adhominem.records import UNWRITTEN
from adhominem.score.decision import (
    probability_same_author,
    same_author_by_distance,
    without_weak_answers,
)
from adhominem.score.population import Population, distinct_levs
from adhominem.text.files import COMPRESSIONS, Document, counting_bytes, noting_inputs, path_of
from adhominem.text.language import check_language, main_language
from adhominem.text.pan import Pair, pair_rows, problem_rows, with_unique_ids
from adhominem.text.streams import stop_or_skip
from adhominem.text.writing import locked
from adhominem.verify.cautions import Caution, cautions_of_many, no_statement, passages_taken_out
from adhominem.verify.encoding import Kept
from adhominem.verify.verifier import Verifier, load

_CASES_AT_ONCE = 256
_CASES_READ = 100  # to find the language of most texts
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
    delta: float = field(metadata=UNWRITTEN)  # answers within 0.5 ± delta are 0.5


def predict(
    model: str | Path | None,
    cases: str | Path | Iterable[Case | InputError],
    output: str | Path,
    *,
    input_format: str = "pan20",
    language: str = "",
    population: str | Path | None = None,
    prior_same_author: float = 0.5,
    delta: float | Literal["auto"] = 0.0,
    by: Literal["bayes-factor", "distance"] = "bayes-factor",
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
    left out of it for that case. Answers within 0.5 ± `delta` become 0.5; `auto` is the delta that
    was found on dev when the model was trained. With `by` `distance`, the squared distance of two
    texts decides in place of the Bayes factor (see `same_author_by_distance`), and stands in each
    answer in place of the log Bayes factor. No statement is made on a case with a text that is not
    running prose of a kind that the model knows or, without a population, on one that seems to be
    of two genres: the log Bayes factor is then 0, and the value 0.5.

    `max_memory` limits the cached LEVs of texts that may come again, in MB; the model and the
    population take theirs in addition. With the `engine` `ray`, texts are encoded on a Ray cluster.
    Cases that cannot be read or scored, or repeat an earlier id, are appended to `skipped`; without
    it, the first of them raises.

    The `language`, by its code, is that of all texts. If it is not given, it is found from the
    first cases of a file, and no statement is made on texts in another one. Where `model` is None,
    it is the one for the language.
    """
    check_language(language)
    output = path_of(output)
    if output.is_dir() or not output.suffix:
        output = output / "answers.jsonl"
    if output.suffix.lower() in COMPRESSIONS:
        raise OptionError(f"answers are not packed; expected a name like {output.stem}")
    _check_new(output)
    with ExitStack() as stack:
        stack.enter_context(noting_inputs())
        size, main = 0, language
        if isinstance(cases, str | Path):
            population = cases if population == "input" else population
            _, size = open_corpora([cases])
            rows = pair_rows if input_format == "pan20" else problem_rows
            if not language and Path(cases).exists() and not Path(cases).is_fifo():
                first_rows = islice(rows(path_of(cases), labelled=False), _CASES_READ)
                main = _language_of(first_rows)
        model = model or model_for(main)
        # LEVs are kept below; what a text is made of is asked for twice.
        verifier = load(model, device=device).keeping(Kept(0), main, is_given=bool(language))
        by_distance = by == "distance"
        if delta == "auto":
            delta = verifier.saved_delta(by_distance=by_distance)
        if by_distance:
            verifier.decision_threshold  # noqa: B018  raises if there is none
            if population is not None or prior_same_author != 0.5:
                raise OptionError("a distance has no prior and no population; leave them out")
        stack.enter_context(locked(output))
        _check_new(output)  # again: another run may have ended in between
        encode = stack.enter_context(encoder_on(engine, model, verifier, jobs, device, output))
        levs = _LevCache(encode, verifier.no_statement_on, int(max_memory * 1e6))
        relevant, digest = None, None
        if population is not None:
            unread = stack.enter_context(_listed_once(skipped))
            with watch("population") as on_documents:
                relevant = read_population(
                    population,
                    levs,
                    verifier=verifier,
                    language=language,
                    skipped=unread,
                    on_documents=on_documents,
                )
            digest = levs.digest.hexdigest()
        if isinstance(cases, str | Path):
            on_bytes = stack.enter_context(watch("answering", size, "bytes"))
            stack.enter_context(counting_bytes(on_bytes))
            cases = rows(path_of(cases), labelled=False)
        cases = (_in_language(case, language) for case in cases) if language else iter(cases)
        first_case = list(islice(cases, 1))  # that the input is known before anything is written
        settings = {
            "model": verifier.sha256,
            "prior_same_author": prior_same_author,
            "delta": delta,
            "population": digest,
        }
        score = "distance" if by_distance else "log_bayes_factor"
        settings |= {"by": by} if by_distance else {}
        settings |= {"language": language} if language else {}
        partial = stack.enter_context(closing(PartialAnswers(output, settings, score)))
        rest: Iterator[Case] = stop_or_skip(with_unique_ids(chain(first_case, cases)), skipped)
        taken_out: list[tuple[str, int]] = []
        batches = _begun(rest, partial, levs, relevant, taken_out)
        for batch, new in begun_ahead(batches, levs.ahead):
            encoded = list(levs.of(new, skipped))
            answered = [case for case, digest in batch if digest in partial]
            partial.recognise([*answered, *(case for case, *_ in encoded)])
            scores = _scores(verifier, encoded, relevant, by_distance)
            stated = {id: score for id, score in scores.items() if score is not None}
            numbers = [*stated.values()]
            if by_distance:
                probability = same_author_by_distance(numbers, verifier.decision_threshold)
            else:
                probability = probability_same_author(numbers, prior_same_author)
            values = dict(zip(stated, without_weak_answers(probability, delta), strict=True))
            left_open = _undecidable(verifier, encoded)
            answers = dict.fromkeys(scores) | {
                id: (0.5 if id in left_open else float(values[id]), stated[id]) for id in stated
            }
            partial.add(batch, answers)
        partial.finish()
    return Predicted(
        output,
        partial.answers,
        partial.scored,
        levs.encoded,
        verifier.calibration is not None,
        len(partial.without_statement),
        0 if relevant is None else relevant.texts,
        (
            *cautions_of_many(verifier, relevant),
            *passages_taken_out(taken_out),
            *no_statement(partial.without_statement),
        ),
        delta,
    )


def _language_of(cases: Iterable[Case | InputError]) -> str:
    read = (case for case in cases if not isinstance(case, InputError))
    return main_language(text for case in read for text in chain(*documents_of(case)))


def _in_language(case: Case | InputError, language: str) -> Case | InputError:
    if isinstance(case, Pair):
        first, second = (replace(text, language=language) for text in (case.first, case.second))
        return replace(case, first=first, second=second)
    if isinstance(case, InputError):
        return case
    known = tuple(replace(text, language=language) for text in case.known)
    return replace(case, known=known, questioned=replace(case.questioned, language=language))


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


def _begun(
    cases: Iterator[Case],
    partial: PartialAnswers,
    levs: _LevCache,
    population: Population | None,
    taken_out: list[tuple[str, int]],
) -> Iterator[tuple[list[tuple[Case, bytes]], list[Case]]]:
    """Batches of cases with their digests, and the new ones, whose texts are being encoded.

    These lack the passages that their sides share.
    """
    recurring = None if population is None else population.recurring
    while batch := [(case, digest_of(case)) for case in islice(cases, _CASES_AT_ONCE)]:
        new = []
        for whole, digest in batch:
            if digest not in partial:
                case, taken = without_shared_passages(whole, recurring)
                new.append(case)
                taken_out.extend(taken)
        levs.begin(_side_texts(new))
        yield batch, new


def _scores(
    verifier: Verifier,
    encoded: Sequence[_Encoded],
    population: Population | None,
    by_distance: bool,
) -> dict[str, float | None]:
    """The log Bayes factor or the distance of each case; None where no statement is made."""
    factors: dict[str, float | None] = {case.id: None for case, *_ in encoded}
    stated = [row for row in encoded if row[3]]
    if stated:
        cases, first, second, _ = zip(*stated, strict=True)
        if by_distance:
            if any(len(side) > 1 for side in (*first, *second)):
                raise OptionError("a distance is that of two texts; expected one on each side")
            distance = verifier.distance(joined(first), joined(second))
            return factors | {c.id: d for c, d in zip(cases, distance.tolist(), strict=True)}
        scored = verifier.scorer(first, second, population)
        rows = zip(cases, scored.log_bayes_factor.tolist(), scored.two_genres, strict=True)
        factors |= {case.id: None if two_genres else value for case, value, two_genres in rows}
    return factors


def _undecidable(verifier: Verifier, encoded: Sequence[_Encoded]) -> set[str]:
    """The ids of the cases that the paper's successor leaves open, if it is the model."""
    if not encoded:
        return set()
    cases, first, second, _ = zip(*encoded, strict=True)
    left_open = verifier.scorer.undecidable(first, second)
    return {case.id for case, is_open in zip(cases, left_open, strict=True) if is_open}


_Lev = Levs | InputError  # (1, lev_size), or why there is none
# A case, the LEVs of its two sides, and whether a statement is made on all texts.
_Encoded = tuple[Case, Levs, Levs, bool]


class _LevCache:
    """An `EncoderPool` that encodes each text once as long as it is kept."""

    def __init__(
        self,
        encode: EncoderPool,
        no_statement_on: Callable[[Sequence[Document]], BoolArray],
        most_bytes: int,
    ) -> None:
        self._encode, self._no_statement_on = encode, no_statement_on
        self._most_bytes = most_bytes
        self._bytes = 0  # of those that are kept
        # LEVs or why there is none, and whether no statement is made on the text.
        self._kept: OrderedDict[bytes, tuple[_Lev, bool]] = OrderedDict()
        # Texts that are being encoded, in order, and where the LEV of each will be.
        self._begun: OrderedDict[bytes, tuple[Document, Iterator[_Lev]]] = OrderedDict()
        self.ahead = encode.ahead
        self.encoded = 0
        self.digest = sha256()  # of the texts that it was called with

    def __call__(self, documents: Sequence[Document]) -> Iterator[_Lev]:
        """The LEV of each document, or its error; encoding starts now, results come later."""
        for key in self.begin(documents):
            self.digest.update(key)
        return (lev for lev, _ in self._waited_for(documents))

    def written(self) -> None:
        """Nothing: what was encoded is written with the answers."""

    def begin(self, documents: Sequence[Document]) -> list[bytes]:
        """Start to encode the documents that are not kept; the keys of all are returned."""
        keys = [_key(document) for document in documents]
        new = {
            key: document
            for key, document in zip(keys, documents, strict=True)
            if key not in self._kept and key not in self._begun
        }
        if new:
            levs = self._encode(list(new.values()))
            self._begun |= {key: (document, levs) for key, document in new.items()}
            self.encoded += len(new)
        return keys

    def _waited_for(self, documents: Sequence[Document]) -> Iterator[tuple[_Lev, bool]]:
        keys = self.begin(documents)  # again: some may have been given up meanwhile
        done: dict[bytes, tuple[Document, _Lev]] = {}
        for wanted in keys:
            while wanted not in self._kept and wanted not in done:
                key, (document, levs) = self._begun.popitem(last=False)
                lev = next(levs)
                # A copy, so that its batch can be freed.
                done[key] = document, lev if isinstance(lev, InputError) else lev.copy()
        foreign = self._no_statement_on([document for document, _ in done.values()]).tolist()
        for (key, (_, lev)), is_foreign in zip(done.items(), foreign, strict=True):
            self._kept[key] = lev, is_foreign
            self._bytes += _size(lev)
        rows = [self._kept[key] for key in keys]
        for key in keys:
            self._kept.move_to_end(key)
        while self._bytes > self._most_bytes:
            _, (lev, _) = self._kept.popitem(last=False)
            self._bytes -= _size(lev)
        yield from rows

    def of(self, cases: Sequence[Case], skipped: list[InputError] | None) -> Iterator[_Encoded]:
        """The cases whose texts could all be encoded."""
        rows = self._waited_for(_side_texts(cases))
        for case in cases:
            sides = [[(text, *next(rows)) for text in side] for side in documents_of(case)]
            texts = list(chain(*sides))
            errors = (lev.at(text.id) for text, lev, _ in texts if isinstance(lev, InputError))
            if (error := next(errors, None)) is not None:
                if isinstance(case, Pair) and case.place:
                    error = type(error)(str(error), *case.place)
                if skipped is None:
                    raise error
                skipped.append(error)
                continue
            # A text that a side has several times counts once, as in a single comparison.
            first, second = (
                distinct_levs(joined([lev for _, lev, _ in side if isinstance(lev, Levs)]))
                for side in sides
            )
            yield case, first, second, not any(is_foreign for *_, is_foreign in texts)


def _size(lev: _Lev) -> int:
    """The approximate memory that keeping a text takes, in bytes, objects and key included."""
    return _OBJECTS + (0 if isinstance(lev, InputError) else lev.nbytes)


def _side_texts(cases: Sequence[Case]) -> list[Document]:
    return [text for case in cases for text in chain(*documents_of(case))]


def _key(document: Document) -> bytes:
    text = f"{document.topic}\0{document.text}".encode()
    return blake2b(text, digest_size=16).digest()
