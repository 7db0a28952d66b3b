"""Hosts of model providers, which choose the dialect of a request.

A domain covers its host and every subdomain. Model APIs at other hosts are recognised by the
request; see `clients`.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import re
from typing import NamedTuple
from urllib.parse import urlsplit

DOMAINS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "cloudcode-pa.googleapis.com": "google",
    "generativelanguage.googleapis.com": "google",
    "api.mistral.ai": "mistral",
    "codestral.mistral.ai": "mistral",
    "ai-gateway.vercel.sh": "vercel",
    "ai.api.cloud.yandex.net": "yandex",
    "api-inference.huggingface.co": "huggingface",
    "api-inference.modelscope.cn": "modelscope",
    "api-inference.together.ai": "together",
    "api.ai21.com": "ai21",
    "api.aimlapi.com": "aimlapi",
    "api.aleph-alpha.com": "aleph-alpha",
    "api.arcee.ai": "arcee",
    "api.baichuan-ai.com": "baichuan",
    "api.baseten.co": "baseten",
    "api.cerebras.ai": "cerebras",
    "api.clarifai.com": "clarifai",
    "api.cohere.ai": "cohere",
    "api.cohere.com": "cohere",
    "api.cometapi.com": "cometapi",
    "api.deepinfra.com": "deepinfra",
    "api.deepseek.com": "deepseek",
    "api.endpoints.anyscale.com": "anyscale",
    "api.featherless.ai": "featherless",
    "api.fireworks.ai": "fireworks",
    "api.friendli.ai": "friendli",
    "api.groq.com": "groq",
    "api.hunyuan.cloud.tencent.com": "tencent",
    "api.hyperbolic.xyz": "hyperbolic",
    "api.inceptionlabs.ai": "inception",
    "api.inference.net": "inference.net",
    "api.jina.ai": "jina",
    "api.kimi.com": "moonshot",
    "api.kluster.ai": "kluster",
    "api.lambda.ai": "lambda",
    "api.lambdalabs.com": "lambda",
    "api.lingyiwanwu.com": "01.ai",
    "api.llama.com": "llama",
    "api.longcat.chat": "longcat",
    "api.minimax.chat": "minimax",
    "api.minimax.io": "minimax",
    "api.minimaxi.com": "minimax",
    "api.moonshot.ai": "moonshot",
    "api.moonshot.cn": "moonshot",
    "api.morphllm.com": "morph",
    "api.nlpcloud.io": "nlpcloud",
    "api.novita.ai": "novita",
    "api.parasail.io": "parasail",
    "api.perplexity.ai": "perplexity",
    "api.poe.com": "poe",
    "api.portkey.ai": "portkey",
    "api.reka.ai": "reka",
    "api.replicate.com": "replicate",
    "api.runpod.ai": "runpod",
    "api.sambanova.ai": "sambanova",
    "api.scaleway.ai": "scaleway",
    "api.siliconflow.cn": "siliconflow",
    "api.siliconflow.com": "siliconflow",
    "api.stepfun.com": "stepfun",
    "api.studio.nebius.ai": "nebius",
    "api.studio.nebius.com": "nebius",
    "api.targon.com": "targon",
    "api.together.ai": "together",
    "api.together.xyz": "together",
    "api.tokenfactory.nebius.com": "nebius",
    "api.upstage.ai": "upstage",
    "api.venice.ai": "venice",
    "api.voyageai.com": "voyage",
    "api.writer.com": "writer",
    "api.x.ai": "x.ai",
    "api.z.ai": "z.ai",
    "cognitiveservices.azure.com": "azure",
    "cognitiveservices.azure.us": "azure",
    "dashscope-intl.aliyuncs.com": "dashscope",
    "dashscope-us.aliyuncs.com": "dashscope",
    "dashscope.aliyuncs.com": "dashscope",
    "endpoints.huggingface.cloud": "huggingface",
    "endpoints.kepler.ai.cloud.ovh.net": "ovh",
    "gateway.ai.cloudflare.com": "cloudflare",
    "gateway.pydantic.dev": "pydantic",
    "gigachat.devices.sberbank.ru": "gigachat",
    "githubcopilot.com": "github",
    "helicone.ai": "helicone",
    "hunyuan.tencentcloudapi.com": "tencent",
    "inference-api.nousresearch.com": "nous",
    "inference.ai.azure.com": "azure",
    "inference.baseten.co": "baseten",
    "inference.heroku.com": "heroku",
    "inference.ml.azure.com": "azure",
    "api.nvidia.com": "nvidia",
    "llm.api.browser-use.com": "browser-use",
    "llm.api.cloud.yandex.net": "yandex",
    "llm.chutes.ai": "chutes",
    "ml.cloud.ibm.com": "watsonx",
    "models.ai.azure.com": "azure",
    "models.github.ai": "github",
    "nano-gpt.com": "nano-gpt",
    "ollama.com": "ollama",
    "open.bigmodel.cn": "zhipu",
    "openai.azure.com": "azure",
    "openai.azure.us": "azure",
    "openrouter.ai": "openrouter",
    "qianfan.baidubce.com": "baidu",
    "router.huggingface.co": "huggingface",
    "router.requesty.ai": "requesty",
    "services.ai.azure.com": "azure",
    "services.ai.azure.us": "azure",
    "serving.app.predibase.com": "predibase",
    "spark-api-open.xf-yun.com": "spark",
}
"""Providers by domain."""
# Checked after the domains, which a dictionary finds faster.
HOST_PATTERNS = (
    (re.compile(r"(^|[.-])(aiplatform|generativelanguage)[a-z0-9.-]*\.googleapis\.com$"), "google"),
    (
        re.compile(
            r"(^|\.)bedrock-(agent-)?(runtime|mantle)(-fips)?\.([a-z0-9-]+\.)+"
            r"(amazonaws\.com(\.cn)?|api\.aws)$"
        ),
        "bedrock",
    ),
    (
        re.compile(r"(^|\.)runtime(-fips)?\.sagemaker\.[a-z0-9-]+\.amazonaws\.com(\.cn)?$"),
        "sagemaker",
    ),
    (re.compile(r"^ark\.[a-z0-9-]+\.(volces|bytepluses)\.com$"), "volcengine"),
    (re.compile(r"^inference\.generativeai\.[a-z0-9-]+\.oci\.oraclecloud\.com$"), "oracle"),
)
"""Patterns of hosts whose names contain a region, with their providers."""
SHARED_HOSTS = (
    (
        re.compile(r"(^|\.)(databricks\.com|azuredatabricks\.net)$"),
        re.compile(r"/serving-endpoints/"),
        "databricks",
    ),
    (re.compile(r"(^|\.)snowflakecomputing\.(com|cn)$"), re.compile(r"/cortex/"), "snowflake"),
    (re.compile(r"^api\.cloudflare\.com$"), re.compile(r"/accounts/[^/]+/ai/"), "cloudflare"),
    (re.compile(r"^chatgpt\.com$"), re.compile(r"^/backend-api/"), "openai"),
)
"""Patterns of hosts that serve other things too, of their model paths, and their providers."""
TELEMETRY_DOMAINS = (
    "api.agno.com",
    "os-api.agno.com",
    "posthog.com",
    "stats.comet.com",
    "t.explodinggradients.com",
    "telemetry.crewai.com",
)
"""Domains to which frameworks report usage."""
PRICE_MAP_PATH = "/BerriAI/litellm/"
"""The start of the path at `raw.githubusercontent.com` that litellm fetches on import."""
BASE_URL_VARIABLES = {
    "ANTHROPIC_API_BASE": "anthropic",
    "ANTHROPIC_API_URL": "anthropic",
    "ANTHROPIC_BASE_URL": "anthropic",
    "ANTHROPIC_BEDROCK_BASE_URL": "bedrock",
    "ANTHROPIC_FOUNDRY_BASE_URL": "anthropic",
    "ANTHROPIC_VERTEX_BASE_URL": "google",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "bedrock",
    "AZURE_AI_API_BASE": "azure",
    "AZURE_API_BASE": "azure",
    "AZURE_INFERENCE_ENDPOINT": "azure",
    "AZURE_OPENAI_ENDPOINT": "azure",
    "CEREBRAS_BASE_URL": "cerebras",
    "COHERE_BASE_URL": "cohere",
    "CO_API_URL": "cohere",
    "DASHSCOPE_BASE_URL": "dashscope",
    "DEEPSEEK_API_BASE": "deepseek",
    "DEEPSEEK_BASE_URL": "deepseek",
    "FIREWORKS_BASE_URL": "fireworks",
    "GEMINI_API_BASE": "google",
    "GEMINI_BASE_URL": "google",
    "GOOGLE_GEMINI_BASE_URL": "google",
    "GOOGLE_VERTEX_BASE_URL": "google",
    "GROQ_API_BASE": "groq",
    "GROQ_BASE_URL": "groq",
    "HUGGINGFACE_API_BASE": "huggingface",
    "LITELLM_API_BASE": "openai",
    "LITELLM_BASE_URL": "openai",
    "LITELLM_PROXY_API_BASE": "openai",
    "LLM_API_BASE": "openai",
    "LLM_BASE_URL": "openai",
    "MISTRAL_API_BASE": "mistral",
    "MISTRAL_BASE_URL": "mistral",
    "MISTRAL_ENDPOINT": "mistral",
    "MOONSHOT_BASE_URL": "moonshot",
    "OLLAMA_API_BASE": "ollama",
    "OLLAMA_BASE_URL": "ollama",
    "OLLAMA_HOST": "ollama",
    "OPENAI_API_BASE": "openai",
    "OPENAI_BASE_URL": "openai",
    "OPENROUTER_API_BASE": "openrouter",
    "OPENROUTER_BASE_URL": "openrouter",
    "PORTKEY_BASE_URL": "portkey",
    "TOGETHER_API_BASE": "together",
    "TOGETHER_BASE_URL": "together",
    "VLLM_API_BASE": "openai",
    "VLLM_BASE_URL": "openai",
    "WATSONX_API_BASE": "watsonx",
    "WATSONX_URL": "watsonx",
    "XAI_API_BASE": "x.ai",
    "XAI_BASE_URL": "x.ai",
}
"""Environment variables in which SDKs and frameworks look for the URL of a model API."""
BASE_URL_NAMES = frozenset(BASE_URL_VARIABLES)
VERSION_PATH = re.compile(r"^/?(openai/?)?(v\d\w*/?)?$")
"""A path of a base URL whose host serves nothing but a model API."""


class BaseURL(NamedTuple):
    """The URL of a model API, from an environment variable."""

    host: str
    port: int | None
    path: str
    provider: str

    @property
    def is_whole_host(self) -> bool:
        """True if everything at the host belongs to the model API."""
        return VERSION_PATH.match(self.path) is not None

    def covers(self, host: str, port: int | None, path: str | None) -> bool:
        """Return True if a request is for this API.

        Args:
            host: the host of the request.
            port: its port.
            path: its path; None for a connection, which is covered if it can be for nothing else.
        """
        if host != self.host:
            return False
        if self.port is not None and self.port != port:
            return False
        if self.is_whole_host:
            return True
        return path is not None and path.startswith(self.path)


# Cached: a process calls few hosts, and each of them often.
@functools.lru_cache(maxsize=256)
def find_provider_of_host(host: str, port: int | None, listed: tuple[str, ...] = ()) -> str | None:
    """Return the provider at a host; None if no provider is known there.

    Args:
        host: the host of a request, in any case, with or without a final dot.
        port: the port, for entries of `listed` that have one.
        listed: further hosts of model APIs, as in `HTTPSettings.hosts`; the provider of such a
            host is the host itself. An entry that begins with `!` takes a host out.
    """
    host = normalize_host(host)
    if is_listed(host, port, listed, "!"):
        return None
    labels = host.split(".")
    for start in range(len(labels) - 1):
        # The longest domain first, and never a top-level domain alone.
        domain = ".".join(labels[start:])
        if domain in DOMAINS:
            return DOMAINS[domain]
    for pattern, provider in HOST_PATTERNS:
        if pattern.search(host):
            return provider
    return host if is_listed(host, port, listed) else None


def is_listed(host: str, port: int | None, listed: tuple[str, ...], mark: str = "") -> bool:
    """Return True if a host is in a list, with or without its port.

    Args:
        host: the normalized host.
        port: its port.
        listed: the entries of the list.
        mark: the character before the entries that count.
    """
    return mark + host in listed or f"{mark}{host}:{port}" in listed


def find_provider_of_path(host: str, path: str) -> str | None:
    """Return the provider at a path of a shared host; None if the path belongs to no model."""
    for hosts, paths, provider in SHARED_HOSTS:
        if hosts.search(host) and paths.search(path):
            return provider
    return None


@functools.lru_cache(maxsize=256)
def is_this_machine(host: str) -> bool:
    """Return True if a host is this machine.

    That is a loopback name, a loopback address, or the path of a unix socket.
    """
    host = normalize_host(host).strip("[]")
    if host in ("", "localhost") or host.endswith(".localhost"):
        return True
    # A quoted slash, too: httpx has the paths of unix sockets in that form.
    if "/" in host or "%2f" in host:
        return True
    try:
        # After the percent sign there may be the network interface of an IPv6 address.
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback or mapped.is_unspecified


def is_telemetry(host: str, path: str) -> bool:
    """Return True if a request reports the use of a framework, or fetches litellm's prices."""
    if host == "raw.githubusercontent.com":
        return path.startswith(PRICE_MAP_PATH)
    # Checked first for all domains at once: this runs for every request to an unknown host.
    if not host.endswith(TELEMETRY_DOMAINS):
        return False
    return any(host == domain or host.endswith(f".{domain}") for domain in TELEMETRY_DOMAINS)


