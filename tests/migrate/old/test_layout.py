# The first comment of the file.
"""Comments, blank lines and blocks, which stay where they were."""

# Above the imports.
import asyncio
import contextlib
import os  # noqa: F401
from pathlib import Path
from unittest.mock import (
    AsyncMock,
    Mock,
    patch,
)

import pytest
import reviews

# The application.
from reviews import greet, streamed, summarize, translate

FAULTS = ("",)

# --- helpers ---


def answering(text):
    """A helper that is not needed any more."""
    return Mock(**{"prompt.return_value.text.return_value": text})


# --- fixtures ---


@pytest.fixture
def response():
    return Mock(**{"text.return_value": "Short"})


@pytest.fixture
def path(tmp_path):
    # A fixture that has nothing to do with it.
    yield tmp_path / "file"


@pytest.fixture()
def mocked_llm(response):  # one that is
    """Patch it."""
    # Setup
    with patch("reviews.get_model") as get_model:  # until the end
        get_model.return_value.prompt.return_value = response

        # Run
        yield get_model
        # Teardown
    # Done


# --- tests ---


def test_comments():
    """The docstring stays."""
    # Setup
    model = Mock()
    model.prompt.return_value.text.return_value = "Short"  # what it says

    # Patch
    with patch("reviews.get_model", return_value=model):  # everywhere
        # Act
        result = summarize("a")  # the call

        # Assert
        assert result == "Short"  # the answer
        # Nothing else.

    # Afterwards
    model.prompt.assert_called_once()  # one call
    # The end of the test.


def test_comments_inside_of_statements():
    with (
        # The model.
        patch("reviews.get_model") as get_model,  # of the application
        # Another one.
        patch("reviews.as_json", return_value="{}"),  # of something else
    ):
        get_model.return_value.prompt.return_value.text.return_value = (
            # In parentheses.
            "Short"  # behind it
        )
        assert summarize("a") == "Short"


def test_comments_of_patches_that_go():
    with (
        # The model.
        patch("reviews.get_model") as get_model,  # of the application
        # The async model.
        patch("reviews.get_async_model") as get_async_model,  # of another one
        # Behind them.
    ):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_async_model.return_value.prompt.return_value.text = AsyncMock(return_value="Short")
        assert summarize("a") == asyncio.run(translate("a"))


def test_comments_of_a_mock_that_is_configured_later():
    # The answer
    model = Mock()
    text = "a"

    # The model
    response = model.prompt.return_value

    # Another file
    file = Path("file")
    # What it says
    response.text.return_value = "Short"
    with patch("reviews.get_model", return_value=model):
        assert summarize(text + file.suffix) == "Short"


def test_a_comment_of_a_mock_that_is_not_configured():
    # The answer
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize("a") == "Short"
        # The call
        call = get_model.return_value.prompt.call_args

        # Its prompt
        assert call.args[0] == "Summarize: a"
        # Another answer
        get_model.return_value.prompt.return_value.text.return_value = "Later"
        assert summarize("b") == "Later"


# Above the decorators.
@pytest.mark.parametrize("text", ["a", "b"])  # two texts
# The model.
@patch("reviews.get_model")  # of the application
# Below the decorators.
def test_comments_of_decorators(get_model, text):
    get_model.return_value = answering("Short")
    assert summarize(text) == "Short"


@patch("reviews.get_model", return_value=answering("Short"))
def test_one_line(get_model): assert summarize("a") == "Short"  # fmt: skip


@patch("reviews.get_model", return_value=answering("Short"))
def test_one_line_of_two_statements(get_model): text = summarize("a"); assert text == "Short"  # fmt: skip


def test_a_block_of_one_line():
    with patch("reviews.get_model", return_value=answering("Short")): assert summarize("a") == "Short"  # fmt: skip


def test_another_block_of_one_line():
    with patch("reviews.get_model", return_value=answering("Short")), contextlib.suppress(KeyError): assert summarize("a") == "Short"  # fmt: skip


def test_blocks_around_it(tmp_path: Path):
    with contextlib.suppress(KeyError):
        with patch("reviews.get_model", return_value=answering("Short")):
            with open(tmp_path / "file", "w") as file:
                file.write(summarize("a"))

    assert (tmp_path / "file").read_text() == "Short"


