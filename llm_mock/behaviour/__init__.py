"""How models behave beyond what a test configures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llm_mock.behaviour.misbehaviour import Misbehaviour
    from llm_mock.core.latency import Latency
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply


class ModelBehaviour:
    """What the core is handed; each part is loaded when it is first needed."""

    def misbehaving(self, name: str, times: int | None) -> Misbehaviour:
        from llm_mock.behaviour.misbehaviour import Misbehaviour

        __tracebackhide__ = True
        return Misbehaviour(name, times)

    def generated(self, schema: dict[str, Any]) -> Reply:
        from llm_mock.behaviour.generate import generated_reply

        __tracebackhide__ = True
        return generated_reply(schema)

    def failing(self, reply: Reply, record: CallRecord) -> Reply:
        from llm_mock.core.provider_error import ProviderError

        if not isinstance(reply.error, ProviderError):
            return reply
        from llm_mock.behaviour.provider_errors import failing

        return failing(reply, reply.error, record)

    def paced(self, reply: Reply, latency: Latency, record: CallRecord) -> tuple[Reply, list[float]]:
        from llm_mock.behaviour import pacing

        return pacing.paced(reply, latency, record)
