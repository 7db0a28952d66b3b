"""A valid answer for a JSON schema that nobody configured a reply for: small, plausible, always the same.

Values are proposed, and checked by `jsonschema`, innermost first: a proposal only has to be a good guess.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import chain, count, islice, product
from math import ceil, floor, lcm
from typing import Any

from llm_mock.core.reply import UNSET, Reply
from llm_mock.errors import LLMMockError
from llm_mock.support.text import shorten

MOST_STEPS = 20_000
MOST_MISSES = 500
TURN = 20
"""How many values one alternative proposes before the next has its turn."""
FORMATS = {
    **dict.fromkeys(("byte", "base64", "base64url"), "dG{:02}"),
    **dict.fromkeys(("email", "idn-email", "name-email"), "user{}@example.com"),
    **dict.fromkeys(("hostname", "idn-hostname"), "host{}.example.com"),
    **dict.fromkeys(("ipv4", "ipvanyaddress", "ipvanyinterface", "ipv4interface"), "192.0.2.{}"),
    **dict.fromkeys(("ipv4network", "ipvanynetwork"), "192.0.2.{}/32"),
    **dict.fromkeys(("ipv6", "ipv6interface"), "2001:db8::{}"),
    **dict.fromkeys(("uri", "iri", "uri-reference", "iri-reference", "url"), "https://example.com/{}"),
    **{f"uuid{version}": f"00000000-0000-{version}000-8000-0000000000{{:02}}" for version in range(1, 9)},
    "date": "2000-01-{:02}",
    "date-time": "2000-01-{:02}T00:00:00Z",
    "duration": "PT{}S",
    "ipv6network": "2001:db8::{}/128",
    "time": "00:00:{:02}Z",
    "uuid": "00000000-0000-4000-8000-0000000000{:02}",
}
SIGNS = {  # by what a schema without a type shows what it is about
    "object": {"properties", "required", "additionalProperties", "patternProperties", "minProperties", "propertyNames"},
    "array": {"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"},
    "string": {"format", "pattern", "minLength", "maxLength", "contentMediaType"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}
ALTERNATIVES = {"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else"}
Values = Iterator[Any]
Refs = tuple[str, ...]
"""The references that lead to a place."""


def generated_reply(schema: dict[str, Any]) -> Reply:
    """The reply to a call that asks for a schema nobody configured a reply for; raises as `instance` does."""
    return _cached_reply(json.dumps(schema))


@functools.lru_cache(maxsize=256)
def _cached_reply(schema: str) -> Reply:
    return Reply(data=instance(json.loads(schema)))


def instance(schema: Any) -> Any:
    """A small value that a JSON schema accepts; the same in every process.

    Args:
        schema: a JSON schema, such as `model_json_schema()` gives. Its `default` and `examples` are used where they
            are valid; of an object there is only what is required; recursion ends as soon as it may.

    Raises:
        LLMMockError: the schema is invalid, no value was found, or a `pattern` occurs and hypothesis is missing.
    """
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    failures: list[str] = []
    try:
        for entries in (1, 2):  # into the same reference, on the way to one place
            search = _Search(schema, entries, failures)
            for value in search.values(schema, "the answer", ("#",)):
                return json.loads(json.dumps(value))
            if not search.blocked:
                break
        problem = "no value was found that keeps all its rules"
    except SchemaError as error:
        problem = f"it is no valid JSON schema: {error.message}"
    except (Unresolvable, re.error) as error:
        problem = f"it cannot be read: {error}"
    except (_TooMuch, RecursionError):
        problem = "there is too much to try"
    title = schema.get("title") if isinstance(schema, dict) else None
    place = next(iter(failures), "the answer")
    raise LLMMockError(
        f"No answer can be generated for the schema {title or shorten(schema)}, at {place}: {problem}. "
        "Configure a reply with set(…, schema=…)."
    )


class _TooMuch(Exception):
    """The search was given up."""


class _Search:
    """Looks for values of the parts of one schema."""

    def __init__(self, root: Any, entries: int, failures: list[str]) -> None:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import validator_for
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT202012

        kind = validator_for(root, default=Draft202012Validator)
        kind.check_schema(root)
        resource = Resource.from_contents(root, DRAFT202012) if isinstance(root, dict) else None
        self._validator = kind(root, format_checker=kind.FORMAT_CHECKER)
        self._resolver = Registry[Any]().resolver_with_root(resource or DRAFT202012.create_resource(root))
        self._entries = entries
        self._steps = 0
        self._failures = failures  # the places for which there was no value, innermost first
        self.blocked = False  # whether a reference was not followed once more

    def values(self, schema: Any, place: str, refs: Refs) -> Values:
        """Valid values, the preferred one first, as long as there are any."""
        found, misses, mark = False, 0, len(self._failures)
        for value in _by_turns(self._proposals(schema, flat, place, way) for flat, way in self._flat(schema, refs)):
            self._step()
            if self._valid(schema, value):
                del self._failures[mark:]
                found, misses = True, 0
                yield value
            elif (misses := misses + 1) > MOST_MISSES:
                break
        if not found:
            self._failures.append(place)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise _TooMuch

    def _valid(self, schema: Any, value: Any) -> bool:
        return self._validator.evolve(schema=schema).is_valid(value)

    def _flat(self, schema: Any, refs: Refs) -> Iterator[tuple[dict[str, Any], Refs]]:
        """The alternatives that a schema leaves, as schemas without references and combinations."""
        self._step()
        if not isinstance(schema, dict):
            yield from [({}, refs)] if schema else []
            return
        groups: list[list[Any]] = [[part] for part in schema.get("allOf", ())]
        groups += [schema[key] for key in ("anyOf", "oneOf") if key in schema]
        if "if" in schema:
            groups.append([schema.get("else", True), {"allOf": [schema["if"], schema.get("then", True)]}])
        way = refs
        if "$ref" in schema:
            if refs.count(schema["$ref"]) >= self._entries:
                self.blocked = True
                return
            way = (*refs, schema["$ref"])
            groups.insert(0, [self._resolver.lookup(schema["$ref"]).contents])
        base = {key: rule for key, rule in schema.items() if key not in ALTERNATIVES}
        yield from self._combined(base, groups, way, way)

    def _combined(self, base: Any, groups: list[Any], refs: Refs, way: Refs) -> Iterator[tuple[dict[str, Any], Refs]]:
        if not groups:
            yield base, way
            return
        for choice in groups[0]:
            for flat, inner in self._flat(choice, refs):
                yield from self._combined(_merged(base, flat), groups[1:], refs, way + inner[len(refs) :])

    def _proposals(self, schema: Any, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        yield from [flat["default"]] if "default" in flat else []
        if "const" in flat or "enum" in flat:
            yield from [flat["const"]] if "const" in flat else flat["enum"]
            return
        yield from flat.get("examples", ())
        makers: dict[str, Callable[[], Values]] = {
            "string": lambda: self._texts(schema, flat, place, refs),
            "object": lambda: self._objects(flat, place, refs),
            "array": lambda: self._arrays(flat, place, refs),
            "integer": lambda: _numbers(flat, whole=True),
            "number": lambda: _numbers(flat, whole=False),
            "boolean": lambda: iter((True, False)),
            "null": lambda: iter((None,)),
        }
        yield from _by_turns(makers[name]() for name in _types(flat, list(makers)))

    def _texts(self, schema: Any, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        if flat.get("format") in FORMATS:
            yield from (FORMATS[flat["format"]].format(number) for number in range(1, 29))
        if "pattern" in flat:
            yield from _matching(flat["pattern"], flat.get("minLength", 0), lambda text: self._valid(schema, text))
        elif flat.get("contentMediaType") == "application/json":
            yield from map(json.dumps, self.values(flat.get("contentSchema", True), place, refs))
        elif flat.get("format") not in FORMATS:
            yield from _plain_texts(flat.get("minLength", 0), flat.get("maxLength"))

    def _arrays(self, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        items = flat.get("items", True)
        prefix = items if isinstance(items, list) else flat.get("prefixItems", [])
        rest = flat.get("additionalItems", True) if isinstance(items, list) else items
        special = [{"allOf": [flat["contains"], rest]}] * flat.get("minContains", 1) if "contains" in flat else []
        least, most = flat.get("minItems", 0), flat.get("maxItems", MOST_STEPS)
        full = min(max(least, len(prefix) + len(special)), most)
        lengths = dict.fromkeys([full, *range(ceil(least), min(full + 2, most) + 1)])

        def of_length(length: int) -> Values:
            schemas = islice(chain(prefix, special), length)
            streams = [self.values(schema, f"{place}[{index}]", refs) for index, schema in enumerate(schemas)]
            if not flat.get("uniqueItems"):
                tail = range(len(streams), length)
                return map(list, _rows([*streams, *(self.values(rest, f"{place}[{n}]", refs) for n in tail)]))
            shared = self.values(rest, f"{place}[{len(streams)}]", refs)
            return _distinct([*streams, *[shared] * (length - len(streams))])

        yield from _by_turns(of_length(int(length)) for length in lengths)

    def _objects(self, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        required = _with_dependents(flat, flat.get("required", ()))
        optional = [name for name in flat.get("properties", {}) if name not in required]

        def with_names(extra: Sequence[str]) -> Values:
            names = dict.fromkeys(_with_dependents(flat, [*required, *extra]))
            more = chain(optional, self._names(flat, place, refs))
            while len(names) < flat.get("minProperties", 0) and (name := next(more, None)) is not None:
                names[name] = None
            rows = _rows([self.values(_property(flat, name), f"{place}.{name}", refs) for name in names])
            return (dict(zip(names, row, strict=True)) for row in rows)

        yield from _by_turns(map(with_names, ([], *([name] for name in optional), optional)))

    def _names(self, flat: dict[str, Any], place: str, refs: Refs) -> Iterator[str]:
        rule = flat.get("propertyNames", True)
        if rule is not True:
            yield from self.values({"allOf": [{"type": "string"}, rule]}, f"{place} (a name)", refs)
        for pattern in flat.get("patternProperties", {}):
            yield from islice(_matching(pattern, 0, lambda name: self._valid(rule, name)), TURN)
        yield from map(str, count(1))  # names that are keys of a dict[int, …] as well


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """A schema for what both accept, as far as that can be put into one."""
    merged = dict(first)
    for key, rule in second.items():
        merged[key] = _both(key, first[key], rule) if key in first else rule
    return merged


def _both(key: str, first: Any, second: Any) -> Any:
    if key in ("properties", "patternProperties"):
        shared = {name: {"allOf": [first[name], second[name]]} for name in first if name in second}
        return {**first, **second, **shared}
    if key in ("items", "additionalProperties", "propertyNames", "contains") and not isinstance(first, list):
        return {"allOf": [first, second]}
    if key in ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"):
        return max(first, second)
    if key in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
        return min(first, second)
    if key == "multipleOf":
        one, other = _exact(first), _exact(second)
        parts = one.denominator * other.denominator
        return Fraction(lcm(one.numerator * other.denominator, other.numerator * one.denominator), parts)
    if key == "required":
        return [*first, *second]
    if key == "enum":
        return [value for value in first if value in second]
    if key == "type":
        return [name for name in _named(first, second) if name in _named(second, first)]
    return first or second if key == "uniqueItems" else first


def _named(types: Any, others: Any) -> list[str]:
    """The types that a `type` names; `number` as `integer` where only that is left."""
    names = [types] if isinstance(types, str) else types
    whole = "number" in names and "integer" in others and "number" not in others
    return [*names, "integer"] if whole else names


def _types(flat: dict[str, Any], known: list[str]) -> list[str]:
    """The types to try, the likely ones first."""
    if "type" in flat:
        names = [flat["type"]] if isinstance(flat["type"], str) else flat["type"]
        return sorted((name for name in names if name in known), key="null".__eq__)
    return sorted(known, key=lambda name: SIGNS.get(name, set()).isdisjoint(flat))


def _property(flat: dict[str, Any], name: str) -> Any:
    parts = [flat["properties"][name]] if name in flat.get("properties", {}) else []
    parts += [rule for pattern, rule in flat.get("patternProperties", {}).items() if re.search(pattern, name)]
    parts = parts or [flat.get("additionalProperties", flat.get("unevaluatedProperties", True))]
    return parts[0] if len(parts) == 1 else {"allOf": parts}


def _with_dependents(flat: dict[str, Any], names: Iterable[str]) -> list[str]:
    known = list(dict.fromkeys(names))
    for name in known:  # which grows
        known += [other for other in flat.get("dependentRequired", {}).get(name, ()) if other not in known]
    return known


def _exact(number: Any) -> Fraction:
    return Fraction(str(number))  # 0.1 as it is written, not the float next to it


def _numbers(flat: dict[str, Any], whole: bool) -> Values:
    """Multiples, from 0 on or from the bound next to it; else fractions between the bounds."""
    lows = [_exact(flat[key]) for key in ("minimum", "exclusiveMinimum") if key in flat]
    highs = [_exact(flat[key]) for key in ("maximum", "exclusiveMaximum") if key in flat]
    low, high = max(lows, default=None), min(highs, default=None)
    step = _exact(flat.get("multipleOf", 1))
    multiples = _multiples(step * step.denominator if whole else step, low, high)
    yield from _by_turns([multiples] if whole or "multipleOf" in flat else [multiples, _fractions(low, high)])


def _multiples(step: Fraction, low: Fraction | None, high: Fraction | None) -> Values:
    first = ceil(low / step) if low is not None and low > 0 else 0
    first = floor(high / step) if high is not None and high < 0 else first
    for distance in count():
        near = [step * number for number in dict.fromkeys((first + distance, first - distance))]
        near = [number for number in near if (low is None or low <= number) and (high is None or number <= high)]
        if not near:
            return
        yield from map(_plain, near)


def _fractions(low: Fraction | None, high: Fraction | None) -> Values:
    low = low if low is not None else high - 1 if high is not None else Fraction(0)
    width = high - low if high is not None else Fraction(1)
    yield from (_plain(low + width * part / 2**depth) for depth in range(1, 40) for part in range(1, 2**depth, 2))
    yield from map(_plain, (low, low + width))


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _plain_texts(least: float, most: float | None) -> Iterator[str]:
    room = max(4, int(least)) if most is None else int(min(most, max(4, least)))
    text = ("text" * (room // 4 + 1))[:room]
    yield text
    for number in map(str, count(1)):
        if most is not None and len(number) > most:
            return
        yield text + number if most is None or room + len(number) <= most else text[: -len(number)] + number


def _matching(pattern: str, least: float, accepted: Callable[[str], bool]) -> Iterator[str]:
    """Different texts in which the pattern is found, the simplest first."""
    try:
        from hypothesis import HealthCheck, Phase, currently_in_test_context, find, settings
        from hypothesis.errors import NoSuchExample, Unsatisfiable
        from hypothesis.strategies import from_regex
    except ImportError:
        raise LLMMockError(
            f"A text for the pattern {pattern!r} can only be generated with hypothesis: "
            "pip install 'pytest-llm-mock[generate]', or configure a reply with set(…, schema=…)."
        ) from None
    common = settings(
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    simplest = settings(common, max_examples=1, phases=[Phase.generate])  # hypothesis begins with it
    thorough = settings(common, max_examples=500, phases=[Phase.generate, Phase.shrink])
    seen: list[str] = []
    sources = [*_lengthened(pattern, int(least)), pattern]
    for effort, source in product((simplest, thorough), sources):
        try:
            while True:
                texts = from_regex(source).filter(str.isprintable).filter(lambda text: text not in seen)
                if currently_in_test_context():  # a property test, in whose thread `find` refuses to work
                    with ThreadPoolExecutor(1) as alone:
                        seen.append(alone.submit(find, texts, accepted, settings=effort).result())
                else:
                    seen.append(find(texts, accepted, settings=effort))
                yield seen[-1]
        except (NoSuchExample, Unsatisfiable, re.error):
            continue


def _lengthened(pattern: str, least: int) -> list[str]:
    """The pattern with one of its repetitions made as long as the whole text has to be."""
    repetitions = re.finditer(r"(?<!\\)[+*]", pattern) if least > 1 else ()
    return [f"{pattern[: found.start()]}{{{least},}}{pattern[found.end() :]}" for found in repetitions]


def _distinct(streams: list[Values]) -> Values:
    """A row of values that all differ, if there is one; for Python `0 == False`, so these do not."""
    row: list[Any] = []
    for stream in streams:
        value = next((value for value in stream if value not in row), UNSET)
        if value is UNSET:
            return
        row.append(value)
    yield row


def _rows(streams: list[Values]) -> Iterator[tuple[Any, ...]]:
    """The first values, the second ones, …; at last other combinations of the first few."""
    seen: list[list[Any]] = []
    for stream in streams:
        seen.append(list(islice(stream, 1)))
        if not seen[-1]:
            return
    grown = True
    while grown:
        yield tuple(values[-1] for values in seen)
        grown = False
        for values, stream in zip(seen, streams, strict=True):
            new = list(islice(stream, 1))
            values += new
            grown = grown or bool(new)
    yield from islice(product(*(values[:4] for values in seen)), MOST_MISSES)


def _by_turns(streams: Iterable[Values]) -> Values:
    """Some values of the first stream, some of the second, … and then the same again."""
    started = []
    for stream in streams:
        yield from islice(stream, TURN)
        started.append(stream)
    while started:
        for stream in tuple(started):
            values = list(islice(stream, TURN))
            if not values:
                started.remove(stream)
            yield from values
