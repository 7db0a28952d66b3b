"""A valid answer for a JSON schema that nobody configured a reply for: small, plausible, always the same.

Values are proposed, and checked with `jsonschema`, innermost first: a proposal only has to be a good guess.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, count, cycle, islice, product, repeat
from math import ceil, floor
from typing import Any

from llm_mock.core.reply import Reply
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
    **dict.fromkeys(("uri", "url", "uri-reference"), "https://example.com/{}"),
    **{"date": "2000-01-{:02}", "date-time": "2000-01-{:02}T00:00:00Z", "time": "00:00:{:02}Z", "duration": "PT{}S"},
    **{"email": "user{}@example.com", "hostname": "host{}.example.com"},
    **{"ipv4": "192.0.2.{}", "ipvanyaddress": "192.0.2.{}", "ipv6": "2001:db8::{}"},
}
FARTHEST = Fraction(10**400)  # beyond all numbers that JSON readers take
LOWEST, HIGHEST = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")
SIGNS = {  # by what a schema without a type shows what it is about
    "object": {"properties", "required", "additionalProperties", "minProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
    "number": {*LOWEST, *HIGHEST, "multipleOf"},
}
Values = Iterator[Any]
Refs = tuple[str, ...]  # that lead to a place


def generated_reply(schema: dict[str, Any]) -> Reply:
    """The reply to a call that asks for a schema nobody configured a reply for; raises as `instance` does."""
    return _cached_reply(json.dumps(schema))


@functools.lru_cache(maxsize=256)
def _cached_reply(schema: str) -> Reply:
    return Reply(data=instance(json.loads(schema)))


def instance(schema: dict[str, Any]) -> Any:
    """A small value that a JSON schema accepts, the same in every process; else an `LLMMockError` says where and why.

    Its `default` and `examples` are used where they are valid; of an object there is only what is required; recursion
    ends as soon as it may.
    """
    from referencing.exceptions import Unresolvable

    if problem := schemas.problem_of(schema):
        raise _not_generated(schema, f"it is no valid JSON schema: {problem}")
    search = _Search(schema)
    try:
        for search.entries, search.depth in ROUNDS:
            search.steps = 0
            for value in search.values(schema, "the answer", ("#",)):
                return json.loads(json.dumps(value))
    except Unresolvable as error:
        raise _not_generated(schema, f"it refers to {error.ref!r}, which is not in it") from None
    except RecursionError:
        raise _not_generated(schema, "there is too much to try") from None
    raise _not_generated(schema, search.problems[0])


def _not_generated(schema: dict[str, Any], problem: str) -> LLMMockError:
    what = f"the schema {schema.get('title') or shorten(schema)}"
    return LLMMockError(f"No answer can be generated for {what}: {problem}. Configure a reply with set(…, schema=…).")


class _Search:
    """Looks for values of the parts of one schema."""

    def __init__(self, root: dict[str, Any]) -> None:
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012

        self.entries, self.depth = ROUNDS[0]
        self.steps = 0
        self.problems: list[str] = []  # where there was no value, and why, innermost first
        self._validator = schemas.validator_of(json.dumps(root))[0]
        self._resolver = Registry[Any]().resolver_with_root(DRAFT202012.create_resource(root))

    def values(self, schema: Any, place: str, refs: Refs) -> Values:
        """Valid values, the preferred one first."""
        validator, mark, problem = self._validator.evolve(schema=schema), len(self.problems), "nothing fits"
        for flat, way in self._alternatives(schema, refs):
            for value in self._proposals(flat, place, way):
                self._step()
                error = next(validator.iter_errors(value), None)
                if error is None:
                    del self.problems[mark:]
                    problem = ""
                    yield value
                elif problem == "nothing fits":
                    problem = error.message
        if problem:
            self.problems.append(f"{place}: {problem}")

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise RecursionError

    def _alternatives(self, schema: Any, refs: Refs) -> Iterator[tuple[dict[str, Any], Refs]]:
        """What a schema leaves to choose from, as schemas without references and combinations."""
        self._step()
        if schema is False:
            return
        own = {} if schema is True else dict(schema)
        groups = [[part] for part in own.pop("allOf", ())]
        groups += [own.pop(key) for key in ("anyOf", "oneOf") if key in own]
        if (reference := own.pop("$ref", None)) is not None:
            if refs.count(reference) >= self.entries or len(refs) > self.depth:
                return
            refs = (*refs, reference)
            groups.insert(0, [self._resolver.lookup(reference).contents])
        for choice in product(*groups):
            for flats in product(*(self._alternatives(part, refs) for part in choice)):
                way = (*refs, *chain.from_iterable(inner[len(refs) :] for _, inner in flats))
                yield functools.reduce(_merged, (flat for flat, _ in flats), own), way

    def _proposals(self, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        yield from (flat[key] for key in ("default", "const") if key in flat)
        yield from chain(flat.get("enum", ()), flat.get("examples", ()))
        if "const" in flat or "enum" in flat:
            return
        makers = {
            "object": self._objects(flat, place, refs),
            "array": self._arrays(flat, place, refs),
            "string": _texts(flat),
            "integer": _numbers(flat, whole=True),
            "number": _numbers(flat, whole=False),
            "boolean": iter((True, False)),
            "null": iter((None,)),
        }
        names = flat.get("type") or [name for name, signs in SIGNS.items() if not signs.isdisjoint(flat)] or "string"
        for name in sorted([names] if isinstance(names, str) else names, key="null".__eq__):
            yield from islice(makers[name], MOST_GUESSES)

    def _objects(self, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        properties, others = flat.get("properties", {}), flat.get("additionalProperties", True)
        names = dict.fromkeys(flat.get("required", ()))
        more = chain(properties, map(str, count(1)))  # numbers are keys of a dict[int, …] as well
        while len(names) < min(flat.get("minProperties", 0), MOST_STEPS):
            names.setdefault(next(more))
        streams = [self.values(properties.get(name, others), f"{place}.{name}", refs) for name in names]
        yield from (dict(zip(names, row, strict=True)) for row in zip(*map(cycle, streams), strict=False))
        yield from [] if streams else [{}]

    def _arrays(self, flat: dict[str, Any], place: str, refs: Refs) -> Values:
        items, prefix = flat.get("items", True), flat.get("prefixItems", [])
        if isinstance(items, list):
            items, prefix = True, items
        length = ceil(min(max(flat.get("minItems", 0), len(prefix)), flat.get("maxItems", MOST_STEPS), MOST_STEPS))
        parts = enumerate(islice(chain(prefix, repeat(items)), length))
        streams = [self.values(part, f"{place}[{number}]", refs) for number, part in parts]
        if streams and not flat.get("uniqueItems"):
            yield from map(list, zip(*map(cycle, streams), strict=False))
            return
        row: list[Any] = []  # for Python `0 == False`, so only one of them is in it
        for stream in streams:
            row += islice((value for value in stream if value not in row), 1)
        yield from [row] if len(row) == length else []


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """A schema for what both accept, as far as that can be put into one simply."""
    merged = {**first, **second}
    for key in first.keys() & second.keys():
        one, other = first[key], second[key]
        if key == "properties":
            merged[key] = one | other | {name: {"allOf": [one[name], other[name]]} for name in one if name in other}
        elif key == "required":
            merged[key] = [*one, *other]
        elif key.startswith(("min", "max", "exclusiveM")):
            merged[key] = max(one, other) if "min" in key.lower() else min(one, other)
    return merged


def _numbers(flat: dict[str, Any], whole: bool) -> Values:
    """Multiples, from 0 on or from the bound next to it; then fractions between the bounds."""
    rules = {key: Fraction(str(flat[key])) for key in SIGNS["number"] & flat.keys()}  # 0.1 as it is written
    low = max((rules[key] for key in LOWEST if key in rules), default=-FARTHEST)
    high = min((rules[key] for key in HIGHEST if key in rules), default=FARTHEST)
    step = rules.get("multipleOf", Fraction(1))
    step *= step.denominator if whole else 1
    first = ceil(low / step) if low > 0 else floor(high / step) if high < 0 else 0
    guesses = [step * (first + far) for away in range(MOST_GUESSES // 4) for far in (away, -away)]
    if not whole and "multipleOf" not in flat:
        least = max(low, min(high - 1, Fraction(0)))
        guesses += [least + min(high - least, Fraction(1)) / part for part in range(2, MOST_GUESSES)]
    for number in guesses:
        if low <= number <= high:
            yield int(number) if number.denominator == 1 else float(number)


def _texts(flat: dict[str, Any]) -> Iterator[str]:
    if flat.get("format") in FORMATS:
        yield from map(FORMATS[flat["format"]].format, range(1, 29))
        return
    least, most = flat.get("minLength", 0), flat.get("maxLength", 2**31)
    text = ("text" * (int(least) // 4 + 1))[: int(min(max(4, least), most))]
    for number in ("", *map(str, range(1, MOST_GUESSES))):
        yield text + number if len(text + number) <= most else text[: -len(number)] + number
