"""The control API of `llm-mock serve`, by which tests in any language set replies and read calls.

Imported only when the first control request comes; `serve_router.py` finds its test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, NamedTuple, TypeVar

import pydantic
from pydantic_core import from_json

from llm_mock.behaviour.reply_lists import ReplyList, UnusableReply, configure_replies
from llm_mock.boundaries.http.error_formats import format_path
from llm_mock.boundaries.http.http1 import RequestHead
from llm_mock.boundaries.http.wire import WireResponse, json_response
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.commands.serve_tests import CONTROL_PATH, MAX_TESTS, ReportingMock, ServedTests
from llm_mock.core.call import Call
from llm_mock.core.diagnostics import explain_unused
from llm_mock.core.mock import Mock
from llm_mock.core.script import QueuedReply
from llm_mock.errors import LLMMockError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.text import format_count, format_error, shorten, suggest_nearest
from llm_mock.support.validation import Problem, Text, Whole, list_problems

MAX_CONTROL_BYTES = 20_000_000
"""The largest body of a control request, as that of a script."""
MAX_REPLIES = 10_000
"""The number of replies of a control request: other requests wait until all of them are set."""
SHOWN_PROBLEMS = 50
LOCAL_RULE = (
    "The control API accepts only requests from this machine to a local host name, and none from "
    "web pages of other hosts. For other requests, for example from outside a container, start "
    "llm-mock serve with --control-token TOKEN, and send the header Authorization: Bearer TOKEN."
)

Model = TypeVar("Model", bound=pydantic.BaseModel)


class _Body(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class MisbehaviourBody(_Body):
    """The body of `POST misbehave`."""

    name: Text | None
    """The name of the misbehaviour; None ends it."""
    times: Annotated[Whole, pydantic.Field(ge=1)] | None = None


class EmptyBody(_Body):
    """The body of `POST reset`, which may also be left out."""


class ControlRequest(NamedTuple):
    """A control request that is allowed."""

    test: str | None
    """The test that it is about; None for requests that name none."""
    body: bytes


Answer = Callable[[ControlRequest], JSONObject]
"""Returns the body of the answer to a request."""
Route = tuple[str, Answer]
"""The method that a path takes, and what answers it."""


class ServeControl:
    """Answers control requests.

    Args:
        tests: the mocks of the server.
    """

    def __init__(self, tests: ServedTests) -> None:
        self._tests = tests
        self._routes: dict[str, Route] = {
            "replies": ("POST", self._add_replies),
            "misbehave": ("POST", self._misbehave),
            "calls": ("GET", self._list_calls),
            "unused": ("GET", self._list_unused),
            "verdict": ("GET", self._judge),
            "reset": ("POST", self._reset),
            "health": ("GET", self._report_health),
        }

    def respond(
        self, head: RequestHead, name: str, body: bytes, test: str | None, is_allowed: bool
    ) -> WireResponse:
        """Return the response to a control request.

        Args:
            head: the head of the request.
            name: its path below that of the control API, such as `/replies`.
            body: the body.
            test: the test that it is about; None for requests that name none.
            is_allowed: whether the client may control the server.
        """
        try:
            # Allowed without a token, because /health reveals no more than the models do.
            if not is_allowed and name != "/health":
                raise WireError(403, LOCAL_RULE)
            answer = self._find_route(head, name)
            return _respond(answer(ControlRequest(test, body)))
        except WireError as error:
            return _respond_with_error(error)
        except LLMMockError as error:
            return _respond_with_error(WireError(400, str(error)))
        except Exception as error:
            # A client that got no answer would wait for its timeout.
            return _respond_with_error(WireError(500, format_error(error)))

    def _find_route(self, head: RequestHead, name: str) -> Answer:
        """Return the function that answers a request.

        Raises:
            WireError: there is none for its path, its method or its query.
        """
        route = self._routes.get(name[1:]) if name.startswith("/") else None
        if route is None:
            hint = suggest_nearest(name[1:], self._routes) or "."
            message = f"There is no {shorten(head.path)}{hint} {self._list_routes()}"
            raise WireError(404, message)
        expected, answer = route
        # Some clients look at the head alone to see if a server is up.
        method = "GET" if head.method == "HEAD" else head.method
        if method != expected:
            message = f"{name[1:]} takes {expected}, not {shorten(method)}. {self._list_routes()}"
            raise WireError(405, message, headers={"allow": expected})
        if head.query:
            raise WireError(400, f"{name[1:]} takes no query, but got {shorten(head.query)}.")
        return answer

    def _list_routes(self) -> str:
        routes = [f"{method} {CONTROL_PATH}/{name}" for name, (method, _) in self._routes.items()]
        return f"The control API has {', '.join(routes)}."

    # The routes

    def _add_replies(self, request: ControlRequest) -> JSONObject:
        script = _parse_body(request.body, ReplyList)
        mock = self._tests.get(request.test)
        mock.move_script_below()
        try:
            configure_replies(mock.configurator, script, _describe_reply)
        except UnusableReply as error:
            problem = f"{_describe_reply(error.position)}: {error}"
            raise LLMMockError(problem) from None
        return {"added": len(script.replies)}

    def _misbehave(self, request: ControlRequest) -> JSONObject:
        body = _parse_body(request.body, MisbehaviourBody)
        mock = self._tests.get(request.test)
        if body.name is None:
            mock.misbehaviour = None
            return {"misbehaviour": None}
        misbehaviour = mock.misbehave(body.name, body.times)
        return {"misbehaviour": misbehaviour.name, "times": body.times}

    def _list_calls(self, request: ControlRequest) -> JSONObject:
        mock = self._tests.find(request.test)
        if mock is None:
            return {"calls": [], "total": 0}
        calls = [_describe_call(call) for call in mock.calls]
        return {"calls": calls, "total": mock.history.number_of_calls}

    def _list_unused(self, request: ControlRequest) -> JSONObject:
        mock = self._tests.find(request.test)
        unused = [] if mock is None else _find_unused(mock)
        return {"unused": [reply.text() for reply in unused]}

    def _judge(self, request: ControlRequest) -> JSONObject:
        mock = self._tests.find(request.test)
        if mock is None:
            return _judge_missing(request.test, self._tests)
        return _judge(mock)

    def _reset(self, request: ControlRequest) -> JSONObject:
        if request.body:
            _parse_body(request.body, EmptyBody)
        self._tests.reset(request.test)
        return {"reset": True}

    def _report_health(self, request: ControlRequest) -> JSONObject:
        return {"status": "ok"}


# Bodies


def _parse_body(body: bytes, model: type[Model]) -> Model:
    """Return the validated body of a request.

    Raises:
        WireError: it is too large, or has too many replies.
        LLMMockError: it is not JSON, or not valid; the message has the path of each problem.
    """
    if len(body) > MAX_CONTROL_BYTES:
        message = f"The body is too large; it must have at most {MAX_CONTROL_BYTES:,} bytes."
        raise WireError(413, message)
    data = _parse_json(body)
    _check_number_of_replies(data)
    try:
        return model.model_validate(data)
    except pydantic.ValidationError as error:
        problems = islice(list_problems(error, model.model_json_schema()), SHOWN_PROBLEMS)
        lines = [_format_problem(problem) for problem in problems]
        left = error.error_count() - len(lines)
    if left:
        lines.append(f"… and {left} more problems")
    # Outside of the `except` block, as an error of pydantic helps nobody.
    raise LLMMockError("\n".join(lines))


def _check_number_of_replies(data: object) -> None:
    """Raise a WireError for too many replies, before time is spent on them."""
    replies = data.get("replies") if isinstance(data, dict) else None
    if isinstance(replies, list) and len(replies) > MAX_REPLIES:
        raise WireError(
            413,
            f"The body has {len(replies):,} replies; it must have at most {MAX_REPLIES:,}. Send "
            "them in several requests.",
        )


def _parse_json(body: bytes) -> Any:
    """Return the value of a JSON text without duplicate keys.

    Raises:
        LLMMockError: it is not one.
    """
    try:
        # Its errors name line and column, and it refuses what is nested too deep.
        from_json(body, allow_inf_nan=False)
        # It takes the last of duplicate keys, so the text is parsed once more.
        return json.loads(body, object_pairs_hook=_refuse_duplicates)
    except ValueError as error:
        raise LLMMockError(f"The body is not valid JSON: {error}") from None


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> JSONObject:
    data: JSONObject = {}
    for key, value in pairs:
        if key in data:
            raise ValueError(f"duplicate key {shorten(key)}")
        data[key] = value
    return data


def _format_problem(problem: Problem) -> str:
    location = problem.location
    # The text itself names the last key.
    if problem.names_place:
        location = location[:-1]
    path = format_path(location)
    return f"{path}: {problem.text}" if path else problem.text


def _describe_reply(position: int) -> str:
    return f"replies[{position}]"


# Answers


def _respond(
    body: JSONObject, status: int = 200, headers: Mapping[str, str] | None = None
) -> WireResponse:
    return json_response(redact(body), status, headers)


def _respond_with_error(error: WireError) -> WireResponse:
    return _respond({"error": {"message": error.message}}, error.status, error.headers)


def _describe_call(call: Call) -> JSONObject:
    request = call.request
    return {
        **call,
        "test": call.test,
        "messages": call.messages,
        "request": None if request is None else request._asdict(),
    }


def _find_unused(mock: Mock) -> list[QueuedReply]:
    """Return the replies with `times` that a test set and did not use up."""
    return [reply for reply in mock.configurator.replies.get_queued() if not reply.optional]


def _judge(mock: ReportingMock) -> JSONObject:
    """Check the calls of a test as the plugin does at the end of a test in Python."""
    number = mock.history.number_of_calls
    unused = _find_unused(mock)
    problems = _list_notes(mock.problems, mock.dropped_notes["problem"])
    reasons = [*problems]
    misbehaviour = mock.misbehaviour
    if misbehaviour is not None:
        # An application that meets a misbehaving model may rightly stop early.
        unused = []
        if not misbehaviour.calls:
            reasons.append(f"{misbehaviour.explain_not_applied(number)}.")
    if unused:
        reasons.append(explain_unused(mock, unused, mock.calls))
    if not number and not mock.embedding_models:
        reasons.append("No model was called.")
    return {
        "passed": not reasons,
        "message": "\n".join(reasons) or None,
        "calls": number,
        "answered_by_default": sum(not call["configured"] for call in mock.calls),
        "problems": problems,
        "unused": [reply.text() for reply in unused],
        "refusals": _list_notes(mock.refusals, mock.dropped_notes["refusal"]),
    }


def _list_notes(notes: Sequence[str], dropped: int) -> list[str]:
    """Return the notes of a test, the last of which tells of those that were not kept."""
    if not dropped:
        return [*notes]
    return [*notes, f"… and {dropped:,} more, which are in the output of the server."]


def _judge_missing(test: str | None, tests: ServedTests) -> JSONObject:
    """Return the verdict on an unknown test, which does not pass."""
    hint = suggest_nearest(test or "", tests.get_names()) or "."
    message = f"No test named {test!r} called a model or set a reply{hint}"
    if tests.dropped:
        dropped = format_count(tests.dropped, "test")
        message = f"{message} The server keeps {MAX_TESTS:,} tests, and dropped {dropped}."
    return {
        "passed": False,
        "message": message,
        "calls": 0,
        "answered_by_default": 0,
        "problems": [],
        "unused": [],
        "refusals": [],
    }
