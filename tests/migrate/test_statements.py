"""Statements that configure mocks, start patches or read calls, each in several forms."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

START = """\
from unittest.mock import Mock, patch

import app
import openai
import pytest
from own_mock import create_mock_get_model


"""
COMPLETION = 'Mock(choices=[Mock(message=Mock(content="Hi"))])'
CONFIGURED = "get_model.return_value.prompt.return_value.text.return_value = "
TEXT = f'{CONFIGURED}"Hi"'


def rewrite(folder: Path, source: str) -> FileResult:
    (folder / "app.py").write_text("from llm import get_model\nfrom openai import OpenAI\n")
    text = START + dedent(source).lstrip()
    return rewrite_file(
        folder / "test_app.py", text.encode(), lambda test, target: (), lambda name: name
    )


def find_definitions(text: str) -> str:
    """Return a file from its first definition on."""
    starts = [text.find(start) for start in ("@pytest.fixture", "def ", "class ")]
    return text[min(start for start in starts if start >= 0) :]


def migrate(folder: Path, source: str) -> str:
    """Return the new definitions of a file whose tests are all rewritten or of something else."""
    result = rewrite(folder, source)
    assert result.manual_changes == ()
    return find_definitions(result.after)


def explain(folder: Path, source: str) -> list[str]:
    """Return why the tests of a file are left."""
    result = rewrite(folder, source)
    assert (result.changed, result.after) == ((), result.before)
    return [change.reason for change in result.manual_changes]


def new_test(*lines: str, parameters: str = "mock_llm_responses") -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"def test_it({parameters}):\n{body}"


@pytest.mark.parametrize("annotation", ["", ": Mock", ": 'Mock | None'"])
@pytest.mark.parametrize(
    ("lines", "new"),
    [
        (
            [
                "model{} = Mock()",
                'model.prompt.return_value.text.return_value = "Hi"',
                'with patch("app.get_model", return_value=model):',
                "    app.ask()",
            ],
            ['mock_llm_responses.set("*", "Hi")', "app.ask()"],
        ),
        (
            [
                'patcher{} = patch("app.get_model")',
                "get_model = patcher.start()",
                TEXT,
                "app.ask()",
                "patcher.stop()",
            ],
            ['mock_llm_responses.set("*", "Hi")', "app.ask()"],
        ),
        (
            ['get_model{} = patch("app.get_model").start()', TEXT, "app.ask()", "patch.stopall()"],
            ['mock_llm_responses.set("*", "Hi")', "app.ask()", "patch.stopall()"],
        ),
        (
            [
                "client{} = Mock()",
                f"client.chat.completions.create.return_value = {COMPLETION}",
                "app.run(client)",
            ],
            ["client = openai.OpenAI()", 'mock_llm_responses.set("*", "Hi")', "app.run(client)"],
        ),
        (
            [
                'with patch("app.get_model") as get_model:',
                f"    {TEXT}",
                "    app.ask()",
                "call{} = get_model.return_value.prompt.call_args",
                'assert call.args[0] == "a"',
            ],
            [
                'mock_llm_responses.set("*", "Hi")',
                "app.ask()",
                'assert mock_llm_calls.last_call["prompt"] == "a"',
            ],
        ),
        (
            [
                "text = Mock()",
                'text{} = "Hi"',
                'with patch("app.get_model") as get_model:',
                f"    {CONFIGURED}text",
                "    app.ask()",
            ],
            ['text{} = "Hi"', 'mock_llm_responses.set("*", text)', "app.ask()"],
        ),
    ],
)
def test_a_name_may_have_an_annotation(
    tmp_path: Path, annotation: str, lines: list[str], new: list[str]
) -> None:
    source = new_test(*(line.format(annotation) for line in lines), parameters="")
    reads_calls = any("mock_llm_calls" in line for line in new)
    parameters = "mock_llm_responses" + ", mock_llm_calls" * reads_calls
    expected = new_test(*(line.format(annotation) for line in new), parameters=parameters)
    assert migrate(tmp_path, source) == expected


TWICE = """
    def test_it():
        patcher = patch({patch})
        with patcher as get_model:
            {line}
            app.ask()
        with patcher as get_model:
            {line}
            app.ask()
            {after}
