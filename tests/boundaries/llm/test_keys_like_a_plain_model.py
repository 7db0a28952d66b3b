"""A mocked model gets the key that the plain model would get."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llm
import pytest
from click.testing import CliRunner
from llm.cli import cli

from llm_mock import LLMMock
from tests.boundaries.llm.comparison import World, awaited, outcome
from tests.boundaries.llm.documented import check
from tests.boundaries.llm.plain_models import KEYED, Scripted


def assigned(key: str | None, **passed: Any) -> str:
    model = llm.get_model(KEYED)
    model.key = key
    return str(model.prompt("Hi", **passed).text())


WAYS: dict[str, Callable[[], Any]] = {
    "prompt": lambda: llm.get_model(KEYED).prompt("Hi", key="sk-passed").text(),
    "conversation": lambda: (
        llm.get_model(KEYED).conversation().prompt("Hi", key="sk-passed").text()
    ),
    "chain": lambda: llm.get_model(KEYED).chain("Hi", key="sk-passed").text(),
    "async prompt": lambda: awaited(
        llm.get_async_model(KEYED).prompt("Hi", key="sk-passed").text()
    ),
    "async chain": lambda: awaited(llm.get_async_model(KEYED).chain("Hi", key="sk-passed").text()),
    "assigned": lambda: assigned("sk-assigned"),
    "assigned and passed": lambda: assigned("sk-assigned", key="sk-passed"),
    "name of a stored key": lambda: llm.get_model(KEYED).prompt("Hi", key="work").text(),
    "name of no stored key": lambda: llm.get_model(KEYED).prompt("Hi", key="sk-passed").text(),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_recorded_key_is_the_one_that_the_plain_model_is_given(
    tmp_path: Path, way: str
) -> None:
    def ask(world: World) -> dict[str, Any]:
        (world.folder / "keys.json").write_text(
            json.dumps({"work": "sk-stored", "other": "sk-of-another"})
        )
        world.script(KEYED, Scripted())
        text = outcome(lambda: str(WAYS[way]()))
        assert world.keys() != [None]
        return {"text": text, "keys": world.keys()}

    check(ask, tmp_path, f"key {way}")


def test_the_command_line_hands_its_key_to_the_mock_as_to_the_plain_model(
    mock_llm_calls: LLMMock,
) -> None:
    assert (
        CliRunner()
        .invoke(cli, ["-m", "gpt-4o-mini", "Hi", "--key", "sk-of-the-command-line", "-n"])
        .exit_code
        == 0
    )
    assert [call["key"] for call in mock_llm_calls.calls] == ["sk-of-the-command-line"]
