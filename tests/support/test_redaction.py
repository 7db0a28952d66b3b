"""What is secret, and what is not."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from llm_mock.support.redaction import Redactor, default_redactor

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"key sk-{LETTERS}!", "key [redacted]!"),
        (f"sk-ant-api03-{LETTERS}", "[redacted]"),
        (f"ghp_{LETTERS}", "[redacted]"),
        ("AKIA" + "A1" * 8, "[redacted]"),
        (f"AIza{LETTERS}", "[redacted]"),
        (f"Authorization: Bearer {LETTERS}", "Authorization: Bearer [redacted]"),
        (f"eyJ{LETTERS}.eyJ{LETTERS}.{LETTERS}", "[redacted]"),
        ("https://me:hunter22@example.com/x", "https://me:[redacted]@example.com/x"),
        (f"https://example.com/?key={LETTERS}&page=2", "https://example.com/?key=[redacted]&page=2"),
        ('{"api_key": "abc\\"def", "page": 2}', '{"api_key": "[redacted]", "page": 2}'),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "[redacted]"),
    ],
)
def test_what_has_the_form_of_a_secret_is_hidden(text: str, cleaned: str) -> None:
    assert Redactor().clean(text) == cleaned


@pytest.mark.parametrize(
    "value",
    [
        "sk-learn-pipeline-for-classification",
        "The bearer of good news, a basic income",
        "http://localhost:8000/v1?page=2",
        "The password is required.",
        {"max_tokens": 100, "properties": {"password": {"type": "string"}}, "token": "Hello"},
        ["task-force-42", 3.5, None, True],
    ],
)
def test_what_is_innocent_stays(value: object) -> None:
    assert Redactor().clean(value) == value


@pytest.mark.parametrize(
    "name", ["Authorization", "api_key", "x-api-key", "OPENAI_API_KEY", "password", "Set-Cookie", "client_secret"]
)
def test_the_text_of_a_field_that_is_named_as_secret_is_hidden(name: str) -> None:
    assert Redactor().clean({"headers": [{name: "hunter2", "Accept": "*/*"}]}) == {
        "headers": [{name: "[redacted]", "Accept": "*/*"}]
    }


@pytest.mark.parametrize(
    "form", [str, lambda text: quote(text, safe=""), lambda text: base64.b64encode(text.encode()).decode()]
)
def test_a_known_secret_is_hidden_in_any_form(form: object) -> None:
    secret = "cöffee/with milk"
    redactor = default_redactor(environment={"MY_TOKEN": secret, "HOME": "/home/me", "SHORT_KEY": "abc"})
    cleaned = redactor.clean(f"/home/me has {form(secret)} and abc")  # type: ignore[operator]
    assert cleaned.startswith("/home/me has [redacted secret]")
    assert cleaned.endswith(" and abc")


def test_a_known_secret_is_hidden_wherever_it_begins_and_however_it_is_escaped() -> None:
    secret = 'wiggle/waggle+wöo=0987 x"y\\nline2'
    redactor = Redactor([secret])
    forms = [json.dumps({"q": secret}), json.dumps([secret], ensure_ascii=False), quote(secret), quote_plus(secret)]
    forms += [base64.b64encode(f"{before}:{secret}".encode()).decode() for before in ("", "u", "us", "user")]
    for form in forms:
        assert "[redacted secret]" in redactor.clean(form)
        assert "waggle" not in redactor.clean(form)


def test_a_project_can_name_more() -> None:
    assert Redactor(patterns=[r"ACME-\d+"]).clean({"id ACME-1": ["ACME-2"]}) == {"id [redacted]": ["[redacted]"]}
