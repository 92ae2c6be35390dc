"""Base-URL mode: an agent that cannot trust a CA is given plain http on loopback as the address of its API.

A base URL is `http://127.0.0.1:PORT/r/RUN:TOKEN/NAME`: the run's credentials, because nothing else in such a request
says whose it is, and the API's name. NAME is a provider below, `host=api.example.com`, or a variable in which the user
had a base URL of his own already (a gateway): requests go on to that one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanlore.harness.programs import agent_position
from spanlore_proxy.launch.agent_files import codex_config, gemini_auth, has_chatgpt_login, read_object
from spanlore_proxy.launch.agents import CREDENTIALS
from spanlore_proxy.launch.environment import no_proxy
from spanlore_proxy.launch.ports import HOST

PREFIX: Final = "/r/"
"""Start of the path of every base URL."""

PROVIDERS: Final = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
    "chatgpt": "https://chatgpt.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "code-assist": "https://cloudcode-pa.googleapis.com",
    "openrouter": "https://openrouter.ai",
    "groq": "https://api.groq.com",
    "deepseek": "https://api.deepseek.com",
    "mistral": "https://api.mistral.ai",
    "xai": "https://api.x.ai",
}
"""Name in a base URL → the API; every other one by `host=`."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One that an agent reads its API's address from."""

    name: str
    provider: str
    suffix: str = ""
    """What the agent expects behind the API's host."""


_ANTHROPIC: Final = Variable("ANTHROPIC_BASE_URL", "anthropic")
_OPENAI: Final = Variable("OPENAI_BASE_URL", "openai", "/v1")
_GEMINI: Final = Variable("GOOGLE_GEMINI_BASE_URL", "gemini")
_LITELLM: Final = (
    _OPENAI,
    Variable("OPENAI_API_BASE", "openai", "/v1"),
    _ANTHROPIC,
    Variable("ANTHROPIC_API_BASE", "anthropic"),
    Variable("OPENROUTER_API_BASE", "openrouter", "/api/v1"),
)
VARIABLES: Final[Mapping[str, tuple[Variable, ...]]] = {
    "claude-code": (_ANTHROPIC,),
    "codex": (),  # see `CODEX_KEY`
    "opencode": (Variable("ANTHROPIC_BASE_URL", "anthropic", "/v1"), _OPENAI),
    # With a Google login the Code Assist API is asked, whose address is the second.
    "gemini-cli": (_GEMINI, Variable("CODE_ASSIST_ENDPOINT", "code-assist")),
    "pi": (),  # it reads none
    "mini-swe-agent": _LITELLM,
    "aider": _LITELLM,
    "qwen-code": (_OPENAI,),
    "grok-cli": (Variable("GROK_BASE_URL", "xai", "/v1"),),
    # The SDKs' own. Where OpenCode leaves out the /v1 of the first, the proxy adds it.
    "unknown": (_ANTHROPIC, *_LITELLM[:2], _GEMINI),
}
"""Harness → what it reads."""

CODEX_KEY: Final = "openai_base_url"
"""codex's setting; it reads no variable."""
_OWN: Final = re.compile(
    rf"http://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?{PREFIX}(?P<run>[\w-]+)(?::|%3A)\w+/(?P<name>[^/]+)(?P<rest>.*)"
)


@dataclass(frozen=True, slots=True)
class Addresses:
    """What has to be said to one agent, before the credentials of its run are known."""

    harness: str
    own: Mapping[str, str]
    """The user's own base URLs, by the variable or setting that named them."""
    codex_provider: tuple[str, str] = ("openai", "/v1")
    """codex's API, and what it expects behind the host."""


def addresses_for(harness: str, environ: Mapping[str, str], runs_dir: Path) -> Addresses:
    """Reads the user's own base URLs from the environment, and for codex from its files."""
    named: dict[str, object] = {variable.name: environ.get(variable.name) for variable in _variables(harness)}
    if harness == "codex":
        named[CODEX_KEY] = codex_config(environ).get(CODEX_KEY)
    own = {
        name: found
        for name, value in named.items()
        if isinstance(value, str) and (found := _without_ours(value.rstrip("/"), runs_dir))
    }
    # With a login the API is another, and a key is not sent.
    is_login = harness == "codex" and has_chatgpt_login(environ)
    return Addresses(harness, own, ("chatgpt", "/backend-api/codex") if is_login else ("openai", "/v1"))


def leads_here(harness: str, environ: Mapping[str, str]) -> bool:
    """Whether a base URL of ours stands already where the agent reads it: of a shell, or of the run around this one."""
    return any(_OWN.fullmatch(environ.get(variable.name, "")) for variable in _variables(harness))


