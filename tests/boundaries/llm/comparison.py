"""The two worlds of a scenario: plain models of a plugin, and mocked ones.

A scenario is a function of a `World`. It is run in both, and everything that it observes must be
the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlite_utils
from llm.migrations import migrate
from llm.plugins import pm

from llm_mock import LLMMock
from llm_mock.core.context import activate
from tests.boundaries.llm.plain_models import BLOBS, KEYED_TEXTS, TEXTS, VECTORS, Plugin, Scripted

KEYS = ("sk-passed", "sk-assigned", "sk-stored")
"""The keys that are used here; which of them was used cannot be read from the mock, only compared."""  # noqa: E501


class World:
    """The plain models or the mocked ones, in which a scenario runs."""

    def __init__(self, plugin: Plugin, mock: LLMMock | None, folder: Path) -> None:
        self._plugin, self._mock = plugin, mock
        self.folder = folder

    def script(self, model_id: str, *replies: Scripted) -> None:
        """Set the answers to the next calls of a model; an error is the last of them."""
        self._plugin.script.extend(replies)
        if self._mock:
            for reply in replies:
                (self._mock.set if reply.error else self._mock.add)(model_id, reply.reply())

    def keys(self) -> list[str | None]:
        """Return the keys of the calls so far."""
        if self._mock is None:
            return self._plugin.keys
        return [
            next((key for key in KEYS if call["key"] == key), None) for call in self._mock.calls
        ]

    def batches(self) -> list[Any]:
        """Return the batches that were embedded so far; an empty one is no call."""
        if self._mock is None:
            return [batch for batch in self._plugin.batches if batch]
        models = [
            self._mock.get_embedding_model(model_id) for model_id in (TEXTS, BLOBS, KEYED_TEXTS)
        ]
        return [record["items"] for model in models for record in model.call_history]

    def log(self, *responses: Any) -> dict[str, list[Any]]:
        """Return the rows of an `llm` database in which responses were logged."""
        database = sqlite_utils.Database(memory=True)
        create_tables(database)
        for response in responses:
            response.log_to_db(database)
        return rows(database)


def rows(database: sqlite_utils.Database) -> dict[str, list[Any]]:
    """All rows of a log, but for those of its search indexes and migrations."""
    tables = [
        name for name in database.table_names() if "_fts" not in name and not name.startswith("_")
    ]
    return {name: list(database[name].rows) for name in tables if database[name].count}


@cache
def migrated() -> sqlite_utils.Database:
    """Return an empty log of `llm`; to migrate one takes hundreds of commits."""
    database = sqlite_utils.Database(memory=True)
    migrate(database)
    return database


def create_tables(database: sqlite_utils.Database) -> None:
    """Do as `llm`'s `migrate`, but copy the tables into a database that has none."""
    if database.table_names():
        migrate(database)
    else:
        migrated().conn.backup(database.conn)


@contextmanager
def world(folder: Path, mocked: bool) -> Iterator[World]:
    """Yield a world of its own: its plugin, its user folder, no keys in the environment."""
    plugin, mock = Plugin(), LLMMock(at_boundary=True) if mocked else None
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_USER_PATH", str(folder))
        patch.delenv("PLAIN_KEY", raising=False)
        patch.setattr("llm.cli.migrate", create_tables)
        patch.setattr("sys._called_from_test", True, raising=False)
        pm.register(plugin, name="plain-models")
        previous = activate(mock)
        try:
            if mock:
                mock.autospec()
                for embedder in (TEXTS, BLOBS, KEYED_TEXTS):
                    model = mock.get_embedding_model(embedder)
                    model.dimensions = 4
                    for item, vector in VECTORS.items():
                        model.set(item, vector)
            yield World(plugin, mock, folder)
        finally:
            activate(previous)
            pm.unregister(plugin)


Scenario = Callable[[World], dict[str, Any]]


def observed(scenario: Scenario, folder: Path) -> list[dict[str, Any]]:
    """Return what a scenario observes of the plain models, and of the mocked ones."""
    seen = []
    for mocked in (False, True):
        with world(folder / ("mocked" if mocked else "plain"), mocked) as there:
            seen.append(
                {name: normalised(value, there.folder) for name, value in scenario(there).items()}
            )
    return seen


def outcome(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return what a call gives, or how it fails."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def awaited(value: Any) -> Any:
    """Return a value, that of a coroutine or another awaitable included."""

    async def wait() -> Any:
        return await value

    return asyncio.run(wait()) if hasattr(value, "__await__") else value


_VARYING = (
    (re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00|Z)?"), "<time>"),
    (re.compile(r" at 0x[0-9a-f]+"), ""),
    (re.compile(r'(duration_ms"?: |Duration: )\d+(?:ms \([\d.]+s\))?'), r"\1<time>"),
)


def normalised(value: Any, folder: Path) -> Any:
    """Return a value without ids, times and folders, which are never the same."""
    if isinstance(value, str):
        for pattern, name in _VARYING:
            value = pattern.sub(name, value)
        return value.replace(str(folder), "<folder>")
    if isinstance(value, dict):
        kept = {
            name: item for name, item in value.items() if name not in ("duration_ms", "updated")
        }
        return {normalised(name, folder): normalised(item, folder) for name, item in kept.items()}
    if isinstance(value, (list, tuple)):
        return [normalised(item, folder) for item in value]
    return (
        value
        if value is None or isinstance(value, (int, float, bytes))
        else normalised(repr(value), folder)
    )
