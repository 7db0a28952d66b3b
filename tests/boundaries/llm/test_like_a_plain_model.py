"""The mock of a registered model behaves like it, for every argument and attribute."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llm
import pytest
from pydantic import BaseModel

from tests.boundaries.llm.comparison import World, awaited, outcome
from tests.boundaries.llm.documented import DOCUMENTED, PAGE, check
from tests.boundaries.llm.plain_models import BARE, FULL, KEYED, PNG, Scripted, upper


class Dog(BaseModel):
    """A schema."""

    name: str
    age: int = 1


DOG = Scripted(chunks=('{"name": ', '"Rex"}'), payload={"id": "chatcmpl-2"})
TOOL_CALL = Scripted(chunks=("Let me see",), tool_calls=(("upper", {"text": "hi"}, "call_a"),))
ONLY_TOOL_CALL = Scripted(chunks=(), tool_calls=(("upper", {"text": "hi"}, "call_b"),))
USER: dict[str, Any] = (
    {"messages": [llm.user("Earlier"), llm.assistant("Yes"), llm.user("Now")]}
    if hasattr(llm, "user")
    else {}
)

NEWER = ["messages", "to_dict"] if USER else []

CALLS: dict[str, tuple[dict[str, Any], list[Scripted]]] = {
    "prompt": ({"prompt": "Hi"}, [Scripted()]),
    "no prompt": ({}, [Scripted()]),
    "empty prompt": ({"prompt": ""}, [Scripted()]),
    "empty answer": ({"prompt": "Hi"}, [Scripted(chunks=())]),
    "empty chunks": ({"prompt": "Hi"}, [Scripted(chunks=("", "a", ""))]),
    "no usage": ({"prompt": "Hi"}, [Scripted(usage=(0, 0, None))]),
    "usage without details": ({"prompt": "Hi"}, [Scripted(usage=(1, 2, None))]),
    "no resolved model": ({"prompt": "Hi"}, [Scripted(resolved_model=None)]),
    "payload with the answer": ({"prompt": "Hi"}, [Scripted(payload={"object": "reply", "t": "Hello, world"})]),  # noqa: E501
    "no payload": ({"prompt": "Hi"}, [Scripted(payload=None)]),
    "system": ({"prompt": "Hi", "system": "Be brief"}, [Scripted()]),
    "fragments": ({"prompt": "Hi", "fragments": ["First", "Second"]}, [Scripted()]),
    "system fragments": ({"prompt": "Hi", "system": "S", "system_fragments": ["One", "Two"]}, [Scripted()]),  # noqa: E501
    "fragments alone": ({"fragments": ["First"], "system_fragments": ["One"]}, [Scripted()]),
    "not streamed": ({"prompt": "Hi", "stream": False}, [Scripted()]),
    "options": ({"prompt": "Hi", "temperature": 0.5, "max_tokens": 10, "stop": ["x"]}, [Scripted()]),  # noqa: E501
    "options in text": ({"prompt": "Hi", "temperature": "0.5", "json_object": "true"}, [Scripted()]),  # noqa: E501
    "schema": ({"prompt": "Hi", "schema": Dog}, [DOG]),
    "schema as a dict": ({"prompt": "Hi", "schema": Dog.model_json_schema()}, [DOG]),
    "attachment": ({"prompt": "Hi", "attachments": [llm.Attachment(type="image/png", content=PNG)]}, [Scripted()]),  # noqa: E501
    "attachment by content": ({"attachments": [llm.Attachment(content=PNG)]}, [Scripted()]),
    "tools": ({"prompt": "Hi", "tools": [upper]}, [Scripted()]),
    "tool calls": ({"prompt": "Hi", "tools": [upper]}, [TOOL_CALL, ONLY_TOOL_CALL, Scripted()]),
    "tool results": ({"prompt": "Hi", "tool_results": [llm.ToolResult("upper", "HI", tool_call_id="a")]}, [Scripted()]),  # noqa: E501
    "messages": (USER, [Scripted()]),
    "messages and prompt": ({**USER, "prompt": "And?", "system": "S"}, [Scripted()]),
    "options=": ({"prompt": "Hi", "options": {"temperature": 0.5}}, [Scripted()]),
    "hide_reasoning": ({"prompt": "Hi", "hide_reasoning": True}, [Scripted()]),
    "error": ({"prompt": "Hi"}, [Scripted(error=ConnectionError("no route"))]),
    "error in the stream": ({"prompt": "Hi"}, [Scripted(error=ConnectionError("cut"), error_after=2)]),  # noqa: E501
    "error, not streamed": ({"prompt": "Hi", "stream": False}, [Scripted(error=ConnectionError("no"), error_after=1)]),  # noqa: E501
    "option that does not validate": ({"prompt": "Hi", "temperature": 3}, []),
    "unknown option": ({"prompt": "Hi", "warmth": 3}, []),
    "unknown option in options=": ({"prompt": "Hi", "options": {"warmth": 3}}, []),
    "option twice": ({"prompt": "Hi", "temperature": 1, "options": {"temperature": 0.5}}, []),
    "prompt_text": ({"prompt_text": "Hi"}, []),
    "model": ({"prompt": "Hi", "model": "other"}, []),
    "attachment of another type": ({"attachments": [llm.Attachment(type="audio/wav", content=b"x")]}, []),  # noqa: E501
    "attachment without a type": ({"attachments": [llm.Attachment()]}, []),
    "tool that is none": ({"prompt": "Hi", "tools": ["upper"]}, []),
}  # fmt: skip
WAYS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "prompt": lambda model, arguments: model.prompt(**arguments),
    "conversation": lambda model, arguments: model.conversation().prompt(**arguments),
    "chain": lambda model, arguments: model.chain(**arguments),
    "conversation's chain": lambda model, arguments: model.conversation().chain(**arguments),
}
GETTERS = {"sync": llm.get_model, "async": llm.get_async_model}


def seen_of_chain(chain: Any) -> dict[str, Any]:
    """Return what a chain has, and each of its responses."""
    text = outcome(lambda: awaited(chain.text()))
    responses = list(chain._responses)
    seen: dict[str, Any] = {"text": text, "responses": len(responses)}
    for number, response in enumerate(responses):
        seen |= {f"{name} of {number}": value for name, value in seen_of_response(response).items()}
    return seen


def seen_of_response(response: Any) -> dict[str, Any]:
    """Return what a response has, before and after it was read."""
    seen = {
        "repr before": repr(response),
        "stream": response.stream,
        "class": isinstance(response, (llm.Response, llm.AsyncResponse)),
        "text": outcome(lambda: awaited(response.text())),
    }
    for name in (
        "text_or_raise",
        "tool_calls_or_raise",
        "usage",
        "token_usage",
        "tool_calls",
        "json",
        *NEWER,
    ):
        seen[name] = outcome(lambda name=name: awaited(getattr(response, name)()))  # type: ignore[misc]
    for name in ("text", "usage", "json"):
        seen[f"type of {name}"] = outcome(lambda name=name: type(getattr(response, name)).__name__)  # type: ignore[misc]
    for name in (
        *(
            "resolved_model",
            "response_json",
            "attachments",
            "input_tokens",
            "output_tokens",
            "token_details",
        ),
        *("conversation", "stream", "before_call", "after_call", "done_callbacks"),
    ):
        seen[name] = getattr(response, name, None)
    for name in (
        "prompt",
        "system",
        "options",
        "schema",
        "fragments",
        "attachments",
        "tools",
        "tool_results",
        "messages",
    ):
        seen[f"prompt.{name}"] = getattr(response.prompt, name, None)
    seen["times"] = outcome(
        lambda: (awaited(response.datetime_utc()), type(awaited(response.duration_ms())).__name__)
    )
    seen["str"] = outcome(lambda: str(response)) if isinstance(response, llm.Response) else ""
    seen["repr"] = repr(response)
    seen["chunks"] = outcome(lambda: list(response)) if isinstance(response, llm.Response) else ""
    seen["model"] = (str(response.model), repr(response.model), response.model.model_id)
    seen["is itself"] = (response == response, len({response, response}))
    return seen


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", GETTERS)
def test_a_mocked_model_is_asked_and_answers_like_the_plain_one(
    tmp_path: Path, kind: str, way: str, call: str
) -> None:
    arguments, replies = CALLS[call]

    def ask(world: World) -> dict[str, Any]:
        world.script(FULL, *(replies or [Scripted()]))
        model = GETTERS[kind](FULL)
        try:
            response = WAYS[way](model, arguments)
        except Exception as error:
            return {"refused": f"{type(error).__name__}: {error}"}
        if "chain" in way:
            return seen_of_chain(response)
        seen = seen_of_response(response)
        if kind == "async":
            if "Error" in seen["text"]:
                return seen  # it cannot become a synchronous one, which is what is logged
            response = awaited(response.to_sync_response())
        return seen | {"log": outcome(world.log, response)}

    check(ask, tmp_path, f"{kind} {way} {call}")


MODELS = [(kind, name) for kind in ("sync", "async") for name in (FULL, "full", BARE, KEYED)]


@pytest.mark.parametrize(("kind", "name"), MODELS)
def test_a_mocked_model_looks_like_the_plain_one(tmp_path: Path, kind: str, name: str) -> None:
    def look(world: World) -> dict[str, Any]:
        model = outcome(GETTERS[kind], name)
        if isinstance(model, str):
            return {"not there": model}
        seen = {"str": str(model), "repr": repr(model), "type": type(model).__name__}
        kinds = (llm.Model, llm.KeyModel, llm.AsyncModel, llm.AsyncKeyModel)
        seen["kinds"] = [kind.__name__ for kind in kinds if isinstance(model, kind)]
        return seen | attributes(model) | {"provider's own method": hasattr(model, "ping")}

    check(look, tmp_path, f"look of {kind} {name}")


LLM_MODEL = frozenset(dir(llm.Model)) | frozenset(dir(llm.AsyncModel))


def attributes(model: Any) -> dict[str, Any]:
    """Return the public values of a model, and the names of its methods."""
    public = [name for name in dir(model) if not name.startswith("_")]
    wanted = {*public, "api_base", "json_replacements"} - {"script", "keys", "answered"}
    return {
        name: "method"
        if callable(value := getattr(model, name, "missing")) and name != "Options"
        else value
        for name in sorted(wanted)
        if name in LLM_MODEL or name in ("api_base", "json_replacements")
    } | {"fields of Options": outcome(lambda: model.Options.model_json_schema()["properties"])}


def prompt_takes(world: World) -> dict[str, Any]:
    """Arguments of our own `prompt()`, and of the command line."""
    seen = {}
    for name, value in {
        "lazy": True,
        "key": "k",
        "prompt_text": "Hi",
        "model": None,
        "temperature": None,
    }.items():
        world.script(FULL, Scripted())
        seen[name] = outcome(
            lambda name=name, value=value: (
                llm.get_model(FULL).prompt("Hi", **{name: value}).text_or_raise()
            )
        )  # type: ignore[misc]
    return seen


def test_prompt_takes_what_the_plain_one_takes(tmp_path: Path) -> None:
    check(prompt_takes, tmp_path, "what prompt takes")


def listings(world: World) -> dict[str, Any]:
    """Return what `llm` lists."""
    return {
        "get_models": [str(model) for model in llm.get_models()],
        "get_async_models": [str(model) for model in llm.get_async_models()],
        "get_models_with_aliases": [
            (str(entry.model), str(entry.async_model), sorted(entry.aliases))
            for entry in llm.get_models_with_aliases()
        ],
        "get_model_aliases": {name: str(model) for name, model in llm.get_model_aliases().items()},
        "get_async_model_aliases": {
            name: str(model) for name, model in llm.get_async_model_aliases().items()
        },
        "get_embedding_models": [str(model) for model in llm.get_embedding_models()],
        "get_embedding_model_aliases": {
            name: str(model) for name, model in llm.get_embedding_model_aliases().items()
        },
        "get_model agrees": [
            attributes(llm.get_model(model.model_id)) == attributes(model)
            for model in llm.get_models()
        ],
        "get_async_model agrees": [
            attributes(llm.get_async_model(model.model_id)) == attributes(model)
            for model in llm.get_async_models()
        ],
        "get_model gives the same one": llm.get_model(FULL) is llm.get_model(FULL),
    }


def test_the_lists_of_models_are_alike(tmp_path: Path) -> None:
    check(listings, tmp_path, "listings")


REFUSED_BY_BARE: dict[str, dict[str, Any]] = {
    "schema": {"schema": Dog},
    "tools": {"tools": [upper]},
    "attachments": {"attachments": [llm.Attachment(type="image/png", content=PNG)]},
    "option": {"temperature": 0.5},
    "options=": {"options": {"temperature": 0.5}},
    "nothing": {},
}


@pytest.mark.parametrize("call", REFUSED_BY_BARE)
@pytest.mark.parametrize("way", WAYS)
def test_a_mocked_model_refuses_what_the_plain_one_does_not_support(
    tmp_path: Path, way: str, call: str
) -> None:
    def ask(world: World) -> dict[str, Any]:
        world.script(BARE, Scripted())
        answer = outcome(
            lambda: WAYS[way](llm.get_model(BARE), {"prompt": "Hi", **REFUSED_BY_BARE[call]}).text()
        )
        return {"text": answer}

    check(ask, tmp_path, f"bare {way} {call}")


def test_a_second_turn_is_refused_where_the_plain_model_knows_no_conversations(
    tmp_path: Path,
) -> None:
    def ask(world: World) -> dict[str, Any]:
        world.script(BARE, Scripted(), Scripted())
        conversation = llm.get_model(BARE).conversation()
        return {
            str(turn): outcome(lambda turn=turn: conversation.prompt(f"Turn {turn}").text())
            for turn in (1, 2)
        }

    check(ask, tmp_path, "bare second turn")


def conversation(world: World) -> dict[str, Any]:
    """Return a conversation of three turns, the last of them replied to, all logged."""
    world.script(FULL, Scripted(), DOG, Scripted(chunks=("Bye",)), Scripted(chunks=("Reply",)))
    talk = llm.get_model(FULL).conversation(tools=[upper])
    responses = [
        talk.prompt("One", system="S"),
        talk.prompt("Two", schema=Dog),
        talk.prompt("Three", temperature=1.0),
    ]
    texts = [response.text() for response in responses]
    seen = {
        "texts": texts,
        "log": world.log(*responses),
        "repr": repr(talk),
        "responses": repr(talk.responses),
    }
    seen["messages"] = outcome(
        lambda: [message.to_dict() for message in responses[-1].prompt.messages]
    )
    seen["reply"] = outcome(lambda: responses[-1].reply("Once more").text())
    return seen


def restored(world: World) -> dict[str, Any]:
    """Return a response that was stored as a dict, and what follows from it."""
    world.script(FULL, Scripted(), Scripted(chunks=("Reply",)))
    data = llm.get_model(FULL).prompt("One", temperature=0.5, system="S").to_dict()
    again = llm.Response.from_dict(json.loads(json.dumps(data)))
    seen = {"dict": data, **seen_of_response(again)}
    reply = again.reply("Two", temperature=1.0)
    return seen | {
        "reply": reply.text(),
        "reply's messages": reply.prompt.messages,
        "log": world.log(again, reply),
    }


def unread(world: World) -> dict[str, Any]:
    """Responses that are logged although nobody read them."""
    world.script(FULL, Scripted(), Scripted())
    response = llm.get_model(FULL).prompt("One")
    seen: dict[str, Any] = {
        "log": world.log(response),
        "text": str(response.text()),
        "log when read": world.log(response),
    }
    return seen | {"conversation": world.log(llm.get_model(FULL).conversation().prompt("Two"))}


def callbacks(world: World) -> dict[str, Any]:
    """When those who wait for a response are told."""
    world.script(FULL, Scripted(), Scripted(error=ConnectionError("no route")))
    told: list[str] = []
    response = llm.get_model(FULL).prompt("One")
    response.on_done(lambda done: told.append(f"{done.text_or_raise()} {done is response}"))
    seen: dict[str, Any] = {"before": list(told), "chunks": list(response), "after": told}
    response.on_done(lambda done: told.append("late"))
    seen["failed"] = outcome(lambda: llm.get_model(FULL).prompt("Two"))
    return seen


def events(world: World) -> dict[str, Any]:
    """Return the stream as events."""
    world.script(FULL, TOOL_CALL)
    response = llm.get_model(FULL).prompt("One", tools=[upper])
    seen = {"live": outcome(lambda: [vars(event) for event in response.stream_events()])}
    return seen | {
        "again": outcome(lambda: [vars(event) for event in response.stream_events()]),
        "text": list(response),
    }


def tools(world: World) -> dict[str, Any]:
    """Return what the tools of a chain are told, and what their callbacks are."""
    world.script(FULL, TOOL_CALL, Scripted(), TOOL_CALL)
    told: list[Any] = []
    chain = llm.get_model(FULL).chain(
        "One", tools=[upper], before_call=lambda tool, call: told.append((tool.name, call.arguments)),  # noqa: E501
        after_call=lambda tool, call, result: told.append((result.output, result.tool_call_id)),
    )  # fmt: skip
    seen: dict[str, Any] = {"text": chain.text(), "told": told, "log": outcome(world.log, chain)}
    response = llm.get_model(FULL).prompt("Two", tools=[upper])
    return seen | {"results": [vars(result) for result in response.execute_tool_calls()]}


@pytest.mark.parametrize("scenario", [conversation, restored, unread, callbacks, events, tools])
def test_what_follows_from_a_response_is_alike(
    tmp_path: Path, scenario: Callable[[World], dict[str, Any]]
) -> None:
    if not USER and scenario in (restored, events):
        pytest.skip("llm before 0.32 has no such thing")
    check(scenario, tmp_path, scenario.__name__)


def test_the_page_tells_of_every_known_difference() -> None:
    page = " ".join(PAGE.read_text().split())
    assert [entry for entry in DOCUMENTED if entry.words not in page] == []
