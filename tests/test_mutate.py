"""`.ci/mutate` finds each small change of a line."""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.conftest import RunPython

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def mutate() -> ModuleType:
    loader = SourceFileLoader("mutate", str(ROOT / ".ci" / "mutate"))
    spec = spec_from_loader("mutate", loader)
    assert spec is not None
    module = sys.modules["mutate"] = module_from_spec(spec)
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = bytecode
    return module


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a = b < c", ["a = b <= c"]),
        ("a = (b) == (c)", ["a = (b) != (c)"]),
        ("a = b not in c", ["a = b in c"]),
        ("a = 1 < b < c", ["a = 1 <= b < c", "a = 1 < b <= c", "a = 2 < b < c"]),
        ("a = b + 1", ["a = b - 1", "a = b + 2"]),
        ("a = b and c", ["a = (c)", "a = (b)"]),
        ("a = not b", ["a = (b)"]),
        ("a = b if c else d", ["a = b if not (c) else d"]),
        ("if a: b()", ["if not (a): b()", "if a: pass"]),
        ("a = [b for b in c if b]", ["a = [b for b in c if not (b)]"]),
        ("a(b, c=d, e=f)", ["pass", "a(b,  e=f)", "a(b, c=d, )"]),
        ("a = True", ["a = False"]),
        ("a = 'key'", ["a = 'keyX'"]),
        ("a.b = c", ["pass"]),
        ("a += b", ["pass"]),
        ("raise A", ["pass"]),
        ("def f(): return a", ["def f(): return None"]),
        ("def f(a=1): return None", ["def f(a=2): return None"]),
        ("a = 'a text for people'", []),
        ("a = f'a{b}'", []),
        ("'docstring'", []),
        ("a: 'b'", []),
        ("a: TypeAlias = 'b | c'", []),
        ("def f(a: 'b') -> 'c': ...", []),
        ("__all__ = ['a']", []),
        ("a = cast('b', c)", []),
        ("a = cast('b', c + 1)", ["a = cast('b', c - 1)", "a = cast('b', c + 2)"]),
        ("a = TypeVar('a')", []),
        ("a = zip(b + c, strict=True)", ["a = zip(b - c, strict=True)"]),
        ("a(frozen=True)", ["pass"]),
        ("if TYPE_CHECKING: pass", []),
        ("a = b if sys.platform == 'win32' else b", []),
    ],
)
def test_a_line_has_these_mutants(mutate: ModuleType, line: str, changed: list[str]) -> None:
    source = line.encode()
    finder = mutate.MutantFinder("file.py", source)
    finder.visit(mutate.ast.parse(source))
    assert sorted(mutant.apply(source).decode() for mutant in finder.mutants) == sorted(changed)


def test_a_mutant_has_the_line_where_it_begins(mutate: ModuleType) -> None:
    source = b"a = (\n    'b',\n    c\n    < d,\n)\n"
    finder = mutate.MutantFinder("file.py", source)
    finder.visit(mutate.ast.parse(source))
    assert [(mutant.line, mutant.new) for mutant in finder.mutants] == [(2, b"'bX'"), (4, b"<=")]
    assert finder.mutants[1].describe(source) == "< d,\n      \N{RIGHTWARDS ARROW} <= d,"


def find_line(path: str, text: str) -> int:
    """Return the number of the first line of a file with a text."""
    lines = (ROOT / path).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.skipif(not (ROOT / "llm_mock").is_dir(), reason="the package has no source tree here")
@pytest.mark.parametrize(
    ("path", "text", "users"),
    [
        ("llm_mock/agents/supervisor.py", "self._reap()", ["agents/supervised_process.py"]),
        ("llm_mock/agents/rate_limit.py", "MINUTE = ", ["agents/retry.py"]),
        ("llm_mock/specs/mcp_server.py", "headers = dict(", []),
    ],
)
def test_lines_that_the_map_cannot_tell_are_tested_by_what_uses_them(
    mutate: ModuleType, path: str, text: str, users: list[str]
) -> None:
    is_seen = mutate.has_own_tests(path, find_line(path, text))
    assert is_seen == (users == [])
    assert {*mutate.importers_of(path)} >= {f"llm_mock/{user}" for user in users}


