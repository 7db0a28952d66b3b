"""Expected rows of the tables of providers, as their documentation and the sources of SDKs say.

Nothing here is computed from the package. A row that is changed, added or removed there without
its row here fails `test_provider_tables.py`.
"""

from __future__ import annotations

from typing import NamedTuple

DOMAINS = {
    "01.ai": "api.lingyiwanwu.com",
    "ai21": "api.ai21.com",
    "aimlapi": "api.aimlapi.com",
    "aleph-alpha": "api.aleph-alpha.com",
    # `claude.googleapis.com` is the default of `AnthropicGoogleCloud`.
    "anthropic": "api.anthropic.com claude.googleapis.com",
    "anyscale": "api.endpoints.anyscale.com",
    "arcee": "api.arcee.ai",
    "azure": (
        "cognitiveservices.azure.com cognitiveservices.azure.us inference.ai.azure.com "
        "inference.ml.azure.com models.ai.azure.com openai.azure.com openai.azure.us "
        "services.ai.azure.com services.ai.azure.us"
    ),
    "baichuan": "api.baichuan-ai.com",
    "baidu": "qianfan.baidubce.com",
    "baseten": "api.baseten.co inference.baseten.co",
    "browser-use": "llm.api.browser-use.com",
    "cerebras": "api.cerebras.ai",
    "chutes": "llm.chutes.ai",
    "clarifai": "api.clarifai.com",
    "cloudflare": "gateway.ai.cloudflare.com",
    "cohere": "api.cohere.ai api.cohere.com",
    "cometapi": "api.cometapi.com",
    "dashscope": "dashscope-intl.aliyuncs.com dashscope-us.aliyuncs.com dashscope.aliyuncs.com",
    "deepinfra": "api.deepinfra.com",
    "deepseek": "api.deepseek.com",
    "featherless": "api.featherless.ai",
    "fireworks": "api.fireworks.ai",
    "friendli": "api.friendli.ai",
    "gigachat": "gigachat.devices.sberbank.ru",
    "github": "githubcopilot.com models.github.ai",
    "google": "cloudcode-pa.googleapis.com generativelanguage.googleapis.com",
    "groq": "api.groq.com",
    "helicone": "helicone.ai",
    "heroku": "inference.heroku.com",
    "huggingface": (
        "api-inference.huggingface.co endpoints.huggingface.cloud router.huggingface.co"
    ),
    "hyperbolic": "api.hyperbolic.xyz",
    "inception": "api.inceptionlabs.ai",
    "inference.net": "api.inference.net",
    "jina": "api.jina.ai",
    "kluster": "api.kluster.ai",
    "lambda": "api.lambda.ai api.lambdalabs.com",
    "llama": "api.llama.com",
    "longcat": "api.longcat.chat",
    "minimax": "api.minimax.chat api.minimax.io api.minimaxi.com",
    # The servers `eu` and `us` of Mistral's SDK.
    "mistral": "api.eu.mistral.ai api.mistral.ai api.us.mistral.ai codestral.mistral.ai",
    "modelscope": "api-inference.modelscope.cn",
    "moonshot": "api.kimi.com api.moonshot.ai api.moonshot.cn",
    "morph": "api.morphllm.com",
    "nano-gpt": "nano-gpt.com",
    "nebius": "api.studio.nebius.ai api.studio.nebius.com api.tokenfactory.nebius.com",
    "nlpcloud": "api.nlpcloud.io",
    "nous": "inference-api.nousresearch.com",
    "novita": "api.novita.ai",
    "nvidia": "api.nvidia.com",
    "ollama": "ollama.com",
    "openai": "api.openai.com",
    "openrouter": "openrouter.ai",
    "ovh": "endpoints.kepler.ai.cloud.ovh.net",
    "parasail": "api.parasail.io",
    "perplexity": "api.perplexity.ai",
    "poe": "api.poe.com",
    "portkey": "api.portkey.ai",
    "predibase": "serving.app.predibase.com",
    "pydantic": "gateway.pydantic.dev",
    "reka": "api.reka.ai",
    "replicate": "api.replicate.com",
    "requesty": "router.requesty.ai",
    "runpod": "api.runpod.ai",
    "sambanova": "api.sambanova.ai",
    "scaleway": "api.scaleway.ai",
    "siliconflow": "api.siliconflow.cn api.siliconflow.com",
    "spark": "spark-api-open.xf-yun.com",
    "stepfun": "api.stepfun.com",
    "targon": "api.targon.com",
    "tencent": "api.hunyuan.cloud.tencent.com hunyuan.tencentcloudapi.com",
    "together": "api-inference.together.ai api.together.ai api.together.xyz",
    "upstage": "api.upstage.ai",
    "venice": "api.venice.ai",
    "vercel": "ai-gateway.vercel.sh",
    "voyage": "api.voyageai.com",
    "watsonx": "ml.cloud.ibm.com",
    "writer": "api.writer.com",
    "x.ai": "api.x.ai",
    "yandex": "ai.api.cloud.yandex.net llm.api.cloud.yandex.net",
    "z.ai": "api.z.ai",
    "zhipu": "open.bigmodel.cn",
}
"""The domains of each provider, which hold for all subdomains."""

