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
        InvalidReply: it is not text, or blank.
    """
    __tracebackhide__ = True
    if not isinstance(name, str) or not name.strip():
        raise InvalidReply(
            f"This is not the name of a model: {described(name)}. Pass the model first, then its "
            "reply."
        )
    return name


def _check_is_no_sentence(name: str) -> None:
    """Raise an InvalidReply for a sentence in the place of a model's name, which is the reply."""
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
    """The number of calls that it answers, at least 1."""
    optional: bool
    """Whether the test may end before it is used up."""


class ResponseConfigurator:
    """The methods of a mock that configure replies.

    Every `model` argument takes an id, an alias of an installed plugin, a glob of ids such as
    `"gpt-*"`, or `"*"` for any model. A reply is text, a dict or a list, a pydantic instance, a
    `ToolCall`, an exception or its class, a `Reply`, or a function of the `llm.Prompt` (sync or
    async) that returns one of these.

    A call is answered by the first queued reply that matches, else by the error of the model, else
    by the most specific standing reply, and else by the model's `default_response`. Of standing
    replies, those with conditions beyond model and schema go first, then those for the schema. Of
    equal ones, an id goes before a glob, a glob before `"*"`, and the latest before earlier ones.
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
        # A name that a test configures is no typing error, so it exists in every mode.
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
        """Set a standing reply to every call of a model that matches all arguments.

        It replaces the standing reply to the same calls. One with conditions beyond model and
        schema goes before the others, and of those the latest first.

        Example:
            `mock.set("gpt-4o-mini", "mail-sorter")`, `mock.set("gpt-*", {"found": True},
            schema=Discovery)`, `mock.set("*", ConnectionError("no route"), prompt="weather")`

        Args:
            model: id, alias, a glob of ids such as `"gpt-*"`, or `"*"` for any model.
            response: a reply: a str, a dict or a list (data), a pydantic instance, a `ToolCall`, an
                exception or its class, a function of the request that returns one of these, or a
                `Reply`.
            schema: the schema that is asked for: a pydantic class, a JSON-schema dict, or the name
                of one (class name or `title`).
            conditions: `prompt`, `system`, `tools`, `turn`, `attachments`, `options`, `tool_result`
                and `has_tool_result`: see `ReplyConditions`.

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
        """Queue a reply that is used once (or `times`), before any standing reply.

        Queued replies are used in the order of the `add` calls, each for the first call that
        matches all arguments. A test that ends before the reply is used up fails, unless the
        reply is optional.

        Args:
            model: id, alias, a glob of ids such as `"gpt-*"`, or `"*"` for any model.
            response: a reply; see `set`.
            schema: the schema that is asked for; see `set`.
            times: how often it is used, at least 1.
            optional: whether the test may end before it is used up.
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
            raise InvalidReply(
                f"times={times!r}: a queued reply is used at least once; give a whole number from "
                "1."
            )
        matchers = _create_matchers(ResponseConfigurator.add, conditions)
        model_id = self.register_name(model)
        name = expect_schema(schema)
        answer = self._check_reply(model, response, name)
        # The location is for messages about replies that were not used.
        location = find_caller()
        reply = QueuedReply(model_id, name, answer, location, times, matchers, optional)
        self.replies.queue(reply)
        self._changed()

    def script(
        self, /, model: str, *responses: object, **details: Unpack[QueuedReplyDetails]
    ) -> None:
        """Queue several replies, one for each call, in order: the whole run of an agent.

        Example:
            `mock.script("gpt-4o-mini", ConnectionError("try again"), "at last")`,
            `mock.script("*", call("weather", city="Bern"), call("weather", city="Rome"), "Done.")`

        Args:
            model: id, alias, a glob of ids, or `"*"` for any model.
            responses: replies, in order.
            details: further arguments of `add`, for each of them: `schema`, `times`, `optional` and
                the conditions.

        Raises:
            InvalidReply: one of them is not a reply, or there is none.
            QueuedReplyNotAllowed: this mock serves the whole run.
        """
        __tracebackhide__ = True
        if not responses:
            raise InvalidReply(
                f"script({model!r}) has no replies: give one for each call, in order, as in "
                f"script({model!r}, first, second)."
            )
        for response in responses:
            self.add(model, response, **details)

    def set_error(
        self, model: str, exception: BaseException | type[BaseException] | Reply | None
    ) -> None:
        """Raise an error in every call of a model, before standing and after queued replies.

        Args:
            model: id, alias, a glob of ids, or `"*"` for any model.
            exception: an instance or a class, or a reply with an error such as
                `templates.rate_limit()`. None ends it.

        Raises:
            InvalidReply: `exception` is not an exception.
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
        """Raise `llm.UnknownModelError` in `llm.get_model` and its twins for a name.

        Args:
            model: id, alias, a glob of ids, or `"*"` for every name.
        """
        self.replies.unknown |= {self.get_model_id(model), *self._names.get_every_id(model)}
        self._changed()

    def set_latency(self, model: str, latency: Latency | float | None) -> None:
        """Set the latency of a model; a reply with a latency of its own takes that one.

        Args:
            model: id, alias, a glob of ids, or `"*"` for any model that has none of its own here.
            latency: the time that its replies take: a `Latency`, or the seconds until they begin.
                None removes it; then that of the whole run counts, if there is one.

        Raises:
            InvalidLatency: `latency` is neither a `Latency` nor a number of seconds from 0.
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
        """Set the vector that an embedding model answers for a text or bytes.

        It is neither scaled nor rounded. Zeros follow the numbers of a vector of less than 64, as
        no real model has, up to the length that the model answers; this changes no similarity. Any
        other vector of another length is an error when it is asked for. The vectors of a model
        that is not known have the length of the first one that is set.

        Example:
            `mock.set_embedding("text-embedding-3-small", {"north": [0, 1], "south": [0, -1]})`

        Args:
            model: id, alias, a glob of ids, or `"*"` for any embedding model.
            item: the whole text, or the bytes; or a mapping of several to their vectors.
            vector: finite numbers; none after a mapping.

        Raises:
            InvalidReply: the item is neither text nor bytes, or the vector is not a vector.
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
            numbers = parse_vector(given, "Give a list of finite numbers.")
            scripted.append((each, ScriptedVector(numbers, find_caller())))
        self.register_name(model)
        for each, scripted_vector in scripted:
            by_model = self.replies.embeddings.setdefault(each, ByModel())
            # An alias may be that of a model, of an embedding model, or of both.
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
        """Answer requests to any path of a provider, before what the mock answers by itself.

        Each request is a call in `calls`, whose `api` is the method and the path.

        Example:
            `mock.on("GET", "/v1/files/*", {"id": "file-1", "object": "file"})`

        Args:
            method: the HTTP method; `"*"` for any.
            path: the path as the provider sees it, without a query, or a URL. `*` stands for one
                segment, `{name}` for one that a function reads in `request.parameters`, and `**`
                for any number.
            response: a dict or a list (JSON), a str (plain text), bytes, an exception, an error of
                `llm_mock.templates`, or a function of the request, sync or async, that returns one
                of these.
            status: the status.
            headers: further headers.
            times: the number of requests that it answers. They are used in order, before the
                response to every request, and must be used up. By default it answers every request.
            optional: whether the test may end before `times` requests are made.

        Raises:
            InvalidReply: an argument is invalid.
            QueuedReplyNotAllowed: `times` is given, and this mock serves the whole run.
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
                f"on({method!r}, {path!r}, …, times={times}) in pytest_llm_mock_configure: a "
                "response with times= is used up by one test, so which one would depend on their "
                "order. Leave times out here, and give it in the test."
            )
        else:
            self.replies.queue(QueuedEndpointReply(configured, find_caller(), times, optional))
        self.replies.add_endpoint(endpoint.name, endpoint)
        self._changed()

    def set_response(
        self, model: str, response: object, *more: object, schema: object = None
    ) -> None:
        """Set a standing reply, as `set` without a schema.

        Raises:
            InvalidReply: a schema is given, as to mocks that take (model, schema, response), or
                the response is not a reply.
        """
        __tracebackhide__ = True
        # `more` catches the third argument of older mocks, whose second one is the schema.
        if more or schema is not None:
            given = getattr(schema or response, "__name__", "…")
            raise InvalidReply(
                "set_response() takes a model and a reply. For a reply to calls with a schema "
                f"write set({model!r}, reply, schema={given})."
            )
        self.set(model, response)

    def _check_reply(self, model: str, response: object, schema: object) -> ReplyOrFunction:
        """Return a response as a reply, or as the function that returns it.

        Warns of a list of texts without a schema, which may be meant as one reply for each call.

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
    """Return a line about a text or dict that may be meant as an error or a tool call, or nothing.

    It is shown only if the test fails, because both are valid replies.
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
            "A list with a text and a tool call is one reply, which has both. For one reply per "
            "call, write script(model, first, second)."
        )
    if isinstance(response, dict) and _is_like_tool_call(response):
        return (
            f"The reply {shorten(response)} is data, not a tool call. For a tool call, write "
            f"{suggest_tool_call(response)}."
        )
    return ""


def _explain_late_error(reply: Reply) -> str:
    """Return a line about an error after more chunks than the text of a reply has, or nothing."""
    count = reply.error_after
    if count is None or count < 2 or reply.chunks is not None or not reply.content:
        return ""
    # This latency splits the text, and there may be one of the model, of which the line tells.
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
    """Raise an InvalidReply if `set` is given an argument of `add`."""
    __tracebackhide__ = True
    for name in ("times", "optional"):
        if name in conditions:
            raise InvalidReply(
                f"set() has no argument {name!r}, because its reply answers every call. To queue "
                f"a reply, write add(…, {name}=…)."
            )
