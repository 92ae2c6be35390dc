"""The variables that lead an agent through the proxy (one set covers all agents that were measured).

What is set, and why:
- `HTTPS_PROXY`, `https_proxy`: every agent reads one of them. `HTTP_PROXY` is left alone: no agent needs it, and with
  it Claude Code sends plain requests to loopback servers through the proxy as well.
- `NODE_EXTRA_CA_CERTS` (Node, Bun), `CODEX_CA_CERTIFICATE` (codex), `SSL_CERT_FILE` (Bun, Rust, Go, OpenSSL, httpx),
  `REQUESTS_CA_BUNDLE` (requests, botocore), `CURL_CA_BUNDLE` (curl, wherever it was built).
- `GIT_SSL_CAINFO`, `PIP_CERT` and the like only where the caller had set them: hosts of git and of packages are
  tunnelled, so these programs need no CA of ours, while the variable would override the user's own configuration.
- `NODE_USE_ENV_PROXY`: Node's own `fetch` and `https` read `HTTPS_PROXY` only then (22.21, 24.5 and later). Only for
  agents that bring no proxy code of their own (grok-cli), or that nobody knows: Node prints a warning for it.
- `NO_PROXY`: the user's, and loopback.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from spanlore_proxy.launch.ca import Trust

REPLACING: Final = ("SSL_CERT_FILE", "CODEX_CA_CERTIFICATE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Always set, to the bundle of all roots."""

REPLACED_IF_SET: Final = (
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    "PIP_CERT",
)
"""They win over `SSL_CERT_FILE` in their programs, so what the caller pointed elsewhere has to learn our CA too."""

_WITHOUT_PROXY_CODE: Final = frozenset({"grok-cli", "unknown"})

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def proxy_url(port: int, run_id: str = "", token: str = "") -> str:
    """The URL agents are pointed at; with a run's credentials its working directory is known without asking."""
    user = f"{run_id}:{token}@" if run_id else ""
    return f"http://{user}127.0.0.1:{port}"


def agent_environment(url: str, trust: Trust, environ: Mapping[str, str], harness: str = "") -> dict[str, str]:
    """The variables to set over `environ`, nothing else. `harness`: whose they are, where that is asked for."""
    bundle = str(trust.bundle)
    exempt = no_proxy(environ)
    return {
        "HTTPS_PROXY": url,
        "https_proxy": url,
        "NO_PROXY": exempt,
        "no_proxy": exempt,
        "NODE_EXTRA_CA_CERTS": str(trust.extra),
        **({"NODE_USE_ENV_PROXY": "1"} if harness in _WITHOUT_PROXY_CODE else {}),
        **dict.fromkeys(REPLACING, bundle),
        **{name: bundle for name in REPLACED_IF_SET if environ.get(name)},
    }


def other_proxy(environ: Mapping[str, str]) -> str:
    """The URL of the proxy that the caller's programs were told to use, credentials and all; '' if none."""
    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    return next((url for name in names if (url := environ.get(name, "").strip())), "")


def without_credentials(url: str) -> str:
    """To be shown."""
    return re.sub(r"^((?:[^/@]*//)?)[^/]*@", r"\1", url)


def bypassed(host: str, environ: Mapping[str, str]) -> bool:
    """Whether the caller's own NO_PROXY keeps `host` away from any proxy, ours too."""
    names = [word.strip().lower().lstrip("*").lstrip(".") for word in _listed(environ) if word.strip()]
    return any(not name or host == name or host.endswith(f".{name}") for name in names)


def _listed(environ: Mapping[str, str]) -> list[str]:
    return [word for name in ("NO_PROXY", "no_proxy") for word in environ.get(name, "").split(",") if word.strip()]


def no_proxy(environ: Mapping[str, str]) -> str:
    """The caller's own exceptions from any proxy, and loopback."""
    return ",".join(dict.fromkeys([*(word.strip() for word in _listed(environ)), *LOOPBACK]))
