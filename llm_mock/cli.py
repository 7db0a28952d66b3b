"""The command `llm-mock`."""

from __future__ import annotations

from pathlib import Path

import click

from llm_mock import __version__
from llm_mock.commands.parts import tell
from llm_mock.commands.run import run
from llm_mock.commands.test import test


@click.group()
@click.version_option(__version__)
def main() -> None:
    """Test code that calls large language models."""


@main.command()
@click.argument("kind", type=click.Choice(["suite", "spec"]))
def schema(kind: str) -> None:
    """Print the JSON Schema of suite files, or of plain-language tests, for editors."""
    import json

    from llm_mock.commands.validate import format_of

    click.echo(json.dumps(format_of(kind), indent=2, ensure_ascii=False))


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
def validate(files: tuple[Path, ...]) -> None:
    """Check suites, roles and plain-language tests without running them.

    Exit codes: 0, all are right. 1, one is wrong.
    """
    from llm_mock.commands.validate import validated
    from llm_mock.errors import LLMMockError

    wrong = False
    for path in files:
        try:
            click.echo(f"{path}: {validated(path)}")
        except LLMMockError as error:
            wrong = True
            tell("Error", str(error))
    raise SystemExit(int(wrong))


@main.command()
def misbehaviours() -> None:
    """List what models do wrong, for @pytest.mark.llm_mock_misbehaviour: name and description."""
    from llm_mock.behaviour.catalogue import CATALOGUE

    width = max(map(len, CATALOGUE))
    for kind in CATALOGUE.values():
        click.echo(f"{kind.name:{width}}  {kind.description}")


main.add_command(test)
main.add_command(run)
