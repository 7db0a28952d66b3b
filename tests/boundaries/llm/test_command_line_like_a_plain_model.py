"""`llm`'s command line prints and logs the same with a mocked and a plain model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import sqlite_utils
from click.testing import CliRunner
from llm.cli import cli

from tests.boundaries.llm.comparison import World, rows
from tests.boundaries.llm.documented import check
from tests.boundaries.llm.plain_models import BARE, FULL, KEYED, PNG, Scripted
from tests.boundaries.llm.test_like_a_plain_model import DOG, ONLY_TOOL_CALL, TOOL_CALL

FENCED = Scripted(chunks=("Here:\n```\nprint(1)\n```\nand\n```\nprint(2)\n```\n",))
ITEMS = Scripted(chunks=('{"items": [{"name": "a"}]}',))
SECOND = Scripted(chunks=("Second",))
FULL_LOG = [
    "logs -n 0",
    "logs --json -n 0",
    "logs -r",
    "logs -t -n 0",
    "logs --short -n 0",
    "logs -u -n 0",
]
COMMANDS: dict[str, tuple[list[str], list[Scripted]]] = {
    "prompt": (["-m full Hi", *FULL_LOG], [Scripted()]),
    "prompt of the id": (["-m plain-full Hi"], [Scripted()]),
    "system": (["-m full Hi -s 'Be brief' --no-stream", *FULL_LOG], [Scripted()]),
    "options": ([("-m full Hi -o temperature 0.5 -o max_tokens 10 -o json_object "
                  "1"), *FULL_LOG], [Scripted()]),
    "option out of range": (["-m full Hi -o temperature 5"], [Scripted()]),
    "option of another type": (["-m full Hi -o max_tokens many"], [Scripted()]),
    "unknown option": (["-m full Hi -o warmth 1"], [Scripted()]),
    "option of a bare model": (["-m bare Hi -o temperature 1"], [Scripted()]),
    "option's default": (
        ["models options set full temperature 0.5", "models options list", "-m full Hi", *FULL_LOG],
        [Scripted()],
    ),
    "usage": (["-m full Hi -u"], [Scripted()]),
    "json output": (["-m full Hi --json"], [Scripted()]),
    "schema": ([("-m full Hi --schema 'name "
                 "str'"), "schemas list", "logs --schema 'name str' --data"], [DOG]),
    "schema of a bare model": (["-m bare Hi --schema 'name str'"], [Scripted()]),
    "schema that is multi": (["-m full Hi --schema-multi 'name str'"], [ITEMS]),
    "tools": (["-m full Hi -T upper --td", *FULL_LOG], [TOOL_CALL, ONLY_TOOL_CALL, Scripted()]),
    "tools of a bare model": (["-m bare Hi -T upper"], [Scripted()]),
    "chain that is too long": (["-m full Hi -T upper --cl 1"], [TOOL_CALL, TOOL_CALL]),
    "functions": (
        [("-m full Hi --functions 'def lower(text: str) -> str:\n"
          "    return text.lower()'"), *FULL_LOG],
        [Scripted(chunks=(), tool_calls=(("lower", {"text": "HI"}, "c"),)), Scripted()],
    ),
    "attachment": (["-m full Hi --at picture image/png", *FULL_LOG], [Scripted()]),
    "attachment of another type": (["-m full Hi --at picture audio/wav"], [Scripted()]),
    "attachment of a bare model": (["-m bare Hi -a picture"], [Scripted()]),
    "fragments": (["-m full Hi -f notes.txt --sf notes.txt", "fragments", *FULL_LOG], [Scripted()]),
    "extract": (["-m full Hi -x", "-m full Hi --xl"], [FENCED, FENCED]),
    "continue": (["-m full One", "-c Two -o temperature 0.5", *FULL_LOG], [Scripted(), SECOND]),
    "continue what is not there": (["-c Two -m full"], [Scripted()]),
    "continue a bare model": (["-m bare One", "-c Two"], [Scripted(), SECOND]),
    "conversation with tools": (["-m full One -T upper", "-c Two", *FULL_LOG], [TOOL_CALL, SECOND, Scripted()]),  # noqa: E501
    "template": ([("-m full -s Brief --save brief "
                   "'$input'"), "-t brief Hi", "templates", *FULL_LOG], [Scripted()]),
    "async": (["-m full Hi --async -u", *FULL_LOG], [Scripted()]),
    "async that is not there": (["-m bare Hi --async"], [Scripted()]),
    "not logged": (["-m full Hi -n", "logs -n 0"], [Scripted()]),
    "logs off": (["logs off", "-m full Hi", "-m full Hi --log", "logs -n 0"], [Scripted(), SECOND]),
    "error": (["-m full Hi", "logs -n 0"], [Scripted(error=ValueError("no route"))]),
    "error of the network": (["-m full Hi", "logs -n 0"], [Scripted(error=ConnectionError("no route"))]),  # noqa: E501
    "error in the stream": (["-m full Hi", "logs -n 0"], [Scripted(error=ValueError("cut"), error_after=2)]),  # noqa: E501
    "chat": (["chat -m full -s Brief -o temperature 0.5 < Hello\nAgain\nexit\n", *FULL_LOG], [Scripted(), SECOND]),  # noqa: E501
    "chat with tools": (["chat -m full -T upper < Hello\nquit\n", *FULL_LOG], [TOOL_CALL, SECOND]),
    "key": (["-m keyed Hi --key sk-of-the-call"], [Scripted()]),
    "stored key": ([("keys set work --value "
                     "sk-stored"), "-m keyed Hi --key work", "keys"], [Scripted()]),
    "key of a model without": (["-m full Hi --key sk-of-the-call"], [Scripted()]),
    "unknown default": (["models default", "models default full", "models default", "Hi"], [Scripted()]),  # noqa: E501
    "aliases": (
        ["aliases set mine full", "aliases", "aliases --json", "-m mine Hi", "aliases remove mine", "aliases"],  # noqa: E501
        [Scripted()],
    ),
    "models": (["models", "models --schemas", "models --tools", "models --async", "models -q plain"], []),  # noqa: E501
    "options of models": (["models --options", "models -m full --options", ("models -m bare -m "
                                                                            "keyed --options")], []),  # noqa: E501
    "tools list": (["tools", "tools --json"], []),
    "tools of a model": (["tools -m full", "tools -m gpt-5.6-luna --json"], []),
    "embedding models": (["embed-models", "embed-models default", "embed-models -q plain"], []),
    "embed": (["embed -m texts -c one", ("embed -m texts -c one -f "
                                         "hex"), "embed -m blobs -c one"], []),
    "embed bytes": ([("embed -m texts --binary -i "
                      "picture"), "embed -m blobs --binary -i blob -f base64"], []),
    "embed into a collection": (
        [
            *(("embed numbers a -m texts -c one "
               "--store"), "embed numbers b -c two --metadata '{\"n\": 1}'"),
            *("collections", "collections --json", "similar numbers -c one", "similar numbers a"),
            "collections delete numbers",
        ],
        [],
    ),
    "embed many": (
        [("embed-multi numbers - -m texts --store < id,text\na,one\n"
          "b,two"), "similar numbers a -n 1", "collections"],
        [],
    ),
}  # fmt: skip
MODEL_IDS = {"bare": BARE, "keyed": KEYED}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_prints_and_logs_like_with_the_plain_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    commands, replies = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture").write_bytes(PNG)
    (tmp_path / "blob").write_bytes(b"\x00\xff")
    (tmp_path / "notes.txt").write_text("Some notes")

    def run(world: World) -> dict[str, Any]:
        model_id = next(
            (id_ for alias, id_ in MODEL_IDS.items() if f"-m {alias} " in " ".join(commands)), FULL
        )
        world.script(model_id, *replies)
        seen: dict[str, Any] = {}
        for number, command in enumerate(commands, start=1):
            line, _, typed = command.partition(" < ")
            result = CliRunner().invoke(cli, shlex.split(line), input=typed or None)
            seen[f"{number}: {line}"] = (result.exit_code, result.output, repr(result.exception))
        for database in ("logs.db", "embeddings.db"):
            if (world.folder / database).exists():
                seen[database] = rows(sqlite_utils.Database(world.folder / database))
        return seen

    check(run, tmp_path, f"command line {name}")
