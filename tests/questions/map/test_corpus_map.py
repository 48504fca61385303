"""The map of a corpus: its numbers, and its page as text."""

from __future__ import annotations

import base64
import json
import re
import sys
from copy import copy
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import NgramRun, SmallRun, any_words, rich_rows

from adhominem import Document, Population, Verifier, load
from adhominem.harmless import spelt_out
from adhominem.jobs.run import Run
from adhominem.questions.map.ask import WhatIsAlike
from adhominem.questions.map.corpus_map import (
    CorpusMap,
    lev_products,
    principal_components,
    projections,
)
from adhominem.questions.map.page import map_page, markers
from adhominem.questions.question import Texts
from adhominem.score.calibration import Bounds, Calibration, Weights
from adhominem.score.three_level import ThreeLevelParameters
from adhominem.verify.cautions import UNCALIBRATED

NASTY = '</script><b>"&\u2028'


def documents_of(rows: list[dict[str, str]]) -> list[Document]:
    return [Document(**row) for row in rows]


LETTERS = documents_of(rich_rows("letters", 4, 3, "-map-"))


@pytest.fixture(scope="module")
def ngrams(ngram_run: NgramRun) -> Verifier:
    return load(ngram_run.folder)


def drawn_of(verifier: Verifier, documents: list[Document], **options: Any) -> CorpusMap:
    texts = Texts(tuple(documents), "letters")
    return WhatIsAlike(texts=texts, **options).answer(verifier.keeping(), Run())


@pytest.fixture(scope="module")
def drawn(ngrams: Verifier) -> CorpusMap:
    """Twelve letters by four authors."""
    return drawn_of(ngrams, LETTERS, population=Texts(name="input"))


# ---- the numbers


@pytest.mark.parametrize("with_population", [False, True])
@pytest.mark.parametrize("kind", ["network", "ngrams", "shipped"])
def test_all_pairs_get_the_score_of_the_verifier(
    kind: str, with_population: bool, small_run: SmallRun, ngrams: Verifier
) -> None:
    """The shipped model is an ensemble, calibrated under all conditions."""
    verifier = {
        "network": lambda: load(small_run.folder),
        "ngrams": lambda: ngrams,
        "shipped": load,
    }
    chosen = verifier[kind]()
    levs = chosen.encode(LETTERS[:8])
    population = Population.of(levs) if with_population else None
    counted: list[int] = []
    result = chosen.scorer.all_pairs(levs, population, on_pairs=counted.append)
    first, second = np.triu_indices(len(levs), 1)
    expected = chosen.scorer(levs[first], levs[second], population)
    for name in ("unbounded", "log_bayes_factor"):
        one, other = getattr(result, name), getattr(expected, name)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    assert sum(counted) == 28


def test_log10_bayes_factors_are_those_of_verify(ngrams: Verifier) -> None:
    drawn = drawn_of(ngrams, LETTERS[:4])
    told = ngrams.verify(LETTERS[1], LETTERS[3]).log10_bayes_factor
    assert drawn.log10_bayes_factors[1, 3] == pytest.approx(told, abs=1e-9)


def test_a_join_is_labelled_by_the_mean_of_its_pairs(drawn: CorpusMap) -> None:
    groups = [[at] for at in range(len(drawn.documents))]
    for join in drawn.joins:
        one, other = groups[join.first], groups[join.second]
        mean = drawn.log10_bayes_factors[np.ix_(one, other)].mean()
        assert join.likeness == pytest.approx(mean, abs=3e-6)  # with what breaks ties
        groups.append(one + other)


def bounded(verifier: Verifier, lower: float, upper: float, *cells: Bounds) -> Verifier:
    """The same model with bounds, and nothing else of a calibration."""
    calibration = Calibration(
        members=(ThreeLevelParameters(),),
        layer_weights=(1.0,),
        weights=Weights(),
        lower_bound=lower,
        upper_bound=upper,
        bounds=cells,
        tokens=(0, 10_000),
    )
    changed = copy(verifier)
    changed.scorer = replace(verifier.scorer, calibration=calibration)
    return changed


