"""The import of `Reply` goes where isort and ruff put it; imports that are not needed go."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

STREAM = """

def test_it(monkeypatch):
    model = Mock(**{"prompt.return_value": ["Hel", "lo"]})
    monkeypatch.setattr("app.get_model", lambda name: model)
    assert app.ask()
"""
NEW_STREAM = """

def test_it(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
    assert app.ask()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            """
            import os
            from unittest.mock import Mock

            import pytest

            import app

            print(os, pytest)
            """,
            """
            import os

            import pytest
            from llm_mock import Reply

            import app

            print(os, pytest)
            """,
        ),
        (
            """
            from __future__ import annotations

            import os
            from unittest.mock import Mock

            import app

            print(os)
            """,
            """
            from __future__ import annotations

            import os

            from llm_mock import Reply

            import app

            print(os)
            """,
        ),
        (
            """
            # The header.
            import app
            from unittest.mock import Mock
            """,
            """
            # The header.
            from llm_mock import Reply

            import app
            """,
        ),
        (
            '''
            """The docstring."""

            from unittest.mock import Mock

            import app
            ''',
            '''
            """The docstring."""

            from llm_mock import Reply

            import app
            ''',
        ),
        (
            '''
            """The docstring."""

            from unittest.mock import Mock

            import pytest
            from zebra import stripes

            from . import app

            print(pytest, stripes)
            ''',
            '''
            """The docstring."""

            import pytest
            from llm_mock import Reply
            from zebra import stripes

            from . import app

            print(pytest, stripes)
            ''',
        ),
        (
            '''
            """The docstring."""

            from unittest.mock import Mock

            # Stripes.
            from zebra import stripes

            print(stripes)
            ''',
            '''
            """The docstring."""

            from llm_mock import Reply
            # Stripes.
            from zebra import stripes

            print(stripes)
            ''',
        ),
        (
            """
            from unittest.mock import Mock
            import app, llm
            import numpy
            from zebra import stripes
            print(llm, numpy, stripes)
            """,
            """
            import app, llm
            import numpy
            from llm_mock import Reply
            from zebra import stripes
            print(llm, numpy, stripes)
            """,
        ),
        (
            """
            from llm_mock import assert_llm_called_times
            from unittest.mock import Mock
            import app
            print(assert_llm_called_times)
            """,
            """
            from llm_mock import assert_llm_called_times, Reply
            import app
            print(assert_llm_called_times)
            """,
        ),
        (
            """
            from llm_mock import Reply
            from unittest.mock import Mock
            import app
            """,
            """
            from llm_mock import Reply
            import app
            """,
        ),
        (
            """
            from llm_mock import *
            from unittest.mock import *
            from unittest.mock import Mock
            import app
            """,
            """
            from llm_mock import *
            from unittest.mock import *
            import app
            """,
        ),
        (
            """
            import llm_mock
            from unittest.mock import Mock
            import app
            print(llm_mock)
            """,
            """
            import llm_mock
            import app
            from llm_mock import Reply
            print(llm_mock)
            """,
        ),
        (
            '''
            """The docstring."""
            if True:
                from unittest.mock import Mock
                import app
            ''',
            '''
            """The docstring."""
            from llm_mock import Reply
            if True:
                from unittest.mock import Mock
                import app
            ''',
        ),
        (
            """
            if True:
                from unittest.mock import Mock
                import app
            """,
            """
            from llm_mock import Reply
            if True:
                from unittest.mock import Mock
                import app
            """,
        ),
    ],
    ids=[
        "in the section of others",
        "in a section of its own",
        "before the project",
        "before the project alone",
        "between others",
        "before the first",
        "in one block",
        "in an import of llm_mock",
        "it is imported already",
        "everything is imported already",
        "the module is imported",
        "behind the docstring",
        "no import",
    ],
)
def test_reply_is_imported_in_order(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("from llm import get_model\n")
    source = dedent(old).lstrip("\n") + STREAM
    # Imports in a block are not followed.
    source = source.replace("Mock(**", "unittest.mock.Mock(**") if "if True" in old else source
    result = rewrite_file(
        tmp_path / "test_old.py", source.encode(), lambda test, target: (), lambda name: name
    )
    assert result.manual_changes == ()
    assert result.after == dedent(new).lstrip("\n") + NEW_STREAM


FACTORY = """

@pytest.fixture
def response_of():
    import json

    def create(text):
        return Mock(**{"text.return_value": json.dumps(text)})

    return create


def test_it(monkeypatch, response_of):
    model = Mock(**{"prompt.return_value": response_of("Hello")})
    monkeypatch.setattr("app.get_model", lambda name: model)
    assert app.ask()
"""
NEW_FACTORY = """

def test_it(mock_llm_responses):
    mock_llm_responses.set("*", json.dumps("Hello"))
    assert app.ask()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            """
            from __future__ import annotations

            from unittest.mock import Mock

            import app
            import pytest

            print(pytest)
            """,
            """
            from __future__ import annotations

            import json

            import app
            import pytest

            print(pytest)
            """,
        ),
        (
            """
            import ast
            import os
            from unittest.mock import Mock

            import app
            import pytest

            print(ast, os, pytest)
            """,
            """
            import ast
            import json
            import os

            import app
            import pytest

            print(ast, os, pytest)
            """,
        ),
        (
            """
            import json
            from unittest.mock import Mock

            import app
            import pytest

            print(json, pytest)
            """,
            """
            import json

            import app
            import pytest

            print(json, pytest)
            """,
        ),
    ],
    ids=["behind __future__", "between others", "it is imported already"],
)
def test_json_is_imported_if_a_helper_did(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("from llm import get_model\n")
    source = dedent(old).lstrip("\n") + FACTORY
    path = tmp_path / "test_old.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    assert result.manual_changes == ()
    assert result.after == dedent(new).lstrip("\n") + NEW_FACTORY
    again = rewrite_file(path, result.encoded, lambda test, target: (), lambda name: name)
    assert again.after == result.after


def test_names_that_a_new_file_does_not_need_go(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("from llm import get_model\n")
    old = """
    import unused
    import os.path
    import unittest.mock as um
    from unittest.mock import MagicMock, Mock, patch
    from unittest.mock import (
        # Above the first.
        ANY as ANYTHING,
        # Above the second.
        AsyncMock,  # behind the second
        # Above the third.
        call,
    )
    import app; import sys

    __all__ = ["exported", "test_it", "Quoted"]

    # --- A section. ---

    # Of the helper.
    def helper():
        return inner()


    def inner():
        return um.Mock(**{"prompt.return_value.text.return_value": Fake})


    class Fake:
        pass


    class Quoted:
        pass


    class TestFake:
        def test_nothing(self):
            print(call, MagicMock)


    def exported():
        return Mock


    def test_it(monkeypatch):
        monkeypatch.setattr("app.get_model", lambda name: other_helper())
        assert app.ask() == ANYTHING


    def other_helper():
        return um.Mock(**{"prompt.return_value.text.return_value": str(os.path)})


    def test_another(monkeypatch):
        monkeypatch.setattr("app.get_model", lambda name: AsyncMock())
        monkeypatch.setattr("app.get_model", lambda name: last(patch))


    # --- The end. ---

    # Of the last.
    def last(patch):
        return um.Mock(**{"prompt.return_value.text.return_value": "Hello"})
    """
    new = """
    import unused
    import os.path
    import unittest.mock as um
    from unittest.mock import MagicMock, Mock
    from unittest.mock import (
        # Above the first.
        ANY as ANYTHING,
        # Above the third.
        call,
    )
    import app; import sys

    __all__ = ["exported", "test_it", "Quoted"]

    # --- A section. ---

    # Of the helper.
    def helper():
        return inner()


    def inner():
        return um.Mock(**{"prompt.return_value.text.return_value": Fake})


    class Fake:
        pass


    class Quoted:
        pass


    class TestFake:
        def test_nothing(self):
            print(call, MagicMock)


    def exported():
        return Mock


    def test_it(mock_llm_responses):
        mock_llm_responses.set("*", str(os.path))
        assert app.ask() == ANYTHING


    def test_another(mock_llm_responses):
        mock_llm_responses.set("*", "Hello")


    # --- The end. ---
    """
    result = rewrite_file(
        tmp_path / "test_old.py", dedent(old).encode(), lambda test, target: (), lambda name: name
    )
    assert result.after == dedent(new)
