"""Convert the mocks that a patched client of an SDK returns into replies."""

from __future__ import annotations

import libcst as cst

from llm_mock.migrate.doubles import PlainCode, SideEffectList, TestDouble, Value
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import (
    ANY_MODEL,
    ConfiguredReply,
    PromptMethod,
    format_reply,
    get_node,
    qualify,
    raise_problem,
)
from llm_mock.migrate.reply_functions import CallParameter
from llm_mock.migrate.sdk_clients import (
    CONTENT_STREAMS,
    CONTENTS,
    EMBEDDINGS,
    GOOGLE,
    LITELLM,
    MESSAGES,
    RESPONSES,
    PatchedClient,
    find_methods,
    find_other_configuration,
    find_other_part,
    is_async_method,
)
from llm_mock.migrate.sdk_completions import convert_chunks, convert_completion
from llm_mock.migrate.sdk_embeddings import SEE_EMBEDDINGS, convert_embeddings
from llm_mock.migrate.sdk_gemini import convert_content, convert_content_chunks
from llm_mock.migrate.sdk_messages import convert_message
from llm_mock.migrate.sdk_parts import SEE_REPLY, is_left_out, list_dicts
from llm_mock.migrate.sdk_requests import new_request_parameter
from llm_mock.migrate.sdk_responses import convert_events, convert_response
from llm_mock.migrate.symbol_table import FunctionDouble, SymbolTable
from llm_mock.migrate.syntax import collect_texts, get_string, read_dict, to_source
from llm_mock.migrate.value_types import find_only_value

CONVERTERS = {
    EMBEDDINGS: convert_embeddings,
    MESSAGES: convert_message,
    RESPONSES: convert_response,
    **dict.fromkeys((*CONTENTS, *CONTENT_STREAMS), convert_content),
}
"""The functions that convert the double of what a method returns; others return completions."""
STREAM_CONVERTERS = {
    EMBEDDINGS: None,
    MESSAGES: None,
    RESPONSES: convert_events,
    **dict.fromkeys(CONTENT_STREAMS, convert_content_chunks),
}
"""The functions that convert the parts of a stream, or None for a method that is not supported."""

_TEMPLATES = {
    "APIConnectionError": "no_connection",
    "AuthenticationError": "authentication",
    "ContextWindowExceededError": "context_overflow",
    "InternalServerError": "server_error",
    "RateLimitError": "rate_limit",
    "ServiceUnavailableError": "overloaded",
    "Timeout": "timeout",
}
"""The templates of the errors of which litellm makes its own."""


def collect_client_replies(patched: PatchedClient, table: SymbolTable) -> list[ConfiguredReply]:
    """Return the reply of the models that a patched client asks.

    Raises:
        CannotRewrite: the reply is unknown.
    """
    part = find_other_part(patched, table)
    if part is not None:
        name, value = part
        raise CannotRewrite(
            f"the mock of {patched.library} has the attribute {name}",
            "Remove it, because the new test uses the real SDK.",
            get_node(value),
        )
    raise_problem(patched.double)
    client = patched.get_client()
    if client is None:
        return []
    raise_problem(client)
    replies: dict[str, ConfiguredReply] = {}
    for path, method in find_methods(client):
        kind = EmbeddingMethod if path == EMBEDDINGS else CreateMethod
        reply = kind(patched, path, method, table).convert()
        if reply is None:
            continue
        if replies.setdefault(reply.model, reply) != reply:
            raise CannotRewrite("two methods of a client have different replies")
    # Behind the methods: an attribute may be what a method that is not understood returns.
    other = find_other_configuration(client)
    if other is not None:
        path, value = other
        raise CannotRewrite(
            f"the mock of a client has the attribute {path}",
            _advise_on_attribute(path, patched.library),
            get_node(value),
        )
    return list(replies.values())


def replies_with_mocks(patched: PatchedClient) -> bool:
    """Return whether each method that answers prompts returns a mock without any fields."""
    client = patched.get_client()
    if client is None:
        return False
    methods = dict(find_methods(client))
    # An answer without vectors is not one of the endpoint.
    if not methods or EMBEDDINGS in methods:
        return False
    return all(map(_returns_mock, methods.values()))


def _returns_mock(method: TestDouble) -> bool:
    if method.side_effect is not None:
        return False
    result = method.return_value
    return result is None or (isinstance(result, TestDouble) and is_left_out(result))


def _advise_on_attribute(path: str, library: str) -> str:
    """Return the advice for an attribute of a client that is not a model call."""
    if path.removeprefix("aio.") not in ("models.list", "models.list_async"):
        return "The new test uses the real client: configure it as the application does."
    body = '{"data": [{"id": …}]}'
    if library == GOOGLE:
        body = '{"models": [{"name": …}]}'
    return (
        "The real client requests the list of models. Configure the response: "
        f'mock_llm_responses.on("GET", "/**/models", {body}).'
    )


def find_streamed(double: TestDouble) -> Value | None:
    """Return the items that a mock yields; None if the test does not set them."""
    for name in ("__iter__", "__aiter__"):
        method = double.attributes.get(name)
        if isinstance(method, TestDouble) and method.return_value is not None:
            raise_problem(method)
            return method.return_value
    return None


