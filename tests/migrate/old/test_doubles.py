"""Every way to replace `get_model`, and every kind of double in its place."""

import types
import unittest.mock
import unittest.mock as um
from types import SimpleNamespace
from unittest import mock
from unittest.mock import AsyncMock, MagicMock, Mock, NonCallableMock, patch
from unittest.mock import patch as replace

import llm
import pytest
import reviews
import reviews as application
from reviews import chat, draft_and_check, greet, lookup, streamed, summarize

FAULTS = ("",)

PATH = "reviews"


def answering(text):
    return Mock(**{"prompt.return_value.text.return_value": text})


class Response:
    def __init__(self, text: str = "Short", *, loud: bool = False) -> None:
        """Keep the text."""
        self.value = text
        self.loud: bool = loud

    def text(self):
        return self.value


class Model:
    """A fake of a model."""

    attempts = 1
    needs_key: str

    def prompt(self, prompt, *, system=None, **options):
        """Answer."""
        return Response("Short")


class ModelByName:
    def __init__(self, name):
        self.name = name

    def prompt(self, prompt, system=None):
        return Response()


class TestTargets:
    def test_the_name_of_the_application(self):
        with patch("reviews.get_model", return_value=answering("Short")):
            assert summarize("a") == "Short"

    def test_the_library(self):
        with patch("llm.get_model", return_value=answering("Hello")):
            assert greet("Ada") == "Hello"

    def test_the_library_of_the_application(self):
        with patch("reviews.llm.get_model", return_value=answering("Hello")):
            assert greet("Ada") == "Hello"

    def test_a_name_that_is_formatted(self):
        with patch(f"{PATH}.get_model", return_value=answering("Short")):
            assert summarize("a") == "Short"

    def test_a_name_that_is_added(self):
        with patch(PATH + ".get_model", return_value=answering("Short")):
            assert summarize("a") == "Short"

    def test_an_object(self):
        with patch.object(reviews, "get_model", return_value=answering("Short")):
            assert summarize("a") == "Short"

    def test_an_object_with_another_name(self):
        with patch.object(application, "get_model", return_value=answering("Short")):
            assert summarize("a") == "Short"

    def test_an_object_of_an_object(self):
        with patch.object(reviews.llm, "get_model", return_value=answering("Hello")):
            assert greet("Ada") == "Hello"


class TestPatchers:
    def test_another_name_of_patch(self):
        with replace("reviews.get_model", return_value=answering("Short")):
            assert summarize("a") == "Short"

    def test_patch_of_a_module(self):
        with mock.patch("reviews.get_model", return_value=answering("Short")):
            assert summarize("a") == "Short"

    def test_patch_of_the_whole_module(self):
        with unittest.mock.patch("reviews.get_model", return_value=answering("Short")):
            assert summarize("a") == "Short"

    def test_patch_of_a_module_with_another_name(self):
        with um.patch.object(reviews, "get_model", return_value=um.Mock()) as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Short"
            assert summarize("a") == "Short"

    def test_a_new_value(self):
        with patch("reviews.get_model", Mock(return_value=answering("Short"))):
            assert summarize("a") == "Short"

    def test_a_new_value_by_its_name(self):
        with patch("reviews.get_model", new=Mock(return_value=answering("Short"))):
            assert summarize("a") == "Short"

    def test_a_new_value_of_an_object(self):
        with patch.object(reviews, "get_model", Mock(return_value=answering("Short"))):
            assert summarize("a") == "Short"

    def test_a_class_of_mocks(self):
        with patch("reviews.get_model", new_callable=Mock) as get_model:
            get_model.return_value = answering("Short")
            assert summarize("a") == "Short"

    def test_a_mock_like_the_function(self):
        with patch("reviews.get_model", autospec=True) as get_model:
            get_model.return_value = answering("Short")
            assert summarize("a") == "Short"

    def test_keywords_of_attributes(self):
        with patch(
            "reviews.get_model",
            **{"return_value.prompt.return_value.text.return_value": "Short"},
        ):
            assert summarize("a") == "Short"

    def test_setattr(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: Model())
        assert summarize("a") == "Short"

    def test_setattr_of_an_object(self, monkeypatch):
        monkeypatch.setattr(reviews, "get_model", lambda name: Model())
        assert summarize("a") == "Short"

    def test_setattr_with_a_keyword(self, monkeypatch):
        monkeypatch.setattr(reviews, "get_model", value=lambda name: Model(), raising=True)
        assert summarize("a") == "Short"

    def test_setattr_in_a_context(self):
        with pytest.MonkeyPatch.context() as mp:
            mp.setattr("reviews.get_model", lambda name: Model())
            assert summarize("a") == "Short"
            mp.setattr(reviews, "as_json", repr)

    def test_setattr_beside_others(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: Model())
        monkeypatch.setattr("reviews.as_json", repr)
        assert reviews.as_json(summarize("a")) == "'Short'"

    def test_mocker(self, mocker):
        get_model = mocker.patch("reviews.get_model", return_value=mocker.MagicMock())
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize("a") == "Short"

    def test_mocker_of_an_object(self, mocker):
        get_model = mocker.patch.object(reviews, "get_model")
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize("a") == "Short"
        get_model.return_value.prompt.assert_called_once_with(mocker.ANY, system="Be brief")

    def test_mocker_beside_others(self, mocker):
        mocker.patch("reviews.get_model", return_value=answering("Short"))
        mocker.patch("reviews.as_json", repr)
        assert reviews.as_json(summarize("a")) == "'Short'"


