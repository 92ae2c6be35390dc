"""Checks of the agents on this machine: which are installed, whether they trust the proxy, what leads them past it."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from spanlore_proxy.doctor.finding import Finding, Severity
from spanlore_proxy.doctor.scene import Scene
from spanlore_proxy.launch.agent_files import codex_config, read_object
from spanlore_proxy.launch.ca import certificates, ensure_trust
from spanlore_proxy.launch.environment import agent_environment, bypassed, proxy_url
from spanlore_proxy.launch.ports import HOST, answers

PATIENCE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Known:
    """An agent, the host it talks to, and the variables that make it trust a CA, the strongest first."""

    program: str
    harness: str
    host: str
    trust: tuple[str, ...]


KNOWN: Final = (
    Known("claude", "claude-code", "api.anthropic.com", ("NODE_EXTRA_CA_CERTS",)),
    Known("codex", "codex", "api.openai.com", ("CODEX_CA_CERTIFICATE", "SSL_CERT_FILE")),
    Known("opencode", "opencode", "api.anthropic.com", ("NODE_EXTRA_CA_CERTS",)),
    Known("gemini", "gemini-cli", "generativelanguage.googleapis.com", ("NODE_EXTRA_CA_CERTS",)),
    Known("pi", "pi", "api.anthropic.com", ("NODE_EXTRA_CA_CERTS",)),
    Known("qwen", "qwen-code", "api.openai.com", ("NODE_EXTRA_CA_CERTS",)),
    Known("mini", "mini-swe-agent", "api.openai.com", ("SSL_CERT_FILE",)),
    Known("aider", "aider", "api.openai.com", ("SSL_CERT_FILE",)),
)
"""Facts: research on the wire, §1."""


def installed(environ: Mapping[str, str]) -> list[Known]:
    """The agents on the PATH."""
    return [known for known in KNOWN if shutil.which(known.program, path=environ.get("PATH", ""))]


def trust(scene: Scene) -> Iterator[Finding]:
    """Each installed agent, with the file its own variable will name, accepts the proxy's certificate for its host.

    A handshake as the agent makes it; nothing is asked upstream, since the proxy connects there only for a request.
    """
    found = installed(scene.environ)
    if not found:
        names = ", ".join(known.program for known in KNOWN)
        says = f"no agent that spanlore knows is on the PATH ({names}); any other works the same way"
        yield Finding("agents", Severity.NOTE, says, "spanlore run -- AGENT")
        return
    if scene.daemon is None:
        names = ", ".join(known.program for known in found)
        yield Finding("agents", Severity.NOTE, f"installed: {names}; trust is checked once the daemon runs")
        return
    url = proxy_url(scene.daemon.proxy_port)
    variables = agent_environment(url, ensure_trust(scene.paths, scene.environ), scene.environ)
    for known in found:
        name = next(word for word in known.trust if variables.get(word))
        failed = handshake(scene.daemon.proxy_port, known.host, Path(variables[name]))
        if failed:
            says = f"{known.program} would not trust the proxy for {known.host} by {name}: {failed}"
            yield Finding("agents", Severity.ERROR, says, "spanlore doctor --fix, or `spanlore run --via base-url`")
        else:
            says = f"{known.program} trusts the proxy for {known.host} ({name})"
            yield Finding("agents", Severity.OK, says)


def handshake(port: int, host: str, roots: Path) -> str:
    """Why TLS to `host` through the proxy, trusting only `roots`, fails; '' when it works."""
    try:
        context = ssl.create_default_context(cafile=str(roots))
        with socket.create_connection((HOST, port), timeout=PATIENCE_S) as raw:
            raw.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
            answer = b""
            while b"\r\n\r\n" not in answer:
                part = raw.recv(1024)
                if not part:
                    return "the proxy closed the connection"
                answer += part
            if b" 200 " not in answer.split(b"\r\n")[0]:
                return f"the proxy says {answer[:60]!r}"
            with context.wrap_socket(raw, server_hostname=host):
                return ""
    except (OSError, ssl.SSLError) as error:
        return str(error)


def own_files(scene: Scene) -> Iterator[Finding]:
    """What agents' own configuration files say that would lead them past the proxy."""
    home = Path(scene.environ.get("HOME", "/"))
    for check in (_claude_settings(home), _codex_settings(scene.environ), _gemini_settings(home)):
        yield from check


