"""Guards hooks that only report: a fault of ours becomes one warning, and pytest goes on with its own result."""

from __future__ import annotations

import functools
import sys
import traceback
import warnings
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import pytest

from llm_mock.errors import HookFailureWarning

Hook = TypeVar("Hook", bound=Callable[..., Any])
SHIPPED_FAULTS = "llm_mock_faults"
"""The key of xdist's `workeroutput` under which a worker sends its faults: hook by text, in ASCII."""
LONGEST_TRACEBACK = 10_000
_ENDS_THE_RUN = (KeyboardInterrupt, SystemExit, GeneratorExit, pytest.exit.Exception)
"""Exceptions by which a person or pytest ends a run; they are no faults of a hook."""


_runs: list[tuple[pytest.Config, set[str]]] = []
"""The runs under way in this process, the innermost last, and the hooks of each that failed so far."""


def begin(config: pytest.Config) -> None:
    """Report faults to a run of pytest from now on, until it is unconfigured."""
    run = config, set[str]()
    _runs.append(run)
    config.add_cleanup(lambda: _runs.remove(run) if run in _runs else None)


def reporting_hook(**options: Any) -> Callable[[Hook], Hook]:
    """Mark a function as an implementation of a hook, and guard it. Takes the options of `pytest.hookimpl`."""

    def mark(function: Hook) -> Hook:
        guarded = _guarded_wrapper(function) if options.get("wrapper") else guard(function)
        marked: Hook = pytest.hookimpl(**options)(guarded)
        return marked

    return mark


def deciding_hook(instead: Callable[..., Any], **options: Any) -> Callable[[Hook], Hook]:
    """Mark a function as an implementation of a hook that decides about tests, and have them fail where it does.

    Args:
        instead: called with the text of the fault and the arguments of the hook, it has the tests fail that the hook
            was about, and gives the result: they must not pass because nothing was done for them.
        options: those of `pytest.hookimpl`.
    """

    def mark(function: Hook) -> Hook:
        @functools.wraps(function)
        def guarded(*args: Any) -> Any:
            __tracebackhide__ = True
            try:
                return function(*args)
            except (*_ENDS_THE_RUN, pytest.UsageError):
                raise
            except BaseException as fault:
                return instead(describe_fault(function, fault), *args)

        guarded.is_guarded = True  # type: ignore[attr-defined]
        marked: Hook = pytest.hookimpl(**options)(guarded)
        return marked

    return mark


def guard(function: Hook) -> Hook:
    """Return a function that does the same, but gives None and reports the fault where that fails."""

    @functools.wraps(function)
    def guarded(*args: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*args)
        except _ENDS_THE_RUN:
            raise
        except BaseException as fault:
            report_fault(function, fault)
            return None

    guarded.is_guarded = True  # type: ignore[attr-defined]
    return guarded  # type: ignore[return-value]


def _guarded_wrapper(function: Callable[..., Generator[None, Any, Any]]) -> Any:
    """Guard a hook wrapper: where it fails, before or after it yields, the result is that of the other hooks."""

    @functools.wraps(function)
    def guarded(*args: Any) -> Generator[None, Any, Any]:
        __tracebackhide__ = True
        wrapper = function(*args)
        try:
            next(wrapper)
        except _ENDS_THE_RUN:
            raise
        except BaseException as fault:
            report_fault(function, fault)
            return (yield)
        try:
            result = yield
        except BaseException as error:
            return _throw(function, wrapper, error)
        try:
            wrapper.send(result)
        except StopIteration as end:
            return end.value
        except _ENDS_THE_RUN:
            raise
        except BaseException as fault:
            report_fault(function, fault)
        return result

    guarded.is_guarded = True  # type: ignore[attr-defined]
    return guarded


def _throw(
    function: Callable[..., Any], wrapper: Generator[None, Any, Any], error: BaseException
) -> Any:
    """Give a wrapper the error of another hook; it may replace it by a result, but not by a fault of its own."""
    __tracebackhide__ = True
    try:
        wrapper.throw(error)
    except StopIteration as end:
        return end.value
    except _ENDS_THE_RUN:
        raise
    except BaseException as fault:
        if fault is not error:
            report_fault(function, fault)
    raise error


def report_fault(function: Callable[..., Any], fault: BaseException) -> None:
    """Warn once a run that a function of the plugin failed. Never raises."""
    try:
        name = _name(function)
        config, reported = _runs[-1] if _runs else (None, set())
        if name in reported:
            return
        reported.add(name)
        text = describe_fault(function, fault)
        output = getattr(config, "workeroutput", None)
        if output is not None:
            output.setdefault(SHIPPED_FAULTS, {})[name] = text
        else:
            _warn(config, text)
    except (
        Exception
    ) as error:  # the last resort: a run must not end for what reports that something failed
        _write(
            f"pytest-llm-mock: {type(fault).__name__} in {function}; {type(error).__name__} while reporting it"
        )


def report_faults_of_worker(faults: dict[str, str]) -> None:
    """Warn of the hooks that failed in a worker of pytest-xdist, each once a run."""
    config, reported = _runs[-1]
    for name, text in faults.items():
        if name not in reported:
            reported.add(name)
            _warn(config, text)


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def describe_fault(function: Callable[..., Any], fault: BaseException) -> str:
    """Return what to say of a fault: the hook and the traceback, in ASCII, so that a worker can send it."""
    shown = _without_secrets(
        "".join(traceback.format_exception(type(fault), fault, fault.__traceback__))
    )
    if len(shown) > LONGEST_TRACEBACK:
        half = LONGEST_TRACEBACK // 2
        shown = f"{shown[:half]}\n  […]\n{shown[-half:]}"
    text = f"{_name(function)} failed. Please report this fault of pytest-llm-mock:\n{shown}"
    return text.encode("ascii", "backslashreplace").decode()


def _without_secrets(text: str) -> str:
    try:
        from llm_mock.support.redaction import redact

        return str(redact(text))
    except Exception:  # this may be what failed
        return text


def _warn(config: pytest.Config | None, text: str) -> None:
    """Add a warning to pytest's summary, past the filters: with `-W error` it must not become an error.

    Where there is no summary (any more), it is written to standard error.
    """
    if config is None or not config.pluginmanager.has_plugin("terminalreporter"):
        _write(f"HookFailureWarning: {text}")
        return
    warning = warnings.WarningMessage(
        HookFailureWarning(text), HookFailureWarning, "pytest-llm-mock", 0, line=""
    )
    arguments = {"warning_message": warning, "when": "runtest", "nodeid": "", "location": None}
    config.hook.pytest_warning_recorded.call_historic(kwargs=arguments)


def _write(text: str) -> None:
    stream = sys.__stderr__
    if stream is not None:
        stream.write(f"\n{text}\n")