REGIONAL_HOSTS = {
    "anthropic": ("aws-external-anthropic.us-east-1.api.aws",),
    # The endpoints in the rules of botocore, in all public partitions, and those of PrivateLink.
    "bedrock": (
        "bedrock-runtime.us-east-1.amazonaws.com",
        "bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
        "bedrock-runtime.eu-west-1.api.aws",
        "bedrock-runtime.cn-north-1.amazonaws.com.cn",
        "bedrock-runtime.cn-north-1.api.amazonwebservices.com.cn",
        "bedrock-runtime.eusc-de-east-1.amazonaws.eu",
        "bedrock-runtime.eusc-de-east-1.api.amazonwebservices.eu",
        "bedrock-agent-runtime.us-east-1.amazonaws.com",
        "bedrock-agent-runtime-fips.us-east-1.api.aws",
        "bedrock-mantle.us-east-1.api.aws",
        "vpce-0a-1b.bedrock-runtime.us-east-1.vpce.amazonaws.com",
    ),
    "google": (
        "us-central1-aiplatform.googleapis.com",
        "aiplatform.googleapis.com",
        "aiplatform.eu.rep.googleapis.com",
        "aiplatform.mtls.googleapis.com",
        "generativelanguage.mtls.googleapis.com",
        "autopush-generativelanguage.sandbox.googleapis.com",
    ),
    "oracle": ("inference.generativeai.us-chicago-1.oci.oraclecloud.com",),
    "sagemaker": (
        "runtime.sagemaker.us-east-1.amazonaws.com",
        "runtime.sagemaker.cn-north-1.amazonaws.com.cn",
        "runtime-fips.sagemaker.us-east-1.amazonaws.com",
        "runtime.sagemaker-fips.us-east-1.amazonaws.com",
        "runtime.sagemaker-fips.us-east-1.api.aws",
        "runtime.sagemaker.us-east-1.api.aws",
        "runtime.sagemaker.eusc-de-east-1.amazonaws.eu",
        "vpce-0a-1b.runtime.sagemaker.us-east-1.vpce.amazonaws.com",
    ),
    "volcengine": ("ark.cn-beijing.volces.com", "ark.ap-southeast.bytepluses.com"),
}
"""Hosts that the regular expressions must know."""
NO_PROVIDERS = (
    # The control planes, which call no model.
    "bedrock.us-east-1.amazonaws.com",
    "bedrock-agent.us-east-1.amazonaws.com",
    "api.sagemaker.us-east-1.amazonaws.com",
    "metrics.sagemaker.us-east-1.amazonaws.com",
    "external-anthropic.us-east-1.api.aws",
    "aws-external-anthropic.api.aws",
    "aws-external-anthropic.us-east-1.amazonaws.com",
    "aws-external-anthropic.us-east-1.api.aws.test",
    "my-bedrock-runtime.us-east-1.amazonaws.com",
    "bedrock-runtime.amazonaws.com",
    "bedrock-runtimes.us-east-1.amazonaws.com",
    "bedrock-runtime.us-east-1.amazonaws.com.test",
    "bedrock-runtime.us-east-1.amazonaws.com.cn.test",
    "bedrock-runtime.us-east-1.amazonaws.co",
    "bedrock-runtime.us-east-1.amazonawsxcom",
    "bedrock-runtime.us-east-1.notamazonaws.com",
    "bedrock-runtimexus-east-1.amazonaws.com",
    "bedrock-runtime.us-east-1.apixaws",
    "bedrock-embedding-runtime.us-east-1.amazonaws.com",
    "bedrock-runtime-slow.us-east-1.amazonaws.com",
    "s3.us-east-1.amazonaws.com",
    "runtime.sagemaker.amazonaws.com",
    "runtime.sagemaker.us-east-1.amazonaws.com.test",
    "myruntime.sagemaker.us-east-1.amazonaws.com",
    "runtimexsagemaker.us-east-1.amazonaws.com",
    "runtime.lex.us-east-1.amazonaws.com",
    "runtime.sagemaker-slow.us-east-1.amazonaws.com",
    "aiplatform.googleapis.com.test",
    "myaiplatform.googleapis.com",
    "aiplatform.googleapis.co",
    "aiplatformxgoogleapis.com",
    "storage.googleapis.com",
    "claude.googleapis.com.test",
    "agenerativelanguage.googleapis.com",
    "inference.generativeai.oci.oraclecloud.com",
    "inference.generativeai.us-chicago-1.oci.oraclecloud.com.test",
    "my.inference.generativeai.us-chicago-1.oci.oraclecloud.com",
    "inference.generativeai.us-chicago-1.oraclecloud.com",
    "inferencexgenerativeai.us-chicago-1.oci.oraclecloud.com",
    "ark.volces.com",
    "ark.cn-beijing.volces.com.test",
    "dark.cn-beijing.volces.com",
    "ark.cn-beijing.volcesxcom",
    "tos.cn-beijing.volces.com",
)
"""Hosts that look like those of a provider."""

