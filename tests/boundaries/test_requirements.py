"""A library that no longer has a name that the mock uses is refused, and nothing is sent."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import operator
import re
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http import attach
from llm_mock.boundaries.http.transports import aiohttp as over_aiohttp
from llm_mock.boundaries.http.transports import connection_guard
from llm_mock.boundaries.http.transports import httpcore as over_httpcore
from llm_mock.boundaries.http.transports import urllib3 as over_urllib3
from llm_mock.boundaries.llm import attach as llm_boundary
from llm_mock.boundaries.llm.versions import require_llm
from llm_mock.boundaries.requirements import describe_change, find_missing_name, refuse_all
from llm_mock.core.context import pass_through
from llm_mock.errors import LibraryChanged, LLMTooOld
from tests.conftest import RunPython

TABLES = {
    "aiohttp": over_aiohttp.NAMES["aiohttp"],
    "curl_cffi": connection_guard.NAMES["curl_cffi"],
    "httpcore": over_httpcore.NAMES["httpcore"],
    "httpcore2": over_httpcore.NAMES["httpcore2"],
    "llm": llm_boundary.NAMES,
    "urllib3": over_urllib3.NAMES["urllib3"],
}
CALLS = {
    "aiohttp": """
import aiohttp, asyncio
async def ask():
    async with aiohttp.ClientSession() as session:
        await session.post(URL, json=BODY)
def call(): asyncio.run(ask())
""",
    "curl_cffi": """
from curl_cffi import requests
def call(): requests.post(URL, json=BODY)
""",
    "httpcore": """
import httpcore
def call():
    with httpcore.ConnectionPool() as pool: pool.request("POST", URL, content=b"{}")
""",
    "httpcore2": """
import httpcore2
def call():
    with httpcore2.ConnectionPool() as pool: pool.request("POST", URL, content=b"{}")
""",
    "llm": """
import llm
def call(): llm.get_model("gpt-4o").prompt("Hello").text()
""",
    "urllib3": """
import urllib3
def call(): urllib3.PoolManager().request("POST", URL, json=BODY)
""",
}
"""How each library is called."""
LATER = """
import importlib, sys
from importlib.machinery import PathFinder

LIBRARY, NAMES = {library!r}, {names!r}

class Later:
    '''Imports a version of the library that has other names.'''

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != LIBRARY:
            return None
        spec = PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            for name in NAMES:
                rename(module, name)
        spec.loader.exec_module = exec_module
        return spec

def rename(module, path):
    *parents, last = path.split(".")
    owner = module
    for parent in parents:
        owner = getattr(owner, parent, None) or importlib.import_module(f"{{owner.__name__}}.{{parent}}")
    for each in owner.__mro__ if isinstance(owner, type) else (owner,):
        if last in vars(each):
            delattr(each, last)

sys.meta_path.insert(1, Later)
connections = []
WATCHED = ("socket.connect", "socket.getaddrinfo")
sys.addaudithook(lambda event, args: connections.append(args) if event in WATCHED else None)
URL = "https://api.openai.com/v1/chat/completions"
BODY = {{"model": "gpt-4o", "messages": [{{"role": "user", "content": "Hi"}}]}}
{call}
try:
    call()
    error = None
except BaseException as raised:
    error = raised
chain, current = [], error
while current is not None:
    chain.append(f"{{type(current).__name__}}: {{current}}")
    current = current.__cause__ or current.__context__
