"""Embedding models and collections: every way in which an application embeds leads to the mock."""

from __future__ import annotations

import fnmatch
import json
import math
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import llm
import pytest
import sqlite_utils
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from llm import (
    get_embedding_model,
    get_embedding_model_aliases,
    get_embedding_models,
    get_embedding_models_with_aliases,
)
from llm.cli import cli

from llm_mock import InvalidReply, LLMMock, MockEmbeddingModel, UnexpectedCall
from llm_mock.core.settings import Settings
from tests.conftest import RunPython

NAME = "text-embedding-3-small"
BOUND_AT_IMPORT = llm.get_embedding_model(NAME)
VECTOR = [float(number) for number in range(1536)]
SHORT_VECTOR = VECTOR[:64]
MODELS_BY_DIMENSIONS = {
    384: "embed-english-light-v3.0 embed-multilingual-light-v3.0",
    512: "voyage-3-lite",
    768: (
        "embedding-001 text-embedding-004 text-embedding-005 text-multilingual-embedding-002 "
        "embed-multilingual-v2.0"
    ),
    1024: (
        "mistral-embed mistral-embed-2312 voyage-4-large voyage-4 voyage-4-lite voyage-3.5 "
        "voyage-3.5-lite voyage-3-large voyage-3 voyage-code-3 voyage-finance-2 voyage-law-2 "
        "voyage-multilingual-2 voyage-multimodal-3 voyage-large-2-instruct voyage-2 "
        "embed-english-v3.0 embed-multilingual-v3.0 embed-english-light-v2.0"
    ),
    1408: "multimodalembedding@001",
    1536: (
        "text-embedding-3-small text-embedding-ada-002 codestral-embed codestral-embed-2505 "
        "voyage-code-2 voyage-large-2 embed-v4.0"
    ),
    3072: (
        "text-embedding-3-large gemini-embedding-001 gemini-embedding-2-preview "
        "gemini-embedding-exp-03-07"
    ),
    4096: "embed-english-v2.0",
}
DIMENSIONS = {
    model: number for number, models in MODELS_BY_DIMENSIONS.items() for model in models.split()
}


class Provider(llm.EmbeddingModel):
    """A provider's embedding model as a plugin would define it; it must never embed."""

    model_id = NAME
    needs_key = "provider"
    batch_size = 2

    def embed_batch(
        self, items: Iterable[str | bytes], *, key: str | None = None
    ) -> Iterator[list[float]]:
        raise AssertionError("a real model was executed")


class OldProvider(llm.EmbeddingModel):
    """The same, written before `llm` had the argument `key`."""

    model_id = NAME
    supports_binary = True

    def embed_batch(self, items: Iterable[str | bytes]) -> Iterator[list[float]]:
        raise AssertionError("a real model was executed")


class Local(llm.EmbeddingModel):
    """An embedding model that may run."""

    model_id = "local-embedding"

    def embed_batch(
        self, items: Iterable[str | bytes], *, key: str | None = None
    ) -> Iterator[list[float]]:
        for item in items:
            yield [float(len(item))]


@pytest.fixture
def register() -> Iterator[Callable[[Any], None]]:
    """Register an embedding model with the alias `registered-alias` during a test."""
    plugins: list[Any] = []

    def register_model(model: Any) -> None:
        class Plugin:
            @llm.hookimpl
            def register_embedding_models(self, register: Callable[..., None]) -> None:
                register(model, aliases=["registered-alias"])

        plugins.append(Plugin())
        llm.pm.register(plugins[-1], name=f"registering-{id(plugins[-1])}")

    yield register_model
    for plugin in plugins:
        llm.pm.unregister(plugin)


def collections_work() -> bool:
    try:
        return bool(llm.Collection("documents", sqlite_utils.Database(memory=True), model_id=NAME))
    except ValueError:
        return False


needs_collections = pytest.mark.skipif(
    not collections_work(),
    reason="the collections of this llm do not work with this sqlite-utils (4)",
)


def cosine(one: list[float], other: list[float]) -> float:
    return float(llm.cosine_similarity(one, other))


