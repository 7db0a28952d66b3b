"""Patches that are not understood, and patches of something else, which are not reported."""

import contextlib
import sys
import unittest
from unittest import mock
from unittest.mock import DEFAULT, Mock, create_autospec, patch

import llm
import other
import pytest
import reviews
from other import Mock as OtherMock
from reviews import summarize

NAME = reviews.__name__


@pytest.fixture
def two_mocks():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        yield "Short"


@pytest.fixture
def another(two_mocks):
    return two_mocks


@contextlib.contextmanager
def answering(text):
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = text
        yield get_model


class TestOfLLM:
    def test_the_whole_library_by_something_else(self):
        with patch("reviews.llm", Mock(get_model=Mock())):
            summarize("a")

    def test_the_whole_library_with_a_result(self):
        with patch("reviews.llm", return_value=5):
            summarize("a")

    def test_an_unknown_replacement(self):
        with patch("reviews.get_model", reviews.name_of):
            summarize("a")

    def test_a_spec(self):
        with patch("reviews.get_model", create_autospec(llm.get_model)):
            summarize("a")

    def test_another_class_of_mocks(self):
        with patch("reviews.get_model", new_callable=OtherMock):
            summarize("a")

    def test_a_name_that_is_made(self):
        with patch("reviews.get_model", create=True):
            summarize("a")

    def test_several(self):
        with patch.multiple("reviews", get_model=DEFAULT, as_json=DEFAULT):
            summarize("a")

    def test_several_async(self):
        with patch.multiple(reviews, get_async_model=DEFAULT):
            summarize("a")

    def test_entries_of_modules(self):
        with patch.dict("sys.modules", {"llm": Mock()}):
            summarize("a")

    def test_entries_of_modules_by_their_object(self):
        with patch.dict(sys.modules, {"other": Mock(), "llm": Mock()}):
            summarize("a")

    def test_an_entry_of_modules(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "llm", Mock())
        summarize("a")

    def test_a_class_of_llm(self):
        with patch("llm.Model"):
            summarize("a")

    def test_a_response_of_llm(self):
        with patch.object(llm.Response, "text", return_value="Short"):
            summarize("a")

    def test_a_conversation_of_llm(self):
        with patch("llm.Conversation"):
            summarize("a")

    def test_a_method_of_a_model(self):
        with patch("llm.default_plugins.openai_models.Chat.execute"):
            summarize("a")

    def test_a_prompt_of_a_model(self):
        with patch("llm.default_plugins.openai_models.Chat.prompt"):
            summarize("a")

    def test_embeddings(self):
        with patch("llm.get_embedding_model"):
            summarize("a")

    def test_a_module_that_is_not_there(self):
        with patch("missing.get_async_model"):
            summarize("a")

    def test_the_library_of_a_module_that_is_not_there(self):
        with patch("missing.llm"):
            summarize("a")

    def test_a_relative_name(self):
        with patch(".get_model"):
            summarize("a")

    def test_two_names(self, mocker):
        first = second = mocker.patch("reviews.get_model")
        first.return_value.prompt.return_value.text.return_value = "Short"
        assert second

    def test_a_patch_that_is_an_attribute(self, mocker):
        self.get_model = mocker.patch("reviews.get_model")
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"

    def test_a_patch_in_a_loop(self):
        for text in ("a", "b"):
            with patch("reviews.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = text

    def test_a_patch_under_a_condition(self, mocker):
        if NAME:
            mocker.patch("reviews.get_model")

    def test_nothing_is_left_of_a_block(self, tmp_path):
        with open(tmp_path / "file", "w"):
            model = Mock()
            model.prompt.return_value.text.return_value = "Short"
        with patch("reviews.get_model", return_value=model):
            summarize("a")

    def test_a_fixture_with_more(self, two_mocks):
        summarize("a")

    def test_a_fixture_of_a_fixture_with_more(self, another):
        summarize("a")

    def test_a_mock_whose_purpose_is_unknown(self):
        unused = Mock()
        unused.text.return_value = "Short"
        with patch("reviews.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = unused.text()
            summarize("a")


@mock.patch("reviews.get_model")
class TestOfAClass(TestOfLLM):
    def test_it(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize("a") == "Short"


@mock.patch("reviews.get_model")
@mock.patch("reviews.said")
class TestOfAClassWithAnotherPatch:
    def test_it(self, said, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")


@mock.patch("reviews.get_model")
class TestOfAClassWithAnotherTest:
    def test_it(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize("a") == "Short"

    def test_nothing_configured(self, get_model):
        summarize("a")


@pytest.mark.skip
class TestOfACaseWithAnAttribute(unittest.TestCase):
    @patch("reviews.get_model")
    def test_it(self, get_model):
        self.llm_mock = None
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")


class TestOfACaseWithAFixture(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, tmp_path):
        self.folder = tmp_path

    @patch("reviews.get_model")
    def test_it(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")


class TestOfACaseWithASetup(unittest.TestCase):
    def setUp(self):
        with patch("reviews.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Short"
            self.text = summarize("a")


class TestWithASetup:
    def setup_method(self):
        self.patcher = patch("reviews.get_model")
        self.patcher.start()

    def teardown_method(self):
        self.patcher.stop()


class TestOfSomethingElse:
    def test_a_get_model_of_others(self):
        with patch("other.get_model") as get_model:
            get_model.return_value.objects.all.return_value = []

    def test_a_get_model_of_an_object_of_others(self):
        with patch.object(other, "get_model") as get_model:
            get_model.return_value.objects.all.return_value = []

    def test_a_name_that_is_unknown(self):
        with patch(NAME + ".get_model"):
            summarize("a")

    def test_a_name_that_is_formatted(self):
        with patch(f"{NAME}.get_model"):
            summarize("a")

    def test_a_name_by_percent(self):
        with patch("%s.get_model" % "reviews"):
            summarize("a")

    def test_an_object_that_is_unknown(self):
        with patch.object(reviews.model_of(), "prompt"):
            summarize("a")

    def test_an_attribute_that_is_unknown(self):
        with patch.object(reviews, NAME):
            summarize("a")

    def test_no_attribute(self):
        with patch.object(reviews):
            summarize("a")

    def test_hidden_arguments(self):
        with patch(*["reviews.get_model"]):
            summarize("a")

    def test_nothing(self):
        with patch():
            summarize("a")

    def test_a_patch_of_others(self):
        with other.patch("reviews.get_model"):
            summarize("a")

    def test_a_mock_of_others(self):
        model = OtherMock()
        model.prompt.return_value = "Short"
        assert model.prompt() == "Short"

    def test_entries_of_something_else(self, monkeypatch):
        with patch.dict("os.environ", {"llm": "a"}), patch.dict(sys.modules, other=Mock()):
            monkeypatch.setitem(reviews.__dict__, "llm", Mock())

    def test_several_of_others(self):
        with patch.multiple("reviews", as_json=DEFAULT):
            summarize("a")

    def test_the_folder_of_llm(self, monkeypatch, tmp_path):
        monkeypatch.setattr(llm, "user_dir", lambda: tmp_path)

    def test_deleted(self, monkeypatch):
        monkeypatch.delattr("reviews.get_model")


def test_a_try_that_goes_on():
    with patch("reviews.get_model") as get_model:
        try:
            get_model.return_value.prompt.return_value.text.return_value = "Short"
            summarize("a")
        except ValueError:
            pass
        finally:
            print("done")
