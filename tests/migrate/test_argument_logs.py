"""Fakes that keep the arguments of their calls: what is left, and what is not theirs.

`old/test_argument_logs.py` has what is rewritten.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

APPLICATION = """
import litellm
from llm import get_model
from openai import OpenAI

client = OpenAI()
"""
HEAD = """
import time
from types import SimpleNamespace as N
from unittest.mock import MagicMock, Mock, patch
import anthropic, litellm, openai
import app

def reply():
    return N(choices=[N(message=N(content="Hi"))])

"""
FUNCTION = """
def test_it():
    kept = {empty}
    def fake({parameters}):
        {line}
        return reply()
    with patch("{target}", fake):
        app.run()
    {after}
"""
CLIENT = """
class Completions:
    shared = []
    def __init__(self):
        self.calls = []
        self.name = "a"
    def create(self, **kwargs):
        {line}
        return reply()

class Client:
    def __init__(self):
        self.chat = N(completions=Completions())

def test_it():
    client = Client()
    app.run(client)
    {after}
"""
MEMBER = "app.client.chat.completions.create"


def rewrite(folder: Path, source: str, *, partial: bool = False) -> FileResult:
    (folder / "app.py").write_text(APPLICATION)
    path = folder / "test_app.py"
    return rewrite_file(
        path, source.encode(), lambda test, target: (), lambda name: name, partial=partial
    )


def migrate(folder: Path, source: str) -> tuple[str, str]:
    """Return what the new test does behind the call, and the reason if it is left."""
    result = rewrite(folder, f"{HEAD}{source}")
    reasons = [change.reason for change in result.manual_changes]
    body = result.after.rpartition("app.run(")[2].partition("\n")[2]
    lines = [line.strip() for line in body.splitlines()]
    return "\n".join(line for line in lines if line), "".join(reasons)


def migrate_function(folder: Path, **values: str) -> tuple[str, str]:
    defaults = {
        "empty": "{}",
        "parameters": "**kwargs",
        "line": "kept.update(kwargs)",
        "target": MEMBER,
        "after": "pass",
    }
    return migrate(folder, FUNCTION.format(**defaults | values))


BODY = "mock_llm_calls.last_call.request.body"
FIRST = "mock_llm_calls.calls[0].request.body"


@pytest.mark.parametrize("empty", ["{}", "dict()", '{"model": None}'])
@pytest.mark.parametrize(
    ("line", "after", "new"),
    [
        ("kept.update(kwargs)", 'kept["seed"] == 1', f'{BODY}["seed"] == 1'),
        ("kept.update(**kwargs)", 'kept["seed"] == 1', f'{BODY}["seed"] == 1'),
        ("kept.update({**kwargs})", '"seed" in kept', f'"seed" in {BODY}'),
        (
            "kept.update(kwargs)",
            '"seed" not in kept',
            'all("seed" not in call.request.body for call in mock_llm_calls.calls)',
        ),
        ("kept.update(kwargs)", 'kept.get("seed") == 1', f'{BODY}.get("seed") == 1'),
        ("kept.update(kwargs)", 'kept.get("stream") is True', f'{BODY}.get("stream") is True'),
        ("kept.update(kwargs)", "kept", "mock_llm_calls.calls"),
        ("kept.update(kwargs)", "not kept", "not mock_llm_calls.calls"),
        ('kept.update(model=kwargs["model"])', 'kept["model"] == "m"', f'{BODY}["model"] == "m"'),
        ('kept["all"] = kwargs', 'kept["all"]["seed"] == 1', f'{BODY}["seed"] == 1'),
        ('kept["all"] = kwargs.copy()', '"seed" not in kept["all"]', f'"seed" not in {BODY}'),
        ('kept["all"] = kwargs', 'kept["all"].get("seed") is None', f'{BODY}.get("seed") is None'),
        ('kept["all"] = kwargs', 'kept["all"] == {"n": 1}', f'{BODY} == {{"n": 1}}'),
        (
            'kept["texts"] = [each["content"] for each in kwargs["messages"]]',
            'kept["texts"] == ["Hi"]',
            f'[each["content"] for each in {BODY}["messages"]] == ["Hi"]',
        ),
        ('kept["seed"] = kwargs.get("seed")', 'kept["seed"] == 1', f'{BODY}.get("seed") == 1'),
        ('kept["seed"] = kwargs["seed"]', 'kept.get("seed") == 1', f'{BODY}["seed"] == 1'),
        (
            'kept["seed"] = kwargs["extra_body"]["seed"]',
            'kept["seed"] == 1',
            f'{BODY}["seed"] == 1',
        ),
    ],
)
def test_a_dict_is_read(tmp_path: Path, empty: str, line: str, after: str, new: str) -> None:
    result = migrate_function(tmp_path, empty=empty, line=line, after=f"assert {after}")
    assert result == (f"assert {new}", "")


@pytest.mark.parametrize(
    ("line", "after", "new"),
    [
        ("kept.append(kwargs)", 'kept[0]["seed"] == 1', f'{FIRST}["seed"] == 1'),
        ("kept.append(dict(kwargs))", 'kept[0].get("n") is None', f'{FIRST}.get("n") is None'),
        ("kept.append(kwargs)", "len(kept) == 1, kept", "len(CALLS) == 1, CALLS"),
        ("kept.append(kwargs)", "len(kept) == 1, f'{kept}'", "len(CALLS) == 1, f'{CALLS}'"),
        ("kept.append(kwargs)", "kept == []", "CALLS == []"),
        (
            "kept.append(kwargs)",
            'kept == [{"n": 1}]',
            '[call.request.body for call in CALLS] == [{"n": 1}]',
        ),
        (
            "kept.append(kwargs)",
            'any("seed" in each for each in kept)',
            'any("seed" in each.request.body for each in CALLS)',
        ),
        ("kept.append((args, kwargs))", 'kept[0][1]["seed"] == 1', f'{FIRST}["seed"] == 1'),
        ("kept.append((len(kwargs['messages']), kwargs))", "kept[0][0] == 1", "len(MESSAGES) == 1"),
        ("kept.append({'all': kwargs})", "kept[0]['all']['seed'] == 1", f'{FIRST}["seed"] == 1'),
        ("kept.append(kwargs['model'])", "'m' in kept", "'m' in MODELS"),
        ("kept.append(kwargs['model'])", "kept[-1] == 'm'", "LAST['model'] == 'm'"),
        ("kept.append(kwargs)", "{'n': 1} not in kept", "{'n': 1} not in BODIES"),
        ("kept.append(kwargs)", "1 < kept[0]['n'] < 3", f'1 < {FIRST}["n"] < 3'),
        ("kept.append(kwargs)", "kept[0].get('extra_body', {})['n'] == 1", f'{FIRST}["n"] == 1'),
        (
            "kept.append({'m': kwargs['model']})",
            "[each['m'] for each in kept] == ['m']",
            "[each.request.body[\"model\"] for each in CALLS] == ['m']",
        ),
        (
            "kept.append((args, kwargs))",
            "all('seed' in each[1] for each in kept)",
            "all('seed' in each.request.body for each in CALLS)",
        ),
    ],
)
def test_a_list_is_read(tmp_path: Path, line: str, after: str, new: str) -> None:
    result, reason = migrate_function(
        tmp_path, empty="[]", parameters="*args, **kwargs", line=line, after=f"assert {after}"
    )
    names = {
        "CALLS": "mock_llm_calls.calls",
        "MESSAGES": f'{FIRST}["messages"]',
        "BODIES": "[call.request.body for call in mock_llm_calls.calls]",
        "MODELS": '[call.request.body["model"] for call in mock_llm_calls.calls]',
        "LAST['model']": 'mock_llm_calls.calls[-1].request.body["model"]',
    }
    for name, expression in names.items():
        new = new.replace(name, expression)
    assert (result, reason) == (f"assert {new}", "")


@pytest.mark.parametrize("declaration", ["kept = None", "kept: dict", "kept: dict | None = None"])
def test_a_name_of_the_test_is_read(tmp_path: Path, declaration: str) -> None:
    source = f"""
