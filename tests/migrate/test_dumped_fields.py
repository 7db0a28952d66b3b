"""Mocks that give all their fields as a dict, as the types of SDKs do."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

OLD = """
from unittest.mock import Mock, patch
import app

def test_it():
    with patch("openai.{patch}") as create:
        {lines}
        app.run()
"""
COMPLETIONS = "resources.chat.completions.Completions.create"
EMBEDDINGS = "resources.embeddings.Embeddings.create"
VECTORS = "create.return_value.data = [Mock(embedding=[1.0])]"
FIELDS = '{"choices": [{"message": {"content": "Hi"}}]}'
COUNTS = '{"prompt_tokens": 5, "total_tokens": 5}'


def migrate(folder: Path, patch: str, *lines: str) -> tuple[str, str]:
    """Return the first line of the new test, and the reason if it is left."""
    source = OLD.format(patch=patch, lines="\n        ".join(lines))
    path = folder / "test_app.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    reasons = [change.reason for change in result.manual_changes]
    body = result.after.partition("def ")[2].splitlines()[1:]
    return body[0].strip(), "".join(reasons)


@pytest.mark.parametrize("method", ["model_dump", "to_dict"])
def test_a_response(tmp_path: Path, method: str) -> None:
    line = f"create.return_value.{method}.return_value = {FIELDS}"
    assert migrate(tmp_path, COMPLETIONS, line) == ('mock_llm_responses.set("*", "Hi")', "")


@pytest.mark.parametrize(
    "lines",
    [
        [f"create.return_value.usage.model_dump.return_value = {COUNTS}"],
        [f"create.return_value.usage = Mock(model_dump=lambda: {COUNTS})"],
        [
            "usage = Mock()",
            f"usage.model_dump.return_value = {COUNTS}",
            "create.return_value.usage = usage",
        ],
    ],
)
def test_the_usage_of_vectors(tmp_path: Path, lines: list[str]) -> None:
    answer = f'{{"data": [{{"index": 0, "embedding": [1.0]}}], "usage": {COUNTS}}}'
    new = migrate(tmp_path, EMBEDDINGS, VECTORS, *lines)
    assert new == (f'mock_llm_responses.on("POST", "/**/embeddings", {answer})', "")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('Mock(total_tokens=6, **{"model_dump.return_value": {}})', "model_dump"),
        (f"Mock(total_tokens=5, model_dump=Mock(return_value={COUNTS}))", "model_dump"),
        ("Mock(model_dump=Mock(return_value=app.counts))", "model_dump"),
        (f"Mock(model_dump=Mock(side_effect=[{COUNTS}]))", "model_dump"),
        (f"Mock(dump=Mock(return_value={COUNTS}))", "dump"),
        ('Mock(model_dump=Mock(return_value={"tokens": 5}))', "tokens"),
    ],
)
def test_other_mocks_of_a_usage_are_left(tmp_path: Path, line: str, name: str) -> None:
    _, reason = migrate(tmp_path, EMBEDDINGS, VECTORS, f"create.return_value.usage = {line}")
    assert reason == f"the mock of a usage has the attribute {name}"
