"""Plugins of `llm` are imported only when they may know a name, and without their SDK."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import llm
import pytest

from llm_mock.boundaries.llm import plugin_sources
from llm_mock.boundaries.llm.deferred_sdk import execute_without_sdk

NAMES = [
    (entry.model.model_id, alias)
    for entry in [*llm.get_models_with_aliases(), *llm.get_embedding_models_with_aliases()]
    for alias in [*entry.aliases, entry.model.model_id]
]


@pytest.mark.parametrize(("model_id", "name"), NAMES)
def test_every_name_of_the_plugins_of_llm_is_found_in_their_sources(
    model_id: str, name: str
) -> None:
    assert plugin_sources.may_be_registered(name)
    assert name == model_id or plugin_sources.may_be_alias(name)


def test_a_name_that_nobody_knows_imports_no_plugin_and_a_known_one_no_sdk(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import sys
        import llm

        PLUGIN = "llm.default_plugins.openai_models"

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o-mini", "Hello")
            for get_model in (llm.get_model, llm.get_async_model):
                get_model("nobody/knows").prompt("Hi", temperature=1).text()
            llm.get_embedding_model("nobody/knows").embed("Hi")
            assert PLUGIN not in sys.modules
            assert llm.get_model("4o-mini").prompt("Hi", temperature=1).text() == "Hello"
            assert PLUGIN in sys.modules
            assert llm.get_embedding_model("3-small").model_id == "text-embedding-3-small"
            assert "openai" not in sys.modules
            assert sys.modules[PLUGIN].openai.OpenAI.__name__ == "OpenAI"
            import openai
            sys.modules[PLUGIN].openai.patched = 1
            assert openai.patched == 1
            del sys.modules[PLUGIN].openai.patched
            assert not hasattr(openai, "patched")
        """
    )
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)


def test_a_plugin_whose_names_cannot_be_read_is_asked(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        llm_computing="""
        import llm

        class Small(llm.Model):
            model_id = "/".join(("com", "puted"))
            def execute(self, prompt, stream, response, conversation):
                raise AssertionError("executed")

        @llm.hookimpl
        def register_models(register):
            register(Small(), aliases=["".join("ab")])
        """
    )
    information = pytester.mkdir("llm_computing-1.0.dist-info")
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: llm-computing\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text("[llm]\ncomputing = llm_computing\n")
    pytester.syspathinsert()
    monkeypatch.setenv("PYTHONPATH", str(pytester.path), prepend=os.pathsep)
    pytester.makepyfile(
        """
        import llm, pytest

        @pytest.mark.parametrize("name", ["com/puted", "ab"])
        def test_it(name):
            with pytest.raises(ValueError, match="does not support schemas"):
                llm.get_model(name).prompt("Hi", schema={"type": "object"})
            assert llm.get_model(name).model_id == "com/puted"
            assert llm.get_model("nobody/knows").prompt("Hi", schema={"type": "object"}).text()
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.parametrize("replacement", ["None", "MagicMock()"])
@pytest.mark.parametrize("name", ["4o", "unknown"])
def test_a_test_that_replaces_llm_changes_no_name_of_the_next(
    pytester: pytest.Pytester, replacement: str, name: str
) -> None:
    pytester.makepyfile(
        f"""
        import sys
        from unittest.mock import MagicMock
        import llm

        def test_replaced(monkeypatch, mock_llm_responses):
            monkeypatch.setitem(sys.modules, "llm", {replacement})
            mock_llm_responses.set("{name}", "Hello")

        def test_real(mock_llm_responses):
            mock_llm_responses.set("{name}", "Hello")
            mock_llm_responses.set("4.1", "Good day")
            assert llm.get_model("{name}").prompt("Hi").text() == "Hello"
            assert llm.get_model("gpt-4.1").prompt("Hi").text() == "Good day"
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    result.assert_outcomes(passed=2)


@pytest.fixture
def forgotten_sources() -> Iterator[None]:
    """Have the sources read anew in a test, and after it."""
    caches = (plugin_sources._read_sources, plugin_sources._is_part_of_word)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


HOOK = "def register_models(register): ..."


@pytest.mark.parametrize(
    ("entry_point", "files", "may_register"),
    [
        ("plug", {"plug.py": HOOK}, True),
        ("plug", {"plug.py": "def register_embedding_models(register): ..."}, True),
        ("plug", {"plug.py": "from elsewhere import *"}, True),
        ("plug", {"plug.py": "from elsewhere import hook"}, False),
        ("plug", {"plug.py": "def unregister_models(): ...\ndef register_modelset(): ..."}, False),
        ("plug", {"plug/__init__.py": HOOK}, True),
        ("plug", {"plug/__init__.py": "", "plug/inner.py": HOOK}, False),
        ("plug.inner", {"plug/__init__.py": "", "plug/inner.py": HOOK}, True),
        ("plug.inner", {"plug/__init__.py": "", "plug/inner/__init__.py": HOOK}, True),
        ("plug.inner", {"plug/__init__.py": HOOK, "plug/inner.py": ""}, False),
        ("plug.a.b", {"plug/__init__.py": "", "plug/a/b.py": HOOK}, True),
        ("plug.gone", {"plug/__init__.py": ""}, True),
        ("plug", {"plug/data.txt": ""}, True),
        ("plug", {f"plug{EXTENSION_SUFFIXES[0]}": ""}, True),
        ("plug:Plugin", {"plug.py": ""}, True),
        ("gone", {}, False),
        ("gone:Plugin", {}, False),
    ],
)
@pytest.mark.usefixtures("forgotten_sources")
def test_only_a_plugin_that_may_register_models_is_asked(
    entry_point: str,
    files: dict[str, str],
    may_register: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    information = tmp_path / "llm_plug-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-plug\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[llm]\nplug = {entry_point}\n")
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert plugin_sources.may_be_registered("nobody/knows") is may_register
    assert plugin_sources.may_be_alias("nobody/knows") is may_register


@pytest.mark.parametrize("is_used", [True, False])
def test_a_plugin_has_its_sdk_when_it_uses_it(
    is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_sdk.py").write_text("VERSION = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "own_sdk", ModuleType("own_sdk"))
    del sys.modules["own_sdk"]  # the test leaves no such module
    use = "VERSION = own_sdk.VERSION" if is_used else ""
    plugin = ModuleType("plugin")
    execute_without_sdk(
        "own_sdk", lambda module: exec(f"import own_sdk\n{use}", vars(module)), plugin
    )
    assert ("own_sdk" in sys.modules) is is_used
    assert vars(plugin).get("VERSION") == (3 if is_used else None)
    assert vars(plugin)["own_sdk"].VERSION == 3
    assert sys.modules["own_sdk"].VERSION == 3
