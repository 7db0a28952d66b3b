"""The base class of plugins: tools of a project's own for its plain-language tests."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

CLEANUP = "The cleanup of the plugin"
"""How every message about a failed cleanup begins."""


class LLMPlugin:
    """A set of tools. Plugins are in `tests/llm/plugins/*.py`.

    Every public async method is a tool, named `<name>_<method>`: its docstring is the description for models, its type
    hints are the schema of its arguments. What it returns is a JSON value; an error that it raises fails the call.

    Each test has a server process of its own, with one instance of each plugin, made without arguments: its state lasts
    as long as the test. What a plugin prints goes to the server's stderr.
    """

    name: str
    """The first part of the names of its tools. By default the name of the class in snake case, without `Plugin`."""

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if "name" not in vars(cls):
            cls.name = _WORD.sub("_", cls.__name__.removesuffix("Plugin") or cls.__name__).lower()

    async def cleanup(self) -> None:
        """Called when the test has ended, whatever its outcome; it is not a tool. May take 5 seconds."""
