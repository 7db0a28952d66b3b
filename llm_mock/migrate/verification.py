"""Keep only those rewritten tests that a run confirms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llm_mock.behaviour.mutations import KINDS
from llm_mock.migrate.file import FileResult, Findings
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.preparations import AUTOSPEC, find_preparations
from llm_mock.migrate.test_runs import (
    Change,
    PytestRun,
    TestKey,
    TestOutcome,
    find_noticed_changes,
    run_new_tests,
)
from llm_mock.support.text import format_count

RewriteFile = Callable[[FileResult, Findings], FileResult]

_REFUSAL = re.compile(
    # The provider's status, as SDKs and the failures of our own plugin tell it.
    r"Error code: 4\d\d"
    r"|refuses this call to the model"
    # An argument that the method of a client does not have.
    r"|create\(\) got an unexpected keyword argument"
    # A name of a model from which litellm cannot tell the provider.
    r"|LLM Provider NOT provided"
)
SEE_DRY_RUN = "Without --write the command shows the new test."


@dataclass
class VerifiedFile:
    """A file with the rewritten tests that a run confirmed.

    Attributes:
        result: the file.
        tests: the results of its new tests, by name.
    """

    result: FileResult
    tests: dict[str, TestOutcome] = field(default_factory=dict)


class RewriteVerifier:
    """Runs rewritten tests and leaves those alone that are not as good as the old ones.

    Args:
        results: the rewritten files.
        old: the run of the old tests.
        rewrite: rewrites a file again, as far as the findings about its tests allow.
    """

    def __init__(
        self,
        results: Iterable[FileResult],
        old: PytestRun,
        rewrite: RewriteFile,
    ) -> None:
        self._results = {result.path: result for result in results}
        self._old = old
        self._rewrite = rewrite
        self._unused: dict[Path, dict[str, int]] = {}
        self._preparations: dict[Path, dict[str, list[str]]] = {}
        """The preparations that the new tests of a file need, by their names."""
        self._lost: Mapping[TestKey, Sequence[Change]] = {}
        """The changes that an old test notices and the new one does not."""

    def verify(self) -> list[VerifiedFile]:
        """Return the files, of those that changed with the tests that passed before and after."""
        changed = [result for result in self._results.values() if result.changed]
        new = _run(changed)
        while True:
            again = []
            for path in self._results:
                if self._learn(path, new):
                    again.append(self._rewrite_again(path))
            if not again:
                break
            retried = _run(again)
            new.results.update(retried.results)
        self._lost = self._find_lost_changes(changed, new)
        return [self._verify_file(result, new) for result in self._results.values()]

    def _learn(self, path: Path, new: PytestRun) -> bool:
        """Note why new tests of a file fail, and return whether something is new.

        The mock notices replies that nobody asks for, which no old test did, and a real client
        needs the version and the place of its API, or a key. A model that a plugin of `llm`
        registers refuses what a `Mock` accepts.
        """
        result = self._results[path]
        unused = self._unused.setdefault(path, {})
        known = self._preparations.setdefault(path, {})
        has_learned = False
        for name, test in self._list_failed(result, new):
            missing = _find_preparations(test, known.get(name, []))
            if missing:
                known[name] = [*known.get(name, []), *missing]
            is_new = name not in unused and name not in result.fixtures
            is_unused = test.unused > 0 and is_new
            if is_unused:
                unused[name] = test.unused
            has_learned |= is_unused or bool(missing)
        return has_learned

    def _list_failed(self, result: FileResult, new: PytestRun) -> Iterator[tuple[str, TestOutcome]]:
        """Yield the failed tests of a file, and those that fail with a fixture for an agent."""
        for name in result.changed:
            key = (str(result.path), name)
            test = new.results.get(key)
            if test is not None and self._has_failed(key, test):
                yield name, test
        for name in sorted(result.fixtures & result.agents):
            for _, user in _list_users(new, result.path, name):
                if not user.passed:
                    yield name, user

    def _has_failed(self, key: TestKey, test: TestOutcome) -> bool:
        """Return whether a new test fails, or passes without a call because a model refused it."""
        if test.is_refused:
            return bool(_compare(self._old.get_result(key), test))
        return not test.passed

    def _rewrite_again(self, path: Path) -> FileResult:
        findings = Findings({}, self._unused[path], self._preparations[path])
        result = self._rewrite(self._results[path], findings)
        self._results[path] = result
        return result

    def _find_lost_changes(
        self,
        changed: Iterable[FileResult],
        new: PytestRun,
    ) -> Mapping[TestKey, Sequence[Change]]:
        missed = {}
        for key, test in new.results.items():
            if test.passed and test.missed and self._old.get_result(key).passed:
                missed[key] = test
        if not missed:
            return {}
        paths = [result.path for result in changed]
        return find_noticed_changes(paths, missed)

    def _verify_file(
        self,
        result: FileResult,
        new: PytestRun,
    ) -> VerifiedFile:
        path = result.path
        refused: dict[str, CannotRewrite] = {}
        current = result
        while True:
            more = dict(self._find_problems(path, result, current, new))
            if more.keys() <= refused.keys():
                break
            refused.update(more)
            # A fixture and the tests that need its mock stay together.
            findings = Findings(refused, self._unused[path], self._preparations[path])
            current = self._rewrite(result, findings)
        tests = {}
        for name in current.changed:
            if name not in current.fixtures:
                key = (str(path), name)
                tests[name] = new.get_result(key)
        return VerifiedFile(current, tests)

    def _find_problems(
        self,
        path: Path,
        result: FileResult,
        current: FileResult,
        new: PytestRun,
    ) -> Iterator[tuple[str, CannotRewrite]]:
        """Yield the changed functions that are to stay as they were, with the reason."""
        for name in current.changed:
            if name in current.fixtures:
                problem = self._check_fixture(path, name, result, current, new)
            else:
                key = str(path), name
                problem = _compare(self._old.get_result(key), new.get_result(key))
                if not problem and name in current.agents:
                    problem = _describe_silence(new.get_result(key))
                problem = problem or _describe_lost(self._lost.get(key))
            if problem:
                yield name, CannotRewrite(problem, SEE_DRY_RUN)

    def _check_fixture(
        self,
        path: Path,
        name: str,
        result: FileResult,
        current: FileResult,
        new: PytestRun,
    ) -> str:
        """Return why a fixture is to stay as it was; empty if it may change."""
        for key, test in _list_users(new, path, name):
            test_path, test_name = key
            was_refused = test_name in result.changed and test_name not in current.changed
            if test_path == str(path) and was_refused:
                return f"{test_name} uses it and stays as it is"
            problem = self._check_user(key, test)
            if not problem and name in result.agents:
                problem = _describe_silence(test)
                problem = f": {problem}" if problem else ""
            if problem:
                return f"{test_name} uses it{problem}"
        # The new tests may no longer request it, and then have a result of their own.
        if _list_users(self._old, path, name):
            return ""
        return "pytest runs no test that uses it"

    def _check_user(self, key: TestKey, test: TestOutcome) -> str:
        """Return why a test is worse with a rewritten fixture; empty if it is not."""
        if self._old.get_result(key).passed and not test.passed:
            return f" and then fails: {test.problem}"
        lost = _describe_lost(self._lost.get(key))
        return f": {lost}" if lost else ""


def _find_preparations(test: TestOutcome, known: Sequence[str]) -> list[str]:
    """Return the preparations that a failed test needs, without those that are known."""
    names = find_preparations(test.problem)
    if test.is_refused:
        names.append(AUTOSPEC)
    return [name for name in names if name not in known]


def _list_users(run: PytestRun, path: Path, name: str) -> list[tuple[TestKey, TestOutcome]]:
    """Return the results of the tests that use a fixture of a file."""
    users = []
    for key, test in run.results.items():
        if name in test.fixtures and _is_in_scope(Path(key[0]), path):
            users.append((key, test))
    return users


def _run(results: Sequence[FileResult]) -> PytestRun:
    names = []
    sources = {}
    for result in results:
        path = result.path
        sources[path] = result.encoded
        for name in result.changed:
            key = (str(path), name)
            names.append(key)
    if not names:
        return PytestRun()
    return run_new_tests(sources, names)


def _is_in_scope(test_path: Path, path: Path) -> bool:
    """Return whether a test may use the fixtures of a file."""
    if test_path == path:
        return True
    if path.name != "conftest.py":
        return False
    return path.parent in test_path.parents


def _describe_failure(test: TestOutcome) -> str:
    """Return why a rewritten test fails, as far as the message of its exception shows."""
    # The advice follows as the next sentence.
    problem = test.problem.removesuffix(".")
    if _REFUSAL.search(problem):
        return f"the real SDK refuses what this test sends: {problem}"
    if test.servers:
        servers = " ".join(sorted(test.servers))
        return (
            f"the rewritten test calls a server on this machine: {problem}. The mock answers for "
            f"it if you add {servers} to ini llm_mock_hosts; then run this again"
        )
    return f"the rewritten test fails: {problem}"


def _compare(old: TestOutcome, new: TestOutcome) -> str:
    """Return why a rewritten test is not as good as the old one; empty if it is."""
    if not old.passed:
        reason = "the test does not pass as it is, so a change of it cannot be verified"
        return f"{reason}: {old.problem}"
    if not new.passed:
        return _describe_failure(new)
    if old.calls is None or new.calls is None:
        return ""
    if old.calls != new.calls:
        before = format_count(old.calls, "call")
        after = format_count(new.calls, "call")
        return f"the old mock had {before}, and the rewritten test has {after}"
    return ""


def _describe_silence(new: TestOutcome) -> str:
    """Return that a test without the old model of its agent does not ask the mock; else nothing.

    Such a test may pass with nothing but a model that it has in the place of the real one.
    """
    if new.calls or not new.passed:
        return ""
    return "the rewritten test does not call the mock, so the agent has no model of a provider"


def _describe_lost(changes: Sequence[Change] | None) -> str:
    """Return that a new test does not notice some changes; empty without them."""
    if not changes:
        return ""
    described = []
    for kind, number in changes:
        text = KINDS[kind].description
        described.append(f"where {text} (call {number})")
    listed = ", ".join(described)
    return f"the old test fails, and the rewritten one passes, {listed}"
