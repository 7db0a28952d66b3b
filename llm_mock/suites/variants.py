"""The variants that the cases of a suite are run in, side by side: every combination of what its matrix lists."""

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
from llm_mock.suites.results import SuiteResult
from llm_mock.suites.role import NO_MODEL, Role, resolve_model
from llm_mock.suites.runner import get_agent_or_target, run_suite
from llm_mock.suites.schema import Target, TestSuiteDefinition
from llm_mock.support.text import shorten

AnyAgent = TypeVar("AnyAgent", Agent, Role)
GIVEN = "--model"
"""What messages call the models that a run names."""


@dataclass(frozen=True)
class Variant:
    """What the cases of a suite are run with."""

    agent: Agent | Role | None
    """The agent, or the role that says what it is; None where a target answers."""
    suite: TestSuiteDefinition
    """The suite without a matrix; all variants share its cases."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """What tells it from the others: names by `role`, `target`, `model` and `system_prompt`. Empty of the only one."""
    model: MatrixModel | None = None
    """The model that is asked instead of the role's."""

    @property
    def name(self) -> str:
        """What reports call it; empty of the only one."""
        return format_variant_name(self.parts)

    @property
    def answering(self) -> Agent | Role | Target:
        """What answers the prompts."""
        return get_agent_or_target(self.agent, self.suite)

    def resolved(self) -> Variant:
        """The variant with the id under which `llm` knows its model, as a live run needs it.

        Raises:
            InvalidFile: `llm` does not know it, or it has no such options; the message names the line that asks for it.
        """
        __tracebackhide__ = True
        if not isinstance(self.agent, Role):
            return self
        place = None if self.model is None else f"{self.suite.path}:{self.model.line}" if self.model.line else GIVEN
        role = resolved_role(self.agent, place)
        known = role.agent.asks.options
        if self.model and (lacking := next((name for name in self.model.options if name not in known), None)):
            raise InvalidFile(f"{place}: the model {shorten(self.model.model)} has no option {shorten(lacking)}")
        return replace(self, agent=role)

    def run(self, **how: Any) -> SuiteResult:
        """Run the cases; the arguments, and what is raised, are those of `run_suite`."""
        __tracebackhide__ = True
        return run_suite(self.agent, self.suite, variant=self.parts, **how)


def variants_of(
    agent: Agent | Role | None, suite: TestSuiteDefinition, models: Sequence[str] = ()
) -> tuple[Variant, ...]:
    """The variants of a suite: a single one where it has no matrix, and at most one model is given.

    Args:
        agent: the agent, or the role that says what it is; None where the suite names its target or roles, or where
            models are asked without a role.
        suite: the suite, read from a file or made in Python.
        models: ids of the models to ask, instead of those that the role or the matrix names.

    Raises:
        InvalidFile: nothing answers the prompts, or more than can; or a file that a matrix names is wrong.
    """
    __tracebackhide__ = True
    suite = suite if suite.matrix is None else expand_suite(suite)
    axes: dict[str, Sequence[Any]] = dict(suite.matrix.axes) if suite.matrix else {}
    if agent is not None and "roles" in axes:
        raise InvalidFile(
            f"{get_suite_label(suite)}: its matrix names the roles: leave the role out, or 'roles' of the matrix"
        )
    if models and (suite.target is not None or "targets" in axes):
        raise InvalidFile(f"{get_suite_label(suite)}: its targets ask models of their own: leave {GIVEN} out")
    given = tuple(MatrixModel(model=model) for model in models)
    if len(given) > 1 or (given and "models" in axes):
        axes["models"], given = given, ()
    axes = {name: axes[name] for name in AXES if name in axes}
    chosen = [dict(zip(axes, combined, strict=True)) for combined in product(*axes.values())]
    variants = tuple(_variant(agent, suite, one, *given) for one in chosen)
    _ = variants[0].answering  # raises where there is nothing, or too much
    return variants


def _variant(
    agent: Agent | Role | None, suite: TestSuiteDefinition, chosen: Mapping[str, Any], model: MatrixModel | None = None
) -> Variant:
    """The variant of one combination of entries of the matrix."""
    parts = {AXES[axis]: entry.display_name for axis, entry in chosen.items()}
    changed: Any = chosen["roles"]._role if "roles" in chosen else agent
    model = chosen.get("models", model)
    if model is not None:
        changed = asking(model, changed or Role("no role", Agent(NO_MODEL), suite.path or Path()))
    if changed is not None and "system_prompts" in chosen:
        changed = _changed(changed, system_prompt=chosen["system_prompts"].text)
    target = chosen.get("targets", suite.target)
    return Variant(changed, suite.model_copy(update={"matrix": None, "target": target}), parts, model)


def resolved_role(role: Role, place: str | None) -> Role:
    """What `resolve_model` gives; a model that is asked for elsewhere than in the role is named with that place."""
    __tracebackhide__ = True
    try:
        return resolve_model(role)
    except InvalidFile as error:
        if place is None:
            raise
        raise InvalidFile(f"{place}: {str(error).split(': ', 1)[-1]}") from None


def asking(model: MatrixModel, agent: AnyAgent) -> AnyAgent:
    """The agent with another model, and with the options of that one before its own."""
    asks = (agent.agent if isinstance(agent, Role) else agent).asks
    options = {**asks.all_options, **model.options}
    changed = _changed(agent, provider=replace(asks, model=model.model, options=options, temperature=None))
    return replace(changed, model_ids=(model.model,), provider=None) if isinstance(changed, Role) else changed


def _changed(agent: AnyAgent, **fields: Any) -> AnyAgent:
    return replace(agent, agent=replace(agent.agent, **fields)) if isinstance(agent, Role) else replace(agent, **fields)
