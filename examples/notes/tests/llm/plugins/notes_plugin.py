"""Tools for plain-language tests: the service itself, and requests the built-ins lack."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from urllib.request import Request, urlopen

from llm_mock.specs import LLMPlugin

EXAMPLES = Path(__file__).parents[4]
"""From here `notes` can be imported."""


class NotesPlugin(LLMPlugin):
    """The tools `notes_start`, `notes_stop`, `notes_delete` and `notes_reset` of one test."""

    name = "notes"

    def __init__(self) -> None:
        self._service: asyncio.subprocess.Process | None = None
        self._url = ""

    async def start(self) -> dict[str, str]:
        """Start the service on a free port of this machine; the result has its url."""
        await self.stop()
        self._service = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "notes.service", "--port", "0"),
            cwd=EXAMPLES,
            stdin=asyncio.subprocess.DEVNULL,  # this process's own belongs to the protocol
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._service.stdout is not None
        self._url = (await self._service.stdout.readline()).decode().strip()
        return {"url": self._url}

    async def stop(self) -> dict[str, bool]:
        """End the service; the result says whether it was running."""
        service, self._service = self._service, None
        if service is None:
            return {"stopped": False}
        service.terminate()
        await service.wait()
        return {"stopped": True}

    async def delete(self, number: int) -> dict[str, int]:
        """Delete a note.

        Args:
            number: that of the note.
        """
        return await self._delete(f"/notes/{number}")

    async def reset(self) -> dict[str, int]:
        """Delete all notes."""
        return await self._delete("/notes")

    async def cleanup(self) -> None:
        """End the service where a test did not come to do it."""
        await self.stop()

    async def _delete(self, path: str) -> dict[str, int]:
        def send() -> int:
            with urlopen(Request(self._url + path, method="DELETE"), timeout=10) as answer:
                return int(answer.status)

        return {"status_code": await asyncio.to_thread(send)}
