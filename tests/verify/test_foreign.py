"""With the shipped model: prose in any layout is compared, and nothing is said of other texts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from test_cautions import CHINESE, FRENCH, GARDEN, GERMAN, VOYAGE, WINTER

from adhominem import Verifier, load
from adhominem.score.prose import Departure
from adhominem.text import prose_rates
from adhominem.training.teach import wrapped
from adhominem.verify.cautions import in_what_respect
from adhominem.verify.verification import Verification

PROSE = " ".join(GARDEN.split()) + "\n\n" + " ".join(WINTER.split())
DIALOGUE = """
"You were not at the station," said Ellen.

"No."

"I waited an hour. It rained the whole time, and the man at the bookstall kept looking at me as if
I meant to steal something."

"And did you?"

"Don't be funny, Peter. I want to know where you were." She put her wet gloves on the mantelpiece,
first one, then the other, and straightened them. "Father thinks you went to see Hollis again."

"Does he?" He went over to the window. "Well, he's right, as it happens. I went to see Hollis. I
told him that I would have nothing more to do with it, and he laughed, and then he offered me a
cigar. What do you say to that?"

"I say you ought to have taken it," said Ellen. "Good cigars are hard to come by, and you won't get
anything else out of that man as long as he lives."

"That's just what I did."
"""
MAIL = """
Hi all,

> I still don't see why we have to move the meeting. Everybody has known
> about the date for weeks, and some of us have already booked their
> trains. Can't the others join by phone?

They could, but last time that didn't work at all: half of us couldn't
hear a word, and the rest talked over each other. I'd rather have one good
meeting a week later than a bad one now. As for the tickets, I asked, and
they can be changed for five pounds until Friday.

>> We should also talk about the budget.

Yes, we should. I've put the figures on the wiki, and I'd be glad if you
could have a look at them before we meet, so that we needn't go through
everything line by line again. If there's anything you don't understand,
just call me, I'm in the office every day until six.
"""
POST = """
I had exactly the same problem with my old laptop last year. It turned out that the fan was full of
dust, so it got too hot after ten minutes and shut itself down without any message at all. What
helped in my case was this guide: https://www.example.com/repair/laptops/fan.html#cleaning (you
only need a small screwdriver and a bit of patience). Don't use a vacuum cleaner, whatever people
tell you! I did that once and it killed the sound chip, because of static or something like that.
If that doesn't do it, you should have a look at the power supply. Mine made a funny noise before
it died, and the shop told me it was fine, which it wasn't. Anyway, good luck, and let us know how
it went, because I'm sure there are others here who would like to know. Cheers, M.
"""
OLD_LETTER = """
Right worshipfull and my moste deere brother, I commende me vnto you and to my good sister yowr
wyffe, trustinge in God that ye be bothe in good helthe as I was at the makinge of this letter.
Thes be to certefie you that I haue receyued yowr letter by the handes of John Marten the xijth daye
of this moneth, wherin ye desyre to knowe howe the matter standeth betwixte my lorde and vs. Sir, as
yet ther is nothinge done, for my lorde hathe ben sycke this fortenighte and wolde speke withe no
man; but so sone as he is amended I will goe to hym agayne, and I doute not but that we shall haue a
good ende therof. I praye you sende me worde what ye will haue done withe the blacke horse, for he
eateth more then he is worthe. And thus I byd you hartely fare well. Wrytten in haste at London, the
Fryday after Saynt Lukes daye, by yowr louinge brother to his power.
"""
VERSE = """
The harbour lights had all gone out
When we came down to meet the boat,
And not a voice replied our shout
Nor any oar was heard afloat,
But only water, slow and black,
That rose and fell against the stair
And brought our own thin echo back
As if another crew were there.

We waited till the east was grey,
We waited till the gulls began
Their quarrel over yesterday,
And still there came no boat, no man;
Then one of us, I know not who,
Took off his cap and turned to go,
And all the others followed, too,
Along the causeway, in a row.

