"""Cassette files that people edited: any layout is read, and what is wrong has its line."""

from __future__ import annotations

import re
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from llm_mock.cassettes import Cassette
from llm_mock.cassettes.schema import RecordedCall
from llm_mock.cassettes.storage import has_same_response, write_cassette
from llm_mock.errors import InvalidFile, LLMMockError

HEAD = "version: 1\ncalls:\n"


def call(prompt: str) -> str:
    return f"- request: {{model: m, prompt: {prompt}}}\n  response: {{}}\n"


def over_http(how: str) -> str:
    return call("c").replace("{}", f"{{json: {{}}, http: {{{how}}}}}")


@pytest.mark.parametrize(
    "text",
    [
        HEAD + call("a") + call("b"),
        HEAD + call("a") + call("b") + "...\n",
        HEAD + call("a") + "# a comment\n\n" + call("b").replace("- ", "-\n  ", 1),
        HEAD + "".join(f"  {line}\n" for line in (call("a") + call("b")).splitlines()),
        "calls:\n" + call("a") + call("b") + "version: 1\n",
        HEAD
        + call("&first a")
        + "- request: {model: m, prompt: b}\n  response: {resolved_model: *first}\n",
        HEAD + call("a") + "- request:\n    model: m\n    prompt: |-\n      b\n  response: {}\n",
        "{version: 1, calls: [{request: {model: m, prompt: a}, response: {}},\n"
        " {request: {model: m, prompt: b}, response: {}}]}",
    ],
)
def test_a_cassette_may_be_laid_out_in_any_way(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cassette.yaml"
    path.write_text(text)
    calls = Cassette(path).calls
    assert [each.request.prompt for each in calls] == ["a", "b"]
    assert [each.request.prompt for each in calls[1:]] == ["b"]


@pytest.mark.parametrize(
    ("last", "problem"),
    [
        (call("c").replace("prompt", "promt"), "7: unknown key 'promt'; did you mean 'prompt'?"),
        (call("c").replace("}\n", "\n", 1), "8: is not valid YAML: "),
        (call("c") + "calls: []\n", "9: is not valid YAML: duplicate key 'calls'"),
        (call("*x"), "7: is not valid YAML: found undefined alias"),
        ("...\n" + call("c"), "8: is not valid YAML: "),
        ("---\n" + call("c"), "7: "),
        ("- 3\n", "7: calls.2: should be a mapping"),
        ("- request: {model: m}\n", "7: 'response' is missing"),
        (
            over_http("api: chat"),
            "8: calls.2.response.http.api: should be 'chat.completions', 'responses'",
        ),
        (
            over_http("api: messages, headers: {a: €}"),
            "8: calls.2.response.http.headers: the header 'a' has a",
        ),
        (
            over_http("api: messages, streamed: true"),
            "8: calls.2.response: `json` must be the list of the server-",
        ),
        (
            call("c").replace("{}", "{attachments: [{sha256: ab}]}"),
            "8: the content of the attachment does not match",
        ),
    ],
)
def test_what_is_wrong_with_a_later_call_is_said_with_its_line(
    tmp_path: Path, last: str, problem: str
) -> None:
    path = tmp_path / "cassette.yaml"
    path.write_text(HEAD + call("a") + call("b") + last)
    with pytest.raises(InvalidFile) as caught:
        Cassette(path)
    assert f"cassette.yaml:{problem}" in str(caught.value)


@pytest.mark.parametrize(
    ("version", "shown"),
    [("0", "0"), ("-1", "-1"), ("true", "True"), ("1.5", "1.5"), ("'1'", "'1'")],
)
def test_a_version_that_never_was_is_refused(tmp_path: Path, version: str, shown: str) -> None:
    path = tmp_path / "cassette.yaml"
    path.write_text(HEAD.replace("1", version) + call("a"))
    with pytest.raises(InvalidFile) as caught:
        Cassette(path)
    problem, advice = str(caught.value).split("\n")
    assert problem == (
        f"{path}:1: has version {shown}, but this version of pytest-llm-mock reads versions 1 to 2"
    )
    assert advice.startswith("Correct the cassette, or record it again: ")


def test_calls_that_can_be_written_nowhere_are_said_to_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cassette.yaml"
    path.mkdir()
    gone = tmp_path / "gone"
    monkeypatch.setattr(tempfile, "tempdir", str(gone))
    with pytest.raises(LLMMockError) as caught:
        recorded(path, 1)
    problem, loss = str(caught.value).split("\n")
    assert problem.startswith(f"The cassette {path} could not be written: Is a directory")
    assert problem.endswith(" An existing file is unchanged.")
    assert loss == (
        f"The recorded calls are lost: {gone} cannot be written either: No such file or directory."
    )


def recorded(path: Path, number: int) -> list[RecordedCall]:
    """Return calls that are written to a file like a recording."""
    calls = [
        RecordedCall.model_validate(
            {
                "request": {
                    "model": "gpt-4o-mini",
                    "system": "Sei höflich.\nImmer.",
                    "prompt": f"Greet number {each}",
                },
                "response": {
                    "events": [
                        {
                            "text": "Grüß dich, 世界!\nAnd you - too: yes.\n\n",
                            "chunks": [5, 4, 1, 26],
                        }
                    ],
                    "usage": {"input": 18, "output": 9, "details": {"cached": 1234567}},
                    "resolved_model": "gpt-4o-mini-2024-07-18",
                    "json": {"finish_reason": "stop", "id": "chatcmpl-1"},
                },
            }
        )
        for each in range(number)
    ]
    write_cassette(path, calls, {})
    return calls


@pytest.mark.parametrize(
    ("number", "last"), [(1, 1_000), (11, 50)]
)  # of two digits one can be cut off, too
def test_a_cassette_that_was_cut_off_at_any_byte_is_an_error_with_its_line_or_reads_the_same(
    tmp_path: Path, number: int, last: int
) -> None:
    path = tmp_path / "cassette.yaml"
    calls = recorded(path, number)
    whole = path.read_bytes()
    same = []
    for length in range(max(0, len(whole) - last), len(whole)):
        path.write_bytes(whole[:length])
        try:
            assert list(Cassette(path).calls) == calls
            same.append(length)
        except InvalidFile as error:
            line = int(str(error).removeprefix(f"{path}:").split(":")[0])
            assert line <= whole[:length].count(b"\n") + 1
    assert same == [len(whole) - 1]  # without the line break at its end


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            -1,
            (
                "cassette.yaml:25: is cut off here: the last line, with the `count` of calls, is "
                "missing"
            ),
        ),
        (20, "cassette.yaml:20: is cut off here: "),
        (2, "cassette.yaml:2: is cut off here: "),
    ],
)
def test_a_cassette_that_was_cut_off_says_so(tmp_path: Path, line: int, message: str) -> None:
    path = tmp_path / "cassette.yaml"
    recorded(path, 1)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:line]))
    with pytest.raises(InvalidFile) as caught:
        Cassette(path)
    assert message in str(caught.value)
    assert re.search(
        r"record it again: pytest '\S+::test_.+' --llm-mock-record rewrite", str(caught.value)
    )