class CreateMethod(PromptMethod):
    """Converts the double of a method such as `chat.completions.create`."""

    async_problem = (
        "create() of a synchronous client is awaited",
        "Use the asynchronous client in the application, and patch it instead.",
    )

    def __init__(
        self,
        patched: PatchedClient,
        path: str,
        method: TestDouble,
        table: SymbolTable,
    ) -> None:
        is_async = patched.returns_async_models or is_async_method(path)
        super().__init__(ANY_MODEL, method, is_async, table)
        self._convert_double = CONVERTERS.get(path, convert_completion)
        self._convert_stream = STREAM_CONVERTERS.get(path, convert_chunks)
        self._library = patched.library

    def convert_error(self, node: cst.BaseExpression) -> str:
        """Return an error as an argument of `set_error`."""
        if self._library == LITELLM:
            return self._convert_litellm_error(node)
        return super().convert_error(node)

    def _convert_litellm_error(self, node: cst.BaseExpression) -> str:
        if isinstance(node, cst.Call):
            error_class = node.func
        else:
            error_class = node
        qualified_name = self.table.scope.qualify(error_class)
        module, _, name = qualified_name.rpartition(".")
        if not module.startswith(LITELLM) or name not in _TEMPLATES:
            raise CannotRewrite(
                f"the mock raises {to_source(node)}, but litellm creates its errors from the "
                "provider's response",
                "Configure the provider's error: `from llm_mock import templates` and "
                'mock_llm_responses.set_error("*", templates.rate_limit()).',
                node,
            )
        templates = qualify("templates", self.table)
        template = _TEMPLATES[name]
        return f"{templates}.{template}()"

    def get_call_parameter(self, function: cst.FunctionDef) -> CallParameter:
        """Return the parameter of the reply function that replaces a function."""
        return new_request_parameter(function, self._library)

    def convert_response(self, value: Value) -> str | None:
        """Return a completion as an argument of `set`, or None if it is not configured."""
        if isinstance(value, TestDouble):
            items = find_streamed(value)
            if items is None:
                return self._convert_double(value, self.table)
            value = items
        if isinstance(value, SideEffectList) and self._convert_stream is not None:
            return self._convert_stream(value.values, self.table)
        node = find_only_value(get_node(value), self.table)
        if isinstance(node, cst.Dict):
            return self._convert_dict(value, node)
        dicts = None if node is None else list_dicts(node)
        if dicts and self._convert_stream is not None:
            return self._convert_stream(dicts, self.table)
        source = "several mocks" if node is None else to_source(node)
        raise CannotRewrite(
            f"the mock returns {source}, which is not a response",
            SEE_REPLY,
            node,
        )

    def _convert_dict(self, value: Value, node: cst.Dict) -> str | None:
        """Convert a dict; the application gets an object instead, as in production."""
        reply = self._convert_double(PlainCode(node), self.table)
        written = get_node(value)
        assert written is not None
        if not _has_own_id(node, written, self.table):
            return reply
        # The statement that assigns it to a name stays.
        return format_reply([f"body={to_source(written)}"], self.table)


def _has_own_id(node: cst.Dict, written: cst.BaseExpression, table: SymbolTable) -> bool:
    """Return whether the test names the id of a response again, such as in an assertion.

    Args:
        node: the response.
        written: the response, or the name that stands for it.
        table: the values of the test's names.
    """
    items = read_dict(node)
    assert items is not None
    text = get_string(items.get("id"))
    if text is None:
        return False
    if isinstance(written, cst.Name) and written.value not in table.plain:
        # A constant of the file is not written in the test.
        return text in table.texts
    own = collect_texts(node)[text]
    return table.texts[text] > own


class EmbeddingMethod(CreateMethod):
    """Converts the double of the method for vectors into answers of the endpoint.

    Not into `set_embedding`: that needs the text of each vector, and the length that the model's
    vectors have in production.
    """

    def __init__(
        self,
        patched: PatchedClient,
        path: str,
        method: TestDouble,
        table: SymbolTable,
    ) -> None:
        super().__init__(patched, path, method, table)
        # Its replies are beside those of the models that answer prompts.
        self.model = EMBEDDINGS

    def configure(self, reply: str) -> str:
        """Return the statement that configures a standing answer."""
        return f'mock_llm_responses.on("POST", "/**/embeddings", {reply})'

    def configure_error(self, error: str) -> ConfiguredReply:
        """Return the error as a configured answer."""
        return ConfiguredReply(self.model, "set", (self.configure(error),))

    def queue(self, reply: str, times: int) -> str:
        """Return the statement that queues an answer for one or more calls."""
        return self.configure(f"{reply}, times={times}")

    def convert_function(self, function: FunctionDouble) -> ConfiguredReply:
        """Refuse a function of the text."""
        raise CannotRewrite(
            f"the vectors of {function.definition.name.value} depend on the call",
            SEE_EMBEDDINGS,
            function.definition,
        )
