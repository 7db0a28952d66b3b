"""Explain calls through a closed client of google-genai."""

from __future__ import annotations

from llm_mock.plugin.failures import list_frames
from llm_mock.support.exceptions import get_exception_text, get_module_name

CLOSED = "the client has been closed"
"""The end of the message of httpx and httpx2."""
SDK = "google.genai."
ADVICE = (
    "The client was closed before this call. google-genai also closes a client when no variable "
    "refers to it, so genai.Client().models… fails: keep the client, client = genai.Client()."
)


def explain_closed_client(error: BaseException) -> str:
    """Return advice for a call through a closed client of google-genai; empty for other errors."""
    if type(error) is not RuntimeError or CLOSED not in get_exception_text(error):
        return ""
    modules = [get_module_name(entry.tb_frame) for entry in list_frames(error)]
    return ADVICE if any(module.startswith(SDK) for module in modules) else ""
