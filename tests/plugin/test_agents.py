"""Agents in a run of tests: the fixtures, the message of a failure, the comparison at the end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.processes import wait_until_gone

RAW_SERVER = Path(__file__).parents[1] / "agents" / "raw_server.py"
ASYNC = "-oasyncio_mode=auto"
AGENTS = """
    import pytest
    from llm.models import ToolCall
    from llm_mock import Reply
    from llm_mock.agents import Agent, CLIServer, aitest_run, aitest_run_sync

    ECHO = CLIServer("echo", "echo")
    AGENT = Agent("m", cli_servers=[ECHO], max_turns=2)
    HELLO = Reply("I say it.", tool_calls=[ToolCall("echo_execute", {"args": "hello"})])
"""


def with_agents(tests: str) -> str:
    import textwrap

    return textwrap.dedent(AGENTS) + textwrap.dedent(tests)


def test_the_fixtures_run_an_agent(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        with_agents(
            """
            async def test_async(aitest_run, mock_llm_responses):
                mock_llm_responses.add("m", HELLO)
                mock_llm_responses.add("m", "Done")
                result = await aitest_run(AGENT, "Say hello")
                assert result.tool_was_called("echo_execute", args="hello")

            def test_sync(aitest_run_sync, mock_llm_responses):
                mock_llm_responses.add("m", HELLO)
                mock_llm_responses.add("m", "Done")
                assert aitest_run_sync(AGENT, "Say hello").final_response == "Done"
            """
        )
    )
    pytester.runpytest(ASYNC, "-Werror").assert_outcomes(passed=2)


def test_a_test_that_forgets_to_await_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        with_agents(
            """
            def test_unawaited(aitest_run):
                assert aitest_run(AGENT, "Say hello")
            """
        )
    )
    result = pytester.runpytest("-Werror")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E*LLMMockError: aitest_run is async, but this test is not*fixture aitest_run_sync*"]
    )


@pytest.mark.parametrize(
    "agent",
    ["Agent('m', mcp_servers=[MCPServer('python nowhere.py')])", "Agent('m')"],
    ids=["server", "tool"],
)
@pytest.mark.parametrize(
    ("definition", "run"),
    [
        ("def test_it(aitest_run_sync, mock_llm_responses):", "aitest_run_sync"),
        ("async def test_it(aitest_run, mock_llm_responses):", "await aitest_run"),
    ],
    ids=["sync", "async"],
)
def test_the_mistake_of_a_run_is_shown_at_the_line_of_the_test(
    pytester: pytest.Pytester, agent: str, definition: str, run: str
) -> None:
    pytester.makepyfile(
        test_it=f"""
        import pytest
        from llm_mock import ToolCall
        from llm_mock.agents import Agent, MCPServer

        @pytest.mark.asyncio
        {definition}
            mock_llm_responses.script("m", ToolCall("weather", {{}}), "Done")
            {run}({agent}, "Hi")
        """
    )
    result = pytester.runpytest("-W", "ignore::pytest.PytestWarning")
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([r"test_it.py:8: (ServerError|InvalidToolCall)"])
    assert "concurrent" not in result.stdout.str()
    assert "tenacity" not in result.stdout.str()


def test_the_cause_of_an_error_in_a_callback_is_shown(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        from llm_mock import ToolCall
        from llm_mock.agents import Agent, CLIServer
        from llm_mock.errors import LLMMockError

        def log(call):
            try:
                {}["city"]
            except KeyError:
                raise LLMMockError("no city")

        def test_it(aitest_run_sync, mock_llm_responses):
            mock_llm_responses.script("m", ToolCall("git_execute", {"args": "version"}), "Done")
            agent = Agent("m", cli_servers=[CLIServer("git", "git")])
            aitest_run_sync(agent, "Hi", on_tool_call=log)
        """
    )
    result = pytester.runpytest()
    result.stdout.re_match_lines([r"E +KeyError: 'city'", r"E +llm_mock.errors.LLMMockError: no"])


