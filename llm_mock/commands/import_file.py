"""Takes over files of other tools; what a file is, its content says."""

from __future__ import annotations

import re
from pathlib import Path

from llm_mock.boundaries.http.vcr import MAX_BYTES
from llm_mock.support.yaml_files import read

_OF_VCR = re.compile(r"""^interactions\s*:|\A\s*\{.*"interactions"\s*:""", re.MULTILINE | re.DOTALL)


def import_any(source: Path, output: Path | None, hosts: tuple[str, ...]) -> None:
    """Make a cassette of one of VCR's, and a suite of any other file.

    Args:
        source: the file.
        output: what to write; by default beside it.
        hosts: further hosts of providers, for a cassette.

    Raises:
        LLMMockError: nothing could be made of it.
    """
    if _OF_VCR.search(read(source, MAX_BYTES)):
        from llm_mock.commands.import_cassette import import_cassette

        import_cassette(source, output, hosts)
    else:
        from llm_mock.commands.import_promptfoo import import_promptfoo

        import_promptfoo(source, output)
