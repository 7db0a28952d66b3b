"""The conversation that every library has: the prompt, the tool and the data."""

from __future__ import annotations

from pydantic import BaseModel

PROMPT = "How is the weather?"
ANSWER = "It is sunny."
CITIES = ("Bern", "Basel")
"""The cities that the model asks for, one in each turn."""
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
"""The parameters of the tool."""
VISITED: list[str] = []
"""The cities that the tool was called with in this test."""


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int


def weather(city: str) -> str:
    """Return the weather of a city.

    Args:
        city: The name of the city.
    """
    VISITED.append(city)
    return f"{city}: 21 degrees"
