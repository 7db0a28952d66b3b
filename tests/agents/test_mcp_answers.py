"""Results of MCP tools with content of all kinds."""

from __future__ import annotations

import base64
from typing import Any

import mcp_types as types
import pytest

from llm_mock.agents.mcp_session import convert_result

DATA = base64.b64encode(b"\x00\x01").decode()


def answer_to(*content: Any, **fields: Any) -> Any:
    return convert_result(types.CallToolResult(content=list(content), **fields))


def test_texts_are_joined_by_lines() -> None:
    answer = answer_to(types.TextContent(text="one"), types.TextContent(text="two"))
    assert (answer.text, answer.structured, answer.attachments, answer.is_error) == (
        "one\ntwo",
        None,
        [],
        False,
    )


@pytest.mark.parametrize(
    ("block", "mime_type"),
    [
        (types.ImageContent(data=DATA, mime_type="image/png"), "image/png"),
        (types.AudioContent(data=DATA, mime_type="audio/wav"), "audio/wav"),
        (
            types.EmbeddedResource(
                resource=types.BlobResourceContents(
                    uri="a:b", blob=DATA, mime_type="application/pdf"
                )
            ),
            "application/pdf",
        ),
        (
            types.EmbeddedResource(resource=types.BlobResourceContents(uri="a:b", blob=DATA)),
            "application/octet-stream",
        ),
    ],
)
def test_binary_content_becomes_attachments(block: Any, mime_type: str) -> None:
    answer = answer_to(types.TextContent(text="Look:"), block)
    (attachment,) = answer.attachments
    assert (attachment.type, attachment.content) == (mime_type, b"\x00\x01")
    assert answer.text == "Look:"


def test_an_embedded_text_is_a_text() -> None:
    resource = types.TextResourceContents(uri="file:///a.txt", text="in the file")
    assert answer_to(types.EmbeddedResource(resource=resource)).text == "in the file"


def test_a_link_is_named() -> None:
    link = types.ResourceLink(name="report", uri="file:///r.pdf", mime_type="application/pdf")
    assert answer_to(link).text == "[resource report: file:///r.pdf (application/pdf)]"
    assert answer_to(types.ResourceLink(name="r", uri="a:b")).text == "[resource r: a:b]"


def test_data_that_is_none_is_left_out_and_said_so() -> None:
    answer = answer_to(types.ImageContent(data="no base64!", mime_type="image/png"))
    assert (answer.text, answer.attachments) == (
        "[image/png left out: its data is invalid base64]",
        [],
    )


def test_structured_content_alone_is_also_the_text() -> None:
    answer = answer_to(structured_content={"ü": [1, None]})
    assert (answer.text, answer.structured) == ('{"ü": [1, null]}', {"ü": [1, None]})
    assert answer_to().text == ""


def test_an_error_of_the_tool_is_one_of_the_answer() -> None:
    answer = answer_to(types.TextContent(text="Out of money"), is_error=True)
    assert (answer.text, answer.is_error) == ("Out of money", True)
