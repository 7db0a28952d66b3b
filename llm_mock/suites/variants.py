"""Variants of a suite: every combination of the entries of its matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from llm_mock.agents.agent import Agent
from llm_mock.errors import InvalidFile
from llm_mock.suites.loading import expand_suite, get_suite_label
from llm_mock.suites.matrix import AXES, MatrixModel, format_variant_name
from llm_mock.suites.repeated_runs import Subject
from llm_mock.suites.results import SuiteResult
from llm_mock.suites.role import NO_MODEL, Role, resolve_model
from llm_mock.suites.runner import get_agent_or_target, run_suite
from llm_mock.suites.schema import Target, TestSuiteDefinition
from llm_mock.support.text import shorten

AnyAgent = TypeVar("AnyAgent", Agent, Role)
MODEL_OPTION = "--model"
"""The option that selects models, as messages name it."""


@dataclass(frozen=True)
class Variant:
    """An agent or target to run the cases of a suite with."""

    agent: Agent | Role | Subject | None
    """The agent, its role or another subject; None for a target."""
    suite: TestSuiteDefinition
    """The suite without a matrix; all variants share its cases."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """The names of its entries by `role`, `target`, `model` and `system_prompt`; empty without a
    matrix."""
    model: MatrixModel | None = None
    """The model that replaces that of the role."""

    @property
    def name(self) -> str:
        """Return its name in reports; empty without a matrix."""
        return format_variant_name(self.parts)

    @property
    def answering(self) -> Agent | Role | Subject | Target:
        """Return the agent, role or target that answers the prompts."""
        return get_agent_or_target(self.agent, self.suite)

    def resolve(self) -> Variant:
        """Look up the model in `llm`, and return the variant with its id, for a live run.

        Raises:
            InvalidFile: `llm` does not know the model, or the model does not support an option; the
                message names the line of the model.
        """
        __tracebackhide__ = True
        if not isinstance(self.agent, Role):
            return self
        model = self.model
        if model is None:
            return replace(self, agent=resolve_role(self.agent, None))
        place = MODEL_OPTION
        if model.line:
            place = f"{self.suite.path}:{model.line}"
        role = resolve_role(self.agent, place)
        # Options that the model does not have were left out.
        known = role.agent.asks.options
        for name in model.options:
            if name not in known:
                label = shorten(model.model)
                raise InvalidFile(f"{place}: the model {label} has no option {shorten(name)}")
        return replace(self, agent=role)

    def run(self, **how: Any) -> SuiteResult:
        """Run the cases; see `run_suite` for the arguments and exceptions."""
        return run_suite(self.agent, self.suite, variant=self.parts, **how)


def variants_of(
    agent: Agent | Role | None,
    suite: TestSuiteDefinition,
    models: Sequence[str] = (),
) -> tuple[Variant, ...]:
    """Return the variants of a suite; a single one without a matrix and with at most one model.

    Args:
        agent: the agent or its role; None if the suite names its target or roles, or for models
            without a role.
        suite: the suite, read from a file or made in Python.
        models: ids of models that replace those of the role or the matrix.

    Raises:
        InvalidFile: there is no agent or target, or more than one; or a file of the matrix is
            invalid.
    """
    __tracebackhide__ = True
    if suite.matrix is not None:
        suite = expand_suite(suite)
    axes = _get_axes(agent, suite, has_models=bool(models))
    single_model = None
    entries = [MatrixModel(model=model) for model in models]
    if len(entries) > 1 or (entries and "models" in axes):
        axes["models"] = entries
    elif entries:
        # A single model is not a choice, so it does not appear in the names of variants.
        single_model = entries[0]
    ordered = {name: axes[name] for name in AXES if name in axes}
    variants = []
    for combination in product(*ordered.values()):
        choice = dict(zip(ordered, combination, strict=True))
        variants.append(_make_variant(agent, suite, choice, single_model))
    # Raises an error if there is no agent or target, or more than one.
    _ = variants[0].answering
    return tuple(variants)


def _get_axes(
    agent: Agent | Role | None,
    suite: TestSuiteDefinition,
    has_models: bool,
) -> dict[str, Sequence[Any]]:
    """Return the lists of the matrix.

    Raises:
        InvalidFile: the role or models of the run contradict the suite.
    """
    __tracebackhide__ = True
    axes: dict[str, Sequence[Any]] = {}
    if suite.matrix is not None:
        axes.update(suite.matrix.axes)
    if agent is not None and "roles" in axes:
        problem = "a role and the 'roles' of the matrix cannot be combined: remove one of them"
        raise InvalidFile(f"{get_suite_label(suite)}: {problem}")
    if has_models and (suite.target is not None or "targets" in axes):
        problem = f"its targets call their own models: remove {MODEL_OPTION}"
        raise InvalidFile(f"{get_suite_label(suite)}: {problem}")
    return axes


def _make_variant(
    agent: Agent | Role | None,
    suite: TestSuiteDefinition,
    choice: Mapping[str, Any],
    model: MatrixModel | None,
) -> Variant:
    """Return the variant of one entry of each axis."""
    parts = {}
    for axis, entry in choice.items():
        parts[AXES[axis]] = entry.display_name
    # Any: a type variable of two classes does not accept their union.
    answering: Any = agent
    if "roles" in choice:
        answering = choice["roles"]._role
    model = choice.get("models", model)
    if model is not None:
        if answering is None:
            answering = Role("no role", Agent(NO_MODEL), suite.path or Path())
        answering = set_model(answering, model)
    if answering is not None and "system_prompts" in choice:
        text = choice["system_prompts"].text
        answering = _update_agent(answering, system_prompt=text)
    target = choice.get("targets", suite.target)
    is_expanded = suite.is_expanded
    suite = suite.model_copy(update={"matrix": None, "target": target})
    if is_expanded:
        # Not expanded again: its replies may name variants, which it no longer has.
        suite.mark_expanded()
    return Variant(answering, suite, parts, model)


def resolve_role(role: Role, place: str | None) -> Role:
    """Look up the model of a role in `llm`, and return the role with its id.

    Args:
        role: the role.
        place: the place that names the model, for messages; None if the role does.

    Raises:
        InvalidFile: `llm` does not know the model.
    """
    __tracebackhide__ = True
    try:
        return resolve_model(role)
    except InvalidFile as error:
        if place is None:
            raise
        # The message begins with the line of the role, which does not name the model.
        problem = str(error).split(": ", 1)[-1]
        raise InvalidFile(f"{place}: {problem}") from None


def set_model(agent: AnyAgent, model: MatrixModel) -> AnyAgent:
    """Return the agent with another model, whose options override those of the agent."""
    if isinstance(agent, Role):
        asks = agent.agent.asks
    else:
        asks = agent.asks
    options = {**asks.all_options, **model.options}
    # `all_options` has the temperature, too.
    provider = replace(asks, model=model.model, options=options, temperature=None)
    updated = _update_agent(agent, provider=provider)
    if isinstance(updated, Role):
        return replace(updated, model_ids=(model.model,), provider=None)
    return updated


def _update_agent(agent: AnyAgent, **fields: Any) -> AnyAgent:
    if isinstance(agent, Role):
        return replace(agent, agent=replace(agent.agent, **fields))
    return replace(agent, **fields)
