"""Each form of a secret, at the fewest characters that make it one, and just below."""

from __future__ import annotations

import base64

import pytest

from llm_mock.support.redaction import Redactor
from llm_mock.support.redaction.known_secrets import MOST_CARRIED, KnownSecrets

BODY = "4x7q9b1zK0aM"
"""Twelve characters as in a key."""
LONG = (BODY * 6)[:64]
HEXADECIMAL = "0f1e2d3c4b5a6978"


def key(prefix: str, shortest: int = 12, characters: str = LONG) -> tuple[str, str]:
    """Return the shortest key that begins so, and the same without its last character."""
    return prefix + characters[:shortest], prefix + characters[: shortest - 1]


PROVIDERS = (
    *("gsk", "hf", "api_org", "r8", "xai", "pplx", "tgp", "fw", "nvapi", "pa", "csk", "voyage"),
    *("jina", "tvly", "lsv2", "pk-lf"),
)
KEYS = [
    *(key(f"{name}{sign}") for name in PROVIDERS for sign in "-_"),
    *(key(prefix) for prefix in ("sk-", "sk_", "rk_live_", "rk_test_", "whsec_")),
    *(key(prefix) for prefix in ("npm_", "pypi-", "dop_v1_", "org-", "proj_")),
    *(key(prefix) for prefix in ("shpat_", "shpss_", "shpca_", "shppa_")),
    ("pa-a1cdefgh-ijk", "pa-a1cdefg-hijk"),  # eight letters and digits in a row make it random
    key("dapi", 16, HEXADECIMAL),
    key("AIza", 30),
    key("ya29.", 20),
    *(key(prefix, 16, "Q7WX3ZP5LM2NV8RT") for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
    *(key(f"gh{letter}_", 20) for letter in "pousr"),
    key("github_pat_", 20),
    key("glpat-", 16),
    *(key(f"xox{letter}-", 10) for letter in "abeprs"),
    key("xapp-1-", 10),
    key(f"SG.{LONG[:16]}.", 16),
    key(f"eyJ{LONG[:8]}.", 8),
]


@pytest.mark.parametrize(("secret", "too_short"), KEYS, ids=[each[0][:12] for each in KEYS])
def test_the_shortest_key_is_hidden_and_a_shorter_one_stays(secret: str, too_short: str) -> None:
    clean = Redactor().clean
    assert clean(f"a {secret} b") == "a [redacted] b"
    assert clean(f"a {too_short} b") == f"a {too_short} b"
    assert clean(f"a%20{secret}/b") == "a%20[redacted]/b"
    assert clean(f"a\\n{secret}") == "a\\n[redacted]"


@pytest.mark.parametrize("secret", [secret for secret, _ in KEYS if "org" not in secret])
def test_no_key_begins_within_a_word(secret: str) -> None:
    assert Redactor().clean(f"a x{secret} b") == f"a x{secret} b"


@pytest.mark.parametrize(
    "text",
    [
        f"ski-{BODY}",
        f"rk_prod_{BODY}",
        f"shpxx_{BODY}",
        f"dapi{HEXADECIMAL[:15]}g",
        f"AIzb{LONG[:30]}",
        f"ya28.{LONG[:20]}",
        "AKIAQ7WX3ZP5LM2NV8RTX",
        "ADIAQ7WX3ZP5LM2NV8RT",
        f"ghx_{LONG[:20]}",
        f"github_pet_{LONG[:20]}",
        f"glpet-{LONG[:16]}",
        f"xoxc-{LONG[:10]}",
        f"xapp-x-{LONG[:10]}",
        f"SG.{LONG[:15]}.{LONG[:16]}",
        f"SG.{LONG[:16]}",
        f"eyK{LONG[:8]}.{LONG[:8]}",
        f"eyJ{LONG[:7]}.{LONG[:8]}",
        "sk-onlylettersandnodigit",
        "org-20240102-20240103",
    ],
)
def test_what_only_resembles_a_key_stays(text: str) -> None:
    assert Redactor().clean(f"a {text} b") == f"a {text} b"


@pytest.mark.parametrize(
    "prefix",
    [
        *("sk-", "AIza", "github_pat_", "glpat-", "eyJ"),
        *(f"gh{letter}_" for letter in "pousr"),
        *(f"xox{letter}-" for letter in "abeprs"),
    ],
)
@pytest.mark.parametrize("cut", ["…", "...", "    …"])
def test_two_characters_of_a_key_before_a_cut_are_hidden(prefix: str, cut: str) -> None:
    clean = Redactor().clean
    assert clean(f"a {prefix}x1{cut}") == f"a [redacted]{cut}"
    assert clean(f"a {prefix}x{cut}") == f"a {prefix}x{cut}"
    assert clean(f"a {prefix}x1..") == f"a {prefix}x1.."


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"Bearer {BODY}", "Bearer [redacted]"),
        (f"BEARER%20{BODY}", "BEARER%20[redacted]"),
        (f"bearer+{BODY}", "bearer+[redacted]"),
        (f"Bearer {BODY}/+=~.-_{BODY},", "Bearer [redacted],"),
        (f"Bearer {'x1' * 300} then", "Bearer [redacted] then"),
        (f"Bearer {BODY[:11]}", None),
        (f"Bearer:{BODY}", None),
        (f"Bearers {BODY}", None),
        (f"Basic {encoded('me:pw1')}", "Basic [redacted]"),
        (f"basic%20{encoded('me:pw12')}%3D, x", "basic%20[redacted], x"),
        (f"basic {encoded('me=pw1')}", None),
        (f"basic {encoded('m:pw')[:7]}", None),
        ("https://me:p@h/", "https://me:[redacted]@h/"),
        ("https://:p@h/", "https://:[redacted]@h/"),
        ("https://me:@h/", None),
        ("https://me:${PASSWORD}@h/", None),
        ("https://me:p/q@h/", None),
        (f"https://{BODY}1234@h/", "https://[redacted]@h/"),
        (f"https://{BODY}123@h/", None),
        ("https://onlylettersandnone@h/", None),
        ("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\ny", "[redacted]\ny"),
        ("-----BEGIN%20EC+PRIVATE+KEY-----x-----END+EC+PRIVATE+KEY-----y", "[redacted]y"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nno end", "[redacted]"),
        ("-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----", None),
        ("----BEGIN PRIVATE KEY-----\nx", None),
    ],
)
def test_credentials_are_hidden_from_their_first_to_their_last_character(
    text: str, cleaned: str | None
) -> None:
    assert Redactor().clean(f"a {text}") == f"a {text if cleaned is None else cleaned}"


