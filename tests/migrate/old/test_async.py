import asyncio
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import llm
import pytest
from reviews import astreamed, translate, translate_later


def test_an_async_text():
    with patch("reviews.get_async_model") as get_async_model:
        get_async_model.return_value.prompt.return_value.text = AsyncMock(return_value="Hallo")
        assert asyncio.run(translate("Hello")) == "Hallo"


@patch("reviews.get_async_model")
def test_an_async_model(get_async_model):
    model = MagicMock()
    response = Mock(text=AsyncMock(return_value="Hallo"))
    model.prompt.return_value = response
    get_async_model.return_value = model
    assert asyncio.run(translate("Hello")) == "Hallo"
    model.prompt.assert_called_once_with("Translate: Hello")


def test_of_the_library(monkeypatch):
    class Response:
        async def text(self):
            return "Hallo"

    class Model:
        def prompt(self, prompt):
            return Response()

    monkeypatch.setattr(llm, "get_async_model", lambda name: Model())
    assert asyncio.run(translate_later("Hello")) == "Hallo"


def test_with_pytest_mock(mocker):
    get_async_model = mocker.patch("reviews.get_async_model")
    get_async_model.return_value.prompt.return_value.text = mocker.AsyncMock(return_value="Hallo")
    assert asyncio.run(translate("Hello")) == "Hallo"
    get_async_model.assert_called_once_with("gpt-4o")


def test_an_async_error():
    with patch("reviews.get_async_model") as get_async_model:
        get_async_model.return_value.prompt.side_effect = ValueError("too long")
        with pytest.raises(ValueError, match="too long"):
            asyncio.run(translate("Hello"))


def test_an_async_stream():
    with patch("reviews.get_async_model") as get_async_model:
        get_async_model.return_value.prompt.return_value.__aiter__.return_value = ["Hal", "lo"]
        assert asyncio.run(astreamed("Hello")) == ["Hal", "lo"]
