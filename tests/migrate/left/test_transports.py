"""Fake transports of clients that have no certain meaning."""

import itertools

import httpx2
import pytest
from assistants import Assistant
from openai import AzureOpenAI, OpenAI


def new_client(handler, **options):
    http = httpx2.Client(transport=httpx2.MockTransport(handler))
    return OpenAI(api_key="test", http_client=http, **options)


@pytest.fixture
def client():
    transport = httpx2.MockTransport(lambda request: httpx2.Response(500))
    return OpenAI(api_key="test", http_client=httpx2.Client(transport=transport))


def test_a_client_of_a_helper():
    assert Assistant(client=new_client(lambda request: httpx2.Response(500)))


def test_branches():
    def handler(request):
        if request.url.path.endswith("/models"):
            return httpx2.Response(200, json={"data": []})
        return httpx2.Response(500)

    http = httpx2.Client(transport=httpx2.MockTransport(handler))
    assert Assistant(client=OpenAI(http_client=http)).answer("a")


def test_responses_in_turn():
    answers = iter([httpx2.Response(500), httpx2.Response(429)])
    transport = httpx2.MockTransport(lambda request: next(answers))
    client = OpenAI(http_client=httpx2.Client(transport=transport))
    assert Assistant(client=client).answer_twice("a")


def test_a_counter():
    number = itertools.count()

    def handler(request):
        next(number)
        return httpx2.Response(500)

    http = httpx2.Client(transport=httpx2.MockTransport(handler))
    assert Assistant(client=OpenAI(http_client=http)).answer("a")


def test_a_request_that_the_handler_checks():
    def handler(request):
        assert request.headers["authorization"] == "Bearer test"
        return httpx2.Response(500)

    http = httpx2.Client(transport=httpx2.MockTransport(handler))
    assert Assistant(client=OpenAI(http_client=http)).answer("a")


def test_the_url_of_a_request():
    requests = []

    def handler(request):
        requests.append(request)
        return httpx2.Response(500)

    http = httpx2.Client(transport=httpx2.MockTransport(handler))
    assert Assistant(client=OpenAI(http_client=http)).answer("a")
    assert requests[0].url.path == "/v1/chat/completions"


def test_a_list_of_models():
    body = {"object": "list", "data": [{"id": "text-embedding-3-small"}]}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=body))
    assert Assistant(client=OpenAI(http_client=httpx2.Client(transport=transport)))


def test_another_request():
    transport = httpx2.MockTransport(lambda request: httpx2.Response(500))
    client = OpenAI(http_client=httpx2.Client(transport=transport))
    assert client.models.list()


def test_a_stream():
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, text="data: {}\n\n"))
    assert Assistant(client=OpenAI(http_client=httpx2.Client(transport=transport)))


def test_a_server_of_the_project():
    transport = httpx2.MockTransport(lambda request: httpx2.Response(500))
    http = httpx2.Client(transport=transport)
    assert Assistant(client=OpenAI(base_url="https://llm.example.com/v1", http_client=http))


def test_azure():
    transport = httpx2.MockTransport(lambda request: httpx2.Response(500))
    http = httpx2.Client(transport=transport)
    assert Assistant(client=AzureOpenAI(azure_endpoint="https://a.example.com", http_client=http))


def test_another_use_of_the_http_client():
    http = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(500)))
    assert Assistant(client=OpenAI(http_client=http))
    http.close()


def test_two_transports():
    first = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(500)))
    second = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(429)))
    assert Assistant(client=OpenAI(http_client=first))
    assert Assistant(client=OpenAI(http_client=second))
