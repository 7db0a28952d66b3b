"""The MCP servers and command-line tools that a plain-language test names, all real."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.agents.pool import get_server_pool
from llm_mock.agents.tools import ServerTool
from llm_mock.cli import main
from llm_mock.errors import DriverError, InvalidFile, ServerError
from llm_mock.specs import load_spec, run_llm_test
from llm_mock.specs.claude_code import ClaudeCodeDriver
from llm_mock.specs.drivers import DryRun
from llm_mock.specs.llm_driver import LLMDriver
from llm_mock.specs.servers import create_servers
from tests.agents.test_pool import EXAMPLES, SSE, serving

from .local_tools import local_tools as local_tools
from .local_tools import tool_process as tool_process

pytestmark = pytest.mark.usefixtures("local_tools")

SPEC = """\
test: {{name: Bank}}
tools:
  - {tool}
setup:
  - {{tool: accounts, save_as: before}}
steps:
  - {{tool: accounts, save_as: now}}
  - {{tool: assert_equals, args: {{actual: "${{now.alice}}", expected: "${{before.alice}}"}}}}
verdict: {{pass_if: nothing is lost, fail_if: something is}}
"""
STDIO = f'{{type: mcp, command: "{sys.executable} -m bank.server", cwd: {EXAMPLES}}}'
VERDICT = '{"verdict": "PASS", "reason": "it holds", "steps": [], "issues": []}'


@pytest.fixture(scope="module")
def tools() -> Iterator[dict[str, str]]:
    with (
        serving(sys.executable, "-m", "bank.server", "--http", "0") as http,
        serving(sys.executable, "-c", SSE) as sse,
    ):
        yield {
            "stdio": STDIO,
            "streamable-http": f"{{type: mcp, transport: streamable-http, url: '{http}'}}",
            "sse": f"{{type: mcp, transport: sse, url: '{sse}'}}",
        }


def write(folder: Path, tool: str, text: str = SPEC) -> Path:
    path = folder / "bank.yaml"
    path.write_text(text.format(tool=tool))
    return path


@pytest.mark.parametrize("transport", ["stdio", "streamable-http", "sse"])
def test_steps_call_the_tools_of_any_mcp_server(
    transport: str, tools: dict[str, str], tmp_path: Path
) -> None:
    path = write(tmp_path, tools[transport])
    verdict = run_llm_test(load_spec(path), path, driver=DryRun())
    assert (verdict.verdict, len(verdict.steps)) == ("PASS", 3), verdict


def test_steps_call_a_command_line_tool_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "hi.txt").write_text("Hello")
    tool = "{type: cli, name: cat, command: cat, tool_prefix: cat, cwd: sub}"
    text = SPEC.partition("setup:")[0] + (
        "steps:\n  - {{tool: cat_execute, args: {{args: hi.txt}}, save_as: said}}\n"
        '  - {{tool: assert_contains, args: {{container: "${{said}}", item: Hello}}}}\n'
        "verdict: {{pass_if: it is said, fail_if: it is not}}\n"
    )
    path = write(tmp_path, tool, text)
    verdict = run_llm_test(load_spec(path), path, driver=DryRun())
    assert verdict.verdict == "PASS", verdict


@pytest.mark.usefixtures("tool_process")
def test_the_model_is_offered_the_same_tools(tmp_path: Path, mock_llm_responses: LLMMock) -> None:
    calls = [
        ToolCall("accounts", {}),
        ToolCall("assert_equals", {"actual": 1, "expected": 1}),
    ]
    mock_llm_responses.add("m-1", Reply(tool_calls=calls))
    mock_llm_responses.add("m-1", VERDICT)
    path = write(tmp_path, STDIO)
    verdict = run_llm_test(load_spec(path), path, driver=LLMDriver("m-1"))
    assert verdict.verdict == "PASS", verdict


def test_a_dry_run_asks_no_server_of_another_machine(tmp_path: Path) -> None:
    path = write(
        tmp_path, "{type: mcp, transport: streamable-http, url: 'https://away.example/mcp'}"
    )
    with pytest.raises(ServerError, match=r"away\.example/mcp.* is not on this machine"):
        run_llm_test(load_spec(path), path, driver=DryRun())


def test_claude_code_refuses_a_test_with_servers(tmp_path: Path) -> None:
    path = write(tmp_path, STDIO)
    with pytest.raises(DriverError, match="use the driver llm for a test with 'tools'"):
        run_llm_test(load_spec(path), path, driver=ClaudeCodeDriver("no-such-command"))


@pytest.mark.parametrize(
    ("tool", "problem"),
    [
        ("{type: web}", "the type 'web' is not supported; use one of mcp, cli, function"),
        ("{type: function}", "a tool of type function needs a 'function': file.py:name"),
        ("{type: function, function: x}", "function should be file.py:function or package."),
        ("{type: function, function: '../x.py:f'}", "outside of the suite's folder"),
        ("{type: function, function: 'x.py:f'}", "x.py' does not exist"),
        ("{type: function, function: 'x:f', cwd: y}", "the key 'cwd' has no effect here"),
        ("{type: mcp}", "a tool of type mcp needs a 'command'"),
        ("{type: cli, name: x}", "a tool of type cli needs a 'name' and a 'command'"),
        ("{type: mcp, comand: x}", "unknown key 'comand'; did you mean 'command'?"),
        ("{type: mcp, command: x, url: y}", "the key 'url' has no effect here; remove it"),
        ("mcp", "should be a mapping with a type"),
    ],
)
def test_a_wrong_tool_is_an_error_with_its_line(tool: str, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path, tool)
    with pytest.raises(InvalidFile) as caught:
        load_spec(path)
    assert problem in str(caught.value)
    assert f"{path}:3: " in str(caught.value)


@pytest.mark.parametrize(("name", "passed"), [("accounts", True), ("acounts", False)])
def test_validate_knows_the_tools_of_servers(name: str, passed: bool, tmp_path: Path) -> None:
    path = write(
        tmp_path, STDIO, SPEC.replace("tool: accounts, save_as: now", f"tool: {name}, save_as: now")
    )
    result = CliRunner().invoke(main, ["validate", str(path)])
    assert (result.exit_code == 0) is passed, result.output


FUNCTIONS = """
import os
import time

