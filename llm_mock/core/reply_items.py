"""The sources, the log probabilities and the parts of answers that few replies have.

Imported only for replies that have them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_number, is_whole
from llm_mock.support.text import described

# At module level, so that the `__init__` that `dataclass` generates is hidden, too.
__tracebackhide__ = True
SOURCES = ("url", "file_id", "document_index")
"""The fields of a citation of which one is given."""


@dataclass(frozen=True)
class Citation:
    """A source of an answer: a web page, an uploaded file, or a document of the request.

    Args:
        url: the address of a web page.
        title: the title of the page.
        text: the part of the answer that the source supports; by default the last of its texts.
        cited_text: the words of the source.
        file_id: the id of an uploaded file, in place of an address.
        filename: the name of that file.
        document_index: the position of a document in the request, from 0, in place of an address.

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
                f"A Citation has one source, but {' and '.join(given) or 'none'} was given. Give "
                "a url, a file_id or a document_index."
            )
        if self.document_index is not None and not is_whole(self.document_index):
            raise InvalidReply(
                f"document_index={described(self.document_index)}: give a whole number from 0."
            )

    @property
    def source(self) -> str:
        """The name of the field that has the source."""
        return next(name for name in SOURCES if getattr(self, name) is not None)


@dataclass(frozen=True)
class Logprob:
    """A token of an answer with its log probability.

    Args:
        token: the text of the token.
        logprob: its log probability, at most 0.
        top_logprobs: the most likely tokens at its place with their log probabilities. As many are
            sent as the request asks for.

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
                    f"The log probability of {described(token)} is {described(logprob)}: give a "
                    "number up to 0."
                )


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
        InvalidReply: one of them is not a citation, or supports a text that is not in the answer.
    """
    if isinstance(citations, Mapping) or not isinstance(citations, Iterable):
        raise InvalidReply(f"These are not citations: {described(citations)}. Give a list of them.")
    checked = tuple(citations)
    known = list(texts)
    for citation in checked:
        if not isinstance(citation, Citation):
            raise InvalidReply(
                f"This is not a citation: {described(citation)}. Give Citation objects."
            )
        supported = citation.text
        if supported is not None and not any(supported in text for text in known):
            raise InvalidReply(
                f"A citation supports {described(supported)}, which is not in the answer."
            )
    return checked


def check_logprobs(
    logprobs: object, content: str, chunks: Iterable[str] | None
) -> tuple[Logprob, ...]:
    """Return log probabilities as a tuple.

    Args:
        logprobs: the log probabilities.
        content: the text of the answer.
        chunks: the chunks of the text; None if it has none of its own.

    Raises:
        InvalidReply: one of them is not a `Logprob`, or the tokens are not those of the text.
    """
    if not isinstance(logprobs, Iterable):
        raise InvalidReply(
            f"These are not log probabilities: {described(logprobs)}. Give a list of Logprob "
            "objects."
        )
    checked = tuple(logprobs)
    for logprob in checked:
        if not isinstance(logprob, Logprob):
            raise InvalidReply(
                f"This is not a log probability: {described(logprob)}. Give Logprob objects."
            )
    tokens = [logprob.token for logprob in checked]
    text = "".join(tokens)
    if text != content:
        raise InvalidReply(
            f"The tokens of logprobs are {described(text)}, but the text is {described(content)}."
        )
    ends = set(itertools.accumulate(map(len, tokens)))
    chunk_ends = itertools.accumulate(map(len, chunks or ()))
    if not ends.issuperset(chunk_ends):
        raise InvalidReply("A chunk ends within a token of logprobs: give chunks of whole tokens.")
    return checked
