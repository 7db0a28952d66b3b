"""Patched functions and methods of SDKs are recognized, and what they say of calls."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock import LLMMock
from llm_mock.migrate.file import FileResult, rewrite_file

COMPLETION = 'Mock(choices=[Mock(message=Mock(content="Hi"))])'
MESSAGE = 'Mock(content=[Mock(text="Hi")])'
APPLICATION = """
import litellm
from litellm import completion
from openai.resources.chat.completions import Completions
"""
OLD = """
import litellm
import app
from litellm.utils import Choices, Delta, Message, ModelResponse
from litellm.types.utils import ChatCompletionMessageToolCall, Function, Usage
from litellm import ModelResponseStream, StreamingChoices
from unittest.mock import AsyncMock, Mock, patch

def test_it():
    with patch({patch}) as call:
        {lines}
        app.run()
    {after}
"""


def rewrite(folder: Path, source: str, application: str = APPLICATION) -> FileResult:
    (folder / "app.py").write_text(application)
    path = folder / "test_app.py"
    return rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)


def migrate(
    folder: Path,
    patch: str,
    lines: str = "pass",
    after: str = "pass",
    application: str = APPLICATION,
) -> tuple[str, str]:
    """Return the body of the new test, and the reason if it is left."""
    source = OLD.format(patch=patch, lines=lines, after=after)
    result = rewrite(folder, source, application)
    reasons = [f"{change.reason}. {change.advice}" for change in result.manual_changes]
    body = [line.strip() for line in result.after.partition("def ")[2].splitlines()[1:]]
    return "\n".join(line for line in body if line not in ("pass", "app.run()")), "".join(reasons)


@pytest.mark.parametrize(
    ("target", "response"),
    [
        ("app.completion", COMPLETION),
        ("app.litellm.completion", COMPLETION),
        ("litellm.completion", COMPLETION),
        ("litellm.acompletion", COMPLETION),
        ("app.Completions.create", COMPLETION),
        ("openai.resources.chat.Completions.create", COMPLETION),
        ("openai.resources.chat.AsyncCompletions.parse", COMPLETION),
        ("openai.resources.chat.completions.Completions.create", COMPLETION),
        ("openai.resources.chat.completions.AsyncCompletions.create", COMPLETION),
        ("openai.resources.chat.completions.Completions.parse", COMPLETION),
        ("openai.resources.chat.completions.AsyncCompletions.parse", COMPLETION),
        ("openai.resources.chat.completions.completions.Completions.create", COMPLETION),
        ("openai.resources.chat.completions.completions.AsyncCompletions.create", COMPLETION),
        ("openai.resources.chat.completions.completions.Completions.parse", COMPLETION),
        ("openai.resources.chat.completions.completions.AsyncCompletions.parse", COMPLETION),
        ("anthropic.resources.Messages.create", MESSAGE),
        ("anthropic.resources.AsyncMessages.create", MESSAGE),
        ("anthropic.resources.messages.Messages.create", MESSAGE),
        ("anthropic.resources.messages.AsyncMessages.create", MESSAGE),
        ("anthropic.resources.messages.messages.Messages.create", MESSAGE),
        ("anthropic.resources.messages.messages.AsyncMessages.create", MESSAGE),
    ],
)
def test_a_function_is_recognized(tmp_path: Path, target: str, response: str) -> None:
    new = migrate(tmp_path, f'"{target}", return_value={response}')
    assert new == ('mock_llm_responses.set("*", "Hi")', "")


@pytest.mark.parametrize("module", ["openai.resources", "openai.resources.embeddings"])
@pytest.mark.parametrize("name", ["Embeddings", "AsyncEmbeddings"])
def test_the_method_for_vectors_is_recognized(tmp_path: Path, module: str, name: str) -> None:
    target = f"{module}.{name}.create"
    new = migrate(tmp_path, f'"{target}", return_value=Mock(data=[Mock(embedding=[1.0])])')
    answer = '{"data": [{"index": 0, "embedding": [1.0]}]}'
    assert new == (f'mock_llm_responses.on("POST", "/**/embeddings", {answer})', "")


@pytest.mark.parametrize(
    "target",
    [
        "app.run",
        "litellm.embedding",
        "openai.resources.Completions.create",
        "openai.resources.completions.Completions.create",
        "anthropic.resources.messages.Messages.count_tokens",
    ],
)
def test_another_function_is_left_alone(tmp_path: Path, target: str) -> None:
    body, reason = migrate(tmp_path, f'"{target}", return_value={COMPLETION}')
    assert (f'with patch("{target}"' in body, reason) == (True, "")


@pytest.mark.parametrize(
    "replacement",
    [
        f"AsyncMock(return_value={COMPLETION})",
        f"return_value={COMPLETION}",
        f"new_callable=AsyncMock, return_value={COMPLETION}",
    ],
)
def test_a_function_that_is_awaited(tmp_path: Path, replacement: str) -> None:
    new = migrate(tmp_path, f'"litellm.acompletion", {replacement}')
    assert new == ('mock_llm_responses.set("*", "Hi")', "")


@pytest.mark.parametrize("target", ["litellm.completion", "app.Completions.create"])
def test_an_awaited_mock_of_a_function_that_is_not_async(tmp_path: Path, target: str) -> None:
    patch = f'"{target}", new_callable=AsyncMock, return_value={COMPLETION}'
    reason = "create() of a synchronous client is awaited. Use the asynchronous client in the"
    assert migrate(tmp_path, patch)[1] == f"{reason} application, and patch it instead."


def test_another_factory_is_left(tmp_path: Path) -> None:
    patch = f'"litellm.completion", new_callable=list, return_value={COMPLETION}'
    reason = migrate(tmp_path, patch)[1]
    assert reason.startswith("new_callable= is not supported. ")


TOOL_CALL = """ChatCompletionMessageToolCall(
            id="call_1", type="function", function=Function(name="f", arguments="{}")
        )"""
BROKEN_CALL = TOOL_CALL.replace('"{}"', """'{"a"'""")
STREAM = 'StreamingChoices(delta=Delta(content="H", role="assistant"), index=0{})'


@pytest.mark.parametrize(
    ("response", "reply"),
    [
        ('ModelResponse(choices=[Choices(message=Message(content="Hi"))], model="m")', '"Hi"'),
        ('litellm.ModelResponse(choices=[{"message": {"content": "Hi"}}])', '"Hi"'),
        (
            'ModelResponse(choices=[Choices(message=Message(content="Hi"))], '
            "usage=Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3))",
            'Reply("Hi", usage={"input": 1, "output": 2})',
        ),
        (
            'ModelResponse(choices=[Choices(message=Message(content="Hi"))], '
            'usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3})',
            'Reply("Hi", usage={"input": 1, "output": 2})',
        ),
        (
            f"ModelResponse(choices=[Choices(message=Message(tool_calls=[{TOOL_CALL}]))])",
            'Reply(tool_calls=[ToolCall("f", "{}", "call_1")])',
        ),
        (
            'ModelResponse(choices=[Choices(message={"content": "Hi", "reasoning": "Hm", '
            '"reasoning_content": "Hm"})])',
            'Reply("Hi", reasoning="Hm")',
        ),
        (
            'ModelResponse(choices=[Choices(message=Message(content="Hi", reasoning="Hm"))])',
            'Reply("Hi", reasoning="Hm")',
        ),
        (
            f"ModelResponse(choices=[Choices(message=Message(tool_calls=[{BROKEN_CALL}]))])",
            """Reply(tool_calls=[BrokenToolCall("f", '{"a"', "call_1")])""",
        ),
        (f"[ModelResponseStream(choices=[{STREAM.format('')}])]", 'Reply(chunks=["H"])'),
        (
            f'iter([Mock(choices=[{STREAM.format(", finish_reason=END")}], id="1")] * 2)',
            'Reply(chunks=["H", "H"], finish_reason=END)',
        ),
        (
            f"[Mock(choices=[{STREAM.format('')}]), Mock(choices=[], usage="
            '{"prompt_tokens": 1, "completion_tokens": 2})]',
            'Reply(chunks=["H"], usage={"input": 1, "output": 2})',
        ),
    ],
    ids=str,
)
def test_a_response_of_litellm(tmp_path: Path, response: str, reply: str) -> None:
    new = migrate(tmp_path, f'"litellm.completion", return_value={response}')
    assert new == (f'mock_llm_responses.set("*", {reply})', "")


END = '{"delta": {"content": "Hi"}, "finish_reason": "length"}'
OTHER_END = '{"delta": {"content": "Hi"}, "finish_reason": "content_filter"}'
SEE_REPLY = (
    "Configure a Reply with arguments such as text, tool_calls, usage and finish_reason: "
    'mock_llm_responses.set("*", Reply(…)).'
)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (
            f"[Mock(choices=[{END}]), Mock(choices=[{OTHER_END}])]",
            'the chunks of the response contradict each other: finish_reason="length", '
            'finish_reason="content_filter". '
            "Set the finish reason and the usage only in the last chunk, then run the command "
            "again.",
        ),
        ("[Mock(), Mock()]", f"the chunks of the response have no text. {SEE_REPLY}"),
        (
            "[Mock(choices=[Mock(message=Mock(content='Hi'))])]",
            f"the mock of a choice of a chunk has the attribute message. {SEE_REPLY}",
        ),
        (
            "[Mock(choices=[Mock(delta=Mock(tool_calls=[1]))])]",
            f"the mock of a delta has the attribute tool_calls. {SEE_REPLY}",
        ),
        ("[Mock(text='Hi')]", f"the mock of a chunk has the attribute text. {SEE_REPLY}"),
        (
            "Mock(choices=[{'message': {'content': 'Hi', **MORE}}])",
            f"the message is {{'content': 'Hi', **MORE}}, which is not a mock. {SEE_REPLY}",
        ),
        (
            "Mock(choices=[{'message': {KEY: 'Hi'}}])",
            f"the message is {{KEY: 'Hi'}}, which is not a mock. {SEE_REPLY}",
        ),
        (
            "Mock(choices=[{'message': 5}])",
            f"the message is 5, which is not a mock. {SEE_REPLY}",
        ),
        (
            "Mock(choices=[{}, 5])",
            f"choices ([{{}}, 5]) is not a literal list of mocks. {SEE_REPLY}",
        ),
        (
            "litellm.completion(choices=[])",
            "the mock returns litellm.completion(choices=[]), which is not a response. "
            f"{SEE_REPLY}",
        ),
    ],
    ids=str,
)
def test_a_response_that_is_left(tmp_path: Path, response: str, reason: str) -> None:
    assert migrate(tmp_path, f'"litellm.completion", return_value={response}')[1] == reason


def test_chunks_of_another_sdk_are_left(tmp_path: Path) -> None:
    patch = '"anthropic.resources.messages.Messages.create", return_value=[Mock(text="Hi")]'
    reason = f"the mock returns several mocks, which is not a response. {SEE_REPLY}"
    assert migrate(tmp_path, patch)[1] == reason


@pytest.mark.parametrize("name", ["messages", "temperature", "max_tokens", "top_p", "tools"])
@pytest.mark.parametrize("arguments", ["kwargs", "call_args_list"])
def test_an_argument_that_litellm_sends(tmp_path: Path, name: str, arguments: str) -> None:
    old, new = {
        "kwargs": ("call_args.kwargs", "last_call"),
        "call_args_list": ("call_args_list[0][1]", "calls[0]"),
    }[arguments]
    patch = f'"litellm.completion", return_value={COMPLETION}'
    body, reason = migrate(tmp_path, patch, after=f'assert call.{old}["{name}"] == 1')
    statement = f'assert mock_llm_calls.{new}.request.body["{name}"] == 1'
    assert (body.splitlines()[-1], reason) == (statement, "")


@pytest.mark.parametrize(
    ("assertion", "new"),
    [
        ('assert {}["extra_body"]["seed"] == 1', 'assert {}["seed"] == 1'),
        ('assert {}["extra_body"].get("seed") == 1', 'assert {}.get("seed") == 1'),
        ('assert "seed" in {}["extra_body"]', 'assert "seed" in {}'),
    ],
)
def test_what_the_sdk_puts_into_the_body(tmp_path: Path, assertion: str, new: str) -> None:
    after = assertion.format("call.call_args.kwargs")
    patch = f'"app.Completions.create", return_value={COMPLETION}'
    body, reason = migrate(tmp_path, patch, after=after)
    statement = new.format("mock_llm_calls.last_call.request.body")
    assert (body.splitlines()[-1], reason) == (statement, "")


def test_all_arguments_are_compared(tmp_path: Path) -> None:
    patch = f'"app.Completions.create", return_value={COMPLETION}'
    body, reason = migrate(tmp_path, patch, after='assert call.call_args.kwargs == {"seed": 1}')
    statement = 'assert mock_llm_calls.last_call.request.body == {"seed": 1}'
    assert (body.splitlines()[-1], reason) == (statement, "")
    patch = f'"litellm.completion", return_value={COMPLETION}'
    assert migrate(tmp_path, patch, after='assert call.call_args.kwargs == {"seed": 1}')[1]


@pytest.mark.parametrize(
    ("assertion", "new"),
    [
        ('assert {}["extra_body"] == {{"think": False}}', 'assert {} == {{"think": False}}'),
        ('assert {}.get("extra_body") == {{"think": 1}}', 'assert {} == {{"think": 1}}'),
        ('assert "extra_body" not in {}', "assert {} == {{}}"),
        ('assert "extra_body" in {}', "assert {} != {{}}"),
        ('assert {}.get("extra_body") is None', "assert {} == {{}}"),
        ('assert {}["extra_body"] is not None', "assert {} != {{}}"),
        ('assert {}["extra_body"] != None', "assert {} != {{}}"),
    ],
)
def test_the_extra_body_itself(tmp_path: Path, assertion: str, new: str) -> None:
    patch = f'"app.Completions.create", return_value={COMPLETION}'
    after = assertion.format("call.call_args.kwargs")
    body, reason = migrate(tmp_path, patch, after=after)
    statement = new.format("mock_llm_calls.last_call.request.extra_body")
    assert (body.splitlines()[-1], reason) == (statement, "")


@pytest.mark.parametrize(
    "assertion",
    [
        'assert {0}["extra_body"] != {{"seed": 1}}',
        'assert {0}["extra_body"] == {0}["metadata"]',
        'assert {0}.get("extra_body", default) == default',
        'assert not {0}["extra_body"]',
        'self.assertIn("extra_body", {0})',
        'assert len({0}["extra_body"]) == 1',
    ],
)
def test_other_uses_of_the_extra_body_are_left(tmp_path: Path, assertion: str) -> None:
    patch = f'"app.Completions.create", return_value={COMPLETION}'
    assert migrate(tmp_path, patch, after=assertion.format("call.call_args.kwargs"))[1]


@pytest.mark.parametrize("assertion", ['["extra_body"] == {}', '.get("extra_body") is None'])
def test_the_extra_body_of_litellm_is_left(tmp_path: Path, assertion: str) -> None:
    patch = f'"litellm.completion", return_value={COMPLETION}'
    assert migrate(tmp_path, patch, after=f"assert call.call_args.kwargs{assertion}")[1]


@pytest.mark.parametrize(
    ("assertion", "new"),
    [
        ("assert call.call_args is not None", "assert mock_llm_calls.calls != []"),
        ("assert call.call_args is None", "assert mock_llm_calls.calls == []"),
        ("calls = call.call_args_list\n    assert calls", "assert mock_llm_calls.calls"),
        ("calls = call.call_args_list\n    assert not calls", "assert not mock_llm_calls.calls"),
    ],
)
def test_whether_there_was_a_call(tmp_path: Path, assertion: str, new: str) -> None:
    patch = f'"app.Completions.create", return_value={COMPLETION}'
    body, reason = migrate(tmp_path, patch, after=assertion)
    assert (body.splitlines()[-1], reason) == (new, "")
    patch = f'"litellm.acompletion", new_callable=AsyncMock, return_value={COMPLETION}'
    body, reason = migrate(tmp_path, patch, after=assertion.replace("call_args", "await_args"))
    assert (body.splitlines()[-1], reason) == (new, "")


@pytest.mark.parametrize(
    "assertion",
    ["call.call_args == None", "call.call_args is other", "call.call_args_list[0] is None"],
)
def test_other_comparisons_of_a_call_are_left(tmp_path: Path, assertion: str) -> None:
    patch = f'"app.Completions.create", return_value={COMPLETION}'
    assert migrate(tmp_path, patch, after=f"assert {assertion}")[1]


def test_a_name_for_the_arguments_of_litellm(tmp_path: Path) -> None:
    patch = f'"litellm.completion", return_value={COMPLETION}'
    lines = "app.run(); _, options = call.call_args; assert options['tool_choice'] == 1"
    body = migrate(tmp_path, patch, after=lines.replace("; ", "\n    "))[0]
    line = 'assert mock_llm_calls.last_call.request.body["tool_choice"] == 1'
    assert body.splitlines()[-1] == line


@pytest.mark.parametrize(
    ("assertion", "read"),
    [
        ('assert call.call_args.kwargs["model"] == "a/b"', 'call.call_args.kwargs["model"]'),
        ('assert "tools" not in call.call_args.kwargs', '"tools" not in call.call_args.kwargs'),
        ('assert call.call_args.kwargs.get("tools")', 'call.call_args.kwargs.get("tools")'),
        ('call.assert_called_with(model="a/b")', 'call.assert_called_with(model="a/b")'),
        (
            'assert [each.kwargs["model"] for each in call.call_args_list]',
            'each.kwargs["model"]',
        ),
    ],
)
def test_an_argument_that_litellm_may_not_send(tmp_path: Path, assertion: str, read: str) -> None:
    patch = f'"litellm.completion", return_value={COMPLETION}'
    assert migrate(tmp_path, patch, after=assertion)[1] == (
        f"litellm may change or drop the argument in {read}. Assert on the request: "
        "mock_llm_calls.last_call.model has the model without its provider, "
        "mock_llm_calls.last_call.request.body the rest."
    )


@pytest.mark.parametrize("effect", ["ValueError('no')", "[Mock(), ValueError('no')]"])
def test_an_error_of_litellm_is_left(tmp_path: Path, effect: str) -> None:
    effect = effect.replace("Mock()", COMPLETION)
    assert migrate(tmp_path, f'"litellm.completion", side_effect={effect}')[1] == (
        "the mock raises ValueError('no'), but litellm creates its errors from the provider's "
        "response. Configure the provider's error: `from llm_mock import templates` and "
        'mock_llm_responses.set_error("*", templates.rate_limit()).'
    )


@pytest.mark.parametrize(
    ("error", "template"),
    [
        ("litellm.exceptions.APIConnectionError('no', 'openai', 'm')", "no_connection"),
        ("litellm.AuthenticationError('no', 'openai', 'm')", "authentication"),
        ("litellm.ContextWindowExceededError('no', 'm', 'openai')", "context_overflow"),
        ("litellm.InternalServerError('no', 'openai', 'm')", "server_error"),
        ("litellm.ServiceUnavailableError('no', 'openai', 'm')", "overloaded"),
        ("litellm.RateLimitError('no', 'openai', 'm')", "rate_limit"),
        ("litellm.RateLimitError", "rate_limit"),
        ("litellm.Timeout('no', 'm', 'openai')", "timeout"),
    ],
)
def test_an_error_that_litellm_makes_of_a_refusal(
    tmp_path: Path, error: str, template: str
) -> None:
    new = migrate(tmp_path, f'"litellm.completion", side_effect={error}')
    assert new == (f'mock_llm_responses.set_error("*", templates.{template}())', "")
    effects = f"[{error}, {COMPLETION}]"
    body, reason = migrate(tmp_path, f'"litellm.completion", side_effect={effects}')
    added = f'mock_llm_responses.add("*", templates.{template}())'
    assert (body.splitlines(), reason) == ([added, 'mock_llm_responses.add("*", "Hi")'], "")


def test_the_template_of_an_error_is_imported(tmp_path: Path) -> None:
    patch = '"litellm.completion", side_effect=litellm.Timeout("no", "m", "openai")'
    source = OLD.format(patch=patch, lines="pass", after="pass")
    assert "from llm_mock import templates\n" in rewrite(tmp_path, source).after
    taken = source.replace("import app", "import app\nimport templates")
    new = rewrite(tmp_path, taken).after
    assert "import llm_mock\n" in new
    assert 'set_error("*", llm_mock.templates.timeout())' in new
    without_module = taken.replace("import app", "import app\nllm_mock = 5")
    assert rewrite(tmp_path, without_module).after == without_module


CALLS = """Mock(choices=[Mock(message=Mock(content="Hi", tool_calls=[
            Mock(id="1", function=SimpleNamespace(name="f", arguments="{}"))]))])"""


@pytest.mark.parametrize(
    ("taken", "reply"),
    [
        ("", 'Reply("Hi", tool_calls=[ToolCall("f", "{}", "1")])'),
        ("class ToolCall: ...", 'Reply("Hi", tool_calls=[llm_mock.ToolCall("f", "{}", "1")])'),
        ("from a import Reply", 'llm_mock.Reply("Hi", tool_calls=[ToolCall("f", "{}", "1")])'),
    ],
)
def test_names_of_the_file_keep_their_meaning(tmp_path: Path, taken: str, reply: str) -> None:
    source = OLD.format(
        patch=f'"litellm.completion", return_value={CALLS}', lines="pass", after="pass"
    )
    head = f"import app\nfrom types import SimpleNamespace\n{taken}\nprint(Reply, ToolCall)"
    source = source.replace("import app", head if taken else head.rpartition("\n")[0])
    result = rewrite(tmp_path, source)
    assert f'mock_llm_responses.set("*", {reply})' in result.after
    assert ("import llm_mock\n" in result.after) == bool(taken)


def test_what_a_test_sets_of_the_method_itself_is_nothing_of_the_client(tmp_path: Path) -> None:
    lines = [
        "create = call.return_value.chat.completions.create",
        "create.__name__ = 'create'",
        f"create.return_value = {COMPLETION}",
    ]
    new = migrate(tmp_path, '"openai.OpenAI"', "\n        ".join(lines))
    assert new == ('mock_llm_responses.set("*", "Hi")', "")


def test_a_library_of_which_the_file_imports_a_part(tmp_path: Path) -> None:
    source = """
