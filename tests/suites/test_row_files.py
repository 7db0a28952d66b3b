"""Cases that are made of rows in files."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("mcp")

from llm_mock.errors import InvalidFile
from llm_mock.suites import load_suite
from tests.suites.conftest import Project

CASE = """
  - name: knows-${city}
    prompt: Where is ${city}?
    expected_output: In ${country}.
    rows_file: %s
"""


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("rows.csv", {"rows.csv": '\ufeffcity,country\nBern,"a, ""b"""\nLyon,c\n'}),
        (
            "rows.jsonl",
            {
                "rows.jsonl": (
                    '{"city": "Bern", "country": "a, \\"b\\""}\n\n{"city": "Lyon", "country": "c"}'
                )
            },
        ),
        (
            "more/rows.yaml",
            {"more/rows.yaml": "- {city: Bern, country: 'a, \"b\"'}\n- {city: Lyon, country: c}\n"},
        ),
        (
            "'rows/*'",
            {
                "rows/b.csv": "city,country\nLyon,c\n",
                "rows/a.yml": "[{city: Bern, country: 'a, \"b\"'}]",
            },
        ),
    ],
)
def test_each_row_of_a_file_makes_a_case(
    name: str, files: dict[str, str], project: Project
) -> None:
    for path, content in files.items():
        project.write(path, content)
    project.write_cases(CASE % name)
    cases = load_suite("tests.yaml").cases
    assert [case.name for case in cases] == ["knows-Bern", "knows-Lyon"]
    assert [case.expected_output for case in cases] == ['In a, "b".', "In c."]
    assert {case.line for case in cases} == {7}


def test_rows_of_a_file_are_named_by_their_number_unless_the_name_is_a_template(
    project: Project,
) -> None:
    project.write("rows.csv", "city,country\nBern,a\nLyon,a\nBern,a\n")
    project.write_cases(
        "  - {name: knows, prompt: '${city} in ${country}', rows_file: rows.csv}\n"
        "  - {name: inline, prompt: '${city}', rows: [{city: Bern, country: a}]}\n"
    )
    names = [case.name for case in load_suite("tests.yaml").cases]
    assert names == ["knows[1]", "knows[2]", "knows[3]", "inline[1]"]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        (
            "rows.csv",
            "city,country\nBern,a\nLyon\n",
            "rows.csv:3: expected 2 values, one for each column, got 1",
        ),
        ("rows.csv", "city,city\nBern,a\n", "rows.csv:1: duplicate column 'city'"),
        ("rows.csv", 'city,country\n"Bern,a\n', "rows.csv:2: invalid CSV"),
        (
            "rows.csv",
            "city,my country\nBern,a\n",
            "rows.csv:2: invalid variable name 'my country'",
        ),
        ("rows.csv", "city,country\n", "rows.csv: the file contains no rows"),
        ("rows.csv", "city\nBern\n", "unknown variable ${country}"),
        ("rows.jsonl", '{"city": "Bern", "country": 1}\n{"city"\n', "rows.jsonl:2: invalid JSON"),
        (
            "rows.jsonl",
            '{"city": "Bern", "country": []}',
            "rows.jsonl:1: the variable 'country' must be text",
        ),
        (
            "rows.yaml",
            "- {city: Bern, country: a}\n- Lyon\n",
            "rows.yaml:2: a row must be a mapping of names to values",
        ),
        (
            "rows.yaml",
            "city: Bern\n",
            "rows.yaml:1: the file must contain a list of mappings, not a mapping",
        ),
        ("rows.txt", "city\n", "rows.txt: a file of rows must end in .csv, .jsonl, .yaml, .yml"),
        ("rows/*.csv", None, "no file in . matches 'rows/*.csv'"),
        (
            "/rows/*.csv",
            None,
            "'/rows/*.csv' is not a valid glob: Non-relative patterns are unsupported",
        ),
        ("../rows.csv", None, f"../rows.csv is outside of the folder {os.sep}"),
    ],
)
def test_what_is_wrong_with_a_row_is_told_with_its_file_and_line(
    name: str, content: str | None, problem: str, project: Project
) -> None:
    if content is not None:
        project.write(name, content)
    project.write_cases(CASE % f"'{name}'")
    with pytest.raises(InvalidFile) as raised:
        load_suite("tests.yaml")
    assert problem in str(raised.value)
    assert str(raised.value).startswith("tests.yaml:")
