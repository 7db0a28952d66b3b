"""Read the files of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader in C, which is ten times as fast, where PyYAML has it."""


class _Loader(SafeLoader):  # type: ignore[misc]
    """A loader that refuses a key that stands twice, whose first case would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        repeated = {key for key in keys if keys.count(key) > 1}
        assert not repeated, f"{node.start_mark}: these keys stand twice: {repeated}"
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def load_file(path: Path) -> dict[str, Any]:
    """Return the content of a file of a corpus."""
    content: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    return content