def origin_url(port: int, run_id: str, token: str) -> str:
    """What stands before the name in every base URL of that run."""
    return f"http://{HOST}:{port}{PREFIX}{run_id}:{token}"


def base_url_environment(addresses: Addresses, origin: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to set over `environ`, nothing else. Loopback must not go through another proxy: Claude Code does
    not exempt it by itself."""
    exempt = no_proxy(environ)
    return {
        **{
            variable.name: _url(origin, addresses, variable.name, variable.provider, variable.suffix)
            for variable in _variables(addresses.harness)
        },
        "NO_PROXY": exempt,
        "no_proxy": exempt,
    }


def codex_setting(addresses: Addresses, origin: str) -> str:
    """codex's `-c` value."""
    return f'{CODEX_KEY}="{_url(origin, addresses, CODEX_KEY, *addresses.codex_provider)}"'


def with_base_url(argv: Sequence[str], addresses: Addresses, origin: str) -> list[str]:
    """The command line, with codex's setting behind the program unless the user gave one."""
    place = agent_position(argv)
    if addresses.harness != "codex" or place is None or _names_codex_key(argv):
        return list(argv)
    return [*argv[: place + 1], "-c", codex_setting(addresses, origin), *argv[place + 1 :]]


def upstreams_of(addresses: Addresses) -> dict[str, str]:
    """Name in a base URL → the user's own URL, for the run's file."""
    suffixes = {variable.name: variable.suffix for variable in _variables(addresses.harness)}
    suffixes[CODEX_KEY] = addresses.codex_provider[1]
    return {name: url.removesuffix(suffixes[name]) for name, url in addresses.own.items()}


def notes(argv: Sequence[str], addresses: Addresses, environ: Mapping[str, str]) -> list[str]:
    """What the user would otherwise wonder about, in this mode."""
    out = [f"what {name} names goes on to {_bare(url)}, as you had it." for name, url in addresses.own.items()]
    if about := _agents_own(argv, addresses.harness, environ):
        out.append(about)
    return out


def _agents_own(argv: Sequence[str], harness: str, environ: Mapping[str, str]) -> str:
    match harness:
        case "pi":
            return "pi reads no base URL: nothing is captured this way. Use `spanlore run -- pi`."
        case "codex" if _names_codex_key(argv):
            return f"codex goes where your {CODEX_KEY} leads, past spanlore: nothing is captured."
        case "codex" if codex_config(environ).get("model_provider", "openai") != "openai":
            return "codex's configuration names a model_provider of its own: nothing is captured of it."
        case "claude-code" if any(environ.get(f"CLAUDE_CODE_USE_{name}") for name in ("BEDROCK", "VERTEX")):
            return "on Bedrock or Vertex, Claude Code reads no ANTHROPIC_BASE_URL: nothing is captured this way."
        case "claude-code" if not any(environ.get(name) for name in CREDENTIALS):
            return (
                "on a subscription, Claude Code signs its requests only without a base URL, and Anthropic may treat "
                "unsigned ones as another client's. Where its CA can be trusted, `spanlore run -- claude` is better."
            )
        case "gemini-cli" if not gemini_auth(environ):
            return (
                "gemini takes a base URL only (else: exit 41) where ~/.gemini/settings.json selects a login: "
                '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
            )
    return ""


def _variables(harness: str) -> tuple[Variable, ...]:
    return VARIABLES.get(harness, ())


def _url(origin: str, addresses: Addresses, name: str, provider: str, suffix: str) -> str:
    own = addresses.own.get(name)
    if own is None:
        return f"{origin}/{provider}{suffix}"
    # The agent sees the ending that it knows, if it was there; `upstreams_of` leaves it out.
    return f"{origin}/{name}{suffix if own.endswith(suffix) else ''}"


def _without_ours(url: str, runs_dir: Path) -> str:
    """The user's own URL: ours, where `spanlore run` or `env` has been before, gives way to what it stands for."""
    found = _OWN.fullmatch(url)
    if found is None:
        return url if url.startswith(("http://", "https://")) else ""
    upstreams = read_object(runs_dir / f"{found['run']}.json").get("upstreams")
    before = upstreams.get(found["name"]) if isinstance(upstreams, dict) else None
    return before + found["rest"] if isinstance(before, str) else ""


def _names_codex_key(argv: Sequence[str]) -> bool:
    return any(re.search(rf"\b{CODEX_KEY}\s*=", word) for word in argv)


def _bare(url: str) -> str:
    return re.sub(r"//[^@/]*@", "//", url).partition("?")[0]
