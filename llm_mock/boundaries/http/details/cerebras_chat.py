"""Cerebras's chat completions with details of replies."""

from __future__ import annotations

from llm_mock.boundaries.http.details.openai_chat import DetailedChat
from llm_mock.boundaries.http.protocols.cerebras_chat import CerebrasChat


class DetailedCerebrasChat(DetailedChat, CerebrasChat):
    """`POST …/chat/completions` of Cerebras, with details."""


PROTOCOL = DetailedCerebrasChat()
