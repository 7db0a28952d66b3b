"""Turns what a mock was told into replies for `llm_mock`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import libcst as cst

from llm_mock.migrate.doubles import (
    LegacyMock,
    PatchedGetter,
    PlainCode,
    ReturnByName,
    SideEffectList,
    TestDouble,
    Value,
)
from llm_mock.migrate.manual_changes import CannotRewrite
from llm_mock.migrate.symbol_table import SymbolTable
from llm_mock.migrate.syntax import code, get_dotted_name
from llm_mock.migrate.value_types import is_data, is_error, is_text

ANY_MODEL = "*"
LEARN = "Run `llm-mock migrate --learn`, which runs the old test once to see which models it asks for."
PROMPT_METHODS = ("prompt", "chain")
"""The methods of a model, and of a conversation, that ask."""


@dataclass(frozen=True)
class ConfiguredReply:
    """What one model answers: the statements that say so."""

    model: str
    kind: str
    statements: tuple[str, ...]


def model_argument(model: str) -> str:
    """A model id as an argument."""
    return '"' + model.replace("\\", "\\\\").replace('"', '\\"') + '"'


def find_models(getter: PatchedGetter) -> list[tuple[str, TestDouble]]:
    """The models that a patched `get_model` gives, by the names for which it gives them.

    Raises:
        CannotRewrite: it is not known.
    """
    known = getter.ids[0] if len(set(getter.ids)) == 1 else ANY_MODEL
    double = getter.double
    source: Value | None = double.result
    if double.unknown is not None:
        raise double.unknown
    if isinstance(double.effect, TestDouble):
        if double.effect.unknown is not None:
            raise double.effect.unknown
        source = double.effect.result
    elif isinstance(double.effect, SideEffectList):
        return _in_order(double.effect, getter.ids)
    if isinstance(source, ReturnByName):
        return [(name, _as_double(value)) for name, value in source.values]
    return [] if source is None else [(known, _as_double(source))]


def _in_order(models: SideEffectList, ids: tuple[str, ...]) -> list[tuple[str, TestDouble]]:
    if len(ids) != len(models.values) or len(set(ids)) != len(ids):
        raise CannotRewrite(
            "get_model gives one mock after the other, and which model each of them stands for is not in the source",
            LEARN,
        )
    return [(name, _as_double(value)) for name, value in zip(ids, models.values, strict=True)]


def _as_double(value: Value) -> TestDouble:
    if isinstance(value, TestDouble):
        return value
    raise CannotRewrite("what get_model gives is no mock that is made in this file")


def collect_replies(getter: PatchedGetter, frame: SymbolTable) -> list[ConfiguredReply]:
    """What the models of a patched `get_model` answer; of those that nothing is said about, nothing.

    Raises:
        CannotRewrite: that is not known.
    """
    if isinstance(getter.double, LegacyMock):
        statements = getter.double.statements
        return [ConfiguredReply(ANY_MODEL, "private", statements)] if statements else []
    if isinstance(getter.double.effect, PlainCode):
        node = getter.double.effect.node
        if not (get_dotted_name(node.func if isinstance(node, cst.Call) else node) or "").endswith("UnknownModelError"):
            raise CannotRewrite(
                f"{getter.target} itself raises {code(node)}",
                "llm.get_model raises nothing but llm.UnknownModelError: set_unknown(model). What a call raises is "
                "set_error(model, error).",
                node,
            )
        model = getter.ids[0] if len(set(getter.ids)) == 1 else ANY_MODEL
        return [ConfiguredReply(model, "unknown", (f"mock_llm_responses.set_unknown({model_argument(model)})",))]
    answers = []
    for model, double in find_models(getter):
        found = _answer_of(model, double, getter, frame)
        answers += [] if found is None else [found]
    return answers


def _answer_of(model: str, double: TestDouble, getter: PatchedGetter, frame: SymbolTable) -> ConfiguredReply | None:
    if double.unknown is not None:
        raise double.unknown
    _check_model(double, model)
    found = []
    for asked in find_prompt_methods(double):
        if not asked.is_blank and (answer := _Asked(model, asked, getter, frame).answer()):
            found.append(answer)
    if any(answer != found[0] for answer in found):
        raise CannotRewrite(
            "prompts, chains and conversations are answered differently", "Use add(…, turn=…) or matchers."
        )
    return found[0] if found else None


def find_prompt_methods(model: TestDouble) -> list[TestDouble]:
    """The methods of a model that ask it, as far as the test mentions them."""
    owners = [model]
    conversation = model.attributes.get("conversation")
    if isinstance(conversation, TestDouble) and isinstance(conversation.result, TestDouble):
        owners.append(conversation.result)
    found = [owner.attributes.get(name) for owner in owners for name in PROMPT_METHODS]
    return [each for each in found if isinstance(each, TestDouble)]


def _check_model(model: TestDouble, name: str) -> None:
    """Only what is known may be said of a model."""
    for attribute, value in model.attributes.items():
        if attribute in (*PROMPT_METHODS, "conversation") or attribute.startswith("_") or _is_blank(value):
            continue
        if attribute == "model_id" and isinstance(value, PlainCode):
            if code(value.node).strip("\"'") == name:
                continue
            raise CannotRewrite(
                f"the mock has a model_id of its own ({code(value.node)}), and which id is asked for is not known",
                f"With llm_mock it is the id that is asked for. {LEARN}",
                value.node,
            )
        if model.grows:
            raise CannotRewrite(
                f"the mock of a model has {attribute}",
                "Models of llm_mock are models of llm, with the attributes of the real one: take it out.",
                value.node if isinstance(value, PlainCode) else None,
            )


def _is_blank(value: Value) -> bool:
    return isinstance(value, TestDouble) and value.is_blank and all(map(_is_blank, value.attributes.values()))


class _Asked:
    """A method that asks, and what it was told to give."""

    def __init__(self, model: str, asked: TestDouble, getter: PatchedGetter, frame: SymbolTable) -> None:
        self.model = model_argument(model)
        self.id = model
        self.asked = asked
        self.is_async = getter.of_async_models
        self.frame = frame

    def answer(self) -> ConfiguredReply | None:
        asked, effect = self.asked, self.asked.effect
        if asked.unknown is not None:
            raise asked.unknown
        if asked.is_async and not self.is_async:
            raise CannotRewrite(
                "prompt() of a model that is not async is awaited", "Patch llm.get_async_model's users."
            )
        if isinstance(effect, TestDouble):
            if effect.unknown is not None:
                raise effect.unknown
            return self._standing(effect.result)
        if isinstance(effect, SideEffectList):
            return self._queued(effect.values)
        if isinstance(effect, PlainCode):
            if isinstance(effect.node, (cst.List, cst.Tuple)):
                return self._queued([PlainCode(element.value) for element in effect.node.elements])
            if not is_error(effect.node, self.frame):
                raise CannotRewrite(
                    f"whether {code(effect.node)} is an error is not known",
                    f"If it is: mock_llm_responses.set_error({self.model}, …); a function of the prompt: set(…).",
                    effect.node,
                )
            text = code(effect.node)
            return ConfiguredReply(self.id, "error", (f"mock_llm_responses.set_error({self.model}, {text})",))
        return None if asked.result is None else self._standing(asked.result)

    def _standing(self, value: Value | None) -> ConfiguredReply | None:
        reply = None if value is None else self._reply(value)
        return (
            None
            if reply is None
            else ConfiguredReply(self.id, "set", (f"mock_llm_responses.set({self.model}, {reply})",))
        )

    def _queued(self, values: Sequence[Value]) -> ConfiguredReply:
        replies: list[str] = []
        for value in values:
            if isinstance(value, PlainCode) and is_error(value.node, self.frame):
                reply: str | None = code(value.node)
            else:
                reply = self._reply(value)
            if reply is None:
                raise CannotRewrite(
                    "one of the replies in side_effect says nothing", "Write add(model, reply) for each."
                )
            replies.append(reply)
        statements = []
        for reply, group in groupby(replies):
            times = len(list(group))
            more = f", times={times}" if times > 1 else ""
            statements.append(f"mock_llm_responses.add({self.model}, {reply}{more})")
        return ConfiguredReply(self.id, "queue", tuple(statements))

    def _reply(self, value: Value) -> str | None:
        """What one response says, as an argument of `set`."""
        if isinstance(value, TestDouble):
            return self._of_response(value)
        chunks = _chunks(value)
        if chunks is None:
            raise CannotRewrite(
                f"the mock answers with {_shown(value)}, which is no response",
                f"llm answers with a Response; if this is its text: mock_llm_responses.set({self.model}, …).",
                value.node if isinstance(value, PlainCode) else None,
            )
        return f"Reply(chunks={chunks})"

    def _of_response(self, response: TestDouble) -> str | None:
        if response.unknown is not None:
            raise response.unknown
        if response.effect is not None:
            raise CannotRewrite("the response itself is called", "A response of llm is read by text() or json().")
        self._check_response(response)
        text, data = self._given(response, "text"), self._given(response, "json")
        chunks, usage = self._streamed(response), self._usage(response)
        if text is not None and not is_text(text, self.frame):
            raise CannotRewrite(
                f"whether {code(text)} is a text is not known",
                f"If it is: mock_llm_responses.set({self.model}, {code(text)}).",
                text,
            )
        if data is not None and not is_data(data, self.frame):
            raise CannotRewrite(
                f"whether {code(data)} is a dict or a list is not known",
                f"If it is: mock_llm_responses.set({self.model}, {code(data)}).",
                data,
            )
        return self._written(text, data, chunks, usage)

    def _written(
        self, text: cst.BaseExpression | None, data: cst.BaseExpression | None, chunks: str | None, usage: str | None
    ) -> str | None:
        if isinstance(text, cst.Call) and data is not None and [code(each.value) for each in text.args] == [code(data)]:
            text = None  # text is json.dumps(data), which is what the model answers for data
        if text is not None and chunks in (f"[{code(text)}]", f"({code(text)},)"):
            chunks = None
        if chunks is None and text is None and data is None:
            return None
        if chunks is not None and (text is not None or data is not None):
            raise CannotRewrite(
                "the mock streams one thing and has another as its text",
                f"The text is what is streamed: mock_llm_responses.set({self.model}, Reply(chunks={chunks})).",
            )
        if chunks is None and usage is None and (text is None or data is None):
            return code(text) if text is not None else code(data) if data is not None else None
        parts = [f"chunks={chunks}"] if chunks is not None else []
        parts += [code(text)] if text is not None else []
        if data is not None:
            parts.append(f"{'data' if text is None else 'response_json'}={code(data)}")
        return f"Reply({', '.join([*parts, *([f'usage={usage}'] if usage else [])])})"

    def _check_response(self, response: TestDouble) -> None:
        for name, value in response.attributes.items():
            if name in ("text", "json", "usage", "__iter__", "__aiter__") or _is_blank(value):
                continue
            if response.grows:
                raise CannotRewrite(
                    f"the mock of a response has {name}",
                    f"Say it in a Reply: mock_llm_responses.set({self.model}, Reply(text, …)); tool_calls, reasoning "
                    "and resolved_model are arguments of it.",
                    value.node if isinstance(value, PlainCode) else None,
                )

    def _given(self, response: TestDouble, name: str) -> cst.BaseExpression | None:
        """What `text()` or `json()` gives."""
        value = response.attributes.get(name)
        if isinstance(value, PlainCode) and not self.is_async:
            return value.node
        if not isinstance(value, TestDouble) or value.is_blank:
            return None
        if value.unknown is not None:
            raise value.unknown
        if isinstance(value.effect, SideEffectList) or (
            isinstance(value.effect, PlainCode) and isinstance(value.effect.node, (cst.List, cst.Tuple))
        ):
            raise CannotRewrite(
                f"{name}() gives something else each time",
                f"A reply for each call, in order: mock_llm_responses.add_all({self.model}, [...]).",
            )
        if value.effect is not None:
            raise CannotRewrite(
                f"{name}() raises an error",
                f"mock_llm_responses.set_error({self.model}, error) raises it in prompt(), and with ini "
                "llm_mock_lazy = true where the response is read, as llm does.",
            )
        if not isinstance(value.result, PlainCode):
            raise CannotRewrite(f"{name}() gives no value that is written out")
        if value.is_async != self.is_async:
            raise CannotRewrite(*_AWAITED[self.is_async])
        return value.result.node

    def _streamed(self, response: TestDouble) -> str | None:
        value = response.attributes.get("__aiter__" if self.is_async else "__iter__")
        if value is None or (isinstance(value, TestDouble) and value.is_blank):
            return None
        if isinstance(value, TestDouble) and value.unknown is not None:
            raise value.unknown
        chunks = _chunks(value.result) if isinstance(value, TestDouble) and value.result is not None else None
        if chunks is None:
            raise CannotRewrite("what the response streams is not written out as a list", "Give Reply(chunks=[…]).")
        return chunks

    def _usage(self, response: TestDouble) -> str | None:
        value = response.attributes.get("usage")
        value = value.result if isinstance(value, TestDouble) else value
        if value is None:
            return None
        if isinstance(value, PlainCode) and isinstance(value.node, cst.Call):
            return code(value.node)
        numbers = value.attributes if isinstance(value, TestDouble) else {}
        given = {name: numbers.get(name) for name in ("input", "output")}
        shown = [f'"{name}_tokens": {code(each.node)}' for name, each in given.items() if isinstance(each, PlainCode)]
        if len(shown) != 2:
            raise CannotRewrite(
                "usage() gives no input and output that are written out", "Give Reply(text, usage={…})."
            )
        return f"{{{', '.join(shown)}}}"


_AWAITED = {
    True: (
        "text() of an async model is not awaited",
        "In production it is a coroutine: await it in the application, then write set(model, text).",
    ),
    False: ("text() of a model that is not async is awaited", "Take llm.get_async_model in the application."),
}


def _chunks(value: Value) -> str | None:
    """A list of texts as it is written, without `iter` around it."""
    node = value.node if isinstance(value, PlainCode) else None
    if isinstance(node, cst.Call) and get_dotted_name(node.func) in ("iter", "list") and len(node.args) == 1:
        node = node.args[0].value
    return code(node) if isinstance(node, (cst.List, cst.Tuple)) else None


def _shown(value: Value) -> str:
    return code(value.node) if isinstance(value, PlainCode) else "something"
