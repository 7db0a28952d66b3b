"""A valid answer for a JSON schema that nobody configured a reply for: small, plausible, always the same.

Values are proposed, and checked with `jsonschema`, innermost first: a proposal only has to be a good guess.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain, count, cycle, islice, product
from math import ceil, floor
from typing import Any

from llm_mock.core.reply import UNSET, Reply
from llm_mock.errors import LLMMockError
from llm_mock.support import schemas
from llm_mock.support.text import shorten

MOST_STEPS = 5_000
ROUNDS = ((1, 3), (1, 6), (2, 12))
"""How often the way to one place may follow the same reference, and how many it may follow at all."""
MOST_GUESSES = 50
"""How many values of one type are proposed for one place."""
FORMATS = {
    **dict.fromkeys(("byte", "base64", "base64url"), "dG{:02}"),
    **dict.fromkeys(("uuid", "uuid4"), "00000000-0000-4000-8000-0000000000{:02}"),
    **dict.fromkeys(("ipv4", "ipvanyaddress"), "192.0.2.{}"),
    **dict.fromkeys(("uri", "url", "uri-reference"), "https://example.com/{}"),
    "date": "2000-01-{:02}",
    "date-time": "2000-01-{:02}T00:00:00Z",
    "duration": "PT{}S",
    "email": "user{}@example.com",
    "hostname": "host{}.example.com",
    "ipv6": "2001:db8::{}",
    "time": "00:00:{:02}Z",
}
NUMERIC = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
SIGNS = {  # by what a schema without a type shows what it is about
    "object": {"properties", "required", "additionalProperties", "minProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
    "number": NUMERIC,
}
Values = Iterator[Any]
Refs = tuple[str, ...]
"""The references that lead to a place."""


def generated_reply(schema: dict[str, Any]) -> Reply:
    """The reply to a call that asks for a schema nobody configured a reply for; raises as `instance` does."""
    return _cached_reply(json.dumps(schema))


@functools.lru_cache(maxsize=256)
def _cached_reply(schema: str) -> Reply:
    return Reply(data=instance(json.loads(schema)))


def instance(schema: dict[str, Any]) -> Any:
    """A small value that a JSON schema accepts; the same in every process.

    Args:
        schema: a JSON schema, such as `model_json_schema()` gives. Its `default` and `examples` are used where they
            are valid; of an object there is only what is required; recursion ends as soon as it may.

    Raises:
        LLMMockError: the schema is invalid, or no value was found, such as for a `pattern`; the message says where.
    """
    from referencing.exceptions import Unresolvable

    if problem := schemas.problem_of(schema):
        raise LLMMockError(_not_generated(schema, f"it is no valid JSON schema: {problem}"))
    problems: list[str] = []
    try:
        for entries, depth in ROUNDS:
            for value in _Search(schema, entries, depth, problems).values(schema, "the answer", ("#",)):
                return json.loads(json.dumps(value))
        problem = problems[0]
    except Unresolvable as error:
        problem = f"it refers to {error.ref!r}, which is not in it"
    except (_TooMuch, RecursionError):
        problem = "there is too much to try"
    raise LLMMockError(_not_generated(schema, problem))


def _not_generated(schema: dict[str, Any], problem: str) -> str:
    return (
        f"No answer can be generated for the schema {schema.get('title') or shorten(schema)}: {problem}. "
        "Configure a reply with set(…, schema=…)."
    )


class _TooMuch(Exception):
    """The search was given up."""


class _Search:
    """Looks for values of the parts of one schema."""

    def __init__(self, root: dict[str, Any], entries: int, depth: int, problems: list[str]) -> None:
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012

        self._validator = schemas.validator_of(json.dumps(root))[0]
        self._resolver = Registry[Any]().resolver_with_root(DRAFT202012.create_resource(root))
        self._entries, self._depth = entries, depth
        self._steps = 0
        self._problems = problems  # where there was no value, and why, innermost first

    def values(self, schema: Any, place: str, refs: Refs) -> Values:
        """Valid values, the preferred one first."""
        validator, mark = self._validator.evolve(schema=schema), len(self._problems)
        found, problem = False, "nothing fits"
        for flat, way in self._alternatives(schema, refs):
            for value in self._proposals(flat, place, way):
                self._step()
                error = next(validator.iter_errors(value), None)
                if error is None:
                    found = True
                    del self._problems[mark:]
                    yield value
                elif problem == "nothing fits":
                    problem = error.message
        if not found:
            self._problems.append(f"{place}: {problem}")

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise _TooMuch

    def _alternatives(self, schema: Any, refs: Refs) -> Iterator[tuple[dict[str, Any], Refs]]:
        """What a schema leaves to choose from, as schemas without references and combinations."""
        self._step()
        if not isinstance(schema, dict):
            yield from [({}, refs)] if schema else []
            return
        groups = [[part] for part in schema.get("allOf", ())]
        groups += [schema[key] for key in ("anyOf", "oneOf") if key in schema]
        if (reference := schema.get("$ref")) is not None:
            if refs.count(reference) >= self._entries or len(refs) > self._depth:
                return
            refs = (*refs, reference)
            groups.insert(0, [self._resolver.lookup(reference).contents])
        own = {key: rule for key, rule in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        for choice in product(*groups):
            for flats in product(*(self._alternatives(part, refs) for part in choice)):
                way = (*refs, *chain.from_iterable(inner[len(refs) :] for _, inner in flats))
                yield functools.reduce(_merged, (flat for flat, _ in flats), own), way

    def _proposals(self, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        yield from [flat["default"]] if "default" in flat else []
        if "const" in flat or "enum" in flat:
            yield from [flat["const"]] if "const" in flat else flat["enum"]
            return
        yield from flat.get("examples", ())
        makers: dict[str, Callable[[], Values]] = {
            "object": lambda: self._objects(flat, place, refs),
            "array": lambda: self._arrays(flat, place, refs),
            "string": lambda: _texts(flat),
            "integer": lambda: _numbers(flat, whole=True),
            "number": lambda: _numbers(flat, whole=False),
            "boolean": lambda: iter((True, False)),
            "null": lambda: iter((None,)),
        }
        for name in _types(flat):
            yield from islice(makers[name](), MOST_GUESSES)

    def _objects(self, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        properties = flat.get("properties", {})
        names = dict.fromkeys(flat.get("required", ()))
        more = chain(properties, map(str, count(1)))  # numbers are keys of a dict[int, …] as well
        while len(names) < flat.get("minProperties", 0):
            self._step()
            names.setdefault(next(more))
        others = flat.get("additionalProperties", True)
        rows = _rows([self.values(properties.get(name, others), f"{place}.{name}", refs) for name in names])
        return (dict(zip(names, row, strict=True)) for row in rows)

    def _arrays(self, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        items = flat.get("items", True)
        prefix, items = (items, True) if isinstance(items, list) else (flat.get("prefixItems", []), items)
        length = ceil(min(max(flat.get("minItems", 0), len(prefix)), flat.get("maxItems", MOST_STEPS)))
        shared = self.values(items, f"{place}[{len(prefix)}]", refs)
        streams = [self.values(schema, f"{place}[{n}]", refs) for n, schema in enumerate(prefix[:length])]
        for number in range(len(streams), length):
            self._step()
            streams.append(shared if flat.get("uniqueItems") else self.values(items, f"{place}[{number}]", refs))
        return _distinct(streams) if flat.get("uniqueItems") else map(list, _rows(streams))


def _types(flat: dict[str, Any]) -> list[str]:
    """The types to try, the likely ones first."""
    if "type" in flat:
        names = [flat["type"]] if isinstance(flat["type"], str) else flat["type"]
        return sorted(names, key="null".__eq__)
    return [name for name, signs in SIGNS.items() if not signs.isdisjoint(flat)] or ["string"]


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """A schema for what both accept, as far as that can be put into one simply."""
    return {**first, **{key: _both(key, first[key], rule) if key in first else rule for key, rule in second.items()}}


def _both(key: str, first: Any, second: Any) -> Any:
    if key == "properties":
        return {**first, **second, **{name: {"allOf": [first[name], second[name]]} for name in first if name in second}}
    if key == "required":
        return [*first, *second]
    if key.startswith(("min", "exclusiveMin")):
        return max(first, second)
    return min(first, second) if key.startswith(("max", "exclusiveMax")) else second


def _numbers(flat: dict[str, Any], whole: bool) -> Values:
    """Multiples, from 0 on or from the bound next to it; then fractions between the bounds."""
    rules = {key: Fraction(str(rule)) for key, rule in flat.items() if key in NUMERIC}  # 0.1 as it is written
    low = max((rules[key] for key in ("minimum", "exclusiveMinimum") if key in rules), default=None)
    high = min((rules[key] for key in ("maximum", "exclusiveMaximum") if key in rules), default=None)
    step = rules.get("multipleOf", Fraction(1))
    step = step * step.denominator if whole else step
    first = ceil(low / step) if low is not None and low > 0 else 0
    first = floor(high / step) if high is not None and high < 0 else first
    for number in chain.from_iterable((first + far, first - far) for far in range(MOST_GUESSES // 4)):
        if (low is None or step * number >= low) and (high is None or step * number <= high):
            yield _plain(step * number)
    if not whole and "multipleOf" not in flat:
        low = low if low is not None else high - 1 if high is not None else Fraction(0)
        width = high - low if high is not None else Fraction(1)
        yield from (_plain(low + width / part) for part in range(2, MOST_GUESSES))


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _texts(flat: dict[str, Any]) -> Iterator[str]:
    if flat.get("format") in FORMATS:
        yield from (FORMATS[flat["format"]].format(number) for number in range(1, 29))
        return
    least, most = flat.get("minLength", 0), flat.get("maxLength", 2**31)
    text = ("text" * (int(least) // 4 + 1))[: int(min(max(4, least), most))]
    for number in ("", *map(str, range(1, MOST_GUESSES))):
        yield text + number if len(text + number) <= most else text[: -len(number)] + number


def _rows(streams: list[Values]) -> Iterator[tuple[Any, ...]]:
    """The first values, the second ones, …; of a stream that has no more the same again."""
    return zip(*map(cycle, streams), strict=False) if streams else iter([()])


def _distinct(streams: list[Values]) -> Values:
    """A row of values that all differ, if there is one; for Python `0 == False`, so these do not."""
    row: list[Any] = []
    for stream in streams:
        value = next((value for value in stream if value not in row), UNSET)
        if value is UNSET:
            return
        row.append(value)
    yield row
