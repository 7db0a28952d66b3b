"""The configurator of replies: the methods by which tests set the answers of models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from llm_mock.core.matchers import Matchers, ReplyConditions
from llm_mock.core.provider_error import TEMPLATES
from llm_mock.core.reply import Reply, ReplyOrFunction, to_exception, to_reply
from llm_mock.core.script import ByModel, QueuedReply, Script, ScriptedVector, StandingReply
from llm_mock.core.source_location import find_caller, warn_caller
from llm_mock.core.tool_calls import ToolCall, suggest_tool_call
from llm_mock.errors import InvalidReply, ListReplyWarning, QueuedReplyNotAllowed
from llm_mock.support.expected_schema import expect_schema
from llm_mock.support.misspelling import explain_arguments
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import described, shorten

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from llm_mock.core.latency import Latency
    from llm_mock.core.protocols import NameResolver


class PlainNames:
    """A resolver of model names without aliases: each name is an id."""

    def model_id(self, name: str) -> str:
        """Return the name itself."""
        return name

    def get_every_id(self, name: str) -> set[str]:
        """Return the name itself."""
        return {name}

    def provider_class(self, model_id: str) -> type | None:
        """Return None, because no real model is known."""
        return None


def check_name(name: str) -> str:
    """Return the name of a model as it is.

    Raises:
        InvalidReply: the name is not text, or blank.
    """
    __tracebackhide__ = True
    if isinstance(name, (list, tuple, set)):
        raise InvalidReply(
            f"This is not the name of a model: {described(name)}. Pass one name. For several "
            'models, repeat the call, or pass set() a glob such as "gpt-*".'
        )
    if not isinstance(name, str) or not name.strip():
        raise InvalidReply(
            f"This is not the name of a model: {described(name)}. Pass the model first, then the "
            "reply."
        )
    return name


def _check_is_no_sentence(name: str) -> None:
    """Raise an InvalidReply for a sentence as a model's name, which is probably the reply."""
    __tracebackhide__ = True
    text = name.strip()
    # A path of a local model may have spaces, and a glob may end with `?`.
    if "*" in text or "/" in text:
        return
    if not text.endswith((".", "!", "?", "…")):
        return
    shown = shorten(name)
    raise InvalidReply(
        f"{shown} is not the name of a model: the model comes first, as in set('gpt-4o', {shown})."
    )


class QueuedReplyDetails(ReplyConditions, total=False):
    """The further arguments of `ResponseConfigurator.add`."""

    schema: object
    """The requested schema; see `ResponseConfigurator.set`."""
    times: int
    """The number of calls that the reply answers, at least 1."""
    optional: bool
    """Whether the test may end before the reply is used up."""


