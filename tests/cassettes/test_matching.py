"""The recorded call that a call matches, and the message where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import llm
import pytest

from llm_mock.cassettes import DATES, IDS, TEMPORARY_PATHS, CassetteConfig
from llm_mock.cassettes.schema import RecordedRequest, RequestPart
from llm_mock.errors import CassetteMiss, LLMMockError
from tests.cassettes.conftest import Run
from tests.conftest import RunPython

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
MD5 = "d41d8cd98f00b204e9800998ecf8427e"


@pytest.mark.parametrize(
    ("pattern", "text", "normalized"),
    [
        (DATES, "on 2026-11-22 at noon", "on … at noon"),
        (DATES, "2026-11-22T10:11", "…"),
        (DATES, "2026-11-22 10:11:12", "…"),
        (DATES, "2026-11-22T10:11:12.345Z", "…"),
        (DATES, "2026-11-22T10:11:12+01:00", "…"),
        (DATES, "2026-11-22T10:11:12-0130", "…"),
        (DATES, "at 9:08:07 or 19:08:07.123", "at … or …"),
        (DATES, "at 9:08", "at 9:08"),
        (DATES, "2026-11", "2026-11"),
        (DATES, "12026-11-22", "12026-11-22"),
        (DATES, "26-11-22", "26-11-22"),
        (IDS, f"id {UUID}, {UUID.upper()}", "id …, …"),
        (IDS, UUID[:-1], UUID[:-1]),
        (IDS, ULID, "…"),
        (IDS, ULID.replace("Z", "U"), ULID.replace("Z", "U")),
        (IDS, ULID[:-1], ULID[:-1]),
        (IDS, MD5, "…"),
        (IDS, MD5 * 2, "…"),
        (IDS, MD5[:-1], MD5[:-1]),
        (IDS, MD5 * 2 + "0", MD5 * 2 + "0"),
        (TEMPORARY_PATHS, "in /tmp/pytest-1/a.txt: read", "in …: read"),
        (TEMPORARY_PATHS, "'/tmp/a', \"/tmp/b\" (/tmp/c)", "'…', \"…\" (…)"),
        (TEMPORARY_PATHS, "/var/folders/x/T/y, /private/var/folders/z", "…, …"),
        (TEMPORARY_PATHS, "/home/ada/notes.txt", "/home/ada/notes.txt"),
    ],
)
def test_what_differs_in_each_run_does_not_count(
    pattern: re.Pattern[str], text: str, normalized: str
) -> None:
    config = CassetteConfig(normalize=(pattern,))
    assert config.normalize_value({"a": [text, 1]}) == {"a": [normalized, 1]}


def test_a_folder_of_ones_own_for_temporary_files_does_not_count(
    run_python: RunPython, tmp_path: Path
) -> None:
    code = "from llm_mock.cassettes import TEMPORARY_PATHS as p; print(p.sub('…', 'in {}/x: read'))"
    # Where tests run in /tmp, that folder would match without the variable.
    folder = tmp_path / "own:folder"
    folder.mkdir()
    asked = run_python(code.format(folder), TMPDIR=str(folder))
    assert asked.stdout == "in …: read\n", asked.stderr


@pytest.mark.parametrize("given", [{"match": "model"}, {"match": ("model", "key")}])
def test_an_unknown_part_of_a_call_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(LLMMockError, match=r"match must be a tuple of model, turn, system, prompt"):
        CassetteConfig(**given)


@pytest.mark.parametrize("given", [{"normalize": ("(",)}, {"redact": (1,)}])
def test_what_is_no_regular_expression_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(LLMMockError, match="must be tuples of regular expressions: "):
        CassetteConfig(**given)


BASE: dict[str, Any] = {"model": "m", "prompt": "Hi"}
OTHER: dict[str, dict[str, Any]] = {
    "model": {"model": "n"},
    "turn": {"turn": 2},
    "system": {"system": "Be brief"},
    "prompt": {"prompt": "Ho"},
    "options": {"options": {"temperature": 0.5}},
    "schema": {"schema": {"type": "object"}},
    "tools": {"tools": [{"name": "look"}]},
}


@pytest.mark.parametrize("part", get_args(RequestPart))
def test_each_part_of_a_call_counts_unless_it_is_left_out(part: Any) -> None:
    requests = [RecordedRequest(**BASE), RecordedRequest(**{**BASE, **OTHER[part]})]
    others = tuple(name for name in get_args(RequestPart) if name != part)
    for match, same in (((part,), False), (get_args(RequestPart), False), (others, True)):
        first, second = map(CassetteConfig(match=match).get_key, requests)
        assert (first == second) is same


@pytest.mark.parametrize(
    "more",
    [
        {"messages": [{"role": "user", "parts": []}]},
        {"tool_results": [{"name": "look", "output": "seen"}]},
        {"attachments": [{"url": "https://example.com/x.png"}]},
    ],
)
def test_history_tool_results_and_attachments_count_with_the_prompt(more: dict[str, Any]) -> None:
    requests = [RecordedRequest(**BASE), RecordedRequest(**BASE, **more)]
    for match, same in ((("prompt",), False), (("model", "system"), True)):
        first, second = map(CassetteConfig(match=match).get_key, requests)
        assert (first == second) is same


class Model(llm.Model):
    model_id = "m"
    supports_tools = True
    supports_schema = True

    def execute(self, prompt: Any, *args: Any, **kwargs: Any) -> Iterator[str]:
        yield f"You said {prompt.prompt}"


def look(at: str) -> str:
    """Look at something."""
    return at


def miss(run: Run, *prompts: str, **arguments: Any) -> str:
    """Return the message for the last of these prompts, which the cassette lacks."""

    def ask() -> None:
        for prompt in prompts:
            Model().prompt(prompt, **arguments).text()

    with pytest.raises(CassetteMiss) as caught:
        run("none", ask)
    assert run.problems == [str(caught.value)]
    return str(caught.value).replace(str(run.path), "FILE")


COMMAND = re.compile(r"pytest (\S+|'[^']+') --llm-mock-record")
ADVICE = (
    "Record new calls with the real model: pytest TEST --llm-mock-record new_episodes\n"
    "To ignore parts of calls, use the fixture llm_mock_cassette_config."
)


def without_test(message: str) -> str:
    return COMMAND.sub("pytest TEST --llm-mock-record", message)


def test_a_call_without_a_cassette_is_shown_with_the_names_of_schema_and_tools(run: Run) -> None:
    schema = {"title": "Person", "type": "object", "properties": {"name": {"type": "string"}}}
    message = miss(run, "Hi", system="Be brief", schema=schema, tools=[look, len])
    assert without_test(message) == (
        "There is no cassette FILE for this call:\n"
        "  model: m\n"
        "  system: Be brief\n"
        "  prompt: Hi\n"
        "  schema: Person\n"
        "  tools: look, len\n"
        "Record it with the real model and your key: pytest TEST --llm-mock-record once"
    )


def test_a_schema_without_a_title_is_only_said_to_be_there(run: Run) -> None:
    assert "\n  schema: yes\n" in miss(run, "Hi", schema={"type": "object", "properties": {}})


@pytest.mark.parametrize(("times", "words"), [(1, "once"), (2, "2 times")])
def test_a_call_that_is_made_more_often_than_it_was_recorded_says_so(
    run: Run, times: int, words: str
) -> None:
    run("all", lambda: [Model().prompt("Hi").text() for _ in range(times)])
    message = miss(run, *["Hi"] * (times + 1))
    assert without_test(message) == (
        f"The cassette FILE contains this call {words}, but the call was made again:\n"
        f"  model: m\n  prompt: Hi\n{ADVICE}"
    )


def test_a_cassette_without_calls_says_so(run: Run) -> None:
    run.path.write_text("version: 2\ncalls: []\ncount: 0\n")
    assert without_test(miss(run, "Hi")) == (
        "The cassette FILE does not contain this call:\n  model: m\n  prompt: Hi\n"
        f"It contains no calls.\n{ADVICE}"
    )


def test_the_nearest_call_is_the_one_with_the_most_equal_parts_and_then_the_most_equal_text(
    run: Run,
) -> None:
    def record() -> None:
        Model().prompt("Something else entirely").text()
        Model().prompt("Greet Ada", system="Be kind").text()
        Model().prompt("Greet Grace", system="Be kind").text()

    run("all", record)
    assert without_test(miss(run, "Greet Gracie", system="Be kind")) == (
        "The cassette FILE does not contain this call:\n"
        "  model: m\n  system: Be kind\n  prompt: Greet Gracie\n"
        "The nearest of its 3 calls is number 3. The difference:\n"
        "  --- recorded\n  +++ made\n  @@ -3,2 +3,2 @@\n   system: Be kind\n"
        f"  -prompt: Greet Grace\n  +prompt: Greet Gracie\n{ADVICE}"
    )


@pytest.mark.parametrize(("lines", "more"), [(38, 0), (39, 1)])
def test_a_long_call_is_shown_up_to_a_limit(run: Run, lines: int, more: int) -> None:
    text = "\n".join(f"line {number}" for number in range(lines))
    shown = miss(run, text).split("\nRecord it")[0].splitlines()[1:]
    assert len(shown) == 40 + (more > 0)
    assert (shown[-1] == f"  … {more} more lines") is (more > 0)
