"""The sources, the log probabilities and the parts of answers that few replies have.

Imported only for replies that have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_whole
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