import app
from openai.types import Model
from unittest.mock import Mock

def test_it():
    client = Mock()
    client.chat.completions.create.return_value.choices = [Mock(message=Mock(content="Hi"))]
    assert app.run(client) == "Hi"
    assert Model
"""
    result = rewrite(tmp_path, source, "from openai import OpenAI\n")
    assert "client = openai.OpenAI()" in result.after
    assert "\nimport openai\n" in result.after


@pytest.mark.parametrize(
    ("target", "response", "reply"),
    [
        ("litellm.completion", '{"choices": [{"message": {"content": "Hi"}}]}', '"Hi"'),
        ("app.Completions.create", '{"choices": [{"message": {"content": "Hi"}}]}', '"Hi"'),
        ("app.Responses.create", '{"output_text": "Hi", "metadata": {}}', '"Hi"'),
        ("app.Messages.create", '{"content": [{"type": "text", "text": "Hi"}]}', '"Hi"'),
    ],
)
def test_a_response_that_is_a_dict(tmp_path: Path, target: str, response: str, reply: str) -> None:
    application = (
        f"{APPLICATION}from openai.resources.responses import Responses\n"
        "from anthropic.resources.messages import Messages\n"
    )
    new = migrate(tmp_path, f'"{target}", return_value={response}', application=application)
    assert new == (f'mock_llm_responses.set("*", {reply})', "")


@pytest.mark.parametrize(
    "name",
    [
        "billing",
        "created_at",
        "id",
        "instructions",
        "max_output_tokens",
        "metadata",
        "model",
        "object",
        "parallel_tool_calls",
        "previous_response_id",
        "reasoning",
        "store",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_p",
        "truncation",
    ],
)
def test_what_a_response_repeats_is_no_part_of_the_reply(tmp_path: Path, name: str) -> None:
    application = f"{APPLICATION}from openai.resources.responses import Responses\n"
    response = f'Mock(output_text="Hi", {name}="any")'
    patch = f'"app.Responses.create", return_value={response}'
    new = migrate(tmp_path, patch, application=application)
    assert new == ('mock_llm_responses.set("*", "Hi")', "")


RESPONSE = 'response = {"choices": [{"message": {"content": "Hi"}}]}'


@pytest.mark.parametrize(
    ("change", "is_known"),
    [
        ("print(response)", True),
        ("other = {}; other['id'] = 5", True),
        ("other = []; other.append(5)", True),
        ("response['id'] = 5", False),
        ("response.update(id=5)", False),
        ("response = {}", False),
    ],
)
def test_a_name_of_a_dict_that_is_changed_is_left(
    tmp_path: Path, change: str, is_known: bool
) -> None:
    lines = [RESPONSE, *change.split("; "), "call.return_value = response"]
    body, reason = migrate(tmp_path, '"litellm.completion"', "\n        ".join(lines))
    assert ('mock_llm_responses.set("*", "Hi")' in body) == is_known
    assert ("the mock returns response, which is not a response" in reason) != is_known


WITH_ID = '{"id": "r1", "choices": [{"message": {"content": "Hi"}}]}'
TEST_OF_ID = """
from unittest.mock import patch
import app

