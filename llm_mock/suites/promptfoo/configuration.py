"""A configuration of promptfoo's as a suite and its role."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from llm_mock.errors import InvalidFile
from llm_mock.suites.promptfoo.assertions import assertions_of
from llm_mock.suites.promptfoo.prompts import Prompt, prompts_of
from llm_mock.suites.promptfoo.providers import judge_of, models_of, side_by_side
from llm_mock.suites.promptfoo.source import FILE, TABLES, Findings, Part, files_of, loaded, variables_in
from llm_mock.suites.row_files import rows_in
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import NAME, literal
from llm_mock.support.numbers import MOST_REPETITIONS, is_number, is_whole
from llm_mock.support.validation import is_extension

_TOP = ("description", "prompts", "providers", "targets", "tests", "defaultTest", "scenarios", "evaluateOptions")
_OF_TESTS = ("description", "vars", "assert", "options", "providerOutput", "threshold")
_MOST_CASES = 10_000


class Imported(NamedTuple):
    """What becomes of a configuration."""

    suite: dict[str, Any]
    role: dict[str, Any]
    findings: list[str]
    """What has no counterpart, each as `file:line: what`."""


class _Test(NamedTuple):
    """A test: its own mapping, after that of a scenario; or the file of a table of tests."""

    parts: tuple[Part, ...]
    columns: Mapping[str, Part] = MappingProxyType({})
    rows_file: str | None = None


def imported(path: Path) -> Imported:
    """Read a configuration of promptfoo's.

    Raises:
        InvalidFile: it cannot be read, or holds no tests that a suite can have.
    """
    document = yaml_files.load(path)
    if not isinstance(document.data, dict) or not {"prompts", "tests", "scenarios"} & {*document.data}:
        raise document.error("this is no configuration of promptfoo (prompts, tests), and no cassette of VCR")
    return _Import(Part(document.data, document), Findings()).result()


@dataclass
class _Import:
    """One configuration, while a suite is made of it."""

    top: Part
    findings: Findings

    def __post_init__(self) -> None:
        given = self.top.at("defaultTest")
        if isinstance(given.data, str):
            files = files_of(given, self.findings, TABLES)
            given = next((found for path in files if (found := loaded(path, given, self.findings))), given)
        self.default = given
        providers = self.top.at("providers") if "providers" in self.top.names else self.top.at("targets")
        self.models = models_of(providers, self.findings)
        self.prompts = prompts_of(self.top.at("prompts"), self.findings)

    def result(self) -> Imported:
        """All of it."""
        top, findings = self.top, self.findings
        findings.lost_keys(top, [*_TOP, *filter(is_extension, top.names)])
        tests = list(self._tests())
        if len(tests) * len(self.prompts) > _MOST_CASES:
            problem = f"this makes more than {_MOST_CASES:,} cases: name the rows in a file, rows_file"
            raise top.document.error(problem)
        cases = [self._case(test, n, prompt) for n, test in enumerate(tests, start=1) for prompt in self.prompts]
        if not cases:
            left = f"{top.document.path}: nothing is left of it that a suite can hold"
            raise InvalidFile("\n".join([*findings.lines(), left]))
        name, description = top.document.path.stem, top.at("description").data
        metadata = {"name": name} | ({"description": description} if isinstance(description, str) else {})
        suite: dict[str, Any] = {"apiVersion": "llm-mock/v1", "kind": "TestSuite", "metadata": metadata}
        if len(self.models) > 1:
            suite["matrix"] = {"models": side_by_side(self.models)}
        return Imported(suite | self._defaults() | {"cases": _with_names(cases)}, self._role(name), findings.lines())

    def _defaults(self) -> dict[str, Any]:
        """What holds for all cases; variables of the default test are those of each case."""
        options, default = self.top.at("evaluateOptions"), self.default
        self.findings.lost_keys(options, ("repeat",))
        judge = judge_of(default.at("options", "provider").data)
        self.findings.lost_keys(default, ("vars", "assert", "options", "threshold"), " of the default test")
        self.findings.lost_keys(default.at("options"), () if judge is None else ("provider",), " of the default test")
        known = [*default.at("vars").names, *variables_in(default.at("assert").data)]
        assertions = list(assertions_of(default.at("assert"), known, self.findings))
        repeat = options.at("repeat").data
        if repeat not in (None, 1) and not is_whole(repeat, 1, MOST_REPETITIONS):
            problem = f"repeat is not taken over: it is no whole number from 1 to {MOST_REPETITIONS:,}"
            self.findings.lost(options.at("repeat"), problem)
        defaults: dict[str, Any] = {"repeat": repeat} if is_whole(repeat, 2, MOST_REPETITIONS) else {}
        defaults |= {} if judge is None else {"judge": judge}
        defaults |= self._min_score(default)
        defaults |= {"assertions": assertions} if assertions else {}
        return {"defaults": defaults} if defaults else {}

    def _min_score(self, part: Part) -> dict[str, Any]:
        threshold = part.at("threshold")
        if threshold.data is None:
            return {}
        if is_number(threshold.data, most=1) and threshold.data:
            return {"min_score": threshold.data}
        self.findings.lost(threshold, "the threshold is not taken over: a score is above 0, and at most 1")
        return {}

    def _role(self, name: str) -> dict[str, Any]:
        """A role that says nothing but what all prompts say as the system."""
        systems = list(dict.fromkeys(prompt.system for prompt in self.prompts))
        system = systems[0] if len(systems) == 1 and not variables_in(systems[0]) else ""
        for prompt in self.prompts:
            if prompt.system != system:
                said = "what the system says is the role's, and the same in all cases: write it there, spec.role"
                self.findings.lost(prompt.part, said)
        spec = {"role": system} | ({"model": self.models[0]} if self.models else {})
        return {"apiVersion": "llm-mock/v1", "kind": "Agent", "metadata": {"name": name}, "spec": spec}

    def _tests(self) -> Iterator[_Test]:
        tests, scenarios = self.top.at("tests"), self.top.at("scenarios")
        if tests.data is None and scenarios.data is None:
            yield _Test(())
        yield from self._listed(tests)
        for scenario in scenarios.items():
            self.findings.lost_keys(scenario, ("config", "tests", "description"), " of a scenario")
            for config in scenario.at("config").items():
                if not isinstance(config.data, dict):
                    self.findings.lost(config, "this part of a scenario is not taken over: it is no mapping")
                    continue
                for test in self._listed(scenario.at("tests")):
                    yield test._replace(parts=(config, *test.parts))

    def _listed(self, part: Part) -> Iterator[_Test]:
        """The tests that stand in a list, or in the files that it names."""
        for each in part.items():
            if isinstance(each.data, dict):
                yield _Test((each,))
            elif isinstance(each.data, str):
                for path in files_of(each, self.findings, (*TABLES, ".csv")):
                    if path.suffix.lower() == ".csv":
                        yield from self._table(path, each)
                    elif (found := loaded(path, each, self.findings)) is not None:
                        yield from self._listed(found)
            else:
                self.findings.lost(each, "this test is not taken over: it is no mapping")

    def _table(self, path: Path, part: Part) -> Iterator[_Test]:
        """A table of tests is the file of the rows of a case."""
        try:
            _, row = rows_in(path, yaml_files.read(path))[0]
        except InvalidFile as error:
            self.findings.lost(part, str(error))
            return
        for name in row:
            if name.startswith("__"):
                self.findings.lost(part, f"the column {name} has no counterpart")
        columns = {name: Part("", part.document, part.place) for name in row}
        yield _Test((), columns, path.relative_to(self.top.document.path.parent).as_posix())

    def _case(self, test: _Test, number: int, prompt: Prompt) -> dict[str, Any]:
        findings, parts = self.findings, test.parts
        case: dict[str, Any] = {"name": self._name(test, number, prompt), "prompt": prompt.template}
        known = self._give_variables(case, test, prompt)
        case["prompt"] = findings.text(prompt.part, prompt.template, known)
        if known:
            case["name"] = literal(case["name"])
        assertions: list[dict[str, Any]] = []
        for part in parts:
            findings.lost_keys(part, _OF_TESTS, " of a test")
            findings.lost_keys(part.at("options"), (), " of a test")
            assertions += assertions_of(part.at("assert"), known, findings)
            case |= self._min_score(part)
            if isinstance(part.at("providerOutput").data, str):
                case["expected_output"] = findings.text(part.at("providerOutput"), part.data["providerOutput"], known)
        return case | ({"assertions": assertions} if assertions else {})

    def _name(self, test: _Test, number: int, prompt: Prompt) -> str:
        named = [part.data["description"] for part in test.parts if isinstance(part.data.get("description"), str)]
        name = named[-1] if named else Path(test.rows_file).stem if test.rows_file else f"test {number}"
        label = prompt.label or f"prompt {self.prompts.index(prompt) + 1}"
        return f"{name} [{label}]" if len(self.prompts) > 1 else name

    def _give_variables(self, case: dict[str, Any], test: _Test, prompt: Prompt) -> Collection[str]:
        """Give a case its variables, or rows where one of them has several values; the names of all."""
        given = {name: part.at("vars", name) for part in (self.default, *test.parts) for name in part.at("vars").names}
        values: dict[str, list[Any]] = {}
        for name, part in given.items():
            if NAME.fullmatch(name):
                values[name] = [each for item in part.items() for each in self._values(item)] or [""]
            else:
                self.findings.lost(part, f"no variable can be called {name}")
        asserted = [part.at("assert").data for part in (self.default, *test.parts)]
        for name in [*variables_in(prompt.template), *variables_in(asserted)]:
            if name not in values and name not in test.columns:
                values[name] = [""]
                where = test.parts[-1] if test.parts else prompt.part
                self.findings.lost(where, f"{{{{{name}}}}} has no value here, and is empty")
        if (rows := math.prod(map(len, values.values()))) > _MOST_CASES:
            raise prompt.part.document.error(f"{case['name']} makes {rows:,} cases, and {_MOST_CASES:,} are the most")
        if rows > 1:
            case["rows"] = [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]
        elif values:
            case["variables"] = {name: value for name, (value,) in values.items()}
        if test.rows_file is not None:
            case["rows_file"] = test.rows_file
        return {**values, **test.columns}

    def _values(self, part: Part) -> Iterator[Any]:
        """The value of a variable, or the texts of the files that it names."""
        value = part.data
        if isinstance(value, str) and value.startswith(FILE):
            yield from (yaml_files.read(path).strip() for path in files_of(part, self.findings, (".txt", ".md")))
        elif isinstance(value, (str, int, float, bool)):
            if variables_in(value):
                self.findings.lost(part, f"{value} stays as it stands: a variable has no variables in it")
            yield value
        else:
            what = f"the variable {part.place[-1]} is not taken over: it is no text, number, true or false"
            self.findings.lost(part, what)


def _with_names(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cases, each with a name of its own."""
    seen: dict[str, int] = {}
    for case in cases:
        seen[case["name"]] = times = seen.get(case["name"], 0) + 1
        if times > 1:
            case["name"] += f" ({times})"
    return cases
