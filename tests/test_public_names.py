"""The public names, and the rule that imports point one way only.

A reader can follow a text through the rooms in order because no room needs a later one.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import adhominem

PACKAGE = Path(adhominem.__file__).parent
# The rooms in the order of the flow; each may use itself and what stands before it.
ROOMS = (
    "errors",
    "arrays",
    "statistics",
    "records",
    "processes",
    "compiled",
    "harmless",
    "text",
    "paper",
    "ngrams",
    "pairs",
    "score",
    "evaluation",
    "model",
    "verify",
    "jobs",
    "training",
    "render",
    "index",
    "questions",
)
ENTRANCES = ("__init__", "__main__", "cli", "web")  # may use every room
# Class names that are there twice: what a question takes, and what REST calls it.
THERE_TWICE = frozenset({"Side", "Texts"})
MODULES = sorted(PACKAGE.rglob("*.py"))
STUB = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imports(tree: ast.AST) -> set[str]:
    """The modules of this package that a tree imports anywhere, without the package's name."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: an import with dots is not counted here"
            names = [node.module or ""]
            if node.module == "adhominem":
                names = [f"adhominem.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        imported |= {name.partition(".")[2] for name in names if name.split(".")[0] == "adhominem"}
    return imported - {""}


def test_every_public_name_resolves_to_what_its_home_calls_by_it() -> None:
    for name in adhominem.__all__:
        assert getattr(adhominem, name) is not None
    for name, home in adhominem._HOMES.items():
        value = getattr(adhominem, name)
        assert value.__module__ == f"adhominem.{home}", name
        assert value.__name__ == name


def test_every_public_name_has_a_docstring() -> None:
    for name in adhominem._HOMES:
        assert getattr(adhominem, name).__doc__, name


def test_every_import_of_the_stub_is_a_public_name() -> None:
    for_mypy = {
        alias.name: (node.module or "").removeprefix("adhominem.")
        for node in STUB.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert for_mypy == adhominem._HOMES
    assert set(adhominem.__all__) == {*adhominem._HOMES, "__version__"}
    assert len(set(adhominem.__all__)) == len(adhominem.__all__)


def test_dir_lists_the_public_names_and_star_brings_them() -> None:
    assert set(adhominem.__all__) <= set(dir(adhominem))
    brought: dict[str, object] = {}
    exec("from adhominem import *", brought)
    assert set(adhominem.__all__) <= set(brought)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'verdict'"):
        adhominem.verdict  # noqa: B018
    assert not hasattr(adhominem, "numpy")


def test_every_module_stands_in_a_known_room() -> None:
    rooms = {module_name(path).split(".")[0] for path in MODULES}
    assert {"errors", "text", "pairs", "evaluation"} <= rooms
    assert rooms <= {*ROOMS, *ENTRANCES}


def test_a_class_name_stands_for_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(module_name(path))
    twice = {name: modules for name, modules in places.items() if len(modules) > 1}
    assert {name: twice[name] for name in twice.keys() - THERE_TWICE} == {}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_point_to_earlier_rooms_only(path: Path) -> None:
    room = module_name(path).split(".")[0]
    used = {name.split(".")[0] for name in imports(ast.parse(path.read_text("utf-8")))}
    if room in ROOMS:
        allowed = {*ROOMS[: ROOMS.index(room) + 1]}
    else:
        allowed = {*ROOMS, *ENTRANCES, "__version__"}
    assert used <= allowed


def test_the_table_for_contributors_is_the_rooms_in_order() -> None:
    page = (PACKAGE.parent / "CONTRIBUTING.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)(\.py|/)` \|", page, flags=re.MULTILINE)
    rooms = [*ROOMS, *(name for name in ENTRANCES if not name.startswith("__"))]
    assert [name for name, _ in listed] == rooms
    for name, suffix in listed:
        assert (PACKAGE / f"{name}{suffix}").exists()


def test_the_rule_would_notice_an_import_wherever_it_stands() -> None:
    code = """
    def late():
        from adhominem.evaluation.measures import check_leaks
    if TYPE_CHECKING:
        import adhominem.pairs.split
    from adhominem import cli
    from numpy import array
    """
    tree = ast.parse("if True:\n" + code)
    assert imports(tree) == {"evaluation.measures", "pairs.split", "cli"}


def test_only_the_terminal_prints() -> None:
    for path in MODULES:
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        ]
        assert not calls or module_name(path) == "cli.terminal", path
