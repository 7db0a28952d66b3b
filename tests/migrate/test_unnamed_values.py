"""Values of mocks that no test names may differ in the new test."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

APP = "import llm\n"
FIXTURES = """
from unittest.mock import MagicMock, patch

import app
import pytest


@pytest.fixture
def model():
    model = MagicMock()
    model.model_id = "fake-model"
    return model


@pytest.fixture
def response():
    response = MagicMock()
    response.text.return_value = "A whole letter"
    response.__iter__ = MagicMock(return_value=iter(["Dear", " Sir"]))
    return response


@pytest.fixture
def data():
    response = MagicMock()
    response.json.return_value = {"letter": "A"}
    response.__iter__ = MagicMock(return_value=iter(["Dear", " Sir"]))
    return response


"""
WITH_ID = """
@patch("app.llm")
def test_it(llm, model):
    llm.get_model.return_value = model
    model.prompt.return_value.text.return_value = "Hi"
    {check}
"""
WITH_TEXTS = """
@patch("app.llm.get_model")
def test_it(get_model, {response}):
    get_model.return_value.prompt.return_value = {response}
    {check}
"""
RUN = "app.run()"


def migrate(folder: Path, test: str) -> tuple[str, str]:
    """Return the body of the new test, and the reason if it is left."""
    (folder / "app.py").write_text(APP)
    path = folder / "test_app.py"
    source = FIXTURES + test
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    body = result.after.partition("def test_it(")[2].partition("\n")[2]
    return dedent(body), "".join(change.reason for change in result.manual_changes)


@pytest.mark.parametrize(
    "check", [RUN, "assert app.run() == 'Hello'", "assert app.run('gpt-4o') != f'{1} model'"]
)
def test_an_id_that_no_other_line_of_the_test_names_is_dropped(tmp_path: Path, check: str) -> None:
    body, reason = migrate(tmp_path, WITH_ID.format(check=check))
    assert (body, reason) == (f'mock_llm_responses.set("*", "Hi")\n{check}\n', "")


@pytest.mark.parametrize(
    "check",
    [
        "assert app.run() == 'fake-model'",
        "assert app.run() == 'by fake-model: Hi'",
        "assert app.run() == f'{1} by fake-model'",
        "assert app.run().endswith('-model')",
        "model.model_id = app.NAME",
    ],
)
def test_a_test_that_names_the_id_of_its_mock_is_left(tmp_path: Path, check: str) -> None:
    reason = migrate(tmp_path, WITH_ID.format(check=check))[1]
    assert "the mock has its own model_id (" in reason


def test_an_id_that_the_test_itself_gives_once_is_dropped(tmp_path: Path) -> None:
    check = 'model.model_id = "other"\n    app.run()'
    body, reason = migrate(tmp_path, WITH_ID.format(check=check))
    assert (body, reason) == ('mock_llm_responses.set("*", "Hi")\napp.run()\n', "")


def test_the_id_of_a_fixture_that_patches_may_be_named_by_any_test(tmp_path: Path) -> None:
    fixture = """
        @pytest.fixture
        def patched():
            with patch("app.llm.get_model") as get_model:
                get_model.return_value.model_id = "other"
                get_model.return_value.prompt.return_value.text.return_value = "Hi"
                yield

        def test_it(patched):
            assert app.run() == "other"
    """
    assert "its own model_id" in migrate(tmp_path, dedent(fixture))[1]


@pytest.mark.parametrize(
    ("check", "reply"),
    [
        (RUN, '"A whole letter"'),
        ("assert app.run() == 'A whole letter'", '"A whole letter"'),
        ("assert app.run() == 'Dear Sir'", 'Reply(chunks=["Dear", " Sir"])'),
        ("assert app.run()[0] == 'Dear'", 'Reply(chunks=["Dear", " Sir"])'),
    ],
)
def test_of_two_texts_the_reply_is_the_one_that_the_test_names(
    tmp_path: Path, check: str, reply: str
) -> None:
    test = WITH_TEXTS.format(response="response", check=check)
    body, reason = migrate(tmp_path, test)
    assert (body, reason) == (f'mock_llm_responses.set("*", {reply})\n{check}\n', "")


@pytest.mark.parametrize(
    "check",
    [
        "assert app.run() == ('Dear Sir', 'A whole letter')",
        "assert 'e' in app.run()",
    ],
)
def test_a_test_that_may_name_either_text_is_left(tmp_path: Path, check: str) -> None:
    test = WITH_TEXTS.format(response="response", check=check)
    assert migrate(tmp_path, test)[1] == "the mock streams one text and returns another"


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (RUN, ""),
        ("assert app.run() == 'Dear Sir'", "the mock streams one text and returns another"),
    ],
)
def test_data_is_the_reply_unless_the_test_names_the_stream(
    tmp_path: Path, check: str, reason: str
) -> None:
    test = WITH_TEXTS.format(response="data", check=check)
    body, found = migrate(tmp_path, test)
    assert found == reason
    assert ('mock_llm_responses.set("*", {"letter": "A"})' in body) == (not reason)
