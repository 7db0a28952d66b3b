"""Patches that `setUp` starts for all tests of a class."""

import unittest
from unittest import mock
from unittest.mock import AsyncMock, Mock, patch

import assistants
import reviews
from assistants import Assistant, ask_async
from reviews import summarize
from translators import translate


class TestModels(unittest.TestCase):
    def setUp(self):
        self.patcher = patch("reviews.get_model")
        self.get_model = self.patcher.start()
        self.addCleanup(self.patcher.stop)

    def test_it(self):
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a long text"), "Short")

    def test_calls(self):
        """It has a docstring."""
        model = self.get_model.return_value
        model.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")
        model.prompt.assert_called_once()


class TestClients(unittest.TestCase):
    """All tests have one client."""

    text = "a"

    def setUp(self):
        """Set up."""
        super().setUp()
        # It is patched where it is used.
        self.patcher = patch("assistants.OpenAI")
        self.client_class = self.patcher.start()
        self.client = Mock()
        self.client_class.return_value = self.client
        # It says this.
        message = Mock(content="Hi", tool_calls=None)
        self.client.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
        self.assistant = Assistant()
        # That is all.

    def tearDown(self):
        # Others need the real one.
        self.patcher.stop()

    def ask(self):
        return self.assistant.answer(self.text)

    def test_the_reply(self):
        self.assertEqual(self.ask(), "Hi")
        self.client.chat.completions.create.assert_called_once()

    def test_another_reply(self):
        message = Mock(content="Hello", tool_calls=None)
        self.client.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
        self.assertEqual(self.ask(), "Hello")
        options = self.client.chat.completions.create.call_args.kwargs
        self.assertEqual(options["model"], "gpt-4o-mini")
        # It has no tools.

    def test_no_call(self):
        self.assertEqual(self.assistant.model, "gpt-4o-mini")
        self.client.chat.completions.create.assert_not_called()


class TestObjects(unittest.TestCase):
    def setUp(self):
        self.said = []
        self.client_class = patch.object(assistants, "OpenAI").start()
        create = self.client_class.return_value.chat.completions.create
        create.return_value.choices[0].message.content = "Hi"
        patch.object(reviews, "said", str).start()
        self.addCleanup(mock.patch.stopall)

    def tearDown(self):
        self.assertEqual(self.said, ["Hi"])

    def test_it(self):
        Assistant(on_answer=self.said.append).answer("a")


class TestGemini(unittest.TestCase):
    def setUp(self):
        patcher = patch("translators.genai.Client")
        client_class = patcher.start()
        self.models = client_class.return_value.models
        self.models.generate_content.return_value.text = "Bonjour"
        self.addCleanup(patcher.stop)

    def test_it(self):
        self.assertEqual(translate("Hello"), "Bonjour")
        self.assertEqual(self.models.generate_content.call_count, 1)


class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.patcher = patch("assistants.AsyncOpenAI")
        self.client_class = self.patcher.start()
        self.create = AsyncMock()
        self.client_class.return_value.chat.completions.create = self.create
        self.create.return_value = Mock(choices=[Mock(message=Mock(content="Hi"))])

    async def asyncTearDown(self):
        self.patcher.stop()

    async def test_it(self):
        self.assertEqual(await ask_async("a"), "Hi")
        self.create.assert_awaited_once()


class TestAHandedClient(unittest.TestCase):
    def setUp(self):
        self.client = Mock()
        message = Mock(content="Hi", tool_calls=None)
        self.client.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
        self.assistant = Assistant(client=self.client)

    def test_it(self):
        self.assertEqual(self.assistant.answer("a"), "Hi")
        self.client.chat.completions.create.assert_called_once()

    def test_no_call(self):
        self.assertEqual(self.assistant.model, "gpt-4o-mini")


class TestAModel(unittest.TestCase):
    def setUp(self):
        self.model = Mock()
        self.model.prompt.return_value.text.return_value = "Short"
        self.texts = ["a"]

    @patch("reviews.get_model")
    def test_it(self, get_model):
        get_model.return_value = self.model
        self.assertEqual(summarize(self.texts[0]), "Short")
        self.model.prompt.assert_called_once()

    def test_no_call(self):
        self.assertEqual(self.texts, ["a"])


class TestSomethingElse(unittest.TestCase):
    def setUp(self):
        self.log = Mock()

    @patch("reviews.get_model")
    def test_one(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")
        self.log.assert_not_called()

    @patch("reviews.get_model")
    def test_two(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Another"
        self.assertEqual(summarize("a"), "Another")


class TestAClientForEachTest(unittest.TestCase):
    def setUp(self):
        self.client = Mock()
        self.assistant = Assistant(client=self.client)

    def test_no_call(self):
        self.assertEqual(self.assistant.model, "gpt-4o-mini")
        self.client.chat.completions.create.assert_not_called()

    def test_it(self):
        message = Mock(content="Hi", tool_calls=None)
        self.client.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
        self.assertEqual(self.assistant.answer("a"), "Hi")

    def test_another_client(self):
        client = Mock()
        message = Mock(content="Hello", tool_calls=None)
        client.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
        self.assertEqual(Assistant(client=client).answer("a"), "Hello")
