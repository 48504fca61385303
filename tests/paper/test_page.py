"""The page that leads through the paper's room names what is there."""

from __future__ import annotations

import re
from importlib import import_module
from operator import attrgetter

import pytest

import adhominem.paper

ROWS = re.findall(r"\| +(\S+)\.py +\| (\S+) +\|", adhominem.paper.__doc__ or "")


@pytest.mark.parametrize(("path", "name"), sorted(set(ROWS)))
def test_every_step_of_the_paper_is_where_the_page_says(path: str, name: str) -> None:
    module = import_module(
        f"adhominem.{path if '/' in path else f'paper/{path}'}".replace("/", ".")
    )
    assert attrgetter(name)(module) is not None


def test_the_page_has_all_equations_and_algorithms() -> None:
    page = adhominem.paper.__doc__ or ""
    assert len(ROWS) == page.count(".py  ") + page.count(".py |") >= 25
    for step in ("Algorithm 1", "Algorithm 2", "Algorithm 3", "Eq. 1,", "Eq. 16", "Eq. 17"):
        assert step in page