URL_NAMES = (
    *("key", "apikey", "api_key", "api-key", "subscription-key", "sig", "signature", "hmac"),
    *("token", "access_token", "id_token", "refresh_token", "auth_token", "session_token"),
    *("auth", "secret", "client_secret", "password", "passwd", "pwd", "AWSAccessKeyId"),
    *(f"X-{cloud}-{name}" for cloud in ("Amz", "Goog") for name in ("Signature", "Credential")),
    *("X-Amz-Security-Token", "X-Goog-Security-Token"),
)


@pytest.mark.parametrize("name", URL_NAMES)
@pytest.mark.parametrize("delimiter", ["?", "&", "#", ";", "%3F", "%26", "\\u0026"])
def test_a_value_in_a_query_is_hidden_by_its_name(name: str, delimiter: str) -> None:
    clean = Redactor().clean
    url = f"https://h/a{delimiter}"
    assert clean(f"{url}{name}=ab/de+gh&b=1") == f"{url}{name}=[redacted]&b=1"
    assert clean(f"{url}{name}=ab/de+g&b=1") == f"{url}{name}=ab/de+g&b=1"
    assert clean(f"{url}{name}s=ab/de+gh&b=1") == f"{url}{name}s=ab/de+gh&b=1"
    assert clean(f"{url}of{name}=ab/de+gh&b=1") == f"{url}of{name}=ab/de+gh&b=1"


SECRET_WHATEVER_IT_IS = (
    *("api_key", "api-key", "apikey", "authorization", "access_token", "refresh-token"),
    *("client_secret", "api_secret", "openai_organization", "anthropic-organization-id"),
    *("openai_project", "secret_access_key", "secretaccesskey", "access_key", "account_key"),
    *("accountkey", "subscription_key", "security_token"),
)
SECRET_IF_IT_LOOKS_SO = (
    *("id_token", "auth_token", "session_token", "bearer_token", "token", "secret", "password"),
    *("passwd", "pwd", "private_key", "credential", "credentials", "cookie", "set_cookie"),
    "set-cookie",
)


@pytest.mark.parametrize("name", [*SECRET_WHATEVER_IT_IS, *SECRET_IF_IT_LOOKS_SO])
@pytest.mark.parametrize("prefix", ["", "MY_", "x-"])
def test_a_field_is_hidden_by_its_name(prefix: str, name: str) -> None:
    clean = Redactor().clean
    value = "some words, and the number 1"
    assert clean({f"{prefix}{name}": value}) == {f"{prefix}{name}": "[redacted]"}
    assert clean({f"{prefix}{name}_": value}) == {f"{prefix}{name}_": value}


@pytest.mark.parametrize(
    "name",
    [
        *("monkey", "mytoken", "tokens", "api_keys", "api.key", "max_tokens", "secretary"),
        *("passwords", "cookies", "project", "openai", "organization", "acme_organization"),
        *("primary_key", "accesses_key", "authorizations", "user_access", "credentialed"),
    ],
)
def test_a_field_of_another_name_stays(name: str) -> None:
    value = {name: "some words, and the number 1"}
    assert Redactor().clean(value) == value


def test_a_header_of_a_gateway_is_hidden_by_its_name() -> None:
    clean = Redactor().clean
    assert clean({"Helicone-Auth": "any"}) == {"Helicone-Auth": "[redacted]"}
    assert clean("Helicone-Auth: hunter22, b") == "Helicone-Auth: [redacted], b"
    near_misses = {"Helicone-Author": "any", "helicone_auth": "any", "-auths": "any"}
    assert clean(near_misses) == near_misses
    assert clean("Helicone-Author: hunter22, b") == "Helicone-Author: hunter22, b"


