"""Expected JSON types of the fields of requests, as the API references and the SDKs' types say.

A row is the types that a field accepts, and the rows of the values in it: `[]` is the row of the
items of a list. Where a value holds rows of a kind that it is in itself, that is `AGAIN`.
"""

from __future__ import annotations

from typing import Any

Rows = dict[str, Any]
AGAIN = "again"


def _texts(*names: str) -> Rows:
    return dict.fromkeys(names, "str")


_AUDIO = _texts("data", "format")
_URL = ("str dict", _texts("url"))
_NAMED_SCHEMA = {**_texts("type", "name"), "schema": "dict"}
_OPENAI_FIELDS = {
    **_texts("user", "safety_identifier", "prompt_cache_key"),
    **dict.fromkeys(("store", "parallel_tool_calls"), "bool"),
    "top_logprobs": "int",
}

# https://platform.openai.com/docs/api-reference/chat/create, and Mistral's bare URLs and audio
_CHAT_PART = {
    **_texts("type", "text", "refusal", "file_id"),
    "image_url": _URL,
    "document_url": _URL,
    "input_audio": ("str dict", _AUDIO),
    "file": ("dict", _texts("file_data", "file_id", "filename")),
    # A chunk of Mistral's
    "thinking": ("list", {"[]": ("dict", _texts("text"))}),
}
_CHAT_CALL = {
    **_texts("id", "type"),
    "index": "int",
    "function": ("dict", {"name": "str", "arguments": "str dict"}),
    "custom": ("dict", _texts("name", "input")),
}
_ALLOWED_TOOLS = {"mode": "str", "tools": ("list", {"[]": "dict"})}
_CHAT_FUNCTION = {**_texts("name", "description"), "parameters": "dict"}
CHAT: Rows = {
    "model": "str",
    "temperature": "int float",
    "top_p": "int float",
    "stream": "bool",
    "n": "int",
    "max_tokens": "int",
    "max_completion_tokens": "int",
    "seed": "int",
    **_OPENAI_FIELDS,
    **dict.fromkeys(("frequency_penalty", "presence_penalty"), "int float"),
    "stream_options": "dict",
    "metadata": "dict",
    "tool_choice": ("str dict", {"allowed_tools": ("dict", _ALLOWED_TOOLS)}),
    "function_call": "str dict",
    "stop": "str list",
    "messages": (
        "list",
        {
            "[]": (
                "dict",
                {
                    **_texts("role", "name", "tool_call_id", "reasoning_content", "reasoning"),
                    "refusal": "str",
                    "function_call": ("dict", _texts("name", "arguments")),
                    "content": ("str list", {"[]": ("dict", _CHAT_PART)}),
                    "tool_calls": ("list", {"[]": ("dict", _CHAT_CALL)}),
                },
            )
        },
    ),
    "tools": ("list", {"[]": ("dict", {"type": "str", "function": ("dict", _CHAT_FUNCTION)})}),
    "functions": ("list", {"[]": ("dict", _CHAT_FUNCTION)}),
    "response_format": (
        "dict",
        {"type": "str", "json_schema": ("dict", {"name": "str", "schema": "dict"})},
    ),
}

# https://platform.openai.com/docs/api-reference/responses/create
_RESPONSES_PART = {
    **_texts("type", "text", "refusal", "image_url", "file_id", "file_data", "file_url"),
    "filename": "str",
    "input_audio": ("dict", _AUDIO),
}
_RESPONSES_ITEM = {
    **_texts("type", "role", "id", "call_id", "name", "input"),
    "arguments": "str dict",
    "content": ("str list", {"[]": ("dict", _RESPONSES_PART)}),
    "output": ("str list dict", {"[]": ("dict", _RESPONSES_PART)}),
    "summary": ("list", {"[]": ("dict", _RESPONSES_PART)}),
}
RESPONSES: Rows = {
    **_texts("model", "instructions", "previous_response_id", "truncation"),
    "temperature": "int float",
    "top_p": "int float",
    "stream": "bool",
    "background": "bool",
    **_OPENAI_FIELDS,
    **dict.fromkeys(("metadata", "prompt", "reasoning", "stream_options"), "dict"),
    **dict.fromkeys(("max_output_tokens", "max_tool_calls"), "int"),
    "input": ("str list", {"[]": ("dict", _RESPONSES_ITEM)}),
    "text": ("dict", {"format": ("dict", _NAMED_SCHEMA)}),
    "tools": (
        "list",
        {"[]": ("dict", {**_texts("type", "name", "description"), "parameters": "dict"})},
    ),
    "tool_choice": ("str dict", {**_texts("type", "name"), **_ALLOWED_TOOLS}),
}

