"""Files of very many parts are refused at once, with their line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock import LLMMock
from llm_mock.commands.serve_script import ServeScript
from llm_mock.errors import InvalidFile
from llm_mock.specs.loading import load_spec
from llm_mock.suites import load_suite

SUITE = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: app}\ncases:\n- name: c\n  prompt: Hi\n"  # noqa: E501
SPEC = "test: {name: t}\nverdict: {pass_if: a, fail_if: b}\nsteps:\n"


def _serve(path: Path) -> None:
    ServeScript(str(path)).configure(LLMMock().responses)


@pytest.mark.parametrize(
    ("beginning", "line", "read"),
    [
        (SUITE + "  replies:\n", "  - {text: hello}\n", load_suite),
        (SUITE, "  unknown-NUMBER: 1\n", load_suite),
        (SPEC, "- {tool: x, args: {a: b}}\n", load_spec),
        (SPEC + "- tool: x\n  args:\n", "    key-NUMBER: 1\n", load_spec),
        ("replies:\n", "- {prompt: hello, text: x}\n", _serve),
    ],
)
def test_very_many_parts_are_refused_within_a_second(
    tmp_path: Path, beginning: str, line: str, read: Callable[[Path], Any]
) -> None:
    path = tmp_path / "large.yaml"
    path.write_text(
        beginning + "".join(line.replace("NUMBER", str(number)) for number in range(300_000))
    )
    start = time.process_time()
    with pytest.raises(
        InvalidFile, match=r"large\.yaml:\d+: is not valid YAML: it has more than 100,000 keys"
    ):
        read(path)
    assert time.process_time() - start < 3  # of a loaded processor; it took more than 20 s


def test_a_long_text_has_one_part_whatever_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    text = "      - key: value, [and] so {on}\n" * 50_000
    path.write_text(SUITE.replace("prompt: Hi", f"prompt: |\n{text}"))
    assert len(load_suite(path).cases[0].prompt or "") > 1_000_000
