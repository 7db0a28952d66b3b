"""A fault in a hook of the plugin never ends a run, and never changes what its tests come to."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

from llm_mock.plugin.guard import deciding_hook, describe_fault, reporting_hook
from tests.plugin.faulty_hooks import FAULT, HOOKS, break_hook, places_of
from tests.plugin.files import write

STARTS_THE_RUN = {
    "llm_mock.plugin.options:pytest_addoption",
    "llm_mock.plugin.double_changes:pytest_configure",
    "llm_mock.plugin.hooks:HookSpecs.pytest_llm_mock_configure",
    "llm_mock.plugin.hooks:pytest_addhooks",
    "llm_mock.plugin.hooks:pytest_plugin_registered",
    "llm_mock.plugin.migration_run:pytest_configure",
    "llm_mock.plugin.model_recorder:pytest_configure",
    "llm_mock.pytest_plugin:pytest_configure",
    "llm_mock.pytest_plugin:pytest_load_initial_conftests",
}
"""Without these nothing is mocked, or not as the project says: a run must not begin like that."""
FAILS_ITS_TEST = {
    "llm_mock.plugin.budget:ItemBudgets.pytest_runtest_call",
    "llm_mock.plugin.runtest:pytest_runtest_call",
    "llm_mock.plugin.runtest:pytest_runtest_setup",
}
"""What these raise is the failure of a test, as pytest has it."""
CALLS_GUARDED_PARTS = {"llm_mock.plugin.runtest:pytest_runtest_makereport"}
"""These do nothing but call functions that are guarded, which are broken one by one."""
DECIDES = {
    "llm_mock.plugin.markers:pytest_collection_modifyitems",
    "llm_mock.plugin.markers:pytest_generate_tests",
    "llm_mock.plugin.repeats:RepeatingTests.pytest_runtest_protocol",
    "llm_mock.plugin.spec_items:SpecCollector.pytest_collect_file",
    "llm_mock.plugin.suite_items:SuiteCollector.pytest_collect_file",
}
"""Where these fail, the tests that they are about fail: they must not pass because nothing was done for them."""  # noqa: E501
OF_XDIST = {
    "llm_mock.plugin.mutate:MutationRun.pytest_testnodedown",
    "llm_mock.plugin.mutate:MutationRun.pytest_xdist_node_collection_finished",
    "llm_mock.plugin.report:ReportWriter.pytest_testnodedown",
    "llm_mock.plugin.report:ReportWriter.pytest_xdist_node_collection_finished",
    "llm_mock.plugin.runtest:pytest_report_from_serializable",
    "llm_mock.plugin.summary:pytest_configure_node",
    "llm_mock.plugin.summary:pytest_testnodedown",
}
MUTATION_MODULES = ("llm_mock.plugin.mutate:", "llm_mock.plugin.silent_runs:")
OF_MUTATION = {hook for hook in HOOKS if hook.startswith(MUTATION_MODULES)}
"""These are called with an option only."""
OF_AN_INTERRUPT = "llm_mock.plugin.report:ReportWriter.pytest_keyboard_interrupt"
MIGRATION_PLUGINS = ("DoubleChanges", "LearnedModels", "MigrationRun")
OF_MIGRATE = {
    hook for hook in HOOKS if hook.partition(":")[2].partition(".")[0] in MIGRATION_PLUGINS
}
ELSEWHERE = {OF_AN_INTERRUPT, *OF_MIGRATE}


def faults_except(others: Iterable[str]) -> list[tuple[str, str]]:
    """Each hook that only reports, but for some, with each place where it may fail."""
    listed = STARTS_THE_RUN | FAILS_ITS_TEST | DECIDES | CALLS_GUARDED_PARTS
    hooks = sorted(HOOKS.keys() - listed - {*others})
    return [(hook, place) for hook in hooks for place in places_of(hook)]


TESTS = """
    import llm
    import llm_mock.agents.run  # the plugin collects the runs of agents where these are imported
    import pytest

    @pytest.fixture
    def broken():
        raise ValueError("of a fixture")

    @pytest.mark.parametrize("number", [1, 2])
    def test_passes(number, monkeypatch):
        assert llm.get_model("m").prompt("Hello").text()

    def test_fails():
        assert [1] == [2]

    def test_errs(broken): ...

    def test_is_skipped():
        pytest.skip("not now")

    @pytest.mark.xfail
    def test_is_expected_to_fail():
        raise KeyError("x")
