"""Keys for frameworks that look for one themselves, before the SDK under them does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

VARIABLES = (
    "ANTHROPIC_API_KEY",
    "DEEPSEEK_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)


@pytest.fixture(autouse=True, scope="session")
def _keys() -> Iterator[None]:
    """Set what the frameworks check; the mock answers, so no key need be real."""
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.setenv(name, "none")
        yield
