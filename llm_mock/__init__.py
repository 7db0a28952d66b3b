"""Test code that calls large language models: fast, deterministic, without keys and cost.

The pytest plugin mocks the models in every test. Its fixtures:

    mock_llm_responses          sets the replies: `set`, `add`, `script`, `set_error`, …
    mock_llm_calls              the same mock, to check the calls: `calls`, `last_call`,
                                `assert_called_once_with`, …
    debug_llm                   the same mock; logs each call, and prints all calls after the test
    llm_mock_server             a server that answers other programs;
                                llm_mock_session_server is for fixtures of wider scopes
    llm_mock_cassette           records real calls and replays them;
                                llm_mock_cassette_config configures the cassette
    llm_mock_misbehaviour       the misbehaviour of the models in this run of the test
    aitest_run, aitest_run_sync run an agent
    llm_assert, llm_score       let a model judge a text or an image

    def test_mail_is_sorted(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mini", "mail-sorter")
        assert find_workflow("sort my mail") == "mail-sorter"
        mock_llm_responses.assert_called_once_with("sort my mail")

Replies: Reply, ToolCall, call, BrokenToolCall, Citation, Logprob, Event, Latency, and the parts
WebSearch, CodeInterpreter, McpCall, FileSearch, ImageGeneration and Audio. Ready-made replies are
in `llm_mock.templates`.
The mock: LLMMock (MockGetModel in the first specification), ResponseConfigurator (its methods that
set replies), Call, ABSENT, Misbehaviour. Without the plugin: create_mock_get_model,
MockLLMModel, AsyncMockLLMModel, MockEmbeddingModel.
Assertions: assert_llm_called_times, assert_prompt_contains, assert_cost_below,
assert_tokens_below, and methods of the mock and of its models.
Errors: LLMMockError and its subclasses EndlessToolCalls, ErrorNotRebuilt, InvalidBudget,
InvalidLatency, InvalidReply, InvalidToolCall, LLMTooOld, MissingExtra, QueuedReplyNotAllowed,
RealModelCall, SchemaViolation, UnexpectedCall, UnknownMisbehaviour and UnusedReplies.
Warnings: LegacyMockWarning, ListReplyWarning, SchemaViolationWarning.

Cassettes are in `llm_mock.cassettes`, agents in `.agents`, prompt suites in `.suites`,
plain-language tests in `.specs`, checks in `.checks`; everything else is private. __version__ is
the version.

The public names are loaded on first use, so importing the package imports neither `llm` nor pytest.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from llm_mock.behaviour.misbehaviour import Misbehaviour as Misbehaviour
    from llm_mock.boundaries.llm.create import create_mock_get_model as create_mock_get_model
    from llm_mock.boundaries.llm.embedding_model import MockEmbeddingModel as MockEmbeddingModel
    from llm_mock.boundaries.llm.get_model import LLMMock as LLMMock
    from llm_mock.boundaries.llm.get_model import MockGetModel as MockGetModel
    from llm_mock.boundaries.llm.model import AsyncMockLLMModel as AsyncMockLLMModel
    from llm_mock.boundaries.llm.model import MockLLMModel as MockLLMModel
    from llm_mock.core.assertions import assert_llm_called_times as assert_llm_called_times
    from llm_mock.core.assertions import assert_prompt_contains as assert_prompt_contains
    from llm_mock.core.call import ABSENT as ABSENT
    from llm_mock.core.call import Call as Call
    from llm_mock.core.configurator import ResponseConfigurator as ResponseConfigurator
    from llm_mock.core.events import Event as Event
    from llm_mock.core.latency import Latency as Latency
    from llm_mock.core.reply import Reply as Reply
    from llm_mock.core.reply_items import Audio as Audio
    from llm_mock.core.reply_items import Citation as Citation
    from llm_mock.core.reply_items import CodeInterpreter as CodeInterpreter
    from llm_mock.core.reply_items import FileSearch as FileSearch
    from llm_mock.core.reply_items import ImageGeneration as ImageGeneration
    from llm_mock.core.reply_items import Logprob as Logprob
    from llm_mock.core.reply_items import McpCall as McpCall
    from llm_mock.core.reply_items import WebSearch as WebSearch
    from llm_mock.core.tool_calls import BrokenToolCall as BrokenToolCall
    from llm_mock.core.tool_calls import ToolCall as ToolCall
    from llm_mock.core.tool_calls import call as call
    from llm_mock.cost.budgets import assert_cost_below as assert_cost_below
    from llm_mock.cost.budgets import assert_tokens_below as assert_tokens_below
    from llm_mock.errors import EndlessToolCalls as EndlessToolCalls
    from llm_mock.errors import ErrorNotRebuilt as ErrorNotRebuilt
    from llm_mock.errors import InvalidBudget as InvalidBudget
    from llm_mock.errors import InvalidLatency as InvalidLatency
    from llm_mock.errors import InvalidReply as InvalidReply
    from llm_mock.errors import InvalidToolCall as InvalidToolCall
    from llm_mock.errors import LegacyMockWarning as LegacyMockWarning
    from llm_mock.errors import ListReplyWarning as ListReplyWarning
    from llm_mock.errors import LLMMockError as LLMMockError
    from llm_mock.errors import LLMTooOld as LLMTooOld
    from llm_mock.errors import MissingExtra as MissingExtra
    from llm_mock.errors import QueuedReplyNotAllowed as QueuedReplyNotAllowed
    from llm_mock.errors import RealModelCall as RealModelCall
    from llm_mock.errors import SchemaViolation as SchemaViolation
    from llm_mock.errors import SchemaViolationWarning as SchemaViolationWarning
    from llm_mock.errors import UnexpectedCall as UnexpectedCall
    from llm_mock.errors import UnknownMisbehaviour as UnknownMisbehaviour
    from llm_mock.errors import UnusedReplies as UnusedReplies

# hatchling reads the version from here.
__version__ = "0.1.0"

# The imports above are for type checkers. At run time each name is imported from its module when it
# is first used: importing `llm` takes far longer than most tests.
_MODULES = {
    "behaviour.misbehaviour": "Misbehaviour",
    "boundaries.llm.create": "create_mock_get_model",
    "boundaries.llm.embedding_model": "MockEmbeddingModel",
    "boundaries.llm.get_model": "LLMMock MockGetModel",
    "boundaries.llm.model": "AsyncMockLLMModel MockLLMModel",
    "core.assertions": "assert_llm_called_times assert_prompt_contains",
    "core.call": "ABSENT Call",
    "core.configurator": "ResponseConfigurator",
    "core.events": "Event",
    "core.latency": "Latency",
    "core.reply": "Reply",
    "core.reply_items": (
        "Audio Citation CodeInterpreter FileSearch ImageGeneration Logprob McpCall WebSearch"
    ),
    "core.tool_calls": "BrokenToolCall ToolCall call",
    "cost.budgets": "assert_cost_below assert_tokens_below",
    "errors": (
        "EndlessToolCalls ErrorNotRebuilt InvalidBudget InvalidLatency InvalidReply "
        "InvalidToolCall LegacyMockWarning ListReplyWarning LLMMockError LLMTooOld MissingExtra "
        "QueuedReplyNotAllowed RealModelCall SchemaViolation SchemaViolationWarning "
        "UnexpectedCall UnknownMisbehaviour UnusedReplies"
    ),
}

__all__ = ["__version__", *" ".join(_MODULES.values()).split()]
__getattr__, _ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    # Only the public names, without the names of imports in this file.
    return sorted(__all__)