def test_the_line_of_a_tool_of_the_application_is_shown(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import llm
        from llm_mock import ToolCall
        from llm_mock.agents import Agent, CLIServer

        def log(call):
            llm.get_model("gpt-4o").prompt("Hi").text()

        def test_it(aitest_run_sync, mock_llm_responses):
            mock_llm_responses.script("m", ToolCall("git_execute", {"args": "version"}), "Done")
            agent = Agent("m", cli_servers=[CLIServer("git", "git")])
            aitest_run_sync(agent, "Hi", on_tool_call=log)
        """
    )
    result = pytester.runpytest("-o", "llm_mock_strict=error")
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([r"test_it.py:6: UnexpectedCall"])


def test_a_failure_shows_the_transcripts_of_its_test_only(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        with_agents(
            """
            def test_other(mock_llm_responses):
                mock_llm_responses.set("m", "not shown")
                assert aitest_run_sync(AGENT, "Something else")

            def test_failing(mock_llm_responses):
                mock_llm_responses.set("m", HELLO)
                result = aitest_run_sync(AGENT, "Say hello")
                assert result
            """
        )
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            (
                "E*assert <AgentResult: failed: max_turns=2 was reached, and the model still "
                "wanted to call echo_execute*"
            ),
            "*- Agent runs -*",
            "Agent m: failed after 2 turns, 1 tool call, * tokens, *",
            "  max_turns=2 was reached, and the model still wanted to call echo_execute",
            "  user:",
            "    Say hello",
            "  turn 1:",
            "    I say it.",
            '    echo_execute(args="hello") → hello  (*)',
            "  turn 2:",
            "    I say it.",
        ]
    )
    result.stdout.no_fnmatch_line("*not shown*")


def test_a_failed_assertion_says_what_was_called(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        with_agents(
            """
            def test_failing(mock_llm_responses):
                mock_llm_responses.add("m", HELLO)
                mock_llm_responses.add("m", "Done")
                result = aitest_run_sync(AGENT, "Say hello")
                assert result.tool_was_called("echo_execute", args="goodbye")
            """
        )
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(
        [
            (
                'E*assert <False: no call to echo_execute(args="goodbye"); other calls: '
                'echo_execute(args="hello")>'
            )
        ]
    )


@pytest.mark.parametrize("phase", ["fixture", "teardown", "unexpected"])
def test_runs_outside_the_body_of_a_test_are_shown_too(
    phase: str, pytester: pytest.Pytester
) -> None:
    bodies = {
        "fixture": ("aitest_run_sync(AGENT, 'In the fixture'); raise ValueError; yield", ""),
        "teardown": ("aitest_run_sync(AGENT, 'In the fixture'); yield", "assert 0"),
        "unexpected": ("yield", "aitest_run_sync(AGENT, 'In the fixture')"),
    }
    fixture, test = bodies[phase]
    pytester.makepyfile(
        with_agents(
            f"""
            @pytest.fixture
            def prepared():
                {fixture}

            @pytest.mark.llm_mock_strict("{"error" if phase == "unexpected" else "warn"}")
            def test_it(prepared):
                {test or "..."}
            """
        )
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(["*- Agent runs -*", "Agent m: *", "*In the fixture*"])


def test_a_hostile_tool_cannot_write_to_the_terminal(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        with_agents(
            r"""
            def test_failing(mock_llm_responses):
                evil = "\x1b[2J\x1b]0;owned\x07\n====== 1 passed in 0.01s ======"
                mock_llm_responses.add("m", Reply(tool_calls=[ToolCall("printf_execute", {"args": repr(evil)})]))
                mock_llm_responses.add("m", evil)
                aitest_run_sync(Agent("m", cli_servers=[CLIServer("printf", "printf")]), evil)
                assert 0
            """  # noqa: E501
        )
    )
    result = pytester.runpytest()
    section = result.outlines[
        result.outlines.index(next(line for line in result.outlines if "Agent runs" in line)) :
    ]
    assert not any(
        "\x1b" in line or "\x07" in line or line.startswith("====== 1 passed") for line in section
    )


def test_agents_as_parameters_have_readable_ids(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        with_agents(
            """
            from llm_mock.agents import Provider, Skill

            AGENTS = [AGENT, Agent("big", skill=Skill("rain", "wet")), Agent("big", name="the best"), Agent("m")]

            @pytest.mark.parametrize("agent", AGENTS)
            def test_agents(agent): ...

            @pytest.mark.parametrize("provider", [Provider("gpt"), 3, Provider, None])
            def test_others(provider): ...
            """  # noqa: E501
        )
    )
    result = pytester.runpytest("--collect-only", "-q")
    assert [line.split("::")[1] for line in result.outlines if "::" in line] == [
        *("test_agents[m0]", "test_agents[big+rain]", "test_agents[the best]", "test_agents[m1]"),
        *("test_others[gpt]", "test_others[3]", "test_others[Provider]", "test_others[None]"),
    ]


SCOPES = """
    import json
    import sys
    from llm_mock.agents import MCPServer
    from tests.agents.processes import processes_with

    def agent(**fields):
        command = [sys.executable, "-I", "-S", SERVER, MARKER]
        return Agent("m", mcp_servers=[MCPServer(command, tools=["about"], **fields)])

    pids = {"session": set(), "test": set()}

    @pytest.mark.parametrize("scope", pids)
    @pytest.mark.parametrize("number", range(2))
    def test_twice(scope, number, aitest_run_sync, mock_llm_responses):
        for _ in range(2):
            mock_llm_responses.call_every_tool("m")
            (call,) = aitest_run_sync(agent(scope=scope), "Call it").all_tool_calls
            pids[scope].add(json.loads(call.result)["pid"])
        assert len(pids[scope]) == (number + 1 if scope == "test" else 1)

    @pytest.mark.parametrize("number", range(6))
    def test_an_environment_of_its_own(number, aitest_run_sync):
        assert aitest_run_sync(agent(env={"NUMBER": str(number)}), "Say hello")
        assert len(processes_with(MARKER)) <= 2 * (1 + 4)  # a process of a server, and its supervisor
"""  # noqa: E501


def test_a_server_lives_for_its_scope_and_few_live_unused(pytester: pytest.Pytester) -> None:
    marker = f"marker-of-{pytester.path}"
    pytester.makepyfile(f"SERVER, MARKER = {str(RAW_SERVER)!r}, {marker!r}\n" + with_agents(SCOPES))
    pytester.runpytest("-p", "no:randomly").assert_outcomes(passed=10)
    wait_until_gone(marker)


COMPARED = """
    CHEAP, GOOD = (Agent(name, cli_servers=[ECHO]) for name in ("cheap", "good"))

    @pytest.mark.parametrize("agent", [CHEAP, GOOD])
    @pytest.mark.parametrize("task", ["hello", "goodbye"])
    def test_it_says_what_it_should(agent, task, mock_llm_responses):
        usage = {"input_tokens": 100, "output_tokens": 10}
        mock_llm_responses.set_price("good", 1, 10)
        call = ToolCall("echo_execute", {"args": "hello" if agent is CHEAP else task})
        mock_llm_responses.add("*", Reply(tool_calls=[call], usage=usage))
        mock_llm_responses.add("*", Reply("Done", usage=usage))
        result = aitest_run_sync(agent, f"Say {task}")
        assert result.tool_was_called("echo_execute", args=task)

    def test_skipped(mock_llm_responses):
        assert aitest_run_sync(GOOD, "Hello")
        pytest.skip("no opinion")
"""


@pytest.mark.parametrize("arguments", [(), ("-n2",), ("-v",)])
def test_the_agents_of_a_run_are_compared_and_in_the_report(
    arguments: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(with_agents(COMPARED))
    result = pytester.runpytest("--llm-mock-report=report.json", *arguments)
    result.assert_outcomes(passed=3, failed=1, skipped=1)
    lines = result.outlines
    assert sum("Agents of the run" in line for line in lines) == 1
    table = lines[
        next(number for number, line in enumerate(lines) if "Agents of the run" in line) :
    ][1:4]
    cells = [[cell for cell in line.split("  ") if cell] for line in table]
    assert [cell.strip() for cell in cells[0]] == [
        *("#", "agent", "passed", "rate", "runs", "turns", "tool calls", "tokens", "cost", "time")
    ]
    assert [cell.strip() for cell in cells[1]][:7] == [
        "1",
        "good",
        "2 of 2",
        "100 %",
        "3",
        "5",
        "2",
    ]
    assert [cell.strip() for cell in cells[2]][:9] == [
        "2",
        "cheap",
        "1 of 2",
        "50 %",
        "2",
        "4",
        "2",
        "440",
        "unknown",
    ]
    report = json.loads((pytester.path / "report.json").read_text())
    good, cheap = report["agents"]
    assert good["duration_s"] > 0
    assert (good["agent"], good["tests"], good["passed"], good["runs"]) == ("good", 2, 2, 3)
    assert (cheap["agent"], cheap["tests"], cheap["passed"], cheap["cost_usd"]) == (
        "cheap",
        2,
        1,
        None,
    )
    assert (cheap["turns"], cheap["tool_calls"], cheap["input_tokens"], cheap["output_tokens"]) == (
        4,
        2,
        400,
        40,
    )
    # The agents do not differ in their prompts or skills by themselves.
    assert report["agents_by"] == {}
    result.stdout.no_fnmatch_line("#  model *")


ALIKE = """
    from llm_mock.agents import Provider, Skill

    PLAIN = Agent("m")
    AGENTS = [
        PLAIN,
        Agent("m", system_prompt="Be brief"),
        Agent("m", cli_servers=[ECHO]),
        Agent(Provider("m", temperature=0)),
        Agent("m", name="best"),
        Agent("n", name="best"),
        Agent("m", skill=Skill("rain", "wet")),
        Agent("m", skill=Skill("rain", "dry")),
        Agent("n", cli_servers=[CLIServer("echo", "echo", env={"A": "1"})]),
        Agent("n", cli_servers=[CLIServer("echo", "echo", env={"A": "2"})]),
        Agent("o"),
        Agent("o", max_turns=3),
    ]

    @pytest.mark.parametrize("agent", [*AGENTS, PLAIN])
    def test_it(agent, aitest_run_sync):
        aitest_run_sync(agent, "Hello")
"""


def test_different_agents_of_one_name_are_told_apart(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(with_agents(ALIKE))
    result = pytester.runpytest("-p", "no:randomly", "--llm-mock-report=report.json")
    table = {
        row["agent"]: row["tests"]
        for row in json.loads((pytester.path / "report.json").read_text())["agents"]
    }
    none = "options: none; prompt: none; servers: none"
    assert table == {
        f"m ({none})": 2,
        "m (options: none; prompt: Be brief; servers: none)": 1,
        "m (options: none; prompt: none; servers: echo)": 1,
        "m (options: temperature 0; prompt: none; servers: none)": 1,
        "best (model: m)": 1,
        "best (model: n)": 1,
        "m+rain (skill: rain: wet)": 1,
        "m+rain (skill: rain: dry)": 1,
        "n": 1,
        "n #2": 1,
        "o (max_turns: 10)": 1,
        "o (max_turns: 3)": 1,
    }
    result.stdout.fnmatch_lines(["1  m+rain (skill: rain: dry)  *1 of 1*"])


MATRIX = """
    from llm_mock.agents import Skill

    PROMPTS = ["Be brief " + "and kind " * 20 + number for number in ("one", "two")]
    AGENTS = [
        Agent(model, system_prompt=prompt, skill=skill)
        for model in ("big", "small") for prompt in PROMPTS for skill in (None, Skill("rain", "wet"))
    ]

    @pytest.mark.parametrize("task", ["easy", "hard"])
    @pytest.mark.parametrize("agent", AGENTS)
    def test_it(agent, task, mock_llm_responses):
        mock_llm_responses.set_price("big", 10, 10)
        mock_llm_responses.set_price("small", 1, 1)
        usage = {"input_tokens": 100, "output_tokens": 100}
        mock_llm_responses.set("*", Reply("Done", usage=usage))
        if agent is AGENTS[-1]:
            pytest.skip("too expensive")
        assert aitest_run_sync(agent, task)
        assert task == "easy" or agent.asks.model == "big" or agent.system_prompt is PROMPTS[0]
"""  # noqa: E501


def test_models_prompts_and_skills_are_ranked_each_by_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(with_agents(MATRIX))
    result = pytester.runpytest("-p", "no:randomly", "--llm-mock-report=report.json")
    data = json.loads((pytester.path / "report.json").read_text())

    def ranked(rows: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
        return [(row["rank"], row["agent"], f"{row['passed']} of {row['tests']}") for row in rows]

    assert {part: ranked(rows) for part, rows in data["agents_by"].items()} == {
        "model": [(1, "big", "8 of 8"), (2, "small", "5 of 6")],
        "prompt": [
            (1, "Be brief and kind and kind and kind and…", "8 of 8"),
            (2, "Be brief and kind and kind and kind and… #2", "5 of 6"),
        ],
        "skill": [(1, "rain: wet", "6 of 6"), (2, "none", "7 of 8")],
    }
    ranks = [
        (row["rank"], row["agent"].partition(" ")[0], row["cost_usd"]) for row in data["agents"]
    ]
    assert ranks[0][:2] == (1, "small"), "of those that passed all, the cheapest stands first"
    assert [rank for rank, *_ in ranks] == [1] * 6 + [7]
    result.stdout.fnmatch_lines(
        ["#  agent *", "1  small *", "7  small *", "", "#  model *", "1  big *8 of 8  100 %*"]
    )


def test_a_quiet_run_compares_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(with_agents(COMPARED))
    pytester.runpytest("-q").stdout.no_fnmatch_line("*Agents of the run*")


def test_runs_outside_of_tests_are_not_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        with_agents(
            """
            assert aitest_run_sync(Agent("m"), "At collection")

            def test_it(): ...
            """
        )
    )
    pytester.runpytest().stdout.no_fnmatch_line("*Agents of the run*")


def test_a_run_without_agents_imports_nothing_of_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it():
            assert not [name for name in sys.modules if name.startswith(("llm_mock.agents", "tenacity", "mcp"))]
        """  # noqa: E501
    )
    pytester.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=1)


