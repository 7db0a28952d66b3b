"""An application with two models: a small one sorts mail, a large one drafts answers."""

from __future__ import annotations

import json
from typing import Any

import llm

TEAMS = {"billing": "Billing", "shipping": "Shipping"}
A_PERSON = {"team": "a person", "draft": None}
SCHEMA = {
    "type": "object",
    "properties": {"team": {"type": "string"}, "angry": {"type": "boolean"}},
    "required": ["team", "angry"],
}


def handle(mail: str) -> dict[str, Any]:
    """Sort a mail and draft the answer; a person answers angry mail and mail for no team."""
    sorted_by = llm.get_model("gpt-5-nano")
    found = json.loads(
        sorted_by.prompt(f"Which team is this mail for?\n\n{mail}", schema=SCHEMA).text()
    )
    if found["angry"] or found["team"] not in TEAMS:
        return A_PERSON
    system = f"You are the team {TEAMS[found['team']]} of Leaf & Kettle. Answer in two sentences."
    draft = llm.get_model("gpt-5").prompt(mail, system=system).text().strip()
    return {"team": found["team"], "draft": f"{draft}\n\nYours, {TEAMS[found['team']]}"}
