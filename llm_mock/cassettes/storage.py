"""Read and write cassette files."""

from __future__ import annotations

import base64
import glob
import mimetypes
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, overload

from llm_mock.cassettes import schema
from llm_mock.cassettes.recording_command import get_recording_command
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.support import files
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_count, format_path
from llm_mock.support.yaml_files import Document, Inline, InlineFields, dump, parse
from llm_mock.support.yaml_files import read as read_text

MAX_INLINE_SIZE = 4096
"""The maximum size in bytes of an attachment that is stored in the cassette itself."""
MAX_CASSETTE_SIZE = 1_000_000_000
"""The maximum size in bytes of a file that is read."""
HEADER = (
    "# Recorded by pytest-llm-mock. To record it anew: pytest --llm-mock-record=rewrite "
    "(llm-mock test --cassette --record rewrite)\n"
)
VOLATILE_FIELDS = {
    "id",
    "tool_call_id",
    "call_id",
    "request_id",
    "system_fingerprint",
    *("created", "created_at", "completed_at"),
    # The same text may come in other chunks.
    "chunks",
}
"""Fields that may differ between two recordings of the same response."""

# A file that was cut off, or edited by hand, may lack the header.
_CASSETTE_START = re.compile(
    r'^(?:# Recorded by pytest-llm-mock|[{"]*(?:version"?: *\d+, *"?)?calls"?:)', re.MULTILINE
)
_VCR_START = re.compile(r"^interactions:", re.MULTILINE)
# A marker of the start or the end of a YAML document.
_DOCUMENT_MARKER = re.compile(r"^(?:\.\.\.|---)(?=\s|$)", re.MULTILINE)
_FINAL_DOCUMENT_END = re.compile(r"^\.\.\.\s*\Z", re.MULTILINE)
_FIRST_CALL = re.compile(r"^( *)- ", re.MULTILINE)
_NEXT_KEY = re.compile(r"^\w", re.MULTILINE)

GetKey = Callable[[schema.RecordedRequest], str]


class RecordedCalls(Sequence[schema.RecordedCall]):
    """The calls of a cassette, which are parsed when they are accessed.

    As objects, the calls of a large cassette would take a gigabyte of memory, and garbage
    collection would take most of the time.

    Args:
        path: the cassette.
        texts: the YAML of each call, a list with one item.
    """

    def __init__(self, path: Path, texts: Sequence[str] = ()) -> None:
        self._path = path
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, position: int) -> schema.RecordedCall: ...
    @overload
    def __getitem__(self, position: slice) -> RecordedCalls: ...
    def __getitem__(self, position: int | slice) -> schema.RecordedCall | RecordedCalls:
        if isinstance(position, slice):
            return RecordedCalls(self._path, self.texts[position])
        (call,) = parse(self._path, self.texts[position]).data
        return schema.RecordedCall.model_validate(call)


class CassetteContent(NamedTuple):
    """The content of a cassette.

    Attributes:
        calls: the recorded calls.
        keys: the key of each call, by which it is found.
        contents: the contents of received attachments, by hash.
        incomplete: whether the test that recorded the calls failed.
    """

    calls: RecordedCalls
    keys: Sequence[str] = ()
    contents: Mapping[str, bytes] = MappingProxyType({})
    incomplete: bool = False


def read_cassette(path: Path, get_key: GetKey, tolerant: bool = False) -> CassetteContent:
    """Read and validate a cassette.

    Args:
        path: the file.
        get_key: returns the key by which a call is found.
        tolerant: treat a damaged cassette as empty, because it is about to be replaced.

    Raises:
        InvalidFile: it is not a valid cassette; the message names the line.
    """
    try:
        text = read_text(path, MAX_CASSETTE_SIZE)
        _check_end(path, text)
        try:
            return _read_call_by_call(path, text, get_key)
        except (InvalidFile, TypeError, ValueError):
            # An error of pydantic is a ValueError. The lines are right only in the whole file.
            return _read_whole(path, text, get_key)
    except InvalidFile as error:
        # The file of another tool is refused even if cassettes are to be replaced.
        refuse_foreign_file(path)
        if tolerant:
            return CassetteContent(RecordedCalls(path))
        command = get_recording_command("rewrite")
        advice = "Correct the cassette"
        if isinstance(error, _NewerVersion):
            advice = "Upgrade pytest-llm-mock"
        raise InvalidFile(f"{error}\n{advice}, or record it again: {command}") from None


