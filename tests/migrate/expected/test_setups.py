"""Patches that `setUp` starts for all tests of a class."""

import unittest
from unittest import mock
from unittest.mock import Mock, patch

import openai
import pytest

import reviews
from assistants import Assistant, ask_async
from reviews import summarize
from translators import translate


class TestModels(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def test_it(self):
        self.llm_mock.set("*", "Short")
        self.assertEqual(summarize("a long text"), "Short")

    def test_calls(self):
        """It has a docstring."""
        self.llm_mock.set("*", "Short")
        self.assertEqual(summarize("a"), "Short")
        self.llm_mock.assert_called_once()


class TestClients(unittest.TestCase):
    """All tests have one client."""

    text = "a"

    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def setUp(self):
        """Set up."""
        super().setUp()
        # It is patched where it is used.
        # It says this.
        self.llm_mock.set("*", "Hi")
        self.assistant = Assistant()
        # That is all.

    def ask(self):
        return self.assistant.answer(self.text)

    def test_the_reply(self):
        self.assertEqual(self.ask(), "Hi")
        self.llm_mock.assert_called_once()

    def test_another_reply(self):
        self.llm_mock.set("*", "Hello")
        self.assertEqual(self.ask(), "Hello")
        self.assertEqual(self.llm_mock.last_call.request.body["model"], "gpt-4o-mini")
        # It has no tools.

    def test_no_call(self):
        self.assertEqual(self.assistant.model, "gpt-4o-mini")
        self.llm_mock.assert_not_called()


class TestObjects(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def setUp(self):
        self.said = []
        self.llm_mock.set("*", "Hi")
        patch.object(reviews, "said", str).start()
        self.addCleanup(mock.patch.stopall)

    def tearDown(self):
        self.assertEqual(self.said, ["Hi"])

    def test_it(self):
        Assistant(on_answer=self.said.append).answer("a")


class TestGemini(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def setUp(self):
        self.llm_mock.set("*", "Bonjour")

    def test_it(self):
        self.assertEqual(translate("Hello"), "Bonjour")
        self.assertEqual(len(self.llm_mock.calls), 1)


class TestAsync(unittest.IsolatedAsyncioTestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    async def asyncSetUp(self):
        self.llm_mock.set("*", "Hi")

    async def test_it(self):
        self.assertEqual(await ask_async("a"), "Hi")
        self.llm_mock.assert_called_once()


class TestAHandedClient(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def setUp(self):
        self.client = openai.OpenAI()
        self.llm_mock.set("*", "Hi")
        self.assistant = Assistant(client=self.client)

    def test_it(self):
        self.assertEqual(self.assistant.answer("a"), "Hi")
        self.llm_mock.assert_called_once()

    def test_no_call(self):
        self.assertEqual(self.assistant.model, "gpt-4o-mini")


class TestAModel(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def setUp(self):
        self.texts = ["a"]

    def test_it(self):
        self.llm_mock.set("*", "Short")
        self.assertEqual(summarize(self.texts[0]), "Short")
        self.llm_mock.assert_called_once()

    def test_no_call(self):
        self.assertEqual(self.texts, ["a"])


class TestSomethingElse(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def setUp(self):
        self.log = Mock()

    def test_one(self):
        self.llm_mock.set("*", "Short")
        self.assertEqual(summarize("a"), "Short")
        self.log.assert_not_called()

    def test_two(self):
        self.llm_mock.set("*", "Another")
        self.assertEqual(summarize("a"), "Another")


class TestAClientForEachTest(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def setUp(self):
        self.client = openai.OpenAI()
        self.assistant = Assistant(client=self.client)

    def test_no_call(self):
        self.assertEqual(self.assistant.model, "gpt-4o-mini")
        self.llm_mock.assert_not_called()

    def test_it(self):
        self.llm_mock.set("*", "Hi")
        self.assertEqual(self.assistant.answer("a"), "Hi")

    def test_another_client(self):
        client = openai.OpenAI()
        self.llm_mock.set("*", "Hello")
        self.assertEqual(Assistant(client=client).answer("a"), "Hello")