def listed(models: Iterable[Any]) -> Any:
    return next(model for model in models if model.model_id == NAME)


def run(*arguments: str, stdin: str | None = None) -> str:
    result = CliRunner().invoke(cli, arguments, input=stdin)
    assert result.exit_code == 0, result.output
    return str(result.output)


def first_stored(collection: llm.Collection) -> list[float]:
    (row,) = collection.db["embeddings"].rows
    return [float(number) for number in llm.decode(row["embedding"])]


def through_collection(**arguments: Any) -> list[float]:
    collection = llm.Collection("documents", sqlite_utils.Database(memory=True), **arguments)
    collection.embed("1", "Hello", store=True)
    assert [row["model"] for row in collection.db["collections"].rows] == [NAME]
    return first_stored(collection)


def through_embed_multi_of_collection() -> list[float]:
    collection = llm.Collection("documents", sqlite_utils.Database(memory=True), model_id=NAME)
    collection.embed_multi([("1", "Hello")])
    return first_stored(collection)


def through_command_embed_multi() -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        database = f"{folder}/embeddings.db"
        run(
            "embed-multi",
            "documents",
            "-",
            "-m",
            "3-small",
            "-d",
            database,
            stdin='[{"id": "1", "text": "Hello"}]',
        )
        return first_stored(llm.Collection("documents", sqlite_utils.Database(database)))


