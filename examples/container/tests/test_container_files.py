"""The commands of the container's files, without a container."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[1]
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: Any = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
WORKFLOW: Any = yaml.safe_load((FOLDER / "ci.yml").read_text(encoding="utf-8"))
MOCK = COMPOSE["services"]["llm-mock"]
TESTS = COMPOSE["services"]["tests"]
CONTAINER_URL = "http://127.0.0.1:8080"


def read_instruction(name: str) -> list[str]:
    """Return the words of an instruction of the Dockerfile."""
    found = re.search(rf"^(?:  )?{name} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert found is not None
    words: list[str] = json.loads(found[1])
    return words


def list_steps(job: str) -> list[str]:
    """Return the commands of a job of the workflow."""
    return [step["run"] for step in WORKFLOW["jobs"][job]["steps"] if "run" in step]


def start(words: list[str], token: str | None = None) -> subprocess.Popen[str]:
    """Start `llm-mock serve` as a command says, at a free port."""
    assert words[:2] == ["llm-mock", "serve"]
    position = words.index("--port") + 1
    assert words[position] == "8080"
    words = [*words[:position], "0", *words[position + 1 :]]
    command = [sys.executable, "-m", "llm_mock", *words[1:]]
    environment = {**os.environ}
    if token is not None:
        environment["LLM_MOCK_CONTROL_TOKEN"] = token
    return subprocess.Popen(command, cwd=FOLDER, env=environment, stdout=subprocess.PIPE, text=True)


def read_url(process: subprocess.Popen[str]) -> str:
    """Return the URL of a server that starts."""
    assert process.stdout is not None
    url = process.stdout.readline().split()[1].removesuffix("/openai/v1")
    return url.replace("0.0.0.0", "127.0.0.1")


def ask(url: str, host: str, token: str | None = None) -> int:
    """Return the status of a control request that comes by the name of a container."""
    headers = {"Host": host}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.fixture
def token() -> str:
    """Return the token of the compose file, which both services have."""
    tokens = {service["environment"]["LLM_MOCK_CONTROL_TOKEN"] for service in (MOCK, TESTS)}
    assert len(tokens) == 1
    return str(tokens.pop()).partition(":-")[2].removesuffix("}")


@pytest.fixture
def url(token: str) -> Iterator[str]:
    """Run the command of the container, and return its URL."""
    with start(read_instruction("CMD"), token) as process:
        yield read_url(process)
        process.kill()


def test_the_health_check_succeeds_once_the_server_runs(url: str) -> None:
    kind, python, option, program = MOCK["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    for base_url, is_healthy in ((url, True), ("http://127.0.0.1:1", False)):
        command = [sys.executable, option, program.replace(CONTAINER_URL, base_url)]
        result = subprocess.run(command, stderr=subprocess.DEVNULL, timeout=60)
        assert (result.returncode == 0) is is_healthy


def test_another_container_needs_the_token(url: str, token: str) -> None:
    host = TESTS["environment"]["LLM_MOCK_URL"].removeprefix("http://")
    assert ask(f"{url}/_llm_mock/calls", host) == 403
    assert ask(f"{url}/_llm_mock/calls", host, "another-token") == 403
    assert ask(f"{url}/_llm_mock/calls", host, token) == 200
    assert ask(f"{url}/_llm_mock/health", host) == 200


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
def test_the_tests_of_the_other_container_pass(url: str, token: str) -> None:
    mount = TESTS["volumes"][0].split(":")
    assert mount[1] == TESTS["working_dir"]
    environment = {**os.environ, "LLM_MOCK_URL": url, "LLM_MOCK_CONTROL_TOKEN": token}
    result = subprocess.run(
        TESTS["command"],
        cwd=(FOLDER / mount[0]).resolve(),
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stdout
    assert re.search(r"^. pass 10$", result.stdout, re.MULTILINE)


def test_the_tests_wait_until_the_server_is_healthy() -> None:
    assert TESTS["depends_on"] == {"llm-mock": {"condition": "service_healthy"}}
    assert MOCK["ports"] == ["127.0.0.1:8080:8080"]
    assert "EXPOSE 8080\n" in DOCKERFILE


def test_the_image_has_all_files_of_its_command() -> None:
    copied = re.findall(r"^COPY (\S+) \.$", DOCKERFILE, re.MULTILINE)
    assert copied == [word for word in read_instruction("CMD") if word.endswith(".yaml")]


def test_the_workflow_starts_what_is_there() -> None:
    [compose] = list_steps("in-containers")
    file = shlex.split(compose)[shlex.split(compose).index("--file") + 1]
    assert (FOLDER.parent / file).is_file()
    service = shlex.split(compose)[-1]
    assert service in COMPOSE["services"]

    _, serve, health, node, _ = list_steps("without-containers")
    words = shlex.split(serve.partition(" > ")[0])
    words[2] = str(FOLDER.parent / words[2])
    with start(words) as process:
        url = shlex.split(health)[-1].replace(CONTAINER_URL, read_url(process))
        assert ask(url, "localhost") == 200
        process.kill()
    suites = [f"javascript/{word}" for word in TESTS["command"][2:]]
    assert shlex.split(node) == ["node", "--test", *suites]
    assert all((FOLDER.parent / suite).is_file() for suite in suites)