def is_cassette(path: Path) -> bool:
    """Return whether a file begins like a cassette; the rest may be damaged."""
    beginning = _read_beginning(path)
    return _CASSETTE_START.search(beginning) is not None


def refuse_foreign_file(path: Path) -> None:
    """Raise an InvalidFile if a file is not a cassette of this package, but for example of VCR."""
    __tracebackhide__ = True
    beginning = _read_beginning(path)
    if not beginning.strip() or _CASSETTE_START.search(beginning):
        return
    kind = "a cassette of VCR" if _VCR_START.search(beginning) else "another kind of file"
    raise InvalidFile(
        f"{path}:1: is not a cassette of pytest-llm-mock, but {kind}, so it is left unchanged. "
        "Use another cassette for the test: @pytest.mark.llm_mock_cassette('another_name')"
    )


def _read_beginning(path: Path) -> str:
    # Not from pipes and devices, which may block.
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        return file.read(100_000).decode(errors="replace")


def _check_end(path: Path, text: str) -> None:
    """Raise an InvalidFile if the end of the file is missing."""
    has_count = re.search(r"^count: *\d", text, re.MULTILINE)
    # Files of version 1 have no count.
    if has_count or not re.search(r"^version: 2\b", text, re.MULTILINE):
        return
    last_line = len(text.splitlines())
    raise InvalidFile(
        f"{path}:{last_line}: is cut off here: the last line, with the `count` of calls, is missing"
    )


def _read_call_by_call(path: Path, text: str, get_key: GetKey) -> CassetteContent:
    """Read a file in our own layout, with little memory.

    Each call must begin with `- ` on a line of its own, with the same indent.
    """
    text = _FINAL_DOCUMENT_END.sub("", text)
    first_call = _FIRST_CALL.search(text)
    # A marker between calls would not be noticed, because only the text around them is parsed.
    if first_call is None or _DOCUMENT_MARKER.search(text):
        return _read_whole(path, text, get_key)
    start, indent = first_call.start(), first_call[1]
    next_key = _NEXT_KEY.search(text, first_call.end())
    end = next_key.start() if next_key else len(text)
    head = text[:start]
    tail = text[end:]
    next_call = re.compile(rf"^(?={indent}- )", re.MULTILINE)
    # The split begins with an empty text before the first call. The slice has no name, so that
    # its memory is free when the calls are parsed.
    _, *texts = next_call.split(text[start:end])
    document = parse(path, f"{head}{texts[0]}\n{tail}")
    if indent:
        texts = [re.sub(f"^{indent}", "", call, flags=re.MULTILINE) for call in texts]
    return _build_content(document, RecordedCalls(path, texts), get_key)


def _read_whole(path: Path, text: str, get_key: GetKey) -> CassetteContent:
    document = parse(path, text)
    _check_version(document)
    calls = document.as_model(schema.CassetteFile).calls
    texts = [_dump_call(call.to_json()) for call in calls]
    return _build_content(document, RecordedCalls(path, texts), get_key)


def _build_content(document: Document, calls: RecordedCalls, get_key: GetKey) -> CassetteContent:
    """Return the content of a cassette.

    Args:
        document: the file, or the part of it with only the first of its calls.
        calls: all its calls.
        get_key: returns the key by which a call is found.
    """
    _check_version(document)
    file = document.as_model(schema.CassetteFile)
    if file.version > 1 and file.count != len(calls):
        raise document.error(
            f"count is {file.count}, but the file contains {format_count(len(calls), 'call')}. "
            f"If no call was lost, write count: {len(calls)}",
            ["count"],
        )
    keys: list[str] = []
    contents: dict[str, bytes] = {}
    for position, call in enumerate(calls):
        key = get_key(call.request)
        keys.append(key)
        contents.update(_read_attachments(document, position, call))
    return CassetteContent(calls, keys, contents, file.incomplete)


class _NewerVersion(InvalidFile):
    """A cassette of a later version of this package."""


