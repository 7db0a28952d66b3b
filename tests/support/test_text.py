"""Texts of messages: what they show of a value, where they cut it, and what they never show."""

from __future__ import annotations

import signal
from decimal import Decimal
from pathlib import Path

import pytest

from llm_mock.support import text

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


class Reply:
    """A class whose instances are shown without their addresses."""


async def ask() -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("value", "length", "shown"),
    [
        ("abc", 5, "'abc'"),
        ("abcd", 5, "'abc…"),
        ("abcdef", 5, "'abc…"),
        ("a\nb", 9, r"'a\nb'"),
        ("it's", 9, '"it\'s"'),
        ({"a": [1, None]}, 16, '{"a": [1, null]}'),
        ({"a": [1, None]}, 15, '{"a": [1, null…'),
        (("ä", 1.5), 11, '["ä", 1.5]'),
        (ask, 9, "ask()"),
        (Reply, 9, "Reply()"),
        ({1, 2}, 9, "{1, 2}"),
        (True, 4, "true"),
        ("", 2, "''"),
    ],
)
def test_a_value_is_shown_on_one_line(value: object, length: int, shown: str) -> None:
    assert text.shorten(value, length) == shown


def test_a_value_is_cut_after_120_characters() -> None:
    assert text.shorten("a" * 118) == f"'{'a' * 118}'"
    assert text.shorten("a" * 119) == f"'{'a' * 118}…"
    assert text.shorten_name("a" * 120) == "a" * 120
    assert text.shorten_name("a" * 121) == f"{'a' * 119}…"


@pytest.mark.parametrize(
    ("name", "other", "is_off"),
    [
        ("gpt-4o-mni", "gpt-4o-mini", True),
        ("gpt-4o-minii", "gpt-4o-mini", True),
        ("gpt-4o-mimi", "gpt-4o-mini", True),
        ("gpt-4o-mnii", "gpt-4o-mini", True),
        ("gpt4o-mini", "gpt-4o-mini", True),
        ("GPT-4o-Mini", "gpt-4o-mini", True),
        ("gpt-4o-mini", "gpt-4o-mini", False),
        ("gpt-4o-mn", "gpt-4o-mini", False),
        ("gpt-4", "gpt-4o", False),
        ("gpt-4o", "gpt-4o-mini", False),
        ("o1-mini", "o3-mini", False),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-05-13", False),
        ("command-a", "command-r", False),
        ("model-a", "model-b", False),
        ("mistral-small-latest", "mistral-large-latest", False),
        ("x" * 201, "x" * 200, False),
        ("x" * 199, "x" * 200, True),
    ],
)
def test_a_name_may_be_one_letter_off(name: str, other: str, is_off: bool) -> None:
    assert text.is_one_letter_off(name, other) is is_off
    assert text.is_one_letter_off(other, name) is is_off


def test_an_object_is_shown_without_its_address() -> None:
    assert text.shorten(Reply()) == "<tests.support.test_text.Reply object>"


def test_a_name_has_no_line_breaks_or_control_characters() -> None:
    assert text.shorten_name("a \n\t b\x07c\u202e") == r"a b\x07c\u202e"


def test_a_secret_is_hidden_before_its_text_is_cut() -> None:
    for length in (10, 60, 120):
        shown = text.shorten(f"key {KEY}", length)
        assert KEY[:14] not in shown
        assert KEY[:14] not in text.shorten({"text": f"key {KEY}"}, length)
        assert KEY[:14] not in text.shorten_name(f"key {KEY}", length)


@pytest.mark.parametrize("length", [0, 10, 2_000])
def test_a_secret_at_the_end_of_what_is_shown_is_hidden(length: int) -> None:
    beginning = f"{'a ' * (length // 2)}{KEY[:4]}"
    shown = text.redact_start(f"{beginning}{KEY[4:]} {'b ' * 9_000}", len(beginning))
    assert KEY[:8] not in shown
    assert len(shown) < len(beginning) + 100


def test_a_text_whose_secret_is_hidden_still_ends_in_a_cut() -> None:
    assert text.shorten(f"{KEY} b", 30) == "'[redacted] b…"
    assert text.shorten(f"{KEY} b", 60) == "'[redacted] b'"


def test_4000_characters_behind_what_is_shown_are_looked_at() -> None:
    whole = "a " * 2_050
    assert text.redact_start(whole, 100) == whole
    assert text.redact_start(f"{whole}b", 100) == whole[:100]


def test_as_much_as_is_shown_of_a_long_text_is_there() -> None:
    shown = text.redact_start("a " * 9_000, 2_000)
    assert shown.startswith("a " * 999)
    assert len(shown) >= 2_000


