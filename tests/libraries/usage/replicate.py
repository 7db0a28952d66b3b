"""Replicate's SDK."""

from __future__ import annotations

import replicate

from tests.libraries.scenario import PROMPT

REQUIREMENTS = "replicate"
ENVIRONMENT = "sdks"
ASKS = "Replicate"
REFUSED = (
    "Each model has its own prediction format, so the mock refuses requests with an error in "
    "Replicate's format."
)


def refused() -> object:
    client = replicate.Client(api_token="test")
    return client.run("meta/meta-llama-3-8b-instruct", input={"prompt": PROMPT})
