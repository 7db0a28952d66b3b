"""A pytest plugin that changes the calls of hand-made models, to see which changes a test notices.

`llm-mock migrate` loads it into a run of the old tests, together with `migration_run`.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import functools
import inspect
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

import llm
import pytest

from llm_mock.behaviour.changed_values import OTHER_TEXT, SECOND_TEXT, change_json
from llm_mock.plugin.guard import begin, guard, reporting_hook
from llm_mock.plugin.migration_run import get_function_name, read_plan, write_result
from llm_mock.plugin.model_recorder import (
    Arguments,
    CallReplacement,
    Double,
    Keywords,
    list_prompt_methods,
    watch_patches,
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
KINDS = {*EMPTY_ARGUMENTS, *REPLY_KINDS, DROPPED}
"""The kinds of changes that a double of a model allows.

Another model is none of them: a call of a double does not know for which name it was made.
"""
Change = tuple[str, int]
"""The kind of a change, and the number of the call from 1."""
Execute = Callable[[Arguments, Keywords], object]


class DoubleChanger:
    """Changes the calls of doubles: mocks and objects that a test made to stand for a model."""

    def __init__(self) -> None:
        self._prompt_methods: dict[int, object] = {}
        """By identity, all that have been seen."""
        self.start()

    def start(self, change: Change | None = None) -> None:
        """Begin a run of a test, with a change or without."""
        self._change = change
        self.calls = 0
        """The number of calls so far; the retries of a failed one are the same call."""
        self._failed_arguments = ""

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Watch the doubles of all tests until `monkeypatch` is undone."""
        watch_patches(monkeypatch, self._watch_target)
        # Not in `__all__`, but the class that makes mocks callable, in all versions of Python.
        mixin: Double = mock.CallableMixin
        call_unchanged = mixin.__call__

        def call(double: Double, /, *args: object, **kwargs: object) -> object:
            if id(double) not in self._prompt_methods:
                return call_unchanged(double, *args, **kwargs)
            return self._prompt_mock(double, args, kwargs)

        monkeypatch.setattr(mixin, "__call__", call)

    def _watch_target(self, target: str) -> CallReplacement:
        return self._request_model

    def _request_model(self, replacement: Double, args: Arguments, kwargs: Keywords) -> object:
        model = replacement(*args, **kwargs)
        for owner, name, method in list_prompt_methods(model):
            if id(method) in self._prompt_methods:
                continue
            if not isinstance(method, mock.NonCallableMock):
                method = self._wrap(method)
                try:
                    vars(owner)[name] = method
                except TypeError:
                    # A class, or an object with slots: its calls are not changed.
                    continue
            self._prompt_methods[id(method)] = method
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
            # Private, and the two halves of a call. A changed request is recorded only: as with
            # `--llm-mock-mutate`, the reply is that to the unchanged one.
            if not self._is_changed_by(DROPPED):
                double._increment_mock_call(*recorded_args, **recorded_kwargs)
            return double._execute_mock_call(*args, **kwargs)

        return self._prompt(execute, args, kwargs)

    def _is_changed_by(self, kind: str) -> bool:
        """Return whether the current call has a change of this kind."""
        return self._change == (kind, self.calls)

    def _prompt(
        self,
        execute: Execute,
        args: Arguments,
        kwargs: Keywords,
    ) -> object:
        """Make a call of a double, with the change if it is that of this call."""
        arguments = repr((args, kwargs))
        if arguments != self._failed_arguments:
            self.calls += 1
        self._failed_arguments = ""
        schema = schemas.to_json_schema(kwargs.get("schema"))
        for name, value in EMPTY_ARGUMENTS.items():
            if not self._is_changed_by(name):
                continue
            if name in kwargs:
                kwargs = {**kwargs, name: value}
            elif name == "prompt":
                args = (value, *args[1:])
        try:
            response = execute(args, kwargs)
        except Exception:
            self._failed_arguments = arguments
            raise
        for kind in REPLY_KINDS:
            if self._is_changed_by(kind):
                return _ChangedResponse(response, kind, schema)
        return response


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
    """Return data of which the part that has the schema is changed; all of it without a schema."""
    if not schema or next(schemas.find_violations(schema, data), None) is None:
        return change_json(data, schema)
    # Code of some applications reads the payload of a provider, which has the data within.
    if isinstance(data, dict):
        return {name: _change_valid(value, schema) for name, value in data.items()}
    if isinstance(data, list):
        return [_change_valid(value, schema) for value in data]
    return data


class DoubleChanges(SilentRuns):
    """A pytest plugin that runs old tests again with one change of a double at a time.

    Args:
        changes: the changes to make, by the path and name of a test.
        results: the file to which the noticed ones are added.
    """

    def __init__(
        self,
        changes: Mapping[tuple[str, str], Sequence[Change]],
        results: Path,
    ) -> None:
        super().__init__()
        self._results = results
        self._changes = changes
        self._changer = DoubleChanger()
        self._items: list[pytest.Item] = []

    def begin_test(self, item: pytest.Item) -> None:
        """Count the calls of a test from here on."""
        self._changer.start()

    def end_test(self, item: pytest.Item, teardown: pytest.TestReport) -> None:
        """Note a test that passed and called a double."""
        if self._changer.calls and has_passed(self.reports):
            self._items.append(item)

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
        following = [*self._items[1:], None]
        for item, next_item in zip(self._items, following, strict=True):
            self._run_changed(item)
            # Wider fixtures live on if the next test uses them.
            tear_down(session, next_item)

    def _run_changed(self, item: pytest.Item) -> None:
        self._changer.start()
        if self.run_silently(item):
            # It fails when it runs again, so nothing is known of its changes.
            return
        path = str(item.path)
        name = get_function_name(item)
        for change in self._changes[path, name]:
            self._changer.start(change)
            if self.run_silently(item):
                result = {
                    "path": path,
                    "name": name,
                    "noticed": change,
                }
                write_result(self._results, result)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin; its changes are those of the plan of the run."""
    begin(config)
    changes = defaultdict(list)
    plan = read_plan()
    for path, name, kind, number in plan["changes"]:
        if kind in KINDS:
            changes[path, name].append((kind, number))
    results = Path(plan["results"])
    config.pluginmanager.register(DoubleChanges(changes, results))
