"""Detection of mocks made by hand, whose calls never reach the mock: patches, replaced modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.core.context import current_mock_if_created
from llm_mock.errors import LegacyMockWarning

if TYPE_CHECKING:
    from llm_mock.core.script import StandingReply

GUIDE = "MIGRATION_GUIDE.md"
KNOWN_MODULES: Mapping[str, str] = {"pflow.planning": "MockPlanningModule"}
"""The modules that are always watched, each with a text by which its mock is recognised."""
GETTERS = ("get_model", "get_async_model")
"""The names of functions that return models."""
SDKS = frozenset(
    {
        "agents",
        "anthropic",
        "boto3",
        "botocore",
        "cohere",
        "crewai",
        "dspy",
        "groq",
        "instructor",
        "litellm",
        "llama_index",
        "mistralai",
        "ollama",
        "openai",
        "pydantic_ai",
        "smolagents",
        "together",
    }
)
"""The SDKs and frameworks whose patched classes and functions are noted."""
PREFIXES = ("google.genai", "langchain")
"""The beginnings of the names of further modules: LangChain has a package for each provider."""
ADVICE = (
    "Calls to patched objects never reach the mock. Remove the patch or the replies; "
    "`llm-mock migrate` rewrites such tests."
)


class HandPatches:
    """The patches of a test, by `unittest.mock` (and so by pytest-mock) or by `monkeypatch`."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """The patched functions that return models of `llm`, and what is patched of SDKs, each with
        its replacement."""
        self._of_sdks: set[str] = set()
        self._replacing_packages: set[str] = set()
        """The packages whose functions and classes were patched in."""
        self._attached_to: Any = None
        self._enter: Any = None

    def begin(self) -> None:
        """Forget the patches of the previous test."""
        self.names.clear()
        self._of_sdks.clear()
        self._replacing_packages.clear()
        # Private: `unittest.mock.patch` makes only objects of this class. Without it no patch is
        # noted. Attached in the first test after the import, as importing the module is slow.
        patch: Any = getattr(sys.modules.get("unittest.mock"), "_patch", None)
        if self._attached_to is None and hasattr(patch, "__enter__"):
            self._attached_to, self._enter = patch, enter = patch, patch.__enter__

            def enter_and_note(entered: Any) -> Any:
                replacement = enter(entered)
                # `temp_original`, a private name, is the replaced function.
                original = entered.temp_original
                find_line = _find_running_line
                self._note(entered.target, entered.attribute, original, replacement, find_line)
                self._replacing_packages.add(_get_package(replacement))
                return replacement

            patch.__enter__ = enter_and_note

    def end(self) -> None:
        """Restore `unittest.mock` at the end of the run."""
        if self._attached_to is not None:
            self._attached_to.__enter__ = self._enter

    def note_monkeypatch(
        self, monkeypatch: object, test: Callable[..., object] | None = None
    ) -> None:
        """Note the patches that a test made by its fixture `monkeypatch`.

        Args:
            monkeypatch: the fixture.
            test: the function of the test, if it has one.
        """

        def find_line(name: str) -> str:
            # Imported here: few tests fail with a patch.
            from llm_mock.plugin.patch_lines import find_setattr

            return "" if test is None else find_setattr(test, name)

        # Private: pytest has no public list of them. Without it none is noted.
        for target, attribute, original in getattr(monkeypatch, "_setattr", ()):
            # For the method of an instance pytest notes no original; its class has it.
            inherited = getattr(type(target), attribute, original)
            if isinstance(target, type):
                # Nor for a method that a class inherits.
                inherited = getattr(super(target, target), attribute, original)
            try:
                replacement = getattr(target, attribute, None)
            except Exception:  # a property of the project
                continue
            self._note(target, attribute, inherited, replacement, find_line)

    def _note(
        self,
        target: object,
        attribute: str,
        original: object,
        replacement: object,
        find_line: Callable[[str], str],
    ) -> None:
        """Note a patch if it replaces a function that returns models, or a part of an SDK.

        Args:
            target: the object whose attribute is replaced.
            attribute: the name of the attribute.
            original: the replaced object.
            replacement: the object in its place.
            find_line: returns the line that makes the patch of a name; empty if it is unknown.
        """
        name = _get_name(target, attribute)
        module = _get_module(original)
        is_of_sdk = module.partition(".")[0] in SDKS or module.startswith(PREFIXES)
        if attribute in GETTERS and _is_of_llm(original):
            is_of_sdk = False
        elif is_of_sdk:
            self._of_sdks.add(name)
        else:
            return
        self.names[name] = _describe(replacement)
        line = find_line(name)
        if line:
            self.names[name] += f", {line}"

    def warning(self) -> LegacyMockWarning | None:
        """Return a warning about replies that a passed test left unused; None without a patch."""
        noted = self.names
        mock = current_mock_if_created()
        # If a model was called, the patch may not be the reason for the unused replies.
        if mock is not None and mock.calls:
            noted = {name: noted[name] for name in noted if name not in self._of_sdks}
        unused = find_unused_replies_of_test() if noted else []
        if not unused:
            return None
        replies = "\n".join(f"  - {reply.text()}" for reply in unused)
        problem = f"{_describe_patches(noted)}, and configures replies that were not used"
        return LegacyMockWarning(f"{problem}:\n{replies}\n{ADVICE}")

    def note(self) -> str:
        """Return a note for a failed test, whose unused replies are listed elsewhere."""
        if not self.names or not find_unused_replies_of_test():
            return ""
        return f"{_describe_patches(self.names)}. {ADVICE}"

    def explain_other_mocks(self, error: BaseException | None) -> str:
        """Return why a failed test left replies unused, if another mock intercepts HTTP in it."""
        # Imported here: most tests pass.
        from llm_mock.plugin.other_mocks import explain_other_mocks, find_other_mocks

        packages = find_other_mocks(error, self._replacing_packages)
        return explain_other_mocks(packages) if packages and find_unused_replies_of_test() else ""


def _describe_patches(noted: Mapping[str, str]) -> str:
    """Return the beginning of a message about patches."""
    patches = [f"{name} by hand ({replacement})" for name, replacement in noted.items()]
    return f"This test patches {' and '.join(patches)}"


def _find_running_line(name: str) -> str:
    """Return the line of the project that makes a patch now."""
    # Imported here: few tests patch.
    from llm_mock.core.source_location import find_project_line

    return find_project_line()


def _get_name(target: object, attribute: str) -> str:
    """Return the name of what is patched, such as `app.OpenAI`."""
    owner = getattr(target, "__name__", type(target).__name__)
    return f"{owner}.{attribute}"


def _describe(replacement: object) -> str:
    """Return the name of a replacement's type, or of the class that replaces another one."""
    kind = replacement if isinstance(replacement, type) else type(replacement)
    return kind.__name__


