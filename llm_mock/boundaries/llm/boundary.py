"""Where `llm` hands out models and where it executes them: the only module that knows `llm`'s internals.

It attaches to `llm` once a process, now or when something imports it, and never imports it itself. From then on
a pointer to the active mock decides; while there is none, everything is `llm`'s own. Tried on llm 0.28 to 0.36:

- `get_model` and `get_async_model` look the tables of aliases up at call time, so replacing these reaches
  `from llm import get_model` too, however early it was bound.
- A model that was obtained in any other way is reached where a response executes it.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import atexit
import copy
import dataclasses
import fnmatch
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Protocol

from llm_mock import explain
from llm_mock.core.active import activate as activate
from llm_mock.core.active import active as active
from llm_mock.core.active import is_live
from llm_mock.core.active import set_live as set_live
from llm_mock.errors import LLMTooOld, RealModelCall

USER_FOLDER_VARIABLE = "LLM_USER_PATH"
TESTING_VARIABLE = "PFLOW_TESTING"
EXCHANGE_VARIABLE = "LLM_MOCK_EXCHANGE"
MODELS, EMBEDDING_MODELS = "get_models_with_aliases", "get_embedding_models_with_aliases"


class Mock(Protocol):
    """What the boundary needs of a mock; `MockGetModel` is one."""

    def get_model(self, name: str) -> Any: ...
    def listed(self, real: Any) -> Any: ...
    def get_async_model(self, name: str) -> Any: ...
    def get_embedding_model(self, name: str) -> Any: ...
    def is_unknown(self, model_id: str) -> bool: ...
    def note_problem(self, message: str) -> None: ...
    def forget_models(self) -> None: ...


class _State:
    """What holds for the whole process: which models run for real, and what was found of `llm`."""

    refuse_real_models = False
    passthrough: Sequence[str] = ()
    own_user_folder = False
    user_folder: str | None = None
    real_listings: ClassVar[dict[str, Callable[[], list[Any]]]] = {}


def set_user_folder(folder: str | None) -> str | None:
    """Name the `llm` user folder where the environment does not. Returns the one named before, to be put back."""
    previous, _State.user_folder = _State.user_folder, folder
    return previous


def set_refusal(refuse: bool) -> bool:
    """Refuse to execute real models, instead of answering for them. Returns what was set before."""
    previous, _State.refuse_real_models = _State.refuse_real_models, refuse
    return previous


def set_passthrough(model_ids: Sequence[str]) -> Sequence[str]:
    """Name the models that run for real, as globs of model ids. Returns those named before, to be put back."""
    previous, _State.passthrough = _State.passthrough, model_ids
    return previous


def attach(own_user_folder: bool = False) -> None:
    """Attach to `llm`: at once if it is imported, else when something imports it, and again when it is re-imported.

    Args:
        own_user_folder: give the process an `llm` user folder of its own as soon as it imports `llm`, unless the
            environment names one.
    """
    _State.own_user_folder = own_user_folder or _State.own_user_folder
    if not any(isinstance(finder, _LLMFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _LLMFinder())
    if "llm" in sys.modules:
        _attach_to(sys.modules["llm"])


class _LLMFinder:
    """Finds `llm` as the other finders do, and attaches to it once it was executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "llm":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _attach_to(module)

            setattr(spec.loader, "exec_module", exec_module)  # noqa: B010 (a method to mypy)
        return spec


def _attach_to(llm: ModuleType) -> None:
    """Replace the lookups of an `llm` module and guard its responses, where that was not done before."""
    if not hasattr(llm, "get_models_with_aliases"):
        return
    if _State.own_user_folder and USER_FOLDER_VARIABLE not in os.environ:
        _make_user_folder()
    for listing in (MODELS, EMBEDDING_MODELS):
        _State.real_listings[listing] = getattr(getattr(llm, listing), "__wrapped__", getattr(llm, listing))
    _forget_models_of_another(llm)
    _replace(llm, "user_dir", _own_user_folder)
    _replace(llm, "get_models_with_aliases", _mocked_listing)
    _replace(llm, "get_embedding_models_with_aliases", _mocked_embedding_listing)
    _replace(llm, "get_embedding_models", _mocked_embedding_models)
    for table, hand_out in (
        ("get_model_aliases", functools.partial(_hand_out, "model")),
        ("get_async_model_aliases", functools.partial(_hand_out, "async_model")),
        ("get_embedding_model_aliases", _hand_out_embedding_model),
    ):
        _replace(llm, table, functools.partial(_mocked_aliases, hand_out))
    for name in ("embed", "embed_multi"):
        _replace(llm.EmbeddingModel, name, _guarded_embedding)
    _replace(llm.Response, "_iter_events" if hasattr(llm.Response, "_iter_events") else "__iter__", _guarded_iterator)
    if hasattr(llm.AsyncResponse, "_ensure_async_generator"):
        _replace(llm.AsyncResponse, "_ensure_async_generator", _guarded_call)
    else:
        _replace(llm.AsyncResponse, "__anext__", _guarded_step)


