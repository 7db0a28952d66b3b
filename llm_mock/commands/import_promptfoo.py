"""Import of promptfoo configurations as a suite and a role."""

from __future__ import annotations

from pathlib import Path

import click

from llm_mock.errors import LLMMockError
from llm_mock.suites.loading import load_suite
from llm_mock.suites.promptfoo.configuration import import_configuration
from llm_mock.support import yaml_files
from llm_mock.support.files import write_atomically
from llm_mock.support.redaction import redact
from llm_mock.support.text import escape_unprintable, format_count, format_path


def import_promptfoo(source: Path, output: Path | None) -> bool:
    """Write the suite and its role, and print a line for each key that is not supported.

    Returns:
        True if everything was converted.

    Args:
        source: the promptfoo configuration.
        output: the suite to write; by default `….suite.yaml` beside `source`.

    Raises:
        LLMMockError: the configuration cannot be read or has no test, or an output exists already.
    """
    suite = output or source.with_suffix(".suite.yaml")
    base_name = suite.name.removesuffix(suite.suffix).removesuffix(".suite")
    role = suite.with_name(f"{base_name}.role.yaml")
    for path in (suite, role):
        if path.exists():
            name = format_path(path)
            raise LLMMockError(
                f"{name} exists already: remove it, or choose another file with --output."
            )
    # Paths in the configuration are relative to its folder.
    if suite.parent.resolve() != source.parent.resolve():
        raise LLMMockError(
            "The suite must be in the folder of the configuration, because it may refer to files "
            "there. Change --output."
        )
    made = import_configuration(source)
    write_atomically(suite, yaml_files.dump(made.suite))
    if made.role is not None:
        write_atomically(role, yaml_files.dump(made.role))
    for line in made.findings:
        click.echo(redact(escape_unprintable(line)))
    # Loading also checks that the suite is valid.
    cases = len(load_suite(suite).cases)
    summary = f"{format_path(suite)}: {format_count(cases, 'case')}"
    if made.findings:
        summary += f", {format_count(len(made.findings), 'problem')} listed above"
    click.echo(summary)
    role_argument = "" if made.role is None else f"{format_path(role)} "
    click.echo(f"Run them: llm-mock test {role_argument}-s {format_path(suite)}")
    return not made.findings
