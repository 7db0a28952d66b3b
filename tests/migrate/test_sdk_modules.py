"""Mocks that replace an SDK in `sys.modules` become replies, as far as they only mock calls."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

APP = """
def ask():
    import openai

    client = openai.OpenAI(api_key="test", max_retries=0)
    messages = [{"role": "user", "content": "Hello"}]
    response = client.chat.completions.create(model="gpt-4o", messages=messages)
    return response.choices[0].message.content
"""
START = """
import sys
import types
from types import ModuleType, SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import pytest
from openai import RateLimitError

import app

COMPLETION = Mock(choices=[Mock(message=Mock(content="Hi"))])




class FakeCompletions:
    def create(self, **options):
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="Hi"))])


class FakeClient:
    def __init__(self, **options):
        self.chat = SimpleNamespace(completions=FakeCompletions())


class KeyedClient:
    def __init__(self, *, api_key, base_url=None):
        self.chat = SimpleNamespace(completions=FakeCompletions())


def new_module(client):
    module = types.ModuleType("openai")
    module.OpenAI = lambda **options: client
    return module, client

"""
FIXTURE = """

@pytest.fixture
def fake():
    module = MagicMock()
    with patch.dict(sys.modules, {"openai": module}):
        yield module

"""
CLIENT = ("client = MagicMock()", "client.chat.completions.create.return_value = COMPLETION")
ANSWER = "fake.OpenAI.return_value.chat.completions.create.return_value = COMPLETION"
SET = 'monkeypatch.setitem(sys.modules, "openai", fake)'


def migrate(folder: Path, *lines: str, parameter: str = "monkeypatch", start: str = START) -> str:
    """Return the new test below its first line; the reason in its place if it is left."""
    result = migrate_lines(folder, *lines, "app.ask()", parameter=parameter, start=start)
    if result.manual_changes:
        assert result.changed == ()
        return get_reason(result)
    assert result.changed
    return result.after.partition("def test_it(")[2].partition("\n")[2]


def migrate_lines(
    folder: Path, *lines: str, parameter: str = "monkeypatch", start: str = START
) -> FileResult:
    body = "\n    ".join(lines)
    return migrate_file(folder, f"{start}\ndef test_it({parameter}):\n    {body}\n")


def get_reason(result: FileResult) -> str:
    return "".join(change.reason for change in result.manual_changes)


def migrate_file(folder: Path, source: str) -> FileResult:
    (folder / "app.py").write_text(APP)
    path = folder / "test_app.py"
    path.write_text(source)
    return rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)


NEW = '    mock_llm_responses.set("*", "Hi")\n    app.ask()\n'


@pytest.mark.parametrize(
    "lines",
    [
        (*CLIENT, "fake = MagicMock()", "fake.OpenAI.return_value = client"),
        (*CLIENT, "fake = Mock(OpenAI=Mock(return_value=client))"),
        (*CLIENT, "fake = SimpleNamespace(OpenAI=lambda **options: client)"),
        (*CLIENT, "fake = SimpleNamespace(OpenAI=MagicMock(return_value=client))"),
        ("fake = SimpleNamespace(OpenAI=FakeClient)",),
        ("fake = SimpleNamespace(OpenAI=KeyedClient)",),
        ("fake = ModuleType('openai')", "fake.OpenAI = FakeClient  # type: ignore[attr-defined]"),
        (*CLIENT, "fake = types.ModuleType('openai')", "fake.OpenAI = lambda **options: client"),
        (*CLIENT, "fake, client = new_module(client)"),
        ("fake = MagicMock()", ANSWER, "fake.RateLimitError = RateLimitError"),
        ("fake = MagicMock()", ANSWER, "fake.types = MagicMock()", "fake.__path__ = []"),
        (
            "fake = MagicMock()",
            "create = AsyncMock(return_value=COMPLETION)",
            "fake.AsyncOpenAI.return_value.chat.completions.create = create",
        ),
    ],
)
def test_a_mock_of_an_sdk_becomes_a_reply(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert migrate(tmp_path, *lines, SET) == NEW


@pytest.mark.parametrize(
    "patcher",
    [
        'patch.dict(sys.modules, {"openai": fake})',
        'patch.dict("sys.modules", {"openai": fake})',
        'patch.dict("sys.modules", {"openai": fake}, clear=False)',
        'patch.dict("sys.modules", openai=fake)',
        'patch.dict("sys.modules", {"openai": fake, "openai.types": fake.types})',
        'patch.dict("sys.modules", {"openai.types": MagicMock(), "openai": fake})',
        'patch.dict("sys.modules", {"openai": fake, "anthropic": MagicMock()})',
    ],
)
def test_entries_of_a_dict_become_a_reply(tmp_path: Path, patcher: str) -> None:
    lines = ("fake = MagicMock()", ANSWER, f"with {patcher}:", "    app.ask()")
    assert migrate(tmp_path, *lines) == NEW + "    app.ask()\n"


def test_a_mock_of_the_module_that_a_fixture_gives_is_configured_in_the_test(
    tmp_path: Path,
) -> None:
    assert migrate(tmp_path, ANSWER, parameter="fake", start=START + FIXTURE) == NEW


def test_the_calls_of_the_mock_are_those_of_the_real_client(tmp_path: Path) -> None:
    new = migrate(
        tmp_path,
        *CLIENT,
        "fake = MagicMock()",
        "fake.OpenAI.return_value = client",
        SET,
        "app.ask()",
        "client.chat.completions.create.assert_called_once()",
    )
    assert new.splitlines()[1:3] == ["    app.ask()", "    mock_llm_calls.assert_called_once()"]


@pytest.mark.parametrize(
    ("module", "lines"),
    [
        (
            "anthropic",
            ['fake.Anthropic.return_value.messages.create.return_value.content[0].text = "Hi"'],
        ),
        ("litellm", ["fake.completion.return_value = COMPLETION"]),
        ("litellm", ["fake.acompletion = AsyncMock(return_value=COMPLETION)"]),
        (
            "google.genai",
            ['fake.Client.return_value.models.generate_content.return_value.text = "Hi"'],
        ),
        (
            "google",
            ['fake.genai.Client.return_value.models.generate_content.return_value.text = "Hi"'],
        ),
        ("mistralai.client", ["fake.Mistral.return_value.chat.complete.return_value = COMPLETION"]),
        (
            "mistralai",
            ["fake.client.Mistral.return_value.chat.complete.return_value = COMPLETION"],
        ),
    ],
)
def test_each_sdk_is_recognized(tmp_path: Path, module: str, lines: list[str]) -> None:
    line = f'monkeypatch.setitem(sys.modules, "{module}", fake)'
    assert migrate(tmp_path, "fake = MagicMock()", *lines, line) == NEW


GENAI = (
    "genai = MagicMock()",
    'genai.Client.return_value.models.generate_content.return_value.text = "Hi"',
)


@pytest.mark.parametrize(
    "lines",
    [
        (
            'google = ModuleType("google")',
            "google.genai = genai",
            'monkeypatch.setitem(sys.modules, "google", google)',
            'monkeypatch.setitem(sys.modules, "google.genai", genai)',
            'monkeypatch.setitem(sys.modules, "google.genai.types", genai.types)',
        ),
        (
            'monkeypatch.setitem(sys.modules, "google", ModuleType("google"))',
            'monkeypatch.setitem(sys.modules, "google.genai", genai)',
        ),
    ],
)
def test_the_package_and_the_parts_of_an_sdk_go_with_it(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    assert migrate(tmp_path, *GENAI, *lines) == NEW


ATTRIBUTE = "the mock of {} has the attribute {}"
USED = 'with patch.dict(sys.modules, {"openai": fake}):'


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            ["class OwnError(Exception): pass", "fake.RateLimitError = OwnError", SET],
            ATTRIBUTE.format("openai", "RateLimitError"),
        ),
        (
            ["class RateLimitError(Exception): pass", "fake.RateLimitError = RateLimitError", SET],
            ATTRIBUTE.format("openai", "RateLimitError"),
        ),
        (["fake.APIError = RateLimitError", SET], ATTRIBUTE.format("openai", "APIError")),
        (["fake.RateLimitError = MagicMock()", SET], ATTRIBUTE.format("openai", "RateLimitError")),
        (["fake.api_key = 'key'", SET], ATTRIBUTE.format("openai", "api_key")),
        (
            ["fake.types.Part = lambda **fields: fields", SET],
            ATTRIBUTE.format("openai", "types"),
        ),
        (
            [
                'with patch.dict(sys.modules, {"openai": fake, "tiktoken": Mock()}):',
                "    app.ask()",
            ],
            "the same patch replaces the modules tiktoken and openai",
        ),
        (
            [
                'with patch.dict(sys.modules, {"openai": fake, app.NAME: Mock()}):',
                "    app.ask()",
            ],
            "the same patch replaces the modules <app.NAME> and openai",
        ),
        (
            ['with patch.dict(sys.modules, {"openai": fake, "groq": None}):', "    app.ask()"],
            "the patch of openai also removes other modules",
        ),
        (
            ['with patch.dict(sys.modules, {"openai": fake}, clear=True):', "    app.ask()"],
            "the patch of openai also removes other modules",
        ),
        (
            [
                SET,
                "parts = SimpleNamespace(Part=list)",
                'monkeypatch.setitem(sys.modules, "openai.types", parts)',
            ],
            ATTRIBUTE.format("openai.types", "Part"),
        ),
        (
            ['monkeypatch.setitem(sys.modules, "openai", app.FAKE)'],
            "the module openai is replaced by app.FAKE, whose value is unknown",
        ),
        (
            ['monkeypatch.setitem(sys.modules, "openai", MagicMock(*app.PARTS))'],
            "the arguments of MagicMock are not literal",
        ),
        (
            [
                "fake = SimpleNamespace(OpenAI=FakeCompletions)",
                'monkeypatch.setitem(sys.modules, "openai", fake)',
            ],
            "the mock of a client has the attribute create",
        ),
        (
            ["fake.AsyncOpenAI = app.Client", SET],
            "openai.AsyncOpenAI is replaced by app.Client, whose value is unknown",
        ),
        (
            ["fake.AsyncOpenAI = [MagicMock()]", SET],
            "openai.AsyncOpenAI is replaced by several mocks",
        ),
        (
            [SET, "app.ask()", "fake.OpenAI.assert_called_once_with(api_key='test')"],
            "fake.OpenAI.assert_called_once_with(api_key='test') asserts on an object that "
            "llm_mock does not replace",
        ),
        (
            [SET, "app.ask()", "assert fake.types.Part.called"],
            "openai.types is mocked, but the command can rewrite only mocks of model calls",
        ),
        (
            [SET, "fake.OpenAI = FakeClient"],
            "the test replaces openai.OpenAI after it patches openai",
        ),
    ],
)
def test_a_mock_with_more_than_calls_is_left(tmp_path: Path, lines: list[str], reason: str) -> None:
    assert migrate(tmp_path, "fake = MagicMock()", ANSWER, *lines) == reason


def test_a_function_of_litellm_without_a_reply_is_left(tmp_path: Path) -> None:
    lines = ['monkeypatch.setitem(sys.modules, "litellm", MagicMock())']
    reason = "no reply is configured, so the model replies with another Mock"
    assert migrate(tmp_path, *lines) == reason


def test_an_assigned_mock_of_llm_is_left(tmp_path: Path) -> None:
    reason = migrate(tmp_path, "fake = MagicMock()", 'sys.modules["llm"] = fake')
    assert reason.startswith('the test assigns sys.modules["llm"]')


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setitem(sys.modules, "openai", None)',
        'monkeypatch.setitem(sys.modules, "boto3", MagicMock())',
        'monkeypatch.setitem(sys.modules, "google", MagicMock())',
        'monkeypatch.setitem(sys.modules, "google", MagicMock(*app.PARTS))',
        'monkeypatch.setitem(sys.modules, "google.cloud", MagicMock())',
        'monkeypatch.setitem(sys.modules, "openai", ModuleType("openai"))',
        'monkeypatch.setitem(sys.modules, "litellm", SimpleNamespace(embedding=list))',
        'monkeypatch.setitem(sys.modules, "openai.types", SimpleNamespace(Part=list))',
        'monkeypatch.setitem(app.PROVIDERS, "openai", MagicMock())',
        'monkeypatch.delitem(sys.modules, "openai", raising=False)',
        'sys.modules["openai"] = None',
        'sys.modules["boto3"] = MagicMock()',
        'app.PROVIDERS["openai"] = MagicMock()',
        'module = ModuleType("boto3")',
    ],
)
def test_another_module_mocks_no_model(tmp_path: Path, line: str) -> None:
    result = migrate_file(
        tmp_path, f"{START}\ndef test_it(monkeypatch):\n    {line}\n    app.ask()"
    )
    assert (result.changed, result.manual_changes) == ((), ())


SAVED = 'original = sys.modules.get("openai")'
ASSIGNED = 'sys.modules["openai"] = fake'
RESTORED = 'sys.modules["openai"] = original'


def assign(*lines: str, final: str = RESTORED) -> list[str]:
    return [SAVED, ASSIGNED, "try:", *[f"    {line}" for line in lines], "finally:", f"    {final}"]


@pytest.mark.parametrize(
    "lines",
    [
        assign("app.ask()"),
        assign("app.ask()", final='del sys.modules["openai"]'),
        assign("app.ask()", final='sys.modules.pop("openai", None)'),
        [
            'original = sys.modules.pop("openai", None)',
            "try:",
            f"    {ASSIGNED}",
            "    app.ask()",
            "finally:",
            "    if original is None:",
            '        sys.modules.pop("openai", None)',
            "    else:",
            f"        {RESTORED}",
        ],
        [
            SAVED,
            ASSIGNED,
            "app.ask()",
            'del sys.modules["openai"]',
            "if original is not None:",
            f"    {RESTORED}",
        ],
        [
            SAVED,
            ASSIGNED,
            "app.ask()",
            "if original is None:",
            '    del sys.modules["openai"]',
            "elif original:",
            f"    {RESTORED}",
        ],
    ],
)
def test_an_assigned_mock_and_its_end_become_a_reply(tmp_path: Path, lines: list[str]) -> None:
    result = migrate_lines(tmp_path, "fake = MagicMock()", ANSWER, *lines, parameter="")
    assert get_reason(result) == ""
    assert result.after.endswith(f"def test_it(mock_llm_responses):\n{NEW}")


def test_comments_around_an_assigned_mock_are_kept(tmp_path: Path) -> None:
    lines = [
        *("# saved", SAVED, "# assigned", ASSIGNED, "# tried", "try:", "    # asked"),
        *("    app.ask()", "# at last", "finally:", "    # restored", f"    {RESTORED}"),
    ]
    result = migrate_lines(tmp_path, "fake = MagicMock()", ANSWER, *lines, parameter="")
    assert get_reason(result) == ""
    comments = [line.strip() for line in result.after.splitlines() if line.strip()[:1] == "#"]
    assert sorted(comments) == sorted(line.strip() for line in lines if line.strip()[:1] == "#")


def test_a_fixture_that_assigns_a_mock_configures_the_reply(tmp_path: Path) -> None:
    fixture = f"""