def test_it():
    {declaration}
    def fake(**kwargs):
        nonlocal kept
        kept = kwargs
        return reply()
    with patch("{MEMBER}", fake):
        app.run()
    assert kept["seed"] == 1
"""
    assert migrate(tmp_path, source) == (f'assert {BODY}["seed"] == 1', "")


@pytest.mark.parametrize("line", ["app.last = 5", "kept.update(n=5)", "app.log(n=5)"])
@pytest.mark.parametrize("parameters", ["*args", "**kwargs", "*args, **kwargs"])
def test_a_fake_still_does_what_has_nothing_to_do_with_its_call(
    tmp_path: Path, parameters: str, line: str
) -> None:
    source = FUNCTION.format(
        empty="{}", parameters=parameters, line=line, target=MEMBER, after="assert kept"
    )
    result = rewrite(tmp_path, f"{HEAD}{source}")
    assert f"    def fake(request):\n        {line}\n" in result.after
    assert "    assert kept\n" in result.after


@pytest.mark.parametrize(
    "line",
    [
        'if app.IS_CACHED:\n            return reply()\n        kept.append(kwargs["seed"])',
        'kept.append(kwargs["model"])\n        kept.append(kwargs["seed"])',
    ],
)
def test_what_a_fake_keeps_of_some_calls_or_twice_stays(tmp_path: Path, line: str) -> None:
    after = "assert kept == [1]"
    assert migrate_function(tmp_path, empty="[]", line=line, after=after) == (after, "")


UNKNOWN = "this use of the mock kept cannot be converted: "


@pytest.mark.parametrize(
    ("line", "assertion", "reason"),
    [
        ("kept.append(kwargs)", "assert kept[0:1]", UNKNOWN),
        ("kept.append(kwargs)", "assert kept['n']", UNKNOWN),
        ("kept.append(kwargs)", "assert kept[0][n]", UNKNOWN),
        ("kept.append(kwargs)", "assert kept[0].get('n', 5) == 5", UNKNOWN),
        ("kept.append(kwargs)", "assert kept[0].get(n) == 5", UNKNOWN),
        ("kept.append(kwargs)", "assert len(kept[0]) == 1", UNKNOWN),
        ("kept.append(kwargs)", "assert kept != []", UNKNOWN),
        ("kept.append(kwargs)", "assert kept != [{'n': 1}]", UNKNOWN),
        ("kept.append(kwargs)", "assert kept is None", UNKNOWN),
        ("kept.append(kwargs)", "assert kept is not None", UNKNOWN),
        ("kept.append(kwargs)", "assert n in kept[0]", "n in kept[0] has no equivalent"),
        ("kept.append((args, kwargs))", "assert kept == [((), {})]", UNKNOWN),
        ("kept.append((args, kwargs))", "assert ((), {}) in kept", UNKNOWN),
        (
            "kept.append((args, kwargs))",
            "assert all('n' in options for _, options in kept)",
            "kept has no equivalent",
        ),
    ],
)
def test_an_unknown_read_of_a_list_is_left(
    tmp_path: Path, line: str, assertion: str, reason: str
) -> None:
    result = migrate_function(
        tmp_path, empty="[]", parameters="*args, **kwargs", line=line, after=assertion
    )
    if reason == UNKNOWN:
        reason += assertion
    assert result == (assertion, reason)


@pytest.mark.parametrize(
    ("line", "new", "after"),
    [
        (
            "kept.append(kwargs['model'])",
            "kept.append(request.body['model'])",
            "assert [each for each in kept] == ['m']",
        ),
        (
            "kept.append(kwargs['model'])",
            "kept.append(request.body['model'])",
            "for each in kept:\n        assert each == 'm'",
        ),
        (
            "kept.append({'m': kwargs['model']})",
            "kept.append({'m': request.body['model']})",
            "assert kept[0].get('m', 'n') == 'm'",
        ),
        (
            "kept.append({'m': kwargs['model']})",
            "kept.append({'m': request.body['model']})",
            "assert kept[0] == {'m': 'm'}",
        ),
    ],
)
def test_a_function_keeps_what_is_not_read_from_calls(
    tmp_path: Path, line: str, new: str, after: str
) -> None:
    source = FUNCTION.format(
        empty="[]", parameters="**kwargs", line=line, target=MEMBER, after=after
    )
    result = rewrite(tmp_path, f"{HEAD}{source}")
    assert f"    def fake(request):\n        {new}\n" in result.after
    assert result.after.endswith(f"    app.run()\n    {after}\n")


CASE = f"""
class TestIt(unittest.TestCase):
    def test_it(self):
        kept = {{empty}}
        def fake(**kwargs):
            {{line}}
            return reply()
        with patch("{MEMBER}", fake):
            app.run()
        self.{{assertion}}
