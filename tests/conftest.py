"""Shared by all tests: pytest inside pytest, and `llm` imported once."""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import traceback
from collections.abc import Callable, Iterator
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

# Imported here, because inner runs forget the modules that they import themselves.
import llm.cli  # noqa: F401
import openai
import pytest

import llm_mock.agents.assertions
import llm_mock.agents.run
import llm_mock.boundaries.llm.model
import llm_mock.boundaries.llm.payload
import llm_mock.core.history
import llm_mock.core.resilience
import llm_mock.plugin.cassettes
import llm_mock.plugin.report
import llm_mock.plugin.spec_items
import llm_mock.plugin.suite_items
import llm_mock.specs.runner
import llm_mock.suites.failure
import llm_mock.suites.runner

pytest_plugins = ["pytester"]
pytest.register_assert_rewrite("tests.expected")

# Imports the HTTP library, whose errors the SDK knows by the classes that it saw first.
with openai.OpenAI(api_key="none") as client:
    assert client.chat.completions

# The environments of frameworks have neither.
for module in ("xdist.workermanage", "llm_mock.agents.mcp_session", "llm_mock.specs.mcp_server"):
    with contextlib.suppress(ImportError):
        importlib.import_module(module)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return one more than the number of cores: most tests wait for processes that they start."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return (os.cpu_count() or 1) + 1


MOCKS_OF_OTHERS = ("pytest_httpx", "pytest_httpx2", "recording", "respx", "requests_mock")
RUN_OPTIONS_OF_OTHERS = ("platformdirs", "repeat", "rerunfailures", "socket", "timeout")
UNNEEDED_PLUGINS = (
    *("cacheprovider", "randomly", "anyio", "hypothesispytest", "pytest_mock"),
    *RUN_OPTIONS_OF_OTHERS,
    *MOCKS_OF_OTHERS,
)
"""Importing them is half of what a run takes: a run that needs one names it, as `-p recording`."""
NESTED_OPTIONS = " ".join(
    [
        *(f"-p no:{plugin}" for plugin in UNNEEDED_PLUGINS),
        "-o asyncio_default_fixture_loop_scope=function",
    ]
)

BYTECODE = Path(sysconfig.get_path("purelib"), "__pycache__", "llm_mock_tests")
"""Where bytecode is kept if the environment asks for none beside the sources."""

CHILD_PROCESSES = Path(__file__).with_name("child_processes")
"""The folder on the path of the processes that tests start, which Python runs at their start."""

CERTIFICATE = Path(__file__).with_name("certificate.pem")
"""The only authority that clients trust: reading all of them takes each client 20 ms."""

MEMORY = Path("/dev/shm")
"""The folder whose files Linux keeps in memory."""
MEMORY_FOR_FILES = 2 * 1024**3
"""The free bytes that it needs: the files of all tests have a tenth of it."""

