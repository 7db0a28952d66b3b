"""Prompts of promptfoo: templates with an optional system prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from llm_mock.checks.node import SUFFIXES
from llm_mock.errors import InvalidFile
from llm_mock.suites.chats import CHAT_FORM, HistoryMessage, parse_chat
from llm_mock.suites.prompt_functions import validate_prompt_function
from llm_mock.suites.promptfoo.source import (
    DATA_SUFFIXES,
    FILE,
    ImportFindings,
    Part,
    find_files,
)
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import DOTTED_NAME

_TEXT_SUFFIXES = (".txt", ".md", ".j2")
# promptfoo splits text files at this line into several prompts.
_SEPARATOR = "\n---\n"
_CHAT_START = re.compile(r"\s*\[\s*\{\s*\"")
_FUNCTION = re.compile(rf"(?:{FILE})?\S+(?:\.py|{'|'.join(map(re.escape, SUFFIXES))})(?::\S*)?")
"""A file of code, and perhaps the name of a function in it."""
_DUMPED = re.compile(rf"\{{\{{\s*({DOTTED_NAME.pattern})\s*\|\s*dump\s*\}}\}}")
"""A variable that its template writes as JSON, with the quotes."""


class PromptTemplate(NamedTuple):
    """A prompt of a configuration."""

    label: str | None
    template: str
    part: Part
    system: str = ""
    """The system message at the start of a chat."""
    history: tuple[HistoryMessage, ...] = ()
    """The messages of a chat before the prompt."""
    function: str | None = None
    """The function that writes the prompt, in place of the template."""

    @property
    def texts(self) -> list[str]:
        """Return all texts in which variables may be."""
        return [self.system, *(each.content for each in self.history), self.template]


def parse_prompts(prompts: Part, findings: ImportFindings) -> list[PromptTemplate]:
    """Return all prompts of a configuration; by default the variable `prompt` is the prompt."""
    if prompts.data is None:
        return [PromptTemplate(None, "{{prompt}}", prompts)]
    templates: list[PromptTemplate] = []
    for item in _list_prompts(prompts):
        templates += _parse_prompt(item, findings)
    return templates


def _list_prompts(prompts: Part) -> Iterator[Part]:
    """Yield the entries of a list, or of a mapping of prompts to their labels."""
    if not isinstance(prompts.data, dict) or {"id", "raw"} & {*prompts.names}:
        yield from prompts.items()
        return
    for name in prompts.names:
        entry = {"id": name, "label": prompts.data[name]}
        yield Part(entry, prompts.document, (*prompts.place, name))


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
    elif _FUNCTION.fullmatch(text):
        yield from _parse_function(text.removeprefix(FILE), label, part, findings)
    elif text.startswith(FILE) or text.endswith(suffixes):
        for path in find_files(part, findings, suffixes):
            yield from _read_prompts(path, label, part, findings)
    elif _CHAT_START.match(text):
        yield from _parse_chat_text(part.document.path, text, label, part, findings)
    else:
        yield PromptTemplate(label, text, part)


def _parse_function(
    reference: str,
    label: str | None,
    part: Part,
    findings: ImportFindings,
) -> Iterator[PromptTemplate]:
    """Yield the prompt that a function of a file writes."""
    file, _, name = reference.partition(":")
    try:
        validate_prompt_function(reference)
    except ValueError as error:
        findings.report(part, f"{part.data} is not imported: {error}")
        return
    if not (part.document.path.parent / file).is_file():
        findings.report(part, f"{part.data} is not imported: there is no such file")
        return
    if label is None:
        label = Path(file).stem
        if name:
            label += f":{name}"
    yield PromptTemplate(label, "", part, function=reference)


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
    chat = parse_chat(messages)
    if chat is None:
        findings.report(part, f"this chat is not imported: {CHAT_FORM}")
        return
    yield PromptTemplate(label, chat.prompt, part, chat.system or "", chat.history)
