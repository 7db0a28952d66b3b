"""Properties of a result, and its text."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import llm
import pytest
from llm.models import Usage

from llm_mock.agents import AgentResult, ToolCallRecord, Turn, result_from_json, result_to_json
from llm_mock.agents.calls import output_text

READ = ToolCallRecord("read", {"path": "a.txt", "lines": 3}, "Hello", duration=0.25)
WRITE = ToolCallRecord("write", {"path": "b.txt"}, None, "no space", duration=0.001)
READ_AGAIN = ToolCallRecord("read", {"path": "b.txt"}, "World")


def result(*calls: ToolCallRecord, **changes: Any) -> AgentResult:
    turns = (Turn("I look.", calls, Usage(10, 5)), Turn("Done.", (), Usage(20, None)))
    values: dict[str, Any] = {
        "agent": "a",
        "model": "m",
        "prompt": "Copy it",
        "turns": turns,
        "success": True,
    }
    return AgentResult(**{**values, **changes})


RESULT = result(READ, WRITE, READ_AGAIN)


def test_a_result_is_true_where_the_run_succeeded() -> None:
    assert RESULT
    assert not result(success=False, error="max_turns")


def test_the_calls_and_the_tokens_of_all_turns_are_put_together() -> None:
    assert RESULT.all_tool_calls == [READ, WRITE, READ_AGAIN]
    assert RESULT.final_response == "Done."
    assert (RESULT.usage.input, RESULT.usage.output) == (30, 5)
    assert result(turns=()).final_response == ""


@pytest.mark.parametrize("again", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_results_and_findings_can_be_copied_and_sent(again: Any) -> None:
    assert again(RESULT) == RESULT
    finding = again(RESULT.tool_was_called("read"))
    assert (finding, repr(finding)) == (True, "<True: read was called>")


@pytest.mark.parametrize(
    ("arguments", "called"),
    [
        ({}, True),
        ({"path": "a.txt"}, True),
        ({"path": "b.txt", "lines": 3}, False),
        ({"other": None}, False),
    ],
)
def test_a_call_may_have_more_arguments_than_asked_for(
    arguments: dict[str, Any], called: bool
) -> None:
    assert RESULT.tool_was_called("read", **arguments) == called


def test_an_argument_may_have_any_name() -> None:
    named = result(ToolCallRecord("rename", {"name": "x", "self": 1}, "ok"))
    assert named.tool_was_called("rename", name="x", **{"self": 1})


class Anything:
    """As the matchers of dirty-equals."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int)

    __hash__ = None  # type: ignore[assignment]


def test_an_argument_may_be_matched() -> None:
    assert RESULT.tool_was_called("read", lines=Anything())
    assert not RESULT.tool_was_called("read", path=Anything())


def test_a_cost_that_nobody_knows_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert result(model="nobody/knows").cost is None
    monkeypatch.setattr("llm_mock.cost.prices.has_provider_prices", lambda: False)
    assert result(model="gpt-4o").cost is None
    assert result(turns=()).cost == 0


def list_defaults(value: AgentResult | Turn) -> list[str]:
    """Return the names of the fields that have their default value."""
    return [each.name for each in fields(value) if getattr(value, each.name) == each.default]


def test_a_result_comes_back_from_json() -> None:
    image = llm.Attachment(type="image/png", content=b"\x89PNG")
    drawn = ToolCallRecord(
        "draw", {"of": ["a", 1]}, "here", structured={"width": 1.5}, attachments=(image,)
    )
    usage = Usage(1, None, {"cached": 1})
    turn = Turn("Ü", (drawn, WRITE), usage, 0.5, ("429",), waited=1.5, model="n")
    written = result(
        turns=(turn,),
        success=False,
        error="max_turns",
        duration=2.5,
        parts={"prompt": "Be brief"},
        output="{}",
    )
    # A field with its default would not show that JSON leaves it out.
    assert list_defaults(turn) == []
    assert list_defaults(written) == ["exception"]
    again = result_from_json(result_to_json(written))
    assert again == written
    # Equality ignores these.
    assert (again.parts, again.started, again.duration) == (written.parts, written.started, 2.5)
    assert (again.turns[0].duration, again.turns[0].waited) == (0.5, 1.5)
    secret = "sk-ant-api03-" + "Ab1" * 12
    assert secret not in result_to_json(result(prompt=secret))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"agent": 1}'])