def normalize_host(host: str) -> str:
    """Return a host in lower case, without a final dot."""
    return host.lower().rstrip(".")


def find_provider_in_environment(host: str, port: int | None, path: str | None) -> str | None:
    """Return the provider whose base URL in an environment variable covers a request.

    Args:
        host: the host of the request.
        port: its port.
        path: its path; None for a connection that could be for anything.
    """
    # Variables may change with every test, so they are read again. The names come first: they are
    # cheap to compare, and mostly none is set.
    names = BASE_URL_NAMES.intersection(os.environ)
    if not names:
        return None
    # In the order of the table, not of the set: the first variable that covers the request wins.
    values = tuple((name, os.environ.get(name, "")) for name in BASE_URL_VARIABLES if name in names)
    for base in parse_base_urls(values):
        if base.covers(host, port, path):
            return base.provider
    return None


@functools.lru_cache(maxsize=16)
def parse_base_urls(variables: tuple[tuple[str, str], ...]) -> tuple[BaseURL, ...]:
    """Parse the values of environment variables that are set; invalid URLs are left out.

    Hosts of this machine are left out too, as they may be the application under test.
    """
    urls = []
    for name, value in variables:
        if not value:
            continue
        # Some variables hold a host without a scheme, such as OLLAMA_HOST.
        try:
            parts = urlsplit(value if "://" in value else f"//{value}")
            host = normalize_host(parts.hostname or "")
            port = parts.port
        except ValueError:
            continue
        if not is_this_machine(host):
            urls.append(BaseURL(host, port, parts.path, BASE_URL_VARIABLES[name]))
    return tuple(urls)
