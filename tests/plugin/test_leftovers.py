"""A test and a run leave their process and the files of the user as they were."""

from __future__ import annotations

# An inner run imports anew what it imports first.
import concurrent.futures.thread  # noqa: F401
import multiprocessing.pool  # noqa: F401
import tempfile
from pathlib import Path

import aiohttp  # noqa: F401
import anthropic  # noqa: F401
import llm.default_plugins.openai_models  # noqa: F401
import pytest
import requests  # noqa: F401

import llm_mock.plugin.misspelt_names
import llm_mock.plugin.misspelt_options
import llm_mock.suites.target_client  # noqa: F401
from llm_mock.agents.pool import get_server_pool
from llm_mock.support.redaction import redact
from tests.plugin.files import write
from tests.plugin.test_suites import ROLE, SUITE
from tests.process_state import (
    LeftoverPlugin,
    StateWatch,
    assert_nothing_left,
    note_exit_functions,
)
from tests.provider_server import KEY, ProviderServer, served

pytestmark = pytest.mark.own_process
RAW_SERVER = Path(__file__).parents[1] / "agents" / "raw_server.py"
INI = """
    [pytest]
    llm_mock_strict = warn
    llm_mock_hosts = HOST
    llm_mock_suites = suites/*.yaml = role.yaml
    llm_mock_passthrough = own-model
    asyncio_mode = auto
    markers = benchmark
"""
CONFTEST = """
    import llm, llm.plugins
    import pytest

    class Own(llm.Model):
        model_id = "own-model"
        def execute(self, prompt, stream, response, conversation):
            yield "for real"

    class Plugin:
        @llm.hookimpl
        def register_models(self, register):
            register(Own())

    @pytest.fixture
    def own_model():
        llm.plugins.load_plugins()
        llm.plugins.pm.register(Plugin(), name="own")
        yield
        llm.plugins.pm.unregister(name="own")
"""
SPEC = """
    test: {name: The numbers agree, timeout: 60}
    steps:
      - name: Compare
        tool: compare_values
        args: {value1: 1, value2: 1}
    verdict: {pass_if: Both numbers are equal, fail_if: They differ}
"""
TESTS = """
    import asyncio, json, os, subprocess, sys, threading, urllib.request
    from concurrent.futures import ThreadPoolExecutor

    import aiohttp, anthropic, httpx, llm, openai, pytest, requests
    from llm.models import ToolCall
    from llm_mock import Latency, Reply
    from llm_mock.agents import Agent, CLIServer, MCPServer

    HELLO = [{"role": "user", "content": "Hello"}]
    QUESTION = {"model": "m", "messages": HELLO}
    SCOPES = {"echo": "session", "die": "test"}
    CHAT = "https://api.openai.com/v1/chat/completions"

    def ask(**arguments):
        with openai.OpenAI(max_retries=0, **arguments) as client:
            return client.chat.completions.create(**QUESTION).choices[0].message.content

    def test_plain(mock_llm_responses):
        mock_llm_responses.set("m", "Hi")
        assert llm.get_model("m").prompt("Hello").text() == "Hi"

    def test_settings(mock_llm_responses):
        mock_llm_responses.set_latency("m", Latency(first_chunk=3))
        mock_llm_responses.set_price("m", input=1, output=1)
        mock_llm_responses.set_unknown("error")
        mock_llm_responses.add("m", ValueError("no"))
        with pytest.raises(ValueError):
            llm.get_model("m").prompt("Hello").text()

    def test_debug(debug_llm):
        assert llm.get_model("m").prompt("Hello").text()

    def test_llm_stream_and_conversation():
        conversation = llm.get_model("m").conversation()
        assert [*conversation.prompt("Hello"), *conversation.prompt("More")]

    async def test_llm_async():
        assert await llm.get_async_model("m").prompt("Hello").text()

    def test_unread_response():
        llm.get_model("m").prompt("never read")

    def test_sdk():
        assert ask()

    def test_sdk_stream():
        with anthropic.Anthropic() as client:
            with client.messages.stream(model="m", max_tokens=9, messages=HELLO) as events:
                assert list(events)

    def test_sdk_stream_left_early():
        with openai.OpenAI() as client:
            for chunk in client.chat.completions.create(**QUESTION, stream=True):
                break

    async def test_sdk_async():
        async with openai.AsyncOpenAI() as client:
            assert await client.chat.completions.create(**QUESTION)

    def test_sdk_cancelled(mock_llm_responses):
        mock_llm_responses.set_latency("m", Latency(first_chunk=60))
        async def wait():
            async with openai.AsyncOpenAI() as client:
                await client.chat.completions.create(**QUESTION, timeout=1)
        with pytest.raises(openai.APITimeoutError):
            asyncio.run(wait())

    async def test_aiohttp():
        async with aiohttp.ClientSession() as session, session.post(CHAT, json=QUESTION) as answer:
            assert (await answer.json())["choices"]

    def test_urllib3_stream():
        with requests.post(CHAT, json={**QUESTION, "stream": True}, stream=True) as response:
            assert list(response.iter_lines())

    def test_embedding(mock_llm_responses):
        assert llm.get_embedding_model("e").embed("Hello")
        with openai.OpenAI() as client:
            assert client.embeddings.create(model="e", input="Hello").data

    def test_passthrough(own_model):
        assert llm.get_model("own-model").prompt("Hello").text() == "for real"

    @pytest.mark.llm_mock_cassette(record="all")
    def test_recorded():
        assert ask(base_url="URL/v1", api_key="KEY")

    @pytest.mark.llm_mock_cassette
    def test_replayed():
        assert ask(base_url="URL/v1", api_key="KEY")

    @pytest.mark.llm_mock_cassette
    def test_not_recorded(own_model):
        assert llm.get_model("own-model").prompt("not recorded").text()

    def test_served(llm_mock_server):
        body = json.dumps(QUESTION).encode()
        url = llm_mock_server.openai_url + "/chat/completions"
        with urllib.request.urlopen(url, data=body) as answer:
            assert json.load(answer)["choices"]

    def test_subprocess(mock_llm_responses):
        mock_llm_responses.set("m", "Hi")
        code = "import httpx, sys; httpx.post(sys.argv[1], content=sys.argv[2])"
        subprocess.check_call([sys.executable, "-c", code, CHAT, json.dumps(QUESTION)])
        assert mock_llm_responses.calls

    def test_fork(mock_llm_responses):
        child = os.fork()
        if not child:
            llm.get_model("m").prompt("from a fork")
            os._exit(0)
        os.waitpid(child, 0)
        assert len(mock_llm_responses.calls) == 1

    def test_threads():
        with ThreadPoolExecutor(2) as pool:
            assert pool.submit(ask).result()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    def test_agent_with_a_program(mock_llm_responses, aitest_run_sync):
        mock_llm_responses.add("m", Reply(tool_calls=[ToolCall("echo_execute", {"args": "hello"})]))
        mock_llm_responses.add("m", "Done")
        agent = Agent("m", cli_servers=[CLIServer("echo", "echo")])
        assert aitest_run_sync(agent, "Say hello").final_response == "Done"

    @pytest.mark.parametrize("tool", ["echo", "die"])
    async def test_agent_with_mcp(mock_llm_responses, aitest_run, tool):
        arguments = {"text": "hello"} if tool == "echo" else {}
        mock_llm_responses.add("m", Reply(tool_calls=[ToolCall(f"{tool}", arguments)]))
        mock_llm_responses.add("m", "Done")
        server = MCPServer([sys.executable, "RAW_SERVER", "leftovers"], scope=SCOPES[tool])
        result = await aitest_run(Agent("m", mcp_servers=[server]), "Say hello")
        assert result.final_response == "Done"

    @pytest.mark.llm_mock_misbehaviour("truncated-stream", "rate-limit")
    def test_misbehaving():
        try:
            assert llm.get_model("m").prompt("Hello").text()
        except Exception:
            pass

    @pytest.mark.llm_mock_repeat(2)
    def test_repeated():
        assert llm.get_model("m").prompt("Hello").text()

    @pytest.mark.llm_mock_budget(tokens=10_000)
    @pytest.mark.llm_mock_strict("warn")
    def test_watched():
        assert ask()

    def test_failing(mock_llm_responses):
        mock_llm_responses.add("m", "never asked for")

    @pytest.mark.llm_mock_strict
    def test_refused():
        ask()

    def test_raising():
        with openai.OpenAI() as client:
            stream = client.chat.completions.create(**QUESTION, stream=True)
            raise ValueError(next(stream))

    @pytest.fixture
    def broken_at_first(mock_llm_responses):
        llm.get_model("m").prompt("Hello").text()
        raise ValueError

    @pytest.fixture
    def broken_at_last(llm_mock_cassette):
        yield
        raise ValueError

    def test_error_at_first(broken_at_first): ...

    def test_error_at_last(broken_at_last): ...

    def test_skipped(mock_llm_responses):
        pytest.skip("not here")

    @pytest.mark.xfail
    def test_expected_to_fail(mock_llm_responses):
        mock_llm_responses.add("m", "never asked for")

    @pytest.mark.llm_mock_strict("nonsense")
    def test_invalid_marker(): ...

    def test_last(): ...
"""


