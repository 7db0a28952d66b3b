"""A module with a `get_model` of its own."""

from llm import get_model as model_of_llm  # noqa: F401


def get_model(app, name):
    raise LookupError(app, name)
