"""A pytest plugin that changes the calls to hand-made doubles, to see what a test notices.

A double stands for a model of `llm` or for an SDK client.

`llm-mock migrate` loads it into a run of the old tests, together with `migration_run`.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import functools
import inspect
import json
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from types import FunctionType
from typing import NamedTuple
from unittest import mock

import llm
import pytest

from llm_mock.behaviour.changed_values import OTHER_TEXT, SECOND_TEXT, change_json
from llm_mock.migrate.test_runs import NewRun, get_id_in_file
from llm_mock.plugin.changed_responses import ChangedAnswer, change_response
from llm_mock.plugin.client_doubles import (
    find_library,
    find_mock_library,
    is_client_class,
    is_model_method,
    list_methods,
    make_overload,
)
from llm_mock.plugin.guard import begin, guard, reporting_hook
from llm_mock.plugin.migration_run import get_function_name, read_plan, write_result
from llm_mock.plugin.model_recorder import (
    Arguments,
    CallReplacement,
    Double,
    Keywords,
    install_proxy,
    list_prompt_methods,
    watch_replacements,
)
from llm_mock.plugin.silent_runs import SilentRuns, has_passed, tear_down
from llm_mock.support import schemas
from llm_mock.support.json_types import JSON, JSONObject

EMPTY_ARGUMENTS: dict[str, JSON] = {
    "prompt": "",
    "system": "",
    "schema": None,
    "tools": None,
}
"""The kinds of changed requests, named as the argument of `prompt` that they empty."""
REPLY_KINDS = frozenset(("text", "data", "empty", "error"))
"""The kinds of changed replies."""
DROPPED = "dropped-call"
MODEL_KINDS = {*EMPTY_ARGUMENTS, *REPLY_KINDS, DROPPED}
"""The kinds of changes that a double of a model allows.