@pytest.mark.skipif(not (ROOT / "llm_mock").is_dir(), reason="the package has no source tree here")
@pytest.mark.parametrize(
    ("file", "name", "tests"),
    [
        ("a/time_limit.py", "SLACK_SECONDS", {"tests/test_limits.py::a"}),
        ("a/time_limits.py", "SLACK_SECONDS", set()),
        ("a/time_limit.py", "SLACK", set()),
        ("a/supported_versions.py", "botocore", {"tests/boundaries/http/test_provider_tables.py"}),
        ("a/supported_version.py", "botocore", set()),
    ],
)
def test_a_constant_is_tested_by_the_tests_that_have_its_name_and_that_of_the_file(
    mutate: ModuleType, file: str, name: str, tests: set[str]
) -> None:
    coverage_map = mutate.CoverageMap([])
    files = ("tests/test_limits.py::a", "tests/boundaries/http/test_provider_tables.py")
    coverage_map.durations = dict.fromkeys(files, 1.0)
    assert coverage_map.readers_of(file, {name}) == tests


@pytest.mark.skipif(not (ROOT / "llm_mock").is_dir(), reason="the package has no source tree here")
@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("llm_mock/boundaries/http/supported_versions.py", '"botocore": "1', {"OLDEST"}),
        ("llm_mock/core/reply.py", "class Reply:", {"Reply"}),
    ],
)
def test_the_tests_of_a_constant_are_sorted_by_its_name_and_that_of_the_module(
    mutate: ModuleType, path: str, text: str, names: set[str]
) -> None:
    found = mutate.statement_names(path, find_line(path, text))
    assert found == {Path(path).stem, *names}


@pytest.mark.skipif(not (ROOT / "llm_mock").is_dir(), reason="the package has no source tree here")
def test_a_line_in_a_function_has_no_statement_around_it(mutate: ModuleType) -> None:
    path = "llm_mock/boundaries/http/supported_versions.py"
    assert mutate.statement_names(path, find_line(path, "oldest = OLDEST.get(")) == set()


def test_a_mutant_gets_the_closest_and_the_fastest_tests(mutate: ModuleType) -> None:
    durations = {"near": 4, "next": 2, "slow": 9, "fast": 1, "faster": 0.5, "fair": 2}
    chosen = {
        seconds: mutate.choose_tests([*durations], durations, seconds) for seconds in (1, 12, 99)
    }
    assert chosen == {
        1: ["near", "faster"],
        12: ["near", "next", "faster", "fast", "fair"],
        99: [*durations],
    }


@pytest.mark.parametrize(
    ("outcomes", "broken"),
    [
        ([""], set()),
        (["b", ""], {"b"}),
        (["b", "a", ""], {"a", "b"}),
        (["the tests did not end"], {"a", "b", "c"}),
    ],
)
def test_tests_that_fail_without_a_change_catch_nothing(
    mutate: ModuleType, outcomes: list[str], broken: set[str]
) -> None:
    left = iter(outcomes)
    tree = SimpleNamespace(failed_test=lambda tests, seconds: next(left))
    durations = dict.fromkeys("abc", 1.0)
    assert mutate.find_broken(tree, ["a", "b", "c"], durations) == broken
    assert [*left] == []


@pytest.mark.parametrize("outcome", ["the tests did not start", "the tests did not end"])
@pytest.mark.parametrize(("without_change", "is_caught"), [("", True), ("a", True), (None, False)])
def test_tests_that_do_not_run_without_the_change_catch_nothing(
    mutate: ModuleType, outcome: str, without_change: str | None, is_caught: bool
) -> None:
    outcomes = iter([outcome, outcome if without_change is None else without_change])
    written: list[bytes] = []
    tree = SimpleNamespace(
        write=lambda path, source: written.append(source),
        failed_test=lambda tests, seconds: next(outcomes),
    )
    path = ".ci/mutate"
    mutant = mutate.Mutant(path, 1, 0, 0, b"1\n")
    caught_by = mutate.run_mutant(tree, mutant, ["a"], {"a": 1.0})
    assert caught_by == (outcome if is_caught else "")
    source = (ROOT / path).read_bytes()
    assert written == [b"1\n" + source, source]


