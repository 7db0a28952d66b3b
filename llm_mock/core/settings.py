"""How a mock decides and checks calls."""

from __future__ import annotations

from typing import Any, NamedTuple


class Settings(NamedTuple):
    """What a project says of all its mocks; what a test configures is no setting, see `Script`."""

    lazy: bool = False
    """Decide a call when its response is read, not in `prompt()`."""
    strict: bool = False
    """A call that no configured reply fits is an error."""
    schema: str = "warn"
    """What a scripted reply that breaks the schema is: `warn`, `error` or `off`."""
    autospec: bool = False
    """Known models refuse what the real ones would refuse."""
    refuse_unknown: bool = False
    """A name that nobody registers, and no test names, is unknown."""
    generate: bool = False
    """A call for a schema that no configured reply fits is answered with a generated instance."""
    raw_json: bool = False
    """`response.json()` gives the provider's payload, as in production, and never the data of the reply."""
    prices: tuple[Any, ...] = ()
    """What models cost, where the project says so; see `llm_mock.cost`."""
    missing_reply_advice: str = (
        'Configure one with mock_llm_responses.set() or add(), or any other call with set("*", …).'
    )
    """The fix that the message about a call without a reply ends with."""
    unused_reply_advice: str = (
        "Remove the add(), correct what it wants, or say optional=True for a reply that may be unused."
    )
    """The fix that the message about an unused reply ends with."""
