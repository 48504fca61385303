"""docs/terminology.md names what is there: every name in backticks exists in the package."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import adhominem

PACKAGE = Path(adhominem.__file__).parent
PAGE = PACKAGE.parent / "docs" / "terminology.md"
NAMES = sorted(set(re.findall(r"`([^`]+)`", PAGE.read_text("utf-8"))))
TREES = [ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))]


def defined(tree: ast.AST) -> set[str]:
    """All names that a tree defines: classes, functions, arguments, variables, attributes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def members() -> dict[str, set[str]]:
    """What each class defines, those of its bases in the package included."""
    by_class: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for tree in TREES:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                by_class[node.name] |= defined(node)
                bases[node.name] |= {ast.unparse(base) for base in node.bases}
    for name, inherited in bases.items():
        for base in inherited & by_class.keys():
            by_class[name] |= by_class[base]
    return by_class


DEFINED = set().union(*map(defined, TREES))
MEMBERS = members()
STRINGS = {
    node.value
    for tree in TREES
    for node in ast.walk(tree)
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
}


def exists(name: str) -> bool:
    """Whether a class has such a member, or the package such a name, or such a string."""
    owner, dot, member = name.partition(".")
    if dot and owner in MEMBERS:
        return member in MEMBERS[owner]
    return name in DEFINED or name in STRINGS


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_page_exists_in_the_package(name: str) -> None:
    assert exists(name)


def test_a_name_that_is_gone_would_be_noticed() -> None:
    assert len(NAMES) > 80
    assert exists("ThreeLevelParameters.genre_part")
    assert exists("--population")
    assert exists("machine.safetensors")
    for name in ("Genres.genre_atypicality", "Scores.context", "kinds.json", "--kind"):
        assert not exists(name)
