"""Each variable in which a library looks for its key is named where the key is missing."""

from __future__ import annotations

from collections.abc import Callable

import llm
import openai
import pytest

from llm_mock.core import context
from llm_mock.plugin.missing_keys import explain_missing_key, explain_missing_vocabulary
from llm_mock.support.environment import PLACES

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
        f"{variable} is not set, and llm_mock does not change the environment. Set it in the test: "
        f'monkeypatch.setenv("{variable}", "test"). For a client that is made at import, set it in '
        f'conftest.py: os.environ["{variable}"] = "test". No real key is needed.'
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
    assert explain_missing_key(error).startswith(f"{expected} not set, and llm_mock")
    other = type(kind, (Exception,), {"__module__": "other"})("not found")
    assert explain_missing_key(other) == ""


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AZURE_OPENAI_ENDPOINT", "https://test.openai.azure.com"),
        ("CLOUD_ML_REGION", "us-east5"),
        ("OPENAI_API_VERSION", "2024-10-21"),
    ],
)
def test_a_place_that_an_error_names_has_a_value_for_tests(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    shown = explain_missing_key(ValueError(f"Set {variable}"))
    assert f'Set it in the test: monkeypatch.setenv("{variable}", "{value}").' in shown
    assert f'conftest.py: os.environ["{variable}"] = "{value}". No' in shown


def test_an_error_of_llm_names_the_variable_of_any_plugin() -> None:
    message = "No key found - add one using 'llm keys set acme' or set the ACME_SECRET variable"
    assert explain_missing_key(llm.NeedsKeyException(message)).startswith("ACME_SECRET is not set")
    assert explain_missing_key(llm.ModelError(message)) == ""


def test_the_late_error_of_langchain_has_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = "Sync client is not available. This happens when an async callable was provided."
    assert explain_missing_key(ValueError(text)).startswith("OPENAI_API_KEY is not set")


@pytest.mark.parametrize(("mode", "is_named"), [("true", True), ("false", False)])
def test_a_key_that_an_import_misses_is_named(
    mode: str, is_named: bool, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pytester.makeini(f"[pytest]\nllm_mock = {mode}")
    pytester.makepyfile(
        test_agent="raise ValueError('Set the OPENAI_API_KEY environment variable')",
        test_other="raise ValueError('no key')",
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=2)
    lines = ["*- LLM keys -*", 'OPENAI_API_KEY is not set, *os.environ["OPENAI_API_KEY"] = "test"*']
    titles = [line for line in result.outlines if "- LLM keys -" in line]
    assert len(titles) == is_named
    if is_named:
        result.stdout.fnmatch_lines([line.replace("[", "[[]") for line in lines], consecutive=True)


def test_a_model_that_passes_through_needs_a_real_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    error = ValueError("Set OPENAI_API_KEY")
    previous = context.set_passthrough(["gpt-*"])
    try:
        shown = explain_missing_key(error)
    finally:
        context.set_passthrough(previous)
    assert shown.endswith('"test". Only models of ini llm_mock_passthrough need a real key.')


def ask_hub() -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    client = huggingface_hub.InferenceClient(provider="together", model="org/any")
    client.chat_completion(messages=[{"role": "user", "content": "Hello"}])


def ask_azure() -> None:
    openai.AzureOpenAI(api_version="2024-10-21")


def ask_azure_without_a_version() -> None:
    openai.AzureOpenAI(azure_endpoint="https://test.openai.azure.com")


def ask_vertex() -> None:
    pytest.importorskip("anthropic").AnthropicVertex()


@pytest.mark.parametrize(
    ("ask", "variable"),
    [
        (ask_azure, "AZURE_OPENAI_ENDPOINT"),
        (ask_azure_without_a_version, "OPENAI_API_VERSION"),
        (ask_hub, "HF_TOKEN"),
        (ask_vertex, "CLOUD_ML_REGION"),
    ],
)
def test_errors_of_libraries_have_their_variable(
    ask: Callable[[], None], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*VARIABLES, *PLACES):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Exception, match=variable.replace("HF_TOKEN", "hf auth login")) as caught:
        ask()
    assert explain_missing_key(caught.value).startswith(f"{variable} is not set")


def test_a_vocabulary_that_cannot_be_downloaded_is_explained() -> None:
    host = "openaipublic.blob.core.windows.net"
    error = OSError(f"Failed to resolve '{host}'")
    message = explain_missing_vocabulary(error)
    assert message.startswith(f"tiktoken downloads its vocabulary from {host} when it first counts")
    assert explain_missing_vocabulary(OSError("Failed to resolve 'example.com'")) == ""
    assert explain_missing_vocabulary(None) == ""
    assert explain_missing_key(error) == ""