Another model is not among them, because a double does not know for which name it was called.
"""
CLIENT_KINDS = {*REPLY_KINDS, "no-tool-call", "arguments", DROPPED}
"""The kinds of changes that a double of a client allows."""
Change = tuple[str, int]
"""The kind of a change, and the number of the call from 1."""
Execute = Callable[[Arguments, Keywords], object]


class DoubleChanger:
    """Changes the calls of doubles: mocks and objects that a test made to stand for a model."""

    def __init__(self) -> None:
        self._prompt_methods: dict[int, object] = {}
        """All methods that were seen, by identity."""
        self._client_methods: dict[int, tuple[object, str]] = {}
        """The replaced methods of clients by identity, each with its SDK."""
        self._client_classes: dict[int, object] = {}
        self.counts_clients = True
        """Whether calls to clients are counted and changed."""
        self.start()

    def start(self, change: Change | None = None, answer: JSONObject | None = None) -> None:
        """Begin a run of a test.

        Args:
            change: the change to make; None for none.
            answer: the changed answer of a client; see `NewRun`.
        """
        self._change = change
        self._answer = answer
        self.calls = 0
        """The number of calls so far; the retries of a failed one are the same call."""
        self.called_model = False
        self.called_client = False
        self._failed_arguments: str | None = None
        self._busy_threads: set[int] = set()
        """The threads in which a double of a client makes its answer."""

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Watch the doubles of all tests until `monkeypatch` is undone."""
        watch_replacements(monkeypatch, self._note_replacement)
        # Not in `__all__`, but all versions of Python have this class, which makes mocks callable.
        mixin: Double = mock.CallableMixin
        call_unchanged = mixin.__call__

        def call(double: Double, /, *args: object, **kwargs: object) -> object:
            if id(double) in self._prompt_methods:
                return self._prompt_mock(double, args, kwargs)
            library = self._find_client_library(double, kwargs)
            if library is not None:
                return self._ask_mock(double, library, args, kwargs)
            result = call_unchanged(double, *args, **kwargs)
            if id(double) in self._client_classes:
                self._watch_client(result)
            return result

        monkeypatch.setattr(mixin, "__call__", call)

    def _note_replacement(self, owner: Double, name: str, original: object) -> None:
        """Watch the replacement of a function, a method or a class."""
        install_proxy(owner, name, self._watch_target)
        library = find_library(original)
        if library is None:
            return
        replacement = getattr(owner, name)
        is_mock = isinstance(replacement, mock.NonCallableMock)
        if is_client_class(original):
            if is_mock:
                self._client_classes[id(replacement)] = replacement
            elif callable(replacement):
                setattr(owner, name, self._wrap_client_class(replacement))
        elif is_model_method(original):
            if is_mock:
                self._client_methods[id(replacement)] = replacement, library
            elif isinstance(replacement, FunctionType):
                setattr(owner, name, self._wrap_client_method(replacement, library))

    def _watch_target(self, target: str) -> CallReplacement:
        return self._request_model

    def _request_model(self, replacement: Double, args: Arguments, kwargs: Keywords) -> object:
        model = replacement(*args, **kwargs)
        for owner, name, method in list_prompt_methods(model):
            if id(method) in self._prompt_methods:
                continue
            watched = _watch_method(owner, name, method, self._wrap)
            if watched is not None:
                self._prompt_methods[id(watched)] = watched
        return model

    def _wrap(self, method: Double) -> object:
        """Return a method of a fake whose calls are changed."""

        @functools.wraps(method)
        def prompt(*args: object, **kwargs: object) -> object:
            def execute(args: Arguments, kwargs: Keywords) -> object:
                return method(*args, **kwargs)

            return self._prompt(execute, args, kwargs)

        return prompt

    def _prompt_mock(
        self,
        double: Double,
        args: Arguments,
        kwargs: Keywords,
    ) -> object:
        def execute(recorded_args: Arguments, recorded_kwargs: Keywords) -> object:
            # The change is only recorded: as with `--llm-mock-mutate`, the reply is the one to the
            # unchanged request.
            self._record(double, recorded_args, recorded_kwargs)
            return double._execute_mock_call(*args, **kwargs)

        return self._prompt(execute, args, kwargs)

    def _record(self, double: Double, args: Arguments, kwargs: Keywords) -> None:
        """Let a mock record a call unless the change drops the call."""
        if self._kind != DROPPED:
            # Private: a mock first records a call, and then executes it in `_execute_mock_call`.
            double._increment_mock_call(*args, **kwargs)

    def _count(self, arguments: str) -> None:
        """Count a call, unless it repeats a failed one."""
        if arguments != self._failed_arguments:
            self.calls += 1
        self._failed_arguments = None

    @property
    def _kind(self) -> str:
        """The kind of the change of the current call; empty if it has none."""
        kind, number = self._change or ("", 0)
        return kind if number == self.calls else ""

    def _prompt(
        self,
        execute: Execute,
        args: Arguments,
        kwargs: Keywords,
    ) -> object:
        """Call a double; change the call if the change is for this call."""
        arguments = repr((args, kwargs))
        self._count(arguments)
        self.called_model = True
        kind = self._kind
        schema = schemas.to_json_schema(kwargs.get("schema"))
        if kind in EMPTY_ARGUMENTS:
            value = EMPTY_ARGUMENTS[kind]
            if kind in kwargs:
                kwargs = {**kwargs, kind: value}
            elif kind == "prompt":
                args = (value, *args[1:])
        try:
            response = execute(args, kwargs)
        except Exception:
            self._failed_arguments = arguments
            raise
        if kind in REPLY_KINDS:
            return _ChangedResponse(response, kind, schema)
        return response

    # Clients of SDKs

    def _wrap_client_class(self, replacement: Double) -> object:
        """Return a function that makes a test's client, whose calls are then changed."""

        @functools.wraps(replacement)
        def make_client(*args: object, **kwargs: object) -> object:
            client = replacement(*args, **kwargs)
            self._watch_client(client)
            return client

        return make_client

    def _watch_client(self, client: Double) -> None:
        """Watch the methods of a client that are not attributes of mocks."""
        for owner, name, method, library in list_methods(client):
            if id(method) in self._client_methods:
                continue
            wrap = functools.partial(self._wrap_client_method, library=library)
            watched = _watch_method(owner, name, method, wrap)
            if watched is not None:
                self._client_methods[id(watched)] = watched, library

    def _wrap_client_method(self, method: Double, library: str) -> object:
        """Return a function or method of a fake client whose calls are changed."""

        @functools.wraps(method)
        def ask(*args: object, **kwargs: object) -> object:
            def execute() -> object:
                return method(*args, **kwargs)

            if not self._counts_call():
                return execute()
            return self._ask(execute, repr((args, kwargs)), library)

        return ask

    def _counts_call(self) -> bool:
        """Return whether a call to a client counts if it is made now."""
        # A mock may call another one to make its answer.
        is_busy = threading.get_ident() in self._busy_threads
        return self.counts_clients and not is_busy

    def _find_client_library(self, double: Double, kwargs: Keywords) -> str | None:
        """Return the SDK of a mocked client method; None for other mocks."""
        if not self._counts_call():
            return None
        known = self._client_methods.get(id(double))
        return known[1] if known is not None else find_mock_library(double, kwargs)

    def _ask_mock(
        self,
        double: Double,
        library: str,
        args: Arguments,
        kwargs: Keywords,
    ) -> object:
        def execute() -> object:
            self._record(double, args, kwargs)
            return double._execute_mock_call(*args, **kwargs)

        return self._ask(execute, repr((args, kwargs)), library)

    def _ask(
        self,
        execute: Callable[[], object],
        arguments: str,
        library: str,
    ) -> object:
        """Call a client's double; change the call if the change is for this call."""
        self._count(arguments)
        self.called_client = True
        kind = self._kind
        thread = threading.get_ident()
        self._busy_threads.add(thread)
        try:
            response = execute()
        except Exception:
            self._failed_arguments = arguments
            raise
        finally:
            self._busy_threads.remove(thread)
        if inspect.isawaitable(response):
            return self._answer_later(response, kind, arguments, library)
        return self._answer_call(response, kind, arguments, library)

    async def _answer_later(
        self,
        awaitable: Awaitable[object],
        kind: str,
        arguments: str,
        library: str,
    ) -> object:
        try:
            response = await awaitable
        except Exception:
            self._failed_arguments = arguments
            raise
        return self._answer_call(response, kind, arguments, library)

    def _answer_call(
        self,
        response: object,
        kind: str,
        arguments: str,
        library: str,
    ) -> object:
        """Return the response of a double, changed if `kind` is the kind of a changed reply."""
        if kind == "error":
            error = make_overload(library)
            if error is not None:
                self._failed_arguments = arguments
                raise error
        if not kind or self._answer is None:
            return response
        answer = ChangedAnswer(kind, **self._answer)
        changed: object = change_response(response, answer)
        return changed


