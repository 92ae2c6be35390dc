"""The variables that lead an agent through the proxy."""

from pathlib import Path

import pytest

from spanlore_proxy.launch.ca import Trust
from spanlore_proxy.launch.environment import (
    agent_environment,
    bypassed,
    other_proxy,
    proxy_url,
    without_credentials,
)

TRUST = Trust(ca=Path("/s/ca.pem"), bundle=Path("/s/bundle.pem"), extra=Path("/s/extra.pem"))
URL = "http://run-1:t@127.0.0.1:7717"


def test_whole_set() -> None:
    """One set for all agents; HTTP_PROXY and the variables of tunnelled tools are not touched."""
    assert agent_environment(URL, TRUST, {}) == {
        "HTTPS_PROXY": URL,
        "https_proxy": URL,
        "NO_PROXY": "localhost,127.0.0.1,::1",
        "no_proxy": "localhost,127.0.0.1,::1",
        "NODE_EXTRA_CA_CERTS": "/s/extra.pem",
        "SSL_CERT_FILE": "/s/bundle.pem",
        "CODEX_CA_CERTIFICATE": "/s/bundle.pem",
        "REQUESTS_CA_BUNDLE": "/s/bundle.pem",
        "CURL_CA_BUNDLE": "/s/bundle.pem",
    }


@pytest.mark.parametrize(("harness", "told"), [("grok-cli", "1"), ("unknown", "1"), ("pi", None), ("", None)])
def test_node_is_told_to_read_it_where_the_agent_does_not(harness: str, told: str | None) -> None:
    """Others would have Node's warning on their terminal for nothing."""
    assert agent_environment(URL, TRUST, {}, harness).get("NODE_USE_ENV_PROXY") == told


@pytest.mark.parametrize("name", ["GIT_SSL_CAINFO", "PIP_CERT", "NIX_SSL_CERT_FILE", "AWS_CA_BUNDLE"])
def test_tools_variables_only_where_the_caller_had_them(name: str) -> None:
    """A variable that would override the user's own configuration is set only over one of the user's."""
    assert agent_environment(URL, TRUST, {name: "/etc/own.pem"})[name] == "/s/bundle.pem"
    assert name not in agent_environment(URL, TRUST, {name: ""})


def test_no_proxy_keeps_the_users() -> None:
    """The user's exceptions come first, from either spelling, each once."""
    found = agent_environment(URL, TRUST, {"NO_PROXY": "a.example, localhost", "no_proxy": "b.example"})

    assert found["NO_PROXY"] == found["no_proxy"] == "a.example,localhost,b.example,127.0.0.1,::1"


def test_url() -> None:
    """With credentials for a run, without for a shell."""
    assert proxy_url(1, "run-ab", "t0") == "http://run-ab:t0@127.0.0.1:1"
    assert proxy_url(1) == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": ""}, ""),
        ({"HTTPS_PROXY": "http://a:1", "https_proxy": "http://b:1"}, "http://b:1"),
        ({"ALL_PROXY": "http://c:1"}, "http://c:1"),
        ({"HTTP_PROXY": "http://d:1", "http_proxy": "http://d:1"}, ""),
    ],
)
def test_other_proxy(environ: dict[str, str], found: str) -> None:
    """The one that programs use for https, as curl chooses it; that for plain http has no say."""
    assert other_proxy(environ) == found


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:secret@proxy.corp.example:3128", "http://proxy.corp.example:3128"),
        ("me:secret@proxy.corp.example:3128", "proxy.corp.example:3128"),
        ("http://me:p@ss@proxy.corp.example", "http://proxy.corp.example"),
        ("socks5://proxy.corp.example", "socks5://proxy.corp.example"),
    ],
)
def test_shown_without_credentials(url: str, shown: str) -> None:
    """Whatever stands before the host."""
    assert without_credentials(url) == shown


@pytest.mark.parametrize(
    ("no_proxy", "is_bypassed"),
    [
        ("", False),
        ("localhost", False),
        ("*", True),
        ("anthropic.com", True),
        (".anthropic.com", True),
        ("c.com", False),
    ],
)
def test_bypassed(no_proxy: str, is_bypassed: bool) -> None:
    """NO_PROXY with the host, a domain above it or `*` keeps the agent away from us."""
    assert bypassed("api.anthropic.com", {"NO_PROXY": no_proxy}) is is_bypassed
