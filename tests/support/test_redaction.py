"""Texts that are secret, and texts that are not."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from llm_mock.support.redaction import Redactor
from llm_mock.support.redaction.known_secrets import KnownSecrets

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"


def knowing(*secrets: str, **environment: str) -> Redactor:
    known = KnownSecrets(environment)
    known.hide(*secrets)
    return Redactor(known=known)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"key sk-{LETTERS}!", "key [redacted]!"),
        (f"sk-ant-api03-{LETTERS}", "[redacted]"),
        (f"ghp_{LETTERS}", "[redacted]"),
        ("AKIA" + "A1" * 8, "[redacted]"),
        (f"AIza{LETTERS}", "[redacted]"),
        ("a long text that ends with sk-proj-ab…", "a long text that ends with [redacted]…"),
        (f"Authorization: Bearer {LETTERS}", "Authorization: Bearer [redacted]"),
        (f"eyJ{LETTERS}.eyJ{LETTERS}.{LETTERS}", "[redacted]"),
        ("https://me:hunter22@example.com/x", "https://me:[redacted]@example.com/x"),
        (
            f"https://example.com/?key={LETTERS}&page=2",
            "https://example.com/?key=[redacted]&page=2",
        ),
        (f"?sig={LETTERS}&page=2", "?sig=[redacted]&page=2"),
        (
            f"https://x.blob.net/a?sv=2024&sig={LETTERS}%3D&se=1",
            "https://x.blob.net/a?sv=2024&sig=[redacted]&se=1",
        ),
        (
            f"https://s3.net/a?X-Amz-Signature={LETTERS}",
            "https://s3.net/a?X-Amz-Signature=[redacted]",
        ),
        (
            f"https://s3.net/a?b=1&x-goog-credential={LETTERS} ",
            "https://s3.net/a?b=1&x-goog-credential=[redacted] ",
        ),
        (f"to=%2Fa%3Ftoken%3D{LETTERS}%26b%3D1", "to=%2Fa%3Ftoken%3D[redacted]%26b%3D1"),
        ('{"api_key": "abc\\"def", "page": 2}', '{"api_key": "[redacted]", "page": 2}'),
        ("{'x-api-key': 'abc', 'page': 2}", "{'x-api-key': '[redacted]', 'page': 2}"),
        (
            json.dumps(json.dumps({"client_secret": "abc", "a": 1})),
            '"{\\"client_secret\\": \\"[redacted]\\", \\"a\\": 1}"',
        ),
        (PEM, "[redacted]"),
        (quote_plus(PEM), "[redacted]"),
        (f"it is {base64.b64encode(f'user:sk-{LETTERS}'.encode()).decode()}.", "it is [redacted]."),
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
        "https://example.com/?sort_key=created_at&q=token",
        "The password is required.",
        base64.b64encode(b"nothing but an ordinary sentence").decode(),
        {"max_tokens": 100, "properties": {"password": {"type": "string"}}, "token": "Hello"},
        ["task-force-42", 3.5, None, True],
    ],
)
def test_what_is_innocent_stays(value: object) -> None:
    assert Redactor().clean(value) == value


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "api_key",
        "x-api-key",
        "OPENAI_API_KEY",
        "password",
        "Set-Cookie",
        "client_secret",
    ],
)
def test_the_text_of_a_field_that_is_named_as_secret_is_hidden(name: str) -> None:
    assert Redactor().clean({"headers": [{name: "hunter2", "Accept": "*/*"}]}) == {
        "headers": [{name: "[redacted]", "Accept": "*/*"}]
    }


@pytest.mark.parametrize(
    "form",
    [str, lambda text: quote(text, safe=""), lambda text: base64.b64encode(text.encode()).decode()],
)
def test_a_known_secret_is_hidden_in_any_form(form: Callable[[str], str]) -> None:
    secret = "cöffee/with milk"
    redactor = knowing(MY_TOKEN=f"{secret}\n", HOME="/home/me", SHORT_KEY="abc")
    cleaned = redactor.clean(f"/home/me has {form(secret)} and abc")
    assert cleaned.startswith("/home/me has [redacted secret]")
    assert cleaned.endswith(" and abc")


def test_a_known_secret_is_hidden_wherever_it_begins_and_however_it_is_escaped() -> None:
    secret = 'wiggle/waggle+wöo=0987 x"y\\nline2'
    redactor = knowing(secret)
    forms = [
        json.dumps({"q": secret}),
        json.dumps([secret], ensure_ascii=False),
        quote(secret),
        quote_plus(secret),
    ]
    forms += [repr([secret]), json.dumps(json.dumps({"q": secret}))]
    forms += [
        base64.b64encode(f"{before}:{secret}".encode()).decode()
        for before in ("", "u", "us", "user")
    ]
    for form in forms:
        assert "[redacted secret]" in redactor.clean(form)
        assert "waggle" not in redactor.clean(form)


@pytest.mark.parametrize("before", ["", "u", "us"])
def test_a_known_secret_is_hidden_to_its_end_in_base64(before: str) -> None:
    secret = "wiggle/waggle+woo=0987" * 4
    form = base64.b64encode(f"{before}{secret}::".encode()).decode()
    start, hidden, end = knowing(secret).clean(form).partition("[redacted secret]")
    assert hidden
    # One character at each end holds bits of the secret and of its neighbour.
    assert (start, end) == (form[: len(start)], form[len(form) - len(end) :])
    assert len(start) <= 3
    assert len(end) <= 6


@pytest.mark.parametrize(
    "value",
    [
        "test",
        "1",
        "secret",
        "password",
        "postgres",
        "production",
        "test-key",
        "my_api_key",
        "20240101",
        "*" * 40,
        "-" * 20,
    ],
)
def test_a_variable_whose_value_is_a_word_hides_no_words(value: str) -> None:
    text = f"{value} is in this text, {value}."
    assert knowing(SECRET_KEY=value).clean(text) == text


def test_the_path_of_a_file_is_no_secret(tmp_path: Path) -> None:
    assert knowing(APPLICATION_CREDENTIALS=str(tmp_path)).clean(f"{tmp_path}/x") == f"{tmp_path}/x"


@pytest.mark.parametrize(
    "value", ["hunter22", "a1b2c3d4", "Pa$$word", "onlylettersbutlong", "1234567890123456"]
)
def test_a_variable_with_any_other_value_hides_it(value: str) -> None:
    assert knowing(DB_PASSWORD=value).clean(f"it is {value}!") == "it is [redacted secret]!"


@pytest.mark.parametrize("cut", ["…", "...", "\n[… 1,000 bytes cut: more than 5 …]\n"])
def test_what_is_left_of_a_secret_where_a_text_was_cut_is_hidden(cut: str) -> None:
    redactor = knowing(LETTERS)
    assert redactor.clean(f"it is {LETTERS[:12]}{cut}{LETTERS[-12:]} then") == (
        f"it is [redacted secret]{cut}[redacted secret] then"
    )
    for text in (f"abcdefgh and so on{cut}and more", f"it is klmnopqr{cut}klmnopqr then"):
        assert redactor.clean(text) == text


@pytest.mark.parametrize(
    ("secret", "mark"), [(f"sk-{LETTERS}", "[redacted]"), (LETTERS, "[redacted secret]")]
)
def test_a_secret_in_pieces_is_hidden_and_the_other_pieces_stay(secret: str, mark: str) -> None:
    pieces = ["It ", f"is {secret[:10]}", secret[10:15], secret[15:], "", " that", "."]
    redactor = knowing(LETTERS) if secret == LETTERS else Redactor()
    assert redactor.clean_pieces(pieces) == ["It ", f"is {mark}", "", "", "", " that", "."]


def test_what_is_redacted_stays_as_it_is() -> None:
    redactor = knowing(LETTERS)
    text = f"https://x.net/?key={LETTERS} Bearer {LETTERS} {LETTERS}{LETTERS} sk-{LETTERS}"
    once = redactor.clean(text)
    assert once == (
        "https://x.net/?key=[redacted] Bearer [redacted secret] [redacted secret][redacted "
        "secret] sk-[redacted secret]"
    )
    assert redactor.clean(once) == once


def test_a_project_can_name_more() -> None:
    assert Redactor([r"ACME-\d+"]).clean({"id ACME-1": ["ACME-2"]}) == {
        "id [redacted]": ["[redacted]"]
    }


@pytest.mark.parametrize(
    ("value", "is_hidden"),
    [
        ("ab1cd2e", False),
        ("ab1cd2ef", True),
        ("ab1ab1ab1c", False),
        ("ab1ab1ab1cd", True),
        ("abcdefghijk", False),
        ("abcdefghijkl", True),
        ("abcde-fghij", False),
        ("abcdef-ghijk", True),
        ("12345678901", False),
        ("123456789012", True),
        ("abcdef.hij1", True),
    ],
)
def test_only_a_value_that_is_rare_in_texts_is_searched_for(value: str, is_hidden: bool) -> None:
    shown = knowing(value).clean(f"It is {value}!")
    assert shown == ("It is [redacted secret]!" if is_hidden else f"It is {value}!")


def test_a_path_that_exists_is_not_searched_for() -> None:
    path = str(Path(__file__))
    assert knowing(path).clean(f"in {path}:") == f"in {path}:"
    assert knowing(f"{path}.missing").clean(f"in {path}.missing:") == "in [redacted secret]:"


def test_each_token_of_which_the_start_is_cut_is_hidden() -> None:
    payload = f"eyJ{LETTERS}"
    text = f"a …abc.{payload}.{LETTERS} b …xyz.{payload} c .{payload} d …abc.eyJ12345 e"
    assert knowing().clean(text) == (f"a …[redacted] b …[redacted] c .{payload} d …abc.eyJ12345 e")


def test_each_source_is_asked_once_and_its_values_stay_hidden() -> None:
    asked: list[str] = []

    def find(name: str) -> list[str]:
        asked.append(name)
        return [f"value-of-{name}", f"other-of-{name}"]

    sources = [lambda: find("first"), lambda: find("second")]
    known = KnownSecrets({}, sources)
    redactor = Redactor(known=known)
    assert asked == []
    for _ in range(2):
        for name in ("first", "second"):
            for value in (f"value-of-{name}", f"other-of-{name}"):
                assert redactor.clean(f"It is {value}!") == "It is [redacted secret]!"
    assert sorted(asked) == ["first", "second"]
    sources.append(lambda: find("third"))
    assert redactor.clean("It is value-of-third!") == "It is [redacted secret]!"


class Environment(dict[str, str]):
    """Variables that are counted when they are read."""

    read = 0

    def get(self, name: str, default: str | None = None) -> str:  # type: ignore[override]
        self.read += 1
        return super().get(name) or default or ""


def test_an_environment_is_read_again_only_after_a_change() -> None:
    environment = Environment(
        A_KEY="value-of-a-key", B_TOKEN="value-of-b-token", HOME="value-of-home"
    )
    known = KnownSecrets(environment)
    redactor = Redactor(known=known)
    for _ in range(3):
        assert redactor.clean("value-of-a-key value-of-b-token value-of-home") == (
            "[redacted secret] [redacted secret] value-of-home"
        )
    assert environment.read == 2
    environment["B_TOKEN"] = "another-of-b-token"
    assert (
        redactor.clean("another-of-b-token value-of-b-token")
        == "[redacted secret] [redacted secret]"
    )
    assert environment.read == 4
