"""What a report says, and what it never says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_reports import ALL, bare, report, said, silent

from adhominem.questions.report.document import report_page, section_elements
from adhominem.questions.report.report import Report
from adhominem.render.summary import in_numbers, times

every_report = pytest.mark.parametrize("made", ALL.values(), ids=ALL)
log10s = st.floats(-5, 5)

# Who wrote what is said in the propositions alone, and there as a proposition.
ATTRIBUTION = re.compile(
    r"\b(is|are|was|were|be) (the|their|its) (same |true )?(author|writer)s?\b"
    r"|\b(was|were|is|are) written by\b"
    r"|\b(the )?same (author|person) wrote\b"
    r"|\bidentif\w+|\bmatch(es|ed)?\b|\bguilt\w*|\bproves?\b|\bproven\b|\bcertain(ly|ty)?\b"
    r"|\bbeyond (a )?reasonable doubt\b|\bdecision\b|\bverdict\b(?!\. A Bayes)",
    re.IGNORECASE,
)


@every_report
def test_a_report_never_says_who_wrote_a_text(made: Report) -> None:
    for sentence in said(made):
        result = ATTRIBUTION.search(sentence.replace("This is not a verdict.", ""))
        allowed = "all texts of a side were written by one" in sentence
        assert result is None or allowed, sentence


@every_report
def test_one_person_wrote_is_only_ever_a_proposition(made: Report) -> None:
    """Each sentence that has it is a proposition, or compares, supposes or denies it."""
    suppose = ("if ", "proposition", "Same-author", "Different-author", "nor how", "probabil")
    for sentence in said(made):
        if re.search(r"person wrote|person did", sentence):
            assert any(word in sentence for word in suppose), sentence


@every_report
def test_a_probability_of_one_author_is_given_with_its_prior_or_not_at_all(made: Report) -> None:
    for sentence in said(made):
        if not re.search(r"probability", sentence):
            continue
        numbers = re.findall(r"\d\.\d+|\d+%", sentence)
        if made.probability_same_author is None:
            allowed = [f"{made.prior_same_author:g}"] if made.prior_same_author else []
            assert [number for number in numbers if number not in allowed] == [], sentence
        elif numbers:
            assert f"prior probability of {made.prior_same_author:g}" in sentence
            assert "is for the court" in sentence


@given(log10s, st.none() | st.floats(0.001, 0.999))
@settings(max_examples=40)
def test_whatever_the_number_its_probability_needs_a_prior(
    log10: float, prior: float | None
) -> None:
    made = report(log10, prior=prior)
    told = " ".join(said(made))
    assert ("the probability after the texts is" in told) == (prior is not None)
    assert ("No probability that one person wrote both sides is given" in told) == (prior is None)
    if prior is None:
        assert made.to_json()["probability_same_author"] is None
        # the explanation's own, by even priors
        assert not re.search(r"(?<![\d.])0\.944(?!\d)", report_page(made))


@every_report
def test_the_two_propositions_are_there_with_the_names_of_all_texts(made: Report) -> None:
    told = "\n".join(said(made))
    assert "H_same: Same-author proposition: one person wrote both “letters/tom.txt”" in told
    known = "K2" if made.details.items else "“second.txt”"
    assert f"(first side) and “<script>alert(1)</script>” and {known} (second side)" in told
    assert "H_different: Different-author proposition: one person wrote the first side, and" in told


def test_several_encoders_are_said_to_be_several() -> None:
    alone = " ".join(said(report(members=("network",))))
    assert "the first divided by the second is the Bayes factor." in alone
    together = " ".join(said(report(members=("network", "ngrams"))))
    assert "each of 2 encoders turns it" in together
    assert "The logarithms of those of all encoders are added up." in together


def test_a_side_of_many_texts_is_named_by_some() -> None:
    many = tuple(replace(report().first[0], name=f"{at}.txt") for at in range(9))
    told = "\n".join(said(report(first=many)))
    assert "“0.txt”, “1.txt”, “2.txt” and 6 more texts (first side)" in told
    assert "“0.txt”, “1.txt”, “2.txt” and “3.txt” (first" in "\n".join(said(report(first=many[:4])))


def test_what_points_the_wrong_way_is_counted_on_the_side_that_matters() -> None:
    facts = report().validation
    assert facts is not None
    for_one = f"{facts.different_at_least:,} of {facts.different_authors:,}"
    assert facts.different_at_least > 0
    assert any(
        "by two known authors" in sentence and for_one in sentence for sentence in said(report())
    )
    against = report(-0.9)
    assert against.validation is not None
    count = f"{against.validation.same_at_most:,} of {against.validation.same_author:,}"
    assert any(
        "by one known author" in sentence and count in sentence for sentence in said(against)
    )


def test_that_nothing_was_seen_is_not_that_nothing_can_be() -> None:
    told = " ".join(said(report(1.76)))
    assert "none of 200 has a Bayes factor at least as great" in told
    assert "up to 1.5% of cases may well not occur once" in told  # 1 - 0.05 ** (1 / 200)


def test_a_report_says_what_it_lacks() -> None:
    told = " ".join(said(bare()))
    for lack in (
        "No relevant population was given.",
        "Interval over passages: not given",
        "No validation under conditions like those of this case is available.",
        "Examiner: not stated",
        "Custody: not stated",
        "The model is not calibrated",
        "How often cases of known authors give such a Bayes factor is not known",
        "The software found nothing in these texts that calls for a warning",
    ):
        assert lack in told
    assert "Last, the number is calibrated" not in told
    assert "Last, the number is calibrated" in " ".join(said(report()))


def test_where_no_statement_is_made_the_number_is_not_put_into_words() -> None:
    told = " ".join(said(silent()))
    assert "No statement is made" in told
    assert "no statement is based on it" in told
    assert "support for" not in told
    assert "times as probable" not in words_of_section(silent(), "summary")
    assert "times as probable" not in words_of_section(silent(), "result")
    assert " to 1 for" not in told


def test_a_population_that_moves_the_number_far_is_remarked_upon() -> None:
    assert "moves the log10 Bayes factor by −1.00" in " ".join(said(report()))
    population = report().population
    assert population is not None
    near = replace(population, log10_bayes_factor_without=1.2)
    assert "moves the log10" not in " ".join(said(report(population=near)))


def test_halves_of_a_population_show_how_much_depends_on_its_texts() -> None:
    told = " ".join(said(ALL["for one author"]))
    assert "With parts of it: log10 Bayes factor +0.83 to +1.53, the median is +1.33" in told
    assert "10 random halves of the population, of 25 texts each. They show" in told
    assert "the evidence points the other way" not in told
    each_left_out = " ".join(said(ALL["each text of the population left out"]))
    assert "without one of its texts, each left out in turn. They show" in each_left_out
    assert "With some of them the evidence points the other way." in each_left_out
    assert "too small to compute the number with a part" in " ".join(
        said(ALL["too small a population"])
    )


def test_a_population_that_was_not_used_is_not_said_to_be() -> None:
    told = " ".join(said(ALL["a population of another genre"]))
    assert "With it: it was not used" in told
    assert "Texts used" not in told
    assert "with a part of it" not in told
    assert "here without a relevant population" in told
    assert "seem to be of another genre" in told


def test_the_texts_of_the_population_are_listed_with_their_hashes() -> None:
    made = report()
    assert made.population is not None
    told = said(made)
    for text in made.population.material:
        assert {text.name, text.sha256, f"{text.words:,}"} <= {*told}
    assert "Annex: the texts of the population" not in said(ALL["texts of the population unknown"])
    assert "Annex: the texts of the population" not in said(bare())


def test_conditions_that_the_cases_do_not_share_are_in_the_summary_and_beside_them() -> None:
    named = "These cases were not chosen by genre and length of the texts, since too few"
    for at in (1, 11):  # the summary, Annex C
        section = section_elements(ALL["unlike the cases"])[at]
        assert named in " ".join("".join(section.itertext()).split())
    assert "These cases were not chosen" not in " ".join(said(report()))


def words_of_section(made: Report, name: str) -> str:
    """All words of a section, by its id."""
    (section,) = (one for one in section_elements(made) if one.get("id") == name)
    return " ".join(" ".join(section.itertext()).split())


def test_what_can_be_said_at_most_is_with_the_result_and_with_the_bounds() -> None:
    named = (
        "a population of 50 texts) the model reports numbers from −1.34 to +1.76, that is, at most "
        "moderate support for either proposition"
    )
    assert named in words_of_section(report(), "result")
    bounds = "no log10 Bayes factor below −1.34 or above +1.76 is reported"
    assert bounds in words_of_section(report(), "annex-calibration")


def test_shares_and_costs_have_their_intervals() -> None:
    facts = report().validation
    assert facts is not None
    low, high = (f"{100 * end:.1f}%" for end in facts.intervals["different_at_least"])
    share = f"{100 * facts.different_at_least / facts.different_authors:.1f}%"
    told = " ".join(said(report()))
    assert f"({share}, 95% interval {low} to {high}) have a Bayes factor at least" in told
    assert f"{facts.different_at_least} ({share}; {low} to {high})" in told
    cost = facts.intervals["cllr"]
    assert f"is {facts.cllr:.2f} (95% interval {cost[0]:.2f} to {cost[1]:.2f}):" in told


def test_an_interval_that_was_cut_off_says_so() -> None:
    assert "cut off where the calibration ends" in " ".join(said(report()))
    interval = report().interval
    assert interval is not None
    beyond = replace(interval, low=1.23, high=1.23, low_is_bound=True, high_is_bound=True)
    assert "lies beyond the bound of the calibration, +1.23" in " ".join(
        said(report(interval=beyond))
    )
    alike = replace(beyond, low_is_bound=False, high_is_bound=False)  # all passages are the same
    told = " ".join(said(report(interval=alike)))
    assert "from +1.23 to +1.23" in told
    assert "beyond the bound" not in told


@pytest.mark.parametrize(
    ("log10", "shown"),
    [
        (0.0, "about 1 times"),
        (0.301, "about 2 times"),
        (-0.301, "about 2 times"),
        (0.78, "about 6 times"),
        (0.81, "about 6.5 times"),
        (0.9999, "about 10 times"),
        (1.51, "about 32 times"),
        (2.517, "about 330 times"),
        (4.1, "about 13,000 times"),
        (41.7, "about 10 to the power of 42 times"),
    ],
)
def test_a_bayes_factor_is_shown_with_two_digits(log10: float, shown: str) -> None:
    assert times(log10) == shown


def test_a_bayes_factor_next_to_nothing_is_not_so_many_times_as_probable() -> None:
    assert "about equally probable under both propositions" in in_numbers(-0.01)
    assert "about 1 to 1" in " ".join(said(report(0.01)))
    assert "about 100 times as probable if one person" in in_numbers(1.9985)
    assert in_numbers(float("inf")) == ""


def test_the_sections_come_in_order_and_the_texts_last() -> None:
    head, *result = section_elements(report())
    assert head.tag == "header"
    assert [section.get("id") for section in result] == [
        *("summary", "propositions", "material", "method", "result", "validation", "limits"),
        *("not-examined", "annex-material", "annex-population", "annex-validation"),
        *("annex-calibration", "annex-method", "texts"),
    ]
    titles = [section.findtext("h2") or "" for section in result]
    assert titles[5].startswith("5. Validation")  # the words refer to these
    assert titles[2].startswith("2. Material")
    assert [title[:7] for title in titles[8:]] == [f"Annex {letter}" for letter in "ABCDEF"]


@pytest.mark.parametrize(
    ("annex", "last"),
    [("none", "not-examined"), ("short", "annex-passages"), ("full", "texts")],
)
def test_the_annex_is_as_long_as_was_asked_for(annex: str, last: str) -> None:
    made = report(annex=annex)
    names = [section.get("id") for section in section_elements(made)]
    assert names[-1] == last
    told = "\n".join([*said(made)])
    assert ("cd" * 32 in told) == (annex != "full" or "Annex A" in told)
    assert ("Annex" in told) == (annex != "none")
    assert ("01" * 32 in told) == (annex != "none")


@pytest.mark.parametrize("annex", ["short", "full"])
def test_the_last_annex_says_what_passages_habits_and_conditions_did(annex: str) -> None:
    made = report(annex=annex)
    told = words_of_section(made, "texts" if annex == "full" else "annex-passages")
    assert "adds up to the log10 Bayes factor, before the bounds of the calibration." in told
    assert "Genre that of the population – –" in told
    assert "Length 1,400 words and marks a text texts of 650 +0.31" in told
    assert "Texts 1 against 2 one against one, on average +0.12" in told
    assert "Population 50 texts no population −1.00" in told
    assert ("Names such as Anne" in told) == (annex == "full")


def test_what_the_case_file_says_is_in_the_sections_where_a_court_looks_for_it() -> None:
    made = report()
    for name, words in (
        ("propositions", "Instruction Compare the letters of"),
        ("propositions", "Told to the examiner nothing but the dates"),
        ("material", "Received 2 May 2026"),
        ("material", "Custody a sealed bag, kept in a safe"),
        ("material", "K2 second second.txt 2 May, by post 1,234"),
        ("not-examined", "The paper, which is lost."),
        ("annex-material", "K2 a transcript"),
    ):
        assert words in words_of_section(made, name), words
    head = " ".join(" ".join(section_elements(made)[0].itertext()).split())
    assert "Examiner Dr. A. Example, Institute of Letters" in head
    assert "Qualification Doctorate in linguistics" in head
    assert "Instructed by the court of Nowhere" in head
    assert "Reviewed by B. Other" in head


def test_what_would_change_the_result_is_told_in_numbers() -> None:
    told = words_of_section(report(), "result")
    assert "if it favours H_different over H_same by odds of more than about 17 to 1." in told
    assert "with one text of a side left out in turn, the number is +1.03 to +1.33; the" in told
    assert "without any, the number is +2.23; with parts of this one it is +0.83 to +1.53" in told
    assert "could point the other way" not in told
    against = words_of_section(report(-0.9), "result")
    assert "if it favours H_same over H_different by odds of more than about 7.9 to 1." in against
    assert "without any, the number is +0.10" in against
    assert "the evidence could point the other way" in against
    assert "by odds of" not in words_of_section(report(0.0), "result")
    assert "What would change" not in words_of_section(silent(), "result")


def test_hashes_version_model_and_settings_are_all_said() -> None:
    told = "\n".join([*said(report()), report_page(report())])
    for told_of in (
        "cd" * 32,
        "ef" * 32,
        "ab" * 32,
        "01" * 32,
        "1.2.3",
        "general-en",
        "2026-05-31",
    ):
        assert told_of in told
    assert "200 draws, seed 7" in told
    assert "--population POPULATION" in told
    assert "2026-01-02 03:04 UTC" in told


@given(log10s)
def test_an_interval_around_zero_is_said_to_point_both_ways(log10: float) -> None:
    made = report(log10)
    assert made.interval is not None
    around = made.interval.low < 0 < made.interval.high
    assert ("could have pointed the other way" in " ".join(said(made))) == (around and made.states)


def test_a_report_says_that_a_twin_was_calibrated_and_tried() -> None:
    made = report()
    assert made.calibration is not None
    told = " ".join(said(replace(made, calibration=replace(made.calibration, twin=True))))
    own = " ".join(said(made))
    of_twin = "none of them among those of the training texts of a twin of the model"
    tried = "A twin of the model, trained without these authors, was tried on cases"
    assert (of_twin in told, tried in told) == (True, True)
    assert (of_twin in own, tried in own) == (False, False)
    assert "The model was tried on cases" in own
