"""The tools by which a model lists and reads the references of a skill. They have the documents, and open no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from llm_mock.agents.skill import REFERENCES, Skill
from llm_mock.agents.tools import Tool, ToolAnswer
from llm_mock.errors import InvalidAgent
from llm_mock.support.text import listed, shorten_name

LIST, READ = "list_skill_references", "read_skill_reference"


@dataclass(eq=False, repr=False)
class SkillTool(Tool):
    """A tool that answers at once."""

    answer: Callable[[dict[str, Any]], ToolAnswer]

    def _call(self, arguments: dict[str, Any], timeout: float | None) -> ToolAnswer:
        return self.answer(arguments)

    async def _call_async(self, arguments: dict[str, Any], timeout: float | None) -> ToolAnswer:
        return self.answer(arguments)


def with_skill_tools(tools: Sequence[Tool], skill: Skill | None) -> list[Tool]:
    """The tools of servers, and those of a skill that has references.

    Raises:
        InvalidAgent: a server has a tool of the same name.
    """
    __tracebackhide__ = True
    if skill is None or not skill.references:
        return list(tools)
    taken = next((tool.name for tool in tools if tool.name in (LIST, READ)), None)
    if taken is not None:
        raise InvalidAgent(
            f"The references of the skill {shorten_name(skill.name)!r} have a tool {taken}, and so has a server: leave "
            "that of the server out with tools=[…], or make the skill without references."
        )
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    filename = {"type": "string", "description": f"The name of a document, as {LIST} tells it."}
    name = {**nothing, "properties": {"filename": filename}, "required": ["filename"]}
    of_skill = f"of the skill {skill.name!r}"
    return [
        *tools,
        SkillTool(
            LIST, f"List the reference documents {of_skill}, which {READ} reads.", nothing, partial(_list, skill)
        ),
        SkillTool(READ, f"Read a reference document {of_skill}.", name, partial(_read, skill)),
    ]


def _list(skill: Skill, arguments: dict[str, Any]) -> ToolAnswer:
    return ToolAnswer("\n".join(skill.references))


def _read(skill: Skill, arguments: dict[str, Any]) -> ToolAnswer:
    name = arguments["filename"].removeprefix("./").removeprefix(f"{REFERENCES}/")
    if name not in skill.references:
        return ToolAnswer(f"There is no document {name!r}. There are: {listed(list(skill.references))}", is_error=True)
    text = skill.references[name]
    return ToolAnswer(f"{name} is no text", is_error=True) if text is None else ToolAnswer(text)
