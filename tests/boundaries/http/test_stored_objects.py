"""What OpenAI keeps on its server: responses, conversations and chat completions."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import openai
import openai.types.chat
import openai.types.conversations
import openai.types.responses
import pytest

from llm_mock import LLMMock, Reply, ToolCall
from tests.boundaries.http.sdk_types import problems

HELLO: Any = [{"role": "user", "content": "Hello"}]


@pytest.fixture(autouse=True)
def answer(mock_llm_responses: LLMMock) -> None:
    """Answer all models."""
    mock_llm_responses.set("*", "Hi!")


def fetch(client: openai.OpenAI, path: str) -> Any:
    """Return a body as it is sent."""
    response = httpx.get(f"{client.base_url}{path}", headers={"authorization": "Bearer any"})
    return response.json()


def test_a_response_is_retrieved_and_deleted(client: openai.OpenAI) -> None:
    created = client.responses.create(model="gpt-5", input="Hello")
    assert client.responses.retrieve(created.id) == created
    assert problems(fetch(client, f"responses/{created.id}"), openai.types.responses.Response) == []
    client.responses.delete(created.id)
    for use in (
        lambda: client.responses.retrieve(created.id),
        lambda: client.responses.delete(created.id),
        lambda: client.responses.input_items.list(created.id),
        lambda: client.responses.cancel(created.id),
    ):
        with pytest.raises(openai.NotFoundError) as raised:
            use()
        assert raised.value.body == {
            "message": f"Response with id '{created.id}' not found.",
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }


def test_a_streamed_response_is_retrieved(client: openai.OpenAI) -> None:
    *_, last = client.responses.create(model="gpt-5", input="Hello", stream=True)
    assert last.type == "response.completed"
    assert client.responses.retrieve(last.response.id) == last.response


STREAMED_REPLIES: dict[str, Any] = {
    "text": "Grüße",
    "empty": "",
    "refusal": Reply(refusal="I cannot."),
    "tool calls": Reply("See:", tool_calls=[ToolCall("f", {"a": 1}), ToolCall("g", {})]),
    "reasoning": Reply("Hi!", reasoning="I think."),
    "incomplete": Reply("It is", finish_reason="length"),
}


def list_kinds(events: Any) -> list[str]:
    """Return the types of events; several deltas of a text count as one."""
    return [kind for kind, _ in itertools.groupby(event.type for event in events)]


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("name", STREAMED_REPLIES)
def test_a_response_is_retrieved_as_a_stream(
    client: openai.OpenAI, mock_llm_responses: LLMMock, name: str, background: bool
) -> None:
    mock_llm_responses.set("gpt-5", STREAMED_REPLIES[name])
    tools: Any = [{"type": "function", "name": f, "parameters": {}, "strict": False} for f in "fg"]
    create = client.responses.create
    made = list(
        create(model="gpt-5", input="Hello", tools=tools, stream=True, background=background)
    )
    response_id = made[0].response.id  # type: ignore[union-attr]
    events = list(client.responses.retrieve(response_id, stream=True))
    assert list_kinds(events) == list_kinds(made)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    for event in events:
        assert problems(event.to_dict(), type(event)) == []
        if event.type.endswith("_part.added"):
            part = event.to_dict()["part"]
            assert not part.get("text")
            assert not part.get("refusal")
    last = events[-1]
    assert last.response == client.responses.retrieve(response_id)  # type: ignore[union-attr]
    done = [event.to_dict() for event in made if event.type == "response.output_item.done"]
    assert [
        {**event.to_dict(), "sequence_number": 0}
        for event in events
        if event.type == "response.output_item.done"
    ] == [{**event, "sequence_number": 0} for event in done]
    for known in (0, 2, len(events) - 1):
        rest = list(client.responses.retrieve(response_id, stream=True, starting_after=known))
        assert rest == events[known + 1 :]


def test_a_stream_follows_a_response_in_the_background_to_its_end(client: openai.OpenAI) -> None:
    response = client.responses.create(model="gpt-5", input="Hello", background=True)
    *_, last = client.responses.retrieve(response.id, stream=True)
    assert last.type == "response.completed"
    assert client.responses.retrieve(response.id).status == "completed"


@pytest.mark.parametrize("stored", [True, False, None])
def test_only_a_stored_response_can_be_continued(
    client: openai.OpenAI, stored: bool | None
) -> None:
    options: Any = {} if stored is None else {"store": stored}
    first = client.responses.create(model="gpt-5", input="Hello", **options)
    if stored is not False:
        client.responses.create(model="gpt-5", input="More", previous_response_id=first.id)
        return
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(first.id)
    with pytest.raises(openai.BadRequestError) as raised:
        client.responses.create(model="gpt-5", input="More", previous_response_id=first.id)
    assert raised.value.body == {
        "message": f"Previous response with id '{first.id}' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }


def test_a_conversation_and_an_earlier_response_exclude_each_other(client: openai.OpenAI) -> None:
    first = client.responses.create(model="gpt-5", input="Hello")
    conversation = client.conversations.create()
    with pytest.raises(openai.BadRequestError) as raised:
        client.responses.create(
            model="gpt-5",
            input="More",
            previous_response_id=first.id,
            conversation=conversation.id,
        )
    assert raised.value.body == {
        "message": (
            "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' "
            "or 'conversation'."
        ),
        "type": "invalid_request_error",
        "param": None,
        "code": "mutually_exclusive_parameters",
    }
    client.responses.create(model="gpt-5", input=[], conversation=conversation.id)
    client.responses.create(model="gpt-5", input=[], previous_response_id=first.id)


def test_input_items_are_listed_the_latest_first(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    call = ToolCall("weather", {}, "call_7")
    mock_llm_responses.add("gpt-5", Reply(tool_calls=[call]))
    tools: Any = [{"type": "function", "name": "weather", "parameters": {"type": "object"}}]
    first = client.responses.create(model="gpt-5", input="Hello", tools=tools)
    result: Any = {"type": "function_call_output", "call_id": "call_7", "output": "Sunny"}
    second = client.responses.create(
        model="gpt-5", input=[result], tools=tools, previous_response_id=first.id
    )
    items = client.responses.input_items.list(second.id).data
    assert [item.type for item in items] == ["function_call_output", "function_call", "message"]
    listed = fetch(client, f"responses/{second.id}/input_items?order=asc&limit=2")
    assert problems(listed, openai.types.responses.ResponseItemList) == []
    assert (listed["has_more"], listed["first_id"]) == (True, items[2].id)
    after = client.responses.input_items.list(second.id, after=items[0].id, limit=1)
    # Iteration asks for the next page.
    assert [item.id for item in after] == [items[1].id, items[2].id]


@pytest.mark.parametrize(
    ("limit", "message", "code"),
    [
        (
            "101",
            "Invalid 'limit': integer above maximum value. Expected a value <= 100, but got 101 "
            "instead.",
            "integer_above_max_value",
        ),
        (
            "-1",
            "Invalid 'limit': integer below minimum value. Expected a value >= 0, but got -1 "
            "instead.",
            "integer_below_min_value",
        ),
        (
            "many",
            "Invalid type for 'limit': expected an integer, but got a string instead.",
            "invalid_type",
        ),
    ],
)
def test_a_page_has_at_most_a_hundred_items(
    client: openai.OpenAI, limit: str, message: str, code: str
) -> None:
    conversation = client.conversations.create()
    listed = fetch(client, f"conversations/{conversation.id}/items?limit={limit}")
    error = {"message": message, "type": "invalid_request_error", "param": "limit", "code": code}
    assert listed == {"error": error}


@pytest.mark.parametrize(("limit", "count"), [("", 20), ("?limit=100", 25), ("?limit=0", 0)])
def test_a_page_has_twenty_items_by_default(client: openai.OpenAI, limit: str, count: int) -> None:
    item: Any = {"type": "message", "role": "user", "content": "Hello"}
    conversation = client.conversations.create(items=[item] * 20)
    client.conversations.items.create(conversation.id, items=[item] * 5)
    listed = fetch(client, f"conversations/{conversation.id}/items{limit}")
    assert (len(listed["data"]), listed["has_more"]) == (count, count < 25)


def test_a_conversation_is_compacted(client: openai.OpenAI, mock_llm_responses: LLMMock) -> None:
    first = client.responses.create(model="gpt-5", input="My name is Ann.")
    # As it is sent, because the SDK's type has no messages of users.
    compacted: Any = client.responses.with_raw_response.compact(
        model="gpt-5", input="And I like tea.", previous_response_id=first.id
    ).http_response.json()
    output = compacted["output"]
    assert [item["content"] for item in output[:-1]] == [
        [{"type": "input_text", "text": "My name is Ann."}],
        [{"type": "input_text", "text": "And I like tea."}],
    ]
    assert output[-1] == {
        "id": "cmp_mock_2",
        "type": "compaction",
        "encrypted_content": "<compaction 2>",
    }
    assert (compacted["id"], compacted["object"]) == ("resp_mock_2", "response.compaction")
    usage = compacted["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_tokens"] > 5
    [_, call] = mock_llm_responses.calls
    assert (call["api"], call["configured"]) == ("POST /v1/responses/compact", False)
    # The output is the input of what comes next.
    assert client.responses.create(model="gpt-5", input=output).output_text == "Hi!"


def test_a_conversation_is_compacted_by_a_model(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    alone = client.responses.compact(model="gpt-5")
    assert [item.type for item in alone.output] == ["compaction"]
    with pytest.raises(openai.BadRequestError, match="Missing required parameter: 'model'"):
        client.responses.compact(model=None, input="Hello")
    with pytest.raises(openai.BadRequestError, match="Previous response with id 'resp_x'"):
        client.responses.compact(model="gpt-5", previous_response_id="resp_x")
    mock_llm_responses.refusals.clear()


def test_a_response_in_the_background_is_queued_and_then_in_progress(
    client: openai.OpenAI,
) -> None:
    response = client.responses.create(model="gpt-5", input="Hello", background=True)
    seen = []
    while response.status in ("queued", "in_progress"):
        seen.append((response.status, response.output, response.usage))
        response = client.responses.retrieve(response.id)
    assert seen == [("queued", [], None), ("in_progress", [], None)]
    assert (response.status, response.output_text, response.background) == (
        "completed",
        "Hi!",
        True,
    )


def test_a_stream_in_the_background_begins_in_the_queue(client: openai.OpenAI) -> None:
    events = list(client.responses.create(model="m", input="Hello", background=True, stream=True))
    assert [event.type for event in events[:3]] == [
        "response.created",
        "response.queued",
        "response.in_progress",
    ]
    assert events[-1].type == "response.completed"


def test_a_response_in_the_background_is_cancelled(client: openai.OpenAI) -> None:
    running = client.responses.create(model="gpt-5", input="Hello", background=True)
    assert client.responses.cancel(running.id).status == "cancelled"
    assert client.responses.cancel(running.id).status == "cancelled"
    assert client.responses.retrieve(running.id).status == "cancelled"
    *_, last = client.responses.retrieve(running.id, stream=True)
    assert last.to_dict()["response"]["status"] == "cancelled"
    finished = client.responses.create(model="gpt-5", input="Hello", background=True)
    while client.responses.retrieve(finished.id).status != "completed":
        pass
    assert client.responses.cancel(finished.id).status == "completed"
    plain = client.responses.create(model="gpt-5", input="Hello")
    with pytest.raises(openai.BadRequestError, match="Cannot cancel a synchronous response"):
        client.responses.cancel(plain.id)


def test_a_conversation_has_the_items_of_its_responses(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    item: Any = {"type": "message", "role": "user", "content": "I am Ann."}
    conversation = client.conversations.create(items=[item], metadata={"topic": "names"})
    first = client.responses.create(model="m", input="Hello", conversation=conversation.id)
    assert first.conversation is not None
    assert first.conversation.id == conversation.id
    client.responses.create(model="m", input="Who am I?", conversation={"id": conversation.id})
    *_, streamed = client.responses.create(
        model="m", input="Bye", conversation=conversation.id, stream=True
    )
    assert streamed.type == "response.completed"
    texts = [message["text"] for message in mock_llm_responses.calls[1].messages]
    assert texts == ["I am Ann.", "Hello", "Hi!", "Who am I?"]
    listed = fetch(client, f"conversations/{conversation.id}/items?order=asc")
    assert problems(listed, openai.types.conversations.ConversationItemList) == []
    assert [each["role"] for each in listed["data"]] == [
        "user",
        "user",
        *["assistant", "user"] * 2,
        "assistant",
    ]
    assert len({each["id"] for each in listed["data"]}) == 7


def test_a_text_is_kept_as_a_part(client: openai.OpenAI) -> None:
    items: Any = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
    conversation = client.conversations.create(items=items)
    listed = fetch(client, f"conversations/{conversation.id}/items?order=asc")
    assert [item["content"] for item in listed["data"]] == [
        [{"type": "input_text", "text": "Hello"}],
        [{"type": "output_text", "text": "Hi!", "annotations": [], "logprobs": []}],
    ]


def test_an_item_that_is_no_object_is_left_out(client: openai.OpenAI) -> None:
    items = ["no", {"role": "user", "content": "Hello"}]
    url = f"{client.base_url}conversations"
    kept = httpx.post(url, json={"items": items}, headers={"authorization": "Bearer any"}).json()
    [item] = fetch(client, f"conversations/{kept['id']}/items")["data"]
    assert item["content"] == [{"type": "input_text", "text": "Hello"}]


def test_conversations_are_changed(client: openai.OpenAI) -> None:
    conversation = client.conversations.create()
    body = fetch(client, f"conversations/{conversation.id}")
    assert problems(body, openai.types.conversations.Conversation) == []
    assert client.conversations.update(conversation.id, metadata={"a": "b"}).metadata == {"a": "b"}
    assert client.conversations.retrieve(conversation.id).metadata == {"a": "b"}
    item: Any = {"type": "message", "role": "user", "content": "Hello"}
    [added] = client.conversations.items.create(conversation.id, items=[item]).data
    assert added.id is not None
    assert client.conversations.items.retrieve(added.id, conversation_id=conversation.id) == added
    client.conversations.items.delete(added.id, conversation_id=conversation.id)
    assert client.conversations.items.list(conversation.id).data == []
    with pytest.raises(openai.NotFoundError, match=f"Item with id '{added.id}' not found"):
        client.conversations.items.retrieve(added.id, conversation_id=conversation.id)
    assert client.conversations.delete(conversation.id).deleted
    for use in (
        lambda: client.conversations.retrieve(conversation.id),
        lambda: client.responses.create(model="m", input="a", conversation=conversation.id),
        lambda: client.responses.create(model="m", input="a", conversation="conv_unknown"),
    ):
        with pytest.raises(openai.NotFoundError, match=r"Conversation with id 'conv_.*' not found"):
            use()


def test_a_chat_completion_is_kept_if_the_request_says_so(client: openai.OpenAI) -> None:
    create = client.chat.completions.create
    plain = create(model="gpt-4o", messages=HELLO)
    kept = create(model="gpt-4o", messages=HELLO, store=True, metadata={"a": "b"})
    *_, last = create(model="gpt-5", messages=HELLO, store=True, stream=True)
    retrieved = client.chat.completions.retrieve(kept.id)
    assert retrieved.choices == kept.choices
    assert getattr(retrieved, "metadata", None) == {"a": "b"}
    assert client.chat.completions.retrieve(last.id).choices[0].message.content == "Hi!"
    assert [each.id for each in client.chat.completions.list()] == [kept.id, last.id]
    assert [each.id for each in client.chat.completions.list(model="gpt-5")] == [last.id]
    [message] = client.chat.completions.messages.list(kept.id).data
    assert (message.id, message.content) == (f"{kept.id}-0", "Hello")
    assert message.to_dict()["content_parts"] is None
    updated = client.chat.completions.update(kept.id, metadata={"c": "d"})
    assert getattr(updated, "metadata", None) == {"c": "d"}
    assert client.chat.completions.delete(kept.id).deleted
    for completion_id in (plain.id, kept.id):
        with pytest.raises(openai.NotFoundError, match=completion_id):
            client.chat.completions.retrieve(completion_id)


def test_a_chat_completion_is_kept_with_all_its_candidates(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(candidates=["Hi!", "Hello!"]))
    kept = client.chat.completions.create(model="gpt-4o", messages=HELLO, n=2, store=True)
    found = client.chat.completions.retrieve(kept.id)
    assert [choice.message.content for choice in found.choices] == ["Hi!", "Hello!"]
    assert found.choices == kept.choices


def test_parts_of_a_stored_message_are_listed_as_parts(client: openai.OpenAI) -> None:
    parts: Any = [{"type": "text", "text": "Hello"}]
    kept = client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": parts}], store=True
    )
    assert fetch(client, f"chat/completions/{kept.id}/messages")["data"] == [
        {
            "id": f"{kept.id}-0",
            "role": "user",
            "content": None,
            "name": None,
            "content_parts": parts,
        }
    ]


def test_a_template_needs_neither_input_nor_model(
    client: openai.OpenAI, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("pmpt_1", "From a template.")
    answer = client.responses.create(prompt={"id": "pmpt_1", "variables": {"city": "Rome"}})
    assert answer.output_text == "From a template."
    answer = client.responses.create(model="gpt-5", prompt={"id": "pmpt_1"})
    assert answer.output_text == "Hi!"
    with pytest.raises(openai.BadRequestError, match="model"):
        client.responses.create(input="Hello")


def test_state_ends_with_a_reset(client: openai.OpenAI, mock_llm_responses: LLMMock) -> None:
    created = client.responses.create(model="gpt-5", input="Hello")
    mock_llm_responses.reset()
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(created.id)


def test_no_more_is_kept_than_calls() -> None:
    mock = LLMMock()
    mock.history.limit = 2
    for number in range(4):
        mock.store_object(f"object {number}", {})
    assert list(mock.stored_objects) == ["object 2", "object 3"]


def test_other_providers_keep_nothing(mock_llm_calls: LLMMock) -> None:
    response = httpx.get("https://api.mistral.ai/v1/conversations/conv_1")
    assert "is not supported by llm_mock" in response.text
    mock_llm_calls.refusals.clear()


IDS = """
    import httpx, pytest
    from llm_mock import Reply, ToolCall

    HELLO = [{"role": "user", "content": "Hello"}]
    TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    KEYS = {"authorization": "Bearer any", "x-api-key": "any", "x-goog-api-key": "any"}
    GEMINI = "generativelanguage.googleapis.com/v1beta/models/n:generateContent"

    def post(path, **body):
        return httpx.post(f"https://{path}", json=body, headers=KEYS).json()

    def collect_ids():
        url = "api.openai.com/v1/chat/completions"
        completion = post(url, model="m", messages=HELLO, tools=TOOLS)
        yield completion["id"]
        yield from (call["id"] for call in completion["choices"][0]["message"]["tool_calls"])
        response = post("api.openai.com/v1/responses", model="n", input="Hello")
        yield from (response["id"], response["output"][0]["id"])
        yield post("api.openai.com/v1/conversations")["id"]
        yield post("api.anthropic.com/v1/messages", model="n", max_tokens=9, messages=HELLO)["id"]
        yield post(GEMINI, contents=[{"role": "user", "parts": [{"text": "Hi"}]}])["responseId"]
        yield post("api.openai.com/v1/moderations", input="Hello")["id"]
        yield post("api.mistral.ai/v1/embeddings", model="n", input=["Hello"])["id"]

    @pytest.mark.parametrize("number", [1, 2])
    def test_it(number, mock_llm_responses):
        for _ in range(2):
            mock_llm_responses.set("n", "Hi!")
            mock_llm_responses.set("m", Reply(tool_calls=[ToolCall("f", {})]))
            for each in collect_ids():
                print("id:", each)
            mock_llm_responses.reset()
"""


def test_ids_never_repeat_within_a_run_and_are_the_same_in_each_run(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(IDS)
    # In a process of its own: the tests of this project have short ids.
    runs = []
    for order in ("test_it[1] test_it[2]", "test_it[2] test_it[1]"):
        names = [
            f"{next(iter(pytester.path.glob('test_*.py'))).name}::{name}" for name in order.split()
        ]
        result = pytester.runpytest_subprocess("-s", "-p", "no:cacheprovider", *names)
        result.assert_outcomes(passed=2)
        ids = [line.partition("id: ")[2] for line in result.outlines if "id: " in line]
        assert len(set(ids)) == len(ids) == 36
        runs.append(sorted(ids))
    assert runs[0] == runs[1]
