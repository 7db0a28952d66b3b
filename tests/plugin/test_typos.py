"""The failure of a test with a typo names the nearest right spelling."""

from __future__ import annotations

import re

import anthropic  # noqa: F401
import pytest

# Loaded here: `pytester` forgets the modules that a test of its own loads, but the package keeps
# the names that it got from them.
import llm_mock.boundaries.llm.create
import llm_mock.checks.named
import llm_mock.templates  # noqa: F401
from llm_mock.plugin.misspelt_names import FIXTURES
from llm_mock.support.schemas import find_violations

CODE = """
import llm
import pytest
import llm_mock.checks
from pydantic import BaseModel
from llm_mock import Latency, Reply, ToolCall, call, create_mock_get_model, templates
from llm_mock import LLMMock

def weather(city: str) -> str:
    return city

def ask(*tools, **options):
    return llm.get_model("gpt-4o").chain("Hello", tools=tools, **options).text()

def final_result(city: str) -> None: ...
def final_result_Fund(city: str) -> None: ...
def final_result_Refund(city: str) -> None: ...

def create(*tools, **options):
    import openai
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    offered = [
        {"type": "function", "name": tool.__name__, "parameters": schema} for tool in tools
    ]
    openai.OpenAI(max_retries=0, **options).responses.create(
        model="gpt-4o", input="x", tools=offered, max_output_tokens=99
    )

def complete():
    import openai
    openai.OpenAI().chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": "x"}], max_completion_tokens=99
    )

def be_strict(mock):
    mock.settings = mock.settings._replace(strict="error")

def moderate():
    import openai
    openai.OpenAI(max_retries=0).moderations.create(input="x")

def call_unknown():
    import openai
    openai.OpenAI(max_retries=0).get("/y", cast_to=object)

def two_turns():
    conversation = llm.get_model("gpt-4o").conversation()
    conversation.prompt("Hello", system="Be brief").text()
    conversation.prompt("Hello again").text()

FAST = Latency(chunks_per_second=1000)

class City(BaseModel):
    city: str

def parse():
    import openai
    try:
        openai.OpenAI().responses.parse(model="gpt-4o", input="x", text_format=City)
    except Exception:
        pass

def embed(text):
    llm.get_embedding_model("m").embed(text)

class Own:
    def set_quota(self): pass

def now() -> str: return "12:00"

async def answer_later(): return "x"
async def return_later(request): return answer_later()
def list_words(): yield "x"
async def stream_words(): yield "x"
"""
STATEMENT = """
from application import *

def {name}(mock_llm_responses):
    mock = mock_llm_responses
    {statement}
"""
TYPOS = {
    "Reply(txt='x')": "*Reply() has no argument 'txt'; did you mean 'text'? Its arguments: text, *",
    "llm_mock.Reply(tool_call=[])": "*Reply() has no argument 'tool_call'; did you mean 'tool_*",
    "Latency(first_chunks=1)": "*Latency() has no argument *; did you mean 'first_chunk'? *",
    "ToolCall('a', argumets={})": "*ToolCall() has no argument *; did you mean 'arguments'? *",
    "create_mock_get_model(reponses={})": "*create_mock_get_model() *; did you mean 'responses'? *",
    "mock.set_quota('m', rmp=1)": "*set_quota() has no argument 'rmp'; did you mean 'rpm'? *",
    "templates.rate_limit(header={})": (
        "*rate_limit() has no argument *; did you mean 'headers'? *: retry_after, text, data, *"
    ),
    "templates.rate_limit(retry=5)": (
        "*rate_limit() has no argument 'retry'; did you mean 'retry_after'? *"
    ),
    "templates.rate_limit(seconds=5)": (
        "*rate_limit() has no argument 'seconds'; did you mean 'retry_after'? *"
    ),
    "templates.tool_call('weather', city='Rome')": (
        "*tool_call() also needs 'then'. Write the arguments of the tool as a dict, as in "
        "templates.tool_call(*). Its arguments: name, arguments, then."
    ),
    "templates.tool_call('weather', city='Rome', then='x')": (
        "*tool_call() has no argument 'city'. Write the arguments of the tool as a dict, *"
    ),
    "Reply(templates.rate_limit())": (
        "*This is not text: an object of type Reply. It is already a Reply: pass it without "
        "Reply()."
    ),
    "llm_mock.Rply": "*module 'llm_mock' has no attribute 'Rply'; did you mean 'Reply'?",
    "llm_mock.checks.contians": (
        "*module 'llm_mock.checks' has no attribute 'contians'; did you mean 'contains'?"
    ),
    "templates.rate_limt": "*has no attribute 'rate_limt'; did you mean 'rate_limit'?",
    "llm_mock.sdlkfj": "*module 'llm_mock' has no attribute 'sdlkfj'",
    "mock.misbehave('rate-limit').cals": (
        "*'Misbehaviour' object has no attribute 'cals'; did you mean 'calls'?"
    ),
    "Own().set_qota": "*AttributeError: 'Own' object has no attribute 'set_qota'*",
    "Own().set_quota(rmp=1)": "*Own.set_quota() got an unexpected keyword argument 'rmp'*",
    "mock.set('*', call('wether')); ask(weather)": (
        "*calls the tool 'wether', which the call does not offer; did you mean 'weather'? Offered "
        "tools: weather. *"
    ),
    "mock.set('*', call('lamp')); ask(weather)": (
        "*calls the tool 'lamp', which the call does not offer. Offered tools: weather. *"
    ),
    "mock.set('*', call('weather', cty='x')); ask(weather)": (
        "*the arguments: 'city' is a required property, but 'cty' was given; did you mean 'city'?"
    ),
    "mock.call_every_tool('*', skip=['wether']); ask(weather)": (
        "*wether was not offered; did you mean 'weather'? Offered tools: weather."
    ),
    "mock.call_every_tool('*', skip=['lamp']); ask(weather)": (
        "*lamp was not offered. Offered tools: weather."
    ),
    "ask(); llm_mock.assert_llm_called_times(mock, 'gpt-4p', 1)": (
        "*Model 'gpt-4p' was never called; did you mean 'gpt-4o'? Models that were called: gpt-4o."
    ),
    "from llm_mock import Replay": "*ImportError: * from 'llm_mock' (*); did you mean 'Reply'?",
    "from llm_mock.checks import contians": "*'llm_mock.checks' (*); did you mean 'contains'?",
    "from llm_mock import Agent": "*cannot import name 'Agent' *; it is in llm_mock.agents",
    "from llm_mock import CassetteConfig": "*import name *; it is in llm_mock.cassettes",
    "from llm_mock import contains": "*cannot import name 'contains' *; it is in llm_mock.checks",
    "from llm_mock import InvalidFile": "*import name 'InvalidFile' *; it is in llm_mock.errors",
    "from llm_mock import LLMPlugin": "*import name 'LLMPlugin' *; it is in llm_mock.specs",
    "from llm_mock import Role": "*cannot import name 'Role' *; it is in llm_mock.suites",
    "from llm_mock import rate_limit": "*import name *; it is in llm_mock.templates",
    "import llm_mock.cassette": "*named *; did you mean 'llm_mock.cassettes'?",
    "from llm_mock.checks import Reply": "*cannot import name 'Reply' from 'llm_mock.checks' (*)",
    "from llm import get_modle": "*ImportError: cannot import name 'get_modle' from 'llm' (*",
    "import llm_mock.agent": "*named 'llm_mock.agent'; did you mean 'llm_mock.agents'?",
    "from llm_mok import Reply": "*No module named 'llm_mok'; did you mean 'llm_mock'?",
    "import pytest_llm_mock": "*named 'pytest_llm_mock'; did you mean 'llm_mock'?",
    "import mock_llm": "*named 'mock_llm'; did you mean 'llm_mock'?",
    "import llmmock": "*named 'llmmock'; did you mean 'llm_mock'?",
    "import llm_core": "*ModuleNotFoundError: No module named 'llm_core'",
    "Reply('x', finish_reason='lenght')": (
        "*InvalidReply: Unknown finish_reason 'lenght'; did you mean 'length'?"
    ),
    "mock('gpt-4o', 'Hello')": (
        "*InvalidReply: mock('gpt-4o', …) takes only the name of a model. To set a reply, write "
        "mock.set('gpt-4o', …). To call the model, write mock('gpt-4o').prompt(…)."
    ),
    "mock.calls()": (
        "*TypeError: 'list' object is not callable: calls is a list, not a method. Write .calls"
    ),
    "items = [mock]; items()": "*TypeError: 'list' object is not callable",
    "mock.autospec = 'of'": "*autospec cannot be assigned; it is a method: call mock.autospec().",
    "mock.strict = True": (
        "*AttributeError: strict cannot be assigned; it is a setting of the project or the test: "
        "write ini llm_mock_strict = error, or @pytest.mark.llm_mock_strict('error')."
    ),
    "mock.strict": "*AttributeError: 'LLMMock' object has no attribute 'strict'*",
    "mock.on('PSOT', '/v1/x', {})": "*not an HTTP method: 'PSOT'; did you mean 'POST'? Write on(*",
    "mock.on('LIST', '/v1/x', {})": "*not an HTTP method: 'LIST'. Write on(method, path, reply)*",
    "mock.on(None, '/v1/x', {})": "*This is not an HTTP method: None. Write on(*",
    "from llm_mock import checks; checks.check('a', contians='a')": (
        "*check() has no argument 'contians'. Its arguments: subject, *checks."
    ),
    "ask(); mock.assert_called_with(contians='a')": (
        "*Unknown condition 'contians'; did you mean 'prompt_contains'? *"
    ),
    "mock.set('Hello')": "*TypeError: set() also needs 'response' after the model, as in *",
    "mock.set_price('gpt-4o', 1)": "*set_price() also needs 'output' after *: model, *",
    "ToolCall()": "*ToolCall() also needs 'name'*. Its arguments: name, *",
    "mock.set('*', templates.rate_limit)": (
        "*templates.rate_limit is a function. Write templates.rate_limit()."
    ),
    "mock.set('*', lambda: 'x'); ask()": (
        "*TypeError: The reply function (*.py:*) must take one argument, the request, such as "
        "lambda *"
    ),
    "mock.set_error('m', templates.rate_limit)": (
        "*templates.rate_limit is a function. Write templates.rate_limit()."
    ),
    "mock.set_error('m', 429)": (
        "*429 is a status, not an exception. Pass templates.rate_limit() of llm_mock, or an "
        "exception of the SDK with its response. To send another body with this status, *"
    ),
    "mock.set_error('m', 404)": (
        "*404 is a status, not an exception. Pass an exception of the SDK with its response. To "
        'send another body with this status, write mock.on("POST", path, body, status=404).'
    ),
    "mock.set_error('m', 399)": "*InvalidReply: This is not an exception: 399. Pass *",
    "mock.set_error('m', 600)": "*InvalidReply: This is not an exception: 600. Pass *",
    "mock.set_error('m', '429')": "*InvalidReply: This is not an exception: '429'. Pass *",
    "mock.set('m', 'x'); ask(); mock.last_call.tool_calls": (
        "*A call has no attribute 'tool_calls'. The tool calls of the answer are in "
        "call.response[[]'tool_calls']. Its attributes: *"
    ),
    "mock.set('*', 'x'); ask(); mock.calls[1]": (
        "*IndexError: list index out of range: calls[[]1] does not exist. The first is [[]0]. Made "
        "so far: 1 call to gpt-4o."
    ),
    "mock.set('*', 'x'); ask(); mock.calls_of('gpt-5')[0]": (
        "*IndexError: list index out of range: calls_of('gpt-5')[[]0] does not exist. The first is "
        "[[]0]. Made so far: 1 call to gpt-4o."
    ),
    "mock.set('*', 'x'); ask(); assert mock.assert_called_with('Hello')": (
        "*where None = <assert_called_with, which returns None: remove the assert before "
        "it>('Hello')"
    ),
    "mock.set('*', 'x'); ask(); assert mock.get_model('gpt-4o').assert_called_once() == 1": (
        "*where None = <assert_called_once, which returns None: remove the assert before it>()"
    ),
    "mock.calls[-1]": "*list index out of range: calls[[]-1] does not exist. No call was made.",
    "items = []; items[1]": "*IndexError: list index out of range",
    "mock.set('m', Reply)": "*This is not a reply: the class Reply. Pass an instance: Reply(…). *",
    "mock.set('m', 5)": "*This is not a reply: 5. A reply is a str, *",
    "Reply('x', chunks=['x'])": (
        "*A Reply has either text or chunks. The chunks together are the text: remove the text."
    ),
    "Reply('x', data=1)": "*A Reply has either text or data: remove all but one.",
    "mock.set_error('m', [OSError, None])": (
        "*set_error() takes one error. For several errors in order, write script('m', *"
    ),
    "mock.set('*', 'x'); complete(); mock.assert_called_with(max_tokens=5)": (
        "*max_tokens was not sent, expected 5; the request has max_completion_tokens=99."
    ),
    "mock.set('*', 'x'); complete(); mock.assert_called_with(max_completion_tokens=5)": (
        "*max_completion_tokens is 99, not 5."
    ),
    "mock.set('*', 'x'); create(); mock.assert_called_with(temperature=5)": (
        "*temperature was not sent, expected 5."
    ),
    "mock.set('*', 'x'); create(final_result); mock.assert_called_with(schema='City')": (
        "*the schema is none, not City, but the tool final_result requests an object: match "
        "tools=[[]'final_result']."
    ),
    "mock.set('*', 'x'); create(weather); mock.assert_called_with(schema='weather')": (
        "*the schema is none, not weather, but the tool weather requests an object: *"
    ),
    "mock.set('*', 'x'); create(weather); mock.assert_called_with(schema='City')": (
        "*the schema is none, not City."
    ),
    "mock.set('*', 'x'); ask(); mock.assert_called_with('hello')": (
        "*the prompt 'Hello' does not contain 'hello' (upper and lower case differ)."
    ),
    "mock.set('*', 'x'); ask(); mock.assert_called_with('hullo')": (
        "*the prompt 'Hello' does not contain 'hullo'."
    ),
    "mock.set_error('m', len)": "*InvalidReply: This is not an exception: *",
    "import openai; mock.set_error('m', openai.RateLimitError('busy'))": (
        "*'response' and 'body'. Write templates.rate_limit() of llm_mock, which raises the "
        "RateLimitError of the calling SDK."
    ),
    "import anthropic; mock.set_error('m', anthropic.APIConnectionError())": (
        "*'request'. Write templates.no_connection() of llm_mock, which raises the *"
    ),
    "import openai; mock.set_error('m', openai.ConflictError('busy'))": (
        "*TypeError: *'response' and 'body'"
    ),
    "mock.set_embedding('north', [0, 1])": (
        "*Only str and bytes can be embedded, not [[]0, 1]. Pass the text before the vector: "
        "set_embedding(model, text, [[]0.1, …])."
    ),
    "mock.set_embedding('m', 5, [0, 1])": "*Only str and bytes can be embedded, not 5.",
    "mock.set('*', call('weather', city='Rome', day=1)); ask(weather)": (
        "*- the function has no parameter 'day'; it takes city"
    ),
    "mock.set('*', call('now', day=1)); ask(now)": (
        "*- the function has no parameter 'day'; it takes none"
    ),
    "mock.set('*', 'x'); create(); mock.last_call.request['model']": (
        "*TypeError: tuple indices must be integers or slices, not str: the request of a call has "
        "the attributes method, url, headers and body. For a field of the body, write *"
    ),
    "request = (1,); request['model']": "*TypeError: tuple indices must be *, not str",
    "mock.responses = {'m': 'x'}": "*responses cannot be assigned; set the reply of a model: *",
    "mock.return_value = 'x'": "*return_value cannot be assigned; set the reply of a model: *",
    "mock.side_effect = ['x']": "*side_effect cannot be assigned; queue replies with mock.script(*",
    "mock.get_model('gpt-4o').return_value = 'Paris'": (
        "*AttributeError: return_value cannot be assigned; write mock_llm_responses.set('gpt-4o', "
        "'Paris')."
    ),
    "llm.get_async_model('m').return_value = {'a': 1}": (
        "*return_value cannot be assigned; write mock_llm_responses.set('m', {\"a\": 1})."
    ),
    "mock('m').side_effect = ['a', 'b']": (
        "*side_effect cannot be assigned; write mock_llm_responses.script('m', 'a', 'b'), or "
        "mock_llm_responses.set_error('m', error)."
    ),
    "mock('m').responses = ['a']": "*responses cannot be assigned; write *.script('m', 'a', 'b').",
    "create_mock_get_model()('m').return_value = 5": (
        "*return_value cannot be assigned; write mock.set('m', …)."
    ),
    "llm_mock.MockLLMModel('m').return_value = 'x'": (
        "*return_value cannot be assigned; assign default_response."
    ),
    "llm_mock.MockLLMModel('m').side_effect = OSError": (
        "*side_effect cannot be assigned; assign default_response, which may be a function or *"
    ),
    "mock.get_embedding_model('e').return_value = [1.0]": (
        "*return_value cannot be assigned; write set(text, vector) of the model."
    ),
    "mock('m').call_args": (
        "*has no attribute 'call_args'. Use last_call.prompt, or call_history[[]0]."
    ),
    "mock('m').call_args_list": "*attribute 'call_args_list'. Use call_history[[]0].prompt.",
    "mock('m').call_count": "*has no attribute 'call_count'. Use prompt_count.",
    "llm.get_async_model('m').called": "*has no attribute 'called'. Use prompt_count.",
    "mock('m').side_effect": "*has no attribute 'side_effect'. Use mock_llm_responses.script('*",
    "mock.get_embedding_model('e').call_count": "*'call_count'. Use len(call_history).",
    "mock('m').return_valu": "*has no attribute 'return_valu'; known are Options, *",
    "mock('m').prompt.return_value.text.return_value = 'x'": (
        "*has no attribute 'return_value': prompt is a method, not a mock. Use "
        "mock_llm_responses.set('gpt-4o', 'Paris')."
    ),
    "mock.get_model.return_value.prompt.return_value = 'x'": (
        "*has no attribute 'return_value': get_model is a method, not a mock. Use *.set('gpt-4o', *"
    ),
    "mock.get_model('m').prompt.return_value = 'x'": (
        "*'return_value'*: prompt is a method, not a mock. Use mock_llm_responses.set('gpt-4o', *"
    ),
    "model = mock('m'); model.prompt.side_effect = ['x']": (
        "*'side_effect'*: prompt is a method, not a mock. Use mock_llm_responses.script('gpt-4o', *"
    ),
    "mock('m').prompt.call_args": "*: prompt is a method, not a mock. Use last_call.prompt, or *",
    "mock('m').prompt.assert_called_once()": (
        "*: prompt is a method, not a mock. Use assert_called_once() of the model."
    ),
    "mock('m').prompt.assert_called_with('x')": (
        "*: prompt is a method, not a mock. Use assert_called_with() of the model."
    ),
    "mock('m').prompt.assert_called_once_with('x')": (
        "*: prompt is a method, not a mock. Use assert_called_once_with() of the model."
    ),
    "mock('m').prompt.assert_any_call('x')": (
        "*: prompt is a method, not a mock. Use assert_any_call() of the model."
    ),
    "mock('m').prompt.assert_not_called()": (
        "*: prompt is a method, not a mock. Use assert_not_called() of the model."
    ),
    "own = Own(); own.set_quota.return_value": "*'function' object has no attribute 'return_value'",
    "own = Own(); own.prompt = own.set_quota; own.prompt.call_args": (
        "*'function' object has no attribute 'call_args'"
    ),
    "mock.get_model.call_args": "*'function' object has no attribute 'call_args'",
    "mock.assert_called()": "*'assert_called'. Use assert_any_call() or assert_called_once().",
    "ToolCall('weather', args={})": "*has no argument 'args'; did you mean 'arguments'? *",
    "ToolCall(tool='weather')": "*ToolCall() has no argument 'tool'; did you mean 'name'? *",
    "ToolCall('weather', id='1')": "*has no argument 'id'; did you mean 'tool_call_id'? *",
    "ToolCall('weather', city='Rome')": (
        "*ToolCall() has no argument 'city'. Write the arguments of the tool as a dict, as in "
        'ToolCall("weather", {"city": "Rome"}), or call("weather", city="Rome"). Its arguments: '
        "name, arguments, tool_call_id."
    ),
    "ToolCall('weather', name='x')": (
        "*ToolCall() got 'name' twice: by position and by name. Arguments by position: name, "
        "arguments, tool_call_id. Its arguments: name, arguments, tool_call_id."
    ),
    "ToolCall('a', {}, 'b', 'c')": (
        "*ToolCall() got too many arguments by position. Arguments by position: name, arguments, "
        "tool_call_id. Pass the others by name. Write the arguments of the tool as a dict, *"
    ),
    "Reply('x', 'y')": (
        "*Reply() got too many arguments by position. Arguments by position: text. Pass *"
    ),
    "mock.advance_clock()": "*TypeError: advance_clock() also needs 'seconds'. Its *: seconds.",
    "Reply(deltas=[])": "*no argument 'deltas'; did you mean 'chunks'? *",
    "Reply(json={})": "*no argument 'json'; did you mean 'data'? *",
    "Reply(raises=OSError)": "*no argument 'raises'; did you mean 'error'? *",
    "Reply(sleep=1)": "*no argument 'sleep'; did you mean 'latency'? *",
    "Reply(message='x')": "*no argument 'message'; did you mean 'text'? *",
    "Reply(tools=[])": "*no argument 'tools'; did you mean 'tool_calls'? *",
    "mock.set('m', 'x', contains='y')": "*no argument 'contains'; did you mean 'prompt'? *",
    "mock.set('m', 'x', response_format=int)": "*'response_format'; did you mean 'schema'? *",
    "mock.set('m', 'x', instructions='y')": "*'instructions'; did you mean 'system'? *",
    "mock.add('m', 'x', repeat=2)": "*no argument 'repeat'; did you mean 'times'? *",
    "templates.internal_error()": "*no attribute 'internal_error'; did you mean 'server_error'?",
    "templates.unauthorized()": "*'unauthorized'; did you mean 'authentication'?",
    "templates.too_long()": "*'too_long'; did you mean 'context_overflow'?",
    "templates.network_error()": "*'network_error'; did you mean 'no_connection'?",
    "templates.content_filter()": "*'content_filter'; did you mean 'refusal'?",
    "templates.max_tokens()": "*'max_tokens'; did you mean 'truncated'?",
    "from llm_mock import Response": "*'Response' from 'llm_mock' (*); did you mean 'Reply'?",
    "from llm_mock import Answer": "*'Answer' from 'llm_mock' (*); did you mean 'Reply'?",
    "from llm_mock import Completion": "*'Completion' from *; did you mean 'Reply'?",
    "from llm_mock import LLMResponse": "*'LLMResponse' from *; did you mean 'Reply'?",
    "from llm_mock import MockResponse": "*'MockResponse' from *; did you mean 'Reply'?",
    "from llm_mock import FunctionCall": "*'FunctionCall' from *; did you mean 'ToolCall'?",
    "from llm_mock import ToolUse": "*'ToolUse' from 'llm_mock' (*); did you mean 'ToolCall'?",
    "from llm_mock import debug_llm": (
        "*'debug_llm' from 'llm_mock' (*); it is a fixture: add it to the parameters of the test"
    ),
    "mock('Say hello')": (
        "*InvalidReply: mock('Say hello') returns the model with this name, but no model has this "
        "name. To call a model, write mock('gpt-4o').prompt(…)."
    ),
    "ToolCall('weather', ['Rome'])": (
        "*InvalidReply: The arguments of the tool call 'weather' must be a dict, but got "
        '[[]"Rome"]. Pass a dict of parameter names and values, such as '
        "ToolCall('weather', {'name of the parameter': …})."
    ),
    "ToolCall('weather', 'Rome')": (
        "*InvalidReply: The arguments of the tool call 'weather' are not a JSON object: 'Rome'. "
        "Pass a dict of parameter names and values, such as "
        "ToolCall('weather', {'name of the parameter': 'Rome'}). To simulate a wrong tool call on "
        "purpose, use BrokenToolCall."
    ),
    "ToolCall('weather', 5)": (
        "*'weather' must be a dict, but got 5. Pass a dict of parameter names and values, such as "
        "ToolCall('weather', {'name of the parameter': 5})."
    ),
    "ToolCall('weather', '5')": "*: '5'. Pass a dict *, {'name of the parameter': 5}). *",
    "ToolCall('weather', '[]')": "*. Pass a dict * {'name of the parameter': …}). *",
    "ToolCall('weather', ' ')": "*: ' '. Without arguments, write ToolCall('weather'). *",
    "ToolCall('weather', 'null')": "*. Without arguments, write ToolCall('weather'). *",
    "ToolCall('weather', '{city')": (
        "*: '{city'. Correct the JSON, or pass a dict instead of text. To simulate a wrong *"
    ),
    "ToolCall('weather', City(city='Rome'))": (
        "*must be a dict, but got an object of type City. Pass its fields as a dict, as in "
        "ToolCall('weather', arguments.model_dump(mode=\"json\"))."
    ),
    "ToolCall('weather', City)": "*got the class City. Pass a dict of *: …}).",
    "Reply('Sunny and warm', error=templates.no_connection(), error_after=5)": (
        "*InvalidReply: error= takes an exception, but templates.no_connection() returns a whole "
        "Reply. Write templates.no_connection(chunks=[[]'Sunny', ' and warm'], error_after=1)."
    ),
    "Reply('Sunny', error=templates.authentication())": (
        "*Write templates.authentication(text='Sunny', error_after=1)."
    ),
    "Reply(chunks=['a', 'b'], error=templates.rate_limit(retry_after=2), error_after=2)": (
        '*Write templates.rate_limit(chunks=[[]"a", "b"], error_after=2, retry_after=2).'
    ),
    "Reply(error=templates.timeout())": "*returns a whole Reply. Write templates.timeout().",
    "Reply(error=templates.yes_no(True, 'x'))": (
        "*error= takes an exception, but got a Reply without an error. Pass an exception, such as "
        'ConnectionError("no route to host").'
    ),
    "Reply(error=Reply(error=OSError))": (
        "*error= takes an exception, but got a whole Reply. Pass the exception of that Reply."
    ),
    "Reply(error=templates.timeout)": (
        "*templates.timeout is a function. Write templates.timeout() in place of Reply(…)."
    ),
    "Reply(error=429)": "*Pass templates.rate_limit() of llm_mock in place of Reply(…), or an *",
    "Reply(error='timeout')": "*Write templates.timeout() of llm_mock in place of Reply(…).",
    "Reply(error='busy')": "*such as templates.rate_limit() of llm_mock in place of Reply(…).",
    "import openai; Reply(error=openai.RateLimitError)": (
        "*Pass templates.rate_limit() in place of Reply(…), which raises the SDK's own error, *"
    ),
    "create_mock_get_model(side_effect=templates.rate_limit())": (
        "*InvalidReply: This is a whole Reply, not an exception. Pass an exception, such as "
        'ConnectionError("no route to host"). To raise the error of a Reply in every call, write '
        'set_error("[*]", reply).'
    ),
    "Reply('Sunny and warm', error=OSError('cut'), error_after=5)": (
        "*InvalidReply: error_after=5 counts the chunks before the error, but the text 'Sunny and "
        "warm' is one chunk, or at most 4 with Latency(chunks_per_second=…). To cut the text, "
        "pass its chunks: Reply(chunks=[[]'Sunny', ' and warm'], error=…, error_after=1)."
    ),
    "Reply(data='abc', error=OSError('cut'), error_after=9)": (
        "*but the text '\"abc\"' is one chunk, or at most 2 with *. Pass error_after=1."
    ),
    "Reply('abc', error=OSError('cut'), error_after=2)": "*the text 'abc' is one chunk. To cut *",
    "mock.set('m', answer_later())": (
        "*InvalidReply: This is not a reply: an object of type coroutine. Pass the function "
        "answer_later itself, without calling it: the mock calls it with each request, and awaits "
        "its result."
    ),
    "from unittest.mock import AsyncMock; mock.add('m', AsyncMock()())": (
        "*Pass the function itself, without calling it: *"
    ),
    "Reply(answer_later())": (
        "*This is not text: *. Pass the function answer_later itself in place of Reply(…), *"
    ),
    "Reply(data=answer_later())": (
        "*InvalidReply: This is not data: an object of type coroutine. Pass the function "
        "answer_later itself in place of Reply(…), without calling it: *"
    ),
    "Reply(data=answer_later)": (
        "*This is not data: *. A function that returns the reply is passed without Reply()."
    ),
    "mock.set('m', {'a': answer_later()})": (
        "*InvalidReply: reply[[]'a'] is not a JSON value: an object of type coroutine. Write "
        "await before answer_later()."
    ),
    "Reply(response_json=answer_later())": (
        "*InvalidReply: reply is not a JSON value: *. Write await before *()."
    ),
    "mock.set('m', ToolCall('read', {'path': answer_later()}))": (
        "*InvalidReply: The tool call 'read' cannot be sent: arguments[[]'path'] is not a JSON "
        "value: an object of type coroutine. Write await before answer_later()."
    ),
    "mock.set('m', ToolCall('read', {'path': (each for each in 'ab')}))": (
        "*arguments[[]'path'] is not a JSON value: an object of type generator. Convert it to a "
        "str, *"
    ),
    "mock.set('m', {'a': (each for each in 'ab')})": (
        "*is not a JSON value: an object of type generator. Convert it to a str, *"
    ),
    "Reply(answer_later)": "*A function that returns the reply is passed without Reply().",
    "mock.set_error('m', answer_later())": (
        "*For a function that returns an exception, write set(model, function)."
    ),
    "mock.set('m', list_words())": (
        "*This is not a reply: an object of type generator. For the chunks of one answer, write "
        "Reply(chunks=list_words(…)). For one reply per call, write "
        "script(model, [*]list_words(…))."
    ),
    "mock.script('m', (word for word in 'ab'))": "*Reply(chunks=…). * script(model, [*]…).",
    "mock.set('m', stream_words())": (
        "*This is not a reply: an object of type async_generator. For the chunks of one answer, "
        "write Reply(chunks=[[]chunk async for chunk in stream_words(…)])."
    ),
    "mock.set('*', lambda request: list_words()); ask()": (
        "*returned something that is not a reply: an object of type generator. A reply function "
        "must return the whole answer. For the chunks of a stream, write return "
        "Reply(chunks=[[]…]) "
        "instead of yield. *"
    ),
    "mock.set('*', return_later); ask()": (
        "*an object of type coroutine. Write await before answer_later(). *"
    ),
    "mock.script('It is sunny.', 'Bye.')": (
        "*InvalidReply: 'It is sunny.' is not the name of a model: the model comes first, as in "
        "set('gpt-4o', 'It is sunny.')."
    ),
    "mock.set('How are you?', 'gpt-4o')": "*'How are you?' is not the name of a model: the *",
    "mock.set_error('It broke!', OSError)": "*'It broke!' is not the name of a model: the *",
    "mock.set('m', llm.ToolCall('weather', ['Rome']))": (
        "*InvalidReply: The arguments of the tool call 'weather' must be a dict, but got [[]*"
    ),
    "Reply(tokens=1)": "*no argument 'tokens'; did you mean 'usage'? *",
    "Reply(input_tokens=1)": "*no argument 'input_tokens'; did you mean 'usage'? *",
    "Reply(output_tokens=1)": "*no argument 'output_tokens'; did you mean 'usage'? *",
    "Reply(content='x')": "*no argument 'content'; did you mean 'text'? *",
    "Reply(delay=1)": "*no argument 'delay'; did you mean 'latency'? *",
    "Reply(stop_reason='x')": "*no argument 'stop_reason'; did you mean 'finish_reason'? *",
    "Reply(usage={'prompt_tokens': 1})": (
        "*InvalidReply: Unknown name 'prompt_tokens' in usage; did you mean "
        "'input_tokens'? Valid names: input_tokens or input, output_tokens or output, and "
        "details, *"
    ),
    "Reply(usage={'prompt': 1})": "*Unknown name 'prompt' in usage; did you mean 'input_tokens'? *",
    "Reply(usage={'completion': 1})": "*'completion' in usage; did you mean 'output_tokens'? *",
    "Reply(usage={'input_tokens': 1, 'completion_tokens': 1})": (
        "*Unknown name 'completion_tokens' in usage; did you mean 'output_tokens'? *"
    ),
    "Reply(usage={'detail': {}})": "*Unknown name 'detail' in usage; did you mean 'details'? *",
    "Reply(usage={'zzz': 1})": "*Unknown name 'zzz' in usage. Valid names: *",
    "mock_llm_responses.set('m', 'x') if 0 else mock_llm_calls": (
        "*NameError: name 'mock_llm_calls' is not defined: mock_llm_calls is a fixture. Add it to "
        "the parameters of the test, as in def test_it(mock_llm_calls):"
    ),
    "llm_mock_servr": "*'llm_mock_servr' is not defined: llm_mock_server is a fixture. Add it to *",
    "database": "*NameError: name 'database' is not defined",
    "mock.misbehave('rate-limit').zzz": "*object has no attribute 'zzz'; known are *",
    "ask(); llm_mock.assert_llm_called_times(mock, 'sonnet', 1)": (
        "*Model 'sonnet' was never called. Models that were called: gpt-4o."
    ),
}


