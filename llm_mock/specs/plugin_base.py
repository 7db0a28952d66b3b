"""The base class of plugins, which add a project's own tools to its plain-language tests."""

from __future__ import annotations

import re

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

CLEANUP = "The cleanup of the plugin"
"""The beginning of each message about a failed cleanup."""


class LLMPlugin:
    """A set of a project's own tools, defined in `tests/llm/plugins/*.py`.

    Each public async method is a tool, named `<name>_<method>`. Its docstring is the description
    for models, and its type hints are the schema of its arguments. It returns a JSON value; an
    exception fails the call.

    Each test starts its own server process, which creates one instance of each plugin without
    arguments, so the state of a plugin lasts as long as the test. Output that a plugin prints goes
    to the server's stderr.
    """

    name: str
    """The prefix of its tools' names. By default the class name in snake case, without `Plugin`."""

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            # A class with the bare name `Plugin` keeps it.
            name = cls.__name__.removesuffix("Plugin") or cls.__name__
            cls.name = _WORD_START.sub("_", name).lower()

    async def cleanup(self) -> None:
        """Clean up after the test, whatever its outcome, in at most 5 seconds. It is not a tool."""
