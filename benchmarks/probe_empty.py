"""Count an empty test and the modules of the plugin, and write them as JSON.

python probe_empty.py FILE
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
from collections.abc import Generator
from contextlib import chdir
from pathlib import Path

import pytest
from counting import Walk, Walker
from plugin_cost import EMPTY_FIXTURE, PLUGIN
from probe_calls import Counter

TESTS = (40, 80)
"""The numbers of tests of the two runs whose difference counts."""
WALKED_TEST = 5
"""The position of the test whose stops are counted; those before it fill caches."""


class CountedRun:
    """A pytest plugin that counts the calls of collecting and running tests, or a test's stops.

    Args:
        walks: whether to count the stops; the calls are not counted then.
    """

    def __init__(self, walks: bool) -> None:
        self._walks = walks
        self._tests = 0
        self._counter = Counter()
        self.walk: Walk | None = None

    @property
    def calls(self) -> int:
        """The number of calls."""
        return self._counter.calls

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self) -> Generator[None, object, object]:
        # A collection would count the finalizers of other objects.
        gc.disable()
        sys.setprofile(None if self._walks else self._counter)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            gc.enable()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._tests += 1
        if not self._walks or self._tests != WALKED_TEST:
            return (yield)
        with Walker() as walker:
            result = yield
        self.walk = walker.walk
        return result


def run(tests: int, conftest: str = "", *arguments: str, walks: bool = False) -> CountedRun:
    """Run empty tests in a folder of their own."""
    counted = CountedRun(walks)
    # A new name, as Python keeps the modules of earlier runs.
    folder = Path(f"run_{len(list(Path().iterdir()))}").absolute()
    folder.mkdir()
    test_file = folder / f"test_{folder.name}.py"
    test_file.write_text("".join(f"def test_{number}(): pass\n" for number in range(tests)))
    (folder / "conftest.py").write_text(conftest)
    # With a file of settings, as pytest would read the folders above otherwise.
    (folder / "pytest.ini").write_text("[pytest]\n")
    options = ("-qq", "-p", "no:cacheprovider", "--rootdir", str(folder))
    with chdir(folder):
        status = pytest.main([*options, *arguments], plugins=[counted])
    if status:
        raise RuntimeError(f"The empty tests failed: {status!r}.")
    return counted


def calls_per_test(conftest: str, *arguments: str) -> float:
    """Count the calls that one more empty test takes."""
    few, many = (run(tests, conftest, *arguments).calls for tests in TESTS)
    return (many - few) / (TESTS[1] - TESTS[0])


def count() -> dict[str, list[float]]:
    """Return the figures."""
    run(1)  # fills caches
    nothing = calls_per_test("")
    empty = calls_per_test(EMPTY_FIXTURE) - nothing
    before = {*sys.modules}
    importlib.import_module(PLUGIN)
    modules = {*sys.modules} - before
    added = calls_per_test("", "-p", PLUGIN) - nothing
    walk = run(WALKED_TEST + 2, "", "-p", PLUGIN, walks=True).walk
    if walk is None:
        raise RuntimeError("No test was walked.")
    return {
        "calls added to a test / empty fixture": [round(added / empty, 3)],
        "stops, empty test": [walk.stops],
        "files, empty test": [walk.files],
        "modules imported by the plugin": [len(modules)],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(count()), encoding="utf-8")
