"""Plain texts stay as they are, and whatever looks like a real secret vanishes."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from llm_mock.support.redaction import Redactor

_random = random.Random(7)
_LETTERS_AND_DIGITS = string.ascii_letters + string.digits


def letters(number: int = 32, alphabet: str = _LETTERS_AND_DIGITS) -> str:
    """Return letters and digits as in a key."""
    return "".join(_random.choices(alphabet, k=number - 4)) + _random.choice(
        ("4x7q", "Z9b1", "0aK3")
    )


def hexadecimal(number: int) -> str:
    return "".join(_random.choices("0123456789abcdef", k=number))


def token() -> str:
    """Return a JSON web token."""
    parts = (
        {"alg": "HS256", "typ": "JWT"},
        {"sub": "1234567890", "name": "Kim", "iat": 1516239022},
    )
    encoded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    ]
    return ".".join([*encoded, letters(43)])


PLAIN = [
    "The most basic representation of a number",
    "Basic understanding, basic authentication, Basic Instructions and basic arithmetics",
    "The bearer of news, Bearer authentication, bearer of good-tidings",
    (
        "token: the smallest unit; tokens: many; a token is: something, token = word, token=word, "
        "token: 17"
    ),
    "password reset, Password: required, password: must be at least 12 characters, passwords=none",
    "secret: nobody knows; Secret=sauce; the secret is: patience; client secret: see the vault",
    (
        "key-value store, key: value, primary_key=customer_id, sort_key: created_at, foreign-key, "
        "key=customer"
    ),
    (
        "sk-learn-pipeline, sk-SK, sk-toolkit-for-classification, sk-learn-1.2.3, "
        "task-2024-review-of-everything"
    ),
    (
        "pa-ssionate-about-programming, hf_transfer_enabled_by_default, "
        "org-chart-of-the-department, org-wide-announcement"
    ),
    (
        "proj_name_of_the_customer, npm_config_registry_url, gsk_learn_by_example_always, "
        "voyage-multimodal-embedding"
    ),
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 and md5 d41d8cd98f00b204e9800998ecf8427e",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "request 123e4567-e89b-12d3-a456-426614174000, id=123e4567-e89b-12d3-a456-426614174000",
    (
        "msg_01XFDUDYJgAACzvnptvVoYEL, chatcmpl-9abcDEF123456789xyz, "
        "toolu_01A09q90qw90lq917835lq9, resp_67ccd2bed1ec"
    ),
    (
        "claude-3-5-sonnet-20241022, gpt-4o-mini-2024-07-18, text-embedding-3-small, "
        "ft:gpt-4o:acme::9abcDEF1"
    ),
    "https://example.com/path/to/page?page=2&sort_key=created_at&q=token#section-2",
    "https://github.com/owner/project/blob/9fceb02d0ae598e95dc970b74767f19372d61af8/src/api_key.py#L10-L20",
    "http://localhost:8000/v1/chat/completions, http://[::1]:80/, ws://127.0.0.1:11434/api, redis://cache:6379/0",
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 8).decode(),
    base64.b64encode(
        b"nothing but an ordinary sentence that goes on for a while, and then some more"
    ).decode(),
    (
        "max_tokens=100, input_tokens: 1200, tokenizer=cl100k_base, token_count: 12345678, "
        "total_tokens: 99999999"
    ),
    "cookie: a small cake; set-cookie is a header; cookies=enabled, cookie consent: given",
    "authorization: required, Authorization header: missing, authorization=none",
    (
        'api_key=None, api_key: str, api_key = os.environ["OPENAI_API_KEY"], export '
        "OPENAI_API_KEY=$KEY, api_key: ${KEY}"
    ),
    (
        "Authorization: Bearer <your key>, Authorization: Bearer ${TOKEN}, Authorization: Bearer "
        "$TOKEN, x-api-key: {key}"
    ),
    '{"token": "Hello", "logprob": -0.1, "top_logprobs": [{"token": " world", "bytes": [32]}]}',
    (
        '{"properties": {"password": {"type": "string"}, "api_key": {"type": "string"}}, '
        '"required": ["password"]}'
    ),
    "signature = inspect.signature(function), sig=None, the signature: a line below the letter",
    (
        "ratio 3:4@2x, me@example.com: hello, a://b, C://path, 12:30@home, "
        "user@host:path/to/repository.git"
    ),
    (
        "AIzawa Tomoko, AKIA is a prefix, Asia Pacific, ghp is no word, xoxo, eyJ is how they "
        "begin, SG. Mueller"
    ),
    "a" * 500,
    "." * 500,
    "-" * 500,
    "Wait… and then... [… 12 more characters …] so-called … sk- … eyJ …",
    "Zürich, naïve, 日本語のテキスト, emoji 🎉🎉, İstanbul: key, Straße=1",
    (
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
        "-----BEGIN PUBLIC KEY-----\nMIIB"
    ),
]
SECRETS: dict[str, str] = {
    "OpenAI": f"sk-{letters(48)}",
    "OpenAI, project": f"sk-proj-{letters(60)}-{letters(40)}_{letters(30)}",
    "OpenAI, service account": f"sk-svcacct-{letters(60)}_{letters(20)}",
    "OpenAI, administrator": f"sk-admin-{letters(80)}",
    "Anthropic": f"sk-ant-api03-{letters(80)}-{letters(8)}AA",
    "Anthropic, OAuth": f"sk-ant-oat01-{letters(80)}",
    "OpenRouter": f"sk-or-v1-{hexadecimal(64)}",
    "DeepSeek": f"sk-{hexadecimal(28)}4a7b",
    "Langfuse": f"sk-lf-{hexadecimal(8)}-4a1b-4c2d-8e3f-{hexadecimal(11)}7",
    "Stripe": f"sk_live_{letters(24)}",
    "Google": f"AIzaSy{letters(33)}",
    "Google, OAuth": f"ya29.{letters(60)}",
    "Groq": f"gsk_{letters(52)}",
    "Hugging Face": f"hf_{letters(34)}",
    "Replicate": f"r8_{letters(37)}",
    "xAI": f"xai-{letters(80)}",
    "Perplexity": f"pplx-{letters(48)}",
    "Fireworks": f"fw_{letters(24)}",
    "NVIDIA": f"nvapi-{letters(64)}",
    "Voyage": f"pa-{letters(43)}",
    "Cerebras": f"csk-{letters(48)}",
    "Tavily": f"tvly-{letters(32)}",
    "LangSmith": f"lsv2_pt_{hexadecimal(31)}8_{hexadecimal(10)}",
    "Databricks": f"dapi{hexadecimal(32)}",
    "SendGrid": f"SG.{letters(22)}.{letters(43)}",
    "npm": f"npm_{letters(36)}",
    "PyPI": f"pypi-{letters(100)}",
    "Amazon": "AKIAQ7WX3ZP5LM2NV8RT",
    "Amazon, temporary": "ASIAQ7WX3ZP5LM2NV8RT",
    "GitHub": f"ghp_{letters(36)}",
    "GitHub, server": f"ghs_{letters(36)}",
    "GitHub, fine-grained": f"github_pat_{letters(22)}_{letters(59)}",
    "GitLab": f"glpat-{letters(20)}",
    "Slack, bot": f"xoxb-{_random.randrange(10**11)}-{_random.randrange(10**12)}-{letters(24)}",
    "Slack, application": f"xapp-1-A{letters(10)}-{_random.randrange(10**12)}-{hexadecimal(64)}",
    "JSON web token": token(),
    "organization of OpenAI": f"org-{letters(24)}",
    "project of OpenAI": f"proj_{letters(24)}",
}
AROUND: dict[str, Callable[[str], str]] = {
    "alone": "{}".format,
    "sentence": "Incorrect API key provided: {}. You can find your key in the dashboard.".format,
    "quoted": "it's '{}'".format,
    "path": "/v1/things/{}/parts".format,
    "file name": "recorded_{}.yaml".format,
    "lines": "first\n{}\nlast".format,
    "assignment": "x={};".format,
    "JSON": lambda secret: json.dumps({"error": {"message": f"no {secret}"}}),
    "URL-encoded": lambda secret: quote(f"a b {secret} c", safe=""),
    "base64": lambda secret: base64.b64encode(f"user:{secret}".encode()).decode(),
    "other script": "日本{}語".format,
}
NAMED = [
    "Authorization: Bearer {}",
    "authorization: bearer {}",
    "Authorization: {}",
    "'Authorization': 'Bearer {}'",
    '"authorization": "Bearer {}"',
    "Authorization: token {}",
    "Proxy-Authorization: Bearer {}",
    "Bearer {}",
    "x-api-key: {}",
    "X-Api-Key={}",
    "api-key: {}",
    "x-goog-api-key: {}",
    "OPENAI_API_KEY={}",
    "export ACME_API_KEY='{}'",
    "ACME_TOKEN={}",
    "aws_secret_access_key = {}",
    "AWS_SECRET_ACCESS_KEY={}",
    "aws_session_token={}",
    "AccountKey={}",
    "password={}",
    "password: {}",
    "client_secret={}",
    "https://me:{}@example.com/x",
    "postgresql+psycopg://me:{}@db:5432/x",
    "https://{}@github.com/owner/project.git",
    "https://example.com/a?key={}",
    "https://example.com/a?page=1&api_key={}&b=2",
    "https://example.com/a?access_token={}#top",
    "/v1beta/models/m:generateContent?key={}",
    "https://example.com/?to=%2Fa%3Ftoken%3D{}%26b%3D1",
    "https://s3.example.com/f?X-Amz-Expires=60&X-Amz-Signature={}",
    "https://s3.example.com/f?X-Amz-Security-Token={}&b=1",
    "https://b.example.net/f?sv=2024&sig={}&se=1",
    "Cookie: session={}",
    "Set-Cookie: id={}; HttpOnly",
    '{{"api_key": "{}"}}',
    '{{"apiKey": "{}", "b": 1}}',
    '{{\\"client_secret\\": \\"{}\\"}}',
    '{{"password": "{}"}}',
    "ApiKey(api_key='{}')",
    "Client(token='{}')",
    '"api_key": "{}',
    "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n{}",
    "-----BEGIN EC PRIVATE KEY-----\\n{}\\n-----END EC PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
]
WINDOW = 8
"""So many characters of a secret in a row are a find."""


def left_of(secret: str, text: str) -> list[str]:
    """Return the visible parts of a secret; prefixes such as `sk-proj-` do not count."""
    rows = (secret[start : start + WINDOW] for start in range(12, len(secret) - WINDOW + 1))
    return [row for row in rows if row in text]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_stays_as_it_is(text: str) -> None:
    redactor = Redactor()
    assert redactor.clean(text) == text
    assert redactor.clean({"text": [text]}) == {"text": [text]}


@pytest.mark.parametrize("words", [40])
def test_the_documentation_stays_as_it_is(words: int) -> None:
    root = Path(__file__).parents[2]
    redactor = Redactor()
    for path in [*root.glob("docs/*.md"), root / "LICENSE"]:
        lines = path.read_text().splitlines()
        assert [line for line in lines if redactor.clean(line) != line] == [], path


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_real_secret_vanishes_wherever_it_stands(
    secret: str, around: Callable[[str], str]
) -> None:
    cleaned = Redactor().clean(around(secret))
    assert "[redacted]" in cleaned
    assert left_of(secret, cleaned) == []
    if around in (AROUND["sentence"], AROUND["lines"]):
        assert cleaned == around("[redacted]")


@pytest.mark.parametrize("form", NAMED)
def test_a_secret_of_unknown_form_vanishes_where_its_name_is_told(form: str) -> None:
    for _ in range(20):
        secret = letters(32)
        cleaned = Redactor().clean(form.format(secret))
        assert "[redacted]" in cleaned
        assert left_of(f"{'.' * 12}{secret}", cleaned) == [], cleaned


def test_the_credentials_of_basic_authentication_vanish() -> None:
    for name, password in (
        ("me", "hunter22"),
        ("user@example.com", "correct horse"),
        ("api", letters()),
    ):
        encoded = base64.b64encode(f"{name}:{password}".encode()).decode()
        for text in (
            f"Authorization: Basic {encoded}",
            f"it sends basic {encoded}",
            f"Basic%20{quote(encoded)}",
        ):
            assert encoded[:8] not in Redactor().clean(text)


def test_a_token_that_is_cut_at_either_end_vanishes() -> None:
    whole = token()
    for text in (whole[:20], whole[:40], whole[10:], f"{whole[:60]}…", f"…{whole[10:]}"):
        assert Redactor().clean(text).strip("…") == "[redacted]"


@pytest.mark.parametrize(
    "name", ["openai-organization", "openai-project", "anthropic-organization-id"]
)
def test_the_headers_that_name_an_organization_are_hidden(name: str) -> None:
    assert Redactor().clean({name: "acme"}) == {name: "[redacted]"}
