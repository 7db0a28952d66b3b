"""The endpoints for moderations, images and audio, in the formats of OpenAI and Mistral."""

from __future__ import annotations

import base64
import struct
import time
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.chunks import ResponseContext, collect_reply
from llm_mock.boundaries.http.endpoint_requests import (
    EndpointRequest,
    content_response,
    create_call_request,
)
from llm_mock.boundaries.http.protocols.protocol import make_text_part
from llm_mock.boundaries.http.request import Attachment, HTTPRequest
from llm_mock.boundaries.http.routing import find_protocol
from llm_mock.boundaries.http.wire import (
    WireRequest,
    WireResponse,
    event_stream_response,
    json_response,
    server_sent_event,
)
from llm_mock.core.answer import Answer
from llm_mock.core.reply import Reply
from llm_mock.core.tokens import estimate_tokens
from llm_mock.errors import LLMMockError, UnexpectedCall

if TYPE_CHECKING:
    from llm_mock.boundaries.http.error_formats import ErrorFormat
    from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor
    from llm_mock.core.mock import Mock
    from llm_mock.support.json_types import JSONObject

OPENAI_CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    *("sexual/minors", "violence", "violence/graphic"),
)
"""The categories of OpenAI's moderation."""
MISTRAL_CATEGORIES = (
    *("sexual", "hate_and_discrimination", "violence_and_threats"),
    "dangerous_and_criminal_content",
    "selfharm",
    "health",
    "financial",
    "law",
    "pii",
)
"""The categories of Mistral's moderation."""
IMAGE_TOKENS = 1056
"""The tokens of a square image in medium quality, as OpenAI documents them."""
SAMPLE_RATE = 24_000
"""The rate of OpenAI's audio in PCM, in samples of 16 bits per second."""
SECONDS = 1
"""The length of all generated audio, in seconds."""
# A silent frame of MPEG-1 layer III with 128 kbit/s and 44.1 kHz.
MP3_FRAME = b"\xff\xfb\x90\x00" + bytes(413)
SPEECH_TYPES = {"mp3": "audio/mpeg", "wav": "audio/wav", "pcm": "audio/pcm"}
"""The media types of the formats in which the mock has audio."""


