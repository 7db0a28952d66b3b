"""The YAML form of replies in a suite, which can differ by variant and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import pydantic

from llm_mock.behaviour.scripted_replies import ScriptedReply, accept_single
from llm_mock.core.model_names import matches_name
from llm_mock.suites.matrix import format_variant_name
from llm_mock.support.validation import Text, Whole


def _wrap_single(value: object) -> object:
    """Wrap a single text or number in a list; return any other value unchanged."""
    return [value] if isinstance(value, (str, int)) else value


_Single = pydantic.BeforeValidator(_wrap_single)
_RunNumber = Annotated[Whole, pydantic.Field(ge=1)]


class SuiteReply(ScriptedReply):
    """A scripted reply in a suite, optionally for some variants or runs only."""

    variant: Annotated[
        tuple[Text, ...], _Single, pydantic.Field(json_schema_extra=accept_single)
    ] = ()
    """The variants, or entries of the matrix, that it is for; by default all."""
    run: Annotated[
        tuple[_RunNumber, ...], _Single, pydantic.Field(json_schema_extra=accept_single)
    ] = ()
    """The runs of a repeated case that it is for, from 1; by default all."""

    def is_for(self, variant: Mapping[str, str], run: int, model: str | None) -> bool:
        """Return True if it is for a run in a variant; see `select_replies`."""
        if self.run and run not in self.run:
            return False
        if model is not None and not matches_name(self.model, model):
            return False
        names = {*variant.values(), format_variant_name(variant)}
        return not self.variant or not names.isdisjoint(self.variant)
