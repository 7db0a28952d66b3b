"""Import of files from other tools, which are told apart by their content."""

from __future__ import annotations

import re
from pathlib import Path

from llm_mock.boundaries.http.vcr import MAX_BYTES
from llm_mock.support.yaml_files import read

# The key of a VCR cassette: at the start of a line in YAML, anywhere in JSON.
_VCR_KEY = re.compile(
    r"""^interactions\s*:|\A\s*\{.*"interactions"\s*:""", re.MULTILINE | re.DOTALL
)


def import_file(source: Path, output: Path | None, hosts: tuple[str, ...]) -> bool:
    """Convert a VCR cassette to a cassette, or any other file to a suite.

    Args:
        source: the file.
        output: the file to write; by default beside `source`.
        hosts: further hosts of providers, for a cassette.

    Returns:
        True if everything was converted.

    Raises:
        LLMMockError: the file cannot be converted.
    """
    # Each converter imports packages that the other does not need.
    if _VCR_KEY.search(read(source, MAX_BYTES)):
        from llm_mock.commands.import_cassette import import_cassette

        return import_cassette(source, output, hosts)
    from llm_mock.commands.import_promptfoo import import_promptfoo

    return import_promptfoo(source, output)