import json
print(json.dumps([chain, [str(args) for args in connections]]))
"""  # noqa: E501
"""A process in which a library that is imported lacks some names."""
CASES = [(library, name) for library, names in TABLES.items() for name in names]


@pytest.mark.parametrize("library", TABLES)
def test_the_installed_version_has_every_name(library: str) -> None:
    assert find_missing_name(importlib.import_module(library), TABLES[library]) is None


@pytest.mark.parametrize(
    ("library", "name"), CASES, ids=[f"{library}-{name}" for library, name in CASES]
)
def test_a_missing_name_is_found(library: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(library)
    for path in name.split("|"):
        remove(module, path, monkeypatch)
    assert find_missing_name(module, [name]) == name.split("|")[0]
    assert find_missing_name(module, TABLES[library]) is not None


class Pool:
    """A class of a library."""

    size: int

    def __init__(self) -> None:
        self.host = ""


@pytest.mark.parametrize(
    ("path", "is_there"),
    [
        ("Pool.__init__", True),
        ("Pool().size", True),
        ("Pool().host", True),
        ("Pool().port", False),
        ("Pool.size", False),
        ("Pool.host", False),
        ("Gone.__init__", False),
        ("gone.Pool.__init__", False),
        ("Gone.connect|Pool.__init__", True),
    ],
)
def test_a_name_is_looked_up_in_a_class_or_in_its_objects(path: str, is_there: bool) -> None:
    library = ModuleType("library")
    vars(library)["Pool"] = Pool
    missing = None if is_there else path
    assert find_missing_name(library, [path]) == missing


@pytest.mark.parametrize(
    ("name", "package", "version"),
    [
        ("urllib3.connection", "urllib3", importlib.metadata.version("urllib3")),
        ("own_library.pool", "own_library", "2.5"),
    ],
)
def test_a_changed_library_is_named_by_its_package_and_version(
    name: str, package: str, version: str
) -> None:
    library = ModuleType(name)
    vars(library)["__version__"] = "2.5"
    assert describe_change(library, "Pool.connect") == (
        f"{package} {version} changed Pool.connect, which llm_mock needs; calls by {package} are "
        f"refused, and nothing is sent. Install {package}<{version}, and please report this."
    )


def test_a_changed_library_without_a_version_is_named_by_its_package() -> None:
    assert describe_change(ModuleType("own_library.pool"), "Pool.connect") == (
        "own_library changed Pool.connect, which llm_mock needs; calls by own_library are refused, "
        "and nothing is sent. Install an older own_library, and please report this."
    )


def remove(module: ModuleType, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a name out of a library."""
    *parents, last = path.split(".")
    owner: Any = module
    for parent in parents:
        inner = getattr(owner, parent.removesuffix("()"), None)
        owner = inner or importlib.import_module(f"{owner.__name__}.{parent}")
    classes = owner.__mro__ if isinstance(owner, type) else (owner,)
    for each in classes:
        if last in vars(each):
            monkeypatch.delattr(each, last)
        if parents and parents[-1].endswith("()") and each is not object:
            monkeypatch.setattr(each, "__init__", lambda *args, **kwargs: None)
            monkeypatch.setattr(each, "__annotations__", {})


REMOVED = {
    "aiohttp": ["BaseConnector.connect", "ClientConnectorError", "connector.Connection"],
    "curl_cffi": ["Curl.setopt", "CurlError"],
    "httpcore": ["ConnectionPool.handle_request", "RemoteProtocolError"],
    "httpcore2": ["AsyncConnectionPool.handle_async_request", "ReadTimeout"],
    "llm": [
        "get_models_with_aliases",
        "models._BaseModel",
        "plugins._loaded",
        "Response._iter_events",
    ],
    "urllib3": ["HTTPConnectionPool._get_timeout", "HTTPConnectionPool.urlopen", "Retry.is_retry"],
}
"""Names of each library, of those that it lacks in one test."""


@pytest.mark.usefixtures("all_libraries")
@pytest.mark.parametrize(
    ("library", "name"), [(library, name) for library, names in REMOVED.items() for name in names]
)
def test_calls_by_a_changed_library_are_refused(
    library: str, name: str, run_python: RunPython
) -> None:
    names = [name, "Response.__iter__"] if name == "Response._iter_events" else [name]
    code = LATER.format(library=library, names=names, call=CALLS[library])
    result = run_python(code, LLM_MOCK="1")
    chain, connections = (
        json.loads(result.stdout.splitlines()[-1]) if result.stdout else pytest.fail(result.stderr)
    )
    refusals = [line for line in chain if line.startswith("LibraryChanged: ")]
    assert refusals, chain
    assert f"changed {name}, which llm_mock needs; calls by {library} are refused" in refusals[0]
    assert not any("AttributeError" in line for line in chain)
    assert connections == []


