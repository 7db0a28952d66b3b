"""Where cassettes lie: in the folder `cassettes` beside what they belong to."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

LONGEST_NAME = 120


def path_beside(file: Path, test: str) -> Path:
    """The cassette of a test: `cassettes/<file>/<test>.llm.yaml` in the folder of the file.

    Args:
        file: where the test stands: a module of tests, or a suite.
        test: its name in that file, as pytest has it in the test's id.
    """
    return file.parent / "cassettes" / file.stem / f"{file_name(test)}.llm.yaml"


def path_of_run(path: Path, number: int) -> Path:
    """The cassette of the first, second, … run of a test whose cassette is `path`: each run has its own."""
    if number == 1:
        return path
    name, suffix = re.fullmatch(r"(.*?)((?:\.llm)?\.ya?ml)", path.name).groups()  # type: ignore[union-attr]
    return path.with_name(f"{name}.run-{number}{suffix}")


def file_name(test: str) -> str:
    """The name of a test as that of a file; one that had to be changed for this ends in a hash, to be unique."""
    full = ".".join(test.split("::"))
    name = re.sub(r"[^\w.,=+\[\]-]+", "-", full)
    if name == full and len(name) <= LONGEST_NAME and len(name.encode()) <= 200:  # files have 255 bytes at most
        return name
    cut = name[:LONGEST_NAME].encode()[:180].decode(errors="ignore")
    return f"{cut}-{hashlib.sha256(full.encode()).hexdigest()[:8]}"
