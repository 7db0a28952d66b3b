"""The steps of a test against the tools of its project, of which none is called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from llm_mock.specs import load_spec
from llm_mock.specs.tool_check import describe_unknown_tool, find_tool_problems

from .projects import Project
from .projects import project as project

CLOSED: dict[str, Any] = {"additionalProperties": False}


def find(project: Project, text: str, schema: dict[str, Any]) -> list[Any]:
    """Return the problems of steps whose only tool is `sell`."""
    tools: Any = {"sell": SimpleNamespace(input_schema=schema)}
    return list(find_tool_problems(load_spec(project.write(text)), tools))


@pytest.mark.parametrize(
    ("arguments", "schema", "problems"),
    [
        ("{}", {}, []),
        ("{a: 1}", {}, []),
        ("{a: 1}", {"additionalProperties": True}, []),
        ("{a: 1}", {"additionalProperties": {"type": "integer"}}, []),
        ("{a: 1}", CLOSED, ["the tool 'sell' has no argument 'a'; it takes none"]),
        ("{a: 1}", {**CLOSED, "properties": {"a": {}}}, []),
        (
            "{colour: 1}",
            {**CLOSED, "properties": {"color": {}}},
            ["the tool 'sell' has no argument 'colour'; did you mean 'color'?"],
        ),
        ("{}", {"required": ["item"]}, ["the tool 'sell' needs the argument 'item'"]),
        ("{item: 1}", {"required": ["item"]}, []),
    ],
)
def test_the_arguments_of_a_step_are_those_of_its_tool(
    project: Project, arguments: str, schema: dict[str, Any], problems: list[str]
) -> None:
    found = find(project, f"steps: [{{tool: sell, args: {arguments}}}]", schema)
    assert [problem for _, problem in found] == problems


def test_a_problem_has_the_place_of_its_step_in_each_part(project: Project) -> None:
    text = (
        "setup: [{tool: sell, args: {a: 1}}]\n"
        "steps: [{tool: sell}, {name: all, steps: [{tool: sel}]}]\n"
        "teardown: [{tool: buy}]\n"
    )
    found = find(project, text, {**CLOSED, "properties": {"b": {}}})
    assert [place for place, _ in found] == [
        ("setup", 0, "args", "a"),
        ("steps", 1, "steps", 0, "tool"),
        ("teardown", 0, "tool"),
    ]
    assert [problem for _, problem in found][1:] == [
        "There is no tool 'sel'; did you mean 'sell'? The tools are sell.",
        "There is no tool 'buy'. The tools are sell.",
    ]


@pytest.mark.parametrize(
    ("tool", "hint"),
    [
        ("sell", "; did you mean 'shop_sell'? The tools are http_get, shop_sell."),
        ("web_http_get", "; did you mean 'http_get'? The tools are http_get, shop_sell."),
        ("shop_sel", "; did you mean 'shop_sell'? The tools are http_get, shop_sell."),
        ("nothing", ". The tools are http_get, shop_sell."),
        (
            "shop_cleanup",
            ": cleanup() of a plugin is not a tool. It runs automatically when the test ends: "
            "remove this step.",
        ),
    ],
)
def test_an_unknown_tool_is_told_with_those_that_there_are(tool: str, hint: str) -> None:
    known = dict.fromkeys(["http_get", "shop_sell"])
    assert describe_unknown_tool(tool, known) == f"There is no tool {tool!r}{hint}"
