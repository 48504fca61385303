"""A report as PDF: what a reader of the file finds in it."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_up
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_reports import ALL, report, text

from adhominem.errors import MissingExtraError
from adhominem.questions.report.details import CaseDetails
from adhominem.questions.report.document import PaperTable, paper_sections, section_elements
from adhominem.questions.report.formats import form_of, write_report
from adhominem.questions.report.report import Report
from adhominem.questions.report.words import TITLE
from adhominem.render.layout import SAME_COLOURS, strongest_of
from adhominem.render.summary import contributed
from adhominem.verify.cautions import Caution
from adhominem.verify.explanation import at_sentences

pypdf = pytest.importorskip("pypdf")
pytest.importorskip("reportlab")


def written(made: Report, folder: Path) -> Any:
    path = folder / "report.pdf"
    write_report(made, path)
    return pypdf.PdfReader(path)


def words(pdf: Any) -> str:
    """All of its text, with single spaces."""
    return " ".join(" ".join(page.extract_text() for page in pdf.pages).split())


def body(pdf: Any, made: Report) -> str:
    """All of its text but the foot of each page, which may stand in the middle of a sentence."""
    shown = []
    case = made.details.case
    for number, page in enumerate(pdf.pages, start=1):
        foot = f"Page{number}of{len(pdf.pages)}{TITLE}{'·' if case else ''}{case}"
        text = close(page.extract_text())
        assert text.startswith(close(foot))
        shown.append(text.removeprefix(close(foot)))
    return "".join(shown)


def close(shown: str) -> str:
    """Without the places where lines were broken."""
    return re.sub(r"\s+", "", shown)


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_a_pdf_says_what_the_page_says(made: Report, tmp_path: Path) -> None:
    result = close(body(written(made, tmp_path), made))
    for section in section_elements(made):
        for element in section.iter():
            if element.tag in ("h1", "h2", "p", "li", "dt", "dd", "caption"):
                assert close("".join(element.itertext())) in result
    for material in (*made.first, *made.second):
        assert material.sha256 in result
        assert close(material.name) in result
    if made.settings.annex == "none":
        return
    assert made.model_sha256 in result
    if made.population is not None:
        for text in made.population.material:
            assert text.sha256 in result
            assert close(text.name) in result


def test_the_texts_are_in_it_with_what_their_passages_contribute(tmp_path: Path) -> None:
    made = report()
    assert made.explanation is not None
    result = close(words(written(made, tmp_path)))
    shown = at_sentences(made.explanation)
    for explained in shown.texts:
        for passage in explained.passages:
            assert close(explained.text[passage.start : passage.end]) in result
    assert contributed(shown.texts[0].passages[0].contribution) in result


def test_the_strongest_passage_has_the_deepest_colour(tmp_path: Path) -> None:
    usual = report()
    assert usual.explanation is not None
    passages = [passage for shown in usual.explanation.texts for passage in shown.passages]
    strongest = strongest_of(passage.contribution for passage in passages)
    made = replace(
        usual.explanation,
        texts=tuple(
            replace(
                shown,
                passages=tuple(
                    replace(passage, contribution=strongest) for passage in shown.passages
                ),
            )
            for shown in usual.explanation.texts
        ),
    )
    pdf = written(report(explanation=made), tmp_path)
    pages = [page.get_contents().get_data().decode("latin-1") for page in pdf.pages]
    drawn = "".join(pages)
    teal = [part / 255 for part in bytes.fromhex(SAME_COLOURS[-1][1:])]
    fills = [
        [float(part) for part in result] for result in re.findall(r"(\S+) (\S+) (\S+) rg\b", drawn)
    ]
    assert any(fill == pytest.approx(teal, abs=0.002) for fill in fills)


def test_letters_of_many_alphabets_come_out(tmp_path: Path) -> None:
    name = "Žižek Ærø Ψυχή Москва Ελλάδα “naïve” … ½ €"
    result = words(written(report(details=CaseDetails(case=name), first=(text(name),)), tmp_path))
    assert result.count(name) >= 3


def test_a_letter_that_the_fonts_lack_is_named_by_its_number(tmp_path: Path) -> None:
    result = words(written(report(details=CaseDetails(case="a 中 b 😀 c")), tmp_path))
    assert "a [U+4E2D] b [U+1F600] c" in result


def test_what_looks_like_markup_is_shown_as_it_is(tmp_path: Path) -> None:
    name = "<b>&amp;</para><br/> & <img src='x'>"
    assert name in words(written(report(details=CaseDetails(case=name)), tmp_path))


def test_long_texts_go_on_over_many_numbered_pages(tmp_path: Path) -> None:
    long = made_up.explanation(made_up.FIRST * 60, made_up.SECOND * 30)
    pdf = written(report(explanation=long), tmp_path)
    assert len(pdf.pages) > 10
    for at, page in enumerate(pdf.pages, start=1):
        assert f"Page {at} of {len(pdf.pages)}" in page.extract_text()
    assert close(words(pdf)).count("patience") == 60


def test_names_and_warnings_without_end_break_nothing(tmp_path: Path) -> None:
    endless = "x" * 9_000
    many = tuple(text(f"{at} {endless[:400]}") for at in range(15))
    made = report(
        details=CaseDetails(case=endless[:5_000]),
        first=many,
        warnings=(Caution("short", endless),),
    )
    assert len(written(made, tmp_path).pages) > 6


def test_the_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.pdf", "two.pdf"):
        write_report(report(), tmp_path / name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


def test_the_file_knows_its_title_date_and_sections(tmp_path: Path) -> None:
    pdf = written(report(), tmp_path)
    assert pdf.metadata.title == "Report on a comparison of texts: Crown v. Nobody"
    assert pdf.metadata.author == "Dr. A. Example"
    assert pdf.metadata["/CreationDate"].startswith("D:20260531")
    titles = [entry.title for entry in pdf.outline]
    assert titles == [section.findtext("h2") for section in section_elements(report())[1:]]
    pages = [pdf.get_destination_page_number(entry) for entry in pdf.outline]
    assert pages == sorted(pages)
    assert pages[-1] > 1


@pytest.mark.parametrize(("annex", "pages"), [("none", 2), ("short", 5), ("full", 6)])
def test_two_pages_come_before_the_annexes(annex: str, pages: int, tmp_path: Path) -> None:
    plain = report(annex=annex, explanation=made_up.explanation() if annex != "none" else None)
    pdf = written(plain, tmp_path)
    assert len(pdf.pages) <= pages
    first_annex = [
        at for at, page in enumerate(pdf.pages) if "Annex A. Material" in page.extract_text()
    ]
    assert first_annex == ([] if annex == "none" else [2])


def test_no_head_of_a_table_breaks_inside_a_word() -> None:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    from adhominem.questions.report.pdf import BOLD, column_widths, register_fonts

    register_fonts()
    blocks = [
        block for made in ALL.values() for part in paper_sections(made) for block in part.blocks
    ]
    tables = [block for block in blocks if isinstance(block, PaperTable)]
    assert tables
    for table in tables:
        for head, wide in zip(table.heads, column_widths(table), strict=True):
            assert all(stringWidth(word, BOLD, 8.3) < wide - 11 for word in head.split())


def test_all_its_letters_are_in_the_file(tmp_path: Path) -> None:
    pdf = written(report(), tmp_path)
    for page in pdf.pages:
        for font in page["/Resources"]["/Font"].values():
            assert "/FontFile2" in font.get_object()["/FontDescriptor"]


@given(made_up.any_explanations(), st.text(max_size=30))
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_makes_a_pdf(explanation: Any, name: str) -> None:
    from adhominem.questions.report.pdf import pdf_of

    made = report(
        explanation=explanation,
        details=CaseDetails(case=name),
        first=(text(f"x{name}"),),
    )
    assert pdf_of(made).startswith(b"%PDF")


@pytest.mark.parametrize("library", ["reportlab", "matplotlib"])
def test_without_the_extra_it_says_what_to_install(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"'{library}'.*\[report\]"):
        write_report(report(), tmp_path / "report.pdf")
    with pytest.raises(MissingExtraError):
        form_of("report.pdf")
    assert not list(tmp_path.iterdir())
