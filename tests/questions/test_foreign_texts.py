"""With the shipped model: no statement is made on texts that are not running English prose."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adhominem import RollOptions, Verifier, load, rank_texts
from adhominem.cli import main
from adhominem.index.store import Store
from adhominem.jobs.run import Run
from adhominem.questions.map.ask import WhatIsAlike
from adhominem.questions.question import Texts
from adhominem.questions.rank.page import PAGE
from adhominem.questions.roll.ask import roll_text
from adhominem.questions.roll.page import roll_page
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document

DUTCH = """
Toen wij die ochtend de haven binnenliepen, was er nog geen mens op de kade te zien. Alleen de oude
havenmeester stond voor zijn deur, met een kop koffie in de hand, en keek naar ons alsof hij ons al
jaren kende. Mijn broer gooide het touw, miste de paal, en moest het nog eens proberen. Niemand
lachte erom. We hadden drie nachten nauwelijks geslapen en het brood was op, dus we wilden maar een
ding: een warm bed en iets te eten dat niet naar zout smaakte.

De herberg lag aan het eind van de straat, naast de kerk. De waardin vroeg niet waar we vandaan
kwamen. Ze zette soep op tafel, sneed een heel brood in stukken en ging zelf bij het raam zitten
breien. Pas toen onze borden leeg waren, zei ze dat er gisteren een man naar ons had gevraagd, een
lange man met een grijze jas, die niet wilde zeggen hoe hij heette. Ik zag dat mijn broer wit werd.
Hij legde zijn lepel neer, keek mij aan en schudde langzaam zijn hoofd. We hadden dus toch gelijk
gehad, en het was nog niet voorbij. Die avond hebben we de deur op slot gedaan en om de beurt
gewaakt, tot het buiten weer licht begon te worden.
"""
LETTER = """
I have your note of the third, and I am glad that the roof held. Ours did not. We had the buckets
out in the passage the whole of Sunday, and when I went up with the lamp to see what could be done
I put my foot through the boards and frightened your aunt, who thought that the chimney had come
down at last. She has forgiven me, but she will not have the lamp carried upstairs again. I wish
that you would speak to the carpenter when you pass his shop, for he does not answer me. Tell him
that I shall pay what he asks, as long as he comes before the frost. There is little else to tell.
The dog is well again, and has eaten the better part of my Sunday hat.
"""
SPEECH = """
Nobody in this room needs to be told what the bridge has cost us. You have seen the bills, and you
have seen the men waiting at the ferry in the rain because the money ran out a year before the work
was done. What I want to talk about tonight is what we do next. We can leave two piers standing in
the river for our children to laugh at, or we can finish what our fathers began. I know which of the
two I would rather explain to them. It will mean a higher toll than we promised, and I will not
pretend that it will not. But it will also mean that a farmer on the other side can bring his milk
to market in twenty minutes, and be home again before noon, whatever the weather may be.
"""
WALK = """
If you take the path behind the mill you will come, after about a mile, to a gate that nobody has
opened for years. Climb over it. The hill on the other side looks steeper than it is, and from the
top you can see both rivers and the smoke of the town where they meet. I used to go there when I was
a boy, to be alone and to read what I was not supposed to read, and I have never found another place
where the wind makes so little noise. Last spring I went back with my daughter. She was not much
taken with the view, but she found a stone with a hole in it, which she wears round her neck, and
she made me promise that we should come again as soon as the blackberries were ripe.
"""
CANDIDATES = {"ann": [LETTER], "bob": [SPEECH]}
SMALL = RollOptions(words=60, step=20)


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return load()


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A Dutch text, an English one, and candidates, of whom one wrote Dutch."""
    texts = {"dutch.txt": DUTCH, "walk.txt": WALK, "candidates/jan/1.txt": DUTCH}
    texts |= {f"candidates/{name}/1.txt": side[0] for name, side in CANDIDATES.items()}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def run(*arguments: object) -> Result:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


