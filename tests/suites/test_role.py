"""Role files: what an agent is made of, what is ignored, and what is wrong with them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tenacity")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm_mock import ResponseConfigurator
from llm_mock.agents import Agent, CLIServer, MCPServer, Provider
from llm_mock.agents.pool import get_server_pool
from llm_mock.errors import InvalidFile
from llm_mock.suites import Role, load_role
from llm_mock.suites.role import resolve_model
from tests.conftest import RunPython

MINIMAL = """\
apiVersion: initrunner/v1
kind: Agent
metadata:
  name: hello-world
  description: It says hello.
  tags: [example]
spec:
  role: You say hello.
  model:
    provider: openai
    name: gpt-4o-mini
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a role file; what is given stands under `spec`."""

    def written(more: str = "") -> Path:
        path = tmp_path / "role.yaml"
        path.write_text(MINIMAL + more)
        return path

    return written


def message_of(path: Path) -> str:
    """Return what is wrong with a role file, without the folder."""
    with pytest.raises(InvalidFile) as caught:
        load_role(path)
    return str(caught.value).replace(str(path), path.name)


# What becomes of a file


def test_a_role_is_an_agent(write: Write) -> None:
    path = write()
    role = load_role(str(path))
    assert role.agent == Agent(
        Provider("gpt-4o-mini"), system_prompt="You say hello.", name="hello-world"
    )
    assert (role.name, role.path, role.warning) == ("hello-world", path, None)


def test_options_are_those_that_the_file_gives(write: Write) -> None:
    more = "    options: {top_p: 1, temperature: 1}\n"
    role = load_role(write(f"    temperature: 0\n    max_tokens: 100\n{more}"))
    options = {"temperature": 0, "max_tokens": 100, "top_p": 1}
    assert dict(role.agent.asks.options) == options
    assert role.warning is None


@pytest.mark.parametrize(
    ("model", "model_id"),
    [
        ("{provider: openai, name: gpt-4o-mini}", "gpt-4o-mini"),
        ("{provider: anthropic, name: claude-sonnet-4-5}", "anthropic/claude-sonnet-4-5"),
        ("claude-sonnet-4.5", "claude-sonnet-4.5"),
    ],
)
def test_provider_and_name_or_an_id_of_llm_name_the_model(
    model: str, model_id: str, tmp_path: Path
) -> None:
    path = tmp_path / "role.yaml"
    path.write_text(
        f"apiVersion: llm-mock/v1\nkind: Agent\nmetadata: {{name: n}}\n"
        f"spec: {{role: r, model: {model}}}\n"
    )
    assert load_role(path).agent.asks.model == model_id


def test_tools_become_servers(write: Write, tmp_path: Path) -> None:
    (tmp_path / "tools.py").touch()
    role = load_role(
        write(
            """\
  tools:
    - type: mcp
      command: npx
      args: [-y, "@modelcontextprotocol/server-filesystem", ./repos]
      env: {TOKEN: "${SOME_TOKEN}"}
      cwd: files
      tool_filter: [read_file, "list_*"]
      timeout: 5
    - type: mcp
      name: elsewhere
      transport: streamable-http
      url: https://example.com/mcp
      headers: {Authorization: "Bearer ${SOME_TOKEN}"}
    - type: mcp
      transport: stdio
      command: python -m bank.server
    - type: cli
      name: repository
      command: git -C project
      tool_prefix: git
      timeout: 3
      description: Runs git.
      cwd: repository
      env: {A: b}
    - type: mcp
      transport: sse
      url: https://example.com/sse
      tool_exclude: []
    - type: function
      function: tools.py:add
      name: sum
      env: {A: b}
