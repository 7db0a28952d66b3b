"""Find secrets by their form: keys, tokens, passwords, signatures in URLs, private keys.

Each search takes linear time. `bytes.find` finds a literal (`bearer`, `://`, …) or a long run of
the characters of keys; a pattern is tried only there. A pattern looks at a bounded number of
characters until it matches. What it matches may be of any length, as the search goes on behind it.
"""

from __future__ import annotations

import base64
import functools
import re
import string
from collections.abc import Callable, Iterator

from llm_mock.support.redaction.known_secrets import find_long_words
from llm_mock.support.redaction.marks import FORM, make_mark

Span = tuple[int, int]
"""The start and the end of a secret in a text."""

SHORTEST_BASE64 = 20
LOOKED_AT = 200
"""The number of characters that decide whether a value is a credential."""
LONGEST_NAME = 40
CACHED_NAMES = 1_000
"""The number of names of fields that are remembered as secret or not."""
LONGEST_CUT = 80
"""The number of characters before a cut that are searched for the start of a key."""

_WORD = string.ascii_letters + string.digits + "_-"


def _lazy_pattern(text: str) -> Callable[[], re.Pattern[str]]:
    """Return a function that compiles a pattern once."""
    # Compiled on first use, because importing this module must cost nothing.
    return functools.cache(lambda: re.compile(text, re.ASCII | re.DOTALL))


_START = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\[nrt]))"
"""The place where a key may begin; also behind `%20` in a URL and `\\n` in JSON."""
_PREFIXES = (
    r"sk[-_]|rk_(?:live|test)_|whsec_"  # OpenAI, Anthropic, OpenRouter, DeepSeek, Stripe, …
    r"|(?:gsk|hf|api_org|r8|xai|pplx|tgp|fw|nvapi|pa|csk|voyage|jina|tvly|lsv2|pk-lf)[_-]"
    r"|npm_|pypi-|dop_v1_|shp(?:at|ss|ca|pa)_|dapi(?=[0-9a-f]{16})|org-|proj_"
)
_KEY = _lazy_pattern(
    rf"{_START}(?=[ASacdefghjlnoprstvwxy])(?:"
    rf"(?P<key>(?:{_PREFIXES})[\w-]{{12,}})"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{20,}"  # Google
    r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # Amazon
    r"|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"  # GitHub, GitLab
    r"|xox[abeprs]-[\w-]{10,}|xapp-\d-[\w-]{10,}"  # Slack
    r"|SG\.[\w-]{16,64}\.[\w-]{16,}"  # SendGrid
    r"|(?P<jwt>eyJ[\w-]{8,}(?:\.[\w-]+)*)"  # JSON web tokens
    r")"
)
_CUT_KEY = _lazy_pattern(
    rf"{_START}(?:sk-|AIza|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|eyJ)"
    rf"[\w.-]{{2,{LONGEST_CUT}}}?(?=\s{{0,8}}\Z)"
)
_CUT_MARK = _lazy_pattern(r"…|\.{3,}")
_REST_OF_TOKEN = _lazy_pattern(r"(?:\.[\w-]+)*")
_BEARER = _lazy_pattern(rf"(?i:bearer)(?:\s{{1,8}}|%20|\+)(?P<secret>[\w.~+/=-]{{12,{LOOKED_AT}}})")
_REST_OF_BEARER = _lazy_pattern(r"[\w.~+/=-]*")
_BASIC = _lazy_pattern(
    rf"(?i:basic)(?:\s{{1,8}}|%20|\+)(?P<secret>[A-Za-z0-9+/_-]{{8,{LOOKED_AT}}})"
)
_REST_OF_BASIC = _lazy_pattern(r"(?:[A-Za-z0-9+/_=-]|%3D)*")
_IN_AUTHORITY = _lazy_pattern(
    r"://(?:[^\s/:@\"'<>]{0,128}:(?P<secret>[^\s/@\"'<>]{1,256})@"
    r"|(?P<token>[^\s/:@\"'<>]{16,256})@)"
)
_PRIVATE_KEY = _lazy_pattern(
    r"-----BEGIN(?:[A-Z0-9 ]|%20|\+){0,30}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----"
    r".*?(?:-----END(?:[A-Z0-9 ]|%20|\+){0,30}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----|\Z)"
)
_ASSIGNED = _lazy_pattern(
    r"(?P<closing>\\{0,3}[\"'])?(?:\s|\\[nt]){0,4}"
    r"(?P<sign>=>|[:=]|%3D|%3A)\s{0,4}"
    r"(?P<opening>\\{0,3}[\"'])?"
    r"(?P<scheme>(?i:bearer|basic|token|api-?key|key|digest|negotiate)(?:\s{1,4}|%20|\+))?"
)
_URL_VALUE = _lazy_pattern(r"(?:(?!%26|\\u0026)[^&#;\s\"'<>\\]){8,}")
_PLAIN_VALUE = _lazy_pattern(r"[^\s\"'\\,;<>&()\[\]{}]+")
_QUOTED_VALUE = {
    '"': _lazy_pattern(r'(?:[^"\\\n]|\\.)*'),
    "'": _lazy_pattern(r"(?:[^'\\\n]|\\.)*"),
    "\\": _lazy_pattern(r"[^\"'\\\n]*"),
}
_REFERENCE = _lazy_pattern(r"(?:\w{1,20} )?\$\{|\$\w|<|\{|%\(|\*{3}")
"""The start of a text that names a secret, such as `${TOKEN}` and `<your key>`."""
_URL_NAMES = _lazy_pattern(
    r"(?:(?:api[_-]?|subscription-)?key|sig|signature|hmac"
    r"|(?:(?:access|id|refresh|auth|session)_)?token|auth"
    r"|(?:client_)?secret|password|passwd|pwd|awsaccesskeyid"
    r"|x-(?:amz|goog)-(?:signature|credential|security-token))"
)
_FIELD = _lazy_pattern(
    r"(?:.{0,60}[_-])?(?:api[_-]?key|authorization"
    r"|(?:access|refresh)[_-]?token|(?:client|api)[_-]?secret"
    r"|(?:openai|anthropic)[_-]organization(?:[_-]id)?|openai[_-]project"
    r"|secret[_-]?access[_-]?key|access[_-]?key|account[_-]?key"
    r"|subscription[_-]key|security[_-]token)"
)
"""Names whose values are secret whatever they look like."""
_SECRET_FIELD = _lazy_pattern(
    r"(?:.{0,60}[_-])?(?:api[_-]?key|authorization"
    r"|(?:access|refresh|id|auth|session|bearer|security)[_-]?token|token"
    r"|(?:client|api)[_-]?secret|secret|password|passwd|pwd"
    r"|private[_-]?key|(?:secret[_-]?)?access[_-]?key"
    r"|account[_-]?key|subscription[_-]key|credentials?|(?:set[_-])?cookie"
    r"|(?:openai|anthropic)[_-]organization(?:[_-]id)?"
    r"|openai[_-]project)"
    # The headers of proxies and gateways, such as `Helicone-Auth`
    r"|[a-z0-9-]{1,60}-auth"
)
_NAMES = (
    b"key",
    b"token",
    b"secret",
    b"password",
    b"passwd",
    b"pwd",
    b"cookie",
    b"signature",
    b"sig=",
    b"sig%3d",
    b"hmac",
    b"credential",
    b"credentials",
    b"authorization",
    b"auth",
    b"awsaccesskeyid",
    b"organization",
    b"organization_id",
    b"organization-id",
    b"openai_project",
    b"openai-project",
)
"""The ends of the names of secrets."""
_URL_DELIMITERS = ("?", "&", "#", ";", "%3f", "%26", "\\u0026")


