"""The wording of every message about cassettes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.support.text import shorten, shorten_name
from llm_mock.support.yaml_files import dump

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord

SHOWN_LINES = 40


def _asked(request: dict[str, Any]) -> str:
    lines = dump({name: value for name, value in request.items() if name not in ("schema", "tools")}).splitlines()
    lines += [f"schema: {shorten_name(str(request['schema'].get('title') or 'yes'))}"] if "schema" in request else []
    lines += [f"tools: {', '.join(tool['name'] for tool in request['tools'])}"] if "tools" in request else []
    return _indented(lines)


def _indented(lines: Sequence[str]) -> str:
    shown = [f"  {line}" for line in lines[:SHOWN_LINES]]
    return "\n".join([*shown, f"  … {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else shown)


def no_cassette(path: Path, request: dict[str, Any]) -> str:
    """A test asks a model, and has no cassette yet."""
    return (
        f"There is no cassette {shown_path(path)} for this call:\n{_asked(request)}\n"
        "Record it, with the real model and your key: pytest --llm-mock-record once"
    )


def recording_used_up(path: Path, request: dict[str, Any], times: int) -> str:
    """A call was asked for more often than it was recorded."""
    recorded = "once" if times == 1 else f"{times} times"
    asked = _asked(request)
    return f"This call is {recorded} in the cassette {shown_path(path)}, and was made once more:\n{asked}\n{_RECORD}"


def cassette_miss(path: Path, request: dict[str, Any], count: int, nearest: tuple[int, str] | None) -> str:
    """A call that the cassette does not hold."""
    message = f"The cassette {shown_path(path)} does not hold this call:\n{_asked(request)}\n"
    if nearest is None:
        return f"{message}It holds no calls.\n{_RECORD}"
    position, difference = nearest
    return (
        f"{message}The nearest of its {count} calls is number {position}; what differs:\n"
        f"{_indented(difference.splitlines())}\n{_RECORD}"
    )


_RECORD = (
    "Record what is new, with the real model: pytest --llm-mock-record new_episodes\n"
    "What should not count when calls are compared is said in the fixture llm_mock_cassette_config."
)


def shown_path(path: Path) -> str:
    """A path as seen from the folder in which pytest runs, where it is below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def unused_recordings(path: Path, requests: Sequence[dict[str, Any]]) -> str:
    """Recorded calls that nobody asked for, a line each."""
    lines = [f"  {shown_path(path)}: {len(requests)} recorded {_calls(len(requests))} not asked for"]
    for request in requests[:5]:
        lines.append(f"    - {shorten_name(request['model'])}  {shorten(request.get('prompt', ''), 80)}")
    return "\n".join([*lines, f"    … {len(requests) - 5} more"] if len(requests) > 5 else lines)


def _calls(number: int) -> str:
    return "call was" if number == 1 else "calls were"


def remove_unused() -> str:
    """What to do about recorded calls that nobody asked for."""
    return "Record anew what is still asked: pytest --llm-mock-record rewrite"


def cassette_kept(path: Path, recorded: int) -> str:
    """A failed test does not replace its cassette."""
    return (
        f"The test failed, so the cassette {shown_path(path)} stays as it was; the {recorded} recorded "
        f"{_calls(recorded)} not written."
    )


def two_claims(path: Path, tests: Sequence[str]) -> str:
    """Several tests have the same cassette."""
    listed = "\n".join(f"  {test}" for test in tests)
    return (
        f"These tests have one cassette, {shown_path(path)}, but each needs its own:\n{listed}\nGive each its own name."
    )


def bad_cassette(error: Exception) -> str:
    """A file cannot be read as a cassette."""
    return f"{error}\nCorrect the cassette, or record it anew: pytest --llm-mock-record rewrite"


def cassette_version(version: Any, known: int) -> str:
    """A cassette of another format."""
    if version is None:
        return f"is no cassette: `version: {known}` is missing"
    return f"has version {version!r}, and this version of pytest-llm-mock reads version {known}"


def cassette_not_written(path: Path, error: Exception) -> str:
    """A cassette could not be written."""
    reason = getattr(error, "strerror", None) or str(error)
    return f"The cassette {shown_path(path)} could not be written: {reason}. What was there is as it was."


