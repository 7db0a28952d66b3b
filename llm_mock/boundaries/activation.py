"""Former place of `env_activation`, for environments with an older `llm_mock.pth`."""

from llm_mock.boundaries.env_activation import start as start
