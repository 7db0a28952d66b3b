"""Detection of other libraries' mocks of HTTP, which take precedence over configured replies."""

from __future__ import annotations

from collections.abc import Iterable

from llm_mock.plugin.failures import linked_errors, list_frames

OTHER_MOCKS = {
    "pytest_httpx": ("pytest-httpx", "should_mock of its marker httpx_mock"),
    "requests_mock": ("requests-mock", "real_http=True"),
    "responses": ("responses", 'responses.add_passthru("https://api.openai.com")'),
    "respx": ("respx", 'respx.route(host="api.openai.com").pass_through()'),
    "vcr": ("VCR", ""),
}
"""The mocks by their package: the name, and how to let a request pass on to this package's mock.

VCR can ignore a host, but then connects itself to those that requests and urllib3 call.
"""


def find_other_mocks(error: BaseException | None, packages: Iterable[str]) -> set[str]:
    """Return the packages of other mocks among some, and those through which an error came."""
    found = {*packages}
    for each in linked_errors(error):
        for frame in list_frames(each):
            module = str(frame.tb_frame.f_globals.get("__name__", ""))
            found.add(module.partition(".")[0])
    return found & OTHER_MOCKS.keys()


def explain_other_mocks(packages: Iterable[str]) -> str:
    """Return why configured replies were not used; empty without another mock."""
    return "\n".join(_explain(*OTHER_MOCKS[package]) for package in sorted(packages))


def _explain(name: str, option: str) -> str:
    fix = f"Remove {name} or the replies from this test"
    if option:
        fix = f"{fix}, or let {name} pass requests on: {option}"
    return (
        f"{name} intercepts HTTP in this test and takes precedence over llm_mock: a request that "
        f"{name} answers or refuses does not reach the configured replies. {fix}."
    )