@pytest.fixture
def fake():
    fake = MagicMock()
    {ANSWER}
    {SAVED}
    {ASSIGNED}
    yield fake
    if original:
        {RESTORED}
    else:
        del sys.modules["openai"]


def test_it(fake):
    app.ask()
"""
    result = migrate_file(tmp_path, START + fixture)
    new = 'def fake(mock_llm_responses):\n    mock_llm_responses.set("*", "Hi")\n\n\n'
    assert get_reason(result) == ""
    assert result.after.endswith(f"{new}def test_it(fake):\n    app.ask()\n")


LEAKS = 'the test assigns sys.modules["openai"], so the mock may also affect later tests'


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([ASSIGNED, "app.ask()"], LEAKS),
        ([SAVED, ASSIGNED, "app.ask()", 'sys.modules["other"] = original'], "this use of the mock"),
        ([ASSIGNED, "app.ask()", 'sys.modules["openai"] = app.ORIGINAL'], LEAKS),
        (["if app.ask:", f"    {ASSIGNED}"], "mocks are configured in a loop or under a condition"),
        (
            assign("app.ask()", final=f"app.close(); {RESTORED}"),
            "this use of the mock original cannot be converted",
        ),
        (
            [SAVED, ASSIGNED, "app.ask()", "if app.ask:", f"    {RESTORED}"],
            "sys.modules is restored under a condition or together with other cleanup",
        ),
        (
            [
                SAVED,
                ASSIGNED,
                "app.ask()",
                "if original is None:",
                '    del sys.modules["openai"]',
                "elif original:",
                "    app.close()",
            ],
            "sys.modules is restored under a condition or together with other cleanup",
        ),
        (
            [*assign("app.ask()"), "assert original"],
            "this use of the mock original cannot be converted",
        ),
        (
            [SAVED, ASSIGNED, "app.ask()", RESTORED, "app.ask()"],
            "a call after the patch is stopped may reach a real model",
        ),
    ],
)
def test_an_assigned_mock_with_another_end_is_left(
    tmp_path: Path, lines: list[str], reason: str
) -> None:
    result = migrate_lines(tmp_path, "fake = MagicMock()", ANSWER, *lines)
    assert result.changed == ()
    assert get_reason(result).startswith(reason)


def test_a_module_that_is_missing_for_a_while_mocks_no_model(tmp_path: Path) -> None:
    lines = [SAVED, 'sys.modules["openai"] = None', "try:", "    app.ask()", "finally:"]
    result = migrate_lines(tmp_path, *lines, f"    {RESTORED}")
    assert (result.changed, result.manual_changes) == ((), ())


PATCHED = """

