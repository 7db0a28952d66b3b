"""Tests of `unittest.TestCase`."""

import unittest
from unittest.mock import patch

import pytest

import reviews
from assistants import Assistant
from reviews import patient, summarize


class TestDecorators(unittest.TestCase):
    """The mocks are arguments."""

    text = "a"

    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    # Before each test.
    def setUp(self):
        self.answers = []

    def test_one(self):
        self.llm_mock.set("*", "Short")
        self.assertEqual(summarize(self.text), "Short")
        self.llm_mock.assert_called_once()

    @patch("reviews.said", side_effect=str)
    def test_two(self, said):  # fmt: skip
        def reply(prompt):
            self.answers.append(prompt.prompt)
            return f"Short: {prompt.prompt}"

        self.llm_mock.set("*", reply)
        self.assertEqual(summarize(self.text), "Short: Summarize: a")
        self.assertEqual((len(self.answers), said.call_count), (1, 1))


class TestAsync(unittest.IsolatedAsyncioTestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    async def test_it(self):
        self.llm_mock.set_error("*", ConnectionError("no route"))
        self.assertEqual(patient("a"), "no connection")
        self.assertEqual(len(self.llm_mock.calls), 3)


# For all of them.
class TestClass(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def test_it(self):
        self.llm_mock.set("*", "Short")
        self.assertEqual(summarize("a"), "Short")


class TestClients(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def test_arguments_of_a_call(self):
        self.llm_mock.set("*", "Hi")
        self.assertEqual(Assistant().answer("a"), "Hi")
        self.assertIn("temperature", self.llm_mock.last_call.request.body)
        self.assertNotIn("tools", self.llm_mock.last_call.request.body, "there are tools")

    def test_a_helper_whose_result_nobody_needs(self):
        self.llm_mock.set("*", "Hello")
        self.assertEqual(Assistant().answer("a"), "Hello")


class TestDocumented(unittest.TestCase):
    """It has one statement before its tests."""

    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses

    def test_it(self):
        self.llm_mock.set("*", "Short")
        self.assertEqual(summarize("a"), "Short")


class TestNothingElse(unittest.TestCase):
    def test_it(self):
        self.assertEqual(reviews.said("a"), "a")
