"""The benchmark that counts what is done twice: that it still counts."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import adhominem

WALK = Path(__file__).parents[1] / "benchmarks" / "walk.py"
WORDS = 80
# The most files, and changes of room, of each command: a tenth above what they are. Only make less.
BUDGET = {
    "verify": (46, 220),
    "report": (74, 530),
    "predict": (47, 208),
    "rank": (56, 540),
    "roll": (52, 586),
    "cluster": (51, 368),
    "search": (59, 627),
}


@pytest.fixture(scope="module")
def walk() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("benchmarks_walk", WALK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def assert_within_budget(command: str, found: Any) -> None:
    files, changes = BUDGET[command]
    assert found.files <= files
    assert found.changes <= changes


OneGate = Callable[[str, str, str], None]


@pytest.fixture
def one_gate(walk: ModuleType, monkeypatch: pytest.MonkeyPatch) -> OneGate:
    """Replaces the gates of a kind by a single one."""

    def replace(kind: str, module: str, function: str) -> None:
        gate = walk.Gate(module, function, walk.GATES[kind][0].texts)
        monkeypatch.setitem(walk.GATES, kind, [gate])

    return replace


def test_verify_tokenizes_a_text_once_and_each_member_encodes_it_once(walk: ModuleType) -> None:
    found = walk.walks(["verify"], WORDS)["verify"]
    assert found.passed("tokenized") == walk.Passed(texts=2, members=1, mean=1, most=1, fewest=1)
    members = len(adhominem.load().members)
    assert members > 1
    assert found.passed("encoded") == walk.Passed(
        texts=2, members=members, mean=1, most=1, fewest=1
    )
    assert len(found.functions) > 100
    assert 10 < found.files < len(found.functions)
    assert found.changes > 10
    assert_within_budget("verify", found)


@pytest.mark.parametrize("command", ["predict", "rank", "roll", "cluster", "search"])
def test_each_text_is_tokenized_and_encoded_once(walk: ModuleType, command: str) -> None:
    found = walk.walks([command], 200)[command]  # of a text to roll, enough for a window
    for kind in walk.ALWAYS:
        passed = found.passed(kind)
        assert (passed.most, passed.fewest) == (1, 1), kind
    assert_within_budget(command, found)


def test_report_is_seen_to_vary_texts(walk: ModuleType) -> None:
    found = walk.walks(["report"], WORDS)["report"]
    assert_within_budget("report", found)
    varied = found.passed("varied")
    assert varied.texts == 2
    assert varied.members == len(adhominem.load().members)


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("adhominem.no_such_module", "Tokenizer.tokens"),
        ("adhominem.text.tokenizer", "Tokenizer.no_such_method"),
        ("adhominem.text.tokenizer", "TOKEN_PATTERN"),
    ],
)
def test_a_gate_that_is_not_there_is_an_error(
    walk: ModuleType, one_gate: OneGate, module: str, function: str
) -> None:
    one_gate("tokenized", module, function)
    with pytest.raises(LookupError, match=r"there is no function .* say in GATES of walk.py"):
        walk.walks(["verify"], WORDS)


def test_a_gate_through_which_nothing_passes_is_an_error(
    walk: ModuleType, one_gate: OneGate
) -> None:
    one_gate("encoded", "adhominem.questions.search.link", "groups_of")
    with pytest.raises(LookupError, match="verify: nothing was encoded"):
        walk.walks(["verify"], WORDS)


def test_the_lines_of_the_package_are_counted(walk: ModuleType) -> None:
    size = walk.package_size()
    assert size["Python"]["files"] > 50
    assert size["C"]["lines"] > 1_000