@pytest.mark.parametrize("name", SECRET_WHATEVER_IT_IS)
def test_a_quoted_value_of_a_field_for_secrets_is_hidden(name: str) -> None:
    clean = Redactor().clean
    assert clean(f'{{"{name}": "any", "b": 1}}') == f'{{"{name}": "[redacted]", "b": 1}}'
    assert clean(f'f({name}="any", b=1)') == f'f({name}="any", b=1)'


@pytest.mark.parametrize("name", SECRET_IF_IT_LOOKS_SO)
def test_a_quoted_value_of_another_field_is_hidden_from_eight_characters_and_a_digit_on(
    name: str,
) -> None:
    clean = Redactor().clean
    assert clean(f'{{"{name}": "hunter-2"}}') == f'{{"{name}": "[redacted]"}}'
    for value in ("hunter2", "hunter-two"):
        assert clean(f'{{"{name}": "{value}"}}') == f'{{"{name}": "{value}"}}'


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("api_key: hunter-2, b", "api_key: [redacted], b"),
        ("api_key: hunter2, b", None),
        ("api_key: 12345678, b", None),
        ("api_key: hunter-two, b", None),
        ("password=hunter-2;", "password=[redacted];"),
        ("token=hunter-2;", None),
        ("token=hunter22;", "token=[redacted];"),
        ("token=hunter2;", None),
        ("token=12345678;", None),
        ("token=123456789012;", "token=[redacted];"),
        ("token=12345678901;", None),
        ("Authorization: Bearer onlylettersbutmany", "Authorization: Bearer [redacted]"),
        ("Authorization: Token onlyfifteenlett", None),
        ("Authorization: Key hunter-2", "Authorization: Key [redacted]"),
        ("Authorization: Key hunter2", None),
        ("X-Authorization => hunter-2", "X-Authorization => [redacted]"),
        ("api_key=${NAME-12345}", None),
        ("api_key=Bearer ${NAME-12345}", None),
        ("api_key=$NAME12345", None),
        ("api_key=<your-key-1>", None),
        ("api_key={your-key-1}", None),
        ("api_key=%(your-key-1)s", None),
        ("api_key=***12345678", None),
        ("api_key=**12345678", "api_key=[redacted]"),
    ],
)
def test_a_value_without_quotes_is_hidden_if_it_looks_like_one(
    text: str, cleaned: str | None
) -> None:
    assert Redactor().clean(text) == (text if cleaned is None else cleaned)


def test_a_piece_of_text_that_is_called_token_stays() -> None:
    clean = Redactor().clean
    for value in ("fifteen-chars-1", "sixteen-letters!"):
        assert clean({"token": value}) == {"token": value}
    assert clean({"token": "sixteen-chars-12"}) == {"token": "[redacted]"}


def test_base64_of_a_secret_is_hidden_from_twenty_characters_on() -> None:
    clean = Redactor().clean
    secret = encoded(f"sk-{BODY}")
    assert len(secret) == 20
    assert clean(f"a {secret}=, b") == "a [redacted], b"
    assert clean(f"a {secret}===, b") == "a [redacted]=, b"
    assert clean(f"a {encoded('not of a secret at all')} b") == (
        f"a {encoded('not of a secret at all')} b"
    )


def test_a_text_that_was_seen_before_is_cleaned_of_what_is_secret_since() -> None:
    known = KnownSecrets({})
    redactor = Redactor(known=known)
    text = "ACME-1 and hunter-2-hunter"
    assert redactor.clean(text) == text
    redactor.hide_pattern(r"ACME-\d")
    assert redactor.clean(text) == "[redacted] and hunter-2-hunter"
    known.hide("hunter-2-hunter")
    assert redactor.clean(text) == "[redacted] and [redacted secret]"


def test_of_very_many_credentials_of_requests_the_newer_half_is_kept() -> None:
    known = KnownSecrets({})
    known.hide("lasting-secret-1")
    credentials = [f"{number:03}-of-a-request/{number:03}" for number in range(MOST_CARRIED + 1)]
    known.hide_carried(*credentials[:-1])
    assert hides(known, credentials[0])
    known.hide_carried(credentials[-1])
    kept = [credential for credential in credentials if hides(known, credential)]
    assert kept == credentials[MOST_CARRIED // 2 :]
    assert hides(known, "lasting-secret-1")
    fresh = KnownSecrets({})
    fresh.hide("lasting-secret-1")
    fresh.hide_carried(*kept)
    for name in ("_values", "_carried", "_forms", "_rows", "forms", "parts"):
        assert vars(known)[name] == vars(fresh)[name]


def hides(known: KnownSecrets, text: str) -> bool:
    return bool(Redactor(known=known).clean(f"a {text} b") == "a [redacted secret] b")
