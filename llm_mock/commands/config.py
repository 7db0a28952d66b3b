"""The pytest settings that we recommend."""

from __future__ import annotations

RECOMMENDED: tuple[tuple[str, str, str], ...] = (
    ("llm_mock_strict", "error", "a call that no configured reply fits fails its test"),
    (
        "llm_mock_schema_check",
        "error",
        "so does a reply that breaks the schema which the call asked for",
    ),
    (
        "llm_mock_autospec",
        "true",
        "a mock refuses what the real model would refuse; true by default",
    ),
    ("llm_mock_unknown_models", "error", "a name that neither llm nor the test knows is an error"),
    (
        "llm_mock_response_json",
        "raw",
        "response.json() gives the provider's payload, as in production",
    ),
    ("llm_mock_lazy", "true", "errors come as late as they do in production"),
)
"""The key, value and effect of each setting."""
COMMENT_COLUMN = 38


def format_settings(ini: bool) -> str:
    """Return the recommended settings as text.

    Args:
        ini: whether to write an ini file instead of pyproject.toml.
    """
    if ini:
        lines = ["[pytest]"]
        for key, value, effect in RECOMMENDED:
            # Ini files have no comments at the end of a line.
            lines += [f"# {effect}", f"{key} = {value}"]
    else:
        lines = ["# pyproject.toml", "[tool.pytest.ini_options]"]
        for key, value, effect in RECOMMENDED:
            # In TOML, texts are quoted and booleans are not.
            if value in ("true", "false"):
                toml_value = value
            else:
                toml_value = f'"{value}"'
            setting = f"{key} = {toml_value}"
            lines.append(f"{setting:<{COMMENT_COLUMN}}# {effect}")
    return "\n".join(lines)
