"""The explanation of a failure because google-genai closed its client before the call."""

from __future__ import annotations

from llm_mock.plugin.failures import list_frames
from llm_mock.support.exceptions import get_exception_text

CLOSED = "the client has been closed"
"""The end of the message of httpx and httpx2."""
SDK = "google.genai."
ADVICE = (
    "google-genai closes its HTTP client as soon as nothing refers to genai.Client(), and "
    "genai.Client().models does not refer to it. Keep the client: client = genai.Client()."
)


def explain_closed_client(error: BaseException) -> str:
    """Advise to keep the client of google-genai if it was closed; else return nothing."""
    if type(error) is not RuntimeError or CLOSED not in get_exception_text(error):
        return ""
    modules = [str(entry.tb_frame.f_globals.get("__name__", "")) for entry in list_frames(error)]
    return ADVICE if any(module.startswith(SDK) for module in modules) else ""