def test_what_is_no_result_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid agent result"):
        result_from_json(text)


def test_names_and_arguments_of_calls_are_told() -> None:
    assert RESULT.tool_names_called == ["read", "write"]
    assert RESULT.tool_call_arg("read", "path") == "a.txt"
    with pytest.raises(LookupError, match="no call to send; called: read, write, read"):
        RESULT.tool_call_arg("send", "to")
    with pytest.raises(LookupError, match=r"no argument 'to' in write\(path="):
        RESULT.tool_call_arg("write", "to")


def test_calls_are_counted_and_found() -> None:
    assert (
        RESULT.tool_call_count(),
        RESULT.tool_call_count("read"),
        RESULT.tool_call_count("none"),
    ) == (3, 2, 0)
    assert RESULT.tool_calls_for("write") == [WRITE]


STRICT = ["read", "write", "read"]


@pytest.mark.parametrize(
    ("expected", "modes"),
    [
        (STRICT, {"strict", "in_order", "unordered", "subset", "superset"}),
        (
            [("read", {"path": "a.txt"}), "write", ("read", {})],
            {"strict", "in_order", "unordered", "subset", "superset"},
        ),
        (["read", "read"], {"in_order", "superset"}),
        (["write", "read", "read"], {"unordered", "subset", "superset"}),
        (["write", "read"], {"in_order", "superset"}),
        ([], {"in_order", "superset"}),
        ([*STRICT, "delete"], {"subset"}),
        (["read", "write"], {"in_order", "superset"}),
        (["delete"], set()),
        # the first must leave to the second what only that fits
        (["read", ("read", {"path": "a.txt"}), "write"], {"unordered", "subset", "superset"}),
        (["write", "write"], set()),
    ],
)
@pytest.mark.parametrize("mode", ["strict", "in_order", "unordered", "subset", "superset"])
def test_calls_are_compared_in_five_ways(expected: list[Any], modes: set[str], mode: Any) -> None:
    assert RESULT.tool_calls_match(expected, mode) == (mode in modes)


@pytest.mark.parametrize(
    ("expected", "modes"),
    [
        (["write", "read"], {"unordered", "subset", "superset"}),
        (["read", "read"], {"superset"}),
        ([("read", {"path": "a.txt"}), "write"], {"superset"}),
        (["read", "write", "delete"], {"subset"}),
        (["delete"], set()),
        ([], {"superset"}),
    ],
)
@pytest.mark.parametrize("mode", ["unordered", "subset", "superset"])
def test_an_expected_call_may_stand_for_several(
    expected: list[Any], modes: set[str], mode: Any
) -> None:
    assert RESULT.tool_calls_match(expected, mode, allow_repeats=True) == (mode in modes)


@pytest.mark.parametrize("mode", ["strict", "in_order"])
def test_repeats_have_no_order(mode: Any) -> None:
    with pytest.raises(ValueError, match=f"mode='{mode}': allow_repeats needs a mode without"):
        RESULT.tool_calls_match(["read"], mode, allow_repeats=True)


def test_a_run_without_calls_matches_no_calls() -> None:
    for mode in ("strict", "in_order", "unordered", "subset", "superset"):
        assert result().tool_calls_match([], mode)


both_methods = pytest.mark.parametrize(
    "match", [RESULT.tool_calls_match, RESULT.trajectory_match], ids=["calls", "trajectory"]
)


@both_methods
@pytest.mark.parametrize("mode", ["exact", None])
def test_an_unknown_mode_is_an_error(match: Callable[..., object], mode: Any) -> None:
    with pytest.raises(ValueError, match="Use one of 'strict'"):
        match([], mode)


