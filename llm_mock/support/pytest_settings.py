"""Read the settings of pytest's configuration file, without pytest."""

from __future__ import annotations

import configparser
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_mock.errors import InvalidFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = {
    "pytest.toml": "pytest",
    ".pytest.toml": "pytest",
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "pyproject.toml": "tool.pytest",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}
"""The files that pytest looks for, in its order, and their sections."""
ALWAYS_CHOSEN = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
"""Files that pytest uses even without the section."""


@dataclass(frozen=True)
class ProjectSettings:
    """The settings of a project in the configuration file of pytest."""

    values: Mapping[str, object]
    """The settings by key, as in the file: texts, and in TOML also lists and numbers."""
    folder: Path
    """The folder of the file; paths in the file are relative to it."""

    def get_text(self, key: str, default: str = "") -> str:
        """Return a setting that is a text."""
        return str(self.values.get(key, default))

    def get_words(self, key: str) -> tuple[str, ...]:
        """Return a setting that is a list of words."""
        return self._split(key, str.split)

    def get_lines(self, key: str) -> tuple[str, ...]:
        """Return a setting that is a list of lines, without empty ones."""
        lines = [line.strip() for line in self._split(key, str.splitlines)]
        return tuple(filter(None, lines))

    def get_choice(self, key: str, choices: Sequence[str]) -> str:
        """Return a setting that must be one of several words; by default the first one.

        Raises:
            InvalidFile: the setting is another word.
        """
        value = self.get_text(key, choices[0])
        if value not in choices:
            problem = f"{key} is {value!r} in the settings of pytest"
            raise InvalidFile(f"{problem}; it must be one of {', '.join(choices)}")
        return value

    def _split(self, key: str, split: Callable[[str], list[str]]) -> tuple[str, ...]:
        value = self.values.get(key, ())
        if isinstance(value, str):
            return tuple(split(value))
        if isinstance(value, (list, tuple)):
            return tuple(map(str, value))
        return (str(value),)


def find_settings(folder: Path) -> ProjectSettings:
    """Return the settings that pytest uses in a folder; empty if no file has settings.

    Args:
        folder: the folder to begin with; its parent folders are searched, too.

    Raises:
        InvalidFile: the file cannot be read.
    """
    for place in (folder, *folder.parents):
        for name, section in SECTIONS.items():
            path = place / name
            if not path.is_file():
                continue
            settings = _read_section(path, section)
            if settings is not None:
                return ProjectSettings(settings, place)
    return ProjectSettings({}, folder)


def _read_section(path: Path, section: str) -> Mapping[str, object] | None:
    try:
        if path.suffix == ".toml":
            settings = _read_toml(path, section)
        else:
            settings = _read_ini(path, section)
    except (OSError, ValueError, configparser.Error) as error:
        raise InvalidFile(f"{path}: cannot be read: {error}") from None
    if settings is None and path.name in ALWAYS_CHOSEN:
        return {}
    return settings


def _read_toml(path: Path, section: str) -> Mapping[str, object] | None:
    table: object = tomllib.loads(path.read_text(encoding="utf-8"))
    for name in section.split("."):
        if isinstance(table, dict):
            table = table.get(name)
    if not isinstance(table, dict):
        return None
    # `pyproject.toml` has a table within the section; in `pytest.toml`, it is optional.
    settings = table.get("ini_options", table)
    if isinstance(settings, dict) and settings:
        return settings
    return None


def _read_ini(path: Path, section: str) -> Mapping[str, object] | None:
    # Values may contain `%`, and keys may be repeated or without a value, as pytest permits.
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    text = path.read_text(encoding="utf-8")
    parser.read_string(text, str(path))
    if parser.has_section(section):
        return dict(parser[section])
    return None
