"""Every way in which an application gets a model leads to the mock."""

from __future__ import annotations

import asyncio
import copy
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import llm
import openai
import pytest
from click.testing import CliRunner
from llm import get_async_model, get_model
from llm.cli import cli, load_conversation

import llm_mock
from llm_mock import LLMMock, MockLLMModel, ResponseConfigurator
from llm_mock.errors import InvalidReply
from tests.conftest import RunPython

BOUND_AT_IMPORT = llm.get_model("gpt-4o-mini")
ASYNC_BOUND_AT_IMPORT = llm.get_async_model("gpt-4o-mini")


class Provider(llm.KeyModel):
    """A provider's model as a plugin would define it; it must never execute."""

    model_id = "gpt-4o-mini"
    needs_key = "provider"
    can_stream = True

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None
    ) -> Iterator[str]:
        raise AssertionError("a real model was executed")


class AsyncProvider(llm.AsyncKeyModel):
    """The asynchronous twin of `Provider`."""

    model_id = "gpt-4o-mini"
    needs_key = "provider"

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None
    ) -> Any:
        raise AssertionError("a real model was executed")
        yield ""


def ask(model: Any) -> str:
    return str(model.prompt("Hello").text())


def ask_async(model: Any) -> str:
    async def text() -> str:
        return str(await model.prompt("Hello").text())

    return asyncio.run(text())


def ask_command_line(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["prompt", "Hello", *arguments])
    assert result.exit_code == 0, result.output
    return result.output.rstrip("\n")


def listed(models: list[Any]) -> Any:
    return next(model for model in models if model.model_id == "gpt-4o-mini")


def continue_logged_conversation() -> str:
    ask_command_line("-m", "gpt-4o-mini")
    return ask_command_line("-c")


def ask_with_template() -> str:
    saved = CliRunner().invoke(
        cli, ["prompt", "$input", "-m", "4o-mini", "--system", "Be brief", "--save", "brief"]
    )
    assert saved.exit_code == 0, saved.output
    return ask_command_line("-t", "brief")


def conversation_of_the_log() -> str:
    """Continue a conversation of `llm`'s log, as an application does."""
    ask_command_line("-m", "gpt-4o-mini")
    conversation = load_conversation(None)
    assert conversation is not None
    return ask(conversation)


def restored_response() -> str:
    response = llm.Response.from_dict(llm.get_model("gpt-4o-mini").prompt("Hi").to_dict())
    return str(response.reply("Hello").text())


DOORS: dict[str, Callable[[], str]] = {
    "get_model": lambda: ask(llm.get_model("gpt-4o-mini")),
    "get_model by alias": lambda: ask(llm.get_model("4o-mini")),
    "get_model bound early": lambda: ask(get_model("gpt-4o-mini")),
    "get_async_model": lambda: ask_async(llm.get_async_model("gpt-4o-mini")),
    "get_async_model by alias": lambda: ask_async(llm.get_async_model("4o-mini")),
    "get_async_model bound early": lambda: ask_async(get_async_model("gpt-4o-mini")),
    "get_models": lambda: ask(listed(llm.get_models())),
    "get_async_models": lambda: ask_async(listed(llm.get_async_models())),
    "get_model_aliases by name": lambda: ask(llm.get_model_aliases()["4o-mini"]),
    "get_model_aliases by look": lambda: ask(dict(llm.get_model_aliases().items())["4o-mini"]),
    "get_models_with_aliases": lambda: ask(
        listed([entry.model for entry in llm.get_models_with_aliases()])
    ),
    "command line": lambda: ask_command_line("-m", "4o-mini"),
    "command line, async": lambda: ask_command_line("-m", "4o-mini", "--async"),
    "command line, continued": continue_logged_conversation,
    "command line, from a template": ask_with_template,
    "conversation of the log": conversation_of_the_log,
    "model bound at import": lambda: ask(BOUND_AT_IMPORT),
    "async model bound at import": lambda: ask_async(ASYNC_BOUND_AT_IMPORT),
    "provider class": lambda: ask(Provider()),
    "async provider class": lambda: ask_async(AsyncProvider()),
    "conversation": lambda: ask(llm.get_model("gpt-4o-mini").conversation()),
    "conversation of a provider class": lambda: ask(Provider().conversation()),
    "chain": lambda: str(llm.get_model("gpt-4o-mini").chain("Hello").text()),
    "streaming of a provider class": lambda: "".join(Provider().prompt("Hello", stream=True)),
}

