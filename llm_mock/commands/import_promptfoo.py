"""Makes a suite of a configuration of promptfoo's, and the role that it asks."""

from __future__ import annotations

from pathlib import Path

import click

from llm_mock.errors import LLMMockError
from llm_mock.suites.loading import load_suite
from llm_mock.suites.promptfoo.configuration import import_configuration
from llm_mock.support import yaml_files
from llm_mock.support.files import write_atomically
from llm_mock.support.redaction import redacted
from llm_mock.support.text import count, escaped, shown_path


def import_promptfoo(source: Path, output: Path | None) -> None:
    """Write the suite and its role, and say line by line what has no counterpart.

    Args:
        source: the configuration.
        output: the suite to write; by default `….suite.yaml`.

    Raises:
        LLMMockError: it cannot be read, nothing is left of it, or what is to be written is there.
    """
    suite = output or source.with_suffix(".suite.yaml")
    role = suite.with_name(f"{suite.name.removesuffix(suite.suffix).removesuffix('.suite')}.role.yaml")
    for path in (suite, role):
        if path.exists():
            raise LLMMockError(f"{shown_path(path)} exists already: remove it, or name another file by --output.")
    if suite.parent.resolve() != source.parent.resolve():
        raise LLMMockError("Write the suite beside the configuration, as it may name files there: --output.")
    made = import_configuration(source)
    write_atomically(suite, yaml_files.dump(made.suite))
    write_atomically(role, yaml_files.dump(made.role))
    for line in made.findings:
        click.echo(redacted(escaped(line)))
    cases = len(load_suite(suite).cases)
    lost = f", {count(len(made.findings), 'line')} above without the same" if made.findings else ""
    click.echo(f"{shown_path(suite)}: {count(cases, 'case')}{lost}")
    click.echo(f"Run them: llm-mock test {shown_path(role)} -s {shown_path(suite)}")
