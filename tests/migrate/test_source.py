"""The text of a file: its comments, encoding, line ends and indentation."""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("libcst")

import libcst as cst

from llm_mock.errors import InvalidFile
from llm_mock.migrate.file import FileResult, parse_file, rewrite_file
from llm_mock.migrate.syntax import find_nodes
from llm_mock.support.text import format_path

OLD = Path(__file__).parent / "old"
FILES = ("test_layout.py", "test_fixtures.py", "test_private_mock.py", "test_pytest_mock.py")
SOURCE = (OLD / "test_fixtures.py").read_text()


def migrate(source: bytes, name: str = "test_fixtures.py") -> FileResult:
    return rewrite_file(OLD / name, source, lambda test, target: (), lambda name: name)


EXPECTED = migrate(SOURCE.encode()).encoded


def comment_everything(source: str) -> str:
    """Put a comment above each line and behind it, as far as there may be one."""
    lines = source.splitlines()
    inside = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING:
            # No comments in a text of several lines.
            inside.update(range(token.start[0], token.end[0]))
    numbers = itertools.count(1)
    commented = []
    for number, line in enumerate(lines, start=1):
        indent = line[: len(line) - len(line.lstrip())]
        if line.strip() and number - 1 not in inside:
            commented.append(f"{indent}# above {next(numbers)}")
        if line.strip() and number not in inside and "#" not in line:
            line += f"  # behind {next(numbers)}"
        commented.append(line)
    return "\n".join(commented) + "\n"


def comments(source: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def find_removable(source: str) -> dict[tuple[str, ...], set[int]]:
    """Return the lines of each definition and of each import, by its qualified name."""
    found: dict[tuple[str, ...], set[int]] = {}
    lines = source.splitlines()

    def visit(node: ast.AST, path: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                decorators = [decorator.lineno for decorator in child.decorator_list]
                first = min([child.lineno, *decorators])
                while lines[first - 2].strip().startswith("#"):
                    first -= 1
                found[(*path, child.name)] = set(range(first, (child.end_lineno or 0) + 1))
                visit(child, (*path, child.name))
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                for alias in child.names:
                    # The line above it, too.
                    name = alias.asname or alias.name
                    found[(*path, "import", name)] = {alias.lineno - 1, alias.lineno}
            else:
                visit(child, path)

    visit(ast.parse(source), ())
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_comment_is_only_lost_with_a_removed_definition_or_import(name: str) -> None:
    source = comment_everything((OLD / name).read_text())
    result = migrate(source.encode(), name)
    assert result.changed
    removable = find_removable(source)
    removed = removable.keys() - find_removable(result.after).keys()
    lines_of_removed = set[int]().union(*(removable[key] for key in removed))
    lost = comments(source) - comments(result.after)
    for number, line in enumerate(source.splitlines(), start=1):
        for comment in lost:
            assert not line.endswith(comment) or number in lines_of_removed
    assert not comments(result.after) - comments(source)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("    ", "\t").encode(),
        lambda text: text.replace("    ", "  ").encode(),
        lambda text: text.rstrip("\n").encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: ("# coding: latin-1\n" + text.replace("Another", "Kürzer")).encode("latin-1"),
        lambda text: text.replace("Another", "Kürzer 🦘").encode(),
        lambda text: text.replace("\n\n\n", "\n\f\n\n").encode(),
    ],
    ids=[
        "CRLF",
        "tabs",
        "two spaces",
        "no line end",
        "byte order mark",
        "Latin-1",
        "UTF-8",
        "form feeds",
    ],
)
def test_the_form_of_the_text_stays(change: Callable[[str], bytes]) -> None:
    assert migrate(change(SOURCE)).encoded == change(EXPECTED.decode())


def test_a_form_that_libcst_does_not_parse_is_told() -> None:
    path = OLD / "test_fixtures.py"
    with pytest.raises(InvalidFile) as info:
        parse_file(path, b"if 1:\n    \\\n    x\n")
    message = f"{format_path(path)}:3: libcst cannot parse this: parser error: error at 3:5: "
    assert str(info.value).startswith(message)


SIGNATURE = """\
from unittest.mock import patch

import reviews


@patch("reviews.get_model")
def test_it({parameters}):
    get_model.return_value.prompt.return_value.text.return_value = "Hi"
    assert reviews.greet("a") == "Hi"
"""
WITH_CALLS = f"{SIGNATURE}    get_model.return_value.prompt.assert_called_once()\n"
WITH_MOCKER = """\
import reviews


def test_it({parameters}):
    get_model = mocker.patch("reviews.get_model")
    get_model.return_value.prompt.return_value.text.return_value = "Hi"
    assert reviews.greet("a") == "Hi"
"""


WITH_BLOCK = """\
from unittest.mock import patch

import reviews


def test_it({parameters}):
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Hi"
        assert reviews.greet("a") == "Hi"
"""


def rewrite_parameters(source: str, parameters: str) -> str:
    result = migrate(source.format(parameters=parameters).encode())
    assert result.manual_changes == ()
    _, _, after = result.encoded.decode().partition("def test_it(")
    return after.partition("):\n")[0]


LINES = ",\n    "


