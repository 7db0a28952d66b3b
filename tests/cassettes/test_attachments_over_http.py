"""Images, documents and audio that SDKs send inline: recorded, replayed and imported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
import vcr
from click.testing import CliRunner
from google import genai
from mistralai.client import errors

from llm_mock.cli import main
from tests.cassettes.attachments import ATTACHMENTS, PNG
from tests.cassettes.conftest import Run
from tests.provider_server import KEY, TEXT, ProviderServer

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

every_attachment = pytest.mark.parametrize(("ask", "part"), ATTACHMENTS.values(), ids=ATTACHMENTS)


@every_attachment
def test_another_attachment_is_another_call(
    ask: Callable[..., str], part: Any, run: Run, provider: ProviderServer
) -> None:
    run("all", lambda: ask(provider.url, part))
    with pytest.raises(
        (openai.APIError, anthropic.APIError, genai.errors.APIError, errors.SDKError)
    ):
        run("none", lambda: ask(provider.url))
    assert len(provider.requests) == 1
    assert run.problems != []


@pytest.mark.parametrize("streamed", [False, True])
def test_a_later_turn_has_the_attachment_in_its_history(
    run: Run, provider: ProviderServer, streamed: bool
) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}

    def converse() -> Any:
        said: Any = [{"role": "user", "content": [{"type": "text", "text": "Hello"}, image]}]
        said += [{"role": "assistant", "content": "A cat."}, {"role": "user", "content": "Sure?"}]
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            answer = client.chat.completions.create(model="gpt-4o", messages=said, stream=streamed)
            return len(list(answer)) if streamed else answer.choices[0].message.content

    recorded = run("all", converse)
    assert run("none", converse) == recorded
    assert (run.problems, len(provider.requests)) == ([], 1)


@every_attachment
def test_what_vcr_recorded_with_an_attachment_is_imported(
    ask: Callable[..., str],
    part: Any,
    tmp_path: Path,
    run: Run,
    provider: ProviderServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm_mock.boundaries.http.settings.http_settings.hosts", ())
    source, target = tmp_path / "test_it.yaml", tmp_path / "cassette.yaml"
    with vcr.VCR().use_cassette(str(source)):
        assert ask(provider.url, part) == TEXT
    result = CliRunner().invoke(
        main, ["import", str(source), "--host", provider.host, "-o", str(target)]
    )
    assert result.exit_code == 0, result.output
    assert "1 call" in result.output
    monkeypatch.setattr("llm_mock.boundaries.http.settings.http_settings.hosts", (provider.host,))
    assert run("none", lambda: ask(provider.url, part)) == TEXT
    assert (run.problems, len(provider.requests)) == ([], 1)