"""


def test_a_patch_may_start_twice(tmp_path: Path) -> None:
    target = '"app.get_model", **{"return_value.prompt.return_value.text.return_value": "Hi"}'
    source = TWICE.format(patch=target, line="pass", after="pass")
    new = new_test('mock_llm_responses.set("*", "Hi")', "app.ask()", "app.ask()")
    assert migrate(tmp_path, source.replace("            pass\n", "")) == new


def test_a_patch_may_give_another_reply_when_it_starts_again(tmp_path: Path) -> None:
    source = TWICE.format(patch='"app.get_model"', line=TEXT, after="pass")
    first, _, second = source.replace("            pass\n", "").rpartition('"Hi"')
    new = new_test(
        'mock_llm_responses.set("*", "Hi")',
        "app.ask()",
        'mock_llm_responses.set("*", "Bye")',
        "app.ask()",
    )
    assert migrate(tmp_path, f'{first}"Bye"{second}') == new


def test_each_start_of_a_patch_counts_its_own_calls(tmp_path: Path) -> None:
    after = "get_model.return_value.prompt.assert_called_once()"
    source = TWICE.format(patch='"app.get_model"', line=TEXT, after=after)
    assert explain(tmp_path, source) == [
        "several mocks replace models whose ids are not in the source"
    ]


def test_a_name_may_stand_for_one_patch_after_the_other(tmp_path: Path) -> None:
    source = """
        def test_it():
            patcher = patch("app.get_model")
            with patcher as get_model:
                get_model.return_value.prompt.return_value.text.return_value = "Hi"
                app.ask()
            patcher = patch("app.OpenAI")
            with patcher as client_class:
                client = client_class.return_value
                client.chat.completions.create.return_value = {}
                app.run()
    """
    new = new_test(
        'mock_llm_responses.set("*", "Hi")',
        "app.ask()",
        "app.run()",
    )
    assert migrate(tmp_path, source.format(COMPLETION)) == new


@pytest.mark.parametrize(
    "name", ["mock_llm", "mock_get_model", "mock_llm_calls", "mock_llm_responses"]
)
@pytest.mark.parametrize(
    ("lines", "new"),
    [
        (
            [
                '{}.set_response("m", None, "Hi")',
                'assert app.ask() == "Hi"',
                'assert {}.call_history[0]["prompt"] == "a"',
            ],
            [
                'mock_llm_responses.set("m", "Hi")',
                'assert app.ask() == "Hi"',
                'assert mock_llm_responses.calls[0]["prompt"] == "a"',
            ],
        ),
        (
            ["app.ask()", "assert len({}.call_history) == 1"],
            ["app.ask()", "assert len(mock_llm_responses.calls) == 1"],
        ),
        (
            [
                "app.ask()",
                "for call in {}.call_history:",
                '    assert call["model_name"] == call["prompt"] == call["seed"]',
            ],
            [
                "app.ask()",
                "for call in mock_llm_responses.calls:",
                '    assert call["model_id"] == call["prompt"] == call["options"]["seed"]',
            ],
        ),
        *(
            (
                ["app.ask()", f"assert {old.replace('CALLS', '{}.call_history')}"],
                ["app.ask()", f"assert {new.replace('CALLS', 'mock_llm_responses.calls')}"],
            )
            for old, new in (
                ('[call["model"] for call in CALLS]', '[call["model_id"] for call in CALLS]'),
                ('{call["model"] for call in CALLS}', '{call["model_id"] for call in CALLS}'),
                ('any(call["model"] for call in CALLS)', 'any(call["model_id"] for call in CALLS)'),
                (
                    '{call["model"]: call["prompt"] for call in CALLS}',
                    '{call["model_id"]: call["prompt"] for call in CALLS}',
                ),
                (
                    '[call["model"] for _ in "ab" for call in CALLS]',
                    '[call["model_id"] for _ in "ab" for call in CALLS]',
                ),
            )
        ),
        (
            [
                "app.ask()",
                'for call in {}.call_history: assert call["seed"]',
                'for call in app.log(): assert call["seed"]',
            ],
            [
                "app.ask()",
                'for call in mock_llm_responses.calls: assert call["options"]["seed"]',
                'for call in app.log(): assert call["seed"]',
            ],
        ),
        (
            ["app.ask()", "{}.reset()", "app.ask()", "assert len({}.call_history) == 1"],
            [
                "app.ask()",
                "mock_llm_responses.reset()",
                "app.ask()",
                "assert len(mock_llm_responses.calls) == 1",
            ],
        ),
    ],
)
def test_the_fixture_of_a_private_mock_is_known_by_its_use(
    tmp_path: Path, name: str, lines: list[str], new: list[str]
) -> None:
    source = new_test(*(line.replace("{}", name) for line in lines), parameters=name)
    assert migrate(tmp_path, source) == new_test(*new)


@pytest.mark.parametrize(
    "source",
    [
        # The replies that it forgets are not configured yet.
        """
        def test_it():
            mock = create_mock_get_model({"m": "Hi"})
            mock.reset()
            with patch("app.get_model", mock):
                app.ask()
        """,
        # The meaning of an argument is unknown.
        """
        def test_it(mock_llm):
            mock_llm.reset("m")
            assert mock_llm.call_history[0]["prompt"] == "a"
        """,
    ],
)
def test_an_unknown_reset_of_a_private_mock_is_left(tmp_path: Path, source: str) -> None:
    assert "reset(" in explain(tmp_path, source)[0]


def test_a_reset_of_our_fixture_is_not_one_of_a_private_mock(tmp_path: Path) -> None:
    source = new_test("mock_llm_calls.reset()", "app.ask()", parameters="mock_llm_calls")
    result = rewrite(tmp_path, source)
    assert (result.changed, result.manual_changes) == ((), ())


@pytest.mark.parametrize("arguments", ['"m", None, "Bye"', '"m", "Bye"'])
def test_the_replies_of_a_private_mock_stay_in_their_order(tmp_path: Path, arguments: str) -> None:
    source = f"""
        def test_it():
            mock = create_mock_get_model({{"m": "Hi"}})
            with patch("app.get_model", mock):
                mock.set_response({arguments})
                same = mock
                app.ask()
    """
    new = ['mock_llm_responses.set("m", "Hi")', 'mock_llm_responses.set("m", "Bye")', "app.ask()"]
    assert migrate(tmp_path, source) == new_test(*new)


OTHERS = {
    "a fixture that gives nothing": """
        @pytest.fixture
        def prepared():
            yield

        def test_it(prepared):
            {test}
    """,
    "a fixture with a list of its own": """
        @pytest.fixture
        def events():
            events = []
            def add(event):
                events.append(event)
            app.subscribe(add)
            yield events

        def test_it(events):
            {test}
            assert events == ["asked"]
    """,
    "a mock of something else": """
        def test_it():
            other = Mock()
            {test}
    """,
    "a fixture that makes a mock of something else": """
        @pytest.fixture
        def other(monkeypatch):
            other = Mock()
            monkeypatch.setenv("MODE", "test")
            return other

        def test_it(other):
            {test}
            other.get.return_value = 5
    """,
}


@pytest.mark.parametrize("source", OTHERS.values(), ids=OTHERS)
def test_what_does_not_replace_a_model_stays(tmp_path: Path, source: str) -> None:
    lines = ['with patch("app.get_model") as get_model:', f"    {TEXT}", "    app.ask()"]
    new_lines = ['mock_llm_responses.set("*", "Hi")', "app.ask()"]
    old, new = (
        dedent(source).lstrip().replace("{test}", "\n    ".join(body))
        for body in (lines, new_lines)
    )
    before, parenthesis, after = new.rpartition("def test_it(")[2].partition(")")
    parameters = f"{before}, mock_llm_responses" if before else "mock_llm_responses"
    head = new.rpartition("def test_it(")[0]
    assert migrate(tmp_path, old) == f"{head}def test_it({parameters}{parenthesis}{after}"


@pytest.mark.parametrize(
    "line",
    [
        "response = get_model.return_value.prompt.return_value\n    response.text = 'Hi'",
        f"{TEXT}\n    get_model.return_value.prompt.return_value.__iter__ = Mock()",
        f"{TEXT}\n    get_model.return_value.model_id = '*'",
    ],
)
def test_a_response_may_have_attributes(tmp_path: Path, line: str) -> None:
    source = f"""
