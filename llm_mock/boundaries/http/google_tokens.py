"""A placeholder response in place of Google's token servers."""

from __future__ import annotations

import json
from typing import ClassVar

from llm_mock.boundaries import PLACEHOLDER_KEY

TOKEN = {
    "access_token": PLACEHOLDER_KEY,
    "expires_in": 3600,
    "token_type": "Bearer",
    "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
    # The fields for an account that impersonates another one.
    "accessToken": PLACEHOLDER_KEY,
    "expireTime": "2999-01-01T00:00:00Z",
}
"""The fields of all kinds of token responses: for users, service accounts and external accounts."""


class TokenResponse:
    """A response of `google.auth.transport` with a token."""

    status = 200
    headers: ClassVar[dict[str, str]] = {"content-type": "application/json"}
    data = json.dumps(TOKEN).encode()
