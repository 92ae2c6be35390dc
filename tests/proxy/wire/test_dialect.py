"""Which endpoint speaks which dialect."""

from __future__ import annotations

import pytest

from spanlore.genai.inference import Dialect
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.dialect import BUILT, Endpoint, Kind, recognise, recognise_any


@pytest.mark.parametrize(
    ("host", "path", "provider", "kind"),
    [
        ("api.anthropic.com", "/v1/messages?beta=true", "anthropic", Kind.INFERENCE),
        ("api.anthropic.com", "/v1/messages", "anthropic", Kind.INFERENCE),
        ("api.anthropic.com", "/v1/messages/count_tokens?beta=true", "anthropic", Kind.COUNT_TOKENS),
        ("api.anthropic.com", "/v1/messages/batches", "anthropic", Kind.OTHER),
        ("openrouter.ai", "/api/v1/messages", "openrouter", Kind.INFERENCE),
        ("127.0.0.1", "/v1/messages", "anthropic", Kind.INFERENCE),
        ("x.services.ai.azure.com", "/anthropic/v1/messages", "azure.ai.inference", Kind.INFERENCE),
    ],
)
def test_anthropic_messages(host: str, path: str, provider: str, kind: Kind) -> None:
    """The path names the dialect on any host, the host the provider."""
    assert recognise("POST", host, path) == Endpoint(Dialect.ANTHROPIC_MESSAGES, provider, "chat", kind)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/messages"),
        ("POST", "/api/event_logging/v2/batch"),
        ("POST", "/v1/messagesx"),
        ("HEAD", "/api/hello"),
    ],
)
def test_everything_else(method: str, path: str) -> None:
    """Side calls of the same host are no endpoints."""
    assert recognise(method, "api.anthropic.com", path) is None


@pytest.mark.parametrize(
    ("host", "path", "dialect", "provider"),
    [
        ("api.openai.com", "/v1/chat/completions", Dialect.OPENAI_CHAT, "openai"),
        ("api.openai.com", "/v1/responses", Dialect.OPENAI_RESPONSES, "openai"),
        ("api.openai.com", "/v1/responses/compact", Dialect.OPENAI_RESPONSES, "openai"),
        ("chatgpt.com", "/backend-api/codex/responses", Dialect.OPENAI_RESPONSES, "openai"),
        ("openrouter.ai", "/api/v1/chat/completions", Dialect.OPENAI_CHAT, "openrouter"),
        ("api.groq.com", "/openai/v1/chat/completions", Dialect.OPENAI_CHAT, "groq"),
        ("api.deepseek.com", "/chat/completions", Dialect.OPENAI_CHAT, "deepseek"),
        ("api.x.ai", "/v1/responses", Dialect.OPENAI_RESPONSES, "x_ai"),
        ("api.mistral.ai", "/v1/chat/completions", Dialect.OPENAI_CHAT, "mistral_ai"),
        ("api.together.ai", "/v1/chat/completions", Dialect.OPENAI_CHAT, "together"),
        ("dashscope-intl.aliyuncs.com", "/compatible-mode/v1/chat/completions", Dialect.OPENAI_CHAT, "alibaba_cloud"),
        ("localhost", "/v1/chat/completions", Dialect.OPENAI_CHAT, "openai"),
        ("r.openai.azure.com", "/openai/deployments/d/chat/completions?v=1", Dialect.OPENAI_CHAT, "azure.ai.openai"),
        (
            "generativelanguage.googleapis.com",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            Dialect.GEMINI,
            "gcp.gemini",
        ),
        ("us-east1-aiplatform.googleapis.com", "/v1/m:generateContent", Dialect.GEMINI, "gcp.vertex_ai"),
    ],
)
def test_dialects_by_name(host: str, path: str, dialect: Dialect, provider: str) -> None:
    """Every dialect is named, and recognised as soon as it has a codec."""
    endpoint = recognise_any("POST", host, path)

    assert endpoint is not None
    assert (endpoint.dialect, endpoint.provider) == (dialect, provider)
    assert recognise("POST", host, path) == (endpoint if dialect in BUILT else None)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/responses", Kind.INFERENCE),
        ("/v1/responses/compact", Kind.INFERENCE),
        ("/v1/responses/input_tokens", Kind.COUNT_TOKENS),
        ("/v1/responses/resp_1/cancel", Kind.OTHER),
    ],
)
def test_responses_endpoints(path: str, kind: Kind) -> None:
    """A compaction is a model call, too."""
    endpoint = recognise("POST", "api.openai.com", path)

    assert endpoint is not None and endpoint.kind is kind


def test_built_dialects_have_codecs() -> None:
    """`BUILT` and the table of codecs agree."""
    assert frozenset(CODECS) == BUILT


VERTEX = "/v1/projects/p/locations/global/publishers"


@pytest.mark.parametrize(
    ("path", "dialect", "kind", "model", "is_streaming"),
    [
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", Dialect.GEMINI, Kind.INFERENCE,
         "gemini-2.5-pro", True),
        (f"{VERTEX}/google/models/gemini-2.5-pro:generateContent", Dialect.GEMINI, Kind.INFERENCE,
         "gemini-2.5-pro", False),
        ("/v1internal:streamGenerateContent?alt=sse", Dialect.GEMINI, Kind.INFERENCE, None, True),
        ("/v1internal:countTokens", Dialect.GEMINI, Kind.COUNT_TOKENS, None, False),
        ("/v1beta/interactions", Dialect.GEMINI, Kind.INFERENCE, None, False),
        ("/v1beta/models/text-embedding-004:embedContent", Dialect.GEMINI, Kind.OTHER, "text-embedding-004", False),
        (f"{VERTEX}/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict", Dialect.ANTHROPIC_MESSAGES,
         Kind.INFERENCE, "claude-sonnet-4-5@20250929", True),
        (f"{VERTEX}/anthropic/models/count-tokens:rawPredict", Dialect.ANTHROPIC_MESSAGES, Kind.COUNT_TOKENS,
         None, False),
        ("/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream", Dialect.BEDROCK,
         Kind.INFERENCE, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        ("/model/amazon.nova-2-lite-v1:0/converse", Dialect.BEDROCK, Kind.INFERENCE, "amazon.nova-2-lite-v1:0", False),
        ("/model/m/count-tokens", Dialect.BEDROCK, Kind.COUNT_TOKENS, "m", False),
    ],
)  # fmt: skip
def test_what_only_the_path_says(
    path: str, dialect: Dialect, kind: Kind, model: str | None, is_streaming: bool
) -> None:
    """Google and Amazon name the model, and ask for a stream, in the path."""
    endpoint = recognise_any("POST", "host", path)

    assert endpoint is not None
    assert (endpoint.dialect, endpoint.kind) == (dialect, kind)
    assert (endpoint.model, endpoint.is_streaming) == (model, is_streaming)


@pytest.mark.parametrize(
    "path", ["/v1internal:loadCodeAssist", f"{VERTEX}/mistralai/models/m:rawPredict", "/model/m/async-invoke"]
)
def test_what_is_no_endpoint(path: str) -> None:
    """Side calls of the same hosts, and models that speak no dialect known here."""
    assert recognise("POST", "host", path) is None
