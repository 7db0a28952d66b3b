"""The mock of a registered embedding model beside that model, with the same vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llm
import pytest
import sqlite_utils

from tests.boundaries.llm.comparison import World, outcome, rows
from tests.boundaries.llm.documented import check
from tests.boundaries.llm.plain_models import BLOBS, KEYED_TEXTS, TEXTS

BLOB = b"\x00\xff"
CALLS: dict[str, Callable[[Any], Any]] = {
    "embed a text": lambda model: model.embed("one"),
    "embed bytes": lambda model: model.embed(BLOB),
    "embed_multi texts": lambda model: list(model.embed_multi(["one", "two", "three"])),
    "embed_multi of a batch size": lambda model: list(
        model.embed_multi(["one", "two", "three"], batch_size=1)
    ),
    "embed_multi both": lambda model: list(model.embed_multi(["one", BLOB])),
    "embed_multi bytes": lambda model: list(model.embed_multi([BLOB, BLOB, BLOB])),
    "embed_multi nothing": lambda model: list(model.embed_multi([])),
    "embed_batch": lambda model: list(model.embed_batch(["one", "two"])),
}
ATTRIBUTES = (
    "model_id",
    "batch_size",
    "supports_binary",
    "supports_text",
    "needs_key",
    "key_env_var",
    "key",
    "api_base",
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", [TEXTS, "texts", BLOBS])
def test_a_mocked_embedding_model_embeds_like_the_plain_one(
    tmp_path: Path, name: str, call: str
) -> None:
    def embed(world: World) -> dict[str, Any]:
        return {
            "vectors": outcome(CALLS[call], llm.get_embedding_model(name)),
            "batches": world.batches(),
        }

    check(embed, tmp_path, f"embedding {name} {call}")


@pytest.mark.parametrize("name", [TEXTS, "texts", BLOBS, KEYED_TEXTS])
def test_a_mocked_embedding_model_looks_like_the_plain_one(tmp_path: Path, name: str) -> None:
    def look(world: World) -> dict[str, Any]:
        model = llm.get_embedding_model(name)
        values = {attribute: getattr(model, attribute, "missing") for attribute in ATTRIBUTES}
        listed = next(
            each for each in llm.get_embedding_models() if each.model_id == model.model_id
        )
        agree = values == {
            attribute: getattr(listed, attribute, "missing") for attribute in ATTRIBUTES
        }
        return {
            **values,
            "str": str(model),
            "repr": repr(model),
            "get_embedding_models agrees": agree,
        }

    check(look, tmp_path, f"look of {name}")


def collection(world: World) -> dict[str, Any]:
    """Return a collection that is filled, searched and emptied."""
    database = sqlite_utils.Database(memory=True)
    found = llm.Collection("numbers", database, model_id=TEXTS)
    found.embed("a", "one", store=True, metadata={"n": 1})
    found.embed_multi([("b", "two"), ("c", "three")], store=True)
    seen: dict[str, Any] = {
        "similar": [
            (entry.id, round(entry.score, 6), entry.content)
            for entry in found.similar("one", number=2)
        ],
        "similar by id": [(entry.id, round(entry.score, 6)) for entry in found.similar_by_id("b")],
        "model": str(found.model()),
        "count": found.count(),
        "bytes": outcome(found.embed, "d", BLOB),
        "rows": rows(database),
        "batches": world.batches(),
    }
    found.delete()
    return seen | {"deleted": rows(database)}


def test_a_collection_of_a_mocked_embedding_model_is_like_that_of_the_plain_one(
    tmp_path: Path,
) -> None:
    check(collection, tmp_path, "collection")
