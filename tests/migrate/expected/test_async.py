import asyncio

import pytest
from llm_mock import Reply
from reviews import astreamed, translate, translate_later


def test_an_async_text(mock_llm_responses):
    mock_llm_responses.set("*", "Hallo")
    assert asyncio.run(translate("Hello")) == "Hallo"


def test_an_async_model(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hallo")
    assert asyncio.run(translate("Hello")) == "Hallo"
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call["prompt"] == "Translate: Hello"
    assert mock_llm_calls.last_call["kwargs"]["schema"] is None
    assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
    assert mock_llm_calls.last_call["options"] == {}


def test_of_the_library(mock_llm_responses):
    mock_llm_responses.set("*", "Hallo")
    assert asyncio.run(translate_later("Hello")) == "Hallo"


def test_with_pytest_mock(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("gpt-4o", "Hallo")
    assert asyncio.run(translate("Hello")) == "Hallo"
    assert mock_llm_calls.requested_models == ["gpt-4o"]


def test_an_async_error(mock_llm_responses):
    mock_llm_responses.set_error("*", ValueError("too long"))
    with pytest.raises(ValueError, match="too long"):
        asyncio.run(translate("Hello"))


def test_an_async_stream(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hal", "lo"]))
    assert asyncio.run(astreamed("Hello")) == ["Hal", "lo"]
