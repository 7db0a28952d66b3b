"""Usage of LangChain, which is the same with the chat model of each of its packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent

from tests.libraries.scenario import PROMPT, Weather, weather

MESSAGES: Any = {"messages": [{"role": "user", "content": PROMPT}]}


class ChatModelUsage:
    """The functions of a library's file, for a chat model of LangChain.

    Args:
        model_class: The class of the chat model.
        model: The name of the model.
    """

    def __init__(self, model_class: Callable[..., Any], model: str) -> None:
        self._model_class = model_class
        self._model = model
        self.functions = (
            self._plain,
            self._streamed,
            self._tools,
            self._structured,
            self._asynchronous,
            self._retried,
        )
        """The functions in the order of `CAPABILITIES`."""

    def _make_model(self) -> Any:
        return self._model_class(model=self._model)

    def _plain(self) -> str:
        return self._make_model().invoke(PROMPT).text

    def _streamed(self) -> list[str]:
        return [chunk.text for chunk in self._make_model().stream(PROMPT)]

    def _tools(self) -> str:
        agent = create_agent(self._make_model(), tools=[weather])
        return agent.invoke(MESSAGES)["messages"][-1].text

    def _structured(self) -> Weather:
        return self._make_model().with_structured_output(Weather).invoke(PROMPT)

    async def _asynchronous(self) -> str:
        return (await self._make_model().ainvoke(PROMPT)).text

    def _retried(self) -> str:
        return self._make_model().with_retry(stop_after_attempt=2).invoke(PROMPT).text
