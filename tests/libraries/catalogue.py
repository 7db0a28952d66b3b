"""The libraries that are tested, read from their files in `usage` without importing them.

Run as a script with the name of an environment, it prints the requirements of the libraries that
are tested in it. It needs nothing but Python.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

USAGE = Path(__file__).parent / "usage"
CAPABILITIES = {
    "plain": "plain",
    "streamed": "streamed",
    "tools": "tools",
    "structured": "structured",
    "asynchronous": "async",
    "retried": "error retried",
}
"""The functions of a library's file, and the headings of their columns."""


@dataclass(frozen=True)
class Library:
    """A library, as the constants of its file describe it.

    Args:
        name: The name of its file.
        requirements: The distributions to install, the library itself first.
        functions: The names of the functions of its file.
        environment: The environment of `.ci/frameworks` that it is installed in.
        asks: The providers and APIs that its file asks.
        lacks: The capabilities that it does not have, each with the reason.
        faults: The capabilities that fail by a fault of its own, each with the reason.
        untried: The capabilities that are not tested here, each with the reason.
        refused: The reason why all of its calls are refused.
        variables: The environment variables that it needs.
        served: The variables that lead a process of its own to the server.
        hosts: The hosts that the project has to list in `llm_mock_hosts`.
        setting: A sentence on the settings that it needs.
    """

    name: str
    requirements: tuple[str, ...]
    functions: frozenset[str]
    environment: str
    asks: str
    lacks: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    untried: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    served: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    setting: str = ""

    @property
    def distributions(self) -> list[str]:
        """Return the names of what is installed; the first is that of the library itself."""
        return [re.split(r"[\[<>=]", requirement)[0] for requirement in self.requirements]


def read_libraries() -> list[Library]:
    """Return all libraries, sorted by the names of their distributions."""
    libraries = [read_library(path) for path in USAGE.glob("[!_]*.py")]
    return sorted(libraries, key=lambda library: library.distributions[0].lower())


def read_library(path: Path) -> Library:
    """Return the library that a file describes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = read_constants(tree)
    return Library(
        name=path.stem,
        requirements=tuple(constants["REQUIREMENTS"].split()),
        functions=frozenset(read_functions(tree)),
        environment=constants["ENVIRONMENT"],
        asks=constants["ASKS"],
        lacks=constants.get("LACKS", {}),
        faults=constants.get("FAULTS", {}),
        untried=constants.get("UNTRIED", {}),
        refused=constants.get("REFUSED", ""),
        variables=constants.get("VARIABLES", {}),
        served=constants.get("SERVED", ()),
        hosts=constants.get("HOSTS", ()),
        setting=constants.get("SETTING", ""),
    )


def read_functions(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the functions that a module defines, or unpacks from a tuple."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            for target in node.targets[0].elts:
                yield ast.unparse(target)


def read_constants(tree: ast.Module) -> dict[str, Any]:
    """Return the literal values that a module assigns to names in capitals."""
    constants = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        try:
            constants[node.targets[0].id] = ast.literal_eval(node.value)
        except ValueError:  # computed when it is imported
            continue
    return constants


if __name__ == "__main__":
    for one in read_libraries():
        if one.environment == sys.argv[1]:
            print(*one.requirements)
