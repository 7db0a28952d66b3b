"""Suggestions for misspelt names of this package in the failures of tests and of imports."""

from __future__ import annotations

import importlib
import linecache
import re
import sys
from collections import Counter

import pytest

from llm_mock.core.context import current_mock_if_created
from llm_mock.plugin.failures import list_frames
from llm_mock.plugin.options import list_written_keys
from llm_mock.support.misspelling import explain_attribute_error, explain_use
from llm_mock.support.text import CERTAIN, find_nearest, format_count, suggest_nearest

MISSING_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
"""Python's message; the error has the name as an attribute only from Python 3.12 on."""
INCOMPLETE_ERROR = re.compile(r"\w+\.__init__\(\) missing \d+ required .*'(body|request|response)'")
"""Python's message about an exception of an SDK that is made without its response."""
MISSING_FIXTURE = re.compile(r"\.test\w*\(\) missing 1 required positional argument: '(\w+)'$")
"""Python's message about a test method that does not receive a fixture."""
CALL_INDEX = re.compile(r"\.(calls\[[^\]]+\]|calls_of\([^)]*\)\[[^\]]+\])")
"""An item of the calls of a mock, in a line of code."""
PUBLIC_PACKAGES = (
    "agents",
    "cassettes",
    "checks",
    "errors",
    "specs",
    "suites",
    "templates",
)
PACKAGE = "llm_mock"
OTHER_PACKAGE_NAMES = ("pytest_llm_mock", "mock_llm", "llmmock")
"""Package names that newcomers guess, too different from ours for a suggestion."""
FIXTURES = (
    "mock_llm_responses",
    "mock_llm_calls",
    "debug_llm",
    "llm_mock_server",
    "llm_mock_session_server",
    "llm_mock_cassette",
    "llm_mock_cassette_config",
    "llm_mock_misbehaviour",
    "aitest_run",
    "aitest_run_sync",
    "llm_assert",
    "llm_score",
)
"""The public fixtures of the plugin."""
FIXTURE_SYNONYMS = {
    "llm_mock": "mock_llm_responses",
    "mock_llm": "mock_llm_responses",
    "llm_mock_responses": "mock_llm_responses",
    "mock_anthropic": "mock_llm_responses",
    "mock_openai": "mock_llm_responses",
}
"""Fixture names that newcomers guess, too different from ours for a suggestion."""
KEY_SYNONYMS = {
    "llm_mock_casette_mode": "llm_mock_record",
    "llm_mock_cassette_mode": "llm_mock_record",
    "llm_mock_level": "llm_mock_strict",
    "llm_mock_mode": "llm_mock",
    "llm_mock_record_mode": "llm_mock_record",
}
"""Ini keys that newcomers guess, too different from ours for a suggestion."""
NAME_SYNONYMS = {
    "Answer": "Reply",
    "Completion": "Reply",
    "FunctionCall": "ToolCall",
    "LLMResponse": "Reply",
    "MockResponse": "Reply",
    "Response": "Reply",
    "ToolUse": "ToolCall",
}
"""Names that newcomers guess for classes, too different from ours for a suggestion."""


def name_nearest(error: BaseException) -> None:
    """Add the nearest name of ours to the error for a misspelt name."""
    # Imported late, as below: few tests fail with such an error.
    from llm_mock.core.reply_functions import explain_request_use

    hint = explain_request_use(error)
    if hint:
        error.args = (f"{error}{hint}",)
    elif type(error) in (TypeError, IndexError):
        _explain_use(error)
    elif type(error) is AttributeError:
        _name_nearest_attribute(error)
    elif type(error) is NameError:
        _name_fixture(error)
    elif isinstance(error, ImportError):
        _name_nearest_import(error)


def _explain_use(error: BaseException) -> None:
    """Add the nearest argument to the error for a misspelt argument of our functions."""
    from llm_mock.core.reply_functions import explain_parameters

    frames = list_frames(error)
    message = explain_parameters(error)
    if message is None and frames:
        frame = frames[-1].tb_frame
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        message = (
            explain_use(error, frame)
            or _suggest_template(error, line)
            or _explain_missing_call(error, line)
        )
    if message is not None:
        error.args = (message,)


def _explain_missing_call(error: BaseException, line: str) -> str | None:
    """Return a message about a missing item of a list of calls; None for other errors."""
    found = CALL_INDEX.search(line) if isinstance(error, IndexError) else None
    mock = current_mock_if_created()
    if found is None or mock is None:
        return None
    wanted = found[1]
    counts = Counter(call.model for call in mock.calls)
    made = "No call was made."
    if counts:
        listed = []
        for model, count in counts.items():
            listed.append(f"{format_count(count, 'call')} to {model}")
        made = f"The first is [0]. Made so far: {', '.join(listed)}."
    return f"{error}: {wanted} does not exist. {made}"


def _suggest_template(error: BaseException, line: str) -> str | None:
    """Return a message about an exception of an SDK that needs a response; None for others."""
    if not INCOMPLETE_ERROR.match(str(error)):
        return None
    from llm_mock.core.provider_error import TEMPLATES

    for name in re.findall(r"(\w+)\(", line):
        if name in TEMPLATES:
            return (
                f"{error}. Write templates.{TEMPLATES[name]}() of llm_mock, which raises the "
                f"{name} of the calling SDK."
            )
    return None


def _name_nearest_attribute(error: AttributeError) -> None:
    """Add the nearest name to the error for a misspelt attribute of our objects and modules."""
    message = explain_attribute_error(error)
    if message is not None:
        error.args = (message,)
        # Python from 3.12 on adds a suggestion of its own to an error with a name.
        error.name = None


