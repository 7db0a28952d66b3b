"""Reading and writing cassette files."""

from __future__ import annotations

import base64
import glob
import mimetypes
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, overload

from llm_mock.cassettes import schema
from llm_mock.cassettes.record_modes import recording_command
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.support import files
from llm_mock.support.text import shown_path
from llm_mock.support.yaml_files import Document, Inline, InlineFields, dump, parse
from llm_mock.support.yaml_files import read as read_text

LARGEST_INLINE = 4096
"""The size in bytes up to which an attachment that came back is kept in the file itself."""
LARGEST_CASSETTE = 1_000_000_000
"""How many bytes a cassette may have."""
HEADER = (
    "# Recorded by pytest-llm-mock. To record it anew: pytest --llm-mock-record=rewrite "
    "(llm-mock test --cassette --record rewrite)\n"
)
VOLATILE = {
    *("id", "tool_call_id", "call_id", "request_id", "system_fingerprint"),
    *("created", "created_at", "completed_at"),
}
"""Fields that differ whenever the same answer is given again."""


_OURS = re.compile(r'^(?:# Recorded by pytest-llm-mock|[{"]*(?:version"?: *\d+, *"?)?calls"?:)', re.MULTILINE)

Key = Callable[[schema.Request], str]


class Calls(Sequence[schema.Call]):
    """Calls by their texts, each beginning with `- `; each is made of its text when it is asked for.

    As objects those of a large cassette take a gigabyte, and collecting garbage takes most of the time.
    """

    def __init__(self, path: Path, texts: Sequence[str] = ()) -> None:
        self._path, self.texts = path, texts

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, position: int) -> schema.Call: ...
    @overload
    def __getitem__(self, position: slice) -> Calls: ...
    def __getitem__(self, position: int | slice) -> schema.Call | Calls:
        if isinstance(position, slice):
            return Calls(self._path, self.texts[position])
        (call,) = parse(self._path, self.texts[position]).data
        return schema.Call.model_validate(call)


class Content(NamedTuple):
    """What a cassette holds: its calls, the key by which each is found, and their attachments' content by hash."""

    calls: Calls
    keys: Sequence[str] = ()
    contents: Mapping[str, bytes] = MappingProxyType({})
    incomplete: bool = False


def read(path: Path, key: Key, tolerant: bool = False) -> Content:
    """Read a cassette; the `InvalidFile` for one that is none names the line.

    Args:
        key: by what a call is found.
        tolerant: take a damaged cassette as empty; it is about to be replaced.
    """
    try:
        text = read_text(path, LARGEST_CASSETTE)
        _check_end(path, text)
        try:
            return _read_call_by_call(path, text, key)
        except (InvalidFile, TypeError, ValueError):  # an error of pydantic is a ValueError
            return _read_as_a_whole(path, text, key)  # which says the line of what is wrong
    except InvalidFile as error:
        refuse_foreign(path)
        if tolerant:
            return Content(Calls(path))
        raise InvalidFile(f"{error}\nCorrect the cassette, or record it anew: {recording_command('rewrite')}") from None


def is_cassette(path: Path) -> bool:
    """Whether a file is a cassette of ours, whole or damaged, by how it begins."""
    return bool(_OURS.search(_beginning(path)))


def refuse_foreign(path: Path) -> None:
    """Raise an InvalidFile for a file that is not ours, but, for example, a cassette of VCR."""
    __tracebackhide__ = True
    beginning = _beginning(path)
    if beginning.strip() and not _OURS.search(beginning):
        what = "a cassette of VCR" if re.search(r"^interactions:", beginning, re.MULTILINE) else "another file"
        raise InvalidFile(
            f"{path}:1: is no cassette of pytest-llm-mock, but {what}, and stays as it is. "
            "Give the test a cassette of its own: @pytest.mark.llm_mock_cassette('another_name')"
        )


def _beginning(path: Path) -> str:
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        return file.read(100_000).decode(errors="replace")