# https://docs.claude.com/en/api/messages
_BLOCK: Rows = {
    **_texts("type", "text", "thinking", "id", "name", "tool_use_id", "file_id"),
    "input": "dict",
    "content": ("str list dict", {"[]": AGAIN}),
    # A text in a search result
    "source": (
        "str dict",
        {**_texts("type", "media_type", "data", "url", "file_id"), "content": AGAIN},
    ),
}
_BLOCKS = ("str list", {"[]": ("dict", _BLOCK)})
MESSAGES: Rows = {
    "model": "str",
    "temperature": "int float",
    "top_p": "int float",
    "stream": "bool",
    "metadata": "dict",
    "thinking": "dict",
    "max_tokens": "int",
    "stop_sequences": ("list", {"[]": "str"}),
    "messages": ("list", {"[]": ("dict", {"role": "str", "content": _BLOCKS})}),
    "system": _BLOCKS,
    "tools": (
        "list",
        {"[]": ("dict", {**_texts("type", "name", "description"), "input_schema": "dict"})},
    ),
    "tool_choice": ("dict", _texts("type", "name")),
    "output_format": ("dict", _NAMED_SCHEMA),
    "output_config": ("dict", {"format": ("dict", _NAMED_SCHEMA)}),
}

# https://ai.google.dev/api/generate-content
_GEMINI_FILES: Rows = {
    "inlineData": ("dict", _texts("mimeType", "data")),
    "fileData": ("dict", _texts("mimeType", "fileUri")),
}
_GEMINI_PART: Rows = {
    **_GEMINI_FILES,
    "text": "str",
    "thought": "bool",
    "functionCall": ("dict", {**_texts("id", "name"), "args": "dict"}),
    "functionResponse": (
        "dict",
        {
            **_texts("id", "name"),
            "response": "dict",
            "parts": ("list", {"[]": ("dict", _GEMINI_FILES)}),
        },
    ),
}
_GEMINI_PARTS = ("list dict", {"[]": ("dict", _GEMINI_PART), **_GEMINI_PART})
_GEMINI_CONTENT = ("str dict", {"role": "str", "parts": _GEMINI_PARTS})
_GEMINI_FUNCTION = {
    **_texts("name", "description"),
    "parameters": "dict",
    "parametersJsonSchema": "dict",
}
_GEMINI_TOOL = {"functionDeclarations": ("list", {"[]": ("dict", _GEMINI_FUNCTION)})}
GEMINI: Rows = {
    "contents": ("list", {"[]": ("dict", {"role": "str", "parts": _GEMINI_PARTS})}),
    "systemInstruction": _GEMINI_CONTENT,
    "tools": ("list dict", {"[]": ("dict", _GEMINI_TOOL), **_GEMINI_TOOL}),
    "toolConfig": (
        "dict",
        {
            "functionCallingConfig": (
                "dict",
                {"mode": "str", "allowedFunctionNames": ("list", {"[]": "str"})},
            )
        },
    ),
    "generationConfig": (
        "dict",
        {
            "temperature": "int float",
            "topP": "int float",
            "maxOutputTokens": "int",
            "stopSequences": ("list", {"[]": "str"}),
            "responseMimeType": "str",
            "responseSchema": "dict",
            "responseJsonSchema": "dict",
        },
    ),
}

