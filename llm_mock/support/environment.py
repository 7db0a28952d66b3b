"""Environment variables of this process."""

from __future__ import annotations

import os
from collections.abc import Mapping

PLACES = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AZURE_OPENAI_ENDPOINT": "https://test.openai.azure.com",
    "CLOUD_ML_REGION": "us-east5",
    "OPENAI_API_VERSION": "2024-10-21",
}
"""The variables for the location and version of an API, each with a value for tests."""


def set_environment(values: Mapping[str, str | None]) -> None:
    """Set environment variables; delete the variables with the value None."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
