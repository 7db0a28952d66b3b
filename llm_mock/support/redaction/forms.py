"""Find secrets by their form: keys of providers, tokens, passwords, signatures in URLs, private
keys.

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

from llm_mock.support.redaction.known import find_long_words
from llm_mock.support.redaction.marks import FORM, make_mark

Span = tuple[int, int]
"""The start and the end of a secret in a text."""

SHORTEST_BASE64 = 20
LOOKED_AT = 200
"""A decision whether a value is a credential looks at so many of its characters."""
LONGEST_NAME = 40
LONGEST_CUT = 80
"""How much of a key is looked for before the place where a text was cut."""

_WORD = string.ascii_letters + string.digits + "_-"


def _pattern(text: str) -> Callable[[], re.Pattern[str]]:
    """Return what compiles a pattern when it is first needed: to import this module must cost
    nothing."""
    return functools.cache(lambda: re.compile(text, re.ASCII | re.DOTALL))


_START = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\[nrt]))"
"""Where a key may begin; also behind `%20` in a URL and `\\n` in JSON."""
_PREFIXES = (
    r"sk[-_]|rk_(?:live|test)_|whsec_"  # OpenAI, Anthropic, OpenRouter, DeepSeek, Stripe, …
    r"|(?:gsk|hf|api_org|r8|xai|pplx|tgp|fw|nvapi|pa|csk|voyage|jina|tvly|lsv2|pk-lf)[_-]"
    r"|npm_|pypi-|dop_v1_|shp(?:at|ss|ca|pa)_|dapi(?=[0-9a-f]{16})|org-|proj_"
)
_KEY = _pattern(
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
_CUT_KEY = _pattern(
    rf"{_START}(?:sk-|AIza|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|eyJ)"
    rf"[\w.-]{{2,{LONGEST_CUT}}}?(?=\s{{0,8}}\Z)"
)
_CUT_MARK = _pattern(r"…|\.{3,}")
_REST_OF_TOKEN = _pattern(r"(?:\.[\w-]+)*")
_BEARER = _pattern(rf"(?i:bearer)(?:\s{{1,8}}|%20|\+)(?P<secret>[\w.~+/=-]{{12,{LOOKED_AT}}})")
_REST_OF_BEARER = _pattern(r"[\w.~+/=-]*")
_BASIC = _pattern(rf"(?i:basic)(?:\s{{1,8}}|%20|\+)(?P<secret>[A-Za-z0-9+/_-]{{8,{LOOKED_AT}}})")
_REST_OF_BASIC = _pattern(r"(?:[A-Za-z0-9+/_=-]|%3D)*")
_IN_AUTHORITY = _pattern(
    r"://(?:[^\s/:@\"'<>]{0,128}:(?P<secret>[^\s/@\"'<>]{1,256})@|(?P<token>[^\s/:@\"'<>]{16,256})@)"
)
_PRIVATE_KEY = _pattern(
    r"-----BEGIN(?:[A-Z0-9 ]|%20|\+){0,30}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----"
    r".*?(?:-----END(?:[A-Z0-9 ]|%20|\+){0,30}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----|\Z)"
)
_ASSIGNED = _pattern(
    r"(?P<closing>\\{0,3}[\"'])?(?:\s|\\[nt]){0,4}(?P<sign>=>|[:=]|%3D|%3A)\s{0,4}(?P<opening>\\{0,3}[\"'])?"
    r"(?P<scheme>(?i:bearer|basic|token|api-?key|key|digest|negotiate)(?:\s{1,4}|%20|\+))?"
)
_URL_VALUE = _pattern(r"(?:(?!%26|\\u0026)[^&#;\s\"'<>\\]){8,}")
_PLAIN_VALUE = _pattern(r"[^\s\"'\\,;<>&()\[\]{}]+")
_QUOTED_VALUE = {
    '"': _pattern(r'(?:[^"\\\n]|\\.)*'),
    "'": _pattern(r"(?:[^'\\\n]|\\.)*"),
    "\\": _pattern(r"[^\"'\\\n]*"),
}
_REFERENCE = _pattern(r"(?:\w{1,20} )?\$\{|\$\w|<|\{|%\(|\*{3}")
"""How a text begins that names a secret, such as `${TOKEN}` and `<your key>`."""
_URL_NAMES = _pattern(
    r"(?:(?:api[_-]?|subscription-)?key|sig|signature|hmac|(?:(?:access|id|refresh|auth|session)_)?token|auth"
    r"|(?:client_)?secret|password|passwd|pwd|awsaccesskeyid|x-(?:amz|goog)-(?:signature|credential|security-token))"
)
_FIELD = _pattern(
    r"(?:.{0,60}[_-])?(?:api[_-]?key|authorization|(?:access|refresh)[_-]?token|(?:client|api)[_-]?secret"
    r"|(?:openai|anthropic)[_-]organization(?:[_-]id)?|openai[_-]project|secret[_-]?access[_-]?key|access[_-]?key|account[_-]?key|subscription[_-]key|security[_-]token)"
)
"""Names whose values are secret whatever they look like."""
_SECRET_FIELD = _pattern(
    r"(?:.{0,60}[_-])?(?:api[_-]?key|authorization|(?:access|refresh|id|auth|session|bearer|security)[_-]?token|token"
    r"|(?:client|api)[_-]?secret|secret|password|passwd|pwd|private[_-]?key|(?:secret[_-]?)?access[_-]?key"
    r"|account[_-]?key|subscription[_-]key|credentials?|(?:set[_-])?cookie|(?:openai|anthropic)[_-]organization(?:[_-]id)?"
    r"|openai[_-]project)"
)
_NAMES = (
    *(
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
    ),
    *(
        b"hmac",
        b"credential",
        b"authorization",
        b"auth=",
        b"auth%3d",
        b"awsaccesskeyid",
        b"organization",
    ),
)
"""The ends of the names of secrets."""
_URL_DELIMITERS = ("?", "&", "#", ";", "%3f", "%26", "\\u0026")


def cover_forms(text: str) -> str:
    """Return a text with what has the form of a secret covered, also where it is encoded as
    base64."""
    pieces, position = [], 0
    for start, end in _merged(sorted(_find(text, encoded=True))):
        pieces += [text[position:start], make_mark(text[start:end], FORM)]
        position = end
    if pieces:
        return "".join([*pieces, text[position:]])
    return text


def is_secret_field(name: str, value: str) -> bool:
    """Return whether the text of a field is secret by its name; providers call a piece of text
    `token`, too."""
    if not value or not _SECRET_FIELD().fullmatch(name[-LONGEST_NAME:].lower()):
        return False
    return name.lower() != "token" or (len(value) >= 16 and any(char.isdigit() for char in value))


def _merged(spans: list[Span]) -> Iterator[Span]:
    """Yield sorted spans, those that overlap as one."""
    current: Span | None = None
    for span in spans:
        if current is None:
            current = span
        elif span[0] < current[1]:
            current = current[0], max(current[1], span[1])
        else:
            yield current
            current = span
    if current is not None:
        yield current


def _find(text: str, encoded: bool = False) -> Iterator[Span]:
    """Yield the secrets of a text.

    Args:
        text: the text.
        encoded: also look into what may be base64.
    """
    data = text.encode(
        "ascii", "replace"
    ).lower()  # one byte for each character, so positions are the same
    for start, end in find_long_words(data):
        yield from _keys_in(text, start, end)
        if encoded:
            yield from _encoded_in(text, start, end)
    yield from _at(data, b"bearer", functools.partial(_bearer_at, text))
    yield from _at(data, b"basic", functools.partial(_basic_at, text))
    yield from _at(data, b"://", functools.partial(_authority_at, text))
    yield from _at(data, b"-----begin", functools.partial(_private_key_at, text))
    for name in _NAMES:
        length = len(name.removesuffix(b"=").removesuffix(b"%3d"))
        yield from _at(data, name, functools.partial(_assigned_at, text, data, length))
    if "…" in text or "..." in text:
        yield from _cut_keys(text)


def _at(data: bytes, literal: bytes, check: Callable[[int], Span | None]) -> Iterator[Span]:
    """Yield the secrets that are found where a literal stands; the search goes on behind each."""
    position = data.find(literal)
    while position >= 0:
        span = check(position)
        if span is not None:
            yield span
        position = data.find(literal, max(position + len(literal), span[1] if span else 0))


# Keys that are known by how they begin


def _keys_in(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _KEY().finditer(text, start, end):
        if match["key"]:
            if _is_random(match["key"][3:]):
                yield match.span()
        elif not match["jwt"] or _is_token(match["jwt"], match.end() == len(text)):
            yield match.span()
    yield from _tokens_without_start(text, start, end)


def _is_token(value: str, at_the_end: bool) -> bool:
    """Return whether a text is a JSON web token, or its start where a text was cut."""
    parts = value.split(".", 2)
    if len(parts) > 1:
        return len(parts[1]) >= 8
    return at_the_end and len(value) >= SHORTEST_BASE64


def _tokens_without_start(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield JSON web tokens of which the first part is cut."""
    position = text.find(".eyJ", start, end)
    while position >= 0:
        rest = _REST_OF_TOKEN().match(text, position)
        last = rest.end() if rest else end
        head = text[start:position]
        first = position - (len(head) - len(head.rstrip(_WORD)))
        if first < position and last - position >= 12:
            yield first, last
        start = last
        position = text.find(".eyJ", last, end)


