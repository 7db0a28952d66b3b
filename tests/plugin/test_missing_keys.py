"""Each variable in which a library looks for its key is named where the key is missing."""

from __future__ import annotations

import pytest

from llm_mock.plugin.missing_keys import explain_missing_key

VARIABLES = [
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
]
EXCEPTIONS = {
    "botocore.exceptions.NoCredentialsError": "AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is",
    "botocore.exceptions.NoRegionError": "AWS_DEFAULT_REGION is",
    "google.auth.exceptions.DefaultCredentialsError": "GOOGLE_APPLICATION_CREDENTIALS is",
}


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_that_an_error_names_is_to_be_set(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    error = ValueError(f"Set {variable}, please")
    assert explain_missing_key(error) == (
        f"No key for a provider: {variable} is not set, and llm_mock leaves the environment as it "
        f'is. Set it in the test: monkeypatch.setenv("{variable}", "test"). No real key is needed.'
    )
    for other in (f"{variable}X", f"X{variable}", variable.lower()):
        assert explain_missing_key(ValueError(f"Set {other}, please")) == ""
    monkeypatch.setenv(variable, "test")
    assert explain_missing_key(error) == ""


@pytest.mark.parametrize(("name", "expected"), EXCEPTIONS.items())
def test_an_error_that_names_no_variable_has_those_of_its_type(
    name: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "DEFAULT_REGION"):
        monkeypatch.delenv(f"AWS_{variable}", raising=False)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    module, _, kind = name.rpartition(".")
    error = type(kind, (Exception,), {"__module__": module})("not found")
    assert f"No key for a provider: {expected} not set" in explain_missing_key(error)
    other = type(kind, (Exception,), {"__module__": "other"})("not found")
    assert explain_missing_key(other) == ""
