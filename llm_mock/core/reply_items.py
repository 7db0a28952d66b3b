"""Parts of answers that few replies have: sources, log probabilities, web searches and others.

Imported only for replies that have them.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard, TypeVar

from llm_mock.core.json_text import to_json_text
from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_number, is_whole
from llm_mock.support.text import described

# At module level, so that the `__init__` that `dataclass` generates is hidden, too.
__tracebackhide__ = True
Kind = TypeVar("Kind")
SOURCES = ("url", "file_id", "document_index")
"""The fields for the source of a citation; exactly one is set."""


def is_instance(value: object, cls: type[Kind]) -> TypeGuard[Kind]:
    """Return whether a value is of a class of this module.

    The class is compared by name, because the module may be imported again, as `pytester` does.
    """
    return isinstance(value, cls) or (
        type(value).__name__ == cls.__name__ and type(value).__module__ == cls.__module__
    )


@dataclass(frozen=True)
class Citation:
    """A source of an answer: a web page, an uploaded file, or a document of the request.

    Args:
        url: the address of a web page.
        title: the title of the page.
        text: the part of the answer that the source supports; by default the last text of the
            answer.
        cited_text: the cited words of the source.
        file_id: the id of an uploaded file, instead of `url`.
        filename: the name of the uploaded file.
        document_index: the index of a document in the request, from 0, instead of `url`.

    Raises:
        InvalidReply: there is not exactly one source, or a value is not of its type.
    """

    url: str | None = None
    title: str = ""
    text: str | None = None
    cited_text: str = ""
    file_id: str | None = None
    filename: str = ""
    document_index: int | None = None

    def __post_init__(self) -> None:
        _check_texts(self, "title", "cited_text", "filename")
        _check_texts(self, "url", "text", "file_id", optional=True)
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidReply(
                f"A Citation needs one source, but got {' and '.join(given) or 'none'}. Pass one "
                "of url, file_id and document_index."
            )
        if self.document_index is not None and not is_whole(self.document_index):
            raise InvalidReply(
                f"document_index={described(self.document_index)}: pass a whole number of at "
                "least 0."
            )

    @property
    def source(self) -> str:
        """The name of the field with the source."""
        return next(name for name in SOURCES if getattr(self, name) is not None)


@dataclass(frozen=True)
class Logprob:
    """A token of an answer with its log probability.

    Args:
        token: the text of the token.
        logprob: its log probability, at most 0.
        top_logprobs: the most likely tokens at this position with their log probabilities. The
            mock sends at most the requested number.

    Raises:
        InvalidReply: a value is not of its type.
    """

    token: str
    logprob: float
    top_logprobs: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_texts(self, "token")
        if not isinstance(self.top_logprobs, Mapping):
            raise InvalidReply(
                f"top_logprobs={described(self.top_logprobs)} must be a dict of tokens and numbers."
            )
        for token, logprob in {self.token: self.logprob, **self.top_logprobs}.items():
            if not isinstance(token, str) or not is_number(logprob, -math.inf) or logprob > 0:
                raise InvalidReply(
                    f"The log probability of {described(token)} is {described(logprob)}: pass a "
                    "number of at most 0."
                )


class ReplyItem:
    """A part of an answer that is neither a text nor a tool call of the application."""

    is_reply_item = True


@dataclass(frozen=True)
class WebSearch(ReplyItem):
    """A web search that the provider made for an answer.

    Args:
        query: the search query.
        sources: the found pages: addresses, or `Citation` objects with titles.

    Raises:
        InvalidReply: a value is not of its type.
    """

    query: str
    sources: Sequence[Any] = ()

    def __post_init__(self) -> None:
        _check_texts(self, "query")
        if isinstance(self.sources, (str, Mapping)) or not isinstance(self.sources, Iterable):
            raise InvalidReply(f"sources={described(self.sources)} must be a list of addresses.")
        pages = []
        for source in self.sources:
            page = Citation(source, source) if isinstance(source, str) else source
            if not is_instance(page, Citation) or page.url is None:
                raise InvalidReply(
                    f"This is not a source of a web search: {described(source)}. Pass an address, "
                    "or a Citation with a url."
                )
            pages.append(page)
        # Writing to a frozen instance needs `object.__setattr__`.
        object.__setattr__(self, "sources", tuple(pages))


@dataclass(frozen=True)
class CodeInterpreter(ReplyItem):
    """Code that the provider ran for an answer.

    Args:
        code: the code.
        output: its output.
        error: its error output, if it failed.

    Raises:
        InvalidReply: a value is not a text.
    """

    code: str
    output: str = ""
    error: str | None = None

    def __post_init__(self) -> None:
        _check_texts(self, "code", "output")
        _check_texts(self, "error", optional=True)


@dataclass(frozen=True)
class McpCall(ReplyItem):
    """A tool call that the provider made on an MCP server for an answer.

    Args:
        server: the label of the server in the request.
        tool: the name of the tool.
        arguments: the arguments of the tool call.
        result: the result of the tool call.
        error: the error of a failed tool call, instead of a result.

    Raises:
        InvalidReply: a value is not of its type.
    """

    server: str
    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    result: str = ""
    error: str | None = None

    def __post_init__(self) -> None:
        _check_texts(self, "server", "tool", "result")
        _check_texts(self, "error", optional=True)
        if not isinstance(self.arguments, Mapping):
            raise InvalidReply(f"arguments={described(self.arguments)} must be a dict.")
        # A copy, so that later changes to the argument do not change the item.
        copied = json.loads(to_json_text(dict(self.arguments)))
        object.__setattr__(self, "arguments", copied)


@dataclass(frozen=True)
class FileSearch(ReplyItem):
    """A search in uploaded files that the provider made for an answer.

    Args:
        query: the search query.
        results: the found files: `Citation` objects with `file_id`, `filename` and `cited_text`.

    Raises:
        InvalidReply: a value is not of its type.
    """

    query: str
    results: Sequence[Citation] = ()

    def __post_init__(self) -> None:
        _check_texts(self, "query")
        if not isinstance(self.results, Iterable):
            raise InvalidReply(f"results={described(self.results)} must be a list of citations.")
        found = tuple(self.results)
        for result in found:
            if not is_instance(result, Citation) or result.file_id is None:
                raise InvalidReply(
                    f"This is not a result of a file search: {described(result)}. Pass a Citation "
                    "with a file_id."
                )
        object.__setattr__(self, "results", found)


@dataclass(frozen=True)
class ImageGeneration(ReplyItem):
    """An image that the model generated.

    Args:
        data: the image, as bytes or in base64.
        revised_prompt: the prompt that the image was generated from.
        media_type: the media type of the image.

    Raises:
        InvalidReply: a value is not of its type.
    """

    data: bytes | str
    revised_prompt: str = ""
    media_type: str = "image/png"

    def __post_init__(self) -> None:
        _check_texts(self, "revised_prompt", "media_type")
        object.__setattr__(self, "data", _encode_data(self.data))


@dataclass(frozen=True)
class Audio(ReplyItem):
    """Speech as the answer of a model.

    Args:
        data: the audio data, as bytes or in base64.
        transcript: the spoken words.
        media_type: the media type of the audio data, for Gemini.

    Raises:
        InvalidReply: a value is not of its type.
    """

    data: bytes | str
    transcript: str = ""
    media_type: str = "audio/wav"

    def __post_init__(self) -> None:
        _check_texts(self, "transcript", "media_type")
        object.__setattr__(self, "data", _encode_data(self.data))


def _encode_data(data: object) -> str:
    """Return bytes in base64, and a text in base64 as it is."""
    if isinstance(data, bytes):
        return base64.b64encode(data).decode()
    try:
        base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError):
        data = None
    if not isinstance(data, str):
        raise InvalidReply("data must be bytes or a base64 text.")
    return data


def _check_texts(item: object, *names: str, optional: bool = False) -> None:
    """Raise an InvalidReply if a field is not a text."""
    for name in names:
        value = getattr(item, name)
        if not isinstance(value, str) and not (optional and value is None):
            raise InvalidReply(
                f"{name}={described(value)} of a {type(item).__name__} must be a str."
            )


def check_citations(citations: object, texts: Iterable[str]) -> tuple[Citation, ...]:
    """Return citations as a tuple.

    Args:
        citations: the citations.
        texts: the texts of the answer.

    Raises:
        InvalidReply: one of them is not a citation, or its text is not in the answer.
    """
    if isinstance(citations, Mapping) or not isinstance(citations, Iterable):
        raise InvalidReply(
            f"These are not citations: {described(citations)}. Pass a list of Citation objects."
        )
    checked = tuple(citations)
    known = list(texts)
    for citation in checked:
        if not is_instance(citation, Citation):
            raise InvalidReply(
                f"This is not a citation: {described(citation)}. Pass Citation objects."
            )
        supported = citation.text
        if supported is not None and not any(supported in text for text in known):
            raise InvalidReply(
                f"The text of a Citation, {described(supported)}, is not in the answer. Correct "
                "the text or the answer."
            )
    return checked


def check_logprobs(
    logprobs: object, content: str, chunks: Iterable[str] | None
) -> tuple[Logprob, ...]:
    """Return log probabilities as a tuple.

    Args:
        logprobs: the log probabilities.
        content: the text of the answer.
        chunks: the configured chunks of the text; None without any.

    Raises:
        InvalidReply: one of them is not a `Logprob`, or the tokens do not match the text.
    """
    if not isinstance(logprobs, Iterable):
        raise InvalidReply(
            f"These are not log probabilities: {described(logprobs)}. Pass a list of Logprob "
            "objects."
        )
    checked = tuple(logprobs)
    for index, logprob in enumerate(checked):
        if not is_instance(logprob, Logprob):
            raise InvalidReply(
                f"logprobs[{index}] is {described(logprob)}: pass a Logprob, such as "
                'Logprob("Yes", -0.5).'
            )
    tokens = [logprob.token for logprob in checked]
    text = "".join(tokens)
    if text != content:
        raise InvalidReply(
            f"The tokens of logprobs join to {described(text)}, but the text is "
            f"{described(content)}. The two must be equal."
        )
    ends = set(itertools.accumulate(map(len, tokens)))
    chunk_ends = itertools.accumulate(map(len, chunks or ()))
    if not ends.issuperset(chunk_ends):
        raise InvalidReply("A chunk ends within a token of logprobs: pass chunks of whole tokens.")
    return checked
