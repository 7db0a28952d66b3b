"""Import of cassettes that VCR or pytest-recording made."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import cast

import click

from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.http import event_stream
from llm_mock.boundaries.http.endpoint_recording import (
    EndpointRecording,
    create_endpoint_request,
)
from llm_mock.boundaries.http.interception import identify_provider
from llm_mock.boundaries.http.providers.hosts import find_provider_of_host
from llm_mock.boundaries.http.recording import JSON_LINES, ZLIB_ENCODINGS, WireRecording
from llm_mock.boundaries.http.routing import find_protocol
from llm_mock.boundaries.http.vcr import Interaction, read_interactions
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.cassettes import Cassette
from llm_mock.core.context import activate
from llm_mock.core.mock import Mock
from llm_mock.core.protocols import PassthroughCall
from llm_mock.errors import LLMMockError
from llm_mock.support.redaction import redact
from llm_mock.support.text import (
    escape_unprintable,
    format_count,
    format_path,
    shorten,
    shorten_name,
)

PROMPT_LENGTH = 80
"""Characters of a prompt that are shown."""


def import_cassette(source: Path, output: Path | None, hosts: tuple[str, ...]) -> bool:
    """Import the model calls of a VCR cassette, and print a line for each interaction.

    Returns:
        True if no interaction was skipped.

    Args:
        source: the VCR cassette.
        output: the cassette to write; by default beside `source`, where its test finds it.
        hosts: further hosts of providers.

    Raises:
        LLMMockError: `source` cannot be read, `output` exists already or cannot be written, or
            there is nothing to import.
    """
    target = output or source.with_suffix(".llm.yaml")
    if target.exists():
        path = format_path(target)
        problem = f"{path} exists already: remove it, or choose another file with --output."
        raise LLMMockError(problem)
    found = read_interactions(source)
    mock = Mock(ModelBehaviour())
    cassette = mock.cassette = Cassette(target, "all")
    imported = 0
    # Reading a request looks up the settings of the active mock.
    previous = activate(mock)
    try:
        for interaction in found:
            try:
                outcome = f"imported  {_import_interaction(interaction, mock, hosts)}"
                imported += 1
            except _SkippedError as reason:
                outcome = f"skipped   {_format_request(interaction)}: {reason}"
            line = f"{format_path(source)}:{interaction.line}: {outcome}"
            click.echo(escape_unprintable(redact(line)))
    finally:
        activate(previous)
    if not imported:
        path = format_path(source)
        raise LLMMockError(f"{path} contains no importable calls, so nothing was written.")
    cassette.save(passed=True)
    skipped = len(found) - imported
    summary = f"{format_path(target)}: {format_count(imported, 'call')}"
    click.echo(f"{summary}, {skipped} skipped" if skipped else summary)
    return not skipped


class _SkippedError(Exception):
    """An interaction that is not imported; the message says why."""


def _format_request(interaction: Interaction) -> str:
    request = interaction.sent
    return shorten_name(f"{request.method} {request.host}{request.path}")


def _import_interaction(interaction: Interaction, mock: Mock, hosts: tuple[str, ...]) -> str:
    """Record one interaction, and return its model and prompt for display.

    Raises:
        _SkippedError: it is not a call to a model, or it is not complete.
    """
    sent = interaction.sent
    provider = find_provider_of_host(sent.host, interaction.port, hosts) or identify_provider(sent)
    if provider is None:
        raise _SkippedError("this host is not a known provider; if it is one, pass --host HOST")
    protocol = find_protocol(sent.method, sent.path, provider)
    if protocol is None:
        return _import_endpoint(interaction, provider, mock)
    try:
        request = protocol.parse_request(sent, mock)
    except WireError:
        # The provider answered it: it is replayed as it came.
        return _import_endpoint(interaction, provider, mock)
    # Errors of a provider may be of any type, such as HTML from a proxy.
    succeeded = interaction.status < 400
    if succeeded and not _is_stream(interaction) and not _is_json(interaction):
        raise _SkippedError("its response is neither JSON nor a stream of events")
    problem_count = len(mock.problems)
    # The cassette is empty and in mode `all`, so every answer is a call to record.
    call = cast("PassthroughCall", mock.answer(request))
    recording = WireRecording(call, request, sent, mock)
    _record_response(recording, interaction)
    if len(mock.problems) > problem_count:
        raise _SkippedError(mock.problems[-1])
    return f"{request.model_id}  {shorten(request.prompt, PROMPT_LENGTH)}"


def _import_endpoint(interaction: Interaction, provider: str, mock: Mock) -> str:
    """Record an interaction that asks no model for text; return its request for display.

    Raises:
        _SkippedError: its response cannot be recorded.
    """
    sent = interaction.sent
    problem_count = len(mock.problems)
    request = create_endpoint_request(sent, provider)
    record = mock.record_request(request)
    call = cast("PassthroughCall", cast("Cassette", mock.cassette).answer(mock, record, request))
    recording = EndpointRecording(call, request, sent, mock)
    _record_response(recording, interaction)
    if len(mock.problems) > problem_count:
        raise _SkippedError(mock.problems[-1])
    return _format_request(interaction)


def _record_response(recording: WireRecording, interaction: Interaction) -> None:
    recording.begin(interaction.status, interaction.headers)
    recording.take(interaction.body)
    recording.end()


def _is_stream(interaction: Interaction) -> bool:
    content_type = dict(interaction.headers).get("content-type", "")
    stream_types = ("text/event-stream", event_stream.MEDIA_TYPE, JSON_LINES)
    return content_type.startswith(stream_types)


def _is_json(interaction: Interaction) -> bool:
    body = interaction.body
    encoding = dict(interaction.headers).get("content-encoding", "identity").strip().lower()
    # The recording reports a body that it cannot decode.
    if encoding in ZLIB_ENCODINGS:
        try:
            body = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body)
        except zlib.error:
            return True
    elif encoding != "identity":
        return True
    try:
        json.loads(body)
    except ValueError:
        return False
    return True
