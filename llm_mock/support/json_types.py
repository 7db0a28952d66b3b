"""Types of JSON values, for annotations."""

from __future__ import annotations

from typing import Any

# `Any`, because a recursive type needs narrowing at every index.
JSON = Any
"""A JSON value."""
JSONObject = dict[str, JSON]
"""A JSON object, such as a body, a schema or the arguments of a tool call."""
