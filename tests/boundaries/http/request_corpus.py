"""The corpus of requests in the folder `requests`, and the calls that they are recorded as.

Each file has the requests to one API:

- `url`: the address of the provider;
- `body`: fields that each body has;
- `call`: attributes that each call has;
- `shared`: parts for several cases, as YAML anchors;
- `cases`: the requests by name, each with the rest of its `body` and of its `call`, perhaps with
  a `url` of its own. `plain_only` says why no SDK can send it, and `recorded` has the fields of
  the body that are recorded under other names.

A call has all attributes of `Call`. What a case leaves out is as in `PLAIN_CALL`, and `messages`
are the system prompt and the prompt. Values are those that the provider's documentation and
`docs/calls.md` ask for, never those that the code happens to give.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

from llm_mock import Reply
from tests.boundaries.http.corpus_files import load_file
from tests.boundaries.http.provider_tables import SERVER_PREFIXES

FOLDER = Path(__file__).with_name("requests")
KEY = "key-of-ada"
"""The API key of each request."""
USAGE = {"input_tokens": 11, "output_tokens": 2}
"""The tokens of each call; those of other replies are estimates, which other tests check."""
PREFIXES = {host: f"/{prefix}" for prefix, host in SERVER_PREFIXES.items()}
"""The paths at the server, by the host of the provider."""
PLAIN_CALL = {
    "system": "",
    "schema": None,
    "tools": [],
    "tool_results": [],
    "tool_choice": None,
    "attachments": [],
    "options": {},
    "turn": 1,
    "stream": False,
}
DATA = {"city": "Bern", "degrees": 21, "text": "It is warm."}
"""The values of structured answers, by the names of their fields."""


class Case(NamedTuple):
    """A request and its call."""

    api: str
    name: str
    url: str
    body: dict[str, Any]
    recorded_body: dict[str, Any]
    call: dict[str, Any]
    """The attributes of the call."""
    plain_only: str | None

    @property
    def answer(self) -> Any:
        """The answer of the model, which fits the schema if there is one."""
        schema = self.call["schema"]
        if schema is None:
            return "Hi!"
        return {name: DATA[name] for name in schema["required"]}

    @property
    def reply(self) -> Reply:
        """The reply of the mock."""
        if isinstance(self.answer, str):
            # Some requests ask for a tool call, which these tests are not about.
            return Reply(self.answer, usage=USAGE, invalid=True)
        return Reply(data=self.answer, usage=USAGE)


@functools.lru_cache
def load_cases(api: str) -> dict[str, Case]:
    """Return the cases of a file by their names."""
    content = load_file(FOLDER / f"{api}.yaml")
    cases = {}
    for name, case in content["cases"].items():
        unknown = case.keys() - {"url", "body", "call", "plain_only", "recorded"}
        assert not unknown, f"{api}.yaml, {name}: unknown fields {unknown}"
        call = {**PLAIN_CALL, **content["call"], **case["call"]}
        unknown = call.keys() - {*PLAIN_CALL, "model", "api", "provider", "prompt", "messages"}
        assert not unknown, f"{api}.yaml, {name}: unknown attributes {unknown}"
        texts = {"system": call["system"], "user": call["prompt"]}
        simple = [{"role": role, "text": text} for role, text in texts.items() if text]
        call.setdefault("messages", simple)
        url = case.get("url", content["url"])
        body = {**content["body"], **case["body"]}
        recorded = case.get("recorded", body)
        cases[name] = Case(api, name, url, body, recorded, call, case.get("plain_only"))
    return cases


APIS = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))
ALL = [case for api in APIS for case in load_cases(api).values()]


def build_record(case: Case, number: int) -> dict[str, Any]:
    """Return the record of a call, which has its attributes under the names of `docs/calls.md`.

    The time and the fingerprint are missing: the one changes with each call, the other with each
    byte of the body, in which clients differ. So is the name of the client.
    """
    call = case.call
    schema = call["schema"]
    kwargs = {"schema": name_schema(schema), "temperature": None, "model": call["model"]}
    kwargs |= call["options"]
    if call["system"]:
        kwargs["system"] = call["system"]
    if call["tools"]:
        kwargs["tools"] = [tool["name"] for tool in call["tools"]]
    if call["tool_results"]:
        kwargs["tool_results"] = call["tool_results"]
    if call["attachments"]:
        kwargs["attachments"] = [describe_without_hash(each) for each in call["attachments"]]
    record = {
        "number": number,
        "model_id": call["model"],
        "turn": call["turn"],
        "prompt": call["prompt"],
        "prompt_length": len(call["prompt"]),
        "kwargs": kwargs,
        "schema": schema,
        "tools": call["tools"],
        "options": call["options"],
        "key": KEY,
        "response": case.answer,
        "error": None,
        **USAGE,
        "configured": True,
        "api": call["api"],
        "provider": call["provider"],
        "stream": call["stream"],
        "finish_reason": "tool_calls" if is_tool_call(case) else "stop",
    }
    if call["tool_choice"] is not None:
        record["tool_choice"] = call["tool_choice"]
    return record


def is_tool_call(case: Case) -> bool:
    """Return True if the structured answer is given by the tool that must be called."""
    names = [tool["name"] for tool in case.call["tools"]]
    return case.call["schema"] is not None and case.call["tool_choice"] in names


def name_schema(schema: dict[str, Any] | None) -> str | None:
    """Return the name of a schema: its title, or else its content."""
    if schema is None:
        return None
    return schema.get("title") or json.dumps(schema, sort_keys=True)


def describe_without_hash(attachment: dict[str, Any]) -> dict[str, Any]:
    """Return an attachment as `Call.attachments` has it, without reading it."""
    return {"type": None, **{name: attachment[name] for name in attachment if name != "sha256"}}
