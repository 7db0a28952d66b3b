"""Plugins: their names, their tools, and what is wrong with them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client

from llm_mock.errors import InvalidFile
from llm_mock.specs import LLMPlugin
from llm_mock.specs.allowed_hosts import LOOPBACK
from llm_mock.specs.mcp_server import BUILT_IN, clean_up_plugins, collect_tools
from llm_mock.specs.plugin_loading import LoadedPlugin, load_plugins
from llm_mock.specs.tool_functions import Terminated, ToolFunction, create_server

HEAD = "from __future__ import annotations\nfrom llm_mock.specs import LLMPlugin\n"


def load(folder: Path, **sources: str) -> list[LoadedPlugin]:
    """Load plugins from their source."""
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return list(load_plugins(folder / f"{name}.py" for name in sources))


def tools(folder: Path, **sources: str) -> dict[str, ToolFunction]:
    """Return the tools of plugins, without the built-in ones."""
    return dict([*collect_tools(LOOPBACK, load(folder, **sources)).items()][len(BUILT_IN) :])


def call(tool: ToolFunction, **arguments: Any) -> Any:
    return asyncio.run(tool.call(arguments))


@pytest.mark.parametrize(
    ("class_name", "expected"),
    [
        ("ChartPlugin", "chart"),
        ("UserAccountPlugin", "user_account"),
        ("HTTPClientPlugin", "http_client"),
        ("Orders2Plugin", "orders2"),
        ("Plugin", "plugin"),
        ("Chart", "chart"),
    ],
)
def test_the_name_is_by_default_that_of_the_class(class_name: str, expected: str) -> None:
    assert type(class_name, (LLMPlugin,), {}).name == expected
    assert type(class_name, (LLMPlugin,), {"name": "own"}).name == "own"


def test_public_async_methods_are_tools(tmp_path: Path) -> None:
    chart = """
from typing import Annotated, Any
from pydantic import Field

Factor = Annotated[float, Field(gt=0, description="How far.")]

class ChartPlugin(LLMPlugin):
    def __init__(self):
        self.level = 1.0
        self.client = None

    async def zoom_in(self, factor: Factor = 0.5, label: str | None = None) -> dict:
        '''Zoom in.

        By a factor.
        '''
        self.level *= factor
        return {"level": self.level, "label": label}

    async def anything(self, value, *, schema: Any = None):
        return [value, schema]

    @staticmethod
    async def fixed() -> Unknown:
        return 3

    def helper(self): ...
    async def _private(self): ...
    async def cleanup(self): ...

    @property
    def broken(self):
        raise RuntimeError