MISUSES = {
    "mock.set('*', lambda request: request.promt); create()": (
        "*AttributeError: 'HTTPRequest' object has no attribute 'promt'; did you mean prompt?"
    ),
    "mock.set('*', lambda request: request.text.upper()); create()": (
        "*AttributeError: 'HTTPRequest' object has no attribute 'text'; did you mean prompt?"
    ),
    "mock.set('*', lambda request: request.text.upper()); ask()": (
        "E * AttributeError: 'Prompt' object has no attribute 'text'; did you mean prompt?"
    ),
    "mock.set('*', lambda request: request.tools[0]['name']); ask(weather)": (
        "E *'Tool' object is not subscriptable. In a reply function, the items of tools have "
        "attributes, not keys: write request.tools[[]0].name."
    ),
    "mock.set('gpt-4p', 'x'); create()": (
        "If the model of the reply is misspelt, write 'gpt-4o' (*.py:*)."
    ),
    "mock.script('gpt-4o', 'x', 'y'); ask()": (
        "    an earlier reply of this line answered the only call that matches it  (*.py:*)"
    ),
    "mock.set('*', lambda request: request.message[0]); create()": (
        "*AttributeError: 'HTTPRequest' object has no attribute 'message'; did you mean messages()?"
    ),
    "mock.set('*', lambda request: request.messages()[0]['content']); create()": (
        "*KeyError: 'content'. A message of a request has the keys role and parts. For the text "
        "of the last message, use request.prompt."
    ),
    "mock.set('*', lambda request: request.messages()[0].text); create()": (
        "*AttributeError: 'dict' object has no attribute 'text'. A message of a request has the "
        "keys role and parts. *"
    ),
    "mock.set('*', lambda request: request.usage); create()": (
        "*raised at *: AttributeError: 'HTTPRequest' object has no attribute 'usage'"
    ),
    "mock.set('*', lambda request: {}['content']); create()": "*raised at *: KeyError: 'content'",
    "mock.set('*', lambda request: request.tools[0]['name']); create(weather)": (
        "*TypeError: tuple indices must be integers or slices, not str. In a reply function, the "
        "items of tools have attributes, not keys: write request.tools[[]0].name."
    ),
    "mock.set('*', lambda request: request.messages[0]); create()": (
        "*'method' object is not subscriptable. messages is a method of the request: write "
        "request.messages()."
    ),
    "mock.set('*', lambda request: [][0]['tools'] + request.tools); create()": (
        "*IndexError: list index out of range"
    ),
    "mock.set('openai:gpt-4o', 'x'); create()": (
        "*the model is gpt-4o, not openai:gpt-4o: leave out the prefix, which the request does "
        "not have"
    ),
    "mock.set('openai/gpt-4o', 'x'); create()": "*not openai/gpt-4o: leave out the prefix, *",
    "mock.set('my-gpt-4o', 'x'); create()": "*the model is gpt-4o, not my-gpt-4o",
    "create(base_url='https://api.openai.com')": (
        'Requested at *.py:*. All OpenAI paths begin with /v1: use base_url="https://api.openai.com/v1".'
    ),
    "mock.set_embedding('m', 'Cat sleep.', [1]); embed('Cats sleep.'); assert False": (
        "The vector of 'Cats sleep.' was computed, because set_embedding('m', …) has no vector for "
        "this text; did you mean 'Cat sleep.' (test_*.py:*)?"
    ),
    "mock.set('*', 'x'); ask(); assert mock.calls_of('openai/gpt-4o')": (
        "No call to 'openai/gpt-4o' was found (test_*.py:*), but calls to 'gpt-4o' were made. If "
        "you mean these calls, write 'gpt-4o'."
    ),
    "mock.set('*', 'x'); llm.get_model('a/b').prompt('').text(); assert mock.calls_of('b')": (
        "No call to 'b' was found (test_*.py:*), but calls to 'a/b' were made. If you mean these "
        "calls, write 'a/b'."
    ),
    "mock.set_embedding('m', 'CATS', [1]); embed('cats'); assert False": (
        "*did you mean 'CATS' (test_*.py:*)? Upper and lower case differ."
    ),
    "mock.set_embedding('e', 'Cats', [1]); embed('Cats'); assert False": (
        "*has no vector for this text. Its vector is configured for 'e' (test_*.py:*)."
    ),
    "mock.set('*', 'x'); ask(); mock.last_call.messages[0].content": (
        "*A message is a dict: write [[]'text'] instead of .content. Its keys: role, text."
    ),
    "mock.set('*', 'x'); ask(); mock.last_call.messages['text']": (
        "*TypeError: This is a list of messages: write [[]0][[]'text']."
    ),
    "mock.script('*', 'rate_limit'); ask(); assert False": (
        "The reply 'rate_limit' is a text, not an error. For the error, write "
        "templates.rate_limit()."
    ),
    "mock.script('*', [ToolCall('weather', {}), 'Sunny']); ask(); assert False": (
        "A list with a text and a tool call is one reply with both. For one reply per call, "
        "write script(model, first, second)."
    ),
    "mock.set('*', {'name': 'weather', 'arguments': {}}); ask(); assert False": (
        'The reply {"name": "weather", "arguments": {}} is data, not a tool call. For a tool call, '
        "write ToolCall('weather', {})."
    ),
    "mock.set('*', {'name': 'weather', 'args': {'city': 'Rome'}}); ask(); assert False": (
        '*write ToolCall(\'weather\', {"city": "Rome"}).'
    ),
    "mock.set('*', {'function': {'name': 'a', 'arguments': '{}'}}); ask(); assert False": (
        "*For a tool call, write ToolCall('a', '{}')."
    ),
    "mock.set('*', {'name': 'a', 'arguments': 5}); ask(); assert False": (
        "*For a tool call, write ToolCall(name, arguments)."
    ),
    "mock.set('*', {'tool_calls': []}); ask(); assert False": "The reply * is data, not a tool *",
    "mock.set('*', Reply(tool_calls=[{'name': 'a', 'args': {}}]))": (
        "*This is not a tool call: {*}. Write ToolCall('a', {})."
    ),
    "mock.set_error('m', OSError, prompt='x')": (
        "*set_error() has no argument 'prompt'. For an error in some calls only, write set(model, *"
    ),
    "mock.set('*', Reply(chunks=['a', 'b'])); create(); assert False": (
        "The request of call 1 does not ask for a stream, so the chunks of its reply (*.py:*) "
        "were joined."
    ),
    "mock.set('*', 'x'); create(); mock.last_call.request.body['inputs']": (
        "*This request body has no key 'inputs'; did you mean 'input'? Its keys: model, input, *"
    ),
    "mock.set('*', 'x'); ask(); mock.last_call.files": "*; did you mean 'attachments'? Its *",
    "mock.set('*', 'x'); ask(); mock.last_call.images": "*; did you mean 'attachments'? Its *",
    "mock.set('*', Reply('Sunny and warm', error=OSError('cut'), error_after=2)); assert False": (
        "error_after=2 counts the chunks before the error, but the text 'Sunny and warm' is one "
        "chunk, or at most 4 with Latency(chunks_per_second=…). To cut the text, pass its chunks: *"
    ),
    "mock.set_error('*', 'authentication')": (
        "*'authentication' is a text, not an exception. Write templates.authentication() of *"
    ),
    "mock.set('*', {'type': 'tool_use', 'name': 'a', 'input': {}}); ask(); assert False": (
        "*For a tool call, write ToolCall('a', {})."
    ),
    "mock.set('*', 'y', schema='Refund'); create(final_result_Fund, final_result_Refund)": (
        "*but the tool final_result_Refund requests an object: match *"
    ),
    "mock.set('*', 529)": "*529 is a status, not an exception. Pass templates.overloaded() *",
    "mock.set('e', 'text', [1.0])": "*and for a vector set_embedding(model, text, vector). *",
    "mock.set('*', 'x'); mock.set('*', 'y', tools=['news']); ask(weather); assert False": (
        "*the tools news are not offered (offered: weather)"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', tools=['news']); ask(); assert False": (
        "*the tools news are not offered (no tools are offered)"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', prompt='brief'); two_turns(); assert False": (
        "*(the system prompt contains it: write system='brief')"
    ),
    "mock.script('*', ToolCall('weather', {'city': 'Rome'}), 'x'); ask(weather); "
    "mock.assert_called_with('Hi', turn=2)": (
        "*The nearest is call 2, but the prompt '' does not contain 'Hi' (it is empty, "
        "because this turn only returns tool results)."
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', prompt='Hel+o$'); ask(); assert False": (
        "*the prompt 'Hello' does not contain 'Hel+o$' (a text is not a pattern: use re.compile)"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', prompt='*ell*'); ask(); assert False": (
        "*the prompt 'Hello' does not contain '[*]ell[*]' (leave out the [*]: a text "
        "matches anywhere in the prompt)"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', prompt='Hell*'); ask(); assert False": (
        "*(leave out the [*]: a text matches anywhere in the prompt)"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', system='*rief'); two_turns(); assert False": (
        "*(leave out the [*]: a text matches anywhere in the system prompt)"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', prompt='*'); ask(); assert False": (
        "*(leave out the condition: without it, any prompt matches)"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', prompt='*rain*'); ask(); assert False": (
        "*the prompt 'Hello' does not contain '[*]rain[*]'"
    ),
    "mock.set('*', 'x'); mock.on('POST', '/chat/completions', {}); complete(); assert False": (
        "    nearest call: 1, but the path is /v1/chat/completions, not /chat/completions: write "
        "on('POST', '/v1/chat/completions', …)"
    ),
    "mock.set('*', 'x'); mock.on('*', '/v1/Chat/Completions/', {}); complete(); assert False": (
        "*but the path is /v1/chat/completions, not /v1/Chat/Completions/: write on('POST', *"
    ),
    "mock.set('*', 'x'); mock.on('POST', '/v1/chat', {}); complete(); assert False": (
        "*the path is /v1/chat/completions, not /v1/chat: write on('POST', '/v1/chat/completions'*"
    ),
    "mock.set('*', 'x'); mock.on('POST', '/chat/*', {}); complete(); assert False": (
        "*the path is /v1/chat/completions, not /chat/[*]: write on('POST', '/v1/chat/[*]', …)"
    ),
    "mock.set('*', 'x'); mock.on('POST', 'https://api.openai.com/chat/completions', {}); "
    "complete(); assert False": (
        "*write on('POST', 'https://api.openai.com/v1/chat/completions', …)"
    ),
    "mock.on('POST', '/moderations', {}); moderate(); assert False": (
        "*the path is /v1/moderations, not /moderations: write on('POST', '/v1/moderations', …)"
    ),
    "mock.on('POST', '/v1', {}); moderate(); assert False": (
        "*but the request is POST /v1/moderations, not POST /v1"
    ),
    "mock.set('*', 'x'); mock.on('GET', '/v1/chat/completions', {}); complete(); assert False": (
        "*but the method is POST, not GET"
    ),
    "mock.on('POST', 'https://x.org/v1/moderations', {}); moderate(); assert False": (
        "*but the host is api.openai.com, not x.org"
    ),
    "mock.set('*', 'x'); complete(); mock.on('POST', '/v1/chat/completions', {}); assert False": (
        "*it was made before the reply was configured: configure the reply before the call"
    ),
    "mock.set('*', 'x'); mock.on('POST', '/v1/completions', {}); complete(); assert False": (
        "*but the request is a call to gpt-4o, not POST /v1/completions"
    ),
    "mock.set('*', 'x'); mock.on('POST', '/chat/completions', {}); ask(); assert False": (
        "*but the request is a call to gpt-4o, not POST /chat/completions"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', prompt='Hello('); ask(); assert False": (
        "*the prompt 'Hello' does not contain 'Hello('"
    ),
    "mock.on('POST', '/moderation', {}); mock.on('GET', '/x', {}); be_strict(mock); moderate()": (
        "*mock.on('POST', '/v1/moderations', …). Responses are configured for POST /moderation "
        "(test_*.py:*), GET /x (test_*.py:*)."
    ),
    "mock.on('POST', '/moderation', {}); call_unknown()": (
        "*mock.on('GET', '/v1/y', …). Responses are configured for POST /moderation (*.py:*). *"
    ),
    "mock.set('*', 'y', system='kind'); mock.set('*', 'x'); two_turns(); assert False": (
        "    nearest call: 1, but the system prompt 'Be brief' does not contain 'kind'"
    ),
    "mock.set('*', 'x'); mock.set('*', 'y', system='brief', prompt='again'); two_turns(); 1 / 0": (
        "*but the system prompt '' does not contain 'brief' (through llm, each turn has "
        "only the system prompt that is passed with it)"
    ),
    "mock.set('*', 'x'); ask(); mock.assert_called_with(tool_results=[{'name': 'a', 'text': 1}])": (
        "*the tool results are [[][]], not * (a tool result has no key 'text', but name, output, "
        "is_error)*"
    ),
    "mock.set('*', 'I cannot.'); parse(); assert False": (
        "For a refusal, write Reply(refusal=…), which need not match the schema."
    ),
    "mock.set('*', 'No'); parse(); assert False": 'Expected: {"city": string}',
    "mock.set('*', ToolCall('weather', {'town': 'Rome'})); ask(weather)": (
        '*The arguments: {"town": "Rome"}'
    ),
    "mock.set('*', 'y', prompt='yacht'); mock.set('*', 'z', prompt='Hello you'); create()": (
        "  - [*]  prompt contains 'Hello you'  → *"
    ),
}


WITHOUT_HINT = [
    "mock.set('*', Reply(chunks=['ab'])); create()",
    "mock.set('*', Reply(chunks=['a', 'b'])); llm.get_model('m').prompt('Hi').text()",
    "mock.set('*', {'name': 'a', 'city': 'b'}); ask()",
    "mock.set('*', {'input': 'a'}); ask()",
    "mock.set('*', 'authenticated'); ask()",
    "mock.set_embedding('e', 'Cats', [1]); embed('Apples')",
    "mock.set('*', Reply('Sunny', error=OSError('cut'), error_after=1))",
    "mock.set('*', Reply(chunks=['a', 'b'], error=OSError('cut'), error_after=2))",
    "mock.set('*', Reply(error=OSError('cut'), error_after=2))",
    "mock.set('*', Reply('Sunny', error=OSError('cut'), error_after=2, latency=FAST))",
    "mock.set('*', 'x'); ask(); mock.calls_of('my-gpt-4o'); mock.calls_of('openai/o3')",
    "mock.set('*', 'x'); ask(); mock.calls_of('gpt-4o')",
]
"""Statements that are right."""


@pytest.fixture(scope="module")
def known_failures() -> dict[str, list[str]]:
    """Return the failures of the one run, which the first test starts."""
    return {}


@pytest.fixture
def failures(
    pytester: pytest.Pytester, known_failures: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Return the lines of the failure of each statement, all of one run.

    Each statement has a file of its own.
    """
    if known_failures:
        return known_failures
    with_warnings = [*MISUSES, *(f"{each}; assert False" for each in WITHOUT_HINT)]
    statements = [*TYPOS, *with_warnings]
    files = {f"test_{number}": statement for number, statement in enumerate(statements)}
    for name, statement in files.items():
        text = STATEMENT.format(name=name, statement=statement)
        if statement in with_warnings:
            # Otherwise warnings are errors, as in the tests of this project.
            text += "\npytestmark = pytest.mark.filterwarnings('default')\n"
        (pytester.path / f"{name}.py").write_text(text)
    (pytester.path / "application.py").write_text(CODE)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=len(statements))
    parts = re.split(r"^_+ (test_\d+) _+$|^=+ .* =+$", result.stdout.str(), flags=re.MULTILINE)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        if name is not None:
            known_failures[files[name]] = text.splitlines()
    assert known_failures.keys() == set(statements)
    return known_failures


@pytest.mark.parametrize("statement", TYPOS)
def test_a_typo_in_a_test_is_answered_with_the_nearest_name(
    statement: str, failures: dict[str, list[str]]
) -> None:
    pytest.LineMatcher(failures[statement]).fnmatch_lines(
        [f"E  *{TYPOS[statement].removeprefix('*')}"]
    )


@pytest.mark.parametrize("statement", WITHOUT_HINT)
def test_a_failure_has_no_hint_without_a_reason(
    statement: str, failures: dict[str, list[str]]
) -> None:
    output = "\n".join(failures[f"{statement}; assert False"])
    hints = ("were joined", "is data, not", "is a text, not", "has no vector", "was found")
    for hint in (*hints, "is one chunk"):
        assert hint not in output


@pytest.mark.parametrize("statement", MISUSES)
def test_the_failure_of_a_misuse_says_what_to_write(
    statement: str, failures: dict[str, list[str]]
) -> None:
    pytest.LineMatcher(failures[statement]).fnmatch_lines([MISUSES[statement]])


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("strict('eror')", "*Unknown level 'eror'; did you mean 'error'? It must be off, warn or*"),
        ("strict('x')", "*Unknown level 'x'. It must be off, warn or error. *"),
        (
            "cassette('a', record='onec')",
            "*Unknown record mode 'onec'; did you mean 'once'? It must be one of none, once, *",
        ),
        ("cassette('a', record='x')", "*Unknown record mode 'x'. It must be one of none, *"),
    ],
)
def test_a_typo_in_a_marker_is(marker: str, message: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.llm_mock_{marker}\ndef test_it(): pass")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("strict=eror", "'eror' is not supported; did you mean 'error'? Write off, warn or error."),
        ("http=x", "'x' is not supported. Write answer, error or off."),
    ],
)
def test_a_typo_in_a_setting_is(setting: str, message: str, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("-o", f"llm_mock_{setting}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: ini llm_mock_{setting.partition('=')[0]} = {message}"])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("llm_mock_hst", "llm_mock_hst; did you mean 'llm_mock_hosts'? The command *"),
        ("llm_mok_strict", "llm_mok_strict; did you mean 'llm_mock_strict'? *"),
        ("lm_mock_strict", "lm_mock_strict; did you mean 'llm_mock_strict'? *"),
        ("llm_mock_mode", "llm_mock_mode; did you mean 'llm_mock'? *"),
        ("llm_mock_cassette_mode", "llm_mock_cassette_mode; did you mean 'llm_mock_record'? *"),
        # Only the beginning is that of a key.
        ("llm_mock_api_key", "llm_mock_api_key. The command *"),
        ("llm_mock_zzzzzzzzzzzzzzzz", "llm_mock_zzzzzzzzzzzzzzzz. The command *lists the keys."),
    ],
)
def test_a_typo_in_the_name_of_a_setting_ends_the_run(
    key: str, message: str, pytester: pytest.Pytester
) -> None:
    pytester.makeini(f"[pytest]\n{key} = error")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: tox.ini:2: Unknown ini key {message}"])


def test_settings_and_markers_of_others_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_slow = true\nllm_mock_other = true\nllm_mock_strict = error")
    pytester.makeconftest("def pytest_addoption(parser): parser.addini('llm_mock_other', '')")
    pytester.makepyfile("import pytest\n@pytest.mark.llm_slow\ndef test_it(): pass")
    pytester.runpytest("-W", "default").assert_outcomes(passed=1, warnings=2)


@pytest.mark.parametrize("name", ["mok_strict", "mock_repaet"])
def test_a_typo_in_the_name_of_a_marker_is(name: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.llm_{name}\ndef test_it(): pass")
    result = pytester.runpytest("-W", "default")
    result.assert_outcomes(errors=1, warnings=1)
    meant = "strict" if "strict" in name else "repeat"
    message = f"Unknown marker llm_{name}; did you mean 'llm_mock_{meant}'?  (*.py:2)"
    result.stdout.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("marker", "arguments"),
    [
        ("llm_mock(model='gpt-4o', reply='Paris')", "'gpt-4o', 'Paris'"),
        ("llm_mock('gpt-4o', 'Paris')", "'gpt-4o', 'Paris'"),
        ("llm_mock('Paris', model='gpt-4o')", "'gpt-4o', 'Paris'"),
        ("llm_mock", "model, reply"),
        ("llm_mock({'gpt-4o': 'Paris'})", "model, reply"),
        ("llm_mock({'gpt-4o': 'Paris'}, 5)", "model, reply"),
        ("llm_mock_response('Hi')", "model, reply"),
        ("llm_mock_reply(model='m', text=5)", "'m', 5"),
        ("llm_mock_set('m', 'Hi')", "'m', 'Hi'"),
        ("llm_mock_set_error('Hi')", "model, reply"),
        ("llm_mock_script('m', 'Hi', 'you')", "model, reply"),
    ],
)
def test_a_marker_for_a_reply_is_told_that_there_is_none(
    marker: str, arguments: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{marker}\ndef test_it(): pass")
    result = pytester.runpytest("-W", "default")
    result.assert_outcomes(errors=1, warnings=1)
    advice = (
        "Markers cannot configure replies: request the fixture mock_llm_responses and write "
        f"mock_llm_responses.set({arguments}). Markers: llm_live, llm_mock_strict, "
        "llm_mock_misbehaviour, llm_mock_cassette, llm_mock_budget, llm_mock_repeat."
    )
    name = marker.partition("(")[0]
    result.stdout.fnmatch_lines([f"Unknown marker {name}. {advice}  (*.py:2)"])


@pytest.mark.parametrize("name", ["llm_mock_server", "llm_mock_cassette_config"])
def test_a_fixture_as_a_marker_is_told_where_it_belongs(
    name: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{name}\ndef test_it(): pass")
    result = pytester.runpytest("-W", "default")
    result.assert_outcomes(errors=1, warnings=1)
    advice = (
        "It is a fixture: add it to the parameters of the test, or write "
        f"@pytest.mark.usefixtures('{name}')."
    )
    result.stdout.fnmatch_lines([f"Unknown marker {name}. {advice}  (*.py:2)"])


@pytest.mark.parametrize("name", ["mock_llm", "mock_llm_responses"])
def test_a_marker_that_may_be_one_of_the_project_is_left_alone(
    name: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{name}('m', 'Hi')\ndef test_it(): pass")
    pytester.runpytest("-W", "default").assert_outcomes(passed=1, warnings=1)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("mock_llm_response", "; did you mean 'mock_llm_responses'?"),
        ("llm_mok", "; did you mean 'mock_llm_responses'?"),
        ("mock_llm", "; did you mean 'mock_llm_responses'?"),
        ("mock_openai", "; did you mean 'mock_llm_responses'?"),
        ("mock_anthropic", "; did you mean 'mock_llm_responses'?"),
        ("llm_mock_responses", "; did you mean 'mock_llm_responses'?"),
        ("llm_mock_casette", "; did you mean 'llm_mock_cassette'?"),
        ("database", ""),
    ],
)
def test_a_typo_in_the_name_of_a_fixture_is(
    name: str, suggestion: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(f"def test_it({name}): pass")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    lines = [f"E       fixture '{name}' not found{suggestion}", ">  *available fixtures: *"]
    result.stdout.fnmatch_lines(lines, consecutive=True)


def test_a_fixture_that_needs_itself_is_no_typo(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n@pytest.fixture\ndef llm_mok(llm_mok): pass\ndef test_it(llm_mok): pass"
    )
    result = pytester.runpytest()
    result.stdout.fnmatch_lines(["E  *recursive dependency involving fixture 'llm_mok' detected"])


@pytest.mark.parametrize(
    ("argument", "is_told"), [("mock_llm_responses", True), ("tmp_path", False)]
)
def test_a_method_of_unittest_that_takes_a_fixture_is_told_how_to_get_it(
    argument: str, is_told: bool, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"""
        import unittest

        class TestIt(unittest.TestCase):
            def test_it(self, {argument}):
                pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    told = (
        "pytest passes no fixtures to the methods of a unittest.TestCase. Write a "
        "@pytest.fixture(autouse=True) in the class that takes mock_llm_responses and stores it "
        "in an attribute (llm-mock docs async-and-unittest)."
    )
    assert (told in result.stdout.str()) is is_told


def test_every_fixture_of_the_plugin_is_suggested(pytester: pytest.Pytester) -> None:
    listed = pytester.runpytest("--fixtures").stdout.str()
    ours = re.findall(r"^(\w+).* -- .*llm_mock/plugin/fixtures.py", listed, re.MULTILINE)
    assert sorted(ours) == sorted(FIXTURES)


def test_a_typo_in_an_import_of_a_test_file_is(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_ours="from llm_mock import Replay",
        test_other="from json import lods",
        test_error="1 / 0",
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=3)
    message = "E   ImportError: cannot import name 'Replay' from 'llm_mock' (*); did you *'Reply'?"
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*'lods'*; did you mean*")
    assert result.stdout.str().count("'Reply'?") == 1


def test_a_typo_in_the_driver_of_plain_language_tests_is(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--llm", "-o", "llm_mock_spec_driver=claude-cod")
    assert "must be one of llm, claude-code; did you mean 'claude-code'?" in result.stderr.str()


def test_each_missing_key_has_the_key_that_is_near_it() -> None:
    schema = {
        "properties": {"name": {}, "city": {}, "country": {}},
        "required": ["name", "city", "country"],
    }
    assert list(find_violations(schema, {"nam": 1, "xyz": 2, "country": 3})) == [
        "the answer: 'name' is a required property, but 'nam' was given; did you mean 'name'?",
        "the answer: 'city' is a required property",
    ]
    # A key that the schema knows is not misspelt.
    assert list(find_violations({**schema, "required": ["nam"]}, {"name": 1})) == [
        "the answer: 'nam' is a required property"
    ]
    assert list(find_violations({"type": "string"}, {"a": 1})) == [
        "the answer: {'a': 1} is not of type 'string'"
    ]


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--llm-mock-repot=x.html", "'--llm-mock-repot'; did you mean '--llm-mock-report'?"),
        ("--llm-mock-liv", "'--llm-mock-liv'; did you mean '--llm-mock-live'?"),
        ("--llm-verbos", "'--llm-verbos'; did you mean '--llm-verbose'?"),
        ("--record", "'--record'; did you mean '--llm-mock-record'?"),
        (
            "--llm-mock-strict=error",
            "'--llm-mock-strict'; it is an ini key: write -o llm_mock_strict=…",
        ),
    ],
)
def test_a_typo_in_an_option_is(option: str, hint: str, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"*error: unrecognized arguments: {option}", f"  llm-mock: unknown option {hint}"]
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--llm-mock-zzzzzz",),
        ("--recrod",),
        ("--mock-live",),
        ("--llm-mock-reprot-of-ours=1", "--foo"),
        ("--llm-mock-live", "--foo"),
        ("--foo", "--", "--llm-mock-liv"),
    ],
)
def test_no_option_is_suggested_in_place_of(
    arguments: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        "def pytest_addoption(parser): parser.addoption('--llm-mock-reprot-of-ours')"
    )
    result = pytester.runpytest(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*error: unrecognized arguments: *"])
    result.stderr.no_fnmatch_line("*llm-mock: *")


def test_options_of_a_conftest_are_used_without_a_hint(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("def pytest_addoption(parser): parser.addoption('--llm-mock-reprot')")
    pytester.makepyfile("def test_it(request): assert request.config.option.llm_mock_reprot == '1'")
    result = pytester.runpytest("--llm-mock-reprot=1")
    result.assert_outcomes(passed=1)
