"""Providers that offer OpenAI's API at other hosts, and providers whose requests are refused."""

from __future__ import annotations

from llm_mock.boundaries.http.providers.bedrock import AWS_DOMAINS
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor, ServerAccess

PROVIDERS = (
    ProviderDescriptor("01.ai", domains=("api.lingyiwanwu.com",)),
    ProviderDescriptor("ai21", domains=("api.ai21.com",)),
    ProviderDescriptor("aimlapi", domains=("api.aimlapi.com",)),
    ProviderDescriptor("aleph-alpha", domains=("api.aleph-alpha.com",)),
    ProviderDescriptor("anyscale", domains=("api.endpoints.anyscale.com",)),
    ProviderDescriptor("arcee", domains=("api.arcee.ai",)),
    ProviderDescriptor("baichuan", domains=("api.baichuan-ai.com",)),
    ProviderDescriptor("baidu", domains=("qianfan.baidubce.com",)),
    ProviderDescriptor(
        "baseten",
        domains=(
            "api.baseten.co",
            "inference.baseten.co",
        ),
    ),
    ProviderDescriptor("browser-use", domains=("llm.api.browser-use.com",)),
    ProviderDescriptor("chutes", domains=("llm.chutes.ai",)),
    ProviderDescriptor("clarifai", domains=("api.clarifai.com",)),
    ProviderDescriptor(
        "cloudflare",
        domains=("gateway.ai.cloudflare.com",),
        shared_hosts=((r"^api\.cloudflare\.com$", "/accounts/[^/]+/ai/"),),
    ),
    ProviderDescriptor("cometapi", domains=("api.cometapi.com",)),
    ProviderDescriptor(
        "dashscope",
        domains=(
            "dashscope-intl.aliyuncs.com",
            "dashscope-us.aliyuncs.com",
            "dashscope.aliyuncs.com",
        ),
        base_url_variables=("DASHSCOPE_BASE_URL",),
        user_agents=("^dashscope/",),
    ),
    ProviderDescriptor(
        "databricks",
        shared_hosts=((r"(^|\.)(databricks\.com|azuredatabricks\.net)$", "/serving-endpoints/"),),
    ),
    ProviderDescriptor("deepinfra", domains=("api.deepinfra.com",)),
    ProviderDescriptor(
        "deepseek",
        domains=("api.deepseek.com",),
        base_url_variables=(
            "DEEPSEEK_API_BASE",
            "DEEPSEEK_BASE_URL",
        ),
    ),
    ProviderDescriptor("featherless", domains=("api.featherless.ai",)),
    ProviderDescriptor(
        "fireworks",
        domains=("api.fireworks.ai",),
        base_url_variables=("FIREWORKS_BASE_URL",),
        user_agents=("^(async)?fireworks/",),
    ),
    ProviderDescriptor("friendli", domains=("api.friendli.ai",)),
    ProviderDescriptor("gigachat", domains=("gigachat.devices.sberbank.ru",)),
    ProviderDescriptor(
        "github",
        domains=(
            "githubcopilot.com",
            "models.github.ai",
        ),
    ),
    ProviderDescriptor("helicone", domains=("helicone.ai",)),
    ProviderDescriptor("heroku", domains=("inference.heroku.com",)),
    ProviderDescriptor("hyperbolic", domains=("api.hyperbolic.xyz",)),
    ProviderDescriptor("inception", domains=("api.inceptionlabs.ai",)),
    ProviderDescriptor("inference.net", domains=("api.inference.net",)),
    ProviderDescriptor("jina", domains=("api.jina.ai",)),
    ProviderDescriptor("kluster", domains=("api.kluster.ai",)),
    ProviderDescriptor(
        "lambda",
        domains=(
            "api.lambda.ai",
            "api.lambdalabs.com",
        ),
    ),
    ProviderDescriptor("llama", domains=("api.llama.com",)),
    ProviderDescriptor("longcat", domains=("api.longcat.chat",)),
    ProviderDescriptor(
        "minimax",
        domains=(
            "api.minimax.chat",
            "api.minimax.io",
            "api.minimaxi.com",
        ),
    ),
    ProviderDescriptor("modelscope", domains=("api-inference.modelscope.cn",)),
    ProviderDescriptor(
        "moonshot",
        domains=(
            "api.kimi.com",
            "api.moonshot.ai",
            "api.moonshot.cn",
        ),
        base_url_variables=("MOONSHOT_BASE_URL",),
    ),
    ProviderDescriptor("morph", domains=("api.morphllm.com",)),
    ProviderDescriptor("nano-gpt", domains=("nano-gpt.com",)),
    ProviderDescriptor(
        "nebius",
        domains=(
            "api.studio.nebius.ai",
            "api.studio.nebius.com",
            "api.tokenfactory.nebius.com",
        ),
    ),
    ProviderDescriptor("nlpcloud", domains=("api.nlpcloud.io",)),
    ProviderDescriptor("nous", domains=("inference-api.nousresearch.com",)),
    ProviderDescriptor("novita", domains=("api.novita.ai",)),
    ProviderDescriptor("nvidia", domains=("api.nvidia.com",)),
    ProviderDescriptor(
        "oracle", host_patterns=(r"^inference\.generativeai\.[a-z0-9-]+\.oci\.oraclecloud\.com$",)
    ),
    ProviderDescriptor("ovh", domains=("endpoints.kepler.ai.cloud.ovh.net",)),
    ProviderDescriptor("parasail", domains=("api.parasail.io",)),
    ProviderDescriptor(
        "perplexity", domains=("api.perplexity.ai",), user_agents=("^(async)?perplexity/",)
    ),
    ProviderDescriptor("poe", domains=("api.poe.com",)),
    ProviderDescriptor(
        "portkey", domains=("api.portkey.ai",), base_url_variables=("PORTKEY_BASE_URL",)
    ),
    ProviderDescriptor("predibase", domains=("serving.app.predibase.com",)),
    ProviderDescriptor("pydantic", domains=("gateway.pydantic.dev",)),
    ProviderDescriptor("reka", domains=("api.reka.ai",)),
    ProviderDescriptor("requesty", domains=("router.requesty.ai",)),
    ProviderDescriptor("runpod", domains=("api.runpod.ai",)),
    ProviderDescriptor(
        "sagemaker",
        host_patterns=(
            rf"(^|\.)runtime(-fips)?\.sagemaker(-fips)?\.([a-z0-9-]+\.)+{AWS_DOMAINS}$",
        ),
    ),
    ProviderDescriptor("sambanova", domains=("api.sambanova.ai",)),
    ProviderDescriptor("scaleway", domains=("api.scaleway.ai",)),
    ProviderDescriptor(
        "siliconflow",
        domains=(
            "api.siliconflow.cn",
            "api.siliconflow.com",
        ),
    ),
    ProviderDescriptor(
        "snowflake", shared_hosts=((r"(^|\.)snowflakecomputing\.(com|cn)$", "/cortex/"),)
    ),
    ProviderDescriptor("spark", domains=("spark-api-open.xf-yun.com",)),
    ProviderDescriptor("stepfun", domains=("api.stepfun.com",)),
    ProviderDescriptor("targon", domains=("api.targon.com",)),
    ProviderDescriptor(
        "tencent",
        domains=(
            "api.hunyuan.cloud.tencent.com",
            "hunyuan.tencentcloudapi.com",
        ),
    ),
    ProviderDescriptor("upstage", domains=("api.upstage.ai",)),
    ProviderDescriptor("venice", domains=("api.venice.ai",)),
    ProviderDescriptor("vercel", domains=("ai-gateway.vercel.sh",)),
    ProviderDescriptor(
        "volcengine", host_patterns=(r"^ark\.[a-z0-9-]+\.(volces|bytepluses)\.com$",)
    ),
    ProviderDescriptor("voyage", domains=("api.voyageai.com",)),
    ProviderDescriptor(
        "watsonx",
        domains=("ml.cloud.ibm.com",),
        base_url_variables=(
            "WATSONX_API_BASE",
            "WATSONX_URL",
        ),
    ),
    ProviderDescriptor(
        "writer", domains=("api.writer.com",), user_agents=("^(async)?(writer|palmyra)/",)
    ),
    ProviderDescriptor(
        "x.ai",
        domains=("api.x.ai",),
        base_url_variables=(
            "XAI_API_BASE",
            "XAI_BASE_URL",
        ),
        server=ServerAccess(optional_keys=("XAI_API_KEY",)),
    ),
    ProviderDescriptor(
        "yandex",
        domains=(
            "ai.api.cloud.yandex.net",
            "llm.api.cloud.yandex.net",
        ),
    ),
    ProviderDescriptor("z.ai", domains=("api.z.ai",)),
    ProviderDescriptor("zhipu", domains=("open.bigmodel.cn",)),
)
