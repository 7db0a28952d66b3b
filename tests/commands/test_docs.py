"""`llm-mock docs`: the pages, one of them, and a search."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import llm_mock
from llm_mock.cli import main
from tests.conftest import RunPython

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


def read(*words: str) -> str:
    result = CliRunner().invoke(main, ["docs", *words])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def api() -> str:
    """Return the page of the API, which takes a while to make."""
    return read("api")


def test_the_pages_are_listed_with_their_titles() -> None:
    end = "\n\nOpen a page: llm-mock docs replies\nSearch all pages: llm-mock docs rate limit\n"
    assert read().endswith(end)
    listed = dict(re.findall(r"^([\w-]+) {2,}(.+)$", read(), re.MULTILINE))
    assert sorted(listed) == PAGES
    assert listed["matching"] == "Matching and strictness"
    assert listed["changelog"] == "Changelog"


@pytest.mark.parametrize("page", PAGES)
def test_each_page_opens_whole(page: str) -> None:
    text = read(page)
    assert text.startswith("# ")
    assert not re.search(r"^(:::|--8<--) ", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["replies", "replies.md", "docs/replies.md"])
def test_a_page_is_named_by_its_file_too(name: str) -> None:
    assert read(name).strip() == (ROOT / "docs" / "replies.md").read_text().strip()


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(
            "### llm_mock.call\n\n    call(tool, /, **arguments)\n\nReturn a call to a tool",
            id="a function",
        ),
        pytest.param(
            "### llm_mock.ToolCall\n\n    ToolCall(name, arguments=None, tool_call_id=None)\n\nA",
            id="a class by its __init__",
        ),
        pytest.param(
            "    BrokenToolCall(name, arguments, tool_call_id=None)\n\nA tool call that is wrong",
            id="a class with a base class that has another __init__",
        ),
        pytest.param(
            "    Misbehaviour(name, times=None)\n\nOne misbehaviour in one test", id="a class"
        ),
        pytest.param(
            "An asynchronous `MockLLMModel`; it is lazy, like every `llm.AsyncModel`.\n\nCreate ",
            id="an inherited __init__ with its docstring",
        ),
        pytest.param(
            "### llm_mock.Logprob\n\n    Logprob(token, logprob, top_logprobs={})\n\nA token of",
            id="a dataclass",
        ),
        pytest.param("    MCPServer(command=(), args=(), env={}, cwd=None,", id="default factory"),
        pytest.param(
            "    ToolCallThenAnswer(call, then)\n\nA reply function", id="a class with `__init__`"
        ),
        pytest.param(
            "    Turn(text, tool_calls, usage, duration=0.0,", id="field() with a default"
        ),
        pytest.param(
            "started=..., parts={}, output=None)\n\nThe ", id="a factory that is no mapping"
        ),
        pytest.param(
            "llm_mock.checks.json\n\n    json(path=None, *, value=..., schema=None, **options)\n\n",
            id="a private default",
        ),
        pytest.param(
            "\n\n    async aitest_run(agent, prompt, *, attachments=(),", id="a coroutine"
        ),
        pytest.param(
            "### llm_mock.ResponseConfigurator\n\nThe methods of a mock that configure replies",
            id="a class that the package creates",
        ),
        pytest.param(
            "reply over an earlier one.\n\n#### ResponseConfigurator.set\n\n"
            "    set(model, response, *, schema=None, **conditions)\n\nSet a standing reply",
            id="a method",
        ),
        pytest.param(
            "    CaseResult(case, attempts, threshold=1.0, retried=0, retried_cost=Decimal(0),\n"
            "        retried_tokens=0)\n\nThe ",
            id="a signature of two lines",
        ),
        pytest.param("#### Skill.from_path\n\n    from_path(path)\n\n", id="a class method"),
        pytest.param("#### LLMMock.last_call\n\n    last_call: Call\n\nThe ", id="an own property"),
        pytest.param(
            "#### LLMMock.set_quota\n\n    set_quota(model, *, rpm=None, tpm=None)\n\n",
            id="an inherited method",
        ),
        pytest.param(
            "#### LLMMock.requested_models\n\n    requested_models: list[str]\n\nThe model names",
            id="an attribute that the constructor assigns",
        ),
        pytest.param(
            "#### MockLLMModel.prompt_count\n\n    prompt_count: int\n\n", id="inherited property"
        ),
        pytest.param(
            "#### CallAssertions.assert_called_with\n\n"
            "    assert_called_with(prompt_contains=None, schema=None, **conditions)\n\nAssert ",
            id="an assertion",
        ),
        pytest.param(
            "#### EndpointRequest.json\n\n    json: Any\n\nThe body", id="cached property"
        ),
        pytest.param(
            "### ReplyConditions\n\nThe conditions of a reply besides model and schema. A call "
            "must meet all of them.\n\n"
            "#### ReplyConditions.prompt\n\n    prompt: TextMatcher | None\n\n"
            "A text that the prompt must contain, a compiled pattern to search for in it, or a "
            "function\nthat takes the text and returns whether it matches.\n\n"
            "#### ReplyConditions.system\n",
            id="a TypedDict",
        ),
        pytest.param("    repeat: Whole\n\nThe number", id="a type without its validators"),
        pytest.param(
            "### llm_mock.errors\n\nExceptions and warnings of the package.\n\n"
            "### llm_mock.errors.LLMMockError\n\nBase class of all exceptions of this package.\n\n",
            id="a module",
        ),
        pytest.param(
            "### llm_mock.errors.UnexpectedCall\n\nA call that matches no configured reply",
            id="a class without constructor",
        ),
    ],
)
def test_the_page_of_the_api_has_signatures_and_docstrings(expected: str, api: str) -> None:
    assert expected in api


def test_the_page_of_the_api_has_readable_lines(api: str) -> None:
    assert max(map(len, re.findall(r"^ {4}\w+\(.*", api, re.MULTILINE))) <= 90
    assert "refusal=None, body=...,\n        events=None, candidates=None," in api


def test_the_page_of_the_api_begins_with_its_contents(api: str) -> None:
    introduction, *_ = api.partition("\n## ")
    assert "To find an entry, search for its heading, such as `### llm_mock.Reply`.\n\n- " in (
        introduction
    )
    assert (
        "\n- The mock: Reply, ToolCall, call, BrokenToolCall, Citation, Logprob, WebSearch,\n"
        "  CodeInterpreter, McpCall, "
    ) in introduction
    assert "\n- Assertions: CallAssertions, CallConditions, ABSENT, assert_llm" in introduction
    assert "\n- Cassettes: cassettes.CassetteConfig, cassettes.Cassette\n- Checks: " in introduction
    assert introduction.endswith("errors.JudgeError\n")


def test_the_contents_name_each_entry_once(api: str) -> None:
    introduction, *_ = api.partition("\n## ")
    listed = re.findall(r"[\w.]+(?=,|\n)", introduction.partition("- The mock: ")[2])
    headings = re.findall(r"^### (?:llm_mock\.)?(.+)$", api, re.MULTILINE)
    assert listed == headings


@pytest.mark.parametrize(
    "default",
    [
        "max_turns=10, ",
        "retries=3, ",
        "refusal(text=\"I'm sorry, but I can't help with that.\", **details)",
        "variant=..., ",
        "then=..., *, ",
    ],
)
def test_a_default_is_a_value_not_the_name_of_a_constant(default: str, api: str) -> None:
    assert default in api
    signatures = "".join(re.findall(r"^ {4}\w+\(.*\n(?: {8}.*\n)*", api, re.MULTILINE))
    assert not re.search(r"=[A-Z_]{3,}\b", signatures)


@pytest.mark.parametrize(
    "unreadable",
    [
        *("PYTEST_DONT_REWRITE", "<object object", "<factory>", "which is not installed"),
        *("llm_mock.core.", "llm_mock.boundaries.", "llm_mock.agents.result."),
        *("ResponseConfigurator(", ", _changes", "Annotated", "#### LLMMock.responses"),
        *("#### AsyncMockLLMModel.", "#### Latency.compute_waits", "#### Reply."),
        "#### Citation.url",
        *("Call._simple_messages", "templates._", "__init__"),
    ],
)
def test_the_page_of_the_api_shows_nothing_internal(unreadable: str, api: str) -> None:
    assert unreadable not in api


def test_each_member_is_described_once(api: str) -> None:
    headings = re.findall(r"^#{3,4} (.+)$", api, re.MULTILINE)
    assert len(headings) > 300
    assert len(headings) == len(set(headings))


def test_the_page_of_the_api_needs_no_extra(run_python: RunPython, api: str) -> None:
    missing = "sys.modules |= dict.fromkeys(('tenacity', 'mcp', 'rich', 'jinja2'))"
    code = f"import sys; {missing}; from llm_mock.cli import main; main(['docs', 'api'])"
    assert run_python(code).stdout.strip() == api.strip()


def test_a_section_with_a_word_in_its_heading_comes_first() -> None:
    results = re.findall(r"^(\S+): (.+)\n {4}(.+)$", read("rate", "LIMIT"), re.MULTILINE)
    assert ("replies", "Errors") in [result[:2] for result in results]
    assert read("quotas").startswith("latency: Quotas\n    ")
    assert read("quotas").endswith("\nOpen a page: llm-mock docs latency\n")


def test_a_comment_in_code_is_no_heading() -> None:
    heading, line = read("helpdesk.py").splitlines()[:2]
    assert heading.startswith("web-applications: Web applications: FastAPI")
    assert line == "    # helpdesk.py"


@pytest.mark.parametrize("words", ["retry", "rate limit", "stream", "Azure"])
def test_what_people_search_for_is_found(words: str) -> None:
    assert ": " in read(*words.split())


def test_a_search_with_many_results_is_cut() -> None:
    output = read("model")
    assert len(re.findall(r"^[\w-]+: ", output, re.MULTILINE)) == 20
    assert re.search(r"^\.\.\. and \d+ more; add a word$", output, re.MULTILINE)


def test_a_search_without_a_section_that_has_all_words_shows_those_with_some() -> None:
    output = read("pydantic-ai", "xyzzy")
    first, *results = output.splitlines()
    assert first == "No section contains all of pydantic-ai, xyzzy. These contain some:"
    assert "frameworks: pydantic-ai" in results


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "replise",
            "No page is called 'replise', and no section contains this word; did you mean ",
        ),
        (
            "xyzzy",
            "No page is called 'xyzzy', and no section contains this word; the pages are agents, ",
        ),
        (
            "xyzzy yzzyx",
            "No page is called 'xyzzy yzzyx', and no section contains these words; the pages are ",
        ),
    ],
)
def test_what_is_not_found_is_an_error_with_the_pages(word: str, message: str) -> None:
    result = CliRunner().invoke(main, ["docs", *word.split()])
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {message}")


def test_an_installation_without_pages_is_to_be_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm_mock, "__file__", str(tmp_path / "llm_mock" / "__init__.py"))
    result = CliRunner().invoke(main, ["docs"])
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: This installation has no documentation. Install it again: pip install "
        "--force-reinstall --no-deps pytest-llm-mock\n",
    )


def test_every_page_that_the_package_names_opens() -> None:
    sources = [path.read_text() for path in (ROOT / "llm_mock").rglob("*.py")]
    # In the output of the commands a page may be followed by a word that is none.
    named = set(re.findall(r"llm-mock docs ([a-z-]+)", "\n".join(sources))) - {"rate"}
    assert "server" in named
    assert named <= set(PAGES)
