"""`migrate --write` keeps the rewritten tests that pass, and leaves the others as they are."""

from __future__ import annotations

from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from textwrap import dedent
from threading import Thread

import pytest
from click.testing import CliRunner

pytest.importorskip("libcst")

from llm_mock.cli import main
from llm_mock.migrate import test_runs
from llm_mock.migrate.preparations import find_preparations
from tests.migrate.migrations import Migrated, load_few_plugins

APP = """
    import time

    import llm
    from llm import get_model

    def ask(text="Hi"):
        return get_model("gpt-4o-mini").prompt(text).text()

    def ask_until_real(text="Hi"):
        response = get_model("gpt-4o-mini").prompt(text)
        if isinstance(response, llm.Response):
            response = get_model("gpt-4o-mini").prompt(text)
        return response.text()

    def ask_without_end(text="Hi"):
        response = get_model("gpt-4o-mini").prompt(text)
        while isinstance(response, llm.Response):
            time.sleep(0.01)
        return response.text()

    def ask_as_real(text="Hi"):
        response = get_model("gpt-4o-mini").prompt(text)
        is_real = isinstance(response, llm.Response)
        answer = response.text()
        return "Hello" if is_real else answer

    def get_usage():
        return get_model("gpt-4o-mini").prompt("Hi").usage()
"""
MEASURED = """
    import coverage

    measurement = coverage.Coverage()
    measurement.start()
"""
START = """
    from unittest.mock import Mock, patch

    import pytest

    import app
"""
SIMPLE = """
    def test_greeting():
        # what the model says
        with patch("app.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Hello"
            assert app.ask() == "Hello"
"""
NEW_SIMPLE = """
    def test_greeting(mock_llm_responses):
        # what the model says
        mock_llm_responses.set("*", "Hello")
        assert app.ask() == "Hello"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    prepare(tmp_path, monkeypatch)
    return tmp_path


def prepare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load_few_plugins(monkeypatch)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    write(tmp_path / "app.py", APP)


def write(path: Path, *texts: str) -> str:
    text = join(*texts)
    path.write_text(text)
    return text


def join(*texts: str) -> str:
    return "\n\n".join(dedent(text).strip("\n") + "\n" for text in texts)


def migrate(*arguments: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(main, ["migrate", "--write", *arguments])
    return result.exit_code, result.output.splitlines()


PROJECT: dict[str, str] = {"pytest.ini": "[pytest]\nllm_mock_hosts = localhost:9\n"}
"""The files of a project that is migrated once, as each migration starts pytest several times."""


def add_file(path: str, *texts: str) -> str:
    """Add a file to `PROJECT`, with the name of its module for `THIS_FILE`, and return its text."""
    text = join(*texts).replace("THIS_FILE", Path(path).stem)
    assert path not in PROJECT
    PROJECT[path] = text
    return text


class RefusingHandler(BaseHTTPRequestHandler):
    """Answers `POST` with status 501, as it has no method for it."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@dataclass(frozen=True)
class MigratedProject(Migrated):
    """`PROJECT` after its migration, and the address of a server that ran meanwhile."""

    address: str

    def is_old(self, path: str) -> bool:
        """Return whether a file is as it was."""
        return self.read(path) == PROJECT[path]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> MigratedProject:
    folder = tmp_path_factory.mktemp("project")
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        ThreadingHTTPServer(("127.0.0.1", 0), RefusingHandler) as server,
    ):
        prepare(folder, monkeypatch)
        # The runs take the server for one that has nothing to do with them.
        monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
        address = f"127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        for path, text in PROJECT.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.replace("ADDRESS", address))
        code, lines = migrate(".")
        server.shutdown()
    assert code == 0
    return MigratedProject(folder, lines, address)


OPENAI_APP = """
    import openai

    def ask(**options):
        client = openai.OpenAI(base_url=options.pop("url", None), max_retries=0)
        messages = [{"role": "user", "content": "Hi"}]
        try:
            response = client.chat.completions.create(model="gpt-4o", messages=messages, **options)
        except openai.BadRequestError as error:
            raise RuntimeError(f"No answer: {error}") from error
        return response.choices[0].message.content
"""
OPENAI_START = START.replace("import app", "import openai_app")
OPENAI_TEST = """
    def test_it():
        with patch("openai_app.openai.OpenAI") as client_class:
            create = client_class.return_value.chat.completions.create
            create.return_value.choices[0].message.content = "Hello"
            assert openai_app.ask({options}) == "Hello"
"""
REFUSED_OPTIONS = {
    "temperature": (
        "temperature=7",
        "the real SDK rejects the request of this test: RuntimeError: No answer: Error code: 400",
    ),
    "temprature": (
        "temprature=1",
        "the real SDK rejects the request of this test: TypeError: Completions.create() got an "
        "unexpected keyword argument 'temprature'. Without --write",
    ),
    "url": (
        "url='http://localhost:10/v1'",
        "the rewritten test calls a server on this machine: openai.APIConnectionError: "
        "Connection error. To mock this server, add localhost:10 to ini llm_mock_hosts and "
        "run the command again. Without --write",
    ),
}
add_file("openai_app.py", OPENAI_APP)
for name, (options, _) in REFUSED_OPTIONS.items():
    add_file(f"test_{name}.py", OPENAI_START, OPENAI_TEST.format(options=options))


@pytest.mark.parametrize("name", REFUSED_OPTIONS)
def test_what_a_real_client_refuses_is_said(project: MigratedProject, name: str) -> None:
    path = f"test_{name}.py"
    [line] = project.list_lines(path)
    assert line.startswith(f"{path}:8: test_it: {REFUSED_OPTIONS[name][1]}")


# The server has another address in each run, which replaces the word.
add_file(
    "test_other_server.py", OPENAI_START, OPENAI_TEST.format(options="url='http://ADDRESS/v1'")
)


def test_the_address_of_another_server_on_this_machine_is_said(project: MigratedProject) -> None:
    [line] = project.list_lines("test_other_server.py")
    assert "test_it: the rewritten test calls a server on this machine: openai." in line
    assert f"To mock this server, add {project.address} to ini llm_mock_hosts" in line