# Texts, tokens, and the chunks of several models; Mistral says `inputs`.
_INPUT = ("str list", {"[]": "str int list dict"})
EMBEDDINGS: Rows = {
    "model": "str",
    "encoding_format": "str",
    "input": _INPUT,
    "inputs": _INPUT,
    "dimensions": "int",
    # The name of Mistral and Voyage.
    "output_dimension": "int",
}
# https://ai.google.dev/api/embeddings
_GEMINI_EMBEDDING = {
    "content": _GEMINI_CONTENT,
    "outputDimensionality": "int",
    "embedContentConfig": "dict",
}
GEMINI_EMBEDDINGS: Rows = {
    **_GEMINI_EMBEDDING,
    "requests": ("list", {"[]": ("dict", _GEMINI_EMBEDDING)}),
}

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
_AWS_SOURCE: Rows = {
    **_texts("bytes", "text"),
    "s3Location": ("dict", _texts("uri")),
    "content": AGAIN,
}
_AWS_FILE: Rows = {**_texts("format", "name"), "source": ("dict", _AWS_SOURCE)}
_AWS_CONTENT: Rows = {"content": AGAIN}
_AWS_REASONING: Rows = {
    "reasoningText": ("dict", _texts("text", "signature")),
    "redactedContent": "str",
}
_AWS_BLOCK: Rows = {
    "text": "str",
    **dict.fromkeys(("image", "document", "video", "audio"), ("dict", _AWS_FILE)),
    "toolUse": ("dict", _texts("toolUseId", "name")),
    "toolResult": ("dict", {**_texts("toolUseId", "status"), **_AWS_CONTENT}),
    "reasoningContent": ("dict", _AWS_REASONING),
    "guardContent": ("dict", {"text": ("dict", _texts("text")), "image": ("dict", _AWS_FILE)}),
    "searchResult": ("dict", _AWS_CONTENT),
    "citationsContent": ("dict", _AWS_CONTENT),
}
_AWS_BLOCKS = ("list", {"[]": ("dict", _AWS_BLOCK)})
_AWS_TOOL: Rows = {
    "toolSpec": (
        "dict",
        {**_texts("name", "description"), "inputSchema": ("dict", {"json": "dict"})},
    )
}
_AWS_FORMAT: Rows = {
    "type": "str",
    "structure": ("dict", {"jsonSchema": ("dict", _texts("schema", "name"))}),
}
CONVERSE: Rows = {
    "additionalModelRequestFields": "dict",
    "performanceConfig": "dict",
    "serviceTier": "dict",
    "messages": ("list", {"[]": ("dict", {"role": "str", "content": _AWS_BLOCKS})}),
    "system": _AWS_BLOCKS,
    "inferenceConfig": (
        "dict",
        {
            "temperature": "int float",
            "topP": "int float",
            "maxTokens": "int",
            "stopSequences": ("list", {"[]": "str"}),
        },
    ),
    "toolConfig": (
        "dict",
        {
            "tools": ("list", {"[]": ("dict", _AWS_TOOL)}),
            "toolChoice": (
                "dict",
                {"auto": "dict", "any": "dict", "tool": ("dict", _texts("name"))},
            ),
        },
    ),
    "outputConfig": ("dict", {"textFormat": ("dict", _AWS_FORMAT)}),
}
# https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-meta.html and -mistral
BEDROCK_PROMPT: Rows = {
    "prompt": "str",
    "temperature": "int float",
    "top_p": "int float",
    "max_gen_len": "int",
    "max_tokens": "int",
    "top_k": "int",
    "stop": ("list", {"[]": "str"}),
}