def _check_version(document: Document) -> None:
    data = document.data
    if not isinstance(data, dict):
        raise document.error("is not a cassette: it must have `version` and `calls`")
    version = data.get("version")
    if version is None:
        problem = f"is not a cassette: `version: {schema.VERSION}` is missing"
        raise document.error(problem, ["version"])
    if isinstance(version, bool) or version not in range(1, schema.VERSION + 1):
        error = document.error(
            f"has version {version!r}, but this version of pytest-llm-mock reads versions 1 to "
            f"{schema.VERSION}",
            ["version"],
        )
        if isinstance(version, int) and version > schema.VERSION:
            raise _NewerVersion(str(error))
        raise error


def _read_attachments(
    document: Document, position: int, call: schema.RecordedCall
) -> Iterator[tuple[str, bytes]]:
    """Yield the hash and the content of each received attachment of a call."""
    for number, attachment in enumerate(call.response.attachments):
        digest = attachment.sha256
        if digest:
            keys: list[str | int] = ["calls", position, "response", "attachments", number]
            content = _read_attachment(document, attachment, keys)
            yield digest, content


def _read_attachment(
    document: Document, attachment: schema.RecordedAttachment, keys: list[str | int]
) -> bytes:
    try:
        if attachment.file is None:
            content = base64.b64decode(attachment.content or "", validate=True)
        else:
            # The name alone, so that a cassette cannot make us read files elsewhere.
            name = Path(attachment.file).name
            path = document.path.parent / name
            content = files.read_file(path, MAX_CASSETTE_SIZE)
    except (OSError, ValueError) as error:
        raise document.error(f"the attachment cannot be read: {error}", keys) from None
    if schema.hash_content(content) != attachment.sha256:
        raise document.error("the content of the attachment does not match its sha256", keys)
    if attachment.bytes is not None and attachment.bytes != len(content):
        problem = f"the attachment has {len(content):,} bytes, but `bytes` is {attachment.bytes:,}"
        raise document.error(problem, keys)
    return content


def write_cassette(
    path: Path,
    calls: Iterable[schema.RecordedCall | str],
    contents: Mapping[str, bytes],
    incomplete: bool = False,
) -> None:
    """Write a cassette, or remove it if there are no calls.

    Args:
        path: the file.
        calls: new calls, and the texts of those that are in the file already.
        contents: the contents of the attachments of new calls, by hash.
        incomplete: whether the test that recorded the calls failed.

    Raises:
        LLMMockError: it cannot be written; an existing file is unchanged.
    """
    attachments: dict[str, bytes] = {}
    texts = []
    try:
        for call in calls:
            if isinstance(call, schema.RecordedCall):
                call = _dump_call(_place_attachments(call, path, contents, attachments))
            texts.append(call)
        count = f"count: {len(texts)}\n"
        parts = [_dump_head(incomplete), *texts, count]
        text = "".join(parts).encode()
    except UnicodeEncodeError as error:
        raise _build_write_error(path, error) from None
    try:
        # Another program may have written it since it was read.
        refuse_foreign_file(path)
        # Attachments first: a cassette never names a file that is missing.
        _write_attachments(path.parent, attachments)
        if not texts:
            path.unlink(missing_ok=True)
        elif not path.exists() or path.read_bytes() != text:
            files.write_atomically(path, text)
        _remove_unused_attachments(path, text if texts else b"")
    except (OSError, InvalidFile) as error:
        raise _build_write_error(path, error, {path.name: text, **attachments}) from None


def _write_attachments(folder: Path, attachments: Mapping[str, bytes]) -> None:
    for name, content in attachments.items():
        path = folder / name
        # The name has the hash of the content, so an existing file has the same content.
        if not path.exists():
            files.write_atomically(path, content)


def _remove_unused_attachments(path: Path, text: bytes) -> None:
    """Remove the files of attachments that a cassette no longer names."""
    for file in path.parent.glob(f"{glob.escape(path.stem)}.attachment-*"):
        suffix = file.name[len(path.stem) :]
        # Only names that this package created.
        match = re.match(r"\.attachment-[0-9a-f]{16}(?=\.)", suffix)
        if match and match[0].encode() not in text:
            file.unlink()