add_file(
    "reporting_app.py",
    """
    import httpx

    def report():
        httpx.post("https://us.i.posthog.com/batch/", json={})
    """,
)
add_file(
    "test_reporting.py",
    OPENAI_START,
    "import reporting_app",
    OPENAI_TEST.format(options="") + "        reporting_app.report()\n",
)
add_file(
    "test_listed_server.py",
    OPENAI_START,
    OPENAI_TEST.format(options="url='http://localhost:9/v1'"),
)


@pytest.mark.parametrize("path", ["test_reporting.py", "test_listed_server.py"])
def test_neither_other_requests_nor_listed_servers_stop_a_test(
    project: MigratedProject, path: str
) -> None:
    [line] = project.list_lines(path)
    assert "test_it verified: it passes" in line


def test_why_pytest_cannot_start_is_said(folder: Path) -> None:
    write(folder / "pytest.ini", "[pytest]\naddopts = --unknown-option\n")
    write(folder / "test_app.py", START, SIMPLE)
    reason = "cannot be verified: pytest does not run it: pytest ended with exit code 4:"
    assert reason in migrate(".")[1][0]


REASONS = [
    (
        "model 'a' fails: LLM Provider NOT provided.",
        "the real SDK rejects the request of this test: RuntimeError: model 'a' fails: LLM "
        "Provider NOT provided. Without",
    ),
    (
        "api.openai.com refuses this call to the model 'a' with status 400: x",
        "the real SDK rejects the request of this test: RuntimeError: api.openai.com refuses",
    ),
    (
        "\n\nNo key is set.\nSet one.",
        "the rewritten test fails: RuntimeError: No key is set. W",
    ),
    ("Of the model:", "the rewritten test fails: RuntimeError: Of the model:. W"),
]
for number, (message, _) in enumerate(REASONS):
    app = f"""
        import llm

        def ask():
            response = llm.get_model("gpt-4o").prompt("Hi")
            if isinstance(response, llm.Response):
                raise RuntimeError({message!r})
            return response.text()
    """
    test = f"""
        def test_it():
            with patch("raising_{number}.llm.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                assert raising_{number}.ask() == "Hello"
    """
    add_file(f"raising_{number}.py", app)
    start = START.replace("import app", f"import raising_{number}")
    add_file(f"test_raising_{number}.py", start, test)


@pytest.mark.parametrize("number", range(len(REASONS)))
def test_the_reason_says_who_refuses_the_test(project: MigratedProject, number: int) -> None:
    [line] = project.list_lines(f"test_raising_{number}.py")
    assert f"test_it: {REASONS[number][1]}" in line


FIXTURE = """
    @pytest.fixture
    def model():
        with patch("app.get_model") as get_model:
            yield get_model.return_value
"""
WITH_FIXTURE = """
    def test_greeting(model):
        model.prompt.return_value.text.return_value = "Hello"
        assert app.ask() == "Hello"
"""


add_file("test_fixture.py", START, FIXTURE, WITH_FIXTURE)
add_file("test_idle_fixture.py", START, FIXTURE)


def test_a_fixture_that_no_test_requests_any_longer_is_removed(project: MigratedProject) -> None:
    assert project.list_lines("test_fixture.py") == [
        "test_fixture.py: test_greeting verified: it passes, and notices 3 of 6 changes.",
        "test_fixture.py: model rewritten.",
    ]
    assert "fixture" not in project.read("test_fixture.py")


def test_a_fixture_that_no_test_uses_stays(project: MigratedProject) -> None:
    assert project.list_lines("test_idle_fixture.py") == [
        "test_idle_fixture.py:9: model: pytest runs no test that uses it. Without --write the "
        "command shows the new test.",
    ]
    assert project.is_old("test_idle_fixture.py")


WORKS = """
    def test_it():
        with patch("app.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Hello"
            assert app.ask() == "Hello"
"""
LEFT = {
    "fails before": (
        """
        def test_it():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                assert app.ask() == "Bye"
        """,
        "test_it: the old test does not pass, so its new form cannot be verified: "
        "AssertionError: assert 'Hello' == 'Bye'",
    ),
    "is skipped": (
        f"\n    @pytest.mark.skip{WORKS}",
        "test_it: the old test does not pass, so its new form cannot be verified: it is skipped",
    ),
    "is expected to fail": (
        f"\n    @pytest.mark.xfail{WORKS}",
        "test_it: the old test does not pass, so its new form cannot be verified: it is "
        "expected to fail",
    ),
    "is not run": (
        """
        class Case:
            def test_it(self):
                with patch("app.get_model") as get_model:
                    get_model.return_value.prompt.return_value.text.return_value = "Hello"
                    assert app.ask() == "Hello"
        """,
        "Case::test_it: the old test does not pass, so its new form cannot be verified: "
        "pytest does not run it",
    ),
    "fails after": (
        """
        def test_it():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                get_model.return_value.prompt.return_value.usage.return_value = None
                assert app.get_usage() is None, "No usage.\\nOf 1 call."
        """,
        "test_it: the rewritten test fails: AssertionError: No usage. Without --write",
    ),
    "fails for one of its parameters": (
        """
        @pytest.mark.parametrize("number", [1, 2, 3])
        def test_it(number):
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                get_model.return_value.prompt.return_value.usage.return_value = None
                assert number != 2 or app.get_usage() is None
                assert app.ask()
        """,
        "test_it: the rewritten test fails: assert ",
    ),
    "calls the model more often": (
        """
        def test_it():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                assert app.ask_until_real() == "Hello"
        """,
        "test_it: the old mock received 1 call, but the rewritten test makes 2 calls.",
    ),
    "cannot be collected": (
        f'{WORKS}\n    raise ValueError("of the module")\n',
        "test_it: the old test does not pass, so its new form cannot be verified: its file "
        "cannot be collected: ValueError: of the module",
    ),
    "lacks a module": (
        f"{WORKS}\n    import no_such_module\n",
        "test_it: the old test does not pass, so its new form cannot be verified: its file "
        "cannot be collected: E   ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "does not end": (
        """
        def test_it():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                assert app.ask_without_end() == "Hello"
        """,
        "test_it: the rewritten test fails: Failed: it does not end within 2 seconds.",
    ),
    "notices less": (
        """
        def test_it():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                assert app.ask_as_real() == "Hello"
        """,
        "test_it: the old test fails but the rewritten test passes when the answer is another "
        "text (call 1), when the answer is empty (call 1). Without --write",
    ),
    "uses a fixture of its file": (
        """
        @pytest.fixture
        def model():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                get_model.return_value.prompt.return_value.usage.return_value = None
                yield get_model.return_value

        def test_good(model):
            assert app.ask() == "Hello"
            model.prompt.assert_called_once()

        def test_it(model):
            assert app.get_usage() is None
            model.prompt.assert_called_once()
        """,
        "test_good: it uses the fixture model, which cannot be rewritten.",
    ),
}


