"""The explanation of a failure because an event loop was started within a running one."""

from __future__ import annotations

import inspect
from types import FrameType

from llm_mock.plugin.failures import list_frames
from llm_mock.support.exceptions import get_exception_text, get_module_name

LOOP_ERRORS = (
    "asyncio.run() cannot be called from a running event loop",
    "Cannot run the event loop while another loop is running",
    "This event loop is already running",
)
"""Python's messages."""
SUFFIX = "_sync"
"""The end of the names of methods that run another one in an event loop of their own."""


def explain_running_loop(error: BaseException) -> str:
    """Suggest what to await if an event loop was started in a running one; else return nothing."""
    if type(error) is not RuntimeError or not get_exception_text(error).startswith(LOOP_ERRORS):
        return ""
    frames = [entry.tb_frame for entry in list_frames(error)]
    advice = _suggest_await(frames)
    if not advice:
        return ""
    return (
        "An event loop is already running, as in every async test, and Python cannot start another "
        f"loop inside it. {advice}, or write the test without async."
    )


def _suggest_await(frames: list[FrameType]) -> str:
    """Suggest what to await instead of the function that started a loop; empty if unknown.

    Args:
        frames: the frames of the error, the outermost first.
    """
    if frames and get_module_name(frames[-1]) == "asyncio.runners":
        return "Await the coroutine instead of calling asyncio.run(…)"
    while frames and get_module_name(frames[-1]).startswith("asyncio."):
        frames = frames[:-1]
    if not frames:
        return ""
    package = _get_package(frames[-1])
    for frame in reversed(frames):
        # The names of functions that call the library say nothing about this loop.
        if _get_package(frame) != package:
            return ""
        method = _find_async_method(frame)
        if method:
            return f"Write await {method}(…) instead of {method}{SUFFIX}(…)"
    return ""


def _get_package(frame: FrameType) -> str:
    return get_module_name(frame).partition(".")[0]


def _find_async_method(frame: FrameType) -> str:
    """Return the async method that a method such as `run_sync` runs, with its class; else empty."""
    name = frame.f_code.co_name
    if not name.endswith(SUFFIX):
        return ""
    kind = type(frame.f_locals.get("self"))
    method = name.removesuffix(SUFFIX)
    # Static, because a metaclass may compute attributes.
    found = inspect.getattr_static(kind, method, None)
    return f"{kind.__name__}.{method}" if inspect.iscoroutinefunction(found) else ""
