"""Usage of Chat Completions, which is the same with the client of each SDK that has this API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.libraries.scenario import PROMPT, SCHEMA, Weather, weather

MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}


class ChatCompletionsUsage:
    """The functions of a library's file, for the clients of an SDK.

    Args:
        client_class: The class of the client.
        async_class: The class of the asynchronous client.
        model: The name of the model.
    """

    def __init__(
        self, client_class: Callable[[], Any], async_class: Callable[[], Any], model: str
    ) -> None:
        self._client_class = client_class
        self._async_class = async_class
        self._model = model
        self.functions = (
            self._plain,
            self._streamed,
            self._tools,
            self._structured,
            self._asynchronous,
            self._plain,  # the client retries by itself
        )
        """The functions in the order of `CAPABILITIES`."""

    def _create(self, messages: list[Any] = MESSAGES, **fields: Any) -> Any:
        create = self._client_class().chat.completions.create
        return create(model=self._model, messages=messages, **fields)

    def _plain(self) -> str:
        return self._create().choices[0].message.content

    def _streamed(self) -> list[str]:
        return [chunk.choices[0].delta.content for chunk in self._create(stream=True)]

    def _tools(self) -> str:
        messages = [*MESSAGES]
        while True:
            message = self._create(messages, tools=[TOOL]).choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message)
            for call in message.tool_calls:
                result = weather(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def _structured(self) -> Weather:
        schema = {"name": "weather", "schema": Weather.model_json_schema()}
        answer = self._create(response_format={"type": "json_schema", "json_schema": schema})
        return Weather.model_validate_json(answer.choices[0].message.content)

    async def _asynchronous(self) -> str:
        async with self._async_class() as client:
            answer = await client.chat.completions.create(model=self._model, messages=MESSAGES)
        return answer.choices[0].message.content