EDITING = """
    def test_file():
        with open(__file__, "a") as file:
            file.write("# Edited by a test.\\n")
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return the folder with all files of `LEFT`, and the output of one migration of them."""
    tmp_path = tmp_path_factory.mktemp("left")
    with pytest.MonkeyPatch.context() as monkeypatch:
        prepare(tmp_path, monkeypatch)
        monkeypatch.setattr(test_runs, "SECONDS", 2.0)
        for number, (text, _) in enumerate(LEFT.values()):
            write(tmp_path / f"test_{number}.py", START, text)
        write(tmp_path / "test_edited.py", START, SIMPLE, EDITING)
        write(tmp_path / "test_good.py", START, SIMPLE)
        code, lines = migrate(".")
    assert code == 1
    return tmp_path, lines


@pytest.mark.parametrize("number", range(len(LEFT)), ids=LEFT)
def test_a_test_that_is_not_as_good_is_left_with_the_reason(
    number: int, left: tuple[Path, list[str]]
) -> None:
    folder, lines = left
    text, reason = list(LEFT.values())[number]
    name = f"test_{number}.py"
    told = [line for line in lines if line.startswith(f"{name}:")]
    assert any(reason in line for line in told), told
    assert not any("verified: it passes" in line for line in told)
    copy = folder / "copy"
    assert (folder / name).read_text() == write(copy, START, text)


def test_files_beside_one_that_is_left_are_written(left: tuple[Path, list[str]]) -> None:
    folder, lines = left
    assert dedent(NEW_SIMPLE) in (folder / "test_good.py").read_text()
    assert lines[0].startswith("test_0.py:")
    assert lines[-1] == "Rewritten: 1 test in 1 file, 15 left to you. Look at the changes."


def test_a_file_that_is_edited_during_the_run_is_not_overwritten(
    left: tuple[Path, list[str]],
) -> None:
    folder, lines = left
    [line] = [line for line in lines if "test_edited.py" in line]
    assert line == (
        "Error: test_edited.py was edited while the command ran, so it was not overwritten. "
        "Run the command again."
    )
    text = (folder / "test_edited.py").read_text()
    assert dedent(SIMPLE) in text
    assert "# Edited by a test." in text


AZURE = """
    from unittest.mock import Mock, patch

    import pytest
    from openai import AzureOpenAI

    def ask():
        client = AzureOpenAI(api_key="k")
        message = {"role": "user", "content": "Hi"}
        answer = client.chat.completions.create(model="gpt-4o", messages=[message])
        return answer.choices[0].message.content

    def new_response():
        return Mock(choices=[Mock(message=Mock(content="Hello"))])

    @pytest.fixture
    def client():
        with patch("THIS_FILE.AzureOpenAI") as client_class:
            client = Mock()
            client_class.return_value = client
            yield client

    def test_fixture(client):
        client.chat.completions.create.return_value = new_response()
        assert ask() == "Hello"

    @patch("THIS_FILE.AzureOpenAI")
    def test_decorator(cls, monkeypatch):
        cls.return_value.chat.completions.create.return_value = new_response()
        assert ask() == "Hello"
        cls.assert_called_once_with(api_key="k")

    class TestCase(unittest.TestCase):
        @patch("THIS_FILE.AzureOpenAI")
        def test_method(self, cls):
            cls.return_value.chat.completions.create.return_value = new_response()
            assert ask() == "Hello"
"""
VARIABLES = """\
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://test.openai.azure.com")
    mock_llm_responses.set("*", "Hello")
    assert ask() == "Hello"
"""


add_file("test_azure.py", f"\n    import unittest{AZURE}")


def test_a_real_client_is_given_the_place_and_version_of_its_api(project: MigratedProject) -> None:
    text = project.read("test_azure.py")
    assert f"def test_fixture(mock_llm_responses, monkeypatch):\n{VARIABLES}" in text
    header = "def test_decorator(cls, monkeypatch, mock_llm_responses):"
    assert f"wraps=openai.AzureOpenAI)\n{header}\n{VARIABLES}    cls.assert" in text
    assert (
        "TestCase::test_method: the new test needs monkeypatch, which a method of "
        "unittest.TestCase cannot use. Set the environment variable or the list of models in "
        "setUp, then run the command again."
    ) in "\n".join(project.list_lines("test_azure.py"))


add_file(
    "test_optional.py",
    START,
    """
        def reply(text):
            return Mock(**{"text.return_value": text})

        def test_left():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.side_effect = [reply("a"), reply("b"), reply("c")]
                assert app.ask() == "a"

        def test_used():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.side_effect = [reply("a"), reply("b")]
                assert app.ask() + app.ask() == "ab"
        """,
)


def test_replies_that_nobody_asks_for_become_optional(project: MigratedProject) -> None:
    assert len(project.list_lines("test_optional.py")) == 2
    assert project.read("test_optional.py") == dedent(
        """\
        import pytest

        import app

        def test_left(mock_llm_responses):
            mock_llm_responses.add("*", "a")
            # The old mock had unused replies: remove them if they are not needed.
            mock_llm_responses.add("*", "b", optional=True)
            mock_llm_responses.add("*", "c", optional=True)
            assert app.ask() == "a"

        def test_used(mock_llm_responses):
            mock_llm_responses.add("*", "a")
            mock_llm_responses.add("*", "b")
            assert app.ask() + app.ask() == "ab"
        """
    )


