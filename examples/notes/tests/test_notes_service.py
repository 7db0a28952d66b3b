"""Tests of the service over HTTP, beside the plain-language tests in `llm`."""

import json
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from notes.service import server

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Return a function: `ask("POST /notes", {"text": "Buy tea"})` gives status and data."""
    with server() as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def ask(request: str, sent: object = None) -> tuple[int, Any]:
            method, target = request.split()
            connection = HTTPConnection("127.0.0.1", serving.server_port, timeout=10)
            connection.request(method, target, sent if isinstance(sent, str) else json.dumps(sent))
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
            return answer.status, json.loads(body) if body else None

        yield ask
        serving.shutdown()
        thread.join()


def test_a_note_is_read_back_as_it_was_written(ask: Ask) -> None:
    assert ask("POST /notes", {"text": "Tea and 砂糖"}) == (
        201,
        {"number": 1, "text": "Tea and 砂糖"},
    )
    assert ask("GET /notes/1") == (200, {"number": 1, "text": "Tea and 砂糖"})


@pytest.mark.parametrize("sent", [{}, {"text": ""}, {"text": 7}, ["tea"], None, "{"])
def test_a_note_without_a_text_is_refused(ask: Ask, sent: object) -> None:
    assert ask("POST /notes", sent) == (400, {"error": "A note needs a text."})


def test_notes_come_in_pages_the_oldest_first(ask: Ask) -> None:
    for text in ("tea", "sugar", "milk"):
        ask("POST /notes", {"text": text})

    assert ask("GET /notes?page=2&size=2") == (
        200,
        {"notes": [{"number": 3, "text": "milk"}], "page": 2, "total": 3},
    )
    assert [note["text"] for note in ask("GET /notes")[1]["notes"]] == ["tea", "sugar", "milk"]


@pytest.mark.parametrize("query", ["page=0", "size=-1", "size=100", "page=one"])
def test_a_page_that_makes_no_sense_is_refused(ask: Ask, query: str) -> None:
    assert ask(f"GET /notes?{query}") == (400, {"error": "page and size are numbers from 1 to 99."})


def test_a_deleted_note_is_gone_and_its_number_is_not_given_again(ask: Ask) -> None:
    ask("POST /notes", {"text": "tea"})

    assert ask("DELETE /notes/1") == (204, None)
    assert ask("GET /notes/1") == ask("DELETE /notes/1") == (404, {"error": "There is no note 1."})
    assert ask("POST /notes", {"text": "milk"})[1]["number"] == 2


def test_numbers_begin_anew_when_all_notes_are_deleted(ask: Ask) -> None:
    ask("POST /notes", {"text": "tea"})

    assert ask("DELETE /notes") == (204, None)
    assert ask("POST /notes", {"text": "milk"})[1]["number"] == 1


def test_the_service_tells_how_it_is(ask: Ask) -> None:
    assert ask("GET /health") == (200, {"ok": True, "notes": 0, "mean_length": 0.0})
    ask("POST /notes", {"text": "tea"})
    ask("POST /notes", {"text": "sugar"})
    assert ask("GET /health") == (200, {"ok": True, "notes": 2, "mean_length": 4.0})


@pytest.mark.parametrize(
    "request_line", ["GET /", "GET /notes/one", "DELETE /health", "POST /notes/1"]
)
def test_what_does_not_exist_is_not_found(ask: Ask, request_line: str) -> None:
    status, data = ask(request_line)

    assert status == 404
    assert data["error"].startswith("There is no ")
