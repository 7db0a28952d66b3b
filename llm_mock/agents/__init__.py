"""Test agents: a model, live or mocked, with real tools.

Names are imported on first use. Running agents needs the extra `agents`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from llm_mock.agents.agent import Agent as Agent
    from llm_mock.agents.agent import Provider as Provider
    from llm_mock.agents.assertions import Score as Score
    from llm_mock.agents.assertions import llm_assert as llm_assert
    from llm_mock.agents.assertions import llm_score as llm_score
    from llm_mock.agents.result import AgentResult as AgentResult
    from llm_mock.agents.result import ToolCallRecord as ToolCallRecord
    from llm_mock.agents.result import Turn as Turn
    from llm_mock.agents.result_json import result_from_json as result_from_json
    from llm_mock.agents.result_json import result_to_json as result_to_json
    from llm_mock.agents.run import aitest_run as aitest_run
    from llm_mock.agents.run import aitest_run_sync as aitest_run_sync
    from llm_mock.agents.servers import CLIServer as CLIServer
    from llm_mock.agents.servers import MCPServer as MCPServer
    from llm_mock.agents.session import AgentSession as AgentSession
    from llm_mock.agents.skill import Skill as Skill

_MODULES = {
    "agent": "Agent Provider",
    "assertions": "Score llm_assert llm_score",
    "result": "AgentResult ToolCallRecord Turn",
    "result_json": "result_from_json result_to_json",
    "run": "aitest_run aitest_run_sync",
    "servers": "CLIServer MCPServer",
    "session": "AgentSession",
    "skill": "Skill",
}

__all__ = " ".join(_MODULES.values()).split()
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