class TestMocks:
    def test_mock(self, monkeypatch):
        model = Mock()
        model.prompt.return_value.text.return_value = "Short"
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert summarize("a") == "Short"

    def test_magic_mock(self, monkeypatch):
        model = MagicMock()
        model.prompt.return_value.text.return_value = "Short"
        monkeypatch.setattr("reviews.get_model", MagicMock(return_value=model))
        assert summarize("a") == "Short"

    def test_non_callable_mock(self, monkeypatch):
        model = NonCallableMock()
        model.prompt.return_value.text.return_value = "Short"
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert summarize("a") == "Short"

    def test_a_mock_with_a_spec(self, monkeypatch):
        model = Mock(spec=["prompt"], name="model")
        model.prompt.return_value.text.return_value = "Short"
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert summarize("a") == "Short"

    def test_a_mock_with_a_positional_spec(self, monkeypatch):
        model = Mock(["prompt"])
        model.prompt.return_value.text.return_value = "Short"
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert summarize("a") == "Short"

    def test_configure_mock(self, monkeypatch):
        model = Mock()
        model.configure_mock(**{"prompt.return_value.text.return_value": "Short"})
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert summarize("a") == "Short"

    def test_two_names_at_once(self, monkeypatch):
        model, response = Mock(), Mock()
        response.text.return_value = "Short"
        model.prompt.return_value = response
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert summarize("a") == "Short"

    def test_a_name_with_a_type(self, monkeypatch):
        model: Mock = Mock()
        model.prompt.return_value.text.return_value = "Short"
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert summarize("a") == "Short"

    def test_private_attributes(self, monkeypatch):
        model = Mock(_name="model")
        model.prompt.return_value.text.return_value = "Short"
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert summarize("a") == "Short"

    def test_a_mock_that_is_only_called(self, monkeypatch):
        get_model = Mock(side_effect=lambda name: answering("Short"))
        monkeypatch.setattr("reviews.get_model", get_model)
        assert summarize("a") == "Short"


