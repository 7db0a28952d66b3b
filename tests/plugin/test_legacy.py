"""An old mock that replaces a whole module is pointed out."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from llm_mock.plugin.hand_patches import HandPatches
from llm_mock.plugin.patch_lines import find_setattr

OLD_MOCK = """
    import sys, types

    class MockPlanningModule(types.ModuleType):
        def __repr__(self):
            return "<MockPlanningModule>"

    class FakePlanner(types.ModuleType): ...
"""


def test_an_old_mock_is_warned_about_once(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        OLD_MOCK + "\n    sys.modules['pflow.planning'] = MockPlanningModule('pflow.planning')"
    )
    pytester.makepyfile("def test_one(): ...\ndef test_two(): ...")
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        ["*LegacyMockWarning: Old mock detected in pflow.planning: *MIGRATION_GUIDE.md.*"]
    )


def test_an_old_mock_that_appears_later_is_warned_about(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_legacy_modules =\n    team.planner = FakePlanner")
    pytester.makeconftest(OLD_MOCK)
    pytester.makepyfile(
        """
        import sys
        import pytest
        from conftest import FakePlanner

        @pytest.fixture
        def old_mock(monkeypatch):
            monkeypatch.setitem(sys.modules, "team.planner", FakePlanner("team.planner"))

        def test_clean(): ...

        def test_appears(old_mock): ...
        """
    )
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        ["*::test_appears", "*LegacyMockWarning: Old mock detected in team.planner:*"]
    )


def test_a_real_module_of_that_name_is_no_old_mock(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        **{
            "pflow/__init__": "",
            "pflow/planning": "",
            "test_it": "import pflow.planning\ndef test_it(): ...",
        }
    )
    pytester.runpytest().assert_outcomes(passed=1, warnings=0)


def test_an_old_mock_fails_its_test_clearly_where_warnings_are_errors(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        OLD_MOCK + "\n    sys.modules['pflow.planning'] = MockPlanningModule('pflow.planning')"
    )
    pytester.makepyfile("def test_one(): ...\ndef test_two(): ...")
    result = pytester.runpytest("-Werror::llm_mock.LegacyMockWarning")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Old mock detected in pflow.planning: *"])
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_a_test_that_still_patches_get_model_beside_its_replies_is_warned_of(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        app=(
            "from llm import get_model\n\ndef ask():\n"
            "    return get_model('gpt-4o').prompt('Hi').text()"
        )
    )
    pytester.makepyfile(
        """
        from unittest.mock import MagicMock, patch
        import app, llm

        @patch("app.get_model")
        def test_half_migrated(get_model, mock_llm_responses):
            get_model.return_value.prompt.return_value.text.return_value = "old"
            mock_llm_responses.set("gpt-4o", "new")
            assert app.ask() == "old"

        def test_patched_later(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "new")
            with patch("llm.get_model"), patch.object(llm, "get_async_model"):
                llm.get_model("gpt-4o").prompt("Hi")

        def test_replies_that_are_used(mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mini", "new")
            with patch("app.get_model"):
                assert llm.get_model("gpt-4o-mini").prompt("Hi").text() == "new"

        def test_that_fails(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "new")
            with patch("app.get_model"):
                assert app.ask() == "new"

        def test_monkeypatched(mock_llm_responses, monkeypatch):
            mock_llm_responses.set("gpt-4o", "new")
            monkeypatch.setattr(llm, "get_async_model", MagicMock())
            monkeypatch.setattr("app.get_model", MagicMock())
            assert app.ask() == "new"

        @patch("app.get_model")
        def test_of_the_old_kind(get_model):
            app.ask()

        def test_of_something_else(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "new")
            with patch.object(MagicMock(), "get_model"), patch("app.ask"):
                app.ask()
        """
    )
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(passed=5, failed=2, warnings=2)
    result.stdout.fnmatch_lines(
        [
            "No model was called, but replies were configured:",
            "  - gpt-4o  → 'new'  (test_a_test_that_still*.py:21, not used)",
            (
                "This test patches app.get_model by hand (MagicMock, *:22). Calls to "
                "patched objects never reach the mock. Remove the patch or the replies; "
                "`llm-mock migrate` rewrites such tests."
            ),
            "*_ test_monkeypatched _*",
            (
                "This test patches llm.get_async_model by hand (MagicMock, *:27) and app.get_model "
                "by hand (MagicMock, *:28). *"
            ),
            "*::test_half_migrated",
            (
                "*LegacyMockWarning: This test patches app.get_model by hand (MagicMock*), and "
                "configures replies that were not used:"
            ),
            "    - gpt-4o  → 'new'  (test_a_test_that_still*.py:7)",
            "*rewrites such tests.",
            "*::test_patched_later",
            (
                "*This test patches llm.get_model by hand (MagicMock, *:12) and "
                "llm.get_async_model by hand (MagicMock, *:12), and configures *"
            ),
        ]
    )


SDK_PATCHES = """
    import pytest
    from unittest.mock import patch
    import app

    class FakeOpenAI:
        def __init__(self, **options): ...

    def test_class(mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "new")
        with patch("app.OpenAI"):
            assert app.ask() == "new"

    def test_queued(mock_llm_responses):
        mock_llm_responses.add("gpt-4o", "new")
        with patch("app.OpenAI"):
            app.ask()

    def test_method(mock_llm_responses, monkeypatch):
        mock_llm_responses.set("gpt-4o", "new")
        monkeypatch.setattr(app.client.chat.completions, "create", lambda **sent: None)
        assert app.client.chat.completions.create(model="gpt-4o") == "new"

    def test_fake(mock_llm_responses, monkeypatch):
        mock_llm_responses.set("gpt-4o", "new")
        monkeypatch.setattr("app.OpenAI", FakeOpenAI)
        app.ask()

    def test_module_and_client(mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "new")
        with patch("app.openai"), patch("app.client"):
            assert app.ask(app.openai.OpenAI) == "new"

    def test_passes(mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "new")
        with patch("app.OpenAI"):
            app.ask()

    def test_without_replies():
        with patch("app.OpenAI"):
            app.ask()

    def test_with_a_call(mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "new")
        mock_llm_responses.set("gpt-4o-mini", "new")
        assert app.ask() == "new"
        with patch("app.OpenAI"):
            app.ask()

    def test_fails_with_its_reply_used(mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "new")
        with patch("app.client"):
            assert app.ask() == "old"

    def test_fails_with_another_patch(mock_llm_responses, monkeypatch):
        mock_llm_responses.set("gpt-4o", "new")
        monkeypatch.setattr("app.ask", lambda: "old")
        monkeypatch.setattr("app.name", "gpt-4o-mini")
        with patch("app.other"):
            assert app.ask() == "new"

    def test_inherited(mock_llm_responses, monkeypatch):
        mock_llm_responses.set("gpt-4o", "new")
        monkeypatch.setattr(app.Client, "with_options", lambda self: None)
        assert app.Client().with_options() == "new"

    def test_inherited_from_the_project(mock_llm_responses, monkeypatch):
        mock_llm_responses.set("gpt-4o", "new")
        monkeypatch.setattr(app.Client, "own", lambda self: None)
        assert app.Client().own() == "new"
    """
OF_PATCHES = (
    "This test patches {} by hand ({}){}. Calls to patched objects never reach the mock. Remove "
    "the patch or the replies; `llm-mock migrate` rewrites such tests."
)


def test_a_patched_sdk_beside_replies_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        app=(
            "import openai\nfrom openai import OpenAI\n\nname = 'gpt-4o'\nclient = OpenAI()\n\n"
            "def ask(cls=None):\n    client = (cls or OpenAI)(max_retries=0)\n"
            "    message = {'role': 'user', 'content': 'Hi'}\n"
            "    answer = client.chat.completions.create(model=name, messages=[message])\n"
            "    return answer.choices[0].message.content\n\ndef other(): ...\n\n"
            "class Base(OpenAI):\n    def own(self): ...\n\nclass Client(Base): ..."
        ),
        test_sdk=SDK_PATCHES,
    )
    result = pytester.runpytest("-Wdefault")
    result.assert_outcomes(failed=9, passed=3, warnings=1)
    shown = result.stdout.str()
    named = "This test patches Client.with_options by hand (function, test_sdk.py:63)"
    assert shown.count(named) == 1
    assert "Client.own" not in shown.replace("app.Client().own", "")
    listed = "No model was called, but replies were configured:"
    result.stdout.fnmatch_lines(
        [
            "*_ test_class _*",
            listed,
            "  - gpt-4o  → 'new'  (test_sdk.py:9, not used)",
            OF_PATCHES.format("app.OpenAI", "MagicMock, test_sdk.py:10", ""),
            "*_ test_queued _*",
            "One queued reply was not used:",
            OF_PATCHES.format("app.OpenAI", "MagicMock, test_sdk.py:15", ""),
            "*_ test_method _*",
            OF_PATCHES.format("Completions.create", "function, test_sdk.py:20", ""),
            "*_ test_fake _*",
            OF_PATCHES.format("app.OpenAI", "FakeOpenAI, test_sdk.py:25", ""),
            "*_ test_module_and_client _*",
            OF_PATCHES.format(
                "app.openai",
                "MagicMock, test_sdk.py:30",
                " and app.client by hand (MagicMock, test_sdk.py:30)",
            ),
            "*_ test_fails_with_its_reply_used _*",
            "  1. gpt-4o  'Hi'  → 'new'",
            "*_ test_fails_with_another_patch _*",
            listed,
            "*::test_passes",
            "*LegacyMockWarning: This test patches app.OpenAI by hand (MagicMock, *:35), and *",
        ]
    )
    # The five above, and the warning.
    assert shown.count("This test patches") == 7


PASSING_MONKEYPATCHES = """
import app
import llm
import openai
import pytest

class FakeModel:
    def prompt(self, text):
        return "old"

@pytest.fixture
def fake_client(monkeypatch):
    monkeypatch.setattr("app.OpenAI", lambda **options: None)

def test_function(mock_llm_responses, monkeypatch):
    mock_llm_responses.set("gpt-4o", "new")
    monkeypatch.setattr(llm, "get_model", lambda name: FakeModel())
    assert llm.get_model("gpt-4o").prompt("Hi") == "old"

def test_method(mock_llm_responses, monkeypatch):
    mock_llm_responses.set("gpt-4o", "new")
    monkeypatch.setattr(
        "openai.resources.chat.completions.Completions.create", lambda self, **sent: "old"
    )
    assert app.ask() == "old"

def test_in_fixture(fake_client, mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "new")
    assert app.OpenAI() is None

def test_with_a_call(mock_llm_responses, monkeypatch):
    mock_llm_responses.set("gpt-4o", "new")
    mock_llm_responses.set("gpt-4o-mini", "new")
    monkeypatch.setattr(openai, "AzureOpenAI", lambda **options: None)
    app.ask()

def test_with_its_reply_used(mock_llm_responses, monkeypatch):
    mock_llm_responses.set("gpt-4o", "new")
    monkeypatch.setattr(llm, "get_async_model", lambda name: FakeModel())
    app.ask()

def test_without_replies(mock_llm_responses, monkeypatch):
    monkeypatch.setattr(llm, "get_model", lambda name: FakeModel())

def test_of_something_else(mock_llm_responses, monkeypatch):
    mock_llm_responses.set("gpt-4o", "new")
    monkeypatch.setattr("app.name", "gpt-4o")
    monkeypatch.setattr(openai, "api_key", "sk-test")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

def test_undone(mock_llm_responses, monkeypatch):
    mock_llm_responses.set("gpt-4o", "new")
    with monkeypatch.context() as patches:
        patches.setattr(llm, "get_model", lambda name: FakeModel())
"""


def test_a_passing_test_is_warned_of_its_monkeypatch_as_of_other_patches(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        app=(
            "from openai import OpenAI\n\nname = 'gpt-4o'\n\n"
            "def ask():\n    message = {'role': 'user', 'content': 'Hi'}\n"
            "    create = OpenAI(max_retries=0).chat.completions.create\n"
            "    return create(model=name, messages=[message])"
        ),
        test_it=PASSING_MONKEYPATCHES,
    )
    result = pytester.runpytest("-p", "no:randomly", "-Wdefault")
    result.assert_outcomes(passed=8, warnings=3)
    named = [line.strip() for line in result.outlines if "by hand" in line]
    assert [line.partition("LegacyMockWarning: ")[2] for line in named] == [
        f"This test patches {name} by hand (function, test_it.py:{line}), and configures replies "
        "that were not used:"
        for name, line in [("llm.get_model", 16), ("Completions.create", 21), ("app.OpenAI", 12)]
    ]
    result = pytester.runpytest("-p", "no:randomly", "-Werror::llm_mock.LegacyMockWarning")
    result.assert_outcomes(passed=5, failed=3)
    # The section of calls does not repeat the failure.
    assert result.stdout.str().count("by hand (function") == 3


def test_a_property_that_raises_does_not_fail_a_test_that_patches(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        class Target:
            patched = False

            @property
            def name(self):
                if self.patched:
                    raise ValueError("gone")
                return "name"

            @name.setter
            def name(self, value):
                self.patched = True

        def test_it(mock_llm_responses, monkeypatch):
            mock_llm_responses.set("gpt-4o", "new")
            monkeypatch.setattr(Target(), "name", "new")
        """
    )
    pytester.runpytest("-Wdefault").assert_outcomes(passed=1, warnings=0)