@patch("app.get_model")
def test_it(get_model):
    {line}
    app.ask()
"""
    after = migrate(tmp_path, source).replace("'", '"')
    assert after == new_test('mock_llm_responses.set("*", "Hi")', "app.ask()")


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("Mock(**{KEY: 'Hi'})", "the arguments of Mock are not literal"),
        ("made()", "this use of the mock made cannot be converted: made()"),
        ("models()", "this use of the mock models cannot be converted: models()"),
        ("models[:1]", "this use of the mock models cannot be converted: models[:1]"),
    ],
)
def test_a_value_that_is_unknown_is_named(tmp_path: Path, model: str, reason: str) -> None:
    source = f"""
        def test_it():
            made = Mock(side_effect=app.new_model)
            models = [Mock(), Mock()]
            with patch("app.get_model", return_value={model}):
                app.ask()
    """
    assert explain(tmp_path, source) == [reason]


def test_the_calls_of_a_class_are_not_compared_with_those_of_a_method(tmp_path: Path) -> None:
    source = f"""
        def test_it():
            with patch("app.OpenAI") as client_class:
                create = client_class.return_value.chat.completions.create
                create.return_value = {COMPLETION}
                app.run()
                assert client_class.call_count == create.call_count
    """
    reason = (
        "this use of the mock create cannot be converted: "
        "assert client_class.call_count == create.call_count"
    )
    assert explain(tmp_path, source) == [reason]


def test_the_name_of_a_mock_may_be_one_of_a_text_later(tmp_path: Path) -> None:
    source = """
        def test_it():
            model = Mock()
            kept = []
            def fake(text, **kwargs):
                kept.append((text, kwargs))
                return Mock(text=lambda: "Hi")
            model.prompt = fake
            with patch("app.get_model", return_value=model):
                app.ask()
            model, _ = kept[0]
            assert model == "a"
    """
    new = new_test(
        'mock_llm_responses.set("*", "Hi")',
        "app.ask()",
        'model = mock_llm_calls.calls[0]["prompt"]',
        'assert model == "a"',
        parameters="mock_llm_responses, mock_llm_calls",
    )
    assert migrate(tmp_path, source) == new


@pytest.mark.parametrize("name", ["values", "events"])
@pytest.mark.parametrize(
    "lines",
    [
        ["{} = []", "def add(event): {}.append(event)", "app.subscribe(add)"],
        ["{} = app.load()"],
        ["_, {} = app.load()"],
    ],
)
def test_a_fixture_that_gives_another_value_beside_its_patch_stays(
    tmp_path: Path, name: str, lines: list[str]
) -> None:
    setup = "\n            ".join(line.format(name) for line in lines)
    source = f"""
        @pytest.fixture
        def events():
            {setup}
            with patch("app.get_model") as get_model:
                {TEXT}
                yield {name}

        def test_it(events):
            app.ask()
            assert events == ["asked"]
    """
    assert explain(tmp_path, source) == ["the fixture provides a value other than the mock"]


def test_a_name_of_an_inner_function_hides_no_helper(tmp_path: Path) -> None:
    source = """
        def new_model(text):
            return Mock(**{"prompt.return_value.text.return_value": text})

        def test_it():
            def notice(event):
                new_model = event.model
                app.log(new_model)
            app.subscribe(notice)
            with patch("app.get_model", return_value=new_model("Hi")):
                app.ask()
    """
    after = migrate(tmp_path, source)
    assert after.endswith('\n    mock_llm_responses.set("*", "Hi")\n    app.ask()\n')


def test_a_patch_that_two_fixtures_give_is_one(tmp_path: Path) -> None:
    source = f"""
        @pytest.fixture
        def get_model():
            with patch("app.get_model") as get_model:
                {TEXT}
                yield get_model

        @pytest.fixture
        def model(get_model):
            return get_model.return_value

        def test_it(get_model, model):
            app.ask()
            model.prompt.assert_called_once()
    """
    new = """
        @pytest.fixture
        def get_model(mock_llm_responses):
            mock_llm_responses.set("*", "Hi")

        def test_it(get_model, mock_llm_calls):
            app.ask()
            mock_llm_calls.assert_called_once()
    """
    assert migrate(tmp_path, source) == dedent(new).lstrip()


def test_a_reply_function_of_a_fixture_has_no_other_value(tmp_path: Path) -> None:
    source = """
        @pytest.fixture
        def model():
            model = Mock()
            def answer(text):
                return Mock(text=lambda: text.upper())
            model.prompt = answer
            return model

        def test_it(model):
            with patch("app.get_model", return_value=model):
                app.ask()
            model = app.load()
            app.run(model)
    """
    assert explain(tmp_path, source) == [
        "the fixture model replies to prompts, but the test also uses it directly"
    ]


HELPER = """
def answering(text):
    {body}

