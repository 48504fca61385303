"""Linking accounts: pairs and groups, up to a stated expected share of false ones."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import rich_rows, write_rows

from adhominem import answer, index_files
from adhominem.cli import main
from adhominem.errors import OptionError
from adhominem.questions.search.link import Link, _false_shares, groups_of


@pytest.fixture(scope="module")
def two_names(mixed_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Letters by 20 people, each under two names."""
    folder = tmp_path_factory.mktemp("two-names")
    rows = rich_rows("letters", 20, 6, "-twins-")
    for number, row in enumerate(rows):
        row["author"] += "-a" if number % 2 else "-b"
    texts = write_rows(folder / "letters.jsonl", rows)
    index_files([texts], folder / "index", model=mixed_folder, trials=0, jobs=1)
    return folder / "index"


def made(first: str, second: str, strength: float) -> Link:
    return Link(
        first=first,
        second=second,
        first_texts=1,
        second_texts=1,
        log10_bayes_factor=strength,
        verbal="",
        at_bound=False,
        expected_false_share=0.1,
        first_text="",
        second_text="",
    )


def test_links_hold_groups_together_and_the_weakest_is_told() -> None:
    links = [made("a", "b", 3.0), made("c", "d", 2.5), made("b", "c", 1.0), made("a", "c", 0.5)]
    groups = groups_of([*links, made("x", "y", 0.4)])
    assert [group.accounts for group in groups] == [("a", "b", "c", "d"), ("x", "y")]
    assert groups[0].weakest_log10_bayes_factor == 1.0


def test_the_expected_share_of_false_links_is_that_of_chance() -> None:
    rng = np.random.default_rng(0)
    shares = _false_shares(rng.normal(size=5_000), rng.normal(size=4_000), 100, 100)
    assert shares[-1] > 0.7
    assert (np.diff(shares) >= 0).all()
    clear = np.concatenate([np.full(20, 9.0), rng.normal(size=4_930)])
    assert _false_shares(clear, rng.normal(size=4_000), 100, 100)[19] < 0.05


def test_a_tail_of_chance_too_thin_to_be_drawn_is_seen_in_what_came_up() -> None:
    """Of all pairs of 400 accounts, one in fifty is of a kind whose Bayes factors vary more."""
    rng = np.random.default_rng(1)
    pairs = 400 * 399 // 2
    false = rng.exponential(size=pairs) * np.where(rng.random(pairs) < 0.02, 3, 1)
    came_up, drawn = np.sort(false)[-4_000:], rng.choice(false, 1_000)
    told = [
        int((_false_shares(came_up, drawn, 400, searched) <= 0.1).sum()) for searched in (0, 400)
    ]
    assert told[0] > 100  # all of them false
    assert told[1] < 10


def test_two_names_of_one_person_are_linked_more_often_than_others(
    two_names: Path, mixed_folder: Path
) -> None:
    links = answer("link", index=two_names, model=mixed_folder, rate=1.0)
    first = links.links[:10]
    right = sum(link.first[:-2] == link.second[:-2] for link in first)
    assert right >= 3  # by chance 10 in 39
    assert links.accounts == 40
    shares = [link.expected_false_share for link in links.links]
    assert shares == sorted(shares)


def test_rows_for_people_have_room_for_a_decision(
    two_names: Path, mixed_folder: Path, tmp_path: Path
) -> None:
    for name in ("links.csv", "links.jsonl", "links.html"):
        links = answer(
            "link", index=two_names, model=mixed_folder, rate=1.0, output=tmp_path / name
        )
    with open(tmp_path / "links.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(links.links)
    assert rows[0]["decision"] == ""
    lines = (tmp_path / "links.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[0])["first"] == rows[0]["first"]
    assert "not that they are one person" in (tmp_path / "links.html").read_text("utf-8")
    with pytest.raises(OptionError, match=r"is not a \.csv, \.jsonl or \.html file"):
        answer("link", index=two_names, model=mixed_folder, output=tmp_path / "links.xlsx")
    with pytest.raises(OptionError, match="rate"):
        answer("link", index=two_names, model=mixed_folder, rate=0)


def test_a_name_that_is_a_formula_is_quoted(two_names: Path, mixed_folder: Path) -> None:
    links = answer("link", index=two_names, model=mixed_folder, rate=1.0, limit=5)
    bad = replace(links, links=(made("=SUM(A1)", "b", 1.0),))
    assert "'=SUM(A1)" in bad.table("csv")


def test_the_command_prints_links(two_names: Path, mixed_folder: Path) -> None:
    call = ["link", "--index", str(two_names), "--model", str(mixed_folder), "--limit", "20"]
    shown = CliRunner().invoke(main, [*call, "--rate", "1"])
    assert shown.exit_code == 0, shown.output
    assert "A link says that two accounts should be looked at" in shown.output
    told = json.loads(CliRunner().invoke(main, [*call, "--json"]).stdout)
    assert told["accounts"] == 40
    assert "note" in told