@pytest.mark.parametrize("make", [list, tuple])
def test_the_rest_of_a_huge_value_is_not_looked_at(make: type) -> None:
    items = [*range(20_000), Reply()]
    assert text.shorten(make(items), 20) == "[0, 1, 2, 3, 4, 5, …"
    assert text.shorten({str(each): each for each in items}, 12) == '{"0": 0, "1…'
    assert text.shorten([["a" * 5_000] * 3], 12) == '[["aaaaaaaa…'
    assert text.shorten([{"a" * 5_000: 1, "b": Reply()}], 12) == '[{"aaaaaaaa…'


@pytest.mark.parametrize(
    ("given", "escaped"),
    [
        ("plain", "plain"),
        ("a\nb", r"a\nb"),
        ("ä\x00", r"ä\x00"),
        ("\u2028", r"\u2028"),
    ],
)
def test_unprintable_characters_are_escaped(given: str, escaped: str) -> None:
    assert text.escape_unprintable(given) == escaped


@pytest.mark.parametrize(
    ("first", "last"),
    [(0x7F, 0x9F), (0x200E, 0x200F), (0x2028, 0x202E), (0x2066, 0x2069)],
)
def test_control_characters_in_json_are_escaped(first: int, last: int) -> None:
    for code in (first, last):
        assert text.escape_json_text(chr(code)) == f"\\u{code:04x}"
    for code in (first - 1, last + 1):
        assert text.escape_json_text(chr(code)) == chr(code)


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (Reply, "the class Reply"),
        (Reply(), "an object of type Reply"),
        (10**4000, "a number of thousands of digits"),
        (-(10**4000), "a number of thousands of digits"),
        (10**20, "100000000000000000000"),
        (1.5, "1.5"),
        (True, "True"),
        (None, "None"),
        ("a", "'a'"),
        (b"a", "b'a'"),
        ({"a": 1}, '{"a": 1}'),
        ([None], "[null]"),
        ((1,), "an object of type tuple"),
    ],
)
def test_an_invalid_value_is_described(value: object, description: str) -> None:
    assert text.described(value) == description


def test_the_largest_number_that_is_written_has_4000_digits() -> None:
    assert text.described(10**4000 - 1) == "9" * 4000
    assert text.described(1 - 10**4000) == f"-{'9' * 4000}"


def test_a_tool_call_is_shown_as_code() -> None:
    call = text.format_tool_call("weather", {"city": "Bern", "days": 2, "key": KEY})
    assert call.startswith('weather(city="Bern", days=2, key="')
    assert KEY[:14] not in call
    assert text.format_tool_call("f", {}) == "f()"
    assert text.format_tool_call("f", {"a": "b" * 493}) == f'f(a="{"b" * 493}")'
    assert text.format_tool_call("f", {"a": "b" * 494}) == f'f(a="{"b" * 494}…'


@pytest.mark.parametrize(
    ("error", "shown"),
    [(ValueError("no number"), "ValueError: no number"), (KeyError(), "KeyError")],
)
def test_an_error_is_shown_with_its_type(error: Exception, shown: str) -> None:
    assert text.format_error(error) == shown


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (0, "with exit code 0"),
        (3, "with exit code 3"),
        (-signal.SIGTERM, "killed by SIGTERM"),
        (-999, "killed by signal 999"),
    ],
)
def test_the_end_of_a_process_is_described(status: int, shown: str) -> None:
    assert text.describe_exit(status) == shown


@pytest.mark.parametrize(
    ("given", "length", "shown"),
    [
        ("a", 9, "a"),
        ("a\n\n b  \n\tc", 99, "a\n-- b\n--    c"),
        ("abc", 3, "abc"),
        ("abcd", 3, "abc\n--… 1 more characters"),
        (f"abc{'d' * 1_000}", 3, "abc\n--… 1,000 more characters"),
        ("a\x07", 9, r"a\x07"),
    ],
)
def test_further_lines_are_indented(given: str, length: int, shown: str) -> None:
    assert text.indent_text(given, "--", length) == shown


def test_forty_lines_of_a_text_are_shown() -> None:
    lines = [f"line {number}" for number in range(41)]
    assert text.indent_text("\n".join(lines[:40]), "") == "\n".join(lines[:40])
    assert text.indent_text("\n".join(lines), "") == "\n".join([*lines[:40], "…"])
    assert text.indent_text("\n\n".join(lines[:39]), "") == "\n".join(lines[:39])