def cover_forms(text: str) -> str:
    """Return a text with each secret covered that is known by its form, also within base64."""
    secrets = sorted(_find_secrets(text, encoded=True))
    if not secrets:
        return text
    pieces = []
    position = 0
    for start, end in _merge_spans(secrets):
        mark = make_mark(text[start:end], FORM)
        pieces.append(text[position:start])
        pieces.append(mark)
        position = end
    pieces.append(text[position:])
    return "".join(pieces)


@functools.lru_cache(CACHED_NAMES)
def has_secret_name(name: str) -> bool:
    """Return whether a field of this name may hold a secret."""
    return bool(_SECRET_FIELD().fullmatch(name.lower()[-LONGEST_NAME:]))


def is_secret_field(name: str, value: str) -> bool:
    """Return whether the text of a field with the name of a secret is one."""
    if not value:
        return False
    if name.lower() != "token":
        return True
    # Providers call a piece of text `token`, too.
    return len(value) >= 16 and any(char.isdigit() for char in value)


def _merge_spans(spans: list[Span]) -> Iterator[Span]:
    """Yield sorted spans, those that overlap as one."""
    current: Span | None = None
    for span in spans:
        if current is None:
            current = span
        elif span[0] < current[1]:
            end = max(current[1], span[1])
            current = current[0], end
        else:
            yield current
            current = span
    if current is not None:
        yield current