def test_a_disputed_text_in_another_language_has_no_posterior(verifier: Verifier) -> None:
    ranking = rank_texts(verifier, DUTCH, CANDIDATES, trials=0, explain=True)
    (case,) = ranking.cases
    assert case.verbal.startswith(
        "No statement is made: disputed is in Dutch, and the model knows English. "
    )
    assert (case.decision, case.answer, case.posterior_none) == ("undecided", None, None)
    for row in case.candidates:
        assert (row.verbal, row.posterior) == ("no statement is made", None)
    assert ranking.versus == ()
    codes = [caution.code for caution in ranking.warnings if caution.blocks_decision]
    assert codes == ["unknown_language"]
    page = PAGE.whole(ranking)
    assert "<strong>No statement is made: " in page
    assert "support for" not in page
    assert "support against" not in page


def test_an_english_one_among_them_is_ranked(verifier: Verifier) -> None:
    ranking = rank_texts(verifier, [WALK, DUTCH], CANDIDATES, trials=0, one_by_one=True)
    english, dutch = ranking.cases
    assert english.decision in ("one of the candidates", "none of them")
    assert english.posterior_none is not None
    assert not english.verbal.startswith("No statement")
    assert dutch.decision == "undecided"
    (told,) = [caution for caution in ranking.warnings if caution.code == "foreign"]
    assert told.message.startswith("disputed texts in another language, or not running prose: ")
    assert "<td>undecided</td>" in PAGE.whole(ranking)


def test_no_statement_is_made_on_a_candidate_in_another_language(verifier: Verifier) -> None:
    ranking = rank_texts(verifier, WALK, {"jan": [DUTCH], **CANDIDATES}, trials=0, prior_none=0.4)
    (case,) = ranking.cases
    assert case.candidates[-1].name == "jan"
    assert (case.candidates[-1].verbal, case.candidates[-1].posterior) == (
        "no statement is made",
        None,
    )
    assert "foreign_candidate" in [caution.code for caution in ranking.warnings]
    # Nothing is known of him but the prior.
    stated = case.candidates[:2]
    total = 0.4 + 0.2 + sum(0.2 * 10**row.log10_bayes_factor for row in stated)
    for row in stated:
        assert row.posterior == pytest.approx(0.2 * 10**row.log10_bayes_factor / total)
    assert case.posterior_none == pytest.approx(0.4 / total)


def test_where_all_candidates_are_foreign_nothing_is_stated(verifier: Verifier) -> None:
    first, second = DUTCH.strip().split("\n\n")
    ranking = rank_texts(verifier, WALK, {"jan": [first], "piet": [second]}, trials=0)
    (case,) = ranking.cases
    assert case.decision == "undecided"
    assert case.verbal.startswith("No statement is made: texts in another language")
    assert "those of" in case.verbal


def test_the_command_says_so(case: Path) -> None:
    call = ("rank", case / "dutch.txt", case / "candidates", "--trials", 0)
    (case / "candidates" / "jan" / "1.txt").write_text(WALK, "utf-8")
    told = run(*call)
    assert "Evidence  No statement is made: " in told.stdout
    assert "support" not in told.stdout
    (as_json,) = json.loads(run(*call, "--json").stdout)["cases"]
    assert as_json["decision"] == "undecided"
    assert as_json["posterior_none"] is None


# Rolling.


def test_nothing_is_said_of_the_parts_of_a_text_in_another_language(verifier: Verifier) -> None:
    exhibit = Exhibit.of(DUTCH, "dutch.txt")
    known = {name: [Exhibit.of(side[0], name)] for name, side in CANDIDATES.items()}
    for candidates in (known, {}):
        rolled = roll_text(verifier, exhibit, candidates, options=SMALL)
        assert rolled.obstacle.startswith("dutch.txt is in Dutch, and the model knows English")
        assert not any((rolled.states, rolled.blocks, rolled.passages, rolled.changes))
        page = roll_page(rolled)
        assert "No statement is made: dutch.txt is in Dutch" in page
        assert "Toen wij die ochtend" in page
        assert "Most probable" not in page


def test_a_candidate_in_another_language_is_left_out_of_rolling(verifier: Verifier) -> None:
    text = Exhibit.of(WALK, "walk.txt")
    known = {"jan": [Exhibit.of(DUTCH, "jan")], "ann": [Exhibit.of(LETTER, "ann")]}
    rolled = roll_text(verifier, text, known, options=SMALL)
    assert rolled.states == ("ann", "neither")
    assert any("no statement is made on these" in told.lower() for told in rolled.remarks)
    closed = roll_text(verifier, text, known, options=replace(SMALL, closed=True))
    assert "those of jan" in closed.obstacle


