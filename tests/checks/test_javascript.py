"""The `javascript` check: code, files, results, and what happens without node."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pydantic
import pytest

pytest.importorskip("mcp")

from llm_mock.checks import equals, javascript
from llm_mock.checks.base import RunContext
from llm_mock.checks.evaluation import evaluate_assertion
from llm_mock.checks.javascript_functions import JavaScriptAssertion
from llm_mock.suites import TestCase as Case
from llm_mock.support.time_limit import CaseTimedOut, run_with_limit

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@needs_node
@pytest.mark.parametrize(
    ("code", "outcome", "reason"),
    [
        ("output === 'Hello, Ada'", "passed", ": true"),
        ("output.includes('Bob');", "failed", ": false"),
        ("output.length", "passed", ": 10.000, above 0"),
        ("output.length - 10", "failed", ": 0.000, not above 0"),
        ("const a = 'x;y'; a.length === 3", "passed", ": true"),
        ("let f = () => { 1; return false }; f()", "failed", ": false"),
        ("const a = 1", "failed", "returned undefined"),
        ("const a = (", "failed", "threw SyntaxError"),
        ("if (output) {\n  return true\n}", "passed", ": true"),
        ("output ===\n'Hello, Ada'", "failed", "Is a return statement missing?"),
        ("Promise.resolve(true)", "passed", ": true"),
        ("({pass: true, score: 0.25, reason: 'kind'})", "passed", ": 0.250: kind"),
        ("({pass: false, score: 1, reason: 'rude'})", "failed", ": 1.000: rude"),
        ("({pass: false, reason: 'rude'})", "failed", ": rude"),
        ("({score: 0.25, reason: 'so'})", "passed", ": 0.250, above 0: so"),
        ("({pass: 1, score: 1})", "failed", 'returned the object {"pass":1,"score":1}, not true'),
        ("({reason: 'x'})", "failed", "returned the object"),
        ("'yes'", "failed", 'returned "yes", not true or false, a number'),
        ("null", "failed", "returned null"),
        ("NaN", "failed", "returned NaN"),
        ("nowhere.x", "failed", "threw ReferenceError: nowhere is not defined"),
        ("(() => { throw 'words' })()", "failed", "threw words"),
        ("(console.log('noise'), true)", "passed", ": true"),
        ("process.exit(3)", "failed", "gave no result: node ended with exit code 3: (nothing)"),
        ("process.mainModule.require('fs').existsSync('/')", "passed", ": true"),
        ("setInterval(() => {}, 1000) && true", "passed", ": true"),
    ],
)
def test_the_value_of_the_code_is_the_verdict(code: str, outcome: str, reason: str) -> None:
    finding = javascript(code)("Hello, Ada")
    assert (finding.outcome, reason in finding.reason) == (outcome, True), finding.reason
    assert finding.reason.startswith("JavaScript '")


@needs_node
def test_what_gives_no_verdict_fails_its_opposite_too() -> None:
    assert (~javascript("output === 'x'"))("Hello").outcome == "passed"
    assert (~javascript("nowhere.x"))("Hello").outcome == "failed"


@needs_node
@pytest.mark.parametrize(
    ("threshold", "value", "passed", "score"),
    [
        (None, "0.25", True, 0.25),
        (0.5, "0.25", False, 0.25),
        (0.5, "0.5", True, 0.5),
        (20, "12", False, 1.0),
        (None, "-3", False, 0.0),
        (0.5, "({pass: true, score: 0.25})", True, 0.25),
        (0.5, "({score: 0.25})", False, 0.25),
    ],
)
def test_a_number_is_a_score_and_the_threshold_decides(
    threshold: float | None, value: str, passed: bool, score: float
) -> None:
    result = evaluate_assertion(javascript(value, threshold=threshold), "Hello")
    assert (result.passed, result.score) == (passed, score)


@needs_node
def test_the_code_knows_the_variables_the_prompt_and_its_settings() -> None:
    case = Case(name="greets", prompt="Greet Ada")
    case._values = {"who": "Ada", "most": 20}
    code = (
        "JSON.stringify([context.vars, context.prompt, context.config, context.test.description,"
        " context.test.vars.most, context.providerResponse.output]) === `"
        '[{"who":"Ada","most":20},"Greet Ada",{"a":[1]},"greets",20,"Hello, Ada"]`'
    )
    check = javascript(code, config={"a": [1]})
    context = RunContext(case=case, prompt="Greet Ada")
    assert evaluate_assertion(check, "Hello, Ada", context).passed is True


@needs_node
def test_a_variable_that_is_no_json_is_told() -> None:
    case = Case(name="c", prompt="Hi")
    case._values = {"who": object()}
    result = evaluate_assertion(javascript("true"), "Hello", RunContext(case=case))
    assert (result.passed, "a variable is not JSON" in result.message) == (False, True)


FILES = {
    "one.js": "module.exports = (output, context) => output === context.config.wanted",
    "two.cjs": "exports.isKind = (output) => output.startsWith('Hello')\nexports.x = 1",
    "three.mjs": "export default (output) => true\nexport const isRude = () => false",
    "four.js": "module.exports = {default: () => true}",
    "five.js": "module.exports = 5",
}


@needs_node
@pytest.mark.parametrize(
    ("function", "outcome", "reason"),
    [
        ("one.js", "passed", "one.js: true"),
        ("two.cjs:isKind", "passed", "two.cjs:isKind: true"),
        ("two.cjs:x", "failed", "two.cjs:x threw Error: two.cjs exports no function x"),
        ("two.cjs", "failed", "two.cjs exports no function as its default export"),
        ("three.mjs", "passed", "three.mjs: true"),
        ("three.mjs:isRude", "failed", "three.mjs:isRude: false"),
        ("four.js", "passed", "four.js: true"),
        ("five.js", "failed", "five.js exports no function as its default export"),
        ("six.js", "failed", "six.js: there is no file six.js beside the suite"),
    ],
)
def test_a_function_is_in_a_file_beside_the_suite(
    function: str, outcome: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    check = javascript(function=function, config={"wanted": "Hello"})
    result = evaluate_assertion(check, "Hello", RunContext(folder=tmp_path))
    assert (result.passed, reason in result.message) == (outcome == "passed", True), result.message
    monkeypatch.chdir(tmp_path)
    assert check("Hello").outcome == outcome


@needs_node
@pytest.mark.parametrize(
    ("transform", "output", "passed", "message"),
    [
        ("javascript: output.toUpperCase()", "hello", True, "Output equals 'HELLO'"),
        ("javascript:\nreturn output.toUpperCase()", "hello", True, "Output equals 'HELLO'"),
        ("javascript: JSON.parse(output).a", '{"a": "HELLO"}', True, "Output equals"),
        ("javascript: JSON.parse(output).b", '{"a": 1}', False, "returned no value. Is a return"),
        ("javascript: null", "hello", False, "returned no value"),
        ("javascript: ['HELLO'].length", "hello", False, "it is '1'"),
        ("javascript: ({a: output})", "hello", False, """it is '{"a": "hello"}'"""),
        ("javascript: nowhere", "hello", False, "The transform javascript: nowhere threw Ref"),
        ("clean.js:default", "hello", True, "Output equals 'HELLO'"),
        ("clean.js:shout", "hello", True, "Output equals 'HELLO'"),
        ("clean.js:nothing", "hello", False, "clean.js exports no function nothing"),
    ],
)
def test_a_transform_may_be_javascript(
    transform: str, output: str, passed: bool, message: str, tmp_path: Path
) -> None:
    (tmp_path / "clean.js").write_text(
        "module.exports = (output) => output.toUpperCase()\n"
        "module.exports.shout = async (output) => output.toUpperCase()\n"
    )
    check = equals("HELLO", transform=transform)
    result = evaluate_assertion(check, output, RunContext(folder=tmp_path))
    assert (result.passed, message in result.message) == (passed, True), result.message


def test_a_transform_without_node_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = evaluate_assertion(equals("a", transform="javascript: output"), "a")
    advice = "The transform javascript: output needs node, which is not installed: install Node.js"
    assert (result.passed, result.message) == (False, advice)


@pytest.mark.parametrize(
    ("transform", "problem"),
    [
        ("javascript: ", "'javascript:' needs code"),
        ("clean.js:a b", "should be file.js or file.js:function"),
        ("../clean.js:a", "is outside of the suite's folder"),
    ],
)
def test_a_wrong_transform_is_refused_when_it_is_read(transform: str, problem: str) -> None:
    with pytest.raises(pydantic.ValidationError, match=problem):
        equals("a", transform=transform)


@needs_node
def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.js").write_text("module.exports = () => true")
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "check.js").symlink_to(tmp_path / "secret.js")
    result = evaluate_assertion(javascript(function="check.js"), "Hello", RunContext(folder=folder))
    assert (result.passed, "outside of the suite's folder" in result.message) == (False, True)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "needs either 'code' or 'function'"),
        ({"code": "true", "function": "a.js"}, "needs either 'code' or 'function'"),
        ({"code": " "}, "String should match"),
        ({"function": "a.py"}, "should be file.js or file.js:function"),
        ({"function": "a.js:b c"}, "should be file.js or file.js:function"),
        ({"function": "../a.js"}, "is outside of the suite's folder"),
        ({"function": "/a.js:$f"}, "is outside of the suite's folder"),
    ],
)
def test_a_wrong_check_is_refused_when_it_is_read(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(pydantic.ValidationError, match=problem):
        JavaScriptAssertion(**fields)


def test_without_node_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    finding = javascript("true")("Hello")
    reason = "javascript needs node, which is not installed: install Node.js"
    assert (finding.outcome, finding.reason) == ("not checked", reason)
    assert (~javascript("true"))("Hello").outcome == "not checked"


CONNECTS = """\
const net = process.mainModule.require('net');
const ended = new Promise((done) => {
  const socket = net.connect(1, '127.0.0.1');
  socket.on('connect', () => done(true));
  socket.on('error', () => done(true));
});
return ended;
"""
FETCHES = "fetch('http://127.0.0.1:59999').catch(() => 1)"
CATCHES = f"try {{\n{CONNECTS.replace('return ended;', '')}}} catch {{ return true }}\nreturn true"


@needs_node
@pytest.mark.parametrize(
    ("fields", "passed"),
    [
        ({"dry_run": True}, None),
        ({"dry_run": True, "case": None}, None),
        ({"case": None}, None),
        ({"cassette": "replayed"}, None),
        ({"cassette": "recorded"}, True),
        ({}, True),
    ],
)
@pytest.mark.parametrize("code", [CONNECTS, CATCHES, FETCHES])
def test_only_a_live_run_opens_connections(
    code: str, fields: dict[str, Any], passed: bool | None
) -> None:
    context = RunContext(**{"case": Case(name="c", prompt="Hi"), **fields})
    result = evaluate_assertion(javascript(code), "Hello", context)
    assert result.passed is passed
    if passed is None:
        when = " in a dry run" if context.dry_run else ""
        assert result.message == f"Skipped{when}: javascript, its code opens a connection"


@needs_node
def test_code_that_does_not_end_is_killed_with_the_case() -> None:
    started = time.monotonic()
    with pytest.raises(CaseTimedOut):
        run_with_limit(0.5, lambda: javascript("(() => { while (true) {} })()")("Hello"))
    assert time.monotonic() - started < 10


@needs_node
def test_code_that_does_not_end_fails_after_its_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_mock.checks.node.MAX_SECONDS", 0.5)
    finding = javascript("new Promise(() => setInterval(() => {}, 1000))")("Hello")
    assert finding.outcome == "failed"
    assert "did not end within 0.5 s" in finding.reason


def test_a_node_that_does_not_start_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tmp_path / "node"
    node.write_text("#!/nowhere/interpreter\n")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = javascript("true")("Hello")
    assert (finding.outcome, "node cannot be started" in finding.reason) == ("failed", True)