print("a module that prints")

def add(first: int, second: int = 2) -> int:
    \"\"\"Add two numbers.\"\"\"
    print("a function that prints")
    return first + second

async def read(name: str) -> str:
    return os.environ[name]

def wait() -> None:
    time.sleep(30)

def positional(first, /):
    pass
"""
ADDED = """\
test: {{name: Sums}}
tools:
  - {tool}
steps:
  - {{tool: plus, args: {{first: 1}}, save_as: sum}}
  - {{tool: assert_equals, args: {{actual: "${{sum}}", expected: 3}}}}
verdict: {{pass_if: it holds, fail_if: it does not}}
"""
ADD = "{type: function, name: plus, function: 'sub/sums.py:add'}"


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "sums.py").write_text(FUNCTIONS)
    return tmp_path


def list_offered(path: Path, tool: str) -> list[ServerTool]:
    servers = create_servers(load_spec(write(path, tool)), path / "bank.yaml")
    return get_server_pool().tools(servers)


def test_steps_call_a_python_function_by_its_type_hints(functions: Path) -> None:
    path = write(functions, ADD, ADDED)
    verdict = run_llm_test(load_spec(path), path, driver=DryRun())
    assert verdict.verdict == "PASS", verdict
    path = write(functions, ADD, ADDED.replace("first: 1", "first: one"))
    verdict = run_llm_test(load_spec(path), path, driver=DryRun())
    assert "arguments are invalid" in verdict.reason


def test_a_python_function_is_offered_by_its_name_with_its_docstring(functions: Path) -> None:
    (tool,) = list_offered(functions, "{type: function, function: 'sub.sums:add', timeout: 7}")
    assert (tool.name, tool.description, tool.timeout) == ("add", "Add two numbers.", 7)
    assert tool.input_schema["required"] == ["first"]
    assert set(tool.input_schema["properties"]) == {"first", "second"}
    (tool,) = list_offered(
        functions, "{type: function, function: 'sub/sums.py:read', env: {PLACE: here}}"
    )
    assert tool.call({"name": "PLACE"}).text == "here"
    (tool,) = list_offered(functions, "{type: function, function: 'sub/sums.py:wait', timeout: 1}")
    assert tool.call({}).is_error


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("sub/sums.py:ad", "has no function 'ad'"),
        ("sub/sums.py:positional", "sub/sums.py:positional cannot be a tool: "),
        ("nowhere:f", "nowhere:f: there is no module 'nowhere'"),
    ],
)
def test_a_python_function_that_cannot_be_a_tool_is_an_error(
    functions: Path, function: str, problem: str
) -> None:
    with pytest.raises(ServerError, match=problem):
        list_offered(functions, f"{{type: function, function: '{function}'}}")
