"""The environment variable to set when a test fails because a library finds no key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

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
BY_TYPE: dict[str, Sequence[str]] = {
    "botocore.exceptions.NoCredentialsError": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "botocore.exceptions.NoRegionError": ("AWS_DEFAULT_REGION",),
    "google.auth.exceptions.DefaultCredentialsError": ("GOOGLE_APPLICATION_CREDENTIALS",),
}
"""The variables for types of errors whose messages name none."""
NAME = re.compile(r"\b[A-Z][A-Z0-9_]{6,39}\b")
LONGEST = 5_000
"""The number of characters of a message that are searched."""


def explain_missing_key(error: BaseException | None) -> str:
    """Return a message that names the variables to set; empty if no key is missing."""
    if error is None or isinstance(error, AssertionError):
        return ""
    names: list[str] = []
    for link in _chain(error):
        names += _variables_of(link)
    # A variable that is set is not what is missing: the library asked for another kind of key.
    missing = [name for name in dict.fromkeys(names) if not os.environ.get(name)]
    if not missing:
        return ""
    example = f'monkeypatch.setenv("{missing[0]}", "test")'
    *others, last = missing
    listed = f"{', '.join(others)} or {last}" if others else last
    return (
        f"No key for a provider: {listed} is not set, and llm_mock leaves the environment as it "
        f"is. Set it in the test: {example}. No real key is needed."
    )


def _variables_of(error: BaseException) -> Sequence[str]:
    """Return the variables that an error names, or that its type stands for."""
    names = NAME.findall(get_exception_text(error)[:LONGEST])
    known = [name for name in names if name in VARIABLES]
    kind = type(error)
    # By name, so that no library is imported for its types.
    return known or BY_TYPE.get(f"{kind.__module__}.{kind.__qualname__}", ())


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that, and so on."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        # As Python shows a chain: `raise … from None` hides the context.
        context = None if current.__suppress_context__ else current.__context__
        current = current.__cause__ or context