class ResponseConfigurator:
    """The methods of a mock that configure replies.

    Every `model` argument takes an id, an alias of an installed plugin, a glob of ids such as
    `"gpt-*"`, or `"*"` for any model. A reply is text, a dict or a list, a pydantic instance, a
    `ToolCall`, an exception or its class, a `Reply`, or a function (sync or async) that takes the
    `llm.Prompt` and returns one of these.

    The mock tries these in order:

    1. the first queued reply that matches
    2. the error of the model
    3. standing replies with conditions beyond model and schema
    4. standing replies for the schema
    5. other standing replies
    6. the model's `default_response`

    Of equal standing replies, an id takes precedence over a glob, a glob over `"*"`, and a later
    reply over an earlier one.
    """

    def __init__(
        self, names: NameResolver, changed: Callable[[], None], *, standing_only: bool = False
    ) -> None:
        """Create a configurator without replies.

        Args:
            names: resolves the names of models.
            changed: called after each change of the configuration.
            standing_only: whether to refuse queued replies.
        """
        self.replies = Script()
        self._names = names
        self._changed = changed
        self.standing_only = standing_only
        """Whether this is the mock of the whole run, which has no queued replies."""

    def get_model_id(self, name: str) -> str:
        """Return the model id of a name.

        Raises:
            InvalidReply: the name is not text, or blank.
        """
        __tracebackhide__ = True
        return self._names.model_id(check_name(name))

    def register_name(self, model: str) -> str:
        """Return the model id of a name, and treat the model as known from now on.

        Raises:
            InvalidReply: the name is not text, or blank, or a sentence.
        """
        __tracebackhide__ = True
        model_id = self.get_model_id(model)
        if " " in model:
            _check_is_no_sentence(model)
        # A name that a test configures is not a typing error, so the model exists in every mode.
        self.replies.named.add(model_id)
        return model_id

    def set(
        self,
        /,
        model: str,
        response: object,
        *,
        schema: object = None,
        **conditions: Unpack[ReplyConditions],
    ) -> None:
        """Set a standing reply to every call to a model that matches all arguments.

        It replaces an earlier reply with the same model, schema and conditions. Replies with
        conditions beyond model and schema take precedence over others, and later replies with
        conditions over earlier ones.

        Example:
            `mock.set("gpt-4o-mini", "mail-sorter")`, `mock.set("gpt-*", {"found": True},
            schema=Discovery)`, `mock.set("*", ConnectionError("no route"), prompt="weather")`

        Args:
            model: id, alias, a glob of ids such as `"gpt-*"`, or `"*"` for any model.
            response: a reply: a str, a dict or a list (data), a pydantic instance, a `ToolCall`, an
                exception or its class, a `Reply`, or a function that takes the request and returns
                one of these.
            schema: the requested schema: a pydantic class, a JSON-schema dict, or the name of a
                schema (class name or `title`).
            conditions: `prompt`, `system`, `tools`, `turn`, `attachments`, `options`, `tool_result`
                and `has_tool_result`; see `ReplyConditions`.

        Raises:
            InvalidReply: the response is not a reply, or a condition is invalid.
            TypeError: a condition is unknown.
        """
        __tracebackhide__ = True
        _refuse_arguments_of_add(conditions)
        matchers = _create_matchers(ResponseConfigurator.set, conditions)
        name = expect_schema(schema)
        # Checked before the name is registered, so that an error leaves nothing behind.
        answer = self._check_reply(model, response, schema)
        reply = StandingReply(self.register_name(model), name, answer, find_caller(), matchers)
        self.replies.add_standing(reply)
        self._changed()

    def add(
        self,
        model: str,
        response: object,
        *,
        schema: object = None,
        times: int = 1,
        optional: bool = False,
        **conditions: Unpack[ReplyConditions],
    ) -> None:
        """Queue a reply to the next call (or the next `times` calls) that matches all arguments.

        Queued replies take precedence over standing replies, and are used in the order of the
        `add` calls. If the test ends before the reply is used up, the test fails, unless the reply
        is optional.

        Args:
            model: id, alias, a glob of ids such as `"gpt-*"`, or `"*"` for any model.
            response: a reply; see `set`.
            schema: the requested schema; see `set`.
            times: the number of calls that the reply answers, at least 1.
            optional: whether the test may end before the reply is used up.
            conditions: see `set`.

        Raises:
            InvalidReply: the response is not a reply, or a condition is invalid.
            TypeError: a condition is unknown.
            QueuedReplyNotAllowed: this mock serves the whole run.
        """
        __tracebackhide__ = True
        if self.standing_only:
            raise QueuedReplyNotAllowed(
                f"add({model!r}, …) is not possible in pytest_llm_mock_configure: the first test "
                "that calls the model would use up the reply. Use set() here, or add() in the test."
            )
        if not is_whole(times, 1):
            raise InvalidReply(f"times={times!r}: pass a whole number of at least 1.")
        matchers = _create_matchers(ResponseConfigurator.add, conditions)
        model_id = self.register_name(model)
        name = expect_schema(schema)
        answer = self._check_reply(model, response, name)
        # The location appears in messages about unused replies.
        location = find_caller()
        reply = QueuedReply(model_id, name, answer, location, times, matchers, optional)
        self.replies.queue(reply)
        self._changed()

    def script(
        self, /, model: str, *responses: object, **details: Unpack[QueuedReplyDetails]
    ) -> None:
        """Queue several replies, one for each call, in order, such as for the run of an agent.

        Example:
            `mock.script("gpt-4o-mini", ConnectionError("try again"), "at last")`,
            `mock.script("*", call("weather", city="Bern"), call("weather", city="Rome"), "Done.")`

        Args:
            model: id, alias, a glob of ids, or `"*"` for any model.
            responses: the replies, in order.
            details: further arguments of `add`, which apply to every reply: `schema`, `times`,
                `optional` and the conditions.

        Raises:
            InvalidReply: one of the responses is not a reply, or there are no responses.
            QueuedReplyNotAllowed: this mock serves the whole run.
        """
        __tracebackhide__ = True
        if not responses:
            raise InvalidReply(
                f"script({model!r}) has no replies: pass one for each call, in order, as in "
                f"script({model!r}, first, second)."
            )
        for response in responses:
            self.add(model, response, **details)

    def set_error(
        self, model: str, exception: BaseException | type[BaseException] | Reply | None
    ) -> None:
        """Raise an error in every call to a model that no queued reply answers.

        The error takes precedence over standing replies.

        Args:
            model: id, alias, a glob of ids, or `"*"` for any model.
            exception: an exception or its class, or a reply with an error such as
                `templates.rate_limit()`. None removes the error.

        Raises:
            InvalidReply: `exception` is neither an exception nor a reply with an error.
        """
        __tracebackhide__ = True
        model_id = self.register_name(model)
        if isinstance(exception, list):
            raise InvalidReply(
                "set_error() takes one error. For several errors in order, write "
                f"script({model!r}, first, second)."
            )
        if exception is None:
            self.replies.errors.pop(model_id, None)
        else:
            # A `Reply` without an error would never be raised.
            to_exception(exception.error if isinstance(exception, Reply) else exception)
            answer = exception if isinstance(exception, Reply) else Reply(error=exception)
            self.replies.errors[model_id] = StandingReply(model_id, None, answer, find_caller())
        self._changed()

    def set_unknown(self, model: str) -> None:
        """Make `llm.get_model` and `llm.get_async_model` raise `UnknownModelError` for a name.

        Args:
            model: id, alias, a glob of ids, or `"*"` for every name.
        """
        self.replies.unknown |= {self.get_model_id(model), *self._names.get_every_id(model)}
        self._changed()

    def set_latency(self, model: str, latency: Latency | float | None) -> None:
        """Set the latency of a model. The latency of a reply takes precedence over it.

        Args:
            model: id, alias, a glob of ids, or `"*"` for any model without a latency of its own.
            latency: the time that its replies take: a `Latency`, or the seconds until they begin.
                None removes it; then the latency for the whole run applies, if there is one.

        Raises:
            InvalidLatency: `latency` is neither a `Latency` nor a number of seconds of at least 0.
        """
        from llm_mock.core.latency import check_latency

        __tracebackhide__ = True
        model_id = self.register_name(model)
        if latency is None:
            self.replies.latencies.pop(model_id, None)
        else:
            self.replies.latencies[model_id] = check_latency(latency)
        self._changed()

    def set_embedding(
        self,
        model: str,
        item: str | bytes | Mapping[str | bytes, Iterable[float]],
        vector: Iterable[float] | None = None,
    ) -> None:
        """Set the vector that an embedding model returns for a text or bytes.

        The numbers are not changed. A vector of fewer than 64 numbers is padded with zeros to the
        length of the model's vectors, which does not change similarities. Any other vector of a
        wrong length raises an InvalidReply when it is requested. For an unknown model, the first
        vector defines the length.

        Example:
            `mock.set_embedding("text-embedding-3-small", {"north": [0, 1], "south": [0, -1]})`

        Args:
            model: id, alias, a glob of ids, or `"*"` for any embedding model.
            item: the whole text, or the bytes; or a mapping of texts or bytes to vectors.
            vector: a list of finite numbers; omit it if `item` is a mapping.

        Raises:
            InvalidReply: an item is neither text nor bytes, or a vector is not a list of finite
                numbers.
        """
        from llm_mock.core.vectors import format_unsupported_item, parse_vector

        __tracebackhide__ = True
        pairs: list[tuple[object, object]] = [(item, vector)]
        if isinstance(item, Mapping) and item and vector is None:
            pairs = [*item.items()]
        scripted: list[tuple[str | bytes, ScriptedVector]] = []
        for each, given in pairs:
            if not isinstance(each, (str, bytes)):
                raise InvalidReply(format_unsupported_item(each))
            numbers = parse_vector(given, "Pass a list of finite numbers.")
            scripted.append((each, ScriptedVector(numbers, find_caller())))
        self.register_name(model)
        for each, scripted_vector in scripted:
            by_model = self.replies.embeddings.setdefault(each, ByModel())
            # An alias may mean a model, an embedding model, or both.
            for model_id in self._names.get_every_id(model):
                by_model[model_id] = scripted_vector
        self._changed()

    def on(
        self,
        method: str,
        path: str,
        response: object,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        times: int | None = None,
        optional: bool = False,
    ) -> None:
        """Set the response to requests to a path of a provider.

        It takes precedence over the responses of the mock itself. Each request becomes a call in
        `calls`, whose `api` is the method and the path.

        Example:
            `mock.on("GET", "/v1/files/*", {"id": "file-1", "object": "file"})`

        Args:
            method: the HTTP method; `"*"` for any.
            path: the path that the provider receives, without a query, or a URL. `*` matches one
                segment, `{name}` matches one segment that a function reads in
                `request.parameters`, and `**` matches any number of segments.
            response: a dict or a list (JSON), a str (plain text), bytes, an exception, an error of
                `llm_mock.templates`, or a function (sync or async) that takes the request and
                returns one of these.
            status: the HTTP status.
            headers: further headers.
            times: the number of requests to answer; by default all. Responses with `times` are used
                in order, before responses without it. If the test ends before they are used up,
                the test fails.
            optional: whether the test may end before `times` requests are made.

        Raises:
            InvalidReply: an argument is invalid.
            QueuedReplyNotAllowed: `times` is set, and this mock serves the whole run.
        """
        from llm_mock.core.endpoints import (
            Endpoint,
            EndpointReply,
            EndpointResponse,
            QueuedEndpointReply,
            check_endpoint_response,
            to_endpoint_answer,
        )

        __tracebackhide__ = True
        check_endpoint_response(status, headers or {}, times)
        endpoint = Endpoint(method, path)
        lower_headers = {name.lower(): value for name, value in (headers or {}).items()}
        answer = to_endpoint_answer(response)
        configured = EndpointResponse(endpoint, answer, status, lower_headers)
        if times is None:
            # Removed first, because a replaced key would keep its place among the earlier ones.
            self.replies.endpoint_replies.pop(endpoint.name, None)
            reply = EndpointReply(configured, find_caller())
            self.replies.endpoint_replies[endpoint.name] = reply
        elif self.standing_only:
            raise QueuedReplyNotAllowed(
                f"on({method!r}, {path!r}, …, times={times}) is not possible in "
                "pytest_llm_mock_configure: the first test that sends the request would use up the "
                "response. Leave out times here, or call on() in the test."
            )
        else:
            self.replies.queue(QueuedEndpointReply(configured, find_caller(), times, optional))
        self.replies.add_endpoint(endpoint.name, endpoint)
        self._changed()

    def set_response(
        self, model: str, response: object, *more: object, schema: object = None
    ) -> None:
        """Set a standing reply, like `set` without a schema.

        Raises:
            InvalidReply: a schema or a third argument is passed, or the response is not a reply.
        """
        __tracebackhide__ = True
        # `more` catches the third argument of older mocks, which take (model, schema, response).
        if more or schema is not None:
            given = getattr(schema or response, "__name__", "…")
            raise InvalidReply(
                "set_response() takes a model and a reply. For a reply to calls with a schema "
                f"write set({model!r}, reply, schema={given})."
            )
        self.set(model, response)

    def _check_reply(self, model: str, response: object, schema: object) -> ReplyOrFunction:
        """Return a response as a reply, or as the function that returns it.

        Warns about a list of texts without a schema, which may be meant as one reply per call.

        Raises:
            InvalidReply: the response is not a reply.
        """
        __tracebackhide__ = True
        texts = response if isinstance(response, list) and schema is None else []
        if texts and all(isinstance(item, str) for item in texts):
            message = (
                f"This list of texts is structured data: each call of {model!r} returns the whole "
                f"list {shorten(response)}. For one reply per call, write "
                f"script({model!r}, first, second). For the chunks of one answer, write "
                "Reply(chunks=[...]). If the list itself is the answer, write Reply(data=[...]), "
                'or for pydantic-ai and OpenAI Agents {"response": [...]}.'
            )
            self.replies.add_hint(message)
            warn_caller(ListReplyWarning(message))
        hint = _explain_likely_mistake(response)
        if hint:
            self.replies.add_hint(hint)
        try:
            return to_reply(response)
        except InvalidReply as error:
            if texts:
                raise InvalidReply(
                    f"{error} For one reply per call, write script({model!r}, first, second)."
                ) from None
            raise


