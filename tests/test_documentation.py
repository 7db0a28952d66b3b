"""Every block of the README, of the migration guide and of the pages of the documentation is run.

A section of a document (from a heading to the next) is a folder. A block that begins with a
comment such as `# app.py` or `# tests/test_it.py` is a file in it; a Python block without one is
`test_section.py`. Files that are neither tests, conftest nor configuration stay for the sections
that follow in the document. Then pytest runs in the folder and must pass, unless the section
holds a `text` block: that is what pytest must print, line by line, where `...` stands for any
lines between. Where there is configuration and no test, pytest must accept it. A `console` block
is run line by line: `$ command`, then what it prints.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_mock.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("**/*.md"))
DOCUMENTS = ("README.md", "MIGRATION_GUIDE.md", *PAGES)
PARTS = re.compile(
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$|^#+ (?P<title>[^\n]+)$", re.MULTILINE | re.DOTALL
)
FRAMEWORK = re.compile(
    r"^(?:from|import) (agents|crewai|dspy|langchain|litellm|llama_index|pydantic_ai)\b",
    re.MULTILINE,
)
"""The import of a framework that is installed for `.ci/frameworks` only."""
SDKS = (
    *("anthropic", "boto3", "cohere", "fastapi", "google.genai", "google.genai.types"),
    *("mistralai.client", "websockets"),
)
"""Modules that several sections import and that take long to import."""
OWN_PROCESS = {"support.yaml", "scripted.yaml"}
"""Suites that are run in a process in which nothing has imported `llm` before."""
FILE_NAME = re.compile(r"\A# ([\w./-]+\.(?:py|toml|ini|ya?ml|md))\n")

DURATION = re.compile(r" +\(?(time|\d+(\.\d+)? m?s)\)?$")
"""At the end of a line of output: a duration, or the heading above a column of them."""


@dataclass
class Section:
    """One section of a document, as files, commands and expected output."""

    title: str
    files: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    output: str = ""
    console: str = ""

    def add(self, language: str, text: str) -> None:
        """Sort a block in."""
        if language == "text":
            self.output += text
        elif language == "console":
            self.console += text
        elif language in ("python", "toml", "ini", "yaml"):
            named = FILE_NAME.match(text)
            name = named[1] if named else "test_section.py"
            self.files[name] = self.files.get(name, "") + text
        elif language == "markdown" and (named := FILE_NAME.match(text)):
            self.files[named[1]] = text[
                named.end() :
            ]  # the first line would stand before the front matter


def sections(document: str) -> list[Section]:
    """Return the sections of a document that have blocks to run."""
    found = [Section("before the first heading")]
    for part in PARTS.finditer((ROOT / document).read_text()):
        if part["title"]:
            kept = {name: text for name, text in found[-1].files.items() if is_application(name)}
            found.append(Section(part["title"], kept=found[-1].kept | kept))
        else:
            found[-1].add(part["language"], part["text"])
    return [section for section in found if section.files or section.console]


def is_application(name: str) -> bool:
    """Return whether a file is one that the following sections use too."""
    base = Path(name).name
    return base.endswith(".py") and base != "conftest.py" and not base.startswith("test_")


EVERY_SECTION = [
    pytest.param(section, id=f"{document}: {section.title}")
    for document in DOCUMENTS
    for section in sections(document)
]


@pytest.fixture
def imported_sdks(section: Section) -> None:
    """Import the SDKs of a section before `pytester`, which forgets all that is imported later."""
    texts = "\n".join((section.kept | section.files).values())
    # The mock needs `jsonschema` for the calls of most sections.
    for module in ("jsonschema", *SDKS):
        package = module.partition(".")[0]
        if module == "jsonschema" or re.search(rf"^ *(?:from|import) {package}\b", texts, re.M):
            with contextlib.suppress(ImportError):
                importlib.import_module(module)


@pytest.mark.usefixtures("imported_sdks")
@pytest.mark.parametrize("section", EVERY_SECTION)
def test_every_block_runs(
    section: Section, pytester: pytest.Pytester, request: pytest.FixtureRequest
) -> None:
    files = section.kept | section.files
    for framework in find_frameworks(files):
        pytest.importorskip(framework)
        # Some need numpy.
        request.getfixturevalue("all_libraries")
    for name, text in files.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    pytester.syspathinsert()
    if any(name.endswith((".ini", ".toml")) for name in section.files) and not has_tests(files):
        pytester.makepyfile("def test_nothing(): pass")
        run_tests(section, pytester, "--strict-config")
    elif has_tests(files):
        run_tests(section, pytester)
    for command, expected in re.findall(
        r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", section.console, re.MULTILINE
    ):
        printed = run_in_console(command, pytester.path)
        assert without_times(printed) == without_times(expected)


def test_the_sections_about_frameworks_are_run_where_these_are_installed() -> None:
    script = (ROOT / ".ci" / "frameworks").read_text()
    named = re.findall(r"::test_every_block_runs\[([^]]+)\]", script)
    needed = [
        section.id
        for section in EVERY_SECTION
        if find_frameworks(section.values[0].kept | section.values[0].files)
    ]
    assert sorted(named) == sorted(map(str, needed))


def find_frameworks(files: dict[str, str]) -> set[str]:
    """Return the frameworks that the texts of files import."""
    return {framework for text in files.values() for framework in FRAMEWORK.findall(text)}


def has_tests(files: Iterable[str]) -> bool:
    return any(Path(name).name.startswith("test_") for name in files)


def run_tests(section: Section, pytester: pytest.Pytester, *options: str) -> None:
    unwanted = {"failed", "errors", "error"}
    if find_frameworks(section.files):
        # What an earlier test's framework left to the garbage collector, such as an event loop,
        # would be an error of this section's tests if they ran in the same process. Warnings of
        # frameworks are theirs.
        result = pytester.runpytest_subprocess(*options)
    else:
        result = pytester.runpytest("-Werror", *options)
        unwanted |= {"warnings", "warning"}
    outcomes = result.parseoutcomes()
    if section.output:
        expected = [line if line != "..." else "*" for line in section.output.splitlines()]
        expected = [DURATION.sub("*", line) for line in expected]
        result.stdout.fnmatch_lines([re.sub(r"([\[\]])", r"[\1]", line) for line in expected])
    else:
        assert not unwanted & outcomes.keys(), result.outlines
    assert outcomes


def without_times(output: str) -> str:
    """Return what a command prints, its durations left out."""
    return re.sub(r"\b\d+(\.\d+)?m?s +", "", output)


def run_in_console(command: str, folder: Path) -> str:
    """Return what a line of a `console` block prints."""
    program, *arguments = shlex.split(command)
    if program != "llm-mock" or OWN_PROCESS & {*arguments}:
        return run_command(command, folder)
    # In this process, because a process takes a second to import what this one has imported.
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("PFLOW_TESTING", raising=False)
        result = CliRunner().invoke(main, arguments, prog_name=program, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def run_command(command: str, folder: Path) -> str:
    """Return what a command prints in a process of its own, with its environment variables."""
    words = shlex.split(command)
    variables = dict(word.split("=", 1) for word in words if re.match(r"[A-Z_]+=", word))
    words = [sys.executable if word == "python" else word for word in words[len(variables) :]]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        **variables,
    }
    environment.pop("PFLOW_TESTING") if "PFLOW_TESTING" not in variables else None
    process = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return process.stdout


def test_the_readme_is_short_and_its_links_work_from_anywhere() -> None:
    assert len(README.splitlines()) <= 150
    links = re.findall(r"(?<!!)\[[^\]]+\]\(([^)]+)\)", README)
    assert links
    assert all(link.startswith("https://") for link in links)


def test_every_file_that_the_readme_names_is_there() -> None:
    named = re.findall(r"`((?:docs|examples)/[\w./-]+|[A-Z_]+\.md)`|!\[[^\]]+\]\(([^)]+)\)", README)
    assert named
    assert [name for pair in named for name in pair if name and not (ROOT / name).is_file()] == []


def test_every_page_stands_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    assert sorted(re.findall(r"[\w-]+\.md", navigation)) == [Path(page).name for page in PAGES]


def test_ci_runs_the_two_commands_of_the_readme() -> None:
    commands = re.findall(r"^```bash\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(commands) == 2
    for command in commands:
        assert command.strip() in (ROOT / ".ci" / "run").read_text()


def test_python_and_settings_fit_a_narrow_page() -> None:
    for page in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]:
        blocks = re.findall(r"^```(?:python|toml)\b.*?\n(.*?)^```", page.read_text(), re.M | re.S)
        for line in "\n".join(blocks).splitlines():
            assert len(line) <= 80, (page.name, line)


def test_the_workflow_of_the_documentation_is_that_of_the_example_and_passes() -> None:
    workflow = ROOT / "examples" / "support" / "ci.yml"
    page = (ROOT / "docs" / "suites.md").read_text()
    shown = next(
        block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "jobs:" in block
    )
    (command,) = re.findall(r"- run: (llm-mock test .*--dry-run)$", shown, re.MULTILINE)
    assert f"- run: {command}\n" in workflow.read_text()
    assert "All tests passed" in run_command(command, ROOT / "examples")


NAMES_OF_AITEST = """
    Agent AgentResult AITestError CLIExecution CLIServer ClarificationDetection ClarificationLevel ClarificationStats
    EngineTimeoutError ImageContent MCPServer Prompt Provider ServerStartError Skill SkillError SkillInfo SkillMetadata
    SubagentInvocation ToolCall ToolInfo Turn Wait load_prompt load_prompts load_system_prompts load_skill AgentEngine
    InstructionSuggestion optimize_instruction SuiteReport TestReport build_suite_report generate_html generate_json
    AitestHookSpec get_analysis_prompt get_analysis_prompt_details ScoreResult ScoringDimension assert_score
    CopilotAgent CopilotResult load_custom_agent run_copilot
    aitest_run llm_assert llm_assert_image llm_score skill_factory session aitest_skip_report
    --aitest-summary-model --aitest-html --aitest-md --aitest-json --aitest-min-pass-rate --aitest-iterations
    --aitest-analysis-prompt --aitest-summary-compact --aitest-print-analysis-prompt --llm-model --llm-vision-model
    mcp_servers cli_servers system_prompt max_turns allowed_tools system_prompt_name temperature max_tokens rpm tpm
    wait transport headers shell discover_help help_flag timeout_ms messages tool_images_for tool_context cost_usd
    token_usage duration_ms asked_for_clarification available_tools effective_system_prompt all_responses
"""  # noqa: E501


def test_each_public_name_of_pytest_aitest_is_mapped_to_ours() -> None:
    section = (ROOT / "MIGRATION_GUIDE.md").read_text().partition("### pytest-aitest's agents\n")[2]
    theirs = "\n".join(
        line.split(" | ")[0] for line in section.splitlines() if line.startswith("| ")
    )
    unmapped = [
        name
        for name in NAMES_OF_AITEST.split()
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", theirs)
    ]
    assert unmapped == []