def _check_end(path: Path, text: str) -> None:
    """Refuse a file of which the end is missing."""
    if re.search(r"^version: 2\b", text, re.MULTILINE) and not re.search(r"^count: *\d", text, re.MULTILINE):
        last = len(text.splitlines())
        raise InvalidFile(
            f"{path}:{last}: is cut off here: it does not end with the line that says its `count` of calls"
        )


def _read_call_by_call(path: Path, text: str, key: Key) -> Content:
    """The content of a file in which each call begins with `- ` on a line of its own, all equally far to the right."""
    text = re.sub(r"^\.\.\.\s*\Z", "", text, flags=re.MULTILINE)
    first = re.search(r"^( *)- ", text, re.MULTILINE)
    if first is None or re.search(r"^(?:\.\.\.|---)(?=\s|$)", text, re.MULTILINE):  # between calls it would be lost
        return _read_as_a_whole(path, text, key)
    after = re.compile(r"^\w", re.MULTILINE).search(text, first.end())
    start, indent, end = first.start(), first[1], after.start() if after else len(text)
    texts = re.split(rf"^(?={indent}- )", text[start:end], flags=re.MULTILINE)[1:]
    document = parse(path, f"{text[:start]}{texts[0]}\n{text[end:]}")
    if indent:
        texts = [re.sub(f"^{indent}", "", each, flags=re.MULTILINE) for each in texts]
    return _content(document, Calls(path, texts), key)


def _read_as_a_whole(path: Path, text: str, key: Key) -> Content:
    document = parse(path, text)
    _check_version(document)
    calls = document.as_model(schema.CassetteFile).calls
    return _content(document, Calls(path, [_text(call.plain()) for call in calls]), key)


def _content(document: Document, calls: Calls, key: Key) -> Content:
    """The content of a cassette, by a document that may hold only the first of its calls."""
    _check_version(document)
    file = document.as_model(schema.CassetteFile)
    if file.version > 1 and file.count != len(calls):
        raise document.error(
            f"says that there are {file.count} calls, and there are {len(calls)}: if none was lost, write {len(calls)}",
            ["count"],
        )
    keys: list[str] = []
    contents: dict[str, bytes] = {}
    for position, call in enumerate(calls):
        keys.append(key(call.request))
        contents.update(_contents(document, position, call))
    return Content(calls, keys, contents, file.incomplete)


def _check_version(document: Document) -> None:
    data = document.data
    if not isinstance(data, dict):
        raise document.error("is no cassette: it should hold `version` and `calls`")
    version, known = data.get("version"), schema.VERSION
    if version is None:
        raise document.error(f"is no cassette: `version: {known}` is missing", ["version"])
    if isinstance(version, bool) or version not in range(1, known + 1):
        problem = f"has version {version!r}, and this version of pytest-llm-mock reads versions 1 to {known}"
        raise document.error(problem, ["version"])


def _contents(document: Document, position: int, call: schema.Call) -> Iterator[tuple[str, bytes]]:
    for number, attachment in enumerate(call.response.attachments):
        if attachment.sha256:
            where: list[str | int] = ["calls", position, "response", "attachments", number]
            yield attachment.sha256, _attached(document, attachment, where)


def _attached(document: Document, attachment: schema.Attachment, where: list[str | int]) -> bytes:
    try:
        if attachment.file is not None:
            content = files.read_file(document.path.parent / Path(attachment.file).name, LARGEST_CASSETTE)
        else:
            content = base64.b64decode(attachment.content or "", validate=True)
    except (OSError, ValueError) as error:
        raise document.error(f"the attachment cannot be read: {error}", where) from None
    if schema.digest(content) != attachment.sha256:
        raise document.error("the content of the attachment is not that of its sha256", where)
    if attachment.bytes is not None and attachment.bytes != len(content):
        problem = f"the attachment has {len(content):,} bytes, and `bytes` says {attachment.bytes:,}"
        raise document.error(problem, where)
    return content


