"""The page of clusters: what it says, and that nothing in a name becomes markup."""

from __future__ import annotations

from adhominem.evaluation.pan import measure_clusters
from adhominem.questions.cluster.ask import ClusteredText, Clustering
from adhominem.questions.cluster.cluster import Cluster
from adhominem.questions.cluster.page import PAGE, odds, probability

NASTY = '</style><b id="bad">&amp;'


def made(authors: tuple[str, ...] = ("Ann", "Ann", NASTY)) -> Clustering:
    """Two texts together, and one alone."""
    homes = (1, 1, 2)
    return Clustering(
        corpus="letters",
        authors=2,
        fewest_authors=1,
        most_authors=3,
        prior_same_author=0.25,
        clusters=(
            Cluster(number=1, texts=(0, 1), log10_odds=1.2, nearest=2, nearest_log10_odds=-0.5),
            Cluster(number=2, texts=(2,), log10_odds=None, nearest=1, nearest_log10_odds=-0.5),
        ),
        texts=tuple(
            ClusteredText(
                name=f"{NASTY}{at}",
                author=author,
                words=700,
                cluster=home,
                log10_bayes_factor=0.4 if home == 1 else None,
                nearest=3 - home,
                nearest_log10_bayes_factor=0.6 if at == 1 else -0.3,
            )
            for at, (author, home) in enumerate(zip(authors, homes, strict=True))
        ),
        measures=measure_clusters(homes, authors) if all(authors) else None,
        population="input",
        population_texts=3,
        remarks=("the corpus is small",),
        model="general-en",
        model_sha256="ab" * 32,
        version="1.2.3",
    )


def test_the_page_tells_groups_odds_and_doubt() -> None:
    page = PAGE.whole(made())
    assert "3 texts, 2 authors (from 1 to 3, if mergers" in page
    assert "16:1" in page
    assert "0.94" in page
    assert "+0.60 (2), nearer" in page
    assert "The corpus is small." in page
    assert "adjusted Rand index 1.000" in page
    assert "0.25 that two texts, or two groups, are by one person" in page


def test_without_known_authors_there_is_no_column_for_them() -> None:
    shown = PAGE.fragment(made(("", "", "")))
    assert "known authors" not in shown
    assert "BCubed" not in shown


def test_no_name_becomes_markup() -> None:
    page = PAGE.whole(made())
    assert '<b id="bad">' not in page
    assert "http" not in page.replace("http-equiv", "")


def test_odds_and_probabilities_are_as_people_say_them() -> None:
    assert [odds(value) for value in (0.0, 0.5, 2.3, -1.0)] == ["1.0:1", "3.2:1", "200:1", "1:10"]
    assert [probability(value) for value in (0.0, 1.0, 3.0, -3.0, -900.0)] == [
        "0.50",
        "0.91",
        "> 0.99",
        "< 0.01",
        "< 0.01",
    ]
