"""xAI's SDK."""

from __future__ import annotations

from xai_sdk import Client
from xai_sdk.chat import user

from tests.libraries.scenario import PROMPT

REQUIREMENTS = "xai-sdk"
ENVIRONMENT = "sdks"
ASKS = "xAI (gRPC)"
REFUSED = (
    "The library uses gRPC, and the mock refuses gRPC calls. Use the `openai` SDK to call xAI's "
    "API."
)


def refused() -> object:
    chat = Client(api_key="test").chat.create(model="grok-4")
    chat.append(user(PROMPT))
    return chat.sample()
