"""Find the models of checks that `llm` does not know, before a run calls any model."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.checks.models import NO_JUDGE, LLMJudgeAssertion, SimilarAssertion
from llm_mock.core.judge_choice import JudgeChoice
from llm_mock.errors import InvalidFile
from llm_mock.suites.schema import TestCase
from llm_mock.support.text import join_alternatives, shorten, shorten_name

ROLES = {
    "judge": "the judge model",
    "embedding": "the embedding model",
    "user": "the simulated user's model",
}
"""The description of a model in messages, by its kind."""
_MISSPELLING = 0.8
"""The lowest similarity, from 0 to 1, at which a name counts as a misspelling of another."""


class AskedModel(NamedTuple):
    """A model that a check or a case calls."""

    kind: str
    """One of `ROLES`."""
    name: str | None
    """The id of the model; None if neither the check nor a setting names one."""
    line: int | None


class UnknownModel(NamedTuple):
    """A model of checks that `llm` does not know."""

    name: str
    kind: str
    line: int | None
    similar: tuple[str, ...]
    """Similar names that `llm` knows."""

    def __str__(self) -> str:
        text = f"llm does not know {ROLES[self.kind]} {shorten(self.name)}."
        if self.similar:
            similar = join_alternatives(map(shorten_name, self.similar))
            return f"{text} Did you mean {similar}?"
        command = "embed-models" if self.kind == "embedding" else "models"
        return f"{text} Run `llm {command}` to list the known models; a plugin may be missing."


def iterate_asked_models(cases: Sequence[TestCase], choice: JudgeChoice) -> Iterator[AskedModel]:
    """Yield the models that cases and their assertions call.

    Args:
        cases: the cases of a suite, expanded.
        choice: the judge settings of the run.
    """
    for case in cases:
        if case.user is not None and case.user.model is not None:
            yield AskedModel("user", case.user.model, case.line)
        # The expansion moves `each_turn` into the turns, except for a simulated user.
        yield from iterate_check_models(case.each_turn, case.line, choice)
        for turn in case.all_turns:
            yield from iterate_check_models(turn.assertions, case.line, choice)


def iterate_check_models(
    checks: Iterable[BaseAssertion], line: int | None, choice: JudgeChoice
) -> Iterator[AskedModel]:
    """Yield the models that checks call.

    Args:
        checks: the checks of a case or a step.
        line: the line of the case or step.
        choice: the judge settings of the run.
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
    """Raise an error for an unknown model or a missing judge, before any model is called.

    Args:
        asked: the models that the run calls.
        label: the name of the file in messages.
        needs_judge: True if there is no default judge.

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
