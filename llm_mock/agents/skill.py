"""Read skills: instructions and documents in a folder."""

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

# For the whole module: an invalid skill is reported on the line that reads it.
__tracebackhide__ = True
SKILL_FILE = "SKILL.md"
REFERENCES = "references"
MAX_REFERENCES = 1_000
FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Skill:
    """Instructions that are put before the system prompt, in the format of agent skills."""

    name: str
    content: str = field(repr=False)
    """The text of the file without its front matter."""
    description: str = ""
    references: Mapping[str, str | None] = field(default_factory=dict, repr=False, hash=False)
    """The documents that the model can list and read with two tools: texts by path.

    The text of a binary file is None."""

    @classmethod
    def from_path(cls, path: str | Path) -> Skill:
        """Read a skill.

        Args:
            path: the folder of the skill, or its `SKILL.md`. The front matter may set `name` (by
                default the name of the folder) and `description`. The files in the subfolder
                `references` are the references.

        Raises:
            InvalidFile: the file cannot be read, its front matter is invalid YAML (the message
                names the line), or a reference is a link that leads out of the skill's folder.
        """
        file = Path(path)
        if file.is_dir():
            file = file / SKILL_FILE
        # With a line break at the end, the last line may be a fence.
        text = yaml_files.read(file).replace("\r\n", "\n") + "\n"
        front_matter = _FrontMatter()
        if FENCE.match(text):
            end = FENCE.search(text, text.index("\n"))
            if end is None:
                raise InvalidFile(
                    f"{file}:1: the front matter begins with ---, but no line with --- ends it"
                )
            document = yaml_files.parse(file, text[: end.start()])
            if document.data is not None:
                front_matter = document.as_model(_FrontMatter)
            text = text[end.end() :]
        folder = file.absolute().parent
        return cls(
            front_matter.name or folder.name,
            text.strip(),
            front_matter.description,
            _read_references(folder),
        )

    @property
    def parts(self) -> dict[str, str]:
        """The configuration as strings by name, to compare agents."""
        parts = {"skill": f"{self.name}: {self.content}"}
        if self.references:
            # Documents of the same names may differ.
            digest = hashlib.sha256(repr(self.references).encode()).hexdigest()[:8]
            parts["references"] = f"{', '.join(self.references)} ({digest})"
        return parts

    llm_mock_id = property(attrgetter("name"), doc="The id of a pytest parameter.")


class _FrontMatter(pydantic.BaseModel):
    """The keys of a skill's front matter that are read."""

    name: str | None = None
    description: str = ""


def _read_references(skill: Path) -> dict[str, str | None]:
    """Read the files in the folder of references, without hidden ones."""
    folder = skill / REFERENCES
    references: dict[str, str | None] = {}
    for path in _iterate_files(folder):
        # A link could give the model files that are no part of the skill.
        if not path.resolve().is_relative_to(skill.resolve()):
            raise InvalidFile(
                f"{path}: the link leads out of the skill's folder; "
                "replace it with a copy of the file"
            )
        if len(references) == MAX_REFERENCES:
            raise InvalidFile(f"{folder}: the folder has more than {MAX_REFERENCES:,} files")
        references[path.relative_to(folder).as_posix()] = _read_text(path)
    return references


def _iterate_files(folder: Path) -> Iterator[Path]:
    # os.walk does not follow links to folders.
    for parent, folders, files in os.walk(folder):
        # Changing the list in place makes os.walk skip the others.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(parent, name)


def _read_text(path: Path) -> str | None:
    try:
        return read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise InvalidFile(f"{path}: the file cannot be read: {error.strerror}") from None
