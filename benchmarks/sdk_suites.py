"""Run the tests of the SDKs of OpenAI and Anthropic against the mock, in the same process.

    python benchmarks/sdk_suites.py CHECKOUT [--served URL] [TEST_PATH ...]

The checkout is a clone or an unpacked source distribution of `openai` or `anthropic`, in the
version that is installed, with what its tests need: pytest-asyncio, inline-snapshot, rich,
http-snapshot. By default the tests of all endpoints that the mock has are run. They refer to ids
that do not exist; in the same process each of them is an object that was stored before the test.

Printed are the tests by file, and the failed ones by the reason. Their documentation server accepts
what OpenAI refuses; `EXPECTED` names these tests. Any other failure is an exit code of 1. Served,
no id exists, and what refers to one fails too.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

ENDPOINTS = {
    "openai": (
        *("chat", "responses", "test_responses.py", "test_embeddings.py", "test_models.py"),
        *("conversations", "test_conversations.py", "test_moderations.py", "test_images.py"),
        *("audio/test_speech.py", "audio/test_transcriptions.py", "audio/test_translations.py"),
    ),
    "anthropic": (
        *("test_messages.py", "test_models.py", "beta/test_messages.py", "beta/test_models.py"),
    ),
}
"""The tests of the endpoints that the mock has, by the package."""
URLS = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
ITEM_ID = "msg_abc"
EXPECTED = {
    r"chat\.test_completions: test_method_create_with_all_params": (
        "OpenAI refuses max_completion_tokens=0, and max_tokens beside it"
    ),
    r"chat\.completions\.test_messages: .*_list$": (
        "the SDK's type knows answers only; in OpenAI's example a stored message has the role user"
    ),
    r"test_embeddings: test_(method|raw_response|streaming_response)_create$": (
        "a strict client refuses the vectors in base64 that the SDK itself asks for"
    ),
    r"test_responses: .*_create_overload_[12]$": "OpenAI refuses a request without a model",
    r"test_responses: test_method_create_with_all_params": (
        "OpenAI refuses a conversation beside previous_response_id"
    ),
    r"test_responses: test_method_compact_with_all_params": (
        "the SDK's type knows answers only; in OpenAI's example the user messages are kept"
    ),
    r"test_images: test_method_edit_with_all_params": (
        "openai 3.3 asks for a size that its type does not know"
    ),
    r"(beta\.)?test_messages: test_method_create_with_all_params": (
        "Anthropic refuses temperature beside top_p for Claude Opus 4.6, as anthropic 0.121 asks"
    ),
}
"""The tests that cannot pass, with the reason."""


class KnownIds(dict[str, Any]):
    """Stored objects of which every id exists."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return the object with an id; an object of its kind if there is none."""
        if key in self:
            return self[key]
        if key.startswith("background "):
            return self["background"]
        if key.startswith("completion"):
            return self["completion"]
        return self["response" if "resp" in key else "conversation"]


@pytest.fixture(autouse=True)
def store_objects(request: pytest.FixtureRequest) -> None:
    """Store an object of each kind, under every id."""
    if not os.environ["TEST_API_BASE_URL"].startswith(URLS["openai"]):
        return
    # Imported late, because this file is also the command that starts pytest.
    import openai

    mock = request.getfixturevalue("mock_llm_responses")
    client = openai.OpenAI(api_key="sk-mock")
    response = client.responses.create(model="gpt-5", input="Hello", background=True)
    conversation = client.conversations.create(items=[{"role": "user", "content": "Hello"}])
    completion = client.chat.completions.create(
        model="gpt-5", messages=[{"role": "user", "content": "Hello"}], store=True
    )
    stored = mock.stored_objects
    stored[conversation.id].items[0]["id"] = ITEM_ID
    mock.stored_objects = KnownIds(
        response=stored[response.id],
        background=stored[f"background {response.id}"],
        conversation=stored[conversation.id],
        completion=stored[completion.id],
    )


def run_tests(checkout: Path, package: str, paths: list[str], served: str | None) -> ET.Element:
    """Run the tests of a checkout, and return their results."""
    url = f"{served}/{package}" if served else URLS[package]
    if served and package == "openai":
        url += "/v1"
    environment = {
        **os.environ,
        "TEST_API_BASE_URL": url,
        "PYTHONPATH": os.pathsep.join((str(checkout), str(Path(__file__).parent))),
    }
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        options = ("-q", "--tb=short", "--override-ini=addopts=", "--no-header", "--no-summary")
        plugins = ("-p", "no:cacheprovider", "-p", Path(__file__).stem)
        command = [sys.executable, "-m", "pytest", *options, *plugins, f"--junitxml={results}"]
        subprocess.run([*command, *paths], cwd=checkout, env=environment, check=False)
        return ET.parse(results).getroot()


def print_results(results: ET.Element) -> bool:
    """Print the number of passed and failed tests by file, and the failed ones by reason.

    Returns:
        True if no test failed but those that are expected to.
    """
    files = collections.defaultdict[str, collections.Counter[str]](collections.Counter)
    reasons = collections.defaultdict[str, collections.Counter[str]](collections.Counter)
    is_good = True
    for case in results.iter("testcase"):
        file = str(case.get("classname")).split(".Test")[0].removeprefix("tests.api_resources.")
        problems = [*case.iter("failure"), *case.iter("error")]
        outcome = "failed" if problems else "passed"
        files[file]["skipped" if case.find("skipped") is not None else outcome] += 1
        if problems:
            test = f"{file}: {str(case.get('name')).partition('[')[0]}"
            expected = [why for pattern, why in EXPECTED.items() if re.match(pattern, test)]
            message = str(problems[0].get("message")).partition("\n")[0]
            reasons[f"expected: {expected[0]}" if expected else message][test] += 1
            is_good = is_good and bool(expected)
    for file, outcomes in sorted(files.items()):
        counts = [f"{count} {outcome}" for outcome, count in sorted(outcomes.items())]
        print(f"{file:32}", ", ".join(counts))
    print("all:", dict(sum(files.values(), collections.Counter())))
    for reason, tests in reasons.items():
        print(f"\n{reason}", *(f"{test} ({n})" for test, n in sorted(tests.items())), sep="\n  ")
    return is_good


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--served", metavar="URL", help="the URL of `llm-mock serve`")
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    package = next(name for name in ENDPOINTS if (checkout / "src" / name).is_dir())
    paths = arguments.paths or [f"tests/api_resources/{path}" for path in ENDPOINTS[package]]
    results = run_tests(checkout, package, paths, arguments.served)
    sys.exit(not print_results(results))


if __name__ == "__main__":
    main()
