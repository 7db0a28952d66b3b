"""Makes a cassette of one of VCR's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import click

from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.interception import identify_provider
from llm_mock.boundaries.http.providers import provider_of
from llm_mock.boundaries.http.recording import WireRecording
from llm_mock.boundaries.http.routing import find_protocol
from llm_mock.boundaries.http.vcr import Interaction, read_interactions
from llm_mock.cassettes import Cassette
from llm_mock.core.context import activate
from llm_mock.core.mock import Mock
from llm_mock.core.protocols import PassthroughCall
from llm_mock.errors import LLMMockError
from llm_mock.support.redaction import redacted
from llm_mock.support.text import count, escaped, shorten, shorten_name, shown_path


def import_cassette(source: Path, output: Path | None, hosts: tuple[str, ...]) -> None:
    """Import the calls of models, and say line by line what became of each interaction.

    Args:
        source: the cassette of VCR.
        output: the cassette to write; by default beside it, as a test that has both finds it.
        hosts: further hosts that are providers.

    Raises:
        LLMMockError: one cannot be read, the other is there or cannot be written, or nothing is imported.
    """
    target = output or source.with_suffix(".llm.yaml")
    if target.exists():
        raise LLMMockError(f"{shown_path(target)} exists already: remove it, or name another file by --output.")
    found = read_interactions(source)
    mock = Mock(ModelBehaviour())
    cassette = mock.cassette = Cassette(target, "all")
    imported = 0
    previous = activate(mock)
    try:
        for interaction in found:
            try:
                what = f"imported  {_take(interaction, mock, hosts)}"
                imported += 1
            except _Skipped as reason:
                asked = f"{interaction.sent.method} {interaction.sent.host}{interaction.sent.path}"
                what = f"skipped   {shorten_name(asked)}: {reason}"
            click.echo(escaped(redacted(f"{shown_path(source)}:{interaction.line}: {what}")))
    finally:
        activate(previous)
    if not imported:
        raise LLMMockError(f"{shown_path(source)} holds no call that can be imported, so nothing was written.")
    cassette.save(passed=True)
    skipped = len(found) - imported
    click.echo(f"{shown_path(target)}: {count(imported, 'call')}" + (f", {skipped} skipped" if skipped else ""))


class _Skipped(Exception):
    """Why an interaction is not imported."""


def _take(interaction: Interaction, mock: Mock, hosts: tuple[str, ...]) -> str:
    """Record one interaction; what was asked."""
    sent = interaction.sent
    provider = provider_of(sent.host, interaction.port, hosts) or identify_provider(sent)
    if provider is None:
        raise _Skipped("this host is no provider that is known; --host names it as one")
    protocol = find_protocol(sent, provider)
    if protocol is None:
        raise _Skipped("this asks no model for an answer that a cassette records")
    try:
        request = protocol.parse_request(sent)
    except WireError as error:
        raise _Skipped(f"its request is not one of this API: {error}") from None
    kind = dict(interaction.headers).get("content-type", "")
    if interaction.status < 400 and not kind.startswith("text/event-stream") and not _is_json(interaction):
        raise _Skipped("its response is no JSON, and no stream of events")
    problems = len(mock.problems)
    recording = WireRecording(cast("PassthroughCall", mock.answer(request)), request, sent)
    recording.begin(interaction.status, interaction.headers)
    recording.take(interaction.body)
    recording.end()
    if len(mock.problems) > problems:
        raise _Skipped(mock.problems[-1])
    return f"{request.model_id}  {shorten(request.prompt, 80)}"


def _is_json(interaction: Interaction) -> bool:
    if any(name == "content-encoding" for name, _ in interaction.headers):
        return True  # which is read later
    try:
        json.loads(interaction.body)
    except ValueError:
        return False
    return True
