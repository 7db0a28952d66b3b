"""The roles of suites in the settings of pytest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from llm_mock.errors import InvalidFile

INI = "llm_mock_suites"


def find_roles(lines: Iterable[str], folder: Path) -> dict[Path, Path | None]:
    """Return the role of each suite that the lines of ini `llm_mock_suites` name.

    Args:
        lines: each `GLOB = ROLE`, or `GLOB` for suites with a target, whose role is None.
        folder: the folder of the ini file, to which paths are relative.

    Raises:
        InvalidFile: a line matches no file, or its role does not exist.
    """
    role_of: dict[Path, Path | None] = {}
    for line in lines:
        files, role = _parse_line(line, folder)
        role_of.update(dict.fromkeys(files, role))
    return role_of


def _parse_line(line: str, folder: Path) -> tuple[Sequence[Path], Path | None]:
    """Return the suites and the role of a line `GLOB = ROLE` or `GLOB`.

    The role is None for suites with a target.
    """
    # The last `=`, because a glob may contain others.
    has_role = "=" in line
    pattern, _, role = line.rpartition("=") if has_role else (line, "", "")
    pattern, role = pattern.strip(), role.strip()
    if not pattern or (has_role and not role):
        raise InvalidFile(
            f"{INI}: {line!r} must be GLOB = ROLE, such as `suites/*.yaml = role.yaml`, or only "
            "GLOB for suites with a target"
        )
    role_path = (folder / role).resolve() if role else None
    files = _find_suites(pattern, folder, role_path)
    if role_path is not None and not role_path.is_file():
        raise InvalidFile(f"{INI}: the role {role_path} does not exist")
    return files, role_path


def _find_suites(pattern: str, folder: Path, role: Path | None) -> list[Path]:
    """Return the files that match a glob, without the role."""
    try:
        paths = [path.resolve() for path in sorted(folder.glob(pattern))]
    # pathlib raises these for an absolute and for an empty pattern.
    except (NotImplementedError, ValueError) as error:
        raise InvalidFile(f"{INI}: invalid glob {pattern!r}: {error}") from None
    files = [path for path in paths if path.is_file() and path != role]
    if not files:
        advice = ""
        if role is None:
            advice = "; write GLOB = ROLE, or only GLOB for suites with a target"
        raise InvalidFile(f"{INI}: no file in {folder} matches {pattern!r}{advice}")
    return files
