"""Keep only the rewritten tests that a run confirms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from llm_mock.behaviour.mutations import KINDS
from llm_mock.migrate.copied_fixtures import copy_fixtures
from llm_mock.migrate.file import NO_FINDINGS, FileResult, Findings
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
from llm_mock.support.text import format_count, format_path

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
    """Runs rewritten tests and keeps the old form of each test whose new form is worse.

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
        self._removed: dict[Path, frozenset[str]] = {}
        """The fixtures of each conftest.py that are removed."""
        self._lost: dict[TestKey, Sequence[Change]] = {}
        """The changes that an old test notices and the new one does not."""

    def verify(self) -> list[VerifiedFile]:
        """Return all files; a changed file has only new tests that passed in both forms."""
        self._remove_hiding_fixtures()
        changed = [result for result in self._results.values() if result.changed]
        new = self._run(changed)
        while True:
            again = []
            for path in self._results:
                if self._learn(path, new):
                    again.append(self._rewrite_again(path))
            if not again:
                break
            retried = self._run(again)
            new.results.update(retried.results)
        self._lost = dict(self._find_lost_changes(changed, new))
        files = [self._verify_file(result, new) for result in self._results.values()]
        return self._confirm_removals(files, new)

    def _remove_hiding_fixtures(self) -> None:
        """Remove the fixtures that hide our mock from new tests."""
        changed_folders: set[Path] = set()
        for result in self._results.values():
            if result.changed:
                changed_folders.update(result.path.parents)
        for path, result in self._results.items():
            if result.hiding and path.parent in changed_folders:
                self._removed[path] = result.hiding
                findings = self._get_findings(path)
                self._results[path] = self._rewrite(result, findings)

    def _run(self, results: Sequence[FileResult], *, all_tests: bool = False) -> PytestRun:
        """Run the new tests of files, or all their tests, without the removed fixtures."""
        names = []
        sources = {}
        for result in results:
            path = result.path
            sources[path] = result.encoded
            # All tests may use a fixture that is removed, whether they name it or not.
            all_tests |= path in self._removed
            for name in result.changed:
                key = (str(path), name)
                names.append(key)
        if not sources or not (names or all_tests):
            return PytestRun()
        conftests = {path: self._results[path].encoded for path in self._removed}
        return run_new_tests(sources, () if all_tests else names, conftests)

    def _confirm_removals(
        self,
        files: Sequence[VerifiedFile],
        new: PytestRun,
    ) -> list[VerifiedFile]:
        """Return the files, with the old tests where a test needs a removed fixture."""
        if not self._removed:
            return list(files)
        partly = []
        for file in files:
            result = file.result
            path = result.path
            left = set(self._results[path].changed) - set(result.changed)
            for name in left:
                # Only the new form of the test misses these changes.
                self._lost.pop((str(path), name), None)
            if left:
                self._results[path] = result
                partly.append(result)
        # So far, their unchanged tests ran only in the new form.
        again = self._run(partly, all_tests=True)
        new.results.update(again.results)
        for conftest in list(self._removed):
            needs = self._find_needs(conftest, new)
            if not needs:
                continue
            copied = self._copy_fixtures(conftest, needs)
            if copied:
                files = [copied.get(file.result.path, file) for file in files]
            else:
                need = next(iter(needs.values()))
                files = self._restore_files(files, conftest, need)
        return list(files)

    def _find_needs(self, conftest: Path, new: PytestRun) -> dict[Path, str]:
        """Return the files that need the removed fixtures of a conftest.py, each with a test."""
        needs: dict[Path, str] = {}
        for key, old in self._old.results.items():
            path = Path(key[0])
            if not old.passed or conftest.parent not in path.parents:
                continue
            problem = self._find_loss(key, new)
            if problem:
                shown = format_path(path)
                needs.setdefault(path, f"{key[1]} in {shown} needs it: {problem}")
        return needs

    def _find_loss(self, key: TestKey, new: PytestRun) -> str:
        """Return why a test is worse without the removed fixtures; empty if it is not."""
        test = new.get_result(key)
        if not test.passed:
            return f"it fails without it: {test.problem}"
        return _describe_lost(self._lost.get(key))

    def _copy_fixtures(
        self,
        conftest: Path,
        needs: Mapping[Path, str],
    ) -> dict[Path, VerifiedFile]:
        """Return the files that need the fixtures of a conftest.py, with a copy of them.

        The result is empty if a file cannot have a copy, or its tests do not pass with it.
        """
        copied = {}
        for path, need in needs.items():
            file = self._copy_into(path, conftest, need)
            if file is None:
                return {}
            copied[path] = file
        results = [file.result for file in copied.values()]
        run = self._run(results, all_tests=True)
        for key, old in self._old.results.items():
            path = Path(key[0])
            if path in copied and old.passed and not run.get_result(key).passed:
                return {}
        return copied

    def _copy_into(
        self,
        path: Path,
        conftest: Path,
        need: str,
    ) -> VerifiedFile | None:
        """Return a test file as it was, with a copy of fixtures; None if that is impossible."""
        result = self._results.get(path)
        if result is None or path.name == conftest.name:
            return None
        names = self._removed[conftest]
        source = copy_fixtures(
            path,
            result.source,
            conftest,
            names,
        )
        if source is None:
            return None
        advice = "Remove the copy of that fixture when no test of this file needs it."
        problem = CannotRewrite(need, advice)
        # A file has either the old mock or ours.
        left = self._refuse_all(result, problem)
        new_result = replace(
            left,
            encoded=source,
            changed=tuple(sorted(names)),
            fixtures=names,
        )
        return VerifiedFile(new_result)

    def _restore_files(
        self,
        files: Sequence[VerifiedFile],
        conftest: Path,
        need: str,
    ) -> list[VerifiedFile]:
        """Return all files, those below a conftest.py with their old tests."""
        names = ", ".join(sorted(self._removed.pop(conftest)))
        reason = f"{names} of {format_path(conftest)} hides an llm_mock fixture, but {need}"
        problem = CannotRewrite(reason, "Rewrite that test first, then run the command again.")
        restored = []
        for file in files:
            if conftest.parent in file.result.path.parents:
                file = VerifiedFile(self._refuse_all(file.result, problem))
            restored.append(file)
        return restored

    def _refuse_all(self, result: FileResult, problem: CannotRewrite) -> FileResult:
        """Return a file as it was, with one reason for all that could be rewritten."""
        # Include functions that were refused before; they would be rewritten again.
        rewritten = self._rewrite(result, NO_FINDINGS)
        refused = dict.fromkeys([*rewritten.changed, *result.hiding], problem)
        return self._rewrite(result, Findings(refused))

    def _learn(self, path: Path, new: PytestRun) -> bool:
        """Record why new tests of a file fail, and return whether a reason is new.

        The mock reports unused replies, which old mocks ignore. A real client needs a key, or the
        version and region of its API. A model that a plugin of `llm` registers rejects calls that
        a `Mock` accepts.
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
        """Yield the failed tests of a file, and failed tests that use its fixtures for agents."""
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

    def _get_findings(
        self,
        path: Path,
        refused: Mapping[str, CannotRewrite] | None = None,
    ) -> Findings:
        return Findings(
            refused or {},
            self._unused.get(path, {}),
            self._preparations.get(path, {}),
            self._removed.get(path, frozenset()),
        )

    def _rewrite_again(self, path: Path) -> FileResult:
        result = self._rewrite(self._results[path], self._get_findings(path))
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
            current = self._rewrite(result, self._get_findings(path, refused))
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
        """Yield the changed functions that must keep their old form, with the reason."""
        for name in current.changed:
            if name in self._removed.get(path, ()):
                # All tests of the folder decide that.
                continue
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
        """Return why a fixture must keep its old form; empty if it may change."""
        for key, test in _list_users(new, path, name):
            test_path, test_name = key
            was_refused = test_name in result.changed and test_name not in current.changed
            if test_path == str(path) and was_refused:
                return f"{test_name} uses it and remains unchanged"
            problem = self._check_user(key, test)
            if not problem and name in result.agents:
                problem = _describe_silence(test)
                problem = f": {problem}" if problem else ""
            if problem:
                return f"{test_name} uses it{problem}"
        # New tests that no longer request it are checked by themselves.
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
    """Return the preparations that a failed test needs, except known ones."""
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
        return f"the real SDK rejects the request of this test: {problem}"
    if test.servers:
        servers = " ".join(sorted(test.servers))
        return (
            f"the rewritten test calls a server on this machine: {problem}. To mock this server, "
            f"add {servers} to ini llm_mock_hosts and run the command again"
        )
    return f"the rewritten test fails: {problem}"


def _compare(old: TestOutcome, new: TestOutcome) -> str:
    """Return why a rewritten test is worse than the old one; empty if it is not."""
    if not old.passed:
        reason = "the old test does not pass, so its new form cannot be verified"
        return f"{reason}: {old.problem}"
    if not new.passed:
        return _describe_failure(new)
    if old.calls is None or new.calls is None:
        return ""
    # The new test may add a call for each error that the old mock raised instead of a model.
    if new.calls not in (old.calls, old.calls + old.errors):
        before = format_count(old.calls, "call")
        after = format_count(new.calls, "call")
        return f"the old mock received {before}, but the rewritten test makes {after}"
    return ""


def _describe_silence(new: TestOutcome) -> str:
    """Report a passing test that does not call the mock after its agent's model was replaced.

    Such a test may pass only because it uses another fake model.
    """
    if new.calls or not new.passed:
        return ""
    return "the rewritten test does not call the mock, so the agent does not use a provider's model"


def _describe_lost(changes: Sequence[Change] | None) -> str:
    """Describe the changes that only the old test notices; empty without changes."""
    if not changes:
        return ""
    described = []
    for kind, number in changes:
        text = KINDS[kind].description
        described.append(f"when {text} (call {number})")
    listed = ", ".join(described)
    return f"the old test fails but the rewritten test passes {listed}"
