"""Cerebras's chat completions, a variant of OpenAI's. See https://inference-docs.cerebras.ai."""

from __future__ import annotations

from llm_mock.boundaries.http.protocols.openai_chat import OpenAIChat


class CerebrasChat(OpenAIChat):
    """`POST …/chat/completions` of Cerebras."""

    # Without a fingerprint, the SDK parses a chunk as another type, whose deltas are dicts.
    system_fingerprint = "fp_mock"


PROTOCOL = CerebrasChat()
