"""Detection of functions of the project that cache results, maybe those of an earlier test."""

from __future__ import annotations

import functools
import sys

import pytest

from llm_mock.plugin.mock_messages import is_of_project


def explain_kept_results(item: pytest.Item) -> str:
    """Return a line for each function of the project that returned a kept result.

    Args:
        item: a failed test in which no model was called.
    """
    lines = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not is_of_project(file, item):
            continue
        for name, value in list(vars(module).items()):
            # A function may be imported into other modules.
            is_cached = isinstance(value, functools._lru_cache_wrapper)
            if not is_cached or value.__module__ != module.__name__:
                continue
            if value.cache_info().hits:
                lines.append(
                    f"{name}() of {module.__name__} caches its results, and returned a cached "
                    f"result without running. If the result comes from another test, call "
                    f"{name}.cache_clear() before each test."
                )
    return "\n".join(lines)
