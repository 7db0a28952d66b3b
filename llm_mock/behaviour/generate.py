"""Generate a valid answer for a JSON schema: small, plausible, and always the same.

Candidate values are proposed and then checked with `jsonschema`, innermost schema first, so a
proposal only has to be a good guess.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain, count, cycle, islice, product, repeat
from math import ceil, floor
from typing import Any

from llm_mock.core.reply import Reply
from llm_mock.errors import LLMMockError
from llm_mock.support import schemas
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten

MAX_STEPS = 5_000
ROUNDS = ((1, 3), (1, 6), (2, 12))
"""The limits of each attempt: how often one reference is followed, and the number of references."""
MAX_GUESSES = 50
"""The maximum number of values of one type that are proposed for one place."""
FORMATS = {
    **dict.fromkeys(("byte", "base64", "base64url"), "dG{:02}"),
    **dict.fromkeys(("uuid", "uuid4"), "00000000-0000-4000-8000-0000000000{:02}"),
    **dict.fromkeys(("uri", "url", "uri-reference"), "https://example.com/{}"),
    "date": "2000-01-{:02}",
    "date-time": "2000-01-{:02}T00:00:00Z",
    "time": "00:00:{:02}Z",
    "duration": "PT{}S",
    "email": "user{}@example.com",
    "hostname": "host{}.example.com",
    "ipv4": "192.0.2.{}",
    "ipvanyaddress": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
}
"""Templates of the values for each `format`; the number runs from 1 to 28, the days of any
month."""
# A bound beyond all numbers that JSON readers accept stands for "no bound".
UNBOUNDED = Fraction(10**400)
LOWER_BOUNDS = ("minimum", "exclusiveMinimum")
UPPER_BOUNDS = ("maximum", "exclusiveMaximum")
TYPE_KEYWORDS = {
    "object": {"properties", "required", "additionalProperties", "minProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
    "number": {*LOWER_BOUNDS, *UPPER_BOUNDS, "multipleOf"},
}
"""The keywords that imply a type where a schema names none."""
NOTHING_FITS = "no valid value was found"
Schema = JSONObject
Values = Iterator[Any]
References = tuple[str, ...]
"""The references that were followed to reach a place."""


def generate_reply(schema: Schema) -> Reply:
    """Return a reply with a generated instance of a schema.

    Raises:
        LLMMockError: as `generate_instance` does.
    """
    return _generate_once(json.dumps(schema))


@functools.lru_cache(maxsize=256)
def _generate_once(schema: str) -> Reply:
    return Reply(data=generate_instance(json.loads(schema)))


def generate_instance(schema: Schema) -> Any:
    """Return a small value that a JSON schema accepts, the same one in every process.

    The schema's `default` and `examples` are used where they are valid. Objects get only their
    required properties, and recursion ends as soon as the schema allows it.

    Raises:
        LLMMockError: no value was found; the message names the place and the reason.
    """
    # Imported late: `referencing` is only needed when something is generated.
    from referencing.exceptions import Unresolvable

    problem = schemas.find_schema_problem(schema)
    if problem:
        raise _make_error(schema, f"it is not a valid JSON schema: {problem}")
    search = _Search(schema)
    try:
        for search.max_entries, search.max_depth in ROUNDS:
            search.steps = 0
            for value in search.iter_values(schema, "the answer", ("#",)):
                # A JSON round trip makes copies, so that the schema's defaults are not shared.
                return json.loads(json.dumps(value))
    except Unresolvable as error:
        reason = f"it refers to {error.ref!r}, which it does not define"
        raise _make_error(schema, reason) from None
    except RecursionError:
        raise _make_error(schema, "there are too many possibilities to try") from None
    raise _make_error(schema, search.problems[0])


def _make_error(schema: Schema, problem: str) -> LLMMockError:
    name = schema.get("title") or shorten(schema)
    return LLMMockError(
        f"No answer can be generated for the schema {name}: {problem}. Configure a reply with "
        "set(…, schema=…)."
    )


class _Search:
    """A search for valid values of one schema and of its parts."""

    def __init__(self, root: Schema) -> None:
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012

        self.max_entries, self.max_depth = ROUNDS[0]
        self.steps = 0
        self.problems: list[str] = []
        """Places without a value, each with the reason, innermost first."""
        self._validator = schemas.get_validator(json.dumps(root), True)[0]
        self._resolver = Registry[Any]().resolver_with_root(DRAFT202012.create_resource(root))

    def iter_values(self, schema: object, place: str, references: References) -> Values:
        """Yield valid values, the preferred one first."""
        validator = self._validator.evolve(schema=schema)
        first_problem = len(self.problems)
        problem = NOTHING_FITS
        for flat, followed in self._iter_alternatives(schema, references):
            for value in self._iter_proposals(flat, place, followed):
                self._count_step()
                error = next(validator.iter_errors(value), None)
                if error is None:
                    # The place has a value after all, so the problems of its parts do not matter.
                    del self.problems[first_problem:]
                    problem = ""
                    yield value
                elif problem == NOTHING_FITS:
                    problem = error.message
        if problem:
            self.problems.append(f"{place}: {problem}")

    def _count_step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise RecursionError

    def _iter_alternatives(
        self, schema: Any, references: References
    ) -> Iterator[tuple[Schema, References]]:
        """Yield every choice that a schema offers, as schemas without references or combinators."""
        self._count_step()
        if schema is False:
            return
        own = {} if schema is True else dict(schema)
        groups = _pop_groups(own)
        reference = own.pop("$ref", None)
        if reference is not None:
            is_repeated = references.count(reference) >= self.max_entries
            if is_repeated or len(references) > self.max_depth:
                return
            references = (*references, reference)
            groups.insert(0, [self._resolver.lookup(reference).contents])
        for choice in product(*groups):
            parts = [self._iter_alternatives(part, references) for part in choice]
            for combination in product(*parts):
                yield _merge_all(own, references, combination)

    def _iter_proposals(self, flat: Schema, place: str, references: References) -> Values:
        for key in ("default", "const"):
            if key in flat:
                yield flat[key]
        yield from flat.get("enum", ())
        yield from flat.get("examples", ())
        # No generated value would be one of the named ones.
        if "const" in flat or "enum" in flat:
            return
        # All are generators, so an unused one costs nothing.
        makers = {
            "object": self._iter_objects(flat, place, references),
            "array": self._iter_arrays(flat, place, references),
            "string": _iter_texts(flat),
            "integer": _iter_numbers(flat, whole=True),
            "number": _iter_numbers(flat, whole=False),
            "boolean": iter((True, False)),
            "null": iter((None,)),
        }
        for name in _list_types(flat):
            yield from islice(makers[name], MAX_GUESSES)

    def _iter_objects(self, flat: Schema, place: str, references: References) -> Values:
        properties = flat.get("properties", {})
        others = flat.get("additionalProperties", True)
        names = dict.fromkeys(flat.get("required", ()))
        # Numbers are valid keys of a `dict[int, …]` as well.
        further_names = chain(properties, map(str, count(1)))
        while len(names) < min(flat.get("minProperties", 0), MAX_STEPS):
            names.setdefault(next(further_names))
        columns = []
        for name in names:
            schema = properties.get(name, others)
            columns.append(self.iter_values(schema, f"{place}.{name}", references))
        if not columns:
            yield {}
        for row in _iter_rows(columns):
            yield dict(zip(names, row, strict=True))

    def _iter_arrays(self, flat: Schema, place: str, references: References) -> Values:
        items = flat.get("items", True)
        prefix = flat.get("prefixItems", [])
        # Draft 7 has the schemas of the first items under `items`.
        if isinstance(items, list):
            prefix = items
            items = True
        least = max(flat.get("minItems", 0), len(prefix))
        # `ceil`, because JSON schema accepts a length such as 2.0.
        length = ceil(min(least, flat.get("maxItems", MAX_STEPS), MAX_STEPS))
        item_schemas = islice(chain(prefix, repeat(items)), length)
        columns = []
        for number, schema in enumerate(item_schemas):
            columns.append(self.iter_values(schema, f"{place}[{number}]", references))
        if columns and not flat.get("uniqueItems"):
            yield from map(list, _iter_rows(columns))
            return
        distinct = _take_distinct(columns)
        if len(distinct) == length:
            yield distinct


def _list_types(flat: Schema) -> list[str]:
    """Return the types that a schema allows or implies, `null` last."""
    named = flat.get("type")
    if isinstance(named, str):
        return [named]
    implied = [name for name, words in TYPE_KEYWORDS.items() if not words.isdisjoint(flat)]
    types = named or implied or ["string"]
    # False sorts before True, so `null` comes last and the others stay in their order.
    return sorted(types, key=lambda name: name == "null")


def _iter_rows(columns: Iterable[Values]) -> Iterator[tuple[Any, ...]]:
    """Yield one value of each column at a time, repeating the values of the shorter columns."""
    return zip(*map(cycle, columns), strict=False)


def _take_distinct(columns: Iterable[Values]) -> list[Any]:
    """Take the first value of each column that is not in the row yet."""
    row: list[Any] = []
    for column in columns:
        # For Python `0 == False`, so that only one of the two can be in the row.
        row += islice((value for value in column if value not in row), 1)
    return row


def _pop_groups(schema: Schema) -> list[list[Any]]:
    """Remove the combinators of a schema, and return their groups: one of each group is chosen."""
    # All parts of `allOf` hold, so each is a group of its own.
    groups = [[part] for part in schema.pop("allOf", ())]
    groups += [schema.pop(key) for key in ("anyOf", "oneOf") if key in schema]
    return groups


def _merge_all(
    own: Schema, references: References, parts: Iterable[tuple[Schema, References]]
) -> tuple[Schema, References]:
    """Return one schema for all parts, and all references that were followed to reach them."""
    flat = own
    followed = list(references)
    for part, part_references in parts:
        flat = _merge(flat, part)
        # Each part begins with the references that lead to the whole.
        followed += part_references[len(references) :]
    return flat, tuple(followed)


def _merge(first: Schema, second: Schema) -> Schema:
    """Return one schema for the values that both accept, as far as that is simple."""
    merged = {**first, **second}
    for key in first.keys() & second.keys():
        one = first[key]
        other = second[key]
        if key == "properties":
            in_both = one.keys() & other.keys()
            both = {name: {"allOf": [one[name], other[name]]} for name in in_both}
            merged[key] = one | other | both
        elif key == "required":
            merged[key] = [*one, *other]
        elif key.startswith(("min", "exclusiveMin")):
            merged[key] = max(one, other)
        elif key.startswith(("max", "exclusiveMax")):
            merged[key] = min(one, other)
    return merged


def _iter_numbers(flat: Schema, whole: bool) -> Values:
    """Yield multiples from 0 or from the nearest bound on, then fractions between the bounds."""
    # Converting through text keeps 0.1 as it is written.
    keywords = TYPE_KEYWORDS["number"] & flat.keys()
    rules = {key: Fraction(str(flat[key])) for key in keywords}
    lower_bounds = [rules.get(key, -UNBOUNDED) for key in LOWER_BOUNDS]
    upper_bounds = [rules.get(key, UNBOUNDED) for key in UPPER_BOUNDS]
    low = max(lower_bounds)
    high = min(upper_bounds)
    step = rules.get("multipleOf", Fraction(1))
    if whole:
        # The least multiple of a fraction that is whole.
        step *= step.denominator
    guesses = _list_multiples(step, low, high)
    if not whole and "multipleOf" not in flat:
        guesses += _list_fractions(low, high)
    for number in guesses:
        if not low <= number <= high:
            continue
        is_whole = number.denominator == 1
        yield int(number) if is_whole else float(number)


def _list_multiples(step: Fraction, low: Fraction, high: Fraction) -> list[Fraction]:
    """Return multiples in both directions, from 0 or from the bound that is nearest to it."""
    first = 0
    if low > 0:
        first = ceil(low / step)
    elif high < 0:
        first = floor(high / step)
    multiples = []
    for distance in range(MAX_GUESSES // 4):
        multiples += [step * (first + distance), step * (first - distance)]
    return multiples


def _list_fractions(low: Fraction, high: Fraction) -> list[Fraction]:
    """Return fractions between two bounds that may have no whole number between them."""
    # From 0 on, if the bounds allow it, and over a width of 1 at most.
    highest_start = min(high - 1, Fraction(0))
    start = max(low, highest_start)
    width = min(high - start, Fraction(1))
    return [start + width / part for part in range(2, MAX_GUESSES)]


def _iter_texts(flat: Schema) -> Iterator[str]:
    """Yield texts of the format, else of the shortest length, which differ by a number."""
    template = FORMATS.get(flat.get("format", ""))
    if template is not None:
        yield from map(template.format, range(1, 29))
        return
    shortest = flat.get("minLength", 0)
    longest = flat.get("maxLength", 2**31)
    length = int(min(max(4, shortest), longest))
    repeated = "text" * (int(shortest) // 4 + 1)
    text = repeated[:length]
    yield text
    for number in range(1, MAX_GUESSES):
        suffix = str(number)
        if len(text + suffix) <= longest:
            yield text + suffix
        else:
            yield text[: -len(suffix)] + suffix
