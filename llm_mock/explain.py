"""The wording of every failure message: what was asked, what was there, what to do.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.support.text import columns, compact, described, dollars, shorten, shorten_name

if TYPE_CHECKING:
    from decimal import Decimal

    from llm_mock.core.records import CallRecord, ModelHistory
    from llm_mock.core.script import Matchers, QueuedReply

SHOWN_CALLS = 20


def call_head(call: CallRecord) -> str:
    """What one recorded call asked: model, prompt, schema."""
    name = call["kwargs"]["schema"]
    asked = f"{shorten_name(call['model_id'])}  {shorten(call['prompt'])}"
    return asked + (f"  schema {schema(name)}" if name else "")


def call_line(call: CallRecord) -> str:
    """One recorded call: model, prompt, schema, and the reply or the error."""
    asked = call_head(call)
    if call["error"] is None:
        return f"{asked}  → {shorten(call['response'])}"
    return f"{asked}  → raised: {shorten_name(call['error'])}"


def call_list(calls: Sequence[CallRecord]) -> str:
    """Numbered calls, a line each; of very many the last ones."""
    if not calls:
        return "  (none)"
    first = max(0, len(calls) - SHOWN_CALLS)
    lines = [f"  {number}. {call_line(call)}" for number, call in enumerate(calls[first:], start=first + 1)]
    return "\n".join([f"  … {first} earlier calls", *lines] if first else lines)


def calls_by_model(models: Mapping[str, ModelHistory]) -> str:
    """Every model with the number of its calls and the start of each prompt."""
    lines = []
    for name, model in models.items():
        lines.append(f"\nModel {name} called {model.prompt_count} times")
        for call in model.call_history:
            cut = "..." if call["prompt_length"] > 50 else ""
            lines.append(f"  - {call['prompt'][:50]}{cut}")
    return "\n".join(lines)


def totals(sums: Mapping[str, Mapping[str, int]], costs: Mapping[str, tuple[Decimal | None, int]] | None = None) -> str:
    """The calls of a run, a line for each model, in columns; with what each model cost, where that is counted."""
    rows: list[tuple[str, ...]] = [("model", "calls", "tokens in", "tokens out", "errors", "answered by default")]
    names = ("calls", "input_tokens", "output_tokens", "errors", "unconfigured")
    rows += [(shorten_name(model), *(str(sums[model][name]) for name in names)) for model in sorted(sums)]
    if costs is not None:
        shown = ["cost", *(dollars(costs.get(model, (None, 0))[0]) for model in sorted(sums))]
        rows = [(*row, cost) for row, cost in zip(rows, shown, strict=True)]
    return "\n".join(columns(rows, leading=1))


def were_made(calls: Sequence[CallRecord]) -> str:
    """The calls that were made, under a heading."""
    return f"Calls that were made:\n{call_list(calls)}"


def _other_models(model: str, all_calls: Sequence[CallRecord]) -> str:
    others = sorted({call["model_id"] for call in all_calls})
    named = ", ".join(map(shorten_name, others)) if others else "none"
    return f"Model {model!r} was never called. Models that were called: {named}."


def no_such_call(model: str, calls: Sequence[CallRecord], prompt_contains: str | None, schema_name: str | None) -> str:
    """No call of the model fits what `assert_called_with` asked for."""
    if not calls:
        return f"Model {model!r} was never called. Does the code under test ask for this model?"
    wanted = [f"a prompt that contains {prompt_contains!r}"] if prompt_contains is not None else []
    wanted += [f"the schema {schema(schema_name)}"] if schema_name else []
    return f"No call of model {model!r} had {' and '.join(wanted)}.\n{were_made(calls)}"


def wrong_call_count(model: str, times: int, calls: Sequence[CallRecord], all_calls: Sequence[CallRecord]) -> str:
    """A model was called more or less often than expected."""
    made = were_made(calls) if calls else _other_models(model, all_calls)
    return f"Expected {times} calls, got {len(calls)} of model {model!r}.\n{made}"


def no_prompt_contains(model: str, text: str, calls: Sequence[CallRecord], all_calls: Sequence[CallRecord]) -> str:
    """No prompt sent to a model contains a text."""
    made = were_made(calls) if calls else _other_models(model, all_calls)
    return f"No prompt contained {text!r}.\n{made}"


def unused_replies(unused: Sequence[QueuedReply], calls: Sequence[CallRecord]) -> str:
    """Replies were queued that nobody asked for."""
    lines = []
    for reply in unused:
        lines.append(f"  - {queued_reply(reply)}")
        misses = [reply.misses(call) for call in calls]
        if nearest := min((miss for miss in misses if miss), key=len, default=None):
            lines.append(f"    nearest call: {misses.index(nearest) + 1}, but {' and '.join(nearest)}")
    count = "One queued reply was" if len(unused) == 1 else f"{len(unused)} queued replies were"
    return (
        f"{count} not asked for:\n"
        + "\n".join(lines)
        + "\nRemove the add(), correct what it wants, or say optional=True for a reply that may be unused."
    )


def queued_reply(reply: QueuedReply) -> str:
    """A queued reply on one line: what it wants, and what it answers."""
    wanted = [shorten_name(reply.model), *([f"schema {schema(reply.schema)}"] if reply.schema else [])]
    wanted += [str(reply.matchers)] if reply.matchers else []
    times = f"  ({reply.remaining} times)" if reply.remaining > 1 else ""
    return f"{'  '.join(wanted)}  → {_answer(reply.answer)}{times}"


def standing_answer(model: str, schema_asked: str | None, answer: Any) -> str:
    """A standing answer on one line."""
    wanted = f"  schema {schema(schema_asked)}" if schema_asked else ""
    return f"{shorten_name(model)}{wanted}  → {_answer(answer)}"


def _answer(answer: Any) -> str:
    error = getattr(answer, "error", None)
    if error is None:
        return shorten(getattr(answer, "outcome", answer))
    raised = error.__name__ if isinstance(error, type) else shorten_name(repr(error))
    return f"raises {raised}" if answer.error_after is None else f"{shorten(answer.outcome)}, then raises {raised}"


def schema(name: str | None) -> str:
    """The name of a schema on one line."""
    return shorten_name(name) if name else "none"


def matchers(wanted: Matchers) -> str:
    """What a queued reply wants of a call."""
    parts = []
    if wanted.prompt is not None:
        parts.append(f"prompt {text_matcher(wanted.prompt)}")
    if wanted.system is not None:
        parts.append(f"system {text_matcher(wanted.system)}")
    for name in ("tools", "turn", "attachments", "options"):
        value = getattr(wanted, name)
        if value is not None:
            parts.append(f"{name} {value if isinstance(value, int) else shorten(value)}")
    return ", ".join(parts)


def text_matcher(matcher: Any) -> str:
    """What a matcher wants of a text."""
    if isinstance(matcher, str):
        return f"contains {shorten(matcher, 60)}"
    if hasattr(matcher, "pattern"):
        return f"matches /{matcher.pattern}/"
    return f"satisfies {compact(matcher)}"


def unexpected_call(call: CallRecord, near_misses: Iterable[tuple[list[str], str]]) -> str:
    """A call that no configured reply fits."""
    configured = sorted(near_misses, key=lambda miss: len(miss[0]))
    lines = [f"No reply was configured for this call:\n  {call_head(call)}"]
    if not configured:
        lines.append("No replies were configured at all.")
    else:
        lines.append("Configured replies:")
        lines += [f"  - {text}" for _, text in configured[:SHOWN_CALLS]]
        misses, text = configured[0]
        lines.append(f"The nearest miss is {text}\n  but {' and '.join(misses)}.")
    lines.append('Configure one with mock_llm_responses.set() or add(), or any other call with set("*", …).')
    return "\n".join(lines)


def schema_violations(call: CallRecord, problems: Sequence[str], text: str) -> str:
    """A scripted reply breaks the schema that was asked for."""
    lines = "\n".join(f"  - {problem}" for problem in problems[:10])
    return (
        f"The reply scripted for {call['model_id']!r} breaks the schema {schema(call['kwargs']['schema'])} "
        f"that the call asked for:\n{lines}\nThe reply: {shorten_name(text, 300)}\n"
        "Correct it, or mark it with Reply(…, invalid=True) if it is wrong on purpose."
    )


def unknown_tool(name: str, offered: Sequence[str]) -> str:
    """A scripted call of a tool that was not offered."""
    there = f"Offered were: {', '.join(offered)}." if offered else "No tools were offered."
    return f"The reply calls the tool {name!r}, which the call does not offer. {there} {_BROKEN_ON_PURPOSE}"


def bad_tool_arguments(name: str, problems: Sequence[str]) -> str:
    """A scripted call of a tool whose arguments its schema refuses."""
    lines = "\n".join(f"  - {problem.replace('the answer', 'the arguments', 1)}" for problem in problems)
    return f"The reply calls the tool {name!r} with arguments that it does not take:\n{lines}\n{_BROKEN_ON_PURPOSE}"


_BROKEN_ON_PURPOSE = "Correct the reply, or use BrokenToolCall where the model is to be wrong on purpose."


def llm_too_old(feature: str, needed: str, installed: str) -> str:
    """A feature needs a newer `llm`."""
    return f"{feature} needs llm {needed} or newer, and llm {installed} is installed: pip install 'llm>={needed}'"


def not_sendable(reply: str, error: Exception) -> str:
    """A configured reply cannot be given to another process."""
    return (
        f"This reply cannot be sent to another process: {reply} ({type(error).__name__}: {error}). Text, data and "
        "exceptions can; a function or a matcher only if it can be imported by its name."
    )


def not_received(error: Exception) -> str:
    """A process could not read the replies that it was sent."""
    return (
        f"The replies that the test configured cannot be read in this process: {type(error).__name__}: {error}. "
        "Functions and exceptions must be importable here."
    )


def real_model_call(model: str, test: str) -> str:
    """A real model was about to execute."""
    return (
        f"The real model {model!r} was about to execute in {test}. It was made by hand, or obtained before the mock "
        f"was there. Ask llm.get_model for it, or mark the test with @pytest.mark.llm_live, or name the model in ini "
        "llm_mock_passthrough; with ini llm_mock_real_models = answer the mock answers for it."
    )


def bad_ini_choice(name: str, value: str, values: Sequence[str]) -> str:
    """An ini key that has a few values was given another one."""
    return f"ini {name} = {value!r}: write {' or '.join(values)}."


def no_reply(value: Any) -> str:
    """Something was configured that can be no reply."""
    return (
        f"This is not a reply: {described(value)}. A reply is a str, a dict or a list, a pydantic instance, an "
        "exception or its class, a Reply, or a function of the prompt that returns one of these."
    )


def not_json(value: Any, error: Exception) -> str:
    """A structured reply holds something that has no JSON form."""
    for path, item in _leaves(value, "reply", 0):
        if not (item is None or isinstance(item, (str, int, float)) or hasattr(item, "model_dump")):
            return (
                f"{path} is no JSON value: {described(item)}. A structured reply holds only what a model can send: "
                "str, int, float, bool, None, and dicts and lists of these. Convert it first."
            )
    return f"The structured reply has no JSON form: {error}."


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > 50:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key is not None and not isinstance(key, (str, int, float)):
                yield f"A key of {path}", key
            yield from _leaves(item, f"{path}[{key!r}]", depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]", depth + 1)
    else:
        yield path, value


def no_responses(value: Any) -> str:
    """`create_mock_get_model` was given something else than a mapping."""
    return f"This is not a mapping of model names to replies: {described(value)}. For any model write {{'*': reply}}."


def no_schema(value: Any) -> str:
    """Something was given as a schema that is none."""
    return f"This is not a schema: {described(value)}. Give a pydantic class, a JSON-schema dict, or the name of one."


def no_text(value: Any) -> str:
    """The text of a reply is no text."""
    return f"This is not text: {described(value)}. Reply(text) takes a str; a structured reply is Reply(data=…)."


def no_usage(value: Any) -> str:
    """The usage of a reply is none."""
    return (
        f"This is not usage: {described(value)}. Give an llm.Usage, or a dict with input_tokens, output_tokens "
        "and, if wanted, details."
    )


def no_tool_call(value: Any) -> str:
    """A tool call of a reply is none."""
    return f"This is not a tool call: {described(value)}. Give llm.ToolCall or BrokenToolCall objects, in a list."


def no_model_name(value: Any) -> str:
    """Something was given where the name of a model belongs."""
    return f"This is not the name of a model: {described(value)}. The model comes first, then what it answers."


def no_exception(value: Any) -> str:
    """Something was configured as an error that cannot be raised."""
    return (
        f"This is not an exception: {described(value)}. Give an instance or a class, such as "
        f'ConnectionError("no route to host"). For an answer that describes an error use set().'
    )


def exception_needs_arguments(error: type[BaseException], problem: Exception) -> str:
    """An exception class was given that cannot be instantiated without arguments."""
    return f"{error.__qualname__} cannot be raised without arguments ({problem}). Give an instance of it."


def frozen_reply(name: str) -> str:
    """Somebody assigned to a field of a reply."""
    return f"A Reply cannot be changed, so {name} cannot be assigned. Make a new Reply."


def two_contents(names: Sequence[str]) -> str:
    """A `Reply` was given several contents."""
    return f"A Reply has one content, but {' and '.join(names)} were given."


def bad_error_after(error_after: Any) -> str:
    """`error_after` without an error, or below 0."""
    return f"error_after={error_after!r} counts the chunks before error: give an error too, and a number from 0."


def no_chunk(chunk: Any) -> str:
    """A chunk of a streamed reply is no text and no stream event."""
    return f"This is not a chunk: {described(chunk)}. The chunks of a Reply are str, or llm.parts.StreamEvent objects."


def bad_times(times: int) -> str:
    """A queued reply is to be used less than once."""
    return f"times={times!r}: a queued reply is used at least once."


def queued_for_the_run(model: str) -> str:
    """`add` was called on the mock of the whole run."""
    return (
        f"add({model!r}, …) in pytest_llm_mock_configure: a queued reply is used up by one test, so which one would "
        "depend on their order. Use set() here, and add() in the test."
    )


def function_returned_no_reply(function: Any, result: Any) -> str:
    """A reply function returned something that is no reply."""
    hint = " Is a return statement missing?" if result is None else ""
    return (
        f"The reply function {compact(function)} returned what is not a reply: {described(result)}.{hint} "
        "It may return a str, a dict or a list, a pydantic instance, an exception, or a Reply."
    )


def coroutine_in_running_loop(coroutine: Any) -> str:
    """A coroutine function was configured for a synchronous call inside a running event loop."""
    return (
        f"The reply function {compact(coroutine)} is async, but the model was called synchronously inside a running "
        "event loop, where it cannot be awaited. Use a plain function, or call the model from llm.get_async_model()."
    )


def legacy_mock(modules: Iterable[str], guide: str) -> str:
    """A module is still replaced by the project's old mock."""
    return (
        f"Old mock detected in {', '.join(modules)}: the module is replaced as a whole, so its code is not tested. "
        f"Let the module be imported normally and set replies with mock_llm_responses. See {guide}."
    )


