"""Every way to replace `get_model`, and every kind of double in its place."""

from unittest.mock import patch

import pytest
import reviews
from llm_mock import Reply
from reviews import chat, draft_and_check, greet, lookup, streamed, summarize

FAULTS = ("",)

PATH = "reviews"


class TestTargets:
    def test_the_name_of_the_application(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_the_library(self, mock_llm_responses):
        mock_llm_responses.set("*", "Hello")
        assert greet("Ada") == "Hello"

    def test_the_library_of_the_application(self, mock_llm_responses):
        mock_llm_responses.set("*", "Hello")
        assert greet("Ada") == "Hello"

    def test_a_name_that_is_formatted(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_name_that_is_added(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_an_object(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_an_object_with_another_name(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_an_object_of_an_object(self, mock_llm_responses):
        mock_llm_responses.set("*", "Hello")
        assert greet("Ada") == "Hello"


class TestPatchers:
    def test_another_name_of_patch(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_patch_of_a_module(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_patch_of_the_whole_module(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_patch_of_a_module_with_another_name(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_new_value(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_new_value_by_its_name(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_new_value_of_an_object(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_class_of_mocks(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_mock_like_the_function(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_keywords_of_attributes(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_setattr(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_setattr_of_an_object(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_setattr_with_a_keyword(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_setattr_in_a_context(self, mock_llm_responses):
        with pytest.MonkeyPatch.context() as mp:
            mock_llm_responses.set("*", "Short")
            assert summarize("a") == "Short"
            mp.setattr(reviews, "as_json", repr)

    def test_setattr_beside_others(self, monkeypatch, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        monkeypatch.setattr("reviews.as_json", repr)
        assert reviews.as_json(summarize("a")) == "'Short'"

    def test_mocker(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_mocker_of_an_object(self, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_mocker_beside_others(self, mocker, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        mocker.patch("reviews.as_json", repr)
        assert reviews.as_json(summarize("a")) == "'Short'"


class TestMocks:
    def test_mock(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_magic_mock(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_non_callable_mock(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_mock_with_a_spec(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_mock_with_a_positional_spec(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_configure_mock(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_two_names_at_once(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_name_with_a_type(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_private_attributes(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_mock_that_is_only_called(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"


class TestFakes:
    def test_a_class(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_class_in_place_of_the_function(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_an_object_of_a_class(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_namespace(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_function_of_the_file(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_class_of_the_test(self, mock_llm_responses):
        mock_llm_responses.set("*", "Local")
        assert summarize("a") == "Local"

    def test_arguments_of_a_class(self, mock_llm_responses):
        mock_llm_responses.set("*", "Lo" + "cal" + "!")
        assert summarize("a") == "Local!"

    def test_an_error(self, mock_llm_responses):
        mock_llm_responses.set_error("*", ValueError("too long"))
        with pytest.raises(ValueError, match="too long"):
            summarize("a")

    def test_a_stream(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
        assert streamed("a") == ["Hel", "lo"]


class TestModels:
    def test_by_a_dict(self, mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "A draft")
        mock_llm_responses.set("gpt-4o-mini", "Checked")
        assert draft_and_check("a") == "Checked"

    def test_by_get(self, mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "A draft")
        mock_llm_responses.set("gpt-4o-mini", "Checked")
        assert draft_and_check("a") == "Checked"

    def test_by_getitem(self, mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "A draft")
        mock_llm_responses.set("gpt-4o-mini", "Checked")
        assert draft_and_check("a") == "Checked"

    def test_by_get_in_a_lambda(self, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("gpt-4o", "A draft")
        mock_llm_responses.set("gpt-4o-mini", "Checked")
        assert draft_and_check("a") == "Checked"
        assert len(mock_llm_calls.get_model("gpt-4o").call_history) == 1
        mock_llm_calls.get_model("gpt-4o-mini").assert_called_once()
        assert mock_llm_calls.get_model("gpt-4o-mini").last_call["prompt"] == "Check: A draft"
        assert mock_llm_calls.get_model("gpt-4o-mini").last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.get_model("gpt-4o-mini").last_call["kwargs"].keys()
        assert mock_llm_calls.get_model("gpt-4o-mini").last_call["options"] == {}

    def test_by_conditions(self, mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "A draft")
        mock_llm_responses.set("gpt-4o-mini", "Checked")
        mock_llm_responses.set("*", "Anything else")
        assert draft_and_check("a") == "Checked"

    def test_reads_of_one(self, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("gpt-4o", "A draft")
        mock_llm_responses.set("gpt-4o-mini", "Checked")
        draft_and_check("a")
        assert mock_llm_calls.get_model("gpt-4o").call_history
        assert mock_llm_calls.get_model("gpt-4o-mini").last_call["prompt"] == "Check: A draft"
        assert mock_llm_calls.get_model("gpt-4o-mini").call_history[0]["prompt"] == "Check: A draft"


class TestCalls:
    def test_chain(self, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("*", "It is 5.")
        assert lookup("a") == "It is 5."
        mock_llm_calls.assert_called_once()

    def test_conversation(self, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("*", "I see.")
        assert chat("a", "b") == ["I see.", "I see."]
        assert len(mock_llm_calls.calls) == 2

    def test_prompts_and_chains(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == lookup("b") == "Short"

    def test_an_unknown_model(self, mock_llm_responses):
        mock_llm_responses.set_unknown("*")
        assert reviews.careful("a") == "no such model"

    def test_an_unknown_model_by_its_class(self, mock_llm_responses):
        mock_llm_responses.set_unknown("*")
        assert reviews.careful("a") == "no such model"

    def test_two_patches_of_the_same_kind(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == greet("b") == "Short"

    def test_an_async_mock(self, mock_llm_responses):
        mock_llm_responses.set("*", "Hallo")
        assert reviews.asyncio.run(reviews.awaited("a")) == "Hallo"
