"""The documents of the report as a whole, for a run and suites that have some of everything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import llm
import pytest

from llm_mock import Reply, ResponseConfigurator
from llm_mock.report.document import render_json
from llm_mock.report.mutation import format_table, new_document
from llm_mock.report.suite_document import is_good
from tests.expected import compare_bytes, compare_json
from tests.suites.conftest import Project
from tests.suites.conftest import project as project

FOLDER = Path(__file__).parent / "documents"
NEW_LLM = hasattr(llm, "Message")
TIMES = {"created", "timestamp", "duration_s", "duration_ms", "python", "llm", "generator"}
"""The fields that differ between runs, and between environments."""

RUN = '''
import asyncio
import llm, llm.parts, openai, pytest
from llm_mock import Reply, ToolCall
from pydantic import BaseModel

llm.get_model("outside").prompt("at collection", system="Be brief")

def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: sunny"

class Plan(BaseModel):
    steps: list[str]

def test_chain(mock_llm_responses):
    call = ToolCall("weather", {"city": "Rome"})
    usage = {"input_tokens": 7, "output_tokens": 2, "details": {"cached": 3}}
    mock_llm_responses.add("m", Reply("I look.", tool_calls=[call]))
    mock_llm_responses.add("m", Reply(chunks=["It is ", "sunny."], usage=usage, resolved_model="m-2026"))
    chain = llm.get_model("m").chain("How is it?", system="Be brief", tools=[weather])
    assert chain.text().endswith("It is sunny.")

def test_everything_of_a_request(mock_llm_responses, tmp_path):
    (tmp_path / "b.png").write_bytes(b"more")
    reply = Reply(data={"steps": []}, response_json={"id": "r1"}, reasoning="Hm.")
    mock_llm_responses.set("gpt-4o", reply)
    attachments = [
        llm.Attachment(type="image/png", content=b"secret picture"),
        llm.Attachment(type="image/png", path=str(tmp_path / "b.png")),
        llm.Attachment(url="https://example.com/c.png", type="image/png"),
    ]
    options = {"temperature": 0.5, "max_tokens": 9, "seed": 7}
    llm.get_model("gpt-4o").prompt("Plan", schema=Plan, attachments=attachments, **options)

def test_conversation(mock_llm_responses):
    mock_llm_responses.set("m", lambda prompt: f"re: {prompt.prompt}")
    talk = llm.get_model("m").conversation()
    for text in ("one", "two"):
        talk.prompt(text).text()
    llm.get_model("m").prompt("alone é 😀 </script>").text()

def test_stream_events(mock_llm_responses):
    event = llm.parts.StreamEvent
    events = [event(type="reasoning", chunk="Hm."), event(type="text", chunk="Five.")]
    mock_llm_responses.set("m", Reply(chunks=events))
    llm.get_model("m").prompt("2 + 2?").text()

def test_async_and_cut(mock_llm_responses):
    async def ask():
        return await llm.get_async_model("m").prompt("Hi").text()
    mock_llm_responses.add("m", Reply(chunks=["a", "b", "c"], error=OSError("cut"), error_after=2))
    with pytest.raises(OSError, match="cut"):
        asyncio.run(ask())

def test_sdk(mock_llm_responses):
    reply = Reply("A long", finish_reason="length", resolved_model="gpt-4o-2026",
                  usage={"input_tokens": 11, "output_tokens": 7})
    mock_llm_responses.set("gpt-4o", reply)
    messages = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi"}]
    with openai.OpenAI(max_retries=0) as client:
        create = client.chat.completions.create
        create(model="gpt-4o", messages=messages, max_completion_tokens=7, top_p=0.5)
        list(create(model="gpt-4o", messages=messages, stream=True, tool_choice="auto",
                    tools=[{"type": "function", "function": {"name": "look"}}]))
        mock_llm_responses.set_error("gpt-4o", ConnectionError("down"))
        with pytest.raises(openai.APIConnectionError):
            create(model="gpt-4o", messages=messages)

def test_fails(mock_llm_responses):
    mock_llm_responses.set_error("m", ConnectionError("down"))
    with pytest.raises(ConnectionError):
        llm.get_model("m").prompt("Hello")
    assert llm.get_model("other").prompt("Hi").text() == "", "not this"

@pytest.fixture
def broken():
    llm.get_model("m").prompt("in a fixture")
    raise OSError("no database")

def test_broken(broken): ...

@pytest.mark.skip(reason="not today")
def test_skipped(): ...

@pytest.mark.xfail(reason="known")
def test_expected():
    assert False

def test_empty(mock_llm_responses):
    mock_llm_responses.set("m", "")
    llm.get_model("m").prompt("").text()

def test_silent(): ...
'''  # noqa: E501


def without_times(value: Any, ids: dict[str, str] | None = None) -> Any:
    """Return JSON values with nothing that differs between runs or environments."""
    ids = {} if ids is None else ids
    if isinstance(value, list):
        return [without_times(item, ids) for item in value]
    if isinstance(value, str):
        if re.fullmatch(r"[\d.]+ ?m?s", value):
            return "0s"
        return re.sub(r"time per case .*", "time per case", value)
    if not isinstance(value, dict):
        return value
    return {name: _without_time(name, item, ids) for name, item in value.items()}


def _without_time(name: str, item: Any, ids: dict[str, str]) -> Any:
    if item is None:
        return None
    if name in TIMES:
        return type(item).__name__
    if name == "sdk":
        return item.split("/")[0]
    if name == "path":
        return Path(item).name
    if name in ("traceback", "message"):
        # How an assertion is explained is pytest's own.
        return item.splitlines()[0 if name == "message" else -1]
    if name == "conversation" and not item.startswith(("call ", "run ")):
        # An id of llm's; the same one stays the same.
        return ids.setdefault(item, f"id {len(ids) + 1}")
    return without_times(item, ids)


def read_page(path: Path) -> Any:
    """Return the document that is embedded in a page."""
    [text] = re.findall(
        r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text("utf-8"), re.S
    )
    return json.loads(text)


@pytest.mark.skipif(not NEW_LLM, reason="messages came with llm 0.32")
def test_the_document_of_a_run(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_prices =\n    * = 1 10\n")
    pytester.makepyfile(test_run=RUN)
    reports = [pytester.path / name for name in ("report.json", "report.html")]
    pytester.runpytest(*(f"--llm-mock-report={path}" for path in reports), "--junitxml=junit.xml")
    data, page = reports
    document = json.loads(data.read_bytes())
    compare_json(FOLDER / "run.json", without_times(document))
    assert read_page(page) == document
    # One line for each test.
    lines = data.read_text("utf-8").splitlines()
    assert [
        json.loads(line.rstrip(","))["id"] for line in lines if line.startswith('    {"id"')
    ] == [test["id"] for test in document["tests"]]
    junit = re.sub(r'(time|timestamp|hostname)="[^"]*"', r'\1=""', Path("junit.xml").read_text())
    properties = re.findall(r'<testcase[^>]* name="(\w+)"|<property (.*?) />', junit)
    compare_json(FOLDER / "run.junit.json", [name or text for name, text in properties])


ROLE = """\
apiVersion: llm-mock/v1
kind: Agent
metadata: {name: clerk}
spec:
  role: You are kind.
  model: {provider: openai, name: gpt-4o-mini}
  tools: [{type: cli, name: echo, command: echo, tool_prefix: echo}]