# https://ai.google.dev/api/interactions-api
INTERACTION: Rows = {
    **_texts("model", "agent", "system_instruction", "previous_interaction_id"),
    **dict.fromkeys(("stream", "store", "background"), "bool"),
    "input": ("str list dict", {"[]": "dict"}),
    "tools": ("list", {"[]": ("dict", _texts("type", "name", "description"))}),
    "response_format": ("list dict", {"[]": "dict"}),
    "generation_config": (
        "dict",
        {
            "temperature": "int float",
            "top_p": "int float",
            "max_output_tokens": "int",
            "seed": "int",
            "stop_sequences": ("list", {"[]": "str"}),
            "tool_choice": "str dict",
        },
    ),
}

_FUNCTION_TOOLS = (
    "list",
    {"[]": ("dict", {"type": "str", "function": ("dict", _CHAT_FUNCTION)})},
)
# https://github.com/ollama/ollama: ChatRequest, GenerateRequest and EmbedRequest of api/types.go
_OLLAMA_COMMON: Rows = {
    "model": "str",
    "format": "str dict",
    "options": "dict",
    "stream": "bool",
    "think": "str bool",
    "keep_alive": "str int float",
    "logprobs": "bool",
    "top_logprobs": "int",
}
_OLLAMA_CALL: Rows = {"id": "str", "function": ("dict", {"name": "str", "arguments": "dict"})}
_OLLAMA_MESSAGE: Rows = {
    **_texts("role", "content", "thinking", "tool_name", "tool_call_id"),
    "images": ("list", {"[]": "str"}),
    "tool_calls": ("list", {"[]": ("dict", _OLLAMA_CALL)}),
}
OLLAMA_CHAT: Rows = {
    **_OLLAMA_COMMON,
    "messages": ("list", {"[]": ("dict", _OLLAMA_MESSAGE)}),
    "tools": _FUNCTION_TOOLS,
}
OLLAMA_GENERATE: Rows = {
    **_OLLAMA_COMMON,
    **_texts("prompt", "suffix", "system", "template"),
    "images": ("list", {"[]": "str"}),
    "raw": "bool",
    "context": ("list", {"[]": "int"}),
}
OLLAMA_EMBED: Rows = {
    "model": "str",
    "input": ("str list", {"[]": "str"}),
    "dimensions": "int",
    "truncate": "bool",
    "options": "dict",
    "keep_alive": "str int float",
}

# https://docs.cohere.com/reference/chat, /reference/embed and /reference/rerank
_COHERE_CONTENT = (
    "str list",
    {
        "[]": (
            "dict",
            {**_texts("type", "text", "thinking"), "image_url": "dict", "document": "dict"},
        )
    },
)
_COHERE_CALL: Rows = {
    **_texts("id", "type"),
    "function": ("dict", _texts("name", "arguments")),
}
_COHERE_MESSAGE: Rows = {
    **_texts("role", "tool_plan", "tool_call_id"),
    "content": _COHERE_CONTENT,
    "tool_calls": ("list", {"[]": ("dict", _COHERE_CALL)}),
}
COHERE_CHAT: Rows = {
    **_texts("model", "safety_mode", "tool_choice"),
    "messages": ("list", {"[]": ("dict", _COHERE_MESSAGE)}),
    "tools": _FUNCTION_TOOLS,
    "documents": ("list", {"[]": "str dict"}),
    **dict.fromkeys(("response_format", "citation_options", "thinking"), "dict"),
    "stop_sequences": ("list", {"[]": "str"}),
    **dict.fromkeys(("stream", "strict_tools", "logprobs"), "bool"),
    **dict.fromkeys(("max_tokens", "seed", "k", "priority"), "int"),
    **dict.fromkeys(("temperature", "p", "frequency_penalty", "presence_penalty"), "int float"),
}
COHERE_EMBED: Rows = {
    **_texts("model", "input_type", "truncate"),
    **dict.fromkeys(("texts", "images", "embedding_types"), ("list", {"[]": "str"})),
    "inputs": ("list", {"[]": ("dict", {"content": _COHERE_CONTENT})}),
    "output_dimension": "int",
}
COHERE_RERANK: Rows = {
    **_texts("model", "query"),
    "documents": ("list", {"[]": "str dict"}),
    "top_n": "int",
    "return_documents": "bool",
}