def _claude_settings(home: Path) -> Iterator[Finding]:
    path = home / ".claude" / "settings.json"
    set_there = read_object(path).get("env")
    named: dict[str, Any] = set_there if isinstance(set_there, dict) else {}
    past = [name for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "ANTHROPIC_BASE_URL") if named.get(name)]
    if past:
        says = f"{path} sets {', '.join(past)} in `env`, which wins over `spanlore run`: Claude Code goes past"
        yield Finding("agents", Severity.WARNING, says, f"take {', '.join(past)} out of that file")


def _codex_settings(environ: Mapping[str, str]) -> Iterator[Finding]:
    providers = codex_config(environ).get("model_providers")
    for name, provider in (providers if isinstance(providers, dict) else {}).items():
        url = provider.get("base_url", "") if isinstance(provider, dict) else ""
        host = urlsplit(url).hostname or ""
        if host in ("localhost", HOST):
            says = f"codex' provider {name} is at {url}, on loopback: such requests never go through a proxy"
            yield Finding("agents", Severity.NOTE, says, "spanlore run --via base-url -- codex")


def _gemini_settings(home: Path) -> Iterator[Finding]:
    path = home / ".gemini" / "settings.json"
    proxy = read_object(path).get("proxy")
    if isinstance(proxy, str) and proxy:
        says = f"{path} sets `proxy`, which wins over HTTPS_PROXY: Gemini CLI goes past"
        yield Finding("agents", Severity.WARNING, says, "take `proxy` out of that file")


def shell(scene: Scene) -> Iterator[Finding]:
    """This shell's own variables: none that lead nowhere, and if they lead here, all of them."""
    environ = scene.environ
    url = environ.get("https_proxy") or environ.get("HTTPS_PROXY") or ""
    if scene.daemon is not None and bypassed("api.anthropic.com", environ):
        says = "NO_PROXY keeps LLM API hosts away from every proxy, ours too"
        yield Finding("shell", Severity.ERROR, says, "take those hosts (or `*`) out of NO_PROXY")
    if not url:
        yield Finding("shell", Severity.OK, "no proxy is set here: agents are led by `spanlore run`")
        return
    parts = urlsplit(url if "//" in url else f"http://{url}")
    shown = re.sub(r"//[^@/]*@", "//", url)
    is_ours = scene.daemon is not None and parts.port == scene.daemon.proxy_port
    if parts.hostname not in ("localhost", HOST, "::1"):
        yield Finding("shell", Severity.NOTE, f"HTTPS_PROXY is {shown}; spanlore's proxy does not go through it")
    elif is_ours:
        yield from _led_here(scene)
    elif not answers(parts.port or 80):
        do = "unset HTTPS_PROXY https_proxy, or start it: spanlore up --detach"
        yield Finding("shell", Severity.ERROR, f"HTTPS_PROXY is {shown}, and nothing listens there", do)
    else:
        yield Finding("shell", Severity.NOTE, f"HTTPS_PROXY is {shown}, another proxy on this machine")


def _led_here(scene: Scene) -> Iterator[Finding]:
    ours = set(certificates(scene.paths.ca_cert.read_bytes())) if scene.paths.ca_cert.exists() else set()
    lacking = []
    for name in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "CODEX_CA_CERTIFICATE", "REQUESTS_CA_BUNDLE"):
        path = Path(scene.environ.get(name) or "/nonexistent")
        known = set(certificates(path.read_bytes())) if path.is_file() else set()
        if not (ours and ours <= known):
            lacking.append(name)
    if lacking:
        says = f"HTTPS_PROXY leads here, but {', '.join(lacking)} name no file with our CA: agents will refuse"
        yield Finding("shell", Severity.ERROR, says, 'eval "$(spanlore env)"')
    else:
        yield Finding("shell", Severity.OK, "this shell leads agents through the proxy, and its files hold our CA")