"""
CASE_BODY = "self.llm_mock.calls[0].request.body"


@pytest.mark.parametrize(
    ("line", "assertion", "new"),
    [
        ("kept.append(kwargs)", 'assertIn("n", kept[0])', f'assertIn("n", {CASE_BODY})'),
        (
            "kept.append(kwargs)",
            'assertNotIn("n", kept[0], "text")',
            f'assertNotIn("n", {CASE_BODY}, "text")',
        ),
        (
            "kept.append(kwargs)",
            'assertIsNone(kept[0].get("n"))',
            f'assertIsNone({CASE_BODY}.get("n"))',
        ),
        ("kept.append(kwargs)", 'assertIn({"n": 1}, kept)', None),
        (
            "kept.update(kwargs)",
            'assertIn("n", kept)',
            'assertIn("n", self.llm_mock.last_call.request.body)',
        ),
        ("kept.update(kwargs)", 'assertNotIn("n", kept)', None),
    ],
)
def test_an_assertion_of_unittest(
    tmp_path: Path, line: str, assertion: str, new: str | None
) -> None:
    empty = "[]" if "append" in line else "{}"
    source = CASE.format(empty=empty, line=line, assertion=assertion)
    result, reason = migrate(tmp_path, f"import unittest\n{source}")
    if new is None:
        assert (result, reason) == (f"self.{assertion}", f"{UNKNOWN}self.{assertion}")
    else:
        assert (result, reason) == (f"self.{new}", "")


@pytest.mark.parametrize(
    ("lines", "new", "reason"),
    [
        (
            ["model, others = kept[0]", "assert model == 'm'", "assert 'seed' not in others"],
            [f'model = {FIRST}["model"]', "assert model == 'm'", f"assert 'seed' not in {FIRST}"],
            "",
        ),
        (
            ["model, _ = kept[0]", "assert model == 'm'"],
            [f'model = {FIRST}["model"]', "assert model == 'm'"],
            "",
        ),
        (["_, others = kept[0]", "assert 'n' in others"], [f"assert 'n' in {FIRST}"], ""),
        (["_, _ = kept[0]", "assert kept"], ["assert mock_llm_calls.calls"], ""),
        (["pair = kept[0]", "assert 'n' in pair[1]"], [f"assert 'n' in {FIRST}"], ""),
        (
            ["model, n = pair = kept[0]"],
            [],
            "this use of the mock kept cannot be converted: model, n",
        ),
        (
            ["first = pair = kept[0]"],
            [],
            "this use of the mock kept cannot be converted: first = pair",
        ),
        (["model, others, n = kept[0]"], [], "the test unpacks the arguments of a call"),
        (["model, *others = kept[0]"], [], "the test unpacks the arguments of a call"),
        (["model, (n, m) = kept[0]"], [], "the test unpacks the arguments of a call"),
    ],
)
def test_what_is_kept_of_a_call_is_unpacked(
    tmp_path: Path, lines: list[str], new: list[str], reason: str
) -> None:
    result, actual_reason = migrate_function(
        tmp_path,
        empty="[]",
        parameters="model, **kwargs",
        line="kept.append((model, kwargs))",
        after="\n    ".join(lines),
    )
    assert result == "\n".join(lines if reason else new)
    assert actual_reason.startswith(reason)
    assert bool(actual_reason) == bool(reason)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"after": 'assert kept["timeout"] == 1'},
            "timeout is not sent in the body of the request",
        ),
        (
            {"after": 'assert "extra_headers" not in kept'},
            "extra_headers is not sent in the body of the request",
        ),
        ({"after": 'assert kept.get("seed") is None'}, 'kept.get("seed") has no equivalent'),
        ({"after": 'assert not kept.get("seed")'}, 'kept.get("seed") has no equivalent'),
        (
            {"after": 'assert kept.get("extra_body", {}) == {}'},
            'kept.get("extra_body", {}) == {} has no equivalent',
        ),
        (
            {"after": 'assert kept["extra_body"] == {}'},
            'kept["extra_body"] == {} has no equivalent',
        ),
        ({"after": 'assert kept.get("seed") == SEED'}, 'kept.get("seed") has no equivalent'),
        (
            {"after": 'assert kept == {"n": 1}'},
            'this use of the mock kept cannot be converted: assert kept == {"n": 1}',
        ),
        ({"after": "kept.clear()"}, "this use of the mock kept cannot be converted: kept.clear()"),
        ({"after": "print(kept)"}, "this use of the mock kept cannot be converted: print(kept)"),
        (
            {"empty": "[]", "line": "kept.append(kwargs)", "after": "[only] = kept"},
            "this use of the mock kept cannot be converted: [only] = kept",
        ),
        (
            {"line": 'kept["n"] = kwargs', "after": 'assert kept["m"]'},
            'kept["m"] has no equivalent',
        ),
        (
            {"line": 'kept["n"] = kwargs', "after": 'assert "n" in kept'},
            'this use of the mock kept cannot be converted: assert "n" in kept',
        ),
        (
            {"line": 'kept.update(kwargs); kept["n"] = 1', "after": "assert kept"},
            "fake uses kwargs as a whole",
        ),
        (
            {
                "line": 'kept.update(kwargs)\n        kept["n"] = kwargs["n"]',
                "after": 'assert kept["n"]',
            },
            "kept keeps only some calls, or keeps calls in several forms",
        ),
        (
            {"parameters": "n=5, **kwargs", "line": 'kept["n"] = n', "after": 'assert kept["n"]'},
            "",
        ),
        (
            {
                "empty": "None\n    count = 0",
                "line": "nonlocal kept, count\n        kept = kwargs\n        count += 1",
                "after": 'assert kept["n"]',
            },
            "fake uses kept in an unsupported way: nonlocal kept, count",
        ),
        (
            {"target": "litellm.completion", "after": 'assert kept["model"] == "m"'},
            'litellm may change or drop the argument in kept["model"]',
        ),
        (
            {
                "target": "litellm.completion",
                "line": 'kept["n"] = kwargs["seed"]',
                "after": 'assert kept["n"] == 1',
            },
            'litellm may change or drop the argument in kwargs["seed"]',
        ),
        (
            {"target": "litellm.completion", "after": 'assert "seed" not in kept'},
            'litellm may change or drop the argument in "seed" not in kept',
        ),
        (
            {
                "target": "litellm.completion",
                "line": 'kept["all"] = kwargs',
                "after": 'assert kept["all"] == {"messages": []}',
            },
            'this use of the mock kept cannot be converted: assert kept["all"] == {"messages": []}',
        ),
        ({"line": "kept.update(kwargs, now=time.time())"}, "fake uses kwargs as a whole"),
        (
            {
                "line": "kept.update(kwargs) if kwargs else None",
                "after": 'assert "seed" not in kept',
            },
            "fake uses kwargs as a whole",
        ),
        (
            {
                "line": "if kwargs['n']:\n            kept.update(kwargs)",
                "after": 'assert "seed" not in kept',
            },
            "fake uses kwargs as a whole",
        ),
        (
            {"parameters": "kept, **kwargs", "after": 'assert "seed" not in kept'},
            "fake uses kwargs as a whole",
        ),
        (
            {"empty": "None", "line": "kept = kwargs", "after": "assert kept is None"},
            "fake uses kwargs as a whole",
        ),
        ({"line": "app.seen.update(**kwargs)"}, "fake uses kwargs as a whole"),
        ({"line": "app.get().calls.append(kwargs)"}, "fake uses kwargs as a whole"),
        ({"line": "app.log(**kwargs)"}, "fake uses kwargs as a whole"),
        ({"line": "print(kwargs)"}, "fake uses kwargs as a whole"),
        ({"line": "app.last = kwargs"}, "fake uses kwargs as a whole"),
        ({"line": "kept.first = kwargs"}, "fake uses kwargs as a whole"),
        ({"line": "kept.append(item=kwargs)"}, "fake uses kwargs as a whole"),
        ({"line": 'kept.update(kwargs, n=kwargs["m"])'}, "fake uses kwargs as a whole"),
        ({"line": "kept.insert(kwargs)"}, "fake uses kwargs as a whole"),
        ({"line": "kept.insert(0, kwargs)"}, "fake uses kwargs as a whole"),
        ({"line": "kept.clear(); kept.update(kwargs)"}, "fake uses kwargs as a whole"),
        (
            {"line": "kept.clear()\n        kept.update(kwargs)"},
            "fake uses kept in an unsupported way: kept.clear()",
        ),
        ({"line": "kept[0] = kwargs"}, "fake uses kwargs as a whole"),
        ({"line": 'app.kept["n"] = kwargs'}, "fake uses kwargs as a whole"),
        ({"line": "app.last = kept = kwargs"}, "fake uses kwargs as a whole"),
        (
            {
                "empty": '{"calls": []}',
                "line": 'kept["calls"].append(kwargs)',
                "after": 'assert kept["calls"]',
            },
            "fake uses kwargs as a whole",
        ),
        (
            {
                "line": 'kept["n"] = [kwargs for kwargs in kwargs["messages"]]',
                "after": 'assert kept["n"]',
            },
            "fake uses kwargs as a whole",
        ),
        ({"after": "get = kept.get"}, "the fake has no attribute get"),
    ],
    ids=str,
)
def test_what_is_not_sure_is_left(tmp_path: Path, values: dict[str, str], reason: str) -> None:
    assert migrate_function(tmp_path, **values)[1] == reason


@pytest.mark.parametrize(
    ("line", "after", "new", "reason"),
    [
        (
            "self.calls.append(kwargs)",
            "calls = client.chat.completions.calls\n    assert 'seed' not in calls[0]",
            f"assert 'seed' not in {FIRST}",
            "",
        ),
        (
            "self.last_call = kwargs",
            "assert client.chat.completions.last_call is not None",
            "assert mock_llm_calls.calls",
            "",
        ),
        *(
            (
                "self.calls.append(kwargs)",
                f"calls = client.chat.completions.calls\n    {after}",
                after.replace("calls", "mock_llm_calls.calls"),
                "",
            )
            for after in (
                "assert calls, f'{calls}'",
                "assert not calls",
                "assert calls == []",
            )
        ),
        (
            "self.calls.append(kwargs)",
            "calls = client.chat.completions.calls\n"
            "    app.run(client)\n    assert len(calls) == 2",
            "assert len(mock_llm_calls.calls) == 2",
            "",
        ),
        *(
            (
                "self.calls.append(kwargs)",
                "last = client.chat.completions.calls[-1]\n"
                f"    app.run(client)\n    assert {expression}",
                f"assert {expression}".replace("client.chat.completions.calls[0]", FIRST),
                "",
            )
            for expression in (
                "client.chat.completions.calls[0]['seed'].last",
                "app.check(last=client.chat.completions.calls[0]['seed'])",
            )
        ),
        (
            "self.calls.append(kwargs)",
            "call = client.chat.completions.calls[0]\n    assert call",
            None,
            "this use of the mock call cannot be converted: assert call",
        ),
        (
            "self.calls.append(kwargs['model'])",
            "assert [each for each in client.chat.completions.calls] == ['m']",
            None,
            "client.chat.completions.calls has no equivalent",
        ),
        *(
            (
                "self.model = kwargs['model']",
                f"assert {before}client.chat.completions.model{after}",
                f"assert {before}{BODY}['model']{after}",
                "",
            )
            for before, after in [("", ""), ("not ", ""), ("", " is None"), ("", " is not None")]
        ),
        (
            "self.last_call = kwargs",
            "assert client.chat.completions.last_call is client",
            None,
            "this use of the mock client cannot be converted: "
            "assert client.chat.completions.last_call is client",
        ),
        (
            "self.model = kwargs['model']",
            "assert client.chat.completions.model == 'm'",
            f"assert {BODY}['model'] == 'm'",
            "",
        ),
        (
            "self.shared.append(kwargs)",
            "assert 'seed' not in client.chat.completions.shared[0]",
            None,
            "create does more than make a mock: self.shared.append(kwargs)",
        ),
        (
            "self.calls.append(time.time())",
            "assert client.chat.completions.calls",
            None,
            "create does more than make a mock: self.calls.append(time.time())",
        ),
        (
            "self.last_call = kwargs",
            "assert client.chat.completions.last_call['timeout']",
            None,
            "timeout is not sent in the body of the request",
        ),
        (
            "self.calls.append(kwargs)\n        self.calls.append(kwargs)",
            "assert client.chat.completions.calls",
            None,
            "client.chat.completions.calls keeps only some calls, or keeps calls in several forms",
        ),
        (
            "self.name = kwargs",
            "assert client.chat.completions.name['seed'] == 1",
            f'assert {BODY}["seed"] == 1',
            "",
        ),
        (
            "self.name.append(kwargs)",
            "assert client.chat.completions.name",
            None,
            "create does more than make a mock: self.name.append(kwargs)",
        ),
        (
            "self.create.append(kwargs)",
            "pass",
            None,
            "create does more than make a mock: self.create.append(kwargs)",
        ),
        (
            "self.name.last.append(kwargs)",
            "pass",
            None,
            "create does more than make a mock: self.name.last.append(kwargs)",
        ),
    ],
)
def test_the_attribute_of_a_fake_client(
    tmp_path: Path, line: str, after: str, new: str | None, reason: str
) -> None:
    result, told = migrate(tmp_path, CLIENT.format(line=line, after=after))
    assert told == reason
    if new is not None:
        assert result == new.replace("['model']", '["model"]').replace("['seed']", '["seed"]')


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("self.calls.append(time.time())", "Remove it: mock_llm_calls.calls has every call"),
        ("self.calls.extend([time.time()])", "Remove it: mock_llm_calls.calls has every call"),
        ("self.calls.update(now=time.time())", "Remove it: mock_llm_calls.calls has every call"),
        ("self.calls.clear()", "See MIGRATION_GUIDE.md"),
        ("calls = self.calls.append(time.time()); print(calls)", "See MIGRATION_GUIDE.md"),
    ],
)
def test_a_fake_that_keeps_something_else_is_told_of_the_calls(
    tmp_path: Path, line: str, advice: str
) -> None:
    result = rewrite(tmp_path, HEAD + CLIENT.format(line=line, after="pass"))
    [change] = result.manual_changes
    assert change.reason == f"create does more than make a mock: {line}"
    assert change.advice.startswith(advice)


def test_a_call_that_a_fake_does_not_keep_is_counted(tmp_path: Path) -> None:
    source = """
