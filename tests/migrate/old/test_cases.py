"""Tests of `unittest.TestCase`."""

import unittest
from unittest.mock import Mock, patch

import reviews
from assistants import Assistant
from reviews import patient, summarize


class TestDecorators(unittest.TestCase):
    """The mocks are arguments."""

    text = "a"

    # Before each test.
    def setUp(self):
        self.answers = []

    @patch("reviews.get_model")
    def test_one(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize(self.text), "Short")
        get_model.return_value.prompt.assert_called_once()

    @patch("reviews.said", side_effect=str)
    @patch("reviews.get_model")
    def test_two(self, get_model, said,):  # fmt: skip
        def reply(prompt, **options):
            self.answers.append(prompt)
            return Mock(text=Mock(return_value=f"Short: {prompt}"))

        get_model.return_value.prompt = reply
        self.assertEqual(summarize(self.text), "Short: Summarize: a")
        self.assertEqual((len(self.answers), said.call_count), (1, 1))


class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def test_it(self):
        with patch("reviews.get_model") as get_model:
            get_model.return_value.prompt.side_effect = ConnectionError("no route")
            self.assertEqual(patient("a"), "no connection")
            self.assertEqual(get_model.return_value.prompt.call_count, 3)


# For all of them.
@patch("reviews.get_model")
class TestClass(unittest.TestCase):
    def test_it(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")


def let_answer(client_class, text="Hi"):
    client = client_class.return_value
    message = Mock(content=text, tool_calls=None)
    client.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
    return client


class TestClients(unittest.TestCase):
    @patch("assistants.OpenAI")
    def test_arguments_of_a_call(self, client_class):
        client = let_answer(client_class)
        self.assertEqual(Assistant().answer("a"), "Hi")
        options = client.chat.completions.create.call_args.kwargs
        self.assertIn("temperature", options)
        self.assertNotIn("tools", options, "there are tools")

    @patch("assistants.OpenAI")
    def test_a_helper_whose_result_nobody_needs(self, client_class):
        let_answer(client_class, text="Hello")
        self.assertEqual(Assistant().answer("a"), "Hello")


class TestDocumented(unittest.TestCase):
    """It has one statement before its tests."""

    @patch("reviews.get_model")
    def test_it(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        self.assertEqual(summarize("a"), "Short")


class TestNothingElse(unittest.TestCase):
    def test_it(self):
        self.assertEqual(reviews.said("a"), "a")