SHARED_PATHS = {
    "cloudflare": (
        ("api.cloudflare.com", "/client/v4/accounts/1/ai/run/@cf/meta/llama"),
        ("api.cloudflare.com", "/client/v4/accounts/1/ai/v1/chat/completions"),
    ),
    "databricks": (
        ("mine.cloud.databricks.com", "/serving-endpoints/mine/invocations"),
        ("adb-1.2.azuredatabricks.net", "/serving-endpoints/chat/completions"),
        ("databricks.com", "/serving-endpoints/mine/invocations"),
    ),
    "openai": (("chatgpt.com", "/backend-api/codex/responses"),),
    "snowflake": (
        ("mine.snowflakecomputing.com", "/api/v2/cortex/inference:complete"),
        ("mine.snowflakecomputing.cn", "/api/v2/cortex/inference:complete"),
    ),
}
"""Requests at hosts that serve other things too."""
OTHER_PATHS = (
    ("api.cloudflare.com", "/client/v4/accounts/1/workers/scripts"),
    ("api.cloudflare.com", "/client/v4/accounts/1/x/ai/run"),
    ("api.cloudflare.com", "/client/v4/accounts/1/air/"),
    ("www.api.cloudflare.com", "/client/v4/accounts/1/ai/run"),
    ("api.cloudflare.com.test", "/client/v4/accounts/1/ai/run"),
    ("apixcloudflare.com", "/client/v4/accounts/1/ai/run"),
    ("mine.cloud.databricks.com", "/api/2.0/serving-endpoints"),
    ("mine.cloud.databricks.com", "/serving-endpointsx/mine"),
    ("mydatabricks.com", "/serving-endpoints/mine/invocations"),
    ("mine.databricks.com.test", "/serving-endpoints/mine/invocations"),
    ("mine.databricksxcom", "/serving-endpoints/mine/invocations"),
    ("mine.azuredatabricks.net.test", "/serving-endpoints/mine/invocations"),
    ("chatgpt.com", "/api/backend-api/codex"),
    ("chatgpt.com", "/backend-apis"),
    ("www.chatgpt.com", "/backend-api/codex"),
    ("chatgpt.com.test", "/backend-api/codex"),
    ("chatgptxcom", "/backend-api/codex"),
    ("mine.snowflakecomputing.com", "/api/v2/statements"),
    ("mine.snowflakecomputing.com", "/api/v2/cortexes/"),
    ("mysnowflakecomputing.com", "/api/v2/cortex/inference:complete"),
    ("mine.snowflakecomputing.com.test", "/api/v2/cortex/inference:complete"),
    ("mine.snowflakecomputing.cx", "/api/v2/cortex/inference:complete"),
)
"""Requests that differ from those in one place."""