def test_what_one_parameter_executes_is_tested_by_all(mutate: ModuleType) -> None:
    coverage_map = mutate.CoverageMap([])
    coverage_map.durations = dict.fromkeys(["a.py::b[1]", "a.py::b[2]", "a.py::bc", "a.py::c"], 1.0)
    assert coverage_map.with_parameters({"a.py::b[2]"}) == {"a.py::b[1]", "a.py::b[2]"}
    assert coverage_map.with_parameters({"a.py::c"}) == {"a.py::c"}


def test_the_function_around_a_line_is_the_innermost(
    mutate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    inner = "    def g():\n        return [\n            1\n        ]"
    (tmp_path / "a.py").write_text(f"a = 1\ndef f():\n{inner}\n    return g")
    sources = [mutate.function_source("a.py", line) for line in range(1, 8)]
    outer = f"def f():\n{inner}\n    return g"
    assert sources == ["", outer, inner, inner, inner, inner, outer]


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("tests/a.py::B::c", {"tests/a.py::B::c"}),
        ("tests/a.py::B", {"tests/a.py::B::c"}),
        ("tests/a.py", {"tests/a.py::B::c", "tests/a.py::d"}),
        ("tests/a.py::failed", set()),
        ("", {""}),
    ],
)
def test_what_a_fixture_of_a_file_starts_is_tested_by_the_tests_of_the_file(
    mutate: ModuleType, tmp_path: Path, name: str, tests: set[str]
) -> None:
    layer = mutate.Layer(tmp_path)
    layer.durations = dict.fromkeys(["tests/a.py::B::c", "tests/a.py::d", "tests/ab.py::d"], 1.0)
    assert layer.tests_within(name) == tests


def test_files_on_which_tests_work_are_no_tests(mutate: ModuleType) -> None:
    files = {path.parent.name for path in map(Path, mutate.hash_tests("tests/migrate"))}
    assert files == {"migrate"}
    assert mutate.hash_tests("tests/test_mutate.py").keys() == {"tests/test_mutate.py"}


def test_a_test_whose_name_has_the_path_of_the_clone_is_left_out(
    mutate: ModuleType, tmp_path: Path
) -> None:
    durations = {"tests/a.py::b[1]": 1.0, f"tests/a.py::b[{ROOT}/c]": 1.0}
    (tmp_path / "durations.json").write_text(json.dumps(durations))
    (tmp_path / "tests.json").write_text(json.dumps({"tests/a.py": "hash"}))
    assert mutate.Layer(tmp_path).durations == {"tests/a.py::b[1]": 1.0}


FUNCTION = '''\
"""A module."""
from __future__ import annotations


def choose(value: bool) -> str:
    """Choose."""
    if value:
        return "yes"
    try:
        number = int("a")
    except ValueError:
        number = 0
    return [
        "no"
    ][number]


chosen = choose(__name__ == "other")
'''

# Without the mock, whose own blocks may be noted.
MEASURED = {"MUTATION_HITS": "hits", "MUTATION_TEST": "", "PFLOW_TESTING": ""}


def write_package(run_python: RunPython) -> dict[str, int]:
    """Write a package whose bytecode notes blocks, and return the block of each line."""
    Path("hits").mkdir()
    Path("package").mkdir()
    Path("package/__init__.py").write_text(FUNCTION)
    write = (
        "import json, pathlib, mutation_blocks as b;"
        "print(json.dumps(b.write_bytecode(pathlib.Path('package'))))"
    )
    written = run_python(write, PYTHONPATH=str(ROOT / ".ci"), **MEASURED)
    blocks: dict[str, int] = json.loads(written.stdout)["package/__init__.py"]
    return blocks


