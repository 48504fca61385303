"""What to beware of: each danger gets its own warning, and a sound comparison gets none."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adhominem import Tokenizer, Vocabulary
from adhominem.arrays import FloatArray
from adhominem.model.calibration import MisleadingRates
from adhominem.score.genres import Group
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.verify.cautions import (
    Caution,
    ExaminedText,
    cautions_of,
    cautions_of_many,
    two_genres,
)

COMMON = """
the of and to a in that he was it his I with as had you for not her is but at on she be have
him which my all by said from so this me they one were what if there their no when we or your
an out up them been would who will do could are then into more some man about very now time
little has did like upon than its any other know good over down old such see only our made
before after where can come came how went must great two first here back way day again
"""
VOCABULARY = Vocabulary((",", ".", *COMMON.split(), ";", "garden", "letter"), tuple("etaoinshr"))

GARDEN = """
I went down to the garden before the others were up, as I have done on most mornings since we came
to this house, and there I found that the gate had been left open in the night. There was nothing
to be done about it, so I sat on the wall and waited. After a while the old man who looks after the
roses came along the path with his two dogs, and he told me, without being asked, that he had seen
someone go out by that way a little after eleven. He would not say who it was. He only shook his
head and said that it was no business of his, and that I should do well to make it none of mine.
You know how I am about such things. I let him go on to the end of the path, and then I got up and
walked after him, and asked him again. This time he laughed at me, but he gave me the name.
"""
VOYAGE = """
Nobody on board believed that the captain could bring the ship through the strait without a pilot,
and yet by noon we lay at anchor behind the island, where the water is so clear that one can count
the stones on the bottom. My cousin, who had been ill for all of the nine days, came up on deck for
the first time and declared that she had never seen anything half so fine. I was of another mind.
We had lost three of our boats, there was hardly any bread left, and the men were quarrelling over
what there was. When the sun had gone down a light was shown from the shore, twice, and then no
more. Some said that it was a signal meant for us; others, that it was only a fisherman going home
with his lamp. The captain wrote it down in his book, as he did with everything, and went to bed.
"""
WINTER = """
It has been so cold here that the ink freezes in the bottle, and if you get only half a page from
me you must blame the weather and not your brother. They have put me in the room over the kitchen,
which is the warmest, but what with the noise of the pans and the smell of cabbage I can neither
read nor sleep in it. Still, I would rather be here than on the road. Yesterday two carts were
lost in the drifts below the mill, and it took a dozen of us until dark to dig them out. Write
soon, and send the thick stockings; tell Mother that I wear the red scarf, whether I do or not.
"""
GERMAN = """
Als ich am nächsten Morgen aus dem Haus trat, lag der Nebel noch so dicht über den Feldern, dass
man die Straße nicht sehen konnte. Ich blieb eine Weile am Tor stehen und wartete auf den Wagen,
der mich zum Bahnhof bringen sollte, aber es kam niemand. Was war geschehen? Gestern hatte der
Kutscher mir noch in die Hand versprochen, dass er um sechs Uhr da sein werde, und er war ein
Mann, auf den man sich verlassen konnte. So ging ich schließlich zu Fuß, den Koffer in der einen
und den Schirm in der anderen Hand, und dachte an alles, was man mir am Abend zuvor über die
Familie erzählt hatte. Am Ende ist es ja doch immer so, dass die Leute weniger wissen, als sie
sagen, und mehr sagen, als sie sollen.
"""
FRENCH = """
Il faisait encore nuit quand nous sommes sortis de la maison, mon frère et moi, et la neige
tombait si lentement qu'on aurait dit qu'elle hésitait. Personne ne parlait. On entendait
seulement nos pas sur le chemin et, très loin, le bruit de la rivière que l'on ne voyait pas.
Mon frère marchait devant avec la lampe, comme il le faisait toujours, et je mettais les pieds
dans les traces qu'il laissait derrière lui. Je me souviens d'avoir pensé que nous ne
reviendrions plus jamais dans cette vallée, et que cela m'était égal. Je me trompais, bien sûr,
mais à dix ans on ne sait pas encore combien de fois on se trompe dans une vie, ni à quel point
les choses que l'on quitte nous attendent.
"""
CHINESE = """
那天早上，我很早就起来了，外面还下着小雨。我走到门口，看见一个老人站在路边，手里拿着一封信。他没有说话，
只是把信交给我，然后慢慢地走了。我打开信，里面只有一行字，写得很整齐，可是我一个字也不认识。后来，我把信
拿给邻居看，他看了很久，最后摇了摇头，说这不是我们这里的人写的。我想，也许有一天，会有人告诉我，这封信
到底说了什么。可是，很多年过去了，老人没有再来，信也不见了，只有那天早上的雨，我还记得很清楚，好像昨天
一样。有时候，我会问自己，为什么没有追上去，为什么没有问一句，他是谁，他从哪里来。
"""


def exhibits(*texts: str, name: str) -> list[Exhibit]:
    return [Exhibit.of(text, f"{name}{number}.txt") for number, text in enumerate(texts)]


def model(calibrated: bool = True, longest: float = float("inf"), **parts: Any) -> Any:
    return SimpleNamespace(
        calibration=SimpleNamespace(tokens=(0, longest)) if calibrated else None,
        changed=False,
        genre_names={"letters": "private letters"},
        main_language="",
        languages=(),
        **parts,
    )


def found(
    first: str | Sequence[str],
    second: str | Sequence[str],
    *,
    shortest: float | None = 0.0,
    calibrated: bool = True,
    at_bound: bool = False,
    vocabulary: Vocabulary = VOCABULARY,
    guessed_genre: bool = False,
    misleading: Sequence[MisleadingRates] = (),
    longest: float = float("inf"),
    population: Population | None = None,
    strange_population: bool = False,
    genre_shares: Sequence[Mapping[str, float]] = (),
    of_two_genres: bool = False,
    languages: Sequence[str] = (),
) -> list[Caution]:
    both = [[side] if isinstance(side, str) else list(side) for side in (first, second)]
    tokenizer = Tokenizer()
    sides = [
        [
            ExaminedText(
                exhibit=exhibit,
                tokens=tokenizer.tokens(exhibit.document.text),
            )
            for exhibit in exhibits(*side, name=name)
        ]
        for side, name in zip(both, ("a", "b"), strict=True)
    ]
    judged_by = model(
        calibrated,
        longest,
        known_languages=languages,
        lead=SimpleNamespace(
            vocabulary=vocabulary,
            shortest_training_text=shortest,
            genres=() if guessed_genre else None,
            knows_topics=True,
        ),
    )
    scored: Any = SimpleNamespace(
        population_misfit=[strange_population], two_genres=[of_two_genres], at_bound=[at_bound]
    )
    return list(
        cautions_of(
            judged_by,
            sides,
            population=population,
            scored=scored,
            genres=genre_shares,
            misleading=misleading,
        )
    )


def only(cautions: list[Caution], code: str) -> Caution:
    assert [each.code for each in cautions] == [code]
    return cautions[0]


def test_two_long_texts_that_share_nothing_need_no_caution() -> None:
    assert found(GARDEN, VOYAGE) == []


def test_texts_longer_than_all_of_the_calibration_are_told_but_can_be_decided() -> None:
    rng = random.Random(0)
    long, longer = (" ".join(rng.choices(VOYAGE.split(), k=k)) for k in (1_000, 5_000))
    tokens = len(Tokenizer().tokens(longer))
    for longest in (float("inf"), tokens, tokens + 500):
        assert found(longer, long, longest=longest) == []
    caution = only(found(longer, long, longest=4_000), "longer_than_calibrated")
    assert f"about {tokens:,} words and marks" in caution.message
    assert "at most 4,000" in caution.message
    assert not caution.blocks_decision
    # What counts is the geometric mean of the texts of a side.
    assert found([longer, WINTER], long, longest=4_000) == []


def rates(same: float, different: float, **changes: Any) -> MisleadingRates:
    given: dict[str, Any] = {"genre": "", "known": True, "same": same, "different": different}
    return MisleadingRates(**{**given, **changes})


@pytest.mark.parametrize(
    ("same", "different", "way"),
    [
        (0.42, 0.06, "more often towards different authors"),
        (0.19, 0.32, "more often towards one author"),
        (0.2, 0.22, "about as often either way"),
    ],
)
def test_without_a_population_it_is_told_which_way_the_number_errs(
    same: float, different: float, way: str
) -> None:
    of_all = found(VOYAGE, GARDEN, guessed_genre=True, misleading=[rates(same, different)])
    caution = only(of_all, "no_population")
    assert f"{same:.0%} of the same-author cases gave evidence for different authors" in (
        caution.message
    )
    assert f"{different:.0%} of the different-author cases gave evidence for one" in caution.message
    assert f"the number errs {way}. Give texts of the same genre" in caution.message
    assert "over all genres" in caution.message
    assert not caution.blocks_decision


def test_it_is_told_of_which_genre_the_errors_are() -> None:
    both = [rates(0.4, 0.1, genre="letters"), rates(0.2, 0.3, known=False)]
    message = only(
        found(VOYAGE, GARDEN, guessed_genre=True, misleading=both), "no_population"
    ).message
    assert "in the genre that it takes these texts for, “private letters”" in message
    assert (
        "in genres that it does not know (20% and 30%), it errs more often towards one author. "
    ) in message


def test_where_nothing_was_measured_no_direction_is_told() -> None:
    caution = only(found(VOYAGE, GARDEN, guessed_genre=True), "no_population")
    assert "less reliable" in caution.message
    assert "errs" not in caution.message


# genres of the sides

LETTERS, ESSAYS = {"letters": 0.6, "essays": 0.04}, {"essays": 0.51, "letters": 0.03}


def test_two_sides_of_two_genres_are_told_and_nothing_is_decided() -> None:
    told = found(GARDEN, VOYAGE, genre_shares=[LETTERS, ESSAYS], of_two_genres=True)
    caution = only(told, "two_genres")
    assert "the first is most like private letters, the second most like essays" in caution.message
    assert "so the log Bayes factor is 0" in caution.message
    assert caution.blocks_decision
    alike = found(GARDEN, VOYAGE, genre_shares=[LETTERS, LETTERS], of_two_genres=True)
    assert "seem to be of two genres. Differences" in only(alike, "two_genres").message
    assert two_genres(LETTERS, ESSAYS) == ("letters", "essays")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LETTERS, LETTERS),
        ({"letters": 0.5, "essays": 0.04}, ESSAYS),  # not clear of which genre it is
        (LETTERS, {"essays": 0.49, "letters": 0.03}),
        ({"letters": 0.6, "essays": 0.05}, ESSAYS),  # the other genre is not ruled out
        (LETTERS, {"essays": 0.6, "letters": 0.05}),
        ({}, {}),  # the model knows no genres
    ],
)
def test_two_sides_that_may_be_of_one_genre_are_not_said_to_be_of_two(
    first: Mapping[str, float], second: Mapping[str, float]
) -> None:
    assert two_genres(first, second) is None
    assert found(GARDEN, VOYAGE, genre_shares=[first, second]) == []


# populations


def others(count: int) -> list[str]:
    """Texts that have nothing in common."""
    return [made_up_words(random.Random(number)) for number in range(count)]


def made_up_words(rng: random.Random) -> str:
    return " ".join("".join(rng.choices("etaoinshrdlu", k=6)) for _ in range(200))


def population_of(texts: Sequence[str]) -> Population:
    return Population.of(levs_of(len(texts)), texts)


def levs_of(texts: int) -> FloatArray:
    """(texts, 2): of texts that are about as long as those compared here."""
    return np.stack([np.arange(texts, dtype=np.float64), np.full(texts, np.log(200))], axis=1)


def test_a_sound_population_needs_no_caution() -> None:
    assert found(GARDEN, VOYAGE, population=population_of(others(20))) == []
    unknown = Population.of(levs_of(20))  # its texts are not at hand
    assert found(GARDEN, VOYAGE, population=unknown) == []


def test_a_population_of_another_kind_is_told() -> None:
    cautions = found(GARDEN, VOYAGE, population=population_of(others(20)), strange_population=True)
    assert only(cautions, "other_genre_of_population").blocks_decision


def test_a_small_population_is_told() -> None:
    caution = only(found(GARDEN, VOYAGE, population=population_of(others(19))), "small_population")
    assert "19 texts" in caution.message
    assert not caution.blocks_decision


@pytest.mark.parametrize(("count", "blocks"), [(20, True), (60, False)])
def test_a_compared_text_in_the_population_is_named(count: int, blocks: bool) -> None:
    texts = [*others(count - 1), f"{GARDEN} And so it went on."]
    caution = only(found(GARDEN, VOYAGE, population=population_of(texts)), "compared_in_population")
    assert "(a0.txt)" in caution.message
    assert caution.blocks_decision is blocks


def test_a_population_that_repeats_itself_is_told() -> None:
    texts = others(20)
    nearly = [f"{text} Indeed." for text in texts]  # texts that are the same count once anyway
    few = population_of([*texts, nearly[0]])
    many = population_of([*texts, *nearly[:5]])
    assert found(GARDEN, VOYAGE, population=few) == []
    caution = only(found(GARDEN, VOYAGE, population=many), "repeats_in_population")
    assert "5 of the 25 texts" in caution.message


GROUPS = (Group(share=0.55, genre="letters"), Group(share=0.45, genre="sermons"))


def test_a_population_of_two_genres_is_told_whether_one_pair_or_many_are_compared() -> None:
    texts = population_of(others(20))
    mixed = replace(texts, groups=GROUPS)
    assert found(GARDEN, VOYAGE, population=texts) == []
    assert list(cautions_of_many(model(), texts)) == []
    many = list(cautions_of_many(model(), mixed))
    assert many == found(GARDEN, VOYAGE, population=mixed)
    caution = only(many, "mixed_population")
    assert "(55% of them, most like private letters; 45% of them, most like sermons)" in (
        caution.message
    )
    assert not caution.blocks_decision


def test_two_groups_that_are_like_the_same_genre_are_not_told_apart_by_it() -> None:
    alike = tuple(replace(group, genre="letters") for group in GROUPS)
    mixed = replace(population_of(others(20)), groups=alike)
    message = only(found(GARDEN, VOYAGE, population=mixed), "mixed_population").message
    assert "(55% of them; 45% of them)" in message


def test_of_many_pairs_a_small_population_and_a_lack_of_calibration_are_told() -> None:
    few = replace(population_of(others(20)), texts=19)
    assert [caution.code for caution in cautions_of_many(model(calibrated=False), few)] == [
        "uncalibrated",
        "small_population",
    ]
    assert list(cautions_of_many(model(), None)) == []


# copies


@pytest.mark.parametrize("copy", [GARDEN, GARDEN.upper(), " ".join(GARDEN.split()) + " ***"])
def test_the_same_text_on_both_sides_is_told_and_nothing_is_decided(copy: str) -> None:
    caution = only(found(GARDEN, copy), "identical")
    assert caution.message.startswith("a0.txt and b0.txt are the same text. ")
    assert caution.blocks_decision


def test_a_text_that_stands_inside_the_other_is_told_and_nothing_is_decided() -> None:
    for first, second in ((GARDEN, VOYAGE + GARDEN), (VOYAGE + GARDEN + VOYAGE, GARDEN)):
        caution = only(found(first, second), "shared_text")
        assert caution.message.startswith("about 100% of the shorter of a0.txt and b0.txt")
        assert caution.blocks_decision


def test_a_text_that_was_copied_in_part_is_told_but_can_be_decided() -> None:
    words = VOYAGE.split()
    partly = GARDEN + " ".join(words[: len(words) // 3])
    caution = only(found(partly, VOYAGE + WINTER), "shared_text")
    assert not caution.blocks_decision
    assert "stands in the other" in caution.message


def test_a_quotation_of_a_few_words_is_no_copy() -> None:
    assert found(GARDEN + VOYAGE[:60], VOYAGE) == []


def test_each_text_of_one_side_is_compared_with_each_of_the_other() -> None:
    caution = only(found([VOYAGE, GARDEN], [WINTER, GARDEN])[:1], "identical")
    assert caution.message.startswith("a1.txt and b1.txt are the same text. ")


def test_a_text_that_stands_twice_on_one_side_counts_as_two_and_this_is_told() -> None:
    cautions = found([GARDEN, GARDEN.upper(), GARDEN], VOYAGE, calibrated=False)
    caution = only(cautions[:1], "repeated")
    assert "a0.txt and a1.txt; a0.txt and a2.txt" in caution.message
    assert "count as two" in caution.message
    assert not caution.blocks_decision


def test_a_hundred_copies_on_one_side_are_one_warning_of_bearable_length() -> None:
    (caution,) = [each for each in found(100 * [GARDEN], VOYAGE) if each.code == "repeated"]
    assert "; and more. " in caution.message
    assert len(caution.message) < 400


def test_texts_without_a_letter_are_not_taken_for_copies_of_each_other() -> None:
    one, other = "1 2 3 ! " * 60, "9 8 7 ? " * 60
    assert "identical" not in {each.code for each in found(one, other)}


# length


@pytest.mark.parametrize("shortest", [None, 0.0])
def test_a_side_of_less_than_100_tokens_is_too_short_to_decide(
    shortest: float | None,
) -> None:
    words = GARDEN.replace(",", "").replace(".", "").split()
    for count, code in ((99, "too_short"), (100, "short")):
        cautions = found(" ".join(words[:count]), VOYAGE * 3, shortest=shortest)
        if code == "short" and shortest is not None:  # the training texts were no longer
            assert cautions == []
            continue
        caution = only(cautions, code)
        assert f"a0.txt ({count})" in caution.message
        assert caution.blocks_decision == (code == "too_short")


def test_a_text_shorter_than_nearly_all_training_texts_is_told() -> None:
    caution = only(found(GARDEN[:800], VOYAGE * 2, shortest=190.0), "short")
    assert caution.message.startswith("fewer words and marks than in nearly all training texts: a0")
    assert not caution.blocks_decision


@pytest.mark.parametrize(("shortest", "limit"), [(None, 500), (20.0, 100)])
def test_nothing_is_said_of_training_texts_whose_lengths_say_nothing(
    shortest: float | None, limit: int
) -> None:
    note = " ".join(WINTER.split()[:50])
    caution = only(found([note, 4 * GARDEN], VOYAGE * 4, shortest=shortest)[:1], "short")
    assert caution.message.startswith(f"fewer than {limit} words and marks")
    assert "a0.txt (" in caution.message
    assert "training texts" not in caution.message


def test_many_short_texts_do_not_make_a_long_one() -> None:
    words = GARDEN.split()
    notes = [" ".join(words[at : at + 15]) for at in range(0, 150, 15)]  # 150 words in ten notes
    codes = {each.code: each for each in found(notes, VOYAGE, calibrated=False)}
    assert codes["too_short"].blocks_decision
    assert " and 5 more; expected 100 or more. " in codes["too_short"].message
    mixed = {each.code: each for each in found([*notes, 4 * GARDEN], VOYAGE * 4, shortest=None)}
    assert not mixed["short"].blocks_decision
    assert "a0.txt (" in mixed["short"].message
    assert "a10.txt" not in mixed["short"].message
    assert "too_short" not in mixed


# another language


@pytest.mark.parametrize("text", [GERMAN, FRENCH, CHINESE], ids=["German", "French", "Chinese"])
def test_a_text_in_another_language_is_told_and_nothing_is_decided(text: str) -> None:
    cautions = found(text * 2, GARDEN)
    caution = only([each for each in cautions if each.code != "short"], "other_language")
    assert caution.message.startswith("a0.txt hardly has a common word of the training texts")
    assert caution.blocks_decision
    both = [each.code for each in found(text * 2, text * 2 + "!")]
    assert both.count("other_language") == 2


def test_a_language_that_the_model_does_not_know_is_named_and_nothing_is_decided() -> None:
    cautions = found(GERMAN * 2, GARDEN, languages=["en", "fr"])
    caution = only([each for each in cautions if each.code != "short"], "unknown_language")
    assert caution.message.startswith("a0.txt is in German, and the model knows English, French")
    assert caution.blocks_decision


def test_texts_in_two_languages_are_not_compared() -> None:
    cautions = found([GERMAN * 2, GERMAN + "!"], FRENCH * 2, languages=["de", "fr"])
    (caution,) = [each for each in cautions if each.code == "two_languages"]
    assert caution.message.startswith("b0.txt is in French, other texts are in German")
    assert caution.blocks_decision
    both_german = found(GERMAN * 2, GERMAN * 3, languages=["de", "fr"])
    assert "two_languages" not in {each.code for each in both_german}


def test_a_text_that_is_in_two_languages_part_by_part_is_named() -> None:
    cautions = found(GERMAN * 4 + GARDEN * 2, GERMAN * 4, languages=["de", "en"])
    (caution,) = [each for each in cautions if each.code == "mixed_languages"]
    assert "a0.txt is in several languages, part by part: German and English" in caution.message
    assert not caution.blocks_decision


def test_a_population_in_another_language_is_of_no_use() -> None:
    population = replace(Population.of(levs_of(30)), language="fr")
    cautions = found(GERMAN * 2, GERMAN * 3, population=population, languages=["de", "fr"])
    (caution,) = [each for each in cautions if each.code == "language_of_population"]
    assert caution.message.startswith("the population is in French, the texts")
    assert caution.blocks_decision
    alike = replace(population, language="de")
    cautions = found(GERMAN * 2, GERMAN * 3, population=alike, languages=["de", "fr"])
    assert "language_of_population" not in {each.code for each in cautions}


@pytest.mark.parametrize(
    "text",
    [
        GARDEN,
        VOYAGE.upper(),
        WINTER,
        "Well, that was not what I had in mind!!! Did you see it? She went up there on her own "
        "again, lol, and no one said a word :-( I told them so, didn't I? " * 4,
    ],
    ids=["prose", "capitals", "letter", "chat"],
)
def test_english_is_not_taken_for_another_language(text: str) -> None:
    codes = {each.code for each in found(text, GARDEN + VOYAGE)}
    assert "other_language" not in codes


def test_a_model_with_few_words_cannot_tell_a_language() -> None:
    small = Vocabulary(("the", "of", ","), ("e",))
    assert found(GERMAN, GARDEN, vocabulary=small) == []


# calibration


def test_an_uncalibrated_model_says_so() -> None:
    caution = only(found(GARDEN, VOYAGE, calibrated=False), "uncalibrated")
    assert "is not to be trusted" in caution.message
    assert not caution.blocks_decision


def test_several_texts_of_a_side_are_no_reason_to_doubt() -> None:
    assert found([GARDEN, VOYAGE], WINTER) == []


def test_a_factor_at_its_bound_says_so() -> None:
    caution = only(found(GARDEN, VOYAGE, at_bound=True), "at_bound")
    assert "The Bayes factor is a bound" in caution.message
    assert not caution.blocks_decision