def test_it():
    calls = []
    def create(**kwargs):
        calls.append(kwargs)
        return reply()
    def parse(**kwargs):
        return reply()
    app.run(N(chat=N(completions=N(create=create, parse=parse))))
    client = N(chat=N(completions=N(create=create, parse=parse)))
    app.run(client)
    assert len(calls) == 1
"""
    assert migrate(tmp_path, source)[1] == (
        "calls keeps only some calls, or keeps calls in several forms"
    )


UNRELATED = """
def test_it(monkeypatch):
    sent = []
    monkeypatch.setattr(app, "send", lambda text: sent.append(text))
    kept = []
    def fake(**kwargs):
        kept.append(kwargs)
        return reply()
    monkeypatch.setattr("app.client.chat.completions.create", fake)
    app.run()
    assert sent, f"{sent}"
    assert sent == ["mail"]
    assert not sent[1:]
    assert kept[0]["seed"] == 1
"""


@pytest.mark.parametrize("partial", [False, True])
def test_what_another_fake_keeps_stays(tmp_path: Path, partial: bool) -> None:
    result = rewrite(tmp_path, f"{HEAD}{UNRELATED}", partial=partial)
    assert (result.changed, result.manual_changes) == (("test_it",), ())
    for line in (
        "sent = []",
        'monkeypatch.setattr(app, "send", lambda text: sent.append(text))',
        'assert sent, f"{sent}"',
        'assert sent == ["mail"]',
        "assert not sent[1:]",
        f'assert {FIRST}["seed"] == 1',
    ):
        assert f"    {line}\n" in result.after
    assert "kept" not in result.after


LAMBDA = """
REPLIES = [reply(), reply()]

