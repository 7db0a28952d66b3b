"""Fixtures that give a function, which makes the mocks of the tests."""

from collections.abc import Callable
from unittest.mock import Mock, patch

import pytest
from pydantic import BaseModel
from reviews import draft_and_check, review, summarize


class Draft(BaseModel):
    stars: int = 5


def make_response(text):
    return Mock(**{"text.return_value": text})


@pytest.fixture
def get_model():
    with patch("reviews.get_model") as get_model:
        yield get_model


@pytest.fixture
def response_of() -> Callable[..., Mock]:
    """Give a function."""

    def create_response(text="Short", suffix=None):
        response = Mock()
        whole = text + (suffix or "")
        response.text.return_value = whole
        return response

    return create_response


@pytest.fixture
def review_of():
    def create_review(stars=5, title=None, tags=None, is_long=False):
        """Import what only this function needs."""
        import json
        from reviews import summarize  # noqa: F401

        response = Mock()
        if title is None and not is_long:
            response.text.return_value = json.dumps({"stars": stars, "title": "Good"})
        elif tags is not None or is_long:
            # Only this branch has tags.
            data = {"stars": stars, "title": title or "Long", "tags": tags or []}
            response.text.return_value = json.dumps(data)
        else:
            response.text.return_value = json.dumps({"stars": stars, "title": title})
        if not stars:
            response.text.return_value = "{}"
        return response

    return create_review


@pytest.fixture
def response_if():
    """Give a function with conditions on literals."""

    def create(empty, full, name=None):
        response = Mock()
        if empty or not full or name is not None or name and full:
            response.text.return_value = "none"
        elif not (empty is None) and (full and not empty):
            response.text.return_value = full and "both"
        return response

    return create


@pytest.fixture
def response_with():
    import json

    def create_response(**fields):
        return Mock(**{"text.return_value": json.dumps(fields)})

    return create_response


@pytest.fixture
def named_response_with():
    def create_response(title, *, stars=4, **fields):
        response = Mock()
        response.json.return_value = fields
        response.text.return_value = f"{title}: {stars}"
        return response

    return create_response


@pytest.fixture
def module_function():
    return make_response


@pytest.fixture
def title():
    return "From a fixture"


def test_a_default(get_model, response_of):
    get_model.return_value.prompt.return_value = response_of()
    assert summarize("a") == "Short"


def test_an_argument(get_model, response_of):
    get_model.return_value.prompt.return_value = response_of("Long", suffix="er")
    assert summarize("a") == "Longer"


def test_several(get_model, response_of):
    model = Mock()
    model.prompt.side_effect = [
        response_of("A draft"),  # the first one
        response_of("Checked"),
    ]
    get_model.return_value = model
    assert draft_and_check("a") == "Checked"


def test_the_first_branch(get_model, review_of):
    get_model.return_value.prompt.return_value = review_of(4)
    assert review("a").stars == 4


def test_the_second_branch(get_model, review_of):
    get_model.return_value.prompt.return_value = review_of(4, "A title", tags=["a"])
    assert review("a").title == "A title"


def test_the_second_branch_with_defaults(get_model, review_of):
    get_model.return_value.prompt.return_value = review_of(is_long=True)
    assert review("a").title == "Long"


def test_the_last_branch(get_model, review_of):
    get_model.return_value.prompt.return_value = review_of(title="A title")
    assert review("a").title == "A title"


def test_conditions(get_model, response_if):
    get_model.return_value.prompt.return_value = response_if([], {"a": 1})
    assert summarize("a") == "both"


def test_a_later_condition(get_model, review_of):
    get_model.return_value.prompt.return_value = review_of(0)
    assert summarize("a") == "{}"


def test_keywords(get_model, response_with):
    get_model.return_value.prompt.return_value = response_with(stars=3, title="Any")
    assert review("a").stars == 3


def test_keywords_beside_others(get_model, named_response_with):
    get_model.return_value.prompt.return_value = named_response_with("A", stars=2, more=1)
    assert summarize("a") == "A: 2"


def test_texts_in_a_text(get_model, named_response_with):
    get_model.return_value.prompt.return_value = named_response_with("A", stars=Draft().stars)
    assert summarize("a") == "A: 5"


def test_a_function_of_the_file(get_model, module_function):
    get_model.return_value.prompt.return_value = module_function("Short")
    assert summarize("a") == "Short"


def test_a_value_of_another_fixture(get_model, title):
    texts = [title]
    get_model.return_value.prompt.return_value = make_response("Short")
    assert summarize(texts[0]) == "Short"
    get_model.return_value.prompt.assert_called_once()
