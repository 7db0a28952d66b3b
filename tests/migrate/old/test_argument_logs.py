"""Fakes that keep the arguments of their calls, and tests that read them."""

import asyncio
import copy
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock, patch

import assistants
import openai
import pytest
from assistants import Assistant, ask_async
from reviews import summarize

FAULTS = (
    "",
    "prompt",
    "system",
    "answer",
    "model",
    "option",
    "no option",
    "call",
    "twice",
    "no call",
)
CREATE = "openai.resources.chat.completions.Completions.create"
NO_NETWORK = openai.APIConnectionError(request=None)


def new_response(content):
    return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=content))])


def new_message(content):
    return SimpleNamespace(content=[SimpleNamespace(type="text", text=content)])


class FakeCompletions:
    """Keeps the arguments of all calls, and those of the last one."""

    def __init__(self, response):
        self._response = response
        self.calls: list[dict] = []
        self.last_call = None

    def create(self, **kwargs):
        self.calls.append(kwargs)
        self.last_call = kwargs
        return self._response


class FakeClient:
    def __init__(self, response):
        self.chat = SimpleNamespace(completions=FakeCompletions(response))


class FakeMessages:
    def __init__(self, owner):
        self.owner = owner

    async def create(self, **kwargs):
        self.owner.create_calls.append(dict(kwargs))
        return new_message("Hi")


class FakeAnthropic:
    def __init__(self):
        self.create_calls = []
        self.messages = FakeMessages(self)


@pytest.fixture
def calls(monkeypatch):
    calls = []

    def create(self, **kwargs):
        calls.append(kwargs)
        return new_response("Hi")

    monkeypatch.setattr(CREATE, create)
    return calls


def new_client(captured):
    def create(**kwargs):
        captured.update(kwargs)
        return new_response("Hi")

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def new_client_and_calls():
    calls = []

    def create(**kwargs):
        calls.append(kwargs)
        return new_response("Hi")

    completions = SimpleNamespace(create=create)
    return SimpleNamespace(chat=SimpleNamespace(completions=completions)), calls


def test_a_dict_of_all_arguments(monkeypatch):
    captured = {}

    def fake_create(self, **kwargs):
        captured.update(kwargs)
        return new_response("Hi")

    monkeypatch.setattr(CREATE, fake_create)
    assert Assistant().answer("a question") == "Hi"
    assert captured["model"] == "gpt-4o-mini"
    assert captured["messages"][1]["content"] == "Answer: a question"
    assert captured.get("temperature") == 0.5
    assert "tools" not in captured


def test_a_dict_of_some_arguments(monkeypatch):
    # What is sent.
    seen: dict[str, object] = {}

    def fake_create(self, model, messages, temperature=None, **kwargs):
        seen["model"] = model
        seen["messages"] = copy.deepcopy(messages)
        seen["temperature"] = temperature
        seen["others"] = kwargs
        seen["number"] = len(messages)
        return new_response("Hi")

    monkeypatch.setattr(CREATE, fake_create)
    assert Assistant().answer("a question") == "Hi"
    assert seen["model"] == "gpt-4o-mini"
    assert seen["messages"][0]["content"] == "Be brief"
    assert seen["temperature"] == 0.5
    assert "tools" not in seen["others"]
    assert seen["number"] == 2


def test_a_list_of_all_arguments():
    calls = []

    def fake_create(self, **kwargs):
        calls.append(kwargs)
        return new_response("Hi")

    with patch(CREATE, fake_create):
        assert Assistant().answer_twice("a question") == ["Hi", "Hi"]
    assert calls
    assert len(calls) == 2, f"{calls}"
    assert calls[0]["messages"][1]["content"] == "Answer: a question"
    assert [call["temperature"] for call in calls] == [0.5, 0.5]
    assert all("tools" not in call for call in calls)
    for call in calls:
        assert call["model"] == "gpt-4o-mini", call["model"]
    last = calls[-1]
    assert last["messages"][1]["content"].endswith("again")


def test_a_list_of_some_arguments():
    calls = []

    def fake_create(self, *, model, messages, **kwargs):
        calls.append({"model": model, "text": messages[-1]["content"]})
        return new_response("Hi")

    with patch(CREATE, fake_create):
        assert Assistant().answer("a question") == "Hi"
    assert calls[0]["model"] == "gpt-4o-mini"
    assert [call["text"] for call in calls] == ["Answer: a question"]