CONFTEST = """
    from unittest.mock import Mock

    import pytest

    @pytest.fixture
    def answering(monkeypatch):
        model = Mock(**{"prompt.return_value.text.return_value": "Hello"})
        monkeypatch.setattr("app.get_model", lambda name: model)
"""


# Tests of other folders use another fixture of this name, and one of them fails with it.
add_file(
    "test_same_name.py",
    CONFTEST,
    """
    import app

    def test_it(answering):
        assert app.ask() == "Hello"
    """,
)
add_file(
    "test_user.py",
    CONFTEST,
    """
    from unittest.mock import patch

    import app

    def test_it(answering):
        with patch("app.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Hello"
            assert app.ask() == "Bye"
    """,
)


def test_a_fixture_is_verified_by_the_tests_that_may_use_it(project: MigratedProject) -> None:
    assert project.list_lines("test_same_name.py") == [
        "test_same_name.py: test_it verified: it passes, and notices 3 of 6 changes.",
        "test_same_name.py: answering rewritten.",
    ]


def test_a_fixture_stays_with_a_test_of_its_file_that_stays(project: MigratedProject) -> None:
    fixture, test = project.list_lines("test_user.py")
    assert fixture.startswith("test_user.py:6: answering: test_it uses it and remains unchanged. ")
    assert test.startswith("test_user.py:15: test_it: the old test does not pass, so its new form")
    assert project.is_old("test_user.py")


FIXTURE_TESTS = {
    "passes": ('assert app.ask() == "Hello"', None),
    "fails": (
        'assert "Mock" in str(app.get_usage())',
        "test_it uses it and then fails: ",
    ),
    "notices_less": (
        'assert app.ask_as_real() == "Hello"',
        "test_it uses it: the old test fails but the rewritten "
        "test passes when the answer is another text (call 1), when the answer is empty",
    ),
    "failed_before": ("assert False", None),
    "no_test": (None, "pytest runs no test that uses it."),
}
for name, (code, _) in FIXTURE_TESTS.items():
    add_file(f"{name}/conftest.py", CONFTEST)
    add_file(
        f"{name}/inner/test_{name}.py",
        f"""
        import app

        def test_it({"" if code is None else "answering"}):
            {code or "pass"}
        """,
    )


@pytest.mark.parametrize("name", FIXTURE_TESTS)
def test_a_fixture_is_verified_by_the_tests_of_its_folder(
    project: MigratedProject, name: str
) -> None:
    path = f"{name}/conftest.py"
    [line] = project.list_lines(path)
    reason = FIXTURE_TESTS[name][1]
    if reason is None:
        assert line == f"{path}: answering rewritten."
        assert "mock_llm_responses.set" in project.read(path)
    else:
        assert line.startswith(f"{path}:6: answering: {reason}")
        assert project.is_old(path)


def test_only_tests_that_may_use_a_rewritten_fixture_run_again(folder: Path) -> None:
    runs = folder / "runs"
    note = f"""
        def note(name):
            with open({str(runs)!r}, "a") as file:
                file.write(name)
    """
    write(folder / "notes.py", note)
    write(folder / "conftest.py", CONFTEST)
    write(
        folder / "test_app.py",
        """
        import app
        from notes import note

        def test_user(answering):
            note("u")
            assert app.ask() == "Hello"

        def test_other():
            note("o")
        """,
    )
    _, lines = migrate(".")
    assert "conftest.py: answering rewritten." in lines
    first, again = runs.read_text()[:2], runs.read_text()[2:]
    assert sorted(first) == ["o", "u"]
    # The new test, and both with changed replies.
    assert set(again) == {"u"}
    assert len(again) > 2


def test_ctrl_c_leaves_all_files_as_they_were(folder: Path) -> None:
    texts = {}
    for name in ("test_one.py", "test_two.py"):
        texts[name] = write(folder / name, START, SIMPLE)
    interrupting = """
        import os, signal

        def test_interrupt():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                os.kill(os.getppid(), signal.SIGINT)
                assert app.ask_without_end() == "Hello"
        """
    texts["test_zero.py"] = write(folder / "test_zero.py", START, interrupting)
    code, lines = migrate(".")
    assert (code, "".join(lines).strip()) == (130, "")
    assert {name: (folder / name).read_text() for name in texts} == texts


def test_a_test_that_cannot_be_stopped_ends_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_runs, "SILENT_SECONDS", 3.0)
    old = write(
        folder / "test_app.py",
        START,
        """
        import subprocess, sys, time

        def test_a_child():
            with patch("app.get_model") as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hello"
                assert app.ask() == "Hello"
                subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"]).wait()
        """,
    )
    code, lines = migrate("--learn", ".")
    assert code == 0
    assert "pytest was stopped after 3 seconds without a result" in lines[0]
    assert "cannot be verified: it has no result because another test did not end" in lines[1]
    assert (folder / "test_app.py").read_text() == old


add_file(
    "hiding/conftest.py",
    """
    import pytest

    @pytest.fixture
    def mock_llm_responses():
        return None
    """,
)
add_file("hiding/test_hidden.py", START, SIMPLE)


def test_a_fixture_of_the_project_that_hides_ours_is_named(project: MigratedProject) -> None:
    [line] = project.list_lines("hiding/test_hidden.py")
    problem = "AttributeError: 'NoneType' object has no attribute 'set'"
    assert f"the rewritten test fails: {problem}" in line
    assert "(The fixture mock_llm_responses in hiding/conftest.py hides the fixture of " in line


