"""Patches that `setUp` starts for all tests of a class, in classes that stay as they are."""

import unittest
from unittest.mock import Mock, patch

from assistants import Assistant
from reviews import summarize

response = "Short"


class TestOneTestThatIsNotUnderstood(unittest.TestCase):
    def setUp(self):
        self.patcher = patch("reviews.get_model")
        self.get_model = self.patcher.start()
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"

    def tearDown(self):
        self.patcher.stop()

    def test_it(self):
        self.assertEqual(summarize("a"), "Short")

    def test_the_mock(self):
        self.assertEqual(summarize("a"), "Short")
        print(self.get_model)

    def test_again(self):
        self.assertEqual(summarize("a"), "Short")


class TestASetupThatIsNotUnderstood(unittest.TestCase):
    def setUp(self):
        self.patcher = patch("reviews.get_model")
        self.get_model = self.patcher.start()
        print(self.get_model)
        self.addCleanup(self.patcher.stop)

    def test_it(self):
        self.assertEqual(summarize("a"), "Short")

    def test_again(self):
        self.assertEqual(summarize("a"), "Short")


class TestAnEndThatIsNotUnderstood(unittest.TestCase):
    def setUp(self):
        self.patcher = patch("reviews.get_model")
        self.get_model = self.patcher.start()
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"

    def tearDown(self):
        self.patcher.stop()
        summarize("a")

    def test_it(self):
        self.assertEqual(summarize("a"), "Short")


class TestAHelper(unittest.TestCase):
    def setUp(self):
        self.patcher = patch("assistants.OpenAI")
        self.client_class = self.patcher.start()
        self.client = self.client_class.return_value
        self.addCleanup(self.patcher.stop)

    def reply(self, text):
        create = self.client.chat.completions.create
        create.return_value.choices[0].message.content = text

    def test_it(self):
        self.reply("Hi")
        self.assertEqual(Assistant().answer("a"), "Hi")

    def test_no_call(self):
        self.assertEqual(Assistant().model, "gpt-4o-mini")


class TestNoEnd(unittest.TestCase):
    def setUp(self):
        self.get_model = patch("reviews.get_model").start()
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"

    def test_it(self):
        self.assertEqual(summarize("a"), "Short")


class TestANameOfTheFile(unittest.TestCase):
    def setUp(self):
        patcher = patch("reviews.get_model")
        self.addCleanup(patcher.stop)
        response = Mock()
        response.text.return_value = "Short"
        patcher.start().return_value.prompt.return_value = response

    def test_it(self):
        self.assertEqual(summarize("a"), response)


class TestAnotherStart(unittest.TestCase):
    def setUp(self):
        self.patcher = patch("reviews.get_model")
        self.get_model = self.patcher.start()
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.addCleanup(self.patcher.stop)

    def test_it(self):
        self.assertEqual(summarize("a"), "Short")

    @patch("assistants.OpenAI")
    def test_both(self, client_class):
        create = client_class.return_value.chat.completions.create
        create.return_value.choices[0].message.content = "Hi"
        self.assertEqual(summarize("a"), "Short")
        self.assertEqual(Assistant().answer("a"), "Hi")


class TestBase(unittest.TestCase):
    def setUp(self):
        self.patcher = patch("reviews.get_model")
        self.get_model = self.patcher.start()
        self.addCleanup(self.patcher.stop)

    def test_it(self):
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")


class TestMore(TestBase):
    def test_more(self):
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")


class TestAParameter(unittest.TestCase):
    def setUp(self, name="a"):
        self.get_model = patch("reviews.get_model").start()
        self.addCleanup(patch.stopall)

    def test_it(self):
        self.get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")


class TestADecorator(unittest.TestCase):
    @patch("reviews.get_model")
    def setUp(self, get_model):
        self.get_model = get_model

    def test_it(self):
        self.assertIsNotNone(self.get_model)


class TestAClient(unittest.TestCase):
    def setUp(self):
        self.client = Mock()
        create = self.client.chat.completions.create
        create.return_value.choices[0].message.content = "Hi"

    def reply(self, text):
        create = self.client.chat.completions.create
        create.return_value.choices[0].message.content = text

    def test_it(self):
        self.assertEqual(Assistant(client=self.client).answer("a"), "Hi")

    def test_another_reply(self):
        self.reply("Hello")
        self.assertEqual(Assistant(client=self.client).answer("a"), "Hello")


class TestTwoClients(unittest.TestCase):
    def setUp(self):
        self.client = Mock()
        self.assistant = Assistant(client=self.client)

    def test_openai(self):
        message = Mock(content="Hi", tool_calls=None)
        self.client.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
        self.assertEqual(self.assistant.answer("a"), "Hi")

    def test_claude(self):
        self.client.messages.create.return_value = Mock(content=[Mock(text="Hi")])
        self.assertEqual(self.assistant.text, "anthropic")