O you who sailed and never wrote,
Who left us lanterns and the rain,
We keep a mooring for your boat,
We shall not look for you again;
And yet on nights when wind is low
And every window dark but one,
I take the lamp and softly go
The way that all of us have gone.
"""
CSV = "name,town,born,height,weight\n" + "\n".join(
    f"{name},{town},{1950 + 3 * at},{150 + at}.5,{60 + at}"
    for at, (name, town) in enumerate(
        [("Miller", "Leeds"), ("Clark", "York"), ("Hall", "Dover"), ("Young", "Bath")] * 6
    )
)
LIST = """
- two pounds of flour
- butter
- a dozen eggs
- candles for the hall
- string
- brown paper
- a new handle for the axe
- nails, three sizes
- oil
- lamp glass
- two brushes
- tar for the boat
- rope, forty feet
- a letter to the bank
- stamps
- seed potatoes
- a lock for the shed
"""
LIST += LIST.replace("- ", "- more ") + LIST.replace("- ", "- still more ")
CODE = Path(prose_rates.__file__).read_text("utf-8")


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return load()


def foreign(result: Verification) -> list[str]:
    return [caution.message for caution in result.warnings if caution.code == "foreign"]


def in_layout(text: str, layout: str) -> str:
    paragraphs = "\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    if layout == "a line a paragraph":
        return paragraphs
    if layout == "one line":
        return " ".join(text.split())
    return wrapped(paragraphs, 70, 0.0, random.Random(0))


@pytest.mark.parametrize("layout", ["a line a paragraph", "one line", "wrapped"])
@pytest.mark.parametrize("text", [PROSE, DIALOGUE, POST, OLD_LETTER, VOYAGE])
def test_prose_is_compared_in_any_layout(verifier: Verifier, text: str, layout: str) -> None:
    result = verifier.verify(in_layout(text, layout), VOYAGE + WINTER)
    assert foreign(result) == []
    others = [caution for caution in result.warnings if caution.code != "shared_text"]
    assert not any(caution.blocks_decision for caution in others)
    assert result.likeness is not None
    assert result.likeness.atypicality <= 1


@pytest.mark.parametrize("text", [MAIL, DIALOGUE, PROSE, VOYAGE])
def test_mail_with_quoted_lines_is_prose(verifier: Verifier, text: str) -> None:
    quoted = "\n".join(f"> {line}" for line in in_layout(text, "wrapped").split("\n"))
    assert foreign(verifier.verify(text, GARDEN)) == []
    assert foreign(verifier.verify(f"Sam wrote:\n{quoted}", WINTER)) == []


@pytest.mark.parametrize(
    ("text", "respect"),
    [
        (CODE, "symbols such as"),
        (CSV, "most common words"),
        (VERSE, "in lines that break off within a sentence before a capital"),
        (LIST, "end a sentence"),
    ],
    ids=["Python", "CSV", "verse", "list"],
)
def test_no_statement_is_made_on_what_is_no_running_english_prose(
    verifier: Verifier, text: str, respect: str
) -> None:
    result = verifier.verify(text, GARDEN + VOYAGE)
    (message,) = foreign(result)
    assert message.startswith("first is not running prose of a kind that the model knows: ")
    assert respect in message
    assert result.decision == "undecided"
    assert result.verbal.startswith("No statement is made: ")
    assert message in result.verbal
    assert result.likeness is not None
    assert result.likeness.atypicality > 1


@pytest.mark.parametrize(
    ("text", "language"), [(GERMAN, "German"), (FRENCH, "French"), (CHINESE, "Chinese")]
)
def test_no_statement_is_made_on_another_language_which_is_named(
    verifier: Verifier, text: str, language: str
) -> None:
    result = verifier.verify(text, GARDEN + VOYAGE)
    (message,) = [one.message for one in result.warnings if one.code == "unknown_language"]
    assert message.startswith(f"first is in {language}, and the model knows English. ")
    assert foreign(result) == []
    assert result.decision == "undecided"
    assert message in result.verbal
    assert result.likeness is not None
    assert result.likeness.atypicality > 1


def test_each_foreign_text_is_named_and_nothing_else_says_that_it_is_unlike(
    verifier: Verifier,
) -> None:
    result = verifier.verify([GARDEN, GERMAN], [VERSE, VOYAGE])
    codes = {caution.code: caution.message.split(" ")[0] for caution in result.warnings}
    assert (codes["unknown_language"], codes["foreign"]) == ("first-2", "second-1")
    assert "other_language" not in codes


def test_a_model_that_was_not_taught_warns_as_before(verifier: Verifier) -> None:
    untaught = Verifier(verifier.members, verifier.calibration)
    codes = {caution.code for caution in untaught.verify(GERMAN, GARDEN).warnings}
    assert "other_language" in codes
    assert "foreign" not in codes


@pytest.mark.parametrize("rate", prose_rates.RATES)
def test_there_are_words_for_every_rate(rate: str) -> None:
    told = in_what_respect(Departure(2.0, rate, 0.25, 0.0312, "letters"))
    number = "0.2" if rate == "word_length" else "25%"
    assert number in told
    assert told.endswith("(usual: 0.0)" if rate == "word_length" else "(usual: 3.1%)")
