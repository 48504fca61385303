"""The language of a text: English by its common words, any other by py3langid.

English needs no library and no model, so that nothing is slower for it. Languages that are written
nearly alike are not told apart: Bosnian, Croatian and Serbian in Latin letters are found as
Croatian, and Swiss German as German. Whoever knows better says so: `Document.language`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from adhominem.errors import OptionError
from adhominem.text.files import Document

LANGUAGES = {
    "af": "Afrikaans",
    "ar": "Arabic",
    "be": "Belarusian",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "bs": "Bosnian",
    "ca": "Catalan",
    "cs": "Czech",
    "cy": "Welsh",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "eo": "Esperanto",
    "es": "Spanish",
    "et": "Estonian",
    "eu": "Basque",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "ga": "Irish",
    "gl": "Galician",
    "gsw": "Swiss German",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "is": "Icelandic",
    "it": "Italian",
    "ja": "Japanese",
    "ka": "Georgian",
    "ko": "Korean",
    "la": "Latin",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mk": "Macedonian",
    "ms": "Malay",
    "mt": "Maltese",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovene",
    "sq": "Albanian",
    "sr": "Serbian",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "th": "Thai",
    "tl": "Tagalog",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
ENGLISH = "en"
_NO_LANGUAGE = "zxx"  # what py3langid calls figures, code and the like
_NOT_FOUND = {"bs", "gsw"}
_CYRILLIC_A = "\u0430"
# Common words of English, and hardly a word of any other language.
_ENGLISH_WORDS = frozenset(
    re.findall(
        r"\w+",
        "the of and to that with his it is you had but not which my by this from they are she we "
        "what there when your would about their could then them will been who he be as",
    )
)
_ENGLISH_SHARE = 0.2  # of a text's words: seldom less in English, never as much in others
_MAYBE_ENGLISH = 0.1  # the same: above, another language must be quite sure
_WORD = re.compile(r"[^\W\d_]+")
_FEWEST_LETTERS = 40
_LETTERS_OF_PART = 250  # fewest, where the parts of a text are looked at one by one
_SURE, _QUITE_SURE = 0.5, 0.9  # probabilities
_READ = 2_000  # characters of each third of a text
_TEXTS_READ = 60  # to find the language that most of many texts are in


def language_of(text: str) -> str:
    """The ISO 639 code of a text's language; "" if the text is too short, or it is not clear."""
    return _language(_sample(text), _FEWEST_LETTERS, _SURE)


def most_similar(text: str, languages: Sequence[str]) -> str:
    """The one of some languages that a text is most likely in, however unlikely."""
    ranked = (code for code, _ in _identifier().rank(_sample(text)))
    return next((str(code) for code in ranked if code in languages), languages[0])


def languages_within(text: str) -> list[str]:
    """The languages of the thirds of a text, each once, where these are long enough and clear."""
    found = (_language(part[:_READ], _LETTERS_OF_PART, _QUITE_SURE) for part in _thirds(text))
    return [language for language in dict.fromkeys(found) if language]


def language_in(document: Document) -> str:
    """The language that a document is said to be in, or else the one that is found."""
    return document.language or language_of(document.text)


def main_language(documents: Iterable[Document]) -> str:
    """The language that most of the documents are in; "" if none is clear.

    Of many documents, some are read, from the first to the last.
    """
    texts = list(documents)
    read = texts[:: max(1, len(texts) // _TEXTS_READ)]
    found = Counter(filter(None, map(language_in, read)))
    return found.most_common(1)[0][0] if found else ""


def name_of_language(code: str) -> str:
    """The English name of a language."""
    return LANGUAGES.get(code, code)


def check_language(code: str) -> None:
    """Raise an OptionError for a code that is not one of `LANGUAGES`."""
    if code and code not in LANGUAGES:
        raise OptionError(
            f"'{code[:20]}' is not the code of a language that can be named; expected one of "
            f"{', '.join(LANGUAGES)}"
        )


def _sample(text: str) -> str:
    return " ".join(part[:_READ] for part in _thirds(text))


def _thirds(text: str) -> list[str]:
    """A text in three parts; in one if it is short."""
    size = -(-len(text) // 3)
    if size <= _LETTERS_OF_PART:
        return [text]
    return [text[at : at + size] for at in range(0, len(text), size)]


def _language(text: str, fewest_letters: int, sure: float) -> str:
    words = _WORD.findall(text.lower())
    letters = sum(map(len, words))
    if letters < fewest_letters:
        return ""
    plain = [word for word in words if word.isascii()]
    share = sum(word in _ENGLISH_WORDS for word in plain) / len(words)
    if sum(map(len, plain)) < letters / 2:  # where words are not separated, they count for little
        share = 0.0
    if share >= _ENGLISH_SHARE:
        return ENGLISH
    language, probability = _identifier().classify(text)
    if share >= _MAYBE_ENGLISH and (language == ENGLISH or probability < _QUITE_SURE):
        return ENGLISH
    if language == _NO_LANGUAGE or probability < sure:
        return ""
    return "hr" if language == "sr" and _CYRILLIC_A not in text else str(language)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*(set(LANGUAGES) - _NOT_FOUND), _NO_LANGUAGE])
    return identifier