"""
SUITE = r"""
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: greeting | tests}
min_score: 0.9
cases:
  - name: says-hello
    prompt: Hi there!
    tags: [fast, polite]
    transform: answer
    assertions:
      - {type: contains, value: Hello, metric: tone}
      - {type: not_contains, value: error, weight: 3}
  - name: has | <b>number</b>
    prompt: How *many*?
    min_score: 0.5
    assertions:
      - {type: regex, pattern: '\d+', metric: tone}
      - {type: max_cost, value: 1, weight: 0.5}
  - name: calls a tool
    turns:
      - {prompt: Say it, assertions: [{type: tool_calls, calls: [{name: echo_execute}]}]}
      - {prompt: Again, assertions: [{type: contains, value: done}]}
  - {name: refused, prompt: Break}
  - {name: repeated, prompt: Once more, repeat: 3, threshold: 0.6,
     assertions: [{type: equals, value: 'Yes'}]}
  - {name: free, prompt: Nothing}
"""


def run_suite(project: Project, name: str, *arguments: str) -> None:
    """Run the suite with each kind of output, and compare these with the checked-in ones."""
    suffixes = ("json", "xml", "md", "html")
    outputs = [f"--output=out.{suffix}" for suffix in suffixes]
    role = () if name == "target" else ("role.yaml",)
    ended = project.command("test", *role, "-s", "tests.yaml", *outputs, *arguments)
    assert ended.exit_code == 1, ended.output
    compare_json(FOLDER / f"{name}.json", without_times(json.loads(Path("out.json").read_bytes())))
    junit = re.sub(rb'time="[\d.]+"', b'time="0"', Path("out.xml").read_bytes())
    compare_bytes(FOLDER / f"{name}.xml", junit)
    markdown = re.sub(rb"time per case [^<]*", b"time per case", Path("out.md").read_bytes())
    markdown = re.sub(rb"\b[\d.]+m?s\b", b"0s", markdown)
    compare_bytes(FOLDER / f"{name}.md", markdown)
    compare_json(FOLDER / f"{name}.page.json", without_times(read_page(Path("out.html"))))


def script(mock: ResponseConfigurator) -> None:
    """Answer the suite."""
    usage = {"input_tokens": 10, "output_tokens": 2}
    call = llm.ToolCall("echo_execute", {"args": "'well done'"})
    model = "gpt-4o-mini"
    mock.set_price(model, 1, 10)
    mock.set(model, Reply(data={"answer": "Hello there"}, usage=usage), prompt="Hi there!")
    mock.set(model, Reply("None </pre> `x`", usage=usage), prompt="How *many*?")
    mock.add(model, Reply(tool_calls=[call], usage=usage), prompt="Say it")
    mock.add(model, Reply("I said it", usage=usage), turn=2)
    mock.set(model, Reply("It is done", usage=usage), prompt="Again")
    for text in ("Yes", "No", "Yes"):
        mock.add(model, Reply(text, usage=usage), prompt="Once more")
    mock.set(model, Reply(error=ConnectionError("down")), prompt="Break")


def test_the_documents_of_suites(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    project.write("role.yaml", ROLE)
    project.write("tests.yaml", SUITE)
    script(mock_llm_responses)
    run_suite(project, "suite", "--max-cost", "0.0002")


VARIANTS = """
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: variants}
cases:
"""


def write_variants(project: Project, prompts: list[str]) -> None:
    """Write a suite of cases whose output must be `yes`."""
    lines = [
        f"  - {{name: {prompt}, prompt: {prompt}, assertions: [{{type: contains, value: 'yes', "
        "weight: 3, metric: tone}, {type: max_cost, value: 1}]}\n"
        for prompt in prompts
    ]
    project.write("tests.yaml", VARIANTS + "".join(lines))


def answer_variants(mock: ResponseConfigurator, answers: dict[str, str], tokens: int) -> None:
    for model, price in (("gpt-4o", 10), ("gpt-4o-mini", 1)):
        mock.set_price(model, price, price)
        for prompt, answer in answers.items():
            usage = {"input_tokens": tokens, "output_tokens": 5}
            mock.set(model, Reply(answer, usage=usage), prompt=prompt)


def test_the_documents_of_variants_against_a_baseline(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    models = ("--model", "gpt-4o", "--model", "gpt-4o-mini", "--repeat", "2")
    before = {"good": "yes", "bad": "no", "breaks": "yes", "mends": "no", "goes": "yes"}
    answer_variants(mock_llm_responses, before, 10)
    write_variants(project, list(before))
    project.test("--output=before.json", *models)
    now = {"good": "yes", "bad": "no", "breaks": "no", "mends": "yes", "comes": "yes"}
    answer_variants(mock_llm_responses, now, 20)
    write_variants(project, list(now))
    run_suite(project, "variants", *models, "--baseline", "before.json")


def test_the_documents_of_a_dry_run_with_skipped_checks(project: Project) -> None:
    project.write_cases(
        "  - {name: cheap, prompt: Hi, assertions: [{type: max_cost, value: 1}]}\n"
        "  - {name: kind, prompt: Hi, expected_output: 'Oh.', assertions: "
        "[{type: max_cost, value: 1}, {type: contains, value: Hello}]}\n"
    )
    run_suite(project, "dry", "--dry-run")


def test_the_documents_of_an_application_as_the_target(project: Project) -> None:
    project.write(
        "app.py",
        "import llm\n"
        "def answer(text):\n"
        "    return {'reply': llm.get_model('m').prompt(text, system='Be kind').text()}\n",
    )
    project.write(
        "tests.yaml",
        VARIANTS.replace("cases:", "target: {function: 'app.py:answer', output: reply}\ncases:")
        + "  - {name: asks, prompt: Hi, replies: [{model: m, text: Oh.}],"
        " assertions: [{type: contains, value: Hello}]}\n",
    )
    run_suite(project, "target", "--dry-run")


def test_variants_show_the_answers_that_were_checked_and_how_long_they_took(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5}
    for model in ("gpt-4o", "gpt-4o-mini"):
        mock_llm_responses.set_price(model, 1, 1)
        mock_llm_responses.set(model, Reply(data={"answer": "yes"}, usage=usage))
    project.write(
        "tests.yaml",
        f"{VARIANTS}  - {{name: kind, prompt: Hi, transform: answer,"
        " assertions: [{type: equals, value: 'yes'}]}\n",
    )
    outputs = [f"--output=out.{suffix}" for suffix in ("json", "md", "html")]
    # The second variant is not run, because the first one costs more.
    project.test(*outputs, "--model", "gpt-4o", "--model", "gpt-4o-mini", "--max-cost", "0.00001")
    first, second = read_page(Path("out.html"))["tests"]
    assert (first["answer"], "answer" in second) == ("yes", False)
    suites = json.loads(Path("out.json").read_bytes())["suites"]
    [turn] = suites[0]["cases"][0]["attempts"][0]["turns"]
    [call] = first["calls"]
    assert call["response"]["duration_ms"] == round(turn["duration_s"] * 1000, 3)
    [times] = re.findall(r"\*\*Time per case\*\*(.*)", Path("out.md").read_text("utf-8"))
    assert re.fullmatch(r" \| [\d.]+m?s \|  \|", times)


def test_a_dry_run_is_not_compared_in_cost_and_time_with_a_live_one(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("gpt-4o-mini", "Hello")
    project.test("--output=live.json")
    output = project.dry("--baseline", "live.json").stdout
    end = "; cost and time are not compared, as this run is dry and that one was live\n"
    assert end in output


@pytest.mark.parametrize(
    ("counts", "good"),
    [
        ({"passed": 0, "failed": 0}, False),
        ({"passed": 1, "failed": 0}, True),
        ({"passed": 1, "failed": 1}, False),
    ],
)
def test_a_suite_of_which_nothing_was_checked_is_not_good(
    counts: dict[str, int], good: bool
) -> None:
    assert is_good({**counts, "min_score": None, "score": None}) is good


def test_a_call_from_outside_of_the_project_has_no_place() -> None:
    call = {"number": 1, "model_id": "gpt-4o", "place": ""}
    change = {"call": call, "noticed": False, "change": "the text", "advice": "Check it."}
    test = {"id": "a.py::test", "not_changed": "", "noticed": 0, "changes": [change]}
    table = format_table(new_document([{**test, "unchanged_calls": 0}], [], None))
    assert "  call 1 to gpt-4o, not noticed:" in table.splitlines()


def test_a_comparison_without_any_suite_is_not_good(project: Project) -> None:
    project.dry("--output=before.json")
    project.write("tests.yaml", "cases: 3")
    assert project.dry("--baseline", "before.json", "--output=out.md").exit_code == 1
    text = Path("out.md").read_text("utf-8")
    assert text.startswith("### ❌ Error\n\n<pre>\ntests.yaml:1: ")
    assert text.endswith("### ❌ No suite was compared with <code>before&#46;json</code>\n\n")


def test_the_json_has_a_line_for_each_item_and_no_number_that_json_lacks() -> None:
    document = {
        "tests": [{"é": 1}, {"cost": float("inf"), "é": float("nan")}],
        "none": [],
        "least": float("-inf"),
        "half": "\ud800",
    }
    assert render_json(document).decode() == (
        '{\n  "tests": [\n    {"é": 1},\n    {"cost": "inf", "é": "nan"}\n  ],\n'
        '  "none": [],\n  "least": "-inf",\n  "half": "\\ud800"\n}\n'
    )
