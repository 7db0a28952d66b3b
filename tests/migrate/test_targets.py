"""A patched path is followed through the modules of a project to `llm`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.targets import MAX_MODULES, resolve_target, resolve_type

PROJECT = {
    "plain.py": "from llm import get_model, get_async_model\n",
    "renamed.py": "from llm import get_model as model_of\n",
    "module.py": "import llm\n",
    "renamed_module.py": "import llm as library\n",
    "of_a_module.py": "import llm.models\n",
    "late.py": "def ask():\n    from llm import get_model\n",
    "hidden.py": "from llm import get_model\n\ndef get_model(name): ...\n",
    "hidden_by_a_class.py": "from llm import get_model\n\nclass get_model: ...\n",
    "hidden_async.py": "from llm import get_async_model\n\nasync def get_async_model(name): ...\n",
    "of_others.py": "from django.apps import get_model\nimport django as llm\n",
    "again.py": "from plain import get_model\n",
    "again_and_again.py": "from again import get_model as ask\n",
    "round_one.py": "from round_two import get_model\n",
    "round_two.py": "from round_one import get_model\n",
    "broken.py": "from llm import get_model (\n",
    "without.py": "name = 1\n",
    "package/__init__.py": "from .client import get_model\nfrom . import client\n",
    "package/client.py": "from llm import get_model\nimport llm\n",
    "package/sibling.py": "from .client import get_model\n",
    "package/inner/__init__.py": "from ..client import get_model\n",
    "package/inner/deep.py": "from ..client import get_model\nfrom ... import plain\n",
    "src/in_source.py": "from llm import get_model\n",
    "kinds.py": (
        "import sdk\nfrom sdk import Completion\n\nclass Own(Completion): ...\n"
        "class Second(Own, sdk.Other): ...\nclass WithMethod(Completion):\n    def get(self): ...\n"
        "class Alone: ...\nRenamed = Also = sdk.types.Completion\nMade = Completion()\n"
    ),
    "facade.py": "from kinds import Second as Kind\n",
    "package/kinds.py": "from .. import kinds\n\nclass Own(kinds.Own): ...\n",
    # A chain that is one class longer than what is followed.
    **{
        f"chain_{number}.py": f"import chain_{number + 1} as up\n\nclass Kind(up.Kind): ...\n"
        for number in range(MAX_MODULES + 2)
    },
    "chain_of_import.py": "from chain_1 import Kind\n",
}
GET_MODEL = ("llm", "get_model")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, content in PROJECT.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("llm", ("llm", "")),
        ("llm.get_model", GET_MODEL),
        ("llm.get_async_model", ("llm", "get_async_model")),
        ("llm.get_models", None),
        ("get_model", None),
        ("plain.get_model", GET_MODEL),
        ("plain.get_async_model", ("llm", "get_async_model")),
        ("plain.get_models", None),
        ("renamed.model_of", GET_MODEL),
        ("renamed.get_model", None),
        ("module.llm", ("llm", "")),
        ("module.llm.get_model", GET_MODEL),
        ("module.llm.get_models", None),
        ("module.get_model", None),
        ("renamed_module.library", ("llm", "")),
        ("renamed_module.library.get_model", GET_MODEL),
        ("renamed_module.llm", None),
        ("of_a_module.llm", ("llm", "")),
        ("late.get_model", GET_MODEL),
        ("hidden.get_model", None),
        ("hidden_by_a_class.get_model", None),
        ("hidden_async.get_async_model", None),
        ("of_others.get_model", None),
        ("of_others.llm", None),
        ("again.get_model", GET_MODEL),
        ("again_and_again.ask", GET_MODEL),
        ("round_one.get_model", None),
        ("broken.get_model", None),
        ("without.get_model", None),
        ("without.llm", None),
        ("package.get_model", GET_MODEL),
        ("package.client.get_model", GET_MODEL),
        ("package.client.llm.get_model", GET_MODEL),
        ("package.sibling.get_model", GET_MODEL),
        ("package.inner.get_model", GET_MODEL),
        ("package.inner.deep.get_model", GET_MODEL),
        ("in_source.get_model", GET_MODEL),
        ("missing.ask", None),
    ],
)
def test_a_path_is_followed_to_llm(
    project: Path, path: str, expected: tuple[str, str] | None
) -> None:
    assert resolve_target(path, project / "tests" / "unit" / "test_app.py") == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("kinds.Own", "sdk.Completion"),
        ("kinds.Second", "sdk.Completion"),
        ("kinds.WithMethod", "kinds.WithMethod"),
        ("kinds.Alone", "kinds.Alone"),
        ("kinds.Renamed", "sdk.types.Completion"),
        ("kinds.Also", "sdk.types.Completion"),
        ("kinds.Made", "kinds.Made"),
        ("kinds.Completion", "sdk.Completion"),
        ("kinds.Missing", "kinds.Missing"),
        ("facade.Kind", "sdk.Completion"),
        ("package.kinds.Own", "sdk.Completion"),
        ("sdk.Completion", "sdk.Completion"),
        ("Completion", "Completion"),
        # The last module of the chain extends the class of one that is not the project's.
        ("chain_1.Kind", f"chain_{MAX_MODULES + 2}.Kind"),
        ("chain_0.Kind", f"chain_{MAX_MODULES + 1}.Kind"),
        ("chain_of_import.Kind", f"chain_{MAX_MODULES + 1}.Kind"),
    ],
)
def test_a_type_is_followed_to_that_of_the_sdk(project: Path, path: str, expected: str) -> None:
    assert resolve_type(path, project / "tests" / "unit" / "test_app.py") == expected


@pytest.mark.parametrize(
    ("path", "reason", "advice"),
    [
        (
            "missing.get_model",
            "the module missing was not found near the test, so the command cannot tell whether "
            "missing.get_model belongs to llm",
            "If it does, remove the patch and write mock_llm_responses.set(model, reply).",
        ),
        (
            "missing.llm",
            "the module missing was not found near the test, so the command cannot tell whether "
            "missing.llm belongs to llm",
            "If it does, remove the patch and write mock_llm_responses.set(model, reply).",
        ),
        (
            "..app.get_model",
            "the module of the relative path ..app.get_model is unknown",
            'Patch it by its full name, such as "app.get_model".',
        ),
    ],
)
def test_a_path_that_may_be_llm_is_told(project: Path, path: str, reason: str, advice: str) -> None:
    with pytest.raises(CannotRewrite) as caught:
        resolve_target(path, project / "test_app.py")
    assert (caught.value.reason, caught.value.advice) == (reason, advice)