def test_it():
    with patch("app.get_model", return_value=answering(str(app.next_text()))):
        app.ask()
"""


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ("return Mock(**{'prompt.return_value.text.return_value': text})", "str(app.next_text())"),
        (
            "other = str(app.next_text())\n"
            "    return Mock(**{'prompt.return_value.text.return_value': text + other})",
            "str(app.next_text()) + str(app.next_text())",
        ),
        (
            "data = json.dumps({})\n"
            "    return Mock(**{'prompt.return_value.text.return_value': data + data})",
            "json.dumps({}) + json.dumps({})",
        ),
        (
            "card = app.Card()\n"
            "    return Mock(**{'prompt.return_value.text.return_value': f'{card} {card}'})",
            "f'{app.Card()} {app.Card()}'",
        ),
    ],
    ids=["once", "two calls", "the same text each time", "an object"],
)
def test_a_helper_whose_values_are_the_same_each_time(
    tmp_path: Path, body: str, reply: str
) -> None:
    source = f"import json\n{HELPER.format(body=body)}"
    result = rewrite(tmp_path, source)
    assert result.manual_changes == ()
    assert f'mock_llm_responses.set("*", {reply})' in result.after


@pytest.mark.parametrize(
    ("body", "call"),
    [
        (
            "return Mock(**{'prompt.return_value.text.return_value': text + text})",
            "str(app.next_text())",
        ),
        (
            "number = app.count(1)\n"
            "    return Mock(**{'prompt.return_value.text.return_value': f'{number} {number}'})",
            "app.count(1)",
        ),
    ],
    ids=["an argument", "a name"],
)
def test_a_helper_that_uses_the_result_of_a_call_twice_is_left(
    tmp_path: Path, body: str, call: str
) -> None:
    reasons = explain(tmp_path, HELPER.format(body=body))
    assert reasons == [f"answering uses the result of {call} more than once"]


SERVICE = """
    class Service:
        def __init__(self):
            self.client = {client}

        def ask(self, text):
            create = self.client.chat.completions.create
            return create(model="gpt-4o", messages=[text]).choices[0].message.content


    def test_it({parameters}):
        service = Service()
        {lines}