class _Base(LLMPlugin): ...
"""
    found = tools(tmp_path, chart=HEAD + chart)
    assert list(found) == ["chart_zoom_in", "chart_anything", "chart_fixed"]
    zoom = found["chart_zoom_in"]
    assert zoom.build_definition().description == "Zoom in.\n\nBy a factor."
    assert zoom.input_schema["properties"]["factor"]["exclusiveMinimum"] == 0
    assert zoom.input_schema["properties"]["factor"]["description"] == "How far."
    assert "required" not in zoom.input_schema
    assert found["chart_anything"].input_schema["required"] == ["value"]
    assert call(zoom).structured_content == {"level": 0.5, "label": None}
    assert call(zoom, factor=0.1, label="null").structured_content == {
        "level": 0.05,
        "label": "null",
    }
    assert (
        call(found["chart_anything"], value="[1]", schema={"a": 1}).content[0].text
        == '["[1]", {"a": 1}]'
    )
    assert call(found["chart_fixed"]).content[0].text == "3"


def test_tools_of_a_base_class_in_another_file_belong_to_the_plugin(tmp_path: Path) -> None:
    base = "class Base(LLMPlugin):\n    async def open(self): return 'base'\n    async def close(self): ..."  # noqa: E501
    source = f"{HEAD}from sys import modules\nBase = modules['_llm_mock_plugin_0_base'].Base\n"
    shop = "class ShopPlugin(Base):\n    async def open(self): return 'shop'"
    found = tools(tmp_path, base=HEAD + base, shop=source + shop)
    assert list(found) == ["base_open", "base_close", "shop_open", "shop_close"]
    assert call(found["shop_open"]).content[0].text == "shop"


@pytest.mark.parametrize(
    ("returned", "text", "structured"),
    [
        ("{'a': 'ü', 1: None}", '{"a": "ü", "1": null}', {"a": "ü", "1": None}),
        ("'plain'", "plain", None),
        ("None", "null", {"result": None}),
        ("True", "true", {"result": True}),
        ("datetime.date(2026, 1, 2)", "2026-01-02", None),
        (
            "{'when': datetime.date(2026, 1, 2), 'tags': {1}}",
            None,
            {"when": "2026-01-02", "tags": [1]},
        ),
    ],
)
def test_what_a_tool_returns_is_told_as_json(
    returned: str, text: Any, structured: Any, tmp_path: Path
) -> None:
    source = (
        f"{HEAD}import datetime\nclass A(LLMPlugin):\n    async def get(self): return {returned}"
    )
    result = call(tools(tmp_path, a=source)["a_get"])
    assert result.is_error is False
    assert result.structured_content == structured
    assert result.content[0].text == (text or json.dumps(structured))


@pytest.mark.parametrize(
    "returned", ["object()", "{'a': float('nan')}", "{'a': open}", "'\\ud800'", "loop()"]
)
def test_what_is_no_json_is_a_failure_of_the_tool(returned: str, tmp_path: Path) -> None:
    source = f"{HEAD}def loop():\n    a = []\n    a.append(a)\n    return a\n"
    result = call(
        tools(
            tmp_path, a=f"{source}class A(LLMPlugin):\n    async def get(self): return {returned}"
        )["a_get"]
    )
    assert result.is_error
    assert result.content[0].text.startswith(
        "The tool 'a_get' has run, but its result is not a JSON value: "
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("raise ValueError('no such chart')", "The tool 'a_get' failed: ValueError: no such chart"),
        ("raise KeyError", "The tool 'a_get' failed: KeyError"),
        ("import pytest; pytest.fail('no chart')", "The tool 'a_get' failed: Failed: no chart"),
        ("import sys; sys.exit(3)", "The tool 'a_get' failed: SystemExit: 3"),
        (
            "import pydantic; pydantic.TypeAdapter(int).validate_python('x')",
            "The tool 'a_get' failed: ValidationError",
        ),
    ],
)
def test_what_a_tool_raises_is_its_answer_and_on_stderr(
    statement: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = call(
        tools(tmp_path, a=f"{HEAD}class A(LLMPlugin):\n    async def get(self): {statement}")[
            "a_get"
        ]
    )
    assert result.is_error
    assert result.content[0].text.startswith(expected)
    assert "a.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [{}, {"number": "x"}, {"number": 1, "other": 2}, {"number": None}]
)
def test_arguments_that_the_hints_do_not_allow_do_not_reach_a_tool(
    arguments: Any, tmp_path: Path
) -> None:
    source = f"{HEAD}class A(LLMPlugin):\n    async def get(self, number: int): raise RuntimeError"
    result = call(tools(tmp_path, a=source)["a_get"], **arguments)
    assert result.is_error
    assert result.content[0].text.startswith(
        "The tool 'a_get' was not called, because its arguments are invalid:\n  "
    )


PLUGIN = f"{HEAD}class APlugin(LLMPlugin):\n    "
BROKEN = {
    "import no_such_module": (
        "1",
        "the plugin cannot be imported: ModuleNotFoundError: No module named",
    ),
    "x = 1\ndef (": ("2", "the plugin cannot be imported: SyntaxError"),
    "\n\n1 / 0": ("3", "the plugin cannot be imported: ZeroDivisionError: division by zero"),
    "import sys\nsys.exit('no')": ("2", "the plugin cannot be imported: SystemExit: no"),
    "import pytest\npytest.skip('no', allow_module_level=True)": (
        "2",
        "the plugin cannot be imported: Skipped: no",
    ),
    "from llm_pytest.plugin_base import LLMPlugin": (
        "1",
        "with: from llm_mock.specs import LLMPlugin",
    ),
    f"{PLUGIN}def __init__(self):\n        raise OSError('no chart')": (
        "5",
        "the plugin APlugin cannot be created: OSErr",
    ),
    f"{PLUGIN}def __init__(self, x): ...": (
        "1",
        "the plugin APlugin cannot be created: TypeError: ",
    ),
    f"{PLUGIN}name = 'a b'": ("3", "the plugin APlugin has the name 'a b'; use only letters"),
    f"{PLUGIN}name = 5": ("3", "the plugin APlugin has the name 5; use"),
    f"{PLUGIN}name = 'http'\n    async def get(self): ...": (
        "5",
        "duplicate tool 'http_get': a built-in tool has the same name",
    ),
    f"{PLUGIN}x = 1\n    async def get(self, *args): ...": (
        "5",
        "'a_get' cannot be offered: it has parameters without",
    ),
    f"{PLUGIN}exec('async def get(self, *args): ...')": (
        "1",
        "'a_get' cannot be offered: it has parameters without names",
    ),
    f"{PLUGIN}async def get(self, x, /): ...": (
        "4",
        "'a_get' cannot be offered: it has parameters without names",
    ),
    f"{PLUGIN}async def get(self, x: Unknown): ...": (
        "4",
        "'a_get' cannot be offered: name 'Unknown' is not defined",
    ),
    f"{PLUGIN}async def get(self, x: LLMPlugin): ...": (
        "4",
        "'a_get' cannot be offered: Unable to generate",
    ),
    f"{PLUGIN}async def get(self): yield 1": (
        "4",
        "'a_get' cannot be offered: it is an async generator",
    ),
    f"{PLUGIN}async def {'x' * 70}(self): ...": (
        "4",
        "has 72 characters, but models accept at most 64",
    ),
    f"{PLUGIN}name = 'same'\nclass B(LLMPlugin): name = 'same'": (
        "5",
        "the plugin B has the same name 'same' as APlugin (bad.py:3). Set another name",
    ),
}


@pytest.mark.parametrize("source", BROKEN)
def test_what_is_wrong_with_a_plugin_is_told_with_file_and_line(
    source: str, tmp_path: Path
) -> None:
    line, expected = BROKEN[source]
    with pytest.raises(InvalidFile) as caught:
        tools(tmp_path, bad=source)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'bad.py'}:{line}: ")
    assert expected in message


def test_ctrl_c_during_the_import_of_a_plugin_is_raised(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load(tmp_path, a="raise KeyboardInterrupt")


def test_a_cleanup_that_takes_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("llm_mock.specs.mcp_server.CLEANUP_TIMEOUT", 0.01)
    source = (
        f"{HEAD}import asyncio\nclass A(LLMPlugin):\n    cleanup = lambda self: asyncio.sleep(60)"
    )
    asyncio.run(clean_up_plugins(load(tmp_path, a=source)))
    first = capsys.readouterr().err.splitlines()[0]
    assert first == "The cleanup of the plugin 'a' timed out after 0.01 seconds."


@pytest.mark.parametrize("error", [KeyboardInterrupt, Terminated])
def test_an_interrupted_cleanup_ends_all(
    error: type[BaseException], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "from llm_mock.specs.tool_functions import Terminated"
    body = f"async def cleanup(self): raise {error.__name__}"
    source = f"{HEAD}{head}\nclass A(LLMPlugin):\n    {body}"
    with pytest.raises(error):
        asyncio.run(clean_up_plugins(load(tmp_path, a=source)))
    assert "failed" not in capsys.readouterr().err


def test_an_unknown_tool_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    source = (
        f"{HEAD}class A(LLMPlugin):\n    async def get(self): ...\n    async def set(self): ..."
    )
    server = create_server(tools(tmp_path, a=source))

    async def ask() -> Any:
        async with Client(server) as client:
            return await client.call_tool("a_gte", {})

    result = asyncio.run(ask())
    assert result.is_error
    assert result.content[0].text == "There is no tool 'a_gte'. The tools are a_get, a_set."


def test_two_plugins_may_come_to_one_tool(tmp_path: Path) -> None:
    first = f"{HEAD}class A(LLMPlugin):\n    async def b_get(self): ..."
    second = f"{HEAD}class A_b(LLMPlugin):\n    async def get(self): ..."
    with pytest.raises(
        InvalidFile, match=r"two.py:4: duplicate tool 'a_b_get': a tool of A \(one.py:3\)"
    ):
        tools(tmp_path, one=first, two=second)


def test_a_file_without_a_plugin_has_no_tools(tmp_path: Path) -> None:
    assert tools(tmp_path, helpers=f"{HEAD}from pathlib import Path\nclass Other: ...") == {}


def test_plugins_before_a_broken_one_are_made(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(f"{HEAD}class A(LLMPlugin): ...")
    (tmp_path / "worse.py").write_text("1 / 0")
    loading = load_plugins([tmp_path / "good.py", tmp_path / "worse.py"])
    assert next(loading).plugin.name == "a"
    with pytest.raises(InvalidFile):
        next(loading)
