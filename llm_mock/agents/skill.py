"""What a skill is: instructions and documents, from a folder."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

import pydantic

from llm_mock.errors import InvalidFile
from llm_mock.support import yaml_files
from llm_mock.support.files import read_file

SKILL_FILE = "SKILL.md"
REFERENCES = "references"
MOST_REFERENCES = 1_000
FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Skill:
    """Knowledge that goes before the system prompt, from a file in the format of agent skills."""

    name: str
    content: str = field(repr=False)
    """The text of the file, without its front matter."""
    description: str = ""
    references: Mapping[str, str | None] = field(default_factory=dict, repr=False, hash=False)
    """Documents that the model may list and read, by two tools: texts by the paths of their files, None for one that is
    no text."""

    @classmethod
    def from_path(cls, path: str | Path) -> Skill:
        """Read a skill.

        Args:
            path: the folder of the skill, or its `SKILL.md`. Front matter may give `name` (by default the name of the
                folder) and `description`. The files in its folder `references` are its references.

        Raises:
            InvalidFile: it cannot be read, its front matter is not valid YAML (the message names the line), or one of
                its references is a link that leads out of its folder.
        """
        file = Path(path)
        file = file / SKILL_FILE if file.is_dir() else file
        text = yaml_files.read(file).replace("\r\n", "\n") + "\n"
        front = _FrontMatter()
        if FENCE.match(text):
            end = FENCE.search(text, text.index("\n"))
            if end is None:
                raise InvalidFile(f"{file}:1: the front matter begins with ---, but no line with --- ends it")
            document = yaml_files.parse(file, text[: end.start()])
            front = document.as_model(_FrontMatter) if document.data is not None else front
            text = text[end.end() :]
        references = _references(file.absolute().parent)
        return cls(front.name or file.absolute().parent.name, text.strip(), front.description, references)

    @property
    def parts(self) -> dict[str, str]:
        """What tells the skill from others in a comparison."""
        parts = {"skill": f"{self.name}: {self.content}"}
        if self.references:
            digest = hashlib.sha256(repr(self.references).encode(errors="replace")).hexdigest()[:8]
            parts["references"] = f"{', '.join(self.references)} ({digest})"
        return parts

    llm_mock_id = property(attrgetter("name"), doc="How a parameter of a pytest test is named.")


class _FrontMatter(pydantic.BaseModel):
    """What of a skill's front matter is read."""

    name: str | None = None
    description: str = ""


def _references(skill: Path) -> dict[str, str | None]:
    """The files in the folder of references of a skill, as they are now; those whose names begin with a dot are not."""
    found: dict[str, str | None] = {}
    for path in _files_in(skill / REFERENCES):
        if not path.resolve().is_relative_to(skill.resolve()):
            raise InvalidFile(f"{path}: is a link that leads out of the skill's folder; put the file there")
        if len(found) == MOST_REFERENCES:
            raise InvalidFile(f"{skill / REFERENCES}: has more than {MOST_REFERENCES:,} files")
        found[path.relative_to(skill / REFERENCES).as_posix()] = _text_of(path)
    return found


def _files_in(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):  # which does not go into linked folders
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(files) if not name.startswith("."))


def _text_of(path: Path) -> str | None:
    try:
        return read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror}") from None
