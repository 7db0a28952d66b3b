"""`--llm-mock-report` writes every test's calls, for any number of processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import llm
import pytest

NEW_LLM = hasattr(llm, "Message")

CHAIN = """
import llm, pytest
from llm.models import ToolCall
from llm_mock import Reply

def weather(city: str) -> str:
    "The weather of a city."
    return f"{city}: sunny"

def test_chain(mock_llm_responses):
    mock_llm_responses.add("m", Reply("I look.", tool_calls=[ToolCall("weather", {"city": "Rome"})]))
    usage = {"input_tokens": 7, "output_tokens": 2, "details": {"cached": 3}}
    mock_llm_responses.add("m", Reply(chunks=["It is ", "sunny."], usage=usage, resolved_model="m-2026"))
    chain = llm.get_model("m").chain("What is it like?", system="Be brief", tools=[weather])
    assert chain.text().endswith("It is sunny.")
"""  # noqa: E501

MIXED = """
import llm, pytest
llm.get_model("outside").prompt("at collection")

@pytest.fixture(scope="session")
def asked():
    return llm.get_model("outside").prompt("in a session fixture").text()

@pytest.mark.parametrize("number", range(6))
def test_it(number, asked, mock_llm_responses):
    mock_llm_responses.set("m", "x" * 8)
    mock_llm_responses.set_error("broken", ConnectionError("down"))
    llm.get_model("m").prompt(f"prompt {number}").text()
    with pytest.raises(ConnectionError):
        llm.get_model("broken").prompt("Hello")
    assert number != 3, "three is wrong"

def test_silent(): ...

@pytest.mark.skip(reason="not today")
def test_skipped(): ...

@pytest.mark.xfail(reason="known")
def test_expected():
    assert llm.get_model("m").prompt("Hi").text() == ""

@pytest.fixture
def broken():
    llm.get_model("m").prompt("in a fixture")
    raise OSError("no database")

