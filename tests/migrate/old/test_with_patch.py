import json
from contextlib import nullcontext
from unittest import mock
from unittest.mock import ANY, MagicMock, Mock, patch

import llm
import pytest
import reviews
from reviews import Review, careful, greet, if_any, patient, review, stars, summarize, warm
from reviews import stars_and_summary

ANSWER = "A constant answer"
REPLY = {"stars": 4, "title": "Fine"}


def test_a_text():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize("a long text") == "Short"


def test_of_the_library():
    with patch("llm.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Hello"
        assert greet("Ada") == "Hello"


def test_of_the_library_in_the_application():
    with patch("reviews.llm.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Hello"
        assert greet("Ada") == "Hello"


def test_the_whole_library_of_the_application():
    with patch("reviews.llm") as library:
        library.get_model.return_value.prompt.return_value.text.return_value = "Hello"
        assert greet("Ada") == "Hello"
    library.get_model.return_value.prompt.assert_called_once_with("Greet Ada")


def test_mocks_that_are_put_together():
    model = Mock()
    response = Mock()
    response.text.return_value = "Short"
    model.prompt.return_value = response
    with patch("reviews.get_model", return_value=model):
        assert summarize("a long text") == "Short"
    model.prompt.assert_called_once()


def test_mocks_with_keywords():
    response = MagicMock(**{"text.return_value": "Short"})
    model = MagicMock(prompt=MagicMock(return_value=response))
    with mock.patch("reviews.get_model", new=Mock(return_value=model)):
        assert summarize("a long text") == "Short"


def test_an_object():
    with patch.object(reviews, "get_model") as get_model:
        # What the model says.
        get_model.return_value.prompt.return_value.text.return_value = ANSWER  # a constant

        assert summarize("a long text") == "A constant answer"


def test_the_library_as_an_object():
    with patch.object(llm, "get_model", return_value=Mock()) as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Hello"
        assert greet("Ada") == "Hello"
        get_model.assert_called_once_with("gpt-4o-mini")


def test_a_prompt_in_another_context():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a long text")
    with nullcontext(get_model.return_value.prompt.call_args.args[0]) as prompt:
        assert "a long text" in prompt


def test_json_as_text():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = (
            '{"stars": 5, "title": "Great"}'
        )
        assert review("great").stars == 5


def test_dumped_json():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = json.dumps(REPLY)
        assert review("fine") == Review(**REPLY)


def test_a_pydantic_instance():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = Review(
            stars=1, title="Bad"
        ).model_dump_json()
        assert review("bad").title == "Bad"


def test_data():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.json.return_value = {
            "stars": 3,
            "title": "So so",  # one of three
        }
        assert stars("so so") == 3


def test_data_of_a_constant():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.json.return_value = REPLY
        assert stars("fine") == 4


def test_a_payload_beside_the_text():
    with patch("reviews.get_model") as get_model:
        response = get_model.return_value.prompt.return_value
        response.text.return_value = '{"stars": 2, "title": "Bad"}'
        response.json.return_value = {"stars": 2, "id": "r1"}
        assert stars("bad") == review("bad").stars == 2


def test_one_call():
    with patch("reviews.get_model") as get_model:
        model = get_model.return_value
        model.prompt.return_value.text.return_value = "Short"
        summarize("a long text")
        model.prompt.assert_called_once_with("Summarize: a long text", system="Be brief")


def test_the_schema_of_a_call():
    with patch("reviews.get_model") as get_model:
        model = get_model.return_value
        model.prompt.return_value.text.return_value = json.dumps(REPLY)
        review("fine")
    model.prompt.assert_called_once_with(ANY, schema=Review)
    assert model.prompt.call_args.kwargs["schema"] is Review


def test_an_option():
    with patch("reviews.get_model") as get_model:
        model = get_model.return_value
        model.prompt.return_value.text.return_value = "Warm"
        warm("a text")
    model.prompt.assert_called_with("Warmly: a text", temperature=0.5)
    assert model.prompt.call_args[1]["temperature"] == 0.5


def test_arguments():
    with patch("reviews.get_model") as get_model:
        model = get_model.return_value
        model.prompt.return_value.text.return_value = "Short"
        summarize("a long text")
    args, kwargs = model.prompt.call_args
    assert "a long text" in args[0]
    assert kwargs["system"] == "Be brief"
    assert "schema" not in str(sorted(kwargs.get("system")))
    assert "temperature" not in kwargs


def test_the_last_of_all_calls():
    with patch("reviews.get_model") as get_model:
        model = get_model.return_value
        model.prompt.return_value.text.return_value = "Short"
        summarize("one")
        summarize("two")
    call = model.prompt.call_args
    assert call.args[0] == "Summarize: two"
    assert model.prompt.call_args_list[0].args[0] == "Summarize: one"
    assert [each.args[0] for each in model.prompt.call_args_list] == [
        "Summarize: one",
        "Summarize: two",
    ]
    assert model.prompt.call_count == 2


def test_every_call():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("one")
        summarize("two")
        for call in get_model.return_value.prompt.call_args_list:
            assert call.args[0].startswith("Summarize")
            assert call.kwargs["system"] == "Be brief"


def test_the_model_that_is_asked():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a long text")
        assert get_model.call_args.args[0] == "gpt-4o-mini"


def test_no_call():
    with patch("reviews.get_model") as get_model:
        assert if_any("") == ""
    get_model.return_value.prompt.assert_not_called()


def test_no_model():
    with patch("reviews.get_model") as get_model:
        if_any("")
        get_model.assert_not_called()


def test_whether_it_was_called():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Some"
        if_any("")
        assert not get_model.return_value.prompt.called
        if_any("text")
        assert get_model.return_value.prompt.called


def test_an_error():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.side_effect = ValueError("too long")
        with pytest.raises(ValueError, match="too long"):
            summarize("a long text")


def test_an_error_each_time():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.side_effect = ConnectionError
        assert patient("a text") == "no connection"
        assert get_model.return_value.prompt.call_count == 3


def test_an_error_and_then_an_answer():
    answer = Mock()
    answer.text.return_value = "At last"
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.side_effect = [
            ConnectionError("no route"),
            ConnectionError("no route"),
            answer,
        ]
        assert patient("a text") == "At last"


def test_answers_of_steps_with_and_without_a_schema():
    data, text = Mock(), Mock()
    data.json.return_value = {"stars": 4, "title": "Fine"}
    text.text.return_value = "Short"
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.side_effect = [data, text, text, data]
        assert stars_and_summary("a text") == [4, "Short"]
        assert summarize("a text") == "Short"
        assert stars("a text") == 4


def test_an_unknown_model():
    with patch("reviews.get_model", side_effect=llm.UnknownModelError("gpt-5-preview")):
        assert careful("a text") == "no such model"


def test_another_answer_in_the_middle():
    with patch("reviews.get_model") as get_model:
        response = get_model.return_value.prompt.return_value
        response.text.return_value = "First"
        assert summarize("one") == "First"
        response.text.return_value = "Second"
        assert summarize("two") == "Second"


def test_an_error_that_ends():
    with patch("reviews.get_model") as get_model:
        prompt = get_model.return_value.prompt
        prompt.side_effect = ValueError("too long")
        with pytest.raises(ValueError, match="too long"):
            summarize("a long text")
        prompt.side_effect = None
        prompt.return_value.text.return_value = "Short"
        assert summarize("a text") == "Short"


def test_with_other_patches(tmp_path):
    with (
        patch("reviews.get_model") as get_model,
        patch("reviews.as_json", return_value="{}") as as_json,
    ):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize(str(tmp_path)) == "Short"
        assert reviews.as_json(1) == "{}"
    as_json.assert_called_once_with(1)


def test_with_a_mock_of_something_else():
    client = Mock()
    client.get.return_value = "a text"
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize(client.get("/")) == "Short"
    client.get.assert_called_once_with("/")


@pytest.mark.parametrize(("text", "answer"), [("one", "First"), ("two", "Second")])
def test_parameters(text, answer):
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = answer
        assert summarize(text) == answer


@pytest.mark.parametrize("text, answer", [("one", "First"), ("two", "Second")])
def test_parameters_with_names_in_one_text(text, answer):
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = answer
        assert summarize(text) == answer


def test_an_error_of_get_model():
    with patch("reviews.get_model", side_effect=ConnectionError("no route")):
        assert patient("a long text") == "no connection"


def test_a_missing_key():
    with patch("reviews.get_model", side_effect=KeyError("gpt-4o")), pytest.raises(KeyError):
        summarize("a long text")


def test_a_list_that_is_filled_in_order():
    with patch("reviews.get_model") as get_model:
        replies = []

        # The network is back after one call.
        replies.append(ConnectionError("no route"))
        second = Mock()
        second.text.return_value = "Short"
        replies.append(second)
        get_model.return_value.prompt.side_effect = replies
        assert patient("a long text") == "Short"


def test_a_list_of_other_values():
    answers = []
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        answers.append(summarize("a long text"))
        answers.append(get_model.return_value.prompt.call_count)
    assert answers == ["Short", 1]


def test_a_try_that_only_cleans_up():
    cleaned = []
    with patch("reviews.get_model") as get_model:
        try:
            get_model.return_value.prompt.return_value.text.return_value = "Short"
            assert summarize("a long text") == "Short"
        finally:
            cleaned.append(get_model.call_count)
    assert cleaned == [1]