def _find_secrets(text: str, encoded: bool = False) -> Iterator[Span]:
    """Yield the spans of the secrets in a text.

    Args:
        text: the text.
        encoded: whether to search what may be base64, too.
    """
    # One byte for each character, so that positions are the same in both.
    data = text.encode("ascii", "replace").lower()
    for start, end in find_long_words(data):
        yield from _find_keys(text, start, end)
        if encoded:
            yield from _find_encoded(text, start, end)
    matchers = {
        b"bearer": _match_bearer,
        b"basic": _match_basic,
        b"://": _match_authority,
        b"-----begin": _match_private_key,
    }
    for literal, match in matchers.items():
        yield from _match_at_literal(data, literal, functools.partial(match, text))
    for name in _NAMES:
        # The sign behind a short name is part of the literal, but not of the name.
        length = len(name.removesuffix(b"=").removesuffix(b"%3d"))
        match_value = functools.partial(_match_assigned, text, data, length)
        yield from _match_at_literal(data, name, match_value)
    if "…" in text or "..." in text:
        yield from _find_cut_keys(text)


def _match_at_literal(
    data: bytes,
    literal: bytes,
    match: Callable[[int], Span | None],
) -> Iterator[Span]:
    """Yield the secrets that a function matches at the positions of a literal."""
    position = data.find(literal)
    while position >= 0:
        span = match(position)
        # Searching goes on behind a secret: it would take quadratic time to try within it again.
        end = position + len(literal)
        if span is not None:
            yield span
            end = max(end, span[1])
        position = data.find(literal, end)


# Keys that are known by how they begin