def _get_module(original: object) -> str:
    """Return the name of the module that defines a replaced object."""
    if isinstance(original, ModuleType):
        return original.__name__
    if isinstance(original, (FunctionType, MethodType, type)):
        return str(original.__module__)
    return type(original).__module__


def _get_package(replacement: object) -> str:
    """Return the package that defines a function or a class; empty for any other object."""
    if isinstance(replacement, FunctionType):
        # Not `__module__`, which a wrapper copies from what it wraps.
        module = replacement.__globals__.get("__name__", "")
    elif isinstance(replacement, type):
        module = replacement.__module__
    else:
        return ""
    return str(module).partition(".")[0]


def find_unused_replies_of_test() -> list[StandingReply]:
    """Return the replies of the current mock that answered no call; none without a mock."""
    mock: Any = current_mock_if_created()
    if mock is None:
        return []
    from llm_mock.core.diagnostics import find_unused_replies

    return find_unused_replies(mock, mock.calls)


def _is_of_llm(original: object) -> bool:
    return str(getattr(original, "__module__", "")).partition(".")[0] in ("llm", "llm_mock")


class LegacyMockDetector:
    """Warns once when a module in `sys.modules` is an old mock.

    Args:
        modules: further modules to watch, each `module=Text`. The module is an old mock if its
            `str()` or the name of its type contains `Text`.
            `pflow.planning=MockPlanningModule` is always watched.

    Raises:
        ValueError: an entry does not have this form.
    """

    def __init__(self, modules: Iterable[str] = ()) -> None:
        self._watched = dict(KNOWN_MODULES)
        self._warned = False
        for entry in modules:
            module, separator, text = (part.strip() for part in entry.partition("="))
            if not (module and separator and text):
                raise ValueError(
                    f"ini llm_mock_legacy_modules: {entry!r} must be module=Text, such as "
                    "myapp.planner=FakePlanner. While the old mock replaces the module, the Text "
                    "must be part of str(module) or of the name of its type."
                )
            self._watched[module] = text

    def check(self) -> LegacyMockWarning | None:
        """Return a warning that names the old mocks; None if there are none, or after the first."""
        # Each test calls this: without a watched module it costs one set operation.
        if self._warned or sys.modules.keys().isdisjoint(self._watched):
            return None
        old_mocks = []
        for name, text in self._watched.items():
            module = sys.modules.get(name)
            if module is not None and text in f"{module} {type(module).__name__}":
                old_mocks.append(name)
        if not old_mocks:
            return None
        self._warned = True
        return LegacyMockWarning(
            f"Old mock detected in {', '.join(old_mocks)}: the module is replaced as a whole, so "
            "its code is not tested. Import the module normally and set replies with "
            f"mock_llm_responses. See {GUIDE}."
        )