RESPONSE = {response}

def test_it():
    {line}
    with patch("litellm.completion", return_value={value}):
        app.run()
    assert app.last == {expected}
"""


@pytest.mark.parametrize(
    ("line", "value", "expected", "reply"),
    [
        ("pass", WITH_ID, "'r1'", f"Reply(body={WITH_ID})"),
        ("pass", WITH_ID, "'r2'", '"Hi"'),
        (f"response = {WITH_ID}", "response", "'r1'", "Reply(body=response)"),
        (f"response = {WITH_ID}", "response", "'r2'", '"Hi"'),
        ("pass", "RESPONSE", "'r1'", "Reply(body=RESPONSE)"),
        ("pass", "RESPONSE", "'r2'", '"Hi"'),
        ("pass", WITH_ID.replace('"r1"', "5"), "5", '"Hi"'),
    ],
)
def test_a_response_whose_id_is_asserted_is_sent_as_it_is(
    tmp_path: Path, line: str, value: str, expected: str, reply: str
) -> None:
    source = TEST_OF_ID.format(response=WITH_ID, line=line, value=value, expected=expected)
    result = rewrite(tmp_path, source)
    assert result.manual_changes == ()
    assert f'    mock_llm_responses.set("*", {reply})\n' in result.after


NO_REPLY = (
    "no reply is configured, so the model replies with another Mock. Configure one: "
    'mock_llm_responses.set("*", reply).'
)


ANY_REPLY = """\
# The old mock returned another mock. Replace this text if the application parses it.
mock_llm_responses.set("*", "Hello")
"""


@pytest.mark.parametrize(
    ("target", "method"),
    [
        ("litellm.completion", "call"),
        ("openai.OpenAI", "call.return_value.chat.completions.create"),
    ],
)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{}.assert_called()", "assert mock_llm_calls.calls"),
        ("assert {}.call_count", "assert len(mock_llm_calls.calls)"),
        ("assert {}.called", "assert mock_llm_calls.calls"),
    ],
)
@pytest.mark.parametrize(
    "response", ["", ".return_value = Mock()", ".return_value = Mock(id=None)"]
)
def test_calls_that_get_a_mock_get_any_reply(
    tmp_path: Path, target: str, method: str, old: str, new: str, response: str
) -> None:
    line = f"{method}{response}" if response else "pass"
    after = old.format(method)
    assert migrate(tmp_path, f'"{target}"', line, after) == (f"{ANY_REPLY}{new}", "")


def test_any_reply_is_configured_where_the_old_mock_was(tmp_path: Path) -> None:
    lines = f"app.start()\n        {CREATE_METHOD}.return_value = Mock()"
    new = migrate(tmp_path, '"openai.OpenAI"', lines, f"{CREATE_METHOD}.assert_called()")
    assert new == (f"app.start()\n{ANY_REPLY}assert mock_llm_calls.calls", "")


def test_any_reply_is_configured_above_a_block_that_stays(tmp_path: Path) -> None:
    source = OLD.format(
        patch='"openai.OpenAI") as call, patch("app.convert"',
        lines=f"{CREATE_METHOD}.return_value = Mock()",
        after=f"{CREATE_METHOD}.assert_called_once()",
    ).replace(") as call:\n", "):\n")
    body = rewrite(tmp_path, source).after.partition("def test_it")[2]
    reply = 'mock_llm_responses.set("*", "Hello")'
    assert body.index(reply) < body.index('with patch("app.convert"):') < body.index("app.run()")


@pytest.mark.parametrize(
    "lines",
    [
        'call.return_value.chat.completions.create.return_value.id = "1"',
        "call.return_value.messages.create.return_value.id = app.ID",
        "call.return_value.embeddings.create.return_value = Mock()",
    ],
)
def test_calls_that_get_more_than_a_mock_are_left(tmp_path: Path, lines: str) -> None:
    method = lines.partition(".create")[0] + ".create"
    _, reason = migrate(tmp_path, '"openai.OpenAI"', lines, f"{method}.assert_called()")
    assert reason == NO_REPLY


@pytest.mark.parametrize(
    ("patch", "line"),
    [
        ('"openai.OpenAI"', "create.side_effect = lambda **options: Mock()"),
        # Nothing says whether the application needs a reply of the other client.
        ('"anthropic.Anthropic"), patch("openai.OpenAI"', "pass"),
    ],
)
def test_calls_that_may_need_more_than_a_mock_are_left(
    tmp_path: Path, patch: str, line: str
) -> None:
    lines = line.replace("create", CREATE_METHOD)
    assert migrate(tmp_path, patch, lines, f"{CREATE_METHOD}.assert_called()")[1] == NO_REPLY


@pytest.mark.parametrize(
    "patch",
    [
        '"litellm.completion"',
        '"anthropic.resources.messages.Messages.create", return_value=Mock(id="1")',
    ],
)
def test_a_function_without_a_reply_is_left(tmp_path: Path, patch: str) -> None:
    assert migrate(tmp_path, patch)[1] == NO_REPLY


@pytest.mark.parametrize(
    ("target", "method"),
    [
        ("litellm.completion", "call"),
        ("openai.OpenAI", "call.return_value.chat.completions.create"),
    ],
)
def test_no_call_needs_no_reply(tmp_path: Path, target: str, method: str) -> None:
    new = migrate(tmp_path, f'"{target}"', after=f"{method}.assert_not_called()")
    assert new == ("mock_llm_calls.assert_not_called()", "")


CREATE_METHOD = "call.return_value.chat.completions.create"
PARSE_METHOD = "call.return_value.chat.completions.parse"


@pytest.mark.parametrize("assertion", ["assert_not_called()", "assert_not_awaited()"])
@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("pass", f"{CREATE_METHOD}.assert_called_once()"),
        ("pass", f"assert {CREATE_METHOD}.call_args.kwargs['model'] == 'a'"),
        (f"{CREATE_METHOD}.return_value = {COMPLETION}", "pass"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_method_that_is_not_called_beside_another_one_is_left(
    tmp_path: Path, assertion: str, lines: str, after: str, is_first: bool
) -> None:
    silent = f"{PARSE_METHOD}.{assertion}"
    assertions = [silent, after] if is_first else [after, silent]
    _, reason = migrate(tmp_path, '"openai.OpenAI"', lines, "\n    ".join(assertions))
    expected = f"{silent} checks one method, but the test calls chat.completions.create. "
    assert reason.startswith(expected)


def test_two_methods_that_are_not_called(tmp_path: Path) -> None:
    after = f"{CREATE_METHOD}.assert_not_called()\n    {PARSE_METHOD}.assert_not_called()"
    body, reason = migrate(tmp_path, '"openai.OpenAI"', after=after)
    assert (set(body.splitlines()), reason) == ({"mock_llm_calls.assert_not_called()"}, "")


def test_a_method_that_is_called_later(tmp_path: Path) -> None:
    lines = (
        f"{CREATE_METHOD}.return_value = {COMPLETION}\n        {CREATE_METHOD}.assert_not_called()"
    )
    body, reason = migrate(
        tmp_path, '"openai.OpenAI"', lines, f"{CREATE_METHOD}.assert_called_once()"
    )
    assert "mock_llm_calls.assert_not_called()\n" in body
    assert reason == ""


def test_a_definition_that_another_one_uses_stays(tmp_path: Path) -> None:
    lines = "class A: ...", "class B: ...", "class C(B): ...", "def f(): return C", "f()"
    after = "\n    ".join(lines)
    body, _ = migrate(tmp_path, f'"litellm.completion", return_value={COMPLETION}', after=after)
    assert body.splitlines()[1:] == ["class B: ...", "class C(B): ...", "def f(): return C", "f()"]


CLASSES = """class Text:
            def __init__(self, content="default"):
                self.content = content
        class Falsy:
            def {method}(self):
                return 0
        class Choice:
            def __init__(self, message=None):
                self.message = {choice}
        call.return_value = Mock(choices=[Choice({argument})])"""


@pytest.mark.parametrize(
    ("choice", "argument", "text"),
    [
        ("message or Text()", "", '"default"'),
        ("message or Text()", "None", '"default"'),
        ("message or Text()", "Text('given')", "'given'"),
        ("message or Text()", "Mock(content='given')", "'given'"),
        ("message and Text()", "Text('given')", '"default"'),
        ("message or Text('other')", "[]", "'other'"),
        ("Text(message or 'other')", "", "'other'"),
        ("Text(message or 'other')", "TEXT", "TEXT or 'other'"),
    ],
)
def test_an_object_or_another_one(tmp_path: Path, choice: str, argument: str, text: str) -> None:
    lines = CLASSES.format(choice=choice, argument=argument, method="get")
    body, reason = migrate(tmp_path, '"litellm.completion"', lines)
    assert (body, reason) == (f'mock_llm_responses.set("*", {text})', "")


@pytest.mark.parametrize("method", ["__bool__", "__len__"])
def test_an_object_that_may_be_false(tmp_path: Path, method: str) -> None:
    lines = CLASSES.format(choice="message or Text()", argument="Falsy()", method=method)
    reason = migrate(tmp_path, '"litellm.completion"', lines)[1]
    assert reason.startswith(
        "this use of the mock message cannot be converted: message or Text(). "
    )


GENERATOR = """{decorator}def stream(*args{parameter}, **options):
            yield Mock(choices=[{{"delta": {{"content": "Hi"}}}}])
        call.side_effect = [stream({argument}), stream()]"""


@pytest.mark.parametrize(
    ("parameter", "argument"), [("", ""), ("", "stream=True"), (", text='a'", "text='b'")]
)
def test_generators_that_are_called(tmp_path: Path, parameter: str, argument: str) -> None:
    lines = GENERATOR.format(decorator="", parameter=parameter, argument=argument)
    new = migrate(tmp_path, '"litellm.completion"', lines)
    assert new == ('mock_llm_responses.add("*", Reply(chunks=["Hi"]), times=2)', "")


def test_a_generator_that_yields_behind_a_loop(tmp_path: Path) -> None:
    lines = """def stream(**options):
            for text in ["a", "b"]:
                yield Mock(choices=[{"delta": {"content": text}}])
            yield Mock(choices=[{"delta": {"content": "c"}}])
        call.side_effect = stream"""
    new = migrate(tmp_path, '"litellm.completion"', lines)
    assert new == ('mock_llm_responses.set("*", Reply(chunks=["a", "b", "c"]))', "")


@pytest.mark.parametrize(
    ("decorator", "argument", "reason"),
    [
        ("", "'a text'", "the arguments of stream are not literal. "),
        ("", "*texts", "the arguments of stream are not literal. "),
        ("@cached\n        ", "", "stream does more than make a mock: yield Mock("),
    ],
)
def test_generators_that_are_left(
    tmp_path: Path, decorator: str, argument: str, reason: str
) -> None:
    lines = GENERATOR.format(decorator=decorator, parameter="", argument=argument)
    assert migrate(tmp_path, '"litellm.completion"', lines)[1].startswith(reason)


def test_a_helper_that_reads_arguments_which_it_is_not_given(tmp_path: Path) -> None:
    completion = COMPLETION.replace('"Hi"', "'a' if args else 'b'")
    lines = f"""def new(*args):
            return {completion}
        call.return_value = new()"""
    statement = """mock_llm_responses.set("*", 'a' if () else 'b')"""
    assert migrate(tmp_path, '"litellm.completion"', lines) == (statement, "")


SEE_CLIENT = (
    "The new test uses a real client: assert on its attributes, such as client.base_url and "
    "client.api_key."
)
SEE_RESULT = "Assert on the result of the application, or on mock_llm_calls.calls."
SEE_CALLS = (
    "mock_llm_calls.calls has every call: prompt, model_id, "
    "kwargs (system, schema, tools), options."
)
CREATE = "call.return_value.chat.completions.create.return_value"


@pytest.mark.parametrize(
    ("assertion", "advice"),
    [
        ("call.return_value.models.list.assert_called_once()", SEE_RESULT),
        ("assert call.return_value.models.list.call_count == 1", SEE_CALLS),
    ],
)
def test_assertions_on_a_client(tmp_path: Path, assertion: str, advice: str) -> None:
    lines = f"{CREATE} = {COMPLETION}"
    reason = migrate(tmp_path, '"openai.OpenAI"', lines, assertion)[1]
    assert reason.endswith(f"an object that llm_mock does not replace. {advice}")


@pytest.mark.parametrize(
    "assertion",
    [
        "call.assert_called_once()",
        "assert call.call_args.kwargs['api_key'] == 'a'",
        "if call.called: print(call.call_count)",
    ],
)
def test_a_class_whose_calls_are_checked_is_wrapped(tmp_path: Path, assertion: str) -> None:
    lines = f"{CREATE} = {COMPLETION}"
    result = rewrite(tmp_path, OLD.format(patch='"openai.OpenAI"', lines=lines, after=assertion))
    assert 'patch("openai.OpenAI", wraps=openai.OpenAI) as call:' in result.after
    assert assertion in result.after
    assert "import openai" in result.after


@pytest.mark.parametrize(
    ("patch", "after", "reason"),
    [
        ('"openai.OpenAI", new=Mock()', "call.assert_called_once()", SEE_CLIENT),
        ('"openai.OpenAI", spec=True', "assert call.called", SEE_CLIENT),
        ('"openai.OpenAI"', "assert call.mock_calls; assert call.called", SEE_CALLS),
        ('"openai.OpenAI"', "assert call.called, call", SEE_CALLS),
    ],
)
def test_a_class_that_is_used_otherwise_is_left(
    tmp_path: Path, patch: str, after: str, reason: str
) -> None:
    lines = f"{CREATE} = {COMPLETION}"
    assert migrate(tmp_path, patch, lines, after)[1].endswith(reason)


def test_a_class_is_not_wrapped_where_its_library_has_another_meaning(tmp_path: Path) -> None:
    lines = f"{CREATE} = {COMPLETION}"
    old = OLD.format(patch='"app.OpenAI"', lines=lines, after="call.assert_called_once()")
    result = rewrite(tmp_path, f"{old}\nopenai = 5\n", "from openai import OpenAI")
    [change] = result.manual_changes
    assert (
        change.reason
        == "the new test needs openai, but this file uses the name openai for something else"
    )


def test_a_patch_that_wraps_something_else_is_left(tmp_path: Path) -> None:
    reason = migrate(tmp_path, '"openai.OpenAI", wraps=app.OpenAI')[1]
    assert reason.startswith("wraps= is not supported. ")
    assert migrate(tmp_path, '"openai.OpenAI", wraps=litellm.OpenAI')[1] == reason


SEE_CLIENT = "The new test uses the real client: configure it as the application does."
SEE_MODELS = (
    "The real client requests the list of models. Configure the response: "
    'mock_llm_responses.on("GET", "/**/models", {}).'
)


@pytest.mark.parametrize(
    ("target", "path", "advice"),
    [
        ("openai.OpenAI", "files.list", SEE_CLIENT),
        ("openai.OpenAI", "models.retrieve", SEE_CLIENT),
        ("openai.OpenAI", "models.list", SEE_MODELS.replace("{}", '{"data": [{"id": …}]}')),
        (
            "anthropic.AsyncAnthropic",
            "models.list",
            SEE_MODELS.replace("{}", '{"data": [{"id": …}]}'),
        ),
        (
            "google.genai.Client",
            "aio.models.list",
            SEE_MODELS.replace("{}", '{"models": [{"name": …}]}'),
        ),
    ],
)
def test_another_method_of_a_client(tmp_path: Path, target: str, path: str, advice: str) -> None:
    reason = migrate(tmp_path, f'"{target}"', f"call.return_value.{path}.return_value = []")[1]
    assert reason == f"the mock of a client has the attribute {path}. {advice}"


def test_the_advice_for_a_list_of_models_works(mock_llm_responses: LLMMock) -> None:
    openai = pytest.importorskip("openai")
    mock_llm_responses.on("GET", "/**/models", {"data": [{"id": "small"}]})
    assert [model.id for model in openai.OpenAI().models.list()] == ["small"]


CLIENT = """
import anthropic
import openai
from openai import AsyncOpenAI, OpenAI

