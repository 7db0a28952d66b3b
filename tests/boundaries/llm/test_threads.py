"""Threads obtain the same models as a single thread, even when they are first."""

from __future__ import annotations

import pytest

from llm_mock import LLMMock
from tests.threads import in_threads


def test_the_first_use_of_llm_by_many_threads_resolves_every_alias(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import sys
        import threading

        def test_it(mock_llm_calls):
            assert "llm" not in sys.modules
            mock_llm_calls.autospec()
            found, start = [], threading.Barrier(16)

            def ask():
                start.wait()
                mock_llm_calls.set("4o-mini", "x")
                import llm
                model = llm.get_model("4o-mini")
                found.append((model.model_id, model.can_stream, llm.get_embedding_model("ada").model_id, model.has_real_capabilities))

            threads = [threading.Thread(target=ask) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert found == [("gpt-4o-mini", True, "text-embedding-ada-002", True)] * 16
            assert list(mock_llm_calls.models) == ["gpt-4o-mini"]
            assert list(mock_llm_calls.configurator.replies.standing[None]) == ["gpt-4o-mini"]
        """  # noqa: E501
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)


def test_threads_that_ask_for_a_model_at_once_get_the_same_one(mock_llm_calls: LLMMock) -> None:
    found: list[object] = []
    in_threads(16, lambda _: found.append(mock_llm_calls.get_model("m")))
    assert {*map(id, found)} == {id(mock_llm_calls.models["m"])}
