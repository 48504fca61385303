"""The XML of office files as a stream: what is not the author's text is passed over, never kept.

A few kB of a zip can unpack to any amount of XML, so nothing is built but the text itself, and
bytes, elements, names and letters are counted.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Protocol
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from adhominem.errors import DamagedFileError, InputError
from adhominem.text.limits import most_bytes, too_large

# Word marks up so much that a novel of 3 MB may have 60 MB of XML.
_MOST_XML = 256 << 20
_XML_PER_TEXT = 4  # where the limit on a text is raised
_MOST_ELEMENTS = 8_000_000  # every word of that novel in a run of its own has half of that
_MOST_NAMES = 10_000  # of elements and attributes; the formats know some hundreds
_LONGEST_NAMESPACE = 300  # letters: it is spelt out with each name
_LONGEST_TAG = 16 << 20  # bytes, with all its attributes
_BLOCK = 1 << 20

# A .docx with a password is not a zip but this older container, as are the files of Word 97.
_OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class Collector(Protocol):
    """What makes a text of elements and letters as they come; names are "NAMESPACE NAME"."""

    def start(self, name: str, attributes: dict[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def letters(self, text: str) -> None: ...


class Paragraphs:
    """Paragraphs in the order in which they begin, and no more of them than a text may have."""

    def __init__(self) -> None:
        self._paragraphs: list[list[str]] = []
        self._letters, self._most = 0, most_bytes()

    def new(self) -> list[str]:
        """A paragraph that begins here."""
        self._paragraphs.append([])
        return self._paragraphs[-1]

    def add(self, paragraph: list[str], text: str) -> None:
        """More text of one of them."""
        self._letters += len(text)
        if self._letters > self._most:
            raise too_large("the text")
        paragraph.append(text)

    def __iter__(self) -> Iterator[str]:
        return map("".join, self._paragraphs)


def open_zip(data: bytes) -> ZipFile:
    """The archive that an office file is."""
    if data.startswith(_OLE_MARK):
        raise InputError(
            "the file is protected by a password, or of a Word before 2007; "
            "save an unprotected copy as .docx and read that"
        )
    return ZipFile(io.BytesIO(data))


def blocks_of(archive: ZipFile, part: str) -> Iterator[bytes]:
    """A part of an office file, unpacked bit by bit."""
    member = archive.getinfo(part)
    # The other methods unpack a block to any size at once, and no office program uses them.
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise DamagedFileError("the file is packed by an odd method; save it anew")
    most, size = max(_MOST_XML, _XML_PER_TEXT * most_bytes()), 0
    with archive.open(member) as stream:
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > most:
                raise too_large(f"unpacked, its {part}", most)
            yield block


def collect(archive: ZipFile, part: str, collector: Collector) -> None:
    """Send the elements and letters of a part to a collector as they come."""
    elements = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal elements
        elements += 1
        if elements > _MOST_ELEMENTS:
            raise _odd(f"{_MOST_ELEMENTS:,} elements")
        collector.start(name, attributes)

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True  # or each line of a text comes alone
    parser.StartElementHandler = start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.letters
    parser.StartDoctypeDeclHandler = _refuse_document_type
    parser.StartNamespaceDeclHandler = _check_namespace
    fed = 0
    for block in blocks_of(archive, part):
        parser.Parse(block, False)
        fed += len(block)
        if fed - parser.CurrentByteIndex > _LONGEST_TAG:
            raise _odd(f"{_LONGEST_TAG:,} bytes in one tag")
        if len(parser.intern) > _MOST_NAMES:
            raise _odd(f"{_MOST_NAMES:,} different names")
    parser.Parse(b"", True)


def _refuse_document_type(*details: object) -> None:
    # Where entities are declared: they multiply, fetch other files, or leave gaps.
    raise DamagedFileError(
        "the file declares an XML document type, which no office program does; save it anew"
    )


def _check_namespace(prefix: str | None, address: str | None) -> None:
    if address is not None and len(address) > _LONGEST_NAMESPACE:
        raise _odd(f"{_LONGEST_NAMESPACE} letters in the name of a namespace")


def _odd(what: str) -> DamagedFileError:
    return DamagedFileError(
        f"its XML has more than {what}; if it is no fake, save its text alone as a new file"
    )
