"""Mocks of OpenAI's Responses API."""

import asyncio
import json
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import httpx
import openai
import pytest
from assistants import count_response, describe_response, respond_async, respond_in_parts, respond_patiently
from assistants import get_response_id, respond_with_call, respond_with_output, respond_with_text
from openai.types.responses import Response, ResponseOutputMessage, ResponseOutputText

FAULTS = ("", "prompt", "system", "answer", "model", "retry", "twice", "no call")
NO_NETWORK = openai.APIConnectionError(request=httpx.Request("POST", "https://api.openai.com"))


@pytest.fixture
def client():
    with patch("assistants.OpenAI") as client_class:
        yield client_class.return_value


def test_a_text(client):
    client.responses.create.return_value = Mock(output_text="Hi")
    assert respond_with_text("a question") == "Hi"
    client.responses.create.assert_called_once()
    assert client.responses.create.call_args.kwargs["input"] == "a question"
    assert client.responses.create.call_args.kwargs["instructions"] == "Be brief"


def test_an_attribute(client):
    # what the model says
    client.responses.create.return_value.output_text = "Hi"
    assert respond_with_text("a question") == "Hi"
    client.responses.create.assert_called_once_with(
        model="gpt-4o-mini", instructions="Be brief", input="a question"
    )


def test_a_handed_client():
    client = MagicMock()
    client.responses.create.return_value = SimpleNamespace(output_text="Hi", status="completed")
    assert respond_with_text("a question", client) == "Hi"


def test_an_output(client):
    part = Mock(type="output_text", text="Hi", annotations=[])
    response = Mock(output=[Mock(type="message", content=[part])])
    client.responses.create.return_value = response
    assert respond_with_output("a question") == "Hi"
    assert "temperature" not in client.responses.create.call_args.kwargs


def test_a_text_and_its_output(client):
    part = SimpleNamespace(type="output_text", text="Hi")
    client.responses.create.return_value = SimpleNamespace(
        id="resp_1", output=[SimpleNamespace(content=[part], role="assistant")], output_text="Hi"
    )
    assert respond_with_output("a question") == "Hi"


def test_an_id_that_the_application_returns(client):
    response = {
        "id": "resp_7",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
    }
    client.responses.create.return_value = response
    assert get_response_id("a question") == "resp_7"


def test_an_id_in_the_same_statement(client):
    client.responses.create.return_value = {"id": "resp_8", "output_text": "Hi", "output": []}
    assert get_response_id("a question") == "resp_8"


def test_a_function_call(client):
    call = Mock(type="function_call", arguments='{"city": "Bern"}', call_id="call_1")
    call.name = "weather"
    client.responses.create.return_value = Mock(output=[call], output_text="")
    assert respond_with_call("a question") == ("weather", '{"city": "Bern"}')


def test_dumped_arguments(client):
    call = SimpleNamespace(
        type="function_call", name="weather", arguments=json.dumps({"city": "Bern"}), call_id="c"
    )
    client.responses.create.return_value = SimpleNamespace(output=[call])
    assert json.loads(respond_with_call("a question")[1]) == {"city": "Bern"}


def test_usage(client):
    usage = Mock(input_tokens=3, output_tokens=4, total_tokens=7)
    client.responses.create.return_value = Mock(output_text="Hi", usage=usage)
    assert count_response("a question") == 7


def test_types_of_the_sdk(client):
    part = ResponseOutputText(type="output_text", text="Hi", annotations=[])
    message = ResponseOutputMessage(
        id="msg_1", type="message", role="assistant", status="completed", content=[part]
    )
    client.responses.create.return_value = Response.model_construct(
        id="resp_1", output=[message], status="completed"
    )
    assert respond_with_output("a question") == "Hi"


def test_a_complete_response(client):
    part = ResponseOutputText(type="output_text", text="Hi", annotations=[])
    message = ResponseOutputMessage(
        id="msg_1", type="message", role="assistant", status="completed", content=[part]
    )
    client.responses.create.return_value = Response(
        id="resp_1",
        object="response",
        created_at=1700000000,
        model="gpt-4o-mini",
        output=[message],
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
    )
    assert respond_with_text("a question") == "Hi"


def test_an_item_with_all_its_fields(client):
    call = SimpleNamespace(
        type="function_call",
        name="weather",
        arguments="{}",
        call_id="call_1",
        id="fc_1",
        status="completed",
    )
    client.responses.create.return_value = SimpleNamespace(output=[call])
    assert respond_with_call("a question") == ("weather", "{}")


def test_details_of_a_response(client):
    client.responses.create.return_value = SimpleNamespace(
        metadata={},
        temperature=1.0,
        billing={"payer": "developer"},
        service_tier="flex",
        output=[
            SimpleNamespace(type="reasoning", summary=[SimpleNamespace(text="Hm")]),
            SimpleNamespace(type="message", content=[SimpleNamespace(text="Hi")]),
        ],
        usage=SimpleNamespace(
            input_tokens=3,
            input_tokens_details=SimpleNamespace(cached_tokens=0),
            output_tokens=4,
            output_tokens_details=SimpleNamespace(reasoning_tokens=2),
        ),
    )
    assert describe_response("a question") == "Hm/flex/2"


def test_events_with_all_their_fields(client):
    client.responses.create.return_value = [
        SimpleNamespace(
            type="response.output_text.delta",
            delta="Hi",
            sequence_number=1,
            item_id="msg_1",
            output_index=0,
            content_index=0,
        )
    ]
    assert respond_in_parts("a question") == ["Hi"]


def test_one_after_the_other(client):
    client.responses.create.side_effect = [Mock(output_text="One"), Mock(output_text="Two")]
    assert [respond_with_text("a"), respond_with_text("b")] == ["One", "Two"]
    assert client.responses.create.call_count == 2
    inputs = [call.kwargs["input"] for call in client.responses.create.call_args_list]
    assert inputs == ["a", "b"]


def test_a_stream(client):
    client.responses.create.return_value = [
        SimpleNamespace(type="response.output_text.delta", delta="Hi "),
        SimpleNamespace(type="response.output_text.delta", delta="you"),
    ]
    assert respond_in_parts("a question") == ["Hi ", "you"]
    assert client.responses.create.call_args.kwargs["stream"] is True


def test_a_stream_with_its_usage(client):
    usage = SimpleNamespace(input_tokens=3, output_tokens=4)
    client.responses.create.return_value = [
        SimpleNamespace(type="response.created", response=SimpleNamespace(id="resp_1")),
        SimpleNamespace(type="response.output_text.delta", delta="Hi", logprobs=[]),
        SimpleNamespace(type="response.completed", response=SimpleNamespace(usage=usage)),
    ]
    assert respond_in_parts("a question") == ["Hi"]


def test_an_error_first(client):
    client.responses.create.side_effect = [NO_NETWORK, Mock(output_text="Hi")]
    assert respond_patiently("a question") == "Hi"


def test_an_async_client():
    with patch("assistants.AsyncOpenAI") as client_class:
        client_class.return_value.responses.create = AsyncMock(
            return_value=Mock(output_text="Hi")
        )
        assert asyncio.run(respond_async("a question")) == "Hi"
        client_class.return_value.responses.create.assert_awaited_once()


@patch("openai.resources.responses.Responses.create")
def test_the_method_itself(create):
    create.return_value = Mock(output_text="Hi")
    assert respond_with_text("a question") == "Hi"
