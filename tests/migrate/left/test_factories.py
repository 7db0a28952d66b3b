"""Fixtures that give a function of which the result is not certain."""

from unittest.mock import Mock, patch

import pytest
from reviews import summarize

TEXT = "Short"


@pytest.fixture
def get_model():
    with patch("reviews.get_model") as get_model:
        yield get_model


@pytest.fixture
def of_fixture(tmp_path):
    def create():
        return Mock(**{"text.return_value": str(tmp_path)})

    return create


@pytest.fixture
def of_assignment():
    text = "Short"

    def create():
        return Mock(**{"text.return_value": str(text)})

    return create


@pytest.fixture
def of_annotation():
    text: str = "Short"

    def create():
        return Mock(**{"text.return_value": str(text)})

    return create


@pytest.fixture
def of_loop():
    for text in ("Short", "Long"):
        print(text)

    def create():
        return Mock(**{"text.return_value": str(text)})

    return create


@pytest.fixture
def of_with(tmp_path):
    with open(tmp_path / "text", "w") as file:
        file.write("Short")

    def create():
        return Mock(**{"text.return_value": str(file)})

    return create


@pytest.fixture
def of_import():
    import pathlib

    def create():
        return Mock(**{"text.return_value": str(pathlib.sep)})

    return create


@pytest.fixture
def of_import_from():
    from os import sep

    def create():
        return Mock(**{"text.return_value": str(sep)})

    return create


@pytest.fixture
def of_import_as():
    import json as js

    def create():
        return Mock(**{"text.return_value": str(js.dumps(1))})

    return create


@pytest.fixture
def of_inner_import():
    def create():
        import os

        return Mock(**{"text.return_value": str(os.sep)})

    return create


@pytest.fixture
def with_condition():
    def create(text="Short", number=1):
        response = Mock()
        if text == "Short":
            response.text.return_value = "Short"
        elif text is None > TEXT or number is TEXT:
            response.text.return_value = "Long"
        return response

    return create


@pytest.fixture
def with_default():
    def create(text=None):
        response = Mock()
        if text is None:
            text = "Short"
        response.text.return_value = text
        return response

    return create


@pytest.fixture
def with_keywords():
    def create(**fields):
        return Mock(**{"text.return_value": str(fields)})

    return create


@pytest.fixture
def with_f_string():
    def create(text):
        return Mock(**{"text.return_value": f"{text}!"})

    return create


@pytest.fixture
def not_a_function():
    return Mock()


def test_a_fixture_of_the_fixture(get_model, of_fixture):
    get_model.return_value.prompt.return_value = of_fixture()
    assert summarize("a") == "Short"


def test_an_assignment(get_model, of_assignment):
    get_model.return_value.prompt.return_value = of_assignment()
    assert summarize("a") == "Short"


def test_an_annotation(get_model, of_annotation):
    get_model.return_value.prompt.return_value = of_annotation()
    assert summarize("a") == "Short"


def test_a_loop(get_model, of_loop):
    get_model.return_value.prompt.return_value = of_loop()
    assert summarize("a") == "Short"


def test_a_with(get_model, of_with):
    get_model.return_value.prompt.return_value = of_with()
    assert summarize("a") == "Short"


def test_an_import(get_model, of_import):
    get_model.return_value.prompt.return_value = of_import()
    assert summarize("a") == "Short"


def test_an_import_of_a_name(get_model, of_import_from):
    get_model.return_value.prompt.return_value = of_import_from()
    assert summarize("a") == "Short"


def test_an_import_by_another_name(get_model, of_import_as):
    get_model.return_value.prompt.return_value = of_import_as()
    assert summarize("a") == "Short"


def test_an_import_in_the_function(get_model, of_inner_import):
    get_model.return_value.prompt.return_value = of_inner_import()
    assert summarize("a") == "Short"


def test_an_unknown_condition(get_model, with_condition):
    get_model.return_value.prompt.return_value = with_condition(TEXT)
    assert summarize("a") == "Short"


def test_an_unknown_value(get_model, with_default):
    get_model.return_value.prompt.return_value = with_default(TEXT)
    assert summarize("a") == "Short"


def test_a_mock_among_keywords(get_model, with_keywords):
    get_model.return_value.prompt.return_value = with_keywords(a=Mock())
    assert summarize("a") == "Short"


def test_a_mock_that_is_called(get_model, not_a_function):
    get_model.return_value.prompt.return_value = not_a_function()
    assert summarize("a") == "Short"


def test_a_quote_in_an_f_string(get_model, with_f_string):
    get_model.return_value.prompt.return_value = with_f_string('a "b"')
    assert summarize("a")


def test_another_quote_in_an_f_string(get_model, with_f_string):
    get_model.return_value.prompt.return_value = with_f_string("it's")
    assert summarize("a")


def test_a_backslash_in_an_f_string(get_model, with_f_string):
    get_model.return_value.prompt.return_value = with_f_string("a\\b")
    assert summarize("a")


def test_a_line_break_in_an_f_string(get_model, with_f_string):
    get_model.return_value.prompt.return_value = with_f_string("a\nb")
    assert summarize("a")


def test_an_f_string_in_an_f_string(get_model, with_f_string):
    get_model.return_value.prompt.return_value = with_f_string(f"{TEXT}.")
    assert summarize("a")


def test_a_subscript_in_an_f_string(get_model, with_f_string):
    get_model.return_value.prompt.return_value = with_f_string(["a\\n"][0])
    assert summarize("a")


def test_lines_in_an_f_string(get_model, with_f_string):
    get_model.return_value.prompt.return_value = with_f_string([
        1
    ])
    assert summarize("a")