MONKEYPATCHES = """
import openai
import pytest
from openai import OpenAI
from unittest.mock import Mock, patch

@pytest.fixture
def in_fixture(monkeypatch):
    monkeypatch.setattr(OpenAI, "copy", Mock())

@pytest.fixture
def first(monkeypatch):
    monkeypatch.setattr(OpenAI, "get", Mock())

@pytest.fixture
def second(monkeypatch):
    monkeypatch.setattr(OpenAI, "get", Mock())

def test_fixture(in_fixture, mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "new")
    assert False

def test_one_of_two(first, mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "new")
    assert False

@patch("os.getcwd")
def test_decorated(getcwd, mock_llm_responses, monkeypatch):
    mock_llm_responses.set("gpt-4o", "new")
    monkeypatch.setattr(OpenAI, "close", str)
    monkeypatch.setattr(
        "openai.OpenAI.with_options",
        Mock(),
    )
    assert False

def test_the_same_patch_as_another_test(mock_llm_responses, monkeypatch):
    mock_llm_responses.set("gpt-4o", "new")
    monkeypatch.setattr(OpenAI, "with_options", Mock())
    print(OpenAI.with_options, "openai.OpenAI.with_options", OpenAI, "with_options")
    assert False
"""


def test_the_line_of_a_monkeypatch_is_found_where_it_is_clear(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=MONKEYPATCHES)
    result = pytester.runpytest("-p", "no:randomly")
    result.assert_outcomes(failed=4)
    named = [line.partition(". ")[0] for line in result.outlines if "by hand" in line]
    assert named == [
        "This test patches OpenAI.copy by hand (Mock, test_it.py:8)",
        # Either of two fixtures may make the patch.
        "This test patches OpenAI.get by hand (Mock)",
        "This test patches OpenAI.close by hand (str, test_it.py:29) and OpenAI.with_options by "
        "hand (Mock, test_it.py:30)",
        "This test patches OpenAI.with_options by hand (Mock, test_it.py:38)",
    ]