BASE_URL_VARIABLES = {
    "anthropic": (
        "ANTHROPIC_API_BASE ANTHROPIC_API_URL ANTHROPIC_AWS_BASE_URL ANTHROPIC_BASE_URL "
        "ANTHROPIC_FOUNDRY_BASE_URL ANTHROPIC_GOOGLE_CLOUD_BASE_URL"
    ),
    "azure": "AZURE_AI_API_BASE AZURE_API_BASE AZURE_INFERENCE_ENDPOINT AZURE_OPENAI_ENDPOINT",
    "bedrock": (
        "ANTHROPIC_BEDROCK_BASE_URL ANTHROPIC_BEDROCK_MANTLE_BASE_URL AWS_BEDROCK_BASE_URL "
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
    ),
    "cerebras": "CEREBRAS_BASE_URL",
    "cohere": "COHERE_BASE_URL CO_API_URL",
    "dashscope": "DASHSCOPE_BASE_URL",
    "deepseek": "DEEPSEEK_API_BASE DEEPSEEK_BASE_URL",
    "fireworks": "FIREWORKS_BASE_URL",
    "google": ("GEMINI_API_BASE GEMINI_BASE_URL GOOGLE_GEMINI_BASE_URL GOOGLE_VERTEX_BASE_URL"),
    "groq": "GROQ_API_BASE GROQ_BASE_URL",
    "huggingface": "HUGGINGFACE_API_BASE",
    "mistral": "MISTRAL_API_BASE MISTRAL_AUDIO_BASE_URL MISTRAL_BASE_URL MISTRAL_ENDPOINT",
    "moonshot": "MOONSHOT_BASE_URL",
    "ollama": "OLLAMA_API_BASE OLLAMA_BASE_URL OLLAMA_HOST",
    "openai": (
        "LITELLM_API_BASE LITELLM_BASE_URL LITELLM_PROXY_API_BASE LLM_API_BASE LLM_BASE_URL "
        "OPENAI_API_BASE OPENAI_BASE_URL VLLM_API_BASE VLLM_BASE_URL"
    ),
    "openrouter": "OPENROUTER_API_BASE OPENROUTER_BASE_URL",
    "portkey": "PORTKEY_BASE_URL",
    "together": "TOGETHER_API_BASE TOGETHER_BASE_URL",
    "vertex": "ANTHROPIC_VERTEX_BASE_URL",
    "watsonx": "WATSONX_API_BASE WATSONX_URL",
    "x.ai": "XAI_API_BASE XAI_BASE_URL",
}
"""The variables in which SDKs and frameworks look for the URL of a provider's API."""

USER_AGENTS = {
    "anthropic": (
        "Anthropic/Python 2.12.0",
        "AsyncAnthropic/Python 2.12.0",
        "AnthropicBedrock/Python 2.12.0",
        "AsyncAnthropicVertex/Python 2.12.0",
        "MyAnthropic/Python 2.12.0",
        "Anthropic/JS 1.12.0",
        "my-app/1.0 Anthropic/Python 2.12.0",
    ),
    "cerebras": ("Cerebras/Python 1.91.0", "AsyncCerebras/Python 1.91.0"),
    "cohere": ("cohere/7.3.1",),
    "dashscope": ("dashscope/1.24.0; python/3.11; platform/Linux",),
    "fireworks": ("Fireworks/Python 1.0.0", "AsyncFireworks/Python 1.0.0"),
    "google": (
        "google-genai-sdk/3.4.0 gl-python/3.11.2",
        "google-genai-sdk/3.4.0 gl-python/3.11.2 langchain-google-genai/4.4.0",
        "my-app/1.0 google-genai-sdk/3.4.0 gl-node/v24",
    ),
    "groq": ("Groq/Python 1.7.0", "AsyncGroq/Python 1.7.0"),
    "mistral": (
        "mistral-client-python/3.7.0",
        "speakeasy-sdk/python 3.7.0 2.935.1 1.0.0 mistralai",
        "speakeasy-sdk/typescript 2.7.0 2.605.6 1.0.0 @mistralai/mistralai",
    ),
    "ollama": ("ollama-python/0.6.0 (x86_64 linux) Python/3.11.2",),
    "openai": (
        "OpenAI/Python 3.54.0",
        "AsyncOpenAI/Python 3.54.0",
        "AzureOpenAI/Python 3.54.0",
        "MyOpenAI/Python 3.54.0",
        "OpenAI/JS 6.49.0",
        "AIProjectClient OpenAI/Python 3.54.0",
    ),
    "perplexity": ("Perplexity/Python 0.20.0", "AsyncPerplexity/Python 0.20.0"),
    "replicate": (
        "Replicate/Python 2.0.0",
        "AsyncReplicate/Python 2.0.0",
        "replicate-python/1.0.7",
        "replicate/1.0.7",
    ),
    "together": (
        "Together/Python 3.1.1",
        "AsyncTogether/Python 3.1.1",
        "Together/v1 PythonBindings/1.5.0",
    ),
    "writer": ("Writer/Python 2.3.0", "AsyncWriter/Python 2.3.0"),
}
"""User agents that the SDKs send."""
OTHER_USER_AGENTS = (
    "not-openai/python 1.0",
    "openai/ruby 1.0",
    "openai python 1.0",
    "OpenAI/Pythonic 1.0",
    "OpenAI/JSON 1.0",
    "my-openai-proxy/1.0",
    "not-anthropic/python 1.0",
    "anthropic-tools/1.0",
    "Anthropic/Pythonic 1.0",
    "my-google-genai-sdk/3.4.0",
    "google-genai/1.0",
    "mistralai-dashboard/1.0",
    "my-app/1.0 (for mistralai)",
    "speakeasy-sdk/python 3.7.0 2.935.1 1.0.0 othersdk",
    "my-mistral-client-python/1.0",
    "asyncxcerebras/1.0",
    "my-cerebras/1.0",
    "cerebrasx/1.0",
    "my-cohere/1.0",
    "coherent/1.0",
    "my-dashscope/1.0",
    "my-fireworks/1.0",
    "my-groq/1.0",
    "groqd/1.0",
    "my-ollama-python/1.0",
    "ollama/0.5.1",
    "PerplexityBot/1.0",
    "my-perplexity/1.0",
    "my-replicate/1.0",
    "replicated/1.0",
    "my-together/1.0",
    "altogether/1.0",
    "underwriter/1.0",
    "my-writer/1.0",
    "Mozilla/5.0 (X11; Linux x86_64)",
    "python-httpx/0.28.1",
)
"""User agents of other programs, which only contain the name of a provider."""


