"""Suites whose target is an application: a function, a command, an HTTP endpoint."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.suites import load_suite, run_suite, target_client
from llm_mock.suites.results import CaseResult
from llm_mock.support.json_paths import get_value
from tests.suites.conftest import Project, statuses

APP = """
import llm

def answer(prompt):
    kind = llm.get_model("gpt-4o-mini").prompt("Classify: " + prompt).text()
    if kind == "crash":
        raise ValueError("no such kind")
    if kind == "refund":
        text = llm.get_model("gpt-4o").prompt("Write a refund", system="be kind").text()
        return {"team": "billing", "say": text}
    return {"team": "front", "say": kind}

async def shout(prompt):
    text = await llm.get_async_model("gpt-4o").prompt(prompt).text()
    if text == "crash":
        raise ValueError("no such kind")
    return text.upper()

def interrupted(prompt):
    raise KeyboardInterrupt

last_letter = max

def silent(prompt):
    pass

"""
# The same for a process, which starts faster without `llm`.
COMMAND_APP = """
import json, os, sys, urllib.request

def ask(model, *messages):
    texts = [{"role": role, "content": text} for role, text in messages]
    body = json.dumps({"model": model, "messages": texts}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]

kind = ask("gpt-4o-mini", ("user", "Classify: " + sys.stdin.read()))
if kind == "crash":
    sys.exit("ValueError: no such kind")
if kind == "refund":
    kind = ask("gpt-4o", ("system", "be kind"), ("user", "Write a refund"))
print(kind)
"""
HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: app}\n"
CASES = """
cases:
  - name: refund-${who}
    prompt: money back for ${who}
    rows: [{who: Ada}, {who: Bob}]
    tags: [process]
    replies:
      - {model: gpt-4o-mini, prompt: "for ${who}", text: refund}
      - {model: gpt-4o, system: kind, text: "Sorry, ${who}"}
    assertions: [{type: contains, value: "Sorry, ${who}"}]
  - name: as-expected
    prompt: Hi
    expected_output: Hello
    assertions: [{type: equals, value: Hello}]
  - name: conversation
    turns:
      - {prompt: Hi, replies: [{text: one}], assertions: [{type: equals, value: one}]}
      - {prompt: Ho, replies: [{text: two}], assertions: [{type: equals, value: two}]}
  - name: unused
    tags: [process]
    prompt: Hi
    replies: [{text: Hello}, {model: gpt-4o, text: never}]
  - name: unfit
    tags: [process]
    prompt: Hi
    replies: [{text: refund}]
  - name: crash
    tags: [process]
    prompt: Hi
    replies: [{text: crash}]
  - name: wrong
    tags: [process]
    prompt: Hi
    replies: [{text: Hello}]
    assertions: [{type: contains, value: Bye}]
