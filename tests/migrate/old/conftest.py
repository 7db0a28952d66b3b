from __future__ import annotations

import pytest
import reviews

FAULTS = ("", "prompt", "answer", "system", "option", "schema", "retry", "twice", "no call", "call")


@pytest.fixture(autouse=True, params=FAULTS)
def fault(request, monkeypatch):
    monkeypatch.setattr(reviews, "BROKEN", request.param)