def test_a_reply_may_be_edited_by_hand_and_a_lost_call_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "cassette.yaml"
    recorded(path, 2)
    path.write_text(path.read_text().replace("And you - too: yes.", "And a longer text."))
    assert "longer" in Cassette(path).calls[1].response.events[0].text

    first = path.read_text().rpartition("- request:")[0]
    path.write_text(first + "count: 2\n")
    with pytest.raises(
        InvalidFile,
        match=r"count is 2, but the file contains 1 call\. If no call was lost, write count: 1\n",
    ):
        Cassette(path)
    path.write_text(first + "count: 1\n")
    assert len(Cassette(path).calls) == 1


def test_a_call_that_was_edited_by_hand_stays_as_it_stands_when_others_are_recorded(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cassette.yaml"
    recorded(path, 1)
    edited = path.read_text().replace("  response:", "  # friendly enough\n  response:")
    path.write_text(edited)
    cassette = Cassette(path)
    write_cassette(path, [*cassette.calls.texts, *cassette.calls], {})
    assert path.read_text().startswith(edited.removesuffix("count: 1\n"))
    assert len(Cassette(path).calls) == 2


@pytest.mark.parametrize("indent", ["", "  "])
def test_a_large_cassette_takes_little_more_memory_than_its_text(
    tmp_path: Path, indent: str
) -> None:
    path = tmp_path / "cassette.yaml"
    recorded(path, 400)
    head, calls, count = re.split(r"(?<=calls:\n)|(?=count:)", path.read_text())
    path.write_text(head + re.sub(r"^(?=.)", indent, calls, flags=re.MULTILINE) + count)
    Cassette(path)
    tracemalloc.start()
    cassette = Cassette(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(cassette.calls) == 400
    assert peak < 8 * path.stat().st_size


def with_response(**response: object) -> RecordedCall:
    return RecordedCall.model_validate({"request": {"model": "m"}, "response": response})


VOLATILE = (
    "id tool_call_id call_id request_id system_fingerprint created created_at completed_at chunks"
)


@pytest.mark.parametrize("name", VOLATILE.split())
def test_what_changes_with_each_response_makes_no_other_one(name: str) -> None:
    for old, new in [
        ({name: 1, "a": 2}, {name: 2, "a": 2}),
        ([{"a": {name: 1}}], [{"a": {name: 2}}]),
        ({name: 1}, {}),
    ]:
        assert has_same_response(with_response(json=old), with_response(json=new))
    # Arguments of a tool are its own.
    old, new = [{"arguments": {name: value}} for value in (1, 2)]
    assert not has_same_response(with_response(json=old), with_response(json=new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"json": {"model": "a"}}, {"json": {"model": "b"}}),
        ({"json": [1, 2]}, {"json": [2, 1]}),
        ({"json": {"a": [{"b": 1}]}}, {"json": {"a": [{"b": 2}]}}),
        ({"resolved_model": "a"}, {}),
        ({"events": [{"text": "a"}]}, {"events": [{"text": "b"}]}),
    ],
)
def test_any_other_difference_makes_another_response(
    old: dict[str, object], new: dict[str, object]
) -> None:
    assert not has_same_response(with_response(**old), with_response(**new))
    assert has_same_response(with_response(**old), with_response(**old))