def _watch_method(
    owner: object,
    name: str,
    method: object,
    wrap: Callable[[Double], object],
) -> object | None:
    """Watch the calls to a double's method; calls to mocks are always watched.

    Returns:
        The method that the owner has from now on; None if its method cannot be replaced.
    """
    if isinstance(method, mock.NonCallableMock):
        return method
    wrapped = wrap(method)
    try:
        vars(owner)[name] = wrapped
    except TypeError:
        # A class, or an object with slots: its calls are not changed.
        return None
    return wrapped


class _ChangedResponse:
    """The response of a double with other content.

    Args:
        response: the response.
        kind: one of `REPLY_KINDS`.
        schema: the JSON schema that the call asks for; None without one.
    """

    def __init__(
        self,
        response: Double,
        kind: str,
        schema: JSONObject | None,
    ) -> None:
        self._response = response
        self._kind = kind
        self._schema = schema

    def __getattr__(self, name: str) -> object:
        return getattr(self._response, name)

    def __await__(self) -> Generator[object, object, _ChangedResponse]:
        response = yield from self._response.__await__()
        return _ChangedResponse(response, self._kind, self._schema)

    def __iter__(self) -> Iterator[str]:
        yield self._change_text("".join(self._response))

    def __str__(self) -> str:
        return self._change_text(str(self._response))

    def text(self) -> object:
        return self._read(self._response.text(), self._change_text)

    def json(self) -> object:
        return self._read(self._response.json(), self._change_data)

    def _read(
        self,
        value: object,
        change: Callable[[JSON], object],
    ) -> object:
        if inspect.isawaitable(value):
            return _change_later(value, change)
        return change(value)

    def _change_text(self, text: str) -> str:
        self._fail_on_error()
        if self._kind == "empty":
            return ""
        try:
            data = json.loads(text)
        except ValueError:
            return SECOND_TEXT if text == OTHER_TEXT else OTHER_TEXT
        changed = _change_valid(data, self._schema)
        return json.dumps(changed)

    def _change_data(self, data: JSON) -> JSON:
        self._fail_on_error()
        if self._kind == "empty":
            return {}
        return _change_valid(data, self._schema)

    def _fail_on_error(self) -> None:
        if self._kind == "error":
            raise llm.ModelError("The model is overloaded.")


async def _change_later(
    value: Awaitable[JSON],
    change: Callable[[JSON], object],
) -> object:
    return change(await value)