def test_it(monkeypatch):
    kept = []
    monkeypatch.setattr("{member}", lambda **kwargs: {expression})
    app.run()
    {after}
"""


@pytest.mark.parametrize(
    ("expression", "after", "new"),
    [
        ("kept.append(kwargs) or reply()", 'kept[0]["seed"] == 1', f'{FIRST}["seed"] == 1'),
        ("(kept.append(kwargs), reply())[1]", 'kept[0]["seed"] == 1', f'{FIRST}["seed"] == 1'),
        ("(kept.append(kwargs), reply())[-1]", 'kept[0]["seed"] == 1', f'{FIRST}["seed"] == 1'),
        ("REPLIES[0]", "kept == []", "kept == []"),
    ],
)
def test_a_lambda_is_read(tmp_path: Path, expression: str, after: str, new: str) -> None:
    source = LAMBDA.format(member=MEMBER, expression=expression, after=f"assert {after}")
    assert migrate(tmp_path, source) == (f"assert {new}", "")


@pytest.mark.parametrize(
    "expression",
    [
        "(app.log(kwargs), reply())[1]",
        "(kept.append(kwargs), app.log(kwargs), reply())[-1]",
        "(kept.append(kwargs), reply(), 5)[1]",
        "app.log(kwargs) or reply()",
        "kept.append(kwargs) and reply()",
        "(kept.append(kwargs), reply())[1:]",
        "(kept.append(kwargs), reply())[0]",
        "(kept.append(kwargs), reply(), None)[-2]",
    ],
)
def test_a_lambda_that_does_more_is_left(tmp_path: Path, expression: str) -> None:
    source = LAMBDA.format(member=MEMBER, expression=expression, after="assert not kept")
    result, reason = migrate(tmp_path, source)
    assert result == "assert not kept"
    assert reason


def test_the_prompts_of_llm(tmp_path: Path) -> None:
    source = """
