"""Conversion of a promptfoo configuration into a suite and its role."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from llm_mock.errors import InvalidFile
from llm_mock.suites.promptfoo.assertions import convert_assertions
from llm_mock.suites.promptfoo.endpoints import convert_endpoints
from llm_mock.suites.promptfoo.prompts import PromptTemplate, parse_prompts
from llm_mock.suites.promptfoo.providers import convert_judge, convert_models, convert_to_matrix
from llm_mock.suites.promptfoo.source import (
    DATA_SUFFIXES,
    FILE,
    ImportFindings,
    Part,
    fill_variables,
    find_files,
    find_variables,
    load_part,
)
from llm_mock.suites.promptfoo.tables import convert_row, has_test_columns
from llm_mock.suites.promptfoo.transforms import convert_transform
from llm_mock.suites.row_files import parse_rows
from llm_mock.support import yaml_files
from llm_mock.support.interpolation import NAME, escape_references
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import MOST_REPETITIONS, is_number, is_whole
from llm_mock.support.validation import is_extension

_TOP_KEYS = (
    "description",
    "prompts",
    "providers",
    "targets",
    "tests",
    "defaultTest",
    "scenarios",
    "evaluateOptions",
)
_TEST_KEYS = (
    "description",
    "vars",
    "assert",
    "options",
    "providerOutput",
    "threshold",
    "metadata",
)
_OPTIONS = ("prefix", "suffix", "transform")
_DEFAULT_KEYS = ("vars", "assert", "options", "threshold", "metadata")
_AGENT_ASSERTION = "max_cost"
"""The only imported assertion about the calls of models, which are not known of an endpoint."""
# More would make a file that nobody reads, and that takes minutes to write.
_MAX_CASES = 10_000


class ImportedSuite(NamedTuple):
    """The result of an import."""

    suite: JSONObject
    role: JSONObject | None
    """The role of the models; None if an HTTP endpoint is the target."""
    findings: list[str]
    """The parts without a counterpart, a line `file:line: message` each."""


class _SourceTest(NamedTuple):
    """A test: its mapping, after that of a scenario; or a file with a table of tests."""

    parts: tuple[Part, ...]
    columns: Collection[str] = ()
    rows_file: str | None = None


def import_configuration(path: Path) -> ImportedSuite:
    """Convert a promptfoo configuration into a suite and its role.

    Raises:
        InvalidFile: the file is unreadable, or contains no test that a suite can have.
    """
    document = yaml_files.load(path)
    data = document.data
    if not isinstance(data, dict) or not {"prompts", "tests", "scenarios"} & {*data}:
        raise document.error(
            "this is neither a configuration of promptfoo (prompts, tests) nor a cassette of VCR"
        )
    return _Importer(Part(data, document), ImportFindings()).convert()


@dataclass
class _Importer:
    """The conversion of one configuration."""

    top: Part
    findings: ImportFindings

    def __post_init__(self) -> None:
        self._uses_variables = False
        self.default = self._load_default_test()
        # promptfoo knows them by both names.
        key = "providers" if "providers" in self.top.names else "targets"
        providers = self.top.at(key)
        self.models = convert_models(providers, self.findings)
        self.targets = convert_endpoints(providers, self.findings)
        if self.models and self.targets:
            problem = "HTTP endpoints beside models are not imported: write them into another suite"
            self.findings.report(providers, problem)
            self.targets = []
        prompts = self.top.at("prompts")
        self.prompts = parse_prompts(prompts, self.findings)
        self.system = _find_shared_system(self.prompts)

    def _load_default_test(self) -> Part:
        part = self.top.at("defaultTest")
        if not isinstance(part.data, str):
            return part
        for path in find_files(part, self.findings, DATA_SUFFIXES):
            content = load_part(path, part, self.findings)
            if content is not None:
                return content
        return part

    def convert(self) -> ImportedSuite:
        """Return the suite, the role and the report."""
        top = self.top
        findings = self.findings
        extensions = filter(is_extension, top.names)
        findings.report_keys(top, [*_TOP_KEYS, *extensions])
        cases = self._convert_cases()
        if not cases:
            problem = f"{top.document.path}: nothing in it can become a case of a suite"
            raise InvalidFile("\n".join([*findings.format_lines(), problem]))
        name = top.document.path.stem
        metadata = {"name": name}
        description = top.at("description").data
        if isinstance(description, str):
            metadata["description"] = description
        # The order of the keys is that of the file that is written.
        suite: JSONObject = {
            "apiVersion": "llm-mock/v1",
            "kind": "TestSuite",
            "metadata": metadata,
        }
        if len(self.targets) == 1:
            suite["target"] = self.targets[0]
        elif self.targets:
            suite["matrix"] = {"targets": self._name_targets()}
        elif len(self.models) > 1:
            suite["matrix"] = {"models": convert_to_matrix(self.models)}
        defaults = self._convert_defaults()
        if defaults:
            suite["defaults"] = defaults
        suite["cases"] = _make_names_unique(cases)
        role = None
        if self.targets:
            self._skip_agent_assertions([defaults, *cases])
            self._report_chats()
        else:
            role = self._make_role(name)
        return ImportedSuite(suite, role, findings.format_lines())

    def _name_targets(self) -> list[JSONObject]:
        """Return the targets with unique names, as a matrix needs them."""
        named: list[JSONObject] = []
        for number, target in enumerate(self.targets, start=1):
            host = urlsplit(target["url"]).netloc
            named.append({"name": f"{number} {host}", **target})
        return named

    def _skip_agent_assertions(self, owners: Iterable[JSONObject]) -> None:
        """Replace assertions about an agent, as nothing is known of the calls of a target."""
        for owner in owners:
            assertions = owner.get("assertions", [])
            for position, assertion in enumerate(assertions):
                if assertion["type"] != _AGENT_ASSERTION:
                    continue
                reason = f"{_AGENT_ASSERTION} needs a role: the calls of a target are not known"
                self.findings.report(self.top, reason)
                assertions[position] = {"type": "skipped", "reason": reason}

    def _report_chats(self) -> None:
        for prompt in self.prompts:
            if prompt.system or prompt.history:
                problem = (
                    "of this chat only the last message is imported: a target is sent no other"
                )
                self.findings.report(prompt.part, problem)

    def _convert_cases(self) -> list[JSONObject]:
        """Return a case for each test with each prompt."""
        tests = list(self._find_tests())
        if len(tests) * len(self.prompts) > _MAX_CASES:
            raise self.top.document.error(
                f"this makes more than {_MAX_CASES:,} cases: name the rows in a file, rows_file"
            )
        cases = []
        for number, test in enumerate(tests, start=1):
            for prompt in self.prompts:
                cases.append(self._convert_case(test, number, prompt))
        return cases

    def _convert_defaults(self) -> JSONObject:
        """Return the defaults of the suite.

        Variables of the default test are not among them: each case has them itself.
        """
        findings = self.findings
        default = self.default
        owner = " of the default test"
        evaluate_options = self.top.at("evaluateOptions")
        findings.report_keys(evaluate_options, ("repeat",))
        findings.report_keys(default, _DEFAULT_KEYS, owner)
        options = default.at("options")
        judge = convert_judge(options.at("provider"), findings)
        known = _OPTIONS if judge is None else ("provider", *_OPTIONS)
        findings.report_keys(options, known, owner)
        assert_part = default.at("assert")
        # Each case has all variables that are used, if only with an empty value.
        variables = default.at("vars").names + find_variables(assert_part.data)
        if self._uses_variables:
            # Then these assertions are templates, too, though they may use none.
            variables.append("")
        assertions = list(convert_assertions(assert_part, variables, findings))
        defaults = self._convert_repeat(evaluate_options.at("repeat"))
        if judge is not None:
            defaults["judge"] = judge
        defaults |= self._convert_threshold(default)
        defaults |= self._convert_transform(default)
        tags = self._convert_metadata(default)
        if tags:
            defaults["tags"] = tags
        if assertions:
            defaults["assertions"] = assertions
        return defaults

    def _convert_metadata(self, part: Part) -> list[str]:
        """Return the metadata of a test as tags, such as `topic=hours`."""
        tags = []
        metadata = part.at("metadata")
        for name in metadata.names:
            for item in metadata.at(name).items():
                if isinstance(item.data, (str, int, float, bool)):
                    tags.append(f"{name}={item.data}")
                else:
                    problem = f"the metadata {name} are not imported: they must be texts"
                    self.findings.report(item, problem)
        return tags

    def _convert_repeat(self, part: Part) -> JSONObject:
        if part.data in (None, 1):
            return {}
        if is_whole(part.data, 2, MOST_REPETITIONS):
            return {"repeat": part.data}
        limits = f"from 1 to {MOST_REPETITIONS:,}"
        self.findings.report(part, f"repeat is not imported: it must be a whole number {limits}")
        return {}

    def _convert_threshold(self, part: Part) -> JSONObject:
        threshold = part.at("threshold")
        if threshold.data is None:
            return {}
        if is_number(threshold.data, most=1) and threshold.data:
            return {"min_score": threshold.data}
        problem = "the threshold is not imported: a score must be above 0 and at most 1"
        self.findings.report(threshold, problem)
        return {}

    def _convert_transform(self, part: Part) -> JSONObject:
        transform = part.at("options", "transform")
        if transform.data is None:
            return {}
        try:
            return {"transform": convert_transform(transform.data)}
        except ValueError as error:
            problem = f"the transform {transform.data} is not imported: {error}"
            self.findings.report(transform, problem)
            return {}

    def _make_role(self, name: str) -> JSONObject:
        """Return a role with the system message that all prompts share; others are of cases."""
        spec: JSONObject = {"role": self.system}
        if self.models:
            spec["model"] = self.models[0].convert_to_role()
        return {
            "apiVersion": "llm-mock/v1",
            "kind": "Agent",
            "metadata": {"name": name},
            "spec": spec,
        }

    def _find_tests(self) -> Iterator[_SourceTest]:
        """Yield all tests: those of the list, then those of the scenarios."""
        tests = self.top.at("tests")
        scenarios = self.top.at("scenarios")
        if tests.data is None and scenarios.data is None:
            # promptfoo sends prompts without tests, too.
            yield _SourceTest(())
        yield from self._find_listed_tests(tests)
        for scenario in scenarios.items():
            self.findings.report_keys(
                scenario, ("config", "tests", "description"), " of a scenario"
            )
            for config in scenario.at("config").items():
                if not isinstance(config.data, dict):
                    problem = "this part of a scenario is not imported: it must be a mapping"
                    self.findings.report(config, problem)
                    continue
                for test in self._find_listed_tests(scenario.at("tests")):
                    yield test._replace(parts=(config, *test.parts))

    def _find_listed_tests(self, part: Part) -> Iterator[_SourceTest]:
        """Yield the tests of a list, and of the files that it names."""
        for item in part.items():
            if isinstance(item.data, dict):
                yield _SourceTest((item,))
            elif isinstance(item.data, str):
                yield from self._load_tests(item)
            else:
                self.findings.report(item, "this test is not imported: it must be a mapping")

    def _load_tests(self, part: Part) -> Iterator[_SourceTest]:
        for path in find_files(part, self.findings, (*DATA_SUFFIXES, ".csv", ".jsonl")):
            if path.suffix.lower() in (".csv", ".jsonl"):
                yield from self._load_rows(path, part)
                continue
            content = load_part(path, part, self.findings)
            if content is not None:
                yield from self._find_listed_tests(content)

    def _load_rows(self, path: Path, part: Part) -> Iterator[_SourceTest]:
        """Yield the tests of a table or of a file with a test on each line.

        A table of variables alone becomes the file of rows of one case.
        """
        try:
            rows = parse_rows(path, yaml_files.read(path))
        except InvalidFile as error:
            self.findings.report(part, str(error))
            return
        _, first = rows[0]
        if path.suffix.lower() == ".csv" and not has_test_columns(first):
            folder = self.top.document.path.parent
            yield _SourceTest((), [*first], path.relative_to(folder).as_posix())
            return
        for _, row in rows:
            test = row
            if path.suffix.lower() == ".csv":
                test = convert_row(row, part, self.findings)
            yield _SourceTest((Part(test, part.document, part.place),))

    def _convert_case(
        self,
        test: _SourceTest,
        number: int,
        prompt: PromptTemplate,
    ) -> JSONObject:
        findings = self.findings
        case: JSONObject = {"name": self._make_name(test, number, prompt)}
        if prompt.function is None:
            # The order of the keys is that of the file.
            case["prompt"] = prompt.template
        else:
            case["prompt_function"] = prompt.function
        prompt = self._add_affixes(test, prompt)
        variables = self._add_variables(case, test, prompt)
        if not self.targets:
            case |= self._convert_chat(prompt, variables)
        if prompt.function is None:
            case["prompt"] = findings.convert_text(prompt.part, prompt.template, variables)
        if variables:
            self._uses_variables = True
            # The name is a template as soon as the case has variables.
            case["name"] = escape_references(case["name"])
        assertions: list[JSONObject] = []
        for part in test.parts:
            findings.report_keys(part, _TEST_KEYS, " of a test")
            findings.report_keys(part.at("options"), _OPTIONS, " of a test")
            case |= self._convert_transform(part)
            assertions += convert_assertions(part.at("assert"), variables, findings)
            case |= self._convert_threshold(part)
            output = part.at("providerOutput")
            if isinstance(output.data, str):
                case["expected_output"] = findings.convert_text(output, output.data, variables)
            tags = self._convert_metadata(part)
            if tags:
                case["tags"] = [*case.get("tags", ()), *tags]
        if assertions:
            case["assertions"] = assertions
        return case

    def _convert_chat(self, prompt: PromptTemplate, variables: Collection[str]) -> JSONObject:
        """Return the system prompt and the history of a case, as far as it has its own."""
        findings = self.findings
        chat: JSONObject = {}
        if prompt.system != self.system:
            chat["system"] = findings.convert_text(prompt.part, prompt.system, variables)
        messages = []
        for message in prompt.history:
            content = findings.convert_text(prompt.part, message.content, variables)
            messages.append({"role": message.role, "content": content})
        if messages:
            chat["history"] = messages
        return chat

    def _add_affixes(self, test: _SourceTest, prompt: PromptTemplate) -> PromptTemplate:
        """Return the prompt between the prefix and the suffix of a test, or of the default test."""
        affixes = {"prefix": "", "suffix": ""}
        for owner in (self.default, *test.parts):
            for name in affixes:
                text = owner.at("options", name).data
                if isinstance(text, str):
                    affixes[name] = text
        prefix = affixes["prefix"]
        suffix = affixes["suffix"]
        template = f"{prefix}{prompt.template}{suffix}"
        return prompt._replace(template=template)

    def _make_name(self, test: _SourceTest, number: int, prompt: PromptTemplate) -> str:
        name = f"test {number}"
        if test.rows_file:
            name = Path(test.rows_file).stem
        # The description of the test itself comes after that of its scenario.
        for part in test.parts:
            description = part.data.get("description")
            if isinstance(description, str):
                name = description
        if len(self.prompts) == 1:
            return name
        label = prompt.label or f"prompt {self.prompts.index(prompt) + 1}"
        return f"{name} [{label}]"

    def _add_variables(
        self,
        case: JSONObject,
        test: _SourceTest,
        prompt: PromptTemplate,
    ) -> Collection[str]:
        """Add variables to a case, or rows if a variable has several values.

        Returns:
            The names of all variables of the case.
        """
        values = self._collect_values(test)
        if prompt.function is not None:
            self._report_mappings(values, prompt.part)
        fields = self._add_missing_variables(values, test, prompt)
        # Several values of several variables are combined, as promptfoo does.
        number = math.prod(map(len, values.values()))
        if number > _MAX_CASES:
            raise prompt.part.document.error(
                f"{case['name']} makes {number:,} cases; at most {_MAX_CASES:,} are supported"
            )
        if number > 1:
            rows = []
            for combination in itertools.product(*values.values()):
                row = dict(zip(values, combination, strict=True))
                rows.append(_fill_values(row, fields))
            case["rows"] = rows
        elif values:
            variables = {name: value for name, [value] in values.items()}
            case["variables"] = _fill_values(variables, fields)
        if test.rows_file is not None:
            case["rows_file"] = test.rows_file
        return {*values, *test.columns}

    def _collect_values(self, test: _SourceTest) -> dict[str, list[Any]]:
        """Return the values of each variable of a test."""
        parts: dict[str, Part] = {}
        # Later ones override: the test, its scenario, the default test.
        for owner in (self.default, *test.parts):
            for name in owner.at("vars").names:
                parts[name] = owner.at("vars", name)
        values: dict[str, list[Any]] = {}
        for name, part in parts.items():
            if not NAME.fullmatch(name):
                self.findings.report(part, f"invalid name of a variable: {name}")
                continue
            values[name] = []
            for item in part.items():
                values[name] += self._read_values(item)
            if not values[name]:
                values[name] = [""]
        return values

    def _report_mappings(self, values: dict[str, list[Any]], part: Part) -> None:
        for name, alternatives in values.items():
            if any(isinstance(value, dict) for value in alternatives):
                problem = f"the prompt function gets the mapping {name} as the text of its JSON"
                self.findings.report(part, problem)

    def _add_missing_variables(
        self,
        values: dict[str, list[Any]],
        test: _SourceTest,
        prompt: PromptTemplate,
    ) -> list[str]:
        """Add empty values for variables that are used without a value, and report them.

        Returns:
            The used fields of mappings, such as `user.name`.
        """
        fields: list[str] = []
        used = find_variables([*prompt.texts, *values.values()])
        for part in (self.default, *test.parts):
            used += find_variables(part.at("assert").data)
        if test.parts:
            owner = test.parts[-1]
        else:
            owner = prompt.part
        for name in used:
            if name in values or name in test.columns:
                continue
            mappings = values.get(name.partition(".")[0], [])
            if any(isinstance(value, dict) for value in mappings):
                fields.append(name)
                found = [_find_field(value, name) for value in mappings]
                if None not in found:
                    continue
            else:
                values[name] = [""]
            # Five braces: two pairs of them are escaped.
            problem = f"{{{{{name}}}}} has no value here, and is empty"
            self.findings.report(owner, problem)
        return fields

    def _read_values(self, part: Part) -> Iterator[Any]:
        """Yield the value of a variable, or the texts of the files that it names."""
        value = part.data
        if isinstance(value, str) and value.startswith(FILE):
            for path in find_files(part, self.findings, (".txt", ".md")):
                yield yaml_files.read(path).strip()
        elif isinstance(value, (str, int, float, bool, dict)):
            yield value
        else:
            self.findings.report(
                part,
                f"the variable {part.place[-1]} is not imported: "
                "it must be text, a number, true or false, a list or a mapping",
            )


def _find_shared_system(prompts: Iterable[PromptTemplate]) -> str:
    """Return the system message of all prompts; empty if they differ or have variables."""
    systems = {prompt.system for prompt in prompts}
    if len(systems) != 1:
        return ""
    (system,) = systems
    # A role has no variables, so their values would be missing from the message.
    return "" if find_variables(system) else system


def _find_field(value: object, name: str) -> object:
    """Return the field of a mapping for a name such as `user.name`; None without one."""
    _, *keys = name.split(".")
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _fill_values(values: JSONObject, fields: Iterable[str]) -> JSONObject:
    """Return values with the variables in them replaced, one after the other.

    Args:
        values: the values; mappings become JSON.
        fields: the names of fields of mappings, which become variables of their own.
    """
    filled: JSONObject = {}
    for name, value in values.items():
        filled[name] = _convert_value(value)
    for name in fields:
        first, _, _ = name.partition(".")
        field = _find_field(values[first], name)
        filled[name] = _convert_value(field)
    for name, value in filled.items():
        if isinstance(value, str):
            filled[name] = fill_variables(value, filled)
    return filled


def _convert_value(value: object) -> object:
    """Return a value as a variable of a suite can have it."""
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        # YAML also has dates, which JSON has not.
        return json.dumps(value, ensure_ascii=False, default=str)
    return value


def _make_names_unique(cases: list[JSONObject]) -> list[JSONObject]:
    """Add numbers to names of cases that are used again."""
    counts: dict[str, int] = {}
    for case in cases:
        name = case["name"]
        counts[name] = counts.get(name, 0) + 1
        if counts[name] > 1:
            case["name"] = f"{name} ({counts[name]})"
    return cases
