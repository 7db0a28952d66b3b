"""Document and table of a mutation run: the changes of calls that tests notice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_count, join_names, shorten_name

VERSION = 1
"""The version of the JSON format."""
SHOWN_RULE = 70
"""The length of a rule in the table."""
VARIANTS = ("rule-deleted", "rule-negated", "rule-weakened", "rule-number")
"""The changes of a rule in the order of the table."""


def merge_rules(rules: Iterable[JSONObject]) -> list[JSONObject]:
    """Return each change of a rule once; it is noticed if one test notices it."""
    merged: dict[tuple[str, str], JSONObject] = {}
    for rule in rules:
        key = rule["rule"], rule["kind"]
        if key not in merged:
            merged[key] = {**rule, "tests": []}
        known = merged[key]
        if rule["noticed"]:
            known["noticed"] = True
        known["tests"] += rule["tests"]
    return list(merged.values())


def new_document(
    tests: Sequence[JSONObject], rules: Iterable[JSONObject], interrupted: str | None
) -> JSONObject:
    """Return the document of a mutation run as JSON values.

    Args:
        tests: the tests that call a model and pass, each with its `changes`.
        rules: the changes of rules that were made.
        interrupted: why the run ended early; None if it did not.
    """
    merged = merge_rules(rules)
    changes = [change for test in tests for change in test["changes"]]
    changes += merged
    noticed = sum(change["noticed"] for change in changes)
    return {
        "version": VERSION,
        "noticed": noticed,
        "changes": len(changes),
        "percent": round(100 * noticed / len(changes), 1) if changes else None,
        "interrupted": interrupted,
        "tests": list(tests),
        "rules": merged,
    }


def find_problem(document: JSONObject, minimum: float | None) -> str | None:
    """Return why a run with a minimum fails; None if it does not."""
    if minimum is None:
        return None
    wanted = f"--llm-mock-mutate-min={minimum:g}"
    if not document["changes"]:
        return f"{wanted}: no change was made, so there is no percentage to compare."
    if document["interrupted"]:
        return f"{wanted}: not all changes were made."
    # Compared without rounding: 79.96 % is less than 80 %.
    if 100 * document["noticed"] < minimum * document["changes"]:
        return f"{wanted}: the tests notice {format_total(document)}."
    return None


def format_total(document: JSONObject) -> str:
    """Return the sum of a run, such as `5 of 9 changes (55.6 %)`."""
    changes = format_count(document["changes"], "change")
    noticed = document["noticed"]
    percent = document["percent"]
    return f"{noticed:,} of {changes} ({percent:g} %)"


def format_table(document: JSONObject) -> str:
    """Return the table of a run for the terminal."""
    lines: list[str] = []
    for test in document["tests"]:
        lines += _format_test(test)
    lines += _format_rules(document["rules"])
    if document["interrupted"]:
        lines.append(f"Interrupted: {document['interrupted']} The results so far:")
    if document["changes"]:
        lines.append(f"The tests notice {format_total(document)}.")
    elif document["tests"]:
        lines.append("No change was made.")
    else:
        lines.append("No passed test called a model through the mock, so nothing was changed.")
    return "\n".join(lines)


def _format_test(test: JSONObject) -> Iterator[str]:
    changes = test["changes"]
    name = shorten_name(test["id"])
    if test["not_changed"]:
        yield f"{name}  not changed: {test['not_changed']}"
        return
    yield f"{name}  noticed {test['noticed']} of {len(changes)}"
    number = 0
    for change in changes:
        if change["noticed"]:
            continue
        call = change["call"]
        if call["number"] != number:
            number = call["number"]
            yield _format_call(call)
        yield f"    - {change['change']}"
        yield f"      {change['advice']}"
    further = test["unchanged_calls"]
    if further:
        count = format_count(further, "further call")
        yield f"  {count} not changed"


def _format_call(call: JSONObject) -> str:
    number = call["number"]
    model = shorten_name(call["model_id"])
    place = call["place"]
    if not place:
        return f"  call {number} to {model}, not noticed:"
    return f"  call {number} to {model} at {place}, not noticed:"


def _format_rules(rules: Sequence[JSONObject]) -> Iterator[str]:
    """Yield the rules of prompts with changes that no test notices."""
    grouped: dict[str, list[JSONObject]] = {}
    for rule in rules:
        grouped.setdefault(rule["rule"], []).append(rule)
    lines = []
    for text, variants in grouped.items():
        missed = {}
        for variant in variants:
            if not variant["noticed"]:
                missed[variant["kind"]] = variant["change"]
        if not missed:
            continue
        # In the same order for each rule, whichever test made which change.
        kinds = sorted(missed, key=VARIANTS.index)
        names = join_names([missed[kind] for kind in kinds])
        line = " ".join(text.split())
        shown = shorten_name(line, SHOWN_RULE)
        lines.append(f"  - {shown}  (not noticed: {names})")
    if lines:
        yield f"Rules of prompts that no test pins: {len(lines)} of {len(grouped)}"
        yield from lines
        yield "  To pin a rule, check its words with mock.assert_called_with: system=… or prompt=…."
