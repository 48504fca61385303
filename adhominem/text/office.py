"""Office files as text: what an author wrote in a .docx, .odt or .pdf, without the layout.

The libraries belong to the extra `documents` and are imported when first needed.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.handler import ContentHandler, feature_namespaces
from xml.sax.xmlreader import AttributesNSImpl
from zipfile import ZipFile

from adhominem.errors import (
    DamagedFileError,
    EmptyTextError,
    InputError,
    MissingExtraError,
)
from adhominem.text.files import open_bytes

OFFICE_SUFFIXES = (".docx", ".odt", ".pdf")

# A larger text is no single author's; a few kB can be packed so as to fill the memory.
MAX_UNPACKED_BYTES = 512 << 20

_PROTECTED = "the file is protected by a password; save an unprotected copy and read that"

# A .docx with a password is not a zip but this older container, as are the files of Word 97.
_OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

# The usual namespace, and that of files saved as "Strict Open XML".
_WORD = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_WORD_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Deleted and moved text, and the reading aids above it (rt). The properties (pPr) hold no text,
# but elements named `tab`: the stops of the ruler.
_WORD_LEFT_OUT = {"del", "moveFrom", "rt", "pPr"}

_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_ODF_TEXT = f"{_ODF}:text:1.0"
_ODF_EXTENSION = "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"
_ODF_PARAGRAPHS = {(_ODF_TEXT, "p"), (_ODF_TEXT, "h")}
_ODF_LEFT_OUT = {
    (f"{_ODF}:office:1.0", "annotation"),
    (f"{_ODF}:drawing:1.0", "object"),
    (_ODF_TEXT, "tracked-changes"),
    (_ODF_TEXT, "note"),
    (_ODF_TEXT, "number"),
    (_ODF_TEXT, "placeholder"),
    (_ODF_TEXT, "ruby-text"),
    (_ODF_TEXT, "script"),
}
# White space that was typed is an element, all other collapses. These stand for the elements
# meanwhile: control characters that no XML may hold.
_ODF_SPACE, _ODF_TAB, _ODF_BREAK = "\0\1\2"
_ODF_CHARACTERS = {(_ODF_TEXT, "tab"): _ODF_TAB, (_ODF_TEXT, "line-break"): _ODF_BREAK}
_ODF_TYPED = str.maketrans({_ODF_SPACE: " ", _ODF_TAB: "\t", _ODF_BREAK: "\n"})

_LETTER = r"[^\W\d_]"
_HYPHENATED = re.compile(rf"(?<={_LETTER})[-\u00ad\u2010][ \t]*\n[ \t]*(?={_LETTER})")
# One glyph for two or three letters is the typesetter's choice, not the author's.
_LIGATURES = str.maketrans(
    dict(zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True))
)

# What pypdf finds odd and mends goes to the log of an application that has one, not to stderr.
_NO_HANDLER = logging.NullHandler()


def read_office(path: Path) -> str:
    """The running text of a .docx, .odt or .pdf, its paragraphs separated by a newline.

    Left out is what is not the author's running text: headers, footers, comments, deleted text,
    footnotes and endnotes (which are often references), empty paragraphs, formulas. A PDF knows
    only lines on pages: it keeps them, with its headers, footers and notes.
    """
    suffix = path.suffix.lower()
    if suffix not in OFFICE_SUFFIXES:
        raise InputError(f"expected a file ending in {', '.join(OFFICE_SUFFIXES)}", path)
    read = {".docx": _read_docx, ".odt": _read_odt, ".pdf": _read_pdf}[suffix]
    with open_bytes(path) as file:
        data = file.read()
    try:
        text = read(data)
    except (MissingExtraError, MemoryError):
        raise
    except InputError as error:
        raise error.at(path) from None
    except Exception as error:  # a broken file makes the libraries raise almost anything
        detail = f"{type(error).__name__}: {error.args[0] if error.args else 'no details'}"
        raise DamagedFileError(
            f"the file is damaged or no {suffix} file at all ({detail}); fetch it again, "
            f"or open it in the program that wrote it and save it anew",
            path,
        ) from error
    if not text or text.isspace():
        raise EmptyTextError("the document holds no text; expected at least one paragraph", path)
    return text


def _open_zip(data: bytes) -> ZipFile:
    if data.startswith(_OLE_MARK):
        raise InputError(
            "the file is protected by a password, or of a Word before 2007; "
            "save an unprotected copy as .docx and read that"
        )
    archive = ZipFile(io.BytesIO(data))
    # The declared sizes can be trusted: ZipFile unpacks no more than what they say.
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > MAX_UNPACKED_BYTES:
        raise DamagedFileError(
            f"the file unpacks to {unpacked:,} bytes, expected at most {MAX_UNPACKED_BYTES:,}; "
            "if it is no fake, save its text alone as a new file"
        )
    return archive


def _join(paragraphs: Iterable[str]) -> str:
    return "\n".join(paragraph for paragraph in paragraphs if paragraph.strip())


def _read_docx(data: bytes) -> str:
    try:
        from docx.oxml import parse_xml
    except ImportError:
        raise MissingExtraError("python-docx", "documents", "reading .docx files") from None

    # Only the parts that are needed: `docx.Document` unpacks the pictures too, and refuses
    # files that Word opens when any part of them points nowhere.
    def parse(part: str) -> Any:
        root: Any = parse_xml(archive.read(part))
        # python-docx's parser resolves no entities; it would leave gaps in their place.
        if root.getroottree().docinfo.doctype:
            raise DamagedFileError(
                "the file declares an XML document type, which no Word file does; save it anew"
            )
        return root

    with _open_zip(data) as archive:
        for relation in parse("_rels/.rels").iter("{*}Relationship"):
            if relation.get("Type", "").endswith("/officeDocument"):
                body = parse(relation.get("Target").lstrip("/"))
                break
        else:
            raise DamagedFileError("the file names no main document; save it anew as .docx")
    paragraphs: list[list[str]] = []
    _collect_word(body, [], paragraphs)
    return _join(map("".join, paragraphs))


def _collect_word(nodes: Iterable[Any], line: list[str], paragraphs: list[list[str]]) -> None:
    """Add the text of `nodes` to `line`, and each paragraph in them to `paragraphs`.

    A paragraph takes its place where it begins, so a text box follows the one it hangs on.
    """
    unfinished: list[str] | None = None
    for node in nodes:
        if not isinstance(node.tag, str):  # a comment in the XML
            continue
        namespace, _, name = node.tag[1:].rpartition("}")
        if node.tag == _ALTERNATIVES:  # the same content once for each version of Word
            _collect_word(node[:1], line, paragraphs)
        elif namespace not in _WORD:
            _collect_word(node, line, paragraphs)
        elif name in _WORD_LEFT_OUT or (name == "sdt" and _is_placeholder(node, namespace)):
            continue
        elif name == "t":
            line.append(node.text or "")
        elif name in _WORD_CHARACTERS:
            line.append(_WORD_CHARACTERS[name])
        elif name == "p":
            if unfinished is None:
                paragraphs.append([])
            paragraph = paragraphs[-1] if unfinished is None else unfinished
            _collect_word(node, paragraph, paragraphs)
            # Where the paragraph's end was deleted, the next one goes on in the same line.
            end = f"{{{namespace}}}pPr/{{{namespace}}}rPr/{{{namespace}}}"
            joined = any(node.find(end + change) is not None for change in ("del", "moveFrom"))
            unfinished = paragraph if joined else None
        else:
            _collect_word(node, line, paragraphs)


def _is_placeholder(node: Any, namespace: str) -> bool:
    """Whether this content control still shows its "Click here to enter text"."""
    return node.find(f"{{{namespace}}}sdtPr/{{{namespace}}}showingPlcHdr") is not None


def _read_odt(data: bytes) -> str:
    try:
        from defusedxml.sax import make_parser
    except ImportError:
        raise MissingExtraError("defusedxml", "documents", "reading .odt files") from None

    with _open_zip(data) as archive:
        manifest = "META-INF/manifest.xml"
        if manifest in archive.namelist() and b"encryption-data" in archive.read(manifest):
            raise InputError(_PROTECTED)
        content = archive.read("content.xml")
    # This parser raises where an entity is declared, so that none is resolved. odfpy is of no
    # help: it prints broken XML and goes on with half of it, and refuses styles it does not know.
    collector = _OdfCollector()
    parser = make_parser()
    parser.setFeature(feature_namespaces, 1)
    parser.setContentHandler(collector)
    parser.parse(io.BytesIO(content))
    return _join(
        re.sub("[ \t\r\n]+", " ", "".join(paragraph)).strip(" ").translate(_ODF_TYPED)
        for paragraph in collector.paragraphs
    )


class _OdfCollector(ContentHandler):
    """The paragraphs of an OpenDocument text, each placed where it begins."""

    def __init__(self) -> None:
        super().__init__()
        self.paragraphs: list[list[str]] = []
        self._lines: list[list[str]] = [[]]  # the innermost last; the first is for no paragraph
        self._elements: list[tuple[str | None, str]] = []
        self._left_out = 0  # how many of the elements around are left out

    def startElementNS(  # noqa: N802
        self, name: tuple[str | None, str], qname: str | None, attrs: AttributesNSImpl
    ) -> None:
        self._elements.append(name)
        if self._left_out or name in _ODF_LEFT_OUT:
            self._left_out += 1
        elif name in _ODF_PARAGRAPHS:
            self.paragraphs.append([])
            self._lines.append(self.paragraphs[-1])
        elif name == (_ODF_TEXT, "s"):
            # Nobody types a thousand spaces; a forged count must not fill the memory.
            count = int(attrs.get((_ODF_TEXT, "c"), "1"))
            self._lines[-1].append(_ODF_SPACE * min(count, 1000))
        elif name in _ODF_CHARACTERS:
            self._lines[-1].append(_ODF_CHARACTERS[name])

    def endElementNS(self, name: tuple[str | None, str], qname: str | None) -> None:  # noqa: N802
        self._elements.pop()
        if self._left_out:
            self._left_out -= 1
        elif name in _ODF_PARAGRAPHS:
            self._lines.pop()

    def characters(self, content: str) -> None:
        # Only in text elements: a picture among them has a description, too.
        if not self._left_out and self._elements[-1][0] in (_ODF_TEXT, _ODF_EXTENSION):
            self._lines[-1].append(content)


def _read_pdf(data: bytes) -> str:
    try:
        from pypdf import PasswordType, PdfReader
        from pypdf.errors import DependencyError
    except ImportError:
        raise MissingExtraError("pypdf", "documents", "reading .pdf files") from None

    logging.getLogger("pypdf").addHandler(_NO_HANDLER)
    try:
        reader = PdfReader(io.BytesIO(data))
        # Many a PDF is encrypted with an empty password, only to forbid printing.
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise InputError(_PROTECTED)
        pages = [page.extract_text().strip("\n") for page in reader.pages]
    except DependencyError as error:
        raise InputError(
            f"the file is encrypted or packed in a way that needs a further library ({error}); "
            "install that, or save an unprotected copy"
        ) from None
    text = _join(pages)
    if not text:
        raise EmptyTextError(
            "the PDF holds no text, probably only images of pages; run OCR on it first"
        )
    return _mend_typesetting(text)


def _mend_typesetting(text: str) -> str:
    """Join words divided at a line's end; before a capital the hyphen belongs to the word."""
    return _HYPHENATED.sub(
        lambda hyphen: "" if hyphen.string[hyphen.end()].islower() else hyphen[0],
        text.translate(_LIGATURES),
    )