REFUSED = {
    "aiohttp": (over_aiohttp.CONSTRUCTORS, "ClientSession.__init__"),
    "curl_cffi": (
        connection_guard.CONSTRUCTORS,
        "Curl.__init__ Session.__init__ AsyncSession.__init__",
    ),
    "httpcore": (
        over_httpcore.CONSTRUCTORS,
        "ConnectionPool.__init__ AsyncConnectionPool.__init__",
    ),
    "llm": (
        llm_boundary.REFUSED,
        "get_model get_async_model get_embedding_model Model.prompt AsyncModel.prompt "
        "Conversation.prompt AsyncConversation.prompt EmbeddingModel.embed "
        "EmbeddingModel.embed_multi Response.__iter__ Response.text AsyncResponse.__anext__ "
        "AsyncResponse.text",
    ),
    "urllib3": (over_urllib3.CONSTRUCTORS, "HTTPConnectionPool.__init__"),
}
"""The functions of each changed library that are refused: as the package has them, and here."""


def make_library(paths: list[str]) -> ModuleType:
    """Return a module with functions that return their arguments, and one more in each class."""
    module = ModuleType("library")
    for path in paths:
        *classes, name = path.split(".")
        owner: Any = module
        for each in classes:
            if not hasattr(owner, each):
                setattr(owner, each, type(each, (), {"other": lambda: "called"}))
            owner = getattr(owner, each)
        setattr(owner, name, lambda *args, **kwargs: (args, kwargs))
    return module


@pytest.mark.parametrize("library", REFUSED)
def test_each_way_to_call_a_changed_library_is_refused(
    library: str, mock_llm_calls: LLMMock
) -> None:
    refused, expected = REFUSED[library]
    paths = expected.split()
    module = make_library(paths)
    refuse_all(module, refused, "It has changed.")
    for path in paths:
        function = operator.attrgetter(path)(module)
        with pytest.raises(LibraryChanged, match=r"^It has changed\.$"):
            function()
        assert mock_llm_calls.problems.pop() == "It has changed."
        with pass_through():
            assert function("a", b=1) == (("a",), {"b": 1})
        owner = path.partition(".")[0]
        if owner != path:
            assert getattr(module, owner).other() == "called"
    assert mock_llm_calls.problems == []


def test_requests_of_a_changed_library_to_other_hosts_are_sent_as_they_are(
    mock_llm_calls: LLMMock,
) -> None:
    def find_provider(pool: object, host: str, **options: object) -> str | None:
        return "OpenAI" if host == "api.openai.com" else None

    library = make_library(["Pool.send"])
    transport = SimpleNamespace(SEAMS={"Pool.send": find_provider}, CONSTRUCTORS=())
    attach._refuse(transport, library, "It has changed.")
    assert library.Pool.send("pool", "example.com", b=1) == (("pool", "example.com"), {"b": 1})
    with pytest.raises(LibraryChanged, match=r"^It has changed\.$"):
        library.Pool.send("pool", "api.openai.com", b=1)
    assert mock_llm_calls.problems.pop() == "It has changed."


@pytest.mark.parametrize(
    ("installed", "is_older"),
    [
        ("0.9", True),
        ("0.31.9", True),
        ("0.32a1", False),
        ("0.32", False),
        ("0.100", False),
        ("1.0", False),
    ],
)
def test_a_feature_that_needs_a_newer_llm_says_so(
    installed: str, is_older: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"llm": installed}.__getitem__)
    if not is_older:
        require_llm("0.32", "A")
        return
    message = (
        f"A needs llm 0.32 or newer, but llm {installed} is installed: pip install 'llm>=0.32'"
    )
    with pytest.raises(LLMTooOld, match=f"^{re.escape(message)}$"):
        require_llm("0.32", "A")
