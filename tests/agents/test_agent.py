"""The configuration of agents: immutable, equal by value, and wrong where it says so."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest

from llm_mock.agents import Agent, CLIServer, MCPServer, Provider, Skill
from llm_mock.errors import InvalidAgent, InvalidFile

SKILL = """---
name: weather-expert
description: Knows the weather.
metadata:
  version: 3
---

# Weather

Rain is wet.
---
Snow is cold.
"""


def agent(**changes: Any) -> Agent:
    values: dict[str, Any] = {
        "provider": Provider("gpt-5-mini", {"temperature": 0.5}),
        "mcp_servers": [MCPServer(["python", "server.py"])],
        "cli_servers": [CLIServer("git", "git")],
        "skill": Skill("weather", "Rain is wet."),
        "system_prompt": "Be brief",
        "max_turns": 5,
    }
    return Agent(**{**values, **changes})


def test_agents_are_equal_by_value_and_can_be_keys() -> None:
    assert agent() == agent()
    assert len({agent(), agent()}) == 1
    assert agent() != agent(max_turns=6)
    assert agent() != agent(provider=Provider("gpt-5-mini", {"temperature": 0.6}))


def test_agents_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent().max_turns = 7  # type: ignore[misc]
    with pytest.raises(TypeError):
        agent().asks.options["temperature"] = 1  # type: ignore[index]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_agents_can_be_copied_and_sent(again: Any) -> None:
    assert again(agent()) == agent()


def test_a_temperature_is_an_option() -> None:
    assert Provider("m", {"seed": 3}, temperature=0).all_options == {"seed": 3, "temperature": 0}
    assert repr(Provider("m", temperature=0)) == "Provider('m', temperature=0)"
    assert dataclasses.replace(Provider("m", temperature=0), temperature=1).all_options == {
        "temperature": 1
    }
    with pytest.raises(
        InvalidAgent, match=r"has both temperature and options\['temperature'\]. Pass only one"
    ):
        Provider("m", {"temperature": 1}, temperature=0)
    with pytest.raises(
        InvalidAgent, match=r"temperature of Provider\(…\) is 'hot'; pass a number from 0"
    ):
        Provider("m", temperature="hot")  # type: ignore[arg-type]


def test_a_variant_is_made_by_replace() -> None:
    variant = dataclasses.replace(agent(), provider="other")
    assert variant.asks == Provider("other")
    assert variant.skill == agent().skill


def test_the_repr_says_what_there_is_and_no_key() -> None:
    assert repr(Agent("gpt-5-mini")) == "Agent(provider=Provider('gpt-5-mini'))"
    assert repr(agent()) == (
        "Agent(provider=Provider('gpt-5-mini', options={'temperature': 0.5}), "
        "mcp_servers=[MCPServer(command=['python', 'server.py'])], "
        "cli_servers=[CLIServer(name='git', command=['git'], tool_prefix='git')], "
        "skill=Skill(name='weather', description=''), system_prompt='Be brief', max_turns=5)"
    )
    assert "sk-123" not in repr(Provider("m", key="sk-123"))
    assert repr(Provider("m", retries=1)) == "Provider('m', retries=1)"


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({}, "gpt-5-mini+weather"),
        ({"skill": None}, "gpt-5-mini"),
        ({"name": "the best"}, "the best"),
    ],
)
def test_an_agent_is_called_by_its_name_or_by_its_model_and_skill(
    changes: dict[str, Any], label: str
) -> None:
    assert agent(**changes).label == agent(**changes).llm_mock_id == label


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "clerk"),
        (
            {"system_prompt": "Be brief.", "max_turns": 4},
            "clerk, system_prompt=Be brief., max_turns=4",
        ),
        ({"system_prompt": None, "skill": None}, "clerk, system_prompt=none, skill=none"),
        ({"system_prompt": "a" * 40}, f"clerk, system_prompt={'a' * 29}…"),
        ({"model": "gpt-5", "key": "sk-12345678901234567890"}, "clerk, model=gpt-5"),
        ({"provider": Provider("gpt-5")}, "clerk, provider=gpt-5"),
        ({"skill": Skill("baker", "Bake.")}, "clerk, skill=baker"),
        ({"cli_servers": [CLIServer("a", "x"), CLIServer("b", "x")]}, "clerk, cli_servers=a+b"),
        ({"mcp_servers": ()}, "clerk, mcp_servers=none"),
        (
            {"options": {"seed": 1, "api_key": "abc-def"}},
            "clerk, options={'seed': 1, 'api_key': '[redacted]'}",
        ),
        ({"name": "other", "max_turns": 4}, "other"),
    ],
)
def test_a_changed_agent_is_named_by_what_is_different(changes: dict[str, Any], name: str) -> None:
    assert agent(name="clerk").with_changes(**changes).llm_mock_id == name


def test_a_changed_agent_without_a_name_has_model_and_skill_in_its_label() -> None:
    changed = agent().with_changes(model="gpt-5", provider=Provider("gpt-5"), skill=None)
    again = changed.with_changes(timeout=9).with_changes(max_turns=3, timeout=1)
    assert changed.llm_mock_id == "gpt-5"
    assert again.llm_mock_id == "gpt-5, timeout=1, max_turns=3"
    assert again.label == "gpt-5"
    assert again.with_changes(name="x", max_turns=5).with_changes(timeout=2).llm_mock_id == (
        "x, timeout=2"
    )
    # Agents with equal values are equal, however they were made.
    assert agent().with_changes(max_turns=3) == agent(max_turns=3)
    assert agent().with_changes(max_turns=3).__repr__() == repr(agent(max_turns=3))


def test_the_skill_goes_before_the_system_prompt() -> None:
    assert agent().system == "Rain is wet.\n\nBe brief"
    assert agent(skill=None).system == "Be brief"
    assert agent(system_prompt=None).system == "Rain is wet."
    assert agent(skill=None, system_prompt=None).system is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"provider": None},
            "provider of Agent(…) is of type NoneType; pass a Provider or a model id.",
        ),
        ({"provider": ""}, "model of Provider(…) is ''; pass a model id."),
        (
            {"mcp_servers": CLIServer("a", "b")},
            "mcp_servers of Agent(…) is of type CLIServer; pass a list of MCPServer, such as "
            '[MCPServer("python server.py")].',
        ),
        *(
            (
                {"cli_servers": given},
                "cli_servers of Agent(…) is 'git'; pass a list of CLIServer, such as "
                '[CLIServer("git", command="git")].',
            )
            for given in ("git", ["git"])
        ),
        (
            {"skill": "weather"},
            "skill of Agent(…) is 'weather'; pass a Skill (Skill.from_path(…)).",
        ),
        ({"system_prompt": 3}, "system_prompt of Agent(…) is 3; pass a string."),
        ({"max_turns": 0}, "max_turns of Agent(…) is 0; pass a whole number from 1."),
        ({"timeout": 0}, "timeout of Agent(…) is 0; pass a number of seconds above 0."),
        ({"max_turns": True}, "max_turns of Agent(…) is true; pass a whole number from 1."),
    ],
)
def test_what_can_never_run_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidAgent) as error:
        agent(**changes)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "changes", [{"retries": -1}, {"retries": 1.5}, {"options": ["temperature"]}, {"model": 3}]
)
def test_a_provider_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidAgent, match="of Provider"):
        Provider(**{"model": "m", **changes})


def test_a_copy_has_changes_of_the_agent_and_of_its_provider() -> None:
    agent = Agent(
        Provider("m", key="k", temperature=1), skill=Skill("rain", "wet"), max_turns=3, name="best"
    )
    assert agent.with_changes(model="n", temperature=0, skill=None) == Agent(
        Provider("n", key="k", temperature=0), max_turns=3, name="best"
    )
    assert agent.with_changes(provider="n", retries=0, name=None).provider == Provider(
        "n", retries=0
    )
    assert agent.with_changes() == agent
    assert agent.asks.model == "m"
    with pytest.raises(InvalidAgent, match=r"has a field 'modle'; did you mean 'model'\?"):
        agent.with_changes(modle="n")
    with pytest.raises(InvalidAgent, match="max_turns"):
        agent.with_changes(max_turns=0)


# Skills


@pytest.mark.parametrize("name", [".", "SKILL.md"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_skill_is_read_from_its_folder_or_file(name: str, newline: str, tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(SKILL.replace("\n", newline).encode())
    skill = Skill.from_path(tmp_path / name)
    assert (skill.name, skill.description) == ("weather-expert", "Knows the weather.")
    assert skill.content == "# Weather\n\nRain is wet.\n---\nSnow is cold."
    assert skill.llm_mock_id == "weather-expert"


@pytest.mark.parametrize(
    "text",
    ["Rain is wet.", "---\n---\nRain is wet.\n", "---\n\n---\nRain is wet.", "\ufeffRain is wet."],
)
def test_a_skill_without_front_matter_is_called_as_its_folder(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "rain"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    assert Skill.from_path(str(folder)) == Skill("rain", "Rain is wet.")


def test_front_matter_may_be_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("--- \nname: empty\n---\t")
    assert Skill.from_path(tmp_path) == Skill("empty", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"---\nname: [\n---\nRain", ":3: is not valid YAML"),
        (b"---\nname: a\nname: b\n---\nRain", ":3: is not valid YAML: duplicate key 'name'"),
        (b"---\ndescription: x\nname: [a]\n---\nRain", ":3: name: should be text, not a list"),
        (b"---\n- a\n---\nRain", ":1: should be a mapping"),
        (b"---\nname: a\n", ":1: the front matter begins with ---, but no line with --- ends it"),
    ],
)
def test_a_bad_skill_says_where(content: bytes | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidFile) as error:
        Skill.from_path(file)
    assert str(file) in str(error.value)
    assert message in str(error.value)


def test_agents_with_lists_as_options_and_with_references_can_be_keys() -> None:
    provider = Provider("m", {"stop": ["a", "b"]})
    skill = Skill("s", "secret text", references={"a.md": "text of a"})
    agents = {Agent(provider, skill=skill): 1}
    assert agents[Agent(Provider("m", {"stop": ["a", "b"]}), skill=skill)] == 1
    assert repr(skill) == "Skill(name='s', description='')"
