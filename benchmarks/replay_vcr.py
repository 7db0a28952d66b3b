"""Import cassettes of VCR, send each recorded request again, and compare the replayed answers.

Usage: python benchmarks/replay_vcr.py FOLDER [--show N] [--length N]

Every file `*.yaml` below the folder is imported into a temporary one. Then each imported request is
sent again as plain HTTP, and status and body are compared with what was recorded: JSON by value,
a stream event by event, other content by its bytes. Nothing leaves the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx

from llm_mock import LLMMock
from llm_mock.boundaries.http import attach as http_attach
from llm_mock.boundaries.http import event_stream
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.vcr import Interaction, read_interactions
from llm_mock.cassettes import Cassette
from llm_mock.commands.import_cassette import import_cassette
from llm_mock.core.context import activate
from llm_mock.errors import LLMMockError

REDACTED = "[redacted"
IMPORTED = re.compile(r":(\d+): imported ")
SKIPPED = re.compile(r": skipped .*?: (.*)")
DROPPED_HEADERS = {"host", "content-length", "accept-encoding", "connection", "content-encoding"}


def main() -> None:
    """Measure the cassettes of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", type=int, default=20, help="differences to show")
    parser.add_argument("--length", type=int, default=600, help="characters of a difference")
    arguments = parser.parse_args()
    http_attach.attach()
    counts: Counter[str] = Counter()
    shown = 0
    for source in sorted(arguments.folder.rglob("*.yaml")):
        for outcome, detail in measure(source):
            counts[outcome] += 1
            if detail and shown < arguments.show:
                shown += 1
                print(f"{source.name}: {outcome}: {detail[: arguments.length]}")
    for outcome, count in counts.most_common():
        print(f"{count:6,}  {outcome}")


def measure(source: Path) -> Iterator[tuple[str, str]]:
    """Yield an outcome for each interaction of a cassette, with details of a difference."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "cassette.yaml"
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                import_cassette(source, target, ())
        except LLMMockError as error:
            yield "file without a call", ""
            if "no call that can be imported" not in str(error):
                yield "file that cannot be read", str(error)
        except Exception as error:
            yield "crash of the import", repr(error)
        for reason in SKIPPED.findall(output.getvalue()):
            yield f"skipped: {reason[:90]}", ""
        if not target.exists():
            return
        lines = {int(line) for line in IMPORTED.findall(output.getvalue())}
        imported = [each for each in read_interactions(source) if each.line in lines]
        yield from replay_all(target, imported)


def replay_all(target: Path, interactions: list[Interaction]) -> Iterator[tuple[str, str]]:
    """Yield an outcome for each imported interaction."""
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(target)
    previous = activate(mock)
    previous_hosts = http_settings.hosts
    # The headers that are left may be too few to tell that a request is one to a provider.
    http_settings.hosts = tuple({interaction.sent.host for interaction in interactions})
    try:
        for interaction in interactions:
            yield replay(interaction)
    finally:
        activate(previous)
        http_settings.hosts = previous_hosts


def replay(interaction: Interaction) -> tuple[str, str]:
    """Send a request again, and compare the answer."""
    sent = interaction.sent
    headers = {"content-type": "application/json"}
    for name, value in sent.headers.items():
        if name not in DROPPED_HEADERS:
            headers[name] = value
    try:
        response = httpx.request(sent.method, sent.url, content=sent.body, headers=headers)
    except Exception as error:
        return "exception", repr(error)
    media_type = dict(interaction.headers).get("content-type", "")
    recorded = parse(decode(interaction), media_type)
    replayed = parse(response.content, response.headers.get("content-type", ""))
    if response.status_code != interaction.status:
        return "another status", f"{interaction.status} → {response.status_code}: {replayed}"
    if recorded == replayed:
        return "equal", ""
    if REDACTED in str(replayed):
        return "equal but for redacted secrets", ""
    return "another body", f"\n  recorded {recorded}\n  replayed {replayed}"


def decode(interaction: Interaction) -> bytes:
    """Return the body of a response without its content encoding."""
    encoding = dict(interaction.headers).get("content-encoding", "identity")
    if encoding not in ("gzip", "deflate"):
        return interaction.body
    return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(interaction.body)


def parse(content: bytes, media_type: str) -> object:
    """Return a body in a form that can be compared."""
    if media_type.startswith(event_stream.MEDIA_TYPE):
        messages, _ = event_stream.decode_messages(content)
        return [str(message) for message in messages]
    text = content.decode(errors="replace")
    if media_type.startswith("text/event-stream"):
        lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
        return [parse_json(line) for line in lines]
    return parse_json(text)


def parse_json(text: str) -> object:
    """Return a JSON value, or the text itself."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


if __name__ == "__main__":
    main()
