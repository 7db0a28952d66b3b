"""The log of `llm`: its SQLite database of conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llm_mock.boundaries.llm.versions import list_conversation_tables


def get_log_path() -> Path:
    """Return the path of `llm`'s log, an SQLite database that need not exist yet."""
    import llm

    return Path(llm.user_dir()) / "logs.db"  # type: ignore[no-untyped-call]


def is_logging() -> bool:
    """Return False if the user has switched the log off with `llm logs off`."""
    # The file that `llm logs off` creates; llm has no function that reads it.
    return not get_log_path().with_name("logs-off").exists()


def log_responses(responses: Sequence[Any], name: str) -> None:
    """Log the responses of a conversation under a name, for `load_logged_conversation`."""
    with _open_log() as database:
        for response in responses:
            response.log_to_db(database)
        # `llm` itself names a conversation after its first prompt.
        conversation_ids = {response.conversation.id for response in responses}
        for table in list_conversation_tables(database):
            for conversation_id in conversation_ids:
                values = [name, conversation_id]
                database.execute(f"update {table} set name = ? where id = ?", values)
        database.conn.commit()


def load_logged_conversation(name: str, model: object) -> Any:
    """Return the last conversation that was logged under a name, to continue it, or None."""
    import llm
    from llm.cli import load_conversation

    if not get_log_path().exists():
        return None
    with _open_log() as database:
        selects = [
            f"select id from {table} where name = :name"
            for table in list_conversation_tables(database)
        ]
        # The ids of `llm` are ULIDs, which sort by time.
        query = " union ".join(selects) + " order by id desc limit 1"
        rows = list(database.query(query, {"name": name}))
    if not rows:
        return None
    # `load_conversation` looks up the model that began the conversation, which may be gone.
    module: Any = llm
    get_model = module.get_model
    module.get_model = lambda *_: model
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