"""
FUNCTION = 'target: {function: "app.py:answer", output: say}\n'
COMMAND = f"target: {{command: [{sys.executable}, command_app.py]}}\n"
PASSED = {"refund-Ada", "refund-Bob", "as-expected", "conversation"}


@pytest.fixture
def application(project: Project) -> Project:
    """Return a project with an application and suites that have it as their target."""
    project.write("app.py", APP)
    project.write("command_app.py", COMMAND_APP)
    project.write("function.yaml", HEAD + FUNCTION + CASES)
    project.write("command.yaml", HEAD + COMMAND + CASES)
    return project


@pytest.mark.parametrize(
    ("kind", "chosen", "passed"),
    [
        ("function", ["-j", "3"], PASSED),
        ("command", ["--tag", "process", "-j", "2"], {"refund-Ada", "refund-Bob"}),
    ],
)
def test_replies_answer_the_models_and_assertions_check_what_the_application_made_of_it(
    application: Project, kind: str, chosen: list[str], passed: set[str]
) -> None:
    ended = application.command(
        "test",
        "-s",
        f"{kind}.yaml",
        "--dry-run",
        *chosen,
        "-o",
        "out.json",
        "-o",
        "out.md",
        "-o",
        "out.html",
    )
    assert ended.exit_code == 1
    found = statuses(ended.output)
    assert {name for name, status in found.items() if status == "PASS"} == passed
    assert "One queued reply was not used:" in ended.output
    assert "Remove it from the 'replies' of the case" in ended.output
    assert "No reply was configured for this call:\n      gpt-4o  'Write a refund'" in ended.output
    assert "Add one to the 'replies' of the case." in ended.output
    assert "ValueError: no such kind" in ended.output
    assert (
        "  asked: gpt-4o-mini  'Classify: Hi'  → 'Hello'\n  output: Hello\n  ✗ Output does not"
        in ended.output
    )
    suite = json.loads(Path("out.json").read_text())["suites"][0]
    assert suite["target"] == suite["role"]
    assert suite["model"] is None
    assert (
        suite["cases"][0]["attempts"][0]["turns"][0]["asked"][1]
        == "gpt-4o  'Write a refund'  → 'Sorry, Ada'"
    )
    assert Path("out.md").read_text().count("Target ") == 1


def test_an_async_function_is_awaited_also_where_a_loop_runs(application: Project) -> None:
    import asyncio

    application.write(
        "async.yaml",
        HEAD + 'target: {function: "app.py:shout"}\n'
        "cases: [{name: c, prompt: Hi, replies: [{text: hello}], assertions: [{type: equals, "
        "value: HELLO}]}]",
    )

    async def run() -> Any:
        return run_suite(None, load_suite("async.yaml"), dry_run=True)

    assert run_suite(None, load_suite("async.yaml"), dry_run=True).all_passed
    assert asyncio.run(run()).all_passed
    text = Path("async.yaml").read_text().replace("text: hello", "text: crash")
    Path("async.yaml").write_text(text)
    outside = run_suite(None, load_suite("async.yaml"), dry_run=True).case_results[0].error
    inside = asyncio.run(run()).case_results[0].error
    problem = "app.py:shout raised ValueError: no such kind (app.py:16)"
    assert outside == inside == problem


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (
            '{function: "app.py:silent"}',
            "app.py:silent returned None. Is a return statement missing?",
        ),
        (
            '{function: "app.py:answr"}',
            "app.py:answr: app.py has no function 'answr'; did you mean",
        ),
        (
            "{command: [no-such-command]}",
            "the command 'no-such-command' cannot be started: No such file",
        ),
        (
            f"{{command: [{sys.executable}, -c, 'exit(\"oh no\")']}}",
            "ended with exit code 1; stderr: oh no",
        ),
        (
            f"{{command: [{sys.executable}, -c, 'print(1)'], output: a}}",
            "the target's output a: there is no 'a' in $",
        ),
        (
            f"{{command: [{sys.executable}, -c, 'print(\"{{\")'], output: a}}",
            "needs JSON, but '{' is not JSON: ",
        ),
        ("{url: 'http://127.0.0.1:9/', mocked: true}", "http://127.0.0.1:9/ cannot be reached"),
        (
            "{url: 'http://127.0.0.1:9/'}",
            "a dry run does not call http://127.0.0.1:9/, because its models may be real",
        ),
    ],
)
def test_a_target_that_gives_no_output_says_why(
    application: Project, target: str, problem: str
) -> None:
    application.write("t.yaml", f"{HEAD}target: {target}\ncases: [{{name: c, prompt: Hi}}]")
    result = run_suite(None, load_suite("t.yaml"), dry_run=True)
    assert problem in (result.case_results[0].error or "")


def test_a_reply_names_the_model_of_a_function_also_by_an_alias(application: Project) -> None:
    application.write(
        "alias.yaml",
        HEAD + 'target: {function: "app.py:shout"}\n'
        "cases: [{name: c, prompt: Hi, replies: [{model: 4o, text: hello}]}]",
    )
    (case,) = run_suite(None, load_suite("alias.yaml"), dry_run=True).case_results
    assert (case.error, case.output) == (None, "HELLO")


def test_an_interrupt_in_an_application_ends_the_run(application: Project) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_target(application, '{function: "app.py:interrupted"}', dry_run=True)


def test_a_function_without_a_signature_is_given_the_prompt_alone(application: Project) -> None:
    result = run_target(application, '{function: "app.py:last_letter"}', dry_run=True)
    assert (result.error, result.output) == (None, "i")


@pytest.mark.parametrize(
    ("head", "case", "problem"),
    [
        (
            "target: {}",
            "",
            "4: target: expected exactly one of function, command and url, got none of them",
        ),
        ('target: {function: "a.py:f", url: "http://a"}', "", "got function and url"),
        ('target: {function: "a.py:f", body: 1}', "", "body is only supported with a url"),
        (
            'target: {function: "a.py:f", output: "a..b"}',
            "",
            "'a..b' is not a path of keys and positions",
        ),
        ('target: {function: "../a.py:f"}', "", "is outside of the suite's folder"),
        (
            "target: {url: 'http://a'}",
            "replies: [{text: a}]",
            "a suite with a url target cannot have 'replies'",
        ),
        ("target: {command: [a]}", "replies: [{model: a}]", "6: case 'c': reply 1: has no content"),
        (
            "target: {command: [a]}",
            "expected_output: a, replies: [{text: a}]",
            "cannot be combined",
        ),
    ],
)
def test_what_is_wrong_with_a_target_is_told_with_its_line(
    application: Project, head: str, case: str, problem: str
) -> None:
    application.write("t.yaml", f"{HEAD}{head}\ncases:\n  - {{name: c, prompt: Hi, {case}}}\n")
    ended = application.command("validate", "t.yaml")
    assert ended.exit_code == 1
    assert problem in ended.output
    assert "t.yaml:" in ended.output


def test_a_suite_has_a_role_or_a_target(application: Project) -> None:
    ended = application.command("test", "role.yaml", "-s", "function.yaml", "--dry-run")
    assert (
        "function.yaml: a role and the 'target' of the suite cannot be combined: remove one of them"
        in ended.output
    )
    ended = application.command("test", "-s", "tests.yaml", "--dry-run")
    assert (
        "tests.yaml: the suite has no role and no target: pass a role, or add a 'target' to "
        "the suite" in ended.output
    )


def test_a_live_run_runs_the_application_for_real(application: Project) -> None:
    application.write("live.py", "def answer(prompt):\n    return prompt.upper()\n")
    application.write(
        "live.yaml",
        HEAD + 'target: {function: "live.py:answer"}\ncases:\n'
        "  - {name: c, prompt: Hi, replies: [{text: not used}],"
        " assertions: [{type: equals, value: HI}, {type: max_latency, value: 5}]}",
    )
    ended = application.command("test", "-s", "live.yaml", "-v")
    assert ended.exit_code == 0
    assert "✓ Took" in ended.output
    assert "token" not in ended.output


@pytest.fixture
def endpoint() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(
                {"choices": [{"text": asked["messages"][0].upper() + self.headers["X-Key"]}]}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/chat"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_endpoint_is_sent_the_body_and_its_output_is_found_by_a_path(
    project: Project, endpoint: str, dry_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_APP", "-k1")
    project.write(
        "http.yaml",
        f"{HEAD}target:\n  url: {endpoint}\n  body: {{messages: ['{{prompt}}!']}}\n  mocked: true\n"
        "  headers: {X-Key: '${KEY_OF_APP}'}\n  output: $.choices[0].text\n"
        "cases: [{name: c, prompt: Hi, assertions: [{type: equals, value: HI!-k1}]}]",
    )
    assert run_suite(None, load_suite("http.yaml"), dry_run=dry_run).all_passed


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_long_answer_is_an_error_and_never_cut(
    project: Project, endpoint: str, beyond: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_APP", "k")
    size = len('{"choices": [{"text": "HIk"}]}') - beyond
    monkeypatch.setattr(target_client, "MAX_RESPONSE_SIZE", size)
    project.write(
        "http.yaml",
        f"{HEAD}target:\n  url: {endpoint}\n  body: {{messages: ['{{prompt}}']}}\n"
        "  headers: {X-Key: '${KEY_OF_APP}'}\n"
        "cases: [{name: c, prompt: Hi, assertions: [{type: contains, value: HIk}]}]",
    )
    (result,) = run_suite(None, load_suite("http.yaml")).case_results
    if beyond:
        assert result.error == f"{endpoint} sent a response of more than {size / 1_000_000:g} MB"
    else:
        assert result.passed


@pytest.mark.parametrize(
    ("path", "found"), [("a", {"b": [1, 2]}), ("$.a.b[1]", 2), ("a.b.0", 1), ('$["a"]["b"][-1]', 2)]
)
def test_a_path_leads_to_a_part_of_json(path: str, found: Any) -> None:
    assert get_value({"a": {"b": [1, 2]}}, path) == found


def test_cases_at_once_have_no_reply_of_each_other(project: Project) -> None:
    project.write("app.py", APP)
    cases = [
        (
            f"  - {{name: known-{n}, prompt: Hi, expected_output: Hello}}\n"
            f"  - {{name: not-{n}, prompt: Hi}}\n"
        )
        for n in range(20)
    ]
    project.write("many.yaml", f"{HEAD}{FUNCTION}cases:\n{''.join(cases)}")
    found = run_suite(
        None, load_suite(project.path / "many.yaml"), dry_run=True, jobs=40
    ).case_results
    assert {result.case.name for result in found if result.passed} == {
        f"known-{n}" for n in range(20)
    }


# What goes wrong


def run_target(project: Project, target: str, *, prompt: str = "Hi", **options: Any) -> CaseResult:
    """Run a suite of one case with a target."""
    case = json.dumps({"name": "c", "prompt": prompt})
    project.write("t.yaml", f"{HEAD}target: {target}\ncases: [{case}]\n")
    (result,) = run_suite(None, load_suite("t.yaml"), **options).case_results
    return result


def python(code: str, *words: str) -> str:
    """Return the command of a target that runs some code, as YAML."""
    return json.dumps([sys.executable, "-c", code, *words])


@pytest.mark.parametrize(
    ("target", "prompt", "problem"),
    [
        (
            f"{{command: {python('import time; time.sleep(60)')}, timeout: 0.2}}",
            "Hi",
            "did not end within 0.2 s",
        ),
        (
            f"{{command: {python('pass', '{prompt}')}}}",
            "a\0b",
            "cannot receive the prompt as an argument: embedded null byte",
        ),
        (f"{{command: {python('exit(3)')}}}", "Hi", "ended with exit code 3; stderr: (nothing)"),
        (
            f"{{command: {python('import sys; sys.stderr.write(chr(10)); exit(3)')}}}",
            "Hi",
            "ended with exit code 3; stderr: (nothing)",
        ),
        (
            f"{{command: {python('import os; os.write(2, bytes([255, 10, 98])); exit(1)')}}}",
            "Hi",
            "ended with exit code 1; stderr: b\n\ufffd\nb",
        ),
    ],
)
def test_a_command_that_fails_is_told_with_its_words(
    project: Project, target: str, prompt: str, problem: str
) -> None:
    assert run_target(project, target, prompt=prompt, dry_run=True).error == (
        f"the command {sys.executable!r} {problem}"
    )


@pytest.mark.parametrize(
    ("written", "output"),
    [
        (b"a\r\nb\r\n", "a\nb"),
        (b"a\n\n", "a\n"),
        (b"a\xff", "a\ufffd"),
        (b"", ""),
    ],
)
def test_the_output_of_a_command_has_no_last_line_end(
    project: Project, written: bytes, output: str
) -> None:
    code = f"import os; os.write(1, {written!r})"
    result = run_target(project, f"{{command: {python(code)}}}", dry_run=True)
    (turn,) = result.decisive_attempt.turns
    assert turn.output == output


class Failing(BaseHTTPRequestHandler):
    """An endpoint that fails as its path says."""

    def do_POST(self) -> None:
        assert self.headers["Content-Type"] == self.headers.get("X-Type", "application/json")
        length = int(self.headers["Content-Length"])
        assert json.loads(self.rfile.read(length)) == {"prompt": "Hi"}
        if self.path == "/slow":
            self.close_connection = True
            self.server.given_up.wait(30)  # type: ignore[attr-defined]
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "http://models.example.com/a")
            self.end_headers()
        elif self.path == "/nearby":
            self.send_response(302)
            self.send_header("Location", "/found")
            self.end_headers()
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "1005")
            self.end_headers()
            self.wfile.write(b"Hello")
        elif self.path == "/cut-chunk":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nHello")
        elif self.path == "/noise":
            self.wfile.write(b"Hello\r\n")
        else:
            self.send_response(int(self.path[1:]), "As Asked")
            self.end_headers()
            self.wfile.write(b"no \xff\x1b[2J such model")

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"at {self.path}".encode())

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def failing() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Failing)
    server.given_up = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.given_up.set()  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "more", "error"),
    [
        ("/500", "", "URL responded with 500 As Asked: no \ufffd\\x1b[2J such model"),
        ("/404", "", "URL responded with 404 As Asked: no \ufffd\\x1b[2J such model"),
        ("/cut", "", "URL sent an incomplete response: 1,000 bytes are missing"),
        ("/cut-chunk", "", "URL sent no valid response: IncompleteRead"),
        ("/noise", "", "URL sent no valid response: BadStatusLine"),
        ("/slow", ", timeout: 0.2", "URL sent no valid response: TimeoutError: timed out"),
        (
            "/200",
            ", headers: {Key: '${NO_KEY_OF_APP}'}",
            "the header needs the environment variable NO_KEY_OF_APP, which is not set",
        ),
    ],
)
def test_an_endpoint_that_fails_is_told_with_its_answer(
    project: Project, failing: str, path: str, more: str, error: str
) -> None:
    found = run_target(project, f"{{url: '{failing}{path}'{more}}}").error or ""
    assert found.startswith(error.replace("URL", f"{failing}{path}"))


def test_an_answer_that_is_no_text_is_read_with_marks(project: Project, failing: str) -> None:
    headers = "{Content-Type: text/plain, X-Type: text/plain}"
    result = run_target(project, f"{{url: '{failing}/200', headers: {headers}}}")
    (turn,) = result.decisive_attempt.turns
    assert turn.output == "no \ufffd\x1b[2J such model"


@pytest.mark.parametrize(
    ("url", "error"),
    [
        (
            "URL/moved",
            "the target redirects to http://models.example.com/a, which is not on this machine. ",
        ),
        (
            "http://models.example.com/a",
            "a dry run does not call http://models.example.com/a, which is not on this machine. ",
        ),
    ],
)
def test_a_dry_run_asks_no_endpoint_elsewhere(
    project: Project, failing: str, url: str, error: str
) -> None:
    url = url.replace("URL", failing)
    result = run_target(project, f"{{url: '{url}', mocked: true}}", dry_run=True)
    assert (result.error or "").startswith(error)


def test_a_dry_run_follows_a_redirect_on_this_machine(project: Project, failing: str) -> None:
    result = run_target(project, f"{{url: '{failing}/nearby', mocked: true}}", dry_run=True)
    assert (result.error, result.output) == (None, "at /found")


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("{command: [a], headers: {a: b}}", "headers is only supported with a url"),
        ("{command: [a], mocked: true}", "mocked is only supported with a url"),
        ("{command: [a], mocked: true, body: 1}", "body is only supported with a url"),
        (
            "{function: 'a.py:f', timeout: 1}",
            "timeout is only supported with a command or a url",
        ),
        ("{command: [a], url: 'http://a'}", "got command and url"),
        ("{url: 'ftp://a'}", "target.url: "),
        ("{url: 'http:///a'}", "target.url: "),
        ("{command: []}", "target.command: "),
    ],
)
def test_keys_that_do_not_belong_to_a_target_are_told(
    project: Project, target: str, problem: str
) -> None:
    project.write("t.yaml", f"{HEAD}target: {target}\ncases: [{{name: c, prompt: Hi}}]\n")
    ended = project.command("validate", "t.yaml")
    assert ended.exit_code == 1
    assert problem in " ".join(ended.output.split())


@pytest.mark.parametrize(
    ("target", "label"),
    [
        ("{function: 'a.py:f'}", "a.py:f"),
        ("{url: 'http://a/b', timeout: 3}", "http://a/b"),
        ("{command: [run, 'a b'], timeout: 3}", "run 'a b'"),
    ],
)
def test_a_target_is_named_in_reports_by_what_it_is(
    project: Project, target: str, label: str
) -> None:
    project.write("t.yaml", f"{HEAD}target: {target}\ncases: [{{name: c, prompt: Hi}}]\n")
    suite = load_suite("t.yaml")
    assert suite.target is not None
    assert suite.target.label == label


@pytest.mark.parametrize(
    ("target", "is_over"),
    [
        ("{function: 'app.py:none'}", True),
        ("{function: 'app.py:fails'}", False),
        ("{function: 'app.py:ends'}", False),
        ("{function: 'app.py:gives_no_json'}", False),
        ("{command: [no-such-command]}", True),
        (f"{{command: {python('exit(1)')}}}", False),
        ("{url: 'http://127.0.0.1:9/', mocked: true}", True),
        ("{url: 'http://127.0.0.1:9/'}", True),
        ("{url: 'http://127.0.0.1:9/', mocked: true, headers: {A: '${NOT_SET_HERE}'}}", True),
    ],
)
def test_a_target_that_no_case_can_reach_ends_the_run(
    project: Project, target: str, is_over: bool
) -> None:
    project.write(
        "app.py",
        "def fails(prompt): raise ValueError('no')\n"
        "def ends(prompt): raise SystemExit(3)\n"
        "def gives_no_json(prompt): return {1j}\n",
    )
    cases = "cases: [{name: a, prompt: Hi}, {name: b, prompt: Hi}]"
    project.write("t.yaml", f"{HEAD}target: {target}\n{cases}\n")
    result = run_suite(None, load_suite("t.yaml"), dry_run=True)
    assert [found.status for found in result.case_results][:1] == ["failed"]
    assert [each.name for each in result.not_run] == (["b"] if is_over else [])
    assert result.agent_fails is is_over


def test_a_vector_that_no_suite_can_configure_is_for_a_test(application: Project) -> None:
    application.write(
        "vectors.py",
        "import llm\n\ndef answer(prompt):\n"
        "    return str(llm.get_embedding_model('ada').embed(prompt))\n",
    )
    target = "target: {function: 'vectors.py:answer'}\n"
    application.write("v.yaml", f"{HEAD}{target}cases: [{{name: c, prompt: Hi}}]\n")
    ended = application.command("test", "-s", "v.yaml", "--dry-run")
    place = "[0.1, …]) in a test of pytest, as a suite has no such replies."
    assert place in " ".join(ended.output.split())