def test_it():
    with patch("openai.OpenAI") as client:
        client.return_value.chat.completions.create.return_value = COMPLETION
        app.ask()
"""


@pytest.mark.parametrize(
    "line",
    [
        'sys.modules["openai"] = MagicMock()',
        'if "openai" not in sys.modules:\n    sys.modules["openai"] = MagicMock()',
        'sys.modules.setdefault("openai", MagicMock())',
    ],
)
def test_a_file_that_replaces_the_sdk_is_left(tmp_path: Path, line: str) -> None:
    result = migrate_file(tmp_path, f"{START}\n{line}\n{PATCHED}")
    assert result.changed == ()
    [change] = result.manual_changes
    assert change.reason == 'the file replaces sys.modules["openai"] for all of its tests'


@pytest.mark.parametrize(
    "line", ['sys.modules["anthropic"] = MagicMock()', 'app.SDKS["openai"] = MagicMock()']
)
def test_a_file_that_replaces_another_module_is_rewritten(tmp_path: Path, line: str) -> None:
    result = migrate_file(tmp_path, f"{START}\n{line}\n{PATCHED}")
    assert (result.changed, result.manual_changes) == (("test_it",), ())


def test_a_helper_that_goes_with_its_tests_is_not_listed(tmp_path: Path) -> None:
    test = """
def new_class():
    client = MagicMock()
    client.chat.completions.create.return_value = COMPLETION
    return MagicMock(return_value=client)


def test_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", SimpleNamespace(OpenAI=new_class()))
    app.ask()
"""
    result = migrate_file(tmp_path, START + test)
    assert "def new_class(" not in result.after
    assert result.manual_changes == ()
