"""Keep keys, tokens and passwords out of everything that is printed, logged or written.

Every text goes through one function, `redact`, where it leaves the process: a failure, a warning,
a line of a log, a file. A text that is cut is redacted before, so that no half of a key is left.
Recordings have a redactor of their own, with the patterns of the project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llm_mock.support.lazy_names import lazy_names
from llm_mock.support.redaction.known_secrets import KNOWN, is_secret_name
from llm_mock.support.redaction.marks import REDACTED, REDACTED_SECRET

if TYPE_CHECKING:
    from llm_mock.support.redaction.redactor import OUTPUT, Redactor

__all__ = [
    "KNOWN",
    "OUTPUT",
    "REDACTED",
    "REDACTED_SECRET",
    "Redactor",
    "hide",
    "hide_carried",
    "is_secret_name",
    "redact",
]

hide = KNOWN.hide
"""Register values as secret, for the rest of the process."""
hide_carried = KNOWN.hide_carried
"""Register the credentials of a request as secret, for the rest of the process."""


_output: Redactor | None = None


def redact(value: object) -> Any:
    """Return a copy of a text or of a JSON value without secrets."""
    global _output
    # Kept, because an import takes half as long as to redact a short text.
    if _output is None:
        from llm_mock.support.redaction.redactor import OUTPUT

        _output = OUTPUT
    return _output.clean(value)


__getattr__, __dir__ = lazy_names(__name__, {"redactor": "OUTPUT Redactor"})
