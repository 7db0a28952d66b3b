"""The files that the matrix of a suite names: roles and system prompts."""

from __future__ import annotations

from llm_mock.errors import LLMMockError
from llm_mock.suites.case_files import CaseFiles
from llm_mock.suites.matrix import Matrix, MatrixPrompt, MatrixRole, Problem
from llm_mock.suites.role import load_role
from llm_mock.support.text import shorten_name


def with_files(matrix: Matrix, files: CaseFiles) -> tuple[Matrix, list[Problem]]:
    """The matrix with what stands in its files, and what is wrong with them: where they are named, and what."""
    problems: list[Problem] = []
    roles, prompts = [], []
    for position, role in enumerate(matrix.roles):
        try:
            roles.append(_read_role(role, files))
        except LLMMockError as error:
            problems.append((("matrix", "roles", position), f"matrix.roles: {shorten_name(str(error), 500)}"))
    for position, prompt in enumerate(matrix.system_prompts):
        try:
            prompts.append(_read_prompt(prompt, files))
        except LLMMockError as error:
            place = ("matrix", "system_prompts", position, "file")
            problems.append((place, f"matrix.system_prompts: {shorten_name(str(error), 500)}"))
    return matrix.model_copy(update={"roles": tuple(roles), "system_prompts": tuple(prompts)}), problems


def _read_role(entry: MatrixRole, files: CaseFiles) -> MatrixRole:
    if entry._role is None:
        entry = entry.model_copy()
        entry._role = load_role(files.folder / entry.role)
    return entry


def _read_prompt(entry: MatrixPrompt, files: CaseFiles) -> MatrixPrompt:
    if entry.file is None:
        return entry
    return entry.model_copy(update={"text": files.read(entry.file), "file": None})
