"""The user folder of `llm`, with keys, aliases, default model and logs: a mocked run has one of its own."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from llm_mock.core.context import is_mocked
from llm_mock.support.temporary import TemporaryFolder

USER_FOLDER_VARIABLE = "LLM_USER_PATH"


class _State:
    """The folder of this process, where the environment names none."""

    folder: TemporaryFolder | None = None


def set_user_folder(folder: TemporaryFolder | None) -> TemporaryFolder | None:
    """Name the `llm` user folder where the environment does not. Returns the one named before, to be put back."""
    previous, _State.folder = _State.folder, folder
    return previous


class _User(threading.local):
    """Whose folder a thread looks into at this moment."""

    looking = False
    folder: str | None = None


_user = _User()


@contextmanager
def switch_user_folder(folder: str | None) -> Iterator[None]:
    """Have `llm.user_dir()` give the user's own folder for a while, in this thread alone."""
    _user.looking, _user.folder = True, folder
    try:
        yield
    finally:
        _user.looking = False


def get_run_user_folder(original: Callable[[], Path]) -> Path:
    """The run's folder, also where a test cleared the environment."""
    if _user.looking:
        return _get_user_folder(_user.folder)
    if not is_mocked() or _State.folder is None or os.environ.get(USER_FOLDER_VARIABLE):
        return original()
    return _State.folder.path


def _get_user_folder(folder: str | None) -> Path:
    import click

    return Path(folder or click.get_app_dir("io.datasette.llm"))


def create_user_folder() -> None:
    """Give this process, and those that it starts, a folder that is removed when it ends."""
    _State.folder = TemporaryFolder("user")
    os.environ[USER_FOLDER_VARIABLE] = str(_State.folder.path)


def list_model_files() -> list[Path]:
    """Where the user's aliases of models are, and further models; the files need not be there."""
    own = _State.folder.path if _State.folder else os.devnull
    folder = Path(os.environ.get(USER_FOLDER_VARIABLE) or own)
    return [folder / "aliases.json", folder / "extra-openai-models.yaml"]


def read_stored_keys(folder: str | None) -> list[str]:
    """The keys that `llm` has stored in a user folder, by default that of the person who runs the process.

    They are read without `llm`, which takes long to import.
    """
    try:
        keys = json.loads((_get_user_folder(folder) / "keys.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [key for key in keys.values() if isinstance(key, str)] if isinstance(keys, dict) else []


def resolve_key(name: str) -> str:
    """The key that is stored under a name; a name under which there is none is the key itself."""
    import llm

    return llm.get_key(name, None) or name