"""
PLAIN = {"passed": 2, "failed": 1, "errors": 1, "skipped": 1, "xfailed": 1}
"""The outcomes of these tests."""
OPTIONS = (
    "-o",
    "llm_mock_budget=tokens=1000",
    "--llm-mock-report=r.json",
    "--junitxml=j.xml",
    "-p",
    "no:randomly",
)


def options_of(hook: str) -> tuple[str, ...]:
    """Return the options of a run in which a hook is called."""
    return (*OPTIONS, "--llm-mock-mutate") if hook in OF_MUTATION else OPTIONS


def assert_reported(result: pytest.RunResult, hook: str, number: int = 1) -> None:
    """Assert the outcomes of a run without the plugin, and one warning with the hook's name."""
    assert result.parseoutcomes() == {**PLAIN, "warnings": number}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    shown = result.stdout.str()
    named = hook.replace(":", ".")
    assert shown.count(f"HookFailureWarning: {named} failed.") == 1
    assert shown.count(f"RuntimeError: {FAULT}") == number
    assert "Traceback (most recent call last):" in shown
    assert "INTERNALERROR" not in shown + result.stderr.str()


def test_the_tests_have_these_outcomes_without_the_plugin(pytester: pytest.Pytester) -> None:
    write(pytester, "test_it.py", TESTS)
    result = pytester.runpytest("-p", "no:llm_mock", "-p", "no:randomly")
    assert result.parseoutcomes() == PLAIN


def test_every_hook_of_the_plugin_is_guarded_or_listed() -> None:
    unguarded = {
        hook for hook, function in HOOKS.items() if not getattr(function, "is_guarded", False)
    }
    assert unguarded == STARTS_THE_RUN | FAILS_ITS_TEST | CALLS_GUARDED_PARTS
    assert HOOKS.keys() >= DECIDES | OF_XDIST | ELSEWHERE


@pytest.mark.parametrize(("hook", "place"), faults_except(OF_XDIST | ELSEWHERE))
def test_a_fault_in_a_hook_is_a_warning(hook: str, place: str, pytester: pytest.Pytester) -> None:
    write(pytester, "test_it.py", TESTS)
    mend = break_hook(hook, place)
    try:
        result = pytester.runpytest(*options_of(hook), "-W", "error")
    finally:
        mend()
    assert_reported(result, hook)


NODE_DOWN = "llm_mock.plugin.summary:pytest_testnodedown"
"""The hook by which the faults of workers arrive."""
WITHOUT_REPORT = {"llm_mock.plugin.report:ReportWriter.pytest_collectreport"}
"""Workers send reports of what failed alone."""
UNDER_XDIST = sorted(
    HOOKS.keys()
    - STARTS_THE_RUN
    - FAILS_ITS_TEST
    - DECIDES
    - CALLS_GUARDED_PARTS
    - ELSEWHERE
    - WITHOUT_REPORT
    - {NODE_DOWN}
    - OF_MUTATION
)
ENDS_MUTATION = sorted(OF_MUTATION & OF_XDIST)
"""Hooks without which no change is made, so that `END_TEST` is not called."""
END_TEST = "llm_mock.plugin.mutate:MutationRun.end_test"


@pytest.mark.parametrize(
    ("hooks", "where", "workers"),
    [
        # Two workers, because the same fault of both is one warning.
        ([*UNDER_XDIST, END_TEST], "before", 2),
        ([*UNDER_XDIST, *ENDS_MUTATION], "after", 1),
        ([NODE_DOWN], "before", 1),
    ],
    ids=["before the others", "after the others", "the one by which others arrive"],
)
def test_faults_in_hooks_under_xdist_are_a_warning_each(
    hooks: list[str],
    where: str,
    workers: int,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(pytester, "test_it.py", TESTS)
    monkeypatch.setenv("FAULTY_HOOKS", " ".join(hooks))
    monkeypatch.setenv("FAULTY_WHERE", where)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]), prepend=os.pathsep)
    faulty = ("-p", "tests.plugin.faulty_hooks", "-W", "error")
    options = (*options_of(hooks[-1]), "-p", "xdist", "-n", str(workers))
    result = pytester.runpytest_subprocess(*options, *faulty)
    for hook in hooks:
        assert_reported(result, hook, len(hooks))


