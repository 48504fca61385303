"""Fragments and the page: the user's text and nothing of it as a tag, under a strict policy."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from math import log

import pytest
from hypothesis import given
from made_up import (
    BAD,
    FIRST,
    SECOND,
    any_explanations,
    any_texts,
    explained,
    explanation,
    verification,
)

from adhominem.render import html as module
from adhominem.render.html import (
    SCRIPT,
    STYLE,
    Mark,
    explanation_fragment,
    explanation_page,
    heat_map,
)
from adhominem.render.layout import LEVELS
from adhominem.verify.explanation import (
    AttendedWindow,
    ExplainedPassage,
    ExplainedText,
    Explanation,
    TextInWindows,
    TokenAttention,
)
from adhominem.verify.verification import ComparedDocument, PopulationUse, Side

VOID = {"meta", "input"}
INSIDE = {"span", "mark", "div"}  # of a heat map


class Page(HTMLParser):
    """The tags of a page, its text, and the text of each heat map."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.maps: list[str] = []
        self.inline: dict[str, str] = {}
        self._depth: int | None = None  # of the heat map that is being read
        self.feed(str(text))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if self._depth is not None:
            assert tag in INSIDE
        if ("class", "heat") in attrs:
            self._depth = len(self.open)
            self.maps.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if self._depth == len(self.open):
            self._depth = None

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            self.inline[self.open[-1]] = data
            return
        self.text += data
        if self._depth is not None:
            self.maps[-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def plain(self) -> str:
        return " ".join(self.text.split())


def as_read(text: str) -> str:
    """What no page may hold is replaced, and nothing else."""
    return re.sub("[\0\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


@given(any_texts())
def test_a_heat_map_reads_back_as_the_text(text: ExplainedText) -> None:
    assert Page(heat_map(text)).maps == [as_read(text.text)]


@given(any_explanations())
def test_a_fragment_has_each_text_once_and_only_our_own_tags(result: Explanation) -> None:
    fragment = explanation_fragment(result)
    page = Page(fragment)
    by_side = sorted(result.texts, key=lambda text: text.side == "second")
    assert page.maps == [as_read(text.text) for text in by_side]
    for tag, attributes in page.tags:
        assert tag not in ("script", "style", "img", "a", "iframe", "form")
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
    fragment.encode("utf-8")


@given(any_texts())
def test_a_long_text_in_parts_reads_back_as_the_text(text: ExplainedText) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LONG", 0)
        patch.setattr(module, "_PART", 1)
        page = Page(heat_map(text))
    assert page.maps == [as_read(text.text)]
    plain = Page(heat_map(text))
    begun, expected = (
        [span["title"] for span in shown.all("span") if "tabindex" in span]
        for shown in (page, plain)
    )
    assert begun == expected


def test_a_long_text_is_cut_at_its_line_ends_and_passages_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_LONG", 10)
    monkeypatch.setattr(module, "_PART", 6)
    passages = (ExplainedPassage(0, 14, 0.0, 0.5), ExplainedPassage(16, 20, 0.0, 0.5))
    text = ExplainedText("first", "", "one two\n\n  six\n\nnine", passages)
    assert re.sub(' title="[^"]*"', "", heat_map(text)) == (
        '<div class="heat" dir="auto"><div class="part">'
        '<span class="passage w1" tabindex="0">one two\n</span>\n</div>'
        '<div class="part"><span class="passage w1 more">  six</span>\n\n</div>'
        '<div class="part"><span class="passage w1" tabindex="-1">nine</span></div></div>'
    )


def test_windows_come_first_with_the_prefix_and_a_space_between_tokens() -> None:
    tokens = (TokenAttention(0, 5, 0.6), TokenAttention(6, 7, 0.2))
    window = AttendedWindow("net", 0, 7, 0.75, f"<{BAD}>", 0.2, tokens)
    rest = replace(window, attention=0.25, prefix="")
    result = explanation("b\x1b\n & !", "x")
    texts = [TextInWindows(**vars(text), windows=(window, rest)) for text in result.texts[:1]]
    page = Page(explanation_fragment(replace(result, texts=(*texts, *result.texts[1:]))))
    assert page.all("input")[0]["value"] == "windows"
    assert "checked" in page.all("input")[0]
    assert [shown["class"] for shown in page.all("i")] == ["w2", "w0"]
    assert [shown["class"] for shown in page.all("b")] == ["t3", "t3"]  # 0.2 is below an even share
    assert f"75.0% <{BAD}> b␛ & !" in page.plain()
    assert "25.0% b␛ & !" in page.plain()


def test_only_tokens_with_a_colour_are_told_apart() -> None:
    tokens = (TokenAttention(0, 3, 0.9), TokenAttention(4, 7, 0.1))
    text = ExplainedText("first", "", "one two", (ExplainedPassage(0, 7, 0.0, 1.0, tokens),))
    assert [span["class"] for span in Page(heat_map(text)).all("span")] == ["passage w1", "t3"]


def test_the_tags_of_a_text_are_shown_and_never_become_tags() -> None:
    result = explanation(f"{BAD} & {BAD}", '"><img src=x onerror=alert(1)>')
    page = Page(explanation_page(result))
    assert page.maps == [f"{BAD} & {BAD}", '"><img src=x onerror=alert(1)>']
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not page.all("img")
    # twice in the text; in the title, the head, a warning, and a name twice; as a word and a name
    assert page.text.count(BAD) == 9


def test_what_lies_between_passages_is_not_coloured() -> None:
    tokens = (TokenAttention(3, 6, 1.0),)
    text = ExplainedText(
        "first", "", "a\n\nbcd \r\n e", (ExplainedPassage(3, 8, 0.0, 1.0, tokens),)
    )
    shown = heat_map(text)
    assert re.fullmatch(
        r'<div class="heat" dir="auto">a\n\n<span class="passage w1" tabindex="0" title="[^"]*">'
        r'<span class="t1" title="[^"]*">bcd</span> &#13;</span>\n e</div>',
        shown,
    )


def test_even_attention_is_pale_and_a_passage_that_was_not_read_has_no_colour() -> None:
    tokens = tuple(TokenAttention(at, at + 1, 0.1) for at in range(10))
    passages = (
        ExplainedPassage(0, 10, 0.0, 0.5, tokens),
        ExplainedPassage(10, 12, 0.0, 0.5),
        ExplainedPassage(12, 14, 0, None),
    )
    shown = Page(heat_map(ExplainedText("first", "", "abcdefghijklmn", passages)))
    classes = [attributes["class"] for attributes in shown.all("span")]
    assert classes == ["passage w1", *["t1"] * 10, "passage w1", "passage"]


def test_a_passage_tells_its_numbers() -> None:
    page = Page(heat_map(replace(explained("first", "x", "one two"), passages=(
        ExplainedPassage(0, 3, 0.46, 0.75, (TokenAttention(0, 3, 1.0),)),
        ExplainedPassage(4, 7, -0.23, 0.25),
    ))))  # fmt: skip
    titles = [attributes["title"] for attributes in page.all("span")]
    assert titles == [
        "Passage 1 of 2: 1.5 times an even share of the attention (75.0% of it); contributes "
        "+0.200 to the log10 Bayes factor, speaks for one author",
        "Token: 1.0 times an even share",
        "Passage 2 of 2: 0.5 times an even share of the attention (25.0% of it); contributes "
        "−0.100 to the log10 Bayes factor, speaks for different authors",
    ]
    classes = [attributes["class"] for attributes in page.all("span")]
    assert classes == ["passage w2 same5", "t1", "passage w0 diff2"]
    assert [attributes.get("tabindex") for attributes in page.all("span")] == ["0", None, "-1"]


def test_the_places_of_ngrams_are_marked_across_tokens_and_over_each_other() -> None:
    text = replace(explained("first", "x", "of the mill"), passages=())
    tokens = (TokenAttention(0, 2, 0.5), TokenAttention(3, 6, 0.5))
    text = replace(text, passages=(ExplainedPassage(0, 6, 0, 1.0, tokens),))
    marks = [Mark(3, 6, 0, -5), Mark(0, 6, 1, 2), Mark(4, 9, 2, 0)]
    shown = re.sub(r' (title|tabindex)="[^"]*"', "", heat_map(text, marks=marks))
    assert shown == (
        '<div class="heat" dir="auto"><span class="passage w1">'
        '<span class="t1"><mark class="same2" data-n="1" data-from="1">of</mark></span>'
        '<mark class="same2" data-n="1"> </mark>'
        '<span class="t1"><mark class="diff5" data-n="0 1" data-from="0">t</mark>'
        '<mark class="diff5" data-n="0 1 2" data-from="2">he</mark></span></span>'
        '<mark class="" data-n="2"> mi</mark>ll</div>'
    )


def test_every_place_begins_once() -> None:
    result = explanation()
    page = Page(explanation_fragment(result))
    begun = " ".join(mark.get("data-from") or "" for mark in page.all("mark")).split()
    for number, ngram in enumerate(result.ngrams):
        assert begun.count(str(number)) == len(ngram.places)
    rows = [row for row in page.all("tr") if "data-ngram" in row]
    assert [row["data-ngram"] for row in rows] == ["0", "1", "2"]  # zzz stands nowhere
    assert len([button for button in page.all("button") if button.get("class") == "gram"]) == 3


def test_the_table_has_channels_in_plain_words_contributions_counts_and_rates() -> None:
    text = Page(explanation_fragment(explanation())).text
    more = " (with 1 more in the same places)"
    assert f"a word or mark{more}one author+0.1741 (2.0)4 (8.0)0.5" in text
    assert "two words in a rowdifferent authors−0.1301 (2.0)2 (4.0)0.5" in text
    assert f"letters within a word, as in mill, {BAD}one author" in text


def test_the_sum_is_told_line_by_line() -> None:
    text = Page(explanation_fragment(explanation())).text
    assert "Listed n-grams+0.304" in text
    assert f"Names−0.043such as Anne, {BAD}" in text
    assert "Other n-grams+0.130" in text
    assert "Everything else+0.839" in text
    assert "Log10 Bayes factor+1.230" in text
    assert "reported as" not in text
    bounded = Page(explanation_fragment(explanation(log_bayes_factor=log(10)))).text
    assert "Log10 Bayes factor+1.230reported as +1.000" in bounded
    without = Page(explanation_fragment(explanation(ngrams=()))).text
    assert "All passages+1.230" in without
    assert "Names" not in without


def test_there_are_four_views_and_the_first_is_chosen() -> None:
    buttons = Page(explanation_fragment(explanation())).all("input")
    assert [button["value"] for button in buttons] == [
        "attention",
        "contributions",
        "ngrams",
        "plain",
    ]
    assert ["checked" in button for button in buttons] == [True, False, False, False]
    assert {button["type"] for button in buttons} == {"radio"}


def test_without_a_network_there_is_no_attention_and_a_sentence_says_so() -> None:
    page = Page(explanation_fragment(explanation(attention=False, ngrams=())))
    assert [button["value"] for button in page.all("input")] == ["contributions", "plain"]
    assert "checked" in page.all("input")[0]
    assert "No network looked at these texts: there is no attention to show." in page.plain()
    assert not re.search(
        r"\b[wt]\d\b", " ".join(span.get("class") or "" for span in page.all("span"))
    )
    assert len(page.all("table")) == 1  # the sum


def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else() -> None:
    page = Page(explanation_page(explanation()))
    policy = next(
        meta["content"] or ""
        for meta in page.all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("form-action") == "'none'"
    for kind in ("style", "script"):
        digest = hashlib.sha256(page.inline[kind].encode()).digest()
        assert rules.pop(f"{kind}-src") == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert not rules
    assert page.inline["script"] == SCRIPT
    assert STYLE in page.inline["style"]


def test_style_and_script_fetch_nothing_and_make_no_markup() -> None:
    assert not re.search(r"url\(|@import|expression\(", STYLE)
    assert not re.search(
        r"</|innerHTML|outerHTML|eval|fetch|XMLHttp|import\(|setAttribute\(.style", SCRIPT
    )
    for level in range(LEVELS):
        assert f".heat .t{level} {{" in STYLE
        assert f".w{level} {{" in STYLE


def test_the_page_says_what_was_compared_and_how_it_came_out() -> None:
    text = Page(explanation_page(explanation())).plain()
    assert "log10 Bayes factor +1.23 The texts give moderate support" in text
    assert "A Bayes factor is not a verdict:" in text
    assert "Attention shows where the network looked, not why it decided." in text
    assert "Probability of one author 0.944, if it was 0.5 before the texts" in text
    assert "of the genres that the model knows, these are most like letters (80%)" in text
    assert f"Fewer words than usual: {BAD}." in text
    assert "letters/tom.txt, 30 tokensSHA-256 " + "cd" * 32 in text
    assert f"{BAD}, 60 tokensSHA-256 " + "ef" * 32 in text
    assert "general-enSHA-256 " + "ab" * 32 in text
    assert "AdHominem 1.2.3" in text


def test_no_probability_is_0_or_1_and_each_has_its_prior_before_the_decision() -> None:
    for value, shown in ((0.0, "< 0.001"), (1.0, "> 0.999")):
        text = Page(explanation_page(explanation(probability_same_author=value))).plain()
        assert f"Probability of one author {shown}, if it was 0.5 before" in text
        assert text.index("if it was 0.5") < text.index("Decision:")


def test_a_population_several_texts_and_no_warnings() -> None:
    side = Side(
        (
            ComparedDocument("a", 1, "0"),
            ComparedDocument("b", 2, "1"),
            ComparedDocument("c", 3, "2"),
        ),
        6,
    )
    known = verification(population=PopulationUse(1234, -0.5), warnings=(), first=side)
    result = replace(explanation(), verification=known)
    text = Page(explanation_page(result)).plain()
    assert "Population of 1,234 texts; without it the log10 Bayes factor would be −0.50." in text
    assert "Comparison of a and 2 more texts and <script>" in text
    assert "Beware" not in text
    assert "c, 3 tokens" in text


def test_the_page_is_the_same_whenever_it_is_written() -> None:
    assert explanation_page(explanation(FIRST, SECOND)) == explanation_page(explanation())
