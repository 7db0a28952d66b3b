"""Takes in what a provider answers over HTTP while the client reads it, for a cassette."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llm_mock.behaviour.provider_errors import ReceivedError
from llm_mock.boundaries.http.chunks import ToolCallCollector
from llm_mock.boundaries.http.protocols.protocol import parse_json_or_text
from llm_mock.boundaries.http.protocols.responses_items import store_provider_response
from llm_mock.boundaries.http.readers.text_slots import TextSlots
from llm_mock.boundaries.http.routing import create_reader
from llm_mock.core.events import Wait
from llm_mock.core.protocols import AnswerMetadata, PassthroughCall
from llm_mock.core.tool_calls import BrokenToolCall
from llm_mock.errors import NotRecordable

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.boundaries.http.wire import WireRequest

ENCODINGS = ("gzip", "deflate", "identity")
"""The encodings of a body that can be read here."""
END_OF_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")
SDK_ERRORS = {
    **{400: "BadRequestError", 401: "AuthenticationError", 403: "PermissionDeniedError", 404: "NotFoundError"},
    **{409: "ConflictError", 422: "UnprocessableEntityError", 429: "RateLimitError"},
}
"""What OpenAI's and Anthropic's SDKs call their exceptions."""


class WireRecording:
    """One request that is sent for real, and its response.

    Whatever goes wrong in reading it, the client gets what the provider sent.

    Args:
        call: is told what is answered.
        request: what is asked.
        sent: the same as HTTP has it.
    """

    def __init__(self, call: PassthroughCall, request: HTTPRequest, sent: WireRequest) -> None:
        self._call, self._request, self._sent = call, request, sent
        self._reader = create_reader(request.api)
        self._texts = TextSlots(self._reader)
        self._status, self._headers = 0, dict[str, str]()
        self._streamed = self._ended = False
        self._data, self._received = b"", 0
        self._events: list[Any] = []
        self._body: Any = None
        self._calls = ToolCallCollector()
        self._problem: Exception | None = None
        self._inflate: Any = None
        self.delay = Wait(0)
        """Nothing is waited for before it is sent."""
        call.hide(sent.key, *sent.secrets())

    def header_overrides(self) -> dict[str, str]:
        """The headers to send in place of the client's: it accepts no encoding that cannot be read here."""
        accepted = [part.strip() for part in self._sent.headers.get("accept-encoding", "").split(",")]
        kept = [part for part in accepted if part.partition(";")[0] in ENCODINGS]
        return {} if accepted == kept else {"accept-encoding": ", ".join(kept) or "identity"}

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Within it the request is sent; when that fails, so does the call."""
        try:
            yield
        except BaseException as error:
            self._call.watch(self._outcome)
            self._end(error)
            raise

    def begin(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """The response has come, without its body."""
        self._status, self._headers = status, {name.lower(): value for name, value in headers}
        self._streamed = status < 400 and self._headers.get("content-type", "").startswith("text/event-stream")
        encoding = self._headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("gzip", "x-gzip", "deflate"):
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif encoding != "identity":
            self._problem = NotRecordable(f"it is encoded as {encoding}, which cannot be read here")
        self._call.watch(self._outcome)

    def take(self, data: bytes) -> None:
        """A piece of the body came."""
        self._received += len(data)
        if self._problem is not None:
            return
        try:
            self._data += self._inflate.decompress(data) if self._inflate else data
            if self._streamed:
                self._take_events()
        except Exception as problem:
            self._problem = problem

    def end(self, error: BaseException | None = None) -> None:
        """The body is complete, or broke off."""
        if self._ended:
            return
        if error is None and self._problem is None:
            try:
                error = self._at_the_end()
            except Exception as problem:
                self._problem = problem
        self._end(error)

    def close(self) -> None:
        """The client reads no further, perhaps because there is no more."""
        is_whole = self._reader.has_ended or self._headers.get("content-length") == str(self._received)
        self.end(None if is_whole else GeneratorExit())

    def pieces(self, body: Iterable[bytes]) -> Iterator[bytes]:
        """The body as it comes, taken in."""
        with self.reading():
            for piece in body:
                self.take(piece)
                yield piece

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Within it the body is read to its end, or as far as the client wants."""
        try:
            yield
        except Exception as error:
            self.end(error)
            raise
        except GeneratorExit:
            self.close()
            raise
        self.end()

    def _end(self, error: BaseException | None) -> None:
        self._ended = True
        self._call.end(error)

    def _at_the_end(self) -> Exception | None:
        """Read what is left; the error that the response is."""
        if self._streamed:
            self._data += b"\n\n"
            self._take_events()
            return None
        text = self._data.decode(errors="replace")
        if self._status >= 400:
            url = f"https://{self._sent.host}{self._sent.path}"
            return ReceivedError(self._status, self._headers, text, url, self._sdk_error())
        self._body = parse_json_or_text(text)
        self._take_texts(self._body)
        return None

    def _sdk_error(self) -> str | None:
        client = (self._sent.client or "").lower()
        sdk = next((sdk for sdk in ("openai", "anthropic") if f"{sdk}/python" in client), None)
        otherwise = "InternalServerError" if self._status >= 500 else "APIStatusError"
        return sdk and f"{sdk}:{SDK_ERRORS.get(self._status, otherwise)}"

    def _take_events(self) -> None:
        *events, self._data = END_OF_EVENT.split(self._data)
        for event in events:
            lines = event.decode(errors="replace").splitlines()
            data = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
            if data:
                body = parse_json_or_text("\n".join(data))
                self._take_texts(body)
                self._events.append(body)

    def _take_texts(self, body: Any) -> None:
        if self._request.api == "responses":
            store_provider_response(self._request, body)
        for piece in self._texts.extract(body):
            self._call.take(piece)
            if not isinstance(piece, str):
                self._calls.add(piece)

    def _outcome(self) -> AnswerMetadata:
        if self._problem is not None:
            raise NotRecordable(str(self._problem) or type(self._problem).__name__)
        reader = self._reader
        calls = [BrokenToolCall(call.name, call.arguments or "{}", call.id or None) for call in self._calls.finish()]
        answered = self._status and self._status < 400
        return AnswerMetadata(
            tool_calls=calls,
            attachments=(),
            usage=reader.usage,
            resolved_model=reader.model if reader.model != self._request.model_id else None,
            raw=self._events if self._streamed else self._body,
            sent=None,
            sent_before=None,
            attributes={},
            http={"api": self._request.api, "streamed": self._streamed, "headers": self._headers} if answered else None,
        )
