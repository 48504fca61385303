"""Forms in parts, as browsers and programs send them, and as they should not be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("fastapi")

from serving import open_service

from adhominem.web.failures import RequestError
from adhominem.web.form import Comparer, TwoSidesForm
from adhominem.web.guard import Access
from adhominem.web.question_form import QuestionFields
from adhominem.web.uploads import FileReader, Part, parse_form

BOUNDARY = "multipart/form-data; boundary=b"


@pytest.fixture(scope="module")
def read_fields() -> Iterator[Callable[[Sequence[Part]], QuestionFields]]:
    service = open_service()
    yield Comparer(service, Access(), FileReader(service.limits), TwoSidesForm).read
    service.close()


def parsed(*headers: str, data: bytes = b"x") -> Part:
    body = "--b\r\n" + "\r\n".join(headers) + "\r\n\r\n"
    (part,) = parse_form(body.encode() + data + b"\r\n--b--\r\n", BOUNDARY, 9)
    return part


def named(parameters: str) -> Part:
    return parsed(f"Content-Disposition: form-data; {parameters}")


@pytest.mark.parametrize(
    ("parameters", "filename"),
    [
        ('name="first_file"; filename="ü %41.txt"', "ü %41.txt"),  # Chromium, curl
        ('name="first_file"; filename="a%22b%0A.txt"', "a%22b%0A.txt"),  # a quote in Chromium
        (r'name="first_file"; filename="a\"b\\c.txt"', r'a"b\c.txt'),  # a quote in older curl
        (r'name="first_file"; filename="a\b.txt"', r"a\b.txt"),
        ('name="first_file"; filename="a;b=c.txt"', "a;b=c.txt"),
        ("name=first_file; filename=a.txt; filename*=utf-8''%C3%BC.txt", "a.txt"),  # .NET
        ('name="first_file" ;\tFILENAME="a.txt" ', "a.txt"),
        ('name="first_file"; filename=""', ""),
        ('name="first_file"', None),
    ],
)
def test_names_are_read_as_programs_write_them(parameters: str, filename: str | None) -> None:
    is_file = filename is not None
    assert named(parameters) == Part("first_file", b"x", filename or "", is_file=is_file)


@pytest.mark.parametrize(
    "parameters",
    [
        'name="first_file"; filename="a.txt',
        r'name="first_file"; filename="a.txt\"',
        'name="first_file"; filename=a b.txt',
        'name="first_file"; filename="a.txt"b',
        "name=\"first_file\"; filename*=iso-8859-1''%FC.txt",
        'name="first_file"; filename*=a.txt',
    ],
)
def test_a_name_that_is_badly_written_does_not_make_a_file_disappear(
    parameters: str, read_fields: Any
) -> None:
    (file,) = read_fields([named(parameters)]).side("first").files
    assert file.data == b"x"


def test_a_part_without_the_name_of_a_field_is_refused() -> None:
    with pytest.raises(RequestError, match="the form cannot be read"):
        named('filename="a.txt"')


def test_a_packed_part_is_unpacked_or_refused() -> None:
    name = 'Content-Disposition: form-data; name="first_text"'
    assert parsed("Content-Transfer-Encoding: 8bit", name).data == b"x"
    assert parsed(name, "content-transfer-encoding: BASE64", data=b"ZWlu").data == b"ein"
    with pytest.raises(RequestError, match="the form cannot be read"):
        parsed(name, "content-transfer-encoding: x-own", data=b"ZWlu")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Part("frist_text", b"x"), "'frist_text' is not known"),
        (Part("first_text", b"x", "letter.txt", is_file=True), "not for files"),
        (Part("prior", b"5"), "'prior' comes twice"),
    ],
)
def test_no_field_is_left_out_in_silence(part: Part, said: str, read_fields: Any) -> None:
    with pytest.raises(RequestError, match=said):
        read_fields([Part("prior", b"0.1"), part])


def test_a_file_without_a_name_is_not_left_out(read_fields: Any) -> None:
    empty = [Part("first_file", b""), Part("first_file", b"", is_file=True)]
    assert read_fields(empty).side("first").files == []
    for is_file in (True, False):
        part = Part("first_file", b"x", is_file=is_file)
        (file,) = read_fields([*empty, part]).side("first").files
        assert file.name == "a file without a name"
