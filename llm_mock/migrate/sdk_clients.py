"""Recognize patched client classes of SDKs, and their methods that call a model."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

from llm_mock.migrate.doubles import (
    PatchedGetter,
    PlainCode,
    TestDouble,
    Value,
    iterate_code,
    iterate_doubles,
)
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import find_nodes, get_dotted_name, to_source
from llm_mock.migrate.targets import resolve_class, resolve_name

GOOGLE = "google.genai"
MISTRAL = "mistralai.client"
CLIENTS = {
    "openai": ("OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"),
    "anthropic": ("Anthropic", "AsyncAnthropic"),
    GOOGLE: ("Client",),
    MISTRAL: ("Mistral",),
}
"""The classes of clients of each SDK, by the module that has them."""
EMBEDDINGS = "embeddings.create"
RESPONSES = "responses.create"
MESSAGES = "messages.create"
CONTENTS = ("models.generate_content", "aio.models.generate_content")
CONTENT_STREAMS = ("models.generate_content_stream", "aio.models.generate_content_stream")
METHODS = {
    "chat.completions.create": "openai",
    "chat.completions.parse": "openai",
    "beta.chat.completions.parse": "openai",
    MESSAGES: "anthropic",
    RESPONSES: "openai",
    EMBEDDINGS: "openai",
    **dict.fromkeys((*CONTENTS, *CONTENT_STREAMS), GOOGLE),
    "chat.complete": MISTRAL,
    "chat.complete_async": MISTRAL,
}
"""The methods of clients that call a model, each with the path that leads to it, and their SDK."""
LITELLM = "litellm"
# The same classes, in the module that defines them and in the packages that export them.
_COMPLETIONS = (
    # Not `openai.resources`, whose `Completions` are those of plain texts.
    "openai.resources.chat",
    "openai.resources.chat.completions",
    "openai.resources.chat.completions.completions",
)
_MESSAGES = (
    "anthropic.resources",
    "anthropic.resources.messages",
    "anthropic.resources.messages.messages",
)
_RESPONSES = ("openai.resources.responses", "openai.resources.responses.responses")
_EMBEDDINGS = ("openai.resources", "openai.resources.embeddings")
FUNCTIONS = {
    f"{LITELLM}.completion": "chat.completions.create",
    f"{LITELLM}.acompletion": "chat.completions.create",
}
"""The functions and methods that call a model, and the path of each in a client."""
for _module in _COMPLETIONS:
    FUNCTIONS[f"{_module}.Completions.create"] = "chat.completions.create"
    FUNCTIONS[f"{_module}.AsyncCompletions.create"] = "chat.completions.create"
    FUNCTIONS[f"{_module}.Completions.parse"] = "chat.completions.parse"
    FUNCTIONS[f"{_module}.AsyncCompletions.parse"] = "chat.completions.parse"
for _module in _EMBEDDINGS:
    FUNCTIONS[f"{_module}.Embeddings.create"] = EMBEDDINGS
    FUNCTIONS[f"{_module}.AsyncEmbeddings.create"] = EMBEDDINGS
for _module in _MESSAGES:
    FUNCTIONS[f"{_module}.Messages.create"] = MESSAGES
    FUNCTIONS[f"{_module}.AsyncMessages.create"] = MESSAGES
for _module in _RESPONSES:
    FUNCTIONS[f"{_module}.Responses.create"] = RESPONSES
    FUNCTIONS[f"{_module}.AsyncResponses.create"] = RESPONSES
for _name in ("generate_content", "generate_content_stream"):
    FUNCTIONS[f"{GOOGLE}.models.Models.{_name}"] = f"models.{_name}"
    FUNCTIONS[f"{GOOGLE}.models.AsyncModels.{_name}"] = f"aio.models.{_name}"
for _name in ("complete", "complete_async"):
    FUNCTIONS[f"{MISTRAL}.chat.Chat.{_name}"] = f"chat.{_name}"


@dataclass(eq=False)
class PatchedClient(PatchedGetter):
    """A patch of the client class of an SDK.

    Attributes:
        returns_async_models: whether the methods of the client are awaited.
        library: the SDK.
        module: the double of the whole SDK, if it is patched.
        is_function: whether the patch is one of a method or function instead.
        wrapped: the class, such as `openai.OpenAI`, if the patch may stay and wrap it.
    """

    library: str = ""
    module: TestDouble | None = None
    is_function: bool = False
    wrapped: str = ""

    def get_client(self) -> TestDouble | None:
        """Return the double of the client; None if the test uses none.

        Raises:
            CannotRewrite: the class returns something else.
        """
        effect = self.double.side_effect
        value = self.double.return_value
        if isinstance(effect, TestDouble) and effect.problem is None:
            # `lambda **options: client`
            value = effect.return_value
        elif effect is not None:
            raise CannotRewrite(
                f"{self.target} itself has a side effect",
                "The new test uses the real client. To make a call fail, write "
                'mock_llm_responses.set_error("*", error).',
            )
        if value is None or isinstance(value, TestDouble):
            return value
        raise CannotRewrite(f"{self.target} returns an object that is not a mock made in this file")


def resolve_client(path: str, test_file: Path) -> tuple[str, str] | None:
    """Return the client class that a patched path names, or None if it names something else.

    Returns:
        `("openai", "OpenAI")`, or `("openai", "")` for the whole SDK.
    """
    for candidate in _list_qualified_names(path, test_file):
        if candidate in CLIENTS:
            return candidate, ""
        sdk, _, client = candidate.rpartition(".")
        if client in CLIENTS.get(sdk, ()):
            return sdk, client
    return None


def resolve_function(path: str, test_file: Path) -> str | None:
    """Return the qualified name of the function that a patched path names, if it calls a model."""
    for candidate in _list_qualified_names(path, test_file):
        if candidate in FUNCTIONS:
            return candidate
    return None


@dataclass(frozen=True)
class ClientMember:
    """A client that a module creates, or a method of it.

    Attributes:
        client_class: the qualified name of its class.
        path: the path of the method, or of its owner; empty for the client itself.
    """

    client_class: str
    path: str


def resolve_client_member(path: str, test_file: Path) -> ClientMember | None:
    """Return the client, or its method, that a patched path such as `app.client` names."""
    for candidate in _list_qualified_names(path, test_file):
        parts = candidate.split(".")
        for length in range(1, len(parts)):
            module = ".".join(parts[:length])
            name = resolve_class(module, parts[length], test_file) or ""
            sdk, _, client = name.rpartition(".")
            rest = ".".join(parts[length + 1 :])
            is_client = client in CLIENTS.get(sdk, ())
            if is_client and _leads_to_method(rest):
                return ClientMember(name, rest)
    return None


def _leads_to_method(path: str) -> bool:
    """Return whether a path in a client leads to a method that calls a model, or to its owner."""
    if not path:
        return True
    prefix = f"{path}."
    return any(f"{method}.".startswith(prefix) for method in METHODS)


def _list_qualified_names(path: str, test_file: Path) -> list[str]:
    """Return the names that a patched path may have in the SDK, itself included."""
    parts = path.split(".")
    names = [path]
    # "app.OpenAI" or "app.openai.OpenAI", where app imports it, and so on.
    for length in range(1, len(parts)):
        module = ".".join(parts[:length])
        imported = resolve_name(module, parts[length], test_file)
        if imported is None:
            continue
        rest = parts[length + 1 :]
        qualified_name = ".".join([imported, *rest])
        names.append(qualified_name)
    return names


def guess_client_class(double: TestDouble, sdks: Container[str]) -> str | None:
    """Return the class of the client that a double replaces, or None if it replaces no client.

    Args:
        double: the double.
        sdks: the SDKs that the file names: clients of other services have `messages.create`, too.
    """
    for path, value in _walk(double):
        sdk = METHODS.get(path, "")
        if sdk not in sdks or not isinstance(value, TestDouble):
            continue
        if not value.is_unconfigured:
            return find_client_class(path, value)
    return None


def find_later_client(
    name: str,
    double: TestDouble,
    function: cst.FunctionDef,
    sdks: Container[str],
) -> str | None:
    """Return the class of a client whose first reply a function configures later, or None.

    Args:
        name: the name of the client in the function.
        double: the double for it, without replies so far.
        function: the function.
        sdks: the SDKs that the file names.
    """
    paths = set()
    for assignment in find_nodes(function, cst.AssignTarget):
        target = get_dotted_name(assignment.target) or ""
        owner, _, attributes = target.partition(".")
        path, result, _ = attributes.partition(".return_value")
        if owner != name or METHODS.get(path, "") not in sdks:
            continue
        if not result:
            # The test assigns another mock, which may be awaited.
            return None
        paths.add(path)
    classes = {_find_class_of_mock(path, double) for path in paths}
    return classes.pop() if len(classes) == 1 else None


def _find_class_of_mock(path: str, double: TestDouble) -> str | None:
    """Return the class of a client that has a method, judged by the kind of its mock."""
    value: Value = double
    for attribute in path.split("."):
        if not isinstance(value, TestDouble) or not value.has_any_attribute:
            return None
        value = value.get_attribute(attribute)
    return find_client_class(path, value) if isinstance(value, TestDouble) else None


def find_client_class(path: str, method: TestDouble) -> str:
    """Return the class of a client that has a method, judged by its path and whether it waits."""
    sdk = METHODS[path]
    sync_class, *others = CLIENTS[sdk]
    if others and _is_awaited(method):
        return f"{sdk}.{others[0]}"
    return f"{sdk}.{sync_class}"


def _is_awaited(method: TestDouble) -> bool:
    effect = method.side_effect
    if isinstance(effect, TestDouble) and effect.is_async:
        return True
    return method.is_async


def new_handed_client(name: str, double: TestDouble, client_class: str) -> PatchedClient:
    """Return the equivalent patch for a client that the test passes to the application."""
    library, _, class_name = client_class.rpartition(".")
    owner = TestDouble(return_value=double)
    is_async = class_name.startswith("Async")
    return PatchedClient(name, owner, is_async, library=library)


def is_async_function(name: str) -> bool:
    """Return whether a function of an SDK is awaited, judged by its qualified name."""
    return ".Async" in name or name.endswith((".acompletion", "_async"))


def is_async_method(path: str) -> bool:
    """Return whether a method of a client that has synchronous ones, too, is awaited."""
    return path.startswith("aio.") or path.endswith("_async")


def new_patched_function(target: str, double: TestDouble, name: str) -> PatchedClient:
    """Return the equivalent patch of a client class for the patch of an SDK function.

    Args:
        target: the patched path.
        double: the replacement of the function.
        name: its qualified name.
    """
    path = FUNCTIONS[name]
    owner = TestDouble(return_value=new_client(double, path))
    library = METHODS[path]
    if name.startswith(LITELLM):
        library = LITELLM
    is_async = is_async_function(name)
    return PatchedClient(
        target,
        owner,
        is_async,
        library=library,
        is_function=True,
    )


def new_patched_member(target: str, double: TestDouble, member: ClientMember) -> PatchedClient:
    """Return the equivalent patch of a client class for the patch of a client or its method."""
    client = double
    if member.path:
        client = new_client(double, member.path)
    patched = new_handed_client(
        target,
        client,
        member.client_class,
    )
    patched.is_function = member.path in METHODS
    return patched


def new_client(method: TestDouble, path: str) -> TestDouble:
    """Return the double of a client that has a method at a path."""
    client = method
    for attribute in reversed(path.split(".")):
        client = TestDouble(attributes={attribute: client})
    return client


def find_methods(client: TestDouble) -> list[tuple[str, TestDouble]]:
    """Return paths and doubles of the methods that call a model, as far as the test has them."""
    methods = []
    for path, value in _walk(client):
        if path in METHODS and isinstance(value, TestDouble):
            methods.append((path, value))
    return methods


def list_parts(library: str) -> tuple[str, ...]:
    """Return the classes and functions of an SDK that a test mocks to answer calls."""
    if library == LITELLM:
        return ("completion", "acompletion")
    return CLIENTS[library]


def find_other_part(patched: PatchedClient, table: SymbolTable) -> tuple[str, Value] | None:
    """Return the name and value of a replaced part of an SDK that is not a client, or None."""
    if patched.module is None:
        return None
    known = list_parts(patched.library)
    return find_changed_attribute(patched.module, patched.library, known, table)


def find_changed_attribute(
    double: TestDouble,
    module: str,
    known: Container[str],
    table: SymbolTable,
) -> tuple[str, Value] | None:
    """Return name and value of an attribute for which the real module is no replacement.

    Args:
        double: the mock of the module.
        module: its name.
        known: the attributes that are configured otherwise.
        table: the values of the test's names.
    """
    for name, value in double.attributes.items():
        # `__path__` and `__spec__` only make an object look like a module.
        if name in known or name.startswith("__"):
            continue
        if not _is_real_part(value, module, name, table) and not _is_empty_module(name, value):
            return name, value
    return None


def _is_real_part(value: Value, module: str, name: str, table: SymbolTable) -> bool:
    """Return whether a mock has the real attribute: `mock.APIError = anthropic.APIError`."""
    if not isinstance(value, PlainCode):
        return False
    # A class of the test may have the name of one that the file imports.
    if to_source(value.node) in table.scope.classes:
        return False
    owner, _, last = table.scope.qualify(value.node).rpartition(".")
    # A module exports what its submodules define.
    return last == name and f"{owner}.".startswith(f"{module}.")


def _is_empty_module(name: str, value: Value) -> bool:
    """Return whether an attribute is a mock of a submodule that the test does not configure."""
    # A mock of a class may be one of an error, which the application cannot catch.
    if not name.islower() or not isinstance(value, TestDouble):
        return False
    return is_blank(value)


def is_blank(double: TestDouble) -> bool:
    """Return whether a test configures neither a mock nor a part of it."""
    is_unconfigured = all(part.is_unconfigured for part in iterate_doubles([double]))
    return is_unconfigured and not any(True for _ in iterate_code(double))


def find_method_path(patched: PatchedClient, double: Value) -> str | None:
    """Return the path of a double that is a method of a patched client, None for another."""
    client = patched.get_client()
    if client is None:
        return None
    for path, method in find_methods(client):
        if double is method:
            return path
    return None


def has_two_kinds(patched: PatchedClient) -> bool:
    """Return whether a client has methods for vectors and others."""
    client = patched.get_client()
    assert client is not None
    kinds = {other == EMBEDDINGS for other, _ in find_methods(client)}
    return len(kinds) > 1


def find_other_configuration(client: TestDouble) -> tuple[str, Value] | None:
    """Return the path and value of something else that a test configures, or None."""
    for path, value in _walk(client):
        is_known = path in METHODS and isinstance(value, TestDouble)
        if not is_known and not _is_container(value):
            return path, value
    return None


def _walk(owner: TestDouble) -> Iterator[tuple[str, Value]]:
    """Yield the attributes of a client and of their attributes, up to the methods, with paths."""
    pending = [(owner, "")]
    # A mock may be an attribute of itself.
    visited = {id(owner)}
    while pending:
        current, prefix = pending.pop(0)
        for name, value in current.attributes.items():
            is_root = current is owner
            if _is_own_state(name, value, current, is_root):
                continue
            path = f"{prefix}{name}"
            yield path, value
            if not isinstance(value, TestDouble) or path in METHODS:
                continue
            if id(value) in visited:
                continue
            visited.add(id(value))
            pending.append((value, f"{path}."))


def _is_own_state(name: str, value: Value, owner: TestDouble, is_root: bool) -> bool:
    """Return whether an attribute of a fake is for its methods only.

    Args:
        name: the attribute.
        value: its value.
        owner: the fake.
        is_root: whether it is the client itself, whose values the application may read.
    """
    if owner.methods is None or name in owner.methods:
        return False
    if name.startswith("_"):
        return True
    if isinstance(value, PlainCode):
        return not is_root
    for method in owner.methods:
        double = owner.attributes.get(method)
        if isinstance(double, TestDouble) and double.return_value is value:
            return True
    return False


def _is_container(value: Value) -> bool:
    return isinstance(value, TestDouble) and value.is_unconfigured
