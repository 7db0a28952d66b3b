"""What is known of one function of a test file while it is rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.migrate.body import Slot
from llm_mock.migrate.configured_replies import ConfiguredReplies
from llm_mock.migrate.doubles import PatchedGetter, Value
from llm_mock.migrate.recorded_calls import CallReader
from llm_mock.migrate.scope import Scope, collect_parametrized_values
from llm_mock.migrate.symbol_table import SymbolTable

if TYPE_CHECKING:
    import libcst as cst

    from llm_mock.migrate.patches import Patch


class UnrelatedMock(Exception):
    """A name stands for a mock that has nothing to do with `llm`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class FileContext:
    """What is known of the file that a function stands in, and of the world around it.

    Attributes:
        scope: the names of the file.
        path: where it is.
        ids_of: the names of models that a patched target of a function was asked for.
        id_of: the model id that a name stands for.
        fixtures: the fixtures of the file.
    """

    scope: Scope
    path: Path
    ids_of: Callable[[str, str], Sequence[str]]
    id_of: Callable[[str], str]
    fixtures: Mapping[str, cst.FunctionDef]


class FunctionState:
    """One function, and what its names stand for.

    Args:
        name: the function, with its class.
        function: the test, or a fixture.
        known: what is known of its file.
        foreign: names that stand for mocks of something else.
        ids: names of models that its own assertions have shown.
    """

    def __init__(
        self,
        name: str,
        function: cst.FunctionDef,
        known: FileContext,
        foreign: frozenset[str],
        ids: Mapping[str, Sequence[str]],
    ) -> None:
        self.name = name
        self.function = function
        self.known = known
        self.is_fixture = name in known.fixtures
        self.frame = SymbolTable(known.scope.of_function())
        self.frame.foreign = foreign
        self.frame.plain.update(collect_parametrized_values(function))
        self.getters: list[PatchedGetter] = []
        self.reader = CallReader(self.frame, self.getters, known.id_of)
        self.slots: list[Slot] = [Slot()]
        """Where mocks were configured; the first is the beginning of the body."""
        self.said = ConfiguredReplies(self.getters, self.frame, self.slots)
        self.given: Value | None = None
        """What a fixture hands to its tests."""
        self._ids = ids

    def take(self, patch: Patch) -> None:
        """Remember a patch of `llm`."""
        self.said.roots.append(patch.value)
        for getter in patch.getters:
            known = self.known.ids_of(self.name, getter.target)
            getter.ids = tuple(known or self._ids.get(getter.target, ()))
            self.getters.append(getter)