OWN_MOCK = """
    from unittest.mock import Mock

    class OwnMock:
        def __init__(self):
            self.replies, self.call_history = {}, []

        def set_response(self, model, schema, response):
            self.replies[model] = response

        def __call__(self, name):
            def prompt(text):
                self.call_history.append({"model": name, "prompt": text})
                reply = self.replies.get(name, "nothing")
                return Mock(text=lambda: reply)

            return Mock(prompt=prompt)

    def create_mock_get_model():
        return OwnMock()
"""
HIDING = """
    import pytest

    from own_mock import create_mock_get_model

    @pytest.fixture(autouse=True)
    def mock_llm_calls(monkeypatch, request):
        mock = create_mock_get_model()
        monkeypatch.setattr("app.get_model", mock)
        request.node.mock = mock
        yield mock

    @pytest.fixture
    def mock_llm_responses(request):
        return getattr(request.node, "mock", None) or create_mock_get_model()

    @pytest.fixture
    def another():
        return 1
"""
WITHOUT_HIDING = """
    import pytest

    @pytest.fixture
    def another():
        return 1
"""
USES_OWN_MOCK = """
    import app

    def test_reply(mock_llm_calls):
        mock_llm_calls.set_response("gpt-4o-mini", None, "Hello")
        assert app.ask() == "Hello"

    def test_history(mock_llm_responses):
        app.ask("Bye")
        assert mock_llm_responses.call_history[0]["prompt"] == "Bye"
"""
NEW_USES = """
    import app

    def test_reply(mock_llm_responses):
        mock_llm_responses.set("gpt-4o-mini", "Hello")
        assert app.ask() == "Hello"

    def test_history(mock_llm_responses):
        app.ask("Bye")
        assert mock_llm_responses.calls[0]["prompt"] == "Bye"
"""


NEEDS_OWN_MOCK = """
    def test_other():
        assert app.ask() == "nothing"
"""


add_file("own_mock.py", OWN_MOCK)


def add_own_mock(folder: str, *others: str, conftest: str = HIDING) -> None:
    add_file(f"{folder}/conftest.py", conftest)
    add_file(f"{folder}/inner/test_{folder}_inner.py", USES_OWN_MOCK)
    add_file(f"{folder}/test_{folder}.py", "import app\n", *others)


NO_LONGER_HIDING = {
    "nothing_beside": "",
    "passes_with_ours": """
        def test_other(mock_llm_calls):
            assert app.ask()
        """,
    "never_passed": """
        def test_other(mock_llm_calls):
            assert mock_llm_calls.nothing
        """,
}
for name, other in NO_LONGER_HIDING.items():
    add_own_mock(name, other)


@pytest.mark.parametrize("name", NO_LONGER_HIDING)
def test_fixtures_that_hide_ours_are_removed_with_the_tests_of_their_mock(
    project: MigratedProject, name: str
) -> None:
    path = f"{name}/conftest.py"
    assert f"{path}: mock_llm_calls, mock_llm_responses rewritten." in project.lines
    assert project.read(path) == join(WITHOUT_HIDING)
    assert project.read(f"{name}/inner/test_{name}_inner.py") == join(NEW_USES)


def test_pytest_is_not_started_again_if_no_test_is_left_beside_removed_fixtures(
    folder: Path,
) -> None:
    starts = folder / "starts"
    count_starts = f"""
        def pytest_configure():
            with open({str(starts)!r}, "a") as file:
                file.write("x")
    """
    write(folder / "own_mock.py", OWN_MOCK)
    write(folder / "conftest.py", HIDING, count_starts)
    write(folder / "test_app.py", USES_OWN_MOCK)
    assert migrate(".")[0] == 0
    assert (folder / "test_app.py").read_text() == join(NEW_USES)
    # For the old tests, for the new ones, and for the old ones with changed replies.
    assert starts.read_text() == "xxx"


COPIED = {
    # The patch of the fixture is for all tests.
    "patched_for_all": (NEEDS_OWN_MOCK, "it fails without it: "),
    "not_rewritten": (
        """
        def test_other(mock_llm_calls):
            app.ask()
            assert mock_llm_calls.replies == {}
        """,
        "it fails without it: ",
    ),
    # Its rewritten form fails, and the old one needs the old mock.
    "fails_rewritten": (
        """
        def test_other(mock_llm_calls):
            mock_llm_calls.set_response("gpt-4o-mini", None, "Hi")
            assert "Mock" in str(app.get_usage())
        """,
        "it fails without it: ",
    ),
    "any_answer_of_ours": (
        """
        def test_other():
            assert app.ask_as_real() in ("Hello", "nothing")
        """,
        "the old test fails but the rewritten test passes when ",
    ),
}
BESIDE = """
    def test_beside(mock_llm_calls):
        mock_llm_calls.set_response("gpt-4o-mini", None, "Hello")
        assert app.ask() == "Hello"
"""
for name, (other, _) in COPIED.items():
    add_own_mock(name, other, BESIDE)


@pytest.mark.parametrize("name", COPIED)
def test_a_file_that_needs_fixtures_that_hide_ours_has_a_copy_of_them(
    project: MigratedProject, name: str
) -> None:
    other, problem = COPIED[name]
    assert project.read(f"{name}/conftest.py") == join(WITHOUT_HIDING)
    assert project.read(f"{name}/inner/test_{name}_inner.py") == join(NEW_USES)
    path = f"{name}/test_{name}.py"
    text = project.read(path)
    _, _, fixtures = HIDING.partition("import create_mock_get_model\n")
    copied, _, _ = fixtures.partition("@pytest.fixture\n    def another")
    start = "import app\nimport pytest\nfrom own_mock import create_mock_get_model\n"
    assert text.startswith(start + dedent(copied).rstrip())
    # A file has either the old mock or ours.
    assert join(BESIDE).strip() in text
    reason = f"test_other in {path} needs it: {problem}"
    left = [line for line in project.list_lines(path) if reason in line]
    assert not any(".. " in line for line in left)
    assert any("test_beside" in line for line in left)
    # So has a test that was refused before.
    assert any(": test_other: " in line for line in left) == ("set_response" in other)


def test_fixtures_are_counted_apart_from_tests(project: MigratedProject) -> None:
    names = []
    for line in project.lines:
        if line.endswith(" rewritten."):
            _, _, rewritten = line.removesuffix(" rewritten.").partition(": ")
            names += rewritten.split(", ")
    tests = sum("verified: it passes" in line for line in project.lines)
    start = f"Rewritten: {tests} tests and {len(names)} fixtures in "
    assert project.lines[-1].startswith(start)


STARRED = HIDING.replace("import pytest\n", "import pytest\n    from math import *\n", 1)
add_own_mock("starred", NEEDS_OWN_MOCK, BESIDE, conftest=STARRED)


