"""The settings of pytest that we recommend."""

from __future__ import annotations

RECOMMENDED: tuple[tuple[str, str, str], ...] = (
    ("llm_mock_strict", "true", "a call that no configured reply fits fails its test"),
    ("llm_mock_schema_check", "error", "so does a reply that breaks the schema which the call asked for"),
    ("llm_mock_autospec", "true", "a mock refuses what the real model would refuse; true by default"),
    ("llm_mock_unknown_models", "refuse", "a name that neither llm nor the test knows is an error"),
    ("llm_mock_response_json", "raw", "response.json() gives the provider's payload, as in production"),
    ("llm_mock_lazy", "true", "errors come as late as they do in production"),
)
"""Each key with its value, and what it does."""


def recommended(ini: bool) -> str:
    """The settings as the text of a configuration file: pyproject.toml, or an ini file."""
    lines = ["[pytest]"] if ini else ["# pyproject.toml", "[tool.pytest.ini_options]"]
    for key, value, does in RECOMMENDED:
        shown = value if ini or value in ("true", "false") else f'"{value}"'
        lines += [f"# {does}", f"{key} = {shown}"] if ini else [f"{f'{key} = {shown}':<38}# {does}"]
    return "\n".join(lines)
