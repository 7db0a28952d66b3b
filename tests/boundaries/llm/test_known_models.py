"""The mock of a model that an installed plugin registers is that model, in all but its answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import llm
import pytest
from click.testing import CliRunner
from llm.cli import cli

from llm_mock import LLMMock, MockLLMModel, ResponseConfigurator, create_mock_get_model
from llm_mock.boundaries.llm.chains import accepts_attachment
from llm_mock.cassettes import Cassette

TRAITS = (
    *(
        "supports_schema",
        "supports_tools",
        "supports_conversation",
        "attachment_types",
        "can_stream",
    ),
    *("needs_key", "key_env_var", "Options", "vision", "api_base", "headers"),
    *(("supported_server_side_tools",) if hasattr(llm, "ServerSideTool") else ()),
)
KINDS = ("Model", "KeyModel", "AsyncModel", "AsyncKeyModel")
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def lookup(word: str) -> str:
    """Look a word up."""
    return word


def registered(kind: str = "model") -> list[Any]:
    """Return what the plugins register, as production has it."""
    entries = llm.get_models_with_aliases.__wrapped__()  # type: ignore[attr-defined]
    return [getattr(entry, kind) for entry in entries if getattr(entry, kind)]


def real(model_id: str) -> Any:
    return next(model for model in registered() if model.model_id == model_id)


def audio() -> llm.Attachment:
    return llm.Attachment(type="audio/wav", content=b"...")


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "an option that there is not": ("gpt-4o-mini", {"temprature": 0.5}),
    "an option of the wrong type": ("gpt-4o-mini", {"temperature": "hot"}),
    "an option out of range": ("gpt-4o-mini", {"temperature": 7}),
    "the option of another model": ("gpt-3.5-turbo", {"reasoning_effort": "low"}),
    "a type of attachment": ("gpt-4o-mini", {"attachments": [audio()]}),
    "any attachment": ("gpt-4", {"attachments": [audio()]}),
    "tools": ("gpt-3.5-turbo", {"tools": [lookup]}),
    "a schema": ("gpt-3.5-turbo", {"schema": SCHEMA}),
}
if hasattr(llm, "ServerSideTool"):
    REFUSED["a tool of the provider"] = (
        "gpt-4o-mini",
        {"tools": [llm.ServerSideTool({"type": "web_search"})]},
    )


@pytest.mark.parametrize(("model_id", "arguments"), REFUSED.values(), ids=REFUSED.keys())
def test_a_known_model_refuses_what_the_real_one_refuses_with_its_error(
    model_id: str, arguments: dict[str, Any], mock_llm_calls: LLMMock
) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 (whatever it is)
        real(model_id).prompt("Hi", **arguments)
    for model in (llm.get_model(model_id), llm.get_async_model(model_id)):
        with pytest.raises(type(expected.value)) as raised:
            model.prompt("Hi", **arguments)
        assert str(raised.value) == str(expected.value)
    assert mock_llm_calls.calls == []


@pytest.mark.parametrize(
    "arguments", [arguments for _, arguments in REFUSED.values()], ids=REFUSED.keys()
)
@pytest.mark.parametrize(
    "get_model",
    [
        lambda: llm.get_model("nobody/knows"),
        lambda: MockLLMModel("gpt-4"),
        lambda: create_mock_get_model()("gpt-4"),
    ],
)
def test_other_mocks_accept_it(get_model: Any, arguments: dict[str, Any]) -> None:
    assert get_model().prompt("Hi", **arguments).json() == {"success": True}


def test_a_mock_that_is_handed_to_the_code_refuses_it_when_it_is_asked_to() -> None:
    get_model = create_mock_get_model()
    get_model.autospec()
    with pytest.raises(ValueError, match="does not support tools"):
        get_model("gpt-3.5-turbo").prompt("Hi", tools=[lookup])


def test_models_of_before_are_replaced_when_it_is_asked_to() -> None:
    parent = LLMMock()
    mock = LLMMock(parent=parent)
    for each in (parent, mock):
        each.get_model("gpt-3.5-turbo").prompt("Hi", tools=[lookup]).text()
        each.get_async_model("gpt-3.5-turbo")
    mock.autospec()
    for each in (parent, mock):
        assert dict(each.models) == {}
        assert len(each.calls) == 1
    with pytest.raises(ValueError, match="does not support tools"):
        mock.get_model("gpt-3.5-turbo").prompt("Hi", tools=[lookup])
    assert [*mock.models] == ["gpt-3.5-turbo"]


ASKING = """
import subprocess, sys, threading
import pytest