def test_the_copy_of_a_fixture_has_no_import_of_all_names(project: MigratedProject) -> None:
    text = project.read("starred/test_starred.py")
    start = "import app\nimport pytest\nfrom own_mock import create_mock_get_model\n"
    assert text.startswith(f"{start}\n@pytest.fixture(autouse=True)\ndef mock_llm_calls(")
    assert "*" not in text


NOT_COPIED = {
    # The fixture needs more than imports.
    "needs_a_constant": (
        HIDING.replace("\n    @pytest", '\n    TARGET = "app.get_model"\n\n    @pytest', 1).replace(
            'setattr("app.get_model"', "setattr(TARGET"
        ),
        "",
    ),
    # A test depends on where its fixture is.
    "knows_its_file": (
        HIDING.replace("yield mock", "mock.home = __name__\n        yield mock"),
        """
        def test_home(mock_llm_calls):
            assert "conftest" in mock_llm_calls.home
        """,
    ),
    # The file has something else of that name.
    "has_the_name": (HIDING, "def create_mock_get_model():\n    return None\n"),
}
REFUSED_BESIDE = """
    def test_refused(mock_llm_calls):
        mock_llm_calls.set_response("gpt-4o-mini", None, "Hi")
        assert "Mock" in str(app.get_usage())
"""
for name, (conftest, other) in NOT_COPIED.items():
    add_own_mock(name, NEEDS_OWN_MOCK, REFUSED_BESIDE, other, conftest=conftest)


@pytest.mark.parametrize("name", NOT_COPIED)
def test_all_tests_stay_if_a_file_cannot_have_a_copy(project: MigratedProject, name: str) -> None:
    paths = [f"{name}/conftest.py", f"{name}/inner/test_{name}_inner.py", f"{name}/test_{name}.py"]
    assert all(project.is_old(path) for path in paths)
    reason = (
        f"mock_llm_calls, mock_llm_responses of {paths[0]} hides an llm_mock fixture, but "
        f"test_other in {paths[2]} needs it: it fails without it: "
    )
    # The two fixtures, and three tests.
    assert sum(reason in line for line in project.lines) == 5


def test_fixtures_that_hide_ours_stay_without_a_run(folder: Path) -> None:
    write(folder / "own_mock.py", OWN_MOCK)
    write(folder / "test_app.py", USES_OWN_MOCK)
    old = write(folder / "conftest.py", HIDING)
    result = CliRunner().invoke(main, ["migrate", "--write", "--no-verify", "."])
    assert (folder / "conftest.py").read_text() == old
    assert "conftest.py:6: mock_llm_calls: it has the name of an llm_mock fixture" in result.output


NOISE = """
    import os

    def pytest_unconfigure():
        measurement.stop()
        measurement.save()
        for stream in (1, 2):
            os.write(stream, b"noise")
"""


