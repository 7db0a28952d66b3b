"""Checks as functions: each returns the check that YAML loads under the same name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from llm_mock.agents.result import ExpectedCall, ExpectedModel, Mode, parse_expected_call
from llm_mock.checks import functions, models, runs, text_scores, texts
from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.checks.javascript_functions import JavaScriptAssertion
from llm_mock.checks.subjects import SHOWN_OUTPUT, read_subject
from llm_mock.checks.trajectories import TrajectoryAssertion, TrajectoryStep
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import described, indent_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

# For the whole module: an invalid check is reported on the line that makes it.
__tracebackhide__ = True
_NOT_GIVEN = object()


_MARKS = {"passed": "✓", "failed": "✗", "not checked": "? not checked:"}


class TextOptions(TypedDict, total=False):
    """Options of all checks of a text."""

    transform: str
    """A transform of the text before the check: a path into its JSON, or a function."""
    of: Literal["output", "prompt", "system"]
    """The text to check; by default the output."""


def check(subject: object, *checks: BaseAssertion) -> None:
    """Assert that all checks hold for a subject, and report all that do not.

    Args:
        subject: a text, data, an `AgentResult`, a response of `llm` or a `Call` of a mock.
        checks: the checks, such as `contains("Hello")`; at least one.

    Raises:
        AssertionError: a check does not hold, or cannot run.
        TypeError: no check is passed, or the subject has an unsupported type.
    """
    __tracebackhide__ = True
    for item in checks:
        if not isinstance(item, BaseAssertion):
            raise TypeError(
                "A check must be one of llm_mock.checks, such as contains('Hello'), "
                f"not {described(item)}."
            )
    if not checks:
        raise TypeError("No checks: pass at least one, such as check(result, contains('Hello')).")
    findings = [item(subject) for item in checks]
    bad = [finding for finding in findings if not finding]
    if not bad:
        return
    lines = [f"{len(bad)} of {len(findings)} checks did not pass:"]
    for finding in findings:
        reason = indent_text(finding.reason, "    ")
        lines.append(f"  {_MARKS[finding.outcome]} {reason}")
    output, _ = read_subject(subject)
    lines.append(f"output: {indent_text(output, '  ', SHOWN_OUTPUT)}")
    raise AssertionError("\n".join(lines))


def contains(
    value: str, *, case_insensitive: bool = False, **options: Unpack[TextOptions]
) -> texts.ContainsAssertion:
    """Check that the output contains a text."""
    return texts.ContainsAssertion(value=value, case_insensitive=case_insensitive, **options)


def icontains(value: str, **options: Unpack[TextOptions]) -> texts.IContainsAssertion:
    """Check that the output contains a text, ignoring case."""
    return texts.IContainsAssertion(value=value, **options)


def contains_any(
    values: Sequence[str], *, case_insensitive: bool = False, **options: Unpack[TextOptions]
) -> texts.ContainsAnyAssertion:
    """Check that the output contains at least one of these texts."""
    return texts.ContainsAnyAssertion(
        values=_list_texts(values), case_insensitive=case_insensitive, **options
    )


def contains_all(
    values: Sequence[str], *, case_insensitive: bool = False, **options: Unpack[TextOptions]
) -> texts.ContainsAllAssertion:
    """Check that the output contains all of these texts."""
    return texts.ContainsAllAssertion(
        values=_list_texts(values), case_insensitive=case_insensitive, **options
    )


def equals(
    value: str, *, case_insensitive: bool = False, **options: Unpack[TextOptions]
) -> texts.EqualsAssertion:
    """Check that the output equals a text; white space around both is ignored."""
    return texts.EqualsAssertion(value=value, case_insensitive=case_insensitive, **options)


def starts_with(
    value: str, *, case_insensitive: bool = False, **options: Unpack[TextOptions]
) -> texts.StartsWithAssertion:
    """Check that the output starts with a text."""
    return texts.StartsWithAssertion(value=value, case_insensitive=case_insensitive, **options)


def regex(pattern: str, **options: Unpack[TextOptions]) -> texts.RegexAssertion:
    """Check that a pattern matches anywhere in the output, as with `re.search`."""
    return texts.RegexAssertion(pattern=pattern, **options)


def json(
    path: str | None = None,
    *,
    value: object = _NOT_GIVEN,
    schema: JSONObject | None = None,
    **options: Unpack[TextOptions],
) -> texts.JSONAssertion:
    """Check that the output is JSON.

    Args:
        path: the path of the part that must exist, such as `items[0].price`.
        value: the value that it must equal.
        schema: the JSON Schema that it must match.
        options: see `TextOptions`.
    """
    return texts.JSONAssertion(**_choose_given(path, value, schema), **options)


def contains_json(
    path: str | None = None,
    *,
    value: object = _NOT_GIVEN,
    schema: JSONObject | None = None,
    **options: Unpack[TextOptions],
) -> texts.ContainsJSONAssertion:
    """Check that the output contains a JSON object or list; see `json` for the arguments."""
    return texts.ContainsJSONAssertion(**_choose_given(path, value, schema), **options)


def similar(
    value: str,
    *,
    threshold: float = 0.8,
    model: str | None = None,
    **options: Unpack[TextOptions],
) -> models.SimilarAssertion:
    """Check that the output is similar in meaning to a text, by embeddings.

    Args:
        value: the text.
        threshold: the lowest cosine similarity.
        model: an embedding model of `llm`; by default the default model of `llm`.
        options: see `TextOptions`.
    """
    return models.SimilarAssertion(value=value, threshold=threshold, model=model, **options)


def levenshtein(
    value: str, *, max_distance: int = 5, **options: Unpack[TextOptions]
) -> text_scores.LevenshteinAssertion:
    """Check that the output differs from a text by at most `max_distance` edited characters."""
    return text_scores.LevenshteinAssertion(value=value, max_distance=max_distance, **options)


def rouge_n(
    value: str, *, n: int = 1, threshold: float = 0.75, **options: Unpack[TextOptions]
) -> text_scores.RougeAssertion:
    """Check that the output shares words with a text.

    Args:
        value: the text.
        n: the number of words in each sequence that is compared.
        threshold: the lowest F-score of ROUGE-N.
        options: see `TextOptions`.
    """
    return text_scores.RougeAssertion(value=value, n=n, threshold=threshold, **options)


def bleu(
    value: str | Sequence[str], *, threshold: float = 0.5, **options: Unpack[TextOptions]
) -> text_scores.BleuAssertion:
    """Check that the output resembles a reference translation, or one of several, by BLEU."""
    references = value if isinstance(value, str) else tuple(value)
    return text_scores.BleuAssertion(value=references, threshold=threshold, **options)


def judge(
    criteria: str,
    *,
    threshold: float | None = None,
    model: str | None = None,
    **options: Unpack[TextOptions],
) -> models.LLMJudgeAssertion:
    """Check that the output meets criteria, according to a judge model.

    Args:
        criteria: the criteria in plain language.
        threshold: the lowest passing score; by default the judge gives a yes or no.
        model: the judge model; by default the project's (ini `llm_mock_judge`).
        options: see `TextOptions`.
    """
    return models.LLMJudgeAssertion(criteria=criteria, threshold=threshold, model=model, **options)


def python(
    function: str, *, threshold: float = 1.0, **options: Unpack[TextOptions]
) -> functions.PythonAssertion:
    """Check the output with a function of the project.

    Args:
        function: `checks.py:is_polite` for a file in the working directory, or
            `package.module:is_polite`.
        threshold: the lowest passing score, for a function that returns one.
        options: see `TextOptions`.
    """
    return functions.PythonAssertion(function=function, threshold=threshold, **options)


def javascript(
    code: str | None = None,
    *,
    function: str | None = None,
    threshold: float | None = None,
    config: JSONObject | None = None,
    **options: Unpack[TextOptions],
) -> JavaScriptAssertion:
    """Check the output with JavaScript, which needs Node.js.

    Args:
        code: an expression such as `output.length < 300`, or several lines with `return`.
        function: a function in a file of the working directory, in place of `code`: `checks.js`
            for the default export, or `checks.js:isPolite`.
        threshold: the lowest passing number; by default every number above 0 passes.
        config: settings for the code, `context.config`.
        options: see `TextOptions`.
    """
    return JavaScriptAssertion(
        code=code, function=function, threshold=threshold, config=config or {}, **options
    )


def tool_called(tool: str, /, **arguments: object) -> runs.ToolCalledAssertion:
    """Check that a tool was called with these arguments, and possibly others."""
    return runs.ToolCalledAssertion(name=tool, arguments=arguments)


def tool_calls(
    calls: Sequence[ExpectedCall],
    mode: Mode = "strict",
    *,
    allow_repeats: bool = False,
) -> runs.ToolCallsAssertion:
    """Check that the tool calls match; see `AgentResult.tool_calls_match` for the arguments."""
    __tracebackhide__ = True
    expected = []
    for call in calls:
        name, arguments = parse_expected_call(call)
        expected.append(runs.ExpectedToolCall(name=name, arguments=dict(arguments)))
    return runs.ToolCallsAssertion(calls=tuple(expected), mode=mode, allow_repeats=allow_repeats)


def trajectory(
    steps: Sequence[ExpectedCall | ExpectedModel] = (),
    mode: Mode = "strict",
    *,
    max_steps: int | None = None,
) -> TrajectoryAssertion:
    """Check the order of model calls and their tool calls.

    Args:
        steps: tool calls as for `tool_calls`, and `ExpectedModel("gpt-5*")` for a model call.
        mode: the comparison, as for `tool_calls`.
        max_steps: the largest number of steps.
    """
    __tracebackhide__ = True
    expected = []
    for step in steps:
        name, arguments = parse_expected_call(step)
        if isinstance(step, ExpectedModel):
            expected.append(TrajectoryStep(model=name.removeprefix(ExpectedModel.PREFIX)))
        else:
            expected.append(TrajectoryStep(name=name, arguments=dict(arguments)))
    return TrajectoryAssertion(steps=tuple(expected), mode=mode, max_steps=max_steps)


def reasoning_budget(max_reasoning_tokens: int) -> runs.ReasoningBudgetAssertion:
    """Check that the run used at most this number of reasoning tokens."""
    return runs.ReasoningBudgetAssertion(max_reasoning_tokens=max_reasoning_tokens)


def max_tokens(value: int) -> runs.MaxTokensAssertion:
    """Check that the run used at most this number of tokens, input and output together."""
    return runs.MaxTokensAssertion(value=value)


def max_latency(value: float) -> runs.MaxLatencyAssertion:
    """Check that the run took at most this number of seconds, including tools."""
    return runs.MaxLatencyAssertion(value=value)


def max_cost(value: float) -> runs.MaxCostAssertion:
    """Check that the run cost at most this amount in US dollars."""
    return runs.MaxCostAssertion(value=value)


def _list_texts(values: Sequence[str]) -> tuple[str, ...]:
    # A single text would be a sequence of letters.
    return () if isinstance(values, str) else tuple(values)


def _choose_given(path: str | None, value: object, schema: JSONObject | None) -> JSONObject:
    given: JSONObject = {"path": path, "schema": schema}
    # null is a value, too.
    if value is not _NOT_GIVEN:
        given["value"] = value
    return given
