"""The log of `llm`: its SQLite database of conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llm_mock.boundaries.llm.versions import list_conversation_tables


def get_log_path() -> Path:
    """Where `llm` logs: its SQLite database, which need not be there yet."""
    import llm

    return Path(llm.user_dir()) / "logs.db"  # type: ignore[no-untyped-call]


def is_logging() -> bool:
    """Whether the user lets `llm` log: see `llm logs off`."""
    return not get_log_path().with_name("logs-off").exists()


def log_responses(responses: Sequence[Any], name: str) -> None:
    """Log the responses of one conversation, and give it a name by which `load_logged_conversation` finds it again."""
    with _open_log() as database:
        for response in responses:
            response.log_to_db(database)
        for table in list_conversation_tables(database):
            for conversation in {response.conversation.id for response in responses}:
                database.execute(f"update {table} set name = ? where id = ?", [name, conversation])
        database.conn.commit()


def load_logged_conversation(name: str, model: Any) -> Any:
    """The conversation that was logged last under a name, to go on with; None where there is none."""
    import llm
    from llm.cli import load_conversation

    if not get_log_path().exists():
        return None
    with _open_log() as database:
        found = " union ".join(
            f"select id from {table} where name = :name"
            for table in list_conversation_tables(database)
        )
        rows = list(database.query(f"{found} order by id desc limit 1", {"name": name}))
    if not rows:
        return None
    get_model: Any = llm.get_model
    module: Any = llm
    module.get_model = lambda *_: model  # the one that began it may be gone
    try:
        return load_conversation(rows[0]["id"])
    finally:
        module.get_model = get_model


@contextmanager
def _open_log() -> Iterator[Any]:
    import sqlite_utils
    from llm.migrations import migrate

    database = sqlite_utils.Database(get_log_path())
    try:
        migrate(database)  # type: ignore[no-untyped-call]
        yield database
    finally:
        database.conn.close()
