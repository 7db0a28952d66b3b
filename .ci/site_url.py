"""A hook of mkdocs: the site's address is the project's URL `Documentation`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def on_config(config: Any) -> Any:
    """Return the configuration of the site with its address, if the project has one."""
    urls = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["urls"]
    config.site_url = urls.get("Documentation")
    return config
