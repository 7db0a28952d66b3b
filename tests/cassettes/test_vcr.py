"""Cassettes of VCR, in each form that VCR and its relatives write."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_mock.boundaries.http.vcr import read_interactions
from llm_mock.errors import InvalidFile

REQUEST = {"method": "post", "uri": "https://api.openai.com:8443/v1/x?a=1", "body": '{"a": 1}'}
RESPONSE = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}}
ZIPPED = gzip.compress(b"{}", mtime=0)
STREAM = b'data: {"a": 1}\n\n'


def read(path: Path, request: dict[str, Any], response: dict[str, Any]) -> Any:
    item = {"request": {**REQUEST, **request}, "response": {**RESPONSE, **response}}
    path.write_text(yaml.safe_dump({"interactions": [item], "version": 1}))
    [interaction] = read_interactions(path)
    return interaction


def test_a_request_is_read(tmp_path: Path) -> None:
    headers = {"X-A": ["1", "2"], "x-a": "3", "X-B": b"\xe4", "X-C": 4}
    found = read(tmp_path / "a.yaml", {"headers": headers}, {})
    assert (found.line, found.port, found.status, found.body) == (2, 8443, 200, b"{}")
    assert found.sent._asdict() == {
        **found.sent._asdict(),
        "method": "POST",
        "host": "api.openai.com",
        "path": "/v1/x",
        "query": "a=1",
        "headers": {"x-a": "1, 2, 3", "x-b": "\xe4", "x-c": "4"},
        "body": b'{"a": 1}',
    }


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ("text", b"text"),
        (b"\xff", b"\xff"),
        (None, b""),
        ({"string": "text"}, b"text"),
        ({"string": b"\xff"}, b"\xff"),
        ({"string": None}, b""),
        ({}, b""),
        ({"encoding": "utf-8", "string": "ü"}, "ü".encode()),
        ({"base64_string": base64.b64encode(b"\xff").decode()}, b"\xff"),
    ],
)
def test_each_form_of_a_body_is_read(tmp_path: Path, body: Any, content: bytes) -> None:
    path = tmp_path / "a.yaml"
    assert read(path, {}, {"body": body}).body == content
    assert read(path, {"body": body}, {}).sent.body == content


@pytest.mark.parametrize("status", [201, "201", {"code": 201}])
def test_each_form_of_a_status_is_read(tmp_path: Path, status: Any) -> None:
    assert read(tmp_path / "a.yaml", {}, {"status": status}).status == 201


@pytest.mark.parametrize(
    ("headers", "body", "kept"),
    [
        ({"Content-Type": ["text/x"], "X": "y"}, b"{}", [("content-type", "text/x"), ("x", "y")]),
        # VCR has decoded the body.
        ({"Content-Encoding": "gzip"}, b"{}", []),
        ({"content-encoding": "gzip"}, ZIPPED, [("content-encoding", "gzip")]),
        ({"content-encoding": "br"}, b"\x8b\xff", [("content-encoding", "br")]),
        ({"Transfer-Encoding": "chunked"}, b"{}", []),
        # A project may have filtered the content type.
        ({}, STREAM, [("content-type", "text/event-stream")]),
        ({}, b"\n\nevent: x\ndata: {}\n\n", [("content-type", "text/event-stream")]),
        ({}, b": ping\n\n", [("content-type", "text/event-stream")]),
        ({"content-type": "text/plain"}, STREAM, [("content-type", "text/plain")]),
        ({}, b"{}", []),
    ],
)
def test_headers_say_what_the_body_is_in_the_file(
    tmp_path: Path, headers: dict[str, Any], body: bytes, kept: list[tuple[str, str]]
) -> None:
    response = {"headers": headers, "body": {"string": body}}
    assert read(tmp_path / "a.yaml", {}, response).headers == kept


def test_headers_that_are_none_are_no_headers(tmp_path: Path) -> None:
    found = read(tmp_path / "a.yaml", {"headers": None}, {"headers": ["x"]})
    assert (found.sent.headers, found.headers) == ({}, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", ":1: a VCR cassette must have a list `interactions`"),
        ("interactions: 3", ":1: a VCR cassette must have a list `interactions`"),
        ('{"interactions": [}', ":1: is not valid JSON: Expecting value"),
        ("interactions:\n- response: {}\n", ":2: this interaction has no request"),
        ("interactions:\n- 3\n", ":2: this interaction is not in the format of VCR: "),
    ],
)
def test_what_is_no_cassette_of_vcr_is_told_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(InvalidFile) as caught:
        read_interactions(path)
    assert str(caught.value).startswith(f"{path}{problem}")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"uri": None}, None),
        ({"body": [1]}, "is not in the format of VCR: its body must be text or bytes, got list"),
        (
            {"body": {"base64_string": "a"}},
            "is not in the format of VCR: its body is not valid base64",
        ),
        ({"uri": "https://h:x/"}, "is not in the format of VCR: Port could not be cast"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(
    tmp_path: Path, change: dict[str, Any], problem: str | None
) -> None:
    path = tmp_path / "a.yaml"
    if problem is None:
        assert read(path, change, {}).sent.host == ""
        return
    with pytest.raises(InvalidFile) as caught:
        read(path, change, {})
    assert str(caught.value).startswith(f"{path}:2: this interaction {problem}")


def test_json_has_the_lines_of_its_requests(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    item = {"request": REQUEST, "response": RESPONSE}
    path.write_text(json.dumps({"version": 1, "interactions": [item, item]}, indent=4))
    lines = path.read_text().splitlines()
    starts = [number for number, line in enumerate(lines, start=1) if '"request"' in line]
    assert [found.line for found in read_interactions(path)] == starts
    path.write_text(json.dumps({"interactions": [item, item]}))
    assert [found.line for found in read_interactions(path)] == [1, 1]
