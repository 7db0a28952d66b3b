"""Find fake models of frameworks, and fake transports of clients, that stay as they are."""

from __future__ import annotations

import libcst as cst

from llm_mock.migrate.fixed_models import AGENTS, FUNCTION_MODEL, SEE_TEST_MODEL, TEST_MODEL
from llm_mock.migrate.http_transports import SEE_TRANSPORT, TRANSPORTS, makes_client
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.scope import Scope
from llm_mock.migrate.syntax import find_nodes, get_first_line

_PYDANTIC_AI = (TEST_MODEL, FUNCTION_MODEL)
_LANGCHAIN = (
    "langchain_core.language_models.",
    "langchain_community.chat_models.",
    "langchain_community.llms.",
)


def find_framework_model(function: cst.FunctionDef, scope: Scope) -> CannotRewrite | None:
    """Return why a function with a fake model of a framework stays as it is, or None."""
    calls = find_nodes(function, cst.Call)
    for call in calls:
        if _is_tested_agent(call, scope):
            return _new_agent_problem(call)
    has_client = any(makes_client(call, scope) for call in calls)
    for call in calls:
        name = scope.qualify(call.func)
        if name in TRANSPORTS and has_client:
            return _new_transport_problem(call)
        problem = _find_problem(name, call)
        if problem is not None:
            return problem
    return None


def _is_tested_agent(call: cst.Call, scope: Scope) -> bool:
    """Return whether a call makes an agent of pydantic-ai with a fake model."""
    if scope.qualify(call.func) not in AGENTS:
        return False
    for argument in call.args:
        value = argument.value
        if isinstance(value, cst.Call) and scope.qualify(value.func) in _PYDANTIC_AI:
            return True
    return False


def _new_agent_problem(call: cst.Call) -> CannotRewrite:
    return CannotRewrite(
        "the agent is created with a fake model, and the test does not name the real model: "
        f"{get_first_line(call)}",
        'Create the agent with the real model, such as Agent("openai:gpt-5"), and configure a '
        f'reply: mock_llm_responses.set("*", reply). {SEE_TEST_MODEL}',
        call,
    )


def _find_problem(name: str, call: cst.Call) -> CannotRewrite | None:
    """Return why the call of a class stays, if it makes a fake model."""
    _, _, class_name = name.rpartition(".")
    if name in _PYDANTIC_AI:
        return CannotRewrite(
            f"{class_name} replaces an agent's model, and the test does not name the real model",
            "Keep the agent's real model, and configure a reply: "
            f"mock_llm_responses.set(model, reply). {SEE_TEST_MODEL}",
            call,
        )
    if name.startswith(_LANGCHAIN) and "Fake" in class_name:
        return CannotRewrite(
            f"{class_name} replaces a LangChain model, and the test does not name the real model",
            "Create the real model, such as init_chat_model(name), and configure a reply: "
            "mock_llm_responses.add(name, reply). See LangChain's fake models in "
            "docs/coming-from.md for an example.",
            call,
        )
    return None


def _new_transport_problem(call: cst.Call) -> CannotRewrite:
    return CannotRewrite(
        f"the client has a fake transport: {get_first_line(call)}",
        SEE_TRANSPORT,
        call,
    )
