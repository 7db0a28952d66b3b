"""Lets the processes that tests start begin sooner, as `CHILD_PROCESSES` puts it on their path."""

import gc
import sys

# Importing an SDK creates many objects, and nearly all of them stay.
gc.set_threshold(50_000, 20, 50)

# `llm` and HTTP libraries import these where they are installed: a third of what they take.
for name in ("aiohttp", "h2", "numpy", "trio"):
    sys.modules[name] = None  # type: ignore[assignment]
