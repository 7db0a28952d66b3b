"""A cassette that holds what no provider answers is refused, with the line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from llm_mock.cassettes import schema, storage
from llm_mock.errors import InvalidFile

CASSETTE = """\
version: 2
calls:
- request: {model: m, prompt: Hi}
  response: {events: [{text: ab, chunks: [1, 1]}]}
- request: REQUEST
  response: RESPONSE
count: 2
"""
CONTENT = (
    "sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824, content: aGVsbG8="
)


def _read(folder: Path, request: str, response: str) -> storage.CassetteContent:
    path = folder / "cassette.yaml"
    path.write_text(CASSETTE.replace("REQUEST", request).replace("RESPONSE", response))
    return storage.read_cassette(path, lambda request: request.prompt)


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        ("{model: m, turn: -1}", "{}"),
        ("{model: m, turn: 0}", "{}"),
        ("{model: m, options: {temperature: .nan}}", "{}"),
        ("{model: m}", "{events: [{text: ab, chunks: [3, -1]}]}"),
        ("{model: m}", "{usage: {input: -1}}"),
        ("{model: m}", "{usage: {details: {cached: .inf}}}"),
        ("{model: m}", "{json: {a: [.nan]}}"),
        ("{model: m}", "{tool_calls: [{name: f, arguments: {a: .nan}}]}"),
        ("{model: m}", "{error: {}}"),
        ("{model: m}", "{error: {args: [x]}}"),
        ("{model: m}", "{error: {class: 5, args: [x]}}"),
        ("{model: m}", f"{{attachments: [{{type: image/png, {CONTENT}, bytes: 7}}]}}"),
        ("{model: m}", f"{{attachments: [{{type: image/png, {CONTENT}, bytes: -5}}]}}"),
    ],
)
def test_it_is_refused_with_its_line(tmp_path: Path, request_: str, response: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        _read(tmp_path, request_, response)
    assert re.match(r".*cassette\.yaml:[56]: ", str(caught.value))


def test_what_is_right_is_read(tmp_path: Path) -> None:
    response = f"{{attachments: [{{type: image/png, {CONTENT}, bytes: 5}}], error: {{class: ValueError, args: [x]}}}}"  # noqa: E501
    content = _read(tmp_path, "{model: m, turn: 2}", response)
    assert [*content.contents.values()] == [b"hello"]
    assert isinstance(content.calls[1], schema.RecordedCall)
