import json
from contextlib import nullcontext
from unittest.mock import Mock, patch

import pytest
import reviews
from llm_mock import Reply
from reviews import Review, careful, greet, if_any, patient, review, stars, summarize, warm
from reviews import stars_and_summary

ANSWER = "A constant answer"
REPLY = {"stars": 4, "title": "Fine"}


def test_a_text(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_of_the_library(mock_llm_responses):
    mock_llm_responses.set("*", "Hello")
    assert greet("Ada") == "Hello"


def test_of_the_library_in_the_application(mock_llm_responses):
    mock_llm_responses.set("*", "Hello")
    assert greet("Ada") == "Hello"


def test_the_whole_library_of_the_application(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hello")
    assert greet("Ada") == "Hello"
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call["prompt"] == "Greet Ada"
    assert mock_llm_calls.last_call["kwargs"]["schema"] is None
    assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
    assert mock_llm_calls.last_call["options"] == {}


def test_mocks_that_are_put_together(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    mock_llm_calls.assert_called_once()


def test_mocks_with_keywords(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_an_object(mock_llm_responses):
    # What the model says.
    # a constant
    mock_llm_responses.set("*", ANSWER)

    assert summarize("a long text") == "A constant answer"


def test_the_library_as_an_object(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("gpt-4o-mini", "Hello")
    assert greet("Ada") == "Hello"
    assert mock_llm_calls.requested_models == ["gpt-4o-mini"]


def test_a_prompt_in_another_context(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    summarize("a long text")
    with nullcontext(mock_llm_calls.last_call["prompt"]) as prompt:
        assert "a long text" in prompt


def test_json_as_text(mock_llm_responses):
    mock_llm_responses.set("*", (
        '{"stars": 5, "title": "Great"}'
    ))
    assert review("great").stars == 5


def test_dumped_json(mock_llm_responses):
    mock_llm_responses.set("*", json.dumps(REPLY))
    assert review("fine") == Review(**REPLY)


def test_a_pydantic_instance(mock_llm_responses):
    mock_llm_responses.set("*", Review(
        stars=1, title="Bad"
    ).model_dump_json())
    assert review("bad").title == "Bad"


def test_data(mock_llm_responses):
    mock_llm_responses.set("*", {
        "stars": 3,
        "title": "So so",  # one of three
    })
    assert stars("so so") == 3


def test_data_of_a_constant(mock_llm_responses):
    mock_llm_responses.set("*", REPLY)
    assert stars("fine") == 4


def test_a_payload_beside_the_text(mock_llm_responses):
    mock_llm_responses.set("*", Reply('{"stars": 2, "title": "Bad"}', response_json={"stars": 2, "id": "r1"}))
    assert stars("bad") == review("bad").stars == 2


def test_one_call(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    summarize("a long text")
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call["prompt"] == "Summarize: a long text"
    assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
    assert mock_llm_calls.last_call["kwargs"]["schema"] is None
    assert not {"attachments", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
    assert mock_llm_calls.last_call["options"] == {}


def test_the_schema_of_a_call(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", json.dumps(REPLY))
    review("fine")
    mock_llm_calls.assert_called_once()
    assert mock_llm_calls.last_call["kwargs"]["schema"] == Review.__name__
    assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
    assert mock_llm_calls.last_call["options"] == {}
    assert mock_llm_calls.last_call["kwargs"]["schema"] == Review.__name__


def test_an_option(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Warm")
    warm("a text")
    assert mock_llm_calls.last_call["prompt"] == "Warmly: a text"
    assert mock_llm_calls.last_call["kwargs"]["schema"] is None
    assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
    assert mock_llm_calls.last_call["options"] == {"temperature": 0.5}
    assert mock_llm_calls.last_call["options"]["temperature"] == 0.5


def test_arguments(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    summarize("a long text")
    assert "a long text" in mock_llm_calls.last_call["prompt"]
    assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
    assert "schema" not in str(sorted(mock_llm_calls.last_call["kwargs"].get("system")))
    assert "temperature" not in mock_llm_calls.last_call["options"]


def test_the_last_of_all_calls(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    summarize("one")
    summarize("two")
    assert mock_llm_calls.last_call["prompt"] == "Summarize: two"
    assert mock_llm_calls.calls[0]["prompt"] == "Summarize: one"
    assert [each["prompt"] for each in mock_llm_calls.calls] == [
        "Summarize: one",
        "Summarize: two",
    ]
    assert len(mock_llm_calls.calls) == 2


def test_every_call(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    summarize("one")
    summarize("two")
    for call in mock_llm_calls.calls:
        assert call["prompt"].startswith("Summarize")
        assert call["kwargs"]["system"] == "Be brief"


def test_the_model_that_is_asked(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    summarize("a long text")
    assert mock_llm_calls.requested_models[-1] == "gpt-4o-mini"


def test_no_call(mock_llm_calls):
    assert if_any("") == ""
    mock_llm_calls.assert_not_called()


def test_no_model(mock_llm_calls):
    if_any("")
    assert not mock_llm_calls.requested_models


def test_whether_it_was_called(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Some")
    if_any("")
    assert not mock_llm_calls.calls
    if_any("text")
    assert mock_llm_calls.calls


def test_an_error(mock_llm_responses):
    mock_llm_responses.set_error("*", ValueError("too long"))
    with pytest.raises(ValueError, match="too long"):
        summarize("a long text")


def test_an_error_each_time(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set_error("*", ConnectionError)
    assert patient("a text") == "no connection"
    assert len(mock_llm_calls.calls) == 3


def test_an_error_and_then_an_answer(mock_llm_responses):
    mock_llm_responses.add("*", ConnectionError("no route"), times=2)
    mock_llm_responses.add("*", "At last")
    assert patient("a text") == "At last"


def test_answers_of_steps_with_and_without_a_schema(mock_llm_responses):
    mock_llm_responses.add("*", {"stars": 4, "title": "Fine"})
    mock_llm_responses.add("*", "Short", times=2)
    mock_llm_responses.add("*", {"stars": 4, "title": "Fine"})
    assert stars_and_summary("a text") == [4, "Short"]
    assert summarize("a text") == "Short"
    assert stars("a text") == 4


def test_an_unknown_model(mock_llm_responses):
    mock_llm_responses.set_unknown("*")
    assert careful("a text") == "no such model"


def test_another_answer_in_the_middle(mock_llm_responses):
    mock_llm_responses.set("*", "First")
    assert summarize("one") == "First"
    mock_llm_responses.set("*", "Second")
    assert summarize("two") == "Second"


def test_an_error_that_ends(mock_llm_responses):
    mock_llm_responses.set_error("*", ValueError("too long"))
    with pytest.raises(ValueError, match="too long"):
        summarize("a long text")
    mock_llm_responses.set_error("*", None)
    mock_llm_responses.set("*", "Short")
    assert summarize("a text") == "Short"


def test_with_other_patches(tmp_path, mock_llm_responses):
    with (
        patch("reviews.as_json", return_value="{}") as as_json,
    ):
        mock_llm_responses.set("*", "Short")
        assert summarize(str(tmp_path)) == "Short"
        assert reviews.as_json(1) == "{}"
    as_json.assert_called_once_with(1)


def test_with_a_mock_of_something_else(mock_llm_responses):
    client = Mock()
    client.get.return_value = "a text"
    mock_llm_responses.set("*", "Short")
    assert summarize(client.get("/")) == "Short"
    client.get.assert_called_once_with("/")


@pytest.mark.parametrize(("text", "answer"), [("one", "First"), ("two", "Second")])
def test_parameters(text, answer, mock_llm_responses):
    mock_llm_responses.set("*", answer)
    assert summarize(text) == answer


@pytest.mark.parametrize("text, answer", [("one", "First"), ("two", "Second")])
def test_parameters_with_names_in_one_text(text, answer, mock_llm_responses):
    mock_llm_responses.set("*", answer)
    assert summarize(text) == answer


def test_an_error_of_get_model(mock_llm_responses):
    mock_llm_responses.set_error("*", ConnectionError("no route"))
    assert patient("a long text") == "no connection"


def test_a_missing_key(mock_llm_responses):
    mock_llm_responses.set_unknown("*")
    with pytest.raises(KeyError):
        summarize("a long text")


def test_a_list_that_is_filled_in_order(mock_llm_responses):
    # The network is back after one call.
    mock_llm_responses.add("*", ConnectionError("no route"))
    mock_llm_responses.add("*", "Short")
    assert patient("a long text") == "Short"


def test_a_list_of_other_values(mock_llm_responses, mock_llm_calls):
    answers = []
    mock_llm_responses.set("*", "Short")
    answers.append(summarize("a long text"))
    answers.append(len(mock_llm_calls.calls))
    assert answers == ["Short", 1]


def test_a_try_that_only_cleans_up(mock_llm_responses, mock_llm_calls):
    cleaned = []
    try:
        mock_llm_responses.set("*", "Short")
        assert summarize("a long text") == "Short"
    finally:
        cleaned.append(len(mock_llm_calls.requested_models))
    assert cleaned == [1]