def test_a_list_of_one_argument():
    models = []

    def fake_create(self, **kwargs):
        models.append(kwargs["model"])
        return new_response("Hi")

    with patch(CREATE, fake_create):
        assert Assistant().answer("a question") == "Hi"
    assert models == ["gpt-4o-mini"]
    assert "gpt-4.1" not in models
    assert models[0] == "gpt-4o-mini"


def test_pairs_of_arguments():
    calls = []

    def fake_create(*args, **kwargs):
        calls.append((args, kwargs))
        return new_response("Hi")

    with patch("assistants.CLIENT.chat.completions.create", side_effect=fake_create):
        assert assistants.ask_client("a question") == "Hi"
    assert len(calls) == 1
    assert calls[0][1]["messages"][0]["content"] == "a question"


def test_whole_requests():
    calls = []

    def fake_create(**kwargs):
        calls.append(kwargs)
        return new_response("Hi")

    with patch("assistants.CLIENT.chat.completions.create", fake_create):
        assert assistants.ask_client("a question") == "Hi"
    messages = [{"role": "user", "content": "a question"}]
    assert calls == [{"model": "gpt-4o", "messages": messages}]
    assert calls[0] == {"model": "gpt-4o", "messages": messages}


def test_a_lambda(monkeypatch):
    calls = []
    monkeypatch.setattr(CREATE, lambda self, **kwargs: calls.append(kwargs) or new_response("Hi"))
    assert Assistant().answer("a question") == "Hi"
    assert calls[0]["temperature"] == 0.5


def test_a_lambda_with_a_pair(monkeypatch):
    captured = {}
    monkeypatch.setattr(
        CREATE, lambda self, **kwargs: (captured.update(kwargs), new_response("Hi"))[1]
    )
    assert Assistant().answer("a question") == "Hi"
    assert captured["temperature"] == 0.5
    assert captured


def test_names_of_the_test(monkeypatch):
    model = None
    messages = []

    def fake_create(self, **kwargs):
        nonlocal model, messages
        model = kwargs["model"]
        messages = kwargs["messages"]
        return new_response("Hi")

    monkeypatch.setattr(CREATE, fake_create)
    assert Assistant().answer("a question") == "Hi"
    assert model == "gpt-4o-mini"
    assert len(messages) == 2
    assert "a question" in messages[1]["content"]


def test_no_call(monkeypatch):
    last_call = None
    calls = []

    def fake_create(self, **kwargs):
        nonlocal last_call
        last_call = kwargs
        calls.append(kwargs)
        return new_response("Hi")

    monkeypatch.setattr(CREATE, fake_create)
    assert Assistant().answer_if_any("") == ""
    assert last_call is None
    assert not calls
    assert calls == []


def test_a_call(monkeypatch):
    last_call = None

    def fake_create(self, **kwargs):
        nonlocal last_call
        last_call = kwargs
        return new_response("Hi")

    monkeypatch.setattr(CREATE, fake_create)
    assert Assistant().answer("a question") == "Hi"
    assert last_call is not None
    assert last_call["messages"][1] == {"role": "user", "content": "Answer: a question"}


def test_the_method_of_a_client(monkeypatch):
    client = openai.OpenAI(api_key="test")
    captured = {}

    def fake_create(**kwargs):
        captured.update(kwargs)
        return new_response("Hi")

    monkeypatch.setattr(client.chat.completions, "create", fake_create)
    assert Assistant(client=client).answer("a question") == "Hi"
    assert captured["messages"][1]["content"] == "Answer: a question"


def test_the_method_of_a_client_of_the_application():
    assistant = Assistant()
    response = new_response("Hi")
    with patch.object(assistant.client.chat.completions, "create", return_value=response) as create:
        assert assistant.answer("a question") == "Hi"
    assert create.call_args.kwargs["temperature"] == 0.5


def test_a_fake_client():
    client = FakeClient(new_response("Hi"))
    assert Assistant(client=client).answer("a question") == "Hi"
    calls = client.chat.completions.calls
    assert len(calls) == 1
    assert calls[0]["model"] == "gpt-4o-mini"
    assert "tools" not in client.chat.completions.calls[0]
    assert client.chat.completions.last_call["temperature"] == 0.5
    assert client.chat.completions.last_call is not None


def test_a_fake_client_that_keeps_them_itself():
    client = FakeAnthropic()
    assert asyncio.run(assistants.ask_claude_async("a question", client)) == "Hi"
    call_kwargs = client.create_calls[0]
    assert call_kwargs["max_tokens"] == 100
    assert call_kwargs["messages"][0]["content"] == "a question"
    assert "system" not in call_kwargs


