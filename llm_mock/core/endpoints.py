"""Configured responses of endpoints, such as file or moderation APIs; see `on`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from llm_mock.core.matchers import Matchers
from llm_mock.core.reply import Reply, ReplyOrFunction, to_exception
from llm_mock.core.reply_functions import call_function, call_function_async
from llm_mock.core.script import QueuedReply, StandingReply
from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import described, suggest_nearest

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.source_location import SourceLocation

WILDCARDS = re.compile(r"\*\*|\*|\{\w+\}")
"""The wildcards of a path: any segments, one segment, and one segment with a name."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
JSON_TYPE = "application/json"


class EndpointBody(NamedTuple):
    """The body of a response with its media type."""

    value: Any
    """A JSON value, a text or bytes."""
    media_type: str


EndpointFunction = Callable[[Any], Any]
"""A function that takes the request and returns a body, or an error."""
EndpointAnswer = EndpointBody | Reply | EndpointFunction
"""A body, a reply with an error, or a function that returns one of them."""


class Endpoint:
    """The requests that a configured response answers.

    Args:
        method: the method; `*` for any.
        path: the path, with wildcards, or a URL with the host before it.

    Raises:
        InvalidReply: it is not a method or not a path.
    """

    def __init__(self, method: str, path: str) -> None:
        __tracebackhide__ = True
        upper = str(method).upper()
        if upper not in (*METHODS, "*"):
            nearest = suggest_nearest(upper, METHODS) or "."
            raise InvalidReply(
                f"This is not an HTTP method: {described(method)}{nearest} Write "
                'on(method, path, reply), such as on("POST", "/v1/moderations", {…}).'
            )
        host = _find_host(path)
        if host is None:
            raise InvalidReply(
                f"This is not the path of an endpoint: {described(path)}. Pass a path without a "
                "query such as '/v1/files/*', or a URL such as "
                "'https://api.openai.com/v1/files'."
            )
        self.name = f"{upper} {path}"
        """The name in messages."""
        self._method = upper
        self._host = host
        self._base = ""
        if host:
            scheme, _, rest = path.partition("://")
            server, _, path = rest.partition("/")
            self._base = f"{scheme}://{server}"
            path = f"/{path}"
        self._path = path
        self._pattern = re.compile(_translate(path))
        self.has_wildcards = WILDCARDS.search(path) is not None

    def match(self, method: str, host: str | None, path: str) -> dict[str, str] | None:
        """Return the named segments of a path that matches; None for another request.

        Args:
            method: the method of the request.
            host: its host; None if it is not known.
            path: its path.
        """
        if self._method not in (method, "*"):
            return None
        if host is not None and self._host not in (host, ""):
            return None
        match = self._pattern.fullmatch(path)
        return None if match is None else match.groupdict()

    def explain_near_miss(
        self, method: str, host: str | None, path: str, calls_model: bool
    ) -> str | None:
        """Return why a request nearly matches, but does not; None for other requests.

        Args:
            method: the method of the request.
            host: its host; None if it is not known.
            path: its path.
            calls_model: whether it calls a model with a conversation.
        """
        is_path = self._pattern.fullmatch(path) is not None
        if self._method not in (method, "*"):
            return f"the method is {method}, not {self._method}" if is_path else None
        if host is not None and self._host not in (host, ""):
            return f"the host is {host}, not {self._host}" if is_path else None
        meant = self._find_meant_path(path, calls_model)
        if meant is None:
            return None
        url = f"{self._base}{meant}"
        return f"the path is {path}, not {self._path}: write on({method!r}, {url!r}, …)"

    def _find_meant_path(self, path: str, calls_model: bool) -> str | None:
        """Return the correct path for a request whose path is nearly the configured one.

        Without wildcards, the paths may differ in case, in a slash at the end, and in a prefix or
        suffix.
        """
        if self.has_wildcards:
            # A path with wildcards may only lack its beginning.
            found = re.fullmatch(f"(/.+?){self._pattern.pattern}", path)
            return None if found is None else f"{found[1]}{self._path}"
        given = self._path.lower().rstrip("/")
        called = path.lower().rstrip("/")
        is_same = given == called
        is_end = given != "" and called.endswith(given)
        # `/v1/files/{id}` is not `/v1/files`, but a path that calls a model may have a suffix, such
        # as an action.
        is_beginning = calls_model and called.startswith(f"{given}/")
        return path if is_same or is_end or is_beginning else None


def _find_host(path: object) -> str | None:
    """Return the host of an endpoint, empty for a path without one; None if it is no endpoint."""
    if not isinstance(path, str):
        return None
    if not re.match(r"^(https?://[^/?#]+)?/[^?#]*$", path):
        return None
    if path.startswith("/"):
        return ""
    try:
        return urlsplit(path).hostname
    except ValueError:
        # An address of IPv6 without its closing bracket, for example.
        return None


def _translate(path: str) -> str:
    """Return the regular expression of a path with wildcards."""
    pattern = ""
    position = 0
    for wildcard in WILDCARDS.finditer(path):
        pattern += re.escape(path[position : wildcard.start()])
        text = wildcard[0]
        if text == "**":
            pattern += ".*"
        elif text == "*":
            pattern += "[^/]+"
        else:
            pattern += f"(?P<{text[1:-1]}>[^/]+)"
        position = wildcard.end()
    return pattern + re.escape(path[position:])