def bad_ini_boolean(name: str, value: Any) -> str:
    """An ini key that is true or false was given something else."""
    return f"ini {name} = {value!r}: write true or false (also yes/no, on/off, 1/0)."


def bad_legacy_module(entry: str) -> str:
    """An entry of the list of old mocks has no `=`."""
    return (
        f"ini llm_mock_legacy_modules: {entry!r} should be module=Text, such as myapp.planner=FakePlanner: "
        "the module, and a text that its str() or the name of its type contains while the old mock replaces it."
    )


def skipped_live_test() -> str:
    """Why a test that wants a real model is skipped."""
    return "llm_live: this test calls a real model; run it with --llm-mock-live"


def bad_vector(vector: Any, dimensions: int) -> str:
    """Something was set as the vector of an embedding model that is none, or one of another length."""
    given = f"{len(vector)} values" if isinstance(vector, list) else "no list"
    return (
        f"This is not a vector of the model, but {given}: {shorten(vector)}. Give {dimensions} finite numbers, or "
        "assign to the model's dimensions first."
    )


def bad_dimensions(dimensions: Any, vectors: int) -> str:
    """The length of an embedding model's vectors cannot become this."""
    return (
        f"dimensions = {dimensions!r}: give a whole number from 1, before vectors of another length are set "
        f"({vectors} set so far)."
    )


def not_embeddable(item: Any) -> str:
    """Something was to be embedded that is neither text nor bytes."""
    return f"Only str and bytes can be embedded, not {described(item)}."


def bad_latency(name: str, value: Any, wanted: str) -> str:
    """A part of a latency is none."""
    return f"Latency({name}={described(value)}): give {wanted}."


def no_latency(value: Any) -> str:
    """Something was given as a latency that is none."""
    return f"This is not a latency: {described(value)}. Give a Latency(first_chunk=…, chunks_per_second=…, …)."


def cassette_beside_process() -> str:
    """Another process cannot use the cassette of a test."""
    return (
        "environment(): a cassette records and replays the calls of the test's own process, and this test has one. "
        "Configure the replies for the other process in a test without a cassette."
    )


def misbehaviour_needs_function(node: str) -> str:
    """The marker stands where no test can be run several times."""
    return f"llm_mock_misbehaviour runs plain test functions and methods of plain classes only, not {node}"


def live_with_misbehaviour() -> str:
    """A test is to call real models, which nothing can spoil."""
    return (
        "This test is marked llm_live and llm_mock_misbehaviour, but only mocked models can be made to misbehave: "
        "remove one of the two."
    )