def bad_cassette_match(match: Any, known: Sequence[str]) -> str:
    """A call is to be found by a part that it has not."""
    return f"CassetteConfig(match={match!r}): give a tuple of {', '.join(known)}."


def bad_cassette_pattern(error: Exception) -> str:
    """What should be regular expressions are none."""
    return (
        f"CassetteConfig: normalize (unless it is a function) and redact take regular expressions in a tuple: {error}."
    )


def no_cassette_config(value: Any, fields: Sequence[str]) -> str:
    """The fixture gave something else."""
    return (
        f"The fixture llm_mock_cassette_config gave {shorten(value)}. Return a "
        f"llm_mock.cassettes.CassetteConfig({', '.join(f'{field}=…' for field in fields)})."
    )


def bad_record_mode(value: Any, known: Sequence[str]) -> str:
    """A record mode that there is not."""
    return f"{value!r} is no record mode. Choose one of {', '.join(known)}."


def bad_cassette_name(name: Any) -> str:
    """The name of a cassette that is none."""
    return (
        f"llm_mock_cassette({name!r}): the name of a cassette is a relative path below the folder `cassettes` "
        "beside the test, such as 'greeting' or 'shared/greeting.yaml'."
    )


def live_with_cassette() -> str:
    """A test is to call real models, and to be recorded."""
    return (
        "This test is marked llm_live and has a cassette. A live test is never recorded: remove one of the two, and "
        "use --llm-mock-record for what is to be recorded."
    )


def cannot_record(call: CallRecord, error: Exception) -> str:
    """A real model could not be had."""
    return (
        f"The call of {call['model_id']!r} could not be recorded: {type(error).__name__}: {error}\n"
        "Recording needs the plugin of the real model, and its key (`llm keys set`, or its environment variable)."
    )


def call_not_recordable(call: CallRecord, problem: Exception) -> str:
    """A call cannot be written to a cassette."""
    return f"The answer of {call['model_id']!r} to {shorten(call['prompt'])} cannot be recorded: {problem}"


def answer_not_recordable(problem: Exception) -> str:
    """What a model answered is not JSON."""
    first = str(problem).splitlines()
    return f"something of it is no JSON value ({' '.join(line.strip() for line in first[:3])})"


def unknown_event_fields(names: Sequence[str]) -> str:
    """A stream event of a newer `llm`."""
    return f"its stream events have {', '.join(names)}, which cassettes of this version of pytest-llm-mock cannot hold"


def error_not_recordable(error: BaseException) -> str:
    """An exception cannot be made again."""
    return (
        f"it raised {type(error).__module__}.{type(error).__qualname__}, which cannot be raised again with the same "
        "content. Configure it in the test instead: mock_llm_responses.add(model, error)"
    )


def recording_ends_here() -> str:
    """More is read than was recorded."""
    return (
        "When this call was recorded, the application stopped reading here, so there is no more. "
        "Record it anew: pytest --llm-mock-record rewrite"
    )


def bad_marker(arguments: Any, keywords: Any) -> str:
    """The marker was given what it does not take."""
    given = ", ".join([*map(repr, arguments), *(f"{name}={value!r}" for name, value in keywords.items())])
    example = "llm_mock_cassette('greeting', record='once')"
    return f"llm_mock_cassette({given}): it takes a name and record=, such as {example}."


def call_not_comparable(call: CallRecord, error: Exception) -> str:
    """A call cannot be compared with recorded ones."""
    return (
        f"The call of {call['model_id']!r} with {shorten(call['prompt'])} could not be looked up in the cassette: "
        f"{type(error).__name__}: {error}. Is the function normalize of llm_mock_cassette_config right?"
    )


def call_under_way(call: CallRecord) -> str:
    """The test ended before a recorded call was answered."""
    return (
        f"The call of {call['model_id']!r} with {shorten(call['prompt'])} was under way when the test ended, so it is "
        "not in the cassette. Have the test wait for it."
    )


def call_cancelled(call: CallRecord, error: BaseException) -> str:
    """The application cancelled a call while it was recorded."""
    return (
        f"The call of {call['model_id']!r} with {shorten(call['prompt'])} ended with {type(error).__name__} while it "
        "was recorded, which a cassette cannot hold. For a model that is too slow use mock_llm_responses.set_latency()."
    )
