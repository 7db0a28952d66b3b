"""Says what the models of a mock answer.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock import explain
from llm_mock.boundaries.llm import boundary
from llm_mock.core.reply import Reply, as_answer, exception_from
from llm_mock.core.script import Matchers, QueuedReply, Script, TextMatcher
from llm_mock.errors import InvalidReply, QueuedReplyNotAllowed
from llm_mock.support import schemas

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.model import MockLLMModel
    from llm_mock.boundaries.processes import Exchange
    from llm_mock.core.checks import Settings
    from llm_mock.core.latency import Latency


class ResponseConfigurator:
    """Says what the models of a mock answer.

    Everywhere a model is named by its id, an alias that an installed plugin gives it, or `"*"`, which is any model.
    A reply is text, a dict or a list, a pydantic instance, an exception or its class, a function of the
    `llm.Prompt` (sync or async) that returns one of these, or a `Reply`.

    A call is answered by the first queued reply that matches, else by the error of the model, else by the standing
    answer for model and schema, for any model and the schema, for the model, for any model, and else by the model's
    `default_response`.
    """

    settings: Settings

    def __init__(self, *, at_boundary: bool = False, standing_only: bool = False) -> None:
        """
        Args:
            at_boundary: the mock stands in for `llm` itself, so `llm`'s aliases are resolved.
            standing_only: refuse queued replies.
        """
        self._script = Script()
        self._unknown: set[str] = set()
        self._at_boundary = at_boundary
        self._standing_only = standing_only
        self._exchange: Exchange | None = None

    def _share_script(self) -> None:
        """Tell other processes, if there are any, what is configured now."""
        if self._exchange is not None:
            self._exchange.share(self)

    def get_model(self, name: str) -> MockLLMModel:
        """The model of an id or alias, always the same one; to see its calls.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        raise NotImplementedError

    def _model_id_of(self, name: str) -> str:
        __tracebackhide__ = True
        if not isinstance(name, str):
            raise InvalidReply(explain.no_model_name(name))
        return boundary.model_id_of(name) if self._at_boundary else name

    def set(self, model: str, response: Any, *, schema: Any = None) -> None:
        """Set the standing answer of a model; it replaces the one set before.

        Args:
            model: id, alias, or `"*"` for any model.
            response: a reply.
            schema: answer so only where this schema is asked for: a pydantic class, a JSON-schema dict, or the name
                of one (class name or `title`). By default whatever is asked for.

        Raises:
            InvalidReply: the response can be no reply.
        """
        __tracebackhide__ = True
        self._script.standing[self._model_id_of(model), schemas.schema_name(schema)] = as_answer(response)
        self._share_script()

    def add(
        self,
        model: str,
        response: Any,
        *,
        schema: Any = None,
        times: int = 1,
        optional: bool = False,
        prompt: TextMatcher | None = None,
        system: TextMatcher | None = None,
        tools: Iterable[str] | None = None,
        turn: int | None = None,
        attachments: Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Queue a reply that is used once (or `times`), before any standing answer, in the order of the `add` calls.

        It is used for the first call that fits all that is given here. A test that ends before the reply is used up
        fails, unless the reply is optional.

        Args:
            model: id, alias, or `"*"` for any model.
            response: a reply.
            schema: use it only for calls that ask for this schema; see `set`.
            times: how often it is used, at least 1.
            optional: whether the test may end before it is used up.
            prompt: a text that the prompt contains, a compiled pattern that is found in it, or a function of the
                text that says whether it fits.
            system: the same for the system prompt.
            tools: names of tools that are offered, among others perhaps.
            turn: which answer of its conversation it is, from 1; the answer to a tool's result is one too.
            attachments: the types of all attachments, in order.
            options: options and their values, among others perhaps.

        Raises:
            InvalidReply: the response can be no reply, or `times` is below 1.
            QueuedReplyNotAllowed: this mock serves the whole run.
        """
        __tracebackhide__ = True
        if self._standing_only:
            raise QueuedReplyNotAllowed(explain.queued_for_the_run(model))
        if not isinstance(times, int) or times < 1:
            raise InvalidReply(explain.bad_times(times))
        matchers = Matchers(prompt, system, tools, turn, attachments, options)
        model_id, schema = self._model_id_of(model), schemas.schema_name(schema)
        self._script.queue(QueuedReply(model_id, schema, as_answer(response), times, matchers, optional))
        self._share_script()

    def set_error(self, model: str, exception: BaseException | type[BaseException] | None) -> None:
        """Have every call of a model raise; goes before its standing answers, after queued replies.

        Args:
            model: id, alias, or `"*"` for any model.
            exception: an instance or a class. None ends it.

        Raises:
            InvalidReply: it is no exception.
        """
        __tracebackhide__ = True
        model_id = self._model_id_of(model)
        if exception is None:
            self._script.errors.pop(model_id, None)
        else:
            exception_from(exception)
            self._script.errors[model_id] = Reply(error=exception)
        self._share_script()

    def set_unknown(self, model: str) -> None:
        """Have `llm.get_model` and its twins for async and embedding models raise `llm.UnknownModelError` for a name.

        Args:
            model: id or alias, or `"*"` for every name.
        """
        self._unknown.add(self._model_id_of(model))
        if self._at_boundary:
            self._unknown.add(boundary.embedding_model_id_of(model))
        self._share_script()

    def set_latency(self, model: str, latency: Latency | None) -> None:
        """Have a model take its time, as `Latency` says; a reply that has a latency of its own takes that one.

        Args:
            model: id, alias, or `"*"` for any model that has none of its own here.
            latency: how long its replies take. None ends it; then that of the whole run counts, if there is one.

        Raises:
            InvalidLatency: it is none.
        """
        from llm_mock.core.latency import checked

        __tracebackhide__ = True
        model_id = self._model_id_of(model)
        if latency is None:
            self._script.latencies.pop(model_id, None)
        else:
            self._script.latencies[model_id] = checked(latency)
            self.settings = self.settings._replace(slow=True)
        self._share_script()

    def set_price(self, model: str, input: Any, output: Any) -> None:
        """Say what a model costs, before the price that its provider asks.

        Args:
            model: id or alias, or a glob of ids such as `"ollama/*"`. Of several that fit the one set last counts.
            input: US dollars for a million tokens of input.
            output: the same for the output.

        Raises:
            InvalidBudget: one is not an amount from 0.
        """
        from llm_mock.cost.prices import price

        __tracebackhide__ = True
        prices = (*self.settings.prices, price(self._model_id_of(model), input, output))
        self.settings = self.settings._replace(prices=prices)