def test_the_line_of_a_monkeypatch_is_not_looked_for_in_another_language(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("No Python: .setattr(OpenAI, 'put')", encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile("def test(): ...", str(file), "exec"), names)
    assert find_setattr(names["test"], "OpenAI.put") == ""
    # Plugins collect objects of other kinds.
    assert find_setattr(functools.partial(print), "OpenAI.put") == ""


@pytest.mark.parametrize(("test", "line"), [("first", 3), ("second", 6)])
def test_a_monkeypatch_on_the_last_line_of_a_test_is_its_own(
    tmp_path: Path, test: str, line: int
) -> None:
    file = tmp_path / "test_patches.py"
    # Another patch may have the attribute as its value.
    patch = "    patch.setattr(app, 'put', OpenAI.put)\n    patch.setattr(OpenAI, 'put', 1)\n"
    file.write_text(f"def first(patch):\n{patch}def second(patch):\n{patch}", encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    assert find_setattr(names[test], "OpenAI.put").endswith(f"test_patches.py:{line}")


@pytest.mark.parametrize(
    "module",
    [
        *("agents", "anthropic", "boto3", "botocore.client", "cohere", "crewai", "dspy", "groq"),
        *("google.genai.client", "instructor", "langchain_openai.chat_models", "litellm.main"),
        *("llama_index.core", "mistralai", "ollama", "pydantic_ai", "smolagents", "together"),
    ],
)
def test_every_sdk_is_known_by_its_modules(module: str) -> None:
    patches = HandPatches()
    original = type("Client", (), {"__module__": module})

    class Owner:
        Client = original
        client = original()

    class Patched:
        _setattr = ((Owner, "Client", original), (Owner(), "client", original()))

    patches.note_monkeypatch(Patched())
    assert patches.names == {"Owner.Client": "Client", "Owner.client": "Client"}


@pytest.mark.parametrize("module", ["app", "google.cloud.storage", "builtins", "openais"])
def test_other_modules_are_none(module: str) -> None:
    patches = HandPatches()

    class Patched:
        _setattr = ((pytest, "Client", type("Client", (), {"__module__": module})),)

    patches.note_monkeypatch(Patched())
    assert patches.names == {}


def test_a_monkeypatch_without_its_list_notes_none() -> None:
    patches = HandPatches()
    patches.note_monkeypatch(None)
    assert patches.names == {}


def test_an_attribute_that_is_gone_again_is_noted() -> None:
    class Patched:
        _setattr = ((pytest, "gone", type("Client", (), {"__module__": "openai"})),)

    patches = HandPatches()
    patches.note_monkeypatch(Patched())
    assert patches.names == {"pytest.gone": "NoneType"}
