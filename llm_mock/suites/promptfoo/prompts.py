"""Prompts of promptfoo: templates with an optional system prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.suites.chats import find_history_problem
from llm_mock.suites.promptfoo.source import (
    DATA_SUFFIXES,
    FILE,
    ImportFindings,
    Part,
    find_files,
)
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import DOTTED_NAME
from llm_mock.support.json_types import JSONObject

_TEXT_SUFFIXES = (".txt", ".md", ".j2")
# promptfoo splits text files at this line into several prompts.
_SEPARATOR = "\n---\n"
_CHAT_START = re.compile(r"\s*\[\s*\{\s*\"")
_DUMPED = re.compile(rf"\{{\{{\s*({DOTTED_NAME.pattern})\s*\|\s*dump\s*\}}\}}")
"""A variable that its template writes as JSON, with the quotes."""


class PromptTemplate(NamedTuple):
    """A prompt of a configuration."""

    label: str | None
    template: str
    part: Part
    system: str = ""
    """The system message at the start of a chat."""
    history: tuple[JSONObject, ...] = ()
    """The messages of a chat before the prompt, each with `role` and `content`."""

    @property
    def texts(self) -> list[str]:
        """Return all texts in which variables may be."""
        return [self.system, *(each["content"] for each in self.history), self.template]


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
    elif _CHAT_START.match(text):
        yield from _parse_chat_text(part.document.path, text, label, part, findings)
    else:
        yield PromptTemplate(label, text, part)


def _read_prompts(
    path: Path,
    label: str | None,
    part: Part,
    findings: ImportFindings,
) -> Iterator[PromptTemplate]:
    name = label or path.stem
    try:
        text = yaml_files.read(path)
    except InvalidFile as error:
        findings.report(part, str(error))
        return
    if path.suffix.lower() in DATA_SUFFIXES:
        yield from _parse_chat_text(path, text, name, part, findings)
        return
    templates = text.replace("\r\n", "\n").strip("\n").split(_SEPARATOR)
    for number, template in enumerate(templates, start=1):
        if len(templates) > 1:
            suffix = f" {number}"
        else:
            suffix = ""
        yield PromptTemplate(f"{name}{suffix}", template, part)


def _parse_chat_text(
    path: Path,
    text: str,
    label: str | None,
    part: Part,
    findings: ImportFindings,
) -> Iterator[PromptTemplate]:
    """Yield the prompt of a chat in YAML or JSON, which is YAML, too."""
    quoted = _DUMPED.sub(r'"{{\1}}"', text)
    try:
        document = yaml_files.parse(path, quoted)
    except InvalidFile as error:
        findings.report(part, str(error))
        return
    yield from _parse_chat(document.data, label, part, findings)


def _parse_chat(
    messages: object,
    label: str | None,
    part: Part,
    findings: ImportFindings,
) -> Iterator[PromptTemplate]:
    """Yield the prompt of a chat: its last message, after those before."""
    pairs = _get_messages(messages)
    system = ""
    if pairs and pairs[0][0] in ("system", "developer"):
        system = pairs.pop(0)[1]
    roles = [role for role, _ in pairs]
    texts = [system, *(content for _, content in pairs)]
    is_supported = roles[-1:] == ["user"] and find_history_problem(roles[:-1]) is None
    if not is_supported or not all(isinstance(text, str) for text in texts):
        findings.report(
            part,
            "this chat is not imported: it must be texts, one of the system if at all, then of "
            "the user and of the assistant in turn, the last one of the user",
        )
        return
    history = [{"role": role, "content": content} for role, content in pairs[:-1]]
    yield PromptTemplate(label, texts[-1], part, system, tuple(history))


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