class Credentials(NamedTuple):
    """The sources of a client's credentials, each as words."""

    variables: str
    arguments: str = ""
    flags: str = ""


_OPENAI = Credentials("OPENAI_API_KEY OPENAI_ADMIN_KEY", "admin_api_key workload_identity provider")
_AZURE = Credentials(
    "AZURE_OPENAI_API_KEY AZURE_OPENAI_AD_TOKEN", "azure_ad_token azure_ad_token_provider"
)
_ANTHROPIC = Credentials(
    "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_PROFILE ANTHROPIC_IDENTITY_TOKEN "
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
    "auth_token credentials config profile",
)
_FOUNDRY = Credentials("ANTHROPIC_FOUNDRY_API_KEY", "azure_ad_token_provider")
_COHERE = Credentials("CO_API_KEY COHERE_API_KEY")
_GROQ = Credentials("GROQ_API_KEY")
_CEREBRAS = Credentials("CEREBRAS_API_KEY")
_TOGETHER = Credentials("TOGETHER_API_KEY")
CLIENTS = {
    ("openai", "OpenAI"): _OPENAI,
    ("openai", "AsyncOpenAI"): _OPENAI,
    ("openai", "AzureOpenAI"): _AZURE,
    ("openai", "AsyncAzureOpenAI"): _AZURE,
    ("anthropic", "Anthropic"): _ANTHROPIC,
    ("anthropic", "AsyncAnthropic"): _ANTHROPIC,
    ("anthropic", "AnthropicFoundry"): _FOUNDRY,
    ("anthropic", "AsyncAnthropicFoundry"): _FOUNDRY,
    ("google.genai", "Client"): Credentials(
        "GOOGLE_API_KEY GEMINI_API_KEY",
        "credentials enterprise vertexai project location",
        "GOOGLE_GENAI_USE_ENTERPRISE GOOGLE_GENAI_USE_VERTEXAI",
    ),
    ("cohere", "Client"): _COHERE,
    ("cohere", "AsyncClient"): _COHERE,
    ("groq", "Groq"): _GROQ,
    ("groq", "AsyncGroq"): _GROQ,
    ("cerebras.cloud.sdk", "Cerebras"): _CEREBRAS,
    ("cerebras.cloud.sdk", "AsyncCerebras"): _CEREBRAS,
    ("together", "Together"): _TOGETHER,
    ("together", "AsyncTogether"): _TOGETHER,
}
"""The clients of SDKs that refuse to start without a key."""

