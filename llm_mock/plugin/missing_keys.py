"""Name the environment variable to set where a test fails because a library finds no key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from llm_mock.support.exceptions import get_exception_text

VARIABLES = frozenset(
    {
        "AI21_API_KEY",
        "ANTHROPIC_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_SECRET_ACCESS_KEY",
        "AZURE_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "CEREBRAS_API_KEY",
        "COHERE_API_KEY",
        "CO_API_KEY",
        "DASHSCOPE_API_KEY",
        "DEEPINFRA_API_KEY",
        "DEEPINFRA_API_TOKEN",
        "DEEPSEEK_API_KEY",
        "FIREWORKS_API_KEY",
        "GEMINI_API_KEY",
        "GITHUB_API_KEY",
        "GOOGLE_API_KEY",
        "GROQ_API_KEY",
        "HF_TOKEN",
        "HUGGINGFACEHUB_API_TOKEN",
        "HUGGINGFACE_API_KEY",
        "JINA_API_KEY",
        "MISTRAL_API_KEY",
        "MOONSHOTAI_API_KEY",
        "MOONSHOT_API_KEY",
        "NEBIUS_API_KEY",
        "NVIDIA_API_KEY",
        "OLLAMA_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "PERPLEXITY_API_KEY",
        "PPLX_API_KEY",
        "REPLICATE_API_TOKEN",
        "SAMBANOVA_API_KEY",
        "TOGETHER_API_KEY",
        "VOYAGE_API_KEY",
        "WATSONX_APIKEY",
        "XAI_API_KEY",
    }
)
"""The variables in which libraries look for the key of a provider."""
BY_TYPE = {
    "botocore.exceptions.NoCredentialsError": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "botocore.exceptions.NoRegionError": ("AWS_DEFAULT_REGION",),
    "google.auth.exceptions.DefaultCredentialsError": ("GOOGLE_APPLICATION_CREDENTIALS",),
}
"""The variables by the type of an error that names none."""
NAME = re.compile(r"\b[A-Z][A-Z0-9_]{6,39}\b")
LONGEST = 5_000
"""Characters of a message that are searched."""


def missing_key_text(error: BaseException | None) -> str:
    """Return which variables to set; empty where the error is not that of a missing key."""
    if error is None or isinstance(error, AssertionError):
        return ""
    names: list[str] = []
    for each in _chain(error):
        kind = type(each)
        named = NAME.findall(get_exception_text(each)[:LONGEST])
        known = [name for name in named if name in VARIABLES]
        names += known or BY_TYPE.get(f"{kind.__module__}.{kind.__qualname__}", ())
    missing = [name for name in dict.fromkeys(names) if not os.environ.get(name)]
    if not missing:
        return ""
    example = f'monkeypatch.setenv("{missing[0]}", "test")'
    listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} or {missing[-1]}"
    return (
        f"No key for a provider: {listed} is not set, and llm_mock leaves the environment as it "
        f"is. Set it in the test: {example}. No real key is needed."
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that led to it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        hidden = None if current.__suppress_context__ else current.__context__
        current = current.__cause__ or hidden