def _name_fixture(error: NameError) -> None:
    """Add advice to the error for a fixture that is not a parameter of the test."""
    nearest = find_nearest(str(error.name), FIXTURES, CERTAIN)
    if nearest is None:
        return
    message = (
        f"{error}: {nearest} is a fixture. Add it to the parameters of the test, as in "
        f"def test_it({nearest}):"
    )
    error.args = (message,)


def _name_nearest_import(error: ImportError) -> None:
    """Add the nearest name to the error for a misspelt name or module of this package."""
    message = _explain_import_error(error)
    if message is not None:
        error.msg = message
        # Python from 3.12 on adds a suggestion of its own to an error with this attribute, which
        # the type stubs of older versions do not have.
        setattr(error, "name_from", None)  # noqa: B010


def explain_failed_import(report: pytest.CollectReport, error: BaseException) -> None:
    """Add the nearest name of this package to the report of a failed import."""
    cause = error.__cause__
    # Private names of pytest's, which has made this text from the error already. Without them the
    # report has no suggestion.
    text = getattr(report.longrepr, "longrepr", None)
    if not isinstance(text, str):
        return
    if not isinstance(cause, ImportError):
        return
    message = _explain_import_error(cause)
    if message is None:
        return
    # Python from 3.12 on adds a suggestion of its own.
    suggestion = r"(\. Did you mean: '\w+'\?)?"
    original = re.escape(str(cause)) + suggestion
    fields = vars(report.longrepr)
    fields["longrepr"] = re.sub(original, lambda _: message, text)


def name_nearest_fixture(report: pytest.TestReport, error: BaseException) -> None:
    """Add the nearest fixture of the plugin to the report of a test with an unknown fixture."""
    # A private name of pytest's, as above.
    text = getattr(report.longrepr, "errorstring", None)
    if not isinstance(text, str):
        return
    if not isinstance(error, pytest.FixtureLookupError):
        return
    first_line, *others = text.split("\n")
    nearest = find_nearest(str(error.argname), (*FIXTURES, *FIXTURE_SYNONYMS))
    # The same exception also reports a fixture that requests itself.
    if nearest is None or not first_line.endswith("not found"):
        return
    meant = FIXTURE_SYNONYMS.get(nearest, nearest)
    first_line += f"; did you mean {meant!r}?"
    vars(report.longrepr)["errorstring"] = "\n".join([first_line, *others])


def explain_missing_fixture(error: BaseException) -> str:
    """Explain how a method of a `unittest.TestCase` gets a fixture; empty for other errors."""
    # The `str()` of other exceptions may fail.
    found = MISSING_FIXTURE.search(str(error)) if type(error) is TypeError else None
    if found is None or found[1] not in FIXTURES:
        return ""
    return (
        "pytest passes no fixtures to the methods of a unittest.TestCase. Write a "
        f"@pytest.fixture(autouse=True) in the class that takes {found[1]} and stores it in an "
        "attribute (llm-mock docs async-and-unittest)."
    )


def find_unknown_keys(config: pytest.Config, has_all_keys: bool = True) -> dict[str, str]:
    """Return the problems of ini keys that resemble the keys of this plugin.

    pytest itself only warns, and the run would go on without the setting.

    Args:
        config: the configuration.
        has_all_keys: whether all keys are registered; else only misspelt ones are unknown.
    """
    # Private names of pytest's, which has no public list. Without them no key is checked.
    parser = getattr(config, "_parser", None)
    registered = getattr(parser, "_inidict", None)
    if registered is None:
        return {}
    own = [name for name in registered if name.startswith("llm_mock")]
    problems = {}
    for key in list_written_keys(config):
        if key in registered:
            continue
        is_near = find_nearest(key, own, CERTAIN) is not None
        if is_near or (has_all_keys and key.startswith("llm_mock_")):
            hint = _suggest_key(key, own)
            problems[key] = (
                f"Unknown ini key {key}{hint} The command `pytest --help` lists the keys."
            )
    return problems


def _suggest_key(key: str, own: list[str]) -> str:
    """Return the end of a message that suggests an ini key, or a full stop."""
    synonym = KEY_SYNONYMS.get(key)
    if synonym is not None:
        return f"; did you mean {synonym!r}?"
    return suggest_nearest(key, own, f"{PACKAGE}_") or "."


def _explain_import_error(error: ImportError) -> str | None:
    """Return a message with the nearest name or module of this package; None for others."""
    missing = MISSING_NAME.match(str(error))
    if missing is not None:
        name, package = missing.groups()
        if package.partition(".")[0] != PACKAGE:
            return None
        return f"{error}{_suggest_name_of_package(name, package)}"
    if not isinstance(error, ModuleNotFoundError):
        return None
    if not error.name:
        return None
    root = error.name.partition(".")[0]
    if root == PACKAGE:
        modules = [f"{PACKAGE}.{name}" for name in PUBLIC_PACKAGES]
        return f"{error}{suggest_nearest(error.name, modules)}"
    if root in OTHER_PACKAGE_NAMES or find_nearest(root, [PACKAGE], CERTAIN):
        return f"{error}; did you mean {PACKAGE!r}?"
    return None


def _suggest_name_of_package(name: str, package: str) -> str:
    """Return a suggestion: the package that has a name, or the nearest name of the given one."""
    if name in FIXTURES:
        return "; it is a fixture: add it to the parameters of the test"
    if package == PACKAGE:
        if name in NAME_SYNONYMS:
            return f"; did you mean {NAME_SYNONYMS[name]!r}?"
        for other in PUBLIC_PACKAGES:
            place = f"{PACKAGE}.{other}"
            module = importlib.import_module(place)
            if name in dir(module):
                return f"; it is in {place}"
    public = []
    for known in dir(sys.modules[package]):
        if not known.startswith("_"):
            public.append(known)
    return suggest_nearest(name, public)