"""
        )
    )
    package = "@modelcontextprotocol/server-filesystem"
    environment = {"TOKEN": "${SOME_TOKEN}"}
    tools = ["read_file", "list_*"]
    assert list(role.agent.mcp_servers) == [
        MCPServer(
            "npx",
            ["-y", package, "./repos"],
            environment,
            tmp_path / "files",
            tools=tools,
            call_timeout=5,
        ),
        MCPServer(
            url="https://example.com/mcp",
            headers={"Authorization": "Bearer ${SOME_TOKEN}"},
            name="elsewhere",
        ),
        MCPServer(["python", "-m", "bank.server"]),
        MCPServer(url="https://example.com/sse", transport="sse"),
        MCPServer(
            [sys.executable, "-m", "llm_mock.specs.function_server"],
            ["tools.py:add", "sum"],
            {"A": "b"},
            tmp_path,
            name="tools.py:add",
        ),
    ]
    git = CLIServer(
        "repository",
        ["git", "-C", "project"],
        "git",
        timeout=3,
        description="Runs git.",
        cwd=tmp_path / "repository",
        env={"A": "b"},
    )
    assert list(role.agent.cli_servers) == [git]
    assert role.warning is None


def test_a_function_becomes_a_tool_of_the_agent(write: Write, tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def add(first: int, second: int) -> int: return 0")
    role = load_role(
        write(
            "  tools:\n    - {type: function, function: 'tools.py:add', timeout: 7,"
            " description: x}\n"
        )
    )
    (tool,) = get_server_pool().tools(role.agent.servers)
    assert (tool.name, tool.server.label) == ("add", "tools.py:add")
    assert role.agent.servers[0].call_timeout == 7
    assert tool.call({"first": 1, "second": 2}).structured == {"result": 0}
    assert role.ignored == ("spec.tools[0].description (line 13)",)


def test_a_skill_lies_beside_the_role(write: Write, tmp_path: Path) -> None:
    (tmp_path / "greeting").mkdir()
    (tmp_path / "greeting" / "SKILL.md").write_text("Greet by name.\n")
    assert (
        load_role(write("  skill: greeting\n")).agent.system == "Greet by name.\n\nYou say hello."
    )


def test_the_limit_of_requests_is_the_number_of_turns(write: Write) -> None:
    role = load_role(write("  guardrails: {max_request_limit: 3, max_tool_calls: 5}\n"))
    assert role.agent.max_turns == 3
    assert role.ignored == ("spec.guardrails.max_tool_calls (line 12)",)


def test_what_has_no_effect_is_named_in_one_sentence(write: Write) -> None:
    path = write(
        """\
    base_url: http://localhost:8000
  tools:
    - type: filesystem
      timeout: {of: another type}
    - type: mcp
      comand: npx
      command: npx
      url: http://localhost:8000
      max_retries: 2
  triggers:
    - {type: cron, schedule: "* * * * *", prompt: Go}
