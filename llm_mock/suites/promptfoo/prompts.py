"""Prompts of promptfoo's: each with its template, and what its role says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.suites.promptfoo.source import FILE, TABLES, Findings, Part, files_of, loaded
from llm_mock.support import yaml_files

_TEXTS = (".txt", ".md", ".j2")
_SEPARATOR = "\n---\n"


class Prompt(NamedTuple):
    """One prompt."""

    label: str | None
    template: str
    part: Part
    system: str = ""
    """What a chat says first as the system."""


def prompts_of(prompts: Part, findings: Findings) -> list[Prompt]:
    """All prompts; where none is given the variable `prompt` is."""
    if prompts.data is None:
        return [Prompt(None, "{{prompt}}", prompts)]
    return [prompt for each in prompts.items() for prompt in _prompts(each, findings)]


def _prompts(part: Part, findings: Findings) -> Iterator[Prompt]:
    label = None
    if isinstance(part.data, dict):
        findings.lost_keys(part, ("id", "label", "raw"), " of a prompt")
        label = part.at("label").data
        part = part.at("raw") if part.data.get("raw") is not None else part.at("id")
    text = part.data
    if not isinstance(text, str):
        findings.lost(part, "this prompt is not taken over: it is no text")
    elif text.startswith(FILE) or text.endswith((*_TEXTS, *TABLES)):
        for path in files_of(part, findings, (*_TEXTS, *TABLES)):
            yield from _in_file(path, label, part, findings)
    elif text.lstrip().startswith("[{"):
        yield from _chat(yaml_files.parse(part.document.path, text).data, label, part, findings)
    else:
        yield Prompt(label, text, part)


def _in_file(path: Path, label: str | None, part: Part, findings: Findings) -> Iterator[Prompt]:
    if path.suffix.lower() in TABLES:
        if (found := loaded(path, part, findings)) is not None:
            yield from _chat(found.data, label or path.stem, part, findings)
        return
    try:
        templates = yaml_files.read(path).replace("\r\n", "\n").strip("\n").split(_SEPARATOR)
    except InvalidFile as error:
        findings.lost(part, str(error))
        return
    for number, template in enumerate(templates, start=1):
        yield Prompt((label or path.stem) + (f" {number}" if len(templates) > 1 else ""), template, part)


def _chat(messages: Any, label: str | None, part: Part, findings: Findings) -> Iterator[Prompt]:
    """A chat of what the user says, after what the system says perhaps."""
    known = isinstance(messages, list) and all(isinstance(each, dict) for each in messages)
    said = [(each.get("role"), each.get("content")) for each in messages] if known else []
    system = [said.pop(0)[1]] if said and said[0][0] in ("system", "developer") else [""]
    if len(said) != 1 or said[0][0] != "user" or not all(isinstance(text, str) for text in (*system, said[0][1])):
        findings.lost(part, "this chat is not taken over: only one of the system and the user, both in text, can be")
        return
    yield Prompt(label, said[0][1], part, system[0])