@both_methods
@pytest.mark.parametrize("call", [None, ("read",), ("read", "a.txt"), {"name": "read"}])
def test_what_is_no_expected_call_is_an_error(match: Callable[..., object], call: Any) -> None:
    with pytest.raises(TypeError, match="Invalid expected call"):
        match([call])


@pytest.mark.parametrize(
    ("finding", "shown"),
    [
        (RESULT.tool_was_called("read"), "<True: read was called>"),
        (RESULT.tool_was_called("delete"), "<False: no call to delete; called: read, write, read>"),
        (result().tool_was_called("delete"), "<False: no call to delete; called: no tool>"),
        (
            RESULT.tool_was_called("write", path="c.txt"),
            '<False: no call to write(path="c.txt"); other calls: write(path="b.txt")>',
        ),
        (
            result(
                *[ToolCallRecord("read", {"line": line}, "") for line in range(4)]
            ).tool_was_called("read", line=9),
            "<False: no call to read(line=9); other calls: read(line=0), read(line=1), "
            "read(line=2)>",
        ),
        (
            RESULT.tool_calls_match(["read", "read"]),
            '<False: read was expected, not write(path="b.txt"); called: read, write, read>',
        ),
        (RESULT.tool_calls_match(STRICT), "<True: the tool calls match (strict)>"),
        (
            RESULT.tool_calls_match(["write", "write"], "superset"),
            "<False: write was not called; called: read, write, read>",
        ),
        (
            RESULT.tool_calls_match(["write"], "subset"),
            '<False: read(path="a.txt", lines=3) was not expected; called: read, write, read>',
        ),
        (
            RESULT.tool_calls_match(["read", "write"]),
            '<False: read(path="b.txt") was not expected; called: read, write, read>',
        ),
    ],
)
def test_a_finding_says_why(finding: object, shown: str) -> None:
    assert repr(finding) == shown


def test_the_transcript_shows_everything_in_order() -> None:
    failed = result(READ, WRITE, success=False, error="max_turns=2 was reached", duration=1.5)
    assert str(failed) == (
        "Agent a: failed after 2 turns, 2 tool calls, 35 tokens, 1.5 s\n"
        "  max_turns=2 was reached\n"
        "  user:\n"
        "    Copy it\n"
        "  turn 1:\n"
        "    I look.\n"
        '    read(path="a.txt", lines=3) → Hello  (250 ms)\n'
        '    write(path="b.txt") ✗ no space  (1 ms)\n'
        "  turn 2:\n"
        "    Done."
    )


def test_the_transcript_shows_retries_waits_and_silence() -> None:
    first = Turn("", (), Usage(1, 1), retried=("429: slow down", "503"), waited=2.5)
    call = Turn("", (WRITE,), Usage(1, 1))
    assert str(result(turns=(first, call))).splitlines()[3:] == [
        "  turn 1:",
        "    waited 2.5 s for the rate limits",
        "    retried after 429: slow down",
        "    retried after 503",
        "    (no text)",
        "  turn 2:",
        '    write(path="b.txt") ✗ no space  (1 ms)',
    ]


def test_the_repr_is_one_line() -> None:
    assert repr(RESULT) == (
        '<AgentResult: succeeded; tool calls: read(path="a.txt", lines=3), write(path="b.txt"), '
        'read(path="b.txt"); '
        "final response 'Done.'>"
    )
    assert repr(result(success=False, error="no\nroute")).startswith(
        "<AgentResult: failed: no route; tool calls: none"
    )


HOSTILE = "fine\n  turn 9:\r\n\x1b[31mred\x1b[0m\x07 \u202egnp.exe\x9b1m\u2028turn 10:"


