"""The page of a ranking: self-contained, and with every number where it belongs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adhominem.questions.rank.ask import (
    DisputedText,
    RankedCandidate,
    RankedCase,
    Ranking,
    evidence,
)
from adhominem.questions.rank.evidence import RankingPopulation
from adhominem.questions.rank.page import PAGE, candidate_rows, sentences, trust_rows
from adhominem.questions.rank.trials import Confusion, Share, Trust
from adhominem.questions.rank.versus import Versus, VersusNgram, VersusPassage
from adhominem.verify.cautions import Caution

if TYPE_CHECKING:
    from playwright.sync_api import Browser


BAD = "<script>alert(1)</script>"


def candidate(name: str, log10: float, share: float) -> RankedCandidate:
    return RankedCandidate(
        name=name,
        texts=3,
        words=1_500,
        log10_bayes_factor=log10,
        verbal="weak support for",
        at_bound=log10 > 1,
        posterior=share,
    )


def trust(names: list[str]) -> Trust:
    return Trust(
        candidates=len(names),
        of_candidates=len(names) + 5,
        texts=1,
        words=500,
        population=20,
        first=Share(count=8, of=10, low=0.44, high=0.97),
        named_right=Share(count=7, of=9, low=0.4, high=0.97),
        missed=Share(count=2, of=10, low=0.02, high=0.56),
        none_right=Share(count=0, of=0, low=0.0, high=1.0),
        macro_f1=0.7,
        macro_f1_interval=(0.5, 0.9),
        cllr=0.4,
        cllr_interval=(0.2, 0.6),
        confusions=(
            *(
                Confusion(author=name, left_out=False, answer=name, trials=3 + at)
                for at, name in enumerate(names)
            ),
            Confusion(author=names[0], left_out=True, answer=None, trials=77),
            Confusion(author=names[0], left_out=False, answer=names[1], trials=55),
        ),
        seed=4,
    )


def ranking(names: int = 3, **changes: Any) -> Ranking:
    people = [BAD, *(f"author {number}" for number in range(1, names))]
    case = RankedCase(
        disputed=(DisputedText(name=BAD, words=500, sha256="ab" * 32),),
        candidates=tuple(candidate(name, 1.2 - at, 0.2) for at, name in enumerate(people)),
        posterior_none=0.4,
        verbal=f"weak support for {BAD}",
        decision="one of the candidates",
        answer=BAD,
    )
    versus = Versus(
        first=BAD,
        second="author 1",
        ngrams=(
            VersusNgram(
                ngram="whilst", channel="tokens", contribution=0.5, disputed_rate=2.0,
                first_rate=1.5, second_rate=0.0, words=(), with_it=2,
            ),
            VersusNgram(
                ngram="·th", channel="characters", contribution=-0.1, disputed_rate=20.0,
                first_rate=15.0, second_rate=30.0, words=("the", BAD), with_it=0,
            ),
        ),
        passages=(
            VersusPassage(text=0, start=0, end=4, words="It \n", contribution=0.3),
            VersusPassage(text=0, start=5, end=9, words=BAD, contribution=-0.3),
        ),
    )  # fmt: skip
    made = Ranking(
        cases=(case,),
        prior_none=0.5,
        prior_candidate=0.5 / names,
        population=RankingPopulation(
            source="other candidates", texts=9, fewest=6, most=6, told=f"others, {BAD}"
        ),
        trust=trust(people),
        versus=(versus,),
        warnings=(Caution("short", f"fewer words: {BAD}"),),
        seed=0,
        model="m",
        model_sha256="cd" * 32,
        version="1.2.3",
    )
    return replace(made, **changes)


def test_the_page_asks_for_nothing_and_escapes_what_is_in_it() -> None:
    page = PAGE.whole(ranking())
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert not re.search(r"\b(src|href|style|onload)=|url\(|@import", page)


def test_every_candidate_has_its_numbers_and_bars_on_the_right_side() -> None:
    page = PAGE.whole(ranking())
    rows = re.findall(r"<tr.*?</tr>", page[page.index('<table class="bars"') :], re.DOTALL)
    assert "+1.20*" in rows[1]
    assert 'class="for" x="100.0" y="1" width="100.0"' in rows[1]
    assert 'class="against" x="33.3" y="1" width="66.7"' in rows[3]
    assert 'class="share" x="0" y="1" width="80.0"' in rows[4]  # of none


def test_the_confusions_are_a_table_or_where_they_are_many_a_list() -> None:
    few = PAGE.whole(ranking())
    assert 'class="right1">' in few or 'class="right4">' in few
    assert ">77</td>" in few
    many = PAGE.whole(ranking(20))
    assert "Who was most often taken for whom" in many
    assert "<td>author 1</td><td>55</td>" in many
    assert ">77</td>" not in many  # that was right


def test_what_speaks_for_whom_is_coloured_by_its_sign() -> None:
    page = PAGE.whole(ranking())
    part = page[page.index("What speaks for") :]
    assert 'class="a4">+0.217' in part
    assert 'class="b1">−0.043' in part
    assert 'class="a4" title="+0.130 for &lt;script&gt;' in part
    assert 'class="b4" title="+0.130 for author 1"' in part
    assert "as in the, &lt;script&gt;" in part


def test_several_cases_have_a_table_of_answers() -> None:
    case = ranking().cases[0]
    none = replace(case, answer=None, decision="none of them")
    page = PAGE.whole(ranking(cases=(case, none)))
    assert page.count("<details>") == 2
    assert "<td>none of them</td>" in page


def test_without_trials_it_says_so() -> None:
    assert "was not tried on known texts" in PAGE.whole(ranking(trust=None, versus=()))


def test_rows_beyond_the_first_are_put_together() -> None:
    rows = candidate_rows(ranking(5).cases[0], 2)
    assert [row[0] for row in rows] == [BAD, "author 1", "3 more candidates", "none of them"]
    assert rows[2][1:] == [9, 4_500, "≤ −0.80", "0.600"]


def test_what_was_not_tried_has_no_row() -> None:
    assert [row[0] for row in trust_rows(trust(["a", "b"]))] == [
        "author ranked first",
        "right where somebody is named",
        "“none” though it was one of them",
        "macro-F1",
        "Cllr",
    ]


def test_without_a_statement_there_are_no_bars_posteriors_or_words_of_support() -> None:
    case = ranking().cases[0]
    rows = tuple(
        replace(row, verbal="no statement is made", posterior=None) for row in case.candidates
    )
    silent = replace(
        case,
        candidates=rows,
        posterior_none=None,
        verbal="No statement is made: it is Dutch.",
        decision="undecided",
        answer=None,
    )
    made = ranking(cases=(silent,), trust=None, versus=())
    page = PAGE.whole(made)
    assert "<strong>No statement is made: it is Dutch.</strong>" in page
    assert 'class="answer"' not in page
    assert "none answer" not in page
    assert "weak support" not in page
    assert not re.search(r'class="(for|against|share)" x="[\d.]+" y="1" width="[^0]', page)
    assert [row[-1] for row in candidate_rows(silent, 2)] == ["–"] * 4
    said = sentences(made, silent)
    assert said["Evidence"] == silent.verbal
    assert "Answer, if one must be given" not in said


def test_the_evidence_is_told_also_where_it_speaks_against_all() -> None:
    case = ranking().cases[0]
    assert evidence(case.candidates).startswith(f"weak support for {BAD}")
    against = replace(case.candidates[0], log10_bayes_factor=-0.5, verbal="weak support against")
    assert evidence([against]) == "at least weak support against every candidate"


def test_a_browser_has_nothing_to_complain_of(browser: Browser, tmp_path: Path) -> None:
    (path := tmp_path / "rank.html").write_text(PAGE.whole(ranking(12)), "utf-8")
    for width in (1280, 360):
        page = browser.new_page(viewport={"width": width, "height": 800})
        asked: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.on("console", lambda message, told=complaints: told.append(message.text))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert asked == [path.as_uri()]
        assert complaints == []
