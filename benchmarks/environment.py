"""The environment of the processes that are measured."""

from __future__ import annotations

import os
from pathlib import Path


def environment(folder: Path) -> dict[str, str]:
    """Return this environment without variables that would change the figures.

    Every file is written to the folder.

    A pytest in it loads no plugin that it does not name, and caches bytecode as usual.
    """
    changing = ("PYTEST_", "PFLOW_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(changing)}
    own = {
        "PYTHONHASHSEED": "0",
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "TMPDIR": str(folder),
    }
    return kept | own | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