def write(
    path: Path, calls: Iterable[schema.Call | str], contents: Mapping[str, bytes], incomplete: bool = False
) -> None:
    """Write a cassette, or remove it when there are no calls.

    Args:
        calls: each new, or as its text stood in the file.
        contents: those of the attachments of new calls, by hash.

    Raises:
        LLMMockError: that is not possible; an old file is as it was.
    """
    beside: dict[str, bytes] = {}
    try:
        texts = [call if isinstance(call, str) else _text(_plain(call, path, contents, beside)) for call in calls]
    except UnicodeEncodeError as error:
        raise _not_written(path, error) from None
    text = "".join(chain([_head(incomplete)], texts, [f"count: {len(texts)}\n"])).encode()
    try:
        refuse_foreign(path)  # it may have come while the test ran
        for name, content in beside.items():
            if not (path.parent / name).exists():
                files.write_atomically(path.parent / name, content)
        if not texts:
            path.unlink(missing_ok=True)
        elif not path.exists() or path.read_bytes() != text:
            files.write_atomically(path, text)
        for found in path.parent.glob(f"{glob.escape(path.stem)}.attachment-*"):
            digest = re.match(r"\.attachment-[0-9a-f]{16}(?=\.)", found.name[len(path.stem) :])
            if digest and not (texts and digest[0].encode() in text):
                found.unlink()
    except (OSError, InvalidFile) as error:
        raise _not_written(path, error, {path.name: text, **beside}) from None


def check_writable(path: Path) -> None:
    """Raise an LLMMockError before a real call is made whose answer could not be written."""
    __tracebackhide__ = True
    refuse_foreign(path)
    try:
        files.check_writable(path)
    except OSError as error:
        raise LLMMockError(
            f"No real call was made, because the cassette {shown_path(path)} cannot be written: {_reason(error)}. "
            f"Make {shown_path(path.parent)} a folder that can be written, and record again."
        ) from None


def _not_written(path: Path, error: Exception, contents: Mapping[str, bytes] | None = None) -> LLMMockError:
    """The error for a cassette that could not be written; `contents` are kept among the temporary files."""
    kept = ""
    try:
        if contents:
            folder = Path(tempfile.mkdtemp(prefix="recorded-cassette-"))
            for name, content in contents.items():
                files.write_atomically(folder / name, content, durable=False)
            kept = f"\nWhat was recorded is in {folder}: move it to {shown_path(path.parent)}, or record it again."
    except OSError as second:
        kept = f"\nWhat was recorded is lost: {tempfile.gettempdir()} cannot be written either: {_reason(second)}."
    return LLMMockError(
        f"The cassette {shown_path(path)} could not be written: {_reason(error)}. What was there is as it was.{kept}"
    )


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _head(incomplete: bool) -> str:
    return HEADER + dump({"version": schema.VERSION, **({"incomplete": True} if incomplete else {})}) + "calls:\n"


def _text(call: dict[str, Any]) -> str:
    """A call as it stands in the file."""
    for event in call["response"].get("events", []):
        if "chunks" in event:
            event["chunks"] = Inline(event["chunks"])
    if call["response"].get("http", {}).get("streamed") and isinstance(call["response"].get("json"), list):
        call["response"]["json"] = [InlineFields(e) if isinstance(e, dict) else e for e in call["response"]["json"]]
    return dump([call])


def _plain(call: schema.Call, path: Path, contents: Mapping[str, bytes], files: dict[str, bytes]) -> dict[str, Any]:
    """A call as JSON values; what of it belongs beside the file is added to `files`."""
    plain = call.plain()
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


def is_same_answer(old: schema.Call, new: schema.Call) -> bool:
    """Whether two recordings of a call differ at most in what differs every time."""
    return bool(_stable(old.response.plain()) == _stable(new.response.plain()))


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in VOLATILE and name != "chunks"}
        return {name: item if name == "arguments" else _stable(item) for name, item in kept.items()}
    return [_stable(item) for item in value] if isinstance(value, list) else value