def test_at_a_bound_the_number_behind_it_decides(ngrams: Verifier) -> None:
    free = drawn_of(ngrams, LETTERS)
    result = drawn_of(bounded(ngrams, -1e-9, 1e-9), LETTERS)
    assert np.nanmax(np.abs(result.log10_bayes_factors)) < 1e-8
    assert result.nearest == free.nearest
    assert [(j.first, j.second) for j in result.joins] == [(j.first, j.second) for j in free.joins]
    assert result.bounds == pytest.approx((-1e-9 / np.log(10), 1e-9 / np.log(10)))


def test_the_bounds_that_are_told_are_the_widest_of_all_pairs(ngrams: Verifier) -> None:
    cell = Bounds(
        texts=1,
        tokens=1_500,
        population=0,
        lower=-4.0,
        upper=3.0,
        same_author=1,
        different_authors=1,
    )
    limited = bounded(ngrams, -2.0, 1.0, cell)
    short = LETTERS[:3]
    long = [replace(text, text=any_words(2_000 + at)) for at, text in enumerate(short)]
    for texts, limits in ((short, (-2, 1)), (long, (-4, 3)), (short + long, (-4, 3))):
        drawn = drawn_of(limited, texts)
        assert drawn.bounds == pytest.approx([limit / np.log(10) for limit in limits])


def test_nearest_are_the_highest_bayes_factors_and_never_oneself(drawn: CorpusMap) -> None:
    for at, nearest in enumerate(drawn.nearest):
        row = drawn.log10_bayes_factors[at]
        others = [to for to in range(len(row)) if to != at]
        best = sorted(others, key=lambda to: -row[to])[:5]
        np.testing.assert_allclose(row[list(nearest)], row[best], atol=1e-9)
        assert at not in nearest
        assert len(nearest) == 5


def test_agreement_counts_pairs_of_named_authors(drawn: CorpusMap) -> None:
    table, names = drawn.log10_bayes_factors, [document.author for document in drawn.documents]
    counts = [0, 0, 0, 0]
    for at in range(12):
        for to in range(at):
            one = names[at] == names[to]
            counts[0 if one else 2] += 1
            counts[1 if one else 3] += int(table[at, to] > 0 if one else table[at, to] < 0)
    agreement = drawn.agreement
    assert counts == [
        agreement.one_name,
        agreement.one_name_above,
        agreement.two_names,
        agreement.two_names_below,
    ]
    assert counts[0] == 4 * 3
    unnamed = replace(drawn, documents=tuple(replace(d, author="") for d in drawn.documents))
    assert (unnamed.agreement.one_name, unnamed.agreement.two_names) == (0, 0)


def test_points_are_of_centred_levs_of_unit_length() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(9, 5)).astype(np.float32), rng.normal(size=(9, 3)).astype(np.float32)]
    population = Population.of(rng.normal(size=(20, 9)))  # and the logarithm of its tokens
    for origin, given in ((np.concatenate(parts, 1).mean(0), None), (None, population)):
        centre = population.lev_mean if origin is None else origin
        rows = []
        for part, middle in zip(parts, np.split(centre[:8], [5]), strict=True):
            moved = part - middle
            rows.append(moved / np.linalg.norm(moved, axis=1, keepdims=True) / np.sqrt(2))
        expected = np.concatenate(rows, axis=1)
        result = lev_products(parts, given)
        np.testing.assert_allclose(result, expected @ expected.T, atol=1e-6)


def test_principal_components_are_those_of_a_decomposition() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 6)) * [5, 3, 1, 1, 1, 1]
    result = principal_components(rows @ rows.T)
    centred = rows - rows.mean(axis=0)
    _, values, directions = np.linalg.svd(centred)
    expected = centred @ directions[:2].T
    np.testing.assert_allclose(np.abs(result.places), np.abs(expected), atol=1e-9)
    assert result.shares == pytest.approx(values[:2] ** 2 / (values**2).sum())
    for axis in (0, 1):  # of either sign the same one, always
        column = result.places[:, axis]
        assert column[np.argmax(np.abs(column))] > 0