def test_broken(broken): ...
"""


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> Any:
    """Run tests with a report, and return its JSON."""
    pytester.makepyfile(source)
    path = pytester.path / "report.json"
    result = pytester.runpytest(f"--llm-mock-report={path}", *arguments)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines([f"*- LLM report: {path} -*"])
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_plugin_needs_no_xdist(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_budget = tokens=1000")
    pytester.makepyfile("import llm\n\ndef test_it(): llm.get_model('m').prompt('Hi').text()")
    options = ("--llm-mock-report=r.json", "--llm-mock-mutate", "--junitxml=out.xml", "--llm")
    result = pytester.runpytest_inprocess("-p", "no:xdist", *options)
    result.assert_outcomes(passed=1)
    result.stderr.no_fnmatch_line("*unknown hook*")
    document = json.loads((pytester.path / "r.json").read_text())
    assert document["outcomes"] == {"passed": 1}


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "text": content}]}


@pytest.mark.skipif(not NEW_LLM, reason="messages= came with llm 0.32")
def test_calls_with_messages_of_their_own_are_a_conversation_where_one_goes_on_from_the_other(
    pytester: pytest.Pytester,
) -> None:
    report = run(
        pytester,
        """
        import llm
        from llm import assistant, user

        def test_it(mock_llm_responses):
            mock_llm_responses.set("m", "answer")
            ask = lambda *messages: llm.get_model("m").prompt(messages=list(messages)).text()
            ask(user("one"))
            ask(user("one"))
            ask(user("beside"))
            ask(user("one"), assistant("answer"), user("two"))
            ask(user("one"), assistant("edited"), user("two"))
            llm.get_model("m").prompt("another").reply("and on").text()
        """,
    )
    calls = report["tests"][0]["calls"]
    assert [call["conversation"] for call in calls] == [
        None,
        "call 2",
        None,
        "call 2",
        "call 2",
        "call 6",
        "call 6",
    ]
    assert [call["earlier_messages"] for call in calls] == [0, 0, 0, 2, 1, 0, 2]
    assert [call["messages"] for call in calls] == [
        [text("user", "one")],
        [text("user", "one")],
        [text("user", "beside")],
        [text("user", "two")],
        [text("assistant", "edited"), text("user", "two")],
        [text("user", "another")],
        [text("user", "and on")],
    ]


@pytest.mark.parametrize(
    # In the last one, one of the workers has no test: there is one file only.
    "arguments",
    [(), ("-n2",), ("-n2", "--dist=loadfile")],
)
def test_all_processes_together_have_one_report(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    report = run(pytester, MIXED, *arguments)
    assert report["outcomes"] == {"passed": 6, "failed": 1, "skipped": 1, "xfailed": 1, "error": 1}
    assert [test["id"].split("::")[1] for test in report["tests"]] == [
        *(f"test_it[{number}]" for number in range(6)),
        *("test_silent", "test_skipped", "test_expected", "test_broken"),
    ]
    failed, skipped, xfailed, broken = (report["tests"][position] for position in (3, 7, 8, 9))
    assert failed["message"].startswith("AssertionError: three is wrong")
    assert (skipped["message"], xfailed["message"]) == ("Skipped: not today", "known")
    assert broken["message"] == "OSError: no database"
    assert [call["messages"] for call in broken["calls"]] == [[text("user", "in a fixture")]]
    for number, test in enumerate(report["tests"][:6]):
        answered, refused = test["calls"]
        assert answered["messages"] == [text("user", f"prompt {number}")]
        assert (refused["response"], refused["error"]) == (
            None,
            {"type": "ConnectionError", "message": "down"},
        )
    workers = len({test["worker"] for test in report["tests"]})
    outside = [group["during"].split(" of ")[0] for group in report["outside_tests"]]
    assert outside.count("setup") == workers <= outside.count("before the first test")
    assert [len(group["calls"]) for group in report["outside_tests"]] == [1] * len(outside)
    models = {model.pop("model_id"): model for model in report["models"]}
    assert models["m"]["calls"] == 8
    assert (models["broken"]["errors"], models["broken"]["output_tokens"]) == (6, 0)
    assert models["outside"]["calls"] == models["outside"]["unconfigured"] == len(outside)


def test_a_worker_that_crashes_loses_its_running_test_only(pytester: pytest.Pytester) -> None:
    report = run(
        pytester,
        """
        import llm, os, pytest

        @pytest.mark.parametrize("number", range(8))
        def test_it(number):
            llm.get_model("m").prompt(f"prompt {number}").text()
            if number == 5:
                os._exit(1)
        """,
        "-n1",
    )
    assert [test["outcome"] for test in report["tests"]] == ["passed"] * 5 + ["error"] + [
        "passed"
    ] * 2
    assert [len(test["calls"]) for test in report["tests"]] == [1] * 5 + [0] + [1] * 2
    assert "crashed while running" in report["tests"][5]["message"]


def test_calls_of_another_process_are_as_detailed(pytester: pytest.Pytester) -> None:
    report = run(
        pytester,
        """
        import subprocess, sys
        from llm_mock import Reply

        CODE = "import llm; llm.get_model('m').conversation().prompt('Hi', system='Be brief').text()"

        def test_it(mock_llm_responses, mock_llm_calls):
            mock_llm_responses.set("m", Reply(chunks=["a", "b"]))
            subprocess.run([sys.executable, "-c", CODE], env=mock_llm_calls.environment(), check=True)
            assert "details" not in mock_llm_calls.calls[0]
        """,  # noqa: E501
    )
    [call] = report["tests"][0]["calls"]
    assert call["messages"] == [text("system", "Be brief"), text("user", "Hi")]
    assert call["response"] == {"text": "ab", "chunks": ["a", "b"]}


def test_a_report_changes_no_record_and_survives_a_history_that_is_forgotten(
    pytester: pytest.Pytester,
) -> None:
    report = run(
        pytester,
        """
        import llm

        def test_it(mock_llm_calls):
            model = llm.get_model("m")
            model.prompt("one")
            assert set(model.call_history[0]) == {
                "timestamp", "number", "model_id", "turn", "prompt", "prompt_length", "kwargs", "options", "response",
                "error", "input_tokens", "output_tokens", "configured", "key", "schema", "tools",
            }
            model.reset_history()
            model.prompt("two")
            mock_llm_calls.reset()
            llm.get_model("m").prompt("three")
        """,  # noqa: E501
    )
    assert report["outcomes"] == {"passed": 1}
    assert [call["messages"] for call in report["tests"][0]["calls"]] == [
        [text("user", prompt)] for prompt in ("one", "two", "three")
    ]


def test_calls_of_a_project_that_opted_out_are_those_of_the_fixture(
    pytester: pytest.Pytester,
) -> None:
    report = run(
        pytester,
        """
        import llm

        def test_mocked(mock_llm_responses):
            mock_llm_responses.set("m", "Hello")
            assert llm.get_model("m").prompt("Hi").text() == "Hello"

        def test_not_mocked(): ...
        """,
        "-o",
        "llm_mock=false",
    )
    assert [len(test["calls"]) for test in report["tests"]] == [1, 0]
    assert report["tests"][0]["calls"][0]["messages"] == [text("user", "Hi")]


def test_an_item_without_fixtures_has_the_calls_that_it_makes(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import llm, pytest

        class Item(pytest.Item):
            def runtest(self):
                llm.get_model("m").prompt("asked by an item").text()

        class File(pytest.File):
            def collect(self):
                yield Item.from_parent(self, name="item")

        def pytest_collect_file(file_path, parent):
            return File.from_parent(parent, path=file_path) if file_path.suffix == ".case" else None
        """
    )
    (pytester.path / "one.case").touch()
    report = run(pytester, "")
    assert [(test["id"], len(test["calls"])) for test in report["tests"]] == [("one.case::item", 1)]
    assert report["outside_tests"] == []


