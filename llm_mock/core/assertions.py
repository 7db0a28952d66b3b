"""Assertions about what was called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.core.matchers import Matchers, TextMatcher
from llm_mock.core.records import CallRecord, calls_made, schema_text
from llm_mock.errors import InvalidMock
from llm_mock.support.numbers import is_whole
from llm_mock.support.schemas import schema_name
from llm_mock.support.text import described, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock


class CallAssertions:
    """Assertions about the calls of one model, or of all models of a mock.

    Args:
        whose: how messages name them, such as `model 'gpt-4o-mini'`.
        calls: the calls, in order.
        none: what a message says where there are no calls.
    """

    def __init__(self, whose: str, calls: Sequence[CallRecord], none: str) -> None:
        self._whose = whose
        self._calls = calls
        self._none = none

    @property
    def last_call(self) -> CallRecord:
        """The record of the last call.

        Raises:
            AssertionError: there was none.
        """
        __tracebackhide__ = True
        self.assert_called_with()
        return self._calls[-1]

    def assert_not_called(self) -> None:
        """Assert that there was no call. A failed one is a call, too.

        Raises:
            AssertionError: there was one. The message shows the calls.
        """
        __tracebackhide__ = True
        if self._calls:
            raise AssertionError(self._got("no call"))

    def assert_called_once(self) -> None:
        """Assert that there was one call, and no other. A failed one is a call, too.

        Raises:
            AssertionError: there was none, or there were more. The message shows the calls.
        """
        __tracebackhide__ = True
        self._assert_called()
        if len(self._calls) > 1:
            raise AssertionError(self._got("1 call"))

    def assert_resilient(self, *, attempts: int = 5, gave_up: bool = False, waits: bool = True) -> None:
        """Assert that the client coped well with what it met over HTTP, as far as the wire shows.

        It must not try again sooner than `Retry-After` said, send unchanged what was refused with status 400, 401, 403,
        404 or 422, send one request more than `attempts` times, or take a stream for whole that ended in the middle.
        What is sent unchanged (path, body and key) after it failed counts as the same request.

        Example:
            `mock_llm_calls.assert_resilient()`, at the end of a test in which a model misbehaved.

        Args:
            attempts: how often one request may be sent. An SDK tries three times by itself.
            gave_up: the application failed with an error, which the test saw: then a stream that ended in the middle
                need not be asked for again. (Whether somebody saw an error, the wire does not show.)
            waits: judge how long the client waited. That is not known where `time.sleep` or `asyncio.sleep` is
                replaced, so it is not judged then; give False where the test replaces something else that waits.

        Raises:
            AssertionError: the client did not. The message says what, and lists all that was sent.
            ValueError: `attempts` is no such number.
        """
        from llm_mock.core import resilience

        __tracebackhide__ = True
        if not is_whole(attempts, 1):
            raise ValueError(f"attempts is {described(attempts)}; give a whole number from 1.")
        if not resilience.requests_of(self._calls):
            raise AssertionError(
                f"No call of {self._whose} came over HTTP, and only there it shows how a client copes: calls through "
                f"llm's own models do not.\n{calls_made(self._calls)}"
            )
        if found := resilience.problems(self._calls, attempts, gave_up, waits):
            said = "\n".join(f"- {problem}" for problem in found)
            raise AssertionError(f"The client did not cope.\n{said}\n{resilience.attempts_made(self._calls)}")

    def assert_called_with(
        self,
        prompt_contains: TextMatcher | None = None,
        schema: Any = None,
        *,
        prompt_equals: str | None = None,
        system: TextMatcher | None = None,
        tools: Iterable[str] | None = None,
        turn: int | None = None,
        attachments: Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Assert that there was a call in which all that is given held.

        Example:
            `mock_llm_calls.get_model("gpt-4o-mini").assert_called_with("report", system="Be brief")`

        Args:
            prompt_contains: a text that the prompt contains, a compiled pattern that is found in it, or a function of
                the text that says whether it fits.
            schema: the schema that was asked for: a pydantic class, a JSON-schema dict, or the name of one.
            prompt_equals: the whole text of the prompt.
            system: the same as `prompt_contains`, of the system prompt.
            tools: names of tools that were offered, among others perhaps.
            turn: which answer of its conversation it was, from 1.
            attachments: the types of all attachments, in order.
            options: options and their values, among others perhaps.

        Raises:
            AssertionError: there was no such call. The message shows the calls, and which came nearest.
            InvalidReply: what the call was to be like makes no sense.
        """
        __tracebackhide__ = True
        matchers = Matchers(prompt_contains, system, tools, turn, attachments, options)
        self._assert_fits(_Wanted(prompt_equals, schema_name(schema), matchers))

    def assert_called_once_with(
        self,
        prompt_contains: TextMatcher | None = None,
        schema: Any = None,
        *,
        prompt_equals: str | None = None,
        system: TextMatcher | None = None,
        tools: Iterable[str] | None = None,
        turn: int | None = None,
        attachments: Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Assert that there was one call, no other, and that all that is given held in it.

        The arguments are those of `assert_called_with`.

        Raises:
            AssertionError: there was none, there were more, or it was another one. The message shows the calls.
            InvalidReply: what the call was to be like makes no sense.
        """
        __tracebackhide__ = True
        matchers = Matchers(prompt_contains, system, tools, turn, attachments, options)
        wanted = _Wanted(prompt_equals, schema_name(schema), matchers)
        self.assert_called_once()
        self._assert_fits(wanted)

    def _got(self, expected: str) -> str:
        return f"Expected {expected} of {self._whose}, got {len(self._calls)}.\n{calls_made(self._calls)}"

    def _assert_called(self) -> None:
        __tracebackhide__ = True
        if not self._calls:
            raise AssertionError(self._none)

    def _assert_fits(self, wanted: _Wanted) -> None:
        __tracebackhide__ = True
        self._assert_called()
        misses = [list(wanted.misses(call)) for call in self._calls]
        if [] in misses:
            return
        nearest = min(misses, key=len)
        raise AssertionError(
            f"No call of {self._whose} fits: {wanted}.\n"
            f"Nearest is call {misses.index(nearest) + 1}, but {' and '.join(nearest)}.\n{calls_made(self._calls)}"
        )


class _Wanted(NamedTuple):
    """What a call is to have been like."""

    prompt: str | None
    schema: str | None
    matchers: Matchers

    def misses(self, call: CallRecord) -> Iterator[str]:
        """Why a call was another one."""
        if self.prompt is not None and self.prompt != call["prompt"]:
            yield f"the prompt is {shorten(call['prompt'])}, not {shorten(self.prompt)}"
        if self.schema is not None and self.schema != (asked := call["kwargs"]["schema"]):
            yield f"the schema is {schema_text(asked)}, not {schema_text(self.schema)}"
        yield from self.matchers.misses(call)

    def __str__(self) -> str:
        parts = [f"prompt {shorten(self.prompt)}"] if self.prompt is not None else []
        parts += [f"schema {schema_text(self.schema)}"] if self.schema else []
        return ", ".join([*parts, *([str(self.matchers)] if self.matchers else [])])


def assert_llm_called_times(mock_llm_calls: Mock, model_name: str, times: int) -> None:
    """Assert how often a model was called.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        model_name: the id or an alias of the model.
        times: the expected number of calls, failed ones included.

    Raises:
        AssertionError: it was called more or less often. The message shows the prompts there were.
        InvalidMock: what was passed is no mock.
        ValueError: `times` is no such number.
    """
    __tracebackhide__ = True
    _check_mock(mock_llm_calls)
    if not is_whole(times):
        raise ValueError(f"times is {described(times)}; give a whole number from 0.")
    calls = mock_llm_calls.calls_of(model_name)
    if len(calls) != times:
        made = calls_made(calls) if calls else _other_models(model_name, mock_llm_calls.calls)
        raise AssertionError(f"Expected {times} calls, got {len(calls)} of model {model_name!r}.\n{made}")


def assert_prompt_contains(mock_llm_calls: Mock, model_name: str, text: str) -> None:
    """Assert that a text occurs in at least one prompt that a model was sent.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        model_name: the id or an alias of the model.
        text: the text to look for; upper and lower case differ.

    Raises:
        AssertionError: no prompt contains it. The message shows the prompts there were.
        InvalidMock: what was passed is no mock.
    """
    __tracebackhide__ = True
    _check_mock(mock_llm_calls)
    calls = mock_llm_calls.calls_of(model_name)
    if not any(text in call["prompt"] for call in calls):
        made = calls_made(calls) if calls else _other_models(model_name, mock_llm_calls.calls)
        raise AssertionError(f"No prompt contained {text!r}.\n{made}")


def _check_mock(mock: object) -> None:
    __tracebackhide__ = True
    if not hasattr(mock, "calls_of"):
        raise InvalidMock(
            f"This is no mock of llm_mock, but {described(mock)}. Where the project has a fixture mock_llm_calls of "
            "its own, that hides the one of llm_mock: rename it, or pass mock_llm_responses, which is the same mock."
        )


def _other_models(model: str, all_calls: Sequence[CallRecord]) -> str:
    others = sorted({call["model_id"] for call in all_calls})
    named = ", ".join(map(shorten_name, others)) if others else "none"
    return f"Model {model!r} was never called. Models that were called: {named}."
