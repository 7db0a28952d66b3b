"""Find models that checks ask and that `llm` does not know, before anything is asked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.checks.models import NO_JUDGE, LLMJudgeAssertion, SimilarAssertion
from llm_mock.core.judge_choice import JudgeChoice
from llm_mock.errors import InvalidFile
from llm_mock.suites.schema import TestCase
from llm_mock.support.text import shorten, shorten_name

ROLES = {
    "judge": "which judges",
    "embedding": "which compares meanings",
    "user": "which plays the user",
}
"""The use of a model in messages, by its kind."""
_MISSPELLING = 0.8
"""The similarity of two names, from 0 to 1, from which on one is taken for a misspelling."""


class AskedModel(NamedTuple):
    """A model that a check or a case asks."""

    kind: str
    """One of `ROLES`."""
    name: str | None
    """The id of the model; None if nothing names one."""
    line: int | None


class UnknownModel(NamedTuple):
    """A model of checks that `llm` does not know."""

    name: str
    kind: str
    line: int | None
    similar: tuple[str, ...]
    """Known names that are similar."""

    def __str__(self) -> str:
        text = f"llm knows no {self.kind} model {shorten(self.name)}, {ROLES[self.kind]}."
        if self.similar:
            return f"{text} Did you mean {' or '.join(map(shorten_name, self.similar))}?"
        command = "embed-models" if self.kind == "embedding" else "models"
        return f"{text} `llm {command}` lists those that it knows; a plugin may be missing."


def iterate_asked_models(cases: Sequence[TestCase], choice: JudgeChoice) -> Iterator[AskedModel]:
    """Yield the models that cases and their assertions ask.

    Args:
        cases: the cases of a suite, expanded.
        choice: the judges of the run.
    """
    for case in cases:
        if case.user is not None and case.user.model is not None:
            yield AskedModel("user", case.user.model, case.line)
        # Only a case with a simulated user has these still.
        yield from iterate_check_models(case.each_turn, case.line, choice)
        for turn in case.all_turns:
            yield from iterate_check_models(turn.assertions, case.line, choice)


def iterate_check_models(
    checks: Iterable[BaseAssertion], line: int | None, choice: JudgeChoice
) -> Iterator[AskedModel]:
    """Yield the models that checks ask.

    Args:
        checks: the checks of a case or a step.
        line: its line.
        choice: the judges of the run.
    """
    for check in checks:
        if isinstance(check, LLMJudgeAssertion):
            yield AskedModel("judge", choice.resolve(check.model), line)
        elif isinstance(check, SimilarAssertion):
            yield AskedModel("embedding", check.model, line)


def find_unknown_models(asked: Iterable[AskedModel]) -> Iterator[UnknownModel]:
    """Yield each model that `llm` does not know, once."""
    seen: set[tuple[str, str]] = set()
    for kind, name, line in asked:
        if name is None or (kind, name) in seen:
            continue
        seen.add((kind, name))
        known = _list_known_names(name, is_embedding=kind == "embedding")
        if known is not None:
            similar = difflib.get_close_matches(name, known, n=2, cutoff=_MISSPELLING)
            yield UnknownModel(name, kind, line, tuple(similar))


def check_models(asked: Sequence[AskedModel], label: str, *, needs_judge: bool) -> None:
    """Raise an error if there is no such model, before anything is asked.

    Args:
        asked: the models that are asked.
        label: the name of the file in messages.
        needs_judge: True if nothing judges by default.

    Raises:
        InvalidFile: `llm` does not know a model, or a check has no judge.
    """
    __tracebackhide__ = True
    for model in find_unknown_models(asked):
        raise InvalidFile(f"{_format_place(label, model.line)}: {model}")
    for kind, name, line in asked:
        if needs_judge and kind == "judge" and name is None:
            raise InvalidFile(f"{_format_place(label, line)}: {NO_JUDGE}")


def _format_place(label: str, line: int | None) -> str:
    return label if line is None else f"{label}:{line}"


def _list_known_names(name: str, is_embedding: bool = False) -> Mapping[str, object] | None:
    """Return the names that `llm` knows; None if it knows this one."""
    # Imported here: suites without such assertions do not need it.
    import llm

    try:
        if is_embedding:
            llm.get_embedding_model(name)  # type: ignore[no-untyped-call]
        else:
            llm.get_model(name)
    except llm.UnknownModelError:
        if not is_embedding:
            return llm.get_model_aliases()
        aliases: Mapping[str, object] = llm.get_embedding_model_aliases()
        return aliases
    return None
