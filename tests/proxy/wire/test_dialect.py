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


def test_built_dialects_have_codecs() -> None:
    """`BUILT` and the table of codecs agree."""
    assert frozenset(CODECS) == BUILT
