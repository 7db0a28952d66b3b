"""The log probabilities of the tokens in a stream."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm_mock.core.reply_items import Logprob
    from llm_mock.support.json_types import JSONObject


class TokenQueue:
    """The tokens of a text that have not been sent yet.

    Args:
        logprobs: all tokens of the text.
    """

    def __init__(self, logprobs: Iterable[Logprob]) -> None:
        self._remaining = list(logprobs)

    def take(self, text: str) -> list[Logprob]:
        """Remove and return the tokens of a chunk."""
        taken: list[Logprob] = []
        length = 0
        while length < len(text) and self._remaining:
            token = self._remaining.pop(0)
            length += len(token.token)
            taken.append(token)
        return taken


def read_top_count(body: JSONObject) -> int:
    """Return how many alternatives per token a request to OpenAI or Mistral asks for."""
    count = body.get("top_logprobs")
    return count if isinstance(count, int) else 0


def build_tokens(logprobs: Iterable[Logprob], top_count: int) -> list[JSONObject]:
    """Return tokens in the form of OpenAI's APIs.

    Args:
        logprobs: the tokens.
        top_count: the number of alternatives to each token.
    """
    tokens = []
    for token in logprobs:
        alternatives = list_alternatives(token.top_logprobs, top_count)
        top = [_build_token(text, logprob) for text, logprob in alternatives]
        tokens.append({**_build_token(token.token, token.logprob), "top_logprobs": top})
    return tokens


def make_token_id(token: str) -> int:
    """Return the id of a token, which is always the same and as long as ids of tokenizers."""
    return zlib.crc32(token.encode()) >> 15


def list_alternatives(top_logprobs: Mapping[str, float], count: int) -> list[tuple[str, float]]:
    """Return the most likely tokens with their log probabilities."""
    ordered = sorted(top_logprobs.items(), key=lambda item: -item[1])
    return ordered[:count]


def _build_token(text: str, logprob: float) -> JSONObject:
    return {"token": text, "bytes": list(text.encode()), "logprob": logprob}