def answer_moderations(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer `POST …/moderations` with results that flag nothing."""
    dialect = _find_dialect(provider)
    if dialect is None:
        return None
    is_mistral = dialect.name == "mistral"
    default = "mistral-moderation-latest" if is_mistral else "omni-moderation-latest"
    call = _begin_call(sent, provider, mock, dialect.errors, ("input",), default)
    inputs = call.body["input"]
    build = _build_mistral_moderation if is_mistral else _build_openai_moderation
    # A list of texts, or of conversations, has a result for each; other lists are one input.
    count = 1
    if isinstance(inputs, list) and inputs and isinstance(inputs[0], (str, list)):
        count = len(inputs)
    body = {
        "id": f"modr-mock-{call.number}",
        "model": call.request.model_id,
        "results": [build() for _ in range(count)],
    }
    return call.complete(Reply(data=body), json_response(body))


def _build_openai_moderation() -> JSONObject:
    types = {name: ["text"] for name in OPENAI_CATEGORIES}
    scores = _build_scores(OPENAI_CATEGORIES)
    return {"flagged": False, "category_applied_input_types": types, **scores}


def _build_mistral_moderation() -> JSONObject:
    return _build_scores(MISTRAL_CATEGORIES)


def _build_scores(categories: tuple[str, ...]) -> JSONObject:
    return {
        "categories": dict.fromkeys(categories, False),
        "category_scores": dict.fromkeys(categories, 0.0001),
    }


def answer_images(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer `POST …/images/generations`, `…/edits` and `…/variations` with small PNG images."""
    dialect = _find_dialect(provider)
    if dialect is None or dialect.name == "mistral":
        return None
    required = {
        "generations": ("prompt",),
        "edits": ("image", "prompt"),
        "variations": ("image",),
    }
    kind = sent.path.rpartition("/")[2]
    call = _begin_call(sent, provider, mock, dialect.errors, required[kind], "dall-e-2")
    model = call.request.model_id
    call.require_format("output_format", "png", ("png",))
    is_gpt = "dall-e" not in model
    if is_gpt and str(call.body.get("stream")).lower() == "true":
        return _stream_image(call, kind)
    has_content = is_gpt or call.body.get("response_format") == "b64_json"
    images = _build_images(call, has_content)
    body: JSONObject = {"created": int(time.time()), "data": images}
    if is_gpt:
        body.update(_describe_image(call), usage=_build_image_usage(call, len(images)))
    recorded = {**body, "data": f"<{len(images)} images>"}
    return call.complete(Reply(data=recorded), json_response(body))


def _build_images(call: EndpointCall, has_content: bool) -> list[JSONObject]:
    """Return the requested number of images, each with its content or a link."""
    images: list[JSONObject] = []
    for number in range(1, int(call.body.get("n") or 1) + 1):
        url = f"https://images.llm-mock.invalid/{call.number}/{number}.png"
        images.append({"b64_json": make_png_text()} if has_content else {"url": url})
    return images


def _describe_image(call: EndpointCall) -> JSONObject:
    """Return the settings of an image, with `auto` resolved."""
    defaults = {"background": "opaque", "quality": "medium", "size": "1024x1024"}
    description: JSONObject = {"output_format": "png"}
    for name, default in defaults.items():
        given = call.body.get(name)
        description[name] = default if given in (None, "auto") else given
    return description


def _build_image_usage(call: EndpointCall, count: int) -> JSONObject:
    text_tokens = estimate_tokens(len(call.request.prompt))
    output_tokens = IMAGE_TOKENS * count
    return {
        "input_tokens": text_tokens,
        "input_tokens_details": {"text_tokens": text_tokens, "image_tokens": 0},
        "output_tokens": output_tokens,
        "total_tokens": text_tokens + output_tokens,
    }


def _stream_image(call: EndpointCall, kind: str) -> WireResponse:
    name = "image_edit" if kind == "edits" else "image_generation"
    event = {
        "type": f"{name}.completed",
        "b64_json": make_png_text(),
        "created_at": int(time.time()),
        **_describe_image(call),
        "usage": _build_image_usage(call, 1),
    }
    stream = event_stream_response([server_sent_event(event, event["type"])])
    return call.complete(Reply("<1 image>"), stream)


def make_png_text() -> str:
    """Return a base64 PNG image of one grey pixel."""
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\x00\x80")),
        (b"IEND", b""),
    )
    content = b"\x89PNG\r\n\x1a\n"
    for name, data in chunks:
        checksum = struct.pack(">I", zlib.crc32(name + data))
        content += struct.pack(">I", len(data)) + name + data + checksum
    return base64.b64encode(content).decode()