def _change_valid(data: JSON, schema: JSONObject | None) -> JSON:
    """Return data with a changed part: the part with the schema, or all without a schema."""
    if not schema or next(schemas.find_violations(schema, data), None) is None:
        return change_json(data, schema)
    # Some applications read the payload of the provider, which contains the data.
    if isinstance(data, dict):
        return {name: _change_valid(value, schema) for name, value in data.items()}
    if isinstance(data, list):
        return [_change_valid(value, schema) for value in data]
    return data


class _ChangedTest(NamedTuple):
    """A test that runs again with changes.

    Attributes:
        item: the test.
        key: its path and name.
        changes: the changes to make.
        new_run: the calls of the rewritten test; None if they are unknown.
        changes_clients: whether calls to clients are counted and changed.
    """

    item: pytest.Item
    key: tuple[str, str]
    changes: Sequence[Change]
    new_run: NewRun | None
    changes_clients: bool


class DoubleChanges(SilentRuns):
    """A pytest plugin that runs old tests again with one change of a double at a time.

    Args:
        changes: the changes to make, by the path and name of a test.
        new_runs: the calls of the rewritten tests, by the path and the id in its file.
        results: the file to which the noticed ones are added.
    """

    def __init__(
        self,
        changes: Mapping[tuple[str, str], Sequence[Change]],
        new_runs: Mapping[tuple[str, str], NewRun],
        results: Path,
    ) -> None:
        super().__init__()
        self._results = results
        self._changes = changes
        self._new_runs = new_runs
        self._changer = DoubleChanger()
        self._tests: list[_ChangedTest] = []

    def begin_test(self, item: pytest.Item) -> None:
        """Count the calls of a test from here on."""
        self._changer.counts_clients = True
        self._changer.start()

    def end_test(self, item: pytest.Item, teardown: pytest.TestReport) -> None:
        """Note a passed test that called a double, if changes are planned for it."""
        if not self._changer.calls or not has_passed(self.reports):
            return
        test = self._plan_changes(item)
        if test.changes:
            self._tests.append(test)

    def _plan_changes(self, item: pytest.Item) -> _ChangedTest:
        """Return the changes of the test that ran last.

        Clients are changed only if both tests make the same number of calls: otherwise calls with
        the same number may be different calls.
        """
        key = str(item.path), get_function_name(item)
        new_run = self._new_runs.get((key[0], get_id_in_file(item.nodeid)))
        changer = self._changer
        kinds: set[str] = set()
        if changer.called_model:
            kinds |= MODEL_KINDS
        is_same = new_run is not None and new_run["calls"] == changer.calls
        changes_clients = is_same and changer.called_client
        if changes_clients:
            kinds |= CLIENT_KINDS
        changes = [change for change in self._changes[key] if change[0] in kinds]
        return _ChangedTest(
            item,
            key,
            changes,
            new_run,
            changes_clients,
        )

    @reporting_hook(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Run the changed tests after all others."""
        with pytest.MonkeyPatch.context() as monkeypatch:
            self._changer.watch(monkeypatch)
            result = yield
            self._run_all(session)
        return result

    @guard
    def _run_all(self, session: pytest.Session) -> None:
        self.is_rerun = True
        following = [test.item for test in self._tests[1:]]
        for test, next_item in zip_longest(self._tests, following):
            self._run_changed(test)
            # Fixtures of wider scopes stay alive if the next test uses them.
            tear_down(session, next_item)

    def _run_changed(self, test: _ChangedTest) -> None:
        changer = self._changer
        changer.counts_clients = test.changes_clients
        noticed = []
        for change in test.changes:
            answer = _find_answer(test.new_run, change)
            changer.start(change, answer)
            if self.run_silently(test.item):
                noticed.append(change)
        if not noticed:
            return
        changer.start()
        if self.run_silently(test.item):
            # It also fails without a change, so nothing is known of its changes.
            return
        path, name = test.key
        for change in noticed:
            result = {
                "path": path,
                "name": name,
                "noticed": change,
            }
            write_result(self._results, result)


def _find_answer(new_run: NewRun | None, change: Change) -> JSONObject | None:
    """Return the answer of a changed call of the rewritten test; None if it has none."""
    if new_run is None:
        return None
    for kind, number, answer in new_run["answers"]:
        if (kind, number) == change:
            return answer
    return None


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin; its changes are those of the plan of the run."""
    begin(config)
    changes = defaultdict(list)
    plan = read_plan()
    for path, name, kind, number in plan["changes"]:
        changes[path, name].append((kind, number))
    new_runs = {(path, test_id): run for path, test_id, run in plan["new_runs"]}
    results = Path(plan["results"])
    config.pluginmanager.register(DoubleChanges(changes, new_runs, results))
