"""Read the files of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """A loader that refuses a key that stands twice, whose first case would be lost."""

    def compose_mapping_node(self, anchor: str) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        keys = [key.value for key, _ in node.value]
        repeated = {key for key in keys if keys.count(key) > 1}
        assert not repeated, f"{node.start_mark}: these keys stand twice: {repeated}"
        return node


def load_file(path: Path) -> dict[str, Any]:
    """Return the content of a file of a corpus."""
    content: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    return content
