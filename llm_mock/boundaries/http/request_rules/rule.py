"""A rule by which a provider refuses requests, and the rules of an API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pydantic_core import to_json

from llm_mock.boundaries.http.wire_error import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest

Value = TypeVar("Value")


class Rule(NamedTuple):
    """A rule by which a provider refuses requests."""

    name: str
    """The name in ini `llm_mock_disabled_rules`; rules of several APIs may share it."""
    refuses: str
    """The refused requests or parts, as a noun phrase."""
    source: str
    """The documentation or the SDK's type that contains the rule."""


class Violation(NamedTuple):
    """A rule that a request breaks, and the provider's error for it."""

    rule: Rule
    error: WireError


Check = Callable[["HTTPRequest"], Iterable[Violation]]
"""Returns the violations of one or more rules in a request."""
FieldCheck = Callable[["HTTPRequest", str], Iterable[Violation]]
"""A `Check` of the field with the given name."""


class RuleSet:
    """The rules of an API.

    Args:
        fields: the fields that a body may have at its top level, each with its check, or None. A
            field that is null is not checked.
        unknown: checks a field that is not in `fields`.
        always: checks every request.
    """

    def __init__(
        self,
        fields: Mapping[str, Check | None],
        unknown: FieldCheck | None = None,
        always: Iterable[Check] = (),
    ) -> None:
        self._fields = fields
        self._unknown = unknown
        self._always = tuple(always)

    def find_violation(self, request: HTTPRequest, disabled: frozenset[str]) -> Violation | None:
        """Return the first violation; None for a request that the provider accepts.

        Args:
            request: the request.
            disabled: the names of the rules that are switched off.
        """
        for violation in self._check(request):
            if violation.rule.name not in disabled:
                return violation
        return None

    # This runs for each request, so a field without a rule costs only one lookup.
    def _check(self, request: HTTPRequest) -> Iterator[Violation]:
        """Yield the violations in a request."""
        fields = self._fields
        for check in self._always:
            yield from check(request)
        for name, value in request.body.items():
            if value is None:
                continue
            if name in fields:
                field_check = fields[name]
                if field_check is not None:
                    yield from field_check(request)
            elif self._unknown is not None:
                yield from self._unknown(request, name)


class Memo:
    """A cache of JSON values that broke no rule, so that each value is checked once.

    Clients send the same tools and schemas with each request.
    """

    LIMIT = 500
    """The maximum number of values in the cache."""

    def __init__(self) -> None:
        self._passed: set[bytes] = set()

    def check_once(
        self, value: Value, check: Callable[[Value], Iterable[Violation]]
    ) -> Iterator[Violation]:
        """Yield the violations in a value; none if it was checked before and broke no rule.

        Args:
            value: the JSON value.
            check: returns its violations.
        """
        key = to_json(value)
        if key in self._passed:
            return
        is_valid = True
        for violation in check(value):
            is_valid = False
            yield violation
        if is_valid:
            # An application that creates a new schema for each request must not fill the memory.
            if len(self._passed) >= self.LIMIT:
                self._passed.clear()
            self._passed.add(key)