@pytest.mark.parametrize(
    ("parameters", "new", "separator"),
    [
        (" get_model ", " {mocks} ", ", "),
        ("get_model, tmp_path,", "tmp_path, {mocks},", ", "),
        ("get_model,tmp_path", "tmp_path, {mocks}", ", "),
        ("get_model,  tmp_path", "tmp_path,  {mocks}", ",  "),
        ("get_model, path , tmp_path", "path , tmp_path, {mocks}", ", "),
        ("get_model, name='x'", "{mocks}, name='x'", ", "),
        ("get_model, path, *, name='x'", "path, {mocks}, *, name='x'", ", "),
        ("get_model, *fixtures", "{mocks}, *fixtures", ", "),
        ("get_model, path,other", "path,other, {mocks}", ", "),
        ("\n    get_model\n", "\n    {mocks}\n", ", "),
        ("\n    get_model, path\n", "\n    path, {mocks}\n", ", "),
        ("\n    get_model, path  # both\n", "\n    path, {mocks}  # both\n", ", "),
        ("\n    get_model,path  # both\n", "\n    path, {mocks}  # both\n", ", "),
        ("\n    get_model,\n    path\n", "\n    path,\n    {mocks}\n", LINES),
        (
            "\n    get_model,  # the mock\n    path,  # a path\n",
            "\n    path,  # a path\n    {mocks},\n",
            LINES,
        ),
        (
            "\n    get_model,  # the mock\n    path  # a path\n",
            "\n    path,  # a path\n    {mocks}\n",
            LINES,
        ),
        (
            "\n    get_model,\n    path,\n    # two\n    other,\n",
            "\n    path,\n    # two\n    other,\n    {mocks},\n",
            LINES,
        ),
    ],
)
def test_parameters_keep_their_layout(parameters: str, new: str, separator: str) -> None:
    one, two = "mock_llm_responses", f"mock_llm_responses{separator}mock_llm_calls"
    assert rewrite_parameters(SIGNATURE, parameters) == new.format(mocks=one)
    assert rewrite_parameters(WITH_CALLS, parameters) == new.format(mocks=two)


@pytest.mark.parametrize(
    "parameters",
    [
        "{last}",
        "path, {last}",
        "\n    path, {last}  # both\n",
        "\n    path,  # a path\n    {last},  # the mock\n",
        "\n    path,  # a path\n    {last}  # the mock\n",
    ],
)
def test_a_new_last_parameter_ends_as_the_one_that_it_replaces(parameters: str) -> None:
    new = rewrite_parameters(WITH_MOCKER, parameters.format(last="mocker"))
    assert new == parameters.format(last="mock_llm_responses")


@pytest.mark.parametrize(
    ("parameters", "separator"),
    [("path{}", ", "), (" path{} ", ", "), ("\n    path{}\n", ", "), ("\n    path{},\n", LINES)],
)
def test_a_fixture_is_added_to_the_only_parameter(parameters: str, separator: str) -> None:
    new = rewrite_parameters(WITH_BLOCK, parameters.format(""))
    assert new == parameters.format(f"{separator}mock_llm_responses")


def test_a_comment_between_parameters_is_not_repeated() -> None:
    source = f"{WITH_MOCKER}    get_model.return_value.prompt.assert_called_once()\n"
    new = rewrite_parameters(source, "\n    path,\n    # two\n    mocker,\n")
    lines = ["path", "# two\n    mock_llm_responses", "mock_llm_calls"]
    assert new == "".join(f"\n    {line}," for line in lines) + "\n"


WITH_CLASS = """\
from unittest.mock import Mock, patch

import assistants


def test_it():
    with {patch} as cls:
        create = cls.return_value.chat.completions.create
        create.return_value.choices[0].message.content = "Hi"
        assert assistants.Assistant().answer("a question") == "Hi"
    cls.assert_called_once_with(api_key="test")
"""
WRAPS = "wraps=openai.OpenAI"


@pytest.mark.parametrize(
    ("patch", "new"),
    [
        ('patch("assistants.OpenAI")', f'patch("assistants.OpenAI", {WRAPS})'),
        ('patch("assistants.OpenAI", )', f'patch("assistants.OpenAI", {WRAPS}, )'),
        ('patch( "assistants.OpenAI" )', f'patch( "assistants.OpenAI", {WRAPS} )'),
        ('patch("assistants.OpenAI" )', f'patch("assistants.OpenAI", {WRAPS} )'),
        (
            'patch("assistants.OpenAI", return_value=Mock())',
            f'patch("assistants.OpenAI", {WRAPS})',
        ),
        (
            'patch(\n        "assistants.OpenAI"\n    )',
            f'patch(\n        "assistants.OpenAI",\n        {WRAPS}\n    )',
        ),
        (
            'patch.object(\n        assistants,\n        "OpenAI",\n    )',
            f'patch.object(\n        assistants,\n        "OpenAI",\n        {WRAPS},\n    )',
        ),
    ],
)
def test_a_patch_of_a_class_keeps_its_layout(patch: str, new: str) -> None:
    result = migrate(WITH_CLASS.format(patch=patch).encode())
    assert result.manual_changes == ()
    _, _, after = result.encoded.decode().partition("    with ")
    assert after.partition(" as cls:")[0] == new


EVERY_LAYOUT = """
# header

import a

# leading
@decorator
# after the decorator
def f(a, b): # trailing
    (a); b = [1, 2]  # trailing
    # footer of the block

# footer
"""
LAYOUT: tuple[type[cst.CSTNode], ...] = (
    cst.BaseParenthesizableWhitespace,
    cst.Comma,
    cst.Comment,
    cst.EmptyLine,
    cst.LeftParen,
    cst.RightParen,
    cst.Semicolon,
    cst.TrailingWhitespace,
)


@pytest.mark.parametrize("kind", LAYOUT)
def test_whitespace_and_comments_are_not_searched(kind: type[cst.CSTNode]) -> None:
    module = cst.parse_module(EVERY_LAYOUT)
    assert find_nodes(module, kind) == []
    assert len(find_nodes(module, cst.Name)) == 7
