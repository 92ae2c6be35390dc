"""The check that leaves this machine: whether a provider takes the key in the environment. Only when asked for.

It lists models, which costs nothing; the key goes to its own provider (or where `upstreams` leads that host) and is
neither recorded nor shown.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spanlore_proxy.doctor.finding import Finding, Severity
from spanlore_proxy.doctor.scene import Scene

PATIENCE_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a key belongs, and how it is shown there."""

    variable: str
    host: str
    path: str
    header: str
    prefix: str = ""


PROVIDERS: Final = (
    Provider("ANTHROPIC_API_KEY", "api.anthropic.com", "/v1/models", "x-api-key"),
    Provider("OPENAI_API_KEY", "api.openai.com", "/v1/models", "authorization", "Bearer "),
    Provider("GEMINI_API_KEY", "generativelanguage.googleapis.com", "/v1beta/models", "x-goog-api-key"),
)


def keys(scene: Scene) -> Iterator[Finding]:
    """Each key in the environment is taken by its provider."""
    found = [provider for provider in PROVIDERS if scene.environ.get(provider.variable)]
    if not found:
        names = ", ".join(provider.variable for provider in PROVIDERS)
        yield Finding("key", Severity.NOTE, f"no key is in the environment ({names}); a login of an agent is its own")
    for provider in found:
        yield _asked(provider, scene)


def _asked(provider: Provider, scene: Scene) -> Finding:
    base = scene.settings.upstreams.get(provider.host, f"https://{provider.host}").rstrip("/")
    headers = {provider.header: provider.prefix + scene.environ[provider.variable], "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(base + provider.path, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PATIENCE_S) as answer:
            return Finding("key", Severity.OK, f"{provider.host} takes {provider.variable} ({answer.status})")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403):
            says = f"{provider.host} refuses {provider.variable} ({error.code})"
            return Finding("key", Severity.ERROR, says, f"put a valid key into {provider.variable}")
        return Finding("key", Severity.WARNING, f"{provider.host} answers {error.code}", "try again later")
    except (OSError, ValueError) as error:
        says = f"{provider.host} can't be reached: {getattr(error, 'reason', error)}"
        return Finding("key", Severity.WARNING, says, "is this machine online, and is there a proxy in between?")
