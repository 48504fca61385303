"""What the OpenAPI description promises, tried with whatever can be made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import open_service, running

POSTED = tuple(
    f"POST /api/{name}"
    for name in ("verify", "encode", "explain", "report", "rank", "roll", "cluster", "contrast")
)
_EXAMPLES = {"GET /api/models": 3, "GET /health": 3, "POST /api/report": 8}  # 30 of the others
_CHECKED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def described() -> Iterator[Any]:
    with running(open_service()) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        *((operation, mode) for operation in POSTED for mode in GenerationMode),
        ("GET /api/models", GenerationMode.POSITIVE),
        ("GET /health", GenerationMode.POSITIVE),
    ],
)
def test_no_request_makes_the_server_fail_and_every_answer_is_as_described(
    described: Any, operation: str, mode: GenerationMode
) -> None:
    method, path = operation.split()

    @given(case=described[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=_EXAMPLES.get(operation, 30),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[*HealthCheck],
    )
    def check(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=_CHECKED)

    check()