def test_calls_of_a_conftest_come_before_the_first_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import llm; llm.get_model('m').prompt('in a conftest', system='Be brief')"
    )
    [group] = run(pytester, "def test_it(): ...")["outside_tests"]
    assert (group["during"], group["worker"]) == ("before the first test", None)
    [call] = group["calls"]
    assert call["messages"] == [text("system", "Be brief"), text("user", "in a conftest")]


def test_a_file_that_cannot_be_collected_is_an_error(pytester: pytest.Pytester) -> None:
    report = run(pytester, "import nowhere_to_be_found")
    [test] = report["tests"]
    assert (test["outcome"], report["outcomes"]) == ("error", {"error": 1})
    assert "nowhere_to_be_found" in test["message"]


def test_secrets_and_what_json_does_not_have_are_not_written(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    report = run(
        pytester,
        """
        import llm
        from llm_mock import Reply

        def test_it(mock_llm_responses):
            mock_llm_responses.set("m", "é 😀 \\\\ half a pair: \\ud800")
            llm.get_model("m").prompt("My key is correct-horse-battery", limit=float("inf"))
        """,
    )
    [call] = report["tests"][0]["calls"]
    assert call["messages"] == [text("user", "My key is [redacted secret]")]
    assert call["response"] == {"text": "é 😀 \\ half a pair: \ud800"}
    assert call["options"] == {"limit": "inf"}


def test_what_cannot_be_described_fails_no_test(pytester: pytest.Pytester) -> None:
    report = run(
        pytester,
        """
        import llm

        class Odd(llm.Attachment):
            content = property(lambda self: 1 / 0, lambda self, value: None)

        def test_it(monkeypatch):
            monkeypatch.setattr("llm_mock.core.request.describe_tool", None)
            llm.get_model("m").prompt("Hi", tools=[test_it]).text()
        """,
    )
    assert report["outcomes"] == {"passed": 1}
    [call] = report["tests"][0]["calls"]
    assert call["messages"] == [text("user", "Hi")]
    assert call["not_described"] == "request: TypeError: 'NoneType' object is not callable"


def test_page_and_data_are_written_together_into_folders_that_are_made(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(CHAIN)
    page, data = pytester.path / "a" / "b" / "report.HTML", pytester.path / "c" / "report.json"
    result = pytester.runpytest(f"--llm-mock-report={page}", f"--llm-mock-report={data}")
    result.stdout.fnmatch_lines([f"*LLM report: {page.as_uri()}*", f"*LLM report: {data}*"])
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(data.read_text())["version"] == 1
    assert [path.name for path in (*page.parent.iterdir(), *data.parent.iterdir())] == [
        "report.HTML",
        "report.json",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("report.txt", "*report.txt' must end in .html for a page, or in .json for the data."),
        ("report", "*must end in .html for a page, or in .json for the data."),
        ("a_file/report.html", "*a_file/report.html' cannot be written: *"),
        ("folder.json", "*folder.json' cannot be written: *it is a folder"),
    ],
)
@pytest.mark.parametrize("arguments", [(), ("-n1",)])
def test_a_path_that_cannot_be_written_is_one_clear_error_before_the_tests(
    name: str, message: str, arguments: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(CHAIN)
    (pytester.path / "a_file").touch()
    (pytester.path / "folder.json").mkdir()
    result = pytester.runpytest(f"--llm-mock-report={name}", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --llm-mock-report: {message}"])
    assert "Traceback" not in result.stderr.str()


def test_a_report_that_cannot_be_written_in_the_end_leaves_the_older_one_and_the_outcome(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    path = pytester.path / "report.json"
    path.write_text("older")
    pytester.makepyfile("def test_it(): ...")
    monkeypatch.setattr("llm_mock.plugin.report.write_atomically", fail)
    result = pytester.runpytest_inprocess(f"--llm-mock-report={path}")
    result.stdout.fnmatch_lines(
        [f"*--llm-mock-report: '{path}' cannot be written: No space left on device*"]
    )
    assert (result.ret, path.read_text()) == (0, "older")


def test_a_path_may_begin_in_the_folder_of_the_user(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(pytester.path / "home"))
    monkeypatch.setenv("USERPROFILE", str(pytester.path / "home"))
    pytester.makepyfile(CHAIN)
    pytester.runpytest("--llm-mock-report=~/report.json")
    assert (pytester.path / "home" / "report.json").exists()


def test_listing_tests_writes_no_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CHAIN)
    pytester.runpytest("--llm-mock-report=report.html", "--collect-only")
    assert not (pytester.path / "report.html").exists()


def test_a_report_that_pytest_takes_for_tests_is_warned_of(
    pytester: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytester.makepyfile(CHAIN)
    pytester.makeini("[pytest]")
    path = tmp_path_factory.mktemp("elsewhere") / "report.html"
    for equals_sign, exists in ((False, False), (True, True), (False, True)):
        arguments = (
            [f"--llm-mock-report={path}"] if equals_sign else ["--llm-mock-report", str(path)]
        )
        output = pytester.runpytest(*arguments).stdout.str()
        assert ("Write an equals sign" in output) == (exists and not equals_sign)
        assert path.exists()


# Tokens and cost in pytest's own JUnit file


def properties(pytester: pytest.Pytester, *arguments: str) -> dict[str, dict[str, str]]:
    """Return the properties of each test in the JUnit file of a run."""
    pytester.runpytest("--junitxml=junit.xml", *arguments)
    cases = ElementTree.parse(pytester.path / "junit.xml").iter("testcase")
    return {
        case.attrib["name"]: {
            each.attrib["name"]: each.attrib["value"] for each in case.iter("property")
        }
        for case in cases
    }


@pytest.mark.parametrize("arguments", [(), ("-n1",), ("--llm-mock-report=report.json",)])
def test_tokens_and_cost_are_properties_of_the_junit_file(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makeini("[pytest]\nllm_mock_prices =\n    priced-* = 1 2\n")
    pytester.makepyfile(
        """
        import llm

        def test_priced():
            for _ in range(2):
                llm.get_model("priced-model").prompt("x" * 40)

        def test_unknown():
            llm.get_model("nobody/knows").prompt("x" * 40)
            llm.get_model("priced-model").prompt("x" * 40)

        def test_silent(request):
            request.node.user_properties.append(("mine", 1))
        """
    )
    assert properties(pytester, *arguments) == {
        "test_priced": {
            **{"llm_calls": "2", "llm_input_tokens": "20", "llm_output_tokens": "10"},
            "llm_cost_usd": "0.00004",
        },
        "test_unknown": {"llm_calls": "2", "llm_input_tokens": "20", "llm_output_tokens": "10"},
        "test_silent": {"mine": "1"},
    }


def test_without_a_junit_file_no_properties_are_made(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_runtest_logreport(report):
            assert report.user_properties == []
        """
    )
    assert run(pytester, CHAIN)["outcomes"] == {"passed": 1}


def test_a_test_that_is_run_again_is_reported_each_time(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from _pytest.runner import runtestprotocol

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
                runtestprotocol(item, nextitem=nextitem)
            return True
        """
    )
    report = run(pytester, CHAIN, "--junitxml=junit.xml")
    assert [len(test["calls"]) for test in report["tests"]] == [2, 2]
    made = [each.attrib for each in ElementTree.parse(pytester.path / "junit.xml").iter("property")]
    assert [each["value"] for each in made if each["name"] == "llm_calls"] == ["2", "2"]


def test_a_run_without_report_imports_nothing_for_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys, llm

        UNUSED = "llm_mock.report", "llm_mock.plugin.report", "llm_mock.plugin.call_collector", "llm_mock.core.call_log"

        def test_it():
            llm.get_model("m").prompt("Hi").text()
            assert not [name for name in sys.modules if name.startswith(UNUSED)]
        """  # noqa: E501
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_each_test_is_billed_by_its_own_prices(pytester: pytest.Pytester) -> None:
    report = run(
        pytester,
        """
        import llm, pytest

        @pytest.mark.parametrize("price", [None, 100, 200])
        def test_it(price, mock_llm_responses):
            if price:
                mock_llm_responses.set_price("m", price, 0)
            mock_llm_responses.set("m", "x")
            llm.get_model("m").prompt("four").text()
        """,
        "-p",
        "no:randomly",
    )
    assert [test["calls"][0]["cost_usd"] for test in report["tests"]] == [None, 0.0001, 0.0002]
