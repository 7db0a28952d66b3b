"""Keep track of the replies that a rewritten test has configured so far."""

from __future__ import annotations

from collections.abc import Sequence

from llm_mock.migrate.body import Slot
from llm_mock.migrate.doubles import (
    LegacyMock,
    PatchedGetter,
    ReturnByName,
    SideEffectList,
    TestDouble,
    Value,
    iterate_doubles,
)
from llm_mock.migrate.http_replies import collect_route_replies
from llm_mock.migrate.http_routes import PatchedRoute
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.replies import LEARN, ConfiguredReply, collect_replies, quote_model
from llm_mock.migrate.sdk_clients import PatchedClient
from llm_mock.migrate.sdk_replies import collect_client_replies
from llm_mock.migrate.symbol_table import SymbolTable

UNUSED_COMMENT = "# The old mock had unused replies: remove them if they are not needed."


class ConfiguredReplies:
    """The replies of the models in a test, as far as the new test has configured them.

    Args:
        getters: the patches so far; the list may grow.
        table: the values of the test's names.
        slots: the removed statements so far; the list may grow.
        unused: the number of queued replies that the test leaves, the last ones.
    """

    def __init__(
        self,
        getters: Sequence[PatchedGetter],
        table: SymbolTable,
        slots: Sequence[Slot],
        unused: int = 0,
    ) -> None:
        self.replies: dict[str, ConfiguredReply] = {}
        """The configured reply of each model."""
        self.replacements: list[TestDouble] = []
        """The doubles that replace a part of `llm`."""
        self._getters = getters
        self._table = table
        self._slots = slots
        self._unused = unused
        # A list, because doubles are compared by identity.
        self._reachable: list[TestDouble] = []

    def replaces_llm(self, value: Value | None) -> bool:
        """Return whether `llm` has, or had, a mock among its replacements or their parts.

        Args:
            value: the mock, or several of them.
        """
        self._collect_reachable()
        if isinstance(value, (SideEffectList, ReturnByName)):
            doubles = iterate_doubles([value])
            return any(map(self._is_reachable, doubles))
        return isinstance(value, LegacyMock) or self._is_reachable(value)

    def _is_reachable(self, value: Value | None) -> bool:
        return any(value is double for double in self._reachable)

    def _collect_reachable(self) -> None:
        roots = [*self.replacements, *(getter.double for getter in self._getters)]
        for double in iterate_doubles(roots):
            # One that was reached before may have other parts by now.
            if not self._is_reachable(double):
                self._reachable.append(double)

    def update(self) -> None:
        """Configure the replies that changed, in the last slot.

        Called before each statement that may run the application.

        Raises:
            CannotRewrite: a reply is unknown, or the new test cannot express the change.
        """
        # A mock that is replaced later was still one of `llm`.
        self._collect_reachable()
        for model, reply in self._collect_replies().items():
            before = self.replies.get(model)
            if before != reply:
                self._change(before, reply)

    def _collect_replies(self) -> dict[str, ConfiguredReply]:
        replies: dict[str, ConfiguredReply] = {}
        for getter in self._getters:
            if isinstance(getter, PatchedRoute):
                configured = collect_route_replies(getter, self._table)
            elif isinstance(getter, PatchedClient):
                configured = collect_client_replies(getter, self._table)
            else:
                configured = collect_replies(getter, self._table)
            for reply in configured:
                if replies.setdefault(reply.model, reply) != reply:
                    raise CannotRewrite(
                        "two patches have different replies, and their model ids are unknown",
                        LEARN,
                    )
        return replies

    def _change(self, before: ConfiguredReply | None, reply: ConfiguredReply) -> None:
        slot = self._slots[-1]
        if before is not None:
            # Our queue keeps unused replies; a new side_effect drops those of a mock.
            if {before.kind, reply.kind} & {"queue", "unknown", "endpoint"}:
                raise CannotRewrite(
                    "the test changes the replies of a mock that also has a list of replies",
                    "Write one mock_llm_responses.add for each call, in order. The test must use "
                    "every queued reply.",
                )
            # An error has precedence over a reply until it is removed.
            if before.kind == "error" and reply.kind != "error":
                model = quote_model(reply.model)
                slot.lines.append(f"mock_llm_responses.set_error({model}, None)")
        slot.lines += self._mark_optional(reply)
        self.replies[reply.model] = reply

    def _mark_optional(self, reply: ConfiguredReply) -> list[str]:
        """Return the statements of a reply, with the last ones optional if the test leaves some."""
        if reply.kind != "queue" or not self._unused:
            return [*reply.statements]
        kept = max(0, len(reply.statements) - self._unused)
        statements = [*reply.statements[:kept]]
        for number, statement in enumerate(reply.statements[kept:]):
            comment = f"{UNUSED_COMMENT}\n" if number == 0 else ""
            statements.append(f"{comment}{statement[:-1]}, optional=True)")
        return statements