@pytest.fixture
def user(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with all that a user has: a home, an `llm` folder, temporary files."""
    folder = pytester.mkdir("user")
    for name, variable in {"home": "HOME", "llm": "LLM_USER_PATH", "tmp": "TMPDIR"}.items():
        (folder / name).mkdir()
        monkeypatch.setenv(variable, str(folder / name))
    (folder / "llm" / "keys.json").write_text('{"openai": "sk-of-the-user"}')
    monkeypatch.setattr(tempfile, "tempdir", None)
    redact("")  # which collects the secrets of the process, once
    get_server_pool().close()  # which the end of a run closes, too
    return folder


def test_each_kind_of_test_leaves_nothing_behind(
    pytester: pytest.Pytester, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    note_exit_functions(monkeypatch)
    watch = StateWatch(user)
    with served(ProviderServer()) as server:
        write_project(pytester, server)
        outcomes = run_twice(pytester, "--llm", "--llm-mock-dry-run", "--llm-mock-record=once")
    assert outcomes == {"passed": 64, "failed": 8, "errors": 6, "skipped": 4, "xfailed": 2}
    assert_nothing_left(watch.take_changes())


OTHER_SETTINGS = """
    [pytest]
    llm_mock_http = error
    llm_mock_hosts = example.com
    llm_mock_passthrough = *
    llm_mock_processes = false
    llm_mock_strict = error
"""
LIVE = """
    import os, sys
    import llm, pytest

    IN_WORKER = "PYTEST_XDIST_WORKER" in os.environ

    @pytest.mark.llm_live
    def test_live():
        assert os.environ["PFLOW_TESTING"] == "0"
        assert os.environ["LLM_USER_PATH"].endswith("/user/llm")
        assert llm.get_key(alias="openai") == "sk-of-the-user"

    @pytest.mark.llm_live
    def test_live_failing():
        raise ValueError

    def test_mocked():
        assert os.environ["PFLOW_TESTING"] == "1"
        assert llm.get_key(alias="openai") is None
"""


def test_a_run_with_other_settings_restores_those_before(
    pytester: pytest.Pytester, user: Path
) -> None:
    pytester.makeini(OTHER_SETTINGS)
    write(pytester, "test_live.py", LIVE)
    # One after the other, because this process takes as long to start as a run.
    for workers, runs in ((), 2), (("-n1",), 1):
        watch = StateWatch(user)
        outcomes = run_twice(pytester, "--llm-mock-live", *workers)
        assert outcomes == {"passed": 2 * runs, "failed": runs}, workers
        assert_nothing_left(watch.take_changes())


def run_twice(pytester: pytest.Pytester, *options: str) -> dict[str, int]:
    """Return the outcomes of all tests; the second time each must leave nothing behind."""
    plugin = LeftoverPlugin(pytester.path)
    result = pytester.runpytest_inprocess(*options, plugins=[plugin])
    assert_nothing_left(plugin.leftovers)
    return result.parseoutcomes()


def write_project(pytester: pytest.Pytester, server: ProviderServer) -> None:
    """Write the files of a project with a test of each kind."""
    tests = TESTS.replace("URL", server.url).replace("KEY", KEY)
    pytester.makeini(INI.replace("HOST", server.host))
    write(pytester, "conftest.py", CONFTEST)
    write(pytester, "role.yaml", ROLE)
    write(pytester, "suites/greetings.yaml", SUITE)
    write(pytester, "test_spec.yaml", SPEC)
    write(pytester, "test_all.py", tests.replace("RAW_SERVER", str(RAW_SERVER)))