client = OpenAI(api_key="a")
typed: OpenAI = OpenAI()
first = second = openai.OpenAI()
asynchronous = AsyncOpenAI()
claude = anthropic.Anthropic()
other = dict()
none = None
uncalled = OpenAI
counts = {}
counts["a"] = OpenAI()
"""


@pytest.mark.parametrize(
    ("target", "method"),
    [
        ("app.client", "call.chat.completions.create"),
        ("app.typed", "call.chat.completions.create"),
        ("app.first", "call.chat.completions.create"),
        ("app.second", "call.chat.completions.create"),
        ("app.asynchronous", "call.chat.completions.create"),
        ("service.client", "call.chat.completions.create"),
        ("service.app.client", "call.chat.completions.create"),
        ("app.client.chat", "call.completions.create"),
        ("app.client.chat.completions", "call.create"),
        ("app.client.chat.completions.create", "call"),
        ("app.client.beta.chat.completions.parse", "call"),
        ("service.app.client.chat.completions.create", "call"),
        ("app.claude", "call.messages.create"),
        ("app.claude.messages.create", "call"),
    ],
)
def test_a_client_of_a_module(tmp_path: Path, target: str, method: str) -> None:
    (tmp_path / "service.py").write_text("import app\nfrom app import client")
    response = MESSAGE if "claude" in target else COMPLETION
    lines = f"{method}.return_value = {response}"
    new = migrate(tmp_path, f'"{target}"', lines, application=CLIENT)
    assert new == ('mock_llm_responses.set("*", "Hi")', "")


@pytest.mark.parametrize(
    "target",
    [
        "app.other",
        "app.none",
        "app.uncalled",
        "app.counts",
        "app.client.models.list",
        "app.client.chat.comp",
        "elsewhere.client",
    ],
)
def test_another_object_of_a_module_is_left_alone(tmp_path: Path, target: str) -> None:
    lines = f"call.return_value = {COMPLETION}"
    body, reason = migrate(tmp_path, f'"{target}"', lines, application=CLIENT)
    assert (f'with patch("{target}") as call:' in body, reason) == (True, "")


def test_a_client_of_a_broken_module_is_left_alone(tmp_path: Path) -> None:
    lines = f"call.chat.completions.create.return_value = {COMPLETION}"
    body, reason = migrate(tmp_path, '"app.client"', lines, application="client = (")
    assert ('with patch("app.client") as call:' in body, reason) == (True, "")


def test_an_awaited_method_of_a_client_of_a_module(tmp_path: Path) -> None:
    target = "app.asynchronous.chat.completions.create"
    patch = f'"{target}", new_callable=AsyncMock, return_value={COMPLETION}'
    new = migrate(tmp_path, patch, application=CLIENT)
    assert new == ('mock_llm_responses.set("*", "Hi")', "")
    patch = patch.replace("asynchronous", "client")
    reason = migrate(tmp_path, patch, application=CLIENT)[1]
    assert reason.startswith("create() of a synchronous client is awaited. ")


@pytest.mark.parametrize(
    ("target", "is_left"),
    [
        ("app.client", False),
        ("app.client.chat", False),
        ("app.client.chat.completions.create", True),
    ],
)
def test_a_client_of_a_module_without_a_reply(tmp_path: Path, target: str, is_left: bool) -> None:
    reason = migrate(tmp_path, f'"{target}"', application=CLIENT)[1]
    assert reason == (NO_REPLY if is_left else "")


def test_a_name_may_stand_for_a_class_and_then_for_another_mock(tmp_path: Path) -> None:
    old = """\
