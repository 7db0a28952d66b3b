"""Cassette files that people edited: any layout is read, and what is wrong has its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_mock.cassettes import Cassette
from llm_mock.errors import InvalidFile

HEAD = "version: 1\ncalls:\n"


def call(prompt: str) -> str:
    return f"- request: {{model: m, prompt: {prompt}}}\n  response: {{}}\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + call("a") + call("b"),
        HEAD + call("a") + "# a comment\n\n" + call("b").replace("- ", "-\n  ", 1),
        HEAD + "".join(f"  {line}\n" for line in (call("a") + call("b")).splitlines()),
        "calls:\n" + call("a") + call("b") + "version: 1\n",
        HEAD + call("&first a") + "- request: {model: m, prompt: b}\n  response: {resolved_model: *first}\n",
        HEAD + call("a") + "- request:\n    model: m\n    prompt: |-\n      b\n  response: {}\n",
        "{version: 1, calls: [{request: {model: m, prompt: a}, response: {}},\n"
        " {request: {model: m, prompt: b}, response: {}}]}",
    ],
)
def test_a_cassette_may_be_laid_out_in_any_way(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cassette.yaml"
    path.write_text(text)
    assert [each.request.prompt for each in Cassette(path).calls] == ["a", "b"]


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        (call("c").replace("prompt", "promt"), "7: unknown key 'promt'; did you mean 'prompt'?"),
        (call("c").replace("}\n", "\n", 1), "8: is not valid YAML: "),
        (call("c") + "calls: []\n", "9: is not valid YAML: the key 'calls' stands twice"),
        (call("*x"), "7: is not valid YAML: found undefined alias"),
        ("...\n" + call("c"), "8: is not valid YAML: "),
        ("---\n" + call("c"), "7: "),
        ("- 3\n", "7: calls.2: should be a mapping"),
        ("- request: {model: m}\n", "7: 'response' is missing"),
        (call("c").replace("{}", "{attachments: [{sha256: ab}]}"), "8: the content of the attachment is not that of"),
    ],
)
def test_what_is_wrong_with_a_later_call_is_said_with_its_line(tmp_path: Path, last: str, problem: str) -> None:
    path = tmp_path / "cassette.yaml"
    path.write_text(HEAD + call("a") + call("b") + last)
    with pytest.raises(InvalidFile) as caught:
        Cassette(path)
    assert f"cassette.yaml:{problem}" in str(caught.value)
