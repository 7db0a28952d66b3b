"""The cassette settings of a suite file."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import pydantic

from llm_mock.checks.base import StrictModel
from llm_mock.suites.target_session import SESSION_PATTERN

if TYPE_CHECKING:
    from llm_mock.cassettes.config import CassetteConfig


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a valid regular expression: {error}") from None
    return pattern


Patterns = tuple[Annotated[str, pydantic.AfterValidator(_check_pattern)], ...]


class CassetteSettings(StrictModel):
    """Texts that the cassettes of a suite redact, or ignore when they compare calls."""

    redact: Patterns = ()
    """Regular expressions for texts to redact, in addition to API keys."""
    normalize: Patterns = ()
    """Regular expressions for texts to ignore in comparisons, such as a date."""

    def add_to(self, config: CassetteConfig) -> CassetteConfig:
        """Return the settings of a project with those of the suite added."""
        redact = (*config.redact, *self.redact)
        normalize_patterns = (*self.normalize, SESSION_PATTERN)
        project_normalize = config.normalize
        if not callable(project_normalize):
            return replace(
                config,
                redact=redact,
                normalize=(*project_normalize, *normalize_patterns),
            )
        # The project's function comes first: it may look for texts that the patterns remove.
        suite_config = replace(config, normalize=normalize_patterns)

        def normalize(text: str) -> str:
            normalized: str = suite_config.normalize_value(project_normalize(text))
            return normalized

        return replace(suite_config, redact=redact, normalize=normalize)