def test_a_process_notes_the_lines_that_it_executes(
    mutate: ModuleType, tmp_path: Path, run_python: RunPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = write_package(run_python)
    ask = "import os, package; print(package.__doc__, package.choose.__doc__); os._exit(3)"
    asked = run_python(ask, **{**MEASURED, "MUTATION_TEST": "a test"})
    assert (asked.returncode, asked.stderr) == (3, "")
    [file] = Path("hits").iterdir()
    # A process that is killed writes no more of it.
    file.write_bytes(file.read_bytes() * 2 + b"x")
    [(test, noted), same] = mutate.read_hits(file)
    assert same == (test, noted)
    assert test == "a test"
    assert [int(line) for line, block in blocks.items() if block in noted] == [
        *(7, 9, 10, 11, 12, 13, 14, 15)
    ]
    assert "8" in blocks


def test_blocks_that_run_before_the_plugin_is_loaded_are_noted_by_it(
    mutate: ModuleType, tmp_path: Path, run_python: RunPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_package(run_python)
    ask = "import package, mutation_hits as h; h.switch_test('a test'); package.choose(True)"
    asked = run_python(ask, **MEASURED)
    assert (asked.returncode, asked.stderr) == (0, "")
    [file] = Path("hits").iterdir()
    assert [name for name, _ in mutate.read_hits(file)] == ["", "a test"]


@pytest.mark.skipif(pytest.version_tuple < (9, 2), reason="takes bytecode by its time")
def test_blocks_of_modules_whose_assertions_pytest_rewrites_are_noted(
    mutate: ModuleType, tmp_path: Path, run_python: RunPython, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = write_package(run_python)
    Path("conftest.py").write_text("__import__('pytest').register_assert_rewrite('package')")
    Path("test_it.py").write_text("import package\ndef test_it(): package.choose(True)")
    ask = "import pytest; pytest.main(['test_it.py'])"
    asked = run_python(ask, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **MEASURED)
    assert "1 passed" in asked.stdout
    [file] = Path("hits").iterdir()
    [(_, noted)] = mutate.read_hits(file)
    # The number 0 stands for a docstring at the start.
    assert {0, *noted} == {*blocks.values()}


MEASURED_TESTS = """\
import os, subprocess, sys

VARIABLES = dict(os.environ)

def test_1():
    inner = [sys.executable, "-m", "pytest", "-p", "mutation_plugin", "-k", "inner", __file__]
    subprocess.run(inner, env=VARIABLES, check=True)

def test_2():
    import llm_mock
    llm_mock.choose(True)

def test_environment():
    assert "PYTEST_ADDOPTS" not in os.environ
    assert os.environ["PYTHONPATH"] == os.path.dirname(__file__)

def test_inner():
    pass
"""


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["one process", "a worker"])
def test_a_run_inside_a_measured_test_leaves_the_bytecode(
    mutate: ModuleType,
    tmp_path: Path,
    run_python: RunPython,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
) -> None:
    # The plugin measures the package beside its folder.
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    package = tmp_path / "llm_mock"
    package.mkdir()
    (package / "__init__.py").write_text(FUNCTION)
    (tmp_path / "test_it.py").write_text(MEASURED_TESTS)
    monkeypatch.chdir(tmp_path)
    layer = mutate.Layer(tmp_path / "map")
    (layer.folder / "hits").mkdir(parents=True)
    arguments = ["-p", "no:cacheprovider", "-p", "no:randomly", *options, "test_it.py"]
    asked = run_python(
        f"import sys, pytest; sys.exit(pytest.main({arguments}))",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        PYTEST_ADDOPTS="-p mutation_plugin" + " -p xdist" * bool(options),
        PYTHONPATH=f"{tmp_path / '.ci'}{os.pathsep}{tmp_path}",
        MUTATION_HITS=str(layer.folder / "hits"),
        MUTATION_TEST="",
        MUTATION_RUN=None,
        PFLOW_TESTING="",
    )
    assert "4 passed" in asked.stdout, asked.stdout + asked.stderr
    assert "test_it.py::test_2" in layer.hits
    assert [*package.glob("__pycache__/*")] == []
