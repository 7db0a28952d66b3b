"""Load the roles and system prompts that the matrix of a suite names."""

from __future__ import annotations

from llm_mock.errors import LLMMockError
from llm_mock.suites.case_files import CaseFiles
from llm_mock.suites.matrix import Matrix, MatrixPrompt, MatrixRole, SuiteProblem
from llm_mock.suites.role import load_role
from llm_mock.support.text import shorten_message


def load_matrix_files(matrix: Matrix, files: CaseFiles) -> tuple[Matrix, list[SuiteProblem]]:
    """Return the matrix with the content of its files, and the problems with them."""
    problems: list[SuiteProblem] = []
    roles = []
    for position, role in enumerate(matrix.roles):
        try:
            roles.append(_read_role(role, files))
        except LLMMockError as error:
            message = shorten_message(str(error))
            problems.append((("matrix", "roles", position), f"matrix.roles: {message}"))
    prompts = []
    for position, prompt in enumerate(matrix.system_prompts):
        try:
            prompts.append(_read_prompt(prompt, files))
        except LLMMockError as error:
            message = shorten_message(str(error))
            place = ("matrix", "system_prompts", position, "file")
            problems.append((place, f"matrix.system_prompts: {message}"))
    content = {"roles": tuple(roles), "system_prompts": tuple(prompts)}
    return matrix.model_copy(update=content), problems


def _read_role(entry: MatrixRole, files: CaseFiles) -> MatrixRole:
    # A suite may be expanded twice; the role is read once.
    if entry._role is None:
        entry = entry.model_copy()
        entry._role = load_role(files.folder / entry.role)
    return entry


def _read_prompt(entry: MatrixPrompt, files: CaseFiles) -> MatrixPrompt:
    if entry.file is None:
        return entry
    text = files.read_text(entry.file)
    return entry.model_copy(update={"text": text, "file": None})
