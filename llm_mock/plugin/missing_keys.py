"""The environment variable to set when a test fails because a library needs a key or a region."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from llm_mock.core.context import has_passthrough
from llm_mock.support.environment import PLACES
from llm_mock.support.exceptions import get_exception_text
from llm_mock.support.text import join_alternatives

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
"""The variables for types of errors whose messages do not name a variable."""
BY_TEXT = {
    "log in with `hf auth login`": ("HF_TOKEN",),
    # LangChain's clients of OpenAI make no sync client without a key, and find the mistake late.
    "Sync client is not available": ("OPENAI_API_KEY",),
}
"""The variables for parts of messages that do not name a variable, if the error is a built-in."""
VOCABULARY_HOST = "openaipublic.blob.core.windows.net"
VOCABULARY = (
    f"tiktoken downloads its vocabulary from {VOCABULARY_HOST} when it first counts tokens. "
    "Download the vocabulary once and set TIKTOKEN_CACHE_DIR to its folder. Or turn off the count; "
    "in LangChain, write OpenAIEmbeddings(check_embedding_ctx_length=False)."
)
"""The message about a download that fails without a network."""
NAME = re.compile(r"\b[A-Z][A-Z0-9_]{6,39}\b")
NEEDS_KEY = "llm.errors.NeedsKeyException"
"""The error of `llm` for any model without a key; plugins choose the names of their variables."""
LONGEST = 5_000
"""The number of characters of a message that are searched."""


def explain_missing_key(error: BaseException | None) -> str:
    """Return a message that names the variables to set; empty if no key is missing."""
    if error is None or isinstance(error, AssertionError):
        return ""
    names: list[str] = []
    for link in _chain(error):
        names += _variables_of(link)
    # A variable that is set is not missing: the library needs another kind of key.
    missing = [name for name in dict.fromkeys(names) if not os.environ.get(name)]
    if not missing:
        return ""
    name = missing[0]
    value = PLACES.get(name, "test")
    if has_passthrough():
        need = "Only models of ini llm_mock_passthrough need a real key."
    else:
        need = "No real key is needed."
    return (
        f"{join_alternatives(missing)} is not set, and llm_mock does not change the environment. "
        f'Set it in the test: monkeypatch.setenv("{name}", "{value}"). For a client that is made '
        f'at import, set it in conftest.py: os.environ["{name}"] = "{value}". {need}'
    )


def explain_missing_vocabulary(error: BaseException | None) -> str:
    """Return what to do if tiktoken could not download its vocabulary; empty for other errors."""
    for link in _chain(error) if error is not None else ():
        if VOCABULARY_HOST in get_exception_text(link)[:LONGEST]:
            return VOCABULARY
    return ""


def _variables_of(error: BaseException) -> Sequence[str]:
    """Return the variables that an error names, or that its type stands for."""
    text = get_exception_text(error)[:LONGEST]
    # By name, so that no library is imported for its types.
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    names = NAME.findall(text)
    if kind == NEEDS_KEY:
        return names
    known = [name for name in names if name in VARIABLES or name in PLACES]
    if known:
        return known
    for part, variables in BY_TEXT.items():
        if part in text:
            return variables
    return BY_TYPE.get(kind, ())


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