def test_configuring_an_agent_imports_neither_llm_nor_mcp() -> None:
    code = (
        "import sys; from llm_mock.agents import Agent, CLIServer, MCPServer, Skill;"
        "Agent('m', [MCPServer(['a'])], [CLIServer('a', 'b')]);"
        "print({'llm', 'mcp', 'tenacity', 'anyio'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


REGISTERED = """
        import llm
        from llm.models import ToolCall

        class Plugin:
            @staticmethod
            @llm.hookimpl
            def register_models(register):
                register(Real())

        def pytest_configure(config):
            from llm.plugins import pm
            pm.register(Plugin, "real")

        def pytest_unconfigure(config):
            from llm.plugins import pm
            pm.unregister(name="real")
"""
"""A `conftest.py` that has the model `Real` meanwhile."""


def test_an_agent_is_recorded_and_replayed_by_a_cassette(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        REGISTERED
        + """
        class Real(llm.Model):
            model_id = "real"
            supports_tools = True

            def execute(self, prompt, stream, response, conversation):
                if prompt.tool_results:
                    yield "It said " + prompt.tool_results[0].output
                else:
                    response.add_tool_call(ToolCall("echo_execute", {"args": "hello"}, "call"))
        """
    )
    pytester.makepyfile(
        with_agents(
            """
            @pytest.mark.llm_mock_cassette
            def test_it(aitest_run_sync):
                result = aitest_run_sync(Agent("real", cli_servers=[ECHO]), "Say hello")
                assert result.final_response == "It said hello\\n", result
                assert result.tool_call_count("echo_execute") == 1
            """
        )
    )
    # In a process whose `llm` has not loaded its plugins.
    pytester.runpytest_subprocess("--llm-mock-record=once").assert_outcomes(passed=1)
    (cassette,) = pytester.path.glob("cassettes/*/*.yaml")
    assert "echo_execute" in cassette.read_text()
    pytester.runpytest().assert_outcomes(passed=1)


def test_an_agent_runs_live_where_the_test_is_marked(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        REGISTERED
        + """
        class Real(llm.Model):
            model_id = "real"

            def execute(self, prompt, stream, response, conversation):
                yield "I am real"
        """
    )
    pytester.makepyfile(
        with_agents(
            """
            @pytest.mark.llm_live
            async def test_live(aitest_run):
                assert (await aitest_run(Agent("real"), "Who?")).final_response == "I am real"

            async def test_mocked(aitest_run):
                assert (await aitest_run(Agent("real"), "Who?")).final_response == '{"success": true}'
            """  # noqa: E501
        )
    )
    pytester.runpytest(ASYNC).assert_outcomes(passed=1, skipped=1)
    pytester.runpytest(ASYNC, "--llm-mock-live").assert_outcomes(passed=2)


def test_the_prices_of_a_test_hold_for_its_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        with_agents(
            """
            def test_cost(mock_llm_responses):
                mock_llm_responses.set_price("m", 1, 10)
                mock_llm_responses.set("m", Reply("Done", usage={"input_tokens": 1000, "output_tokens": 100}))
                result = aitest_run_sync(Agent("m"), "Hello")
                assert result.cost < 0.003
                assert result.cost > 0.001
            """  # noqa: E501
        )
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["1  m      1 of 1  100 %     1      1           0   1,100  $0.002  *"]
    )