def _encoded_in(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield what is base64 of a text with a secret."""
    position = start
    for part in re.split("[.~]", text[start:end]):
        last = position + len(part)
        if len(part) >= SHORTEST_BASE64 and (decoded := _decoded(part)) and any(_find(decoded)):
            padded = last + len(text[last : last + 2]) - len(text[last : last + 2].lstrip("="))
            yield position, padded
        position = last + 1


def _decoded(value: str) -> str | None:
    """Return what a text is base64 of; None where that is no text."""
    value = value.rstrip("=").replace("-", "+").replace("_", "/")
    if len(value) % 4 == 1:
        value = value[:-1]  # it may be cut
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4)).decode("ascii")
    except ValueError:
        return None


def _cut_keys(text: str) -> Iterator[Span]:
    """Yield what is left of keys where a text was cut."""
    for mark in _CUT_MARK().finditer(text):
        match = _CUT_KEY().search(text, max(0, mark.start() - LONGEST_CUT), mark.start())
        if match is not None:
            yield match.span()


# What is secret by what stands before it


def _bearer_at(text: str, position: int) -> Span | None:
    match = _BEARER().match(text, position)
    if match is None or not _is_random(match["secret"]):
        return None
    return _extended(text, match, _REST_OF_BEARER())


def _basic_at(text: str, position: int) -> Span | None:
    """Return where the credentials of HTTP's basic authentication stand: base64 of a name and a
    password."""
    match = _BASIC().match(text, position)
    if match is None:
        return None
    decoded = _decoded(match["secret"]) or ""
    if ":" not in decoded or not decoded.isprintable():
        return None
    return _extended(text, match, _REST_OF_BASIC())


def _extended(text: str, match: re.Match[str], rest: re.Pattern[str]) -> Span:
    """Return the span of a secret with what goes on behind the part that was looked at."""
    start, end = match.span("secret")
    further = rest.match(text, end)
    return start, further.end() if further else end


def _authority_at(text: str, position: int) -> Span | None:
    """Return where the password or the token in a URL stands."""
    match = _IN_AUTHORITY().match(text, position)
    if match is None:
        return None
    if match["token"]:
        if _is_random(match["token"]):
            return match.span("token")
        return None
    if _REFERENCE().match(match["secret"]):
        return None
    return match.span("secret")


def _private_key_at(text: str, position: int) -> Span | None:
    match = _PRIVATE_KEY().match(text, position)
    return match.span() if match else None


def _assigned_at(text: str, data: bytes, length: int, position: int) -> Span | None:
    """Return where the value of a header, a field, a variable or a part of a query stands that is
    secret by its name.

    Args:
        text: the text.
        data: the same in lower case.
        length: of the last part of the name.
        position: where that part begins.
    """
    sign = _ASSIGNED().match(text, position + length)
    if sign is None or _REFERENCE().match(text, sign.end()):
        return None
    before = data[max(0, position - LONGEST_NAME) : position].decode()
    name = before[len(before.rstrip(_WORD)) :] + data[position : position + length].decode()
    if sign["sign"] in ("=", "%3D") and not sign["opening"]:
        value = _in_query(text, before, name, sign)
        if value is not None:
            return value
    if not _SECRET_FIELD().fullmatch(name):
        return None
    if sign["opening"]:
        return _quoted_at(text, name, sign)
    return _plain_at(text, name, sign)


def _in_query(text: str, before: str, name: str, sign: re.Match[str]) -> Span | None:
    """Return where the value stands in the query of a URL."""
    for delimiter in _URL_DELIMITERS:
        start = before.rfind(delimiter)
        known = before[start + len(delimiter) :] + name[len(before) - len(before.rstrip(_WORD)) :]
        if start >= 0 and _URL_NAMES().fullmatch(known):
            value = _URL_VALUE().match(text, sign.end("sign"))
            return value.span() if value else None
    return None


def _quoted_at(text: str, name: str, sign: re.Match[str]) -> Span | None:
    opening = sign["opening"]
    pattern = _QUOTED_VALUE["\\" if opening[0] == "\\" else opening]
    quoted = pattern().match(text, sign.end("opening"))
    if quoted is None or not quoted[0]:
        return None
    # `"api_key": "any"` is data, `api_key="any"` is code
    is_secret = len(quoted[0]) >= 8 and _has_digit(quoted[0])
    if is_secret or (sign["closing"] and _FIELD().fullmatch(name)):
        return quoted.span()
    return None


def _plain_at(text: str, name: str, sign: re.Match[str]) -> Span | None:
    start = sign.end()
    value = _PLAIN_VALUE().match(text, start, start + LOOKED_AT)
    if value is None:
        return None
    if sign["scheme"] and name.endswith("authorization"):
        is_secret = len(value[0]) >= 16 or (len(value[0]) >= 8 and _has_digit(value[0]))
    elif _FIELD().fullmatch(name) or name.endswith(("password", "passwd", "pwd")):
        is_secret = len(value[0]) >= 8 and _has_digit(value[0]) and not value[0].isdigit()
    else:
        is_secret = _is_random(value[0])
    if not is_secret:
        return None
    whole = _PLAIN_VALUE().match(text, start)
    return whole.span() if whole else None


def _has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value[:LOOKED_AT])


def _is_random(value: str) -> bool:
    """Return whether a text looks as keys do: a part of it mixes letters and digits, or it is a
    long number."""
    for part in re.split(r"[^A-Za-z0-9]+", value[:LOOKED_AT]):
        if len(part) >= 8 and not part.isalpha() and (len(part) >= 12 or not part.isdigit()):
            return True
    return False
