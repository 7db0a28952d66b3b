# The first comment of the file.
"""Comments, blank lines and blocks, which stay where they were."""

# Above the imports.
import asyncio
import contextlib
import os  # noqa: F401
from pathlib import Path
from unittest.mock import (
    patch,
)

import pytest
import reviews
from llm_mock import Reply

# The application.
from reviews import greet, streamed, summarize, translate

FAULTS = ("",)

# --- helpers ---


# --- fixtures ---


@pytest.fixture
def path(tmp_path):
    # A fixture that has nothing to do with it.
    yield tmp_path / "file"


@pytest.fixture()
def mocked_llm(mock_llm_responses):  # one that is
    """Patch it."""
    # Setup
    # until the end
    mock_llm_responses.set("*", "Short")
    # Run
    # Teardown
    # Done


# --- tests ---


def test_comments(mock_llm_responses, mock_llm_calls):
    """The docstring stays."""
    # Setup
    # what it says
    # Patch
    # everywhere
    mock_llm_responses.set("*", "Short")
    # Act
    result = summarize("a")  # the call

    # Assert
    assert result == "Short"  # the answer
    # Nothing else.

    # Afterwards
    mock_llm_calls.assert_called_once()  # one call
    # The end of the test.


def test_comments_inside_of_statements(mock_llm_responses):
    # of the application
    # Another one.
    with (
        # The model.
        patch("reviews.as_json", return_value="{}"),  # of something else
    ):
        mock_llm_responses.set("*", (
            # In parentheses.
            "Short"  # behind it
        ))
        assert summarize("a") == "Short"


def test_comments_of_patches_that_go(mock_llm_responses):
    # The model.
    # of the application
    # The async model.
    # of another one
    # Behind them.
    mock_llm_responses.set("*", "Short")
    assert summarize("a") == asyncio.run(translate("a"))


def test_comments_of_a_mock_that_is_configured_later(mock_llm_responses):
    # The answer
    text = "a"

    # Another file
    file = Path("file")
    # The model
    # What it says
    mock_llm_responses.set("*", "Short")
    assert summarize(text + file.suffix) == "Short"


def test_a_comment_of_a_mock_that_is_not_configured(mock_llm_responses, mock_llm_calls):
    # The answer
    mock_llm_responses.set("*", "Short")
    assert summarize("a") == "Short"
    # The call

    # Its prompt
    assert mock_llm_calls.last_call["prompt"] == "Summarize: a"
    # Another answer
    mock_llm_responses.set("*", "Later")
    assert summarize("b") == "Later"


# Above the decorators.
@pytest.mark.parametrize("text", ["a", "b"])  # two texts
# The model.
# of the application
# Below the decorators.
def test_comments_of_decorators(text, mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize(text) == "Short"


def test_one_line(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a") == "Short"  # fmt: skip


def test_one_line_of_two_statements(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    text = summarize("a")
    assert text == "Short"  # fmt: skip


def test_a_block_of_one_line(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a") == "Short"  # fmt: skip


def test_another_block_of_one_line(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    with contextlib.suppress(KeyError):
        assert summarize("a") == "Short"  # fmt: skip


def test_blocks_around_it(tmp_path: Path, mock_llm_responses):
    with contextlib.suppress(KeyError):
        mock_llm_responses.set("*", "Short")
        with open(tmp_path / "file", "w") as file:
            file.write(summarize("a"))

    assert (tmp_path / "file").read_text() == "Short"


def test_a_patch_behind_another_one(tmp_path: Path, mock_llm_responses):
    # A file and a model.
    with open(tmp_path / "file", "w") as file:
        mock_llm_responses.set("*", "Short")
        file.write(summarize("a"))
    assert (tmp_path / "file").read_text() == "Short"


def test_a_patch_before_another_one(tmp_path: Path, mock_llm_responses):
    # A model and a file.
    with open(tmp_path / "file", "w") as file:
        mock_llm_responses.set("*", "Short")
        file.write(summarize("a"))
    assert (tmp_path / "file").read_text() == "Short"


def test_conditions_and_loops(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
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
        assert len(mock_llm_calls.calls) == 3
    while len(mock_llm_calls.calls) < 4:
        summarize("d")


def test_reads_in_a_loop(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    for number, text in enumerate(("a", "b"), start=1):
        summarize(text)
        # The last one.
        import json

        assert mock_llm_calls.last_call["prompt"] == json.loads(json.dumps(f"Summarize: {text}"))
        assert len(mock_llm_calls.calls) == number


def test_assertions_in_a_condition(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    if summarize("a"):
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "Summarize: a"
        assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}
    # Another answer.
    mock_llm_responses.set("*", "Later")
    assert summarize("b") == "Later"


def test_a_function_in_a_test(mock_llm_responses):
    def ask():
        # The application.
        return summarize("a")

    mock_llm_responses.set("*", "Short")
    assert ask() == "Short"


def test_an_import_in_a_test(mock_llm_responses):
    import json

    mock_llm_responses.set("*", json.dumps("Short"))
    assert summarize("a") == json.dumps("Short")


def test_several_statements_in_a_line(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    first = summarize("a"); second = summarize("b")  # noqa: E702
    assert (first, second) == ("Short", "Short")


def test_a_fixture(mocked_llm, path, mock_llm_calls):
    assert summarize("a") == "Short"
    mock_llm_calls.assert_called_once()


class TestClass:
    """The docstring of a class."""

    name = "Ada"

    def setup_method(self):
        # Nothing to do with it.
        self.text = "Hello"

    def test_a_method(self, mock_llm_responses):
        mock_llm_responses.set("*", "Ada")
        assert greet(self.text) == self.name

    def test_a_keyword(self, mock_llm_responses, *, name="Ada"):
        mock_llm_responses.set("*", "Short")
        assert summarize(name) == "Short"


class TestOuter:
    class TestInner:
        def test_an_inner_class(self):
            assert reviews.as_json(1) == "1"


@pytest.mark.asyncio
async def test_an_async_test(mock_llm_responses):
    # What it says.
    mock_llm_responses.set("*", "Hallo")
    assert await translate("a") == "Hallo"


@pytest.mark.asyncio
async def test_an_async_stream(tmp_path, mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hal", "lo"]))
    async with asyncio.timeout(5) if hasattr(asyncio, "timeout") else contextlib.nullcontext():
        assert [chunk for chunk in await reviews.astreamed("a")] == ["Hal", "lo"]


def test_a_stream(
    tmp_path,
    mock_llm_responses,
):
    # A comma behind the last parameter.
    mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
    assert streamed("a") == ["Hel", "lo"]
    # The end of the file.
