"""The language of a text: found, given, or not clear."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.text.files import Document
from adhominem.text.language import (
    LANGUAGES,
    check_language,
    language_in,
    language_of,
    languages_within,
    main_language,
)

ENGLISH = (
    "It rained all morning, and the two of us sat in the kitchen with the door open and said "
    "nothing that was worth the trouble of saying. Towards noon my brother came in from the yard. "
)
TEXTS = {
    "ar": "وصلت رسالتك صباح اليوم وأنا أشرب القهوة قرب النافذة، فقرأتها مرتين قبل أن أجيب عنها.",
    "da": "Det regnede hele formiddagen, og vi sad i køkkenet med åben dør uden at sige noget.",
    "de": "Es regnete den ganzen Vormittag, und wir saßen bei offener Tür da und schwiegen.",
    "en": ENGLISH,
    "es": "Llovió toda la mañana y nos sentamos en la cocina con la puerta abierta, sin hablar.",
    "fr": "Il a plu toute la matinée, et nous sommes restés dans la cuisine sans rien nous dire.",
    "he": "ירד גשם כל הבוקר, וישבנו שנינו במטבח עם הדלת פתוחה ולא אמרנו דבר שהיה כדאי לומר.",
    "hu": "Egész délelőtt esett az eső, mi pedig nyitott ajtó mellett ültünk a konyhában.",
    "ja": "朝からずっと雨が降っていて、わたしたちは戸を開けたまま台所に座り、ほとんど何も"
    "話しませんでした。昼ごろに兄が庭から帰ってきました。",
    "nl": "Het regende de hele ochtend en we zaten in de keuken zonder iets te zeggen.",
    "pl": "Przez cały ranek padał deszcz, a my siedzieliśmy w kuchni przy otwartych drzwiach.",
    "ru": "Всё утро шёл дождь, и мы сидели вдвоём на кухне с открытой дверью и почти не говорили.",
    "sr": "Целог јутра је падала киша, а нас двојица смо седели у кухињи и ништа нисмо говорили.",
    "zh": "雨下了整整一个上午，我们两个人开着门坐在厨房里，几乎没有说什么值得说的话。"
    "快到中午的时候，哥哥从院子里走了进来。",
}


@pytest.mark.parametrize(("language", "text"), TEXTS.items())
def test_the_language_of_a_sentence_is_found(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "But þe kyng wolde not here of it, and so we abode there al that nyght in the felde with "
        "oure men, as I have wreten to you before by the hande of my servaunt.",
        "O that the night had never had an end, and we had lain beneath the apple bough",
        "The patch adds a flag to the parser so that you can skip the check when the cache is warm",
    ],
)
def test_old_verse_and_technical_english_are_english(text: str) -> None:
    assert language_of(text) == "en"


def test_english_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    assert language_of(ENGLISH) == "en"


@pytest.mark.parametrize("text", ["Hm.", "42 7 1.5 " * 50, "|---|---|\n" * 30])
def test_nothing_is_said_of_what_is_too_short_or_has_no_words(text: str) -> None:
    assert language_of(text) == ""


def test_japanese_with_english_names_in_it_is_japanese() -> None:
    text = TEXTS["ja"] + " the error of the interface " + TEXTS["ja"]
    assert language_of(text) == "ja"


def test_serbian_in_latin_letters_is_taken_for_croatian() -> None:
    text = "Celog jutra je padala kiša, a nas dvojica smo sedeli u kuhinji i ništa nismo govorili."
    assert language_of(text) == "hr"


def test_a_text_in_two_languages_is_seen() -> None:
    german = (TEXTS["de"] + " ") * 8
    assert languages_within(german) == ["de"]
    assert languages_within(ENGLISH * 4) == ["en"]
    assert languages_within(german + ENGLISH * 8) == ["de", "en"]


def test_a_language_that_is_given_is_believed() -> None:
    document = Document(text=TEXTS["de"])
    assert language_in(document) == "de"
    assert language_in(replace(document, language="gsw")) == "gsw"


def test_the_main_language_is_that_of_most_texts() -> None:
    texts = [Document(text=TEXTS[language]) for language in ("de", "fr", "de")]
    assert main_language(texts) == "de"
    assert main_language([Document(text="?")]) == main_language([]) == ""


def test_a_language_that_has_no_such_code_is_refused() -> None:
    check_language("")
    for language in LANGUAGES:
        check_language(language)
    with pytest.raises(OptionError, match="'german' is not the code of a language"):
        check_language("german")


@given(st.text(max_size=400))
def test_any_text_has_a_known_language_or_none(text: str) -> None:
    assert language_of(text) in {"", *LANGUAGES}