def check_writable(path: Path) -> None:
    """Raise an LLMMockError if a cassette cannot be written, before a real call is made."""
    __tracebackhide__ = True
    refuse_foreign_file(path)
    try:
        files.check_writable(path)
    except OSError as error:
        raise LLMMockError(
            f"No real call was made, because the cassette {format_path(path)} cannot be written: "
            f"{_get_reason(error)}. "
            f"Make the folder {format_path(path.parent)} writable, and record again."
        ) from None


def _build_write_error(
    path: Path, error: Exception, contents: Mapping[str, bytes] | None = None
) -> LLMMockError:
    """Return the error for a cassette that cannot be written, after saving its content elsewhere.

    Args:
        path: the cassette.
        error: the cause.
        contents: the contents of the files to save in a temporary folder, by name. The calls may
            have cost money.
    """
    message = (
        f"The cassette {format_path(path)} could not be written: {_get_reason(error)}. "
        "An existing file is unchanged."
    )
    if not contents:
        return LLMMockError(message)
    try:
        folder = Path(tempfile.mkdtemp(prefix="recorded-cassette-"))
        for name, content in contents.items():
            files.write_atomically(folder / name, content, durable=False)
    except OSError as second_error:
        return LLMMockError(
            f"{message}\nThe recorded calls are lost: {tempfile.gettempdir()} cannot be written "
            f"either: {_get_reason(second_error)}."
        )
    return LLMMockError(
        f"{message}\nThe recorded calls are in {folder}: move them to {format_path(path.parent)}, "
        "or record them again."
    )


def _get_reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _dump_head(incomplete: bool) -> str:
    head: JSONObject = {"version": schema.VERSION}
    if incomplete:
        head["incomplete"] = True
    return f"{HEADER}{dump(head)}calls:\n"


def _dump_call(call: JSONObject) -> str:
    """Return the YAML of a call, as the only item of a list."""
    response = call["response"]
    for event in response.get("events", []):
        if "chunks" in event:
            event["chunks"] = Inline(event["chunks"])
    is_streamed = response.get("http", {}).get("streamed")
    body = response.get("json")
    if response.get("http", {}).get("api") == "endpoint":
        response["json"] = _put_vectors_in_line(body)
    if is_streamed and isinstance(body, list):
        # One server-sent event a line.
        response["json"] = [
            InlineFields(event) if isinstance(event, dict) else event for event in body
        ]
    return dump([call])


def _put_vectors_in_line(value: object) -> object:
    """Return a JSON value with its lists of numbers in one line each, such as embeddings."""
    if isinstance(value, dict):
        return {name: _put_vectors_in_line(item) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    if value and all(type(item) in (int, float) for item in value):
        return Inline(value)
    return [_put_vectors_in_line(item) for item in value]


def _place_attachments(
    call: schema.RecordedCall,
    path: Path,
    contents: Mapping[str, bytes],
    files_beside: dict[str, bytes],
) -> JSONObject:
    """Return a call as JSON, and add its large attachments to `files_beside`."""
    json_call = call.to_json()
    for attachment in json_call["response"].get("attachments", []):
        digest = attachment.get("sha256")
        if not digest:
            continue
        # If a cassette is imported, the content was read from another file.
        attachment.pop("file", None)
        attachment.pop("content", None)
        content = contents[digest]
        if len(content) <= MAX_INLINE_SIZE:
            attachment["content"] = base64.b64encode(content).decode()
        else:
            suffix = mimetypes.guess_extension(attachment.get("type") or "") or ".bin"
            name = f"{path.stem}.attachment-{digest[:16]}{suffix}"
            attachment["file"] = name
            files_beside[name] = content
    return json_call


def has_same_response(old: schema.RecordedCall, new: schema.RecordedCall) -> bool:
    """Return whether the responses of two calls are equal apart from volatile fields."""
    old_response = _remove_volatile(old.response.to_json())
    new_response = _remove_volatile(new.response.to_json())
    return bool(old_response == new_response)


def _remove_volatile(value: object) -> Any:
    """Return a JSON value without the fields that differ between recordings."""
    if isinstance(value, list):
        return [_remove_volatile(item) for item in value]
    if not isinstance(value, dict):
        return value
    stable = {}
    for name, item in value.items():
        if name not in VOLATILE_FIELDS:
            # The arguments of a tool may have fields of the same names, which count.
            stable[name] = item if name == "arguments" else _remove_volatile(item)
    return stable
