"""Office files as text: what an author wrote in a .docx, .odt or .pdf, without the layout.

The XML in them is read as a stream: what is not the author's text is skipped, never kept. A few
kB of a zip can unpack to any amount of XML, so only the text itself is built, and bytes, elements,
names and letters are counted.

The library for .pdf belongs to the extra `documents` and is imported when first needed.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from adhominem.errors import (
    DamagedFileError,
    EmptyTextError,
    InputError,
    MissingExtraError,
    TooLargeError,
)
from adhominem.text.files import BLOCK, FILLS_MEMORY, most_bytes, too_large

_PROTECTED = "the file is protected by a password; save an unprotected copy and read that"

# The usual namespace, and that of files saved as "Strict Open XML".
_WORD = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_ALTERNATIVES = "http://schemas.openxmlformats.org/markup-compatibility/2006 AlternateContent"
_WORD_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Deleted and moved text, and the reading aids above it (rt). The properties (pPr) hold no text,
# but elements named `tab`: the stops of the ruler.
_WORD_LEFT_OUT = {"del", "moveFrom", "rt", "pPr"}

_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_ODF_TEXT = f"{_ODF}:text:1.0"
_ODF_EXTENSION = "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"
_ODF_PARAGRAPHS = {f"{_ODF_TEXT} p", f"{_ODF_TEXT} h"}
_ODF_NO_TEXT = ("tracked-changes", "note", "number", "placeholder", "ruby-text", "script")
_ODF_LEFT_OUT = {f"{_ODF}:office:1.0 annotation", f"{_ODF}:drawing:1.0 object"} | {
    f"{_ODF_TEXT} {name}" for name in _ODF_NO_TEXT
}
# White space that was typed is an element; all other white space collapses. These control
# characters, which XML must not contain, stand for the elements meanwhile.
_ODF_SPACES, _ODF_COUNT = f"{_ODF_TEXT} s", f"{_ODF_TEXT} c"
_ODF_CHARACTERS = {f"{_ODF_TEXT} tab": "\1", f"{_ODF_TEXT} line-break": "\2"}
_ODF_TYPED = str.maketrans("\0\1\2", " \t\n")

_LETTER = r"[^\W\d_]"
_HYPHENATED = re.compile(rf"(?<={_LETTER})[-\u00ad\u2010][ \t]*\n[ \t]*(?={_LETTER})")
# One glyph for two or three letters is the typesetter's choice, not the author's.
_LIGATURES = str.maketrans(
    dict(zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True))
)

# pypdf's warnings go to the log of an application that has one, not to stderr.
_NO_HANDLER = logging.NullHandler()

# Limits. Word adds so much markup that a novel of 3 MB may have 60 MB of XML.
_MOST_XML = 256 << 20
_XML_PER_TEXT = 4  # where the limit on a text is raised
_MOST_ELEMENTS = 8_000_000  # every word of that novel in a run of its own has half of that
_DEEPEST = 100_000  # elements within each other
_MOST_NAMES = 10_000  # of elements and attributes; the formats know some hundreds
_LONGEST_NAMESPACE = 300  # letters: it is spelt out with each name
_LONGEST_TAG = 16 << 20  # bytes, with all its attributes

# Files of the archive: a book with a picture on each page has a thousand, and ZipFile makes a list
# of all before any is read.
_MOST_PARTS = 100_000
_PART_MARK = b"PK\1\2"

# A .docx with a password is not a zip but this older container, as are the files of Word 97.
_OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def office_text(data: bytes, path: Path) -> str:
    """The running text of a .docx, .odt or .pdf, its paragraphs separated by a newline.

    Everything else is left out: headers, footers, comments, deleted text, footnotes and endnotes
    (which are often references), empty paragraphs, formulas. A PDF has only lines on pages: they
    are kept, with headers, footers and notes.
    """
    readers = {".docx": _read_docx, ".odt": _read_odt, ".pdf": _read_pdf}
    if (suffix := path.suffix.lower()) not in readers:
        raise InputError(f"expected a file ending in {', '.join(readers)}", path)
    with _damage(path):
        text = readers[suffix](data)
    if not text or text.isspace():
        raise EmptyTextError("the document holds no text; expected at least one paragraph", path)
    return text


def word_parts(data: bytes, path: Path) -> dict[str, str]:
    """All parts of a .docx by name: for XML all text that could be shown, for pictures the SHA-256.

    Unlike the running text, this includes headers, footers, notes, formulas, field codes, and
    deleted or hidden text.
    """
    with _damage(path), _open_zip(data) as archive:
        names = archive.namelist()
        if len({*names}) < len(names):
            raise DamagedFileError("two of its parts have the same name; save it again as .docx")
        return {name: _shown_by(archive, name) for name in names}


def _shown_by(archive: ZipFile, part: str) -> str:
    if part.endswith((".xml", ".rels")):
        return _join(_AllLetters(archive, part).paragraphs)
    digest = sha256()
    for block in _blocks_of(archive, part):
        digest.update(block)
    return digest.hexdigest()


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """A context that turns all errors about a broken file into InputErrors that name it."""
    try:
        yield
    except MissingExtraError:
        raise
    except MemoryError:
        raise TooLargeError(FILLS_MEMORY, path) from None
    except InputError as error:
        raise error.at(path) from None
    except Exception as error:  # almost any type is possible
        detail = f"{type(error).__name__}: {error.args[0] if error.args else 'no details'}"
        raise DamagedFileError(
            f"the file is damaged or not a {path.suffix.lower()} file at all ({detail}); fetch it "
            "again, or open it in the program that wrote it and save it again",
            path,
        ) from error


def _join(paragraphs: Iterable[str]) -> str:
    return "\n".join(paragraph for paragraph in paragraphs if paragraph.strip())


# The parts of a zip, and the XML in them


def _open_zip(data: bytes) -> ZipFile:
    if data.startswith(_OLE_MARK):
        raise InputError(
            "the file is protected by a password, or of a Word before 2007; "
            "save an unprotected copy as .docx and read that"
        )
    if data.count(_PART_MARK) > _MOST_PARTS:
        problem = f"it has more than {_MOST_PARTS:,} parts"
        raise DamagedFileError(f"{problem}; if it is genuine, save its text alone as a new file")
    return ZipFile(io.BytesIO(data))


def _blocks_of(archive: ZipFile, part: str) -> Iterator[bytes]:
    member = archive.getinfo(part)
    # The other methods unpack a block to any size at once, and no office program uses them.
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise DamagedFileError("the file is packed by an odd method; save it again")
    most, size = max(_MOST_XML, _XML_PER_TEXT * most_bytes()), 0
    with archive.open(member) as stream:
        while block := stream.read(BLOCK):
            size += len(block)
            if size > most:
                raise too_large(f"unpacked, its {part}", most)
            yield block


class _XmlText:
    """A part of an office file, read as XML; subclasses say what of it belongs to the text.

    Names are "NAMESPACE NAME". Paragraphs come in the order in which they begin: a text box follows
    the paragraph that it is anchored to.
    """

    def __init__(self, archive: ZipFile, part: str) -> None:
        self._paragraphs: list[list[str]] = []
        self._letters, self._most = 0, most_bytes()
        self._elements = fed = 0
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True  # otherwise each line of a text comes alone
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.letters
        parser.StartDoctypeDeclHandler = _refuse_document_type
        parser.StartNamespaceDeclHandler = _check_namespace
        for block in _blocks_of(archive, part):
            parser.Parse(block, False)
            fed += len(block)
            if fed - parser.CurrentByteIndex > _LONGEST_TAG:
                raise _odd(f"{_LONGEST_TAG:,} bytes in one tag")
            if len(parser.intern) > _MOST_NAMES:
                raise _odd(f"{_MOST_NAMES:,} different names")
        parser.Parse(b"", True)

    @property
    def paragraphs(self) -> Iterator[str]:
        """All paragraphs, the empty ones included."""
        return map("".join, self._paragraphs)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > _MOST_ELEMENTS:
            raise _odd(f"{_MOST_ELEMENTS:,} elements")
        self.start(name, attributes)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def letters(self, text: str) -> None:
        """Letters in the innermost element."""

    def new_paragraph(self) -> list[str]:
        self._paragraphs.append([])
        return self._paragraphs[-1]

    def add(self, paragraph: list[str] | None, text: str) -> None:
        """Add text to a paragraph, if it is in one, up to the limit of a text."""
        if paragraph is not None:
            self._letters += len(text)
            if self._letters > self._most:
                raise too_large("the text")
            paragraph.append(text)


def _refuse_document_type(*details: object) -> None:
    # Documents that declare entities: they multiply, fetch other files, or leave gaps.
    problem = "the file declares an XML document type, which no office program does; save it again"
    raise DamagedFileError(problem)


def _check_namespace(prefix: str | None, address: str | None) -> None:
    if address is not None and len(address) > _LONGEST_NAMESPACE:
        raise _odd(f"{_LONGEST_NAMESPACE} letters in the name of a namespace")


def _odd(what: str) -> DamagedFileError:
    problem = f"its XML has more than {what}"
    return DamagedFileError(f"{problem}; if it is genuine, save its text alone as a new file")


# Word


def _read_docx(data: bytes) -> str:
    # Only the necessary parts: Word opens files in which others are missing or broken.
    with _open_zip(data) as archive:
        main = _Relations(archive, "_rels/.rels").main_document
        if main is None:
            raise DamagedFileError("the file names no main document; save it again as .docx")
        return _join(_WordText(archive, main.lstrip("/")).paragraphs)


class _Relations(_XmlText):
    main_document: str | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        is_document = attributes.get("Type", "").endswith("/officeDocument")
        is_relation = name.rpartition(" ")[2] == "Relationship"
        if self.main_document is None and is_document and is_relation:
            self.main_document = attributes["Target"]


class _AllLetters(_XmlText):
    """All letters in a part of a Word document, whatever element they are in."""

    def __init__(self, archive: ZipFile, part: str) -> None:
        self._line: list[str] | None = None
        super().__init__(archive, part)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, bare = name.rpartition(" ")
        if namespace in _WORD and bare == "p":
            self._line = self.new_paragraph()
        elif namespace in _WORD and bare in _WORD_CHARACTERS:
            self.letters(_WORD_CHARACTERS[bare])

    def letters(self, text: str) -> None:
        self._line = self.new_paragraph() if self._line is None else self._line
        self.add(self._line, text)


@dataclass(slots=True)
class _Open:
    """An element of a .docx that has begun but not ended."""

    name: str  # empty if it is not Word's
    line: list[str] | None  # the paragraph that text in it belongs to
    left_out: bool
    joined: bool = False  # a paragraph whose end was deleted: the next goes on in its line
    unfinished: list[str] | None = None  # the line that the next paragraph goes on in
    used: bool = False  # whether one of the alternatives was read


class _WordText(_XmlText):
    """The running text of a Word document."""

    def __init__(self, archive: ZipFile, part: str) -> None:
        self._open = [_Open("", None, False)]
        super().__init__(archive, part)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > _DEEPEST:
            raise DamagedFileError("its XML is nested too deep; save it again")
        outer = self._open[-1]
        namespace, _, bare = name.rpartition(" ")
        if namespace not in _WORD:
            bare = _ALTERNATIVES if name == _ALTERNATIVES else ""
        left_out = outer.left_out or bare in _WORD_LEFT_OUT
        if outer.name == _ALTERNATIVES:  # the same content once for each version of Word
            left_out, outer.used = left_out or outer.used, True
        element = _Open(bare, outer.line, left_out)
        if bare == "showingPlcHdr" and self._inside("sdt", "sdtPr"):
            self._open[-2].left_out = True  # it still shows its "Click here to enter text"
        elif bare in ("del", "moveFrom") and self._inside("p", "pPr", "rPr"):
            self._open[-3].joined = True
        elif left_out:
            pass
        elif bare == "p":
            element.line = outer.unfinished
            if element.line is None:
                element.line = self.new_paragraph()
        elif bare in _WORD_CHARACTERS:
            self.add(outer.line, _WORD_CHARACTERS[bare])
        self._open.append(element)

    def _inside(self, *names: str) -> bool:
        outer = tuple(element.name for element in self._open[-len(names) :])
        return len(self._open) > len(names) and outer == names

    def end(self, name: str) -> None:
        element = self._open.pop()
        if element.name == "p" and not element.left_out:
            self._open[-1].unfinished = element.line if element.joined else None

    def letters(self, text: str) -> None:
        element = self._open[-1]
        if element.name == "t" and not element.left_out:
            self.add(element.line, text)


# OpenDocument


def _read_odt(data: bytes) -> str:
    with _open_zip(data) as archive:
        manifest = "META-INF/manifest.xml"
        if manifest in archive.namelist() and any(
            b"encryption-data" in block for block in _blocks_of(archive, manifest)
        ):
            raise InputError(_PROTECTED)
        return _join(
            re.sub("[ \t\r\n]+", " ", paragraph).strip(" ").translate(_ODF_TYPED)
            for paragraph in _OdfText(archive, "content.xml").paragraphs
        )


class _OdfText(_XmlText):
    """The running text of an OpenDocument text."""

    def __init__(self, archive: ZipFile, part: str) -> None:
        self._lines: list[list[str] | None] = [None]  # the innermost last; the first is outside any
        self._holds_text = [False]  # for each open element, whether it contains text
        self._left_out = 0  # number of open elements that are left out
        super().__init__(archive, part)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._holds_text.append(name.startswith((f"{_ODF_TEXT} ", f"{_ODF_EXTENSION} ")))
        if self._left_out or name in _ODF_LEFT_OUT:
            self._left_out += 1
        elif name in _ODF_PARAGRAPHS:
            self._lines.append(self.new_paragraph())
        elif name == _ODF_SPACES:
            # Nobody types a thousand spaces; a forged count must not fill the memory.
            count = int(attributes.get(_ODF_COUNT, "1"))
            self.add(self._lines[-1], "\0" * min(count, 1000))
        elif name in _ODF_CHARACTERS:
            self.add(self._lines[-1], _ODF_CHARACTERS[name])

    def end(self, name: str) -> None:
        self._holds_text.pop()
        if self._left_out:
            self._left_out -= 1
        elif name in _ODF_PARAGRAPHS:
            self._lines.pop()

    def letters(self, text: str) -> None:
        # Only in text elements: a picture among them has a description, too.
        if not self._left_out and self._holds_text[-1]:
            self.add(self._lines[-1], text)


# PDF


def _read_pdf(data: bytes) -> str:
    try:
        from pypdf import PasswordType, PdfReader
        from pypdf.errors import DependencyError
    except ImportError:
        raise MissingExtraError("pypdf", "documents", "reading .pdf files") from None

    logging.getLogger("pypdf").addHandler(_NO_HANDLER)
    try:
        reader = PdfReader(io.BytesIO(data))
        # Many PDFs are encrypted with an empty password, just to forbid printing.
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise InputError(_PROTECTED)
        pages, letters = [], 0
        for page in reader.pages:
            pages.append(page.extract_text().strip("\n"))
            letters += len(pages[-1])
            if letters > most_bytes():
                raise too_large("the text")
    except DependencyError as error:
        raise InputError(
            f"the file is encrypted or packed in a way that needs a further library ({error}); "
            "install that, or save an unprotected copy"
        ) from None
    text = _join(pages)
    if not text:
        problem = "the PDF holds no text, probably only images of pages; run OCR on it first"
        raise EmptyTextError(problem)
    # Join words divided at a line's end; before a capital the hyphen belongs to the word.
    return _HYPHENATED.sub(
        lambda hyphen: "" if hyphen.string[hyphen.end()].islower() else hyphen[0],
        text.translate(_LIGATURES),
    )