@pytest.mark.parametrize(
    ("end", "arguments"),
    [
        ("pass", ()),
        ("pytest.exit('enough')", ()),
        ("pass", ("-n1",)),
        ("raise KeyboardInterrupt", ("-n1",)),
    ],
)
def test_no_server_outlives_the_run(
    end: str, arguments: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    marker = f"marker-of-{pytester.path}"
    pytester.makepyfile(
        with_agents(
            f"""
            from llm_mock.agents import MCPServer

            def test_it(mock_llm_responses):
                mock_llm_responses.call_every_tool("*")
                command = [sys.executable, "-I", "-S", {str(RAW_SERVER)!r}, {marker!r}]
                server = MCPServer(command, tools=["echo"])
                assert aitest_run_sync(Agent("m", [server]), "Hello").tool_was_called("echo")
                assert {marker!r} in subprocess.check_output(["ps", "-eo", "args", "-ww"], text=True)
                {end}
            """  # noqa: E501
        ).replace("import pytest\n", "import pytest, subprocess, sys\n", 1)
    )
    if arguments:  # the worker is the process that ends
        result = pytester.runpytest(*arguments, no_reraise_ctrlc=True)
    else:
        result = pytester.runpytest_subprocess()
    assert "AssertionError" not in result.stdout.str()
    assert marker not in subprocess.check_output(["ps", "-eo", "args", "-ww"], text=True)


def test_a_failure_shows_no_secrets(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "only-for-the-tool")
    pytester.makepyfile(
        with_agents(
            """
            def test_it(aitest_run_sync, mock_llm_responses):
                mock_llm_responses.add("m", HELLO)
                mock_llm_responses.add("m", "It is only-for-the-tool")
                assert not aitest_run_sync(AGENT, "Say it")
            """
        )
    )
    result = pytester.runpytest()
    shown = result.stdout.str().split("AssertionError")[1]
    assert shown.count("It is [redacted secret]") == 2  # among the calls, and in the run
    assert "only-for-the-tool" not in shown


def test_a_missing_extra_is_one_clear_failure(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import sys; sys.modules['tenacity'] = None")
    pytester.makepyfile("def test_it(aitest_run_sync): ...")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*Running agents needs tenacity*pip install 'pytest-llm-mock[[]agents[]]'*"]
    )
    result.stdout.no_fnmatch_line("*.py:[0-9]*")