def test_the_command_says_so_of_rolling(case: Path) -> None:
    call = ("roll", case / "dutch.txt", "--against", case / "candidates" / "ann")
    told = run(*call, "--words", 60, "--step", 20, "-o", case / "roll.html")
    assert "No statement is made: " in told.stdout
    assert "Most probable" not in told.stdout
    assert "A mark for each block" not in told.stdout
    assert "No statement is made: " in (case / "roll.html").read_text("utf-8")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Of texts of which two are in Dutch, by two names."""
    half = len(DUTCH) // 2
    texts = {"ann/1": LETTER, "bob/1": SPEECH, "cleo/1": WALK}
    texts |= {"jan/1": DUTCH[:half], "piet/1": DUTCH[half:]}
    for name, text in texts.items():
        file = tmp_path / "texts" / f"{name}.txt"
        file.parent.mkdir(parents=True)
        file.write_text(text, "utf-8")
    run("index", tmp_path / "texts", "-o", tmp_path / "index", "--jobs", 1)
    return tmp_path / "index"


def test_a_search_makes_no_statement_on_texts_in_another_language(
    index: Path, tmp_path: Path
) -> None:
    page = tmp_path / "hits.html"
    for text, foreign in ((DUTCH, ["ann/1", "bob/1", "cleo/1", "jan/1", "piet/1"]), (LETTER, [])):
        (tmp_path / "text.txt").write_text(f"{text} And so on.", "utf-8")
        found = json.loads(run("search", tmp_path / "text.txt", "--index", index, "--json").stdout)
        hits = found["searched"][0]["hits"]
        open_hits = {hit["id"] for hit in hits if hit["verbal"] == "no statement is made"}
        present = {hit["id"] for hit in hits}
        assert open_hits == present & {*foreign, "jan/1", "piet/1"}
        for hit in hits:
            stated = hit["id"] not in open_hits
            assert (hit["probability_same_author"] is not None) == stated
            assert stated or (hit["log10_bayes_factor"] == 0 and not hit["at_bound"])
    (tmp_path / "text.txt").write_text(f"{DUTCH} And so on.", "utf-8")
    done = run("search", tmp_path / "text.txt", "--index", index, "-o", page)
    assert "no statement is made" in " ".join(done.output.split())
    assert "no statement is made" in page.read_text("utf-8")


def test_texts_in_another_language_are_not_linked_and_that_is_told(index: Path) -> None:
    found = json.loads(run("link", "--index", index, "--rate", 1, "--json").stdout)
    linked = {link[side] for link in found["links"] for side in ("first", "second")}
    assert found["accounts"] == 3
    assert not linked & {"jan", "piet"}
    (told,) = [one for one in found["warnings"] if one["code"] == "foreign"]
    assert "No statement is made on them" in told["message"]
    assert {"jan/1", "piet/1"} <= set(re.split(r"[ ,.:]+", told["message"]))


def test_an_index_that_is_compacted_still_knows_which_texts_are_foreign(index: Path) -> None:
    run("index", "-o", index, "--remove", "jan", "--compact")
    store = Store(index)
    assert [store.id(at) for at in store.live if store.foreign[at]] == ["piet/1"]


def test_a_map_makes_no_statement_on_texts_in_another_language(verifier: Verifier) -> None:
    texts = [LETTER, SPEECH, DUTCH]
    documents = [Document(text=text, id=f"text {at}") for at, text in enumerate(texts)]
    question = WhatIsAlike(texts=Texts(tuple(documents)))
    drawn = question.answer(verifier.keeping(), Run())
    assert (drawn.log10_bayes_factors[2, :2] == 0).all()
    assert drawn.log10_bayes_factors[0, 1] != 0
    (told,) = [remark for remark in drawn.remarks if remark.startswith("no statement is made")]
    assert "text 2" in told
    assert "they say nothing about who wrote them" in told