if hasattr(llm, "Message"):  # from llm 0.32 on
    DOORS["response that was written down"] = restored_response
    DOORS["messages"] = lambda: str(
        llm.get_model("gpt-4o-mini").prompt(messages=[llm.user("Hello")]).text()
    )
    DOORS["stream events"] = lambda: "".join(
        event.chunk for event in Provider().prompt("Hello").stream_events()
    )


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_every_door_leads_to_the_mock(
    door: Callable[[], str], mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o-mini", "from the mock")
    assert door() == "from the mock"
    assert mock_llm_calls.models["gpt-4o-mini"].call_history[-1]["prompt"] == "Hello"
    assert {call["model_id"] for call in mock_llm_calls.calls} == {"gpt-4o-mini"}


@pytest.mark.parametrize("how", ["get_model", "get_async_model"])
def test_default_model_is_mocked(how: str, mock_llm_calls: LLMMock) -> None:
    model = getattr(llm, how)()
    assert (ask if how == "get_model" else ask_async)(model) == '{"success": true}'
    assert mock_llm_calls.calls[0]["model_id"] == llm.get_default_model()


def test_a_name_that_no_plugin_knows_is_mocked(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("*", "anything")
    assert (
        ask(llm.get_model("nobody/knows"))
        == ask_async(llm.get_async_model("nobody/knows"))
        == "anything"
    )


def test_a_real_model_keeps_its_own_identity_when_the_mock_answers_for_it() -> None:
    response = Provider().prompt("Hello")
    response.text()
    assert type(response.model) is Provider


def test_a_provider_class_made_by_hand_streams_the_chunks(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set("gpt-4o-mini", lambda prompt: f"You said {prompt.prompt}")
    assert list(Provider().prompt("Hi")) == ["You said Hi"]


def test_an_empty_text_reaches_a_provider_class(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("*", "")
    assert ask(Provider()) == ask(llm.get_model("m")) == ask_async(AsyncProvider()) == ""


def test_an_error_reaches_a_provider_class(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set_error("gpt-4o-mini", ConnectionError("down"))
    for model, how in ((Provider(), ask), (AsyncProvider(), ask_async)):
        with pytest.raises(ConnectionError, match="down"):
            how(model)


def test_alias_and_model_id_are_one_model(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("4o-mini", "by alias")
    assert llm.get_model("4o-mini") is llm.get_model("gpt-4o-mini")
    assert llm.get_model("4o-mini").model_id == "gpt-4o-mini"
    assert ask(llm.get_model("gpt-4o-mini")) == "by alias"


def test_assertions_accept_an_alias_of_the_called_model(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "Hello")
    model = llm.get_model("4o-mini")
    model.prompt("Hi")
    mock_llm_responses.assert_called_once_with("Hi", model="4o-mini")
    mock_llm_responses.get_model("4o-mini").assert_called_once_with("Hi", model="4o-mini")
    mock_llm_responses.assert_not_called_with("Hi", model="4o")
    with pytest.raises(AssertionError, match="Expected no call to any model that matches"):
        mock_llm_responses.assert_not_called_with("Hi", model="4o-mini")
    with pytest.raises(AssertionError, match="the model is 'gpt-4o-mini', not '4o'"):
        mock_llm_responses.assert_called_with("Hi", model="4o")
    with pytest.raises(AssertionError, match="the model is 'gpt-4o-mini', not ''"):
        mock_llm_responses.assert_called_with("Hi", model="")


def test_an_alias_of_llm_is_another_model_for_an_sdk(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "Hello")
    with openai.OpenAI(api_key="x") as client:
        message = {"role": "user", "content": "Hi"}
        for name in ("4o-mini", "gpt-4-turbo"):
            client.chat.completions.create(model=name, messages=[message])  # type: ignore[list-item]
    mock_llm_responses.assert_called_with("Hi", model="4o-mini")
    mock_llm_responses.assert_not_called_with("Hi", model="gpt-4o-mini")
    # An id at OpenAI, and in llm an alias of gpt-4-turbo.
    mock_llm_responses.assert_not_called_with("Hi", model="gpt-4-turbo-preview")
    llm.get_model("4o-mini").prompt("Ho")
    mock_llm_responses.assert_called_with("Ho", model="4o-mini")
    mock_llm_responses.assert_not_called_with("Hi", model="gpt-4-turbo-preview")


def test_an_assertion_about_no_call_loads_no_plugin(run_python: RunPython) -> None:
    code = (
        "import llm.plugins, llm_mock; mock = llm_mock.LLMMock(at_boundary=True); "
        "mock.assert_not_called_with('Hi', model='4o-mini'); print(llm.plugins._loaded)"
    )
    assert run_python(code).stdout == "False\n"


def test_an_alias_that_the_test_defines_is_resolved(mock_llm_calls: LLMMock) -> None:
    llm.set_alias("mini", "gpt-4o-mini")
    try:
        assert llm.get_model("mini") is mock_llm_calls.get_model("gpt-4o-mini")
    finally:
        llm.remove_alias("mini")
    assert llm.get_model("mini").model_id == "mini"


def test_table_of_aliases_holds_registered_names_only() -> None:
    aliases = llm.get_model_aliases()
    assert "gpt-4o-mini" in aliases
    assert "nobody/knows" not in aliases
    assert aliases.get("nobody/knows") is None
    assert len(aliases) == len(list(aliases)) > 10


@pytest.mark.parametrize(
    "read",
    [
        lambda aliases: "gpt-4o-mini" in aliases,
        lambda aliases: "nobody/knows" in aliases,
        lambda aliases: aliases == {},
        lambda aliases: aliases != {},
        lambda aliases: list(aliases),
        len,
        lambda aliases: {**(aliases | {"a": 1})},
        lambda aliases: {**({"a": 1} | aliases)},
        lambda aliases: repr(aliases),
        lambda aliases: list(reversed(aliases)),
        lambda aliases: aliases.copy(),
        lambda aliases: aliases.get("gpt-4o-mini"),
        lambda aliases: dict(aliases.items()),
        lambda aliases: list(aliases.keys()),
        lambda aliases: aliases.pop("gpt-4o-mini"),
        lambda aliases: aliases.popitem(),
        lambda aliases: aliases.setdefault("gpt-4o-mini", None),
        lambda aliases: list(aliases.values()),
        lambda aliases: copy.copy(aliases),
    ],
)
def test_each_way_to_read_the_aliases_finds_them_all(read: Callable[[Any], object]) -> None:
    # The first operation fills the mapping, and the second finds it filled.
    filled = dict(llm.get_model_aliases().items())
    assert repr(read(llm.get_model_aliases())) == repr(read(filled))


def test_an_alias_that_is_removed_from_the_mapping_stays_removed() -> None:
    aliases = llm.get_model_aliases()
    assert "4o-mini" in aliases
    del aliases["4o-mini"]
    assert "4o-mini" not in list(aliases)
    assert "4o-mini" in llm.get_model_aliases()


def test_listing_models_creates_no_entries_in_models(mock_llm_calls: LLMMock) -> None:
    assert llm.get_models()
    assert mock_llm_calls.models == {}


@pytest.mark.parametrize("how", ["get_model", "get_async_model"])
def test_a_name_can_be_made_unknown(how: str, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set_unknown("4o-mini")
    for name in ("gpt-4o-mini", "4o-mini"):
        with pytest.raises(llm.UnknownModelError, match=f"Unknown model: {name}"):
            getattr(llm, how)(name)
    assert getattr(llm, how)("gpt-4o").model_id == "gpt-4o"
    assert "gpt-4o-mini" not in llm.get_model_aliases()
    assert "Unknown model" in CliRunner().invoke(cli, ["prompt", "Hello", "-m", "4o-mini"]).output


def test_reimported_llm_is_mocked(
    mock_llm_responses: ResponseConfigurator, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_llm_responses.set("m", "still mocked")
    # The package keeps its classes when they are first used.
    assert issubclass(llm_mock.MockLLMModel, llm.Model)
    assert issubclass(llm_mock.AsyncMockLLMModel, llm.AsyncModel)
    assert issubclass(llm_mock.MockEmbeddingModel, llm.EmbeddingModel)
    monkeypatch.delitem(sys.modules, "llm")
    again = importlib.import_module("llm")
    assert again is not llm
    assert ask(again.get_model("m")) == ask(get_model("m")) == "still mocked"
    assert issubclass(llm_mock.MockLLMModel, again.Model)
    assert issubclass(llm_mock.AsyncMockLLMModel, again.AsyncModel)
    assert issubclass(llm_mock.MockEmbeddingModel, again.EmbeddingModel)


def test_a_property_of_a_registered_model_is_not_evaluated() -> None:
    class Priced(llm.Model):
        model_id = "priced"
        size = None

        @property
        def balance(self) -> int:
            raise AssertionError("it would call the provider")

        def execute(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("it would call the provider")

    class Plugin:
        __name__ = "pricing"

        @llm.hookimpl
        def register_models(self, register: Callable[..., None]) -> None:
            register(Priced())

    plugin = Plugin()
    llm.pm.register(plugin, name="pricing")
    try:
        model: Any = llm.get_model("priced")
        assert model.size is None
        with pytest.raises(AttributeError, match="balance"):
            _ = model.balance
    finally:
        llm.pm.unregister(plugin)


def test_a_registered_mock_is_handed_out_as_it_is() -> None:
    class Registered(MockLLMModel):
        model_id = "registered-mock"

    class Plugin:
        __name__ = "registering"

        @llm.hookimpl
        def register_models(self, register: Callable[..., None]) -> None:
            register(model, aliases=["registered-alias"])

    model, plugin = Registered(default_response="own answer"), Plugin()
    llm.pm.register(plugin, name="registering")
    try:
        assert llm.get_model("registered-mock") is llm.get_model("registered-alias") is model
        assert model in llm.get_models()
        assert ask(model) == "own answer"
    finally:
        llm.pm.unregister(plugin)
    assert llm.get_model("registered-mock") is not model


def test_models_are_handed_out_one_for_a_name(mock_llm_calls: LLMMock) -> None:
    assert (
        llm.get_model("m")
        is llm.get_model("m")
        is mock_llm_calls.get_model("m")
        is mock_llm_calls.models["m"]
    )
    assert llm.get_async_model("m") is llm.get_async_model("m")


def test_a_model_bound_at_import_shows_the_calls_of_this_test_only(mock_llm_calls: LLMMock) -> None:
    assert isinstance(BOUND_AT_IMPORT, MockLLMModel)
    assert BOUND_AT_IMPORT.prompt_count == 0
    BOUND_AT_IMPORT.prompt("Hello")
    assert (
        BOUND_AT_IMPORT.call_history == mock_llm_calls.get_model("gpt-4o-mini").call_history != []
    )


def test_an_llm_imported_anew_from_scratch_is_mocked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import importlib, sys
        import llm

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "still mocked")
            llm.get_model("gpt-4o")
            for name in [name for name in sys.modules if name.split(".")[0] == "llm"]:
                del sys.modules[name]
            again = importlib.import_module("llm")
            model = again.get_model("gpt-4o")
            assert again.Model is not llm.Model
            assert isinstance(model, again.KeyModel)
            assert again.Conversation(model=model).prompt("Hi").text() == "still mocked"
            from llm.default_plugins.openai_models import Chat
            assert Chat("gpt-4o").prompt("Hi").text() == "still mocked"
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_every_name_can_be_made_unknown(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set_unknown("*")
    for ask_for in (llm.get_model, llm.get_async_model):
        with pytest.raises(llm.UnknownModelError):
            ask_for("gpt-4o")


def test_an_attachment_by_url_is_not_looked_up() -> None:
    attachment = llm.Attachment(url="https://example.invalid/a.png")
    assert llm.get_model("m").prompt("Hi", attachments=[attachment]).text()


def test_llm_chat_is_mocked(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.add("gpt-4o-mini", "first answer", turn=1)
    mock_llm_responses.add("gpt-4o-mini", "second answer", turn=2)
    result = CliRunner().invoke(cli, ["chat", "-m", "4o-mini"], input="one\ntwo\nquit\n")
    assert result.exit_code == 0, result.output
    assert result.output.index("first answer") < result.output.index("second answer")
    assert [call["prompt"] for call in mock_llm_calls.calls] == ["one", "two"]


def test_llm_models_lists_what_is_registered() -> None:
    result = CliRunner().invoke(cli, ["models", "-q", "gpt-4o-mini"])
    assert "OpenAI Chat: gpt-4o-mini (aliases: 4o-mini)" in result.output
    assert llm.get_model("gpt-4o-mini").prompt("Hi").json() == {"success": True}


def test_the_provider_that_is_listed_can_be_asked(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("gpt-4o-mini", "listed")
    model = next(
        entry.model for entry in llm.get_models_with_aliases() if "4o-mini" in entry.aliases
    )
    assert (str(model), ask(model)) == ("OpenAI Chat: gpt-4o-mini", "listed")


def test_a_mock_that_stands_for_get_model_takes_the_flag_of_llm(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_model("gpt-4o")
    assert [mock_llm_calls("gpt-4o", flag) for flag in (True, False)] == [model, model]


@pytest.mark.parametrize("kind", ["model", "async_model", "embedding_model"])
def test_a_name_that_is_not_found_is_listed_once(kind: str, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set_unknown("nowhere")
    get = getattr(llm, f"get_{kind}")
    for _ in range(2):
        with pytest.raises(llm.UnknownModelError):
            get("nowhere")
    assert mock_llm_calls.requested_models == ["nowhere", "nowhere"]


def test_a_name_is_listed_each_time_that_the_application_asks(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set_unknown("nowhere")
    try:
        llm.get_model("nowhere")
    except llm.UnknownModelError:
        llm.get_model("gpt-4o")
    assert mock_llm_calls.requested_models == ["nowhere", "gpt-4o"]


def test_an_alias_may_have_a_space(mock_llm_calls: LLMMock) -> None:
    llm.set_alias("my model", "gpt-4o-mini")
    try:
        assert mock_llm_calls("my model").model_id == "gpt-4o-mini"
    finally:
        llm.remove_alias("my model")
    with pytest.raises(InvalidReply, match="no model has this name"):
        mock_llm_calls("your model")