from unittest.mock import patch
import app

def test_it():
    with patch("app.OpenAI") as mock:
        app.make()
        mock.assert_called_once()
    with patch("app.get_model") as mock:
        mock.return_value.prompt.return_value.text.return_value = "Hi"
        app.run()
        mock.assert_called_once_with("m")
"""
    result = rewrite(tmp_path, old, "from llm import get_model\nfrom openai import OpenAI\n")
    [change] = result.manual_changes
    assert change.reason.startswith("this use of the mock mock cannot be converted: with patch(")


@pytest.mark.parametrize("number", ["1", "-1"])
def test_a_lambda_that_does_more_is_left(tmp_path: Path, number: str) -> None:
    pair = f"(app.log(options), {COMPLETION})[{number}]"
    reason = migrate(tmp_path, f'"litellm.completion", lambda **options: {pair}')[1]
    assert reason.startswith(f"{pair} does more than make a mock: app.log(options). ")


LONG_ASSERTION = """
from unittest.mock import Mock, patch
import app

class TestApp:
    def test_it(self):
        with patch("openai.OpenAI") as call:
            create = call.return_value.chat.completions.create
            create.return_value = Mock(choices=[Mock(message=Mock(content="Hi"))])
            app.run()
            create.assert_called_with(
                model="a",
                messages=[
                    {"role": "user", "content": "b"},
                ],
            )
            create.assert_called_with(model="a", messages=[])
"""
LONG_NEW = """\
        app.run()
        assert mock_llm_calls.last_call.request.body == {
            "model": "a",
            "messages": [
                {"role": "user", "content": "b"},
            ],
        }
        assert mock_llm_calls.last_call.request.body == {"model": "a", "messages": []}
"""


def test_an_assertion_keeps_its_lines(tmp_path: Path) -> None:
    assert rewrite(tmp_path, LONG_ASSERTION).after.endswith(LONG_NEW)
