"""Which hosts are intercepted."""

from __future__ import annotations

import pytest

from spanlore_proxy.wire.hosts import is_llm_host


@pytest.mark.parametrize(
    "host",
    [
        "api.anthropic.com",
        "API.Anthropic.com.",
        "chatgpt.com",
        "europe-west1-aiplatform.googleapis.com",
        "my-resource.openai.azure.com",
        "bedrock-runtime.eu-central-1.amazonaws.com",
        "openrouter.ai",
    ],
)
def test_llm_apis(host: str) -> None:
    """The providers' APIs are intercepted, regional names and spelling included."""
    assert is_llm_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "github.com",
        "example.com",
        "anthropic.com",
        "api.anthropic.com.evil.example",
        "notapi.anthropic.com",
        "s3.eu-central-1.amazonaws.com",
        "storage.googleapis.com",
        "",
    ],
)
def test_everything_else(host: str) -> None:
    """Any other host is left alone, look-alikes too."""
    assert not is_llm_host(host)


def test_the_users_own() -> None:
    """The user's hosts are added, exact or as `*.domain`, which means below it."""
    own = ("llm.internal", "*.Gateway.example")

    assert is_llm_host("llm.internal", own)
    assert is_llm_host("eu.gateway.example", own)
    assert not is_llm_host("gateway.example", own)
    assert not is_llm_host("x.llm.internal", own)