def test_t_sne_is_drawn_where_scikit_learn_is_installed_and_repeats_by_its_seed() -> None:
    pytest.importorskip("sklearn")
    rows = np.random.default_rng(0).normal(size=(30, 6))
    once, again, other = (projections(rows @ rows.T, seed) for seed in (1, 1, 2))
    assert [projection.name for projection in once][:2] == ["PCA", "t-SNE"]
    for one, two in zip(once, again, strict=True):
        np.testing.assert_array_equal(one.places, two.places)
    np.testing.assert_array_equal(once[0].places, other[0].places)


def test_without_the_extras_there_is_the_pca(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    rows = np.random.default_rng(0).normal(size=(30, 6))
    assert [projection.name for projection in projections(rows @ rows.T, 0)] == ["PCA"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_documents_have_a_map_too(count: int, ngrams: Verifier) -> None:
    drawn = drawn_of(ngrams, LETTERS[:count])
    assert len(drawn.joins) == count - 1
    assert sorted(drawn.order) == list(range(count))
    (pca,) = drawn.projections
    assert np.isfinite(pca.places).all()
    assert (np.ptp(pca.places[:, 1]) > 0) == (count > 2)
    assert map_page(drawn).count("<tr>") == count + 1
    json.dumps(drawn.to_json(), allow_nan=False)


def test_copies_lie_on_each_other_and_are_remarked_on(ngrams: Verifier) -> None:
    copies = [replace(LETTERS[0], id="copy", text=f" {LETTERS[0].text}\n"), *LETTERS]
    drawn = drawn_of(ngrams, copies)
    np.testing.assert_allclose(drawn.projections[0].places[0], drawn.projections[0].places[1])
    assert {drawn.joins[0].first, drawn.joins[0].second} == {0, 1}
    (remark,) = [remark for remark in drawn.remarks if "copies" in remark]
    assert remark.endswith(f"{LETTERS[0].id} = copy")
    same = drawn_of(ngrams, [LETTERS[0]] * 12)  # nothing but one text
    assert all(np.isfinite(projection.places).all() for projection in same.projections)
    assert "and 6 more" in "".join(same.remarks)
    map_page(same)


def test_remarks_say_what_to_beware_of(ngrams: Verifier) -> None:
    long = Document(text=any_words(4_400), id="long", author="x")
    short = Document(text="the of and a", id="short", author="x")
    drawn = drawn_of(ngrams, [long, short])
    told = "\n".join(drawn.remarks)
    assert "fewer than 500 words: short" in told
    assert "1 texts of more than 4,000 words without a population" in told
    assert UNCALIBRATED in drawn.remarks
    assert not drawn.calibrated


# ---- the page as text


class Page(HTMLParser):
    """The tags of a page, its text, and what its scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] == "style":
            self.styles.append(data)
        else:
            self.text += data


@pytest.fixture(scope="module")
def nasty(drawn: CorpusMap) -> CorpusMap:
    documents = tuple(
        replace(document, name=f"{NASTY}{at}", author=f"{NASTY} author {at % 3}" if at % 4 else "")
        for at, document in enumerate(drawn.documents)
    )
    return replace(
        drawn,
        documents=documents,
        corpus=NASTY,
        model=NASTY,
        population=f"x{NASTY.replace('/', '')}",
        remarks=(NASTY,),
    )


def test_names_are_shown_and_never_become_markup(nasty: CorpusMap) -> None:
    text = map_page(nasty)
    page = Page(text)
    assert page.open == []
    assert not [tag for tag, _ in page.tags if tag == "b"]
    assert [tag for tag, _ in page.tags].count("script") == len(page.scripts) == 2
    assert text.count("</script>") == 2
    data = json.loads(page.scripts[0])
    assert not set("<>&") & set(page.scripts[0])
    expected = [spelt_out(document.name) for document in nasty.documents]
    assert [document["name"] for document in data["documents"]] == expected
    for document in nasty.documents:
        assert spelt_out(document.name) in page.text
    assert f"Map of {spelt_out(NASTY)}" in page.text
    assert "not named 3" in " ".join(page.text.split())


def test_the_page_fetches_nothing_and_runs_only_its_own_script(drawn: CorpusMap) -> None:
    text = map_page(drawn)
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "base", "img")
        assert not set(attributes) & {"src", "href", "srcset", "action", "style"}
        assert not [name for name in attributes if name.startswith("on")]
    assert set(re.findall(r"https?://[^\"'\s]+", text)) == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"url\([^)]*\)", text)) == {"url(#inside)"}
    assert "@import" not in text
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    for source in (page.scripts[1], page.styles[0]):
        digest = base64.b64encode(sha256(source.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_page_says_what_it_is_and_what_it_is_not(drawn: CorpusMap) -> None:
    text = " ".join(Page(map_page(drawn)).text.split())
    for said in (
        "Map of letters",
        "12 documents by 4 authors",
        "The corpus is its own relevant population (12 texts).",
        "A Bayes factor is not a verdict, and a cluster is not proof.",
        f"SHA-256 {drawn.model_sha256}",
        f"AdHominem {drawn.version} with the model {drawn.model}",
        "average linkage, seed 0",
        "There are 66 here",
        "of the 12 pairs under one name,",
        "of the 54 under two names,",
    ):
        assert said in text
    alone = replace(drawn, population="none", population_texts=0)
    assert "No relevant population was used" in map_page(alone)
    given = replace(drawn, population="/home/me/secret/novels", population_texts=77)
    assert "The relevant population is novels (77 texts)" in map_page(given)
    assert "secret" not in map_page(given)
    bounded = replace(drawn, bounds=(-1.5, 2.25))
    assert "no log10 Bayes factor below −1.50 or above +2.25" in " ".join(map_page(bounded).split())


def test_a_page_is_the_same_each_time(drawn: CorpusMap, ngrams: Verifier) -> None:
    again = drawn_of(ngrams, LETTERS, population=Texts(name="input"))
    assert map_page(again) == map_page(drawn)


def contrast_with_white(color: str) -> float:
    """The contrast ratio of the web's guidelines: 1 for white, 21 for black."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    red, green, blue = linear
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def test_authors_have_looks_that_differ_and_can_be_read() -> None:
    names = [f"author {number:03}" for number in range(112)]
    result = markers([*names, "", *names])
    assert [marker.author for marker in result] == [*names, ""]
    assert len({(marker.color, marker.path, marker.hollow) for marker in result}) == 113
    for one, other in pairwise(result):
        assert one.path != other.path
        assert one.color != other.color
    assert min(contrast_with_white(marker.ink) for marker in result) >= 4.5
    assert contrast_with_white("#FFFFFF") == pytest.approx(1)
    assert contrast_with_white("#000000") == pytest.approx(21)
    assert not result[-1].known


def test_a_short_name_leaves_out_the_author(drawn: CorpusMap) -> None:
    names = ["austen/emma", "austen_emma", "austen_-_emma", "austen", "austen/", "emma"]
    documents = tuple(
        replace(document, name=name, author="austen")
        for document, name in zip(drawn.documents, names * 2, strict=True)
    )
    data = json.loads(Page(map_page(replace(drawn, documents=documents))).scripts[0])
    short = [document["short"] for document in data["documents"]]
    assert short[:6] == ["emma", "emma", "emma", "austen", "austen/", "emma"]
    labels = [document["label"] for document in data["documents"]]
    assert labels[:6] == [*["austen: emma"] * 3, "austen", "austen/", "austen: emma"]


def test_thirteen_authors_have_thirteen_shapes_and_more_than_sixteen_are_told_of() -> None:
    made = markers([f"author {at}" for at in range(13)])
    assert len({marker.path for marker in made}) == 13
    many = markers([f"author {at:03}" for at in range(200)])
    assert len({(marker.path, marker.color, marker.hollow) for marker in many}) == 200
    assert len({marker.path for marker in many[:16]}) == 16
