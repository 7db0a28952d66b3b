"""Paths of cassettes, which are in a folder `cassettes` next to the test."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

MAX_CHARACTERS = 120
"""The maximum number of characters of a test's name that a file name contains."""
# A file name has at most 255 bytes on common file systems, and `.llm.yaml`, the hash and the
# names of attachments are added.
MAX_BYTES = 200
MAX_CUT_BYTES = 180


def get_cassette_path(file: Path, test: str) -> Path:
    """Return the path of the cassette of a test: `cassettes/<file>/<test>.llm.yaml`.

    Args:
        file: the module or suite with the test.
        test: the name of the test in that file, as in pytest's id of the test.
    """
    return file.parent / "cassettes" / file.stem / f"{format_file_name(test)}.llm.yaml"


def get_run_path(path: Path, number: int) -> Path:
    """Return the path of the cassette for one run of a test that is run several times.

    Args:
        path: the cassette of the first run.
        number: the number of the run, from 1.
    """
    if number == 1:
        return path
    suffix = re.search(r"(?:\.llm)?\.ya?ml\Z", path.name)
    assert suffix is not None
    name = path.name[: suffix.start()]
    return path.with_name(f"{name}.run-{number}{suffix[0]}")


def format_file_name(test: str) -> str:
    """Return a file name for a test; a hash makes it unique if it differs from the test's name."""
    full_name = test.replace("::", ".")
    name = re.sub(r"[^\w.,=+\[\]-]+", "-", full_name)
    number_of_bytes = len(name.encode())
    is_short = len(name) <= MAX_CHARACTERS and number_of_bytes <= MAX_BYTES
    if name == full_name and is_short:
        return name
    name = name[:MAX_CHARACTERS]
    cut_bytes = name.encode()[:MAX_CUT_BYTES]
    # The cut may be inside a character of several bytes, hence `ignore`.
    cut_name = cut_bytes.decode(errors="ignore")
    digest = hashlib.sha256(full_name.encode()).hexdigest()
    return f"{cut_name}-{digest[:8]}"