@pytest.mark.parametrize(
    "hostile",
    [
        result(prompt=HOSTILE),
        result(error=HOSTILE, success=False),
        result(agent=HOSTILE),
        result(ToolCallRecord(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE)),
        result(ToolCallRecord("t", {}, None, HOSTILE)),
        result(turns=(Turn(HOSTILE, (), Usage(1, 1), retried=(HOSTILE,)),)),
    ],
)
def test_nothing_breaks_out_of_its_place(hostile: AgentResult) -> None:
    shown = f"{hostile}\n{hostile!r}"
    assert all(char.isprintable() or char == "\n" for char in shown)
    assert not any(
        line.startswith(("  turn 9", "  turn 10", "turn")) for line in str(hostile).splitlines()
    )
    assert "\n" not in repr(hostile)


def test_long_transcripts_are_cut() -> None:
    call = ToolCallRecord("t", {"text": "x" * 5000}, "line\n" * 10_000)
    turns = tuple(Turn("word " * 10_000, (call,) * 50, Usage(1, 1)) for _ in range(200))
    long = result(turns=turns, prompt="y" * 100_000)
    shown = str(long)
    assert len(shown) < 1_500_000
    assert "… 170 earlier turns" in shown
    assert "… 30 more tool calls" in shown
    assert "more characters" in shown
    assert len(repr(result(turns=turns[:2]))) < 500


def test_a_call_is_printed_as_in_the_transcript() -> None:
    assert str(WRITE) == 'write(path="b.txt") ✗ no space  (1 ms)'
    images = (llm.Attachment(type="image/png", content=b"..."),)
    chart = ToolCallRecord("chart", {}, "A bar", duration=0.001, attachments=images)
    assert str(chart) == "chart() → A bar and 1 attachment  (1 ms)"


@pytest.mark.parametrize(
    ("text", "structured", "told"),
    [
        ("Hello", None, "Hello"),
        ('{"a": 1}', {"a": 1}, '{"a": 1}'),
        ("[1, 2]", {"result": [1, 2]}, "[1, 2]"),
        ("1\n2", {"result": [1, 2]}, "1\n2"),
        ("a\nb", {"result": ["a", "b"]}, "a\nb"),
        ("Hello", {"result": "Hello"}, "Hello"),
        ("", {"a": "ä"}, '{"a": "ä"}'),
        ("One account", {"accounts": 1}, 'One account\n{"accounts": 1}'),
        ('{"a": "ä"}\n1', {"result": [{"a": "ä"}, 1]}, '{"a": "ä"}\n1'),
        ("1", {"results": 1}, '1\n{"results": 1}'),
        ("1", {"result": 1, "more": 2}, '1\n{"result": 1, "more": 2}'),
    ],
)
def test_the_model_is_told_structured_content_unless_the_text_says_the_same(
    text: str, structured: Any, told: str
) -> None:
    assert output_text(text, structured) == told


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (result(), result(duration=1.5)),
        (result(), result(exception=ValueError("no"))),
        (result(started="2020-01-01T00:00:00"), result(started="2021-01-01T00:00:00")),
        (result(), result(parts={"model": "m"})),
        (result(READ), result(ToolCallRecord("read", READ.arguments, "Hello"))),
        (Turn("a", (), Usage(1, 1)), Turn("a", (), Usage(1, 1), duration=1.0)),
        (Turn("a", (), Usage(1, 1)), Turn("a", (), Usage(1, 1), waited=1.0)),
    ],
)
def test_two_results_are_equal_though_they_took_other_times(one: object, other: object) -> None:
    assert one == other


def test_what_a_result_is_not_told_is_empty() -> None:
    turn = Turn("a", (), Usage(1, 1))
    assert (turn.duration, turn.waited, READ_AGAIN.duration) == (0.0, 0.0, 0.0)
    empty = result()
    assert (empty.duration, empty.exception, empty.parts, empty.output) == (0.0, None, {}, None)
    assert empty != result(error="no")
    assert empty != result(output="no")


def test_the_output_of_an_application_is_the_final_response() -> None:
    assert result(output="no").final_response == "no"
    assert result().final_response == "Done."
    assert result(turns=()).final_response == ""


def test_the_json_of_a_result_can_be_read_by_people() -> None:
    text = result_to_json(result(prompt="Äpfel?"))
    assert "Äpfel?" in text
    assert text.startswith('{\n  "agent": "a",\n')