extra: 1
"""
    )
    assert load_role(path).warning == (
        f"{path}: not supported and ignored: extra (line 23), spec.triggers (line 21), "
        "spec.model.base_url (line 12), spec.tools[0] of type filesystem (line 14), "
        "spec.tools[1].comand (line 17; did you mean 'command'?), spec.tools[1].url (line 19), "
        "spec.tools[1].max_retries (line 20)."
    )


def test_what_a_file_says_cannot_act_on_a_terminal(write: Write) -> None:
    role = load_role(write('  "red\\x1b[31m": 1\n'))
    assert role.warning is not None
    assert role.warning.isprintable()


# What is wrong with a file


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "  tools: [{type: mcp}]\n",
            "12: a tool of type mcp needs a 'command' (or transport: streamable-http and",
        ),
        (
            "  tools:\n    - type: mcp\n      transport: streamable-http\n",
            "13: a tool of type mcp with transport:",
        ),
        (
            "  tools:\n    - {type: mcp, transport: sse}\n",
            "13: a tool of type mcp with transport: sse needs a 'url'",
        ),
        (
            "  tools:\n    - {type: mcp, transport: pipe}\n",
            "13: the transport 'pipe' is not supported; use one of stdio, streamable-http, sse",
        ),
        (
            "  tools:\n    - {type: mcp, command: c, tool_exclude: [rm]}\n",
            "13: tool_exclude is not supported",
        ),
        (
            "  tools:\n    - {type: mcp, command: 'npx \"'}\n",
            "13: The command 'npx \"' cannot be split into words",
        ),
        (
            "  tools:\n    - {type: cli, name: git}\n",
            "13: a tool of type cli needs a 'name' and a 'command'",
        ),
        *[
            (f"  tools:\n    - {{type: {tool}}}\n", f"13: a tool of type {problem}")
            for tool, problem in [
                ("cli, command: git", "cli needs a 'name' and a 'command'"),
                ("cli, name: git, command: ' '", "cli needs a 'name' and a 'command'"),
                ("mcp, command: ' '", "mcp needs a 'command' (or transport: "),
                ("function", "function needs a 'function': file.py:name"),
            ]
        ],
        (
            "  tools:\n    - {type: cli, name: 'a b', command: c}\n",
            "13: CLIServer: tool_prefix is 'a b'",
        ),
        (
            "  tools:\n    - {type: function, function: add}\n",
            "13: function should be file.py:function or package.module:function, not 'add'",
        ),
        (
            "  tools:\n    - {type: function, function: 'no_tools.py:add'}\n",
            "13: function: the file '",
        ),
        ("  tools: [{command: npx}]\n", "12: 'type' is missing"),
        ("  tools: [mcp]\n", "12: spec.tools.0: should be a mapping with a type"),
        ("  tools: {type: mcp}\n", "12: spec.tools: should be a list, not a mapping"),
        (
            "  tools:\n    - {type: mcp, command: c, env: {PORT: 8}}\n",
            "13: spec.tools.0.env.PORT: should be text, not the number 8",
        ),
        ("    temperature: hot\n", "12: spec.model.temperature: should be a number, not 'hot'"),
        ("    options: [a]\n", "12: spec.model.options: should be"),
        ("    max_tokens: 0\n", "12: spec.model.max_tokens: should be at least 1"),
        (
            "  guardrails: {max_request_limit: 0}\n",
            "12: spec.guardrails.max_request_limit: should be at least 1",
        ),
        ("  skill: nowhere\n", "12: there is no skill at "),
        (f"  skill: {'x' * 1000}\n", "12: there is no skill at "),
        ('  skill: "a\\0b"\n', "12: there is no skill at "),
        ("spec: {}\n", "12: is not valid YAML: duplicate key 'spec'"),
        ("\t- x\n", "12: is not valid YAML: "),
    ],
)
def test_a_mistake_is_told_with_its_line(more: str, message: str, write: Write) -> None:
    assert message_of(write(more)).startswith(f"role.yaml:{message}")


@pytest.mark.parametrize(
    ("given", "instead", "message"),
    [
        (
            "initrunner/v1",
            "initrunner/v2",
            "1: apiVersion: should be 'initrunner/v1' or 'llm-mock/v1', not",
        ),
        (
            "kind: Agent",
            "kind: TestSuite",
            "2: this is a suite (kind: TestSuite), not a role (kind: Agent)",
        ),
        (
            "kind: Agent",
            "kind: Compose",
            "2: kind is 'Compose', a composition of InitRunner",
        ),
        ("kind: Agent", "kind: Robot", "2: kind is 'Robot'; a role has kind: Agent"),
        ("kind: Agent", "kind: [Agent]", '2: kind is ["Agent"]; a role has kind: Agent'),
        (
            "  role: You",
            "  rol: You",
            "7: 'role' is missing in spec; is 'rol' (line 8) a misspelling of it?",
        ),
        ("spec:", "sepc:", "1: 'spec' is missing; is 'sepc' (line 7) a misspelling of it?"),
        ("  name: hello-world\n", "", "3: 'name' is missing in metadata"),
        ("    provider: openai\n", "", "9: 'provider' is missing"),
        ("    name: gpt-4o-mini\n", "", "9: 'name' is missing"),
        ("You say hello.", "[a, b]", "8: spec.role: should be text, not a list"),
        (
            "metadata:\n  name: hello-world\n",
            "metadata: 5\nx:\n",
            "3: metadata: should be a mapping (key: value)",
        ),
        (
            "\n    provider: openai\n    name: gpt-4o-mini",
            " 5",
            "9: spec.model: should be a model id, or",
        ),
    ],
)
def test_what_is_no_role_is_told_so(given: str, instead: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "role.yaml"
    path.write_text(MINIMAL.replace(given, instead, 1))
    assert message_of(path).startswith(f"role.yaml:{message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "1: the file is empty; a role has the keys apiVersion, kind, metadata and spec"),
        (b"- a\n", "1: the file holds a list; a role has"),
        (b"Hello\n", "1: the file holds a single value; a role has"),
        (b"\xff\xfe\x00", "1: is not UTF-8 text"),
        (b"a: \0", "1: is not valid YAML"),
    ],
)
def test_any_other_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "role.yaml"
    path.write_bytes(content)
    assert message_of(path).startswith(f"role.yaml:{message}")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in message_of(tmp_path / "role.yaml")
    assert "cannot be read: Is a directory" in message_of(tmp_path)


FULL = f"""\
{MINIMAL}    temperature: 0.1
  tools:
    - {{type: filesystem, root_path: .}}
    - {{type: mcp, command: npx -y server, env: {{A: b}}, tool_filter: [a], timeout: 3}}
    - {{type: mcp, transport: streamable-http, url: "http://localhost/mcp", headers: {{A: b}}}}
    - {{type: cli, name: git, command: git, cwd: ., tool_prefix: g}}
  guardrails: {{max_request_limit: 3}}
