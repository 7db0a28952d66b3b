"""Error messages of the command line."""

from pydantic import ValidationError


class PlannerError(Exception):
    """Planning failed; the message is one line, for the person who asked."""


def describe(error: Exception) -> str:
    """One line that says what went wrong.

    Args:
        error: whatever was raised.

    Returns: The first problem of a pydantic error; the message of any other, or its type where it
    has none.
    """
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        return f"{'.'.join([error.title, *map(str, problem['loc'])])}: {problem['msg']}"
    return " ".join(str(error).split()) or type(error).__name__
