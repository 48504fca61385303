"""The forms of a report: each holds the data, each is checked, and Word opens what is for Word."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import docx
import made_up
import pytest
from conftest import SmallRun, made_up_rows
from made_up_reports import ALL, report, with_study

from adhominem import Verifier, load
from adhominem.errors import DamagedFileError, InputError, MissingExtraError, TooLargeError
from adhominem.questions.report.check import Difference, check_report, compare_files
from adhominem.questions.report.details import CaseDetails
from adhominem.questions.report.document import (
    Facts,
    PaperTable,
    Words,
    paper_sections,
    section_elements,
)
from adhominem.questions.report.formats import (
    FORMS,
    attached_to_pdf,
    read_report,
    report_bytes,
    texts_between,
    write_report,
)
from adhominem.questions.report.report import make_report

pytest.importorskip("reportlab")
ROWS = made_up_rows(4, 3, "f")
FIRST = " ".join(row["text"] for row in ROWS[:3])
SECOND = [" ".join(row["text"] for row in ROWS[at : at + 3]) for at in (3, 6)]
CHOSEN = ("for one author", "bare", "with a study", "with a short annex", "without an annex")


@dataclass(frozen=True)
class Written:
    """A report in all its forms."""

    verifier: Verifier
    model: Path
    files: dict[str, Path]

    def check(self, path: Path) -> list[Difference]:
        return check_report(path, FIRST, SECOND, verifier=self.verifier, model=self.model)


@pytest.fixture(scope="module")
def written(small_run: SmallRun, tmp_path_factory: pytest.TempPathFactory) -> Written:
    place = tmp_path_factory.mktemp("forms")
    verifier = load(small_run.folder)
    details = CaseDetails(case="endstream >> 7", examiner="A. Example")
    made = make_report(
        verifier,
        FIRST,
        SECOND,
        draws=20,
        date="2026-05-31",
        details=details,
    )
    files = {suffix: place / f"report{suffix}" for suffix in (".html", ".pdf", ".docx")}
    for path in files.values():
        write_report(made, path)
    return Written(verifier, small_run.folder, files)


@pytest.mark.parametrize("suffix", [".html", ".pdf", ".docx"])
def test_every_form_holds_its_data_and_is_the_same_when_it_is_computed_anew(
    written: Written, suffix: str
) -> None:
    path = written.files[suffix]
    stored = read_report(path).report
    assert stored.to_json() == read_report(written.files[".html"]).report.to_json()
    assert written.check(path) == []


def changed_pdf_data(data: bytes) -> bytes:
    at = data.index(b'"verbal": "')
    return data[:at] + data[at:].replace(b"The texts", b"Ten texts", 1)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (changed_pdf_data, "verbal"),
        (lambda data: data + b"% and an update that shows another page\n", "what the PDF shows"),
        (lambda data: data.replace(b"/Title", b"/Tytle", 1), "what the PDF shows"),
    ],
)
def test_a_pdf_that_was_changed_fails_its_check(
    written: Written, tmp_path: Path, change: Callable[[bytes], bytes], what: str
) -> None:
    data = written.files[".pdf"].read_bytes()
    assert change(data) != data
    (path := tmp_path / "report.pdf").write_bytes(change(data))
    assert what in {difference.what for difference in written.check(path)}


def test_every_paragraph_that_an_examiner_changed_in_word_is_listed(
    written: Written, tmp_path: Path
) -> None:
    document = docx.Document(str(written.files[".docx"]))
    (paragraph,) = (one for one in document.paragraphs if "is not a verdict" in one.text)
    paragraph.runs[0].text = "It was he."
    document.add_paragraph("A remark of the examiner’s.")
    document.save(str(path := tmp_path / "report.docx"))
    differences = written.check(path)
    assert {difference.what for difference in differences} == {"what the document says"}
    told = " ".join(map(str, differences))
    assert len(differences) == 2
    assert "It was he." in differences[0].reported
    assert "is not a verdict" in differences[0].found
    assert "A remark of the examiner’s." in told


_FORMULA = (
    b'<w:p><m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
    b"<m:r><m:t>LR = 1000000</m:t></m:r></m:oMath></w:p>"
)


@pytest.mark.parametrize(
    ("part", "old", "new", "what"),
    [
        ("word/footer1.xml", b"endstream", b"He did it", "what word/footer1.xml says"),
        ("word/media/image1.png", b"IEND", b"IENE", "word/media/image1.png"),
        ("word/document.xml", b"<w:body>", b"<w:body>" + _FORMULA, "what the document says"),
        ("word/comments.xml", b"", b"<a/>", "part of the document"),
        ("word/footer1.xml", b"", None, "part of the document"),
    ],
)
def test_what_was_forged_beside_the_words_of_a_word_document_is_found(
    tmp_path: Path, part: str, old: bytes, new: bytes | None, what: str
) -> None:
    made = with_study()
    made = replace(made, details=replace(made.details, case="endstream"))
    write_report(made, path := tmp_path / "report.docx")
    assert list(compare_files(read_report(path), made)) == []
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if new is None:
        del parts[part]
    else:
        assert old in parts.get(part, b"")
        parts[part] = parts.get(part, b"").replace(old, new, 1) if old else new
    with ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    (difference,) = compare_files(read_report(path), made)
    assert difference.what.startswith(what)


@pytest.mark.parametrize("suffix", [".pdf", ".docx"])
def test_a_file_without_the_data_of_a_report_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"other{suffix}"
    if suffix == ".docx":
        docx.Document().save(str(path))
    else:
        path.write_bytes(b"%PDF-1.4\n%%EOF\n")
    with pytest.raises(InputError, match="not a report by AdHominem, or it is damaged"):
        read_report(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError):
        read_report(path)


def words_in(data: bytes) -> str:
    """All words of a Word document, those of its tables among them, in order."""
    document = docx.Document(io.BytesIO(data))
    texts = []
    for part in document.iter_inner_content():
        if isinstance(part, docx.table.Table):
            texts += [cell.text for row in part.rows for cell in row.cells]
        else:
            texts.append(part.text)
    return "\n".join(texts)


@pytest.mark.parametrize("name", CHOSEN)
def test_a_word_document_says_what_the_page_says(name: str) -> None:
    made = ALL[name]
    told = words_in(report_bytes(made, ".docx"))
    for section in paper_sections(made):
        for block in section.blocks:
            match block:
                case Words(_, text):
                    assert text in told
                case Facts(rows):
                    assert all(name in told and fact in told for name, fact, _ in rows)
                case PaperTable():
                    cells = [
                        *block.heads,
                        *block.notes,
                        *(cell for row in block.rows for cell in row),
                    ]
                    assert all(cell in told for cell in [block.caption, *cells])


def test_a_word_document_has_headings_a_figure_and_its_properties() -> None:
    made = with_study()
    document = docx.Document(io.BytesIO(report_bytes(made, ".docx")))
    headings = [one.text for one in document.paragraphs if one.style.name == "Heading 1"]
    assert headings == [section.findtext("h2") for section in section_elements(made)[1:]]
    assert len(document.inline_shapes) == 1  # the Tippett plot
    assert document.core_properties.author == "Dr. A. Example"
    assert document.core_properties.created.year == 2026
    page = document.sections[0]
    assert (round(page.page_width.mm), round(page.page_height.mm)) == (210, 297)
    for table in document.tables:
        assert sum(column.width.mm for column in table.columns) <= 175


def test_heat_maps_in_word_have_the_contribution_before_each_passage() -> None:
    made = report()
    assert made.explanation is not None
    told = words_in(report_bytes(made, ".docx"))
    assert "(first side)" in told
    assert "[+0." in told
    shaded = docx.Document(io.BytesIO(report_bytes(made, ".docx"))).element.xml
    assert shaded.count("w:shd") > 4


def test_the_data_in_word_are_custom_xml_which_word_keeps() -> None:
    made = report()
    with ZipFile(io.BytesIO(report_bytes(made, ".docx"))) as archive:
        names = [name for name in archive.namelist() if name.startswith("customXml/item")]
        holding = [name for name in names if b"urn:adhominem:report" in archive.read(name)]
        (name,) = holding
        data = archive.read(name).decode("ascii").partition(':1">')[2].partition("</report>")[0]
        assert json.loads(data) == made.to_json()
        relations = archive.read("word/_rels/document.xml.rels").decode()
        assert name.removeprefix("customXml/") in relations


@pytest.mark.parametrize("suffix", [".pdf", ".docx"])
def test_whatever_a_case_is_called_a_report_is_read_back(suffix: str, tmp_path: Path) -> None:
    nasty = 'endstream >> stream\n<</Type /EmbeddedFile>> ]]> & </report> "\\ \x00\x0b \u2028 𝔘'
    made = report(details=CaseDetails(case=nasty, examiner=made_up.BAD), explanation=None)
    write_report(made, path := tmp_path / f"report{suffix}")
    assert read_report(path).report.to_json() == made.to_json()
    assert report_bytes(made, suffix) == path.read_bytes()


def test_the_pdf_has_its_data_as_an_attached_file(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    made = report()
    reader = pypdf.PdfReader(io.BytesIO(report_bytes(made, ".pdf")))
    assert list(reader.attachments) == ["report.json"]
    assert json.loads(reader.attachments["report.json"][0]) == made.to_json()


@pytest.mark.parametrize(("suffix", "library"), [(".docx", "docx"), (".pdf", "reportlab")])
def test_without_the_library_of_a_form_it_says_what_to_install(
    suffix: str, library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"'{library}'.*\[report\]"):
        write_report(report(), tmp_path / f"report{suffix}")
    assert not list(tmp_path.iterdir())
    assert FORMS[".html"].libraries == ()


def test_a_case_or_an_examiner_of_many_words_fits_into_the_properties_of_word() -> None:
    long = "x" * 5_000
    made = report(details=CaseDetails(case=long, examiner=long), explanation=None)
    properties = docx.Document(io.BytesIO(report_bytes(made, ".docx"))).core_properties
    assert properties.author == "x" * 255
    assert len(properties.title) == 255


@pytest.mark.parametrize("method", [ZIP_DEFLATED, ZIP_LZMA])
def test_a_word_document_with_damaged_data_is_said_to_be_damaged(
    method: int, tmp_path: Path
) -> None:
    with ZipFile(path := tmp_path / "report.docx", "w", method) as archive:
        archive.writestr("customXml/item1.xml", "<report>" * 1_000)
    data = bytearray(path.read_bytes())
    begin = 30 + len("customXml/item1.xml")
    data[begin + 4 : begin + 20] = b"\xff" * 16
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match="the file is damaged"):
        read_report(path)


def test_the_data_in_a_word_document_are_limited_in_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adhominem.questions.report.formats._MOST_BYTES", 1_000)
    with ZipFile(path := tmp_path / "report.docx", "w") as archive:
        for number in range(3):
            archive.writestr(f"customXml/item{number}.xml", "x" * 400)
    with pytest.raises(TooLargeError, match="its data have 1,200 bytes"):
        read_report(path)


def test_a_file_full_of_beginnings_is_refused_at_once(tmp_path: Path) -> None:
    header = b"<</Length 999999999 /Type /EmbeddedFile>>stream\n"
    assert len(attached_to_pdf(header * 20_000)) == 1  # the data go on to the end
    assert attached_to_pdf(b"<</Type /EmbeddedFile " * 50_000) == []
    assert attached_to_pdf(b"<<" + b"/Type /EmbeddedFile " * 50_000) == []
    assert len(attached_to_pdf(header.replace(b"999999999", b"1") * 50_000)) == 2
    assert texts_between("<a>" * 300_000, "<a>", "</a>") == []
    assert texts_between("<a>1</a>" * 3, "<a>", "</a>") == ["1", "1"]