# The format of OpenAI's errors names a type for few statuses; `code` and `param` say the rest.
OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    402: "invalid_request_error",
    403: "invalid_request_error",
    404: "invalid_request_error",
    409: "invalid_request_error",
    422: "invalid_request_error",
    428: "invalid_request_error",
    429: "requests",
    430: "invalid_request_error",
    499: "invalid_request_error",
    500: "server_error",
    502: "server_error",
    503: "server_error",
    504: "server_error",
}
# Anthropic: https://docs.claude.com/en/api/errors, and the types in `anthropic.types.shared`.
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "conflict_error",
    412: "invalid_request_error",
    413: "request_too_large",
    414: "invalid_request_error",
    422: "invalid_request_error",
    428: "invalid_request_error",
    429: "rate_limit_error",
    430: "invalid_request_error",
    500: "api_error",
    502: "api_error",
    503: "api_error",
    504: "timeout_error",
    505: "api_error",
    528: "api_error",
    529: "overloaded_error",
    530: "api_error",
}
# Google: the troubleshooting page of the Gemini API, and google.rpc.Code.
GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "UNKNOWN",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNKNOWN",
    428: "UNKNOWN",
    429: "RESOURCE_EXHAUSTED",
    430: "UNKNOWN",
    500: "INTERNAL",
    501: "UNKNOWN",
    502: "UNKNOWN",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    505: "UNKNOWN",
}
# Bedrock: the errors of InvokeModel in the API reference.
AWS_TYPES = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    402: "InternalServerException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    405: "InternalServerException",
    407: "InternalServerException",
    408: "ModelTimeoutException",
    409: "InternalServerException",
    424: "ModelErrorException",
    428: "InternalServerException",
    429: "ThrottlingException",
    430: "InternalServerException",
    500: "InternalServerException",
    502: "InternalServerException",
    503: "ServiceUnavailableException",
    504: "InternalServerException",
}
REQUEST_ID_HEADERS = {
    "anthropic": "request-id",
    "bedrock": "x-amzn-requestid",
    "cohere": "x-debug-trace-id",
    "google": None,
    "mistral": "mistral-correlation-id",
    "ollama": None,
    "vertex": "request-id",
}
"""The header with the id of a request; all others have that of OpenAI, `x-request-id`."""

FINISH_REASONS = {
    # The values of `StopReason` in Anthropic's SDK.
    "anthropic": {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "refusal",
    },
    # The values of `StopReason` in botocore's model of the service.
    "bedrock": {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "content_filtered",
    },
    # The values of `ChatFinishReason` in Cohere's SDK, which has none for a filter.
    "cohere": {
        "stop": "COMPLETE",
        "tool_calls": "TOOL_CALL",
        "length": "MAX_TOKENS",
        "content_filter": "ERROR",
    },
    # The values of `FinishReason` in Google's SDK; a call of a function ends with STOP, too.
    "google": {
        "stop": "STOP",
        "tool_calls": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
    },
    # The values in Ollama's documentation; a call of a tool ends with `stop`, too.
    "ollama": {"tool_calls": "stop"},
    # The values of `ChatCompletionChoiceFinishReason` in Mistral's SDK.
    "mistral": {
        "stop": "stop",
        "tool_calls": "tool_calls",
        "length": "length",
        "content_filter": "error",
    },
    # Those of Anthropic.
    "vertex": {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "refusal",
    },
}
"""The finish reasons of each provider, by those of Chat Completions; all others have these."""

PROTOCOLS = {
    "cerebras": {"/chat/completions": "cerebras_chat"},
    "mistral": {"/chat/completions": "mistral_chat", "/messages": None},
    "openai": {"/messages": None},
    "openrouter": {"/chat/completions": "openrouter_chat"},
}
"""The variants of protocols, by provider and path; None where the provider has no such API."""
COMMON_PROTOCOLS = {
    "/chat/completions": "openai_chat",
    "/responses": "openai_responses",
    "/messages": "anthropic_messages",
    "/models/m:generateContent": "gemini",
    "/models/m:streamGenerateContent": "gemini",
    "/publishers/anthropic/models/m:rawPredict": "anthropic_vertex",
    "/publishers/anthropic/models/m:streamRawPredict": "anthropic_vertex",
    "/v1beta/interactions": "gemini_interactions",
    "/publishers/mistralai/models/m:rawPredict": "mistral_chat",
    "/publishers/mistralai/models/m:streamRawPredict": "mistral_chat",
}
OWN_PROTOCOLS = {
    "/v2/chat": ("cohere", "cohere_chat"),
    "/api/chat": ("ollama", "ollama"),
    "/api/generate": ("ollama", "ollama"),
}
"""The paths of APIs that only one provider has, with the provider and the protocol."""
RETRY_AFTER_MS = ("anthropic", "bedrock", "cohere", "mistral", "openai", "vertex")
"""The providers whose SDKs read the header `retry-after-ms`."""

