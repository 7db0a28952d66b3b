"""API keys of calls, which can be compared but are never shown."""

from __future__ import annotations

import functools
import hashlib

from llm_mock.support.redaction import REDACTED


class PassedKey(str):
    """A key whose text is `[redacted]`, but which is equal to the real key.

    It contains a hash of the key, not the key.
    """

    __slots__ = ("digest",)
    digest: str

    @classmethod
    def from_digest(cls, digest: str) -> PassedKey:
        """Return the recorded form of a key from its hash, which another process sent."""
        passed = cls(REDACTED)
        passed.digest = digest
        return passed

    def __eq__(self, other: object) -> bool:
        # Two recorded keys can only be compared by their hashes.
        if isinstance(other, PassedKey):
            return self.digest == other.digest
        return self.digest == _compute_digest(other) if isinstance(other, str) else NotImplemented

    # `str` has its own `!=`, which would compare the texts (`[redacted]`).
    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.digest)


# Cached, because most calls of a run pass the same key.
@functools.lru_cache
def make_passed_key(key: str) -> PassedKey:
    """Return the recorded form of a key."""
    return PassedKey.from_digest(_compute_digest(key))


@functools.lru_cache
def _compute_digest(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
