"""Which dialect an endpoint speaks, from method, host and path alone.

The path decides, the host only names the provider: gateways and local models speak the big providers' dialects under
their own names. `DIALECT_PATHS` knows all dialects; `recognise` answers only for those that have a codec (`BUILT`),
so that nothing else has to ask whether a dialect can be folded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from spanlore.genai.inference import Dialect
from spanlore.semconv import gen_ai


class Kind(StrEnum):
    """What an endpoint does."""

    INFERENCE = "inference"
    COUNT_TOKENS = "count_tokens"
    OTHER = "other"
    """Same API, not a model call (batches, files, models)."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of an LLM API."""

    dialect: Dialect
    provider: str
    """gen_ai.provider.name."""
    operation: str
    """gen_ai.operation.name: chat or generate_content."""
    kind: Kind
    model: str | None = None
    """The model, where the path names it (Gemini, Vertex AI, Bedrock)."""
    is_streaming: bool = False
    """The path asks for a streamed answer."""


BUILT: Final = frozenset(Dialect)
"""Dialects that have a codec yet."""

DIALECT_PATHS: Final[tuple[tuple[re.Pattern[str], Dialect, Kind], ...]] = tuple(
    (re.compile(pattern), dialect, kind)
    for pattern, dialect, kind in (
        # POST /v1/messages?beta=true is Claude Code's own form; gateways put a prefix before it.
        (r"/v1/messages/count_tokens$", Dialect.ANTHROPIC_MESSAGES, Kind.COUNT_TOKENS),
        (r"/v1/messages$", Dialect.ANTHROPIC_MESSAGES, Kind.INFERENCE),
        (r"/v1/messages/", Dialect.ANTHROPIC_MESSAGES, Kind.OTHER),
        # Vertex AI: a Messages body without its model.
        (r"/publishers/anthropic/models/count-tokens[^/]*:rawPredict$", Dialect.ANTHROPIC_MESSAGES, Kind.COUNT_TOKENS),
        (r"/publishers/anthropic/models/[^/]+:(?:rawP|streamRawP)redict$", Dialect.ANTHROPIC_MESSAGES, Kind.INFERENCE),
        (r"/chat/completions$", Dialect.OPENAI_CHAT, Kind.INFERENCE),
        (r"/responses(?:/compact)?$", Dialect.OPENAI_RESPONSES, Kind.INFERENCE),
        (r"/responses/input_tokens$", Dialect.OPENAI_RESPONSES, Kind.COUNT_TOKENS),
        (r"/responses/", Dialect.OPENAI_RESPONSES, Kind.OTHER),
        (r":countTokens$", Dialect.GEMINI, Kind.COUNT_TOKENS),
        (r":(?:streamGenerateContent|generateContent)$", Dialect.GEMINI, Kind.INFERENCE),
        (r"/v1(?:beta\d*|alpha)?/interactions$", Dialect.GEMINI, Kind.INFERENCE),
        (r"/model/[^/]+/count-tokens$", Dialect.BEDROCK, Kind.COUNT_TOKENS),
        (r"/model/[^/]+/(?:invoke(?:-with-response-stream)?|converse(?:-stream)?)$", Dialect.BEDROCK, Kind.INFERENCE),
        (r":(?:batchE|asyncBatchE|e)mbedContents?$|:batchGenerateContent$", Dialect.GEMINI, Kind.OTHER),
    )
)
"""Matched against the path without its query, first match wins."""

PROVIDERS: Final[tuple[tuple[str, str], ...]] = (
    ("api.anthropic.com", "anthropic"),
    ("api.openai.com", "openai"),
    ("chatgpt.com", "openai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("cloudcode-pa.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("amazonaws.com", "aws.bedrock"),
    ("cognitiveservices.azure.com", "azure.ai.openai"),
    ("openrouter.ai", "openrouter"),
    ("api.groq.com", "groq"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "x_ai"),
    ("api.mistral.ai", "mistral_ai"),
    ("codestral.mistral.ai", "mistral_ai"),
    ("api.together.xyz", "together"),
    ("api.together.ai", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("api.cerebras.ai", "cerebras"),
    ("moonshot.ai", "moonshot_ai"),
    ("moonshot.cn", "moonshot_ai"),
    ("api.kimi.com", "moonshot_ai"),
    ("api.z.ai", "z_ai"),
    ("open.bigmodel.cn", "z_ai"),
    ("aliyuncs.com", "alibaba_cloud"),
    ("portal.qwen.ai", "alibaba_cloud"),
    ("opencode.ai", "opencode"),
    ("githubcopilot.com", "github_copilot"),
    ("models.github.ai", "github_models"),
    ("minimax.io", "minimax"),
    ("minimaxi.com", "minimax"),
    ("api.sambanova.ai", "sambanova"),
    ("api.novita.ai", "novita"),
    ("api.deepinfra.com", "deepinfra"),
    ("integrate.api.nvidia.com", "nvidia"),
    ("router.huggingface.co", "huggingface"),
    ("ai-gateway.vercel.sh", "vercel"),
    ("api.perplexity.ai", "perplexity"),
    ("api.cohere.com", "cohere"),
)
"""Host, or the domain above it → gen_ai.provider.name (well-known values of the specification, else the obvious)."""

_PATH_MODEL: Final = re.compile(r"/(?:models|tunedModels)/([^/:]+):\w+$|/model/([^/]+)/[\w-]+$")
_PATH_STREAMS: Final = re.compile(r":stream\w+$|/(?:invoke-with-response|converse)-stream$")

MAX_HOSTS: Final = 1024
"""Remembered with their provider: all are asked for with every request."""

_DIALECT_PROVIDER: Final = {
    Dialect.ANTHROPIC_MESSAGES: "anthropic",
    Dialect.OPENAI_CHAT: "openai",
    Dialect.OPENAI_RESPONSES: "openai",
    Dialect.GEMINI: "gcp.gemini",
    Dialect.BEDROCK: "aws.bedrock",
}


def recognise(method: str, host: str, path: str) -> Endpoint | None:
    """The endpoint, or None when this is no endpoint of a dialect that can be folded."""
    endpoint = recognise_any(method, host, path)
    return endpoint if endpoint is not None and endpoint.dialect in BUILT else None


def recognise_any(method: str, host: str, path: str) -> Endpoint | None:
    """The same for every dialect there is a name for, built or not."""
    if method != "POST":
        return None
    bare = path.partition("?")[0].rstrip("/")
    for pattern, dialect, kind in DIALECT_PATHS:
        if pattern.search(bare):
            operation = gen_ai.OP_GENERATE_CONTENT if dialect is Dialect.GEMINI else gen_ai.OP_CHAT
            return Endpoint(
                dialect,
                provider_of(host, dialect),
                operation,
                kind,
                model=_model_in(bare),
                is_streaming=_PATH_STREAMS.search(bare) is not None,
            )
    return None


def _model_in(path: str) -> str | None:
    found = _PATH_MODEL.search(path)
    name = unquote(found[1] or found[2]) if found is not None else ""
    return name if name and not name.startswith("count-tokens") else None


@lru_cache(MAX_HOSTS)
def provider_of(host: str, dialect: Dialect) -> str:
    """gen_ai.provider.name of the host; for an unknown host the provider whose dialect it speaks."""
    name = host.lower()
    for domain, provider in PROVIDERS:
        if name == domain or name.endswith(("." + domain, "-" + domain)):
            return provider
    return _DIALECT_PROVIDER[dialect]
