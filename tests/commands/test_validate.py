"""The commands `llm-mock validate` and `llm-mock schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from llm_mock.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
SUITES = sorted((EXAMPLES / "support" / "suites").glob("*.yaml"))
SPECS = sorted((EXAMPLES / "notes" / "tests" / "llm").glob("*.yaml"))
FILES = [*(("suite", path) for path in SUITES), *(("spec", path) for path in SPECS)]


def validate(*paths: Path) -> Result:
    """Run the command; any other end than an exit code fails the test."""
    result = CliRunner().invoke(main, ["validate", *map(str, paths)])
    assert isinstance(result.exception, (SystemExit, type(None))), result.exc_info
    return result


def schema_of(kind: str) -> Any:
    """Return a JSON Schema, which is one."""
    schema = json.loads(CliRunner().invoke(main, ["schema", kind], catch_exceptions=False).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_what_is_right_is_named_with_what_it_holds() -> None:
    pytest.importorskip("mcp")
    role = EXAMPLES / "support" / "role.yaml"
    result = validate(role, SUITES[0], SPECS[0])
    assert result.exit_code == 0
    suite, spec = (yaml.safe_load(path.read_text()) for path in (SUITES[0], SPECS[0]))
    assert result.stdout.splitlines() == [
        f"{role}: role 'support'",
        f"{SUITES[0]}: suite '{suite['metadata']['name']}', {len(suite['cases'])} cases",
        f"{SPECS[0]}: plain-language test '{spec['test']['name']}', {len(spec['steps'])} steps",
    ]


def test_all_examples_are_right() -> None:
    assert validate(*(path for _, path in FILES)).exit_code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "",
            ":1: is empty; it is neither a suite (kind: TestSuite), a role (kind: Agent) nor a ",
        ),
        (
            "{}",
            ":1: is neither a suite (kind: TestSuite), a role (kind: Agent) nor a plain",
        ),
        ("\nkind: Agnt\n", ":2: unknown kind 'Agnt'; did you mean 'Agent'?"),
        ("kind: Testsuite\n", ":1: unknown kind 'Testsuite'; did you mean 'TestSuite'?"),
        ("kind: zzz\n", ":1: is neither a suite"),
        (
            "\nname: Say: hello",
            ":2: is not valid YAML: mapping values are not allowed in this context; check the "
            "indentation of this line; if it is a text that contains ': ', put it in quotes",
        ),
        ("a:\n  - b: c\n\td: e", "; indent with spaces"),
        ("a:\n\tb: c", ":2: is not valid YAML: found character that cannot start any token; the "),
        ("a:\n\tb: c", "; the line is indented with a tab; indent with spaces"),
        ("a: @b", "found character that cannot start any token\n"),
        ("a: b\rc: @b", ":2: is not valid YAML: found character that cannot start any token\n"),
        ("a:\n  b: c\n d: e\n", "did not find expected key; check the indentation\n"),
        ("a:\n  - b\n  c: d\n", "did not find expected '-' indicator; check the indentation\n"),
        ("- a\n", ":1: is neither a suite"),
        ("kind: [\n", ":2: is not valid YAML"),
        ("kind: TestSuite\nmetadata: {name: x}\n", "apiVersion"),
        (
            "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {nam: x}\n",
            ":3: unknown key 'nam'; did you mean 'name'?",
        ),
        ("apiVersion: llm-mock/v1\nkind: Agent\nmetadata: {name: x}\n", "'spec' is missing"),
        (
            "test: {name: x}\nsteps: [{expect: x}]\nverdict: {pass_if: y}\n",
            ":3: 'fail_if' is missing",
        ),
        ("kind: [a]\n", ":1: is neither a suite"),
        ("apiVersion: llm-mock/v1\nkind: \x07\n", "is not valid YAML"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(content)
    result = validate(path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {path}")
    assert message in result.stderr


def test_a_file_of_another_format_gets_no_advice_about_yaml(tmp_path: Path) -> None:
    path = tmp_path / "test_replies.py"
    path.write_text("def test_replies(): pass\n")
    result = validate(path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: {path}: is not a YAML file (.yaml or .yml)\n"


def test_the_other_files_are_checked_too(tmp_path: Path) -> None:
    result = validate(tmp_path / "nowhere.yaml", tmp_path, SUITES[0])
    assert result.exit_code == 1
    assert result.stdout.startswith(str(SUITES[0]))
    assert result.stderr.count("cannot be read") == 2


@pytest.mark.parametrize(("kind", "path"), FILES, ids=[path.stem for _, path in FILES])
def test_the_schema_accepts_the_examples(kind: str, path: Path) -> None:
    schema_of(kind).validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize(("kind", "path"), FILES, ids=[path.stem for _, path in FILES])
def test_the_schema_refuses_a_misspelt_key(kind: str, path: Path) -> None:
    data = yaml.safe_load(path.read_text())
    validator = schema_of(kind)
    for part in (data, data["cases"][0] if kind == "suite" else data["test"]):
        key = "metadata" if "metadata" in part else "name" if "name" in part else "verdict"
        part[f"{key}_"] = part.pop(key)
        assert not validator.is_valid(data)
        part[key] = part.pop(f"{key}_")
    assert validator.is_valid(data)


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "regexp", "pattern": "x"},
        {"type": "contains"},
        {"pattern": "x"},
        {"type": "max_tokens", "value": -1},
        {"type": "contains", "value": "x", "case_insensitve": True},
    ],
    ids=str,
)
def test_the_schema_refuses_a_wrong_assertion(assertion: dict[str, Any]) -> None:
    data = yaml.safe_load(SUITES[0].read_text())
    data["cases"][0]["assertions"] = [assertion]
    assert not schema_of("suite").is_valid(data)


def test_a_schema_of_something_else_is_wrong_usage() -> None:
    result = CliRunner().invoke(main, ["schema", "role"])
    assert result.exit_code == 2
    assert "'suite', 'spec'" in result.stderr


def test_tools_and_arguments_that_there_are_not_are_named_with_near_ones(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    from llm_mock.specs.mcp_server import BUILT_IN

    plugins = tmp_path / "tests" / "llm" / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "shop.py").write_text(
        "from llm_mock.specs import LLMPlugin\n\nclass ShopPlugin(LLMPlugin):\n"
        "    async def buy(self, item: str, number: int = 1) -> str:\n"
        "        raise SystemExit('no tool is called')\n"
    )
    (tmp_path / "pyproject.toml").touch()
    path = plugins.parent / "test.yaml"
    path.write_text(
        "test: {name: x}\nsetup: [{tool: slep, args: {seconds: 1}}]\nsteps:\n- tool: http_get\n"
        "  args: {ulr: x}\n"
        "- steps:\n  - tool: shop_buy\n    args:\n      item: x\n      numbr: 2\n"
        "- {tool: shop_by}\n- {tool: shop_buy}\nverdict: {pass_if: x, fail_if: y}\n"
    )
    result = validate(path)
    tools = f"The tools are {', '.join(BUILT_IN)}, shop_buy."
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.replace(f"{path}:", "").splitlines() == [
        f"Error: 2: There is no tool 'slep'; did you mean 'sleep'? {tools}",
        "5: the tool 'http_get' has no argument 'ulr'; did you mean 'url'?",
        "5: the tool 'http_get' needs the argument 'url'",
        "10: the tool 'shop_buy' has no argument 'numbr'; did you mean 'number'?",
        f"11: There is no tool 'shop_by'; did you mean 'shop_buy'? {tools}",
        "12: the tool 'shop_buy' needs the argument 'item'",
    ]