def test_each_listing_has_the_embedding_models_of_the_mock(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_embedding_model(NAME)
    assert listed(llm.get_embedding_models()) is model
    assert listed(entry.model for entry in llm.get_embedding_models_with_aliases()) is model


DOORS: dict[str, Callable[[], list[float]]] = {
    "get_embedding_model": lambda: llm.get_embedding_model(NAME).embed("Hello"),
    "get_embedding_model by alias": lambda: llm.get_embedding_model("3-small").embed("Hello"),
    "get_embedding_model bound early": lambda: get_embedding_model(NAME).embed("Hello"),
    "get_embedding_models": lambda: listed(llm.get_embedding_models()).embed("Hello"),
    "get_embedding_models bound early": lambda: listed(get_embedding_models()).embed("Hello"),
    "aliases by name": lambda: llm.get_embedding_model_aliases()["3-small"].embed("Hello"),
    "aliases by look": lambda: dict(get_embedding_model_aliases().items())["3-small"].embed(
        "Hello"
    ),
    "models with aliases": lambda: listed(
        e.model for e in get_embedding_models_with_aliases()
    ).embed("Hello"),
    "embed_multi": lambda: next(iter(llm.get_embedding_model(NAME).embed_multi(["Hello"]))),
    "embed_multi in batches": lambda: next(
        iter(llm.get_embedding_model(NAME).embed_multi(["Hello"], batch_size=1))
    ),
    "embed_batch": lambda: next(iter(llm.get_embedding_model(NAME).embed_batch(["Hello"]))),
    "collection by id": lambda: through_collection(model_id=NAME),
    "collection by alias": lambda: through_collection(model_id="3-small"),
    "collection by provider class": lambda: through_collection(model=Provider()),
    "collection, many": through_embed_multi_of_collection,
    "command embed": lambda: list(json.loads(run("embed", "-m", "3-small", "-c", "Hello"))),
    "command embed-multi to a collection": through_command_embed_multi,
    "model bound at import": lambda: BOUND_AT_IMPORT.embed("Hello"),
    "provider class": lambda: Provider().embed("Hello"),
    "provider class, many": lambda: next(iter(Provider().embed_multi(["Hello"]))),
    "provider class without key": lambda: OldProvider().embed("Hello"),
    "provider class without key, many": lambda: next(iter(OldProvider().embed_multi(["Hello"]))),
}

EVERY_DOOR = [
    pytest.param(door, id=name, marks=[needs_collections] if "collection" in name else [])
    for name, door in DOORS.items()
]


@pytest.mark.parametrize("door", EVERY_DOOR)
def test_every_door_leads_to_the_mock(
    door: Callable[[], list[float]], mock_llm_calls: LLMMock
) -> None:
    model = mock_llm_calls.get_embedding_model(NAME)
    model.set("Hello", VECTOR)
    assert door() == VECTOR
    assert [call["items"] for call in model.call_history] == [["Hello"]]


def test_alias_and_model_id_are_one_model(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_embedding_model("3-small")
    assert model is llm.get_embedding_model("3-small") is get_embedding_model(NAME)
    assert (model.model_id, isinstance(model, MockEmbeddingModel)) == (NAME, True)
    assert isinstance(model, llm.EmbeddingModel)


@pytest.mark.parametrize("name", [NAME, "3-small", "text-embedding-3-s*", "*"])
def test_a_vector_is_set_by_id_alias_or_glob(name: str, mock_llm_responses: LLMMock) -> None:
    vector = [1.0] * 1536
    mock_llm_responses.set_embedding(name, "Bern", vector)
    for known_as in (NAME, "3-small"):
        assert llm.get_embedding_model(known_as).embed("Bern") == vector


def test_a_name_that_no_plugin_knows_is_mocked(mock_llm_calls: LLMMock) -> None:
    assert llm.get_embedding_model("nobody/knows") is mock_llm_calls.get_embedding_model(
        "nobody/knows"
    )
    assert "nobody/knows" not in llm.get_embedding_model_aliases()
    assert "3-small" in llm.get_embedding_model_aliases()


@pytest.mark.parametrize("name", [NAME, "3-small"])
def test_a_name_can_be_made_unknown(name: str, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set_unknown(name)
    for known_as in (NAME, "3-small"):
        with pytest.raises(llm.UnknownModelError, match=f"Unknown model: {known_as}"):
            llm.get_embedding_model(known_as)
    assert NAME not in {model.model_id for model in llm.get_embedding_models()}
    assert NAME not in llm.get_embedding_model_aliases()
    assert llm.get_embedding_model("3-large").model_id == "text-embedding-3-large"
    assert CliRunner().invoke(cli, ["embed", "-m", name, "-c", "Hello"]).exit_code == 1


def test_an_alias_that_the_test_defines_is_resolved(mock_llm_calls: LLMMock) -> None:
    llm.set_alias("mine", NAME)
    try:
        assert llm.get_embedding_model("mine") is mock_llm_calls.get_embedding_model(NAME)
    finally:
        llm.remove_alias("mine")
    assert llm.get_embedding_model("mine").model_id == "mine"


def test_embedding_models_are_listed_on_the_command_line() -> None:
    line = next(line for line in run("embed-models").splitlines() if f"{NAME} " in line)
    assert line.endswith("(aliases: 3-small)")


def test_the_default_embedding_model_is_mocked(mock_llm_calls: LLMMock) -> None:
    run("embed-models", "default", "3-small")
    try:
        run("embed", "-c", "Hello")
    finally:
        run("embed-models", "default", "--remove-default")
    assert mock_llm_calls.get_embedding_model(NAME).call_history[0]["items"] == ["Hello"]


TRIPLES = {
    "a sentence": (
        "The cat sits on the mat",
        "A cat is sitting on a mat",
        "Stock prices fell sharply today",
    ),
    "a question": (
        "How do I reset my password?",
        "I forgot my password, can I reset it?",
        "The weather is sunny",
    ),
    "an ending": ("overdue invoices", "an overdue invoice", "hiking boots"),
    "another order": ("invoice overdue", "overdue invoice for March", "hiking boots"),
    "binary data": (b"\x89PNG 0123456789", b"\x89PNG 0123456780", b"GIF89a abcdefgh"),
}


@pytest.mark.parametrize(("item", "similar", "unrelated"), TRIPLES.values(), ids=TRIPLES.keys())
def test_what_is_similar_lies_nearer_than_what_is_unrelated(
    item: Any, similar: Any, unrelated: Any
) -> None:
    vectors = list(llm.get_embedding_model("m").embed_multi([item, similar, unrelated]))
    assert cosine(vectors[0], vectors[1]) > cosine(vectors[0], vectors[2]) + 0.1


@given(item=st.one_of(st.text(), st.binary()), dimensions=st.integers(1, 80))
def test_the_same_item_has_the_same_vector_of_length_one(item: Any, dimensions: int) -> None:
    one, other = (
        MockEmbeddingModel(name, dimensions=dimensions).embed(item) for name in ("a", "b")
    )
    assert one == other
    assert len(one) == dimensions
    assert math.isclose(math.fsum(number * number for number in one), 1)


@pytest.mark.parametrize(
    ("item", "direction"),
    [
        ("Good day to you", [0, 1, -1, -1, -2, -1, 0, 2, 1, 0, -2, 1]),
        (b"abcdefg", [0, -1, 0, 1, 0, 0, 0, 0, 0, 0, 0, -1]),
        (b"ab", [-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("", [0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_a_vector_stays_the_same_in_later_versions(item: Any, direction: list[int]) -> None:
    # Applications may have stored it.
    vector = MockEmbeddingModel("m", dimensions=12).embed(item)
    length = math.hypot(*direction)
    assert vector == pytest.approx([number / length for number in direction])


@given(st.sets(st.text(max_size=20), max_size=20))
def test_different_texts_have_different_vectors(texts: set[str]) -> None:
    vectors = sorted(MockEmbeddingModel("m", dimensions=256).embed_multi(texts))
    assert all(one != other for one, other in pairwise(vectors))


@pytest.mark.parametrize("item", ["", b"", "\ud800", "🐈", "word", "a" * 10_000, bytes(10_000)])
def test_unusual_items_have_a_vector(item: Any) -> None:
    assert math.isclose(math.hypot(*MockEmbeddingModel("m").embed(item)), 1)


@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_makes_the_same_vector(seed: str, run_python: RunPython) -> None:
    code = "import json, llm; print(json.dumps(llm.get_embedding_model('m').embed('The cat sits on the mat')))"  # noqa: E501
    process = run_python(code, PYTHONHASHSEED=seed, PFLOW_TESTING="1")
    assert json.loads(process.stdout) == llm.get_embedding_model("m").embed(
        "The cat sits on the mat"
    )


def test_a_vector_is_a_list_of_its_own(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.get_embedding_model("m").set("Hello", SHORT_VECTOR)
    llm.get_embedding_model("m").embed("Hello").clear()
    assert llm.get_embedding_model("m").embed("Hello") == SHORT_VECTOR


def test_a_model_has_the_dimensions_that_its_provider_documents(mock_llm_calls: LLMMock) -> None:
    vectors = {model: mock_llm_calls.get_embedding_model(model).embed("x") for model in DIMENSIONS}
    assert {model: len(vector) for model, vector in vectors.items()} == DIMENSIONS


def test_the_number_of_dimensions_is_settable(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_embedding_model(NAME)
    assert model.dimensions == 1536
    model.dimensions = 2
    model.set("north", (0, 1))
    assert BOUND_AT_IMPORT.embed("north") == [0.0, 1.0]
    assert Provider().embed("north") == [0.0, 1.0]
    assert len(model.embed("elsewhere")) == 2
    of_images = mock_llm_calls.get_embedding_model("nobody/embeds")
    of_images.dimensions = 2
    of_images.set(b"north", iter([1, 0]))
    assert of_images.embed(b"north") == [1.0, 0.0]


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (
            [1.0, 2.0, 3.0],
            (
                r"3 values: \[1.0, 2.0, 3.0\]. Pass 2 finite numbers, or change the model's "
                r"dimensions"
            ),
        ),
        ([], "0 values"),
        ("ab", "must be a list of numbers, not 'ab'"),
        (1.0, "must be a list of numbers, not 1.0"),
        (None, "must be a list of numbers, not null"),
        (["1", "2"], "2 values"),
        ([True, False], "2 values"),
        ([1.0, math.nan], "2 values"),
        ([1.0, -math.inf], "2 values"),
        ([[1.0], [2.0]], "2 values"),
    ],
)
def test_what_is_no_vector_of_the_model_is_refused(vector: Any, message: str) -> None:
    model = MockEmbeddingModel("m", dimensions=2)
    with pytest.raises(InvalidReply, match=message):
        model.set("Hello", vector)
    assert model.embed("Hello") == MockEmbeddingModel("m", dimensions=2).embed("Hello")


@pytest.mark.parametrize("dimensions", [0, -1, 2.0, True, "64"])
def test_wrong_dimensions_are_refused(dimensions: Any) -> None:
    model = MockEmbeddingModel("m", dimensions=2)
    with pytest.raises(InvalidReply, match="`dimensions` must be a whole number from 1, but got"):
        model.dimensions = dimensions
    assert model.dimensions == 2


def test_other_dimensions_than_those_of_a_vector_are_refused() -> None:
    model = MockEmbeddingModel("m", dimensions=2)
    model.set("Hello", [0, 1])
    message = r"cannot be changed to 3, because vectors of another length are already set \(1\)"
    with pytest.raises(InvalidReply, match=message):
        model.dimensions = 3
    assert model.dimensions == 2


def test_only_text_and_bytes_are_embedded() -> None:
    model: Any = MockEmbeddingModel("m")
    with pytest.raises(InvalidReply, match="Only str and bytes can be embedded, not 1"):
        model.set(1, SHORT_VECTOR)
    with pytest.raises(TypeError, match="Only str and bytes can be embedded, not None"):
        model.embed(None)
    assert model.call_history == []


@pytest.mark.parametrize("error", [ConnectionError("down"), ConnectionError])
@pytest.mark.parametrize("door", ["get_embedding_model", "provider class", "embed_multi"])
def test_an_error_is_raised_and_recorded(error: Any, door: str, mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_embedding_model("3-small")
    model.set_error(error)
    with pytest.raises(ConnectionError):
        DOORS[door]()
    assert model.call_history[0]["error"] in ("down", "ConnectionError")
    model.set_error(None)
    assert len(DOORS[door]()) == 1536
    assert model.call_history[1]["error"] is None


def test_an_error_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidReply, match="This is not an exception: 'down'"):
        MockEmbeddingModel("m").set_error("down")  # type: ignore[arg-type]


def test_the_history_holds_every_batch(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_embedding_model("m")
    items: list[str | bytes] = ["one", b"\x00\x01", "three"]
    vectors = list(llm.get_embedding_model("m").embed_multi(items, batch_size=2))
    assert len(vectors) == 3
    items.clear()
    assert [call["items"] for call in model.call_history] == [["one", "<2 bytes>"], ["three"]]
    assert {call["model_id"] for call in model.call_history} == {"m"}
    assert json.loads(json.dumps(model.call_history)) == model.call_history
    model.reset_history()
    assert model.call_history == []
    assert list(model.embed_multi([])) == model.call_history == []


def test_reset_forgets_everything(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_embedding_model(NAME)
    model.set("Hello", VECTOR)
    model.embed("Hello")
    mock_llm_calls.reset()
    assert mock_llm_calls.get_embedding_model(NAME) is not model
    assert model.call_history == []
    assert BOUND_AT_IMPORT.embed("Hello") != VECTOR


def test_a_provider_class_keeps_what_it_takes_and_its_batches(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_embedding_model(NAME)
    with pytest.raises(ValueError, match="does not support binary data"):
        Provider().embed(b"\x00")
    with pytest.raises(ValueError, match="does not support binary data"):
        list(Provider().embed_multi([b"\x00"]))
    assert len(list(Provider().embed_multi(["a", "b", "c"]))) == 3
    assert [call["items"] for call in model.call_history] == [["a", "b"], ["c"]]
    of_same_length = MockEmbeddingModel("m", dimensions=1536)
    assert OldProvider().embed(b"\x00") == of_same_length.embed(b"\x00")


@needs_collections
@pytest.mark.parametrize("where", ["in memory", "in a file"])
def test_a_collection_finds_what_is_similar(where: str, tmp_path: Path) -> None:
    file = None if where == "in memory" else tmp_path / "embeddings.db"
    db = sqlite_utils.Database(file) if file else sqlite_utils.Database(memory=True)
    collection = llm.Collection("documents", db, model_id="3-small")
    collection.embed_multi_with_metadata(
        [
            ("cat", "A cat is sitting on a mat", {"n": 1}),
            ("stocks", "Stock prices fell sharply today", {"n": 2}),
        ],
        store=True,
    )
    again = llm.Collection("documents", sqlite_utils.Database(file) if file else db)
    found = again.similar("The cat sits on the mat")
    assert [(entry.id, entry.metadata) for entry in found] == [
        ("cat", {"n": 1}),
        ("stocks", {"n": 2}),
    ]
    assert again.similar("A cat is sitting on a mat")[0].score == pytest.approx(1)
    assert [entry.id for entry in again.similar_by_id("cat")] == ["stocks"]


@needs_collections
def test_the_command_line_finds_what_is_similar(tmp_path: Path) -> None:
    db = str(tmp_path / "embeddings.db")
    for name, text in {
        "cat": "A cat is sitting on a mat",
        "stocks": "Stock prices fell sharply today",
    }.items():
        run("embed", "documents", name, "-m", "3-small", "-c", text, "--store", "-d", db)
    found = run("similar", "documents", "-c", "The cat sits on the mat", "-d", db).splitlines()
    assert [json.loads(line)["id"] for line in found] == ["cat", "stocks"]


def test_a_registered_mock_is_handed_out_as_it_is(register: Callable[[Any], None]) -> None:
    class Registered(MockEmbeddingModel):
        model_id = "registered-mock"

    model = Registered(dimensions=3)
    register(model)
    assert (
        llm.get_embedding_model("registered-mock")
        is llm.get_embedding_model("registered-alias")
        is model
    )
    assert model in llm.get_embedding_models()
    assert len(model.embed("Hello")) == 3


def test_a_registered_model_is_mocked_under_its_alias(register: Callable[[Any], None]) -> None:
    register(Local())
    model = llm.get_embedding_model("registered-alias")
    assert isinstance(model, MockEmbeddingModel)
    assert model.model_id == "local-embedding"
    assert len(model.embed("Hello")) == len(Local().embed("Hello")) == 64


def test_models_of_my_own_keep_their_own_state(mock_llm_calls: LLMMock) -> None:
    model, other = MockEmbeddingModel("m"), LLMMock().get_embedding_model("m")
    model.set("Hello", SHORT_VECTOR)
    assert model.embed("Hello") == SHORT_VECTOR != other.embed("Hello")
    assert len(model.call_history) == len(other.call_history) == 1
    assert mock_llm_calls.get_embedding_model("m").call_history == []


def test_a_mock_of_my_own_can_have_unknown_names() -> None:
    mock = LLMMock()
    mock.set_unknown("m")
    with pytest.raises(llm.UnknownModelError, match="Unknown model: m"):
        mock.get_embedding_model("m")


LOCAL = """
    import llm
    import pytest
    from llm_mock import MockEmbeddingModel, RealModelCall

    class Local(llm.EmbeddingModel):
        model_id = "local-embedding"

        def embed_batch(self, items, key=None):
            for item in items:
                yield [float(len(item))]

    class Plugin:
        @llm.hookimpl
        def register_embedding_models(self, register):
            register(Local(), aliases=["local"])

    @pytest.fixture(scope="session", autouse=True)
    def registered():
        plugin = Plugin()
        llm.pm.register(plugin, name="local")
        yield llm.get_embedding_model("local")
        llm.pm.unregister(plugin)
"""


def test_tests_do_not_see_each_other(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_llm_mock_configure(config, mock):
            model = mock.get_embedding_model("m")
            model.dimensions = 2
            model.set("run", [1, 0])
            model.set("both", [1, 0])
        """
    )
    pytester.makepyfile(
        """
        import llm
        import pytest

        MODEL = llm.get_embedding_model("m")
        MADE = MODEL.embed("test")

        @pytest.mark.parametrize("vector", [[0, 1], [1, 1]])
        def test_it(vector, mock_llm_calls):
            model = mock_llm_calls.get_embedding_model("m")
            assert MODEL.embed("test") == MADE != vector
            assert MODEL.embed("both") == MODEL.embed("run") == [1, 0]
            for item in ("test", "both"):
                model.set(item, vector)
                assert MODEL.embed(item) == vector
            assert len(model.call_history) == 5
            model.set_error(ConnectionError)
            with pytest.raises(ConnectionError):
                MODEL.embed("run")
        """
    )
    pytester.runpytest("-Werror").assert_outcomes(passed=2)


def test_a_model_named_by_passthrough_runs(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_passthrough = local-*")
    pytester.makepyfile(
        LOCAL
        + """
    def test_it(registered, mock_llm_calls):
        assert type(llm.get_embedding_model("local")) is type(registered) is Local
        assert any(type(model) is Local for model in llm.get_embedding_models())
        assert registered.embed("Hello") == list(Local().embed_multi(["Hello"]))[0] == [5.0]
        assert mock_llm_calls.get_embedding_model("local").call_history == []
        assert isinstance(llm.get_embedding_model("other"), MockEmbeddingModel)
    """
    )
    pytester.runpytest("-Werror").assert_outcomes(passed=1)


def test_a_model_from_under_the_mock_is_the_real_one_in_a_live_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        LOCAL
        + """
    def test_mocked(registered):
        assert isinstance(registered, MockEmbeddingModel)
        assert len(registered.embed("Hello")) == 64

    @pytest.mark.llm_live
    def test_live(registered):
        assert registered.embed("Hello") == [5.0]
        assert list(registered.embed_multi(["Hi", "Hello"], batch_size=1)) == [[2.0], [5.0]]
        assert type(llm.get_embedding_model("local")) is Local
        assert {type(model) for model in llm.get_embedding_models() if model.model_id.startswith("local")} == {Local}
        with pytest.raises(llm.UnknownModelError):
            llm.get_embedding_model("nobody/knows")
    """  # noqa: E501
    )
    pytester.runpytest("-Werror", "--llm-mock-live").assert_outcomes(passed=2)


def test_a_real_model_is_refused_where_the_project_wants_that(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = error")
    pytester.makepyfile(
        LOCAL
        + """
    def test_it(registered, mock_llm_responses):
        mock_llm_responses.set_embedding("local-embedding", "Hello", [1.0] * 64)
        assert len(registered.embed("Hello")) == 64
        with pytest.raises(RealModelCall, match="local-embedding"):
            Local().embed("Hello")
    """
    )
    result = pytester.runpytest("-Werror")
    result.stdout.fnmatch_lines(["*The real model 'local-embedding' was about to execute*"])


UNUSED_REPLIES = """
    import llm, openai, pytest

    def ask_llm():
        return llm.get_embedding_model("embedder").embed("Hello")

    def ask_openai():
        return openai.OpenAI().embeddings.create(model="embedder", input="Hello")

    @pytest.mark.parametrize("ask", [ask_llm, ask_openai])
    def test_it(ask, mock_llm_responses):
        {configuration}
        ask()
        ask()
        assert not "passed"
"""
ATTEMPT = """        try:
            ask()
        except Exception as error:
            print("raised", type(error).__name__)
"""
NOT_USED = (
    "'embedder' is an embedding model, so this reply is not used: embedder  → 'Hi'  (*.py:*). "
    "Write set_embedding('embedder', text, [[]0.1, …]), or set_error('embedder', …) for an error."
)


@pytest.mark.parametrize(
    ("configuration", "is_hinted"),
    [
        ("mock_llm_responses.set('embedder', 'Hi')", True),
        ("mock_llm_responses.add('embedder', 'Hi', optional=True)", True),
        ("mock_llm_responses.set('gpt-4o', 'Hi')", False),
    ],
)
def test_a_reply_to_an_embedding_model_is_explained_where_the_test_fails(
    configuration: str, is_hinted: bool, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(UNUSED_REPLIES.format(configuration=configuration))
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "Only embedding models were called, but replies were configured:",
            "  - * (test_*.py:11, not used)",
            *([NOT_USED] if is_hinted else []),
        ],
        consecutive=True,
    )
    assert result.stdout.str().count("'embedder' is an embedding") == 2 * is_hinted


@pytest.mark.parametrize("name", ["embedder", "embed*", "*"])
@pytest.mark.parametrize("has_parent", [False, True])
def test_set_error_reaches_embedding_models(name: str, has_parent: bool) -> None:
    configured = LLMMock(settings=Settings(strict="error"))
    get_model = LLMMock(parent=configured) if has_parent else configured
    model = get_model.get_embedding_model("embedder")
    model.set("Hello", SHORT_VECTOR)
    configured.set_error(name, ConnectionError("down"))
    with pytest.raises(ConnectionError, match="down"):
        model.embed("Hello")
    assert model.call_history[0]["error"] == "down"
    configured.set_error(name, None)
    assert model.embed("Hello") == SHORT_VECTOR


def test_an_error_of_another_model_does_not() -> None:
    get_model = LLMMock()
    get_model.set_error("gpt-*", ConnectionError)
    assert len(get_model.get_embedding_model("embedder").embed("Hello")) == 64


def test_a_used_error_of_embeddings_is_not_listed_as_unused(pytester: pytest.Pytester) -> None:
    configuration = "mock_llm_responses.set_error('*', templates.rate_limit())"
    test = UNUSED_REPLIES.replace("        ask()\n", ATTEMPT).format(configuration=configuration)
    pytester.makepyfile("from llm_mock import templates\n" + textwrap.dedent(test))
    result = pytester.runpytest("-rA")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*raised ModelError", "*raised RateLimitError"])
    result.stdout.no_fnmatch_line("*not used*")


@pytest.mark.parametrize("configured", ["embedder", "*"])
def test_a_strict_test_is_told_that_an_embedding_model_has_no_replies(configured: str) -> None:
    get_model = LLMMock(settings=Settings(strict="error"))
    get_model.set(configured, "Hi")
    with pytest.raises(UnexpectedCall) as caught:
        get_model.get_embedding_model("embedder").embed("Hello")
    if configured == "embedder":
        assert fnmatch.fnmatchcase(str(caught.value), NOT_USED)
    else:
        assert str(caught.value).startswith("No vector was configured for this input of the")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("lost parcel", "; did you mean 'Lost parcel' (tests/boundaries/llm/test_embedding.py:"),
        ("Sun", ". Texts with a vector: 'Lost parcel', 'a', 'b', 'c', 'd', …. Set"),
    ],
)
def test_a_strict_test_is_told_the_near_text_with_a_vector(text: str, question: str) -> None:
    get_model = LLMMock(settings=Settings(strict="error"))
    get_model.set_embedding("embedder", "Lost parcel", [1.0])
    get_model.set_embedding("embedder", b"lost parcel", [1.0])
    get_model.set_embedding("embedder", {letter: [1.0] for letter in "abcde"})
    with pytest.raises(UnexpectedCall, match=re.escape(f": {text!r}{question}")):
        get_model.get_embedding_model("embedder").embed(text)


def test_a_known_vector_needs_no_hint(pytester: pytest.Pytester) -> None:
    configuration = (
        "mock_llm_responses.set('embedder', 'Hi')\n"
        "        mock_llm_responses.set_embedding('embedder', 'Hello', [0.5])"
    )
    pytester.makepyfile(UNUSED_REPLIES.format(configuration=configuration))
    result = pytester.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["Only embedding models were called, *"])
    result.stdout.no_fnmatch_line("'embedder' is an embedding *")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("call_args", "call_history[0]"),
        ("call_args_list", "call_history"),
        ("call_count", "len(call_history)"),
        ("called", "len(call_history)"),
        ("mock_calls", "call_history"),
    ],
)
def test_a_name_of_unittest_mock_on_an_embedding_model_is_answered_with_its_own(
    name: str, advice: str, mock_llm_responses: LLMMock
) -> None:
    model = mock_llm_responses.get_embedding_model("text-embedding-3-small")
    with pytest.raises(AttributeError) as caught:
        getattr(model, name)
    assert str(caught.value).endswith(f"has no attribute {name!r}. Use {advice}.")