def test_it():
    prompts = []
    systems = []
    def prompt(text, system=None, **options):
        prompts.append(text)
        systems.append(system)
        return Mock(text=lambda: "Hi")
    with patch("app.get_model") as get_model:
        get_model.return_value.prompt = prompt
        app.run()
    assert prompts == ["a"]
    assert systems[0] == "b"
"""
    lines = [
        'assert [call["prompt"] for call in mock_llm_calls.calls] == ["a"]',
        'assert mock_llm_calls.calls[0]["kwargs"].get("system") == "b"',
    ]
    assert migrate(tmp_path, source) == ("\n".join(lines), "")


@pytest.mark.parametrize(
    ("line", "after", "new", "reason"),
    [
        ("kept.append(options)", "'seed' in kept[0]", "'seed' in CALL[\"options\"]", ""),
        ("kept.append((args, options))", "kept[0][0][0] == 'a'", "CALL[\"prompt\"] == 'a'", ""),
        (
            "kept.append(options)",
            "kept[0]['attachments'][0].url == 'a'",
            'CALL["kwargs"]["attachments"][0].get("url") == \'a\'',
            "",
        ),
        (
            "kept.append(options)",
            "kept[0]['attachments'][0].content == 'a'",
            None,
            f"{UNKNOWN}assert kept[0]['attachments'][0].content == 'a'",
        ),
        (
            "kept.append(options)",
            "kept[0]['attachments'][n] == 'a'",
            None,
            f"{UNKNOWN}assert kept[0]['attachments'][n] == 'a'",
        ),
        (
            "kept.append(options)",
            "kept == [{'seed': 1}]",
            None,
            f"{UNKNOWN}assert kept == [{{'seed': 1}}]",
        ),
        (
            "kept.append(options['schema'])",
            "kept[0] is app.Review",
            None,
            "kwargs['schema'] has no equivalent",
        ),
        (
            "kept.append(options['tools'])",
            "kept[0] == []",
            None,
            "kwargs['tools'] has no equivalent",
        ),
    ],
)
def test_the_options_of_llm(
    tmp_path: Path, line: str, after: str, new: str | None, reason: str
) -> None:
    source = f"""