"""


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_was_done_to_a_file_it_is_read_or_refused(
    tmp_path: Path, data: st.DataObject
) -> None:
    path, text = tmp_path / "role.yaml", FULL
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    inserted = data.draw(
        st.sampled_from(
            ["", "[]", "{}", "null", "5", ": ", "- ", "\n", " ", '"', "&a ", "*a", "\\0"]
        )
    )
    path.write_text(text[:start] + inserted + text[end:])
    with contextlib.suppress(InvalidFile):
        assert load_role(path).name


# The model of a live run


def test_a_live_run_asks_the_model_that_llm_knows(
    write: Write, mock_llm_responses: ResponseConfigurator
) -> None:
    role = load_role(write())
    assert resolve_model(role).agent == role.agent
    mock_llm_responses.set_unknown("gpt-4o-mini")
    assert resolve_model(role).agent.asks.model == "openai/gpt-4o-mini"


@pytest.mark.parametrize(
    ("provider", "plugin"),
    [
        ("anthropic", "llm-anthropic"),
        ("bedrock", "llm-bedrock"),
        ("cohere", "llm-command-r"),
        ("deepseek", "llm-deepseek"),
        ("google", "llm-gemini"),
        ("groq", "llm-groq"),
        ("mistral", "llm-mistral"),
        ("ollama", "llm-ollama"),
        ("openrouter", "llm-openrouter"),
        ("xai", "llm-grok"),
        ("of our own", None),
    ],
)
def test_a_model_that_llm_does_not_know_is_told_with_its_plugin(
    tmp_path: Path, mock_llm_responses: ResponseConfigurator, provider: str, plugin: str | None
) -> None:
    mock_llm_responses.set_unknown("*")
    path = tmp_path / "role.yaml"
    path.write_text(MINIMAL.replace("openai", provider))
    with pytest.raises(InvalidFile) as caught:
        resolve_model(load_role(path))
    message = str(caught.value)
    assert message.startswith(
        f"{path}:9: llm does not know the model '{provider}/gpt-4o-mini' or 'gpt-4o-mini'. Run "
        "`llm models` to list the known models"
    )
    _, _, installed = message.partition(" To install the plugin for it, run: llm install ")
    assert installed == (plugin or "")


def test_at_most_five_near_models_are_listed(
    write: Write, mock_llm_responses: ResponseConfigurator, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_llm_responses.set_unknown("*")
    path = write()
    path.write_text(path.read_text().replace("openai", "anthropic"))
    near = [f"{prefix}gpt-4o-mini{digit}" for prefix in ("anthropic/", "") for digit in "123"]
    monkeypatch.setattr("llm.get_model_aliases", lambda: dict.fromkeys(near))
    with pytest.raises(InvalidFile) as caught:
        resolve_model(load_role(path))
    suggested = str(caught.value).partition(" Did you mean ")[2].partition("?")[0]
    names = re.split(", | or ", suggested)
    assert suggested.count(" or ") == 1
    assert len(names) == 5
    assert sorted(names[:3]) == near[:3]
    assert {*names[3:]} < {*near[3:]}


def test_without_the_mock_near_models_of_llm_are_listed(
    write: Write, run_python: RunPython, tmp_path: Path
) -> None:
    path = write()
    path.write_text(path.read_text().replace("gpt-4o-mini", "gpt-4o-mimi"))
    code = f"from llm_mock.suites.role import *\nresolve_model(load_role({str(path)!r}))"
    ended = run_python(code, LLM_USER_PATH=str(tmp_path), PFLOW_TESTING=None)
    assert (
        f"{path}:9: llm does not know the model 'gpt-4o-mimi' or 'openai/gpt-4o-mimi'. Did you "
        "mean gpt-4o-mini"
    ) in ended.stderr


def test_options_that_the_model_does_not_have_are_left_out(
    write: Write, run_python: RunPython, tmp_path: Path
) -> None:
    path = write("    temperature: 0.5\n    max_tokens: 5\n")
    path.write_text(path.read_text().replace("gpt-4o-mini", "a-model"))
    code = (
        "import llm\nfrom llm_mock.suites.role import *\n"
        "class Model(llm.Model):\n"
        "    model_id = 'a-model'\n"
        "    class Options(llm.Options):\n"
        "        temperature: float | None = None\n"
        "    def execute(self, *args, **kwargs): ...\n"
        "class Plugin:\n"
        "    @staticmethod\n"
        "    @llm.hookimpl\n"
        "    def register_models(register): register(Model())\n"
        "from llm.plugins import pm; pm.register(Plugin, 'p')\n"
        f"role = resolve_model(load_role({str(path)!r}))\n"
        "print(dict(role.agent.asks.options), role.ignored, role.model_ids)"
    )
    ended = run_python(code, LLM_USER_PATH=str(tmp_path), PFLOW_TESTING=None)
    assert ended.stdout == (
        "{'temperature': 0.5} ('spec.model.max_tokens (the model a-model has no such "
        "option)',) ('a-model',)\n"
    ), ended.stderr


def test_reading_a_role_asks_llm_for_nothing(write: Write, run_python: RunPython) -> None:
    code = (
        f"import sys\nfrom llm_mock.suites.role import *\nload_role({str(write())!r})\n"
        "plugins = sys.modules.get('llm.plugins')\nprint(plugins is not None and plugins._loaded)"
    )
    assert run_python(code, PFLOW_TESTING=None).stdout == "False\n"


def test_a_role_made_in_python_has_a_model_too(mock_llm_responses: ResponseConfigurator) -> None:
    role: Any = Role("r", Agent("some-model"), Path(os.devnull))
    assert resolve_model(role).agent.asks.model == "some-model"