def test_a_patch_behind_another_one(tmp_path: Path):
    # A file and a model.
    with open(tmp_path / "file", "w") as file, patch("reviews.get_model") as get_model:
        get_model.return_value = answering("Short")
        file.write(summarize("a"))
    assert (tmp_path / "file").read_text() == "Short"


def test_a_patch_before_another_one(tmp_path: Path):
    # A model and a file.
    with patch("reviews.get_model") as get_model, open(tmp_path / "file", "w") as file:
        get_model.return_value = answering("Short")
        file.write(summarize("a"))
    assert (tmp_path / "file").read_text() == "Short"


def test_conditions_and_loops():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        for text in ("a", "b"):
            if text:
                # Each of them.
                assert summarize(text) == "Short"
            else:
                pass
        try:
            summarize("c")
        finally:
            # Three by now.
            assert get_model.return_value.prompt.call_count == 3
        while get_model.return_value.prompt.call_count < 4:
            summarize("d")


def test_reads_in_a_loop():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        for number, text in enumerate(("a", "b"), start=1):
            summarize(text)
            # The last one.
            import json

            call = get_model.return_value.prompt.call_args
            assert call.args[0] == json.loads(json.dumps(f"Summarize: {text}"))
            assert get_model.return_value.prompt.call_count == number


def test_assertions_in_a_condition():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        if summarize("a"):
            get_model.return_value.prompt.assert_called_once_with("Summarize: a", system="Be brief")
        # Another answer.
        get_model.return_value.prompt.return_value.text.return_value = "Later"
        assert summarize("b") == "Later"


def test_a_function_in_a_test():
    def ask():
        # The application.
        return summarize("a")

    def unused_answer():
        return answering("Short")

    with patch("reviews.get_model", return_value=unused_answer()):
        assert ask() == "Short"


def test_an_import_in_a_test():
    import json
    from unittest.mock import MagicMock

    model = MagicMock()
    model.prompt.return_value.text.return_value = json.dumps("Short")
    with patch("reviews.get_model", return_value=model):
        assert summarize("a") == json.dumps("Short")


def test_several_statements_in_a_line():
    with patch("reviews.get_model", return_value=answering("Short")):
        first = summarize("a"); second = summarize("b")  # noqa: E702
        assert (first, second) == ("Short", "Short")


def test_a_fixture(mocked_llm, path):
    assert summarize("a") == "Short"
    mocked_llm.return_value.prompt.assert_called_once()


class TestClass:
    """The docstring of a class."""

    name = "Ada"

    def setup_method(self):
        # Nothing to do with it.
        self.text = "Hello"

    @patch("reviews.llm.get_model")
    def test_a_method(self, get_model):
        get_model.return_value = answering("Ada")
        assert greet(self.text) == self.name

    @patch("reviews.get_model")
    def test_a_keyword(self, get_model, *, name="Ada"):
        get_model.return_value = answering("Short")
        assert summarize(name) == "Short"


class TestOuter:
    class TestInner:
        def test_an_inner_class(self):
            assert reviews.as_json(1) == "1"


@pytest.mark.asyncio
async def test_an_async_test():
    # What it says.
    with patch("reviews.get_async_model") as get_async_model:
        get_async_model.return_value.prompt.return_value.text = AsyncMock(return_value="Hallo")
        assert await translate("a") == "Hallo"


@pytest.mark.asyncio
@patch("reviews.get_async_model")
async def test_an_async_stream(get_async_model, tmp_path):
    get_async_model.return_value.prompt.return_value.__aiter__.return_value = ["Hal", "lo"]
    async with asyncio.timeout(5) if hasattr(asyncio, "timeout") else contextlib.nullcontext():
        assert [chunk for chunk in await reviews.astreamed("a")] == ["Hal", "lo"]


def test_a_stream(
    tmp_path,
    monkeypatch,
):
    # A comma behind the last parameter.
    model = Mock(**{"prompt.return_value": ["Hel", "lo"]})
    monkeypatch.setattr("reviews.get_model", lambda name: model)
    assert streamed("a") == ["Hel", "lo"]
    # The end of the file.