def test_it():
    kept = []
    def prompt(*args, **options):
        {line}
        return Mock(text=lambda: "Hi")
    with patch("app.get_model") as get_model:
        get_model.return_value.prompt = prompt
        app.run()
    assert {after}
"""
    expected = after if new is None else new.replace("CALL", "mock_llm_calls.calls[0]")
    assert migrate(tmp_path, source) == (f"assert {expected}", reason)


@pytest.mark.parametrize("operator", ["in", "not in"])
def test_whether_any_call_of_llm_had_an_option_is_left(tmp_path: Path, operator: str) -> None:
    source = f"""
def test_it():
    kept = {{}}
    def prompt(text, **options):
        kept.update(options)
        return Mock(text=lambda: "Hi")
    with patch("app.get_model") as get_model:
        get_model.return_value.prompt = prompt
        app.run()
    assert "seed" {operator} kept
"""
    reason = f'"seed" {operator} kept has no equivalent'
    assert migrate(tmp_path, source) == (f'assert "seed" {operator} kept', reason)


def test_an_optional_prompt_of_llm_stays_in_a_function(tmp_path: Path) -> None:
    source = """
def test_it():
    prompts = []
    def answer(text=None, **options):
        prompts.append(text)
        return Mock(text=lambda: "Hi")
    with patch("app.get_model") as get_model:
        get_model.return_value.prompt = answer
        app.run()
    assert "a" not in prompts