def _replace(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    if hasattr(original, "__wrapped__"):
        return  # a re-imported `llm` still has the classes of its first import

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return replacement(original, *args, **kwargs)

    setattr(owner, name, replaced)


def _forget_models_of_another(llm: ModuleType) -> None:
    """Where `llm` was imported anew from scratch, have the mocked models derive from its new classes."""
    model = getattr(sys.modules.get("llm_mock.boundaries.llm.model"), "MockLLMModel", None)
    if model is None or issubclass(model, llm.Model):  # None while that module is what imports `llm`
        return
    package = sys.modules["llm_mock"]
    for name in ("accept", "embedding", "model", "response"):
        sys.modules.pop(f"llm_mock.boundaries.llm.{name}", None)
    for name in ("AsyncMockLLMModel", "MockEmbeddingModel", "MockLLMModel"):
        vars(package).pop(name, None)
    if mock := active():
        mock.forget_models()


class _User(threading.local):
    """Whose folder a thread looks into at this moment."""

    looking = False
    folder: str | None = None


_user = _User()


@contextmanager
def as_user(folder: str | None) -> Iterator[None]:
    """Have `llm.user_dir()` give the user's own folder meanwhile, in this thread alone.

    Args:
        folder: what the user's environment names; None is where `llm` has it by default.
    """
    _user.looking, _user.folder = True, folder
    try:
        yield
    finally:
        _user.looking = False


def _own_user_folder(original: Callable[[], Path]) -> Path:
    """The run's folder, also where a test cleared the environment."""
    if _user.looking:
        import click

        return Path(_user.folder or click.get_app_dir("io.datasette.llm"))
    if active() is None or _State.user_folder is None or os.environ.get(USER_FOLDER_VARIABLE):
        return original()
    return Path(_State.user_folder)


def _make_user_folder() -> None:
    folder, process = tempfile.mkdtemp(prefix="llm-mock-"), os.getpid()
    os.environ[USER_FOLDER_VARIABLE] = _State.user_folder = folder

    @atexit.register
    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)


def require_llm(version: str, feature: str) -> None:
    """Raise `LLMTooOld` where a feature needs a newer `llm` than the installed one."""
    installed = importlib.metadata.version("llm")
    if _numbers(installed) < _numbers(version):
        raise LLMTooOld(explain.llm_too_old(feature, version, installed))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]


def tool_call(name: str, arguments: dict[str, Any], call_id: str | None) -> Any:
    """An `llm` tool call."""
    import llm.models

    return llm.models.ToolCall(name, arguments, call_id)


def let_pass(response: Any, seconds: float) -> None:
    """Have an `llm` response that is being read take so many seconds more, on its own clock only."""
    if response._start is not None:
        response._start -= seconds


def given_messages(prompt: Any) -> list[Any]:
    """The messages that a prompt was given as they are, such as by `messages=`; before llm 0.32 there are none."""
    return getattr(prompt, "_explicit_messages", None) or []


def turn_of(prompt: Any, conversation: Any) -> int:
    """Which answer of its conversation a prompt asks for, from 1."""
    if messages := given_messages(prompt):
        return 1 + len([message for message in messages if message.role == "assistant"])
    return 1 + len(conversation.responses) if conversation else 1


# Obtaining a model


class _Aliases(dict[str, Any]):
    """A table of aliases: a name is resolved when it is asked for, the rest is filled in when somebody looks."""

    def __init__(self, list_all: Callable[[], dict[str, Any]], resolve: Callable[[str], Any]) -> None:
        super().__init__()
        self._list_all: Callable[[], dict[str, Any]] | None = list_all
        self._resolve = resolve

    def __missing__(self, name: str) -> Any:
        return self._resolve(name)

    def fill(self) -> None:
        """List every model, once."""
        list_all, self._list_all = self._list_all, None
        if list_all:
            self.update(list_all())

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (dict(self),)


