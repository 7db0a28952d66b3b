"""The user folder of `llm`: keys, aliases, default model and logs. Mocked runs have their own."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from llm_mock.core.context import is_mocked
from llm_mock.support.temporary_folders import TemporaryFolder

USER_FOLDER_VARIABLE = "LLM_USER_PATH"


class _RunFolder:
    """The user folder of this process, used if the environment names none."""

    folder: TemporaryFolder | None = None


def set_user_folder(folder: TemporaryFolder | None) -> TemporaryFolder | None:
    """Set the user folder that is used if the environment names none.

    Returns:
        The previous folder, to restore it later.
    """
    previous = _RunFolder.folder
    _RunFolder.folder = folder
    return previous


class _UserLookup(threading.local):
    """The user folder that a thread uses instead of the run's within `switch_user_folder`."""

    is_active = False
    folder: str | None = None


_user_lookup = _UserLookup()


@contextmanager
def switch_user_folder(folder: str | None) -> Iterator[None]:
    """Make `llm.user_dir()` return the user's own folder in this thread, for example to find a key.

    Args:
        folder: the folder; None for the default one of `llm`.
    """
    _user_lookup.folder = folder
    _user_lookup.is_active = True
    try:
        yield
    finally:
        _user_lookup.is_active = False


def get_run_user_folder(original: Callable[[], Path]) -> Path:
    """Return the user folder of the run for `llm.user_dir`, or the original one without a mock."""
    if _user_lookup.is_active:
        return _get_user_folder(_user_lookup.folder)
    if not is_mocked() or _RunFolder.folder is None:
        return original()
    # A test may have cleared the environment, which otherwise names the run's folder.
    if os.environ.get(USER_FOLDER_VARIABLE):
        return original()
    return _RunFolder.folder.path


def _get_user_folder(folder: str | None) -> Path:
    """Return a folder, by default the one that `llm` uses if the environment names none."""
    import click

    # The same application name as in `llm`, whose `user_dir` also creates the folder.
    return Path(folder or click.get_app_dir("io.datasette.llm"))


def create_user_folder() -> None:
    """Create a user folder for this process and its subprocesses, removed when it ends."""
    _RunFolder.folder = TemporaryFolder("user")
    os.environ[USER_FOLDER_VARIABLE] = str(_RunFolder.folder.path)


def list_model_files() -> list[Path]:
    """Return the paths of the user's aliases and additional models, whether or not they exist."""
    default = _RunFolder.folder.path if _RunFolder.folder else os.devnull
    folder = Path(os.environ.get(USER_FOLDER_VARIABLE) or default)
    return [folder / "aliases.json", folder / "extra-openai-models.yaml"]


def read_stored_keys(folder: str | None) -> list[str]:
    """Return the keys that `llm` has stored in a user folder; an unreadable file has none.

    Args:
        folder: the user folder; None for the default one of `llm`.
    """
    # Read without `llm`, which is slow to import.
    path = _get_user_folder(folder) / "keys.json"
    try:
        keys = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    if not isinstance(keys, dict):
        return []
    # The user may edit the file, so a value may be anything.
    return [key for key in keys.values() if isinstance(key, str)]


def resolve_key(name: str) -> str:
    """Return the key that is stored under a name, or the name itself, which then is a key."""
    import llm

    return llm.get_key(name, None) or name
