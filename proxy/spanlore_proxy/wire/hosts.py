"""Which hosts are LLM APIs. Only these are intercepted; every other host is an opaque tunnel, never decrypted.

An agent hands HTTPS_PROXY on to the tools it starts (git, pip, npm, curl), which do not know our CA: a host that is
not on the list must not be touched. Sources: the agents' own traffic and the providers' API documentation.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

EXACT_HOSTS: Final = frozenset(
    {
        "api.anthropic.com",
        "api.openai.com",
        "chatgpt.com",  # Codex with a ChatGPT login: /backend-api/codex/responses
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",  # Gemini CLI with a Google login
        "aiplatform.googleapis.com",
        "openrouter.ai",
        "api.groq.com",
        "api.deepseek.com",
        "api.x.ai",
        "api.mistral.ai",
        "codestral.mistral.ai",
        "api.together.xyz",
        "api.together.ai",
        "api.fireworks.ai",
        "api.cerebras.ai",
        "api.moonshot.ai",
        "api.moonshot.cn",
        "api.kimi.com",
        "api.z.ai",
        "open.bigmodel.cn",
        "dashscope.aliyuncs.com",
        "dashscope-intl.aliyuncs.com",
        "dashscope-us.aliyuncs.com",
        "portal.qwen.ai",
        "opencode.ai",  # OpenCode Zen: /zen/v1/…
        "api.githubcopilot.com",
        "api.minimax.io",
        "api.minimaxi.com",
        "api.perplexity.ai",
        "api.cohere.com",
        "api.sambanova.ai",
        "api.novita.ai",
        "api.deepinfra.com",
        "integrate.api.nvidia.com",
        "router.huggingface.co",
        "ai-gateway.vercel.sh",
        "models.github.ai",
    }
)

HOST_PATTERNS: Final = (
    "*-aiplatform.googleapis.com",  # regional Vertex AI
    "*.openai.azure.com",
    "*.services.ai.azure.com",
    "*.cognitiveservices.azure.com",
    "bedrock-runtime.*.amazonaws.com",
    "bedrock-runtime-fips.*.amazonaws.com",
    "api.*.githubcopilot.com",
    "*-cloudcode-pa.googleapis.com",
)


def is_llm_host(host: str, extra: Iterable[str] = ()) -> bool:
    """Whether the host is intercepted. `extra` are the user's own, exact or with `*` (`*.example.com`: below it)."""
    name = host.lower().rstrip(".")
    if name in EXACT_HOSTS or any(fnmatchcase(name, pattern) for pattern in HOST_PATTERNS):
        return True
    return any(fnmatchcase(name, pattern.lower().rstrip(".")) for pattern in extra)