def _filled(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    @functools.wraps(method)
    def look(self: _Aliases, *args: Any, **kwargs: Any) -> Any:
        self.fill()
        return method(self, *args, **kwargs)

    return look


for _name in (
    *("__contains__", "__eq__", "__iter__", "__len__", "__ne__", "__or__", "__repr__", "__reversed__", "__ror__"),
    *("copy", "get", "items", "keys", "pop", "popitem", "setdefault", "values"),
):
    setattr(_Aliases, _name, _filled(_name))


def _mocked_listing(original: Callable[[], list[Any]]) -> list[Any]:
    mock = active()
    listed = original()
    return listed if mock is None else [entry for entry in (_mocked(entry, mock) for entry in listed) if entry]


def _mocked(entry: Any, mock: Mock) -> Any:
    model_id = (entry.model or entry.async_model).model_id
    if mock.is_unknown(model_id):
        return None
    if _runs_itself(entry.model or entry.async_model):
        return entry
    return dataclasses.replace(
        entry,
        model=entry.model and mock.listed(entry.model),
        async_model=entry.async_model and mock.listed(entry.async_model),
    )


def _mocked_aliases(hand_out: Callable[[Mock, str], Any], original: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    mock = active()
    return original() if mock is None else _Aliases(original, functools.partial(hand_out, mock))


def _hand_out(kind: str, mock: Mock, name: str) -> Any:
    """The model for a name. For an unknown one `llm` words the error itself: `UnknownModelError` is a KeyError."""
    registered = _registered().get(name) if _registration_matters(name) else None
    model = getattr(registered, kind, None)
    if model is not None and _runs_itself(model):
        return model
    if registered and model is None and _passes_through((registered.model or registered.async_model).model_id):
        raise KeyError(name)  # it runs for real, and has no twin
    return mock.get_model(name) if kind == "model" else mock.get_async_model(name)


def _mocked_embedding_listing(original: Callable[[], list[Any]]) -> list[Any]:
    mock, listed = active(), original()
    if mock is None:
        return listed
    listed = [entry for entry in listed if not mock.is_unknown(entry.model.model_id)]
    return [dataclasses.replace(entry, model=_mocked_embedding_model(entry.model, mock)) for entry in listed]


def _mocked_embedding_models(original: Callable[[], list[Any]]) -> list[Any]:
    mock, listed = active(), original()
    if mock is None:
        return listed
    return [_mocked_embedding_model(model, mock) for model in listed if not mock.is_unknown(model.model_id)]


def _mocked_embedding_model(model: Any, mock: Mock) -> Any:
    return model if _runs_itself(model) else mock.get_embedding_model(model.model_id)


def _hand_out_embedding_model(mock: Mock, name: str) -> Any:
    registered = _registered(EMBEDDING_MODELS).get(name) if _registration_matters(name) else None
    return registered.model if registered and _runs_itself(registered.model) else mock.get_embedding_model(name)


def _runs_itself(model: Any) -> bool:
    """Whether a registered model is handed out as it is: a mock that somebody registered, or one let through."""
    return is_mock(model) or _passes_through(model.model_id)


def _passes_through(model_id: str) -> bool:
    return any(fnmatch.fnmatchcase(model_id, pattern) for pattern in _State.passthrough)


def is_mock(model: Any) -> bool:
    """Whether a model is one of this package's."""
    return getattr(model, "is_llm_mock", False) is True


# Names of models


def model_id_of(name: str) -> str:
    """The model id that a name stands for: a plugin's or the user's alias is resolved, anything else is an id.

    `llm` loads every plugin to resolve a name. That is done here only for a name that some plugin's source lists
    among its aliases, so a name that nobody knows never costs it.
    """
    if not _registration_matters(name):
        return name
    registered = _registered().get(name)
    return (registered.model or registered.async_model).model_id if registered else name


def embedding_model_id_of(name: str) -> str:
    """The id of the embedding model that a name stands for, in the same way."""
    registered = _registered(EMBEDDING_MODELS).get(name) if _registration_matters(name) else None
    return str(registered.model.model_id) if registered else name


def _registration_matters(name: str) -> bool:
    """Whether the registered models can say something about a name that is not said by the name itself."""
    plugins = sys.modules.get("llm.plugins")
    if plugins is not None and (plugins._loaded or plugins.pm.get_plugins()):
        return True
    return name in _aliases_in_sources() or _passes_through(name) or _user_aliases_file().is_file()


def registered_model(kind: str, model_id: str) -> Any:
    """The real model that a plugin registers under an id; None where none does.

    Args:
        kind: `model` or `async_model`.
        model_id: its id.
    """
    return getattr(_registered().get(model_id), kind, None)


def _user_aliases_file() -> Path:
    return Path(os.environ.get(USER_FOLDER_VARIABLE) or _State.user_folder or os.devnull) / "aliases.json"


def _registered(listing: str = MODELS) -> dict[str, Any]:
    """Every registered name and alias with its `ModelWithAliases`, listed anew when the plugins changed.

    Args:
        listing: which models: MODELS, or EMBEDDING_MODELS with their `EmbeddingModelWithAliases`.
    """
    loader: Any = importlib.import_module("llm.plugins")
    aliases = _user_aliases_file()
    loader.load_plugins()
    manager = loader.pm
    plugins = frozenset(manager.list_name_plugin())
    installed = {plugin for plugin, _ in manager.list_plugin_distinfo()}
    by_hand = [name for name, plugin in plugins if plugin not in installed and name not in loader.DEFAULT_PLUGINS]
    # A plugin that a test registered may register other models the next time.
    registered = _registered_by.__wrapped__ if by_hand else _registered_by
    return registered(listing, plugins, aliases.stat().st_mtime_ns if aliases.is_file() else 0)


@functools.lru_cache(maxsize=2)
def _registered_by(listing: str, plugins: frozenset[Any], aliases_written: int) -> dict[str, Any]:
    listed = _State.real_listings[listing]()
    names = {alias: entry for entry in listed for alias in entry.aliases}
    return names | {(entry.model or entry.async_model).model_id: entry for entry in listed}


@functools.cache
def _aliases_in_sources() -> frozenset[str]:
    """The aliases that `llm` and the installed plugins list literally, without importing them."""
    names: set[str] = set()
    for source in _plugin_sources():
        for aliases in re.findall(r"\baliases\s*=\s*[(\[]([^)\]]*)", source.read_text(errors="replace")):
            names.update(re.findall(r"""["']([^"']+)["']""", aliases))
    return frozenset(names)


def _plugin_sources() -> Iterator[Path]:
    modules = {point.module.split(".")[0] for point in importlib.metadata.entry_points(group="llm")}
    for module in sorted(modules | {"llm"}):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations:
            folder = Path(spec.submodule_search_locations[0])
            yield from (folder / "default_plugins" if module == "llm" else folder).glob("*.py")
        elif spec is not None and spec.origin:
            yield Path(spec.origin)


# Executing a model


def _guarded_iterator(original: Callable[[Any], Iterator[Any]], response: Any) -> Iterator[Any]:
    executing = _executing_model(response)
    return original(response) if executing is None else _iterate_as(executing, response, original)


def _iterate_as(model: Any, response: Any, original: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
    chunks = original(response)
    with _Swapped(response, model):
        first = next(chunks, None)  # `llm` looks at the model before the first chunk only
    if first is not None:
        yield first
        yield from chunks


def _guarded_call(original: Callable[[Any], None], response: Any) -> None:
    with _Swapped(response, _starting_model(response)):
        original(response)


async def _guarded_step(original: Callable[[Any], Awaitable[str]], response: Any) -> str:
    with _Swapped(response, _starting_model(response)):
        return await original(response)


def _starting_model(response: Any) -> Any:
    started = hasattr(response, "_generator")
    return (None if started else _executing_model(response)) or response.model


class _Swapped:
    """Has another model execute a response, and gives the response its own back."""

    def __init__(self, response: Any, model: Any) -> None:
        self._response, self._model, self._own = response, model, response.model

    def __enter__(self) -> None:
        self._response.model = self._model

    def __exit__(self, *exc_info: object) -> None:
        self._response.model = self._own


def _executing_model(response: Any) -> Any:
    """The model that executes a response in place of its own; None for its own."""
    model = response.model
    if is_mock(model):
        return _real_model(response) if is_live() and model.mock() is None else None
    mock = active()
    if mock is None or _passes_through(model.model_id):
        return None
    _refuse_where_wanted(model, mock)
    return mock.get_async_model(model.model_id) if is_async(model) else mock.get_model(model.model_id)


def _refuse_where_wanted(model: Any, mock: Mock) -> None:
    if _State.refuse_real_models:
        test = os.environ.get("PYTEST_CURRENT_TEST", "code outside of tests").removesuffix(" (call)")
        message = explain.real_model_call(model.model_id, test)
        mock.note_problem(message)
        raise RealModelCall(message)


def _real_model(response: Any) -> Any:
    """The registered model behind one that was handed out under a mock and is called when there is none."""
    import llm

    get = llm.get_async_model if is_async(response.model) else llm.get_model
    real = get(response.model.model_id)
    response.prompt.model = real
    response.prompt.options = real.Options(**{n: v for n, v in response.prompt.options if v is not None})
    return real


def is_async(model: Any) -> bool:
    """Whether a model is an asynchronous one."""
    import llm

    return isinstance(model, (llm.AsyncModel, llm.AsyncKeyModel))


# Recording a model


def real_model(prompt: Any, response: Any) -> tuple[Any, dict[str, Any]]:
    """The real model behind a prompt, and the key that it needs.

    Args:
        prompt: the prompt; that of a model made by hand names it, else the registered one is meant.
        response: the `llm` response that it is to complete.

    Returns:
        The model, and further arguments for its `execute`.

    Raises:
        llm.UnknownModelError: no plugin registers it.
        llm.NeedsKeyException: its key is not known.
    """
    import llm

    __tracebackhide__ = True
    model = asked = prompt.model
    if is_mock(model):
        kind = "async_model" if is_async(model) else "model"
        registered = _registered_by.__wrapped__(MODELS, frozenset(), 0)
        found = getattr(registered.get(model.model_id), kind, None)
        if found is None:
            raise llm.UnknownModelError(f"Unknown model: {model.model_id}")
        model = found
    key = asked.key or model.get_key(response._key)
    if isinstance(model, (llm.KeyModel, llm.AsyncKeyModel)):
        return model, {"key": key}
    if model is not asked:
        model.key = key
    return model, {}


def stored_keys() -> list[str]:
    """The keys that `llm` has stored for whoever runs the process."""
    import llm

    keys = llm.load_keys()  # type: ignore[no-untyped-call]
    return [key for key in keys.values() if isinstance(key, str)]


def execute(model: Any, response: Any, arguments: dict[str, Any]) -> Any:
    """Have a real model execute a response: its chunks, as an iterator or an asynchronous one."""
    prompt = response.prompt
    if prompt.model is not model:
        prompt.model = model
        given = prompt.options
        prompt.options = model.Options(**{name: getattr(given, name) for name in given.model_fields_set})
    return model.execute(
        prompt, stream=response.stream, response=response, conversation=response.conversation, **arguments
    )


def outcome_of(response: Any) -> dict[str, Any]:
    """What a real model has completed of its response, without its chunks."""
    usage = {"input": response.input_tokens, "output": response.output_tokens, "details": response.token_details}
    return {
        "tool_calls": response._tool_calls,
        "attachments": response.attachments,
        "usage": usage,
        "resolved_model": response.resolved_model,
        "response_json": response.response_json,
    }


# Running an agent


def restart_of(response: Any) -> Callable[[], None]:
    """A function that makes an `llm` response, or a conversation, again as it is now, to begin anew after an error."""
    kept = _copied(vars(response))

    def start_again() -> None:
        vars(response).clear()
        vars(response).update(_copied(kept))

    return start_again


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    """A state whose lists and dicts may be filled without changing those of the original."""
    return {name: copy.copy(value) if type(value) in (list, dict) else value for name, value in state.items()}


def single_attempts(model: Any) -> Any:
    """A real model whose SDK does not retry by itself, where that can be said; else the model as it is.

    `llm`'s own OpenAI models, and those that derive from them, make a client for each call.
    """
    get_client = getattr(model, "get_client", None)
    if is_mock(model) or get_client is None:
        return model
    own = copy.copy(model)

    def get_single_client(*args: Any, **kwargs: Any) -> Any:
        client = get_client(*args, **kwargs)
        return client.with_options(max_retries=0) if hasattr(client, "with_options") else client

    own.get_client = get_single_client
    return own


def calls_nobody(model: Any) -> bool:
    """Whether a mock answers for a model, without asking the real one, as a cassette does that records."""
    mock: Any = model.mock() if is_mock(model) else None if _passes_through(model.model_id) else active()
    return mock is not None and (mock.cassette is None or mock.cassette.mode == "none")


def usage(input_tokens: int, output_tokens: int) -> Any:
    """An `llm` usage."""
    import llm.models

    return llm.models.Usage(input_tokens, output_tokens)


def takes_attachment(model: Any, kind: str | None) -> bool:
    """Whether a model takes attachments of a type, such as `image/png`.

    What a cassette records must be possible for the real model, so nothing is assumed there of one that no plugin has.
    """
    if is_mock(model) and (mock := model.mock()) is not None and mock.cassette is not None:
        real = registered_model("async_model" if is_async(model) else "model", model.model_id)
        return real is not None and kind in real.attachment_types
    return kind in model.attachment_types


def attachment(kind: str | None, url: str | None, content: bytes | None) -> Any:
    """An `llm` attachment."""
    import llm

    return llm.Attachment(type=kind, url=url, content=content)


# The log of `llm`


def log_path() -> Path:
    """Where `llm` logs: its SQLite database, which need not be there yet."""
    import llm

    return Path(llm.user_dir()) / "logs.db"  # type: ignore[no-untyped-call]


def is_logging() -> bool:
    """Whether the user lets `llm` log: see `llm logs off`."""
    return not log_path().with_name("logs-off").exists()


def log(responses: Sequence[Any], name: str) -> None:
    """Log the responses of one conversation, and give it a name by which `logged_conversation` finds it again.

    Args:
        responses: `llm` responses that were read to their end, in order.
        name: the name.

    Raises:
        Exception: the database cannot be written, or is none.
    """
    with _log_database() as database:
        for response in responses:
            response.log_to_db(database)
        for table in _conversation_tables(database):
            for conversation in {response.conversation.id for response in responses}:
                database.execute(f"update {table} set name = ? where id = ?", [name, conversation])
        database.conn.commit()


def logged_conversation(name: str, model: Any) -> Any:
    """The conversation that was logged last under a name, to go on with; None where there is none.

    Args:
        name: the name.
        model: the `llm` model that is to go on with it, whichever began it.

    Raises:
        Exception: the database cannot be read, or the model cannot go on with the conversation.
    """
    import llm
    from llm.cli import load_conversation

    if not log_path().exists():
        return None
    with _log_database() as database:
        found = " union ".join(f"select id from {table} where name = :name" for table in _conversation_tables(database))
        rows = list(database.query(f"{found} order by id desc limit 1", {"name": name}))
    if not rows:
        return None
    get_model: Any = llm.get_model
    module: Any = llm
    module.get_model = lambda *_: model  # the one that began it may be gone
    try:
        return load_conversation(rows[0]["id"])
    finally:
        module.get_model = get_model


@contextmanager
def _log_database() -> Iterator[Any]:
    import sqlite_utils
    from llm.migrations import migrate

    database = sqlite_utils.Database(log_path())
    try:
        migrate(database)  # type: ignore[no-untyped-call]
        yield database
    finally:
        database.conn.close()


def _conversation_tables(database: Any) -> list[str]:
    """Before 0.36 there is one; later versions keep the old one for what was logged before."""
    return [table for table in ("threads", "conversations") if table in database.table_names()]


# Embedding


def _guarded_embedding(original: Callable[..., Any], model: Any, *args: Any, **kwargs: Any) -> Any:
    """What `embed` or `embed_multi` of a model gives: the active mock's vectors, or those of the real model."""
    mock = active()
    if is_mock(model):
        if model.mock() is None:
            import llm

            real: Any = llm.get_embedding_model(model.model_id)  # type: ignore[no-untyped-call]
            return getattr(real, original.__name__)(*args, **kwargs)
    elif mock is not None and not _passes_through(model.model_id):
        _refuse_where_wanted(model, mock)
        model = _EmbeddedBy(mock.get_embedding_model(model.model_id), model)
    return original(model, *args, **kwargs)


class _EmbeddedBy:
    """A real embedding model that has a mock embed its batches; what it takes and how much at once stays its own."""

    def __init__(self, mock_model: Any, model: Any) -> None:
        self._mock_model, self._model = mock_model, model

    def embed_batch(self, items: Any, key: str | None = None) -> Any:
        return self._mock_model.embed_batch(items)

    _embed_batch = embed_batch  # what `llm` 0.36 calls; its own asks for the key first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)
