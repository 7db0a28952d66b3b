"""Suggestions for misspelt command-line options, below pytest's own error about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

BEGINNINGS = ("--llm", "--record")
"""The beginnings of the options that may be meant for this plugin."""
PREFIX = "--llm-mock-"
"""The beginning of most options of this plugin."""


def explain_unknown_options(parser: pytest.Parser, args: Sequence[str]) -> None:
    """Let the error of pytest about unknown options name the nearest ones of this plugin.

    Args:
        parser: the parser, with the options of all plugins and conftests.
        args: the command line.
    """
    registered = _list_registered(parser)
    hints = []
    for name in _list_names(args):
        hint = "" if name in registered else _suggest_option(parser, name)
        if hint:
            hints.append(f"unknown option {name!r}{hint}")
    if hints:
        # pytest shows these lines below errors about the command line, and nowhere else.
        parser.extra_info["llm-mock"] = " ".join(hints)


def _list_names(args: Sequence[str]) -> Iterator[str]:
    """Yield the names of the options that may be meant for this plugin."""
    for arg in args:
        # The rest are files.
        if arg == "--":
            return
        if arg.startswith(BEGINNINGS):
            yield arg.partition("=")[0]


def _list_registered(parser: pytest.Parser) -> set[str]:
    """Return the names of all options."""
    # Private names of pytest's, which has no public list. Without them an option of another plugin
    # counts as unknown, which shows only below an error about another option.
    groups = [*getattr(parser, "_groups", ()), getattr(parser, "_anonymous", None)]
    names: set[str] = set()
    for group in groups:
        for option in getattr(group, "options", ()):
            names.update(option.names())
    return names


def _suggest_option(parser: pytest.Parser, name: str) -> str:
    """Return the end of a message that suggests an ini key or an option; empty without one."""
    from llm_mock.support.text import suggest_nearest

    key = name.removeprefix("--").replace("-", "_")
    # Private, as above. Without it no ini key is named.
    if key in getattr(parser, "_inidict", ()):
        return f"; it is an ini key: write -o {key}=…"
    own: list[str] = []
    for option in parser.getgroup("llm_mock").options:
        own += option.names()
    return suggest_nearest(name, own, PREFIX)
