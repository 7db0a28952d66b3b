"""The references of a skill: which files count, and the tools that list and read them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from llm_mock import LLMMock, Reply, ResponseConfigurator, ToolCall
from llm_mock.agents import Agent, CLIServer, Skill, skill_tools
from llm_mock.errors import InvalidAgent, InvalidFile
from tests.agents.runs import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a skill with references; beside it lies a file that is none."""
    (tmp_path / "secret.md").write_text("secret")
    skill = tmp_path / "sums"
    (skill / "references" / "more").mkdir(parents=True)
    (skill / "SKILL.md").write_text("See references/formulas.md")
    (skill / "references" / "formulas.md").write_text("a + b = b + a")
    (skill / "references" / "more" / "sizes.md").write_text("große")
    (skill / "references" / "logo.png").write_bytes(b"\x89PNG\xff")
    (skill / "references" / ".hidden").write_text("")
    return skill


def test_the_files_of_the_folder_are_its_references(folder: Path) -> None:
    skill = Skill.from_path(folder)
    assert skill.references == {
        "formulas.md": "a + b = b + a",
        "logo.png": None,
        "more/sizes.md": "große",
    }
    assert "große" not in repr(skill)
    assert hash(skill)
    assert (
        Agent("m", skill=skill)
        .parts["references"]
        .startswith("formulas.md, logo.png, more/sizes.md (")
    )


def test_the_model_lists_and_reads_them_and_gets_out_by_no_path(
    run: Run, folder: Path, echo: CLIServer, mock_llm_responses: ResponseConfigurator
) -> None:
    asked = [
        *("formulas.md", "references/formulas.md", "./more/sizes.md", "logo.png"),
        *(
            "../../secret.md",
            "more/../formulas.md",
            str(folder / "SKILL.md"),
            "",
            ".hidden",
            "formulas.md\x00",
        ),
    ]
    calls = [ToolCall("read_skill_reference", {"filename": name}) for name in asked]
    mock_llm_responses.add("m", Reply(tool_calls=[ToolCall("list_skill_references", {}), *calls]))
    mock_llm_responses.add("m", "Done")
    result = run(
        Agent("m", cli_servers=[echo], skill=Skill.from_path(folder)), "Which formulas are there?"
    )
    assert result
    listed, *read = result.all_tool_calls
    assert listed.result == "formulas.md\nlogo.png\nmore/sizes.md"
    assert [call.result for call in read[:3]] == ["a + b = b + a", "a + b = b + a", "große"]
    assert read[3].error == "logo.png is not a text file"
    assert [call.result for call in read[4:]] == [None] * 6
    assert read[4].error == (
        "There is no document '../../secret.md'. There are: formulas.md, logo.png, more/sizes.md"
    )


def test_the_model_is_told_what_the_tools_for_references_take(
    run: Run, folder: Path, mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("m", "Done")
    run(Agent("m", skill=Skill.from_path(folder)), "Hello")
    no_arguments = {"type": "object", "properties": {}, "additionalProperties": False}
    filename = {
        "type": "string",
        "description": "The name of a document, as list_skill_references tells it.",
    }
    assert mock_llm_calls.calls[0].tools == [
        {
            "name": "list_skill_references",
            "description": "List the reference documents of the skill 'sums', "
            "which read_skill_reference reads.",
            "input_schema": no_arguments,
        },
        {
            "name": "read_skill_reference",
            "description": "Read a reference document of the skill 'sums'.",
            "input_schema": {
                **no_arguments,
                "properties": {"filename": filename},
                "required": ["filename"],
            },
        },
    ]


def test_a_skill_without_references_has_no_tools(
    run: Run, tmp_path: Path, mock_llm_responses: ResponseConfigurator
) -> None:
    (tmp_path / "SKILL.md").write_text("Be brief")
    mock_llm_responses.set("m", lambda prompt: f"{len(prompt.tools)} tools")
    assert run(Agent("m", skill=Skill.from_path(tmp_path)), "Hello").final_response == "0 tools"


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_link_that_leads_out_of_the_skill_is_refused(link: str, folder: Path) -> None:
    if link == "file":
        (folder / "references" / "link.md").symlink_to("../../secret.md")
    else:
        (folder / "references").rename(folder.parent / "elsewhere")
        (folder / "references").symlink_to("../elsewhere")
    with pytest.raises(InvalidFile, match=r"\.md: the link leads out of the skill's folder"):
        Skill.from_path(folder)


def test_two_tools_of_one_name_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr(skill_tools, "READ", "echo_execute")
    agent = Agent("m", cli_servers=[CLIServer("echo", "echo")], skill=Skill.from_path(folder))
    with pytest.raises(
        InvalidAgent,
        match=(
            "Two tools are named echo_execute: one for the references of the skill 'sums', "
            "and one of a server"
        ),
    ):
        run(agent, "Hello")


def test_a_reference_that_is_a_pipe_is_an_error(folder: Path) -> None:
    pipe = folder / "references" / "pipe.md"
    os.mkfifo(pipe)
    message = f"^{re.escape(str(pipe))}: the file cannot be read: not a regular file"
    with pytest.raises(InvalidFile, match=message):
        Skill.from_path(folder)
