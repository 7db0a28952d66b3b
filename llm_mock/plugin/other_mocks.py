"""Detection of other libraries' mocks of HTTP, which take precedence over configured replies."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType

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


def get_package(replacement: object) -> str:
    """Return the package that defines a function or a class; empty for any other object."""
    if isinstance(replacement, FunctionType):
        # Not `__module__`, which a wrapper copies from what it wraps.
        module = replacement.__globals__.get("__name__", "")
    elif isinstance(replacement, type):
        module = replacement.__module__
    else:
        return ""
    return str(module).partition(".")[0]


def find_other_mocks(error: BaseException | None) -> set[str]:
    """Return the packages of other mocks through which an error came."""
    # Imported here: this module is loaded in each run, and most tests pass.
    from llm_mock.plugin.failures import linked_errors, list_frames

    packages = set()
    for each in linked_errors(error):
        for frame in list_frames(each):
            module = str(frame.tb_frame.f_globals.get("__name__", ""))
            packages.add(module.partition(".")[0])
    return packages & OTHER_MOCKS.keys()


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