def test_tests_run_under_xdist_and_with_the_options_of_the_project(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("xdist")
    pytest.importorskip("coverage")
    monkeypatch.delenv("COVERAGE_PROCESS_START", raising=False)
    write(folder / "conftest.py", MEASURED, NOISE)
    write(folder / "pytest.ini", "[pytest]\naddopts = -p xdist -n 1 -x\n")
    write(folder / "test_app.py", START, "def test_fails(): assert False", SIMPLE)
    assert migrate(".") == (
        0,
        [
            "test_app.py: test_greeting verified: it passes, and notices 3 of 6 changes.",
            "Rewritten: 1 test in 1 file. Look at the changes.",
        ],
    )
    # What the tests print is not shown.
    assert capfd.readouterr() == ("", "")
    assert dedent(NEW_SIMPLE) in (folder / "test_app.py").read_text()
    # The changes of a test that nobody rewrote are not counted, and nothing of the run is kept
    # for the next one: neither .pytest_cache nor .coverage.
    files = {"app.py", "conftest.py", "pytest.ini", "test_app.py", "__pycache__"}
    assert {path.name for path in folder.iterdir()} <= files


add_file(
    "test_parameters.py",
    START,
    """
    @pytest.mark.parametrize("ask", [app.ask, app.ask_as_real])
    def test_it(ask):
        with patch("app.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Hello"
            assert ask() == "Hello"
    """,
)


def test_a_change_that_one_parameter_of_the_new_test_notices_is_noticed(
    project: MigratedProject,
) -> None:
    assert project.list_lines("test_parameters.py") == [
        "test_parameters.py: test_it verified: it passes, and notices 4 of 12 changes."
    ]


def test_without_verifying_no_test_runs(folder: Path) -> None:
    write(folder / "test_app.py", START, "raise ValueError", SIMPLE)
    assert migrate("--no-verify", ".") == (
        0,
        [
            "test_app.py: test_greeting rewritten.",
            "Rewritten: 1 test in 1 file. Run the tests, then look at the changes.",
        ],
    )
    result = CliRunner().invoke(main, ["migrate", "--no-verify", "."])
    assert result.exit_code == 2
    assert "--no-verify needs --write: use both." in result.output


add_file(
    "chat_app.py",
    APP,
    """
        def chat(*texts):
            conversation = get_model("gpt-4o-mini").conversation()
            for text in texts:
                response = conversation.prompt(text)
                answer = response.text()
            if isinstance(response, llm.Response):
                conversation.prompt("once more").text()
            return answer
        """,
)
add_file(
    "test_chat.py",
    START.replace("import app", "import chat_app as app"),
    """
        class Answer:
            def text(self):
                return "Hello"

        class Model:
            def prompt(self, text):
                return Answer()

        def test_conversation():
            with patch("chat_app.get_model") as get_model:
                conversation = get_model.return_value.conversation.return_value
                conversation.prompt.return_value.text.return_value = "Hello"
                assert app.chat("a", "b") == "Hello"

        def test_class(monkeypatch):
            monkeypatch.setattr("chat_app.get_model", lambda name: Model())
            assert isinstance(app.ask_until_real(), str)

        @pytest.fixture
        def no_call(monkeypatch):
            monkeypatch.setattr("chat_app.get_model", lambda name: Mock())

        def test_library(no_call):
            with patch("chat_app.llm") as library:
                library.get_model.return_value.prompt.return_value.text.return_value = "Hello"
                assert app.llm.get_model("gpt-4o").prompt("a").text() == "Hello"

        def test_two_patches():
            model = Mock()
            model.prompt.return_value.text.return_value = "Hello"
            with patch("chat_app.get_model", return_value=model):
                with patch("llm.get_model", return_value=model):
                    assert app.ask() + app.llm.get_model("gpt-4o").prompt("a").text()
        """,
)


def test_calls_are_compared_as_far_as_the_old_mock_counts_them(project: MigratedProject) -> None:
    lines = project.list_lines("test_chat.py")
    told = {line.split(": ")[1].split()[0]: line for line in lines}
    assert (
        "the old mock received 2 calls, but the rewritten test makes 3 calls"
        in (told["test_conversation"])
    )
    # Nobody knows how often its prompt was called.
    assert "verified: it passes" in told["test_library"]
    assert "verified: it passes" in told["test_class"]
    assert "verified: it passes" in told["test_two_patches"]


GETTER_ERROR = """
        def ask_often(times):
            for _ in range(times):
                try:
                    model = get_model("gpt-4o-mini")
                except {in_getter}:
                    answer = "Sorry"
                    continue
                try:
                    answer = model.prompt("Hi").text()
                except {in_prompt}:
                    answer = "Sorry"
                {after}
            return answer
"""


GETTER_ERRORS = {
    "one_kind": ("RuntimeError", "RuntimeError", "", None),
    "two_kinds": ("RuntimeError", "KeyError", "", "the rewritten test fails: RuntimeError"),
    "one_time": (
        "RuntimeError",
        "RuntimeError",
        "break",
        "the old mock received 0 calls, but the rewritten test makes 1 call",
    ),
}
GETTER_TESTS = """
    def test_error(monkeypatch):
        def fail(name):
            raise RuntimeError("overloaded")

        monkeypatch.setattr("{app}.get_model", fail)
        assert {app}.ask_often(2) == "Sorry"

    def test_no_error():
        with patch("{app}.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Hello"
            assert {app}.ask_often(1) == "Hello"
"""
for name, (in_getter, in_prompt, after, _) in GETTER_ERRORS.items():
    app = f"app_{name}"
    error = GETTER_ERROR.format(in_getter=in_getter, in_prompt=in_prompt, after=after)
    add_file(f"{app}.py", APP, error)
    start = START.replace("import app", f"import {app}")
    add_file(f"test_{name}.py", start, GETTER_TESTS.format(app=app))


@pytest.mark.parametrize("name", GETTER_ERRORS)
def test_an_error_in_place_of_a_model_is_a_call_of_the_new_test(
    project: MigratedProject, name: str
) -> None:
    path = f"test_{name}.py"
    lines = project.list_lines(path)
    text = project.read(path)
    problem = GETTER_ERRORS[name][3]
    if problem is None:
        assert all("verified: it passes" in line for line in lines)
        assert 'mock_llm_responses.set_error("*", RuntimeError("overloaded"))' in text
    else:
        assert "verified: it passes" in lines[0]
        assert "def fail(name):" in text
        assert problem in lines[1]


SETUP = """
    import unittest

    class TestAll(unittest.TestCase):
        def setUp(self):
            self.patcher = patch("app.get_model")
            self.get_model = self.patcher.start()
            self.get_model.return_value.prompt.{reply}

        def tearDown(self):
            self.patcher.stop()

        def test_it(self):
            self.assertEqual(app.ask(), "Hello")
            {more}

        def test_another(self):
            self.assertEqual(app.{ask}(), "Hello")
            self.get_model.return_value.prompt.assert_called_once()
"""
ONE_REPLY = 'return_value.text.return_value = "Hello"'
TWO_REPLIES = 'side_effect = [Mock(text=lambda: "Hello"), Mock(text=lambda: "Hi")]'


CLASSES = {
    "whole": (ONE_REPLY, "ask", ""),
    "calls_more": (ONE_REPLY, "ask_until_real", ""),
    "replies_more": (TWO_REPLIES, "ask", 'self.assertEqual(app.ask(), "Hi")'),
}
for name, (reply, ask, more) in CLASSES.items():
    add_file(f"test_{name}.py", START, SETUP.format(reply=reply, ask=ask, more=more))


def test_a_class_whose_setup_patches_is_written_as_a_whole(project: MigratedProject) -> None:
    assert project.list_lines("test_whole.py") == [
        "test_whole.py: TestAll::test_it verified: it passes, and notices 3 of 6 changes.",
        "test_whole.py: TestAll::test_another verified: it passes, and notices 4 of 6 changes.",
    ]
    new = project.read("test_whole.py")
    assert '    def setUp(self):\n        self.llm_mock.set("*", "Hello")\n\n    def test_it' in new


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (
            "test_calls_more.py",
            "the rewritten test fails: AssertionError: Expected 1 call to any model, got 2. "
            "Without --write the command shows the new test.",
        ),
        (
            "test_replies_more.py",
            "it needs a different setUp than TestAll::test_it. Configure the replies in each "
            "test, then run the command again.",
        ),
    ],
)
def test_a_class_whose_setup_patches_stays_with_one_of_its_tests(
    project: MigratedProject, path: str, reason: str
) -> None:
    assert project.is_old(path)
    assert project.list_lines(path) == [
        f"{path}:19: TestAll::test_it: TestAll::test_another needs the same patches "
        "and cannot be rewritten. Rewrite that one first, then run the command again.",
        f"{path}:23: TestAll::test_another: {reason}",
    ]


KEY = """
    import os
    from unittest.mock import Mock, patch

    from openai import OpenAI

    def ask():
        client = OpenAI(api_key="k")
        # As litellm does before it makes a client.
        if not isinstance(client, Mock) and not os.environ.get({variable!r}):
            raise ValueError("Missing key. Set {variable} or OTHER_API_KEY.")
        message = {{"role": "user", "content": "Hi"}}
        answer = client.chat.completions.create(model="gpt-4o", messages=[message])
        return answer.choices[0].message.content

    def test_it():
        with patch("THIS_FILE.OpenAI") as client_class:
            client = Mock()
            client_class.return_value = client
            client.chat.completions.create.return_value = Mock(
                choices=[Mock(message=Mock(content="Hello"))]
            )
            assert ask() == "Hello"
"""