ASK = '''
import llm, sys
for name in sys.argv[1:]:
    try:
        llm.get_model(name).prompt("Hi", max_token=5)
    except ValueError as error:
        assert "max_token" in str(error)
        print("refused", name)
'''

def ask(name="gpt-4o-mini"):
    import llm
    llm.get_model(name).prompt("Hi", max_token=5)

def test_first():
    with pytest.raises(ValueError, match="max_token"):
        ask()
    ask("nobody/knows")

def test_an_alias_that_its_plugin_computes():
    with pytest.raises(ValueError, match="max_token"):
        ask("4.1")

def test_threads():
    refused = []
    def asked():
        try:
            ask()
        except ValueError:
            refused.append(True)
    threads = [threading.Thread(target=asked) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len(refused) == 8

@pytest.mark.parametrize("kind", ["inherited", "environment"])
def test_processes(kind, mock_llm_calls):
    env = mock_llm_calls.environment() if kind == "environment" else None
    code = [sys.executable, "-c", ASK, "nobody/knows", "gpt-4o-mini"]
    done = subprocess.run(code, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused gpt-4o-mini\\n"), done.stderr
"""
ALIAS = "test_it.py::test_an_alias_that_its_plugin_computes"


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ([], 5),
        (["-n", "1", ALIAS, "test_it.py::test_first"], 2),
        (["test_it.py::test_threads"], 1),
    ],
    ids=["one process", "a worker", "threads alone"],
)
def test_what_is_refused_depends_on_nothing_else(
    arguments: list[str], passed: int, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(test_it=ASKING)
    result = pytester.runpytest_subprocess(*arguments)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == passed


def test_autospec_can_be_turned_off(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_autospec = false")
    pytester.makepyfile(
        """
        import llm

        def test_it():
            assert llm.get_model("gpt-4").prompt("Hi", nonsense=1).json() == {"success": True}
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize("kind", ["model", "async_model"])
def test_every_known_model_is_what_the_real_one_is(kind: str, mock_llm_calls: LLMMock) -> None:
    get_model, get_models = getattr(llm, f"get_{kind}"), getattr(llm, f"get_{kind}s")
    assert len(get_models()) == len(registered(kind)) > 10
    for listed, actual in zip(get_models(), registered(kind), strict=True):
        for mock in (listed, get_model(actual.model_id)):
            assert (str(mock), repr(mock), mock.model_id) == (
                str(actual),
                repr(actual),
                actual.model_id,
            )
            assert [isinstance(mock, getattr(llm, each)) for each in KINDS] == [
                isinstance(actual, getattr(llm, each)) for each in KINDS
            ]
            for trait in TRAITS:
                value = getattr(actual, trait, "missing")
                assert getattr(mock, trait, "missing") == value, (mock, trait)


def test_a_known_model_is_a_mock(mock_llm_calls: LLMMock) -> None:
    model = llm.get_model("gpt-4o-mini")
    assert isinstance(model, MockLLMModel)
    assert mock_llm_calls.models == {"gpt-4o-mini": model}
    assert not isinstance(real("gpt-4o-mini"), MockLLMModel)


def test_no_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = llm.get_model("gpt-4o-mini")
    assert model.needs_key == "openai"
    assert model.get_key() == "no-key-needed"
    assert model.prompt("Hi").json() == {"success": True}


def test_the_key_is_found_where_llm_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llm.get_model("gpt-4o-mini")
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    assert model.get_key() == "of-the-environment"
    assert model.get_key("passed") == "passed"
    model.key = "assigned"
    assert model.get_key() == "assigned"
    assert llm.get_model("nobody/knows").get_key() is None


@pytest.mark.parametrize("how", ["fixture", "llm", "command line"])
def test_an_async_twin_that_there_is_not_is_unknown(how: str, mock_llm_calls: LLMMock) -> None:
    message = "Unknown async model (sync model exists): gpt-3.5-turbo-instruct"
    if how == "command line":
        arguments = ["prompt", "Hi", "--async", "-m", "gpt-3.5-turbo-instruct"]
        assert message in CliRunner().invoke(cli, arguments).output
        return
    with pytest.raises(llm.UnknownModelError) as raised:
        (llm if how == "llm" else mock_llm_calls).get_async_model("gpt-3.5-turbo-instruct")
    assert message in str(raised.value)
    assert llm.get_model("gpt-3.5-turbo-instruct").prompt("Hi").text()


def test_options_of_the_command_line_arrive_as_the_model_has_them(mock_llm_calls: LLMMock) -> None:
    result = CliRunner().invoke(
        cli, ["prompt", "Hi", "-m", "4o-mini", "-o", "temperature", "0.5", "-o", "max_tokens", "7"]
    )
    assert result.exit_code == 0, result.output
    [call] = mock_llm_calls.calls
    assert (call["kwargs"]["temperature"], call["kwargs"]["max_tokens"]) == (0.5, 7)
    refused = CliRunner().invoke(cli, ["prompt", "Hi", "-m", "4o-mini", "-o", "temperature", "hot"])
    assert refused.exit_code == 1
    assert "valid number" in refused.output


@pytest.mark.skipif(not hasattr(llm, "ServerSideTool"), reason="for an llm with server-side tools")
class TestServerSideTools:
    def test_a_model_that_has_them_takes_them(self, mock_llm_calls: LLMMock) -> None:
        result = CliRunner().invoke(cli, ["prompt", "Hi", "-m", "gpt-5", "-T", "WebSearch"])
        assert result.exit_code == 0, result.output
        assert mock_llm_calls.calls[0]["kwargs"]["tools"]

    def test_a_model_that_has_none_is_told_so(self) -> None:
        result = CliRunner().invoke(cli, ["prompt", "Hi", "-m", "gpt-4o-mini", "-T", "WebSearch"])
        assert "not found" in result.output

    @pytest.mark.parametrize("name", ["gpt-5", "gpt-4o-mini", "nobody/knows"])
    def test_the_list_of_tools_shows_tools_only(self, name: str) -> None:
        result = CliRunner().invoke(cli, ["tools", "list", "-m", name])
        assert result.exit_code == 0, result.output
        assert "object" not in result.output
        assert ("WebSearch" in result.output) == (name != "gpt-4o-mini")


def test_a_name_that_would_run_for_real_is_unknown_where_no_plugin_has_it(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nllm_mock_passthrough = local/*")
    pytester.makepyfile(
        """
        import llm, pytest

        @pytest.mark.parametrize("get_model", [llm.get_model, llm.get_async_model, llm.get_embedding_model])
        def test_it(get_model):
            with pytest.raises(llm.UnknownModelError, match="Unknown model: local/none"):
                get_model("local/none")
            assert get_model("other/none").model_id == "other/none"
        """  # noqa: E501
    )
    pytester.runpytest().assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("model", "kind", "is_accepted"),
    [
        ("gpt-4o", "image/png", True),
        ("gpt-4o", "text/html", False),
        ("gpt-4o", None, False),
        ("gpt-3.5-turbo", "image/png", False),
        ("nobody/knows", "image/png", False),
    ],
)
def test_a_call_that_may_be_recorded_has_only_attachments_that_the_real_model_takes(
    model: str, kind: str | None, is_accepted: bool, tmp_path: Path
) -> None:
    get_model = create_mock_get_model()
    for mocked in (get_model(model), get_model.get_async_model(model)):
        get_model.cassette = None
        assert accepts_attachment(mocked, "image/png")
        get_model.cassette = Cassette(tmp_path / "cassette.yaml", "once")
        assert accepts_attachment(mocked, kind) is is_accepted


def test_a_known_async_model_answers(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("gpt-4o-mini", "Hello")

    async def ask() -> str:
        return await llm.get_async_model("gpt-4o-mini").prompt("Hi", temperature=0.5).text()

    assert asyncio.run(ask()) == "Hello"