"""
    result = rewrite(tmp_path, f"{HEAD}{source}")
    assert "        prompts.append(prompt.prompt)\n" in result.after
    assert '    assert "a" not in prompts\n' in result.after


def test_a_list_that_a_conftest_gives(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("""
import openai
import pytest
from types import SimpleNamespace as N

@pytest.fixture
def calls(monkeypatch):
    calls = []
    def create(self, **kwargs):
        calls.append(kwargs)
        return N(choices=[N(message=N(content="Hi"))])
    monkeypatch.setattr("openai.resources.chat.completions.Completions.create", create)
    return calls

@pytest.fixture
def sent(monkeypatch):
    sent = []
    monkeypatch.setattr("app.send", lambda text: sent.append(text))
    return sent
""")
    source = """
import app

def test_it(calls, sent):
    app.run()
    assert calls[0]["seed"] == 1
    assert sent == ["mail"]
"""
    result = rewrite(tmp_path, source)
    assert result.manual_changes == ()
    assert "def test_it(sent, mock_llm_responses, mock_llm_calls):\n" in result.after
    assert f'    assert {FIRST}["seed"] == 1\n    assert sent == ["mail"]\n' in result.after


def test_calls_beside_a_client_that_is_never_made(tmp_path: Path) -> None:
    source = f"""
def test_it():
    kept = []
    def fake(**kwargs):
        kept.append(kwargs)
        return reply()
    with patch("{MEMBER}", fake), patch("anthropic.Anthropic"):
        app.run()
    assert len(kept) == 1
"""
    assert migrate(tmp_path, source) == ("assert len(mock_llm_calls.calls) == 1", "")


VECTORS = """
def test_it():
    kept = []
    def fake(self, **kwargs):
        kept.append(kwargs)
        return N(data=[N(embedding=[0.1])])
    with patch("openai.resources.embeddings.Embeddings.create", fake):
        app.run()
    assert {expression}
"""


@pytest.mark.parametrize(
    ("expression", "new", "reason"),
    [
        ('kept[0]["input"] == "a"', f'{FIRST}["input"] == "a"', ""),
        ('"seed" not in kept[0]', f'"seed" not in {FIRST}', ""),
        (
            '"encoding_format" not in kept[0]',
            None,
            "the SDK itself sends encoding_format if the application does not",
        ),
        ('kept == [{"input": "a"}]', None, f'{UNKNOWN}assert kept == [{{"input": "a"}}]'),
        ('kept[0] == {"input": "a"}', None, f'{UNKNOWN}assert kept[0] == {{"input": "a"}}'),
    ],
)
def test_the_arguments_for_vectors(
    tmp_path: Path, expression: str, new: str | None, reason: str
) -> None:
    result = migrate(tmp_path, VECTORS.format(expression=expression))
    assert result == (f"assert {new or expression}", reason)


@pytest.mark.parametrize(
    ("line", "new"),
    [
        # No part of the records has the calls of two models only.
        ("kept.append(text)", "len(kept)"),
        ("pass", 'len(mock_llm_calls.get_model("a").call_history)'),
    ],
)
def test_a_list_of_one_model_or_two(tmp_path: Path, line: str, new: str) -> None:
    source = f"""
def test_it():
    kept = []
    def one(text, **options):
        kept.append(text)
        return Mock(text=lambda: "Hi")
    def other(text, **options):
        {line}
        return Mock(text=lambda: "Ho")
    models = {{"a": Mock(prompt=one), "b": Mock(prompt=other)}}
    with patch("app.get_model", side_effect=lambda name: models[name]):
        app.run()
    assert len(kept) == 1
"""
    assert migrate(tmp_path, source) == (f"assert {new} == 1", "")


TWO_FAKES = """
def test_it():
    calls = {empty}
    def create(**kwargs):
        {first}
        return reply()
    def parse(**kwargs):
        {second}
        return reply()
    client = N(chat=N(completions=N(create=create, parse=parse)))
    app.run(client)
    assert calls
"""
TWO_WAYS = "calls keeps only some calls, or keeps calls in several forms"


@pytest.mark.parametrize(
    ("empty", "first", "second", "reason"),
    [
        ("[]", "calls.append(kwargs)", "calls.append(kwargs)", ""),
        ("{}", "calls.update(kwargs)", "calls.update(**kwargs)", ""),
        ("[]", "calls.append(kwargs)", 'calls.append(kwargs["model"])', TWO_WAYS),
        ("{}", "calls.update(kwargs)", 'calls["all"] = kwargs', TWO_WAYS),
        ("{}", 'calls["one"] = kwargs', 'calls["all"] = kwargs', TWO_WAYS),
    ],
)
def test_fakes_that_keep_their_calls_in_two_ways_are_left(
    tmp_path: Path, empty: str, first: str, second: str, reason: str
) -> None:
    source = TWO_FAKES.format(empty=empty, first=first, second=second)
    assert migrate(tmp_path, source)[1] == reason
