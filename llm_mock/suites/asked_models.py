"""Find models that assertions ask and that `llm` does not know, before anything is asked."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.suites.schema import (
    Assertion,
    LLMJudgeAssertion,
    SimilarAssertion,
    TestCase,
)
from llm_mock.support.text import shorten, shorten_name

ROLES = {
    "judge": "which judges",
    "embedding": "which compares meanings",
    "user": "which plays the user",
}
"""The use of a model in messages, by its kind."""
_MISSPELLING = 0.8
"""The similarity of two names, from 0 to 1, from which on one is taken for a misspelling."""


class UnknownModel(NamedTuple):
    """A model of assertions that `llm` does not know."""

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


def find_unknown_models(
    cases: Sequence[TestCase], only_judge: str | None = None
) -> Iterator[UnknownModel]:
    """Yield each model that an assertion of cases asks and that `llm` does not know.

    Args:
        cases: the cases of a suite, expanded.
        only_judge: the judge that overrides those of the suite.
    """
    seen: set[tuple[str, str]] = set()
    for case in cases:
        for kind, name in _iterate_models(case, only_judge):
            if (kind, name) in seen:
                continue
            seen.add((kind, name))
            known = _list_known_names(name, is_embedding=kind == "embedding")
            if known is not None:
                similar = difflib.get_close_matches(name, known, n=2, cutoff=_MISSPELLING)
                yield UnknownModel(name, kind, case.line, tuple(similar))


def find_unknown_judge(name: str) -> UnknownModel | None:
    """Return the judge of a project if `llm` does not know it."""
    known = _list_known_names(name)
    if known is None:
        return None
    similar = difflib.get_close_matches(name, known, n=2, cutoff=_MISSPELLING)
    return UnknownModel(name, "judge", None, tuple(similar))


def check_models(
    cases: Sequence[TestCase], label: str, only_judge: str | None, default_judge: str | None
) -> None:
    """Raise an error if an assertion asks a model that there is not, before the target is asked.

    Args:
        cases: the cases of a suite, expanded.
        label: the name of the suite in messages.
        only_judge: the judge that overrides those of the suite.
        default_judge: the judge of assertions that name none; None if there is none.

    Raises:
        InvalidFile: `llm` does not know a model, or an assertion has no judge.
    """
    __tracebackhide__ = True
    for model in find_unknown_models(cases, only_judge):
        place = f"{label}:{model.line}" if model.line else label
        raise InvalidFile(f"{place}: {model}")
    if only_judge or default_judge:
        return
    for case in cases:
        for assertion in _iterate_assertions(case):
            if isinstance(assertion, LLMJudgeAssertion) and assertion.model is None:
                place = f"{label}:{case.line}" if case.line else label
                advice = "name one in the assertion, model: …, or in the defaults, judge: …"
                raise InvalidFile(f"{place}: No model judges: {advice}")


def _iterate_models(case: TestCase, only_judge: str | None) -> Iterator[tuple[str, str]]:
    if case.user is not None and case.user.model is not None:
        yield "user", case.user.model
    for assertion in _iterate_assertions(case):
        if isinstance(assertion, LLMJudgeAssertion):
            name = only_judge or assertion.model
            kind = "judge"
        elif isinstance(assertion, SimilarAssertion):
            name = assertion.model
            kind = "embedding"
        else:
            continue
        if name is not None:
            yield kind, name


def _iterate_assertions(case: TestCase) -> Iterator[Assertion]:
    # Only a case with a simulated user has these still.
    yield from case.each_turn
    for turn in case.all_turns:
        yield from turn.assertions


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