GC_THRESHOLD = (50_000, 20, 50)
"""How rarely garbage is collected: by default, it takes a tenth of the time."""

ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")
}
"""The environment before any test."""
OWN_PROCESS = "LLM_MOCK_TESTS_OWN_PROCESS"
"""The variable that is set in the process of a test with the marker `own_process`."""
RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_configure(config: pytest.Config) -> None:
    """Make the tests fast: bytecode, garbage, files, child processes, and idle workers."""
    gc.set_threshold(*GC_THRESHOLD)
    # Without it each child process compiles all that it imports: two thirds of the time of all
    # tests. Workers and child processes inherit the variable.
    if sys.dont_write_bytecode:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(BYTECODE)
        sys.dont_write_bytecode = False
    keep_files_in_memory()
    os.environ.setdefault("SSL_CERT_FILE", str(CERTIFICATE))
    # Not in the controller of pytest-xdist: its workers run tests of scores, which need numpy.
    if not getattr(config.option, "numprocesses", None):
        paths = [str(CHILD_PROCESSES), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    # Some tests take a hundred times as long as others.
    # Not in `addopts`: the examples run where pytest-xdist is not installed.
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "worksteal"
    if config.pluginmanager.hasplugin("hypothesispytest"):
        relax_hypothesis()


def keep_files_in_memory() -> None:
    """Put temporary files where they take a tenth of the time, if there is room for them."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    state = os.statvfs(MEMORY)
    has_room = state.f_bavail * state.f_frsize >= MEMORY_FOR_FILES
    # Tests run programs that they write, which some machines forbid there.
    if has_room and not state.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def relax_hypothesis() -> None:
    """Let generated examples take their time, which depends on what else the machine does."""
    from hypothesis import HealthCheck, settings

    settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("tests")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test in a process of its own if it looks at all of it, which others change."""
    if pyfuncitem.get_closest_marker("own_process") is None or OWN_PROCESS in os.environ:
        return None
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--color=no")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, pyfuncitem.nodeid],
        cwd=pyfuncitem.config.rootpath,
        env={**ENVIRONMENT, OWN_PROCESS: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return True


def pytest_collection() -> None:
    """Collect the tests without garbage collection, which takes a fifth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt the modules of all tests from garbage collection, which takes seconds with them."""
    gc.enable()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let plugins see all objects again: Hypothesis asks which of them are referred to."""
    # What the last tests left, without the rest.
    gc.collect()
    gc.unfreeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Exempt all objects again, as pytest collects twice, and remove what tests compiled."""
    gc.freeze()
    if not hasattr(config, "workerinput"):
        temporary = Path(tempfile.gettempdir()).parts[1:]
        shutil.rmtree(BYTECODE.joinpath(*temporary), ignore_errors=True)


@pytest.fixture
def run_python() -> RunPython:
    """Run `python -c CODE` in a process outside of the test, with variables set or unset."""

    def run(code: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "LLM_MOCK_FOLDER": "", **environment}
        return subprocess.run(
            [sys.executable, "-c", code],
            env={name: value for name, value in variables.items() if value is not None},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `tempfile` put what stays after a test, such as calls that were saved, in its folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def all_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes of a test import what `child_processes` leaves out."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    others = [path for path in paths if path != str(CHILD_PROCESSES)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(others))


@pytest.fixture(scope="module", autouse=True)
def earlier_objects_are_exempt() -> None:
    """Exempt what earlier tests keep from garbage collection, which some tests wait for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def metadata_is_read_once() -> Iterator[None]:
    """Keep the metadata of what is installed, which each inner run reads from all packages."""
    read_text = PathDistribution.read_text
    texts: dict[tuple[object, object], str | None] = {}

    def read_once(distribution: Any, file: Any) -> str | None:
        key = distribution._path, file
        if key not in texts:
            texts[key] = read_text(distribution, file)
        return texts[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PathDistribution, "read_text", read_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def short_ids() -> Iterator[None]:
    """Leave the name of the test out of ids, which tests compare; other processes have it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llm_mock.core.history, "_make_id_prefix", lambda test: "")
        yield


@pytest.fixture(scope="session", autouse=True)
def frames_are_hidden() -> Iterator[None]:
    """Fail a test, also one of an inner run, if its error shows a frame that is to be hidden."""
    caught = pytest.ExceptionInfo
    from_current, fill_unfilled = caught.from_current, caught.fill_unfilled

    def check_current() -> Any:
        current = from_current()
        try:
            check_frames(current.value)
        except AssertionError as problem:
            return caught.from_exception(problem)
        return current

    def check_expected(expected: Any, exc_info: Any) -> None:
        fill_unfilled(expected, exc_info)
        check_frames(expected.value)

    with pytest.MonkeyPatch.context() as patch:
        # The errors of tests and fixtures, and those of `pytest.raises`.
        patch.setattr(caught, "from_current", staticmethod(check_current))
        patch.setattr(caught, "fill_unfilled", check_expected)
        yield


def check_frames(error: BaseException) -> None:
    """Raise an AssertionError for a function that sets `__tracebackhide__` to False."""
    for shown in iter_chain(error):
        for frame, _ in traceback.walk_tb(shown.__traceback__):
            is_local = "__tracebackhide__" in frame.f_code.co_varnames
            names = frame.f_locals if is_local else frame.f_globals
            if not names.get("__tracebackhide__", True):
                name = frame.f_code.co_name
                # Without the error itself, which pytest would look at once more.
                raise AssertionError(f"{name} is shown in the traceback of {shown!r}") from None


def iter_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the earlier ones that pytest shows with it."""
    latest: BaseException | None = error
    yielded: set[int] = set()
    # A library may make an error the cause of its own cause.
    while latest is not None and id(latest) not in yielded:
        yield latest
        yielded.add(id(latest))
        latest = latest.__cause__ or (None if latest.__suppress_context__ else latest.__context__)


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Let child processes of tests receive SIGINT, even where a shell ignores it."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if previous is signal.SIG_IGN:
        signal.signal(signal.SIGINT, previous)


@pytest.fixture(autouse=True)
def own_modules_are_forgotten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Forget the modules that a test wrote and imported: the next may give one the same name."""
    path, last_known = list(sys.path), next(reversed(sys.modules))
    yield
    sys.path[:] = path
    folder = str(tmp_path_factory.getbasetemp())
    # What was imported last is at the end.
    for name in list(itertools.takewhile(lambda name: name != last_known, reversed(sys.modules))):
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(folder):
            del sys.modules[name]


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Make inner runs alike everywhere: a fixed order and no plugins that warn or slow down."""
    monkeypatch.setenv("PYTEST_ADDOPTS", NESTED_OPTIONS)
    monkeypatch.delenv("CI", raising=False)  # where it is set, pytest cuts no lines
    return pytester
