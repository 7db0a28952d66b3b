"""Guards for the hooks of the plugin: a bug of ours must not change pytest's own results."""

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
"""The key of xdist's `workeroutput` with the faults of a worker: a text for each hook, in ASCII."""
LONGEST_TRACEBACK = 10_000
_ENDS_THE_RUN = (KeyboardInterrupt, SystemExit, GeneratorExit, pytest.exit.Exception)
"""Exceptions by which a person or pytest ends a run; they are not bugs of a hook."""


_runs: list[tuple[pytest.Config, set[str]]] = []
"""The current runs of this process, the innermost last, each with its failed hooks."""


def begin(config: pytest.Config) -> None:
    """Report faults to this run of pytest until `pytest_unconfigure`."""
    run = config, set[str]()
    _runs.append(run)
    config.add_cleanup(lambda: _runs.remove(run) if run in _runs else None)


def reporting_hook(**options: Any) -> Callable[[Hook], Hook]:
    """Decorate a hook that only reports: if it fails, it warns, and pytest's own result counts.

    Args:
        options: those of `pytest.hookimpl`.
    """

    def mark(function: Hook) -> Hook:
        guarded = _guarded_wrapper(function) if options.get("wrapper") else guard(function)
        marked: Hook = pytest.hookimpl(**options)(guarded)
        return marked

    return mark


def deciding_hook(instead: Callable[..., object], **options: Any) -> Callable[[Hook], Hook]:
    """Decorate a hook that decides about tests: if it fails, its tests fail.

    Args:
        instead: makes the tests of the hook fail, and returns the result of the hook. Called with
            the text of the fault and the arguments of the hook. Without it these tests would pass
            although nothing was checked.
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

        vars(guarded)["is_guarded"] = True
        marked: Hook = pytest.hookimpl(**options)(guarded)
        return marked

    return mark


def guard(function: Hook) -> Hook:
    """Return a function that reports a fault and returns None where the given function fails."""

    @functools.wraps(function)
    def guarded(*args: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*args)
        except _ENDS_THE_RUN:
            raise
        # BaseException, because a hook of ours may call code that raises any.
        except BaseException as fault:
            report_fault(function, fault)
            return None

    vars(guarded)["is_guarded"] = True
    return guarded  # type: ignore[return-value]


def _guarded_wrapper(function: Callable[..., Generator[None, Any, Any]]) -> Any:
    """Return a guarded hook wrapper: if it fails, the result is that of the other hooks."""

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
            # A wrapper must yield once: pytest calls the other hooks then.
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

    vars(guarded)["is_guarded"] = True
    return guarded


def _throw(
    function: Callable[..., object], wrapper: Generator[None, Any, Any], error: BaseException
) -> Any:
    """Throw the error of another hook into a wrapper, which may return a result instead."""
    __tracebackhide__ = True
    try:
        wrapper.throw(error)
    except StopIteration as end:
        return end.value
    except _ENDS_THE_RUN:
        raise
    except BaseException as fault:
        # The wrapper may raise the same error again. All others are faults of the wrapper.
        if fault is not error:
            report_fault(function, fault)
    raise error


def report_fault(function: Callable[..., object], fault: BaseException) -> None:
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
    # The last resort: a failure to report a fault must not end the run.
    except Exception as error:
        _write(
            f"pytest-llm-mock: {type(fault).__name__} in {function}; "
            f"{type(error).__name__} while reporting it"
        )


def report_faults_of_worker(faults: dict[str, str]) -> None:
    """Warn of the hooks that failed in a worker of pytest-xdist; of each hook once in a run."""
    config, reported = _runs[-1]
    for name, text in faults.items():
        if name not in reported:
            reported.add(name)
            _warn(config, text)


def _name(function: Callable[..., object]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def describe_fault(function: Callable[..., object], fault: BaseException) -> str:
    """Return the message about a fault: the name of the hook and the traceback, in ASCII."""
    lines = traceback.format_exception(type(fault), fault, fault.__traceback__)
    trace = _redact("".join(lines))
    if len(trace) > LONGEST_TRACEBACK:
        half = LONGEST_TRACEBACK // 2
        trace = f"{trace[:half]}\n  […]\n{trace[-half:]}"
    text = f"{_name(function)} failed. Please report this fault of pytest-llm-mock:\n{trace}"
    # Lone surrogates, which a traceback may contain, cannot be sent by a worker.
    return text.encode("ascii", "backslashreplace").decode()


def _redact(text: str) -> str:
    """Return a text without secrets; unchanged if the redaction itself fails."""
    try:
        from llm_mock.support.redaction import redact

        return str(redact(text))
    except Exception:  # the redaction may be what failed
        return text


def _warn(config: pytest.Config | None, text: str) -> None:
    """Add a warning to pytest's summary, or write it to standard error if there is no summary."""
    if config is None or not config.pluginmanager.has_plugin("terminalreporter"):
        _write(f"HookFailureWarning: {text}")
        return
    # Recorded past the filters, because with `-W error` the warning must not become an error.
    warning = warnings.WarningMessage(
        HookFailureWarning(text), HookFailureWarning, "pytest-llm-mock", 0, line=""
    )
    arguments = {"warning_message": warning, "when": "runtest", "nodeid": "", "location": None}
    config.hook.pytest_warning_recorded.call_historic(kwargs=arguments)


def _write(text: str) -> None:
    # The real one: `sys.stderr` may be captured by pytest.
    stream = sys.__stderr__
    if stream is not None:
        stream.write(f"\n{text}\n")