class TestFakes:
    def test_a_class(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: Model())
        assert summarize("a") == "Short"

    def test_a_class_in_place_of_the_function(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", ModelByName)
        assert summarize("a") == "Short"

    def test_an_object_of_a_class(self, monkeypatch):
        model = Model()
        monkeypatch.setattr("reviews.get_model", lambda name, **kwargs: model)
        assert summarize("a") == "Short"

    def test_a_namespace(self, monkeypatch):
        response = SimpleNamespace(text=lambda: "Short")
        model = types.SimpleNamespace(prompt=lambda *args, **kwargs: response)
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert summarize("a") == "Short"

    def test_a_function_of_the_file(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", model_of_the_file)
        assert summarize("a") == "Short"

    def test_a_class_of_the_test(self, monkeypatch):
        class Local:
            def prompt(self, prompt, system):
                return Response("Local")

        monkeypatch.setattr("reviews.get_model", lambda name: Local())
        assert summarize("a") == "Local"

    def test_arguments_of_a_class(self, monkeypatch):
        class Local:
            def __init__(self, text, *, suffix="!"):
                pass
                self.text = text + suffix

            def prompt(self, prompt, system):
                return Response(self.text)

        monkeypatch.setattr("reviews.get_model", lambda name: Local("Lo" + "cal"))
        assert summarize("a") == "Local!"

    def test_an_error(self, monkeypatch):
        class Local:
            def prompt(self, prompt, system):
                raise ValueError("too long")

        monkeypatch.setattr("reviews.get_model", lambda name: Local())
        with pytest.raises(ValueError, match="too long"):
            summarize("a")

    def test_a_stream(self, monkeypatch):
        def prompt(text):
            yield "Hel"
            yield "lo"

        monkeypatch.setattr("reviews.get_model", lambda name: SimpleNamespace(prompt=prompt))
        assert streamed("a") == ["Hel", "lo"]


def model_of_the_file(name, *, options=None):
    return Model()


class TestModels:
    def test_by_a_dict(self, monkeypatch):
        models = {"gpt-4o": answering("A draft"), "gpt-4o-mini": answering("Checked")}
        monkeypatch.setattr("reviews.get_model", lambda name: models[name])
        assert draft_and_check("a") == "Checked"

    def test_by_get(self, monkeypatch):
        models = {"gpt-4o": answering("A draft"), "gpt-4o-mini": answering("Checked")}
        monkeypatch.setattr("reviews.get_model", models.get)
        assert draft_and_check("a") == "Checked"

    def test_by_getitem(self, monkeypatch):
        models = {"gpt-4o": answering("A draft"), "gpt-4o-mini": answering("Checked")}
        monkeypatch.setattr("reviews.get_model", models.__getitem__)
        assert draft_and_check("a") == "Checked"

    def test_by_get_in_a_lambda(self, monkeypatch):
        models = {"gpt-4o": answering("A draft"), "gpt-4o-mini": answering("Checked")}
        monkeypatch.setattr("reviews.get_model", lambda name: models.get(name))
        assert draft_and_check("a") == "Checked"
        assert models["gpt-4o"].prompt.call_count == 1
        models["gpt-4o-mini"].prompt.assert_called_once_with("Check: A draft")

    def test_by_conditions(self, monkeypatch):
        def by_name(name):
            if name == "gpt-4o":
                return answering("A draft")
            if name == "gpt-4o-mini":
                return answering("Checked")
            return answering("Anything else")

        monkeypatch.setattr("reviews.get_model", by_name)
        assert draft_and_check("a") == "Checked"

    def test_reads_of_one(self, monkeypatch):
        drafting, checking = answering("A draft"), answering("Checked")
        models = {"gpt-4o": drafting, "gpt-4o-mini": checking}
        monkeypatch.setattr("reviews.get_model", lambda name: models[name])
        draft_and_check("a")
        assert drafting.prompt.called
        assert checking.prompt.call_args.args[0] == "Check: A draft"
        assert checking.prompt.call_args_list[0].args[0] == "Check: A draft"


class TestCalls:
    def test_chain(self):
        with patch("reviews.get_model") as get_model:
            get_model.return_value.chain.return_value.text.return_value = "It is 5."
            assert lookup("a") == "It is 5."
            get_model.return_value.chain.assert_called_once()

    def test_conversation(self):
        with patch("reviews.get_model") as get_model:
            conversation = get_model.return_value.conversation.return_value
            conversation.prompt.return_value.text.return_value = "I see."
            assert chat("a", "b") == ["I see.", "I see."]
            assert conversation.prompt.call_count == 2

    def test_prompts_and_chains(self):
        with patch("reviews.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Short"
            get_model.return_value.chain.return_value.text.return_value = "Short"
            assert summarize("a") == lookup("b") == "Short"

    def test_an_unknown_model(self):
        with patch("reviews.get_model", side_effect=llm.UnknownModelError("gpt-5-preview")):
            assert reviews.careful("a") == "no such model"

    def test_an_unknown_model_by_its_class(self):
        with patch("reviews.get_model", side_effect=llm.UnknownModelError):
            assert reviews.careful("a") == "no such model"

    def test_two_patches_of_the_same_kind(self):
        with patch("reviews.get_model") as get_model, patch("llm.get_model") as of_the_library:
            get_model.return_value.prompt.return_value.text.return_value = "Short"
            of_the_library.return_value.prompt.return_value.text.return_value = "Short"
            assert summarize("a") == greet("b") == "Short"

    def test_an_async_mock(self):
        with patch("reviews.get_async_model", new_callable=MagicMock) as get_async_model:
            get_async_model.return_value.prompt = AsyncMock()
            get_async_model.return_value.prompt.return_value.text.return_value = "Hallo"
            assert reviews.asyncio.run(reviews.awaited("a")) == "Hallo"
