"""Assertions about the calls of a mock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from llm_mock.core.call import Call
from llm_mock.core.expected_call import CallConditions, ExpectedCall
from llm_mock.core.matchers import TextMatcher
from llm_mock.core.records import format_call_history, mark_shown
from llm_mock.core.uncalled import must_be_called
from llm_mock.errors import InvalidMock
from llm_mock.support.forwarding import forward_method
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import described, format_count, shorten_name, suggest_nearest

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from llm_mock.core.mock import Mock

Parameters = ParamSpec("Parameters")


class CallAssertions:
    """Assertions about the calls of one model, or of all models of a mock."""

    def __init__(
        self,
        owner: str,
        calls: Sequence[Call],
        no_calls: str,
        other_calls: str = "",
        get_model_id: Callable[[str], str] | None = None,
    ) -> None:
        """Create assertions about some calls.

        Args:
            owner: the name of the called model in messages, such as `model 'gpt-4o-mini'`.
            calls: the calls, in order.
            no_calls: the message if there are no calls.
            other_calls: sentences about further calls that only `assert_not_called` counts; empty
                if there are none.
            get_model_id: returns the id of a model of `llm` by its alias; None without aliases.
        """
        self._owner = owner
        self._calls = calls
        self._no_calls = no_calls
        self._other_calls = other_calls
        self._get_model_id = get_model_id

    @property
    def last_call(self) -> Call:
        """The record of the last call.

        Raises:
            AssertionError: there was no call.
        """
        __tracebackhide__ = True
        # Without conditions, this only asserts that there was a call.
        self.assert_called_with()
        return self._calls[-1]

    def assert_not_called(self) -> None:
        """Assert that there was no call. Failed calls and calls to embedding models count, too.

        Raises:
            AssertionError: there was a call. The message lists the calls.
        """
        __tracebackhide__ = True
        if self._calls:
            raise mark_shown(AssertionError(self._format_count("no call")), self._calls)
        if self._other_calls:
            raise AssertionError(f"Expected no call to {self._owner}. {self._other_calls}")

    def assert_called_once(self) -> None:
        """Assert that there was exactly one call. Failed calls count, too.

        Raises:
            AssertionError: there was no call, or more than one. The message lists the calls.
        """
        __tracebackhide__ = True
        self._assert_called()
        if len(self._calls) > 1:
            message = self._format_count("1 call")
            message += self._count_models(self._calls[0]["model_id"])
            raise mark_shown(AssertionError(message), self._calls)

    def assert_resilient(
        self,
        *,
        attempts: int = 5,
        gave_up: bool = False,
        waits: bool = True,
        strict: bool = False,
    ) -> None:
        """Assert that the client handled errors correctly, judged by its HTTP requests.

        The assertion fails if the client does one of these:

        - It retries before the time in `Retry-After` has passed.
        - It repeats a request after status 400, 401, 403, 404 or 422.
        - It sends the same request more than `attempts` times.
        - It does not retry after a truncated stream.

        If a request fails, the next request with the same path, body and API key is a retry of it.

        Example:
            `mock_llm_calls.assert_resilient()`, at the end of a test in which a model misbehaved.

        Args:
            attempts: the maximum number of times to send the same request. SDKs send it three
                times by default.
            gave_up: pass True if the test checks that the application raised an error. The client
                then need not retry after a truncated stream. HTTP requests do not show errors
                that the application raises.
            waits: whether to check how long the client waits. If `time.sleep` or `asyncio.sleep`
                is replaced, waits are never checked. If the test replaces another wait function,
                pass False.
            strict: whether the client must also retry after status 408, 429, 502, 503, 504 and
                529, wait before each retry, have a read timeout, and not accept a stream that
                ended inside an event. Read timeouts of clients that call the server are not
                checked, because they are unknown.

        Raises:
            AssertionError: the client is not resilient. The message lists the problems and the
                attempts.
            ValueError: `attempts` is not a whole number of at least 1.
        """
        # Imported here, because few tests need it.
        from llm_mock.core import resilience

        __tracebackhide__ = True
        if not is_whole(attempts, 1):
            raise ValueError(
                f"attempts is {described(attempts)}; pass a whole number of at least 1."
            )
        # Only requests over HTTP show the attempts of a client.
        if not resilience.group_attempts(self._calls):
            message = (
                f"No call to {self._owner} was made over HTTP. This assertion checks only calls "
                f"over HTTP, not calls through llm.\n{format_call_history(self._calls)}"
            )
            raise mark_shown(AssertionError(message), self._calls)
        problems = resilience.find_problems(self._calls, attempts, gave_up, waits, strict)
        if problems:
            listed_problems = "\n".join(f"- {problem}" for problem in problems)
            listed_attempts = resilience.format_attempts(self._calls)
            raise AssertionError(
                f"The client is not resilient.\n{listed_problems}\n{listed_attempts}"
            )

    def assert_called_with(
        self,
        prompt_contains: TextMatcher | None = None,
        schema: object = None,
        **conditions: Unpack[CallConditions],
    ) -> None:
        """Assert that at least one call matches all arguments.

        Example:
            `mock_llm_calls.assert_called_with("report", model="gpt-4o-mini", temperature=ABSENT)`

        Args:
            prompt_contains: a text that the prompt must contain, a compiled pattern to search for
                in it, or a function that takes the text and returns whether it matches.
            schema: the requested schema: a pydantic class, a JSON-schema dict, or the name of a
                schema.
            conditions: further conditions; see `CallConditions`.

        Raises:
            AssertionError: no call matches. The message lists the calls and explains why the
                nearest one does not match.
            InvalidReply: an argument is not a valid condition.
            TypeError: a condition is unknown.
        """
        __tracebackhide__ = True
        self._assert_match(self._expect(prompt_contains, schema, conditions))

    assert_any_call = assert_called_with

    def assert_called_once_with(
        self,
        prompt_contains: TextMatcher | None = None,
        schema: object = None,
        **conditions: Unpack[CallConditions],
    ) -> None:
        """Assert that there was exactly one call, and that it matches all arguments.

        The arguments are the same as for `assert_called_with`.

        Raises:
            AssertionError: there was no call, there was more than one, or the call does not match.
                The message lists the calls.
            InvalidReply: an argument is not a valid condition.
            TypeError: a condition is unknown.
        """
        __tracebackhide__ = True
        expected = self._expect(prompt_contains, schema, conditions)
        self._assert_called()
        if len(self._calls) > 1:
            message = self._format_count("1 call")
            message += self._explain_several(expected)
            raise mark_shown(AssertionError(message), self._calls)
        self._assert_match(expected)

    def assert_not_called_with(
        self,
        prompt_contains: TextMatcher | None = None,
        schema: object = None,
        **conditions: Unpack[CallConditions],
    ) -> None:
        """Assert that no call matches all arguments.

        The arguments are the same as for `assert_called_with`.

        Raises:
            AssertionError: a call matches. The message lists the calls.
            InvalidReply: an argument is not a valid condition.
            TypeError: a condition is unknown.
        """
        __tracebackhide__ = True
        expected = self._expect(prompt_contains, schema, conditions)
        for position, call in enumerate(self._calls, start=1):
            if not any(expected.misses(call)):
                message = (
                    f"Expected no call to {self._owner} that matches: {expected}.\n"
                    f"Call {position} matches.\n{format_call_history(self._calls)}"
                )
                raise mark_shown(AssertionError(message), self._calls)
        respelt = expected.explain_respelt_model(self._calls)
        if respelt:
            raise mark_shown(AssertionError(respelt), self._calls)

    def _expect(
        self, prompt_contains: TextMatcher | None, schema: object, conditions: CallConditions
    ) -> ExpectedCall:
        """Return the expected call; its model may be an alias for calls through `llm`."""
        __tracebackhide__ = True
        expected = ExpectedCall(prompt_contains, schema, conditions)
        model = conditions.get("model")
        if self._get_model_id is None or not isinstance(model, str) or not model:
            return expected
        # To resolve an alias, `llm` loads its plugins.
        if any(call.model != model for call in self._calls if "api" not in call):
            expected.aliased_model = self._get_model_id(model)
        return expected

    def _format_count(self, expected: str) -> str:
        """Return the message about an unexpected number of calls."""
        number = len(self._calls)
        made = format_call_history(self._calls)
        return f"Expected {expected} to {self._owner}, got {number}.\n{made}"

    def _explain_several(self, expected: ExpectedCall) -> str:
        """Return lines about several calls where one was expected."""
        model = self._calls[0]["model_id"]
        matching = 0
        for call in self._calls:
            if any(expected.misses(call)):
                continue
            matching += 1
            model = call["model_id"]
        models = self._count_models(model)
        if not matching:
            return models
        return (
            f"{models}\n"
            f"The conditions match {format_count(matching, 'call')}. "
            "To check that at least one call matches, use assert_called_with()."
        )

    def _count_models(self, model: str) -> str:
        """Return a line with the number of calls to each model; empty for a single model.

        Args:
            model: the model to name in the advice.
        """
        numbers = Counter(call["model_id"] for call in self._calls)
        if len(numbers) < 2:
            return ""
        listed = []
        for name, number in numbers.items():
            listed.append(f"{number} to {shorten_name(name)}")
        return (
            f"\nThis assertion counts the calls to all models: {', '.join(listed)}. "
            f"To count the calls to one model, use get_model({model!r})."
        )

    def _assert_called(self) -> None:
        __tracebackhide__ = True
        if not self._calls:
            raise AssertionError(self._no_calls)

    def _assert_match(self, expected: ExpectedCall) -> None:
        """Raise an AssertionError with the nearest call unless a call matches."""
        __tracebackhide__ = True
        self._assert_called()
        # A call with an empty list meets all conditions.
        misses_of_calls = [list(expected.misses(call)) for call in self._calls]
        if [] in misses_of_calls:
            return
        # Imported here, because only failures need it.
        from llm_mock.core.assertion_hints import explain_misses

        fewest = min(map(len, misses_of_calls))
        near = [number for number, misses in enumerate(misses_of_calls) if len(misses) == fewest]
        near.sort(key=lambda number: expected.measure_similarity(self._calls[number]), reverse=True)
        number = near[0]
        message = (
            f"No call to {self._owner} matches: {expected}.\n"
            f"The nearest is call {number + 1}, but {' and '.join(misses_of_calls[number])}.\n"
            f"{explain_misses(expected, self._calls, near)}{format_call_history(self._calls)}"
        )
        raise mark_shown(AssertionError(message), self._calls)


def forward_assertion(
    method: Callable[Concatenate[CallAssertions, Parameters], None],
) -> Callable[Concatenate[object, Parameters], None]:
    """Return the method of a mock that makes an assertion about its calls."""
    return must_be_called(forward_method("_assertions", method))


def assert_llm_called_times(mock_llm_calls: Mock, model_name: str, times: int) -> None:
    """Assert the number of calls to a model.

    Args:
        mock_llm_calls: the fixture of that name, or a result of `create_mock_get_model`.
        model_name: the id or an alias of the model.
        times: the expected number of calls, including failed ones.

    Raises:
        AssertionError: the number differs. The message lists the calls with their prompts.
        InvalidMock: `mock_llm_calls` is not a mock of this package.
        ValueError: `times` is not a whole number of at least 0.
    """
    __tracebackhide__ = True
    _check_mock(mock_llm_calls)
    if not is_whole(times):
        raise ValueError(f"times is {described(times)}; pass a whole number of at least 0.")
    calls = mock_llm_calls.calls_of(model_name)
    if len(calls) != times:
        made = _format_calls(mock_llm_calls, model_name, calls)
        message = f"Expected {times} calls, got {len(calls)} to model {model_name!r}.\n{made}"
        raise mark_shown(AssertionError(message), calls)


def assert_prompt_contains(mock_llm_calls: Mock, model_name: str, text: str) -> None:
    """Assert that at least one prompt to a model contains a text.

    Args:
        mock_llm_calls: the fixture of that name, or a result of `create_mock_get_model`.
        model_name: the id or an alias of the model.
        text: the text; case-sensitive.

    Raises:
        AssertionError: no prompt contains the text. The message lists the calls with their
            prompts.
        InvalidMock: `mock_llm_calls` is not a mock of this package.
    """
    __tracebackhide__ = True
    _check_mock(mock_llm_calls)
    calls = mock_llm_calls.calls_of(model_name)
    if not any(text in call["prompt"] for call in calls):
        made = _format_calls(mock_llm_calls, model_name, calls)
        hint = _explain_case(text, calls)
        raise mark_shown(AssertionError(f"No prompt contained {text!r}.{hint}\n{made}"), calls)


def _explain_case(text: str, calls: Sequence[Call]) -> str:
    """Return a sentence about a prompt that contains a text in another case; empty without one."""
    for number, call in enumerate(calls, start=1):
        if text.lower() in call["prompt"].lower():
            return f" The prompt of call {number} contains it in another case."
    return ""


def _check_mock(mock: object) -> None:
    """Raise an InvalidMock unless the object is a mock of this package."""
    __tracebackhide__ = True
    # Checked by an attribute, because the classes of mocks belong to higher layers.
    if not hasattr(mock, "calls_of"):
        raise InvalidMock(
            f"Expected a mock of llm_mock, got {described(mock)}. If the project has its own "
            "fixture mock_llm_calls, it overrides the fixture of llm_mock: rename it, or pass "
            "mock_llm_responses, which is the same mock."
        )


def _format_calls(mock: Mock, model: str, calls: Sequence[Call]) -> str:
    """Return the calls of a model, or the other models that were called if there are none."""
    return format_call_history(calls) if calls else explain_missing_calls(mock, model)


def explain_missing_calls(mock: Mock, model: str) -> str:
    """Return the message that a model was never called, with the models that were called.

    Args:
        mock: the mock with the calls.
        model: the id or an alias of the model.
    """
    left_alone = mock.explain_left_alone(model)
    if left_alone:
        return left_alone
    others = sorted({call["model_id"] for call in mock.calls})
    if not others:
        return f"Model {model!r} was never called. Does the code under test call this model?"
    nearest = suggest_nearest(model, others) or "."
    named = ", ".join(map(shorten_name, others))
    return f"Model {model!r} was never called{nearest} Models that were called: {named}."
