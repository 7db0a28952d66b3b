"""Offer the references of a skill as tools, which keep the documents in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from llm_mock.agents.skill import REFERENCES, Skill
from llm_mock.agents.tools import AgentTool, ToolAnswer
from llm_mock.errors import InvalidAgent
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import join_names, shorten_name

LIST, READ = "list_skill_references", "read_skill_reference"


@dataclass(eq=False, repr=False)
class SkillTool(AgentTool):
    """A tool that is a function of this process."""

    answer: Callable[[JSONObject], ToolAnswer]

    def _call(self, arguments: JSONObject, timeout: float | None) -> ToolAnswer:
        return self.answer(arguments)

    async def _call_async(self, arguments: JSONObject, timeout: float | None) -> ToolAnswer:
        return self.answer(arguments)


def with_skill_tools(tools: Sequence[AgentTool], skill: Skill | None) -> list[AgentTool]:
    """Return the tools of servers, and those of a skill that has references.

    Raises:
        InvalidAgent: a server has a tool of the same name.
    """
    if skill is None or not skill.references:
        return list(tools)
    for tool in tools:
        if tool.name in (LIST, READ):
            raise InvalidAgent(
                f"Two tools are named {tool.name}: one for the references of the skill "
                f"{shorten_name(skill.name)!r}, and one of a server. Exclude the server's tool "
                "with tools=[…], or remove the references of the skill."
            )
    return [*tools, _new_list_tool(skill), _new_read_tool(skill)]


def _new_list_tool(skill: Skill) -> SkillTool:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    description = f"List the reference documents of the skill {skill.name!r}, which {READ} reads."
    return SkillTool(LIST, description, schema, partial(_list, skill))


def _new_read_tool(skill: Skill) -> SkillTool:
    filename = {
        "type": "string",
        "description": f"The name of a document, as {LIST} tells it.",
    }
    schema = {
        "type": "object",
        "properties": {"filename": filename},
        "additionalProperties": False,
        "required": ["filename"],
    }
    description = f"Read a reference document of the skill {skill.name!r}."
    return SkillTool(READ, description, schema, partial(_read, skill))


def _list(skill: Skill, arguments: JSONObject) -> ToolAnswer:
    return ToolAnswer("\n".join(skill.references))


def _read(skill: Skill, arguments: JSONObject) -> ToolAnswer:
    # Skills link to their documents with the folder.
    name = arguments["filename"].removeprefix("./").removeprefix(f"{REFERENCES}/")
    if name not in skill.references:
        known = join_names(list(skill.references))
        return ToolAnswer(f"There is no document {name!r}. There are: {known}", is_error=True)
    text = skill.references[name]
    if text is None:
        return ToolAnswer(f"{name} is not a text file", is_error=True)
    return ToolAnswer(text)
