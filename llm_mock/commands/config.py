"""The pytest settings that we recommend."""

from __future__ import annotations

RECOMMENDED: tuple[tuple[str, str, str], ...] = (
    ("llm_mock_strict", "error", "A call that no configured reply fits fails its test."),
    ("llm_mock_schema_check", "error", "So does a reply that breaks the schema of the call."),
    ("llm_mock_autospec", "true", "A mock refuses what the real model refuses; true by default."),
    ("llm_mock_unknown_models", "error", "A name that neither llm nor the test knows is an error."),
    (
        "llm_mock_response_json",
        "raw",
        "response.json() gives the provider's payload, as in production.",
    ),
    ("llm_mock_lazy", "true", "Errors come as late as they do in production."),
)
"""The key, value and effect of each setting."""


def format_settings(ini: bool) -> str:
    """Return the recommended settings as text.

    Args:
        ini: whether to write an ini file instead of pyproject.toml.
    """
    lines = ["[pytest]"] if ini else ["# pyproject.toml", "[tool.pytest.ini_options]"]
    for key, value, effect in RECOMMENDED:
        # In TOML, texts are quoted and booleans are not.
        is_bare = ini or value in ("true", "false")
        lines += [f"# {effect}", f"{key} = {value}" if is_bare else f'{key} = "{value}"']
    return "\n".join(lines)