def test_a_fault_while_an_interrupt_is_noted_is_a_warning(pytester: pytest.Pytester) -> None:
    write(pytester, "test_it.py", "def test_it(): raise KeyboardInterrupt\n")
    mend = break_hook(OF_AN_INTERRUPT)
    try:
        result = pytester.runpytest(*OPTIONS, no_reraise_ctrlc=True)
    finally:
        mend()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    warning = f"*HookFailureWarning: {OF_AN_INTERRUPT.replace(':', '.')} failed.*"
    result.stdout.fnmatch_lines([warning, "*1 warning in *"])


@pytest.mark.parametrize(
    "hook", sorted(FAILS_ITS_TEST - {"llm_mock.plugin.budget:ItemBudgets.pytest_runtest_call"})
)
def test_a_fault_around_a_test_fails_that_test(hook: str, pytester: pytest.Pytester) -> None:
    write(pytester, "test_it.py", "def test_it(): pass\n\n\ndef test_other(): pass\n")
    mend = break_hook(hook, places_of(hook)[0])
    try:
        result = pytester.runpytest()
    finally:
        mend()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert {
        name: number for name, number in result.parseoutcomes().items() if name != "warnings"
    } in (
        {"failed": 2},
        {"errors": 2},
    )


@pytest.mark.parametrize(
    ("hook", "outcomes"),
    [
        ("llm_mock.plugin.markers:pytest_collection_modifyitems", {"errors": 2, "passed": 1}),
        ("llm_mock.plugin.markers:pytest_generate_tests", {"errors": 1, "passed": 2}),
        ("llm_mock.plugin.repeats:RepeatingTests.pytest_runtest_protocol", {"errors": 3}),
    ],
)
def test_a_fault_in_what_a_marker_does_fails_marked_tests(
    hook: str, outcomes: dict[str, int], pytester: pytest.Pytester
) -> None:
    write(
        pytester,
        "test_it.py",
        """
        import llm
        import pytest

        @pytest.mark.llm_mock_misbehaviour("rate-limit")
        def test_misbehaviour():
            with pytest.raises(Exception):
                llm.get_model("m").prompt("Hello").text()

        @pytest.mark.llm_mock_repeat(2)
        def test_repeated(): ...

        def test_plain(): ...
        """,
    )
    mend = break_hook(hook)
    try:
        result = pytester.runpytest("-p", "no:randomly")
    finally:
        mend()
    assert result.parseoutcomes() == outcomes
    result.stdout.fnmatch_lines([f"*{hook.replace(':', '.')} failed.*", f"*RuntimeError: {FAULT}"])