def _find_keys(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _KEY().finditer(text, start, end):
        key = match["key"]
        token = match["jwt"]
        if key:
            # The shortest prefixes, such as `pa_` and `org-`, also begin ordinary names.
            is_secret = _is_random(key[3:])
        elif token:
            is_secret = _is_token(token, match.end() == len(text))
        else:
            is_secret = True
        if is_secret:
            yield match.span()
    yield from _find_cut_tokens(text, start, end)


def _is_token(value: str, at_the_end: bool) -> bool:
    """Return whether a text is a JSON web token, or its start where a text was cut."""
    _, dot, rest = value.partition(".")
    if dot:
        return len(rest.partition(".")[0]) >= 8
    return at_the_end and len(value) >= SHORTEST_BASE64


def _find_cut_tokens(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield JSON web tokens of which the first part is cut."""
    position = text.find(".eyJ", start, end)
    while position >= 0:
        rest = _REST_OF_TOKEN().match(text, position)
        if rest:
            last = rest.end()
        else:
            last = end
        head = text[start:position]
        first_part_length = len(head) - len(head.rstrip(_WORD))
        length = last - position
        if first_part_length > 0 and length >= 12:
            yield position - first_part_length, last
        start = last
        position = text.find(".eyJ", last, end)


def _find_encoded(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield what is base64 of a text with a secret."""
    position = start
    # Long words may contain these two characters, base64 does not.
    for part in re.split("[.~]", text[start:end]):
        last = position + len(part)
        if len(part) >= SHORTEST_BASE64:
            decoded = _decode_base64(part)
            has_secret = decoded is not None and any(_find_secrets(decoded))
            if has_secret:
                following = text[last : last + 2]
                padding = len(following) - len(following.lstrip("="))
                yield position, last + padding
        position = last + 1


def _decode_base64(value: str) -> str | None:
    """Return the text that a value encodes as base64; None if it does not encode a text."""
    value = value.rstrip("=").replace("-", "+").replace("_", "/")
    # One character more than whole bytes need is left where a text was cut.
    if len(value) % 4 == 1:
        value = value[:-1]
    padding = "=" * (-len(value) % 4)
    try:
        return base64.b64decode(value + padding).decode("ascii")
    except ValueError:
        return None


def _find_cut_keys(text: str) -> Iterator[Span]:
    """Yield what is left of keys where a text was cut."""
    for mark in _CUT_MARK().finditer(text):
        end = mark.start()
        start = max(0, end - LONGEST_CUT)
        match = _CUT_KEY().search(text, start, end)
        if match is not None:
            yield match.span()


# Secrets that are known by what is before them


def _match_bearer(text: str, position: int) -> Span | None:
    match = _BEARER().match(text, position)
    if match is None or not _is_random(match["secret"]):
        return None
    return _extend_span(text, match, _REST_OF_BEARER())


def _match_basic(text: str, position: int) -> Span | None:
    """Return the span of HTTP's basic credentials: base64 of a name and a password."""
    match = _BASIC().match(text, position)
    if match is None:
        return None
    decoded = _decode_base64(match["secret"]) or ""
    if ":" not in decoded or not decoded.isprintable():
        return None
    return _extend_span(text, match, _REST_OF_BASIC())


def _extend_span(text: str, match: re.Match[str], rest: re.Pattern[str]) -> Span:
    """Return the span of a secret, including what follows the part that was matched."""
    start, end = match.span("secret")
    following = rest.match(text, end)
    if following:
        end = following.end()
    return start, end


def _match_authority(text: str, position: int) -> Span | None:
    """Return the span of the password or the token in a URL."""
    match = _IN_AUTHORITY().match(text, position)
    if match is None:
        return None
    token = match["token"]
    if token:
        if _is_random(token):
            return match.span("token")
        return None
    if _REFERENCE().match(match["secret"]):
        return None
    return match.span("secret")


def _match_private_key(text: str, position: int) -> Span | None:
    match = _PRIVATE_KEY().match(text, position)
    return match.span() if match else None


def _match_assigned(text: str, data: bytes, length: int, position: int) -> Span | None:
    """Return the span of a value that is secret by its name.

    It may be the value of a header, a field, a variable or a part of a query.

    Args:
        text: the text.
        data: the same in lower case.
        length: the length of the last part of the name.
        position: the position of that part.
    """
    end = position + length
    sign = _ASSIGNED().match(text, end)
    if sign is None or _REFERENCE().match(text, sign.end()):
        return None
    start = max(0, position - LONGEST_NAME)
    before = data[start:position].decode()
    last_part = data[position:end].decode()
    first_part = before[len(before.rstrip(_WORD)) :]
    opening = sign["opening"]
    if sign["sign"] in ("=", "%3D") and not opening:
        value = _match_in_query(text, before, last_part, sign)
        if value is not None:
            return value
    name = first_part + last_part
    if not _SECRET_FIELD().fullmatch(name):
        return None
    if opening:
        return _match_quoted(text, name, sign)
    return _match_unquoted(text, name, sign)


def _match_in_query(text: str, before: str, last_part: str, sign: re.Match[str]) -> Span | None:
    """Return the span of a value in the query of a URL."""
    for delimiter in _URL_DELIMITERS:
        start = before.rfind(delimiter)
        if start < 0:
            continue
        name_start = start + len(delimiter)
        name = before[name_start:] + last_part
        if _URL_NAMES().fullmatch(name):
            value = _URL_VALUE().match(text, sign.end("sign"))
            return value.span() if value else None
    return None


def _match_quoted(text: str, name: str, sign: re.Match[str]) -> Span | None:
    opening = sign["opening"]
    # A quote within JSON within JSON has backslashes before it, and so has its closing one.
    if opening[0] == "\\":
        pattern = _QUOTED_VALUE["\\"]
    else:
        pattern = _QUOTED_VALUE[opening]
    quoted = pattern().match(text, sign.end("opening"))
    if quoted is None or not quoted[0]:
        return None
    value = quoted[0]
    if len(value) >= 8 and _has_digit(value):
        return quoted.span()
    # `"api_key": "any"` is data, `api_key="any"` is code.
    if sign["closing"] and _FIELD().fullmatch(name):
        return quoted.span()
    return None


def _match_unquoted(text: str, name: str, sign: re.Match[str]) -> Span | None:
    start = sign.end()
    # The decision needs only the first characters, however long the value is.
    beginning = _PLAIN_VALUE().match(text, start, start + LOOKED_AT)
    if beginning is None:
        return None
    has_scheme = bool(sign["scheme"])
    if not _is_secret_value(beginning[0], name, has_scheme):
        return None
    whole = _PLAIN_VALUE().match(text, start)
    return whole.span() if whole else None


def _is_secret_value(value: str, name: str, has_scheme: bool) -> bool:
    """Return whether a value without quotes is secret, given the name of its field."""
    if has_scheme and name.endswith("authorization"):
        if len(value) >= 16:
            return True
        return len(value) >= 8 and _has_digit(value)
    is_password = name.endswith(("password", "passwd", "pwd"))
    if is_password or _FIELD().fullmatch(name):
        # Words and plain numbers are placeholders and settings more often than secrets.
        if len(value) < 8 or value.isdigit():
            return False
        return _has_digit(value)
    return _is_random(value)


def _has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value[:LOOKED_AT])


def _is_random(value: str) -> bool:
    """Return whether a text looks like a key: a part mixes letters and digits, or is a number."""
    for part in re.split(r"[^A-Za-z0-9]+", value[:LOOKED_AT]):
        if len(part) < 8 or part.isalpha():
            continue
        # A date is a number of eight digits.
        if len(part) >= 12 or not part.isdigit():
            return True
    return False