def test_a_fake_client_of_the_test(monkeypatch):
    captured = {}

    class Completions:
        calls: list = []

        def create(self, **kwargs):
            captured.update(kwargs)
            self.calls.append(kwargs)
            return new_response("Hi")

    class Client:
        def __init__(self, **options):
            self.chat = SimpleNamespace(completions=Completions())

    monkeypatch.setattr(assistants, "OpenAI", lambda **options: Client())
    assert Assistant().answer("a question") == "Hi"
    assert captured["messages"][1]["content"] == "Answer: a question"


def test_a_mock_of_a_client():
    calls = []
    client = MagicMock()
    client.chat.completions.create.side_effect = lambda **kwargs: (
        calls.append(kwargs) or new_response("Hi")
    )
    assert Assistant(client=client).answer("a question") == "Hi"
    assert calls[0]["messages"][1]["content"] == "Answer: a question"


def test_a_fixture(calls):
    assert Assistant().answer("a question") == "Hi"
    assert len(calls) == 1
    assert calls[0]["messages"][1]["content"] == "Answer: a question"


def test_a_dict_for_a_helper():
    captured = {}
    client = new_client(captured)
    assert Assistant(client=client).answer("a question") == "Hi"
    assert captured["messages"][1]["content"] == "Answer: a question"


def test_a_list_of_a_helper():
    client, calls = new_client_and_calls()
    assert Assistant(client=client).answer("a question") == "Hi"
    assert calls[-1]["messages"][1]["content"] == "Answer: a question"


def test_another_list_stays(monkeypatch):
    calls = []
    answers = []

    def fake_create(self, **kwargs):
        calls.append(kwargs)
        return new_response("Hi")

    monkeypatch.setattr(CREATE, fake_create)
    Assistant(on_answer=lambda answer: answers.append(answer)).answer("a question")
    assert answers == ["Hi"]
    assert len(calls) == 1


def test_an_async_function(monkeypatch):
    captured = {"messages": None}

    async def fake_create(self, **kwargs):
        captured["messages"] = kwargs["messages"]
        return new_response("Hi")

    monkeypatch.setattr("openai.resources.chat.completions.AsyncCompletions.create", fake_create)
    assert asyncio.run(ask_async("a question")) == "Hi"
    assert captured["messages"] == [{"role": "user", "content": "a question"}]


def test_an_error():
    calls = []

    def fake_create(self, **kwargs):
        calls.append(kwargs)
        raise NO_NETWORK

    with patch(CREATE, fake_create), pytest.raises(openai.APIConnectionError):
        Assistant().answer("a question")
    assert calls[0]["messages"][1]["content"] == "Answer: a question"


def test_a_stream():
    calls = []

    def fake_create(self, **kwargs):
        calls.append(kwargs)
        yield Mock(choices=[Mock(delta=Mock(content="H"), finish_reason=None)], usage=None)
        yield Mock(choices=[Mock(delta=Mock(content="i"), finish_reason="stop")], usage=None)

    with patch(CREATE, fake_create):
        assert Assistant().stream_answer("a question") == ["H", "i", "stop"]
    assert calls[0]["stream"] is True


def test_a_function_that_chooses(monkeypatch):
    seen = []

    def fake_create(self, **kwargs):
        """Answers."""
        seen.append(kwargs)
        if "ants" in kwargs["messages"][1]["content"]:
            return new_response("Ants")
        return new_response("Bees")

    monkeypatch.setattr(CREATE, fake_create)
    assert Assistant().answer("ants or bees") == "Ants"
    assert seen[0]["temperature"] == 0.5


def test_a_function_that_counts(monkeypatch):
    models = []

    def fake_create(self, *, model, **kwargs):
        models.append(model)
        return new_response(f"Hi {len(models)}")

    monkeypatch.setattr(CREATE, fake_create)
    assert Assistant().answer_twice("a question") == ["Hi 1", "Hi 2"]
    assert models[0] == "gpt-4o-mini"


def test_prompts_of_llm(monkeypatch):
    prompts = []

    class Model:
        def __init__(self):
            self.systems = []

        def prompt(self, text, system=None, **options):
            prompts.append(text)
            self.systems.append(system)
            return Mock(text=lambda: "Short")

    model = Model()
    monkeypatch.setattr("reviews.get_model", lambda name: model)
    assert summarize("the mail") == "Short"
    assert prompts == ["Summarize: the mail"]
    assert model.systems[0] == "Be brief"
