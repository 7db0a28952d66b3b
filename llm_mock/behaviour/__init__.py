"""Model behaviour beyond configured replies: faults, pacing, generated replies, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm_mock.behaviour.misbehaviour import Misbehaviour
    from llm_mock.behaviour.quota import Quotas
    from llm_mock.core.call import Call
    from llm_mock.core.latency import Latency
    from llm_mock.core.reply import Reply
    from llm_mock.core.request import Request
    from llm_mock.support.json_types import JSONObject


class ModelBehaviour:
    """The implementation of the core's `Behaviour` protocol.

    Each method imports its module when it is first called: most runs need none of them.
    """

    def create_misbehaviour(self, name: str, times: int | None) -> Misbehaviour:
        """Return the misbehaviour of that name; see `Misbehaviour`."""
        from llm_mock.behaviour.misbehaviour import Misbehaviour

        __tracebackhide__ = True
        return Misbehaviour(name, times)

    def create_quotas(self) -> Quotas:
        """Return quotas without any model; see `Quotas`."""
        from llm_mock.behaviour.quota import Quotas

        return Quotas()

    def generate_reply(self, schema: JSONObject) -> Reply:
        """Return a reply that fits a schema."""
        from llm_mock.behaviour.generate import generate_reply

        __tracebackhide__ = True
        return generate_reply(schema)

    def generate_tool_call(self, request: Request) -> Reply | None:
        """Return a call to the tool that a request requires; None if it requires no call."""
        demand = request.read_tool_demand()
        if demand is None or not demand.is_required:
            return None
        from llm_mock.behaviour.generated_calls import generate_call
        from llm_mock.core.reply import Reply

        name = demand.callable_tools[0]
        tool = next(tool for tool in request.tools if tool.name == name)
        return Reply(tool_calls=generate_call(tool))

    def replace_provider_error(self, reply: Reply, record: Call) -> Reply:
        """Return a reply whose `ProviderError` is replaced by the provider's own exception."""
        from llm_mock.core.provider_error import ProviderError

        if not isinstance(reply.error, ProviderError):
            return reply
        from llm_mock.behaviour.provider_errors import replace_provider_error

        return replace_provider_error(reply, reply.error, record)

    def apply_latency(
        self, reply: Reply, latency: Latency, record: Call
    ) -> tuple[Reply, list[float]]:
        """Return a reply split according to its latency, and the seconds before each piece."""
        from llm_mock.behaviour import pacing

        return pacing.apply_latency(reply, latency, record)
