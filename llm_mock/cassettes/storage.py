"""Reading and writing cassette files."""

from __future__ import annotations

import base64
import glob
import mimetypes
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pydantic

from llm_mock.cassettes import schema
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.support.files import write_atomically
from llm_mock.support.text import shown_path
from llm_mock.support.yaml_files import Document, Inline, dump, parse
from llm_mock.support.yaml_files import read as read_text

LARGEST_INLINE = 4096
"""The size in bytes up to which an attachment that came back is kept in the file itself."""
HEADER = "# Recorded by pytest-llm-mock. To record it anew: pytest --llm-mock-record=rewrite\n"
VOLATILE = {
    *("id", "tool_call_id", "call_id", "request_id", "system_fingerprint"),
    *("created", "created_at", "completed_at"),
}
"""Fields that differ whenever the same answer is given again."""


class Content(NamedTuple):
    """What a cassette holds: its calls, and the content of their attachments by hash."""

    calls: Sequence[schema.Call] = ()
    contents: Mapping[str, bytes] = MappingProxyType({})
    incomplete: bool = False


def read(path: Path, tolerant: bool = False) -> Content:
    """Read a cassette; the `InvalidFile` for one that is none names the line.

    Args:
        tolerant: take a file that is no cassette as empty; it is about to be replaced.
    """
    try:
        text = read_text(path)
        try:
            return _read_call_by_call(path, text)
        except (InvalidFile, pydantic.ValidationError):
            return _content(parse(path, text))  # as a whole, which says the line of what is wrong
    except InvalidFile as error:
        if tolerant:
            return Content()
        raise InvalidFile(
            f"{error}\nCorrect the cassette, or record it anew: pytest --llm-mock-record rewrite"
        ) from None


def _read_call_by_call(path: Path, text: str) -> Content:
    """The content of a file that is laid out as `write` does it: each call begins with `- ` at the start of a line.

    Of a large file as a whole there are so many objects at once that the garbage collector takes most of the time.
    """
    if re.search(r"^(?:\.\.\.|---)(?=\s|$)", text, re.MULTILINE):  # between calls it would be lost
        return _content(parse(path, text))
    head, *pieces = re.split(r"^(?=- )", text, flags=re.MULTILINE)
    first = parse(path, head + "".join(pieces[:1]))
    more = [schema.Call.model_validate(call) for piece in pieces[1:] for call in parse(path, piece).data]
    return _content(first, more)


def _content(document: Document, more: Sequence[schema.Call] = ()) -> Content:
    """What a document holds, with further calls."""
    _check_version(document)
    file = document.as_model(schema.CassetteFile)
    calls = [*file.calls, *more]
    return Content(calls, _contents(document, calls), file.incomplete)


def _check_version(document: Document) -> None:
    data = document.data
    if not isinstance(data, dict):
        raise document.error("is no cassette: it should hold `version` and `calls`")
    version, known = data.get("version"), schema.VERSION
    if version is None:
        raise document.error(f"is no cassette: `version: {known}` is missing", ["version"])
    if version != known or isinstance(version, bool):
        problem = f"has version {version!r}, and this version of pytest-llm-mock reads version {known}"
        raise document.error(problem, ["version"])


def _contents(document: Document, calls: Sequence[schema.Call]) -> dict[str, bytes]:
    contents = {}
    for position, call in enumerate(calls):
        for number, attachment in enumerate(call.response.attachments):
            if attachment.sha256:
                where: list[str | int] = ["calls", position, "response", "attachments", number]
                contents[attachment.sha256] = _attached(document, attachment, where)
    return contents


def _attached(document: Document, attachment: schema.Attachment, where: list[str | int]) -> bytes:
    try:
        if attachment.file is not None:
            content = (document.path.parent / Path(attachment.file).name).read_bytes()
        else:
            content = base64.b64decode(attachment.content or "", validate=True)
    except (OSError, ValueError) as error:
        raise document.error(f"the attachment cannot be read: {error}", where) from None
    if schema.digest(content) != attachment.sha256:
        raise document.error("the content of the attachment is not that of its sha256", where)
    return content


def write(path: Path, calls: Sequence[schema.Call], contents: Mapping[str, bytes], incomplete: bool = False) -> None:
    """Write a cassette, or remove it when there are no calls; `contents` are those of their attachments, by hash.

    Raises:
        LLMMockError: that is not possible; an old file is as it was.
    """
    try:
        files: dict[str, bytes] = {}
        plain = [_plain(call, path, contents, files) for call in calls]
        for name, content in files.items():
            if not (path.parent / name).exists():
                write_atomically(path.parent / name, content)
        if calls:
            begun = {"incomplete": True} if incomplete else {}
            text = HEADER + dump({"version": schema.VERSION, **begun, "calls": plain})
            if not path.exists() or path.read_bytes() != text.encode():
                write_atomically(path, text)
        else:
            path.unlink(missing_ok=True)
        for stale in path.parent.glob(f"{glob.escape(path.stem)}.attachment-*"):
            if stale.name not in files:
                stale.unlink()
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LLMMockError(
            f"The cassette {shown_path(path)} could not be written: {reason}. What was there is as it was."
        ) from None


def _plain(call: schema.Call, path: Path, contents: Mapping[str, bytes], files: dict[str, bytes]) -> dict[str, Any]:
    """A call as it stands in the file; what of it belongs beside the file is added to `files`."""
    plain = call.plain()
    for event in plain["response"].get("events", []):
        if "chunks" in event:
            event["chunks"] = Inline(event["chunks"])
    for attachment in plain["response"].get("attachments", []):
        if digest := attachment.get("sha256"):
            attachment.pop("file", None)
            attachment.pop("content", None)
            if len(contents[digest]) <= LARGEST_INLINE:
                attachment["content"] = base64.b64encode(contents[digest]).decode()
            else:
                suffix = mimetypes.guess_extension(attachment.get("type") or "") or ".bin"
                attachment["file"] = f"{path.stem}.attachment-{digest[:16]}{suffix}"
                files[attachment["file"]] = contents[digest]
    return plain


def unless_volatile(old: schema.Call, new: schema.Call) -> schema.Call:
    """The new recording of a call, or the old one where they differ only in what differs every time."""
    same = _stable(old.response.plain()) == _stable(new.response.plain())
    return old if same else new


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in VOLATILE and name != "chunks"}
        return {name: item if name == "arguments" else _stable(item) for name, item in kept.items()}
    return [_stable(item) for item in value] if isinstance(value, list) else value