add_file("test_key.py", KEY.format(variable="MISTRAL_API_KEY"))
add_file(
    "test_token.py",
    KEY.format(variable="MISTRAL_TOKEN").replace("OTHER_API_KEY", "another"),
)


def test_a_library_is_given_the_key_that_it_misses(project: MigratedProject) -> None:
    new = """\
def test_it(mock_llm_responses, monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", "test")
    mock_llm_responses.set("*", "Hello")
    assert ask() == "Hello"
"""
    assert project.read("test_key.py").endswith(new)


def test_another_variable_is_not_set(project: MigratedProject) -> None:
    assert project.is_old("test_token.py")
    [line] = project.list_lines("test_token.py")
    assert "the rewritten test fails: ValueError: Missing key. Set MISTRAL_TOKEN" in line


OPTIONS = """
    import llm
    import pytest
    from unittest.mock import patch

    def ask(**options):
        try:
            return llm.get_model("gpt-4o-mini").prompt("Hi", **options).text()
        except ValueError as error:
            return f"Sorry: {type(error).__name__}"

    async def ask_async(**options):
        return await llm.get_async_model("gpt-4o-mini").prompt("Hi", **options).text()
"""
ACCEPTED = """\
    # A registered model rejects a call in this test that the old mock accepts.
    mock_llm_responses.autospec(False)
"""


REFUSED = """
    import asyncio
    from unittest.mock import AsyncMock, Mock

    def test_refused():
        with patch("llm.{getter}") as get_model:
            response = {double}()
            response.text.return_value = "Hello"
            get_model.return_value.prompt = Mock(return_value=response)
            assert {refused} == "Hello"

    def test_accepted():
        with patch("llm.{getter}") as get_model:
            response = {double}()
            response.text.return_value = "Hello"
            get_model.return_value.prompt = Mock(return_value=response)
            assert {accepted} == "Hello"
"""
ATTACHMENT = "[llm.Attachment(type='a/b', content=b'c')]"


REGISTERED = {
    "block": ("get_model", "Mock", "ask(blocks=[1])", "ask()"),
    "attachment": ("get_model", "Mock", f"ask(attachments={ATTACHMENT})", "ask(temperature=1)"),
    "async": (
        "get_async_model",
        "AsyncMock",
        "asyncio.run(ask_async(blocks=[1]))",
        "asyncio.run(ask_async())",
    ),
}
for name, (getter, double, refused, accepted) in REGISTERED.items():
    old = REFUSED.format(getter=getter, double=double, refused=refused, accepted=accepted)
    add_file(f"test_{name}.py", OPTIONS, old)


@pytest.mark.parametrize("name", REGISTERED)
def test_calls_that_only_a_registered_model_refuses_are_accepted(
    project: MigratedProject, name: str
) -> None:
    path = f"test_{name}.py"
    assert ["verified" in line for line in project.list_lines(path)] == [True, True]
    text = project.read(path)
    assert f"def test_refused(mock_llm_responses):\n{ACCEPTED}    mock_llm_responses.set(" in text
    # Only where a call was refused.
    assert "def test_accepted(mock_llm_responses):\n    mock_llm_responses.set(" in text


# The refusal is not why the new test fails.
add_file(
    "test_real_model.py",
    OPTIONS,
    """
    def test_it():
        with patch("llm.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Hello"
            assert ask(blocks=[1]) == "Hello"
            assert not isinstance(llm.get_model("gpt-4o-mini"), llm.Model)
    """,
)
# The SDK refuses the call, as its provider does in production.
add_file(
    "test_real_client.py",
    OPTIONS,
    """
    import openai

    def test_it():
        with patch("THIS_FILE.openai.OpenAI") as client_class:
            create = client_class.return_value.chat.completions.create
            create.return_value.choices[0].message.content = "Hello"
            client = openai.OpenAI(api_key="k")
            answer = client.chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "Hi"}], temperature=9
            )
            assert answer.choices[0].message.content == "Hello"
    """,
)


@pytest.mark.parametrize("path", ["test_real_model.py", "test_real_client.py"])
def test_a_test_that_fails_for_another_reason_is_left(project: MigratedProject, path: str) -> None:
    assert project.is_old(path)
    [line] = project.list_lines(path)
    assert "verified" not in line


HANDLED = """
    def ask_safely(**options):
        return ask(**options).partition(":")[0]

    def test_it():
        with patch("{target}") as double:
            double.{prompt}side_effect = ValueError("blocks")
            assert ask_safely(blocks=[1]) == "Sorry"
"""


# The application handles the error of the mock, and would handle a refusal as well.
add_file(
    "test_handled.py",
    OPTIONS,
    HANDLED.format(target="llm.get_model", prompt="return_value.prompt."),
)
# The old test has a real model, which refuses the call, too.
CHAT = "llm.default_plugins.openai_models.Chat.execute"
add_file("test_execute.py", OPTIONS, HANDLED.format(target=CHAT, prompt=""))


@pytest.mark.parametrize(
    ("path", "is_accepted"), [("test_handled.py", True), ("test_execute.py", False)]
)
def test_a_refused_call_is_one_that_the_old_mock_had(
    project: MigratedProject, path: str, is_accepted: bool
) -> None:
    assert ("autospec(False)" in project.read(path)) == is_accepted


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        ("Set the GEMINI_API_KEY or GOOGLE_API_KEY environment variable.", ["GEMINI_API_KEY"]),
        ("Please set `ANTHROPIC_API_KEY` or `ANTHROPIC_AUTH_TOKEN`", ["ANTHROPIC_API_KEY"]),
        ("OPENAI_API_VERSION or MISTRAL_API_KEY", ["OPENAI_API_VERSION", "MISTRAL_API_KEY"]),
        ("assert 'API_KEY' in {}", []),
        ("MISTRAL_API_KEYS is empty, and my_API_KEY, too", []),
    ],
)
def test_the_message_of_a_failed_test_names_what_it_needs(problem: str, names: list[str]) -> None:
    assert find_preparations(problem) == names
