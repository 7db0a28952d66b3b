"""An error that passes through functions of this package shows the lines of the test only.

The fixture `frames_are_hidden` looks at the frames of each error that a test expects.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from llm_mock import LLMMock, checks
from llm_mock.core.settings import Settings
from llm_mock.errors import LLMMockError
from llm_mock.specs import TestSpec, run_llm_test

posix = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="POSIX only")


def load_certificate(_: pytest.MonkeyPatch) -> None:
    httpx.Client(cert="missing.pem")


def create_google_client(monkeypatch: pytest.MonkeyPatch) -> None:
    google = pytest.importorskip("google.genai")
    monkeypatch.setenv("SSL_CERT_FILE", "missing.pem")
    google.Client(api_key="test")


def get_aws_credentials(_: pytest.MonkeyPatch) -> None:
    botocore = pytest.importorskip("botocore.session")
    botocore.Session(profile="missing").get_credentials()


def get_azure_token(_: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.identity").DefaultAzureCredential().get_token()


def get_async_azure_token(_: pytest.MonkeyPatch) -> None:
    asyncio.run(pytest.importorskip("azure.identity.aio").DefaultAzureCredential().get_token())


def create_channel(_: pytest.MonkeyPatch) -> None:
    pytest.importorskip("grpc").secure_channel("api.example.com", None)


def create_async_channel(_: pytest.MonkeyPatch) -> None:
    grpc = pytest.importorskip("grpc")

    async def create() -> None:
        grpc.aio.secure_channel("api.example.com", None)

    asyncio.run(create())


def spawn(_: pytest.MonkeyPatch) -> None:
    os.posix_spawn("missing", ["missing"], {})


def run_command(_: pytest.MonkeyPatch) -> None:
    os.system(b"\0")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        # New versions of httpx warn, and warnings are errors here.
        (load_certificate, (DeprecationWarning, FileNotFoundError)),
        (create_google_client, FileNotFoundError),
        (get_aws_credentials, Exception),
        (get_azure_token, Exception),
        (get_async_azure_token, Exception),
        (create_channel, AttributeError),
        (create_async_channel, AttributeError),
        pytest.param(spawn, FileNotFoundError, marks=posix),
        (run_command, ValueError),
    ],
)
def test_an_error_of_a_library_shows_no_function_around_it(
    call: Callable[[pytest.MonkeyPatch], None],
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(error):
        call(monkeypatch)


@pytest.mark.usefixtures("mock_llm_responses")
@pytest.mark.parametrize(
    "start",
    [
        lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        lambda: os.system("exit"),
        pytest.param(lambda: os.posix_spawn("/bin/sh", ["sh"], os.environ), marks=posix),
    ],
)
def test_an_error_that_prevents_the_start_of_a_process_shows_no_function(
    start: Callable[[], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(LLMMockError, match="Cannot create a temporary folder"):
        start()


def generate_reply() -> None:
    mock = LLMMock(settings=Settings(generate=True))
    mock.get_model("m").prompt("Hi", schema={"const": 1, "type": "string"}).text()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (generate_reply, LLMMockError),
        (lambda: checks.trajectory([1]), TypeError),  # type: ignore[list-item]
        (lambda: run_llm_test(TestSpec.model_construct(), Path("a.yaml"), timeout=-1), ValueError),
    ],
)
def test_an_error_of_the_test_shows_no_function(
    call: Callable[[], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        call()
