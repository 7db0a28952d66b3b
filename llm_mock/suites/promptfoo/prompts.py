"""Prompts of promptfoo: templates with an optional system prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.suites.promptfoo.source import (
    DATA_SUFFIXES,
    FILE,
    ImportFindings,
    Part,
    find_files,
    load_part,
)
from llm_mock.support import yaml_files

_TEXT_SUFFIXES = (".txt", ".md", ".j2")
# promptfoo splits text files at this line into several prompts.
_SEPARATOR = "\n---\n"


class PromptTemplate(NamedTuple):
    """A prompt of a configuration."""

    label: str | None
    template: str
    part: Part
    system: str = ""
    """The system message at the start of a chat."""


def parse_prompts(prompts: Part, findings: ImportFindings) -> list[PromptTemplate]:
    """Return all prompts of a configuration; by default the variable `prompt` is the prompt."""
    if prompts.data is None:
        return [PromptTemplate(None, "{{prompt}}", prompts)]
    templates: list[PromptTemplate] = []
    for item in prompts.items():
        templates += _parse_prompt(item, findings)
    return templates


def _parse_prompt(part: Part, findings: ImportFindings) -> Iterator[PromptTemplate]:
    """Yield the prompts of an entry: several if it names a file or a glob."""
    label = None
    if isinstance(part.data, dict):
        findings.report_keys(part, ("id", "label", "raw"), " of a prompt")
        label = part.at("label").data
        if part.data.get("raw") is None:
            key = "id"
        else:
            key = "raw"
        part = part.at(key)
    text = part.data
    suffixes = (*_TEXT_SUFFIXES, *DATA_SUFFIXES)
    if not isinstance(text, str):
        findings.report(part, "this prompt is not imported: it must be text")
    elif text.startswith(FILE) or text.endswith(suffixes):
        for path in find_files(part, findings, suffixes):
            yield from _read_prompts(path, label, part, findings)
    elif text.lstrip().startswith("[{"):
        # A chat may be written as JSON, which is YAML, too.
        document = yaml_files.parse(part.document.path, text)
        yield from _parse_chat(document.data, label, part, findings)
    else:
        yield PromptTemplate(label, text, part)


def _read_prompts(
    path: Path,
    label: str | None,
    part: Part,
    findings: ImportFindings,
) -> Iterator[PromptTemplate]:
    name = label or path.stem
    if path.suffix.lower() in DATA_SUFFIXES:
        content = load_part(path, part, findings)
        if content is not None:
            yield from _parse_chat(content.data, name, part, findings)
        return
    try:
        text = yaml_files.read(path)
    except InvalidFile as error:
        findings.report(part, str(error))
        return
    templates = text.replace("\r\n", "\n").strip("\n").split(_SEPARATOR)
    for number, template in enumerate(templates, start=1):
        if len(templates) > 1:
            suffix = f" {number}"
        else:
            suffix = ""
        yield PromptTemplate(f"{name}{suffix}", template, part)


def _parse_chat(
    messages: object,
    label: str | None,
    part: Part,
    findings: ImportFindings,
) -> Iterator[PromptTemplate]:
    """Yield the prompt of a chat: one user message, after an optional system message."""
    pairs = _get_messages(messages)
    system = ""
    if pairs and pairs[0][0] in ("system", "developer"):
        system = pairs.pop(0)[1]
    texts = [system, *(content for _, content in pairs)]
    is_supported = [role for role, _ in pairs] == ["user"]
    if not is_supported or not all(isinstance(text, str) for text in texts):
        findings.report(
            part,
            "this chat is not imported: only one text message of the user, "
            "after one of the system, is supported",
        )
        return
    yield PromptTemplate(label, texts[1], part, system)


def _get_messages(messages: object) -> list[tuple[Any, Any]]:
    """Return role and content of each message; empty if these are not messages."""
    if not isinstance(messages, list):
        return []
    pairs = []
    for message in messages:
        if not isinstance(message, dict):
            return []
        pairs.append((message.get("role"), message.get("content")))
    return pairs