def _explain_likely_mistake(response: object) -> str:
    """Return a line about a reply that may be meant as an error, a tool call or several replies.

    The line is empty for other replies. It is shown only if the test fails, because the reply is
    valid.
    """
    if isinstance(response, str) and response in TEMPLATES.values():
        return (
            f"The reply {response!r} is a text, not an error. For the error, write "
            f"templates.{response}()."
        )
    if isinstance(response, Reply) and response.error_after:
        return _explain_late_error(response)
    if isinstance(response, list) and {str, ToolCall} <= {*map(type, response)}:
        return (
            "A list with a text and a tool call is one reply with both. For one reply per call, "
            "write script(model, first, second)."
        )
    if isinstance(response, dict) and _is_like_tool_call(response):
        return (
            f"The reply {shorten(response)} is data, not a tool call. For a tool call, write "
            f"{suggest_tool_call(response)}."
        )
    return ""


def _explain_late_error(reply: Reply) -> str:
    """Return a line about an error after more chunks than a reply has; empty without one."""
    count = reply.error_after
    if count is None or count < 2 or reply.chunks is not None or not reply.content:
        return ""
    # This latency splits the text. The model may have one, too; the line mentions that.
    if reply.latency is not None and reply.latency.chunks_per_second is not None:
        return ""
    from llm_mock.core.reply_mistakes import explain_late_error

    return explain_late_error(reply.content, count)


def _is_like_tool_call(data: Mapping[str, object]) -> bool:
    """Return whether data have the keys of a tool call of OpenAI, LangChain or Anthropic."""
    if "tool_calls" in data or "function" in data:
        return True
    if "name" not in data:
        return False
    return "arguments" in data or "args" in data or "input" in data


def _create_matchers(method: Callable[..., None], conditions: ReplyConditions) -> Matchers:
    """Return the matchers of some conditions.

    Raises:
        InvalidReply: a condition is invalid.
        TypeError: a condition is unknown. The message names the arguments of the method.
    """
    __tracebackhide__ = True
    try:
        return Matchers(**conditions)
    except TypeError:
        message = explain_arguments(method, conditions)
        if message is None:
            raise
        raise TypeError(message) from None


def _refuse_arguments_of_add(conditions: Mapping[str, object]) -> None:
    """Raise an InvalidReply if `set` gets an argument of `add`."""
    __tracebackhide__ = True
    for name in ("times", "optional"):
        if name in conditions:
            raise InvalidReply(
                f"set() has no argument {name!r}, because its reply answers every call. To queue "
                f"a reply, write add(…, {name}=…)."
            )