def answer_speech(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer `POST …/audio/speech` with a second of silence."""
    dialect = _find_dialect(provider)
    if dialect is None:
        return None
    is_mistral = dialect.name == "mistral"
    required = ("input",) if is_mistral else ("model", "input", "voice")
    call = _begin_call(sent, provider, mock, dialect.errors, required, "voxtral-mini-tts-latest")
    audio_format = call.require_format("response_format", "mp3", tuple(SPEECH_TYPES))
    audio = make_silence(audio_format)
    reply = Reply(f"<{len(audio)} bytes>")
    encoded = base64.b64encode(audio).decode()
    if is_mistral:
        return call.complete(reply, json_response({"audio_data": encoded}))
    if call.body.get("stream_format") != "sse":
        return call.complete(reply, content_response(audio, SPEECH_TYPES[audio_format]))
    input_tokens = estimate_tokens(len(call.request.prompt))
    usage = {"input_tokens": input_tokens, "output_tokens": 20, "total_tokens": input_tokens + 20}
    events = (
        {"type": "speech.audio.delta", "audio": encoded},
        {"type": "speech.audio.done", "usage": usage},
    )
    return call.complete(reply, event_stream_response(map(server_sent_event, events)))


def make_silence(audio_format: str) -> bytes:
    """Return a second of silence as `mp3`, `wav` or `pcm`."""
    if audio_format == "mp3":
        # 38 frames of 26 ms.
        return MP3_FRAME * 38
    samples = bytes(2 * SAMPLE_RATE * SECONDS)
    if audio_format == "pcm":
        return samples
    rates = struct.pack("<IHHIIHH", 16, 1, 1, SAMPLE_RATE, 2 * SAMPLE_RATE, 2, 16)
    length = struct.pack("<I", 36 + len(samples))
    size = struct.pack("<I", len(samples))
    return b"RIFF" + length + b"WAVEfmt " + rates + b"data" + size + samples


def answer_transcription(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer `POST …/audio/transcriptions` and `…/translations` with the reply of the model."""
    dialect = _find_dialect(provider)
    if dialect is None:
        return None
    fields = EndpointRequest(sent).get_fields()
    is_mistral = dialect.name == "mistral"
    for name in ("model",) if is_mistral else ("file", "model"):
        if not fields.get(name):
            raise dialect.errors.build_missing_field_error(name)
    request = _create_audio_request(sent, provider)
    answer = mock.answer(request)
    if not isinstance(answer, Answer):
        raise LLMMockError(
            "Transcriptions cannot be sent to the provider or recorded; configure a reply for "
            f"the model {request.model_id!r}."
        )
    text = collect_reply(ResponseContext(request, answer, mock)).text
    if is_mistral:
        return _build_mistral_transcription(request, answer, text)
    return _build_transcription(fields, answer, text, sent.path.endswith("/translations"))


def _create_audio_request(sent: WireRequest, provider: str) -> HTTPRequest:
    """Return a request whose audio is an attachment."""
    request = create_call_request(sent, provider)
    audio = EndpointRequest(sent).form.get("file")
    content = audio if isinstance(audio, bytes) else None
    parts = [make_text_part(request.prompt)] if request.prompt else []
    attachment = Attachment("audio/*", str(request.body.get("file_url") or ""), content)
    request.attachments = [attachment]
    parts.append({"type": "attachment", "attachment": attachment})
    request.conversation = [{"role": "user", "parts": parts}]
    return request


def _build_mistral_transcription(request: HTTPRequest, answer: Answer, text: str) -> WireResponse:
    tokens = answer.record["output_tokens"] or 0
    usage = {
        "prompt_audio_seconds": SECONDS,
        "prompt_tokens": 0,
        "completion_tokens": tokens,
        "total_tokens": tokens,
    }
    body: JSONObject = {
        "model": request.model_id,
        "text": text,
        "language": "en",
        "segments": [],
    }
    if request.body.get("stream") not in (None, False, "false"):
        delta = {"type": "transcription.text.delta", "text": text}
        done = {"type": "transcription.done", **body, "usage": usage}
        first = server_sent_event(delta, "transcription.text.delta")
        return event_stream_response([first, server_sent_event(done, "transcription.done")])
    return json_response({**body, "usage": usage})


def _build_transcription(
    fields: JSONObject, answer: Answer, text: str, is_translation: bool
) -> WireResponse:
    """Return a transcription or a translation in the requested format of OpenAI."""
    output_tokens = answer.record["output_tokens"] or 0
    usage: JSONObject = {"type": "duration", "seconds": SECONDS}
    if "whisper" not in str(fields["model"]):
        usage = {
            "type": "tokens",
            "input_tokens": 10,
            "input_token_details": {"text_tokens": 0, "audio_tokens": 10},
            "output_tokens": output_tokens,
            "total_tokens": 10 + output_tokens,
        }
    if str(fields.get("stream")).lower() == "true":
        delta = {"type": "transcript.text.delta", "delta": text}
        done = {"type": "transcript.text.done", "text": text, "usage": usage}
        return event_stream_response([server_sent_event(delta), server_sent_event(done)])
    formats: Mapping[str, Callable[[], Any]] = {
        "json": lambda: {"text": text, "usage": usage},
        "verbose_json": lambda: _build_verbose_transcription(text),
        "diarized_json": lambda: _build_diarized_transcription(text, usage),
        "text": lambda: f"{text}\n",
        "srt": lambda: f"1\n00:00:00,000 --> 00:00:01,000\n{text}\n\n",
        "vtt": lambda: f"WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n{text}\n\n",
    }
    chosen = str(fields.get("response_format") or "json")
    body = formats.get(chosen, formats["json"])()
    if isinstance(body, str):
        return content_response(body.encode(), "text/plain; charset=utf-8")
    if is_translation:
        del body["usage"]
    return json_response(body)


def _build_verbose_transcription(text: str) -> JSONObject:
    segment = {
        "id": 0,
        "seek": 0,
        "start": 0.0,
        "end": float(SECONDS),
        "text": text,
        "tokens": [],
        "temperature": 0.0,
        "avg_logprob": -0.1,
        "compression_ratio": 1.0,
        "no_speech_prob": 0.0,
    }
    return {
        "language": "english",
        "duration": float(SECONDS),
        "text": text,
        "segments": [segment],
        "usage": {"type": "duration", "seconds": SECONDS},
    }


def _build_diarized_transcription(text: str, usage: JSONObject) -> JSONObject:
    segment = {
        "type": "transcript.text.segment",
        "id": "seg_mock_1",
        "start": 0.0,
        "end": float(SECONDS),
        "speaker": "A",
        "text": text,
    }
    return {
        "task": "transcribe",
        "duration": float(SECONDS),
        "text": text,
        "segments": [segment],
        "usage": usage,
    }


def _find_dialect(provider: str) -> ProviderDescriptor | None:
    """Return the provider whose format the mock uses for OpenAI's paths, or None."""
    protocol = find_protocol("POST", "/chat/completions", provider)
    return None if protocol is None else protocol.provider


class EndpointCall:
    """A recorded call to an endpoint that the mock answers by default."""

    def __init__(self, mock: Mock, request: HTTPRequest) -> None:
        self.request = request
        self.body = request.body
        self._mock = mock
        self._record = mock.record_request(request)
        self.number = f"{mock.history.get_id_prefix()}{self._record['number']}"
        if mock.settings.strict == "error":
            sent = request.sent
            assert sent is not None
            message = (
                f"No response was configured for {sent.method} {sent.path} of {sent.host}, model "
                f"{request.model_id!r}. Configure it with mock.on({sent.method!r}, "
                f"{sent.path!r}, …){mock.settings.method_place}."
                f"{mock.configurator.replies.list_endpoints()}"
            )
            mock.note_problem(message)
            self._fail(UnexpectedCall(message))
        self._record["configured"] = False

    def require_format(self, name: str, default: str, known: tuple[str, ...]) -> str:
        """Return the requested format of a file.

        Raises:
            LLMMockError: the mock has no sample file in this format.
        """
        chosen = str(self.body.get(name) or default)
        if chosen not in known:
            sent = self.request.sent
            path = "" if sent is None else sent.path
            message = (
                f"llm_mock has no sample file for {name}={chosen!r}, only for {', '.join(known)}. "
                f"Use one of these, or configure the bytes with mock.on('POST', {path!r}, …)"
                f"{self._mock.settings.method_place}."
            )
            self._mock.note_problem(message)
            self._fail(LLMMockError(message))
        return chosen

    def complete(self, reply: Reply, response: WireResponse) -> WireResponse:
        """Record a reply, and return the response."""
        self._mock.record_answer(self._record, reply, self.request)
        return response

    def _fail(self, error: LLMMockError) -> None:
        self._mock.record_failure(self._record, error)
        raise error


def _begin_call(
    sent: WireRequest,
    provider: str,
    mock: Mock,
    errors: ErrorFormat,
    required: tuple[str, ...],
    default_model: str,
) -> EndpointCall:
    """Record a request for an endpoint.

    Raises:
        WireError: a required field is missing.
        UnexpectedCall: the test is strict, so each response must be configured.
    """
    fields = EndpointRequest(sent).get_fields()
    for name in required:
        if fields.get(name) is None and fields.get(f"{name}[]") is None:
            raise errors.build_missing_field_error(name)
    model = str(fields.get("model") or default_model)
    return EndpointCall(mock, create_call_request(sent, provider, model))
