"""The command `llm-mock`."""

from __future__ import annotations

import click

from llm_mock import __version__


@click.group()
@click.version_option(__version__)
def main() -> None:
    """Test code that calls large language models."""


@main.command()
def misbehaviours() -> None:
    """List what models do wrong, for @pytest.mark.llm_mock_misbehaviour: name and description."""
    from llm_mock.catalogue import CATALOGUE

    width = max(map(len, CATALOGUE))
    for kind in CATALOGUE.values():
        click.echo(f"{kind.name:{width}}  {kind.description}")
