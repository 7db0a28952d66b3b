"""The rules of a prompt: its sentences and list items, and each of them changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MIN_WORDS = 2
"""The minimum number of words in a rule."""
MAX_RULES = 30
"""The maximum number of rules of one prompt that are changed."""
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+(?=\S)")
_HEADING = re.compile(r"^\s*#")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_WORD = re.compile(r"[^\W\d_]{2,}")
NEGATIONS = (
    ("must not", "must"),
    ("should not", "should"),
    ("may not", "may"),
    ("do not", "do"),
    ("don't", "do"),
    ("cannot", "can"),
    ("never", "always"),
    ("always", "never"),
    ("must", "must not"),
    ("should", "should not"),
    ("may", "may not"),
    ("can", "cannot"),
    ("will", "will not"),
    ("are", "are not"),
    ("is", "is not"),
)
"""The replacements that negate a rule; only the first match is replaced."""
WEAKENINGS = (
    ("must", "may"),
    ("shall", "may"),
    ("should", "may"),
    ("always", "sometimes"),
    ("never", "rarely"),
    ("do not", "try not to"),
    ("don't", "try not to"),
    ("cannot", "should not"),
    ("only", "mainly"),
    ("exactly", "about"),
    ("at most", "about"),
    ("at least", "about"),
    ("every", "almost every"),
    ("all", "most"),
)
"""The replacements that weaken a rule; only the first match is replaced."""
_VERBS = """
add answer ask avoid call check choose cite classify consider describe ensure explain extract find
follow format generate give ignore include keep limit list make mention name omit output prefer
provide put quote refer refuse remember repeat reply respond return say sort speak start stop
summarise summarize translate use write
"""
IMPERATIVES = frozenset(_VERBS.split())
"""The verbs that "Do not" negates at the start of a rule."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w])")


class RuleChange(NamedTuple):
    """A rule of a prompt and its replacement."""

    kind: str
    """`deleted`, `negated`, `weakened` or `number`."""
    rule: str
    """The rule as the prompt has it."""
    text: str
    """The replacement."""


def split_rules(text: str) -> list[str]:
    """Return the sentences and list items of a prompt, each as the prompt has it.

    Headings, code blocks and questions are not rules.
    """
    rules = []
    for block in _iter_blocks(text):
        if _ITEM.match(block):
            rules.append(_ITEM.sub("", block).strip())
        else:
            rules += [sentence.strip() for sentence in _SENTENCE_END.split(block)]
    # The same rule twice would be changed twice at once.
    distinct = dict.fromkeys(rules)
    return [rule for rule in distinct if _is_rule(rule)]


def _is_rule(text: str) -> bool:
    if text.endswith("?"):
        return False
    words = _WORD.findall(text)
    return len(words) >= MIN_WORDS


def _iter_blocks(text: str) -> Iterator[str]:
    """Yield the list items and paragraphs of a text."""
    lines: list[str] = []
    for line in _blank_code(text.splitlines(keepends=True)):
        is_break = not line.strip() or bool(_HEADING.match(line))
        if is_break or _ITEM.match(line):
            yield "".join(lines)
            lines = []
        if not is_break:
            lines.append(line)
    yield "".join(lines)


def _blank_code(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, empty ones for code blocks."""
    is_code = False
    for line in lines:
        is_fence = bool(_FENCE.match(line))
        yield "" if is_fence or is_code else line
        if is_fence:
            is_code = not is_code


def list_rule_changes(text: str) -> list[RuleChange]:
    """Return the changes to the rules of a prompt.

    A prompt of one sentence is not deleted here, because this is a separate kind of change.
    """
    changes = []
    rules = split_rules(text)
    for rule in rules[:MAX_RULES]:
        if rule != text.strip():
            changes.append(RuleChange("deleted", rule, ""))
        variants = {
            "negated": negate(rule),
            "weakened": weaken(rule),
            "number": change_number(rule),
        }
        for kind, variant in variants.items():
            if variant is not None:
                changes.append(RuleChange(kind, rule, variant))
    return changes


def negate(rule: str) -> str | None:
    """Return the opposite of a rule; None if it is not known."""
    replaced = _replace_first(rule, NEGATIONS)
    if replaced is not None:
        return replaced
    first, _, rest = rule.partition(" ")
    if first.lower() not in IMPERATIVES or not rest:
        return None
    return f"Do not {first.lower()} {rest}"


def weaken(rule: str) -> str | None:
    """Return a weaker form of a rule; None if there is none."""
    return _replace_first(rule, WEAKENINGS)


def change_number(rule: str) -> str | None:
    """Return a rule with another number; None if it has no number."""
    match = _NUMBER.search(rule)
    if match is None:
        return None
    number = int(match[0])
    return _replace_match(match, str(number + 1))


def _replace_first(rule: str, words: tuple[tuple[str, str], ...]) -> str | None:
    """Return a rule with the first known word replaced; None without such a word."""
    for old, new in words:
        pattern = rf"\b{re.escape(old)}\b"
        match = re.search(pattern, rule, re.IGNORECASE)
        if match is not None:
            return _replace_match(match, new)
    return None


def _replace_match(match: re.Match[str], new: str) -> str:
    """Return the text of a match with other words in its place, which begin like the old ones."""
    if match[0][0].isupper():
        first, rest = new[0], new[1:]
        new = first.upper() + rest
    before = match.string[: match.start()]
    after = match.string[match.end() :]
    return before + new + after