@pytest.mark.parametrize(
    ("hook", "options"),
    [
        ("llm_mock.plugin.spec_items:SpecCollector.pytest_collect_file", ("--llm",)),
        (
            "llm_mock.plugin.suite_items:SuiteCollector.pytest_collect_file",
            ("-o", "llm_mock_suites=llm/*.yaml"),
        ),
    ],
)
def test_a_yaml_file_that_a_fault_keeps_from_being_collected_is_an_error(
    hook: str, options: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    write(pytester, "llm/it.yaml", "test: {}\n")
    write(pytester, "test_it.py", "def test_it(): pass\n")
    mend = break_hook(hook)
    try:
        result = pytester.runpytest(*options, "--continue-on-collection-errors")
    finally:
        mend()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR collecting llm/it.yaml*", f"*RuntimeError: {FAULT}"])


@pytest.mark.parametrize("has_own", [False, True], ids=["alone", "beside one of ours"])
def test_a_fault_of_another_plugin_is_not_reported_as_ours(
    has_own: bool, pytester: pytest.Pytester
) -> None:
    write(
        pytester,
        "conftest.py",
        """
        def pytest_runtest_makereport(item, call):
            raise ValueError("another fault")

        def pytest_warning_recorded(warning_message):
            print("recorded:", warning_message.message)
        """,
    )
    write(pytester, "test_it.py", "def test_it(): pass\n")
    hook = "llm_mock.plugin.budget:RunBudget.pytest_runtest_makereport"
    mend = break_hook(hook, "instead") if has_own else lambda: None
    try:
        result = pytester.runpytest(*OPTIONS, "-s")
    finally:
        mend()
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(["*ValueError: another fault*"])
    recorded = [line.partition("recorded: ")[2] for line in result.outlines if "recorded: " in line]
    text = f"{hook.replace(':', '.')} failed. Please report this fault of pytest-llm-mock:"
    assert recorded == ([text] if has_own else [])


ENDS_THE_RUN = [KeyboardInterrupt(), SystemExit(3), pytest.exit.Exception("enough")]


@pytest.mark.parametrize("error", [*ENDS_THE_RUN, pytest.UsageError("wrong")])
def test_what_ends_the_run_is_no_fault_of_a_hook_that_decides(error: BaseException) -> None:
    @deciding_hook(lambda *arguments: "failed")
    def pytest_hook() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        pytest_hook()
    assert raised.value is error


class OtherPlugin:
    """A plugin whose hook fails."""

    def pytest_report_header(self) -> list[str]:
        raise ValueError("another fault")


@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("error", ENDS_THE_RUN)
def test_what_ends_the_run_is_no_fault_of_a_hook_around_others(
    error: BaseException, is_before: bool
) -> None:
    class Ours:
        @reporting_hook(wrapper=True)
        def pytest_report_header(self) -> Generator[None, list[str], list[str]]:
            if is_before:
                raise error
            try:
                return (yield)
            except ValueError:
                raise error from None

    with pytest.raises(type(error)) as raised:
        call_report_header(OtherPlugin(), Ours())
    assert raised.value is error


def test_a_hook_around_others_may_return_a_result_in_place_of_their_error() -> None:
    class Ours:
        @reporting_hook(wrapper=True)
        def pytest_report_header(self) -> Generator[None, list[str], list[str]]:
            try:
                return (yield)
            except ValueError as error:
                return [f"instead of {error}"]

    assert call_report_header(OtherPlugin(), Ours()) == ["instead of another fault"]


def call_report_header(*plugins: object) -> object:
    """Call a hook of plugins, outside of a run."""
    manager = pytest.PytestPluginManager()
    for plugin in plugins:
        manager.register(plugin)
    return manager.hook.pytest_report_header(config=None, start_path=None)


def test_a_fault_that_cannot_be_reported_is_written_to_standard_error(
    pytester: pytest.Pytester, capfd: pytest.CaptureFixture[str]
) -> None:
    write(pytester, "conftest.py", "def pytest_warning_recorded(): raise ValueError('another')\n")
    write(pytester, "test_it.py", "def test_it(): pass\n")
    mend = break_hook("llm_mock.plugin.summary:pytest_terminal_summary")
    try:
        result = pytester.runpytest()
    finally:
        mend()
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK
    lines = [line for line in capfd.readouterr().err.splitlines() if "while reporting it" in line]
    assert len(lines) == 1
    start = "pytest-llm-mock: RuntimeError in <function pytest_terminal_summary at 0x"
    assert lines[0].startswith(start)
    assert lines[0].endswith(">; ValueError while reporting it")


def test_a_fault_is_described_where_secrets_cannot_be_redacted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "llm_mock.support.redaction", None)
    assert describe_fault(print, ValueError("no")) == (
        "builtins.print failed. Please report this fault of pytest-llm-mock:\nValueError: no\n"
    )


RAISED_OUT_OF_A_GROUP = """
    import sys
    import pytest

    if sys.version_info < (3, 11):
        from exceptiongroup import ExceptionGroup

    def test_member_of_a_group():
        inner = ValueError("x")
        try:
            raise ExceptionGroup("g", [inner])
        except ExceptionGroup:
            raise inner

    def test_groups_in_each_other():
        inner = ValueError("y")
        outer = ExceptionGroup("o", [ExceptionGroup("i", [inner])])
        inner.__cause__ = outer
        raise outer

    class Odd(Exception):
        exceptions = 5

    def test_an_exception_that_is_no_group():
        raise Odd("z")

    def test_a_long_chain():
        error = ValueError("0")
        for number in range(1_100):  # more than the recursion limit
            following = ValueError(str(number))
            following.__context__, error = error, following
        raise error
"""


def test_an_exception_that_leads_to_itself_is_the_failure_of_its_test(
    pytester: pytest.Pytester,
) -> None:
    write(pytester, "test_it.py", RAISED_OUT_OF_A_GROUP)
    result = pytester.runpytest("--tb=line", "-p", "no:randomly")
    result.assert_outcomes(failed=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "HookFailureWarning" not in result.stdout.str()


def test_a_fault_after_the_summary_is_written_to_standard_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(pytester, "test_it.py", "def test_it(): pass\n")
    code = """
        from llm_mock.plugin.run import TestRun

        def stop(self):
            raise RuntimeError("injected fault")

        TestRun.stop = stop
    """
    write(pytester, "late.py", code)
    monkeypatch.syspath_prepend(pytester.path)
    result = pytester.runpytest_subprocess("-p", "late")
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1)
    result.stderr.fnmatch_lines(
        ["HookFailureWarning: late.stop failed.*", "RuntimeError: injected fault"]
    )