class EndpointResponse(NamedTuple):
    """The configured response of an endpoint."""

    endpoint: Endpoint
    answer: EndpointAnswer
    status: int
    headers: Mapping[str, str]


class EndpointReply(StandingReply):
    """The response to every request of an endpoint."""

    __slots__ = ("response",)

    def __init__(self, response: EndpointResponse, place: SourceLocation | None) -> None:
        shown = _to_shown_reply(response.answer)
        super().__init__(response.endpoint.name, None, shown, place)
        self.response = response

    def misses(self, call: Call) -> list[str]:
        """Return why a call does not match, a phrase for each unmet condition."""
        return _list_misses(self.response.endpoint, call)


class QueuedEndpointReply(QueuedReply):
    """The response to the next requests of an endpoint."""

    __slots__ = ("response",)

    def __init__(
        self,
        response: EndpointResponse,
        place: SourceLocation | None,
        times: int,
        optional: bool,
    ) -> None:
        shown = _to_shown_reply(response.answer)
        name = response.endpoint.name
        super().__init__(name, None, shown, place, times, Matchers(), optional)
        self.response = response

    def misses(self, call: Call) -> list[str]:
        """Return why a call does not match, a phrase for each unmet condition."""
        return _list_misses(self.response.endpoint, call)


def _list_misses(endpoint: Endpoint, call: Call) -> list[str]:
    """Return why an endpoint does not match a call, as one phrase; an empty list if it does."""
    made = str(call.get("api", ""))
    host = None
    method, _, path = made.partition(" ")
    # The API of a request to another endpoint is its method and path.
    calls_model = not path
    if calls_model:
        made = f"a call to {call['model_id']}"
    sent = call.request
    if sent is not None:
        url = urlsplit(sent.url)
        host = url.hostname
        if calls_model:
            method = sent.method
            path = url.path
    far = f"the request is {made}, not {endpoint.name}"
    if not path:
        return [far]
    if endpoint.match(method, host, path) is None:
        near = endpoint.explain_near_miss(method, host, path, calls_model)
        return [near or far]
    if calls_model:
        # The response would have taken precedence, so it was not configured yet.
        return ["it was made before the reply was configured: configure the reply before the call"]
    return []


def _to_shown_reply(answer: EndpointAnswer) -> ReplyOrFunction:
    """Return an answer in the form in which messages show replies."""
    if not isinstance(answer, EndpointBody):
        return answer
    if isinstance(answer.value, bytes):
        return Reply(f"<{len(answer.value)} bytes>")
    return Reply(answer.value) if isinstance(answer.value, str) else Reply(data=answer.value)


def to_endpoint_answer(value: object) -> EndpointAnswer:
    """Return a value as the answer of an endpoint; a function is returned as it is.

    Raises:
        InvalidReply: the value is neither a body, an error nor a function.
    """
    __tracebackhide__ = True
    if isinstance(value, Reply):
        if value.error is None or value.error_after is not None:
            raise InvalidReply(
                f"An endpoint returns a body, not {described(value)}. Pass a dict, a list, a str, "
                "bytes, or an error such as templates.rate_limit()."
            )
        return value
    if isinstance(value, BaseException) or inspect.isclass(value):
        return Reply(error=to_exception(value))
    if callable(value):
        return value
    return _to_body(value)


def _to_body(value: Any) -> EndpointBody:
    __tracebackhide__ = True
    if isinstance(value, (bytes, bytearray)):
        return EndpointBody(bytes(value), "application/octet-stream")
    if isinstance(value, str):
        return EndpointBody(value, "text/plain; charset=utf-8")
    # A `Reply` checks that the value is JSON and copies it.
    return EndpointBody(Reply(data=value).data, JSON_TYPE)


def call_endpoint_function(function: EndpointFunction, request: object) -> EndpointBody | Reply:
    """Call a function of an endpoint, and return the body or the error that it returns."""
    return _check_function_answer(call_function(function, request))


async def call_endpoint_function_async(
    function: EndpointFunction, request: object
) -> EndpointBody | Reply:
    """Call a function of an endpoint, which may be async, and return its body or error."""
    return _check_function_answer(await call_function_async(function, request))


def _check_function_answer(value: object) -> EndpointBody | Reply:
    """Return the result of a function as a body or an error.

    Raises:
        InvalidReply: it is neither a body nor an error.
    """
    answer = to_endpoint_answer(value)
    if isinstance(answer, (EndpointBody, Reply)):
        return answer
    raise InvalidReply(
        "A function of an endpoint returned another function. Return a dict, a list, a str, bytes, "
        "or an error such as templates.rate_limit()."
    )


def check_endpoint_response(status: object, headers: object, times: object) -> None:
    """Raise an InvalidReply if an argument of `on` is invalid."""
    __tracebackhide__ = True
    if not is_whole(status, 200, 599):
        raise InvalidReply(f"status={described(status)}: pass a whole number from 200 to 599.")
    if not isinstance(headers, Mapping) or not _has_only_texts(headers):
        raise InvalidReply(f"headers={described(headers)}: pass a dict of texts.")
    if times is not None and not is_whole(times, 1):
        raise InvalidReply(f"times={described(times)}: pass a whole number of at least 1, or None.")


def _has_only_texts(headers: Mapping[object, object]) -> bool:
    return all(isinstance(text, str) for pair in headers.items() for text in pair)