def test_two_thousand_characters_of_a_text_are_shown() -> None:
    assert text.indent_text("a" * 2_000, "") == "a" * 2_000
    assert text.indent_text("a" * 2_001, "") == f"{'a' * 2_000}\n… 1 more characters"


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (2_000, "2,000 cases")]
)
def test_a_number_has_its_noun(number: int, shown: str) -> None:
    assert text.format_count(number, "case") == shown


@pytest.mark.parametrize(
    ("seconds", "words", "cell"),
    [
        (0, "0 ms", "0ms"),
        (0.0124, "12 ms", "12ms"),
        (0.9994, "999 ms", "999ms"),
        (0.9995, "1000 ms", "1.0s"),
        (1, "1.0 s", "1.0s"),
        (1.54, "1.5 s", "1.5s"),
        (59.9, "59.9 s", "59.9s"),
        (60, "1 min 0 s", "1m 00s"),
        (125.4, "2 min 5 s", "2m 05s"),
        (3_600, "60 min 0 s", "60m 00s"),
    ],
)
def test_a_duration_is_shown_in_words_and_in_a_table(seconds: float, words: str, cell: str) -> None:
    assert text.format_seconds(seconds) == words
    assert text.format_short_seconds(seconds) == cell


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (None, "unknown"),
        ("0", "$0.00"),
        ("1", "$1.00"),
        ("0.1", "$0.10"),
        ("12.345678", "$12.3457"),
        ("0.00001234567", "$0.0000123457"),
        ("1234.5678", "$1234.57"),
        ("1234567", "$1234567.00"),
    ],
)
def test_dollars_have_six_digits_and_at_least_cents(amount: str | None, shown: str) -> None:
    assert text.format_dollars(None if amount is None else Decimal(amount)) == shown


def test_a_path_is_relative_to_a_folder_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert text.format_path(tmp_path / "a" / "b.py") == str(Path("a/b.py"))
    assert text.format_path(str(tmp_path / "b.py")) == "b.py"
    assert text.format_path(tmp_path / "a" / "b.py", tmp_path / "a") == "b.py"
    assert text.format_path(tmp_path.parent / "b.py") == str(tmp_path.parent / "b.py")


def test_a_path_is_whole_if_the_working_directory_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", fail)
    assert text.format_path(tmp_path / "a.py") == str(tmp_path / "a.py")


def test_columns_are_aligned() -> None:
    rows = [("model", "calls", "cost"), ("m", "12", "$1.00")]
    assert text.format_columns(rows, 1) == ["model  calls   cost", "m         12  $1.00"]
    assert text.format_columns(rows, 2) == ["model  calls   cost", "m      12     $1.00"]


@pytest.mark.parametrize(
    ("unknown", "known", "end"),
    [
        ("nmae", ["age", "name"], "; did you mean 'name'?"),
        ("colour", ["age", "name"], "; known are age, name"),
        ("colour", [], ""),
        ("abcxy", ["abcde"], "; did you mean 'abcde'?"),
        ("abxyz", ["abcde"], "; known are abcde"),
    ],
)
def test_the_nearest_name_is_suggested_or_all(unknown: str, known: list[str], end: str) -> None:
    assert text.suggest_name(unknown, known) == end
    assert text.suggest_nearest(unknown, known) == (end if "?" in end else "")


def test_a_name_that_is_surely_meant_is_very_similar() -> None:
    assert text.find_nearest("abcdx", ["abcde"], cutoff=text.CERTAIN) == "abcde"
    assert text.find_nearest("abcxy", ["abcde"], cutoff=text.CERTAIN) is None


def test_the_search_for_a_name_is_limited() -> None:
    others = [f"{number:04}" for number in range(500)]
    assert text.find_nearest("name", [*others[:499], "name"]) == "name"
    assert text.find_nearest("name", [*others, "name"]) is None
    assert text.find_nearest("a" * 200 + "b" * 1_000, ["a" * 200], cutoff=1) == "a" * 200
    assert text.find_nearest("a" * 199 + "b" * 1_000, ["a" * 199], cutoff=1) is None


@pytest.mark.parametrize(
    ("texts", "joined"),
    [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")],
)
def test_alternatives_are_joined_with_one_or(texts: list[str], joined: str) -> None:
    assert text.join_alternatives(texts) == joined


def test_fifty_names_are_listed() -> None:
    names = [f"n{number}" for number in range(1_060)]
    assert text.join_names(names[:2]) == "n0, n1"
    assert text.join_names(names[:50]).endswith(", n48, n49")
    assert text.join_names(names[:51]).endswith(", n48, n49 and 1 more")
    assert text.join_names(names).endswith(", n49 and 1,010 more")
