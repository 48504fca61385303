"""What a token is: one regular expression, in the dialect of Oniguruma.

It stands apart from the tokenizer so that a model folder can be written without the library.
"""

# Short forms whose full stop belongs to them; none that is also a word at the end of sentences.
_ABBREVIATIONS = (
    "Mr Mrs Ms Messrs Mme Mlle Dr Drs Prof Rev Revd Hon Gen Col Maj Capt Lt Sgt Gov Sen Rep "
    "St Jr Sr Esq Bros Inc Ltd Co Corp vs etc viz cf ibid seq approx Ph.D"
)
_LETTERS = r"[^\W_]"  # letters and digits, no underscore
_PICTURE = r"[\x{2600}-\x{27bf}\x{1f300}-\x{1faff}]"
_RULES = (
    r"(?:https?://|www\.)[^\s<>\x22]*[\w/]",
    rf"{_LETTERS}[\w.+-]{{0,63}}@{_LETTERS}[\w-]*(?:\.\w+)+",
    # Emoticons, only where no word touches them: :-) ;) =P :'( <3 ^_^ o_O
    r"(?<![\w:;=])[:;=][\x27^]?-?(?:[()\[\]{}|/\\*3]+|[DPpOo](?!\w))",
    r"(?<!\w)(?:</?3(?!\w)|[oOT^><]_+[oOT^><](?!\w))",
    rf"(?<!\w)(?:{_ABBREVIATIONS.replace('.', '[.]').replace(' ', '|')})\.(?!\.\.)",
    r"(?<!\w)(?:[A-Za-z]\.)+[A-Za-z](?!\w)(?:\.(?!\.\.))?",  # U.S. e.g. a.m. U.S.A
    r"(?<!\w)[A-HJ-Z]\.(?![^\sA-Z])",  # initials; I is a word
    r"\d+(?:[.,:]\d+)+",
    r"(?<!\w)['’](?i:tis|twas|twere|twill|em|til|cause|bout|nuff)(?!\w)",
    rf"{_LETTERS}\p{{M}}*(?:\w|\p{{M}}|['’_](?={_LETTERS}))*(?<!_)",
    r"[!?]{2,}",
    # ... -- *** ~~~ and every other run of one sign; not the first part of a joined emoji
    rf"([^\w\s\x22'()\[\]{{}}]|_)\1+(?!(?<={_PICTURE})[\x{{200d}}\x{{1f3fb}}-\x{{1f3ff}}])",
    r"[\x{1f1e6}-\x{1f1ff}]{2}",
    rf"{_PICTURE}(?:[\x{{fe0f}}\x{{1f3fb}}-\x{{1f3ff}}\x{{e0020}}-\x{{e007f}}]|\x{{200d}}{_PICTURE})*",
    r"\S",
)
TOKEN_PATTERN = rf"(?:{'|'.join(_RULES)})\p{{M}}*"  # marks stay with what they stand on
