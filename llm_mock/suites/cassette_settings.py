"""What a suite says of its cassettes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import pydantic

from llm_mock.suites.assertion_types.base import StrictModel

if TYPE_CHECKING:
    from llm_mock.cassettes.config import CassetteConfig


def _compiled(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


Patterns = tuple[Annotated[str, pydantic.AfterValidator(_compiled)], ...]


class CassetteSettings(StrictModel):
    """What never gets into the cassettes of a suite, and what does not count when calls are compared."""

    redact: Patterns = ()
    """Regular expressions of what never gets into a file, beside keys."""
    normalize: Patterns = ()
    """Regular expressions of what does not count in texts, such as a date."""

    def added_to(self, config: CassetteConfig) -> CassetteConfig:
        """The settings of a project, and these."""
        if not callable(config.normalize):
            normalize = (*config.normalize, *self.normalize)
            return replace(config, redact=(*config.redact, *self.redact), normalize=normalize)
        before, own = config.normalize, replace(config, normalize=self.normalize)
        return replace(own, redact=(*config.redact, *self.redact), normalize=lambda t: own.normalize_value(before(t)))