"""
PATCHED_METHOD = """\
with patch.object(service.client.chat.completions, "create") as create:
            create.return_value.choices[0].message.content = "Hi"
            assert service.ask("a") == "Hi"
"""
SET_METHOD = f"""\
monkeypatch.setattr(service.client.chat.completions, "create", lambda **kwargs: {COMPLETION})
        assert service.ask("a") == "Hi"
"""


@pytest.mark.parametrize(
    ("lines", "parameters"), [(PATCHED_METHOD, ""), (SET_METHOD, "monkeypatch")]
)
def test_a_method_of_the_client_of_an_object_of_the_file_is_known(
    tmp_path: Path, lines: str, parameters: str
) -> None:
    client = "openai.OpenAI(api_key='k')"
    source = SERVICE.format(client=client, lines=lines, parameters=parameters)
    new = new_test(
        "service = Service()",
        'mock_llm_responses.set("*", "Hi")',
        'assert service.ask("a") == "Hi"',
    )
    assert migrate(tmp_path, source).strip().endswith(new.strip())


@pytest.mark.parametrize("client", ["Mock()", "Mock(spec=openai.OpenAI)"])
def test_a_method_of_the_mock_of_an_object_of_the_file_is_not_one_of_a_client(
    tmp_path: Path, client: str
) -> None:
    source = SERVICE.format(client=client, lines=PATCHED_METHOD, parameters="")
    assert rewrite(tmp_path, source).changed == ()