SERVER_ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "no-key-needed-by-llm-mock",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/anthropic",
    "ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:1/bedrock",
    "ANTHROPIC_VERTEX_BASE_URL": "http://127.0.0.1:1/vertex/v1",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://127.0.0.1:1/bedrock",
    "CO_API_KEY": "no-key-needed-by-llm-mock",
    "CO_API_URL": "http://127.0.0.1:1/cohere",
    "GEMINI_API_KEY": "no-key-needed-by-llm-mock",
    "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1/gemini",
    "MISTRAL_API_KEY": "no-key-needed-by-llm-mock",
    "MISTRAL_BASE_URL": "http://127.0.0.1:1/mistral/v1",
    "OPENAI_API_KEY": "no-key-needed-by-llm-mock",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/openai/v1",
}
"""The variables that lead every program to the server."""
OPTIONAL_SERVER_ENVIRONMENT = {
    "ANTHROPIC_API_URL": "http://127.0.0.1:1/anthropic",
    "AWS_BEARER_TOKEN_BEDROCK": "no-key-needed-by-llm-mock",
    "AZURE_OPENAI_API_KEY": "no-key-needed-by-llm-mock",
    "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1",
    "COHERE_API_KEY": "no-key-needed-by-llm-mock",
    "CEREBRAS_API_KEY": "no-key-needed-by-llm-mock",
    "DEEPSEEK_API_KEY": "no-key-needed-by-llm-mock",
    "FIREWORKS_API_KEY": "no-key-needed-by-llm-mock",
    "GROQ_API_KEY": "no-key-needed-by-llm-mock",
    "GROQ_BASE_URL": "http://127.0.0.1:1",
    "HF_TOKEN": "no-key-needed-by-llm-mock",
    "HUGGINGFACE_API_KEY": "no-key-needed-by-llm-mock",
    "NVIDIA_API_KEY": "no-key-needed-by-llm-mock",
    "OLLAMA_API_KEY": "no-key-needed-by-llm-mock",
    "OLLAMA_HOST": "http://127.0.0.1:1/ollama",
    "OPENAI_API_BASE": "http://127.0.0.1:1/openai/v1",
    "OPENROUTER_API_KEY": "no-key-needed-by-llm-mock",
    "PERPLEXITY_API_KEY": "no-key-needed-by-llm-mock",
    "REPLICATE_API_TOKEN": "no-key-needed-by-llm-mock",
    "TOGETHER_API_KEY": "no-key-needed-by-llm-mock",
    "TOGETHER_BASE_URL": "http://127.0.0.1:1/openai/v1",
    "XAI_API_KEY": "no-key-needed-by-llm-mock",
}
"""The variables that are replaced only where they are set."""
REMOVED_VARIABLES = ("ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY")
"""The variables that SDKs prefer to those with the placeholders."""
SERVER_PREFIXES = {
    "anthropic": "api.anthropic.com",
    "bedrock": "bedrock-runtime.us-east-1.amazonaws.com",
    "cohere": "api.cohere.com",
    "gemini": "generativelanguage.googleapis.com",
    "mistral": "api.mistral.ai",
    "ollama": "ollama.com",
    "openai": "api.openai.com",
    "vertex": "aiplatform.googleapis.com",
}
"""The first part of paths at the server, and the host that the request then has."""

TELEMETRY_DOMAINS = (
    "api.agno.com",
    "os-api.agno.com",
    "posthog.com",
    "stats.comet.com",
    "t.explodinggradients.com",
    "telemetry.crewai.com",
)
OLDEST = {
    "aiohttp": "3.8",
    "anthropic": "0.40",
    "botocore": "1.34",
    "google-genai": "1.0",
    "httpx": "0.23",
    "httpx2": "2.0",
    "mistralai": "1.5",
    "openai": "1.55.3",
    "requests": "2.28",
    "urllib3": "1.26",
    "websockets": "13.1",
}
"""The oldest supported versions, which docs/differences.md and the README promise."""
